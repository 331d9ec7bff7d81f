"""Estimators that build a graph: what they have in common, and the plainest of them, `GraphLaplacian`.

Which pairs of points the graph stores is decided by size unless the parameters say it: all of them up to 5000 points, a
full matrix; beyond, those within a cut-off of a few ε, a sparse matrix; and if even those were too many, the nearest
neighbors, with ε selected anew for that graph.  A graph over landmarks alone has the degrees of all points.
"""

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..engines import graph_memory, make_engine
from ..engines.base import NO_NEIGHBORS
from ..engines.threads import available_threads, in_order
from ..graphs.graph import NORMALIZATIONS, KernelGraph, kernel_graph
from ..graphs.neighbors import all_pairs, check_distances, find_pairs, fitted_neighbors, given_pairs, pairs_within
from ..kernel import gaussian
from ..laplacian import LocalScale
from ..memory import require_memory
from ..points import in_unit, in_unit_box
from ..selectors import BandwidthSelector, GeometricConsistency, resolve_bandwidth
from ..selectors.regional import scale_for
from ..validation import check_choice, check_number, check_points, on_device

__all__ = ["GraphEstimator", "GraphLaplacian", "with_graph_parameters"]

# Up to this many points the matrix is full (200 MB).
_MOST_POINTS_OF_FULL = 5000
# More entries than this are not stored (1.2 GB); nearest neighbors take their place.
_MOST_ENTRIES = 10**8
_NEIGHBORS_INSTEAD = 200
# A cut-off chosen by size drops at most this share of the weight that neighbors have.
_MOST_DROPPED = 0.01
_CUTOFFS = (3.0, 3.5, 4.0, 5.0, 6.5)
# Rows on which a cut-off is tried: so many, or fewer of more points.
_ROWS_TRIED, _FEWEST_ROWS_TRIED, _ENTRIES_TRIED = 200, 32, 2**25
# Distances from new points that a thread holds at once (64 MiB), and new points that look for neighbors together.
_HELD, _TOGETHER = 2**23, 512

_PARAMETERS = """    renormalization : float, default 1.0
        λ, the power of the degrees divided out of the weights.  1 removes the density of the points, 0 leaves it.
    cutoff : float, optional
        Weights beyond ``cutoff``·ε are zero, and the matrix is sparse; 3 drops weights below 1e-4.  By default there is no
        cut-off up to 5000 points, and beyond the smallest that drops at most 1 % of the weight.
    n_neighbors : int, optional
        Join each point with its nearest so many only (and with those whose nearest it is).  Where a cut-off would leave more
        than 10⁸ entries, nearest neighbors take its place, with a warning: 200, or as many as leave 10⁸ entries at most.
    neighbors : transformer or matrix (n_points, n_points), optional
        Join the points whose distances this matrix stores, or the transformer finds: scikit-learn's KNeighborsTransformer,
        or any other that makes a sparse matrix of distances.  With a matrix, new points are joined with all training points.
    local_scale : int, "regional" or LocalScale, optional
        Let the bandwidth vary from place to place as ε ρ_i: with the relative distance to the so many-th neighbor
        (`geolap.neighbor_scale`), by geometric consistency in each region (`geolap.regional_scale`), or as given.
    metric : {"euclidean", "precomputed"}, default "euclidean"
        With "precomputed", X is a square matrix of distances, dense or sparse; the bandwidth must then be a number.
    random_state : int, RandomState or None
        For the choice of the bandwidth.
    n_jobs : int, optional
        By default every core that the process may use.
"""
_ATTRIBUTES = """    bandwidth_ : float
        ε
    selection_ : Selection or None
        How it was chosen, unless it was given.
    graph_ : KernelGraph
        Weights, degrees and what follows from them.
    cutoff_, n_neighbors_ : float, int or None
        Which pairs the graph stores.
    dropped_weight_ : float or None
        Share of the neighbors' weight in pairs that are not stored, over sampled rows; None if distances were precomputed.
    n_features_in_ : int
"""


