"""Against the truth: every rule's ε̂ compared with the best ε, on manifolds whose Laplacian is known.

Three errors of L are computed as functions of ε:

- ``eigenvalues``: mean |λ̂_k − λ_k| / λ_k over the first two levels of the spectrum above 0,
- ``eigenspaces``: root mean square sine of the angles between true eigenfunctions and the space found for their level,
- ``pointwise``: ‖L f − Δf‖ / ‖Δf‖ for the ambient coordinates f, over all points.

The *regret* of a rule is its error divided by the least error of any ε.  True eigenfunctions and Δf are taken at the points
without noise.

Eigenvalues after calibration (`geolap.calibration`) are compared with the least error that any ε has without it; on these
manifolds, and on surfaces whose spectrum is computed by other means (`geolap.experiments.surfaces`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise, product

import numpy as np

from ..data.pairs import Pairs
from ..data.points import spread_rows
from ..datasets import ManifoldSample, make_flat_torus, make_sphere, make_torus
from ..engines import make_engine
from ..graphs.graph import kernel_graph
from ..graphs.neighbors import all_pairs, pairs_within
from ..graphs.spectrum import smooth_spectrum
from ..search import log_grid
from ..selectors import METHODS, GeometricConsistency
from ..validation import check_random_state
from .calibrated import NARROWER, calibrated_rows, calibrated_summary, surface_rows
from .rules import selected
from .study import Claim, Record, Study, column, distinct, listed, where

__all__ = ["ERRORS", "MANIFOLDS", "Manifold", "truth"]

ERRORS = ("eigenvalues", "eigenspaces", "pointwise")
SIZES, QUICK_SIZES = (500, 1000, 2000), (300,)
NOISES, QUICK_NOISES = (0.0, 0.02, 0.05), (0.0, 0.05)
# The largest samples, at one noise only.
LARGEST, NOISE_OF_LARGEST = 5000, 0.02
NOISE_DIMS = 5
DENSITIES = ("uniform", "uneven")
# Density of the uneven samples: 1 + 0.7 x_1 / max |x_1|, up to 5.7 times as dense in one place as in another.
UNEVENNESS = 0.7
# Rules based on GC; singer extrapolates the answer of GC on few points to all of them.
FAMILY = ("gc", "gc_1", "gc_d", "gc_inverse", "gc_first", "gc_drift", "singer")
# Rules that multiply full matrices are left out beyond this many points.
MOST_POINTS = {"semigroup": 1000}
# Weights beyond this multiple of ε (2e-9 and less) are left out if ε is below this share of the unit: few pairs are left.
_REACH, _FEW = 4.5, 0.25


Levels = list[tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Manifold:
    """A manifold with a known Laplacian.

    Attributes
    ----------
    name : str
    make : callable
        (n, noise, noise_dims, random_state) → ManifoldSample
    dim, ambient_dim : int
    levels : callable or None
        Clean points (n, ambient_dim) → [(eigenvalue of −Δ, its eigenfunctions (n, multiplicity)), …]
    laplacian : callable
        Clean points → Δ of the ambient coordinates (n, ambient_dim)
    """

    name: str
    make: Callable[..., ManifoldSample]
    dim: int
    ambient_dim: int
    levels: Callable[[np.ndarray], Levels] | None
    laplacian: Callable[[np.ndarray], np.ndarray]


def _sphere_levels(x: np.ndarray) -> Levels:
    """Linear functions, λ = d, and harmonic quadratic ones, λ = 2 (d + 1)."""
    d = x.shape[1] - 1
    products = [x[:, i] * x[:, j] for i, j in combinations(range(d + 1), 2)]
    differences = [x[:, i] ** 2 - x[:, j] ** 2 for i, j in pairwise(range(d + 1))]
    return [(d, x), (2 * (d + 1), np.column_stack(products + differences))]


def _flat_torus_levels(x: np.ndarray) -> Levels:
    """cos u, sin u, cos v, sin v, λ = 1, and their products, λ = 2."""
    return [(1, x), (2, np.column_stack([x[:, i] * x[:, j] for i in (0, 1) for j in (2, 3)]))]


def _torus_laplacian(x: np.ndarray, *, major: float = 2.0, minor: float = 1.0) -> np.ndarray:
    """Δx = −(1/r + cos a/(R + r cos a)) n, with the normal n = (cos a cos θ, cos a sin θ, sin a)."""
    w = np.hypot(x[:, 0], x[:, 1])
    cosine = (w - major) / minor
    normal = np.column_stack([cosine[:, None] * x[:, :2] / w[:, None], x[:, 2] / minor])
    return -(1.0 / minor + cosine / w)[:, None] * normal


MANIFOLDS = (
    Manifold("circle", partial(make_sphere, dim=1), 1, 2, _sphere_levels, lambda x: -x),
    Manifold("sphere", make_sphere, 2, 3, _sphere_levels, lambda x: -2 * x),
    Manifold("3-sphere", partial(make_sphere, dim=3), 3, 4, _sphere_levels, lambda x: -3 * x),
    Manifold("flat torus", make_flat_torus, 2, 4, _flat_torus_levels, lambda x: -x),
    Manifold("torus", make_torus, 2, 3, None, _torus_laplacian),
)


def truth(*, quick: bool = False, random_state: int = 0) -> Study:
    """Regret of every rule for eigenvalues, eigenspaces and pointwise values of the Laplacian.

    Tables: ``errors`` (each sample, rule and error), ``curves`` (errors over ε), ``regret`` (summary by rule),
    ``by_noise`` and ``by_size`` (median regret), ``optimum`` (ε̂ of GC over the best ε), ``calibrated`` (each sample and
    graph) and ``calibration`` (its medians).
    """
    kinds = list(product(QUICK_NOISES, QUICK_SIZES) if quick else product(NOISES, SIZES))
    kinds += [] if quick else [(NOISE_OF_LARGEST, LARGEST)]
    errors, curves, calibrated = [], [], surface_rows(quick=quick, seed=random_state)
    for manifold, density, (noise, n) in product(MANIFOLDS, DENSITIES, kinds):
        setting = {"manifold": manifold.name, "density": density, "noise": noise, "n_points": n}
        X, clean = draw(manifold, density, noise, n, random_state)
        found, curve = _sample(manifold, setting, X, clean, random_state)
        errors += found
        curves += curve
        if manifold.levels is not None:
            exact = np.concatenate([np.full(f.shape[1], value) for value, f in manifold.levels(clean)])
            best = min(column(curve, "eigenvalues"))
            calibrated += calibrated_rows(setting, X, exact, best, quick=quick, seed=random_state)
    tables = {
        "regret": _summary(errors, median=np.median, worst=lambda regrets: np.quantile(regrets, 0.9)),
        "by_noise": _summary(errors, "noise", median=np.median),
        "by_size": _summary(errors, "n_points", median=np.median),
        "optimum": _optimum(errors),
        "calibration": calibrated_summary(calibrated),
        "errors": errors,
        "curves": curves,
        "calibrated": calibrated,
    }
    return Study(
        name="truth",
        title="Against the truth: the regret of every rule",
        about=(
            "Circle, sphere S², S³, flat torus in 4-D and torus of revolution (Δf only), uniform and uneven density, "
            f"{NOISE_DIMS} more dimensions with noise; N = {LARGEST} at noise {NOISE_OF_LARGEST:g} only. "
            "Regret: error at ε̂ divided by the least error of any ε; 1 is perfect."
        ),
        tables=tables,
        claims=_claims(tables),
        quick=quick,
        shown={
            "regret": "Regret over all samples: median and 90 % quantile (worst)",
            "by_noise": "Median regret for each noise level",
            "by_size": "Median regret for each number of points",
            "optimum": "Median of ε̂ / best ε",
            "calibration": "Calibrated eigenvalues at ε̂ of each graph: median errors, and regret against the best raw ε",
        },
    )


def draw(manifold: Manifold, density: str, noise: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Observed points (n, r), and the same points without noise (n, ambient_dim)."""
    rng, uniform = check_random_state(seed), density == "uniform"
    sample = manifold.make(n if uniform else 4 * n, noise, NOISE_DIMS, rng)
    clean = sample.clean[:, : manifold.ambient_dim]
    if uniform:
        return sample.data, clean
    weight = 1.0 + UNEVENNESS * clean[:, 0] / np.abs(clean[:, 0]).max()
    kept = np.flatnonzero(rng.uniform(0.0, 1.0 + UNEVENNESS, 4 * n) < weight)[:n]
    return sample.data[kept], clean[kept]


