"""Tangent bases by weighted local principal components.

At an evaluation point x_i with weights W_ij,

.. math:: p_j = W_{ij}/Σ_k W_{ik}, \\quad \\bar x = Σ_j p_j x_j, \\quad Z_j = p_j (x_j - \\bar x)

and the tangent basis V holds the d' leading eigenvectors of ZᵀZ (equation 6 and Algorithm 2 of the paper).  The weights
enter ZᵀZ squared; scaling them changes nothing.

`tangent_basis` is that formula for one point.  `tangent_finder` handles many points and bandwidths at once.  It splits
ZᵀZ, with a = x̄ − x_i and n_0 points at x_i (itself and its duplicates), into

.. math:: C = Σ_{x_j ≠ x_i} W_{ij}^2 (x_j - \\bar x)(x_j - \\bar x)^T + n_0\\, a a^T

so that the weight 1 of x_i itself does not swamp neighbors with weights many orders of magnitude smaller; C is never formed.
In few dimensions `Moments` has C, and the second moments that H needs, from matrix products with products of coordinates.

Where only distances are known, `gram_finder` has the same from inner products G (`geolap.data.distances`).  With the
centered G_c = (I − 1 pᵀ) G (I − p 1ᵀ),

.. math:: Z Z^T = \\operatorname{diag}(p)\\, G_c \\operatorname{diag}(p), \\qquad
          y = G\\,(I - p 1^T) \\operatorname{diag}(p)\\, u / s

for the leading eigenvectors u of Z Zᵀ and its eigenvalues s².
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Protocol, Self

import numpy as np
from scipy.linalg import eigh

__all__ = ["Moments", "gram_finder", "tangent_bases", "tangent_basis", "tangent_finder"]

# Where the points around a place are closer to it than this share of the extent of all, sums of products of coordinates
# lose its digits: to 1e-11 of them.
_CLOSE = 3e-3
# The angle (residual over the eigengap that defines a basis) at which iteration stops; a last correction gains a digit.
_ANGLE = 1e-7
# A full eigendecomposition does not reach residuals smaller than this share of the largest eigenvalue either.
_BACKWARD = 1e-14
# Sums of this many squares lose no larger share to rounding.
_ROUNDING = 1e-12
# Up to this many neighbors, their coordinates are decomposed at once.
_FEW_NEIGHBORS = 32
# A weight below this share of the largest does not count where few others do.
_NO_SHARE = 1e-17
# Squared weights below this are treated as zero.
_NO_WEIGHT = 1e-200
_MOST_STEPS = 40
# Steps from another vector before it is believed that nothing is missing: after three, the largest eigenvalue left is
# known to a few percent on digits, Gaussian clusters and noisy spheres.
_STEPS_AGAIN = 3
# Looking costs as much as several steps: the next look is where digits will be enough at the present pace, but after no more
# than this part of the steps so far.
_MOST_AHEAD = 3


def tangent_basis(A: np.ndarray, w: np.ndarray, dim: int, m: np.ndarray | float = 1.0) -> np.ndarray:
    """Orthonormal rows (dim, r), leading first, from coordinates A (N, r) about the point and its weights ``w`` (N,).

    Of m (N,) points at the same place, each has a row in Z.
    """
    p = w / (m * w).sum()
    Z = (np.sqrt(m) * p)[:, None] * (A - (m * p) @ A)
    return np.linalg.eigh(Z.T @ Z)[1][:, : -dim - 1 : -1].T


def tangent_finder(
    points: np.ndarray, dim: int
) -> Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]:
    """A function that finds tangent coordinates at many evaluation points among ``points`` (N, r).

    Returns
    -------
    callable
        ``(origin, offset, at_center, w2, n) → Y`` with the evaluation points x_i (c, r), a = x̄ − x_i (c, r), n_0 (c,), the
        squared weights (c, k) of the first k points, 0 at x_i itself, and the coordinates Y (c, dim, n) about x_i of the
        first n ≥ k points.
    """
    return _ByIteration(np.hstack([points, np.ones((len(points), 1))]), dim)  # one product also subtracts the center


def tangent_bases(A: np.ndarray, offset: np.ndarray, at_center: np.ndarray, w2: np.ndarray, dim: int) -> np.ndarray:
    """Bases (..., dim, r) where each evaluation point has few neighbors of its own, by decomposing Z.

    From their coordinates A (..., k, r) about x_i, a = x̄ − x_i (..., r), n_0 (...) and squared weights (..., k).
    """
    scale = _scale(w2)
    Z = np.zeros((*w2.shape[:-1], max(w2.shape[-1] + 1, dim), A.shape[-1]))
    Z[..., : w2.shape[-1], :] = np.sqrt(w2 * scale[..., None])[..., None] * (A - offset[..., None, :])
    Z[..., -1, :] += np.sqrt(at_center * scale)[..., None] * offset
    return np.linalg.svd(Z, full_matrices=False)[2][..., :dim, :]


class Moments:
    """Sums of products of coordinates of ``points`` (N, r), for many places and weights in one matrix product."""

    def __init__(self, points: np.ndarray) -> None:
        self._points, self._middle = points, points.mean(axis=0)
        across = np.ascontiguousarray((points - self._middle).T)
        self._upper = np.triu_indices(len(across))
        r, n = across.shape
        # Rows: products of coordinates, coordinates, ones.
        self._products = np.ones((r * (r + 1) // 2 + r + 1, n))
        self._products[-r - 1 : -1] = across
        for k, x in enumerate(across):
            first = k * r - k * (k - 1) // 2
            np.multiply(x, across[k:], out=self._products[first : first + r - k])
        self._size = np.maximum.accumulate(np.abs(across).max(axis=0))

    def about(self, places: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ_j w_j a_j (c, r) and Σ_j w_j a_j a_jᵀ (c, r, r), a_j = x_j − x, at places x (c, r) with weights (c, k)."""
        (c, k), r = weights.shape, places.shape[1]
        M = weights @ self._products[:, :k].T
        first, total = M[:, -r - 1 : -1], M[:, -1:]
        second = np.empty((c, r, r))
        second[:, self._upper[0], self._upper[1]] = M[:, : -r - 1]
        second[:, self._upper[1], self._upper[0]] = M[:, : -r - 1]
        x = places - self._middle
        across = first[:, :, None] * x[:, None, :]
        second -= across + across.transpose(0, 2, 1)
        second += total[:, :, None] * (x[:, :, None] * x[:, None, :])
        first = first - total * x
        for row in np.flatnonzero(np.einsum("cii->c", second) < total[:, 0] * (_CLOSE * self._size[k - 1]) ** 2):
            near = np.flatnonzero(weights[row])
            A = self._points[near] - places[row]
            first[row], second[row] = weights[row, near] @ A, (A.T * weights[row, near]) @ A
        return first, second

    def bases(self, origin: np.ndarray, offset: np.ndarray, at_center: np.ndarray, w2: np.ndarray, dim: int) -> np.ndarray:
        """Bases (c, dim, r) from x_i and a = x̄ − x_i (c, r), n_0 (c,) and squared weights (c, k), 0 at x_i itself."""
        C = self.about(origin + offset, w2)[1]
        C += at_center[:, None, None] * (offset[:, :, None] * offset[:, None, :])
        C *= _scale(w2)[:, None, None]
        return np.linalg.eigh(C)[1][:, :, : -dim - 1 : -1].transpose(0, 2, 1)


