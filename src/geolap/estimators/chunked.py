"""Dask arrays and large files: answers of a fitted estimator, chunk by chunk, when they are asked for.

The estimator travels once, without the matrix of its graph, and each worker answers for the chunks that it holds.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..points import chunks_of

__all__ = ["answers", "in_chunks"]


def in_chunks(method: Callable[..., Any]) -> Any:
    """A method of points that answers for a dask array, or for a large file, by a dask array that is not computed yet."""

    @wraps(method)
    def answer(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        chunks = chunks_of(X)
        return method(self, X) if chunks is None else self._answers(method.__name__, chunks)

    return answer


def answers(estimator: Any, method: str, X: Any, example: Any, *, numbered: bool = False) -> Any:
    """What a method of an estimator answers for every chunk of a dask array X, as one that is not computed yet.

    ``example`` is a point, to see what the answers are like; ``numbered`` tells the method the number of the first row.
    """
    import dask
    import dask.array as da

    some = getattr(estimator, method)(example, *([0] if numbered else []))
    return da.map_blocks(
        _answer,
        X,
        estimator=dask.delayed(estimator, traverse=False),
        method=method,
        numbered=numbered,
        dtype=some.dtype,
        chunks=(X.chunks[0], *((n,) for n in some.shape[1:])),
        drop_axis=[] if some.ndim == 2 else 1,
        meta=some[:0],
    )


def _answer(block: Any, *, estimator: Any, method: str, numbered: bool, block_info: Any) -> np.ndarray:
    points = np.asarray(block)
    first, last = block_info[0]["array-location"][0]
    if not np.isfinite(points).all():
        raise ValueError(
            f"Points must be finite; rows {first} to {last - 1} contain NaN or inf: remove these rows or fill them in."
        )
    return getattr(estimator, method)(points, *([first] if numbered else []))
