"""A forecast before the work: how long it will take, and whether there is memory enough."""

from numbers import Integral

from ..engines import Cost, engine_for, map_cost, selection_cost
from ..engines.threads import available_threads
from ..validation import check_choice, check_number

__all__ = ["forecast"]


def forecast(
    X,
    task="selection",
    *,
    exact=False,
    engine="auto",
    n_sample=200,
    n_neighbors=50,
    n_landmarks=None,
    n_jobs=None,
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
        For a map carried by so many landmarks instead.
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
    if not hasattr(X, "shape"):
        X = _Shape(*X)
    n, r = X.shape
    check_number("n_points", n, Integral, low=1)
    check_number("n_features", r, Integral, low=1)
    check_choice("task", task, ("selection", "map"))
    check_choice("engine", engine, ("auto", "tiled", "dense", "device", "cells"))
    n_jobs, n_sample = n_jobs or available_threads(), min(n, n_sample or n)
    name = engine_for(X, exact=exact) if engine == "auto" else engine
    if task == "map":
        return map_cost(name, n, r, n_neighbors=n_neighbors, n_landmarks=n_landmarks, n_sample=n_sample, n_jobs=n_jobs)
    return selection_cost(name, n, r, n_sample=n_sample, n_jobs=n_jobs)


class _Shape:
    """Points of which only the number is known."""

    def __init__(self, n_points, n_features):
        self.shape = n_points, n_features
