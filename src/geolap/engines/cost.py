"""Forecasts of the time and memory that an engine needs.

Rough models fitted to `benchmarks/scale.py`.  Times are scaled by the current speed of this machine at what engines do most:
products of small matrices and exponentials.
"""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..runtime.memory import available_memory, in_words
from ..runtime.threads import one_blas_thread

__all__ = [
    "MOST_ENTRIES",
    "MOST_POINTS_OF_FULL",
    "UNTHINNED_ENTRIES",
    "Cost",
    "graph_memory",
    "map_cost",
    "neighbor_entries",
    "selection_cost",
    "selection_memory",
]

# The memory of the interpreter and the libraries.
_BASE = 210e6
# Bandwidths that a selection evaluates: in the scan, and in the refinement.
_SCANNED, _REFINED = 30, 9
# Evaluation points.
_ASKED = 200
# Of chunks, where degrees are found anew for them: bandwidths, and evaluation points over all bandwidths.
_TIMES_OF_CHUNKS, _ROWS_OF_CHUNKS = 45, 8000
# Up to this many points the matrix of a graph is full (200 MB), and takes so many bytes for each entry while it is used.
MOST_POINTS_OF_FULL, _BYTES_OF_FULL = 5000, 16.0
# More entries of a graph than this are not stored (1.2 GB).
MOST_ENTRIES = 10**8
# Entries up to which a graph keeps all pairs by default: more take several times as long as a share of them.
UNTHINNED_ENTRIES = 3 * 10**7
# Points within reach of one at ε̂, as a share of all and at most, and edges of a point where pairs are thinned.
_SHARE_WITHIN_REACH, _WITHIN_REACH, _EDGES = 0.1, 5000, 80.0

# What an engine or a graph does, in words.
_WORDS = {
    "dense": "Choosing a bandwidth over all pairs, held in memory,",
    "tiled": "Choosing a bandwidth over all pairs",
    "device": "Choosing a bandwidth over all pairs on the device",
    "cells": "Choosing a bandwidth, with estimates for points far away,",
    "chunked": "Choosing a bandwidth, chunk by chunk,",
    "pairs within reach": "A map that joins the pairs within reach",
    "landmarks": "A map on landmarks",
    "nearest neighbors": "A map that joins nearest neighbors",
}


@dataclass(frozen=True)
class Cost:
    """Forecast of a task.

    Attributes
    ----------
    engine : str
        The engine that will be used; for a map, the kind of graph.
    memory : float
        Bytes, in addition to the points themselves.
    seconds : float
        Accurate within a factor of two or three.
    available : float
        Bytes that are available.
    """

    engine: str
    memory: float
    seconds: float
    available: float

    @property
    def fits(self) -> bool:
        """Whether there is enough memory."""
        return self.memory <= self.available

    def __str__(self) -> str:
        enough = "" if self.fits else f", more than the {in_words(self.available)} available"
        return f"{_WORDS[self.engine]} takes about {_duration(self.seconds)} and {in_words(self.memory)} of memory{enough}"


def selection_cost(engine: str, n: int, r: int, *, n_chunks: int = 1, exact: bool = False, n_jobs: int = 1) -> Cost:
    """Cost of choosing ε for n points with r features, in so many chunks, with the engine of that name."""
    m = _SCANNED + _REFINED
    if engine == "dense":
        work = 12.0 * n * n * m
    elif engine == "tiled":
        rotated, seen = 0.1 * n * n * r if r > n else 0.0, min(n, r)
        work = rotated + n * n * (_SCANNED * 0.4 + 0.025 * seen) + _ASKED * m * seen * n * 0.96
    elif engine == "device":
        work = 0.5 * n * n * 1e-3 * _SCANNED * (1.0 + 0.01 * r)
    elif engine == "chunked":
        # The sums of an evaluation point over a chunk are short: much of them is Python's work, of one thread at a time.
        alone = _ROWS_OF_CHUNKS * (2.6e5 + 1.3e5 * n_chunks)
        degrees = float(n) * n * (_SCANNED * 1.45 + 0.13 * r) if exact else _TIMES_OF_CHUNKS * n * 8000.0
        work = alone * n_jobs + degrees + _ROWS_OF_CHUNKS * r * (min(n, 1e5) + 25.0 * r * r)
    else:
        reached = min(n, 5e4)
        work = m * (1e8 + n * 1800 * (0.4 + 0.016 * r) + _ASKED * reached * (20 + 0.012 * r * r) * 2)
    return Cost(engine, selection_memory(engine, n, r), _seconds(work, n_jobs), available_memory())


