"""The search on curves made by hand; it knows no geometry."""

import numpy as np
import pytest

from geolap.search import (
    TOLERANCE,
    Curve,
    choose,
    contenders,
    local_minima,
    log_grid,
    minima_of,
    refine,
    resampled_interval,
)
from geolap.selection import Status


def values_of(function, noise=0.0, n=100, seed=0):
    """A table whose column means follow ``function`` of log ε; rows differ by a constant of their own."""
    own = noise * np.random.default_rng(seed).standard_normal(n)

    def evaluate(bandwidths):
        return function(np.log(bandwidths))[None] + own[:, None] * np.sin(np.log(bandwidths))[None]

    return evaluate


def searched(function, low=0.01, high=10.0, bound=np.inf, noise=0.0):
    evaluate = values_of(function, noise)
    grid = log_grid(low, high)
    curve = refine(Curve(grid, evaluate(grid)), evaluate)
    return curve, minima_of(curve, bound)


def test_grid_has_ratio_fourth_root_of_two_and_covers_the_range():
    grid = log_grid(0.1, 3.0)
    np.testing.assert_allclose(grid[1:] / grid[:-1], 2**0.25)
    assert grid[-1] == 3.0
    assert grid[0] <= 0.1


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([3, 2, 1, 2, 3], [2]),
        ([1, 2, 3], []),
        ([3, 1, 2, 0, 5], [1, 3]),
        ([3, 1, 1, 1, 3], [2]),
        ([1, 1, 1], []),
        ([2, 1, 1, 1], []),
        ([np.inf, np.inf, 3, 2, 4], [3]),
        ([1, 1 - 1e-15, 1, 2], []),
    ],
)
def test_local_minima_of_small_curves(scores, expected):
    assert local_minima(np.array(scores, dtype=float)) == expected


@pytest.mark.parametrize("at", [0.013, 0.1, 0.77, 3.3])
def test_a_parabola_is_refined_to_its_lowest_point(at):
    _, minima = searched(lambda x: (x - np.log(at)) ** 2 + 0.1)
    assert len(minima) == 1
    assert minima[0].bandwidth == pytest.approx(at, rel=TOLERANCE)


@pytest.mark.parametrize("at", [0.1, 0.77])
def test_a_kink_is_refined_as_well(at):
    _, minima = searched(lambda x: np.where(x < np.log(at), 3.0, 1.0) * np.abs(x - np.log(at)))
    assert minima[0].bandwidth == pytest.approx(at, rel=TOLERANCE)


def test_every_minimum_is_found_and_refined():
    period = np.log(4.0)
    _, minima = searched(lambda x: 1 - np.cos(2 * np.pi * x / period) + 0.01 * x, low=0.1, high=20.0)
    found = np.array([m.bandwidth for m in minima])
    # 1 − cos + 0.01 x has its minima where sin(2πx/p) = −0.01 p / 2π
    shift = np.arcsin(-0.01 * period / (2 * np.pi)) * period / (2 * np.pi)
    np.testing.assert_allclose(found, np.exp(np.arange(-1, 3) * period + shift), rtol=TOLERANCE)


def test_refinement_asks_for_few_points():
    asked = []
    evaluate = values_of(lambda x: (x - 0.3) ** 2)

    def counted(bandwidths):
        asked.extend(bandwidths)
        return evaluate(bandwidths)

    grid = log_grid(0.01, 10.0)
    refine(Curve(grid, evaluate(grid)), counted)
    assert len(asked) <= 6


@pytest.mark.parametrize("at", [0.3, 0.37, 0.44])
def test_a_slope_that_ends_at_a_wall_is_refined_with_few_points(at):
    asked = []
    evaluate = values_of(lambda x: np.where(x < at, 0.02 * (at - x), 5.0 * (x - at)))

    def counted(bandwidths):
        asked.extend(bandwidths)
        return evaluate(bandwidths)

    grid = log_grid(0.01, 10.0)
    curve = refine(Curve(grid, evaluate(grid)), counted)
    assert np.log(curve.bandwidths[curve.mean.argmin()]) == pytest.approx(at, abs=TOLERANCE)
    assert len(asked) <= 14


