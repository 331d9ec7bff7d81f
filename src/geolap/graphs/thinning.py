"""Thinning: where pairs within reach are too many to store, a random share of them, weighted up, at the same bandwidth.

Each pair is kept with a probability of its own, independently of all others, and its weight divided by that probability, so
that the expectation of every weight, degree and quadratic form stays what it is:

.. math:: p_{ij} = \\min(1, c\\, W_{ij}^α (1/s_i + 1/s_j) / 2), \\qquad s_i = Σ_{j≠i} W_{ij}^α, \\qquad α = 2/3

A pair that carries much of the weight of either end is always kept: p = 1 for nearest neighbors in many dimensions, and for
the few that an outlier has.  Of smooth functions :math:`\\hat W` sees Σ W_ij (φ_i − φ_j)², to which near pairs add little
and distant ones little weight: over d dimensions the variance of that sum is least for α = d/(d + 1), 2/3 on surfaces.

**The error.** With σ² = Σ_j Var(P_ij) over a typical row and β = Σ Var(P_ij) d_ij² / Σ P_ij d_ij², the first for degrees,
the second for the energy of smooth functions, perturbation theory to second order (the mean of W/(d_i d_j)^λ, and what
eigenvectors gain by following the noise) gives the relative shift of the smallest eigenvalues:

.. math:: δλ/λ ≈ 2 λ_r σ^2 - 2 (1 + λ_r) β

λ_r being the power of the degrees divided out.  It falls like one over the number of edges; chance adds less, because it is
a mean over all points, and chances that neighbors share make the shift somewhat smaller.  Only eigenvectors that sit on a
few points vary more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..data.pairs import Pairs
from ..data.points import host_array, spread_rows
from ..engines.base import NO_NEIGHBORS
from ..kernel import gaussian
from ..laplacian import Matrix, rows_of

__all__ = ["AGAIN", "WIDER", "Thinning", "planned_thinning", "powers", "thinning_error"]

# α, and the factor by which W^α is wider than W.
_POWER = 2.0 / 3.0
WIDER = _POWER**-0.5
# The relative error of eigenvalues that may be added where nobody says how many edges there should be, and fewest edges.
_ERROR, _FEWEST = 0.02, 60
# How much more likely pairs are kept that could join what thinning has taken apart.
AGAIN = 1000.0
# Rows that tell the error.
_ROWS_FOR_ERROR = 2000


@dataclass(frozen=True)
class Thinning:
    """How pairs are thinned.

    Attributes
    ----------
    rates : ndarray (N,)
        a_i = c/(2 s_i): a pair is kept with probability min(1, W_ij^α (a_i + a_j)).
    n_edges : float
        Edges of a point, in the mean, as expected.
    error : float
        Relative error that thinning adds to the smallest eigenvalues, as expected.
    """

    rates: np.ndarray
    n_edges: float
    error: float


def planned_thinning(
    W: Any,
    sqdist: Any,
    rows: np.ndarray,
    *,
    sums: np.ndarray,
    density: np.ndarray,
    renormalization: float,
    n_edges: int | str,
    most: float,
) -> Thinning:
    """How to thin a graph, from some of its rows.

    Parameters
    ----------
    W, sqdist : ndarray or tensor (n, N)
        Weights of these rows, zero where there is nothing to store, and squared distances.
    rows : ndarray (n,)
    sums : ndarray (N,)
        s, the row sums at a bandwidth `WIDER` times as wide.
    density : ndarray (N,)
        v of all points.
    renormalization : float
    n_edges : int or "auto"
        Edges of a point in the mean; or as many as leave an error of 2 %, at least 60.
    most : float
        Edges of a point that are never exceeded with "auto".
    """
    halves = 0.5 / np.maximum(sums, NO_NEIGHBORS)
    row, column = W.nonzero() if isinstance(W, np.ndarray) else W.nonzero(as_tuple=True)
    row, column, w, squares = (host_array(a) for a in (row, column, W[row, column], sqdist[row, column]))
    share = w**_POWER * (halves[rows[row]] + halves[column])
    P = w * density[column]
    P /= np.maximum(np.bincount(row, P, minlength=len(rows)), NO_NEIGHBORS)[row]

    def edges(log_c: float) -> float:
        return float(np.minimum(1.0, np.exp(log_c) * share).sum()) / len(rows)

    def error(log_c: float) -> float:
        p = np.minimum(1.0, np.exp(log_c) * share)
        return _shift((1.0 - p) / p * P**2, P, squares, len(rows), renormalization)

    def log_c_for(wanted: float) -> float:
        low, high = np.log(wanted) - 10.0, np.log(wanted) + 60.0
        if edges(low) >= wanted:  # few points have neighbors, and the others are joined with themselves in any case
            return low
        return float(brentq(lambda log_c: edges(log_c) - wanted, low, high, xtol=1e-3)) if edges(high) > wanted else high

    log_c = log_c_for(min(_FEWEST, most) if isinstance(n_edges, str) else n_edges)
    if isinstance(n_edges, str) and error(log_c) > _ERROR:
        largest = log_c_for(most)
        log_c = (
            largest
            if error(largest) > _ERROR
            else float(brentq(lambda log_c: error(log_c) - _ERROR, log_c, largest, xtol=1e-3))
        )
    return Thinning(np.exp(log_c) * halves, edges(log_c), error(log_c))


def thinning_error(W: Matrix, pairs: Pairs, *, density: np.ndarray, renormalization: float) -> float:
    """The error of a thinned graph, |δλ/λ|, from its own weights: Var(W_ij) is (1 − p) Ŵ_ij² in the mean over what is kept.

    ``density`` are the density weights v (N,), and ``renormalization`` is λ_r, or 0 if v does not come from this graph.
    """
    assert pairs.share is not None
    rows = spread_rows(W.shape[0], _ROWS_FOR_ERROR)
    some: Any = rows_of(W, rows)
    squares, share = pairs.of_rows(rows)
    row = np.repeat(np.arange(len(rows)), np.diff(some.indptr))
    P = some.data * density[some.indices]
    P[some.indices == rows[row]] = 0.0
    P /= np.maximum(np.bincount(row, P, minlength=len(rows)), NO_NEIGHBORS)[row]
    return _shift((1.0 - share) * P**2, P, squares, len(rows), renormalization)


def _shift(variance: np.ndarray, P: np.ndarray, squares: np.ndarray, n_rows: int, renormalization: float) -> float:
    """|δλ/λ| from the entries of some rows."""
    sigma = variance.sum() / n_rows
    beta = (variance @ squares) / max(float(P @ squares), NO_NEIGHBORS)
    return float(abs(2.0 * renormalization * sigma - 2.0 * (1.0 + renormalization) * beta))


def powers(sqdist: Any, eps: float) -> Any:
    """W^α, which is the weight at a wider bandwidth."""
    return gaussian(sqdist, WIDER * eps)
