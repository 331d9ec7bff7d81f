"""Named coordinates: which known functions of the data are coordinates of its manifold.

After Koelle, Zhang, Meilă & Chen (2022, 2024).  At point i let G_i (d, p) hold the gradients of p functions in coordinates
of the tangent plane, and T_i (d, q) those of what is to be explained: the tangent plane itself, T_i = I, or the coordinates
of a map.  A group lasso with a group for each function, over all points,

.. math:: \\min_B\\ \\frac1{2n} Σ_i ‖T_i - G_i B_i‖^2 + λ Σ_j b_j, \\qquad b_j^2 = \\frac1n Σ_i ‖B_{ij}‖^2

leaves d functions as λ falls from where it leaves none.  Since λ b = min_η (λ/2)(b²/η + η), it is the same as

.. math:: \\min_{η ≥ 0}\\ \\frac1{2n} Σ_i \\mathrm{tr}\\, T_i^T (I + \\tfrac1λ G_i\\, \\mathrm{diag}(η)\\, G_i^T)^{-1} T_i
    + \\frac λ2 Σ_j η_j

with η_j = b_j: smooth, convex, and in p unknowns instead of n p q, which SciPy's L-BFGS-B solves.

Gradients are regressions of the differences of a function on steps to neighbors (`geolap.estimators.frames`), so that values
at the points are all that is needed.  A function is divided by the size of its differences, of which a function that varies
off the manifold, or by noise, has more than its gradient tells: it then explains little for its cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted

from ..runtime.threads import one_blas_thread
from ..shown import Plotted
from ..validation import check_number, check_random_state
from .base import GraphEstimator
from .coordinates import known_dimension
from .frames import Frames, local_frames
from .laplacian import GraphLaplacian

__all__ = ["NamedCoordinates", "explain_coordinates"]

# Penalties that are tried, as shares of the one that leaves nothing.
_PENALTIES = np.geomspace(1.0, 0.01, 31)
# A function whose b is below this share of the largest does not count.
_ABSENT = 1e-3
# Draws of half of the evaluation points, on which the choice is repeated.
_REPEATS = 10
# Chosen functions that tell less than this share of where neighbors are do not explain the data.
_ENOUGH = 0.8


@dataclass(frozen=True)
class NamedCoordinates(Plotted):
    """Functions that are coordinates of the data, with reasons; prints as `explain`.

    Attributes
    ----------
    chosen : tuple of str
        The functions, the one that counts most first.
    names : tuple of str
        All p candidates.
    intrinsic_dim : int
        d
    told : float
        Share of the variance of neighbor positions that the chosen functions explain.
    frequency : ndarray (p,)
        Share of ten random halves of the evaluation points in which each was chosen.
    penalties : ndarray (m,)
        λ, relative to the smallest that selects nothing, descending.
    norms : ndarray (m, p)
        b, how much of each function is used at these penalties.
    """

    chosen: tuple[str, ...]
    names: tuple[str, ...] = field(repr=False)
    intrinsic_dim: int
    told: float
    frequency: np.ndarray = field(repr=False)
    penalties: np.ndarray = field(repr=False)
    norms: np.ndarray = field(repr=False)

    def explain(self) -> str:
        """In words."""
        d, p = self.intrinsic_dim, len(self.names)
        if not self.chosen:
            return f"None of the {p} functions varies along the data."
        *others, last = self.chosen
        names = f"{', '.join(others)} and {last}" if others else last
        lines = [f"{names}: of {p} functions, the coordinates of data with {d} dimension{'' if d == 1 else 's'}."]
        if len(self.chosen) < d:
            lines.append("No other function varies in the remaining directions.")
        often = ", ".join(f"{name} {self.frequency[self.names.index(name)]:.0%}" for name in self.chosen)
        lines.append(f"Share of random halves of the evaluation points in which they were chosen: {often}.")
        by_frequency = sorted(zip(-self.frequency, self.names, strict=True))
        rivals = [f"{name} {-share:.0%}" for share, name in by_frequency if share < 0 and name not in self.chosen]
        if rivals:
            lines.append(f"Chosen instead in some of these: {', '.join(rivals)}.")
        less = "" if self.told >= _ENOUGH else ", too little to explain the data"
        lines.append(f"They explain {self.told:.0%} of the variance of neighbor positions{less}.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()


def explain_coordinates(
    X: Any,
    functions: Mapping[str, Any],
    *,
    periods: Mapping[str, float] | None = None,
    embedding: Any = None,
    intrinsic_dim: int | None = None,
    n_sample: int = 300,
    n_neighbors: int = 25,
    random_state: Any = 0,
) -> NamedCoordinates:
    """Find the functions that are coordinates of the data (after Koelle, Zhang, Meilă & Chen 2022).

    Parameters
    ----------
    X : array-like (n_points, n_features) or fitted estimator on a graph
        The points; a graph at ε̂ is built over them.
    functions : mapping of str to array-like (n_points,), or data frame
        Candidates by name: their values at the points.
    periods : mapping of str to float, optional
        The periods of functions that are angles, or times of day: their differences take the shorter way around.
    embedding : array-like (n_points, s), optional
        A map whose coordinates are explained; by default the tangent planes of the data are explained.
    intrinsic_dim : int, optional
        d, how many functions to look for; by default the dimension of neighborhoods at ε̂.
    n_sample : int, default 300
        Evaluation points.
    n_neighbors : int, default 25
        Number of nearest neighbors in the graph from which gradients are estimated.
    random_state : int, RandomState or None, default 0
        For the choice of evaluation points, and of random halves of them.

    Returns
    -------
    NamedCoordinates

    Examples
    --------
    >>> import geolap
    >>> rotor = geolap.datasets.make_rotor(1000, random_state=0)
    >>> found = geolap.explain_coordinates(rotor.data, rotor.functions, periods=rotor.periods)
    >>> sorted(found.chosen)
    ['torsion ABCD', 'torsion BCDE']
    """
    check_number("n_sample", n_sample, Integral, low=2)
    check_number("n_neighbors", n_neighbors, Integral, low=2)
    fitted = X if isinstance(X, GraphEstimator) else GraphLaplacian(calibrate=False, random_state=random_state).fit(X)
    check_is_fitted(fitted)
    points = fitted._built.on_host.points
    if not fitted._built.has_coordinates:
        raise ValueError(
            "Explaining functions requires points with coordinates; the estimator was given distances, or sparse features: "
            "fit it to the points."
        )
    names, values = _values(functions, len(points))
    wraps = _periods(periods or {}, names)
    d = known_dimension(fitted.selection_) if intrinsic_dim is None else intrinsic_dim
    if d is None:
        raise ValueError(
            "The dimension of the data must be known; it cannot be determined at this bandwidth: pass intrinsic_dim."
        )
    check_number("intrinsic_dim", d, Integral, low=1, high=min(points.shape))
    rng = check_random_state(random_state)
    rows = np.sort(rng.permutation(len(points))[:n_sample])
    frames = local_frames(points, fitted._built.on_host.kernel.weights, rows, d, n_neighbors=n_neighbors)
    differences = _differences(values, wraps, frames)
    G = _gradients(frames, differences)
    T = np.broadcast_to(np.eye(d), (len(rows), d, d))
    if embedding is not None:
        T = _map_gradients(embedding, frames, len(points))
    norms = _path(G, T)
    chosen = _chosen(norms, d)
    draws = [rng.permutation(len(rows))[: (len(rows) + 1) // 2] for _ in range(_REPEATS)]
    counts = np.bincount(np.concatenate([_chosen(_path(G[i], T[i], enough=d), d) for i in draws]), minlength=len(names))
    return NamedCoordinates(
        chosen=tuple(names[j] for j in chosen),
        names=names,
        intrinsic_dim=int(d),
        told=_told(frames, differences[:, chosen]),
        frequency=counts / _REPEATS,
        penalties=_PENALTIES[: len(norms)],
        norms=norms,
    )


def _values(functions: Any, n: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the functions, and their values (n, p)."""
    if not hasattr(functions, "items") or not len(functions):
        raise ValueError(
            f"Functions must be a mapping of names to values, or a data frame; a {type(functions).__name__} was given: "
            "pass a dict."
        )
    columns = {str(name): _numbers(f"'{name}'", column) for name, column in functions.items()}
    for name, column in columns.items():
        if column.shape != (n,) or not np.isfinite(column).all():
            raise ValueError(
                f"A function must have a finite value at each of the {n} points; '{name}' has shape {column.shape}, finite: "
                f"{bool(np.isfinite(column).all())}: match it to the points."
            )
    return tuple(columns), np.column_stack(list(columns.values()))


