"""Tangent bases and dual metrics from sums that can be accumulated in pieces.

With a_j = x_j − x_i, the tangent basis (`geolap.tangent`) and the dual metric (`geolap.metric`) of an evaluation point need
only the sums

.. math:: Σ W, \\; Σ W^2, \\; Σ W v, \\; Σ W a, \\; Σ W^2 a, \\; Σ W v\\, a, \\; Σ W^2 a a^T, \\; Σ W v\\, a a^T

over the points at other places, and the number and the density weights of those at x_i itself.  So the points may come in
any number of chunks.  The products are formed in the precision of the stored columns, and added up in double precision.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import DTypeLike

from ..data.multiplicity import weights_at
from ..kernel import gaussian
from ..metric import drift, dual_metric_from
from ..runtime.threads import Scratch
from .base import NO_NEIGHBORS, LocalMetrics
from .gaussian_cells import Boxes

__all__ = ["ENOUGH_COLUMNS", "ROW_REACH", "Columns", "metrics_from", "n_moments", "own_columns", "row_moments"]

# Where degrees are estimated, rows end at this many ε, where weights fall below 2e-8; beyond this many effective
# neighbors, columns are a sample.
ROW_REACH, ENOUGH_COLUMNS = 4.2, 4096
# Points that are adjacent in memory and share a bounding box.
_RUN = 128
# A place without weight, which pads the last run.
_FAR = 1e9
# OpenBLAS first copies the factors of a product of more multiplications, which takes longer than the product of few rows.
_SMALL_PRODUCT = 10**6
# If each could have only fewer columns than this, so many products would cost more than copies do.
_FEWEST = 1024
# Columns that stay in the cache.
_CACHED = 8192


class Columns:
    """Points in the order of a k-d tree, in runs, each stored (in single precision) relative to its own center.

    Coordinate by coordinate: products with weights are several times as fast that way.
    """

    def __init__(self, points: np.ndarray, rho: np.ndarray | None = None, dtype: DTypeLike = np.float32) -> None:
        self.size, self.rho = len(points), np.ones(len(points)) if rho is None else rho
        self._boxes = Boxes(points, _RUN)
        starts = np.arange(0, len(points), _RUN)
        self._centers = np.add.reduceat(points, starts) / np.diff(starts, append=len(points))[:, None]
        about = np.full((points.shape[1], len(starts) * _RUN), _FAR, dtype=dtype)
        about[:, : len(points)] = (points - np.repeat(self._centers, _RUN, axis=0)[: len(points)]).T
        self._about = about.reshape(-1, len(starts), _RUN)

    def near(self, x: np.ndarray, distance: float) -> np.ndarray:
        """Numbers of the runs that may hold points closer than ``distance`` to x."""
        return self._boxes.within(distance, x, x)

    def points(self, runs: np.ndarray) -> np.ndarray:
        """Indices of the points in those runs."""
        return self._boxes.points(runs)

    def seen(self, runs: Iterable[np.ndarray]) -> np.ndarray:
        """Indices of the points in any of several lists of runs, ascending."""
        seen = np.zeros(self.size, dtype=bool)
        for some in runs:
            seen[self.points(some)] = True
        return np.flatnonzero(seen)

    def padded(self, values: np.ndarray, fill: float) -> np.ndarray:
        """Values of the points, run by run, with ``fill`` for the padding of the last run."""
        full = np.full(self._about[0].size, fill, dtype=float)
        full[: self.size] = values
        return full.reshape(-1, _RUN)

    def differences(self, x: np.ndarray, runs: np.ndarray, scratch: Scratch) -> np.ndarray:
        """x_j − x (r, n) for all points of those runs, including padding."""
        A = scratch.array("A", (len(x), len(runs), _RUN), self._about.dtype)
        self._about.take(runs, axis=1, out=A, mode="clip")
        A += (self._centers[runs] - x).T.astype(A.dtype)[:, :, None]
        return A.reshape(len(x), -1)


def n_moments(r: int) -> int:
    """The number of values that `row_moments` returns for r features."""
    return 5 + 3 * r + 2 * r * r


def own_columns(here: np.ndarray, thinned: float, own: float | np.ndarray = 1.0) -> np.ndarray:
    """The weight of an evaluation point and its duplicates, in units of a column that represents ``thinned`` points.

    The point itself, of weight ``own``, represents no others; duplicates in other rows are a sample like all others.
    """
    return np.maximum(here - own, 0.0) + own / thinned


def row_moments(
    x: np.ndarray,
    columns: Columns,
    runs: np.ndarray,
    reach: float,
    density: np.ndarray,
    eps: float,
    *,
    rho: np.ndarray | None = None,
    multiplicity: np.ndarray | None = None,
    cutoff: float | None = None,
    scratch: Scratch,
) -> np.ndarray:
    """The sums (q,) of one evaluation point x (r,) over some runs of columns, up to the distance ``reach``.

    ``density``, ``rho``, the products ρ_i ρ_j of local scales, and ``multiplicity``, the weights of points, are given for
    all runs (n_runs, run).
    """
    A = columns.differences(x, runs, scratch)
    sqdist = np.einsum("rn,rn->n", A, A)
    v, m = density[runs].ravel(), None if multiplicity is None else multiplicity[runs].ravel()
    scaled = sqdist.astype(np.float64) if rho is None else sqdist / rho[runs].ravel()
    seen = np.flatnonzero(sqdist <= reach**2)
    if 2 * len(seen) < len(sqdist):
        A, sqdist, scaled, v, m = A[:, seen], sqdist[seen], scaled[seen], v[seen], weights_at(m, seen)
    here = np.flatnonzero(sqdist == 0)
    W = gaussian(scaled, eps, cutoff=cutoff)
    W[here] = 0.0
    W2, count, density_here = W * W, len(here), v[here].sum()
    if m is not None:
        W, W2, count, density_here = m * W, m * W2, m[here].sum(), m[here] @ v[here]
    Wv = W * v
    return np.concatenate(
        [
            [count, density_here, W.sum(), W2.sum(), Wv.sum()],
            A @ W.astype(A.dtype),
            A @ W2.astype(A.dtype),
            A @ Wv.astype(A.dtype),
            _second(A, W2, scratch),
            _second(A, Wv, scratch),
        ]
    )


def _second(A: np.ndarray, weights: np.ndarray, scratch: Scratch) -> np.ndarray:
    """Σ w a aᵀ, flat, for columns a of A (r, n)."""
    largest, r = weights.max(initial=0.0), len(A)
    total = np.zeros((r, r))
    if largest < NO_NEIGHBORS:
        return total.ravel()
    weights, small = (weights / largest).astype(A.dtype), _SMALL_PRODUCT // r**2
    if few := small >= _FEWEST:
        piece = min(small, _CACHED)
    else:  # a product of a matrix with itself takes half the work
        piece, weights = _CACHED, np.sqrt(weights)
    for k in range(0, len(weights), piece):
        part = A[:, k : k + piece]
        B = np.multiply(part, weights[k : k + piece], out=scratch.array("B", part.shape, A.dtype))
        total += B @ (part if few else B).T
    return largest * (total + total.T).ravel() / 2.0


def metrics_from(
    moments: np.ndarray,
    eps: float,
    dim: int,
    *,
    rho: float | np.ndarray = 1.0,
    thinned: float = 1.0,
    own: float | np.ndarray = 1.0,
) -> LocalMetrics:
    """Metrics at one bandwidth from the sums (n, q); each column represents ``thinned`` points.

    ``own`` (n,) are the weights of the evaluation points, which represent no others.
    """
    r = int(np.sqrt((moments.shape[1] - 5) / 2.0 + 0.5625) - 0.75 + 0.5)  # the inverse of `n_moments`
    here, density_here, s, s2, sv = moments[:, :5].T
    units = own_columns(here, thinned, own)
    here, density_here = units, density_here * units / np.maximum(here, own)
    first, first2, first_v, C, B = np.split(moments[:, 5:], [r, 2 * r, 3 * r, 3 * r + r * r], axis=1)
    C, B = C.reshape(-1, r, r), B.reshape(-1, r, r)
    offset = first / (here + s)[:, None]
    C = C - offset[:, :, None] * first2[:, None, :] - first2[:, :, None] * offset[:, None, :]
    C += (s2 + here)[:, None, None] * offset[:, :, None] * offset[:, None, :]
    V = np.linalg.eigh(C)[1][:, :, : -dim - 1 : -1].transpose(0, 2, 1)
    isolated = s < NO_NEIGHBORS
    over = np.where(isolated, 0.0, 1.0 / np.where(isolated, 1.0, sv + density_here))
    H = dual_metric_from(V, over[:, None, None] * B, eps * rho)
    drifts = drift(V, over[:, None] * first_v, eps * rho)
    return LocalMetrics(H[:, None], (thinned * (here + s) ** 2 / (here + s2))[:, None], drifts[:, None])
