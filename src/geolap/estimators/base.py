"""What all estimators on a graph have in common: its parameters, how it is built, and how new points are joined to it."""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..calibration import Calibration
from ..graphs.build import BuiltGraph, build_graph, graph_of_distances, landmark_graph
from ..graphs.calibrate import calibrated, points_of_distances
from ..graphs.distances import check_distances
from ..graphs.extension import Extension, extend
from ..graphs.graph import KernelGraph
from ..graphs.skeleton import Skeleton, skeleton_of
from ..points import Points, on_device
from ..selection import Selection, Status, UnresolvedWarning, Verdict
from ..selectors import BandwidthSelector, checked_bandwidth, resolve_bandwidth
from ..sentences import Sentence
from ..specification import FullSpec, GraphSpec, LocalScaleLike
from ..validation import check_choice, check_number

__all__ = ["DENSITY", "NEAREST", "NEIGHBORS", "GraphEstimator", "documented", "near_alone"]

_Class = TypeVar("_Class", bound=type)

# The graph where one ε̂ does not suit all of the data: neighbors, the one whose distance is the local scale, and λ.
NEIGHBORS, NEAREST, DENSITY = 10, 7, 0.5

# The error of thinning from which on a warning tells it.
_MUCH_ERROR = 0.05

_BANDWIDTH = """    bandwidth : float, str or selector, default "gc"
        ε, the name of a method of `geolap.select_bandwidth`, or a selector.  "gc" selects ε for the graph that is built.
"""
_PARAMETERS = """    renormalization : float, default 1.0
        λ, the power of the degrees divided out of the weights.  1 removes the density of the points, 0 leaves it.
    cutoff : float, optional
        Weights beyond ``cutoff``·ε are zero, and the matrix is sparse; 3 drops weights below 1e-4.  By default there is no
        cut-off up to 5000 points, and beyond the smallest that drops at most 1 % of the weight.
    <which neighbors>
    neighbors : transformer or matrix (n_points, n_points), optional
        Join the points whose distances this matrix stores, or the transformer finds: scikit-learn's KNeighborsTransformer,
        or any other that makes a sparse matrix of distances.  With a matrix, new points are joined with all training points.
    n_edges : int, "auto" or "all", default "auto"
        Edges of a point that are stored, in the mean, where more pairs are within reach: those that carry much of the weight
        of either end, and a random share of the others, weighted up.  "auto" stores all up to 10⁸ entries, and beyond as
        many edges as leave eigenvalues right to 2 %.  "all" never thins, and refuses more than 10⁸ entries.
    local_scale : int, "regional" or LocalScale, optional
        Let the bandwidth vary from place to place as ε ρ_i: with the relative distance to the k-th neighbor
        (`geolap.neighbor_scale`), by geometric consistency in each region (`geolap.regional_scale`), or as given.
    calibrate : bool
        Measure how far a walk on the graph goes on the data, divide L by that factor, and take the logarithm of the
        eigenvalues of P: eigenvalues, diffusion times and lengths are then those of the data (see `geolap.Calibration`).
        True by default, but for labels and clusters, which do not depend on the scale of L.
    self_weights : bool, default False
        Whether W_ii = 1 or 0.
    metric : {"euclidean", "precomputed"}, default "euclidean"
        With "precomputed", X is a square matrix of distances, dense or sparse; the bandwidth must then be a number.
    random_state : int, RandomState or None
        For the choice of the bandwidth, and of the edges that are stored where not all are.
    n_jobs : int, optional
        Threads; None and −1 stand for every core that the process may use.  Does not change the result.
"""
_NEIGHBORS = """    n_neighbors : int, optional
        Join each point with its k nearest neighbors only (and with the points that it is a nearest neighbor of).
"""
_ATTRIBUTES = """    bandwidth_ : float
        ε
    selection_ : Selection or None
        How it was chosen, unless it was given.
    calibration_ : Calibration or None
        The factor with its standard error; None with ``calibrate=False``.
    graph_ : KernelGraph
        Weights, degrees and what follows from them.
    cutoff_, n_neighbors_ : float, int or None
        Which pairs the graph stores.
    dropped_weight_ : float or None
        Share of the neighbors' weight in pairs that are not stored, over sampled rows; None if distances were precomputed.
    n_edges_, thinning_error_ : float or None
        Where pairs were thinned, the edges of a point in the mean, and the relative error that this adds to the smallest
        eigenvalues, as theory has it; None where all pairs are stored.
    n_features_in_ : int
"""


