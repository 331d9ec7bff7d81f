"""The dimension that neighborhoods see at a scale: see `geolap.neighborhoods`.

Since W² at ε is W at ε/√2, row sums at ε, ε/√2 and ε/2 tell how many neighbors there are, how many span a tangent plane, and
how fast neighborhoods grow: like ε^d on a d-dimensional manifold.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from .data.distances import Distances
from .data.multiplicity import counts_of, own_weight, quantile_of, weights_at
from .data.points import Points, least_of_rows
from .local_pca import largest_gap, local_singular_values, vote
from .neighborhoods import Neighborhoods
from .runtime.caching import cached_property

__all__ = ["Surroundings"]

# Columns of the rows that are looked at, a random sample of more points: as many in a neighborhood, and numbers in them.
_ENOUGH_COLUMNS, _MOST_NUMBERS = 4096, 2**25
# Distances that are computed at once.
_AT_ONCE = 2**21
# Nearest neighbors in the likelihood: as many as a neighborhood holds, within these limits.
_LEAST_NEAREST, _MOST_NEAREST = 10, 200


@dataclass(frozen=True)
class Surroundings:
    """What is around some points, at any bandwidth; what all bandwidths need is computed once."""

    points: Points
    sample: np.ndarray
    row_sums: Callable[[np.ndarray, np.ndarray], np.ndarray]  # (bandwidths, targets) → Σ_{j≠i} W_ij (n, m), of an engine
    _: KW_ONLY
    rho: np.ndarray | None = None  # local scales
    most: int | None = None  # count only this many nearest neighbors
    max_dim: int = 20
    n_jobs: int | None = None

    def at(self, bandwidth: float) -> Neighborhoods:
        """What neighborhoods are like at a bandwidth."""
        points, sample, most = self.points, self.sample, self.most
        sums = self.row_sums(bandwidth / np.sqrt([1.0, 2.0, 4.0]), sample)
        weights = weights_at(points.multiplicity, sample)
        W, W2, W4 = (own_weight(points.multiplicity, sample) + sums).T
        effective, spanning = W**2 / W2, W2**2 / W4
        joined = (sums[:, 1] > 0) & (sums[:, 0] > 0)  # sums that are estimated may vanish at the wider bandwidth
        rates = 2.0 * np.log2(sums[joined, 0] / sums[joined, 1])
        typical = float(quantile_of(effective, 0.5, weights))
        columns, rows = _columns(points, sample, typical)
        everyone = len(columns) == len(points)
        some = points if everyone else points.taken(columns)
        k = int(np.clip(typical, _LEAST_NEAREST, self._most_nearest))
        found = Neighborhoods(
            bandwidth=float(bandwidth),
            effective=typical,
            spanning=float(quantile_of(spanning, 0.5, weights)),
            uneven=(float(quantile_of(effective, 0.1, weights)), float(quantile_of(effective, 0.9, weights))),
            growth=float(quantile_of(rates, 0.5, weights_at(weights, joined))) if joined.any() else 0.0,
            likelihood=_likelihood(some, rows, k, *(self._nearest if everyone else _nearest(some, rows, k))),
            most=most,
        )
        if not found.resolved:
            return found
        n_values, scales = min(self.max_dim, points.shape[1]) + 1, None if self.rho is None else self.rho[columns]
        values = local_singular_values(some, rows, [bandwidth], n_values, rho=scales, most=most, n_jobs=self.n_jobs)[:, 0]
        per_point = largest_gap(values)
        voted = vote(per_point, weights)
        share = float(np.average(per_point == voted, weights=weights)) if voted else 0.0
        return replace(found, vote=voted, share=share, per_point=per_point, singular_values=values)

    @property
    def _most_nearest(self) -> int:
        return _MOST_NEAREST if self.most is None else self.most

    @cached_property
    def _nearest(self) -> tuple[np.ndarray, np.ndarray]:
        """The nearest among all points, as many as a likelihood may need."""
        return _nearest(self.points, self.sample, self._most_nearest)


def _columns(points: Points, sample: np.ndarray, effective: float) -> tuple[np.ndarray, np.ndarray]:
    """The points among which neighbors are looked for, and the places of the sampled ones among them."""
    n = len(points)
    enough = min(round(n * min(1.0, _ENOUGH_COLUMNS / effective)), _MOST_NUMBERS // points.shape[1])
    if isinstance(points, Distances) or (n <= enough and (points.on_gpu or isinstance(points.given, np.ndarray))):
        return np.arange(n), sample
    drawn = np.random.default_rng(0).choice(n, min(n, enough), replace=False)
    columns = np.union1d(drawn, sample)
    return columns, np.searchsorted(columns, sample)


def _likelihood(points: Points, rows: np.ndarray, k: int, near: np.ndarray, t: np.ndarray) -> float:
    """(k − 2) / Σ_j log(t_k / t_j) (Levina & Bickel, 2004), with sums averaged over points; duplicates are left out.

    From the nearest at other places and their squared distances, as `_nearest` has them.
    """
    m = counts_of(points.multiplicity, len(points))
    k = min(k, int(points.total) - 1)
    if k <= 2:
        return 0.0
    counted = np.cumsum(m[near], axis=1) - m[near] < k
    last = t[np.arange(len(rows)), counted.sum(axis=1) - 1]
    good = np.isfinite(last)
    ratios = np.where(counted[good], last[good, None] / t[good], 1.0)
    logs = 0.5 * m[rows[good]] @ (m[near[good]] * np.log(ratios)).sum(axis=1) / (k - 2)
    return float(m[rows[good]].sum() / logs) if logs > 0 else 0.0


def _nearest(points: Points, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Places other than that of a row that hold the k points nearest to it (n, q), and squared distances, ascending.

    ``inf`` where there are none.
    """
    n = len(points)
    k = min(int(np.ceil(min(k, points.total - 1) / counts_of(points.multiplicity, n).min())), n - 1)
    if points.on_gpu:
        from .engines.device import nearest_squares

        return nearest_squares(points.there[0], rows, k)
    found = []
    for some in np.array_split(rows, min(len(rows), -(-len(rows) * n // _AT_ONCE))):
        sqdist = points.sqdist(some)
        sqdist[sqdist == 0] = np.inf
        found.append(least_of_rows(sqdist, k))
    sqdist, near = map(np.concatenate, zip(*found, strict=True))
    return near, sqdist
