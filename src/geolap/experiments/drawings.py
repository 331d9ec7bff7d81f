"""Pictures of the studies: records in, matplotlib Figures out."""

from collections.abc import Callable

import numpy as np

from ..display.plots import PALETTE, plain_ticks
from .labels import PAPER_RULES
from .study import Study

__all__ = ["draw", "picture_names"]

_BLUE, _ORANGE, _GREEN, _PINK, _YELLOW, _SKY, _BLACK = PALETTE
_GRAY = "#999999"
_CYCLE = (_BLUE, _ORANGE, _GREEN, _PINK, _SKY, _YELLOW, _BLACK, _GRAY)


def draw(study: Study) -> dict:
    """Figures of a study by name."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("Pictures need matplotlib, which is not installed: pip install 'geolap[plot]'.") from None
    return {name: make(study, Figure) for name, make in _DRAWINGS[study.name].items()}


def picture_names(study_name) -> list[str]:
    """Names of the pictures of a study."""
    return list(_DRAWINGS[study_name])


def _columns(rows, *names):
    return tuple(np.array([np.nan if row[name] is None else row[name] for row in rows]) for name in names)


def _values(rows, key):
    return list(dict.fromkeys(row[key] for row in rows))


def _figure1(study, Figure):
    means = study.tables["means"]
    surfaces, noises = _values(means, "surface"), _values(means, "noise")
    figure = Figure(figsize=(3.6 * len(noises), 3.2 * len(surfaces)), layout="constrained")
    axes = figure.subplots(len(surfaces), len(noises), sharex=True, sharey=True, squeeze=False)
    for axes_row, surface in zip(axes, surfaces, strict=True):
        for ax, noise in zip(axes_row, noises, strict=True):
            rows = [row for row in means if (row["surface"], row["noise"]) == (surface, noise)]
            n, low, high, clmr_low, clmr_high = _columns(rows, "n_points", "true_low", "true_high", "clmr_low", "clmr_high")
            width = 0.18 * n
            ax.bar(n, high - low, 2 * width, low, color=_GRAY, alpha=0.35, label="true range")
            bottom = np.where(np.isnan(clmr_low), 1e-3, clmr_low)
            top = np.where(np.isnan(clmr_high), 1e2, clmr_high)
            ax.bar(n, top - bottom, 1.4 * width, bottom, fill=False, ec=_BLACK, lw=0.7, label="CLMR range")
            for dim, color in ((1, _BLUE), (2, _BLACK)):
                mean, sd = _columns(rows, f"gc_{dim}", f"sd_{dim}")
                ax.errorbar(n, mean, sd, fmt="o-", ms=4, lw=1.2, capsize=3, color=color, label=f"ε̂, d' = {dim}")
            ax.set(xscale="log", yscale="log", title=f"{surface}, σ = {noise:g}", ylim=(0.04, 3))
            ax.set_xticks(n, [f"{int(k)}" for k in n])
            ax.minorticks_off()
            plain_ticks(ax.yaxis)
    for ax in axes[-1]:
        ax.set_xlabel("number of points N")
    for ax in axes[:, 0]:
        ax.set_ylabel("bandwidth ε")
    axes[0, 0].legend(fontsize="x-small", frameon=False)
    return figure


def _figure2(study, Figure):
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    curves = study.tables["distortion"]
    for dim, color in zip(_values(curves, "working_dim"), _CYCLE, strict=False):
        eps, D = _columns([row for row in curves if row["working_dim"] == dim], "bandwidth", "distortion")
        left.semilogx(eps, D, color=color, label=f"d' = {dim}")
        chosen = [m for m in study.tables["minima"] if m["working_dim"] == dim and m["selected"]]
        left.plot(*_columns(chosen, "bandwidth", "distortion"), "o", color=color)
    left.set(xlabel="bandwidth ε", ylabel="distortion D", title="COIL: distortion, ε̂ marked", ylim=(0, 1.5))
    left.legend(frameon=False)
    rows = study.tables["singular_values"]
    (eps,) = _columns(rows, "bandwidth")
    names = [name for name in rows[0] if name.startswith("sigma_")]
    for k, values in enumerate(_columns(rows, *names)):
        right.semilogx(eps, values, color=_BLUE, alpha=1 - 0.08 * k, lw=1.2, label="σ₁ … σ₉, from above" if k == 0 else None)
    clmr = [row for row in study.tables["clmr"] if row["K"] > 1]
    lows, highs = _columns(clmr, "low", "high")
    start = np.nanmin(lows) if np.isfinite(lows).any() else eps[0]
    stop = np.nanmax(highs) if np.isfinite(highs).any() else eps[-1]
    right.axvspan(start, stop, color=_GRAY, alpha=0.25, lw=0, label="CLMR range, any K > 1")
    right.set(xlabel="bandwidth ε", ylabel="singular value (unit of the data)", title="COIL: local singular values")
    right.legend(frameon=False)
    for ax in (left, right):
        plain_ticks(ax.xaxis)
    return figure


def _figure3(study, Figure):
    curves, estimates = study.tables["curves"], study.tables["estimates"]
    sizes = _values(curves, "n_points")
    figure = Figure(figsize=(3.2 * len(sizes), 3.4), layout="constrained")
    for ax, n in zip(np.atleast_1d(figure.subplots(1, len(sizes), sharey=True)), sizes, strict=True):
        own = [row for row in curves if row["n_points"] == n]
        for k, seed in enumerate(_values(own, "seed")):
            eps, error = _columns([row for row in own if row["seed"] == seed], "bandwidth", "error")
            ax.loglog(eps, error, color=_ORANGE, lw=1, label="δ, each sample" if k == 0 else None)
        for dim, color in ((1, _BLUE), (2, _BLACK)):
            lines = [e["bandwidth"] for e in estimates if (e["n_points"], e["working_dim"]) == (n, dim)]
            for k, eps in enumerate(lines):
                ax.axvline(eps, color=color, lw=0.6, alpha=0.6, label=f"ε̂, d' = {dim}" if k == 0 else None)
        ax.set(title=f"hourglass, N = {n}", xlabel="bandwidth ε")
        plain_ticks(ax.xaxis)
    figure.axes[0].set_ylabel("Procrustes error δ")
    figure.axes[0].legend(frameon=False, fontsize="small")
    return figure


def _table1(study, Figure):
    rows = study.tables["bandwidths"]
    sets = _values(rows, "set")
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    for ax, name in zip(np.atleast_1d(figure.subplots(1, len(sets))), sets, strict=True):
        for k, rule in enumerate(PAPER_RULES):
            (row,) = [r for r in rows if (r["set"], r["rule"]) == (name, rule)]
            ax.plot(k, row["ours"], "o", color=_BLUE, label="ours" if k == 0 else None)
            ax.plot(k, row["paper"], "D", mfc="none", color=_ORANGE, label="paper" if k == 0 else None)
        for row in study.tables["splits"]:
            if row["set"] == name:
                ax.vlines(PAPER_RULES.index(row["rule"]), row["low"], row["high"], color=_BLUE, lw=1)
                ax.vlines(PAPER_RULES.index(row["rule"]) + 0.15, row["paper_low"], row["paper_high"], color=_ORANGE, lw=1)
        ax.set_yscale("log")
        ax.set_title(name)
        ax.set_xticks(range(len(PAPER_RULES)), ["TE", "CV", "Rec", "GC⁻¹", "GC"], rotation=90)
        ax.set_xlim(-0.5, len(PAPER_RULES) - 0.5)
        plain_ticks(ax.yaxis)
    figure.axes[0].set_ylabel("bandwidth ε")
    figure.axes[0].legend(frameon=False, fontsize="small")
    return figure


def _table2(study, Figure):
    """Errors above TE's, every rule and set, for both numbers of labels."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    for ax, n in zip(figure.subplots(1, 2, sharey=True), (100, 10), strict=True):
        rows = study.tables[f"all_rules_{n}"]
        rules = [rule for rule in rows[0] if rule not in ("set", "te") and any(row[rule] is not None for row in rows)]
        for row, color in zip(rows, _CYCLE, strict=False):
            above = [np.nan if row[rule] is None else row[rule] - row["te"] for rule in rules]
            ax.plot(above, range(len(rules)), "o", color=color, alpha=0.8, label=row["set"])
        ax.set_yticks(range(len(rules)), rules)
        ax.set(xlabel="error above TE's, points of per cent", title=f"{n} labels")
        ax.grid(axis="y", color=_GRAY, alpha=0.3)
        ax.axvline(0, color=_BLACK, lw=0.6)
    figure.axes[0].invert_yaxis()
    figure.axes[1].legend(frameon=False, fontsize="small")
    return figure


