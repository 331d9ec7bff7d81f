"""The sparse engine: only the pairs that a graph stores, for nearest-neighbor graphs and precomputed graphs.

Sums run over the stored pairs alone, so D(ε) is that of the graph that is actually built from them.
"""

from typing import Any

import numpy as np
from scipy import sparse

from ..kernel import ladder_weights, ladders
from ..laplacian import density_weights
from ..pairs import ZERO, Pairs
from ..points import as_points, in_unit, root_mean_square_distance
from ..threads import Scratch, checkpoint, in_order
from .base import LocalMetrics
from .local import Around, metrics_around

__all__ = ["SparseEngine"]

# Rows whose pairs are processed together, and evaluation points in one task.
_ROWS = 1024
_GROUP = 8


class SparseEngine:
    """Sums over stored pairs."""

    estimates = False

    def __init__(self, X, pairs: Pairs, *, cutoff=None, n_jobs=None, scale=None):
        points = as_points(X)
        self._X, self._unit = points.box, points.unit
        if not sparse.issparse(pairs.sqdist):  # a sparse matrix would lose zeros
            pairs = Pairs(sparse.csr_array(np.maximum(pairs.sqdist, ZERO)), pairs.unit)
        S: Any = pairs.sqdist
        self._at_center = S.data <= ZERO * 1e10  # the point itself and its duplicates
        if scale is not None:
            S = pairs.scaled(scale.rho).sqdist
        data = S.data * (pairs.unit / self._unit) ** 2
        data[S.indices == np.repeat(np.arange(len(self._X)), np.diff(S.indptr))] = np.inf
        self._sqdist = sparse.csr_array((data, S.indices, S.indptr), shape=S.shape)
        self._scale = scale
        self._rho = np.ones(len(self._X)) if scale is None else scale.rho
        self._cutoff = cutoff
        self._n_jobs = n_jobs

    def mean_distance(self):
        return root_mean_square_distance(self._X) * self._unit

    def nearest(self, targets):
        apart = np.where(self._at_center, np.inf, self._sqdist.data)
        # Rows are never empty: each stores its diagonal.
        return np.sqrt(np.minimum.reduceat(apart, self._sqdist.indptr[:-1])[targets]) * self._unit

    def row_sums(self, bandwidths, targets=None):
        S = self._sqdist if targets is None else self._sqdist[targets]
        steps = ladders(in_unit(bandwidths, self._unit))

        def of(first):
            checkpoint()
            ends = S.indptr[first : first + _ROWS + 1]
            sqdist = S.data[ends[0] : ends[-1]]
            sums = np.empty((len(ends) - 1, len(bandwidths)))
            W = np.empty_like(sqdist)
            for ladder in steps:
                for column, _, weights in ladder_weights(sqdist, ladder, W, cutoff=self._cutoff):
                    sums[:, column] = np.add.reduceat(weights, ends[:-1] - ends[0])
            return sums

        starts = range(0, S.shape[0], _ROWS)
        label = f"degrees at {len(bandwidths)} bandwidths"
        return np.concatenate(list(in_order(of, starts, n_jobs=self._n_jobs, label=label)))

    def local_metrics(self, sample, bandwidths, degrees, *, working_dim, renormalization=1.0):
        steps = ladders(in_unit(bandwidths, self._unit))
        density = density_weights(degrees, renormalization=renormalization, scale=self._scale)
        scratch = Scratch()

        def of(group):
            return [self._metrics_at(i, steps, density, working_dim, scratch) for i in group]

        groups = np.array_split(sample, -(-len(sample) // _GROUP))
        label = f"metrics at {len(bandwidths)} bandwidths"
        found = in_order(of, groups, n_jobs=self._n_jobs, label=label)
        return LocalMetrics.joined([metrics for some in found for metrics in some], axis=0)

    def _metrics_at(self, i, steps, density, dim, scratch):
        entries = slice(self._sqdist.indptr[i], self._sqdist.indptr[i + 1])
        neighbors, here = self._sqdist.indices[entries], self._at_center[entries]
        others = neighbors[~here]
        around = Around(
            self._X[i : i + 1],
            self._X[others],
            self._sqdist.data[entries][None, ~here],
            density[others],
            np.array([float(here.sum())]),
            density[neighbors[here]].sum(axis=0)[None],
            self._rho[i : i + 1],
        )
        return metrics_around(around, steps, dim, cutoff=self._cutoff, scratch=scratch)
