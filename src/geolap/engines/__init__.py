"""Engines run the sums over all points.  See `geolap.engines.base` for their interface."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from numbers import Integral

from ..memory import require_memory
from ..validation import check_choice, check_number, host_array, is_chunked, on_device
from .base import Engine, LocalMetrics
from .cells import CellsEngine
from .cost import Cost, graph_memory, map_cost, selection_cost, selection_memory
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
    "engine_for",
    "graph_memory",
    "make_engine",
    "map_cost",
    "selection_cost",
]

_ENGINES: dict[str, Callable[..., Engine]] = {"dense": DenseEngine, "tiled": TiledEngine, "cells": CellsEngine}
_OUT_OF_MEMORY = "pass the points as a dask array or a memory-mapped file (pip install 'geolap[dask]'), or fewer of them"
_ADVICE = {"dense": "use engine='auto', which stores no matrix", "tiled": _OUT_OF_MEMORY, "cells": _OUT_OF_MEMORY}
# Beyond this many points on a CPU, sums over all pairs are estimated.
_MANY = 30_000


def make_engine(X, engine="auto", *, exact=False, cutoff=None, n_jobs=None, scale=None, pairs=None) -> Engine:
    """The engine of that name over the points X.

    ``"auto"`` is the sparse engine if pairs are given, the device engine for points on a GPU, and otherwise the tiled one;
    for more than 30 000 points it is the cells engine, unless the result must be exact.
    """
    check_choice("engine", engine, ("auto", *_ENGINES, "device"))
    check_choice("exact", exact, (True, False))
    if exact and engine == "cells":
        raise ValueError("exact=True needs an engine that visits all pairs; 'cells' does not: use engine='auto'.")
    if cutoff is not None:
        check_number("cutoff", cutoff, low=0, open_low=True)
    if n_jobs is not None:
        check_number("n_jobs", n_jobs, Integral, low=1)
    if is_chunked(X):
        return _chunked_engine(X, engine, exact, cutoff, scale, pairs)
    if pairs is not None:
        return SparseEngine(host_array(X), pairs, cutoff=cutoff, n_jobs=n_jobs, scale=scale)
    if engine == "device" or (engine == "auto" and engine_for(X) == "device"):
        return _device_engine(X, cutoff, scale)
    if engine == "auto":
        engine = engine_for(X, exact=exact)
    n, r = X.shape
    require_memory(selection_memory(engine, n, r), f"The {engine} engine over {n} points with {r} features", _ADVICE[engine])
    return _ENGINES[engine](host_array(X), cutoff=cutoff, n_jobs=n_jobs, scale=scale)


def engine_for(X, *, exact=False) -> str:
    """The name of the engine that ``"auto"`` selects, over all pairs of points."""
    if is_chunked(X):
        return "chunked"
    if on_device(X) and getattr(X, "is_cuda", True):
        return "device"
    return "tiled" if exact or X.shape[0] <= _MANY else "cells"


def _chunked_engine(X, engine, exact, cutoff, scale, pairs):
    if engine != "auto" or scale is not None or pairs is not None:
        raise ValueError(
            "A dask array is processed chunk by chunk, with all pairs and one bandwidth; it cannot be combined with an "
            "engine, neighbors or local scales: omit these, or pass X.compute() if that fits in memory."
        )
    from .chunked import ChunkedEngine

    return ChunkedEngine(X, exact=exact or len(X) <= _MANY, cutoff=cutoff)


def _device_engine(X, cutoff, scale):
    if find_spec("torch") is None:
        raise ImportError("The device engine needs torch, which is not installed: pip install 'geolap[gpu]'.")
    import torch

    from .device import DeviceEngine

    if not isinstance(X, torch.Tensor):
        if not torch.cuda.is_available():
            warnings.warn(
                f"engine='device' is for points on a GPU; torch {torch.__version__} finds none and uses the CPU: "
                "use engine='auto', which is faster there, or install torch with CUDA.",
                UserWarning,
                stacklevel=2,
            )
        X = torch.as_tensor(X, device="cuda" if torch.cuda.is_available() else "cpu")
    return DeviceEngine(X, cutoff=cutoff, scale=scale)
