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
from sklearn.utils import check_random_state

from ..points import Points
from ..selection import Selection, Status
from ..threads import thread_count
from ..validation import check_choice, check_n_sample, check_number
from .base import BandwidthSelector

__all__ = ["MedianDistance", "NeighborDistance"]


@dataclass(eq=False, repr=False)
class MedianDistance(BandwidthSelector):
    """Take the median distance between points as the bandwidth (the "median heuristic").

    Parameters
    ----------
    n_sample : int or None, default 1000
        Distances from this many random points to all others count; None takes all pairs.
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

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        sample = check_n_sample(self.n_sample, len(points), check_random_state(self.random_state), least=1)
        X = points.box
        distances = cdist(X[sample], X) * points.unit
        distances = np.delete(distances.ravel(), np.arange(len(sample)) * len(X) + sample)
        bandwidth = float(np.median(distances))
        if bandwidth == 0.0:
            raise ValueError(
                "The median distance must be positive to serve as a bandwidth; more than half of the distances are 0: "
                "remove duplicate points or use another method."
            )
        share = np.arange(1, 100) / 100
        bandwidths, first = np.unique(np.quantile(distances, share), return_index=True)
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

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        check_number("n_neighbors", self.n_neighbors, Integral, low=1)
        check_choice("average", self.average, ("mean", "median"))
        sample = check_n_sample(self.n_sample, len(points), check_random_state(self.random_state), least=1)
        X = points.box
        k = min(self.n_neighbors, len(X) - 1)
        most = min(4 * k, len(X) - 1)
        search = NearestNeighbors(n_neighbors=most + 1, n_jobs=thread_count(self.n_jobs)).fit(X)
        # The point itself is the first neighbor found, or ties with its duplicates for that place.
        distances = search.kneighbors(X[sample])[0][:, 1:] * points.unit
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
