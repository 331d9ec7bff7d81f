"""How long to diffuse: the time at which the entropy of the spectrum stops falling fast.

P^t has the eigenvalues a_k^t.  As shares p_k = |a_k|^t / Σ |a|^t, they have the von Neumann entropy

.. math:: S(t) = -Σ_k p_k \\log p_k = \\log Z - t\\, \\frac{Z'(t)}{Z}, \\qquad Z(t) = Σ_k |a_k|^t

whose exponential is the number of eigenvectors that matter.  It falls fast while diffusion takes out noise and slowly once
it takes out structure; the time in between is the knee, where two straight lines fit the curve best (as in PHATE, Moon et
al. 2019).  The curve is followed up to the time at which the slowest eigenvector has decayed to 1/e.

The smooth end of the spectrum is known; for the rest Z is a trace, found by Lanczos quadrature from random vectors (Ubaru,
Chen & Saad 2017).  No further eigenvector is computed.
"""

from dataclasses import dataclass, field

import numpy as np

from ..laplacian import Matrix
from ..runtime.threads import one_blas_thread
from .graph import KernelGraph
from .spectrum import Spectrum

__all__ = ["SpectralEntropy", "spectral_entropy"]

# Times at which the entropy is computed, Lanczos steps, and entries of random vectors in all: many points need few vectors.
_TIMES, _STEPS, _ENTRIES = 100, 40, 20_000
# Values of |a| below this have no logarithm.
_LEAST = 1e-300


@dataclass(frozen=True)
class SpectralEntropy:
    """The entropy of the spectrum of P^t against t.

    Attributes
    ----------
    times : ndarray of int (n,)
        t, in steps of P.
    entropy : ndarray (n,)
        S(t)
    knee : int
        The t at which it stops falling fast.
    """

    times: np.ndarray = field(repr=False)
    entropy: np.ndarray = field(repr=False)
    knee: int


def spectral_entropy(graph: KernelGraph, spectrum: Spectrum) -> SpectralEntropy:
    """The entropy of P^t at times from 1 on, given the smooth end of the spectrum (that of I − P)."""
    known = 1.0 - graph.bandwidth**2 / 4.0 * spectrum.eigenvalues
    slowest = np.nanmax(known[known < 1.0 - 1e-12], initial=0.0)
    last = 1 if slowest <= 0 else max(1, int(np.ceil(-1.0 / np.log(slowest))))
    times = np.unique(np.linspace(1, last, _TIMES).astype(int))
    # Eigenvectors of components one by one are not those of the whole graph, and are left to the quadrature.
    U = spectrum.vectors * np.sqrt(spectrum.mass)[:, None] if known.ndim == 1 else np.zeros((graph.n_points, 0))
    with one_blas_thread:
        rest, weights = _quadrature(graph.symmetric(), U)
    values = np.abs(np.concatenate([known if known.ndim == 1 else [], rest]))
    entropy = _entropy(values, np.concatenate([np.ones(U.shape[1]), weights]), times)
    return SpectralEntropy(times, entropy, int(times[_knee(times, entropy)]))


def _entropy(values: np.ndarray, weights: np.ndarray, times: np.ndarray) -> np.ndarray:
    """S(t) of eigenvalues |a|, each so many times."""
    logs = np.log(np.maximum(values, _LEAST))
    shares = weights * np.exp(np.multiply.outer(times, logs))
    Z = shares.sum(axis=1)
    return np.log(Z) - times * (shares @ logs) / Z


def _quadrature(A: Matrix, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and how often each occurs, such that sums over them are those over the spectrum of A beside its U."""
    n = A.shape[0]
    steps = min(_STEPS, n - U.shape[1])
    if steps < 1:
        return np.zeros(0), np.zeros(0)
    q = int(np.ceil(_ENTRIES / n))
    V = np.random.default_rng(0).standard_normal((n, q))
    V -= U @ (U.T @ V)
    size = np.linalg.norm(V, axis=0)
    alpha, beta = np.zeros((q, steps)), np.zeros((q, steps))
    before, V = np.zeros_like(V), V / size
    for j in range(steps):  # q recursions of three terms side by side
        W = A @ V - before * beta[:, j - 1] if j else A @ V
        alpha[:, j] = (V * W).sum(axis=0)
        W -= V * alpha[:, j]
        W -= U @ (U.T @ W)
        beta[:, j] = np.linalg.norm(W, axis=0)
        before, V = V, W / np.maximum(beta[:, j], _LEAST)
    T = np.zeros((q, steps, steps))
    i = np.arange(steps)
    T[:, i, i] = alpha
    T[:, i[:-1], i[1:]] = T[:, i[1:], i[:-1]] = beta[:, :-1]
    values, vectors = np.linalg.eigh(T)
    return values.ravel(), (vectors[:, 0] ** 2 * ((n - U.shape[1]) / q)).ravel()


def _knee(x: np.ndarray, y: np.ndarray) -> int:
    """Where two straight lines, through the points up to there and from there on, leave the least squares."""
    if len(x) < 3:
        return 0
    errors = [_residual(x[: k + 1], y[: k + 1]) + _residual(x[k:], y[k:]) for k in range(1, len(x) - 1)]
    return int(np.argmin(errors)) + 1


def _residual(x: np.ndarray, y: np.ndarray) -> float:
    return float(((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2).sum()) if len(x) > 2 else 0.0
