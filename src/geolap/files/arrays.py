"""NumPy's own files: .npy and .npz, never unpickled.

A header says how large the array is; it is believed only if the file is as large as that.
"""

import zipfile
from difflib import get_close_matches
from math import prod

import numpy as np
from numpy.lib import format as npy

from .source import FileError
from .table import Frame, listed

__all__ = ["brief", "chosen_array", "plain_block", "read_npy", "read_npz"]

# Arrays beyond this many bytes stay in their file (the library works on them in chunks).
_LARGE = 2**29
_SPARSE_KEYS = frozenset(("data", "indices", "indptr", "shape", "format"))


def read_npy(source, limits):
    """A `Frame` of the array in a .npy file; a large one is mapped rather than read."""
    with source.open() as file:
        shape, dtype = _header(file, source.name, source.size)
        n_bytes = prod(shape) * dtype.itemsize
        if source.path is not None and n_bytes > _LARGE and dtype.kind in "iuf" and dtype.isnative:
            limits.check_columns(source.name, shape[-1] if len(shape) == 2 else 1)
            return Frame(plain_block(npy.open_memmap(source.path, mode="r"), source.name))
        limits.check_array(source.name, shape, dtype.itemsize)
        file.seek(0)
        return _frame(npy.read_array(file, allow_pickle=False), source.name)


def read_npz(source, limits, *, array=None, beside=()):
    """A `Frame` of one array of a .npz file, with the others as possible labels."""
    with source.open() as file, zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist() if info.filename.endswith(".npy")}
        headers = {}
        for key, info in members.items():
            with archive.open(info) as member:
                try:
                    headers[key] = _header(member, f"{listed([key])} in {source.name}", info.file_size)
                except FileError:
                    if array in (None, key) and len(members) == 1:
                        raise  # there is nothing else to read
        if array is None and headers.keys() >= _SPARSE_KEYS:
            return _sparse_frame(archive, members, headers, source.name, limits)
        shapes = {key: shape for key, (shape, dtype) in headers.items() if dtype.kind in "biuf"}
        chosen = chosen_array(array, shapes, source.name, every=[*members])
        if chosen not in headers:
            raise FileError(
                f"{listed([chosen])} in {source.name} must be an array of numbers; it is not: choose another one."
            )
        frame = _frame(_member(archive, members, headers, chosen, source.name, limits), source.name)
        others = {
            key: _member(archive, members, headers, key, source.name, limits).ravel()
            for key, (shape, _) in headers.items()
            if key in beside and prod(shape) == len(frame.block)
        }
    frame.array = chosen
    frame.others |= others
    return frame


def chosen_array(array, shapes, name, *, every=None):
    """The array asked for, or the only one with rows and columns; ``shapes`` holds those of numbers."""
    every = list(shapes) if every is None else every
    if array is not None:
        if array not in every:
            close = [key for key in every if key.endswith(f"/{array}")] or get_close_matches(array, every[:10_000], 1, 0.8)
            hint = f"did you mean '{close[0]}'?" if close else f"it has {listed(every)}." if every else "it has none."
            raise FileError(f"{name} must hold the array asked for; there is no '{array}': {hint}")
        return array
    tables = [key for key, shape in shapes.items() if len(shape) == 2 and min(shape) > 1]
    tables = tables or [key for key, shape in shapes.items() if len(shape) in (1, 2)]
    if len(tables) == 1:
        return tables[0]
    if "X" in tables:
        return "X"
    if not tables:
        held = f"it holds {listed(every)}" if every else "it is empty"
        raise FileError(f"{name} must hold a table of numbers; {held}: write the points as one array of rows and columns.")
    options = ", ".join(f"{listed([key])} ({' × '.join(map(str, shapes[key]))})" for key in tables[:8])
    more = f" and {len(tables) - 8} more" if len(tables) > 8 else ""
    raise FileError(f"{name} must hold one table, or be told which; it holds {options}{more}: choose one with --array.")


