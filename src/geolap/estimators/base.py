"""What all estimators on a graph have in common: its parameters, how it is built, and how new points are joined to it."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import wraps
from numbers import Integral
from operator import attrgetter
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..calibration import Calibration
from ..choices import WITH_COORDINATES
from ..data.distances import Distances, Metric, check_distances, checked_metric, points_of
from ..data.points import Points, check_complete, chunks_of, is_chunked, not_finite, on_device, row_keys
from ..graphs.build import BuiltGraph, build_graph, landmark_graph
from ..graphs.calibrate import calibrated
from ..graphs.extension import Extension, extend
from ..graphs.graph import KernelGraph
from ..graphs.skeleton import Skeleton, skeleton_of
from ..graphs.spectrum import graph_components
from ..graphs.strips import Strips
from ..runtime.progress import Spoken, say
from ..selection import Selection, Status, UnresolvedWarning, Verdict
from ..selectors import METHODS, BandwidthSelector, resolve_bandwidth
from ..sentences import Documented, Sentence, refusal, warn_caller
from ..specification import FullSpec, GraphSpec, LocalScaleLike
from ..validation import check_choice, check_number

__all__ = [
    "DENSITY",
    "NEAREST",
    "NEIGHBORS",
    "GraphEstimator",
    "Read",
    "carriers",
    "check_landmarks",
    "distinct_rows",
    "graph_in_words",
    "graph_parameters",
    "in_chunks",
    "mostly_copies",
    "near_alone",
]

_Value = TypeVar("_Value")
_Method = TypeVar("_Method", bound=Callable[..., Any])
_log = logging.getLogger(__name__)

# The graph where one ε̂ does not suit all of the data: neighbors, the one whose distance is the local scale, and λ.
NEIGHBORS, NEAREST, DENSITY = 10, 7, 0.5

# The error of thinning from which on a warning tells it.
_MUCH_ERROR = 0.05
# Relative to the largest, places on a line that differ by more belong to different points.
_APART = 1e-13
# Copies are one neighbor as long as that makes no more pairs than this, or than this many times those without copies.
_MANY_PAIRS, _MORE_PAIRS = 2e6, 4.0

_BANDWIDTH = """    bandwidth : float, str or selector, default "gc"
        ε, the name of a method of `geolap.select_bandwidth`, or a selector.  "gc" selects ε for the graph that is built.
"""
_PARAMETERS = """    renormalization : float, default <λ>
        λ, the power of the degrees divided out of the weights.  1 removes the density of the points, 0 leaves it.
    cutoff : float, optional
        Weights beyond ``cutoff``·ε are zero, and the matrix is sparse; 3 drops weights below 1e-4.  By default there is no
        cut-off up to 5000 points; beyond that it is the smallest that drops at most 1 % of the weight.
    <which neighbors>
    neighbors : transformer or matrix (n_points, n_points), optional
        Join the pairs of points stored in this matrix of distances, or found by the transformer: scikit-learn's
        KNeighborsTransformer, or any other that returns a sparse matrix of distances.  With a matrix, new points are joined
        with all training points.
    n_edges : int, "auto" or "all", default "auto"
        Mean number of edges stored per point if more pairs are within reach: those with much of the weight of either end,
        and a random share of the others, weighted up.  "auto" stores all pairs up to 3·10⁷ entries, and beyond
        that enough edges for eigenvalues to be right to 2 %.  "all" never thins, and raises an error beyond 10⁸ entries.  On
        a GPU its memory sets both limits.
    local_scale : int, "regional" <which scale>
        Local bandwidths ε ρ_i: ρ from the relative distance to the k-th neighbor (`geolap.neighbor_scale`), from geometric
        consistency in each region (`geolap.regional_scale`), or as given.
    calibrate : bool
        Measure how far a walk on the graph goes on the data, divide L by that factor, and take the logarithm of the
        eigenvalues of P: eigenvalues, diffusion times and lengths are then those of the data (see `geolap.Calibration`).
        True by default, but for labels and clusters, which do not depend on the scale of L.
    self_weights : bool, default False
        W_ii = 1 if True, 0 if False.
    metric : str or callable, default "euclidean"
        Distance between points: "cosine", "correlation", another metric of scikit-learn's ``pairwise_distances``, or
        a function of two rows.  With "precomputed", X is a square matrix of distances, dense, or sparse with those to
        nearest neighbors, and ``transform`` and ``predict`` take distances from new points to all points (n, n_points).
    random_state : int, RandomState or None
        For the choice of the bandwidth, and of the edges if not all are stored.
    n_jobs : int, optional
        Number of threads; None and −1 mean all available cores.  Does not change the result.
    verbose : bool or int, default False
        Write the ``logging`` records of "geolap" for this fit, with the time, to standard error.
