"""The dual metric H: what the Laplacian says about lengths.

.. math:: H_i = \\frac12 Σ_j L_{ij} y_j y_j^T = \\frac{2}{ε^2} Σ_j P_{ij} y_j y_j^T, \\qquad y_j = V_i^T (x_j - x_i)

(equation 4 and Algorithm 1 of the paper, which leave out ½ and the scale of L).  For a Laplacian that agrees with the
geometry of the data, H is the identity in tangent coordinates y.  A point without neighbors has H = 0.

The first moment is known as well: Δ y = 0 at x_i, since the mean curvature of a manifold points out of its tangent plane.
So the *drift* Σ_j L_ij y_j should vanish.  What remains is sampling noise, which grows as ε decreases.
"""

import numpy as np

__all__ = ["departure", "drift", "dual_metric", "dual_metric_from"]


def dual_metric(Y: np.ndarray, P: np.ndarray, bandwidth: float | np.ndarray) -> np.ndarray:
    """H (..., d, d) from coordinates Y (..., d, n) about each point, its row P (..., n) and the bandwidth (...)."""
    return (2.0 / np.asarray(bandwidth)[..., None, None] ** 2) * ((Y * P[..., None, :]) @ np.swapaxes(Y, -1, -2))


def dual_metric_from(V: np.ndarray, moments: np.ndarray, bandwidth: float | np.ndarray) -> np.ndarray:
    """The same from bases V (..., d, r) and Σ_j P_ij (x_j − x_i)(x_j − x_i)ᵀ (..., r, r)."""
    return (2.0 / np.asarray(bandwidth)[..., None, None] ** 2) * (V @ moments @ np.swapaxes(V, -1, -2))


def drift(Y: np.ndarray, P: np.ndarray, bandwidth: float | np.ndarray) -> np.ndarray:
    """(ε/2) ‖Σ_j L_ij y_j‖ = (2/ε) ‖Σ_j P_ij y_j‖ (...) of coordinates Y (..., d, n), rows P (..., n), bandwidths (...)."""
    return (2.0 / np.asarray(bandwidth)) * np.linalg.norm((Y @ P[..., None])[..., 0], axis=-1)


def departure(H: np.ndarray, *, dual: bool = True) -> np.ndarray:
    """‖H − I‖ of each dual metric (..., d, d) in the spectral norm; with ``dual=False`` ‖H⁻¹ − I‖.

    The spectral norm is the largest absolute eigenvalue (equation 7).
    H has the eigenvalues h ≥ 0, so the inverse needs no inversion: its eigenvalues are 1/h.  An isolated point
    (h = 0) departs by 1, and by infinity in the inverse: it carries no information about lengths.
    """
    h = np.linalg.eigvalsh(H) if H.shape[-1] > 1 else H[..., 0]
    if not dual:
        with np.errstate(divide="ignore", over="ignore"):
            h = 1.0 / np.maximum(h, 0.0)
    return np.abs(h - 1.0).max(axis=-1)
