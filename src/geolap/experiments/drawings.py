"""Pictures of the studies: records in, matplotlib Figures out."""

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..display.plots import PALETTE, plain_ticks
from ..runtime.libraries import needed
from .labels import LABEL_COUNTS, PAPER_RULES
from .study import Record, Study, column, distinct, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PICTURES"]

_BLUE, _ORANGE, _GREEN, _PINK, _YELLOW, _SKY, _BLACK = PALETTE
_GRAY = "#999999"
_CYCLE = (_BLUE, _ORANGE, _GREEN, _PINK, _SKY, _YELLOW, _BLACK, _GRAY)
_OF_DIMENSION = {1: _BLUE, 2: _BLACK}


def _panels(rows: int, columns: int, width: float, height: float, *, sharex: bool = False, sharey: bool = True) -> "Figure":
    """A figure of that many inches with panels in ``figure.axes``, row by row."""
    figure: Figure = needed("matplotlib.figure", "plot", "Pictures need").Figure(
        figsize=(width, height), layout="constrained"
    )
    figure.subplots(rows, columns, sharex=sharex, sharey=sharey)
    return figure


def _columns(rows: list[Record], *names: str) -> list[np.ndarray]:
    return [column(rows, name) for name in names]


def _first(k: int, label: str) -> str | None:
    """The label of the first of several lines, and no label for the others."""
    return label if k == 0 else None


def _figure1(study: Study) -> "Figure":
    means = study.tables["means"]
    surfaces, noises = distinct(means, "surface"), distinct(means, "noise")
    figure = _panels(len(surfaces), len(noises), 3.6 * len(noises), 3.2 * len(surfaces), sharex=True)
    for ax, (surface, noise) in zip(figure.axes, product(surfaces, noises), strict=True):
        rows = where(means, surface=surface, noise=noise)
        n, low, high, clmr_low, clmr_high = _columns(rows, "n_points", "true_low", "true_high", "clmr_low", "clmr_high")
        ax.bar(n, high - low, 0.36 * n, low, color=_GRAY, alpha=0.35, label="true range")
        bottom, top = np.nan_to_num(clmr_low, nan=1e-3), np.nan_to_num(clmr_high, nan=1e2)
        ax.bar(n, top - bottom, 1.4 * (0.18 * n), bottom, fill=False, ec=_BLACK, lw=0.7, label="CLMR range")
        for dim, color in _OF_DIMENSION.items():
            mean, sd = _columns(rows, f"gc_{dim}", f"sd_{dim}")
            ax.errorbar(n, mean, sd, fmt="o-", ms=4, lw=1.2, capsize=3, color=color, label=f"ε̂, d' = {dim}")
        ax.set(xscale="log", yscale="log", title=f"{surface}, σ = {noise:g}", ylim=(0.04, 3))
        ax.set_xticks(n, [f"{int(k)}" for k in n])
        ax.minorticks_off()
        plain_ticks(ax.yaxis)
    for ax in figure.axes[-len(noises) :]:
        ax.set_xlabel("number of points N")
    for ax in figure.axes[:: len(noises)]:
        ax.set_ylabel("bandwidth ε")
    figure.axes[0].legend(fontsize="x-small", frameon=False)
    return figure


def _figure2(study: Study) -> "Figure":
    figure = _panels(1, 2, 10, 4, sharey=False)
    left, right = figure.axes
    curves = study.tables["distortion"]
    for dim, color in zip(distinct(curves, "working_dim"), _CYCLE, strict=False):
        left.semilogx(*_columns(where(curves, working_dim=dim), "bandwidth", "distortion"), color=color, label=f"d' = {dim}")
        chosen = where(study.tables["minima"], working_dim=dim, selected=True)
        left.plot(*_columns(chosen, "bandwidth", "distortion"), "o", color=color)
    left.set(xlabel="bandwidth ε", ylabel="distortion D", title="COIL: distortion, ε̂ marked", ylim=(0, 1.5))
    rows = study.tables["singular_values"]
    eps, *sigma = _columns(rows, *rows[0])
    for k, values in enumerate(sigma):
        right.semilogx(eps, values, color=_BLUE, alpha=1 - 0.08 * k, lw=1.2, label=_first(k, "σ₁ … σ₉, from above"))
    lows, highs = _columns([row for row in study.tables["clmr"] if row["K"] > 1], "low", "high")
    start = np.nanmin(lows) if np.isfinite(lows).any() else eps[0]
    stop = np.nanmax(highs) if np.isfinite(highs).any() else eps[-1]
    right.axvspan(start, stop, color=_GRAY, alpha=0.25, lw=0, label="CLMR range, any K > 1")
    right.set(xlabel="bandwidth ε", ylabel="singular value (unit of the data)", title="COIL: local singular values")
    for ax in figure.axes:
        ax.legend(frameon=False)
        plain_ticks(ax.xaxis)
    return figure


