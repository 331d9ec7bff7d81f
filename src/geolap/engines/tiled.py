"""The tiled engine: all pairs, in tiles that stay in the processor's cache, spread over threads.

It is exact: the sums run over all pairs.  What makes it fast:

- one exponential per pair and ladder of bandwidths, the rest by squaring (`geolap.kernel`);
- distances by a matrix product per tile, relative to the tile's own center so that close pairs keep their digits;
- each unordered pair once: a tile of weights is summed along both axes;
- points in the order of a k-d tree: a tile is abandoned once its closest pair is out of the kernel's reach;
- tangent bases over only those points within reach of a group of evaluation points (`geolap.engines.local`): from moments in
  up to 24 dimensions, by Krylov iteration beyond.

Memory is O(N·(r + m)) plus, per thread, a few tiles and a few times 50·N weights; no N×N matrix exists.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from scipy.spatial.distance import cdist

from ..data.multiplicity import copies_of, weights_at
from ..data.points import PointsLike, as_points, in_unit, root_mean_square_distance
from ..kernel import Ladder, ladder_weights, ladders, reach
from ..laplacian import LocalScale
from ..runtime.progress import at_bandwidths
from ..runtime.threads import Scratch, checkpoint, in_order
from .base import ExactEngine, LocalMetrics
from .blocks import Block, blocks
from .local import Around, directions_at_once, metrics_around

__all__ = ["TiledEngine"]

# Points along the side of a tile.  Larger tiles overflow the cache; smaller ones make threads wait for the interpreter.
_SIDE_OF_FEW, _SIDE_OF_MANY = 512, 768
# Evaluation points that are processed together, at most.  Where a scan takes long, so many groups leave no thread waiting,
# unless they would have fewer points than the last.
_GROUP, _GROUPS, _FEWEST = 50, 8, 5
# Points of more numbers than this take seconds to scan.
_MANY_NUMBERS = 500_000

Result = TypeVar("Result")


class TiledEngine(ExactEngine):
    """Sums over all pairs, tile by tile."""

    def __init__(
        self, X: PointsLike, *, cutoff: float | None = None, n_jobs: int | None = None, scale: LocalScale | None = None
    ) -> None:
        points = as_points(X)
        X, self._unit = points.box, points.unit
        rho = None if scale is None else scale.rho
        self._blocks, self._order = blocks(X, _SIDE_OF_FEW if len(X) < 4096 else _SIDE_OF_MANY, rho)
        self._X = X[self._order]
        self._rho = np.ones(len(X)) if rho is None else rho[self._order]
        self.multiplicity = points.multiplicity
        m = weights_at(points.multiplicity, self._order)
        self._m = np.ones(len(X)) if m is None else m
        self._place = np.argsort(self._order)  # the position of each of the caller's points here
        self._scale = scale
        self._cutoff = cutoff
        self._n_jobs = n_jobs
        self.directions_at_once = directions_at_once(X.shape[1])
        self.scans_long = self.directions_at_once == 1 and X.size > _MANY_NUMBERS

    def mean_distance(self) -> float:
        return root_mean_square_distance(self._X, None if self.multiplicity is None else self._m) * self._unit

    def nearest(self, targets: np.ndarray) -> np.ndarray:
        def of(group: np.ndarray) -> np.ndarray:
            sqdist = cdist(self._X[group], self._X, "sqeuclidean")
            sqdist[sqdist == 0] = np.inf
            sqdist /= self._rho[group][:, None] * self._rho
            return np.sqrt(sqdist.min(axis=1))

        found = np.empty(len(targets))
        for group, distances in self._by_groups(of, targets, "nearest neighbors"):
            found[group] = distances * self._unit
        return found

    def row_sums(self, bandwidths: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
        steps = ladders(in_unit(bandwidths, self._unit))
        if targets is not None:
            return self._target_sums(steps, len(bandwidths), targets) + copies_of(self.multiplicity, targets)
        sums = np.zeros((len(self._X), len(bandwidths)))
        pairs = [(I, J) for k, I in enumerate(self._blocks) for J in self._blocks[k:]]

        scratch = Scratch()

        def of(pair: tuple[Block, Block]) -> tuple[np.ndarray, np.ndarray]:
            I, J = pair
            return self._tile_sums(I, J, steps, len(bandwidths), scratch)

        label = at_bandwidths("degrees", len(bandwidths))
        for (I, J), (along, across) in zip(pairs, in_order(of, pairs, n_jobs=self._n_jobs, label=label), strict=True):
            sums[I.rows] += along
            if J is not I:
                sums[J.rows] += across
        return sums[self._place] + copies_of(self.multiplicity)

    def _tile_sums(
        self, I: Block, J: Block, steps: list[Ladder], n_bandwidths: int, scratch: Scratch
    ) -> tuple[np.ndarray, np.ndarray]:
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
        for ladder in steps:
            for column, eps, weights in ladder_weights(sqdist, ladder, W, cutoff=self._cutoff):
                checkpoint()
                if nearest > reach(eps):
                    break
                along[:, column] = weights @ self._m[J.rows]
                if I is not J:
                    across[:, column] = self._m[I.rows] @ weights
        return along, across

    def _target_sums(self, steps: list[Ladder], n_bandwidths: int, targets: np.ndarray) -> np.ndarray:
        def of(group: np.ndarray) -> np.ndarray:
            sqdist = cdist(self._X[group], self._X, "sqeuclidean")
            sqdist[np.arange(len(group)), group] = np.inf
            sqdist /= self._rho[group][:, None] * self._rho
            sums = np.empty((len(group), n_bandwidths))
            W = np.empty_like(sqdist)
            for ladder in steps:
                for column, _, weights in ladder_weights(sqdist, ladder, W, cutoff=self._cutoff):
                    sums[:, column] = weights @ self._m
            return sums

        result = np.empty((len(targets), n_bandwidths))
        for group, sums in self._by_groups(of, targets, at_bandwidths("row sums", n_bandwidths)):
            result[group] = sums
        return result

    def _metrics(self, sample: np.ndarray, bandwidths: np.ndarray, density: np.ndarray, dim: int) -> LocalMetrics:
        steps = ladders(in_unit(bandwidths, self._unit))
        density = density[self._order]
        scratch = Scratch()

        def of(group: np.ndarray) -> LocalMetrics:
            return self._group_metrics(group, steps, density, dim, scratch)

        groups, found = zip(*self._by_groups(of, sample, at_bandwidths("metrics", len(bandwidths))), strict=True)
        return LocalMetrics.joined(found, axis=0).at(np.argsort(np.concatenate(groups)))

    def _group_metrics(
        self, group: np.ndarray, steps: list[Ladder], density: np.ndarray, dim: int, scratch: Scratch
    ) -> LocalMetrics:
        """Metrics at a group of evaluation points, given by their places."""
        origin = self._X[group]
        sqdist = cdist(origin, self._X, "sqeuclidean")  # by differences: exact however close the points are
        row, place = np.nonzero(sqdist == 0)  # each point itself, and its duplicates
        density_here = np.zeros((len(group), density.shape[1]))
        np.add.at(density_here, row, self._m[place, None] * density[place])
        sqdist[row, place] = np.inf
        sqdist /= self._rho[group][:, None] * self._rho
        at_center = np.bincount(row, self._m[place])
        m = None if self.multiplicity is None else self._m
        around = Around(origin, self._X, sqdist, density, at_center, density_here, self._rho[group], m)
        return metrics_around(around, steps, dim, cutoff=self._cutoff, scratch=scratch)

    def _by_groups(
        self, function: Callable[[np.ndarray], Result], indices: np.ndarray, label: str
    ) -> Iterator[tuple[np.ndarray, Result]]:
        """Apply ``function`` to groups of places of the given points; yields (positions in ``indices``, result)."""
        places = self._place[indices]
        # Points that are close in the tree share neighbors.
        n_groups = max(1, -(-len(places) // _GROUP), min(_GROUPS, len(places) // _FEWEST) if self.scans_long else 1)
        groups = np.array_split(np.argsort(places, kind="stable"), n_groups)
        results = in_order(function, [places[g] for g in groups], n_jobs=self._n_jobs, label=label)
        yield from zip(groups, results, strict=True)
