"""The charts of a report, as plain plotly figures: ``{"data": …, "layout": …}`` of JSON values.

Colors are names such as ``"@curve"``, which the page replaces by those of its theme, wherever a key ends in "color".  All
charts over ε have the same axis and margins, so that they line up below each other.  Text of the user's is escaped: plotly
reads tags in it.
"""

import math
from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from ...data.multiplicity import standard_error, weights_at
from ...estimators.coordinates import IndependentCoordinates
from ...selection import Selection
from ..coloring import NO_LABEL, OTHER, Coloring
from ..curve import drawn_curve, not_local, told_curves
from .content import ReportContent
from .maps import MapView

__all__ = [
    "Figure",
    "category_style",
    "color_limits",
    "coordinates_figure",
    "dimension_figure",
    "health_figure",
    "map_figure",
    "selection_figure",
]

Figure = dict[str, Any]

_SYMBOLS = ("circle", "diamond", "triangle-up")
_SAME_SYMBOL = 7  # colors that those with impaired color vision tell apart; the following have other symbols
# With more classes than that, their names are written on the map, this far apart in relation to its side.
_APART, _NEAR_BORDER, _MOST_LETTERS = 0.1, 0.35, 14
# Or this far away from their points, if there is no room on them, but within the map.
_ANGLES = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
_RINGS = np.vstack([r * np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)]) for r in (0.1, 0.15, 0.2, 0.3, 0.4)])
_WITHIN = 0.46
_FONT = {"family": "system-ui, sans-serif", "size": 13, "color": "@ink"}
_MOST_SINGULAR_VALUES = 8
_DECADES = 3.5  # of singular values; below is rounding
_UPPER, _LOWER = [0.44, 1.0], [0.0, 0.36]  # two panels over the same axis
_BASE = {
    "paper_bgcolor": "@clear",
    "plot_bgcolor": "@clear",
    "font": _FONT,
    "showlegend": False,
    "hovermode": "closest",
    "hoverlabel": {"bgcolor": "@raised", "bordercolor": "@rule", "font": _FONT},
}
_MARGIN = {"l": 84, "r": 14, "t": 26, "b": 48}
_AXIS = {
    "gridcolor": "@grid",
    "linecolor": "@rule",
    "zeroline": False,
    "showline": False,
    "ticks": "",
    "automargin": False,
    "tickfont": {"color": "@muted", "size": 12},
}


def selection_figure(content: ReportContent) -> Figure:
    """D(ε) with its minima, interval and bound, and below it the bandwidths of the rivals."""
    selection, curve = content.selection, drawn_curve(content.selection)
    rivals, data = content.answered, []
    error = _standard_error(selection)
    if error is not None:
        error = error[np.isfinite(selection.scores)]
        data.append(_band(curve.bandwidths, curve.scores - error, curve.scores + error))
    data.append(_line(curve.bandwidths, curve.scores, "@curve", "score %{y:.4g}"))
    for local, color, inside, symbol, meaning in (
        (True, "@choice", "@paper", "circle", "minimum"),
        (False, "@artifact", "@artifact", "x-thin-open", "artifact: the scale of the whole data set"),
    ):
        some = [m for m in selection.minima if m.local is local]
        marker = {"symbol": symbol, "size": 11, "color": inside, "line": {"color": color, "width": 2.5}}
        words = [("chosen " if m.bandwidth == selection.bandwidth else "") + meaning for m in some]
        hover = _told("%{customdata}", "ε = %{x:.4g}", "score %{y:.4g}")
        x, y = [m.bandwidth for m in some], [m.score for m in some]
        data.append(_scatter("markers", x, y, marker=marker, customdata=words, hovertemplate=hover))
    height = 340 + (64 + 24 * len(rivals) if rivals else 0)
    gap = (40 + 24 * len(rivals)) / (height - 60) if rivals else 0.0
    title = f"score ({escape(selection.method)})"
    low, high = curve.low, curve.high
    room = 0.08 * ((high - low) or 1.0)
    bottom = low - room if low < 0 or low > 2 * room else 0.0
    layout = _layout(content, height, title, domain=[gap, 1.0], range=[bottom, high + room])
    if rivals:
        methods, middle, intervals = zip(*rivals, strict=True)
        ends = np.array(intervals)
        bars = {"type": "data", "symmetric": False, "color": "@rival", "thickness": 1.5, "width": 4}
        bars |= {"array": _numbers(ends[:, 1] - middle), "arrayminus": _numbers(middle - ends[:, 0])}
        look = {"yaxis": "y2", "marker": {"color": "@rival", "size": 9, "symbol": "diamond"}, "error_x": bars}
        names, hover = [_text(method) for method in methods], _told("%{customdata}: ε̂ = %{x:.4g}")
        data.append(_scatter("markers", middle, range(len(rivals)), **look, customdata=names, hovertemplate=hover))
        _add_panel(
            layout,
            domain=[0.0, gap - 40 / (height - 60)],
            range=[len(rivals) - 0.4, -0.6],
            tickvals=list(range(len(rivals))),
            ticktext=[_text(method, 11) for method in methods],
        )
    return _marked(data, layout, selection, interval=True, bound=True)


