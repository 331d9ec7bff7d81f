"""What the public functions accept, and the sentences they answer with otherwise.

Every sentence has three parts: what must hold, what was given, what to do.
"""

import warnings
from importlib.util import find_spec
from mmap import mmap
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state

__all__ = [
    "check_bandwidths",
    "check_choice",
    "check_labels",
    "check_n_sample",
    "check_number",
    "check_points",
    "check_sample",
    "check_values",
    "check_working_dim",
    "distinct_points",
    "host_array",
    "is_chunked",
    "on_device",
]

# How many rows are looked at together, so that checking a memory-mapped file does not load it.
_ROWS = 65536
# Memory-mapped files beyond this many bytes are worked on in chunks of about as many as the second.
_LARGE_FILE, _CHUNK = 2**29, 2**25


def check_points(X, *, least=3, keep_device=False):
    """Points as a 2-D array of finite real numbers with at least so many distinct rows; the dtype is kept.

    Nothing is copied unless the input is not an array of numbers yet.  Points on a GPU, a torch tensor or a CuPy array, are
    copied to the host, or with ``keep_device`` left there, as a torch tensor; a dask array is loaded, or left as it is, and
    so is a memory-mapped file of more than half a gigabyte, as a dask array (if dask is installed).
    """
    if on_device(X):
        if keep_device:
            return _checked_tensor(X, least)
        X = host_array(X)
    if keep_device and isinstance(X, np.memmap) and X.nbytes > _LARGE_FILE and X.ndim == 2 and find_spec("dask"):
        X = _chunks_of_file(X)
    if is_chunked(X) and keep_device:
        return _checked_chunks(X, least)
    if sparse.issparse(X):
        raise TypeError(
            f"Points must be a dense array (n_points, n_features); a sparse matrix of shape {X.shape} was given: call "
            "X.toarray() if that fits in memory, or reduce it first, for instance with TruncatedSVD."
        )
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"Points must be complete; a masked array with {np.ma.count_masked(X)} masked entries was given: fill them in, "
            "or leave out their rows."
        )
    try:
        A = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"Points must be a table of numbers; {error}: give every row the same length.") from None
    if A.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: points must be real numbers; {A.dtype} was given: pass real and imaginary parts "
            "as separate features, np.hstack([X.real, X.imag])."
        )
    if A.dtype.kind not in "biuf":
        try:
            A = _from_objects(A, X) if A.dtype.kind == "O" else _no_numbers(A)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"Points must be numbers; an array of dtype {np.asarray(X).dtype} was given ({error}): keep the numeric "
                "columns, and encode the others if they matter."
            ) from None
    if A.ndim != 2:
        raise ValueError(
            f"Points must be a 2-D array (n_points, n_features); an array of shape {A.shape} was given: Reshape your data "
            "with X.reshape(-1, 1) if it is one feature, X.reshape(len(X), -1) if each entry is an image."
        )
    if A.shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={A.shape}) while a minimum of 1 is required: pass at least one column."
        )
    if len(A) < least:
        why = "a scale needs at least three distinct points; pass more rows." if least == 3 else "pass at least one row."
        raise ValueError(f"Found n_samples={len(A)} (shape={A.shape}) while a minimum of {least} is required: {why}")
    for start in range(0, len(A), _ROWS) if A.dtype.kind == "f" else ():
        finite = np.isfinite(A[start : start + _ROWS])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            value = "NaN" if np.isnan(A[start + row, column]) else "inf"
            raise ValueError(
                f"Points must be finite; the input contains {value}, first at row {start + row}, column {column}: remove "
                "such rows or fill them in, for instance with sklearn.impute.SimpleImputer."
            )
    if least == 3 and distinct_points(A, 3) < 3:
        raise ValueError(
            f"At least three distinct points are needed; the {len(A)} given ones have {distinct_points(A, 3)}: check that "
            "the columns are what you meant."
        )
    return A


def on_device(X):
    """Whether X is a torch tensor or a CuPy array."""
    return type(X).__module__.split(".")[0] in ("torch", "cupy")


def is_chunked(X):
    """Whether X is a dask array."""
    return type(X).__module__.startswith("dask.array")


def _chunks_of_file(X):
    """A memory-mapped file as a dask array.  Chunks are read from the file itself: a map would stay in memory."""
    import dask.array as da

    rows = max(1, _CHUNK // (X.itemsize * X.shape[1]))
    if not isinstance(X.base, mmap):  # part of a map
        return da.from_array(X, chunks=(rows, X.shape[1]), name=False)

    def read(block_info=None):
        (first, last), _ = block_info[None]["array-location"]
        return np.array(np.memmap(file, dtype, "r", offset, shape, "F" if fortran else "C")[first:last])

    file, dtype, offset, shape, fortran = str(X.filename), X.dtype, int(X.offset), X.shape, X.flags.fnc
    chunks = da.core.normalize_chunks((rows, X.shape[1]), X.shape)
    return da.map_blocks(read, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))


