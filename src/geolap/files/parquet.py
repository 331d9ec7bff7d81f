"""Columns that have a type, by pyarrow: .parquet files, and the fields of NumPy's records."""

import json
from typing import Any

from .source import FileError, Limits, Source, needed_library
from .table import Column, Frame

__all__ = ["frame_of_columns", "read_parquet"]

_NESTED = "nested or other values"


def read_parquet(source: Source, limits: Limits) -> Frame:
    """A `Frame` of a .parquet file."""
    with needed_library("pyarrow.parquet", "A .parquet file").ParquetFile(source.path) as file:
        metadata, n_columns = file.metadata, len(file.schema_arrow)
        stored = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
        limits.check_columns(source.name, n_columns)
        limits.check_bytes(source.name, max(2 * stored, 8 * metadata.num_rows * n_columns))
        table = file.read()
    if table.num_rows == 0:
        raise FileError(f"{source.name} must hold rows; it has none: check how it was written.")
    return frame_of_columns(table, source.name, index=_pandas_index(table.schema))


def frame_of_columns(table: Any, name: str, index: str | None = None) -> Frame:
    """Columns of numbers, and what the others hold; ``table`` is of pyarrow, or something to make one from."""
    pa = needed_library("pyarrow", "A table of columns")
    table = table if isinstance(table, pa.Table) else pa.table(table)
    titles = table.column_names
    if len({*titles}) != len(titles):
        raise FileError(f"{name} must have columns of different names; some are the same: rename them.")
    columns = {}
    for title, cells in zip(titles, table.columns, strict=True):
        kind = _kind(cells.type, pa.types)
        numbers = cells.cast(pa.float64(), safe=False).to_numpy() if kind in ("numbers", "truths") else None
        columns[title] = Column(None if kind.startswith(_NESTED) else cells, numbers, kind)
    return Frame(columns, index=index if index in titles else None)


def _kind(held: Any, types: Any) -> str:
    """What a column of that type holds."""
    if types.is_dictionary(held):
        return _kind(held.value_type, types)
    tests = {"numbers": (types.is_integer, types.is_floating, types.is_decimal), "truths": (types.is_boolean,)}
    tests |= {"text": (types.is_string, types.is_large_string), "times": (types.is_temporal,), "empty": (types.is_null,)}
    other = f"{_NESTED} ({str(held)[:40]})"
    return next((kind for kind, fits in tests.items() if any(fit(held) for fit in fits)), other)


def _pandas_index(schema: Any) -> str | None:
    """The column that pandas stored its index in, if it has one."""
    about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    names = about.get("index_columns", []) if isinstance(about, dict) else []
    return names[0] if isinstance(names, list) and len(names) == 1 and isinstance(names[0], str) else None
