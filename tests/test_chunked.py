"""The chunked engine: dask arrays on threads and on a real cluster, memory-mapped files, and what they may not be."""

import numpy as np
import pytest

import geolap
from geolap.data.points import Points, is_chunked
from geolap.datasets import make_hourglass, make_torus
from geolap.engines import TiledEngine, chunked
from geolap.metric import departure

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def torus():
    return make_torus(2500, noise=0.05, random_state=0).data


def test_sums_and_distances_without_a_cluster(torus):
    import dask

    with dask.config.set(scheduler="threads"):
        engine = chunked.ChunkedEngine(da.from_array(torus, chunks=((1000, 1, 1499), 3)), exact=True)
        exact = TiledEngine(torus)
        eps, targets = np.array([0.2, 0.7]), np.array([2499, 0, 1000, 1001])
        assert engine.mean_distance() == pytest.approx(exact.mean_distance(), rel=1e-12)
        np.testing.assert_allclose(engine.nearest(targets), exact.nearest(targets), rtol=1e-12)
        np.testing.assert_allclose(engine.row_sums(eps), exact.row_sums(eps), rtol=1e-9)
        np.testing.assert_allclose(engine.row_sums(eps, targets), exact.row_sums(eps, targets), rtol=1e-9)


@pytest.mark.parametrize("settings", [{"cutoff": 2.5}, {"renormalization": 0.5}, {"squared": True}, {"dual": False}])
def test_parameters_mean_the_same(torus, settings):
    plain = geolap.distortion(torus, [0.3, 0.8], n_sample=60, random_state=0, **settings)
    found = geolap.distortion(da.from_array(torus, chunks=(900, 3)), [0.3, 0.8], n_sample=60, random_state=0, **settings)
    np.testing.assert_allclose(found.mean, plain.mean, rtol=1e-8)