def plain_block(values, name):
    """Points as a matrix of plain numbers: two dimensions, native order, no less than single precision."""
    if values.dtype.kind == "c":
        raise FileError(
            f"{name} must hold real numbers; it holds complex ones ({values.dtype}): save real and imaginary parts as "
            "separate columns."
        )
    if values.dtype.kind not in "biuf":
        raise FileError(f"{name} must hold numbers; it holds {values.dtype}: save the columns of numbers alone.")
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise FileError(
            f"{name} must be a table of rows and columns; it has shape {tuple(values.shape)}: save each point as one row, "
            "X.reshape(len(X), -1)."
        )
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise FileError(f"{name} must hold rows and columns; it has shape {tuple(values.shape)}: check how it was written.")
    if values.dtype.kind == "b" or values.dtype.itemsize == 1:
        return values.astype(np.float32)
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float32 if values.dtype.itemsize == 2 else np.float64)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def _frame(values, name):
    """Of an array, or of a record array with a column for each field."""
    if values.dtype.names is None:
        return Frame(plain_block(values, name))
    values = values.ravel()
    fields = {field: values[field] for field in values.dtype.names}
    numeric = [field for field, column in fields.items() if column.dtype.kind in "biuf" and column.ndim == 1]
    rest = {field: column for field, column in fields.items() if field not in numeric and column.ndim == 1}
    return Frame(
        block=np.column_stack([fields[field].astype(float) for field in numeric]) if numeric else np.empty((len(values), 0)),
        names=numeric,
        others=rest,
        left_out={field: _kind(fields[field]) for field in fields if field not in numeric},
        order=list(fields),
    )


def _kind(column):
    return {"U": "text", "S": "text", "M": "times", "m": "times"}.get(column.dtype.kind, "no single numbers")


def _member(archive, members, headers, key, name, limits):
    shape, dtype = headers[key]
    limits.check_array(f"{listed([key])} in {name}", shape, dtype.itemsize)
    limits.check_packing(f"{listed([key])} in {name}", members[key].compress_size, members[key].file_size)
    with archive.open(members[key]) as member:
        return npy.read_array(member, allow_pickle=False)


def _sparse_frame(archive, members, headers, name, limits):
    """Of a matrix saved by scipy.sparse.save_npz, if it is small."""
    from scipy import sparse

    # Its arrays are no larger than the file says; its shape is checked before it is made dense.
    parts = {key: _member(archive, members, headers, key, name, limits) for key in _SPARSE_KEYS}
    kind = parts["format"].item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    shape = tuple(int(n) for n in parts["shape"].ravel())
    if kind not in ("csr", "csc") or len(shape) != 2 or min(shape) < 1:
        raise FileError(f"{name} must be dense, or a sparse matrix in csr or csc form; it is {kind} {shape}: convert it.")
    limits.check_sparse(name, shape, "reduce it first, for instance with TruncatedSVD")
    make = sparse.csr_array if kind == "csr" else sparse.csc_array
    matrix = make((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    matrix.check_format(full_check=True)
    return Frame(plain_block(matrix.toarray(), name), notes=["A sparse matrix was made dense."])


def _header(file, name, size):
    """Shape and dtype that a .npy header states, if the ``size`` bytes of the file bear it out."""
    try:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, _, dtype = read(file)
    except KeyError:
        raise FileError(f"{name} must be a .npy file of version 1 or 2; it is of another: save it again.") from None
    except (ValueError, TypeError, SyntaxError, EOFError, OverflowError, RecursionError, MemoryError) as error:
        raise FileError(
            f"{name} must be a NumPy array; its header cannot be read ({brief(error)}): save it again."
        ) from None
    if dtype.hasobject:
        raise FileError(
            f"{name} must hold numbers; it holds pickled Python objects, which are never opened because they can run code: "
            "save it as an array of numbers."
        )
    if any(n < 0 for n in shape):
        raise FileError(f"{name} must have a shape; its header states {shape}: save it again.")
    needed, there = prod(shape) * dtype.itemsize, size - file.tell()
    if needed > there:
        raise FileError(
            f"{name} must be as large as its header states; {' × '.join(map(str, shape))} numbers take {needed} bytes and "
            f"{max(there, 0)} are there: it was cut short or damaged, save it again."
        )
    return shape, dtype


def brief(error):
    """The first line of what a library says."""
    text = " ".join((str(error) or type(error).__name__).split())
    return text if len(text) <= 120 else text[:119] + "…"
