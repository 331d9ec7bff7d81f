"""Names that users choose by.  Nothing is loaded here, so that ``geolap --help`` and completion in a shell are quick.

`RULES` is where a rule is registered: `geolap.selectors.METHODS`, the choices of the command line and its help follow.
"""

from typing import NamedTuple

__all__ = ["ENGINES", "RULES", "Rule"]


class Rule(NamedTuple):
    """A way to choose ε: its class in `geolap.selectors`, and what it does in a few words."""

    selector: str
    words: str


RULES = {
    "gc": Rule("GeometricConsistency", "geometric consistency"),
    "rec": Rule("Reconstruction", "reconstruction of points from their neighbors"),
    "cv": Rule("CrossValidation", "cross-validation of labels"),
    "bgh": Rule("KernelSum", "steepest growth of the kernel sum"),
    "semigroup": Rule("Semigroup", "error of the semigroup property"),
    "clmr": Rule("MultiscaleSVD", "singular values over scales"),
    "lcmc": Rule("LocalContinuity", "neighbors that a map keeps"),
    "singer": Rule("SingerRate", "optimal rate from a small pilot sample"),
    "median": Rule("MedianDistance", "median of all distances"),
    "knn": Rule("NeighborDistance", "distance to the k-th neighbor"),
}

# Where sums over all points run; "auto" takes the one that suits the points.
ENGINES = ("auto", "tiled", "dense", "device", "cells")
