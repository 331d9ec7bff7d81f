"""The plain engine: the formulas, one bandwidth and one evaluation point at a time, on full N×N matrices.

It is slow and exact; every other engine is tested against it.
"""

import numpy as np
from scipy.spatial.distance import cdist

from ..data.multiplicity import copies_of, counts_of
from ..data.points import PointsLike, as_points, in_unit, root_mean_square_distance
from ..kernel import gaussian
from ..laplacian import LocalScale, transition
from ..metric import drift, dual_metric
from ..tangent import tangent_basis
from .base import NO_NEIGHBORS, ExactEngine, LocalMetrics

__all__ = ["DenseEngine"]


class DenseEngine(ExactEngine):
    """Sums over all pairs, from the full matrix of weights."""

    def __init__(
        self, X: PointsLike, *, cutoff: float | None = None, n_jobs: int | None = None, scale: LocalScale | None = None
    ) -> None:
        points = as_points(X)
        self._X, self._unit = points.box, points.unit
        self.multiplicity = points.multiplicity
        self._m = counts_of(points.multiplicity, len(points))
        self._scale = scale
        self._rho = np.ones(len(self._X)) if scale is None else scale.rho
        self._sqdist = cdist(self._X, self._X, "sqeuclidean") / (self._rho[:, None] * self._rho)
        self._cutoff = cutoff

    def mean_distance(self) -> float:
        return root_mean_square_distance(self._X, self.multiplicity) * self._unit

    def nearest(self, targets: np.ndarray) -> np.ndarray:
        sqdist = self._sqdist[targets]
        return np.sqrt(np.where(sqdist > 0, sqdist, np.inf).min(axis=1)) * self._unit

    def row_sums(self, bandwidths: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
        rows = np.arange(len(self._X)) if targets is None else targets
        return np.stack([self._neighbors(eps, rows) for eps in in_unit(bandwidths, self._unit)], axis=1)

    def _metrics(self, sample: np.ndarray, bandwidths: np.ndarray, density: np.ndarray, dim: int) -> LocalMetrics:
        H = np.empty((len(sample), len(bandwidths), dim, dim))
        effective, drifts = (np.empty((len(sample), len(bandwidths))) for _ in range(2))
        for m, eps in enumerate(in_unit(bandwidths, self._unit)):
            W = self._weights(eps)[sample]
            P = transition(W, self._m * density[:, m])
            for k, i in enumerate(sample):
                A = self._X - self._X[i]
                Y = tangent_basis(A, W[k], dim, self._m) @ A.T
                H[k, m] = dual_metric(Y, P[k], eps * self._rho[i])
                drifts[k, m] = drift(Y, P[k], eps * self._rho[i])
            isolated = self._neighbors(eps, sample) < NO_NEIGHBORS
            H[isolated, m], drifts[isolated, m] = 0.0, 0.0
            effective[:, m] = (W @ self._m) ** 2 / (W**2 @ self._m)
        return LocalMetrics(H, effective, drifts)

    def _weights(self, eps: float) -> np.ndarray:
        return gaussian(self._sqdist, eps, cutoff=self._cutoff)

    def _neighbors(self, eps: float, rows: np.ndarray) -> np.ndarray:
        W = self._weights(eps)
        np.fill_diagonal(W, 0.0)
        return (W[rows] @ self._m[:, None] + copies_of(self.multiplicity, rows))[:, 0]
