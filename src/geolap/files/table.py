"""From the columns of a file to points: which columns are features, which name the rows, which holds labels.

Everything that is decided here without being asked for is said in the notes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from .columns import Meaning, as_word, cells_of, meaning_of
from .source import FileError

__all__ = ["Frame", "Table", "listed", "named", "named_alike", "table_of"]

# A first column that counts so many rows is no feature, whatever its name; how many names a sentence lists, and how long.
_COUNTED, _LISTED, _LONGEST = 5, 8, 60


@dataclass
class Frame:
    """What a file holds: an array of points or a table, and what may name or label its rows."""

    columns: dict[str, Any]  # of NumPy or pyarrow, in the order of the file; None if they were not read
    block: np.ndarray | None = None  # (n_points, n_features), if it is an array; columns are beside it then
    names: list[str] | None = None  # of the features of the block
    row_names: Any = None
    index: str | None = None  # the column that names the rows, if the file says which
    array: str | None = None  # which of the file's arrays the block is
    notes: list[str] = field(default_factory=list)
    written: bool = False  # whether all columns are words, some of which are numbers

    def every_column(self) -> dict[str, Any]:
        """Those of the block, by position where they have no names, and those beside it that are as long."""
        if self.block is None:
            return self.columns
        titles = map(str, range(self.block.shape[1])) if self.names is None else self.names
        features = dict(zip(titles, self.block.T, strict=True))
        beside = {title: cells for title, cells in self.columns.items() if cells is None or len(cells) == len(self.block)}
        return {**features, **beside, **features}

    def meanings(self, titles: Iterable[str]) -> dict[str, Meaning]:
        every = self.every_column()
        return {title: meaning_of(every[title], written=self.written) for title in titles}

    def transposed(self, name: str) -> "Frame":
        """With rows for columns: what names the one names the other."""
        block, names, row_names, beside = self.block, self.row_names, self.names, self.columns
        notes = [*self.notes, "Rows and columns were exchanged."]
        if block is None:
            meanings, beside = self.meanings(self.columns), {}
            first = next(iter(meanings))
            if meanings[first].numbers is None and not meanings[first].fault:
                del meanings[first]
                names = cells_of(self.columns[first]).tolist()
            row_names = _features(meanings, True, name, notes)
            block = np.column_stack([np.asarray(meaning.numbers) for meaning in meanings.values()])
        names = None if names is None or len({*names}) < len(names) else [str(as_word(title)) for title in names]
        return Frame(beside, block.T, names, row_names, array=self.array, notes=notes)


@dataclass(frozen=True)
class Table:
    """The points of a file."""

    points: np.ndarray  # (n_points, n_features)
    columns: tuple[str, ...] | None  # names of the features, if they have any
    row_names: tuple[str, ...] | None
    labels: np.ndarray | None  # whole numbers, −1 where there is none, or words, None where there is none; or as they were
    notes: tuple[str, ...]  # what was decided about the file, a sentence each
    name: str
    format: str
    array: str | None = None  # which of the file's arrays the points are
    weights: np.ndarray | None = None  # how many points each row stands for
    code: str | None = None  # Python that reads the same points


def table_of(
    frame: Frame,
    name: str,
    format: str,
    *,
    columns: Iterable[str] | None,
    drop: Iterable[str] | None,
    labels: str | None,
    weights: str | None,
    index: str | None,
    nothing: list[float],
    missing: str,
    classes: bool,
) -> Table:
    """Choose features, labels, weights and row names, as `geolap.files.read_table` is asked to."""
    every, notes = frame.every_column(), list(frame.notes)
    target, counting = (None if title is None else _one_of(title, every, name) for title in (labels, weights))
    rows = None if index == "none" else _index_column(frame, every, index, target, name, notes)
    row_names = cells_of(every[rows]) if rows is not None else None if index == "none" else frame.row_names
    known = None if target is None else cells_of(every[target])
    known = _classes(known, labels) if known is not None and classes else known
    counts = None if counting is None else _counts(every[counting], counting, name)
    unwanted = {target, counting, rows, *_some_of(drop or (), every, name)}
    chosen = every if columns is None else _some_of(columns, every, name)
    features = _features(frame.meanings(c for c in chosen if c not in unwanted), columns is not None, name, notes)
    if frame.block is not None and [*features] == list(every)[: frame.block.shape[1]]:
        points = frame.block
    else:
        points = np.column_stack([*features.values()])
    if nothing and np.isin(points, nothing).any():
        points = np.where(np.isin(points, nothing), np.nan, points)

    titles = [*features]
    if points.dtype.kind == "f" and not isinstance(points, np.memmap) and not np.isfinite(points).all():
        good = _complete(points, titles, missing, name)
        if missing == "rows":
            notes.append(f"{len(points) - len(good)} of {len(points)} rows with missing values were left out.")
            row_names = range(len(points)) if row_names is None else row_names
            points = points[good]
            known, counts, row_names = (None if v is None else np.asarray(v)[good] for v in (known, counts, row_names))
        else:
            left = listed(title for k, title in enumerate(titles) if k not in good)
            notes.append(f"Columns with missing values were left out: {left}.")
            points, titles = points[:, good], [titles[k] for k in good]
    named = None if frame.block is not None and frame.names is None else tuple(titles)
    row_names = None if row_names is None else tuple(str(as_word(value)) for value in row_names)
    return Table(points, named, row_names, known, tuple(notes), name, format, frame.array, counts)


def _features(meanings: dict[str, Meaning], asked: bool, name: str, notes: list[str]) -> dict[str, np.ndarray]:
    """Those of the columns that are numbers; one that is not is a mistake if it was asked for, or nearly is one."""
    features, left_out, n_truths = {}, dict[str, list[str]](), 0
    for title, (numbers, held, fault) in meanings.items():
        if fault:
            raise FileError(f"A column must hold numbers, truths or text; '{title}' of {name} holds {fault} '{title}'.")
        if numbers is not None:
            features[title], n_truths = numbers, n_truths + (held == "truths")
        elif asked:
            raise FileError(
                f"Features must be numbers; column '{title}' of {name} holds {held or 'no feature'}: leave it out."
            )
        elif held:
            left_out.setdefault(held, []).append(title)
    for held, titles in left_out.items():
        notes.append(f"{'Columns' if len(titles) > 1 else 'Column'} left out, {held}: {listed(titles)}.")
    if n_truths:
        notes.append(f"True and false were read as 1 and 0 ({n_truths} columns).")
    if not features:
        held = f"there is {listed(meanings)}" if meanings else "none is left"
        raise FileError(f"{name} must have a column of numbers that may be a feature; {held}: choose other columns.")
    return features


def _complete(points: np.ndarray, titles: list[str], missing: str, name: str) -> np.ndarray:
    """The rows, or columns, without missing values."""
    finite = np.isfinite(points)
    if missing == "error":
        row, column = np.argwhere(~finite)[0]
        value = "missing" if np.isnan(points[row, column]) else points[row, column]
        where = f"in {name} the value in row {row + 1}, column '{titles[column]}' is {value}"
        advice = "correct it, or leave such rows or columns out with --missing rows or --missing columns"
        raise FileError(f"Points must be complete and finite; {where}: {advice}.")
    good = np.flatnonzero(finite.all(axis=int(missing == "rows")))
    if not len(good):
        raise FileError(f"{name} must have complete {missing}; every one has missing values: fill them in.")
    return good


def _one_of(wanted: str, every: dict[str, Any], name: str) -> str:
    """The column of that name, or at that position."""
    titles = list(every)
    if named_alike(wanted, titles) is None and wanted.lstrip("-").isdecimal() and -len(titles) <= int(wanted) < len(titles):
        return titles[int(wanted)]
    return named(wanted, titles, name, "column")


def _some_of(wanted: Iterable[str], every: dict[str, Any], name: str) -> list[str]:
    """Columns by name, pattern (``gene_*``) or range of positions (``0:10``), in the order asked for."""
    chosen: dict[str, None] = {}
    for part in (part for item in wanted for part in ([item] if item in every else item.split(","))):
        ends = part.split(":")
        if part not in every and len(ends) == 2 and all(not end or end.lstrip("-").isdecimal() for end in ends):
            found = list(every)[slice(*(int(end) if end else None for end in ends))]
        elif part not in every and set(part) & set("*?["):
            found = [title for title in every if fnmatchcase(title, part)]
        else:
            found = [_one_of(part, every, name)]
        if not found:
            raise FileError(f"Every choice of columns must match some; '{part}' matches none of {name}: correct it.")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def _index_column(
    frame: Frame, every: dict[str, Any], index: str | None, target: str | None, name: str, notes: list[str]
) -> str | None:
    """The column that names the rows: as asked for, as the file says, or the first of a table if it looks like it."""
    if index is not None:
        return _one_of(index, every, name)
    if frame.index is not None and frame.index != target:
        return frame.index
    title = next(iter(every))
    if frame.block is not None or title == target or len(every) == 1:
        return None
    numbers, held, _ = frame.meanings([title])[title]
    if numbers is not None:
        if len(numbers) < _COUNTED or numbers[0] not in (0, 1) or (np.diff(numbers) != 1).any():
            return None
        notes.append("The first column counts the rows and is no feature (--index none makes it one).")
        return title
    words = cells_of(every[title]).tolist() if held in ("text", "times") else [None]
    if None in words or len(set(words)) < len(words):
        return None
    notes.append(f"The first column{f', {title!r},' if title else ''} names the rows.")
    return title


def _counts(cells: Any, title: str, name: str) -> np.ndarray:
    """Weights as numbers."""
    try:
        return np.asarray(cells_of(cells), dtype=float)
    except (TypeError, ValueError):
        raise FileError(f"Weights must be numbers; column '{title}' of {name} holds others: name another column.") from None


def _classes(values: np.ndarray, labels: str | None) -> np.ndarray:
    """Labels as whole numbers, −1 where there is none, or as words, None where there is none."""
    words = np.array([as_word(value) for value in values.tolist()], object)
    known = np.array([word is not None for word in words], bool)
    try:
        numbers = words[known].astype(float)
    except ValueError:
        return words
    if not len(numbers) or not np.isfinite(numbers).all():
        return words
    if (numbers % 1).any():
        raise FileError(f"Labels must be classes, such as 0, 1, 2 or words; column '{labels}' holds fractions: bin them.")
    if any(word.removesuffix(".0") != f"{number:.0f}" for word, number in zip(words[known], numbers, strict=True)):
        return words  # 007 is a word
    whole = np.full(len(words), -1)
    whole[known] = numbers
    return whole


def named(wanted: str, names: Iterable[str], holder: str, what: str) -> str:
    """The one of these that is asked for, or the sentence that there is none."""
    names = list(names)
    alike = named_alike(wanted, names)
    if alike is not None:
        return alike
    close = [name for name in names if name.endswith(f"/{wanted}")] or get_close_matches(wanted, names[:10_000], 1, 0.7)
    hint = f"did you mean '{close[0]}'?" if close else f"it has {listed(names)}." if names else "it has none."
    raise FileError(f"{holder} must hold the {what} asked for; there is no '{wanted}': {hint}")


def named_alike(wanted: str, names: Iterable[str]) -> str | None:
    """The name that is the same, or else the only one that is but for small and capital letters."""
    alike = [name for name in names if name.casefold() == wanted.casefold()]
    return wanted if wanted in alike else alike[0] if len(alike) == 1 else None


def listed(names: Iterable[object]) -> str:
    """Some names, in words."""
    words = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in map(str, names)]
    more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
    return ", ".join(f"'{word}'" for word in words[:_LISTED]) + more
