"""Sheets of .xlsx files, by openpyxl: written as text, and then read as text is."""

import csv
import io
import zipfile
from dataclasses import replace
from itertools import islice
from typing import Any

from .source import FileError, Limits, Source, needed_library
from .table import Frame, listed, named_alike
from .text import Form, frame_of_text

__all__ = ["read_xlsx"]


def read_xlsx(source: Source, limits: Limits, form: Form, array: str | None = None) -> Frame:
    """A `Frame` of one sheet; the first one unless ``array`` names another."""
    openpyxl = needed_library("openpyxl", "An .xlsx file")
    with zipfile.ZipFile(source.path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    limits.check_packing(source.name, source.path.stat().st_size, unpacked)
    book = openpyxl.load_workbook(source.path, read_only=True, data_only=True)  # values, not formulas
    names = [sheet.title for sheet in book.worksheets]
    chosen = names[0] if array is None else named_alike(array, names)
    if chosen is None:
        raise FileError(f"{source.name} must hold the sheet asked for; there is no '{array}': it has {listed(names)}.")
    below = islice(book[chosen].iter_rows(values_only=True), form.skip_rows, None)
    rows = [row for row in below if any(cell is not None for cell in row)]
    width = max((_width(row) for row in rows), default=0)
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows([_word(cell) for cell in row[:width]] for row in rows)
    others = [name for name in names if name != chosen]
    notes = [f"The table is sheet '{chosen}'; there is also {listed(others)} (--array)."] if others else []
    plain = replace(form, separator=",", decimal=".", thousands=None)
    frame = frame_of_text(lines.getvalue().encode(), notes, source.name, limits, plain)
    frame.array = chosen
    return frame


def _width(row: tuple[Any, ...]) -> int:
    """Cells up to the last that holds something."""
    return max(k + 1 for k, cell in enumerate(row) if cell is not None)


def _word(cell: Any) -> str:
    if cell is None:
        return ""
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)
