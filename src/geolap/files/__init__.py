"""Data files in, points out; results out, by temporary file and rename.

Files are data: nothing in them is unpickled or run, sizes are checked before anything is read, and whatever is wrong with
one is a `FileError`, one sentence.  Every format becomes a `Frame`, and `geolap.files.table` makes the `Table` of points.
"""

from .reading import FORMATS, read_table
from .source import FileError
from .table import Table
from .writing import check_output, replaced_file, write_matrix, write_table, write_text

__all__ = ["FORMATS", "FileError", "Table", "read_table"]
__all__ += ["check_output", "replaced_file", "write_matrix", "write_table", "write_text"]