def _sample(
    manifold: Manifold, setting: Record, X: np.ndarray, clean: np.ndarray, seed: int
) -> tuple[list[Record], list[Record]]:
    """Errors of every rule on one sample, and the errors as functions of ε."""
    errors_at = partial(laplacian_errors, manifold, X, clean, pairs=all_pairs(X).host)
    chosen = _bandwidths(X, manifold.dim, seed)
    engine = make_engine(X)
    nearest = float(np.median(engine.nearest(spread_rows(len(X), 200))))
    grid = log_grid(nearest, engine.mean_distance(), 2)
    curve: dict[float, dict[str, float]] = {eps: errors_at(eps) for eps in sorted({*grid.tolist(), *chosen.values()})}

    def best(error: str) -> float:
        return min(sorted(curve), key=lambda eps: curve[eps][error])

    measured = list(curve[grid[0]])
    for error in measured:  # refined once between the best bandwidth and its neighbors
        order = sorted(curve)
        at = order.index(best(error))
        for near, far in pairwise(order[max(at - 1, 0) : at + 2]):
            if far > 1.1 * near:
                between = float(np.sqrt(near * far))
                curve[between] = errors_at(between)
    rows = [
        {**setting, "rule": rule, "bandwidth": eps, "error_of": error, "error": curve[eps][error]}
        | {"regret": curve[eps][error] / curve[best(error)][error], "best_bandwidth": best(error)}
        for rule, eps in chosen.items()
        for error in measured
    ]
    return rows, [{**setting, "bandwidth": eps, **curve[eps]} for eps in sorted(curve)]


