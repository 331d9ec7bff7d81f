"""Pairs of points that a graph stores: squared distances in a unit of their own.

A full symmetric matrix, or a symmetric CSR matrix that stores the diagonal.  There a distance of zero is stored as `ZERO`, a
number too small to weigh anything: a sparse matrix would lose a zero.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from ..kernel import gaussian
from ..laplacian import Matrix
from .points import in_unit

__all__ = ["ZERO", "Pairs"]

# Represents a squared distance of zero.
ZERO = 1e-300
# Weights that are computed together.
_TOGETHER = 2**19


@dataclass(frozen=True)
class Pairs:
    """Squared distances between points."""

    sqdist: Matrix  # (N, N), symmetric, in units of ``unit``², over ρ_i ρ_j once `scaled`
    unit: float
    share: np.ndarray | None = None  # of pairs like each entry of a sparse matrix, those stored: its weight is divided by it
    order: np.ndarray | None = None  # the points in the order of a k-d tree, if pairs are those, or some, within reach

    @property
    def host(self) -> "Pairs":
        """Itself; pairs on a device (`geolap.graphs.device_pairs`) are brought here."""
        return self

    def of_rows(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances and shares of the entries of some rows of a sparse matrix."""
        S: Any = self.sqdist
        return S[rows].data, sparse.csr_array((self.share, S.indices, S.indptr), shape=S.shape)[rows].data

    def scaled(self, rho: np.ndarray) -> "Pairs":
        """Distances over √(ρ_i ρ_j)."""
        S: Any = self.sqdist
        if not sparse.issparse(S):
            return replace(self, sqdist=S / (rho[:, None] * rho))
        data = S.data / (np.repeat(rho, np.diff(S.indptr)) * rho[S.indices])
        return replace(self, sqdist=sparse.csr_array((np.maximum(data, ZERO), S.indices, S.indptr), shape=S.shape))

    def weights(self, bandwidth: float, *, cutoff: float | None = None, dtype: DTypeLike = float) -> Matrix:
        """W of every pair, 1 on the diagonal, dense or sparse."""
        eps = in_unit([bandwidth], self.unit)[0]
        S: Any = self.sqdist
        with np.errstate(under="ignore"):
            if not sparse.issparse(S):
                full = np.empty(S.shape, dtype=dtype)
                side = max(1, _TOGETHER // len(S))
                for start in range(0, len(S), side):  # an interrupt is heard in between
                    rows = slice(start, start + side)
                    full[rows] = gaussian(S[rows], eps, cutoff=cutoff)
                return full
            data = gaussian(S.data, eps, cutoff=cutoff)
            if self.share is not None:
                data /= self.share
        data = data.astype(dtype, copy=False)
        W = sparse.csr_array((data, S.indices, S.indptr), shape=S.shape)
        if cutoff is not None:
            W = W.copy()  # the pattern is not ours to change
            W.eliminate_zeros()
        return W
