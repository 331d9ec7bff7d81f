"""The walk on a graph on a device, as `geolap.graphs.calibrate` follows it: rows of P^t, exactly, for a batch of starts.

A step is one product with as many vectors as there are starts, so that no graph needs walkers in place of rows.  What is
asked of the rows are first and second moments of the points there, which are products as well.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..data.points import Points, in_unit
from ..runtime.caching import cached_property
from ..runtime.threads import one_blas_thread
from .device import DeviceMatrix, on_host, tensor_of
from .graph import KernelGraph
from .walk import MOST_SPANNING, NO_STEP, ROUNDING, Displacements, affords_moments, inverse_sums

__all__ = ["DeviceWalk"]


@dataclass(frozen=True)
class _Reached:
    """Probabilities (n, c) at the points that a walk from any of n starts has reached."""

    columns: torch.Tensor
    p: torch.Tensor


class DeviceWalk:
    """The walk P on a graph on a device, from some of its points."""

    threads = 1
    glances = False

    def __init__(self, graph: KernelGraph, points: Points) -> None:
        W: Any = graph.weights
        self._W: DeviceMatrix = W
        self.is_sparse = self._W.is_partial
        self._X, unit = points.there
        self.eps = in_unit([graph.bandwidth], unit)[0]
        self._rho2 = None if graph.scale is None else self._W.tensor(graph.scale.rho**2)
        self._inverse = self._W.tensor(inverse_sums(graph))
        self._density = self._W.tensor(graph.density)
        self.by_moments = affords_moments(self._X.shape[1], self.eps)

    def rows(self, starts: np.ndarray, steps: int) -> list[_Reached]:
        """Rows of P, P², …, from the starts (n,)."""
        own = torch.eye(len(starts), dtype=torch.float64, device=self._X.device)
        return self._continued([_Reached(self._index(starts), own)], steps + 1)[1:]

    glance = rows

    def longer(self, starts: np.ndarray, rows: list[_Reached]) -> list[_Reached]:
        """The same for twice as many steps."""
        return self._continued(rows, 2 * len(rows))

    def _continued(self, rows: list[_Reached], steps: int) -> list[_Reached]:
        rows = list(rows)
        while len(rows) < steps:
            R = rows[-1]
            full = torch.zeros((len(self._X), len(R.p)), dtype=torch.float64, device=self._X.device)
            full[R.columns] = R.p.T * self._inverse[R.columns, None]
            full = self._W.product(full) * self._density[:, None]
            columns = torch.nonzero((full != 0).any(dim=1))[:, 0]
            rows.append(_Reached(columns, full[columns].T.contiguous()))
        return rows

    def held(self, R: _Reached) -> float:
        """Share of all points that the walk has reached, (Σ p)²/Σ p² of N, in the median."""
        return float(1.0 / np.median(on_host(R.p.square().sum(dim=1)))) / len(self._X)

    def singular_values(self, starts: np.ndarray, R: _Reached, n_values: int) -> np.ndarray:
        """Of the points about each start, weighted by the probability that the walk is there (n, n_values)."""
        with one_blas_thread:
            squares = np.linalg.eigvalsh(self._squares(R)[0])[:, : -n_values - 1 : -1]
        return np.sqrt(np.maximum(np.pad(squares, ((0, 0), (0, n_values - squares.shape[1]))), 0.0))

    def rates(
        self, starts: np.ndarray, rows: list[_Reached], dim: int, *, plane: bool = False, steps: int | None = None
    ) -> np.ndarray:
        """As in `Walk`."""
        X, at = self._X, self._index(starts)
        along = tensor_of(self._directions(rows[max(len(rows) // 2, 1) - 1], dim), X.device) if plane else None
        rows = rows[:steps]
        there = torch.zeros((len(starts), len(rows) + 1), dtype=torch.float64, device=X.device)
        for t, R in enumerate(rows, start=1):
            Y = X[R.columns]
            if along is None:
                first, squares = R.p @ Y, R.p @ Y.square().sum(dim=1)
                there[:, t] = squares - 2.0 * (first * X[at]).sum(dim=1) + X[at].square().sum(dim=1) * R.p.sum(dim=1)
            else:
                for i, V in enumerate(along):
                    there[i, t] = R.p[i] @ (Y @ V.T - X[at[i]] @ V.T).square().sum(dim=1)
        rho2 = None if self._rho2 is None else [self._rho2[at], *(R.p @ self._rho2[R.columns] for R in rows[:-1])]
        return self._over_time(there.diff(dim=1), rho2, dim)

    def rates_of_all(self, joined: np.ndarray, steps: int, dim: int) -> np.ndarray:
        """As in `Walk`."""
        growth, rho2 = self._all.after(steps)
        return self._over_time(torch.stack(growth, dim=1), rho2, dim)[joined]

    def _step(self, values: torch.Tensor) -> torch.Tensor:
        """P applied to functions (k, N)."""
        return self._W.product((values * self._density).T).T * self._inverse

    @cached_property
    def _all(self) -> Displacements:
        X, rho2 = self._X.T, [] if self._rho2 is None else [self._rho2[None]]
        return Displacements(X, torch.vstack([X, X.square().sum(dim=0, keepdim=True), *rho2]), self._step)

    def _over_time(self, growth: torch.Tensor, rho2: list[torch.Tensor] | None, dim: int) -> np.ndarray:
        time = 0.5 * dim * self.eps**2 * (1.0 if rho2 is None else torch.stack(rho2, dim=1))
        return on_host(growth / time)

    def _directions(self, R: _Reached, dim: int) -> np.ndarray:
        """Leading directions (n, dim, r) of the points about each start; fewer, or zeros, where points span fewer."""
        squares, Z = self._squares(R)
        with one_blas_thread:
            values, vectors = np.linalg.eigh(squares)
        vectors = vectors[:, :, ::-1].swapaxes(1, 2)
        if Z is None:
            return vectors[:, :dim]
        values = np.sqrt(np.maximum(values[:, ::-1], 0.0))
        rounding = values <= ROUNDING * values[:, :1]
        directions = np.where(rounding[:, :, None], 0.0, vectors @ Z / np.where(rounding, 1.0, values)[:, :, None])
        return directions[:, :dim]

    def _squares(self, R: _Reached) -> tuple[np.ndarray, np.ndarray | None]:
        """ZᵀZ (n, r, r) of what `host_walk` calls Z; with many features ZZᵀ of the most likely points, and Z (n, k, r)."""
        p = torch.where(NO_STEP * R.p.amax(dim=1, keepdim=True) < R.p, R.p, 0.0)
        if self._X.shape[1] <= MOST_SPANNING or R.p.shape[1] <= MOST_SPANNING:
            p /= p.sum(dim=1, keepdim=True)
            Y = self._X[R.columns]
            each = zip(p, p @ Y, strict=True)
            return on_host(torch.stack([Y.T @ (own[:, None] * Y) - torch.outer(mean, mean) for own, mean in each])), None
        p, place = p.topk(MOST_SPANNING, dim=1)
        p = p / p.sum(dim=1, keepdim=True)
        Z = self._X[R.columns[place]]
        Z = (Z - (p[:, None, :] @ Z)) * p.sqrt()[:, :, None]
        return on_host(Z @ Z.mT), on_host(Z)

    def _index(self, rows: np.ndarray) -> torch.Tensor:
        return tensor_of(rows, self._X.device)
