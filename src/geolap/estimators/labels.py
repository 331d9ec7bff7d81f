"""Semi-supervised learning: labels of a few points, spread to all along the graph.

The graph is built over all points, labeled or not; the labels are then fitted by functions that are smooth on it
(`geolap.graphs.smooth_regression`).  A new point takes the mean of its neighbors, weighted by transition probabilities.

No one graph is best for labels: where clusters overlap in many dimensions all pairs are (g241c: 13 % errors, 34 % with ten
neighbors), on thin manifolds neighbors (COIL: 12 % with ten, 23 % over all pairs).  Unless one is asked for, both are tried,
and count by their leave-one-out errors, as the other settings do.  All pairs tell what is large, for which some thousand
points are enough: of more, a sample carries them, while neighbors are those of all points as long as that takes seconds.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin

from ..choices import BY_CONSISTENCY
from ..data.distances import Distances
from ..data.multiplicity import total_of, weights_at
from ..data.points import Points, chunks_of, is_chunked
from ..graphs.build import MOST_LANDMARKS, BuiltGraph, drawn_landmarks, one_of_each
from ..graphs.smooth_regression import POWERS, SIZES, SmoothFit, signs_of, smooth_functions, weights_of_graphs
from ..selectors import METHODS, BandwidthSelector, GeometricConsistency, selector_named
from ..sentences import Sentence, warn_caller
from ..validation import check_classes, check_labels, check_number, check_random_state, check_values
from .base import NEIGHBORS, GraphEstimator, Read, carriers, graph_parameters, in_chunks, mostly_copies

__all__ = ["LaplacianClassifier", "LaplacianRegressor"]

# Beyond so many points, more eigenvectors than these take too long: over all pairs, alone and weighed with neighbors, and
# over neighbors, of few and of many classes.  Over 23 sets of up to 1500 points with 100 labels, 18.2 % were wrong with 60
# or 200 of all pairs where two graphs are weighed, 19.0 % with 60 of both.  Of 20 000 points in 26 classes (letter, 20
# labels of each), 49 % were wrong with 60 of neighbors and 28 % with 200; in two classes, equally many with both.
_SIZE_OF_MANY = 60
_MANY_OF_ALL, _MANY_OF_NEIGHBORS, _SEVERAL_CLASSES = (5000, 1500), (10_000, 30_000), 8
# The points that carry each of them, at most: over 7 sets of 5404 to 6000 points, with 60 of both, 17.5 % were wrong, and
# 17.6 % with all pairs of all points; 16.5 % with 200 of neighbors.
_POINTS_OF_WEIGHED = (3000, 20_000)
# Evaluation points for each ε̂ then, beyond so many points: over the 23 sets, 18.1 % were wrong, and 18.2 % with as many as ε̂
# needs.
_EVALUATION_POINTS, _FEW_POINTS = 200, 500
# How sharp probabilities may become.
_SHARPNESS = (1e-2, 1e3)
# More classes than this with one label each are more likely to be something else, such as dates.
_MANY_CLASSES = 20
# The weight below which a graph is forgotten.
_NO_WEIGHT = 1e-6
_WHICH_NEIGHBORS = """    n_neighbors : int, "auto" or None, default "auto"
        "auto" weights two graphs, each at its own ε̂, by leave-one-out errors: all pairs, and the 10 nearest neighbors.
        Beyond 3000 points the graph of all pairs is built on a stratified sample of 3000 and the labeled points; beyond
        20 000, that of neighbors is built on a sample of 20 000, too.  The other points get the mean of their neighbors
        there.  A number of neighbors, None for all pairs, or another parameter that defines the pairs or ε, gives a single
        graph over all points.
"""
_SETTINGS = """    n_eigenvectors : int, optional
        p.  By default 5, 20 and 60 are tried, and also 200 over neighbors of up to 10 000 points (30 000 with eight classes
        or more), and over all pairs of up to 5000 points (1500 with two graphs).
    power : float, optional
        m.  By default 1, 2 and 4 are tried.
    penalty : float, optional
        μ, for eigenvectors of unit mean square and eigenvalues of I − P.  By default many are tried.
    n_landmarks : int, optional
        Build the graph on only this many points, a stratified sample, and the labeled ones, at most as many; ε and the
        degrees are those of all points, and the other points get the mean of their neighbors.  A dask array, or a file
        larger than half a gigabyte, always uses landmarks: by default 5000 to 20 000, so that a neighborhood has about a
        hundred.
