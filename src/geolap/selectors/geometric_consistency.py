"""GC and GC⁻¹: the bandwidth at which the Laplacian's metric agrees with the data's, for the graph in question."""

from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..consistency import Consistency
from ..data.distances import Distances
from ..data.points import Points, spread_rows
from ..evaluation import checked_problem
from ..graphs.skeleton import Skeleton, skeleton_of
from ..judgment import LOOKED_AT, remarks_on, without_guess
from ..least_distortion import least_distortion
from ..local_dimension import Surroundings
from ..runtime.threads import one_blas_thread
from ..search_range import MAX_SHARE
from ..selection import Selection
from ..specification import GraphSpec, LocalScaleLike
from ..validation import check_choice, check_n_sample, check_number, check_random_state
from .base import BandwidthSelector

__all__ = ["FEWER_SAMPLE", "FIRST_SAMPLE", "GeometricConsistency"]

# Evaluation points of the scan, and the most that are asked where minima compete, with ``n_sample="auto"``.
FIRST_SAMPLE, _MOST_SAMPLE = 100, 5000
# Up to this many points all are evaluation points, and beyond the second, where neighborhoods are large, they are fewer.
_FEW_POINTS, _MANY_POINTS, FEWER_SAMPLE = 500, 100_000, 1200


@dataclass(eq=False, repr=False)
class GeometricConsistency(BandwidthSelector):
    """Choose the kernel bandwidth by geometric self-consistency.

    Minimizes the mean over evaluation points of ‖H_i(ε) − I‖, where H_i is the dual metric that the graph Laplacian
    implies in tangent coordinates at x_i (see `geolap.distortion`).

    The scan covers bandwidths from ε_min to ε_max in steps of ratio 2^(1/4); competing minima are then refined to 0.5 %.
    During refinement the degrees of the points are interpolated between scanned bandwidths, which changes D by less than one
    part in a thousand (`tests/test_geometric_consistency.py`); everything else is exact.

    Beyond 30 000 points on a CPU, there are too many pairs to visit at every bandwidth.  The rows of the evaluation points
    are still complete (a stratified sample only if a neighborhood has more than about 4000 to 8000 points), but the degrees
    d_j, a smooth correction for density, are estimated from cells of points, as finely as D(ε) requires;
    ``selection_.details["degree_error"]`` has their error.  Minima are then refined to 1 %, and ε̂ stays within a few percent
    of the exact one (`docs/benchmarks.md`).  ``exact=True`` visits all pairs at any cost.

    Parameters
    ----------
    working_dim : int or "auto", default "auto"
        d', the number of tangent directions compared.  "auto" compares as many as most points see at the resulting ε̂, or
        one, the most stable choice, if that cannot be determined.  ``selection_.details["working_dim"]`` is the number.
    dual : bool, default True
        Compare H with the identity (the paper's GC); False compares H⁻¹ (GC⁻¹).
    n_sample : int, "auto" or None, default "auto"
        Number of random evaluation points, at least 2; None uses all.  "auto" scans with 100 and adds more only where minima
        compete, until ε̂ is within about 4 % or D within 0.2 % of the lowest, at most 5000 (1200 beyond 100 000 points).
        ``selection_.details["sample"]`` has the points that were used.  They are weighted by ``sample_weight``.
    rule : {"global", "first"}, default "global"
        Take the lowest minimum, or the smallest bandwidth that is a minimum by more than noise.
    max_share : float, default 0.2
        Bound on locality: the search ends where the median effective neighborhood has this share of all points (but at least
        four points).  At the scale of the whole data set H passes through the identity once more, although nothing local is
        measured.
    cutoff : float, optional
        Weights beyond ``cutoff``·ε are zero.
    engine : {"auto", "tiled", "dense", "device", "cells"}, default "auto"
        Points on a GPU (a torch tensor or a CuPy array) are processed there.
    random_state : int, RandomState or None
        Chooses the evaluation points and the resamples behind the interval.
    squared : bool, default False
        Average squared norms.
    renormalization : float, optional
        λ of the Laplacian; by default 1, or that of the estimator that uses this selector.
    drift : float, default 0.0
        Weight of the drift Σ_j L_ij y_j, another moment that vanishes on a manifold up to sampling noise.  0 chooses ε for
        the spectrum of L (maps, clusters, labels), 1 a larger one for L applied to functions point by point
        (`docs/reproduction.md` has the evidence).
    n_neighbors : int, optional
        Select for the graph that joins each point with its k nearest neighbors, rather than all pairs.
    neighbors : transformer or matrix (n_points, n_points), optional
        Select for the graph of the pairs stored in this matrix of distances, or found by the transformer (scikit-learn's
        KNeighborsTransformer, or another one that returns such a matrix).
    local_scale : int, "regional" or LocalScale, optional
        Local bandwidths ε ρ_i: ρ from the relative distance to the k-th neighbor (`geolap.neighbor_scale`), from geometric
        consistency in each region (`geolap.regional_scale`), or as given.  ε̂ is then the bandwidth where ρ = 1.
    exact : bool, default False
        Visit all pairs, however many points there are.
    metric : str or callable, optional
        Distance between points: "cosine", "correlation", another metric of scikit-learn's ``pairwise_distances``, a
        function of two rows, or "precomputed" with a matrix of distances as X, dense, or sparse with those to nearest
        neighbors.  By default Euclidean, or that of the estimator that uses this selector.
    n_jobs : int, optional
        Number of threads; None and −1 mean all available cores.  Does not change the result.
    verbose : bool or int, default False
        Write the ``logging`` records of "geolap", with the time, to standard error.

    Attributes
    ----------
    bandwidth_ : float
        ε̂
    selection_ : Selection
        The curve, all minima, an interval, a verdict on what ε̂ is good for, and the reasons in words.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X had column names.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_torus(800, random_state=0).data
    >>> gc = geolap.GeometricConsistency(random_state=0).fit(X)
    >>> round(gc.bandwidth_, 1), gc.selection_.details["working_dim"]
    (0.7, 2)
    >>> gc.selection_.verdict.name
    'RESOLVED'
    """

    keeps_device: ClassVar[bool] = True
    needs_all_pairs: ClassVar[bool] = False

    working_dim: int | str = "auto"
    dual: bool = True
    _: KW_ONLY
    n_sample: int | str | None = "auto"
    rule: str = "global"
    max_share: float = MAX_SHARE
    squared: bool = False
    drift: float = 0.0
    renormalization: float | None = None
    cutoff: float | None = None
    n_neighbors: int | None = None
    neighbors: Any = None
    local_scale: LocalScaleLike = None
    exact: bool = False
    engine: str = "auto"
    random_state: Any = None

    def select(self, points: Points, y: Any = None, *, skeleton: Skeleton | None = None) -> Selection:
        """The selection for checked points; for the graph of an estimator if its ``skeleton`` is given."""
        check_choice("rule", self.rule, ("global", "first"))
        check_number("max_share", self.max_share, low=0, high=1, open_low=True)
        random_state = check_random_state(self.random_state)
        sample, n_first = self._evaluation_points(len(points), random_state)
        if skeleton is None:
            skeleton = skeleton_of(points, GraphSpec.of(self), random_state=random_state)
        else:
            skeleton = replace(skeleton, spec=GraphSpec.of(self).within(skeleton.spec))
        problem = self.problem(points, skeleton, sample)
        with one_blas_thread:  # once, rather than in every step
            selection = least_distortion(
                problem,
                points.total,
                n_first=n_first,
                neighborhoods=cache(
                    Surroundings(
                        points,
                        sample[spread_rows(len(sample), LOOKED_AT)],
                        problem.engine.row_sums,
                        rho=None if skeleton.scale is None else skeleton.scale.rho,
                        most=skeleton.most_neighbors,
                        n_jobs=skeleton.spec.n_jobs,
                    ).at
                ),
                any_directions=self.working_dim == "auto",
                rule=self.rule,
                max_share=self.max_share,
                smooth_sums=skeleton.spec.cutoff is None and skeleton.pairs is None,
                random_state=random_state,
            )
        share = points.negative_share if isinstance(points, Distances) else None
        selection = replace(
            selection,
            remarks=remarks_on(points),
            details=selection.details | ({} if share is None else {"negative_share": share}),
        )
        return without_guess(selection, len(sample), len(points))

    def problem(self, points: Points, skeleton: Skeleton, sample: np.ndarray) -> Consistency:
        """The distortion that is minimized, as a function of ε."""
        return checked_problem(
            points,
            skeleton,
            sample,
            working_dim=1 if self.working_dim == "auto" else self.working_dim,
            dual=self.dual,
            squared=self.squared,
            drift=self.drift,
        )

    def _evaluation_points(self, n_points: int, random_state: np.random.RandomState) -> tuple[np.ndarray, int | None]:
        """Evaluation points in the order in which they are asked, and how many are asked at every bandwidth."""
        if self.n_sample != "auto":
            return check_n_sample(self.n_sample, n_points, random_state), None
        if n_points <= _FEW_POINTS:
            return np.arange(n_points), None
        most = _MOST_SAMPLE if n_points <= _MANY_POINTS else FEWER_SAMPLE
        return random_state.choice(n_points, min(n_points, most), replace=False), FIRST_SAMPLE
