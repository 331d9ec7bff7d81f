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

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.cluster._spectral import cluster_qr
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from ..data.points import host_array, on_device, row_keys
from ..laplacian import rows_of
from ..runtime.caching import cached_property
from ..runtime.threads import one_blas_thread
from ..selection import Told
from ..sentences import Sentence
from .build import BuiltGraph
from .graph import KernelGraph
from .spectrum import Spectrum, graph_components, smooth_spectrum

__all__ = ["ClusterStatus", "Partition", "partition"]

# Υ from which clusters stand out: shapes of one piece had at most 2.1 (segment, strip, sphere, torus, swiss roll, hourglass,
# normal clouds in 2 to 50 dimensions, …), separated clusters at least 3.5.  And Υ with the mean, below which nothing speaks
# for a division: one piece in many dimensions had about 1.3.
_STANDS_OUT, _ONE_PIECE = 3.0, 1.3
# Of fewer points, or along a line, one piece has a larger Υ by chance: of 20 normal clouds in the plane, 9 with 12 points, 3
# with 30 and 1 with 50; of 20 samples of a segment, 11 with 50 points and 3 with 400.
_FEW_POINTS = 60
# Parts that may turn out to be outliers, eigenvectors beyond the number of parts, and what counts as an eigenvalue of 0.
_SPARE, _BEYOND, _ZERO = 10, 5, 1e-9
# By how much the longest row is longer for the choice of the first pivot.
_FIRST = 1e-6


class ClusterStatus(Told):
    """How the number of clusters was found; the value is the `Sentence` to print."""

    GIVEN = Sentence("The number of clusters was given.")
    STAND_OUT = Sentence("Clusters stand out: each is connected far better inside than to the others.")
    PERHAPS = Sentence(
        "Clusters stand out, perhaps by chance: gaps as wide are common among so few points, or along a line, even where "
        "there is nothing to find."
    )
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


@dataclass(frozen=True)
class Partition:
    """The points of a graph in parts.

    Attributes
    ----------
    labels : ndarray (N,)
        0 for the points of the largest part, 1 for the next, ….
    outliers : ndarray of bool (N,)
        Points of small parts, which belong to the parts of their neighbors.
    status : ClusterStatus
    strengths : dict
        Υ of each number of parts that was looked at.
    eigenvalues : ndarray
        Of I − P, ascending from 0, without outliers that are joined with nothing.
    """

    labels: np.ndarray
    outliers: np.ndarray
    status: ClusterStatus
    strengths: dict[int, float]
    eigenvalues: np.ndarray


def partition(
    built: BuiltGraph,
    n_parts: int | None = None,
    *,
    most: int,
    min_share: float,
    n_near: int,
    n_jobs: int | None = None,
) -> Partition:
    """The parts of a graph, as many as are asked for, or at most ``most``, as many as stand out.

    Each holds at least ``min_share`` of an equal share.  Where parts are asked for, those of more than ``n_near`` points
    that are joined with nothing come first.
    """
    graph, places = built.kernel, _places(built)
    least = min_share * places.sum()
    core, inner, enough = _core(graph, places, least / (n_parts or most), n_parts, n_near)
    n_vectors = min((n_parts or most) + _SPARE + _BEYOND, len(core))
    spectrum = smooth_spectrum(inner, n_vectors, markov=True, n_jobs=n_jobs)
    cutter = _Cutter.of(inner, spectrum, places[core])
    with one_blas_thread:
        cuts = _cuts(cutter, n_parts or 2, n_parts or most, least)
    if n_parts is not None:
        k, status = n_parts, ClusterStatus.GIVEN
    elif spectrum.n_components > most:
        k, status = most, ClusterStatus.MORE
    else:
        k, status = _number(cuts)
    if k > 1:
        cuts[k] = _divided(cutter, k, cuts.get(k), enough if n_parts is not None else least / k)
        inside = cuts[k].labels
    else:
        core, *_ = _core(graph, places, least, 1, n_near)
        inside = np.zeros(len(core), dtype=int)
    if status is ClusterStatus.NO_GAP and cuts[k].strength >= _STANDS_OUT:
        status = ClusterStatus.STAND_OUT
    if status is ClusterStatus.STAND_OUT and (places.sum() < _FEW_POINTS or _on_a_line(built)):
        status = ClusterStatus.PERHAPS
    labels = np.full(graph.n_points, -1)
    labels[core] = inside
    return Partition(
        labels=_ranked(_joined(labels, built), graph.multiplicity),
        outliers=labels < 0,
        status=status,
        strengths={} if n_parts is not None else {size: cuts[size].strength for size in sorted(cuts)},
        eigenvalues=cutter.eigenvalues,
    )


