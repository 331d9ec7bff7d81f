"""Figure 1: ε̂ against the number of points on two surfaces in noise, and the scales at which their dimension can be seen."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from ..datasets import make_dome, make_hourglass
from ..dimension import dimension_range
from ..selectors import GeometricConsistency
from ..selectors.multiscale_svd import MultiscaleSVD
from .rules import PAPER
from .study import Claim, Record, Study, column, spread, statistic, where

__all__ = ["figure1"]

SURFACES = {"dome": make_dome, "hourglass": make_hourglass}
NOISES = (0.001, 0.01, 0.1)
DIMENSIONS = (1, 2)
SIZES, QUICK_SIZES = (250, 500, 1000, 2000, 4000), (250, 500, 1000)
REPLICATES, QUICK_REPLICATES = 10, 2


def figure1(*, quick: bool = False, random_state: int = 0) -> Study:
    """ε̂ for d' = 1, 2 on samples of the dome and the hourglass, with the true and the CLMR ranges of scales.

    Tables: ``samples`` (one record per sample), ``means`` (mean and standard deviation over samples).
    """
    sizes, n_replicates = (QUICK_SIZES, QUICK_REPLICATES) if quick else (SIZES, REPLICATES)
    settings = list(product(SURFACES, NOISES, sizes))
    samples = [_sample(*setting, seed=random_state + k) for setting in settings for k in range(n_replicates)]
    means = [_mean(where(samples, surface=surface, noise=noise, n_points=n)) for surface, noise, n in settings]
    return Study(
        name="figure1",
        title="Figure 1: ε̂ against N, noise and d'",
        about=(
            "Dome and hourglass in 13 dimensions, 10 of which hold only noise, with Gaussian noise σ in all of them; "
            f"{n_replicates} samples of each, 200 evaluation points. ‘True range’: the bandwidths at which the largest gap "
            "of the local singular values is the second at most points. CLMR with the optimal K = 2."
        ),
        tables={"samples": samples, "means": means},
        claims=_claims(samples, means, sizes),
        remarks=(
            "The paper shows this figure without numbers, so its claims are checked, not its values.",
            "At the highest noise, D has two minima, one at the scale of the noise and one above it. ε̂ moves between them "
            "from sample to sample; the paper's grid of about 20 bandwidths may have found only one.",
        ),
        quick=quick,
        shown={"means": "Mean and standard deviation of ε̂ over samples, and mean ends of the ranges"},
    )


def _sample(surface: str, noise: float, n: int, *, seed: int) -> Record:
    X = SURFACES[surface](n, noise=noise, noise_dims=10, random_state=seed).data
    low, high = _true_range(X, seed)
    clmr_low, clmr_high = MultiscaleSVD(max_dim=2, random_state=seed).fit(X).selection_.details["limits"]
    record: Record = {"surface": surface, "noise": noise, "n_points": n, "seed": seed}
    record |= {"true_low": low, "true_high": high, "clmr_low": clmr_low, "clmr_high": clmr_high}
    for dim in DIMENSIONS:
        record[f"gc_{dim}"] = GeometricConsistency(working_dim=dim, random_state=seed, **PAPER).fit(X).bandwidth_
    return record


def _true_range(X: np.ndarray, seed: int) -> tuple[float | None, float | None]:
    """Ends of the longest run of bandwidths at which d = 2 is seen; None, None if it never is."""
    bandwidths, sees = dimension_range(X, 2, random_state=seed)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], sees, [False]])))
    if not edges.size:
        return None, None
    first, last = max(zip(edges[::2], edges[1::2], strict=True), key=lambda run: run[1] - run[0])
    return float(bandwidths[first]), float(bandwidths[last - 1])


def _mean(group: list[Record]) -> Record:
    record = {name: group[0][name] for name in ("surface", "noise", "n_points")}
    for dim in DIMENSIONS:
        values = column(group, f"gc_{dim}")
        record[f"gc_{dim}"], record[f"sd_{dim}"] = float(values.mean()), float(values.std(ddof=1))
    return record | {name: statistic(group, name) for name in ("true_low", "true_high", "clmr_low", "clmr_high")}


def _claims(samples: list[Record], means: list[Record], sizes: Sequence[int]) -> tuple[Claim, ...]:
    """The paper's claims; those for the highest noise, where fewer hold, are listed separately."""
    lowest, calm, high = NOISES
    # Axes: surface, noise, N, d'.
    gc = np.stack([column(means, f"gc_{dim}") for dim in DIMENSIONS], axis=-1)
    gc = gc.reshape(len(SURFACES), len(NOISES), len(sizes), len(DIMENSIONS))
    falls = gc[:, :, -1] / gc[:, :, 0]
    growth = gc[:, :, -1] / gc[:, :1, -1]
    ratios = gc[..., 0] / gc[..., 1]
    drowned = gc[list(SURFACES).index("hourglass"), -1]
    amplitude = high * np.sqrt(13)
    seen = [sample for sample in samples if sample["true_low"] is not None]
    inside = _inside([sample for sample in seen if sample["noise"] < high])
    inside_high = _inside(where(seen, noise=high))
    overlap = np.mean([_overlap(sample) for sample in seen])
    unlimited = np.mean([sample["clmr_low"] is None or sample["clmr_high"] is None for sample in samples])
    return (
        Claim(
            f"ε̂ falls with N (σ ≤ {calm:g})",
            falls[:, :-1].max() < 1,
            f"from N = {sizes[0]} to {sizes[-1]} by factors of {spread(falls[:, :-1])}",
        ),
        Claim(f"ε̂ falls with N at σ = {high:g}, too", falls[:, -1].max() < 1, f"factors of {spread(falls[:, -1])}"),
        Claim(
            "ε̂ grows with σ",
            growth[:, -1].min() > 1,
            f"at N = {sizes[-1]}, σ = {high:g} over {lowest:g}: factors of {spread(growth[:, -1])}; "
            f"{calm:g} over {lowest:g}: {spread(growth[:, 1])}",
        ),
        Claim(
            f"d' = 1 gives the larger ε̂, within a factor of about 2 (σ ≤ {calm:g})",
            ratios[:, :-1].min() > 0.95 and ratios[:, :-1].max() < 2.5,
            f"ratios {spread(ratios[:, :-1])}, median {np.median(ratios[:, :-1]):.2f}; at σ = {high:g} "
            f"{spread(ratios[:, -1])}",
        ),
        Claim(
            f"ε̂ always lies in the true range (σ ≤ {calm:g})",
            all(inside),
            f"{np.mean(inside):.1%} of {len(inside)} estimates",
        ),
        Claim(
            f"ε̂ lies in the true range at σ = {high:g}, where there is one",
            all(inside_high),
            f"{np.mean(inside_high):.1%} of {len(inside_high)} estimates; {len(samples) - len(seen)} of {len(samples)} "
            "samples have no such range",
        ),
        Claim(
            f"on the hourglass in noise of σ = {high:g}, ε̂ is just below the amplitude σ√13 of the noise",
            0.5 * amplitude < drowned.min() and drowned.max() < amplitude,
            f"means of {spread(drowned)}, the amplitude is {amplitude:.2f}",
        ),
        Claim(
            "the CLMR range overlaps with the true one only in part",
            bool(overlap < 0.9),
            f"on average {overlap:.0%} of it, on a log scale, lies in the true range; in {unlimited:.0%} of the samples it "
            "lacks a limit",
        ),
    )


def _inside(samples: list[Record]) -> list[bool]:
    """Whether each ε̂ lies in the true range of its sample."""
    return [s["true_low"] <= s[f"gc_{dim}"] <= s["true_high"] for s in samples for dim in DIMENSIONS]


def _overlap(sample: Record) -> float:
    """Share of the CLMR range that lies in the true one, on a log scale; a missing limit is replaced by a wide one."""
    low = sample["clmr_low"] or 0.1 * sample["true_low"]
    high = sample["clmr_high"] or 10 * sample["true_high"]
    common = np.log(min(high, sample["true_high"]) / max(low, sample["true_low"]))
    return float(max(common, 0.0) / max(np.log(high / low), 1e-9))
