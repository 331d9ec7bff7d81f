"""Weights of points: a point of weight m is m points at the same place.

So every sum over points, Σ_j, is Σ_j m_j, and means, standard errors and quantiles over points are those of the points
given so many times each.  Of the m points at a place one is the point itself, and m − 1 are its copies; a weight below 1 is
that of the point itself.  None stands for weights of 1.
"""

from typing import Any

import numpy as np

from ..sentences import refusal

__all__ = [
    "checked_multiplicity",
    "copies_of",
    "counts_of",
    "own_weight",
    "quantile_of",
    "standard_error",
    "total_of",
    "weights_at",
]

# Fewer points than this, copies counted, have no scale.
_FEWEST = 3.0


def checked_multiplicity(sample_weight: Any, n_points: int) -> np.ndarray | None:
    """Weights (n,) of points as they are accepted as ``sample_weight``, in float64; None if all are 1."""
    if sample_weight is None:
        return None
    try:
        m = np.array(sample_weight, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise refusal("{sample_weight} must hold numbers; {error}: pass one number for each point.", error=error) from None
    if m.ndim == 0:
        m = np.full(n_points, float(m))
    if m.shape != (n_points,):
        raise refusal(
            "{sample_weight} must hold one number for each of the {n} points, in a 1D array; shape {shape} was given: "
            "match it to the points.",
            n=n_points,
            shape=m.shape,
        )
    wrong = np.flatnonzero(~(np.isfinite(m) & (m > 0)))
    if wrong.size:
        raise refusal(
            "{sample_weight} is the number of points that a row represents, and must be above zero and finite; {value} was "
            "given, first at row {row}: leave out such points.",
            value=float(m[wrong[0]]),
            row=int(wrong[0]),
        )
    if m.sum() < _FEWEST:
        raise refusal(
            "{sample_weight} is the number of points that each row represents; the weights of {n} rows sum to {total:.3g}: "
            "rescale them to a mean of about 1.",
            n=n_points,
            total=m.sum(),
        )
    return None if np.all(m == 1.0) else m


def weights_at(m: np.ndarray | None, rows: Any) -> np.ndarray | None:
    """The weights of some points."""
    return None if m is None else m[rows]


def counts_of(m: np.ndarray | None, n_points: int) -> np.ndarray:
    """The weights (n,) of all points, those of 1 written out."""
    return np.ones(n_points) if m is None else m


def total_of(m: np.ndarray | None, n_points: int) -> float:
    """The number of points, copies counted."""
    return float(n_points) if m is None else float(m.sum())


def own_weight(m: np.ndarray | None, rows: Any = slice(None)) -> Any:
    """What the point itself weighs: 1, or its weight below that; (n, 1) for several points."""
    return 1.0 if m is None else np.minimum(m[rows], 1.0)[:, None]


def copies_of(m: np.ndarray | None, rows: Any = slice(None)) -> Any:
    """How many copies of the point there are beside it; (n, 1) for several points."""
    return 0.0 if m is None else np.maximum(m[rows] - 1.0, 0.0)[:, None]


def standard_error(values: np.ndarray, m: np.ndarray | None = None) -> float:
    """Standard error of the mean of the values (n,); 0 for a single value."""
    n = total_of(m, len(values))
    if n <= 1.0:
        return 0.0
    variance = np.average((values - np.average(values, weights=m)) ** 2, weights=m)
    return float(np.sqrt(variance / (n - 1.0)))


def quantile_of(values: np.ndarray, q: Any, m: np.ndarray | None = None) -> Any:
    """Quantiles of the values (n, ...) along the first axis, interpolated between points as NumPy does by default.

    Sorted, the m points of a value take the places from the sum of the weights before it on, one apart; a point of less
    weight than 1 takes the middle of its own.
    """
    if m is None:
        return np.quantile(values, q, axis=0)
    if values.ndim > 1:
        return np.stack([quantile_of(column, q, m) for column in values.T], axis=-1)
    order = np.argsort(values, kind="stable")
    v, m = values[order], m[order]
    middle, half = np.cumsum(m) - 0.5 * (m + 1.0), 0.5 * np.maximum(m - 1.0, 0.0)
    places = np.column_stack([middle - half, middle + half]).ravel()
    return np.interp(np.asarray(q) * (m.sum() - 1.0), places, np.repeat(v, 2))