def health_figure(content: ReportContent) -> Figure:
    """Effective neighbors, and the components of the graph, against ε."""
    health = content.health
    assert health is not None
    x = health.bandwidths
    _, lower, median, upper, _ = health.effective_neighbors.T
    quartiles = [_numbers(pair) for pair in zip(lower, upper, strict=True)]
    told = "%{y:.3g} neighbors (median)<br>quartiles %{customdata[0]:.3g} to %{customdata[1]:.3g}"
    data = [_band(x, lower, upper), _line(x, median, "@curve", told, customdata=quartiles)]
    if health.components is not None and health.largest_component is not None:
        told = "%{y:.1f} % of the points in the largest component<br>%{customdata} components"
        share, counts = 100 * health.largest_component / health.n_points, health.components.tolist()
        data.append(_line(x, share, "@rival", told, yaxis="y2", customdata=counts))
    data.append(_line(x, 100 * health.isolated, "@choice", "%{y:.1f} % of the points isolated", yaxis="y2", dash="dash"))
    dense = median.max() < 20 * max(median.min(), 1.0)
    layout = _layout(content, 430, "effective neighbors", type="log", domain=_UPPER, dtick="D1" if dense else 1)
    _add_panel(layout, "% of points", domain=_LOWER, range=[-4, 104], tickvals=[0, 50, 100])
    return _marked(data, layout, content.selection, bound=True)


def dimension_figure(content: ReportContent) -> Figure:
    """Mean local singular values against ε, those of the tangent directions in color, and the vote at each ε."""
    curve, dimension = content.dimension, content.vote
    assert curve is not None
    data = []
    for k, values in enumerate(curve.singular_values.T[:_MOST_SINGULAR_VALUES]):
        if (values > 0).any():
            color, width = ("@curve", 2.5) if k < dimension else ("@artifact", 1.5)
            positive = np.where(values > 0, values, np.nan)
            hover = _told("ε = %{x:.4g}", f"σ{k + 1} = %{{y:.3g}}")
            line = {"color": color, "width": width}
            data.append(_scatter("lines", curve.bandwidths, positive, line=line, hovertemplate=hover))
    votes = np.where(curve.votes > 0, curve.votes, np.nan)
    told, shares = "dimension %{y}, by %{customdata:.0f} % of the votes", _numbers(100 * curve.shares)
    vote = _line(curve.bandwidths, votes, "@choice", told, yaxis="y2", customdata=shares)
    vote["line"], vote["marker"] = {"color": "@choice", "width": 1.5, "shape": "hvh"}, {"color": "@choice", "size": 6}
    data.append(vote)
    layout = _layout(content, 430, "singular values σ", type="log", domain=_UPPER)
    largest = float(curve.singular_values.max())
    if largest > 0:
        leading = curve.singular_values[:, 0]
        bottom = max(math.log10(leading[leading > 0].min()), math.log10(largest) - _DECADES) - 0.3
        short = "~g" if bottom > -4 else "~e"  # 0.00001 would reach the title
        layout["yaxis"] |= {"range": [bottom, math.log10(largest) + 0.15], "dtick": 1, "tickformat": short}
    top = max(int(curve.votes.max()), 2)
    _add_panel(layout, "dimension", domain=_LOWER, range=[0.5, top + 0.5], dtick=max(1, math.ceil(top / 5)))
    figure = _marked(data, layout, content.selection)
    if content.range_of_scales is not None:
        layout["shapes"] += [_rectangle(content.range_of_scales, ref, "@band") for ref in ("y domain", "y2 domain")]
    return figure


