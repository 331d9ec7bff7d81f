"""Files that compiled libraries parse, parsed in a process of their own: if one crashes, only that process does.

Parent and child speak in lines of JSON followed by raw bytes; nothing is pickled.  A request names the file (or brings the
content of a pipe), an answer is the `Frame` of it, or the sentence about it.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from .parsing import parsed
from .source import FileError, Limits, Source
from .table import Frame

__all__ = ["Reader", "serve"]

_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from geolap.files.isolation import serve; serve()"


class Reader:
    """A process that reads files, one after the other; started when it is asked, and again after a crash."""

    def __init__(self):
        self._process: Any = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read(self, source, format, limits, *, array=None, beside=()) -> Frame:
        """What `geolap.files.parsing.parsed` answers in this process."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CHILD, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        request = {
            "name": source.name,
            "path": None if source.path is None else str(source.path.absolute()),
            "size": len(source.content),
            "format": format,
            "limits": asdict(limits),
            "array": array,
            "beside": list(beside),
        }
        try:
            return self._answer(request, source.content)
        except FileError:
            raise
        except (EOFError, BrokenPipeError):
            code = self._process.wait()
            self.close()
            raise FileError(
                f"{source.name} must be a readable {format} file; the library that reads it crashed (code {code}): it is "
                "damaged, write it again."
            ) from None
        except BaseException:  # such as Ctrl-C, in the middle of an answer
            self.close(kill=True)
            raise

    def _answer(self, request, content):
        self._process.stdin.write(json.dumps(request).encode() + b"\n" + content)
        self._process.stdin.flush()
        answer = json.loads(_line(self._process.stdout))
        if "error" in answer:
            raise FileError(answer["error"])
        block = np.empty(answer.pop("shape"), np.dtype(answer.pop("dtype")))
        if block.dtype.kind not in "iuf":
            raise EOFError
        view = block.data.cast("B") if block.size else memoryview(b"")
        while len(view):
            got = self._process.stdout.readinto(view)
            if not got:
                raise EOFError
            view = view[got:]
        others = {
            name: None if values is None else np.array(values, object) for name, values in answer.pop("others").items()
        }
        return Frame(block, others=others, **answer)

    def close(self, kill=False):
        """End the process."""
        if self._process is not None:
            if kill:
                self._process.kill()
            self._process.stdout.close()
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.wait()
            self._process = None


def serve():
    """Answer requests from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries may print
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves nothing behind
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        content = sys.stdin.buffer.read(request["size"])
        path = None if request["path"] is None else Path(request["path"])
        source, limits = Source(request["name"], path, content), Limits(**request["limits"])
        try:
            frame = parsed(source, request["format"], limits, array=request["array"], beside=request["beside"])
        except FileError as error:
            answers.write(json.dumps({"error": str(error)}).encode() + b"\n")
        else:
            block = np.ascontiguousarray(frame.block)
            about = {f.name: getattr(frame, f.name) for f in fields(frame) if f.name not in ("block", "others")}
            about["others"] = {name: None if v is None else v.tolist() for name, v in frame.others.items()}
            about["row_names"] = None if frame.row_names is None else list(map(str, frame.row_names))
            about |= {"shape": block.shape, "dtype": block.dtype.str}
            answers.write(json.dumps(about, default=str).encode() + b"\n")
            answers.write(block.data.cast("B") if block.size else b"")
        answers.flush()


def _line(stream):
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line
