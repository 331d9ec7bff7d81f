"""The chunked engine: points in a dask array, on one machine or many, in memory or on disk.

A worker holds some chunks of rows, the evaluation points, and a summary of all other points for the sums.  It returns only
sums.  Only degrees, and only if they must be exact, have the length of the data.

- **Exact**: degrees from every pair of chunks, metrics from `geolap.engines.moments` in double precision.
- **Estimated**, as in `geolap.engines.cells`: degrees from Gaussian cells.  A k-d tree of a random sample decides
  which points share a cell; one pass over the data then finds the number, mean and variance of *all* points in each.
  There are as many cells as it takes for degrees to agree to 0.5 % with those from 16 times as many, at most 128 in an
  effective neighborhood; columns are a sample where a neighborhood holds more than some 4000 points.

The current dask scheduler does the work.  With a ``distributed.Client`` that is a cluster, which repeats the work of lost
workers.  A cluster that is itself lost is a sentence.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import dask
import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ..data.points import chunk_around, in_unit, not_finite, unit_above
from ..kernel import ladder_weights, ladders, reach
from ..laplacian import density_weights
from ..runtime.caching import cached_property
from ..runtime.progress import at_bandwidths, steps
from ..runtime.tasks import computed
from ..runtime.threads import Scratch, one_blas_thread
from .base import Engine, LocalMetrics
from .blocks import blocks
from .gaussian_cells import CHECKED, FEWEST_CELLS, FINER, PILOT, Cells, degree_error, neighborhood_share, runs_of
from .moments import ENOUGH_COLUMNS, ROW_REACH, Columns, metrics_from, n_moments, row_moments

__all__ = ["ChunkedEngine"]

# Rows of the sample that shapes the cells, and the maximum number of cells.
_SHAPING, _MOST_CELLS = 2**19, 2**17
# The maximum number of cells in an effective neighborhood, and the acceptable error of degrees.
_LARGEST, _ERROR = 128, 0.005
# Numbers that one task may return.
_HELD = 2**24
# Neighborhoods vote for no more directions than this.
_DIRECTIONS = 20
# Tasks that the scheduler holds at a time; points along the side of a tile, its targets, and points in a row of distances.
_AHEAD, _SIDE, _TARGETS, _PIECE = 32, 1024, 128, 2**14

# Center and unit; and bandwidth, cells and thinning.
_Frame = tuple[np.ndarray, float]
_Plan = tuple[float, Cells, int]


class ChunkedEngine(Engine):
    """Sums over the chunks of a dask array."""

    def __init__(self, X: Any, *, exact: bool, cutoff: float | None = None, fewest_rows: int = 1) -> None:
        given = X.chunks[0]
        X = _with_rows(X, fewest_rows)
        self._chunks = X.to_delayed().ravel()
        self._ends = np.cumsum([0, *X.chunks[0]])
        self._shape, self._cutoff = X.shape, cutoff
        self.estimates = not exact
        self.directions_at_once = min(X.shape[1], _DIRECTIONS)  # moments are those of all
        self._center, self._unit = np.zeros(X.shape[1]), 1.0  # until they are known
        found = self._of_chunks(_extent, "first look")
        bad = [first + row for first, (*_, row) in zip(self._ends[:-1], found, strict=True) if row is not None]
        if bad:
            raise not_finite(*chunk_around(bad[0], given))
        low, high = np.min([f[0] for f in found], axis=0), np.max([f[1] for f in found], axis=0)
        self._center = np.average([f[2] for f in found], axis=0, weights=np.diff(self._ends))
        spread = sum(f[3] + n * (f[2] - self._center) ** 2 for f, n in zip(found, np.diff(self._ends), strict=True))
        self._unit = unit_above(0.5 * np.maximum(high - self._center, self._center - low).max())
        self._spread = float(np.sqrt(2.0 * spread.sum() / (len(self) - 1)))
        self._levels: dict[int, Cells] = {}

    def __len__(self) -> int:
        return self._shape[0]

    def mean_distance(self) -> float:
        return self._spread

    def nearest(self, targets: np.ndarray) -> np.ndarray:
        origin = self._rows(targets)
        return np.min(self._of_chunks(_nearest, "nearest neighbors", origin), axis=0) * self._unit

    def row_sums(self, bandwidths: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
        epsilons = in_unit(bandwidths, self._unit)
        if targets is not None:
            origin = self._rows(targets)
            found = sum(self._of_chunks(_sums_at, "row sums", origin, epsilons, self._cutoff))
            return found[:, :-1] + (found[:, -1:] - 1.0)
        sums = np.zeros((len(self), len(epsilons)))
        pairs = [(i, j) for i in range(len(self._chunks)) for j in range(i, len(self._chunks))]
        frame, constant = self._frame(), dask.delayed((epsilons, self._cutoff))
        tasks = (
            dask.delayed(_pair_sums)(self._chunks[i], self._chunks[j] if j > i else None, frame, constant) for i, j in pairs
        )
        done = self._computed(tasks, len(pairs), at_bandwidths("degrees", len(epsilons)))
        for (i, j), (along, across) in zip(pairs, done, strict=True):
            sums[self._ends[i] : self._ends[i + 1]] += along
            if j > i:
                sums[self._ends[j] : self._ends[j + 1]] += across
        return sums

    def local_metrics(
        self,
        sample: np.ndarray,
        bandwidths: np.ndarray,
        degrees: np.ndarray | None = None,
        *,
        working_dim: int,
        renormalization: float = 1.0,
    ) -> LocalMetrics:
        if degrees is None and not self.estimates:
            degrees = 1.0 + self.row_sums(bandwidths)
        epsilons = in_unit(bandwidths, self._unit)
        step = max(1, _HELD // (len(sample) * n_moments(self._shape[1])))
        found = []
        for first in range(0, len(epsilons), step):
            some = slice(first, first + step)
            if degrees is None:
                found.append(self._estimated(sample, epsilons[some], working_dim, renormalization))
                continue
            v = density_weights(degrees[:, some], renormalization=renormalization)
            known = self._rows(sample), epsilons[some], self._cutoff
            moments = self._total(_exact_moments, at_bandwidths("metrics", len(epsilons[some])), known, values=v)
            local = [metrics_from(M, eps, working_dim) for M, eps in zip(moments, epsilons[some], strict=True)]
            found.append(LocalMetrics.joined(local, axis=1))
        errors = None if degrees is not None else np.concatenate([local.degree_error for local in found])
        return LocalMetrics.joined(found, axis=1, degree_error=errors)

    def _estimated(self, sample: np.ndarray, epsilons: np.ndarray, dim: int, renormalization: float) -> LocalMetrics:
        """Metrics by estimated degrees."""
        origin = self._rows(sample)
        plans, errors = zip(*(self._plan(origin, eps) for eps in epsilons), strict=True)
        constant = origin, plans, self._cutoff, renormalization
        moments = self._total(_estimated_moments, at_bandwidths("metrics", len(epsilons)), constant)
        local = [metrics_from(M, eps, dim, thinned=thin) for M, (eps, _, thin) in zip(moments, plans, strict=True)]
        return LocalMetrics.joined(local, axis=1, degree_error=np.array(errors))

    # Distributing the work.

    def _frame(self) -> Any:
        """The center and unit in which workers see the points."""
        return dask.delayed((self._center, self._unit))

    def _computed(self, tasks: Iterable[Any], n_tasks: int, label: str, ahead: int = _AHEAD) -> Iterator[Any]:
        """Results of delayed tasks in order, a few at a time, because waiting results take memory."""
        tasks = iter(tasks)
        with steps(n_tasks, label) as bar:
            for first in range(0, n_tasks, ahead):
                batch = [next(tasks) for _ in range(min(ahead, n_tasks - first))]
                with one_blas_thread:
                    done = computed(*batch)
                yield from done
                bar.update(len(batch))

    def _of_chunks(self, function: Callable[..., Any], label: str, *args: Any) -> list[Any]:
        """``function(chunk, frame, *args)`` of every chunk."""
        frame, shared = self._frame(), [dask.delayed(a) for a in args]
        tasks = (dask.delayed(function)(chunk, frame, *shared) for chunk in self._chunks)
        return list(self._computed(tasks, len(self._chunks), label))

    def _total(
        self, function: Callable[..., np.ndarray], label: str, *args: Any, values: np.ndarray | None = None
    ) -> np.ndarray:
        """Σ ``function(chunk, frame, number, rows of the values, *args)`` over the chunks."""
        frame, shared = self._frame(), [dask.delayed(a) for a in args]
        tasks = [
            dask.delayed(function)(chunk, frame, number, None if values is None else values[slice(*ends)], *shared)
            for number, (chunk, ends) in enumerate(zip(self._chunks, pairwise(self._ends), strict=True))
        ]
        batches = [_sum_of(tasks[k : k + _AHEAD]) for k in range(0, len(tasks), _AHEAD)]
        return sum(self._computed(batches, len(batches), label, ahead=1))

    def _rows(self, indices: np.ndarray) -> np.ndarray:
        """The points with these indices, from any chunk, in the order of the indices."""
        indices = np.asarray(indices)
        order = np.argsort(indices, kind="stable")
        cuts = np.searchsorted(indices[order], self._ends)
        parts = [indices[order[a:b]] - first for (a, b), first in zip(pairwise(cuts), self._ends[:-1], strict=True)]
        wanted = [(chunk, part) for chunk, part in zip(self._chunks, parts, strict=True) if len(part)]
        frame = self._frame()
        tasks = (dask.delayed(_take)(chunk, frame, part) for chunk, part in wanted)
        found = np.concatenate(list(self._computed(tasks, len(wanted), "some points")))
        points = np.empty_like(found)
        points[order] = found
        return points

    # The cells that represent all points when sums are estimated.

    @cached_property
    def _grown(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Pilot points; and of the points in each of the smallest cells the number, sums and sums of squares."""
        rng = np.random.default_rng(0)
        sample = self._rows(np.sort(rng.choice(len(self), min(len(self), _SHAPING), replace=False)))
        pilot = sample[rng.choice(len(sample), min(len(sample), PILOT), replace=False)]
        tree = _Splits(sample, min(_MOST_CELLS, len(sample) // 4))
        sums = self._total(_cell_sums, "cells", tree)
        r = pilot.shape[1]
        return pilot, (sums[:, 0], sums[:, 1 : 1 + r], sums[:, 1 + r :])

    def _cells(self, halvings: int) -> Cells:
        """The cells, each made of 2^halvings of the smallest ones."""
        if halvings not in self._levels:
            smallest = self._grown[1]
            starts = np.arange(0, len(smallest[0]), 2**halvings)
            counts, sums, squares = (np.add.reduceat(a, starts) for a in smallest)
            some = counts > 0
            self._levels[halvings] = Cells.from_sums(counts[some], sums[some], squares[some])
        return self._levels[halvings]

    def _plan(self, origin: np.ndarray, eps: float) -> tuple[_Plan, float]:
        """The bandwidth with its cells and thinning, and the error of the degrees."""
        pilot, (counts, *_) = self._grown
        share = neighborhood_share(cdist(origin, pilot, "sqeuclidean"), eps, cutoff=self._cutoff)
        thinned = max(1, int(share * len(self) / ENOUGH_COLUMNS))
        most = int(np.log2(len(counts)))
        halvings = int(np.clip(most - np.ceil(np.log2(FEWEST_CELLS / share)), 0, most))
        checked = pilot[:CHECKED]
        truth = self._degrees(max(0, halvings - int(np.log2(FINER))), checked, eps)
        while True:
            error = degree_error(self._degrees(halvings, checked, eps), truth) if halvings else np.nan
            if error <= _ERROR or halvings == 0 or 2 ** (most - halvings) * share >= _LARGEST:
                return (eps, self._cells(halvings), thinned), error
            halvings -= 1

    def _degrees(self, halvings: int, points: np.ndarray, eps: float) -> np.ndarray:
        starts = np.arange(len(points))
        return np.maximum(self._cells(halvings).sums(points, eps, starts, cutoff=self._cutoff, n_jobs=1), 1.0)


def _sum_of(tasks: list[Any]) -> Any:
    """The sum of all tasks, in pairs, so that only a few results exist at a time."""
    while len(tasks) > 1:
        pairs = [dask.delayed(np.add)(*pair) for pair in zip(tasks[::2], tasks[1::2], strict=False)]
        tasks = pairs + tasks[len(tasks) - len(tasks) % 2 :]
    return tasks[0]


# Functions that run on the workers.


def _points(chunk: np.ndarray, frame: _Frame) -> np.ndarray:
    center, unit = frame
    return (np.asarray(chunk, dtype=np.float64) - center) / unit


def _with_rows(X: Any, fewest: int) -> Any:
    """The array with neighboring chunks merged until each has so many rows: tasks grow with pairs of chunks."""
    merged = [0]
    for rows in X.chunks[0]:
        if merged[-1] < fewest:
            merged[-1] += rows
        else:
            merged.append(rows)
    return X if len(merged) == len(X.chunks[0]) else X.rechunk({0: tuple(merged)})


def _extent(chunk: np.ndarray, _: _Frame) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int | None]:
    """Minimum, maximum, mean and sum of squared deviations, and the first row that is not finite."""
    A = np.asarray(chunk, dtype=np.float64)
    finite = np.isfinite(A).all(axis=1)
    if not finite.all():
        return A[0], A[0], A[0], A[0], int(finite.argmin())
    mean = A.mean(axis=0)
    return A.min(axis=0), A.max(axis=0), mean, np.square(A - mean).sum(axis=0), None


def _take(chunk: np.ndarray, frame: _Frame, rows: np.ndarray) -> np.ndarray:
    return _points(np.asarray(chunk)[rows], frame)


def _nearest(chunk: np.ndarray, frame: _Frame, origin: np.ndarray) -> np.ndarray:
    points, least = _points(chunk, frame), np.full(len(origin), np.inf)
    for first in range(0, len(points), _PIECE):
        sqdist = cdist(origin, points[first : first + _PIECE], "sqeuclidean")
        sqdist[sqdist == 0] = np.inf
        least = np.minimum(least, sqdist.min(axis=1))
    return np.sqrt(least)


def _sums_at(chunk: np.ndarray, frame: _Frame, origin: np.ndarray, epsilons: np.ndarray, cutoff: float | None) -> np.ndarray:
    """Row sums (n, m + 1) at some points, those at the same place left out, and last how many are there."""
    (targets, order), (sources, _) = blocks(origin, _TARGETS), blocks(_points(chunk, frame), _SIDE)
    steps, far = ladders(epsilons), reach(epsilons.max())
    sums = np.zeros((len(origin), len(epsilons) + 1))
    with np.errstate(under="ignore"):
        for I in targets:
            for J in sources:
                if I.distance(J) > far:
                    continue
                sqdist = cdist(I.points, J.points, "sqeuclidean")
                here = sqdist == 0
                sqdist[here] = np.inf
                sums[order[I.rows], -1] += here.sum(axis=1)
                W = np.empty_like(sqdist)
                for ladder in steps:
                    for column, _, weights in ladder_weights(sqdist, ladder, W, cutoff=cutoff):
                        sums[order[I.rows], column] += weights.sum(axis=1)
    return sums


def _pair_sums(
    one: np.ndarray, other: np.ndarray | None, frame: _Frame, constant: tuple[np.ndarray, float | None]
) -> tuple[np.ndarray, np.ndarray]:
    """Row sums of the weights between two chunks, for the points of each; a chunk with itself leaves out the diagonal."""
    epsilons, cutoff = constant
    A = _points(one, frame)
    B = A if other is None else _points(other, frame)
    steps = ladders(epsilons)
    along, across = np.zeros((len(A), len(epsilons))), np.zeros((len(B), len(epsilons)))
    with np.errstate(under="ignore"):
        for i in range(0, len(A), _SIDE):
            for j in range(0, len(B), _SIDE):
                I, J = slice(i, i + _SIDE), slice(j, j + _SIDE)
                if other is None and j < i:
                    continue
                sqdist = cdist(A[I], B[J], "sqeuclidean")
                if other is None and i == j:
                    np.fill_diagonal(sqdist, np.inf)
                W = np.empty_like(sqdist)
                for ladder in steps:
                    for column, _, weights in ladder_weights(sqdist, ladder, W, cutoff=cutoff):
                        along[I, column] += weights.sum(axis=1)
                        if other is not None:
                            across[J, column] += weights.sum(axis=0)
                        elif i != j:
                            along[J, column] += weights.sum(axis=0)
    return along, across


def _exact_moments(
    chunk: np.ndarray,
    frame: _Frame,
    _: int,
    density: np.ndarray,
    constant: tuple[np.ndarray, np.ndarray, float | None],
) -> np.ndarray:
    """Moments (m, n, q) of a chunk whose density weights (rows, m) are known."""
    origin, epsilons, cutoff = constant
    points = _points(chunk, frame)
    order = cKDTree(points, leafsize=8).indices
    columns, scratch = Columns(points[order], dtype=np.float64), Scratch()
    found = []
    with np.errstate(under="ignore"):
        for eps, v in zip(epsilons, density[order].T, strict=True):
            v = columns.padded(v, 0.0)
            far = reach(eps)
            row = [
                row_moments(x, columns, columns.near(x, far), far, v, eps, cutoff=cutoff, scratch=scratch) for x in origin
            ]
            found.append(row)
    return np.array(found)


def _estimated_moments(
    chunk: np.ndarray,
    frame: _Frame,
    number: int,
    _: None,
    constant: tuple[np.ndarray, Sequence[_Plan], float | None, float],
) -> np.ndarray:
    """Moments (m, n, q) of a chunk, its density weights from cells."""
    origin, plans, cutoff, renormalization = constant
    points = _points(chunk, frame)
    points = points[cKDTree(points, leafsize=8).indices]
    rng = np.random.default_rng([0, number])
    by_thinning: dict[int, tuple[Columns, np.ndarray]] = {}
    found, scratch = [], Scratch()
    with np.errstate(under="ignore"):
        for eps, cells, thinned in plans:
            if thinned not in by_thinning:
                starts = np.arange(0, len(points), thinned)
                some = points[starts + rng.integers(0, np.diff(starts, append=len(points)))]
                by_thinning = {thinned: (Columns(some), some)}
            columns, some = by_thinning[thinned]
            far = ROW_REACH * eps
            runs = [columns.near(x, far) for x in origin]
            targets = columns.seen(runs)
            v = np.zeros(columns.size)
            if len(targets):
                degrees = np.maximum(cells.sums(some[targets], eps, runs_of(targets), cutoff=cutoff, n_jobs=1), 1.0)
                v[targets] = degrees**-renormalization
            v = columns.padded(v, 0.0)
            row = [
                row_moments(x, columns, k, far, v, eps, cutoff=cutoff, scratch=scratch)
                for x, k in zip(origin, runs, strict=True)
            ]
            found.append(row)
    return np.array(found)


def _cell_sums(chunk: np.ndarray, frame: _Frame, number: int, _: None, tree: "_Splits") -> np.ndarray:
    """For each cell the number of points, the sums of their coordinates, and of the squares of these."""
    points = _points(chunk, frame)
    cell = tree.cell_of(points)
    columns = [None, *points.T, *(points.T**2)]
    return np.column_stack([np.bincount(cell, column, tree.n_cells) for column in columns])


class _Splits:
    """A balanced k-d tree of a sample, as arrays, which finds the cell of any point."""

    def __init__(self, sample: np.ndarray, n_cells: int) -> None:
        self._depth = int(np.log2(n_cells))
        self.n_cells = 2**self._depth
        self._axis = np.zeros(self.n_cells, dtype=np.intp)
        self._value = np.zeros(self.n_cells)
        order = np.arange(len(sample))
        for level in range(self._depth):
            ends = np.arange(2**level + 1) * len(sample) // 2**level
            part = np.repeat(np.arange(2**level), np.diff(ends))
            A = sample[order]
            mean = np.add.reduceat(A, ends[:-1]) / np.diff(ends)[:, None]
            axis = np.argmax(np.add.reduceat(np.square(A - mean[part]), ends[:-1]), axis=1)
            values = A[np.arange(len(A)), axis[part]]
            order = order[np.lexsort((values, part))]
            middle = np.arange(1, 2 ** (level + 1), 2) * len(sample) // 2 ** (level + 1)
            nodes = 2**level + np.arange(2**level)
            self._axis[nodes], self._value[nodes] = axis, sample[order[middle], axis]

    def cell_of(self, points: np.ndarray) -> np.ndarray:
        node = np.ones(len(points), dtype=np.intp)
        for _ in range(self._depth):
            node = 2 * node + (points[np.arange(len(points)), self._axis[node]] >= self._value[node])
        return node - self.n_cells
