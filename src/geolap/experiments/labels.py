"""The classification experiment behind Tables 1 and 2: bandwidths by every rule on the SSL-book sets, and errors at each.

The classifier is that of `geolap.LaplacianClassifier`.  A graph and its smooth functions serve all splits, so that errors of
all splits at all bandwidths of a grid come at the price of one eigenproblem a bandwidth:

- TE, the oracle that looks at the test labels: for each split the bandwidth of the grid with the least test error.  Not a
  way to choose ε but the yardstick for those that are.
- CV: for each split the bandwidth of the grid with the least error over two folds of the labeled points.  The paper anneals
  instead, which finds the same minimum at random; so does `geolap.CrossValidation`, whose seconds are told.
"""

import time
from dataclasses import dataclass

import numpy as np

from ..datasets import load_ssl_book
from ..engines import make_engine
from ..estimators.laplacian import GraphLaplacian
from ..graphs.graph import kernel_graph
from ..graphs.neighbors import all_pairs
from ..graphs.smooth_regression import SIZES, signs_of, smooth_functions
from ..points import spread_rows
from ..search import log_grid
from ..search_range import search_grid
from ..selection import Selection
from ..selectors import METHODS, GeometricConsistency
from ..selectors.cross_validation import CrossValidation, label_folds, middle_of_least
from ..threads import in_order
from .paper import SETS

__all__ = ["LABEL_COUNTS", "LOCAL", "PAPER_RULES", "RULES", "SetRun", "run_sets"]

PAPER_RULES = ("te", "cv", "rec", "gc_inverse", "gc")
LABEL_COUNTS = (100, 10)

# Beyond the paper; a number of neighbors, or regions, makes the bandwidth vary from place to place.
LOCAL = {"gc, local (10th neighbor)": 10, "gc, local (regional)": "regional"}
RULES = ("gc_first", "gc_drift", "bgh", "semigroup", "singer", "lcmc", "median", "knn")

QUICK_SETS, QUICK_SPLITS = ("digit1", "bci"), 3
# Bandwidths for TE and CV.
STEPS_PER_OCTAVE, QUICK_STEPS = 4, 1
# CV's classifier tries fewer eigenvectors, as in `geolap.CrossValidation`.
_SIZES_OF_CV = tuple(size for size in SIZES if size <= 60)


@dataclass(frozen=True)
class SetRun:
    """What was found on one set.

    Attributes
    ----------
    name : str
    bandwidths : dict
        One for each rule that needs no labels; ``gc`` and ``gc_inverse`` also as ``gc_2``, ``gc_inverse_3``, … for d' > 1.
    selections : dict
        The selections behind them.
    by_split : dict
        For ``te`` and ``cv`` and each number of labels, the bandwidth of each split; no ``cv`` where a class has one label.
    errors : dict
        For each rule and number of labels, the test error of each split in per cent.
    seconds : dict
        One fit of each rule.
    """

    name: str
    bandwidths: dict[str, float]
    selections: dict[str, Selection]
    by_split: dict[tuple[str, int], np.ndarray]
    errors: dict[tuple[str, int], np.ndarray]
    seconds: dict[str, float]


def run_sets(*, quick=False, random_state=0) -> list[SetRun]:
    """Every rule on every set: a quarter of an hour on two cores, or with ``quick`` half a minute on a part of it."""
    return [_run_set(name, quick, random_state) for name in (QUICK_SETS if quick else SETS)]


