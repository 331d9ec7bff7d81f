"""Where a selection succeeds, is misled, or fails: the table of docs/limits.md.  python benchmarks/limits.py"""

import numpy as np

import geolap
from geolap.datasets import load_ssl_book, make_torus


def cases():
    """Names and points."""
    rng = np.random.default_rng(0)
    X = make_torus(1000, random_state=0).data
    yield "torus, 1000 points", X
    yield "every point twice", np.repeat(X, 2, axis=0)
    yield "and one point 1500 times", np.vstack([X, np.repeat(X[:1], 1500, axis=0)])
    yield "rounded to 0.2", np.round(X / 0.2) * 0.2
    yield "rounded to 1", np.round(X)
    yield "20 outliers within ±50", np.vstack([X, rng.uniform(-50, 50, (20, 3))])
    yield "two tori, 1000 apart", np.vstack([X, X + 1000.0])
    yield "two tori, one 50 times smaller", np.vstack([X, 0.02 * X + 10.0])
    yield "last feature in other units, × 1000", X * [1.0, 1.0, 1000.0]
    for noise in (0.03, 0.1, 0.3):
        yield f"50 dimensions of noise, σ = {noise}", make_torus(1000, noise=noise, noise_dims=50, random_state=0).data
    for r in (2, 10, 50, 200):
        yield f"normal distribution in {r} dimensions", rng.standard_normal((1000, r))
    yield "answers from 1 to 5 to 10 questions", rng.integers(1, 6, (1000, 10)).astype(float)
    yield "USPS", load_ssl_book("usps").data
    yield "COIL, six classes", load_ssl_book("coil").data


if __name__ == "__main__":
    print(f"{'data':<38}{'ε̂':>8}  {'status':<13}every minimum, with D; in brackets beyond the bound")
    for name, points in cases():
        found = geolap.select_bandwidth(points, random_state=0)
        minima = [
            f"{m.bandwidth:.3g} ({m.score:.2f})" if m.local else f"[{m.bandwidth:.3g} ({m.score:.2f})]" for m in found.minima
        ]
        print(f"{name:<38}{found.bandwidth:>7.4g}  {found.status.name.lower():<13}{', '.join(minima)}")