class _ByIteration:
    """Finds the leading subspaces of C by products with the points, without forming C.

    It starts from a = x̄ − x_i, which is close to the leading direction where few neighbors carry the weight; better
    guesses (the basis of the previous bandwidth, extrapolations) saved no steps in measurements.
    """

    def __init__(self, points: np.ndarray, dim: int) -> None:
        self._points = points
        self._squares = (points[:, :-1] ** 2).sum(axis=1)
        self._dim = dim

    def __call__(self, origin: np.ndarray, offset: np.ndarray, at_center: np.ndarray, w2: np.ndarray, n: int) -> np.ndarray:
        problem = _InSpace(
            np.arange(len(offset)),
            origin,
            offset,
            at_center,
            w2,
            _scale(w2),
            points=self._points,
            squares=self._squares,
            scratch=np.empty(w2.size),
        )
        few = np.count_nonzero(w2, axis=1) <= _FEW_NEIGHBORS
        if not few.any():
            return _coordinates(self._points[:n], origin, _leading_subspaces(problem, _start(offset), self._dim))
        V = np.empty((len(few), self._dim, offset.shape[1]))
        V[few] = problem[few].bases(self._dim)
        if not few.all():
            others = replace(problem[~few], rows=np.arange(np.count_nonzero(~few)))
            V[~few] = _leading_subspaces(others, _start(offset[~few]), self._dim)
        return _coordinates(self._points[:n], origin, V)


