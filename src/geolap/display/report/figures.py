"""The charts of a report, as plain plotly figures: ``{"data": …, "layout": …}`` of JSON values.

Colors are names such as ``"@curve"``, which the page replaces by those of its theme, wherever a key ends in "color".  All
charts over ε have the same axis and margins, so that they line up below each other.  Text of the user's is escaped: plotly
reads tags in it.
"""

import math
from html import escape

import numpy as np

__all__ = [
    "category_style",
    "color_limits",
    "dimension_figure",
    "health_figure",
    "map_figure",
    "selection_figure",
]

_SYMBOLS = ("circle", "diamond", "x", "triangle-up")
_N_COLORS = 7
_FONT = {"family": "system-ui, sans-serif", "size": 13, "color": "@ink"}
_LEFT = 84
_MOST_SINGULAR_VALUES = 8
_DECADES = 3.5  # of singular values; below is rounding


def selection_figure(content):
    """D(ε) with its minima, interval and bound, and below it the bandwidths of the rivals."""
    selection = content.selection
    finite = np.isfinite(selection.scores)
    eps, scores = selection.bandwidths[finite], selection.scores[finite]
    rivals = [rival for rival in content.rivals if rival.bandwidth is not None]
    data = []
    error = _standard_error(selection)
    if error is not None:
        low, high = scores - error[finite], scores + error[finite]
        data.append(_band(eps, low, high, "@band"))
    data.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": _numbers(eps),
            "y": _numbers(scores),
            "line": {"color": "@curve", "width": 2.5},
            "marker": {"color": "@curve", "size": 4},
            "hovertemplate": "ε = %{x:.4g}<br>score %{y:.4g}<extra></extra>",
        }
    )
    for local, color, symbol, meaning in (
        (True, "@choice", "circle", "minimum"),
        (False, "@artifact", "x-thin-open", "artifact: the scale of the whole data set"),
    ):
        some = [m for m in selection.minima if m.local is local]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": _numbers([m.bandwidth for m in some]),
                "y": _numbers([m.score for m in some]),
                "marker": {
                    "symbol": symbol,
                    "size": 11,
                    "color": "@paper" if local else color,
                    "line": {"color": color, "width": 2.5},
                },
                "customdata": [("chosen " if m.bandwidth == selection.bandwidth else "") + meaning for m in some],
                "hovertemplate": "%{customdata}<br>ε = %{x:.4g}<br>score %{y:.4g}<extra></extra>",
            }
        )
    height = 340 + (64 + 24 * len(rivals) if rivals else 0)
    gap = (40 + 24 * len(rivals)) / (height - 60) if rivals else 0.0
    layout = _layout(content, height)
    layout["yaxis"] |= {"title": {"text": _score_title(selection)}, "domain": [gap, 1.0], "range": _score_range(selection)}
    shapes, notes = _scale_marks(selection, "y domain", interval=True, bound=True)
    if rivals:
        rows = list(range(len(rivals)))
        intervals = [rival.interval or (rival.bandwidth, rival.bandwidth) for rival in rivals]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": _numbers([rival.bandwidth for rival in rivals]),
                "y": rows,
                "yaxis": "y2",
                "marker": {"color": "@rival", "size": 9, "symbol": "diamond"},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": _numbers([high - rival.bandwidth for (_, high), rival in zip(intervals, rivals, strict=True)]),
                    "arrayminus": _numbers(
                        [rival.bandwidth - low for (low, _), rival in zip(intervals, rivals, strict=True)]
                    ),
                    "color": "@rival",
                    "thickness": 1.5,
                    "width": 4,
                },
                "customdata": [escape(rival.method, quote=False) for rival in rivals],
                "hovertemplate": "%{customdata}: ε̂ = %{x:.4g}<extra></extra>",
            }
        )
        layout["yaxis2"] = _axis() | {
            "domain": [0.0, gap - 40 / (height - 60)],
            "tickvals": rows,
            "ticktext": [escape(_shortened(rival.method, 11), quote=False) for rival in rivals],
            "range": [len(rivals) - 0.4, -0.6],
            "anchor": "x",
        }
        layout["xaxis"]["anchor"] = "y2"
        shapes += _scale_marks(selection, "y2 domain", interval=True, bound=True)[0]
    layout |= {"shapes": shapes, "annotations": notes}
    return {"data": data, "layout": layout}


