"""Tables in text, .csv, .tsv and their like, also compressed by gzip, and in sheets: split into cells by pyarrow.

What the file does not say is found from its first lines: separator, decimal comma, whether the first line is a header.
"""

import codecs
import csv
import gzip
import io
import re
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ..runtime.libraries import needed
from ..sentences import listed
from .source import FileError, Source, named
from .table import MISSING, NUMBER, SIGNED, Frame

__all__ = ["read_text", "read_xlsx"]

# Lines from which the form of the file is guessed; bytes for each byte of text: itself, its cells, their numbers.
_GUESSED, _HELD = 50, 3
_SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "spaces"}  # in order of belief
_COMMA_NUMBER = re.compile(r"[+-]?(?![1-9]\d{0,2},\d{3}$)\d*,\d+([eE][+-]?\d+)?")  # which 1,234 may not be
_YEAR = re.compile(r"(1[5-9]|20|21)\d\d")
_FEWEST_YEARS = 3
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


def read_text(source: Source) -> Frame:
    """A `Frame` of a table in text: unpacked, as UTF-8 with one kind of line end, without comments."""
    text, notes = b"", list[str]()
    with source.path.open("rb") as file:
        stream = gzip.GzipFile(fileobj=file) if file.peek(2).startswith(b"\x1f\x8b") else file
        while part := stream.read(2**27):
            source.check(_HELD * (len(text) + len(part)), packed=True)
            text += part
    wide = text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = io.TextIOWrapper(io.BytesIO(text), "utf-16" if wide else "utf-8-sig").read().encode()
    except UnicodeDecodeError:
        text = io.TextIOWrapper(io.BytesIO(text), "latin-1").read().encode()
        notes.append("The text is not UTF-8 and was read as Latin-1.")
    if b"\0" in text:
        advice = "save it as .csv, .parquet or .npy, or name its --format"
        raise FileError(f"{source.name} must be text or have a format that is read; it contains zero bytes: {advice}.")
    text = b"".join(text.split(b"\n", source.skip_rows)[source.skip_rows :])
    if text.startswith(b"#") or b"\n#" in text:
        text, n_comments = re.subn(rb"(?m)^#.*\n?", b"", text)
        notes.append(f"Lines that begin with # were skipped ({n_comments}).")
    return _frame_of_text(text.lstrip(b"\n"), notes, source)


def read_xlsx(source: Source) -> Frame:
    """A `Frame` of one sheet, the first one unless ``source.array`` names another: written as text, and read as text is."""
    needed("openpyxl", "files", "An .xlsx file needs")
    source.check_archive()
    form = {"skiprows": source.skip_rows, "header": None, "dtype": object, "keep_default_na": False}
    sheets = needed("pandas", "files", "An .xlsx file needs").read_excel(source.path, None, engine="openpyxl", **form)
    chosen = next(iter(sheets)) if source.array is None else named(source.array, sheets, source.name, "sheet")
    others = [name for name in sheets if name != chosen]
    notes = [f"The table is sheet '{chosen}'; there is also {listed(others)} (--array)."] if others else []
    text = sheets[chosen].dropna(how="all").to_csv(index=False, header=False, lineterminator="\n").encode()
    thousands = None if source.thousands == "." else source.thousands  # numbers of a sheet are written with points
    source = replace(source, separator=",", decimal=source.decimal or ".", thousands=thousands)
    return replace(_frame_of_text(text, notes, source), array=chosen)


def _frame_of_text(text: bytes, notes: list[str], source: Source) -> Frame:
    first = [line.decode() for line in text.split(b"\n", _GUESSED)[:_GUESSED] if line.strip()]
    separator = source.separator or ("\t" if source.format == "tsv" else _guessed_separator(first))
    rows = [[cell.strip() for cell in row] for row in _split(first, separator)]
    header = bool(rows and _has_header(rows, notes)) if source.header is None else source.header
    if len(rows) <= header:
        found = "it is empty, or has only a header: check how it was written"
        raise FileError(f"{source.name} must contain rows of numbers; {found}.")
    width = len(rows[min(1, len(rows) - 1)])
    source.check(8 * text.count(b"\n") * width, max(map(len, rows)))
    cells = [cell for row in rows for cell in row]  # of which some may be thousands, 1,234, to be refused as numbers
    commas = any(map(_COMMA_NUMBER.fullmatch, cells)) and not any(map(_POINT_NUMBER.fullmatch, cells))
    decimal = source.decimal or {None: "," if commas else ".", ".": ","}.get(source.thousands, ".")
    if decimal == ",":
        notes.append("Decimal commas were read as decimal points.")
    if separator in ";| ":
        notes.append(f"Columns are separated by {_SEPARATORS[separator]}.")
    names = rows[0] if header else [""] * width
    if len(names) == width - 1:  # R leaves out the name of the first; an empty last column has none either
        names = ["", *names] if any(row[-1] for row in rows[1:]) else [*names, ""]
    names = [name or f"column{k + 1}" * (k > 0 or not header) for k, name in enumerate(names)]
    if len(names) != width or len({*names}) != width:
        found = f"it has {len({*names})} distinct names for {width} columns: correct them, or use --no-header or --skip-rows"
        raise FileError(f"The header of {source.name} must name every column; {found}.")
    if not names[0]:
        notes.append("The first column, which has no name, names the rows.")
    cells = _cells(text, separator, names, header, source)
    columns = {name: _with_points(cells[name], decimal, source.thousands) for name in names}
    return Frame(source.name, columns, notes=notes, written=True)


