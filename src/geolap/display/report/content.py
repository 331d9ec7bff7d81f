"""What a report says: points, a `Selection` and labels in, one frozen value with every number and sentence out.

Everything that costs time happens here, and all of it can be missing: a part that is too expensive or fails leaves a
sentence in its place.  How it looks is decided in `geolap.display.report.page`, which knows no geometry.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.utils import check_random_state

from ...dimension import DimensionCurve, dimension_curve
from ...estimators.maps import LaplacianEigenmap
from ...estimators.riemannian import dual_metric_of_map, indicatrices
from ...graphs.forecast import forecast
from ...graphs.health import HealthCurve, health_curve
from ...kernel import convert_bandwidth
from ...points import Points
from ...selection import Selection, Status
from ...selectors import GeometricConsistency
from ...selectors.comparison import ComparisonRow, compare_bandwidths
from ...threads import one_blas_thread

__all__ = ["Coloring", "MapView", "ReportContent", "Rival", "Snippet", "content_of", "content_of_selection"]

# Rules that are asked, and of how many points: so that each answers within seconds.
_MOST_ASKED = 20_000
_RIVALS = {
    "rec": _MOST_ASKED,
    "bgh": 10_000,
    "semigroup": 2000,
    "clmr": _MOST_ASKED,
    "median": _MOST_ASKED,
    "knn": _MOST_ASKED,
}
# So many points carry the maps, landmarks if there are more; no maps if three of them took longer than so many seconds.
# Eigenvectors are found directly: at ε̂/2 a graph may hang together by threads, where iterations stall.
_LANDMARKS, _MOST_SECONDS = 2000, 120.0
# Of so many coordinates, the first two that are spread over at least this share of the points are drawn: smooth functions
# are over a third or more, those that only single out a few outliers over next to none.
_COORDINATES, _LEAST_SPREAD = 12, 0.05
_WIDEST = 10.0  # radius of the circles drawn, in bandwidths
_MOST_POINTS_OF_SPECTRUM = 10_000
_MOST_SCALES = 40
_MOST_CATEGORIES = 20
_NO_LABEL, _OTHER = "no label", "other"
# A part that cannot be had leaves its sentence; a report has others.
_FAILURES = (ValueError, ArithmeticError, MemoryError, RuntimeError, np.linalg.LinAlgError)

_ANSWERS = {
    Status.INTERIOR: "Use the bandwidth ε = {} for {}.",
    Status.SEVERAL: "Use the bandwidth ε = {} for {}, but look at its other scales too.",
    Status.LOWER_ELSEWHERE: "Use the bandwidth ε = {} for {}, and look at the ends of the curve.",
    Status.FLAT: "ε = {} is no more than a guess: no bandwidth stands out for {}.",
    Status.LOWER_END: "ε = {} is no answer: no local scale was found for {}.",
    Status.UPPER_END: "ε = {} is only a bound: no minimum was found below it for {}.",
    Status.FALLS_APART: "ε = {} fits best, but there the graph of {} falls apart.",
    Status.NO_LIMIT: "ε = {} is a makeshift for {}: its range of scales has an open end.",
    Status.RULE: "ε = {} is what a rule of thumb says for {}.",
}
_AGAIN = {
    Status.INTERIOR: ("See what every rule says", "print(geolap.compare_bandwidths(X))"),
    Status.SEVERAL: (
        "Look at the map at every scale",
        "for minimum in geolap.select_bandwidth(X).minima:\n"
        "    geolap.LaplacianEigenmap(bandwidth=minimum.bandwidth).fit_transform(X)",
    ),
    Status.LOWER_ELSEWHERE: ("Look further", "print(geolap.select_bandwidth(X, max_share=0.4).explain())"),
    Status.FLAT: ("Ask more points", "print(geolap.select_bandwidth(X, n_sample=1000).explain())"),
    Status.LOWER_END: (
        "Remove duplicates and ask again",
        "X = sorted(set(map(tuple, X)))\nprint(geolap.select_bandwidth(X).explain())",
    ),
    Status.UPPER_END: ("Look further", "print(geolap.select_bandwidth(X, max_share=0.4).explain())"),
    Status.FALLS_APART: (
        "Let the bandwidth vary from place to place",
        "print(geolap.select_bandwidth(X, local_scale=10).explain())",
    ),
    Status.NO_LIMIT: ("Ask the geometry instead", "print(geolap.select_bandwidth(X).explain())"),
    Status.RULE: ("Ask the geometry instead", "print(geolap.select_bandwidth(X).explain())"),
}


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
    directions: int = 0  # compared, where the rule is GC itself with more of them


@dataclass(frozen=True)
class Coloring:
    """What colors the points: ``categories`` and each point's position among them, or ``values`` on a scale."""

    title: str
    categories: tuple[str, ...] = ()
    codes: np.ndarray | None = field(default=None, repr=False)
    values: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True)
