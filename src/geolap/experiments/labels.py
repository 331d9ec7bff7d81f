"""The classification experiment behind Tables 1 and 2: bandwidths by every rule on the SSL-book sets, and errors at each.

The classifier is `geolap.LaplacianClassifier`.  A graph and its smooth functions serve all splits, so the errors of all
splits at all bandwidths of a grid cost one eigenproblem per bandwidth:

- TE, an oracle that uses the test labels: for each split, the bandwidth of the grid with the least test error.  It is not a
  way to choose ε, but the yardstick for the others.
- CV: for each split, the bandwidth of the grid with the least error over two folds of the labeled points.  The paper uses
  simulated annealing, which finds the same minimum at random.  The seconds are those of `geolap.CrossValidation`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..data.pairs import Pairs
from ..data.points import Points, spread_rows
from ..datasets import load_ssl_book
from ..engines import make_engine
from ..estimators.laplacian import GraphLaplacian
from ..graphs.graph import KernelGraph, kernel_graph
from ..graphs.neighbors import all_pairs
from ..graphs.smooth_regression import SIZES, SmoothFunctions, signs_of, smooth_functions, weights_of_graphs
from ..runtime.threads import in_order
from ..search import log_grid
from ..search_range import search_grid
from ..selection import Selection
from ..selectors import METHODS, BandwidthSelector, GeometricConsistency
from ..selectors.cross_validation import CrossValidation, label_folds, middle_of_least
from ..specification import LocalScaleLike
from .paper import SETS
from .rules import PAPER, selected

__all__ = ["LABEL_COUNTS", "LOCAL", "PAPER_RULES", "RULES", "SetRun", "functions_of", "run_sets", "split_errors"]

PAPER_RULES = ("te", "cv", "rec", "gc_inverse", "gc")
LABEL_COUNTS = (100, 10)

# Not in the paper: bandwidths that vary, by the distance to the k-th neighbor or by region, and other rules.
LOCAL: dict[str, LocalScaleLike] = {"gc, local (10th neighbor)": 10, "gc, local (regional)": "regional"}
RULES = ("gc_first", "gc_drift", "bgh", "semigroup", "singer", "lcmc", "median", "knn")

QUICK_SETS, QUICK_SPLITS = ("digit1", "bci"), 3
# Bandwidths for TE and CV.
STEPS_PER_OCTAVE, QUICK_STEPS = 4, 1
# CV's classifier tries fewer eigenvectors, as in `geolap.CrossValidation`.
_SIZES_OF_CV = tuple(size for size in SIZES if size <= 60)

Splits = dict[int, np.ndarray]
BySplit = dict[tuple[str, int], np.ndarray]


@dataclass(frozen=True)
class SetRun:
    """The results on one set.

    Attributes
    ----------
    name : str
    bandwidths : dict
        One for each rule that needs no labels; ``gc`` and ``gc_inverse`` also as ``gc_2``, ``gc_inverse_3``, … for d' > 1.
    selections : dict
        The selections behind them.
    by_split : dict
        For ``te`` and ``cv`` and each number of labels, the bandwidth of each split; no ``cv`` if a class has one label.
    errors : dict
        For each rule and number of labels, the test error of each split in percent.
    seconds : dict
        One fit of each rule.
    """

    name: str
    bandwidths: dict[str, float]
    selections: dict[str, Selection]
    by_split: BySplit
    errors: BySplit
    seconds: dict[str, float]

    @property
    def mean_errors(self) -> dict[tuple[str, int], float]:
        """The mean over the splits."""
        return {key: float(errors.mean()) for key, errors in self.errors.items()}


def run_sets(*, quick: bool = False, random_state: int = 0) -> list[SetRun]:
    """Every rule on every set: a quarter of an hour on two cores, or half a minute for a ``quick`` run on two sets."""
    return [_run_set(name, quick, random_state) for name in (QUICK_SETS if quick else SETS)]


def _run_set(name: str, quick: bool, seed: int) -> SetRun:
    data = {n: load_ssl_book(name, n_labels=n) for n in LABEL_COUNTS}
    X, target = data[100].data, data[100].target
    splits = {n: data[n].splits[: QUICK_SPLITS if quick else None] for n in LABEL_COUNTS}
    selections, seconds = selected(X, _selectors(name, quick), seed)
    bandwidths = {rule: selection.bandwidth for rule, selection in selections.items()}

    y = np.full(len(target), -1)
    y[splits[100][0]] = target[splits[100][0]]
    cross_validation = CrossValidation(random_state=seed, n_evaluations=10 if quick else 30)
    _, seconds["cv"] = cross_validation.timed(Points.of(X), y)

    pairs = all_pairs(X).host
    by_split, errors = _over_grid(X, pairs, target, splits, quick, seed)
    graphs = {rule: kernel_graph(pairs, eps, self_weights=False) for rule, eps in bandwidths.items()}
    for rule, scale in ({} if quick else LOCAL).items():
        start = time.perf_counter()
        estimator = GraphLaplacian(calibrate=False, local_scale=scale, random_state=seed).fit(X)
        seconds[rule] = time.perf_counter() - start
        bandwidths[rule], graphs[rule] = estimator.bandwidth_, estimator.graph_
    for rule, graph in graphs.items():
        functions = _functions(graph, splits)
        errors |= {(rule, n): split_errors([functions], target, splits[n]) for n in LABEL_COUNTS}
    return SetRun(name, bandwidths, selections, by_split, errors, seconds)


def _selectors(name: str, quick: bool) -> dict[str, BandwidthSelector]:
    """Every rule that needs no labels; the intrinsic dimension of Digit1 is known to be 5."""
    slow = ("semigroup", "lcmc") if quick else ()
    selectors: dict[str, BandwidthSelector] = {
        "gc_first": GeometricConsistency(working_dim=1, rule="first", **PAPER),
        "gc_drift": GeometricConsistency(working_dim=1, drift=1.0, **PAPER),
        **{rule: METHODS[rule]() for rule in ("rec", *RULES) if rule in METHODS and rule not in slow},
    }
    for dim in (1,) if quick else (1, 2, 3, 5) if name == "digit1" else (1, 2, 3):
        for rule, dual in {"gc": True, "gc_inverse": False}.items():
            selectors[rule if dim == 1 else f"{rule}_{dim}"] = GeometricConsistency(working_dim=dim, dual=dual, **PAPER)
    return selectors


def _over_grid(
    X: np.ndarray, pairs: Pairs, target: np.ndarray, splits: Splits, quick: bool, seed: int
) -> tuple[BySplit, BySplit]:
    """Bandwidths that TE and CV choose for each split, and the test errors there."""
    engine = make_engine(X)
    low, *_, high = search_grid(engine, engine.nearest(spread_rows(len(X), 1000)), len(X))
    grid = log_grid(low, high, QUICK_STEPS if quick else STEPS_PER_OCTAVE)
    enough = [n for n in LABEL_COUNTS if all(np.bincount(target[rows]).min() >= 2 for rows in splits[n])]  # for folds
    functions = [_functions(kernel_graph(pairs, eps, self_weights=False), splits) for eps in grid]
    tested = {n: np.column_stack([split_errors([f], target, splits[n]) for f in functions]) for n in LABEL_COUNTS}
    validated = {n: np.column_stack([_cv_errors(f, target, splits[n], seed) for f in functions]) for n in enough}
    chosen = {("te", n): tested[n].argmin(axis=1) for n in LABEL_COUNTS}
    chosen |= {("cv", n): np.array([middle_of_least(errors) for errors in validated[n]]) for n in enough}
    errors = {(rule, n): tested[n][np.arange(len(at)), at] for (rule, n), at in chosen.items()}
    return {key: grid[at] for key, at in chosen.items()}, errors


def _functions(graph: KernelGraph, splits: Splits) -> SmoothFunctions:
    return functions_of(graph, [rows for each in splits.values() for rows in each])


def functions_of(graph: KernelGraph, splits: np.ndarray | Sequence[np.ndarray], most: int = max(SIZES)) -> SmoothFunctions:
    """The smooth functions that all splits share."""
    return smooth_functions(graph, np.unique(np.concatenate(splits)), most)


def split_errors(
    functions: Sequence[SmoothFunctions], target: np.ndarray, splits: np.ndarray, most: int = max(SIZES)
) -> np.ndarray:
    """Error in percent on the unlabeled points, one for each split, with up to so many eigenvectors of each graph."""
    sizes = [size for size in SIZES if size <= most]

    def error(rows: np.ndarray) -> float:
        return 100 * np.mean(np.delete(_wrong(functions, target, rows, sizes), rows))

    return np.array(list(in_order(error, splits)))


def _cv_errors(functions: SmoothFunctions, target: np.ndarray, splits: np.ndarray, seed: int) -> np.ndarray:
    """Mean error over two folds of the labeled rows, one for each split."""

    def error(rows: np.ndarray) -> float:
        folds = label_folds(target[rows], 2, 1, seed)
        return np.mean(
            [np.mean(_wrong([functions], target, rows[train], _SIZES_OF_CV)[rows[test]]) for train, test in folds]
        )

    return np.array(list(in_order(error, splits)))


def _wrong(functions: Sequence[SmoothFunctions], target: np.ndarray, rows: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Which points the classifier gets wrong, given the labels of some rows; several graphs are weighed."""
    signs = signs_of(target[rows], target.max() + 1)
    fits = [each.fit(rows, signs, classes=True, sizes=sizes) for each in functions]
    weights = weights_of_graphs(fits, len(rows), classes=True)
    return sum(weight * fit.scores for weight, fit in zip(weights, fits, strict=True)).argmax(axis=1) != target