def selection_memory(engine: str, n: float, r: int) -> float:
    """Bytes at the peak of a selection, in addition to the points themselves."""
    n = float(n)  # its square may overflow a fixed-size integer
    needed = {
        "dense": 6 * 8 * n * n,
        "tiled": 8 * n * (4 * r + 4 * _SCANNED),
        "device": 8 * n * (3 * r + 3 * _SCANNED) + 2e9,
        "cells": 28 * n * r + 650 * n + 2e8 + 32 * _ASKED * r * r,
        "chunked": 3e8 + 32 * _ASKED * r * r,
    }
    return needed[engine] + _BASE


def neighbor_entries(n: int, n_neighbors: int) -> float:
    """Entries of a nearest-neighbor graph, assuming that two in three neighbors are mutual."""
    return 4 / 3 * n * n_neighbors


def graph_memory(entries: float) -> float:
    """Bytes at the peak while a sparse graph with this many entries is built and used."""
    return 55.0 * entries + _BASE


def map_cost(
    engine: str,
    n: int,
    r: int,
    *,
    n_neighbors: int | None = None,
    n_landmarks: int | None = None,
    n_jobs: int = 1,
    known: float | None = None,
) -> Cost:
    """Cost of a map of n points with r features, including the choice of ε.

    The engine chooses ε, but over nearest neighbors only these pairs are used.  ``known`` are the seconds of the choice, or
    of the search for neighbors, where these are known.
    """
    if n_landmarks is None and n_neighbors is None:
        selection = selection_cost(engine, n, r, n_jobs=n_jobs)
        within = float(n) * min(_SHARE_WITHIN_REACH * n, _WITHIN_REACH)
        entries = within if within <= UNTHINNED_ENTRIES else min(MOST_ENTRIES, float(n) * _EDGES)
        first = selection.seconds if known is None else known
        stored = graph_memory(entries) if n > MOST_POINTS_OF_FULL else _BASE + _BYTES_OF_FULL * n * n
        memory = max(selection.memory, stored + 40.0 * n * r + 1000.0 * n)
        return Cost("pairs within reach", memory, first + _seconds(1500.0 * entries, n_jobs), selection.available)
    if n_landmarks is not None:
        selection = selection_cost(engine, n, r, n_jobs=n_jobs)
        # At ε̂ a landmark has some hundred to a thousand other landmarks within reach, and so does every extended point.
        entries = min(n_landmarks**2, 1000.0 * n_landmarks)
        work = n * min(n_landmarks, 1000.0) * 40 + entries * 500
        extended = 0.0 if engine == "chunked" else 100.0 * n  # from chunks one by one
        memory = max(selection.memory, graph_memory(entries) + extended)
        first = selection.seconds if known is None else known
        return Cost("landmarks", memory, first + _seconds(work, n_jobs), selection.available)
    assert n_neighbors is not None
    entries = neighbor_entries(n, n_neighbors)
    first = _seconds(n * (500 * r + 400 * n_neighbors), n_jobs) if known is None else known
    seconds = first + _seconds(entries * (_SCANNED * 5 + 1950), n_jobs)
    memory = graph_memory(entries) + 25.0 * entries + 40.0 * n * r + 1000.0 * n  # coarse levels beside the graph
    return Cost("nearest neighbors", memory, seconds, available_memory())


def _seconds(work: float, n_jobs: int) -> float:
    return work * 1e-9 * _nanoseconds() / n_jobs


@cache
def _nanoseconds() -> float:
    """Current time for one weight on one thread."""
    A, W = np.ones((256, 16), dtype=np.float32), np.empty((256, 1024), dtype=np.float32)
    B = np.full((16, 1024), -0.1, dtype=np.float32)
    best = np.inf
    with one_blas_thread:
        for _ in range(20):
            start = time.perf_counter()
            np.exp(np.matmul(A, B, out=W), out=W).sum()
            best = min(best, time.perf_counter() - start)
    return best / W.size * 1e9


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
