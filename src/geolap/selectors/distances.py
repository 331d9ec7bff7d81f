"""Rules of thumb: the median distance, and the distance to the k-th neighbor.

.. math:: \\hat ε = \\operatorname{median}_{i<j} ‖x_i - x_j‖ \\qquad\\text{or}\\qquad
          \\hat ε = \\operatorname{mean}_i\\ ‖x_i - x_{(k)}‖

Neither minimizes anything; their curves show how the answer would change with the quantile or with k.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from ..memory import require_memory
from ..points import Points
from ..selection import Selection, Status
from ..threads import heard, in_order
from ..validation import check_choice, check_n_sample, check_number, check_random_state
from .base import BandwidthSelector

__all__ = ["MedianDistance", "NeighborDistance"]

# Distances held at once, unless all are asked for, and points that are looked at together.
_HELD, _ROWS = 2**24, 32


@dataclass(eq=False, repr=False)
class MedianDistance(BandwidthSelector):
    """Take the median distance between points as the bandwidth (the "median heuristic").

    Parameters
    ----------
    n_sample : int or None, default 1000
        Distances from this many random points to all others count, or where that would be more than 17 million to a random
        part of the others; None takes all pairs.
    random_state : int, RandomState or None
    n_jobs : int, optional

    Attributes
    ----------
    bandwidth_ : float
    selection_ : Selection
        Its curve is ``|share of distances below ε − ½|``.

    Examples
    --------
    >>> import geolap
    >>> geolap.select_bandwidth([[0.0], [1.0], [3.0]], method="median").bandwidth
    2.0
    """

    n_sample: int | None = 1000
    random_state: Any = None

    def _select(self, points: Points, y: Any = None) -> Selection:
        random_state = check_random_state(self.random_state)
        sample = check_n_sample(self.n_sample, len(points), random_state, least=1)
        others = np.arange(len(points))
        if self.n_sample is not None:
            others = check_n_sample(max(len(sample), _HELD // len(sample)), len(points), random_state)
        n_distances = float(len(sample)) * len(others)
        require_memory(20.0 * n_distances, f"The median of {n_distances:.3g} distances", "set {n_sample}")
        X = points.box

        def found(rows: np.ndarray) -> np.ndarray:
            return cdist(X[rows], X[others])[rows[:, None] != others]

        groups = np.array_split(sample, -(-len(sample) // _ROWS))
        distances = np.concatenate(list(in_order(found, groups, n_jobs=self.n_jobs, label="distances"))) * points.unit
        bandwidth = float(np.median(distances, overwrite_input=True))
        if bandwidth == 0.0:
            raise ValueError(
                "The median distance must be positive to serve as a bandwidth; more than half of the distances are 0: "
                "remove duplicate points or use another method."
            )
        share = np.arange(1, 100) / 100
        bandwidths, first = np.unique(np.quantile(distances, share, overwrite_input=True), return_index=True)
        return _rule_of_thumb(bandwidth, bandwidths[bandwidths > 0], np.abs(share - 0.5)[first][bandwidths > 0], "median")


@dataclass(eq=False, repr=False)
class NeighborDistance(BandwidthSelector):
    """Take the mean or median distance to the k-th neighbor as the bandwidth.

    Parameters
    ----------
    n_neighbors : int, default 10
        k
    average : {"mean", "median"}, default "mean"
    n_sample : int or None, default 1000
        The average runs over this many random points; None takes all.
    random_state : int, RandomState or None
    n_jobs : int, optional

    Attributes
    ----------
    bandwidth_ : float
    selection_ : Selection
        Its curve has one point for each k' up to 4k, with score ``|k' − k|``.

    Examples
    --------
    >>> import geolap
    >>> geolap.select_bandwidth([[0.0], [1.0], [3.0], [4.0]], method="knn", n_neighbors=2).bandwidth
    2.5
    """

    n_neighbors: int = 10
    average: str = "mean"
    n_sample: int | None = 1000
    random_state: Any = None

    def _select(self, points: Points, y: Any = None) -> Selection:
        check_number("n_neighbors", self.n_neighbors, Integral, low=1)
        check_choice("average", self.average, ("mean", "median"))
        sample = check_n_sample(self.n_sample, len(points), check_random_state(self.random_state), least=1)
        X = points.box
        k = min(self.n_neighbors, len(X) - 1)
        most = min(4 * k, len(X) - 1)
        search = heard(NearestNeighbors(n_neighbors=most + 1).fit, X)
        groups = np.array_split(sample, -(-len(sample) // _ROWS))
        found = in_order(lambda rows: search.kneighbors(X[rows])[0], groups, n_jobs=self.n_jobs, label="neighbors")
        # The point itself is the first neighbor found, or ties with its duplicates for that place.
        distances = np.concatenate(list(found))[:, 1:] * points.unit
        typical = (np.mean if self.average == "mean" else np.median)(distances, axis=0)
        if typical[k - 1] == 0.0:
            raise ValueError(
                f"The distance to neighbor {k} must be positive to serve as a bandwidth; it is 0: remove duplicate points "
                "or raise n_neighbors."
            )
        bandwidths, first = np.unique(typical, return_index=True)
        scores = np.abs(np.arange(1, most + 1) - k)[first].astype(float)
        positive = bandwidths > 0
        return _rule_of_thumb(float(typical[k - 1]), bandwidths[positive], scores[positive], "knn")


def _rule_of_thumb(bandwidth: float, bandwidths: np.ndarray, scores: np.ndarray, method: str) -> Selection:
    return Selection(
        bandwidth=bandwidth,
        bandwidths=bandwidths,
        scores=scores,
        minima=(),
        interval=None,
        status=Status.RULE,
        method=method,
    )
