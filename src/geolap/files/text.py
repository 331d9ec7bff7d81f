"""Tables in text, .csv, .tsv and their like, also compressed by gzip: split into cells by pyarrow.

What the file does not say is found from its first lines: separator, decimal comma, whether the first line is a header.
"""

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import numpy as np

from .source import FileError, Limits, Source, needed_library
from .table import MISSING, Column, Frame

__all__ = ["Form", "frame_of_text", "read_text"]

# Lines from which the form of the file is guessed; bytes for each byte of text: itself, its cells, their numbers.
_GUESSED, _HELD = 50, 3
_SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "spaces"}  # in order of belief
_TRUTH = {"true": 1.0, "false": 0.0}
_NUMBER, _TRUTHS, _WORD, _NOTHING = range(4)  # what a cell may be
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Form:
    """How a table is written in text; what is None is found."""

    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    skip_rows: int = 0  # lines above the table
    thousands: str | None = None
    na_values: tuple[str, ...] = ()  # further cells that say that there is nothing


def read_text(source: Source, limits: Limits, form: Form) -> Frame:
    """A `Frame` of a table in text."""
    return frame_of_text(*_text(source, limits, form.skip_rows), source.name, limits, form)


def frame_of_text(text: bytes, notes: list[str], name: str, limits: Limits, form: Form) -> Frame:
    """A `Frame` of clean text."""
    separator, decimal, header = form.separator, form.decimal, form.header
    first = [line.decode() for line in islice(filter(bytes.strip, io.BytesIO(text)), _GUESSED)]
    if not first:
        raise FileError(f"{name} must hold rows of numbers; it is empty: check how it was written.")
    separator = separator or _guessed_separator(first)
    if separator == " ":
        text = b"\n".join(b" ".join(line.split()) for line in text.split(b"\n"))
    elif b'"' in text:  # pyarrow looks for quotes right after a separator
        text = re.sub(rb"(?m)(^|%b) +(?=\")" % re.escape(separator).encode(), rb"\1", text)
    if form.thousands is not None:
        text = _without_thousands(text, form.thousands, separator)
        first = [_without_thousands(line.encode(), form.thousands, separator).decode() for line in first]
        decimal = decimal or ("," if form.thousands == "." else ".")
    rows = [["" if cell.strip() in form.na_values else cell for cell in row] for row in _split(first, separator)]
    width = len(rows[min(1, len(rows) - 1)])
    limits.check_columns(name, max(map(len, rows)))
    limits.check_bytes(name, 8 * text.count(b"\n") * width)
    decimal = decimal or _guessed_decimal(name, rows)
    if decimal == ",":
        notes.append("Decimal commas were read as decimal points.")
    if separator in ";| ":
        notes.append(f"Columns are separated by {_SEPARATORS[separator]}.")
    if header is None:
        header, words = _has_header(rows, decimal), any(_is_word(cell, decimal) for cell in rows[0])
        if header and not words:
            notes.append("The first line counts the columns and was read as a header (--no-header if it is data).")
        elif words and not header:
            notes.append("The first line was read as data (--header if it names the columns).")
    if header and len(rows) == 1:
        raise FileError(f"{name} must hold rows of numbers; it has a header and nothing below it: check how it was written.")
    titles, index = _names(rows[0], width, notes) if header else ([f"column{k + 1}" for k in range(width)], None)
    nothing = [*MISSING, *form.na_values]
    cells = _cells(text, name, separator, width, max(map(len, first)), nothing, skipped=int(header))
    columns = {title: _column(title, words, name, decimal) for title, words in zip(titles, cells, strict=True)}
    return Frame(columns, index=index, notes=notes)


def _without_thousands(text: bytes, sign: str, separator: str) -> bytes:
    """Numbers without the sign between thousands; only within quotes, if the same sign separates columns."""
    between = re.compile(rb"(?<=\d)%b(?=\d{3}(?!\d))" % re.escape(sign).encode())
    if sign != separator:
        return between.sub(b"", text)
    return re.sub(rb'"[^"\n]*"', lambda cell: between.sub(b"", cell[0]), text)


