"""The curve behind a selection, as every display draws it: where it is finite, and no higher than can be seen."""

from dataclasses import dataclass

import numpy as np

from ..selection import Selection

__all__ = ["CHOICE", "Curve", "drawn_curve"]

CHOICE = "#D55E00"  # the color of ε̂, from the palette of Okabe & Ito


@dataclass(frozen=True)
class Curve:
    """Finite scores, the one at ε̂, and the least and the greatest to draw."""

    bandwidths: np.ndarray
    scores: np.ndarray
    chosen: float
    low: float
    high: float

    @property
    def cropped(self) -> bool:
        """Whether scores above ``high`` are left out: GC⁻¹ grows beyond all bounds where points lose their neighbors."""
        return len(self.scores) > 0 and self.high < self.scores.max()


def drawn_curve(selection: Selection) -> Curve:
    """The part of a selection's curve that is drawn."""
    finite = np.isfinite(selection.scores)
    x, y = selection.bandwidths[finite], selection.scores[finite]
    if not len(y):
        return Curve(x, y, np.nan, 0.0, 1.0)
    chosen = float(np.interp(np.log(selection.bandwidth), np.log(x), y))
    low, high = float(y.min()), float(y.max())
    if chosen > 0 and high > 10 * max(chosen, 1.0):
        low, high = 0.0, 4 * max(chosen, 1.0)
    return Curve(x, y, chosen, low, high)