def health_figure(content):
    """Effective neighbors, and the parts of the graph, against ε."""
    health = content.health
    x = _numbers(health.bandwidths)
    _, lower, median, upper, _ = health.effective_neighbors.T
    data = [
        _band(health.bandwidths, lower, upper, "@band"),
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": x,
            "y": _numbers(median),
            "line": {"color": "@curve", "width": 2.5},
            "marker": {"color": "@curve", "size": 4},
            "customdata": [[_rounded(a), _rounded(b)] for a, b in zip(lower, upper, strict=True)],
            "hovertemplate": "ε = %{x:.4g}<br>%{y:.3g} neighbors (median)<br>quartiles %{customdata[0]:.3g} to "
            "%{customdata[1]:.3g}<extra></extra>",
        },
    ]
    shares = [(100 * health.isolated, "isolated", "@choice", "dash", None)]
    if health.components is not None:
        share = 100 * health.largest_component / health.n_points
        shares.insert(0, (share, "in the largest part", "@rival", "solid", health.components))
    for share, word, color, dash, components in shares:
        parts: dict = {} if components is None else {"customdata": components.tolist()}
        extra = "" if components is None else "<br>%{customdata} parts"
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": x,
                "y": _numbers(share),
                "yaxis": "y2",
                "line": {"color": color, "width": 2.5, "dash": dash},
                "marker": {"color": color, "size": 4},
                "hovertemplate": f"ε = %{{x:.4g}}<br>%{{y:.1f}} % of the points {word}{extra}<extra></extra>",
            }
            | parts
        )
    layout = _layout(content, 430)
    layout["yaxis"] |= {
        "title": {"text": "effective neighbors"},
        "type": "log",
        "domain": [0.44, 1.0],
        "dtick": "D1" if median.max() < 20 * max(median.min(), 1.0) else 1,
    }
    layout["yaxis2"] = _axis() | {
        "title": {"text": "% of points"},
        "domain": [0.0, 0.36],
        "range": [-4, 104],
        "tickvals": [0, 50, 100],
        "anchor": "x",
    }
    layout["xaxis"]["anchor"] = "y2"
    upper_marks, notes = _scale_marks(content.selection, "y domain", bound=True)
    layout |= {"shapes": upper_marks + _scale_marks(content.selection, "y2 domain", bound=True)[0], "annotations": notes}
    return {"data": data, "layout": layout}


def dimension_figure(content):
    """Mean local singular values against ε, those of the tangent directions in color, and the vote at each ε."""
    curve, selection = content.dimension, content.selection
    dimension, _ = content.vote
    data = []
    x = _numbers(curve.bandwidths)
    for k in range(min(_MOST_SINGULAR_VALUES, curve.singular_values.shape[1])):
        values = curve.singular_values[:, k]
        if not (values > 0).any():
            continue
        inside = k < dimension
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": x,
                "y": [_rounded(value) if value > 0 else None for value in values],
                "line": {"color": "@curve" if inside else "@artifact", "width": 2.5 if inside else 1.5},
                "hovertemplate": f"ε = %{{x:.4g}}<br>σ{k + 1} = %{{y:.3g}}<extra></extra>",
            }
        )
    data.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": x,
            "y": [int(v) if v else None for v in curve.votes],
            "yaxis": "y2",
            "line": {"color": "@choice", "width": 1.5, "shape": "hvh"},
            "marker": {"color": "@choice", "size": 6},
            "customdata": [_rounded(100 * share) for share in curve.shares],
            "hovertemplate": "ε = %{x:.4g}<br>dimension %{y}, by %{customdata:.0f} % of the votes<extra></extra>",
        }
    )
    layout = _layout(content, 430)
    layout["yaxis"] |= {"title": {"text": "singular values σ"}, "type": "log", "domain": [0.44, 1.0]}
    largest = float(curve.singular_values.max())
    if largest > 0:
        smallest = curve.singular_values[:, 0][curve.singular_values[:, 0] > 0].min()
        layout["yaxis"] |= {
            "range": [max(math.log10(smallest), math.log10(largest) - _DECADES) - 0.3, math.log10(largest) + 0.15],
            "dtick": 1,
            "tickformat": "~g",
        }
    top = max(int(curve.votes.max()), 2)
    layout["yaxis2"] = _axis() | {
        "title": {"text": "dimension"},
        "domain": [0.0, 0.36],
        "range": [0.5, top + 0.5],
        "dtick": max(1, math.ceil(top / 5)),
        "anchor": "x",
    }
    layout["xaxis"]["anchor"] = "y2"
    shapes, notes = _scale_marks(selection, "y domain")
    shapes += _scale_marks(selection, "y2 domain")[0]
    clmr = [rival.interval for rival in content.rivals if rival.method == "clmr" and rival.interval]
    if clmr:
        shapes += [_rectangle(clmr[0], ref, "@band") for ref in ("y domain", "y2 domain")]
    layout |= {"shapes": shapes, "annotations": notes}
    return {"data": data, "layout": layout}


