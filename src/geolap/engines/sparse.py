"""The sparse engine: only the pairs that a graph stores, for nearest-neighbor graphs and points known by their distances.

Sums run over the stored pairs alone, so D(ε) is that of the graph that is actually built from them.  Tangent planes come
from coordinates, or where there are none from inner products (`geolap.data.distances`).
"""

from functools import partial
from typing import Any, cast

import numpy as np
from scipy import sparse

from ..data.distances import Distances
from ..data.multiplicity import copies_of, counts_of, weights_at
from ..data.pairs import ZERO, Pairs
from ..data.points import PointsLike, as_points, in_unit, root_mean_square_distance
from ..kernel import Ladder, gaussian, ladder_weights, ladders
from ..laplacian import LocalScale
from ..metric import drift, dual_metric
from ..runtime.progress import at_bandwidths
from ..runtime.threads import Scratch, checkpoint, in_order
from ..tangent import tangent_bases
from .base import ExactEngine, LocalMetrics
from .local import MOST_SPANNING, Around, metrics_around, transitions

__all__ = ["SparseEngine"]

# Rows whose pairs are processed together, and evaluation points in one task.
_ROWS = 1024
_GROUP = 8
# Points with no more pairs than this are processed together: at most so many, and as many as make so many numbers.
_FEW_STORED, _GROUP_OF_FEW, _HELD = 64, 64, 2**22
# Points that a point may be joined with where distances between them are estimated.
_MOST_JOINED = 300
# Where points are farther apart than this share of all distances, inner products about any place keep enough digits; so many
# points, known by their distances, are then processed together.
_APART, _GROUP_BY_PRODUCTS = 1e-3, 32


