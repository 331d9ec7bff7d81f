"""Ways to choose ε, one file each, all with the same face: ``fit(X, y=None)`` → ``bandwidth_``, ``selection_``."""

from numbers import Real

from sklearn.base import clone

from ..selection import Selection
from ..validation import check_bandwidths, check_choice
from .base import BandwidthSelector
from .cross_validation import CrossValidation
from .distances import MedianDistance, NeighborDistance
from .geometric_consistency import GRAPH_PARAMETERS, GeometricConsistency, same_setting
from .kernel_sum import KernelSum
from .local_continuity import LocalContinuity
from .multiscale_svd import MultiscaleSVD
from .reconstruction import Reconstruction
from .semigroup import Semigroup
from .singer import SingerRate

__all__ = [
    "METHODS",
    "BandwidthSelector",
    "CrossValidation",
    "GeometricConsistency",
    "KernelSum",
    "LocalContinuity",
    "MedianDistance",
    "MultiscaleSVD",
    "NeighborDistance",
    "Reconstruction",
    "Semigroup",
    "SingerRate",
    "resolve_bandwidth",
    "select_bandwidth",
]

METHODS: dict[str, type[BandwidthSelector]] = {
    "gc": GeometricConsistency,
    "rec": Reconstruction,
    "cv": CrossValidation,
    "bgh": KernelSum,
    "semigroup": Semigroup,
    "clmr": MultiscaleSVD,
    "lcmc": LocalContinuity,
    "singer": SingerRate,
    "median": MedianDistance,
    "knn": NeighborDistance,
}


def select_bandwidth(X, method="gc", *, y=None, **params):
    """Choose a kernel bandwidth for the points X by the named method.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    method : {"gc", "rec", "cv", "bgh", "semigroup", "clmr", "lcmc", "singer", "median", "knn"}, default "gc"
        `GeometricConsistency`, `Reconstruction`, `CrossValidation` (needs y), `KernelSum`, `Semigroup`, `MultiscaleSVD`,
        `LocalContinuity`, `SingerRate`, `MedianDistance` or `NeighborDistance`.
    y : array-like (n_points,), optional
        Labels, for methods that use them.
    **params
        Parameters of the method's class.

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
    check_choice("method", method, tuple(METHODS))
    selector = METHODS[method]
    unknown = sorted(set(params) - set(selector().get_params()))
    if unknown:
        raise TypeError(
            f"Method {method!r} takes the parameters {', '.join(selector().get_params())}; {', '.join(unknown)} was given: "
            "leave it out."
        )
    return selector(**params).fit(X, y).selection_


def resolve_bandwidth(X, bandwidth, *, y=None, random_state=None, graph=None) -> tuple[float, Selection | None]:
    """A number, the name of a method, or a selector → the bandwidth, and how it was chosen if it was.

    ``graph`` holds parameters of the graph that will be built; geometric consistency selects for that graph.
    """
    if isinstance(bandwidth, Real) and not isinstance(bandwidth, bool):
        return float(check_bandwidths(bandwidth)[0]), None
    if isinstance(bandwidth, str):
        check_choice("bandwidth", bandwidth, tuple(METHODS))
        selector = METHODS[bandwidth]()
        if "random_state" in selector.get_params():
            selector.set_params(random_state=random_state)
    elif isinstance(bandwidth, BandwidthSelector):
        selector = clone(bandwidth)
    else:
        raise TypeError(
            f"bandwidth must be a number, one of {', '.join(METHODS)}, or a selector; {bandwidth!r} was given: pass one of "
            "them."
        )
    if isinstance(selector, GeometricConsistency):
        _check_agreement(selector, graph or {})
        selector.set_params(**(graph or {}))
    selection = selector.fit(X, y).selection_
    return selection.bandwidth, selection


def _check_agreement(selector, graph):
    """A selector that says something else about the graph than the estimator is a mistake."""
    default = GeometricConsistency()
    for name in GRAPH_PARAMETERS:
        own = getattr(selector, name)
        if name in graph and own is not getattr(default, name) and not same_setting(own, graph[name]):
            raise ValueError(
                f"The bandwidth is selected for the graph that the estimator builds; its selector was given {name}={own!r}: "
                f"give {name} to the estimator instead."
            )
