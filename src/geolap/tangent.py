"""Tangent bases by weighted local principal components.

At an evaluation point x_i with weights W_ij,

.. math:: p_j = W_{ij}/Σ_k W_{ik}, \\quad \\bar x = Σ_j p_j x_j, \\quad Z_j = p_j (x_j - \\bar x)

and the tangent basis V holds the d' leading eigenvectors of ZᵀZ (equation 6 and Algorithm 2 of the paper).  The weights
enter ZᵀZ squared; scaling them changes nothing.

`tangent_basis` is that formula for one point.  `follow_tangents` is for many points and a descending sequence of
bandwidths.  It splits ZᵀZ, with a = x̄ − x_i and n_0 points at x_i (itself and its duplicates), into

.. math:: C = Σ_{x_j ≠ x_i} W_{ij}^2 (x_j - \\bar x)(x_j - \\bar x)^T + n_0\\, a a^T

so that neighbours with weights many orders below the weight 1 of x_i itself are not drowned by it.  In few dimensions
the entries of C come from one matrix product with the products of coordinates; in many, C is never formed.
"""

from typing import Protocol

import numpy as np

__all__ = ["TangentFollower", "follow_tangents", "tangent_basis"]

# Up to this ambient dimension forming C and diagonalising it is faster than iterating (benchmarks/engines.py).
_FEW_DIMENSIONS = 24
# The angle to which a basis is found, relative to the eigengap that defines it.
_ANGLE = 1e-10
# A residual this far below the largest eigenvalue is where a full eigendecomposition stops as well.
_BACKWARD = 1e-14
# Squared weights below this are as good as none.
_NO_WEIGHT = 1e-200
# Directions carried over to the next bandwidth, beside the basis itself.
_CARRIED = 5
_MOST_STEPS = 40


def tangent_basis(A, w, dim):
    """Orthonormal rows (dim, r), leading first, from coordinates A (N, r) about the point and its weights ``w`` (N,)."""
    p = w / w.sum()
    Z = p[:, None] * (A - p @ A)
    return np.linalg.eigh(Z.T @ Z)[1][:, : -dim - 1 : -1].T


class TangentFollower(Protocol):
    """Tangent coordinates of a group of evaluation points as the bandwidth shrinks."""

    def coordinates(self, w2, offset, at_center, n):
        """Coordinates Y (c, dim, n) about each evaluation point of the first n points.

        Parameters
        ----------
        w2 : ndarray (c, k), k ≤ n
            Squared weights of the first k points, 0 at the evaluation point itself; the others weigh nothing.
        offset : ndarray (c, r)
            a = x̄ − x_i
        at_center : ndarray (c,)
            n_0
        n : int
            Never more than in the call before.
        """
        ...


def follow_tangents(points, origin, dim) -> TangentFollower:
    """A follower for evaluation points ``origin`` (c, r) among ``points`` (n, r)."""
    points = np.hstack([points, np.ones((len(points), 1))])  # a column of ones: one product also subtracts the centre
    few = origin.shape[1] <= max(_FEW_DIMENSIONS, 3 * dim)
    return (_ByMatrix if few else _ByIteration)(points, origin, dim)


class _ByMatrix:
    """Forms C from moments: Σ w² x xᵀ for all evaluation points of a group is one product."""

    def __init__(self, points, origin, dim):
        self._points, self._origin, self._dim = points, origin, dim
        self._middle = np.median(origin, axis=0)
        about = points[:, :-1] - self._middle
        self._upper = np.triu_indices(origin.shape[1])
        self._moments = np.hstack([about[:, self._upper[0]] * about[:, self._upper[1]], about, points[:, -1:]])
        self._size = np.maximum.accumulate(np.abs(about).max(axis=1))

    def coordinates(self, w2, offset, at_center, n):
        C = self._matrices(w2, offset, at_center)
        V = np.linalg.eigh(C)[1][:, :, : -self._dim - 1 : -1].transpose(0, 2, 1)
        return _coordinates(self._points[:n], self._origin, V)

    def _matrices(self, w2, offset, at_center):
        c, k = w2.shape
        r = offset.shape[1]
        mean = self._origin + offset - self._middle
        M = w2 @ self._moments[:k]
        C = np.empty((c, r, r))
        C[:, self._upper[0], self._upper[1]] = M[:, : -r - 1]
        C[:, self._upper[1], self._upper[0]] = M[:, : -r - 1]
        first, total = M[:, -r - 1 : -1], M[:, -1]
        C -= first[:, :, None] * mean[:, None, :] + mean[:, :, None] * first[:, None, :]
        C += total[:, None, None] * (mean[:, :, None] * mean[:, None, :])
        # Where a neighbourhood is tiny beside its distance from the middle, the differences above have lost its digits.
        size = np.sqrt(np.einsum("cii->c", C) / np.where(total > 0, total, 1.0))
        for row in np.flatnonzero(size < 1e-3 * self._size[k - 1]):
            near = np.flatnonzero(w2[row])
            A = self._points[near, :-1] - self._origin[row] - offset[row]
            C[row] = (A.T * w2[row, near]) @ A
        C += at_center[:, None, None] * (offset[:, :, None] * offset[:, None, :])
        return C * _scale(w2)[:, None, None]


