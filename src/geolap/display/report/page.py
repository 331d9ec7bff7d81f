"""The page: a `ReportContent` in, one HTML file out that needs nothing else.

Style, script, data and plotly are inside it; plotly travels compressed, which makes a file of two megabytes rather than
five.  A policy in its head forbids all network and every script but those two, by their hashes: should a name from the
user's file ever escape the escaping, it would still not run.
"""

import base64
import gzip
import hashlib
import json
from collections import ChainMap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from ...runtime.libraries import needed
from ..coloring import Coloring
from ..curve import not_local, told_curves
from .advice import Snippet
from .content import ReportContent
from .figures import (
    Figure,
    category_style,
    color_limits,
    coordinates_figure,
    dimension_figure,
    health_figure,
    map_figure,
    selection_figure,
)

__all__ = ["page_of"]

_MOST_FEATURES_NAMED = 12
_PROSE = ("remark", "what it is")  # columns of sentences
_MOST_IN_A_ROW = 8  # entries of a key; more are set in columns
_FACTORS = {0.5: "ε̂/2", 1.0: "ε̂", 2.0: "2ε̂"}

Section = tuple[str, dict[str, Figure]]  # HTML, and the charts that its places are for


def page_of(content: ReportContent, *, version: str) -> str:
    """The whole page."""
    plotly, packed = _plotly()
    page, style, script = (files(__package__).joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js"))
    makers = _why, _graph, _maps, _clusters, _coordinates, _dimension, _next
    sections, charts = zip(*(section(content) for section in makers), strict=True)
    return Template(page).substitute(
        script_hash=_hash(script),
        plotly_hash=_hash(plotly),
        title=escape("".join(content.answer)),
        style=style,
        what=_what(content),
        head=_head(content),
        sections="".join(sections),
        foot=_foot(content, version),
        figures=_inside_script(dict(ChainMap(*charts))),
        packed=packed,
        script=script,
    )


@cache
def _plotly() -> tuple[str, str]:
    """The library as text, and as it travels."""
    text = needed("plotly.offline", "report", "A report needs").get_plotlyjs()
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
    if not selection.by_consistency:
        lead = f"Chosen by the rule {escape(selection.method)}. "
    elif selection.found:
        lead = "There the geometry implied by the graph agrees best with the one in which the data was measured. "
    else:
        lead = ""
    cells = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(value)}</dd></div>" for term, value in content.facts)
    return (
        f'<h1>{before}<span class="number">{number}</span>{after}</h1>\n'
        f'<p class="lead">{lead}A bandwidth is a length, in the unit of the data, for exp(−d²/ε²).</p>\n'
        f'<p class="status">{escape(str(selection.status_text))}</p>\n<dl class="facts">{cells}</dl>'
    )


