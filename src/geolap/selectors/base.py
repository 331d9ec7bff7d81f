"""What all ways to choose ε have in common."""

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..search import Curve, choose, log_grid, minima_of, resampled_interval
from ..selection import Selection
from ..validation import check_points

__all__ = ["BandwidthSelector", "falls_apart", "least_of", "locality_bound", "search_grid"]

# A point whose neighbors weigh less than this together counts as isolated (the paper's γ).
_ISOLATED = 1e-4
# Below ε_min all but this share of the evaluation points are isolated: GC's D is at least 0.95 there, nothing is missed.
_NOT_ISOLATED = 0.05
# So many effective neighbors, the point itself counted, are local however few points there are.
_FEWEST_NEIGHBORS = 4.0


class BandwidthSelector(BaseEstimator):
    """A way to choose the bandwidth: ``fit(X, y=None)`` sets ``bandwidth_`` and ``selection_``."""

    needs_labels = False
    keeps_device = False  # whether points on a GPU are used there

    def fit(self, X, y=None):
        """Choose the bandwidth for the points X (n_points, n_features); y is used by methods that need labels.

        Returns
        -------
        self
        """
        points = check_points(X, keep_device=self.keeps_device)
        validate_data(self, X, skip_check_array=True)
        self.selection_ = self._select(points, y)
        self.bandwidth_ = self.selection_.bandwidth
        return self

    @abstractmethod
    def _select(self, points: np.ndarray, y) -> Selection:
        """The selection for checked points."""


def falls_apart(nearest, bandwidth):
    """Whether more than a tenth of the points whose nearest neighbors are that far away see nobody."""
    return bool(np.mean(np.exp(-((nearest / bandwidth) ** 2)) < _ISOLATED) > 0.1)


def search_grid(engine, nearest, n_points):
    """Bandwidths of ratio 2^(1/4) from ε_min to ε_max, given the distances from a sample to its nearest neighbors.

    ε_max is the root mean square distance.  ε_min: Σ_{j≠i} W_ij < γ is certain for a point whose nearest neighbor is at δ
    when N exp(−δ²/ε²) < γ, and must hold for all but a few of the sample.
    """
    nearest = nearest[np.isfinite(nearest)]
    if not nearest.size:
        raise ValueError(
            "Some points must have a neighbor at another place; all that are joined are duplicates: remove duplicates, or "
            "raise n_neighbors above their number."
        )
    low = np.quantile(nearest, _NOT_ISOLATED) / np.sqrt(np.log(n_points / _ISOLATED))
    high = engine.mean_distance()
    if not (np.isfinite(high) and low > np.finfo(float).tiny):
        raise ValueError(
            f"The distances of the points must be representable numbers; they range from about {low:.1g} to {high:.1g}: "
            "rescale the data."
        )
    return log_grid(low, high)


def locality_bound(bandwidths, effective, n_points, max_share):
    """The largest bandwidth at which neighborhoods are local: they hold at most this share of all points.

    ``effective`` (n, m) are effective neighbors of some points at the bandwidths; their median counts, and the bound is
    interpolated in log ε.
    """
    share = np.median(effective, axis=0) / n_points
    max_share = max(max_share, _FEWEST_NEIGHBORS / n_points)
    if share[-1] <= max_share:
        return float(bandwidths[-1])
    if share[0] > max_share:
        return float(bandwidths[0])
    return float(np.exp(np.interp(max_share, np.maximum.accumulate(share), np.log(bandwidths))))


def least_of(curve: Curve, method, *, random_state=None, ends=True, details=None) -> Selection:
    """The selection of a rule that takes the lowest minimum of its curve, with an interval given a ``random_state``."""
    minima = minima_of(curve)
    bandwidth, status = choose(curve, minima, ends=ends)
    interval = None if random_state is None else resampled_interval(curve, bandwidth, minima, random_state=random_state)
    return Selection(
        bandwidth=bandwidth,
        bandwidths=curve.bandwidths,
        scores=curve.mean,
        minima=minima,
        interval=interval,
        status=status,
        method=method,
        details=details or {},
    )
