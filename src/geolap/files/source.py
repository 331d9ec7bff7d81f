"""Where data comes from, what was asked of it, and how much of it may be read."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import inf
from os import PathLike
from os.path import exists, isdir, isfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from ..runtime.memory import available_memory, in_words
from ..sentences import listed

__all__ = ["FileError", "Source", "located", "named", "named_alike"]

# Beyond this many bytes, something that unpacks to so many times its size is no data.
_SUSPICIOUS, _MOST_PACKED = 2**30, 200


class FileError(ValueError):
    """A file that cannot be used; the message is the sentence to print."""


@dataclass(frozen=True)
class Source:
    """A file or folder, what sentences call it, and what was asked of it; what is None is found."""

    name: str
    path: Path
    format: str | None = None  # one of the values of `geolap.files.FORMATS`
    array: str | None = None  # which array or sheet, if there are several
    columns: Sequence[str] | None = None  # features: names, patterns (gene_*), ranges of positions (0:10)
    drop: Sequence[str] = ()  # features to leave out, likewise
    labels: str | None = None  # the column of labels, or an array of the same file
    weights: str | None = None  # that which says how many points each row stands for
    index: str | None = None  # that which names the rows, "none" if no column does
    header: bool | None = None  # of text: whether the first line names the columns
    separator: str | None = None  # of text: what is between cells
    decimal: str | None = None  # of text: what is in fractions
    thousands: str | None = None  # of text: the sign between thousands
    skip_rows: int = 0  # of text and sheets: lines above the table
    na_values: Sequence[str] = ()  # further words and numbers that stand for missing values
    transpose: bool = False  # whether columns are the points
    missing: str = "error"  # whether to leave out "rows" or "columns" with missing values
    classes: bool = True  # whether labels must be classes rather than any values
    max_bytes: float = inf  # how much may be read, by default half of the memory available
    max_columns: int = 100_000

    def check(self, n_bytes: float, n_columns: int = 1, *, packed: bool = False) -> None:
        """Refuse what is too large before it is read, also a small file that unpacks to a huge one."""
        if n_bytes > self.max_bytes:
            found = f"its content would take {in_words(n_bytes)}: use part of it, or raise --max-size"
            raise FileError(f"{self.name} may take {in_words(self.max_bytes)} of memory; {found}.")
        if n_columns > self.max_columns:
            advice = "check that points are rows, not columns, or raise --max-columns"
            raise FileError(f"{self.name} may have {self.max_columns} columns; it has {n_columns}: {advice}.")
        if packed and n_bytes > max(_SUSPICIOUS, _MOST_PACKED * self.path.stat().st_size):
            grown = f"it would become {in_words(n_bytes)} or more: unpack it if you trust it"
            raise FileError(f"{self.name} may unpack to {_MOST_PACKED} times its size; {grown}.")

    def check_archive(self) -> None:
        with ZipFile(self.path) as archive:
            self.check(sum(member.file_size for member in archive.infolist()), packed=True)


@contextmanager
def located(path: str | PathLike[str], **asked: Any) -> Iterator[Source]:
    """The file or folder at that path; what comes through a pipe, or from ``-``, is a file for as long as it is read."""
    given = {"max_bytes": available_memory() / 2, **{name: value for name, value in asked.items() if value is not None}}
    source = Source(f"'{Path(path).name or path}'", Path(path), **given)
    is_standard = str(path) == "-"
    if is_standard:
        source = replace(source, name="Standard input")
    elif isfile(path) or isdir(path):
        yield source
        return
    elif not (exists(path) and source.path.is_fifo()):
        raise FileError(f"{str(path)!r} must be a file, a folder or a pipe; there is none of that name: check it.")
    with TemporaryDirectory(prefix="geolap-", ignore_cleanup_errors=True) as folder:
        source = replace(source, path=Path(folder) / "pipe")
        with nullcontext(sys.stdin.buffer) if is_standard else open(path, "rb") as pipe, source.path.open("wb") as file:
            while part := pipe.read(2**20):
                file.write(part)
                source.check(file.tell())
        yield source


def named(wanted: str, names: Iterable[str], holder: str, what: str) -> str:
    """The one of these that is asked for, or the sentence that there is none."""
    names = list(names)
    if (alike := named_alike(wanted, names)) is not None:
        return alike
    close = get_close_matches(wanted, names[:10_000], 1, 0.65)
    hint = f"did you mean '{close[0]}'?" if close else f"it has {listed(names) or 'none'}."
    raise FileError(f"{holder} must have the requested {what}; there is no '{wanted}': {hint}")


def named_alike(wanted: str, names: Iterable[str]) -> str | None:
    """The name that is the same, or else the only one that is but for small and capital letters."""
    alike = [name for name in names if name.casefold() == wanted.casefold()]
    return wanted if wanted in alike else alike[0] if len(alike) == 1 else None
