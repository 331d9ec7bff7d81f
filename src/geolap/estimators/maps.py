"""Maps of the data: Laplacian eigenmaps and diffusion maps, with an extension to new points.

The coordinates of a point are the values there of the smoothest eigenvectors of the Laplacian, the constant one left out.
For a new point x, the eigenvalue equation itself gives the value (the Nyström extension):

.. math:: φ_k(x) = \\frac{Σ_j P(x, x_j) φ_k(x_j)}{1 - λ_k ε(x)^2/4}

with P(x, ·) the row of transition probabilities that x would have.  A point of the training set gets its own coordinates.
"""

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..graphs.build import BuiltGraph
from ..graphs.spectrum import SOLVERS, Spectrum, smooth_spectrum
from ..selectors import BandwidthSelector
from ..sentences import Sentence
from ..validation import check_choice, check_number
from .base import GraphEstimator, documented

__all__ = ["DiffusionMap", "LaplacianEigenmap"]

_COORDINATES = """    n_components : int, default 2
        Coordinates of the map.
    <bandwidth>
"""
_PARAMETERS = """    disconnected : {"warn", "error", "separate"}, default "warn"
        What to do with a graph in several components: warn, and let the first coordinates tell them apart; refuse; or give
        each component a map of its own.
    n_landmarks : int, optional
        Only this many points, a stratified sample, carry the graph; ε and the degrees are those of all points, and the other
        points get their coordinates by Nyström extension.
    eigen_solver : {"auto", "dense", "lanczos", "lobpcg"}, default "auto"
        "lobpcg" needs a sparse graph and pyamg (``geolap[scale]``).  By default small graphs are solved directly, up to 15
        coordinates of more than 50 000 points by LOBPCG if pyamg is installed and no pairs are left out, others by Lanczos.
    self_weights : bool, default True
        Whether W_ii = 1 or 0.
"""
_EMBEDDING = """    embedding_ : ndarray (n_points, n_components)
        Signs are fixed: in every coordinate the entry of largest magnitude is positive.
"""
_ATTRIBUTES = """    n_graph_components_ : int
        Connected components of the graph.
    component_labels_ : ndarray (n_points,)
        Which of them each point of the graph belongs to, the largest being 0.
    landmarks_ : ndarray (n_landmarks,) or None
        Which points carry the graph, ascending; ``graph_`` and ``component_labels_`` are theirs.
"""
# Below this the Nyström extension would multiply what is mostly noise.
_LEAST_EIGENVALUE = 0.05

_Class = TypeVar("_Class", bound=type)


def _documented(cls: _Class) -> _Class:
    """Insert what both maps have in common into the documentation of one."""
    texts = {"coordinates": _COORDINATES, "embedding": _EMBEDDING}
    return documented(cls, **texts, **{"parameters of the map": _PARAMETERS, "attributes of the map": _ATTRIBUTES})


