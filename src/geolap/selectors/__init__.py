"""Ways to choose ε, one file each, all with the same face: ``fit(X, y=None)`` → ``bandwidth_``, ``selection_``."""

from copy import copy
from dataclasses import replace
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np

from ..choices import RULES, VARIANTS
from ..data.distances import Distances
from ..data.points import Points
from ..graphs.skeleton import Skeleton
from ..selection import Selection
from ..validation import check_bandwidths, check_choice, check_random_state
from .base import BandwidthSelector, with_its_own
from .geometric_consistency import GeometricConsistency

__all__ = [
    "METHODS",
    "BandwidthSelector",
    "GeometricConsistency",
    "checked_bandwidth",
    "resolve_bandwidth",
    "select_bandwidth",
    "selector_named",
]

METHODS: dict[str, type[BandwidthSelector]] = {
    name: getattr(import_module(f".{rule.module}", __name__), rule.selector) for name, rule in RULES.items()
}


def selector_named(name: Any, *, what: str = "method", **params: Any) -> BandwidthSelector:
    """The selector of that name, with these parameters."""
    check_choice(what, name, (*METHODS, *VARIANTS))
    rule, own = VARIANTS.get(name, (name, {}))
    has = METHODS[rule]().get_params(deep=False)
    unknown = sorted(set(params) - set(has))
    if unknown:
        raise TypeError(
            f"Method {name!r} takes the parameters {', '.join(has)}; {', '.join(unknown)} was given: leave it out."
        )
    return METHODS[rule](**{**own, **params})


def _seeded(selector: BandwidthSelector, random_state: Any) -> BandwidthSelector:
    """The selector with a random state, if it has a use for one."""
    check_random_state(random_state)
    return with_its_own(selector, random_state=random_state)


def select_bandwidth(
    X: Any, method: str = "gc", *, y: Any = None, sample_weight: Any = None, random_state: Any = None, **params: Any
) -> Selection:
    """Choose a kernel bandwidth for the points X by the named method.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    method : {"gc", "gc_inverse", "rec", "cv", "bgh", "semigroup", "clmr", "lcmc", "singer", "median", "knn"}, default "gc"
        `GeometricConsistency` (of the metric or of its inverse), `Reconstruction`, `CrossValidation` (needs y), `KernelSum`,
        `Semigroup`, `MultiscaleSVD`, `LocalContinuity`, `SingerRate`, `MedianDistance` or `NeighborDistance`.
    y : array-like (n_points,), optional
        Labels, for methods that need them.
    sample_weight : array-like (n_points,), optional
        Number of points that each row represents: a point of weight 2 is the same as a point given twice.
    random_state : int, RandomState or None
        For methods that use random numbers; `KernelSum` does not.
    **params
        Further parameters of the method's class.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(400, random_state=0).data
    >>> geolap.select_bandwidth(X, working_dim=2, random_state=0).method
    'gc'
    """
    return _seeded(selector_named(method, **params), random_state).fit(X, y, sample_weight).selection_


def checked_bandwidth(bandwidth: Any) -> float:
    """A bandwidth that is given as a number."""
    if not isinstance(bandwidth, Real) or isinstance(bandwidth, bool):
        raise TypeError(
            f"bandwidth must be a number, one of {', '.join(METHODS)}, or a selector; {bandwidth!r} was given: pass one of "
            "them."
        )
    return float(check_bandwidths(bandwidth)[0])


def resolve_bandwidth(
    points: Points,
    bandwidth: Any,
    *,
    y: Any = None,
    random_state: Any = None,
    skeleton: Skeleton | None = None,
    n_jobs: int | None = None,
) -> tuple[float, Selection | None]:
    """A number, the name of a method, or a selector → the bandwidth, and how it was chosen if it was.

    Geometric consistency selects for the graph whose ``skeleton`` is given.
    """
    if isinstance(bandwidth, str):
        selector = _seeded(selector_named(bandwidth, what="bandwidth"), random_state)
    elif isinstance(bandwidth, BandwidthSelector):
        selector = copy(bandwidth)
    else:
        return checked_bandwidth(bandwidth), None
    if selector.n_jobs is None:
        selector.n_jobs = n_jobs
    if isinstance(selector, GeometricConsistency):
        selection, _ = selector.timed(points, y, skeleton=skeleton)
    else:
        known = isinstance(points, Distances) or isinstance(points.given, np.ndarray)
        selection, _ = selector.timed(points if known else replace(points, given=points.host, engines={}), y)
    return selection.bandwidth, selection
