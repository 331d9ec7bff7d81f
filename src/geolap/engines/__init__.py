"""Engines: where the sums over all points run.  See `geolap.engines.base` for the seam."""

from .base import Engine, LocalMetrics
from .dense import DenseEngine
from .tiled import TiledEngine

__all__ = ["DenseEngine", "Engine", "LocalMetrics", "TiledEngine", "make_engine"]

_ENGINES = {"dense": DenseEngine, "tiled": TiledEngine}


def make_engine(X, engine="auto", *, cutoff=None, threads=None) -> Engine:
    """The engine of that name over the points X; ``"auto"`` chooses by size."""
    return _ENGINES["tiled" if engine == "auto" else engine](X, cutoff=cutoff, threads=threads)
