"""Clusters as an estimator: `geolap.graphs.partition` finds them."""

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import validate_data

from ..data.distances import points_of
from ..data.multiplicity import counts_of
from ..data.points import Points, chunks_of, host_array
from ..graphs.build import BuiltGraph, drawn_landmarks
from ..graphs.partition import partition
from ..graphs.spectrum import graph_components
from ..selectors import BandwidthSelector
from ..sentences import refusal
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
)

__all__ = ["LaplacianClustering"]

# Groups of up to so many times as many points as a list of neighbors holds may be replicates.
_REPLICATES = 2


@dataclass(eq=False, repr=False)
class LaplacianClustering(Plotted, ClusterMixin, GraphEstimator):
    """Clusters of any shape, from the smoothest eigenvectors of the graph; also their number, with a reason.

    Unlike scikit-learn's SpectralClustering, it weights neighbors at a scale set by geometry, says how many clusters stand
    out, does not make clusters of outliers, and labels new points.  It joins 10 neighbors (all, if there are fewer) with
    local scales, and λ = 1/2 keeps enough of the density for valleys between clusters to count.  If ``neighbors`` or
    distances define the pairs, ``n_neighbors`` is not used.

    Copies of a point are one point.  So are replicates: where most points stand in small groups that no edge joins, and
    these are more than there may be clusters, one point stands for each.

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
        self._check_number(len(data))
        built = self._built_over(data, y, landmarks)
        if (groups := self._replicates(built, data)) is not None:
            data, landmarks, place = _one_of_each(data, *groups, landmarks, place)
            built = self._built_over(data, y, landmarks)
        found = partition(
            built,
            self.n_clusters,
            most=self.max_clusters,
            min_share=self.min_share,
            n_near=NEIGHBORS,
            n_jobs=self.n_jobs,
        )
        self._built, self._labels = built, found.labels
        self.status_, self.strengths_, self.eigenvalues_ = found.status, found.strengths, found.eigenvalues
        self.n_clusters_, self.n_outliers_ = int(found.labels.max()) + 1, int(found.outliers[place].sum())
        self.labels_ = found.labels[place] if drawn is None else self.predict(X)
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

    def _built_over(self, data: Points, y: Any, landmarks: np.ndarray | None) -> BuiltGraph:
        y = y if y is None or landmarks is None else host_array(y)[landmarks]
        return replace(self._build(data, y), landmarks=landmarks)

    def _replicates(self, built: BuiltGraph, data: Points) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows that stand for small groups of points that are joined with nothing else, and the group of each point.

        Where most points are in such groups, and these are more than there may be clusters or neighbors: each point of a
        group has found its own neighbors in it, as copies would.
        """
        if data.coordinates is None or data.on_gpu or self.neighbors is not None:
            return None
        group = graph_components(built.kernel)
        sizes, fewest = np.bincount(group), max(self.n_clusters or self.max_clusters, NEIGHBORS)
        if not fewest < len(sizes) < len(data) or np.median(sizes[group]) > _REPLICATES * NEIGHBORS:
            return None
        X, m = data.box, counts_of(data.multiplicity, len(data))
        centers = np.stack([np.bincount(group, m * x) for x in X.T], axis=1) / np.bincount(group, m)[:, None]
        nearest = np.lexsort([((X - centers[group]) ** 2).sum(axis=1), group])
        return nearest[np.cumsum(sizes) - sizes], group

    def _merged(self, data: Points, drawn: np.ndarray | None) -> tuple[Points, np.ndarray | None, Any]:
        """Points of which none are copies, which rows of X these are, if not all, and which of them each point is."""
        found = distinct_rows(data) if self.neighbors is None else None
        if found is None or len(found[0]) < 3:
            return data, drawn, slice(None)
        return _one_of_each(data, *found, drawn, slice(None))

    def _check_parameters(self) -> None:
        if self.n_clusters is not None:
            check_number("n_clusters", self.n_clusters, Integral, low=1)
        check_number("max_clusters", self.max_clusters, Integral, low=2)
        check_number("min_share", self.min_share, low=0, high=1)

    def _check_number(self, n_different: int) -> None:
        if self.n_clusters is not None and self.n_clusters > n_different:
            raise refusal(
                "{n_clusters} must be at most the number of distinct points; {given} was given for {n}: lower it.",
                given=self.n_clusters,
                n=n_different,
            )

    def _spec(self, data: Points) -> FullSpec:
        """As given, with no more neighbors than there are points, and none of its own where others say who they are."""
        spec = GraphSpec.of(self)
        most = max(len(data) - 1, 1)
        if data.partial:
            spec = replace(spec, n_neighbors=None, local_scale=None)
        elif self.neighbors is not None:
            spec = replace(spec, n_neighbors=None)
        few: dict[str, Any] = {name: most for name in ("n_neighbors", "local_scale") if _exceeds(getattr(spec, name), most)}
        return replace(spec, **few).filled()


def _one_of_each(
    data: Points, rows: np.ndarray, group: np.ndarray, landmarks: np.ndarray | None, place: Any
) -> tuple[Points, np.ndarray, Any]:
    """The points in these rows, of the weight of their groups, which rows they are, and at which each given point is.

    From the group of each point, the rows that the points were, and their place among these.
    """
    weights = np.bincount(group, counts_of(data.multiplicity, len(data)))
    return data.taken(rows).weighted(weights), rows if landmarks is None else landmarks[rows], group[place]


def _exceeds(value: Any, most: int) -> bool:
    return isinstance(value, int | np.integer) and bool(value > most)
