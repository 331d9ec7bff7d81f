"""The map at half, once and twice the bandwidth of its graph: where its points are, and what it does to lengths.

The graph is the one that `geolap.LaplacianEigenmap` builds by default: all pairs where one ε̂ resolves the geometry
everywhere, elsewhere nearest neighbors with local scales and an ε̂ of their own.  Where it is not all pairs, the map of the
paper's graph, all pairs at one ε̂ with λ = 1, stands beside it.  The coordinates that span the data are chosen on the
default graph.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from ...data.points import Points
from ...estimators.base import DENSITY, NEAREST, NEIGHBORS, near_alone
from ...estimators.coordinates import Choice, IndependentCoordinates, known_dimension
from ...estimators.maps import LaplacianEigenmap
from ...estimators.riemannian import dual_metric_of_map
from ...forecasting import forecast
from ...graphs.neighbors import nearest_distances
from ...graphs.scale import neighbor_scale
from ...runtime.progress import begin
from ...runtime.threads import one_blas_thread
from ...selection import Selection, Verdict
from ..circles import indicatrices
from ..coloring import Coloring, relative_coloring

__all__ = ["DRAWN", "FAILURES", "MOST_OF_NEIGHBORS", "MapView", "Maps", "map_views", "panel"]

# Up to this many points are drawn, and carry the maps over all pairs, as landmarks if there are more; over nearest neighbors
# all points do, up to so many.  No maps if three took longer than these seconds.
DRAWN, MOST_OF_NEIGHBORS, _MOST_SECONDS = 2000, 20_000, 120.0
# Of this many coordinates, the first two that are spread over at least this share of the points are drawn: smooth functions
# are over a third or more, those that only single out a few outliers over next to none.  And candidates for coordinates.
_COORDINATES, _LEAST_SPREAD, _CANDIDATES = 12, 0.05, 20
_WIDEST = 10.0  # radius of the circles drawn, in bandwidths
_FACTORS = (0.5, 1.0, 2.0)
# A panel leaves out this share of the points at either end of a coordinate, or one, if all make it so much wider.
# It has a margin, one scale for both coordinates unless one is so much longer, and no ellipse longer than a fifth of it.
_TAIL, _ROOM, _MARGIN, _OBLONG, _LONGEST = 0.02, 2.0, 1.12, 2.0, 0.2
# A part that cannot be had leaves its sentence; a report has others.
FAILURES = (ValueError, ArithmeticError, MemoryError, RuntimeError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class MapView:
    """The map at one bandwidth.

    Attributes
    ----------
    factor : float
        Its bandwidth in relation to that of the graph.
    bandwidth : float
    rows : ndarray of int (n,)
        The points drawn: those of the largest component of the graph, some of them if there are many.
    places : ndarray (n, 2)
    center : ndarray (2,)
        Of the panel.
    sides : ndarray (2,)
        Width and height of the panel, which is drawn as a square.
    ellipses : ndarray (k, m, 2)
        Circles of ``radius`` around some points of the data, as the map shows them.
    clipped : ndarray of bool (k,)
        Those that are drawn smaller than they are.
    radius : float
    components : int
        Of the graph.
    pulled : bool
        Whether the first coordinates single out a few points, so that others are drawn.
    remark : str
        What was left out, or went wrong.
    """

    factor: float
    bandwidth: float
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, int), repr=False)
    places: np.ndarray = field(default_factory=lambda: np.empty((0, 2)), repr=False)
    center: np.ndarray = field(default_factory=lambda: np.zeros(2), repr=False)
    sides: np.ndarray = field(default_factory=lambda: np.ones(2), repr=False)
    ellipses: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 2)), repr=False)
    clipped: np.ndarray = field(default_factory=lambda: np.empty(0, bool), repr=False)
    radius: float = 0.0
    components: int = 0
    pulled: bool = False
    remark: str = ""

    @property
    def inside(self) -> np.ndarray:
        """Which points lie in the panel."""
        return _inside(self.places, self.center, self.sides)


@dataclass(frozen=True)
class Maps:
    """Maps at three bandwidths of one graph.

    Attributes
    ----------
    views : tuple of MapView
        Empty if they would take long.
    graph : str
        Which graph it is, and why.
    remark : str
        What was left out.
    coloring : Coloring or None
        How dense the points are.
    neighbors : dict or None
        The graph as parameters, if it joins nearest neighbors alone, with local scales.
    bandwidth : float or None
        ε̂ of the graph.
    paper : MapView or None
        The map of the paper's graph at its own ε̂, if that is another graph.
    independence : IndependentCoordinates or None
        Which coordinates of the map at ε̂ span the data.
    """

    views: tuple[MapView, ...] = ()
    graph: str = ""
    remark: str = ""
    coloring: Coloring | None = None
    neighbors: dict[str, Any] | None = field(default=None, repr=False)
    bandwidth: float | None = None
    paper: MapView | None = None
    independence: IndependentCoordinates | None = None

    @property
    def chosen(self) -> MapView | None:
        """The map at ε̂."""
        return next((view for view in self.views if view.factor == 1.0), None)


def map_views(points: Points, selection: Selection, seed: int) -> Maps:
    """Maps of the graph that `geolap.LaplacianEigenmap` builds by default, or over landmarks where that would take long."""
    n = len(points)
    wanted = near_alone(selection, n)
    near = wanted and n <= MOST_OF_NEIGHBORS
    all_pairs: dict[str, Any] = {"n_neighbors": None, "n_landmarks": DRAWN if n > DRAWN else None}
    try:
        graph = _neighbors_of(points) if near else all_pairs
    except FAILURES as error:
        return Maps(remark=f"The maps were left out. {error}")
    remark = ""
    if near and n > DRAWN:
        remark = f"{DRAWN} of the {n} points are drawn."
    elif n > DRAWN:
        seconds = 3 * forecast(points.shape, "map", n_landmarks=DRAWN).seconds
        if seconds > _MOST_SECONDS:
            remark = (
                f"Three maps of {n} points would take about {seconds / 60:.0f} minutes, and were left out: "
                "geolap.LaplacianEigenmap(bandwidth=…, n_landmarks=2000).fit(X) makes one."
            )
            return Maps(remark=remark)
        remark = f"The maps use {DRAWN} of the {n} points, which are drawn."
    if wanted and not near:
        remark += " geolap.LaplacianEigenmap() uses nearest neighbors of all points instead, which takes longer."
    views: dict[float, MapView] = {}
    bandwidth, coloring, independence = None if near else selection.bandwidth, None, None
    order = np.random.default_rng(seed).permutation(n)  # of points to draw, the same in all maps
    for times in (1.0, 0.5, 2.0):  # the first is the one that the others are turned to
        begin(f"report: map at {times:g} ε̂")
        try:
            model = _fitted(points, "gc" if bandwidth is None else times * bandwidth, graph, seed)
        except FAILURES as error:
            if bandwidth is None:
                return Maps(remark=f"The maps were left out. {error}")
            views[times] = MapView(times, times * bandwidth, remark=str(error))
            continue
        if times == 1.0:
            bandwidth, coloring = model.bandwidth_, _density(model, n)
            independence = _independence(model, model.selection_ or selection)
        views[times] = _view(times, model, views.get(1.0), order)
    paper = None
    if near:
        begin("report: map of all pairs")
        try:
            paper = _view(1.0, _fitted(points, selection.bandwidth, all_pairs, seed), views.get(1.0), order)
        except FAILURES as error:
            paper = MapView(1.0, selection.bandwidth, remark=str(error))
    return Maps(
        views=tuple(views[times] for times in _FACTORS),
        graph=_which_graph(selection, near, wanted),
        remark=remark.strip(),
        coloring=coloring,
        neighbors=graph if near else None,
        bandwidth=bandwidth,
        paper=paper,
        independence=independence,
    )


def _fitted(points: Points, bandwidth: float | str, graph: dict[str, Any], seed: int) -> LaplacianEigenmap:
    sparse = "neighbors" in graph and len(points) > DRAWN
    model = LaplacianEigenmap(
        min(_CANDIDATES, len(points) - 1),
        bandwidth=bandwidth,
        disconnected="separate",
        # Directly if that is fast: at ε̂/2 a graph may be barely connected, where iterations stall.
        eigen_solver="auto" if sparse else "dense",
        random_state=seed,
        **graph,
    )
    # Matrices this small are solved faster by one thread where others want the cores too.
    with warnings.catch_warnings(), one_blas_thread:
        warnings.simplefilter("ignore")
        return model.fit(points)


def _neighbors_of(points: Points) -> dict[str, Any]:
    """The default graph of nearest neighbors as parameters, searched once for all maps and clusters."""
    return {
        "n_neighbors": None,
        "neighbors": nearest_distances(points, NEIGHBORS),
        "local_scale": neighbor_scale(points, NEAREST),
        "renormalization": DENSITY,
    }


def _independence(model: LaplacianEigenmap, selection: Selection) -> IndependentCoordinates | None:
    """Which coordinates span the data, or its largest component."""
    rows = slice(None) if model.landmarks_ is None else model.landmarks_
    try:
        choice = Choice(model.embedding_[rows].astype(float), model.graph_, model.component_labels_)
        return choice.made(told=known_dimension(selection))
    except FAILURES:
        return None


def _which_graph(selection: Selection, near: bool, wanted: bool) -> str:
    """The graph of the maps and why it is that, in a sentence."""
    if wanted:
        why = {
            Verdict.NEAREST_NEIGHBORS: "over all pairs, neighborhoods at ε̂ have too few points to carry tangent planes",
            Verdict.NOT_FOUND: "over all pairs, no bandwidth stands out",
            Verdict.RESOLVED: "over all pairs, sparse parts of the data have almost no neighbors at ε̂",
        }[selection.verdict]
        if near:
            return (
                f"The graph joins each point with its {NEIGHBORS} nearest neighbors, with local scales by the {NEAREST}th: "
                f"{why}. It has its own ε̂."
            )
        return f"The graph joins all pairs of landmarks, although {why}."
    if selection.even:
        return "The graph joins all pairs: one ε̂ resolves the geometry everywhere."
    return "The graph joins all pairs" + (": there are few points." if selection.by_consistency else ", at the rule's ε̂.")


def _density(model: LaplacianEigenmap, n: int) -> Coloring | None:
    """Colors by the degrees of the graph, or by its local scales, with which degrees are alike everywhere."""
    values, graph, local = np.full(n, np.nan), model.graph_, model.local_scale is not None
    values[slice(None) if model.landmarks_ is None else model.landmarks_] = graph.bandwidths if local else graph.degrees
    return relative_coloring(f"distance to the {NEAREST}th neighbor" if local else "density", values)


def _view(factor: float, model: LaplacianEigenmap, reference: MapView | None, order: np.ndarray) -> MapView:
    """The largest component of a graph on its map, turned toward the reference so that the eye compares like with like."""
    graph, components = model.graph_, model.n_graph_components_
    carriers = np.arange(graph.n_points) if model.landmarks_ is None else model.landmarks_
    largest = np.flatnonzero(model.component_labels_ == 0)
    rows = carriers[largest]
    coordinates = model.embedding_[rows].astype(float)
    drawn, spread = _spread_out(coordinates[:, :_COORDINATES])
    pulled = bool(not spread or drawn[1] != 1)
    remarks = []
    if components > 1:
        share = len(largest) / graph.n_points
        remarks.append(f"The graph has {components} components; the largest is drawn, {share:.0%} of it.")
    if not spread:
        remarks.append("Every coordinate singles out a few points.")
    elif pulled:
        remarks.append(f"Coordinates {drawn[0] + 1} and {drawn[1] + 1}; earlier ones single out a few points.")
    places = coordinates[:, drawn]
    places = places - places.mean(axis=0)
    if reference is not None:
        places = places @ _turn(rows, places, reference)
    dual = dual_metric_of_map(places, graph.restricted(largest).metric_laplacian())
    shown = np.sort(np.argsort(np.argsort(order)[rows])[:DRAWN])
    rows, places, dual = rows[shown], places[shown], dual[shown]
    center, sides = panel(places)
    inside = _inside(places, center, sides)
    if not inside.all():
        remarks.append(f"{(~inside).sum()} of {len(places)} points lie outside the panel; a double click shows them.")
    if sides[0] != sides[1]:
        remarks.append("The axes have different scales.")
    # Ellipses as the panel shows them, with sides of length 1.
    ellipses, radius = indicatrices((places[inside] - center) / sides, dual[inside] / np.outer(sides, sides))
    if radius > _WIDEST * graph.bandwidth:  # the map is flat nearly everywhere
        ellipses, radius = ellipses[:0], 0.0
    ellipses, clipped = _clipped(ellipses)
    return MapView(
        factor=factor,
        bandwidth=graph.bandwidth,
        rows=rows,
        places=places,
        center=center,
        sides=sides,
        ellipses=center + sides * ellipses,
        clipped=clipped,
        radius=radius,
        components=components,
        pulled=pulled,
        remark=" ".join(remarks),
    )


def panel(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Center and sides of a panel around the points, all but those at the ends if a few there would squeeze the others."""
    ordered = np.sort(places, axis=0)
    low, high = ordered[0], ordered[-1]
    if len(places) > 2 * NEIGHBORS:
        tail = max(1, int(_TAIL * len(places)))
        inner = ordered[-1 - tail] - ordered[tail]
        squeezed = (inner > 0.0) & (_ROOM * inner < high - low)
        low, high = np.where(squeezed, ordered[tail], low), np.where(squeezed, ordered[-1 - tail], high)
    sides = _MARGIN * np.maximum(high - low, np.finfo(float).tiny)
    alike = sides.max() <= _OBLONG * sides.min() or not (high > low).all()
    return 0.5 * (low + high), np.full(2, sides.max()) if alike else sides


