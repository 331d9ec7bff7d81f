"""A forecast before the work: how long it will take, and whether there is memory enough.

From the shape alone it rests on models (`geolap.engines.cost`).  With the data at hand, a pilot does a small part of the
work on it: what a selection costs depends on how many points are within reach of one another, which no shape tells.
"""

import time
from dataclasses import replace
from numbers import Integral
from types import SimpleNamespace
from typing import Any

import numpy as np

from .data.points import Points, check_complete, check_sizes, chunks_of, is_chunked
from .engines import CellsEngine, Cost, chunk_count, engine_for, make_engine, visits_all_pairs
from .engines.cost import map_cost, selection_cost
from .graphs.build import MOST_LANDMARKS
from .graphs.neighbors import search_seconds
from .judgment import LOOKED_AT
from .local_dimension import Surroundings
from .runtime.threads import thread_count
from .search_range import search_grid
from .selection import Selection
from .selectors.geometric_consistency import FEWER_SAMPLE, FIRST_SAMPLE, GeometricConsistency
from .selectors.singer import singer_factor
from .specification import FullSpec, GraphSpec
from .validation import check_choice, check_n_sample, check_number

__all__ = ["forecast"]

# Points in the pilot of a selection; fewer than this many are not worth one.
_PILOT, _WORTH = 4000, 8000
# One in so many bandwidths of the scan is looked at.
_STEP = 3


def forecast(
    X: Any,
    task: str = "selection",
    *,
    exact: bool = False,
    engine: str = "auto",
    bandwidth: float | None = None,
    n_neighbors: int | None = None,
    n_landmarks: int | None = None,
    n_jobs: int | None = None,
) -> Cost:
    """Time and memory needed to choose the bandwidth of these points, or to compute a map of them.

    For data of more than 8000 points in memory a pilot run of a few seconds does part of the work; otherwise, and for dask
    arrays, large files and the pair (n_points, n_features), models give a rough answer at once.  Estimators and selectors
    forecast memory in the same way before they allocate any, and raise an error if there is not enough.

    Parameters
    ----------
    X : array-like (n_points, n_features), or the pair (n_points, n_features)
    task : {"selection", "map"}, default "selection"
        `geolap.GeometricConsistency`, or `geolap.LaplacianEigenmap` with its bandwidth chosen by it.
    exact : bool, default False
        As in `geolap.GeometricConsistency`.
    engine : {"auto", "tiled", "dense", "device", "cells"}
    bandwidth : float, optional
        For a map at this bandwidth, which takes no time to choose.
    n_neighbors : int, optional
        For a map that joins each point with this many nearest neighbors instead of all within reach.
    n_landmarks : int, optional
        For a map built on this many landmarks instead.
    n_jobs : int, optional

    Returns
    -------
    Cost
        ``memory`` in bytes, ``seconds``, ``available`` memory, and ``fits``; ``print`` gives a sentence.

    Examples
    --------
    >>> import geolap
    >>> cost = geolap.forecast((1_000_000, 13))
    >>> cost.engine
    'cells'
    >>> geolap.forecast((1_000_000, 13), engine="dense").fits
    False
    >>> geolap.forecast((1_000_000, 13), "map").memory < 12e9
    True
    """
    check_complete(X)
    shape = np.shape(X)
    if not hasattr(X, "shape"):
        X = SimpleNamespace(shape=tuple(X) if shape == (2,) else shape)
    if len(X.shape) != 2:
        raise ValueError(f"X must be points or the pair (n_points, n_features); shape {X.shape} was given.")
    if is_chunked(X):
        check_sizes(X)
    n, r = X.shape
    check_number("n_points", n, Integral, low=1)
    check_number("n_features", r, Integral, low=1)
    check_choice("task", task, ("selection", "map"))
    if n_landmarks is not None:
        check_number("n_landmarks", n_landmarks, Integral, low=3)
    if bandwidth is not None:
        check_number("bandwidth", bandwidth, low=0, open_low=True)
        if task == "selection":
            raise ValueError(f"A given bandwidth is not chosen; {bandwidth!r} was given: leave it out, or set task='map'.")
    spec = GraphSpec(exact=exact, engine=engine, n_neighbors=n_neighbors, n_jobs=n_jobs).filled()
    chunks = chunks_of(X)
    X = X if chunks is None else chunks
    name = engine_for(X, exact=spec.exact) if spec.engine == "auto" else spec.engine
    jobs = thread_count(spec.n_jobs)
    if name == "chunked" and n_neighbors is None and n_landmarks is None:
        n_landmarks = min(n, MOST_LANDMARKS)
    all_pairs = visits_all_pairs(n, exact=spec.exact)
    cost = selection_cost(name, n, r, n_chunks=chunk_count(X), exact=all_pairs, n_jobs=jobs)
    searched = n_neighbors if n_landmarks is None else None
    if task == "map":
        chosen = cost.seconds if bandwidth is None else 0.0
        known = chosen if searched is None else None
        cost = map_cost(name, n, r, n_neighbors=n_neighbors, n_landmarks=n_landmarks, n_jobs=jobs, known=known)
    if not isinstance(X, np.ndarray) or n <= _WORTH or not cost.fits or name not in ("tiled", "cells"):
        return cost
    points = Points.of(X)
    if task == "map" and searched is not None:
        searching = search_seconds(points, searched, n_jobs=spec.n_jobs)
        return map_cost(name, n, r, n_neighbors=n_neighbors, n_jobs=jobs, known=searching)
    if bandwidth is not None:
        return cost
    seconds = _selection_seconds(points, replace(spec, n_neighbors=None))
    if task == "map":
        return map_cost(name, n, r, n_neighbors=n_neighbors, n_landmarks=n_landmarks, n_jobs=jobs, known=seconds)
    return replace(cost, seconds=seconds)