def _bandwidths(X: np.ndarray, dim: int, seed: int) -> dict[str, float]:
    """ε̂ of every rule; ``gc_1`` compares one tangent direction, ``gc_d`` all d of them, ``gc_drift`` also the drift."""
    rules = {
        "gc": GeometricConsistency(),
        "gc_1": GeometricConsistency(working_dim=1),
        "gc_d": GeometricConsistency(working_dim=dim),
        "gc_inverse": GeometricConsistency(dual=False),
        "gc_first": GeometricConsistency(rule="first"),
        "gc_drift": GeometricConsistency(working_dim=dim, drift=1.0),
        **{rule: METHODS[rule]() for rule in ("rec", "bgh", "semigroup", "clmr", "singer", "median", "knn")},
    }
    few_enough = {rule: selector for rule, selector in rules.items() if len(X) <= MOST_POINTS.get(rule, np.inf)}
    return {rule: selection.bandwidth for rule, selection in selected(X, few_enough, seed)[0].items()}


def laplacian_errors(manifold: Manifold, X: np.ndarray, clean: np.ndarray, eps: float, *, pairs: Pairs) -> dict[str, float]:
    """Errors of L at one bandwidth, by name."""
    if len(X) > 1000 and eps < _FEW * pairs.unit:
        pairs = pairs_within(X, _REACH * eps)
    graph = kernel_graph(pairs, eps)
    exact = manifold.laplacian(clean)
    means = (graph.weights @ (graph.density[:, None] * clean)) / graph.density_sums[:, None]
    difference = 4.0 / eps**2 * (means - clean) - exact
    errors = {"pointwise": float(np.linalg.norm(difference) / np.linalg.norm(exact))}
    if manifold.levels is None:
        return errors
    levels = manifold.levels(clean)
    spectrum = smooth_spectrum(graph, 1 + sum(functions.shape[1] for _, functions in levels))
    first, off, sines = 1, [], []
    for eigenvalue, functions in levels:
        last = first + functions.shape[1]
        off.append(np.abs(spectrum.eigenvalues[first:last] / eigenvalue - 1.0))
        # Orthonormal in the inner product of the eigenvectors.
        exact = np.linalg.qr(functions * np.sqrt(spectrum.mass)[:, None])[0]
        found = spectrum.vectors[:, first:last] * np.sqrt(spectrum.mass)[:, None]
        sines.append(1.0 - ((found.T @ exact) ** 2).sum(axis=0))
        first = last
    errors["eigenvalues"] = float(np.concatenate(off).mean())
    errors["eigenspaces"] = float(np.sqrt(np.maximum(np.concatenate(sines), 0.0).mean()))
    return errors


def _summary(errors: list[Record], by: str | None = None, **statistics: Callable[[np.ndarray], float]) -> list[Record]:
    """Statistics of the regret for each rule and error, for each value of the named column."""
    rows = []
    for key in [{by: value} for value in distinct(errors, by)] if by else [{}]:
        group = where(errors, **key)
        for rule in distinct(group, "rule"):
            regrets = {error: column(where(group, rule=rule, error_of=error), "regret") for error in ERRORS}
            rows.append(
                {**key, "rule": rule}
                | {f"{error}_{name}": float(f(regrets[error])) for error in ERRORS for name, f in statistics.items()}
            )
    return rows


