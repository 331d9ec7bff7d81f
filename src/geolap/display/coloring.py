"""What colors the points of a map: labels given, or the density."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..validation import is_missing

__all__ = ["NO_LABEL", "OTHER", "Coloring", "label_coloring", "relative_coloring"]

_MOST_CATEGORIES = 20
NO_LABEL, OTHER = "no label", "other"


@dataclass(frozen=True)
class Coloring:
    """What colors the points: ``categories`` and each point's position among them, or ``values`` on a scale."""

    title: str
    categories: tuple[str, ...] = ()
    codes: np.ndarray = field(default_factory=lambda: np.empty(0, int), repr=False)
    values: np.ndarray | None = field(default=None, repr=False)

    @property
    def n_classes(self) -> int:
        """Categories that are labels."""
        return len({*self.categories} - {NO_LABEL, OTHER})


def label_coloring(given: ArrayLike, n: int) -> Coloring:
    """Colors of n points by their labels: a category for each, or a scale for many different numbers."""
    labels = _labels(given, n)
    if labels.dtype.kind == "f":
        return Coloring("label", values=labels)
    names, counts = np.unique([label for label in labels if label is not None], return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")][:_MOST_CATEGORIES].tolist()
    categories = sorted(kept, key=lambda label: (_number(label) is None, _number(label), label))
    position = {label: k for k, label in enumerate(categories)}
    if len(names) > len(kept):
        categories.append(OTHER)
    codes = np.array([-1 if label is None else position.get(label, len(kept)) for label in labels])
    if (codes < 0).any():
        codes[codes < 0] = len(categories)
        categories.append(NO_LABEL)
    return Coloring("label", tuple(categories), codes)


def relative_coloring(title: str, values: np.ndarray) -> Coloring | None:
    """Values in relation to their median, on a log scale; None if that is no scale."""
    known = values[np.isfinite(values)]
    if not len(known) or not np.median(known) > 0:
        return None
    with np.errstate(divide="ignore"):
        return Coloring(f"{title}, log₂ of its ratio to the median", values=np.log2(values / np.median(known)))


def _labels(labels: ArrayLike, n: int) -> np.ndarray:
    """Labels as an array of n floats (NaN where missing), or of n strings or None."""
    y = np.asarray(labels)
    if y.shape != (n,) and y.size == n and y.ndim == 2:
        y = y.ravel()
    if y.shape != (n,):
        raise ValueError(
            f"There must be one label for each of the {n} points; shape {y.shape} was given: pass one label per point."
        )
    if y.dtype.kind in "OU" and all(is_missing(word) or _number(str(word)) is not None for word in y.tolist()):
        y = np.array([np.nan if is_missing(word) else _number(str(word)) for word in y.tolist()], dtype=float)
    numbers = y.dtype.kind in "iuf"
    if numbers:
        y = np.where(np.isfinite(y), y, np.nan)
    missing = np.array([is_missing(label) for label in y.tolist()])
    distinct = set(y[~missing].tolist())
    if numbers and (len(distinct) > _MOST_CATEGORIES or not all(float(value).is_integer() for value in distinct)):
        return y
    return np.array([None if gone else f"{v:g}" if numbers else str(v) for gone, v in zip(missing, y.tolist(), strict=True)])


def _number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None
