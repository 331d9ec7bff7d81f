"""Results into files, whole or not at all: a temporary file beside the target takes its place when it is complete."""

import csv
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from re import fullmatch
from typing import Any, TextIO

import numpy as np

from ..runtime.libraries import needed
from .source import FileError
from .table import NUMBER

__all__ = ["check_output", "replaced_file", "write_matrix", "write_table", "write_text"]

_ENDINGS = {"table": (".csv", ".tsv", ".npy", ".npz", ".parquet"), "matrix": (".npz", ".npy", ".mtx")}
_ENDINGS |= {"page": (".html", ".htm"), "picture": (".png", ".pdf", ".svg")}
_Place = str | PathLike[str]


def check_output(path: _Place | None, *, kind: str = "table", inputs: Sequence[_Place] = ()) -> None:
    """Say before the work what would keep the result from being written.

    ``kind`` is "table", "matrix", "page" or "picture"; ``inputs`` are files that must not be overwritten.
    """
    if path is None or (str(path) == "-" and kind == "table"):
        return
    path, endings = Path(path), ", ".join(_ENDINGS[kind])
    if path.suffix.lower() not in _ENDINGS[kind]:
        raise FileError(f"An output, here a {kind}, must end in {endings}: name a file that does, not '{path.name}'.")
    if path.exists() and (not path.is_file() or any(Path(other).exists() and path.samefile(other) for other in inputs)):
        raise FileError(f"An output must not overwrite its input, a folder or a device; '{path}' is one: name another.")
    try:
        tempfile.TemporaryFile(dir=path.resolve().parent).close()
    except OSError as error:
        why = f"that of '{path}' does not, or is not ({error.strerror}): create it, or write elsewhere"
        raise FileError(f"The folder of an output must exist and be writable; {why}.") from None


@contextmanager
def replaced_file(path: _Place) -> Iterator[Path]:
    """The path of a temporary file, of the same ending, that takes the place of ``path`` when all went well."""
    path = Path(path).resolve()  # a link stays a link
    temporary = path.with_name(f".{path.stem[:100]}.{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    except OSError as error:
        why = f"that failed ({(error.strerror or str(error)).lower()}), and nothing was left behind"
        raise FileError(f"'{path.name}' must be written completely; {why}: make room, or write elsewhere.") from None
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
        elif ending == ".npz":
            arrays: dict[str, Any] = dict(columns)
            for name in [name for name in arrays if arrays[name].dtype.kind == "O"]:  # which would be pickled
                arrays[name] = ["" if value is None else str(value) for value in arrays[name]]
            np.savez_compressed(temporary, **arrays)
        elif ending == ".parquet":
            table = needed("pyarrow", "files", "Writing .parquet needs").table(dict(columns))
            needed("pyarrow.parquet", "files", "Writing .parquet needs").write_table(table, temporary)
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                _write_lines(file, columns, "\t" if ending == ".tsv" else ",")


def write_matrix(path: _Place, matrix: Any, **beside: Any) -> None:
    """Write a matrix: .npz for scipy.sparse.load_npz, with further arrays beside it, .npy in full, .mtx as text."""
    from scipy import io, sparse

    ending = Path(path).suffix.lower()
    if ending == ".npy" and sparse.issparse(matrix):
        raise FileError(f"A .npy file holds full matrices; this one is sparse, {matrix.shape}: write it as .npz.")
    with replaced_file(path) as temporary, temporary.open("wb") as file:  # SciPy's own would not notice a full disk
        if ending == ".npy":
            np.save(file, matrix)
        elif ending == ".mtx":
            io.mmwrite(file, matrix)
        else:  # the members that scipy.sparse.load_npz looks for, and ours
            csr = sparse.csr_array(matrix)
            parts = {"format": np.array(b"csr"), "shape": csr.shape, "data": csr.data, "_is_array": True}
            np.savez(file, indices=csr.indices, indptr=csr.indptr, **parts, **beside)


def _write_lines(file: TextIO, columns: Mapping[str, np.ndarray], separator: str) -> None:
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(map(_inert, columns))
    lists = (["" if value is None or value != value else _inert(value) for value in c.tolist()] for c in columns.values())
    writer.writerows(zip(*lists, strict=True))


def _inert(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: words that begin like one get an apostrophe, which is not shown."""
    formula = isinstance(value, str) and len(value) > 1 and value[0] in "=+-@\t\r" and not fullmatch(NUMBER, value)
    return f"'{value}" if formula else value
