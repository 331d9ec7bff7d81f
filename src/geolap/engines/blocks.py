"""Blocks of nearby points, the branches of a k-d tree, and accurate distances between them.

Distances within and between blocks come from one matrix product, relative to the block's own center so that close pairs
keep their digits.  Where even that would lose too many digits, they come from differences.
"""

from itertools import pairwise

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ..data.points import median_of_some
from ..kernel import reach
from .gaussian_cells import branches

__all__ = ["Block", "blocks", "tree_order"]

# The error in d²/ε² beyond which distances are computed by differences instead.
_EXPONENT_ERROR = 1e-10
# Points of a leaf of the tree.
_LEAF = 16


class Block:
    """Consecutive points with their bounding box, and coordinates relative to their own center.

    With local scales ρ, distances are divided by √(ρ_i ρ_j).
    """

    def __init__(self, X: np.ndarray, first: int, last: int, rho: np.ndarray | None = None) -> None:
        self.rows = slice(first, last)
        self.points = X[first:last]
        self.rho = None if rho is None else rho[first:last]
        self.low, self.high = self.points.min(axis=0), self.points.max(axis=0)
        self.center = median_of_some(self.points)  # not the mean, which an outlier could shift far away
        self.about = self.points - self.center
        self.squares = np.einsum("nr,nr->n", self.about, self.about)
        self._factor = np.column_stack([-2.0 * self.about, self.squares, np.ones(len(self.about))])

    def distance(self, other: "Block") -> float:
        """A lower bound on the distance of any two points of the blocks, divided by √(ρ_i ρ_j)."""
        gap = float(np.linalg.norm(np.maximum(np.maximum(self.low - other.high, other.low - self.high), 0.0)))
        return gap if self.rho is None or other.rho is None else gap / np.sqrt(self.rho.max() * other.rho.max())

    def sqdist(self, other: "Block", narrowest: float, *, out: np.ndarray) -> np.ndarray:
        """Squared distances (a, b), by a matrix product if that is accurate enough at bandwidths ≥ ``narrowest``."""
        about = self.about if other is self else other.points - self.center
        squares = self.squares if other is self else np.einsum("nr,nr->n", about, about)
        other_factor = np.column_stack([about, np.ones(len(about)), squares])
        sqdist = np.matmul(self._factor, other_factor.T, out=out)  # ‖a‖² − 2 a·b + ‖b‖² in one pass over the tile
        np.maximum(sqdist, 0.0, out=sqdist)
        if self.rho is not None and other.rho is not None:
            narrowest = narrowest * np.sqrt(self.rho.min() * other.rho.min())
        # Both points of a close pair are about as far from the center; the errors of distant pairs do not matter.
        error = 4.0 * np.finfo(float).eps * min(self.squares.max(), squares.max())
        smallest = max(narrowest**2, sqdist.min() / reach(1.0) ** 2)  # ε² at which the closest pair starts to matter
        if error > _EXPONENT_ERROR * smallest:
            sqdist[:] = cdist(self.points, other.points, "sqeuclidean")
        if self.rho is not None and other.rho is not None:
            sqdist /= self.rho[:, None] * other.rho
        return sqdist


def blocks(X: np.ndarray, side: int, rho: np.ndarray | None = None) -> tuple[list[Block], np.ndarray]:
    """Cut the points into blocks of at most ``side`` nearby points, the branches of a k-d tree: (blocks, its order)."""
    order = tree_order(X)
    X, rho = X[order], None if rho is None else rho[order]
    ends = [*branches(len(X), -(-len(X) // side)).tolist(), len(X)]
    return [Block(X, first, last, rho) for first, last in pairwise(ends)], order


def tree_order(X: np.ndarray) -> np.ndarray:
    """Rows in the order of a k-d tree, whose branches are runs of nearby points."""
    order: np.ndarray = cKDTree(X, leafsize=_LEAF).indices
    return order
