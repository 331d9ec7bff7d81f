"""Tables in text: .csv, .tsv and their like, also compressed by gzip.

What the file does not say is found from its first lines: separator, decimal comma, whether the first line is a header.  Rows
are read in portions, so that no more than a portion is held as text.
"""

import codecs
import csv
import gzip
import io
import re
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice

import numpy as np

from .source import FileError
from .table import MISSING, Frame

__all__ = ["read_text"]

# Lines from which the form of the file is guessed; rows converted together; the longest line.
_GUESSED, _PORTION, _LONGEST = 50, 8192, 2**26
_SEPARATORS = ("\t", ";", ",", "|", " ")  # in the order in which they are believed
_SEPARATOR_NAMES = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "spaces"}
_TRUTH = {"true": 1.0, "false": 0.0}
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_text(source, limits, *, separator=None, decimal=None, header=None, beside=()):
    """A `Frame` of a table in text.

    ``beside`` are the columns, by name or position, that are kept as they are written: labels and row names.
    """
    with _lines(source, limits, "utf-8") as lines:
        try:
            return _frame(source.name, lines, limits, separator, decimal, header, beside)
        except UnicodeDecodeError:
            pass
    with _lines(source, limits, "latin-1") as lines:
        frame = _frame(source.name, lines, limits, separator, decimal, header, beside)
        frame.notes.append("The text is not UTF-8 and was read as Latin-1.")
        return frame


class _Lines:
    """Lines of a text stream from the start each time, none of them endless, and no more of them than the limit."""

    def __init__(self, name, size, stream, limits):
        self._name, self._size, self._stream, self._limits = name, size, stream, limits
        self.comments = 0

    def __iter__(self):
        self._stream.seek(0)
        self.comments, total = 0, 0
        while line := self._stream.readline(_LONGEST):
            if len(line) == _LONGEST:
                raise FileError(f"{self._name} must have lines of less than 64 MB; one is longer: write one row a line.")
            total += len(line)
            self._limits.check_packing(self._name, self._size, total)
            if line.startswith("#"):
                self.comments += 1
            elif line.strip():
                yield line


@contextmanager
def _lines(source, limits, encoding):
    head = source.head()
    with source.open() as file:
        stream = gzip.GzipFile(fileobj=file) if head.startswith(b"\x1f\x8b") else file
        start = stream.read(4096)
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS if start.startswith(mark)), encoding)
        if b"\0" in start and not encoding.startswith(("utf-16", "utf-32")):
            raise FileError(
                f"{source.name} must be text; it holds zero bytes, which text has not: name its kind with --format."
            )
        if stream is file:
            limits.check_bytes(source.name, source.size)
        text = io.TextIOWrapper(stream, encoding=encoding, newline="")
        try:
            yield _Lines(source.name, source.size, text, limits)
        finally:
            text.detach()


def _frame(name, lines, limits, separator, decimal, header, beside):
    first = list(islice(lines, _GUESSED))
    if not first:
        raise FileError(f"{name} must hold rows of numbers; it is empty: check how it was written.")
    notes = [f"{lines.comments} lines that begin with # were skipped."] if lines.comments else []
    separator = separator or _guessed_separator(first)
    rows = _split(first, separator)
    limits.check_columns(name, max(map(len, rows)))
    if decimal is None:
        decimal = _guessed_decimal(name, rows)
    if decimal == ",":
        notes.append("Decimal commas were read as decimal points.")
    if separator in ";| ":
        notes.append(f"Columns are separated by {_SEPARATOR_NAMES[separator]}.")
    if header is None:
        header = _has_header(rows, decimal)
        if header and not any(_is_word(cell, decimal) for cell in rows[0]):
            notes.append("The first line counts the columns and was read as a header (--no-header if it is data).")
        elif not header and any(_is_word(cell, decimal) for cell in rows[0]):
            notes.append("The first line was read as data (--header if it names the columns).")
    width = len(rows[1]) if len(rows) > 1 else len(rows[0])
    order, index = _names(rows[0], width, notes) if header else ([f"column{k + 1}" for k in range(width)], None)
    if header and len(rows) == 1:
        raise FileError(f"{name} must hold rows of numbers; it has a header and nothing below it: check how it was written.")

    kept = {k for k, column in enumerate(order) if {column, str(k), str(k - width)} & set(beside) or column == index}
    while True:  # a second time if a column turned out to be text after the first portion
        columns = [_Column(k in kept) for k in range(width)]
        _fill(columns, name, iter(lines), separator, decimal, header, limits)
        late = {k for k, column in enumerate(columns) if column.late}
        if not late:
            break
        kept |= late
    return _assembled(name, order, columns, index, notes)


