"""Results in a notebook: small tables and curves of plain HTML and SVG that follow its light or dark theme.

Nothing is needed but a browser.  Colors are those of the surrounding text, made fainter where they matter less.
"""

import math
from html import escape

__all__ = ["card", "paragraph", "sparkline", "table"]

_CHOICE = "#d55e00"
_WIDTH, _HEIGHT = 420, 96


def card(title, *parts):
    """A box with a title; parts are HTML."""
    style = "border:1px solid color-mix(in srgb, currentColor 25%, transparent);border-radius:8px;padding:.7em 1em;"
    return (
        f'<div style="{style}max-width:46em;font-family:system-ui,sans-serif;line-height:1.5">'
        f'<div style="font-size:1.2em;font-weight:600">{escape(title)}</div>{"".join(parts)}</div>'
    )


def paragraph(text):
    """Text, escaped."""
    return f'<div style="opacity:.8">{escape(text)}</div>'


def table(columns, rows):
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


def sparkline(x, y, *, chosen, interval=None, beyond=None):
    """A curve over log x as inline SVG, with the choice, its interval, and what lies beyond a bound."""
    pairs = [(math.log(a), b) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
    if len(pairs) < 2:
        return ""
    left, right = pairs[0][0], pairs[-1][0]
    heights = sorted(b for _, b in pairs)
    low, high = heights[0], heights[-1]
    at_choice = min(pairs, key=lambda pair: abs(pair[0] - math.log(chosen)))[1]
    if at_choice > 0 and high > 10 * max(at_choice, 1.0):
        high = 4 * max(at_choice, 1.0)  # a curve that grows beyond all bounds

    def across(value):
        place = (min(max(math.log(value), left), right) - left) / (right - left or 1.0)
        return round(4 + (_WIDTH - 8) * place, 1)

    def down(value):
        return round(6 + (_HEIGHT - 26) * (1 - (min(value, high) - low) / ((high - low) or 1.0)), 1)

    shapes = []
    if beyond is not None and beyond < x[-1]:
        start = across(beyond)
        width = _WIDTH - start
        shapes.append(
            f'<rect x="{start}" y="0" width="{width:.1f}" height="{_HEIGHT - 16}" fill="currentColor" opacity=".1"/>'
        )
    if interval is not None:
        start, stop = across(interval[0]), across(interval[1])
        size = f'x="{start}" y="0" width="{max(stop - start, 1):.1f}" height="{_HEIGHT - 16}"'
        shapes.append(f'<rect {size} fill="{_CHOICE}" opacity=".25"/>')
    at = across(chosen)
    shapes.append(f'<path d="M{at} 0V{_HEIGHT - 16}" stroke="{_CHOICE}" stroke-width="1.5"/>')
    line = " ".join(f"{across(math.exp(a))},{down(b)}" for a, b in pairs)
    shapes.append(f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.8"/>')
    text = 'font-size="11" fill="currentColor" opacity=".75"'
    shapes.append(f'<text x="4" y="{_HEIGHT - 3}" {text}>{x[0]:.3g}</text>')
    shapes.append(f'<text x="{_WIDTH - 4}" y="{_HEIGHT - 3}" text-anchor="end" {text}>{x[-1]:.3g}</text>')
    words = f"Score against bandwidth, chosen at {chosen:.4g}"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" style="max-width:100%;display:block;margin:.5em 0" '
        f'role="img" aria-label="{escape(words)}">{"".join(shapes)}</svg>'
    )