def _inside(places: np.ndarray, center: np.ndarray, sides: np.ndarray) -> np.ndarray:
    return (np.abs(places - center) <= 0.5 * sides).all(axis=1)


def _clipped(ellipses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ellipses that are not too long for a panel with sides of length 1, and which of them were longer."""
    centers = ellipses[:, :-1].mean(axis=1, keepdims=True)  # the last point is the first
    length = 2.0 * np.sqrt(((ellipses - centers) ** 2).sum(axis=2).max(axis=1))
    shrunk = _LONGEST / np.maximum(length, _LONGEST)
    return centers + shrunk[:, None, None] * (ellipses - centers), shrunk < 1.0


def _spread_out(coordinates: np.ndarray) -> tuple[np.ndarray, bool]:
    """The first two coordinates that are not those of a few points only, and whether there are two such."""
    coordinates = coordinates - coordinates.mean(axis=0)
    squares = coordinates**2
    with np.errstate(invalid="ignore"):
        spread = squares.mean(axis=0) ** 2 / (squares**2).mean(axis=0)
    found = np.flatnonzero(spread >= _LEAST_SPREAD)[:2]
    if len(found) == 2:
        return found, True
    return np.resize(np.sort(np.argsort(-np.nan_to_num(spread), kind="stable")[:2]), 2), False


def _turn(rows: np.ndarray, places: np.ndarray, reference: MapView) -> np.ndarray:
    """The rotation that brings places closest to those of the same rows in the reference."""
    _, here, there = np.intersect1d(rows, reference.rows, return_indices=True)
    if not len(here):
        return np.eye(2)
    one, other = places[here], reference.places[there]
    return orthogonal_procrustes(one - one.mean(axis=0), other - other.mean(axis=0))[0]
