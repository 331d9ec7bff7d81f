"""Riemannian relaxation: a map is moved until lengths on it are those of the data.

A map is an isometry if its dual metric is the identity on the tangent planes, H_i = I (`geolap.estimators.riemannian`).
McQueen, Meilă & Perrault-Joncas (2016) descend along the gradient of Σ_i ‖H_i − I‖².  Here the same is asked of single
steps: with u_ij the step from point i to its neighbor j in tangent coordinates (`geolap.estimators.frames`),

.. math:: \\min_{Y, R}\\ Σ_{ij} ‖y_j - y_i - R_i u_{ij}‖^2, \\qquad R_i^T R_i = I_d

which is zero for an isometry alone.  For given Y, the best R_i is the orthogonal factor of Σ_j (y_j − y_i) u_ijᵀ; for given
R, Y solves a linear system with the Laplacian of the steps.  The two alternate (Sorkine & Alexa 2007), and each lowers the
loss, so that there is no step size.

Differs from McQueen et al. in that H is compared with that of the data's own tangent coordinates rather than with I, from
which H departs at a border for an isometry, too; and in that neighbors are not averaged over first, which would leave the
map free to be rough below the bandwidth.
"""

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..data.points import host_array, is_on_gpu, on_device, real_numbers
from ..runtime.progress import say, steps
from ..sentences import Sentence, warn_caller
from ..shown import Plotted
from ..validation import check_number
from .base import GraphEstimator
from .coordinates import known_dimension
from .frames import Frames, local_frames

__all__ = ["Relaxation", "relax"]

# Up to this many points the linear system is factored once; beyond, and on a GPU, so many steps of conjugate gradients from
# the last map take the place of a solution: each of them lowers the loss.
_FACTORED, _CONJUGATE = 20_000, 40
# Added to the diagonal, as a share of its mean: decides the constants, which the loss does not.
_RIDGE = 1e-10
# Sets of coordinates to begin with, at most, those of the smoothest first, and iterations that each is tried for.
_STARTS, _TRIED = 40, 5
_log = logging.getLogger(__name__)
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Relaxation(Plotted):
    """A map after relaxation, on which lengths are those of the data; prints as `explain`.

    Attributes
    ----------
    embedding : ndarray or tensor (n_points, s)
        The map, in the unit of the data, of the same type as the input.
    coordinates : tuple of int
        The coordinates of the original map that it started from.
    ratios : ndarray (n_steps,)
        Length on the map over length on the data, for steps from each point to its nearest neighbors.
    ratios_before : ndarray (n_steps,)
        The same on the original map, with each coordinate optimally rescaled.
    losses : ndarray (n_iter + 1,)
        The loss before each iteration and after the last, as a share of the squared lengths.
    converged : bool
        Whether the loss stopped falling.
    """

    embedding: Any = field(repr=False)
    coordinates: tuple[int, ...]
    ratios: np.ndarray = field(repr=False)
    ratios_before: np.ndarray = field(repr=False)
    losses: np.ndarray
    converged: bool

    @property
    def error(self) -> float:
        """Mean of \\|ratio − 1\\|."""
        return float(np.abs(self.ratios - 1.0).mean())

    @property
    def error_before(self) -> float:
        """The same on the given map."""
        return float(np.abs(self.ratios_before - 1.0).mean())

    def explain(self) -> str:
        """In words."""
        end = "The loss no longer falls" if self.converged else "The loss still falls"
        return (
            f"Lengths of steps on the map are off by {self.error:.1%} on average; on the original map, with its "
            f"coordinates rescaled, by {self.error_before:.1%}.\n{end}, after {len(self.losses) - 1} iterations."
        )

    def __str__(self) -> str:
        return self.explain()


