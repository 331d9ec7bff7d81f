"""The map at half, once and twice the bandwidth: where its points are, and what it does to lengths."""

import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import orthogonal_procrustes

from ...estimators.maps import LaplacianEigenmap
from ...estimators.riemannian import dual_metric_of_map, indicatrices
from ...forecasting import forecast
from ...threads import one_blas_thread

__all__ = ["FAILURES", "MapView", "map_views"]

# Up to this many points carry the maps, landmarks if there are more; no maps if three took longer than these seconds.
# Eigenvectors are found directly: at ε̂/2 a graph may be barely connected, where iterations stall.
_LANDMARKS, _MOST_SECONDS = 2000, 120.0
# Of this many coordinates, the first two that are spread over at least this share of the points are drawn: smooth functions
# are over a third or more, those that only single out a few outliers over next to none.
_COORDINATES, _LEAST_SPREAD = 12, 0.05
_WIDEST = 10.0  # radius of the circles drawn, in bandwidths
_FACTORS = (0.5, 1.0, 2.0)
# A part that cannot be had leaves its sentence; a report has others.
FAILURES = (ValueError, ArithmeticError, MemoryError, RuntimeError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class MapView:
    """The map at one bandwidth.

    Attributes
    ----------
    factor : float
        Its bandwidth in relation to ε̂.
    bandwidth : float
    rows : ndarray of int (n,)
        The points drawn: those of the largest component of the graph, or the landmarks among them.
    places : ndarray (n, 2)
    ellipses : ndarray (k, n, 2)
        Circles of ``radius`` around some points of the data, as the map shows them.
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
    ellipses: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 2)), repr=False)
    radius: float = 0.0
    components: int = 0
    pulled: bool = False
    remark: str = ""


def map_views(points: np.ndarray, bandwidth: float, seed: int) -> tuple[tuple[MapView, ...], np.ndarray, str]:
    """Maps at three bandwidths, the density of the points at the middle one (NaN where not known), and a remark."""
    n = len(points)
    density = np.full(n, np.nan)
    landmarks, remark = None, ""
    if n > _LANDMARKS:
        landmarks = _LANDMARKS
        seconds = 3 * forecast(points.shape, "map", n_landmarks=landmarks).seconds
        if seconds > _MOST_SECONDS:
            remark = (
                f"Three maps of {n} points would take about {seconds / 60:.0f} minutes, and were left out: "
                "geolap.LaplacianEigenmap(bandwidth=…, n_landmarks=2000).fit(X) makes one."
            )
            return (), density, remark
        remark = f"{landmarks} of the {n} points carry the maps, and are drawn."
    views: dict[float, MapView] = {}
    for times in (1.0, 0.5, 2.0):  # the first is the one that the others are turned to
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
            except FAILURES as error:
                views[times] = MapView(times, times * bandwidth, remark=str(error))
                continue
        if times == 1.0:
            density[slice(None) if landmarks is None else model.landmarks_] = model.graph_.degrees
        views[times] = _view(times, model, views.get(1.0))
    return tuple(views[times] for times in _FACTORS), density, remark


def _view(factor: float, model: LaplacianEigenmap, reference: MapView | None) -> MapView:
    """The largest component of a graph on its map, turned toward the reference so that the eye compares like with like."""
    graph, components = model.graph_, model.n_graph_components_
    carriers = np.arange(graph.n_points) if model.landmarks_ is None else model.landmarks_
    largest = np.flatnonzero(model.component_labels_ == 0)
    rows = carriers[largest]
    coordinates = model.embedding_[rows].astype(float)
    drawn, spread = _spread_out(coordinates)
    pulled = bool(not spread or drawn[1] != 1)
    remark = ""
    if components > 1:
        share = len(largest) / graph.n_points
        remark = f"The graph has {components} components; the largest is drawn, {share:.0%} of it. "
    if not spread:
        remark += "Every coordinate singles out a few points."
    elif pulled:
        remark += f"Coordinates {drawn[0] + 1} and {drawn[1] + 1}; those before single out a few points."
    places = coordinates[:, drawn]
    places = places - places.mean(axis=0)
    if reference is not None:
        places = places @ _turn(rows, places, reference)
    ellipses, radius = indicatrices(places, dual_metric_of_map(places, graph.restricted(largest).metric_laplacian()))
    if radius > _WIDEST * graph.bandwidth:  # the map is flat nearly everywhere
        ellipses, radius = ellipses[:0], 0.0
    return MapView(factor, graph.bandwidth, rows, places, ellipses, radius, components, pulled, remark)


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
