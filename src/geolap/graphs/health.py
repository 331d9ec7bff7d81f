"""Health of a graph before it is built: components, isolated points, neighbors, size.

The graph at bandwidth ε joins points up to ``cutoff``·ε apart (3ε by default, where the weight is 1e-4).  Its components at
all bandwidths at once are those of single linkage: the graph falls in two wherever an edge of the minimum spanning tree is
longer than that.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from ..data.distances import Distances, Metric, points_of
from ..data.multiplicity import own_weight, quantile_of, weights_at
from ..data.pairs import ZERO
from ..data.points import Points, in_unit
from ..engines import make_engine
from ..runtime.threads import heard
from ..shown import Carded, Plotted
from ..specification import GraphSpec
from ..validation import check_bandwidths, check_n_sample, check_number, check_random_state
from .spectrum import components_by

__all__ = ["GraphHealth", "HealthCurve", "graph_health", "health_curve"]

_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
# Single linkage holds all distances: 100 MB.
_MOST_POINTS_LINKED = 5000


@dataclass(frozen=True)
class GraphHealth(Carded):
    """What a graph at one bandwidth would be like.

    Attributes
    ----------
    bandwidth : float
    n_points : int
    components : int
        Connected components.
    largest_component : int
        Points in the largest.
    isolated : int
        Points that are a component of their own.
    duplicates : int
        Points at the same place as an earlier one.
    effective_neighbors : tuple of five floats
        Minimum, quartiles and maximum of (Σ_j W_ij)²/Σ_j W_ij² over sampled points, including the point itself.
    nonzeros : int
        Entries of the sparse matrix of weights, including the diagonal; estimated from sampled rows unless all were sampled.
    bytes : int
        Size of that matrix as CSR in double precision.
    """

    bandwidth: float
    n_points: int
    components: int
    largest_component: int
    isolated: int
    duplicates: int
    effective_neighbors: tuple[float, ...]
    nonzeros: int
    bytes: int

    def __str__(self) -> str:
        parts = (
            "connected"
            if self.components == 1
            else f"{self.components} components, the largest with {self.largest_component}"
        )
        return (
            f"{self.n_points} points at bandwidth {self.bandwidth:.4g}: {parts}; {self.isolated} isolated, "
            f"{self.duplicates} duplicates; effective neighbors {self.effective_neighbors[2]:.3g} (median); "
            f"{self.nonzeros:.3g} nonzeros, {self.bytes / 2**20:.3g} MiB"
        )


def graph_health(
    X: Any,
    bandwidth: float,
    *,
    cutoff: float = 3.0,
    n_sample: int | None = 1000,
    sample_weight: Any = None,
    random_state: Any = None,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> GraphHealth:
    """Components, isolated points, effective neighbors and size of a graph, without building it.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    bandwidth : float
    cutoff : float, default 3.0
        Points farther apart than ``cutoff``·ε are not joined.
    n_sample : int or None, default 1000
        Number of rows from which neighbors and nonzeros are estimated; None uses all.
    sample_weight : array-like (n_points,), optional
        Number of points that each row represents.  Effective neighbors count all copies; components, nonzeros and everything
        else refer to the graph that is built, in which the copies of a point are merged.
    random_state : int, RandomState or None
    metric : str or callable, default "euclidean"
        As for `geolap.distortion`.
    n_jobs : int, optional

    Returns
    -------
    GraphHealth

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(500, random_state=0).data
    >>> geolap.graph_health(X, 0.3).components
    1
    """
    points = points_of(X, metric, sample_weight=sample_weight)
    eps = float(check_bandwidths(bandwidth)[0])
    spec = GraphSpec(cutoff=check_number("cutoff", cutoff, low=0, open_low=True), n_jobs=n_jobs).filled()
    sample = check_n_sample(n_sample, len(points), check_random_state(random_state), least=1)
    radius = float(spec.cutoff * in_unit([eps], points.unit)[0])
    labels = components_within(points, radius)
    sizes = np.bincount(labels)
    others = make_engine(points, replace(spec, cutoff=None)).row_sums(eps / np.sqrt([1.0, 2.0]), sample)
    sums, squares = (own_weight(points.multiplicity, sample) + others).T
    quantiles = quantile_of(sums**2 / squares, _QUANTILES, weights_at(points.multiplicity, sample))
    groups = np.array_split(sample, -(-len(sample) // 256))
    joined = sum(int((points.sqdist(rows) <= radius**2).sum()) for rows in groups)
    nonzeros = round(joined * len(points) / len(sample))
    index_bytes = 4 if nonzeros < 2**31 else 8
    return GraphHealth(
        bandwidth=eps,
        n_points=len(points),
        components=len(sizes),
        largest_component=int(sizes.max()),
        isolated=int((sizes == 1).sum()),
        duplicates=_duplicates(points),
        effective_neighbors=tuple(float(q) for q in quantiles),
        nonzeros=nonzeros,
        bytes=nonzeros * (8 + index_bytes) + (len(points) + 1) * index_bytes,
    )


@dataclass(frozen=True)
class HealthCurve(Plotted):
    """What graphs at several bandwidths would be like.

    Attributes
    ----------
    bandwidths : ndarray (m,)
    n_points : int
    components, largest_component : ndarray of int (m,) or None
        Connected components, and points in the largest; None beyond 5000 points.
    isolated : ndarray (m,)
        Share of isolated points; beyond 5000 points, share of the sampled ones.
    effective_neighbors : ndarray (m, 5)
        Minimum, quartiles and maximum over sampled points, as in `GraphHealth`.
    cutoff : float
        Points are joined up to ``cutoff``·ε apart.
    """

    bandwidths: np.ndarray
    n_points: int
    components: np.ndarray | None = field(repr=False)
    largest_component: np.ndarray | None = field(repr=False)
    isolated: np.ndarray = field(repr=False)
    effective_neighbors: np.ndarray = field(repr=False)
    cutoff: float = 3.0


def health_curve(
    X: Any,
    bandwidths: Any,
    *,
    cutoff: float = 3.0,
    n_sample: int | None = 200,
    random_state: Any = None,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> HealthCurve:
    """Components, isolated points and effective neighbors of graphs at several bandwidths, without building them.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    bandwidths : array-like (m,)
        For instance ``selection.bandwidths``.
    cutoff : float, default 3.0
        Points farther apart than ``cutoff``·ε are not joined.
    n_sample : int or None, default 200
        Number of points whose effective neighbors are counted; None uses all.
    random_state : int, RandomState or None
    metric : str or callable, default "euclidean"
        As for `geolap.distortion`.
    n_jobs : int, optional

    Returns
    -------
    HealthCurve

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(500, random_state=0).data
    >>> geolap.health_curve(X, [0.001, 0.01, 0.3]).components.tolist()
    [500, 469, 1]
    """
    points = points_of(X, metric)
    bandwidths = np.sort(check_bandwidths(bandwidths))
    spec = GraphSpec(cutoff=check_number("cutoff", cutoff, low=0, open_low=True), n_jobs=n_jobs).filled()
    sample = check_n_sample(n_sample, len(points), check_random_state(random_state), least=1)
    engine = make_engine(points, replace(spec, cutoff=None))
    scales = np.concatenate([bandwidths, bandwidths / np.sqrt(2.0)])  # W² at ε is W at ε/√2
    sums, squares = np.split(1.0 + engine.row_sums(scales, sample), 2, axis=1)
    components = largest = None
    if points.whole and len(points) <= _MOST_POINTS_LINKED:
        components, largest, lone = _linked(points, spec.cutoff * in_unit(bandwidths, points.unit))
        isolated = lone / len(points)
    else:
        isolated = (engine.nearest(sample)[:, None] > cutoff * bandwidths).mean(axis=0)
    return HealthCurve(
        bandwidths=bandwidths,
        n_points=len(points),
        components=components,
        largest_component=largest,
        isolated=isolated,
        effective_neighbors=np.quantile(sums**2 / squares, _QUANTILES, axis=0).T,
        cutoff=float(cutoff),
    )


def _duplicates(points: Points) -> int:
    """Points at the place of one before them."""
    if not isinstance(points, Distances):
        return len(points) - len(np.unique(points.box, axis=0))
    if points.whole:
        return int(np.tril(points.full == 0, -1).any(axis=1).sum())
    S: Any = sparse.tril(points.pairs.sqdist, -1)
    return len(np.unique(S.row[S.data <= ZERO]))


def _linked(points: Points, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Components, points in the largest and isolated points, in graphs that join points up to each of the radii apart."""
    known = squareform(points.full / points.unit, checks=False) if isinstance(points, Distances) else points.box
    first, second, height, size = heard(linkage, known, "single").T
    n, largest = len(points), np.maximum.accumulate(np.concatenate([[1.0], size]))
    leaves = np.sort(np.concatenate([height[first < n], height[second < n]]))  # where each point is joined
    joined = np.searchsorted(height, radii, side="right")
    return n - joined, largest[joined].astype(int), n - np.searchsorted(leaves, radii, side="right")


def components_within(points: Points, radius: float) -> np.ndarray:
    """Component of each point in the graph that joins points up to ``radius`` apart; of those that count, if not all do."""
    if isinstance(points, Distances) and not points.whole:
        S: Any = points.pairs.sqdist
        near = S.data <= (radius * points.unit / points.pairs.unit) ** 2
        graph = sparse.csr_array((near.astype(np.int8), S.indices, S.indptr), shape=S.shape, copy=True)
        graph.eliminate_zeros()
        return connected_components(graph)[1]

    def joined(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        return np.any(points.sqdist(rows, others) <= radius**2, axis=0)

    return components_by(joined, len(points))
