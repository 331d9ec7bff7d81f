"""The yardstick: the distortion by the shortest honest NumPy program.

Full matrix of weights per bandwidth, one r×r eigenproblem per evaluation point.  Independent of the package on purpose.
"""

import numpy as np


def distortion(X, bandwidths, sample, working_dim=1):
    """D(ε) (m,) at the given evaluation points."""
    square = (X * X).sum(axis=1)
    sqdist = np.maximum(square[:, None] + square - 2.0 * X @ X.T, 0.0)
    np.fill_diagonal(sqdist, 0.0)
    D = []
    for eps in bandwidths:
        W = np.exp(-sqdist / eps**2)
        W1 = W / np.outer(W.sum(axis=1), W.sum(axis=1))
        P = W1 / W1.sum(axis=1, keepdims=True)
        norms = []
        for i in sample:
            p = W[i] / W[i].sum()
            Z = p[:, None] * (X - p @ X)
            V = np.linalg.eigh(Z.T @ Z)[1][:, -working_dim:]
            Y = (X - X[i]) @ V
            H = 2.0 / eps**2 * (Y.T * P[i]) @ Y
            norms.append(np.abs(np.linalg.eigvalsh(H) - 1.0).max())
        D.append(np.mean(norms))
    return np.array(D)
