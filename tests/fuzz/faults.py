"""Faults that are injected: writes that stop anywhere, tasks on threads that fail, interrupts at random moments."""

import os
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import sparse

import geolap
from geolap.files import FileError, write_matrix, write_table
from geolap.runtime import threads

from .failures import Failure, FoundError

TABLE = {"row": np.array([f"r{k}" for k in range(500)], object), "x": np.random.default_rng(0).normal(size=500)}
MATRIX = sparse.random_array((200, 200), density=0.1, rng=0, format="csr")
WRITERS = {f"table.{ending}": lambda path: write_table(path, TABLE) for ending in ("csv", "tsv", "npz", "parquet", "npy")}
WRITERS |= {f"matrix.{ending}": lambda path: write_matrix(path, MATRIX) for ending in ("npz", "mtx")}


def check_write(rng: np.random.Generator, folder: Path) -> None:
    """A disk that is full after some bytes leaves the old file whole, and no other."""
    import resource

    name = list(WRITERS)[rng.integers(len(WRITERS))]
    path, room = folder / name, int(2 ** rng.uniform(0, 16))
    path.write_text("as it was")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            WRITERS[name](path)
            code = 0
        except FileError as error:
            code = 2 if str(error).endswith(".") else 1
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    left = {file.name for file in folder.iterdir()} - {name}
    kept = path.read_bytes() == b"as it was"
    path.unlink()
    if left:
        raise FoundError(Failure.LEFTOVER, f"{left} beside {name} with room for {room} bytes")
    if os.waitstatus_to_exitcode(status) != (2 if kept else 0):
        raise FoundError(Failure.LEFTOVER, f"{name} with room for {room} bytes: exit {status}, old file kept: {kept}")


class InjectedError(MemoryError):
    """A fault of a task."""


def check_task(rng: np.random.Generator) -> None:
    """A task that fails on a thread fails the call as it did, and leaves nothing that changes the next one."""
    X, failing = np.random.default_rng(0).standard_normal((80, 3)), int(rng.integers(0, 12))
    expected = geolap.select_bandwidth(X, random_state=0).bandwidth
    n_tasks = 0

    class Failing(ThreadPoolExecutor):
        def submit(self, function, *args, **kwargs):
            nonlocal n_tasks
            n_tasks += 1
            return super().submit(_fails if n_tasks == failing + 1 else function, *args, **kwargs)

    whole, threads.ThreadPoolExecutor = threads.ThreadPoolExecutor, Failing
    try:
        geolap.select_bandwidth(X, random_state=0)
        failed = False
    except InjectedError:
        failed = True
    finally:
        threads.ThreadPoolExecutor = whole
    if failed != (n_tasks > failing):
        raise FoundError(Failure.NO_SENTENCE, f"the fault in task {failing} of {n_tasks} got lost")
    if threads.one_blas_thread._users or geolap.select_bandwidth(X, random_state=0).bandwidth != expected:
        raise FoundError(Failure.UNSTABLE, f"the fault in task {failing} changes the next call")


def _fails(*_: object) -> None:
    raise InjectedError("no memory")


