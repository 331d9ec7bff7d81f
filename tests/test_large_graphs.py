"""Large graphs: solvers, symmetric neighbors, approximate neighbors, landmarks, and what size decides."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist

import geolap
from geolap.data.distances import _symmetric
from geolap.data.pairs import ZERO
from geolap.datasets import make_hourglass, make_sphere
from geolap.graphs import neighbors, spectrum
from geolap.graphs.extension import extend
from geolap.graphs.graph import kernel_graph
from geolap.graphs.spectrum import smooth_spectrum


@pytest.fixture(scope="module")
def graph():
    X = make_hourglass(1200, noise=0.01, random_state=0).data
    return kernel_graph(neighbors.nearest_pairs(X, 15), 0.1)


def test_solvers_agree(graph):
    pytest.importorskip("pyamg")
    found = {solver: smooth_spectrum(graph, 5, solver=solver) for solver in ("lobpcg", "lanczos", "dense")}
    for solver in ("lobpcg", "lanczos"):
        assert found[solver].residual < 1e-7
        np.testing.assert_allclose(found[solver].eigenvalues, found["dense"].eigenvalues, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found[solver].vectors, found["dense"].vectors, atol=1e-4 * found["dense"].vectors.max())


def test_lobpcg_is_reproducible_and_leaves_the_global_generator_alone(graph):
    pytest.importorskip("pyamg")
    before = np.random.get_state()[1].copy()
    one, other = (smooth_spectrum(graph, 4, solver="lobpcg", n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_allclose(one.vectors, other.vectors, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("n_edges", [40, pytest.param("all", marks=pytest.mark.slow)])
def test_lobpcg_on_cells_agrees_with_lanczos_on_graphs_of_points_within_reach(n_edges, monkeypatch):
    monkeypatch.setattr(spectrum, "has_multigrid", lambda: False)
    X = np.vstack([make_hourglass(6000, noise=0.01, random_state=0).data, [[3.0, 3.0, 3.0], [3.01, 3.0, 3.0]]])
    thinned = geolap.GraphLaplacian(0.2, n_edges=n_edges, calibrate=False, random_state=0).fit(X).graph_
    assert thinned.order is not None
    one, other = (smooth_spectrum(thinned, 6, solver=solver) for solver in ("lobpcg", "lanczos"))
    assert one.n_components == 2  # a pair of points far away
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, rtol=1e-9, atol=1e-12)
    assert one.residual <= 1e-7


def test_lobpcg_with_local_scales():
    pytest.importorskip("pyamg")
    X = make_sphere(3000, random_state=0).data
    scale = geolap.neighbor_scale(X, 20, intrinsic_dim=2)
    scaled = kernel_graph(neighbors.nearest_pairs(X, 20).scaled(scale.rho), 0.1, scale=scale)
    one, other = (smooth_spectrum(scaled, 4, solver=solver) for solver in ("lobpcg", "lanczos"))
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, rtol=1e-6, atol=1e-9)


def test_lanczos_takes_over_where_lobpcg_fails_or_is_missing(graph, monkeypatch):
    monkeypatch.setattr(spectrum, "_POINTS_FOR_LOBPCG", 1000)
    monkeypatch.setattr(spectrum, "_few_fill_ins", lambda *args: False)
    expected = smooth_spectrum(graph, 3, solver="lanczos").vectors
    monkeypatch.setattr(spectrum, "has_multigrid", lambda: False)
    np.testing.assert_array_equal(smooth_spectrum(graph, 3).vectors, expected)
    with pytest.raises(ImportError, match=r"LOBPCG needs pyamg, which is not installed: pip install 'geolap\[scale\]'"):
        smooth_spectrum(graph, 3, solver="lobpcg")
    monkeypatch.setattr(spectrum, "has_multigrid", lambda: True)
    monkeypatch.setattr(spectrum, "smallest_by_lobpcg", lambda *args, **kwargs: None)
    np.testing.assert_array_equal(smooth_spectrum(graph, 3).vectors, expected)


def test_lobpcg_is_content_with_what_it_reaches_or_gives_up(graph, monkeypatch):
    pytest.importorskip("pyamg")
    expected = smooth_spectrum(graph, 3, solver="dense").eigenvalues
    monkeypatch.setattr(spectrum, "_WANTED_OF_LOBPCG", 1e-20)  # no rounding allows for it
    monkeypatch.setattr(spectrum, "_lanczos", lambda *args: pytest.fail("LOBPCG was not accepted"))
    np.testing.assert_allclose(smooth_spectrum(graph, 3, solver="lobpcg").eigenvalues, expected, rtol=1e-6, atol=1e-9)
    monkeypatch.setattr(spectrum, "_ACCEPTED_OF_LOBPCG", 1e-20)
    asked = []
    monkeypatch.setattr(spectrum, "_lanczos", lambda *args: asked.append(args))
    np.testing.assert_allclose(smooth_spectrum(graph, 3, solver="lobpcg").eigenvalues, expected, rtol=1e-6, atol=1e-9)
    assert asked


@pytest.mark.slow
def test_sparse_graphs_in_few_dimensions_are_factorized(monkeypatch):
    monkeypatch.setattr(spectrum, "_MOST_FILL_WORK", 1e8)
    rng = np.random.default_rng(0)
    plane, cloud = (
        kernel_graph(neighbors.nearest_pairs(rng.random((2500, r)), 10), eps) for r, eps in ((2, 0.04), (6, 0.5))
    )
    assert spectrum._few_fill_ins(plane.symmetric(), 1.0)
    assert not spectrum._few_fill_ins(cloud.symmetric(), 1.0)
    found, expected = (smooth_spectrum(plane, 6, solver=solver) for solver in ("auto", "dense"))
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-7 * np.abs(expected.vectors).max())


def test_many_eigenvectors_of_a_sparse_graph_are_found_in_blocks(monkeypatch):
    X = make_sphere(900, random_state=0).data * [1.0, 1.3, 1.7]
    graph = kernel_graph(neighbors.nearest_pairs(X, 10), 0.3, self_weights=False)
    expected = smooth_spectrum(graph, 100, solver="dense")
    found = smooth_spectrum(graph, 100)
    blocks, plain = [], spectrum._block_lanczos
    monkeypatch.setattr(spectrum, "_block_lanczos", lambda *args, **keywords: blocks.append(plain(*args, **keywords)))
    again = smooth_spectrum(graph, 100)  # blocks do not converge
    assert len(blocks) == 1
    for each in (found, again):
        assert each.residual <= 1e-9
        np.testing.assert_allclose(each.eigenvalues, expected.eigenvalues, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(each.vectors, expected.vectors, atol=1e-6 * np.abs(expected.vectors).max())


def test_full_graphs_along_a_curve_are_factorized_as_sparse_ones(monkeypatch):
    t = np.linspace(0, 1, 1600)[:, None]
    graph = kernel_graph(neighbors.all_pairs(np.hstack([t, t**2])), 0.004, self_weights=False)
    factorized, plain = [], spectrum._factorized
    monkeypatch.setattr(spectrum, "_factorized", lambda *args: factorized.append(1) or plain(*args))
    found, expected = smooth_spectrum(graph, 4), smooth_spectrum(graph, 4, solver="dense")
    smooth_spectrum(graph, 4, solver="lanczos")  # as asked
    assert factorized == [1]
    assert found.residual <= 1e-9
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-5 * np.abs(expected.vectors).max())


def test_many_eigenvectors_of_parts_that_hardly_hang_together():
    X = make_sphere(450, random_state=0).data * [1.0, 1.3, 1.7]
    W = sparse.block_diag([kernel_graph(neighbors.nearest_pairs(X, 10), 0.3).weights] * 2, format="lil")
    W[0, 450] = W[450, 0] = 1e-8
    d = W.sum(axis=1)
    A = sparse.csr_array(W / np.sqrt(np.multiply.outer(d, d)))
    values, _, residual = spectrum.largest_eigenpairs(A, 119, without=np.sqrt(d / d.sum())[:, None])
    assert residual <= 1e-9
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A.toarray())[::-1][1:120], atol=1e-12)


@pytest.mark.parametrize("k", [3, 40])
def test_block_lanczos_finds_what_lapack_finds(monkeypatch, k):
    X = make_sphere(900, random_state=0).data * [1.0, 1.3, 1.7]
    graph = kernel_graph(neighbors.all_pairs(X), 0.3, self_weights=False)
    expected = smooth_spectrum(graph, k, solver="dense")
    monkeypatch.setattr(spectrum, "_DIRECT", 0)
    monkeypatch.setattr(spectrum, "_full", None)
    found = smooth_spectrum(graph, k, n_jobs=1)
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-6 * np.abs(expected.vectors).max())
    np.testing.assert_array_equal(smooth_spectrum(graph, k, n_jobs=2).vectors, found.vectors)


@pytest.mark.parametrize("single", [True, False])
def test_eigenvectors_have_the_same_residual_whether_single_precision_helps_or_not(monkeypatch, single):
    X = make_sphere(900, random_state=0).data * [1.0, 1.3, 1.7]
    scale = geolap.neighbor_scale(X, 30, intrinsic_dim=2)
    graph = kernel_graph(neighbors.all_pairs(X).scaled(scale.rho), 0.3, scale=scale, self_weights=False)
    expected = smooth_spectrum(graph, 6, solver="dense")
    monkeypatch.setattr(spectrum, "_DIRECT", 0)
    monkeypatch.setattr(spectrum, "_full", None)
    in_double = spectrum._block_lanczos
    spaces = []

    def recorded(*args, **kwargs):
        spaces.append(in_double(*args, **kwargs))
        return spaces[-1]

    monkeypatch.setattr(spectrum, "_block_lanczos", recorded)
    if not single:
        monkeypatch.setattr(spectrum, "_refined", lambda *args: None)
    found = smooth_spectrum(graph, 6)
    assert [space.basis.dtype for space in spaces] == [np.float32] + [np.float64] * (not single)
    assert found.residual <= 1e-9
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-6 * np.abs(expected.vectors).max())


def test_equal_eigenvalues_of_a_full_graph_are_found_where_not_all_of_them_are_wanted(monkeypatch):
    # Points at even distances on a circle: all eigenvalues but the first are double; of the last, one may be wanted.
    angles = 2.0 * np.pi * np.arange(600) / 600
    graph = kernel_graph(neighbors.all_pairs(np.column_stack([np.cos(angles), np.sin(angles)])), 0.1)
    expected = smooth_spectrum(graph, 7, solver="dense")
    monkeypatch.setattr(spectrum, "_DIRECT", 0)
    for k in (2, 3, 4, 6):
        found = smooth_spectrum(graph, k)
        assert found.residual <= 1e-9
        np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues[:k], rtol=1e-9, atol=1e-9)


def test_components_of_a_full_graph_are_those_of_its_edges():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) + 40.0 * rng.integers(0, 5, 300)[:, None]
    for eps in (0.2, 1.0, 3.0, 20.0):
        graph = kernel_graph(neighbors.all_pairs(X), eps, self_weights=False)
        n, labels = connected_components(graph.transition() > 1e-14, directed=False)
        found = spectrum.graph_components(graph)
        assert found.max() + 1 == n == len(set(zip(found.tolist(), labels.tolist(), strict=True)))


@pytest.mark.parametrize("eps", [0.7, 1.4])
def test_block_lanczos_goes_on_where_its_space_is_exhausted(eps):
    # P of a circle at a wide bandwidth has a dozen eigenvalues, and the rest is rounding.
    theta = np.random.default_rng(1).uniform(0, 2 * np.pi, 1700)
    graph = kernel_graph(neighbors.all_pairs(np.column_stack([np.cos(theta), np.sin(theta)])), eps)
    found, exact = (smooth_spectrum(graph, 5, solver=solver) for solver in ("auto", "dense"))
    assert found.residual < 1e-8
    np.testing.assert_allclose(found.eigenvalues, exact.eigenvalues, atol=1e-8)


def test_a_chain_is_factorized_where_lanczos_does_not_converge(monkeypatch):
    # Points at even distances on a circle, each seeing a few neighbors: −L has the eigenvalues of a circulant matrix.
    n = 4000
    angle = 2 * np.pi * np.arange(n) / n
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    eps = 1.5 * 2 * np.pi / n
    called = []
    plain = spectrum._factorized
    monkeypatch.setattr(spectrum, "_factorized", lambda *args: called.append(1) or plain(*args))
    found = smooth_spectrum(kernel_graph(neighbors.pairs_within(X, 5 * eps), eps), 5)
    assert called
    k = np.arange(-7, 8)
    weight = np.exp(-((2 * np.sin(np.pi * k / n) / eps) ** 2))
    expected = (
        4 / eps**2 * np.array([1 - (weight * np.cos(m * 2 * np.pi * k / n)).sum() / weight.sum() for m in (0, 1, 1, 2, 2)])
    )
    np.testing.assert_allclose(found.eigenvalues, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.eigenvalues, [0, 1, 1, 4, 4], rtol=1e-3, atol=1e-6)


def test_solvers_are_checked():
    X = make_sphere(2000, random_state=0).data
    with pytest.raises(ValueError, match=r"eigen_solver='lobpcg' needs a sparse graph; this one is full: set n_neighbors"):
        geolap.LaplacianEigenmap(bandwidth=0.3, eigen_solver="lobpcg").fit(X)
    with pytest.raises(ValueError, match=r"eigen_solver must be .*'arpack'"):
        geolap.LaplacianEigenmap(bandwidth=0.3, eigen_solver="arpack").fit(X)


def test_symmetric_neighbors_are_those_of_either_side(monkeypatch):
    monkeypatch.setattr(neighbors, "_ROWS", 64)
    monkeypatch.setattr(neighbors, "_HELD", 2**12)
    X = make_hourglass(1000, noise=0.01, random_state=0).data
    X[3] = X[4] = X[5]
    found = neighbors.nearest_pairs(X, 7)
    distances, columns = neighbors.nearest_neighbors(X, 7)
    squares = np.maximum((distances / found.unit) ** 2, ZERO)
    directed = sparse.csr_array((squares.ravel(), columns.ravel(), np.arange(0, 7001, 7)), shape=(1000, 1000))
    np.testing.assert_array_equal(found.sqdist.toarray(), _symmetric(directed).toarray())
    assert found.sqdist.indices.dtype == np.int32


def test_faiss_finds_neighbors_at_exact_distances(monkeypatch):
    pytest.importorskip("faiss")
    X = make_sphere(3000, noise=0.01, noise_dims=17, random_state=0).data
    exact, _ = neighbors.nearest_neighbors(X, 10)
    monkeypatch.setattr(neighbors, "_POINTS_FOR_FAISS", 1000)
    distances, columns = neighbors.nearest_neighbors(X, 10)
    np.testing.assert_allclose(distances, np.linalg.norm(X[columns] - X[:, None], axis=2), rtol=1e-9)
    assert np.mean(np.isclose(distances, exact, rtol=1e-9)) > 0.9
    assert not (columns == np.arange(3000)[:, None]).any()


@pytest.fixture(scope="module")
def sphere():
    return make_sphere(6000, random_state=0).data


@pytest.mark.slow
def test_a_map_by_landmarks_is_the_map(sphere):
    X = sphere[:3000]
    before = X.copy()
    full = geolap.LaplacianEigenmap(n_components=3, bandwidth=0.3).fit(X)
    model = geolap.LaplacianEigenmap(n_components=3, bandwidth=0.3, n_landmarks=1000, random_state=0).fit(X)
    np.testing.assert_array_equal(X, before)
    assert len(np.unique(model.landmarks_)) == 1000
    assert model.embedding_.shape == (3000, 3)
    assert procrustes(full.embedding_, model.embedding_)[2] < 0.01
    np.testing.assert_allclose(model.eigenvalues_, full.eigenvalues_, rtol=0.03)
    # Degrees are those of all points.
    np.testing.assert_allclose(model.graph_.degrees, full.graph_.degrees[model.landmarks_], rtol=1e-3)
    again = geolap.LaplacianEigenmap(n_components=3, bandwidth=0.3, n_landmarks=1000, random_state=0, n_jobs=1).fit(X)
    np.testing.assert_allclose(again.embedding_, model.embedding_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.transform(X[:20]), model.embedding_[:20])


@pytest.mark.parametrize("kind", [geolap.LaplacianEigenmap, geolap.DiffusionMap])
def test_all_points_as_landmarks_are_the_full_map(sphere, kind):
    X = sphere[:800]
    full, all_of_them = (kind(bandwidth=0.4, n_landmarks=m, random_state=0).fit(X) for m in (None, 800))
    assert full.landmarks_ is None
    np.testing.assert_allclose(all_of_them.embedding_, full.embedding_, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_landmarks_choose_the_bandwidth_of_all_points(sphere):
    X = sphere[:2000]
    model = geolap.LaplacianEigenmap(n_landmarks=1000, random_state=0).fit(X)
    assert model.bandwidth_ == geolap.GeometricConsistency(random_state=0).fit(X).bandwidth_


def test_landmarks_with_local_scales(sphere):
    model = geolap.LaplacianEigenmap(n_components=3, bandwidth=0.3, n_landmarks=1000, local_scale=50, random_state=0).fit(
        sphere
    )
    np.testing.assert_allclose(model.eigenvalues_, 2.0, rtol=0.1)


def test_bad_landmarks_are_refused(sphere):
    X = sphere[:200]
    for params, given in (({"n_neighbors": 10}, X), ({"metric": "precomputed"}, cdist(X, X))):
        with pytest.raises(ValueError, match=r"at a bandwidth for all points; n_landmarks was given with .*: leave out one"):
            geolap.LaplacianEigenmap(bandwidth=0.3, n_landmarks=100, **params).fit(given)
    with pytest.raises(ValueError, match=r"n_landmarks must be at most the number of points; 300 was given for 200 points"):
        geolap.LaplacianEigenmap(bandwidth=0.3, n_landmarks=300).fit(sphere[:200])


@pytest.mark.slow
def test_new_points_are_extended_the_same_alone_and_together(sphere):
    new = make_sphere(1500, random_state=5).data
    for params in ({"cutoff": 3.0}, {"n_neighbors": 20}):
        model = geolap.LaplacianEigenmap(bandwidth=0.3, **params).fit(sphere[:3000])
        together = model.transform(new)
        np.testing.assert_allclose(together[::100], np.vstack([model.transform(x[None]) for x in new[::100]]), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("params", [{}, {"local_scale": 7}])
def test_new_points_take_means_of_their_nearest(sphere, params):
    X, new = sphere[:2000], np.vstack([make_sphere(1500, random_state=5).data, 20.0 * sphere[:10]])
    built = geolap.GraphLaplacian(0.3, n_neighbors=12, calibrate=False, **params).fit(X)._built
    values = X[:, :2]
    found = extend(built, new, values, told=False)
    sqdist = cdist(new, X, "sqeuclidean")
    nearest, rho = sqdist.argmin(axis=1), built.kernel.bandwidths / built.kernel.bandwidth
    near = sqdist <= np.sort(sqdist, axis=1)[:, 11:12]
    sqdist = np.where(near, sqdist / (rho[nearest][:, None] * rho), np.inf)
    W = np.exp((sqdist.min(axis=1, keepdims=True) - sqdist) / 0.3**2) * built.kernel.column_weights
    expected = W @ values / W.sum(axis=1, keepdims=True)
    within = np.arange(len(new)) < 1500
    np.testing.assert_allclose(found.means[within], expected[within], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.nearest, nearest)
    with pytest.warns(UserWarning, match=r"10 of 1510 have none"):
        extend(built, new, values)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (40, 3)])
def test_some_eigenvectors_of_a_full_matrix_are_those_of_scipy(n, k):
    from scipy.linalg import eigh

    from geolap.graphs.lapack import largest_of_full

    A = np.random.default_rng(0).standard_normal((n, n))
    values, vectors = largest_of_full(A + A.T, k)
    expected = eigh(A + A.T, subset_by_index=[n - k, n - 1])
    np.testing.assert_allclose(values, expected[0], atol=1e-12)
    np.testing.assert_allclose(np.abs(vectors), np.abs(expected[1]), atol=1e-9)
