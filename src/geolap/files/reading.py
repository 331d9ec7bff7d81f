"""One function that reads them all, and the sentence about whatever the reader of a format stumbles over."""

import warnings
from dataclasses import replace
from os import PathLike
from typing import Any

from .arrays import read_hdf5, read_mat, read_npy, read_npz, read_parquet, read_zarr
from .isolation import ISOLATED, in_another_process
from .source import FileError, Options, Source, located
from .table import Frame, Table, table_of, transposed
from .text import read_text, read_xlsx

__all__ = ["FORMATS", "parsed", "read_table"]

_READERS = {"npy": read_npy, "csv": read_text, "tsv": read_text, "parquet": read_parquet, "xlsx": read_xlsx, "npz": read_npz}
_READERS |= {"mat": read_mat, "h5ad": read_hdf5, "hdf5": read_hdf5, "zarr": read_zarr}
# How names end, and what is then inside.
FORMATS = {format: format for format in _READERS} | {"txt": "csv", "pq": "parquet", "h5": "hdf5"}
# How files begin; the second of .npz is an empty one.
_BEGINNINGS = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"PAR1": "parquet", b"MATLAB": "mat"}
_BEGINNINGS |= {b"\x89HDF\r\n\x1a\n": "hdf5"}
# Files that people have and that are not read; a pickle may run anything.
_OTHERS = ("xls", "ods", "pkl", "pickle", "feather", "arrow", "rds", "rdata", "json", "loom")


def read_table(path: str | PathLike[str], **asked: Any) -> Table:
    """Read points from a file, ``-`` for standard input, with the keywords of `geolap.files.source.Options`.

    Raises
    ------
    FileError
        Whatever is wrong with the file, in one sentence.
    """
    options = Options(**asked)
    with located(path, options) as source:
        format = options.format or _format_of(source)
        options = replace(options, format=format)
        frame = (in_another_process if format in ISOLATED else parsed)(source, format, options)
        if options.array is not None and frame.array is None:
            raise FileError(f"{source.name} has only one array; --array {options.array} was given: leave it out.")
        if options.transpose:
            frame = transposed(frame)
        elif format == "mat" and frame.block is not None and frame.block.shape[1] > len(frame.block):
            n, r = frame.block.shape  # many of MATLAB's users have points in columns
            frame.notes.append(f"There are more features ({r}) than points ({n}): use --transpose if columns are points.")
        return table_of(frame, format, options)


def parsed(source: Source, format: str, options: Options) -> Frame:
    """The content of a file of that format."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries, about metadata
            return _READERS[format](source, options)
    except (FileError, ImportError):
        raise
    except MemoryError:
        raise FileError(f"{source.name} must fit into memory; it does not: use part of it.") from None
    except Exception as error:  # of a library that reads the format: whatever it is, the file is at fault
        said = " ".join((str(error) or type(error).__name__).split())[:120]
        advice = "it is damaged, contains pickled objects, which are never loaded, or is of another kind (--format)"
        raise FileError(f"{source.name} must be a readable {format} file; reading it failed ({said}): {advice}.") from error


def _format_of(source: Source) -> str:
    """By the name; by the first bytes where that says nothing."""
    *stem, ending = source.path.name.lower().removesuffix(".gz").split(".")
    format = FORMATS.get(ending) if stem else None
    if source.path.is_dir():
        if format == "zarr" or any((source.path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")):
            return "zarr"
        raise FileError(f"{source.name} must be a file; it is a folder: name a file in it.")
    packed = source.path.suffix.lower() == ".gz" and format not in ("csv", "tsv", None)
    if packed or (stem and ending in _OTHERS):
        kinds = ", ".join(FORMATS)
        advice = "unpack it, or save it as .csv, .parquet or .npy; a pickle may run any code"
        raise FileError(f"The file format must be supported ({kinds}, and text as .gz); {source.name} is not: {advice}.")
    if format is not None:
        return format
    with source.path.open("rb") as file:
        head = file.read(16)
    return next((format for beginning, format in _BEGINNINGS.items() if head.startswith(beginning)), "csv")