# Work of some seconds each, to be interrupted.
WORK = {
    "select": "geolap.select_bandwidth(X[:8000, :6])",
    "select wide": "geolap.select_bandwidth(X[:1500])",
    "neighbors": "geolap.GeometricConsistency(n_neighbors=30).fit(X[:, :10])",
    "cells": "geolap.select_bandwidth(X[:, :5])",
    "median": "geolap.MedianDistance().fit(X)",
    "knn": "geolap.NeighborDistance().fit(X)",
    "knn of few features": "geolap.NeighborDistance().fit(X[:, :3])",
    "rules": "geolap.compare_bandwidths(X[:1500, :5])",
    "eigenmap": "geolap.LaplacianEigenmap(2, 0.8).fit(X[:4000, :3])",
    "eigenmap of all pairs": "geolap.LaplacianEigenmap(2, 3.0, n_neighbors=None).fit(X[:3000, :3])",
    "eigenmap, solved directly": "geolap.LaplacianEigenmap(2, 1.0, eigen_solver='dense').fit(X[:2500, :3])",
    "eigenmap of neighbors": "geolap.LaplacianEigenmap(2, n_neighbors=20).fit(X[:30000, :5])",
    "classifier": "geolap.LaplacianClassifier(1.0).fit(X[:5000, :5], y[:5000])",
    "clusters": "geolap.LaplacianClustering().fit(X[:5000, :4])",
    "dimension": "geolap.intrinsic_dimension(X[:3000, :6])",
    "health": "geolap.graph_health(X[:, :3], 0.3)",
    "scale": "geolap.regional_scale(X[:5000, :4])",
}
CHILD = """
import faulthandler, signal, sys, warnings
faulthandler.enable()
faulthandler.register(signal.SIGUSR1)
warnings.simplefilter("ignore")
import numpy as np, geolap
X = np.random.default_rng(0).standard_normal((40000, 30))
y = np.where(np.arange(40000) % 50 == 0, np.arange(40000) // 50 % 3, -1)
geolap.compare_bandwidths(X[:40, :3])  # an interrupt amid an import is Python's own affair
geolap.LaplacianClassifier().fit(X[:60, :3], y[:60] % 2)
for work in sys.stdin:
    try:
        print("begun", flush=True)
        exec(work)
        signal.pause()
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


def _listen() -> None:
    """Hear interrupts also where the parent, a job in the background of a shell, does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Interrupted:
    """A process that works, and is interrupted again and again."""

    def __init__(self) -> None:
        self._child = None

    def __enter__(self) -> "Interrupted":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _begin(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            preexec_fn=_listen,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def check(self, rng: np.random.Generator, most: float = 1.0, name: str | None = None) -> tuple[str, float]:
        """Interrupt some work at a random moment: what it was, and seconds until it ended, as on an idle machine."""
        name = name or list(WORK)[rng.integers(len(WORK))]
        if self._child is None:
            self._begin()
        child = self._child
        with suppress(BrokenPipeError):  # of a child that has ended, which the next line tells
            child.stdin.write(WORK[name] + "\n")
            child.stdin.flush()
        self._line(name)
        time.sleep(float(rng.exponential(1.0)))
        sent, busy = time.perf_counter(), max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        child.send_signal(signal.SIGINT)
        if not select.select([child.stdout], [], [], most * busy)[0]:
            child.send_signal(signal.SIGUSR1)  # tells where it is
            time.sleep(0.5)
            child.kill()
            lines = [line.strip() for line in child.communicate()[1].splitlines() if line.strip()]
            where = [line for line in lines[:-1] if "geolap" in line][-8:] + lines[-1:]
            self._child = None
            raise FoundError(Failure.HANG, f"{name} did not end within {most} s of an interrupt: {' | '.join(where)}")
        self._line(name)
        return name, (time.perf_counter() - sent) / busy

    def _line(self, name: str) -> None:
        if not self._child.stdout.readline():
            stderr, code = self._child.communicate()[1], self._child.returncode
            self._child = None
            raise FoundError(Failure.CRASH, f"{name}: exit code {code}, {stderr[-300:]}")


COMMANDS = [
    ["embed", "x.npy", "--n-neighbors", "20", "-o", "out.csv"],
    ["laplacian", "x.npy", "-b", "0.3", "-o", "out.mtx"],
    ["select", "x.npy", "--exact", "--report", "out.html"],
    ["embed", "x.npy", "--local-scale", "7", "-o", "out.npz"],
    ["cluster", "x.npy", "-o", "out.parquet"],
]


def check_command(rng: np.random.Generator, folder: Path) -> float:
    """A command that is asked to end, by Ctrl-C, a closed terminal or the system, leaves nothing: seconds that it took."""
    if not (folder / "x.npy").exists():
        np.save(folder / "x.npy", np.random.default_rng(0).standard_normal((20_000, 5)))
    command = COMMANDS[rng.integers(len(COMMANDS))]
    sign, code = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)][rng.integers(3)]
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-m", "geolap", *command],
        preexec_fn=_listen,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(1.0 + float(rng.exponential(2.0)))
    sent = time.perf_counter()
    process.send_signal(sign)
    try:
        stderr = process.communicate(timeout=10.0)[1]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # tells where it is
        where = [line.strip() for line in process.communicate()[1].splitlines() if "geolap" in line or "Thread" in line]
        seen = f"{' '.join(command)} did not end within 10 s of {sign.name}: {' | '.join(where[-12:])}"
        raise FoundError(Failure.HANG, seen) from None
    took = time.perf_counter() - sent
    output = folder / command[-1]
    left = {path.name for path in folder.iterdir()} - {"x.npy", output.name}
    whole = process.returncode == 0
    if process.returncode not in (0, code) or "Traceback" in stderr:
        raise FoundError(Failure.CRASH, f"{' '.join(command)}, {sign.name}: exit code {process.returncode}, {stderr[-300:]}")
    if left or (output.exists() and not whole and "Written" not in stderr and output.stat().st_size == 0):
        raise FoundError(Failure.LEFTOVER, f"{' '.join(command)}, {sign.name}: {left}")
    output.unlink(missing_ok=True)
    return took
