"""CV: the bandwidth with the least cross-validation error of the Laplacian classifier on the labeled points.

.. math:: \\hat ε = \\arg\\min_ε \\frac{1}{F} Σ_f \\text{error of the classifier trained on the other folds, on fold } f

(the paper's CV: two folds).  The error has steps and many minima, so bandwidths over the whole range are tried; the paper
draws them by simulated annealing.  All points, labeled or not, are in the graph; the classifier is that of
`geolap.graphs.smooth_regression`.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Tags

from ..data.multiplicity import weights_at
from ..data.points import Points, spread_rows
from ..engines import make_engine
from ..graphs.neighbors import all_pairs
from ..graphs.smooth_regression import predicted_classes
from ..runtime.threads import in_order, thread_count
from ..search_range import falls_apart, search_grid
from ..selection import Selection, Status
from ..specification import GraphSpec
from ..validation import check_classes, check_labels, check_number, check_random_state
from .base import RivalRule

__all__ = ["CrossValidation", "label_folds", "middle_of_least"]

# Bytes that graphs of several bandwidths may take at once, and what one takes for each pair of points.
_ROOM, _BYTES_OF_PAIR = 2e9, 32


@dataclass(eq=False, repr=False)
class CrossValidation(RivalRule):
    """Choose the bandwidth by cross-validation of the Laplacian classifier (the paper's CV).

    ``fit`` needs labels: classes as whole numbers or words, −1 for unlabeled points.  The copies of a point with a weight
    stay together in a fold.

    Parameters
    ----------
    n_folds : int, default 2
        Folds of the labeled points; lowered to the size of the smallest class.
    n_repeats : int, default 3
        How often the folds are drawn; the errors are averaged.
    n_evaluations : int, default 30
        Bandwidths tried, in equal ratios.
    n_sample : int, default 2000
        Number of random points used, including all labeled ones: the graph is dense.
    random_state : int, RandomState or None
    <parameters and attributes of all rules>
        Its curve holds the bandwidths tried and their errors.

    Examples
    --------
    >>> import numpy as np, geolap
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.standard_normal((40, 2)), rng.standard_normal((40, 2)) + 5])
    >>> y = np.repeat([0, 1], 40)
    >>> y[10:40] = y[50:] = -1
    >>> geolap.select_bandwidth(X, "cv", y=y, random_state=0, n_evaluations=10).scores.min().item()
    0.0
    """

    needs_labels: ClassVar[bool] = True

    n_folds: int = 2
    n_repeats: int = 3
    n_evaluations: int = 30
    n_sample: int = 2000
    random_state: Any = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def rule_alone(self, points: Points, y: Any = None) -> Selection:
        check_number("n_folds", self.n_folds, Integral, low=2)
        check_number("n_repeats", self.n_repeats, Integral, low=1)
        check_number("n_evaluations", self.n_evaluations, Integral, low=2)
        check_number("n_sample", self.n_sample, Integral, low=3)
        random_state = check_random_state(self.random_state)
        classes = _checked_labels(y, len(points))
        labeled = np.flatnonzero(classes >= 0)
        room = max(self.n_sample - len(labeled), 0)
        others = random_state.permutation(np.flatnonzero(classes < 0))[:room]
        kept = np.sort(np.concatenate([labeled, others]))
        points, classes = points.subset(kept), classes[kept]
        m = points.multiplicity
        labeled = np.flatnonzero(classes >= 0)
        folds = label_folds(classes[labeled], self.n_folds, self.n_repeats, random_state.randint(2**31))
        train = [labeled[inside] for inside, _ in folds]
        test = [labeled[outside] for _, outside in folds]

        engine = make_engine(points, GraphSpec(n_jobs=self.n_jobs))
        some = spread_rows(len(points), 1000)
        nearest, weights = engine.nearest(some), weights_at(m, some)
        low, *_, high = search_grid(engine, nearest, points.total, weights)
        bandwidths = np.geomspace(low, high, self.n_evaluations)

        pairs = all_pairs(points, n_jobs=self.n_jobs).host
        threads = thread_count(self.n_jobs)
        together = min(threads, max(1, int(_ROOM / (_BYTES_OF_PAIR * len(points) ** 2))))

        def error(eps: float) -> float:
            known = [classes[rows] for rows in train]
            predictions = predicted_classes(pairs, eps, train, known, multiplicity=m, n_jobs=max(1, threads // together))
            wrong = [
                np.average(p[rows] != classes[rows], weights=weights_at(m, rows))
                for p, rows in zip(predictions, test, strict=True)
            ]
            return float(np.mean(wrong))

        scores = np.array(list(in_order(error, bandwidths.tolist(), n_jobs=together, label="cross-validation")))
        bandwidth = float(bandwidths[middle_of_least(scores)])
        status = Status.FLAT if np.ptp(scores) == 0 else Status.INTERIOR
        return Selection(
            bandwidth=bandwidth,
            bandwidths=bandwidths,
            scores=scores,
            minima=(),
            interval=None,
            status=Status.FALLS_APART if falls_apart(nearest, bandwidth, weights) else status,
            method="cv",
            details={"n_labeled": len(labeled)},
        )


def label_folds(classes: np.ndarray, n_folds: int, n_repeats: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of (training, test) positions among the labeled points, every class in every training set."""
    n_folds = min(n_folds, np.bincount(classes).min())
    return [
        fold
        for repeat in range(n_repeats)
        for fold in StratifiedKFold(n_folds, shuffle=True, random_state=(seed + repeat) % 2**32).split(classes, classes)
    ]


def middle_of_least(errors: np.ndarray) -> int:
    """Many bandwidths share the least error, a multiple of one over the number of labels: the position of the middle one."""
    least = np.flatnonzero(errors == errors.min())
    return least[len(least) // 2]


def _checked_labels(y: Any, n_points: int) -> np.ndarray:
    """Labels as classes 0 … C − 1, −1 for unlabeled points."""
    if y is None:
        raise ValueError(
            "Method cv requires y to be passed, but the target y is None: give a class to the labeled points and -1 to the "
            "others, or use a method that needs no labels, such as gc."
        )
    y, known = check_labels(y, n_points)
    names, classes = check_classes(y[known])
    if len(names) < 2 or np.bincount(classes).min() < 2:
        found = ", ".join(f"{name}: {count}" for name, count in zip(names, np.bincount(classes), strict=True)) or "none"
        raise ValueError(
            f"Cross-validation needs at least two classes with two labeled points each; found {found} (-1 is unlabeled): "
            "label more points, or use a method that needs no labels, such as gc."
        )
    result = np.full(n_points, -1)
    result[known] = classes
    return result
