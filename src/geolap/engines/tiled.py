"""The tiled engine: all pairs, in tiles that stay in the processor's cache, spread over threads.

Exact: every pair counts.  What makes it fast:

- one exponential per pair and ladder of bandwidths, the rest by squaring (`geolap.kernel`);
- distances by a matrix product per tile, about a centre of the tile's own so that close pairs keep their digits;
- each unordered pair once: a tile of weights is summed along both sides;
- points in the order of a k-d tree: a tile is left as soon as its closest pair is out of the kernel's reach;
- tangent bases by Krylov iteration (`geolap.tangent`) over only those points that a group of evaluation points can see.

Memory is O(N·(r + m)) plus, per thread, a few tiles and a few times 50·N weights; no N×N matrix exists.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.spatial.distance import cdist

from ..kernel import ladder_weights, ladders, reach
from ..metric import dual_metric
from ..tangent import tangent_finder
from .base import NO_NEIGHBOURS, LocalMetrics, in_unit, in_unit_box, median_of_some, root_mean_square_distance
from .threads import Scratch, available_threads, checkpoint, in_order

__all__ = ["TiledEngine"]

# Points along the side of a tile.  Larger ones fill the cache, smaller ones keep threads waiting for the interpreter.
_SIDE_OF_FEW, _SIDE_OF_MANY = 512, 768
# The error in d²/ε² beyond which distances are computed by differences instead.
_EXPONENT_ERROR = 1e-10
# Evaluation points that are worked on together, and how many of their weights at once (4 MiB: a share of a cache).
_GROUP = 50
_BATCH_ELEMENTS = 2**19
# A batch of bandwidths ends when the points in reach have become fewer than this share of those at its start.
_SHRUNK = 0.7


class TiledEngine:
    """Sums over all pairs, tile by tile."""

    def __init__(self, X, *, cutoff=None, threads=None):
        X, self._unit = in_unit_box(X)
        n_blocks = -(-len(X) // (_SIDE_OF_FEW if len(X) < 4096 else _SIDE_OF_MANY))
        ends = np.arange(n_blocks + 1) * len(X) // n_blocks
        self._order = _tree_order(X, ends)
        self._X = X[self._order]
        self._place = np.argsort(self._order)  # where a point of the caller's stands here
        self._blocks = [_Block(self._X, first, last) for first, last in pairwise(ends)]
        self._cutoff = cutoff
        self._threads = threads or available_threads()

    def mean_distance(self):
        return root_mean_square_distance(self._X) * self._unit

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
        steps = ladders(in_unit(bandwidths, self._unit))
        if targets is not None:
            return self._target_sums(steps, len(bandwidths), targets)
        sums = np.zeros((len(self._X), len(bandwidths)))
        pairs = [(I, J) for k, I in enumerate(self._blocks) for J in self._blocks[k:]]

        scratch = Scratch()

        def of(pair):
            I, J = pair
            return self._tile_sums(I, J, steps, len(bandwidths), scratch)

        label = f"degrees at {len(bandwidths)} bandwidths"
        for (I, J), (along, across) in zip(pairs, in_order(of, pairs, threads=self._threads, label=label), strict=True):
            sums[I.rows] += along
            if J is not I:
                sums[J.rows] += across
        return sums[self._place]

    def _tile_sums(self, I, J, steps, n_bandwidths, scratch):
        """Row and column sums (a, m), (b, m) of the weights between two blocks."""
        shape = len(I.points), len(J.points)
        along, across = np.zeros((shape[0], n_bandwidths)), np.zeros((shape[1], n_bandwidths))
        if I.distance(J) > reach(max(ladder.bandwidths[0] for ladder in steps)):
            return along, across
        W = scratch.array("W", shape)
        narrowest = min(ladder.bandwidths[-1] for ladder in steps)
        sqdist = I.sqdist(J, narrowest, out=scratch.array("sqdist", shape))
        if I is J:
            np.fill_diagonal(sqdist, np.inf)
        nearest = np.sqrt(sqdist.min())
        ones_I, ones_J = np.ones(shape[0]), np.ones(shape[1])
        for ladder in steps:
            for column, eps, weights in ladder_weights(sqdist, ladder, W, cutoff=self._cutoff):
                checkpoint()
                if nearest > reach(eps):
                    break
                along[:, column] = weights @ ones_J
                if I is not J:
                    across[:, column] = ones_I @ weights
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
        steps = ladders(in_unit(bandwidths, self._unit))
        density = degrees[self._order] ** -renormalization
        H = np.empty((len(sample), len(bandwidths), working_dim, working_dim))
        effective = np.empty((len(sample), len(bandwidths)))

        scratch = Scratch()

        def of(group):
            return self._group_metrics(group, steps, density, working_dim, scratch)

        for group, (h, n_eff) in self._by_groups(of, sample, f"metrics at {len(bandwidths)} bandwidths"):
            H[group], effective[group] = h, n_eff
        return LocalMetrics(H, effective)

    def _group_metrics(self, group, steps, density, dim, scratch):
        """H and effective neighbours for a group of evaluation points, given by their places."""
        origin = self._X[group]
        sqdist = cdist(origin, self._X, "sqeuclidean")  # by differences: exact however close the points
        row, place = np.nonzero(sqdist == 0)  # each point itself, and its duplicates
        at_center = np.bincount(row).astype(float)
        density_here = np.zeros((len(group), density.shape[1]))
        np.add.at(density_here, row, density[place])
        sqdist[row, place] = np.inf

        # Beside the nearest neighbour, a point farther than `reach` counts for nothing.  With the points in the order of
        # how far they are beyond the nearest neighbour of any row, those in reach of ε are always the first n(ε).
        beyond = (sqdist - sqdist.min(axis=1)[:, None]).min(axis=0)
        order = np.argsort(beyond)
        beyond, sqdist, density = beyond[order], sqdist[:, order], density[order].T

        def in_reach(eps):
            return int(np.searchsorted(beyond, reach(eps) ** 2, side="right"))

        points = self._X[order[: in_reach(max(ladder.bandwidths[0] for ladder in steps))]]
        find_coordinates = tangent_finder(points, dim)
        c, m = len(group), len(density)
        H, effective = np.empty((c, m, dim, dim)), np.empty((c, m))
        for columns, epsilons, W in self._weight_batches(sqdist, steps, in_reach, scratch):
            b, _, n = W.shape
            k = in_reach(epsilons[0] / np.sqrt(2.0))  # squared weights are those of ε/√2
            W2 = np.square(W[:, :, :k], out=scratch.array("W2", (b, c, k)))
            neighbours = W.sum(axis=2)
            total = at_center + neighbours
            effective[:, columns] = (total**2 / (at_center + W2.sum(axis=2))).T
            weighted = (W.reshape(b * c, n) @ points[:n]).reshape(b, c, -1)
            offset = (weighted - origin * neighbours[:, :, None]) / total[:, :, None]
            Y = find_coordinates(
                np.tile(origin, (b, 1)), offset.reshape(b * c, -1), np.tile(at_center, b), W2.reshape(b * c, -1), n
            )
            P = np.multiply(W, density[columns, None, :n], out=W)
            P /= (P.sum(axis=2) + density_here[:, columns].T)[:, :, None]
            P[neighbours < NO_NEIGHBOURS] = 0.0
            H[:, columns] = dual_metric(Y.reshape(b, c, dim, n), P, epsilons[:, None]).swapaxes(0, 1)
        return H, effective

    def _weight_batches(self, sqdist, steps, in_reach, scratch):
        """Weights (b, c, n) of several bandwidths at once, widest first, as many as fit: (columns, bandwidths, weights)."""
        columns: list[int] = []
        epsilons: list[float] = []
        batch = np.empty((0, 0, 0))
        for column, eps, weights in self._descent(sqdist, steps, in_reach, scratch):
            checkpoint()
            n = in_reach(eps)
            if columns and (len(columns) == len(batch) or n < _SHRUNK * batch.shape[2]):
                yield columns, np.array(epsilons), batch[: len(columns)]
                columns, epsilons = [], []
            if not columns:
                batch = scratch.array("batch", (max(1, _BATCH_ELEMENTS // (n * len(weights) + 1)), len(weights), n))
            batch[len(columns), :, :n] = weights[:, :n]
            batch[len(columns), :, n:] = 0.0
            columns.append(column)
            epsilons.append(eps)
        if columns:
            yield columns, np.array(epsilons), batch[: len(columns)]

    def _descent(self, sqdist, steps, in_reach, scratch):
        """Walk down all ladders together, widest bandwidth first; a ladder holds memory only while it is being used."""
        order = sorted((-eps, k) for k, ladder in enumerate(steps) for eps in ladder.bandwidths)
        walks: dict[int, Iterator] = {}
        slots: dict[int, int] = {}
        for _, k in order:
            if k not in slots:
                n = in_reach(steps[k].bandwidths[0])
                slots[k] = min(set(range(len(slots) + 1)) - set(slots.values()))
                out = scratch.array(f"ladder {slots[k]}", (len(sqdist), n))
                walks[k] = zip(
                    steps[k].columns, ladder_weights(sqdist[:, :n], steps[k], out, cutoff=self._cutoff), strict=True
                )
            last, step = next(walks[k])
            yield step
            if last == steps[k].columns[-1]:
                del slots[k]

    def _by_groups(self, function, indices, label):
        """Apply ``function`` to groups of places of the given points; yields (positions in ``indices``, result)."""
        places = self._place[indices]
        # Points that stand together in the tree see the same neighbours.
        groups = np.array_split(np.argsort(places, kind="stable"), max(1, -(-len(places) // _GROUP)))
        results = in_order(function, [places[g] for g in groups], threads=self._threads, label=label)
        yield from zip(groups, results, strict=True)


class _Block:
    """Consecutive points, with their bounding box, and coordinates about a centre of their own."""

    def __init__(self, X, first, last):
        self.rows = slice(first, last)
        self.points = X[first:last]
        self.low, self.high = self.points.min(axis=0), self.points.max(axis=0)
        self.center = median_of_some(self.points)  # not the mean: an outlier must not carry it away
        self.about = self.points - self.center
        self.squares = np.einsum("nr,nr->n", self.about, self.about)

    def distance(self, other):
        """A lower bound on the distance of any two points of the blocks."""
        return np.linalg.norm(np.maximum(np.maximum(self.low - other.high, other.low - self.high), 0.0))

    def sqdist(self, other, narrowest, *, out):
        """Squared distances (a, b), by a matrix product if that is accurate enough for bandwidths from ``narrowest`` on."""
        about = self.about if other is self else other.points - self.center
        squares = self.squares if other is self else np.einsum("nr,nr->n", about, about)
        sqdist = np.matmul(self.about, about.T, out=out)
        sqdist *= -2.0
        sqdist += self.squares[:, None]
        sqdist += squares
        np.maximum(sqdist, 0.0, out=sqdist)
        # Both ends of a close pair are about as far from the centre; the errors of distant pairs do not count.
        error = 4.0 * np.finfo(float).eps * min(self.squares.max(), squares.max())
        smallest = max(narrowest**2, sqdist.min() / reach(1.0) ** 2)  # ε² at which the closest pair begins to weigh
        return cdist(self.points, other.points, "sqeuclidean") if error > _EXPONENT_ERROR * smallest else sqdist


def _tree_order(X, ends):
    """Order the points so that the blocks between consecutive ``ends`` are the leaves of a k-d tree."""
    order = np.arange(len(X))

    def split(first, last):
        if last - first < 2:
            return
        middle = (first + last) // 2
        part = order[ends[first] : ends[last]]
        axis = np.argmax(X[part].var(axis=0))
        order[ends[first] : ends[last]] = part[np.argpartition(X[part, axis], ends[middle] - ends[first])]
        split(first, middle)
        split(middle, last)

    split(0, len(ends) - 1)
    return order
