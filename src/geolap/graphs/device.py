"""A graph's matrix on the device that holds its points: full or sparse there, vectors in and out of the memory of the host.

.. math:: A = \\mathrm{diag}(l)\\, W\\, \\mathrm{diag}(r) + \\mathrm{diag}(s)

W is stored once, on the device; P, L and their symmetric relatives are W with other l, r and s, so that
`geolap.graphs.graph` has the formulas of both.  A product takes and returns NumPy arrays; `DeviceMatrix.product` is the same
for tensors, which `geolap.graphs.device_spectrum` iterates on.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from scipy import sparse

from ..engines.device import HELD_CPU, HELD_GPU
from ..runtime.memory import available_memory, require_memory

__all__ = [
    "DeviceMatrix",
    "components_of",
    "csr_tensor",
    "free_memory",
    "held_numbers",
    "on_host",
    "row_slices",
    "tensor_of",
]


class DeviceMatrix:
    """diag(left) W diag(right) + diag(shift) (N, N), W symmetric and on a device."""

    def __init__(self, W: torch.Tensor, dtype: Any = float, *, is_partial: bool = False) -> None:
        self._W, self.dtype = W, np.dtype(dtype)  # the second is that of results
        self.is_partial = is_partial or self.is_sparse  # whether some pairs are left out
        self._left: torch.Tensor | None = None
        self._right: torch.Tensor | None = None
        self._shift: torch.Tensor | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self._W.shape[0], self._W.shape[1]

    @property
    def device(self) -> Any:
        return self._W.device

    @property
    def is_sparse(self) -> bool:
        return self._W.layout == torch.sparse_csr

    @property
    def nnz(self) -> int:
        return self._W.values().numel() if self.is_sparse else self._W.numel()

    def scaled(self, *, rows: np.ndarray | None = None, columns: np.ndarray | None = None) -> "DeviceMatrix":
        """diag(rows) A diag(columns); only vectors are copied."""
        left, right = (None if v is None else self.tensor(v) for v in (rows, columns))
        shift = _times(_times(self._shift, left), right) if self._shift is not None else None
        return self._with(_times(self._left, left), _times(self._right, right), shift)

    def shifted(self, diagonal: np.ndarray) -> "DeviceMatrix":
        """A + diag(diagonal)"""
        more = self.tensor(diagonal)
        return self._with(self._left, self._right, more if self._shift is None else self._shift + more)

    def restricted(self, rows: np.ndarray) -> "DeviceMatrix":
        """The matrix of some rows, and the same columns."""
        some = tensor_of(rows, self.device)
        if self.is_sparse:
            place = torch.full((self.shape[0],), -1, device=self.device)
            place[some] = torch.arange(len(some), device=self.device)
            row, column, values = place[self.row_indices()], place[self._W.col_indices().long()], self._W.values()
            inside = (row >= 0) & (column >= 0)
            row, order = torch.sort(row[inside], stable=True)
            W = csr_tensor(row, column[inside][order], values[inside][order], len(some))
        else:
            W = torch.empty((len(some), len(some)), dtype=self._W.dtype, device=self.device)
            for part in row_slices(len(some), self.shape[0], self.device):
                W[part] = self._W[some[part]][:, some]
        result = DeviceMatrix(W, self.dtype, is_partial=self.is_partial)
        return result._with(*(None if v is None else v[some] for v in (self._left, self._right, self._shift)))

    def __matmul__(self, v: np.ndarray) -> np.ndarray:
        return on_host(self.product(self.tensor(v)))

    def __rmul__(self, factor: float) -> "DeviceMatrix":
        return self.scaled(rows=np.full(self.shape[0], factor))

    def product(self, v: torch.Tensor) -> torch.Tensor:
        """A v for a vector (N,) or several (N, k) on the device."""
        V = v[:, None] if v.ndim == 1 else v
        U = self._W @ (V if self._right is None else V * self._right[:, None])
        U = U if self._left is None else U.mul_(self._left[:, None])
        U = U if self._shift is None else U.addcmul_(self._shift[:, None], V)
        return U[:, 0] if v.ndim == 1 else U

    def sum(self, axis: int = 1, dtype: Any = float) -> np.ndarray:
        """Row sums."""
        return self @ np.ones(self.shape[0])

    def diagonal(self) -> np.ndarray:
        own = self._W.values()[self._on_diagonal()] if self.is_sparse else self._W.diagonal()
        for v in (self._left, self._right):
            own = _times(own, v)
        return on_host(own if self._shift is None else own + self._shift)

    def setdiag(self, values: np.ndarray) -> None:
        """Set the diagonal of W itself, before anything is made of it."""
        own = self.tensor(np.broadcast_to(values, (self.shape[0],)))
        if self.is_sparse:
            self._W.values()[self._on_diagonal()] = own
        else:
            self._W.diagonal().copy_(own)

    def row_indices(self) -> torch.Tensor:
        """The row of every entry of a sparse matrix."""
        ends = self._W.crow_indices().long()
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.device), ends.diff())

    def entries(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Ends of rows, columns and values of W, sparse."""
        return self._W.crow_indices(), self._W.col_indices(), self._W.values()

    def rows_of_full(self, rows: slice) -> torch.Tensor:
        """Some rows of W, full."""
        return self._W[rows]

    def rows(self, indices: np.ndarray) -> sparse.csr_array:
        """Some rows of A in the memory of the host."""
        some = tensor_of(indices, self.device)
        if not self.is_sparse:
            values = _times(self._W[some], self._right)
            values = values if self._left is None else values * self._left[some][:, None]
            if self._shift is not None:
                values[torch.arange(len(some), device=self.device), some] += self._shift[some]
            return sparse.csr_array(on_host(values))
        ends, columns, entries = self.entries()
        counts = ends.long().diff()[some]
        row = torch.repeat_interleave(torch.arange(len(some), device=self.device), counts)
        first = torch.cumsum(counts, 0) - counts
        at = (ends.long()[some] - first)[row] + torch.arange(len(row), device=self.device)
        values, column = entries[at], columns[at].long()
        values = values if self._left is None else values * self._left[some][row]
        values = values if self._right is None else values * self._right[column]
        if self._shift is not None:
            values = values + torch.where(column == some[row], self._shift[column], 0.0)
        indptr = np.concatenate([[0], np.cumsum(on_host(counts))])
        return sparse.csr_array((on_host(values), on_host(column), indptr), shape=(len(some), self.shape[0]))

    def host(self) -> Any:
        """The matrix in the memory of the host, full or sparse."""
        n = self.shape[0]
        require_memory(20.0 * self.nnz, f"A graph of {n} points with {self.nnz:.1e} entries", "keep it on the GPU")
        if not self.is_sparse:
            full = np.empty((n, n), dtype=self.dtype)
            for part in row_slices(n, n, self.device):
                values = _times(self._W[part], self._right)
                full[part] = on_host(values if self._left is None else values * self._left[part, None])
            if self._shift is not None:
                full[np.arange(n), np.arange(n)] += on_host(self._shift)
            return full
        ends, columns, values = self.entries()
        values = values if self._left is None else values * self._left[self.row_indices()]
        values = values if self._right is None else values * self._right[columns.long()]
        A = sparse.csr_array((on_host(values).astype(self.dtype, copy=False), on_host(columns), on_host(ends)), shape=(n, n))
        return A if self._shift is None else sparse.csr_array(A + sparse.diags_array(on_host(self._shift)))

    def tensor(self, v: np.ndarray) -> torch.Tensor:
        """A vector of numbers on the device."""
        return tensor_of(np.asarray(v, dtype=float), self.device)

    def _with(self, left: torch.Tensor | None, right: torch.Tensor | None, shift: torch.Tensor | None) -> "DeviceMatrix":
        other = DeviceMatrix(self._W, self.dtype, is_partial=self.is_partial)
        other._left, other._right, other._shift = left, right, shift
        return other

    def _on_diagonal(self) -> torch.Tensor:
        return self.row_indices() == self._W.col_indices()


