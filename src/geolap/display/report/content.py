"""What a report says: points, a `Selection` and labels in, one frozen value with every number and sentence out.

Everything that costs time happens here, and all of it can be missing: a part that is too expensive or fails leaves a
sentence in its place.  How it looks is decided in `geolap.display.report.page`, which knows no geometry.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...choices import RULES
from ...data.multiplicity import quantile_of, weights_at
from ...data.points import Points
from ...dimension import DimensionCurve, dimension_curve
from ...estimators.base import near_alone
from ...estimators.clusters import LaplacianClustering
from ...graphs.health import GraphHealth, HealthCurve, graph_health, health_curve
from ...kernel import convert_bandwidth
from ...runtime.progress import begin, parts
from ...selection import Selection
from ...selectors import GeometricConsistency, selector_named
from ...selectors.base import with_its_own
from ...selectors.comparison import ALIKE, Comparison
from ...validation import check_random_state
from ..coloring import Coloring, label_coloring
from .advice import Snippet, advice_for, snippets_for
from .clusters import Clusters, clusters_of
from .maps import FAILURES, MOST_OF_NEIGHBORS, Maps, map_views

__all__ = ["ReportContent", "Rival", "content_of", "content_of_selection"]

_RIVALS = {name: rule.quick_up_to for name, rule in RULES.items() if rule.quick_up_to}
_MOST_POINTS_OF_SPECTRUM = 10_000
_MOST_SCALES = 40
# Points whose neighbors are counted; fewer if there are more points than this.
_COUNTED, _FEW_COUNTED, _MANY = 1000, 200, 5000
# Points and bandwidths at which neighborhoods have their singular values found: fewer where points and features are many.
_SPECTRA, _FEW_SPECTRA, _FEW_SCALES, _WIDE = 50, 20, 15, 400
# Points that other rules ask there, of those they draw at random.
_FEW_ASKED = 500
# Rules that find spectra or multiply full matrices at many bandwidths.
_LONG_IF_WIDE = ("semigroup", "clmr")
_PULLED_NEAR = (
    "At ε̂ some of the first coordinates only single out a few loosely connected points; the coordinates drawn are the "
    "next ones. With equal weights for 20 neighbors, which geolap.LaplacianEigenmap() uses in such cases, this does not "
    "happen."
)
_PULLED = (
    "At ε̂ the first coordinates single out a few points far from all others, as is typical for eigenmaps of data with "
    "outliers. A larger bandwidth hides them, but also the finer geometry; equal weights for 20 neighbors do not: "
    "geolap.LaplacianEigenmap() uses these in such cases."
)


@dataclass(frozen=True)
class Rival:
    """Another rule's answer, or in ``remark`` why there is none."""

    method: str
    bandwidth: float | None
    interval: tuple[float, float] | None = None
    neighbors: float | None = None
    components: int | None = None
    isolated: int | None = None
    seconds: float | None = None
    remark: str = ""


