"""Parameters by the same criterion, and scales that vary from place to place."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsTransformer

import geolap
from geolap.datasets import load_ssl_book, make_dome, make_sphere, make_torus
from geolap.engines import DenseEngine, SparseEngine, TiledEngine
from geolap.graphs.neighbors import all_pairs
from geolap.metric import departure


@pytest.fixture(scope="module")
def torus():
    return make_torus(700, noise=0.01, noise_dims=2, random_state=0).data


@pytest.mark.slow
def test_every_point_of_the_surface_is_a_selection_of_its_own(torus):
    settings = {"working_dim": 1, "n_sample": 200}
    parameters = {"renormalization": [0.0, 1.0], "n_neighbors": [20, None]}
    selector = geolap.GeometricConsistency(**settings)
    search = geolap.ConsistencySearch(parameters, selector=selector, random_state=0).fit(torus)
    assert len(search.surface_) == 4
    seed = np.random.RandomState(0).randint(2**31 - 1)
    for row in search.surface_:
        params = {"renormalization": row["renormalization"], "n_neighbors": row["n_neighbors"]}
        selection = geolap.GeometricConsistency(random_state=seed, **params, **settings).fit(torus).selection_
        assert row["bandwidth"] == selection.bandwidth
        assert row["score"] == pytest.approx(selection.scores[list(selection.bandwidths).index(selection.bandwidth)])
    best = min(search.surface_, key=lambda row: row["score"])
    assert search.best_score_ == best["score"]
    assert search.best_params_ == {name: best[name] for name in ("bandwidth", "renormalization", "n_neighbors")}
    # ε alone is the selector as it is: λ = 1, all pairs.
    alone = next(r for r in search.surface_ if r["renormalization"] == 1.0 and r["n_neighbors"] is None)
    assert search.gain_.score == pytest.approx(alone["score"] - best["score"])
    assert search.gain_.relative == pytest.approx(1 - best["score"] / alone["score"])
    geolap.GraphLaplacian(**search.best_params_).fit(torus)  # the optimum can be built


@pytest.mark.slow
def test_ranges_are_closed_in(torus):
    settings = {"selector": geolap.GeometricConsistency(n_sample=50), "random_state": 0}
    coarse = geolap.ConsistencySearch({"cutoff": list(np.linspace(1, 4, 5))}, **settings).fit(torus)
    fine = geolap.ConsistencySearch({"cutoff": (1, 4)}, **settings).fit(torus)
    assert fine.best_score_ <= coarse.best_score_
    assert len(fine.surface_) > 5
    tried = sorted(row["cutoff"] for row in fine.surface_)
    at = tried.index(fine.best_params_["cutoff"])
    assert np.diff(tried[max(at - 1, 0) : at + 2]).max() < 0.1
    whole = geolap.ConsistencySearch({"n_neighbors": (10, 100)}, **settings).fit(torus)
    assert all(isinstance(row["n_neighbors"], int) for row in whole.surface_)


@pytest.mark.slow
def test_bandwidths_may_be_restricted(torus):
    selector = geolap.GeometricConsistency(working_dim=1, n_sample=200)
    parameters = {"bandwidth": [0.3, 0.6, 1.2], "renormalization": [0.0, 1.0]}
    among = geolap.ConsistencySearch(parameters, selector=selector, random_state=0).fit(torus)
    assert among.bandwidth_ in (0.3, 0.6, 1.2)
    curve = geolap.distortion(
        torus, [0.3, 0.6, 1.2], n_sample=200, random_state=np.random.RandomState(0).randint(2**31 - 1), renormalization=1.0
    )
    row = next(row for row in among.surface_ if row["renormalization"] == 1.0)
    assert row["score"] == pytest.approx(curve.mean.min())
    free = geolap.ConsistencySearch({"renormalization": [1.0]}, random_state=0).fit(torus)
    within = geolap.ConsistencySearch({"bandwidth": (0.2, 1.5)}, random_state=0).fit(torus)
    assert within.bandwidth_ == pytest.approx(free.bandwidth_, rel=0.01)


@pytest.mark.slow
def test_parameters_of_a_transformer_can_be_searched(torus):
    plain = geolap.GeometricConsistency(working_dim=1, n_sample=200)
    selector = geolap.GeometricConsistency(1, n_sample=200, neighbors=KNeighborsTransformer(n_neighbors=10))
    search = geolap.ConsistencySearch({"neighbors__n_neighbors": [10, 60]}, selector=selector, random_state=0).fit(torus)
    own = geolap.ConsistencySearch({"n_neighbors": [10, 60]}, selector=plain, random_state=0).fit(torus)
    assert search.best_params_["neighbors"].n_neighbors == own.best_params_["n_neighbors"]
    geolap.GraphLaplacian(**search.best_params_).fit(torus)
    assert search.best_score_ == pytest.approx(own.best_score_, rel=1e-6)


@pytest.mark.slow
def test_ranges_of_bandwidths_are_kept(torus):
    for low, high in ((0.5, 0.55), (1e-8, 1e-7), (0.2, 3.0)):
        search = geolap.ConsistencySearch({"bandwidth": (low, high)}, random_state=0).fit(torus)
        assert low * (1 - 1e-12) <= search.bandwidth_ <= high * (1 + 1e-12)


@pytest.mark.slow
def test_what_the_selector_says_about_the_graph_is_kept(torus):
    selector = geolap.GeometricConsistency(n_neighbors=8)
    search = geolap.ConsistencySearch({"renormalization": (np.float32(0), np.float32(1))}, selector=selector).fit(torus)
    assert search.best_params_["n_neighbors"] == 8


@pytest.mark.slow
def test_scales_and_matrices_can_be_searched(torus):
    scales = [None, *(geolap.neighbor_scale(torus, k) for k in (5, 20))]
    search = geolap.ConsistencySearch({"local_scale": scales}, random_state=0).fit(torus)
    assert len(search.surface_) == 3
    matrices = [KNeighborsTransformer(n_neighbors=k).fit_transform(torus) for k in (10, 60)]
    assert geolap.ConsistencySearch({"neighbors": matrices}).fit(torus).best_params_["neighbors"] is matrices[1]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({}, r"must be a dict from names to values or ranges; \{\} was given"),
        ({"gamma": [1]}, r"A parameter must affect the graph \(bandwidth, renormalization, .*; 'gamma' was given"),
        ({"working_dim": [1, 2]}, r"'working_dim' was given: leave it out"),
        ({"cutoff": (3, 1)}, r"\(low, high\) with low < high; cutoff=\(3, 1\) was given"),
        ({"cutoff": 3.0}, r"a list of values or a range \(low, high\); cutoff=3\.0 was given: pass \[3\.0\]"),
        ({"cutoff": []}, r"cutoff=\[\] was given"),
        ({"bandwidth": [-1.0]}, r"bandwidths must be positive and finite; -1\.0 was given"),
        ({"n_neighbors": (0.5, 7)}, r"n_neighbors must be a whole number of at least 1; 0\.5 was given"),
    ],
)
def test_bad_parameters_are_answered_in_words(parameters, sentence, torus):
    with pytest.raises(ValueError, match=sentence):
        geolap.ConsistencySearch(parameters).fit(torus)


# ---- scales that vary


def test_neighbor_scales_are_relative_distances():
    X = np.arange(20.0)[:, None] ** 2
    scale = geolap.neighbor_scale(X, 1)
    nearest = np.r_[1.0, np.minimum(np.diff(X[:, 0])[:-1], np.diff(X[:, 0])[1:]), np.diff(X[:, 0])[-1]]
    np.testing.assert_allclose(scale.rho, nearest / np.median(nearest))
    assert np.median(scale.rho) == 1.0


@pytest.mark.parametrize("d", [1, 2, 5])
def test_dimension_of_the_scales(d):
    X = np.random.default_rng(0).uniform(size=(3000, d))
    assert geolap.neighbor_scale(X).intrinsic_dim == pytest.approx(d, rel=0.15)


def test_duplicates_and_outliers_have_finite_scales():
    X = np.vstack([np.zeros((20, 2)), np.random.default_rng(0).standard_normal((50, 2)), [[1e9, 0]]])
    scale = geolap.neighbor_scale(X, 3)
    assert np.isfinite(scale.rho).all()
    assert (scale.rho > 0).all()
    assert scale.intrinsic_dim <= 2
    geolap.GraphLaplacian(0.5, local_scale=3).fit(X)


def test_points_with_neighbors_are_never_taken_for_isolated():
    # v is ρ^(d/2 − 1), here as small as 1e-57: small is not nothing.
    rng = np.random.default_rng(0)
    rho = np.r_[np.full(100, 1e-3), np.ones(100)]
    X = rng.standard_normal((200, 50)) * 0.1 * rho[:, None]
    graph = geolap.GraphLaplacian(1.0, local_scale=geolap.LocalScale(rho, 40.0)).fit(X).graph_
    assert (graph.renormalized_degrees > 0).all()


def test_scales_given_as_lengths_mean_the_same_over_stored_pairs():
    X = make_sphere(200, random_state=0).data
    rho = 1e-9 * np.random.default_rng(0).uniform(0.5, 2, 200)
    distances = KNeighborsTransformer(n_neighbors=199).fit_transform(X)
    given = {"bandwidths": 0.4e9, "sample": np.arange(0, 200, 9), "local_scale": geolap.LocalScale(rho, 2.0)}
    full, stored = geolap.distortion(X, **given), geolap.distortion(X, neighbors=distances, **given)
    np.testing.assert_allclose(stored.per_point, full.per_point, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [3, 40])
@pytest.mark.parametrize("cutoff", [None, 2.0])
def test_engines_agree_on_varying_scales(n_features, cutoff):
    X = make_dome(600, noise=0.01, noise_dims=n_features - 3, random_state=0).data
    X[1] = X[0]
    scale = geolap.LocalScale(np.random.default_rng(0).uniform(0.5, 2, 600), 2.0)
    bandwidths = np.array([0.02, 0.1, 0.1 * np.sqrt(2), 0.4, 1.0])
    sample = np.arange(0, 600, 13)
    found = []
    for kind in (DenseEngine, TiledEngine, lambda X, **p: SparseEngine(X, all_pairs(X), **p)):
        engine = kind(X, scale=scale, cutoff=cutoff)
        sums = engine.row_sums(bandwidths)
        metrics = engine.local_metrics(sample, bandwidths, 1 + sums, working_dim=2)
        found.append((sums, departure(metrics.H), engine.nearest(sample), engine.row_sums(bandwidths, sample), metrics))
    for sums, D, nearest, some, _ in found[1:]:
        np.testing.assert_allclose(sums, found[0][0], rtol=1e-8, atol=1e-11)
        np.testing.assert_allclose(D, found[0][1], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(nearest, found[0][2], rtol=1e-9)
        np.testing.assert_allclose(some, sums[sample], rtol=1e-8, atol=1e-11)
    for *_, metrics in found[1:]:
        np.testing.assert_allclose(metrics.drift, found[0][4].drift, rtol=1e-5, atol=1e-8)
    if cutoff is None:
        for *_, metrics in found[1:]:
            np.testing.assert_allclose(metrics.effective, found[0][4].effective, rtol=1e-8)


def test_distortion_over_nearest_neighbors_is_that_of_the_graph():
    # The plain formulas on the matrix that GraphLaplacian builds.
    X = make_sphere(200, random_state=0).data
    model = geolap.GraphLaplacian(0.3, n_neighbors=12, local_scale=6, calibrate=False, self_weights=True).fit(X)
    sample = np.arange(0, 200, 7)
    curve = geolap.distortion(X, 0.3, working_dim=2, sample=sample, n_neighbors=12, local_scale=6)
    W, L = model.graph_.weights.toarray(), model.laplacian_.toarray()
    for k, i in enumerate(sample):
        p = W[i] / W[i].sum()
        Z = p[:, None] * (X - p @ X)
        V = np.linalg.eigh(Z.T @ Z)[1][:, -2:]
        y = (X - X[i]) @ V
        H = 0.5 * (y * L[i][:, None]).T @ y
        assert curve.per_point[k, 0] == pytest.approx(np.abs(np.linalg.eigvalsh(H) - 1).max(), rel=1e-7)


def test_constant_scales_change_nothing():
    X = make_sphere(300, random_state=0).data
    plain = geolap.GeometricConsistency(random_state=0).fit(X).selection_
    ones = geolap.GeometricConsistency(random_state=0, local_scale=geolap.LocalScale(np.ones(300), 2.0)).fit(X).selection_
    np.testing.assert_allclose(ones.scores, plain.scores, rtol=1e-12)


@pytest.mark.slow
def test_scales_follow_the_data():
    X = make_sphere(300, random_state=0).data
    for make in (geolap.neighbor_scale, lambda X: geolap.regional_scale(X, random_state=0)):
        np.testing.assert_allclose(make(X * 1000).rho, make(X).rho, rtol=1e-6)


@pytest.mark.slow
def test_regional_scales_find_the_scale_of_each_piece():
    sphere = make_sphere(500, random_state=0).data
    X = np.vstack([sphere, 10 + 0.1 * make_sphere(500, random_state=1).data])
    scale = geolap.regional_scale(X, random_state=0)
    ratio = np.median(scale.rho[:500]) / np.median(scale.rho[500:])
    assert ratio == pytest.approx(10, rel=0.25)
    one = geolap.GeometricConsistency(working_dim=1, random_state=0).fit(X).selection_
    local = geolap.GeometricConsistency(working_dim=1, random_state=0, local_scale=scale).fit(X).selection_
    assert min(m.score for m in local.minima if m.local) < 0.5 * min(m.score for m in one.minima if m.local)


@pytest.mark.slow
def test_varying_scales_pay_on_a_union_of_manifolds():
    # COIL: images of objects on a turntable, closed curves of very different sizes.
    data = load_ssl_book("coil")
    y = np.full(len(data.target), -1)
    y[data.splits[0]] = data.target[data.splits[0]]
    unlabeled = y < 0
    regional = geolap.regional_scale(data.data, n_sample=500, random_state=0)
    wrong, scores = {}, {}
    for name, scale in {"one": None, "neighbors": 10, "regional": regional}.items():
        selector = geolap.GeometricConsistency(working_dim=1, n_sample=200, random_state=0)
        model = geolap.LaplacianClassifier(selector, n_neighbors=None, local_scale=scale, random_state=0).fit(data.data, y)
        wrong[name] = np.mean(model.transduction_[unlabeled] != data.target[unlabeled])
        scores[name] = min(m.score for m in model.selection_.minima if m.local)
    assert max(scores["neighbors"], scores["regional"]) < 0.9 * scores["one"]
    assert wrong["neighbors"] < wrong["one"] - 0.04
    assert wrong["regional"] < wrong["one"]