class _ByIteration:
    """Finds the leading subspaces of C by products with the points, never forming C.

    Generalised Davidson: Rayleigh–Ritz in a growing basis Q, extended by the residuals, until the residual divided by
    the eigengap is below 1e-10.  The basis begins with a = x̄ − x_i, which is close to the leading direction where few
    neighbours carry the weight, and with the best directions of the bandwidth before, whose coordinates of all points
    are still at hand.  That makes about half the steps of a fresh Krylov iteration.  Rows that do not converge (a vanishing
    gap, where the subspace itself is ill-defined) are diagonalised in full.
    """

    def __init__(self, points, origin, dim):
        self._points, self._origin, self._dim = points, origin, dim
        c, r = origin.shape
        # Random directions, the same every time: a start confined to a symmetry of the data would never leave it.
        start = np.random.default_rng(0).standard_normal((dim, r))
        self._Q = _orthonormal(np.broadcast_to(start, (c, dim, r)))
        self._E = _coordinates(points, origin, self._Q)

    def coordinates(self, w2, offset, at_center, n):
        dim = self._dim
        carried = min(dim + _CARRIED, offset.shape[1])
        toward = _orthonormal(offset[:, None, :], self._Q)
        state = _State(
            np.arange(len(offset)),
            np.concatenate([self._Q, toward], axis=1),
            np.concatenate([self._E[:, :, :n], _coordinates(self._points[:n], self._origin, toward)], axis=1),
            w2,
            offset,
            at_center,
        )
        self._Q = np.zeros((len(offset), carried, offset.shape[1]))
        self._E = np.zeros((len(offset), carried, n))
        state.project(0)
        for _ in range(_MOST_STEPS):
            size = state.Q.shape[1]
            theta, U = np.linalg.eigh(state.T)
            theta, U = theta[:, ::-1], U[:, :, ::-1].transpose(0, 2, 1)
            V = U[:, :dim] @ state.Q
            CV = self._apply(state, V, U[:, :dim] @ state.E[:, :, : w2.shape[1]])
            CV -= theta[:, :dim, None] * V
            residual = np.linalg.norm(CV, axis=2).max(axis=1)
            gap = theta[:, dim - 1] - theta[:, dim] if size > dim else np.zeros(len(theta))
            done = residual <= np.maximum(_ANGLE * gap, _BACKWARD * theta[:, 0])
            if size + dim > offset.shape[1]:
                break
            if done.all() or 2 * done.sum() >= len(done):
                self._harvest(state, U, done)
                if done.all():
                    return self._E[:, :dim]
                state, CV = state.keep(~done), CV[~done]
            new = _orthonormal(CV, state.Q)
            state.extend(new, _coordinates(self._points[:n], self._origin[state.rows], new))
        self._harvest(state, U, np.ones(len(state.rows), dtype=bool))
        for k, row in enumerate(state.rows):
            A = self._points[: w2.shape[1], :-1] - self._origin[row] - offset[row]
            C = (A.T * state.w2[k]) @ A + at_center[row] * np.outer(offset[row], offset[row])
            V = np.linalg.eigh(C * state.scale[k])[1][:, : -dim - 1 : -1].T
            self._Q[row, :dim] = V
            self._E[row, :dim] = _coordinates(self._points[:n], self._origin[row : row + 1], V[None])[0]
            self._Q[row, dim:] = 0.0
            self._E[row, dim:] = 0.0
        return self._E[:, :dim]

    def _apply(self, state, V, E):
        """C v for vectors V (c, b, r) with coordinates E (c, b, k) of the points; overwrites E."""
        c, b, r = V.shape
        along = V @ state.offset[:, :, None]
        E -= along
        E *= state.w2[:, None, :]
        G = (E.reshape(c * b, -1) @ self._points[: E.shape[2]]).reshape(c, b, r + 1)
        center = (self._origin[state.rows] + state.offset)[:, None, :]
        CV = G[..., :r] - G[..., r:] * center + state.at_center[:, None, None] * along * state.offset[:, None, :]
        return CV * state.scale[:, None, None]

    def _harvest(self, state, U, done):
        """Keep the leading directions of finished rows, with their coordinates."""
        U = U[done, : self._Q.shape[1]]
        self._Q[state.rows[done], : U.shape[1]] = U @ state.Q[done]
        self._E[state.rows[done], : U.shape[1]] = U @ state.E[done]


