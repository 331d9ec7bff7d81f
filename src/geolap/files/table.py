"""From the columns of a file to points: which columns are features, which name the rows, which holds labels.

Everything that is decided here without being asked for is said in the notes.
"""

from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np

from .source import FileError

__all__ = ["MISSING", "Frame", "Table", "listed", "table_of"]

# Cells that say that there is nothing; "none" may well be a class.
MISSING = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "-nan", "-NaN", "null", "NULL", "None", "NaT", "?")
)
# A first column that counts so many rows is no feature, whatever its name.
_COUNTED = 5
# How many names a sentence lists.
_LISTED = 8
_LONGEST = 60
# Rows whose values are looked at together.
_ROWS = 65536


@dataclass
class Frame:
    """What a file holds: a block of numbers, and whatever else may name or label its rows.

    Attributes
    ----------
    block : ndarray (n_points, n_columns)
        Numbers, NaN where missing.
    names : list of str or None
        Of its columns.
    others : dict
        Further columns (n_points,) by name; None for those that were not read.
    left_out : dict
        Columns that are no numbers: what they hold instead.
    faulty : dict
        Columns that should be numbers but are not everywhere: the sentence about it.
    order : list of str
        All columns as they stand in the file, if it is a table.
    row_names : sequence or None
    index : str or None
        The column that names the rows, if the file says which.
    array : str or None
        Which of the file's arrays the block is.
    notes : list of str
    """

    block: np.ndarray
    names: list[str] | None = None
    others: dict[str, np.ndarray | None] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    faulty: dict[str, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    row_names: Any = None
    index: str | None = None
    array: str | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def columns(self) -> list[str]:
        """Columns of the block by name, or by position where they have none."""
        return list(map(str, range(self.block.shape[1]))) if self.names is None else self.names

    @cached_property
    def _position(self):
        return {name: k for k, name in enumerate(self.columns)}

    @property
    def available(self) -> list[str]:
        """All columns that can be named."""
        return list(dict.fromkeys([*(self.order or self.columns), *self.others]))

    def is_number(self, column):
        return column in self._position

    def values(self, column):
        """A column (n_points,), of whatever kind: as it is written, where that was kept."""
        values = self.others.get(column)
        if values is not None:
            return np.asarray(values)
        if column not in self._position:
            raise FileError(
                f"A column that names or labels points must hold words or numbers; '{column}' holds "
                f"{self.left_out.get(column, 'neither')}: choose another one."
            )
        return self.block[:, self._position[column]]

    def features(self, columns):
        """Columns of the block as points."""
        if columns == self.columns:
            return self.block
        return self.block[:, [self._position[column] for column in columns]]


@dataclass(frozen=True)
class Table:
    """The points of a file.

    Attributes
    ----------
    points : ndarray (n_points, n_features)
    columns : tuple of str or None
        Names of the features, if they have any.
    row_names : tuple of str or None
    labels : ndarray (n_points,) or None
        Whole numbers with −1 where there is no label, or words with None; as they are if they need not be classes.
    notes : tuple of str
        What was decided about the file, a sentence each.
    name, format : str
    array : str or None
        Which of the file's arrays the points are.
    """

    points: np.ndarray
    columns: tuple[str, ...] | None
    row_names: tuple[str, ...] | None
    labels: np.ndarray | None
    notes: tuple[str, ...]
    name: str
    format: str
    array: str | None = None


def table_of(
    frame: Frame, name, format, *, columns=None, drop=None, labels=None, index=None, missing="error", classes=True
) -> Table:
    """Choose features, labels and row names."""
    notes = list(frame.notes)
    target = None if labels is None else _one_of(labels, frame.available, name)
    index = _index_column(frame, index, target, name, notes)
    row_names = frame.row_names if index is None else [_word(value) for value in frame.values(index)]
    known = None if target is None else frame.values(target)
    if target is not None and classes:
        known = _classes(known, target)

    unwanted = {target, index, *(_some_of(drop, frame.available, name) if drop else ())}
    if columns is None:
        features = [column for column in frame.columns if column not in unwanted]
        for column, sentence in frame.faulty.items():
            if column not in unwanted:
                raise FileError(sentence)
        notes += _left_out({column: held for column, held in frame.left_out.items() if column not in unwanted})
    else:
        features = [column for column in _some_of(columns, frame.available, name) if column not in unwanted]
        for column in features:
            if column in frame.faulty:
                raise FileError(frame.faulty[column])
            if not frame.is_number(column):
                held = frame.left_out.get(column, "no feature of the points")
                raise FileError(f"Features must be numbers; column '{column}' of {name} holds {held}: leave it out.")
    if not features:
        held = f"it has {listed(frame.available)}" if frame.available else "it has no columns"
        raise FileError(f"{name} must have a column of numbers that may be a feature; {held}: choose other columns.")
    points = frame.features(features)

    if missing != "error" and points.dtype.kind == "f":
        finite = np.isfinite(points)
        if missing == "columns" and not finite.all():
            good = finite.all(axis=0)
            notes.append(f"Columns with missing values were left out: {listed(np.array(features)[~good])}.")
            points, features = points[:, good], [column for column, fine in zip(features, good, strict=True) if fine]
        elif not finite.all():
            good = finite.all(axis=1)
            notes.append(f"{(~good).sum()} of {len(good)} rows with missing values were left out.")
            rows = np.flatnonzero(good)
            row_names = rows if row_names is None else np.asarray(row_names, dtype=object)[rows]
            points, known = points[rows], None if known is None else known[rows]
        if 0 in points.shape:
            raise FileError(f"{name} must have complete {missing}; every one has missing values: fill them in.")
    _check_finite(points, features, name)
    return Table(
        points=points,
        columns=tuple(features) if frame.names is not None else None,
        row_names=None if row_names is None else tuple(map(str, row_names)),
        labels=known,
        notes=tuple(notes),
        name=name,
        format=format,
        array=frame.array,
    )


def _one_of(wanted, available, name):
    """The column of that name, or at that position."""
    if wanted in available:
        return wanted
    if wanted.lstrip("-").isdecimal() and -len(available) <= int(wanted) < len(available):
        return available[int(wanted)]
    close = get_close_matches(wanted, available[:10_000], 1)
    hint = f"did you mean '{close[0]}'?" if close else f"there is {listed(available)}." if available else "it has none."
    raise FileError(f"{name} must have what is asked of it; it has no column '{wanted}': {hint}")


def _some_of(wanted, available, name):
    """Columns by name, pattern (``gene_*``) or range of positions (``0:10``), in the order asked for."""
    chosen: dict[str, None] = {}
    for item in wanted:
        for part in [item] if item in available else item.split(","):
            first, colon, last = part.partition(":")
            if part not in available and colon and all(not p or p.lstrip("-").isdecimal() for p in (first, last)):
                found = available[int(first) if first else None : int(last) if last else None]
            elif part not in available and set(part) & set("*?["):
                found = [column for column in available if fnmatchcase(column, part)]
            else:
                found = [_one_of(part, available, name)]
            if not found:
                raise FileError(f"Every choice of columns must match some; '{part}' matches none of {name}: correct it.")
            chosen.update(dict.fromkeys(found))
    return list(chosen)


def listed(names):
    """Some names, in words."""
    names = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in map(str, names)]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(f"'{name}'" for name in names[:_LISTED]) + more


