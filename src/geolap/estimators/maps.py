"""Maps of the data: Laplacian eigenmaps and diffusion maps, with an extension to new points.

The coordinates of a point are the values there of the smoothest eigenvectors of the Laplacian, the constant one left out.
For a new point x, the eigenvalue equation itself gives the value (the Nyström extension):

.. math:: φ_k(x) = \\frac{Σ_j P(x, x_j) φ_k(x_j)}{1 - λ_k ε(x)^2/4}

with P(x, ·) the row of transition probabilities that x would have.  A point of the training set gets its own coordinates.
"""

import warnings
from numbers import Integral

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..graphs.spectrum import SOLVERS, smooth_spectrum
from ..validation import check_choice, check_number
from .laplacian import GraphEstimator, with_graph_parameters

__all__ = ["DiffusionMap", "LaplacianEigenmap"]

_PARAMETERS = """    disconnected : {"warn", "error", "separate"}, default "warn"
        What to do with a graph in several components: warn, and let the first coordinates tell them apart; refuse; or give
        each component a map of its own.
    n_landmarks : int, optional
        Only so many points, a stratified sample, carry the graph; ε and the degrees are those of all points, and the other
        points get their coordinates by Nyström extension.
    eigen_solver : {"auto", "dense", "lanczos", "lobpcg"}, default "auto"
        "lobpcg" needs a sparse graph and pyamg (``geolap[scale]``).  By default small graphs are solved directly, up to 15
        coordinates of more than 50 000 points by LOBPCG if pyamg is installed, all others by Lanczos.
"""


def _with_map_parameters(cls):
    """Insert what both maps have in common into the documentation of one."""
    cls.__doc__ = cls.__doc__.replace("    <parameters of the map>\n", _PARAMETERS)
    return with_graph_parameters(cls)


# Below this the Nyström extension would multiply what is mostly noise.
_LEAST_EIGENVALUE = 0.05


class _SpectralMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):
    """A map whose coordinates are eigenvectors of a graph."""

    _markov = False  # eigenvectors of P rather than of L

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X, y=None):
        """Find the map of the points X (n_points, n_features); y is used by methods that choose ε by labels.

        Returns
        -------
        self
        """
        check_number("n_components", self.n_components, Integral, low=1)
        check_choice("disconnected", self.disconnected, ("warn", "error", "separate"))
        check_choice("eigen_solver", self.eigen_solver, SOLVERS)
        graph = self._fit_graph(X, y, self.n_landmarks)
        if self.n_components >= graph.n_points:
            raise ValueError(
                f"n_components must be less than the number of points; {self.n_components} was given for {graph.n_points} "
                "points: lower it."
            )
        separate = self.disconnected == "separate"
        spectrum = smooth_spectrum(
            graph,
            self.n_components + 1,
            markov=self._markov,
            separate=separate,
            solver=self.eigen_solver,
            n_jobs=self.n_jobs,
        )
        self.component_labels_ = spectrum.components
        self.n_graph_components_ = spectrum.n_components
        if spectrum.n_components > 1 and not separate:
            self._report(spectrum.components)
        loss = graph.bandwidth**2 / 4.0 * spectrum.eigenvalues[..., 1:]  # 1 − eigenvalue of P, where ρ = 1
        self._loss = np.nan_to_num(loss)  # coordinates that a small component does not have are zero
        self._coordinates = self._coordinates_of(spectrum)
        self.embedding_ = self._coordinates.astype(graph.weights.dtype)
        self.landmarks_ = self._landmarks
        if self._landmarks is not None:
            self.embedding_ = self.transform(X)
        self._n_features_out = self.n_components
        return self

    def fit_transform(self, X, y=None):
        """Find the map of the points X and return it, (n_points, n_components)."""
        return self.fit(X, y).embedding_

    def transform(self, X):
        """Coordinates (n, n_components) of new points X (n, n_features) on the map, by Nyström extension.

        Where the denominator falls below 0.05, because the map has more coordinates than the graph can resolve, it is held
        there.
        """
        check_is_fitted(self)
        separate = self._loss.ndim == 2  # each component has coordinates and eigenvalues of its own
        means, nearest, twin = self._extended(X, self._coordinates, self.component_labels_ if separate else None)
        loss = self._loss[self.component_labels_[nearest]] if separate else self._loss
        if not self._markov:
            loss = loss * (self.graph_.bandwidths[nearest, None] / self.bandwidth_) ** 2
        result = means / np.maximum(1.0 - loss, _LEAST_EIGENVALUE)
        result[twin] = self._coordinates[nearest[twin]]
        return result.astype(self.embedding_.dtype)

    def _report(self, components):
        sizes = np.bincount(components)
        shown = ", ".join(map(str, sizes[:5])) + (", …" if len(sizes) > 5 else "")
        useless = min(len(sizes) - 1, self.n_components)
        coordinates = "coordinate only tells" if useless == 1 else f"{useless} coordinates only tell"
        message = (
            f"The graph should be connected; at bandwidth {self.bandwidth_:.4g} it has {len(sizes)} components (of {shown} "
            f"points): the first {coordinates} them apart.  Embed each on its own with disconnected='separate', use a "
            "larger bandwidth or more neighbors, or remove outliers."
        )
        if self.disconnected == "error":
            raise ValueError(message)
        warnings.warn(message, stacklevel=3)


