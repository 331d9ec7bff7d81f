"""Singer's rate: extrapolates a pilot bandwidth to a larger number of points.

.. math:: ε^2 = C\\, N^{-1/(3 + d/2)}

(equation 1 of the paper).  The constant C depends on the manifold; it is taken from a pilot bandwidth on N_0 of the points,
so that ε(N) = ε(N_0) (N/N_0)^{−1/(6 + d)}.

References
----------
Singer, From graph to manifold Laplacian: the convergence rate (2006).
"""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.multiplicity import weights_at
from ..data.points import Points, spread_rows
from ..local_pca import largest_gap, local_singular_values, vote
from ..selection import Selection
from ..validation import check_number, check_random_state
from .base import BandwidthSelector, RivalRule, with_its_own
from .geometric_consistency import GeometricConsistency

__all__ = ["SingerRate", "singer_factor"]


def singer_factor(n_pilot: float, n_points: float, dim: float) -> float:
    """The best ε for more points over that for a pilot of them: ε ∝ N^(−1/(6+d))."""
    return (n_points / n_pilot) ** (-1.0 / (6.0 + dim))


@dataclass(eq=False, repr=False)
class SingerRate(RivalRule):
    """Extrapolate a pilot bandwidth, found on a subsample, to all points by Singer's rate.

    Parameters
    ----------
    intrinsic_dim : int, optional
        d.  By default it is estimated at the pilot bandwidth.
    n_sample : int, default 1000
        Size of the subsample; at most half of the points are taken.
    pilot : selector, optional
        How the pilot bandwidth is chosen; by default `GeometricConsistency`.
    random_state : int, RandomState or None
    <parameters and attributes of all rules>
        The pilot's curve moved to the full number of points; ``details`` holds ``pilot``, ``n_sample``, ``intrinsic_dim``.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(4000, random_state=0).data
    >>> selection = geolap.select_bandwidth(X, method="singer", random_state=0)
    >>> selection.details["intrinsic_dim"], selection.bandwidth < selection.details["pilot"].bandwidth
    (2, True)
    """

    intrinsic_dim: int | None = None
    n_sample: int = 1000
    pilot: BandwidthSelector | None = None
    random_state: Any = None

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        check_number("n_sample", self.n_sample, Integral, low=3)
        if self.intrinsic_dim is not None:
            check_number("intrinsic_dim", self.intrinsic_dim, Integral, low=1)
        if self.pilot is not None and not isinstance(self.pilot, BandwidthSelector):
            raise TypeError(f"pilot must be a selector, such as GeometricConsistency(); {self.pilot!r} was given.")
        random_state = check_random_state(self.random_state)
        n_pilot = max(3, min(self.n_sample, len(points) // 2))
        chosen = random_state.permutation(len(points))
        some = points.subset(np.sort(chosen[:n_pilot]))
        selector = GeometricConsistency() if self.pilot is None else clone(self.pilot)
        selector = with_its_own(selector, random_state=random_state.randint(2**31))
        if selector.n_jobs is None:
            selector.set_params(n_jobs=self.n_jobs)
        pilot = selector.select(some)
        d = self.intrinsic_dim
        if d is None:
            asked = spread_rows(n_pilot, 200)
            values = local_singular_values(some, asked, [pilot.bandwidth], 21, n_jobs=self.n_jobs)[:, 0]
            d = max(1, vote(largest_gap(values), weights_at(some.multiplicity, asked)))
        factor = singer_factor(some.total, points.total, d)
        return replace(
            pilot,
            bandwidth=pilot.bandwidth * factor,
            bandwidths=pilot.bandwidths * factor,
            minima=tuple(replace(m, bandwidth=m.bandwidth * factor) for m in pilot.minima),
            interval=None if pilot.interval is None else (pilot.interval[0] * factor, pilot.interval[1] * factor),
            bound=None if pilot.bound is None else pilot.bound * factor,
            method="singer",
            details={"pilot": pilot, "n_sample": n_pilot, "intrinsic_dim": int(d)},
        )
