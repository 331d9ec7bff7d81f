"""Beside other packages, as ratios within one run.

python benchmarks/peers.py [maps] [labels] [selections] [rules] [busy] [startup]

Each time is the best of three, unless it is long.  pyDiffMap and UMAP are measured where they are installed.
"""

import subprocess
import sys
import warnings
from functools import partial
from importlib.util import find_spec

import numpy as np
from sklearn.manifold import SpectralEmbedding
from sklearn.semi_supervised import LabelSpreading

import geolap
from geolap.datasets import load_ssl_book, make_sphere, make_torus
from measuring import best_of, hourglass, in_process, peak, run_parts, timed

GIVEN = 0.2


def seconds(function):
    """The best of three, or one long one."""
    first = timed(function)[1]
    return first if first > 5.0 else min(first, best_of(function, 2))


def line(name, taken, beside=None):
    print(f"  {name:<58}{taken:8.2f} s" + ("" if beside is None else f"{beside / taken:8.2f} x"), flush=True)


def maps():
    print("maps of the hourglass, two coordinates, r=13; the last column is the time of scikit-learn's over it")
    for n in (2000, 5000):
        X = hourglass(n)
        theirs = seconds(lambda X=X: SpectralEmbedding(2, affinity="rbf", gamma=GIVEN**-2.0, random_state=0).fit(X))
        line(f"SpectralEmbedding(affinity='rbf'), N={n}", theirs)
        for name, model in (
            ("ε given", geolap.LaplacianEigenmap(2, GIVEN, n_neighbors=None)),
            ("ε given, not calibrated", geolap.LaplacianEigenmap(2, GIVEN, n_neighbors=None, calibrate=False)),
            ("selection included", geolap.LaplacianEigenmap(2, random_state=0)),
        ):
            line(f"LaplacianEigenmap, {name}", seconds(partial(model.fit, X)), theirs)
        others(X)
    X = make_sphere(5000, noise=0.01, noise_dims=10, random_state=0).data
    theirs = seconds(lambda: SpectralEmbedding(2, affinity="rbf", gamma=GIVEN**-2.0, random_state=0).fit(X))
    line("SpectralEmbedding(affinity='rbf'), sphere, N=5000", theirs)
    line(
        "LaplacianEigenmap, selection included", seconds(partial(geolap.LaplacianEigenmap(2, random_state=0).fit, X)), theirs
    )
    for n in (5000, 20_000, 100_000):
        X = hourglass(n)
        theirs = seconds(
            lambda X=X: SpectralEmbedding(2, affinity="nearest_neighbors", n_neighbors=10, random_state=0).fit(X)
        )
        line(f"SpectralEmbedding(affinity='nearest_neighbors'), N={n}", theirs)
        model = geolap.LaplacianEigenmap(2, GIVEN, n_neighbors=10)
        line("LaplacianEigenmap, 10 neighbors, ε given", seconds(partial(model.fit, X)), theirs)
    for what in ("rbf", "ours", "rbf neighbors", "ours neighbors"):
        in_process("memory", what)


def others(X):
    """Packages that may be installed."""
    if find_spec("pydiffmap"):
        from pydiffmap.diffusion_map import DiffusionMap

        theirs = DiffusionMap.from_sklearn(n_evecs=2, epsilon=GIVEN**2 / 4.0, alpha=1.0, k=200)
        line("pyDiffMap, 200 neighbors", seconds(partial(theirs.fit, X)))
    if find_spec("umap"):
        from umap import UMAP

        line("UMAP, 15 neighbors", seconds(partial(UMAP(random_state=0).fit, X)))


def memory(what):
    """Peak memory of one map, in a process of its own."""
    X = hourglass(100_000 if "neighbors" in what else 5000)
    model = {
        "rbf": SpectralEmbedding(2, affinity="rbf", gamma=GIVEN**-2.0, random_state=0),
        "ours": geolap.LaplacianEigenmap(2, GIVEN, n_neighbors=None),
        "rbf neighbors": SpectralEmbedding(2, affinity="nearest_neighbors", n_neighbors=10, random_state=0),
        "ours neighbors": geolap.LaplacianEigenmap(2, GIVEN, n_neighbors=10),
    }[what]
    model.fit(X)
    joined = ", 10 neighbors" if "neighbors" in what else ""
    print(f"  {f'peak memory, {type(model).__name__}, N={len(X)}{joined}':<58}{peak():8.2f} GiB")


