"""Components and largest eigenpairs of a matrix on a device: block Lanczos with thick restarts.

A basis V of a few blocks is extended by what the matrix makes of its last block, orthogonal to all before; the largest
eigenpairs of Vᵀ B V, and the block that comes next, begin the next basis (Wu & Simon 2000).  A full matrix is read once for
a whole block, which costs hardly more than for one vector.
"""

import numpy as np
import torch

from .device import DeviceMatrix, components_of, on_host, row_slices, tensor_of

__all__ = ["components_there", "largest_there"]

# Vectors of a block where the matrix is full, and sparse; blocks of the basis beyond the wanted vectors, at least.
_BLOCK, _SPARSE_BLOCK, _BLOCKS = 8, 2, 24
# The ratio of lengths below which columns count as nearly dependent.
_DEPENDENT = 1e-6


def components_there(W: DeviceMatrix, density: np.ndarray, inverse: np.ndarray, least: float) -> np.ndarray:
    """A number for each point, the same in each component: W_ij v_i v_j max(1/d'_i, 1/d'_j) above ``least`` joins."""
    v, inv = W.tensor(density), W.tensor(inverse)
    n = W.shape[0]
    if W.is_sparse:
        _, columns, values = W.entries()
        row, column = W.row_indices(), columns.long()
        joined = values * v[row] * v[column] * torch.maximum(inv[row], inv[column]) > least
        row, column = row[joined], column[joined]
        return on_host(components_of(lambda f: f.scatter_reduce(0, row, f[column], "amin"), n, W.device))

    def lowest(f: torch.Tensor) -> torch.Tensor:
        found = torch.empty_like(f)
        for rows in row_slices(n, n, W.device):
            share = W.rows_of_full(rows) * (v[rows, None] * v)
            share *= torch.maximum(inv[rows, None], inv)
            found[rows] = torch.where(share > least, f, n).amin(dim=1)
        return found

    return on_host(components_of(lowest, n, W.device))


def largest_there(
    B: DeviceMatrix, k: int, *, known: np.ndarray, push: float, tol: float, restarts: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The k largest eigenvalues of a symmetric matrix and their vectors (n, k); None if they do not converge.

    ``known`` (n, 1) is an eigenvector, pushed below all others; residuals fall to ``tol``.
    """
    n, b = B.shape[0], _SPARSE_BLOCK if B.is_sparse else _BLOCK
    size = b * -(-min(max(2 * k + b, k + _BLOCKS * b), n // 2) // b)  # of the basis
    c = tensor_of(known, B.device)
    V = torch.empty((n, size + b), dtype=torch.float64, device=B.device)
    H = torch.zeros((size + b, size), dtype=torch.float64, device=B.device)
    start = tensor_of(np.random.default_rng(0).standard_normal((n, b)), B.device)
    V[:, :b] = torch.linalg.qr(start - c @ (c.T @ start))[0]
    held = 0
    for _ in range(restarts):
        for first in range(held, size, b):
            before, last = V[:, : first + b], V[:, first : first + b]
            U = B.product(last) - push * c @ (c.T @ last)
            H[: first + b, first : first + b] = before.T @ U
            Q, R = _qr(U - before @ H[: first + b, first : first + b])
            Q, again = _qr(Q - before @ (before.T @ Q))
            V[:, first + b : first + 2 * b], H[first + b : first + 2 * b, first : first + b] = Q, again @ R
        T = on_host(H)
        values, Y = np.linalg.eigh(T[:size], UPLO="U")
        values, Y = values[::-1], Y[:, ::-1]
        if np.linalg.norm(T[size:, -b:] @ Y[-b:, :k], axis=0).max() <= tol:
            return values[:k], on_host(V[:, :size] @ tensor_of(Y[:, :k], B.device))
        held = b * ((k + (size - k) // 2) // b)
        ahead = V[:, size:].clone()
        V[:, :held] = V[:, :size] @ tensor_of(Y[:, :held], B.device)
        V[:, held : held + b] = ahead
        H = torch.zeros_like(H)
        H.diagonal()[:held] = tensor_of(values[:held], B.device)
    return None


def _qr(U: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Q and R with U = QR: by a Cholesky factor of UᵀU, some times as fast, unless columns are nearly dependent."""
    R, failed = torch.linalg.cholesky_ex(U.T @ U, upper=True)
    *diagonal, wrong = torch.cat([R.diagonal(), failed.reshape(1)]).tolist()
    if wrong or min(diagonal) < _DEPENDENT * max(diagonal):
        return torch.linalg.qr(U)
    return torch.linalg.solve_triangular(R, U, upper=True, left=False), R
