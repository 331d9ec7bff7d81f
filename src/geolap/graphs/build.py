"""Builders: points, a skeleton and a bandwidth in, a graph out; nothing is kept elsewhere.

Which pairs the graph stores is decided by size unless the specification says it: all of them up to 5000 points, a full
matrix; beyond, those within a cut-off of a few ε, a sparse matrix.  If even those are too many, a random share of them,
weighted up (`geolap.graphs.thinning`).  A graph over landmarks has the degrees of all points, and needs no more than a
sample of these here.

A graph over points on a GPU is stored there.  The cut-off is the same, and its memory decides what is too much: some ten
thousand points have a full matrix, with zeros beyond the cut-off.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.metrics import pairwise_distances_argmin

from ..data.distances import Distances, Metric
from ..data.multiplicity import copies_of, own_weight
from ..data.pairs import Pairs
from ..data.points import Points, chunk_around, host_array, in_unit, is_chunked, not_finite, on_device, spread_rows
from ..engines.base import NO_NEIGHBORS
from ..engines.cost import MOST_ENTRIES, MOST_POINTS_OF_FULL, UNTHINNED_ENTRIES, graph_memory
from ..engines.gaussian_cells import neighborhood_share
from ..kernel import gaussian
from ..laplacian import density_weights
from ..runtime.caching import cached_property
from ..runtime.memory import require_memory
from ..selection import Selection
from ..sentences import refusal
from ..validation import check_random_state
from .drawing import thinned_pairs
from .graph import KernelGraph, kernel_graph
from .neighbors import all_pairs, pairs_within
from .skeleton import Skeleton
from .thinning import WIDER, Thinning, planned_thinning, thinning_error

__all__ = [
    "MOST_LANDMARKS",
    "BuiltGraph",
    "build_graph",
    "drawn_landmarks",
    "landmark_graph",
    "one_of_each",
]

# On a GPU it is as long as it takes this share of the free memory, if more than the second share of its entries count; a
# sparse one takes so many bytes for each entry while it is built.
_SHARE_OF_MEMORY, _SHARE_OF_FULL, _BYTES_THERE = 0.4, 0.1, 200.0
# A cut-off chosen by size drops at most this share of the weight that neighbors have.
_MOST_DROPPED = 0.01
_CUTOFFS = (3.0, 3.5, 4.0, 5.0, 6.5)
# Rows on which a cut-off is tried, the fewer the more points there are.
_ROWS_TRIED, _FEWEST_ROWS_TRIED, _ENTRIES_TRIED = 200, 32, 2**25
# Landmarks of a dask array: so many that an effective neighborhood holds the first number of them, within these limits; they
# are drawn from a sample of at least so many rows, and so many for each landmark.
_LANDMARKS_NEAR, _FEWEST_LANDMARKS, MOST_LANDMARKS = 100, 5000, 20_000
_DRAWN, _DRAWN_FOR_EACH = 2**17, 4


@dataclass(frozen=True)
class BuiltGraph:
    """A graph, and what it takes to join new points to it.

    Attributes
    ----------
    kernel : KernelGraph
    points : ndarray, csr_array or tensor (N, n_features), or None
        The points that carry the graph, a copy, on a GPU if the graph is there; None if distances were given.
    metric : str or callable
        By which new points are joined.
    finder : transformer or None
        Finds neighbors of new points, if one found those of the graph.
    cutoff, n_neighbors : float, int or None
        Which pairs the graph stores.
    dropped_weight : float or None
        Share of the neighbors' weight in pairs that are not stored, over sampled rows; None if no others are known.
    thinning : Thinning or None
        How the pairs within reach were thinned; None if all are stored.
    landmarks : ndarray or None
        Which of the points given carry the graph, ascending; None if all do.
    selection : Selection or None
        How the bandwidth was chosen, unless it was given.
    """

    kernel: KernelGraph
    points: Any = None
    metric: Metric = "euclidean"
    finder: Any = None
    cutoff: float | None = None
    n_neighbors: int | None = None
    dropped_weight: float | None = None
    thinning: Thinning | None = None
    landmarks: np.ndarray | None = None
    selection: Selection | None = None

    def for_extension(self) -> "BuiltGraph":
        """What joins new points, without the matrix of the graph."""
        return replace(self, kernel=replace(self.kernel, weights=self.kernel.weights[:0, :0]), selection=None)

    @property
    def has_coordinates(self) -> bool:
        """Whether points were given, and their straight distances are those of the graph."""
        return self.points is not None and not sparse.issparse(self.points) and self.metric == "euclidean"

    def nearest_among(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray | None:
        """Which of some other points is nearest to each of some; None if no distances are known."""
        if not len(rows) or not len(others) or self.points is None:
            return None
        points = host_array(self.points) if on_device(self.points) else self.points
        return others[pairwise_distances_argmin(points[rows], points[others], metric=self.metric)]

    @cached_property
    def on_host(self) -> "BuiltGraph":
        """The same in the memory of the host; itself, unless it is on a device."""
        return replace(self, kernel=self.kernel.on_host, points=host_array(self.points)) if on_device(self.points) else self


def build_graph(
    points: Points, skeleton: Skeleton, bandwidth: float, *, degrees: np.ndarray | None = None, random_state: Any = None
) -> BuiltGraph:
    """The graph over all points at one bandwidth; chance decides only which pairs are stored where they are thinned.

    ``degrees`` (N,) are given where more points than these make them up.
    """
    spec = skeleton.spec
    pairs, cutoff, thinning = _stored(points, skeleton, bandwidth, random_state)
    if not 1e-150 < bandwidth < 1e150 or bandwidth < 1e-140 * pairs.unit:
        raise ValueError(
            f"A Laplacian scales with 1/ε², which must be a finite number; the bandwidth is {bandwidth:.1g} and points are "
            f"up to about {pairs.unit:.1g} apart: rescale the data, or remove outliers."
        )
    kernel = kernel_graph(
        pairs,
        bandwidth,
        renormalization=spec.renormalization,
        self_weights=spec.self_weights,
        cutoff=cutoff if thinning is None else None,
        scale=skeleton.scale,
        degrees=degrees,
        multiplicity=points.multiplicity,
        dtype=np.float32 if points.dtype == np.float32 and 1e-15 < bandwidth < 1e15 else float,
    )
    if thinning is not None:
        thinning = _as_found(thinning, pairs, kernel, spec.renormalization if degrees is None else 0.0)
    return BuiltGraph(
        kernel,
        points=points.kept(),
        finder=skeleton.finder,
        cutoff=cutoff,
        n_neighbors=spec.n_neighbors,
        dropped_weight=_dropped_weight(points, kernel, cutoff, thinning is not None),
        thinning=thinning,
    )


def drawn_landmarks(
    points: Points,
    n_landmarks: int | None,
    *,
    random_state: Any,
    bandwidth: float | None = None,
    always: np.ndarray | None = None,
) -> tuple[np.ndarray, Points]:
    """Rows of landmarks, ascending, one of each cell of a k-d tree and ``always``; and these points.

    Of a dask array the tree is that of a sample.  By default there are as many as the bandwidth asks for.
    """
    rng, pool = check_random_state(random_state), np.arange(len(points))
    always = pool[:0] if always is None else always
    if is_chunked(points.given):
        most = max(_DRAWN, _DRAWN_FOR_EACH * (n_landmarks or 0))
        pool = pool if len(pool) <= most else one_of_each(len(pool), most, rng)
        rows = np.union1d(pool, always)
        near = points.subset(rows)
        bad = rows[~np.isfinite(near.given).all(axis=1)]
        if len(bad):
            raise not_finite(*chunk_around(bad[0], points.given.chunks[0]))
        pooled = near.subset(np.searchsorted(rows, pool))
    else:
        rows, near, pooled = pool, points, points
    if n_landmarks is None:
        n_landmarks = min(_landmarks_for(pooled, bandwidth), len(pool))
    places = one_of_each(len(pool), n_landmarks, rng)
    chosen = np.union1d(pool[cKDTree(pooled.box, leafsize=8).indices[places]], always)
    return chosen, near.taken(np.searchsorted(rows, chosen))


def one_of_each(n: int, n_parts: int, rng: np.random.RandomState) -> np.ndarray:
    """A random one of each of so many equal stretches of n numbers."""
    starts = np.arange(n_parts + 1) * n // n_parts
    return starts[:-1] + rng.randint(0, np.diff(starts))


def _landmarks_for(points: Points, bandwidth: float | None) -> int:
    """As many landmarks as neighborhoods need, which are looked at in a sample of all points."""
    if bandwidth is None:
        return MOST_LANDMARKS
    eps = in_unit([bandwidth], points.unit)[0]
    share = neighborhood_share(points.sqdist(spread_rows(len(points), _FEWEST_ROWS_TRIED)), eps)
    return int(np.clip(_LANDMARKS_NEAR / share, _FEWEST_LANDMARKS, MOST_LANDMARKS))


def landmark_graph(
    points: Points,
    skeleton: Skeleton,
    bandwidth: float,
    n_landmarks: int | None,
    *,
    random_state: Any,
    always: np.ndarray | None = None,
) -> BuiltGraph:
    """The graph over landmarks, a stratified sample of the points and ``always``; its degrees are those of all points."""
    engine = skeleton.engine(points)  # which looks at all points before some are drawn
    rows, some = drawn_landmarks(points, n_landmarks, random_state=random_state, bandwidth=bandwidth, always=always)
    sums = engine.row_sums(np.array([bandwidth]), rows)
    degrees = (sums + float(skeleton.spec.self_weights) * own_weight(points.multiplicity, rows))[:, 0]
    degrees *= 1.0 if some.multiplicity is None else some.multiplicity
    if some.distinct(3) < 3:
        raise refusal(
            "At least three landmarks must be at distinct positions; the {n} drawn have {found}: raise {n_landmarks}, "
            "or remove duplicates.",
            n=len(rows),
            found=some.distinct(3),
        )
    scale = skeleton.scale and replace(skeleton.scale, rho=skeleton.scale.rho[rows])
    built = build_graph(some, replace(skeleton, scale=scale), bandwidth, degrees=degrees, random_state=random_state)
    return replace(built, landmarks=rows)


def _stored(
    points: Points, skeleton: Skeleton, bandwidth: float, random_state: Any
) -> tuple[Pairs, float | None, Thinning | None]:
    """The pairs that the graph stores, over √(ρ_i ρ_j), its cut-off, and how they were thinned."""
    spec, rho, n = skeleton.spec, None if skeleton.scale is None else skeleton.scale.rho, len(points)
    if not isinstance(spec.n_edges, str) and isinstance(points, Distances) and points.coordinates is None:
        raise refusal(
            "Thinning applies to points with coordinates; {n_edges} = {n} was given for points that are known by their "
            "distances: leave it out, or set {n_neighbors}.",
            n=spec.n_edges,
        )
    full = spec.cutoff is None and n <= MOST_POINTS_OF_FULL
    most = _most_entries(points) if isinstance(spec.n_edges, str) else n * (spec.n_edges + 1)
    if skeleton.pairs is not None or (full and n * n <= most):
        pairs = all_pairs(points, n_jobs=spec.n_jobs) if skeleton.pairs is None else skeleton.pairs
        return pairs if rho is None else pairs.scaled(rho), spec.cutoff, None
    rows = _some_rows(n)
    eps, sqdist, W = _full_rows(points, rows, bandwidth, rho)
    for cutoff in (np.inf,) if full else _CUTOFFS if spec.cutoff is None else (spec.cutoff,):
        inside = sqdist <= (cutoff * eps) ** 2
        if (W * ~inside).sum() <= _MOST_DROPPED * W.sum():
            break
    entries = float(inside.sum()) * n / len(rows)
    if isinstance(spec.n_edges, str) and entries > _SHARE_OF_FULL * n * n and _fits_in_full(points):
        pairs = all_pairs(points)
        return pairs if rho is None else pairs.scaled(rho), cutoff, None
    thins = spec.n_edges == "auto" and points.multiplicity is None and not points.on_gpu
    if entries <= (min(most, UNTHINNED_ENTRIES) if thins else most):
        _require_memory(points, entries, f"A graph of about {entries:.1e} entries")
        pairs = pairs_within(points, cutoff * bandwidth, rho=rho, narrowest=bandwidth, n_jobs=spec.n_jobs)
        return pairs, cutoff, None
    if spec.n_edges == "all":
        raise refusal(
            "A graph may have {most:.0e} entries; cut off at {cutoff:g}·ε = {radius:.4g} this one would have about "
            "{entries:.1e} ({size:.1f} GiB, and several times that during construction): set {n_edges} to a number or "
            "to 'auto', or use a smaller cutoff or bandwidth.",
            most=MOST_ENTRIES,
            cutoff=cutoff,
            radius=cutoff * bandwidth,
            entries=entries,
            size=12 * entries / 2**30,
        )
    if points.multiplicity is not None:
        raise refusal(
            "Graphs of weighted points are not thinned; {sample_weight} was given, with {entries:.1e} pairs within "
            "reach: set {n_neighbors} or {n_landmarks}, or a smaller bandwidth.",
            entries=entries,
        )
    sums = skeleton.engine(points).row_sums(bandwidth * np.array([1.0, WIDER]))
    density = density_weights(sums[:, 0] + 1.0, renormalization=spec.renormalization, scale=skeleton.scale)
    thinning = planned_thinning(
        W * inside,
        sqdist,
        rows,
        sums=sums[:, 1],
        density=density,
        renormalization=spec.renormalization,
        n_edges=spec.n_edges,
        most=most / n - 1.0,
    )
    _require_memory(points, n * (thinning.n_edges + 1.0), f"A graph of {n} points with {thinning.n_edges:.0f} edges each")
    pairs = thinned_pairs(points, bandwidth, thinning, cutoff=cutoff, rho=rho, random_state=random_state, n_jobs=spec.n_jobs)
    return pairs, None if full else cutoff, thinning


def _as_found(thinning: Thinning, pairs: Pairs, kernel: KernelGraph, renormalization: float) -> Thinning:
    """Edges and error of the graph itself instead of those that were planned."""
    W: Any = kernel.weights
    error = thinning_error(W, pairs, density=kernel.density, renormalization=renormalization)
    return replace(thinning, n_edges=W.nnz / W.shape[0] - 1.0, error=error)


def _some_rows(n_points: int) -> np.ndarray:
    most = min(_ROWS_TRIED, max(_FEWEST_ROWS_TRIED, _ENTRIES_TRIED // n_points))
    return np.random.default_rng(0).choice(n_points, min(n_points, most), replace=False)


def _full_rows(points: Points, rows: np.ndarray, bandwidth: float, rho: np.ndarray | None) -> tuple[float, Any, Any]:
    """Bandwidth, squared distances (n, N) over ρ_i ρ_j in one unit, and weights without the points' own, where they are."""
    sqdist: Any
    if points.on_gpu:
        from .device_pairs import rows_there

        eps, sqdist = in_unit([bandwidth], points.there[1])[0], rows_there(points, rows, rho)
    else:
        eps, sqdist = in_unit([bandwidth], points.unit)[0], points.sqdist(rows)
        sqdist = sqdist if rho is None else sqdist / (rho[rows][:, None] * rho)
    with np.errstate(under="ignore"):
        W = gaussian(sqdist, eps)
    W[np.arange(len(rows)), rows] = 0.0
    if points.multiplicity is not None:
        W *= points.multiplicity
        W[np.arange(len(rows)), rows] = copies_of(points.multiplicity, rows)[:, 0]
        W *= points.multiplicity[rows][:, None]
    return eps, sqdist, W


