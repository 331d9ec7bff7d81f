"""The graph: from pairs of points and a bandwidth to the matrices that everything else is built on.

W (weights), d (degrees), v (density weights), W' = diag(v) W diag(v), d' (its degrees), P = W'/d' and L, as in
`geolap.laplacian`; and the symmetric relative of P, A = W'_ij / √(d'_i d'_j), whose eigenvalues are those of P.

A point without neighbors stays in place: P_ii = 1, and L is zero in its row.

Points of weights m make the graph in which the copies of each are one: it has the weights m_i W_ij m_j, with those between
copies on the diagonal, m_i (m_i − 1), and m_i more with self-weights.  v is that of a copy, of degree d_i/m_i.  P takes the
same steps between places, and the smooth eigenvectors, the same at all copies of a point, are those of the copies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from ..calibration import Calibration, heat_eigenvalues
from ..data.multiplicity import counts_of, weights_at
from ..data.pairs import Pairs
from ..engines.base import NO_NEIGHBORS
from ..laplacian import (
    LocalScale,
    Matrix,
    density_weights,
    laplacian,
    log_density_weights,
    scaled,
    shifted,
    submatrix,
)
from ..runtime.caching import cached_property
from ..runtime.libraries import needed
from ..runtime.memory import require_memory
from ..runtime.threads import one_blas_thread
from ..validation import check_number

__all__ = ["NORMALIZATIONS", "KernelGraph", "kernel_graph", "order_of"]

NORMALIZATIONS = ("random_walk", "symmetric", "unnormalized")
# What networkx holds for each edge: a dictionary of attributes, and an entry in those of both its ends.
_BYTES_OF_EDGE = 450


@dataclass(frozen=True)
class KernelGraph:
    """A weighted graph over points.

    Attributes
    ----------
    weights : ndarray or csr_array (N, N)
        W, symmetric; m_i W_ij m_j where points have weights.
    bandwidth : float
    degrees : ndarray (N,)
        Row sums of W; over landmarks, those of the graph over all points.
    density : ndarray (N,)
        v, which divides the density out of W, over its largest value.
    density_unit : float
        That value.
    scale : LocalScale or None
    calibration : Calibration or None
        What L is divided by, if it was measured.
    multiplicity : ndarray (N,) or None
        m, the weights of the points; None if all are 1.
    order : ndarray (N,) or None
        The points in the order of a k-d tree, if pairs are those within reach or a share of them.
    """

    weights: Matrix
    bandwidth: float
    degrees: np.ndarray
    density: np.ndarray
    density_unit: float
    scale: LocalScale | None = None
    calibration: Calibration | None = None
    multiplicity: np.ndarray | None = None
    order: np.ndarray | None = None

    @property
    def n_points(self) -> int:
        return len(self.degrees)

    @property
    def is_full(self) -> bool:
        """Whether W is a full matrix in the memory of the host."""
        return isinstance(self.weights, np.ndarray)

    @property
    def bandwidths(self) -> np.ndarray:
        """ε(x_i), one for each point."""
        return self.bandwidth * (np.ones(self.n_points) if self.scale is None else self.scale.rho)

    @property
    def column_weights(self) -> np.ndarray:
        """m v, v over its unit: what a point counts for among the neighbors of a new one, beside the kernel."""
        return self.density if self.multiplicity is None else self.multiplicity * self.density

    @property
    def factor(self) -> float:
        """c, what L is divided by: 1 unless the graph is calibrated."""
        return 1.0 if self.calibration is None else self.calibration.factor

    @property
    def renormalized_degrees(self) -> np.ndarray:
        """d', the row sums of W'; 0 for points without neighbors."""
        return self.density_unit**2 * self._sums

    @cached_property
    def density_sums(self) -> np.ndarray:
        """W v, with v over its unit."""
        with one_blas_thread:  # others would go on to wait for work, and slow down what comes next
            return self.weights @ self.density

    @property
    def _sums(self) -> np.ndarray:
        """d' over the square of the unit of v."""
        return self.density * self.density_sums

    def restricted(self, rows: np.ndarray) -> "KernelGraph":
        """The graph of some points, whole components of this one: their degrees stay."""
        W = submatrix(self.weights, rows)
        scale = None if self.scale is None else LocalScale(self.scale.rho[rows], self.scale.intrinsic_dim)
        m = weights_at(self.multiplicity, rows)
        return replace(
            self,
            weights=W,
            degrees=self.degrees[rows],
            density=self.density[rows],
            scale=scale,
            multiplicity=m,
            order=order_of(self.order, rows),
        )

    def renormalized(self) -> Matrix:
        """W' = diag(v) W diag(v)."""
        v = self.density_unit * self.density
        return scaled(self.weights, rows=v, columns=v)

    def transition(self) -> Matrix:
        """P, whose rows sum to 1."""
        isolated = self._sums == 0
        P = scaled(self.weights, rows=self.density * _inverse(self._sums), columns=self.density)
        return shifted(P, isolated.astype(P.dtype)) if isolated.any() else P

    def symmetric(self) -> Matrix:
        """A = diag(d')^{−1/2} W' diag(d')^{−1/2}; rows of points without neighbors are zero."""
        return scaled(self.weights, rows=self.symmetric_root, columns=self.symmetric_root)

    @property
    def symmetric_root(self) -> np.ndarray:
        """What rows and columns of W are multiplied by in A."""
        return self.density * np.sqrt(_inverse(self._sums))

    def laplacian(self, normalization: str = "random_walk") -> Matrix:
        """L = (4/ε²)(P − I)/c, or with A instead of P, or (4/ε²)(W' − diag d')/c; c = 1 unless the graph is calibrated."""
        if normalization == "random_walk":
            return laplacian(self.transition(), self.bandwidths * np.sqrt(self.factor))
        factor = 4.0 / (self.factor * self.bandwidth**2)
        A = self.symmetric() if normalization == "symmetric" else self.renormalized()
        diagonal = (self._sums > 0) * 1.0 if normalization == "symmetric" else self.renormalized_degrees
        return factor * shifted(A, -diagonal.astype(A.dtype))

    def metric_laplacian(self) -> Matrix:
        """L for lengths: (4/ε²)(P − I) over the factor of one step, as the dual metric of a map takes one."""
        c = 1.0 if self.calibration is None else self.calibration.step
        return laplacian(self.transition(), self.bandwidths * np.sqrt(c))

    def true_eigenvalues(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Eigenvalues of −Δ from those of (4/ε²)(I − P): as they are, unless the graph is calibrated.

        With local scales a step takes the time ε²ρ²/4, of which the mean is taken.
        """
        if self.calibration is None or not self.calibration.told:
            return eigenvalues
        spread = 1.0
        if self.scale is not None:
            mass = self.renormalized_degrees
            spread = float(mass @ self.scale.rho**4 / (mass @ self.scale.rho**2))
        return heat_eigenvalues(eigenvalues, 0.25 * self.bandwidth**2 * spread) / self.factor

    @property
    def on_host(self) -> "KernelGraph":
        """The graph with its weights in the memory of the host; itself, unless they are on a device."""
        W: Any = self.weights
        return self if isinstance(W, np.ndarray) or sparse.issparse(W) else replace(self, weights=W.host())

    def to_scipy(self) -> sparse.csr_array:
        """W as a sparse matrix of its own, also where the graph holds it in full."""
        W = sparse.csr_array(self.weights, copy=True)
        W.eliminate_zeros()
        return W

    def to_networkx(self, names: Sequence[Any] | None = None, *, least_weight: float = 0.0) -> Any:
        """The graph as a ``networkx.Graph``, with W in the edges' ``weight`` and ε in ``graph.graph["bandwidth"]``.

        Parameters
        ----------
        names : sequence, optional
            Names of the points, for instance the index of a data frame; by default 0, 1, 2, ….
        least_weight : float, default 0.0
            Leave out edges with lower weights: points more than 3ε apart have weights below 1e-4.

        Returns
        -------
        networkx.Graph
            The weight of a point with itself is a self-loop.

        Examples
        --------
        >>> import geolap
        >>> X = geolap.datasets.make_sphere(100, random_state=0).data
        >>> geolap.GraphLaplacian(n_neighbors=5, random_state=0).fit(X).graph_.to_networkx().number_of_nodes()
        100
        """
        nx = needed("networkx", "networkx", "A networkx graph needs")
        check_number("least_weight", least_weight, low=0)
        names = range(self.n_points) if names is None else list(names)
        if len(names) != self.n_points or len(set(names)) != self.n_points:
            raise ValueError(
                f"names must be {self.n_points} distinct names, one for each point; {len(names)} were given, "
                f"{len(set(names))} of them distinct: match them to the points."
            )
        W = self.to_scipy()
        W.data[W.data < least_weight] = 0.0
        W.eliminate_zeros()
        upper = sparse.triu(W, format="coo")
        require_memory(
            _BYTES_OF_EDGE * upper.nnz,
            f"A networkx graph of {upper.nnz:.2g} edges",
            "raise least_weight, or build the graph with n_neighbors",
        )
        graph = nx.Graph(bandwidth=self.bandwidth)
        graph.add_nodes_from(names)
        row, column = upper.coords
        graph.add_weighted_edges_from(
            (names[i], names[j], w) for i, j, w in zip(row.tolist(), column.tolist(), upper.data.tolist(), strict=True)
        )
        return graph


def kernel_graph(
    pairs: Pairs,
    bandwidth: float,
    *,
    renormalization: float = 1.0,
    self_weights: bool = True,
    cutoff: float | None = None,
    scale: LocalScale | None = None,
    degrees: np.ndarray | None = None,
    multiplicity: np.ndarray | None = None,
    dtype: DTypeLike = float,
) -> KernelGraph:
    """The graph over the given pairs (distances already over √(ρ_i ρ_j) where scales vary), of points with these weights.

    ``degrees`` are the row sums of W, unless more points than those of the graph make them up.
    """
    W = pairs.weights(bandwidth, cutoff=cutoff, dtype=dtype)
    m = counts_of(multiplicity, W.shape[0])
    if not self_weights or multiplicity is not None:
        own = float(self_weights) * np.minimum(m, 1.0) + np.maximum(m - 1.0, 0.0)  # of a copy to all at its place
        if isinstance(W, np.ndarray):
            np.fill_diagonal(W, own / m)
        else:
            W.setdiag(own / m)
    if multiplicity is not None:
        W = scaled(W, rows=m, columns=m)
    if degrees is None:
        degrees = np.asarray(W.sum(axis=1, dtype=float)).ravel()
    degrees = np.where(degrees > NO_NEIGHBORS, degrees, 0.0)
    logs = log_density_weights(degrees / m, renormalization=renormalization, scale=scale)
    # Its square must be a number: powers of degrees may go further.
    unit = float(np.exp(np.clip(logs.max(), -340.0, 340.0))) if np.isfinite(logs.max()) else 1.0
    density = density_weights(degrees / m, renormalization=renormalization, scale=scale)
    return KernelGraph(W, float(bandwidth), degrees, density, unit, scale, multiplicity=multiplicity, order=pairs.order)


def order_of(order: np.ndarray | None, rows: np.ndarray | slice) -> np.ndarray | None:
    """Some of the points in the order of all, if there is one."""
    return None if order is None else np.argsort(np.argsort(order)[rows])


def _inverse(sums: np.ndarray) -> np.ndarray:
    """1/s, and 0 where s = 0."""
    return np.where(sums > 0, 1.0 / np.maximum(sums, np.finfo(float).tiny), 0.0)
