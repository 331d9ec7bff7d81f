"""How far ε̂ moves with the evaluation points: python benchmarks/stability.py [sets] [million]

For each set: ε̂ over all points, then over seeds the ratio of the 95 % to the 5 % quantile of ε̂, the share of the intervals
that hold ε̂ of all points, evaluation points asked (median), directions compared, and the time of a fit over that with 200
evaluation points and one direction.
"""

import numpy as np
from sklearn.datasets import load_digits, load_wine, make_swiss_roll

from geolap import GeometricConsistency
from geolap.datasets import load_ssl_book, make_hourglass, make_sphere, make_torus
from measuring import hourglass, run_parts, timed

SEEDS = range(20)


def cases():
    """Names and points."""
    rng = np.random.default_rng(0)
    yield "torus, 2000 points", make_torus(2000, noise=0.01, noise_dims=10, random_state=0).data
    yield "swiss roll, 2000", make_swiss_roll(2000, noise=0.3, random_state=0)[0]
    yield "swiss roll, 8000", make_swiss_roll(8000, random_state=0)[0]
    yield "hourglass, 2000", hourglass(2000)
    yield "hourglass, σ = 0.1", make_hourglass(2000, noise=0.1, noise_dims=10, random_state=0).data
    yield "S³ in 10-D, 2000", make_sphere(2000, noise=0.01, noise_dims=6, dim=3, random_state=0).data
    for r in (10, 50, 200):
        yield f"normal cloud in {r}-D, 1000", rng.standard_normal((1000, r))
    yield "random bits in 64-D, 1000", rng.integers(0, 2, (1000, 64)).astype(float)
    sphere = rng.standard_normal((1000, 300))
    yield "sphere in 300-D, 1000", sphere / np.linalg.norm(sphere, axis=1, keepdims=True)
    yield "digits", load_digits().data
    wine = load_wine().data
    yield "wine, standardized", (wine - wine.mean(axis=0)) / wine.std(axis=0)
    for name in ("digit1", "usps", "coil", "bci", "g241c", "g241d"):
        yield name, load_ssl_book(name).data


def row(name, X, seeds=SEEDS, whole=None):
    """One line of the table."""
    if whole is None:
        whole = GeometricConsistency(n_sample=None, random_state=0).fit(X).bandwidth_
    found, seconds, old = [], [], []
    for seed in seeds:
        selector, taken = timed(GeometricConsistency(random_state=seed).fit, X)
        found.append(selector.selection_)
        seconds.append(taken)
        if len(old) < 3:
            old.append(timed(GeometricConsistency(working_dim=1, n_sample=200, random_state=seed).fit, X)[1])
    low, high = np.quantile([s.bandwidth for s in found], [0.05, 0.95])
    covers = np.mean([s.interval is not None and s.interval[0] <= whole <= s.interval[1] for s in found])
    asked = np.median([len(s.details["sample"]) for s in found])
    directions = "/".join(map(str, sorted({s.details["working_dim"] for s in found})))
    statuses = "/".join(sorted({s.status.name.lower() for s in found}))
    print(
        f"{name:<28}{whole:>9.4g}{high / low:>8.3f}{covers:>9.0%}{asked:>8.0f}{directions:>5}"
        f"{np.median(seconds) / np.median(old):>8.2f}  {statuses}",
        flush=True,
    )


def header():
    print(f"{'data':<28}{'ε̂':>9}{'spread':>8}{'covers':>9}{'asked':>8}{'d':>5}{'time':>8}  status")


def sets():
    """The sets of the method's specification."""
    header()
    for name, X in cases():
        row(name, X)


def million():
    """The hourglass with a million points; ε̂ of all points is that with 4000 evaluation points."""
    header()
    X = hourglass(1_000_000)
    whole = GeometricConsistency(n_sample=4000, random_state=100).fit(X).bandwidth_
    row("hourglass, 1 000 000", X, range(8), whole)


if __name__ == "__main__":
    run_parts(sets, million)
