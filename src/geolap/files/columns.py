"""What a column holds, of NumPy or of pyarrow: numbers, or what else.  Decided here for files of every format."""

from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from .source import FileError

__all__ = ["MISSING", "Meaning", "as_word", "cells_of", "meaning_of"]

# Cells that say that there is nothing; "none" may well be a class.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "-nan", "-NaN", "null", "NULL", "None", "NaT", "?")
_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity|nan))$"  # Python would also read 1_2


class Meaning(NamedTuple):
    """A column as numbers, NaN where missing, or what it holds instead, or what is wrong with it."""

    numbers: np.ndarray | None = None
    held: str = ""
    fault: str = ""


def meaning_of(cells: Any, *, written: bool = False) -> Meaning:
    """What the cells are; ``written`` if all of them are words, some of which are numbers."""
    if cells is None or isinstance(cells, np.ndarray):
        return Meaning(cells if cells is not None and cells.dtype.kind in "biuf" else None)
    if written:
        return _meaning_of_words(cells)
    from pyarrow import types

    held = cells.type.value_type if types.is_dictionary(cells.type) else cells.type
    tests = {"numbers": (types.is_integer, types.is_floating, types.is_decimal), "truths": (types.is_boolean,)}
    tests |= {"text": (types.is_string, types.is_large_string), "times": (types.is_temporal,), "empty": (types.is_null,)}
    other = f"nested or other values ({str(held)[:40]})"
    kind = next((kind for kind, fits in tests.items() if any(fit(held) for fit in fits)), other)
    return Meaning(cells.cast("float64", safe=False).to_numpy() if kind in ("numbers", "truths") else None, kind)


def _meaning_of_words(words: Any) -> Meaning:
    import pyarrow as pa
    from pyarrow import compute

    with suppress(pa.ArrowInvalid):  # if one of the cells is not a number
        numbers = words.cast("float64").to_numpy()
        return Meaning(held="empty") if words.null_count == len(words) else Meaning(numbers, "numbers")
    words = compute.utf8_trim_whitespace(words)
    words = compute.if_else(compute.is_in(words, pa.array(MISSING)), None, words)
    truths, lower = pa.array(["true", "false"]), compute.utf8_lower(words)
    is_truth = compute.is_in(lower, truths).to_numpy()
    is_number = compute.match_substring_regex(words, _NUMBER).fill_null(False).to_numpy()
    is_other = words.is_valid().to_numpy() & ~is_number & ~is_truth
    n_numbers, n_truths, n_others = is_number.sum(), is_truth.sum(), is_other.sum()
    if n_others and n_others >= n_numbers:
        return Meaning(held=_kind(words[int(is_other.argmax())].as_py()))
    if n_numbers and (n_others or n_truths):
        row = int((is_other | is_truth).argmax())
        others = "1 other cell" if n_others + n_truths == 1 else f"{n_others + n_truths} other cells"
        above = "skip the lines above the names of columns with --skip-rows, " if row == 0 else ""
        found = f"{n_numbers} numbers and {others}, first {words[row].as_py()[:30]!r} in row {row + 1}"
        return Meaning(fault=f"{found}: correct it, {above}or leave it out with --drop")
    if n_truths:
        return Meaning(compute.equal(lower, "true").cast("float64").to_numpy(), "truths")
    numbers = np.array([np.nan if word is None else float(word) for word in words.to_pylist()])
    return Meaning(numbers, "numbers") if n_numbers else Meaning(held="empty")


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