"""
_NEIGHBORS = """    n_neighbors : <k>
        Join only k-nearest neighbors: two points are joined if either is among the k nearest of the other.  A weighted point
        counts as one neighbor.
"""
_ATTRIBUTES = """    bandwidth_ : float
        ε
    selection_ : Selection or None
        How it was chosen, unless it was given.
    calibration_ : Calibration or None
        The factor with its standard error; None with ``calibrate=False``.
    graph_ : KernelGraph
        Weights, degrees and derived matrices; for points on a GPU, copied to the host on first access.
    cutoff_, n_neighbors_ : float, int or None
        Which pairs the graph stores.
    dropped_weight_ : float or None
        Share of the neighbors' weight in pairs that are not stored, over sampled rows; None if distances were precomputed.
    n_edges_, thinning_error_ : float or None
        If pairs were thinned, the mean number of edges per point, and the theoretical relative error that thinning adds to
        the smallest eigenvalues; None if all pairs are stored.
    n_features_in_ : int
"""


def graph_parameters(
    *,
    renormalization: float = 1.0,
    which_neighbors: str = _NEIGHBORS,
    n_neighbors: str = "int, optional",
    local_scale: str = "or LocalScale, optional",
) -> str:
    """The documentation of the parameters of a graph, of which some have defaults of their own."""
    text = _PARAMETERS.replace("    <which neighbors>\n", which_neighbors).replace("<k>", n_neighbors)
    return text.replace("<λ>", str(renormalization)).replace("<which scale>", local_scale)


class Read(property, Generic[_Value]):
    """An attribute of a fitted estimator: what is found at that path in what ``fit`` keeps."""

    def __init__(self, path: str) -> None:
        super().__init__(attrgetter(path))
        self.__doc__ = None

    def __get__(self, instance: Any, owner: type | None = None) -> _Value:  # type: ignore[override]
        return super().__get__(instance, owner)


def in_chunks(method: _Method) -> _Method:
    """A method of points that answers for a dask array, or for a large file, by a dask array that is not computed yet."""

    @wraps(method)
    def answer(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        chunks = chunks_of(X)
        return method(self, X) if chunks is None else self._answers(method.__name__, chunks)

    return cast(_Method, answer)


@dataclass(eq=False, repr=False)
class GraphEstimator(Documented, Spoken, BaseEstimator):
    """An estimator on a graph.  Only ``fit`` sets attributes; properties of the graph are read from ``_built``."""

    needs_geometry: ClassVar[bool] = False  # whether it needs a bandwidth that resolves tangent planes
    takes_chunks: ClassVar[bool] = False  # whether a dask array stays where it is, and its landmarks carry the graph
    _texts: ClassVar[dict[str, str]] = {
        "bandwidth": _BANDWIDTH,
        "parameters of the graph": graph_parameters(),
        "attributes of the graph": _ATTRIBUTES,
    }

    _: KW_ONLY
    renormalization: float = 1.0
    calibrate: bool = True
    self_weights: bool = False
    cutoff: float | None = None
    n_neighbors: int | str | None = None
    neighbors: Any = None
    n_edges: int | str = "auto"
    local_scale: LocalScaleLike = None
    metric: Metric = "euclidean"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: bool | int = False

    bandwidth_ = Read[float]("_built.kernel.bandwidth")
    selection_ = Read[Selection | None]("_built.selection")
    calibration_ = Read[Calibration | None]("_built.kernel.calibration")
    graph_ = Read[KernelGraph]("_built.on_host.kernel")
    cutoff_ = Read[float | None]("_built.cutoff")
    n_neighbors_ = Read[int | None]("_built.n_neighbors")
    dropped_weight_ = Read[float | None]("_built.dropped_weight")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_built")

    @property
    def n_edges_(self) -> float | None:
        return None if self._built.thinning is None else self._built.thinning.n_edges

    @property
    def thinning_error_(self) -> float | None:
        return None if self._built.thinning is None else self._built.thinning.error

    def _data(self, X: Any, sample_weight: Any = None) -> Points:
        """X checked, with weights."""
        # Neighbors that are given, or that a transformer finds, are in the memory of the host.
        in_chunks = self.takes_chunks and chunks_of(X) is not None
        keep = in_chunks or (on_device(X) and self.neighbors is None)
        if in_chunks:
            self._check_for_chunks(sample_weight)
        data = points_of(X, self.metric, keep_device=keep, sample_weight=sample_weight)
        validate_data(self, X, skip_check_array=True)
        return data

    def _check_for_chunks(self, sample_weight: Any) -> None:
        """Refuse what would bring all points of a dask array here."""
        rule = METHODS.get(self.bandwidth) if isinstance(self.bandwidth, str) else type(self.bandwidth)
        given = {
            "n_neighbors": self.n_neighbors not in ("auto", None),
            "neighbors": self.neighbors is not None,
            "local_scale": self.local_scale is not None,
            "metric": checked_metric(self.metric) not in WITH_COORDINATES,
            "sample_weight": sample_weight is not None,
            "bandwidth": isinstance(rule, type) and issubclass(rule, BandwidthSelector) and not rule.keeps_device,
        }
        wrong = ", ".join(f"{{{name}}}" for name, here in given.items() if here)
        if wrong:
            raise refusal(
                "A dask array or a large file is not loaded: the graph is built on landmarks, joined with all others "
                f"within reach at a bandwidth that is given or chosen by gc; {wrong} was given: leave it out, or pass "
                "X.compute() or np.array(X) if that fits in memory."
            )

    def _says_which_pairs(self, data: Points) -> bool:
        """Whether the data or parameters other than ``n_neighbors`` say which pairs count, or how."""
        given = (self.cutoff, self.neighbors, self.local_scale, None if isinstance(self.n_edges, str) else self.n_edges)
        return data.partial or any(value is not None for value in given)

    def _undecided(self, data: Points, by_landmarks: bool) -> bool:
        """Whether the parameters leave open which graph it is."""
        return self.n_neighbors == "auto" and not by_landmarks and not self._says_which_pairs(data)

    def _spec(self, data: Points) -> FullSpec:
        """Which graph the parameters mean; "auto" begins with all pairs."""
        spec = GraphSpec.of(self)
        check_number("n_neighbors", spec.n_neighbors, Integral, low=1, also=("auto", None))
        return replace(spec, n_neighbors=None if spec.n_neighbors == "auto" else spec.n_neighbors).filled()

    def _of_nearest(self, data: Points, n_neighbors: int, local_scale: int | None = None) -> Skeleton:
        """The skeleton of the graph of nearest neighbors that takes the place of all pairs; copies are one neighbor."""
        spec = self._spec(data)
        density = min(spec.renormalization, DENSITY)
        near = replace(spec, n_neighbors=n_neighbors, local_scale=local_scale, renormalization=density)
        found = distinct_rows(data)
        if found is not None and len(found[0]) > n_neighbors:
            rows, place = found
            apart = skeleton_of(data.taken(rows), near, random_state=self.random_state)
            if apart.n_pairs_at(place) <= max(_MANY_PAIRS, _MORE_PAIRS * len(data) * (n_neighbors + 1)):
                return apart.at(place)
        return skeleton_of(data, near, random_state=self.random_state)

    def _build(
        self, data: Points, y: Any = None, *, n_landmarks: int | None = None, always: np.ndarray | None = None
    ) -> BuiltGraph:
        """The graph over the data, calibrated if it is to be."""
        return self._calibrated(self._uncalibrated(data, y, n_landmarks=n_landmarks, always=always), data)

    def _uncalibrated(
        self, data: Points, y: Any, *, n_landmarks: int | None = None, always: np.ndarray | None = None
    ) -> BuiltGraph:
        """The graph over the data, at the bandwidth that was given or is chosen for it."""
        check_choice("calibrate", self.calibrate, (True, False))
        start = time.perf_counter()
        with _told_in_words(data):
            built = self._graph_of(data, y, n_landmarks=n_landmarks, always=always)
        say(
            _log,
            "%s: graph of %d points at bandwidth %.4g in %.1f s",
            *(type(self).__name__, built.kernel.n_points, built.kernel.bandwidth, time.perf_counter() - start),
        )
        return built

    def _calibrated(self, built: BuiltGraph, data: Points, strips: Strips | None = None) -> BuiltGraph:
        """The same graph, calibrated if it is to be; ``strips`` are those of a full one, if known."""
        if not self.calibrate:
            return built
        with _told_in_words(data):
            return replace(built, kernel=calibrated(built.kernel, carriers(data, built), strips=strips, n_jobs=self.n_jobs))

    def _graph_of(self, data: Points, y: Any, *, n_landmarks: int | None, always: np.ndarray | None) -> BuiltGraph:
        spec, by_landmarks = self._spec(data), n_landmarks is not None or is_chunked(data.given)
        if n_landmarks is not None:
            _check_joined(data, spec)
            check_landmarks(n_landmarks, len(data))
        skeleton = skeleton_of(data, spec, random_state=self.random_state)
        bandwidth, selection = self._chosen(data, y, skeleton)
        if self._undecided(data, by_landmarks) and near_alone(selection, len(data)) and not mostly_copies(data):
            skeleton = self._of_nearest(data, NEIGHBORS, NEAREST)
            bandwidth, selection = self._chosen(data, y, skeleton)
        if self.needs_geometry and selection is not None and skeleton.pairs is None and skeleton.scale is None:
            _warn_unless_resolved(selection)
        if by_landmarks:
            built = landmark_graph(data, skeleton, bandwidth, n_landmarks, random_state=self.random_state, always=always)
        else:
            built = build_graph(data, skeleton, bandwidth, random_state=self.random_state)
        if spec.n_edges == "auto" and built.thinning is not None and built.thinning.error > _MUCH_ERROR:
            warn_caller(
                Sentence(
                    "Eigenvalues of a thinned graph should match those of all pairs to a few percent; with at most "
                    "{edges:.0f} edges per point they may be off by {error:.0%}: set {n_landmarks}, or a smaller bandwidth.",
                    edges=built.thinning.n_edges,
                    error=built.thinning.error,
                )
            )
        return replace(built, selection=selection, metric=data.metric)

    def _chosen(self, points: Points, y: Any, skeleton: Skeleton) -> tuple[float, Selection | None]:
        return resolve_bandwidth(
            points, self.bandwidth, y=y, random_state=self.random_state, skeleton=skeleton, n_jobs=self.n_jobs
        )

    def _extended(
        self,
        X: Any,
        values: np.ndarray,
        groups: np.ndarray | None = None,
        *,
        built: BuiltGraph | None = None,
        told: bool = True,
    ) -> Extension:
        """Means of ``values`` over the neighbors of new points X, of a fitted estimator; in its graph, or in another one."""
        if self._built.points is not None:
            points = points_of(X, self.metric, least=1, keep_device=on_device(X))
            new = points.given if isinstance(points, Distances) or on_device(self._built.points) else points.host
        else:
            check_complete(X)
            new = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=float)
            check_distances(np.asarray(new.data) if sparse.issparse(X) else new)
        validate_data(self, X, reset=False, skip_check_array=True)
        return extend(built or self._built, new, values, groups=groups, told=told, n_jobs=self.n_jobs)

    def _for_workers(self) -> Self:
        """A copy that answers for new points, without the matrix of the graph and what was found of those given."""
        light = copy(self)
        light._built, light.n_jobs = self._built.for_extension(), 1
        for name in ("embedding_", "labels_", "transduction_"):
            light.__dict__.pop(name, None)
        return light

    def _answers(self, method: str, X: Any, *, numbered: bool = False) -> Any:
        """What a method answers for every chunk of a dask array X, as one that is not computed yet.

        The estimator travels once, without the matrix of its graph, and each worker answers for the chunks that it holds.
        ``numbered`` tells the method the number of the first row.
        """
        import dask
        import dask.array as da

        points_of(X, least=1, keep_device=True)
        validate_data(self, X, reset=False, skip_check_array=True)
        points, light = self._built.points, self._for_workers()
        example = np.zeros((1, self._built.kernel.n_points)) if points is None else points[:1]
        some = getattr(light, method)(example, *([0] if numbered else []))
        return da.map_blocks(
            _answer,
            X,
            estimator=dask.delayed(light, traverse=False),
            method=method,
            numbered=numbered,
            dtype=some.dtype,
            chunks=(X.chunks[0], *((n,) for n in some.shape[1:])),
            drop_axis=[] if some.ndim == 2 else 1,
            meta=some[:0],
        )


def _answer(block: Any, *, estimator: Any, method: str, numbered: bool, block_info: Any) -> np.ndarray:
    points = np.asarray(block)
    first, last = block_info[0]["array-location"][0]
    if not np.isfinite(points).all():
        raise not_finite(first, last)
    return getattr(estimator, method)(points, *([first] if numbered else []))


def carriers(data: Points, built: BuiltGraph) -> Points:
    """The points that carry a graph: all that were given, or landmarks."""
    if built.landmarks is None:
        return data
    return Points(built.points) if is_chunked(data.given) else data.taken(built.landmarks)


@contextmanager
def _told_in_words(data: Points) -> Iterator[None]:
    """What is said when memory runs out: on a GPU, or for another thread."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "can't start new thread":  # of Python
            raise MemoryError(
                Sentence(
                    "The work on {n} points needs threads and memory for them; the system refused one more: free memory, or "
                    "raise the limits of this process on memory and threads.",
                    n=len(data),
                )
            ) from error
        if type(error).__name__ != "OutOfMemoryError":  # of torch
            raise
        raise MemoryError(
            Sentence(
                "A graph on a GPU needs memory in addition to the points; there is not enough for {n} points ({error}): "
                "set {n_neighbors} or {n_landmarks}, free memory there, or pass the points as a NumPy array.",
                n=len(data),
                error=str(error).partition(". ")[0],
            )
        ) from error