def documented(cls: _Class, **texts: str) -> _Class:
    """Insert what estimators on a graph have in common into the documentation of one."""
    common = {"bandwidth": _BANDWIDTH, "parameters of the graph": _PARAMETERS, "attributes of the graph": _ATTRIBUTES}
    for name, text in {**texts, **common, "which neighbors": texts.get("which neighbors", _NEIGHBORS)}.items():
        cls.__doc__ = (cls.__doc__ or "").replace(f"    <{name}>\n", text)
    return cls


@dataclass(eq=False, repr=False)
class GraphEstimator(BaseEstimator):
    """An estimator on a graph.  Only ``fit`` sets attributes; properties of the graph are read from ``_built``."""

    needs_geometry: ClassVar[bool] = False  # whether it needs a bandwidth that resolves tangent planes

    _: KW_ONLY
    renormalization: float = 1.0
    calibrate: bool = True
    self_weights: bool = False
    cutoff: float | None = None
    n_neighbors: int | str | None = None
    neighbors: Any = None
    n_edges: int | str = "auto"
    local_scale: LocalScaleLike = None
    metric: str = "euclidean"
    random_state: Any = None
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric == "precomputed"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_built")

    @property
    def bandwidth_(self) -> float:
        return self._built.kernel.bandwidth

    @property
    def selection_(self) -> Selection | None:
        return self._built.selection

    @property
    def calibration_(self) -> Calibration | None:
        return self._built.kernel.calibration

    @property
    def graph_(self) -> KernelGraph:
        return self._built.kernel

    @property
    def cutoff_(self) -> float | None:
        return self._built.cutoff

    @property
    def n_neighbors_(self) -> int | None:
        return self._built.n_neighbors

    @property
    def dropped_weight_(self) -> float | None:
        return self._built.dropped_weight

    @property
    def n_edges_(self) -> float | None:
        return None if self._built.thinning is None else self._built.thinning.n_edges

    @property
    def thinning_error_(self) -> float | None:
        return None if self._built.thinning is None else self._built.thinning.error

    def _data(self, X: Any) -> Any:
        """X checked: points, or a matrix of distances."""
        if self.metric == "precomputed":
            data = X if sparse.issparse(X) else np.atleast_2d(np.asarray(X))
        else:
            data = Points.of(X, keep_device=on_device(X))  # ε for points on a GPU is chosen there, the graph built here
        validate_data(self, X, skip_check_array=True)
        return data

    @property
    def _says_which_pairs(self) -> bool:
        """Whether parameters other than ``n_neighbors`` say which pairs count, or how."""
        given = (self.cutoff, self.neighbors, self.local_scale)
        return self.metric == "precomputed" or any(value is not None for value in given)

    def _spec(self, n_points: int) -> FullSpec:
        """Which graph the parameters mean; "auto" begins with all pairs."""
        spec = GraphSpec.of(self)
        return replace(spec, n_neighbors=None if spec.n_neighbors == "auto" else spec.n_neighbors).filled()

    def _build(self, data: Any, y: Any = None, *, n_landmarks: int | None = None) -> BuiltGraph:
        """The graph over the data, at the bandwidth that was given or is chosen for it, calibrated if it is to be."""
        check_choice("calibrate", self.calibrate, (True, False))
        built = self._raw(data, y, n_landmarks=n_landmarks)
        if not self.calibrate:
            return built
        if self.metric == "precomputed":
            points = points_of_distances(data)
        else:
            points = data if built.landmarks is None else Points(built.points)
        return replace(built, kernel=calibrated(built.kernel, points))

    def _raw(self, data: Any, y: Any, *, n_landmarks: int | None) -> BuiltGraph:
        spec = self._spec(data.shape[0])
        if n_landmarks is not None:
            _check_landmarks(n_landmarks, data, spec)
        if spec.metric == "precomputed":
            _check_precomputed(data, spec, self.bandwidth)
            return graph_of_distances(data, spec, checked_bandwidth(self.bandwidth))
        skeleton = skeleton_of(data, spec, random_state=self.random_state)
        bandwidth, selection = self._chosen(data, y, skeleton)
        undecided = self.n_neighbors == "auto" and n_landmarks is None and not self._says_which_pairs
        if undecided and near_alone(selection, len(data)):
            density = min(spec.renormalization, DENSITY)
            near = replace(spec, n_neighbors=NEIGHBORS, local_scale=NEAREST, renormalization=density)
            skeleton = skeleton_of(data, near, random_state=self.random_state)
            bandwidth, selection = self._chosen(data, y, skeleton)
        if self.needs_geometry and selection is not None and skeleton.pairs is None and skeleton.scale is None:
            _warn_unless_resolved(selection)
        if n_landmarks is not None:
            built = landmark_graph(data, skeleton, bandwidth, n_landmarks, random_state=self.random_state)
        else:
            built = build_graph(data, skeleton, bandwidth, random_state=self.random_state)
        if spec.n_edges == "auto" and built.thinning is not None and built.thinning.error > _MUCH_ERROR:
            warnings.warn(
                Sentence(
                    "A thinned graph should have the eigenvalues of all pairs to a few percent; with {edges:.0f} edges "
                    "of a point, as many as are stored, they may be off by {error:.0%}: set {n_landmarks}, or a "
                    "smaller bandwidth.",
                    edges=built.thinning.n_edges,
                    error=built.thinning.error,
                ),
                stacklevel=3,
            )
        return replace(built, selection=selection)

    def _chosen(self, points: Points, y: Any, skeleton: Skeleton) -> tuple[float, Selection | None]:
        return resolve_bandwidth(
            points, self.bandwidth, y=y, random_state=self.random_state, skeleton=skeleton, n_jobs=self.n_jobs
        )

    def _extended(
        self, X: Any, values: np.ndarray, groups: np.ndarray | None = None, *, built: BuiltGraph | None = None
    ) -> Extension:
        """Means of ``values`` over the neighbors of new points X, of a fitted estimator; in its graph, or in another one."""
        if self._built.points is not None:
            new = Points.of(X, least=1).host
        else:
            new = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=float)
            check_distances(np.asarray(new.data) if sparse.issparse(X) else new)
        validate_data(self, X, reset=False, skip_check_array=True)
        return extend(built or self._built, new, values, groups=groups, n_jobs=self.n_jobs)


