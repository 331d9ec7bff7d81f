"""The pairs of a thinned graph, drawn with the probabilities of `geolap.graphs.thinning`.

All pairs of two blocks of points have a common bound on p, from the distance of the blocks.  Where it is large, all of them
are looked at; where it is small, only as many as that bound tells, at random: the work grows with the edges, not with the
pairs.  Where even that is too much, because among very many points in many dimensions no two blocks are apart and few pairs
carry the weight, the nearest neighbors of each point are searched for and kept, and p has a bound for all other pairs.
Each pair of blocks has a random generator of its own, so threads change nothing.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..data.pairs import ZERO, Pairs
from ..data.points import Points, in_unit
from ..engines.blocks import Block, blocks
from ..runtime.threads import Scratch, in_order
from ..validation import check_random_state
from .neighbors import matrix_of_tiles, nearest_pairs, tiles_within
from .thinning import AGAIN, Thinning, powers

__all__ = ["thinned_pairs"]

# Points of a block, and the probability from which on all pairs of two blocks are looked at.
_SIDE, _LOOK_AT_ALL = 768, 0.1
# Pairs that are drawn, at most; looking at one of a whole tile costs a twelfth.
_MOST_DRAWN, _COST_IN_TILE = 10**9, 1.0 / 12.0
# The share of edges that go to nearest neighbors where strong pairs would not be found otherwise.
_NEAREST = 1.0 / 3.0
# Entries worked on at once.
_HELD = 2**22

# Two blocks, a bound on the probabilities of their pairs, and a key of random numbers; rows, columns and squared distances.
_Task = tuple[Block, Block, float, tuple[int, ...]]
_Found = tuple[np.ndarray, np.ndarray, np.ndarray]


def thinned_pairs(
    points: Points,
    bandwidth: float,
    thinning: Thinning,
    *,
    cutoff: float | None = None,
    rho: np.ndarray | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Any:
    """A random share of the pairs at most ``cutoff``·ε apart (over √(ρ_i ρ_j)), with the probability of each.

    Where these fall into several components, pairs between them get another chance, a thousand times as likely.
    """
    if points.on_gpu:
        from .device_pairs import thinned_pairs_there

        return thinned_pairs_there(points, bandwidth, thinning, cutoff=cutoff, rho=rho, random_state=random_state)
    eps, radius = in_unit([bandwidth, bandwidth * (cutoff or np.inf)], points.unit)
    seed = check_random_state(random_state).randint(2**31)
    parts, order = blocks(points.box, _SIDE, rho)
    rates = thinning.rates
    sampler = _Sampler(eps, radius, rates[order])
    tiles = [(I, J, sampler.bound(I, J, gap)) for I, J, gap in tiles_within(parts, radius)]
    sizes = np.array([len(I.points) * len(J.points) for I, J, _ in tiles], dtype=float)
    bounds = np.array([bound for _, _, bound in tiles])
    near = None
    if sizes @ np.where(bounds > _LOOK_AT_ALL, _COST_IN_TILE, bounds) > _MOST_DRAWN:
        near = _nearest(points, max(1, round(_NEAREST * thinning.n_edges)), rho, radius, n_jobs)
        sampler = _Sampler(eps, radius, rates[order], most=min(_LOOK_AT_ALL, _MOST_DRAWN / sizes.sum()))
    tasks: list[_Task] = [(I, J, min(bound, sampler.most), (seed, number)) for number, (I, J, bound) in enumerate(tiles)]
    found = list(in_order(sampler.of, tasks, n_jobs=n_jobs, label="a share of the pairs"))
    sqdist = matrix_of_tiles([(I, J) for I, J, _ in tiles], found, order.astype(np.int32))
    del found
    share = sampler.shares(sqdist, rates)
    if near is not None:
        sqdist, share = _joined(near, np.ones(near.nnz), sqdist, share)
    n, labels = connected_components(sqdist, connection="strong")
    if n > 1:
        again = _Sampler(eps, radius, AGAIN * rates[order], labels=labels[order], most=sampler.most)
        tasks = [(I, J, min(AGAIN * bound, again.most), (*key, 1)) for I, J, bound, key in tasks if again.across(I, J)]
        found = list(in_order(again.of, tasks, n_jobs=n_jobs, label="pairs between components"))
        more = _joining(tasks, found, order)
        sqdist, share = _joined(more, again.shares(more, AGAIN * rates), sqdist, share)
    return Pairs(sqdist, points.unit, share, order)


class _Sampler:
    """Draws pairs of points from two blocks."""

    def __init__(
        self, eps: float, radius: float, rates: np.ndarray, *, labels: np.ndarray | None = None, most: float = 1.0
    ) -> None:
        self.most = most  # no pair is more likely than this
        self._eps, self._radius, self._rates, self._labels = eps, radius, rates, labels
        self._scratch = Scratch()

    def bound(self, I: Block, J: Block, gap: float) -> float:
        """A bound on the probabilities of all pairs of two blocks."""
        return min(1.0, float(powers(gap**2, self._eps)) * (self._rates[I.rows].max() + self._rates[J.rows].max()))

    def across(self, I: Block, J: Block) -> bool:
        """Whether some pair of these blocks has different labels."""
        assert self._labels is not None
        one, other = self._labels[I.rows], self._labels[J.rows]
        return bool((one != one[0]).any() or (other != one[0]).any())

    def of(self, task: _Task) -> _Found:
        """Rows, columns and squared distances of the pairs of one tile that are kept; a block itself has its diagonal."""
        I, J, bound, key = task
        rng = np.random.default_rng(key)
        if bound > _LOOK_AT_ALL:
            row, column, sqdist = self._from_all(I, J, rng)
        else:
            row, column, sqdist = self._from_some(I, J, bound, rng)
        kept = sqdist <= self._radius**2
        if I is J:
            kept &= row < column
        if self._labels is not None:
            kept &= self._labels[I.rows][row] != self._labels[J.rows][column]
        row, column, sqdist = row[kept], column[kept], sqdist[kept]
        if I is J and self._labels is None:
            own = np.arange(len(I.points))
            rank = np.argsort(np.concatenate([own, row]), kind="stable")
            row, column = np.concatenate([own, row])[rank], np.concatenate([own, column])[rank]
            sqdist = np.concatenate([np.zeros(len(own)), sqdist])[rank]
        return row.astype(np.int16), column.astype(np.int16), np.maximum(sqdist, ZERO)

    def _from_all(self, I: Block, J: Block, rng: np.random.Generator) -> _Found:
        shape = len(I.points), len(J.points)
        sqdist = I.sqdist(J, self._eps, out=self._scratch.array("sqdist", shape))
        p = powers(sqdist, self._eps)
        p *= self._rates[I.rows][:, None] + self._rates[J.rows]
        row, column = np.divmod(_systematic(np.minimum(p, self.most, out=p).ravel(), rng), shape[1])
        return row, column, sqdist[row, column]

    def _from_some(self, I: Block, J: Block, bound: float, rng: np.random.Generator) -> _Found:
        row, column = np.divmod(_drawn(len(I.points) * len(J.points), bound, rng), len(J.points))
        between = I.points[row]
        between -= J.points[column]
        sqdist = np.einsum("nr,nr->n", between, between)
        if I.rho is not None and J.rho is not None:
            sqdist /= I.rho[row] * J.rho[column]
        p = powers(sqdist, self._eps) * (self._rates[I.rows][row] + self._rates[J.rows][column])
        kept = _systematic(np.minimum(p / bound, 1.0), rng)
        return row[kept], column[kept], sqdist[kept]

    def shares(self, sqdist: sparse.csr_array, rates: np.ndarray) -> np.ndarray:
        """The probability of every entry, with rates (N,) in the order of the matrix; 1 on the diagonal."""
        shares = np.empty(sqdist.nnz, dtype=np.float32)
        ends, first = sqdist.indptr, 0
        while first < sqdist.shape[0]:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + _HELD)) - 1)
            entries = slice(ends[first], ends[last])
            row, column = np.repeat(np.arange(first, last), np.diff(ends[first : last + 1])), sqdist.indices[entries]
            p = powers(sqdist.data[entries], self._eps) * (rates[row] + rates[column])
            shares[entries] = np.where(row == column, 1.0, np.minimum(p, self.most))
            first = last
        return shares


def _systematic(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which are drawn, each with its probability, ascending: where the sum of p up to there, from a random start, passes a
    whole number.  Neighbors in a row share their chances, so sums vary less than if every pair had its own.
    """
    total = np.cumsum(p)
    total += rng.random()
    return np.flatnonzero(np.diff(np.floor(total, out=total), prepend=0.0))


