"""Rec: the bandwidth at which points are best reconstructed from their neighbors.

.. math:: R(ε) = Σ_i \\Big\\| x_i - \\frac{Σ_{j≠i} W_{ij} x_j}{Σ_{l≠i} W_{il}} \\Big\\|^2

The rule that the paper compares with as Rec, reminiscent of locally linear embedding.  Only ratios of weights enter, so they
are taken relative to the nearest neighbor's: at tiny ε a point is compared with its nearest neighbor, not with 0/0.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.multiplicity import counts_of
from ..data.points import Points, in_unit
from ..kernel import ladder_weights, ladders
from ..runtime.progress import at_bandwidths
from ..runtime.threads import in_order
from ..search import Curve, refine
from ..selection import Selection
from ..validation import check_n_sample, check_random_state
from .base import RivalRule, least_of, searched_by

__all__ = ["Reconstruction"]


@dataclass(eq=False, repr=False)
class Reconstruction(RivalRule):
    """Choose the bandwidth that minimizes the error of reconstructing points from their neighbors (the paper's Rec).

    Parameters
    ----------
    n_sample : int or None, default 2000
        Number of random points that are reconstructed, each from all others; None uses all.
    random_state : int, RandomState or None
    <parameters and attributes of all rules>
        Its scores are the mean squared error of reconstruction.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(400, random_state=0).data
    >>> round(geolap.select_bandwidth(X, method="rec").bandwidth, 1)
    0.2
    """

    n_sample: int | None = 2000
    random_state: Any = None

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        random_state = check_random_state(self.random_state)
        sample = check_n_sample(self.n_sample, len(points), random_state)
        _, grid, weights = searched_by(points, sample, self.n_jobs)

        def errors(bandwidths: np.ndarray) -> np.ndarray:
            return reconstruction_errors(points, sample, in_unit(bandwidths, points.unit), n_jobs=self.n_jobs)

        selection = least_of(refine(Curve(grid, errors(grid), weights), errors), "rec", random_state=random_state)
        square = points.unit**2  # errors are compared in the unit of the box, and reported in that of the data
        return replace(
            selection,
            scores=selection.scores * square,
            minima=tuple(
                replace(m, score=m.score * square, depth=m.depth * square, noise=m.noise * square) for m in selection.minima
            ),
        )


def reconstruction_errors(
    points: Points, sample: np.ndarray, bandwidths: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """‖x_i − weighted mean of the others‖² (n, m) for the sampled points; copies of a point are others."""
    X, steps = points.box, ladders(bandwidths)
    m = counts_of(points.multiplicity, len(X))
    sums = m[:, None] * np.hstack([X, np.ones((len(X), 1))])

    def of(rows: np.ndarray) -> np.ndarray:
        sqdist = points.sqdist(rows)
        own = (m[rows] > 1.0)[:, None]  # has copies, among which it does not count itself
        sqdist[np.arange(len(rows)), rows] = np.where(own[:, 0], 0.0, np.inf)
        sqdist -= sqdist.min(axis=1)[:, None]
        W = np.empty_like(sqdist)
        errors = np.empty((len(rows), len(bandwidths)))
        for ladder in steps:
            for column, _, weights in ladder_weights(sqdist, ladder, W):
                total = weights @ sums - own * sums[rows] / m[rows, None]
                errors[:, column] = ((X[rows] - total[:, :-1] / total[:, -1:]) ** 2).sum(axis=1)
        return errors

    blocks = np.array_split(sample, -(-len(sample) // 64))
    label = at_bandwidths("reconstruction", len(bandwidths))
    return np.vstack(list(in_order(of, blocks, n_jobs=n_jobs, label=label)))
