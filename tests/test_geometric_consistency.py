"""GC on the data of the paper, and as an estimator."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import geolap
from geolap import GeometricConsistency, Status, select_bandwidth
from geolap.datasets import make_dome, make_hourglass, make_sphere
from geolap.least_distortion import _Between


@parametrize_with_checks(
    [GeometricConsistency(n_sample=20, random_state=0)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": "a weight of zero is refused" for kind in ("dense", "sparse")
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def chosen(X, **params):
    return select_bandwidth(X, random_state=0, **params)


@pytest.fixture(scope="module")
def by_default(real):
    """The selection on a benchmark set without any setting, made once."""
    return cache(lambda name: chosen(real(name)))


def local_minima(selection):
    return [m.bandwidth for m in selection.minima if m.local]


# Bandwidths within 5 % of spec section 3 (dense, N' = 200, a grid of 50), which reproduces the paper's table 1.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "params", "low", "high"),
    [
        ("digit1", {}, 0.74, 0.80),
        ("digit1", {"working_dim": 2, "n_sample": 50}, 0.78 * 0.95, 0.78 * 1.05),
        ("digit1", {"working_dim": 3, "n_sample": 50}, 0.78 * 0.95, 0.78 * 1.05),
        ("digit1", {"dual": False, "n_sample": 50}, 0.82 * 0.95, 0.82 * 1.05),
        ("g241c", {}, 6.7, 7.4),
        ("g241d", {}, 6.7, 7.4),
        ("g241c", {"dual": False, "n_sample": 50}, 7.19 * 0.95, 7.19 * 1.05),
        ("g241c", {"dual": False, "working_dim": 2, "n_sample": 50}, 9.81 * 0.95, 9.81 * 1.05),
        ("g241c", {"dual": False, "working_dim": 3, "n_sample": 50}, 9.22 * 0.95, 9.22 * 1.05),
        ("g241d", {"dual": False, "working_dim": 2, "n_sample": 50}, 9.22 * 0.95, 9.22 * 1.05),
        ("g241d", {"dual": False, "working_dim": 3, "n_sample": 50}, 9.81 * 0.95, 9.81 * 1.05),
        ("bci", {}, 3.71 * 0.95, 3.71 * 1.05),
        ("usps", {}, 2.16 * 0.95, 2.16 * 1.05),
        ("usps", {"working_dim": 2, "n_sample": 100}, 2.16 * 0.95, 2.16 * 1.05),
    ],
)
def test_bandwidth_of_the_benchmark_sets(real, by_default, name, params, low, high):
    selection = chosen(real(name), **params) if params else by_default(name)
    assert low <= selection.bandwidth <= high


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digit1", "usps", "coil", "bci", "g241c", "g241d"])
def test_benchmark_sets_keep_one_direction_and_its_bandwidth(real, by_default, name):
    n_sample = {"usps": 200, "bci": 500}.get(name, 100)
    plain = GeometricConsistency(working_dim=1, n_sample=n_sample, random_state=1).fit(real(name))
    found = by_default(name)
    assert found.details["working_dim"] == 1
    assert found.bandwidth == pytest.approx(plain.bandwidth_, rel=0.04)


@pytest.mark.slow
def test_usps_has_a_fine_and_a_coarse_scale_and_an_artifact_that_is_not_taken(real):
    selection = chosen(real("usps"), n_sample=200)
    assert local_minima(selection) == [pytest.approx(1.1, rel=0.05), pytest.approx(2.16, rel=0.05)]
    artifact = selection.minima[-1]
    assert not artifact.local
    assert artifact.score < min(m.score for m in selection.minima[:-1])
    everything = chosen(real("usps"), n_sample=200, max_share=1.0)
    assert everything.bandwidth == pytest.approx(artifact.bandwidth, rel=0.02)


@pytest.mark.slow
def test_bandwidth_falls_with_the_number_of_points_and_grows_with_noise():
    @cache
    def mean_bandwidth(make, n, noise, working_dim=2):
        return np.mean(
            [
                chosen(
                    make(n, noise=noise, noise_dims=10, random_state=s).data, working_dim=working_dim, n_sample=100
                ).bandwidth
                for s in range(2)
            ]
        )

    for make in (make_hourglass, make_dome):
        by_size = [mean_bandwidth(make, n, 0.001) for n in (250, 500, 1000, 2000)]
        assert by_size == sorted(by_size, reverse=True)
        assert mean_bandwidth(make, 1000, 0.1) > 1.5 * mean_bandwidth(make, 1000, 0.001)
        one, two = (mean_bandwidth(make, 2000, 0.001, d) for d in (1, 2))
        assert two < one < 2.5 * two


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-3, 7.0])
def test_bandwidth_scales_with_the_data(factor):
    X = make_hourglass(400, noise=0.01, noise_dims=3, random_state=1).data
    one, other = chosen(X), chosen(factor * X)
    assert other.bandwidth == pytest.approx(factor * one.bandwidth, rel=1e-6)
    assert other.interval == pytest.approx(tuple(factor * v for v in one.interval), rel=1e-6)


def test_the_minimum_of_up_to_a_thousand_points_does_not_depend_on_chance():
    X = make_sphere(700, noise=0.02, noise_dims=5, random_state=0).data
    found = [geolap.select_bandwidth(X, random_state=seed) for seed in range(3)]
    assert {len(selection.details["sample"]) for selection in found} == {700}
    assert np.ptp([selection.bandwidth for selection in found]) < 0.005 * found[0].bandwidth  # the tolerance of the search


@pytest.mark.slow
def test_same_seed_same_answer_whatever_the_threads():
    X = make_sphere(700, noise=0.01, noise_dims=30, random_state=0).data
    a, b = (chosen(X, n_jobs=t, n_sample=120) for t in (1, 3))
    assert a.bandwidth == b.bandwidth
    assert a.interval == b.interval
    np.testing.assert_array_equal(a.scores, b.scores)


@pytest.mark.slow
def test_refined_scores_are_those_of_the_distortion(real, by_default):
    for name in ("digit1", "digits"):
        selection = by_default(name)
        exact = geolap.distortion(real(name), selection.bandwidths, sample=selection.details["sample"])
        np.testing.assert_allclose(selection.scores, exact.mean, rtol=1e-3)
        scanned = np.isin(selection.bandwidths, selection.details["scanned"])
        np.testing.assert_allclose(selection.scores[scanned], exact.mean[scanned], rtol=1e-8)


@pytest.mark.slow
def test_minima_beyond_the_bound_are_not_refined(real):
    selection = chosen(real("digit1"), working_dim=2, n_sample=50)
    assert any(not m.local for m in selection.minima)
    beyond = selection.bandwidths > np.sqrt(2) * selection.bound
    assert np.isin(selection.bandwidths[beyond], selection.details["scanned"]).all()


def test_interpolated_sums_stay_between_their_neighbors():
    X = np.vstack([make_sphere(200, random_state=0).data, [[1e3, 0, 0]]])
    engine = geolap.engines.make_engine(X)
    grid = 2.0 ** np.arange(-4, 6, 0.25)
    new = grid[1:] / 2**0.1
    between = _Between(grid, engine.row_sums(grid))(new)
    exact = engine.row_sums(new)
    np.testing.assert_allclose(1 + between, 1 + exact, rtol=0.02)


def test_selection_reports_the_curve_and_its_minima():
    X = make_sphere(500, random_state=0).data
    gc = GeometricConsistency(working_dim=2, random_state=0).fit(X)
    s = gc.selection_
    assert gc.bandwidth_ == s.bandwidth
    assert s.method == "gc"
    assert s.status is Status.INTERIOR
    assert s.bandwidths.shape == s.scores.shape
    assert (np.diff(s.bandwidths) > 0).all()
    assert s.bandwidth in s.bandwidths
    low, high = s.interval
    assert low <= s.bandwidth <= high
    assert s.bandwidth < s.bound < s.bandwidths[-1]
    assert f"{s.bandwidth:.4g}" in s.explain()
    assert str(s.status) in s.explain()
    assert GeometricConsistency(dual=False, random_state=0).fit(X).selection_.method == "gc_inverse"


def test_duplicates_do_not_drag_the_range_to_zero():
    X = make_sphere(400, random_state=0).data
    once, twice = chosen(X), chosen(np.repeat(X, 2, axis=0))
    assert twice.bandwidths[0] > 0.3 * once.bandwidths[0]
    assert 0.5 < twice.bandwidth / once.bandwidth < 2.0


def test_one_far_outlier_does_not_hide_the_scale():
    X = make_sphere(400, random_state=0).data
    with_outlier = np.vstack([X, [[1e5, 0.0, 0.0]]])
    assert chosen(with_outlier, working_dim=2).bandwidth == pytest.approx(chosen(X, working_dim=2).bandwidth, rel=0.15)


def test_points_of_a_lattice_have_a_status():
    grid = np.array(np.meshgrid(*[np.arange(6)] * 3)).reshape(3, -1).T.astype(float)
    selection = chosen(grid)
    assert isinstance(selection.status, Status)
    assert np.isfinite(selection.bandwidth)


def test_pairs_of_points_far_from_each_other_fall_apart():
    rng = np.random.default_rng(0)
    centers = rng.uniform(0, 1e4, (60, 2))
    X = np.vstack([centers, centers + rng.uniform(0.5, 1.5, (60, 2)), rng.uniform(0, 1e4, (30, 2))])
    assert chosen(X).status in (Status.FALLS_APART, Status.SEVERAL, Status.FLAT)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_handful_of_points_gets_an_answer(n):
    X = np.random.default_rng(n).standard_normal((n, 2))
    selection = chosen(X)
    assert selection.bandwidth > 0
    assert np.isfinite(selection.scores).all()


def test_pandas_frames_pickling_and_cloning():
    X = pd.DataFrame(make_sphere(150, random_state=0).data, columns=["x", "y", "z"])
    gc = GeometricConsistency(random_state=0).fit(X)
    np.testing.assert_array_equal(gc.feature_names_in_, ["x", "y", "z"])
    assert pickle.loads(pickle.dumps(gc)).bandwidth_ == gc.bandwidth_
    assert clone(gc).fit(X).bandwidth_ == gc.bandwidth_


def test_inputs_are_not_modified():
    X = make_sphere(150, random_state=0).data
    before = X.copy()
    GeometricConsistency(random_state=0).fit(X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.slow
@pytest.mark.parametrize("distance", [1e9, 1e16, 1e17])
def test_an_outlier_however_far_leaves_the_others_their_digits(distance):
    X = np.random.default_rng(0).standard_normal((300, 3))
    Z = X.copy()
    Z[0] = distance
    sample = np.arange(2, 40)
    np.testing.assert_allclose(
        geolap.distortion(Z, [0.5, 1.0, 2.0], sample=sample).per_point,
        geolap.distortion(X[1:], [0.5, 1.0, 2.0], sample=sample - 1).per_point,
        rtol=1e-7,
    )
    assert chosen(Z).bandwidth == pytest.approx(chosen(X).bandwidth, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 1000])
def test_a_cloud_in_the_plane_is_resolved_whether_its_minimum_is_at_the_bound_or_within(n):
    statuses = set()
    for seed in range(4):
        selection = chosen(np.random.default_rng(seed).standard_normal((n, 2)))
        assert selection.trusted
        assert selection.details["working_dim"] == 2
        assert selection.bandwidth == selection.bound or selection.status is not Status.AT_BOUND
        statuses.add(selection.status)
    assert Status.AT_BOUND in statuses
    assert statuses <= {Status.AT_BOUND, Status.INTERIOR}


def test_noise_at_tiny_bandwidths_is_not_taken_for_a_scale():
    X = np.random.default_rng(12).standard_normal((300, 1))
    assert chosen(X).bandwidth > 0.01


def test_interval_never_leaves_the_bound():
    for seed in range(6):
        selection = select_bandwidth(np.random.default_rng(seed).standard_normal((200, 4)), n_sample=100, random_state=seed)
        assert selection.interval is None or selection.interval[1] <= selection.bound


def test_with_a_cutoff_refined_scores_are_exact():
    X = np.stack(np.meshgrid(np.arange(15.0), np.arange(15.0)), -1).reshape(-1, 2)
    X += 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    selection = chosen(X, working_dim=1, n_sample=200, cutoff=1.5)
    exact = geolap.distortion(X, selection.bandwidths, sample=selection.details["sample"], cutoff=1.5)
    np.testing.assert_allclose(selection.scores, exact.mean, rtol=1e-8)


@pytest.mark.slow
def test_near_duplicates_make_two_scales():
    X = make_sphere(200, random_state=0).data
    doubled = np.repeat(X, 2, axis=0) + 1e-9 * np.random.default_rng(0).standard_normal((400, 3))
    selection = chosen(doubled, n_sample=None)
    assert selection.status is not Status.INTERIOR or selection.bandwidth > 0.05


def test_distances_below_floating_point_are_refused_in_a_sentence():
    X = np.random.default_rng(0).integers(-9, 9, (100, 2)) * 5e-324
    with pytest.raises(ValueError, match=r"must be within floating-point range; they range from .*: rescale the data"):
        chosen(X)


def test_the_largest_numbers_work():
    X = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    assert chosen(1e308 * X).bandwidth == pytest.approx(1e308 * chosen(X).bandwidth, rel=1e-6)
