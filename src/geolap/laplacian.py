"""The Laplacian: from weights to degrees, transition probabilities P and L.

.. math:: d_i = Σ_j W_{ij}, \\quad W'_{ij} = \\frac{W_{ij}}{(d_i d_j)^λ}, \\quad d'_i = Σ_j W'_{ij}, \\quad
          P_{ij} = W'_{ij}/d'_i, \\quad L = \\frac{4}{ε^2} (P - I)

(equation 3 of the paper, after Coifman & Lafon 2006; the paper leaves out the scale).  With λ = 1 the density of the
points drops out and L → Δ_M, with the negative semi-definite sign.  The factor d_i^λ cancels in P, so a row of P needs
only the weights of that row and one *density weight* v_j = d_j^{−λ} for every point:

.. math:: P_{ij} = \\frac{W_{ij} v_j}{Σ_k W_{ik} v_k}

**Bandwidths that vary from point to point**, W_ij = exp(−‖x_i − x_j‖²/(ε² ρ_i ρ_j)), pull the limit toward larger ρ: it
is Δ_M f + (d + 2) ∇log ρ · ∇f + 2 ∇log u · ∇f, with u the density after division by W's own (Berry & Harlim 2016).  The
degrees now estimate the density times ρ^d, so Δ_M alone remains for

.. math:: v_j = d_j^{-λ} ρ_j^{λ d - (d + 2)/2}, \\qquad L_{ij} = \\frac{4}{ε^2 ρ_i^2} (P_{ij} - δ_{ij})

with λ = 1 (and Δ_M f + 2(1 − λ) ∇log q · ∇f otherwise, q the density of the points, as for constant ρ).
"""

import sys
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

__all__ = [
    "LocalScale",
    "Matrix",
    "density_weights",
    "laplacian",
    "log_density_weights",
    "neighbors_in",
    "row_entries",
    "rows_of",
    "scaled",
    "scaled_rows",
    "shifted",
    "submatrix",
    "transition",
]

# Full, sparse, or on a device (`geolap.graphs.device`).
Matrix: TypeAlias = np.ndarray | sparse.csr_array


@dataclass(frozen=True)
class LocalScale:
    """How the bandwidth varies: ε(x_i) = ε ρ_i.

    Attributes
    ----------
    rho : ndarray (N,)
        Positive, 1 at a typical point.
    intrinsic_dim : float
        d, the dimension of the manifold, which the density weights need.
    """

    rho: np.ndarray
    intrinsic_dim: float


def density_weights(degrees: Any, *, renormalization: float = 1.0, scale: LocalScale | None = None) -> Any:
    """Density weights v (N, ...) from the degrees (N, ...) of all points, divided by their maximum; 0 where a degree is 0.

    A common factor drops out of P; dividing by it keeps powers of very different degrees within floating-point range.
    An array or a tensor, as the degrees are.
    """
    xp, logs = _functions_of(degrees), log_density_weights(degrees, renormalization=renormalization, scale=scale)
    with np.errstate(under="ignore"):
        return xp.exp(logs - xp.clip(xp.amax(logs, 0), -700.0, None))


def log_density_weights(degrees: Any, *, renormalization: float = 1.0, scale: LocalScale | None = None) -> Any:
    """log v (N, ...), −inf for points whose degree is 0."""
    xp, some = _functions_of(degrees), degrees > 0
    logs = xp.where(some, -renormalization * xp.log(xp.where(some, degrees, 1.0)), -np.inf)
    if scale is not None:
        d = scale.intrinsic_dim
        power = (renormalization * d - 0.5 * (d + 2.0)) * np.log(scale.rho).reshape(-1, *[1] * (logs.ndim - 1))
        logs += power if xp is np else xp.as_tensor(power, device=logs.device)
    return logs


def _functions_of(a: Any) -> Any:
    """NumPy for an array, torch for a tensor."""
    return sys.modules["torch"] if hasattr(a, "exp_") else np


def transition(W: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Rows of P from the same rows of W (n, N) and the density weights of all points (N,)."""
    P = W * weights
    return P / P.sum(axis=-1, keepdims=True)


def laplacian(P: Matrix, bandwidth: float | np.ndarray) -> Matrix:
    """L = (4/ε²)(P − I) for all rows of P (N, N), dense or sparse; the bandwidth is one number, or one for each row."""
    factor = (4.0 / np.broadcast_to(bandwidth, (P.shape[0],)) ** 2).astype(P.dtype)
    if isinstance(P, np.ndarray):
        return factor[:, None] * (P - np.eye(len(P), dtype=P.dtype))
    return shifted(scaled(P, rows=factor), -factor)


def scaled(A: Matrix, *, rows: np.ndarray | None = None, columns: np.ndarray | None = None) -> Matrix:
    """diag(rows) A diag(columns)"""
    if sparse.issparse(A):
        return scaled_rows(A, rows=rows, columns=columns)
    if not isinstance(A, np.ndarray):  # on a device
        return A.scaled(rows=rows, columns=columns)
    left, right = (np.ones(len(A)) if v is None else v for v in (rows, columns))
    return (A * np.multiply.outer(left, right)).astype(A.dtype, copy=False)


def shifted(A: Matrix, diagonal: np.ndarray) -> Matrix:
    """A + diag(diagonal)"""
    if sparse.issparse(A):
        return sparse.csr_array(A + sparse.diags_array(diagonal, format="csr"))
    return A + np.diag(diagonal) if isinstance(A, np.ndarray) else A.shifted(diagonal)


def rows_of(A: Matrix, rows: np.ndarray) -> Matrix:
    """Some rows of A, in the memory of the host."""
    return A[rows] if isinstance(A, np.ndarray) or sparse.issparse(A) else A.rows(rows)


def submatrix(A: Matrix, rows: np.ndarray | slice) -> Matrix:
    """The matrix of some rows, and the same columns."""
    return A[rows][:, rows] if isinstance(A, np.ndarray) or sparse.issparse(A) else A.restricted(rows)


def row_entries(A: Matrix, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of one row of a matrix, without zeros of a full one."""
    if isinstance(A, np.ndarray):
        j = np.flatnonzero(A[i])
        return j, A[i, j]
    part = slice(A.indptr[i], A.indptr[i + 1])
    return A.indices[part], A.data[part]


def neighbors_in(A: Matrix, i: int, point: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors of a point, which has that row of a matrix of weights, and their weights."""
    near, weights = row_entries(A, i)
    real = (near != point) & (weights > 0)
    return near[real], weights[real]


def scaled_rows(
    A: sparse.csr_array, *, rows: np.ndarray | None = None, columns: np.ndarray | None = None
) -> sparse.csr_array:
    """diag(rows) A diag(columns) of a CSR matrix; exactly symmetric if A is symmetric and both are the same.

    Only the values are copied; the sparsity pattern is shared.
    """
    A.prune()  # slicing may leave unused space after the last entry
    data = np.ones(A.nnz) if columns is None else columns[A.indices]
    if rows is not None:
        data *= np.repeat(rows, np.diff(A.indptr))
    data *= A.data
    return sparse.csr_array((data.astype(A.dtype, copy=False), A.indices, A.indptr), shape=A.shape)
