"""Figure 3 (smoothing): how far the map of noisy points is from the map of the clean ones, as a function of ε.

With Φ_ε the eigenmap of the noisy points and Φ*_ε* that of the clean ones, both centered and of unit size,

.. math:: δ_ε = \\min_{ε*} \\min_{R, s} \\| Φ*_{ε*} - s Φ_ε R \\|

over rotations R and factors s (Procrustes).  0 means agreement, 1 none.
"""

import numpy as np
from scipy.spatial import procrustes

from ..datasets import ManifoldSample, make_hourglass
from ..graphs.graph import kernel_graph
from ..graphs.neighbors import all_pairs
from ..graphs.spectrum import smooth_spectrum
from ..selectors import GeometricConsistency
from .rules import PAPER
from .study import Claim, Record, Study, column, spread, where

__all__ = ["figure3"]

NOISE = 0.001
SIZES, QUICK_SIZES = (250, 500, 1000, 2000), (250, 500)
# Samples of each size: with a curve of δ, and with ε̂.
CURVES, QUICK_CURVES = 5, 2
LINES, QUICK_LINES = 10, 3
# Bandwidths of both maps, in the unit of the surface, whose waist has radius 0.3.
BANDWIDTHS = 0.05 * 2.0 ** (np.arange(19) / 4.0)
N_COORDINATES = 3
DIMENSIONS = (1, 2)


def figure3(*, quick: bool = False, random_state: int = 0) -> Study:
    """Procrustes error δ_ε of eigenmaps of the hourglass in noise, together with ε̂.

    Tables: ``curves`` (δ for each sample and ε), ``estimates`` (ε̂ for each sample and d'), ``summary``.
    """
    sizes = QUICK_SIZES if quick else SIZES
    n_curves, n_lines = (QUICK_CURVES, QUICK_LINES) if quick else (CURVES, LINES)
    curves = [row for n in sizes for k in range(n_curves) for row in _curve(n, random_state + k)]
    estimates = [row for n in sizes for k in range(n_lines) for row in _estimates(n, random_state + k)]
    summary = [_summary(n, dim, curves, estimates) for n in sizes for dim in DIMENSIONS]
    worst = max(summary, key=lambda row: row["error_over_least"])
    ratios = column(summary, "bandwidth") / column(summary, "best_bandwidth")
    shares = column(summary, "share_of_worst")
    return Study(
        name="figure3",
        title="Figure 3: smoothing",
        about=(
            f"Hourglass, noise σ = {NOISE} in 13 dimensions, Laplacian eigenmaps in 3-D of noisy and of clean points; δ is "
            "the Procrustes error, the least over the bandwidths of the clean map. 0 means agreement, 1 none."
        ),
        tables={"curves": curves, "estimates": estimates, "summary": summary},
        claims=(
            Claim(
                "ε̂ lies in a region of low δ",
                shares.max() < 0.25,
                f"δ at the mean ε̂ is at most {shares.max():.1%} of the way from the least to the largest δ; at most "
                f"{worst['error_over_least']:.1f} times the least (N = {worst['n_points']}, d' = {worst['working_dim']}), "
                f"and never more than {column(summary, 'error').max():.3f}",
            ),
            Claim(
                "ε̂ tends to undershoot",
                np.mean(ratios < 1) > 0.5,
                f"mean ε̂ over the ε of least δ: {spread(ratios)}",
            ),
        ),
        remarks=("The paper shows this figure without numbers, so its claims are checked, not its values.",),
        quick=quick,
        shown={"summary": "δ at the mean ε̂, and the least δ"},
    )


def _hourglass(n: int, seed: int) -> ManifoldSample:
    return make_hourglass(n, noise=NOISE, noise_dims=10, random_state=seed)


def _estimates(n: int, seed: int) -> list[Record]:
    X = _hourglass(n, seed).data
    selectors = {dim: GeometricConsistency(working_dim=dim, random_state=seed, **PAPER) for dim in DIMENSIONS}
    return [
        {"n_points": n, "seed": seed, "working_dim": dim, "bandwidth": selector.fit(X).bandwidth_}
        for dim, selector in selectors.items()
    ]


def _curve(n: int, seed: int) -> list[Record]:
    sample = _hourglass(n, seed)
    noisy, clean = _maps(sample.data), _maps(sample.clean)
    errors = _errors(noisy, clean)
    best = BANDWIDTHS[errors.argmin(axis=1)]
    return [
        {"n_points": n, "seed": seed, "bandwidth": eps, "error": error, "clean_bandwidth": clean_eps}
        for eps, error, clean_eps in zip(BANDWIDTHS.tolist(), errors.min(axis=1).tolist(), best.tolist(), strict=True)
    ]


def _maps(X: np.ndarray) -> list[np.ndarray]:
    """Eigenmaps at all bandwidths."""
    pairs = all_pairs(X).host
    maps = []
    for eps in BANDWIDTHS:
        Y = smooth_spectrum(kernel_graph(pairs, eps), N_COORDINATES + 1).vectors[:, 1:]
        # Unit mean square in each coordinate, as eigenfunctions have; contrasts between components included.
        Y = Y - Y.mean(axis=0)
        maps.append(Y / np.maximum(np.linalg.norm(Y, axis=0), np.finfo(float).tiny))
    return maps


def _errors(noisy: list[np.ndarray], clean: list[np.ndarray]) -> np.ndarray:
    """The least ‖Φ* − s Φ R‖ of every map of the noisy points with every one of the clean ones."""
    return np.sqrt([[procrustes(other, one)[2] for other in clean] for one in noisy])


def _summary(n: int, dim: int, curves: list[Record], estimates: list[Record]) -> Record:
    mean = column(where(curves, n_points=n), "error").reshape(-1, len(BANDWIDTHS)).mean(axis=0)
    chosen = column(where(estimates, n_points=n, working_dim=dim), "bandwidth")
    least = float(mean.min())
    error = float(np.interp(np.log(chosen.mean()), np.log(BANDWIDTHS), mean))
    return {
        "n_points": n,
        "working_dim": dim,
        "bandwidth": float(chosen.mean()),
        "sd": float(chosen.std(ddof=1)),
        "best_bandwidth": float(BANDWIDTHS[mean.argmin()]),
        "error": error,
        "least_error": least,
        "error_over_least": error / least,
        "share_of_worst": (error - least) / float(np.ptp(mean)),
    }
