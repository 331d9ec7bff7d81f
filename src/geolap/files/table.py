"""From the columns of a file to points: which are numbers, which are features, which name the rows, which holds labels.

Everything that is decided here without being asked for is said in the notes.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import compress
from re import fullmatch
from typing import Any

import numpy as np

from ..sentences import listed
from .source import FileError, Source, named, named_alike

__all__ = ["MISSING", "NUMBER", "SIGNED", "Frame", "Table", "table_of"]

# Cells that say that there is nothing; "none" may well be a class.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "-nan", "-NaN", "null", "NULL", "None", "NaT", "?")
NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity|nan))$"  # Python would also read 1_2
# A number with other signs than a decimal point: between thousands, or a decimal comma.
SIGNED = r"^[+-]?([1-9]\d{0,2}([.,' ]\d{3})+([.,]\d*)?|\d*,\d+([eE][+-]?\d+)?)$"
# Types of columns of pyarrow's that hold numbers.
_NUMERIC = ("int", "uint", "float", "double", "halffloat", "decimal", "bool")
_COUNTED = 5  # a first column that counts so many rows is no feature, whatever its name


@dataclass
class Frame:
    """What a file holds: an array of points or a table, and what may name or label its rows."""

    name: str  # of the file, in sentences
    columns: dict[str, Any]  # of NumPy or pyarrow, in the order of the file
    block: np.ndarray | None = None  # (n_points, n_features), if it is an array; columns are beside it then
    names: list[str] | None = None  # of the features of the block
    index: str = ""  # the column that names the rows, if there is one of that name
    array: str | None = None  # which of the file's arrays the block is
    notes: list[str] = field(default_factory=list)
    written: bool = False  # whether all columns are words, some of which are numbers

    @cached_property
    def every(self) -> dict[str, Any]:
        """Columns of the block, by position where they have no names, and those beside it that are as long."""
        if self.block is None:
            return self.columns
        features = dict(zip(self.names or map(str, range(self.block.shape[1])), self.block.T, strict=True))
        beside = {title: cells for title, cells in self.columns.items() if len(cells) == len(self.block)}
        return features | beside | features

    def numbers(self, title: str) -> tuple[np.ndarray | None, str]:
        """A column as numbers, NaN where missing, or None; and what it holds.  One that is nearly all numbers is refused."""
        cells = self.every[title]
        if isinstance(cells, np.ndarray):
            return (cells, "numbers") if cells.dtype.kind in "biuf" else (None, "text")
        if self.written:
            return _numbers_of_words(cells, f"'{title}' of {self.name}")
        held = str(cells.type).removeprefix("dictionary<values=").partition(",")[0]
        return (cells.cast("float64", safe=False).to_numpy(), "numbers") if held.startswith(_NUMERIC) else (None, held)

    def cells(self, title: str) -> np.ndarray:
        """A column as it is written."""
        column = self.every[title]
        return column if isinstance(column, np.ndarray) else np.fromiter(column.to_pylist(), object)

    def chosen(self, wanted: Iterable[str] | None) -> list[str]:
        """Columns by name, pattern (``gene_*``), position or range of positions (``0:10``), in the order asked for."""
        chosen, titles = dict[str, None](), [*self.every]
        for part in (part for item in wanted or () for part in ([item] if item in self.every else item.split(","))):
            found: list[str] = []
            if named_alike(part, titles) is None and fullmatch(r"(-?\d+)?:(-?\d+)?|-?\d+", part):
                ends = [int(end) if end else None for end in part.split(":")]
                found = titles[slice(*ends) if ":" in part else slice(int(part), int(part) + 1 or None)]
            elif named_alike(part, titles) is None:
                found = [title for title in titles if fnmatchcase(title, part)]
            chosen.update(dict.fromkeys(found or [named(part, titles, self.name, "column")]))
        return [*chosen]

    def features(self, wanted: list[str], asked: bool) -> dict[str, np.ndarray]:
        """Those of the columns that are numbers; one that is not is a mistake if it was asked for."""
        features, others = {}, dict[str, list[str]]()
        for title in wanted:
            numbers, kind = self.numbers(title)
            if numbers is not None:
                features[title] = numbers
            elif asked:
                found = f"column '{title}' of {self.name} contains {kind}: leave it out"
                raise FileError(f"Features and weights must be numbers; {found}.")
            else:
                others.setdefault(kind, []).append(title)
        if not features:
            found = f"there is none among {listed(wanted) or 'those left'}: check the file, its --separator, and --columns"
            raise FileError(f"{self.name} must have a column of numbers; {found}.")
        for kind, titles in sorted(others.items()):
            self.notes.append(f"Column{'s' if len(titles) > 1 else ''} left out, {kind}: {listed(titles)}.")
        return features


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


def table_of(frame: Frame, source: Source) -> Table:
    """Choose features, labels, weights and row names."""
    frame = _transposed(frame) if source.transpose and frame.block is None else frame
    name, notes, block = frame.name, frame.notes, frame.block
    target, counting = (frame.chosen([title])[0] if title else None for title in (source.labels, source.weights))
    rows = _index_column(frame, source.index, target)
    row_names = None if rows is None else frame.cells(rows)
    labels = None if target is None else (_classes if source.classes else Frame.cells)(frame, target)
    weights = None if counting is None else frame.features([counting], True)[counting]
    own = [*frame.every] if block is None else [*frame.every][: block.shape[1]]
    unwanted = {target, counting, rows, *frame.chosen(source.drop)}
    wanted = own if source.columns is None else frame.chosen(source.columns)
    features = frame.features([title for title in wanted if title not in unwanted], source.columns is not None)
    points = block if block is not None and [*features] == own else np.column_stack([*features.values()])
    nothing = [float(word) for word in source.na_values if fullmatch(NUMBER, word)]
    if nothing and np.isin(points, nothing).any():
        points = np.where(np.isin(points, nothing), np.nan, points)
    if points.dtype.kind == "f" and not isinstance(points, np.memmap) and not (finite := np.isfinite(points)).all():
        complete = {"rows": finite.all(axis=1), "columns": finite.all(axis=0)}
        good = complete.get(source.missing, np.zeros(0, bool))
        if not good.any():
            raise _incomplete(name, [*features], finite, complete)
        notes.append(f"{(~good).sum()} of {len(good)} {source.missing} with missing values were left out.")
        if source.missing == "columns":
            points, features = points[:, good], dict(compress(features.items(), good))
        else:
            row_names, points = np.arange(len(good)) if row_names is None else row_names, points[good]
            labels, weights, row_names = (v if v is None else np.asarray(v)[good] for v in (labels, weights, row_names))
    columns = None if block is not None and frame.names is None else tuple(features)
    named_rows = None if row_names is None else tuple(str(_word(value)) for value in row_names)
    return Table(points, columns, named_rows, labels, tuple(notes), name, str(source.format), frame.array, weights)


def _incomplete(name: str, features: list[str], finite: np.ndarray, complete: dict[str, np.ndarray]) -> FileError:
    """The sentence about missing values, which advises to leave out rows or columns where others remain."""
    which = f"{listed(compress(features, ~complete['columns']))}, first in row {complete['rows'].argmin() + 1}"
    found = f"{name} has missing or infinite values ({(~finite).sum()}) in {which}"
    ways = " or ".join(f"--missing {way}" for way, kept in complete.items() if kept.any())
    everywhere = " and ".join(f"every {way[:-1]}" for way, kept in complete.items() if not kept.any())
    advice = "correct them" + (f", or leave them out with {ways}" if ways else "")
    return FileError(f"Points must be complete and finite; {found}: {advice}{everywhere and f' ({everywhere} has some)'}.")


def _transposed(frame: Frame) -> Frame:
    """A table with rows for columns: its index, or a first column that is not numbers, names the features."""
    first = frame.index if frame.index in frame.columns else next(iter(frame.columns))
    names = [str(_word(cell)) for cell in frame.cells(first).tolist()]
    is_named = first == frame.index or frame.numbers(first)[0] is None
    titles = [title for title in frame.columns if title != first or not is_named]
    block = np.column_stack([*frame.features(titles, True).values()]).T
    distinct = names if is_named and len({*names}) == len(names) else None
    return Frame(frame.name, {"": np.array(titles, object)}, block, distinct, notes=frame.notes)


def _numbers_of_words(words: Any, called: str) -> tuple[np.ndarray | None, str]:
    """Numbers, or true and false as 1 and 0; None for text.  Text among more numbers would be lost, and is refused."""
    import pyarrow as pa
    from pyarrow import compute

    with suppress(pa.ArrowInvalid):  # which saves time with nothing but numbers
        return (words.cast("float64").to_numpy(), "numbers") if words.null_count < len(words) else (None, "empty")
    words = compute.ascii_trim_whitespace(words)
    words = compute.if_else(compute.is_in(words, pa.array(MISSING)), None, words)
    if words.null_count == len(words):
        return None, "empty"
    for kind in ("float64", "bool"):
        with suppress(pa.ArrowInvalid):  # if one of the cells is something else
            return words.cast(kind).cast("float64").to_numpy(), "numbers"
    fits = [compute.match_substring_regex(words, form).fill_null(False).to_numpy() for form in (NUMBER, SIGNED)]
    n_filled, n_numbers = len(words) - words.null_count, fits[0].sum()
    if 2 * (fits[0] | fits[1]).sum() <= n_filled:
        return None, "text"
    row, n_others = int((words.is_valid().to_numpy() & ~fits[0]).argmax()), n_filled - n_numbers
    cell = f"{words[row].as_py()[:30]!r} in row {row + 1}"
    found = f"{called} has {n_numbers} numbers and {n_others} other cell{'s' if n_others > 1 else ''}, first {cell}"
    advice = "correct it, use --thousands and --decimal to explain its signs, skip lines above the table with --skip-rows"
    raise FileError(f"A column must be numbers, true/false or text; {found}: {advice}, or leave it out with --drop.")


def _index_column(frame: Frame, index: str | None, target: str | None) -> str | None:
    """The column that names the rows: as asked for, as the file says, or the first of a table if it looks like it."""
    if index is not None:
        return None if index == "none" else frame.chosen([index])[0]
    title = next(iter(frame.every))
    if frame.index in frame.every or frame.block is not None or title == target or len(frame.every) == 1:
        return frame.index if frame.index in frame.every else None
    with suppress(FileError):
        numbers, _ = frame.numbers(title)
        words = [] if numbers is not None else [_word(cell) for cell in frame.cells(title).tolist()]
        if words and None not in words and len({*words}) == len(words):
            frame.notes.append(f"The first column, {title!r}, names the rows.")
            return title
        if numbers is not None and len(numbers) >= _COUNTED and numbers[0] in (0, 1) and (np.diff(numbers) == 1).all():
            frame.notes.append("The first column counts the rows and is not used as a feature (--index none makes it one).")
            return title
    return None


def _classes(frame: Frame, title: str) -> np.ndarray:
    """Labels as whole numbers, −1 where there is none, or as words, None where there is none."""
    words = np.array([_word(value) for value in frame.cells(title).tolist()], object)
    known = [word for word in words if word is not None]
    if known and all(fullmatch(r"-?(0|[1-9]\d{0,17})(\.0)?", word) for word in known):  # 007 is a word
        return np.array([-1 if word is None else int(word.removesuffix(".0")) for word in words])
    if known and all(fullmatch(NUMBER, word) for word in known) and any(float(word) % 1 > 0 for word in known):
        raise FileError(f"Labels must be classes, such as 0, 1, 2 or words; column '{title}' contains fractions: bin them.")
    return words


def _word(value: Any) -> str | None:
    """A cell as a word; None if there is nothing in it."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    word = (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip()
    return None if word in MISSING else word
