"""Smallest eigenpairs of a large sparse matrix by LOBPCG, with coarse levels for preconditioner and start.

Lanczos needs as many products as 1/√μ, μ the gap between eigenvalues, which falls as the number of points grows.  Coarse
levels bring an error down by about the same factor regardless of the size, and their eigenvectors are a start that is right
to a few percent.  There are two kinds:

- *Multigrid* (smoothed aggregation, from pyamg), for graphs of nearest neighbors.
- *Cells*, the branches of a k-d tree, for graphs of all pairs within reach or a share of them, whose edges lead far:
  multigrid would have full coarse levels there.  Where a cell is no wider than ε, whatever varies within cells is damped by
  the graph itself, and one level is enough: M⁻¹ = diag⁻¹ + C (CᵀLC)⁺ Cᵀ, the columns of C being the null vector on each
  of the cells.

LOBPCG in the form of Hetmaniuk & Lehoucq (2006), with orthonormal bases throughout: where residuals sit on the same few
points, the plain form breaks down.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, eigsh

from ..engines.gaussian_cells import branches

__all__ = ["Levels", "has_multigrid", "levels_by_cells", "levels_by_multigrid", "smallest_by_lobpcg"]

# Vectors beyond the wanted ones: with them the last wanted converge as fast as the first.
_GUARDS = 4
# Iterations at most; residuals that fall by no more than this factor in so many of them do not fall.
_ITERATIONS, _SLOW, _ROUND = 100, 0.5, 12
# Directions of a new block below this share of the longest are rounding.
_DEPENDENT = 1e-7
# The coarsest level, which is solved directly.
_COARSEST = 500
# Cells, and the fewest points of one; entries that are added up at once.
_CELLS, _FEWEST_IN_CELL, _TOGETHER = 1024, 16, 2**22
# Eigenvalues of the coarse level below this share of the largest are its null space.
_NULL = 1e-9

_Product = Callable[[np.ndarray], np.ndarray]


def has_multigrid() -> bool:
    """Whether pyamg is installed."""
    return find_spec("pyamg") is not None


@dataclass(frozen=True)
class Levels:
    """What coarse levels tell of a matrix.

    Attributes
    ----------
    start : callable
        k → the smoothest k vectors of a coarse level, on the finest (n, k), the null vector left out.
    precondition : callable
        An approximate inverse of the matrix, applied to vectors (n, k).
    size : int
        Points of the first coarse level.
    """

    start: Callable[[int], np.ndarray]
    precondition: _Product
    size: int


def smallest_by_lobpcg(
    levels: Levels, k: int, *, product: _Product, known: np.ndarray, tol: float, accepted: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """The k smallest eigenvalues of a symmetric positive semi-definite matrix L and their vectors (n, k).

    ``known`` (n, 1) spans its null space and is kept out; ``product`` multiplies with L; residuals should fall to ``tol``.
    Those that fall no further, as where points hang on by a thread, are ``accepted`` below that.  The answer is None if they
    stay above, or if the coarse level is too small to tell that many vectors apart.
    """
    if levels.size < 2 * (k + _GUARDS) + 2:
        return None
    start = _basis_beside(levels.start(k + _GUARDS), known)
    n, m = start.shape
    if m < k:
        return None
    # The m vectors, the last step, and the new directions; and their products with L.
    S, LS = (np.empty((n, 3 * m), order="F") for _ in range(2))
    S[:, :m], LS[:, :m], held = start, product(start), m
    residuals: list[float] = []
    best = None
    for _ in range(_ITERATIONS):
        values, U = np.linalg.eigh(S[:, :m].T @ LS[:, :m])
        S[:, :m], LS[:, :m] = S[:, :m] @ U, LS[:, :m] @ U
        R = LS[:, :m] - S[:, :m] * values
        residuals.append(float(np.linalg.norm(R[:, :k], axis=0).max()))
        stuck = len(residuals) > _ROUND and residuals[-1] > _SLOW * residuals[-1 - _ROUND]
        if residuals[-1] <= accepted and residuals[-1] == min(residuals):
            best = values[:k], S[:, :k].copy()
        if stuck or residuals[-1] <= tol:
            break
        new = _basis_beside(levels.precondition(R), known, S[:, :held])
        full = held + new.shape[1]
        S[:, held:full], LS[:, held:full] = new, product(new)
        U = np.linalg.eigh(S[:, :full].T @ LS[:, :full])[1][:, :m]
        # The step, made orthogonal to the new vectors: the same combinations without the old ones.
        U = np.hstack([U, _basis_beside(np.vstack([np.zeros((m, m)), U[m:]]), U)])
        held = U.shape[1]
        S[:, :held], LS[:, :held] = S[:, :full] @ U, LS[:, :full] @ U
    return best


def _basis_beside(V: np.ndarray, *against: np.ndarray) -> np.ndarray:
    """An orthonormal basis (n, ≤ k) of what vectors (n, k) add to orthonormal ones; less if they depend on these."""
    V = V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny)
    for _ in range(2):
        for A in against:
            V = V - A @ (A.T @ V)
        squares, U = np.linalg.eigh(V.T @ V)
        kept = squares > _DEPENDENT**2 * max(squares[-1], np.finfo(float).tiny)
        V = V @ (U[:, kept] / np.sqrt(squares[kept]))
    return V


def levels_by_cells(B: sparse.csr_array, top: float, known: np.ndarray) -> Levels:
    """One coarse level of L = ``top`` I − B, whose points are in the order of a k-d tree: its branches are the cells."""
    n = B.shape[0]
    K = min(_CELLS, 2 ** int(np.log2(n / _FEWEST_IN_CELL)))
    starts = branches(n, K)
    cell = np.repeat(np.arange(K), np.diff(starts, append=n))
    weight = known[:, 0] / np.sqrt(np.add.reduceat(known[:, 0] ** 2, starts))[cell]
    coarse, ends, first = np.zeros(K * K), B.indptr, 0
    while first < n:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _TOGETHER)) - 1)
        row, entries = np.repeat(np.arange(first, last), np.diff(ends[first : last + 1])), slice(ends[first], ends[last])
        column = B.indices[entries]
        coarse += np.bincount(cell[row] * K + cell[column], B.data[entries] * weight[row] * weight[column], K * K)
        first = last
    values, vectors = np.linalg.eigh(top * np.eye(K) - coarse.reshape(K, K))
    inverse = np.where(values > _NULL * values[-1], 1.0 / np.maximum(values, _NULL * values[-1]), 0.0)
    inverse_diagonal = 1.0 / np.maximum(top - B.diagonal(), _NULL * top)[:, None]

    def precondition(R: np.ndarray) -> np.ndarray:
        there = vectors.T @ np.add.reduceat(weight[:, None] * R, starts)
        return inverse_diagonal * R + weight[:, None] * (vectors @ (inverse[:, None] * there))[cell]

    return Levels(lambda k: weight[:, None] * vectors[cell, 1 : k + 1], precondition, K)


def levels_by_multigrid(L: sparse.csr_array, known: np.ndarray, product: _Product) -> Levels:
    """Coarse levels of a CSR matrix by pyamg; ``product`` multiplies with it."""
    import pyamg

    levels = pyamg.smoothed_aggregation_solver(
        sparse.csr_matrix(L),
        B=known,
        symmetry="symmetric",
        strength=None,
        smooth=("jacobi", {"weighting": "local"}),  # other weightings draw random numbers
        presmoother=None,
        postsmoother=None,
        max_coarse=_COARSEST,
    ).levels
    return Levels(lambda k: _start(levels, k), _cycle(levels, product), levels[1].A.shape[0])


def _start(levels: list[Any], k: int) -> np.ndarray:
    """The smoothest k vectors of the first coarse level on the finest, the null vector left out."""
    P = levels[0].P
    coarse = sparse.csc_matrix(levels[1].A)
    start = np.random.default_rng(0).standard_normal(coarse.shape[0])
    try:
        shift = -1e-6 * abs(coarse.diagonal()).max()
        values, vectors = eigsh(coarse, k + 1, M=sparse.csc_matrix(P.T @ P), sigma=shift, v0=start, tol=1e-3)
        return P @ vectors[:, np.argsort(values)[1:]]
    except (ArpackError, RuntimeError):  # the coarse level is singular in more ways than one
        return np.random.default_rng(0).standard_normal((P.shape[0], k))


def _cycle(levels: list[Any], product: _Product) -> _Product:
    """The V-cycle as a function of a block of vectors, with one sweep of ℓ¹-Jacobi before and after each coarse level."""
    sums = [np.asarray(abs(level.A).sum(axis=1)).reshape(-1, 1) for level in levels[:-1]]
    smoothers = [1.0 / np.maximum(each, np.finfo(float).tiny) for each in sums]
    products = [product] + [level.A.__matmul__ for level in levels[1:]]
    bottom = np.linalg.pinv(levels[-1].A.toarray(), hermitian=True)

    def cycle(R: np.ndarray, i: int = 0) -> np.ndarray:
        if i == len(smoothers):
            return bottom @ R
        X = smoothers[i] * R
        X += levels[i].P @ cycle(levels[i].P.T @ (R - products[i](X)), i + 1)
        X += smoothers[i] * (R - products[i](X))
        return X

    return cycle
