"""One function that reads them all, and the sentence about whatever the reader of a format stumbles over.

Some are read in a process of their own, because the library that reads them may not come back.  Measured on good files of
which up to four places were overwritten at random: scipy.io ended the process for 1 in 100 .mat files and zarr (blosc) for
1 in 400 folders, and HDF5 was caught in an endless loop by 1 in 3000 files.  pyarrow survived 26 000 such .parquet files,
NumPy maps or checks what it reads, and openpyxl is Python: these are read in place.

This guards against crashes, and against loops that Ctrl-C would not end; it does not guard against code, for the other
process has the rights of the same user.  That is why its answer may be pickled.  Nothing that a file holds is unpickled.
"""

import os
import pickle
import sys
import warnings
from dataclasses import replace
from os import PathLike
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

from .arrays import read_hdf5, read_mat, read_npy, read_npz, read_parquet, read_zarr
from .source import FileError, Source, located
from .table import Frame, Table, table_of
from .text import read_text, read_xlsx

__all__ = ["FORMATS", "ISOLATED", "parsed", "read_table", "serve"]

_READERS = {"npy": read_npy, "csv": read_text, "tsv": read_text, "parquet": read_parquet, "xlsx": read_xlsx, "npz": read_npz}
_READERS |= {"mat": read_mat, "h5ad": read_hdf5, "hdf5": read_hdf5, "zarr": read_zarr}
# How names end, and what is then inside.
FORMATS = {format: format for format in _READERS} | {"txt": "csv", "pq": "parquet", "h5": "hdf5"}
# How files begin; the second of .npz is an empty one.
_BEGINNINGS = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"PAR1": "parquet", b"MATLAB": "mat"}
_BEGINNINGS |= {b"\x89HDF\r\n\x1a\n": "hdf5"}
# What is read in a process of its own, and what is run there.
ISOLATED = ("mat", "h5ad", "hdf5", "zarr")
_CHILD = "import sys; sys.path[:] = sys.argv[2:]; from geolap.files.reading import serve; serve()"


def read_table(path: str | PathLike[str], **asked: Any) -> Table:
    """Read points from a file, ``-`` for standard input, with the keywords that `geolap.files.source.Source` describes.

    Whatever is wrong with the file is a `FileError`, one sentence.
    """
    with located(path, **asked) as source:
        source = replace(source, format=source.format or _format_of(source))
        frame = (_in_another_process if source.format in ISOLATED else parsed)(source)
        if source.array is not None and frame.array is None:
            raise FileError(f"{source.name} has only one array; --array {source.array} was given: leave it out.")
        if source.transpose:
            frame.notes.append("Rows and columns were transposed.")
        elif source.format == "mat" and frame.block is not None and frame.block.shape[1] > len(frame.block):
            n, r = frame.block.shape  # many of MATLAB's users have points in columns
            frame.notes.append(f"There are more features ({r}) than points ({n}): use --transpose if columns are points.")
        return table_of(frame, source)


def parsed(source: Source) -> Frame:
    """The content of a file whose format is known."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of libraries, about metadata
            return _READERS[str(source.format)](source)
    except (FileError, ImportError):
        raise
    except MemoryError:
        raise FileError(f"{source.name} must fit into memory; it does not: use part of it.") from None
    except Exception as error:  # of a library that reads the format: whatever it is, the file is at fault
        said = " ".join((str(error) or type(error).__name__).split())[:120]
        found = f"reading failed ({said}): correct it, or name its --separator or --format; pickled objects are never loaded"
        raise FileError(f"{source.name} must be a readable {source.format} file; {found}.") from error


def _in_another_process(source: Source) -> Frame:
    """What `parsed` answers there, if that process lives to answer."""
    request = pickle.dumps(replace(source, columns=None, drop=())).hex()
    command = [sys.executable, "-P", "-c", _CHILD, request, *sys.path]
    with Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL) as process:
        assert process.stdout is not None
        try:
            answer = pickle.load(process.stdout)  # as it comes: a large array is here only once
        except (EOFError, pickle.UnpicklingError):
            crash = f"the library that reads it crashed (code {process.wait()})"
            answer = FileError(f"{source.name} must be a readable {source.format} file; {crash}: write it again.")
        finally:
            process.kill()
    if isinstance(answer, Exception):
        raise answer
    return answer


def serve() -> None:
    """Answer on standard output what was asked by the first argument."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries may print
        try:
            answer: Frame | Exception = parsed(pickle.loads(bytes.fromhex(sys.argv[1])))
        except (FileError, ImportError) as error:
            answer = error
        pickle.dump(answer, answers, protocol=5)


def _format_of(source: Source) -> str:
    """By the name; by the first bytes where that says nothing."""
    if source.path.is_dir():
        return "zarr"
    *stem, ending = source.path.name.lower().removesuffix(".gz").split(".")
    if stem and ending in FORMATS:
        return FORMATS[ending]
    with source.path.open("rb") as file:
        head = file.read(16)
    return next((format for beginning, format in _BEGINNINGS.items() if head.startswith(beginning)), "csv")
