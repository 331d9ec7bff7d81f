"""Points: checked once, centered, scaled, and rotated to rank where there are more features than points.

Everything downstream works on distances, so points may be moved as a body: `Points.box` holds them in float64, about a
point amid them and within [−2, 2], in units of `Points.unit`.  Where there are more features than points the box is rotated
into as many coordinates as there are points, which loses nothing: with :math:`B^T = Q R` the rows of :math:`R^T` are those
of B in the orthonormal basis Q.

Points on a GPU (a torch tensor or a CuPy array) and dask arrays stay where they are; `Points.host` brings them here.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from mmap import mmap
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from ..runtime.caching import cached_property
from ..runtime.tasks import computed
from ..runtime.threads import one_blas_thread
from ..sentences import refusal
from .multiplicity import checked_multiplicity, total_of, weights_at

__all__ = [
    "Points",
    "PointsLike",
    "as_points",
    "check_complete",
    "check_shape",
    "check_sizes",
    "chunk_around",
    "chunks_of",
    "host_array",
    "in_unit",
    "in_unit_box",
    "is_chunked",
    "is_masked",
    "is_on_gpu",
    "least_of_rows",
    "median_of_some",
    "not_finite",
    "on_device",
    "real_numbers",
    "root_mean_square_distance",
    "row_keys",
    "spread_pieces",
    "spread_rows",
    "tensor_in_unit_box",
    "unit_above",
]

# Rows that are looked at together, so that checking a memory-mapped file does not load it.
_ROWS = 65536
# Memory-mapped files beyond this many bytes are worked on in chunks of about as many as the second.
_LARGE_FILE, _CHUNK = 2**29, 2**25
# What to do with tensors that are no table of numbers.
_OF_TENSORS = {
    "nested": "join its parts, torch.cat(X.unbind())",
    "meta": "load its values",
    "quantized": "pass X.dequantize()",
    "sparse": "pass X.to_dense() if that fits in memory",
}


@dataclass(frozen=True, eq=False)
class Points:
    """Points that have been checked."""

    given: Any  # an array, torch tensor or dask array (n_points, n_features) as the caller gave it, finite, its dtype kept
    multiplicity: np.ndarray | None = field(default=None, repr=False)  # how many points each row stands for; None if one
    engines: dict[Hashable, Any] = field(default_factory=dict, repr=False)  # by name and settings, for rules to share

    @classmethod
    def of(cls, X: Any, *, least: int = 3, keep_device: bool = False) -> "Points":
        """X as a 2-D array of finite real numbers with at least ``least`` distinct rows.

        Nothing is copied unless the input is not an array of numbers yet.  Points on a GPU are copied to the host, or with
        ``keep_device`` left there, as a torch tensor; a dask array is loaded, or left as it is, and so is a memory-mapped
        file of more than half a gigabyte, as a dask array (if dask is installed).
        """
        if isinstance(X, Points):
            return X
        check_complete(X)
        if on_device(X):
            if keep_device:
                return cls(_checked_tensor(X, least))
            X = host_array(X)
        if keep_device and (chunks := chunks_of(X)) is not None:
            return cls(_checked_chunks(chunks, least))
        return cls(_checked_array(X, least))

    def __len__(self) -> int:
        return self.given.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        return self.given.shape

    def weighted(self, sample_weight: Any) -> Self:
        """The points with these weights."""
        if is_masked(sample_weight):
            raise refusal("{sample_weight} must be complete; a masked array was given: leave out such points.")
        given = host_array(sample_weight) if on_device(sample_weight) else sample_weight
        return replace(self, multiplicity=checked_multiplicity(given, len(self)), engines={})

    @property
    def total(self) -> float:
        """The number of points, each counted as often as its weight says."""
        return total_of(self.multiplicity, len(self))

    @cached_property
    def host(self) -> np.ndarray:
        """The points in host memory."""
        return host_array(self.given)

    @property
    def metric(self) -> Any:
        """What points are compared by: a name, or a function of two rows."""
        return "euclidean"

    @property
    def whole(self) -> bool:
        """Whether all pairs count where nothing else is said."""
        return True

    @property
    def partial(self) -> bool:
        """Whether only some distances are known."""
        return False

    @property
    def on_gpu(self) -> bool:
        """Whether the points are on a GPU, and graphs over them are built there."""
        return self.multiplicity is None and is_on_gpu(self.given)

    @property
    def dtype(self) -> Any:
        return host_array(self.given[:1]).dtype if on_device(self.given) else self.host.dtype

    def kept(self) -> Any:
        """A copy, for distances to new points; of points on a GPU it is there."""
        return self.given.clone() if self.on_gpu else np.array(self.host)

    def subset(self, rows: np.ndarray) -> "Points":
        """Some of the points, in host memory."""
        if np.array_equal(rows, np.arange(len(self))) and isinstance(self.given, np.ndarray):
            return self
        return Points(host_array(self.given[rows]), weights_at(self.multiplicity, rows))

    def taken(self, rows: np.ndarray) -> "Points":
        """Some of the points, where they are."""
        return Points(self.given[rows]) if self.on_gpu else self.subset(rows)

    def sqdist(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Squared distances (n, m) from some points to others, all by default, in units of `unit`²."""
        return cdist(self.box[rows], self.box if columns is None else self.box[columns], "sqeuclidean")

    @property
    def box(self) -> np.ndarray:
        """The points in float64, about a point amid them, in units of `unit`; rotated to rank if they are wide."""
        return self._boxed[0]

    @property
    def coordinates(self) -> np.ndarray | None:
        """Those of `box`; None where points are known by their distances alone."""
        return self.box

    @property
    def unit(self) -> float:
        """A power of two: nothing is rounded by it."""
        return self._boxed[1]

    @cached_property
    def _boxed(self) -> tuple[np.ndarray, float]:
        X, unit = in_unit_box(self.host)
        return (_rotated(X) if X.shape[1] > len(X) else X), unit

    @cached_property
    def there(self) -> tuple[Any, float]:
        """`box` and `unit` of points on a device, on the device."""
        return tensor_in_unit_box(self.given)

    def distinct(self, enough: int) -> int:
        """The number of distinct points, counted no further than ``enough``."""
        return _distinct(self.given, enough)

    def rank(self, enough: int) -> int:
        """The dimension of the flat that holds all points, counted no further than ``enough``."""
        if enough == 1:
            return 1
        n = 20 * enough
        while True:
            some = host_array(self.given[:: max(1, len(self) // n)]).astype(float)
            some = some / np.abs(some).max()
            found = np.linalg.matrix_rank(some - some[0], tol=1e-12 * np.sqrt(some.size))
            if found >= enough or n >= len(self):
                return min(int(found), enough)
            n *= 8


PointsLike: TypeAlias = Points | np.ndarray


def as_points(X: PointsLike) -> Points:
    """X as it is, for arrays that are known to be points."""
    return X if isinstance(X, Points) else Points(X)


def _rotated(X: np.ndarray) -> np.ndarray:
    """Wide points (N, r) in N coordinates, at the same distances; those at the same place stay at the same place."""
    _, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
    with one_blas_thread:  # so that the result does not depend on the number of threads
        R: Any = np.linalg.qr(X[first].T, mode="r")
    return np.ascontiguousarray(R.T[place.ravel()])


def _checked_array(X: Any, least: int) -> np.ndarray:
    if sparse.issparse(X):
        raise TypeError(
            f"Points must be a dense array here; a sparse matrix of shape {X.shape} was given: call X.toarray() if that "
            "fits in memory, or reduce it first, for instance with TruncatedSVD."
        )
    try:
        A = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"Points must be a table of numbers; {error}: give every row the same length.") from None
    A = _as_numbers(A, X)
    check_shape(A, least)
    _check_finite(A)
    if least == 3 and _distinct(A, 3) < 3:
        raise ValueError(
            f"At least three distinct points are needed; the {len(A)} points given have {_distinct(A, 3)}: check that the "
            "columns are correct."
        )
    return A


def _as_numbers(A: np.ndarray, X: Any) -> np.ndarray:
    if A.dtype.kind in "biuf":
        return A
    if A.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: points must be real numbers; {A.dtype} was given: pass real and imaginary parts "
            "as separate features, np.hstack([X.real, X.imag])."
        )
    try:
        return _from_objects(A, X) if A.dtype.kind == "O" else _no_numbers(A)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"Points must be numbers; an array of dtype {A.dtype} was given ({error}): keep the numeric columns, and encode "
            "the others if they matter."
        ) from None


