"""The skeleton of a graph: what of it does not depend on ε, which pairs count and how the bandwidth varies."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..data.distances import Distances, given_pairs
from ..data.pairs import Pairs
from ..data.points import Points, is_chunked
from ..engines import Engine, check_chunked, make_engine
from ..engines.cost import graph_memory, neighbor_entries
from ..laplacian import LocalScale
from ..runtime.memory import require_memory
from ..specification import FullSpec, GraphSpec
from .neighbors import all_pairs, fitted_neighbors, nearest_pairs
from .scale import resolve_scale

__all__ = ["Skeleton", "skeleton_of"]


@dataclass(frozen=True)
class Skeleton:
    """Pairs and scales of a graph over some points.

    Attributes
    ----------
    spec : FullSpec
    pairs : Pairs or None
        Distances of the pairs that count, not yet over √(ρ_i ρ_j); None if all pairs do.
    scale : LocalScale or None
    finder : transformer or None
        The fitted one that found the pairs, for new points.
    """

    spec: FullSpec
    pairs: Pairs | None = None
    scale: LocalScale | None = None
    finder: Any = None

    @property
    def most_neighbors(self) -> int | None:
        """Neighbors that a point is joined with, in the median; None if all pairs count."""
        if self.pairs is None:
            return None
        S = self.pairs.host.sqdist
        return S.shape[0] - 1 if isinstance(S, np.ndarray) else max(1, int(np.median(np.diff(S.indptr))) - 1)

    def n_pairs_at(self, place: np.ndarray) -> float:
        """How many pairs `at` would have."""
        assert self.pairs is not None
        S, counts = sparse.csr_array(self.pairs.sqdist), np.bincount(place).astype(float)
        return float(counts @ np.add.reduceat(counts[S.indices], S.indptr[:-1]))

    def at(self, place: np.ndarray) -> "Skeleton":
        """The skeleton of all points, given that of the distinct ones and at which of these each point is (N,).

        A point is joined with all at its own place, and with all at the places that this one is joined with.
        """
        assert self.pairs is not None
        S = sparse.csr_array(self.pairs.sqdist)[place][:, place]
        S.sort_indices()
        scale = None if self.scale is None else replace(self.scale, rho=self.scale.rho[place])
        return replace(self, pairs=Pairs(S, self.pairs.unit), scale=scale)

    def engine(self, points: Points) -> Engine:
        """The engine that sums over these pairs."""
        return make_engine(points, self.spec, scale=self.scale, pairs=None if self.pairs is None else self.pairs.host)


def skeleton_of(points: Points, spec: GraphSpec, *, random_state: Any = None) -> Skeleton:
    """Find the pairs and scales that a specification defines."""
    full = spec.filled()
    if is_chunked(points.given):
        check_chunked(full)
    scale = resolve_scale(points, full, random_state=random_state)
    if full.neighbors is not None:
        features = points.features if isinstance(points, Distances) else points.host
        if features is None:
            raise ValueError(
                "Distances come either from the matrix of distances or from neighbors; both were given: leave out one of "
                "them."
            )
        distances, finder = fitted_neighbors(full.neighbors, features)
        return Skeleton(full, given_pairs(distances, len(points)), scale, finder)
    if full.n_neighbors is None:
        return Skeleton(full, None if points.whole else all_pairs(points, n_jobs=full.n_jobs), scale)
    if not points.on_gpu:
        require_memory(
            graph_memory(neighbor_entries(len(points), full.n_neighbors)),
            f"A graph that joins {len(points)} points with their {full.n_neighbors} nearest neighbors",
            "lower {n_neighbors}, or use {n_landmarks}",
        )
    return Skeleton(full, nearest_pairs(points, full.n_neighbors, n_jobs=full.n_jobs), scale)