class _State:
    """Bases Q (c, s, r), coordinates E (c, s, n) of the points in them, and T = Q C Qᵀ, of unfinished rows."""

    def __init__(self, rows, Q, E, w2, offset, at_center):
        self.rows, self.Q, self.E = rows, Q, E
        self.w2, self.offset, self.at_center = w2, offset, at_center
        self.scale = _scale(w2)
        self.T = np.zeros((len(rows), 0, 0))

    def keep(self, rows):
        kept = _State(self.rows[rows], self.Q[rows], self.E[rows], self.w2[rows], self.offset[rows], self.at_center[rows])
        kept.T = self.T[rows]
        return kept

    def extend(self, Q, E):
        size = self.Q.shape[1]
        self.Q = np.concatenate([self.Q, Q], axis=1)
        self.E = np.concatenate([self.E, E], axis=1)
        self.project(size)

    def project(self, first):
        """Add rows ``first`` and following to T (its lower triangle is what counts)."""
        k = self.w2.shape[1]
        along = (self.Q @ self.offset[:, :, None])[:, :, 0]
        E, new = self.E[:, :, :k], self.E[:, first:, :k] - along[:, first:, None]
        new *= self.w2[:, None, :]
        T = new @ E.transpose(0, 2, 1)
        T -= new.sum(axis=2, keepdims=True) * along[:, None, :]
        T += (self.at_center[:, None] * along[:, first:])[:, :, None] * along[:, None, :]
        grown = np.zeros((len(T), self.Q.shape[1], self.Q.shape[1]))
        grown[:, :first, :first] = self.T
        grown[:, first:] = T * self.scale[:, None, None]
        self.T = grown


def _coordinates(points, origin, V):
    """V (x_j − x_i) (c, b, n) for V (c, b, r), points with a column of ones (n, r + 1) and origins (c, r)."""
    c, b, _ = V.shape
    shifted = np.concatenate([V, -(V @ origin[:, :, None])], axis=2)
    return (shifted.reshape(c * b, -1) @ points.T).reshape(c, b, -1)


def _scale(w2):
    """What brings the largest squared weight of each row to 1; 0 for rows without any."""
    largest = w2.max(axis=1)
    some = largest > _NO_WEIGHT
    return np.where(some, 1.0 / np.where(some, largest, 1.0), 0.0)


def _orthonormal(block, against=None):
    """Gram–Schmidt on the rows of each block (c, b, r); a row that vanishes becomes zero and stays out of play."""
    block = block.copy()
    for k in range(block.shape[1]):
        v = block[:, k : k + 1]
        before = np.linalg.norm(v, axis=2, keepdims=True)
        for basis in (against, block[:, :k], against, block[:, :k]):
            if basis is not None and basis.shape[1]:
                v = v - (v @ basis.transpose(0, 2, 1)) @ basis
        norm = np.linalg.norm(v, axis=2, keepdims=True)
        alive = norm > 1e-13 * before
        block[:, k : k + 1] = np.where(alive, v / np.where(alive, norm, 1.0), 0.0)
    return block