def double_well(x):
    return np.minimum((x + 1.5) ** 2 + 0.2, (x - 1.0) ** 2)


def test_rules_take_the_lowest_or_the_first_minimum():
    curve, minima = searched(double_well)
    assert np.log(choose(curve, minima, rule="global")[0]) == pytest.approx(1.0, abs=0.01)
    assert np.log(choose(curve, minima, rule="first")[0]) == pytest.approx(-1.5, abs=0.01)


def test_a_minimum_beyond_the_bound_is_reported_but_not_taken():
    curve, minima = searched(double_well, bound=1.0)
    assert [m.local for m in minima] == [True, False]
    assert np.log(choose(curve, minima, bound=1.0)[0]) == pytest.approx(-1.5, abs=0.01)


@pytest.mark.parametrize(
    ("function", "noise", "bound", "status"),
    [
        (lambda x: (x - 0.1) ** 2, 0.0, np.inf, Status.INTERIOR),
        (lambda x: np.minimum((x + 1.5) ** 2, (x - 1.0) ** 2) + 0.2, 0.0, np.inf, Status.SEVERAL),
        (lambda x: 5.0 - x, 0.0, np.inf, Status.UPPER_END),
        (lambda x: 5.0 + x, 0.0, np.inf, Status.LOWER_END),
        (lambda x: (x - 2.0) ** 2, 0.0, 1.0, Status.UPPER_END),
        (lambda x: (x - 0.3) ** 2, 0.0, 1.0, Status.AT_BOUND),
        (lambda x: np.minimum((x + 2.0) ** 2 + 1.0, 3.0 - x), 0.0, np.inf, Status.LOWER_ELSEWHERE),
        (lambda x: 5.0 - x + 0.06 * np.cos(20 * x), 9.0, np.inf, Status.UPPER_END),
        (lambda x: np.ones_like(x), 0.0, np.inf, Status.FLAT),
        (lambda x: 1.0 + 1e-3 * (x - 0.1) ** 2, 3.0, np.inf, Status.FLAT),
    ],
    ids=[
        "interior",
        "several",
        "falling",
        "rising",
        "behind the bound",
        "just behind it",
        "lower at the end",
        "ripples on a slope",
        "constant",
        "drowned in noise",
    ],
)
def test_status_says_what_kind_of_minimum_it_is(function, noise, bound, status):
    curve, minima = searched(function, bound=bound, noise=noise)
    assert choose(curve, minima, bound=bound)[1] is status


def test_every_status_is_a_sentence():
    for status in Status:
        assert str(status).endswith(".")
        assert str(status)[0].isupper()


def test_interval_holds_the_choice_and_narrows_with_more_points():
    widths = []
    for n in (30, 3000):
        rng = np.random.default_rng(1)
        centers = 0.4 + 0.5 * rng.standard_normal(n)
        grid = log_grid(0.01, 10.0)
        curve = Curve(grid, (np.log(grid)[None] - centers[:, None]) ** 2)
        minima = minima_of(curve)
        best = minima[0].bandwidth
        low, high = resampled_interval(curve, best, minima, random_state=np.random.RandomState(0))
        assert low <= best <= high
        widths.append(np.log(high / low))
    # The mean of n centers has standard error 0.5/√n.
    np.testing.assert_allclose(widths, 2 * 1.96 * 0.5 / np.sqrt([30, 3000]), rtol=0.25)


def test_interval_spans_two_wells_that_resamples_cannot_tell_apart():
    rng = np.random.default_rng(0)
    grid = log_grid(0.01, 10.0)
    tilt = 0.3 * rng.standard_normal((50, 1))
    tilt -= tilt.mean()
    x = np.log(grid)[None]
    curve = Curve(grid, np.minimum((x + 1.5) ** 2, (x - 1) ** 2) + tilt * x)
    minima = minima_of(curve)
    assert len(minima) == 2
    low, high = resampled_interval(curve, minima[1].bandwidth, minima, random_state=np.random.RandomState(0))
    assert low < np.exp(-1.3)
    assert high > np.exp(0.8)