def _text(source: Source, limits: Limits, skip_rows: int) -> tuple[bytes, list[str]]:
    """The text as UTF-8, unpacked, with one kind of line end, without comments and empty lines; and notes about it."""
    notes, parts, length = [], [], 0
    with source.path.open("rb") as file:
        stream = gzip.GzipFile(fileobj=file) if file.peek(2).startswith(b"\x1f\x8b") else file
        while part := stream.read(2**27):
            length += len(part)
            limits.check_packing(source.name, source.path.stat().st_size, _HELD * length)
            parts.append(part)
    text = b"".join(parts)
    encoding = next((encoding for mark, encoding in _MARKS.items() if text.startswith(mark)), "utf-8")
    if b"\0" in text[:4096] and encoding.startswith("utf-8"):
        raise FileError(f"{source.name} must be text; it holds zero bytes: name its kind with --format.")
    try:
        text = text if encoding == "utf-8" and text.decode() is not None else text.decode(encoding).encode()
    except UnicodeDecodeError:
        text = text.decode("latin-1").encode()
        notes.append("The text is not UTF-8 and was read as Latin-1.")
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if skip_rows:
        text = b"\n".join(text.split(b"\n")[skip_rows:])
    if text[:1] in b"# \t" or any(sign in text and b"\n" + sign in text for sign in (b"#", b" ", b"\t")):
        lines = [line for line in text.split(b"\n") if line.strip()]
        data = [line for line in lines if not line.startswith(b"#")]
        if len(data) < len(lines):
            n_comments = len(lines) - len(data)
            which = "1 line that begins with # was" if n_comments == 1 else f"{n_comments} lines that begin with # were"
            notes.append(f"{which} skipped.")
        text = b"\n".join(data)
    return text.lstrip(b"\n"), notes


def _cells(
    text: bytes, name: str, separator: str, width: int, longest: int, nothing: list[str], *, skipped: int
) -> list[Any]:
    """All cells as words, null where there is nothing: ``width`` columns of pyarrow's."""
    pa, arrow = needed_library("pyarrow", "A table in text"), needed_library("pyarrow.csv", "A table in text")
    names, ragged = list(map(str, range(width))), []

    def refuse(row: Any) -> str:
        ragged.append(row)
        return "error"

    read = {"column_names": names, "skip_rows_after_names": skipped, "block_size": max(2**22, 8 * longest)}
    parse = {"delimiter": separator, "quote_char": separator != " " and '"', "newlines_in_values": b'"' in text}
    convert = {"column_types": dict.fromkeys(names, pa.string()), "null_values": nothing, "strings_can_be_null": True}
    options = (
        arrow.ReadOptions(**read, use_threads=False),  # the number of a row is known
        arrow.ParseOptions(**parse, invalid_row_handler=refuse),
        arrow.ConvertOptions(**convert),
    )
    try:
        return arrow.read_csv(pa.BufferReader(text), *options).columns
    except pa.ArrowInvalid:
        if not ragged:
            raise
        end = separator.encode()  # at the end of some lines but not of others, it separates nothing
        lines = [line[:-1] if line.endswith(end) and line.count(end) == width else line for line in text.split(b"\n")]
        if (trimmed := b"\n".join(lines)) != text:
            return _cells(trimmed, name, separator, width, longest, nothing, skipped=skipped)
        row, n_cells, advice = ragged[0].number - skipped, ragged[0].actual_columns, "correct it, or name the --separator"
        found = f"row {row} has {n_cells} and others have {width}"
        raise FileError(f"{name} must have as many cells in every row; {found}: {advice}.") from None


def _column(title: str, words: Any, name: str, decimal: str) -> Column:
    """The numbers of a column, what it holds instead, or what is wrong with it."""
    numbers, (n_numbers, n_truths, n_words), (row, first) = _numbers(words, decimal)
    if n_words >= n_numbers and n_words:
        return Column(words, held=_kind(first))
    if n_words:
        others = "1 other cell" if n_words == 1 else f"{n_words} other cells"
        found = f"'{title}' of {name} holds {n_numbers} numbers and {others}, first {first[:30]!r} in row {row}"
        above = "skip the lines above the names of columns with --skip-rows, " if row == 1 else ""
        advice = f"correct it, {above}or leave it out with --drop '{title}'"
        return Column(words, fault=f"A column must hold numbers or text; {found}: {advice}.")
    if n_numbers and n_truths:
        return Column(words, fault=f"A column must hold numbers or truths; '{title}' of {name} holds both: leave it out.")
    if n_numbers or n_truths:
        return Column(words, numbers, held="truths" if n_truths else "numbers")
    return Column(words, held="empty")


