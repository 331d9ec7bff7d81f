"""Clusters: parts of the data that are well connected inside and poorly to each other, and how many there are.

k clusters are found by k-means over the rows, brought to length one, of the smoothest eigenvectors of I − P,

.. math:: u_j / \\sqrt{λ_j + λ_k}

on the graph of nearest neighbors with local scales (Ng, Jordan & Weiss 2002; Zelnik-Manor & Perona 2004).  The weights are
those of the kernel (I − P + λ_k)^{−1}: a soft end where others stop after k vectors, because the next ones still tell.

How many?  Parts S have conductances

.. math:: φ(S) = \\frac{Σ_{i ∈ S, j ∉ S} W'_{ij}}{Σ_{i ∈ S} d'_i}

and spectral clustering provably finds k of them where

.. math:: Υ(k) = λ_{k+1} / \\max_S φ(S)

is large (Peng, Sun & Zanetti 2017): each hangs together better than it hangs on the others.  One piece, cut anywhere, has Υ
of about one or less.  To find k, parts are read from k eigenvectors by pivoted QR (Damle, Minden & Ying 2019).  Where none
stand out, the mean of φ takes the place of its maximum (Kolev & Mehlhorn 2016), for a guess.  Then k-means divides the
points; where its parts do not stand out and those of pivoted QR do, these are the clusters.

Sparse places make small parts that hang on by a thread, or by none.  These are no clusters: a cluster holds at least a tenth
of an equal share of the points, duplicates counted once; more parts are made until there are k such, and the others go where
most of their neighbors are.  But where k are asked for, parts that are joined with nothing come first, however small, if
there are no more than k of more points than a neighborhood has; and if there are more, the largest of them until those left
out hold less than a cluster must.

Copies of a point would fill its list of neighbors and join it with nothing else.  So they are one point, of their weight
together.
"""

from dataclasses import KW_ONLY, dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.cluster._spectral import cluster_qr
from sklearn.preprocessing import normalize
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from ..data.distances import Distances, points_of
from ..data.multiplicity import counts_of
from ..data.points import Points, chunks_of, host_array, on_device
from ..graphs.build import BuiltGraph, drawn_landmarks
from ..graphs.graph import KernelGraph
from ..graphs.spectrum import graph_components, smooth_spectrum
from ..laplacian import rows_of
from ..runtime.caching import cached_property
from ..runtime.threads import one_blas_thread
from ..selection import Told
from ..selectors import BandwidthSelector
from ..sentences import Sentence, refusal
from ..shown import Plotted
from ..specification import FullSpec, GraphSpec, LocalScaleLike
from ..validation import check_number
from .base import (
    DENSITY,
    NEAREST,
    NEIGHBORS,
    GraphEstimator,
    Read,
    check_landmarks,
    distinct_rows,
    graph_parameters,
    in_chunks,
    nearest_among,
)

__all__ = ["ClusterStatus", "LaplacianClustering"]

# Υ from which clusters stand out: shapes of one piece had at most 2.1 (segment, strip, sphere, torus, swiss roll, hourglass,
# normal clouds in 2 to 50 dimensions, …), separated clusters at least 3.5.  And Υ with the mean, below which nothing speaks
# for a division: one piece in many dimensions had about 1.3.
_STANDS_OUT, _ONE_PIECE = 3.0, 1.3
# Parts that may turn out to be outliers, eigenvectors beyond the number of parts, and what counts as an eigenvalue of 0.
_SPARE, _BEYOND, _ZERO = 10, 5, 1e-9
# By how much the longest row is longer for the choice of the first pivot.
_FIRST = 1e-6


class ClusterStatus(Told):
    """How the number of clusters was found; the value is the `Sentence` to print."""

    GIVEN = Sentence("The number of clusters was given.")
    STAND_OUT = Sentence("Clusters stand out: each is connected far better inside than to the others.")
    NO_GAP = Sentence(
        "No gap: the parts run into each other, as in pure noise, so their number is a guess. Set {n_clusters} if you know "
        "it."
    )
    MORE = Sentence(
        "More than {max_clusters} parts are disconnected from all others: the largest became the clusters. Raise it, or "
        "set {n_clusters}."
    )
    ONE_PIECE = Sentence(
        "One piece: no number of clusters stands out; however the data is cut, the parts remain connected. Set "
        "{n_clusters} to divide it anyway."
    )


