"""Local singular values: how many directions a neighborhood has at a scale.

σ_1 ≥ σ_2 ≥ … at an evaluation point are the singular values of the weighted, centered matrix Z of `geolap.tangent`.  On a
d-dimensional manifold, at scales above the noise and below the curvature, the largest gap σ_k − σ_{k+1} is the d-th.
"""

from contextlib import suppress
from typing import Any, cast

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, svds

from .data.distances import Distances
from .data.multiplicity import counts_of
from .data.points import Points, in_unit
from .kernel import ladder_weights, ladders
from .runtime.progress import at_bandwidths
from .runtime.threads import checkpoint, in_order, one_blas_thread

__all__ = ["largest_gap", "local_singular_values", "vote"]

# A neighbor whose weight is this much below the largest changes no singular value by more than a millionth.
_LEAST_WEIGHT = 1e-9
# Nearest points that count where there are no coordinates.
_MOST_BY_PRODUCTS = 300
# Features up to which matrices of them are made on a GPU.
_MOST_FEATURES_THERE = 256
# Distances that one task computes, and its points: tasks that are too short make threads wait for the interpreter.
_DISTANCES, _POINTS = 2**18, 25
# From this many rows and columns on, Lanczos takes a fraction of the time of a full decomposition.
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
    Of the points at a place, as many as its weight says have a row in Z.
    Where fewer points or features than ``n_values`` are in play, the rest are zero.
    """
    if points.on_gpu and points.shape[1] <= _MOST_FEATURES_THERE:
        return _values_there(points, sample, bandwidths, n_values, rho, most)
    X, unit = points.coordinates, points.unit
    most = _MOST_BY_PRODUCTS if most is None and X is None else most
    multiplicity = counts_of(points.multiplicity, len(points))
    steps = ladders(in_unit(bandwidths, unit))
    farthest = -np.log(_LEAST_WEIGHT) * max(ladder.bandwidths[0] for ladder in steps) ** 2 * (1.0 + 1e-9)

    def of(some: np.ndarray) -> np.ndarray:
        return np.stack([about(int(i), row) for i, row in zip(some, points.sqdist(some), strict=True)])

    def about(i: int, sqdist: np.ndarray) -> np.ndarray:
        checkpoint()
        if rho is not None:
            sqdist /= rho[i] * rho
        near = np.flatnonzero(sqdist <= farthest)  # others do not count, or are not known
        order = near[np.argsort(sqdist[near])][: None if most is None else most + 1]
        m = multiplicity[order]
        A = None if X is None else X[order] - X[i]
        inner = cast(Distances, points).inner(i, order, order) if A is None else np.empty(0)
        W = np.empty(len(order))
        values = np.zeros((len(bandwidths), n_values))
        for ladder in steps:
            for column, _, weights in ladder_weights(sqdist[order], ladder, W):
                w = weights[: np.searchsorted(-weights, -_LEAST_WEIGHT, side="right")]
                counted, p = m[: len(w)], w / (m[: len(w)] @ w)
                each, mean = np.sqrt(counted) * p, counted * p
                if A is not None:
                    found = _leading_singular_values(each[:, None] * (A[: len(p)] - mean @ A[: len(p)]), n_values)
                else:
                    G = inner[: len(p), : len(p)]
                    gram = np.outer(each, each) * (G - (G @ mean)[:, None] - G @ mean + mean @ G @ mean)
                    found = _roots(np.linalg.eigvalsh(gram), n_values)
                values[column, : len(found)] = found
        return values

    label = at_bandwidths("local singular values", len(bandwidths))
    n_tasks = -(-len(sample) // int(np.clip(_DISTANCES // len(points), 1, _POINTS)))
    parts = in_order(of, np.array_split(sample, n_tasks), n_jobs=n_jobs, label=label)
    return unit * np.concatenate(list(parts))


def _values_there(
    points: Points, sample: np.ndarray, bandwidths: Any, n_values: int, rho: np.ndarray | None, most: int | None
) -> np.ndarray:
    """The same from sums over points on a GPU."""
    from .engines.device import local_moments

    X, unit = points.there
    moments = local_moments(X, sample, in_unit(bandwidths, unit), _LEAST_WEIGHT, rho=rho, most=most)
    with one_blas_thread:
        values = np.sqrt(np.maximum(np.linalg.eigvalsh(moments)[..., ::-1], 0.0))[..., :n_values]
    return unit * np.pad(values, ((0, 0), (0, 0), (0, n_values - values.shape[-1])))


def _leading_singular_values(Z: np.ndarray, k: int) -> np.ndarray:
    """The k largest, or as many as there are.

    The singular vectors of a large matrix come from Lanczos in single precision, which takes a fraction of the time; values
    within their span are in double precision, and off by the square of what the vectors are.
    """
    Z = Z.T if len(Z) < Z.shape[1] else Z
    if Z.shape[1] > max(_LARGE, 10 * k) and (largest := np.abs(Z).max()) > 0:
        start = np.random.default_rng(0).standard_normal(Z.shape[1], dtype=np.float32)
        with suppress(ArpackNoConvergence):
            vectors = svds((Z / largest).astype(np.float32), k, v0=start, return_singular_vectors="vh")[2]
            return np.linalg.svd(Z @ np.linalg.qr(vectors.T.astype(float))[0], compute_uv=False)
    return _roots(np.linalg.eigvalsh(Z.T @ Z), k)


def _roots(values: np.ndarray, k: int) -> np.ndarray:
    """Square roots of the k largest of ascending eigenvalues."""
    return np.sqrt(np.maximum(values[::-1][:k], 0.0))


def largest_gap(values: np.ndarray) -> np.ndarray:
    """Position k = 1, 2, … of the largest gap σ_k − σ_{k+1} along the last axis; 0 where all values are 0."""
    gaps = -np.diff(values, axis=-1)
    return np.where(values[..., 0] > 0, gaps.argmax(axis=-1) + 1, 0)


def vote(per_point: np.ndarray, weights: np.ndarray | None = None) -> int:
    """The dimension most points vote for, points without neighbors (0) aside."""
    voting = per_point > 0
    votes = np.bincount(per_point[voting], None if weights is None else weights[voting], minlength=2)
    return int(votes.argmax()) if votes.any() else 0
