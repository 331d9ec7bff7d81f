"""Places on a map for the parts of a graph that no edge joins.

Each component has coordinates of its own.  To show all of them, the largest stays where it is, and each other one is moved
in the direction in which it lies in the data, as seen from the largest: the nearest first, each as close as there is room.
A component takes as large a share of the map as it has of the points.  Directions and the order along them are those of the
data; distances between components mean nothing, since no path joins them.
"""

from dataclasses import dataclass

import numpy as np

from ..graphs.spectrum import with_signs

__all__ = ["Arrangement", "arranged"]

# Space between two components, as a share of their radii.
_GAP = 0.1
# In more coordinates than this, sizes are those that this many need: others would hardly differ.
_MOST_DIMENSIONS = 3
# Components that are fitted in; of more, the farthest are single points mostly, and stand around all others.
_MOST_FITTED = 1000
# Extents below this share of the largest are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Arrangement:
    """Where each component is on a map (C, k), and by what its own coordinates are multiplied there (C,)."""

    places: np.ndarray
    scales: np.ndarray

    def __call__(self, coordinates: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Coordinates on the map (n, k) of points of these components (n,), from those that their components give them."""
        return self.places[components] + self.scales[components, None] * coordinates


def arranged(
    coordinates: np.ndarray, components: np.ndarray, weights: np.ndarray | None = None, points: np.ndarray | None = None
) -> Arrangement:
    """The arrangement of components, 0 being the largest.

    Parameters
    ----------
    coordinates : ndarray (n, k)
        Of each point, as its component gives them.
    components : ndarray of int (n,)
    weights : ndarray (n,), optional
        What points count for.
    points : ndarray (n, r), optional
        Where they lie; without, components lie in any directions.
    """
    k, sizes = coordinates.shape[1], np.bincount(components, weights)
    own = np.zeros(len(sizes))
    np.maximum.at(own, components, np.linalg.norm(coordinates, axis=1))
    radii = (own[0] or 1.0) * (sizes / sizes[0]) ** (1.0 / min(k, _MOST_DIMENSIONS))
    scales = np.divide(radii, own, out=np.ones_like(own), where=own > 0)
    if points is None:
        away = np.random.default_rng(0).standard_normal((len(sizes), k))
    else:
        X = points / (np.abs(points).max() or 1.0)  # so that no square leaves the range of numbers
        centers = np.stack([np.bincount(components, x if weights is None else weights * x) for x in X.T], axis=1)
        away = _projected(centers / sizes[:, None], sizes, k)
    return Arrangement(_fitted_in(away - away[0], radii), scales)


def _projected(centers: np.ndarray, sizes: np.ndarray, k: int) -> np.ndarray:
    """Principal components (C, k) of centers (C, r) that count by their sizes."""
    centers = centers - sizes @ centers / sizes.sum()
    _, extent, axes = np.linalg.svd(np.sqrt(sizes)[:, None] * centers, full_matrices=False)
    found = with_signs(centers @ axes[:k].T) * (extent[:k] > _ROUNDING * extent[0])
    return np.pad(found, ((0, 0), (0, k - found.shape[1])))


def _fitted_in(away: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Places (C, k) of balls that touch no other, each in its direction from the first, the nearest first."""
    distance = np.linalg.norm(away, axis=1)
    toward = np.divide(
        away, distance[:, None], out=np.eye(1, away.shape[1]).repeat(len(away), 0), where=distance[:, None] > 0
    )
    order = [0, *(1 + np.argsort(distance[1:], kind="stable"))]
    fitted, others = np.array(order[:_MOST_FITTED]), np.array(order[_MOST_FITTED:], dtype=int)
    places = np.zeros_like(away)
    for i, c in enumerate(fitted[1:], start=1):
        before = fitted[:i]
        room = (1.0 + _GAP) * (radii[before] + radii[c])
        # Along the way from the first, another ball leaves no room between two points; the first leaves none at the start.
        middle = places[before] @ toward[c]
        square = room**2 + middle**2 - (places[before] ** 2).sum(axis=1)
        half = np.sqrt(np.maximum(square, 0.0))
        blocks = np.flatnonzero((square > 0) & (middle + half > 0))
        ascending = blocks[np.argsort((middle - half)[blocks])]
        until = np.maximum.accumulate((middle + half)[ascending])
        free = np.flatnonzero((middle - half)[ascending][1:] >= until[:-1])
        places[c] = until[free[0] if len(free) else -1] * toward[c]
    if len(others):
        around = (np.linalg.norm(places, axis=1) + radii).max()
        places[others] = (around + (1.0 + _GAP) * radii[others])[:, None] * toward[others]
    return places
