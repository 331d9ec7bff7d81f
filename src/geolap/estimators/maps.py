"""Maps of the data: Laplacian eigenmaps and diffusion maps, with an extension to new points.

The coordinates of a point are the values there of the smoothest eigenvectors of the Laplacian, the constant one left out.
For a new point x, the eigenvalue equation itself gives the value (the Nyström extension):

.. math:: φ_k(x) = \\frac{Σ_j P(x, x_j) φ_k(x_j)}{1 - λ_k ε(x)^2/4}

with P(x, ·) the row of transition probabilities that x would have.  A point of the training set gets its own coordinates.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..data.points import Points, host_array, on_device
from ..graphs.build import BuiltGraph, build_graph
from ..graphs.entropy import spectral_entropy
from ..graphs.graph import KernelGraph
from ..graphs.spectrum import SOLVERS, Spectrum, graph_components, smooth_spectrum, with_signs
from ..graphs.strips import Strips, strips_of
from ..runtime.threads import beside, one_blas_thread
from ..selection import UnresolvedWarning
from ..selectors import BandwidthSelector
from ..sentences import Sentence, refusal, warn_caller
from ..shown import Plotted
from ..validation import check_choice, check_number
from .arrangement import Arrangement, arranged
from .base import GraphEstimator, Read, graph_parameters, in_chunks, mostly_copies
from .coordinates import MOST_CONTRASTS, Choice, IndependentCoordinates, known_dimension

__all__ = ["DiffusionMap", "LaplacianEigenmap"]

_COORDINATES = """    n_components : int or "auto", default 2
        Number of coordinates.  "auto" chooses coordinates that span the data, as many as needed, out of twenty or more
        (`geolap.independent_coordinates`).
    <bandwidth>
"""
_PARAMETERS = """    disconnected : {"arrange", "whole", "separate", "error"}, default "arrange"
        What to do if the graph has several components.  "arrange" maps each by itself and places the others around the
        largest, in the directions in which they lie; distances between them mean nothing.  "whole" takes eigenvectors of
        the whole graph, the first of which only separate components.  Both warn.  "separate" maps each by itself, in the
        same place; "error" raises an error.
    n_landmarks : int, optional
        Build the graph on only this many points, a stratified sample; ε and the degrees are those of all points, and the
        other points get their coordinates by Nyström extension.  A dask array, or a file larger than half a gigabyte, always
        uses landmarks: by default 5000 to 20 000, so that a neighborhood has about a hundred.
    eigen_solver : {"auto", "dense", "lanczos", "lobpcg"}, default "auto"
        "lobpcg" needs a sparse graph, and over nearest neighbors pyamg (``geolap[scale]``).  By default small graphs are
        solved directly, full ones by block Lanczos, and sparse ones by factorization if a trial shows that it is fast.
        Beyond 50 000 points LOBPCG computes up to 10 coordinates over all pairs within reach, or a share of them, and up to
        15 over neighbors if pyamg is installed.  Lanczos solves all others.
"""
_WHICH_NEIGHBORS = """    n_neighbors : int, "auto" or None, default "auto"
        Join only k-nearest neighbors: two points are joined if either is among the k nearest of the other; None joins all
        points.  "auto" joins all points if one ε̂ resolves the geometry everywhere (`Selection.even`), and otherwise the 10
        nearest, with local scales by the 7th, λ = 1/2 at most and their own ε̂, as for clusters.  If outliers would dominate
        at least half of the coordinates, it joins the 20 nearest with equal weights: ``bandwidth_`` is then three times the
        longest of their distances.  `geolap reproduce graphs` has the evidence.
"""
_EMBEDDING = """    embedding_ : ndarray (n_points, n_components)
        Signs are fixed: in every coordinate the entry of largest magnitude is positive.  For a dask array, or a file larger
        than half a gigabyte, a lazy dask array.