class _Problem(Protocol):
    """Symmetric matrices of which some leading subspaces are still to be found."""

    @property
    def rows(self) -> np.ndarray:
        """Which of the matrices."""
        ...

    def __getitem__(self, rows: np.ndarray) -> Self: ...

    def product(self, Q: np.ndarray) -> np.ndarray:
        """Each matrix times its own vectors Q (c, b, r)."""
        ...

    def traces(self) -> np.ndarray:
        """The sums (c,) of all their eigenvalues, and no less."""
        ...

    def matrix(self, k: int) -> np.ndarray:
        """The k-th of the matrices in full."""
        ...


def _start(leading: np.ndarray) -> np.ndarray:
    """Vectors (c, 1, r) to start from: a guess of the leading vector (c, r), and a little of everything."""
    length = np.linalg.norm(leading, axis=1, keepdims=True)
    return (1e-3 * _random(leading.shape[1], 0) + leading / np.where(length > 0, length, 1.0))[:, None]


def _random(r: int, seed: int) -> np.ndarray:
    """A random unit vector, the same every time: a start within a symmetry of the data would never leave it."""
    vector = np.random.default_rng(seed).standard_normal(r)
    return vector / np.linalg.norm(vector)


def _leading_subspaces(problem: _Problem, block: np.ndarray, dim: int) -> np.ndarray:
    """Orthonormal bases (c, dim, r) of the leading subspaces of c matrices, from a vector for each (c, 1, r).

    Lanczos with full reorthogonalization, until the residual divided by the eigengap is below the target angle.  Where
    eigenvalues are equal, as symmetries of the data make them, one vector leads to one direction of each; so with several
    dimensions, unless the trace leaves no room for more, it then goes on from another vector, until a few steps find nothing
    that was missing.  Rows that do not converge (a vanishing gap, where the subspace itself is ill-defined) are diagonalized
    in full.
    """
    c, _, r = block.shape
    V, most = np.empty((c, dim, r)), min(_MOST_STEPS * dim, r)
    Q, T = np.empty((c, most, r)), np.empty((c, most, most))
    progress = _Progress.start(c, r, dim)
    for size in range(1, most + 1):
        Q[:, size - 1 : size] = block = _orthonormal(block, Q[:, : size - 1])
        block = problem.product(block)
        along = block @ Q[:, :size].transpose(0, 2, 1)
        block -= along @ Q[:, :size]
        T[:, size - 1 : size, :size] = along  # only the lower triangle is used
        due = np.flatnonzero(progress.due <= size if size < most else ~progress.finished)
        if not len(due):
            continue
        theta, U = np.linalg.eigh(T[due, :size, :size])
        theta, U = theta[:, ::-1], U[:, :, ::-1].transpose(0, 2, 1)
        lowest = theta[:, dim - 1]
        # Another eigenvalue as large may still come out of a vector that the last step has a part in.
        may_come = theta[:, dim:] + np.abs(U[:, dim:, -1]) * np.linalg.norm(block[due], axis=2)
        complete = (may_come <= (lowest + _BACKWARD * theta[:, 0])[:, None]).all(axis=1)
        U = U[:, :dim]
        rest = U[:, :, -1:] * block[due]  # C v − θ v, orthogonal to the basis
        rest += np.take_along_axis(U, np.maximum(progress.again[due] - 1, 0)[:, None, None], axis=2) * progress.left[due]
        gap = lowest - theta[:, dim] if size > dim else lowest
        target = np.maximum(_ANGLE * gap, _BACKWARD * theta[:, 0])
        ratio = np.linalg.norm(rest, axis=2).max(axis=1) / np.where(target > 0, target, 1.0)
        certain, total = np.full(len(due), dim == 1 or size == r), theta[:, :dim].sum(axis=1)
        new = (ratio <= 1.0) & (total > (1.0 + _ANGLE) * progress.total[due]) & ~certain
        if new.any():  # all other eigenvalues together may be less
            certain[new] = problem[due[new]].traces() - theta[new].sum(axis=1) < lowest[new]
        done = progress.judge(due, size, ratio, certain | complete & ~new & (size >= progress.again[due] + _STEPS_AGAIN))
        again = new & ~done
        progress.begin(due[again], size, total[again], block[due[again]])
        block[due[again]] = _random(r, size)
        # To first order v lacks its residual over θ − ρ, where ρ is the Rayleigh quotient of the residual.  That would take
        # another product; the last basis vector has about the same, which gains a digit at no cost.
        below = np.maximum(theta[done, :dim] - T[due[done], size - 1, size - 1, None], gap[done, None])[:, :, None]
        missing = np.divide(rest[done], below, out=np.zeros_like(rest[done]), where=below > 0)
        V[problem.rows[due[done]]] = _orthonormal(U[done] @ Q[due[done], :size] + missing, Q[due[done], :0])
        unfinished = ~progress.finished
        if 8 * unfinished.sum() <= 7 * len(unfinished):  # copying the rest must pay off
            problem, block, progress = problem[unfinished], block[unfinished], progress[unfinished]
            Q, T = _kept(Q, unfinished, size), _kept(T, unfinished, size)
        if not len(block):
            break
    for k in map(int, np.flatnonzero(~progress.finished)):
        C = problem.matrix(k)
        V[problem.rows[k]] = eigh(C, subset_by_index=[r - dim, r - 1], overwrite_a=True, check_finite=False)[1][:, ::-1].T
    return V


