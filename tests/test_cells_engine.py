"""The cells engine against the tiled one, and the cells it stands on against plain sums."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import geolap
from geolap.datasets import make_hourglass, make_sphere, make_torus
from geolap.engines import CellsEngine, DenseEngine, TiledEngine, cells, make_engine
from geolap.engines.gaussian_cells import Boxes, Cells, runs_of
from geolap.engines.moments import row_moments
from geolap.laplacian import LocalScale
from geolap.metric import departure
from geolap.specification import GraphSpec


@pytest.fixture(autouse=True)
def estimates_however_few_pairs(monkeypatch):
    monkeypatch.setattr("geolap.engines.cells._FEW_PAIRS", 0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def in_tree_order(X):
    return X[cKDTree(X, leafsize=8).indices]


def test_cells_of_one_point_are_the_plain_sum(rng):
    X = in_tree_order(rng.standard_normal((700, 5)))
    exact = np.exp(-cdist(X, X, "sqeuclidean") / 0.8**2).sum(axis=1)
    sums = Cells.of(X, len(X)).sums(X, 0.8, runs_of(np.arange(700)), n_jobs=1)
    np.testing.assert_allclose(sums, exact, rtol=1e-4)


def test_cells_of_one_point_far_from_the_center_keep_their_digits(rng):
    X = in_tree_order(1000.0 + 1e-3 * rng.standard_normal((300, 3)))
    exact = np.exp(-cdist(X, X, "sqeuclidean") / 1e-3**2).sum(axis=1)
    np.testing.assert_allclose(Cells.of(X, 300).sums(X, 1e-3, [0], n_jobs=1), exact, rtol=1e-3)


def test_a_gaussian_cell_is_the_mean_of_the_kernel_over_a_gaussian(rng):
    points = 0.3 * rng.standard_normal((200_000, 3))
    x = np.array([[0.4, -0.2, 0.1]])
    exact = np.exp(-cdist(x, points, "sqeuclidean") / 0.5**2).sum()
    assert Cells.of(points, 1).sums(x, 0.5, [0], n_jobs=1)[0] == pytest.approx(exact, rel=0.01)


def test_thirty_cells_to_a_neighborhood_give_degrees_to_half_a_percent(rng):
    X = in_tree_order(make_hourglass(30_000, noise=0.01, noise_dims=10, random_state=0).data)
    eps = 0.21
    some = X[rng.choice(len(X), 200, replace=False)]
    W = np.exp(-cdist(some, X, "sqeuclidean") / eps**2)
    effective = np.median(W.sum(axis=1) ** 2 / (W**2).sum(axis=1))
    cells = Cells.of(X, 2 ** round(np.log2(32 * len(X) / effective)))
    ratio = np.log(cells.sums(some, eps, np.arange(200), n_jobs=1) / W.sum(axis=1))
    assert np.std(ratio) < 0.006


@pytest.mark.parametrize("cutoff", [None, 2.0])
@pytest.mark.parametrize("n_cells", [64, 600])
def test_targets_one_by_one_have_the_sums_of_tiles(rng, n_cells, cutoff):
    X = in_tree_order(rng.standard_normal((600, 4)))
    rho = np.exp(0.3 * rng.standard_normal(600))
    cells = Cells.of(X, n_cells, rho)
    one, tile = (cells.sums(X, 0.7, starts, rho=rho, cutoff=cutoff, n_jobs=1) for starts in (np.arange(600), [0]))
    # Single precision decides for a cell of fifty points at the cut-off.
    np.testing.assert_allclose(one, tile, rtol=2e-5 if cutoff is None else 0.02)


def test_local_scales_and_cutoff_in_cells(rng):
    X = in_tree_order(rng.standard_normal((600, 4)))
    rho = np.exp(0.5 * rng.standard_normal(600))
    d2 = cdist(X, X, "sqeuclidean") / np.outer(rho, rho)
    sums = Cells.of(X, 600, rho).sums(X, 0.7, runs_of(np.arange(600)), rho=rho, cutoff=2.0, n_jobs=1)
    exact = np.where(d2 <= 1.4**2, np.exp(-d2 / 0.7**2), 0.0).sum(axis=1)
    np.testing.assert_allclose(sums, exact, rtol=1e-3)


def test_boxes_miss_no_point_in_reach(rng):
    X = in_tree_order(rng.standard_normal((5000, 3)))
    boxes = Boxes(X, 16)
    for x in X[::500]:
        near = boxes.points(boxes.within(0.5, x, x))
        inside = np.flatnonzero(((X - x) ** 2).sum(axis=1) <= 0.25)
        assert np.isin(inside, near).all()
        assert len(near) < 2500


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("r", [3, 13, 150])
def test_D_is_that_of_the_tiled_engine(dim, r):
    n = 6000 if r < 100 else 2500
    X = make_torus(n, noise=0.03, noise_dims=r - 3, random_state=0).data
    sample = np.arange(0, n, n // 100)
    eps = np.array([0.25, 0.5, 1.0, 2.5])
    exact = TiledEngine(X)
    found = CellsEngine(X).local_metrics(sample, eps, working_dim=dim)
    local = exact.local_metrics(sample, eps, 1.0 + exact.row_sums(eps), working_dim=dim)
    D, truth = departure(found.H).mean(axis=0), departure(local.H).mean(axis=0)
    np.testing.assert_allclose(D, truth, rtol=0.02)
    np.testing.assert_allclose(found.drift.mean(axis=0), local.drift.mean(axis=0), rtol=0.03)
    np.testing.assert_allclose(found.effective, local.effective, rtol=0.05)
    assert (found.degree_error < 0.5 * D).all()


def test_more_directions_at_the_same_points_are_those_of_a_new_engine(monkeypatch):
    X = make_torus(2000, noise=0.02, noise_dims=3, random_state=0).data
    bandwidths, sample = np.array([0.3, 0.6]), np.arange(0, 2000, 20)
    engine, counted = CellsEngine(X), []
    monkeypatch.setattr(cells, "row_moments", lambda *args, **more: counted.append(1) or row_moments(*args, **more))
    engine.local_metrics(sample, bandwidths, working_dim=1)
    summed = len(counted)
    found = engine.local_metrics(sample, bandwidths, working_dim=2)
    assert len(counted) == summed
    np.testing.assert_array_equal(found.H, CellsEngine(X).local_metrics(sample, bandwidths, working_dim=2).H)
    other = engine.local_metrics(sample[:50], bandwidths, working_dim=2, renormalization=0.5)
    plain = CellsEngine(X).local_metrics(sample[:50], bandwidths, working_dim=2, renormalization=0.5)
    np.testing.assert_array_equal(other.H, plain.H)


@pytest.mark.slow
def test_columns_are_a_sample_only_where_neighborhoods_are_large(monkeypatch):
    monkeypatch.setattr("geolap.engines.cells.ENOUGH_COLUMNS", 300)
    X = make_sphere(12_000, random_state=0).data
    engine = CellsEngine(X)
    places = np.arange(0, 12_000, 100)
    assert engine._sampled(0.01, places)[1] == 1
    columns, thinned = engine._sampled(0.5, places)
    assert thinned > 10
    assert np.isin(places, columns).all()
    sample, eps = np.arange(0, 12_000, 60), np.array([1.2])
    exact = TiledEngine(X)
    local = exact.local_metrics(sample, eps, 1.0 + exact.row_sums(eps), working_dim=2)
    found = engine.local_metrics(sample, eps, working_dim=2)
    np.testing.assert_allclose(departure(found.H).mean(), departure(local.H).mean(), rtol=0.02)
    np.testing.assert_allclose(found.effective, local.effective, rtol=0.15)


@pytest.mark.slow
def test_local_scales_agree_with_the_dense_engine(rng):
    X = make_sphere(3000, random_state=0).data
    scale = LocalScale(np.exp(0.3 * X[:, 0]), 2.0)
    sample, eps = np.arange(0, 3000, 50), np.array([0.2, 0.5])
    exact = DenseEngine(X, scale=scale)
    local = exact.local_metrics(sample, eps, 1.0 + exact.row_sums(eps), working_dim=2)
    found = CellsEngine(X, scale=scale).local_metrics(sample, eps, working_dim=2)
    np.testing.assert_allclose(departure(found.H).mean(axis=0), departure(local.H).mean(axis=0), rtol=0.02)


def test_row_sums_and_nearest():
    X = make_torus(4000, noise=0.05, random_state=0).data
    engine, exact = CellsEngine(X), TiledEngine(X)
    eps, targets = np.array([0.3, 0.9]), np.array([5, 3999, 17])
    np.testing.assert_allclose(engine.nearest(targets), exact.nearest(targets))
    np.testing.assert_allclose(engine.row_sums(eps), exact.row_sums(eps), rtol=0.1)
    np.testing.assert_allclose(engine.row_sums(eps, targets), exact.row_sums(eps, targets), rtol=0.1)
    assert engine.mean_distance() == pytest.approx(exact.mean_distance())


def test_duplicates_outliers_and_isolated_points(rng):
    X = rng.standard_normal((2000, 3))
    X[:300] = X[0]
    X[-1] = 1e6
    sample = np.array([0, 1, 500, 1999])
    found = CellsEngine(X).local_metrics(sample, np.array([1e-9, 0.5, 1e3]), working_dim=1)
    exact = DenseEngine(X)
    eps = np.array([1e-9, 0.5, 1e3])
    local = exact.local_metrics(sample, eps, 1.0 + exact.row_sums(eps), working_dim=1)
    np.testing.assert_allclose(found.H[..., 0, 0], local.H[..., 0, 0], rtol=0.05, atol=1e-6)
    assert (found.H[:, 0] == 0).all()


@pytest.mark.slow
def test_selection_is_near_the_exact_one_and_reproducible():
    X = make_hourglass(3000, noise=0.01, noise_dims=10, random_state=0).data
    estimate = geolap.GeometricConsistency(engine="cells", n_sample=100, random_state=0)
    found, again = estimate.fit(X).selection_, estimate.fit(X).selection_
    exact = geolap.GeometricConsistency(exact=True, n_sample=100, random_state=0).fit(X).selection_
    assert found.bandwidth == pytest.approx(exact.bandwidth, rel=0.05)
    assert found.bandwidth == again.bandwidth
    assert found.status is exact.status
    assert np.nanmax(found.details["degree_error"]) < 0.2
    assert exact.details["degree_error"] is None


def test_size_decides_and_exact_overrides():
    X = np.random.default_rng(0).standard_normal((30_001, 2))
    assert isinstance(make_engine(X), CellsEngine)
    assert isinstance(make_engine(X, GraphSpec(exact=True)), TiledEngine)
    assert isinstance(make_engine(X[:30_000]), TiledEngine)
    with pytest.raises(ValueError, match="exact=True needs an engine that visits all pairs"):
        make_engine(X, GraphSpec(engine="cells", exact=True))


def test_distortion_takes_exact():
    X = make_torus(1500, random_state=0).data
    estimated = geolap.distortion(X, [0.5, 1.0], n_sample=100, random_state=0, engine="cells")
    exact = geolap.distortion(X, [0.5, 1.0], n_sample=100, random_state=0, exact=True)
    np.testing.assert_allclose(estimated.mean, exact.mean, rtol=0.02)
    assert exact.degree_error is None
    assert estimated.degree_error.shape == (2,)


@pytest.mark.slow
def test_more_evaluation_points_than_are_held_at_once(monkeypatch):
    X = make_torus(1500, random_state=0).data
    whole = geolap.distortion(X, [0.5], engine="cells").per_point
    monkeypatch.setattr("geolap.engines.cells._ROWS", 100)
    np.testing.assert_array_equal(geolap.distortion(X, [0.5], engine="cells").per_point, whole)
