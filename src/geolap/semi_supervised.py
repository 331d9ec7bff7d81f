"""Least squares on labelled points, with the Laplacian as regulariser.

.. math:: \\min_f Σ_{\\text{labelled}} (f_i - y_i)^2 + μ f^T L^m f, \\qquad f = Σ_{k ≤ p} a_k φ_k

over the p smoothest eigenvectors φ_k of the graph, one column of ±1 per class, the largest column wins (after Zhou & Belkin
2011; the paper gives neither m, μ nor p).  Self-weights are dropped before the renormalisation: with them, a graph in many
dimensions is nearly the identity at ε̂.  p, m and μ are chosen by leave-one-out on the labels, which has a closed form.
"""

import numpy as np
from scipy.linalg import eigh

from .kernel import gaussian

__all__ = ["label_scores", "predicted_classes", "smooth_eigenvectors"]

# What leave-one-out chooses from.
_SIZES = (5, 20, 60)
_POWERS = (1.0, 2.0, 4.0)
_PENALTIES = 10.0 ** np.arange(-10.0, 1.0)  # relative to the largest singular value squared


def smooth_eigenvectors(sqdist, bandwidth, n_vectors=60):
    """The smoothest eigenvectors (N, p) of the graph and their eigenvalues λ (p,) in [0, 2], from squared distances (N, N).

    Points without neighbours are 0 in all of them.
    """
    W = gaussian(sqdist, bandwidth)
    np.fill_diagonal(W, 0.0)
    weight = _inverse(W.sum(axis=1))
    W *= weight[:, None] * weight
    root = np.sqrt(_inverse(W.sum(axis=1)))
    W *= root[:, None] * root
    p = min(n_vectors, len(W))
    # Not Lanczos: a graph in many pieces has as many equal eigenvalues, which it cannot tell apart.
    values, vectors = eigh(W, subset_by_index=[len(W) - p, len(W) - 1], overwrite_a=True, check_finite=False)
    order = np.argsort(-values)
    return vectors[:, order] * root[:, None], np.clip(1.0 - values[order], 0.0, 2.0)


def _inverse(sums):
    """1/s, and 0 for points whose neighbours weigh nothing."""
    some = sums > 1e-100
    return np.where(some, 1.0 / np.where(some, sums, 1.0), 0.0)


def label_scores(Phi, eigenvalues, labelled, target):
    """Scores f (N, C) from ±1 targets (n, C) on the labelled rows, with p, m and μ by leave-one-out.

    With columns scaled by the penalty this is ridge regression, whose hat matrix is diagonal in the singular vectors; a
    point left out is predicted by (f_i − h_ii y_i)/(1 − h_ii).
    """
    size = np.sqrt((Phi**2).mean(axis=0))
    Phi = Phi / np.where(size > 0, size, 1.0)
    best = None
    for p in sorted({min(size, Phi.shape[1]) for size in _SIZES}):
        for m in _POWERS:
            penalty = eigenvalues[:p] ** m
            scaled = Phi[:, :p] / np.sqrt(np.maximum(penalty, 1e-8 * max(penalty.max(), 1e-8)))
            U, s, Vt = np.linalg.svd(scaled[labelled], full_matrices=False)
            coefficients = U.T @ target
            for mu in _PENALTIES * max(s[0] ** 2, 1e-100):
                shrink = s**2 / (s**2 + mu)
                h = ((U**2) @ shrink)[:, None]
                left_out = (U @ (shrink[:, None] * coefficients) - h * target) / np.maximum(1.0 - h, 1e-8)
                error = (left_out.argmax(axis=1) != target.argmax(axis=1)).mean(), ((left_out - target) ** 2).mean()
                if best is None or error < best[0]:
                    best = error, scaled @ (Vt.T @ ((s / (s**2 + mu))[:, None] * coefficients))
    assert best is not None
    return best[1]


def predicted_classes(sqdist, bandwidth, labelled, classes):
    """Predicted classes (N,) from integer classes of each of several sets of labelled rows, one graph for all.

    ``labelled`` and ``classes`` are sequences of arrays; yields one prediction for each.
    """
    Phi, eigenvalues = smooth_eigenvectors(sqdist, bandwidth)
    for rows, known in zip(labelled, classes, strict=True):
        target = np.where(known[:, None] == np.arange(known.max() + 1), 1.0, -1.0)
        yield label_scores(Phi, eigenvalues, rows, target).argmax(axis=1)
