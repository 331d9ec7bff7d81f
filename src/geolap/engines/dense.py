"""The plain engine: the formulas, one bandwidth and one evaluation point at a time, on full N×N matrices.

It is slow and exact; every other engine is tested against it.
"""

import numpy as np
from scipy.spatial.distance import cdist

from ..kernel import gaussian
from ..laplacian import density_weights, transition
from ..metric import drift, dual_metric
from ..points import as_points, in_unit, root_mean_square_distance
from ..tangent import tangent_basis
from .base import NO_NEIGHBORS, LocalMetrics

__all__ = ["DenseEngine"]


class DenseEngine:
    """Sums over all pairs, from the full matrix of weights."""

    estimates = False

    def __init__(self, X, *, cutoff=None, n_jobs=None, scale=None):
        points = as_points(X)
        self._X, self._unit = points.box, points.unit
        self._scale = scale
        self._rho = np.ones(len(self._X)) if scale is None else scale.rho
        self._sqdist = cdist(self._X, self._X, "sqeuclidean") / (self._rho[:, None] * self._rho)
        self._cutoff = cutoff

    def mean_distance(self):
        return root_mean_square_distance(self._X) * self._unit

    def nearest(self, targets):
        sqdist = self._sqdist[targets]
        return np.sqrt(np.where(sqdist > 0, sqdist, np.inf).min(axis=1)) * self._unit

    def row_sums(self, bandwidths, targets=None):
        rows = np.arange(len(self._X)) if targets is None else targets
        return np.stack([self._others(eps)[rows].sum(axis=1) for eps in in_unit(bandwidths, self._unit)], axis=1)

    def local_metrics(self, sample, bandwidths, degrees, *, working_dim, renormalization=1.0):
        H = np.empty((len(sample), len(bandwidths), working_dim, working_dim))
        effective, drifts = (np.empty((len(sample), len(bandwidths))) for _ in range(2))
        for m, eps in enumerate(in_unit(bandwidths, self._unit)):
            W = self._weights(eps)[sample]
            P = transition(W, density_weights(degrees[:, m], renormalization=renormalization, scale=self._scale))
            for k, i in enumerate(sample):
                A = self._X - self._X[i]
                Y = tangent_basis(A, W[k], working_dim) @ A.T
                H[k, m] = dual_metric(Y, P[k], eps * self._rho[i])
                drifts[k, m] = drift(Y, P[k], eps * self._rho[i])
            alone = self._others(eps)[sample].sum(axis=1) < NO_NEIGHBORS
            H[alone, m], drifts[alone, m] = 0.0, 0.0
            effective[:, m] = W.sum(axis=1) ** 2 / (W**2).sum(axis=1)
        return LocalMetrics(H, effective, drifts)

    def _weights(self, eps):
        return gaussian(self._sqdist, eps, cutoff=self._cutoff)

    def _others(self, eps):
        W = self._weights(eps)
        np.fill_diagonal(W, 0.0)
        return W