def is_masked(X: Any) -> bool:
    """Whether a mask hides some of the entries; of a dask array, whether it may."""
    if is_chunked(X):
        return isinstance(X._meta, np.ma.MaskedArray)
    return isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X)


def check_complete(X: Any) -> None:
    """Refuse masks, which would be dropped, and data frames of dask, which would be loaded."""
    if type(X).__module__.startswith("dask.dataframe"):
        raise TypeError(
            "Points must be an array, or a data frame in memory; a dask DataFrame was given: pass "
            "X.to_dask_array(lengths=True), or X.compute() if that fits in memory."
        )
    if is_masked(X):
        how_many = "" if is_chunked(X) else f" with {np.ma.count_masked(X)} masked entries"
        raise ValueError(
            f"Points must be complete; a masked array{how_many} was given: fill them in, or leave out their rows."
        )


def check_shape(A: Any, least: int) -> None:
    """Refuse what is no table of enough rows."""
    shape = tuple(A.shape)
    if A.ndim != 2:
        raise ValueError(
            f"Points must be a 2-D array (n_points, n_features); an array of shape {shape} was given: Reshape your data "
            "with X.reshape(-1, 1) if it is one feature, X.reshape(len(X), -1) if each entry is an image."
        )
    if shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required: pass at least one column."
        )
    if shape[0] < least:
        needed = "A scale needs at least three distinct points" if least == 3 else "At least one point is needed"
        raise ValueError(f"{needed}; points of shape {shape} were given, n_samples={shape[0]}: pass more rows.")