@dataclass(eq=False, repr=False)
class LaplacianClustering(Plotted, ClusterMixin, GraphEstimator):
    """Clusters of any shape, from the smoothest eigenvectors of the graph; also their number, with a reason.

    Unlike scikit-learn's SpectralClustering, it weights neighbors at a scale set by geometry, says how many clusters stand
    out, does not make clusters of outliers, and labels new points.  It joins 10 neighbors (all, if there are fewer) with
    local scales, and λ = 1/2 keeps enough of the density for valleys between clusters to count.  If ``neighbors`` or
    distances define the pairs, ``n_neighbors`` is not used.

    Parameters
    ----------
    n_clusters : int, optional
        By default as many as stand out, see ``status_``.
    <bandwidth>
    min_share : float, default 0.1
        Minimum size of a cluster, as a share of n_points / n_clusters, duplicates counted once.  Smaller parts are outliers
        and join most of their neighbors; 0 makes them clusters.  If ``n_clusters`` is given, disconnected parts of 11 points
        or more are clusters too; if there are more than ``n_clusters`` of them, the largest are, until the rest has fewer
        points than a cluster needs.
    max_clusters : int, default 15
        Maximum number of clusters to try if ``n_clusters`` is not given.
    n_landmarks : int, optional
        Cluster only this many points, a stratified sample; each other point joins the cluster of most of its neighbors in
        it.  By default 20 000 if X is a dask array or a file larger than half a gigabyte, otherwise all.
    <parameters of the graph>

    Attributes
    ----------
    labels_ : ndarray (n_points,)
        0 for the points of the largest cluster, 1 for the next, ….  For a dask array, a lazy dask array.
    n_clusters_ : int
    status_ : ClusterStatus
        How their number was found; prints as a sentence.
    strengths_ : dict
        Υ for each number of clusters that was tried; 3 or more means that they stand out.  The value for ``n_clusters_`` is
        that of the clusters before outliers join them.  Empty if the number was given.
    eigenvalues_ : ndarray
        Of I − P, ascending from 0, without disconnected outliers.
    n_outliers_ : int
        Number of points in small parts, which are assigned to the clusters of their neighbors.
    landmarks_ : ndarray (n_landmarks,) or None
        Rows of the points that were clustered, ascending, if not all: landmarks, and one of each set of copies.  ``graph_``
        refers to them.
    <attributes of the graph>

    References
    ----------
    R. Peng, H. Sun & L. Zanetti, "Partitioning well-clustered graphs: spectral clustering works!", SIAM J. Comput. 2017.
    P. Kolev & K. Mehlhorn, "A note on spectral clustering", ESA 2016.

    Examples
    --------
    >>> import geolap
    >>> from sklearn.datasets import make_moons
    >>> X, _ = make_moons(400, noise=0.05, random_state=0)
    >>> clustering = geolap.LaplacianClustering(random_state=0).fit(X)
    >>> clustering.n_clusters_
    2
    >>> print(clustering.status_)
    Clusters stand out: each is connected far better inside than to the others.
    >>> clustering.predict(X[:3]).tolist() == clustering.labels_[:3].tolist()
    True
    """

    _texts: ClassVar[dict[str, str]] = GraphEstimator._texts | {
        "parameters of the graph": graph_parameters(
            renormalization=DENSITY,
            n_neighbors=f"int or None, default {NEIGHBORS}",
            local_scale=f"or LocalScale or None, default {NEAREST}",
        )
    }

    n_clusters: int | None = None
    bandwidth: float | str | BandwidthSelector = "gc"
    _: KW_ONLY
    min_share: float = 0.1
    max_clusters: int = 15
    n_landmarks: int | None = None
    n_neighbors: int | str | None = NEIGHBORS
    local_scale: LocalScaleLike = NEAREST
    renormalization: float = DENSITY
    calibrate: bool = False  # clusters do not depend on the scale of L

    landmarks_ = Read[np.ndarray | None]("_built.landmarks")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of the points X (n_points, n_features); y is used by rules for ε that need labels.

        ``sample_weight`` (n_points,) is the number of points that each row represents.

        Returns
        -------
        self
        """
        self._check_parameters()
        data, drawn = self._carriers(X, sample_weight)
        data, landmarks, place = self._merged(data, drawn)
        n = data.shape[0]
        if self.n_clusters is not None and self.n_clusters > n:
            raise refusal(
                "{n_clusters} must be at most the number of distinct points; {given} was given for {n}: lower it.",
                given=self.n_clusters,
                n=n,
            )
        y = y if y is None or landmarks is None else host_array(y)[landmarks]
        built = replace(self._build(data, y), landmarks=landmarks)
        places = _places(built)
        core, graph, least = self._core(built.kernel, places, self.n_clusters)
        n_vectors = min((self.n_clusters or self.max_clusters) + _SPARE + _BEYOND, len(core))
        spectrum = smooth_spectrum(graph, n_vectors, markov=True, n_jobs=self.n_jobs)
        eigenvalues = 0.25 * graph.bandwidth**2 * spectrum.eigenvalues
        vectors = spectrum.vectors * np.sqrt(spectrum.mass)[:, None]
        cutter = _Cutter(graph, eigenvalues, vectors, places[core])
        with one_blas_thread:
            cuts = self._cuts(cutter)
        if self.n_clusters is not None:
            k, status = self.n_clusters, ClusterStatus.GIVEN
        elif spectrum.n_components > self.max_clusters:
            k, status = self.max_clusters, ClusterStatus.MORE
        else:
            k, status = _number(cuts)
        core = core if k > 1 else self._core(built.kernel, places, 1)[0]
        labels = np.full(n, -1)
        labels[core] = 0
        if k > 1:
            cuts[k] = self._divided(cutter, k, cuts.get(k), least)
            labels[core] = cuts[k].labels
        if status is ClusterStatus.NO_GAP and cuts[k].strength >= _STANDS_OUT:
            status = ClusterStatus.STAND_OUT
        self.status_ = status
        self.strengths_ = {} if self.n_clusters is not None else {size: cuts[size].strength for size in sorted(cuts)}
        self._built, self.eigenvalues_ = built, eigenvalues
        self.n_outliers_ = int((labels[place] < 0).sum())
        self._labels = _ranked(_joined(labels, built), built.kernel.multiplicity)
        self.n_clusters_ = int(self._labels.max()) + 1
        self.labels_ = self._labels[place] if drawn is None else self.predict(X)
        return self

    @in_chunks
    def predict(self, X: Any) -> np.ndarray:
        """Clusters (n,) of points X (n, n_features): those that most of their neighbors belong to, by weight.

        For a dask array, a lazy dask array.
        """
        found = self._extended(X, np.eye(self.n_clusters_)[self._labels])
        labels = found.means.argmax(axis=1)
        labels[found.twin] = self._labels[found.nearest[found.twin]]
        return labels

    def _carriers(self, X: Any, sample_weight: Any) -> tuple[Points, np.ndarray | None]:
        """The points in which clusters are found, and which rows of X these are, if not all."""
        if self.n_landmarks is None and chunks_of(X) is None:
            return self._data(X, sample_weight), None
        if self.metric == "precomputed":
            raise refusal(
                "Landmarks are points with features; {n_landmarks}, a dask array or a large file was given with "
                "metric='precomputed': leave out one of them, or pass distances in memory."
            )
        data = points_of(X, keep_device=True, sample_weight=sample_weight)
        if self.n_landmarks is not None:
            check_landmarks(self.n_landmarks, len(data))
        rows, some = drawn_landmarks(data, self.n_landmarks, random_state=self.random_state)
        validate_data(self, X, skip_check_array=True)
        return points_of(some.given, self.metric, sample_weight=some.multiplicity), rows

    def _merged(self, data: Points, drawn: np.ndarray | None) -> tuple[Points, np.ndarray | None, Any]:
        """Points of which none are copies, which rows of X these are, if not all, and which of them each point is."""
        found = distinct_rows(data) if self.neighbors is None else None
        if found is None or len(found[0]) < 3:
            return data, drawn, slice(None)
        rows, place = found
        weights = np.bincount(place, counts_of(data.multiplicity, len(data)))
        some = points_of(data.given[rows], self.metric, sample_weight=weights)
        return some, rows if drawn is None else drawn[rows], place

    def _check_parameters(self) -> None:
        if self.n_clusters is not None:
            check_number("n_clusters", self.n_clusters, Integral, low=1)
        check_number("max_clusters", self.max_clusters, Integral, low=2)
        check_number("min_share", self.min_share, low=0, high=1)

    def _spec(self, data: Points) -> FullSpec:
        """As given, with no more neighbors than there are points, and none of its own where others say who they are."""
        spec = GraphSpec.of(self)
        most = max(len(data) - 1, 1)
        if isinstance(data, Distances) and data.partial:
            spec = replace(spec, n_neighbors=None, local_scale=None)
        elif self.neighbors is not None:
            spec = replace(spec, n_neighbors=None)
        few: dict[str, Any] = {name: most for name in ("n_neighbors", "local_scale") if _exceeds(getattr(spec, name), most)}
        return replace(spec, **few).filled()

    def _core(self, graph: KernelGraph, places: np.ndarray, k: int | None) -> tuple[np.ndarray, KernelGraph, float]:
        """The points in components that are large enough for a cluster, their graph, and what is enough, by `min_share`.

        Where so many clusters are asked for that every component of some size may be one, these are; and where the others
        together would be enough for a cluster, the largest of them are, until they are not.
        """
        n, components = graph.n_points, graph_components(graph)
        sizes = np.bincount(components, places)
        least = enough = self.min_share * places.sum() / (k or self.max_clusters)
        some = np.sort(sizes[sizes > NEIGHBORS])
        if k is not None and 1 < len(some) <= k:
            enough = min(enough, some[0])
        while k is not None and (smaller := some[some < enough]).size and sizes[sizes < enough].sum() >= least:
            enough = smaller[-1]
        core = np.flatnonzero(sizes[components] >= enough)
        if len(core) == n or len(core) < max(k or 0, 3):
            return np.arange(n), graph, enough
        return core, graph.restricted(core), enough

    def _cuts(self, cutter: "_Cutter") -> "dict[int, _Cut]":
        """For each number of parts by pivoted QR that are large enough, those with the largest Υ."""
        cuts: dict[int, _Cut] = {}
        least, most = self.min_share * cutter.places.sum(), self.n_clusters or self.max_clusters
        for tried in range(max(self.n_clusters or 2, 2), len(cutter.eigenvalues)):
            parts = cutter.by_pivots(tried)
            sizes = np.bincount(parts, cutter.places)
            k = int(np.flatnonzero(sizes * np.arange(1, len(sizes) + 1) >= least).max(initial=-1)) + 1
            if k > most:
                break
            if k > 1:
                cut = cutter.cut(parts, k, tried)
                cuts[k] = max(cut, cuts.get(k, cut), key=lambda one: (one.strength, one.mean))
        return cuts

    def _divided(self, cutter: "_Cutter", k: int, other: "_Cut | None", least: float) -> "_Cut":
        """By k-means: more parts until k are large enough, or else the k largest; another cut if only that stands out."""
        least = least if self.n_clusters is not None else self.min_share * cutter.places.sum() / k
        for tried in range(k, min(k + _SPARE, len(cutter.vectors)) + 1):
            parts = cutter.by_means(tried)
            enough = (np.bincount(parts, cutter.places) >= least).sum() >= k
            if enough or tried == k:
                best = cutter.cut(parts, k, tried)
            if enough:
                break
        return other if other is not None and best.strength < _STANDS_OUT <= other.strength else best


@dataclass(frozen=True)
class _Cut:
    """Clusters (n,) of the points of the core, −1 for outliers; Υ with the largest conductance, and with the mean."""

    labels: np.ndarray
    strength: float
    mean: float


@dataclass(frozen=True)
class _Cutter:
    """Cuts the core into parts, numbered by size, by its smoothest eigenvectors."""

    graph: KernelGraph
    eigenvalues: np.ndarray
    vectors: np.ndarray
    places: np.ndarray  # what each point counts for in a size

    @cached_property
    def _walk(self) -> tuple[np.ndarray, Any]:
        return self.graph.renormalized_degrees, self.graph.transition()

    def by_pivots(self, n_parts: int) -> np.ndarray:
        some = self.vectors[:, :n_parts]
        length = np.linalg.norm(some, axis=1)
        # The first pivot is the longest row: among rows of length one, rounding would choose it.
        rows = normalize(some) * (1.0 + _FIRST * length / length.max())[:, None]
        return _ranked(cluster_qr(rows), self.places)

    def by_means(self, n_parts: int) -> np.ndarray:
        used = slice(n_parts + _BEYOND)
        last = self.eigenvalues[min(n_parts, len(self.eigenvalues)) - 1]
        rows = normalize(self.vectors[:, used] / np.sqrt(self.eigenvalues[used] + max(last, _ZERO)))
        # Its starts are drawn from rows in an order that is not that of the data.
        order = np.argsort(np.linalg.norm(self.vectors[:, used], axis=1), kind="stable")
        means = KMeans(n_parts, n_init=10, random_state=0)  # the same every time
        weights, found = self.graph.multiplicity, np.empty(len(rows), dtype=int)
        with threadpool_limits(1, "openmp"):  # its threads wait for one another where the machine has other work
            found[order] = means.fit_predict(rows[order], sample_weight=None if weights is None else weights[order])
        return _ranked(found, self.places)

    def cut(self, parts: np.ndarray, k: int, n_parts: int) -> _Cut:
        """The k largest of so many parts."""
        mass, P = self._walk
        member = np.eye(parts.max() + 1)[parts][:, :k]
        volume = np.maximum(mass @ member, np.finfo(float).tiny)
        conductance = np.maximum(1.0 - (mass @ (member * (P @ member))) / volume, _ZERO)
        gap = self.eigenvalues[min(n_parts, len(self.eigenvalues) - 1)]
        return _Cut(np.where(parts < k, parts, -1), float(gap / conductance.max()), float(gap / conductance.mean()))


def _number(cuts: dict[int, _Cut]) -> tuple[int, ClusterStatus]:
    """The finest division that stands out; else the best, or one piece."""
    if standing := [k for k, cut in cuts.items() if cut.strength >= _STANDS_OUT]:
        return max(standing), ClusterStatus.STAND_OUT
    mean, best = max(((cut.mean, k) for k, cut in cuts.items()), default=(0.0, 1))
    return (best, ClusterStatus.NO_GAP) if mean >= _ONE_PIECE else (1, ClusterStatus.ONE_PIECE)


def _exceeds(value: Any, most: int) -> bool:
    return isinstance(value, int | np.integer) and bool(value > most)


def _places(built: BuiltGraph) -> np.ndarray:
    """What each point counts for: duplicates together for one, so that they are no cluster of their own."""
    if built.points is None:
        return np.ones(built.kernel.n_points)
    A: Any = built.points
    if on_device(A):
        _, place, counts = A.unique(dim=0, return_inverse=True, return_counts=True)
        return 1.0 / host_array(counts[place])
    if sparse.issparse(A):
        ends = [slice(*pair) for pair in pairwise(A.indptr)]
        A = np.array([hash((A.indices[part].tobytes(), A.data[part].tobytes())) for part in ends])
    _, place, counts = np.unique(A, axis=0, return_inverse=True, return_counts=True)
    return 1.0 / counts[place]


def _ranked(labels: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """The same groups numbered by size, by default in points, the largest being 0, without gaps."""
    _, labels = np.unique(labels, return_inverse=True)
    return np.argsort(np.argsort(-np.bincount(labels, places), kind="stable"))[labels]


def _joined(labels: np.ndarray, built: BuiltGraph) -> np.ndarray:
    """Labels with those of outliers, −1, from their neighbors: step by step along the graph, then by distance."""
    if labels.min() >= 0:
        return labels
    labels, P = labels.copy(), built.kernel.transition()
    while (left := np.flatnonzero(labels < 0)).size:
        votes = rows_of(P, left) @ np.eye(labels.max() + 2)[labels][:, :-1]
        reached = votes.max(axis=1) > 0
        if not reached.any():
            break
        labels[left[reached]] = votes[reached].argmax(axis=1)
    inside = np.flatnonzero(labels >= 0)
    nearest = nearest_among(built, left, inside)
    if nearest is not None:  # a part stays in one piece
        part = np.unique(graph_components(built.kernel)[left], return_inverse=True)[1]
        votes = np.zeros((part.max() + 1, labels.max() + 1))
        np.add.at(votes, (part, labels[nearest]), 1.0)
        labels[left] = votes.argmax(axis=1)[part]
    elif left.size:  # no distance tells where these belong
        labels[left] = np.bincount(labels[inside]).argmax()
    return labels
