"""How far a walk on a graph goes: the measurement behind `geolap.calibration`.

Rows of P^t are followed from some evaluation points, exactly, and as sparse rows while they are sparse.  Once these have
told the directions, the displacements of all points are followed on graphs of moderate size.  With local scales a step from
x_i takes the time ε²ρ_i²/4, so displacements are divided by the time that passes.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..calibration import Calibration
from ..data.points import Points
from ..local_pca import largest_gap, vote
from ..runtime.threads import in_order, one_blas_thread, thread_count
from .graph import KernelGraph
from .host_walk import HostWalk, allows_single_precision
from .spectrum import product
from .strips import Strips, strips_of
from .walk import MOST_STARTS, TINY, Walk

__all__ = ["calibrated"]

# Evaluation points of a batch, the relative standard error that is enough, and that which tells nothing.
_BATCH, _ENOUGH, _MOST_ERROR = 64, 0.01, 0.5
# Steps: at first and at most, of sparse rows and of full ones; doubled while displacements still grow at this share of the
# rate of the second step, or at the second share in tangent planes, which curvature leaves sooner.
_FEW_STEPS, _MOST_STEPS, _MOST_FULL_STEPS = 4, 16, 8
_STEADY, _STEADY_IN_PLANE = 0.7, 0.8
# Displacements are projected onto tangent planes if this share of the first step is across them: it is noise.
_NOISE = 0.4
# From this many steps on the fit has a term for neighborhoods that are uneven.
_STEPS_FOR_UNEVEN = 8
# Directions stand out if this share of the points agrees on their number after some steps, and most points after others.
_AGREED, _MAJORITY = 0.8, 0.5
_MOST_DIRECTIONS = 10
# A walk that has reached more than this share of all points says nothing about what is near, nor how far a step goes.
_LOCAL = 0.4
# Coordinates found from distances are off by 1e-8 of the data's size, and squares of steps by this.
_SAME_PLACE = 1e-15


def calibrated(
    graph: KernelGraph, points: Points, *, strips: Strips | None = None, n_jobs: int | None = None
) -> KernelGraph:
    """The graph with its calibration, by which its Laplacian is divided; ``strips`` are those of a full one, if known."""
    # A point whose density weight vanishes beside the others is one that no walk returns from.
    alone = np.maximum(graph.weights.diagonal() * graph.density, TINY)
    joined = np.flatnonzero((graph.density > 0) & (graph.density_sums > alone))
    if not points.whole or len(joined) < 3:
        return replace(graph, calibration=_untold(0.0))
    with _walk_on(graph, points, strips, n_jobs) as walk:
        n_values = min(_MOST_DIRECTIONS, points.shape[1]) + 1
        return replace(graph, calibration=_measured(walk, joined, graph.multiplicity, n_values))


def _measured(walk: Walk, joined: np.ndarray, multiplicity: np.ndarray | None, n_values: int) -> Calibration:
    rng, most = np.random.default_rng(0), min(MOST_STARTS, len(joined))
    if multiplicity is None:
        order = rng.permutation(joined)[:most]
    else:  # each as often as its weight says
        order = rng.choice(joined, most, p=multiplicity[joined] / multiplicity[joined].sum())
    first, *others = np.array_split(order, -(-len(order) // _BATCH))
    rows = walk.glance(first, _FEW_STEPS)
    seen, share, near = _directions(walk, first, rows, n_values)
    while seen is None and walk.is_sparse and len(rows) < _MOST_STEPS:
        rows = walk.longer(first, rows)
        seen, share, near = _directions(walk, first, rows, n_values)
    if seen is None:
        return _untold(share)
    step, through = (float(walk.rates(first, rows, seen, plane=plane, steps=1).mean()) for plane in (True, False))
    if not step * walk.eps**2 > _SAME_PLACE:  # all are joined with points at the same place
        return _untold(share)
    plane = step < (1.0 - _NOISE) * through
    everywhere, steady, steps = walk.by_moments and not plane, _STEADY_IN_PLANE if plane else _STEADY, len(rows)
    rows = walk.rows(first, steps) if walk.glances and not everywhere else rows
    rates = walk.rates_of_all(joined, steps, seen) if everywhere else walk.rates(first, rows, seen, plane=plane)
    rate = rates.mean(axis=0)
    while steps < (_MOST_STEPS if walk.is_sparse else _MOST_FULL_STEPS) and rate[-1] >= steady * rate[1]:
        steps *= 2
        if everywhere:
            rates = walk.rates_of_all(joined, steps, seen)
        else:
            rows = walk.longer(first, rows)
            rates = walk.rates(first, rows, seen, plane=plane)
        rate = rates.mean(axis=0)
    used = max(_FEW_STEPS, int(np.argmin(np.append(rate[1:] >= steady * rate[1], False))) + 1)
    rates = rates[:, :used]
    factor, error = _extrapolated(rates)

    def of(batch: np.ndarray) -> np.ndarray:
        return walk.rates(batch, walk.rows(batch, steps), seen, plane=plane)[:, :used]

    while others and not everywhere and not error <= _ENOUGH * factor:
        together, others = others[: walk.threads], others[walk.threads :]
        for more in in_order(of, together, n_jobs=walk.threads):
            if not error <= _ENOUGH * factor:
                rates = np.vstack([rates, more])
                factor, error = _extrapolated(rates)
    if not error <= _MOST_ERROR * factor:
        return _untold(share, error)
    if (reach := walk.held(rows[0])) > _LOCAL:
        return _untold(share, reach=reach)
    return Calibration(factor, error, step, seen, share, near, rates.mean(axis=0))


def _untold(share: float, error: float = float("nan"), reach: float | None = None) -> Calibration:
    return Calibration(1.0, error, 1.0, None, share, 0.0, np.zeros(0), reach)


@contextmanager
def _walk_on(graph: KernelGraph, points: Points, strips: Strips | None, n_jobs: int | None) -> Iterator[Walk]:
    """The walk on a graph, where its weights are."""
    if isinstance(graph.weights, np.ndarray) or sparse.issparse(graph.weights):
        # Threads of BLAS wait for one another wherever the machine has other work.
        with one_blas_thread, ExitStack() as stack:
            times, roughly = stack.enter_context(product(graph.weights, n_jobs)), None
            if allows_single_precision(graph):
                strips = strips or strips_of(graph, n_jobs=n_jobs)
                roughly = stack.enter_context(strips.product(n_jobs))
            yield HostWalk(graph, points, times, roughly, thread_count(n_jobs))
        return
    from .device_walk import DeviceWalk

    yield DeviceWalk(graph, points)


def _directions(walk: Walk, starts: np.ndarray, rows: list[Any], n_values: int) -> tuple[int | None, float, float]:
    """The least d that the points agree on after some number of steps, the share that does, and the share after one step.

    Few steps see noise as directions, and many see curvature: both add to d.  After still more, all points see the same.
    """
    seen = [R for t, R in enumerate(rows, start=1) if t in (1, 2, 4, 8, 16)]
    votes = [largest_gap(walk.singular_values(starts, R, n_values)) for R in seen if R is rows[0] or walk.held(R) <= _LOCAL]
    agreed = [(vote(each), float(np.mean(each == vote(each)))) for each in votes]
    most = max(share for _, share in agreed)
    told = [d for d, share in agreed if share > _MAJORITY and d > 0]
    if most < _AGREED or agreed[0][0] == 0 or not told:
        return None, most, 0.0
    dim = min(told)
    shares = [float(np.mean(each == dim)) for each in votes]
    return dim, max(shares), shares[0]


def _extrapolated(rates: np.ndarray) -> tuple[float, float]:
    """c and its standard error from rates (n, steps): from the second on, log rate = log c − κt (+ b/t)."""
    mean = np.maximum(rates.mean(axis=0), 1e-3 * rates[:, 0].mean())
    t = np.arange(len(mean)) + 0.5
    columns = [np.ones(len(t)), t] + ([1.0 / t] if len(t) >= _STEPS_FOR_UNEVEN else [])
    solve = np.linalg.pinv(np.column_stack(columns)[1:])
    logs = solve @ np.log(mean[1:])
    half = 0.5 * abs(logs[1]) or 1e-9
    factor = float(np.exp(logs[0]) * half / np.sinh(half))  # rates are means over a step
    influence = (rates[:, 1:] / mean[1:]) @ solve[0]
    return factor, float(factor * influence.std() / np.sqrt(len(rates)))
