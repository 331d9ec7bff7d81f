"""What an engine is: the few operations that touch all N points.

Everything else in the package works on their small results.  An engine holds the points and knows in which unit it keeps
them; bandwidths and distances cross the seam in the unit of the data.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = [
    "NO_NEIGHBOURS",
    "Engine",
    "LocalMetrics",
    "in_unit",
    "in_unit_box",
    "median_of_some",
    "root_mean_square_distance",
    "spread_rows",
    "unit_above",
]

# A point whose neighbours weigh less than this together has H = 0: what is left of them is rounding.
NO_NEIGHBOURS = 1e-100


@dataclass(frozen=True)
class LocalMetrics:
    """What an engine finds at n evaluation points and m bandwidths.

    Attributes
    ----------
    H : ndarray (n, m, d, d)
        Dual metrics in tangent coordinates, leading direction first.
    effective : ndarray (n, m)
        Effective number of neighbours (Σ_j W_ij)² / Σ_j W_ij², the point itself counted.
    drift : ndarray (n, m)
        (2/ε_i) ‖Σ_j P_ij y_j‖ in tangent coordinates: 0 on a manifold, but for sampling noise.
    degree_error : ndarray (m,), optional
        Relative error of the degrees, if they were estimated.
    """

    H: np.ndarray
    effective: np.ndarray
    drift: np.ndarray
    degree_error: np.ndarray | None = None

    @classmethod
    def joined(cls, parts, *, axis, degree_error=None) -> "LocalMetrics":
        """Metrics of several groups of evaluation points (axis 0) or bandwidths (axis 1)."""
        H, effective, drift = (
            np.concatenate([getattr(part, name) for part in parts], axis=axis) for name in ("H", "effective", "drift")
        )
        return cls(H, effective, drift, degree_error)

    def at(self, rows) -> "LocalMetrics":
        """Those of some evaluation points, in that order."""
        return LocalMetrics(self.H[rows], self.effective[rows], self.drift[rows], self.degree_error)


class Engine(Protocol):
    """Sums over all points."""

    estimates: bool  # whether degrees are estimated, by `local_metrics` itself, instead of summed over all pairs

    def mean_distance(self) -> float:
        """Root mean square distance of all pairs: sqrt(2N/(N−1) · tr Cov), no pair is visited."""
        ...

    def nearest(self, targets: np.ndarray) -> np.ndarray:
        """Distance (n,) from each target to the nearest point that is not at the same place."""
        ...

    def row_sums(self, bandwidths: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
        """Σ_{j≠i} W_ij(ε) for the targets (all points by default) and every bandwidth (n, m), in one pass over pairs.

        The point's own weight 1 is left out, so that small sums keep their digits.
        """
        ...

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

        An engine that estimates needs no degrees.
        """
        ...


def in_unit_box(X) -> tuple[np.ndarray, float]:
    """Points in float64, about a point amid them and scaled into [−2, 2], and the scale.

    The scale is a power of two, so nothing is rounded by it; squares of the result neither overflow nor vanish, whatever
    the magnitude of the data.  The centre is a median: a far outlier must not carry it away from the others, whose digits
    would be lost.
    """
    X = np.array(X, dtype=np.float64)  # a copy, and no overflow in the arithmetic below
    low, high = X.min(axis=0), X.max(axis=0)
    center = median_of_some(X)
    half = max((0.5 * high - 0.5 * center).max(), (0.5 * center - 0.5 * low).max())
    unit = unit_above(half)
    X /= unit
    X -= center / unit
    return np.ascontiguousarray(X), unit


def spread_rows(n_points, most) -> np.ndarray:
    """At most so many row indices, evenly spread: data is often sorted, and its first rows are not like the others."""
    return np.linspace(0, n_points - 1, min(n_points, most)).astype(int)


def unit_above(half) -> float:
    """The power of two in which points up to 2·``half`` from their centre lie within [−2, 2]."""
    return float(2.0 ** np.clip(np.ceil(np.log2(half)) + 1, -1074, 1023))


def median_of_some(X) -> np.ndarray:
    """Median of each column over some hundred rows: a place amid the points."""
    return np.median(X[:: -(-len(X) // 128)], axis=0)


def in_unit(bandwidths, unit) -> np.ndarray:
    """Bandwidths in that unit, none so extreme that its square would leave the range of floating-point numbers."""
    return np.clip(np.asarray(bandwidths, dtype=float) / unit, 1e-150, 1e150)


def root_mean_square_distance(X) -> float:
    """sqrt(mean over pairs of ‖x_i − x_j‖²), in closed form."""
    return float(np.sqrt(2.0 * len(X) / (len(X) - 1) * X.var(axis=0).sum()))
