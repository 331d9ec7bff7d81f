"""From the columns of a file to points: which columns are features, which name the rows, which holds labels.

Everything that is decided here without being asked for is said in the notes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from .source import FileError

__all__ = ["MISSING", "Column", "Frame", "Table", "as_word", "listed", "named_alike", "table_of"]

# Cells that say that there is nothing; "none" may well be a class.
MISSING = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "-nan", "-NaN", "null", "NULL", "None", "NaT", "?")
)
# A first column that counts so many rows is no feature, whatever its name; how many names a sentence lists, and how long.
_COUNTED, _LISTED, _LONGEST = 5, 8, 60


@dataclass
class Column:
    """A column of a file: its cells as they are written, and its numbers or what it holds instead."""

    cells: Any = None  # of NumPy or pyarrow; None if they were not read
    numbers: np.ndarray | None = None  # NaN where missing
    held: str = ""
    fault: str | None = None  # the sentence about a column that should hold numbers

    def values(self) -> np.ndarray:
        if hasattr(self.cells, "to_pylist"):
            return np.array([v.strip() if isinstance(v, str) else v for v in self.cells.to_pylist()], object)
        if self.cells is None:
            raise FileError(f"A column that names or labels points must hold words or numbers; this one holds {self.held}.")
        return np.asarray(self.cells)


@dataclass
class Frame:
    """What a file holds: an array of points or a table, and what may name or label its rows."""

    columns: dict[str, Column]  # in the order of the file
    block: np.ndarray | None = None  # (n_points, n_features), if it is an array; columns are beside it then
    names: list[str] | None = None  # of the features of the block
    row_names: Any = None
    index: str | None = None  # the column that names the rows, if the file says which
    array: str | None = None  # which of the file's arrays the block is
    notes: list[str] = field(default_factory=list)

    def every_column(self) -> dict[str, Column]:
        """Those of the block, by position where they have no names, and those beside it."""
        if self.block is None:
            return self.columns
        titles = map(str, range(self.block.shape[1])) if self.names is None else self.names
        features = {title: Column(column, column) for title, column in zip(titles, self.block.T, strict=True)}
        return {**features, **self.columns, **features}

    def transposed(self, name: str) -> "Frame":
        """With rows for columns: what names the one names the other."""
        if self.block is not None:
            block, names, row_names = self.block, self.row_names, self.names
        else:
            first = next(iter(self.columns))
            words = self.columns[first].numbers is None and not self.columns[first].fault
            features = [title for title in self.columns if not (words and title == first)]
            for title in features:
                if self.columns[title].numbers is None:
                    advice = "drop such rows or columns first"
                    raise FileError(f"A table that is transposed must hold numbers; '{title}' of {name} does not: {advice}.")
            block = np.column_stack([np.asarray(self.columns[title].numbers) for title in features])
            names, row_names = self.columns[first].values().tolist() if words else None, features
        names = None if names is None or len({*names}) < len(names) else [str(as_word(title)) for title in names]
        notes = [*self.notes, "Rows and columns were exchanged."]
        beside = {} if self.block is None else self.columns
        return Frame(beside, block.T, names, row_names, array=self.array, notes=notes)

    def fitting(self) -> "Frame":
        """Without arrays beside the points that are not as long."""
        n = None if self.block is None else len(self.block)
        columns = {title: c for title, c in self.columns.items() if n is None or c.cells is None or len(c.cells) == n}
        return replace(self, columns=columns)

    def without(self, values: Iterable[float]) -> None:
        """Numbers that stand for nothing become NaN."""
        nothing = list(values)
        if self.block is not None and np.isin(self.block, nothing).any():
            self.block = np.where(np.isin(self.block, nothing), np.nan, self.block)
        for column in self.columns.values():
            if column.numbers is not None:
                column.numbers = np.where(np.isin(column.numbers, nothing), np.nan, column.numbers)


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
    columns: Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    labels: str | None = None,
    weights: str | None = None,
    index: str | None = None,
    missing: str = "error",
    classes: bool = True,
) -> Table:
    """Choose features, labels, weights and row names, as `geolap.files.read_table` is asked to."""
    every, notes = frame.every_column(), list(frame.notes)
    target = None if labels is None else _one_of(labels, every, name)
    rows = None if index == "none" else _index_column(frame, every, index, target, name, notes)
    row_names = every[rows].values() if rows is not None else None if index == "none" else frame.row_names
    known = None if target is None else every[target].values()
    known = _classes(known, labels) if known is not None and classes else known
    counting = None if weights is None else _one_of(weights, every, name)
    counts = None if counting is None else _counts(every[counting], counting, name)
    unwanted = {target, counting, rows, *_some_of(drop or (), every, name)}
    chosen = every if columns is None else _some_of(columns, every, name)
    features = _features({c: every[c] for c in chosen if c not in unwanted}, columns is not None, name, notes)
    if frame.block is not None and features == list(every)[: frame.block.shape[1]]:
        points = frame.block
    else:
        points = np.column_stack([np.asarray(every[feature].numbers) for feature in features])

    if points.dtype.kind == "f" and not isinstance(points, np.memmap) and not np.isfinite(points).all():
        finite = np.isfinite(points)
        if missing == "error":
            row, column = np.argwhere(~finite)[0]
            value = "missing" if np.isnan(points[row, column]) else points[row, column]
            where = f"in {name} the value in row {row + 1}, column '{features[column]}' is {value}"
            advice = "correct it, or leave such rows or columns out with --missing rows or --missing columns"
            raise FileError(f"Points must be complete and finite; {where}: {advice}.")
        good = np.flatnonzero(finite.all(axis=int(missing == "rows")))
        if not len(good):
            raise FileError(f"{name} must have complete {missing}; every one has missing values: fill them in.")
        if missing == "rows":
            notes.append(f"{len(points) - len(good)} of {len(points)} rows with missing values were left out.")
            points, known = points[good], None if known is None else known[good]
            counts = None if counts is None else counts[good]
            row_names = good if row_names is None else np.asarray(row_names, object)[good]
        else:
            left = sorted({*range(len(features))} - {*good})
            notes.append(f"Columns with missing values were left out: {listed(features[k] for k in left)}.")
            points, features = points[:, good], [features[k] for k in good]
    titles = None if frame.block is not None and frame.names is None else tuple(features)
    row_names = None if row_names is None else tuple(str(as_word(value)) for value in row_names)
    return Table(points, titles, row_names, known, tuple(notes), name, format, frame.array, counts)


def _features(chosen: dict[str, Column], asked: bool, name: str, notes: list[str]) -> list[str]:
    """Those of the columns that are numbers; one that is not is a mistake if it was asked for, or nearly is one."""
    left_out: dict[str, list[str]] = {}
    for title, column in chosen.items():
        if column.fault:
            raise FileError(column.fault)
        if asked and column.numbers is None:
            held = column.held or "no feature"
            raise FileError(f"Features must be numbers; column '{title}' of {name} holds {held}: leave it out.")
        if column.numbers is None and column.held:
            left_out.setdefault(column.held, []).append(title)
    for held, titles in left_out.items():
        notes.append(f"{'Columns' if len(titles) > 1 else 'Column'} left out, {held}: {listed(titles)}.")
    features = [title for title, column in chosen.items() if column.numbers is not None]
    truths = sum(chosen[title].held == "truths" for title in features)
    if truths:
        notes.append(f"True and false were read as 1 and 0 ({truths} columns).")
    if not features:
        held = f"there is {listed(chosen)}" if chosen else "none is left"
        raise FileError(f"{name} must have a column of numbers that may be a feature; {held}: choose other columns.")
    return features


def _one_of(wanted: str, every: dict[str, Column], name: str) -> str:
    """The column of that name, or at that position."""
    if wanted in every:
        return wanted
    titles = list(every)
    alike = named_alike(wanted, titles)
    if alike is not None:
        return alike
    if wanted.lstrip("-").isdecimal() and -len(titles) <= int(wanted) < len(titles):
        return titles[int(wanted)]
    close = get_close_matches(wanted, titles[:10_000], 1)
    hint = f"did you mean '{close[0]}'?" if close else f"there is {listed(titles)}." if titles else "it has none."
    raise FileError(f"{name} has no column '{wanted}': {hint}")


def _some_of(wanted: Iterable[str], every: dict[str, Column], name: str) -> list[str]:
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
    frame: Frame, every: dict[str, Column], index: str | None, target: str | None, name: str, notes: list[str]
) -> str | None:
    """The column that names the rows: as asked for, as the file says, or the first of a table if it looks like it."""
    if index is not None:
        return _one_of(index, every, name)
    if frame.index is not None and frame.index != target:
        return frame.index
    title, first = next(iter(every.items()))
    if frame.block is not None or title == target or first.fault or len(every) == 1:
        return None
    if first.numbers is not None:
        counts = len(first.numbers) >= _COUNTED and first.numbers[0] in (0, 1) and (np.diff(first.numbers) == 1).all()
        if counts:
            notes.append("The first column counts the rows and is no feature (--index none makes it one).")
        return title if counts else None
    words = first.values().tolist() if first.held in ("text", "times") else [None]
    if None in words or len(set(words)) < len(words):
        return None
    notes.append(f"The first column{f', {title!r},' if title else ''} names the rows.")
    return title


def _counts(column: Column, title: str, name: str) -> np.ndarray:
    """Weights as numbers."""
    try:
        return np.asarray(column.values() if column.numbers is None else column.numbers, dtype=float)
    except (TypeError, ValueError):
        raise FileError(f"Weights must be numbers; column '{title}' of {name} holds others: name another column.") from None


def _classes(values: np.ndarray, labels: str | None) -> np.ndarray:
    """Labels as whole numbers, −1 where there is none, or as words, None where there is none."""
    words = [as_word(value) for value in values.tolist()]
    known = [word for word in words if word is not None]
    try:
        numbers = [float(word) for word in known]
    except ValueError:
        numbers = []
    if not numbers or not np.isfinite(numbers).all():
        return np.array(words, object)
    if any(not number.is_integer() for number in numbers):
        raise FileError(f"Labels must be classes, such as 0, 1, 2 or words; column '{labels}' holds fractions: bin them.")
    if any(word.removesuffix(".0") != str(int(number)) for word, number in zip(known, numbers, strict=True)):
        return np.array(words, object)  # 007 is a word
    return np.array([-1 if word is None else int(float(word)) for word in words])


def as_word(value: Any) -> str | None:
    """A cell as a word; None if there is nothing in it."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    word = (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip()
    return None if value is None or word in MISSING else word


def named_alike(wanted: str, names: Iterable[str]) -> str | None:
    """The name that is the same, or else the only one that is but for small and capital letters."""
    alike = [name for name in names if name.casefold() == wanted.casefold()]
    return wanted if wanted in alike else alike[0] if len(alike) == 1 else None


def listed(names: Iterable[object]) -> str:
    """Some names, in words."""
    words = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in map(str, names)]
    more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
    return ", ".join(f"'{word}'" for word in words[:_LISTED]) + more