def _drawn(n: int, p: float, rng: np.random.Generator) -> np.ndarray:
    """Which of n are drawn, each with probability p, ascending: steps from one to the next are geometric."""
    if p <= 0.0:
        return np.empty(0, dtype=int)
    expected = n * p
    steps = rng.standard_exponential(int(expected + 8.0 * np.sqrt(expected) + 16.0)) / -np.log1p(-p)
    places = np.cumsum(np.floor(np.minimum(steps, n)).astype(int) + 1) - 1
    return places[places < n]


def _joining(tasks: list[_Task], found: list[_Found], order: np.ndarray) -> sparse.csr_array:
    """The symmetric matrix of what was found in tiles, without a diagonal."""
    row, column, data = (
        np.concatenate([np.empty(0, dtype=kind), *parts])
        for kind, parts in (
            (int, [order[I.rows][r] for (I, *_), (r, _, _) in zip(tasks, found, strict=True)]),
            (int, [order[J.rows][c] for (_, J, *_), (_, c, _) in zip(tasks, found, strict=True)]),
            (float, [values for _, _, values in found]),
        )
    )
    half = sparse.coo_array((data, (row, column)), shape=(len(order), len(order))).tocsr()
    return half + half.T


def _nearest(
    points: Points, n_neighbors: int, rho: np.ndarray | None, radius: float, n_jobs: int | None
) -> sparse.csr_array:
    """Squared distances of nearest neighbors within reach, in the unit of the points."""
    pairs = nearest_pairs(points, n_neighbors, n_jobs=n_jobs)
    near: Any = pairs.sqdist if rho is None else pairs.scaled(rho).sqdist
    near.data *= (pairs.unit / points.unit) ** 2
    near.data[near.data > radius**2] = 0.0
    near.eliminate_zeros()
    near.data = np.maximum(near.data, ZERO)
    return near


def _joined(
    one: sparse.csr_array, its_share: np.ndarray, other: sparse.csr_array, share: np.ndarray
) -> tuple[sparse.csr_array, np.ndarray]:
    """Two matrices in one, and the shares of its entries; where both have an entry, that of the first holds."""
    numbered = _like(other, np.arange(1.0, other.nnz + 1.0))
    both = numbered.multiply(_like(one, np.ones(one.nnz))).tocsr().data.astype(int) - 1
    alone = np.ones(other.nnz)
    alone[both] = 0.0
    found = []
    for mine, rest in ((one.data, other.data), (its_share, share)):
        part = _like(other, rest * alone)
        part.eliminate_zeros()
        found.append(part + _like(one, mine))
        found[-1].sort_indices()
    return found[0], found[1].data.astype(np.float32)


def _like(pattern: sparse.csr_array, data: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array((data, pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape)
