"""Figure 1: ε̂ against the number of points on two surfaces in noise, and the scales at which their dimension can be seen."""

import numpy as np

from ..datasets import make_dome, make_hourglass
from ..dimension import dimension_range
from ..selectors import GeometricConsistency
from ..selectors.multiscale_svd import MultiscaleSVD
from .study import Claim, Study

__all__ = ["figure1"]

SURFACES = {"dome": make_dome, "hourglass": make_hourglass}
NOISES = (0.001, 0.01, 0.1)
DIMENSIONS = (1, 2)
SIZES, QUICK_SIZES = (250, 500, 1000, 2000, 4000), (250, 500, 1000)
REPLICATES, QUICK_REPLICATES = 10, 2


def figure1(*, quick=False, random_state=0) -> Study:
    """ε̂ for d' = 1, 2 on samples of the dome and the hourglass, with the true and the CLMR ranges of scales.

    Tables: ``samples`` (one record a sample), ``means`` (mean and standard deviation over samples).
    """
    sizes = QUICK_SIZES if quick else SIZES
    n_replicates = QUICK_REPLICATES if quick else REPLICATES
    samples = [
        _sample(surface, noise, n, random_state + replicate)
        for surface in SURFACES
        for noise in NOISES
        for n in sizes
        for replicate in range(n_replicates)
    ]
    means = [
        _mean([s for s in samples if (s["surface"], s["noise"], s["n_points"]) == (surface, noise, n)])
        for surface in SURFACES
        for noise in NOISES
        for n in sizes
    ]
    return Study(
        name="figure1",
        title="Figure 1: ε̂ against N, noise and d'",
        about=(
            f"Dome and hourglass with 10 more dimensions and normal noise σ in all 13, {n_replicates} samples each, 200 "
            "evaluation points. ‘True range’: where the largest gap of the local singular values is the second in most "
            "points. CLMR with the optimal K = 2."
        ),
        tables={"samples": samples, "means": means},
        claims=_claims(samples, means, sizes),
        remarks=(
            "The paper shows this figure without numbers, so that its claims are checked, not its values.",
            "At the highest noise D has two minima, one at the scale of the noise and one above it, and ε̂ moves between "
            "them from sample to sample; the paper's grid of about 20 bandwidths may have seen one.",
        ),
        quick=quick,
        shown={"means": "Mean and standard deviation of ε̂ over samples, and mean ends of the ranges"},
    )


def _sample(surface, noise, n, seed):
    X = SURFACES[surface](n, noise=noise, noise_dims=10, random_state=seed).data
    low, high = _true_range(X, seed)
    clmr = MultiscaleSVD(max_dim=2, random_state=seed).fit(X).selection_
    record = {
        "surface": surface,
        "noise": noise,
        "n_points": n,
        "seed": seed,
        "true_low": low,
        "true_high": high,
        "clmr_low": clmr.details["limits"][0],
        "clmr_high": clmr.details["limits"][1],
    }
    for dim in DIMENSIONS:
        record[f"gc_{dim}"] = GeometricConsistency(working_dim=dim, random_state=seed).fit(X).bandwidth_
    return record


def _true_range(X, seed):
    """Ends of the longest run of bandwidths at which d = 2 is seen; None, None if it never is."""
    bandwidths, sees = dimension_range(X, 2, random_state=seed)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], sees, [False]])))
    if not edges.size:
        return None, None
    first, last = max(zip(edges[::2], edges[1::2], strict=True), key=lambda run: run[1] - run[0])
    return float(bandwidths[first]), float(bandwidths[last - 1])


def _mean(group):
    record = {key: group[0][key] for key in ("surface", "noise", "n_points")}
    for dim in DIMENSIONS:
        values = np.array([s[f"gc_{dim}"] for s in group])
        record[f"gc_{dim}"], record[f"sd_{dim}"] = float(values.mean()), float(values.std(ddof=1))
    for key in ("true_low", "true_high", "clmr_low", "clmr_high"):
        known = [s[key] for s in group if s[key] is not None]
        record[key] = float(np.mean(known)) if known else None
    return record