def relax(
    embedding: Any,
    estimator: Any = None,
    *,
    n_components: int | None = None,
    intrinsic_dim: int | None = None,
    n_neighbors: int = 12,
    max_iter: int = 500,
    tol: float = 1e-3,
) -> Relaxation:
    """Move a map until lengths on it are those of the data (after McQueen, Meilă & Perrault-Joncas 2016).

    Parameters
    ----------
    embedding : fitted LaplacianEigenmap or DiffusionMap, or array-like (n_points, s)
        The map to start from; from any method, if the estimator is given.  A tensor on a GPU is relaxed there.
    estimator : fitted estimator on a graph of these points, optional
        The given map by default.
    n_components : int, optional
        Number of coordinates of the relaxed map, s by default.  Relaxation bends and stretches, but does not unfold: if more
        coordinates are given, those that lead to the lowest loss are used, including the first.
    intrinsic_dim : int, optional
        d, the dimension of the data; by default that of the neighborhoods at ε̂, or n_components if that is unknown.
    n_neighbors : int, default 12
        Number of neighbors of each point, the nearest in the graph, to which lengths are kept.
    max_iter : int, default 500
    tol : float, default 1e-3
        Stop when an iteration lowers the loss by less than this share of it.

    Returns
    -------
    Relaxation

    Examples
    --------
    >>> import geolap
    >>> roll = geolap.datasets.make_swiss_roll(1500, random_state=0)
    >>> eigenmap = geolap.LaplacianEigenmap(10, bandwidth=1.1, n_neighbors=10).fit(roll.data)
    >>> relaxed = geolap.relax(eigenmap, n_components=2)  # the sheet, unrolled
    >>> relaxed.coordinates
    (0, 4)
    >>> print(f"lengths are off by {relaxed.error:.1%}")
    lengths are off by 0.2%
    """
    Y, fitted = _given(embedding, estimator)
    n, m = Y.shape
    s = m if n_components is None else check_number("n_components", n_components, Integral, low=1, high=m)
    check_number("n_neighbors", n_neighbors, Integral, low=1)
    check_number("max_iter", max_iter, Integral, low=1)
    check_number("tol", tol, low=0)
    built = fitted._built
    most = min(s, built.points.shape[1])
    d = min(known_dimension(fitted.selection_) or s, most) if intrinsic_dim is None else intrinsic_dim
    check_number("intrinsic_dim", d, Integral, low=1, high=most)
    frames = local_frames(built.on_host.points, built.on_host.kernel.weights, np.arange(n), d, n_neighbors=n_neighbors)
    device = Y.device if is_on_gpu(Y) else None  # on the host, torch's own threads would only wait for each other
    moving, coordinates = _start(_scaled(np.asarray(host_array(Y), dtype=float), s, frames), s, frames, device)
    before, converged = moving.ratios(), False
    with steps(max_iter, "relaxation") as bar:
        while not converged and len(moving.losses) <= max_iter:
            moving.step()
            bar.update()
            converged = bool(moving.losses[-2] - moving.losses[-1] <= tol * moving.losses[-2])
    if not converged:
        warn_caller(
            Sentence(
                "Relaxation should continue until the loss no longer falls; after {given} iterations it still falls: raise "
                "{max_iter} or {tol}.",
                given=max_iter,
            ),
            ConvergenceWarning,
        )
    say(_log, "relaxation: loss %.3g after %d iterations", moving.losses[-1], len(moving.losses) - 1)
    return Relaxation(moving.map(Y, frames.unit), coordinates, moving.ratios(), before, np.array(moving.losses), converged)


class _Moving:
    """The map while it moves: on the CPU over NumPy, on a device over torch."""

    def __init__(self, Y: np.ndarray, frames: Frames, device: Any) -> None:
        start, end, steps = frames.start, frames.end, frames.steps
        n, m = len(Y), len(start)
        across = sparse.csr_array(
            (np.repeat([1.0, -1.0], m), (np.tile(np.arange(m), 2), np.concatenate([end, start]))), shape=(m, n)
        )
        L = sparse.csr_array(across.T @ across)
        L = sparse.csr_array(L + _RIDGE * L.diagonal().mean() * sparse.eye_array(n))
        parts = connected_components(L, directed=False)[1]
        of_part = sparse.csr_array((np.ones(n), (parts, np.arange(n))))
        means = sparse.csr_array(of_part / of_part.sum(axis=1)[:, None])
        held, matrix, self._svd = _on(device)
        self._Y, self._u, self._start, self._diagonal = held(Y), held(steps), held(start), held(L.diagonal()[:, None])
        self._across, self._back, self._sums, self._L = matrix(across), matrix(across.T), matrix(frames.sums()), matrix(L)
        self._means, self._of_part = matrix(means), held(parts)
        self._solve = splu(L.tocsc()).solve if device is None and n <= _FACTORED else self._conjugate
        self._place = self._means @ self._Y  # of each component of the graph: no length decides it
        self._size = float((steps**2).sum())
        self._targets, loss = self._turned()
        self.losses = [loss]

    def step(self) -> None:
        """Move the points to where the turned steps lead them, then turn the steps anew."""
        Y = self._solve(self._back @ self._targets)
        self._Y = Y + (self._place - self._means @ Y)[self._of_part]
        self._targets, loss = self._turned()
        self.losses.append(loss)

    def ratios(self) -> np.ndarray:
        """Lengths of the steps on the map over those on the data."""
        lengths = ((self._across @ self._Y) ** 2).sum(1) / (self._u**2).sum(1)
        return np.sqrt(host_array(lengths))

    def map(self, like: Any, unit: float) -> Any:
        """The map in the unit of the data, on the device and in the precision of another."""
        Y = unit * self._Y
        if not on_device(like):
            return Y.astype(like.dtype)
        import torch

        return torch.as_tensor(Y).to(like.dtype)

    def _turned(self) -> tuple[Any, float]:
        """R_i u_ij (m, s), and the loss."""
        y = self._across @ self._Y
        C = (self._sums @ (y[:, :, None] * self._u[:, None, :]).reshape(len(y), -1)).reshape(
            -1, y.shape[1], self._u.shape[1]
        )
        left, _, right = self._svd(C, full_matrices=False)
        targets = ((left @ right)[self._start] @ self._u[:, :, None])[:, :, 0]
        return targets, float(((y - targets) ** 2).sum()) / self._size

    def _conjugate(self, b: Any) -> Any:
        """Towards the solution of L Y = b, from the map as it is."""
        Y = self._Y
        r = b - self._L @ Y
        p = z = r / self._diagonal
        rz = (r * z).sum(0) + _TINY
        for _ in range(_CONJUGATE):
            q = self._L @ p
            along = rz / ((p * q).sum(0) + _TINY)
            Y, r = Y + along * p, r - along * q
            z = r / self._diagonal
            p, rz = z + (((r * z).sum(0) + _TINY) / rz) * p, (r * z).sum(0) + _TINY
        return Y