def near_alone(selection: Selection | None, n_points: int) -> bool:
    """Whether a map joins nearest neighbors alone, where nothing else says which pairs count: one ε̂ does not suit all."""
    return (
        selection is not None
        and selection.method in ("gc", "gc_inverse")
        and not selection.even
        and n_points > 2 * NEIGHBORS
    )


def _warn_unless_resolved(selection: Selection) -> None:
    if selection.verdict is Verdict.NOT_FOUND and selection.status not in (Status.RULE, Status.NO_LIMIT):
        warnings.warn(selection.status.value, UnresolvedWarning, stacklevel=4)
    elif selection.neighborhoods is not None and not selection.neighborhoods.resolved:
        warnings.warn(Verdict.NEAREST_NEIGHBORS.value, UnresolvedWarning, stacklevel=4)


def _check_landmarks(n_landmarks: Any, data: Any, spec: FullSpec) -> None:
    check_number("n_landmarks", n_landmarks, Integral, low=3)
    if spec.metric == "precomputed" or spec.n_neighbors is not None or spec.neighbors is not None:
        raise ValueError(
            Sentence(
                "Landmarks are joined with all landmarks within reach at a bandwidth for all points; {n_landmarks} was "
                "given with metric='precomputed', {n_neighbors} or neighbors: leave out one of them."
            )
        )
    if n_landmarks > len(data):
        raise ValueError(
            Sentence(
                "{n_landmarks} must be at most the number of points; {given} was given for {n} points: lower it.",
                given=n_landmarks,
                n=len(data),
            )
        )


def _check_precomputed(distances: Any, spec: FullSpec, bandwidth: Any) -> None:
    if spec.n_neighbors is not None or spec.neighbors is not None or spec.local_scale is not None:
        raise ValueError(
            "With metric='precomputed' the matrix itself says which points are joined and how far they are; n_neighbors, "
            "neighbors or local_scale were given as well: leave them out."
        )
    if isinstance(bandwidth, str | BandwidthSelector):
        raise ValueError(
            f"A bandwidth is chosen from the points themselves, not from distances; bandwidth={bandwidth!r} was "
            "given with metric='precomputed': pass a number, or pass the points and your matrix as neighbors=."
        )
    if distances.ndim == 2 and distances.shape[0] < 3:
        raise ValueError(
            f"Found n_samples={distances.shape[0]} while a minimum of 3 is required: a graph needs at least three points."
        )
