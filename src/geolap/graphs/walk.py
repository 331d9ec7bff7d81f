"""What walks on a graph have in common, where its weights are: in the memory of the host or on a device."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .graph import KernelGraph

__all__ = [
    "MOST_SPANNING",
    "MOST_STARTS",
    "NO_STEP",
    "ROUNDING",
    "TINY",
    "Displacements",
    "Walk",
    "affords_moments",
    "inverse_sums",
]

# Sums that have an inverse are above this.
TINY = float(np.finfo(float).tiny)
# Evaluation points, at most.
MOST_STARTS = 256
# Probabilities below this share of the largest change no principal direction; nor do more points than this in many features.
NO_STEP, MOST_SPANNING = 1e-6, 100
# Singular values below this share of the largest are rounding.
ROUNDING = 1e-7
# Relative to the size of the data, a bandwidth whose square is far above rounding.
_FAR_ABOVE_ROUNDING = 1e-4


class Walk(Protocol):
    """The walk P on a graph, from some of its points; rows of P^t are what `rows` returns."""

    is_sparse: bool
    threads: int
    eps: float  # ε in the unit of the points
    glances: bool  # whether `glance` is less exact than `rows`
    by_moments: bool  # whether displacements of all points cost no more than those of some

    def rows(self, starts: np.ndarray, steps: int) -> list[Any]:
        """Rows of P, P², …, from the starts (n,)."""
        ...

    def glance(self, starts: np.ndarray, steps: int) -> list[Any]:
        """The same for directions alone."""
        ...

    def longer(self, starts: np.ndarray, rows: list[Any]) -> list[Any]:
        """The same for twice as many steps."""
        ...

    def held(self, R: Any) -> float:
        """Share of all points that the walk has reached, (Σ p)²/Σ p² of N, in the median."""
        ...

    def singular_values(self, starts: np.ndarray, R: Any, n_values: int) -> np.ndarray:
        """Of the points about each start, weighted by the probability that the walk is there (n, n_values)."""
        ...

    def rates(
        self, starts: np.ndarray, rows: list[Any], dim: int, *, plane: bool = False, steps: int | None = None
    ) -> np.ndarray:
        """Mean square displacement in each step (n, steps), all by default, over that of diffusion in ``dim`` directions.

        With ``plane`` only the part along the tangent plane counts, which is found after half of the rows.
        """
        ...

    def rates_of_all(self, joined: np.ndarray, steps: int, dim: int) -> np.ndarray:
        """The same of all points that are joined with others (n, steps)."""
        ...


def inverse_sums(graph: KernelGraph) -> np.ndarray:
    """What rows of the weighted W are divided by, where they have a sum."""
    return 1.0 / np.where(graph.density_sums > TINY, graph.density_sums, 1.0)


def affords_moments(n_features: int, eps: float) -> bool:
    """Whether moments of all points cost no more than rows of some, and squares of ε are far above their rounding."""
    return n_features + 2 <= MOST_STARTS and eps > _FAR_ABOVE_ROUNDING


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