def _numbers(words: Any, decimal: str) -> tuple[np.ndarray, tuple[int, int, int], tuple[int, str]]:
    """A column as numbers; how many of its cells are numbers, truths and words; the row of the first word, and itself."""
    from pyarrow import compute

    with suppress(ValueError):  # of pyarrow, if one of the cells is not a number
        plain = compute.replace_substring(words, ",", ".") if decimal == "," else words
        return plain.cast("float64").to_numpy(), (len(words) - words.null_count, 0, 0), (0, "")
    coded = words.combine_chunks().dictionary_encode()
    meanings = [*(_meaning(word, decimal) for word in coded.dictionary.to_pylist()), (_NOTHING, np.nan)]
    codes = coded.indices.fill_null(-1).to_numpy()
    kinds, numbers = (np.array(part)[codes] for part in zip(*meanings, strict=True))
    n_numbers, n_truths, n_words, _ = np.bincount(kinds, minlength=4).tolist()
    row = int(np.argmax(kinds == _WORD))
    return numbers, (n_numbers, n_truths, n_words), (row + 1, (words[row].as_py() or "").strip())


def _meaning(cell: str, decimal: str) -> tuple[int, float]:
    """Whether a cell is a number, a truth, a word or nothing; and its value."""
    word = cell.strip()
    if word in MISSING:
        return _NOTHING, np.nan
    if word.lower() in _TRUTH:
        return _TRUTHS, _TRUTH[word.lower()]
    if "_" not in word:  # Python reads 1_2 as 12
        with suppress(ValueError):
            return _NUMBER, float(word.replace(",", ".") if decimal == "," else word)
    return _WORD, np.nan


def _is_word(cell: str, decimal: str) -> bool:
    return _meaning(cell, decimal)[0] in (_TRUTHS, _WORD)


def _kind(word: str) -> str:
    """What a cell is that is no number."""
    for kind, read in (("complex numbers", complex), ("times", datetime.fromisoformat)):
        with suppress(ValueError):
            read(word.replace("_", "?"))
            return kind
    return "text"


def _split(lines: list[str], separator: str) -> list[list[str]]:
    if separator == " ":
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=separator, skipinitialspace=True))


def _guessed_separator(lines: list[str]) -> str:
    """The first of the usual ones that gives every line the same number of cells, more than one."""
    best, most = ",", 1
    for separator in _SEPARATORS:
        with suppress(csv.Error):
            widths = {len(row) for row in _split(lines[1:] or lines, separator)}  # a header may name one column less
            if len(widths) == 1 and min(widths) > 1:
                return separator
            if min(widths) > most:
                best, most = separator, min(widths)
    return best


def _guessed_decimal(name: str, rows: list[list[str]]) -> str:
    """A comma if cells are like 1,5; not if they might be thousands."""
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    if not commas or any(_POINT_NUMBER.fullmatch(cell) for cell in cells):
        return "."
    if all(_THOUSANDS.fullmatch(cell) for cell in commas):
        advice = "pass --decimal ',' if they are fractions, or --thousands ',' if they are not"
        raise FileError(f"Commas must have one meaning; {commas[0]!r} in {name} may be thousands or fractions: {advice}.")
    return ","


def _has_header(rows: list[list[str]], decimal: str) -> bool:
    """Whether the first row names the columns.

    It does if none of its cells is a number, if a column is a number everywhere else, or if it counts 0, 1, 2, …
    """
    first, body = rows[0], rows[1:]
    filled = [cell.strip() for cell in first if cell.strip()]
    counts = len(filled) > 2 and filled == list(map(str, range(len(filled)))) and len(first) - len(filled) <= 1
    if body and (counts or len(first) == len(body[0]) - 1):
        return True
    words = [_is_word(cell, decimal) for cell in first]
    if any(words) and sum(words) == len(filled):
        return not body or any(_meaning(cell, decimal)[0] == _NUMBER for row in body for cell in row[: len(first)])
    below = [k for k, word in enumerate(words) if word and body]
    return any(all(len(row) > k and not _is_word(row[k], decimal) for row in body) for k in below)


def _names(first: list[str], width: int, notes: list[str]) -> tuple[list[str], str | None]:
    """Unique names of the columns, and that of the rows if the header leaves it out."""
    given, index = [cell.strip() for cell in first], None
    if len(given) == width - 1:
        given, index = ["", *given], ""
    elif len(given) != width and (len(given) != width + 1 or given[-1]):
        notes.append(f"The header has {len(first)} names for {width} columns.")
    names = [name or (f"column{k + 1}" if k else "") for k, name in enumerate([*given, *[""] * width][:width])]
    copies, unique = Counter[str](), dict[str, None]()
    for name in names:
        other = name
        while other in unique:
            copies[name] += 1
            other = f"{name}.{copies[name]}"
        unique[other] = None
    if copies:
        notes.append("Columns of the same name were told apart by .1, .2, …")
    return list(unique), index
