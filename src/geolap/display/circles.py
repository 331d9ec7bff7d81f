"""Circles of the data as a map shows them: where they differ in size or shape, the map distorts lengths.

Where a map has the dual metric H, it shows the circle of radius r on the data as r H^{1/2} u over all unit vectors u: an
ellipse whose axes are the eigenvectors of H, r times as long as the square roots of its eigenvalues.
"""

import numpy as np

__all__ = ["indicatrices"]

# One indicatrix for each occupied cell of a grid over the map, the median one so long in relation to the map.
_CELLS, _SIZE = 7, 0.045


def indicatrices(places: np.ndarray, dual: np.ndarray, *, radius: float | None = None) -> tuple[np.ndarray, float]:
    """Circles of one radius around some points of the data, as a map in two coordinates shows them (Tissot's indicatrices).

    From places (n_points, 2) and H there: closed curves (k, 41, 2) around points all over the map, none if it is flat
    everywhere, and the radius in the unit of the data, by default such that the circles can be seen.
    """
    extent = float(np.ptp(places, axis=0).max())
    cells = (places - places.min(axis=0)) * (_CELLS / max(extent, np.finfo(float).tiny))
    order = np.argsort(((cells - np.floor(cells) - 0.5) ** 2).sum(axis=1), kind="stable")  # nearest to the center first
    some = order[np.unique(np.floor(cells[order]), axis=0, return_index=True)[1]]
    values, vectors = np.linalg.eigh(dual[some])
    values = np.sqrt(np.maximum(values, 0.0))
    longest = float(np.median(values[:, 1]))
    if not longest > 0:
        return np.empty((0, 41, 2)), 0.0
    radius = _SIZE * extent / longest if radius is None else radius
    angle = np.linspace(0.0, 2.0 * np.pi, 41)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return places[some, None, :] + radius * np.swapaxes((vectors * values[:, None, :]) @ circle, 1, 2), radius
