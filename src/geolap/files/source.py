"""Where data comes from, and how much of it may be read."""

import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from math import prod
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from ..memory import available_memory, in_words

__all__ = ["FileError", "Limits", "Source", "located", "needed_library"]

# What a matrix may have before anybody asks whether that was meant.
_MOST_COLUMNS = 100_000
# Beyond this many bytes, something that unpacks to so many times its size is no data.
_SUSPICIOUS, _MOST_PACKED = 2**30, 200


class FileError(ValueError):
    """A file that cannot be used; the message is the sentence to print."""


@dataclass(frozen=True)
class Limits:
    """How much may be read: bytes in memory (half of what is available by default), and columns."""

    bytes: float
    columns: int

    @classmethod
    def of(cls, max_bytes: float | None = None, max_columns: int | None = None) -> "Limits":
        return cls(available_memory() / 2 if max_bytes is None else max_bytes, max_columns or _MOST_COLUMNS)

    def check_array(self, name: str, shape: Sequence[int], itemsize: int) -> None:
        """Refuse an array before it is read."""
        self.check_bytes(name, prod(map(int, shape)) * itemsize, f"{' × '.join(map(str, shape))} numbers")
        if len(shape) == 2:
            self.check_columns(name, shape[1])

    def check_bytes(self, name: str, n_bytes: float, what: str = "its content") -> None:
        if n_bytes > self.bytes:
            most, much = in_words(self.bytes), in_words(n_bytes)
            advice = "give a part of it, or raise --max-size"
            raise FileError(f"{name} may take {most} of memory; {what} would take {much}: {advice}.")

    def check_packing(self, name: str, packed: int, unpacked: int) -> None:
        """Refuse a small file that unpacks to a huge one before it fills memory."""
        self.check_bytes(name, unpacked)
        if unpacked > _SUSPICIOUS and unpacked > _MOST_PACKED * packed:
            grown = f"{in_words(packed)} would become {in_words(unpacked)} or more"
            raise FileError(f"{name} may unpack to {_MOST_PACKED} times its size; {grown}: unpack it if you trust it.")

    def check_columns(self, name: str, n_columns: int) -> None:
        if n_columns > self.columns:
            advice = "check that points are rows, not columns, or raise --max-columns"
            raise FileError(f"{name} may have {self.columns} columns; it has {n_columns}: {advice}.")


@dataclass(frozen=True)
class Source:
    """A file or folder, and what sentences call it."""

    name: str
    path: Path


@contextmanager
def located(path: str | PathLike[str], limits: Limits) -> Iterator[Source]:
    """The file or folder at that path; what comes through a pipe, or from ``-``, is a file for as long as it is read."""
    if str(path) == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise FileError("Standard input must carry a file; it is a terminal: pipe a file into it, or name one.")
        with _spooled("Standard input", sys.stdin.buffer, limits) as source:
            yield source
        return
    place = Path(path)
    name = f"'{place.name or place}'"
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError) as error:  # the latter for a zero byte in the name
        why = str(getattr(error, "strerror", None) or error).lower()
        raise FileError(f"File {str(path)!r} cannot be opened ({why}): check its name.") from None
    if stat.S_ISFIFO(mode):
        with place.open("rb") as pipe, _spooled(name, pipe, limits) as source:
            yield source
    elif stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        yield Source(name, place)
    else:
        raise FileError(f"{name} must be a file, a folder or a pipe; it is a device: name a file.")


@contextmanager
def _spooled(name: str, stream: BinaryIO, limits: Limits) -> Iterator[Source]:
    with TemporaryDirectory(prefix="geolap-", ignore_cleanup_errors=True) as folder:
        path, length = Path(folder) / "pipe", 0
        with path.open("wb") as file:
            while part := stream.read(2**20):
                length += file.write(part)
                limits.check_bytes(name, length)
        yield Source(name, path)


def needed_library(name: str, what: str) -> Any:
    """Import a library that only some formats need."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise FileError(f"{what} needs {package}, which is not installed: pip install 'geolap[files]'.") from None