def _check_finite(A: np.ndarray) -> None:
    for start in range(0, len(A), _ROWS) if A.dtype.kind == "f" else ():
        finite = np.isfinite(A[start : start + _ROWS])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            value = "NaN" if np.isnan(A[start + row, column]) else "inf"
            raise ValueError(
                f"Points must be finite; the input contains {value}, first at row {start + row}, column {column}: remove "
                "such rows or fill them in, for instance with sklearn.impute.SimpleImputer."
            )


def chunk_around(row: int, chunks: tuple[int, ...]) -> tuple[int, int]:
    """First and last row, that one excluded, of the chunk that holds a row."""
    ends = np.cumsum([0, *chunks])
    k = int(np.searchsorted(ends, row, side="right"))
    return ends[k - 1], ends[k]


def not_finite(first: int, last: int) -> ValueError:
    """The error that tells of rows, read together, that are not finite."""
    return ValueError(
        f"Points must be finite; rows {first} to {last - 1} contain NaN or inf: remove these rows or fill them in."
    )


def on_device(X: Any) -> bool:
    """Whether X is a torch tensor or a CuPy array."""
    return type(X).__module__.split(".")[0] in ("torch", "cupy")


def is_on_gpu(X: Any) -> bool:
    """Whether X is a tensor or an array on a GPU; torch has tensors in the memory of the host as well."""
    return on_device(X) and getattr(X, "is_cuda", True)


def is_chunked(X: Any) -> bool:
    """Whether X is a dask array."""
    return type(X).__module__.startswith("dask.array")


def chunks_of(X: Any) -> Any | None:
    """X as a dask array of numbers if it is one, or a memory-mapped file of more than half a gigabyte; else None."""
    if isinstance(X, np.memmap) and X.nbytes > _LARGE_FILE and X.ndim == 2 and find_spec("dask"):
        return _chunks_of_file(X)
    if is_chunked(X) and X.dtype.kind == "O":
        return X.map_blocks(_numbers_of, dtype=float, meta=np.empty((0,) * X.ndim))
    return X if is_chunked(X) else None


def _numbers_of(A: np.ndarray) -> np.ndarray:
    return _as_numbers(np.asarray(A), A)


def host_array(X: Any) -> np.ndarray:
    """X as a NumPy array in host memory, from wherever it is."""
    if is_chunked(X):
        return np.asarray(computed(X)[0])
    if not on_device(X):
        return np.asarray(X)
    if not hasattr(X, "detach"):
        return X.get()
    return _plain(X).cpu().numpy()


def _plain(X: Any) -> Any:
    """A torch tensor that NumPy understands, where it is."""
    odd = {"nested": X.is_nested, "meta": X.is_meta, "quantized": X.is_quantized, "sparse": str(X.layout) != "torch.strided"}
    kind = next((kind for kind, is_so in odd.items() if is_so), None)
    if kind is not None:
        raise TypeError(f"A tensor must be dense and contain numbers; a {kind} one was given: {_OF_TENSORS[kind]}.")
    X = X.detach().resolve_conj().resolve_neg()
    return X.float() if X.is_floating_point() and X.element_size() < 4 else X