@dataclass(eq=False, repr=False)
class _SpectralMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):
    """A map whose coordinates are eigenvectors of a graph."""

    needs_geometry: ClassVar[bool] = True
    _markov: ClassVar[bool] = False  # eigenvectors of P rather than of L

    n_components: int = 2
    bandwidth: float | str | BandwidthSelector = "gc"
    _: KW_ONLY
    disconnected: str = "warn"
    n_landmarks: int | None = None
    eigen_solver: str = "auto"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def landmarks_(self) -> np.ndarray | None:
        return self._built.landmarks

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the map of the points X (n_points, n_features); y is used by methods that choose ε by labels.

        Returns
        -------
        self
        """
        self._check_parameters()
        built = self._build(self._data(X), y, n_landmarks=self.n_landmarks)
        spectrum = self._spectrum(built)
        loss = np.nan_to_num(built.kernel.bandwidth**2 / 4.0 * spectrum.eigenvalues[..., 1:])
        self._built, self._loss = built, loss  # 1 − eigenvalue of P, where ρ = 1; 0 for coordinates that do not exist
        self.component_labels_, self.n_graph_components_ = spectrum.components, spectrum.n_components
        self.eigenvalues_, self._coordinates = self._coordinates_of(spectrum, loss, built.kernel.bandwidth)
        self._n_features_out = self.n_components
        self.embedding_ = self._coordinates.astype(built.kernel.weights.dtype)
        if built.landmarks is not None:
            self.embedding_ = self.transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Find the map of the points X and return it, (n_points, n_components)."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates (n, n_components) of new points X (n, n_features) on the map, by Nyström extension.

        Where the denominator falls below 0.05, because the map has more coordinates than the graph can resolve, it is held
        there.
        """
        check_is_fitted(self)
        separate = self._loss.ndim == 2  # each component has coordinates and eigenvalues of its own
        found = self._extended(X, self._coordinates, self.component_labels_ if separate else None)
        loss = self._loss[self.component_labels_[found.nearest]] if separate else self._loss
        if not self._markov:
            loss = loss * (self.graph_.bandwidths[found.nearest, None] / self.bandwidth_) ** 2
        result = found.means / np.maximum(1.0 - loss, _LEAST_EIGENVALUE)
        result[found.twin] = self._coordinates[found.nearest[found.twin]]
        return result.astype(self.embedding_.dtype)

    def _check_parameters(self) -> None:
        check_number("n_components", self.n_components, Integral, low=1)
        check_choice("disconnected", self.disconnected, ("warn", "error", "separate"))
        check_choice("eigen_solver", self.eigen_solver, SOLVERS)

    def _spectrum(self, built: BuiltGraph) -> Spectrum:
        graph = built.kernel
        if self.n_components >= graph.n_points:
            raise ValueError(
                Sentence(
                    "{n_components} must be less than the number of points; {given} was given for {n} points: lower it.",
                    given=self.n_components,
                    n=graph.n_points,
                )
            )
        spectrum = smooth_spectrum(
            graph,
            self.n_components + 1,
            markov=self._markov,
            separate=self.disconnected == "separate",
            # Multigrid gains nothing where edges lead far: the coarse levels are full.
            solver="lanczos" if built.thinning is not None and self.eigen_solver == "auto" else self.eigen_solver,
            n_jobs=self.n_jobs,
        )
        if spectrum.n_components > 1 and self.disconnected != "separate":
            message = _in_components(np.bincount(spectrum.components), self.n_components, graph.bandwidth)
            if self.disconnected == "error":
                raise ValueError(message)
            warnings.warn(message, stacklevel=3)
        return spectrum

    @abstractmethod
    def _coordinates_of(self, spectrum: Spectrum, loss: np.ndarray, bandwidth: float) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues as the map reports them, and the coordinates of the points that carry the graph."""


def _in_components(sizes: np.ndarray, n_components: int, bandwidth: float) -> Sentence:
    useless = min(len(sizes) - 1, n_components)
    return Sentence(
        "The graph should be connected; at bandwidth {bandwidth:.4g} it has {n} components (of {shown} points): the first "
        "{coordinates} them apart.  Embed each on its own with {disconnected=separate}, use a larger bandwidth or more "
        "neighbors, or remove outliers.",
        bandwidth=bandwidth,
        n=len(sizes),
        shown=", ".join(map(str, sizes[:5])) + (", …" if len(sizes) > 5 else ""),
        coordinates="coordinate only tells" if useless == 1 else f"{useless} coordinates only tell",
    )


@_documented
@dataclass(eq=False, repr=False)
class LaplacianEigenmap(_SpectralMap):
    """Laplacian eigenmap: the smoothest functions on the data as coordinates (Belkin & Niyogi 2003).

    .. math:: \\min Σ_{ij} W'_{ij} (φ_i - φ_j)^2 \\quad\\text{with}\\quad Σ_i d'_i φ_{ik} φ_{il} = δ_{kl},\\ φ ⊥ 1

    The same map as scikit-learn's SpectralEmbedding of the same graph (which leaves out self-weights), at a bandwidth that
    the geometry chooses, with eigenvalues in the unit of the data, for new points too, and with an answer when the graph
    falls apart.

    Parameters
    ----------
    <coordinates>
    <parameters of the map>
    <parameters of the graph>

    Attributes
    ----------
    <embedding>
    eigenvalues_ : ndarray (n_components,)
        Of −L, ascending: they tend to those of the Laplace–Beltrami operator.  With ``disconnected="separate"`` one row for
        each component, NaN for coordinates that a small component does not have.
    <attributes of the map>
    <attributes of the graph>

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(1000, random_state=0).data
    >>> eigenmap = geolap.LaplacianEigenmap(n_components=3, random_state=0).fit(X)
    >>> eigenmap.eigenvalues_.round(1)  # 2, 2, 2 on the unit sphere
    array([1.9, 1.9, 2. ])
    >>> eigenmap.transform(X[:5]).shape
    (5, 3)
    """

    def _coordinates_of(self, spectrum: Spectrum, loss: np.ndarray, bandwidth: float) -> tuple[np.ndarray, np.ndarray]:
        return spectrum.eigenvalues[..., 1:], spectrum.vectors[:, 1:]


@_documented
@dataclass(eq=False, repr=False)
class DiffusionMap(_SpectralMap):
    """Diffusion map: coordinates in which straight distances are diffusion distances (Coifman & Lafon 2006).

    .. math:: Ψ_k(x) = a_k^t ψ_k(x), \\qquad P ψ_k = a_k ψ_k, \\qquad Σ_i π_i ψ_k(x_i)^2 = 1

    with π the stationary distribution of P.  ``renormalization`` is their α.  One step of P is diffusion over the time ε²/4.

    Parameters
    ----------
    <coordinates>
    diffusion_time : float, default 1.0
        t, in steps of P.
    <parameters of the map>
    <parameters of the graph>

    Attributes
    ----------
    <embedding>
    eigenvalues_ : ndarray (n_components,)
        a_k of P, descending.  With ``disconnected="separate"`` one row for each component, NaN for coordinates that a small
        component does not have.
    <attributes of the map>
    <attributes of the graph>

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_torus(1000, random_state=0).data
    >>> geolap.DiffusionMap(random_state=0).fit_transform(X).shape
    (1000, 2)
    """

    _markov: ClassVar[bool] = True

    _: KW_ONLY
    diffusion_time: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("diffusion_time", self.diffusion_time, low=0)

    def _coordinates_of(self, spectrum: Spectrum, loss: np.ndarray, bandwidth: float) -> tuple[np.ndarray, np.ndarray]:
        separate = loss.ndim == 2
        groups = spectrum.components if separate else np.zeros_like(spectrum.components)
        size = np.sqrt(np.bincount(groups, weights=spectrum.mass))[groups]  # makes the constant eigenvector 1
        power = 1.0 - loss
        if float(self.diffusion_time).is_integer():
            power = power ** int(self.diffusion_time)
        else:  # a negative number has no such power; those of smooth eigenvectors are positive
            power = np.maximum(power, 0.0) ** self.diffusion_time
        coordinates = spectrum.vectors[:, 1:] * size[:, None] * (power[groups] if separate else power)
        return 1.0 - bandwidth**2 / 4.0 * spectrum.eigenvalues[..., 1:], coordinates
