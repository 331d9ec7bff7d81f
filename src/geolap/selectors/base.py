"""What all ways to choose ε have in common."""

import logging
import time
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data.distances import Metric, points_of
from ..data.multiplicity import weights_at
from ..data.points import Points
from ..engines import Engine, make_engine
from ..judgment import judged, without_guess
from ..runtime.progress import aloud, say
from ..search import Curve, choose, minima_of, resampled_interval
from ..search_range import search_grid
from ..selection import Selection
from ..sentences import Documented, refusal
from ..shown import Plotted
from ..specification import GraphSpec

__all__ = ["BandwidthSelector", "RivalRule", "least_of", "searched_by", "with_its_own"]

_log = logging.getLogger(__name__)

# The end of the parameters, and the attributes, to the last of which each rule adds what its curve is.
_COMMON = """    metric : str or callable, optional
        As for `GeometricConsistency`.
    n_jobs : int, optional
    verbose : bool or int, default False

    Attributes
    ----------
    bandwidth_ : float
    selection_ : Selection
"""


@dataclass(eq=False, repr=False)
class BandwidthSelector(Documented, OneToOneFeatureMixin, TransformerMixin, Plotted, BaseEstimator, ABC):
    """A way to choose the bandwidth: ``fit(X, y=None)`` sets ``bandwidth_`` and ``selection_``.

    ``metric`` says how far points are apart: Euclidean by default, or as the estimator has it that uses the selector.  A
    step of a pipeline that passes the points on as they are.
    """

    _texts: ClassVar[dict[str, str]] = {"parameters and attributes of all rules": _COMMON}
    needs_labels: ClassVar[bool] = False
    needs_all_pairs: ClassVar[bool] = True  # whether those of nearest points are not enough
    keeps_device: ClassVar[bool] = False  # whether points on a GPU are used there
    takes_weights: ClassVar[bool] = True  # whether points may have weights

    _: KW_ONLY
    metric: Metric | None = None
    n_jobs: int | None = None
    verbose: bool | int = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the bandwidth for the points X (n_points, n_features); y is used by rules that need labels.

        ``sample_weight`` (n_points,) is the number of points that each row represents.

        Returns
        -------
        self
        """
        points = points_of(X, self.metric, keep_device=self.keeps_device, sample_weight=sample_weight)
        validate_data(self, X, skip_check_array=True)
        self.selection_, _ = self.timed(points, y)
        self.bandwidth_ = self.selection_.bandwidth
        return self

    def transform(self, X: Any) -> Any:
        """X, unchanged."""
        check_is_fitted(self)
        points = points_of(X, least=1, keep_device=True)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X if hasattr(X, "shape") else points.given

    def timed(self, points: Points, y: Any = None, **graph: Any) -> tuple[Selection, float]:
        """What `select` returns, and the seconds that it took; a record tells both."""
        start = time.perf_counter()
        with aloud(self.verbose):
            found = self.select(points, y, **graph)
            seconds = time.perf_counter() - start
            told = found.method, found.bandwidth, len(points), seconds, found.status_text
            say(_log, "%s: bandwidth %.4g of %d points in %.1f s; %s", *told)
        return found, seconds

    @abstractmethod
    def select(self, points: Points, y: Any = None) -> Selection:
        """The selection for points that have been checked, with a verdict; sets nothing."""


@dataclass(eq=False, repr=False)
class RivalRule(BandwidthSelector):
    """A rule that knows nothing of tangent planes: what its bandwidth is good for is judged afterwards."""

    def select(self, points: Points, y: Any = None) -> Selection:
        """The selection by the rule, with neighborhoods at its bandwidth and remarks on the data."""
        if self.needs_all_pairs and not points.whole:
            raise ValueError(
                f"{type(self).__name__} compares all pairs; for {len(points)} points known only by their distances, only "
                "distances to the nearest are available: use GeometricConsistency or NeighborDistance, or fewer points."
            )
        if points.multiplicity is not None and not self.takes_weights:
            raise refusal(
                "{kind} counts neighbors one by one and does not support weights; {sample_weight} was given: leave it out, "
                "or use another method, such as gc.",
                kind=type(self).__name__,
            )
        found, n_sample = self.rule_alone(points, y), getattr(self, "n_sample", None)
        everyone = n_sample is None or n_sample >= len(points)
        known = {"n_points": points.total, "everyone": everyone}
        found = judged(replace(found, details=known | found.details), points, n_jobs=self.n_jobs)
        return found if n_sample is None else without_guess(found, n_sample, len(points))

    @abstractmethod
    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        """The selection by the rule alone."""


def with_its_own(selector: BandwidthSelector, **params: Any) -> BandwidthSelector:
    """The selector with those of these parameters that it has."""
    has = selector.get_params(deep=False)
    return selector.set_params(**{name: value for name, value in params.items() if name in has})


def searched_by(points: Points, sample: np.ndarray, n_jobs: int | None) -> tuple[Engine, np.ndarray, np.ndarray | None]:
    """What sums over the points, the bandwidths that a sample of them searches, and the weights of the sample."""
    engine = make_engine(points, GraphSpec(n_jobs=n_jobs))
    weights = weights_at(points.multiplicity, sample)
    return engine, search_grid(engine, engine.nearest(sample), points.total, weights), weights


def least_of(
    curve: Curve,
    method: str,
    *,
    rule: str = "global",
    random_state: np.random.RandomState | None = None,
    ends: bool = True,
    details: dict[str, Any] | None = None,
) -> Selection:
    """The selection by the lowest minimum of a curve, or by its first, with an interval given a ``random_state``."""
    minima = minima_of(curve)
    bandwidth, status = choose(curve, minima, rule=rule, ends=ends)
    interval = None
    if random_state is not None:
        interval = resampled_interval(curve, bandwidth, minima, rule=rule, random_state=random_state)
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
