"""How far a walk on a graph goes: the measurement behind `geolap.calibration`.

Rows of P^t are followed from some evaluation points, exactly, and as sparse rows while they are sparse.  Once these have
told the directions, the displacements of all points are followed on graphs of moderate size.  With local scales a step from
x_i takes the time ε²ρ_i²/4, so displacements are divided by the time that passes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy import sparse

from ..calibration import Calibration
from ..data.distances import Distances
from ..data.multiplicity import counts_of
from ..data.points import Points, in_unit
from ..laplacian import Matrix, row_entries, scaled_rows
from ..local_pca import largest_gap, vote
from ..runtime.caching import cached_property
from ..runtime.threads import in_order, one_blas_thread, thread_count
from .graph import KernelGraph
from .spectrum import product, single_precision

__all__ = ["Displacements", "affords_moments", "calibrated", "inverse_sums"]

_Product = Callable[[np.ndarray], np.ndarray]

# Sums that have an inverse are above this.
_TINY = np.finfo(float).tiny

# Evaluation points of a batch, the most batches, the relative standard error that is enough, and that which tells nothing.
_BATCH, _MOST_BATCHES, _ENOUGH, _MOST_ERROR = 64, 4, 0.01, 0.5
# Steps: at first and at most, of sparse rows and of full ones; doubled while displacements still grow at this share of the
# rate of the second step, or at the second share in tangent planes, which curvature leaves sooner.
_FEW_STEPS, _MOST_STEPS, _MOST_FULL_STEPS = 4, 16, 8
_STEADY, _STEADY_IN_PLANE = 0.7, 0.8
# On graphs of more entries than this, and more for each point, so many walkers leave each start instead of exact rows.
_MOST_ENTRIES, _MANY_EDGES, _WALKERS = 2e6, 25, 2000
# Displacements are projected onto tangent planes if this share of the first step is across them: it is noise.
_NOISE = 0.4
# From this many steps on the fit has a term for neighborhoods that are uneven.
_STEPS_FOR_UNEVEN = 8
# Directions stand out if this share of the points agrees on their number after some steps, and most points after others.
_AGREED, _MAJORITY = 0.8, 0.5
_MOST_DIRECTIONS = 10
# A walk that has reached more than this share of all points says nothing about what is near.
_LOCAL = 0.4
# Rows of P^t that reach more than this share of all points are stored in full.
_FULL = 0.2
# Probabilities below this share of the largest change no principal direction; nor do more points than this in many features.
_NO_STEP, _MOST_SPANNING = 1e-6, 100
# Weights of a full graph are held in single precision where no sum of them is below the inverse of this.
_LARGEST_INVERSE = 1e10
# Relative to the size of the data, a bandwidth whose square is far above rounding.
_FAR_ABOVE_ROUNDING = 1e-4
# In no more features than this, moments of the second order are found for all starts at once.
_FEW_FEATURES = 24
# Singular values below this share of the largest are rounding.
_ROUNDING = 1e-7
# Coordinates found from distances are off by 1e-8 of the data's size, and squares of steps by this.
_SAME_PLACE = 1e-15


def calibrated(graph: KernelGraph, points: Points, *, n_jobs: int | None = None) -> KernelGraph:
    """The graph with its calibration, by which its Laplacian is divided."""
    # A point whose density weight vanishes beside the others is one that no walk returns from.
    alone = np.maximum(graph.weights.diagonal() * graph.density, _TINY)
    joined = np.flatnonzero((graph.density > 0) & (graph.density_sums > alone))
    if not points.whole or len(joined) < 3:
        return replace(graph, calibration=_untold(0.0))
    with _walk_on(graph, points, n_jobs) as walk:
        n_values = min(_MOST_DIRECTIONS, points.shape[1]) + 1
        return replace(graph, calibration=_measured(walk, joined, graph.multiplicity, n_values))


def _measured(walk: Any, joined: np.ndarray, multiplicity: np.ndarray | None, n_values: int) -> Calibration:
    rng, most = np.random.default_rng(0), min(_BATCH * _MOST_BATCHES, len(joined))
    if multiplicity is None:
        order = rng.permutation(joined)[:most]
    else:  # each as often as its weight says
        order = rng.choice(joined, most, p=multiplicity[joined] / multiplicity[joined].sum())
    first, *others = np.array_split(order, -(-len(order) // _BATCH))
    rows = walk.glance(first, _FEW_STEPS)
    seen, share, near = _directions(walk, first, rows, n_values)
    while seen is None and walk.is_sparse and len(rows) < _MOST_STEPS:
        rows = walk.longer(first, rows)
        seen, share, near = _directions(walk, first, rows, n_values)
    if seen is None:
        return _untold(share)
    step, through = (float(walk.rates(first, rows, seen, plane=plane, steps=1).mean()) for plane in (True, False))
    if not step * walk.eps**2 > _SAME_PLACE:  # all are joined with points at the same place
        return _untold(share)
    plane = step < (1.0 - _NOISE) * through
    everywhere, steady, steps = walk.by_moments and not plane, _STEADY_IN_PLANE if plane else _STEADY, len(rows)
    rows = walk.rows(first, steps) if walk.glances and not everywhere else rows
    rates = walk.rates_of_all(joined, steps, seen) if everywhere else walk.rates(first, rows, seen, plane=plane)
    rate = rates.mean(axis=0)
    while steps < (_MOST_STEPS if walk.is_sparse else _MOST_FULL_STEPS) and rate[-1] >= steady * rate[1]:
        steps *= 2
        if everywhere:
            rates = walk.rates_of_all(joined, steps, seen)
        else:
            rows = walk.longer(first, rows)
            rates = walk.rates(first, rows, seen, plane=plane)
        rate = rates.mean(axis=0)
    used = max(_FEW_STEPS, int(np.argmin(np.append(rate[1:] >= steady * rate[1], False))) + 1)
    rates = rates[:, :used]
    factor, error = _extrapolated(rates)

    def of(batch: np.ndarray) -> np.ndarray:
        more: np.ndarray = walk.rates(batch, walk.rows(batch, steps), seen, plane=plane)[:, :used]
        return more

    while others and not everywhere and not error <= _ENOUGH * factor:
        together, others = others[: walk.threads], others[walk.threads :]
        for more in in_order(of, together, n_jobs=walk.threads):
            if not error <= _ENOUGH * factor:
                rates = np.vstack([rates, more])
                factor, error = _extrapolated(rates)
    if not error <= _MOST_ERROR * factor:
        return _untold(share, error)
    return Calibration(factor, error, step, seen, share, near, rates.mean(axis=0))


def _untold(share: float, error: float = float("nan")) -> Calibration:
    return Calibration(1.0, error, 1.0, None, share, 0.0, np.zeros(0))


@contextmanager
def _walk_on(graph: KernelGraph, points: Points, n_jobs: int | None) -> Iterator[Any]:
    """The walk on a graph, where its weights are."""
    if isinstance(graph.weights, np.ndarray) or sparse.issparse(graph.weights):
        # Threads of BLAS wait for one another wherever the machine has other work.
        with one_blas_thread, product(graph.weights, n_jobs) as times:
            yield _Walk(graph, points, times, thread_count(n_jobs))
        return
    from .device_walk import DeviceWalk

    yield DeviceWalk(graph, points, no_step=_NO_STEP, most_spanning=_MOST_SPANNING, rounding=_ROUNDING)


class _Walk:
    """The walk P on a graph, from some of its points; ``times`` is the product of its weights with (N, k)."""

    def __init__(self, graph: KernelGraph, points: Points, times: _Product, threads: int) -> None:
        self.is_sparse: bool = sparse.issparse(graph.weights)
        self._graph, self._points, self._X, self._times = graph, points, points.box, times
        self.threads = threads
        self.eps = in_unit([graph.bandwidth], points.unit)[0]
        self._rho2 = None if graph.scale is None else graph.scale.rho**2
        self._known: list[tuple[Matrix, tuple[np.ndarray, np.ndarray]]] = []
        self._inverse = inverse_sums(graph)
        W: Any = graph.weights
        # In single precision where its range allows it, and it is not the precision of the graph.
        wide = graph.multiplicity is not None or self._inverse.max() > _LARGEST_INVERSE
        self.glances = isinstance(W, np.ndarray) and W.dtype == float and not wide
        self.by_walkers = self.is_sparse and W.nnz > max(_MOST_ENTRIES, _MANY_EDGES * graph.n_points)
        # Squares of displacements from sums over coordinates: for all points at the price of some.
        few = affords_moments(self._X.shape[1], self.eps)
        exact = not isinstance(points, Distances) or points.coordinates is not None
        self.by_moments = few and exact and not self.by_walkers and graph.multiplicity is None

    def rows(self, starts: np.ndarray, steps: int) -> list[Matrix]:
        """Rows of P, P², …, from the starts (n,): exactly, or on large graphs as the places of many walkers."""
        if self.by_walkers:
            return self._walked(starts, steps)
        return self._continued([self._one(starts)], steps, self._times)

    def glance(self, starts: np.ndarray, steps: int) -> list[Matrix]:
        """The same for directions alone, which need no more than single precision: rows are sums of positive terms."""
        if not self.glances:
            return self.rows(starts, steps)
        with product(single_precision(self._graph.weights), self.threads) as times:
            return self._continued([self._one(starts)], steps, lambda V: times(V.astype(np.float32)))

    def _one(self, starts: np.ndarray) -> Matrix:
        """Rows of P."""
        if self.is_sparse:
            return self._P[starts]
        return self._graph.weights[starts] * np.multiply.outer(self._inverse[starts], self._graph.density)

    @cached_property
    def _P(self) -> Any:
        """The transition matrix of a sparse graph."""
        return scaled_rows(self._graph.weights.astype(float, copy=False), rows=self._inverse, columns=self._graph.density)

    @cached_property
    def _sums(self) -> np.ndarray:
        """Sums of all unnormalized probabilities before each entry."""
        W: Any = self._graph.weights
        return np.concatenate([[0.0], np.cumsum(W.data * self._graph.density[W.indices], dtype=float)])

    def _walked(self, starts: np.ndarray, steps: int) -> list[Matrix]:
        W: Any = self._graph.weights
        rng, sums, share = np.random.default_rng(0), self._sums, np.full(len(starts) * _WALKERS, 1.0 / _WALKERS)
        places, ends, rows = np.repeat(starts, _WALKERS), np.arange(len(starts) + 1) * _WALKERS, []
        for _ in range(steps):
            first, last = W.indptr[places], W.indptr[places + 1]
            drawn = sums[first] + (sums[last] - sums[first]) * rng.random(len(places))
            ascending = np.argsort(drawn)  # what is searched for in order is near what was found before
            entries = np.empty(len(places), dtype=int)
            entries[ascending] = np.searchsorted(sums, drawn[ascending], side="right") - 1
            places = W.indices[np.clip(entries, first, last - 1)]
            rows.append(sparse.csr_array((share, places, ends), shape=(len(starts), W.shape[0])))
        return rows

    def _continued(self, rows: list[Matrix], steps: int, times: _Product) -> list[Matrix]:
        rows = list(rows)
        while len(rows) < steps:
            R: Any = rows[-1]
            if sparse.issparse(R):
                R = R @ self._P
                R = R.toarray() if R.nnz > _FULL * R.shape[0] * R.shape[1] else R
            else:
                R = times((R * self._inverse).T).T * self._graph.density  # W is symmetric
            rows.append(R)
        return rows

    def longer(self, starts: np.ndarray, rows: list[Matrix]) -> list[Matrix]:
        """The same for twice as many steps."""
        return self._walked(starts, 2 * len(rows)) if self.by_walkers else self._continued(rows, 2 * len(rows), self._times)

    def held(self, R: Any) -> float:
        """Share of all points that the walk has reached, (Σ p)²/Σ p² of N, in the median."""
        m = counts_of(self._graph.multiplicity, R.shape[1])
        squares = (R.multiply(R) if sparse.issparse(R) else R * R) @ (1.0 / m)
        return float(1.0 / np.median(squares)) / m.sum()

    def singular_values(self, starts: np.ndarray, R: Matrix, n_values: int) -> np.ndarray:
        """Of the points about each start, weighted by the probability that the walk is there (n, n_values)."""
        self._known.append((R, self._principal(R)))
        found = self._known[-1][1][0][:, :n_values]
        return np.pad(found, ((0, 0), (0, n_values - found.shape[1])))

    def rates(
        self, starts: np.ndarray, rows: list[Matrix], dim: int, *, plane: bool = False, steps: int | None = None
    ) -> np.ndarray:
        """Mean square displacement in each step (n, steps), all by default, over that of diffusion in ``dim`` directions.

        With ``plane`` only the part along the tangent plane counts, which is found after half of the rows.
        """
        half, rows = rows[max(len(rows) // 2, 1) - 1], rows[:steps]
        planes = self._principal(half)[1][:, :dim] if plane else None
        if all(self._has_moments(R) for R in rows):
            there = np.column_stack([self._mean_squares(starts, R, planes) for R in rows])
        else:
            there = self._mean_squares_one_by_one(starts, rows, planes)
        rho2 = None if self._rho2 is None else [self._rho2[starts], *(R @ self._rho2 for R in rows[:-1])]
        return self._over_time(np.diff(there, axis=1, prepend=0.0), rho2, dim)

    def _mean_squares(self, starts: np.ndarray, R: np.ndarray, planes: np.ndarray | None) -> np.ndarray:
        """Mean squared distances of a full row from its start (n,), along directions (n, d, r) if there are any."""
        mean, covariances = self._moments(R)
        away = mean - self._X[starts]
        if planes is not None:
            away, covariances = (planes @ away[:, :, None])[:, :, 0], planes @ covariances @ planes.mT
        there = np.trace(covariances, axis1=1, axis2=2) + np.einsum("nr,nr->n", away, away)
        return np.where(R.any(axis=1), there, 0.0)  # a row may vanish by rounding

    def _mean_squares_one_by_one(self, starts: np.ndarray, rows: list[Matrix], planes: np.ndarray | None) -> np.ndarray:
        """The same of any rows (n, steps)."""
        there, n = np.zeros((len(starts), len(rows))), len(self._X)
        squares, reached = np.zeros(n), np.empty(n, dtype=bool)
        last = rows if self.by_walkers else rows[-2:]  # what the walk reaches it reaches again two steps later
        for i, start in enumerate(starts):
            reached[:] = not self.is_sparse
            for R in last if self.is_sparse else ():
                reached[row_entries(R, i)[0]] = True
            j = np.flatnonzero(reached)
            if planes is None:
                squares[j] = self._points.sqdist(np.array([start]), j)[0]
            else:
                Y = self._X[j] @ planes[i].T - planes[i] @ self._X[start]
                squares[j] = np.einsum("nd,nd->n", Y, Y)
            there[i] = [p @ squares[at] for at, p in (_entries(R, i) for R in rows)]
        return there

    def _has_moments(self, R: Matrix) -> bool:
        return self.by_moments and isinstance(R, np.ndarray) and self._X.shape[1] <= _FEW_FEATURES

    def _moments(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (n, r) and covariances (n, r, r) of points that are drawn by full rows."""
        p = R / np.maximum(R.sum(axis=1, dtype=float), _TINY)[:, None]
        mean, i = p @ self._X, self._pairs_of_features
        return mean, (p @ self._X_squared)[:, i] - mean[:, :, None] * mean[:, None, :]

    @cached_property
    def _pairs_of_features(self) -> np.ndarray:
        """Where the product of two features stands in the upper triangle (r, r)."""
        r = self._X.shape[1]
        place = np.zeros((r, r), dtype=int)
        place[np.triu_indices(r)] = np.arange(r * (r + 1) // 2)
        return np.maximum(place, place.T)

    @cached_property
    def _X_squared(self) -> np.ndarray:
        """Products of two features (N, r(r + 1)/2)."""
        i, j = np.triu_indices(self._X.shape[1])
        return self._X[:, i] * self._X[:, j]

    def rates_of_all(self, joined: np.ndarray, steps: int, dim: int) -> np.ndarray:
        """The same of all points that are joined with others (n, steps)."""
        growth, rho2 = self._all.after(steps)
        return self._over_time(np.column_stack(growth)[joined], rho2 and [each[joined] for each in rho2], dim)

    @cached_property
    def _all(self) -> "Displacements":
        X, rho2 = self._X, [] if self._rho2 is None else [self._rho2]
        return Displacements(X.T, np.vstack([X.T, np.einsum("nr,nr->n", X, X), *rho2]), self._step)

    def _step(self, values: np.ndarray) -> np.ndarray:
        """P applied to functions (k, N)."""
        return self._times((values * self._graph.density).T).T * self._inverse

    def _over_time(self, growth: np.ndarray, rho2: list[np.ndarray] | None, dim: int) -> np.ndarray:
        """What mean squares grow by (n, steps) over that of diffusion, in a time that goes with ρ² before each step."""
        return growth / (0.5 * dim * self.eps**2 * (1.0 if rho2 is None else np.column_stack(rho2)))

    def _principal(self, R: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Singular values (n, k), largest first, and directions (n, k, r) of the points about each start."""
        known = [found for seen, found in self._known if seen is R]
        if known:
            return known[0]
        if self._has_moments(R):
            squares, vectors = np.linalg.eigh(self._moments(cast(np.ndarray, R))[1])
            return np.sqrt(np.maximum(squares[:, ::-1], 0.0)), vectors[:, :, ::-1].mT
        about = [self._about(R, i) for i in range(R.shape[0])]
        most = max(len(Z) for Z in about)
        wide = most < self._X.shape[1]
        Z = np.zeros((len(about), most, self._X.shape[1])) if wide else None
        if Z is not None:  # rows of zeros change nothing
            for own, found in zip(Z, about, strict=True):
                own[: len(found)] = found
        squares, vectors = np.linalg.eigh(np.stack([each.T @ each for each in about]) if Z is None else Z @ Z.mT)
        values, vectors = np.sqrt(np.maximum(squares[:, ::-1], 0.0)), vectors[:, :, ::-1].mT
        if Z is None:
            return values, vectors
        rounding = values <= _ROUNDING * values[:, :1]  # fewer points than directions
        return values, np.where(rounding[:, :, None], 0.0, vectors @ Z / np.where(rounding, 1.0, values)[:, :, None])

    def _about(self, R: Matrix, i: int) -> np.ndarray:
        """Points reached from one start about their mean, times the roots of their probabilities."""
        j, p = _entries(R, i)
        heavy = np.flatnonzero(p > _NO_STEP * p.max())
        if self._X.shape[1] > _MOST_SPANNING < len(heavy):
            heavy = np.argpartition(-p, _MOST_SPANNING)[:_MOST_SPANNING]
        p = p[heavy].astype(float)
        p /= p.sum()
        Z = self._X[heavy if isinstance(j, slice) else j[heavy]]
        Z -= p @ Z
        Z *= np.sqrt(p)[:, None]
        return Z


def _entries(R: Matrix, i: int) -> tuple[Any, np.ndarray]:
    """Which entries of a row may differ from zero, and those."""
    return (slice(None), R[i]) if isinstance(R, np.ndarray) else row_entries(R, i)


def inverse_sums(graph: KernelGraph) -> np.ndarray:
    """What rows of the weighted W are divided by, where they have a sum."""
    return 1.0 / np.where(graph.density_sums > _TINY, graph.density_sums, 1.0)


def affords_moments(n_features: int, eps: float) -> bool:
    """Whether moments of all points cost no more than rows of some, and squares of ε are far above their rounding."""
    return n_features + 2 <= _BATCH * _MOST_BATCHES and eps > _FAR_ABOVE_ROUNDING


class Displacements:
    """Growth of the mean squared displacements of all points in each step, of as many as are asked for; arrays or tensors.

    E‖x_t − x‖² = P^t‖x‖² − 2 x·P^t x + ‖x‖² grows by δ‖x‖² − 2 x·δx, where δf = P^t(P − I)f: only the first of these
    differences is one of numbers that are nearly equal.

    Parameters
    ----------
    X : array (r, N)
    values : array (r + 1 or 2, N)
        x, ‖x‖² and with local scales ρ².
    step : callable
        Applies P to functions (k, N).
    """

    def __init__(self, X: Any, values: Any, step: Callable[[Any], Any]) -> None:
        self._X, self._step, self._change = X, step, step(values) - values
        self._rho2, self._growth = [values[-1]] if len(values) > len(X) + 1 else [], [self._grown()]

    def after(self, steps: int) -> tuple[list[Any], list[Any] | None]:
        """What is added to mean squares (steps, N), and ρ² before each step."""
        while len(self._growth) < steps:
            if self._rho2:
                self._rho2.append(self._rho2[-1] + self._change[-1])
            self._change = self._step(self._change)
            self._growth.append(self._grown())
        return self._growth[:steps], self._rho2[:steps] or None

    def _grown(self) -> Any:
        r = len(self._X)
        return self._change[r] - 2.0 * (self._X * self._change[:r]).sum(0)


def _directions(walk: Any, starts: np.ndarray, rows: list[Any], n_values: int) -> tuple[int | None, float, float]:
    """The least d that the points agree on after some number of steps, the share that does, and the share after one step.

    Few steps see noise as directions, and many see curvature: both add to d.  After still more, all points see the same.
    """
    seen = [R for t, R in enumerate(rows, start=1) if t in (1, 2, 4, 8, 16)]
    votes = [largest_gap(walk.singular_values(starts, R, n_values)) for R in seen if R is rows[0] or walk.held(R) <= _LOCAL]
    agreed = [(vote(each), float(np.mean(each == vote(each)))) for each in votes]
    most = max(share for _, share in agreed)
    told = [d for d, share in agreed if share > _MAJORITY and d > 0]
    if most < _AGREED or agreed[0][0] == 0 or not told:
        return None, most, 0.0
    dim = min(told)
    shares = [float(np.mean(each == dim)) for each in votes]
    return dim, max(shares), shares[0]


def _extrapolated(rates: np.ndarray) -> tuple[float, float]:
    """c and its standard error from rates (n, steps): from the second on, log rate = log c − κt (+ b/t)."""
    mean = np.maximum(rates.mean(axis=0), 1e-3 * rates[:, 0].mean())
    t = np.arange(len(mean)) + 0.5
    columns = [np.ones(len(t)), t] + ([1.0 / t] if len(t) >= _STEPS_FOR_UNEVEN else [])
    solve = np.linalg.pinv(np.column_stack(columns)[1:])
    logs = solve @ np.log(mean[1:])
    half = 0.5 * abs(logs[1]) or 1e-9
    factor = float(np.exp(logs[0]) * half / np.sinh(half))  # rates are means over a step
    influence = (rates[:, 1:] / mean[1:]) @ solve[0]
    return factor, float(factor * influence.std() / np.sqrt(len(rates)))
