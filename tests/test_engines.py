"""Every engine against the plain dense one, on real data and on awkward data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geolap.datasets import make_hourglass, make_sphere
from geolap.engines import DenseEngine, TiledEngine, make_engine
from geolap.metric import departure
from geolap.specification import GraphSpec


def both(X, bandwidths, sample, working_dim, cutoff=None, renormalization=1.0):
    engines = DenseEngine(X, cutoff=cutoff), TiledEngine(X, cutoff=cutoff)
    sums = [engine.row_sums(bandwidths) for engine in engines]
    metrics = [
        engine.local_metrics(sample, bandwidths, 1 + sums[0], working_dim=working_dim, renormalization=renormalization)
        for engine in engines
    ]
    return sums, metrics


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digit1", "digits"])
@pytest.mark.parametrize("working_dim", [1, 2, 3])
def test_tiled_equals_dense_on_real_data(real, name, working_dim):
    X = real(name)
    top = make_engine(X).mean_distance()
    bandwidths = top * 2.0 ** (-np.arange(1, 14, 2) / 4)
    sample = np.random.default_rng(0).choice(len(X), 20, replace=False)
    sums, metrics = both(X, bandwidths, sample, working_dim)
    np.testing.assert_allclose(sums[1], sums[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(metrics[1].effective, metrics[0].effective, rtol=1e-10)
    for dual in (True, False):
        dense, tiled = (departure(m.H, dual=dual) for m in metrics)
        # Where neighbors weigh 1e-6 and less, H⁻¹ is a million and more and tells rounding errors only.
        sensible = dense.mean(axis=0) < 1e6
        assert sensible.sum() >= 4
        np.testing.assert_allclose(tiled.mean(axis=0)[sensible], dense.mean(axis=0)[sensible], rtol=1e-8)
        if dual:
            np.testing.assert_allclose(tiled, dense, atol=1e-8)


@pytest.mark.parametrize("cutoff", [None, 2.5])
@pytest.mark.parametrize("renormalization", [0.0, 0.7, 1.0])
def test_cutoff_and_renormalization_mean_the_same_in_both(cutoff, renormalization):
    X = make_hourglass(900, noise=0.02, noise_dims=4, random_state=0).data
    bandwidths = np.array([0.1, 0.2, 0.2 * np.sqrt(2), 0.5, 1.3])
    sums, metrics = both(X, bandwidths, np.arange(0, 900, 20), 2, cutoff, renormalization)
    np.testing.assert_allclose(sums[1], sums[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(departure(metrics[1].H), departure(metrics[0].H), rtol=1e-9)
    np.testing.assert_allclose(metrics[1].drift, metrics[0].drift, rtol=1e-6, atol=1e-9)
    if cutoff is None:
        np.testing.assert_allclose(metrics[1].effective, metrics[0].effective, rtol=1e-10)


def test_tiles_out_of_reach_are_skipped_without_a_trace():
    # Two clusters a thousand bandwidths apart, several tiles each.
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((700, 2)), 1e4 + rng.standard_normal((700, 2))])
    sums = [engine(X).row_sums(np.array([2.0, 0.1])) for engine in (DenseEngine, TiledEngine)]
    np.testing.assert_allclose(sums[1], sums[0], rtol=1e-9, atol=1e-12)


def test_close_pairs_keep_their_digits_beside_a_far_outlier():
    X = np.vstack([make_sphere(600, random_state=0).data, [[1e6, 0.0, 0.0]]])
    sums, metrics = both(X, np.array([0.2, 0.5]), np.arange(0, 600, 30), 2)
    np.testing.assert_allclose(sums[1], sums[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(departure(metrics[1].H), departure(metrics[0].H), rtol=1e-8)


def test_row_sums_at_targets_are_those_of_all_points():
    X = make_hourglass(700, noise=0.01, random_state=0).data
    bandwidths = np.array([0.05, 0.3, 1.0])
    targets = np.array([5, 3, 699, 3])
    for engine in (DenseEngine(X), TiledEngine(X)):
        np.testing.assert_allclose(engine.row_sums(bandwidths, targets), engine.row_sums(bandwidths)[targets], rtol=1e-9)
        assert engine.nearest(targets) == pytest.approx(DenseEngine(X).nearest(targets))


def test_nearest_passes_over_duplicates():
    X = np.array([[0.0], [0.0], [1.0], [3.0]])
    for engine in (DenseEngine(X), TiledEngine(X)):
        np.testing.assert_allclose(engine.nearest(np.arange(4)), [1.0, 1.0, 1.0, 2.0])


def test_mean_distance_is_the_root_mean_square_over_pairs():
    X = np.random.default_rng(0).standard_normal((50, 4)) * 7
    pairs = [((a - b) ** 2).sum() for i, a in enumerate(X) for b in X[:i]]
    assert TiledEngine(X).mean_distance() == pytest.approx(np.sqrt(np.mean(pairs)))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_engines_agree_on_any_small_set(data):
    n, r = data.draw(st.integers(4, 30)), data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    X = rng.standard_normal((n, r))
    X[: data.draw(st.integers(0, n // 2))] = X[-1]  # duplicates
    bandwidths = np.sort(rng.uniform(0.3, 3.0, 4))
    dim = data.draw(st.integers(1, min(r, len(np.unique(X, axis=0)) - 1)))
    _, metrics = both(X, bandwidths, np.arange(n), dim)
    traces = [np.trace(m.H, axis1=2, axis2=3) for m in metrics]
    if dim == r:  # otherwise equal eigenvalues may leave the basis undetermined
        np.testing.assert_allclose(traces[1], traces[0], rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_allclose(np.median(np.abs(traces[1] - traces[0])), 0.0, atol=1e-9)


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_threads(real):
    X = real("digits")
    sample = np.arange(0, len(X), 9)
    bandwidths = np.array([30.0, 12.0, 9.0])
    results = []
    for n_jobs in (1, 2, 5):
        engine = TiledEngine(X, n_jobs=n_jobs)
        sums = engine.row_sums(bandwidths)
        results.append((sums, engine.local_metrics(sample, bandwidths, 1 + sums, working_dim=2).H))
    for sums, H in results[1:]:
        np.testing.assert_array_equal(sums, results[0][0])
        np.testing.assert_array_equal(H, results[0][1])


def test_no_matrix_of_all_pairs_is_held():
    import tracemalloc

    X = np.random.default_rng(0).standard_normal((6000, 5))
    tracemalloc.start()
    engine = TiledEngine(X)
    bandwidths = 2.0 ** (-np.arange(8) / 2)
    engine.local_metrics(np.arange(100), bandwidths, 1 + engine.row_sums(bandwidths), working_dim=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * 6000**2


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"engine": "gpu"}, "engine must be one of 'auto', 'dense', 'tiled', 'cells', 'device'; 'gpu' was given"),
        ({"cutoff": 0.0}, "cutoff must be a number above 0; 0.0 was given"),
        ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1; 0 was given"),
    ],
)
def test_wrong_engine_parameters_are_named(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_engine(np.eye(3), GraphSpec(**params))


def test_memory_does_not_grow_with_bandwidths_that_share_no_ladder():
    import tracemalloc

    X = np.random.default_rng(0).standard_normal((3000, 3))
    peaks = []
    for bandwidths in (np.geomspace(0.1, 3.0, 5), np.geomspace(0.1, 3.0, 60)):
        engine = TiledEngine(X, n_jobs=1)
        degrees = np.ones((3000, len(bandwidths)))
        tracemalloc.start()
        engine.local_metrics(np.arange(50), bandwidths, degrees, working_dim=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_equal_bandwidths_give_equal_columns():
    X = np.random.default_rng(0).standard_normal((200, 3))
    engine = TiledEngine(X)
    bandwidths = np.array([0.7, 0.5, 0.5, 0.7, 0.31])
    sums = engine.row_sums(bandwidths)
    H = engine.local_metrics(np.arange(60), bandwidths, 1 + sums, working_dim=1).H
    np.testing.assert_array_equal(H[:, 1], H[:, 2])
    np.testing.assert_allclose(
        H, DenseEngine(X).local_metrics(np.arange(60), bandwidths, 1 + sums, working_dim=1).H, rtol=1e-9
    )
