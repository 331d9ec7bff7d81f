"""Local scales: how the bandwidth should vary from place to place, ε(x_i) = ε ρ_i.

.. math:: ρ_i = r_k(i) / \\mathrm{median}_j\\, r_k(j)

with r_k(i) the distance from x_i to its k-th neighbor (Zelnik-Manor & Perona 2004): where points are sparse, kernels are
wide.  The median is divided out so that ε remains a length, the bandwidth at a typical point.

The density weights of such a graph need the dimension d of the manifold (`geolap.laplacian`).  Unless it is given, it comes
from the same distances by maximum likelihood (Levina & Bickel 2004, with MacKay & Ghahramani's mean of inverses):

.. math:: 1/d = \\frac{1}{N (k - 1)} Σ_i Σ_{j<k} \\log \\frac{r_k(i)}{r_j(i)}
"""

from numbers import Integral

import numpy as np

from .graphs.neighbors import nearest_neighbors
from .laplacian import LocalScale
from .validation import check_number, check_points, host_array

__all__ = ["neighbor_scale", "relative_scale", "resolve_scale"]

# Neighbors for the dimension; fewer make it noisy, more leave the neighborhood.
_FOR_DIMENSION = 10
# A bandwidth further than this from the typical one is that of an outlier or of duplicates.
_WIDEST_RATIO = 1e3


def neighbor_scale(X, n_neighbors=7, *, intrinsic_dim=None, n_jobs=None) -> LocalScale:
    """Self-tuned scales: the distance from each point to its k-th neighbor, over the median of these distances.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    n_neighbors : int, default 7
        k, as Zelnik-Manor & Perona chose it.
    intrinsic_dim : float, optional
        d, the dimension of the manifold; estimated from distances to neighbors by default.
    n_jobs : int, optional

    Returns
    -------
    LocalScale

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(500, random_state=0).data
    >>> scale = geolap.neighbor_scale(X)
    >>> scale.rho.shape, round(scale.dim)
    ((500,), 2)
    """
    points = check_points(X)
    check_number("n_neighbors", n_neighbors, low=1)
    wanted = n_neighbors if intrinsic_dim is not None else max(n_neighbors, _FOR_DIMENSION)
    distances, _ = nearest_neighbors(points, min(wanted, max(len(points) - 1, n_neighbors)), n_jobs=n_jobs)
    if intrinsic_dim is None:
        intrinsic_dim = min(_dimension(distances[:, :_FOR_DIMENSION]), points.shape[1])
    check_number("intrinsic_dim", intrinsic_dim, low=0, open_low=True)
    return LocalScale(relative_scale(distances[:, n_neighbors - 1]), float(intrinsic_dim))


def relative_scale(lengths):
    """Lengths over their median, none zero and none further from it than a factor of a thousand."""
    positive = lengths[lengths > 0]
    if not positive.size:
        return np.ones(len(lengths))
    return np.clip(lengths / np.median(positive), 1.0 / _WIDEST_RATIO, _WIDEST_RATIO)


def _dimension(distances):
    """d by maximum likelihood from distances (N, k) to the nearest neighbors; points among duplicates say nothing."""
    distances = distances[distances[:, 0] > 0]
    if not len(distances) or distances.shape[1] < 2:
        return 1.0
    logs = np.log(distances[:, -1:] / distances[:, :-1])
    return float(1.0 / max(logs.mean(), 1e-3))


def resolve_scale(X, local_scale, *, n_jobs=None) -> LocalScale | None:
    """A number of neighbors or ready scales → scales; None stays None."""
    if local_scale is None:
        return None
    X = host_array(X)
    if isinstance(local_scale, Integral) and not isinstance(local_scale, bool):
        check_number("local_scale", int(local_scale), low=1, high=len(X) - 1)
        return neighbor_scale(X, int(local_scale), n_jobs=n_jobs)
    if not isinstance(local_scale, LocalScale):
        raise TypeError(
            f"local_scale must be None, a number of neighbors, 'regional' or a LocalScale; {local_scale!r} was given: pass "
            "one of them."
        )
    rho = np.asarray(host_array(local_scale.rho), dtype=float)
    if rho.shape != (len(X),) or not (np.isfinite(rho).all() and (rho > 0).all()):
        raise ValueError(
            f"local_scale must hold one positive finite number for each of the {len(X)} points; shape {rho.shape} was "
            "given: match it to the points."
        )
    check_number("the dimension of a LocalScale", local_scale.dim, low=0, open_low=True)
    return LocalScale(rho, float(local_scale.dim))
