"""Graphs and Laplacians: invariants, convergence to Δ, dense against sparse, degenerate points."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

import geolap
from geolap.data.distances import given_pairs
from geolap.data.pairs import Pairs
from geolap.datasets import make_sphere, make_torus
from geolap.graphs.graph import kernel_graph
from geolap.graphs.neighbors import all_pairs, nearest_neighbors, nearest_pairs, pairs_within


def dense(A):
    return A.toarray() if sparse.issparse(A) else np.asarray(A)


def test_laplacian_is_the_formula():
    X = make_sphere(60, random_state=0).data
    W = np.exp(-cdist(X, X, "sqeuclidean") / 0.6**2)
    d = W.sum(axis=1)
    W1 = W / np.outer(d, d)
    d1 = W1.sum(axis=1)
    paper = {"calibrate": False, "self_weights": True}
    kinds = ("random_walk", "symmetric", "unnormalized")
    fits = {kind: geolap.GraphLaplacian(0.6, normalization=kind, **paper).fit(X) for kind in kinds}
    model = fits["random_walk"]
    np.testing.assert_allclose(model.degrees_, d, rtol=1e-12)
    np.testing.assert_allclose(model.transition_, W1 / d1[:, None], rtol=1e-10)
    factor = 4 / 0.6**2
    np.testing.assert_allclose(model.laplacian_, factor * (W1 / d1[:, None] - np.eye(60)), rtol=1e-9, atol=1e-12)
    expected = factor * (W1 / np.sqrt(np.outer(d1, d1)) - np.eye(60))
    np.testing.assert_allclose(fits["symmetric"].laplacian_, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fits["unnormalized"].laplacian_, factor * (W1 - np.diag(d1)), rtol=1e-9, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    renormalization=st.sampled_from([0.0, 0.5, 1.0]),
    self_weights=st.booleans(),
    how=st.sampled_from([{}, {"cutoff": 2.0}, {"n_neighbors": 4}, {"local_scale": 5}]),
    bandwidth=st.sampled_from([1e-3, 0.3, 2.0]),
)
def test_laplacian_annihilates_constants_and_rows_of_p_sum_to_one(seed, renormalization, self_weights, how, bandwidth):
    X = np.random.default_rng(seed).standard_normal((30, 3))
    X[1] = X[0]  # a duplicate
    model = geolap.GraphLaplacian(bandwidth, renormalization=renormalization, self_weights=self_weights, **how).fit(X)
    P, L = dense(model.transition_), dense(model.laplacian_)
    assert np.isfinite(L).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(L.sum(axis=1), 0.0, atol=1e-9 * np.abs(L).max())
    symmetric = dense(model.graph_.symmetric())
    np.testing.assert_array_equal(symmetric, symmetric.T)
    assert np.linalg.eigvalsh(symmetric).max() < 1 + 1e-10


@pytest.mark.parametrize("scale", [1e-100, 1e-3, 1e100])
def test_laplacian_scales_with_the_data(scale):
    X = make_sphere(80, random_state=0).data
    one, other = (geolap.GraphLaplacian(0.5 * s).fit(X * s).transition_ for s in (1.0, scale))
    np.testing.assert_allclose(other, one, rtol=1e-9)


@cache
def laplacian_of_manifold(make, n):
    """Points, and L with ε ∝ N^(−1/8)."""
    sample = make(n, random_state=0)
    bandwidth = (1.3 if make is make_sphere else 2.1) * n ** (-1 / 8)
    return sample, geolap.GraphLaplacian(bandwidth).fit(sample.data).laplacian_


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "function", "image"),
    [
        # Δz = −2z and Δxy = −6xy on the unit sphere.
        (make_sphere, lambda s: s.clean[:, 2], lambda s, f: -2 * f),
        (make_sphere, lambda s: s.clean[:, 0] * s.clean[:, 1], lambda s, f: -6 * f),
        # On the torus of radii 2 and 1, angle a around the tube: Δ sin a = −sin a − sin a cos a/(2 + cos a).
        (
            make_torus,
            lambda s: np.sin(s.coordinates[:, 0]),
            lambda s, f: -f - f * np.cos(s.coordinates[:, 0]) / (2 + np.cos(s.coordinates[:, 0])),
        ),
    ],
)
def test_laplacian_converges_to_that_of_the_manifold(make, function, image):
    errors = []
    for n in (500, 2000, 5000):
        sample, L = laplacian_of_manifold(make, n)
        f = function(sample)
        truth = image(sample, f)
        errors.append(np.sqrt(np.mean((L @ f - truth) ** 2) / np.mean(truth**2)))
    assert errors[0] > 1.15 * errors[1]
    assert errors[1] > 1.15 * errors[2]
    assert errors[2] < 0.15


@pytest.mark.slow
def test_density_drops_out_with_renormalization_one():
    # Points on a circle with density 1 + 0.8 cos θ: with λ = 1, L cos θ = −cos θ; with λ = 0 there is a drift.
    rng = np.random.default_rng(0)
    theta = rng.uniform(0, 2 * np.pi, 30000)
    theta = theta[rng.uniform(size=len(theta)) < (1 + 0.8 * np.cos(theta)) / 1.8][:4000]
    X = np.column_stack([np.cos(theta), np.sin(theta)])
    errors = {}
    for name, params in {
        "with": {"renormalization": 1.0},
        "without": {"renormalization": 0.0},
        "local": {"renormalization": 1.0, "local_scale": geolap.neighbor_scale(X, 200, intrinsic_dim=1)},
        "local, wrong dimension": {"local_scale": geolap.neighbor_scale(X, 200, intrinsic_dim=3)},
    }.items():
        L = geolap.GraphLaplacian(0.25, **params).fit(X).laplacian_
        errors[name] = np.sqrt(np.mean((L @ X[:, 0] + X[:, 0]) ** 2))
    assert errors["with"] < 0.2
    assert errors["without"] > 3 * errors["with"]
    # A bandwidth that follows the density changes nothing in the limit, if the dimension is right.
    assert errors["local"] < 0.2
    assert errors["local, wrong dimension"] > 3 * errors["local"]


def test_pairs_within_are_all_pairs_within():
    X = np.vstack([make_torus(1700, noise=0.05, noise_dims=2, random_state=0).data, np.zeros((3, 5))])  # several blocks
    sqdist = cdist(X, X, "sqeuclidean")
    for rho in (None, np.random.default_rng(0).uniform(0.5, 2, len(X))):
        scaled = sqdist if rho is None else sqdist / (rho[:, None] * rho)
        found = pairs_within(X, 0.7, rho=rho)
        S = found.sqdist.toarray() * found.unit**2
        np.testing.assert_array_equal(S > 0, scaled <= 0.7**2)  # zeros are stored as something positive
        np.testing.assert_allclose(S[S > 0], scaled[scaled <= 0.7**2], rtol=1e-9, atol=1e-14)
        assert (found.sqdist != found.sqdist.T).nnz == 0
    np.testing.assert_allclose(all_pairs(X).sqdist * all_pairs(X).unit ** 2, sqdist, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("rho", [None, np.random.default_rng(0).uniform(0.5, 2, 700)])
def test_weights_of_all_pairs_are_those_of_stored_distances(rho):
    X = np.random.default_rng(0).standard_normal((700, 5))  # several tiles, the last of them smaller
    pairs = all_pairs(X) if rho is None else all_pairs(X).scaled(rho)
    sqdist = cdist(X, X, "sqeuclidean") / (1.0 if rho is None else rho[:, None] * rho)
    for cutoff in (None, 2.0):
        W = pairs.weights(0.9, cutoff=cutoff)
        inside = True if cutoff is None else sqdist <= (0.9 * cutoff) ** 2
        np.testing.assert_allclose(W, np.exp(-sqdist / 0.9**2) * inside, rtol=1e-10, atol=0)
        np.testing.assert_array_equal(W, W.T)
        np.testing.assert_array_equal(W, pairs.host.weights(0.9, cutoff=cutoff))
    assert pairs.weights(0.9, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("n_features", [3, 40])
def test_nearest_neighbors_are_the_nearest(n_features):
    X = np.random.default_rng(0).standard_normal((700, n_features))
    X[5] = X[6] = X[7]
    distances, columns = nearest_neighbors(X, 12)
    full = cdist(X, X)
    np.fill_diagonal(full, np.inf)
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, :12], rtol=1e-7, atol=1e-12)
    assert not (columns == np.arange(700)[:, None]).any()
    np.testing.assert_allclose(np.take_along_axis(full, columns, axis=1), distances, rtol=1e-7, atol=1e-12)
    some = np.array([699, 5, 5, 17])
    for all_of_them, found in zip((distances, columns), nearest_neighbors(X, 12, rows=some), strict=True):
        np.testing.assert_allclose(found, all_of_them[some], rtol=1e-12)
    joined = nearest_pairs(X, 12).sqdist
    directed = np.zeros((700, 700), dtype=bool)
    np.put_along_axis(directed, columns, True, axis=1)
    np.testing.assert_array_equal(joined.toarray() > 0, directed | directed.T | np.eye(700, dtype=bool))


def test_nearest_neighbors_among_many_duplicates():
    X = np.vstack([np.zeros((10, 2)), np.ones((10, 2)), [[5.0, 5.0]]])
    distances, columns = nearest_neighbors(X, 3)
    np.testing.assert_array_equal(distances[:20], 0.0)
    assert not (columns == np.arange(21)[:, None]).any()


def answers(n=400, n_features=6):
    """Different rows of answers on a scale of five, in an order of chance: most distances are tied."""
    rng = np.random.default_rng(3)
    X = 3.0 + 0.9 * rng.standard_normal((n, 2)) @ rng.standard_normal((2, n_features))
    X = np.unique(np.clip(np.round(X + 0.5 * rng.standard_normal(X.shape)), 1.0, 5.0), axis=0)
    return X[rng.permutation(len(X))]


@pytest.mark.parametrize("n_features", [6, 20])
def test_neighbors_among_ties_do_not_depend_on_the_unit_or_the_order_of_rows(n_features):
    X = answers(n_features=n_features)
    distances, columns = nearest_neighbors(X, 10)
    full = cdist(X, X)
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, 1:11], rtol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(full, columns, axis=1), distances, rtol=1e-9)
    assert (np.diff(distances, axis=1) >= 0).all()
    for unit in (3.7, 10.0, 1e-3):
        np.testing.assert_array_equal(nearest_neighbors(unit * X, 10)[1], columns)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(order[nearest_neighbors(X[order], 10)[1]], columns[order])


def test_ties_favor_no_direction():
    X = np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0)), axis=-1).reshape(-1, 2)
    _, columns = nearest_neighbors(X, 2)
    inside = ((X > 0) & (X < 39)).all(axis=1)
    drift = (X[columns[inside]] - X[inside, None]).mean(axis=(0, 1))
    assert np.abs(drift).max() < 0.05


def test_given_distances_keep_zeros_and_either_side():
    D = sparse.csr_array(([2.0, 0.0, 3.0], ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    W = given_pairs(D).weights(2.0).toarray()
    np.testing.assert_allclose(W[[0, 1, 2], [1, 2, 0]], np.exp(-(np.array([2.0, 0.0, 3.0]) ** 2) / 4))
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_array_equal(np.diag(W), 1.0)


def test_sparse_graph_tends_to_the_dense_one():
    X = make_sphere(400, random_state=0).data
    full = geolap.GraphLaplacian(0.4).fit(X)
    for cutoff, bound in ((2.0, 0.1), (3.0, 1e-3), (5.0, 1e-9)):
        cut = geolap.GraphLaplacian(0.4, cutoff=cutoff).fit(X)
        assert sparse.issparse(cut.laplacian_)
        assert np.abs(dense(cut.transition_) - full.transition_).max() < bound
        # On a surface a cut-off of c drops exp(−c²) of the weight.
        assert cut.dropped_weight_ == pytest.approx(np.exp(-(cutoff**2)), rel=0.3, abs=1e-9)
    assert full.dropped_weight_ == 0.0


def test_large_data_is_sparse_by_itself():
    X = make_sphere(6000, random_state=0).data
    model = geolap.GraphLaplacian(0.1).fit(X)
    assert sparse.issparse(model.laplacian_)
    assert model.cutoff_ == 3.0
    assert model.dropped_weight_ < 0.001


def test_isolated_points_stay_in_place():
    X = np.vstack([make_sphere(50, random_state=0).data, [[1e6, 0.0, 0.0]]])
    for self_weights in (True, False):
        model = geolap.GraphLaplacian(0.5, self_weights=self_weights).fit(X)
        assert model.transition_[50, 50] == 1.0
        np.testing.assert_array_equal(model.laplacian_[50], 0.0)


def test_graphs_do_not_change_the_pairs():
    X = make_sphere(100, random_state=0).data
    pairs = nearest_pairs(X, 8)
    before = Pairs(pairs.sqdist.copy(), pairs.unit)
    for params in ({"self_weights": False}, {"cutoff": 1.0}):
        graph = kernel_graph(pairs, 0.1, **params)
        geolap.graphs.spectrum.smooth_spectrum(graph, 3)
    assert (pairs.sqdist != before.sqdist).nnz == 0


def test_bandwidths_whose_square_is_no_number_are_refused():
    X = make_sphere(50, random_state=0).data * 1e-200
    with pytest.raises(
        ValueError, match=r"scales with 1/ε², which must be a finite number; the bandwidth is .*: rescale the data"
    ):
        geolap.GraphLaplacian(5e-201).fit(X)
