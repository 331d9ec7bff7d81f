"""What the benchmarks share: seconds, peak memory, the same points, and parts that are run by name."""

import subprocess
import sys
import time
import warnings
from pathlib import Path

from geolap.datasets import make_hourglass


def hourglass(n, r=13):
    """The paper's hourglass with noise of 0.01 in r dimensions."""
    return make_hourglass(n, noise=0.01, noise_dims=r - 3, random_state=0).data


def timed(function, *args, **kwargs):
    """What a call returns, and its seconds."""
    start = time.perf_counter()
    result = function(*args, **kwargs)
    return result, time.perf_counter() - start


def best_of(function, repeats=3):
    """Least seconds of several calls."""
    return min(timed(function)[1] for _ in range(repeats))


def peak():
    """GiB of memory that this process has used at most (`getrusage` would count the parent's memory too)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def in_process(*arguments):
    """Run the same script with other arguments in a process of its own, whose peak of memory is its own."""
    subprocess.run([sys.executable, sys.argv[0], *map(str, arguments)], check=True)


def run_parts(*parts, separate=False):
    """Run the functions named on the command line, or all of them; ``separate``: each in a process of its own."""
    warnings.simplefilter("ignore", RuntimeWarning)
    by_name = {part.__name__: part for part in parts}
    names = sys.argv[1:] or list(by_name)
    for name in names:
        if separate and len(names) > 1:
            in_process(name)
        else:
            by_name[name]()
        print(flush=True)