def _why(content: ReportContent) -> Section:
    selection, figure = content.selection, selection_figure(content)
    text = (
        "The score is the distortion: how far the metric of the graph is from that of the data, averaged over evaluation "
        "points, with its standard error. Lower is better."
        if selection.by_consistency
        else "The score is what the rule minimizes."
    )
    key = [("line", "@curve", "score"), ("line", "@choice", f"ε̂ = {selection.bandwidth:.4g}")]
    if selection.interval is not None:
        key.append(("box", "@interval", f"{selection.interval_kind} {_range(selection.interval)}"))
    if any(m.local for m in selection.minima):
        key.append(("ring", "@choice", "minimum"))
    if not_local(selection) is not None:
        key.append(("box", "@beyond", "neighborhoods no longer local"))
    if any(not m.local for m in selection.minima):
        key.append(("x", "@artifact", "artifact: the scale of the whole data set"))
    if content.answered:
        key.append(("diamond", "@rival", "other rules, with their ranges"))
    minima = {
        "minimum at ε": _cells((m.bandwidth for m in selection.minima), ".4g"),
        "score": _cells((m.score for m in selection.minima), ".4g"),
        "neighborhood holds": _cells((m.share for m in selection.minima), ".0%"),
        "what it is": [selection.meaning(m) for m in selection.minima],
    }
    chosen = [m.bandwidth == selection.bandwidth for m in selection.minima]
    curve = {"ε": _cells(selection.bandwidths, ".5g"), "score": _cells(selection.scores, ".5g")}
    others = {
        "rule": [rival.method for rival in content.rivals],
        "ε̂": _cells((rival.bandwidth for rival in content.rivals), ".4g", missing="none"),
        "range": [_range(rival.interval) for rival in content.rivals],
        "neighbors": _cells((rival.neighbors for rival in content.rivals), ".3g"),
        "components": _cells((rival.components for rival in content.rivals), "d"),
        "isolated": _cells((rival.isolated for rival in content.rivals), "d"),
        "seconds": _cells((rival.seconds for rival in content.rivals), ".2f"),
        "remark": [rival.remark for rival in content.rivals],
    }
    title = "<h3>Other rules</h3>" if content.rivals else ""
    numbers = _numbers(_table(minima, chosen), _table(curve), title, _table(others))
    words = f"Score against bandwidth, chosen at {selection.bandwidth:.4g}; number of minima: {len(selection.minima)}."
    conclusion = f"<p>{escape(content.agreement)}</p>" if content.agreement else ""
    reasons = _list(remark.of(content.features).text for remark in selection.reasons)
    parts = reasons, _figure("curve", words, key, figure), conclusion, _remark(content.remarks.get("rivals")), numbers
    return _section("why", "Why this bandwidth", text, *parts), {"curve": figure}


def _graph(content: ReportContent) -> Section:
    health = content.health
    if health is None:
        return "", {}
    text = (
        "Every scale gives a different graph. Too small, and it falls into components with isolated points; too large, and "
        "every point is a neighbor of every other, so that nothing local is left."
    )
    key = [("line", "@curve", "effective neighbors, median and quartiles"), ("dash", "@choice", "isolated points")]
    _, lower, median, upper, _ = health.effective_neighbors.T
    columns = {
        "ε": _cells(health.bandwidths, ".5g"),
        "neighbors: lower quartile": _cells(lower, ".4g"),
        "median": _cells(median, ".4g"),
        "upper quartile": _cells(upper, ".4g"),
        "isolated": _cells(health.isolated, ".1%"),
    }
    counted = f"Over evaluation points, joined with others up to {health.cutoff:g}ε apart."
    if health.components is not None and health.largest_component is not None:
        key.insert(1, ("line", "@rival", "points in the largest component"))
        columns["components"] = _cells(health.components, "d")
        columns["in the largest"] = _cells(health.largest_component / health.n_points, ".1%")
        counted = (
            f"Points are joined up to {health.cutoff:g}ε apart. Maps and clusters report the components of their own graphs."
        )
    figure = health_figure(content)
    chart = _figure("health", "Effective neighbors and components of the graph against bandwidth.", key, figure)
    parts = chart, f'<p class="remark">{counted}</p>', _numbers(_table(columns))
    return _section("graph", "What the graph is like", text, *parts), {"health": figure}


