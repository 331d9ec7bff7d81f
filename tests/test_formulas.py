"""The plain formulas, on cases that can be done on paper."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group

from geolap.kernel import gaussian
from geolap.laplacian import density_weights, laplacian, transition
from geolap.metric import departure, drift, dual_metric
from geolap.tangent import Moments, _InPoints, _InSpace, tangent_basis, tangent_finder


def circle(n):
    angle = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)]), angle


def test_laplacian_annihilates_constants():
    X = np.random.default_rng(0).standard_normal((30, 3))
    W = gaussian(cdist(X, X, "sqeuclidean"), 1.0)
    L = laplacian(transition(W, density_weights(W.sum(axis=1))), 1.0)
    np.testing.assert_allclose(L @ np.ones(30), 0.0, atol=1e-12)


def test_laplacian_of_the_circle_has_its_eigenfunctions():
    X, angle = circle(400)
    W = gaussian(cdist(X, X, "sqeuclidean"), 0.1)
    L = laplacian(transition(W, density_weights(W.sum(axis=1))), 0.1)
    for k in (1, 2, 3):
        np.testing.assert_allclose(L @ np.cos(k * angle), -(k**2) * np.cos(k * angle), rtol=0.02, atol=0.02)


def test_transition_rows_do_not_see_a_change_of_density_to_first_order():
    # Points on a line whose density falls like 1/(1 + x): with λ = 1 the walk drifts nowhere.
    x = np.expm1(np.linspace(0, 1, 800))[:, None]
    W = gaussian(cdist(x, x, "sqeuclidean"), 0.1)
    drift = {lam: (transition(W, density_weights(W.sum(axis=1), renormalization=lam)) @ x - x)[400, 0] for lam in (0.0, 1.0)}
    assert abs(drift[1.0]) < 0.01 * abs(drift[0.0])


def test_two_points_have_the_dual_metric_computed_by_hand():
    # W = [[1, w], [w, 1]], equal degrees: P_12 = w / (1 + w), H = 2/ε² · P_12 · distance².
    eps, distance = 0.8, 0.5
    w = np.exp(-(distance**2) / eps**2)
    P = transition(np.array([[1.0, w]]), density_weights(np.array([1 + w, 1 + w])))
    H = dual_metric(np.array([[0.0, distance]]), P[0], eps)
    assert H[0, 0] == pytest.approx(2 / eps**2 * w / (1 + w) * distance**2)


def test_dual_metric_of_a_fine_line_is_one():
    x = np.arange(-5, 5, 0.01)
    W = np.exp(-(x**2))
    assert dual_metric(x[None], W / W.sum(), 1.0)[0, 0] == pytest.approx(1.0, rel=1e-6)


def test_drift_of_two_points_by_hand_and_of_a_symmetric_line():
    # (ε/2) L y = (2/ε) P_12 · distance
    assert drift(np.array([[0.0, 0.5]]), np.array([0.7, 0.3]), 0.8) == pytest.approx(2 / 0.8 * 0.3 * 0.5)
    x = np.linspace(-3, 3, 101)
    assert drift(np.stack([x, x**3]), np.exp(-(x**2)), 1.0) == pytest.approx(0.0, abs=1e-12)


def test_departure_is_the_largest_absolute_eigenvalue_of_the_difference():
    H = np.diag([0.5, 1.8])
    assert departure(H) == pytest.approx(0.8)
    assert departure(H, dual=False) == pytest.approx(1.0)  # 1/0.5 − 1
    assert departure(np.array([[0.2]]), dual=False) == pytest.approx(4.0)


def test_an_isolated_point_departs_by_one_and_infinitely_in_the_inverse():
    H = np.zeros((2, 3, 3))
    np.testing.assert_array_equal(departure(H), 1.0)
    np.testing.assert_array_equal(departure(H, dual=False), np.inf)


def test_tangent_of_a_noisy_line_is_the_line():
    rng = np.random.default_rng(0)
    direction = np.array([3.0, 4.0, 0.0]) / 5
    A = rng.uniform(-1, 1, 200)[:, None] * direction + 1e-3 * rng.standard_normal((200, 3))
    V = tangent_basis(A, np.exp(-(A**2).sum(axis=1)), 1)
    assert abs(V @ direction) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("r", [3, 24, 25, 60])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_tangent_finder_agrees_with_the_plain_formula(r, dim):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, r)) * np.geomspace(1.0, 0.2, r)
    places = np.array([0, 7, 11])
    W = gaussian(cdist(X[places], X, "sqeuclidean"), 0.5 * np.sqrt(r))
    at_center = np.ones(3)
    offset = W @ X / W.sum(axis=1, keepdims=True) - X[places]
    w = W.copy()
    w[np.arange(3), places] = 0.0
    Y = tangent_finder(X, dim)(X[places], offset, at_center, w**2, len(X))
    V = Moments(X).bases(X[places], offset, at_center, w**2, dim)
    for k, i in enumerate(places):
        A = X - X[i]
        expected = tangent_basis(A, W[k], dim) @ A.T
        for found in (Y[k], V[k] @ A.T):
            signs = np.sign((found * expected).sum(axis=1))
            np.testing.assert_allclose(found * signs[:, None], expected, atol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 1e-5])
def test_moments_are_sums_of_products_of_coordinates(spread):
    rng = np.random.default_rng(5)
    X, weights = np.vstack([100.0 + spread * rng.standard_normal((40, 4)), np.zeros((1, 4))]), rng.random((2, 40))
    first, second = Moments(X).about(X[:2], weights)
    for k in range(2):
        A = X[:40] - X[k]
        np.testing.assert_allclose(first[k], weights[k] @ A, rtol=1e-8, atol=1e-9 * spread)
        np.testing.assert_allclose(second[k], (A.T * weights[k]) @ A, rtol=1e-8, atol=1e-9 * spread**2)


@pytest.mark.parametrize("dim", [1, 2])
def test_tangent_planes_of_few_neighbors_agree_with_the_plain_formula(dim):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 60)) * np.linspace(2.0, 0.1, 60)
    W = rng.random((4, 200)) * (np.arange(200) < np.array([[3], [8], [32], [200]]))  # only the last is found by iteration
    W[np.arange(4), np.arange(4)] = 1.0
    w2 = W**2
    w2[np.arange(4), np.arange(4)] = 0.0
    Y = tangent_finder(X, dim)(X[:4], W @ X / W.sum(axis=1, keepdims=True) - X[:4], np.ones(4), w2, 200)
    for i, found in enumerate(Y):
        expected = tangent_basis(X - X[i], W[i], dim) @ (X - X[i]).T
        np.testing.assert_allclose(found.T @ found, expected.T @ expected, atol=1e-6)


def test_tangent_finder_does_not_stop_inside_a_symmetry():
    # All points lie in two mirror halves about a plane that holds the evaluation point and x̄; the widest direction
    # is across the plane, so a start from x̄ − x_i alone would never find it.
    rng = np.random.default_rng(2)
    half = np.abs(rng.standard_normal((60, 30))) * np.concatenate([[10.0], np.ones(29)])
    mirrored = half * np.concatenate([[-1.0], np.ones(29)])
    X = np.vstack([np.zeros(30), half, mirrored])
    w2 = np.ones((1, 121))
    w2[0, 0] = 0.0
    offset = X.sum(axis=0)[None] / 121
    Y = tangent_finder(X, 1)(X[:1], offset, np.ones(1), w2, 121)
    np.testing.assert_allclose(np.abs(Y[0, 0]), np.abs(X[:, 0]), atol=1e-5)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_tangent_finder_finds_all_of_several_equal_directions(dim, noise):
    # Points at equal distances on both sides along every axis.  One vector leads to one direction of each length, and soon
    # to the shorter ones.
    lengths = np.concatenate([np.full(dim, 10.0), [6.0, 4.0], noise * np.linspace(1.0, 0.1, 58 - dim)])
    X = np.vstack([np.zeros(60), np.diag(lengths), -np.diag(lengths)]) @ ortho_group.rvs(60, random_state=0)
    w2 = np.ones((1, 121))
    w2[0, 0] = 0.0
    Y = tangent_finder(X, dim)(X[:1], np.zeros((1, 60)), np.ones(1), w2, 121)[0]
    expected = tangent_basis(X, np.ones(121), dim) @ X.T
    np.testing.assert_allclose(Y.T @ Y, expected.T @ expected, atol=1e-6)


def test_tangent_planes_of_a_regular_torus_agree_with_the_plain_formula():
    angle = np.arange(12) * np.pi / 6
    u, v = (t.ravel() for t in np.meshgrid(angle, angle))
    X = np.column_stack([np.cos(u), np.sin(u), np.cos(v), np.sin(v)]) @ ortho_group.rvs(40, random_state=0)[:4]
    W = gaussian(cdist(X[:1], X, "sqeuclidean"), 0.7)
    w2 = W**2
    w2[0, 0] = 0.0
    Y = tangent_finder(X, 2)(X[:1], W @ X / W.sum() - X[:1], np.ones(1), w2, len(X))[0]
    expected = tangent_basis(X - X[0], W[0], 2) @ (X - X[0]).T
    np.testing.assert_allclose(Y.T @ Y, expected.T @ expected, atol=1e-6)


def test_traces_are_those_of_the_matrices_and_no_less():
    rng = np.random.default_rng(3)
    points = np.hstack([5.0 + rng.standard_normal((30, 8)), np.ones((30, 1))])
    w2, rows = rng.random((4, 30)), np.arange(4)
    origin, offset, own, scale = points[:4, :-1], 0.1 * rng.standard_normal((4, 8)), np.full(4, 2.0), np.full(4, 3.0)
    squares, scratch = (points[:, :-1] ** 2).sum(axis=1), np.empty(0)
    space = _InSpace(rows, origin, offset, own, w2, scale, points=points, squares=squares, scratch=scratch)
    p = rng.random((4, 30)) / 40
    G = points[:, :-1] @ points[:, :-1].T
    among = _InPoints(rows, rng.random((4, 31)), p, G[:4], G.diagonal()[:4], inner=G)
    np.testing.assert_allclose(among.matrices(np.tile(np.arange(31), (4, 1)))[2], among.matrix(2), rtol=1e-9, atol=1e-12)
    for problem in (space, among):
        exact = np.array([np.trace(problem.matrix(k)) for k in range(4)])
        assert np.all(problem.traces() >= exact)
        np.testing.assert_allclose(problem.traces(), exact, rtol=1e-9)
