"""Figure 3 (smoothing): how far the map of noisy points is from that of the same points without noise, against ε.

With Φ_ε the eigenmap of the noisy points and Φ*_ε* that of the clean ones, both centered and of unit size,

.. math:: δ_ε = \\min_{ε*} \\min_{R, s} \\| Φ*_{ε*} - s Φ_ε R \\|

over rotations R and factors s (Procrustes).  0 is agreement, 1 none.
"""

import numpy as np

from ..datasets import make_hourglass
from ..graphs.graph import kernel_graph
from ..graphs.neighbors import all_pairs
from ..graphs.spectrum import smooth_spectrum
from ..selectors import GeometricConsistency
from .study import Claim, Study

__all__ = ["figure3"]

NOISE = 0.001
SIZES, QUICK_SIZES = (250, 500, 1000, 2000), (250, 500)
REPLICATES, QUICK_REPLICATES = 5, 2
LINES, QUICK_LINES = 10, 3
# Bandwidths of both maps, in the unit of the surface, whose waist has radius 0.3.
BANDWIDTHS = 0.05 * 2.0 ** (np.arange(19) / 4.0)
N_COORDINATES = 3


def figure3(*, quick=False, random_state=0) -> Study:
    """Procrustes error δ_ε of eigenmaps of the hourglass in noise, and ε̂ beside it.

    Tables: ``curves`` (δ for each sample and ε), ``estimates`` (ε̂ for each sample and d'), ``summary``.
    """
    sizes = QUICK_SIZES if quick else SIZES
    curves, estimates = [], []
    for n in sizes:
        for replicate in range(QUICK_REPLICATES if quick else REPLICATES):
            curves += _curve(n, random_state + replicate)
        for replicate in range(QUICK_LINES if quick else LINES):
            X = _hourglass(n, random_state + replicate).data
            for dim in (1, 2):
                gc = GeometricConsistency(working_dim=dim, random_state=random_state + replicate).fit(X)
                estimates.append(
                    {"n_points": n, "seed": random_state + replicate, "working_dim": dim, "bandwidth": gc.bandwidth_}
                )
    summary = [_summary(n, dim, curves, estimates) for n in sizes for dim in (1, 2)]
    worst = max(summary, key=lambda row: row["error_over_least"])
    ratios = np.array([row["bandwidth"] / row["best_bandwidth"] for row in summary])
    return Study(
        name="figure3",
        title="Figure 3: smoothing",
        about=(
            f"Hourglass, noise σ = {NOISE} in 13 dimensions, Laplacian eigenmaps in 3-D of noisy and of clean points; δ is "
            "the Procrustes error, the least over the bandwidths of the clean map. 0 is agreement, 1 none."
        ),
        tables={"curves": curves, "estimates": estimates, "summary": summary},
        claims=(
            Claim(
                "ε̂ lies in a region of low δ",
                all(row["share_of_worst"] < 0.25 for row in summary),
                "δ at the mean ε̂ is at most "
                f"{max(row['share_of_worst'] for row in summary):.1%} of the way from the least to the largest δ; at most "
                f"{worst['error_over_least']:.1f} times the least (N = {worst['n_points']}, d' = {worst['working_dim']}), "
                f"and never more than {max(row['error'] for row in summary):.3f}",
            ),
            Claim(
                "ε̂ tends to undershoot",
                float(np.mean(ratios < 1)) > 0.5,
                f"mean ε̂ over the ε of least δ: {ratios.min():.2f} to {ratios.max():.2f}",
            ),
        ),
        remarks=("The paper shows this figure without numbers, so that its claims are checked, not its values.",),
        quick=quick,
        shown={"summary": "δ at the mean ε̂, and the least δ"},
    )


def _hourglass(n, seed):
    return make_hourglass(n, noise=NOISE, noise_dims=10, random_state=seed)


def _curve(n, seed):
    sample = _hourglass(n, seed)
    noisy, clean = (_maps(X) for X in (sample.data, sample.clean))
    errors = np.array([[_procrustes(one, other) for other in clean] for one in noisy])
    return [
        {
            "n_points": n,
            "seed": seed,
            "bandwidth": float(eps),
            "error": float(row.min()),
            "clean_bandwidth": float(BANDWIDTHS[row.argmin()]),
        }
        for eps, row in zip(BANDWIDTHS, errors, strict=True)
    ]


def _maps(X):
    """Eigenmaps at all bandwidths, centered and of unit size."""
    pairs = all_pairs(X)
    maps = []
    for eps in BANDWIDTHS:
        Y = smooth_spectrum(kernel_graph(pairs, eps), N_COORDINATES + 1).vectors[:, 1:]
        # Unit mean square in each coordinate, as eigenfunctions have; contrasts between components included.
        Y = Y - Y.mean(axis=0)
        Y = Y / np.maximum(np.linalg.norm(Y, axis=0), np.finfo(float).tiny)
        maps.append(Y / np.linalg.norm(Y))
    return maps


def _procrustes(one, other):
    """√(1 − (Σ singular values)²) of the product, for centered matrices of unit size."""
    return float(np.sqrt(max(0.0, 1.0 - np.linalg.svd(one.T @ other, compute_uv=False).sum() ** 2)))


def _summary(n, dim, curves, estimates):
    by_sample = [c["error"] for c in curves if c["n_points"] == n]
    mean = np.reshape(by_sample, (-1, len(BANDWIDTHS))).mean(axis=0)
    chosen = np.array([e["bandwidth"] for e in estimates if (e["n_points"], e["working_dim"]) == (n, dim)])
    error = float(np.interp(np.log(chosen.mean()), np.log(BANDWIDTHS), mean))
    return {
        "n_points": n,
        "working_dim": dim,
        "bandwidth": float(chosen.mean()),
        "sd": float(chosen.std(ddof=1)),
        "best_bandwidth": float(BANDWIDTHS[mean.argmin()]),
        "error": error,
        "least_error": float(mean.min()),
        "error_over_least": error / float(mean.min()),
        "share_of_worst": (error - float(mean.min())) / float(np.ptp(mean)),
    }