"""
_ATTRIBUTES = """    graph_weights_ : dict
        Weight of each graph, by its number of neighbors, None for all pairs; ``graph_``, ``bandwidth_`` and ``selection_``
        are those of the first.
    n_graph_components_, n_unreached_ : int
        Number of connected components of the graph, and of points in components without a label, which get the values of the
        nearest point that is reached.
    landmarks_ : ndarray or None
        Rows of the points in ``graph_``, ascending; None if all are.
"""


@dataclass(eq=False, repr=False)
class _SmoothEstimator(GraphEstimator):
    """Fits what is known at some points by functions that are smooth on the graph of all points."""

    _texts: ClassVar[dict[str, str]] = {
        "settings": _SETTINGS,
        "attributes of the fit": _ATTRIBUTES,
        **GraphEstimator._texts,
        "parameters of the graph": graph_parameters(which_neighbors=_WHICH_NEIGHBORS),
    }
    takes_chunks: ClassVar[bool] = True

    bandwidth: float | str | BandwidthSelector = "gc"
    _: KW_ONLY
    n_eigenvectors: int | None = None
    power: float | None = None
    penalty: float | None = None
    n_neighbors: int | str | None = "auto"
    n_landmarks: int | None = None
    calibrate: bool = False  # labels do not depend on the scale of L

    n_eigenvectors_ = Read[int]("_fit.size")
    power_ = Read[float]("_fit.power")
    penalty_ = Read[float]("_fit.penalty")
    landmarks_ = Read[np.ndarray | None]("_built.landmarks")
    n_graph_components_ = Read[int]("_fit.n_components")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def graph_weights_(self) -> dict[int | None, float]:
        return {each.built.n_neighbors: each.weight for each in self._fits}

    @property
    def n_unreached_(self) -> int:
        return len(self._fit.unreached)

    def _each_graph(self) -> Iterator[tuple[Self, float]]:
        """The fitted estimator as if each graph were its only one, and how much that one counts."""
        for each in self._fits:
            alone = copy(self)
            alone._built, alone._fits = each.built, (each,)
            yield alone, each.weight

    def _smooth_fit(
        self, built: BuiltGraph, known: np.ndarray, target: np.ndarray, *, classes: bool, weighed: bool
    ) -> SmoothFit:
        """Fit target (n, C) at the known points by smooth functions on the graph, the only one or weighed with another."""
        if built.n_neighbors is None:
            many = _MANY_OF_ALL[weighed]
        else:
            many = _MANY_OF_NEIGHBORS[target.shape[1] >= _SEVERAL_CLASSES]
        sizes = tuple(size for size in SIZES if size <= _SIZE_OF_MANY or built.kernel.n_points <= many)
        sizes = sizes if self.n_eigenvectors is None else (self.n_eigenvectors,)
        known = known if built.landmarks is None else np.searchsorted(built.landmarks, known)
        fit = smooth_functions(built.kernel, known, max(sizes), n_jobs=self.n_jobs).fit(
            known,
            target,
            classes=classes,
            sizes=sizes,
            powers=POWERS if self.power is None else (self.power,),
            penalties=None if self.penalty is None else (self.penalty,),
        )
        reached = np.setdiff1d(np.arange(len(fit.scores)), fit.unreached, assume_unique=True)
        nearest = built.nearest_among(fit.unreached, reached)
        if nearest is not None:
            fit.scores[fit.unreached] = fit.scores[nearest]
        return fit

    def _check_settings(self) -> None:
        for name, low in (("n_eigenvectors", 1), ("power", 0), ("penalty", 0)):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), Integral if low == 1 else Real, low=low, open_low=low == 0)
        if self.n_landmarks is not None:
            check_number("n_landmarks", self.n_landmarks, Integral, low=3)

    def _graphs(self, data: Points, y: Any, known: np.ndarray) -> list[BuiltGraph]:
        """The graphs to weigh: one, unless it is left open which pairs count; both over landmarks, if they are asked for."""
        if self.n_neighbors != "auto":
            return [self._build(data, y, n_landmarks=self.n_landmarks, always=known)]
        chosen = isinstance(self.bandwidth, GeometricConsistency) or self.bandwidth in BY_CONSISTENCY
        both = chosen and not self._says_which_pairs(data) and data.shape[0] > 2 * NEIGHBORS and not mostly_copies(data)
        if not both:
            return [replace(self, n_neighbors=None)._build(data, y, n_landmarks=self.n_landmarks, always=known)]
        bandwidth = self.bandwidth
        if isinstance(bandwidth, str) and data.shape[0] > _FEW_POINTS:
            bandwidth = selector_named(bandwidth, n_sample=_EVALUATION_POINTS, random_state=self.random_state)
        pairs, near = (replace(self, bandwidth=bandwidth, n_neighbors=k) for k in (None, NEIGHBORS))
        if self.n_landmarks is None and not (isinstance(data, Distances) or data.on_gpu or is_chunked(data.given)):
            return [
                one._over_some(data, y, known, most) for one, most in zip((pairs, near), _POINTS_OF_WEIGHED, strict=True)
            ]
        first = pairs._build(data, y, n_landmarks=self.n_landmarks, always=known)
        second = near._build(carriers(data, first), _at(y, first.landmarks))
        return [first, replace(second, landmarks=first.landmarks)]

    def _over_some(self, data: Points, y: Any, known: np.ndarray, most: int) -> BuiltGraph:
        """The graph over so many points at most, a stratified sample, and those that are known."""
        if len(data) <= most:
            return self._build(data, y)
        rows, some = drawn_landmarks(data, most, random_state=self.random_state, always=known)
        return replace(self._build(some, _at(y, rows)), landmarks=rows)

    def _used(self, data: Points, values: np.ndarray) -> np.ndarray:
        """Which of the known values are used: all, or of more than landmarks may be a stratified sample."""
        most = MOST_LANDMARKS if self.n_landmarks is None else self.n_landmarks
        if len(values) <= most or not (self.n_landmarks or is_chunked(data.given)):
            return np.arange(len(values))
        warn_caller(
            Sentence(
                "The graph needs labeled points among its landmarks, at most as many as landmarks; {n} points are labeled: "
                "a sample of {most} labels is used; raise {n_landmarks} to use more.",
                n=len(values),
                most=most,
            )
        )
        order = np.argsort(values, kind="stable")
        return np.sort(order[one_of_each(len(values), most, check_random_state(self.random_state))])

    def _for_workers(self) -> Self:
        light = super()._for_workers()
        light._fits = tuple(replace(each, built=each.built.for_extension()) for each in self._fits)
        return light

    def _weighed(self, data: Any, y: Any, known: np.ndarray, target: np.ndarray, *, classes: bool) -> tuple["_Weighed", ...]:
        """Fits of target (n, C) at the known points on every graph that counts, the best first."""
        graphs = self._graphs(data, y, known)
        fits = [self._smooth_fit(g, known, target, classes=classes, weighed=len(graphs) > 1) for g in graphs]
        n = total_of(weights_at(data.multiplicity, known), len(known))
        weights = weights_of_graphs(fits, n, classes=classes)
        found = [_Weighed(*each) for each in zip(graphs, fits, weights.tolist(), strict=True) if each[2] > _NO_WEIGHT]
        found.sort(key=lambda each: -each.weight)
        _warn_of_unreached(found[0].fit, told_by_distance=found[0].built.points is not None)
        return tuple(found)

    def _scores_at(self, X: Any, *, given: bool = False) -> np.ndarray:
        """f (n, C) at points X: their own for training points, means of neighbors for others.

        ``given``: X is what was given to ``fit``, and a graph over all of it need not be asked.  Points that are far away
        are told of the graph that counts most.
        """
        return sum(
            each.weight * each.fit.scores
            if given and each.built.landmarks is None
            else each.weight * self._joined(X, each, told=not given and each is self._fits[0])
            for each in self._fits
        )

    def _joined(self, X: Any, each: "_Weighed", *, told: bool) -> np.ndarray:
        """f (n, C) at points X, by one graph."""
        found = self._extended(X, each.fit.scores, built=each.built, told=told)
        found.means[found.twin] = each.fit.scores[found.nearest[found.twin]]
        return found.means


@dataclass(frozen=True)
class _Weighed:
    """A fit on one graph, and how much it counts."""

    built: BuiltGraph
    fit: SmoothFit
    weight: float


def _warn_of_unreached(fit: SmoothFit, *, told_by_distance: bool) -> None:
    n, n_unreached = len(fit.scores), len(fit.unreached)
    if n_unreached:
        are, get = ("is in a component", "gets") if n_unreached == 1 else ("are in components", "get")
        what = "the values of the nearest point that is reached" if told_by_distance else "the mean of all labels"
        warn_caller(
            f"Every component of the graph should hold a labeled point; {n_unreached} of {n} points {are} without one (the "
            f"graph has {fit.n_components}) and {get} {what}: label some of them, or use a larger bandwidth."
        )


def _at(y: np.ndarray | None, rows: np.ndarray | None) -> np.ndarray | None:
    """The entries of those points that carry a graph."""
    return y if y is None or rows is None else y[rows]


def _together(fits: Sequence[_Weighed]) -> SmoothFit:
    """The best fit, with the weighted mean of what all predict where a label is left out."""
    return replace(fits[0].fit, left_out=np.sum([each.weight * each.fit.left_out for each in fits], axis=0))


@dataclass(eq=False, repr=False)
class LaplacianClassifier(ClassifierMixin, _SmoothEstimator):
    """Classify all points from the labels of a few, by least squares over smooth functions on their graph.

    .. math:: \\min_f Σ_{\\text{labeled}} (f_i - y_i)^2 + μ f^T (-L)^m f, \\qquad f = Σ_{k ≤ p} a_k φ_k

    one column f of ±1 for each class; the largest wins.  ε comes from the geometry of all points, without labels; p, m and μ
    by leave-one-out on the labels, in closed form.

    Parameters
    ----------
    <bandwidth>
    <settings>
    <parameters of the graph>

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
    transduction_ : ndarray (n_points,)
        Classes of all points given to ``fit``: the given labels, and predictions for the other points.  For a dask array, a
        lazy dask array.
    n_eigenvectors_, power_, penalty_ : int, float, float
        p, m and μ of the best setting; the others also count, weighted by leave-one-out mistakes, unless all three were
        given.
    <attributes of the fit>
    <attributes of the graph>

    See Also
    --------
    sklearn.semi_supervised.LabelSpreading : uses one fixed bandwidth and a dense kernel.

    Examples
    --------
    >>> import geolap
    >>> from sklearn.datasets import load_digits
    >>> X, truth = load_digits(return_X_y=True)
    >>> y = truth.copy()
    >>> y[100:] = -1  # unlabeled
    >>> classifier = geolap.LaplacianClassifier(random_state=0).fit(X, y)
    >>> bool((classifier.transduction_ == truth).mean() > 0.9)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the points X (n_points, n_features) and their classes y (n_points,).

        −1 marks an unlabeled point; so do None and NaN, and "-1" and "" among words.  ``sample_weight`` (n_points,) is the
        number of points, and labels, that each row represents.

        Returns
        -------
        self
        """
        self._check_settings()
        data = self._data(X, sample_weight)
        y, labeled = check_labels(y, data.shape[0])
        known = np.flatnonzero(labeled)
        names, index = _classes_of(y[known])
        classes = np.full(len(y), -1)
        classes[known] = index
        used = self._used(data, index)
        self._fits = self._weighed(data, classes, known[used], signs_of(index[used], len(names)), classes=True)
        self._built, self._fit = self._fits[0].built, _together(self._fits)
        times = weights_at(data.multiplicity, known[used])
        self._sharpness = _fitted_sharpness(self._fit.left_out, index[used], np.ones(len(used)) if times is None else times)
        self.classes_, self._given = names, (known, index)
        chunks = chunks_of(X)
        self.transduction_ = (
            self._transduced(X, whole=True) if chunks is None else self._answers("_transduced", chunks, numbered=True)
        )
        return self

    def _transduced(self, X: Any, first: int = 0, *, whole: bool = False) -> np.ndarray:
        """Classes of points given to ``fit``, from that row on, or of the whole of them."""
        found, (known, index) = self._scores_at(X, given=whole).argmax(axis=1), self._given
        here = slice(*np.searchsorted(known, [first, first + len(found)]))
        found[known[here] - first] = index[here]
        return self.classes_[found]

    @in_chunks
    def predict(self, X: Any) -> np.ndarray:
        """Classes (n,) of points X (n, n_features); for a dask array, a lazy dask array."""
        best = self._scores_at(X).argmax(axis=1)
        return self.classes_[best]

    @in_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, n_classes) of the classes at points X: a softmax of f, its sharpness fitted by leave-one-out."""
        scores = self._scores_at(X)
        return softmax(self._sharpness * scores, axis=1)