def _truth(study, Figure):
    """Regret of every rule: each sample a point, the median a line."""
    rows = study.tables["errors"]
    rules = _values(rows, "rule")
    errors = _values(rows, "error_of")
    figure = Figure(figsize=(4 * len(errors), 4.4), layout="constrained")
    for ax, error in zip(figure.subplots(1, len(errors), sharey=True), errors, strict=True):
        for k, rule in enumerate(rules):
            own = [row for row in rows if (row["rule"], row["error_of"]) == (rule, error)]
            regret, noise = _columns(own, "regret", "noise")
            spread = np.linspace(-0.25, 0.25, len(own))
            for level, color in zip(sorted(set(noise)), (_BLUE, _GREEN, _ORANGE), strict=False):
                at = noise == level
                ax.plot(
                    regret[at],
                    k + spread[at],
                    ".",
                    ms=4,
                    color=color,
                    alpha=0.7,
                    label=f"noise {level:g}" if k == 0 else None,
                )
            ax.plot([np.median(regret)] * 2, [k - 0.4, k + 0.4], color=_BLACK, lw=2)
        ax.set(xscale="log", xlabel="regret", title=error, xlim=(0.95, 100))
        ax.set_yticks(range(len(rules)), rules)
        plain_ticks(ax.xaxis)
    figure.axes[0].invert_yaxis()
    figure.axes[-1].legend(frameon=False, fontsize="small", loc="lower right")
    return figure