def labels():
    print("labels of the hourglass, two classes, 100 known, of a million 1000; the last column: scikit-learn's time over it")
    for n, n_labels in ((5000, 100), (20_000, 100), (10**6, 1000)):
        X = hourglass(n)
        truth = (np.sin(3 * X[:, 0]) + np.sin(3 * X[:, 1]) > 0).astype(int)
        y = np.where(np.random.default_rng(0).random(n) < n_labels / n, truth, -1)
        theirs = None
        for kernel in ("rbf", "knn") if n < 10_000 else ("knn",) if n < 100_000 else ():
            model = LabelSpreading(kernel=kernel, gamma=GIVEN**-2.0)
            theirs = seconds(partial(model.fit, X, y))
            wrong = 100 * (model.transduction_ != truth).mean()
            line(f"LabelSpreading(kernel={kernel!r}), N={n}, {wrong:.1f} % wrong", theirs)
        model = geolap.LaplacianClassifier(random_state=0)
        taken = seconds(partial(model.fit, X, y))
        line(
            f"LaplacianClassifier, N={n}, selection included, {100 * (model.transduction_ != truth).mean():.1f} % wrong",
            taken,
            theirs,
        )


def selections():
    print("selections; the last column is the time of d'=1 over it")
    for name in ("digit1", "g241c"):
        X = load_ssl_book(name).data
        line(f"{name}, 1500 x 241", seconds(partial(geolap.GeometricConsistency(random_state=0).fit, X)))
        one = None
        for dim in (1, 2, 3):
            model = geolap.GeometricConsistency(working_dim=dim, n_sample=200, random_state=0)
            taken = seconds(partial(model.fit, X))
            one = one or taken
            line(f"{name}, 200 evaluation points, d'={dim}", taken, one)
    line(
        "rotated patterns, 1440 x 1024",
        seconds(partial(geolap.GeometricConsistency(random_state=0).fit, rotated_patterns())),
    )
    X = make_sphere(20_000, noise=0.01, noise_dims=47, random_state=0).data
    line("sphere with noise, 20000 x 50", seconds(partial(geolap.GeometricConsistency(random_state=0).fit, X)))


def rotated_patterns():
    """20 smooth random patterns of 32 x 32 pixels, each seen at 72 angles."""
    from scipy.ndimage import gaussian_filter, rotate

    rng = np.random.default_rng(0)
    y, x = np.mgrid[:32, :32] - 15.5
    patterns = [gaussian_filter(rng.standard_normal((32, 32)), 2.0) * (x**2 + y**2 < 225) for _ in range(20)]
    seen = [rotate(pattern, 5 * k, reshape=False, order=1) for pattern in patterns for k in range(72)]
    return np.array(seen).reshape(1440, -1) + 0.001 * rng.standard_normal((1440, 1024))


def rules():
    X = make_torus(3000, random_state=0).data
    print("rules")
    for name in ("semigroup", "lcmc"):
        line(f"{name}, 3000 x 3", seconds(partial(geolap.select_bandwidth, X, name, random_state=0)))
    data = load_ssl_book("digit1")
    y = some_labels(data.target)
    line("cv, Digit1, 100 labels", seconds(partial(geolap.select_bandwidth, data.data, "cv", y=y, random_state=0)))
    X = hourglass(20_000)
    line("compare_bandwidths, all rules, 20000 x 13", seconds(partial(geolap.compare_bandwidths, X, random_state=0)))


def some_labels(classes):
    """100 of the classes, and −1 for the others."""
    known = np.random.default_rng(0).choice(len(classes), 100, replace=False)
    y = np.full(len(classes), -1)
    y[known] = np.unique(classes, return_inverse=True)[1][known]
    return y


def busy():
    print("with one other process at work; the last column is the quiet time over it")
    X, small = hourglass(5000), hourglass(1000)
    given = geolap.LaplacianEigenmap(2, GIVEN, n_neighbors=None)
    y = some_labels(small[:, 0] > 0)
    work = {
        "LaplacianEigenmap, N=1000, ε given": partial(given.fit, small),
        "LaplacianEigenmap, N=5000, ε given": partial(given.fit, X),
        "GeometricConsistency, N=5000": partial(geolap.GeometricConsistency(random_state=0).fit, X),
        "LaplacianClustering, N=1000": partial(geolap.LaplacianClustering(3, random_state=0).fit, small),
        "LaplacianClassifier, N=1000": partial(geolap.LaplacianClassifier(random_state=0).fit, small, y),
    }
    quiet = {name: seconds(function) for name, function in work.items()}
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for name, function in work.items():
            line(name, seconds(function), quiet[name])
    finally:
        other.kill()
        other.wait()


def startup():
    print("start-up")
    for name, arguments in (
        ("import geolap", ["-c", "import geolap"]),
        ("python alone", ["-c", "pass"]),
        ("geolap --version", ["-m", "geolap", "--version"]),
    ):
        line(name, seconds(partial(subprocess.run, [sys.executable, *arguments], check=True, capture_output=True)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["memory"]:
        memory(sys.argv[2])
    else:
        run_parts(maps, labels, selections, rules, busy, startup)
