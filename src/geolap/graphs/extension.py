"""Extension to new points: means of values over the neighbors that a new point would have in a graph.

.. math:: \\bar f(x) = Σ_j P(x, x_j) f_j

with P(x, ·) the row of transition probabilities of x, at the bandwidth of its nearest training point.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ..data.distances import between, metric_params
from ..data.points import host_array, in_unit, on_device, tensor_in_unit_box
from ..engines.base import NO_NEIGHBORS
from ..kernel import gaussian, reach
from ..runtime.threads import in_order
from ..sentences import warn_caller
from .build import BuiltGraph

__all__ = ["Extension", "extend"]

# Distances from new points that a thread holds at once (64 MiB), and new points that look for neighbors together.
_HELD, _TOGETHER = 2**23, 512
# The share of a distance that its rounding is below.
_SLACK = 1e-9

# Answers with rows of the new points, training points that they may see, and squared distances between them.
_Task = Callable[[], tuple[np.ndarray, Any, Any]]


@dataclass(frozen=True)
class Extension:
    """What new points take from a graph.

    Attributes
    ----------
    means : ndarray (n, k)
        Of the values, over the neighbors.
    nearest : ndarray (n,)
        The nearest training point.
    twin : ndarray of bool (n,)
        Whether it is at the same place.
    """

    means: np.ndarray
    nearest: np.ndarray
    twin: np.ndarray


def extend(
    graph: BuiltGraph,
    new: Any,
    values: np.ndarray,
    *,
    groups: np.ndarray | None = None,
    told: bool = True,
    n_jobs: int | None = None,
) -> Extension:
    """Means of ``values`` (N, k) over the neighbors of new points.

    ``new`` (n, n_features) are checked points, or distances (n, N) to the training points if the graph was built from
    distances.  With ``groups`` (N,), only neighbors in the group of the nearest count.  A warning tells of points that have
    none, unless ``told`` is False.
    """
    given = new
    if graph.finder is not None:
        new = sparse.csr_array(graph.finder.transform(new))
    n, kernel = new.shape[0], graph.kernel
    rho, there = kernel.bandwidths / kernel.bandwidth, on_device(graph.points)
    alone = groups is None and graph.n_neighbors is None
    eps, tasks = _on_its_device(graph, new) if there else _to_training_points(graph, new, rho, alone=alone)
    found = Extension(np.empty((n, values.shape[1])), np.empty(n, dtype=int), np.empty(n, dtype=bool))
    seen = _Seen(rho, kernel.column_weights, values, groups)
    seen = seen.on(graph.points.device) if there else seen

    def of(task: _Task) -> int:
        """Fill in some rows; how many of them have no neighbors."""
        rows, near, sqdist = task()
        closest = sqdist.argmin(axis=1)
        least = host_array(sqdist[np.arange(len(closest)), closest])
        if not np.isfinite(least).all():
            raise ValueError(
                f"Every new point needs a distance to at least one training point; row {rows[~np.isfinite(least)][0]} has "
                "none: store at least its nearest."
            )
        nearest = near[closest]
        found.nearest[rows] = host_array(nearest)
        # A transformer's distance from a point to itself may be rounding instead of zero.
        found.twin[rows] = least == 0 if graph.finder is None else _same_place(given[rows], graph.points, nearest)
        W, isolated = _weights(sqdist, closest, near, graph, eps, seen)
        found.means[rows] = host_array((W @ seen.values[near]) / W.sum(axis=1, keepdims=True))
        return isolated

    isolated = sum(in_order(of, tasks, n_jobs=1 if there else n_jobs, label="extension"))
    if isolated and told:
        warn_caller(
            f"New points should have training points within reach; {isolated} of {n} have none at bandwidth "
            f"{kernel.bandwidth:.4g} and get the values of the nearest one: fit on points like these."
        )
    return found


@dataclass(frozen=True)
class _Seen:
    """What new points see of the training points: arrays, or tensors on their device."""

    rho: Any
    column_weights: Any
    values: Any
    groups: Any

    def on(self, device: Any) -> "_Seen":
        """The same on a device."""
        from .device import tensor_of

        arrays = (self.rho, self.column_weights, self.values, self.groups)
        return _Seen(*(None if a is None else tensor_of(a, device) for a in arrays))


def _weights(sqdist: Any, closest: Any, near: Any, graph: BuiltGraph, eps: float, seen: _Seen) -> tuple[Any, int]:
    """Unnormalized rows of P from squared distances, arrays or tensors, and how many of them have no neighbors."""
    nearest = near[closest]
    if graph.n_neighbors is not None and graph.n_neighbors < sqdist.shape[1]:
        sqdist[sqdist > _kth(sqdist, graph.n_neighbors - 1)] = np.inf
    sqdist /= seen.rho[nearest][:, None] * seen.rho[near]
    if graph.cutoff is not None:
        sqdist[sqdist > (graph.cutoff * eps) ** 2] = np.inf
    if seen.groups is not None:
        sqdist[seen.groups[nearest][:, None] != seen.groups[near]] = np.inf
    least = sqdist[np.arange(len(sqdist)), sqdist.argmin(axis=1)]
    isolated = int((~(least <= reach(eps) ** 2)).sum())
    lost = ~(least < -np.log(NO_NEIGHBORS) * eps**2)
    least[lost] = 0.0
    with np.errstate(under="ignore"):
        # Relative to the nearest, so that no row vanishes.
        W = gaussian(sqdist - least[:, None], eps) * seen.column_weights[near]
    lost |= W.sum(axis=1) == 0  # a training point without neighbors of its own has no density weight
    W[lost] = 0.0
    W[lost, closest[lost]] = 1.0
    return W, isolated


def _kth(sqdist: Any, k: int) -> Any:
    """The entry of rank k of each row (n, 1)."""
    if isinstance(sqdist, np.ndarray):
        return np.partition(sqdist, k, axis=1)[:, [k]]
    return sqdist.kthvalue(k + 1, dim=1, keepdim=True).values


def _on_its_device(graph: BuiltGraph, new: Any) -> tuple[float, list[_Task]]:
    """`_to_training_points` on the device of the training points."""
    import torch

    from ..engines.device import squared_distances
    from .device import row_slices, tensor_of

    training, unit = tensor_in_unit_box(graph.points)
    new = new.to(training.device) if on_device(new) else tensor_of(new, training.device)
    points = tensor_in_unit_box(new, graph.points)[0].clamp_(-1e140, 1e140)
    everyone = torch.arange(len(training), device=training.device)

    def of(part: slice) -> tuple[np.ndarray, Any, Any]:
        return np.arange(part.start, part.stop), everyone, squared_distances(points[part], training)

    parts = row_slices(len(points), len(training), training.device)
    return in_unit([graph.kernel.bandwidth], unit)[0], [partial(of, part) for part in parts]


def _to_training_points(graph: BuiltGraph, new: Any, rho: np.ndarray, *, alone: bool) -> tuple[float, list[_Task]]:
    """The bandwidth, and tasks whose squared distances are in the same unit; whether these alone say what counts."""
    n, N = new.shape[0], graph.kernel.n_points
    if graph.points is None or graph.finder is not None:
        everyone = np.arange(N)
        some = np.split(np.arange(n), np.arange(0, n, max(1, _HELD // N))[1:])
        return graph.kernel.bandwidth, [partial(_stored_distances, new, rows, everyone) for rows in some]
    if graph.metric != "euclidean" or sparse.issparse(graph.points):
        params = metric_params(graph.points, graph.metric)
        some = np.split(np.arange(n), np.arange(0, n, max(1, min(_TOGETHER, _HELD // N)))[1:])
        return graph.kernel.bandwidth, [partial(_by_metric, graph, new, rows, params) for rows in some]
    training = np.asarray(graph.points, dtype=float)
    unit = 2.0 ** np.ceil(np.log2(np.abs(training).max()))
    training = training / unit
    new = np.clip(np.asarray(new, dtype=float) / unit, -1e140, 1e140)  # farther is no different from far
    eps = in_unit([graph.kernel.bandwidth], unit)[0]
    # Beyond a cut-off nothing is seen.  Without one, what is √2 times as far as the nearest may be weighs nothing beside it.
    near_enough = far = np.inf
    if graph.cutoff is not None:
        near_enough = far = graph.cutoff * eps * float(rho.max())
    elif alone and graph.kernel.scale is None:
        near_enough, far = reach(eps), np.sqrt(2.0) * reach(eps)
    order = cKDTree(new, leafsize=_TOGETHER).indices if n > _TOGETHER else np.arange(n)
    k = graph.n_neighbors if graph.n_neighbors is not None and graph.n_neighbors < N else None

    def of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        points = new[rows]
        low, high = points.min(axis=0), points.max(axis=0)
        outside = training - np.clip(training, low, high)
        within = far if k is None else min(far, _radius(points, training, k))
        near = np.flatnonzero(np.einsum("nr,nr->n", outside, outside) <= within**2)
        sqdist = cdist(points, training[near], "sqeuclidean")
        if len(near) == N or (len(near) and (sqdist.min(axis=1) <= near_enough**2).all()):
            return rows, near, sqdist
        return rows, np.arange(N), cdist(points, training, "sqeuclidean")  # for the nearest of those out of reach

    some = np.split(order, np.arange(0, n, max(1, min(_TOGETHER, _HELD // N)))[1:])
    return eps, [partial(of, rows) for rows in some]


def _radius(points: np.ndarray, training: np.ndarray, k: int) -> float:
    """A distance within which all of these points have k training points: as the one amid them has, and how far they are."""
    center = points.mean(axis=0)
    from_center = [np.einsum("nr,nr->n", each - center, each - center) for each in (points, training)]
    return float(np.sqrt(from_center[0].max()) + np.sqrt(np.partition(from_center[1], k - 1)[k - 1])) * (1.0 + _SLACK)


def _by_metric(
    graph: BuiltGraph, new: Any, rows: np.ndarray, params: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squared distances by the metric of the graph."""
    return rows, np.arange(graph.kernel.n_points), between(new[rows], graph.points, graph.metric, params) ** 2


def _same_place(new: Any, training: Any, nearest: np.ndarray) -> np.ndarray:
    if training is None:
        return np.zeros(new.shape[0], dtype=bool)
    differs = new != training[nearest]
    return np.asarray(differs.sum(axis=1)).ravel() == 0


def _stored_distances(distances: Any, rows: np.ndarray, everyone: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squares of given distances, ``inf`` for those that a sparse matrix does not store."""
    some = distances[rows]
    if not sparse.issparse(some):
        return rows, everyone, some**2
    sqdist = np.full(some.shape, np.inf)
    sqdist[np.repeat(np.arange(len(rows)), np.diff(some.indptr)), some.indices] = some.data**2
    return rows, everyone, sqdist
