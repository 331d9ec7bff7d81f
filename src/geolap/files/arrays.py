"""Files of named arrays: which of them holds the points, and what labels them.

.npy, .npz and .mat are read here, by NumPy and SciPy, and never unpickled; HDF5 and zarr in `geolap.files.hierarchy`.
"""

import zipfile
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from math import prod
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from .parquet import frame_of_columns
from .source import FileError, Limits, Source
from .table import Column, Frame, listed, named_alike

__all__ = ["chosen_array", "frame_of_arrays", "plain_block", "read_mat", "read_npy", "read_npz"]

# Arrays beyond this many bytes stay in their file (the library works on them in chunks).
_LARGE = 2**29
# Sparse matrices up to this many bytes are made dense.
_SMALL = 2**28


def read_npy(source: Source, limits: Limits) -> Frame:
    """The array in a .npy file, or the fields of its records; a large one is mapped rather than read."""
    values = open_memmap(source.path, mode="r")  # refuses Python objects, and a file shorter than its header states
    if values.nbytes > _LARGE and values.dtype.kind in "iuf" and values.dtype.isnative:
        limits.check_columns(source.name, values.shape[-1] if values.ndim == 2 else 1)
        return Frame({}, plain_block(values, source.name))
    limits.check_array(source.name, values.shape, values.itemsize)
    if values.dtype.names:
        fields = {field: values.ravel()[field] for field in values.dtype.names}
        return frame_of_columns({field: list(v) if v.ndim > 1 else v for field, v in fields.items()}, source.name)
    return Frame({}, plain_block(np.array(values), source.name))


def read_npz(source: Source, limits: Limits, array: str | None = None, beside: Collection[str] = ()) -> Frame:
    """One array of a .npz file, or the sparse matrix that SciPy saved in it."""
    with zipfile.ZipFile(source.path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    limits.check_packing(source.name, source.path.stat().st_size, unpacked)
    arrays: dict[str, Any] = {}
    with source.path.open("rb") as file, np.load(file, allow_pickle=False) as content:
        for name in content.files:
            try:
                arrays[name] = content[name]
            except ValueError:  # Python objects, which could run code
                if len(content.files) == 1:
                    raise
    if array is None and arrays.keys() >= {"data", "indices", "indptr", "shape", "format"}:
        from scipy import sparse

        arrays = {"matrix": sparse.load_npz(source.path)}
    return frame_of_arrays(arrays, source.name, limits, array, beside)


def read_mat(source: Source, limits: Limits, array: str | None = None, beside: Collection[str] = ()) -> Frame:
    """One variable of a .mat file up to version 7; later ones are HDF5."""
    from scipy import io

    for variable, shape, kind in io.whosmat(str(source.path), appendmat=False):
        limits.check_array(f"{listed([variable])} in {source.name}", () if kind == "sparse" else shape, 8)
    found = io.loadmat(str(source.path), appendmat=False)
    arrays = {name: values for name, values in found.items() if not name.startswith("__")}
    for name in filter(None, (named_alike(title, arrays) for title in beside)):
        if arrays[name].dtype.kind == "O":  # a cell of strings
            cells = [np.ravel(cell) for cell in arrays[name].ravel()]
            arrays[name] = np.array([str(cell[0]).strip() if cell.size == 1 else "" for cell in cells], object)
    return frame_of_arrays(arrays, source.name, limits, array, beside)


def frame_of_arrays(
    arrays: Mapping[str, Any], name: str, limits: Limits, array: str | None = None, beside: Collection[str] = ()
) -> Frame:
    """One of the arrays as points, and others of as many entries as possible labels.

    Arrays have a shape and a dtype, and are read by ``[...]``, or by ``to_memory()`` if they are sparse.
    """
    chosen = chosen_array(array, arrays, name)
    values, called = arrays[chosen], f"{listed([chosen])} in {name}"
    limits.check_array(called, values.shape, 8)
    notes = []
    if hasattr(values, "nnz") or hasattr(values, "to_memory"):
        if 8 * prod(values.shape) > _SMALL:
            advice = "reduce it first, for instance with TruncatedSVD, or choose such an array with --array"
            raise FileError(f"{called} must be dense, or at most 268 MB when made so; it is sparse and larger: {advice}.")
        values = values.to_memory() if hasattr(values, "to_memory") else values
        values.check_format(full_check=True)  # indices that point elsewhere would write there
        values = values.toarray()
        notes.append("A sparse matrix was made dense.")
    block, columns = plain_block(np.asarray(values[...]), called), {}
    for other in {named_alike(title, arrays) for title in beside} - {chosen, None}:
        assert other is not None
        limits.check_array(f"{listed([other])} in {name}", arrays[other].shape, 8)
        if prod(arrays[other].shape) in block.shape:
            columns[other] = Column(np.ravel(arrays[other][...]))
    return Frame(columns, block, array=chosen, notes=notes)


def chosen_array(array: str | None, arrays: Mapping[str, Any], name: str) -> str:
    """The array asked for, or the only one with rows and columns."""
    array = array if array is None else named_alike(array, arrays) or array
    if array is not None and array not in arrays:
        close = [key for key in arrays if key.endswith(f"/{array}")]
        close = close or get_close_matches(array, list(arrays)[:10_000], 1, 0.8)
        hint = f"did you mean '{close[0]}'?" if close else f"it has {listed(arrays)}." if arrays else "it has none."
        raise FileError(f"{name} must hold the array asked for; there is no '{array}': {hint}")
    shapes = {key: values.shape for key, values in arrays.items() if values.dtype.kind in "biufc"}
    tables = [key for key, shape in shapes.items() if len(shape) == 2 and min(shape) > 1]
    tables = tables or [key for key, shape in shapes.items() if len(shape) in (1, 2)]
    if array is not None or len(tables) == 1:
        return array or tables[0]
    points = named_alike("X", tables)
    if points is not None:
        return points
    if not tables:
        held = f"it holds {listed(arrays)}" if arrays else "it is empty"
        raise FileError(f"{name} must hold a table of numbers; {held}: write the points as one array of rows and columns.")
    options = ", ".join(f"{listed([key])} ({' × '.join(map(str, shapes[key]))})" for key in tables[:8])
    more = f" and {len(tables) - 8} more" if len(tables) > 8 else ""
    raise FileError(f"{name} must hold one table, or be told which; it holds {options}{more}: choose one with --array.")


def plain_block(values: np.ndarray, name: str) -> np.ndarray:
    """Points as a matrix of plain numbers: two dimensions, native order, no less than single precision."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind not in "biuf":
        advice = "save real and imaginary parts as separate columns" if kind == "c" else "save the columns of numbers alone"
        raise FileError(f"{name} must hold real numbers; it holds {values.dtype}: {advice}.")
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or 0 in values.shape:
        advice = "save each point as one row, X.reshape(len(X), -1)"
        raise FileError(f"{name} must be a table of rows and columns; it has shape {tuple(values.shape)}: {advice}.")
    if kind == "b" or size == 1 or (kind == "f" and size not in (4, 8)):
        return values.astype(np.float32 if size < 4 else np.float64)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
