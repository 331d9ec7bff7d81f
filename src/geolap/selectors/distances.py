"""Rules of thumb: the median distance, and the distance to the k-th neighbor.

.. math:: \\hat ε = \\operatorname{median}_{i<j} ‖x_i - x_j‖ \\qquad\\text{or}\\qquad
          \\hat ε = \\operatorname{mean}_i\\ ‖x_i - x_{(k)}‖

Neither minimizes anything; their curves show how the answer would change with the quantile or with k.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from ..data.distances import Distances
from ..data.multiplicity import copies_of, own_weight, quantile_of, weights_at
from ..data.points import Points
from ..graphs.neighbors import nearest_neighbors
from ..runtime.memory import require_memory
from ..runtime.threads import in_order
from ..selection import Selection, Status
from ..validation import check_choice, check_n_sample, check_number, check_random_state
from .base import RivalRule

__all__ = ["MedianDistance", "NeighborDistance"]

# Distances held at once, unless all are asked for, and points that are looked at together.
_HELD, _ROWS = 2**24, 32


@dataclass(eq=False, repr=False)
class MedianDistance(RivalRule):
    """Take the median distance between points as the bandwidth (the "median heuristic").

    Parameters
    ----------
    n_sample : int or None, default 1000
        Number of random points whose distances to all others are used, or to a random subset of the others if there would be
        more than 17 million distances; None uses all pairs.
    random_state : int, RandomState or None
    <parameters and attributes of all rules>
        Its curve is ``|share of distances below ε − ½|``.

    Examples
    --------
    >>> import geolap
    >>> geolap.select_bandwidth([[0.0], [1.0], [3.0]], method="median").bandwidth
    2.0
    """

    n_sample: int | None = 1000
    random_state: Any = None

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        random_state = check_random_state(self.random_state)
        sample = check_n_sample(self.n_sample, len(points), random_state, least=1)
        others = np.arange(len(points))
        if self.n_sample is not None:
            others = check_n_sample(max(len(sample), _HELD // len(sample)), len(points), random_state)
        n_distances = float(len(sample)) * len(others)
        require_memory(20.0 * n_distances, f"The median of {n_distances:.3g} distances", "set {n_sample}")

        def found(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return _of_pairs(points, rows, others)

        groups = np.array_split(sample, -(-len(sample) // _ROWS))
        parts = list(in_order(found, groups, n_jobs=self.n_jobs, label="distances"))
        distances, counted = (np.concatenate(part) for part in zip(*parts, strict=True))
        weights = None if points.multiplicity is None else counted
        bandwidth = float(quantile_of(distances, 0.5, weights))
        if bandwidth == 0.0:
            raise ValueError(
                "The median distance must be positive to serve as a bandwidth; more than half of the distances are 0: "
                "remove duplicate points or use another method."
            )
        share = np.arange(1, 100) / 100
        return _rule_of_thumb(bandwidth, quantile_of(distances, share, weights), np.abs(share - 0.5), "median")


@dataclass(eq=False, repr=False)
class NeighborDistance(RivalRule):
    """Take the mean or median distance to the k-th neighbor as the bandwidth.

    Parameters
    ----------
    n_neighbors : int, default 10
        k
    average : {"mean", "median"}, default "mean"
    n_sample : int or None, default 1000
        Number of random points in the average; None uses all.
    random_state : int, RandomState or None
    <parameters and attributes of all rules>
        Its curve has one point for each k' up to 4k, or as far as distances are known, with score ``|k' − k|``.

    Examples
    --------
    >>> import geolap
    >>> geolap.select_bandwidth([[0.0], [1.0], [3.0], [4.0]], method="knn", n_neighbors=2).bandwidth
    2.5
    """

    needs_all_pairs: ClassVar[bool] = False

    n_neighbors: int = 10
    average: str = "mean"
    n_sample: int | None = 1000
    random_state: Any = None

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        check_number("n_neighbors", self.n_neighbors, Integral, low=1)
        check_choice("average", self.average, ("mean", "median"))
        sample = check_n_sample(self.n_sample, len(points), check_random_state(self.random_state), least=1)
        k = min(self.n_neighbors, int(points.total) - 1)
        most = min(4 * k, int(points.total) - 1)
        if isinstance(points, Distances) and points.partial:
            most = max(k, min(most, points.n_known))
        distances = _to_nearest(points, sample, most, self.n_jobs)
        weights = weights_at(points.multiplicity, sample)
        mean = self.average == "mean"
        typical = np.average(distances, axis=0, weights=weights) if mean else quantile_of(distances, 0.5, weights)
        if typical[k - 1] == 0.0:
            raise ValueError(
                f"The distance to neighbor {k} must be positive to serve as a bandwidth; it is 0: remove duplicate points "
                "or raise n_neighbors."
            )
        return _rule_of_thumb(float(typical[k - 1]), typical, np.abs(np.arange(1.0, most + 1) - k), "knn")


def _of_pairs(points: Points, rows: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances of pairs, and of how many pairs of copies each is, if points have weights."""
    D, own, m = np.sqrt(points.sqdist(rows, others)) * points.unit, rows[:, None] == others, points.multiplicity
    if m is None:
        return D[~own], np.empty(0)
    weights = np.outer(m[rows], m[others])
    weights[own] = np.broadcast_to(m[rows][:, None] * copies_of(m, rows), own.shape)[own]
    return D[weights > 0], weights[weights > 0]


def _to_nearest(points: Points, sample: np.ndarray, most: int, n_jobs: int | None) -> np.ndarray:
    """Distances (n, most) from sampled points to their nearest others, copies counted."""
    m = points.multiplicity
    if m is None:
        return nearest_neighbors(points, most, rows=sample, n_jobs=n_jobs)[0]
    # Places that hold a point and its nearest others; the k-th of these is at the place by which k are counted.
    places = min(int(np.ceil((most + 1) / min(m.min(), 1.0))), len(points))
    distances, columns = nearest_neighbors(points, places - 1, rows=sample, n_jobs=n_jobs)
    distances = np.column_stack([np.zeros(len(sample)), distances])
    counted = np.cumsum(np.column_stack([m[sample], m[columns]]), axis=1) - own_weight(m, sample)
    at = (counted[:, :, None] < np.arange(1, most + 1) - 1e-9).sum(axis=1)
    return np.take_along_axis(distances, np.minimum(at, places - 1), axis=1)


def _rule_of_thumb(bandwidth: float, bandwidths: np.ndarray, scores: np.ndarray, method: str) -> Selection:
    """The selection with a curve of the bandwidths that are positive, each once."""
    kept, first = np.unique(bandwidths, return_index=True)
    scores = scores[first][kept > 0]
    kept = kept[kept > 0]
    return Selection(bandwidth, kept, scores, minima=(), interval=None, status=Status.RULE, method=method)
