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
from itertools import islice
from typing import Any

from ..runtime.libraries import needed
from ..sentences import listed
from .source import FileError, Options, Source, named
from .table import MISSING, NUMBER, SIGNED, Frame

__all__ = ["read_text", "read_xlsx"]

# Lines from which the form of the file is guessed; bytes for each byte of text: itself, its cells, their numbers.
_GUESSED, _HELD = 50, 3
_SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "spaces"}  # in order of belief
_COMMA_NUMBER = re.compile(r"[+-]?(?![1-9]\d{0,2},\d{3}$)\d*,\d+([eE][+-]?\d+)?")  # which 1,234 may not be
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


def read_text(source: Source, options: Options) -> Frame:
    """A `Frame` of a table in text: unpacked, as UTF-8 with one kind of line end, without comments and blank lines."""
    text, notes = b"", list[str]()
    with source.path.open("rb") as file:
        stream = gzip.GzipFile(fileobj=file) if file.peek(2).startswith(b"\x1f\x8b") else file
        while part := stream.read(2**27):
            source.check(_HELD * (len(text) + len(part)), packed=True)
            text += part
    try:
        wide = text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = text.decode("utf-16").encode() if wide else text.removeprefix(codecs.BOM_UTF8)
        text.decode()
    except UnicodeDecodeError:
        text = text.decode("latin-1").encode()
        notes.append("The text is not UTF-8 and was read as Latin-1.")
    if b"\0" in text:
        raise FileError(f"{source.name} must be text; it contains zero bytes: name its --format, or save it as UTF-8.")
    text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text
    text = b"\n".join(text.split(b"\n")[options.skip_rows :]) if options.skip_rows else text
    if b"#" in text and (text[:1] == b"#" or b"\n#" in text):
        text, n_comments = re.subn(rb"(?m)^#.*\n?", b"", text)
        notes.append(f"Lines that begin with # were skipped ({n_comments}).")
    if text[:1] in b" \t" or any(sign in text and b"\n" + sign in text for sign in (b" ", b"\t")):
        text = re.sub(rb"(?m)^[ \t]+$", b"", text)
    return _frame_of_text(text, notes, source, options)


def read_xlsx(source: Source, options: Options) -> Frame:
    """A `Frame` of one sheet, the first one unless ``options.array`` names another: written as text, and read as text is."""
    needed("openpyxl", "files", "An .xlsx file needs")
    source.check_archive()
    with needed("pandas", "files", "An .xlsx file needs").ExcelFile(source.path, engine="openpyxl") as book:
        names = list(map(str, book.sheet_names))
        chosen = names[0] if options.array is None else named(options.array, names, source.name, "sheet")
        sheet = book.parse(chosen, header=None, skiprows=options.skip_rows, dtype=object, keep_default_na=False)
    others = [name for name in names if name != chosen]
    notes = [f"The table is sheet '{chosen}'; there is also {listed(others)} (--array)."] if others else []
    text = sheet.dropna(how="all").to_csv(index=False, header=False, lineterminator="\n").encode()
    thousands = None if options.thousands == "." else options.thousands  # numbers of a sheet are written with points
    options = replace(options, separator=",", decimal=options.decimal or ".", thousands=thousands)
    return replace(_frame_of_text(text, notes, source, options), array=chosen)


def _frame_of_text(text: bytes, notes: list[str], source: Source, options: Options) -> Frame:
    first = [line.decode() for line in islice(filter(bytes.strip, io.BytesIO(text)), _GUESSED)]
    separator = options.separator or ("\t" if options.format == "tsv" else _guessed_separator(first))
    rows = [[cell.strip() for cell in row] for row in _split(first, separator)]
    rows = [["" if cell in (options.na_values or ()) else cell for cell in row] for row in rows]
    width = len(rows[min(1, len(rows) - 1)]) if rows else 0
    if rows and len(rows[0]) == width - 1 and not any(row[-1] for row in rows[1:]):  # these separators separate nothing
        rows, width = [rows[0], *(row[:-1] for row in rows[1:])], width - 1
    header = bool(rows and _has_header(rows, notes)) if options.header is None else options.header
    if len(rows) <= header:
        found = "it is empty, or has only a header: check how it was written"
        raise FileError(f"{source.name} must contain rows of numbers; {found}.")
    source.check(8 * text.count(b"\n") * width, max(map(len, rows)))
    decimal = options.decimal or {None: None, ".": ","}.get(options.thousands, ".") or _guessed_decimal(rows)
    if decimal == ",":
        notes.append("Decimal commas were read as decimal points.")
    if separator in ";| ":
        notes.append(f"Columns are separated by {_SEPARATORS[separator]}.")
    titles = _names(rows[0] if header else [f"column{k + 1}" for k in range(width)], width, notes)
    index = "" if header and len(rows[0]) == width - 1 else None
    cells = _cells(_plain(text.lstrip(b"\n"), separator, width), separator, width, header, source.name, options)
    cells = [_with_points(column, decimal, options.thousands) for column in cells]
    return Frame(source.name, dict(zip(titles, cells, strict=True)), index=index, notes=notes, written=True)


