"""Which pairs a graph stores, found on the device of the points: all, those within a radius, the nearest, or a share.

The same pairs as `geolap.graphs.neighbors` and `geolap.graphs.drawing` find, by looking at all: a GPU does a tile of
distances as one matrix product.  Where points are many that is done in single precision, and decides only which pairs are
looked at again: the distances of these are differences in double precision, so that what is found does not depend on the
first look.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse

from ..data.pairs import ZERO, Pairs
from ..data.points import Points, in_unit
from ..engines.device import squared_distances
from ..kernel import gaussian
from ..runtime.caching import cached_property
from ..validation import check_random_state
from .device import DeviceMatrix, components_of, csr_tensor, held_numbers, on_host, row_slices, tensor_of
from .thinning import AGAIN, Thinning, powers

__all__ = [
    "AllPairsThere",
    "SomePairs",
    "nearest_pairs_there",
    "nearest_there",
    "pairs_within_there",
    "rows_there",
    "thinned_pairs_there",
]

# More points than this are looked at in single precision first, if its error is below this share of the squared radius.
_MANY, _SMALL_ERROR = 20_000, 0.05
# Rows of a tile; neighbors looked at beyond those wanted; and survivors of a row beyond which the whole tile is searched.
_ROWS, _SPARE, _MOST_SURVIVORS = 2**13, 8, 2**11

# Rows, columns and squared distances of pairs.
_Found = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class AllPairsThere:
    """All pairs of points on a device: nothing is stored before the weights are asked for."""

    X: torch.Tensor
    unit: float
    rho: torch.Tensor | None = None
    order: ClassVar[None] = None  # nothing there is solved in an order of its own

    def scaled(self, rho: np.ndarray) -> "AllPairsThere":
        """Distances over √(ρ_i ρ_j)."""
        return replace(self, rho=tensor_of(rho, self.X.device))

    def weights(self, bandwidth: float, *, cutoff: float | None = None, dtype: Any = float) -> DeviceMatrix:
        """W of every pair, 1 on the diagonal."""
        eps, n = in_unit([bandwidth], self.unit)[0], len(self.X)
        W = torch.empty((n, n), dtype=torch.float64, device=self.X.device)
        for rows in row_slices(n, n, self.X.device):
            sqdist = squared_distances(self.X[rows], self.X)
            if self.rho is not None:
                sqdist /= self.rho[rows, None] * self.rho
            W[rows] = gaussian(sqdist, eps, cutoff=cutoff)
        return DeviceMatrix(W, dtype, is_partial=cutoff is not None)


@dataclass(frozen=True)
class SomePairs:
    """Some pairs of points on a device, in both directions, with the diagonal: a sparse matrix by rows.

    Attributes
    ----------
    row, column : tensors (m,)
        Ascending.
    sqdist : tensor (m,)
        In units of ``unit``², over ρ_i ρ_j once scaled.
    unit : float
    n_points : int
    share : tensor (m,) or None
        As in `geolap.data.pairs.Pairs`.
    """

    row: torch.Tensor
    column: torch.Tensor
    sqdist: torch.Tensor
    unit: float
    n_points: int
    share: torch.Tensor | None = None
    order: ClassVar[None] = None

    @classmethod
    def of(cls, found: _Found, unit: float, n: int, share: torch.Tensor | None = None) -> "SomePairs":
        """Pairs that were found in one direction at least; those found in both are stored once."""
        i, j, sqdist = found
        own = torch.arange(n, device=i.device)
        key = torch.cat([i * n + j, j * n + i, own * (n + 1)])
        key, order = torch.sort(key)
        new = torch.ones_like(key, dtype=torch.bool)
        new[1:] = key[1:] != key[:-1]
        key, order = key[new], order[new]

        def of_both(values: torch.Tensor, at_center: float) -> torch.Tensor:
            return torch.cat([values, values, torch.full((n,), at_center, dtype=values.dtype, device=i.device)])[order]

        shares = None if share is None else of_both(share, 1.0)
        return cls(key // n, key % n, of_both(sqdist, 0.0), unit, n, shares)

    def scaled(self, rho: np.ndarray) -> "SomePairs":
        """Distances over √(ρ_i ρ_j)."""
        held = tensor_of(rho, self.row.device)
        return replace(self, sqdist=self.sqdist / (held[self.row] * held[self.column]))

    def weights(self, bandwidth: float, *, cutoff: float | None = None, dtype: Any = float) -> DeviceMatrix:
        """W of every pair, 1 on the diagonal."""
        W = gaussian(self.sqdist, in_unit([bandwidth], self.unit)[0], cutoff=cutoff)
        W = W if self.share is None else W / self.share
        row, column = self.row, self.column
        if cutoff is not None:
            stored = W > 0
            row, column, W = row[stored], column[stored], W[stored]
        return DeviceMatrix(csr_tensor(row, column, W, self.n_points), dtype)

    def of_rows(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances and shares of the entries of some rows."""
        assert self.share is not None
        matrices = (csr_tensor(self.row, self.column, values, self.n_points) for values in (self.sqdist, self.share))
        sqdist, share = (DeviceMatrix(A).rows(rows).data for A in matrices)
        return sqdist, share

    @cached_property
    def host(self) -> Pairs:
        """The same in the memory of the host."""
        ends = np.concatenate([[0], np.cumsum(np.bincount(on_host(self.row), minlength=self.n_points))])
        index = np.int32 if ends[-1] < 2**31 else np.int64
        entries = np.maximum(on_host(self.sqdist), ZERO), on_host(self.column).astype(index), ends.astype(index)
        share = None if self.share is None else on_host(self.share)
        return Pairs(sparse.csr_array(entries, shape=(self.n_points, self.n_points)), self.unit, share)