@pytest.mark.parametrize("exact", [True, False])
def test_metrics_in_all_directions_hold_those_in_fewer(torus, exact):
    engine = chunked.ChunkedEngine(da.from_array(torus, chunks=(900, 3)), exact=exact)
    assert engine.directions_at_once == 3
    sample, eps = np.arange(0, 2500, 100), np.array([0.3, 0.8])
    every = engine.local_metrics(sample, eps, working_dim=3).H
    for dim in (1, 2):
        found = engine.local_metrics(sample, eps, working_dim=dim).H
        np.testing.assert_allclose(every[..., :dim, :dim], found, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_estimates_agree_with_the_exact_engine():
    X = make_hourglass(10_000, noise=0.01, noise_dims=5, random_state=0).data
    sample, eps = np.arange(0, 10_000, 50), np.array([0.15, 0.3, 0.6, 1.2])
    engine = chunked.ChunkedEngine(da.from_array(X, chunks=(3000, 8)), exact=False)
    found = engine.local_metrics(sample, eps, working_dim=2)
    exact = TiledEngine(X)
    local = exact.local_metrics(sample, eps, 1.0 + exact.row_sums(eps), working_dim=2)
    np.testing.assert_allclose(departure(found.H).mean(axis=0), departure(local.H).mean(axis=0), rtol=0.03)
    np.testing.assert_allclose(found.drift.mean(axis=0), local.drift.mean(axis=0), rtol=0.03)
    np.testing.assert_allclose(np.median(found.effective, axis=0), np.median(local.effective, axis=0), rtol=0.05)
    again = chunked.ChunkedEngine(da.from_array(X, chunks=(3000, 8)), exact=False)
    again.local_metrics(sample, eps, working_dim=1)  # which leaves nothing behind that matters
    np.testing.assert_array_equal(again.local_metrics(sample, eps, working_dim=2).H, found.H)


def test_every_point_is_in_one_cell_and_cells_are_even():
    sample = np.random.default_rng(0).standard_normal((4096, 3))
    tree = chunked._Splits(sample, 64)
    counts = np.bincount(tree.cell_of(sample), minlength=64)
    assert counts.sum() == 4096
    assert counts.min() >= 60
    assert counts.max() <= 68


@pytest.mark.slow
def test_a_large_memory_mapped_file_is_read_in_chunks(tmp_path, monkeypatch, torus):
    monkeypatch.setattr("geolap.data.points._LARGE_FILE", 10_000)
    monkeypatch.setattr("geolap.data.points._CHUNK", 20_000)
    torus = torus[:1200]
    np.save(tmp_path / "points.npy", torus)
    gc = geolap.GeometricConsistency(n_sample=50, random_state=0)
    for order in ("C", "F"):
        np.save(tmp_path / "points.npy", np.asarray(torus, order=order))
        points = np.load(tmp_path / "points.npy", mmap_mode="r")
        assert is_chunked(Points.of(points, keep_device=True).given)
        assert gc.fit(points).bandwidth_ == pytest.approx(gc.fit(torus).bandwidth_, rel=1e-8)
    assert gc.fit(points[100:]).bandwidth_ == pytest.approx(gc.fit(torus[100:]).bandwidth_, rel=1e-8)


def test_zarr_through_dask(tmp_path, torus):
    pytest.importorskip("zarr")
    da.from_array(torus, chunks=(800, 3)).to_zarr(str(tmp_path / "points.zarr"))
    found = geolap.distortion(da.from_zarr(str(tmp_path / "points.zarr")), [0.5], n_sample=50, random_state=0)
    np.testing.assert_allclose(found.mean, geolap.distortion(torus, [0.5], n_sample=50, random_state=0).mean, rtol=1e-8)


def test_faults_are_sentences(torus):
    gc = geolap.GeometricConsistency(random_state=0)
    X = da.from_array(torus, chunks=(700, 3))
    with pytest.raises(ValueError, match="chunked by rows only; this one has 2 chunks of columns"):
        gc.fit(X.rechunk((700, 2)))
    for call in (gc.fit, geolap.forecast):
        with pytest.raises(ValueError, match="unknown, as after a selection"):
            call(X[X[:, 0] > 0])
    with pytest.raises(ValueError, match="chunk 1 of 3 is empty"):
        gc.fit(X.rechunk(((700, 0, 1800), 3)))
    with pytest.raises(ValueError, match="must be finite; rows 700 to 1399 contain NaN or inf"):
        gc.fit(da.from_array(np.where(np.arange(2500)[:, None] == 800, np.nan, torus), chunks=(700, 3)))
    with pytest.raises(ValueError, match=r"2-D array .* shape \(2500,\) was given"):
        gc.fit(X[:, 0])
    with pytest.raises(ValueError, match=r"three distinct points; points of shape \(0, 3\) were given"):
        gc.fit(X[:0])
    with pytest.raises(ValueError, match=r"Points must be numbers; .* 'a'"):
        gc.fit(da.from_array(np.full((20, 2), "a"), chunks=(10, 2)))
    with pytest.raises(ValueError, match="Complex data not supported"):
        gc.fit(X.astype(complex))
    with pytest.raises(ValueError, match="A dask array is processed chunk by chunk"):
        geolap.GeometricConsistency(engine="dense").fit(X)
    with pytest.raises(ValueError, match="A dask array is processed chunk by chunk"):
        geolap.GeometricConsistency(n_neighbors=10).fit(X)


def test_masked_chunks_are_refused_like_masked_arrays(torus):
    masked = da.ma.masked_greater(da.from_array(torus, chunks=(700, 3)), 1.0)
    for call in (
        geolap.GeometricConsistency().fit,
        geolap.MedianDistance().fit,
        geolap.MedianDistance().fit(torus[:100]).transform,
        lambda X: geolap.distortion(X, [0.5]),
        lambda X: geolap.distortion(X, [0.5], metric="precomputed"),
    ):
        with pytest.raises(ValueError, match="Points must be complete; a masked array was given: fill them in"):
            call(masked)
    assert geolap.distortion(da.ma.filled(masked, 1.0), [0.5], n_sample=20).mean > 0


@pytest.mark.slow
def test_input_stays_lazy_and_results_repeat(torus):
    X = da.from_array(torus[:1200], chunks=(500, 3))
    gc = geolap.GeometricConsistency(n_sample=50, random_state=0)
    assert gc.fit(X).bandwidth_ == gc.fit(X).bandwidth_
    assert gc.n_features_in_ == 3
