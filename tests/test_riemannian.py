"""The metric of a map: exact cases, then lengths and areas on the sphere and the swiss roll."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial import ConvexHull, Delaunay
from sklearn.neighbors import kneighbors_graph

import geolap
from geolap.datasets import make_sphere, make_swiss_roll


@pytest.fixture(scope="module")
def sphere():
    sample = make_sphere(1500, random_state=0)
    return sample.data, geolap.GraphLaplacian(random_state=0).fit(sample.data)


@pytest.mark.slow
def test_dual_metric_is_the_formula(sphere):
    X, model = sphere
    Y = np.column_stack([X[:, 0] ** 2, X[:, 1] + 5, X[:, 2]])
    metric = geolap.riemannian_metric(Y, model.laplacian_)
    for i in (0, 7, 100):
        D = Y - Y[i]
        np.testing.assert_allclose(metric.dual[i], 0.5 * (D * model.laplacian_[i][:, None]).T @ D, atol=1e-9)
    by_sparse = geolap.riemannian_metric(Y, sparse.csr_array(model.laplacian_))
    np.testing.assert_allclose(by_sparse.dual, metric.dual, atol=1e-9)
    np.testing.assert_allclose(metric.metric, np.linalg.inv(metric.dual), rtol=1e-6)
    np.testing.assert_allclose(metric.volume, np.sqrt(np.linalg.det(metric.metric)), rtol=1e-6)


def test_the_data_itself_is_an_isometry(sphere):
    X, model = sphere
    metric = geolap.riemannian_metric(X, model.laplacian_, intrinsic_dim=2)
    assert metric.distortion.mean() < 0.15
    assert metric.stretch.mean() == pytest.approx(1.0, abs=0.05)
    # The third direction is the normal: tangent directions are orthogonal to the point itself.
    across = np.abs(np.einsum("nad,na->nd", metric.tangent, X))
    assert across.mean() < 0.15


def test_metric_turns_with_the_map(sphere):
    X, model = sphere
    linear = np.diag([2.0, 3.0, 0.5]) @ np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    one = geolap.riemannian_metric(X, model.laplacian_)
    other = geolap.riemannian_metric(X @ linear.T + 7.0, model.laplacian_)
    np.testing.assert_allclose(other.dual, linear @ one.dual @ linear.T, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other.volume, one.volume / abs(np.linalg.det(linear)), rtol=1e-6)
    path = np.arange(0, 1500, 100)
    assert other.length(path) == pytest.approx(one.length(path), rel=1e-6)


@pytest.mark.slow
def test_sphere_has_its_true_lengths_and_area(sphere):
    X, model = sphere
    eigenmap = geolap.LaplacianEigenmap(n_components=3, bandwidth=model.bandwidth_).fit(X)
    metric = geolap.riemannian_metric(eigenmap.embedding_, model.laplacian_, intrinsic_dim=2)
    triangles = ConvexHull(X).simplices
    assert metric.area(triangles) == pytest.approx(4 * np.pi, rel=0.1)
    assert metric.area(triangles, corrected=False) < 0.5 * 4 * np.pi
    graph = kneighbors_graph(X, 15)
    pairs = np.random.default_rng(0).choice(len(X), (20, 2), replace=False)
    truth = np.arccos(np.clip((X[pairs[:, 0]] * X[pairs[:, 1]]).sum(axis=1), -1, 1))
    paths = [metric.geodesic_path(graph, i, j) for i, j in pairs]
    lengths = np.array([metric.length(path) for path in paths])
    uncorrected = np.array([metric.length(path, corrected=False) for path in paths])
    assert np.abs(lengths / truth - 1).mean() < 0.1
    assert (uncorrected / truth < 0.6).all()
    distances = metric.geodesics(graph, pairs[:, 0])
    np.testing.assert_allclose(distances[np.arange(20), pairs[:, 1]], lengths, rtol=1e-9)


@pytest.mark.slow
def test_swiss_roll_has_its_true_lengths_and_area():
    roll = make_swiss_roll(8000, random_state=0)
    X, u = roll.data, roll.coordinates
    model = geolap.LaplacianEigenmap(5, geolap.GeometricConsistency(2, n_sample=100, random_state=0), n_neighbors=None).fit(
        X
    )
    metric = geolap.riemannian_metric(model.embedding_, model, intrinsic_dim=2)
    graph = kneighbors_graph(X, 15)
    pairs = np.random.default_rng(0).choice(len(X), (10, 2), replace=False)
    truth = np.linalg.norm(u[pairs[:, 0]] - u[pairs[:, 1]], axis=1)
    lengths = np.array([metric.length(metric.geodesic_path(graph, i, j)) for i, j in pairs])
    assert np.abs(lengths / truth - 1).max() < 0.04
    # Through the air the roll is much shorter, and on the map much smaller.
    assert np.median(np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1) / truth) < 0.7
    triangles = Delaunay(u).simplices
    corners = u[triangles]
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    triangles, corners = triangles[sides < model.bandwidth_], corners[sides < model.bandwidth_]  # no slivers along the hull
    area = 0.5 * np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum()
    assert area > 0.95 * roll.volume
    # Near its rim the map is flat, and areas are too small.
    inside = ((u > u.min(axis=0) + 2 * model.bandwidth_) & (u < u.max(axis=0) - 2 * model.bandwidth_)).all(axis=1)
    inner = inside[triangles].all(axis=1)
    exact = 0.5 * np.abs(np.linalg.det(corners[inner, 1:] - corners[inner, :1])).sum()
    assert metric.area(triangles[inner]) == pytest.approx(exact, rel=0.05)
    assert metric.area(triangles) == pytest.approx(area, rel=0.15)
    assert metric.area(triangles, corrected=False) < 0.01 * area


def test_curves_may_pass_anywhere_on_the_map(sphere):
    X, model = sphere
    metric = geolap.riemannian_metric(X, model.laplacian_, intrinsic_dim=2)
    angle = np.linspace(0, np.pi, 50)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(50)])
    assert metric.length(circle) == pytest.approx(np.pi, rel=0.1)
    assert metric.length(np.array([3])) == 0.0


def test_sparse_laplacians_stay_sparse():
    X = make_sphere(20_000, random_state=0).data
    model = geolap.GraphLaplacian(0.1, n_neighbors=15).fit(X)
    metric = geolap.riemannian_metric(X, model.laplacian_, intrinsic_dim=2)  # a full matrix would take 3 GB
    assert metric.metric.shape == (20_000, 3, 3)


def test_a_flat_map_of_components_is_mended_by_what_is_advised():
    X = geolap.datasets.make_sphere(150, random_state=0).data
    parts, alone = np.vstack([X, X + 50.0]), np.vstack([X, [[9.0, 9.0, 9.0]]])

    def metric(data, disconnected="whole"):
        fit = geolap.LaplacianEigenmap(3, 0.6, n_neighbors=None, disconnected=disconnected).fit(data)
        return geolap.riemannian_metric(fit.embedding_, fit, intrinsic_dim=2)

    with (
        pytest.warns(UserWarning, match="2 components"),
        pytest.raises(ValueError, match=r"of 300 .* 2 components: map each by itself, as disconnected='arrange' does\."),
    ):
        metric(parts)
    with pytest.warns(UserWarning, match="each is mapped by itself"):
        assert np.isfinite(metric(parts, "arrange").volume).all()
    assert np.isfinite(metric(parts, "separate").volume).all()
    with pytest.raises(ValueError, match=r"at 1 of 151 .* 2 components: remove the 1 in components of 2 or fewer\."):
        metric(alone, "separate")
    assert np.isfinite(metric(alone[:-1]).volume).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda Y, L: (Y[:-1], L),
            r"a matrix of 1499 rows and columns, one for each point of the map; shape",
        ),
        (lambda Y, L: (Y, -L), r"must have a negative diagonal, as \(4/ε²\)\(P − I\) has; .*: pass -L"),
        (lambda Y, L: (Y, L + 5 * np.eye(len(L))), r"rows of the Laplacian must sum to zero"),
        (lambda Y, L: (np.where(Y.max() == Y, np.nan, Y), L), r"A map must be a finite array .* finite: False"),
        (lambda Y, L: (np.column_stack([Y[:, 0], Y[:, 0]]), L), r"intrinsic_dim=2 .*: a map that folds needs more"),
    ],
)
def test_bad_input_is_answered_in_words(change, sentence, sphere):
    X, model = sphere
    with pytest.raises(ValueError, match=sentence):
        geolap.riemannian_metric(*change(X, model.laplacian_))


def test_bad_curves_paths_and_triangles_are_answered_in_words(sphere):
    X, model = sphere
    metric = geolap.riemannian_metric(X, model.laplacian_)
    with pytest.raises(ValueError, match=r"row indices \(n,\) or positions on the map \(n, 3\); an array of shape \(4, 2\)"):
        metric.length(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"Triangles must be an array \(n, 3\) of row indices; shape \(5,\) was given"):
        metric.area(np.zeros(5, dtype=int))
    with pytest.raises(ValueError, match=r"sparse matrix of 1500 rows .* only nearby points; a ndarray of"):
        metric.geodesics(model.transition_, 0)  # all pairs are joined: paths would leave the surface
    with pytest.raises(ValueError, match=r"row indices from 0 to 1499; \[ 0 -1\] were given"):
        metric.geodesic_path(kneighbors_graph(X, 15), 0, -1)
    with pytest.raises(ValueError, match=r"row indices from 0 to 1499; \[1\. 1\. 1\.\] were given"):
        metric.area(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"points 0 and 1 are in different components"):
        metric.geodesic_path(sparse.eye_array(len(X), format="csr"), 0, 1)
    with pytest.raises(ValueError, match=r"intrinsic_dim must be a whole number of at least 1 and at most 3; 4 was given"):
        geolap.riemannian_metric(X, model.laplacian_, intrinsic_dim=4)