def _numbers(what: str, values: Any) -> np.ndarray:
    """Values of a function or a map, as floats."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The values of functions and maps must be numbers; those of {what} are not ({error}): leave it out, or encode "
            "them."
        ) from None


def _periods(periods: Mapping[str, float], names: tuple[str, ...]) -> np.ndarray:
    unknown = [name for name in periods if name not in names]
    if unknown:
        raise ValueError(f"Periods must belong to functions; there is no '{unknown[0]}': name one of {', '.join(names)}.")
    for period in periods.values():
        check_number("periods", period, low=0, open_low=True)
    return np.array([periods.get(name, np.inf) for name in names])


def _differences(values: np.ndarray, periods: np.ndarray, frames: Frames) -> np.ndarray:
    """f(x_j) − f(x_i) (m, p) of every step, the short way round, over their root mean square along steps of length one."""
    found = values[frames.end] - values[frames.rows[frames.start]]
    round_trip = np.isfinite(periods)
    found[:, round_trip] -= periods[round_trip] * np.round(found[:, round_trip] / periods[round_trip])
    size = np.sqrt((found**2).sum(axis=0) * frames.steps.shape[1] / (frames.steps**2).sum())
    return found / np.where(size > 0, size, 1.0)


def _gradients(frames: Frames, differences: np.ndarray) -> np.ndarray:
    """(n, d, p), by regression on the steps."""
    u, sums = frames.steps, frames.sums()
    (n, d), p = (len(frames.rows), u.shape[1]), differences.shape[1]
    S = (sums @ (u[:, :, None] * u[:, None, :]).reshape(len(u), -1)).reshape(n, d, d)
    c = (sums @ (u[:, :, None] * differences[:, None, :]).reshape(len(u), -1)).reshape(n, d, p)
    return np.linalg.pinv(S, hermitian=True) @ c


def _map_gradients(embedding: Any, frames: Frames, n: int) -> np.ndarray:
    Y = _numbers("the embedding", embedding)
    if Y.ndim != 2 or len(Y) != n or not np.isfinite(Y).all():
        raise ValueError(
            f"A map must be a finite array of {n} rows, one for each point; shape {Y.shape} was given: pass what "
            "fit_transform returns for the same points."
        )
    return _gradients(frames, _differences(Y, np.full(Y.shape[1], np.inf), frames))


def _path(G: np.ndarray, T: np.ndarray, *, enough: int | None = None) -> np.ndarray:
    """b (m, p) at falling penalties; with ``enough``, until so many functions are used."""
    d, p = G.shape[1:]
    largest = float(np.sqrt((np.einsum("ndp,ndq->npq", G, T) ** 2).sum(axis=2).mean(axis=0)).max())
    eta, found = np.zeros(p), []

    def objective(eta: np.ndarray, penalty: float) -> tuple[float, np.ndarray]:
        M = np.eye(d) + (G * (eta / penalty)) @ G.swapaxes(1, 2)
        solved = np.linalg.solve(M, T)
        along = (G.swapaxes(1, 2) @ solved) ** 2
        value = 0.5 * float((T * solved).sum()) / len(G) + 0.5 * penalty * float(eta.sum())
        return value, 0.5 * penalty - 0.5 / penalty * along.sum(axis=2).mean(axis=0)

    for penalty in _PENALTIES * largest if largest > 0 else ():
        with one_blas_thread:  # which small problems wait for otherwise
            eta = minimize(
                objective, eta, args=(penalty,), jac=True, bounds=[(0.0, None)] * p, method="L-BFGS-B", tol=1e-12
            ).x
        found.append(eta)
        if enough is not None and len(_used(eta)) >= enough:
            break
    return np.array(found).reshape(-1, p)


def _used(norms: np.ndarray) -> np.ndarray:
    """The functions that are used, the most used first."""
    order = np.argsort(-norms, kind="stable")
    return order[norms[order] > _ABSENT * max(float(norms.max(initial=0.0)), _ABSENT)]


def _chosen(norms: np.ndarray, d: int) -> np.ndarray:
    """The first d functions that are used as the penalty falls, or as many as ever are."""
    sets = [_used(row) for row in norms]
    return next((used for used in sets if len(used) >= d), max(sets, key=len, default=np.empty(0, dtype=int)))[:d]


def _told(frames: Frames, differences: np.ndarray) -> float:
    """Share of the squared steps (m, d) that a regression on the differences (m, k) tells."""
    if not differences.shape[1]:
        return 0.0
    swapped = replace(frames, steps=differences)
    B = _gradients(swapped, frames.steps)  # (n, k, d)
    missed = frames.steps - np.einsum("mk,mkd->md", differences, B[frames.start])
    return 1.0 - float((missed**2).sum() / (frames.steps**2).sum())
