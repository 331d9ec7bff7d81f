"""Engines: where the sums over all points run.  See `geolap.engines.base` for the seam."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from numbers import Integral

from sklearn.base import clone

from ..memory import require_memory
from ..validation import check_choice, check_number, host_array, is_chunked, on_device
from .base import Engine, LocalMetrics, spread_rows
from .cost import Cost, graph_memory, map_cost, neighbor_entries, selection_cost, selection_memory
from .dense import DenseEngine
from .neighbors import NeighborsEngine
from .pairs import Pairs, given_pairs, nearest_pairs
from .sparse import SparseEngine
from .tiled import TiledEngine

__all__ = [
    "Cost",
    "DenseEngine",
    "Engine",
    "LocalMetrics",
    "NeighborsEngine",
    "SparseEngine",
    "TiledEngine",
    "engine_for",
    "find_pairs",
    "fitted_neighbors",
    "graph_memory",
    "make_engine",
    "map_cost",
    "selection_cost",
    "spread_rows",
]

_ENGINES: dict[str, Callable[..., Engine]] = {"dense": DenseEngine, "tiled": TiledEngine, "neighbors": NeighborsEngine}
_OUT_OF_MEMORY = "pass the points as a dask array or a memory-mapped file (pip install 'geolap[dask]'), or fewer of them"
_ADVICE = {"dense": "use engine='auto', which holds no matrix", "tiled": _OUT_OF_MEMORY, "neighbors": _OUT_OF_MEMORY}
# Beyond so many points on a CPU, what all pairs would say is estimated.
_MANY = 30_000


def make_engine(X, engine="auto", *, exact=False, cutoff=None, threads=None, scale=None, pairs=None) -> Engine:
    """The engine of that name over the points X.

    ``"auto"`` is the sparse one over given pairs, the device engine for points on a GPU, and otherwise the tiled one; for
    more than 30 000 points the neighbours engine, unless the result must be exact.
    """
    check_choice("engine", engine, ("auto", *_ENGINES, "device"))
    check_choice("exact", exact, (True, False))
    if exact and engine == "neighbors":
        raise ValueError("exact=True needs an engine that visits all pairs; 'neighbors' does not: use engine='auto'.")
    if cutoff is not None:
        check_number("cutoff", cutoff, low=0, open_low=True)
    if threads is not None:
        check_number("threads", threads, Integral, low=1)
    if is_chunked(X):
        return _chunked_engine(X, engine, exact, cutoff, scale, pairs)
    if pairs is not None:
        return SparseEngine(host_array(X), pairs, cutoff=cutoff, threads=threads, scale=scale)
    if engine == "device" or (engine == "auto" and engine_for(X) == "device"):
        return _device_engine(X, cutoff, scale)
    if engine == "auto":
        engine = engine_for(X, exact=exact)
    n, r = X.shape
    require_memory(selection_memory(engine, n, r), f"The {engine} engine over {n} points with {r} features", _ADVICE[engine])
    return _ENGINES[engine](host_array(X), cutoff=cutoff, threads=threads, scale=scale)


def engine_for(X, *, exact=False) -> str:
    """The name of the engine that ``"auto"`` stands for, over all pairs of points."""
    if is_chunked(X):
        return "chunked"
    if on_device(X) and getattr(X, "is_cuda", True):
        return "device"
    return "tiled" if exact or X.shape[0] <= _MANY else "neighbors"


def _chunked_engine(X, engine, exact, cutoff, scale, pairs):
    if engine != "auto" or scale is not None or pairs is not None:
        raise ValueError(
            "A dask array is worked on chunk by chunk, with all pairs and one bandwidth; an engine, neighbours or local "
            "scales were asked for as well: leave them out, or pass X.compute() if that fits in memory."
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
                f"engine='device' is for points on a GPU; torch {torch.__version__} sees none here, and works on the CPU: "
                "use engine='auto', which is faster there, or install torch with CUDA.",
                UserWarning,
                stacklevel=2,
            )
        X = torch.as_tensor(X, device="cuda" if torch.cuda.is_available() else "cpu")
    return DeviceEngine(X, cutoff=cutoff, scale=scale)


def find_pairs(X, *, n_neighbors=None, neighbors=None, threads=None) -> Pairs | None:
    """The pairs of the graph that the parameters ask for; None if all pairs count.

    ``neighbors`` may be a matrix of distances, or a transformer that makes one from the points, such as scikit-learn's
    KNeighborsTransformer.
    """
    if neighbors is None and n_neighbors is None:
        return None
    X = host_array(X)
    if neighbors is None:
        what = f"A graph that joins {len(X)} points with their {n_neighbors} nearest"
        require_memory(graph_memory(neighbor_entries(len(X), n_neighbors)), what, "lower n_neighbors, or use n_landmarks")
        return nearest_pairs(X, n_neighbors, threads=threads)
    if n_neighbors is not None:
        raise ValueError(
            f"Either n_neighbors or neighbors says which pairs count; both n_neighbors={n_neighbors!r} and neighbors were "
            "given: leave out one of them."
        )
    if isinstance(neighbors, Pairs):
        return neighbors
    return given_pairs(fitted_neighbors(neighbors, X)[0], len(X))


def fitted_neighbors(neighbors, X):
    """A matrix of distances from a matrix or a transformer, and the fitted transformer (None for a matrix)."""
    if not hasattr(neighbors, "fit_transform"):
        return neighbors, None
    if getattr(neighbors, "mode", "distance") != "distance":
        raise ValueError(f"A transformer must give distances; its mode is {neighbors.mode!r}: set mode='distance'.")
    finder = clone(neighbors)
    return finder.fit_transform(X), finder
