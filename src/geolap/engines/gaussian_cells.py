"""Cells: a few Gaussians in place of many points, for sums of weights.

Points in the order of a k-d tree are cut into K runs of equal length.  In a sum over all points, one Gaussian with the same
count n_s, and in each coordinate k the same mean μ_sk and variance τ_sk², replaces each run,

.. math:: Σ_j e^{-‖x - x_j‖^2/ε^2} ≈ Σ_s n_s \\prod_k (1 + 2τ_{sk}^2/ε^2)^{-1/2} e^{-(x_k - μ_{sk})^2/(ε^2 + 2τ_{sk}^2)}

which is exact for cells of one point and for points with that distribution.  The error varies slowly from place to place,
and a factor that varies slowly does not affect a Laplacian.  With 32 cells in an effective neighborhood the sums of a
surface with noise in 13 dimensions are right to half a percent (`tests/test_cells_engine.py`), where 32 random points in
place of all would be off by 20 %.

Pairs are processed in single precision: one matrix product per tile, relative to its own center, gives the distances.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from ..kernel import gaussian
from ..runtime.caching import cached_property
from ..runtime.threads import Scratch, checkpoint, in_order

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
FEWEST_CELLS, FINER, CHECKED = 32, 16, 128
# Points that estimate the number of neighbors, and how many of them must be neighbors for an estimate.
PILOT, _TELLING = 2**14, 16
# The error in d²/ε² that is negligible in a sum.
_EXPONENT_ERROR = 1e-3
# Beyond this 1/ε², squares within reach leave the range of single precision.
_MOST_INVERSE = 1e25
# Weights beyond this many ε, 5e-6 and less, are left out of sums.
_REACH = 3.5
# Targets of one tile, and cells; cells that share a bounding box, and boxes that share one.
_TARGETS, _CELLS, _SHARED = 1024, 1024, 32
# Tiles of fewer targets than this are summed target by target: the factors of their cells would cost more than the sums.
_FEW_TARGETS = 8
# Exponents in single precision are not lower than this; their weights are zero long before.
_FAR = 1e30


class Boxes:
    """Bounding boxes around runs of consecutive points, in two levels."""

    def __init__(self, points: np.ndarray, run: int) -> None:
        self.run, self.size = run, len(points)
        starts = np.arange(0, len(points), run)
        self._fine = np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)
        starts = np.arange(0, len(starts), _SHARED)
        self._coarse = np.minimum.reduceat(self._fine[0], starts), np.maximum.reduceat(self._fine[1], starts)

    def within(self, distance: float | np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Numbers of the runs that may hold points closer than ``distance`` to the box from ``low`` to ``high``.

        The distance may be another one for each run.
        """
        fine = np.broadcast_to(distance, len(self._fine[0]))
        coarse = np.maximum.reduceat(fine, np.arange(0, len(fine), _SHARED)) if np.ndim(distance) else distance
        near = np.flatnonzero(_gaps(low, high, *self._coarse) <= coarse**2)
        runs = (near[:, None] * _SHARED + np.arange(_SHARED)).ravel()
        runs = runs[: np.searchsorted(runs, len(self._fine[0]))]
        return runs[_gaps(low, high, self._fine[0][runs], self._fine[1][runs]) <= fine[runs] ** 2]

    def points(self, runs: np.ndarray) -> np.ndarray:
        """Indices of all points in those runs."""
        index = (runs[:, None] * self.run + np.arange(self.run)).ravel()
        return index[: np.searchsorted(index, self.size)]


