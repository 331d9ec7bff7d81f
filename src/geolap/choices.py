"""Names that users choose by.  Nothing is loaded here, so that ``geolap --help`` and completion in a shell are quick.

`RULES` is where a rule is registered: `geolap.selectors.METHODS`, the names in ``geolap``, the choices of the command line
with their help, and the API page follow.
"""

from typing import Any, NamedTuple

__all__ = ["BY_CONSISTENCY", "ENGINES", "METHODS", "RULES", "VARIANTS", "WITH_COORDINATES", "Rule"]


class Rule(NamedTuple):
    """A way to choose ε."""

    module: str  # where its class is in `geolap.selectors`
    selector: str  # what that is called
    words: str  # what it does
    quick_up_to: int = 0  # points up to which it answers within seconds; a report asks it of no more
    all_pairs: bool = False  # whether its time grows with the square of the number of points


RULES = {
    "gc": Rule("geometric_consistency", "GeometricConsistency", "geometric consistency"),
    "rec": Rule("reconstruction", "Reconstruction", "reconstruction of points from their neighbors", 20_000),
    "cv": Rule("cross_validation", "CrossValidation", "cross-validation of labels"),
    "bgh": Rule("kernel_sum", "KernelSum", "steepest growth of the kernel sum", 10_000, all_pairs=True),
    "semigroup": Rule("semigroup", "Semigroup", "error of the semigroup property", 2000, all_pairs=True),
    "clmr": Rule("multiscale_svd", "MultiscaleSVD", "singular values over scales", 20_000),
    "lcmc": Rule("local_continuity", "LocalContinuity", "neighbors preserved by a map"),
    "singer": Rule("singer", "SingerRate", "optimal rate from a small pilot sample"),
    "median": Rule("distances", "MedianDistance", "median of all distances", 20_000),
    "knn": Rule("distances", "NeighborDistance", "distance to the k-th neighbor", 20_000),
}

# Rules by other names, with a parameter: further values of `Selection.method`.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {"gc_inverse": ("gc", {"dual": False})}
METHODS = (*RULES, *VARIANTS)
# Geometric consistency, of the metric and of its inverse.
BY_CONSISTENCY = ("gc", "gc_inverse")

# Where sums over all points run; "auto" takes the one that suits the points.
ENGINES = ("auto", "dense", "tiled", "cells", "device")
# Metrics under which points have coordinates.
WITH_COORDINATES = ("euclidean", "cosine", "correlation")
