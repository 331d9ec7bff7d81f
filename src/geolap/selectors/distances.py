"""Rules of thumb: the median distance, and the distance to the k-th neighbor.

.. math:: \\hat ε = \\operatorname{median}_{i<j} ‖x_i - x_j‖ \\qquad\\text{or}\\qquad
          \\hat ε = \\operatorname{mean}_i\\ ‖x_i - x_{(k)}‖

Neither minimizes anything; their curves show how the answer would change with the quantile or with k.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from ..distances import Distances
from ..multiplicity import copies_of, own_weight, quantile_of, weights_at
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

    def _select(self, points: Points, y: Any = None) -> Selection:
        sample = check_n_sample(self.n_sample, len(points), check_random_state(self.random_state), least=1)
        distances, weights = np.sqrt(points.sqdist(sample)).ravel() * points.unit, None
        own = np.arange(len(sample)) * len(points) + sample
        if points.multiplicity is None:
            distances = np.delete(distances, own)
        else:  # of all pairs of copies
            weights = np.outer(points.multiplicity[sample], points.multiplicity)
            weights.ravel()[own] = points.multiplicity[sample] * copies_of(points.multiplicity, sample)[:, 0]
            distances, weights = distances[weights.ravel() > 0], weights[weights > 0]
        bandwidth = float(quantile_of(distances, 0.5, weights))
        if bandwidth == 0.0:
            raise ValueError(
                "The median distance must be positive to serve as a bandwidth; more than half of the distances are 0: "
                "remove duplicate points or use another method."
            )
        share = np.arange(1, 100) / 100
        bandwidths, first = np.unique(quantile_of(distances, share, weights), return_index=True)
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

    needs_all_pairs: ClassVar[bool] = False

    n_neighbors: int = 10
    average: str = "mean"
    n_sample: int | None = 1000
    random_state: Any = None

    def _select(self, points: Points, y: Any = None) -> Selection:
        check_number("n_neighbors", self.n_neighbors, Integral, low=1)
        check_choice("average", self.average, ("mean", "median"))
        sample = check_n_sample(self.n_sample, len(points), check_random_state(self.random_state), least=1)
        k = min(self.n_neighbors, int(points.total) - 1)
        most = min(4 * k, int(points.total) - 1)
        distances = _to_nearest(points, sample, most, n_jobs=self.n_jobs) * points.unit
        weights = weights_at(points.multiplicity, sample)
        mean = self.average == "mean"
        typical = np.average(distances, axis=0, weights=weights) if mean else quantile_of(distances, 0.5, weights)
        if typical[k - 1] == 0.0:
            raise ValueError(
                f"The distance to neighbor {k} must be positive to serve as a bandwidth; it is 0: remove duplicate points "
                "or raise n_neighbors."
            )
        bandwidths, first = np.unique(typical, return_index=True)
        scores = np.abs(np.arange(1, most + 1) - k)[first].astype(float)
        positive = bandwidths > 0
        return _rule_of_thumb(float(typical[k - 1]), bandwidths[positive], scores[positive], "knn")


def _to_nearest(points: Points, sample: np.ndarray, most: int, *, n_jobs: int | None) -> np.ndarray:
    """Distances (n, most) from sampled points to their nearest others, copies counted, in units of the points'."""
    n, m = len(points), points.multiplicity
    places = most + 1 if m is None else min(int(np.ceil((most + 1) / min(m.min(), 1.0))), n)
    if isinstance(points, Distances):
        distances, columns = points.nearest_of(sample, places - 1)
        distances = np.column_stack([np.zeros(len(sample)), distances / points.unit])
        columns = np.column_stack([sample, columns])
    else:
        search = NearestNeighbors(n_neighbors=places, n_jobs=thread_count(n_jobs)).fit(points.box)
        distances, columns = search.kneighbors(points.box[sample])
    if m is None:  # the point itself is the first found, or ties with its duplicates for that place
        return distances[:, 1:]
    # The point itself is one of those at distance 0; the k-th of the others is at the place by which k are counted.
    counted = np.cumsum(m[columns], axis=1) - own_weight(m, sample)
    at = (counted[:, :, None] < np.arange(1, most + 1) - 1e-9).sum(axis=1)
    return np.take_along_axis(distances, np.minimum(at, places - 1), axis=1)


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
