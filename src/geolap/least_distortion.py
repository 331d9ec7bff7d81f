"""The bandwidth of least distortion: the whole of GC and GC⁻¹, for a given engine and evaluation points.

.. math:: \\hat ε = \\arg\\min_ε D(ε)

(equation 8 of the paper) within the range from ε_min, where nearly all points have lost their neighbors, to ε_max, the root
mean square distance, and below the bound on locality: scan, decide how many directions are compared, ask as many evaluation
points as the decision needs where minima compete, refine, choose.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from .consistency import Consistency, DistortionCurve
from .data.multiplicity import quantile_of, total_of, weights_at
from .engines import LocalMetrics
from .neighborhoods import Neighborhoods
from .runtime.caching import cached_property
from .search import (
    ROUGH_TOLERANCE,
    STEPS_PER_OCTAVE,
    TOLERANCE,
    Curve,
    choose,
    contenders,
    minima_of,
    refine,
    resampled_choices,
    resampled_interval,
)
from .search_range import MAX_SHARE, falls_apart, locality_bound, search_grid
from .selection import TURNING, Selection, Status

__all__ = ["least_distortion"]

# Evaluation points are enough when 95 % of resamples choose within this factor of one another, or lose no more than this
# share of D by their choice.
_PRECISE, _LOSS = 1.1, 0.003
# Share of the resamples that the interval holds; more where they decided when to stop, which made them agree by chance.
_LEVEL, _LEVEL_STOPPED = 0.95, 0.99
# Their number grows at least by the first factor, to see whether a minimum is one by the second, at most by the third.
_LEAST_MORE, _MORE_TO_SEE, _MOST_MORE = 1.5, 2.0, 8.0
# Of no more points than this, all are asked there: the minimum does not depend on chance, and hardly takes longer.
_SO_FEW = 1000
# Where a scan takes seconds, and longer in more directions, so many evaluation points first tell how many will be compared.
_FORETELLING = 10
# Where minima compete, bandwidths are evaluated in as many steps for each of the scan, unless that costs much.
_FINER = 3
_ANYWHERE = (0.0, np.inf)


def least_distortion(
    problem: Consistency,
    n_points: float,
    *,
    n_first: int | None = None,
    neighborhoods: Callable[[float], Neighborhoods] | None = None,
    any_directions: bool = False,
    rule: str = "global",
    max_share: float = MAX_SHARE,
    smooth_sums: bool = True,
    random_state: np.random.RandomState,
) -> Selection:
    """Choose ε by the curve D(ε) of the problem.

    Parameters
    ----------
    problem : Consistency
        Its sample holds the evaluation points in the order in which they are asked.
    n_points : float
        N, of which the evaluation points are a sample; their weights together, if points have weights.
    n_first : int, optional
        Evaluation points in the scan; the others are asked only where minima compete.  By default all are in the scan.
    neighborhoods : callable, optional
        What neighborhoods are like at a bandwidth.
    any_directions : bool
        Compare as many directions as the neighborhoods have at ε̂, instead of those of the problem.
    rule : {"global", "first"}
    max_share : float
        Bound on locality.
    smooth_sums : bool
        Whether row sums vary smoothly with ε, so that they may be interpolated during refinement.  With a cut-off they
        jump; over few pairs there is no need to.
    random_state : RandomState
        Draws the resamples behind the interval.
    """
    engine, n_first = problem.engine, n_first or len(problem.sample)
    first = problem.sample[:n_first]
    nearest = engine.nearest(first)
    weights = weights_at(engine.multiplicity, first)
    bandwidths = search_grid(engine, nearest, n_points, weights)
    values = _Values(problem, bandwidths, smooth_sums)
    if any_directions and neighborhoods is not None:
        values.at_once = _at_once(problem, values, bandwidths, neighborhoods, n_points, max_share)
    scan = values.scan(first, bandwidths, problem)
    share = quantile_of(scan.effective_neighbors, 0.5, weights) / n_points
    bound = locality_bound(bandwidths, scan.effective_neighbors, n_points, max_share, weights)
    if any_directions and neighborhoods is not None:
        problem, scan = _directions(problem, scan, values, neighborhoods, rule=rule, bound=bound)
        values.problem = problem
    curve = Curve(bandwidths, scan.per_point, weights)
    if n_first < len(problem.sample):
        curve = _asked(curve, values, rule=rule, bound=bound, random_state=random_state)
    sparing = n_first < len(problem.sample) or engine.estimates
    rivals = contenders(curve, rule=rule if sparing else "first", bound=bound)  # all within the bound, unless work is saved
    sample = problem.sample[: len(curve.values)]

    def refined(new: np.ndarray) -> np.ndarray:
        return values.at(sample, new).per_point

    tolerance = ROUGH_TOLERANCE if engine.estimates else TOLERANCE
    # Where many points were asked, the grid is fine already.
    curve = refine(curve, refined, rivals, tolerance=tolerance, sparing=engine.estimates or len(sample) > n_first)
    minima = tuple(
        replace(m, share=float(np.interp(np.log(m.bandwidth), np.log(bandwidths), share))) for m in minima_of(curve, bound)
    )
    bandwidth, status = choose(curve, minima, rule=rule, bound=bound)
    if status in (Status.AT_BOUND, Status.UPPER_END):  # that end is the bound itself
        bandwidth = bound
        curve = curve.joined(Curve(np.array([bound]), refined(np.array([bound]))))
    everyone = math.isclose(total_of(curve.weights, len(sample)), n_points)
    level = _LEVEL if everyone or n_first == len(problem.sample) else _LEVEL_STOPPED
    interval = resampled_interval(curve, bandwidth, minima, rule=rule, bound=bound, random_state=random_state, level=level)
    if interval is not None:  # minima are known to the tolerance only
        low, high = interval
        interval = (
            min(low, bandwidth * math.exp(-tolerance)),
            min(max(high, bandwidth * math.exp(tolerance)), max(bound, bandwidth)),
        )
    if interval is not None and status is Status.INTERIOR:
        low, high = interval
        if sum(m.clear and low <= m.bandwidth <= high for m in minima) > 1:
            status = Status.SEVERAL
    if status in TURNING and falls_apart(nearest, bandwidth, weights):
        status = Status.FALLS_APART
    return Selection(
        bandwidth=bandwidth,
        bandwidths=curve.bandwidths,
        scores=curve.mean,
        minima=minima,
        interval=interval,
        status=status,
        method="gc" if problem.dual else "gc_inverse",
        bound=bound,
        neighborhoods=None if neighborhoods is None else neighborhoods(bandwidth),
        details={
            "working_dim": problem.working_dim,
            "any_directions": any_directions,
            "scanned": bandwidths,
            "share": share,
            "sample": sample,
            "n_points": n_points,
            "everyone": everyone,
            "per_point": curve.values,
            "effective_neighbors": scan.effective_neighbors,
            "degree_error": scan.degree_error,
            "weights": curve.weights,
        },
    )


def _at_once(
    problem: Consistency,
    values: "_Values",
    bandwidths: np.ndarray,
    neighborhoods: Callable[[float], Neighborhoods],
    n_points: float,
    max_share: float,
) -> int:
    """How many directions the scan should find: those that will be compared, to judge by the choice of a few points."""
    if problem.drift or not problem.engine.scans_long:
        return values.at_once
    few = values.scan(problem.sample[:_FORETELLING], bandwidths, problem)
    bound = locality_bound(bandwidths, few.effective_neighbors, n_points, max_share, few.weights)
    minima = minima_of(Curve(bandwidths, few.per_point, few.weights), bound)
    lowest = min((m for m in minima if m.local), key=lambda m: m.score, default=None)
    return 1 if lowest is None else neighborhoods(lowest.bandwidth).directions or 1


def _directions(
    problem: Consistency,
    scan: DistortionCurve,
    values: "_Values",
    neighborhoods: Callable[[float], Neighborhoods],
    *,
    rule: str,
    bound: float,
) -> tuple[Consistency, DistortionCurve]:
    """The problem with as many directions as neighborhoods have at its own ε̂, and its scan; as it is if there is none.

    From the minima of one direction, the lowest first, and from the bound: compare as many directions as most points see
    there, choose again, and look again, until what they see is what was compared.
    """
    curve = Curve(scan.bandwidths, scan.per_point, scan.weights)
    minima = sorted((m for m in minima_of(curve, bound) if m.local), key=lambda m: m.score)
    tried = {1}
    for start in [*(m.bandwidth for m in minima), bound]:
        seen = neighborhoods(start).directions
        while seen is not None and seen not in tried:
            tried.add(seen)
            more = replace(problem, working_dim=seen)
            found = values.scan(scan.sample, scan.bandwidths, more)
            again = Curve(scan.bandwidths, found.per_point, scan.weights)
            bandwidth, status = choose(again, minima_of(again, bound), rule=rule, bound=bound)
            there = neighborhoods(bandwidth)
            if status in TURNING and more.working_dim in (there.vote, there.directions):
                return more, found
            seen = there.directions if status in TURNING else None
        if seen == 1:
            break
    return problem, scan


def _asked(curve: Curve, values: "_Values", *, rule: str, bound: float, random_state: np.random.RandomState) -> Curve:
    """The scan with values around its competing minima, at as many evaluation points as it takes to decide."""
    scanned, sample, n = curve.bandwidths, values.problem.sample, len(curve.values)
    steps, span = 1 if values.problem.engine.estimates else _FINER, _ANYWHERE
    while True:
        rivals = contenders(curve, rule=rule, bound=bound)
        if not rivals:
            return curve
        around = _around(scanned, curve.bandwidths[rivals], steps)
        some = _enclosing(around, span)
        curve = values.filled(curve, some, sample[:n])
        needed, span = _needed(curve, rule=rule, bound=bound, random_state=random_state)
        if span == _ANYWHERE and len(some) < len(around):
            continue  # the range was too narrow
        needed = len(sample) if len(sample) <= _SO_FEW else min(needed, len(sample))
        if needed <= n:
            return curve
        n = needed


def _around(scanned: np.ndarray, minima: np.ndarray, steps: int) -> np.ndarray:
    """Bandwidths up to two scanned steps on both sides of some minima, the inner steps divided into so many."""
    places = steps * np.abs(np.log(scanned[:, None] / minima)).argmin(axis=0)[:, None]
    chosen = np.union1d(places + steps * np.arange(-2, 3), places + np.arange(-steps, steps + 1))
    chosen = chosen[(chosen >= 0) & (chosen <= steps * (len(scanned) - 1))]
    return scanned[chosen // steps] * 2.0 ** (chosen % steps / (steps * STEPS_PER_OCTAVE))


def _enclosing(bandwidths: np.ndarray, span: tuple[float, float]) -> np.ndarray:
    """Those within a range, and two on both sides of it."""
    first, last = np.searchsorted(bandwidths, span)
    return bandwidths[max(first - 2, 0) : last + 2]


def _needed(
    curve: Curve, *, rule: str, bound: float, random_state: np.random.RandomState
) -> tuple[int, tuple[float, float]]:
    """How many evaluation points the decision needs, to judge by those it has, and the range that they decide within."""
    n = len(curve.values)
    minima = minima_of(curve, bound)
    bandwidth, _ = choose(curve, minima, rule=rule, bound=bound)
    score = next((m.score for m in minima if m.bandwidth == bandwidth), -np.inf)
    if any(m.local and not m.clear and m.score < score for m in minima):
        return int(_MORE_TO_SEE * n), _ANYWHERE  # a lower minimum that is within noise: is it one?
    chosen = resampled_choices(curve, bandwidth, minima, rule=rule, random_state=random_state)
    if chosen is None:
        return n, _ANYWHERE
    low, high = np.quantile(chosen, [0.025, 0.975])
    full = curve.rows == n
    D = np.interp(np.log(chosen), np.log(curve.bandwidths[full]), curve.mean[full])
    loss = np.quantile(D, 0.95) / np.interp(np.log(bandwidth), np.log(curve.bandwidths[full]), curve.mean[full]) - 1.0
    times = min((np.log(high / low) / np.log(_PRECISE)) ** 2, loss / _LOSS)
    more = 1.0 if times <= 1.0 else np.clip(times, _LEAST_MORE, _MOST_MORE)
    return int(np.ceil(n * more)), (chosen.min(), chosen.max())


class _Values:
    """D at some evaluation points and bandwidths, with the row sums that it needs computed once."""

    def __init__(self, problem: Consistency, bandwidths: np.ndarray, smooth_sums: bool) -> None:
        self.problem = problem
        engine = problem.engine
        self._sums: dict[float, np.ndarray] = {}
        self._between: _Between | None = None
        self._scanned: LocalMetrics | None = None
        self.at_once = 1 if problem.drift else engine.directions_at_once
        if not engine.estimates:
            sums = engine.row_sums(bandwidths)
            self._sums = dict(zip(bandwidths, sums.T, strict=True))
            self._between = _Between(bandwidths, sums) if smooth_sums else None

    def scan(self, sample: np.ndarray, bandwidths: np.ndarray, problem: Consistency) -> DistortionCurve:
        """D of a problem with the same graph.  H in fewer directions is a block of H in more, if these are known.

        So are the first of the evaluation points, if fewer were scanned before.
        """
        dim, known = problem.working_dim, self._scanned
        if known is None or known.H.shape[-1] < max(dim, self.at_once):
            known = self._metrics(replace(problem, sample=sample, working_dim=max(dim, self.at_once)), bandwidths)
        elif len(known.H) < len(sample):
            rest = replace(problem, sample=sample[len(known.H) :], working_dim=known.H.shape[-1])
            known = LocalMetrics.joined([known, self._metrics(rest, bandwidths)], axis=0)
        self._scanned = known
        local = replace(known, H=known.H[..., :dim, :dim])
        return replace(problem, sample=sample).curve_from(local, bandwidths)

    def _metrics(self, problem: Consistency, bandwidths: np.ndarray) -> LocalMetrics:
        return problem.metrics(bandwidths, self._row_sums(bandwidths))

    def at(self, sample: np.ndarray, bandwidths: np.ndarray) -> DistortionCurve:
        """D at evaluation points."""
        return replace(self.problem, sample=sample).curve(bandwidths, self._row_sums(bandwidths))

    def filled(self, curve: Curve, bandwidths: np.ndarray, sample: np.ndarray) -> Curve:
        """The curve with values of the whole sample at those bandwidths; what is known is not computed again."""
        columns = {
            eps: column[:rows] for eps, column, rows in zip(curve.bandwidths, curve.values.T, curve.rows, strict=True)
        }
        known = np.array([len(columns.get(eps, ())) for eps in bandwidths])
        for first, last in pairwise([*np.unique(known[known < len(sample)]), len(sample)]):
            some = bandwidths[known <= first]
            new = self.at(sample[first:last], some).per_point
            columns |= {eps: np.concatenate([columns.get(eps, new[:0, 0]), new[:, k]]) for k, eps in enumerate(some)}
        values = np.full((len(sample), len(columns)), np.nan)
        for k, eps in enumerate(sorted(columns)):
            values[: len(columns[eps]), k] = columns[eps]
        return Curve(np.array(sorted(columns)), values, weights_at(self.problem.engine.multiplicity, sample))

    def _row_sums(self, bandwidths: np.ndarray) -> np.ndarray | None:
        engine = self.problem.engine
        if engine.estimates:
            return None
        new = np.array([eps for eps in bandwidths if eps not in self._sums])
        if len(new):
            sums = engine.row_sums(new) if self._between is None else self._between(new)
            self._sums |= dict(zip(new, sums.T, strict=True))
        return np.stack([self._sums[eps] for eps in bandwidths], axis=1)


class _Between:
    """Row sums at new bandwidths from those on the scanned grid: log s is smooth in log ε.

    Eight-point Lagrange interpolation, kept between the scanned neighbors since sums grow with ε.  The sums leave out the
    point's own weight 1; with it, log s would have a kink where the neighbors begin to outweigh it.
    """

    def __init__(self, bandwidths: np.ndarray, sums: np.ndarray) -> None:
        self._x, self._sums = np.log(bandwidths), sums

    @cached_property
    def _logs(self) -> np.ndarray:
        return np.log(np.maximum(self._sums, np.finfo(float).tiny))

    def __call__(self, new: np.ndarray) -> np.ndarray:
        x, logs, order = self._x, self._logs, 8
        result = np.empty((len(logs), len(new)))
        for column, at in enumerate(np.log(new)):
            above = int(np.clip(np.searchsorted(x, at), 1, len(x) - 1))
            first = int(np.clip(above - order // 2, 0, len(x) - order))
            nodes = x[first : first + order]
            weights = [np.prod((at - np.delete(nodes, k)) / (nodes[k] - np.delete(nodes, k))) for k in range(order)]
            between = logs[:, first : first + order] @ np.array(weights)
            result[:, column] = np.exp(np.clip(between, logs[:, above - 1], logs[:, above]))
        return result
