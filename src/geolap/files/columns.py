"""What a file holds: columns of NumPy or pyarrow.  Whether one is numbers or words is decided here, for every format.

Files of .parquet are nothing but such columns, and read here as well.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from .source import FileError, Options, Source, needed_library

__all__ = ["MISSING", "NUMBER", "Frame", "as_word", "cells_of", "numbers_of", "read_parquet"]

# Cells that say that there is nothing; "none" may well be a class.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "-nan", "-NaN", "null", "NULL", "None", "NaT", "?")
_GROUP = r"^[+-]?[1-9]\d{0,2}"
# Numbers with signs other than a decimal point, and what to do about them; a cell is of the first kind that fits.
_SIGNED = {
    _GROUP + r",\d{3}$": "may be thousands or fractions: pass --thousands ',' or --decimal ','",
    _GROUP + r"(,\d{3})+(\.\d*)?$": "has thousands: pass --thousands ','",
    _GROUP + r"(\.\d{3})+(,\d*)?$": "has thousands: pass --thousands '.'",
    _GROUP + r"('\d{3})+(\.\d*)?$": 'has thousands: pass --thousands "\'"',
    _GROUP + r"( \d{3})+(\.\d*)?$": "has thousands: pass --thousands space",
    _GROUP + r"( \d{3})+,\d*$": "has thousands: pass --thousands space and --decimal ','",
    r"^[+-]?\d*,\d+([eE][+-]?\d+)?$": "has a decimal comma: pass --decimal ','",
}
NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity|nan))$"  # Python would also read 1_2


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


def read_parquet(source: Source, options: Options) -> Frame:
    """A `Frame` of a .parquet file."""
    with needed_library("pyarrow.parquet", "A .parquet file").ParquetFile(source.path) as file:
        metadata, titles = file.metadata, file.schema_arrow.names
        stored = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
        source.check_columns(len(titles))
        source.check_bytes(max(2 * stored, 8 * metadata.num_rows * len(titles)))
        table = file.read()
    if table.num_rows == 0 or len({*titles}) != len(titles):
        raise FileError(f"{source.name} must hold rows, and columns of different names; it does not: write it again.")
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    named = len(index) == 1 and index[0] in titles  # otherwise pandas counts the rows
    return Frame(dict(zip(titles, table.columns, strict=True)), index=index[0] if named else None)


def numbers_of(cells: Any, called: str, *, written: bool = False) -> tuple[np.ndarray | None, str]:
    """A column as numbers, NaN where missing, or None; and what it holds, "" if that is not known.

    ``written`` if its cells are words, some of which are numbers.  One that is nearly all numbers is refused.
    """
    if cells is None or isinstance(cells, np.ndarray):
        return (cells if cells is not None and cells.dtype.kind in "biuf" else None), ""
    if written:
        return _numbers_of_words(cells, called)
    from pyarrow import types

    held = cells.type.value_type if types.is_dictionary(cells.type) else cells.type
    tests = {"numbers": (types.is_integer, types.is_floating, types.is_decimal), "truths": (types.is_boolean,)}
    tests |= {"text": (types.is_string, types.is_large_string), "times": (types.is_temporal,), "empty": (types.is_null,)}
    other = f"nested or other values ({str(held)[:40]})"
    kind = next((kind for kind, fits in tests.items() if any(fit(held) for fit in fits)), other)
    return (cells.cast("float64", safe=False).to_numpy() if kind in ("numbers", "truths") else None), kind


def _numbers_of_words(words: Any, called: str) -> tuple[np.ndarray | None, str]:
    import pyarrow as pa
    from pyarrow import compute

    with suppress(pa.ArrowInvalid):  # if one of the cells is not a number
        numbers = words.cast("float64").to_numpy()
        return (numbers, "numbers") if words.null_count < len(words) else (None, "empty")
    words = compute.utf8_trim_whitespace(words)
    words = compute.if_else(compute.is_in(words, pa.array(MISSING)), None, words)
    lower = compute.utf8_lower(words)
    is_truth = compute.is_in(lower, pa.array(["true", "false"])).to_numpy()
    is_number = compute.match_substring_regex(words, NUMBER).fill_null(False).to_numpy()
    is_word = words.is_valid().to_numpy() & ~is_number & ~is_truth
    _check_signs(words, is_word, is_number.sum(), called)
    n_numbers, n_words, n_others = is_number.sum(), is_word.sum(), (is_word | is_truth).sum()
    if n_words and n_words >= n_numbers:
        return None, _kind(words[int(is_word.argmax())].as_py())
    if n_numbers and n_others:
        row = int((is_word | is_truth).argmax())
        others = f"{n_others} other cell{'s' if n_others > 1 else ''}, first {words[row].as_py()[:30]!r} in row {row + 1}"
        advice = "skip the lines above the names of columns with --skip-rows, " if row == 0 else ""
        advice = f"correct it, {advice}or leave it out with --drop"
        raise FileError(
            f"A column must be numbers, truths or text; {called} has {n_numbers} numbers and {others}: {advice}."
        )
    if n_others:
        return compute.equal(lower, "true").cast("float64").to_numpy(), "truths"
    numbers = np.array([np.nan if word is None else float(word) for word in words.to_pylist()])
    return (numbers, "numbers") if n_numbers else (None, "empty")


def _check_signs(words: Any, is_word: np.ndarray, n_numbers: int, called: str) -> None:
    """Refuse a column of numbers if some have signs whose meaning is not known: as text it would be lost."""
    from pyarrow import compute

    left, found = is_word.copy(), list[tuple[int, str]]()
    for pattern, advice in _SIGNED.items():
        fits = left & compute.match_substring_regex(words, pattern).fill_null(False).to_numpy()
        found += [(int(fits.argmax()), advice)] if fits.any() else []
        left &= ~fits
    if found and 2 * left.sum() < is_word.sum() + n_numbers:
        row, advice = found[-1]  # if several kinds fit, the last one is sure
        what = f"{words[row].as_py()[:30]!r} in row {row + 1} of {called}"
        raise FileError(f"Signs in numbers must have one meaning; {what} {advice}, or leave the column out with --drop.")


def _kind(word: str) -> str:
    """What a cell is that is no number."""
    for kind, read in (("complex numbers", complex), ("times", datetime.fromisoformat)):
        with suppress(ValueError):
            read(word.replace("_", "?"))
            return kind
    return "text"


def cells_of(column: Any) -> np.ndarray:
    """The cells of a column as they are written."""
    if column is None or str(getattr(column, "type", "")).startswith(("list", "struct", "map", "large_list")):
        raise FileError("A column that names or labels points must hold words or numbers; this one does not: name another.")
    if hasattr(column, "to_pylist"):
        return np.array([cell.strip() if isinstance(cell, str) else cell for cell in column.to_pylist()], object)
    return np.asarray(column)


def as_word(value: Any) -> str | None:
    """A cell as a word; None if there is nothing in it."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    word = (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip()
    return None if value is None or word in MISSING else word