def with_graph_parameters(cls):
    """Insert what all estimators on a graph have in common into the documentation of one."""
    cls.__doc__ = cls.__doc__.replace("    <parameters of the graph>\n", _PARAMETERS)
    cls.__doc__ = cls.__doc__.replace("    <attributes of the graph>\n", _ATTRIBUTES)
    return cls


class GraphEstimator(BaseEstimator):
    """What all estimators on a graph share: its parameters, how it is built, and how new points are joined to it."""

    _points: Any  # None if distances were given
    _finder: Any  # the fitted transformer that finds neighbors, if there is one
    _landmarks: Any  # which points carry the graph; None if all do

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric == "precomputed"
        return tags

    def _fit_graph(self, X, y=None, n_landmarks=None) -> KernelGraph:
        """Build the graph over X, or over landmarks among them, and set the attributes that tell about it."""
        check_choice("metric", self.metric, ("euclidean", "precomputed"))
        check_choice("self_weights", self.self_weights, (True, False))
        check_number("renormalization", self.renormalization, low=0, high=10)
        for name, kind in (("cutoff", Real), ("n_jobs", Integral)):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), kind, low=0 if kind is Real else 1, open_low=kind is Real)
        self.n_neighbors_, self.cutoff_, self.dropped_weight_ = self.n_neighbors, self.cutoff, None
        self._points, self._finder, self._landmarks = None, None, None
        degrees = None
        if n_landmarks is not None:
            self._check_landmarks(n_landmarks, X)
        if self.metric == "precomputed":
            matrix = X if sparse.issparse(X) else np.asarray(X)
            pairs, scale = self._given_distances(matrix), None
            validate_data(self, X, skip_check_array=True)
            dtype = matrix.dtype
        else:
            self._points = check_points(X)
            validate_data(self, X, skip_check_array=True)
            scale = scale_for(self._points, self.local_scale, random_state=self.random_state, n_jobs=self.n_jobs)
            # The graph is built on the host; a bandwidth for points on a GPU is chosen there.
            where = check_points(X, keep_device=True) if on_device(X) else self._points
            if n_landmarks is None:
                pairs = self._pairs_and_bandwidth(where, y, scale)
            else:
                pairs, scale, degrees = self._landmark_pairs(where, y, scale, n_landmarks)
            dtype = self._points.dtype
        if not 1e-150 < self.bandwidth_ < 1e150 or self.bandwidth_ < 1e-140 * pairs.unit:
            raise ValueError(
                f"A Laplacian scales with 1/ε², which must be a number; the bandwidth is {self.bandwidth_:.1g} and points "
                f"are up to about {pairs.unit:.1g} apart: rescale the data, or remove outliers."
            )
        self.graph_ = kernel_graph(
            pairs,
            self.bandwidth_,
            renormalization=self.renormalization,
            self_weights=self.self_weights,
            cutoff=self.cutoff_,
            scale=scale,
            degrees=degrees,
            dtype=np.float32 if dtype == np.float32 and 1e-15 < self.bandwidth_ < 1e15 else float,
        )
        if self._points is not None:
            self.dropped_weight_ = self._dropped_weight()
        return self.graph_

    def _check_landmarks(self, n_landmarks, X):
        check_number("n_landmarks", n_landmarks, Integral, low=3)
        if self.metric == "precomputed" or self.n_neighbors is not None or self.neighbors is not None:
            raise ValueError(
                "Landmarks are joined with all landmarks within reach at a bandwidth for all points; n_landmarks was given "
                "with metric='precomputed', n_neighbors or neighbors: leave out one of them."
            )
        if n_landmarks > np.shape(X)[0]:
            raise ValueError(
                f"n_landmarks must be at most the number of points; {n_landmarks} was given for {np.shape(X)[0]} points: "
                "lower it, or leave it out."
            )

    def _given_distances(self, X):
        if self.n_neighbors is not None or self.neighbors is not None or self.local_scale is not None:
            raise ValueError(
                "With metric='precomputed' the matrix itself says which points are joined and how far they are; "
                "n_neighbors, neighbors or local_scale were given as well: leave them out."
            )
        if isinstance(self.bandwidth, str | BandwidthSelector):
            raise ValueError(
                "A bandwidth is chosen from the points themselves, which distances do not tell; "
                f"bandwidth={self.bandwidth!r} was given with metric='precomputed': pass a number, or pass the points and "
                "your matrix as neighbors=."
            )
        pairs = given_pairs(X)
        if pairs.n_points < 3:
            raise ValueError(
                f"Found n_samples={pairs.n_points} while a minimum of 3 is required: a graph needs at least three points."
            )
        self.bandwidth_, self.selection_ = resolve_bandwidth(None, self.bandwidth)
        return pairs

    def _pairs_and_bandwidth(self, X, y, scale):
        """The pairs that the graph stores, over √(ρ_i ρ_j), with ``bandwidth_`` and ``selection_`` set."""
        points = self._points
        neighbors, self._finder = fitted_neighbors(self.neighbors, points)
        pairs = find_pairs(points, n_neighbors=self.n_neighbors, neighbors=neighbors, n_jobs=self.n_jobs)
        self._choose_bandwidth(X, y, scale, pairs)
        return self._graph_pairs(pairs, X, y, scale)

    def _landmark_pairs(self, X, y, scale, n_landmarks):
        """Pairs, scales and degrees of landmarks, a stratified sample; ε and the degrees are those of all points."""
        self._choose_bandwidth(X, y, scale, None)
        points = self._points
        starts = np.arange(n_landmarks + 1) * len(points) // n_landmarks
        rng = check_random_state(self.random_state)
        chosen = cKDTree(in_unit_box(points)[0], leafsize=8).indices[starts[:-1] + rng.randint(0, np.diff(starts))]
        self._landmarks = np.sort(chosen)
        engine = make_engine(points, cutoff=self.cutoff, n_jobs=self.n_jobs, scale=scale)
        degrees = engine.row_sums(np.array([self.bandwidth_]), self._landmarks)[:, 0] + float(self.self_weights)
        self._points = points[self._landmarks]
        if scale is not None:
            scale = LocalScale(scale.rho[self._landmarks], scale.dim)
        return self._graph_pairs(None, X, y, scale), scale, degrees

    def _graph_pairs(self, pairs, X, y, scale):
        """These pairs, or if there are none those that the size of the graph allows, over √(ρ_i ρ_j)."""
        points = self._points
        if pairs is None:
            rho = None if scale is None else scale.rho
            if self.cutoff is None and len(points) <= _MOST_POINTS_OF_FULL:
                pairs = all_pairs(points, n_jobs=self.n_jobs)
            elif self._cutoff_by_size(rho):
                radius = self.cutoff_ * self.bandwidth_
                return pairs_within(points, radius, rho=rho, narrowest=self.bandwidth_, n_jobs=self.n_jobs)
            else:
                self.n_neighbors_ = _neighbors_instead(len(points))
                warnings.warn(
                    f"A graph should have at most {_MOST_ENTRIES:.0e} entries; cut off at {self.cutoff_:g}·ε this one would "
                    f"have more, so each point is joined with its {self.n_neighbors_} nearest instead, at a bandwidth for "
                    "that graph: set n_neighbors or cutoff to decide it yourself.",
                    stacklevel=4,
                )
                self.cutoff_ = None
                pairs = find_pairs(points, n_neighbors=self.n_neighbors_, n_jobs=self.n_jobs)
                self._choose_bandwidth(X, y, scale, pairs)
        return pairs if scale is None else pairs.scaled(scale.rho)

    def _choose_bandwidth(self, X, y, scale, pairs):
        """ε for the graph that is built: over these pairs, with these scales."""
        graph = {
            "renormalization": self.renormalization,
            "cutoff": self.cutoff,
            "n_neighbors": None,
            "neighbors": pairs,
            "local_scale": scale,
            "n_jobs": self.n_jobs,
        }
        self.bandwidth_, self.selection_ = resolve_bandwidth(
            X, self.bandwidth, y=y, random_state=self.random_state, graph=graph
        )

    def _cutoff_by_size(self, rho):
        """Set ``cutoff_`` unless it is given; False if the graph should rather have nearest neighbors."""
        rows = self._some_rows()
        eps, sqdist, W = self._full_rows(rows, rho)
        for cutoff in _CUTOFFS if self.cutoff is None else (self.cutoff,):
            inside = sqdist <= (cutoff * eps) ** 2
            if (W * ~inside).sum() <= _MOST_DROPPED * W.sum():
                break
        self.cutoff_ = cutoff
        entries = float(inside.sum()) * len(self._points) / len(rows)
        if entries <= _MOST_ENTRIES:
            require_memory(
                graph_memory(entries), f"A graph of about {entries:.1e} entries", "set n_neighbors or n_landmarks"
            )
            return True
        chosen = isinstance(self.bandwidth, GeometricConsistency) or self.bandwidth == "gc"
        if self.cutoff is None and chosen and self._landmarks is None:
            return False
        instead = f"n_neighbors, for instance to {_neighbors_instead(len(self._points))}"
        if self._landmarks is not None:
            instead = "fewer landmarks"
        raise ValueError(
            f"A graph may have {_MOST_ENTRIES:.0e} entries; cut off at {cutoff:g}·ε = {cutoff * self.bandwidth_:.4g} this "
            f"one would have about {entries:.1e} ({12 * entries / 2**30:.1f} GiB, and some times that while it is "
            f"built): set {instead}, or a smaller cutoff or bandwidth."
        )

    def _some_rows(self):
        n = len(self._points)
        most = min(_ROWS_TRIED, max(_FEWEST_ROWS_TRIED, _ENTRIES_TRIED // n))
        return np.random.default_rng(0).choice(n, min(n, most), replace=False)

    def _full_rows(self, rows, rho):
        """Bandwidth, squared distances (n, N) over ρ_i ρ_j in one unit, and weights without the points' own."""
        X, unit = in_unit_box(self._points)
        sqdist = cdist(X[rows], X, "sqeuclidean")
        if rho is not None:
            sqdist /= rho[rows][:, None] * rho
        eps = in_unit([self.bandwidth_], unit)[0]
        with np.errstate(under="ignore"):
            W = gaussian(sqdist, eps)
        W[np.arange(len(rows)), rows] = 0.0
        return eps, sqdist, W

    def _dropped_weight(self):
        if not sparse.issparse(self.graph_.weights):
            return 0.0
        rows = self._some_rows()
        _, _, W = self._full_rows(rows, None if self.graph_.scale is None else self.graph_.scale.rho)
        kept = self.graph_.weights[rows].sum() - self.graph_.weights.diagonal()[rows].sum()
        return float(np.clip(1.0 - kept / max(W.sum(), NO_NEIGHBORS), 0.0, 1.0))

    def _extended(self, X, values, groups=None):
        """Means of ``values`` (N, k) over the neighbors of new points, Σ_j P(x, x_j) values_j.

        With ``groups`` (N,), only over neighbors in the group of the nearest.

        Returns
        -------
        means : ndarray (n, k)
        nearest : ndarray (n,)
            The nearest training point.
        twin : ndarray of bool (n,)
            Whether it is at the same place.
        """
        if self._points is not None:
            new = check_points(X, least=1)
        else:
            new = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=float)
            check_distances(new.data if sparse.issparse(X) else new)
        validate_data(self, X, reset=False, skip_check_array=True)
        given = new
        if self._finder is not None:
            new = sparse.csr_array(self._finder.transform(new))
        n = new.shape[0]
        rho = self.graph_.bandwidths / self.bandwidth_
        eps, tasks = self._to_training_points(new, rho)
        means, nearest, twin = np.empty((n, values.shape[1])), np.empty(n, dtype=int), np.empty(n, dtype=bool)

        def of(task):
            """Means over neighbors of some rows, how many have none."""
            rows, near, sqdist = task()
            closest = sqdist.argmin(axis=1)
            least = sqdist[np.arange(len(closest)), closest]
            if not np.isfinite(least).all():
                raise ValueError(
                    "Every new point needs a distance to at least one training point; row "
                    f"{rows[~np.isfinite(least)][0]} has none: store its nearest at least."
                )
            nearest[rows] = near[closest]
            # Somebody else's distance from a point to itself may be rounding instead of zero.
            twin[rows] = least == 0 if self._finder is None else (given[rows] == self._points[nearest[rows]]).all(axis=1)
            if self.n_neighbors_ is not None:
                sqdist[sqdist > np.partition(sqdist, self.n_neighbors_ - 1, axis=1)[:, [self.n_neighbors_ - 1]]] = np.inf
            sqdist /= rho[nearest[rows]][:, None] * rho[near]
            if self.cutoff_ is not None:
                sqdist[sqdist > (self.cutoff_ * eps) ** 2] = np.inf
            if groups is not None:
                sqdist[groups[nearest[rows]][:, None] != groups[near]] = np.inf
            least = sqdist.min(axis=1)
            lost = ~(least < -np.log(NO_NEIGHBORS) * eps**2)
            alone = int(lost.sum())
            with np.errstate(under="ignore"):
                # Relative to the nearest, so that no row vanishes.
                W = gaussian(sqdist - np.where(lost, 0.0, least)[:, None], eps) * self.graph_.density[near]
            lost |= W.sum(axis=1) == 0  # a training point without neighbors of its own has no density weight
            W[lost] = 0.0
            W[lost, closest[lost]] = 1.0
            means[rows] = (W @ values[near]) / W.sum(axis=1, keepdims=True)
            return alone

        alone = sum(in_order(of, tasks, n_jobs=self.n_jobs or available_threads(), label="extension"))
        if alone:
            warnings.warn(
                f"New points should have training points within reach; {alone} of {n} have none at bandwidth "
                f"{self.bandwidth_:.4g} and take the values of the nearest: fit on points like them.",
                stacklevel=3,
            )
        return means, nearest, twin

    def _to_training_points(self, new, rho):
        """The bandwidth, and tasks that answer with rows of the new points, training points that they may see, and squared
        distances between them, in one unit.
        """
        n, N = new.shape[0], self.graph_.n_points
        if self._points is None or self._finder is not None:
            everyone = np.arange(N)
            some = np.split(np.arange(n), np.arange(0, n, max(1, _HELD // N))[1:])
            return self.bandwidth_, [lambda rows=rows: (rows, everyone, _squares_of_stored(new[rows])) for rows in some]
        training = np.asarray(self._points, dtype=float)
        unit = 2.0 ** np.ceil(np.log2(np.abs(training).max()))
        training = training / unit
        new = np.clip(np.asarray(new, dtype=float) / unit, -1e140, 1e140)  # farther is no different from far
        eps = in_unit([self.bandwidth_], unit)[0]
        # Beyond a cut-off nobody is seen, and with nearest neighbors nobody but those.
        far = np.inf if self.cutoff_ is None else self.cutoff_ * eps * float(rho.max())
        order = cKDTree(new, leafsize=_TOGETHER).indices if n > _TOGETHER else np.arange(n)

        def of(rows):
            points = new[rows]
            low, high = points.min(axis=0), points.max(axis=0)
            outside = training - np.clip(training, low, high)
            near = np.flatnonzero(np.einsum("nr,nr->n", outside, outside) <= far**2)
            sqdist = cdist(points, training[near], "sqeuclidean")
            if len(near) == N or (len(near) and (sqdist.min(axis=1) <= far**2).all()):
                return rows, near, sqdist
            return rows, np.arange(N), cdist(points, training, "sqeuclidean")  # somebody is alone: who is nearest?

        some = np.split(order, np.arange(0, n, max(1, min(_TOGETHER, _HELD // N)))[1:])
        return eps, [partial(of, rows) for rows in some]


def _neighbors_instead(n):
    """Neighbors of each point, at most twice as many entries of the graph."""
    return min(_NEIGHBORS_INSTEAD, max(1, _MOST_ENTRIES // (2 * n)))


def _squares_of_stored(distances):
    """Squares of given distances (n, N), ``inf`` for those that a sparse matrix does not store."""
    if not sparse.issparse(distances):
        return distances**2
    sqdist = np.full(distances.shape, np.inf)
    row = np.repeat(np.arange(distances.shape[0]), np.diff(distances.indptr))
    sqdist[row, distances.indices] = distances.data**2
    return sqdist


@with_graph_parameters
class GraphLaplacian(GraphEstimator):
    """The graph Laplacian of the data, at the bandwidth that its geometry asks for.

    .. math:: L = \\frac{4}{ε^2} (P - I) \\;→\\; Δ

    tends to the Laplace–Beltrami operator of the manifold as points become more, with λ = 1 whatever their density; its
    eigenvalues are negative or zero.  To apply L to a function point by point, a larger bandwidth than ε̂ is better: ε̂
    serves what is built on the spectrum.

    Parameters
    ----------
    bandwidth : float, str or selector, default "gc"
        ε, the name of a method of `geolap.select_bandwidth`, or a selector.  "gc" selects ε for the graph that is built.
    normalization : {"random_walk", "symmetric", "unnormalized"}, default "random_walk"
        (4/ε²)(P − I); with the symmetric A_ij = W'_ij/√(d'_i d'_j) in the place of P; or (4/ε²)(W' − diag d').
    self_weights : bool, default True
        Whether W_ii = 1 or 0.
    <parameters of the graph>

    Attributes
    ----------
    laplacian_ : ndarray or csr_array (n_points, n_points)
        L
    transition_ : ndarray or csr_array (n_points, n_points)
        P, whose rows sum to 1.
    degrees_ : ndarray (n_points,)
        Row sums of the weights W.
    <attributes of the graph>

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(1000, random_state=0).data
    >>> gl = geolap.GraphLaplacian(random_state=0).fit(X)
    >>> gl.laplacian_.shape
    (1000, 1000)
    >>> z = X[:, 2]  # Δz = −2z on the unit sphere
    >>> round(float(z @ gl.laplacian_ @ z / (z @ z)), 1)
    -2.0
    """

    def __init__(
        self,
        bandwidth="gc",
        *,
        normalization="random_walk",
        renormalization=1.0,
        self_weights=True,
        cutoff=None,
        n_neighbors=None,
        neighbors=None,
        local_scale=None,
        metric="euclidean",
        random_state=None,
        n_jobs=None,
    ):
        self.bandwidth = bandwidth
        self.normalization = normalization
        self.renormalization = renormalization
        self.self_weights = self_weights
        self.cutoff = cutoff
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.local_scale = local_scale
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Build the Laplacian of the points X (n_points, n_features); y is used by methods that choose ε by labels.

        Returns
        -------
        self
        """
        check_choice("normalization", self.normalization, NORMALIZATIONS)
        graph = self._fit_graph(X, y)
        self.degrees_ = graph.degrees
        self.transition_ = graph.transition().copy()  # its pattern is that of the weights, and not the user's to change
        self.laplacian_ = graph.laplacian(self.normalization)
        return self
