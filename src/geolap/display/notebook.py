"""Results in a notebook: small tables and curves of plain HTML and SVG that follow its light or dark theme.

Nothing is needed but a browser.  Colors are those of the surrounding text, made fainter where they matter less.
"""

import math
from collections.abc import Iterable
from html import escape

import numpy as np

from .. import shown
from ..dimension import DimensionEstimate
from ..graphs.health import GraphHealth
from ..selection import Selection
from ..selectors.comparison import COLUMNS, Comparison
from .curve import CHOICE, drawn_curve, not_local

__all__ = ["comparison_card", "dimension_card", "health_card", "selection_card"]

_WIDTH, _HEIGHT, _BASE = 420, 96, 80  # of the curve, in pixels, and where its lower end is


@shown.cards.register(Selection)
def selection_card(selection: Selection) -> str:
    """The bandwidth, its status, the curve and its minima."""
    title = f"Bandwidth {selection.bandwidth:.4g}"
    if selection.interval is not None:
        title += f" ({selection.interval[0]:.4g} – {selection.interval[1]:.4g})"
    rows = [(f"{m.bandwidth:.4g}", f"{m.score:.3f}", selection.meaning(m)) for m in selection.minima]
    minima = _table(("minimum", "score", "what it is"), rows) if rows else ""
    verdict, reasons = (
        _paragraph(text) for text in (f"Method {selection.method}. {selection.verdict_text}", str(selection.status_text))
    )
    return _card(title, verdict, reasons, _sparkline(selection), minima)


@shown.cards.register(Comparison)
def comparison_card(comparison: Comparison) -> str:
    """A row for each rule, and which of them agree."""
    return _card(f"{len(comparison)} rules", _table(COLUMNS, comparison.words()), _paragraph(comparison.conclusion()))


@shown.cards.register(GraphHealth)
def health_card(health: GraphHealth) -> str:
    """Components, neighbors and size of a graph."""
    least, lower, median, upper, most = (f"{q:.3g}" for q in health.effective_neighbors)
    rows = [
        ("components", health.components),
        ("points in the largest", health.largest_component),
        ("isolated points", health.isolated),
        ("duplicates", health.duplicates),
        ("effective neighbors", f"{median} (quartiles {lower} to {upper}, range {least} to {most})"),
        ("sparse matrix", f"{health.nonzeros:.3g} nonzeros, {health.bytes / 2**20:.3g} MiB"),
    ]
    return _card(f"Graph of {health.n_points} points at bandwidth {health.bandwidth:.4g}", _table((), rows))


@shown.cards.register(DimensionEstimate)
def dimension_card(estimate: DimensionEstimate) -> str:
    """The votes for each dimension, and the other estimates."""
    near = estimate.neighborhoods
    votes = np.bincount(near.per_point) if near.vote else np.zeros(0, dtype=int)
    rows = [(d or "no neighbors", votes[d], f"{votes[d] / votes.sum():.0%}") for d in np.flatnonzero(votes)]
    table = _table(("dimension", "votes", "share"), rows) if rows else ""
    told = f"Dimension {near.dimension}" if near.dimension else "Dimension not determined"
    text = f"{near.explain_neighbors()} {near.explain_dimension()}"
    return _card(f"{told} at bandwidth {near.bandwidth:.4g}", _paragraph(text), table)


def _card(title: str, *parts: str) -> str:
    style = "border:1px solid color-mix(in srgb, currentColor 25%, transparent);border-radius:8px;padding:.7em 1em;"
    return (
        f'<div style="{style}max-width:46em;font-family:system-ui,sans-serif;line-height:1.5">'
        f'<div style="font-size:1.2em;font-weight:600">{escape(title)}</div>{"".join(parts)}</div>'
    )


def _paragraph(text: str) -> str:
    return f'<div style="opacity:.8">{escape(text)}</div>'


def _table(columns: Iterable[str], rows: Iterable[tuple]) -> str:
    """Rows of words, escaped, below the names of the columns if there are any."""
    cell = "text-align:left;padding:.15em 1.2em .15em 0;background:none"
    names = "".join(f'<th style="{cell}">{escape(column)}</th>' for column in columns)
    head = f"<thead><tr>{names}</tr></thead>" if names else ""
    body = "".join(
        '<tr style="background:none">' + "".join(f'<td style="{cell}">{escape(str(value))}</td>' for value in row) + "</tr>"
        for row in rows
    )
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;font-size:.9em">'
        f"{head}<tbody>{body}</tbody></table></div>"
    )


def _sparkline(selection: Selection) -> str:
    """The curve over log ε as inline SVG, with the choice, its interval, and what lies beyond the bound."""
    curve = drawn_curve(selection)
    if len(curve.scores) < 2:
        return ""
    left, right = (math.log(end) for end in curve.bandwidths[[0, -1]])

    def across(value: float) -> float:
        place = (min(max(math.log(value), left), right) - left) / (right - left or 1.0)
        return round(4 + (_WIDTH - 8) * place, 1)

    def down(value: float) -> float:
        return round(6 + 70 * (1 - (min(value, curve.high) - curve.low) / ((curve.high - curve.low) or 1.0)), 1)

    def box(start: float, stop: float, look: str) -> str:
        return f'<rect x="{start}" y="0" width="{max(stop - start, 1):.1f}" height="{_BASE}" {look}/>'

    shapes = []
    if (beyond := not_local(selection)) is not None:
        shapes.append(box(across(beyond[0]), _WIDTH, 'fill="currentColor" opacity=".1"'))
    if selection.interval is not None:
        low, high = selection.interval
        shapes.append(box(across(low), across(high), f'fill="{CHOICE}" opacity=".25"'))
    shapes.append(f'<path d="M{across(selection.bandwidth)} 0V{_BASE}" stroke="{CHOICE}" stroke-width="1.5"/>')
    line = " ".join(f"{across(x)},{down(y)}" for x, y in zip(curve.bandwidths, curve.scores, strict=True))
    shapes.append(f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.8"/>')
    for end, place in ((0, 'x="4"'), (-1, f'x="{_WIDTH - 4}" text-anchor="end"')):
        words = f"{selection.bandwidths[end]:.3g}"
        shapes.append(f'<text {place} y="{_HEIGHT - 3}" font-size="11" fill="currentColor" opacity=".75">{words}</text>')
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" style="max-width:100%;display:block;margin:.5em 0" '
        f'role="img" aria-label="Score against bandwidth, chosen at {selection.bandwidth:.4g}">{"".join(shapes)}</svg>'
    )
