"""Files of named arrays: which of them holds the points, and what labels them.

.npy and .npz are read here, by NumPy, and never unpickled; .mat, HDF5 and zarr in `geolap.files.hierarchy`.
"""

import zipfile
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from .columns import Frame
from .source import FileError, Options, Source, listed, needed_library
from .table import named, named_alike

__all__ = ["chosen_array", "frame_of_arrays", "read_npy", "read_npz"]

# Arrays beyond this many bytes stay in their file (the library works on them in chunks).
_LARGE = 2**29
# Sparse matrices up to this many bytes are made dense.
_SMALL = 2**28


def read_npy(source: Source, options: Options) -> Frame:
    """The array in a .npy file, or the fields of its records; a large one is mapped rather than read."""
    values = open_memmap(source.path, mode="r")  # refuses Python objects, and a file shorter than its header states
    if values.nbytes > _LARGE and values.dtype.kind in "iuf" and values.dtype.isnative:
        source.check_columns(values.shape[-1] if values.ndim == 2 else 1)
        return Frame({}, _plain(values, source.name))
    source.check_array(values.shape, values.itemsize)
    if values.dtype.names:
        array = needed_library("pyarrow", "A record array").array
        fields = {field: values.ravel()[field] for field in values.dtype.names}
        return Frame({field: array(list(cells) if cells.ndim > 1 else cells) for field, cells in fields.items()})
    return Frame({}, _plain(np.array(values), source.name))


def read_npz(source: Source, options: Options) -> Frame:
    """One array of a .npz file, or the sparse matrix that SciPy saved in it."""
    with zipfile.ZipFile(source.path) as archive:
        source.check_packing(sum(member.file_size for member in archive.infolist()))
    arrays: dict[str, Any] = {}
    with source.path.open("rb") as file, np.load(file, allow_pickle=False) as content:
        for name in content.files:
            try:
                arrays[name] = content[name]
            except ValueError:  # Python objects, which could run code
                if len(content.files) == 1:
                    raise
    if options.array is None and arrays.keys() >= {"data", "indices", "indptr", "shape", "format"}:
        from scipy import sparse

        arrays = {"matrix": sparse.load_npz(source.path)}
    return frame_of_arrays(arrays, source, options)


def frame_of_arrays(arrays: Mapping[str, Any], source: Source, options: Options) -> Frame:
    """One of the arrays as points, and others of as many entries as possible labels.

    Arrays have a shape and a dtype, and are read by ``[...]``, or by ``to_memory()`` if they are sparse.
    """
    chosen = chosen_array(arrays, source, options)
    values, part, notes = arrays[chosen], source.part(chosen), []
    part.check_array(values.shape)
    if hasattr(values, "nnz") or hasattr(values, "to_memory"):
        if 8 * prod(values.shape) > _SMALL:
            advice = "reduce it first, for instance with TruncatedSVD, or choose such an array with --array"
            raise FileError(f"{part.name} must be dense, or at most 268 MB when made so; it is sparse and larger: {advice}.")
        values = values.to_memory() if hasattr(values, "to_memory") else values
        values.check_format(full_check=True)  # indices that point elsewhere would write there
        values = values.toarray()
        notes.append("A sparse matrix was made dense.")
    block, columns = _plain(np.asarray(values[...]), part.name), {}
    for other in {*filter(None, (named_alike(title, arrays) for title in options.beside))} - {chosen}:
        source.part(other).check_array(arrays[other].shape)
        if prod(arrays[other].shape) in block.shape:
            columns[other] = np.ravel(arrays[other][...])
    return Frame(columns, block, array=chosen or None, notes=notes)


def chosen_array(arrays: Mapping[str, Any], source: Source, options: Options) -> str:
    """The array asked for, or the only one with rows and columns."""
    if options.array is not None:
        return named(options.array, arrays, source.name, "array")
    shapes = {key: values.shape for key, values in arrays.items() if values.dtype.kind in "biufc"}
    tables = [key for key, shape in shapes.items() if len(shape) == 2 and min(shape) > 1]
    tables = tables or [key for key, shape in shapes.items() if len(shape) in (1, 2)] or list(arrays)
    points = tables[0] if len(tables) == 1 else named_alike("X", tables)
    if points is not None:
        return points
    options_in_words = ", ".join(f"{listed([key])} ({' × '.join(map(str, arrays[key].shape))})" for key in tables[:8])
    more = f" and {len(tables) - 8} more" if len(tables) > 8 else ""
    found = (
        f"it holds {options_in_words}{more}: choose one with --array" if tables else "it is empty: write the points to it"
    )
    raise FileError(f"{source.name} must hold one table of numbers, or be told which; {found}.")


def _plain(values: np.ndarray, name: str) -> np.ndarray:
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