def _dropped_weight(points: Points, kernel: KernelGraph, cutoff: float | None, thinned: bool) -> float | None:
    if not sparse.issparse(kernel.weights) and not getattr(kernel.weights, "is_partial", False):
        return 0.0
    if points.partial:
        return None
    rows = _some_rows(len(points))
    rho = None if kernel.scale is None else kernel.scale.rho
    eps, sqdist, W = _full_rows(points, rows, kernel.bandwidth, rho)
    if thinned:  # what is stored stands for all within the cut-off
        kept = W[sqdist <= (np.inf if cutoff is None else cutoff * eps) ** 2].sum()
    else:
        own = kernel.weights.diagonal()[rows] - host_array(W[np.arange(len(rows)), rows])  # without copies of the point
        kept = (kernel.weights @ np.ones(len(points)))[rows].sum() - own.sum()
    return float(np.clip(1.0 - float(kept) / max(float(W.sum()), NO_NEIGHBORS), 0.0, 1.0))


def _most_entries(points: Points) -> float:
    """Entries of a graph that are stored, at most."""
    return _free_there(points) / _BYTES_THERE if points.on_gpu else MOST_ENTRIES


def _fits_in_full(points: Points) -> bool:
    """Whether all pairs of points on a GPU fit there; on a host they are too many, or have been stored already."""
    return points.on_gpu and 8.0 * len(points) ** 2 <= _SHARE_OF_MEMORY * _free_there(points)


def _free_there(points: Points) -> float:
    from .device import free_memory

    return free_memory(points.given.device)


def _require_memory(points: Points, entries: float, what: str) -> None:
    if not points.on_gpu:
        require_memory(graph_memory(entries), what, "set {n_edges} or {n_landmarks}")
