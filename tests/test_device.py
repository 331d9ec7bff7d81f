"""The device engine, on torch's CPU backend: the same code runs on a GPU (`benchmarks/gpu.py` checks it there)."""

import numpy as np
import pytest

import geolap
from geolap.datasets import make_hourglass, make_sphere
from geolap.engines import DenseEngine, TiledEngine, make_engine
from geolap.metric import departure
from geolap.specification import GraphSpec

torch = pytest.importorskip("torch")
from geolap.engines.device import DeviceEngine, _leading_vectors  # noqa: E402 (they need torch)
from geolap.engines.row_sum_kernel import RUNGS, rung_ladders  # noqa: E402


@pytest.mark.slow
@pytest.mark.parametrize("n_features", [3, 7, 60])
@pytest.mark.parametrize("cutoff", [None, 2.5])
@pytest.mark.parametrize("scaled", [False, True])
def test_device_engine_equals_the_dense_one(n_features, cutoff, scaled, monkeypatch):
    monkeypatch.setattr("geolap.engines.device.HELD_CPU", 2**10)  # several chunks
    X = make_hourglass(200, noise=0.02, noise_dims=n_features - 3, random_state=0).data
    X[1] = X[0]
    scale = geolap.LocalScale(np.random.default_rng(0).uniform(0.5, 2, 200), 2.0) if scaled else None
    dense, device = DenseEngine(X, cutoff=cutoff, scale=scale), DeviceEngine(torch.tensor(X), cutoff=cutoff, scale=scale)
    bandwidths = np.array([0.05, 0.2, 0.2 * np.sqrt(2), 0.5, 1.3])
    sample = np.arange(0, 200, 29)
    sums = dense.row_sums(bandwidths)
    np.testing.assert_allclose(device.row_sums(bandwidths), sums, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(device.row_sums(bandwidths, sample), sums[sample], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(device.nearest(sample), dense.nearest(sample), rtol=1e-12)
    assert device.mean_distance() == pytest.approx(dense.mean_distance(), rel=1e-12)
    for dim in (1, 2):
        ours, plain = (e.local_metrics(sample, bandwidths, 1 + sums, working_dim=dim) for e in (device, dense))
        np.testing.assert_allclose(departure(ours.H), departure(plain.H), atol=1e-7)
        np.testing.assert_allclose(ours.drift, plain.drift, atol=1e-7)
        if cutoff is None:
            np.testing.assert_allclose(ours.effective, plain.effective, rtol=1e-10)


def test_real_data_in_many_dimensions(real):
    X = real("digits")[:400]
    bandwidths = make_engine(X).mean_distance() * 2.0 ** (-np.arange(2, 10, 2) / 4)
    sample = np.arange(0, 400, 20)
    tiled, device = TiledEngine(X), DeviceEngine(torch.tensor(X))
    sums = tiled.row_sums(bandwidths)
    ours, theirs = (e.local_metrics(sample, bandwidths, 1 + sums, working_dim=2) for e in (device, tiled))
    np.testing.assert_allclose(departure(ours.H), departure(theirs.H), atol=1e-6)


def test_the_device_engine_has_as_many_threads_as_asked():
    X = torch.tensor(make_sphere(30, random_state=0).data)
    assert make_engine(X, GraphSpec(engine="device", n_jobs=1))._n_jobs == 1


def test_leading_vectors_of_nearly_tied_matrices():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((20, 50, 50)))[0]
    values = np.concatenate([[1.0, 0.5, 1.0 - 1e-5], np.linspace(0.4, 0, 47)])[None] * np.ones((20, 1))
    C = torch.tensor((Q * values[:, None, :]) @ Q.transpose(0, 2, 1))
    V = _leading_vectors(C, 1, torch.zeros((20, 50), dtype=torch.float64)).numpy()
    np.testing.assert_allclose(np.abs(np.einsum("nr,nr->n", V[:, 0], Q[:, :, 0])), 1.0, rtol=1e-8)


@pytest.mark.slow
def test_selection_is_the_same_on_every_engine():
    X = make_sphere(500, random_state=0).data
    reference = geolap.GeometricConsistency(random_state=0).fit(X)
    for points, engine in ((torch.tensor(X), "auto"), (torch.tensor(X), "device")):
        found = geolap.GeometricConsistency(random_state=0, engine=engine).fit(points)
        assert found.bandwidth_ == pytest.approx(reference.bandwidth_, rel=1e-9)
        assert found.n_features_in_ == 3
    curve = geolap.distortion(torch.tensor(X), [0.2, 0.4], sample=np.arange(50), engine="device")
    np.testing.assert_allclose(curve.mean, geolap.distortion(X, [0.2, 0.4], sample=np.arange(50)).mean, rtol=1e-9)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_a_device_engine_without_a_device_says_so():
    X = make_sphere(200, random_state=0).data
    with pytest.warns(UserWarning, match=r"engine='device' is for points on a GPU; torch .* finds none and uses the CPU"):
        found = geolap.distortion(X, [0.3], engine="device")
    np.testing.assert_allclose(found.mean, geolap.distortion(X, [0.3]).mean, rtol=1e-9)


def test_indices_scales_and_labels_may_be_tensors():
    X = make_sphere(200, random_state=0).data
    plain = geolap.distortion(X, [0.3], sample=np.arange(0, 200, 4), local_scale=geolap.LocalScale(np.full(200, 1.1), 2.0))
    scale = geolap.LocalScale(torch.full((200,), 1.1, dtype=torch.float64), 2.0)
    found = geolap.distortion(X, [0.3], sample=torch.arange(0, 200, 4), local_scale=scale)
    np.testing.assert_allclose(found.mean, plain.mean)
    y = (X[:, 0] > 0).astype(int)
    classes = geolap.LaplacianClassifier(random_state=0).fit(torch.tensor(X), torch.tensor(y)).predict(X)
    assert (classes == y).all()


@pytest.mark.slow
def test_tensors_are_taken_everywhere():
    X = make_sphere(200, random_state=0).data
    tensor = torch.tensor(X, requires_grad=True)
    assert geolap.select_bandwidth(tensor, "median").bandwidth == geolap.select_bandwidth(X, "median").bandwidth
    embedded = geolap.LaplacianEigenmap(bandwidth=0.5).fit_transform(tensor)
    np.testing.assert_array_equal(embedded, geolap.LaplacianEigenmap(bandwidth=0.5).fit_transform(X))
    for params in ({"n_neighbors": 10}, {"local_scale": 7}):
        found = geolap.GeometricConsistency(random_state=0, engine="device", **params).fit(tensor).bandwidth_
        assert found == pytest.approx(geolap.GeometricConsistency(random_state=0, **params).fit(X).bandwidth_, rel=1e-6)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (torch.tensor([[0.0, 1.0], [float("nan"), 2.0], [3.0, 4.0]]), r"the input contains NaN, first at row 1, column 0"),
        (torch.zeros((5, 2)), r"At least three distinct points are needed; the 5 points given have 1"),
        (torch.zeros(600), r"Points must be a 2-D array .* shape \(600,\) was given"),
        (torch.tensor(1.0), r"Points must be a 2-D array .* shape \(\) was given"),
        (torch.zeros((5, 2), dtype=torch.complex64), r"Complex data not supported"),
        (torch.zeros((2, 2)), r"n_samples=2"),
    ],
)
def test_bad_tensors_are_answered_in_words(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        geolap.GeometricConsistency().fit(X)


@pytest.mark.parametrize(
    ("kind", "advice", "made"),
    [
        ("sparse", r"X.to_dense\(\)", lambda: torch.ones((9, 2)).to_sparse()),
        ("nested", r"torch.cat\(X.unbind\(\)\)", lambda: torch.nested.nested_tensor([torch.ones(2, 3)] * 2)),
        ("meta", "load its values", lambda: torch.ones((9, 2), device="meta")),
        ("quantized", r"X.dequantize\(\)", lambda: torch.quantize_per_tensor(torch.ones((9, 2)), 0.1, 0, torch.qint8)),
    ],
)
@pytest.mark.filterwarnings("ignore:.*nested tensors:UserWarning", "ignore:.*quantize:UserWarning")  # of torch
def test_tensors_without_a_table_of_numbers_are_answered_in_words(kind, advice, made):
    X = made()
    for call in (
        geolap.GeometricConsistency().fit,  # which keeps tensors where they are
        geolap.MedianDistance().fit,
        lambda y: geolap.LaplacianClassifier(0.5).fit(np.eye(9), y),
    ):
        with pytest.raises(TypeError, match=f"must be dense and contain numbers; a {kind} one was given: .*{advice}"):
            call(X)


def test_tensors_that_torch_has_not_resolved_yet_are_numbers():
    X = make_sphere(200, random_state=0).data
    negative = torch.complex(torch.zeros(200, 3), torch.tensor(-X).float()).conj().imag
    assert negative.is_neg()
    for call in (lambda X: geolap.distortion(X, [0.5]).mean, lambda X: geolap.MedianDistance().fit(X).bandwidth_):
        np.testing.assert_allclose(call(negative), call(X), rtol=1e-5)


def test_weights_and_bandwidths_may_be_tensors():
    X, m = make_sphere(200, random_state=0).data, np.arange(200) % 3 + 1.0
    plain = geolap.distortion(X, [0.25, 0.5], sample_weight=m)
    found = geolap.distortion(X, torch.tensor([0.25, 0.5]), sample_weight=torch.tensor(m, requires_grad=True))
    np.testing.assert_array_equal(found.mean, plain.mean)


def test_out_of_memory_means_smaller_tiles():
    engine = DeviceEngine(torch.tensor(make_sphere(100, random_state=0).data))
    tiles = []

    def of(rows):
        tiles.append(len(rows))
        if len(rows) > 10:
            raise torch.OutOfMemoryError("too much")
        return rows[:, None].double()

    before = engine._held
    np.testing.assert_array_equal(engine._by_rows(of, np.arange(100), most=64)[:, 0], np.arange(100))
    assert tiles[:3] == [64, 32, 16]
    assert engine._held == before // 8

    def never(rows):
        raise torch.OutOfMemoryError("too much")

    with pytest.raises(MemoryError, match=r"The device needs free memory in addition to the points"):
        engine._by_rows(never, np.arange(100))


def test_ladders_of_the_fused_kernel_hold_every_bandwidth_once():
    for ratio, m in ((0.5, 20), (0.25, 30), (0.1, 7)):
        epsilons = 3.0 * 2.0 ** (-np.arange(m) * ratio)
        found = {}
        for widest, members in rung_ladders(epsilons):
            for column, rung in members:
                assert rung < RUNGS
                assert widest * 2.0 ** (-rung / 2) == pytest.approx(epsilons[column], rel=1e-9)
                assert column not in found
                found[column] = rung
        assert len(found) == m
