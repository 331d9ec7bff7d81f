"""The walk on a graph in the memory of the host: rows of P^t, sparse while they are, or places of many walkers."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy import sparse

from ..data.distances import Distances
from ..data.multiplicity import counts_of
from ..data.points import Points, in_unit
from ..laplacian import Matrix, row_entries, scaled_rows
from ..runtime.caching import cached_property
from .graph import KernelGraph
from .walk import MOST_SPANNING, NO_STEP, ROUNDING, TINY, Displacements, affords_moments, inverse_sums

__all__ = ["HostWalk", "allows_single_precision"]

_Product = Callable[[np.ndarray], np.ndarray]

# On graphs of more entries than this, and more for each point, so many walkers leave each start instead of exact rows.
_MOST_ENTRIES, _MANY_EDGES, _WALKERS = 2e6, 25, 2000
# Rows of P^t that reach more than this share of all points are stored in full.
_FULL = 0.2
# A full graph is worked on in single precision where √d' spans no more than this.
_WIDEST = 1e5
# Probabilities below this share of the largest change no digit there, and tiny numbers are slow.
_NO_DIGIT = 1e-8
# In no more features than this, moments of the second order are found for all starts at once.
_FEW_FEATURES = 24


def allows_single_precision(graph: KernelGraph) -> bool:
    """Whether products in single precision tell where the walk goes."""
    if not isinstance(graph.weights, np.ndarray) or graph.weights.dtype != float or graph.multiplicity is not None:
        return False
    sums = graph.density * graph.density_sums
    return bool(sums.max() < _WIDEST**2 * sums.min(where=sums > 0, initial=np.inf))


class HostWalk:
    """The walk P on a graph, from some of its points.

    ``times`` is the product of its weights with (N, k), ``roughly`` that of A in single precision (`geolap.graphs.strips`).
    """

    def __init__(self, graph: KernelGraph, points: Points, times: _Product, roughly: _Product | None, threads: int) -> None:
        self.is_sparse: bool = sparse.issparse(graph.weights)
        self._graph, self._points, self._X = graph, points, points.box
        self._times, self._roughly = times, roughly
        self.threads = threads
        self.eps = in_unit([graph.bandwidth], points.unit)[0]
        self._rho2 = None if graph.scale is None else graph.scale.rho**2
        self._known: list[tuple[Matrix, tuple[np.ndarray, np.ndarray]]] = []
        self._inverse, self.glances = inverse_sums(graph), roughly is not None
        W: Any = graph.weights
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
        if not self.glances or self._roughly is None:
            return self.rows(starts, steps)
        root: np.ndarray = np.sqrt(self._graph.density * self._graph.density_sums)
        root /= root.max()
        inverse, rows = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0), [self._one(starts)]
        while len(rows) < steps:
            V = (rows[-1] * inverse).T
            V[_NO_DIGIT * V.max(axis=0) > V] = 0.0
            rows.append(self._roughly(V).T * root)
        return rows

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
        p = R / np.maximum(R.sum(axis=1, dtype=float), TINY)[:, None]
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
        rounding = values <= ROUNDING * values[:, :1]  # fewer points than directions
        return values, np.where(rounding[:, :, None], 0.0, vectors @ Z / np.where(rounding, 1.0, values)[:, :, None])

    def _about(self, R: Matrix, i: int) -> np.ndarray:
        """Points reached from one start about their mean, times the roots of their probabilities."""
        j, p = _entries(R, i)
        heavy = np.flatnonzero(p > NO_STEP * p.max())
        if self._X.shape[1] > MOST_SPANNING < len(heavy):
            heavy = np.argpartition(-p, MOST_SPANNING)[:MOST_SPANNING]
        p = p[heavy].astype(float)
        p /= p.sum()
        Z = self._X[heavy if isinstance(j, slice) else j[heavy]]
        Z -= p @ Z
        Z *= np.sqrt(p)[:, None]
        return Z


def _entries(R: Matrix, i: int) -> tuple[Any, np.ndarray]:
    """Which entries of a row may differ from zero, and those."""
    return (slice(None), R[i]) if isinstance(R, np.ndarray) else row_entries(R, i)