def _on(device: Any) -> tuple[Callable[[np.ndarray], Any], Callable[[sparse.csr_array], Any], Callable[..., Any]]:
    """What brings arrays and sparse matrices to a device, nothing for NumPy, and the singular values there."""
    if device is None:
        return lambda a: a, sparse.csr_array, np.linalg.svd
    import torch

    def held(a: np.ndarray) -> Any:
        return torch.as_tensor(np.ascontiguousarray(a), device=device)

    def matrix(A: sparse.csr_array) -> Any:
        A = sparse.csr_array(A)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # torch calls its sparse matrices new
            return torch.sparse_csr_tensor(held(A.indptr), held(A.indices), held(A.data), A.shape)

    return held, matrix, torch.linalg.svd


def _start(Y: np.ndarray, s: int, frames: Frames, device: Any) -> tuple[_Moving, tuple[int, ...]]:
    """The map in s coordinates of Y, the first among them, from which the loss falls lowest, and which these are."""
    others = sorted(combinations(range(1, Y.shape[1]), s - 1), key=sum)[:_STARTS]

    def ahead(coordinates: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        moving = _Moving(Y[:, list(coordinates)], frames, device)
        for _ in range(_TRIED):
            moving.step()
        return moving.losses[-1], coordinates

    sets = [(0, *more) for more in others]
    coordinates = min(sets, key=ahead) if len(sets) > 1 else sets[0]
    return _Moving(Y[:, list(coordinates)], frames, device), coordinates


def _scaled(Y: np.ndarray, s: int, frames: Frames) -> np.ndarray:
    """Each coordinate on a scale on which it does its share of the lengths."""
    squares = ((Y[frames.end] - Y[frames.start]) ** 2).sum(axis=0)
    if not (squares > 0).all():
        raise ValueError(
            f"Every coordinate of a map must vary between neighbors; coordinate {int(squares.argmin()) + 1} is constant: "
            "leave it out."
        )
    return Y * np.sqrt((frames.steps**2).sum() / (s * squares))


def _given(embedding: Any, estimator: Any) -> tuple[Any, GraphEstimator]:
    """The map, an array or a tensor, and the fitted estimator of its points."""
    fitted = embedding if estimator is None else estimator
    if not isinstance(fitted, GraphEstimator):
        raise ValueError(
            f"Relaxation needs the graph of the points; only a {type(embedding).__name__} was given: pass a fitted map, or "
            "a fitted estimator with the array."
        )
    check_is_fitted(fitted)
    built = fitted._built
    if not built.has_coordinates or built.landmarks is not None:
        what = "n_landmarks" if built.has_coordinates else "distances, or sparse features"
        raise ValueError(f"Relaxation needs all points of the map; the estimator was given {what}: fit it to the points.")
    Y = embedding.embedding_ if hasattr(embedding, "embedding_") else embedding
    if not hasattr(Y, "detach"):
        Y = host_array(Y)
        Y = Y if Y.dtype.kind == "f" else real_numbers(Y)  # the precision of numbers is kept
    if Y.ndim != 2 or len(Y) != len(built.points) or not np.isfinite(host_array(Y)).all():
        raise ValueError(
            f"A map must be a finite array of {len(built.points)} rows, one for each point of the graph; shape "
            f"{tuple(Y.shape)} was given: pass what fit_transform returns for the same points."
        )
    return Y, fitted
