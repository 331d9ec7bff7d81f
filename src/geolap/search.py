"""The search: from a function of the bandwidth to its minima, a choice among them, an interval and a status.

It knows no geometry.  It works on a table of values, one row per evaluation point, whose column means are the curve; the
spread over rows separates minima from noise.  Columns where nothing is decided may have fewer rows.  All steps are in log ε.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .data.multiplicity import standard_error
from .runtime.caching import cached_property
from .selection import JUST_BEYOND, Minimum, Status

__all__ = [
    "Curve",
    "choose",
    "contenders",
    "local_minima",
    "log_grid",
    "minima_of",
    "refine",
    "resampled_choices",
    "resampled_interval",
]

# Bandwidths per factor of two in the scan.  Real curves are steep and have several minima; fewer steps would miss some.
STEPS_PER_OCTAVE = 4
# Tolerance of refined minima in log ε, and the tolerance where the curve itself is estimated.
TOLERANCE, ROUGH_TOLERANCE = 0.005, 0.01
# A bracket that is more than this share of what it was two rounds before is divided in the golden section instead.  Over 60
# minima of twelve data sets, 6.6 evaluations refine one on average and 13 at most; parabolas alone take 9.3 and 27.
_SHRUNK, _GOLDEN = 0.5, 0.382
# Lengths in log ε that differ by less are equal: rounding must not decide.
_EQUAL = 1e-9
# Ripples of the curve below this are rounding errors, not minima.
_RIPPLE = 1e-9


@dataclass(frozen=True)
class Curve:
    """Bandwidths (m,), ascending, and values (n, m) whose column means are minimized.

    The last rows of a column may be NaN: not known.  The first rows are known in every column, and all rows in some.  Rows
    may have ``weights`` (n,): a row of weight 2 is two rows.
    """

    bandwidths: np.ndarray
    values: np.ndarray
    weights: np.ndarray | None = None

    @cached_property
    def rows(self) -> np.ndarray:
        """Number of known rows (m,) of each column."""
        return (~np.isnan(self.values)).sum(axis=0)

    @cached_property
    def mean(self) -> np.ndarray:
        """Column means; of a column with fewer rows, from its differences to the nearest one that has them all.

        Differences vary much less from row to row than values do.
        """
        full = np.flatnonzero(self.rows == len(self.values))
        mean = np.empty(len(self.bandwidths))
        mean[full] = np.average(self.values[:, full], axis=0, weights=self.weights)
        for k in map(int, np.flatnonzero(self.rows < len(self.values))):
            beside = int(full[np.argmin(np.abs(np.log(self.bandwidths[full] / self.bandwidths[k])))])
            known = self.values[: self.rows[k]]
            finite = np.isfinite(mean[beside]) and np.isfinite(known[:, k]).all()
            own = np.average(known[:, k], weights=self._of_rows(len(known)))
            mean[k] = mean[beside] + self.difference(k, beside)[0] if finite else own
        return mean

    def difference(self, k: int, other: int) -> tuple[float, float]:
        """Mean of the values of column k above those of another one, in the rows that both have, and its standard error."""
        rows = min(self.rows[k], self.rows[other])
        weights = self._of_rows(rows)
        with np.errstate(invalid="ignore"):
            above = self.values[:rows, k] - self.values[:rows, other]
            return float(np.average(above, weights=weights)), standard_error(above, weights)

    def _of_rows(self, rows: int) -> np.ndarray | None:
        """The weights of the first rows."""
        return None if self.weights is None else self.weights[:rows]

    def joined(self, other: "Curve") -> "Curve":
        """Both curves as one; where both have a column, the one with more rows."""
        n = max(len(self.values), len(other.values))
        both = [np.vstack([c.values, np.full((n - len(c.values), len(c.bandwidths)), np.nan)]) for c in (self, other)]
        bandwidths, values = np.concatenate([self.bandwidths, other.bandwidths]), np.concatenate(both, axis=1)
        order = np.lexsort([np.isnan(values).sum(axis=0), bandwidths])
        _, first = np.unique(bandwidths[order], return_index=True)
        weights = (self if n == len(self.values) else other).weights
        return Curve(bandwidths[order[first]], values[:, order[first]], weights)


def log_grid(low: float, high: float, steps_per_octave: int = STEPS_PER_OCTAVE) -> np.ndarray:
    """Bandwidths of ratio 2^(1/4) (or with other steps per octave) from ``high`` down to at most ``low``, ascending."""
    steps = max(int(np.ceil(steps_per_octave * np.log2(high / low))), 8)
    return high * 2.0 ** (-np.arange(steps, -1, -1) / steps_per_octave)


def local_minima(scores: np.ndarray) -> list[int]:
    """Indices of interior local minima; the middle of a plateau."""
    found = []
    k = 1
    while k < len(scores) - 1:
        last = k
        while last < len(scores) - 2 and scores[last + 1] == scores[k]:
            last += 1
        if scores[k - 1] > scores[k] and scores[last + 1] > scores[last]:
            found.append((k + last) // 2)
        k = last + 1
    return [k for k in found if _barrier(scores, k)[1] > _RIPPLE * max(1.0, abs(scores[k]))]


def _barrier(scores: np.ndarray, k: int) -> tuple[int, float]:
    """The peak that the curve must cross from minimum k to a lower place, and its height above the minimum.

    On a side without a lower place, the path ends at the end of the curve.
    """
    peaks = []
    for side in (np.arange(k - 1, -1, -1), np.arange(k + 1, len(scores))):
        lower = np.flatnonzero(scores[side] < scores[k])
        way = side[: lower[0]] if lower.size else side
        if way.size:
            peaks.append(way[np.argmax(np.where(np.isfinite(scores[way]), scores[way], np.inf))])
    peak = min(peaks, key=lambda p: scores[p])
    return peak, scores[peak] - scores[k]


def refine(
    curve: Curve,
    evaluate: Callable[[np.ndarray], np.ndarray],
    minima: Sequence[int] | None = None,
    *,
    tolerance: float = TOLERANCE,
    sparing: bool = False,
) -> Curve:
    """The curve with its local minima, or those at the given places, refined to the tolerance in log ε.

    ``evaluate`` gives values (n, m) for new bandwidths.  In each round it is called for all minima that are not yet
    bracketed: where a curve through the known values is lowest, then on both sides of that.  ``sparing`` is satisfied with
    the one point of the first round.
    """
    log, mean = np.log(curve.bandwidths), curve.mean
    minima = local_minima(mean) if minima is None else minima
    # Per minimum: the bracket, a guess, and how wide the bracket was one and two rounds before.
    todo: list[tuple[float, float, float | None, float, float]]
    todo = [(log[k - 1], log[k + 1], _quartic_guess(log, mean, k), np.inf, np.inf) for k in minima]
    while todo:
        log, mean = np.log(curve.bandwidths), curve.mean
        probes: list[float] = []
        again: list[tuple[float, float, float | None, float, float]] = []
        for low, high, guess, before, earlier in todo:
            inside = np.flatnonzero((log >= low) & (log <= high))
            k = inside[np.argmin(mean[inside])]
            if k in (inside[0], inside[-1]):
                continue  # an end is the lowest: the minimum was noise
            x = log[k - 1 : k + 2]
            slow = x[2] - x[0] > _SHRUNK * earlier + _EQUAL
            new = _probes(x, mean[k - 1 : k + 2], tolerance, guess, slow=slow)
            probes += new[-1:] if sparing else new
            if new and not sparing:
                again.append((x[0], x[2], None, x[2] - x[0], before))
        if not probes:
            break
        todo = again
        curve = curve.joined(Curve(np.exp(probes), evaluate(np.exp(probes))))
    return curve


def contenders(curve: Curve, *, rule: str = "global", bound: float = np.inf) -> list[int]:
    """Places of the local minima that may be chosen: within the bound and, by the ``"global"`` rule, among the lowest.

    Those within a twentieth of the lowest, or within noise of it, are.
    """
    mean = curve.mean
    minima = [k for k in local_minima(mean) if curve.bandwidths[k - 1] < bound]
    if rule == "first" or not minima:
        return minima
    best = min(minima, key=lambda k: mean[k])
    above = {k: max(3.0 * curve.difference(k, best)[1], 0.05 * abs(mean[best])) for k in minima}
    return [k for k in minima if mean[k] - mean[best] <= above[k]]


def _quartic_guess(log: np.ndarray, mean: np.ndarray, k: int) -> float | None:
    """The minimum of the quartic through minimum k and two neighbors on each side; None near the ends."""
    around = slice(k - 2, k + 3)
    if k < 2 or k + 3 > len(log) or not np.isfinite(mean[around]).all():
        return None
    quartic = np.polynomial.Polynomial.fit(log[around], mean[around], 4)
    fine = np.linspace(log[k - 1], log[k + 1], 101)
    return float(fine[np.argmin(quartic(fine))])


def _probes(
    x: np.ndarray, y: np.ndarray, tolerance: float, guess: float | None = None, *, slow: bool = False
) -> list[float]:
    """Where to evaluate next for the minimum inside three points; nowhere if the outer two are within the tolerance.

    At the vertex of the parabola, or the guess; if that is where the lowest point is already, at both sides of it.  Where
    parabolas are ``slow``, as on a slope that ends at a wall, in the golden section of the wider side.
    """
    if np.diff(x).max() <= tolerance:
        return []
    step = 0.95 * tolerance
    wide = x[2] - x[1] if x[2] - x[1] > x[1] - x[0] + _EQUAL else x[0] - x[1]
    if slow and abs(_GOLDEN * wide) > step:
        return [float(x[1] + _GOLDEN * wide)]
    vertex = _vertex(x, y) if guess is None else guess
    if abs(vertex - x[1]) > step + _EQUAL:
        return [float(np.clip(vertex, x[0] + 0.5 * step, x[2] - 0.5 * step))]
    return [float(p) for p in (x[1] - step, x[1] + step) if x[0] < p < x[2] and np.abs(p - x).min() > 0.2 * step]


def _vertex(x: np.ndarray, y: np.ndarray) -> float:
    """The minimum of the parabola through three points of which the middle is the lowest, kept between the outer two."""
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    if not (np.isfinite(left) and np.isfinite(right) and right > left):
        return x[1]
    vertex = 0.5 * (x[0] + x[1]) - left * 0.5 * (x[2] - x[0]) / (right - left)
    margin = 0.1 * (x[2] - x[0])  # the new point must not come too close to an outer one
    return float(np.clip(vertex, x[0] + margin, x[2] - margin))


def minima_of(curve: Curve, bound: float = np.inf) -> tuple[Minimum, ...]:
    """Every minimum of the curve with its depth and noise; those beyond ``bound`` are not local.

    A ripple that is within one scan step of a lower minimum, and not deeper than noise, belongs to that minimum.
    """
    found: list[Minimum] = []
    for minimum in sorted(_all_minima(curve, bound), key=lambda m: m.score):
        beside = any(abs(np.log2(minimum.bandwidth / m.bandwidth)) <= 1.0 / STEPS_PER_OCTAVE for m in found)
        if minimum.clear or not beside:
            found.append(minimum)
    return tuple(sorted(found, key=lambda m: m.bandwidth))


def _all_minima(curve: Curve, bound: float) -> Iterator[Minimum]:
    mean = curve.mean
    for k in local_minima(mean):
        peak, depth = _barrier(mean, k)
        noise = curve.difference(peak, k)[1] if np.isfinite(depth) else 0.0
        local = bool(curve.bandwidths[k] <= bound)
        yield Minimum(float(curve.bandwidths[k]), float(mean[k]), float(depth), noise, local)


def choose(
    curve: Curve, minima: Sequence[Minimum], *, rule: str = "global", bound: float = np.inf, ends: bool = True
) -> tuple[float, Status]:
    """The bandwidth chosen by the rule, and its status.

    ``"global"`` takes the lowest minimum within the bound, ``"first"`` the smallest bandwidth that is a minimum by more
    than noise (the lowest one if none is).  A minimum within noise does not count against a lower end of the curve.  If no
    minimum counts, the lowest place within the bound is taken, and the status says so.  ``ends=False`` is for curves that
    are low at their ends for trivial reasons.
    """
    inside = np.flatnonzero(curve.bandwidths <= bound)
    inside = inside if inside.size else np.array([0])
    scores = curve.mean[inside]
    lowest = inside[np.argmin(scores)]
    candidates = [m for m in minima if m.local]
    clear = [m for m in candidates if m.clear]
    if clear:
        best = clear[0] if rule == "first" else min(clear, key=lambda m: m.score)
        if ends and lowest in (inside[0], inside[-1]) and _is_lower(curve, lowest, best.bandwidth):
            return best.bandwidth, Status.LOWER_ELSEWHERE
        close = [
            m for m in clear if m is not best and abs(m.score - best.score) <= max(2.0 * m.noise, 0.05 * abs(best.score))
        ]
        return best.bandwidth, Status.SEVERAL if close else Status.INTERIOR
    finite = scores[np.isfinite(scores)]
    if not finite.size or np.ptp(finite) <= 1e-3 * abs(finite.min()):
        return float(curve.bandwidths[lowest]), Status.FLAT
    if candidates and lowest not in (inside[0], inside[-1]):
        return min(candidates, key=lambda m: m.score).bandwidth, Status.FLAT
    if 2 * lowest < inside[0] + inside[-1]:
        return float(curve.bandwidths[lowest]), Status.LOWER_END
    turns = any(m.clear and bound < m.bandwidth <= JUST_BEYOND * bound for m in minima)
    return float(curve.bandwidths[lowest]), Status.AT_BOUND if turns else Status.UPPER_END


def _is_lower(curve: Curve, k: int, bandwidth: float) -> bool:
    """Whether the curve at point k is below that at the bandwidth by more than noise."""
    at = int(np.argmin(np.abs(curve.bandwidths - bandwidth)))
    mean, error = curve.difference(at, k)
    return mean > 2.0 * error


def resampled_interval(
    curve: Curve,
    bandwidth: float,
    minima: Sequence[Minimum],
    *,
    rule: str = "global",
    bound: float = np.inf,
    random_state: np.random.RandomState,
    level: float = 0.95,
) -> tuple[float, float] | None:
    """The interval of the choice when the evaluation points are resampled; None if the choice is not a minimum."""
    chosen = resampled_choices(curve, bandwidth, minima, rule=rule, random_state=random_state)
    if chosen is None:
        return None
    low, high = np.minimum(np.quantile(chosen, [0.5 - level / 2, 0.5 + level / 2]), bound)
    return float(min(low, bandwidth)), float(max(high, bandwidth))


def resampled_choices(
    curve: Curve,
    bandwidth: float,
    minima: Sequence[Minimum],
    *,
    rule: str = "global",
    random_state: np.random.RandomState,
    n_resamples: int = 500,
) -> np.ndarray | None:
    """The choices when the evaluation points are resampled; None if the choice, or half of them, are not minima.

    It costs only sums, because the values at every evaluation point and bandwidth are known.  Points count by exponential
    weights (the Bayesian bootstrap; Rubin, 1981), which are drawn ten times as fast as multinomial counts.  Each resample
    takes the lowest place near one of the local ``minima``; with ``rule="first"`` the one nearest to the chosen bandwidth.
    """
    known = np.log([m.bandwidth for m in minima if m.local and (m.clear or m.bandwidth == bandwidth)])
    n = len(curve.values)
    inside = np.flatnonzero(np.isfinite(curve.values).all(axis=0))
    if n < 2 or inside.size < 3 or np.log(bandwidth) not in known:
        return None
    log, values = np.log(curve.bandwidths[inside]), curve.values[:, inside]
    nearby = np.abs(log[:, None] - known).min(axis=1) < np.log(2.0) / STEPS_PER_OCTAVE * 2
    if not nearby.any():
        return None
    # That of a row of weight m is the sum of m exponential ones.
    weights = random_state.standard_gamma(1.0 if curve.weights is None else curve.weights, (n_resamples, n))
    mean = weights @ values / weights.sum(axis=1, keepdims=True)
    low = (mean[:, 1:-1] < mean[:, :-2]) & (mean[:, 1:-1] <= mean[:, 2:]) & nearby[1:-1]
    if rule == "global":  # not a higher minimum in place of one that disappeared
        low &= mean[:, 1:-1] <= mean[:, nearby].min(axis=1, keepdims=True)
    mean, low = mean[low.any(axis=1)], low[low.any(axis=1)]
    k = np.argmin(np.where(low, np.abs(log[1:-1] - np.log(bandwidth)), np.inf), axis=1)
    chosen = [_vertex(log[j : j + 3], row[j : j + 3]) for j, row in zip(k, mean, strict=True)]
    return np.exp(chosen) if len(chosen) >= n_resamples // 2 else None
