"""Tables in text, .csv, .tsv and their like, also compressed by gzip, and in sheets: split into cells by pyarrow.

What the file does not say is found from its first lines: separator, decimal comma, whether the first line is a header.
"""

import codecs
import csv
import gzip
import io
import re
import zipfile
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from .columns import MISSING, Frame
from .source import FileError, Options, Source, listed, needed_library
from .table import named

__all__ = ["read_text", "read_xlsx"]

# Lines from which the form of the file is guessed; bytes for each byte of text: itself, its cells, their numbers.
_GUESSED, _HELD = 50, 3
_SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "spaces"}  # in order of belief
_NUMBER = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.ASCII | re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_WIDE = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
_WIDE |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def read_text(source: Source, options: Options) -> Frame:
    """A `Frame` of a table in text: unpacked, as UTF-8 with one kind of line end, without comments and blank lines."""
    parts, length, notes = [], 0, []
    with source.path.open("rb") as file:
        stream = gzip.GzipFile(fileobj=file) if file.peek(2).startswith(b"\x1f\x8b") else file
        while part := stream.read(2**27):
            length += len(part)
            source.check_packing(_HELD * length)
            parts.append(part)
    text = b"".join(parts)
    parts.clear()
    try:
        wide = next((encoding for mark, encoding in _WIDE.items() if text.startswith(mark)), None)
        text = text.decode(wide).encode() if wide else text.removeprefix(codecs.BOM_UTF8)
        text.decode()
    except UnicodeDecodeError:
        text = text.decode("latin-1").encode()
        notes.append("The text is not UTF-8 and was read as Latin-1.")
    if b"\0" in text:
        advice = "name its kind with --format, or save it as UTF-8"
        raise FileError(f"{source.name} must be text; it holds zero bytes: {advice}.")
    text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text
    text = b"\n".join(text.split(b"\n")[options.skip_rows :]) if options.skip_rows else text
    if b"#" in text and (text[:1] == b"#" or b"\n#" in text):
        text, n_comments = re.subn(rb"(?m)^#.*\n?", b"", text)
        which = "1 line that begins with # was" if n_comments == 1 else f"{n_comments} lines that begin with # were"
        notes.append(f"{which} skipped.")
    if text[:1] in b" \t" or any(sign in text and b"\n" + sign in text for sign in (b" ", b"\t")):
        text = re.sub(rb"(?m)^[ \t]+$", b"", text)
    return _frame_of_text(text, notes, source, options)


def read_xlsx(source: Source, options: Options) -> Frame:
    """A `Frame` of one sheet, the first one unless ``options.array`` names another: written as text, and read as text is."""
    needed_library("openpyxl", "An .xlsx file")
    with zipfile.ZipFile(source.path) as archive:
        source.check_packing(sum(member.file_size for member in archive.infolist()))
    with needed_library("pandas", "An .xlsx file").ExcelFile(source.path, engine="openpyxl") as book:
        names = list(map(str, book.sheet_names))
        chosen = names[0] if options.array is None else named(options.array, names, source.name, "sheet")
        sheet = book.parse(chosen, header=None, skiprows=options.skip_rows, dtype=object, keep_default_na=False)
    others = [name for name in names if name != chosen]
    notes = [f"The table is sheet '{chosen}'; there is also {listed(others)} (--array)."] if others else []
    text = sheet.dropna(how="all").to_csv(index=False, header=False, lineterminator="\n").encode()
    thousands = None if options.thousands == "." else options.thousands  # numbers of a sheet are written with points
    options = replace(options, separator=",", decimal=options.decimal or ".", thousands=thousands)
    frame = _frame_of_text(text, notes, source, options)
    return replace(frame, array=chosen)


