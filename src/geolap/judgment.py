"""What a bandwidth may be used for, whatever rule chose it: neighborhoods at ε̂, and remarks on the data."""

from dataclasses import replace

import numpy as np

from .engines import make_engine
from .features import feature_remarks
from .local_dimension import Surroundings
from .points import Points
from .selection import Selection
from .sentences import Remark
from .specification import GraphSpec
from .validation import check_n_sample

__all__ = ["LOOKED_AT", "judged", "remarks_on"]

# Evaluation points whose neighborhoods are looked at.
LOOKED_AT = 200


def judged(selection: Selection, points: Points, *, n_jobs: int | None = None) -> Selection:
    """The selection with the neighborhoods of some points at its bandwidth, over all pairs, and remarks on the data."""
    sample = check_n_sample(LOOKED_AT, len(points), 0)
    row_sums = make_engine(points, GraphSpec(n_jobs=n_jobs)).row_sums
    there = Surroundings(points, sample, row_sums, n_jobs=n_jobs).at(selection.bandwidth)
    return replace(selection, neighborhoods=there, remarks=remarks_on(points))


def remarks_on(points: Points) -> tuple[Remark, ...]:
    """What is odd about the features of points in host memory."""
    return feature_remarks(points.given) if type(points) is Points and isinstance(points.given, np.ndarray) else ()
