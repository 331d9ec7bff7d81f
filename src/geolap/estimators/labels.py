"""Semi-supervised learning: labels of a few points, spread to all along the graph.

The graph is built over all points, labeled or not; the labels are then fitted by functions that are smooth on it
(`geolap.graphs.smooth_regression`).  A new point takes the mean of its neighbors, weighted by transition probabilities.
"""

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..graphs.smooth_regression import POWERS, SIZES, SmoothFit, signs_of, smooth_functions
from ..validation import check_labels, check_number, check_points, check_values
from .laplacian import GraphEstimator, with_graph_parameters

__all__ = ["LaplacianClassifier", "LaplacianRegressor"]

# Beyond so many points, more eigenvectors take long.
_MANY_POINTS = 5000
_SIZE_OF_MANY = 60
# How sharp probabilities may become.
_SHARPNESS = (1e-2, 1e3)


class _SmoothEstimator(GraphEstimator):
    """Fits what is known at some points by functions that are smooth on the graph of all points."""

    def __init__(
        self,
        bandwidth="gc",
        *,
        n_eigenvectors=None,
        power=None,
        penalty=None,
        renormalization=1.0,
        self_weights=False,
        cutoff=None,
        n_neighbors=None,
        neighbors=None,
        local_scale=None,
        metric="euclidean",
        random_state=None,
        n_jobs=None,
    ):
        self.bandwidth = bandwidth
        self.n_eigenvectors = n_eigenvectors
        self.power = power
        self.penalty = penalty
        self.renormalization = renormalization
        self.self_weights = self_weights
        self.cutoff = cutoff
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.local_scale = local_scale
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _n_points(self, X):
        """How many points there are; what is wrong with them is said before what is wrong with y."""
        return X.shape[0] if self.metric == "precomputed" and hasattr(X, "shape") else len(check_points(X))

    def _fit_known(self, X, labels, known, target, *, classes) -> SmoothFit:
        """Fit target (n, C) at the known rows of X; ``labels`` are for methods that choose ε by them."""
        for name, low in (("n_eigenvectors", 1), ("power", 0), ("penalty", 0)):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), Integral if low == 1 else Real, low=low, open_low=low == 0)
        graph = self._fit_graph(X, labels)
        sizes = SIZES if graph.n_points <= _MANY_POINTS else tuple(s for s in SIZES if s <= _SIZE_OF_MANY)
        sizes = sizes if self.n_eigenvectors is None else (self.n_eigenvectors,)
        functions = smooth_functions(graph, known, max(sizes), n_jobs=self.n_jobs)
        fit = functions.fit(
            known,
            target,
            classes=classes,
            sizes=sizes,
            powers=POWERS if self.power is None else (self.power,),
            penalties=None if self.penalty is None else (self.penalty,),
        )
        self.n_graph_components_ = int(functions.components.max()) + 1
        self.n_unreached_ = graph.n_points - len(functions.rows)
        if self.n_unreached_:
            warnings.warn(
                f"Every component of the graph should hold a labeled point; {self.n_unreached_} of {graph.n_points} points "
                f"are in components without one (the graph has {self.n_graph_components_}) and get the mean of all labels: "
                "label some of them, or use a larger bandwidth.",
                stacklevel=4,
            )
        self.n_eigenvectors_, self.power_, self.penalty_ = fit.size, fit.power, fit.penalty
        self._scores = fit.scores
        return fit

    def _scores_at(self, X):
        """f (n, C) at points X: their own for training points, means of neighbors for others."""
        check_is_fitted(self)
        means, nearest, twin = self._extended(X, self._scores)
        means[twin] = self._scores[nearest[twin]]
        return means