def test_infinite_values_are_never_a_minimum():
    grid = log_grid(0.01, 10.0)
    values = np.where(grid < 0.1, np.inf, (np.log(grid) - 0.3) ** 2)[None].repeat(5, axis=0)
    curve = Curve(grid, values)
    minima = minima_of(curve)
    assert [np.log(m.bandwidth) for m in minima] == pytest.approx([0.3], abs=0.1)
    assert choose(curve, minima)[1] is Status.INTERIOR


def test_no_interval_without_a_minimum():
    grid = log_grid(0.01, 10.0)
    curve = Curve(grid, np.log(grid)[None].repeat(5, axis=0))
    assert resampled_interval(curve, grid[0], minima_of(curve), random_state=np.random.RandomState(0)) is None


def test_only_minima_that_may_be_chosen_compete():
    def evaluate(x):
        return np.tile(np.where(x < 1.0, 0.1 + np.abs(np.log(x / 0.5)), 1.0 + 0.2 * np.abs(np.log(x / 3.0))), (2, 1))

    grid = log_grid(0.05, 20.0)
    curve = Curve(grid, evaluate(grid))

    def places(**choice):
        return [float(grid[k]) for k in contenders(curve, **choice)]

    assert places() == [pytest.approx(0.5, rel=0.1)]
    assert places(rule="first") == [pytest.approx(0.5, rel=0.1), pytest.approx(3.0, rel=0.1)]
    assert places(rule="first", bound=1.0) == [pytest.approx(0.5, rel=0.1)]


def test_minima_within_noise_of_the_lowest_compete():
    rng = np.random.default_rng(0)
    grid = log_grid(0.05, 20.0)
    curve = np.minimum(np.abs(np.log(grid / 0.2)), 0.2 + np.abs(np.log(grid / 5.0)))
    quiet = Curve(grid, curve + 1e-3 * rng.standard_normal((30, len(grid))))
    noisy = Curve(grid, curve + 0.5 * np.repeat([[1.0], [-1.0]], 15, axis=0) * (grid > 1.0))
    assert len(contenders(quiet)) == 1
    assert len(contenders(noisy)) == 2


def test_columns_with_fewer_rows_are_compared_in_the_rows_that_both_have():
    rng = np.random.default_rng(0)
    level = rng.standard_normal((100, 1))  # common to all columns of a row
    values = level + np.array([0.3, 0.1, 0.0, 0.2])
    values[20:, [0, 3]] = np.nan
    curve = Curve(np.array([1.0, 2.0, 4.0, 8.0]), values)
    np.testing.assert_array_equal(curve.rows, [20, 100, 100, 20])
    np.testing.assert_allclose(curve.mean - level.mean(), [0.3, 0.1, 0.0, 0.2], atol=1e-12)
    more = curve.joined(Curve(np.array([2.0, 8.0]), level + np.array([0.1, 0.2])))
    np.testing.assert_array_equal(more.rows, [20, 100, 100, 100])
    isolated = Curve(np.array([1.0, 2.0]), np.where(np.arange(10)[:, None] < [2, 0], np.inf, 1.0))
    np.testing.assert_array_equal(isolated.mean, [np.inf, 1.0])


def test_a_sparing_refinement_asks_once():
    asked = []

    def evaluate(x):
        asked.append(len(x))
        return np.log(x / 0.7)[None].repeat(2, axis=0) ** 2

    grid = log_grid(0.05, 20.0)
    found = refine(Curve(grid, np.log(grid / 0.7)[None].repeat(2, axis=0) ** 2), evaluate, sparing=True)
    assert asked == [1]
    assert found.bandwidths[found.mean.argmin()] == pytest.approx(0.7, rel=0.01)