def _figure3(study: Study) -> "Figure":
    sizes = distinct(study.tables["curves"], "n_points")
    figure = _panels(1, len(sizes), 3.2 * len(sizes), 3.4)
    for ax, n in zip(figure.axes, sizes, strict=True):
        own = where(study.tables["curves"], n_points=n)
        for k, seed in enumerate(distinct(own, "seed")):
            curve = _columns(where(own, seed=seed), "bandwidth", "error")
            ax.loglog(*curve, color=_ORANGE, lw=1, label=_first(k, "δ, each sample"))
        for dim, color in _OF_DIMENSION.items():
            for k, row in enumerate(where(study.tables["estimates"], n_points=n, working_dim=dim)):
                ax.axvline(row["bandwidth"], color=color, lw=0.6, alpha=0.6, label=_first(k, f"ε̂, d' = {dim}"))
        ax.set(title=f"hourglass, N = {n}", xlabel="bandwidth ε")
        plain_ticks(ax.xaxis)
    figure.axes[0].set_ylabel("Procrustes error δ")
    figure.axes[0].legend(frameon=False, fontsize="small")
    return figure


def _table1(study: Study) -> "Figure":
    rows, splits = study.tables["bandwidths"], study.tables["splits"]
    sets, places = distinct(rows, "set"), range(len(PAPER_RULES))
    figure = _panels(1, len(sets), 10, 3.2, sharey=False)
    for ax, name in zip(figure.axes, sets, strict=True):
        ours, paper = _columns(where(rows, set=name), "ours", "paper")
        ax.plot(places, ours, "o", color=_BLUE, label="ours")
        ax.plot(places, paper, "D", mfc="none", color=_ORANGE, label="paper")
        for row in where(splits, set=name):
            ax.vlines(PAPER_RULES.index(row["rule"]), row["low"], row["high"], color=_BLUE, lw=1)
            ax.vlines(PAPER_RULES.index(row["rule"]) + 0.15, row["paper_low"], row["paper_high"], color=_ORANGE, lw=1)
        ax.set(yscale="log", title=name, xlim=(-0.5, len(PAPER_RULES) - 0.5))
        ax.set_xticks(places, ["TE", "CV", "Rec", "GC⁻¹", "GC"], rotation=90)
        plain_ticks(ax.yaxis)
    figure.axes[0].set_ylabel("bandwidth ε")
    figure.axes[0].legend(frameon=False, fontsize="small")
    return figure


def _table2(study: Study) -> "Figure":
    """Error of every rule on every set above that of TE, for both numbers of labels."""
    figure = _panels(1, 2, 11, 4.6)
    for ax, n in zip(figure.axes, LABEL_COUNTS, strict=True):
        rows = study.tables[f"all_rules_{n}"]
        rules = [rule for rule in rows[0] if rule not in ("set", "te") and any(row[rule] is not None for row in rows)]
        for row, color in zip(rows, _CYCLE, strict=False):
            above = np.array([row[rule] for rule in rules], float) - row["te"]
            ax.plot(above, range(len(rules)), "o", color=color, alpha=0.8, label=row["set"])
        ax.set_yticks(range(len(rules)), rules)
        ax.set(xlabel="error above TE's, percentage points", title=f"{n} labels")
        ax.grid(axis="y", color=_GRAY, alpha=0.3)
        ax.axvline(0, color=_BLACK, lw=0.6)
    figure.axes[0].invert_yaxis()
    figure.axes[1].legend(frameon=False, fontsize="small")
    return figure


def _truth_regret(study: Study) -> "Figure":
    """Regret of every rule: each sample a point, the median a line."""
    table = study.tables["errors"]
    rules, errors = distinct(table, "rule"), distinct(table, "error_of")
    figure = _panels(1, len(errors), 4 * len(errors), 4.4)
    for ax, error in zip(figure.axes, errors, strict=True):
        for k, rule in enumerate(rules):
            regret, noise = _columns(where(table, rule=rule, error_of=error), "regret", "noise")
            height = k + np.linspace(-0.25, 0.25, len(regret))
            for level, color in zip(np.unique(noise), (_BLUE, _GREEN, _ORANGE), strict=False):
                at, label = noise == level, _first(k, f"noise {level:g}")
                ax.plot(regret[at], height[at], ".", ms=4, color=color, alpha=0.7, label=label)
            ax.plot([np.median(regret)] * 2, [k - 0.4, k + 0.4], color=_BLACK, lw=2)
        ax.set(xscale="log", xlabel="regret", title=error, xlim=(0.95, 100))
        ax.set_yticks(range(len(rules)), rules)
        plain_ticks(ax.xaxis)
    figure.axes[0].invert_yaxis()
    figure.axes[-1].legend(frameon=False, fontsize="small", loc="lower right")
    return figure


