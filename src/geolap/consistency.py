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

from .engines import Engine, make_engine
from .graphs.neighbors import find_pairs
from .metric import departure
from .scale import resolve_scale
from .validation import check_bandwidths, check_choice, check_number, check_points, check_sample, check_working_dim

__all__ = ["Consistency", "DistortionCurve", "distortion"]


@dataclass(frozen=True)
class DistortionCurve:
    """D(ε) and what it is the mean of.

    Attributes
    ----------
    bandwidths : ndarray (m,)
    mean : ndarray (m,)
        D(ε)
    per_point : ndarray (n_sample, m)
        ‖H_i(ε) − I‖
    sample : ndarray (n_sample,)
        Row indices of the evaluation points.
    effective_neighbors : ndarray (n_sample, m)
        (Σ_j W_ij)² / Σ_j W_ij², the point itself counted.
    degree_error : ndarray (m,) or None
        Relative error of the degrees d_j behind D, if they were estimated: D is high by less than a hundredth as long as
        this is below D/2.
    """

    bandwidths: np.ndarray
    mean: np.ndarray = field(init=False)
    per_point: np.ndarray = field(repr=False)
    sample: np.ndarray = field(repr=False)
    effective_neighbors: np.ndarray = field(repr=False)
    degree_error: np.ndarray | None = field(repr=False, default=None)

    def __post_init__(self):
        object.__setattr__(self, "mean", self.per_point.mean(axis=0))


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

    def curve(self, bandwidths, neighbor_sums=None) -> DistortionCurve:
        """D at the bandwidths; ``neighbor_sums`` (N, m), the row sums of W without the diagonal, if already known."""
        if neighbor_sums is None and not self.engine.estimates:
            neighbor_sums = self.engine.row_sums(bandwidths)
        local = self.engine.local_metrics(
            self.sample,
            bandwidths,
            None if neighbor_sums is None else 1.0 + neighbor_sums,
            working_dim=self.working_dim,
            renormalization=self.renormalization,
        )
        per_point = departure(local.H, dual=self.dual)
        if self.drift:
            length = self.engine.mean_distance() / np.sqrt(2.0)
            per_point = np.hypot(per_point, self.drift * length * 2.0 / bandwidths * local.drift)
        if self.squared:
            with np.errstate(over="ignore"):
                per_point = per_point**2
        return DistortionCurve(bandwidths, per_point, self.sample, local.effective, local.degree_error)


def distortion(
    X,
    bandwidths,
    working_dim=1,
    sample=None,
    dual=True,
    cutoff=None,
    random_state=None,
    *,
    squared=False,
    renormalization=1.0,
    drift=0.0,
    n_neighbors=None,
    neighbors=None,
    local_scale=None,
    exact=False,
    engine="auto",
    n_jobs=None,
):
    """Distortion D(ε) between the metric implied by the graph Laplacian and that of the data.

    .. math:: D(ε) = \\frac{1}{N'} Σ_i ‖H_i(ε) - I‖, \\qquad H_i = \\frac{2}{ε^2} Σ_j P_{ij} y_j y_j^T

    Parameters
    ----------
    X : array-like (n_points, n_features)
    bandwidths : float or array-like (m,)
        ε of exp(−d²/ε²), in the unit of the data.  A grid of ratio √2 or 2^(1/4) is fastest.
    working_dim : int, default 1
        d', the number of tangent directions compared.
    sample : None, int or array-like of int
        Evaluation points: all, that many at random, or those with the given indices.
    dual : bool, default True
        Compare H with I (GC); False compares H⁻¹ (GC⁻¹), for which an isolated point is infinitely far off.
    cutoff : float, optional
        Weights beyond ``cutoff``·ε are zero.  By default none are.
    random_state : int, RandomState or None
        Chooses the evaluation points when ``sample`` is a number.
    squared : bool, default False
        Average squared norms.
    renormalization : float, default 1.0
        λ, the power of the degrees divided out of the weights.
    drift : float, default 0.0
        Weight of the drift Σ_j L_ij y_j, another moment that vanishes on a manifold; 1 suits L applied point by point.
    n_neighbors : int, optional
        Count only pairs of which one is among the nearest so many of the other.  By default all pairs count.
    neighbors : transformer or matrix (n_points, n_points), optional
        Count only the pairs whose distances this matrix stores, or the transformer finds.
    local_scale : int or LocalScale, optional
        Let the bandwidth vary as ε ρ_i, with ρ_i the relative distance to so many-th neighbor, or as given.
    exact : bool, default False
        Visit all pairs, however many points there are.  By default, beyond 30 000 points on a CPU, the degrees behind D are
        estimated (`geolap.engines.cells` says how; ``degree_error`` how well).
    engine : {"auto", "tiled", "dense", "device", "cells"}
        How the sums are done; all but "cells" are exact.  Points on a GPU stay there ("device").
    n_jobs : int, optional
        By default every core that the process may use.

    Returns
    -------
    DistortionCurve

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(500, random_state=0).data
    >>> curve = geolap.distortion(X, [0.1, 0.4, 1.6], working_dim=2, sample=100, random_state=0)
    >>> float(curve.bandwidths[curve.mean.argmin()])
    0.4

    References
    ----------
    Perrault-Joncas & Meilă, Improved Graph Laplacian via Geometric Self-Consistency, arXiv:1406.0118.
    """
    X = check_points(X, keep_device=True)
    working_dim = check_working_dim(working_dim, X)
    bandwidths = check_bandwidths(bandwidths)
    check_number("renormalization", renormalization, low=0, high=10)
    check_number("drift", drift, low=0)
    check_choice("dual", dual, (True, False))
    check_choice("squared", squared, (True, False))
    sample = check_sample(sample, len(X), random_state)
    problem = Consistency(
        make_engine(
            X,
            engine,
            exact=exact,
            cutoff=cutoff,
            n_jobs=n_jobs,
            scale=resolve_scale(X, local_scale, n_jobs=n_jobs),
            pairs=find_pairs(X, n_neighbors=n_neighbors, neighbors=neighbors, n_jobs=n_jobs),
        ),
        sample,
        working_dim,
        dual,
        squared,
        renormalization,
        drift,
    )
    return problem.curve(bandwidths)
