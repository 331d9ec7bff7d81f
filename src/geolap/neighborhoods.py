"""What neighborhoods are like at a scale: how many neighbors they hold, and what dimension these can tell.

At the bandwidth ε a point has (Σ W)² / Σ W² effective neighbors.  Its tangent plane is spanned with squared weights
(`geolap.tangent`), by (Σ W²)² / Σ W⁴ of them, which is many fewer in many dimensions.  Since W² at ε is W at ε/√2, row sums
at ε, ε/√2 and ε/2 tell both, and how fast neighborhoods grow: like ε^d on a d-dimensional manifold.

Three answers to the dimension are compared: the vote for the largest gap of the local singular values
(`geolap.local_pca`), the growth, and the likelihood of the distances to nearest neighbors (Levina & Bickel, 2004).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import cdist

from .local_pca import largest_gap, local_singular_values, vote
from .points import Points, host_array
from .sentences import Sentence

__all__ = ["Neighborhoods", "neighborhoods_at"]

# Fewer effective neighbors than this are a scale of nearest neighbors: no tangent plane is resolved.
FEWEST_NEIGHBORS = 10.0
# A tangent plane is carried by this many times as many neighbors as it has dimensions.
_CARRIED = 1.5
# A vote beyond what growth explains by this factor counts curvature as a dimension; estimates that differ by the second
# disagree.
_EXPLAINED, _AGREE = 1.2, 1.3
# Columns of the rows that are looked at: a random sample of more points.
_MOST_COLUMNS = 65536
# Nearest neighbors in the likelihood: as many as a neighborhood holds, within these limits.
_LEAST_NEAREST, _MOST_NEAREST = 10, 200


@dataclass(frozen=True)
class Neighborhoods:
    """Neighborhoods of the evaluation points at one bandwidth; numbers are medians.

    Attributes
    ----------
    bandwidth : float
    effective : float
        Effective neighbors, the point itself counted.
    spanning : float
        Neighbors that span the tangent plane: effective ones by squared weights.
    uneven : (float, float)
        Effective neighbors of the sparsest and the densest tenth of the points.
    growth : float
        d of ε^d, as which the neighbors' weight grows between ε/√2 and ε.
    likelihood : float
        Dimension of greatest likelihood by distances to nearest neighbors, as many as a neighborhood holds.
    vote : int
        The dimension most points vote for by the gaps of their singular values; 0 if the neighbors cannot carry a vote.
    share : float
        Share of the points that do.
    most : int or None
        Neighbors that each point is joined with, if not all.
    per_point : ndarray (n,)
        Each point's vote; 0 for a point without neighbors.
    singular_values : ndarray (n, q)
    """

    bandwidth: float
    effective: float
    spanning: float
    uneven: tuple[float, float]
    growth: float
    likelihood: float
    vote: int = 0
    share: float = 0.0
    most: int | None = None
    per_point: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(0, dtype=int))
    singular_values: np.ndarray = field(repr=False, default_factory=lambda: np.zeros((0, 0)))

    @property
    def resolved(self) -> bool:
        """Whether neighborhoods hold enough points to carry a tangent plane."""
        enough = FEWEST_NEIGHBORS if self.most is None else min(FEWEST_NEIGHBORS, self.most / 2)
        return self.effective >= enough and self.spanning >= _CARRIED * max(self.growth, self.likelihood)

    @property
    def directions(self) -> int | None:
        """Directions that stand out for most points; None where that cannot be told.

        Noise adds to growth and not to directions; so these may be fewer, but not more.
        """
        if not self.resolved or self.share <= 0.5 or self.vote > _EXPLAINED * max(self.growth, 1.0):
            return None
        return self.vote

    @property
    def dimension(self) -> int | None:
        """The dimension, where all three estimates agree; None where it cannot be told."""
        directions = self.directions
        if directions is None:
            return None
        agree = all(
            directions / _AGREE - 0.25 <= other <= directions * _AGREE + 0.25 for other in (self.growth, self.likelihood)
        )
        return directions if agree else None

    def explain(self) -> Sentence:
        """The dimension in words, and why."""
        if not self.resolved:
            return Sentence(
                "The dimension cannot be told with {effective} effective neighbors, of which {spanning} span a tangent plane: "
                "their number grows like ε^{growth}, and nearest neighbors say {likelihood}.",
                **self._numbers(),
            )
        if self.dimension is None:
            return Sentence(
                "The estimates of the dimension disagree: {share} of the evaluation points vote for {vote}, the number of "
                "neighbors grows like ε^{growth}, and nearest neighbors say {likelihood}.",
                **self._numbers(),
            )
        return Sentence(
            "Dimension {vote}: {share} of the evaluation points vote for it, the number of neighbors grows like ε^{growth}, "
            "and nearest neighbors say {likelihood}.",
            **self._numbers(),
        )

    def _numbers(self) -> dict[str, object]:
        return {
            "effective": f"{self.effective:.2g}" if self.effective < 100 else f"{self.effective:.0f}",
            "spanning": f"{self.spanning:.2g}" if self.spanning < 100 else f"{self.spanning:.0f}",
            "growth": f"{self.growth:.1f}",
            "likelihood": f"{self.likelihood:.1f}",
            "vote": self.vote,
            "share": f"{self.share:.0%}",
        }


def neighborhoods_at(
    points: Points,
    sample: np.ndarray,
    bandwidth: float,
    row_sums: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *,
    rho: np.ndarray | None = None,
    most: int | None = None,
    max_dim: int = 20,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """What neighborhoods of the sampled points are like.

    Parameters
    ----------
    points : Points
    sample : ndarray (n,)
    bandwidth : float
    row_sums : callable
        ``(bandwidths, targets)`` → Σ_{j≠i} W_ij (n, m), as an engine has it.
    rho : ndarray (N,), optional
        Local scales.
    most : int, optional
        Count only this many nearest neighbors.
    max_dim : int
        The largest dimension considered.
    n_jobs : int, optional
    """
    sums = row_sums(bandwidth / np.sqrt([1.0, 2.0, 4.0]), sample)
    W, W2, W4 = 1.0 + sums.T
    effective, spanning = W**2 / W2, W2**2 / W4
    joined = sums[:, 1] > 0
    growth = float(np.median(2.0 * np.log2(sums[joined, 0] / sums[joined, 1]))) if joined.any() else 0.0
    columns, rows = _columns(points, sample)
    scales = None if rho is None else rho[columns]
    some = points if len(columns) == len(points) else Points(host_array(points.given[columns]))
    nearest = int(np.clip(np.median(effective), _LEAST_NEAREST, _MOST_NEAREST if most is None else most))
    found = Neighborhoods(
        bandwidth=float(bandwidth),
        effective=float(np.median(effective)),
        spanning=float(np.median(spanning)),
        uneven=(float(np.quantile(effective, 0.1)), float(np.quantile(effective, 0.9))),
        growth=growth,
        likelihood=_likelihood(some.box, rows, nearest),
        most=most,
    )
    if not found.resolved:
        return found
    n_values = min(max_dim, points.shape[1]) + 1
    values = local_singular_values(some, rows, [bandwidth], n_values, rho=scales, most=most, n_jobs=n_jobs)[:, 0]
    per_point = largest_gap(values)
    voted = vote(per_point)
    share = float(np.mean(per_point == voted)) if voted else 0.0
    return Neighborhoods(
        **{name: getattr(found, name) for name in ("bandwidth", "effective", "spanning", "uneven", "growth", "likelihood")},
        most=most,
        vote=voted,
        share=share,
        per_point=per_point,
        singular_values=values,
    )


def _columns(points: Points, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points among which neighbors are looked for, and the places of the sampled ones among them."""
    n = len(points)
    if n <= _MOST_COLUMNS and isinstance(points.given, np.ndarray):
        return np.arange(n), sample
    drawn = np.random.default_rng(0).choice(n, min(n, _MOST_COLUMNS), replace=False)
    columns = np.union1d(drawn, sample)
    return columns, np.searchsorted(columns, sample)


def _likelihood(X: np.ndarray, rows: np.ndarray, k: int) -> float:
    """(k − 2) / Σ log(t_k / t_j), averaged over points as MacKay & Ghahramani do; duplicates are left out."""
    logs = []
    for some in np.array_split(rows, -(-len(rows) // 64)):
        sqdist = cdist(X[some], X, "sqeuclidean")
        sqdist[sqdist == 0] = np.inf
        k_here = min(k, sqdist.shape[1] - 1)
        near = np.partition(sqdist, k_here - 1, axis=1)[:, :k_here]
        near = near[np.isfinite(near).all(axis=1)]
        if near.size and k_here > 2:
            logs.append(0.5 * np.log(near.max(axis=1, keepdims=True) / near).sum(axis=1) / (k_here - 2))
    mean = float(np.concatenate(logs).mean()) if logs else 0.0
    return 1.0 / mean if mean > 0 else 0.0