def _cells(text: bytes, separator: str, names: list[str], header: bool, source: Source) -> Any:
    """All cells as words, null where there is nothing: a table of pyarrow's."""
    pa, arrow = needed("pyarrow", "files", "A table in text needs"), needed("pyarrow.csv", "files", "A table in text needs")
    if separator == " ":  # as many as there may be
        text = b"\n".join(b" ".join(line.split()) for line in text.split(b"\n"))
    elif b'"' in text:  # which may follow spaces
        text = re.sub(rb'(?m)(^|%b) +(?=")' % re.escape(separator).encode(), rb"\1", text)
    block = max(2**22, 8 * text.find(b"\n"))
    missing = [*MISSING, *source.na_values]
    return arrow.read_csv(
        pa.BufferReader(text),
        arrow.ReadOptions(column_names=names, skip_rows_after_names=int(header), block_size=block, use_threads=False),
        arrow.ParseOptions(delimiter=separator, quote_char=separator != " " and '"', newlines_in_values=b'"' in text),
        arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), null_values=missing, strings_can_be_null=True),
    )


def _with_points(cells: Any, decimal: str, thousands: str | None) -> Any:
    """Words, those that are numbers with decimal points and without signs between thousands."""
    from pyarrow import compute

    if thousands is not None:
        sign, point = re.escape(thousands), re.escape(decimal)
        grouped = compute.match_substring_regex(cells, rf"^\s*[+-]?\d{{1,3}}({sign}\d{{3}})+({point}\d*)?\s*$")
        cells = compute.if_else(grouped, compute.replace_substring(cells, thousands, ""), cells)
    if decimal == ",":
        cells = compute.replace_substring_regex(cells, r"^(\s*[+-]?\d*),(\d+([eE][+-]?\d+)?\s*)$", r"\1.\2")
    return cells


def _is_word(cell: str) -> bool:
    return cell not in MISSING and not re.match(NUMBER, cell) and not re.match(SIGNED, cell)


def _split(lines: list[str], separator: str) -> list[list[str]]:
    if separator == " ":
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=separator, skipinitialspace=True))


def _guessed_separator(lines: list[str]) -> str:
    """The first of the usual ones that gives every line the same number of cells, more than one."""
    for separator in _SEPARATORS:
        with suppress(csv.Error):
            widths = {len(row) for row in _split(lines[1:] or lines, separator)}  # a header may name one column less
            if len(widths) == 1 and min(widths) > 1:
                return separator
    return ","


def _has_header(rows: list[list[str]], notes: list[str]) -> bool:
    """Whether the first row names the columns.

    It does if none of its cells is a number, if a column is a number everywhere else, or if it counts 0, 1, 2, … or years.
    """
    first, body = [cell for cell in rows[0] if cell], zip(*rows[1:], strict=False)
    if len(first) > 2 and len(rows[0]) - len(first) <= 1 and first == list(map(str, range(len(first)))):
        notes.append("The first line counts the columns and was read as a header (--no-header if it is data).")
        return True
    if all(map(_is_word, first)):  # also where there are no numbers: then at least the columns are called what they are
        return True
    if any(_is_word(cell) and not any(map(_is_word, column)) for cell, column in zip(rows[0], body, strict=False)):
        return True
    if _counts_years(rows):
        notes.append("The first line names columns by years and was read as a header (--no-header if it is data).")
        return True
    if any(map(_is_word, first)):
        notes.append("The first line was read as data (--header if it names the columns).")
    return False


def _counts_years(rows: list[list[str]]) -> bool:
    """Whether all numbers in the first row are years at equal steps, and no other row has years in these columns alone."""
    columns = [k for k, cell in enumerate(rows[0]) if cell and not _is_word(cell)]
    years = [int(rows[0][k]) for k in columns if _YEAR.fullmatch(rows[0][k])]
    if len(columns) < _FEWEST_YEARS or len(years) < len(columns):
        return False
    steps = {later - earlier for earlier, later in pairwise(years)}
    alike = any(all(k < len(row) and _YEAR.fullmatch(row[k]) for k in columns) for row in rows[1:])
    return len(steps) == 1 and min(steps) > 0 and not alike