def map_figure(view, content):
    """The map at one bandwidth, with its points colored and circles of the data around some of them."""
    data = []
    places, coloring = view.places, content.coloring
    common = {"type": "scatter", "mode": "markers"}
    rows = view.rows
    if coloring is None:
        data.append(common | _at(places) | {"marker": {"color": "@curve", "size": 4.5, "opacity": 0.8}} | _hover(rows))
    elif coloring.codes is None:
        low, high = color_limits(coloring)
        values = coloring.values[rows]
        marker = {"color": _numbers(values), "cmin": low, "cmax": high, "size": 4.5}
        marker["colorscale"] = [[k / 4, f"@s{k}"] for k in range(5)]
        hover = _hover(rows) | {
            "hovertemplate": f"row %{{customdata}}<br>{coloring.title}: %{{marker.color:.3g}}<extra></extra>"
        }
        data.append(common | _at(places) | {"marker": marker} | hover)
    else:
        for code, category in enumerate(coloring.categories):
            mine = coloring.codes[rows] == code
            color, symbol = category_style(code, coloring.categories)
            marker = {"color": color, "symbol": symbol, "size": 4.5 if symbol == "circle" else 5.5, "opacity": 0.85}
            words = [escape(_shortened(category, 40), quote=False)] * int(mine.sum())
            data.append(common | _at(places[mine]) | {"marker": marker} | _hover(rows[mine], words))
    if len(view.ellipses):
        gaps = np.full((len(view.ellipses), 1, 2), np.nan)
        outline = np.concatenate([view.ellipses, gaps], axis=1).reshape(-1, 2)
        line = {"color": "@ink", "width": 1.1}
        data.append({"type": "scatter", "mode": "lines", "hoverinfo": "skip", "line": line} | _at(outline))
    center = 0.5 * (places.max(axis=0) + places.min(axis=0))
    half = 0.56 * max(float(np.ptp(places, axis=0).max()), np.finfo(float).tiny)
    axis = {"visible": False, "fixedrange": False}
    return {
        "data": data,
        "layout": {
            "xaxis": axis | {"range": [float(center[0] - half), float(center[0] + half)]},
            "yaxis": axis | {"range": [float(center[1] - half), float(center[1] + half)], "scaleanchor": "x"},
            "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
            "height": 320,
            "hovermode": "closest",
            **_base(),
        },
    }


def color_limits(coloring):
    """The values at the ends of the color scale: all but the most extreme few."""
    low, high = np.quantile(coloring.values[np.isfinite(coloring.values)], (0.02, 0.98))
    return _rounded(low), _rounded(high)