def rows_there(points: Points, rows: np.ndarray, rho: np.ndarray | None) -> torch.Tensor:
    """Squared distances (n, N) from some points to all over ρ_i ρ_j, in units of the device's box."""
    X = points.there[0]
    some = tensor_of(rows, X.device)
    sqdist = squared_distances(X[some], X)
    if rho is None:
        return sqdist
    scales = tensor_of(rho, X.device)
    return sqdist / (scales[some, None] * scales)


def pairs_within_there(points: Points, radius: float, *, rho: np.ndarray | None = None) -> SomePairs:
    """Pairs at most ``radius`` apart (over √(ρ_i ρ_j))."""
    X, unit = points.there
    reach = in_unit([radius], unit)[0] ** 2
    tiles = _Tiles(X, rho, reach)
    return SomePairs.of(tiles.kept(lambda S, rows, columns: S.le(reach), reach), unit, len(X))


def thinned_pairs_there(
    points: Points,
    bandwidth: float,
    thinning: Thinning,
    *,
    cutoff: float | None = None,
    rho: np.ndarray | None = None,
    random_state: Any = None,
) -> SomePairs:
    """A random share of the pairs at most ``cutoff``·ε apart, with the probability of each, as `thinned_pairs` draws it."""
    X, unit = points.there
    eps, radius = in_unit([bandwidth, bandwidth * (cutoff or np.inf)], unit)
    generator = torch.Generator(X.device).manual_seed(int(check_random_state(random_state).randint(2**31)))
    tiles, rates = _Tiles(X, rho, eps**2), tensor_of(thinning.rates, X.device)

    def drawn(times: float, labels: torch.Tensor | None = None) -> tuple[_Found, torch.Tensor]:
        a = times * rates.to(tiles.dtype)

        def kept(S: torch.Tensor, rows: slice, columns: slice) -> torch.Tensor:
            p = powers(S, eps).mul_(a[rows, None] + a[columns])
            chosen = torch.rand(p.shape, generator=generator, dtype=p.dtype, device=p.device) < p
            return chosen if labels is None else chosen & (labels[rows, None] != labels[columns])

        found = tiles.kept(kept, radius**2, exactly=True)
        share = torch.clamp(powers(found[2], eps) * times * (rates[found[0]] + rates[found[1]]), max=1.0)
        return found, share

    found, share = drawn(1.0)
    i, j = torch.cat(found[:2]), torch.cat(found[1::-1])  # in both directions
    labels = components_of(lambda f: f.scatter_reduce(0, i, f[j], "amin"), len(X), X.device)
    if labels.any():  # pairs between components get another chance
        more, its_share = drawn(AGAIN, labels)
        found = tuple(torch.cat(parts) for parts in zip(more, found, strict=True))  # type: ignore[assignment]
        share = torch.cat([its_share, share])
    return SomePairs.of(found, unit, len(X), share)


