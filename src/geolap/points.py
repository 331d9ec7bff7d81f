"""Points: in one unit, about one center, ready for arithmetic that neither overflows nor loses digits."""

import numpy as np

__all__ = ["in_unit", "in_unit_box", "median_of_some", "root_mean_square_distance", "spread_rows", "unit_above"]


def in_unit_box(X) -> tuple[np.ndarray, float]:
    """Points in float64, about a point amid them and scaled into [−2, 2], and the scale.

    The scale is a power of two, so nothing is rounded by it; squares of the result neither overflow nor vanish, whatever
    the magnitude of the data.  The center is a median: a far outlier must not carry it away from the others, whose digits
    would be lost.
    """
    X = np.array(X, dtype=np.float64)  # a copy, and no overflow in the arithmetic below
    low, high = X.min(axis=0), X.max(axis=0)
    center = median_of_some(X)
    half = max((0.5 * high - 0.5 * center).max(), (0.5 * center - 0.5 * low).max())
    unit = unit_above(half)
    X /= unit
    X -= center / unit
    return np.ascontiguousarray(X), unit


def spread_rows(n_points, most) -> np.ndarray:
    """At most so many row indices, evenly spread: data is often sorted, and its first rows are not like the others."""
    return np.linspace(0, n_points - 1, min(n_points, most)).astype(int)


def unit_above(half) -> float:
    """The power of two in which points up to 2·``half`` from their center lie within [−2, 2]."""
    return float(2.0 ** np.clip(np.ceil(np.log2(half)) + 1, -1074, 1023))


def median_of_some(X) -> np.ndarray:
    """Median of each column over some hundred rows: a place amid the points."""
    return np.median(X[:: -(-len(X) // 128)], axis=0)


def in_unit(bandwidths, unit) -> np.ndarray:
    """Bandwidths in that unit, none so extreme that its square would leave the range of floating-point numbers."""
    return np.clip(np.asarray(bandwidths, dtype=float) / unit, 1e-150, 1e150)


def root_mean_square_distance(X) -> float:
    """sqrt(mean over pairs of ‖x_i − x_j‖²), in closed form."""
    return float(np.sqrt(2.0 * len(X) / (len(X) - 1) * X.var(axis=0).sum()))
