"""The Laplacian: from weights to degrees, transition probabilities P and L.

.. math:: d_i = Σ_j W_{ij}, \\quad W'_{ij} = \\frac{W_{ij}}{(d_i d_j)^λ}, \\quad d'_i = Σ_j W'_{ij}, \\quad
          P_{ij} = W'_{ij}/d'_i, \\quad L = \\frac{4}{ε^2} (P - I)

(equation 3 of the paper, after Coifman & Lafon 2006; the paper leaves out the scale).  With λ = 1 the density of the
points drops out and L → Δ_M, with the negative semi-definite sign.  The factor d_i^λ cancels in P, so a row of P needs
only the weights of that row and the degrees of all points:

.. math:: P_{ij} = \\frac{W_{ij}/d_j^λ}{Σ_k W_{ik}/d_k^λ}
"""

import numpy as np

__all__ = ["laplacian", "transition"]


def transition(W, degrees, *, renormalization=1.0):
    """Rows of P from the same rows of W (n, N) and the degrees of all points (N,)."""
    P = W * degrees**-renormalization
    return P / P.sum(axis=-1, keepdims=True)


def laplacian(P, bandwidth):
    """L = (4/ε²)(P − I) for a full matrix P (N, N)."""
    return (4.0 / bandwidth**2) * (P - np.eye(len(P)))
