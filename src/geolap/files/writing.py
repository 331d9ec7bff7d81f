"""Results into files, whole or not at all: a temporary file beside the target takes its place when it is complete."""

import csv
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from re import fullmatch
from typing import Any, TextIO

import numpy as np

from .columns import NUMBER
from .source import FileError, needed_library

__all__ = ["check_output", "replaced_file", "write_matrix", "write_table", "write_text"]

_ENDINGS = {"table": ("csv", "tsv", "npy", "npz", "parquet"), "matrix": ("npz", "npy", "mtx"), "page": ("html", "htm")}
_ENDINGS |= {"picture": ("png", "pdf", "svg")}
_Place = str | PathLike[str]


def check_output(path: _Place | None, *, kind: str = "table", inputs: tuple[_Place, ...] | list[_Place] = ()) -> None:
    """Say before the work what would keep the result from being written.

    ``kind`` is "table", "matrix", "page" or "picture"; ``inputs`` are files that must not be overwritten.
    """
    if path is None or (str(path) == "-" and kind == "table"):
        return
    if str(path) == "-":
        raise FileError(f"Only tables are written to standard output; -o - was given for a {kind}: name a file.")
    path = Path(path)
    folder, ending = path.resolve().parent, path.suffix.lower().lstrip(".")
    if ending not in _ENDINGS[kind] and not _is_special(path):
        endings = ", ".join(f".{ending}" for ending in _ENDINGS[kind])
        raise FileError(f"The name of an output must end in {endings}; '{path.name}' does not: rename it.")
    if ending == "parquet":
        needed_library("pyarrow", "Writing .parquet")
    if path.is_dir() or any(Path(other).exists() and path.exists() and path.samefile(other) for other in inputs):
        raise FileError(f"An output must not overwrite its input or a folder; '{path}' is one: choose another name.")
    if not _is_special(path):
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            why = f"'{folder}' does not, or is not ({error.strerror}): create it, or write elsewhere"
            raise FileError(f"The folder of an output must exist and be writable; {why}.") from None


@contextmanager
def replaced_file(path: _Place) -> Iterator[Path]:
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
        why = f"that failed ({(error.strerror or str(error)).lower()}), and nothing of it is left"
        raise FileError(f"'{path.name}' must be written whole; {why}: make room, or write elsewhere.") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: _Place, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replaced_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_table(path: _Place, columns: Mapping[str, np.ndarray]) -> None:
    """Write named columns (n,), by the ending of the name; ``-`` is standard output, as CSV."""
    if str(path) == "-":
        _write_lines(sys.stdout, columns, ",")
        sys.stdout.flush()
        return
    ending = Path(path).suffix.lower()
    with replaced_file(path) as temporary:
        if ending == ".npy":  # names of rows have no place in it
            np.save(temporary, np.column_stack([column for column in columns.values() if column.dtype.kind in "biuf"]))
        elif ending == ".npz":  # words as NumPy's own kind, which needs no pickling
            arrays: dict[str, Any] = {
                name: column if column.dtype.kind != "O" else ["" if value is None else str(value) for value in column]
                for name, column in columns.items()
            }
            np.savez_compressed(temporary, **arrays)
        elif ending == ".parquet":
            table = needed_library("pyarrow", "Writing .parquet").table(dict(columns))
            needed_library("pyarrow.parquet", "Writing .parquet").write_table(table, temporary)
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                _write_lines(file, columns, "\t" if ending == ".tsv" else ",")


def write_matrix(path: _Place, matrix: Any, **beside: Any) -> None:
    """Write a matrix: .npz for scipy.sparse.load_npz, with further arrays beside it, .npy in full, .mtx as text."""
    from scipy import io, sparse

    ending = Path(path).suffix.lower()
    if ending == ".npy" and sparse.issparse(matrix):
        raise FileError(f"A .npy file holds full matrices; this one is sparse, {matrix.shape}: write it as .npz.")
    with replaced_file(path) as temporary:
        if ending == ".npy":
            np.save(temporary, matrix)
        elif ending == ".mtx":
            with temporary.open("wb") as file:  # SciPy's own would not notice a full disk
                io.mmwrite(file, matrix)
        else:  # the members that scipy.sparse.load_npz looks for, and ours
            csr = sparse.csr_array(matrix)
            parts = {"format": np.array(b"csr"), "shape": csr.shape, "data": csr.data, "_is_array": True}
            np.savez(temporary, indices=csr.indices, indptr=csr.indptr, **parts, **beside)


def _write_lines(file: TextIO, columns: Mapping[str, np.ndarray], separator: str) -> None:
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(map(_inert, columns))
    lists = (
        ["" if value is None or value != value else _inert(value) for value in column.tolist()]
        for column in columns.values()
    )
    writer.writerows(zip(*lists, strict=True))


def _inert(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: words of a file are data for whoever opens it next.

    Words that begin like a formula get an apostrophe, which spreadsheets do not show.  Numbers, and signs alone, are none.
    """
    formula = isinstance(value, str) and len(value) > 1 and value[0] in "=+-@\t\r" and not fullmatch(NUMBER, value)
    return f"'{value}" if formula else value


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()