def _fill(columns, name, lines, separator, decimal, header, limits):
    rows = _rows(lines, separator)
    if header:
        next(rows)
    number, total = 1, 0
    while portion := list(islice(rows, _PORTION)):
        for k, row in enumerate(portion):
            if len(row) != len(columns):
                if len(row) == len(columns) + 1 and row[-1] == "":  # a separator at the end of the line
                    row.pop()
                    continue
                raise FileError(
                    f"{name} must have as many cells in every row; row {number + k} has {len(row)} and others have "
                    f"{len(columns)}: correct it, or name the separator with --separator."
                )
        number += len(portion)
        total += len(portion) * len(columns) * 8
        limits.check_bytes(name, total)
        for column, cells in zip(columns, zip(*portion, strict=True), strict=True):
            column.add(cells, decimal)


class _Column:
    """Cells of one column: numbers as long as they are, text from then on."""

    def __init__(self, text):
        self.text, self.late = text, False
        self.portions: list[np.ndarray] = []
        self.cells: list[str] = []
        self.good = self.missing = self.bad = self.truth = 0
        self.first_bad: tuple[int, str] | None = None

    def add(self, cells, decimal):
        if self.text:
            self.cells += [cell.strip() for cell in cells]
        if self.late:
            return
        numbers = _fast_numbers(cells, decimal)
        if numbers is None:
            numbers = self._one_by_one(cells, decimal)
        else:
            self.good += len(cells)
        if self.bad and not self.text:
            self.text = True
            if self.portions:
                self.late = True
            else:
                self.cells = [cell.strip() for cell in cells]
        self.portions.append(numbers)

    def _one_by_one(self, cells, decimal):
        numbers = np.full(len(cells), np.nan)
        for k, cell in enumerate(cells):
            word = cell.strip()
            number = _number(word, decimal)
            if number is not None:
                numbers[k] = number
                self.good += 1
            elif word in MISSING:
                self.missing += 1
            elif word.lower() in _TRUTH:
                numbers[k] = _TRUTH[word.lower()]
                self.truth += 1
            else:
                self.bad += 1
                self.first_bad = self.first_bad or (self.good + self.missing + self.truth + self.bad, word)
        return numbers


def _assembled(name, order, columns, index, notes):
    """The frame of filled columns."""
    numeric, truths = [], []
    left_out: dict[str, str] = {}
    faulty: dict[str, str] = {}
    others: dict[str, np.ndarray | None] = {}
    for title, column in zip(order, columns, strict=True):
        known = column.good + column.truth
        if column.text:
            others[title] = np.array([None if cell in MISSING else cell for cell in column.cells], dtype=object)
        if column.bad == 0 and known:
            if column.truth and column.good:
                faulty[title] = (
                    f"A column must hold numbers or truths; '{title}' of {name} holds both: leave it out (--drop '{title}')."
                )
                others.setdefault(title, np.concatenate(column.portions))
                continue
            if column.truth:
                truths.append(title)
            numeric.append((title, np.concatenate(column.portions)))
        elif column.bad == 0:
            left_out[title] = "empty"
        elif column.good > column.bad:
            row, word = column.first_bad
            faulty[title] = (
                f"A column must hold numbers or text; '{title}' of {name} holds {column.good} numbers and {column.bad} "
                f"other cells, first {_shown(word)} in row {row}: correct it, or leave the column out with --drop '{title}'."
            )
        else:
            left_out[title] = _kind(column.first_bad[1])
    if truths:
        notes.append(f"True and false were read as 1 and 0 ({len(truths)} columns).")
    rows = sum(len(portion) for portion in columns[0].portions) if columns else 0
    block = np.column_stack([values for _, values in numeric]) if numeric else np.empty((rows, 0))
    return Frame(
        block=block,
        names=[title for title, _ in numeric],
        others=others,
        left_out=left_out,
        faulty=faulty,
        order=order,
        index=index,
        notes=notes,
    )