def _checked_chunks(X, least):
    """What `check_points` checks of a dask array before it is read; values are looked at when they are."""
    if X.ndim != 2 or X.dtype.kind not in "biuf" or X.shape[1] == 0:
        check_points(
            np.zeros([0 if np.isnan(n) else min(int(n), 3) for n in X.shape], X.dtype), least=0
        )  # says what is wrong
    rows, columns = X.chunks
    if np.isnan(rows).any():
        raise ValueError(
            "A dask array must know how many rows each of its chunks has; those of this one are unknown, as after a "
            "selection: call X.compute_chunk_sizes() first."
        )
    if len(columns) > 1:
        raise ValueError(
            f"A dask array must be chunked by rows only; this one has {len(columns)} chunks of columns: use "
            "X.rechunk({1: -1})."
        )
    if 0 in rows:
        raise ValueError(
            f"Every chunk of a dask array must hold rows; chunk {rows.index(0)} of {len(rows)} is empty: use "
            "X.rechunk({0: 'auto', 1: -1})."
        )
    if len(X) < least or (least == 3 and distinct_points(X, 3) < 3):
        check_points(np.asarray(X), least=least)
    return X


def host_array(X):
    """X as a NumPy array in host memory, from wherever it is."""
    if not on_device(X):
        return np.asarray(X)
    return X.detach().cpu().numpy() if hasattr(X, "detach") else X.get()


def _checked_tensor(X, least):
    """What `check_points` checks, on the device."""
    import torch

    X = X.detach() if isinstance(X, torch.Tensor) else torch.from_dlpack(X)
    some = host_array(X[: 4 * least])
    if X.ndim != 2 or X.shape[1] == 0 or len(X) < least or some.dtype.kind not in "biuf":
        check_points(some, least=least)  # says what is wrong
    for start in range(0, len(X), _ROWS):
        finite = torch.isfinite(X[start : start + _ROWS])
        if not finite.all():
            check_points(host_array(X[start : start + _ROWS]), least=1)
    if distinct_points(X, least) < least:
        check_points(host_array(X), least=least)
    return X


def _from_objects(A, X):
    """Objects as numbers; what pandas calls NA is NaN."""
    return X.to_numpy(float, na_value=np.nan) if type(X).__module__.startswith("pandas.") else A.astype(float)


def _no_numbers(A):
    raise (
        TypeError(f"argument must be a string or a number, not {A.dtype.name}")
        if A.dtype.kind in "mMV"
        else ValueError(f"the first entry is {str(A.flat[0])!r}" if A.size else "it is empty")
    )


def distinct_points(X, enough):
    """The number of distinct rows, counted no further than ``enough``."""
    n = 4 * enough
    while True:
        found = len(np.unique(host_array(X[:n]), axis=0))
        if found >= enough or n >= len(X):
            return min(found, enough)
        n *= 8


def check_working_dim(working_dim, X):
    """The working dimension d', at most the number of features and less than the number of distinct points."""
    check_number("working_dim", working_dim, Integral, low=1)
    if working_dim > X.shape[1]:
        raise ValueError(
            f"working_dim must be at most the number of features; {working_dim} was given for {X.shape[1]} feature(s): "
            "lower it (1 is the most stable choice)."
        )
    distinct = distinct_points(X, working_dim + 1)
    if working_dim >= distinct:
        raise ValueError(
            f"working_dim must be less than the number of distinct points; {working_dim} was given for {distinct} of them: "
            "lower it (1 is the most stable choice) or pass more points."
        )
    rank = _rank(X, working_dim)
    if working_dim > rank:
        raise ValueError(
            f"working_dim must be at most the number of directions in which the points vary; {working_dim} was given for "
            f"points that vary in {rank}: lower it (1 is the most stable choice)."
        )
    return int(working_dim)


