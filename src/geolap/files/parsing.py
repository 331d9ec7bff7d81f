"""The reader of each format, and the sentence about whatever it stumbles over."""

import warnings
from collections.abc import Callable
from typing import Any

from .arrays import read_mat, read_npy, read_npz
from .hierarchy import read_hdf5, read_zarr
from .parquet import read_parquet
from .source import FileError, Limits, Source
from .table import Frame
from .text import read_text

__all__ = ["NAMED", "parsed"]

# Formats that hold arrays by name; the others hold one table.
NAMED: dict[str, Callable[..., Frame]] = {
    "npz": read_npz,
    "mat": read_mat,
    "h5ad": read_hdf5,
    "hdf5": read_hdf5,
    "zarr": read_zarr,
}
_READERS = {**NAMED, "csv": read_text, "tsv": read_text, "npy": read_npy, "parquet": read_parquet}


def parsed(source: Source, format: str, limits: Limits, **options: Any) -> Frame:
    """The content of a file of that format."""
    reader = _READERS[format]
    try:
        if format == "mat":
            with source.path.open("rb") as file:
                reader = read_hdf5 if file.read(10).startswith((b"MATLAB 7.3", b"\x89HDF")) else reader
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries, about metadata
            return reader(source, limits, **options)
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{source.name} must fit into memory; it does not: give a part of it.") from None
    except Exception as error:  # of a library that reads the format: whatever it is, the file is at fault
        said = " ".join((str(error) or type(error).__name__).split())[:120]
        advice = "it was cut short, damaged, or is of another kind (--format)"
        raise FileError(f"{source.name} must be a readable {format} file; reading it failed ({said}): {advice}.") from error
