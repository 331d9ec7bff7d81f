"""Local scales: how the bandwidth should vary from place to place, ε(x_i) = ε ρ_i.

.. math:: ρ_i = r_k(i) / \\mathrm{median}_j\\, r_k(j)

with r_k(i) the distance from x_i to its k-th neighbor (Zelnik-Manor & Perona 2004): where points are sparse, kernels are
wide.  The median is divided out so that ε remains a length, the bandwidth at a typical point.

Or by geometric consistency, region by region (`regional_scale`): the curve D(ε) is a mean over evaluation points, and the
mean over the points of a region alone has minima of its own, the scale of *this* part of the data.  On a union of manifolds
of several sizes one bandwidth cannot suit all of them.  Each evaluation point is the middle of a region, its nearest
evaluation points; its bandwidth is the smallest that is a minimum of the region's curve by more than noise, as larger ones
are the scale of a whole piece.  In between, logarithms of bandwidths are averaged.

The density weights of such a graph need the dimension d of the manifold (`geolap.laplacian`).  Unless it is given, it comes
from the same distances by maximum likelihood (Levina & Bickel 2004, with MacKay & Ghahramani's mean of inverses):

.. math:: 1/d = \\frac{1}{N (k - 1)} Σ_i Σ_{j<k} \\log \\frac{r_k(i)}{r_j(i)}
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..consistency import Consistency
from ..data.distances import Metric, points_of
from ..data.multiplicity import weights_at
from ..data.points import Points, host_array
from ..engines import make_engine
from ..laplacian import LocalScale
from ..least_distortion import least_distortion
from ..runtime.threads import thread_count
from ..search import Curve, choose, minima_of
from ..search_range import locality_bound
from ..sentences import Sentence, refusal
from ..specification import FullSpec, GraphSpec
from ..validation import check_choice, check_n_sample, check_number, check_random_state
from .neighbors import nearest_neighbors

__all__ = ["neighbor_scale", "regional_scale", "resolve_scale"]

# Neighbors for the dimension; fewer make it noisy, more leave the neighborhood.
_FOR_DIMENSION = 10
# A bandwidth further than this from the typical one is that of an outlier or of duplicates.
_WIDEST_RATIO = 1e3


def neighbor_scale(
    X: Any,
    n_neighbors: int = 7,
    *,
    intrinsic_dim: float | None = None,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> LocalScale:
    """Self-tuned scales: the distance from each point to its k-th neighbor, over the median of these distances.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    n_neighbors : int, default 7
        k, as Zelnik-Manor & Perona chose it.
    intrinsic_dim : float, optional
        d, the dimension of the manifold; estimated from distances to neighbors by default.
    metric : str or callable, default "euclidean"
        As for `geolap.distortion`.
    n_jobs : int, optional

    Returns
    -------
    LocalScale

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(500, random_state=0).data
    >>> scale = geolap.neighbor_scale(X)
    >>> scale.rho.shape, round(scale.intrinsic_dim)
    ((500,), 2)
    """
    points = points_of(X, metric)
    check_number("n_neighbors", n_neighbors, Integral, low=1)
    wanted = n_neighbors if intrinsic_dim is not None else max(n_neighbors, _FOR_DIMENSION)
    distances, _ = nearest_neighbors(points, min(wanted, max(len(points) - 1, n_neighbors)), n_jobs=n_jobs)
    if intrinsic_dim is None:
        intrinsic_dim = min(_dimension(distances[:, :_FOR_DIMENSION]), points.shape[1])
    check_number("intrinsic_dim", intrinsic_dim, low=0, open_low=True)
    return LocalScale(_relative(distances[:, n_neighbors - 1]), float(intrinsic_dim))


def regional_scale(
    X: Any,
    n_neighbors: int = 30,
    *,
    rule: str = "first",
    n_sample: int | None = 1000,
    intrinsic_dim: float | None = None,
    metric: Metric = "euclidean",
    renormalization: float = 1.0,
    exact: bool = False,
    engine: str = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> LocalScale:
    """Local scales from geometric consistency, region by region.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    n_neighbors : int, default 30
        Number of evaluation points in a region.
    rule : {"first", "global"}, default "first"
        Which minimum of a region's curve to take: the smallest bandwidth that is one by more than noise, or the lowest.
    n_sample : int or None, default 1000
        Number of evaluation points; None uses all.
    intrinsic_dim : float, optional
        d, the dimension of the manifold; estimated from distances to neighbors by default.
    metric : str or callable, default "euclidean"
    renormalization : float, default 1.0
    exact : bool, default False
    engine : {"auto", "tiled", "dense", "device", "cells"}, default "auto"
        As for `geolap.distortion`.
    random_state : int, RandomState or None
        Chooses the evaluation points.
    n_jobs : int, optional

    Returns
    -------
    LocalScale

    Examples
    --------
    >>> import numpy as np, geolap
    >>> sphere = geolap.datasets.make_sphere(400, random_state=0).data
    >>> X = np.vstack([sphere, 10 + 0.1 * sphere])  # a large sphere and a small one
    >>> rho = geolap.regional_scale(X, random_state=0).rho
    >>> bool(np.median(rho[:400]) > 5 * np.median(rho[400:]))
    True
    """
    points = points_of(X, metric)
    check_number("n_neighbors", n_neighbors, Integral, low=2)
    check_choice("rule", rule, ("first", "global"))
    if not points.whole:
        raise ValueError(
            "Regions are compared over all pairs; only distances to the nearest points are known here: use a number of "
            "neighbors as local_scale, or fewer points."
        )
    random_state = check_random_state(random_state)
    sample = check_n_sample(n_sample, len(points), random_state)
    spec = GraphSpec(renormalization=renormalization, exact=exact, engine=engine, n_jobs=n_jobs)
    problem = Consistency(make_engine(points, spec), sample, renormalization=renormalization)
    selection = least_distortion(problem, points.total, random_state=random_state)
    values, effective = selection.details["per_point"], selection.details["effective_neighbors"]
    some = points.box[sample]
    _, others = nearest_neighbors(points.subset(sample), min(n_neighbors, len(sample)) - 1, n_jobs=n_jobs)
    regions = np.column_stack([np.arange(len(sample)), others])
    logs = np.empty(len(sample))
    for i, region in enumerate(regions):
        weights = weights_at(problem.weights, region)
        curve = Curve(selection.bandwidths, values[region], weights)
        bound = locality_bound(selection.details["scanned"], effective[region], points.total, weights=weights)
        bandwidth, _ = choose(curve, minima_of(curve, bound), rule=rule, bound=bound)
        logs[i] = np.log(bandwidth)
    smooth = logs[regions].mean(axis=1)
    search = NearestNeighbors(n_neighbors=min(5, len(sample)), n_jobs=thread_count(n_jobs)).fit(some)
    nearest = search.kneighbors(points.box, return_distance=False)
    if intrinsic_dim is None:
        intrinsic_dim = neighbor_scale(points, min(7, len(points) - 1), n_jobs=n_jobs).intrinsic_dim
    check_number("intrinsic_dim", intrinsic_dim, low=0, open_low=True)
    return LocalScale(_relative(np.exp(smooth[nearest].mean(axis=1))), float(intrinsic_dim))


def _relative(lengths: np.ndarray) -> np.ndarray:
    """Lengths over their median, none zero and none further from it than a factor of a thousand."""
    positive = lengths[lengths > 0]
    if not positive.size:
        return np.ones(len(lengths))
    return np.clip(lengths / np.median(positive), 1.0 / _WIDEST_RATIO, _WIDEST_RATIO)


def _dimension(distances: np.ndarray) -> float:
    """d by maximum likelihood from distances (N, k) to the nearest neighbors; points among duplicates say nothing."""
    distances = distances[distances[:, 0] > 0]
    if not len(distances) or distances.shape[1] < 2:
        return 1.0
    logs = np.log(distances[:, -1:] / distances[:, :-1])
    return float(1.0 / max(logs.mean(), 1e-3))


def resolve_scale(points: Points, spec: FullSpec, *, random_state: Any = None) -> LocalScale | None:
    """Scales from what is accepted as ``local_scale``: a number of neighbors, "regional", or scales; None stays None."""
    local_scale = spec.local_scale
    if local_scale is None:
        return None
    if isinstance(local_scale, str) and local_scale == "regional":
        return regional_scale(
            points,
            renormalization=spec.renormalization,
            exact=spec.exact,
            engine=spec.engine,
            random_state=random_state,
            n_jobs=spec.n_jobs,
        )
    if isinstance(local_scale, Integral) and not isinstance(local_scale, bool):
        check_number("local_scale", int(local_scale), low=1, high=len(points) - 1)
        return neighbor_scale(points, int(local_scale), n_jobs=spec.n_jobs)
    if not isinstance(local_scale, LocalScale):
        raise (ValueError if isinstance(local_scale, str) else TypeError)(
            Sentence(
                "{local_scale} must be None, a number of neighbors, 'regional' or a LocalScale; {given!r} was given: pass "
                "one of them.",
                given=local_scale,
            )
        )
    rho = np.asarray(host_array(local_scale.rho), dtype=float)
    if rho.shape != (len(points),) or not (np.isfinite(rho).all() and (rho > 0).all()):
        raise refusal(
            "{local_scale} must hold one positive finite number for each of the {n} points; shape {shape} was given: "
            "match it to the points.",
            n=len(points),
            shape=rho.shape,
        )
    check_number("the dimension of a LocalScale", local_scale.intrinsic_dim, low=0, open_low=True)
    return LocalScale(rho, float(local_scale.intrinsic_dim))