def _rank(X, enough):
    """The dimension of the flat that holds all points, counted no further than ``enough``."""
    if enough == 1:
        return 1
    n = 20 * enough
    while True:
        some = host_array(X[:: max(1, len(X) // n)]).astype(float)
        some = some / np.abs(some).max()
        found = np.linalg.matrix_rank(some - some[0], tol=1e-12 * np.sqrt(some.size))
        if found >= enough or n >= len(X):
            return min(int(found), enough)
        n *= 8


def check_bandwidths(bandwidths):
    """Bandwidths as a 1-D float array of positive finite numbers."""
    try:
        given = np.atleast_1d(np.array(bandwidths, dtype=float))
    except (TypeError, ValueError) as error:
        raise ValueError(f"bandwidths must be numbers; {bandwidths!r} was given ({error}): pass lengths.") from None
    if given.ndim != 1 or given.size == 0:
        raise ValueError(
            f"bandwidths must be a number or a 1-D sequence of numbers; shape {given.shape} was given: pass for instance "
            "high * 2.0 ** (-np.arange(20) / 4)."
        )
    wrong = given[~(np.isfinite(given) & (given > 0))]
    if wrong.size:
        raise ValueError(
            f"bandwidths must be positive and finite; {wrong[0]} was given: a bandwidth is a length in the unit of the data."
        )
    return given


def check_number(name, value, kind=Real, *, low, high=np.inf, open_low=False):
    """A number of the given kind in the given range."""
    good = isinstance(value, kind) and not isinstance(value, bool) and low <= value <= high and np.isfinite(value)
    if not good or (open_low and value == low):
        noun = "a whole number" if kind is Integral else "a number"
        limits = f"{'above' if open_low else 'of at least'} {low}" + (f" and at most {high}" if np.isfinite(high) else "")
        raise ValueError(f"{name} must be {noun} {limits}; {value!r} was given: choose one in that range.")
    return value


def check_choice(name, value, choices):
    """One of a few words."""
    if value not in choices:
        words = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {words}; {value!r} was given: choose one of them.")
    return value


def check_sample(sample, n_points, random_state):
    """Indices of the evaluation points: all of them (None), a random number of them (int), or those given."""
    if sample is None:
        return np.arange(n_points)
    if np.ndim(sample) == 0 and isinstance(sample, Integral | np.ndarray) and not isinstance(sample, bool):
        sample = int(sample)
        check_number("the number of evaluation points", sample, Integral, low=1)
        if sample >= n_points:
            return np.arange(n_points)
        return np.sort(check_random_state(random_state).choice(n_points, int(sample), replace=False))
    try:
        indices = np.array(host_array(sample))
    except ValueError as error:
        raise ValueError(f"sample must hold row indices; {error}: pass a flat sequence of integers.") from None
    if indices.dtype.kind == "b" and indices.shape == (n_points,):
        indices = np.flatnonzero(indices)
    if indices.ndim != 1 or indices.size == 0 or indices.dtype.kind not in "iu":
        raise ValueError(
            "sample must be None, a number of points or a 1-D sequence of row indices; "
            f"shape {indices.shape} and dtype {indices.dtype} were given: pass integers."
        )
    if indices.min() < 0 or indices.max() >= n_points:
        raise ValueError(
            f"sample must hold row indices from 0 to {n_points - 1}; {indices.min()} to {indices.max()} were given: "
            "leave out the others."
        )
    return indices


def check_n_sample(n_sample, n_points, random_state, *, least=2):
    """Indices of ``n_sample`` random points, or of all of them for None."""
    if n_sample is not None:
        check_number("n_sample", n_sample, Integral, low=least)
    return check_sample(n_sample, n_points, random_state)


def check_labels(y, n_points):
    """Labels (n,) as given, and which of them are known: −1, None, NaN and, among words, "-1" are not."""
    y = _column(y, n_points)
    if y.dtype.kind == "f":
        known = ~np.isnan(y) & (y != -1)
        if not np.all(y[known] == np.floor(y[known])):
            raise ValueError(
                "Unknown label type: labels must be classes, such as 0, 1, 2 or words; numbers with fractions were given: "
                "use LaplacianRegressor for numbers."
            )
        if np.isinf(y[known]).any():
            raise ValueError("Labels must be finite; the input y contains infinity: give such points a class, or -1.")
        return y, known
    if y.dtype.kind in "mM":
        raise ValueError("Labels must be classes, such as 0, 1, 2 or words; times were given: bin them, or name them.")
    if y.dtype.kind in "OUS":
        return y, np.array([not _is_missing(label) for label in y.tolist()])
    return y, y != -1 if y.dtype.kind != "u" else np.ones(n_points, dtype=bool)


def _is_missing(label):
    """None, NaN, pandas' NA and NaT, −1 as a number and as a word."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return bool(label != label) or label in (-1, "-1", b"-1")


def check_values(y, n_points):
    """Numbers (n,) as floats, NaN where unknown, at least two of them known."""
    y = _column(y, n_points)
    try:
        y = y.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Values must be numbers, NaN where unknown; {error}: use LaplacianClassifier for classes."
        ) from None
    if np.isinf(y).any():
        raise ValueError("Values must be finite; the input y contains infinity: pass NaN where the value is unknown.")
    if (~np.isnan(y)).sum() < 2:
        raise ValueError(
            f"At least two values must be known; {(~np.isnan(y)).sum()} of {n_points} are, the others are NaN: give more."
        )
    return y


def _column(y, n_points):
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None: give the labeled points their labels, and "
            "the others -1 (classes) or NaN (numbers)."
        )
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError("y must be complete; a masked array was given: fill it with -1 (classes) or NaN (numbers).")
    y = host_array(y)
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must hold classes or real numbers; pass y.real if that is meant.")
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: y must have shape (n_points,); pass y.ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, one entry for each point; shape {y.shape} was given: pass y.ravel().")
    if len(y) != n_points:
        raise ValueError(f"y must have one entry for each of the {n_points} points; {len(y)} were given: match them.")
    return y
