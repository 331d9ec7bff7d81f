"""Geometric consistency: how far the metric implied by the Laplacian is from the metric of the data.

.. math:: D(ε) = \\frac{1}{N'} Σ_i ‖H_i(ε) - I‖

over N' evaluation points, with all N points in every sum (equation 7 and Algorithm 3 of the paper).  ``dual=False``
compares H⁻¹ instead (the paper's GC⁻¹), ``squared=True`` squares the norm, as Algorithm 3 does.

With a weight w for the drift (`geolap.metric`) the mean is over √(‖H_i − I‖² + (w ℓ ‖Σ_j L_ij y_j‖)²) instead, ℓ being the
root mean square distance from the center: at the ε that makes this least, L is best applied to functions point by point.

An isolated point has H = 0 and counts with 1.  It is never left out of the mean: that would reward tiny bandwidths.
"""

from dataclasses import dataclass, field

import numpy as np

from .data.multiplicity import own_weight, weights_at
from .engines import Engine, LocalMetrics
from .metric import departure

__all__ = ["Consistency", "DistortionCurve"]


@dataclass(frozen=True)
class DistortionCurve:
    """D(ε) and its value at each evaluation point.

    Attributes
    ----------
    bandwidths : ndarray (m,)
    mean : ndarray (m,)
        D(ε)
    per_point : ndarray (n_sample, m)
        ‖H_i(ε) − I‖; of the inverse of H_i (``dual=False``) infinite where a point has no neighbors.
    sample : ndarray (n_sample,)
        Row indices of the evaluation points.
    effective_neighbors : ndarray (n_sample, m)
        (Σ_j W_ij)² / Σ_j W_ij², including the point itself.
    degree_error : ndarray (m,) or None
        Relative error of the degrees d_j behind D, if they were estimated: D is too high by less than a hundredth as long as
        this is below D/2.
    weights : ndarray (n_sample,) or None
        Weights of the evaluation points in the mean, if points have weights.
    """

    bandwidths: np.ndarray
    mean: np.ndarray = field(init=False)
    per_point: np.ndarray = field(repr=False)
    sample: np.ndarray = field(repr=False)
    effective_neighbors: np.ndarray = field(repr=False)
    degree_error: np.ndarray | None = field(repr=False, default=None)
    weights: np.ndarray | None = field(repr=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", np.average(self.per_point, axis=0, weights=self.weights))


@dataclass(frozen=True)
class Consistency:
    """The distortion as a function of the bandwidth, for fixed points, evaluation points and parameters."""

    engine: Engine
    sample: np.ndarray
    working_dim: int = 1
    dual: bool = True
    squared: bool = False
    renormalization: float = 1.0
    drift: float = 0.0

    def curve(self, bandwidths: np.ndarray, neighbor_sums: np.ndarray | None = None) -> DistortionCurve:
        """D at the bandwidths; ``neighbor_sums`` (N, m), the row sums of W without the diagonal, if already known."""
        return self.curve_from(self.metrics(bandwidths, neighbor_sums), bandwidths)

    def metrics(self, bandwidths: np.ndarray, neighbor_sums: np.ndarray | None = None) -> LocalMetrics:
        """What D is computed from."""
        return self.engine.local_metrics(
            self.sample,
            bandwidths,
            None if neighbor_sums is None else own_weight(self.engine.multiplicity) + neighbor_sums,
            working_dim=self.working_dim,
            renormalization=self.renormalization,
        )

    def curve_from(self, local: LocalMetrics, bandwidths: np.ndarray) -> DistortionCurve:
        """D from the metrics of the evaluation points, in as many directions, at the bandwidths."""
        per_point = departure(local.H, dual=self.dual)
        if self.drift:
            length = self.engine.mean_distance() / np.sqrt(2.0)
            per_point = np.hypot(per_point, self.drift * length * 2.0 / bandwidths * local.drift)
        if self.squared:
            with np.errstate(over="ignore"):
                per_point = per_point**2
        return DistortionCurve(bandwidths, per_point, self.sample, local.effective, local.degree_error, self.weights)

    @property
    def weights(self) -> np.ndarray | None:
        """What evaluation points count for; None if all count the same."""
        return weights_at(self.engine.multiplicity, self.sample)