def _maps(content: ReportContent) -> Section:
    title, maps = "What the map looks like", content.maps
    if not maps.views:
        return _left_out("maps", title, maps.remark)
    names = {f"map{k}": f"{_FACTORS[view.factor]} = {view.bandwidth:.4g}" for k, view in enumerate(maps.views)}
    views = dict(zip(names, maps.views, strict=True))
    if maps.paper is not None:
        views = {"map1": views["map1"], "map3": maps.paper, "map0": views["map0"], "map2": views["map2"]}
        names["map1"] = f"The default graph, {names['map1']}"
        names["map3"] = f"The paper’s graph, ε̂ = {maps.paper.bandwidth:.4g}"
    figures, charts = [], {}
    for place, view in views.items():
        circles = f"Ellipses are circles of radius {view.radius:.3g} on the data." if len(view.ellipses) else ""
        if view.clipped.any():
            circles += " Dotted ones are larger than drawn."
        caption = f"<b>{names[place]}</b>{escape(' '.join(filter(None, (view.remark, circles))))}"
        chart = ""
        if len(view.places):
            chart = _chart(place, f"Map at bandwidth {view.bandwidth:.4g}.", 320)
            charts[place] = map_figure(view, content.coloring)
        kind = " class=chosen" if view is maps.chosen else ""
        figures.append(f"<figure{kind}><figcaption>{caption}</figcaption>{chart}</figure>")
    beside = "Next to it is the map of the paper’s graph: all pairs at one ε̂, with λ = 1. " if maps.paper is not None else ""
    text = (
        f"The same eigenmap at half, once and twice its bandwidth. {escape(maps.graph)} {beside}"
        "What changes with the bandwidth is not in the data: it is the scale. "
        "Where ellipses differ in size or shape, the map distorts lengths."
    )
    columns = {
        "bandwidth": [names[place] for place in views],
        "components": _cells((view.components or None for view in views.values()), "d"),
        "radius of the circles": _cells((view.radius or None for view in views.values()), ".4g"),
        "remark": [view.remark for view in views.values()],
    }
    many = " two" if maps.paper is not None else ""
    drawn = f'{_color_key(content.coloring)}<div class="maps{many}">{"".join(figures)}</div>'
    parts = drawn, _remark(content.remarks.get("outliers")), _remark(maps.remark), _numbers(_table(columns))
    return _section("maps", title, text, *parts), charts


def _clusters(content: ReportContent) -> Section:
    title, clusters = "Which clusters there are", content.clusters
    if clusters is None:
        return _left_out("clusters", title, content.remarks.get("clusters"))
    found = clusters.found
    sizes = np.bincount(found.labels_)
    many = f"{len(sizes)} clusters" if len(sizes) > 1 else "One cluster"
    text = f"{many}. {escape(str(found.status_))} {clusters.graph}"
    if found.n_outliers_:
        text += f" {found.n_outliers_} outliers are assigned to the clusters of their neighbors."
    names = tuple(f"{k} ({size})" for k, size in enumerate(sizes))
    figure = map_figure(clusters.view, clusters.coloring)
    on = "the map at ε̂" if clusters.on_the_map else "principal components 1 and 2, because the map is disconnected"
    key = _color_key(replace(clusters.coloring, categories=names))
    drawn = f"{key}<figure>{_chart('clusters0', f'Clusters on {on}.', 320)}</figure>"
    shares, strengths = sizes / sizes.sum(), found.strengths_
    tables = (
        _table({"cluster": _cells(range(len(sizes)), "d"), "points": _cells(sizes, "d"), "share": _cells(shares, ".1%")}),
        _table({"clusters": _cells(strengths, "d"), "how far they stand out (Υ)": _cells(strengths.values(), ".3g")}),
    )
    parts = drawn, _remark(f"Drawn on {on}; the legend shows the number of points."), _numbers(*tables)
    return _section("clusters", title, text, *parts), {"clusters0": figure}