def _core(
    graph: KernelGraph, places: np.ndarray, least: float, k: int | None, n_near: int
) -> tuple[np.ndarray, KernelGraph, float]:
    """The points in components that are large enough for a cluster, their graph, and what is enough: ``least``, or less.

    Where so many clusters are asked for that every component of some size may be one, these are; and where the others
    together would be enough for a cluster, the largest of them are, until they are not.
    """
    n, components = graph.n_points, graph_components(graph)
    sizes, enough = np.bincount(components, places), least
    some = np.sort(sizes[sizes > n_near])
    if k is not None and 1 < len(some) <= k:
        enough = min(enough, some[0])
    while k is not None and (smaller := some[some < enough]).size and sizes[sizes < enough].sum() >= least:
        enough = smaller[-1]
    core = np.flatnonzero(sizes[components] >= enough)
    if len(core) == n or len(core) < max(k or 0, 3):
        return np.arange(n), graph, enough
    return core, graph.restricted(core), enough


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

    @classmethod
    def of(cls, graph: KernelGraph, spectrum: Spectrum, places: np.ndarray) -> "_Cutter":
        vectors = spectrum.vectors * np.sqrt(spectrum.mass)[:, None]
        return cls(graph, 0.25 * graph.bandwidth**2 * spectrum.eigenvalues, vectors, places)

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


def _cuts(cutter: _Cutter, fewest: int, most: int, least: float) -> dict[int, _Cut]:
    """For each number of parts by pivoted QR that are large enough, those with the largest Υ."""
    cuts: dict[int, _Cut] = {}
    for tried in range(max(fewest, 2), len(cutter.eigenvalues)):
        parts = cutter.by_pivots(tried)
        sizes = np.bincount(parts, cutter.places)
        k = int(np.flatnonzero(sizes * np.arange(1, len(sizes) + 1) >= least).max(initial=-1)) + 1
        if k > most:
            break
        if k > 1:
            cut = cutter.cut(parts, k, tried)
            cuts[k] = max(cut, cuts.get(k, cut), key=lambda one: (one.strength, one.mean))
    return cuts


def _divided(cutter: _Cutter, k: int, other: _Cut | None, enough: float) -> _Cut:
    """By k-means: more parts until k are large enough, or else the k largest; another cut if only that stands out."""
    for tried in range(k, min(k + _SPARE, len(cutter.vectors)) + 1):
        parts = cutter.by_means(tried)
        suffices = (np.bincount(parts, cutter.places) >= enough).sum() >= k
        if suffices or tried == k:
            best = cutter.cut(parts, k, tried)
        if suffices:
            break
    return other if other is not None and best.strength < _STANDS_OUT <= other.strength else best


def _number(cuts: dict[int, _Cut]) -> tuple[int, ClusterStatus]:
    """The finest division that stands out; else the best, or one piece."""
    if standing := [k for k, cut in cuts.items() if cut.strength >= _STANDS_OUT]:
        return max(standing), ClusterStatus.STAND_OUT
    mean, best = max(((cut.mean, k) for k, cut in cuts.items()), default=(0.0, 1))
    return (best, ClusterStatus.NO_GAP) if mean >= _ONE_PIECE else (1, ClusterStatus.ONE_PIECE)


def _on_a_line(built: BuiltGraph) -> bool:
    return built.points is not None and built.points.shape[1] == 1


def _places(built: BuiltGraph) -> np.ndarray:
    """What each point counts for: duplicates together for one, so that they are no cluster of their own."""
    if built.points is None:
        return np.ones(built.kernel.n_points)
    A: Any = built.points
    if on_device(A):
        _, place, counts = A.unique(dim=0, return_inverse=True, return_counts=True)
        return 1.0 / host_array(counts[place])
    A = row_keys(A) if sparse.issparse(A) else A
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
    nearest = built.nearest_among(left, inside)
    if nearest is not None:  # a part stays in one piece
        part = np.unique(graph_components(built.kernel)[left], return_inverse=True)[1]
        votes = np.zeros((part.max() + 1, labels.max() + 1))
        np.add.at(votes, (part, labels[nearest]), 1.0)
        labels[left] = votes.argmax(axis=1)[part]
    elif left.size:  # no distance tells where these belong
        labels[left] = np.bincount(labels[inside]).argmax()
    return labels
