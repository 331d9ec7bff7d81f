"""The range of bandwidths to search: from where points lose their neighbors to where neighborhoods are no longer local."""

import numpy as np

from .data.multiplicity import own_weight, quantile_of, weights_at
from .data.points import spread_rows
from .engines import Engine
from .search import log_grid
from .sentences import refusal

__all__ = ["MAX_SHARE", "falls_apart", "local_share", "locality_bound", "search_grid"]

# A point whose neighbors weigh less than this together counts as isolated (the paper's γ).
_ISOLATED = 1e-4
# Below ε_min all but this share of the evaluation points are isolated: GC's D is at least 0.95 there, nothing is missed.
_NOT_ISOLATED = 0.05
# Neighborhoods that hold at most this share of all points are local.
MAX_SHARE = 0.2
# This many effective neighbors, the point itself counted, are local however few points there are.
_FEWEST_NEIGHBORS = 4.0
# A range of more than this is looked at by some points first; its end is where they see so large a share of all points.
_WIDE, _LOOKED_AT, _NEARLY_ALL = 2.0**25, 16, 0.9


def falls_apart(nearest: np.ndarray, bandwidth: float, weights: np.ndarray | None = None) -> bool:
    """Whether more than a tenth of the points whose nearest neighbors are that far away are isolated."""
    isolated = np.exp(-((nearest / bandwidth) ** 2)) < _ISOLATED
    return bool(np.average(isolated, weights=weights) > 0.1)


def search_grid(engine: Engine, nearest: np.ndarray, n_points: float, weights: np.ndarray | None = None) -> np.ndarray:
    """Bandwidths of ratio 2^(1/4) from ε_min to ε_max, given the distances from a sample to its nearest neighbors.

    ε_max is the root mean square distance.  ε_min: Σ_{j≠i} W_ij < γ is certain for a point whose nearest neighbor is at δ
    when N exp(−δ²/ε²) < γ, and must hold for all but a few of the sample.
    """
    joined = np.isfinite(nearest)
    nearest = nearest[joined]
    if not nearest.size:
        raise refusal(
            "Some points must have a neighbor at a different position; all neighbors are duplicates: remove duplicates, or "
            "raise {n_neighbors} above their number."
        )
    low = quantile_of(nearest, _NOT_ISOLATED, weights_at(weights, joined)) / np.sqrt(np.log(n_points / _ISOLATED))
    high = engine.mean_distance()
    if not (np.isfinite(high) and low > np.finfo(float).tiny):
        raise ValueError(
            f"Distances must be within floating-point range; they range from about {low:.1g} to {high:.1g}: rescale the "
            "data."
        )
    return log_grid(low, _without_outliers(engine, low, high, n_points))


def _without_outliers(engine: Engine, low: float, high: float, n_points: float) -> float:
    """ε_max where a few far points, such as a sentinel of 1e38, make the root mean square distance that of themselves.

    Neighborhoods of most points hold all but these few from some ε on, and nothing changes beyond it.
    """
    if high / _WIDE <= low:
        return high
    wide = log_grid(low, high, 1)
    m = engine.multiplicity
    rows = spread_rows(round(n_points) if m is None else len(m), _LOOKED_AT)
    share = np.median(own_weight(m, rows) + engine.row_sums(wide, rows), axis=0) / n_points
    return float(wide[np.argmax(share > _NEARLY_ALL)]) if share[-1] > _NEARLY_ALL else high


def local_share(n_points: float, max_share: float = MAX_SHARE) -> float:
    """The share of all points that local neighborhoods hold at most."""
    return max(max_share, _FEWEST_NEIGHBORS / n_points)


def locality_bound(
    bandwidths: np.ndarray,
    effective: np.ndarray,
    n_points: float,
    max_share: float = MAX_SHARE,
    weights: np.ndarray | None = None,
) -> float:
    """The largest bandwidth at which neighborhoods are local: they hold at most this share of all points.

    ``effective`` (n, m) are effective neighbors of some points at the bandwidths; their median counts, and the bound is
    interpolated in log ε.
    """
    share = quantile_of(effective, 0.5, weights) / n_points
    max_share = local_share(n_points, max_share)
    if share[-1] <= max_share:
        return float(bandwidths[-1])
    if share[0] > max_share:
        return float(bandwidths[0])
    return float(np.exp(np.interp(max_share, np.maximum.accumulate(share), np.log(bandwidths))))
