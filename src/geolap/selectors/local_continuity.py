"""Local continuity (LCMC): the number of neighbors whose graph embeds the data with its neighborhoods kept.

.. math:: M(k) = \\frac{1}{N k'} Σ_i |N_{k'}(x_i) ∩ N_{k'}(φ_k(x_i))| - \\frac{k'}{N - 1}

where N_{k'} are the k' nearest neighbors in the data and in the embedding φ_k made from the k-nearest-neighbor graph; the
last term is the agreement expected by chance.  The best k depends on the embedding, here the Laplacian eigenmap: that is the
point of the method.

References
----------
Chen & Buja, Local multidimensional scaling for nonlinear dimension reduction, graph drawing and proximity analysis (2009).
"""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from ..data.points import Points
from ..graphs.neighbors import nearest_neighbors
from ..graphs.spectrum import largest_eigenpairs
from ..runtime.threads import in_order
from ..search import Curve
from ..selection import Selection
from ..validation import check_n_sample, check_number, check_random_state
from .base import RivalRule, least_of

__all__ = ["LocalContinuity"]

# A graph with more than this share of all pairs is a full matrix.
_FULL = 0.1
# Eigenvalues, and coordinates relative to the largest, that differ by less are the same.
_EQUAL = 1e-9
_ROWS_AT_ONCE = 512


@dataclass(eq=False, repr=False)
class LocalContinuity(RivalRule):
    """Choose the number of neighbors k by how well the Laplacian eigenmap preserves neighborhoods (Chen & Buja).

    The bandwidth is the mean distance to the k-th neighbor.

    Parameters
    ----------
    n_components : int, default 2
        Dimension of the embedding.
    n_kept : int, default 10
        k', the size of the neighborhoods compared.
    n_sample : int or None, default 2000
        Number of random points used; None uses all.
    random_state : int, RandomState or None
    <parameters and attributes of all rules>
        Its scores are −M(k); ``details`` holds ``n_neighbors`` (the chosen k) and ``tried``.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_swiss_roll(600, random_state=0).data
    >>> geolap.select_bandwidth(X, method="lcmc", random_state=0).details["n_neighbors"] < 30
    True
    """

    takes_weights: ClassVar[bool] = False

    n_components: int = 2
    n_kept: int = 10
    n_sample: int | None = 2000
    random_state: Any = None

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        check_number("n_components", self.n_components, Integral, low=1)
        check_number("n_kept", self.n_kept, Integral, low=1)
        random_state = check_random_state(self.random_state)
        some = points.subset(check_n_sample(self.n_sample, len(points), random_state))
        kept = min(self.n_kept, len(some) - 1)
        most = min(max(kept + 1, len(some) // 4), len(some) - 1)
        distances, neighbors = nearest_neighbors(some, most, n_jobs=self.n_jobs)
        tried = np.unique(np.geomspace(min(3, most), most, 12).astype(int))
        scores = np.array([self._score(neighbors[:, :k], neighbors[:, :kept]) for k in tried])
        bandwidths = distances[:, tried - 1].mean(axis=0)
        positive = bandwidths > 0
        if not positive.any():
            raise ValueError(
                f"Neighbors must be at positive distances; the {most} nearest of every point are at the same position: "
                "remove duplicate points."
            )
        selection = least_of(Curve(bandwidths[positive], scores[positive][None]), "lcmc")
        k = tried[positive][np.argmin(np.abs(selection.bandwidths - selection.bandwidth))]
        return replace(selection, details={"n_neighbors": int(k), "tried": tried})

    def _score(self, joined: np.ndarray, neighbors: np.ndarray) -> float:
        """−M(k) of the graph that joins points with k neighbors (N, k); 0, the agreement of chance, where it falls apart."""
        n, k = joined.shape
        graph = sparse.csr_array((np.ones(n * k), joined.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
        graph = graph.maximum(graph.T)
        if connected_components(graph)[0] > 1 or n < self.n_components + 2:
            return 0.0
        root = np.sqrt(graph.sum(axis=1))
        A = sparse.csr_array(graph / root[:, None] / root)
        values, vectors, _ = largest_eigenpairs(
            A.toarray() if A.nnz > _FULL * n * n else A,
            self.n_components + 1,
            without=root[:, None] / np.linalg.norm(root),
            n_jobs=self.n_jobs,
        )
        if values[-2] - values[-1] < _EQUAL:  # which vectors embed is decided by rounding
            return 0.0
        kept = neighbors.shape[1]
        found = _agreement(vectors[:, :-1] / root[:, None], neighbors, n_jobs=self.n_jobs)
        return -float(found / (n * kept) - kept / (n - 1))


def _agreement(Y: np.ndarray, neighbors: np.ndarray, *, n_jobs: int | None = None) -> float:
    """How many of the neighbors (N, k) in the data are among the k nearest of an embedding Y.

    Those at the same distance as the k-th, such as points with the same neighbors in the graph, share the places left.
    """
    n, k = neighbors.shape
    equal = _EQUAL * np.abs(Y).max()

    def of(rows: np.ndarray) -> float:
        d = cdist(Y[rows], Y)
        d[np.arange(len(rows)), rows] = np.inf
        last = np.partition(d, k - 1, axis=1)[:, k - 1 : k]
        nearer, tied = d < last - equal, np.abs(d - last) <= equal
        places = (k - nearer.sum(axis=1)) / tied.sum(axis=1)
        inside, beside = (np.take_along_axis(each, neighbors[rows], axis=1).sum(axis=1) for each in (nearer, tied))
        return float((inside + places * beside).sum())

    return sum(in_order(of, np.array_split(np.arange(n), -(-n // _ROWS_AT_ONCE)), n_jobs=n_jobs))
