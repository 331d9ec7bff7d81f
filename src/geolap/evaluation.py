"""The distortion D(ε) of a data set as a function: points and bandwidths in, a curve out."""

from typing import Any

import numpy as np

from .consistency import Consistency, DistortionCurve
from .data.distances import Metric, points_of
from .data.points import Points
from .graphs.skeleton import Skeleton, skeleton_of
from .specification import GraphSpec, LocalScaleLike
from .validation import check_bandwidths, check_choice, check_n_sample, check_number, check_sample, check_working_dim

__all__ = ["checked_problem", "distortion"]


def distortion(
    X: Any,
    bandwidths: Any,
    *,
    working_dim: int = 1,
    n_sample: int | None = None,
    sample: Any = None,
    sample_weight: Any = None,
    dual: bool = True,
    squared: bool = False,
    drift: float = 0.0,
    renormalization: float = 1.0,
    cutoff: float | None = None,
    n_neighbors: int | None = None,
    neighbors: Any = None,
    local_scale: LocalScaleLike = None,
    metric: Metric = "euclidean",
    exact: bool = False,
    engine: str = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> DistortionCurve:
    """Distortion D(ε) between the metric implied by the graph Laplacian and that of the data.

    .. math:: D(ε) = \\frac{1}{N'} Σ_i ‖H_i(ε) - I‖, \\qquad H_i = \\frac{2}{ε^2} Σ_j P_{ij} y_j y_j^T

    Parameters
    ----------
    X : array-like (n_points, n_features)
    bandwidths : float or array-like (m,)
        ε of exp(−d²/ε²), in the unit of the data.  A grid of ratio √2 or 2^(1/4) is fastest.
    working_dim : int, default 1
        d', the number of tangent directions compared.
    n_sample : int or None, default None
        Number of random evaluation points; None uses all.
    sample : array-like of int, optional
        Row indices of the evaluation points, instead of random ones.
    sample_weight : array-like (n_points,), optional
        Number of points that each row represents: a point of weight 2 is the same as a point given twice.
    dual : bool, default True
        Compare H with I (GC); False compares H⁻¹ (GC⁻¹), for which an isolated point is infinitely far off.
    cutoff : float, optional
        Weights beyond ``cutoff``·ε are zero.  By default none are.
    random_state : int, RandomState or None
        Chooses the evaluation points.
    squared : bool, default False
        Average squared norms.
    renormalization : float, default 1.0
        λ, the power of the degrees divided out of the weights.
    drift : float, default 0.0
        Weight of the drift Σ_j L_ij y_j, another moment that vanishes on a manifold; 1 suits L applied point by point.
    n_neighbors : int, optional
        Use only pairs in which one point is among the k nearest neighbors of the other.  By default all pairs count.
    neighbors : transformer or matrix (n_points, n_points), optional
        Use only the pairs stored in this matrix of distances, or found by the transformer.
    local_scale : int, "regional" or LocalScale, optional
        Local bandwidths ε ρ_i: ρ from the relative distance to the k-th neighbor (`geolap.neighbor_scale`), from geometric
        consistency in each region (`geolap.regional_scale`), or as given.
    metric : str or callable, default "euclidean"
        Distance between points: "cosine", "correlation", another metric of scikit-learn's ``pairwise_distances``, a
        function of two rows, or "precomputed" with a matrix of distances as X.
    exact : bool, default False
        Visit all pairs, regardless of the number of points.  By default, beyond 30 000 points on a CPU, the degrees behind D
        are estimated (`geolap.engines.cells` explains how; ``degree_error`` is their error).
    engine : {"auto", "tiled", "dense", "device", "cells"}, default "auto"
        How the sums are computed; all except "cells" are exact.  Points on a GPU stay there ("device").
    n_jobs : int, optional
        Number of threads; None and −1 mean all available cores.

    Returns
    -------
    DistortionCurve

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(500, random_state=0).data
    >>> curve = geolap.distortion(X, [0.1, 0.4, 1.6], working_dim=2, n_sample=100, random_state=0)
    >>> float(curve.bandwidths[curve.mean.argmin()])
    0.4

    References
    ----------
    Perrault-Joncas & Meilă, Improved Graph Laplacian via Geometric Self-Consistency, arXiv:1406.0118.
    """
    points = points_of(X, metric, keep_device=True, sample_weight=sample_weight)
    bandwidths = check_bandwidths(bandwidths)
    spec = GraphSpec(
        renormalization=renormalization,
        cutoff=cutoff,
        n_neighbors=n_neighbors,
        neighbors=neighbors,
        local_scale=local_scale,
        metric=metric,
        exact=exact,
        engine=engine,
        n_jobs=n_jobs,
    )
    rows = (
        check_n_sample(n_sample, len(points), random_state, least=1) if sample is None else check_sample(sample, len(points))
    )
    skeleton = skeleton_of(points, spec, random_state=random_state)
    problem = checked_problem(points, skeleton, rows, working_dim=working_dim, dual=dual, squared=squared, drift=drift)
    return problem.curve(bandwidths)


def checked_problem(
    points: Points, skeleton: Skeleton, sample: np.ndarray, *, working_dim: Any, dual: bool, squared: bool, drift: float
) -> Consistency:
    """The distortion over a skeleton as a function of ε, its parameters checked."""
    check_number("drift", drift, low=0)
    check_choice("dual", dual, (True, False))
    check_choice("squared", squared, (True, False))
    return Consistency(
        engine=skeleton.engine(points),
        sample=sample,
        working_dim=check_working_dim(working_dim, points),
        dual=dual,
        squared=squared,
        renormalization=skeleton.spec.renormalization,
        drift=drift,
    )
