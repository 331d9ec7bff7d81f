"""Files of .parquet, by pyarrow."""

from .source import FileError, Options, Source, needed_library
from .table import Frame

__all__ = ["read_parquet"]


def read_parquet(source: Source, options: Options) -> Frame:
    """A `Frame` of a .parquet file."""
    with needed_library("pyarrow.parquet", "A .parquet file").ParquetFile(source.path) as file:
        metadata, titles = file.metadata, file.schema_arrow.names
        stored = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
        source.check_columns(len(titles))
        source.check_bytes(max(2 * stored, 8 * metadata.num_rows * len(titles)))
        table = file.read()
    if table.num_rows == 0:
        raise FileError(f"{source.name} must hold rows; it has none: check how it was written.")
    if len({*titles}) != len(titles):
        raise FileError(f"{source.name} must have columns of different names; some are the same: rename them.")
    stored_index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = stored_index[0] if len(stored_index) == 1 and stored_index[0] in titles else None
    return Frame(dict(zip(titles, table.columns, strict=True)), index=index)
