"""Multiscale SVD (CLMR): the range of scales at which the data looks linear.

The mean singular values σ_k(ε) of the local matrices Z (`geolap.local_pca`) are followed over ε.  With K an upper bound
on the dimension, the range is [ε_1, ε_2]: ε_1 is the smallest ε at which σ_{K+1}, the first that belongs to noise, is
non-increasing, and ε_2 the smallest ε beyond at which σ_1 is non-decreasing.  The bandwidth is the middle of the range, the
dimension the largest gap found in it.

References
----------
Chen, Little, Maggioni & Rosasco, Some recent advances in multiscale geometric analysis of point clouds (2011), as described
in the paper.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..data.points import Points
from ..local_pca import largest_gap, local_singular_values
from ..selection import Selection, Status
from ..validation import check_n_sample, check_number, check_random_state
from .base import RivalRule, searched_by

__all__ = ["MultiscaleSVD"]


@dataclass(eq=False, repr=False)
class MultiscaleSVD(RivalRule):
    """Take the middle of the range of scales at which local singular values separate signal from noise (CLMR).

    Parameters
    ----------
    max_dim : int, default 5
        An upper bound on the intrinsic dimension; lowered if there are fewer features.
    n_sample : int or None, default 50
        Number of random points whose singular values are averaged; None uses all.
    random_state : int, RandomState or None
    <parameters and attributes of all rules>
        Its scores are −(largest gap / σ_1); ``interval`` is the range; ``details`` holds ``limits`` (None for one that does
        not exist), ``intrinsic_dim`` and ``singular_values`` (m, max_dim + 1).

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(1000, noise=0.02, noise_dims=5, random_state=0).data
    >>> low, high = geolap.select_bandwidth(X, method="clmr", random_state=0).interval
    >>> low < 0.5 < high
    True
    """

    max_dim: int = 5
    n_sample: int | None = 50
    random_state: Any = None

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        check_number("max_dim", self.max_dim, Integral, low=1)
        sample = check_n_sample(self.n_sample, len(points), check_random_state(self.random_state), least=1)
        _, grid, weights = searched_by(points, sample, self.n_jobs)
        K = min(self.max_dim, max(1, points.shape[1] - 1))
        values = local_singular_values(points, sample, grid, K + 1, n_jobs=self.n_jobs)
        sigma = np.average(values, axis=0, weights=weights)
        lower, upper = turning_points(sigma[:, K], sigma[:, 0])
        first, last = lower if lower is not None else 0, upper if upper is not None else len(grid) - 1
        inside = sigma[first : last + 1]
        gaps = -np.diff(inside, axis=1)
        return Selection(
            bandwidth=float(0.5 * (grid[first] + grid[last])),
            bandwidths=grid,
            scores=np.diff(sigma, axis=1).min(axis=1) / np.maximum(sigma[:, 0], np.finfo(float).tiny),
            minima=(),
            interval=(float(grid[first]), float(grid[last])),
            status=Status.NO_LIMIT if lower is None or upper is None else Status.INTERIOR,
            method="clmr",
            details={
                "limits": tuple(None if k is None else float(grid[k]) for k in (lower, upper)),
                "intrinsic_dim": int(largest_gap(inside[gaps.max(axis=1).argmax()])),
                "singular_values": sigma,
            },
        )


def turning_points(noise: np.ndarray, signal: np.ndarray) -> tuple[int | None, int | None]:
    """Index of the first non-increasing step of ``noise`` after its rise, and of the first non-decreasing step of ``signal``
    beyond, after a fall: a signal that still rises there must fall before it can turn.  None for what does not exist."""
    falls = np.flatnonzero((np.diff(noise) <= 0) & (noise[:-1] > 0))
    lower = int(falls[0]) if falls.size else None
    after = lower if lower is not None else 0
    steps = np.diff(signal[after:])
    turned = np.flatnonzero(np.logical_or.accumulate(steps < 0) & (steps >= 0))
    return lower, after + int(turned[0]) if turned.size else None