def _kept(A: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """A (c, n, …) of some rows, with its first ``size`` entries, in its own memory."""
    kept = A[: np.count_nonzero(rows)]
    kept[:, :size] = A[rows, :size]
    return kept


@dataclass(frozen=True)
class _Progress:
    """How far the iteration is in c rows.

    Attributes
    ----------
    due : ndarray (c,)
        The size of the basis at which to look again.
    seen, lacked : ndarray (c,)
        The size at the last look, and the digits that were missing then.
    again, total : ndarray (c,)
        The size at which the row went on from another vector, 0 before that, and the sum of the leading eigenvalues there.
    left : ndarray (c, 1, r)
        The residual that it left behind there.
    finished : ndarray (c,)
    """

    due: np.ndarray
    seen: np.ndarray
    lacked: np.ndarray
    again: np.ndarray
    total: np.ndarray
    left: np.ndarray
    finished: np.ndarray

    @classmethod
    def start(cls, c: int, r: int, dim: int) -> "_Progress":
        due, seen, again = np.full(c, float(dim + 1)), np.zeros(c), np.zeros(c, dtype=int)
        return cls(due, seen, np.full(c, np.nan), again, np.zeros(c), np.zeros((c, 1, r)), np.zeros(c, dtype=bool))

    def __getitem__(self, rows: np.ndarray) -> "_Progress":
        own = ("due", "seen", "lacked", "again", "total", "left", "finished")
        return replace(self, **{name: getattr(self, name)[rows] for name in own})

    def judge(self, rows: np.ndarray, size: int, ratio: np.ndarray, complete: np.ndarray) -> np.ndarray:
        """Which of the rows are done, by residuals over what they should be, and whether nothing is missing."""
        converged = ratio <= 1.0
        done, lacks = converged & complete, np.log10(np.maximum(ratio, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            pace = (self.lacked[rows] - lacks) / (size - self.seen[rows])
            to_go = np.where(converged, self.again[rows] + _STEPS_AGAIN - size, lacks / np.where(pace > 0, pace, 0.0))
        self.due[rows] = size + np.clip(np.floor(to_go), 1.0, max(2, size // _MOST_AHEAD))
        self.seen[rows], self.lacked[rows] = size, lacks
        self.finished[rows[done]], self.due[rows[done]] = True, np.inf
        return done

    def begin(self, rows: np.ndarray, size: int, total: np.ndarray, left: np.ndarray) -> None:
        """Some rows go on from another vector."""
        self.again[rows], self.due[rows], self.total[rows], self.left[rows] = size, size + _STEPS_AGAIN, total, left


@dataclass(frozen=True)
class _InSpace:
    """Matrices C of unfinished rows, by the data that defines them; ``scale`` brings the largest squared weight to 1."""

    rows: np.ndarray
    origin: np.ndarray
    offset: np.ndarray
    at_center: np.ndarray
    w2: np.ndarray
    scale: np.ndarray
    _: KW_ONLY
    points: np.ndarray
    squares: np.ndarray
    scratch: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> "_InSpace":
        own = ("rows", "origin", "offset", "at_center", "w2", "scale")
        return replace(self, **{name: getattr(self, name)[rows] for name in own})

    def product(self, Q: np.ndarray) -> np.ndarray:
        c, b, r = Q.shape
        k = self.w2.shape[1]
        center = self.origin + self.offset
        E = _coordinates(self.points[:k], center, Q, out=self.scratch[: c * b * k].reshape(c * b, k))
        E *= self.w2[:, None, :]
        G = (E.reshape(c * b, k) @ self.points[:k]).reshape(c, b, r + 1)
        along = (Q @ self.offset[:, :, None]) * self.at_center[:, None, None]
        G[..., :r] -= G[..., r:] * center[:, None, :]
        G[..., :r] += along * self.offset[:, None, :]
        return G[..., :r] * self.scale[:, None, None]

    def bases(self, dim: int) -> np.ndarray:
        """Of rows with few points that count."""
        row, column = np.nonzero(self.w2)
        counts = np.bincount(row, minlength=len(self.w2))
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        A, w2 = np.zeros((len(counts), counts.max(), self.offset.shape[1])), np.zeros((len(counts), counts.max()))
        A[row, place] = self.points[column, :-1] - self.origin[row]
        w2[row, place] = self.w2[row, column]
        return tangent_bases(A, self.offset, self.at_center, w2, dim)

    def traces(self) -> np.ndarray:
        k, center = self.w2.shape[1], self.origin + self.offset
        first, squares = self.w2 @ self.points[:k], self.w2 @ self.squares[:k]
        centered = squares + first[:, -1] * (center**2).sum(axis=1)
        about = centered - 2.0 * (first[:, :-1] * center).sum(axis=1) + _ROUNDING * centered
        return self.scale * (about + self.at_center * (self.offset**2).sum(axis=1))

    def matrix(self, k: int) -> np.ndarray:
        A = self.points[: self.w2.shape[1], :-1] - self.origin[k] - self.offset[k]
        return self.scale[k] * ((A.T * self.w2[k]) @ A + self.at_center[k] * np.outer(self.offset[k], self.offset[k]))


def gram_finder(
    G: np.ndarray, c: int, spanning: np.ndarray, times: np.ndarray, copies: np.ndarray, dim: int
) -> Callable[[np.ndarray, np.ndarray, int], np.ndarray]:
    """A function that finds tangent coordinates at c evaluation points from inner products.

    Parameters
    ----------
    G : ndarray (c + q, c + N)
        Inner products, about any place, of the evaluation points and those that span tangent planes with the evaluation
        points and all others.
    c : int
    spanning : ndarray (q,)
        Which these are, ascending.
    times : ndarray (q,)
        How many like it each of them stands for.
    copies : ndarray (q,)
        How many points are there, as weights count them already.
    dim : int

    Returns
    -------
    callable
        ``(W, at_center, k) → Y`` with weights W (b, c, n) of the first n points at b bandwidths, the number of points
        ``at_center`` (c,), the number k ≤ n of points that may span the plane, and the coordinates Y (b, c, dim, n) of the
        first n.
    """

    here, there = G[:c, c:], G[c:, c:]

    def find(W: np.ndarray, at_center: np.ndarray, k: int) -> np.ndarray:
        b, _, n = W.shape
        q = min(max(int(np.searchsorted(spanning, k)), dim), int(np.searchsorted(spanning, n)))
        inner, own = there[:q][:, spanning[:q]], np.tile(here[:, spanning[:q]], (b, 1))
        counted = W[:, :, spanning[:q]].reshape(b * c, q) * times[:q]
        scale = np.sqrt(_scale(counted**2))
        center, squares = np.tile(at_center, b), np.tile(G[:c, :c].diagonal(), b)
        w = np.column_stack([np.sqrt(center) * scale, counted / np.sqrt(times[:q] * copies[:q]) * scale[:, None]])
        p = counted / (center + counted.sum(axis=1))[:, None]
        problem = _InPoints(np.arange(b * c), w, p, own, squares, inner=inner)
        V = problem.leading(min(dim, q + 1))
        x = problem.centered(V)
        lengths = np.einsum("cbk,cbk->cb", x, problem.products(x))
        lost = _BACKWARD * np.abs(x).sum(axis=2) ** 2 * inner.diagonal().max(initial=0.0)
        some = lengths > np.maximum(lost, _ROUNDING * lengths.max(axis=1, keepdims=True))
        x *= np.where(some, 1.0 / np.sqrt(np.where(some, lengths, 1.0)), 0.0)[:, :, None]
        Y = np.zeros((b * c, dim, n))  # points that span fewer directions have no extent in the others
        Y[:, : x.shape[1]] = problem.products(x, there[:q, :n], np.tile(here[:, :n], (b, 1)))
        return Y.reshape(b, c, dim, n)

    return find


@dataclass(frozen=True)
class _InPoints:
    """Matrices Z Zᵀ of unfinished rows, over the evaluation point and k others.

    Attributes
    ----------
    w : ndarray (c, 1 + k)
        Weights of the rows of Z, that of the evaluation point (√n_0 for n_0 points there) first.
    p : ndarray (c, k)
        Weights of the others in the mean.
    own : ndarray (c, k)
        Inner products of the evaluation point with the others.
    squares : ndarray (c,)
        And with itself.
    inner : ndarray (k, k)
        Those of the others.
    """

    rows: np.ndarray
    w: np.ndarray
    p: np.ndarray
    own: np.ndarray
    squares: np.ndarray
    _: KW_ONLY
    inner: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> "_InPoints":
        own = ("rows", "w", "p", "own", "squares")
        return replace(self, **{name: getattr(self, name)[rows] for name in own})

    def leading(self, dim: int) -> np.ndarray:
        """Bases (c, dim, 1 + k) of the leading subspaces; where few points count, these are decomposed at once."""
        k, counts = self.p.shape[1], (self.w[:, 1:] > _NO_SHARE).sum(axis=1)
        V, many = np.zeros((len(counts), dim, 1 + k)), np.flatnonzero(counts > _FEW_NEIGHBORS)
        for least, most in ((-1, _FEW_NEIGHBORS // 4), (_FEW_NEIGHBORS // 4, _FEW_NEIGHBORS)):
            rows = np.flatnonzero((least < counts) & (counts <= most))
            if not len(rows):
                continue
            places = np.zeros((len(rows), 1 + min(most, k)), dtype=int)
            places[:, 1:] = 1 + np.argpartition(-self.w[rows, 1:], min(most, k) - 1, axis=1)[:, :most]
            vectors = np.linalg.eigh(self[rows].matrices(places))[1][:, :, : -dim - 1 : -1].mT
            V[rows[:, None, None], np.arange(vectors.shape[1])[:, None], places[:, None]] = vectors
        if len(many):
            some = replace(self[many], rows=np.arange(len(many)))
            start = some.w * some.about_center(some.products(some.p[:, None]))[:, 0]
            V[many] = _leading_subspaces(some, _start(start), dim)
        return V

    def centered(self, U: np.ndarray) -> np.ndarray:
        """(I − p 1ᵀ) diag(w) u (c, b, k) without its entry at the evaluation point, where G is zero."""
        weighted = self.w[:, None, :] * U
        return weighted[..., 1:] - self.p[:, None, :] * weighted.sum(axis=2, keepdims=True)

    def about_center(self, y: np.ndarray) -> np.ndarray:
        """(I − 1 pᵀ) y (c, b, 1 + k) of y (c, b, k), which is zero at the evaluation point."""
        mean = (self.p[:, None, :] * y).sum(axis=2, keepdims=True)
        return np.concatenate([-mean, y - mean], axis=2)

    def products(self, x: np.ndarray, inner: np.ndarray | None = None, own: np.ndarray | None = None) -> np.ndarray:
        """x (c, b, k) times G about each evaluation point (c, b, n), with these points or, given theirs, with others."""
        (c, b, _), inner, own = x.shape, self.inner if inner is None else inner, self.own if own is None else own
        y = (x.reshape(c * b, -1) @ inner).reshape(c, b, -1)
        total = x.sum(axis=2, keepdims=True)
        y -= total * own[:, None, :]
        y -= x @ self.own[:, :, None] - total * self.squares[:, None, None]
        return y

    def product(self, Q: np.ndarray) -> np.ndarray:
        return self.w[:, None, :] * self.about_center(self.products(self.centered(Q)))

    def traces(self) -> np.ndarray:
        means = self.products(self.p[:, None])[:, 0]
        mean = (means * self.p).sum(axis=1)
        about = self.inner.diagonal() - 2.0 * self.own + self.squares[:, None]
        own, others = self.w[:, 0] ** 2 * mean, (self.w[:, 1:] ** 2 * (about - 2.0 * means + mean[:, None])).sum(axis=1)
        return own + others + _ROUNDING * (self.w[:, 1:] ** 2 * np.abs(about)).sum(axis=1)

    def matrix(self, k: int) -> np.ndarray:
        return self[np.array([k])].product(np.eye(self.w.shape[1])[None])[0]

    def matrices(self, places: np.ndarray) -> np.ndarray:
        """All in full (c, m, m), over some of the entries (c, m), the evaluation point's first."""
        near = places[:, 1:] - 1
        own = np.take_along_axis(self.own, near, axis=1)
        G, p = np.zeros((*places.shape, places.shape[1])), np.zeros(places.shape)
        G[:, 1:, 1:] = self.inner[near[:, :, None], near[:, None]] - own[:, :, None] - own[:, None]
        G[:, 1:, 1:] += self.squares[:, None, None]
        p[:, 1:] = np.take_along_axis(self.p, near, axis=1)
        means, w = G @ p[:, :, None], np.take_along_axis(self.w, places, axis=1)
        return w[:, :, None] * w[:, None] * (G - means - means.mT + p[:, None] @ means)


def _coordinates(points: np.ndarray, origin: np.ndarray, V: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """V (x_j − x_i) (c, b, n) for V (c, b, r), points with ones as a last column (n, r + 1), origins (c, r)."""
    c, b, _ = V.shape
    shifted = np.concatenate([V, -(V @ origin[:, :, None])], axis=2)
    return np.matmul(shifted.reshape(c * b, -1), points.T, out=out).reshape(c, b, -1)


def _scale(w2: np.ndarray) -> np.ndarray:
    """The factor that brings the largest squared weight of each row to 1; 0 for rows without weights."""
    largest = w2.max(axis=-1, initial=0.0)
    some = largest > _NO_WEIGHT
    return np.where(some, 1.0 / np.where(some, largest, 1.0), 0.0)


def _orthonormal(block: np.ndarray, against: np.ndarray) -> np.ndarray:
    """Gram–Schmidt on the rows of each block (c, b, r); a row that vanishes becomes zero and is ignored."""
    block = block.copy()
    for k in range(block.shape[1]):
        v = block[:, k : k + 1]
        before = np.linalg.norm(v, axis=2, keepdims=True)
        for basis in (against, block[:, :k]) * min(k + 1, 2):  # the block is already orthogonal to ``against``
            if basis.shape[1]:
                v = v - (v @ basis.transpose(0, 2, 1)) @ basis
        norm = np.linalg.norm(v, axis=2, keepdims=True)
        alive = norm > 1e-13 * before
        block[:, k : k + 1] = np.where(alive, v / np.where(alive, norm, 1.0), 0.0)
    return block
