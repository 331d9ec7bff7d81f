"""Pairs of points: all of them, those within a radius, the nearest of each point, or those that somebody else found.

A search answers with squared distances in a unit of its own, as a full symmetric matrix or as a symmetric CSR matrix that
stores the diagonal.  There a distance of zero is stored as `ZERO`, a number too small to weigh anything: a sparse matrix
would lose a zero.
"""

import warnings
from importlib.util import find_spec
from numbers import Integral

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.base import clone

from ..engines.blocks import blocks
from ..engines.cost import graph_memory, neighbor_entries
from ..engines.threads import Scratch, available_threads, in_order
from ..memory import require_memory
from ..pairs import ZERO, Pairs
from ..points import in_unit, in_unit_box
from ..validation import check_number, host_array

__all__ = [
    "all_pairs",
    "check_distances",
    "find_pairs",
    "fitted_neighbors",
    "given_pairs",
    "nearest_neighbors",
    "nearest_pairs",
    "pairs_within",
]

# Up to this many features a k-d tree is faster than looking at all pairs.
_FEATURES_FOR_TREE = 15
_SIDE = 768
# Beyond this many points, and with more features than for a tree, faiss looks into one out of so many of its cells.
_POINTS_FOR_FAISS, _SHARE_OF_CELLS = 50_000, 16
# Points that one call of a tree answers for, rows that are worked on together, and numbers held at once by a comparison.
_QUERIES, _ROWS, _HELD = 2**16, 2**12, 2**24


def all_pairs(X, *, n_jobs=None) -> Pairs:
    """All pairs, as a full matrix."""
    X, unit = in_unit_box(X)
    sqdist = np.empty((len(X), len(X)))
    parts, order = blocks(X, _SIDE)
    scratch = Scratch()

    def of(tile):
        I, J = tile
        # By differences wherever a bandwidth as narrow as the closest pair would notice.
        found = I.sqdist(J, 0.0, out=scratch.array("sqdist", (len(I.points), len(J.points))))
        sqdist[np.ix_(order[I.rows], order[J.rows])] = found
        if I is not J:
            sqdist[np.ix_(order[J.rows], order[I.rows])] = found.T

    tiles = [(I, J) for k, I in enumerate(parts) for J in parts[k:]]
    for _ in in_order(of, tiles, n_jobs=n_jobs or available_threads(), label="distances"):
        pass
    np.fill_diagonal(sqdist, 0.0)
    return Pairs(0.5 * (sqdist + sqdist.T), unit)


def pairs_within(X, radius, *, rho=None, narrowest=None, n_jobs=None) -> Pairs:
    """Pairs at most ``radius`` apart (over √(ρ_i ρ_j)), by tiles of points that stand together.

    Distances are accurate enough for bandwidths from ``narrowest`` (by default a tenth of the radius) on.
    """
    X, unit = in_unit_box(X)
    radius, narrowest = in_unit([radius, narrowest or 0.1 * radius], unit)
    parts, order = blocks(X, _SIDE, rho)
    order = order.astype(np.int32)
    scratch = Scratch()

    def of(tile):
        I, J = tile
        sqdist = I.sqdist(J, narrowest, out=scratch.array("sqdist", (len(I.points), len(J.points))))
        if I is J:
            np.fill_diagonal(sqdist, 0.0)
        row, column = np.nonzero(sqdist <= radius**2)
        if I is J:  # each pair once
            upper = row <= column
            row, column = row[upper], column[upper]
        return row.astype(np.int16), column.astype(np.int16), np.maximum(sqdist[row, column], ZERO)

    tiles = [(I, J) for k, I in enumerate(parts) for J in parts[k:] if I.distance(J) <= radius]
    found = list(in_order(of, tiles, n_jobs=n_jobs or available_threads(), label="pairs within the cut-off"))
    counts = np.zeros(len(X), dtype=np.int64)
    for (I, J), (row, column, _) in zip(tiles, found, strict=True):
        counts[order[I.rows]] += np.bincount(row, minlength=len(I.points))
        counts[order[J.rows]] += np.bincount(column, minlength=len(J.points))
    counts -= 1  # the diagonal was counted twice
    ends = np.concatenate([[0], np.cumsum(counts)])
    index = np.int32 if ends[-1] < 2**31 else np.int64
    indices, data, free = np.empty(ends[-1], dtype=index), np.empty(ends[-1]), ends[:-1].copy()

    def place(rows, columns, local, other, values):
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
    return Pairs(sparse.csr_array((data, indices, ends.astype(index)), shape=(len(X), len(X))), unit)


