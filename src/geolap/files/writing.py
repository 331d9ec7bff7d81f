"""Results into files, whole or not at all: a temporary file beside the target takes its place when it is complete."""

import csv
import os
import secrets
import stat
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .source import FileError, needed_library

__all__ = ["check_output", "replaced_file", "write_matrix", "write_table", "write_text"]

_TABLES = ("csv", "tsv", "npy", "npz", "parquet")
_MATRICES = ("npz", "npy", "mtx")


def check_output(path, *, kind="table", inputs=()):
    """Say before the work what would keep the result from being written.

    ``kind`` is "table", "matrix" or "page"; ``inputs`` are files that must not be overwritten.
    """
    if path is None or (str(path) == "-" and kind == "table"):
        return
    if str(path) == "-":
        raise FileError(f"Only tables are written to standard output; -o - was given for a {kind}: name a file.")
    path = Path(path)
    suffixes = {"table": _TABLES, "matrix": _MATRICES, "page": ("html", "htm")}[kind]
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in suffixes and not _is_special(path):
        raise FileError(
            f"The name of an output must end in {', '.join('.' + s for s in suffixes)}; '{path.name}' does not: rename it."
        )
    if suffix == "parquet":
        needed_library("pyarrow", "Writing .parquet")
    if path.is_dir():
        raise FileError(f"An output must be a file; '{path}' is a folder: name a file in it.")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileError(f"The folder of an output must exist; '{folder}' does not: create it, or write elsewhere.")
    if not _is_special(path):
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise FileError(
                f"The folder of an output must be writable; '{folder}' is not ({reason}): write elsewhere."
            ) from None
    for other in inputs:
        if other is not None and path.exists() and Path(other).exists() and path.samefile(other):
            raise FileError(f"An output must not overwrite its input; '{path}' is both: choose another name.")


@contextmanager
def replaced_file(path):
    """The path of a temporary file, of the same ending, that takes the place of ``path`` when all went well."""
    path = Path(path)
    if _is_special(path):  # a pipe or a device has no half files
        yield path
        return
    path = path.resolve()  # a link stays a link
    temporary = path.with_name(f".{path.stem[:100]}.{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    except OSError as error:
        raise FileError(
            f"'{path.name}' must be written whole; that failed ({(error.strerror or str(error)).lower()}), and nothing of "
            "it is left: make room, or write elsewhere."
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path, text):
    """Write a text file, whole or not at all."""
    with replaced_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_table(path, columns):
    """Write named columns (n,), by the ending of the name; ``-`` is standard output, as CSV."""
    if str(path) == "-":
        _write_text(sys.stdout, columns, ",")
        sys.stdout.flush()
        return
    suffix = Path(path).suffix.lower()
    with replaced_file(path) as temporary:
        if suffix == ".npy":
            np.save(temporary, _numbers_of(columns), allow_pickle=False)
        elif suffix == ".npz":
            np.savez_compressed(temporary, allow_pickle=False, **{name: _plain(column) for name, column in columns.items()})
        elif suffix == ".parquet":
            import pyarrow as pa
            from pyarrow import parquet

            parquet.write_table(pa.table({name: pa.array(column) for name, column in columns.items()}), temporary)
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                _write_text(file, columns, "\t" if suffix == ".tsv" else ",")


def write_matrix(path, matrix, **beside):
    """Write a matrix: .npz for scipy.sparse.load_npz, with further arrays beside it, .npy in full, .mtx as text."""
    from scipy import io, sparse

    suffix = Path(path).suffix.lower()
    if suffix == ".npy" and sparse.issparse(matrix):
        raise FileError(
            f"A .npy file holds full matrices; this one is sparse, {matrix.shape[0]} × {matrix.shape[1]}: write it as .npz."
        )
    with replaced_file(path) as temporary:
        if suffix == ".npy":
            np.save(temporary, matrix, allow_pickle=False)
        elif suffix == ".mtx":
            io.mmwrite(temporary, matrix)
        else:
            csr = sparse.csr_array(matrix)
            # The members that scipy.sparse.load_npz looks for, and ours.
            parts = {"format": np.array(b"csr"), "shape": csr.shape, "data": csr.data, "_is_array": True}
            np.savez(temporary, allow_pickle=False, indices=csr.indices, indptr=csr.indptr, **parts, **beside)


def _write_text(file, columns, separator):
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    lists = (["" if value is None or value != value else value for value in column.tolist()] for column in columns.values())
    writer.writerows(zip(*lists, strict=True))


def _numbers_of(columns):
    """Columns of numbers side by side; names of rows have no place in a .npy file."""
    numbers = [column for column in columns.values() if column.dtype.kind in "biuf"]
    return np.column_stack(numbers)


def _plain(column):
    """Words as NumPy's own kind, which needs no pickling."""
    if column.dtype.kind != "O":
        return column
    return np.array(["" if value is None else str(value) for value in column.tolist()])


def _is_special(path):
    return path.exists() and not path.is_file() and not path.is_dir()