def _truth_curves(study, Figure):
    """Errors over ε on one sample of each manifold, with the choice of GC."""
    curves, rows = study.tables["curves"], study.tables["errors"]
    manifolds = _values(curves, "manifold")
    n = max(row["n_points"] for row in curves)
    noise = sorted({row["noise"] for row in curves})[1]
    figure = Figure(figsize=(3.2 * len(manifolds), 3.4), layout="constrained")
    for ax, manifold in zip(figure.subplots(1, len(manifolds), sharey=True), manifolds, strict=True):
        setting = {"manifold": manifold, "density": "uniform", "noise": noise, "n_points": n}
        own = [row for row in curves if all(row[key] == value for key, value in setting.items())]
        for error, color in zip(("eigenvalues", "eigenspaces", "pointwise"), _CYCLE, strict=False):
            if error in own[0]:
                ax.loglog(*_columns(own, "bandwidth", error), color=color, label=error)
        chosen = {row["rule"]: row["bandwidth"] for row in rows if all(row[key] == value for key, value in setting.items())}
        ax.axvline(chosen["gc_d"], color=_BLACK, lw=1, label="GC, d' = d")
        ax.axvline(chosen["gc"], color=_BLACK, lw=1, ls="--", label="GC, d' = 1")
        ax.set(title=f"{manifold}, N = {n}, noise {noise:g}", xlabel="bandwidth ε", ylim=(5e-3, 20))
        plain_ticks(ax.xaxis)
    figure.axes[0].set_ylabel("relative error")
    figure.axes[0].legend(frameon=False, fontsize="small")
    return figure


_DRAWINGS: dict[str, dict[str, Callable]] = {
    "figure1": {"figure1": _figure1},
    "figure2": {"figure2": _figure2},
    "figure3": {"figure3": _figure3},
    "table1": {"table1": _table1},
    "table2": {"table2": _table2},
    "truth": {"truth_regret": _truth, "truth_curves": _truth_curves},
}
