"""Names that users choose by.  Nothing is loaded here, so that ``geolap --help`` and completion in a shell are quick.

`RULES` is where a rule is registered: `geolap.selectors.METHODS`, the choices of the command line and its help follow.
"""

from typing import NamedTuple

__all__ = ["ENGINES", "RULES", "Rule"]


class Rule(NamedTuple):
    """A way to choose ε.

    Attributes
    ----------
    selector : str
        Its class in `geolap.selectors`.
    words : str
        What it does.
    quick_up_to : int
        Points up to which it answers within seconds; a report asks it of no more.
    all_pairs : bool
        Whether its time grows with the square of the number of points.
    """

    selector: str
    words: str
    quick_up_to: int = 0
    all_pairs: bool = False


RULES = {
    "gc": Rule("GeometricConsistency", "geometric consistency"),
    "rec": Rule("Reconstruction", "reconstruction of points from their neighbors", 20_000),
    "cv": Rule("CrossValidation", "cross-validation of labels"),
    "bgh": Rule("KernelSum", "steepest growth of the kernel sum", 10_000, all_pairs=True),
    "semigroup": Rule("Semigroup", "error of the semigroup property", 2000, all_pairs=True),
    "clmr": Rule("MultiscaleSVD", "singular values over scales", 20_000),
    "lcmc": Rule("LocalContinuity", "neighbors that a map keeps"),
    "singer": Rule("SingerRate", "optimal rate from a small pilot sample"),
    "median": Rule("MedianDistance", "median of all distances", 20_000),
    "knn": Rule("NeighborDistance", "distance to the k-th neighbor", 20_000),
}

# Where sums over all points run; "auto" takes the one that suits the points.
ENGINES = ("auto", "tiled", "dense", "device", "cells")