@dataclass(eq=False, repr=False)
class LaplacianRegressor(RegressorMixin, _SmoothEstimator):
    """Predict a number at all points from its values at a few, by least squares over smooth functions on their graph.

    .. math:: \\min_f Σ_{\\text{known}} (f_i - y_i)^2 + μ f^T (-L)^m f, \\qquad f = Σ_{k ≤ p} a_k φ_k

    ε comes from the geometry of all points; p, m and μ by leave-one-out on the known values, in closed form.  Predicted
    values stay within the range of the known ones.

    Parameters
    ----------
    <bandwidth>
    <settings>
    <parameters of the graph>

    Attributes
    ----------
    transduction_ : ndarray (n_points,)
        Values at all points given to ``fit``.  For a dask array, a lazy dask array.
    n_eigenvectors_, power_, penalty_ : int, float, float
        p, m and μ of the best setting; the others also count, weighted by leave-one-out errors, unless all three were given.
    <attributes of the fit>
    <attributes of the graph>

    Examples
    --------
    >>> import numpy as np, geolap
    >>> X = geolap.datasets.make_sphere(600, random_state=0).data
    >>> y = np.where(np.arange(600) < 60, X[:, 2], np.nan)  # known at 60 points
    >>> regressor = geolap.LaplacianRegressor(random_state=0).fit(X, y)
    >>> bool(np.abs(regressor.transduction_ - X[:, 2]).mean() < 0.05)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the points X (n_points, n_features) and the values y (n_points,), NaN where unknown.

        ``sample_weight`` (n_points,) is the number of points, and values, that each row represents.

        Returns
        -------
        self
        """
        self._check_settings()
        data = self._data(X, sample_weight)
        y = check_values(y, data.shape[0])
        _check_needs_no_classes(self.bandwidth)
        known = np.flatnonzero(~np.isnan(y))
        known = known[self._used(data, y[known])]
        unit = np.abs(y[known]).max() or 1.0
        fits = self._weighed(data, None, known, (y[known] / unit)[:, None], classes=False)
        self._fits = tuple(replace(each, fit=replace(each.fit, scores=unit * each.fit.scores)) for each in fits)
        self._built, self._fit = self._fits[0].built, _together(self._fits)
        self.transduction_ = self._scores_at(X, given=True)[:, 0] if chunks_of(X) is None else self.predict(X)
        return self

    @in_chunks
    def predict(self, X: Any) -> np.ndarray:
        """Values (n,) at points X (n, n_features); for a dask array, a lazy dask array."""
        return self._scores_at(X)[:, 0]


