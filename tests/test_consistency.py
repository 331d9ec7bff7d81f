"""The distortion: the authors' values, and what must not change it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

import geolap
from geolap.datasets import make_hourglass, make_sphere
from geolap.engines import make_engine
from geolap.metric import departure

seeds = st.integers(0, 10_000)


def cloud(seed, n=60, r=4):
    """A curved surface with some noise: no equal eigenvalues, no special position."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1, 1, (n, 2)) * [1.0, 0.7]
    X = np.column_stack([u, (u**2).sum(axis=1), np.zeros((n, r - 3))])
    return X + 0.05 * rng.standard_normal((n, r))


def test_agrees_with_the_authors_code(oracle):
    for engine in ("tiled", "dense"):
        curve = geolap.distortion(
            oracle["points"],
            oracle["bandwidths"],
            working_dim=int(oracle["working_dim"]),
            sample=oracle["sample"],
            cutoff=3.0,
            engine=engine,
        )
        np.testing.assert_allclose(curve.mean, oracle["distortion"], rtol=1e-9)


def test_without_cutoff_the_authors_values_are_close(oracle):
    curve = geolap.distortion(
        oracle["points"], oracle["bandwidths"], working_dim=int(oracle["working_dim"]), sample=oracle["sample"]
    )
    np.testing.assert_allclose(curve.mean, oracle["distortion"], rtol=5e-3)


def test_mean_is_over_the_evaluation_points():
    X = cloud(0)
    curve = geolap.distortion(X, [0.3, 0.6], sample=[3, 5, 8])
    whole = geolap.distortion(X, [0.3, 0.6])
    assert curve.per_point.shape == (3, 2)
    np.testing.assert_allclose(curve.per_point, whole.per_point[[3, 5, 8]], rtol=1e-9)
    np.testing.assert_allclose(curve.mean, curve.per_point.mean(axis=0))
    np.testing.assert_array_equal(curve.sample, [3, 5, 8])


def test_squared_averages_the_squares():
    X = cloud(1)
    plain, squared = (geolap.distortion(X, 0.5, squared=s).per_point for s in (False, True))
    np.testing.assert_allclose(squared, plain**2)


def test_drift_joins_the_departure_in_units_of_the_data():
    X = cloud(1)
    engine = make_engine(X)
    bandwidths = np.array([0.3, 0.7])
    local = engine.local_metrics(np.arange(len(X)), bandwidths, 1 + engine.row_sums(bandwidths), working_dim=2)
    length = engine.mean_distance() / np.sqrt(2)
    expected = np.hypot(departure(local.H), 0.5 * length * 2 / bandwidths * local.drift)
    np.testing.assert_allclose(geolap.distortion(X, bandwidths, working_dim=2, drift=0.5).per_point, expected, rtol=1e-9)
    np.testing.assert_allclose(
        geolap.distortion(3 * X, 3 * bandwidths, working_dim=2, drift=0.5).per_point, expected, rtol=1e-7
    )


@pytest.mark.slow
def test_weighing_the_drift_chooses_a_larger_bandwidth_that_suits_pointwise_values():
    X = make_sphere(800, noise=0.02, noise_dims=3, random_state=0)
    eps = [geolap.GeometricConsistency(working_dim=2, drift=w, random_state=0).fit(X.data).bandwidth_ for w in (0.0, 1.0)]
    assert eps[1] > 1.2 * eps[0]
    # Δx = −2x on the sphere.
    x = X.clean[:, :3]
    off = [np.linalg.norm(geolap.GraphLaplacian(e).fit(X.data).laplacian_ @ x + 2 * x) for e in eps]
    assert off[1] < 0.7 * off[0]


def test_inverse_of_one_direction_is_the_reciprocal():
    X = cloud(2)
    engine = geolap.engines.make_engine(X)
    H = engine.local_metrics(np.arange(60), [0.5], 1 + engine.row_sums([0.5]), working_dim=1).H[:, 0, 0, 0]
    np.testing.assert_allclose(geolap.distortion(X, 0.5, dual=False).per_point[:, 0], np.abs(1 / H - 1))


