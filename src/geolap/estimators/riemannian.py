"""The metric of a map: how lengths and areas on an embedding relate to those of the data.

For a map y = f(x) and the Laplacian L of the data, the dual metric at point i is

.. math:: H_i = \\frac12 Σ_j L_{ij} (y_j - y_i)(y_j - y_i)^T

(equation 4 of the paper; Perrault-Joncas & Meilă 2013), and the metric G is its inverse on the d directions in which the
manifold extends, its pseudo-inverse of rank d.  A small step Δy on the map has the length sqrt(Δyᵀ G Δy) on the data, a
small area there is √det G times the one on the map.  Between points the dual metrics are averaged, which are linear in L,
rather than their inverses, which a single flat place would dominate.  Expanding the square gives products of L with the
columns of y alone,

.. math:: 2 H_i^{ab} = [L(y^a y^b)]_i - y^a_i [L y^b]_i - y^b_i [L y^a]_i + y^a_i y^b_i [L 1]_i

so that no N×N matrix is made that L is not already: O(nnz s²).

Where the map itself is flat, the metric is lost: eigenvectors of a manifold with a border have no slope across it, and
within about ε of the border lengths across it, and areas, come out too small.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree
from sklearn.utils.validation import check_is_fitted

from ..data.points import real_numbers
from ..laplacian import Matrix
from ..metric import departure
from ..runtime.threads import one_blas_thread
from ..shown import Plotted
from ..validation import check_number
from .base import GraphEstimator

__all__ = ["RiemannianMetric", "dual_metric_of_map", "riemannian_metric"]

# An entry of L below this share of the largest joins nothing: it is rounding.
_NO_EDGE = 1e-14


@dataclass(frozen=True)
class RiemannianMetric(Plotted):
    """The metric of the data, in the coordinates of a map.

    Attributes
    ----------
    embedding : ndarray (N, s)
        y
    dual : ndarray (N, s, s)
        H
    metric : ndarray (N, s, s)
        G, of rank d.
    volume : ndarray (N,)
        √det G on the d tangent directions: the volume on the data of a unit of volume on the map.
    distortion : ndarray (N,)
        ‖H − I‖ on the tangent directions: 0 where the map is an isometry.
    tangent : ndarray (N, s, d)
        Orthonormal tangent directions on the map, the one of largest stretch first.
    stretch : ndarray (N, d)
        Lengths on the map of unit steps on the data along these directions.
    """

    embedding: np.ndarray
    dual: np.ndarray
    metric: np.ndarray
    volume: np.ndarray
    distortion: np.ndarray
    tangent: np.ndarray
    stretch: np.ndarray

    def length(self, curve: Any, *, corrected: bool = True) -> float:
        """Length on the data of a curve on the map.

        Parameters
        ----------
        curve : array-like of int (n,) or of float (n, s)
            The points on the curve, as row indices, or as positions on the map, where the metric is that of the nearest
            point.
        corrected : bool, default True
            False gives the length on the map itself.

        Returns
        -------
        float
        """
        y, H = self._along(curve)
        steps = np.diff(y, axis=0)
        return float((self._lengths(steps, 0.5 * (H[1:] + H[:-1])) if corrected else np.linalg.norm(steps, axis=1)).sum())

    def edge_lengths(self, graph: Any) -> sparse.csr_array:
        """Lengths on the data of the edges of a sparse graph (N, N): a CSR matrix over the same pairs, without the diagonal.

        The graph must join only nearby points, as scikit-learn's kneighbors_graph does: the metric measures small steps.
        """
        n = len(self.embedding)
        if not sparse.issparse(graph) or graph.shape != (n, n):
            raise ValueError(
                f"Paths need a sparse matrix of {n} rows and columns that joins only nearby points; a "
                f"{type(graph).__name__} of shape {np.shape(graph)} was given: pass scikit-learn's kneighbors_graph(X, "
                "15), or the weights of a Laplacian with cutoff=3."
            )
        i, j = sparse.csr_array(graph).nonzero()
        i, j = i[i != j], j[i != j]
        lengths = np.empty(len(i))
        for part in np.array_split(np.arange(len(i)), max(1, len(i) // 2**18)):
            a, b = i[part], j[part]
            lengths[part] = self._lengths(self.embedding[b] - self.embedding[a], 0.5 * (self.dual[a] + self.dual[b]))
        return sparse.csr_array((lengths, (i, j)), shape=(n, n))

    def geodesics(self, graph: Any, sources: Any) -> np.ndarray:
        """Geodesic distances (n, N) on the data from the sources to all points, along a sparse graph of near points.

        Points in other components are infinitely far.
        """
        return dijkstra(self.edge_lengths(graph), directed=False, indices=self._rows(np.atleast_1d(sources)))

    def geodesic_path(self, graph: Any, start: int, end: int) -> np.ndarray:
        """The shortest path on the data between two points along a sparse graph of near points, as row indices.

        Raises
        ------
        ValueError
            If the points are in different components of the graph.
        """
        start, end = (int(i) for i in self._rows(np.array([start, end])))
        distances, before = dijkstra(self.edge_lengths(graph), directed=False, indices=start, return_predecessors=True)
        if not np.isfinite(distances[end]):
            raise ValueError(
                f"A path needs a connected graph; points {start} and {end} are in different components: use a larger "
                "bandwidth or more neighbors."
            )
        path = [end]
        while path[-1] != start:
            path.append(int(before[path[-1]]))
        return np.array(path[::-1])

    def area(self, triangles: Any, *, corrected: bool = True) -> float:
        """Area on the data of triangles on the map.

        Parameters
        ----------
        triangles : array-like of int (n, 3)
            Row indices of their corners, such as ``scipy.spatial.Delaunay(embedding).simplices``.
        corrected : bool, default True
            False gives the area on the map itself.

        Returns
        -------
        float
        """
        triangles = np.asarray(triangles)
        if triangles.ndim != 2 or triangles.shape[1] != 3:
            raise ValueError(
                f"Triangles must be an array (n, 3) of row indices; shape {triangles.shape} was given: pass the simplices "
                "of a triangulation."
            )
        corners = self.embedding[self._rows(triangles)]
        E = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)  # (n, s, 2): two sides
        G = self._inverse(self.dual[triangles].mean(axis=1)) if corrected else np.eye(E.shape[1])
        gram = np.swapaxes(E, 1, 2) @ G @ E
        return float(0.5 * np.sqrt(np.maximum(np.linalg.det(gram), 0.0)).sum())

    def _along(self, curve: Any) -> tuple[np.ndarray, np.ndarray]:
        curve = np.asarray(curve)
        if curve.ndim == 1 and curve.dtype.kind in "iu":
            return self.embedding[self._rows(curve)], self.dual[curve]
        if curve.ndim == 2 and curve.shape[1] == self.embedding.shape[1]:
            return curve, self.dual[cKDTree(self.embedding).query(curve)[1]]
        raise ValueError(
            f"A curve must be row indices (n,) or positions on the map (n, {self.embedding.shape[1]}); an array of shape "
            f"{curve.shape} and dtype {curve.dtype} was given: pass one of these."
        )

    def _rows(self, indices: np.ndarray) -> np.ndarray:
        n = len(self.embedding)
        if indices.dtype.kind not in "iu" or (indices.size and (indices.min() < 0 or indices.max() >= n)):
            raise ValueError(
                f"Points are given by row indices from 0 to {n - 1}; {indices.ravel()[:3]} were given: pass indices in "
                "this range."
            )
        return indices

    def _inverse(self, H: np.ndarray) -> np.ndarray:
        return _pseudo_inverse(*_leading(H, self.stretch.shape[1]))

    def _lengths(self, steps: np.ndarray, H: np.ndarray) -> np.ndarray:
        return np.sqrt(np.einsum("na,nab,nb->n", steps, self._inverse(H), steps))


def riemannian_metric(embedding: Any, laplacian: Any, intrinsic_dim: int | None = None) -> RiemannianMetric:
    """The metric of the data in the coordinates of a map (Perrault-Joncas & Meilă's LearnMetric).

    Parameters
    ----------
    embedding : array-like (n_points, s)
        A map of the data, from any method.
    laplacian : estimator, ndarray or sparse matrix (n_points, n_points)
        A fitted `GraphLaplacian`, `LaplacianEigenmap` or other estimator on a graph of these points, whose calibration for
        lengths is then used; or L itself, with ``normalization="random_walk"``: scaled, and with rows that sum to zero.
    intrinsic_dim : int, optional
        d, the dimension of the manifold; s by default.  Required if the map has more dimensions than the manifold.

    Returns
    -------
    RiemannianMetric

    Examples
    --------
    >>> import geolap
    >>> sphere = geolap.datasets.make_sphere(1000, random_state=0)
    >>> gl = geolap.GraphLaplacian(random_state=0).fit(sphere.data)
    >>> metric = geolap.riemannian_metric(2 * sphere.data, gl, intrinsic_dim=2)  # a map twice as large
    >>> round(float(metric.volume.mean()), 1)  # so an area on the map is a quarter of that on the data
    0.3
    """
    Y = real_numbers(embedding)
    if isinstance(laplacian, GraphEstimator):
        check_is_fitted(laplacian)
        laplacian = laplacian.graph_.metric_laplacian()
    L = laplacian.astype(float) if sparse.issparse(laplacian) else np.asarray(laplacian, dtype=float)
    _check_sizes(Y, L)
    n, s = Y.shape
    d = s if intrinsic_dim is None else check_number("intrinsic_dim", intrinsic_dim, Integral, low=1, high=s)
    extent = float(np.ptp(Y, axis=0).max(initial=0.0)) if n else 0.0
    if not 1e-120 < extent < 1e120:
        raise ValueError(
            f"The square of a map's extent must be a finite number; it extends over {extent:.1g}: rescale the map."
        )
    H = dual_metric_of_map(Y, L)
    values, vectors = _leading(H, d)
    flat = values[:, -1] <= 1e-12 * np.maximum(values[:, 0], np.finfo(float).tiny)
    if flat.any():
        first = f"at {flat.sum()} of {n} points it does not (the first is {flat.argmax()})"
        raise ValueError(f"The map must extend in intrinsic_dim={d} directions everywhere; {first}{_cure_of(flat, L, d)}.")
    return RiemannianMetric(
        embedding=Y,
        dual=H,
        metric=_pseudo_inverse(values, vectors),
        volume=1.0 / np.sqrt(values).prod(axis=1),
        distortion=departure(values[..., None] * np.eye(d)),
        tangent=vectors,
        stretch=np.sqrt(values),
    )


def dual_metric_of_map(Y: np.ndarray, L: Matrix) -> np.ndarray:
    """H (N, s, s) of a map Y (N, s) and a Laplacian L (N, N); singular where neighbors are missing or the map is flat."""
    s = Y.shape[1]
    Y = Y - Y.mean(axis=0)
    a, b = np.triu_indices(s)
    products = Y[:, a] * Y[:, b]
    with one_blas_thread:
        once, twice, ones = L @ Y, L @ products, np.asarray(L.sum(axis=1)).reshape(-1, 1)
    upper = 0.5 * (twice - Y[:, a] * once[:, b] - Y[:, b] * once[:, a] + products * ones)
    H = np.empty((len(Y), s, s))
    H[:, a, b] = H[:, b, a] = upper
    return H


def _cure_of(flat: np.ndarray, L: Matrix, d: int) -> str:
    """Why a map may be flat at some of the points, and what to do."""
    joined = sparse.csr_array(abs(L) > _NO_EDGE * abs(L.diagonal()).max())
    n, component = connected_components(joined, directed=False)
    if n == 1:
        return ": a map that folds needs more coordinates or a smaller intrinsic_dim"
    sizes = np.bincount(component)
    small = (sizes <= d)[component]
    cures = ["map each by itself, as disconnected='arrange' does"] if (flat & ~small).any() else []
    cures += [f"remove the {small.sum()} in components of {d} or fewer"] if small.any() else []
    return f", in a graph of {n} components: {' and '.join(cures)}"


def _leading(H: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The d largest eigenvalues (n, d) of each H and their vectors (n, s, d)."""
    values, vectors = np.linalg.eigh(H)
    return values[:, : -d - 1 : -1], vectors[:, :, : -d - 1 : -1]


def _pseudo_inverse(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2)


def _check_sizes(Y: np.ndarray, L: Matrix) -> None:
    if Y.ndim != 2 or not np.isfinite(Y).all():
        raise ValueError(
            f"A map must be a finite array (n_points, s); shape {Y.shape} was given, finite: {bool(np.isfinite(Y).all())}: "
            "pass what fit_transform returns."
        )
    if L.ndim != 2 or L.shape != (len(Y), len(Y)):
        raise ValueError(
            f"The Laplacian must be a matrix of {len(Y)} rows and columns, one for each point of the map; shape {L.shape} "
            "was given: build both from the same points."
        )
    sums, size = np.asarray(L.sum(axis=1)).ravel(), np.abs(L.diagonal())
    if not np.isfinite(sums).all():
        raise ValueError("The Laplacian must be finite; this one contains NaN or infinity: build it from finite points.")
    if size.max() > 1.01 * size.min() and abs(L - L.T).max() == 0:
        raise ValueError(
            "The Laplacian must be that of a random walk; the given one is symmetric, as the unnormalized and the symmetric "
            "ones are: use normalization='random_walk'."
        )
    if np.abs(sums).max() > 1e-3 * max(float(size.max()), np.finfo(float).tiny):
        raise ValueError(
            "The rows of the Laplacian must sum to zero; those of the given matrix do not: use normalization='random_walk'."
        )
    if (L.diagonal() > 0).any():
        raise ValueError(
            "The Laplacian must have a negative diagonal, as (4/ε²)(P − I) has; that of the given one is positive: pass -L."
        )
