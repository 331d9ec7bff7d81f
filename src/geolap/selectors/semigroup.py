"""Semigroup: the bandwidth at which two short diffusion steps make one long one.

.. math:: E(ε) = \\frac{1}{N'} Σ_i \\Big\\| (P_ε P_ε)_{i·} - (P_{\\sqrt2 ε})_{i·} \\Big\\|_1

Diffusion on a manifold is a semigroup: e^{tΔ} e^{tΔ} = e^{2tΔ}, and with t = ε²/4 doubling the time multiplies the bandwidth
by √2.  The error vanishes trivially when ε → 0, where P is the identity, so a minimum in between is looked for.

References
----------
Shan & Daubechies, Diffusion maps: using the semigroup property for parameter tuning, arXiv:2203.02867.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.multiplicity import own_weight
from ..data.points import Points, in_unit, spread_rows
from ..kernel import Ladder, gaussian, ladder_weights, ladders
from ..laplacian import transition
from ..runtime.progress import at_bandwidths
from ..runtime.threads import checkpoint, in_order
from ..search import Curve, refine
from ..selection import Selection
from ..validation import check_n_sample, check_random_state
from .base import RivalRule, least_of, searched_by

__all__ = ["Semigroup"]

# Rows of P_ε that are made together, and columns that are compared, which stand for all.
_ROWS, _COLUMNS = 256, 1000
# With more points, one probe is enough to refine a minimum.
_MANY = 5000


@dataclass(eq=False, repr=False)
class Semigroup(RivalRule):
    """Choose the bandwidth at which the transition matrix comes closest to a semigroup (Shan & Daubechies).

    Parameters
    ----------
    n_sample : int or None, default 200
        Number of random rows that are compared; None uses all.
    random_state : int, RandomState or None
    <parameters and attributes of all rules>
        Its scores are the mean L1 distance between rows of P_ε² and P_{√2ε}.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(500, random_state=0).data
    >>> geolap.select_bandwidth(X, method="semigroup", random_state=0).method
    'semigroup'
    """

    n_sample: int | None = 200
    random_state: Any = None

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        random_state = check_random_state(self.random_state)
        sample = check_n_sample(self.n_sample, len(points), random_state)
        engine, grid, weights = searched_by(points, sample, self.n_jobs)

        def errors(bandwidths: np.ndarray) -> np.ndarray:
            both = np.concatenate([bandwidths, np.sqrt(2.0) * bandwidths])
            degrees = own_weight(points.multiplicity) + engine.row_sums(both)
            epsilons = in_unit(bandwidths, points.unit)
            return semigroup_errors(points, sample, epsilons, degrees, most_columns=_COLUMNS, n_jobs=self.n_jobs)

        curve = refine(Curve(grid, errors(grid), weights), errors, sparing=len(points) > _MANY)
        return least_of(curve, "semigroup", random_state=random_state, ends=False)


def semigroup_errors(
    points: Points,
    sample: np.ndarray,
    bandwidths: np.ndarray,
    degrees: np.ndarray,
    *,
    most_columns: int | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """L1 distance (n, m) between sampled rows of P_ε² and P_{√2ε}, from the degrees (N, 2m) at all ε and then all √2ε.

    P_ε² needs every row of P_ε, which are made and used block by block.  Distances are summed over at most so many columns,
    those of the sample, and others that stand for the rest.
    """
    n, m = len(points), len(bandwidths)
    others = np.setdiff1d(np.arange(n), sample)
    some = others[spread_rows(len(others), max(1, (most_columns or n) - len(sample)))]
    columns = np.concatenate([sample, some])
    times = np.repeat([1.0, len(others) / max(len(some), 1)], [len(sample), len(some)])
    density = (1.0 if points.multiplicity is None else points.multiplicity[:, None]) / degrees
    from_sample = points.sqdist(sample)

    def of(ladder: Ladder) -> np.ndarray:
        found = np.zeros((len(ladder.columns), len(sample), len(columns)))
        rungs = list(zip(ladder.columns, ladder.bandwidths, strict=True))
        own = [gaussian(from_sample, eps) @ density[:, column] for column, eps in rungs]
        for block in np.array_split(np.arange(n), -(-n // _ROWS)):
            sqdist = points.sqdist(block)
            weights = ladder_weights(sqdist, ladder, np.empty_like(sqdist))
            for twice, sums, (column, _, W) in zip(found, own, weights, strict=True):
                checkpoint()
                v = density[:, column]
                once = W[:, sample].T * v[block] / sums[:, None]  # W is symmetric
                twice += (once / (W @ v)) @ W[:, columns]
        for twice, (column, eps) in zip(found, rungs, strict=True):
            wide = transition(gaussian(from_sample, np.sqrt(2.0) * eps), density[:, m + column])
            twice *= density[columns, column]
            twice -= wide[:, columns]
        return np.abs(found) @ times

    steps, errors = ladders(bandwidths), np.empty((len(sample), m))
    for ladder, found in zip(steps, in_order(of, steps, n_jobs=n_jobs, label=at_bandwidths("semigroup", m)), strict=True):
        errors[:, ladder.columns] = found.T
    return errors