def nearest_pairs(X, n_neighbors, *, n_jobs=None) -> Pairs:
    """Pairs of which one is among the ``n_neighbors`` nearest of the other."""
    distances, columns = nearest_neighbors(X, n_neighbors, n_jobs=n_jobs)
    unit = float(distances.max()) or 1.0
    distances /= unit
    np.square(distances, out=distances)
    np.maximum(distances, ZERO, out=distances)
    return Pairs(_of_either(distances, columns), unit)


def _of_either(sqdist, columns):
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


def nearest_neighbors(X, n_neighbors, *, n_jobs=None):
    """Distances (N, k) to the k nearest other points, ascending, and which points they are (N, k).

    Exact, unless there are more than 50 000 points in more than 15 dimensions and faiss is installed: then distances are
    exact, but a few neighbors may be missed.
    """
    check_number("n_neighbors", n_neighbors, Integral, low=1)
    if n_neighbors >= len(X):
        raise ValueError(
            f"n_neighbors must be less than the number of points; {n_neighbors} was given for {len(X)} points: lower it."
        )
    X, unit = in_unit_box(X)
    k, n_jobs = n_neighbors + 1, n_jobs or available_threads()
    if X.shape[1] <= _FEATURES_FOR_TREE:
        search = _nearest_by_tree
    elif len(X) > _POINTS_FOR_FAISS and find_spec("faiss") is not None:
        search = _nearest_by_faiss
    else:
        search = _nearest_by_brute_force
    distances, columns = search(X, k, n_jobs)
    # The point itself comes first, unless duplicates crowd it out: then the last of them goes.
    own = columns == np.arange(len(X))[:, None]
    own[~own.any(axis=1), -1] = True
    return distances[~own].reshape(len(X), -1) * unit, columns[~own].reshape(len(X), -1)


def _nearest_by_tree(X, k, n_jobs):
    tree = cKDTree(X)
    distances, columns = np.empty((len(X), k)), np.empty((len(X), k), dtype=np.int32)
    for first in range(0, len(X), _QUERIES):
        rows = tree.indices[first : first + _QUERIES]  # points that stand together ask for the same memory
        distances[rows], columns[rows] = tree.query(X[rows], k, workers=n_jobs)
    return distances, columns


