"""From the columns of a file to points: which columns are features, which name the rows, which holds labels.

Everything that is decided here without being asked for is said in the notes.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import compress
from re import fullmatch
from typing import Any

import numpy as np

from .columns import NUMBER, Frame, as_word, cells_of, numbers_of
from .source import FileError, Options, listed

__all__ = ["Table", "named", "named_alike", "table_of", "transposed"]

_COUNTED = 5  # a first column that counts so many rows is no feature, whatever its name
_EXACT = 2.0**53  # whole numbers are exact up to here
_TOLD = 5  # columns whose missing values are counted in a sentence


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


def table_of(frame: Frame, name: str, format: str, options: Options) -> Table:
    """Choose features, labels, weights and row names, as `geolap.files.read_table` is asked to."""
    every, notes = _every_column(frame), list(frame.notes)
    target = None if options.labels is None else _chosen([options.labels], every, name)[0]
    counting = None if options.weights is None else _chosen([options.weights], every, name)[0]
    rows = _index_column(frame, every, options.index, target, name, notes)
    row_names = cells_of(every[rows]) if rows is not None else None if options.index == "none" else frame.row_names
    labels = None if target is None else cells_of(every[target])
    labels = _classes(labels, target) if labels is not None and options.classes else labels
    weights = None if counting is None else numbers_of(every[counting], f"'{counting}' of {name}", written=frame.written)[0]
    if counting is not None and weights is None:
        raise FileError(f"Weights must be numbers; column '{counting}' of {name} holds others: name another column.")
    unwanted = {target, counting, rows, *_chosen(options.drop, every, name)}
    wanted = [*every] if options.columns is None else _chosen(options.columns, every, name)
    wanted = [title for title in wanted if title not in unwanted]
    features = _features(every, wanted, frame.written, options.columns is not None, name, notes)
    if frame.block is not None and [*features] == [*every][: frame.block.shape[1]]:
        points = frame.block
    else:
        points = np.column_stack([*features.values()])
    nothing = [float(word) for word in options.na_values if fullmatch(NUMBER, word)]
    if nothing and np.isin(points, nothing).any():
        points = np.where(np.isin(points, nothing), np.nan, points)
    if points.dtype.kind == "f" and not isinstance(points, np.memmap) and not np.isfinite(points).all():
        good = _complete(points, [*features], options.missing, name)
        if options.missing == "rows":
            notes.append(f"{(~good).sum()} of {len(points)} rows with missing values were left out.")
            row_names, points = np.arange(len(good)) if row_names is None else row_names, points[good]
            labels, weights, row_names = (v if v is None else np.asarray(v)[good] for v in (labels, weights, row_names))
        else:
            notes.append(f"Columns with missing values were left out: {listed(compress(features, ~good))}.")
            points, features = points[:, good], dict(compress(features.items(), good))
    columns = None if frame.block is not None and frame.names is None else tuple(features)
    row_names = None if row_names is None else tuple(str(as_word(value)) for value in row_names)
    return Table(points, columns, row_names, labels, tuple(notes), name, format, frame.array, weights)


def transposed(frame: Frame, name: str) -> Frame:
    """With rows for columns: what names the one names the other."""
    block, names, row_names, beside = frame.block, frame.row_names, frame.names, frame.columns
    notes = [*frame.notes, "Rows and columns were exchanged."]
    if block is None:
        titles, beside = [*frame.columns], {}
        if numbers_of(frame.columns[titles[0]], f"'{titles[0]}' of {name}", written=frame.written)[0] is None:
            names = cells_of(frame.columns[titles.pop(0)]).tolist()
        features = _features(frame.columns, titles, frame.written, True, name, notes)
        block, row_names = np.column_stack([*features.values()]), [*features]
    names = None if names is None or len({*names}) < len(names) else [str(as_word(title)) for title in names]
    return Frame(beside, block.T, names, row_names, array=frame.array, notes=notes)


def _every_column(frame: Frame) -> dict[str, Any]:
    """Those of the block, by position where they have no names, and those beside it that are as long."""
    if frame.block is None:
        return frame.columns
    titles = map(str, range(frame.block.shape[1])) if frame.names is None else frame.names
    features = dict(zip(titles, frame.block.T, strict=True))
    beside = {title: cells for title, cells in frame.columns.items() if cells is None or len(cells) == len(frame.block)}
    return {**features, **beside, **features}


def _features(
    every: Mapping[str, Any], wanted: list[str], written: bool, asked: bool, name: str, notes: list[str]
) -> dict[str, np.ndarray]:
    """Those of the columns that are numbers; one that is not is a mistake if it was asked for."""
    features, others = {}, dict[str, list[str]]()
    for title in wanted:
        numbers, held = numbers_of(every[title], f"'{title}' of {name}", written=written)
        if numbers is None and asked:
            held = held or "no feature"
            raise FileError(f"Features must be numbers; column '{title}' of {name} holds {held}: leave it out.")
        if numbers is not None:
            features[title] = numbers
        others.setdefault(held, []).append(title)
    truths = others.pop("truths", [])
    for held, titles in others.items():
        if held not in ("", "numbers"):
            notes.append(f"Column{'s' if len(titles) > 1 else ''} left out, {held}: {listed(titles)}.")
    if truths:
        notes.append(f"True and false were read as 1 and 0 ({len(truths)} columns).")
    if not features:
        raise FileError(f"{name} must have a column of numbers{_instead(every, wanted, written)}.")
    return features


def _instead(every: Mapping[str, Any], wanted: list[str], written: bool) -> str:
    """What there is where no feature is, and what to do."""
    held = dict[str, str]()
    with suppress(FileError):  # a column that was not wanted may be nearly all numbers
        held = {title: kind for title in every for n, kind in [numbers_of(every[title], "", written=written)] if n is None}
    if len(held) == len(every):
        said = {"text": "words", "empty": "nothing", "": "no numbers"}
        kinds = " and ".join(dict.fromkeys(said.get(kind, kind) for kind in held.values()))
        several = f"s {listed(held)} hold" if len(held) > 1 else f" {listed(held)} holds"
        return f"; its column{several} {kinds}: check how it was written, and its --separator"
    return f" that may be a feature; {f'there is {listed(wanted)}' if wanted else 'none is left'}: choose other columns"


def _complete(points: np.ndarray, titles: list[str], missing: str, name: str) -> np.ndarray:
    """Which rows, or columns, have no missing values."""
    finite = np.isfinite(points)
    if missing == "error":
        advice = "correct them, or leave such rows or columns out with --missing rows or --missing columns"
        raise FileError(f"Points must be complete and finite; {_gaps(points, finite, titles, name)}: {advice}.")
    good = finite.all(axis=int(missing == "rows"))
    if not good.any():
        raise FileError(f"{name} must have complete {missing}; every one has missing values: fill them in.")
    return good


def _gaps(points: np.ndarray, finite: np.ndarray, titles: list[str], name: str) -> str:
    """How many values are missing or infinite in which columns, and where the first is."""
    counts, row = (~finite).sum(axis=0), int((~finite).any(axis=1).argmax())
    n_missing, n_others = int(np.isnan(points).sum()), int(np.isinf(points).sum())
    what = "missing or infinite" if n_missing and n_others else "missing" if n_missing else "infinite"
    first, *others = np.flatnonzero(counts).tolist()
    told = [f"{counts[first]} {'values are' if counts[first] > 1 else 'value is'} {what} in {listed([titles[first]])}"]
    told += [f"{counts[column]} in {listed([titles[column]])}" for column in others[: _TOLD - 1]]
    told += [f"and some in {len(others) + 1 - _TOLD} more columns"] if len(others) >= _TOLD else []
    return f"in {name} {', '.join(told)}; the first is in row {row + 1}"


def _chosen(wanted: Iterable[str], every: Mapping[str, Any], name: str) -> list[str]:
    """Columns by name, pattern (``gene_*``), position or range of positions (``0:10``), in the order asked for."""
    chosen, titles = dict[str, None](), [*every]
    for part in (part for item in wanted for part in ([item] if item in every else item.split(","))):
        found: list[str] = []
        if named_alike(part, titles) is None and fullmatch(r"(-?\d+)?:(-?\d+)?|-?\d+", part):
            ends = [int(end) if end else None for end in part.split(":")]
            found = titles[slice(*ends) if ":" in part else slice(int(part), int(part) + 1 or None)]
        elif named_alike(part, titles) is None:
            found = [title for title in titles if fnmatchcase(title, part)]
        chosen.update(dict.fromkeys(found or [named(part, titles, name, "column")]))
    return [*chosen]


def _index_column(
    frame: Frame, every: Mapping[str, Any], index: str | None, target: str | None, name: str, notes: list[str]
) -> str | None:
    """The column that names the rows: as asked for, as the file says, or the first of a table if it looks like it."""
    if index is not None:
        return None if index == "none" else _chosen([index], every, name)[0]
    title = next(iter(every))
    if frame.index not in (None, target) or frame.block is not None or title == target or len(every) == 1:
        return frame.index if frame.index != target else None
    with suppress(FileError):
        numbers, held = numbers_of(every[title], "", written=frame.written)
        if numbers is not None and len(numbers) >= _COUNTED and numbers[0] in (0, 1) and (np.diff(numbers) == 1).all():
            notes.append("The first column counts the rows and is no feature (--index none makes it one).")
            return title
        words = cells_of(every[title]).tolist() if held in ("text", "times") else [None]
        if None not in words and len(set(words)) == len(words):
            notes.append(f"The first column{f', {title!r},' if title else ''} names the rows.")
            return title
    return None


def _classes(values: np.ndarray, title: str | None) -> np.ndarray:
    """Labels as whole numbers, −1 where there is none, or as words, None where there is none."""
    words = np.array([as_word(value) for value in values.tolist()], object)
    known = np.array([word is not None for word in words], bool)
    try:
        numbers = words[known].astype(float)
    except ValueError:
        return words
    if np.isfinite(numbers).all() and (numbers % 1).any():
        raise FileError(f"Labels must be classes, such as 0, 1, 2 or words; column '{title}' holds fractions: bin them.")
    if not known.any() or np.abs(numbers).max() > _EXACT:
        return words  # which no whole number of NumPy's stands for
    if any(word.removesuffix(".0") != f"{n:.0f}" for word, n in zip(words[known], numbers, strict=True)):
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
