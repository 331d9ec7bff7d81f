"""The bandwidth of least distortion: the whole of GC and GC⁻¹, for a given engine and evaluation points.

.. math:: \\hat ε = \\arg\\min_ε D(ε)

(equation 8 of the paper) within the range from ε_min, where nearly all points have lost their neighbors, to ε_max, the root
mean square distance, and below the bound on locality: scan, refine, choose.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from .consistency import Consistency
from .search import ROUGH_TOLERANCE, TOLERANCE, Curve, choose, minima_of, refine, resampled_interval
from .search_range import falls_apart, locality_bound, search_grid
from .selection import Selection, Status

__all__ = ["least_distortion"]


def least_distortion(
    problem: Consistency,
    n_points: int,
    *,
    rule: str = "global",
    max_share: float = 0.2,
    smooth_sums: bool = True,
    random_state: np.random.RandomState,
) -> Selection:
    """Choose ε by the curve D(ε) of the problem.

    Parameters
    ----------
    problem : Consistency
    n_points : int
        N, of which the evaluation points are a sample.
    rule : {"global", "first"}
    max_share : float
        Bound on locality.
    smooth_sums : bool
        Whether row sums vary smoothly with ε, so that they may be interpolated during refinement.  With a cut-off they
        jump; over few pairs there is no need to.
    random_state : RandomState
        Draws the resamples behind the interval.
    """
    engine, sample = problem.engine, problem.sample
    nearest = engine.nearest(sample)
    bandwidths = search_grid(engine, nearest, n_points)
    sums = None if engine.estimates else engine.row_sums(bandwidths)
    scan = problem.curve(bandwidths, sums)
    share = np.median(scan.effective_neighbors, axis=0) / n_points
    bound = locality_bound(bandwidths, scan.effective_neighbors, n_points, max_share)
    between = _Between(bandwidths, sums) if sums is not None and smooth_sums else None

    def refined(new: np.ndarray) -> np.ndarray:
        return problem.curve(new, None if between is None else between(new)).per_point

    curve = refine(
        Curve(bandwidths, scan.per_point),
        refined,
        sparing=engine.estimates,
        rule=rule,
        bound=bound,
        tolerance=ROUGH_TOLERANCE if engine.estimates else TOLERANCE,
    )
    minima = tuple(
        replace(m, share=float(np.interp(np.log(m.bandwidth), np.log(bandwidths), share))) for m in minima_of(curve, bound)
    )
    bandwidth, status = choose(curve, minima, rule=rule, bound=bound)
    if status is Status.UPPER_END:  # that end is the bound itself
        bandwidth = bound
        curve = curve.joined(Curve(np.array([bound]), refined(np.array([bound]))))
    interval = resampled_interval(curve, bandwidth, minima, rule=rule, bound=bound, random_state=random_state)
    if interval is not None and status is Status.INTERIOR:
        low, high = interval
        if sum(m.clear and low <= m.bandwidth <= high for m in minima) > 1:
            status = Status.SEVERAL
    if status in (Status.INTERIOR, Status.SEVERAL, Status.LOWER_ELSEWHERE) and falls_apart(nearest, bandwidth):
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
        details={
            "working_dim": problem.working_dim,
            "scanned": bandwidths,
            "share": share,
            "sample": sample,
            "per_point": curve.values,
            "effective_neighbors": scan.effective_neighbors,
            "degree_error": scan.degree_error,
        },
    )


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
