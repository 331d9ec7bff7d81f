"""Kernel sum (BGH): the bandwidth at which the sum of all weights grows fastest.

.. math:: \\hat ε = \\arg\\max_ε \\frac{d \\log S}{d \\log ε}, \\qquad S(ε) = Σ_{ij} \\exp(-‖x_i - x_j‖^2/ε^2)

On a d-dimensional manifold S grows like ε^d as long as ε lies between the spacing of the points and the size of the
manifold, so the slope there estimates d.  The sum runs over **all** pairs; over a list of k nearest neighbors the answer
would follow k.

References
----------
Coifman, Shkolnisky, Sigworth & Singer, Graph Laplacian tomography from unknown random projections (2008);
Berry, Giannakis & Harlim, Nonparametric forecasting of low-dimensional dynamical systems (2015).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..data.multiplicity import own_weight, quantile_of, weights_at
from ..data.points import Points, spread_rows
from ..engines import make_engine
from ..search import Curve, log_grid, refine
from ..selection import Selection
from ..specification import GraphSpec
from .base import RivalRule, least_of

__all__ = ["KernelSum"]

# Half the step of the central difference in log ε: error of the slope below 1e-5.
_STEP = 2.0**-8


@dataclass(eq=False, repr=False)
class KernelSum(RivalRule):
    """Choose the bandwidth where the sum of all weights grows fastest (Berry–Giannakis–Harlim, Coifman).

    Parameters
    ----------
    engine : {"auto", "tiled", "dense", "device", "cells"}, default "auto"
    <parameters and attributes of all rules>
        Its scores are −d log S/d log ε; ``details["intrinsic_dim"]`` is the largest slope.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(800, random_state=0).data
    >>> round(geolap.select_bandwidth(X, method="bgh").details["intrinsic_dim"], 1)
    2.0
    """

    _: KW_ONLY
    engine: str = "auto"

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        engine = make_engine(points, GraphSpec(engine=self.engine, n_jobs=self.n_jobs))

        def negative_slope(bandwidths: np.ndarray) -> np.ndarray:
            steps = np.exp([-_STEP, _STEP])
            degrees = own_weight(points.multiplicity) + engine.row_sums(np.outer(steps, bandwidths).ravel())
            sums = degrees.sum(axis=0) if points.multiplicity is None else points.multiplicity @ degrees
            below, above = np.log(sums).reshape(2, -1)
            return -((above - below) / (2.0 * _STEP))[None]

        # From where half of the points are isolated, and beyond the mean distance, so that the fastest growth lies inside.
        some = spread_rows(len(points), 1000)
        nearest = quantile_of(engine.nearest(some), 0.5, weights_at(points.multiplicity, some))
        grid = log_grid(nearest / 4.0, 4.0 * engine.mean_distance())
        curve = refine(Curve(grid, negative_slope(grid)), negative_slope)
        return least_of(curve, "bgh", details={"intrinsic_dim": float(-curve.mean.min())})
