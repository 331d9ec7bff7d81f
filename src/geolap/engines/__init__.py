"""Engines: where the sums over all points run.  See `geolap.engines.base` for the seam."""

from collections.abc import Callable
from numbers import Integral

from ..validation import check_choice, check_number
from .base import Engine, LocalMetrics
from .dense import DenseEngine
from .tiled import TiledEngine

__all__ = ["DenseEngine", "Engine", "LocalMetrics", "TiledEngine", "make_engine"]

_ENGINES: dict[str, Callable[..., Engine]] = {"dense": DenseEngine, "tiled": TiledEngine}


def make_engine(X, engine="auto", *, cutoff=None, threads=None) -> Engine:
    """The engine of that name over the points X; ``"auto"`` is the tiled one."""
    check_choice("engine", engine, ("auto", *_ENGINES))
    if cutoff is not None:
        check_number("cutoff", cutoff, low=0, open_low=True)
    if threads is not None:
        check_number("threads", threads, Integral, low=1)
    return _ENGINES["tiled" if engine == "auto" else engine](X, cutoff=cutoff, threads=threads)
