"""A point of weight 2 is a point given twice, exactly: everything is compared with ``np.repeat``."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

import geolap
from geolap.cli.commands import app
from geolap.data.multiplicity import quantile_of, standard_error
from geolap.data.points import Points
from geolap.engines import CellsEngine, TiledEngine
from geolap.files import read_table
from geolap.graphs.neighbors import all_pairs
from geolap.graphs.smooth_regression import predicted_classes
from geolap.laplacian import LocalScale
from geolap.selectors import METHODS

RNG = np.random.default_rng(0)
X = np.hstack([geolap.datasets.make_torus(60, random_state=0).data, 0.05 * RNG.standard_normal((60, 2))])
M = RNG.integers(1, 4, 60)
COPIES = np.repeat(X, M, axis=0)
FIRST = np.cumsum(M) - M
RHO = RNG.uniform(0.7, 1.4, 60)
BANDWIDTHS = 0.1 * 2.0 ** np.arange(6)
ALL_PAIRS = {"bandwidth": 0.8, "n_neighbors": None}


def of_copies(A):
    """A matrix over the copies as one over places: the steps of the first copy to all copies of another point."""
    return np.add.reduceat(full(A)[FIRST], FIRST, axis=1)


def full(A):
    return A if isinstance(A, np.ndarray) else A.toarray()


def close(one, other, rtol=1e-9):
    np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-11)


@pytest.mark.parametrize("engine", ["tiled", "dense"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"working_dim": 2, "renormalization": 0.5},
        {"working_dim": 3, "drift": 1.0},
        {"dual": False, "bandwidths": BANDWIDTHS[2:]},
        {"squared": True, "cutoff": 2.0},
    ],
    ids=str,
)
def test_distortion_is_that_of_the_copies(params, engine):
    params = {"bandwidths": BANDWIDTHS, "engine": engine} | params
    weighted, copied = geolap.distortion(X, sample_weight=M, **params), geolap.distortion(COPIES, **params)
    close(weighted.mean, copied.mean)
    close(np.repeat(weighted.per_point, M, axis=0), copied.per_point, rtol=1e-7)
    close(np.repeat(weighted.effective_neighbors, M, axis=0), copied.effective_neighbors)


def test_distortion_with_local_scales_and_given_pairs_is_that_of_the_copies():
    weighted = geolap.distortion(X, BANDWIDTHS, sample_weight=M, local_scale=LocalScale(RHO, 2.0), neighbors=cdist(X, X))
    scale = LocalScale(np.repeat(RHO, M), 2.0)
    copied = geolap.distortion(COPIES, BANDWIDTHS, local_scale=scale, neighbors=cdist(COPIES, COPIES))
    close(weighted.mean, copied.mean)
    close(geolap.distortion(X, BANDWIDTHS, sample_weight=M, local_scale=LocalScale(RHO, 2.0)).mean, copied.mean)


@pytest.mark.parametrize("noise_dims", [0, 130])
def test_cells_have_the_weights_of_their_points(noise_dims):
    noise = 1e-3 * np.random.default_rng(0).standard_normal((600, noise_dims))
    points = np.hstack([geolap.datasets.make_torus(600, random_state=0).data, noise])
    m, sample = np.random.default_rng(1).uniform(0.3, 5.0, 600), np.arange(0, 600, 30)
    exact, cells = (
        geolap.distortion(points, BANDWIDTHS[1:5], working_dim=2, sample_weight=m, sample=sample, engine=engine)
        for engine in ("tiled", "cells")
    )
    close(cells.mean, exact.mean, rtol=1e-4)  # single precision
    close(cells.effective_neighbors, exact.effective_neighbors, rtol=1e-4)
    weighted = Points.of(points).weighted(m)
    close(1.0 + CellsEngine(weighted).row_sums(BANDWIDTHS), 1.0 + TiledEngine(weighted).row_sums(BANDWIDTHS), rtol=3e-3)
    close(CellsEngine(weighted).mean_distance(), TiledEngine(weighted).mean_distance())


def test_cells_of_several_points_and_a_sample_of_columns_keep_weights(monkeypatch):
    points = geolap.datasets.make_torus(2000, random_state=0).data
    m, sample = np.random.default_rng(1).integers(1, 6, 2000), np.arange(0, 2000, 40)
    exact = geolap.distortion(points, 1.0, sample_weight=m, sample=sample)
    monkeypatch.setattr("geolap.engines.cells._FEW_PAIRS", 0)
    monkeypatch.setattr("geolap.engines.cells.ENOUGH_COLUMNS", 64)
    cells = geolap.distortion(points, 1.0, sample_weight=m, sample=sample, engine="cells")
    assert 0 < cells.degree_error < 0.1
    close(cells.mean, exact.mean, rtol=0.1)
    close(np.median(cells.effective_neighbors), np.median(exact.effective_neighbors), rtol=0.1)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 6))
def test_any_multiplicities_of_any_points(seed, working_dim, most):
    rng = np.random.default_rng(seed)
    points, m = rng.standard_normal((12, 3)), rng.integers(1, most + 1, 12)
    points[:2] = points[2:4]  # the same place in two rows
    bandwidths = [0.5, 1.0, 3.0]
    weighted = geolap.distortion(points, bandwidths, working_dim=working_dim, sample_weight=m)
    close(weighted.mean, geolap.distortion(np.repeat(points, m, axis=0), bandwidths, working_dim=working_dim).mean, 1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(1, 4)), min_size=2), st.floats(0, 1))
def test_quantiles_and_errors_are_those_of_the_copies(pairs, q):
    values, m = np.array(pairs).T
    copies = np.repeat(values, m.astype(int))
    np.testing.assert_allclose(quantile_of(values, q, m), np.quantile(copies, q), atol=1e-9)
    np.testing.assert_allclose(standard_error(values, m), copies.std(ddof=1) / np.sqrt(len(copies)), atol=1e-9)


@pytest.mark.parametrize("params", [{}, {"working_dim": 1, "dual": False}, {"working_dim": 2, "cutoff": 3.0}], ids=str)
def test_bandwidth_is_that_of_the_copies(params):
    selector = geolap.GeometricConsistency(n_sample=None, random_state=0, **params)
    weighted, copied = selector.fit(X, sample_weight=M).selection_, selector.fit(COPIES).selection_
    close(weighted.bandwidth, copied.bandwidth)
    close(weighted.bound, copied.bound)
    close(weighted.bandwidths, copied.bandwidths)
    close(weighted.scores, copied.scores)
    assert weighted.status is copied.status
    assert weighted.verdict is copied.verdict
    assert weighted.details["working_dim"] == copied.details["working_dim"]
    for name in ("effective", "spanning", "growth", "likelihood", "vote", "share"):
        close(getattr(weighted.neighborhoods, name), getattr(copied.neighborhoods, name))
    if copied.interval is not None:  # which comes from resamples
        close(weighted.interval, copied.interval, rtol=0.05)


RULES = {"rec": {}, "bgh": {}, "semigroup": {}, "median": {}, "knn": {}, "clmr": {"max_dim": 2}, "singer": {}}


@pytest.mark.parametrize("method", [name for name in RULES if name != "singer"])
def test_other_rules_choose_as_for_the_copies(method):
    params = RULES[method] | ({} if method == "bgh" else {"n_sample": None})
    weighted, copied = (
        geolap.select_bandwidth(points, method, sample_weight=m, **params) for points, m in ((X, M), (COPIES, None))
    )
    close(weighted.bandwidth, copied.bandwidth)
    close(weighted.scores, copied.scores, rtol=1e-6)


def test_a_sample_of_evaluation_points_has_their_weights():
    m = np.where(np.arange(60) < 30, 20, 1)
    curve = geolap.distortion(X, 0.8, sample_weight=m, n_sample=20, random_state=0)
    close(curve.mean, np.average(curve.per_point, axis=0, weights=m[curve.sample]))
    selection = geolap.select_bandwidth(X, sample_weight=m, n_sample=20, random_state=0)
    assert selection.details["weights"].tolist() == m[selection.details["sample"]].tolist()


def test_parameters_of_the_graph_are_those_of_the_copies():
    search = geolap.ConsistencySearch(
        {"renormalization": [0.0, 1.0]}, selector=geolap.GeometricConsistency(1, n_sample=None), random_state=0
    )
    weighted = search.fit(X, sample_weight=M)
    score, gain, best = weighted.best_score_, weighted.gain_, weighted.best_params_
    copied = search.fit(COPIES)
    close(score, copied.best_score_)
    close([gain.score, gain.noise], [copied.gain_.score, copied.gain_.noise])
    close(best["bandwidth"], copied.best_params_["bandwidth"])


@pytest.mark.parametrize(
    "params",
    [{}, {"self_weights": True}, {"cutoff": 3.0, "renormalization": 0.5}, {"local_scale": True}],
    ids=str,
)
def test_graph_and_maps_are_those_of_the_copies(params):
    params = {"bandwidth": 0.8, "calibrate": False} | params
    scaled = "local_scale" in params
    own = params | ({"local_scale": LocalScale(RHO, 2.0)} if scaled else {})
    theirs = params | ({"local_scale": LocalScale(np.repeat(RHO, M), 2.0)} if scaled else {})
    weighted = geolap.GraphLaplacian(**own).fit(X, sample_weight=M)
    copied = geolap.GraphLaplacian(**theirs).fit(COPIES)
    close(full(weighted.transition_), of_copies(copied.transition_))
    close(full(weighted.laplacian_), of_copies(copied.laplacian_))
    close(full(weighted.graph_.weights), M[:, None] * of_copies(copied.graph_.weights))
    close(weighted.degrees_, M * copied.degrees_[FIRST])
    close(weighted.dropped_weight_, copied.dropped_weight_)
    new = X[:20] + 0.1
    for kind in (geolap.LaplacianEigenmap, geolap.DiffusionMap):
        weighted, copied = kind(3, **own).fit(X, sample_weight=M), kind(3, **theirs).fit(COPIES)
        close(weighted.eigenvalues_, copied.eigenvalues_)
        close(np.repeat(weighted.embedding_, M, axis=0), copied.embedding_, rtol=1e-7)
        close(weighted.transform(new), copied.transform(new), rtol=1e-7)


def test_chosen_bandwidth_and_map_together_are_those_of_the_copies():
    gc = geolap.GeometricConsistency(2, n_sample=None)
    eigenmap = geolap.LaplacianEigenmap(3, gc, n_neighbors=None, calibrate=False)
    values = eigenmap.fit(X, sample_weight=M).eigenvalues_
    close(values, eigenmap.fit(COPIES).eigenvalues_)
    close(eigenmap.fit_transform(X, sample_weight=M), eigenmap.embedding_)


def test_calibration_is_that_of_the_copies_up_to_its_error():
    sphere = geolap.datasets.make_sphere(250, random_state=0).data
    m = np.where(sphere[:, 2] > 0, 3, 1)
    model = geolap.LaplacianEigenmap(3, 0.5, n_neighbors=None)
    weighted, copied = model.fit(sphere, sample_weight=m).calibration_, model.fit(np.repeat(sphere, m, axis=0)).calibration_
    assert weighted.dimension == copied.dimension == 2
    error = np.hypot(weighted.standard_error, copied.standard_error)
    assert abs(weighted.factor - copied.factor) < 3 * error


@pytest.mark.parametrize("landmarks", [30, 60])
def test_landmarks_have_the_degrees_of_all_copies(landmarks):
    model = geolap.LaplacianEigenmap(2, 0.8, n_landmarks=landmarks, calibrate=False, random_state=0)
    model.fit(X, sample_weight=M)
    whole = geolap.GraphLaplacian(0.8, calibrate=False).fit(X, sample_weight=M)
    close(model.graph_.degrees, whole.degrees_[model.landmarks_])
    assert model.embedding_.shape == (60, 2)


def test_classes_and_probabilities_are_those_of_the_copies():
    y = np.where(np.arange(60) % 3, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0), -1)
    model = geolap.LaplacianClassifier(n_eigenvectors=20, **ALL_PAIRS)
    weighted = model.fit(X, y, sample_weight=M)
    new, labels = X + 0.1, weighted.transduction_
    probabilities, settings_ = weighted.predict_proba(new), (weighted.power_, weighted.penalty_)
    copied = model.fit(COPIES, np.repeat(y, M))
    close(probabilities, copied.predict_proba(new), rtol=1e-7)
    close(settings_, (copied.power_, copied.penalty_))
    assert np.repeat(labels, M).tolist() == copied.transduction_.tolist()


def test_values_are_those_of_the_copies():
    y = np.where(np.arange(60) % 3, X[:, 2], np.nan)
    model = geolap.LaplacianRegressor(n_eigenvectors=20, **ALL_PAIRS)
    values, new = model.fit(X, y, sample_weight=M).transduction_, model.predict(X + 0.1)
    copied = model.fit(COPIES, np.repeat(y, M))
    close(np.repeat(values, M), copied.transduction_, rtol=1e-7)
    close(new, copied.predict(X + 0.1), rtol=1e-7)


def test_a_label_counts_as_often_as_its_weight_says():
    points, y = np.linspace(0, 1, 30)[:, None], np.full(30, np.nan)
    y[[14, 15]] = 0.0, 1.0  # neighbors that disagree
    at = []
    for m in (1.0, 9.0):
        weights = np.where(np.arange(30) == 15, m, 1.0)
        model = geolap.LaplacianRegressor(0.2, n_neighbors=None, n_eigenvectors=3, power=1.0, penalty=1.0)
        at.append(model.fit(points, y, sample_weight=weights).transduction_[15])
    assert 0.4 < at[0] < 0.6
    assert at[1] > 0.8


def test_cross_validation_learns_from_weights():
    pairs, known = (all_pairs(points) for points in (X, COPIES)), np.arange(0, 60, 2)
    classes = (X[known, 0] > 0).astype(int)
    (weighted,) = predicted_classes(next(pairs), 0.8, [known], [classes], size=20, multiplicity=M.astype(float))
    times = np.repeat(np.isin(np.arange(60), known), M)
    (copied,) = predicted_classes(next(pairs), 0.8, [np.flatnonzero(times)], [np.repeat(classes, M[known])], size=20)
    assert np.repeat(weighted, M).tolist() == copied.tolist()
    y = (X[:, 0] > 0).astype(int)
    assert geolap.select_bandwidth(X, "cv", y=y, sample_weight=M, n_evaluations=2, random_state=0).bandwidth > 0


def test_clusters_are_those_of_the_copies():
    points = make_moons(60, noise=0.05, random_state=0)[0]
    model = geolap.LaplacianClustering(2, 0.3, n_neighbors=None, local_scale=None)
    labels = model.fit(points, sample_weight=M).labels_
    assert np.repeat(labels, M).tolist() == model.fit(np.repeat(points, M, axis=0)).labels_.tolist()


def test_the_largest_cluster_is_the_heaviest():
    points = np.vstack([RNG.standard_normal((40, 2)), RNG.standard_normal((20, 2)) + 20])
    model = geolap.LaplacianClustering(2)
    assert model.fit(points).labels_[-1] == 1
    assert model.fit(points, sample_weight=np.repeat([1, 5], [40, 20])).labels_[-1] == 0


def test_health_and_dimension_are_those_of_the_copies():
    weighted = geolap.graph_health(X, 0.8, sample_weight=M, n_sample=None)
    close(weighted.effective_neighbors, geolap.graph_health(COPIES, 0.8, n_sample=None).effective_neighbors)
    assert weighted.nonzeros == geolap.graph_health(X, 0.8, n_sample=None).nonzeros
    weighted = geolap.intrinsic_dimension(X, 0.8, sample_weight=M, n_sample=None).neighborhoods
    copied = geolap.intrinsic_dimension(COPIES, 0.8, n_sample=None).neighborhoods
    close([weighted.growth, weighted.likelihood, weighted.share], [copied.growth, copied.likelihood, copied.share])
    assert weighted.vote == copied.vote


def test_all_rules_that_take_weights_are_compared():
    comparison = geolap.compare_bandwidths(X, sample_weight=M, random_state=0)
    assert {row.selection.method for row in comparison} == {
        name for name, rule in METHODS.items() if rule.takes_weights and not rule.needs_labels
    }


def test_weights_of_one_change_nothing():
    for weights in (np.ones(60), 1, [1] * 60):
        assert geolap.distortion(X, 0.5, sample_weight=weights).mean == geolap.distortion(X, 0.5).mean


@pytest.mark.parametrize("factor", [0.3, 7.5])
def test_the_scale_of_weights_does_not_change_the_distortion(factor):
    for engine in ("tiled", "dense"):
        scaled = geolap.distortion(X, BANDWIDTHS, sample_weight=factor * M, engine=engine)
        close(scaled.mean, geolap.distortion(X, BANDWIDTHS, sample_weight=M, engine=engine).mean)
        close(scaled.effective_neighbors, factor * geolap.distortion(X, BANDWIDTHS, sample_weight=M).effective_neighbors)


def test_everything_is_continuous_in_the_weights():
    m = RNG.uniform(0.3, 3.0, 60)
    m[:4] = 1.0  # where the copies of a point begin
    model = geolap.LaplacianEigenmap(2, geolap.GeometricConsistency(2, n_sample=None), n_neighbors=None, calibrate=False)
    there = model.fit(X, sample_weight=m)
    bandwidth, values, embedding = there.bandwidth_, there.eigenvalues_, there.embedding_
    for sign in (-1.0, 1.0):
        near = model.fit(X, sample_weight=m * (1.0 + sign * 1e-7 * RNG.random(60)))
        close(near.bandwidth_, bandwidth, rtol=1e-3)  # found to half a percent
        near = model.set_params(bandwidth=bandwidth).fit(X, sample_weight=m * (1.0 + sign * 1e-7 * RNG.random(60)))
        close(near.eigenvalues_, values, rtol=1e-5)
        np.testing.assert_allclose(near.embedding_, embedding, atol=1e-5)


@pytest.mark.parametrize("method", RULES)
def test_rules_are_continuous_in_the_weights(method):
    m = np.random.default_rng(1).uniform(0.3, 3.0, 60)
    params = RULES[method] | ({} if method == "bgh" else {"random_state": 0})
    there, near = (geolap.select_bandwidth(X, method, sample_weight=each, **params) for each in (m, m * (1.0 + 1e-9)))
    close(near.bandwidth, there.bandwidth, rtol=1e-6)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(59), "one number for each of the 60 points"),
        (np.ones((60, 1)), "one number for each of the 60 points"),
        (np.zeros(60), "must be above zero and finite"),
        (np.where(np.arange(60) == 7, -1.0, 1.0), "-1.0 was given, first at row 7"),
        (np.where(np.arange(60) == 7, np.nan, 1.0), "nan was given, first at row 7"),
        (np.where(np.arange(60) == 7, np.inf, 1.0), "inf was given, first at row 7"),
        (np.full(60, 1 / 60), "sum to 1"),
        (["many"] * 60, "must hold numbers"),
        (np.ma.masked_equal(np.arange(60) + 1.0, 3.0), "sample_weight must be complete; a masked array was given"),
    ],
)
def test_bad_weights_are_refused_in_a_sentence(weights, words):
    for refuse in (
        lambda: geolap.distortion(X, 0.5, sample_weight=weights),
        lambda: geolap.GraphLaplacian(0.5).fit(X, sample_weight=weights),
    ):
        with pytest.raises(ValueError, match=words):
            refuse()


def test_what_has_no_weights_says_so():
    with pytest.raises(ValueError, match="LocalContinuity counts neighbors one by one"):
        geolap.select_bandwidth(X, "lcmc", sample_weight=M)
    with pytest.raises(ValueError, match="the device engine keeps them elsewhere"):
        geolap.distortion(X, 0.5, sample_weight=M, engine="device")
    chunks = pytest.importorskip("dask.array").from_array(X, chunks=(20, 5))
    with pytest.raises(ValueError, match="the chunked engine keeps them elsewhere"):
        geolap.distortion(chunks, 0.5, sample_weight=M)
    with pytest.raises(ValueError, match="Graphs of weighted points are not thinned"):
        geolap.GraphLaplacian(0.8, n_edges=5).fit(X, sample_weight=M)


@pytest.fixture
def shell(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            app([*map(str, arguments), "--seed", "0"], prog_name="geolap")
        return (end.value.code or 0, *capsys.readouterr())

    return call


def test_a_column_of_a_file_says_how_many_points_a_row_stands_for(shell, tmp_path):
    table, copies, arrays = (tmp_path / name for name in ("table.csv", "copies.csv", "arrays.npz"))
    names = list("abcde")
    pd.DataFrame(X, columns=names).assign(count=M).to_csv(table, index=False)
    pd.DataFrame(COPIES, columns=names).to_csv(copies, index=False)
    np.savez(arrays, X=X, count=M)
    for more in ([], ["--standardize"]):
        found = [float(shell("select", *file, "--quiet", *more)[1]) for file in ([table, "--weights", "count"], [copies])]
        close(*found)
    assert float(shell("select", arrays, "-a", "X", "--weights", "count", "--quiet")[1]) == pytest.approx(
        geolap.select_bandwidth(X, sample_weight=M, random_state=0).bandwidth
    )
    for command in (["embed"], ["cluster", "-k", "2"], ["laplacian"]):
        output = tmp_path / ("L.npz" if command == ["laplacian"] else "out.csv")
        code, _, said = shell(*command, table, "--weights", "count", "-b", "0.8", "-o", output)
        assert code == 0, said
    expected = geolap.LaplacianClustering(2, 0.8, random_state=0).fit(X, sample_weight=M).labels_
    assert pd.read_csv(tmp_path / "out.csv")["cluster"].tolist() == expected.tolist()


def test_the_shell_says_what_is_wrong_with_weights(shell, tmp_path):
    pd.DataFrame(X[:, :3], columns=list("abc")).assign(word="x").to_csv(tmp_path / "table.csv", index=False)
    for weights, words in (("a", "--weights is the number of points"), ("word", "weights must be numbers; column 'word'")):
        code, _, said = shell("select", tmp_path / "table.csv", "--weights", weights)
        assert code == 2
        assert words in said
    code, _, said = shell("select", tmp_path / "table.csv", "--weights", "a", "--report", tmp_path / "page.html")
    assert (code, "--weights was given with --report" in said) == (2, True)


def test_rows_with_missing_values_take_their_weights_along(tmp_path):
    points, m = X[:5].copy(), np.arange(1.0, 6.0)
    points[2, 1] = np.nan
    np.savez(tmp_path / "arrays.npz", X=points, m=m)
    assert read_table(tmp_path / "arrays.npz", array="X", weights="m", missing="rows").weights.tolist() == [1, 2, 4, 5]


def test_observations_have_weights():
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(X, obs=pd.DataFrame({"count": M}, index=map(str, range(60))))
    geolap.anndata.select(adata, sample_weight="count", n_sample=None, random_state=0)
    close(adata.uns["geolap"]["bandwidth"], geolap.select_bandwidth(COPIES, n_sample=None, random_state=0).bandwidth)
    assert adata.uns["geolap"]["params"]["sample_weight"] == "count"
    geolap.anndata.embed(adata, n_components=2, sample_weight=M, **ALL_PAIRS)
    close(adata.obsm["X_geolap"], geolap.LaplacianEigenmap(2, **ALL_PAIRS).fit_transform(X, sample_weight=M))
    geolap.anndata.cluster(adata, 2, sample_weight="count", key_added="parts")
    assert adata.uns["parts"]["clusters"]["params"]["sample_weight"] == "count"
    with pytest.raises(ValueError, match=r"\(count, parts\); 'age' was given"):
        geolap.anndata.select(adata, sample_weight="age")
