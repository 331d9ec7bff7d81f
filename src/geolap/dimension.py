"""Intrinsic dimension at a scale (`geolap.neighborhoods`), and the scales at which it can be seen.

At a bandwidth each evaluation point votes for the position of the largest gap among its local singular values
(`geolap.local_pca`).  The paper claims that ε̂ always lies where this finds the true dimension.
"""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from .data.distances import Metric, points_of
from .engines import make_engine
from .local_dimension import Surroundings
from .local_pca import largest_gap, local_singular_values, vote
from .neighborhoods import Neighborhoods
from .search_range import search_grid
from .selection import Selection
from .selectors import BandwidthSelector, resolve_bandwidth
from .shown import Carded, Plotted
from .specification import GraphSpec
from .validation import check_bandwidths, check_n_sample, check_number, check_random_state

__all__ = ["DimensionCurve", "DimensionEstimate", "dimension_curve", "dimension_range", "intrinsic_dimension"]


@dataclass(frozen=True)
class DimensionEstimate(Carded):
    """What the neighborhoods of the evaluation points say about the dimension; prints as a sentence.

    Attributes
    ----------
    neighborhoods : Neighborhoods
        All three estimates, and the number of neighbors behind them.
    selection : Selection or None
        How the bandwidth was chosen, if it was.
    """

    neighborhoods: Neighborhoods
    selection: Selection | None = field(default=None, repr=False)

    @property
    def dimension(self) -> int | None:
        """The dimension, where the estimates agree; None if it cannot be determined."""
        return self.neighborhoods.dimension

    def __str__(self) -> str:
        near = self.neighborhoods
        return f"At bandwidth {near.bandwidth:.4g}: {near.explain_neighbors()} {near.explain_dimension()}"


def intrinsic_dimension(
    X: Any,
    bandwidth: float | str | BandwidthSelector = "gc",
    *,
    n_sample: int | None = 200,
    max_dim: int = 20,
    sample_weight: Any = None,
    random_state: Any = None,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> DimensionEstimate:
    """Intrinsic dimension at one scale, or the reason why it cannot be determined there.

    Three estimates must agree: the vote for the largest gap of the local singular values, the growth of neighborhoods with
    ε, and the likelihood of the distances to nearest neighbors.  If there are too few neighbors for a tangent plane, there
    is no vote.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    bandwidth : str, float or selector, default "gc"
        A method of `select_bandwidth`, a number, or a selector.
    n_sample : int or None, default 200
        Number of random points used; None uses all.
    max_dim : int, default 20
        The largest dimension considered.
    sample_weight : array-like (n_points,), optional
        Number of points that each row represents: a point of weight 2 is the same as a point given twice.
    random_state : int, RandomState or None
    metric : str or callable, default "euclidean"
        As for `geolap.distortion`.
    n_jobs : int, optional

    Returns
    -------
    DimensionEstimate

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_torus(1500, noise=0.01, noise_dims=5, random_state=0).data
    >>> geolap.intrinsic_dimension(X, random_state=0).dimension
    2
    >>> noise = np.random.default_rng(0).standard_normal((1000, 20))
    >>> print(geolap.intrinsic_dimension(noise, random_state=0).dimension)
    None
    """
    points = points_of(X, metric, sample_weight=sample_weight)
    check_number("max_dim", max_dim, Integral, low=1)
    random_state = check_random_state(random_state)
    eps, selection = resolve_bandwidth(points, bandwidth, random_state=random_state, n_jobs=n_jobs)
    sample = check_n_sample(n_sample, len(points), random_state, least=1)
    row_sums = make_engine(points, GraphSpec(n_jobs=n_jobs)).row_sums
    return DimensionEstimate(Surroundings(points, sample, row_sums, max_dim=max_dim, n_jobs=n_jobs).at(eps), selection)


def dimension_range(
    X: Any,
    intrinsic_dim: int,
    bandwidths: Any = None,
    *,
    n_sample: int | None = 200,
    max_dim: int = 20,
    random_state: Any = None,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The bandwidths at which the largest gap of the local singular values is the d-th: where d can be seen.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    intrinsic_dim : int
        The true d.
    bandwidths : array-like, optional
        By default bandwidths in steps of ratio 2^(1/4) over the range that selectors search.
    n_sample, max_dim, random_state, metric, n_jobs
        As for `intrinsic_dimension`.

    Returns
    -------
    bandwidths : ndarray (m,)
    sees : ndarray (m,) of bool
        Whether the vote there is d.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(800, random_state=0).data
    >>> bandwidths, sees = geolap.dimension_range(X, 2, [0.01, 0.4], random_state=0)
    >>> sees.tolist()
    [False, True]
    """
    points = points_of(X, metric)
    check_number("intrinsic_dim", intrinsic_dim, Integral, low=1)
    sample = check_n_sample(n_sample, len(points), check_random_state(random_state), least=1)
    if bandwidths is None:
        engine = make_engine(points, GraphSpec(n_jobs=n_jobs))
        bandwidths = search_grid(engine, engine.nearest(sample), len(points))
    bandwidths = check_bandwidths(bandwidths)
    check_number("max_dim", max_dim, Integral, low=1)
    values = local_singular_values(points, sample, bandwidths, max(max_dim, intrinsic_dim) + 1, n_jobs=n_jobs)
    votes = np.array([vote(column) for column in largest_gap(values).T])
    return bandwidths, votes == intrinsic_dim


@dataclass(frozen=True)
class DimensionCurve(Plotted):
    """What the local singular values say about the dimension at several bandwidths.

    Attributes
    ----------
    bandwidths : ndarray (m,)
    singular_values : ndarray (m, q)
        σ_1 ≥ σ_2 ≥ …, their mean over evaluation points, in the unit of the data.
    votes : ndarray of int (m,)
        The dimension most evaluation points vote for; 0 where none has neighbors.
    shares : ndarray (m,)
        Share of the evaluation points that do.
    """

    bandwidths: np.ndarray
    singular_values: np.ndarray = field(repr=False)
    votes: np.ndarray = field(repr=False)
    shares: np.ndarray = field(repr=False)


def dimension_curve(
    X: Any,
    bandwidths: Any,
    *,
    n_sample: int | None = 50,
    max_dim: int = 20,
    random_state: Any = None,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> DimensionCurve:
    """Local singular values and the dimension they vote for, at several bandwidths.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    bandwidths : array-like (m,)
        For instance ``selection.bandwidths``.
    n_sample : int or None, default 50
        Number of random points that vote; None uses all.
    max_dim, random_state, metric, n_jobs
        As for `intrinsic_dimension`.

    Returns
    -------
    DimensionCurve

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(800, random_state=0).data
    >>> geolap.dimension_curve(X, [0.2, 0.4], random_state=0).votes.tolist()
    [2, 2]
    """
    points = points_of(X, metric)
    check_number("max_dim", max_dim, Integral, low=1)
    sample = check_n_sample(n_sample, len(points), check_random_state(random_state), least=1)
    bandwidths = np.sort(check_bandwidths(bandwidths))
    values = local_singular_values(points, sample, bandwidths, min(max_dim, points.shape[1]) + 1, n_jobs=n_jobs)
    per_point = largest_gap(values)
    votes = np.array([vote(column) for column in per_point.T])
    return DimensionCurve(bandwidths, values.mean(axis=0), votes, (per_point == votes).mean(axis=0))
