"""Smallest eigenpairs of a large sparse matrix by LOBPCG, with algebraic multigrid for preconditioner and start.

Lanczos needs as many products as 1/√μ, μ the gap between eigenvalues, which falls as the number of points grows.  A
multigrid cycle (smoothed aggregation, from pyamg) brings an error down by about the same factor regardless of the size, and
the eigenvectors of its first coarse level, some eighty times smaller, are a start that is right to a few percent.
"""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, eigsh, lobpcg

__all__ = ["has_multigrid", "smallest_by_multigrid"]

# Vectors beyond the wanted ones: with them the last wanted converge as fast as the first.
_GUARDS = 4
# Iterations between looks at the residuals of the wanted vectors, and how many such rounds.
_ITERATIONS, _ROUNDS = 16, 6
# Residuals that fall no faster in a round do not fall.
_SLOW = 0.5
# The coarsest level, which is solved directly.
_COARSEST = 500

_Product = Callable[[np.ndarray], np.ndarray]


def has_multigrid() -> bool:
    """Whether pyamg is installed."""
    return find_spec("pyamg") is not None


def smallest_by_multigrid(
    L: sparse.csr_array, k: int, *, product: _Product, known: np.ndarray, tol: float, accepted: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """The k smallest eigenvalues of a symmetric positive semi-definite CSR matrix and their vectors (n, k).

    ``known`` (n, 1) spans its null space and is kept out; ``product`` multiplies with L; residuals should fall to ``tol``.
    Those that fall no further, as where points hang on by a thread, are ``accepted`` below that.  The answer is None if they
    stay above, or if the coarse level is too small to tell that many vectors apart.
    """
    levels = _levels(L, known)
    if levels[1].A.shape[0] < 2 * (k + _GUARDS) + 2:
        return None
    vectors = _start(levels, k + _GUARDS)
    precondition = _cycle(levels, product)
    residual = np.inf
    for left in reversed(range(_ROUNDS)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # guards need not converge
            values, vectors = lobpcg(
                product, vectors, M=precondition, Y=known, largest=False, tol=0.3 * tol, maxiter=_ITERATIONS
            )
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
        wanted = vectors[:, :k]
        before, residual = residual, float(np.linalg.norm(product(wanted) - wanted * values[:k], axis=0).max())
        if residual <= (accepted if residual > _SLOW * before or not left else tol):
            return values[:k], wanted
    return None


def _levels(L: sparse.csr_array, known: np.ndarray) -> list[Any]:
    import pyamg

    solver = pyamg.smoothed_aggregation_solver(
        sparse.csr_matrix(L),
        B=known,
        symmetry="symmetric",
        strength=None,
        smooth=("jacobi", {"weighting": "local"}),  # other weightings draw random numbers
        presmoother=None,
        postsmoother=None,
        max_coarse=_COARSEST,
    )
    return solver.levels


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
    smoothers = [1.0 / np.maximum(_absolute_sums(level.A), np.finfo(float).tiny)[:, None] for level in levels[:-1]]
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


def _absolute_sums(A: sparse.spmatrix) -> np.ndarray:
    A = sparse.csr_matrix(A)
    return np.bincount(np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), weights=np.abs(A.data), minlength=A.shape[0])
