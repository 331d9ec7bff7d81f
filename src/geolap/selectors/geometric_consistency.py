"""GC and GC⁻¹: the bandwidth at which the Laplacian's metric agrees with the data's.

.. math:: \\hat ε = \\arg\\min_ε D(ε)

(equation 8 of the paper) within the range from ε_min, where nearly all points have lost their neighbors, to
ε_max, the root mean square distance, and below the bound on locality.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from ..consistency import Consistency
from ..engines import make_engine
from ..graphs.neighbors import find_pairs
from ..scale import resolve_scale
from ..search import ROUGH_TOLERANCE, TOLERANCE, Curve, choose, minima_of, refine, resampled_interval
from ..selection import Selection, Status
from ..validation import check_choice, check_n_sample, check_number, check_working_dim
from .base import BandwidthSelector, falls_apart, locality_bound, search_grid

__all__ = ["GRAPH_PARAMETERS", "GeometricConsistency", "same_setting"]

# Parameters that say which graph the bandwidth is for.
GRAPH_PARAMETERS = ("renormalization", "cutoff", "n_neighbors", "neighbors", "local_scale")


def same_setting(one, other):
    """Whether two values of a parameter are the same; matrices and scales are only if they are one object."""
    return one is other or (np.isscalar(one) and np.isscalar(other) and one == other)


class GeometricConsistency(BandwidthSelector):
    """Choose the kernel bandwidth by geometric self-consistency.

    Minimizes the mean over evaluation points of ‖H_i(ε) − I‖, where H_i is the dual metric that the graph Laplacian
    implies in tangent coordinates at x_i (see `geolap.distortion`).

    The scan covers every bandwidth of ratio 2^(1/4) from ε_min to ε_max; every local minimum is then pinned down to
    0.5 %.  During that refinement the degrees of the points are interpolated between scanned bandwidths, which changes D by
    less than one part in a thousand (`tests/test_geometric_consistency.py`); all else is exact.

    Beyond 30 000 points on a CPU, pairs are too many to be visited at every bandwidth.  The rows of the evaluation points
    are then still complete (a stratified sample only where a neighborhood holds more than some 4000 to 8000 points), but
    the degrees d_j, a smooth correction for density, are estimated from cells of points, as finely as D(ε) itself asks for;
    ``selection_.details["degree_error"]`` has their error.  Minima are then pinned down to 1 %, and ε̂ stays within a few per
    cent of the exact one (`docs/benchmarks.md`).  ``exact=True`` visits all pairs whatever it costs.

    Parameters
    ----------
    working_dim : int, default 1
        d', the number of tangent directions compared.  1 is the most stable.
    dual : bool, default True
        Compare H with the identity (the paper's GC); False compares H⁻¹ (GC⁻¹).
    n_sample : int or None, default 200
        Number of random evaluation points, at least 2; None takes all.
    rule : {"global", "first"}, default "global"
        Take the lowest minimum, or the smallest bandwidth that is a minimum by more than noise.
    max_share : float, default 0.2
        Bound on locality: the search ends where the median effective neighborhood holds this share of all points (but not
        before it holds four points).  At
        the scale of the whole data set H passes through the identity once more although nothing local is measured.
    cutoff : float, optional
        Weights beyond ``cutoff``·ε are zero.
    engine : {"auto", "tiled", "dense", "device", "cells"}, default "auto"
        Points on a GPU (a torch tensor or a CuPy array) are worked on there.
    random_state : int, RandomState or None
        Chooses the evaluation points and the resamples behind the interval.
    squared : bool, default False
        Average squared norms.
    renormalization : float, default 1.0
        λ of the Laplacian.
    drift : float, default 0.0
        Weight of the drift Σ_j L_ij y_j, another moment that vanishes on a manifold but for sampling noise.  0 chooses ε for
        the spectrum of L (maps, clusters, labels), 1 a larger one for L applied to functions point by point
        (`docs/reproduction.md` has the evidence).
    n_neighbors : int, optional
        Select for the graph that joins each point with its nearest so many, rather than all pairs.
    neighbors : transformer or matrix (n_points, n_points), optional
        Select for the graph whose distances this matrix stores, or the transformer (scikit-learn's KNeighborsTransformer, or
        another one that makes such a matrix) finds.
    local_scale : int or LocalScale, optional
        Let the bandwidth vary from place to place as ε ρ_i: with the relative distance to the so many-th neighbor
        (`geolap.neighbor_scale`), or as given.  ε̂ is then the bandwidth where ρ = 1.
    exact : bool, default False
        Visit all pairs, however many points there are.
    n_jobs : int, optional
        By default every core that the process may use.  Does not change the result.

    Attributes
    ----------
    bandwidth_ : float
        ε̂
    selection_ : Selection
        The curve, all minima, an interval, and a status in words.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X had column names.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_torus(800, random_state=0).data
    >>> gc = geolap.GeometricConsistency(working_dim=2, random_state=0).fit(X)
    >>> round(gc.bandwidth_, 1)
    0.7
    >>> print(gc.selection_.status)
    A clear minimum inside the searched range.
    """

    keeps_device = True

    def __init__(
        self,
        working_dim=1,
        dual=True,
        n_sample=200,
        rule="global",
        max_share=0.2,
        cutoff=None,
        engine="auto",
        random_state=None,
        *,
        squared=False,
        renormalization=1.0,
        drift=0.0,
        n_neighbors=None,
        neighbors=None,
        local_scale=None,
        exact=False,
        n_jobs=None,
    ):
        self.working_dim = working_dim
        self.dual = dual
        self.n_sample = n_sample
        self.rule = rule
        self.max_share = max_share
        self.cutoff = cutoff
        self.engine = engine
        self.random_state = random_state
        self.squared = squared
        self.renormalization = renormalization
        self.drift = drift
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.local_scale = local_scale
        self.exact = exact
        self.n_jobs = n_jobs

    def _select(self, points, y):
        working_dim = check_working_dim(self.working_dim, points)
        check_choice("rule", self.rule, ("global", "first"))
        check_number("max_share", self.max_share, low=0, high=1, open_low=True)
        check_number("renormalization", self.renormalization, low=0, high=10)
        check_number("drift", self.drift, low=0)
        check_choice("dual", self.dual, (True, False))
        check_choice("squared", self.squared, (True, False))
        random_state = check_random_state(self.random_state)
        sample = check_n_sample(self.n_sample, len(points), random_state)

        pairs = find_pairs(points, n_neighbors=self.n_neighbors, neighbors=self.neighbors, n_jobs=self.n_jobs)
        scale = resolve_scale(points, self.local_scale, n_jobs=self.n_jobs)
        engine = make_engine(
            points, self.engine, exact=self.exact, cutoff=self.cutoff, n_jobs=self.n_jobs, scale=scale, pairs=pairs
        )
        problem = Consistency(engine, sample, working_dim, self.dual, self.squared, self.renormalization, self.drift)

        nearest = engine.nearest(sample)
        bandwidths = search_grid(engine, nearest, len(points))
        sums = None if engine.estimates else engine.row_sums(bandwidths)
        scan = problem.curve(bandwidths, sums)
        share = np.median(scan.effective_neighbors, axis=0) / len(points)
        bound = locality_bound(bandwidths, scan.effective_neighbors, len(points), self.max_share)

        # With a cut-off the sums jump, and cannot be interpolated; over few pairs there is no need to.
        between = _Between(bandwidths, sums) if sums is not None and self.cutoff is None and pairs is None else None

        def refined(new):
            return problem.curve(new, None if between is None else between(new)).per_point

        curve = refine(
            Curve(bandwidths, scan.per_point),
            refined,
            sparing=engine.estimates,
            rule=self.rule,
            bound=bound,
            tolerance=ROUGH_TOLERANCE if engine.estimates else TOLERANCE,
        )
        minima = tuple(
            replace(m, share=float(np.interp(np.log(m.bandwidth), np.log(bandwidths), share)))
            for m in minima_of(curve, bound)
        )
        bandwidth, status = choose(curve, minima, rule=self.rule, bound=bound)
        if status is Status.UPPER_END:  # that end is the bound itself
            bandwidth = bound
            curve = curve.joined(Curve(np.array([bound]), refined(np.array([bound]))))
        interval = resampled_interval(curve, bandwidth, minima, rule=self.rule, bound=bound, random_state=random_state)
        if interval is not None and status is Status.INTERIOR:
            low, high = interval
            if sum(m.clear and low <= m.bandwidth <= high for m in minima) > 1:
                status = Status.SEVERAL
        found = (Status.INTERIOR, Status.SEVERAL, Status.LOWER_ELSEWHERE)
        if status in found and falls_apart(nearest, bandwidth):
            status = Status.FALLS_APART
        return Selection(
            bandwidth=bandwidth,
            bandwidths=curve.bandwidths,
            scores=curve.mean,
            minima=minima,
            interval=interval,
            status=status,
            method="gc" if self.dual else "gc_inverse",
            bound=bound,
            details={
                "working_dim": working_dim,
                "scanned": bandwidths,
                "share": share,
                "sample": sample,
                "per_point": curve.values,
                "effective_neighbors": scan.effective_neighbors,
                "degree_error": scan.degree_error,
            },
        )


class _Between:
    """Row sums at new bandwidths from those on the scanned grid: log s is smooth in log ε.

    Eight-point Lagrange interpolation, kept between the scanned neighbors since sums grow with ε.  The sums leave out the
    point's own weight 1; with it, log s would have a kink where the neighbors begin to outweigh it.
    """

    def __init__(self, bandwidths, sums):
        self._x, self._sums = np.log(bandwidths), sums

    @cached_property
    def _logs(self):
        return np.log(np.maximum(self._sums, np.finfo(float).tiny))

    def __call__(self, new):
        x, logs, order = self._x, self._logs, 8
        result = np.empty((len(logs), len(new)))
        for column, at in enumerate(np.log(new)):
            above = int(np.clip(np.searchsorted(x, at), 1, len(x) - 1))
            first = int(np.clip(above - order // 2, 0, len(x) - order))
            nodes = x[first : first + order]
            weights = [np.prod((at - np.delete(nodes, k)) / (nodes[k] - np.delete(nodes, k))) for k in range(order)]
            between = logs[:, first : first + order] @ np.array(weights)
            result[:, column] = np.exp(np.clip(between, logs[:, above - 1], logs[:, above]))
        return result
