"""Where data comes from, and how much of it may be read.

A regular file stays where it is; standard input and pipes are taken into memory, no further than the limit.
"""

import io
import stat
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from math import prod
from pathlib import Path

from ..memory import available_memory, in_words

__all__ = ["FileError", "Limits", "Source", "needed_library"]

# What a matrix may have before anybody asks whether that was meant.
_MOST_COLUMNS = 100_000
# Beyond this many bytes, something that unpacks to so many times its size is no data.
_SUSPICIOUS, _MOST_PACKED = 2**30, 200
# Sparse matrices up to this many bytes are made dense.
_SMALL = 2**28


class FileError(ValueError):
    """A file that cannot be used; the message is the sentence to print."""


@dataclass(frozen=True)
class Limits:
    """How much may be read: bytes in memory (half of what is available by default), and columns."""

    bytes: float
    columns: int

    @classmethod
    def of(cls, max_bytes=None, max_columns=None):
        return cls(available_memory() / 2 if max_bytes is None else max_bytes, max_columns or _MOST_COLUMNS)

    def check_array(self, name, shape, itemsize):
        """Refuse an array before it is read."""
        self.check_bytes(name, prod(int(n) for n in shape) * itemsize, f"{' × '.join(map(str, shape))} numbers")
        if len(shape) == 2:
            self.check_columns(name, shape[1])

    def check_bytes(self, name, n_bytes, what="its content"):
        if n_bytes > self.bytes:
            raise FileError(
                f"{name} may take {in_words(self.bytes)} of memory; {what} would take {in_words(n_bytes)}: give a part of "
                "it, or raise --max-size."
            )

    def check_packing(self, name, packed, unpacked):
        """Refuse a small file that unpacks to a huge one before it fills memory."""
        self.check_bytes(name, unpacked)
        if unpacked > _SUSPICIOUS and unpacked > _MOST_PACKED * packed:
            raise FileError(
                f"{name} may unpack to {_MOST_PACKED} times its size; {in_words(packed)} would become {in_words(unpacked)} "
                "or more: unpack it yourself if you trust it."
            )

    def check_columns(self, name, n_columns):
        if n_columns > self.columns:
            raise FileError(
                f"{name} may have {self.columns} columns; it has {n_columns}: check that points are rows (transpose it if "
                "not), or raise --max-columns."
            )

    def check_sparse(self, name, shape, advice):
        """Refuse a sparse matrix that is too large to be made dense."""
        n_bytes = 8 * prod(int(n) for n in shape)
        if n_bytes > min(_SMALL, self.bytes):
            raise FileError(
                f"{name} must be dense, or small enough to be made so ({in_words(_SMALL)}); it is a sparse matrix of "
                f"{' × '.join(map(str, shape))}, {in_words(n_bytes)} when dense: {advice}."
            )
        self.check_columns(name, shape[1])


@dataclass(frozen=True)
class Source:
    """A file, a folder, or what came through a pipe."""

    name: str  # as sentences call it
    path: Path | None
    content: bytes = b""  # of a pipe

    @classmethod
    def at(cls, path, limits):
        """The file at that path; ``-`` is standard input."""
        if str(path) == "-":
            if sys.stdin is None or sys.stdin.isatty():
                raise FileError("Standard input must carry a file; it is a terminal: pipe a file into it, or name one.")
            return cls("Standard input", None, _all_of(sys.stdin.buffer, "Standard input", limits))
        path = Path(path)
        name = f"'{path.name or path}'"
        try:
            mode = path.stat().st_mode
        except OSError as error:
            raise FileError(
                f"A file must be there to be read; '{path}' is not ({_reason(error)}): check its name."
            ) from None
        except ValueError:  # a zero byte in the name
            raise FileError(f"A file must be there to be read; {str(path)!r} cannot be a name: check it.") from None
        try:
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                with path.open("rb") as pipe:
                    return cls(name, None, _all_of(pipe, name, limits))
            if stat.S_ISREG(mode):
                path.open("rb").close()
        except OSError as error:
            raise FileError(f"{name} must be readable; it is not ({_reason(error)}): check its permissions.") from None
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise FileError(f"{name} must be a file, a folder or a pipe; it is a device: name a file.")
        return cls(name, path)

    @contextmanager
    def open(self):
        """The bytes, as a stream that can be searched."""
        if self.path is None:
            yield io.BytesIO(self.content)
        else:
            with self.path.open("rb") as file:
                yield file

    def place(self):
        """What libraries that open files themselves are given."""
        return io.BytesIO(self.content) if self.path is None else str(self.path)

    @property
    def size(self):
        return len(self.content) if self.path is None else self.path.stat().st_size

    def head(self, n=4096):
        with self.open() as file:
            return file.read(n)


def needed_library(name, what):
    """Import a library that only some formats need."""
    try:
        return import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise FileError(f"{what} needs {package}, which is not installed: pip install 'geolap[files]'.") from None


def _all_of(stream, name, limits):
    limits = Limits(limits.bytes / 4, limits.columns)  # held as bytes, and again as what they say
    parts, total = [], 0
    while part := stream.read(2**20):
        total += len(part)
        limits.check_bytes(name, total)
        parts.append(part)
    return b"".join(parts)


def _reason(error):
    return (error.strerror or str(error)).lower()
