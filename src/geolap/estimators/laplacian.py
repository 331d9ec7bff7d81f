"""The plainest estimator on a graph: its Laplacian as a matrix."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from ..data.points import is_chunked
from ..graphs.graph import NORMALIZATIONS
from ..selectors import BandwidthSelector
from ..validation import check_choice
from .base import GraphEstimator

__all__ = ["GraphLaplacian"]


@dataclass(eq=False, repr=False)
class GraphLaplacian(GraphEstimator):
    """The graph Laplacian of the data, at the bandwidth set by its geometry.

    .. math:: L = \\frac{4}{c ε^2} (P - I) \\;→\\; Δ

    tends to the Laplace–Beltrami operator of the manifold as the number of points grows, with λ = 1 regardless of their
    density.  Its eigenvalues are negative or zero.  To apply L to a function point by point, a larger bandwidth than ε̂ is
    better: ε̂ suits methods based on the spectrum.

    Parameters
    ----------
    <bandwidth>
    normalization : {"random_walk", "symmetric", "unnormalized"}, default "random_walk"
        (4/cε²)(P − I); with the symmetric A_ij = W'_ij/√(d'_i d'_j) instead of P; or (4/cε²)(W' − diag d').
    <parameters of the graph>

    Attributes
    ----------
    laplacian_ : ndarray or csr_array (n_points, n_points)
        L
    transition_ : ndarray or csr_array (n_points, n_points)
        P, whose rows sum to 1.
    degrees_ : ndarray (n_points,)
        Row sums of the weights W.
    <attributes of the graph>

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(1000, random_state=0).data
    >>> gl = geolap.GraphLaplacian(random_state=0).fit(X)
    >>> gl.laplacian_.shape
    (1000, 1000)
    >>> z = X[:, 2]  # Δz = −2z on the unit sphere
    >>> round(float(z @ gl.laplacian_ @ z / (z @ z)), 1)
    -2.0
    """

    bandwidth: float | str | BandwidthSelector = "gc"
    _: KW_ONLY
    normalization: str = "random_walk"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Build the Laplacian of the points X (n_points, n_features); y is used by rules for ε that need labels.

        ``sample_weight`` (n_points,) is the number of points that each row represents.

        Returns
        -------
        self
        """
        check_choice("normalization", self.normalization, NORMALIZATIONS)
        if is_chunked(X):
            raise ValueError(
                "A Laplacian is a matrix over all points, which must be in memory; a dask array was given: pass X.compute() "
                "if that fits in memory, or use LaplacianEigenmap, whose graph is built on landmarks."
            )
        self._built = self._build(self._data(X, sample_weight), y)
        graph = self.graph_
        self.degrees_ = graph.degrees
        self.transition_ = graph.transition().copy()  # its pattern is that of the weights, and not the user's to change
        self.laplacian_ = graph.laplacian(self.normalization)
        return self