def _some(points: Points, n: int) -> Points:
    return Points(points.given[check_n_sample(n, len(points), 0)])


def _selection_seconds(points: Points, spec: FullSpec) -> float:
    """Seconds of a selection, from one over fewer points and parts of that over all."""
    few, begin = _some(points, _PILOT), time.perf_counter()
    pilot = GeometricConsistency(random_state=0, n_jobs=spec.n_jobs, engine="tiled").select(few)
    taken = time.perf_counter() - begin
    engine = make_engine(points, spec)
    if not isinstance(engine, CellsEngine):
        return _tiled_seconds(few, pilot, taken, len(points) / len(few), spec.n_jobs)
    return _cells_seconds(engine, points, pilot, spec.n_jobs)


def _tiled_seconds(few: Points, pilot: Selection, taken: float, factor: float, n_jobs: int | None) -> float:
    """Row sums grow like N², all else like N."""
    begin = time.perf_counter()
    make_engine(few, GraphSpec(n_jobs=n_jobs)).row_sums(pilot.details["scanned"])
    sums = time.perf_counter() - begin
    return sums * factor**2 + max(taken - sums, 0.0) * factor


def _cells_seconds(engine: CellsEngine, points: Points, pilot: Selection, n_jobs: int | None) -> float:
    sample = check_n_sample(FIRST_SAMPLE, len(points), 0)
    begin = time.perf_counter()
    grid = search_grid(engine, engine.nearest(sample), len(points))
    once = time.perf_counter() - begin
    at = np.unique([*range(0, len(grid), _STEP), len(grid) - 1])
    scores = np.interp(np.log(grid), np.log(pilot.bandwidths), pilot.scores)
    parts = np.array([engine.pilot(sample, grid[k], scores[k]) for k in at])
    degrees, row = np.exp([np.interp(np.arange(len(grid)), at, np.log(part)) for part in np.maximum(parts.T, 1e-6)])
    directions, asked = pilot.details["working_dim"], min(len(pilot.details["sample"]), FEWER_SAMPLE)
    bandwidth = pilot.bandwidth * singer_factor(_PILOT, len(points), directions)
    begin = time.perf_counter()
    Surroundings(points, sample, engine.row_sums, n_jobs=n_jobs).at(bandwidth)
    look = (time.perf_counter() - begin) * LOOKED_AT / len(sample)
    chosen = int(np.abs(np.log(grid / bandwidth)).argmin())
    scans = 1 if directions == 1 else 2
    around = slice(max(chosen - 2, 0), chosen + 3)
    return float(
        once
        + degrees.sum()
        + FIRST_SAMPLE * row.sum()  # moments serve every number of directions
        + max(asked - FIRST_SAMPLE, 0) * row[around].sum()
        + degrees[chosen]
        + asked * row[chosen]
        + (1 + scans) * look
    )
