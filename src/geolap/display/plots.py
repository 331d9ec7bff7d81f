"""Plots, as scikit-learn's displays: a result in, ``plot(ax=None)`` draws it and keeps ``ax_`` and ``figure_``.

=========================  =====================================================================
`SelectionDisplay`         the curve behind a bandwidth, its minima, interval and bound
`ComparisonDisplay`        every rule's curve on one axis
`HealthDisplay`            effective neighbors and the parts of the graph against ε
`SingularValuesDisplay`    local singular values and the dimension against ε
`DistortionDisplay`        how far each point is from agreement, on a map
`MetricDisplay`            circles of the data, as a map shows them
=========================  =====================================================================

Colors are from the color-blind safe palette of Okabe & Ito; scales of color are cividis.  Needs matplotlib
(``geolap[plot]``).
"""

import numpy as np

from ..dimension import dimension_curve
from ..estimators.riemannian import indicatrices, riemannian_metric
from ..graphs.health import health_curve
from ..selectors.comparison import compare_bandwidths

__all__ = [
    "PALETTE",
    "ComparisonDisplay",
    "DistortionDisplay",
    "HealthDisplay",
    "MetricDisplay",
    "SelectionDisplay",
    "SingularValuesDisplay",
    "plain_ticks",
]

_CURVE, _CHOICE, _OTHER, _ARTIFACT = "#0072B2", "#D55E00", "#009E73", "#999999"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DECADES = 4.0  # of singular values; below is rounding