def _truth_curves(study: Study) -> "Figure":
    """Errors against ε on one sample of each manifold, with the choices of GC."""
    curves = study.tables["curves"]
    manifolds = distinct(curves, "manifold")
    n, noise = max(distinct(curves, "n_points")), sorted(distinct(curves, "noise"))[1]
    figure = _panels(1, len(manifolds), 3.2 * len(manifolds), 3.4)
    for ax, manifold in zip(figure.axes, manifolds, strict=True):
        setting = {"manifold": manifold, "density": "uniform", "noise": noise, "n_points": n}
        own = where(curves, **setting)
        for error, color in zip(("eigenvalues", "eigenspaces", "pointwise"), _CYCLE, strict=False):
            if error in own[0]:
                ax.loglog(*_columns(own, "bandwidth", error), color=color, label=error)
        chosen = {row["rule"]: row["bandwidth"] for row in where(study.tables["errors"], **setting)}
        ax.axvline(chosen["gc_d"], color=_BLACK, lw=1, label="GC, d' = d")
        ax.axvline(chosen["gc"], color=_BLACK, lw=1, ls="--", label="GC")
        ax.set(title=f"{manifold}, N = {n}, noise {noise:g}", xlabel="bandwidth ε", ylim=(5e-3, 20))
        plain_ticks(ax.xaxis)
    figure.axes[0].set_ylabel("relative error")
    figure.axes[0].legend(frameon=False, fontsize="small")
    return figure


def _truth_calibrated(study: Study) -> "Figure":
    """Errors of eigenvalues without and with calibration: each sample a point, medians as lines."""
    table = study.tables["calibrated"]
    graphs = distinct(table, "graph")
    sizes = [n for n in distinct(table, "n_points") if n >= max(distinct(table, "n_points")) / 5]
    figure = _panels(1, len(sizes), 4 * len(sizes), 3.8)
    for ax, n in zip(figure.axes, sorted(sizes), strict=True):
        for k, graph in enumerate(graphs):
            own = where(table, graph=graph, n_points=n)
            for name, color, shift in (("raw", _ORANGE, -0.17), ("calibrated", _BLUE, 0.17)):
                (error,) = _columns(own, name)
                height = k + shift + np.linspace(-0.1, 0.1, len(error))
                ax.plot(error, height, ".", ms=4, color=color, alpha=0.7, label=_first(k, name))
                ax.plot([np.median(error)] * 2, [k + shift - 0.16, k + shift + 0.16], color=_BLACK, lw=2)
        ax.set(xscale="log", xlabel="mean relative error of eigenvalues", title=f"N = {n}", xlim=(5e-3, 1))
        ax.set_yticks(range(len(graphs)), graphs)
        plain_ticks(ax.xaxis)
    figure.axes[0].invert_yaxis()
    figure.axes[0].legend(frameon=False, fontsize="small", loc="lower right")
    return figure


def _graphs(study: Study) -> "Figure":
    """What every graph is good for: values of all sets, and their mean."""
    panels = {"clusters": "mutual information", "labels": "error in percent", "maps": "accuracy in percent"}
    summary = study.tables["summary"]
    figure = _panels(1, len(panels), 4 * len(panels), 4.4)
    for ax, (name, unit) in zip(figure.axes, panels.items(), strict=True):
        for k, row in enumerate(summary):
            if row[name] is not None:
                values = column(study.tables[name], row["graph"])
                ax.plot(values, k + np.linspace(-0.25, 0.25, len(values)), ".", ms=4, color=_BLUE, alpha=0.5)
                ax.plot([row[name]] * 2, [k - 0.4, k + 0.4], color=_BLACK, lw=2)
        ax.set(xlabel=unit, title=name)
        ax.set_yticks(range(len(summary)), [row["graph"] for row in summary])
    figure.axes[0].invert_yaxis()
    return figure


# The pictures of each study, by name.
PICTURES: dict[str, dict[str, Callable[[Study], "Figure"]]] = {
    "figure1": {"figure1": _figure1},
    "figure2": {"figure2": _figure2},
    "figure3": {"figure3": _figure3},
    "table1": {"table1": _table1},
    "table2": {"table2": _table2},
    "graphs": {"graphs": _graphs},
    "truth": {"truth_regret": _truth_regret, "truth_curves": _truth_curves, "truth_calibrated": _truth_calibrated},
}
