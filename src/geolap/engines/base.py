"""The interface of an engine: the few operations that touch all N points.

Everything else in the package works on their small results.  An engine holds the points in a unit of its own; bandwidths
and distances go in and out in the unit of the data.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.multiplicity import own_weight
from ..laplacian import LocalScale, density_weights

__all__ = ["NO_NEIGHBORS", "Engine", "ExactEngine", "LocalMetrics"]

# A point whose neighbors weigh less than this together has H = 0: such weights are rounding errors.
NO_NEIGHBORS = 1e-100


@dataclass(frozen=True)
class LocalMetrics:
    """The results of an engine at n evaluation points and m bandwidths.

    Attributes
    ----------
    H : ndarray (n, m, d, d)
        Dual metrics in tangent coordinates, leading direction first.
    effective : ndarray (n, m)
        Effective number of neighbors (Σ_j W_ij)² / Σ_j W_ij², including the point itself and its copies.
    drift : ndarray (n, m)
        (2/ε_i) ‖Σ_j P_ij y_j‖ in tangent coordinates: 0 on a manifold, up to sampling noise.
    degree_error : ndarray (m,), optional
        Relative error of the degrees, if they were estimated.
    """

    H: np.ndarray
    effective: np.ndarray
    drift: np.ndarray
    degree_error: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: Sequence["LocalMetrics"], *, axis: int, degree_error: np.ndarray | None = None) -> "LocalMetrics":
        """Metrics of several groups of evaluation points (axis 0) or bandwidths (axis 1)."""
        H, effective, drift = (
            np.concatenate([getattr(part, name) for part in parts], axis=axis) for name in ("H", "effective", "drift")
        )
        return cls(H, effective, drift, degree_error)

    def at(self, rows: np.ndarray) -> "LocalMetrics":
        """The metrics of some evaluation points, in that order."""
        return LocalMetrics(self.H[rows], self.effective[rows], self.drift[rows], self.degree_error)


class Engine(ABC):
    """Sums over all points."""

    estimates = False  # whether degrees are estimated, by `local_metrics` itself, instead of summed over all pairs
    directions_at_once = 1  # how many directions take no longer than one
    scans_long = False  # whether many bandwidths take seconds, and longer in more directions
    multiplicity: np.ndarray | None = None  # weights of the points, which every sum over points has; None if all are 1

    @abstractmethod
    def mean_distance(self) -> float:
        """Root mean square distance of all pairs, sqrt(2N/(N−1) · tr Cov), without visiting any pair."""

    @abstractmethod
    def nearest(self, targets: np.ndarray) -> np.ndarray:
        """Distance (n,) from each target to the nearest point at another place."""

    @abstractmethod
    def row_sums(self, bandwidths: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
        """Σ_{j≠i} W_ij(ε) for the targets (all points by default) and every bandwidth (n, m), in one pass over pairs.

        The point's own weight is left out, so that small sums keep their digits; its copies are not.
        """

    @abstractmethod
    def local_metrics(
        self,
        sample: np.ndarray,
        bandwidths: np.ndarray,
        degrees: np.ndarray | None,
        *,
        working_dim: int,
        renormalization: float = 1.0,
    ) -> LocalMetrics:
        """Tangent bases and dual metrics at the evaluation points, from the degrees (N, m) of all points.

        An engine that estimates degrees does not need them.
        """


class ExactEngine(Engine):
    """An engine that sums degrees over all its pairs, and turns them into density weights (N, m) here."""

    _scale: LocalScale | None

    @abstractmethod
    def _metrics(self, sample: np.ndarray, bandwidths: np.ndarray, density: Any, dim: int) -> LocalMetrics: ...

    def local_metrics(
        self,
        sample: np.ndarray,
        bandwidths: np.ndarray,
        degrees: np.ndarray | None,
        *,
        working_dim: int,
        renormalization: float = 1.0,
    ) -> LocalMetrics:
        if degrees is None:
            degrees = own_weight(self.multiplicity) + self.row_sums(bandwidths)
        density = density_weights(self._there(degrees), renormalization=renormalization, scale=self._scale)
        return self._metrics(sample, bandwidths, density, working_dim)

    def _there(self, degrees: np.ndarray) -> Any:
        """Numbers (N, m) where the engine computes with them."""
        return degrees