class SparseEngine(ExactEngine):
    """Sums over stored pairs."""

    def __init__(
        self,
        X: PointsLike,
        pairs: Pairs,
        *,
        cutoff: float | None = None,
        n_jobs: int | None = None,
        scale: LocalScale | None = None,
    ) -> None:
        self._points = points = as_points(X)
        self._X = points.coordinates
        self._unit = points.unit
        # Inner products, where all are needed and there are few.
        few = self._X is None and points.whole and len(points) <= MOST_SPANNING
        self._G = cast(Distances, points).products() if few else None
        self.multiplicity = points.multiplicity
        self._m = counts_of(points.multiplicity, len(points))
        if not sparse.issparse(pairs.sqdist):  # a sparse matrix would lose zeros
            pairs = Pairs(sparse.csr_array(np.maximum(pairs.sqdist, ZERO)), pairs.unit)
        S: Any = pairs.sqdist
        self._at_center = S.data <= ZERO * 1e10  # the point itself and its duplicates
        if scale is not None:
            S = pairs.scaled(scale.rho).sqdist
        data = S.data * (pairs.unit / self._unit) ** 2
        data[S.indices == np.repeat(np.arange(len(points)), np.diff(S.indptr))] = np.inf
        self._sqdist = sparse.csr_array((data, S.indices, S.indptr), shape=S.shape)
        self._scale = scale
        self._rho = np.ones(len(points)) if scale is None else scale.rho
        self._cutoff = cutoff
        self._n_jobs = n_jobs

    def mean_distance(self) -> float:
        if isinstance(self._points, Distances):
            return self._points.mean_distance()
        return root_mean_square_distance(self._points.box, self.multiplicity) * self._unit

    def nearest(self, targets: np.ndarray) -> np.ndarray:
        apart = np.where(self._at_center, np.inf, self._sqdist.data)
        # Rows are never empty: each stores its diagonal.
        return np.sqrt(np.minimum.reduceat(apart, self._sqdist.indptr[:-1])[targets]) * self._unit

    def row_sums(self, bandwidths: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
        S = self._sqdist if targets is None else self._sqdist[targets]
        steps = ladders(in_unit(bandwidths, self._unit))

        def of(first: int) -> np.ndarray:
            checkpoint()
            ends = S.indptr[first : first + _ROWS + 1]
            sqdist, m = S.data[ends[0] : ends[-1]], self._m[S.indices[ends[0] : ends[-1]]]
            sums = np.empty((len(ends) - 1, len(bandwidths)))
            W = np.empty_like(sqdist)
            for ladder in steps:
                for column, _, weights in ladder_weights(sqdist, ladder, W, cutoff=self._cutoff):
                    sums[:, column] = np.add.reduceat(weights * m, ends[:-1] - ends[0])
            return sums

        starts = range(0, S.shape[0], _ROWS)
        label = at_bandwidths("degrees", len(bandwidths))
        sums = np.concatenate(list(in_order(of, starts, n_jobs=self._n_jobs, label=label)))
        return sums + copies_of(self.multiplicity, slice(None) if targets is None else targets)

    def _metrics(self, sample: np.ndarray, bandwidths: np.ndarray, density: np.ndarray, dim: int) -> LocalMetrics:
        epsilons = in_unit(bandwidths, self._unit)
        steps, scratch = ladders(epsilons), Scratch()
        stored = np.diff(self._sqdist.indptr)[sample]
        few = (stored <= _FEW_STORED) & (self._X is not None)
        together = np.full(len(sample), self._G is not None) & (self.nearest(sample) > _APART * self._unit)

        def of(group: np.ndarray) -> LocalMetrics:
            checkpoint()
            if few[group[0]]:
                return self._metrics_of(sample[group], epsilons, density, dim)
            if together[group[0]]:
                return self._metrics_by_products(sample[group], steps, density, dim, scratch)
            return LocalMetrics.joined([self._metrics_at(i, steps, density, dim, scratch) for i in sample[group]], axis=0)

        r = 1 if self._X is None else self._X.shape[1]
        numbers = _FEW_STORED * max(len(bandwidths) * min(r, _FEW_STORED), r)
        kinds = (
            (np.flatnonzero(few), max(1, min(_GROUP_OF_FEW, _HELD // numbers))),
            (np.flatnonzero(together), _GROUP_BY_PRODUCTS),
            (np.flatnonzero(~few & ~together), _GROUP),
        )
        groups = [rows[k : k + size] for rows, size in kinds for k in range(0, len(rows), size)]
        label = at_bandwidths("metrics", len(bandwidths))
        found = LocalMetrics.joined(list(in_order(of, groups, n_jobs=self._n_jobs, label=label)), axis=0)
        return found.at(np.argsort(np.concatenate(groups)))

    def _metrics_of(self, group: np.ndarray, epsilons: np.ndarray, density: np.ndarray, dim: int) -> LocalMetrics:
        """At points that have few pairs each, for all together."""
        S, X, m = self._sqdist, cast(np.ndarray, self._X), self._m
        first, ends = S.indptr[group, None], S.indptr[group + 1, None]
        place = first + np.arange((ends - first).max())
        stored, place = place < ends, np.minimum(place, ends - 1)
        j, here = S.indices[place], self._at_center[place]
        own = m[j] * (stored & here)
        at_center, density_here = own.sum(axis=1), np.einsum("ck,ckm->mc", own, density[j])
        A, sqdist = X[j] - X[group, None], np.where(stored & ~here, S.data[place], np.inf)
        if A.shape[2] > A.shape[1]:  # the same points in the span of their own
            A = np.swapaxes(np.asarray(np.linalg.qr(A.mT, mode="r")), 1, 2)
        W = np.stack([gaussian(sqdist, eps, cutoff=self._cutoff) for eps in epsilons])
        W2 = np.square(W) * m[j]
        W *= m[j]
        neighbors = W.sum(axis=2)
        total = at_center + neighbors
        offset = np.einsum("mck,ckr->mcr", W, A) / total[:, :, None]
        Y = tangent_bases(A, offset, at_center, W2, dim) @ A.mT
        P = transitions(W, neighbors, density[j].transpose(2, 0, 1), density_here)
        eps = epsilons[:, None] * self._rho[group]
        H, drifts = dual_metric(Y, P, eps), drift(Y, P, eps)
        return LocalMetrics(H.swapaxes(0, 1), (total**2 / (at_center + W2.sum(axis=2))).T, drifts.T)

    def _metrics_at(self, i: int, steps: list[Ladder], density: np.ndarray, dim: int, scratch: Scratch) -> LocalMetrics:
        entries = slice(self._sqdist.indptr[i], self._sqdist.indptr[i + 1])
        neighbors, here = self._sqdist.indices[entries], self._at_center[entries]
        others, sqdist = neighbors[~here], self._sqdist.data[entries][~here]
        if self._points.partial and len(others) > _MOST_JOINED:
            near = np.argpartition(sqdist, _MOST_JOINED)[:_MOST_JOINED]
            others, sqdist = others[near], sqdist[near]
        if self._X is not None:
            origin, points, inner = self._X[i : i + 1], self._X[others], None
        else:
            origin = points = np.empty((0, 0))
            inner = partial(self._inner, i, others)
        around = Around(
            origin,
            points,
            sqdist[None],
            density[others],
            self._m[neighbors[here]].sum(keepdims=True),
            (self._m[neighbors[here], None] * density[neighbors[here]]).sum(axis=0)[None],
            self._rho[i : i + 1],
            weights_at(self.multiplicity, others),
            inner,
        )
        return metrics_around(around, steps, dim, cutoff=self._cutoff, scratch=scratch)

    def _inner(self, i: int, others: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """About x_i, whose own products are zero."""
        return np.pad(cast(Distances, self._points).inner(i, others[rows], others[columns]), ((1, 0), (1, 0)))

    def _metrics_by_products(
        self, group: np.ndarray, steps: list[Ladder], density: np.ndarray, dim: int, scratch: Scratch
    ) -> LocalMetrics:
        """At points known by their distances, for several together."""
        G, none = cast(np.ndarray, self._G), np.empty((0, 0))
        sqdist, own = np.full((len(group), len(G)), np.inf), np.zeros((len(group), len(G)))
        for k, i in enumerate(group):
            entries = slice(self._sqdist.indptr[i], self._sqdist.indptr[i + 1])
            columns, here = self._sqdist.indices[entries], self._at_center[entries]
            sqdist[k, columns] = np.where(here, np.inf, self._sqdist.data[entries])
            own[k, columns] = self._m[columns] * here

        def inner(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
            return G[np.ix_(np.r_[group, rows], np.r_[group, columns])]

        around = Around(
            none, none, sqdist, density, own.sum(axis=1), own @ density, self._rho[group], self.multiplicity, inner
        )
        return metrics_around(around, steps, dim, cutoff=self._cutoff, scratch=scratch)