def _claims(samples, means, sizes):
    """The paper's statements; at the highest noise, where they hold less, apart from the others."""
    *calm, high = NOISES

    def column(surface, noise, dim):
        return np.array([m[f"gc_{dim}"] for m in means if (m["surface"], m["noise"]) == (surface, noise)])

    curves = {(s, noise, d): column(s, noise, d) for s in SURFACES for noise in NOISES for d in DIMENSIONS}
    falls = {key: curve[-1] / curve[0] for key, curve in curves.items()}
    growth = [curves[s, high, d][-1] / curves[s, NOISES[0], d][-1] for s in SURFACES for d in DIMENSIONS]
    middle = [curves[s, NOISES[1], d][-1] / curves[s, NOISES[0], d][-1] for s in SURFACES for d in DIMENSIONS]
    ratios = {noise: np.array([m["gc_1"] / m["gc_2"] for m in means if m["noise"] == noise]) for noise in NOISES}
    calm_ratios = np.concatenate([ratios[noise] for noise in calm])
    seen = [s for s in samples if s["true_low"] is not None]
    inside = {
        noise: [s["true_low"] <= s[f"gc_{d}"] <= s["true_high"] for s in seen for d in DIMENSIONS if s["noise"] == noise]
        for noise in NOISES
    }
    calm_inside = [x for noise in calm for x in inside[noise]]
    overlap = [_overlap(s) for s in seen]
    unlimited = np.mean([s["clmr_low"] is None or s["clmr_high"] is None for s in samples])
    drowned = np.concatenate([curves["hourglass", high, d] for d in DIMENSIONS])
    amplitude = high * np.sqrt(13)
    calm_falls = [ratio for key, ratio in falls.items() if key[1] != high]
    high_falls = [ratio for key, ratio in falls.items() if key[1] == high]
    return (
        Claim(
            f"ε̂ falls with N (σ ≤ {calm[-1]:g})",
            max(calm_falls) < 1,
            f"from N = {sizes[0]} to {sizes[-1]} by factors of {min(calm_falls):.2f} to {max(calm_falls):.2f}",
        ),
        Claim(
            f"ε̂ falls with N at σ = {high:g}, too",
            max(high_falls) < 1,
            f"factors of {min(high_falls):.2f} to {max(high_falls):.2f}",
        ),
        Claim(
            "ε̂ grows with σ",
            min(growth) > 1,
            f"at N = {sizes[-1]}, σ = {high:g} over {NOISES[0]:g}: factors of {min(growth):.2f} to {max(growth):.2f}; "
            f"{NOISES[1]:g} over {NOISES[0]:g}: {min(middle):.2f} to {max(middle):.2f}",
        ),
        Claim(
            f"d' = 1 gives the larger ε̂, within a factor of about 2 (σ ≤ {calm[-1]:g})",
            bool(calm_ratios.min() > 0.95 and calm_ratios.max() < 2.5),
            f"ratios {calm_ratios.min():.2f} to {calm_ratios.max():.2f}, median {np.median(calm_ratios):.2f}; at σ = "
            f"{high:g} {ratios[high].min():.2f} to {ratios[high].max():.2f}",
        ),
        Claim(
            f"ε̂ always lies in the true range (σ ≤ {calm[-1]:g})",
            all(calm_inside),
            f"{np.mean(calm_inside):.1%} of {len(calm_inside)} estimates",
        ),
        Claim(
            f"ε̂ lies in the true range at σ = {high:g}, where there is one",
            all(inside[high]),
            f"{np.mean(inside[high]):.1%} of {len(inside[high])} estimates; {len(samples) - len(seen)} of {len(samples)} "
            "samples have no such range",
        ),
        Claim(
            f"on the hourglass in noise of σ = {high:g}, ε̂ is just below the amplitude σ√13 of the noise",
            bool(0.5 * amplitude < drowned.min() and drowned.max() < amplitude),
            f"means of {drowned.min():.2f} to {drowned.max():.2f}, the amplitude is {amplitude:.2f}",
        ),
        Claim(
            "the CLMR range overlaps with the true one only in part",
            float(np.mean(overlap)) < 0.9,
            f"on average {np.mean(overlap):.0%} of it, on a log scale, lies in the true range; in {unlimited:.0%} of the "
            "samples it lacks a limit",
        ),
    )


def _overlap(sample):
    """Share of the CLMR range that lies in the true one, on a log scale; a missing limit is the searched end of it."""
    low = sample["clmr_low"] or 0.1 * sample["true_low"]
    high = sample["clmr_high"] or 10 * sample["true_high"]
    common = np.log(min(high, sample["true_high"]) / max(low, sample["true_low"]))
    return float(max(common, 0.0) / max(np.log(high / low), 1e-9))
