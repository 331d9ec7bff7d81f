"""Where a selection succeeds, is misled, or fails: the tables of docs/limits.md.  python benchmarks/limits.py

Each line: ε̂, what it may be used for, how the search ended, directions compared, effective neighbors and those that span a
tangent plane, the three estimates of the dimension (vote, growth, nearest neighbors; "–" where there is no vote), and D.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import scale

import geolap
from geolap.datasets import load_ssl_book, make_flat_torus, make_hourglass, make_sphere, make_swiss_roll, make_torus


def manifolds():
    for n in (500, 2000):
        yield f"torus, {n} points", make_torus(n, random_state=0).data
    yield "circle with noise", make_sphere(1000, noise=0.02, dim=1, random_state=0).data
    yield "sphere", make_sphere(1000, random_state=0).data
    yield "3-sphere in 10-D, noise 0.01", make_sphere(2000, noise=0.01, noise_dims=6, dim=3, random_state=0).data
    yield "flat torus in 4-D", make_flat_torus(2000, random_state=0).data
    yield "swiss roll", make_swiss_roll(2000, random_state=0).data
    yield "hourglass, noise 0.01 in 13-D", make_hourglass(2000, noise=0.01, noise_dims=10, random_state=0).data
    yield "hourglass, noise 0.1 in 13-D", make_hourglass(2000, noise=0.1, noise_dims=10, random_state=0).data
    yield "4-dimensional cube", np.random.default_rng(0).random((2000, 4))


def structureless():
    rng = np.random.default_rng(0)
    for r in (8, 10, 50, 200):
        yield f"normal cloud in {r} dimensions", rng.standard_normal((1000, r))
    yield "normal cloud in 10, 20 000 points", rng.standard_normal((20_000, 10))
    yield "answers from 1 to 5, 10 questions", rng.integers(1, 6, (1000, 10)).astype(float)
    yield "answers from 1 to 5, 30 questions", rng.integers(1, 6, (1000, 30)).astype(float)
    yield "random bits in 64 dimensions", rng.integers(0, 2, (1000, 64)).astype(float)
    sphere = rng.standard_normal((1000, 300))
    yield "sphere in 300 dimensions", sphere / np.linalg.norm(sphere, axis=1, keepdims=True)


def difficult():
    rng = np.random.default_rng(0)
    X = make_torus(1000, random_state=0).data
    yield "torus, every point twice", np.repeat(X, 2, axis=0)
    yield "and one point 1500 times", np.vstack([X, np.repeat(X[:1], 1500, axis=0)])
    yield "rounded to 0.2", np.round(X / 0.2) * 0.2
    yield "rounded to 1", np.round(X)
    yield "20 outliers within ±50", np.vstack([X, rng.uniform(-50, 50, (20, 3))])
    yield "two tori, 1000 apart", np.vstack([X, X + 1000.0])
    yield "two tori, one 50 times smaller", np.vstack([X, 0.02 * X + 10.0])
    yield "last feature in other units, × 1000", X * [1.0, 1.0, 1000.0]
    for noise in (0.03, 0.1, 0.3):
        yield f"50 dimensions of noise, σ = {noise}", make_torus(1000, noise=noise, noise_dims=50, random_state=0).data
    yield "normal cloud in 2 dimensions", rng.standard_normal((1000, 2))


def real():
    yield "digits", load_digits().data
    yield "iris, standardized", scale(load_iris().data)
    yield "wine, standardized", scale(load_wine().data)
    yield "wine, as it is", load_wine().data
    yield "breast cancer, standardized", scale(load_breast_cancer().data)
    for name in ("digit1", "usps", "coil", "bci", "g241c", "g241d"):
        yield name, load_ssl_book(name).data


def line(name, X):
    found = geolap.select_bandwidth(X, random_state=0)
    near = found.neighborhoods
    estimates = f"{near.vote or '–'} {near.growth:.1f} {near.likelihood:.1f}"
    score = float(np.interp(np.log(found.bandwidth), np.log(found.bandwidths), found.scores))
    remarks = ", ".join(remark.kind for remark in found.remarks)
    print(
        f"{name:<36}{found.bandwidth:>8.4g}  {found.verdict.name.lower():<18}{found.status.name.lower():<16}"
        f"{found.details['working_dim']:>2}{near.effective:>7.3g}{near.spanning:>7.3g}  {estimates:<14}"
        f"{near.dimension or '–':>2}{score:>7.2f}  {remarks}",
        flush=True,
    )


if __name__ == "__main__":
    title = f"{'data':<36}{'ε̂':>8}  {'verdict':<18}{'status':<16}d'  n_eff  span  estimates      d      D  remarks"
    for part in (manifolds, structureless, difficult, real):
        print(title)
        for name, points in part():
            line(name, points)
        print()
