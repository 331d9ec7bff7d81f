"""Engines run the sums over all points.  See `geolap.engines.base` for their interface."""

from collections.abc import Callable
from typing import Any

from ..data.distances import Distances, points_of
from ..data.pairs import Pairs
from ..data.points import Points, is_chunked, is_on_gpu
from ..laplacian import LocalScale
from ..runtime.libraries import needed
from ..runtime.memory import require_memory
from ..sentences import warn_caller
from ..specification import FullSpec, GraphSpec
from .base import Engine, LocalMetrics
from .cells import CellsEngine
from .cost import Cost, selection_memory
from .dense import DenseEngine
from .sparse import SparseEngine
from .tiled import TiledEngine

__all__ = [
    "CellsEngine",
    "Cost",
    "DenseEngine",
    "Engine",
    "LocalMetrics",
    "SparseEngine",
    "TiledEngine",
    "check_chunked",
    "chunk_count",
    "engine_for",
    "make_engine",
    "visits_all_pairs",
]

_ENGINES: dict[str, Callable[..., Engine]] = {"dense": DenseEngine, "tiled": TiledEngine, "cells": CellsEngine}
_OUT_OF_MEMORY = "pass the points as a dask array or a memory-mapped file (pip install 'geolap[dask]'), or fewer of them"
_ADVICE = {"dense": "use engine='auto', which stores no matrix", "tiled": _OUT_OF_MEMORY, "cells": _OUT_OF_MEMORY}
# Beyond this many points on a CPU, sums over all pairs are estimated.
_MANY = 30_000
# Smaller chunks of a dask array are worked on together: 50 of 60 points took 20 times as long as one of 3000.
_ROWS_OF_CHUNK = 4096


def make_engine(
    X: Any, spec: GraphSpec | None = None, *, scale: LocalScale | None = None, pairs: Pairs | None = None
) -> Engine:
    """The engine that a specification names, over the points X.

    ``"auto"`` is the sparse engine if pairs are given, the device engine for points on a GPU, and otherwise the tiled one;
    for more than 30 000 points it is the cells engine, unless the result must be exact.  Over all pairs, without local
    scales, points remember their engine.
    """
    points = points_of(X, keep_device=True)
    full = (spec or GraphSpec()).filled()
    name = engine_for(points.given, exact=full.exact) if full.engine == "auto" else full.engine
    if points.multiplicity is not None and name in ("chunked", "device"):
        raise ValueError(
            f"Weighted points must be in host memory; the {name} engine keeps them elsewhere: use engine='auto', and pass "
            "X as a NumPy array."
        )
    if is_chunked(points.given):
        return _chunked_engine(points, full)
    if isinstance(points, Distances) and points.coordinates is None:
        return _engine_of_distances(points, full, scale, pairs)
    if pairs is not None:
        return SparseEngine(points, pairs, cutoff=full.cutoff, n_jobs=full.n_jobs, scale=scale)
    if scale is not None:
        return _new_engine(points, name, full, scale)
    key = name, full.cutoff, full.n_jobs
    if key not in points.engines:
        points.engines[key] = _new_engine(points, name, full, None)
    return points.engines[key]


def _engine_of_distances(points: Distances, spec: FullSpec, scale: LocalScale | None, pairs: Pairs | None) -> Engine:
    if spec.engine != "auto":
        raise ValueError(
            f"Points without coordinates, known only by their distances, have their own engine; engine={spec.engine!r} was "
            "given: leave it out."
        )
    points.searched(spec.n_jobs)
    if pairs is not None or scale is not None:
        return SparseEngine(points, pairs or points.pairs, cutoff=spec.cutoff, n_jobs=spec.n_jobs, scale=scale)
    key = spec.cutoff, spec.n_jobs
    if key not in points.engines:
        points.engines[key] = SparseEngine(points, points.pairs, cutoff=spec.cutoff, n_jobs=spec.n_jobs)
    return points.engines[key]


def _new_engine(points: Points, name: str, spec: FullSpec, scale: LocalScale | None) -> Engine:
    if name == "device":
        return _device_engine(points.given, spec, scale)
    n, r = points.shape
    require_memory(selection_memory(name, n, r), f"The {name} engine over {n} points with {r} features", _ADVICE[name])
    return _ENGINES[name](points, cutoff=spec.cutoff, n_jobs=spec.n_jobs, scale=scale)


def engine_for(X: Any, *, exact: bool = False) -> str:
    """The name of the engine that ``"auto"`` selects, over all pairs of points."""
    if is_chunked(X):
        return "chunked"
    if is_on_gpu(X):
        return "device"
    return "tiled" if visits_all_pairs(X.shape[0], exact=exact) else "cells"


def visits_all_pairs(n_points: int, *, exact: bool) -> bool:
    """Whether sums over so many points, in memory or in chunks, are over all pairs."""
    return exact or n_points <= _MANY


def chunk_count(X: Any) -> int:
    """About how many chunks are worked on; 1 for points in memory."""
    return max(1, min(X.numblocks[0], X.shape[0] // _ROWS_OF_CHUNK)) if is_chunked(X) else 1


def check_chunked(spec: FullSpec) -> None:
    """Refuse what would bring all points of a dask array here."""
    if spec.engine != "auto" or any(part is not None for part in (spec.n_neighbors, spec.neighbors, spec.local_scale)):
        raise ValueError(
            "A dask array is processed chunk by chunk, with all pairs and one bandwidth; it cannot be combined with an "
            "engine, neighbors or local scales: omit these, or pass X.compute() if that fits in memory."
        )


def _chunked_engine(points: Points, spec: FullSpec) -> Engine:
    check_chunked(spec)
    from .chunked import ChunkedEngine

    exact = visits_all_pairs(len(points), exact=spec.exact)
    key = "chunked", exact, spec.cutoff
    if key not in points.engines:
        points.engines[key] = ChunkedEngine(points.given, exact=exact, cutoff=spec.cutoff, fewest_rows=_ROWS_OF_CHUNK)
    return points.engines[key]


def _device_engine(X: Any, spec: FullSpec, scale: LocalScale | None) -> Engine:
    torch = needed("torch", "gpu", "The device engine needs")
    from .device import DeviceEngine

    if not isinstance(X, torch.Tensor):
        if not torch.cuda.is_available():
            warn_caller(
                f"engine='device' is for points on a GPU; torch {torch.__version__} finds none and uses the CPU: "
                "use engine='auto', which is faster there, or install torch with CUDA."
            )
        X = torch.as_tensor(X, device="cuda" if torch.cuda.is_available() else "cpu")
    return DeviceEngine(X, cutoff=spec.cutoff, n_jobs=spec.n_jobs, scale=scale)
