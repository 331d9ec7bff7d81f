"""The tiled engine: all pairs, in tiles that stay in the processor's cache, spread over threads.

Exact: every pair counts.  What makes it fast:

- one exponential per pair and ladder of bandwidths, the rest by squaring (`geolap.kernel`);
- distances by a matrix product per tile, about a centre of the tile's own so that close pairs keep their digits;
- each unordered pair once: a tile of weights is summed along both sides;
- points in the order of a k-d tree: a tile is left as soon as its closest pair is out of the kernel's reach;
- tangent bases by Krylov iteration (`geolap.tangent`) over only those points that a group of evaluation points can see.

Memory is O(N·(r + m)) plus a few tiles per thread; no N×N matrix exists.
"""

import heapq

import numpy as np
from scipy.spatial.distance import cdist

from ..kernel import ladder_weights, ladders, reach
from ..metric import dual_metric
from ..tangent import follow_tangents
from .base import LocalMetrics, in_unit_box
from .threads import available_threads, in_order

__all__ = ["TiledEngine"]

# Elements of a group of weight rows in `local_metrics`: 1 MiB, the second-level cache of a core.
_GROUP_ELEMENTS = 2**19


class TiledEngine:
    """Sums over all pairs, tile by tile."""

    def __init__(self, X, *, cutoff=None, threads=None):
        X, self._unit = in_unit_box(X)
        n_blocks = -(-len(X) // (512 if len(X) < 4096 else 768))
        self._order = _tree_order(X, n_blocks)
        self._X = X[self._order]
        self._place = np.argsort(self._order)  # where a point of the caller's stands here
        self._blocks = [slice(b[0], b[-1] + 1) for b in np.array_split(np.arange(len(X)), n_blocks)]
        self._cutoff = cutoff
        self._threads = threads or available_threads()

    def nearest(self, targets):
        def of(group):
            sqdist = cdist(self._X[group], self._X, "sqeuclidean")
            sqdist[sqdist == 0] = np.inf
            return np.sqrt(sqdist.min(axis=1))

        found = np.empty(len(targets))
        for group, distances in self._by_groups(of, targets, "nearest neighbours"):
            found[group] = distances * self._unit
        return found

    def row_sums(self, bandwidths, targets=None):
        steps = ladders(np.asarray(bandwidths) / self._unit)
        if targets is not None:
            return self._target_sums(steps, len(bandwidths), targets)
        sums = np.zeros((len(self._X), len(bandwidths)))
        pairs = [(I, J) for k, I in enumerate(self._blocks) for J in self._blocks[k:]]

        def of(pair):
            return self._tile_sums(*pair, steps, len(bandwidths))

        label = f"degrees at {len(bandwidths)} bandwidths"
        for (I, J), (along, across) in zip(pairs, in_order(of, pairs, threads=self._threads, label=label), strict=True):
            sums[I] += along
            if J != I:
                sums[J] += across
        return sums[self._place]

    def _tile_sums(self, I, J, steps, n_bandwidths):
        A, B = self._X[I], self._X[J]
        along, across = np.zeros((len(A), n_bandwidths)), np.zeros((len(B), n_bandwidths))
        closest = np.maximum(np.maximum(A.min(axis=0) - B.max(axis=0), B.min(axis=0) - A.max(axis=0)), 0.0)
        if np.sqrt(closest @ closest) > reach(max(ladder.bandwidths[0] for ladder in steps)):
            return along, across
        center = np.median(A, axis=0)
        A, B = A - center, B - center
        sqdist = A @ (-2.0 * B.T)
        sqdist += np.einsum("nr,nr->n", A, A)[:, None]
        sqdist += np.einsum("nr,nr->n", B, B)
        np.maximum(sqdist, 0.0, out=sqdist)
        if I == J:
            np.fill_diagonal(sqdist, np.inf)
        nearest = np.sqrt(sqdist.min())
        W = np.empty_like(sqdist)
        ones_A, ones_B = np.ones(len(A)), np.ones(len(B))
        for ladder in steps:
            for column, eps, weights in ladder_weights(sqdist, ladder, W, cutoff=self._cutoff):
                if nearest > reach(eps):
                    break
                along[:, column] = weights @ ones_B
                across[:, column] = ones_A @ weights
        return along, across

    def _target_sums(self, steps, n_bandwidths, targets):
        def of(group):
            sqdist = cdist(self._X[group], self._X, "sqeuclidean")
            sqdist[np.arange(len(group)), group] = np.inf
            sums = np.empty((len(group), n_bandwidths))
            W = np.empty_like(sqdist)
            for ladder in steps:
                for column, _, weights in ladder_weights(sqdist, ladder, W, cutoff=self._cutoff):
                    sums[:, column] = weights.sum(axis=1)
            return sums

        result = np.empty((len(targets), n_bandwidths))
        for group, sums in self._by_groups(of, targets, f"row sums at {n_bandwidths} bandwidths"):
            result[group] = sums
        return result

    def local_metrics(self, sample, bandwidths, degrees, *, working_dim, renormalization=1.0):
        steps = ladders(np.asarray(bandwidths) / self._unit)
        density = degrees[self._order] ** -renormalization
        H = np.empty((len(sample), len(bandwidths), working_dim, working_dim))
        effective = np.empty((len(sample), len(bandwidths)))

        def of(group):
            return self._group_metrics(group, steps, density, working_dim)

        for group, (h, n_eff) in self._by_groups(of, sample, f"metrics at {len(bandwidths)} bandwidths"):
            H[group], effective[group] = h, n_eff
        return LocalMetrics(H, effective)

    def _group_metrics(self, group, steps, density, dim):
        """H and effective neighbours for a group of evaluation points, given by their places."""
        origin = self._X[group]
        sqdist = cdist(origin, self._X, "sqeuclidean")  # by differences: exact however close the points
        here = sqdist == 0
        at_center = here.sum(axis=1).astype(float)
        density_here = here @ density
        sqdist[here] = np.inf

        # Beside the nearest neighbour, a point farther than `reach` counts for nothing.  With the points in the order of
        # how far they are beyond the nearest neighbour of any row, those in reach of ε are always the first n(ε).
        beyond = (sqdist - sqdist.min(axis=1)[:, None]).min(axis=0)
        order = np.argsort(beyond)
        beyond, sqdist, density = beyond[order], sqdist[:, order], density[order]

        def in_reach(eps):
            return int(np.searchsorted(beyond, reach(eps) ** 2, side="right"))

        widest = in_reach(max(ladder.bandwidths[0] for ladder in steps))
        points = self._X[order[:widest]]
        tangents = follow_tangents(points, origin, dim)
        H = np.empty((len(group), density.shape[1], dim, dim))
        effective = np.empty((len(group), density.shape[1]))
        walks = []
        for ladder in steps:
            n = in_reach(ladder.bandwidths[0])
            walks.append(ladder_weights(sqdist[:, :n], ladder, np.empty((len(group), n)), cutoff=self._cutoff))
        for column, eps, weights in heapq.merge(*walks, key=lambda step: -step[1]):
            n = in_reach(eps)
            w = weights[:, :n]
            w2 = np.square(w[:, : in_reach(eps / np.sqrt(2.0))])  # squared weights are those of ε/√2
            neighbours = w.sum(axis=1)
            total = at_center + neighbours
            effective[:, column] = total**2 / (at_center + w2.sum(axis=1))
            offset = (w @ points[:n] - origin * neighbours[:, None]) / total[:, None]
            Y = tangents.coordinates(w2, offset, at_center, n)
            P = w * density[:n, column]
            P /= (P.sum(axis=1) + density_here[:, column])[:, None]
            H[:, column] = dual_metric(Y, P, eps)
        return H, effective

    def _by_groups(self, function, indices, label):
        """Apply ``function`` to groups of places of the given points; yields (positions in ``indices``, result)."""
        places = self._place[indices]
        size = int(np.clip(_GROUP_ELEMENTS // len(self._X), 8, 50))
        # Points that stand together in the tree see the same neighbours.
        groups = np.array_split(np.argsort(places, kind="stable"), max(1, -(-len(places) // size)))
        results = in_order(function, [places[g] for g in groups], threads=self._threads, label=label)
        yield from zip(groups, results, strict=True)


def _tree_order(X, n_blocks):
    """Order the points so that equal consecutive blocks are the leaves of a k-d tree."""
    order = np.arange(len(X))
    ends = np.cumsum([len(b) for b in np.array_split(order, n_blocks)])

    def split(start, first, last):
        if last - first < 2:
            return
        middle = (first + last) // 2
        part = order[start : ends[last - 1]]
        axis = np.argmax(X[part].var(axis=0))
        cut = ends[middle - 1] - start
        order[start : ends[last - 1]] = part[np.argpartition(X[part, axis], cut)]
        split(start, first, middle)
        split(ends[middle - 1], middle, last)

    split(0, 0, n_blocks)
    return order
