"""Plots, as scikit-learn's displays: a result in, ``plot(ax=None)`` draws it and keeps ``ax_`` and ``figure_``.

=========================  =====================================================================
`MapDisplay`               a map, colored by labels or clusters
`SelectionDisplay`         the curve behind a bandwidth, its minima, interval and bound
`ComparisonDisplay`        every rule's curve on one axis
`HealthDisplay`            effective neighbors and the components of the graph against ε
`SingularValuesDisplay`    local singular values and the dimension against ε
`DistortionDisplay`        how far each point is from agreement, on a map
`MetricDisplay`            circles of the data, as a map shows them
`CoordinatesDisplay`       how much of each candidate the chosen coordinates explain
`RelaxationDisplay`        lengths on a map over those of the data, before and after it was relaxed
`NamesDisplay`             how much of each function is used to explain coordinates, as it becomes cheaper
=========================  =====================================================================

Colors are from the color-blind safe palette of Okabe & Ito; scales of color are cividis.  Needs matplotlib
(``geolap[plot]``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from .. import shown
from ..data.distances import Metric
from ..dimension import DimensionCurve, dimension_curve
from ..estimators.clusters import LaplacianClustering
from ..estimators.coordinates import IndependentCoordinates
from ..estimators.maps import DiffusionMap, LaplacianEigenmap
from ..estimators.named_coordinates import NamedCoordinates
from ..estimators.relaxation import Relaxation
from ..estimators.riemannian import RiemannianMetric, riemannian_metric
from ..graphs.health import HealthCurve, health_curve
from ..graphs.spectrum import graph_components, smooth_spectrum
from ..runtime.libraries import needed
from ..selection import Selection
from ..selectors import BandwidthSelector
from ..selectors.comparison import Comparison, compare_bandwidths
from .circles import indicatrices
from .coloring import NO_LABEL, OTHER, label_coloring
from .curve import CHOICE, drawn_curve, not_local, told_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .coloring import Coloring

__all__ = [
    "PALETTE",
    "ComparisonDisplay",
    "CoordinatesDisplay",
    "DistortionDisplay",
    "HealthDisplay",
    "MapDisplay",
    "MetricDisplay",
    "NamesDisplay",
    "RelaxationDisplay",
    "SelectionDisplay",
    "SingularValuesDisplay",
    "plain_ticks",
]

_CURVE, _OTHER, _ARTIFACT = "#0072B2", "#009E73", "#999999"
PALETTE = (_CURVE, CHOICE, _OTHER, "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_COORDINATES = ("coordinate 1 (no unit)", "coordinate 2 (no unit)")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_DECADES = 4.0  # of singular values; below is rounding


class _Display:
    """What all displays share."""

    def plot(self, *, ax: Axes | None = None) -> Self:
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

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


@shown.plots.register(Selection)
@dataclass(eq=False, repr=False)
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

    selection: Selection

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """The selection of a fitted selector, or of an estimator that chose its bandwidth."""
        return cls(_selection_of(estimator)).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        selection, curve = self.selection, drawn_curve(self.selection)
        ax.semilogx(curve.bandwidths, curve.scores, color=_CURVE, lw=1.5, zorder=2)
        if selection.interval is not None:
            ax.axvspan(*selection.interval, color=CHOICE, alpha=0.15, lw=0, label=selection.interval_kind)
        _mark(ax, selection.bandwidth)
        if (beyond := not_local(selection)) is not None:
            ax.axvspan(*beyond, color=_ARTIFACT, alpha=0.2, lw=0, label="no longer local")
        for minimum in selection.minima:
            color = CHOICE if minimum.local else _ARTIFACT
            ax.plot(minimum.bandwidth, minimum.score, "o", ms=5, mfc="none", mec=color, mew=1.5, zorder=3)
        if curve.cropped:
            ax.set_ylim(curve.low, curve.high)
        ax.set_ylabel(f"score ({selection.method})")
        _bandwidth_axis(ax, selection.bandwidths[0], selection.bandwidths[-1])
        ax.legend(frameon=False)


shown.plots.register(BandwidthSelector, lambda selector: SelectionDisplay(_selection_of(selector)))


@shown.plots.register(Comparison)
@dataclass(eq=False, repr=False)
class ComparisonDisplay(_Display):
    """Every rule's curve, each scaled to its own range, with its choice marked, on one log axis.

    Parameters
    ----------
    comparison : Comparison
    """

    comparison: Comparison

    @classmethod
    def from_points(
        cls,
        X: ArrayLike,
        methods: Sequence[str] | None = None,
        *,
        y: ArrayLike | None = None,
        random_state: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Run the rules of `geolap.compare_bandwidths` on the points X."""
        return cls(compare_bandwidths(X, methods, y=y, random_state=random_state)).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        for k, row in enumerate(self.comparison):
            selection, curve = row.selection, drawn_curve(row.selection)
            low, extent = curve.scores.min(), max(np.ptp(curve.scores), np.finfo(float).tiny)
            color, style = PALETTE[k % len(PALETTE)], "-" if k < len(PALETTE) else "--"
            label = f"{selection.method} {selection.bandwidth:.3g}"
            ax.semilogx(curve.bandwidths, (curve.scores - low) / extent, lw=1.2, color=color, ls=style, label=label)
            ax.plot(selection.bandwidth, (curve.chosen - low) / extent, "o", color=color)
        ax.set_ylabel("score, scaled to each rule's range")
        ends = [row.selection.bandwidths[[0, -1]] for row in self.comparison]
        _bandwidth_axis(ax, min(low for low, _ in ends), max(high for _, high in ends))
        ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))


