"""Engines: where the sums over all points run.  See `geolap.engines.base` for the seam."""

from collections.abc import Callable
from importlib.util import find_spec
from numbers import Integral

from sklearn.base import clone

from ..validation import check_choice, check_number, host_array, on_device
from .base import Engine, LocalMetrics
from .dense import DenseEngine
from .neighbors import NeighborsEngine
from .pairs import Pairs, given_pairs, nearest_pairs
from .sparse import SparseEngine
from .tiled import TiledEngine

__all__ = [
    "DenseEngine",
    "Engine",
    "LocalMetrics",
    "NeighborsEngine",
    "SparseEngine",
    "TiledEngine",
    "find_pairs",
    "fitted_neighbors",
    "make_engine",
]

_ENGINES: dict[str, Callable[..., Engine]] = {"dense": DenseEngine, "tiled": TiledEngine, "neighbors": NeighborsEngine}
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
    if pairs is not None:
        return SparseEngine(host_array(X), pairs, cutoff=cutoff, threads=threads, scale=scale)
    if engine == "device" or (engine == "auto" and on_device(X) and getattr(X, "is_cuda", True)):
        return _device_engine(X, cutoff, scale)
    if engine == "auto":
        engine = "tiled" if exact or len(X) <= _MANY else "neighbors"
    return _ENGINES[engine](host_array(X), cutoff=cutoff, threads=threads, scale=scale)


def _device_engine(X, cutoff, scale):
    if find_spec("torch") is None:
        raise ImportError("The device engine needs torch, which is not installed: pip install 'geolap[gpu]'.")
    import torch

    from .device import DeviceEngine

    if not isinstance(X, torch.Tensor):
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