def _index_column(frame, index, target, name, notes):
    """The column that names the rows: as asked for, as the file says, or the first if it looks like it."""
    if index == "none":
        frame.row_names = None
        return None
    if index is not None:
        return _one_of(index, frame.available, name)
    if frame.index is not None and frame.index != target:
        return frame.index
    first = frame.order[0] if frame.order else None
    if first is None or first == target or first in frame.faulty or len(frame.available) == 1:
        return None
    if frame.is_number(first):
        values = frame.values(first)
        counts = len(values) >= _COUNTED and values[0] in (0, 1) and (np.diff(values) == 1).all()
        if counts:
            notes.append("The first column counts the rows and is no feature (--index none makes it one).")
        return first if counts else None
    if frame.left_out.get(first) in ("text", "times"):
        values = frame.values(first).tolist()
        if None not in values and len(set(values)) == len(values):
            notes.append(f"The first column{f', {first!r},' if first else ''} names the rows.")
            return first
    return None


def _left_out(columns):
    """A note for each kind of content that is no number."""
    for held in dict.fromkeys(columns.values()):
        those = [column for column, content in columns.items() if content == held]
        yield f"{'Columns' if len(those) > 1 else 'Column'} left out, {held}: {listed(those)}."


def _classes(values, column):
    """Labels as whole numbers, −1 where there is none, or as words, None where there is none."""
    if values.dtype.kind in "mM":
        raise FileError(f"Labels must be classes; column '{column}' holds times: name their classes.")
    if values.dtype.kind == "c":
        raise FileError(f"Labels must be classes; column '{column}' holds complex numbers: name their classes.")
    if values.dtype.kind == "f":
        given = ~np.isnan(values)
        if not (np.isfinite(values[given]).all() and (values[given] == np.floor(values[given])).all()):
            raise FileError(
                f"Labels must be classes, such as 0, 1, 2 or words; column '{column}' holds fractions: bin them."
            )
        return np.where(given, values, -1).astype(np.int64)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    words = [_word(value) for value in values.tolist()]
    found = np.array([None if word is None or word.strip() in MISSING else word.strip() for word in words], object)
    known = [word for word in found if word is not None]
    numbers = _numbers(known)
    if numbers is None or not known:
        return found
    if any(not number.is_integer() for number in numbers):
        raise FileError(
            f"Labels must be classes, such as 0, 1, 2 or words; column '{column}' holds numbers with fractions, such as "
            f"{known[0]}: bin them."
        )
    if any(word.removesuffix(".0") != str(int(number)) for word, number in zip(known, numbers, strict=True)):
        return found  # 007 is a word
    return np.array([-1 if word is None else int(float(word)) for word in found])


def _numbers(words):
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _word(value):
    """A cell as a word; None if there is nothing in it."""
    if value is None or value != value:
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float | np.floating) and value == int(value):
        return str(int(value))
    return str(value)


def _check_finite(points, features, name):
    """Memory-mapped files are left to be checked when they are read."""
    if points.dtype.kind != "f" or isinstance(points, np.memmap):
        return
    for start in range(0, len(points), _ROWS):
        finite = np.isfinite(points[start : start + _ROWS])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            value = points[start + row, column]
            what = "is missing" if np.isnan(value) else f"is {value}"
            raise FileError(
                f"Points must be complete and finite; in {name} the value in row {start + row + 1}, column "
                f"'{features[column]}' {what}: correct it, or leave such rows or columns out with --missing rows or "
                "--missing columns."
            )
