"""A forecast before the work: how long it will take, and whether there is memory enough."""

from numbers import Integral
from typing import Any

import numpy as np

from ..engines import Cost, engine_for
from ..engines.cost import map_cost, selection_cost
from ..specification import GraphSpec
from ..threads import thread_count
from ..validation import check_choice, check_number

__all__ = ["forecast"]


def forecast(
    X: Any,
    task: str = "selection",
    *,
    exact: bool = False,
    engine: str = "auto",
    n_sample: int | None = 200,
    n_neighbors: int = 50,
    n_landmarks: int | None = None,
    n_jobs: int | None = None,
) -> Cost:
    """What choosing the bandwidth of these points, or a map of them, will cost.

    Nothing is computed but a fraction of a second of exponentials, to see how fast this machine is.  Estimators and
    selectors make the same forecast of memory before they allocate any, and refuse with a sentence if there is not enough.

    Parameters
    ----------
    X : array-like (n_points, n_features), or the pair (n_points, n_features)
    task : {"selection", "map"}, default "selection"
        `geolap.GeometricConsistency`, or `geolap.LaplacianEigenmap` with its bandwidth chosen by it.
    exact : bool, default False
        As in `geolap.GeometricConsistency`.
    engine : {"auto", "tiled", "dense", "device", "cells"}
    n_sample : int, default 200
    n_neighbors : int, default 50
        For a map: neighbors that each point is joined with.
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
    >>> geolap.forecast((1_000_000, 13), "map", n_neighbors=50).memory < 12e9
    True
    """
    shape = np.shape(X)
    if not hasattr(X, "shape"):
        X = _Shape(*(X if shape == (2,) else shape if len(shape) == 2 else (0, 0)))
    if len(X.shape) != 2:
        raise ValueError(f"X must be points or the pair (n_points, n_features); shape {X.shape} was given.")
    n, r = X.shape
    check_number("n_points", n, Integral, low=1)
    check_number("n_features", r, Integral, low=1)
    check_choice("task", task, ("selection", "map"))
    spec = GraphSpec(exact=exact, engine=engine, n_neighbors=n_neighbors, n_jobs=n_jobs).filled()
    name = engine_for(X, exact=spec.exact) if spec.engine == "auto" else spec.engine
    costs = {"n_sample": min(n, n_sample or n), "n_jobs": thread_count(spec.n_jobs)}
    if task == "map":
        return map_cost(name, n, r, n_neighbors=n_neighbors, n_landmarks=n_landmarks, **costs)
    return selection_cost(name, n, r, **costs)


class _Shape:
    """Points of which only the number is known."""

    def __init__(self, n_points: int, n_features: int) -> None:
        self.shape = n_points, n_features
