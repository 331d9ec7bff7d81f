"""Spectrum and maps: exact cases, another library, new points, graphs in several components."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.linear_model import LinearRegression
from sklearn.manifold import SpectralEmbedding

import geolap
from geolap.data.points import Points
from geolap.datasets import make_hourglass, make_sphere
from geolap.estimators.arrangement import arranged
from geolap.estimators.base import graph_in_words
from geolap.graphs.graph import kernel_graph
from geolap.graphs.neighbors import all_pairs, nearest_pairs, pairs_within
from geolap.graphs.spectrum import largest_eigenpairs, smooth_spectrum


def circle(n):
    theta = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(theta), np.sin(theta)])


@pytest.mark.slow
def test_circle_has_the_eigenvalues_of_a_circle():
    X = circle(400)
    eigenmap = geolap.LaplacianEigenmap(n_components=6, bandwidth=0.1).fit(X)
    np.testing.assert_allclose(eigenmap.eigenvalues_, [1, 1, 4, 4, 9, 9], rtol=0.02)
    # The first two coordinates are a circle again.
    radius = np.linalg.norm(eigenmap.embedding_[:, :2], axis=1)
    np.testing.assert_allclose(radius, radius[0], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n_neighbors", [None, 12])
def test_same_map_as_scikit_learn_on_the_same_graph(n_neighbors):
    X = make_hourglass(500, noise=0.01, random_state=0).data
    eigenmap = geolap.LaplacianEigenmap(n_components=3, bandwidth=0.3, n_neighbors=n_neighbors, self_weights=False).fit(X)
    affinity = eigenmap.graph_.renormalized()
    other = SpectralEmbedding(n_components=3, affinity="precomputed", random_state=0)
    theirs = other.fit_transform(affinity if n_neighbors is None else affinity.tocsr())
    ours = eigenmap.embedding_
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours, theirs * signs, atol=1e-6 * np.abs(ours).max())


@pytest.mark.slow
def test_signs_are_fixed_and_vectors_normalized():
    X = make_sphere(300, random_state=0).data
    eigenmap = geolap.LaplacianEigenmap(n_components=4, bandwidth=0.5).fit(X)
    phi, mass = eigenmap.embedding_, eigenmap.graph_.renormalized_degrees
    assert (phi[np.abs(phi).argmax(axis=0), np.arange(4)] > 0).all()
    np.testing.assert_allclose((phi * mass[:, None]).T @ phi, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(mass @ phi, 0.0, atol=1e-9 * mass.max())
    # Diffusion maps: ψ has mean square 1 in the stationary distribution, times a power of the eigenvalue.
    pi = mass / mass.sum()
    for time in (0.0, 1.0, 3.0):
        diffusion = geolap.DiffusionMap(n_components=4, bandwidth=0.5, diffusion_time=time).fit(X)
        np.testing.assert_allclose(pi @ diffusion.embedding_**2, diffusion.eigenvalues_ ** (2 * time), rtol=1e-8)
        P = diffusion.graph_.transition()
        np.testing.assert_allclose(P @ diffusion.embedding_, diffusion.embedding_ * diffusion.eigenvalues_, atol=1e-9)


def test_diffusion_distances_are_straight_distances_on_the_map():
    X = make_sphere(60, random_state=0).data
    diffusion = geolap.DiffusionMap(n_components=59, bandwidth=0.8, diffusion_time=2.0).fit(X)
    P = np.linalg.matrix_power(diffusion.graph_.transition(), 2)
    pi = diffusion.graph_.renormalized_degrees
    pi = pi / pi.sum()
    truth = np.sqrt((((P[:, None] - P[None]) ** 2) / pi).sum(axis=2))
    straight = np.linalg.norm(diffusion.embedding_[:, None] - diffusion.embedding_[None], axis=2)
    np.testing.assert_allclose(straight, truth, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "params",
    [{}, {"cutoff": 4.0}, {"n_neighbors": 40}, {"local_scale": 20}, {"renormalization": 0.0}, {"self_weights": False}],
    ids=str,
)
@pytest.mark.parametrize("kind", [geolap.LaplacianEigenmap, geolap.DiffusionMap])
def test_new_points_fall_where_they_belong(kind, params):
    X = make_sphere(1500, random_state=0).data
    new = make_sphere(100, random_state=1).data
    model = kind(n_components=3, bandwidth=0.4, **params).fit(X)
    np.testing.assert_array_equal(model.transform(X[:20]), model.embedding_[:20])
    # The first three eigenfunctions span the linear functions; what new points get must be the same linear functions.
    linear = np.linalg.lstsq(X, model.embedding_, rcond=None)[0]
    size = np.abs(model.embedding_).max()
    # Where scales vary, P alone has a drift, and its eigenvectors are not those of Δ.
    tolerance = 0.15 if "local_scale" in params or "n_neighbors" in params else 0.08
    assert np.abs(X @ linear - model.embedding_).max() < 2 * tolerance * size
    assert np.abs(new @ linear - model.transform(new)).max() < 2 * tolerance * size


def test_nystrom_is_the_eigenvalue_equation():
    # A point left out of the graph, then asked for: its row of the eigenvalue equation must hold.
    X = make_sphere(200, random_state=0).data
    model = geolap.LaplacianEigenmap(n_components=2, bandwidth=0.6, calibrate=False).fit(X)
    x = make_sphere(4, random_state=3).data
    w = np.exp(-((x[:, None] - X[None]) ** 2).sum(axis=2) / 0.6**2) / model.graph_.degrees
    P = w / w.sum(axis=1, keepdims=True)
    expected = (P @ model.embedding_) / (1 - model.eigenvalues_ * 0.6**2 / 4)
    np.testing.assert_allclose(model.transform(x), expected, rtol=1e-9)


def two_pieces():
    return np.vstack([make_sphere(120, random_state=0).data, 100 + 0.5 * make_sphere(60, random_state=1).data])


def test_disconnected_graphs_are_reported_and_embedded():
    X = two_pieces()
    message = r"at bandwidth 0\.5 it has 2 components \(of 120, 60 points\): the first coordinate only separates them"
    with pytest.warns(UserWarning, match=message):
        whole = geolap.LaplacianEigenmap(n_components=3, bandwidth=0.5, disconnected="whole").fit(X)
    assert whole.n_graph_components_ == 2
    np.testing.assert_array_equal(whole.component_labels_, np.repeat([0, 1], [120, 60]))
    assert whole.eigenvalues_[0] == 0.0
    first = whole.embedding_[:, 0]
    np.testing.assert_allclose(first[:120], first[0])
    np.testing.assert_allclose(first[120:], first[120])
    assert np.isfinite(whole.embedding_).all()
    with pytest.raises(ValueError, match=r"it has 2 components \(of 120, 60 points\): map each by itself"):
        geolap.LaplacianEigenmap(n_components=3, bandwidth=0.5, disconnected="error").fit(X)


@pytest.mark.parametrize("kind", [geolap.LaplacianEigenmap, geolap.DiffusionMap])
def test_separate_components_are_embedded_as_if_alone(kind):
    X = two_pieces()
    separate = kind(n_components=2, bandwidth=0.5, disconnected="separate", calibrate=False).fit(X)
    for c, rows in enumerate((slice(0, 120), slice(120, 180))):
        alone = kind(n_components=2, bandwidth=0.5, calibrate=False).fit(X[rows])
        np.testing.assert_allclose(separate.eigenvalues_[c], alone.eigenvalues_, rtol=1e-9)
        signs = np.sign((separate.embedding_[rows] * alone.embedding_).sum(axis=0))
        np.testing.assert_allclose(separate.embedding_[rows] * signs, alone.embedding_, atol=1e-9)
        new = X[rows][:5] * 1.001
        np.testing.assert_allclose(separate.transform(new) * signs, alone.transform(new), atol=1e-9)


@pytest.mark.parametrize("kind", [geolap.LaplacianEigenmap, geolap.DiffusionMap])
@pytest.mark.parametrize("params", [{}, {"n_landmarks": 150}, {"metric": "cityblock"}], ids=str)
def test_components_are_arranged_around_the_largest_by_default(kind, params):
    X, params = two_pieces(), {"n_components": 2, "bandwidth": 0.5, "random_state": 0, **params}
    with pytest.warns(UserWarning, match="each is mapped by itself, around the largest; distances between them mean"):
        model = kind(**params).fit(X)
    alone = kind(disconnected="separate", **params).fit(X).embedding_
    large, small = model.embedding_[:120], model.embedding_[120:]
    np.testing.assert_array_equal(large, alone[:120])
    place, scale = small.mean(axis=0) - alone[120:].mean(axis=0), np.ptp(small[:, 0]) / np.ptp(alone[120:, 0])
    np.testing.assert_allclose(np.diff(small, axis=0), scale * np.diff(alone[120:], axis=0), atol=1e-12)
    assert np.linalg.norm(place) > np.linalg.norm(large, axis=1).max()  # beside the largest, not upon it
    np.testing.assert_array_equal(model.transform(X[100:140]), model.embedding_[100:140])
    assert model.eigenvalues_.shape == (2, 2)


def test_no_component_covers_another_and_the_order_in_each_direction_is_that_of_the_data():
    rng = np.random.default_rng(0)
    sizes, way = [100, 50, 5, 40, 1, 30], np.array([[0, 0], [3, 0], [7, 0.1], [0, 4], [0, 9], [-5, -5]])
    components = np.repeat(np.arange(6), sizes)
    points = 10.0 * way[components] + rng.random((226, 2))
    own = rng.standard_normal((226, 2)) * np.array([0.1, 5.0, 1.0, 2.0, 0.0, 1.0])[components, None]
    found = arranged(own, components, points=points)
    on_map = found(own, components)
    radii = [np.linalg.norm(on_map[components == c] - found.places[c], axis=1).max() for c in range(6)]
    apart = squareform(pdist(found.places))
    assert (apart + np.eye(6) > np.add.outer(radii, radii) * (1 - np.eye(6))).all()
    np.testing.assert_allclose(np.array(radii)[[1, 2, 3, 5]] ** 2 / radii[0] ** 2, [0.5, 0.05, 0.4, 0.3])
    right, up = (place / np.linalg.norm(place) for place in found.places[[1, 3]])
    assert abs(right @ up) < 0.05
    assert found.places[2] @ right > found.places[1] @ right
    assert found.places[4] @ up > found.places[3] @ up
    assert (found.places[5] @ np.column_stack([right, up]) < 0).all()


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_arrangement_does_not_depend_on_the_unit(unit):
    components = np.repeat([0, 1, 2], [50, 30, 20])
    points = np.random.default_rng(0).random((100, 3)) + 5.0 * np.array([[0, 0, 0], [1, 0, 0], [1, 2, 0]])[components]
    own = np.random.default_rng(1).standard_normal((100, 2))
    given, scaled = (arranged(own, components, points=each) for each in (points, unit * points))
    np.testing.assert_allclose(scaled.places, given.places, rtol=1e-9)
    np.testing.assert_array_equal(scaled.scales, given.scales)


def test_more_components_than_are_fitted_in_stand_around_the_others():
    components = np.r_[np.zeros(50, dtype=int), np.arange(1, 1500)]
    points = np.random.default_rng(0).standard_normal((len(components), 5))
    found = arranged(np.zeros((len(components), 2)), components, points=points)
    assert np.isfinite(found.places).all()
    assert len(np.unique(found.places.round(9), axis=0)) == 1500


def test_a_graph_of_nothing_but_isolated_points_is_no_trouble():
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.warns(UserWarning, match="it has 30 components"):
        model = geolap.LaplacianEigenmap(n_components=3, bandwidth=1e-9, disconnected="whole").fit(X)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_array_equal(model.eigenvalues_, 0.0)
    with pytest.warns(UserWarning, match="it has 30 components"):
        arranged = geolap.LaplacianEigenmap(n_components=3, bandwidth=1e-9).fit(X)
    assert pdist(arranged.embedding_).min() > 1.0  # each is a ball of radius one, but for its own extent
    separate = geolap.LaplacianEigenmap(n_components=3, bandwidth=1e-9, disconnected="separate").fit(X)
    np.testing.assert_array_equal(separate.embedding_, 0.0)


def test_new_points_out_of_reach_are_reported():
    X = make_sphere(100, random_state=0).data
    far = np.array([[50.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for params in ({}, {"cutoff": 3.0}):
        model = geolap.LaplacianEigenmap(bandwidth=0.5, **params).fit(X)
        with pytest.warns(UserWarning, match=r"1 of 2 have none at bandwidth 0\.5 and get the values of the nearest"):
            result = model.transform(far)
        assert np.isfinite(result).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(far[1:])


def test_unseen_dimensions_and_too_many_coordinates_are_refused():
    X = make_sphere(50, random_state=0).data
    model = geolap.LaplacianEigenmap(bandwidth=0.5).fit(X)
    with pytest.raises(ValueError, match=r"X has 2 features, but LaplacianEigenmap is expecting 3"):
        model.transform(X[:, :2])
    with pytest.raises(ValueError, match=r"n_components must be less than the number of points; 50 was given for 50"):
        geolap.LaplacianEigenmap(n_components=50, bandwidth=0.5).fit(X)
    with pytest.raises(ValueError, match=r"diffusion_time must be a number of at least 0; -1 was given"):
        geolap.DiffusionMap(bandwidth=0.5, diffusion_time=-1).fit(X)


def test_a_graph_that_nearly_falls_apart_has_exact_eigenvectors(real):
    """Of twelve points that hang together by weights of 1e-276, LAPACK finds wrong eigenvectors if asked for eleven."""
    graph = kernel_graph(all_pairs(real("coil")), 23.410351172921672, self_weights=False)
    spectrum = smooth_spectrum(graph, 60)
    assert spectrum.residual < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("n", [400, 2500])
def test_solvers_agree(n):
    # Direct below 500 points of a sparse graph and 1500 of a full one, Lanczos beyond.
    X = make_hourglass(n, random_state=0).data
    full = kernel_graph(all_pairs(X), 0.2).symmetric()
    values, vectors, residual = largest_eigenpairs(full, 8)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(full)[: -8 - 1 : -1], rtol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-9)
    assert residual < 1e-7


@pytest.mark.slow
def test_local_scales_give_the_spectrum_of_the_manifold():
    # A circle with density 1 + 0.8 cos θ: bandwidths follow the density, eigenvalues must not.
    rng = np.random.default_rng(0)
    theta = rng.uniform(0, 2 * np.pi, 20000)
    theta = theta[rng.uniform(size=len(theta)) < (1 + 0.8 * np.cos(theta)) / 1.8][:3000]
    X = np.column_stack([np.cos(theta), np.sin(theta)])
    scale = geolap.neighbor_scale(X, 200, intrinsic_dim=1)
    assert scale.rho.max() > 3 * scale.rho.min()
    pairs = pairs_within(X, 5 * 0.05 * scale.rho.max())  # weights beyond are below 1e-10
    spectrum = smooth_spectrum(kernel_graph(pairs.scaled(scale.rho), 0.05, scale=scale), 5, solver="lanczos")
    np.testing.assert_allclose(spectrum.eigenvalues, [0, 1, 1, 4, 4], atol=0.03, rtol=0.03)


def test_nearest_neighbor_graphs_are_solved_sparse():
    X = make_sphere(2000, random_state=0).data
    spectrum = smooth_spectrum(kernel_graph(nearest_pairs(X, 30), 0.15), 4)
    assert spectrum.residual < 1e-8
    assert spectrum.n_components == 1


def test_a_map_about_outliers_joins_neighbors_with_equal_weights():
    far = 3.0 * np.vstack([np.eye(3), np.eye(3) + 0.03])  # three pairs
    X = np.vstack([make_sphere(400, random_state=0).data, far])
    with pytest.warns(geolap.UnresolvedWarning, match="8 of 406 points have 100% of the variance of coordinate 1"):
        pulled = geolap.LaplacianEigenmap(3, n_neighbors=None, random_state=0).fit(X)
    model = geolap.LaplacianEigenmap(3, random_state=0).fit(X)
    assert (pulled.n_neighbors_, model.n_neighbors_) == (None, 20)
    assert model.selection_.bandwidth == pulled.bandwidth_
    assert "its 20 nearest neighbors, with equal weights, because" in graph_in_words(model)
    weights = model.graph_.weights.data
    assert weights[weights > 0].min() > np.exp(-1 / 9) - 1e-12  # a point has no weight of its own
    # The coordinates of a sphere, outliers included.
    fit = LinearRegression().fit(model.embedding_, X)
    assert fit.score(model.embedding_, X) > 0.9
    np.testing.assert_allclose(model.transform(X), model.embedding_)


def test_a_bandwidth_that_is_given_is_kept_with_outliers():
    X = np.vstack([make_sphere(400, random_state=0).data, 3.0 * np.eye(3), 3.0 * np.eye(3) + 0.1])
    for params in ({"bandwidth": 0.4}, {"bandwidth": "knn"}, {"n_neighbors": None}, {"disconnected": "separate"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert geolap.LaplacianEigenmap(2, random_state=0, **params).fit(X).n_neighbors_ is None


def test_copies_do_not_fill_the_neighbors_of_a_map():
    rng = np.random.default_rng(0)
    answers = np.where(np.arange(600)[:, None] < 300, 2, 4) + 0.7 * rng.standard_normal((600, 3))
    model = geolap.LaplacianEigenmap(random_state=0).fit(np.clip(np.round(answers), 1, 5))
    assert model.n_graph_components_ == 1
    assert model.n_neighbors_ is None


def test_copies_are_one_neighbor_of_a_map():
    rng = np.random.default_rng(0)
    bases = np.repeat([0.2, 1.0], 150)[:, None] * rng.standard_normal((300, 4))  # one ε̂ does not suit all
    place = np.r_[np.arange(300), np.repeat([5, 170, 200], 20)]
    X = bases[place]
    model = geolap.LaplacianEigenmap(random_state=0)
    pairs = model._of_nearest(Points(X), 10, 7)
    apart = model._of_nearest(Points(bases), 10, 7)
    joined, expected = (each.pairs.sqdist.toarray() * each.pairs.unit**2 for each in (pairs, apart))
    np.testing.assert_allclose(joined, expected[place][:, place], atol=1e-250)
    np.testing.assert_array_equal(pairs.scale.rho, apart.scale.rho[place])
    fitted = model.fit(X)
    assert (fitted.n_neighbors_, fitted.n_graph_components_) == (10, 1)
    np.testing.assert_allclose(fitted.embedding_[300:], fitted.embedding_[place[300:]], atol=1e-8)
    # A list of neighbors that is asked for holds rows, copies or not.
    assert geolap.LaplacianEigenmap(n_neighbors=10, random_state=0).fit(X).graph_.weights.nnz < fitted.graph_.weights.nnz


def test_components_have_places_of_their_own_on_a_map_of_few_coordinates():
    rng = np.random.default_rng(0)
    centers = 20.0 * np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [3.0, 2.0, 0.0], [1.0, 1.0, 0.5]])
    X = np.vstack([center + rng.standard_normal((60, 3)) for center in centers])
    with pytest.warns(UserWarning, match=r"has 5 components .* the first 2 coordinates only separate them"):
        model = geolap.LaplacianEigenmap(2, bandwidth=1.0, calibrate=False, disconnected="whole").fit(X)
    places = model.embedding_[::60]
    assert pdist(places).min() > 0.2 * pdist(places).max()
    # They are where their centers are, but for the direction in which these differ least, and orthonormal eigenvectors.
    assert LinearRegression().fit(places, centers[:, :2]).score(places, centers[:, :2]) > 0.95
    graph = model.graph_
    P = graph.weights * graph.density
    P = P / P.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P @ model.embedding_, model.embedding_, atol=1e-12)
