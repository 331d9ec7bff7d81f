"""The tiled engine: all pairs, in tiles that stay in the processor's cache, spread over threads.

It is exact: the sums run over all pairs.  What makes it fast:

- one exponential per pair and ladder of bandwidths, the rest by squaring (`geolap.kernel`);
- distances by a matrix product per tile, relative to the tile's own center so that close pairs keep their digits;
- each unordered pair once: a tile of weights is summed along both axes;
- points in the order of a k-d tree: a tile is abandoned once its closest pair is out of the kernel's reach;
- tangent bases by Krylov iteration (`geolap.tangent`) over only those points within reach of a group of evaluation points.

Memory is O(N·(r + m)) plus, per thread, a few tiles and a few times 50·N weights; no N×N matrix exists.
"""

import numpy as np
from scipy.spatial.distance import cdist

from ..kernel import ladder_weights, ladders, reach
from ..laplacian import density_weights
from ..points import as_points, in_unit, root_mean_square_distance
from ..threads import Scratch, checkpoint, in_order
from .base import LocalMetrics
from .blocks import blocks
from .local import Around, metrics_around

__all__ = ["TiledEngine"]

# Points along the side of a tile.  Larger tiles overflow the cache; smaller ones make threads wait for the interpreter.
_SIDE_OF_FEW, _SIDE_OF_MANY = 512, 768
# Evaluation points that are processed together.
_GROUP = 50


class TiledEngine:
    """Sums over all pairs, tile by tile."""

    estimates = False

    def __init__(self, X, *, cutoff=None, n_jobs=None, scale=None):
        points = as_points(X)
        X, self._unit = points.box, points.unit
        rho = None if scale is None else scale.rho
        self._blocks, self._order = blocks(X, _SIDE_OF_FEW if len(X) < 4096 else _SIDE_OF_MANY, rho)
        self._X = X[self._order]
        self._rho = np.ones(len(X)) if rho is None else rho[self._order]
        self._place = np.argsort(self._order)  # the position of each of the caller's points here
        self._scale = scale
        self._cutoff = cutoff
        self._n_jobs = n_jobs

    def mean_distance(self):
        return root_mean_square_distance(self._X) * self._unit

    def nearest(self, targets):
        def of(group):
            sqdist = cdist(self._X[group], self._X, "sqeuclidean")
            sqdist[sqdist == 0] = np.inf
            sqdist /= self._rho[group][:, None] * self._rho
            return np.sqrt(sqdist.min(axis=1))

        found = np.empty(len(targets))
        for group, distances in self._by_groups(of, targets, "nearest neighbors"):
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
        for (I, J), (along, across) in zip(pairs, in_order(of, pairs, n_jobs=self._n_jobs, label=label), strict=True):
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
            sqdist /= self._rho[group][:, None] * self._rho
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
        density = density_weights(degrees, renormalization=renormalization, scale=self._scale)[self._order]
        scratch = Scratch()

        def of(group):
            return self._group_metrics(group, steps, density, working_dim, scratch)

        groups, found = zip(*self._by_groups(of, sample, f"metrics at {len(bandwidths)} bandwidths"), strict=True)
        return LocalMetrics.joined(found, axis=0).at(np.argsort(np.concatenate(groups)))

    def _group_metrics(self, group, steps, density, dim, scratch):
        """Metrics at a group of evaluation points, given by their places."""
        origin = self._X[group]
        sqdist = cdist(origin, self._X, "sqeuclidean")  # by differences: exact however close the points are
        row, place = np.nonzero(sqdist == 0)  # each point itself, and its duplicates
        density_here = np.zeros((len(group), density.shape[1]))
        np.add.at(density_here, row, density[place])
        sqdist[row, place] = np.inf
        sqdist /= self._rho[group][:, None] * self._rho
        around = Around(origin, self._X, sqdist, density, np.bincount(row).astype(float), density_here, self._rho[group])
        return metrics_around(around, steps, dim, cutoff=self._cutoff, scratch=scratch)

    def _by_groups(self, function, indices, label):
        """Apply ``function`` to groups of places of the given points; yields (positions in ``indices``, result)."""
        places = self._place[indices]
        # Points that are close in the tree share neighbors.
        groups = np.array_split(np.argsort(places, kind="stable"), max(1, -(-len(places) // _GROUP)))
        results = in_order(function, [places[g] for g in groups], n_jobs=self._n_jobs, label=label)
        yield from zip(groups, results, strict=True)
