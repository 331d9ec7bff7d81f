"""Cells: a few Gaussians in place of many points, for sums of weights.

Points in the order of a k-d tree are cut into K runs of equal length.  In a sum over all points, one isotropic Gaussian with
the same count n_s, mean μ_s and variance τ_s² per coordinate replaces each run,

.. math:: Σ_j \\exp(-‖x - x_j‖^2/ε^2) ≈ Σ_s n_s (1 + 2τ_s^2/ε^2)^{-r/2} \\exp(-‖x - μ_s‖^2/(ε^2 + 2τ_s^2))

which is exact for cells of one point and for points with that distribution.  The error varies slowly from place to place,
and a factor that varies slowly does not affect a Laplacian.  With 32 cells in an effective neighborhood the sums of a
surface with noise in 13 dimensions are right to half a percent (`tests/test_cells_engine.py`), where 32 random points in
place of all would be off by 20 %.

Pairs are processed in single precision: one matrix product per tile, relative to its own center, gives the distances.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.spatial.distance import cdist

from ..kernel import gaussian
from ..threads import Scratch, checkpoint, in_order

__all__ = [
    "CHECKED",
    "FEWEST_CELLS",
    "FINER",
    "PILOT",
    "Boxes",
    "Cells",
    "branches",
    "degree_error",
    "neighborhood_share",
    "runs_of",
]

# Initial cells in an effective neighborhood; how many times more cells check them, and at how many points.
FEWEST_CELLS, FINER, CHECKED = 32, 16, 64
# Points that estimate the number of neighbors, and how many of them must be neighbors for an estimate.
PILOT, _TELLING = 2**14, 16
# The error in d²/ε² that is negligible in a sum.
_EXPONENT_ERROR = 1e-3
# Weights beyond this many ε, 5e-6 and less, are left out of sums.
_REACH = 3.5
# Targets of one tile, and cells; cells that share a bounding box, and boxes that share one.
_TARGETS, _CELLS, _SHARED = 1024, 1024, 32


class Boxes:
    """Bounding boxes around runs of consecutive points, in two levels."""

    def __init__(self, points, run):
        self.run, self.size = run, len(points)
        starts = np.arange(0, len(points), run)
        self._fine = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
        starts = np.arange(0, len(starts), _SHARED)
        self._coarse = np.minimum.reduceat(self._fine[0], starts), np.maximum.reduceat(self._fine[1], starts)

    def within(self, distance, low, high):
        """Numbers of the runs that may hold points closer than ``distance`` to the box from ``low`` to ``high``."""
        near = np.flatnonzero(_gaps(low, high, *self._coarse) <= distance**2)
        runs = (near[:, None] * _SHARED + np.arange(_SHARED)).ravel()
        runs = runs[: np.searchsorted(runs, len(self._fine[0]))]
        return runs[_gaps(low, high, self._fine[0][runs], self._fine[1][runs]) <= distance**2]

    def points(self, runs):
        """Indices of all points in those runs."""
        index = (runs[:, None] * self.run + np.arange(self.run)).ravel()
        return index[: np.searchsorted(index, self.size)]


def _gaps(low, high, lows, highs):
    """Squared distances between a box and others."""
    gap = np.maximum(np.maximum(lows - high, low - highs), 0.0)
    return np.einsum("nr,nr->n", gap, gap)


def neighborhood_share(sqdist, eps, *, cutoff=None):
    """The share of all points in an effective neighborhood, at the lower quartile of some places.

    ``sqdist`` (n, m) are squared distances from these places to pilot points; the place itself does not count.
    """
    W = gaussian(np.where(sqdist == 0, np.inf, sqdist), eps, cutoff=cutoff)
    effective = W.sum(axis=1) ** 2 / np.maximum(np.square(W).sum(axis=1), np.finfo(float).tiny)
    return max(np.quantile(effective, 0.25), _TELLING) / sqdist.shape[1]


def degree_error(degrees, truth) -> float:
    """Relative error of degrees up to a common factor: half the width of the central two thirds of log ratios."""
    return 0.5 * float(np.subtract(*np.quantile(np.log(degrees / truth), [0.84, 0.16])))


def runs_of(places, *, longest=_TARGETS):
    """Where runs of nearby places begin, given ascending places in the order of a tree."""
    return np.flatnonzero(np.diff(places // longest, prepend=-1))


def branches(n, n_branches):
    """Where the branches of a balanced k-d tree begin among n points in its order; their number is a power of two."""
    sizes = np.array([n])
    while len(sizes) < n_branches:
        sizes = np.column_stack([sizes // 2, sizes - sizes // 2]).ravel()
    return np.cumsum(sizes) - sizes


@dataclass(frozen=True)
class Cells:
    """K Gaussians in place of points.

    Attributes
    ----------
    centers : ndarray (K, r)
    counts : ndarray (K,)
        Points in each cell.
    variances : ndarray (K,)
        Their variance per coordinate.
    rho : ndarray (K,)
        Their local scale, 1 if there are no local scales.
    """

    centers: np.ndarray
    counts: np.ndarray
    variances: np.ndarray
    rho: np.ndarray

    @classmethod
    def of(cls, X, n_cells, rho=None):
        """Cells of points that are in the order of a k-d tree: a power of two, or one for each point."""
        if n_cells >= len(X):
            return cls(X, np.ones(len(X)), np.zeros(len(X)), np.ones(len(X)) if rho is None else rho)
        starts = branches(len(X), n_cells)
        counts = np.diff(starts, append=len(X)).astype(float)
        scale = None if rho is None else np.exp(np.add.reduceat(np.log(rho), starts) / counts)
        squares = np.add.reduceat(np.einsum("nr,nr->n", X, X), starts)
        return cls.from_sums(counts, np.add.reduceat(X, starts), squares, scale)

    @classmethod
    def from_sums(cls, counts, sums, squares, rho=None):
        """Cells from the number of their points, the sums of coordinates (K, r) and of squared lengths (K,)."""
        centers = sums / counts[:, None]
        variances = np.maximum(squares / counts - np.einsum("nr,nr->n", centers, centers), 0.0) / centers.shape[1]
        return cls(centers, counts, variances, np.ones(len(counts)) if rho is None else rho)

    @cached_property
    def boxes(self):
        return Boxes(self.centers, _SHARED)

    def sums(self, targets, eps, starts, *, rho=None, cutoff=None, n_jobs):
        """Σ W over all points (including the target itself) for targets (n, r).

        Targets between two of the ``starts`` are processed together, and should be close to each other.
        """
        widen = 1.0 + 2.0 * self.variances / (eps * self.rho) ** 2
        logs = np.log(self.counts) - 0.5 * self.centers.shape[1] * np.log(widen)
        largest = logs.max()
        weights = np.exp(logs - largest).astype(np.float32)
        widest = np.sqrt(widen.max())
        inverse = 1.0 / (eps**2 * self.rho * widen)
        rho_most = self.rho.max()
        scratch = Scratch()
        # With one center for all tiles the factors of the cells are computed once, if that does not cost too many digits.
        size = np.einsum("nr,nr->n", self.centers, self.centers).max()
        once = np.finfo(np.float32).eps * size * inverse.max() < _EXPONENT_ERROR
        factors = _factors(self.centers, inverse, True) if once else None

        def of(run):
            checkpoint()
            points = targets[slice(*run)]
            scale = np.ones(len(points)) if rho is None else rho[slice(*run)]
            near = self.near(points, eps * np.sqrt(scale.max() * rho_most) * widest)
            center = 0.0 if once else points[len(points) // 2]
            left = _factors(points - center, 1.0 / scale)
            # Both points of a close pair are about as far from the center.
            lost = not once and np.finfo(np.float32).eps * left[:, -2].max() * inverse.max() > 10.0 * _EXPONENT_ERROR
            sums = np.zeros(len(points))
            for k in range(0, len(near), _CELLS):
                part = near[k : k + _CELLS]
                W = scratch.array("W", (len(points), len(part)), np.float32)
                if lost:
                    W[:] = cdist(points, self.centers[part], "sqeuclidean") * (-inverse[part] / scale[:, None])
                else:
                    if factors is None:
                        right = _factors(self.centers[part] - center, inverse[part], True)
                    else:
                        right = factors.take(part, axis=0)
                    np.matmul(left, right.T, out=W)
                outside = None if cutoff is None else W * widen[part].astype(np.float32) < -(cutoff**2)
                np.exp(W, out=W)
                if outside is not None:
                    W[outside] = 0.0
                sums += W @ weights[part]
            return sums

        runs = pairwise([*starts, len(targets)])
        found = in_order(of, runs, n_jobs=n_jobs, label=None)
        return np.concatenate(list(found)) * np.exp(max(largest, -600.0))

    def near(self, points, eps):
        """Indices of the cells that may be within reach of the points."""
        return self.boxes.points(self.boxes.within(_REACH * eps, points.min(axis=0), points.max(axis=0)))


def _factors(A, scale, cells=False):
    """Rows whose products are −‖x − y‖² times both scales: those of x, or of y."""
    squares = np.einsum("nr,nr->n", A, A)
    columns = [2.0 * A, -np.ones(len(A)), -squares] if cells else [A, squares, np.ones(len(A))]
    return (np.column_stack(columns) * np.broadcast_to(scale, len(A))[:, None]).astype(np.float32)
