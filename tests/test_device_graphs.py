"""Graphs over points on a GPU, on torch's CPU backend: the same code runs on a GPU (`benchmarks/gpu.py maps` checks it)."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsTransformer

import geolap
from geolap.data.points import Points, on_device
from geolap.datasets import make_sphere, make_swiss_roll
from geolap.engines import TiledEngine
from geolap.graphs.graph import KernelGraph
from geolap.local_dimension import Surroundings

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow
from geolap.engines.device import squared_distances  # noqa: E402 (they need torch)
from geolap.graphs import device, device_pairs  # noqa: E402
from geolap.graphs.neighbors import nearest_neighbors  # noqa: E402


@pytest.fixture
def gpu(monkeypatch):
    """Tensors in the memory of the host count as being on a GPU; several tiles, looked at in single precision first."""
    monkeypatch.setattr("geolap.data.points.is_on_gpu", on_device)
    monkeypatch.setattr(device_pairs, "_MANY", 300)
    monkeypatch.setattr(device_pairs, "_ROWS", 256)
    monkeypatch.setattr(device, "HELD_CPU", 2**17)


def relative(ours, theirs):
    return np.abs(np.asarray(ours) - theirs).max() / np.abs(theirs).max()


@pytest.fixture(scope="module")
def roll():
    X = make_swiss_roll(400, noise=0.02, noise_dims=2, random_state=0).data
    X[1] = X[0]
    return X


@pytest.mark.parametrize("n_landmarks", [None, 350])
def test_maps_and_new_points_leave_the_graph_where_it_is(gpu, roll, n_landmarks):
    eigenmap = geolap.LaplacianEigenmap(3, 2.0, n_landmarks=n_landmarks).fit(torch.tensor(roll))
    eigenmap.transform(torch.tensor(roll[:5] + 0.01))
    assert "on_host" not in vars(eigenmap._built)  # which is kept once it was asked for


@pytest.mark.parametrize(
    "params",
    [
        {"bandwidth": 2.0},
        {"bandwidth": 2.0, "self_weights": True, "renormalization": 0.5},
        {"bandwidth": 1.5, "cutoff": 3.0},
        {"bandwidth": 1.5, "n_neighbors": 8},
        {"bandwidth": 1.5, "n_neighbors": 8, "local_scale": 7},
        {"bandwidth": 2.0, "local_scale": 7},
        {"bandwidth": 2.0, "local_scale": 7, "cutoff": 3.0},
        {"bandwidth": 2.0, "n_landmarks": 350},
    ],
    ids=str,
)
def test_maps_are_those_of_the_host(gpu, roll, params):
    ours = geolap.LaplacianEigenmap(3, random_state=0, **params).fit(torch.tensor(roll))
    host = geolap.LaplacianEigenmap(3, random_state=0, **params).fit(roll)
    assert isinstance(ours._built.kernel.weights, device.DeviceMatrix)
    assert relative(ours.embedding_, host.embedding_) < 1e-6
    np.testing.assert_allclose(ours.eigenvalues_, host.eigenvalues_, rtol=1e-9)
    assert ours.calibration_.factor == pytest.approx(host.calibration_.factor, rel=1e-9)
    assert ours.dropped_weight_ == pytest.approx(host.dropped_weight_, abs=1e-9)
    new = roll[::9] + 0.01
    assert relative(ours.transform(torch.tensor(new)), host.transform(new)) < 1e-6
    np.testing.assert_array_equal(ours.transform(roll[2:5]), ours.embedding_[2:5])  # also of arrays
    graph = ours.graph_
    assert isinstance(graph, KernelGraph)
    assert graph is ours.graph_  # brought here once
    assert abs(graph.weights - host.graph_.weights).max() < 1e-9
    for normalization in ("random_walk", "symmetric", "unnormalized"):
        L, theirs = ours._built.kernel.laplacian(normalization).host(), host.graph_.laplacian(normalization)
        assert abs(L - theirs).max() < 1e-9 * abs(theirs).max()


def test_many_features_are_calibrated_as_on_the_host(gpu):
    X = make_sphere(500, noise=0.01, noise_dims=117, random_state=0).data
    ours, host = (geolap.LaplacianEigenmap(2, bandwidth=0.6).fit(Y).calibration_ for Y in (torch.tensor(X), X))
    assert ours.dimension == host.dimension == 2
    assert ours.factor == pytest.approx(host.factor, rel=1e-9)
    np.testing.assert_allclose(ours.rates, host.rates, rtol=1e-9)


def test_a_graph_chosen_by_size_is_that_of_the_host(gpu, roll, monkeypatch):
    monkeypatch.setattr("geolap.graphs.build.MOST_POINTS_OF_FULL", 300)
    host = geolap.LaplacianEigenmap(3, bandwidth=1.5, random_state=0).fit(roll)
    for share, is_sparse in ((0.0, False), (1.0, True)):
        monkeypatch.setattr("geolap.graphs.build._SHARE_OF_FULL", share)
        ours = geolap.LaplacianEigenmap(3, bandwidth=1.5, random_state=0).fit(torch.tensor(roll))
        assert ours._built.kernel.weights.is_sparse == is_sparse
        assert ours.cutoff_ == host.cutoff_ is not None
        assert relative(ours.embedding_, host.embedding_) < 1e-6
        assert ours.calibration_.factor == pytest.approx(host.calibration_.factor, rel=1e-9)
        assert ours.dropped_weight_ == pytest.approx(host.dropped_weight_, abs=1e-9)


def test_block_lanczos_finds_what_the_direct_solver_finds(gpu, roll, monkeypatch):
    monkeypatch.setattr("geolap.graphs.spectrum._DIRECT", 10)
    monkeypatch.setattr("geolap.graphs.spectrum._DIRECT_PER_PAIR", 1)
    for params in ({"bandwidth": 2.0}, {"bandwidth": 1.5, "n_neighbors": 8}):
        ours = geolap.LaplacianEigenmap(6, **params).fit(torch.tensor(roll))
        host = geolap.LaplacianEigenmap(6, eigen_solver="dense", **params).fit(roll)
        np.testing.assert_allclose(ours.eigenvalues_, host.eigenvalues_, rtol=1e-8)
        assert relative(ours.embedding_, host.embedding_) < 1e-5


def test_a_block_that_spans_an_invariant_space_is_no_end(gpu, monkeypatch):
    monkeypatch.setattr("geolap.graphs.spectrum._DIRECT", 10)
    X = np.repeat(np.eye(4), 50, axis=0)  # four places: the graph has rank four
    ours = geolap.LaplacianEigenmap(3, bandwidth=1.0, self_weights=True, calibrate=False).fit(torch.tensor(X))
    np.testing.assert_allclose(ours.eigenvalues_, 4 * (1 - (1 - np.exp(-2)) / (1 + 3 * np.exp(-2))) * np.ones(3), rtol=1e-9)


@pytest.mark.parametrize("params", [{}, {"cutoff": 3.0}, {"n_neighbors": 5}], ids=str)
def test_components_are_those_of_the_host(gpu, params):
    ball = make_sphere(120, random_state=0).data
    X = np.vstack([ball, ball[:60] + 50.0, [[500.0, 0, 0], [500.1, 0, 0], [900.0, 0, 0]]])
    maps = [
        geolap.LaplacianEigenmap(2, bandwidth=0.5, disconnected="separate", **params).fit(Y) for Y in (X, torch.tensor(X))
    ]
    np.testing.assert_array_equal(maps[0].component_labels_, maps[1].component_labels_)
    np.testing.assert_allclose(maps[0].embedding_, maps[1].embedding_, atol=1e-9)


def test_thinned_graphs_are_right_in_the_mean(gpu):
    X = make_sphere(900, random_state=0).data
    params = {"bandwidth": 0.5, "n_edges": 60, "random_state": 0}
    ours, host = (geolap.LaplacianEigenmap(3, **params).fit(Y) for Y in (torch.tensor(X), X))
    again = geolap.LaplacianEigenmap(3, **params).fit(torch.tensor(X))
    full = geolap.LaplacianEigenmap(3, bandwidth=0.5).fit(X)
    np.testing.assert_array_equal(ours.embedding_, again.embedding_)
    assert ours.n_edges_ == pytest.approx(host.n_edges_, rel=0.05)
    assert ours.thinning_error_ == pytest.approx(host.thinning_error_, rel=0.2)
    np.testing.assert_allclose(ours.eigenvalues_, full.eigenvalues_, rtol=0.05)
    assert ours.graph_.degrees.sum() == pytest.approx(full.graph_.degrees.sum(), rel=0.01)
    assert ours.n_graph_components_ == 1


def test_far_clusters_stay_joined_where_pairs_are_thinned(gpu):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + np.array([12.0, 0.0])])
    found = geolap.LaplacianEigenmap(2, bandwidth=2.0, n_edges=20, random_state=0).fit(torch.tensor(X))
    assert found.n_graph_components_ == 1


@pytest.mark.parametrize("many", [300, 10**9])
def test_nearest_neighbors_are_exact(gpu, many, monkeypatch):
    monkeypatch.setattr(device_pairs, "_MANY", many)
    X = np.random.default_rng(0).standard_normal((800, 20))
    X[:3] += 1e6  # far from the others, whose digits single precision loses
    distances, columns = nearest_neighbors(Points.of(torch.tensor(X), keep_device=True), 6)
    expected, which = nearest_neighbors(X, 6)
    np.testing.assert_allclose(distances, expected, rtol=1e-9)
    np.testing.assert_array_equal(columns[3:], which[3:])


def test_squared_distances_keep_their_digits():
    A = torch.tensor(np.random.default_rng(0).standard_normal((40, 5)))
    B = torch.cat([A + 1e-7, A])
    exact = (A[:, None] - B).square().sum(dim=2)
    torch.testing.assert_close(squared_distances(A, B), exact, rtol=1e-11, atol=0)


@pytest.mark.parametrize("params", [{}, {"rho": True}, {"most": 12}], ids=str)
def test_neighborhoods_are_those_of_the_host(gpu, roll, params):
    params = params | ({"rho": np.random.default_rng(0).uniform(0.5, 2.0, len(roll))} if "rho" in params else {})
    sample = np.arange(0, len(roll), 20)
    ours, host = (
        Surroundings(points, sample, TiledEngine(roll).row_sums, **params).at(2.0)
        for points in (Points.of(torch.tensor(roll), keep_device=True), Points.of(roll))
    )
    np.testing.assert_array_equal(ours.per_point, host.per_point)
    np.testing.assert_allclose(ours.singular_values, host.singular_values, atol=1e-9)
    assert ours.likelihood == pytest.approx(host.likelihood, rel=1e-9)


def test_clusters_and_labels_are_those_of_the_host(gpu):
    ball = make_sphere(300, random_state=0).data * np.array([1.0, 0.7, 0.4])
    X, truth = np.vstack([ball[:150], ball[150:] + 2.5, [[20.0, 20.0, 20.0]]]), np.repeat([0, 1], [150, 151])
    ours, host = (geolap.LaplacianClustering(bandwidth=1.0).fit(Y) for Y in (torch.tensor(X), X))
    np.testing.assert_array_equal(ours.labels_, host.labels_)
    np.testing.assert_allclose(ours.eigenvalues_, host.eigenvalues_, atol=1e-12)
    assert ours.status_ == host.status_
    assert ours.n_outliers_ == host.n_outliers_
    np.testing.assert_array_equal(ours.predict(torch.tensor(X)), host.predict(X))
    y = np.where(np.arange(301) % 30 == 0, truth, -1)
    for params in ({"n_neighbors": None}, {"n_neighbors": 10}):
        models = [geolap.LaplacianClassifier(1.0, **params).fit(Y, y) for Y in (torch.tensor(X), X)]
        np.testing.assert_array_equal(models[0].transduction_, models[1].transduction_)
        np.testing.assert_allclose(models[0].predict_proba(X), models[1].predict_proba(X), atol=1e-6)


def test_results_are_arrays_in_the_memory_of_the_host(gpu):
    X = torch.tensor(make_sphere(200, random_state=0).data, dtype=torch.float32)
    fitted = geolap.DiffusionMap(2, bandwidth=0.5, diffusion_time="auto").fit(X)
    assert isinstance(fitted.embedding_, np.ndarray)
    assert fitted.embedding_.dtype == np.float32
    assert isinstance(geolap.GraphLaplacian(bandwidth=0.5).fit(X).laplacian_, np.ndarray)
    assert geolap.LaplacianEigenmap("auto", bandwidth=0.5).fit(X).coordinates_.size > 0
    assert geolap.relax(fitted).embedding.shape == (200, 2)


def test_weights_of_points_and_given_neighbors_have_graphs_on_the_host(gpu, roll):
    X = torch.tensor(roll)
    weighted = geolap.GraphLaplacian(bandwidth=2.0).fit(X, sample_weight=np.full(len(roll), 2.0))
    assert isinstance(weighted._built.kernel.weights, np.ndarray)
    finder = KNeighborsTransformer(n_neighbors=5)
    ours, host = (geolap.GraphLaplacian(bandwidth=2.0, neighbors=finder).fit(Y) for Y in (X, roll))
    assert (ours.laplacian_ != host.laplacian_).nnz == 0


def test_out_of_memory_is_told_in_words(gpu, roll, monkeypatch):
    def full(points, *args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 18.00 GiB.")

    monkeypatch.setattr("geolap.graphs.build.all_pairs", full)
    with pytest.raises(MemoryError, match=r"there is not enough for 400 points \(CUDA out of memory\): set n_neighbors"):
        geolap.LaplacianEigenmap(bandwidth=2.0).fit(torch.tensor(roll))


def test_a_map_about_outliers_joins_neighbors_with_equal_weights_there_too(gpu):
    far = 3.0 * np.vstack([np.eye(3), np.eye(3) + 0.03])  # three pairs
    X = np.vstack([make_sphere(400, random_state=0).data, far])
    there, here = (geolap.LaplacianEigenmap(2, random_state=0).fit(points) for points in (torch.tensor(X), X))
    assert (there.n_neighbors_, here.n_neighbors_) == (20, 20)
    assert there.bandwidth_ == pytest.approx(here.bandwidth_, rel=1e-9)
    np.testing.assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-6)
