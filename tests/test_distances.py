"""Points known by their distances: against the points themselves, any metric, sparse features, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

import geolap
from geolap.data.distances import Distances, points_of
from geolap.datasets import make_sphere, make_swiss_roll, make_torus

RULES = ("gc", "gc_inverse", "rec", "bgh", "semigroup", "clmr", "lcmc", "singer", "median", "knn")


@pytest.fixture(scope="module")
def torus():
    return make_torus(300, noise=0.02, noise_dims=2, random_state=0).data


def without_coordinates(D):
    """The distances as if they had no coordinates."""
    points = points_of(D, "precomputed")
    points.__dict__["_scaled"] = (None, 0.0)
    return points


def plain(D, i, W, dim):
    """y (dim, N) of a point by the formulas of the module, from squared distances alone."""
    S, p = D**2, W / W.sum()
    G = 0.5 * (S[i][:, None] + S[i] - S)
    centered = G - np.outer(G @ p, np.ones(len(p)))
    ZZ = np.diag(p) @ (centered - np.outer(np.ones(len(p)), p @ centered)) @ np.diag(p)
    values, u = np.linalg.eigh(ZZ)
    u, s = u[:, : -dim - 1 : -1], np.sqrt(values[: -dim - 1 : -1])
    return ((centered @ np.diag(p)) @ u / s).T


def distortion_by_formula(D, eps, dim):
    """Algorithm 3 of the paper, with coordinates from distances."""
    W = np.exp(-(D**2) / eps**2)
    P = W / W.sum(axis=0)
    P /= P.sum(axis=1, keepdims=True)
    found = []
    for i in range(len(D)):
        Y = plain(D, i, W[i], dim)
        found.append(np.abs(np.linalg.eigvalsh(2 / eps**2 * (Y * P[i]) @ Y.T) - 1).max())
    return np.array(found)


@pytest.mark.parametrize("metric", ["jaccard", "rogerstanimoto"])
def test_numbers_are_compared_as_bits_without_a_warning(metric):
    """Warnings are errors in tests."""
    bits = np.random.default_rng(0).random((40, 12)) > 0.5
    model = geolap.LaplacianEigenmap(bandwidth=0.5, metric=metric)
    mapped = model.fit_transform(3 * bits.astype(int))
    np.testing.assert_array_equal(mapped, model.fit_transform(bits))
    np.testing.assert_allclose(model.transform(bits[:3].astype(float)), mapped[:3], atol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("dim", [1, 2])
def test_distortion_is_the_formula(metric, dim):
    X = np.random.default_rng(0).standard_normal((40, 3))
    D = cdist(X, X, metric)
    for eps in (0.7, 2.0):
        found = geolap.distortion(D, eps, working_dim=dim, metric="precomputed").per_point[:, 0]
        np.testing.assert_allclose(found, distortion_by_formula(D, eps, dim), atol=1e-8)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(20, 60),
    r=st.integers(2, 30),
    dim=st.integers(1, 2),
    copies=st.integers(0, 3),
)
@settings(max_examples=25, deadline=None)
def test_distances_say_what_points_say(seed, n, r, dim, copies):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, r)) * 10.0 ** rng.uniform(-3, 3)
    X = np.vstack([X, X[:copies]])
    D = cdist(X, X)
    # Where one neighbor carries all weight, a second direction is lost in the rounding of squares, also from points.
    bandwidths = D.max() * np.array([0.1 if dim == 1 else 0.2, 0.3, 0.5])
    expected = geolap.distortion(X, bandwidths, working_dim=dim).mean
    for points in (D, without_coordinates(D)):
        found = geolap.distortion(points, bandwidths, metric="precomputed", working_dim=dim).mean
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
def test_selections_are_those_from_points(torus):
    D = cdist(torus, torus)
    for rule in RULES:
        seed = {} if rule == "bgh" else {"random_state": 0}
        by_points = geolap.select_bandwidth(torus, rule, **seed)
        by_distances = geolap.select_bandwidth(D, rule, metric="precomputed", **seed)
        assert by_distances.bandwidth == pytest.approx(by_points.bandwidth, rel=1e-9), rule
        told = by_points.scores < 1e3  # the inverse of a metric that is nearly zero is nothing but rounding
        np.testing.assert_allclose(by_distances.scores[told], by_points.scores[told], rtol=1e-6, atol=1e-9)
        assert by_distances.verdict is by_points.verdict


@pytest.mark.slow
def test_digit1_from_distances():
    X = geolap.datasets.load_ssl_book("digit1").data
    D = cdist(X, X)
    by_points, by_distances = (
        geolap.GeometricConsistency(random_state=0, metric=metric).fit(given).selection_
        for given, metric in ((X, None), (D, "precomputed"))
    )
    assert by_distances.bandwidth == pytest.approx(by_points.bandwidth, rel=1e-9)
    assert by_distances.scores.min() == pytest.approx(by_points.scores.min(), rel=1e-9)
    assert by_distances.details["negative_share"] == 0.0


@pytest.mark.slow
def test_other_distances_tell_how_far_they_are_from_euclidean(torus):
    manhattan, root = (
        geolap.GeometricConsistency(1, metric=metric, n_sample=20).fit(torus[:150]).selection_
        for metric in ("manhattan", lambda a, b: np.sqrt(np.abs(a - b).sum()))
    )
    share = manhattan.details["negative_share"]
    assert share > 0.1
    assert f"These are not distances between points: {share:.0%} of the eigenvalues" in manhattan.explain()
    assert root.details["negative_share"] == 0.0  # the root of a Manhattan distance is Euclidean
    assert "No points" not in root.explain()


@pytest.mark.parametrize("dim", [1, 3])
def test_points_together_and_one_by_one(dim, monkeypatch):
    # From a bandwidth at which nobody has a neighbor to one at which all have all; the last two points are one.
    X = make_torus(80, random_state=0).data
    X[-1], X[-3] = X[-2], X[-4] + 1e-5
    D, bandwidths = cdist(X, X, "cityblock"), np.geomspace(1e-3, 3.0, 12)
    together = geolap.distortion(D, bandwidths, metric="precomputed", working_dim=dim)
    monkeypatch.setattr("geolap.engines.sparse.MOST_SPANNING", 0)
    one_by_one = geolap.distortion(D, bandwidths, metric="precomputed", working_dim=dim)
    np.testing.assert_allclose(together.per_point, one_by_one.per_point, rtol=1e-8, atol=1e-9)


def test_many_points_span_tangent_planes_by_some_of_them():
    X = make_sphere(1200, random_state=0).data
    sample = np.arange(0, 1200, 100)
    expected = geolap.distortion(X, [0.2, 0.5], working_dim=2, sample=sample).mean
    found = geolap.distortion(without_coordinates(cdist(X, X)), [0.2, 0.5], working_dim=2, sample=sample).mean
    np.testing.assert_allclose(found, expected, rtol=0.02)


def test_a_stored_diagonal_stands_for_no_other_distance(torus):
    D = cdist(torus[:60], torus[:60])
    D[3, 40] = D[40, 3] = np.inf
    row, column = np.nonzero(np.isfinite(D))
    stored = sparse.csr_array((D[row, column], (row, column)), shape=D.shape)
    assert stored.nnz == 60 * 60 - 2
    weights = geolap.GraphLaplacian(1.0, metric="precomputed").fit(stored).graph_.weights
    assert weights[3, 40] == 0.0


@pytest.mark.parametrize("sample_weight", [None, np.tile([1, 2], 40)])
def test_knn_needs_k_stored_neighbors(sample_weight):
    X = make_torus(80, random_state=0).data
    by_points = geolap.select_bandwidth(X, "knn", sample_weight=sample_weight)
    D = kneighbors_graph(X, 12, mode="distance")
    found = geolap.select_bandwidth(D, "knn", metric="precomputed", sample_weight=sample_weight)
    assert found.bandwidth == pytest.approx(by_points.bandwidth)
    np.testing.assert_allclose(found.bandwidths, by_points.bandwidths[: len(found.bandwidths)])


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_swiss_roll, make_sphere])
def test_stored_neighbors_are_enough(make):
    X = make(1000, random_state=0).data
    D = kneighbors_graph(X, 40, mode="distance")
    by_points = geolap.GeometricConsistency(neighbors=D, n_sample=60, random_state=0).fit(X)
    by_distances = geolap.GeometricConsistency(metric="precomputed", n_sample=60, random_state=0).fit(D)
    assert by_distances.bandwidth_ == pytest.approx(by_points.bandwidth_, rel=0.05)
    assert by_distances.selection_.details["working_dim"] == 2
    assert geolap.select_bandwidth(D, "knn", metric="precomputed").method == "knn"
    with pytest.raises(
        ValueError, match=r"MedianDistance compares all pairs; for 1000 points .* only distances to the nearest"
    ):
        geolap.select_bandwidth(D, "median", metric="precomputed")
    rows = geolap.compare_bandwidths(D, metric="precomputed", random_state=0)
    assert [row.selection.method for row in rows] == ["gc", "knn"]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_directions_are_points_on_a_sphere(metric):
    rng = np.random.default_rng(0)
    X = rng.random((200, 5)) ** 2 + 0.1
    X *= rng.random((200, 1)) * 9 + 1
    chord = np.sqrt(2.0 * cdist(X, X, metric))
    np.fill_diagonal(chord, 0.0)
    expected = geolap.distortion(chord, [0.1, 0.3], metric="precomputed").per_point
    for given_ in (X, X.astype(np.float32), sparse.csr_array(X)):
        found = geolap.distortion(given_, [0.1, 0.3], metric=metric).per_point
        np.testing.assert_allclose(found, expected, rtol=1e-3 if given_.dtype == np.float32 else 1e-6)
    fitted = geolap.LaplacianEigenmap(2, metric=metric, random_state=0).fit(X)
    np.testing.assert_allclose(fitted.transform(2.0 * X[:9]), fitted.embedding_[:9], atol=1e-6)
    with pytest.raises(ValueError, match=rf"With {metric} distance a row needs a direction; row 3 has .*: leave out"):
        geolap.distortion(np.where(np.arange(200)[:, None] == 3, 0.0, X), 0.1, metric=metric)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["manhattan", "seuclidean", "mahalanobis", lambda a, b: np.abs(a - b).max()])
def test_estimators_take_any_metric(torus, metric):
    model = geolap.LaplacianEigenmap(2, 1.0, metric=metric).fit(torus)
    np.testing.assert_allclose(model.transform(torus[:5]), model.embedding_[:5], atol=1e-9)
    assert model.transform(torus[:5] + 0.01).shape == (5, 2)
    assert len(set(geolap.LaplacianClustering(2, metric=metric, random_state=0).fit(torus).labels_)) == 2
    y = np.where(np.arange(300) < 40, torus[:, 2] > 0, -1)
    classifier = geolap.LaplacianClassifier(1.0, metric=metric).fit(torus, y)
    assert classifier.predict(torus[:3]).shape == (3,)


@pytest.mark.parametrize("local_scale", [None, 5])
def test_a_cutoff_is_one_of_the_metric(torus, local_scale):
    params = {"metric": "manhattan", "calibrate": False, "renormalization": 0, "local_scale": local_scale}
    D = cdist(torus, torus, "cityblock")
    rho = 1.0 if local_scale is None else np.sqrt(np.outer(*2 * [geolap.neighbor_scale(torus, 5, metric="manhattan").rho]))
    expected = np.exp(-((D / rho) ** 2)) * (D / rho <= 1.5)
    np.fill_diagonal(expected, 0.0)
    found = geolap.GraphLaplacian(1.0, cutoff=1.5, **params).fit(torus).graph_.weights
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)
    with pytest.raises(ValueError, match=r"Thinning applies to points with coordinates; n_edges = 20 .*: leave it out"):
        geolap.GraphLaplacian(1.0, n_edges=20, **params).fit(torus)


@pytest.mark.slow
def test_everything_from_a_matrix_of_distances(torus):
    D, new = cdist(torus, torus), torus[:7] + 0.01
    for params in ({}, {"n_neighbors": 12}, {"n_neighbors": 12, "local_scale": 5}, {"cutoff": 3.0}):
        by_points = geolap.LaplacianEigenmap(3, random_state=0, **params).fit(torus)
        by_distances = geolap.LaplacianEigenmap(3, random_state=0, metric="precomputed", **params).fit(D)
        np.testing.assert_allclose(by_distances.eigenvalues_, by_points.eigenvalues_, rtol=1e-6)
        assert by_distances.calibration_.factor == pytest.approx(by_points.calibration_.factor, rel=1e-6)
        expected = by_points.transform(new)
        np.testing.assert_allclose(by_distances.transform(cdist(new, torus)), expected, rtol=1e-4, atol=1e-6)
    labels = [
        geolap.LaplacianClustering(3, random_state=0, metric=m).fit(X).labels_
        for X, m in ((torus, "l2"), (D, "precomputed"))
    ]
    np.testing.assert_array_equal(*labels)
    for function in (geolap.graph_health, geolap.health_curve):
        one, other = function(torus, 0.5, random_state=0), function(D, 0.5, metric="precomputed", random_state=0)
        np.testing.assert_allclose(one.effective_neighbors, other.effective_neighbors)
        assert np.all(one.components == other.components)
    dimensions = [
        geolap.intrinsic_dimension(X, metric=m, random_state=0).neighborhoods.vote
        for X, m in ((torus, "euclidean"), (D, "precomputed"))
    ]
    assert dimensions[0] == dimensions[1]
    np.testing.assert_allclose(
        geolap.neighbor_scale(D, metric="precomputed").rho, geolap.neighbor_scale(torus).rho, rtol=1e-9
    )


@pytest.mark.slow
def test_sparse_features_stay_sparse(monkeypatch):
    X = sparse.random(220, 60, 0.1, random_state=np.random.default_rng(0), format="csr")
    X = sparse.csr_array(X[np.diff(X.indptr) > 2])
    dense = X.toarray()
    np.testing.assert_allclose(
        geolap.distortion(X, [0.5, 1.0]).per_point, geolap.distortion(dense, [0.5, 1.0]).per_point, rtol=1e-6
    )
    selected = [geolap.GeometricConsistency(random_state=0).fit(given_).bandwidth_ for given_ in (X, dense)]
    assert selected[0] == pytest.approx(selected[1], rel=1e-9)
    # Beyond so many points nearest neighbors count, and no row is ever made dense as a whole.
    monkeypatch.setattr("geolap.data.distances._MOST_WHOLE", 100)
    monkeypatch.setattr("geolap.data.distances._NEAREST", 40)
    expected = geolap.GeometricConsistency(n_neighbors=40, n_sample=40, random_state=0).fit(dense)
    gc = geolap.GeometricConsistency(n_sample=40, random_state=0)
    found = gc.fit(X)
    assert found.bandwidth_ == pytest.approx(expected.bandwidth_, rel=0.01)
    model = geolap.LaplacianEigenmap(2, gc, random_state=0).fit(X)
    assert model.transform(X[:4]).shape == (4, 2)
    assert geolap.LaplacianClustering(2, gc, random_state=0).fit(X).labels_.shape == (X.shape[0],)
    assert geolap.graph_health(X, found.bandwidth_).components >= 1
    assert geolap.intrinsic_dimension(X, found.bandwidth_).neighborhoods.vote >= 0


@pytest.mark.parametrize("metric", ["euclidean", "correlation"])
def test_sparse_features_in_single_precision_have_accurate_distances(metric):
    rng = np.random.default_rng(0)
    X = (0.01 * rng.standard_normal((30, 40)) + 3.0 * rng.standard_normal(40)).astype(np.float32)  # far from the origin
    X[7] = X[3]
    found = points_of(sparse.csr_array(X), metric).full
    assert found[3, 7] == 0.0
    exact = X.astype(float)
    expected = cdist(exact, exact) if metric == "euclidean" else np.sqrt(2.0 * cdist(exact, exact, metric))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("unit", [1e-200, 1e-20, 1e20, 1e200])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_sparse_features_have_any_unit(metric, unit):
    X = np.random.default_rng(0).standard_normal((30, 4)) + 2.0
    expected = geolap.select_bandwidth(X, metric=metric, random_state=0).bandwidth
    found = geolap.select_bandwidth(sparse.csr_array(unit * X), metric=metric, random_state=0).bandwidth
    assert found == pytest.approx(expected * (unit if metric == "euclidean" else 1.0))


@pytest.mark.slow
def test_neighbors_of_sparse_features_may_come_from_elsewhere():
    X = sparse.csr_array(np.random.default_rng(0).poisson(0.3, (300, 20)).astype(float))
    for neighbors in (KNeighborsTransformer(n_neighbors=15), kneighbors_graph(X, 15, mode="distance")):
        model = geolap.GraphLaplacian(neighbors=neighbors, random_state=0).fit(X)
        assert model.selection_ is not None


def test_a_transformer_joins_new_rows_of_sparse_features():
    X = sparse.csr_array(make_torus(60, random_state=0).data)
    maps = [
        geolap.LaplacianEigenmap(2, 2.0, neighbors=KNeighborsTransformer(n_neighbors=15)).fit(rows)
        for rows in (X, X.toarray())
    ]
    np.testing.assert_allclose(maps[0].transform(X[:9]), maps[1].transform(X[:9].toarray()), atol=1e-9)
    np.testing.assert_array_equal(maps[0].transform(X[:9]), maps[0].embedding_[:9])


@pytest.mark.slow
def test_sparse_counts_of_anndata():
    anndata = pytest.importorskip("anndata")
    X = sparse.csr_matrix(np.random.default_rng(0).poisson(0.5, (200, 30)).astype(float))
    adata = anndata.AnnData(X)
    geolap.anndata.neighbors(adata, use_rep="X")
    geolap.anndata.embed(adata, use_rep="X")
    geolap.anndata.cluster(adata, n_clusters=2, use_rep="X")
    assert adata.obsp["distances"].nnz == 200 * 15
    assert adata.n_obs == len(adata.obs)


BASE = cdist(make_sphere(30, random_state=0).data, make_sphere(30, random_state=0).data)


@pytest.mark.parametrize(
    ("D", "sentence"),
    [
        (np.triu(BASE), "must be symmetric; this one is not"),
        (BASE + 0.2 * np.eye(30), r"from a point to itself must be zero; the diagonal contains 0\.2, first at row 0"),
        (BASE - 0.5, r"finite and not negative; -0\.5 was given"),
        (np.where(BASE > 1.9, np.nan, BASE), "finite and not negative; nan was given"),
        (np.random.default_rng(0).random((30, 30)), "must be symmetric|from a point to itself"),
        (sparse.csr_array(np.exp(-(BASE**2))), "the largest entries are on the diagonal, as in a similarity matrix"),
        (sparse.csr_array(BASE + 0.2 * np.eye(30)), r"from a point to itself must be zero; the diagonal contains 0\.2"),
        (np.exp(-(BASE**2)), "the largest entries are on the diagonal, as in a similarity matrix"),
        (cdist(np.arange(40.0)[:, None], np.arange(40.0)[:, None]) ** 2, r"triangle inequality.*instead of their squares"),
        (BASE[:, :20], r"as many rows as columns; shape \(30, 20\) was given"),
        (BASE[:2, :2], "needs at least three points; .* n_samples=2: pass"),
        (BASE.astype(str), "must be a square matrix of numbers"),
        (np.zeros((5, 5)), r"three distinct points|representable|at another place"),
    ],
)
def test_what_is_no_matrix_of_distances_is_refused(D, sentence):
    with pytest.raises(ValueError, match=sentence):
        geolap.GeometricConsistency(metric="precomputed").fit(D)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rounding_on_the_diagonal_is_zero(kind):
    exact, rounded = (
        geolap.distortion(kind(BASE + own * np.eye(30)), [0.5], metric="precomputed").per_point for own in (0.0, 1e-7)
    )
    np.testing.assert_allclose(rounded, exact, rtol=1e-6)


def test_a_metric_that_fails_is_named(torus):
    def broken(a, b):
        raise RuntimeError("no such atom")

    with pytest.raises(ValueError, match=r"broken failed \(no such atom\): check what it expects"):
        geolap.distortion(torus, 1.0, metric=broken)
    with pytest.raises(ValueError, match="finite and not negative; nan was given"):
        geolap.distortion(torus, 1.0, metric=lambda a, b: float("nan"))
    with pytest.raises(ValueError, match=r"'yule' failed .* or pass X\.toarray\(\) if that fits in memory"):
        geolap.distortion(sparse.csr_array(torus), 1.0, metric="yule")
    with pytest.raises(ValueError, match="have their own engine; engine='tiled' was given"):
        geolap.distortion(torus, 1.0, metric="manhattan", engine="tiled")


def test_places_on_a_globe_are_in_radians():
    degrees = np.random.default_rng(0).uniform(-60, 60, (40, 2))
    near_equator, stored = degrees * [0.01, 1.0], sparse.csr_array(degrees)
    for wrong, place in ((degrees, "latitude"), (near_equator, "longitude"), (stored, "latitude")):
        with pytest.raises(ValueError, match=rf"a {place} of size [56]\d.* was given: multiply degrees by π/180"):
            geolap.GraphLaplacian(0.5, metric="haversine").fit(wrong)
    there = geolap.LaplacianEigenmap(2, 0.5, metric="haversine").fit(np.radians(degrees))
    with pytest.raises(ValueError, match="multiply degrees"):
        there.transform(degrees)
    poles = np.array([[0.5 * np.pi, 2.0 * np.pi], [-0.5 * np.pi, -2.0 * np.pi], [0.0, 0.0], [0.1, 0.2]])
    assert len(geolap.GraphLaplacian(0.5, metric="haversine").fit(poles).laplacian_) == 4


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_a_weight_of_two_is_a_point_given_twice(metric):
    rng = np.random.default_rng(0)
    X, m = rng.standard_normal((40, 3)), rng.integers(1, 4, 40)
    D, copies = cdist(X, X, metric), cdist(np.repeat(X, m, axis=0), np.repeat(X, m, axis=0), metric)
    for dim in (1, 2):
        found = geolap.distortion(D, [0.8, 2.0], working_dim=dim, metric="precomputed", sample_weight=m)
        expected = geolap.distortion(copies, [0.8, 2.0], working_dim=dim, metric="precomputed")
        np.testing.assert_allclose(np.repeat(found.per_point, m, axis=0), expected.per_point, rtol=1e-6, atol=1e-7)
    eigenvalues = [
        geolap.LaplacianEigenmap(3, 1.0, metric="precomputed", calibrate=False).fit(given_, None, weights).eigenvalues_
        for given_, weights in ((D, m), (copies, None))
    ]
    np.testing.assert_allclose(eigenvalues[0], eigenvalues[1], rtol=1e-6)


@pytest.mark.slow
def test_the_shell_takes_a_metric(torus, tmp_path, capsys):
    from geolap.cli.commands import app

    def shell(*arguments):
        with pytest.raises(SystemExit) as end:
            app([*map(str, arguments), "--seed", "0"], prog_name="geolap")
        return (end.value.code or 0, *capsys.readouterr())

    X, D = torus[:60], cdist(torus[:60], torus[:60])
    np.save(tmp_path / "points.npy", X)
    np.save(tmp_path / "distances.npy", D)
    for file, metric, given_ in (("points", "cosine", X), ("points", "manhattan", X), ("distances", "precomputed", D)):
        code, said, _ = shell("select", tmp_path / f"{file}.npy", "--metric", metric, "--quiet")
        assert code == 0
        expected = geolap.select_bandwidth(given_, metric=metric, random_state=0).bandwidth
        assert float(said) == pytest.approx(expected, rel=1e-9)
    output = tmp_path / "map.npy"
    assert shell("embed", tmp_path / "distances.npy", "--metric", "precomputed", "-b", "1", "-o", output)[0] == 0
    for options, words in (
        (["--metric", "precomputed", "--standardize"], "Distances have no features to scale"),
        (["--metric", "manhattan", "--report", tmp_path / "page.html"], "A report shows points with coordinates"),
        (["--metric", "precomputed", "--standardize"], "no features to scale; --standardize was given with --metric"),
        (["--metric", "nearly"], "or a function of two rows; 'nearly' was given"),
    ):
        code, _, said = shell("select", tmp_path / "points.npy", *options)
        assert code == 2
        assert words in " ".join(said.split())


def test_inputs_are_not_changed(torus):
    D = cdist(torus, torus)
    S = sparse.csr_array(np.maximum(torus, 0.0))
    before = D.copy(), S.copy()
    geolap.LaplacianEigenmap(2, metric="precomputed", random_state=0).fit(D)
    geolap.LaplacianEigenmap(2, 0.5, metric="cosine").fit(S[np.diff(S.indptr) > 0])
    np.testing.assert_array_equal(D, before[0])
    assert (before[1] != S).nnz == 0
    assert isinstance(points_of(D, "precomputed"), Distances)
