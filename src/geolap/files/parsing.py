"""The reader of each format, and the sentence about whatever it stumbles over."""

import warnings

from .arrays import brief, read_npy, read_npz
from .hierarchy import is_mat73, read_hdf5, read_zarr
from .matlab import read_mat
from .parquet import read_parquet
from .source import FileError
from .table import Frame
from .text import read_text

__all__ = ["COMPILED", "parsed"]

# Formats that compiled libraries parse, some of which crash on damaged files (see `geolap.files.isolation`).
COMPILED = ("mat", "parquet", "h5ad", "hdf5", "zarr")


def parsed(source, format, limits, *, array=None, beside=(), **text) -> Frame:
    """The content of a file of that format.

    ``beside`` are columns wanted besides the features; ``text`` holds what is known about a file of text.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries, about metadata
            return _parsed(source, format, limits, array, beside, text)
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{source.name} must fit into memory; it does not: give a part of it.") from None
    except Exception as error:  # of a library that reads the format: whatever it is, the file is at fault
        raise FileError(
            f"{source.name} must be a readable {format} file; reading it failed ({brief(error)}): it was cut short, "
            "damaged, or is of another kind (--format)."
        ) from error


def _parsed(source, format, limits, array, beside, text):
    if source.path is not None and source.path.is_dir() and format != "zarr":
        raise FileError(f"{source.name} must be a file; it is a folder: name a file in it.")
    if format in ("csv", "tsv"):
        return read_text(source, limits, beside=beside, **text)
    if format == "npy":
        return read_npy(source, limits)
    if format == "parquet":
        return read_parquet(source, limits, beside=beside)
    reader = {"npz": read_npz, "mat": read_mat, "zarr": read_zarr}.get(format, read_hdf5)
    if format == "mat" and is_mat73(source.head()):
        reader = read_hdf5
    return reader(source, limits, array=array, beside=beside)
