"""Files that are read in a process of their own, because the library that reads them may not come back.

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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from subprocess import DEVNULL, PIPE, Popen

from .source import FileError, Options, Source
from .table import Frame

__all__ = ["ISOLATED", "in_another_process", "serve"]

ISOLATED = ("mat", "h5ad", "hdf5", "zarr")
_CHILD = """import sys
sys.path[:] = sys.argv[1:]
from geolap.files.isolation import serve
from geolap.files.reading import parsed
serve(parsed)"""


def in_another_process(source: Source, format: str, options: Options) -> Frame:
    """What `geolap.files.reading.parsed` answers there, if that process lives to answer."""
    request = pickle.dumps((replace(source, path=source.path.absolute()), format, options))
    with Popen([sys.executable, "-P", "-c", _CHILD, *sys.path], stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as process:
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018
        try:
            with suppress(BrokenPipeError), process.stdin as requests:
                requests.write(request)
            answer = pickle.load(process.stdout)
        except (EOFError, pickle.UnpicklingError):
            crash = f"the library that reads it crashed (code {process.wait()})"
            answer = FileError(f"{source.name} must be a readable {format} file; {crash}: write it again.")
        finally:
            process.kill()
    if isinstance(answer, Exception):
        raise answer
    return answer


def serve(parsed: Callable[..., Frame]) -> None:
    """Answer the request on standard input."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries may print
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves nothing behind
    try:
        answer: Frame | Exception = parsed(*pickle.load(sys.stdin.buffer))
    except (FileError, ImportError) as error:
        answer = error
    with answers:
        pickle.dump(answer, answers, protocol=5)
