"""Least squares on labeled points, with the Laplacian as regularizer.

.. math:: \\min_f Σ_{\\text{labeled}} (f_i - y_i)^2 + μ f^T (-L)^m f, \\qquad f = Σ_{k ≤ p} a_k φ_k

over the p smoothest eigenvectors φ_k of the graph (after Zhou & Belkin 2011; the paper gives neither m, μ nor p).  With
columns scaled by the penalty this is ridge regression, whose hat matrix is diagonal in singular vectors, so leaving one
label out has a closed form: it is predicted by (f_i − h_ii y_i)/(1 − h_ii).  The label of a point of weight m counts m
times, and one of them is left out.

Every setting (p, m, μ) is tried, and all count, each with the likelihood of its leave-one-out errors: e^(−mistakes) for
classes, the Gaussian likelihood for numbers.  Taking only the best, on a hundred labels, is taking a lucky one.

Numbers stay within the range of those that are known, as they would for harmonic f (m = 1 and all eigenvectors).  An
eigenvector about a few points that no label is near has any coefficient otherwise, and values there are without limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from ..data.multiplicity import counts_of, weights_at
from ..data.pairs import Pairs
from ..runtime.threads import one_blas_thread
from .graph import KernelGraph, kernel_graph
from .spectrum import graph_components, smooth_spectrum

__all__ = [
    "PENALTIES",
    "POWERS",
    "SIZES",
    "SmoothFit",
    "SmoothFunctions",
    "predicted_classes",
    "signs_of",
    "smooth_fit",
    "smooth_functions",
    "weights_of_graphs",
]

# What leave-one-out tries.  Penalties are relative to the largest singular value squared.
SIZES = (5, 20, 60, 200)
POWERS = (1.0, 2.0, 4.0)
PENALTIES = tuple(10.0 ** np.arange(-10.0, 1.0))
# A penalty of zero would leave the constant free, and with it the numerics.
_LEAST_PENALTY = 1e-8
# Settings whose weight is below this are as good as none.
_NO_WEIGHT = 1e-6


@dataclass(frozen=True)
class SmoothFit:
    """The result of a regression on smooth functions.

    Attributes
    ----------
    scores : ndarray (N, C)
        f at all points.
    left_out : ndarray (n, C)
        At each labeled point, what the others predict.
    size, power, penalty : int, float, float
        p, m and μ of the best setting.
    losses : ndarray (n_settings,)
        Leave-one-out mistakes, or mean squares, of every setting.
    n_components : int
        Connected components of the graph.
    unreached : ndarray of int
        Points in components without a label.
    """

    scores: np.ndarray
    left_out: np.ndarray
    size: int
    power: float
    penalty: float
    losses: np.ndarray
    n_components: int = 1
    unreached: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))


def smooth_fit(
    Phi: np.ndarray,
    eigenvalues: np.ndarray,
    labeled: np.ndarray,
    target: np.ndarray,
    *,
    classes: bool,
    sizes: Sequence[int] = SIZES,
    powers: Sequence[float] = POWERS,
    penalties: Sequence[float] | None = None,
    multiplicity: np.ndarray | None = None,
) -> SmoothFit:
    """Fit target (n, C) on the labeled rows by smooth functions.

    Parameters
    ----------
    Phi : ndarray (N, p)
        Eigenvectors, smoothest first; they are scaled to unit mean square here.
    eigenvalues : ndarray (p,)
        1 − a_k, those of I − P.
    labeled : ndarray of int (n,)
    target : ndarray (n, C)
    classes : bool
        Whether the target holds ±1 for classes, and mistakes count, or numbers, and squares count.
    sizes, powers : sequences
        p and m to try.
    penalties : sequence, optional
        μ to try; by default some relative to the largest singular value.
    multiplicity : ndarray (N,), optional
        Weights of the points.
    """
    times = counts_of(weights_at(multiplicity, labeled), len(labeled))
    rms = np.sqrt(np.average(Phi**2, axis=0, weights=multiplicity))
    Phi = Phi / np.where(rms > 0, rms, 1.0)
    # Many small decompositions: on several BLAS threads they mostly wait for each other.
    with one_blas_thread:
        bases = [
            _Basis.of(Phi[:, :p], eigenvalues[:p], m, labeled, target, times)
            for p in sorted({min(size, Phi.shape[1]) for size in sizes})
            for m in powers
        ]
        settings = [(basis, float(mu)) for basis in bases for mu in (basis.penalties() if penalties is None else penalties)]
        low, high = (-np.inf, np.inf) if classes else (target.min(axis=0), target.max(axis=0))
        losses = [_losses(np.clip(basis.left_out(mu), low, high), target, classes, times) for basis, mu in settings]
        tried = np.array([loss for loss, _ in losses], dtype=float)
        weights = _weights(tried, float(times.sum()), classes)
        scores, left_out = np.zeros((len(Phi), target.shape[1])), np.zeros_like(target)
        for basis in bases:
            counted = [(mu, w) for (own, mu), w in zip(settings, weights, strict=True) if own is basis and w > _NO_WEIGHT]
            if counted:
                left_out += sum(w * np.clip(basis.left_out(mu), low, high) for mu, w in counted)
                scores += basis.functions @ sum(w * basis.coefficients(mu) for mu, w in counted)
    basis, mu = settings[losses.index(min(losses))]
    return SmoothFit(np.clip(scores, low, high), left_out, basis.functions.shape[1], basis.power, mu, tried)


@dataclass(frozen=True)
class _Basis:
    """Eigenvectors over the root of their penalty, and their singular value decomposition on the labeled rows."""

    power: float
    functions: np.ndarray
    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray
    target: np.ndarray
    times: np.ndarray

    @classmethod
    def of(
        cls,
        Phi: np.ndarray,
        eigenvalues: np.ndarray,
        power: float,
        labeled: np.ndarray,
        target: np.ndarray,
        times: np.ndarray,
    ) -> Self:
        penalty = eigenvalues**power
        functions = Phi / np.sqrt(np.maximum(penalty, _LEAST_PENALTY * max(penalty.max(), 1e-8)))
        root = np.sqrt(times)[:, None]
        return cls(power, functions, *np.linalg.svd(root * functions[labeled], full_matrices=False), target, times)

    def penalties(self) -> np.ndarray:
        """μ to try, relative to the largest singular value squared."""
        return np.array(PENALTIES) * max(self.s[0] ** 2, 1e-100)

    def left_out(self, mu: float) -> np.ndarray:
        shrink = self.s**2 / (self.s**2 + mu)
        h = ((self.U**2) @ shrink / np.maximum(self.times, 1.0))[:, None]
        root = np.sqrt(self.times)[:, None]
        f = self.U @ (shrink[:, None] * (self.U.T @ (root * self.target))) / root
        return (f - h * self.target) / np.maximum(1.0 - h, 1e-8)

    def coefficients(self, mu: float) -> np.ndarray:
        root = np.sqrt(self.times)[:, None]
        return self.Vt.T @ ((self.s / (self.s**2 + mu))[:, None] * (self.U.T @ (root * self.target)))


def _losses(left_out: np.ndarray, target: np.ndarray, classes: bool, times: np.ndarray) -> tuple[float, float]:
    """Mistakes, or squares; and squares, which decide between equal mistakes."""
    squares = float(np.average(((left_out - target) ** 2).mean(axis=1), weights=times))
    return (float(times @ (left_out.argmax(axis=1) != target.argmax(axis=1))) if classes else squares), squares


def _weights(losses: np.ndarray, n: float, classes: bool) -> np.ndarray:
    least = losses.min()
    # exp(−mistakes), or the likelihood of normal errors with the variance of the best setting.
    log = least - losses if classes else -0.5 * n * (losses - least) / max(least, 1e-24)
    weights = np.exp(np.maximum(log, -700.0))
    return weights / weights.sum()


def weights_of_graphs(fits: Sequence[SmoothFit], n: float, *, classes: bool) -> np.ndarray:
    """How much the fits of n labels on several graphs count: the settings of all graphs together are weighed."""
    weights = _weights(np.concatenate([fit.losses for fit in fits]), n, classes)
    return np.array([part.sum() for part in np.split(weights, np.cumsum([len(fit.losses) for fit in fits])[:-1])])


def signs_of(classes: np.ndarray, n_classes: int) -> np.ndarray:
    """±1 targets (n, C) of integer classes."""
    return np.where(classes[:, None] == np.arange(n_classes), 1.0, -1.0)


@dataclass(frozen=True)
class SmoothFunctions:
    """The smoothest functions on the components of a graph that hold a labeled point.

    Attributes
    ----------
    rows : ndarray (n,)
        The points of these components.
    vectors : ndarray (n, p)
    eigenvalues : ndarray (p,)
        ε²/4 times those of −L: 1 − a_k where scales do not vary.
    components : ndarray (N,)
        Which component each point of the whole graph belongs to.
    free : int
        How many of the functions, apart from the constant, cost nothing: one less than the components.
    multiplicity : ndarray (n,) or None
        Weights of these points.
    """

    rows: np.ndarray
    vectors: np.ndarray
    eigenvalues: np.ndarray
    components: np.ndarray
    free: int
    multiplicity: np.ndarray | None = None

    def fit(
        self,
        labeled: np.ndarray,
        target: np.ndarray,
        *,
        classes: bool,
        sizes: Sequence[int] = SIZES,
        powers: Sequence[float] = POWERS,
        penalties: Sequence[float] | None = None,
    ) -> SmoothFit:
        """Fit the target (n, C) at labeled points; points in other components get its mean."""
        own = np.searchsorted(self.rows, labeled)
        mean = np.average(target, axis=0, weights=weights_at(self.multiplicity, own))
        center = np.zeros(target.shape[1]) if classes else mean
        fit = smooth_fit(
            self.vectors,
            self.eigenvalues,
            own,
            target - center,
            classes=classes,
            sizes=[size + self.free for size in sizes],
            powers=powers,
            penalties=penalties,
            multiplicity=self.multiplicity,
        )
        scores = np.tile(mean, (len(self.components), 1))
        scores[self.rows] = fit.scores + center
        unreached = np.setdiff1d(np.arange(len(scores)), self.rows, assume_unique=True)
        return replace(fit, scores=scores, n_components=int(self.components.max()) + 1, unreached=unreached)


def smooth_functions(graph: KernelGraph, labeled: np.ndarray, size: int, *, n_jobs: int | None = None) -> SmoothFunctions:
    """The ``size`` smoothest functions for these labeled points, and those that tell components apart."""
    components = graph_components(graph)
    rows = np.flatnonzero(np.isin(components, components[labeled]))
    free = len(np.unique(components[rows])) - 1
    part = graph if len(rows) == graph.n_points else graph.restricted(rows)
    own = np.unique(components[rows], return_inverse=True)[1]
    spectrum = smooth_spectrum(part, min(size + free, len(rows)), components=own, n_jobs=n_jobs)
    eigenvalues = graph.bandwidth**2 / 4.0 * spectrum.eigenvalues
    return SmoothFunctions(rows, spectrum.vectors, eigenvalues, components, free, part.multiplicity)


def predicted_classes(
    pairs: Pairs,
    bandwidth: float,
    labeled: Sequence[np.ndarray],
    classes: Sequence[np.ndarray],
    *,
    size: int = 60,
    multiplicity: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Iterator[np.ndarray]:
    """Predicted classes (N,) from integer classes of each of several sets of labeled rows, one graph for all.

    ``labeled`` and ``classes`` are sequences of arrays; yields one prediction for each.  Self-weights are dropped before
    the renormalization: with them, a graph in many dimensions is nearly the identity at ε̂.
    """
    graph = kernel_graph(pairs, bandwidth, self_weights=False, multiplicity=multiplicity)
    functions = smooth_functions(graph, np.concatenate(labeled), size, n_jobs=n_jobs)
    for rows, known in zip(labeled, classes, strict=True):
        yield functions.fit(rows, signs_of(known, known.max() + 1), classes=True).scores.argmax(axis=1)
