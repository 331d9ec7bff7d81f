"""Plots: a result in, matplotlib Axes out."""

import numpy as np

__all__ = ["plot_comparison", "plot_selection"]

# From the colour-blind safe palette of Okabe & Ito.
_CURVE, _CHOICE, _ARTEFACT = "#0072B2", "#D55E00", "#999999"
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def plot_selection(selection, ax=None):
    """The curve of a `Selection` on a log axis, with its minima, interval and bound on locality."""
    ax = _axes(ax)
    finite = np.isfinite(selection.scores)
    ax.semilogx(selection.bandwidths[finite], selection.scores[finite], color=_CURVE, lw=1.5, zorder=2)
    if selection.interval is not None:
        ax.axvspan(*selection.interval, color=_CHOICE, alpha=0.15, lw=0, label="95 % interval")
    ax.axvline(selection.bandwidth, color=_CHOICE, lw=1.2, label=f"ε̂ = {selection.bandwidth:.3g}")
    if selection.bound is not None and selection.bound < selection.bandwidths[-1]:
        ax.axvspan(selection.bound, selection.bandwidths[-1], color=_ARTEFACT, alpha=0.2, lw=0, label="no longer local")
    for minimum in selection.minima:
        colour = _CHOICE if minimum.local else _ARTEFACT
        ax.plot(minimum.bandwidth, minimum.score, "o", ms=5, mfc="none", mec=colour, mew=1.5, zorder=3)
    chosen = np.interp(np.log(selection.bandwidth), np.log(selection.bandwidths[finite]), selection.scores[finite])
    if chosen > 0 and selection.scores[finite].max() > 10 * max(chosen, 1.0):
        ax.set_ylim(0, 4 * max(chosen, 1.0))  # GC⁻¹ grows beyond all bounds where points lose their neighbours
    ax.set_ylabel(f"score ({selection.method})")
    _bandwidth_axis(ax, selection.bandwidths[0], selection.bandwidths[-1])
    ax.legend(frameon=False)
    return ax


def plot_comparison(comparison, ax=None):
    """Every rule's curve, each scaled to its own range, with its choice marked, on one log axis."""
    ax = _axes(ax)
    for k, row in enumerate(comparison):
        selection = row.selection
        finite = np.isfinite(selection.scores)
        x, y = selection.bandwidths[finite], selection.scores[finite]
        scaled = (y - y.min()) / max(np.ptp(y), np.finfo(float).tiny)
        style = {"color": _PALETTE[k % len(_PALETTE)], "ls": "-" if k < len(_PALETTE) else "--"}
        ax.semilogx(x, scaled, lw=1.2, label=f"{selection.method} {selection.bandwidth:.3g}", **style)
        ax.plot(selection.bandwidth, np.interp(np.log(selection.bandwidth), np.log(x), scaled), "o", color=style["color"])
    ax.set_ylabel("score, scaled to each rule's range")
    ends = [row.selection.bandwidths[[0, -1]] for row in comparison]
    _bandwidth_axis(ax, min(low for low, _ in ends), max(high for _, high in ends))
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def _bandwidth_axis(ax, low, high):
    ax.set_xlabel("bandwidth ε (unit of the data)")
    ax.set_xlim(low, high)
    if high < 1e3 * low:  # plain numbers, where there is room for them
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Plots need matplotlib, which is not installed: pip install 'geolap[plot]'.") from None
    return plt.subplots(layout="constrained")[1]