@with_graph_parameters
class LaplacianClassifier(ClassifierMixin, _SmoothEstimator):
    """Classify all points from the labels of a few, by least squares over smooth functions on their graph.

    .. math:: \\min_f Σ_{\\text{labeled}} (f_i - y_i)^2 + μ f^T (-L)^m f, \\qquad f = Σ_{k ≤ p} a_k φ_k

    one column f of ±1 for each class; the largest wins.  ε comes from the geometry of all points, without labels; p, m and μ
    by leave-one-out on the labels, in closed form.

    Parameters
    ----------
    bandwidth : float, str or selector, default "gc"
        ε, the name of a method of `geolap.select_bandwidth`, or a selector.  "gc" selects ε for the graph that is built.
    n_eigenvectors : int, optional
        p.  By default 5, 20, 60 and, up to 5000 points, 200 are tried.
    power : float, optional
        m.  By default 1, 2 and 4 are tried.
    penalty : float, optional
        μ, for eigenvectors of unit mean square and eigenvalues of I − P.  By default many are tried.
    self_weights : bool, default False
        Whether W_ii = 1 or 0.  In many dimensions a graph with self-weights is nearly the identity at ε̂.
    <parameters of the graph>

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
    transduction_ : ndarray (n_points,)
        Classes of all points given to ``fit``: as given where they were, as found elsewhere.
    n_eigenvectors_, power_, penalty_ : int, float, float
        p, m and μ of the best setting; others count as well, by their leave-one-out mistakes, unless all three were given.
    n_graph_components_, n_unreached_ : int
        Connected components of the graph, and points in components without a label.
    <attributes of the graph>

    See Also
    --------
    sklearn.semi_supervised.LabelSpreading : has one fixed bandwidth, and a dense kernel.

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

    def fit(self, X, y):
        """Learn from the points X (n_points, n_features) and their classes y (n_points,).

        −1 marks an unlabeled point; so do None and NaN, and "-1" among words.

        Returns
        -------
        self
        """
        y, labeled = check_labels(y, self._n_points(X))
        known = np.flatnonzero(labeled)
        try:
            self.classes_, index = np.unique(y[known], return_inverse=True)
        except TypeError:
            raise ValueError("Labels must be all words or all numbers; both were given: convert them, str(label).") from None
        if len(self.classes_) < 2:
            raise ValueError(
                f"A classifier needs labeled points of at least two classes; y has {len(self.classes_)} class(es)"
                f"{f', {self.classes_[0]}' if len(self.classes_) else ', all points are unlabeled'} (-1 means unlabeled): "
                "label points of another class."
            )
        classes = np.full(len(y), -1)
        classes[known] = index
        fit = self._fit_known(X, classes, known, signs_of(index, len(self.classes_)), classes=True)
        self._sharpness = _fitted_sharpness(fit.left_out, index)
        found = self._scores.argmax(axis=1)
        found[known] = index
        self.transduction_ = self.classes_[found]
        return self

    def predict(self, X):
        """Classes (n,) of points X (n, n_features)."""
        best = self._scores_at(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        """Probabilities (n, n_classes) of the classes at points X: a softmax of f, as sharp as leave-one-out supports."""
        scores = self._scores_at(X)
        return softmax(self._sharpness * scores, axis=1)


@with_graph_parameters
class LaplacianRegressor(RegressorMixin, _SmoothEstimator):
    """Predict a number at all points from its values at a few, by least squares over smooth functions on their graph.

    .. math:: \\min_f Σ_{\\text{known}} (f_i - y_i)^2 + μ f^T (-L)^m f, \\qquad f = Σ_{k ≤ p} a_k φ_k

    ε comes from the geometry of all points; p, m and μ by leave-one-out on the known values, in closed form.

    Parameters
    ----------
    bandwidth : float, str or selector, default "gc"
        ε, the name of a method of `geolap.select_bandwidth`, or a selector.  "gc" selects ε for the graph that is built.
    n_eigenvectors : int, optional
        p.  By default 5, 20, 60 and, up to 5000 points, 200 are tried.
    power : float, optional
        m.  By default 1, 2 and 4 are tried.
    penalty : float, optional
        μ, for eigenvectors of unit mean square and eigenvalues of I − P.  By default many are tried.
    self_weights : bool, default False
        Whether W_ii = 1 or 0.
    <parameters of the graph>

    Attributes
    ----------
    transduction_ : ndarray (n_points,)
        Values at all points given to ``fit``.
    n_eigenvectors_, power_, penalty_ : int, float, float
        p, m and μ of the best setting; others count as well, by their leave-one-out errors, unless all three were given.
    n_graph_components_, n_unreached_ : int
        Connected components of the graph, and points in components without a known value.
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

    def fit(self, X, y):
        """Learn from the points X (n_points, n_features) and the values y (n_points,), NaN where unknown.

        Returns
        -------
        self
        """
        y = check_values(y, self._n_points(X))
        if self.bandwidth == "cv" or getattr(self.bandwidth, "needs_labels", False):
            raise ValueError(
                f"Numbers have no classes, which this choice of a bandwidth needs; bandwidth={self.bandwidth!r} was given: "
                "use one that needs no labels, such as 'gc'."
            )
        known = np.flatnonzero(~np.isnan(y))
        unit = np.abs(y[known]).max() or 1.0
        self._fit_known(X, None, known, (y[known] / unit)[:, None], classes=False)
        self._scores *= unit
        self.transduction_ = self._scores[:, 0].copy()
        return self

    def predict(self, X):
        """Values (n,) at points X (n, n_features)."""
        return self._scores_at(X)[:, 0]


def _fitted_sharpness(left_out, index):
    """β of the softmax that makes the left-out labels most likely, with one more and one less of each, after Platt."""
    n, n_classes = left_out.shape
    smoothed = np.full((n, n_classes), 1.0 / (n + 2.0) / max(n_classes - 1, 1))
    smoothed[np.arange(n), index] = (n + 1.0) / (n + 2.0)

    def loss(log_sharpness):
        return -(smoothed * log_softmax(np.exp(log_sharpness) * left_out, axis=1)).sum()

    return float(np.exp(minimize_scalar(loss, bounds=np.log(_SHARPNESS), method="bounded").x))