def _plain(text: bytes, separator: str, width: int) -> bytes:
    """Text without what pyarrow does not know: several spaces, ends of lines that separate nothing, spaces before quotes."""
    if separator == " ":
        return b"\n".join(b" ".join(line.split()) for line in text.split(b"\n"))
    sign = re.escape(separator).encode()
    if separator.encode() + b"\n" in text or text.endswith(separator.encode()):
        text = re.sub(rb'(?m)^((?:[^"\n%b]*%b){%d}[^"\n%b]*)%b$' % (sign, sign, width - 1, sign, sign), rb"\1", text)
    return re.sub(rb'(?m)(^|%b) +(?=")' % sign, rb"\1", text) if b'"' in text else text


def _cells(text: bytes, separator: str, width: int, header: bool, name: str, options: Options) -> list[Any]:
    """All cells as words, null where there is nothing: ``width`` columns of pyarrow's."""
    pa, arrow = needed("pyarrow", "files", "A table in text needs"), needed("pyarrow.csv", "files", "A table in text needs")
    names = list(map(str, range(width)))
    block = max(2**22, 8 * text.find(b"\n"))
    parse = {"delimiter": separator, "quote_char": separator != " " and '"', "newlines_in_values": b'"' in text}
    convert = {"column_types": dict.fromkeys(names, pa.string()), "null_values": [*MISSING, *(options.na_values or ())]}
    form = (
        arrow.ReadOptions(column_names=names, skip_rows_after_names=int(header), block_size=block, use_threads=False),
        arrow.ParseOptions(**parse),
        arrow.ConvertOptions(**convert, strings_can_be_null=True),
    )
    try:
        return arrow.read_csv(pa.BufferReader(text), *form).columns
    except pa.ArrowInvalid as error:
        found = " ".join(str(error).split())[:120]
        raise FileError(
            f"{name} must have the same number of cells in every row; {found}: correct it, or name its --separator."
        ) from None


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
    best, most = ",", 1
    for separator in _SEPARATORS:
        with suppress(csv.Error):
            widths = {len(row) for row in _split(lines[1:] or lines, separator)}  # a header may name one column less
            if len(widths) == 1 and min(widths) > 1:
                return separator
            if min(widths, default=0) > most:
                best, most = separator, min(widths)
    return best


def _guessed_decimal(rows: list[list[str]]) -> str:
    """A comma if cells are like 1,5; not if all might be thousands, which are refused where they are needed as numbers."""
    cells = [cell for row in rows for cell in row]
    return "," if any(map(_COMMA_NUMBER.fullmatch, cells)) and not any(map(_POINT_NUMBER.fullmatch, cells)) else "."


def _has_header(rows: list[list[str]], notes: list[str]) -> bool:
    """Whether the first row names the columns.

    It does if none of its cells is a number, if a column is a number everywhere else, or if it counts 0, 1, 2, …
    """
    first, body = rows[0], rows[1:]
    filled, words = [cell for cell in first if cell], [k for k, cell in enumerate(first) if _is_word(cell)]
    counts = len(filled) > 2 and filled == list(map(str, range(len(filled)))) and len(first) - len(filled) <= 1
    if body and (counts or len(first) == len(body[0]) - 1):
        if not words:
            notes.append("The first line counts the columns and was read as a header (--no-header if it is data).")
        return True
    if words and len(words) == len(filled):
        return True  # also where there are no numbers: then at least the columns are called what they are
    if any(body and all(len(row) > k and not _is_word(row[k]) for row in body) for k in words):
        return True
    if words:
        notes.append("The first line was read as data (--header if it names the columns).")
    return False


def _names(first: list[str], width: int, notes: list[str]) -> list[str]:
    """Unique names of the columns; the first is "" if the header leaves it out."""
    given = ["", *first] if len(first) == width - 1 else first
    if len(given) != width and (len(given) != width + 1 or given[-1]):
        notes.append(f"The header has {len(first)} names for {width} columns.")
    names = [name or (f"column{k + 1}" if k else "") for k, name in enumerate([*given, *[""] * width][:width])]
    if len({*names}) == width:
        return names
    notes.append("Columns with the same name were renamed with .1, .2, …")
    unique = dict[str, None]()
    for k, name in enumerate(names):
        while name in unique:
            name = f"{name}.{k}"
        unique[name] = None
    return list(unique)