def csr_tensor(row: torch.Tensor, column: torch.Tensor, values: torch.Tensor, n: int) -> torch.Tensor:
    """A sparse matrix (n, n) from entries whose rows are ascending."""
    ends = torch.zeros(n + 1, dtype=torch.int64, device=row.device)
    ends[1:] = torch.cumsum(torch.bincount(row, minlength=n), 0)
    index = torch.int32 if len(values) < 2**31 else torch.int64  # the narrower is read faster
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch calls its sparse matrices new
        return torch.sparse_csr_tensor(ends.to(index), column.to(index), values, (n, n))


def components_of(least: Callable[[torch.Tensor], torch.Tensor], n: int, device: Any) -> torch.Tensor:
    """For each of n points the first point of its component.

    ``least`` of numbers (n,) is the least of those at each point and at the points that it is joined with.  Trees of points
    are hooked onto those with lower roots and flattened (Zhang, Azad & Hu 2020): as many rounds as the logarithm of n.
    """
    parent = torch.arange(n, device=device)
    while True:
        root = parent[parent]
        low = torch.minimum(least(root), root)
        new = torch.minimum(parent.scatter_reduce(0, parent, low, "amin"), low)
        if torch.equal(new, parent):
            return parent
        parent = new


def tensor_of(a: Any, device: Any) -> torch.Tensor:
    """A copy of an array on a device."""
    return torch.tensor(np.ascontiguousarray(a), device=device)


def on_host(v: torch.Tensor) -> np.ndarray:
    """A tensor in the memory of the host."""
    return v.cpu().numpy()


def free_memory(device: Any) -> float:
    """Bytes that may still be used on a device."""
    if device.type != "cuda":
        return available_memory()
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return float(torch.cuda.mem_get_info(device)[0] + cached)


def held_numbers(device: Any) -> int:
    """Numbers in one of the large arrays of a tile."""
    return HELD_CPU if device.type == "cpu" else int(min(HELD_GPU, max(free_memory(device) / 128.0, 2**20)))


def row_slices(n: int, width: int, device: Any) -> Iterator[slice]:
    """Slices of n rows, each as long as fits in a tile of that width."""
    size = max(1, held_numbers(device) // max(width, 1))
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _times(a: torch.Tensor | None, b: torch.Tensor | None) -> Any:
    """The product, None standing for 1."""
    return b if a is None else a if b is None else a * b
