"""Speed and memory of the selection, as ratios measured in one run.

python benchmarks/speed.py            everything, about three minutes on two cores
python benchmarks/speed.py --fast     without the plain reference, which takes most of the time
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

import geolap
import reference
from geolap.datasets import load_ssl_book, make_hourglass
from geolap.engines import TiledEngine
from measuring import best_of, hourglass, peak, timed


def grid(X, n):
    """n bandwidths of ratio 2^(1/4) down from the root mean square distance."""
    return TiledEngine(X).mean_distance() * 2.0 ** (-np.arange(n) / 4)


def distortion_and_fit(name, X, with_reference):
    bandwidths = grid(X, 20)
    sample = np.random.default_rng(0).choice(len(X), 200, replace=False)
    geolap.distortion(X, bandwidths[:2], sample=sample[:2])  # warm up
    fast = best_of(lambda: geolap.distortion(X, bandwidths, sample=sample), 5)
    fit = best_of(lambda: geolap.GeometricConsistency(random_state=0).fit(X), 5)
    print(f"{name}, N={len(X)}, r={X.shape[1]}, 20 bandwidths, 200 evaluation points")
    print(f"  distortion           {fast:7.3f} s")
    print(f"  whole fit            {fit:7.3f} s   {fit / fast:5.2f} x the distortion   (at most 2)")
    if with_reference:
        slow = best_of(lambda: reference.distortion(X, bandwidths, sample), 1)
        print(f"  plain reference      {slow:7.3f} s   {slow / fast:5.1f} x the distortion")


def row_sums(N, r):
    X = np.random.default_rng(0).standard_normal((N, r))
    engine, bandwidths = TiledEngine(X), grid(X, 14)
    product, sums = np.inf, np.inf
    for _ in range(15):  # alternating, so that both see the same load
        product = min(product, best_of(lambda: X @ X.T, 1))
        sums = min(sums, best_of(lambda: engine.row_sums(bandwidths), 1))
    print(f"all-pairs row sums, 14 bandwidths, N={N}, r={r}")
    print(f"  X Xᵀ alone           {product:7.3f} s")
    print(f"  row sums             {sums:7.3f} s   {sums / product:5.2f} x the product   (at most 3)")


def skipped_tiles():
    X = make_hourglass(20000, random_state=0).data
    engine = TiledEngine(X)
    wide = best_of(lambda: engine.row_sums(np.array([1.0])))
    narrow = best_of(lambda: engine.row_sums(np.array([0.02])))
    print("tiles beyond the reach of the kernel, hourglass, N=20000, r=3")
    print(f"  bandwidth 1.0        {wide:7.3f} s")
    print(f"  bandwidth 0.02       {narrow:7.3f} s   {wide / narrow:5.1f} x faster")


MEMORY = """
import numpy as np, geolap
from measuring import peak
X = np.random.default_rng(0).standard_normal((20000, 50))
geolap.distortion(X[:100], 5.0)
before = peak()
geolap.GeometricConsistency(random_state=0).fit(X)
print(peak() - before)
"""


def memory():
    done, seconds = timed(
        subprocess.run, [sys.executable, "-c", MEMORY], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    print("memory above the data, whole fit, N=20000, r=50")
    print(f"  {2**10 * float(done.stdout):.0f} MiB   (at most 1024), {seconds:.0f} s with start-up")


def wide():
    print("selection of wide points, rotated to rank: seconds, MiB above the data (5 directions and noise)")
    for n, r in ((213, 1024), (200, 5000), (100, 20_000)):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 5)) @ rng.standard_normal((5, r)) + 0.3 * rng.standard_normal((n, r))
        before = peak()
        seconds = timed(geolap.GeometricConsistency(random_state=0).fit, X)[1]
        print(f"  {n}×{r:<8}{seconds:6.1f} s{2**10 * (peak() - before):8.0f} MiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="leave out the plain reference")
    arguments = parser.parse_args()
    distortion_and_fit("hourglass", hourglass(5000), not arguments.fast)
    distortion_and_fit("Digit1", load_ssl_book("digit1").data, not arguments.fast)
    row_sums(1500, 241)
    row_sums(5000, 241)
    skipped_tiles()
    wide()
    memory()