def near_alone(selection: Selection | None, n_points: int) -> bool:
    """Whether a map joins nearest neighbors alone, where nothing else says which pairs count: one ε̂ does not suit all."""
    return selection is not None and selection.by_consistency and not selection.even and n_points > 2 * NEIGHBORS


def distinct_rows(data: Points) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows (n,) that are all different, and at which of them each point is (N,); None where none are known to be copies."""
    X, by_distance = data.given, isinstance(data, Distances) and data.metric == "precomputed"
    if by_distance or data.on_gpu or not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return None
    along = np.sort(X @ np.sin(1.0 + np.arange(X.shape[1])))  # copies are at the same place of a line as well
    if (np.diff(along) > _APART * np.abs(along).max()).all():
        return None
    keys = row_keys(X) if sparse.issparse(X) else X
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(data):
        return None
    order = np.argsort(first)
    return first[order], np.argsort(order)[place.ravel()]


def mostly_copies(data: Points) -> bool:
    """Whether most points have so many copies that these fill half of a list of neighbors."""
    found = distinct_rows(data)
    return found is not None and bool(np.median(np.bincount(found[1])[found[1]]) > NEIGHBORS / 2)


def graph_in_words(estimator: GraphEstimator, n_neighbors: int | None = None) -> str:
    """Which pairs the graph of a fitted estimator joins, and in how many components it is.

    ``n_neighbors``: of how many nearest neighbors the distances are that it was given, if they are.
    """
    graph, landmarks, k = estimator.graph_, estimator._built.landmarks, n_neighbors or estimator.n_neighbors_
    n = int(graph_components(graph).max()) + 1
    scaled = "" if graph.scale is None else ", with local scales,"
    selection = estimator._built.selection
    if selection is not None and selection.bandwidth != graph.bandwidth:
        scaled = ", with equal weights, because at that bandwidth outliers would dominate the map,"
    if estimator.n_edges_ is not None:
        within = "all pairs" if estimator.cutoff_ is None else f"the pairs up to {estimator.cutoff_:.3g}ε apart"
        joined = f"a share of {within}, {estimator.n_edges_:.0f} edges per point{scaled or ','}"
    elif k is not None:
        joined = f"each point with its {k} nearest neighbors{scaled}"
    elif estimator.cutoff_ is not None:
        joined = f"points up to {estimator.cutoff_:.3g}ε apart{scaled}"
    elif sparse.issparse(graph.weights):
        joined = f"the pairs whose distances are given{scaled}"
    else:
        weighing = "" if n == 1 else " whose weight exceeds rounding"
        joined = f"all pairs{'' if landmarks is None else f' of {len(landmarks)} landmarks'}{weighing}{scaled}"
    return f"The graph joins {joined} and {'is connected' if n == 1 else f'has {n} components'}."


def _warn_unless_resolved(selection: Selection) -> None:
    if selection.verdict is Verdict.NOT_FOUND and selection.status not in (Status.RULE, Status.NO_LIMIT):
        text = selection.verdict_text if selection.beyond_bound else selection.status_text
        warn_caller(text, UnresolvedWarning)
    elif selection.neighborhoods is not None and not selection.neighborhoods.resolved:
        warn_caller(selection.nearest_text, UnresolvedWarning)


def check_landmarks(n_landmarks: Any, n_points: int) -> None:
    """A number of landmarks that so many points can have."""
    check_number("n_landmarks", n_landmarks, Integral, low=3)
    if n_landmarks > n_points:
        raise refusal(
            "{n_landmarks} must be at most the number of points; {given} was given for {n} points: lower it.",
            given=n_landmarks,
            n=n_points,
        )


def _check_joined(data: Points, spec: FullSpec) -> None:
    """Landmarks are joined with all others."""
    if spec.metric == "precomputed" or not data.whole or spec.n_neighbors is not None or spec.neighbors is not None:
        raise refusal(
            "Landmarks are joined with all landmarks within reach at a bandwidth for all points; {n_landmarks} was "
            "given with metric='precomputed', many sparse features or another metric of many points, {n_neighbors} or "
            "neighbors: leave out one of them."
        )