@settings(max_examples=25, deadline=None)
@given(seeds, st.floats(-300, 300))
def test_scale_changes_nothing_but_the_unit(seed, exponent):
    X = cloud(seed)
    c = 2.0 ** (exponent / 2)
    one = geolap.distortion(X, [0.2, 0.5, 1.1], working_dim=2)
    other = geolap.distortion(c * X, c * np.array([0.2, 0.5, 1.1]), working_dim=2)
    np.testing.assert_allclose(other.per_point, one.per_point, rtol=1e-7)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_rigid_motions_change_nothing(seed):
    X = cloud(seed)
    rotation = ortho_group.rvs(4, random_state=seed)
    moved = X @ rotation + np.random.default_rng(seed).standard_normal(4) * 10
    one, other = (geolap.distortion(points, [0.2, 0.5, 1.1], working_dim=2).per_point for points in (X, moved))
    np.testing.assert_allclose(other, one, rtol=1e-6)


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 40))
def test_zero_columns_change_nothing(seed, n_columns):
    X = cloud(seed)
    padded = np.hstack([X, np.full((len(X), n_columns), 3.0)])
    one, other = (geolap.distortion(points, [0.2, 0.5, 1.1], working_dim=2).per_point for points in (X, padded))
    np.testing.assert_allclose(other, one, rtol=1e-6)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_a_permutation_permutes(seed):
    X = cloud(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    one, other = (geolap.distortion(points, [0.2, 0.5, 1.1]).per_point for points in (X, X[order]))
    np.testing.assert_allclose(other, one[order], rtol=1e-8)


@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from([4, 40]))
def test_fewer_directions_give_the_leading_block_of_h(seed, r):
    # Proposition 2 of the paper, on both ways to find tangents.
    X = cloud(seed, r=r)
    engine = geolap.engines.make_engine(X)
    bandwidths = np.array([0.3, 0.8])
    degrees = 1 + engine.row_sums(bandwidths)
    H = {d: engine.local_metrics(np.arange(20), bandwidths, degrees, working_dim=d).H for d in (1, 2, 3)}
    np.testing.assert_allclose(H[3][..., 0, 0], H[1][..., 0, 0], rtol=1e-6)
    np.testing.assert_allclose(np.abs(H[3][..., :2, :2]), np.abs(H[2]), rtol=1e-5, atol=1e-6)


def test_an_isolated_point_counts_with_one_and_is_not_dropped():
    X = np.vstack([make_sphere(100, random_state=0).data, [[50.0, 0, 0]]])
    curve = geolap.distortion(X, [0.5], sample=[0, 100])
    assert curve.per_point[1, 0] == 1.0
    assert curve.mean[0] == pytest.approx((curve.per_point[0, 0] + 1.0) / 2)
    assert np.isinf(geolap.distortion(X, [0.5], sample=[100], dual=False).mean[0])


def test_every_distortion_is_one_when_the_bandwidth_vanishes_or_explodes():
    X = cloud(3)
    for extreme in (1e-200, 1e-20, 1e20, 1e200):
        np.testing.assert_allclose(geolap.distortion(X, extreme, working_dim=2).mean, 1.0)


def test_duplicates_are_points_like_any_other():
    X = cloud(4)
    doubled = np.vstack([X, X[:20], X[:5]])
    for r in (4, 30):
        points = np.hstack([doubled, np.zeros((len(doubled), r - 4))])
        tiled, dense = (
            geolap.distortion(points, [0.1, 0.4, 1.0], working_dim=2, engine=e).per_point for e in ("tiled", "dense")
        )
        assert np.isfinite(tiled).all()
        np.testing.assert_allclose(tiled, dense, rtol=1e-7)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(np.float32),
        np.asfortranarray,
        lambda X: X[::-1][::-1],
        lambda X: (1000 * X).astype(np.int64) / 1000,
        lambda X: np.hstack([X, X])[:, :4],
        lambda X: X.tolist(),
    ],
    ids=["float32", "fortran", "negative strides", "rounded", "view", "lists"],
)
def test_any_kind_of_array_gives_the_same(change):
    X = cloud(5)
    expected = geolap.distortion(X, [0.5, 1.0]).mean
    np.testing.assert_allclose(geolap.distortion(change(X), [0.5, 1.0]).mean, expected, rtol=5e-3)


def test_integers_read_only_and_memory_mapped_arrays_work_and_stay_as_they_are(tmp_path):
    X = (100 * cloud(6)).astype(np.int16)
    np.save(tmp_path / "points.npy", X)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    X.setflags(write=False)
    before = X.copy()
    one, other = (geolap.distortion(points, [40.0, 80.0]).mean for points in (X, mapped))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("magnitude", [1e-150, 1e-30, 1e30, 1e150])
def test_any_magnitude_works(magnitude):
    X = cloud(7)
    expected = geolap.distortion(X, [0.3, 0.9], working_dim=2).mean
    np.testing.assert_allclose(
        geolap.distortion(X * magnitude, np.array([0.3, 0.9]) * magnitude, working_dim=2).mean, expected, rtol=1e-9
    )


def test_the_sample_is_reproducible_and_random():
    X = make_hourglass(300, random_state=0).data
    a, b, c = (geolap.distortion(X, 0.4, n_sample=50, random_state=s).sample for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert set(a) != set(c)
    assert len(set(a)) == 50


def test_effective_neighbors_run_from_one_to_all():
    curve = geolap.distortion(cloud(8), [1e-3, 1e3])
    np.testing.assert_allclose(curve.effective_neighbors, np.broadcast_to([1.0, 60.0], (60, 2)), rtol=1e-4)


@pytest.mark.slow
def test_safe_to_call_from_several_threads():
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info, threadpool_limits

    X = make_hourglass(900, noise=0.01, noise_dims=20, random_state=0).data
    with threadpool_limits(2, user_api="blas"):
        settings = {"n_sample": 60, "random_state": 0}
        expected = geolap.distortion(X, [0.2, 0.5], **settings).per_point
        with ThreadPoolExecutor(4) as pool:
            runs = list(pool.map(lambda _: geolap.distortion(X, [0.2, 0.5], **settings).per_point, range(8)))
        after = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
    for run in runs:
        np.testing.assert_array_equal(run, expected)
    assert set(after) <= {2}  # none is seen where BLAS is Accelerate