@shown.plots.register(HealthCurve)
@dataclass(eq=False, repr=False)
class HealthDisplay(_Display):
    """Effective neighbors (log axis), points in the largest component and isolated ones (axis on the right).

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

    curve: HealthCurve
    bandwidth: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, *, random_state: Any = None, ax: Axes | None = None) -> Self:
        """Graphs of the points X at all bandwidths that a fitted selector or estimator searched."""
        selection = _selection_of(estimator)
        curve = health_curve(X, selection.bandwidths, random_state=random_state, metric=_metric_of(estimator))
        return cls(curve, selection.bandwidth).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        curve = self.curve
        _, lower, median, upper, _ = curve.effective_neighbors.T
        ax.fill_between(curve.bandwidths, lower, upper, color=_CURVE, alpha=0.15, lw=0)
        ax.loglog(curve.bandwidths, median, color=_CURVE, lw=1.5, label="effective neighbors, median and quartiles")
        ax.set_ylabel("effective neighbors", color=_CURVE)
        _mark(ax, self.bandwidth)
        right = self.share_ax_ = ax.twinx()
        if curve.largest_component is not None:
            share = 100 * curve.largest_component / curve.n_points
            right.plot(curve.bandwidths, share, color=_OTHER, lw=1.5, ls="--", label="in the largest component")
        right.plot(curve.bandwidths, 100 * curve.isolated, color="black", lw=1.2, ls=":", label="isolated")
        right.set(ylabel="% of the points", ylim=(-3, 103))
        _bandwidth_axis(ax, curve.bandwidths[0], curve.bandwidths[-1])
        (handles, labels), (more, their_labels) = (axis.get_legend_handles_labels() for axis in (ax, right))
        place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 2}
        ax.legend(handles + more, labels + their_labels, frameon=False, fontsize="small", **place)


@shown.plots.register(DimensionCurve)
@dataclass(eq=False, repr=False)
class SingularValuesDisplay(_Display):
    """Mean local singular values against ε on log axes, those above the largest gap in color, with the dimension.

    Parameters
    ----------
    curve : DimensionCurve
    bandwidth : float, optional
        To mark; the colors show the dimension there.
    scales : (float, float), optional
        A range of scales to shade, such as that of the method "clmr".
    """

    curve: DimensionCurve
    bandwidth: float | None = None
    scales: tuple[float, float] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        scales: tuple[float, float] | None = None,
        random_state: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Singular values of the points X at all bandwidths that a fitted selector or estimator searched."""
        selection = _selection_of(estimator)
        curve = dimension_curve(X, selection.bandwidths, random_state=random_state, metric=_metric_of(estimator))
        return cls(curve, selection.bandwidth, scales).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        curve = self.curve
        at = curve.shares.argmax() if self.bandwidth is None else np.abs(np.log(curve.bandwidths / self.bandwidth)).argmin()
        dimension = int(curve.votes[at])
        first = {0: f"σ₁ … σ{str(dimension).translate(_SUBSCRIPTS)}: dimension {dimension}"} if dimension else {}
        labels = first | {dimension: "the others"}
        for k, values in enumerate(curve.singular_values.T):
            if (values > 0).any():
                positive = np.where(values > 0, values, np.nan)
                color, width = (_CURVE, 1.6) if k < dimension else (_ARTIFACT, 0.8)
                ax.loglog(curve.bandwidths, positive, color=color, lw=width, label=labels.get(k))
        largest = curve.singular_values.max()
        if largest > 0:
            ax.set_ylim(bottom=largest * 10.0**-_DECADES, top=2 * largest)
        if self.scales is not None:
            low, high = self.scales
            ax.axvspan(low, high, color=_CURVE, alpha=0.1, lw=0, label=f"scales {low:.3g} to {high:.3g}")
        _mark(ax, self.bandwidth)
        self._draw_votes(ax)
        ax.set_ylabel("singular values σ (unit of the data)")
        _bandwidth_axis(ax, curve.bandwidths[0], curve.bandwidths[-1])
        ax.legend(framealpha=0.9, edgecolor="none", fontsize="small", loc="lower right")

    def _draw_votes(self, ax: Axes) -> None:
        """The dimension above the plot, with lines where it changes."""
        bandwidths, votes = self.curve.bandwidths, self.curve.votes
        changes = np.flatnonzero(np.diff(votes, prepend=-1))
        for first, last in zip(changes, [*changes[1:], len(votes)], strict=True):
            place = np.sqrt(bandwidths[first] * bandwidths[last - 1])
            if votes[first] > 0 and (last - first) / len(votes) > 0.05:
                style: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "ha": "center", "fontsize": "small"}
                ax.text(place, 1.01, f"d = {votes[first]}", **style)
        for edge in changes[1:]:
            ax.axvline(np.sqrt(bandwidths[edge - 1] * bandwidths[edge]), color="black", lw=0.6, ls=":")