def _rows(lines, separator):
    if separator == " ":
        return (line.split() for line in lines)
    return _quoted(csv.reader(lines, delimiter=separator, skipinitialspace=True))


def _quoted(reader):
    try:
        yield from reader
    except csv.Error as error:
        raise FileError(
            f"A table must close its quotes and keep its cells short; line {reader.line_num} does not ({error}): correct it."
        ) from None


def _split(lines, separator):
    return list(_rows(lines, separator))


def _guessed_separator(lines):
    """The first of the usual ones that gives every line the same number of cells, more than one."""
    body = lines[1:] or lines  # a header may name one column less
    best, most = ",", 1
    for separator in _SEPARATORS:
        try:
            widths = {len(row) for row in _split(body, separator)}
        except FileError:
            continue
        if len(widths) == 1 and min(widths) > 1:
            return separator
        if min(widths) > most:
            best, most = separator, min(widths)
    return best


def _guessed_decimal(name, rows):
    """A comma if cells are like 1,5; not if they might be thousands."""
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    if not commas or any(_POINT_NUMBER.fullmatch(cell) for cell in cells):
        return "."
    if all(_THOUSANDS.fullmatch(cell) for cell in commas):
        raise FileError(
            f"{name} must say what its commas mean; cells such as {commas[0]!r} may be thousands or fractions: pass "
            "--decimal ',' if they are fractions, and write thousands without commas."
        )
    return ","


def _has_header(rows, decimal):
    """Whether the first row names the columns.

    It does if none of its cells is a number, if a column is a number everywhere else, or if it counts 0, 1, 2, …
    """
    first, body = rows[0], rows[1:]
    filled = [cell.strip() for cell in first if cell.strip()]
    if body and len(first) == len(body[0]) - 1:
        return True
    if body and len(filled) > 2 and filled == [str(k) for k in range(len(filled))] and len(first) - len(filled) <= 1:
        return True
    words = [_is_word(cell, decimal) for cell in first]
    if not any(words):
        return False
    if all(word or not cell.strip() for word, cell in zip(words, first, strict=True)):
        return not body or any(
            _number(row[k].strip(), decimal) is not None for row in body for k in range(min(len(row), len(first)))
        )
    return any(
        word and body and all(len(row) > k and not _is_word(row[k], decimal) for row in body) for k, word in enumerate(words)
    )


def _names(first, width, notes):
    """Unique names of the columns, and that of the rows if the header leaves it out."""
    names, index = [cell.strip() for cell in first], None
    if len(names) == width - 1:
        names, index = ["", *names], ""
    if len(names) == width + 1 and not names[-1]:
        names.pop()
    if len(names) != width:
        names = [*names, *(f"column{k + 1}" for k in range(len(names), width))][:width]
        notes.append(f"The header has {len(first)} names for {width} columns.")
    seen: set[str] = set()
    unique = []
    for k, name in enumerate(names):
        name = name or ("" if k == 0 else f"column{k + 1}")
        other, copy = name, 0
        while other in seen:
            copy += 1
            other = f"{name}.{copy}"
        seen.add(other)
        unique.append(other)
    if unique != names and len(set(filter(None, names))) < len(list(filter(None, names))):
        notes.append("Columns of the same name were told apart by .1, .2, …")
    return unique, index


def _fast_numbers(cells, decimal):
    """All cells as numbers at once, or None if one of them is not."""
    if any("_" in cell for cell in cells):  # Python reads 1_2 as 12
        return None
    try:
        return np.array([cell.replace(",", ".") for cell in cells] if decimal == "," else cells, dtype=float)
    except ValueError:
        return None


def _number(word, decimal):
    if "_" in word or word in MISSING:
        return None
    try:
        return float(word.replace(",", ".") if decimal == "," else word)
    except ValueError:
        return None


def _is_word(cell, decimal):
    """Neither a number nor nothing."""
    word = cell.strip()
    return word not in MISSING and _number(word, decimal) is None


def _kind(word):
    """What a cell is that is no number."""
    for kind, read in (("complex numbers", complex), ("times", datetime.fromisoformat)):
        with suppress(ValueError):
            read(word.replace("_", "?"))
            return kind
    return "text"


def _shown(word):
    return repr(word if len(word) <= 30 else word[:29] + "…")
