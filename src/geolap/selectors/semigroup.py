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

from ..engines import make_engine
from ..kernel import gaussian
from ..laplacian import transition
from ..multiplicity import own_weight, weights_at
from ..points import Points, in_unit
from ..search import Curve, refine
from ..search_range import search_grid
from ..selection import Selection
from ..specification import GraphSpec
from ..threads import checkpoint, in_order
from ..validation import check_n_sample, check_random_state
from .base import BandwidthSelector, least_of

__all__ = ["Semigroup"]

# Rows of P_ε that are made together.
_ROWS = 256
# Points that are reached with probabilities below this add nothing but rounding.
_NO_STEP = 1e-17


@dataclass(eq=False, repr=False)
class Semigroup(BandwidthSelector):
    """Choose the bandwidth at which the transition matrix comes closest to a semigroup (Shan & Daubechies).

    Parameters
    ----------
    n_sample : int or None, default 200
        Number of random rows that are compared; None takes all.
    random_state : int, RandomState or None
    metric : str or callable, optional
        As for `GeometricConsistency`.
    n_jobs : int, optional
    verbose : bool or int, default False

    Attributes
    ----------
    bandwidth_ : float
    selection_ : Selection
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
        engine = make_engine(points, GraphSpec(n_jobs=self.n_jobs))

        def errors(bandwidths: np.ndarray) -> np.ndarray:
            both = np.concatenate([bandwidths, np.sqrt(2.0) * bandwidths])
            degrees = own_weight(points.multiplicity) + engine.row_sums(both)
            return semigroup_errors(points, sample, in_unit(bandwidths, points.unit), degrees, n_jobs=self.n_jobs)

        weights = weights_at(points.multiplicity, sample)
        grid = search_grid(engine, engine.nearest(sample), points.total, weights)
        curve = refine(Curve(grid, errors(grid), weights), errors)
        return least_of(curve, "semigroup", random_state=random_state, ends=False)


def semigroup_errors(
    points: Points, sample: np.ndarray, bandwidths: np.ndarray, degrees: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """L1 distance (n, m) between sampled rows of P_ε² and P_{√2ε}, from the degrees (N, 2m) at all ε and then all √2ε.

    P_ε² needs every row of P_ε, which are made and used block by block.
    """
    m = len(bandwidths)
    density = (1.0 if points.multiplicity is None else points.multiplicity[:, None]) / degrees
    blocks = np.array_split(np.arange(len(points)), -(-len(points) // _ROWS))

    def of(column: int) -> np.ndarray:
        eps, v = bandwidths[column], density[:, column]
        once = transition(gaussian(points.sqdist(sample), eps), v)
        twice = np.zeros_like(once)
        for block in blocks:
            checkpoint()
            if once[:, block].max() > _NO_STEP:
                W = gaussian(points.sqdist(block), eps)
                twice += (once[:, block] / (W @ v)) @ W
        wide = transition(gaussian(points.sqdist(sample), np.sqrt(2.0) * eps), density[:, m + column])
        return np.abs(twice * v - wide).sum(axis=1)

    label = f"semigroup at {m} bandwidths"
    return np.stack(list(in_order(of, range(m), n_jobs=n_jobs, label=label)), axis=1)