def _coordinates(content: ReportContent) -> Section:
    found = content.maps.independence
    if found is None:
        return "", {}
    text = (
        "Those that span the data, rather than the first ones. A map explains a candidate if neighbors on the map share its "
        "values. <code>LaplacianEigenmap(n_components=&quot;auto&quot;)</code> uses the chosen ones."
    )
    figure, key = coordinates_figure(found), []
    marks = {"chosen": ("line", "@choice"), "not enough": ("line", "@artifact"), "the first": ("dash", "@curve")}
    columns = {"candidate": _cells(range(1, len(found.first_told) + 1), "d")}
    for curve in told_curves(found):
        key.append((*marks[curve.kind], curve.words))
        shares = (None if np.isnan(share) else share for share in curve.told)
        columns[curve.words] = _cells(shares, ".0%", missing="left out")
    drawn = _figure("coordinates0", "How much of each candidate the chosen coordinates explain.", key, figure)
    parts = _list(found.reasons), drawn, _numbers(_table(columns))
    return _section("coordinates", "Which coordinates", text, *parts), {"coordinates0": figure}


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
    curve = content.dimension
    if curve is None:
        return "", {}
    near = content.selection.neighborhoods
    text = "The largest gap between singular values of small neighborhoods shows how many directions the data has."
    if near is not None:
        text += f" At ε̂: {near.explain_neighbors()} {near.explain_dimension()}"
    key = [
        ("line", "@curve", "σ of the tangent directions"),
        ("line", "@artifact", "σ of the others"),
        ("line", "@choice", "dimension that most points vote for"),
    ]
    if content.range_of_scales is not None:
        key.append(("box", "@band", "scales at which singular values separate signal from noise (clmr)"))
    columns = {
        "ε": _cells(curve.bandwidths, ".5g"),
        "dimension": _cells(curve.votes, "d"),
        "share": _cells(curve.shares, ".0%"),
        **{f"σ{k + 1}": _cells(values, ".4g") for k, values in enumerate(curve.singular_values.T[:8])},
    }
    figure = dimension_figure(content)
    words = f"Local singular values against bandwidth; most points vote for {content.vote} at the chosen one."
    parts = _figure("dimensions", words, key, figure), _remark(content.remarks.get("dimension")), _numbers(_table(columns))
    return _section("dimension", "How many dimensions", text, *parts), {"dimensions": figure}


def _next(content: ReportContent) -> Section:
    first = () if content.reading is None else (Snippet("Read the points", content.reading),)
    snippets = (*first, *content.snippets)
    blocks = "".join(
        f'<div class="snippet"><header><h3>{escape(snippet.title)}</h3>'
        f'<button type="button" data-copy="code{k}">Copy</button></header>'
        f'<pre tabindex="0"><code id="code{k}">{escape(snippet.code)}</code></pre></div>'
        for k, snippet in enumerate(snippets)
    )
    text = "X stands for your points, an array of one row each"
    text += "." if content.reading is None else ", read by the first code block."
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


def _left_out(name: str, title: str, why: str | None) -> Section:
    """In the place of what is not there, the reason, if there is one."""
    return (_section(name, title, "", _remark(why)) if why else ""), {}


def _list(sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(str(sentence))}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


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
    marks = [
        f'<li><svg width="18" height="12" aria-hidden="true">{_MARKS[mark].format(f"var(--{color[1:]})")}</svg>'
        f"{escape(text)}</li>"
        for mark, color, text in items
    ]
    return f'<ul class="key{" many" if len(marks) > _MOST_IN_A_ROW else ""}">{"".join(marks)}</ul>'


def _table(columns: dict[str, list[str]], chosen: Sequence[bool] = ()) -> str:
    """Columns of words, escaped, some rows chosen; nothing if there are no rows."""
    rows = list(zip(*columns.values(), strict=True))
    if not rows:
        return ""
    kinds = [' class="text"' if column in _PROSE else "" for column in columns]
    head = "".join(f'<th scope="col"{kind}>{escape(column)}</th>' for column, kind in zip(columns, kinds, strict=True))
    body = "".join(
        f"<tr{' class=chosen' if chosen and chosen[k] else ''}>"
        + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for k, row in enumerate(rows)
    )
    return f'<div class="table" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cells(values: Iterable[Any], form: str, missing: str = "") -> list[str]:
    return [missing if value is None else format(value, form) for value in values]


def _numbers(*tables: str) -> str:
    return f"<details><summary>The numbers</summary>{''.join(tables)}</details>"


def _remark(text: str | None) -> str:
    return f'<p class="remark">{escape(text)}</p>' if text else ""


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.4g} – {interval[1]:.4g}"