class MapView:
    """The map at one bandwidth.

    Attributes
    ----------
    factor : str
        Its bandwidth in terms of ε̂.
    bandwidth : float
    rows : ndarray of int (n,)
        The points drawn: those of the largest part of the graph, or the landmarks among them.
    places : ndarray (n, 2)
    ellipses : ndarray (k, n, 2)
        Circles of ``radius`` around some points of the data, as the map shows them.
    radius : float
    components : int
        Parts of the graph.
    remark : str
        What was left out, or went wrong.
    """

    factor: str
    bandwidth: float
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, int), repr=False)
    places: np.ndarray = field(default_factory=lambda: np.empty((0, 2)), repr=False)
    ellipses: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 2)), repr=False)
    radius: float = 0.0
    components: int = 0
    remark: str = ""


@dataclass(frozen=True)
class Snippet:
    """Code to copy."""

    title: str
    code: str


@dataclass(frozen=True)
class ReportContent:
    """Everything that a report shows.

    Attributes
    ----------
    name : str
        Of the data.
    answer : str
        One sentence.
    selection : Selection
    snippets : tuple of Snippet
    n_points, n_features : int or None
        None in a page made from the selection alone.
    features : tuple of str
        Names of the columns, where there are any.
    rivals : tuple of Rival
    health : HealthCurve or None
    dimension : DimensionCurve or None
    maps : tuple of MapView
    coloring : Coloring or None
    remarks : dict
        For a part of the report ("rivals", "maps", …), a sentence on what is missing or estimated.
    """

    name: str
    answer: str
    selection: Selection
    snippets: tuple[Snippet, ...]
    n_points: int | None = None
    n_features: int | None = None
    features: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()
    health: HealthCurve | None = None
    dimension: DimensionCurve | None = None
    maps: tuple[MapView, ...] = ()
    coloring: Coloring | None = None
    remarks: dict[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The figures below the answer, each with what it is."""
        selection, facts = self.selection, []
        if selection.interval is not None:
            what = "range of scales" if selection.method == "clmr" else "95 % interval"
            facts.append((what, f"{selection.interval[0]:.4g} – {selection.interval[1]:.4g}"))
        if self.health is not None:
            at, median = np.log(self.health.bandwidths), np.log(self.health.effective_neighbors[:, 2])
            facts.append(("neighbors (median)", f"{np.exp(np.interp(np.log(selection.bandwidth), at, median)):.3g}"))
        if selection.bound is not None:
            facts.append(("local up to ε", f"{selection.bound:.4g}"))
        if self.vote[0]:
            facts.append(("dimension at ε̂", str(self.vote[0])))
        return *facts, ("gamma in scikit-learn", f"{convert_bandwidth(selection.bandwidth, target='gamma'):.4g}")

    @property
    def vote(self) -> tuple[int, float]:
        """The dimension at the bandwidth next to ε̂ and the share of votes for it; 0 where nothing is known."""
        return (0, 0.0) if self.dimension is None else _vote(self.dimension, self.selection.bandwidth)


def _vote(dimension, bandwidth):
    at = np.abs(np.log(dimension.bandwidths / bandwidth)).argmin()
    return int(dimension.votes[at]), float(dimension.shares[at])


def content_of_selection(selection, *, name=None) -> ReportContent:
    """What can be said without the points: the curve, neighbors of the evaluation points, code."""
    name = _name(name)
    return ReportContent(name, _answer(selection, name), selection, _snippets(selection), health=_known_health(selection))


def content_of(X, *, selection=None, comparison=None, labels=None, name=None, random_state=None) -> ReportContent:
    """All that a report says about the points X; what is not given is computed."""
    points = Points.of(X).host
    n, r = points.shape
    given = None if labels is None else _labels(labels, n)
    if selection is None:
        selection = GeometricConsistency(random_state=random_state).fit(X).selection_
    seed = int(check_random_state(random_state).randint(2**31))
    name = _name(name)
    remarks: dict[str, str] = {}
    if comparison is not None:
        rivals = tuple(_rival(row) for row in comparison)
    else:
        rivals = tuple(_ask(points, method, seed) for method, most in _RIVALS.items() if n <= most)
        left_out = [method for method, most in _RIVALS.items() if n > most]
        if left_out:
            remarks["rivals"] = (
                f"Not asked, because they would take long with {n} points: {', '.join(left_out)}. Pass "
                "comparison=geolap.compare_bandwidths(X) if you have the time."
            )
    rivals = tuple(rival for rival in rivals if rival.method != selection.method)
    scales = selection.details.get("scanned", selection.bandwidths)
    if len(scales) > _MOST_SCALES:
        scales = np.geomspace(scales[0], scales[-1], _MOST_SCALES)
    random = np.random.default_rng(seed)
    some = points
    if n > _MOST_POINTS_OF_SPECTRUM:
        some = points[np.sort(random.choice(n, _MOST_POINTS_OF_SPECTRUM, replace=False))]
        remarks["dimension"] = f"From a random {_MOST_POINTS_OF_SPECTRUM} of the {n} points."
    dimension = dimension_curve(some, scales, random_state=seed)
    more = _with_more_directions(points, selection, _vote(dimension, selection.bandwidth)[0], seed)
    maps, density = _maps(points, selection.bandwidth, seed, remarks)
    if _pulled(maps):
        remarks["outliers"] = (
            "At ε̂ the first coordinates single out a few points that are far from all others, as eigenmaps of data with "
            "outliers do. A larger bandwidth hides them, and the finer geometry with them; one that varies from place to "
            "place does not: the code is below."
        )
    return ReportContent(
        name=name,
        answer=_answer(selection, name),
        selection=selection,
        snippets=_snippets(selection, given, maps, more),
        n_points=n,
        n_features=r,
        features=tuple(str(column) for column in getattr(X, "columns", ())),
        rivals=(*more, *rivals),
        health=health_curve(points, scales, random_state=seed),
        dimension=dimension,
        maps=maps,
        coloring=_density(density) if given is None else _coloring(given),
        remarks=remarks,
    )


def _name(name):
    return "these points" if name is None else str(name)


def _answer(selection, name):
    return _ANSWERS[selection.status].format(f"{selection.bandwidth:.4g}", name)


def _snippets(selection, labels=None, maps=(), more=()):
    bandwidth, gamma = f"{selection.bandwidth:.6g}", convert_bandwidth(selection.bandwidth, target="gamma")
    clusters = 8 if labels is None or labels.dtype.kind == "f" else min(len(set(labels.tolist()) - {None}), _MOST_CATEGORIES)
    title, again = _AGAIN[selection.status]
    remedy = Snippet(
        "Map the data without the pull of outliers",
        "import geolap\n\neigenmap = geolap.LaplacianEigenmap(local_scale=10).fit(X)  # a bandwidth that varies\n"
        "embedding = eigenmap.embedding_",
    )
    return (
        Snippet(
            "Build with this bandwidth",
            f"import geolap\n\nbandwidth = {bandwidth}\n"
            "laplacian = geolap.GraphLaplacian(bandwidth).fit(X).laplacian_\n"
            "embedding = geolap.LaplacianEigenmap(n_components=2, bandwidth=bandwidth).fit_transform(X)",
        ),
        Snippet(
            "Use it in scikit-learn",
            "from sklearn.cluster import SpectralClustering\n\n"
            f"gamma = {gamma:.6g}  # exp(−gamma d²) = exp(−d²/ε²)\n"
            f'clusters = SpectralClustering(n_clusters={max(clusters, 2)}, affinity="rbf", gamma=gamma).fit_predict(X)',
        ),
        *([remedy] if _pulled(maps) else []),
        *(
            Snippet(
                "Compare as many directions as the data has",
                f"import geolap\n\nselection = geolap.select_bandwidth(X, working_dim={rival.directions})\n"
                "print(selection.explain())",
            )
            for rival in more
        ),
        Snippet(title, f"import geolap\n\n{again}"),
    )


def _pulled(maps):
    """Whether outliers take the first coordinates of the map at ε̂."""
    return any("a few points" in view.remark for view in maps if view.factor == "ε̂")


def _known_health(selection):
    """Neighbors of the evaluation points, as far as the selection remembers them."""
    if not {"effective_neighbors", "share", "scanned"} <= set(selection.details):
        return None
    effective, share = selection.details["effective_neighbors"], selection.details["share"]
    return HealthCurve(
        bandwidths=selection.details["scanned"],
        n_points=round(float(np.median(effective[:, -1]) / share[-1])),
        components=None,
        largest_component=None,
        isolated=(effective < 1.0002).mean(axis=0),  # neighbors of weight 1e-4 together: none within 3ε
        effective_neighbors=np.quantile(effective, (0.0, 0.25, 0.5, 0.75, 1.0), axis=0).T,
    )


def _with_more_directions(points, selection, dimension, seed):
    """What GC says when it compares as many directions as the data has at ε̂, if those are more than it compared."""
    compared = selection.details.get("working_dim", dimension)
    if selection.method != "gc" or not compared < dimension < points.shape[1] or len(points) > _MOST_ASKED:
        return ()
    method = f"gc, d' = {dimension}"
    try:
        other = GeometricConsistency(working_dim=dimension, random_state=seed).fit(points).selection_
    except _FAILURES as error:
        return (Rival(method, None, remark=str(error), directions=dimension),)
    return (Rival(method, other.bandwidth, other.interval, remark=str(other.status), directions=dimension),)


def _ask(points, method, seed):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            (row,) = compare_bandwidths(points, [method], random_state=seed)
        except _FAILURES as error:
            return Rival(method, None, remark=str(error))
    return _rival(row, *(str(warning.message) for warning in heard))


def _rival(row: ComparisonRow, *warned):
    selection, health = row.selection, row.health
    return Rival(
        method=selection.method,
        bandwidth=selection.bandwidth,
        interval=selection.interval,
        neighbors=health.effective_neighbors[2],
        components=health.components,
        isolated=health.isolated,
        seconds=row.seconds,
        remark=" ".join([str(selection.status), *dict.fromkeys(warned)]),
    )


def _maps(points, bandwidth, seed, remarks):
    """Maps at half, once and twice the bandwidth, and the density of the points at it, NaN where it is not known."""
    n = len(points)
    density = np.full(n, np.nan)
    landmarks = None
    if n > _LANDMARKS:
        landmarks = _LANDMARKS
        seconds = 3 * forecast(points.shape, "map", n_landmarks=landmarks).seconds
        if seconds > _MOST_SECONDS:
            remarks["maps"] = (
                f"Three maps of {n} points would take about {seconds / 60:.0f} minutes, and were left out: "
                "geolap.LaplacianEigenmap(bandwidth=…, n_landmarks=2000).fit(X) makes one."
            )
            return (), density
        remarks["maps"] = f"{landmarks} of the {n} points carry the maps, and are drawn."
    views = {}
    for factor, times in (("ε̂", 1.0), ("ε̂/2", 0.5), ("2ε̂", 2.0)):  # the first is the one that the others are turned to
        model = LaplacianEigenmap(
            min(_COORDINATES, n - 1),
            bandwidth=times * bandwidth,
            disconnected="separate",
            n_landmarks=landmarks,
            eigen_solver="dense",
            random_state=seed,
        )
        # Matrices this small are solved faster by one thread where others want the cores too.
        with warnings.catch_warnings(), one_blas_thread:
            warnings.simplefilter("ignore")
            try:
                model.fit(points)
            except _FAILURES as error:
                views[factor] = MapView(factor, times * bandwidth, remark=str(error))
                continue
        if factor == "ε̂":
            density[slice(None) if landmarks is None else model.landmarks_] = model.graph_.degrees
        views[factor] = _view(factor, model, views.get("ε̂"))
    return (views["ε̂/2"], views["ε̂"], views["2ε̂"]), density


def _view(factor, model, reference):
    """The largest part of a graph on its map, turned towards the reference so that the eye compares like with like."""
    graph, components = model.graph_, model.n_graph_components_
    carriers = np.arange(graph.n_points) if model.landmarks_ is None else model.landmarks_
    part = np.flatnonzero(model.component_labels_ == 0)
    rows = carriers[part]
    coordinates = model.embedding_[rows].astype(float)
    chosen, remark = _spread_out(coordinates)
    if components > 1:
        remark = f"The graph has {components} parts; the largest is drawn, {len(part) / graph.n_points:.0%} of it. {remark}"
    places = coordinates[:, chosen]
    places = places - places.mean(axis=0)
    if reference is not None:
        places = places @ _turn(rows, places, reference)
    ellipses, radius = indicatrices(places, dual_metric_of_map(places, graph.restricted(part).laplacian()))
    if radius > _WIDEST * graph.bandwidth:  # the map is flat nearly everywhere
        ellipses, radius = ellipses[:0], 0.0
    return MapView(factor, graph.bandwidth, rows, places, ellipses, radius, components, remark)


def _spread_out(coordinates):
    """Two coordinates that are not those of a few points alone, and a sentence if they are not the first two."""
    coordinates = coordinates - coordinates.mean(axis=0)
    squares = coordinates**2
    with np.errstate(invalid="ignore"):
        spread = squares.mean(axis=0) ** 2 / (squares**2).mean(axis=0)
    found = np.flatnonzero(spread >= _LEAST_SPREAD)[:2]
    if len(found) < 2:
        found = np.sort(np.argsort(-np.nan_to_num(spread), kind="stable")[:2])
        return np.resize(found, 2), "Every coordinate singles out a few points."
    first, second = found
    remark = "" if second == 1 else f"Coordinates {first + 1} and {second + 1}; those before single out a few points."
    return found, remark


def _turn(rows, places, reference):
    """The rotation that brings places closest to those of the same rows in the reference."""
    _, here, there = np.intersect1d(rows, reference.rows, return_indices=True)
    if not len(here):
        return np.eye(2)
    one, other = places[here], reference.places[there]
    return orthogonal_procrustes(one - one.mean(axis=0), other - other.mean(axis=0))[0]


def _labels(labels, n):
    """Labels as an array of n floats (NaN where missing), or of n strings or None."""
    y = np.asarray(labels)
    if y.shape != (n,) and y.size == n and y.ndim == 2:
        y = y.ravel()
    if y.shape != (n,):
        raise ValueError(f"There must be one label for each of the {n} points; shape {y.shape} was given: pass a column.")
    numbers = y.dtype.kind in "iuf"
    if numbers:
        y = np.where(np.isfinite(y), y, np.nan)
    missing = np.array([_is_missing(label) for label in y.tolist()])
    distinct = set(y[~missing].tolist())
    if numbers and (len(distinct) > _MOST_CATEGORIES or not all(float(value).is_integer() for value in distinct)):
        return y
    return np.array([None if gone else f"{v:g}" if numbers else str(v) for gone, v in zip(missing, y.tolist(), strict=True)])


def _is_missing(label):
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


def _coloring(labels):
    if labels.dtype.kind == "f":
        return Coloring("label", values=labels)
    names, counts = np.unique([label for label in labels if label is not None], return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")][:_MOST_CATEGORIES].tolist()
    categories = sorted(kept, key=lambda label: (_number(label) is None, _number(label), label))
    position = {label: k for k, label in enumerate(categories)}
    if len(names) > len(kept):
        categories.append(_OTHER)
    codes = np.array([-1 if label is None else position.get(label, len(kept)) for label in labels])
    if (codes < 0).any():
        codes[codes < 0] = len(categories)
        categories.append(_NO_LABEL)
    return Coloring("label", tuple(categories), codes)


def _number(label):
    try:
        return float(label)
    except ValueError:
        return None


def _density(degrees):
    """Density in relation to its median, on a log scale."""
    known = degrees[np.isfinite(degrees)]
    if not len(known) or not np.median(known) > 0:
        return None
    with np.errstate(divide="ignore"):
        return Coloring("density, log₂ of its ratio to the median", values=np.log2(degrees / np.median(known)))
