"""Regional scales: a bandwidth for each region of the data, from the distortions of its own points.

The curve D(ε) is a mean over evaluation points, and the value of every one of them is known.  The mean over the points of
a region alone has minima of its own: the scale that *this* part of the data asks for.  On a union of manifolds of several
sizes one bandwidth cannot suit all of them.

Each evaluation point is the middle of a region, its nearest evaluation points.  Its bandwidth is the smallest that is a
minimum of the region's curve by more than noise; larger ones are the scale of a whole piece.  In between, logarithms of
bandwidths are averaged.
"""

from numbers import Integral

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from ..graphs.neighbors import nearest_neighbors
from ..laplacian import LocalScale
from ..scale import neighbor_scale, relative_scale, resolve_scale
from ..search import Curve, choose, minima_of
from ..validation import check_choice, check_number, check_points
from . import GeometricConsistency
from .base import locality_bound

__all__ = ["regional_scale", "scale_for"]

# The bound on locality of `GeometricConsistency`, here for each region.
_MAX_SHARE = 0.2


def regional_scale(
    X, n_neighbors=30, *, rule="first", n_sample=1000, intrinsic_dim=None, random_state=None, n_jobs=None
) -> LocalScale:
    """Local scales from geometric consistency, region by region.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    n_neighbors : int, default 30
        Evaluation points in a region.
    rule : {"first", "global"}, default "first"
        Which minimum of a region's curve to take: the smallest bandwidth that is one by more than noise, or the lowest.
    n_sample : int or None, default 1000
        Evaluation points; None takes all.
    intrinsic_dim : float, optional
        d, the dimension of the manifold; estimated from distances to neighbors by default.
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
    points = check_points(X)
    check_number("n_neighbors", n_neighbors, Integral, low=2)
    check_choice("rule", rule, ("first", "global"))
    random_state = check_random_state(random_state)
    selection = GeometricConsistency(n_sample=n_sample, random_state=random_state, n_jobs=n_jobs).fit(points).selection_
    sample, values = selection.details["sample"], selection.details["per_point"]
    scanned, effective = selection.details["scanned"], selection.details["effective_neighbors"]
    k = min(n_neighbors, len(sample)) - 1
    _, others = nearest_neighbors(points[sample], k, n_jobs=n_jobs)
    regions = np.column_stack([np.arange(len(sample)), others])
    logs = np.empty(len(sample))
    for i, region in enumerate(regions):
        curve = Curve(selection.bandwidths, values[region])
        bound = locality_bound(scanned, effective[region], len(points), _MAX_SHARE)
        bandwidth, _ = choose(curve, minima_of(curve, bound), rule=rule, bound=bound)
        logs[i] = np.log(bandwidth)
    smooth = logs[regions].mean(axis=1)
    nearest = _nearest_of(points, points[sample], n_jobs)
    if intrinsic_dim is None:
        intrinsic_dim = neighbor_scale(points, min(7, len(points) - 1), n_jobs=n_jobs).dim
    check_number("intrinsic_dim", intrinsic_dim, low=0, open_low=True)
    return LocalScale(relative_scale(np.exp(smooth[nearest].mean(axis=1))), float(intrinsic_dim))


def _nearest_of(points, sample, n_jobs, k=5):
    """Which of the sampled points are the k nearest of each point (N, k)."""
    return NearestNeighbors(n_neighbors=min(k, len(sample)), n_jobs=n_jobs).fit(sample).kneighbors(points)[1]


def scale_for(X, local_scale, *, random_state=None, n_jobs=None) -> LocalScale | None:
    """Scales from what the estimators accept as ``local_scale``: None, a number of neighbors, "regional", or scales."""
    if isinstance(local_scale, str):
        check_choice("local_scale", local_scale, ("regional",))
        return regional_scale(X, random_state=random_state, n_jobs=n_jobs)
    return resolve_scale(X, local_scale, n_jobs=n_jobs)
