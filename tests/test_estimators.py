"""What all estimators promise: scikit-learn's contract, tables in and out, pickling, dtypes, bad input in words."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import geolap
from geolap.datasets import make_sphere
from geolap.graphs.neighbors import nearest_neighbors

ESTIMATORS = [
    geolap.GraphLaplacian(random_state=0),
    geolap.LaplacianEigenmap(random_state=0),
    geolap.DiffusionMap(random_state=0),
    geolap.LaplacianEigenmap("auto", random_state=0),
    geolap.DiffusionMap("auto", random_state=0, diffusion_time="auto"),
    geolap.LaplacianClassifier(random_state=0),
    geolap.LaplacianRegressor(random_state=0),
    geolap.ConsistencySearch({"renormalization": [0.5, 1.0]}, random_state=0),
]
# The hundreds of fits of the contract do not ask how good a bandwidth is.  One map selects it as by default, from few
# points; the others take a rule that costs nothing.
FEW = geolap.GeometricConsistency(n_sample=10, random_state=0)
SMALL = [
    geolap.GraphLaplacian(FEW, random_state=0),
    geolap.LaplacianEigenmap(bandwidth=FEW, random_state=0),
    geolap.DiffusionMap(bandwidth="median", random_state=0),
    geolap.LaplacianEigenmap("auto", "median", random_state=0),
    geolap.DiffusionMap("auto", "median", random_state=0, diffusion_time="auto"),
    geolap.LaplacianClassifier(FEW, random_state=0),
    geolap.LaplacianRegressor(FEW, random_state=0),
    geolap.ConsistencySearch({"renormalization": [0.5, 1.0]}, selector=FEW, random_state=0),
]
# Reasons, not excuses: scikit-learn keeps lists of names for its own estimators of this kind.
NO_ZERO = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weight of zero is refused: such points are left out"
    for kind in ("dense", "sparse")
}
EXPECTED = {
    "LaplacianClassifier": {
        "check_classifiers_classes": "-1 marks unlabeled points and cannot be a class",
        "check_classifiers_one_label_sample_weights": "a weight of zero is refused: such points are left out",
    },
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The graph should be connected", "ignore:Every component of the graph")
@parametrize_with_checks(SMALL, expected_failed_checks=lambda e: NO_ZERO | EXPECTED.get(type(e).__name__, {}))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_selector_passes_points_on_in_a_pipeline(sphere):
    points = pd.DataFrame(sphere, columns=["a", "b", "c"])
    steps = make_pipeline(StandardScaler(), geolap.MedianDistance(), geolap.LaplacianEigenmap(2, 0.5))
    found = steps.set_output(transform="pandas").fit_transform(points)
    assert list(found.columns) == ["laplacianeigenmap0", "laplacianeigenmap1"]
    passed = steps[:-1].transform(points)
    assert list(passed.columns) == ["a", "b", "c"]
    np.testing.assert_array_equal(passed, StandardScaler().fit_transform(points))
    assert steps[1].bandwidth_ == geolap.select_bandwidth(passed, "median").bandwidth
    with pytest.raises(ValueError, match="feature"):
        steps[1].transform(points[["a", "b"]])


def test_what_is_done_is_logged(sphere, caplog):
    with caplog.at_level("INFO", "geolap"):
        geolap.MedianDistance().fit(sphere)
        geolap.LaplacianEigenmap(2, 0.5).fit(sphere)
    assert "median: bandwidth" in caplog.text
    assert "LaplacianEigenmap: graph of 300 points at bandwidth 0.5" in caplog.text


@pytest.fixture(scope="module")
def sphere():
    X = make_sphere(300, random_state=0).data
    X.setflags(write=False)
    return X


def labels(X):
    y = (X[:, 2] > 0).astype(int)
    y[60:] = -1
    return y


def fitted(estimator, X):
    y = np.where(labels(X) < 0, np.nan, X[:, 2]) if "Regressor" in type(estimator).__name__ else labels(X)
    return clone(estimator).fit(X, y)


@pytest.fixture(scope="module")
def by_default(sphere):
    """Each of ESTIMATORS by its place, fitted once."""
    return cache(lambda place: fitted(ESTIMATORS[place], sphere))


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(ESTIMATORS)), ids=lambda k: type(ESTIMATORS[k]).__name__)
def test_bandwidth_and_selection_are_exposed(place, by_default):
    model = by_default(place)
    assert model.bandwidth_ == model.selection_.bandwidth
    assert model.n_features_in_ == 3


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS[:-1], ids=lambda e: type(e).__name__)
def test_bandwidth_may_be_a_number_a_name_or_a_selector(estimator, sphere):
    number = fitted(clone(estimator).set_params(bandwidth=0.5), sphere)
    assert number.bandwidth_ == 0.5
    assert number.selection_ is None
    assert fitted(clone(estimator).set_params(bandwidth="median"), sphere).selection_.method == "median"
    selector = geolap.GeometricConsistency(working_dim=2, random_state=1)
    assert fitted(clone(estimator).set_params(bandwidth=selector), sphere).selection_.method == "gc"
    assert not hasattr(selector, "bandwidth_")  # the given one is not touched
    with pytest.raises(TypeError, match=r"bandwidth must be a number, one of gc, .*; \[1\] was given: pass one of them\."):
        fitted(clone(estimator).set_params(bandwidth=[1]), sphere)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(ESTIMATORS)), ids=lambda k: type(ESTIMATORS[k]).__name__)
def test_pickling_keeps_everything(place, by_default, sphere):
    model = by_default(place)
    again = pickle.loads(pickle.dumps(model))
    assert again.bandwidth_ == model.bandwidth_
    if hasattr(model, "transform"):
        np.testing.assert_array_equal(again.transform(sphere[:5] * 1.01), model.transform(sphere[:5] * 1.01))
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(again.predict(sphere[:5] * 1.01), model.predict(sphere[:5] * 1.01))


@pytest.mark.slow
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables_in_and_out(frame, sphere):
    table = frame(dict(zip("abc", sphere.T, strict=True)))
    eigenmap = geolap.LaplacianEigenmap(bandwidth=0.5).set_output(transform="pandas" if frame is pd.DataFrame else "polars")
    result = eigenmap.fit_transform(table)
    assert isinstance(result, frame)
    assert list(result.columns) == ["laplacianeigenmap0", "laplacianeigenmap1"]
    assert list(eigenmap.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(np.asarray(result), geolap.LaplacianEigenmap(bandwidth=0.5).fit_transform(sphere))
    y = labels(sphere)
    target = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    by_table = geolap.LaplacianClassifier(0.5).fit(table, target)
    np.testing.assert_array_equal(by_table.transduction_, geolap.LaplacianClassifier(0.5).fit(sphere, y).transduction_)


@pytest.mark.slow
def test_pipelines_and_grid_searches(sphere):
    y = (sphere[:, 2] > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), geolap.LaplacianClassifier(random_state=0))
    assert pipeline.fit(sphere, y).score(sphere, y) > 0.95
    search = GridSearchCV(geolap.LaplacianClassifier(), {"bandwidth": [0.1, 0.5]}, cv=3).fit(sphere, y)
    assert search.best_score_ > 0.9
    # Neighbors found by a transformer in front.
    pipeline = make_pipeline(
        KNeighborsTransformer(n_neighbors=20), geolap.LaplacianEigenmap(bandwidth=0.4, metric="precomputed")
    )
    direct = geolap.LaplacianEigenmap(bandwidth=0.4, n_neighbors=20)
    np.testing.assert_allclose(pipeline.fit_transform(sphere), direct.fit_transform(sphere), atol=1e-8)
    new = make_sphere(20, random_state=1).data
    pipeline[0].set_params(n_neighbors=19)  # it adds one, for the point itself, on training points only
    np.testing.assert_allclose(pipeline.transform(new), direct.transform(new), atol=1e-7)


@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=lambda e: type(e).__name__)
def test_float32_stays_float32(estimator, sphere):
    model = clone(estimator).set_params(bandwidth=0.5)
    single, double = clone(model).fit(sphere.astype(np.float32)), clone(model).fit(sphere)
    assert single.graph_.weights.dtype == np.float32
    if hasattr(model, "transform"):
        assert single.embedding_.dtype == single.transform(sphere[:3].astype(np.float32)).dtype == np.float32
        np.testing.assert_allclose(single.eigenvalues_, double.eigenvalues_, rtol=1e-4)
    else:
        assert single.laplacian_.dtype == np.float32
        np.testing.assert_allclose(single.laplacian_, double.laplacian_, atol=1e-4)


GRAPHS = {
    "n_neighbors": lambda X: {"n_neighbors": 15},
    "transformer": lambda X: {"neighbors": KNeighborsTransformer(n_neighbors=15)},
    "matrix": lambda X: {"neighbors": KNeighborsTransformer(n_neighbors=15).fit_transform(X)},
}


@pytest.mark.slow
@pytest.mark.parametrize("how", GRAPHS)
def test_neighbors_may_come_from_anywhere(how, sphere):
    reference = geolap.GraphLaplacian(n_neighbors=15, random_state=0).fit(sphere)
    model = geolap.GraphLaplacian(random_state=0, **GRAPHS[how](sphere)).fit(sphere)
    assert model.bandwidth_ == pytest.approx(reference.bandwidth_, rel=1e-6)
    np.testing.assert_allclose(model.laplacian_.toarray(), reference.laplacian_.toarray(), rtol=1e-5, atol=1e-8)


def test_radius_neighbors_are_a_cut_off(sphere):
    by_radius = geolap.GraphLaplacian(0.3, neighbors=RadiusNeighborsTransformer(radius=0.9)).fit(sphere)
    by_cutoff = geolap.GraphLaplacian(0.3, cutoff=3.0).fit(sphere)
    np.testing.assert_allclose(by_radius.laplacian_.toarray(), by_cutoff.laplacian_.toarray(), rtol=1e-9, atol=1e-9)


def test_transformers_are_not_touched(sphere):
    transformer = KNeighborsTransformer(n_neighbors=15)
    geolap.LaplacianEigenmap(bandwidth=0.5, neighbors=transformer).fit(sphere)
    assert not hasattr(transformer, "n_features_in_")


@pytest.mark.parametrize(
    ("params", "X", "sentence"),
    [
        ({"bandwidth": -1.0}, None, r"bandwidths must be positive and finite; -1\.0 was given"),
        ({"renormalization": -1}, None, r"renormalization must be a number of at least 0 .*; -1 was given"),
        ({"self_weights": "yes"}, None, r"self_weights must be one of True, False; 'yes' was given"),
        ({"cutoff": 0}, None, r"cutoff must be a number above 0; 0 was given"),
        ({"n_neighbors": 300}, None, r"n_neighbors must be less than the number of points; 300 was given for 300 points"),
        (
            {"n_neighbors": 0},
            None,
            r"n_neighbors must be a whole number of at least 1, 'auto' or None; 0 was given: choose one of them",
        ),
        (
            {"n_neighbors": 5, "neighbors": np.eye(300)},
            None,
            r"either from n_neighbors or from neighbors.*: leave out one of them",
        ),
        (
            {"neighbors": KNeighborsTransformer(mode="connectivity")},
            None,
            r"distances; its mode is 'connectivity'",
        ),
        ({"n_jobs": 0, "bandwidth": 1.0}, None, r"n_jobs must be a whole number of at least 1; 0 was given"),
        ({"local_scale": 300}, None, r"local_scale must be a number of at least 1 and at most 299; 300 was given"),
        (
            {"local_scale": geolap.LocalScale(np.ones(300), np.nan)},
            None,
            r"of a LocalScale must be a number above 0",
        ),
        (
            {"bandwidth": geolap.GeometricConsistency(n_neighbors=8)},
            None,
            r"its selector was given n_neighbors=8: pass n_neighbors to the estimator instead",
        ),
        (
            {"bandwidth": geolap.GeometricConsistency(neighbors=np.eye(300))},
            None,
            r"(?s)its selector was given neighbors=.*: pass neighbors to the estimator instead",
        ),
        ({"neighbors": 1.0 - np.eye(7)}, None, r"must have 300 rows and columns, one for each point; shape \(7, 7\)"),
        ({"local_scale": "nearest"}, None, r"local_scale must be None, .*, 'regional' or a LocalScale; 'nearest' was given"),
        (
            {"local_scale": 2.5},
            None,
            r"local_scale must be None, .*, 'regional' or a LocalScale; 2\.5 was given",
        ),
        ({"local_scale": geolap.LocalScale(np.ones(3), 2)}, None, r"one positive finite number for each of the 300 points"),
        ({"metric": "nearly"}, None, r"or a function of two rows; 'nearly' was given: choose one"),
        ({"metric": 3}, None, r"or a function of two rows; 3 was given: choose one"),
        ({"metric": "precomputed", "bandwidth": 1.0}, np.ones((3, 4)), r"as many rows as columns; shape \(3, 4\) was given"),
        ({"metric": "precomputed", "bandwidth": 1.0}, -np.ones((3, 3)), r"finite and not negative; -1\.0 was given"),
        ({"metric": "precomputed", "bandwidth": 1.0}, np.triu(np.ones((3, 3)), 1), r"must be symmetric; this one is not"),
        (
            {"metric": "precomputed", "bandwidth": 1.0, "neighbors": 1.0 - np.eye(3)},
            1.0 - np.eye(3),
            r"either from the matrix of distances or from neighbors.*: leave out one",
        ),
    ],
)
def test_bad_parameters_are_answered_in_words(params, X, sentence, sphere):
    with (
        pytest.raises(ValueError, match=sentence)
        if params.get("local_scale") != 2.5
        else pytest.raises(TypeError, match=sentence)
    ):
        geolap.GraphLaplacian(**params).fit(sphere if X is None else X)


@pytest.mark.slow
def test_too_many_entries_are_forecast(sphere, monkeypatch):
    monkeypatch.setattr("geolap.graphs.build.MOST_ENTRIES", 10_000)
    with pytest.raises(ValueError, match=r"cut off at 3·ε = 1\.5 this one would have about .* GiB, .*\): set n_edges to a"):
        geolap.GraphLaplacian(0.5, cutoff=3.0, n_edges="all").fit(sphere)


# ---- awkward data


def test_points_far_out_in_single_precision_stay_finite(sphere):
    for distance in (3.0, 4.0, 4.5, 5.0, 40.0):
        X = np.vstack([sphere, [[1.0 + distance, 0, 0]]]).astype(np.float32)
        model = geolap.GraphLaplacian(0.5, self_weights=False).fit(X)
        assert np.isfinite(model.laplacian_).all()
        np.testing.assert_allclose(model.transition_.sum(axis=1), 1.0, rtol=1e-5)
    steep = geolap.GraphLaplacian(0.05, self_weights=False, renormalization=5).fit(sphere)
    assert np.isfinite(steep.laplacian_).all()


def test_more_duplicates_than_neighbors():
    X = np.repeat(np.random.default_rng(0).standard_normal((50, 3)), 10, axis=0)
    model = geolap.GraphLaplacian(0.5, n_neighbors=5).fit(X)
    assert np.isfinite(model.laplacian_.toarray()).all()
    with pytest.raises(ValueError, match=r"all neighbors are duplicates: remove duplicates, or raise n_neighbors"):
        geolap.GraphLaplacian(n_neighbors=5, random_state=0).fit(X)
    few = np.vstack([np.zeros((100, 2)), np.random.default_rng(0).standard_normal((5, 2))])
    assert np.isfinite(geolap.GraphLaplacian(n_neighbors=3, random_state=0).fit(few).laplacian_.toarray()).all()
    with pytest.warns(UserWarning, match="components"):
        local = geolap.LaplacianEigenmap(local_scale=7, bandwidth=0.5).fit(few)
    assert local.n_graph_components_ < 10


def test_connections_are_not_taken_for_distances(sphere):
    with pytest.warns(UserWarning, match=r"all given distances are 1, as in a connectivity graph: use mode='distance'"):
        geolap.GraphLaplacian(0.5, neighbors=kneighbors_graph(sphere, 10)).fit(sphere)


def test_what_the_user_does_to_the_matrices_does_not_reach_the_graph(sphere):
    model = geolap.GraphLaplacian(0.3, n_neighbors=8).fit(sphere)
    for matrix in (model.transition_, model.laplacian_):
        matrix.data[matrix.data < 0.1] = 0
        matrix.eliminate_zeros()
    W = model.graph_.weights
    assert abs(W - W.T).max() == 0


def test_an_extreme_new_point_does_not_change_the_others(sphere):
    model = geolap.LaplacianEigenmap(bandwidth=0.7).fit(sphere)
    new = sphere[:7] + 0.1
    for size in (1e10, 1e155, 1.7e308):
        with pytest.warns(UserWarning, match="1 of 8 have none"):
            together = model.transform(np.vstack([new, [[size] * 3]]))
        np.testing.assert_allclose(together[:7], model.transform(new), rtol=1e-14)


def test_an_extreme_training_point_is_reported(sphere):
    with pytest.raises(ValueError, match=r"points are up to about 1e\+155 apart: rescale the data, or remove outliers"):
        geolap.GraphLaplacian(0.5).fit(np.vstack([sphere, [[1e155, 0, 0]]]))


@pytest.mark.parametrize("kind", [list, pd.DataFrame, pl.DataFrame, sparse.coo_array, sparse.csr_matrix, sparse.csc_array])
def test_distances_come_in_any_container(kind, sphere):
    D = cdist(sphere, sphere)
    given = D.tolist() if kind is list else kind(D)
    model = geolap.LaplacianEigenmap(bandwidth=0.6, metric="precomputed").fit(given)
    reference = geolap.LaplacianEigenmap(bandwidth=0.6).fit(sphere)
    np.testing.assert_allclose(model.eigenvalues_, reference.eigenvalues_, rtol=1e-9)
    new = make_sphere(9, random_state=5).data
    distances = cdist(new, sphere)
    result = model.transform(distances.tolist() if kind is list else kind(distances))
    np.testing.assert_allclose(np.abs(result), np.abs(reference.transform(new)), rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match=r"Distances must be finite and not negative; -1\.0 was given"):
        model.transform(-np.ones((1, 300)))


def test_training_points_get_their_own_coordinates_from_any_search():
    X = np.random.default_rng(0).standard_normal((200, 30)).astype(np.float32) + 10
    model = geolap.LaplacianEigenmap(bandwidth=5.0, neighbors=KNeighborsTransformer(n_neighbors=30)).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


@pytest.mark.parametrize(("dtype", "size"), [(np.float16, 6e4), (np.float32, 1e38)])
def test_narrow_types_may_use_their_whole_range(dtype, size, sphere):
    X = (sphere * size).astype(dtype)
    single = geolap.GraphLaplacian(0.5 * size).fit(X).transition_
    np.testing.assert_allclose(single, geolap.GraphLaplacian(0.5 * size).fit(X.astype(float)).transition_, atol=1e-6)


def test_thousands_of_isolated_points_take_no_memory_of_their_square():
    X = np.arange(20_000.0)[:, None]
    with pytest.warns(UserWarning, match="it has 20000 components"):
        model = geolap.LaplacianEigenmap(bandwidth=1e-3).fit(X)
    assert np.isfinite(model.embedding_).all()


def test_neighbors_in_many_dimensions_are_exact_in_tight_clusters():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((100, 20)) * 1e-8 + c for c in (0, 1, 5)])
    distances, _ = nearest_neighbors(X, 7)
    np.testing.assert_allclose(distances, np.sort(cdist(X, X), axis=1)[:, 1:8], rtol=1e-6)