def _optimum(errors: list[Record]) -> list[Record]:
    """Median of ε̂ divided by the best ε, for each rule and error."""
    rows: list[Record] = [{"rule": rule} for rule in distinct(errors, "rule")]
    for row, error in product(rows, ERRORS):
        own = where(errors, rule=row["rule"], error_of=error)
        row[error] = float(np.median(column(own, "bandwidth") / column(own, "best_bandwidth")))
    return rows


def _claims(tables: dict[str, list[Record]]) -> tuple[Claim, ...]:
    regret = {row["rule"]: row for row in tables["regret"]}
    gc, gc_1, gc_d, drift = (regret[rule] for rule in ("gc", "gc_1", "gc_d", "gc_drift"))
    (optimum,) = where(tables["optimum"], rule="gc_d")
    noisy = max(row["noise"] for row in tables["by_noise"])
    bgh = {row["noise"]: row["pointwise_median"] for row in where(tables["by_noise"], rule="bgh")}
    others = {rule: row["eigenvalues_median"] for rule, row in regret.items() if rule not in FAMILY}
    least = min(others, key=others.__getitem__)
    calibrated = {row["graph"]: row for row in where(tables["calibration"], n_points="all")}
    pairs, fifteen = calibrated["all pairs"], calibrated["15 neighbors, local scales"]
    raw = column(where(tables["calibrated"], graph="all pairs"), "raw")
    worse = {
        graph: int((column(where(tables["calibrated"], graph=graph), "calibrated") > 1.05 * raw).sum())
        for graph in ("all pairs", NARROWER)
    }
    return (
        Claim(
            "GC sits at the optimum of the spectrum",
            gc["eigenvalues_median"] < 1.1 and gc_1["eigenvalues_median"] < 1.2,
            f"median regret for eigenvalues {gc['eigenvalues_median']:.3f} with as many directions as it finds, "
            f"{gc_d['eigenvalues_median']:.3f} with d' = d, {gc_1['eigenvalues_median']:.3f} with d' = 1; 90 % of samples "
            f"below {gc['eigenvalues_worst']:.2f}, {gc_d['eigenvalues_worst']:.2f} and {gc_1['eigenvalues_worst']:.2f}",
        ),
        Claim(
            "no rule outside the GC family comes as close for eigenvalues",
            gc["eigenvalues_median"] < others[least],
            f"the next is {least} with {others[least]:.2f}",
        ),
        Claim(
            "pointwise values of L need a larger ε",
            optimum["pointwise"] < 0.8,
            f"ε̂ is {optimum['pointwise']:.2f} of the best ε in the median; median regret {gc_d['pointwise_median']:.1f}",
        ),
        Claim(
            "including the drift lowers that regret",
            all(drift[f"pointwise_{name}"] < gc_d[f"pointwise_{name}"] for name in ("median", "worst")),
            f"median {gc_d['pointwise_median']:.2f} → {drift['pointwise_median']:.2f}, 90 % of samples below "
            f"{gc_d['pointwise_worst']:.1f} → {drift['pointwise_worst']:.1f}; for eigenvalues it rises to "
            f"{drift['eigenvalues_median']:.2f}",
        ),
        Claim(
            "calibrated eigenvalues are better than those of any ε without calibration, best at ε̂/√2",
            calibrated[NARROWER]["regret"] < 0.6 and calibrated[NARROWER]["regret"] < pairs["regret"] < 1.0,
            f"median regret {listed({graph: row['regret'] for graph, row in calibrated.items()})}; worse than raw at ε̂ in "
            f"{worse['all pairs']} of {len(raw)} samples, and at ε̂/√2 in {worse[NARROWER]}",
        ),
        Claim(
            "15 calibrated neighbors are as good as all pairs without calibration",
            fifteen["calibrated"] < pairs["raw"],
            f"median error {fifteen['raw']:.2f} → {fifteen['calibrated']:.3f}; all pairs {pairs['raw']:.3f} → "
            f"{pairs['calibrated']:.3f}",
        ),
        Claim(
            "the kernel-sum rule falls to the scale of the noise",
            bgh[noisy] > 1.5 * bgh[0.0],
            f"its median pointwise regret is {bgh[0.0]:.2f} without noise and {bgh[noisy]:.2f} with noise {noisy:g}",
        ),
    )
