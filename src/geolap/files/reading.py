"""One function that reads them all."""

from collections.abc import Iterable
from os import PathLike

from .isolation import ISOLATED, parsed_apart
from .parsing import NAMED, parsed
from .source import FileError, Limits, Source, located
from .table import Table, table_of

__all__ = ["FORMATS", "read_table"]

# How names end, and what is then inside.
FORMATS = {format: format for format in ("npy", "npz", "csv", "tsv", "parquet", "mat", "h5ad", "hdf5", "zarr")}
FORMATS |= {"txt": "csv", "dat": "csv", "pq": "parquet", "h5": "hdf5"}
# How files begin; the second of .npz is an empty one.
_BEGINNINGS = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"PAR1": "parquet", b"MATLAB": "mat"}
_BEGINNINGS |= {b"\x89HDF\r\n\x1a\n": "hdf5"}
# What to do about files that people have and that are not read.
_ADVICE = {
    ("xlsx", "xls", "ods"): "save the sheet as CSV",
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
    index: str | None = None,
    header: bool | None = None,
    separator: str | None = None,
    decimal: str | None = None,
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
    format : str, optional
        One of the values of ``FORMATS``; by default told by the name of the file, or else by its first bytes.
    array : str, optional
        Which array of a file that holds several.
    columns, drop : sequence of str, optional
        Features to use, or to leave out: names, patterns (``gene_*``), ranges of positions (``0:10``).
    labels : str, optional
        The column, by name or position, or the array of the same file that holds labels.
    index : str, optional
        The column that names the rows; "none" if no column does.
    header : bool, optional
        Whether the first line of text names the columns.
    separator, decimal : str, optional
        Of text.
    missing : {"error", "rows", "columns"}, default "error"
        Whether to leave out rows or columns with missing values.
    classes : bool, default True
        Whether labels must be classes rather than any values.
    max_bytes, max_columns : number, optional
        How much may be read: by default half of the memory available, and 100 000 columns.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        Whatever is wrong with the file, in one sentence.
    """
    limits = Limits.of(max_bytes, max_columns)
    with located(path, limits) as source:
        format = format or _format_of(source)
        if source.path.is_dir() and format != "zarr":
            raise FileError(f"{source.name} must be a file; it is a folder: name a file in it.")
        options: dict[str, object] = {}
        if format in ("csv", "tsv"):
            separator = "\t" if format == "tsv" and separator is None else separator
            options = {"separator": separator, "decimal": decimal, "header": header}
        elif format in NAMED:
            options = {"array": array, "beside": [column for column in (labels, index) if column is not None]}
        frame = (parsed_apart if format in ISOLATED else parsed)(source, format, limits, **options)
        if array is not None and frame.array is None:
            raise FileError(f"{source.name} holds one array; --array {array} was given: leave it out.")
        choice = {"columns": columns, "drop": drop, "labels": labels, "index": index}
        return table_of(frame, source.name, format, **choice, missing=missing, classes=classes)


def _format_of(source: Source) -> str:
    """By the name; by the first bytes where that says nothing."""
    *stem, ending = source.path.name.lower().removesuffix(".gz").split(".")
    format = FORMATS.get(ending) if stem else None
    if source.path.is_dir():
        known = [source.path / name for name in ("zarr.json", ".zarray", ".zgroup", ".zmetadata")]
        return "zarr" if any(file.exists() for file in known) else format or "csv"
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