def _nearest_by_faiss(X, k, n_jobs):
    """Nearest points among those of the nearest cells, in order of their exact distances."""
    import faiss

    n_cells = int(np.sqrt(len(X)))
    points = X.astype(np.float32)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_cells)
    index.cp.min_points_per_centroid = 1
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_jobs)
    index.train(points)
    index.add(points)
    index.nprobe = max(1, n_cells // _SHARE_OF_CELLS)
    distances, columns = np.empty((len(X), k)), np.empty((len(X), k), dtype=np.int32)
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        found = index.search(points[rows], k)[1]
        exact = np.linalg.norm(X[found] - X[rows, None], axis=2)
        rank = np.argsort(exact, axis=1, kind="stable")
        distances[rows], columns[rows] = np.take_along_axis(exact, rank, axis=1), np.take_along_axis(found, rank, axis=1)
    faiss.omp_set_num_threads(before)
    return distances, columns


def _nearest_by_brute_force(X, k, n_jobs):
    """Distances and columns (N, k) of the nearest points, the point itself counted, tile by tile, nearest tiles first."""
    parts, order = blocks(X, _SIDE)
    scratch = Scratch()

    def of(I):
        nearest = np.full((len(I.points), 0), np.inf)
        columns = np.empty((len(I.points), 0), dtype=np.intp)
        for J in sorted(parts, key=I.distance):
            if nearest.shape[1] == k and I.distance(J) ** 2 > nearest.max():
                break
            sqdist = I.sqdist(J, 0.0, out=scratch.array("sqdist", (len(I.points), len(J.points))))
            sqdist = np.hstack([nearest, sqdist])
            some = np.hstack([columns, np.broadcast_to(order[J.rows], (len(I.points), len(J.points)))])
            if sqdist.shape[1] > k:
                best = np.argpartition(sqdist, k - 1, axis=1)[:, :k]
                sqdist, some = np.take_along_axis(sqdist, best, axis=1), np.take_along_axis(some, best, axis=1)
            nearest, columns = sqdist, some
        exact = np.stack([cdist(x[None], X[c])[0] for x, c in zip(I.points, columns, strict=True)])
        rank = np.argsort(exact, axis=1, kind="stable")
        return np.take_along_axis(exact, rank, axis=1), np.take_along_axis(columns, rank, axis=1)

    distances, columns = np.empty((len(X), k)), np.empty((len(X), k), dtype=np.int32)
    found = in_order(of, parts, n_jobs=n_jobs, label=f"{k - 1} nearest neighbors")
    for I, (d, c) in zip(parts, found, strict=True):
        distances[order[I.rows]], columns[order[I.rows]] = d, c
    return distances, columns


def given_pairs(distances, n_points=None) -> Pairs:
    """Pairs from a matrix of distances that somebody else computed: square, dense or sparse, as scikit-learn writes them.

    What a sparse matrix does not store is out of reach.  A pair counts if either side stores it.
    """
    if not sparse.issparse(distances):
        return _given_full(np.asarray(distances), n_points)
    D = sparse.csr_array(distances, dtype=float)
    _check_square(D.shape, n_points)
    check_distances(D.data)
    row = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    if D.nnz and np.all(D.data[row != D.indices] == 1.0):
        warnings.warn(
            "Distances should tell near from far; all those given are 1, as in a graph of connections: use mode='distance'.",
            stacklevel=2,
        )
    unit = float(D.data.max(initial=0.0)) or 1.0
    D.data = np.maximum((D.data / unit) ** 2, ZERO)
    return Pairs(_symmetric(D), unit)


def _given_full(D, n_points):
    if D.ndim != 2 or D.dtype.kind not in "biuf":
        raise ValueError(
            f"Distances must be a square matrix of numbers; shape {D.shape} of {D.dtype} was given: pass what "
            "sklearn.metrics.pairwise_distances returns."
        )
    _check_square(D.shape, n_points)
    check_distances(D)
    if not np.allclose(D, D.T, rtol=1e-5, atol=1e-8 * D.max()):
        raise ValueError(
            "A full matrix of distances must be symmetric; the given one is not: pass (D + D.T) / 2 if you mean that."
        )
    unit = float(D.max()) or 1.0
    sqdist = (0.5 * (D / unit + D.T / unit)) ** 2
    np.fill_diagonal(sqdist, 0.0)
    return Pairs(sqdist, unit)


def _check_square(shape, n_points):
    if shape[0] != shape[1] or n_points not in (None, shape[0]):
        wanted = "as many rows as columns" if n_points is None else f"{n_points} rows and columns, one for each point"
        raise ValueError(f"A matrix of distances must have {wanted}; shape {shape} was given: match it to the points.")


def check_distances(values):
    """Refuse distances that are no numbers or negative."""
    wrong = values[~(np.isfinite(values) & (values >= 0))]
    if wrong.size:
        raise ValueError(
            f"Distances must be finite and not negative; {wrong.flat[0]} was given: leave out pairs that are out of reach."
        )


def _symmetric(directed):
    """Entries that either side stores, the larger where they differ, and the diagonal."""
    zeros = sparse.diags_array(np.full(directed.shape[0], ZERO), format="csr")
    directed = sparse.csr_array(directed + zeros)  # now every row stores its diagonal
    both = sparse.csr_array(directed.maximum(directed.T.tocsr()))
    both.setdiag(ZERO)
    index = np.int32 if both.nnz < 2**31 else np.int64  # the narrower is what most solvers accept
    return sparse.csr_array((both.data, both.indices.astype(index), both.indptr.astype(index)), shape=both.shape)


def find_pairs(X, *, n_neighbors=None, neighbors=None, n_jobs=None) -> Pairs | None:
    """The pairs of the graph that the parameters ask for; None if all pairs count.

    ``neighbors`` may be a matrix of distances, or a transformer that makes one from the points, such as scikit-learn's
    KNeighborsTransformer.
    """
    if neighbors is None and n_neighbors is None:
        return None
    X = host_array(X)
    if neighbors is None:
        what = f"A graph that joins {len(X)} points with their {n_neighbors} nearest"
        require_memory(graph_memory(neighbor_entries(len(X), n_neighbors)), what, "lower n_neighbors, or use n_landmarks")
        return nearest_pairs(X, n_neighbors, n_jobs=n_jobs)
    if n_neighbors is not None:
        raise ValueError(
            f"Either n_neighbors or neighbors says which pairs count; both n_neighbors={n_neighbors!r} and neighbors were "
            "given: leave out one of them."
        )
    if isinstance(neighbors, Pairs):
        return neighbors
    return given_pairs(fitted_neighbors(neighbors, X)[0], len(X))


def fitted_neighbors(neighbors, X):
    """A matrix of distances from a matrix or a transformer, and the fitted transformer (None for a matrix)."""
    if not hasattr(neighbors, "fit_transform"):
        return neighbors, None
    if getattr(neighbors, "mode", "distance") != "distance":
        raise ValueError(f"A transformer must give distances; its mode is {neighbors.mode!r}: set mode='distance'.")
    finder = clone(neighbors)
    return finder.fit_transform(X), finder