def coordinates_figure(found: IndependentCoordinates) -> Figure:
    """How much of every candidate the chosen coordinates tell, those that were not enough, and as many of the first."""
    data = []
    number = range(1, len(found.first_told) + 1)
    for curve in told_curves(found):
        color = {"chosen": "@choice", "the first": "@curve"}.get(curve.kind, "@artifact")
        line = {"color": color, "width": 2.5, "dash": "dash" if curve.kind == "the first" else "solid"}
        hover = _told(curve.words, "%{y:.0%} of candidate %{x}")
        marker = {"color": color, "size": 6}
        data.append(_scatter("lines+markers", number, curve.told, line=line, marker=marker, hovertemplate=hover))
    marks = {"type": "line", "y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    dotted = {"color": "@choice", "width": 1, "dash": "dot"}
    shapes = [marks | {"x0": int(k) + 1, "x1": int(k) + 1, "line": dotted} for k in found.chosen]
    ticks = {"nticks": 20, "tickformat": "d", "range": [0.5, len(number) + 0.5]}
    layout = _BASE | {
        "height": 300,
        "margin": _MARGIN,
        "xaxis": _AXIS | {"title": {"text": "candidate for a coordinate"}} | ticks,
        "yaxis": _AXIS | {"title": {"text": "share told"}, "range": [-0.15, 1.05], "tickformat": ".0%"},
        "shapes": shapes,
    }
    return {"data": data, "layout": layout}


def map_figure(view: MapView, coloring: Coloring | None) -> Figure:
    """The map at one bandwidth, with its points colored and circles of the data around some of them."""
    places, rows = view.places, view.rows
    if coloring is None:
        data = [_points(places, rows, {"color": "@curve", "size": 4.5, "opacity": 0.8})]
    elif coloring.values is not None:
        low, high = color_limits(coloring)
        scale = [[k / 4, f"@s{k}"] for k in range(5)]
        marker: dict[str, Any] = {"color": _numbers(coloring.values[rows]), "cmin": low, "cmax": high, "size": 4.5}
        marker["colorscale"] = scale
        data = [_points(places, rows, marker, f"{coloring.title}: %{{marker.color:.3g}}")]
    else:
        data = []
        for code, category in enumerate(coloring.categories):
            mine = coloring.codes[rows] == code
            color, symbol = category_style(code, coloring.categories)
            marker = {"color": color, "symbol": symbol, "size": 4.5 if symbol == "circle" else 5.5, "opacity": 0.85}
            pairs = [[int(row), _text(category, 40)] for row in rows[mine]]
            hover = _told("row %{customdata[0]}", "%{customdata[1]}")
            data.append(_points(places[mine], rows[mine], marker) | {"customdata": pairs, "hovertemplate": hover})
    for clipped, dash in ((False, "solid"), (True, "dot")):
        some = view.ellipses[view.clipped == clipped]
        if len(some):
            gaps = np.full((len(some), 1, 2), np.nan)
            outline = np.concatenate([some, gaps], axis=1).reshape(-1, 2)
            line = {"color": "@ink", "width": 1.1, "dash": dash}
            data.append(_scatter("lines", *outline.T, hoverinfo="skip", line=line))
    ends = zip(view.center - 0.5 * view.sides, view.center + 0.5 * view.sides, strict=True)
    x, y = ({"visible": False, "fixedrange": False, "range": [float(low), float(high)]} for low, high in ends)
    if view.sides[0] == view.sides[1]:
        y["scaleanchor"] = "x"
    frame = {"xaxis": x, "yaxis": y, "margin": {"l": 4, "r": 4, "t": 4, "b": 4}, "height": 320}
    return {"data": data, "layout": _BASE | frame | {"annotations": _names(view, coloring)}}


def _names(view: MapView, coloring: Coloring | None) -> list[dict[str, Any]]:
    """Names of many classes, each where a point of its class is: as near the middle of these as other names leave room."""
    if coloring is None or coloring.n_classes <= _SAME_SYMBOL:
        return []
    places, codes = view.places[view.inside] / view.sides, coloring.codes[view.rows[view.inside]]
    middle = view.center / view.sides
    taken, names = np.empty((0, 2)), []
    for code, category in enumerate(coloring.categories):
        mine = places[codes == code]
        if category in (NO_LABEL, OTHER) or not len(mine):
            continue
        mine = mine[((mine - np.median(mine, axis=0)) ** 2).sum(axis=1).argsort(kind="stable")]
        around = mine[0] + _RINGS  # where no point of the class has room, with a line to the class
        around = around[(np.abs(around - middle) <= _WITHIN).all(axis=1)]
        places_for = np.vstack([mine, around])
        room = np.abs(places_for[:, None, :] - taken).max(axis=2).min(axis=1, initial=np.inf)
        found = int((room >= _APART).argmax() if (room >= _APART).any() else room.argmax())
        at = places_for[found]
        taken = np.vstack([taken, at])
        color, _ = category_style(code, coloring.categories)
        aside = at[0] - middle[0]  # toward the middle where the border would cut it
        name = {
            "text": _text(category, _MOST_LETTERS),
            "bgcolor": "@halo",
            "bordercolor": color,
            "font": {"color": "@ink", "size": 11},
            "xanchor": "left" if aside < -_NEAR_BORDER else "right" if aside > _NEAR_BORDER else "center",
            "showarrow": found >= len(mine),
        }
        (x, y), (tail_x, tail_y) = (mine[0] if name["showarrow"] else at) * view.sides, at * view.sides
        name |= {"x": float(x), "y": float(y)}
        if name["showarrow"]:
            tail = {"ax": float(tail_x), "ay": float(tail_y), "axref": "x", "ayref": "y"}
            name |= tail | {"arrowhead": 0, "arrowwidth": 1, "arrowcolor": color}
        names.append(name)
    return names


def color_limits(coloring: Coloring) -> tuple[float | None, float | None]:
    """The values at the ends of the color scale: all but the most extreme few."""
    assert coloring.values is not None
    low, high = np.quantile(coloring.values[np.isfinite(coloring.values)], (0.02, 0.98))
    return _rounded(low), _rounded(high)


def category_style(code: int, categories: tuple[str, ...]) -> tuple[str, str]:
    """Color and symbol of a category; points without a label are gray."""
    if categories[code] in (NO_LABEL, OTHER):
        return "@artifact", "circle"
    return f"@c{code}", _SYMBOLS[code // _SAME_SYMBOL]


def _scatter(mode: str, x: Iterable, y: Iterable, **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": mode, "x": _numbers(x), "y": _numbers(y)} | more


def _line(x: Iterable, y: Iterable, color: str, told: str, *, dash: str | None = None, **more: Any) -> dict[str, Any]:
    line = {"color": color, "width": 2.5} | ({"dash": dash} if dash else {})
    hover = _told("ε = %{x:.4g}", told)
    return _scatter("lines+markers", x, y, line=line, marker={"color": color, "size": 4}, hovertemplate=hover, **more)


def _points(places: np.ndarray, rows: np.ndarray, marker: dict[str, Any], *told: str) -> dict[str, Any]:
    hover = _told("row %{customdata}", *told)
    return _scatter("markers", *places.T, marker=marker, customdata=rows.tolist(), hovertemplate=hover)


def _band(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> dict[str, Any]:
    around = np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]])
    clear = {"width": 0, "color": "@clear"}
    return _scatter("lines", *around, fill="toself", fillcolor="@band", line=clear, hoverinfo="skip")


def _told(*lines: str) -> str:
    """What hovering tells."""
    return "<br>".join(lines) + "<extra></extra>"


def _layout(content: ReportContent, height: int, title: str, **yaxis: Any) -> dict[str, Any]:
    selection = content.selection
    rivals = [bandwidth for _, bandwidth, _ in content.answered]
    low = float(min([selection.bandwidths[0], *rivals])) / 1.06
    high = float(max([selection.bandwidths[-1], *rivals])) * 1.06
    ticks = _ticks(low, high)
    bandwidths = {"type": "log", "range": [math.log10(low), math.log10(high)], "tickvals": ticks}
    words = {"title": {"text": "bandwidth ε (unit of the data)"}, "ticktext": [f"{tick:g}" for tick in ticks]}
    return _BASE | {
        "height": height,
        "margin": _MARGIN,
        "hoverdistance": 40,
        "xaxis": _AXIS | bandwidths | words,
        "yaxis": _AXIS | {"title": {"text": title}} | yaxis,
    }


def _add_panel(layout: dict[str, Any], title: str | None = None, **axis: Any) -> None:
    """A second panel, below the first and over the same bandwidths."""
    layout["yaxis2"] = _AXIS | ({"title": {"text": title}} if title else {}) | axis | {"anchor": "x"}
    layout["xaxis"]["anchor"] = "y2"


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers on a log axis: as many of 1, 2, 5 in a decade as there is room for."""
    decades = math.log10(high / low)
    steps = (1.0, 2.0, 5.0) if decades < 2.2 else (1.0, 3.0) if decades < 3.2 else (1.0,)
    stride = max(1, math.ceil(decades / 8))
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [float(f"{step * 10.0**power:g}") for power in range(first, last + 1, stride) for step in steps]
    return [tick for tick in ticks if low <= tick <= high] or [float(f"{math.sqrt(low * high):.2g}")]


def _marked(
    data: list[dict], layout: dict[str, Any], selection: Selection, *, interval: bool = False, bound: bool = False
) -> Figure:
    """The figure with ε̂ in every panel, its interval, and where neighborhoods are no longer local."""
    at = float(selection.bandwidth)
    shapes = layout["shapes"] = []
    for ref in ("y domain", "y2 domain") if "yaxis2" in layout else ("y domain",):
        if bound and (beyond := not_local(selection)) is not None:
            shapes.append(_rectangle((beyond[0], 10 * beyond[1]), ref, "@beyond"))
        if interval and selection.interval is not None:
            shapes.append(_rectangle(selection.interval, ref, "@interval"))
        line = {"color": "@choice", "width": 1.5}
        shapes.append({"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "xref": "x", "yref": ref, "line": line})
    place = {"x": math.log10(at), "y": 1, "xref": "x", "yref": "paper", "yanchor": "bottom", "showarrow": False}
    layout["annotations"] = [place | {"text": f"<b>ε̂ = {at:.4g}</b>", "font": {"color": "@choice", "size": 13}}]
    return {"data": data, "layout": layout}


def _rectangle(interval: tuple[float, float], ref: str, color: str) -> dict[str, Any]:
    ends = {"x0": float(interval[0]), "x1": float(interval[1]), "y0": 0, "y1": 1, "xref": "x", "yref": ref}
    return {"type": "rect", "fillcolor": color, "line": {"width": 0}, "layer": "below"} | ends


def _standard_error(selection: Selection) -> np.ndarray | None:
    """That of the score at each bandwidth, over the points that were asked there."""
    per_point = selection.details.get("per_point")
    if per_point is None or np.isinf(per_point).any() or per_point.shape[1] != len(selection.bandwidths):
        return None
    weights, known = selection.details.get("weights"), ~np.isnan(per_point)
    columns = zip(per_point.T, known.T, strict=True)
    return np.array([standard_error(column[rows], weights_at(weights, rows)) for column, rows in columns])


def _text(words: str, most: int | None = None) -> str:
    """The user's words for plotly, cut to this many letters."""
    shown = words if most is None or len(words) <= most else words[: most - 1] + "…"
    return escape(shown, quote=False)


def _rounded(value: float) -> float | None:
    value = float(value)
    return float(f"{value:.5g}") if math.isfinite(value) else None


def _numbers(values: Iterable) -> list[float | None]:
    """Plain numbers of five digits, None for what is none."""
    return [_rounded(value) for value in values]
