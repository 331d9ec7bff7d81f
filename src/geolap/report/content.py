"""What a report says: points, a `Selection` and labels in, one frozen value with every number and sentence out.

Everything that costs time happens here, and all of it can be missing: a part that is too expensive or fails leaves a
sentence in its place.  How it looks is decided in `geolap.report.page`, which knows no geometry.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.utils import check_random_state

from ..comparison import ComparisonRow, compare_bandwidths
from ..dimension import DimensionCurve, dimension_curve
from ..embedding import LaplacianEigenmap
from ..forecast import forecast
from ..health import HealthCurve, health_curve
from ..kernel import convert_bandwidth
from ..riemannian import dual_metric
from ..selection import Selection, Status
from ..selectors import GeometricConsistency
from ..validation import check_points

__all__ = ["Colouring", "MapView", "ReportContent", "Rival", "Snippet", "content_of", "content_of_selection"]

_RIVALS = ("rec", "bgh", "semigroup", "clmr", "median", "knn")
# Rivals visit all pairs; beyond this many points they are left to the user.
_MOST_POINTS_COMPARED = 20_000
# So many points carry the maps, landmarks if there are more; no maps if three of them took longer than so many seconds.
# Eigenvectors are found directly: at ε̂/2 a graph may hang together by threads, where iterations stall.
_LANDMARKS, _MOST_SECONDS = 2000, 120.0
_MOST_DRAWN = 1500
_MOST_POINTS_OF_SPECTRUM = 10_000
_MOST_SCALES = 40
_MOST_CATEGORIES = 20
_NO_LABEL, _OTHER = "no label", "other"
# Ellipses: one for each occupied cell of a grid over the map, the median one so long in relation to the map.
_ELLIPSE_CELLS, _ELLIPSE_SIZE = 7, 0.045

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
        "import numpy as np\n\nprint(geolap.select_bandwidth(np.unique(X, axis=0)).explain())",
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


@dataclass(frozen=True)
class Colouring:
    """What colours the drawn points: ``categories`` and each point's position among them, or ``values`` on a scale."""

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
    places : ndarray (n_drawn, 2)
    ellipses : ndarray (k, n, 2)
        Circles of ``radius`` around some points of the data, as the map shows them.
    radius : float
    components : int
    remark : str
        What went wrong, if something did.
    """

    factor: str
    bandwidth: float
    places: np.ndarray = field(repr=False)
    ellipses: np.ndarray = field(repr=False)
    radius: float = 0.0
    components: int = 1
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
    drawn : ndarray of int
        Rows of the points on the maps.
    colouring : Colouring or None
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
    drawn: np.ndarray = field(default_factory=lambda: np.empty(0, int), repr=False)
    colouring: Colouring | None = None
    remarks: dict[str, str] = field(default_factory=dict)


def content_of_selection(selection, *, name=None) -> ReportContent:
    """What can be said without the points: the curve, neighbours of the evaluation points, code."""
    name = _name(name)
    return ReportContent(name, _answer(selection, name), selection, _snippets(selection), health=_known_health(selection))


def content_of(X, *, selection=None, comparison=None, labels=None, name=None, random_state=None) -> ReportContent:
    """All that a report says about the points X; what is not given is computed."""
    points = check_points(X)
    n, r = points.shape
    given = None if labels is None else _labels(labels, n)
    seed = int(check_random_state(random_state).randint(2**31))
    if selection is None:
        selection = GeometricConsistency(random_state=seed).fit(X).selection_
    name = _name(name)
    remarks: dict[str, str] = {}
    if comparison is not None:
        rivals = tuple(_rival(row) for row in comparison)
    elif n <= _MOST_POINTS_COMPARED:
        rivals = tuple(_ask(points, method, seed) for method in _RIVALS)
    else:
        rivals = ()
        remarks["rivals"] = (
            f"Other rules look at all pairs, which are too many among {n} points: pass "
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
    drawn = np.sort(random.choice(n, min(n, _MOST_DRAWN), replace=False))
    maps, density = _maps(points, selection.bandwidth, drawn, seed, remarks)
    colouring = None
    if maps:
        colouring = _density(density) if given is None else _colouring(given, drawn)
        if n > len(drawn):
            remarks.setdefault("maps", f"{len(drawn)} of the {n} points are drawn.")
    return ReportContent(
        name=name,
        answer=_answer(selection, name),
        selection=selection,
        snippets=_snippets(selection, given),
        n_points=n,
        n_features=r,
        features=tuple(str(column) for column in getattr(X, "columns", ())),
        rivals=rivals,
        health=health_curve(points, scales, random_state=seed),
        dimension=dimension_curve(some, scales, random_state=seed),
        maps=maps,
        drawn=drawn,
        colouring=colouring,
        remarks=remarks,
    )


def _name(name):
    return "these points" if name is None else str(name)


def _answer(selection, name):
    return _ANSWERS[selection.status].format(f"{selection.bandwidth:.4g}", name)


def _snippets(selection, labels=None):
    bandwidth, gamma = f"{selection.bandwidth:.6g}", convert_bandwidth(selection.bandwidth, target="gamma")
    clusters = 8 if labels is None or labels.dtype.kind == "f" else min(len(set(labels.tolist()) - {None}), _MOST_CATEGORIES)
    title, again = _AGAIN[selection.status]
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
        Snippet(title, f"import geolap\n\n{again}" if not again.startswith("import") else f"import geolap\n{again}"),
    )


def _known_health(selection):
    """Neighbours of the evaluation points, as far as the selection remembers them."""
    if not {"effective_neighbors", "share", "scanned"} <= set(selection.details):
        return None
    effective, share = selection.details["effective_neighbors"], selection.details["share"]
    return HealthCurve(
        bandwidths=selection.details["scanned"],
        n_points=round(float(np.median(effective[:, -1]) / share[-1])),
        components=None,
        largest_component=None,
        isolated=(effective < 1.0002).mean(axis=0),  # neighbours of weight 1e-4 together: none within 3ε
        effective_neighbors=np.quantile(effective, (0.0, 0.25, 0.5, 0.75, 1.0), axis=0).T,
    )


def _ask(points, method, seed):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            (row,) = compare_bandwidths(points, [method], random_state=seed)
        except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
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


def _maps(points, bandwidth, drawn, seed, remarks):
    """Maps at half, once and twice the bandwidth, and the density at the drawn points."""
    n = len(points)
    landmarks = None
    if n > _LANDMARKS:
        landmarks = _LANDMARKS
        seconds = 3 * forecast(points.shape, "map", n_landmarks=landmarks).seconds
        if seconds > _MOST_SECONDS:
            remarks["maps"] = (
                f"Three maps of {n} points would take about {seconds / 60:.0f} minutes, and were left out: "
                "geolap.LaplacianEigenmap(bandwidth=…, n_landmarks=2000).fit(X) makes one."
            )
            return (), None
        remarks["maps"] = f"{landmarks} landmarks carry the maps; {len(drawn)} of the {n} points are drawn."
    fitted = {}
    views = []
    for factor, times in (("ε̂", 1.0), ("ε̂/2", 0.5), ("2ε̂", 2.0)):
        eps = times * bandwidth
        model = LaplacianEigenmap(2, bandwidth=eps, n_landmarks=landmarks, eigen_solver="dense", random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they would say is told by the number of components
            try:
                fitted[factor] = model.fit(points)
            except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
                views.append(MapView(factor, eps, np.empty((0, 2)), np.empty((0, 0, 2)), components=0, remark=str(error)))
                continue
        turn = _turn(model, fitted.get("ε̂", model), drawn)
        views.append(_view(factor, eps, model, turn, drawn))
    views[0], views[1] = views[1], views[0]
    whole = landmarks is None and "ε̂" in fitted
    return tuple(views), fitted["ε̂"].graph_.degrees[drawn] if whole else None


def _turn(model, reference, drawn):
    """The rotation that brings a map closest to another, so that the eye compares like with like."""
    one, other = (m.embedding_[drawn].astype(float) for m in (model, reference))
    return orthogonal_procrustes(one - one.mean(axis=0), other - other.mean(axis=0))[0]


def _view(factor, eps, model, turn, drawn):
    places = model.embedding_[drawn] @ turn
    components = model.n_graph_components_
    if components > 1:
        parts = f"{components} parts" if components > 2 else "two parts"
        what = "the map" if components > 2 else "one coordinate"
        remark = f"The graph has {parts}, and {what} does no more than tell them apart."
        return MapView(factor, eps, places, np.empty((0, 0, 2)), components=components, remark=remark)
    own = slice(None) if model.landmarks_ is None else model.landmarks_
    everywhere = model.embedding_[own] @ turn
    chosen = _spread(everywhere)
    values, vectors = np.linalg.eigh(dual_metric(everywhere, model.graph_.laplacian())[chosen])
    half_axes = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]  # of the image of a unit circle
    longest = np.median(np.linalg.norm(half_axes[:, :, 1], axis=1))
    if not longest > 0:
        return MapView(factor, eps, places, np.empty((0, 0, 2)))
    radius = float(_ELLIPSE_SIZE * np.ptp(places, axis=0).max() / longest)
    angle = np.linspace(0.0, 2.0 * np.pi, 25)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    ellipses = everywhere[chosen, None, :] + radius * np.swapaxes(half_axes @ circle, 1, 2)
    return MapView(factor, eps, places, ellipses, radius)


def _spread(places):
    """Rows of points all over the map: in each cell of a grid, the one nearest to its centre."""
    unit = np.ptp(places, axis=0).max() / _ELLIPSE_CELLS
    cells = (places - places.min(axis=0)) / max(unit, np.finfo(float).tiny)
    off_centre = ((cells - np.floor(cells) - 0.5) ** 2).sum(axis=1)
    order = np.argsort(off_centre, kind="stable")
    return order[np.unique(np.floor(cells[order]), axis=0, return_index=True)[1]]


def _labels(labels, n):
    """Labels as an array of n floats (NaN where missing), or of n strings or None."""
    y = np.asarray(labels)
    if y.shape != (n,) and y.size == n and y.ndim == 2:
        y = y.ravel()
    if y.shape != (n,):
        raise ValueError(f"There must be one label for each of the {n} points; shape {y.shape} was given: pass a column.")
    missing = np.array([label is None or bool(label != label) is True for label in y.tolist()])
    distinct = set(y[~missing].tolist())
    numbers = y.dtype.kind in "biuf" and y.dtype.kind != "b"
    if numbers and (len(distinct) > _MOST_CATEGORIES or any(value != int(value) for value in distinct)):
        return y.astype(float)
    return np.array([None if gone else f"{v:g}" if numbers else str(v) for gone, v in zip(missing, y.tolist(), strict=True)])


def _colouring(labels, drawn):
    if labels.dtype.kind == "f":
        return Colouring("label", values=labels[drawn])
    names, counts = np.unique([label for label in labels if label is not None], return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")][:_MOST_CATEGORIES].tolist()
    categories = sorted(kept, key=lambda label: (_number(label) is None, _number(label), label))
    position = {label: k for k, label in enumerate(categories)}
    if len(names) > len(kept):
        categories.append(_OTHER)
    words = [label if label is None else position.get(label, len(kept)) for label in labels[drawn]]
    if None in words:
        categories.append(_NO_LABEL)
    codes = np.array([len(categories) - 1 if word is None else word for word in words])
    return Colouring("label", tuple(categories), codes)


def _number(label):
    try:
        return float(label)
    except ValueError:
        return None


def _density(density):
    """Density in relation to its median, on a log scale; none where a graph has landmarks only."""
    if density is None:
        return None
    positive = np.maximum(density, 1.0)  # a point's own weight
    return Colouring("density (log₂, over its median)", values=np.log2(positive / np.median(positive)))