def nearest_pairs_there(points: Points, n_neighbors: int) -> SomePairs:
    """Pairs of which one is among the ``n_neighbors`` nearest of the other."""
    distances, columns = nearest_there(points, n_neighbors)
    n, k = columns.shape
    row = torch.arange(n, device=columns.device).repeat_interleave(k)
    unit = float(distances.max()) or 1.0
    found = row, columns.reshape(-1), (distances.reshape(-1) / unit).square()
    return SomePairs.of(found, unit * points.there[1], n)


def nearest_there(points: Points, n_neighbors: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Distances (N, k) to the k nearest other points, ascending, in units of the device's box, and which they are."""
    X = points.there[0]
    n, device = len(X), X.device
    distances = torch.empty((n, n_neighbors), dtype=torch.float64, device=device)
    columns = torch.empty((n, n_neighbors), dtype=torch.int64, device=device)
    unsure = [torch.arange(n, device=device)]
    if n > _MANY and not torch.backends.cuda.matmul.allow_tf32:
        tiles, unsure = _Tiles(X, None, torch.inf), []
        for first in range(0, n, _ROWS):
            rows = slice(first, min(first + _ROWS, n))
            distances[rows], columns[rows], sure = tiles.nearest(rows, n_neighbors)
            unsure.append(first + torch.nonzero(~sure)[:, 0])
    all_unsure = torch.cat(unsure)
    for part in row_slices(len(all_unsure), n, device):
        some = all_unsure[part]
        sqdist = squared_distances(X[some], X)
        sqdist[torch.arange(len(some), device=device), some] = torch.inf
        near = sqdist.topk(n_neighbors, dim=1, largest=False).indices
        distances[some], columns[some] = _in_exact_order(X, some, near)
    return distances, columns


def _in_exact_order(X: torch.Tensor, rows: torch.Tensor, candidates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Exact distances from the rows to their candidates (n, k), ascending, itself last, and the candidates in that order."""
    exact = torch.empty(candidates.shape, dtype=torch.float64, device=X.device)
    for part in row_slices(len(rows), candidates.shape[1] * X.shape[1], X.device):
        exact[part] = torch.linalg.vector_norm(X[candidates[part]] - X[rows[part], None], dim=2)
    exact[candidates == rows[:, None]] = torch.inf
    exact, rank = torch.sort(exact, dim=1, stable=True)
    return exact, candidates.gather(1, rank)


class _Tiles:
    """Squared distances of points, tile by tile, in single precision where that is enough to tell which pairs to look at."""

    def __init__(self, X: torch.Tensor, rho: np.ndarray | None, reach: float) -> None:
        self._X = X
        self._rho = None if rho is None else tensor_of(rho, X.device)
        squares = X.square().sum(dim=1)
        narrow = 1.0 if self._rho is None else float(self._rho.min()) ** 2
        largest, r = float(squares.max()), X.shape[1]

        def error(dtype: torch.dtype) -> float:
            return 2.0 * torch.finfo(dtype).eps * (4.0 + r**0.5) * largest / narrow

        single = len(X) > _MANY and not torch.backends.cuda.matmul.allow_tf32
        single = single and error(torch.float32) <= _SMALL_ERROR * reach
        self.dtype = torch.float32 if single else torch.float64
        self._error = error(self.dtype)
        self._x, self._squares = X.to(self.dtype), squares.to(self.dtype)
        self._held = held_numbers(X.device)

    def kept(
        self, wanted: Callable[[torch.Tensor, slice, slice], torch.Tensor], reach: float, *, exactly: bool = False
    ) -> _Found:
        """The pairs, each once, that are wanted, and whose squared distance is at most ``reach``.

        ``wanted`` sees squared distances that may be too small by twice the error of the first look, never too large;
        ``exactly`` shows them as they are.
        """
        found = []
        for rows, columns, S in self._upper():
            mask = wanted(S if exactly else S - 2.0 * self._error, rows, columns)
            if columns.start < rows.stop:  # each pair once
                mask = mask.triu(1 + rows.start - columns.start)
            i, j = mask.nonzero(as_tuple=True)
            i, j = i + rows.start, j + columns.start
            sqdist = self._exact(i, j)
            near = sqdist <= reach
            found.append((i[near], j[near], sqdist[near]))
        i, j, sqdist = (torch.cat(parts) for parts in zip(*found, strict=True))
        return i, j, sqdist

    def nearest(self, rows: slice, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Distances to the k nearest others, which they are, and whether that is certain, for some rows."""
        n, m = len(self._X), rows.stop - rows.start
        most = min(k + 1 + max(_SPARE, k // 2), n)
        best = torch.full((m, most), torch.inf, dtype=self.dtype, device=self._X.device)
        which = torch.zeros((m, most), dtype=torch.int64, device=self._X.device)
        shuffled, squares, x = self._shuffled
        width, minus = max(most, 4 * self._held // m), -2.0 * self._x[rows]
        for start in range(0, n, width):
            columns = slice(start, start + width)
            values, near = _survivors(torch.addmm(squares[columns], minus, x[columns].T), best.amax(dim=1), most)
            values, candidates = torch.cat([best, values], dim=1), torch.cat([which, shuffled[columns][near]], dim=1)
            best, order = values.topk(most, dim=1, largest=False, sorted=False)
            which = candidates.gather(1, order)
        own = torch.arange(rows.start, rows.stop, device=self._X.device)
        distances, which = _in_exact_order(self._X, own, which)
        # Whatever is no candidate is at least as far as the farthest of them.
        farthest = (best.amax(dim=1) + self._squares[rows]).double() - self._error
        sure = (distances[:, k - 1].square() <= farthest) | (most == n)
        return distances[:, :k], which[:, :k], sure

    @cached_property
    def _shuffled(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The points in an order of chance, with which squares and coordinates: after some of them few others are nearer."""
        order = torch.randperm(len(self._X), generator=torch.Generator().manual_seed(0)).to(self._X.device)
        return order, self._squares[order], self._x[order]

    def _upper(self) -> Iterator[tuple[slice, slice, torch.Tensor]]:
        n = len(self._X)
        height = min(_ROWS, n)
        width = max(height, self._held // height)
        for first in range(0, n, height):
            rows = slice(first, min(first + height, n))
            minus = -2.0 * self._x[rows]
            for start in range(first, n, width):
                columns = slice(start, min(start + width, n))
                S = torch.addmm(self._squares[columns], minus, self._x[columns].T)
                S += self._squares[rows, None]
                if self._rho is not None:
                    rho = self._rho.to(self.dtype)
                    S /= rho[rows, None] * rho[columns]
                yield rows, columns, S

    def _exact(self, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        """Squared distances of pairs, by differences."""
        sqdist = torch.empty(len(i), dtype=torch.float64, device=i.device)
        for part in row_slices(len(i), self._X.shape[1], i.device):
            sqdist[part] = (self._X[i[part]] - self._X[j[part]]).square().sum(dim=1)
        return sqdist if self._rho is None else sqdist / (self._rho[i] * self._rho[j])


def _survivors(S: torch.Tensor, bound: torch.Tensor, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Entries of each row below its bound, or the least of them, padded with ``inf``, and their places (n, w)."""
    if torch.isfinite(bound[0]):  # something is known
        row, place = S.lt(bound[:, None]).nonzero(as_tuple=True)
        counts = torch.bincount(row, minlength=len(S))
        width = int(counts.max())
        if width <= _MOST_SURVIVORS:
            values = torch.full((len(S), width), torch.inf, dtype=S.dtype, device=S.device)
            near = torch.zeros((len(S), width), dtype=torch.int64, device=S.device)
            at = torch.arange(len(row), device=S.device) - (torch.cumsum(counts, 0) - counts)[row]
            values[row, at], near[row, at] = S[row, place], place
            return values, near
    found = S.topk(min(most, S.shape[1]), dim=1, largest=False, sorted=False)
    return found.values, found.indices
