"""Points that are known by their distances: what a selection and a map take, beside those from the points themselves.

python benchmarks/distances.py            all of it
python benchmarks/distances.py matrix     a full matrix, against the points
python benchmarks/distances.py stored     20 000 points with 100 stored neighbors each
python benchmarks/distances.py sparse     20 000 rows of 30 000 sparse features
"""

import resource
import sys
import time
import warnings

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

import geolap


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def least(function, times=3):
    results = [timed(function) for _ in range(times)]
    return results[0][0], min(seconds for _, seconds in results)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def matrix():
    """ε̂ from points and from their distances, Euclidean and not."""
    rng = np.random.default_rng(0)
    sets = {
        "sphere, 1500×10": geolap.datasets.make_sphere(1500, noise=0.05, noise_dims=7, random_state=0).data,
        "normal cloud about a curve, 1500×241": rng.standard_normal((1500, 241)) * 0.1
        + np.sin(np.outer(np.linspace(0, 6, 1500), rng.random(241))),
    }
    print("| 1500 points | ε̂ from points | from distances | times as long | manhattan, times as long | negative share |")
    print("|---|---|---|---|---|---|")
    for name, X in sets.items():
        D, city = cdist(X, X), cdist(X, X, "cityblock")
        points, seconds = least(lambda X=X: geolap.GeometricConsistency(random_state=0).fit(X))
        known, longer = least(lambda D=D: geolap.GeometricConsistency(metric="precomputed", random_state=0).fit(D))
        other, longest = timed(lambda D=city: geolap.GeometricConsistency(metric="precomputed", random_state=0).fit(D))
        share = other.selection_.details["negative_share"]
        print(
            f"| {name} | {points.bandwidth_:.6g} | {known.bandwidth_ / points.bandwidth_ - 1:+.0e} | {longer / seconds:.2f} "
            f"| {longest / seconds:.1f} | {share:.2f} |",
            flush=True,
        )


def stored():
    """20 000 points of which 100 neighbors are stored."""
    X = geolap.datasets.make_hourglass(20_000, noise=0.05, noise_dims=10, random_state=0).data
    D = kneighbors_graph(X, 100, mode="distance")
    selector = geolap.GeometricConsistency(metric="precomputed", random_state=0)
    known, seconds = timed(lambda: selector.fit(D))
    points = geolap.GeometricConsistency(neighbors=D, random_state=0).fit(X)
    whole = geolap.GeometricConsistency(random_state=0).fit(X)
    print(
        f"20 000 points with 100 stored neighbors: ε̂ = {known.bandwidth_:.4g} in {seconds:.1f} s; from the points over "
        f"these neighbors {points.bandwidth_:.4g}, over all pairs {whole.bandwidth_:.4g}."
    )


def counts(n=20_000, r=30_000, share=0.005, topics=8, seed=0):
    """Rows of counts about a few topics, each a distribution over the features."""
    rng = np.random.default_rng(seed)
    favored = rng.dirichlet(np.full(r, 0.02), topics)
    mixed = rng.dirichlet(np.full(topics, 0.3), n)
    per_row = int(share * r * 1.1)
    rows, columns = [], []
    for first in range(0, n, 500):
        p = np.cumsum(mixed[first : first + 500] @ favored, axis=1)
        drawn = [np.searchsorted(each, rng.random(per_row) * each[-1]) for each in p]
        rows.append(np.repeat(np.arange(first, first + len(p)), per_row))
        columns.append(np.concatenate(drawn))
    row, column = np.concatenate(rows), np.concatenate(columns)
    X = sparse.csr_array((np.ones(len(row)), (row, np.minimum(column, r - 1))), shape=(n, r))
    return X, mixed.argmax(axis=1)


def sparse_features():
    """A term–document or cell–gene matrix."""
    X, topic = counts()
    before = peak()
    print(f"{X.shape[0]}×{X.shape[1]}, {X.nnz / np.prod(X.shape):.2%} stored, {X.nnz * 12 / 2**20:.0f} MiB")
    y = np.where(np.random.default_rng(0).random(len(topic)) < 0.02, topic, -1)
    for metric in ("euclidean", "cosine"):
        gc, a = timed(lambda m=metric: geolap.GeometricConsistency(metric=m, random_state=0).fit(X))
        _, b = timed(lambda m=metric: geolap.LaplacianEigenmap(5, metric=m, random_state=0).fit(X))
        _, c = timed(lambda m=metric: geolap.LaplacianClustering(8, metric=m, random_state=0).fit(X))
        found, d = timed(lambda m=metric: geolap.LaplacianClassifier(metric=m, random_state=0).fit(X, y))
        right = np.mean(found.transduction_[y < 0] == topic[y < 0])
        print(
            f"{metric}: selection {a:.0f} s (ε̂ = {gc.bandwidth_:.4g}), map {b:.0f} s, clusters {c:.0f} s, labels {d:.0f} s "
            f"({right:.0%} right); peak {peak():.2f} GiB, {before:.2f} before.",
            flush=True,
        )


PARTS = {"matrix": matrix, "stored": stored, "sparse": sparse_features}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
