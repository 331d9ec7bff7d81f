"""Curves as every display draws them: the one behind a selection, and what coordinates tell of others."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..estimators.coordinates import IndependentCoordinates
from ..selection import Selection

__all__ = ["CHOICE", "Curve", "ToldCurve", "drawn_curve", "not_local", "told_curves"]

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


def not_local(selection: Selection) -> tuple[float, float] | None:
    """Where neighborhoods are no longer local, of the bandwidths that were searched."""
    last = selection.bandwidths[-1]
    return None if selection.bound is None or selection.bound >= last else (selection.bound, last)


class ToldCurve(NamedTuple):
    """How much of every candidate (m,) some coordinates tell, and whether they are "chosen", "not enough" or "the first"."""

    name: str
    kind: str
    told: np.ndarray

    @property
    def words(self) -> str:
        """Its name, and what is to be said of its coordinates."""
        return self.name if self.kind == "the first" else f"{self.name}: {self.kind}"


def told_curves(found: IndependentCoordinates) -> list[ToldCurve]:
    """The sets of coordinates that were looked at, and as many of the first ones if those are others."""
    spanning = found.chosen[np.isfinite(found.roughness[found.chosen])].tolist()  # without those for components
    curves = []
    for step in found.steps:
        kind = "chosen" if [*step.coordinates] == spanning else "not enough"
        curves.append(ToldCurve(", ".join(str(k + 1) for k in step.coordinates), kind, step.told))
    if curves and not np.allclose(found.first_told, curves[-1].told, equal_nan=True):
        name = f"the first {len(spanning)}" if len(spanning) > 1 else "the first"
        curves.append(ToldCurve(name, "the first", found.first_told))
    return curves
