"""Pairs from a matrix of distances that was computed elsewhere."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from ..pairs import ZERO, Pairs

__all__ = ["check_distances", "given_pairs"]


def given_pairs(distances: Any, n_points: int | None = None) -> Pairs:
    """Pairs from a square matrix of distances, dense or sparse, as scikit-learn writes them.

    What a sparse matrix does not store is out of reach.  A pair counts if either side stores it.
    """
    if not sparse.issparse(distances):
        return _given_full(np.asarray(distances), n_points)
    D = sparse.csr_array(distances, dtype=float)
    _check_square(D.shape, n_points)
    check_distances(D.data)
    row = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    if D.nnz and np.all(D.data[row != D.indices] == 1.0):
        warnings.warn(
            "Distances should tell near from far; all those given are 1, as in a graph of connections: use mode='distance'.",
            stacklevel=2,
        )
    unit = float(D.data.max(initial=0.0)) or 1.0
    D.data = np.maximum((D.data / unit) ** 2, ZERO)
    return Pairs(_symmetric(D), unit)


def _given_full(D: np.ndarray, n_points: int | None) -> Pairs:
    if D.ndim != 2 or D.dtype.kind not in "biuf":
        raise ValueError(
            f"Distances must be a square matrix of numbers; shape {D.shape} of {D.dtype} was given: pass what "
            "sklearn.metrics.pairwise_distances returns."
        )
    _check_square(D.shape, n_points)
    check_distances(D)
    if not np.allclose(D, D.T, rtol=1e-5, atol=1e-8 * D.max()):
        raise ValueError(
            "A full matrix of distances must be symmetric; the given one is not: pass (D + D.T) / 2 if you mean that."
        )
    unit = float(D.max()) or 1.0
    sqdist = (0.5 * (D / unit + D.T / unit)) ** 2
    np.fill_diagonal(sqdist, 0.0)
    return Pairs(sqdist, unit)


def _check_square(shape: tuple[int, ...], n_points: int | None) -> None:
    if shape[0] != shape[1] or n_points not in (None, shape[0]):
        wanted = "as many rows as columns" if n_points is None else f"{n_points} rows and columns, one for each point"
        raise ValueError(f"A matrix of distances must have {wanted}; shape {shape} was given: match it to the points.")


def check_distances(values: np.ndarray) -> None:
    """Refuse distances that are missing, infinite or negative."""
    wrong = values[~(np.isfinite(values) & (values >= 0))]
    if wrong.size:
        raise ValueError(
            f"Distances must be finite and not negative; {wrong.flat[0]} was given: leave out pairs that are out of reach."
        )


def _symmetric(directed: sparse.csr_array) -> sparse.csr_array:
    """Entries that either side stores, the larger where they differ, and the diagonal."""
    zeros = sparse.diags_array(np.full(directed.shape[0], ZERO), format="csr")
    directed = sparse.csr_array(directed + zeros)  # now every row stores its diagonal
    both = sparse.csr_array(directed.maximum(directed.T.tocsr()))
    both.setdiag(ZERO)
    index = np.int32 if both.nnz < 2**31 else np.int64  # the narrower is what most solvers accept
    return sparse.csr_array((both.data, both.indices.astype(index), both.indptr.astype(index)), shape=both.shape)
