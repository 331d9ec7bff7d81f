"""Which pairs of points a graph stores: all of them, those within a radius, or the nearest neighbors of each point.

Those of points on a GPU are found and stored there (`geolap.graphs.device_pairs`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances

from ..data.distances import Distances
from ..data.pairs import ZERO, Pairs
from ..data.points import Points, PointsLike, as_points, host_array, in_unit, in_unit_box, spread_pieces
from ..engines.blocks import Block, blocks, tree_order
from ..kernel import gaussian
from ..runtime.caching import cached_property
from ..runtime.threads import Scratch, heard, in_order, thread_count
from ..sentences import Sentence
from ..validation import check_number

__all__ = [
    "AllPairs",
    "all_pairs",
    "fitted_neighbors",
    "matrix_of_tiles",
    "nearest_distances",
    "nearest_neighbors",
    "nearest_pairs",
    "pairs_within",
    "search_seconds",
    "tiles_within",
]

# Up to this many features a k-d tree is faster than looking at all pairs.
_FEATURES_FOR_TREE = 15
# Up to this many, all distances are found sooner by differences than by products, of which close pairs need differences too.
_FEATURES_FOR_DIFFERENCES = 50
_SIDE = 768
# Points of a tile of distances that are found by differences.
_TILE = 256
# Beyond this many points, and with more features than for a tree, faiss looks into this fraction of its cells.
_POINTS_FOR_FAISS, _SHARE_OF_CELLS = 50_000, 16
# Points that one call of a tree answers for, rows that are worked on together, and numbers held at once by a comparison.
_QUERIES, _ROWS, _HELD = 2**11, 2**12, 2**24
# Groups of queries that a forecast is made from.
_TIMED = 8
# The relative error of a squared distance to the farthest neighbor beyond which it is found by differences.
_RELATIVE_ERROR = 1e-9

# Distances that agree to this share are equal, whatever the unit; and of how many of a point's neighbors that is looked at.
_TIED, _MOST_TIED = 1e-9, 512

# Distances (n, k) and columns (n, k).
_Found = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class AllPairs:
    """All pairs of points: nothing is stored before it is asked for.

    Tiles of one half of the matrix, which stay in the cache of a core, are the other half as well.
    """

    X: np.ndarray
    unit: float
    n_jobs: int | None = None
    rho: np.ndarray | None = None

    @property
    def sqdist(self) -> Any:
        return self.host.sqdist

    @cached_property
    def host(self) -> Pairs:
        """The same with distances that are stored, for weights at several bandwidths."""
        return Pairs(self._filled(lambda sqdist: sqdist, float), self.unit)

    @cached_property
    def order(self) -> np.ndarray:
        """The points in the order of a k-d tree."""
        return tree_order(self.X)

    def scaled(self, rho: np.ndarray) -> "AllPairs":
        """Distances over √(ρ_i ρ_j)."""
        return replace(self, rho=rho)

    def weights(self, bandwidth: float, *, cutoff: float | None = None, dtype: Any = float) -> np.ndarray:
        """W of every pair, 1 on the diagonal."""
        eps = in_unit([bandwidth], self.unit)[0]
        return self._filled(lambda sqdist: gaussian(sqdist, eps, cutoff=cutoff), dtype)

    def _filled(self, function: Callable[[np.ndarray], np.ndarray], dtype: Any) -> np.ndarray:
        """A function of the squared distances of all pairs (N, N)."""
        X, rho, n = self.X, self.rho, len(self.X)
        full = np.empty((n, n), dtype=dtype)

        def of(tile: tuple[slice, slice]) -> None:
            I, J = tile
            sqdist = cdist(X[I], X[J], "sqeuclidean")
            if rho is not None:
                sqdist /= rho[I, None] * rho[J]
            found = full[I, J] = function(sqdist)
            if I != J:
                full[J, I] = found.T

        parts = [slice(start, start + _TILE) for start in range(0, n, _TILE)]
        for _ in in_order(of, [(I, J) for k, I in enumerate(parts) for J in parts[k:]], n_jobs=self.n_jobs):
            pass
        return full


def all_pairs(X: PointsLike, *, n_jobs: int | None = None) -> Any:
    """All pairs, as a full matrix."""
    points = as_points(X)
    if isinstance(points, Distances):
        return points.searched(n_jobs).pairs
    if points.on_gpu:
        from .device_pairs import AllPairsThere

        return AllPairsThere(*points.there)
    X, unit = points.box, points.unit
    if X.shape[1] <= _FEATURES_FOR_DIFFERENCES:
        return AllPairs(X, unit, n_jobs)
    sqdist = np.empty((len(X), len(X)))
    parts, order = blocks(X, _SIDE)
    scratch = Scratch()

    def of(tile: tuple[Block, Block]) -> None:
        I, J = tile
        # By differences wherever a bandwidth as narrow as the closest pair would notice.
        found = I.sqdist(J, 0.0, out=scratch.array("sqdist", (len(I.points), len(J.points))))
        sqdist[np.ix_(order[I.rows], order[J.rows])] = found if I is not J else 0.5 * (found + found.T)
        if I is not J:
            sqdist[np.ix_(order[J.rows], order[I.rows])] = found.T

    tiles = [(I, J) for k, I in enumerate(parts) for J in parts[k:]]
    for _ in in_order(of, tiles, n_jobs=n_jobs, label="distances"):
        pass
    np.fill_diagonal(sqdist, 0.0)
    return Pairs(sqdist, unit)


def pairs_within(
    X: PointsLike,
    radius: float,
    *,
    rho: np.ndarray | None = None,
    narrowest: float | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Pairs at most ``radius`` apart (over √(ρ_i ρ_j)), by tiles of points that stand together.

    Distances are accurate enough for bandwidths from ``narrowest`` (by default a tenth of the radius) on.
    """
    points = as_points(X)
    if points.on_gpu:
        from .device_pairs import pairs_within_there

        return pairs_within_there(points, radius, rho=rho)
    if isinstance(points, Distances) and points.coordinates is None:
        pairs = points.pairs if rho is None else points.pairs.scaled(rho)
        near = np.nonzero(pairs.sqdist <= in_unit([radius], pairs.unit)[0] ** 2)
        sqdist = sparse.csr_array((np.maximum(pairs.sqdist[near], ZERO), near), shape=pairs.sqdist.shape)
        return replace(pairs, sqdist=sqdist)
    X, unit = points.box, points.unit
    radius, narrowest = in_unit([radius, narrowest or 0.1 * radius], unit)
    parts, order = blocks(X, _SIDE, rho)
    scratch = Scratch()

    def of(tile: tuple[Block, Block]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        I, J = tile
        sqdist = I.sqdist(J, narrowest, out=scratch.array("sqdist", (len(I.points), len(J.points))))
        if I is J:
            np.fill_diagonal(sqdist, 0.0)
        row, column = np.nonzero(sqdist <= radius**2)
        if I is J:  # each pair once
            upper = row <= column
            row, column = row[upper], column[upper]
        return row.astype(np.int16), column.astype(np.int16), np.maximum(sqdist[row, column], ZERO)

    tiles = [(I, J) for I, J, _ in tiles_within(parts, radius)]
    found = list(in_order(of, tiles, n_jobs=n_jobs, label="pairs within the cut-off"))
    return Pairs(matrix_of_tiles(tiles, found, order.astype(np.int32)), unit, order=order)


def tiles_within(parts: list[Block], radius: float) -> list[tuple[Block, Block, float]]:
    """Pairs of blocks at most ``radius`` apart, each once, with a lower bound on the distance of their points."""
    low, high = np.array([I.low for I in parts]), np.array([I.high for I in parts])
    widest = np.array([1.0 if I.rho is None else I.rho.max() for I in parts])
    found = []
    for k, I in enumerate(parts):
        gap = np.linalg.norm(np.maximum(np.maximum(low[k:] - high[k], low[k] - high[k:]), 0.0), axis=1)
        gap /= np.sqrt(widest[k] * widest[k:])
        found += [(I, parts[k + j], float(gap[j])) for j in np.flatnonzero(gap <= radius)]
    return found


def matrix_of_tiles(
    tiles: list[tuple[Block, Block]], found: list[tuple[np.ndarray, np.ndarray, np.ndarray]], order: np.ndarray
) -> sparse.csr_array:
    """The symmetric matrix of what was found in tiles: rows, ascending, and columns in their blocks, and values.

    Every tile of a block with itself holds its diagonal, and each pair once.
    """
    counts = np.zeros(len(order), dtype=np.int64)
    for (I, J), (row, column, _) in zip(tiles, found, strict=True):
        counts[order[I.rows]] += np.bincount(row, minlength=len(I.points))
        counts[order[J.rows]] += np.bincount(column, minlength=len(J.points))
    counts -= 1  # the diagonal was counted twice
    ends = np.concatenate([[0], np.cumsum(counts)])
    index = np.int32 if ends[-1] < 2**31 else np.int64
    indices, data, free = np.empty(ends[-1], dtype=index), np.empty(ends[-1]), ends[:-1].copy()

    def place(rows: np.ndarray, columns: np.ndarray, local: np.ndarray, other: np.ndarray, values: np.ndarray) -> None:
        """Append the entries, sorted by ``local``, to their rows."""
        count = np.bincount(local, minlength=len(rows))
        at = (free[rows] - np.cumsum(count) + count)[local] + np.arange(len(local))
        indices[at], data[at] = columns[other], values
        free[rows] += count

    for (I, J), (row, column, values) in zip(tiles, found, strict=True):
        place(order[I.rows], order[J.rows], row, column, values)
        if I is J:
            off = row != column
            row, column, values = row[off], column[off], values[off]
        across = np.argsort(column, kind="stable")
        place(order[J.rows], order[I.rows], column[across], row[across], values[across])
    return sparse.csr_array((data, indices, ends.astype(index)), shape=(len(order), len(order)))


def nearest_pairs(X: PointsLike, n_neighbors: int, *, n_jobs: int | None = None) -> Any:
    """Pairs of which one is among the ``n_neighbors`` nearest of the other."""
    points = as_points(X)
    _check_neighbors(points, n_neighbors)
    if points.on_gpu:
        from .device_pairs import nearest_pairs_there

        return nearest_pairs_there(points, n_neighbors)
    distances, columns = nearest_neighbors(points, n_neighbors, n_jobs=n_jobs)
    unit = float(distances.max()) or 1.0
    distances /= unit
    np.square(distances, out=distances)
    np.maximum(distances, ZERO, out=distances)
    return Pairs(_of_either(distances, columns), unit)


def _of_either(sqdist: np.ndarray, columns: np.ndarray) -> sparse.csr_array:
    """The symmetric graph of neighbors (N, k), each row with its diagonal: only what one side misses is ever copied."""
    n, k = columns.shape
    some = max(1, _HELD // k**2)
    missed = np.empty((n, k), dtype=bool)
    for first in range(0, n, some):
        rows = np.arange(first, min(first + some, n), dtype=columns.dtype)
        missed[rows] = ~(columns[columns[rows]] == rows[:, None, None]).any(axis=2)
    row, place = np.nonzero(missed)
    back = sparse.coo_array((sqdist[row, place], (columns[row, place], row)), shape=(n, n)).tocsr()
    ends = back.indptr + (k + 1) * np.arange(n + 1, dtype=np.int64)
    index = np.int32 if ends[-1] < 2**31 else np.int64  # the narrower is what most solvers accept
    indices, data = np.empty(ends[-1], dtype=index), np.empty(ends[-1])
    for first in range(0, n, _ROWS):
        rows = np.arange(first, min(first + _ROWS, n))
        near = ends[rows, None] + np.arange(k + 1)
        indices[near[:, 0]], data[near[:, 0]] = rows, ZERO
        indices[near[:, 1:]], data[near[:, 1:]] = columns[rows], sqdist[rows]
        entries = slice(back.indptr[rows[0]], back.indptr[rows[-1] + 1])
        at = np.arange(entries.start, entries.stop) + np.repeat(
            (k + 1) * (rows + 1), np.diff(back.indptr[first : rows[-1] + 2])
        )
        indices[at], data[at] = back.indices[entries], back.data[entries]
    return sparse.csr_array((data, indices, ends.astype(index)), shape=(n, n))


def nearest_neighbors(
    X: PointsLike, n_neighbors: int, *, rows: np.ndarray | None = None, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Distances (n, k) to the k nearest other points, ascending, and which points they are (n, k), for all points or some.

    Points at the same distance are in an order that depends neither on the unit nor on the order of rows, except for copies,
    distances that were given, points on a GPU, faiss, and where more than 512 are as near as the last of the neighbors.

    Exact, unless those of all of more than 50 000 points in more than 15 dimensions are asked for and faiss is installed:
    then distances are exact, but a few neighbors may be missed.
    """
    points = as_points(X)
    _check_neighbors(points, n_neighbors)
    if isinstance(points, Distances):
        return points.nearest(n_neighbors, rows=rows, n_jobs=n_jobs)
    if points.on_gpu:
        from .device_pairs import nearest_there

        distances, columns = (host_array(found) for found in nearest_there(points, n_neighbors))
        some = slice(None) if rows is None else rows
        return points.there[1] * distances[some], columns[some]
    everyone, (n, n_features) = rows is None, points.box.shape
    if n_features <= _FEATURES_FOR_TREE:
        search = _nearest_by_tree
    elif everyone and n > _POINTS_FOR_FAISS and find_spec("faiss") is not None:
        search = _nearest_by_faiss
    else:
        search = _nearest_by_brute_force
    rows = np.arange(n) if rows is None else rows
    distances, columns = search(points, rows, n_neighbors + 1, n_jobs)
    # The point itself comes first, unless duplicates crowd it out: then the last of them goes.
    own = columns == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return distances[~own].reshape(len(rows), -1) * points.unit, columns[~own].reshape(len(rows), -1)


def _check_neighbors(points: Points, n_neighbors: Any) -> None:
    check_number("n_neighbors", n_neighbors, Integral, low=1)
    if n_neighbors >= len(points):
        raise ValueError(
            Sentence(
                "{n_neighbors} must be less than the number of points; {k} was given for {n} points: lower it.",
                k=n_neighbors,
                n=len(points),
            )
        )


def nearest_distances(X: PointsLike, n_neighbors: int, *, n_jobs: int | None = None) -> sparse.csr_array:
    """Distances to the k nearest other points, as a matrix of which each row stores k."""
    distances, columns = nearest_neighbors(X, n_neighbors, n_jobs=n_jobs)
    n, k = columns.shape
    return sparse.csr_array((distances.ravel(), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def _by_groups(
    nearest: Callable[[np.ndarray, int], _Found],
    rows: np.ndarray,
    together: int,
    k: int,
    n_jobs: int | None,
    order: np.ndarray | None = None,
) -> _Found:
    """Distances and columns (n, k) from ``nearest(rows, k)`` of groups of rows in an order, on threads."""
    distances, columns = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int32)
    order = np.arange(len(rows)) if order is None else order
    groups = np.split(order, np.arange(together, len(rows), together))
    found = in_order(lambda group: nearest(rows[group], k), groups, n_jobs=n_jobs, label=f"{k - 1} nearest neighbors")
    for group, (some, which) in zip(groups, found, strict=True):
        distances[group], columns[group] = some, which
    return distances, columns


def _nearest_by_tree(points: Points, rows: np.ndarray, k: int, n_jobs: int | None) -> _Found:
    X = points.box
    tree, ties = heard(cKDTree, X), _Ties(points, lambda rows, width: tree.query(X[rows], width))
    # Points that are close together use the same memory.
    near = np.argsort(np.argsort(tree.indices)[rows])
    return _by_groups(ties.nearest, rows, _QUERIES, k, n_jobs, near)


@dataclass(frozen=True)
class _Ties:
    """Nearest points by ``query(rows, width)``, of which those at the same distance are in an order of all points."""

    points: Points
    query: Callable[[np.ndarray, int], _Found]

    @cached_property
    def _rank(self) -> np.ndarray:
        """An order of all points, with no direction, that depends neither on the unit nor on the order of rows."""
        points, rng = self.points, np.random.default_rng(0)
        X = points.box if points.box.shape == points.shape else in_unit_box(points.host)[0]
        rank = np.empty(len(X), dtype=np.int64)
        rank[np.argsort(np.einsum("nr,r->n", X, rng.standard_normal(X.shape[1])))] = rng.permutation(len(X))
        return rank

    def nearest(self, rows: np.ndarray, k: int) -> _Found:
        """Distances and columns of the k nearest (n, k)."""
        n, r = self.points.box.shape
        width = min(k + 1, n)
        distances, columns = self.query(rows, width)
        left = np.flatnonzero(_equal(distances[:, 1:], distances[:, :-1]).any(axis=1))
        found = distances[left], columns[left]
        distances, columns = distances[:, :k].copy(), columns[:, :k].copy()
        while left.size:
            last = found[0][:, k - 1]
            # Copies are like each other: it does not matter which of them are neighbors.
            more = _equal(found[0][:, -1], last) & (last > 0) & (width < min(n, _MOST_TIED))
            distances[left[~more]], columns[left[~more]] = self._ordered(found[0][~more], found[1][~more], k)
            left, width = left[more], min(4 * width, n, max(_MOST_TIED, width))
            pieces = np.array_split(left, -(-left.size * width * r // _HELD)) if left.size else []
            if pieces:
                several = [self.query(rows[piece], width) for piece in pieces]
                found = np.vstack([one for one, _ in several]), np.vstack([one for _, one in several])
        return distances, columns

    def _ordered(self, distances: np.ndarray, columns: np.ndarray, k: int) -> _Found:
        """The first k of each row."""
        group = np.zeros(columns.shape, dtype=np.int64)
        group[:, 1:] = np.cumsum(~_equal(distances[:, 1:], distances[:, :-1]), axis=1)
        order = np.argsort(group * len(self._rank) + self._rank[columns], axis=1)[:, :k]
        ascending = np.maximum.accumulate(np.take_along_axis(distances, order, axis=1), axis=1)
        return ascending, np.take_along_axis(columns, order, axis=1)


def _equal(far: np.ndarray, near: np.ndarray) -> np.ndarray:
    return far - near <= _TIED * far


def search_seconds(X: PointsLike, n_neighbors: int, *, n_jobs: int | None = None) -> float | None:
    """Seconds that `nearest_neighbors` will take, from a part of the rows; None where no tree is used."""
    box = as_points(X).box
    if box.shape[1] > _FEATURES_FOR_TREE:
        return None
    begin = time.perf_counter()
    tree = cKDTree(box)
    built = time.perf_counter()
    groups = [tree.indices[piece] for piece in spread_pieces(len(box), _TIMED, _QUERIES // _TIMED)]
    for _ in in_order(lambda rows: tree.query(box[rows], n_neighbors + 1), groups, n_jobs=n_jobs, label=None):
        pass
    share = len(box) / sum(map(len, groups))
    return built - begin + (time.perf_counter() - built) * share


def _in_exact_order(X: np.ndarray, rows: np.ndarray, candidates: np.ndarray) -> _Found:
    """Exact distances from the rows to their candidates (n, k), ascending, and the candidates in that order."""
    exact = np.linalg.norm(X[candidates] - X[rows, None], axis=2)
    rank = np.argsort(exact, axis=1, kind="stable")
    return np.take_along_axis(exact, rank, axis=1), np.take_along_axis(candidates, rank, axis=1)


def _nearest_by_faiss(points: Points, rows: np.ndarray, k: int, n_jobs: int | None) -> _Found:
    """Nearest points among those of the nearest cells, in order of their exact distances."""
    import faiss

    X = points.box
    n_cells = int(np.sqrt(len(X)))
    single = X.astype(np.float32)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_cells)
    index.cp.min_points_per_centroid = 1
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(thread_count(n_jobs))
    heard(index.train, single)
    heard(index.add, single)
    index.nprobe = max(1, n_cells // _SHARE_OF_CELLS)
    # faiss has threads of its own.
    found = _by_groups(lambda some, k: _in_exact_order(X, some, index.search(single[some], k)[1]), rows, _ROWS, k, 1)
    faiss.omp_set_num_threads(before)
    return found


def _nearest_by_brute_force(points: Points, rows: np.ndarray, k: int, n_jobs: int | None) -> _Found:
    """Nearest of all points, by one matrix product for a group of rows, or by differences where that would lose digits."""
    X = points.box
    squares = np.einsum("nr,nr->n", X, X)
    error = 8.0 * np.finfo(float).eps * squares.max()

    def nearest(rows: np.ndarray, k: int) -> _Found:
        sqdist = euclidean_distances(X[rows], X, squared=True, Y_norm_squared=squares)
        candidates = np.argpartition(sqdist, k - 1, axis=1)[:, :k]
        unsure = error > _RELATIVE_ERROR * np.take_along_axis(sqdist, candidates, axis=1).max(axis=1)
        if unsure.any():
            exact = cdist(X[rows[unsure]], X, "sqeuclidean")
            candidates[unsure] = np.argpartition(exact, k - 1, axis=1)[:, :k]
        return _in_exact_order(X, rows, candidates)

    return _by_groups(_Ties(points, nearest).nearest, rows, max(1, _HELD // (8 * len(X))), k, n_jobs)


def fitted_neighbors(neighbors: Any, X: Any) -> tuple[Any, Any]:
    """A matrix of distances from a matrix or a transformer, and the fitted transformer (None for a matrix)."""
    if not hasattr(neighbors, "fit_transform"):
        return neighbors, None
    if getattr(neighbors, "mode", "distance") != "distance":
        raise ValueError(f"A transformer must give distances; its mode is {neighbors.mode!r}: set mode='distance'.")
    finder = clone(neighbors)
    return finder.fit_transform(X), finder