@dataclass(eq=False, repr=False)
class DistortionDisplay(_Display):
    """How far the metric of the graph is from that of the data, ‖H_i − I‖, point by point on a map.

    Parameters
    ----------
    embedding : ndarray (n_points, 2 or more)
        The map; its first two coordinates are drawn.
    distortion : ndarray (n,)
    rows : ndarray of int (n,), optional
        The points with these distortions, if not all; the others are gray.
    """

    embedding: ArrayLike
    distortion: np.ndarray
    rows: np.ndarray | None = None

    @classmethod
    def from_selection(cls, selection: Selection, embedding: ArrayLike, *, ax: Axes | None = None) -> Self:
        """What each evaluation point of a `geolap.Selection` contributes to D(ε̂); needs the method "gc"."""
        if "per_point" not in selection.details:
            raise ValueError(
                f"Distortions of points require geometric consistency; the selection was made by {selection.method!r}: use "
                "method 'gc', or DistortionDisplay.from_metric."
            )
        at = np.abs(np.log(selection.bandwidths / selection.bandwidth)).argmin()
        return cls(embedding, selection.details["per_point"][:, at], selection.details["sample"]).plot(ax=ax)

    @classmethod
    def from_metric(cls, metric: RiemannianMetric, *, ax: Axes | None = None) -> Self:
        """How far a map is from an isometry, from a `geolap.RiemannianMetric`."""
        return cls(metric.embedding, metric.distortion).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        places = _two_coordinates(self.embedding)
        rows = np.arange(len(places)) if self.rows is None else self.rows
        if self.rows is not None:
            ax.plot(*places.T, ".", ms=2, color="#cccccc", zorder=1)
        finite = np.where(np.isfinite(self.distortion), self.distortion, np.nan)
        top = float(np.nanquantile(finite, 0.98))
        order = np.argsort(np.nan_to_num(finite, nan=np.inf))  # the largest on top
        x, y = places[rows[order]].T
        drawn = ax.scatter(x, y, c=finite[order], s=14, cmap="cividis", vmin=0, vmax=top, zorder=2)
        ax.figure.colorbar(drawn, ax=ax, label="distortion ‖H − I‖", extend="max" if np.nanmax(finite) > top else "neither")
        _coordinate_axes(ax, _COORDINATES)


@shown.plots.register(RiemannianMetric)
@dataclass(eq=False, repr=False)
class MetricDisplay(_Display):
    """Circles of one radius on the data, as the map shows them: where they differ, the map distorts lengths.

    Parameters
    ----------
    metric : RiemannianMetric
    radius : float, optional
        Of the circles, in the unit of the data; by default such that they can be seen.
    labels : array-like (n_points,), optional
        As for `MapDisplay`.
    """

    metric: RiemannianMetric
    radius: float | None = None
    labels: ArrayLike | None = None

    @classmethod
    def from_estimator(
        cls, eigenmap: Any, *, radius: float | None = None, labels: ArrayLike | None = None, ax: Axes | None = None
    ) -> Self:
        """The metric of a fitted `geolap.LaplacianEigenmap` or `geolap.DiffusionMap` of all points, on two coordinates."""
        if getattr(eigenmap, "landmarks_", None) is not None:
            raise ValueError(
                "The metric needs a graph over all points; this map was fitted on landmarks: fit it without n_landmarks."
            )
        metric = riemannian_metric(_two_coordinates(eigenmap.embedding_), eigenmap.graph_.metric_laplacian())
        return cls(metric, radius, labels).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.collections import LineCollection

        places = _two_coordinates(self.metric.embedding)
        MapDisplay(places, self.labels)._draw(ax)
        outlines, radius = indicatrices(places, self.metric.dual[:, :2, :2], radius=self.radius)
        ax.add_collection(LineCollection(list(outlines), colors="black", linewidths=0.9))
        ax.set_title(f"circles of radius {radius:.3g} on the data", fontsize="medium")


