"""The page: a `ReportContent` in, one HTML file out that needs nothing else.

Style, script, data and plotly are inside it; plotly travels compressed, which makes a file of two megabytes rather than
five.  A policy in its head forbids all network and every script but those two, by their hashes: should a name from the
user's file ever escape the escaping, it would still not run.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from .coloring import Coloring
from .content import ReportContent
from .figures import Figure, category_style, color_limits, dimension_figure, health_figure, map_figure, selection_figure

__all__ = ["page_of"]

_MOST_FEATURES_NAMED = 12
_FACTORS = {0.5: "ε̂/2", 1.0: "ε̂", 2.0: "2ε̂"}

Section = tuple[str, dict[str, Figure]]  # HTML, and the charts that its places are for


def page_of(content: ReportContent, *, version: str) -> str:
    """The whole page."""
    plotly, packed = _plotly()
    style, script = (files(__package__).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    sections: list[str] = []
    figures: dict[str, Figure] = {}
    for section in (_why, _graph, _maps, _dimension, _next):
        html, charts = section(content)
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
<title>{escape("".join(content.answer))}</title>
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
def _plotly() -> tuple[str, str]:
    """The library as text, and as it travels."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("A report needs plotly, which is not installed: pip install 'geolap[report]'.") from None
    text = get_plotlyjs()
    return text, base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _inside_script(value: Any) -> str:
    """JSON in which nothing can end the element that holds it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _what(content: ReportContent) -> str:
    if content.n_points is None:
        return "geolap report"
    size = f"{content.n_points:,} points × {content.n_features:,} features".replace(",", "\u202f")
    return f"geolap report · {escape(content.name)} · {size}"


def _head(content: ReportContent) -> str:
    selection = content.selection
    before, number, after = map(escape, content.answer)
    lead = (
        "There the geometry that the graph implies agrees best with the one in which the data was measured."
        if selection.method in ("gc", "gc_inverse")
        else f"Chosen by the rule {escape(selection.method)}."
    )
    cells = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(value)}</dd></div>" for term, value in content.facts)
    return (
        f'<h1>{before}<span class="number">{number}</span>{after}</h1>\n'
        f'<p class="lead">{lead} A bandwidth is a length, in the unit of the data, for exp(−d²/ε²).</p>\n'
        f'<p class="status">{escape(str(selection.status))}</p>\n<dl class="facts">{cells}</dl>'
    )


def _why(content: ReportContent) -> Section:
    selection, figure = content.selection, selection_figure(content)
    text = (
        "The curve is the distortion: how far the metric of the graph is from that of the data, on average over evaluation "
        "points, with its standard error. The lower the better."
        if selection.method in ("gc", "gc_inverse")
        else "The curve is what the rule minimizes."
    )
    local = {minimum.local for minimum in selection.minima}
    key = [
        (True, "line", "@curve", "score"),
        (True, "line", "@choice", f"ε̂ = {selection.bandwidth:.4g}"),
        (selection.interval is not None, "box", "@interval", f"{selection.interval_kind} {_range(selection.interval)}"),
        (True in local, "ring", "@choice", "minimum"),
        (
            selection.bound is not None and selection.bound < selection.bandwidths[-1],
            "box",
            "@beyond",
            "neighborhoods no longer local",
        ),
        (False in local, "x", "@artifact", "artifact: the scale of the whole data set"),
        (any(r.bandwidth is not None for r in content.rivals), "diamond", "@rival", "other rules, with their ranges"),
    ]
    minima = _table(
        ("minimum at ε", "score", "neighborhood holds", "what it is"),
        [(f"{m.bandwidth:.4g}", f"{m.score:.4g}", _number(m.share, ".0%"), selection.meaning(m)) for m in selection.minima],
        chosen=[m.bandwidth == selection.bandwidth for m in selection.minima],
        texts=("what it is",),
    )
    points = zip(selection.bandwidths, selection.scores, strict=True)
    curve = _table(("ε", "score"), [(f"{e:.5g}", f"{s:.5g}") for e, s in points])
    others = _table(
        ("rule", "ε̂", "range", "neighbors", "components", "isolated", "seconds", "remark"),
        [
            (
                r.method,
                _number(r.bandwidth, ".4g") or "none",
                _range(r.interval),
                _number(r.neighbors, ".3g"),
                _number(r.components, "d"),
                _number(r.isolated, "d"),
                _number(r.seconds, ".2f"),
                r.remark,
            )
            for r in content.rivals
        ],
        texts=("remark",),
    )
    if others:
        others = f"<h3>Other rules</h3>{others}"
    words = f"Score against bandwidth, lowest at {selection.bandwidth:.4g}; {len(selection.minima)} minima."
    chart = _figure("curve", words, [mark for wanted, *mark in key if wanted], figure)
    parts = chart, _remark(content, "rivals"), _numbers(minima + curve + others)
    return _section("why", "Why this bandwidth", text, *parts), {"curve": figure}


def _graph(content: ReportContent) -> Section:
    health = content.health
    if health is None:
        return "", {}
    text = (
        "Every scale makes another graph. Too small, and it falls into components with isolated points; too large, and "
        "every point is a neighbor of every other, so that nothing local is left."
    )
    key = [("line", "@curve", "effective neighbors, median and quartiles"), ("dash", "@choice", "isolated points")]
    columns = {"ε": [f"{e:.5g}" for e in health.bandwidths]}
    for name, quantile in (("neighbors: lower quartile", 1), ("median", 2), ("upper quartile", 3)):
        columns[name] = [f"{q:.4g}" for q in health.effective_neighbors[:, quantile]]
    columns["isolated"] = [f"{share:.1%}" for share in health.isolated]
    counted = f"Over evaluation points, which are joined with others up to {health.cutoff:g}ε apart."
    if health.components is not None and health.largest_component is not None:
        key.insert(1, ("line", "@rival", "points in the largest component"))
        columns["components"] = [str(count) for count in health.components]
        columns["in the largest"] = [f"{size / health.n_points:.1%}" for size in health.largest_component]
        counted = f"Points are joined up to {health.cutoff:g}ε apart."
    figure = health_figure(content)
    chart = _figure("health", "Effective neighbors and components of the graph against bandwidth.", key, figure)
    table = _table(tuple(columns), list(zip(*columns.values(), strict=True)))
    parts = chart, f'<p class="remark">{counted}</p>', _numbers(table)
    return _section("graph", "What the graph is like", text, *parts), {"health": figure}


def _maps(content: ReportContent) -> Section:
    title, left_out = "What the map looks like", _remark(content, "maps")
    if not content.maps:
        return (_section("maps", title, "", left_out), {}) if left_out else ("", {})
    views, rows, charts = [], [], {}
    for k, view in enumerate(content.maps):
        name = f"{_FACTORS[view.factor]} = {view.bandwidth:.4g}"
        circles = f"Ellipses are circles of radius {view.radius:.3g} on the data." if len(view.ellipses) else ""
        caption = f"<b>{name}</b>{escape(' '.join(filter(None, (view.remark, circles))))}"
        chart = ""
        if len(view.places):
            chart = _chart(f"map{k}", f"Map at bandwidth {view.bandwidth:.4g}.", 320)
            charts[f"map{k}"] = map_figure(view, content.coloring)
        kind = " class=chosen" if view.factor == 1.0 else ""
        views.append(f"<figure{kind}><figcaption>{caption}</figcaption>{chart}</figure>")
        rows.append((name, str(view.components or ""), _number(view.radius or None, ".4g"), view.remark))
    text = (
        "The same eigenmap at half, once and twice the bandwidth. What changes between them is not in the data: it is the "
        "scale. Where ellipses differ in size or shape, the map distorts lengths."
    )
    table = _table(("bandwidth", "components", "radius of the circles", "remark"), rows, texts=("remark",))
    drawn = f'{_color_key(content.coloring)}<div class="maps">{"".join(views)}</div>'
    return _section("maps", title, text, drawn, _remark(content, "outliers"), left_out, _numbers(table)), charts


def _color_key(coloring: Coloring | None) -> str:
    if coloring is None:
        return ""
    if coloring.values is not None:
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


def _dimension(content: ReportContent) -> Section:
    curve, (dimension, share) = content.dimension, content.vote
    if curve is None:
        return "", {}
    finding = (
        f"The largest gap between them tells the dimension: at ε̂ {share:.0%} of the evaluation points vote for {dimension}."
        if dimension
        else "At ε̂ no evaluation point has neighbors."
    )
    text = f"Singular values of small neighborhoods count the directions in which the data extends. {finding}"
    key = [
        ("line", "@curve", "σ of the tangent directions"),
        ("line", "@artifact", "σ of the others"),
        ("line", "@choice", "dimension that most points vote for"),
    ]
    if content.range_of_scales is not None:
        key.append(("box", "@band", "scales at which singular values tell signal from noise (clmr)"))
    values = curve.singular_values[:, :8]
    rows = [
        (f"{e:.5g}", str(vote), f"{share:.0%}", *(f"{value:.4g}" for value in row))
        for e, vote, share, row in zip(curve.bandwidths, curve.votes, curve.shares, values, strict=True)
    ]
    table = _table(("ε", "dimension", "share", *(f"σ{k + 1}" for k in range(values.shape[1]))), rows)
    figure = dimension_figure(content)
    words = f"Local singular values against bandwidth; dimension {dimension} at the chosen one."
    parts = _figure("dimensions", words, key, figure), _remark(content, "dimension"), _numbers(table)
    return _section("dimension", "How many dimensions", text, *parts), {"dimensions": figure}


def _next(content: ReportContent) -> Section:
    blocks = "".join(
        f'<div class="snippet"><header><h3>{escape(snippet.title)}</h3>'
        f'<button type="button" data-copy="code{k}">Copy</button></header>'
        f'<pre tabindex="0"><code id="code{k}">{escape(snippet.code)}</code></pre></div>'
        for k, snippet in enumerate(content.snippets)
    )
    text = "X stands for your points, an array of one row each."
    return _section("next", "What to do next", text, f'<div class="snippets">{blocks}</div>'), {}


def _foot(content: ReportContent, version: str) -> str:
    features = ""
    if content.features:
        named = ", ".join(content.features[:_MOST_FEATURES_NAMED])
        more = len(content.features) - _MOST_FEATURES_NAMED
        features = f"<p>Features: {escape(named)}{f' and {more} more' if more > 0 else ''}.</p>"
    return (
        f"{features}<p>Made by geolap {escape(version)}. The method: Perrault-Joncas &amp; Meilă, Improved Graph Laplacian "
        "via Geometric Self-Consistency, arXiv:1406.0118. This file needs no network and sends nothing.</p>"
    )


def _section(name: str, title: str, text: str, *parts: str) -> str:
    paragraph = f"<p>{text}</p>" if text else ""
    return f'<section id="{name}"><h2>{title}</h2>{paragraph}{"".join(parts)}</section>'


def _figure(name: str, words: str, key: Iterable[Sequence[str]], figure: Figure) -> str:
    return f"<figure>{_chart(name, words, figure['layout']['height'])}{_key(key)}</figure>"


def _chart(name: str, words: str, height: int) -> str:
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


def _key(items: Iterable[Sequence[str]]) -> str:
    marks = (
        f'<li><svg width="18" height="12" aria-hidden="true">{_MARKS[mark].format(f"var(--{color[1:]})")}</svg>'
        f"{escape(text)}</li>"
        for mark, color, text in items
    )
    return f'<ul class="key">{"".join(marks)}</ul>'


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, texts: Sequence[str] = (), chosen: Sequence[bool] = ()
) -> str:
    """Cells of words, escaped; ``texts`` are columns to wrap, ``chosen`` marks rows."""
    if not rows:
        return ""
    kinds = [' class="text"' if column in texts else "" for column in columns]
    head = "".join(f'<th scope="col"{kind}>{escape(column)}</th>' for column, kind in zip(columns, kinds, strict=True))
    body = "".join(
        f"<tr{' class=chosen' if chosen and chosen[k] else ''}>"
        + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for k, row in enumerate(rows)
    )
    return f'<div class="table" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _numbers(html: str) -> str:
    return f"<details><summary>The numbers</summary>{html}</details>"


def _remark(content: ReportContent, part: str) -> str:
    text = content.remarks.get(part)
    return f'<p class="remark">{escape(text)}</p>' if text else ""


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.4g} – {interval[1]:.4g}"