@dataclass(frozen=True)
class ReportContent:
    """Everything that a report shows.

    Attributes
    ----------
    name : str
        Of the data.
    selection : Selection
    snippets : tuple of Snippet
    n_points, n_features : int or None
        None in a page made from the selection alone.
    reading : str or None
        Code that makes X of the file that the points are from, if they are from one.
    features : tuple of str
        Names of the columns, where there are any.
    rivals : tuple of Rival
    health : HealthCurve or None
    dimension : DimensionCurve or None
    maps : Maps
    clusters : Clusters or None
    coloring : Coloring or None
    remarks : dict
        For a part of the report ("rivals", "clusters", …), a sentence on what is missing or estimated.
    """

    name: str
    selection: Selection
    snippets: tuple[Snippet, ...]
    n_points: int | None = None
    n_features: int | None = None
    reading: str | None = None
    features: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()
    health: HealthCurve | None = None
    dimension: DimensionCurve | None = None
    maps: Maps = field(default_factory=Maps)
    clusters: Clusters | None = None
    coloring: Coloring | None = None
    remarks: dict[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> tuple[str, str, str]:
        """The answer in one sentence: what comes before the bandwidth, the bandwidth, what comes after it."""
        advice = advice_for(self.selection)
        return advice.before, f"ε = {self.selection.bandwidth:.4g}", advice.after.format(self.name)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The figures below the answer, each with what it is."""
        selection, facts = self.selection, []
        if selection.interval is not None:
            facts.append((selection.interval_kind, f"{selection.interval[0]:.4g} – {selection.interval[1]:.4g}"))
        if self.health is not None:
            at, median = np.log(self.health.bandwidths), np.log(self.health.effective_neighbors[:, 2])
            facts.append(("neighbors (median)", f"{np.exp(np.interp(np.log(selection.bandwidth), at, median)):.3g}"))
        if selection.bound is not None:
            facts.append(("local up to ε", f"{selection.bound:.4g}"))
        if selection.neighborhoods is not None:
            facts.append(("dimension at ε̂", str(selection.neighborhoods.dimension or "not determined")))
        return *facts, ("gamma in scikit-learn", f"{convert_bandwidth(selection.bandwidth, target='gamma'):.4g}")

    @property
    def answered(self) -> list[tuple[str, float, tuple[float, float]]]:
        """Name, bandwidth and range of each other rule that answered; where it tells no range, one of no width."""
        return [(r.method, r.bandwidth, r.interval or (r.bandwidth, r.bandwidth)) for r in self.rivals if r.bandwidth]

    @property
    def agreement(self) -> str | None:
        """What to conclude from the other rules, in words; None if none answered."""
        ratios = {method: bandwidth / self.selection.bandwidth for method, bandwidth, _ in self.answered}
        if not ratios:
            return None
        alike = [name for name, ratio in ratios.items() if 1 / ALIKE <= ratio <= ALIKE]
        smaller = [name for name, ratio in ratios.items() if ratio < 1 / ALIKE]
        larger = [name for name, ratio in ratios.items() if ratio > ALIKE]
        parts = [f"Within a factor of {ALIKE:g} of ε̂: {', '.join(alike) if alike else 'none of the other rules'}."]
        if smaller:
            parts.append(f"Smaller: {', '.join(smaller)}; there neighborhoods contain fewer points, and noise matters more.")
        if larger:
            parts.append(
                f"Larger: {', '.join(larger)}; there neighborhoods contain more points, and curvature and gaps are lost."
            )
        if smaller or larger:
            parts.append("Rules answer different questions, so this by itself is no reason for doubt: see the graph below.")
        return " ".join(parts)

    @property
    def vote(self) -> int:
        """The dimension at the bandwidth next to ε̂; 0 where nothing is known."""
        if self.dimension is None:
            return 0
        at = np.abs(np.log(self.dimension.bandwidths / self.selection.bandwidth)).argmin()
        return int(self.dimension.votes[at])

    @property
    def range_of_scales(self) -> tuple[float, float] | None:
        """Where singular values tell signal from noise, if that rule was asked."""
        return next((rival.interval for rival in self.rivals if rival.method == "clmr"), None)


def content_of_selection(selection: Selection, *, name: str | None = None) -> ReportContent:
    """What can be said without the points: the curve, neighbors of the evaluation points, code."""
    health = _known_health(selection)
    near = near_alone(selection, health.n_points) if health is not None else False
    return ReportContent(_name(name), selection, snippets_for(selection, near=near), health=health)


def content_of(
    X: ArrayLike,
    *,
    selection: Selection | None = None,
    comparison: Comparison | None = None,
    clustering: LaplacianClustering | None = None,
    labels: ArrayLike | None = None,
    name: str | None = None,
    reading: str | None = None,
    features: Sequence[str] | None = None,
    random_state: Any = None,
) -> ReportContent:
    """All that a report says about the points X; what is not given is computed."""
    points = Points.of(X)
    n, r = points.shape
    names = tuple(map(str, getattr(X, "columns", ()) if features is None else features))
    coloring = None if labels is None else label_coloring(labels, n)
    seed = int(check_random_state(random_state).randint(2**31))
    remarks: dict[str, str] = {}
    asked = _quick_rules(points, remarks) if comparison is None else []
    with parts(len(asked) + 8, "report", delay=1.0):
        if selection is None:
            begin("report: bandwidth")
            selection, _ = GeometricConsistency(random_state=random_state).timed(points)
        rivals = [_ask(points, method, seed) for method in asked]
        rivals += [_on_graph(_answered(row.selection, row.seconds), row.health) for row in comparison or ()]
        scales = selection.details.get("scanned", selection.bandwidths)
        if len(scales) > _MOST_SCALES:
            scales = np.geomspace(scales[0], scales[-1], _MOST_SCALES)
        begin("report: dimension")
        dimension = _dimension(points, scales, seed, remarks)
        maps = map_views(points, selection, seed)
        begin("report: clusters")
        clusters = _clusters(points, maps, seed, clustering, remarks)
        begin("report: graph")
        asked_at = [rival.bandwidth for rival in rivals if rival.bandwidth is not None]
        n_counted = _FEW_COUNTED if n > _MANY else _COUNTED
        health = health_curve(points, np.union1d(scales, asked_at), n_sample=n_counted, random_state=seed)
        rivals = [_with_graph(rival, health, points, seed) for rival in rivals]
    outliers = maps.chosen is not None and maps.chosen.pulled
    if outliers:
        remarks["outliers"] = _PULLED_NEAR if maps.neighbors else _PULLED
    return ReportContent(
        name=_name(name),
        selection=selection,
        reading=reading,
        snippets=snippets_for(
            selection,
            near=near_alone(selection, n),
            n_clusters=None if coloring is None else coloring.n_classes,
            outliers=outliers,
        ),
        n_points=n,
        n_features=r,
        features=names if len(names) == r else (),
        rivals=tuple(rival for rival in rivals if rival.method != selection.method),
        health=health,
        dimension=dimension,
        maps=maps,
        clusters=clusters,
        coloring=maps.coloring if coloring is None else coloring,
        remarks=remarks,
    )


def _dimension(points: Points, scales: np.ndarray, seed: int, remarks: dict[str, str]) -> DimensionCurve:
    n, n_sample = len(points), _SPECTRA
    if n > _MOST_POINTS_OF_SPECTRUM:
        chosen = np.random.default_rng(seed).choice(n, _MOST_POINTS_OF_SPECTRUM, replace=False)
        points = points.subset(np.sort(chosen))
        remarks["dimension"] = f"From a random {_MOST_POINTS_OF_SPECTRUM} of the {n} points."
    if min(points.shape) > _WIDE:  # spectra of large neighborhoods take long
        scales, n_sample = scales[:: -(-len(scales) // _FEW_SCALES)], _FEW_SPECTRA
        remarks["dimension"] = (
            f"{remarks.get('dimension', '')} Computed at {_FEW_SPECTRA} points and few bandwidths.".strip()
        )
    return dimension_curve(points, scales, n_sample=n_sample, random_state=seed)


def _clusters(
    points: Points, maps: Maps, seed: int, given: LaplacianClustering | None, remarks: dict[str, str]
) -> Clusters | None:
    if given is None and len(points) > MOST_OF_NEIGHBORS:
        remarks["clusters"] = (
            f"Clusters were not computed, because that is slow with {len(points)} points: use "
            "geolap.LaplacianClustering().fit(X)."
        )
        return None
    try:
        return clusters_of(points, maps, seed, given)
    except FAILURES as error:
        remarks["clusters"] = f"Clusters were left out. {error}"
        return None


def _name(name: str | None) -> str:
    return "these points" if name is None else str(name)


def _known_health(selection: Selection) -> HealthCurve | None:
    """Neighbors of the evaluation points, as far as the selection remembers them."""
    if not {"effective_neighbors", "n_points", "scanned"} <= set(selection.details):
        return None
    effective = selection.details["effective_neighbors"]
    scanned = weights_at(selection.details.get("weights"), slice(len(effective)))
    return HealthCurve(
        bandwidths=selection.details["scanned"],
        n_points=round(selection.details["n_points"]),
        components=None,
        largest_component=None,
        # Neighbors of weight 1e-4 together: none within 3ε.
        isolated=np.average(effective < 1.0002, axis=0, weights=scanned),
        effective_neighbors=quantile_of(effective, (0.0, 0.25, 0.5, 0.75, 1.0), scanned).T,
    )


def _quick_rules(points: Points, remarks: dict[str, str]) -> list[str]:
    """The rules that are asked; a remark on those that would take long."""
    n = len(points)
    wide = min(points.shape) > _WIDE
    left_out = [method for method, most in _RIVALS.items() if n > most or (wide and method in _LONG_IF_WIDE)]
    features = f" of {points.shape[1]} features" if wide else ""
    if left_out:
        remarks["rivals"] = (
            f"Skipped, because they are slow with {n} points{features}: {', '.join(left_out)}. "
            f"{f'The other rules used at most {_FEW_ASKED} points. ' if wide else ''}To include them, pass "
            "comparison=geolap.compare_bandwidths(X)."
        )
    return [method for method in _RIVALS if method not in left_out]


def _ask(points: Points, method: str, seed: int) -> Rival:
    """What a rule says; the neighborhoods at its bandwidth, which take long, are not looked at."""
    begin(f"report: rule {method}")
    few = {"n_sample": _FEW_ASKED} if min(points.shape) > _WIDE else {}
    selector = with_its_own(selector_named(method), random_state=seed, **few)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            start = time.perf_counter()
            selection = selector.rule_alone(points)
            seconds = time.perf_counter() - start
        except FAILURES as error:
            return Rival(method, None, remark=str(error))
    return _answered(selection, seconds, *(str(warning.message) for warning in heard))


def _with_graph(rival: Rival, health: HealthCurve, points: Points, seed: int) -> Rival:
    """The rival with what the graph at its bandwidth is like, from the curve where that counts components."""
    if rival.bandwidth is None or rival.neighbors is not None:
        return rival
    if health.components is None:
        return _on_graph(rival, graph_health(points, rival.bandwidth, random_state=seed))
    at = np.searchsorted(health.bandwidths, rival.bandwidth)
    return replace(
        rival,
        neighbors=float(health.effective_neighbors[at, 2]),
        components=int(health.components[at]),
        isolated=round(health.isolated[at] * len(points)),
    )


def _on_graph(rival: Rival, graph: GraphHealth) -> Rival:
    return replace(rival, neighbors=graph.effective_neighbors[2], components=graph.components, isolated=graph.isolated)


def _answered(selection: Selection, seconds: float, *warned: str) -> Rival:
    remark = " ".join([str(selection.status_text), *dict.fromkeys(warned)])
    return Rival(selection.method, selection.bandwidth, selection.interval, seconds=seconds, remark=remark)
