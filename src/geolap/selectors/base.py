"""What all ways to choose ε have in common."""

import logging
import time
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..judgment import judged
from ..points import Points
from ..search import Curve, choose, minima_of, resampled_interval
from ..selection import Selection
from ..shown import Plotted

__all__ = ["BandwidthSelector", "least_of"]

_log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class BandwidthSelector(OneToOneFeatureMixin, TransformerMixin, Plotted, BaseEstimator):
    """A way to choose the bandwidth: ``fit(X, y=None)`` sets ``bandwidth_`` and ``selection_``.

    A step of a pipeline that passes the points on as they are.
    """

    needs_labels: ClassVar[bool] = False
    keeps_device: ClassVar[bool] = False  # whether points on a GPU are used there

    _: KW_ONLY
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the bandwidth for the points X (n_points, n_features); y is used by methods that need labels.

        Returns
        -------
        self
        """
        points = Points.of(X, keep_device=self.keeps_device)
        validate_data(self, X, skip_check_array=True)
        start = time.perf_counter()
        self.selection_ = self.select(points, y)
        self.bandwidth_ = self.selection_.bandwidth
        _log.info(
            "%s: bandwidth %.4g of %d points in %.1f s; %s",
            *(self.selection_.method, self.bandwidth_, len(points), time.perf_counter() - start, self.selection_.status),
        )
        return self

    def transform(self, X: Any) -> Any:
        """X, unchanged."""
        check_is_fitted(self)
        points = Points.of(X, least=1, keep_device=True)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X if hasattr(X, "shape") else points.given

    def select(self, points: Points, y: Any = None) -> Selection:
        """The selection for points that have been checked, with a verdict; sets nothing."""
        return judged(self.rule_alone(points, y), points, n_jobs=self.n_jobs)

    @abstractmethod
    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        """The selection by the rule alone."""


def least_of(
    curve: Curve,
    method: str,
    *,
    random_state: np.random.RandomState | None = None,
    ends: bool = True,
    details: dict[str, Any] | None = None,
) -> Selection:
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
