"""Selection: what a way to choose ε answers with, and the words for how good the answer is."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

__all__ = ["Minimum", "Selection", "Status"]


class Status(Enum):
    """How far a selected bandwidth can be trusted; the value is the sentence to print."""

    INTERIOR = "A clear minimum inside the searched range."
    SEVERAL = (
        "Several minima are nearly as good: the data has more than one scale, and the choice between them is close. Look at "
        "all of them."
    )
    LOWER_ELSEWHERE = (
        "A clear minimum, but the curve is lower still at an end of the searched range, where nothing turns. Look at the "
        "curve; a larger max_share looks further."
    )
    FLAT = (
        "The curve is flat: no bandwidth is better than its neighbors by more than the noise of the evaluation points. "
        "Raise n_sample, or doubt that the data has a scale."
    )
    LOWER_END = (
        "The curve falls towards the lower end of the range, where most points have no neighbors: no local scale was "
        "found. Look for duplicates or quantized features."
    )
    UPPER_END = (
        "The curve falls towards the upper end of the range: no minimum below the bound on locality. Raise max_share to "
        "look further, and distrust what it finds there."
    )
    FALLS_APART = (
        "The graph falls apart at this bandwidth: more than a tenth of the evaluation points see no neighbor. Use a larger "
        "minimum, remove outliers, or let the bandwidth vary from place to place."
    )
    NO_LIMIT = (
        "The singular values never turn on one side, so the range of scales has no limit there; the end of the searched "
        "range stands in for it. Try another K."
    )
    RULE = "A rule of thumb: it minimizes nothing, so nothing tells how good it is."

    def __str__(self):
        return self.value


@dataclass(frozen=True)
class Minimum:
    """One minimum of the curve.

    Attributes
    ----------
    bandwidth, score : float
    depth : float
        How far the curve must rise on the way to a lower one (or to the end of the range, where there is none).
    noise : float
        Standard error of that depth over evaluation points; 0 if unknown.
    local : bool
        Whether neighborhoods are still local there: below the bound.
    share : float or None
        Share of all points that the median effective neighborhood holds there, if known.
    """

    bandwidth: float
    score: float
    depth: float
    noise: float = 0.0
    local: bool = True
    share: float | None = None

    @property
    def clear(self) -> bool:
        """Deeper than twice its noise."""
        return self.depth > 2.0 * self.noise


@dataclass(frozen=True)
class Selection:
    """A chosen bandwidth with the reasons for it; prints as `explain` tells it.

    Attributes
    ----------
    bandwidth : float
        ε̂, in the unit of the data, for exp(−d²/ε²).
    bandwidths, scores : ndarray (m,)
        The curve that was minimized, ascending in ε, with the refined minima among its points.
    minima : tuple of Minimum
        Every minimum found, ascending in ε.  One beyond the bound is most often the global-scale artifact.
    interval : (float, float) or None
        Where ε̂ falls in 95 % of resamplings of the evaluation points.
    status : Status
        How far to trust it; prints as a sentence.
    method : str
    bound : float or None
        The largest bandwidth at which neighborhoods count as local.
    details : dict
        What else the method has to say.
    """

    bandwidth: float
    bandwidths: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)
    minima: tuple[Minimum, ...] = field(repr=False)
    interval: tuple[float, float] | None
    status: Status = field(repr=False)
    method: str
    bound: float | None = field(default=None, repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False)

    def explain(self) -> str:
        """The answer in words."""
        lines = [f"Bandwidth {self.bandwidth:.4g} (method {self.method})"]
        if self.interval is not None:
            low, high = self.interval
            lines.append(f"95 % interval {low:.4g} to {high:.4g}, over resampled evaluation points")
        lines.append(str(self.status))
        if self.minima:
            lines.append("Minima of the curve:")
        for minimum in self.minima:
            lines.append(f"  {minimum.bandwidth:10.4g}  score {minimum.score:.3f}  {self._meaning(minimum)}")
        if self.bound is not None:
            lines.append(f"Neighborhoods are local up to bandwidth {self.bound:.4g}.")
        return "\n".join(lines)

    def __str__(self):
        return self.explain()

    def _meaning(self, minimum):
        if not minimum.local:
            held = "" if minimum.share is None else f", neighborhoods hold {minimum.share:.0%} of the points"
            return f"beyond the bound on locality{held}: the scale of the whole data set"
        if minimum.bandwidth == self.bandwidth:
            return "selected"
        return "another scale of the data" if minimum.clear else "within noise"

    def plot(self, ax=None):
        """Draw the curve with its minima, interval and bound; returns a `geolap.display.plots.SelectionDisplay`."""
        from .display.plots import SelectionDisplay

        return SelectionDisplay(self).plot(ax=ax)

    def to_html(self, *, name=None) -> str:
        """A page of HTML with charts that opens from disk, as `geolap.display.report.selection_page` makes it."""
        from .display.report import selection_page

        return selection_page(self, name=name)

    def _repr_html_(self):
        from .display.notebook import card, paragraph, sparkline, table

        title = f"Bandwidth {self.bandwidth:.4g}"
        if self.interval is not None:
            title += f" ({self.interval[0]:.4g} – {self.interval[1]:.4g})"
        curve = sparkline(self.bandwidths, self.scores, chosen=self.bandwidth, interval=self.interval, beyond=self.bound)
        rows = [(f"{m.bandwidth:.4g}", f"{m.score:.3f}", self._meaning(m)) for m in self.minima]
        minima = table(("minimum", "score", "what it is"), rows) if rows else ""
        return card(title, paragraph(f"Method {self.method}. {self.status}"), curve, minima)