@dataclass(eq=False, repr=False)
class MapDisplay(_Display):
    """The first two coordinates of a map, colored by labels.

    Parameters
    ----------
    embedding : array-like (n_points, s)
    labels : array-like (n_points,), optional
        Words or numbers; up to 20 classes have their own colors, many different numbers a scale.
    title : str, optional
        Of the labels.
    axes : tuple of str
        What the coordinates are.
    """

    embedding: ArrayLike
    labels: ArrayLike | None = None
    title: str | None = None
    axes: tuple[str, str] = _COORDINATES

    def _draw(self, ax: Axes) -> None:
        places = _two_coordinates(self.embedding)
        size: dict[str, Any] = {"s": 5 if len(places) > 500 else 12, "lw": 0}
        if self.labels is None:
            ax.scatter(*places.T, color=_CURVE, alpha=0.7, **size)
        else:
            self._draw_labels(ax, places, label_coloring(self.labels, len(places)), size)
        _coordinate_axes(ax, self.axes)

    def _draw_labels(self, ax: Axes, places: np.ndarray, coloring: Coloring, size: dict[str, Any]) -> None:
        if coloring.values is not None:
            points = ax.scatter(places[:, 0], places[:, 1], c=coloring.values, cmap="cividis", **size)
            ax.figure.colorbar(points, ax=ax, label=self.title or coloring.title)
            return
        import matplotlib as mpl

        few = coloring.n_classes <= len(PALETTE)
        colors = PALETTE if few else [mpl.colormaps["tab20"](k) for k in range(20)]
        for k, name in enumerate(coloring.categories):
            color = _ARTIFACT if name in (NO_LABEL, OTHER) else colors[k]
            ax.scatter(*places[coloring.codes == k].T, color=color, label=name, **size)
        columns = 1 if len(coloring.categories) <= 12 else 2
        style: dict[str, Any] = {"title": self.title, "fontsize": "small", "markerscale": 2.0, "ncols": columns}
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), **style)


@shown.plots.register(LaplacianEigenmap)
@shown.plots.register(DiffusionMap)
def _map_of(eigenmap: LaplacianEigenmap | DiffusionMap, labels: ArrayLike | None = None) -> MapDisplay:
    check_is_fitted(eigenmap)
    return MapDisplay(eigenmap.embedding_, labels)


@shown.plots.register(LaplacianClustering)
def _clusters_on_a_map(clustering: LaplacianClustering) -> MapDisplay:
    """On the eigenmap of the same graph; on principal components where that graph falls apart."""
    check_is_fitted(clustering)
    graph, labels = clustering.graph_, clustering._labels
    components, points = graph_components(graph), clustering._built.on_host.points
    if components.max() and points is not None and points.shape[1] > 1:
        # Of sparse features; ARPACK finds fewer components than there are features.
        solver = "full" if isinstance(points, np.ndarray) else "covariance_eigh" if points.shape[1] == 2 else "arpack"
        places = PCA(2, svd_solver=solver, random_state=0).fit_transform(points)
        return MapDisplay(places, labels, "cluster", ("principal component 1", "principal component 2"))
    return MapDisplay(smooth_spectrum(graph, 3, components=components).vectors[:, 1:], labels, "cluster")


@shown.plots.register(IndependentCoordinates)
@dataclass(eq=False, repr=False)
class CoordinatesDisplay(_Display):
    """How much of each candidate the chosen coordinates explain, compared with the same number of first ones.

    A map explains a candidate if neighbors on the map share its values.

    Parameters
    ----------
    independence : IndependentCoordinates
    """

    independence: IndependentCoordinates

    @classmethod
    def from_estimator(cls, eigenmap: Any, *, ax: Axes | None = None) -> Self:
        """Of a map that was fitted with ``n_components="auto"``."""
        independence = getattr(eigenmap, "independence_", None)
        if independence is None:
            raise ValueError(
                f"The map must be fitted with automatically chosen coordinates; this {type(eigenmap).__name__} is not: fit "
                "it with n_components='auto'."
            )
        return cls(independence).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        found = self.independence
        number = np.arange(1, len(found.first_told) + 1)
        looks = {"chosen": ("o-", CHOICE, 1.6), "not enough": ("o-", _ARTIFACT, 1.0), "the first": ("s--", _CURVE, 1.2)}
        for curve in told_curves(found):
            form, color, width = looks[curve.kind]
            ax.plot(number, curve.told, form, ms=4, color=color, lw=width, label=curve.words)
        for k in found.chosen:
            ax.axvline(k + 1, color=CHOICE, lw=0.8, alpha=0.4)
        ax.set(ylim=(-0.15, 1.05), xlabel="candidate coordinate", ylabel="share that the map of these tells")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(frameon=False, title="coordinates", fontsize="small")


