"""Calibrated eigenvalues against the truth: on every graph, and beside the best that any ε does without calibration."""

import warnings
from typing import Any

import numpy as np

from ..data.points import spread_rows
from ..engines import make_engine
from ..estimators.maps import LaplacianEigenmap
from ..graphs.graph import kernel_graph
from ..graphs.neighbors import all_pairs
from ..graphs.spectrum import smooth_spectrum
from ..search import log_grid
from ..selection import UnresolvedWarning
from .study import Record, column, distinct, where
from .surfaces import SURFACES

__all__ = ["GRAPHS", "NARROWER", "calibrated_rows", "calibrated_summary", "surface_rows"]

# The graph at 1/√2 of the paper's bandwidth, which calibrated eigenvalues want: W there is W² at ε̂.
NARROWER = "all pairs, ε̂/√2"
# Neighbors and local scales of the graphs; the first is the paper's.
GRAPHS: dict[str, tuple[int | None, int | None]] = {
    "all pairs": (None, None),
    NARROWER: (None, None),
    "15 neighbors": (15, None),
    "15 neighbors, local scales": (15, 7),
    "30 neighbors": (30, None),
    "100 neighbors": (100, None),
}
QUICK_GRAPHS = ("all pairs", NARROWER, "15 neighbors, local scales")
SIZES, QUICK_SIZES = (1000, 3000), (500,)
NOISES, QUICK_NOISES = (0.0, 0.02), (0.0,)
NOISE_DIMS = 5
# Eigenvalues that are compared on surfaces; bandwidths in an octave where the best is looked for.
N_EIGENVALUES, _STEPS = 8, 3
_MEDIANS = ("raw", "calibrated", "best_raw", "regret", "factor")


def eigenvalue_error(found: np.ndarray, exact: np.ndarray) -> float:
    """Mean |λ̂_k − λ_k| / λ_k."""
    return float(np.abs(found / exact - 1.0).mean())


def calibrated_rows(
    setting: Record, X: np.ndarray, exact: np.ndarray, best_raw: float, *, quick: bool, seed: int
) -> list[Record]:
    """Errors of raw and calibrated eigenvalues at ε̂ for each graph; ``best_raw`` is the least raw error of any ε."""
    rows: list[Record] = []
    for graph, (n_neighbors, local_scale) in GRAPHS.items():
        if (quick and graph not in QUICK_GRAPHS) or (n_neighbors is not None and n_neighbors >= len(X)):
            continue
        common: dict[str, Any] = {"n_neighbors": n_neighbors, "local_scale": local_scale}
        bandwidth = rows[0]["bandwidth"] / np.sqrt(2.0) if graph == NARROWER else "gc"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnresolvedWarning)  # how far off eigenvalues then are is what is measured
            fit: Any = LaplacianEigenmap(len(exact), bandwidth, **common, random_state=seed).fit(X)
            raw: Any = LaplacianEigenmap(len(exact), fit.bandwidth_, **common, calibrate=False, self_weights=True).fit(X)
        error = eigenvalue_error(fit.eigenvalues_, exact)
        measured = fit.calibration_
        rows.append(
            {**setting, "graph": graph, "bandwidth": fit.bandwidth_, "dimension": measured.dimension}
            | {"factor": measured.factor, "standard_error": measured.standard_error if measured.told else None}
            | {"raw": eigenvalue_error(raw.eigenvalues_, exact), "calibrated": error}
            | {"best_raw": best_raw, "regret": error / best_raw}
        )
    return rows


def surface_rows(*, quick: bool, seed: int) -> list[Record]:
    """The same on surfaces whose spectrum is computed by other means."""
    rows = []
    for surface in SURFACES[:1] if quick else SURFACES:
        exact = surface.spectrum(N_EIGENVALUES)
        for n in QUICK_SIZES if quick else SIZES:
            for noise in QUICK_NOISES if quick else NOISES:
                X = surface.make(n, noise, NOISE_DIMS, seed)
                setting = {"manifold": surface.name, "density": "uniform", "noise": noise, "n_points": n}
                rows += calibrated_rows(setting, X, exact, _best_raw(X, exact), quick=quick, seed=seed)
    return rows


def _best_raw(X: np.ndarray, exact: np.ndarray) -> float:
    """The least error of raw eigenvalues over all pairs, of any ε."""
    engine, pairs = make_engine(X), all_pairs(X).host
    grid = log_grid(float(np.median(engine.nearest(spread_rows(len(X), 200)))), 0.5 * engine.mean_distance(), _STEPS)
    found = (smooth_spectrum(kernel_graph(pairs, eps), len(exact) + 1).eigenvalues[1:] for eps in grid)
    return min(eigenvalue_error(values, exact) for values in found)


def calibrated_summary(rows: list[Record]) -> list[Record]:
    """Medians for each graph and number of points, and for each graph over all of them."""
    groups = [{"graph": graph, "n_points": n} for graph in GRAPHS for n in (None, *distinct(rows, "n_points"))]
    summary = []
    for key in groups:
        group = where(rows, **{name: value for name, value in key.items() if value is not None})
        if group:
            medians = {name: float(np.median(column(group, name))) for name in _MEDIANS}
            summary.append({"graph": key["graph"], "n_points": key["n_points"] or "all", **medians})
    return summary