def _run_set(name, quick, seed):
    data = {n: load_ssl_book(name, n_labels=n) for n in LABEL_COUNTS}
    X, target = data[100].data, data[100].target
    splits = {n: data[n].splits[: QUICK_SPLITS if quick else None] for n in LABEL_COUNTS}
    pairs = all_pairs(X)
    selections, seconds = _selections(X, _dimensions(name, quick), quick, seed)
    bandwidths = {rule: selection.bandwidth for rule, selection in selections.items()}

    y = np.full(len(target), -1)
    y[splits[100][0]] = target[splits[100][0]]
    start = time.perf_counter()
    CrossValidation(random_state=seed, n_evaluations=10 if quick else 60).fit(X, y)
    seconds["cv"] = time.perf_counter() - start

    grid = _grid(X, QUICK_STEPS if quick else STEPS_PER_OCTAVE)
    tested = {n: np.empty((len(splits[n]), len(grid))) for n in LABEL_COUNTS}
    enough = [n for n in LABEL_COUNTS if all(np.bincount(target[rows]).min() >= 2 for rows in splits[n])]  # for folds
    validated = {n: np.empty((len(splits[n]), len(grid))) for n in enough}
    for column, eps in enumerate(grid):
        functions = _functions(kernel_graph(pairs, eps, self_weights=False), splits)
        for n in LABEL_COUNTS:
            tested[n][:, column] = _test_errors(functions, target, splits[n])
        for n in enough:
            validated[n][:, column] = _cv_errors(functions, target, splits[n], seed)
    chosen = {("te", n): tested[n].argmin(axis=1) for n in LABEL_COUNTS}
    chosen |= {("cv", n): np.array([middle_of_least(errors) for errors in validated[n]]) for n in enough}
    errors = {(rule, n): tested[n][np.arange(len(at)), at] for (rule, n), at in chosen.items()}

    graphs = {rule: kernel_graph(pairs, eps, self_weights=False) for rule, eps in bandwidths.items()}
    for rule, scale in LOCAL.items():
        if not quick:
            start = time.perf_counter()
            estimator = GraphLaplacian(self_weights=False, local_scale=scale, random_state=seed).fit(X)
            seconds[rule] = time.perf_counter() - start
            bandwidths[rule], graphs[rule] = estimator.bandwidth_, estimator.graph_
    for rule, graph in graphs.items():
        functions = _functions(graph, splits)
        for n in LABEL_COUNTS:
            errors[rule, n] = _test_errors(functions, target, splits[n])
    by_split = {key: grid[at] for key, at in chosen.items()}
    return SetRun(name, bandwidths, selections, by_split, errors, seconds)


def _dimensions(name, quick):
    """d' for GC and GC⁻¹; the intrinsic dimension of Digit1 is known to be 5."""
    return (1,) if quick else (1, 2, 3, 5) if name == "digit1" else (1, 2, 3)


def _selections(X, dimensions, quick, seed):
    """The selection of every rule that needs no labels, and seconds."""
    selectors = {
        "rec": METHODS["rec"](),
        "gc_first": GeometricConsistency(rule="first"),
        "gc_drift": GeometricConsistency(drift=1.0),
        **{rule: METHODS[rule]() for rule in RULES if rule in METHODS and not (quick and rule in ("semigroup", "lcmc"))},
    }
    for dim in dimensions:
        for dual, rule in ((True, "gc"), (False, "gc_inverse")):
            selectors[rule if dim == 1 else f"{rule}_{dim}"] = GeometricConsistency(working_dim=dim, dual=dual)
    selections, seconds = {}, {}
    for rule, selector in selectors.items():
        if "random_state" in selector.get_params():
            selector.set_params(random_state=seed)
        start = time.perf_counter()
        selections[rule] = selector.fit(X).selection_
        seconds[rule] = time.perf_counter() - start
    return selections, seconds


def _grid(X, steps_per_octave):
    engine = make_engine(X)
    ends = search_grid(engine, engine.nearest(spread_rows(len(X), 1000)), len(X))[[0, -1]]
    return log_grid(ends[0], ends[1], steps_per_octave)


def _functions(graph, splits):
    """The smooth functions that all splits share."""
    labeled = np.unique(np.concatenate([rows for each in splits.values() for rows in each]))
    return smooth_functions(graph, labeled, max(SIZES))


def _test_errors(functions, target, splits):
    """Error in per cent on the unlabeled points, one for each split."""

    def error(rows):
        fit = functions.fit(rows, signs_of(target[rows], target.max() + 1), classes=True)
        wrong = fit.scores.argmax(axis=1) != target
        return 100 * np.mean(np.delete(wrong, rows))

    return np.array(list(in_order(error, splits, label=None)))


def _cv_errors(functions, target, splits, seed):
    """Mean error over two folds of the labeled rows, one for each split."""

    def error(rows):
        wrong = []
        for inside, outside in label_folds(target[rows], 2, 1, seed):
            train, test = rows[inside], rows[outside]
            fit = functions.fit(train, signs_of(target[train], target.max() + 1), classes=True, sizes=_SIZES_OF_CV)
            wrong.append(np.mean(fit.scores[test].argmax(axis=1) != target[test]))
        return np.mean(wrong)

    return np.array(list(in_order(error, splits, label=None)))