def _classes_of(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes of the labels, at least two, and which of them each label is."""
    names, index = check_classes(labels)
    if len(names) < 2:
        found = f"all labeled ones are of class {names[0]}" if len(names) else "all are unlabeled"
        advice = "label points of other classes" if len(names) else "label some points of each class"
        raise ValueError(
            f"A classifier needs labeled points of at least two classes; {found} (-1 means unlabeled): {advice}."
        )
    if len(names) == len(labels) > _MANY_CLASSES:
        warn_caller(
            Sentence(
                "Each of the {n} classes has only one labeled point: check that {labels|y} contains classes.", n=len(names)
            )
        )
    return names, index


def _check_needs_no_classes(bandwidth: Any) -> None:
    rule = METHODS.get(bandwidth) if isinstance(bandwidth, str) else bandwidth
    if getattr(rule, "needs_labels", False):
        raise ValueError(
            f"Numbers have no classes, which this bandwidth rule needs; bandwidth={bandwidth!r} was given: use one that "
            "needs no labels, such as 'gc'."
        )


def _fitted_sharpness(left_out: np.ndarray, index: np.ndarray, times: np.ndarray) -> float:
    """β of the softmax that makes the left-out labels most likely, with one more and one less of each, after Platt."""
    n, n_classes = times.sum(), left_out.shape[1]
    smoothed = np.full(left_out.shape, 1.0 / (n + 2.0) / max(n_classes - 1, 1))
    smoothed[np.arange(len(index)), index] = (n + 1.0) / (n + 2.0)

    def loss(log_sharpness: float) -> float:
        return -(times @ (smoothed * log_softmax(np.exp(log_sharpness) * left_out, axis=1)).sum(axis=1))

    return float(np.exp(minimize_scalar(loss, bounds=np.log(_SHARPNESS), method="bounded").x))