def _frame_of_text(text: bytes, notes: list[str], source: Source, options: Options) -> Frame:
    first = [line.decode() for line in islice(filter(bytes.strip, io.BytesIO(text)), _GUESSED)]
    if not first:
        raise FileError(f"{source.name} must hold rows of numbers; it is empty: check how it was written.")
    separator = options.separator or _guessed_separator(first)
    rows = [["" if cell.strip() in options.na_values else cell.strip() for cell in row] for row in _split(first, separator)]
    width = len(rows[min(1, len(rows) - 1)])
    if len(rows[0]) == width - 1 and not any(row[-1] for row in rows[1:]):  # separators that end lines separate nothing
        rows, width = [rows[0], *(row[:-1] for row in rows[1:])], width - 1
    source.check_columns(max(map(len, rows)))
    source.check_bytes(8 * text.count(b"\n") * width)
    decimal = options.decimal or {None: None, ".": ","}.get(options.thousands, ".") or _guessed_decimal(rows)
    if decimal == ",":
        notes.append("Decimal commas were read as decimal points.")
    if separator in ";| ":
        notes.append(f"Columns are separated by {_SEPARATORS[separator]}.")
    header = options.header
    if header is None:
        header, words = _has_header(rows), any(map(_is_word, rows[0]))
        if header and not words:
            notes.append("The first line counts the columns and was read as a header (--no-header if it is data).")
        elif words and not header:
            notes.append("The first line was read as data (--header if it names the columns).")
    if header and len(rows) == 1:
        found = "it has a header and nothing below it: check how it was written"
        raise FileError(f"{source.name} must hold rows of numbers; {found}.")
    titles, index = _names(rows[0], width, notes) if header else ([f"column{k + 1}" for k in range(width)], None)
    text = _plain(text.lstrip(b"\n"), separator, width)
    cells = _cells(text, separator, width, max(map(len, first)), int(header), source.name, options.na_values)
    cells = [_with_points(column, decimal, options.thousands) for column in cells]
    return Frame(dict(zip(titles, cells, strict=True)), index=index, notes=notes, written=True)


def _plain(text: bytes, separator: str, width: int) -> bytes:
    """Text without what pyarrow does not know: several spaces, ends of lines that separate nothing, spaces before quotes."""
    if separator == " ":
        return b"\n".join(b" ".join(line.split()) for line in text.split(b"\n"))
    sign = re.escape(separator).encode()
    if separator.encode() + b"\n" in text or text.endswith(separator.encode()):
        text = re.sub(rb'(?m)^((?:[^"\n%b]*%b){%d}[^"\n%b]*)%b$' % (sign, sign, width - 1, sign, sign), rb"\1", text)
    return re.sub(rb'(?m)(^|%b) +(?=")' % sign, rb"\1", text) if b'"' in text else text


def _cells(
    text: bytes, separator: str, width: int, longest: int, skipped: int, name: str, na_values: tuple[str, ...]
) -> list[Any]:
    """All cells as words, null where there is nothing: ``width`` columns of pyarrow's."""
    pa, arrow = needed_library("pyarrow", "A table in text"), needed_library("pyarrow.csv", "A table in text")
    names, ragged = list(map(str, range(width))), []

    def refuse(row: Any) -> str:
        ragged.append(row)
        return "error"

    read = {"column_names": names, "skip_rows_after_names": skipped, "block_size": max(2**22, 8 * longest)}
    parse = {"delimiter": separator, "quote_char": separator != " " and '"', "newlines_in_values": b'"' in text}
    convert = {"column_types": dict.fromkeys(names, pa.string()), "null_values": [*MISSING, *na_values]}
    form = (
        arrow.ReadOptions(**read, use_threads=False),  # the number of a row is known
        arrow.ParseOptions(**parse, invalid_row_handler=refuse),
        arrow.ConvertOptions(**convert, strings_can_be_null=True),
    )
    try:
        return arrow.read_csv(pa.BufferReader(text), *form).columns
    except pa.ArrowInvalid:
        if not ragged:
            raise
        found = f"row {ragged[0].number - skipped} has {ragged[0].actual_columns} and others have {width}"
        advice = "correct it, or name the --separator"
        raise FileError(f"{name} must have as many cells in every row; {found}: {advice}.") from None


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
    return cell not in MISSING and not _NUMBER.fullmatch(cell)


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


def _guessed_decimal(rows: list[list[str]]) -> str:
    """A comma if cells are like 1,5; not if all might be thousands, which are refused where they are needed as numbers."""
    cells = [cell for row in rows for cell in row]
    fractions = any(_COMMA_NUMBER.fullmatch(cell) and not _THOUSANDS.fullmatch(cell) for cell in cells)
    return "," if fractions and not any(_POINT_NUMBER.fullmatch(cell) for cell in cells) else "."


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns.

    It does if none of its cells is a number, if a column is a number everywhere else, or if it counts 0, 1, 2, …
    """
    first, body = rows[0], rows[1:]
    filled = [cell for cell in first if cell]
    counts = len(filled) > 2 and filled == list(map(str, range(len(filled)))) and len(first) - len(filled) <= 1
    if body and (counts or len(first) == len(body[0]) - 1):
        return True
    words = [k for k, cell in enumerate(first) if _is_word(cell)]
    if words and len(words) == len(filled):
        return True  # also where there are no numbers: then at least the columns are called what they are
    return any(body and all(len(row) > k and not _is_word(row[k]) for row in body) for k in words)


def _names(first: list[str], width: int, notes: list[str]) -> tuple[list[str], str | None]:
    """Unique names of the columns, and that of the rows if the header leaves it out."""
    given, index = first, None
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
