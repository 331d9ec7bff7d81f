"""Tangent bases and dual metrics for a group of evaluation points that share their neighbors.

The part of an engine that works on rows.  Given the squared distances from a few evaluation points to the points around
them, it processes all bandwidths together, widest first, with fewer and fewer points in reach.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from ..data.multiplicity import counts_of, weights_at
from ..kernel import Ladder, ladder_weights, reach
from ..metric import drift, dual_metric, dual_metric_from
from ..runtime.threads import Scratch, checkpoint
from ..tangent import Moments, gram_finder, tangent_finder
from .base import NO_NEIGHBORS, LocalMetrics

__all__ = ["MOST_SPANNING", "Around", "directions_at_once", "metrics_around", "transitions"]

# Weights processed at once (4 MiB: a share of a cache).
_BATCH_ELEMENTS = 2**19
# Weights are no less than this, far below what counts as a neighbor: numbers whose squares are subnormal are slow.
_LEAST = 1e-140
# A batch of bandwidths ends when fewer points are in reach than this share of those at its start.
_SHRUNK = 0.7
# Up to this ambient dimension, moments and their eigenvectors take less time than iteration and coordinates.
_FEW_DIMENSIONS = 24
# Directions that are found at once there; more are rarely asked for.
_AT_ONCE = 4
# Points that span a tangent plane where there are no coordinates.
MOST_SPANNING = 500


@dataclass(frozen=True)
class Around:
    """c evaluation points and the n points around them, for m bandwidths.

    Attributes
    ----------
    origin : ndarray (c, r)
        The evaluation points.
    points : ndarray (n, r)
    sqdist : ndarray (c, n)
        Squared distances, over ρ_i ρ_j where scales vary; ``inf`` for the point itself, its duplicates, and ignored
        pairs.
    density : ndarray (n, m)
        Density weights v_j.
    at_center : ndarray (c,)
        Number of points at the place of each evaluation point, including itself and all copies.
    density_here : ndarray (c, m)
        The sum of their density weights.
    rho : ndarray (c,)
        Local scales of the evaluation points.
    multiplicity : ndarray (n,) or None
        Weights of the points; those of the points at the place of an evaluation point are in ``at_center`` already.
    inner : callable, optional
        ``(rows, columns) → G`` (c + q, c + n), inner products of the evaluation points and some others with them and some
        others, where there are no coordinates.
    """

    origin: np.ndarray
    points: np.ndarray
    sqdist: np.ndarray
    density: np.ndarray
    at_center: np.ndarray
    density_here: np.ndarray
    rho: np.ndarray
    multiplicity: np.ndarray | None = None
    inner: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None


def metrics_around(
    around: Around, steps: list[Ladder], dim: int, *, cutoff: float | None = None, scratch: Scratch
) -> LocalMetrics:
    """The `LocalMetrics` of c evaluation points at m bandwidths."""
    # Compared with the nearest neighbor, a point beyond its distance by more than `reach` is negligible.  With points sorted
    # by how far they are beyond the nearest neighbor of any row, those in reach of ε are always the first n(ε).
    nearest = around.sqdist.min(axis=1, initial=np.inf)
    beyond = (around.sqdist - np.where(np.isfinite(nearest), nearest, 0.0)[:, None]).min(axis=0)
    order = np.argsort(beyond)
    beyond, sqdist, density = beyond[order], around.sqdist[:, order], around.density[order].T

    def in_reach(eps: float) -> int:
        return int(np.searchsorted(beyond, reach(eps) ** 2, side="right"))

    c, m = around.density_here.shape
    H, effective, drifts = np.zeros((c, m, dim, dim)), np.ones((c, m)), np.zeros((c, m))
    order = order[: in_reach(max(ladder.bandwidths[0] for ladder in steps))]
    if not len(order):
        return LocalMetrics(H, effective, drifts)
    m_sorted = weights_at(around.multiplicity, order)
    find = _finder(around, order, dim)
    for columns, epsilons, W in _weight_batches(sqdist, steps, in_reach, cutoff, scratch):
        b, _, n = W.shape
        k = in_reach(epsilons[0] / np.sqrt(2.0))  # squared weights are those of ε/√2
        W2 = np.square(W[:, :, :k], out=scratch.array("W2", (b, c, k)))
        if m_sorted is not None:
            W2 *= m_sorted[:k]
            W *= m_sorted[:n]
        neighbors = W.sum(axis=2)
        total = around.at_center + neighbors
        effective[:, columns] = (total**2 / (around.at_center + W2.sum(axis=2))).T
        metrics = find(W, W2, neighbors, total)
        P = transitions(W, neighbors, density[columns, None, :n], around.density_here[:, columns].T)
        found = metrics(P, epsilons[:, None] * around.rho)
        H[:, columns], drifts[:, columns] = (values.swapaxes(0, 1) for values in found)
    return LocalMetrics(H, effective, drifts)


def directions_at_once(r: int) -> int:
    """How many directions among r take no longer than one."""
    return min(r, _AT_ONCE) if r <= _FEW_DIMENSIONS else 1


def transitions(W: np.ndarray, neighbors: np.ndarray, density: np.ndarray, density_here: np.ndarray) -> np.ndarray:
    """Rows of P (b, c, n), in the place of the weights W; none from a point without neighbors.

    From the sums (b, c) of the weights, density weights (b, 1 or c, n), and those at the evaluation points (b, c).
    """
    P = np.multiply(W, density, out=W)
    P /= (P.sum(axis=2) + density_here)[:, :, None]
    P[neighbors < NO_NEIGHBORS] = 0.0
    return P


# H (b, c, dim, dim) and drifts (b, c) from rows of P (b, c, n) and bandwidths (b, c).
_Metrics: TypeAlias = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
# These, once tangent planes are found, from weights (b, c, n), squared weights (b, c, k), and the sums (b, c) of weights
# without and with those of the points at the center.
_Finder: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], _Metrics]


def _finder(around: Around, order: np.ndarray, dim: int) -> _Finder:
    if around.inner is not None:
        return _by_products(around, order, dim)
    if around.points.shape[1] <= max(_FEW_DIMENSIONS, 3 * dim):
        return _by_moments(around, order, dim)
    return _by_points(around, order, dim)


def _by_moments(around: Around, order: np.ndarray, dim: int) -> _Finder:
    points, origin = around.points[order], around.origin
    moments = Moments(points)

    def find(W: np.ndarray, W2: np.ndarray, neighbors: np.ndarray, total: np.ndarray) -> _Metrics:
        b, c, n = W.shape
        places, at_center = np.tile(origin, (b, 1)), np.tile(around.at_center, b)
        offset = _offsets(W, points, origin, neighbors, total)
        V = moments.bases(places, offset, at_center, W2.reshape(b * c, -1), dim).reshape(b, c, dim, -1)

        def metrics(P: np.ndarray, eps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            first, second = moments.about(places, P.reshape(b * c, n))
            first, second = first.reshape(b, c, -1), second.reshape(b, c, *second.shape[1:])
            return dual_metric_from(V, second, eps), drift(V, first, eps)

        return metrics

    return find


def _by_points(around: Around, order: np.ndarray, dim: int) -> _Finder:
    points, origin = around.points[order], around.origin
    coordinates = tangent_finder(points, dim)

    def find(W: np.ndarray, W2: np.ndarray, neighbors: np.ndarray, total: np.ndarray) -> _Metrics:
        b, c, n = W.shape
        offset = _offsets(W, points, origin, neighbors, total)
        Y = coordinates(np.tile(origin, (b, 1)), offset, np.tile(around.at_center, b), W2.reshape(b * c, -1), n)
        return partial(_metrics, Y.reshape(b, c, dim, n))

    return find


def _offsets(W: np.ndarray, points: np.ndarray, origin: np.ndarray, neighbors: np.ndarray, total: np.ndarray) -> np.ndarray:
    """a = x̄ − x_i (b·c, r)."""
    b, c, n = W.shape
    weighted = (W.reshape(b * c, n) @ points[:n]).reshape(b, c, -1)
    return ((weighted - origin * neighbors[:, :, None]) / total[:, :, None]).reshape(b * c, -1)


def _metrics(Y: np.ndarray, P: np.ndarray, eps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return dual_metric(Y, P, eps), drift(Y, P, eps)


def _by_products(around: Around, order: np.ndarray, dim: int) -> _Finder:
    assert around.inner is not None
    n = len(order)
    # The nearest points, and some of the others, each for several.
    spanning = np.arange(n) if n <= MOST_SPANNING else np.r_[: MOST_SPANNING // 2, MOST_SPANNING // 2 : n : _every(n)]
    times = np.where(spanning < MOST_SPANNING // 2, 1, _every(n))
    copies = counts_of(weights_at(around.multiplicity, order[spanning]), len(spanning))
    G = around.inner(order[spanning], order)
    coordinates = gram_finder(G, len(around.at_center), spanning, times, copies, dim)

    def find(W: np.ndarray, W2: np.ndarray, neighbors: np.ndarray, total: np.ndarray) -> _Metrics:
        return partial(_metrics, coordinates(W, around.at_center, W2.shape[2]))

    return find


def _every(n: int) -> int:
    """Of the more distant points, one in how many spans a tangent plane."""
    return max(1, -(-2 * n // MOST_SPANNING) - 1)


def _weight_batches(
    sqdist: np.ndarray, steps: list[Ladder], in_reach: Callable[[float], int], cutoff: float | None, scratch: Scratch
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Weights (b, c, n) of several bandwidths at once, widest first, as many as fit: (columns, bandwidths, weights)."""
    columns: list[int] = []
    epsilons: list[float] = []
    batch = np.empty((0, 0, 0))
    for column, eps, weights in _descent(sqdist, steps, in_reach, cutoff, scratch):
        checkpoint()
        n = in_reach(eps)
        if columns and (len(columns) == len(batch) or n < _SHRUNK * batch.shape[2]):
            yield columns, np.array(epsilons), batch[: len(columns)]
            columns, epsilons = [], []
        if not columns:
            batch = scratch.array("batch", (max(1, _BATCH_ELEMENTS // (n * len(weights) + 1)), len(weights), n))
        np.maximum(weights[:, :n], _LEAST, out=batch[len(columns), :, :n])
        batch[len(columns), :, n:] = 0.0
        columns.append(column)
        epsilons.append(eps)
    if columns:
        yield columns, np.array(epsilons), batch[: len(columns)]


def _descent(
    sqdist: np.ndarray, steps: list[Ladder], in_reach: Callable[[float], int], cutoff: float | None, scratch: Scratch
) -> Iterator[tuple[int, float, np.ndarray]]:
    """Walk down all ladders together, widest bandwidth first; a ladder holds memory only while it is being used."""
    order = sorted((-eps, k) for k, ladder in enumerate(steps) for eps in ladder.bandwidths)
    walks: dict[int, Iterator] = {}
    slots: dict[int, int] = {}
    for _, k in order:
        if k not in slots:
            n = in_reach(steps[k].bandwidths[0])
            slots[k] = min(set(range(len(slots) + 1)) - set(slots.values()))
            out = scratch.array(f"ladder {slots[k]}", (len(sqdist), n))
            walks[k] = zip(steps[k].columns, ladder_weights(sqdist[:, :n], steps[k], out, cutoff=cutoff), strict=True)
        last, step = next(walks[k])
        yield step
        if last == steps[k].columns[-1]:
            del slots[k]