class _Display:
    """What all displays share."""

    def plot(self, *, ax=None):
        """Draw into the given Axes, or into those of a new figure.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        self.ax_ = _axes(ax)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    def _draw(self, ax):
        raise NotImplementedError


class SelectionDisplay(_Display):
    """The curve of a `geolap.Selection` on a log axis, with its minima, interval and bound on locality.

    Parameters
    ----------
    selection : Selection

    Examples
    --------
    >>> import geolap
    >>> from geolap.display.plots import SelectionDisplay
    >>> X = geolap.datasets.make_sphere(200, random_state=0).data
    >>> gc = geolap.GeometricConsistency(random_state=0).fit(X)
    >>> SelectionDisplay.from_estimator(gc).ax_.get_xscale()
    'log'
    """

    def __init__(self, selection):
        self.selection = selection

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """The selection of a fitted selector, or of an estimator that chose its bandwidth."""
        return cls(_selection_of(estimator)).plot(ax=ax)

    def _draw(self, ax):
        selection = self.selection
        finite = np.isfinite(selection.scores)
        ax.semilogx(selection.bandwidths[finite], selection.scores[finite], color=_CURVE, lw=1.5, zorder=2)
        if selection.interval is not None:
            ax.axvspan(*selection.interval, color=_CHOICE, alpha=0.15, lw=0, label="95 % interval")
        _mark(ax, selection.bandwidth)
        if selection.bound is not None and selection.bound < selection.bandwidths[-1]:
            ax.axvspan(selection.bound, selection.bandwidths[-1], color=_ARTIFACT, alpha=0.2, lw=0, label="no longer local")
        for minimum in selection.minima:
            color = _CHOICE if minimum.local else _ARTIFACT
            ax.plot(minimum.bandwidth, minimum.score, "o", ms=5, mfc="none", mec=color, mew=1.5, zorder=3)
        chosen = np.interp(np.log(selection.bandwidth), np.log(selection.bandwidths[finite]), selection.scores[finite])
        if chosen > 0 and selection.scores[finite].max() > 10 * max(chosen, 1.0):
            ax.set_ylim(0, 4 * max(chosen, 1.0))  # GC⁻¹ grows beyond all bounds where points lose their neighbors
        ax.set_ylabel(f"score ({selection.method})")
        _bandwidth_axis(ax, selection.bandwidths[0], selection.bandwidths[-1])
        ax.legend(frameon=False)


class ComparisonDisplay(_Display):
    """Every rule's curve, each scaled to its own range, with its choice marked, on one log axis.

    Parameters
    ----------
    comparison : Comparison
    """

    def __init__(self, comparison):
        self.comparison = comparison

    @classmethod
    def from_points(cls, X, methods=None, *, y=None, random_state=None, ax=None):
        """Run the rules of `geolap.compare_bandwidths` on the points X."""
        return cls(compare_bandwidths(X, methods, y=y, random_state=random_state)).plot(ax=ax)

    def _draw(self, ax):
        for k, row in enumerate(self.comparison):
            selection = row.selection
            finite = np.isfinite(selection.scores)
            x, y = selection.bandwidths[finite], selection.scores[finite]
            scaled = (y - y.min()) / max(np.ptp(y), np.finfo(float).tiny)
            style = {"color": PALETTE[k % len(PALETTE)], "ls": "-" if k < len(PALETTE) else "--"}
            ax.semilogx(x, scaled, lw=1.2, label=f"{selection.method} {selection.bandwidth:.3g}", **style)
            ax.plot(
                selection.bandwidth, np.interp(np.log(selection.bandwidth), np.log(x), scaled), "o", color=style["color"]
            )
        ax.set_ylabel("score, scaled to each rule's range")
        ends = [row.selection.bandwidths[[0, -1]] for row in self.comparison]
        _bandwidth_axis(ax, min(low for low, _ in ends), max(high for _, high in ends))
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))


class HealthDisplay(_Display):
    """Effective neighbors (log axis), and the points in the largest part and the isolated ones (axis on the right).

    Parameters
    ----------
    curve : HealthCurve
    bandwidth : float, optional
        To mark.

    Attributes
    ----------
    share_ax_ : Axes
        The axis on the right.
    """

    def __init__(self, curve, bandwidth=None):
        self.curve = curve
        self.bandwidth = bandwidth

    @classmethod
    def from_estimator(cls, estimator, X, *, random_state=None, ax=None):
        """Graphs of the points X at all bandwidths that a fitted selector or estimator searched."""
        selection = _selection_of(estimator)
        return cls(health_curve(X, selection.bandwidths, random_state=random_state), selection.bandwidth).plot(ax=ax)

    def _draw(self, ax):
        curve = self.curve
        _, lower, median, upper, _ = curve.effective_neighbors.T
        ax.fill_between(curve.bandwidths, lower, upper, color=_CURVE, alpha=0.15, lw=0)
        ax.loglog(curve.bandwidths, median, color=_CURVE, lw=1.5, label="effective neighbors, median and quartiles")
        ax.set_ylabel("effective neighbors", color=_CURVE)
        _mark(ax, self.bandwidth)
        self.share_ax_ = ax.twinx()
        if curve.components is not None:
            share = 100 * curve.largest_component / curve.n_points
            self.share_ax_.plot(curve.bandwidths, share, color=_OTHER, lw=1.5, ls="--", label="in the largest part")
        self.share_ax_.plot(curve.bandwidths, 100 * curve.isolated, color="black", lw=1.2, ls=":", label="isolated")
        self.share_ax_.set_ylabel("% of the points")
        self.share_ax_.set_ylim(-3, 103)
        _bandwidth_axis(ax, curve.bandwidths[0], curve.bandwidths[-1])
        handles, labels = ax.get_legend_handles_labels()
        more, their_labels = self.share_ax_.get_legend_handles_labels()
        ax.legend(
            handles + more,
            labels + their_labels,
            frameon=False,
            fontsize="small",
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=2,
        )


class SingularValuesDisplay(_Display):
    """Mean local singular values against ε on log axes, those above the largest gap in color, with the dimension.

    Parameters
    ----------
    curve : DimensionCurve
    bandwidth : float, optional
        To mark; the colors tell the dimension there.
    scales : (float, float), optional
        A range of scales to shade, such as that of the method "clmr".
    """

    def __init__(self, curve, bandwidth=None, scales=None):
        self.curve = curve
        self.bandwidth = bandwidth
        self.scales = scales

    @classmethod
    def from_estimator(cls, estimator, X, *, scales=None, random_state=None, ax=None):
        """Singular values of the points X at all bandwidths that a fitted selector or estimator searched."""
        selection = _selection_of(estimator)
        curve = dimension_curve(X, selection.bandwidths, random_state=random_state)
        return cls(curve, selection.bandwidth, scales).plot(ax=ax)

    def _draw(self, ax):
        curve = self.curve
        at = curve.shares.argmax() if self.bandwidth is None else np.abs(np.log(curve.bandwidths / self.bandwidth)).argmin()
        dimension = int(curve.votes[at])
        for k, values in enumerate(curve.singular_values.T):
            inside = k < dimension
            label = f"σ₁ … σ{_subscript(dimension)}: dimension {dimension}" if k == 0 and inside else None
            if k == dimension:
                label = "the others"
            if not (values > 0).any():
                continue
            positive = np.where(values > 0, values, np.nan)
            ax.loglog(
                curve.bandwidths, positive, color=_CURVE if inside else _ARTIFACT, lw=1.6 if inside else 0.8, label=label
            )
        largest = curve.singular_values.max()
        if largest > 0:
            ax.set_ylim(bottom=largest * 10.0**-_DECADES, top=2 * largest)
        if self.scales is not None:
            ax.axvspan(
                *self.scales, color=_CURVE, alpha=0.1, lw=0, label=f"scales {self.scales[0]:.3g} to {self.scales[1]:.3g}"
            )
        _mark(ax, self.bandwidth)
        changes = np.flatnonzero(np.diff(curve.votes, prepend=-1))
        for first, last in zip(changes, [*changes[1:], len(curve.votes)], strict=True):
            place = np.sqrt(curve.bandwidths[first] * curve.bandwidths[last - 1])
            if curve.votes[first] > 0 and (last - first) / len(curve.votes) > 0.05:
                ax.text(
                    place,
                    1.01,
                    f"d = {curve.votes[first]}",
                    transform=ax.get_xaxis_transform(),
                    ha="center",
                    fontsize="small",
                )
        for edge in changes[1:]:
            ax.axvline(np.sqrt(curve.bandwidths[edge - 1] * curve.bandwidths[edge]), color="black", lw=0.6, ls=":")
        ax.set_ylabel("singular values σ (unit of the data)")
        _bandwidth_axis(ax, curve.bandwidths[0], curve.bandwidths[-1])
        ax.legend(framealpha=0.9, edgecolor="none", fontsize="small", loc="lower right")


class DistortionDisplay(_Display):
    """How far the metric of the graph is from that of the data, ‖H_i − I‖, point by point on a map.

    Parameters
    ----------
    embedding : ndarray (n_points, 2 or more)
        The map; its first two coordinates are drawn.
    distortion : ndarray (n,)
    rows : ndarray of int (n,), optional
        The points that these are the distortions of, if not of all; the others are gray.
    """

    def __init__(self, embedding, distortion, rows=None):
        self.embedding = embedding
        self.distortion = distortion
        self.rows = rows

    @classmethod
    def from_selection(cls, selection, embedding, *, ax=None):
        """What each evaluation point of a `geolap.Selection` contributes to D(ε̂); needs the method "gc"."""
        if "per_point" not in selection.details:
            raise ValueError(
                "Distortions of points come from geometric consistency; the selection was made by "
                f"{selection.method!r}: use method 'gc', or DistortionDisplay.from_metric."
            )
        at = np.abs(np.log(selection.bandwidths / selection.bandwidth)).argmin()
        return cls(embedding, selection.details["per_point"][:, at], selection.details["sample"]).plot(ax=ax)

    @classmethod
    def from_metric(cls, metric, *, ax=None):
        """How far a map is from an isometry, from a `geolap.RiemannianMetric`."""
        return cls(metric.embedding, metric.distortion).plot(ax=ax)

    def _draw(self, ax):
        places = _two_coordinates(self.embedding)
        rows = np.arange(len(places)) if self.rows is None else self.rows
        if self.rows is not None:
            ax.plot(*places.T, ".", ms=2, color="#cccccc", zorder=1)
        finite = np.where(np.isfinite(self.distortion), self.distortion, np.nan)
        top = float(np.nanquantile(finite, 0.98))
        order = np.argsort(np.nan_to_num(finite, nan=np.inf))  # the largest on top
        drawn = ax.scatter(*places[rows[order]].T, c=finite[order], s=14, cmap="cividis", vmin=0, vmax=top, zorder=2)
        ax.figure.colorbar(drawn, ax=ax, label="distortion ‖H − I‖", extend="max" if np.nanmax(finite) > top else "neither")
        _map_axes(ax)


class MetricDisplay(_Display):
    """Circles of one radius on the data, as the map shows them: where they differ, the map distorts lengths.

    Parameters
    ----------
    metric : RiemannianMetric
    radius : float, optional
        Of the circles, in the unit of the data; by default such that they can be seen.
    labels : array-like (n_points,), optional
        Classes or numbers that color the points.
    """

    def __init__(self, metric, radius=None, labels=None):
        self.metric = metric
        self.radius = radius
        self.labels = labels

    @classmethod
    def from_estimator(cls, eigenmap, *, radius=None, labels=None, ax=None):
        """The metric of a fitted `geolap.LaplacianEigenmap` or `geolap.DiffusionMap` of all points, on two coordinates."""
        if getattr(eigenmap, "landmarks_", None) is not None:
            raise ValueError(
                "The metric needs a graph over all points; this map is carried by landmarks: fit it without n_landmarks."
            )
        metric = riemannian_metric(_two_coordinates(eigenmap.embedding_), eigenmap.graph_.laplacian())
        return cls(metric, radius, labels).plot(ax=ax)

    def _draw(self, ax):
        from matplotlib.collections import LineCollection

        places = _two_coordinates(self.metric.embedding)
        colors: dict = {"color": _CURVE}
        if self.labels is not None:
            values, codes = np.unique(np.asarray(self.labels), return_inverse=True)
            few = len(values) <= len(PALETTE)
            colors = {"c": [PALETTE[code] for code in codes]} if few else {"c": codes, "cmap": "cividis"}
        ax.scatter(*places.T, s=5, lw=0, alpha=0.7, **colors)
        outlines, radius = indicatrices(places, self.metric.dual[:, :2, :2], radius=self.radius)
        ax.add_collection(LineCollection(list(outlines), colors="black", linewidths=0.9))
        ax.set_title(f"circles of radius {radius:.3g} on the data", fontsize="medium")
        _map_axes(ax)


def _selection_of(estimator):
    selection = getattr(estimator, "selection_", None)
    if selection is None:
        raise ValueError(
            f"The estimator must be fitted, and have chosen its bandwidth; {type(estimator).__name__} has no selection_: "
            "fit it, with the name of a method as its bandwidth."
        )
    return selection


def _two_coordinates(embedding):
    places = np.asarray(embedding, dtype=float)
    if places.ndim != 2 or places.shape[1] < 2:
        raise ValueError(f"A map must have at least two coordinates; shape {places.shape} was given: use n_components=2.")
    return places[:, :2]


def _subscript(number):
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _mark(ax, bandwidth):
    if bandwidth is not None:
        ax.axvline(bandwidth, color=_CHOICE, lw=1.2, label=f"ε̂ = {bandwidth:.3g}")


def _map_axes(ax):
    ax.set_xlabel("coordinate 1 (no unit)")
    ax.set_ylabel("coordinate 2 (no unit)")
    ax.set_aspect("equal", adjustable="datalim")


def _bandwidth_axis(ax, low, high):
    ax.set_xlabel("bandwidth ε (unit of the data)")
    ax.set_xlim(low, high)
    if high < 1e3 * low:  # where there is room for them
        plain_ticks(ax.xaxis)


def plain_ticks(axis):
    """Plain numbers, 1, 2 and 5 of every decade, on a log axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Plots need matplotlib, which is not installed: pip install 'geolap[plot]'.") from None
    return plt.subplots(layout="constrained")[1]