def _chunks_of_file(X: np.memmap) -> Any:
    """A memory-mapped file as a dask array.  Chunks are read from the file itself: a map would stay in memory."""
    import dask.array as da

    rows = max(1, _CHUNK // (X.itemsize * X.shape[1]))
    if not isinstance(X.base, mmap):  # part of a map
        return da.from_array(X, chunks=(rows, X.shape[1]), name=False)

    read = partial(_rows_of_file, str(X.filename), X.dtype, int(X.offset), X.shape, "F" if X.flags.fnc else "C")
    chunks = da.core.normalize_chunks((rows, X.shape[1]), X.shape)
    return da.map_blocks(read, chunks=chunks, dtype=X.dtype, meta=np.empty((0, 0), X.dtype))


def _rows_of_file(
    file: str, dtype: np.dtype, offset: int, shape: tuple[int, int], order: Any, block_info: Any = None
) -> np.ndarray:
    (first, last), _ = block_info[None]["array-location"]
    return np.array(np.memmap(file, dtype, "r", offset, shape, order)[first:last])


def check_sizes(X: Any) -> None:
    """Refuse a dask array that does not know how many points it has."""
    if np.isnan(X.shape).any():
        raise ValueError(
            "A dask array must know the number of rows in each chunk; those of this one are unknown, as after a selection: "
            "call X.compute_chunk_sizes() first."
        )


def _checked_chunks(X: Any, least: int) -> Any:
    """What `Points.of` checks of a dask array before it is read; values are looked at when they are."""
    check_shape(X, least)
    check_sizes(X)
    if X.dtype.kind not in "biuf":
        _numbers_of(host_array(X[:1]))  # says what is wrong
    rows, columns = X.chunks
    if len(columns) > 1:
        raise ValueError(
            f"A dask array must be chunked by rows only; this one has {len(columns)} chunks of columns: use "
            "X.rechunk({1: -1})."
        )
    if 0 in rows:
        raise ValueError(
            f"Every chunk of a dask array must contain rows; chunk {rows.index(0)} of {len(rows)} is empty: use "
            "X.rechunk({0: 'auto', 1: -1})."
        )
    if least == 3 and _distinct(X, 3) < 3:
        _checked_array(host_array(X), least)
    return X


def _checked_tensor(X: Any, least: int) -> Any:
    """What `Points.of` checks, on the device."""
    import torch

    X = _plain(X if isinstance(X, torch.Tensor) else torch.from_dlpack(X))
    check_shape(X, least)
    some = host_array(X[: 4 * least])
    if some.dtype.kind not in "biuf":
        _checked_array(some, least)  # says what is wrong
    for start in range(0, len(X), _ROWS):
        finite = torch.isfinite(X[start : start + _ROWS])
        if not finite.all():
            _checked_array(host_array(X[start : start + _ROWS]), 1)
    if _distinct(X, least) < least:
        _checked_array(host_array(X), least)
    return X


def _from_objects(A: np.ndarray, X: Any) -> np.ndarray:
    """Objects as numbers; what pandas calls NA is NaN."""
    pandas = type(X).__module__.split(".")[0] == "pandas"
    kinds = X.dtypes.items() if pandas and hasattr(X, "columns") else ()
    times = [str(name) for name, kind in kinds if getattr(kind, "kind", "") in "mM"]
    if times:
        raise TypeError(f"column {times[0]!r} holds times")
    try:
        return X.to_numpy(float, na_value=np.nan) if pandas else A.astype(float)
    except (TypeError, ValueError) as error:
        raise type(error)(_first_word(A, X) or error) from None


def _first_word(A: np.ndarray, X: Any) -> str | None:
    """Which column of a data frame is not numbers, and what it holds; None if that cannot be told."""
    for name, column in zip(getattr(X, "columns", ()), A.T, strict=False):
        for value in column:
            try:
                float(value)
            except (TypeError, ValueError):
                if value is not None and type(value).__name__ != "NAType":
                    return f"column {str(name)!r} holds {str(value)[:40]!r}"
    return None


def _no_numbers(A: np.ndarray) -> np.ndarray:
    raise (
        TypeError(f"argument must be a string or a number, not {A.dtype.name}")
        if A.dtype.kind in "mMV"
        else ValueError(f"the first entry is {str(A.flat[0])!r}" if A.size else "it is empty")
    )


def _distinct(X: Any, enough: int) -> int:
    """The number of distinct rows, counted no further than ``enough``."""
    n = 4 * enough
    while True:
        found = len(np.unique(host_array(X[:n]), axis=0))
        if found >= enough or n >= len(X):
            return min(found, enough)
        n *= 8


def in_unit_box(X: Any) -> tuple[np.ndarray, float]:
    """Points in float64, about a point amid them and scaled into [−2, 2], and the scale.

    The scale is a power of two, so nothing is rounded by it; squares of the result neither overflow nor vanish, for any
    magnitude of the data.  The center is a median: a far outlier must not carry it away from the others, whose digits
    would be lost.
    """
    X = np.array(X, dtype=np.float64)  # a copy, and no overflow in the arithmetic below
    low, high = X.min(axis=0), X.max(axis=0)
    center = median_of_some(X)
    half = max((0.5 * high - 0.5 * center).max(), (0.5 * center - 0.5 * low).max())
    unit = unit_above(half)
    X /= unit
    X -= center / unit
    return np.ascontiguousarray(X), unit


def tensor_in_unit_box(X: Any, like: Any = None) -> tuple[Any, float]:
    """Like `in_unit_box`, of a tensor, on its device; in the box of another one, if that is given."""
    X = X.detach().double()
    Y = X if like is None else like.double()
    center = Y[:: -(-len(Y) // 128)].median(dim=0).values
    low, high = Y.min(dim=0).values, Y.max(dim=0).values
    unit = unit_above(max(float((0.5 * high - 0.5 * center).max()), float((0.5 * center - 0.5 * low).max())))
    return X / unit - center / unit, unit


def real_numbers(values: Any) -> np.ndarray:
    """A copy of coordinates of a map, from wherever they are, in float64."""
    given = host_array(values)
    return _as_numbers(given, values).astype(float)


def least_of_rows(D: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k least numbers of each row (n, k), ascending, and their columns (n, k)."""
    columns = np.argpartition(D, k - 1, axis=1)[:, :k]
    least = np.take_along_axis(D, columns, axis=1)
    order = np.argsort(least, axis=1, kind="stable")
    return np.take_along_axis(least, order, axis=1), np.take_along_axis(columns, order, axis=1)


def row_keys(X: Any) -> np.ndarray:
    """A number (N,) for each row of a sparse matrix, the same for those that are equal."""
    X = sparse.csr_array(X, copy=True)
    X.eliminate_zeros()
    X.sum_duplicates()
    ends = pairwise(X.indptr)
    return np.array([hash((X.indices[a:b].tobytes(), X.data[a:b].tobytes())) for a, b in ends])


def spread_rows(n_points: int, most: int) -> np.ndarray:
    """At most ``most`` row indices, evenly spread: data is often sorted, and its first rows are not like the others."""
    return np.linspace(0, n_points - 1, min(n_points, most)).astype(int)


def spread_pieces(n_points: int, n_pieces: int, length: int) -> list[slice]:
    """A few pieces of adjacent rows, evenly spread."""
    starts = np.linspace(0, max(n_points - length, 0), n_pieces).astype(int)
    return [slice(start, min(start + length, n_points)) for start in starts]


def unit_above(half: float) -> float:
    """The power of two in which points up to 2·``half`` from their center lie within [−2, 2]."""
    return float(2.0 ** np.clip(np.ceil(np.log2(half)) + 1, -1074, 1023)) if half > 0 else 1.0


def median_of_some(X: np.ndarray) -> np.ndarray:
    """Median of each column over some hundred rows: a place amid the points."""
    return np.median(X[:: -(-len(X) // 128)], axis=0)


def in_unit(bandwidths: Any, unit: float) -> np.ndarray:
    """Bandwidths in that unit, none so extreme that its square would leave the range of floating-point numbers."""
    return np.clip(np.asarray(bandwidths, dtype=float) / unit, 1e-150, 1e150)


def root_mean_square_distance(X: np.ndarray, m: np.ndarray | None = None) -> float:
    """sqrt(mean over pairs of ‖x_i − x_j‖²), in closed form, of points with weights m."""
    n = total_of(m, len(X))
    variance = np.average((X - np.average(X, axis=0, weights=m)) ** 2, axis=0, weights=m)
    return float(np.sqrt(2.0 * n / (n - 1.0) * variance.sum()))