def category_style(code, categories):
    """Color and symbol of a category; points without a label are gray."""
    if categories[code] in ("no label", "other"):
        return "@artifact", "circle"
    return f"@c{code % _N_COLORS}", _SYMBOLS[(code // _N_COLORS) % len(_SYMBOLS)]


def _base():
    return {
        "paper_bgcolor": "@clear",
        "plot_bgcolor": "@clear",
        "font": _FONT,
        "showlegend": False,
        "hoverlabel": {"bgcolor": "@raised", "bordercolor": "@rule", "font": _FONT},
    }


def _layout(content, height):
    low, high = _scale_range(content)
    return {
        "height": height,
        "margin": {"l": _LEFT, "r": 14, "t": 26, "b": 48},
        "hovermode": "closest",
        "hoverdistance": 40,
        "xaxis": _axis()
        | {
            "type": "log",
            "range": [math.log10(low), math.log10(high)],
            "title": {"text": "bandwidth ε (unit of the data)"},
            "tickvals": (ticks := _ticks(low, high)),
            "ticktext": [f"{tick:g}" for tick in ticks],
        },
        "yaxis": _axis(),
        **_base(),
    }


def _axis():
    return {
        "gridcolor": "@grid",
        "linecolor": "@rule",
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "automargin": False,
        "tickfont": {"color": "@muted", "size": 12},
    }


def _scale_range(content):
    selection = content.selection
    rivals = [rival.bandwidth for rival in content.rivals if rival.bandwidth is not None]
    low, high = min([selection.bandwidths[0], *rivals]), max([selection.bandwidths[-1], *rivals])
    return float(low) / 1.06, float(high) * 1.06


def _ticks(low, high):
    """Round numbers on a log axis: as many of 1, 2, 5 in a decade as there is room for."""
    decades = math.log10(high / low)
    steps = (1.0, 2.0, 5.0) if decades < 2.2 else (1.0, 3.0) if decades < 3.2 else (1.0,)
    stride = max(1, math.ceil(decades / 8))
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [float(f"{step * 10.0**power:g}") for power in range(first, last + 1, stride) for step in steps]
    return [tick for tick in ticks if low <= tick <= high] or [float(f"{math.sqrt(low * high):.2g}")]


def _scale_marks(selection, ref, *, interval=False, bound=False):
    """Shapes in one panel for ε̂, its interval and where neighborhoods are no longer local, and their words."""
    shapes = []
    notes = [_note(selection.bandwidth, f"<b>ε̂ = {selection.bandwidth:.4g}</b>", "@choice")]
    top = selection.bandwidths[-1]
    if bound and selection.bound is not None and selection.bound < top:
        shapes.append(_rectangle((selection.bound, top * 10), ref, "@beyond"))
    if interval and selection.interval is not None:
        shapes.append(_rectangle(selection.interval, ref, "@interval"))
    line = {"color": "@choice", "width": 1.5}
    at = float(selection.bandwidth)
    shapes.append({"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "xref": "x", "yref": ref, "line": line})
    return shapes, notes


def _rectangle(interval, ref, color):
    low, high = interval
    ends = {"x0": float(low), "x1": float(high), "y0": 0, "y1": 1, "xref": "x", "yref": ref}
    return {"type": "rect", "fillcolor": color, "line": {"width": 0}, "layer": "below"} | ends


def _note(eps, text, color):
    return {
        "x": math.log10(eps),
        "y": 1,
        "xref": "x",
        "yref": "paper",
        "yanchor": "bottom",
        "text": text,
        "showarrow": False,
        "font": {"color": color, "size": 13},
    }


def _band(x, low, high, color):
    return {
        "type": "scatter",
        "mode": "lines",
        "x": _numbers(np.concatenate([x, x[::-1]])),
        "y": _numbers(np.concatenate([high, low[::-1]])),
        "fill": "toself",
        "fillcolor": color,
        "line": {"width": 0, "color": "@clear"},
        "hoverinfo": "skip",
    }


def _standard_error(selection):
    per_point = selection.details.get("per_point")
    if per_point is None or not np.isfinite(per_point).all() or per_point.shape[1] != len(selection.bandwidths):
        return None
    return per_point.std(axis=0) / math.sqrt(len(per_point))


def _score_title(selection):
    return "distortion D(ε)" if selection.method in ("gc", "gc_inverse") else f"score ({escape(selection.method)})"


def _score_range(selection):
    """From a little below the curve to a little above, or not far above the choice where the curve grows beyond bounds."""
    scores = selection.scores[np.isfinite(selection.scores)]
    if not len(scores):
        return [0.0, 1.0]
    low, high = float(scores.min()), float(scores.max())
    chosen = float(
        scores[np.abs(np.log(selection.bandwidths[np.isfinite(selection.scores)] / selection.bandwidth)).argmin()]
    )
    if chosen > 0 and high > 10 * max(chosen, 1.0):
        low, high = 0.0, 4 * max(chosen, 1.0)
    room = 0.08 * ((high - low) or 1.0)
    return [low - room if low < 0 or low > 2 * room else 0.0, high + room]


def _at(places):
    return {"x": _numbers(places[:, 0]), "y": _numbers(places[:, 1])}


def _hover(rows, words=None):
    if words is None:
        return {"customdata": rows.tolist(), "hovertemplate": "row %{customdata}<extra></extra>"}
    pairs = [[int(row), word] for row, word in zip(rows, words, strict=True)]
    return {"customdata": pairs, "hovertemplate": "row %{customdata[0]}<br>%{customdata[1]}<extra></extra>"}


def _shortened(text, most):
    return text if len(text) <= most else text[: most - 1] + "…"


def _rounded(value):
    value = float(value)
    return float(f"{value:.5g}") if math.isfinite(value) else None


def _numbers(values):
    """Plain numbers of five digits, None for what is none."""
    return [_rounded(value) for value in values]