@_with_map_parameters
class LaplacianEigenmap(_SpectralMap):
    """Laplacian eigenmap: the smoothest functions on the data as coordinates (Belkin & Niyogi 2003).

    .. math:: \\min Σ_{ij} W'_{ij} (φ_i - φ_j)^2 \\quad\\text{with}\\quad Σ_i d'_i φ_{ik} φ_{il} = δ_{kl},\\ φ ⊥ 1

    The same map as scikit-learn's SpectralEmbedding of the same graph (which leaves out self-weights), at a bandwidth that
    the geometry chooses, with eigenvalues in the unit of the data, for new points too, and with an answer when the graph
    falls apart.

    Parameters
    ----------
    n_components : int, default 2
        Coordinates of the map.
    bandwidth : float, str or selector, default "gc"
        ε, the name of a method of `geolap.select_bandwidth`, or a selector.  "gc" selects ε for the graph that is built.
    <parameters of the map>
    self_weights : bool, default True
        Whether W_ii = 1 or 0.
    <parameters of the graph>

    Attributes
    ----------
    embedding_ : ndarray (n_points, n_components)
        Signs are fixed: in every coordinate the entry of largest magnitude is positive.
    eigenvalues_ : ndarray (n_components,)
        Of −L, ascending: they tend to those of the Laplace–Beltrami operator.  With ``disconnected="separate"`` one row for
        each component, NaN for coordinates that a small component does not have.
    n_graph_components_ : int
        Connected components of the graph.
    component_labels_ : ndarray (n_points,)
        Which of them each point of the graph belongs to, the largest being 0.
    landmarks_ : ndarray (n_landmarks,) or None
        Which points carry the graph, ascending; ``graph_`` and ``component_labels_`` are theirs.
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

    def __init__(
        self,
        n_components=2,
        bandwidth="gc",
        *,
        disconnected="warn",
        n_landmarks=None,
        eigen_solver="auto",
        renormalization=1.0,
        self_weights=True,
        cutoff=None,
        n_neighbors=None,
        neighbors=None,
        local_scale=None,
        metric="euclidean",
        random_state=None,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.disconnected = disconnected
        self.n_landmarks = n_landmarks
        self.eigen_solver = eigen_solver
        self.renormalization = renormalization
        self.self_weights = self_weights
        self.cutoff = cutoff
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.local_scale = local_scale
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _coordinates_of(self, spectrum):
        self.eigenvalues_ = spectrum.eigenvalues[..., 1:]
        return spectrum.vectors[:, 1:]


@_with_map_parameters
class DiffusionMap(_SpectralMap):
    """Diffusion map: coordinates in which straight distances are diffusion distances (Coifman & Lafon 2006).

    .. math:: Ψ_k(x) = a_k^t ψ_k(x), \\qquad P ψ_k = a_k ψ_k, \\qquad Σ_i π_i ψ_k(x_i)^2 = 1

    with π the stationary distribution of P.  ``renormalization`` is their α.  One step of P is diffusion over the time ε²/4.

    Parameters
    ----------
    n_components : int, default 2
        Coordinates of the map.
    bandwidth : float, str or selector, default "gc"
        ε, the name of a method of `geolap.select_bandwidth`, or a selector.  "gc" selects ε for the graph that is built.
    diffusion_time : float, default 1.0
        t, in steps of P.
    <parameters of the map>
    self_weights : bool, default True
        Whether W_ii = 1 or 0.
    <parameters of the graph>

    Attributes
    ----------
    embedding_ : ndarray (n_points, n_components)
        Signs are fixed: in every coordinate the entry of largest magnitude is positive.
    eigenvalues_ : ndarray (n_components,)
        a_k of P, descending.  With ``disconnected="separate"`` one row for each component, NaN for coordinates that a small
        component does not have.
    n_graph_components_ : int
        Connected components of the graph.
    component_labels_ : ndarray (n_points,)
        Which of them each point of the graph belongs to, the largest being 0.
    landmarks_ : ndarray (n_landmarks,) or None
        Which points carry the graph, ascending; ``graph_`` and ``component_labels_`` are theirs.
    <attributes of the graph>

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_torus(1000, random_state=0).data
    >>> geolap.DiffusionMap(random_state=0).fit_transform(X).shape
    (1000, 2)
    """

    _markov = True

    def __init__(
        self,
        n_components=2,
        bandwidth="gc",
        *,
        diffusion_time=1.0,
        disconnected="warn",
        n_landmarks=None,
        eigen_solver="auto",
        renormalization=1.0,
        self_weights=True,
        cutoff=None,
        n_neighbors=None,
        neighbors=None,
        local_scale=None,
        metric="euclidean",
        random_state=None,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.diffusion_time = diffusion_time
        self.disconnected = disconnected
        self.n_landmarks = n_landmarks
        self.eigen_solver = eigen_solver
        self.renormalization = renormalization
        self.self_weights = self_weights
        self.cutoff = cutoff
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.local_scale = local_scale
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        check_number("diffusion_time", self.diffusion_time, low=0)
        return super().fit(X, y)

    fit.__doc__ = _SpectralMap.fit.__doc__

    def _coordinates_of(self, spectrum):
        self.eigenvalues_ = 1.0 - self.bandwidth_**2 / 4.0 * spectrum.eigenvalues[..., 1:]
        separate = self._loss.ndim == 2
        groups = spectrum.components if separate else np.zeros_like(spectrum.components)
        size = np.sqrt(np.bincount(groups, weights=spectrum.mass))[groups]  # makes the constant eigenvector 1
        power = 1.0 - self._loss
        if float(self.diffusion_time).is_integer():
            power = power ** int(self.diffusion_time)
        else:  # a negative number has no such power; those of smooth eigenvectors are positive
            power = np.maximum(power, 0.0) ** self.diffusion_time
        return spectrum.vectors[:, 1:] * size[:, None] * (power[groups] if separate else power)
