"""One function that reads them all, and the sentence about whatever the reader of a format stumbles over."""

import warnings
from collections.abc import Iterable
from os import PathLike

from .arrays import read_npy, read_npz
from .columns import Frame, read_parquet
from .hierarchy import read_hdf5, read_mat, read_zarr
from .isolation import ISOLATED, in_another_process
from .source import FileError, Options, Source, located
from .table import Table, table_of, transposed
from .text import read_text, read_xlsx

__all__ = ["FORMATS", "parsed", "read_table"]

_READERS = {"npy": read_npy, "csv": read_text, "tsv": read_text, "parquet": read_parquet, "xlsx": read_xlsx, "npz": read_npz}
_READERS |= {"mat": read_mat, "h5ad": read_hdf5, "hdf5": read_hdf5, "zarr": read_zarr}
# How names end, and what is then inside.
FORMATS = {format: format for format in _READERS} | {"txt": "csv", "dat": "csv", "pq": "parquet", "h5": "hdf5"}
# How files begin; the second of .npz is an empty one.
_BEGINNINGS = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"PAR1": "parquet", b"MATLAB": "mat"}
_BEGINNINGS |= {b"\x89HDF\r\n\x1a\n": "hdf5"}
# What to do about files that people have and that are not read.
_ADVICE = {
    ("xls", "ods"): "save the sheet as .xlsx or CSV",
    ("pkl", "pickle"): "write .npy, .parquet or .csv instead; a pickle may run anything",
    ("feather", "arrow", "rds", "rdata", "json"): "write .parquet or .csv instead",
    ("loom",): "write .h5ad instead",
}


def read_table(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    array: str | None = None,
    columns: Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    labels: str | None = None,
    weights: str | None = None,
    index: str | None = None,
    header: bool | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    skip_rows: int = 0,
    na_values: Iterable[str] | None = None,
    transpose: bool = False,
    missing: str = "error",
    classes: bool = True,
    max_bytes: float | None = None,
    max_columns: int | None = None,
) -> Table:
    """Read points from a file.

    Parameters
    ----------
    path : path-like
        ``-`` is standard input.
    format, array : str, optional
        One of the values of ``FORMATS``, by default told by the name or the first bytes; which array or sheet if there are
        several.
    columns, drop : sequence of str, optional
        Features to use, or to leave out: names, patterns (``gene_*``), ranges of positions (``0:10``).
    labels, weights, index : str, optional
        The column of labels, or array of the same file, that of weights, which say how many points each row stands for, and
        the column that names the rows ("none" if no column does).
    header, separator, decimal : bool, str, str, optional
        Of text: whether the first line names the columns, and what is between cells and in fractions; found by default.
    thousands : str, optional
        Of text: the sign between thousands.
    skip_rows : int, default 0
        Of text and sheets: lines above the table.
    na_values : sequence of str, optional
        Further words and numbers that stand for missing values.
    transpose : bool, default False
        Columns are the points.
    missing : {"error", "rows", "columns"}, default "error"
        Whether to leave out rows or columns with missing values.
    classes : bool, default True
        Whether labels must be classes rather than any values.
    max_bytes, max_columns : number, optional
        How much may be read: by default half of the memory available, and 100 000 columns.

    Raises
    ------
    FileError
        Whatever is wrong with the file, in one sentence.
    """
    chosen = (array, None if columns is None else tuple(columns), tuple(drop or ()), labels, weights, index)
    with located(path, max_bytes, max_columns) as source:
        format = format or _format_of(source)
        separator = separator or ("\t" if format == "tsv" else None)
        written = (header, separator, decimal, thousands, skip_rows, tuple(na_values or ()))
        options = Options(*chosen, *written, missing, classes)
        frame = (in_another_process if format in ISOLATED else parsed)(source, format, options)
        if array is not None and frame.array is None:
            raise FileError(f"{source.name} holds one array; --array {array} was given: leave it out.")
        if format == "mat" and frame.block is not None and frame.block.shape[1] > len(frame.block) and not transpose:
            n, r = frame.block.shape  # many of MATLAB's users have points in columns
            frame.notes.append(f"There are more features ({r}) than points ({n}): --transpose if columns are points.")
        return table_of(transposed(frame, source.name) if transpose else frame, source.name, format, options)


def parsed(source: Source, format: str, options: Options) -> Frame:
    """The content of a file of that format."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries, about metadata
            return _READERS[format](source, options)
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{source.name} must fit into memory; it does not: give a part of it.") from None
    except Exception as error:  # of a library that reads the format: whatever it is, the file is at fault
        said = " ".join((str(error) or type(error).__name__).split())[:120]
        advice = "it is damaged, holds pickled objects, which are never opened, or is of another kind (--format)"
        raise FileError(f"{source.name} must be a readable {format} file; reading it failed ({said}): {advice}.") from error


def _format_of(source: Source) -> str:
    """By the name; by the first bytes where that says nothing."""
    *stem, ending = source.path.name.lower().removesuffix(".gz").split(".")
    format = FORMATS.get(ending) if stem else None
    if source.path.is_dir():
        if format == "zarr" or any((source.path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")):
            return "zarr"
        raise FileError(f"{source.name} must be a file; it is a folder: name a file in it.")
    if source.path.suffix.lower() == ".gz" and format not in ("csv", "tsv", None):
        raise FileError(f"Only text is read compressed; {source.name} is another kind: unpack it with gunzip.")
    for endings, advice in _ADVICE.items():
        if stem and ending in endings:
            kinds = ", ".join(FORMATS)
            raise FileError(f"Files must be of a kind that is read ({kinds}); {source.name} is not: {advice}.")
    if format is not None:
        return format
    with source.path.open("rb") as file:
        head = file.read(16)
    return next((format for beginning, format in _BEGINNINGS.items() if head.startswith(beginning)), "csv")
