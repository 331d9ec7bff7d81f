"""The process in which files are read whose library may not come back.

The threat, measured on good files of which up to four places were overwritten at random: scipy.io ended the process for 1 in
100 .mat files and zarr (blosc) for 1 in 400 folders, and HDF5 was caught in an endless loop by 1 in 3000 files.  Those are
read apart.  pyarrow survived 26 000 such .parquet files, NumPy maps or checks what it reads, and openpyxl is Python: these
are read in place.

This guards against crashes, and against loops that Ctrl-C would not end; it does not guard against code, for the other
process has the rights of the same user.  That is why its answer may be pickled.  Nothing that a file holds is unpickled.
"""

import os
import pickle
import sys

from .reading import parsed
from .source import FileError
from .table import Frame

__all__ = ["serve"]


def serve() -> None:
    """Answer on standard output what was asked by the first argument."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries may print
    try:
        answer: Frame | Exception = parsed(pickle.loads(bytes.fromhex(sys.argv[1])))
    except (FileError, ImportError) as error:
        answer = error
    with answers:
        pickle.dump(answer, answers, protocol=5)