def _gaps(low: np.ndarray, high: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    """Squared distances between a box and others."""
    gap = np.maximum(np.maximum(lows - high, low - highs), 0.0)
    return np.einsum("nr,nr->n", gap, gap)


def neighborhood_share(sqdist: np.ndarray, eps: float, *, cutoff: float | None = None) -> float:
    """The share of all points in an effective neighborhood, at the lower quartile of some places.

    ``sqdist`` (n, m) are squared distances from these places to pilot points; the place itself does not count.
    """
    W = gaussian(np.where(sqdist == 0, np.inf, sqdist), eps, cutoff=cutoff)
    effective = W.sum(axis=1) ** 2 / np.maximum(np.square(W).sum(axis=1), np.finfo(float).tiny)
    return max(np.quantile(effective, 0.25), _TELLING) / sqdist.shape[1]


def degree_error(degrees: np.ndarray, truth: np.ndarray) -> float:
    """Relative error of degrees up to a common factor: the standard deviation that has the log ratios' mean deviation."""
    logs = np.log(degrees / truth)
    return float(np.sqrt(np.pi / 2.0) * np.abs(logs - np.median(logs)).mean())


def runs_of(places: np.ndarray) -> np.ndarray:
    """Where runs of nearby places begin, given ascending places in the order of a tree."""
    return np.flatnonzero(np.diff(places // _TARGETS, prepend=-1))


def branches(n: int, n_branches: int) -> np.ndarray:
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
        Points in each cell, by weight.
    variances : ndarray (K, r)
        Their variance in each coordinate.
    rho : ndarray (K,)
        Their local scale, 1 if there are no local scales.
    """

    centers: np.ndarray
    counts: np.ndarray
    variances: np.ndarray
    rho: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, n_cells: int, rho: np.ndarray | None = None, m: np.ndarray | None = None) -> Self:
        """Cells of points, with weights m, that are in the order of a k-d tree: a power of two, or one for each point."""
        m = np.ones(len(X)) if m is None else m
        if n_cells >= len(X):
            return cls(X, m, np.zeros((1, X.shape[1])), np.ones(len(X)) if rho is None else rho)
        starts = branches(len(X), n_cells)
        counts, weighted = np.add.reduceat(m, starts), m[:, None] * X
        scale = None if rho is None else np.exp(np.add.reduceat(m * np.log(rho), starts) / counts)
        return cls.from_sums(counts, np.add.reduceat(weighted, starts), np.add.reduceat(weighted * X, starts), scale)

    @classmethod
    def from_sums(cls, counts: np.ndarray, sums: np.ndarray, squares: np.ndarray, rho: np.ndarray | None = None) -> Self:
        """Cells from the number of their points, the sums of coordinates (K, r) and of their squares (K, r)."""
        centers = sums / counts[:, None]
        variances = np.maximum(squares / counts[:, None] - centers**2, 0.0)
        return cls(centers, counts, variances, np.ones(len(counts)) if rho is None else rho)

    @cached_property
    def boxes(self) -> Boxes:
        return Boxes(self.centers, _SHARED)

    def sums(
        self,
        targets: np.ndarray,
        eps: float,
        starts: np.ndarray,
        *,
        rho: np.ndarray | None = None,
        cutoff: float | None = None,
        n_jobs: int | None,
    ) -> np.ndarray:
        """Σ W over all points (including the target itself) for targets (n, r).

        Targets between two of the ``starts`` are processed together, and should be close to each other.
        """
        if len(targets) < _FEW_TARGETS * len(starts):
            scales = np.ones(len(targets)) if rho is None else rho
            each = zip(targets, scales, strict=True)
            return np.array(list(in_order(lambda one: self._sum(*one, eps, cutoff), each, n_jobs=n_jobs, label=None)))
        widen = self._widened(eps)
        logs = np.log(self.counts) - 0.5 * np.log(widen).sum(axis=1)
        largest = logs.max()
        weights = np.exp(logs - largest).astype(np.float32)
        inverse = 1.0 / (eps**2 * self.rho[:, None] * widen)
        scratch = Scratch()
        # With one center for all tiles the factors of the cells are computed once, if that does not cost too many digits.
        size = np.einsum("nr,nr->n", self.centers, self.centers).max()
        narrowest = 1.0 if rho is None else rho.min()
        once = np.finfo(np.float32).eps * size * inverse.max() < _EXPONENT_ERROR * narrowest
        tiny = inverse.max() > _MOST_INVERSE
        factors = _of_cells(self.centers, inverse) if once else None

        def of(run: tuple[int, int]) -> np.ndarray:
            checkpoint()
            points = targets[slice(*run)]
            scale = np.ones(len(points)) if rho is None else rho[slice(*run)]
            near = self.near(points, eps, scale.max())
            center = 0.0 if once else points[len(points) // 2]
            left = _of_points(points - center, scale, inverse.shape[1] == 1).astype(np.float32)
            # Both points of a close pair are about as far from the center.
            far = left[:, : inverse.shape[1]].sum(axis=1).max()
            if tiny or (not once and np.finfo(np.float32).eps * far * inverse.max() > 10.0 * _EXPONENT_ERROR):
                return np.array([self._sum(*one, eps, cutoff) for one in zip(points, scale, strict=True)])
            sums = np.zeros(len(points))
            for k in range(0, len(near), _CELLS):
                part = near[k : k + _CELLS]
                W = scratch.array("W", (len(points), len(part)), np.float32)
                right = _of_cells(self.centers[part] - center, inverse[part]) if factors is None else factors[part]
                np.matmul(left, right.T, out=W)
                outside = None if cutoff is None else W * widen[part].mean(axis=1).astype(np.float32) < -(cutoff**2)
                np.exp(W, out=W)
                if outside is not None:
                    W[outside] = 0.0
                sums += W @ weights[part]
            return sums * np.exp(max(largest, -600.0))

        runs = pairwise([*starts, len(targets)])
        return np.concatenate(list(in_order(of, runs, n_jobs=n_jobs, label=None)))

    def _sum(self, target: np.ndarray, scale: float, eps: float, cutoff: float | None) -> float:
        """Σ W for one target, by differences."""
        checkpoint()
        near = self.near(target[None], eps, scale)
        widen = self._widened(eps, near)
        with np.errstate(over="ignore"):
            squares = (np.square(self.centers[near] - target) / widen).sum(axis=1) / (eps**2 * self.rho[near] * scale)
        W = self.counts[near] * np.exp(-squares - 0.5 * np.log(widen).sum(axis=1))
        return float(W.sum() if cutoff is None else W[squares * widen.mean(axis=1) <= cutoff**2].sum())

    def _widened(self, eps: float, some: np.ndarray | slice = slice(None)) -> np.ndarray:
        """How much wider ε² is in each coordinate (K, r); one column if it is as wide in all, as for cells of one point."""
        rho = self.rho[some, None]
        return 1.0 + 2.0 * self.variances[some] / (eps * rho) ** 2 if self._widest.any() else np.ones_like(rho)

    @cached_property
    def _widest(self) -> np.ndarray:
        """The largest variance over ρ² in each box of cells."""
        widest = self.variances.max(axis=1) / self.rho**2
        return np.maximum.reduceat(widest, np.arange(0, len(widest), _SHARED))

    @cached_property
    def _most_rho(self) -> float:
        return float(self.rho.max())

    def near(self, points: np.ndarray, eps: float, scale: float = 1.0) -> np.ndarray:
        """Indices of the cells that may be within reach of points whose local scales are at most ``scale``."""
        reach = _REACH * eps * np.sqrt(scale * self._most_rho) * np.sqrt(1.0 + 2.0 * self._widest / eps**2)
        return self.boxes.points(self.boxes.within(reach, points.min(axis=0), points.max(axis=0)))


def _of_cells(centers: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Rows whose products with those of `_of_points` are −Σ_k (x_k − μ_k)² a_k; ``inverse`` a is (K, r), or (K, 1)."""
    squares = (centers**2 * inverse).sum(axis=1, keepdims=True)
    return np.clip(np.hstack([-inverse, 2.0 * centers * inverse, -squares]), -_FAR, _FAR).astype(np.float32)


def _of_points(points: np.ndarray, scale: np.ndarray, alike: bool) -> np.ndarray:
    """The other rows: squares of the coordinates (their sum, where all are ``alike``), coordinates, 1, over the scale."""
    squares = points**2
    squares = squares.sum(axis=1, keepdims=True) if alike else squares
    return np.hstack([squares, points, np.ones((len(points), 1))]) / scale[:, None]
