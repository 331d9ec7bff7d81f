"""The page: a `ReportContent` in, one HTML file out that needs nothing else.

Style, script, data and plotly are inside it; plotly travels compressed, which makes a file of two megabytes rather than
five.  A policy in its head forbids all network and every script but those two, by their hashes: should a name from the
user's file ever escape the escaping, it would still not run.
"""

import base64
import gzip
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files

from .content import ReportContent
from .figures import (
    category_style,
    color_limits,
    dimension_figure,
    health_figure,
    map_figure,
    selection_figure,
)

__all__ = ["page_of"]

_MOST_FEATURES_NAMED = 12


def page_of(content: ReportContent, *, version: str) -> str:
    """The whole page."""
    plotly, packed = _plotly()
    style, script = (files(__package__).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    sections: list[str] = []
    figures: dict[str, dict] = {}
    for part in (_why, _graph, _maps, _dimension, _next):
        found = part(content)
        if found is not None:
            html, charts = found
            sections.append(html)
            figures |= charts
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}' '{_hash(plotly)}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(content.answer)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header class="top"><span class="what">{_what(content)}</span><button id="theme" type="button">Dark</button></header>
<main>
{_head(content)}
<p id="failed" class="noscript" hidden>The charts need a browser of 2023 or later. Their numbers are in the tables below.</p>
<noscript><p class="noscript">The charts need JavaScript. Their numbers are in the tables below.</p></noscript>
{"".join(sections)}
</main>
<footer>{_foot(content, version)}</footer>
<script type="application/json" id="figures">{_inside_script(figures)}</script>
<script type="text/plain" id="plotly">{packed}</script>
<script>{script}</script>
</body>
</html>
"""


@cache
def _plotly():
    """The library as text, and as it travels."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("A report needs plotly, which is not installed: pip install 'geolap[report]'.") from None
    text = get_plotlyjs()
    return text, base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _hash(script):
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _inside_script(value):
    """JSON in which nothing can end the element that holds it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _what(content):
    parts = ["geolap report"]
    if content.n_points is not None:
        parts += [
            escape(content.name),
            f"{content.n_points:,} points × {content.n_features:,} features".replace(",", "\u202f"),
        ]
    return " · ".join(parts)


def _head(content):
    selection = content.selection
    number = f"ε = {selection.bandwidth:.4g}"
    before, after = content.answer.split(number, 1)
    lead = (
        "There the geometry that the graph implies agrees best with the one in which the data was measured."
        if selection.method in ("gc", "gc_inverse")
        else f"Chosen by the rule {escape(selection.method)}."
    )
    cells = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(value)}</dd></div>" for term, value in content.facts)
    return (
        f'<h1>{escape(before)}<span class="number">{number}</span>{escape(after)}</h1>\n'
        f'<p class="lead">{lead} A bandwidth is a length, in the unit of the data, for exp(−d²/ε²).</p>\n'
        f'<p class="status">{escape(str(selection.status))}</p>\n<dl class="facts">{cells}</dl>'
    )


def _why(content):
    selection = content.selection
    chosen = f"{selection.bandwidth:.4g}"
    text = (
        "The curve is the distortion: how far the metric of the graph is from that of the data, on average over evaluation "
        "points, with its standard error. The lower the better."
        if selection.method in ("gc", "gc_inverse")
        else "The curve is what the rule minimizes."
    )
    key = [("line", "@curve", "score"), ("line", "@choice", f"ε̂ = {chosen}")]
    if selection.interval is not None:
        key.append(("box", "@interval", f"interval {_range(selection.interval)}"))
    if any(m.local for m in selection.minima):
        key.append(("ring", "@choice", "minimum"))
    if selection.bound is not None and selection.bound < selection.bandwidths[-1]:
        key.append(("box", "@beyond", "neighborhoods no longer local"))
    if any(not m.local for m in selection.minima):
        key.append(("x", "@artifact", "artifact: the scale of the whole data set"))
    if any(rival.bandwidth is not None for rival in content.rivals):
        key.append(("diamond", "@rival", "other rules, with their ranges"))
    rows = [
        (
            f"{m.bandwidth:.4g}",
            f"{m.score:.4g}",
            "" if m.share is None else f"{m.share:.0%}",
            "artifact"
            if not m.local
            else "chosen"
            if m.bandwidth == selection.bandwidth
            else "clear"
            if m.clear
            else "noise",
        )
        for m in selection.minima
    ]
    minima = _table(
        ("minimum at ε", "score", "neighborhood holds", "what it is"), rows, chosen=lambda row: row[3] == "chosen"
    )
    curve = _table(
        ("ε", "score"), [(f"{e:.5g}", f"{s:.5g}") for e, s in zip(selection.bandwidths, selection.scores, strict=True)]
    )
    others = ""
    if content.rivals:
        others = "<h3>Other rules</h3>" + _table(
            ("rule", "ε̂", "range", "neighbors", "parts", "isolated", "seconds", "remark"),
            [
                (
                    r.method,
                    "none" if r.bandwidth is None else f"{r.bandwidth:.4g}",
                    "" if r.interval is None else _range(r.interval),
                    "" if r.neighbors is None else f"{r.neighbors:.3g}",
                    "" if r.components is None else str(r.components),
                    "" if r.isolated is None else str(r.isolated),
                    "" if r.seconds is None else f"{r.seconds:.2f}",
                    r.remark,
                )
                for r in content.rivals
            ],
            texts=("remark",),
        )
    figure = selection_figure(content)
    words = f"Distortion against bandwidth, lowest at {chosen}; {len(selection.minima)} minima."
    html = (
        f'<section id="why"><h2>Why this bandwidth</h2><p>{text}</p>{_figure("curve", words, key, figure)}'
        f"{_remark(content, 'rivals')}{_details('The numbers', minima + curve + others)}</section>"
    )
    return html, {"curve": figure}


def _graph(content):
    health = content.health
    if health is None:
        return None
    text = (
        "Every scale makes another graph. Too small, and it falls into parts with isolated points; too large, and every "
        "point is a neighbor of every other, so that nothing local is left."
    )
    key = [("line", "@curve", "effective neighbors, median and quartiles")]
    columns = ["ε", "neighbors: quartile", "median", "quartile", "isolated"]
    rows = [
        [f"{e:.5g}", f"{q[1]:.4g}", f"{q[2]:.4g}", f"{q[3]:.4g}", f"{alone:.1%}"]
        for e, q, alone in zip(health.bandwidths, health.effective_neighbors, health.isolated, strict=True)
    ]
    if health.components is not None:
        key.append(("line", "@rival", "points in the largest part"))
        columns += ["parts", "in the largest"]
        for row, parts, largest in zip(rows, health.components, health.largest_component, strict=True):
            row += [str(parts), f"{largest / health.n_points:.1%}"]
        counted = f"Points are joined up to {health.cutoff:g}ε apart."
    else:
        counted = f"Over evaluation points, which are joined with others up to {health.cutoff:g}ε apart."
    key.append(("dash", "@choice", "isolated points"))
    figure = health_figure(content)
    words = "Effective neighbors and connected parts of the graph against bandwidth."
    html = (
        f'<section id="graph"><h2>What the graph is like</h2><p>{text}</p>'
        f'{_figure("health", words, key, figure)}<p class="remark">{counted}</p>'
        f"{_details('The numbers', _table(columns, rows))}</section>"
    )
    return html, {"health": figure}


def _maps(content):
    if not content.maps:
        remark = _remark(content, "maps")
        return (f'<section id="maps"><h2>What the map looks like</h2>{remark}</section>', {}) if remark else None
    views, charts = [], {}
    for k, view in enumerate(content.maps):
        facts = [view.remark] if view.remark else []
        if len(view.ellipses):
            facts.append(f"Ellipses are circles of radius {view.radius:.3g} on the data.")
        drawn = len(view.places) > 0
        caption = f"<b>{escape(view.factor)} = {view.bandwidth:.4g}</b>{escape(' '.join(facts))}"
        chart = _chart(f"map{k}", f"Map at bandwidth {view.bandwidth:.4g}.", 320) if drawn else ""
        views.append(
            f"<figure{' class=chosen' if view.factor == 'ε̂' else ''}><figcaption>{caption}</figcaption>{chart}</figure>"
        )
        if drawn:
            charts[f"map{k}"] = map_figure(view, content)
    text = (
        "The same eigenmap at half, once and twice the bandwidth. What changes between them is not in the data: it is the "
        "scale. Where ellipses differ in size or shape, the map distorts lengths."
    )
    rows = [
        (f"{v.factor} = {v.bandwidth:.4g}", str(v.components or ""), f"{v.radius:.4g}" if v.radius else "", v.remark)
        for v in content.maps
    ]
    table = _table(("bandwidth", "parts of the graph", "radius of the circles", "remark"), rows, texts=("remark",))
    html = (
        f'<section id="maps"><h2>What the map looks like</h2><p>{text}</p>{_color_key(content.coloring)}'
        f'<div class="maps">{"".join(views)}</div>{_remark(content, "outliers")}{_remark(content, "maps")}'
        f"{_details('The numbers', table)}</section>"
    )
    return html, charts


def _color_key(coloring):
    if coloring is None:
        return ""
    if coloring.codes is None:
        low, high = color_limits(coloring)
        return (
            f'<ul class="key"><li>{escape(coloring.title)}: {low:.3g} <span class="gradient" role="img" '
            f'aria-label="from dark blue to yellow"></span> {high:.3g}</li></ul>'
        )
    items = []
    for code, category in enumerate(coloring.categories):
        color, symbol = category_style(code, coloring.categories)
        items.append((symbol, color, category if len(category) <= 60 else category[:59] + "…"))
    return _key(items)


def _dimension(content):
    curve = content.dimension
    if curve is None:
        return None
    dimension, share = content.vote
    finding = (
        f"The largest gap between them tells the dimension: at ε̂ {share:.0%} of the evaluation points vote for {dimension}."
        if dimension
        else "At ε̂ no evaluation point has neighbors."
    )
    text = f"Singular values of small neighborhoods count the directions in which the data extends. {finding}"
    key = [("line", "@curve", "σ of the tangent directions"), ("line", "@artifact", "σ of the others")]
    key.append(("line", "@choice", "dimension that most points vote for"))
    if any(r.method == "clmr" and r.interval for r in content.rivals):
        key.append(("box", "@band", "scales at which singular values tell signal from noise (clmr)"))
    shown = min(8, curve.singular_values.shape[1])
    rows = [
        (f"{e:.5g}", str(vote), f"{share:.0%}", *(f"{value:.4g}" for value in values[:shown]))
        for e, vote, share, values in zip(curve.bandwidths, curve.votes, curve.shares, curve.singular_values, strict=True)
    ]
    table = _table(("ε", "dimension", "share", *(f"σ{k + 1}" for k in range(shown))), rows)
    figure = dimension_figure(content)
    words = f"Local singular values against bandwidth; dimension {dimension} at the chosen one."
    html = (
        f'<section id="dimension"><h2>How many dimensions</h2><p>{text}</p>'
        f"{_figure('dimensions', words, key, figure)}{_remark(content, 'dimension')}"
        f"{_details('The numbers', table)}</section>"
    )
    return html, {"dimensions": figure}


def _next(content):
    blocks = "".join(
        f'<div class="snippet"><header><h3>{escape(snippet.title)}</h3>'
        f'<button type="button" data-copy="code{k}">Copy</button></header>'
        f'<pre tabindex="0"><code id="code{k}">{escape(snippet.code)}</code></pre></div>'
        for k, snippet in enumerate(content.snippets)
    )
    text = "X stands for your points, an array of one row each."
    html = f'<section id="next"><h2>What to do next</h2><p>{text}</p><div class="snippets">{blocks}</div></section>'
    return html, {}


def _foot(content, version):
    parts = []
    if content.features:
        named = ", ".join(content.features[:_MOST_FEATURES_NAMED])
        more = len(content.features) - _MOST_FEATURES_NAMED
        parts.append(f"Features: {escape(named)}{f' and {more} more' if more > 0 else ''}.")
    parts.append(
        f"Made by geolap {escape(version)}. The method: Perrault-Joncas &amp; Meilă, Improved Graph Laplacian via Geometric "
        "Self-Consistency, arXiv:1406.0118. This file needs no network and sends nothing."
    )
    return "".join(f"<p>{part}</p>" for part in parts)


def _figure(name, words, key, figure):
    return f"<figure>{_chart(name, words, figure['layout']['height'])}{_key(key)}</figure>"


def _chart(name, words, height):
    return f'<div class="chart" id="{name}" role="img" aria-label="{escape(words)}" style="--height:{height}px"></div>'


_MARKS = {
    "line": '<path d="M0 6H18" stroke="{}" stroke-width="3"/>',
    "dash": '<path d="M0 6H18" stroke="{}" stroke-width="3" stroke-dasharray="5 3"/>',
    "box": '<rect width="18" height="12" fill="{}"/>',
    "ring": '<circle cx="9" cy="6" r="4.5" fill="none" stroke="{}" stroke-width="2.5"/>',
    "circle": '<circle cx="9" cy="6" r="5" fill="{}"/>',
    "diamond": '<path d="M9 0L15 6L9 12L3 6Z" fill="{}"/>',
    "x": '<path d="M4 1L14 11M14 1L4 11" stroke="{}" stroke-width="3"/>',
    "triangle-up": '<path d="M9 1L15 11H3Z" fill="{}"/>',
}


def _key(items):
    marks = (
        f'<li><svg width="18" height="12" aria-hidden="true">{_MARKS[mark].format(f"var(--{color[1:]})")}</svg>'
        f"{escape(text)}</li>"
        for mark, color, text in items
    )
    return f'<ul class="key">{"".join(marks)}</ul>'


def _table(columns, rows, *, texts=(), chosen=lambda row: False):
    if not rows:
        return ""
    kinds = [' class="text"' if column in texts else "" for column in columns]
    head = "".join(f'<th scope="col"{kind}>{escape(column)}</th>' for column, kind in zip(columns, kinds, strict=True))
    body = "".join(
        f"<tr{' class=chosen' if chosen(row) else ''}>"
        + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<div class="table" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _details(title, html):
    return f"<details><summary>{title}</summary>{html}</details>"


def _remark(content, part):
    text = content.remarks.get(part)
    return f'<p class="remark">{escape(text)}</p>' if text else ""


def _range(interval):
    return f"{interval[0]:.4g} – {interval[1]:.4g}"
