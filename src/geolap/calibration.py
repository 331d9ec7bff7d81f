"""Calibration: what a graph's Laplacian must be divided by, and how its eigenvalues become those of the manifold.

Three things move the eigenvalues of −L = (4/ε²)(I − P) away from those of −Δ.  Each has its own cure.

- *The weight of the point itself* moves every eigenvalue μ of P toward 1.  It is left out (``self_weights=False``).
- *A finite step.*  P is close to the heat operator exp(ε²Δ/4), so μ stands for λ = −(4/ε²) log μ.  The linear (4/ε²)(1 − μ)
  is low by a share of ε²λ/8.
- *The length of a step.*  A kernel that ends at the k-th neighbor, or that follows the chords of a curved manifold, takes
  steps that are shorter or longer than those of the heat operator; and where few neighbors are uneven, steps that are long
  here and short there go less far than their mean.

The last is a single factor c, and the metric of the data tells it.  Δ‖x − x_i‖² = 2d at x_i on any manifold of dimension d,
which is what the trace of the dual metric compares with L for *one* step (equation 4 of the paper).  Here the walk takes t:

.. math:: m(t) = \\mathrm{mean}_i Σ_j (P^t)_{ij} ‖x_j - x_i‖^2, \\qquad
          c = \\lim_{t → 0} \\frac{2}{d ε^2} \\frac{dm}{dt} \\text{, from steps } t ≥ 2

Later steps see what a single one cannot: how far uneven neighborhoods let the walk get (its first step is too long by a
seventh among 15 neighbors), and steps along the data alone, since noise adds to m(1) and hardly to later differences.  They
also see curvature, which lowers m at later times by a factor e^{−κt}.  Extrapolation to t = 0 removes it: on spheres of any
dimension and on flat tori log μ and c are then both right up to ε⁴.
"""

from dataclasses import dataclass, field

import numpy as np

from .sentences import Sentence

__all__ = ["Calibration", "heat_eigenvalues"]

# 1 − μ up to which the logarithm is taken; beyond, where no heat operator is near, its tangent.
_MOST_LOSS = 0.75
# Directions that fewer points than this see in one step are below the scale of the noise.
_SEEN = 0.5


@dataclass(frozen=True)
class Calibration:
    """The scale of a graph's Laplacian, measured on the data.

    Attributes
    ----------
    factor : float
        c: L/c has the right scale.  1 if c cannot be determined.
    standard_error : float
        Of c over evaluation points; NaN if no directions stand out.
    step : float
        The same factor for one step: H, and with it lengths and areas on a map, is divided by it.
    dimension : int or None
        d, the number of tangent directions compared; None if no number stands out for most points.
    share : float
        Share of the evaluation points that see d directions.
    share_near : float
        Share of them that see d directions in only one step.
    rates : ndarray (t,)
        (2/dε²)(m(t) − m(t − 1)) for t = 1, 2, …
    reach : float or None
        Share of all points that one step reaches, where that is too many to tell a length.
    """

    factor: float
    standard_error: float
    step: float
    dimension: int | None
    share: float
    share_near: float
    rates: np.ndarray = field(repr=False)
    reach: float | None = None

    @property
    def told(self) -> bool:
        """Whether there is a factor."""
        return self.dimension is not None

    @property
    def noisy(self) -> bool:
        """Whether the neighbors of most points reach no farther than the noise."""
        return self.told and self.share_near < _SEEN

    def explain(self) -> Sentence:
        """The factor in words."""
        if self.standard_error > 0 and not self.told:
            return Sentence(
                "The calibration factor varies too much between points to be estimated (too few points, or distant "
                "outliers); eigenvalues are left uncalibrated."
            )
        if self.reach is not None:
            return Sentence(
                "One step of a walk on the graph reaches {reach:.0%} of the points, so it cannot tell a length; eigenvalues "
                "are left uncalibrated: use a smaller {bandwidth}.",
                reach=self.reach,
            )
        if not self.told:
            return Sentence(
                "The points do not agree on a number of directions ({share:.0%} agree), so there is no length to calibrate "
                "by; eigenvalues are left uncalibrated.",
                share=self.share,
            )
        if self.noisy:
            return Sentence(
                "The neighbors of most points reach no farther than the noise: only {near:.0%} of the points see {d} "
                "directions among them. Eigenvalues are divided by {c:.2f} ± {error:.2f}, measured over many steps, and "
                "may still be off: use more neighbors, or all pairs.",
                near=self.share_near,
                d=self.dimension,
                c=self.factor,
                error=self.standard_error,
            )
        return Sentence(
            "A walk on the graph goes {c:.3f} ± {error:.3f} times as far as diffusion on the data, in {d} directions (mean "
            "square): the Laplacian is divided by this factor.",
            c=self.factor,
            error=self.standard_error,
            d=self.dimension,
        )


def heat_eigenvalues(eigenvalues: np.ndarray, step: float) -> np.ndarray:
    """−log(1 − sλ)/s of eigenvalues λ = (1 − μ)/s for a step of length s in time: exact if P is the heat operator.

    Monotone everywhere: where sλ > 0.75, and no heat operator is near, the logarithm goes on as its tangent.
    """
    loss = step * np.asarray(eigenvalues)
    near = np.minimum(loss, _MOST_LOSS)
    return (-np.log1p(-near) + (loss - near) / (1.0 - _MOST_LOSS)) / step
