"""Parquet files, by pyarrow: only columns of numbers are read, and the ones that name or label rows."""

import json

import numpy as np

from .source import FileError, needed_library
from .table import Frame

__all__ = ["read_parquet"]


def read_parquet(source, limits, *, beside=()):
    """A `Frame` of a .parquet file."""
    pa = needed_library("pyarrow", "A .parquet file")
    parquet = needed_library("pyarrow.parquet", "A .parquet file")
    with source.open() as stream, parquet.ParquetFile(stream) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        limits.check_columns(source.name, len(schema))
        if n_rows == 0:
            raise FileError(f"{source.name} must hold rows; it has none: check how it was written.")
        names = list(schema.names)
        if len(set(names)) != len(names):
            raise FileError(f"{source.name} must have columns of different names; some are the same: rename them.")
        numeric, left_out = [], {}
        for field in schema:
            if _is_number(pa.types, field.type):
                numeric.append(field.name)
            else:
                left_out[field.name] = _kind(pa.types, field.type)
        limits.check_bytes(source.name, 8 * n_rows * len(numeric), f"{n_rows} × {len(numeric)} numbers")
        index = _pandas_index(schema)
        wanted = {*beside, index, names[0]}
        words = [
            name
            for k, name in enumerate(names)
            if {name, str(k), str(k - len(names))} & (wanted if name in left_out else {*beside})
            and left_out.get(name, "text") in ("text", "times")
        ]
        stored = sum(
            file.metadata.row_group(g).column(c).total_uncompressed_size
            for g in range(file.metadata.num_row_groups)
            for c in range(file.metadata.num_columns)
            if file.metadata.row_group(g).column(c).path_in_schema in words
        )
        limits.check_bytes(source.name, stored + 64 * n_rows * len(words), "its columns of text")
        content = file.read(columns=list(dict.fromkeys([*numeric, *words])), use_threads=False)
    truths = [name for name in numeric if pa.types.is_boolean(schema.field(name).type)]
    columns = [_numbers(content.column(name)) for name in numeric]
    return Frame(
        block=np.column_stack(columns) if columns else np.empty((n_rows, 0)),
        names=numeric,
        others={name: _words(content.column(name)) for name in words},
        left_out=left_out,
        order=names,
        index=index if index in numeric or index in words else None,
        notes=[f"True and false were read as 1 and 0 ({len(truths)} columns)."] if truths else [],
    )


def _is_number(types, kind):
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)


def _kind(types, kind):
    if types.is_dictionary(kind):
        return _kind(types, kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_temporal(kind):
        return "times"
    return "empty" if types.is_null(kind) else f"nested or other values ({str(kind)[:40]})"


def _numbers(column):
    """Floats, NaN where there is nothing."""
    import pyarrow as pa

    if not pa.types.is_floating(column.type) or pa.types.is_float16(column.type):
        column = column.cast(pa.float64(), safe=False) if not pa.types.is_boolean(column.type) else column.cast(pa.int8())
    return np.asarray(column.to_numpy(), dtype=float)


def _words(column):
    return np.array([None if value is None else str(value) for value in column.to_pylist()], dtype=object)


def _pandas_index(schema):
    """The column that pandas stored its index in, if it has one."""
    try:
        names = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    except (ValueError, AttributeError):
        return None
    return names[0] if isinstance(names, list) and len(names) == 1 and isinstance(names[0], str) else None
