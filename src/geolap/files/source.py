"""Where data comes from, how much of it may be read, and what its reader is told."""

import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from math import prod
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from ..memory import available_memory, in_words

__all__ = ["FileError", "Options", "Source", "listed", "located", "needed_library"]

# Beyond this many bytes, something that unpacks to so many times its size is no data.
_SUSPICIOUS, _MOST_PACKED = 2**30, 200
_LISTED, _LONGEST = 8, 60  # how many names a sentence lists, and how long


class FileError(ValueError):
    """A file that cannot be used; the message is the sentence to print."""


@dataclass(frozen=True)
class Options:
    """What is asked of a file, as `geolap.files.read_table` explains; what is None is found."""

    array: str | None = None
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    labels: str | None = None
    weights: str | None = None
    index: str | None = None
    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    skip_rows: int = 0
    na_values: tuple[str, ...] = ()
    missing: str = "error"
    classes: bool = True

    @property
    def beside(self) -> list[str]:
        """Columns or arrays that are wanted beside the points."""
        return [name for name in (self.labels, self.weights, self.index) if name is not None]


@dataclass(frozen=True)
class Source:
    """A file or folder, what sentences call it, and how much may be read of it: bytes in memory, and columns."""

    name: str
    path: Path
    max_bytes: float
    max_columns: int = 100_000

    def part(self, name: str) -> "Source":
        """One of the arrays of a file."""
        return replace(self, name=f"{listed([name])} in {self.name}" if name else self.name)

    def check_array(self, shape: Sequence[int], itemsize: int = 8) -> None:
        """Refuse an array before it is read."""
        self.check_bytes(prod(map(int, shape)) * itemsize, f"{' × '.join(map(str, shape))} numbers")
        self.check_columns(shape[1] if len(shape) == 2 else 1)

    def check_bytes(self, n_bytes: float, what: str = "its content") -> None:
        if n_bytes > self.max_bytes:
            found = f"{what} would take {in_words(n_bytes)}: give a part of it, or raise --max-size"
            raise FileError(f"{self.name} may take {in_words(self.max_bytes)} of memory; {found}.")

    def check_packing(self, unpacked: int) -> None:
        """Refuse a small file that unpacks to a huge one before it fills memory."""
        self.check_bytes(unpacked)
        packed = self.path.stat().st_size
        if unpacked > max(_SUSPICIOUS, _MOST_PACKED * packed):
            grown = f"{in_words(packed)} would become {in_words(unpacked)} or more: unpack it if you trust it"
            raise FileError(f"{self.name} may unpack to {_MOST_PACKED} times its size; {grown}.")

    def check_columns(self, n_columns: int) -> None:
        if n_columns > self.max_columns:
            advice = "check that points are rows, not columns, or raise --max-columns"
            raise FileError(f"{self.name} may have {self.max_columns} columns; it has {n_columns}: {advice}.")


@contextmanager
def located(path: str | PathLike[str], max_bytes: float | None, max_columns: int | None) -> Iterator[Source]:
    """The file or folder at that path; what comes through a pipe, or from ``-``, is a file for as long as it is read."""
    most = available_memory() / 2 if max_bytes is None else max_bytes
    source = Source(f"'{Path(path).name or path}'", Path(path), most, max_columns or Source.max_columns)
    opened: AbstractContextManager[BinaryIO]
    if str(path) == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise FileError("Standard input must carry a file; it is a terminal: pipe a file into it, or name one.")
        source, opened = replace(source, name="Standard input"), nullcontext(sys.stdin.buffer)
    else:
        try:
            mode = source.path.stat().st_mode
        except (OSError, ValueError) as error:  # the latter for a zero byte in the name
            why = str(getattr(error, "strerror", None) or error).lower()
            raise FileError(f"File {str(path)!r} cannot be opened ({why}): check its name.") from None
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            yield source
            return
        if not stat.S_ISFIFO(mode):
            raise FileError(f"{source.name} must be a file, a folder or a pipe; it is a device: name a file.")
        opened = source.path.open("rb")
    with opened as pipe, TemporaryDirectory(prefix="geolap-", ignore_cleanup_errors=True) as folder:
        source = replace(source, path=Path(folder) / "pipe")
        with source.path.open("wb") as file:
            while part := pipe.read(2**20):
                file.write(part)
                source.check_bytes(file.tell())
        yield source


def needed_library(name: str, what: str) -> Any:
    """Import a library that only some formats need."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise FileError(f"{what} needs {package}, which is not installed: pip install 'geolap[files]'.") from None


def listed(names: Iterable[object]) -> str:
    """Some names, in words."""
    words = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in map(str, names)]
    more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
    return ", ".join(f"'{word}'" for word in words[:_LISTED]) + more
