"""Local singular values: how many directions a neighborhood has at a scale.

σ_1 ≥ σ_2 ≥ … at an evaluation point are the singular values of the weighted, centered matrix Z of `geolap.tangent`.  On a
d-dimensional manifold, at scales above the noise and below the curvature, the largest gap σ_k − σ_{k+1} is the d-th.
"""

from contextlib import suppress
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from scipy.spatial.distance import cdist

from .kernel import ladder_weights, ladders
from .points import Points, in_unit
from .threads import in_order

__all__ = ["largest_gap", "local_singular_values", "vote"]

# A neighbor whose weight is this much below the largest changes no singular value by more than a millionth.
_LEAST_WEIGHT = 1e-9
# From this many rows and columns on, Lanczos is faster than a full decomposition.
_LARGE = 400


def local_singular_values(
    points: Points,
    sample: np.ndarray,
    bandwidths: Any,
    n_values: int,
    *,
    rho: np.ndarray | None = None,
    most: int | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Leading singular values (n, m, n_values) of Z at the sampled points and bandwidths, in the unit of the data.

    With local scales ``rho`` (N,) the bandwidth of a pair is ε √(ρ_i ρ_j); ``most`` counts only so many nearest neighbors.
    Where fewer points or features than ``n_values`` are in play, the rest are zero.
    """
    X, unit = points.box, points.unit
    steps = ladders(in_unit(bandwidths, unit))

    def of(i: int) -> np.ndarray:
        sqdist = cdist(X[i : i + 1], X, "sqeuclidean")
        if rho is not None:
            sqdist /= rho[i] * rho
        order = np.argsort(sqdist[0])[: None if most is None else most + 1]
        sqdist = sqdist[:, order]
        A = X[order] - X[i]
        W = np.empty_like(sqdist)
        values = np.zeros((len(bandwidths), n_values))
        for ladder in steps:
            for column, _, weights in ladder_weights(sqdist, ladder, W):
                w = weights[0, : np.searchsorted(-weights[0], -_LEAST_WEIGHT, side="right")]
                p = w / w.sum()
                Z = p[:, None] * (A[: len(p)] - p @ A[: len(p)])
                found = _leading_singular_values(Z, n_values)
                values[column, : len(found)] = found
        return values

    label = f"local singular values at {len(bandwidths)} bandwidths"
    return unit * np.stack(list(in_order(of, sample, n_jobs=n_jobs, label=label)))


def _leading_singular_values(Z: np.ndarray, k: int) -> np.ndarray:
    """The k largest, or as many as there are; of a large matrix by Lanczos, which takes half the time."""
    Z = Z.T if len(Z) < Z.shape[1] else Z
    if Z.shape[1] > max(_LARGE, 10 * k):
        start = np.random.default_rng(0).standard_normal(Z.shape[1])
        product = LinearOperator((Z.shape[1],) * 2, matvec=lambda v: Z.T @ (Z @ v), dtype=float)
        with suppress(ArpackNoConvergence):
            return np.sqrt(np.maximum(np.sort(eigsh(product, k, v0=start, return_eigenvectors=False))[::-1], 0.0))
    return np.sqrt(np.maximum(np.linalg.eigvalsh(Z.T @ Z)[::-1][:k], 0.0))


def largest_gap(values: np.ndarray) -> np.ndarray:
    """Position k = 1, 2, … of the largest gap σ_k − σ_{k+1} along the last axis; 0 where all values are 0."""
    gaps = -np.diff(values, axis=-1)
    return np.where(values[..., 0] > 0, gaps.argmax(axis=-1) + 1, 0)


def vote(per_point: np.ndarray) -> int:
    """The dimension most points vote for, points without neighbors (0) aside."""
    votes = np.bincount(per_point[per_point > 0], minlength=2)
    return int(votes.argmax()) if votes.any() else 0
