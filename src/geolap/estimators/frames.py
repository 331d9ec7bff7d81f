"""Local frames: at each point a tangent plane, and where the neighbors lie as the manifold itself measures it.

The plane V (r, d) at x_i holds the leading directions of its row of the graph, as in `geolap.tangent`; a sparse row of a few
neighbors is widened to their neighbors.  A neighbor at the step a = x_j − x_i has the tangent coordinates Vᵀa, which are
shorter than its way along a curved manifold.  A quadratic fit of the normal parts over the same row, n(u) ≈ ½ II(u, u),
gives the coordinates of the geodesic to third order,

.. math:: u = \\Bigl(1 + \\tfrac23 \\frac{‖n(V^T a)‖^2}{‖V^T a‖^2}\\Bigr) V^T a

Being fitted, n is free of noise, which would lengthen each step.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..data.points import unit_above
from ..laplacian import Matrix, neighbors_in

__all__ = ["Frames", "local_frames"]

# Entries of a row that carry a frame: of more, every second, third, …, the heaviest first; and those with less than this
# share of the heaviest weight are left out.
_MOST, _LEAST_WEIGHT = 100, 1e-3
# Rows with fewer entries than this, in the mean, are widened to the neighbors of neighbors.
_FEW = 30
# Numbers in one of the large arrays of a group of points.
_HELD = 2**21
# Steps are not stretched by more than this for curvature: a fit that asks for more is no fit.
_MOST_CURVED = 0.5
# Of the fit, whose columns have the length one: decides where neighbors lie on a line.
_RIDGE = 1e-9


@dataclass(frozen=True)
class Frames:
    """Steps from points to their neighbors in tangent coordinates."""

    rows: np.ndarray  # (n,), the points
    start: np.ndarray  # (m,), for each step the position in ``rows`` of the point that it starts from, ascending
    end: np.ndarray  # (m,), the point that it leads to
    steps: np.ndarray  # u (m, d), in units of ``unit``
    unit: float  # a power of two

    def sums(self) -> sparse.csr_array:
        """The matrix (n, m) that sums over the steps of each point."""
        m = len(self.start)
        return sparse.csr_array((np.ones(m), (self.start, np.arange(m))), shape=(len(self.rows), m))


def local_frames(X: np.ndarray, W: Matrix, rows: np.ndarray, intrinsic_dim: int, *, n_neighbors: int) -> Frames:
    """Frames at some of the points X (N, r) of a graph of weights W (N, N), with steps to their nearest neighbors in it."""
    unit = unit_above(float(np.abs(X).max()))  # in which squares do not overflow
    X = np.asarray(X, dtype=float) / unit  # differences of whole numbers without a sign would wrap around
    few = not isinstance(W, np.ndarray) and W.nnz < _FEW * W.shape[0]
    size = max(1, _HELD // (min(_MOST, len(X)) * X.shape[1]))
    start, end, steps = [], [], []
    for first in range(0, len(rows), size):
        group = rows[first : first + size]
        nearest = [_by_weight(W, i, i) for i in group]
        wide = nearest
        if few:
            around = sparse.csr_array(W[group] @ W + W[group])
            wide = [_by_weight(around, k, i) for k, i in enumerate(group)]
        V, II = _planes(X, group, *_padded(wide, group), intrinsic_dim)
        local = np.repeat(np.arange(len(group)), [min(len(near), n_neighbors) for near, _ in nearest])
        ends = np.concatenate([near[:n_neighbors] for near, _ in nearest])
        u = np.einsum("mr,mrd->md", X[ends] - X[group[local]], V[local])
        start.append(first + local)
        end.append(ends)
        steps.append(_geodesic(u, II[local]))
    frames = Frames(rows, np.concatenate(start), np.concatenate(end), np.concatenate(steps), unit)
    if not frames.steps.any():
        raise ValueError(
            "Some points must have a neighbor at a different position; all nearest neighbors are duplicates: remove "
            "duplicates, or raise n_neighbors above their number."
        )
    return frames


def _by_weight(W: Matrix, row: int, point: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors of a point, which has a row of W, and their weights, the heaviest first."""
    near, weights = neighbors_in(W, row, point)
    order = np.argsort(-weights, kind="stable")
    order = order[: np.searchsorted(-weights[order], -_LEAST_WEIGHT * weights.max(initial=0.0), side="right")]
    return near[order], weights[order]


def _padded(wide: list[tuple[np.ndarray, np.ndarray]], group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors (c, k) and weights; the point itself, with no weight, stands for those that a row lacks."""
    thinned = [(near[:: -(-len(near) // _MOST) or 1], w[:: -(-len(near) // _MOST) or 1]) for near, w in wide]
    k = max(1, *(len(near) for near, _ in thinned))
    near, weights = np.repeat(group[:, None], k, axis=1), np.zeros((len(group), k))
    for row, (joined, w) in enumerate(thinned):
        near[row, : len(joined)], weights[row, : len(joined)] = joined, w
    return near, weights


def _planes(
    X: np.ndarray, group: np.ndarray, near: np.ndarray, weights: np.ndarray, d: int
) -> tuple[np.ndarray, np.ndarray]:
    """V (c, r, d), and coefficients (c, q, r) of the normal parts in products of coordinates; 0 for few neighbors."""
    A = X[near] - X[group, None]
    p = weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    Z = p[:, :, None] * (A - (p[:, None, :] @ A))
    V = np.linalg.svd(Z, full_matrices=d > min(Z.shape[1:]))[2][:, :d].swapaxes(1, 2)
    u = A @ V
    F = np.concatenate([np.ones((*u.shape[:2], 1)), u, _products(u)], axis=2)
    scale = np.maximum(np.sqrt(np.einsum("ck,ckf->cf", p, F**2)), np.finfo(float).tiny)
    F = F / scale[:, None, :]
    FtW = (F * p[:, :, None]).swapaxes(1, 2)
    ridge = _RIDGE * np.eye(F.shape[2])
    fit = np.linalg.solve(FtW @ F + ridge, FtW @ (A - u @ V.swapaxes(1, 2))) / scale[:, :, None]
    enough = (weights > 0).sum(axis=1) > 2 * F.shape[2]
    return V, np.where(enough[:, None, None], fit[:, 1 + d :], 0.0)


def _products(u: np.ndarray) -> np.ndarray:
    a, b = np.triu_indices(u.shape[-1])
    return u[..., a] * u[..., b]


def _geodesic(u: np.ndarray, II: np.ndarray) -> np.ndarray:
    """Tangent coordinates (m, d) made as long as the geodesics are, by the curvature (m, q, r) at their starts."""
    normal = np.einsum("mq,mqr->mr", _products(u), II)
    curved = (normal**2).sum(axis=1) / np.maximum((u**2).sum(axis=1), np.finfo(float).tiny)
    return u * (1.0 + 2.0 / 3.0 * np.minimum(curved, _MOST_CURVED))[:, None]