@shown.plots.register(Relaxation)
@dataclass(eq=False, repr=False)
class RelaxationDisplay(_Display):
    """Lengths of steps on a map over those of the data, before and after it was relaxed.

    Parameters
    ----------
    relaxation : Relaxation
    """

    relaxation: Relaxation

    def _draw(self, ax: Axes) -> None:
        found = self.relaxation
        bins = np.linspace(0.0, max(2.0, float(np.quantile(found.ratios_before, 0.99))), 101).tolist()
        for ratios, error, color, words in (
            (found.ratios_before, found.error_before, _ARTIFACT, "given"),
            (found.ratios, found.error, _CURVE, "relaxed"),
        ):
            ax.hist(ratios, bins, color=color, alpha=0.7, label=f"{words}: off by {error:.1%} on average")
        ax.set(yscale="log", xlabel="length on the map / length on the data", ylabel="steps between neighbors")
        ax.legend(frameon=False)


@shown.plots.register(NamedCoordinates)
@dataclass(eq=False, repr=False)
class NamesDisplay(_Display):
    """How much of each function is used to explain the coordinates of the data, as the penalty for it falls.

    Parameters
    ----------
    found : NamedCoordinates
    """

    found: NamedCoordinates

    def _draw(self, ax: Axes) -> None:
        found = self.found
        others = iter(PALETTE[2:] * len(found.names))
        for name, norms in zip(found.names, found.norms.T, strict=True):
            if name in found.chosen:
                ax.semilogx(found.penalties, norms, color=PALETTE[found.chosen.index(name) % 2], lw=2.0, label=name)
            elif norms.max(initial=0.0) > 0.01 * found.norms.max():
                ax.semilogx(found.penalties, norms, color=next(others), lw=1.0, ls="--", label=name)
        ax.set(xlabel="penalty, relative to the smallest that selects nothing", ylabel="how much of a function is used")
        ax.set_xlim(1.0, found.penalties[-1] if len(found.penalties) else 0.01)
        ax.legend(frameon=False, title=f"of {len(found.names)} functions")


def _selection_of(estimator: Any) -> Selection:
    selection = getattr(estimator, "selection_", None)
    if selection is None:
        raise ValueError(
            f"The estimator must be fitted and have chosen its bandwidth; {type(estimator).__name__} has no selection_: "
            "fit it with the name of a method as its bandwidth."
        )
    return selection


def _metric_of(estimator: Any) -> Metric:
    """The distance between points for an estimator; a search has that of its selector."""
    selector = getattr(estimator, "selector", None)
    return getattr(estimator, "metric", None) or getattr(selector, "metric", None) or "euclidean"


def _two_coordinates(embedding: ArrayLike) -> np.ndarray:
    places = np.asarray(embedding, dtype=float)
    if places.ndim != 2 or places.shape[1] < 2:
        raise ValueError(f"A map must have at least two coordinates; shape {places.shape} was given: use n_components=2.")
    return places[:, :2]


def _coordinate_axes(ax: Axes, names: tuple[str, str]) -> None:
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.set_aspect("equal", adjustable="datalim")


def _mark(ax: Axes, bandwidth: float | None) -> None:
    if bandwidth is not None:
        ax.axvline(bandwidth, color=CHOICE, lw=1.2, label=f"ε̂ = {bandwidth:.3g}")


def _bandwidth_axis(ax: Axes, low: float, high: float) -> None:
    ax.set_xlabel("bandwidth ε (unit of the data)")
    ax.set_xlim(low, high)
    if high < 1e3 * low:  # where there is room for them
        plain_ticks(ax.xaxis)


def plain_ticks(axis: Any) -> None:
    """Plain numbers, 1, 2 and 5 of every decade, on a log axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _axes(ax: Axes | None) -> Axes:
    return needed("matplotlib.pyplot", "plot", "Plots need").subplots(layout="constrained")[1] if ax is None else ax
