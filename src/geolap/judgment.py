"""What a bandwidth may be used for, whatever rule chose it: neighborhoods at ε̂, and remarks on the data."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .data.features import feature_remarks
from .data.multiplicity import own_weight, weights_at
from .data.points import Points
from .engines import make_engine
from .local_dimension import Surroundings
from .search import log_grid
from .search_range import local_share, locality_bound
from .selection import Selection
from .sentences import Remark, Sentence
from .specification import GraphSpec
from .validation import check_n_sample

__all__ = ["LOOKED_AT", "judged", "remarks_on", "without_guess"]

# Evaluation points whose neighborhoods are looked at.
LOOKED_AT = 200
# Fewer evaluation points than these do not tell how much they differ: an interval of three may be far too narrow.
_FEWEST = 20
# How far below a bandwidth the bound on locality is looked for.
_DEEP = 1000.0


def judged(selection: Selection, points: Points, *, n_jobs: int | None = None) -> Selection:
    """The selection with the neighborhoods of some points at its bandwidth, over all pairs, and remarks on the data."""
    sample = check_n_sample(LOOKED_AT, len(points), 0)
    row_sums = make_engine(points, GraphSpec(n_jobs=n_jobs)).row_sums
    there = Surroundings(points, sample, row_sums, n_jobs=n_jobs).at(selection.bandwidth)
    selection = replace(selection, neighborhoods=there, remarks=remarks_on(points))
    if selection.bound is not None or there.effective <= local_share(points.total) * points.total:
        return selection
    bound = _bound_below(selection.bandwidth, points, sample, row_sums)
    bounded = replace(selection, bound=bound, minima=tuple(replace(m, local=m.bandwidth <= bound) for m in selection.minima))
    return bounded if bounded.beyond_bound else selection


def _bound_below(
    bandwidth: float, points: Points, sample: np.ndarray, row_sums: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> float:
    """The bound on locality, below a bandwidth that is beyond it."""
    bandwidths = log_grid(bandwidth / _DEEP, bandwidth)
    W, W2 = (
        own_weight(points.multiplicity, sample) + row_sums(eps, sample) for eps in (bandwidths, bandwidths / np.sqrt(2.0))
    )
    weights = weights_at(points.multiplicity, sample)
    return locality_bound(bandwidths, W**2 / W2, points.total, weights=weights)


def without_guess(selection: Selection, n_evaluated: int, n_points: int) -> Selection:
    """The selection without an interval, where that would be of too few evaluation points, and of not all."""
    if selection.interval is None or "limits" in selection.details or n_evaluated >= min(_FEWEST, n_points):
        return selection
    text = Sentence(
        "An interval needs {least} evaluation points or more, or all points; {n} of {n_points} were evaluated: raise "
        "{n_sample}.",
        least=_FEWEST,
        n=n_evaluated,
        n_points=n_points,
    )
    return replace(selection, interval=None, remarks=(*selection.remarks, Remark("few", text)))


def remarks_on(points: Points) -> tuple[Remark, ...]:
    """What is odd about the features of points in host memory."""
    return feature_remarks(points.given) if type(points) is Points and isinstance(points.given, np.ndarray) else ()
