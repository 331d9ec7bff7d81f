"""One function that reads them all."""

from .isolation import Reader
from .parsing import COMPILED, parsed
from .source import FileError, Limits, Source
from .table import Table, table_of

__all__ = ["FORMATS", "read_table"]

# How names end, and what is then inside.
FORMATS = {
    "npy": "npy",
    "npz": "npz",
    "csv": "csv",
    "tsv": "tsv",
    "txt": "csv",
    "dat": "csv",
    "parquet": "parquet",
    "pq": "parquet",
    "mat": "mat",
    "h5ad": "h5ad",
    "h5": "hdf5",
    "hdf5": "hdf5",
    "zarr": "zarr",
}
_BEGINNINGS = (
    (b"\x93NUMPY", "npy"),
    (b"PK\x03\x04", "npz"),
    (b"PK\x05\x06", "npz"),  # an empty one
    (b"PAR1", "parquet"),
    (b"MATLAB", "mat"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
)
# Files that people have and that are not read, with what to do about them.
_OTHERS = {
    "xlsx": "save the sheet as CSV",
    "xls": "save the sheet as CSV",
    "ods": "save the sheet as CSV",
    "feather": "write .parquet or .csv instead",
    "arrow": "write .parquet or .csv instead",
    "pkl": "write .npy, .parquet or .csv instead; a pickle may run anything",
    "pickle": "write .npy, .parquet or .csv instead; a pickle may run anything",
    "rds": "write .csv instead, with write.csv",
    "rdata": "write .csv instead, with write.csv",
    "json": "write .csv instead",
    "loom": "write .h5ad instead",
}
_ZARR = ("zarr.json", ".zarray", ".zgroup", ".zmetadata")


def read_table(
    path,
    *,
    format=None,
    array=None,
    columns=None,
    drop=None,
    labels=None,
    index=None,
    header=None,
    separator=None,
    decimal=None,
    missing="error",
    classes=True,
    max_bytes=None,
    max_columns=None,
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
    source = Source.at(path, limits)
    format = format or _format_of(source)
    beside = [column for column in (labels, index) if column is not None]
    if format in COMPILED:
        with Reader() as reader:
            frame = reader.read(source, format, limits, array=array, beside=beside)
    else:
        separator = "\t" if format == "tsv" and separator is None else separator
        text = {"separator": separator, "decimal": decimal, "header": header}
        frame = parsed(source, format, limits, array=array, beside=beside, **text)
    if array is not None and frame.array is None:
        raise FileError(f"A .{format} file holds one array; --array {array} was given for {source.name}: leave it out.")
    return table_of(
        frame, source.name, format, columns=columns, drop=drop, labels=labels, index=index, missing=missing, classes=classes
    )


def _format_of(source):
    """By the name; by the first bytes where that says nothing."""
    if source.path is not None:
        parts = source.path.name.lower().split(".")
        if parts[-1] == "gz" and len(parts) > 1:
            parts.pop()
            if FORMATS.get(parts[-1], "csv") not in ("csv", "tsv"):
                raise FileError(f"Only text is read compressed; {source.name} is another kind: unpack it with gunzip.")
        if source.path.is_dir():
            if parts[-1] == "zarr" or any((source.path / name).exists() for name in _ZARR):
                return "zarr"
            raise FileError(f"{source.name} must be a file; it is a folder: name a file in it.")
        if len(parts) > 1 and parts[-1] in FORMATS:
            return FORMATS[parts[-1]]
        if len(parts) > 1 and parts[-1] in _OTHERS:
            raise FileError(
                f"Files must be of a kind that is read ({', '.join(FORMATS)}); {source.name} is not: {_OTHERS[parts[-1]]}."
            )
    head = source.head()
    return next((format for beginning, format in _BEGINNINGS if head.startswith(beginning)), "csv")