"""
_ATTRIBUTES = """    coordinates_ : ndarray of int (n_components,)
        Which eigenvectors the coordinates are, counted from 0 without the constant one.  With ``n_components="auto"``, one
        row for each component that is mapped by itself.
    independence_ : IndependentCoordinates or None
        How they were chosen, with ``n_components="auto"``; for the largest component.
    n_graph_components_ : int
        Number of connected components of the graph.
    component_labels_ : ndarray (n_points,)
        The component of each point of the graph, 0 for the largest.
    landmarks_ : ndarray (n_landmarks,) or None
        Rows of the landmarks, ascending; ``graph_`` and ``component_labels_`` refer to them.
"""
# Below this the Nyström extension would multiply what is mostly noise.
_LEAST_EIGENVALUE = 0.05
# Candidates that coordinates are chosen from: more where these vary in fewer directions than the data.
_CANDIDATES = (20, 40, 80)
# Points up to which a graph is calibrated while its eigenvectors are found: both hold parts of it of their own.
_MOST_BESIDE = 100_000
# Components of a graph, at most, for coordinates to be chosen, and points of one for it to have a choice of its own.
_MOST_COMPONENTS, _FEWEST_POINTS = 200, 30
# A coordinate is about outliers if this share of the points holds more than half of its variance, and about nothing else if
# it holds that share; not told of fewer points.
_FEW, _HALF, _NEARLY_ALL, _FEWEST = 0.02, 0.5, 0.9, 100
# Extents of centers below this share of the largest are rounding.
_ROUNDING = 1e-9
# Neighbors that are then joined with equal weights, and the bandwidth for that over the longest distance.
_EQUAL, _WIDE = 20, 3.0

# The constant eigenvector and the coordinates, which eigenvectors these are, and how they were chosen.
_Found: TypeAlias = tuple[Spectrum, np.ndarray, IndependentCoordinates | None]


@dataclass(eq=False, repr=False)
class _SpectralMap(Plotted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):
    """A map whose coordinates are eigenvectors of a graph."""

    _texts: ClassVar[dict[str, str]] = {
        "coordinates": _COORDINATES,
        "embedding": _EMBEDDING,
        "parameters of the map": _PARAMETERS,
        "attributes of the map": _ATTRIBUTES,
        **GraphEstimator._texts,
        "parameters of the graph": graph_parameters(which_neighbors=_WHICH_NEIGHBORS),
    }
    needs_geometry: ClassVar[bool] = True
    takes_chunks: ClassVar[bool] = True
    _markov: ClassVar[bool] = False  # eigenvectors of P rather than of L

    n_components: int | str = 2
    bandwidth: float | str | BandwidthSelector = "gc"
    _: KW_ONLY
    disconnected: str = "arrange"
    n_neighbors: int | str | None = "auto"
    n_landmarks: int | None = None
    eigen_solver: str = "auto"

    landmarks_ = Read[np.ndarray | None]("_built.landmarks")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the map of the points X (n_points, n_features); y is used by rules for ε that need labels.

        ``sample_weight`` (n_points,) is the number of points that each row represents.

        Returns
        -------
        self
        """
        self._check_parameters()
        data = self._data(X, sample_weight)
        built, found = self._solved(self._uncalibrated(data, y, n_landmarks=self.n_landmarks), data)
        if self._about_outliers(built, found[0], data):
            built, found = self._solved(self._of_equal_weights(built, data), data)
        if self.disconnected == "arrange" and found[0].n_components > 1:
            found = self._spectrum(built, None, separate=True)
        spectrum, self.coordinates_, self.independence_ = found
        self._check_connected(spectrum, built.kernel)
        loss = np.nan_to_num(built.kernel.bandwidth**2 / 4.0 * spectrum.eigenvalues[..., 1:])
        self._built, self._loss = built, loss  # 1 − eigenvalue of P, where ρ = 1; 0 for coordinates that do not exist
        self.component_labels_, self.n_graph_components_ = spectrum.components, spectrum.n_components
        self.eigenvalues_, self._coordinates = self._coordinates_of(spectrum, loss, built.kernel)
        self._n_features_out = self.coordinates_.shape[-1]
        self._arrangement = self._arranged(built)
        self.embedding_ = self._placed(self._coordinates, self.component_labels_).astype(built.kernel.weights.dtype)
        if self.n_graph_components_ == 1 and (few := _few_points(self._coordinates)) is not None:
            warn_caller(few, UnresolvedWarning)
        if built.landmarks is not None:
            self.embedding_ = self.transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the map of the points X and return it, (n_points, n_components)."""
        return self.fit(X, y, sample_weight).embedding_

    @in_chunks
    def transform(self, X: Any) -> np.ndarray:
        """Coordinates (n, n_components) of new points X (n, n_features) on the map, by Nyström extension.

        The denominator is at least 0.05; it would fall below that if the map has more coordinates than the graph can
        resolve.  For a dask array, a lazy dask array.
        """
        separate = self._loss.ndim == 2  # each component has coordinates and eigenvalues of its own
        found = self._extended(X, self._coordinates, self.component_labels_ if separate else None)
        loss = self._loss[self.component_labels_[found.nearest]] if separate else self._loss
        if not self._markov:
            loss = loss * (self._built.kernel.bandwidths[found.nearest, None] / self.bandwidth_) ** 2
        result = found.means / np.maximum(1.0 - loss, _LEAST_EIGENVALUE)
        result[found.twin] = self._coordinates[found.nearest[found.twin]]
        return self._placed(result, self.component_labels_[found.nearest]).astype(self._built.kernel.weights.dtype)

    def _arranged(self, built: BuiltGraph) -> Arrangement | None:
        if self.n_graph_components_ == 1 or self.disconnected != "arrange":
            return None
        points = host_array(built.points).astype(float) if built.has_coordinates else None
        return arranged(self._coordinates, self.component_labels_, built.kernel.multiplicity, points)

    def _placed(self, coordinates: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Coordinates on the map, from those that each component gives its points."""
        return coordinates if self._arrangement is None else self._arrangement(coordinates, components)

    def _check_parameters(self) -> None:
        check_number("n_components", self.n_components, Integral, low=1, also=("auto",))
        check_choice("disconnected", self.disconnected, ("arrange", "whole", "separate", "error"))
        check_choice("eigen_solver", self.eigen_solver, SOLVERS)

    def _solved(self, graph: BuiltGraph, data: Points) -> tuple[BuiltGraph, _Found]:
        """The graph, calibrated if it is to be, and its coordinates."""
        data.engines.clear()  # what chose ε holds several times the points
        alone = on_device(graph.points) or graph.kernel.n_points > _MOST_BESIDE
        strips = strips_of(graph.kernel, n_jobs=self.n_jobs) if self.calibrate and graph.kernel.is_full else None
        with (
            one_blas_thread,
            beside(self._calibrated, graph, data, strips, n_jobs=1 if alone else self.n_jobs) as calibrated,
        ):
            found = self._spectrum(graph, strips, separate=self.disconnected == "separate")
            return calibrated(), found

    def _about_outliers(self, built: BuiltGraph, spectrum: Spectrum, data: Points) -> bool:
        """Whether half of the coordinates are about a few points, of a graph that was chosen by default."""
        undecided, selection = self._undecided(data, built.landmarks is not None), built.selection
        if not undecided or selection is None or not selection.by_consistency:
            return False
        if self.disconnected == "separate" or len(data) <= max(2 * _EQUAL, _FEWEST):
            return False
        return bool(np.mean(_held_by_few(spectrum.vectors[:, 1:]) > _HALF) >= _HALF) and not mostly_copies(data)

    def _of_equal_weights(self, built: BuiltGraph, data: Points) -> BuiltGraph:
        """The graph that joins nearest neighbors with equal weights, in the place of another one."""
        skeleton = self._of_nearest(data, _EQUAL)
        assert skeleton.pairs is not None
        longest = float(skeleton.pairs.sqdist.max()) ** 0.5 * skeleton.pairs.unit
        joined = build_graph(data, skeleton, _WIDE * longest, random_state=self.random_state)
        return replace(joined, selection=built.selection, metric=built.metric, dropped_weight=None)

    def _spectrum(self, built: BuiltGraph, strips: Strips | None, *, separate: bool) -> _Found:
        """The constant eigenvector and those that are coordinates, which these are, and how they were chosen.

        Of the whole graph, or ``separate`` of each component.
        """
        graph, components = built.kernel, graph_components(built.kernel)
        if isinstance(self.n_components, str):  # "auto"
            return self._independent(built, components, strips, separate=separate)
        if self.n_components >= graph.n_points:
            raise refusal(
                "{n_components} must be less than the number of points; {given} was given for {n} points: lower it.",
                given=self.n_components,
                n=graph.n_points,
            )
        spectrum = self._smoothest(built, self.n_components, components, strips, separate=separate)
        if spectrum.n_components > 1 and not separate and built.has_coordinates:
            spectrum = _by_place(spectrum, host_array(built.points).astype(float))
        return spectrum, np.arange(self.n_components), None

    def _check_connected(self, spectrum: Spectrum, graph: KernelGraph) -> None:
        sizes = np.bincount(spectrum.components)
        if len(sizes) == 1 or self.disconnected == "separate":
            return
        most = MOST_CONTRASTS if isinstance(self.n_components, str) else self.n_components
        message = _in_components(sizes, self.disconnected, min(len(sizes) - 1, most), graph.bandwidth)
        if self.disconnected == "error":
            raise ValueError(message)
        warn_caller(message)

    def _smoothest(
        self, built: BuiltGraph, k: int, components: np.ndarray, strips: Strips | None, *, separate: bool
    ) -> Spectrum:
        """The constant eigenvector and the k smoothest others."""
        return smooth_spectrum(
            built.kernel,
            k + 1,
            markov=self._markov,
            separate=separate,
            components=components,
            solver=self.eigen_solver,
            strips=strips,
            n_jobs=self.n_jobs,
        )

    def _independent(self, built: BuiltGraph, components: np.ndarray, strips: Strips | None, *, separate: bool) -> _Found:
        """The coordinates that span the data, out of enough candidates."""
        graph, told, n_components = built.kernel, known_dimension(built.selection), int(components.max()) + 1
        separate = separate or (self.disconnected == "arrange" and n_components > _MOST_COMPONENTS)
        if n_components > _MOST_COMPONENTS and not separate:
            raise refusal(
                "Coordinates can be chosen in a graph of at most {most} components; this one has {n}: use a larger "
                "bandwidth or more neighbors, remove outliers, or use {disconnected=arrange}.",
                most=_MOST_COMPONENTS,
                n=n_components,
            )
        for m in _CANDIDATES:
            k = min(m if separate else m + n_components - 1, graph.n_points - 1)
            spectrum = self._smoothest(built, k, components, strips, separate=separate)
            choice = Choice(spectrum.vectors[:, 1:], graph, components)
            if told is None or choice.dimension()[0] >= told or k < m:
                break
        independence = choice.made(told=told)
        coordinates = independence.chosen if len(independence.chosen) else np.arange(1)  # of single points
        if separate:
            others = [self._of_component(spectrum, graph, part, len(coordinates)) for part in range(1, n_components)]
            coordinates = np.array([coordinates, *others])
        return _picked(spectrum, coordinates), coordinates, independence

    def _of_component(self, spectrum: Spectrum, graph: KernelGraph, part: int, s: int) -> np.ndarray:
        """As many coordinates for one of several components: the first ones if it is small."""
        first = np.arange(s)
        if (spectrum.components == part).sum() < _FEWEST_POINTS:
            return first
        chosen = Choice(spectrum.vectors[:, 1:], graph, spectrum.components, part).made(n_coordinates=s).chosen
        return chosen if len(chosen) == s else first

    @abstractmethod
    def _coordinates_of(self, spectrum: Spectrum, loss: np.ndarray, graph: KernelGraph) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues as the map reports them, and the coordinates of the points that carry the graph."""


def _picked(spectrum: Spectrum, coordinates: np.ndarray) -> Spectrum:
    """The constant eigenvector and some others; of each component its own, if there is a row of them for each."""
    columns = np.concatenate([np.zeros((*coordinates.shape[:-1], 1), dtype=int), coordinates + 1], axis=-1)
    if columns.ndim == 1:
        return replace(spectrum, eigenvalues=spectrum.eigenvalues[columns], vectors=spectrum.vectors[:, columns])
    return replace(
        spectrum,
        eigenvalues=np.take_along_axis(spectrum.eigenvalues, columns, axis=1),
        vectors=np.take_along_axis(spectrum.vectors, columns[spectrum.components], axis=1),
    )


def _by_place(spectrum: Spectrum, points: np.ndarray) -> Spectrum:
    """The same spectrum, with components told apart by where they are.

    Any basis of the functions that are constant on components is one of eigenvectors.  This one holds the principal
    components of their centers, weighted by mass: however few coordinates there are, each component has a place of its own.
    The same spectrum also where centers vary in fewer directions than there are coordinates to tell them apart.
    """
    labels, mass = spectrum.components, spectrum.mass
    masses = np.bincount(labels, mass)
    share = masses / masses.sum()
    centers = np.stack([np.bincount(labels, mass * x) for x in points.T], axis=1) / masses[:, None]
    U, extent, _ = np.linalg.svd(np.sqrt(share)[:, None] * (centers - share @ centers), full_matrices=False)
    told = min(len(masses), spectrum.vectors.shape[1]) - 1
    if told > len(extent) or not extent[told - 1] > _ROUNDING * extent[0]:
        return spectrum
    vectors = spectrum.vectors.copy()
    vectors[:, 1 : 1 + told] = with_signs((U[:, :told] / np.sqrt(masses)[:, None])[labels])
    return replace(spectrum, vectors=vectors)


def _in_components(sizes: np.ndarray, disconnected: str, useless: int, bandwidth: float) -> Sentence:
    mapped = {
        "arrange": "each is mapped by itself, around the largest; distances between them mean nothing. To join them, use",
        "whole": "the first {coordinates} them. Map each by itself with {disconnected=arrange}, use",
        "error": "map each by itself with {disconnected=arrange}, use",
    }
    return Sentence(
        "The graph should be connected; at bandwidth {bandwidth:.4g} it has {n} components (of {shown} points): "
        + mapped[disconnected]
        + " a larger bandwidth, over all pairs if need be, or remove outliers.",
        bandwidth=bandwidth,
        n=len(sizes),
        shown=", ".join(map(str, sizes[:5])) + (", …" if len(sizes) > 5 else ""),
        coordinates="coordinate only separates" if useless == 1 else f"{useless} coordinates only separate",
    )


@dataclass(eq=False, repr=False)
class LaplacianEigenmap(_SpectralMap):
    """Laplacian eigenmap: the smoothest functions on the data as coordinates (Belkin & Niyogi 2003).

    .. math:: \\min Σ_{ij} W'_{ij} (φ_i - φ_j)^2 \\quad\\text{with}\\quad Σ_i d'_i φ_{ik} φ_{il} = δ_{kl},\\ φ ⊥ 1

    The same map as scikit-learn's SpectralEmbedding on the same graph (which leaves out self-weights), but at a bandwidth
    chosen by geometry, with eigenvalues in the unit of the data, ``transform`` for new points, and support for disconnected
    graphs.

    Parameters
    ----------
    <coordinates>
    <parameters of the map>
    <parameters of the graph>

    Attributes
    ----------
    <embedding>
    eigenvalues_ : ndarray (n_components,)
        Of −L, ascending: they tend to those of the Laplace–Beltrami operator.  Where components are mapped by themselves,
        one row for each, NaN for coordinates that a small component does not have.
    <attributes of the map>
    <attributes of the graph>

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(1000, random_state=0).data
    >>> eigenmap = geolap.LaplacianEigenmap(n_components=3, random_state=0).fit(X)
    >>> eigenmap.eigenvalues_.round(1)  # 2, 2, 2 on the unit sphere
    array([2., 2., 2.])
    >>> eigenmap.transform(X[:5]).shape
    (5, 3)
    """

    def _coordinates_of(self, spectrum: Spectrum, loss: np.ndarray, graph: KernelGraph) -> tuple[np.ndarray, np.ndarray]:
        return graph.true_eigenvalues(spectrum.eigenvalues[..., 1:]), spectrum.vectors[:, 1:]


@dataclass(eq=False, repr=False)
class DiffusionMap(_SpectralMap):
    """Diffusion map: coordinates in which straight distances are diffusion distances (Coifman & Lafon 2006).

    .. math:: Ψ_k(x) = a_k^t ψ_k(x), \\qquad P ψ_k = a_k ψ_k, \\qquad Σ_i π_i ψ_k(x_i)^2 = 1

    with π the stationary distribution of P.  ``renormalization`` is their α.  One step of P is diffusion on the data over
    the time c ε²/4, with c from `geolap.Calibration`.

    Parameters
    ----------
    <coordinates>
    diffusion_time : float or "auto", default 1.0
        t, in steps of P.  "auto" is the time at which the entropy of the spectrum of P^t stops falling fast: by then noise
        is gone and structure remains (von Neumann entropy, as in PHATE; Moon et al. 2019).
    <parameters of the map>
    <parameters of the graph>

    Attributes
    ----------
    <embedding>
    eigenvalues_ : ndarray (n_components,)
        a_k of P, descending; ``−log(a_k) / time_step_`` are eigenvalues of −Δ.  Where components are mapped by themselves,
        one row for each, NaN for coordinates that a small component does not have.
    time_step_ : float
        The time of one step of P, in the square of the data's unit: c ε²/4.
    diffusion_time_ : float
        t
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
    diffusion_time: float | str = 1.0

    @property
    def time_step_(self) -> float:
        return 0.25 * self._built.kernel.factor * self.bandwidth_**2

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.diffusion_time != "auto":
            check_number("diffusion_time", self.diffusion_time, low=0)

    def _coordinates_of(self, spectrum: Spectrum, loss: np.ndarray, graph: KernelGraph) -> tuple[np.ndarray, np.ndarray]:
        t = float(spectral_entropy(graph, spectrum).knee if self.diffusion_time == "auto" else self.diffusion_time)
        self.diffusion_time_ = t
        separate = loss.ndim == 2
        groups = spectrum.components if separate else np.zeros_like(spectrum.components)
        size = np.sqrt(np.bincount(groups, weights=spectrum.mass))[groups]  # makes the constant eigenvector 1
        # Negative numbers have whole powers only; those of smooth eigenvectors are positive.
        power = (1.0 - loss) ** int(t) if t.is_integer() else np.maximum(1.0 - loss, 0.0) ** t
        coordinates = spectrum.vectors[:, 1:] * size[:, None] * (power[groups] if separate else power)
        return 1.0 - graph.bandwidth**2 / 4.0 * spectrum.eigenvalues[..., 1:], coordinates


def _few_points(Y: np.ndarray) -> Sentence | None:
    """What to say if a coordinate of the map Y (n, k) is about a few points and nothing else; None if none is."""
    held = _held_by_few(Y)
    single = np.flatnonzero(held > _NEARLY_ALL)
    if len(Y) < _FEWEST or not len(single):
        return None
    return Sentence(
        "Coordinates should vary over the data; {most} of {n} points have {share:.0%} of the variance of {which}: remove "
        "these outliers, or use nearest neighbors with equal weights ({n_neighbors=20} and a {bandwidth} far above all "
        "distances).",
        which=f"coordinate {single[0] + 1}",
        most=max(1, int(_FEW * len(Y))),
        n=len(Y),
        share=float(held[single[0]]),
    )


def _held_by_few(Y: np.ndarray) -> np.ndarray:
    """The share of its variance that a few points have of each coordinate of the map Y (n, k)."""
    n, most = len(Y), max(1, int(_FEW * len(Y)))
    squares = (Y - Y.mean(axis=0)) ** 2
    held = np.partition(squares, n - most, axis=0)[n - most :].sum(axis=0)
    return held / np.maximum(squares.sum(axis=0), np.finfo(float).tiny)
