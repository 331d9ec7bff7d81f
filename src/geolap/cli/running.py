"""How a command runs: what goes to standard output and what beside it, and how it ends.

The result is on standard output, one JSON document with ``--json``; notes, warnings and errors are lines on standard error.
Exit codes: 0 success, 1 a fault of geolap itself, 2 a file or an option that cannot be used, 3 a result that is not to be
trusted (``--strict``), 130 interrupted.
"""

import json
import math
import os
import re
import signal
import sys
import time
import warnings
from contextlib import contextmanager
from enum import IntEnum
from importlib import import_module

import typer

__all__ = ["Exit", "Interruptions", "Run", "as_options", "printable"]

# Parameters that the library's sentences advise to change, and that are options here; not inside the name of a column.
_PARAMETER = re.compile(
    r"(?<![\w'-])(disconnected(?==)|local_scale|max_share|n_components|n_landmarks|n_neighbors|n_sample|working_dim)\b"
    r"(?:='?(\w+)'?)?"
)


class Exit(IntEnum):
    """How a command ends."""

    SUCCESS = 0
    FAULT = 1
    BAD_INPUT = 2
    NOT_TRUSTED = 3
    INTERRUPTED = 130
    TERMINATED = 143


class Interruptions:
    """Ctrl-C and requests to end are an exit code, whenever they come."""

    def __enter__(self):
        if hasattr(signal, "SIGTERM"):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(Exit.TERMINATED))
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # of terminals that have no Greek letters
        return self

    def __exit__(self, kind, error, _):
        if kind is KeyboardInterrupt:
            _say("Interrupted.")
            sys.exit(Exit.INTERRUPTED)


class Run:
    """One run of a command.

    Parameters
    ----------
    command : str
    as_json, quiet : bool
        One document for machines; nothing but the result.
    threads : int or None
    """

    def __init__(self, command, *, as_json=False, quiet=False, n_jobs=None):
        self.command, self.as_json, self.quiet, self.n_jobs = command, as_json, quiet, n_jobs
        self.warnings: list[str] = []
        self._start = time.perf_counter()
        if quiet or as_json:
            os.environ.setdefault("TQDM_DISABLE", "1")

    @contextmanager
    def work(self):
        """Whatever goes wrong inside becomes a sentence and an exit code."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = self._warn
                with _limited_threads(self.n_jobs):
                    yield
            sys.stdout.flush()
        except typer.Exit:
            raise
        except BrokenPipeError:  # the reader has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(int(Exit.SUCCESS)) from None
        except KeyboardInterrupt:
            self._fail("Interrupted.", Exit.INTERRUPTED)
        except (ValueError, ImportError, MemoryError, OSError) as error:  # the library's are sentences
            if os.environ.get("GEOLAP_TRACEBACK"):
                raise
            self._fail(_sentence(error), Exit.BAD_INPUT)
        except Exception as error:
            if os.environ.get("GEOLAP_TRACEBACK"):
                raise
            self._fail(
                f"geolap failed unexpectedly ({type(error).__name__}: {_sentence(error)}): please report it, with what "
                "GEOLAP_TRACEBACK=1 shows.",
                Exit.FAULT,
            )

    def note(self, text):
        """Something to know that is no result."""
        if not self.quiet:
            _say(text, "Note", "dim")

    def notes(self, texts):
        for text in texts:
            self.note(text)

    def wrote(self, what, output):
        """Where something is that was written beside the result."""
        if output != "-":
            self.note(f"The {what} is in {output}.")

    def answer(self, result, show, *, data=None, plain=None, output=None):
        """The result: a document for machines, ``plain`` alone if quiet, or shown to people.

        Nothing is added where ``output`` has put it on standard output already.
        """
        if output == "-":
            return
        if self.as_json:
            document = {"command": self.command, "data": data, "result": result, "warnings": self.warnings}
            self._print_json({**document, "seconds": round(time.perf_counter() - self._start, 3)})
        elif self.quiet:
            if plain is not None:
                print(plain)
        else:
            show()

    def _print_json(self, document):
        from .. import __version__

        print(json.dumps(_plain({"geolap": __version__, **document}), allow_nan=False, indent=2))

    def _warn(self, message, category, filename, lineno, file=None, line=None):
        text = as_options(" ".join(str(message).split()))
        if text not in self.warnings:
            self.warnings.append(text)
            if not self.quiet:
                _say(text, "Warning", "yellow")

    def _fail(self, sentence, code):
        sentence = as_options(sentence)
        _say(sentence, None if code is Exit.INTERRUPTED else "Error", "bold red")
        if self.as_json:
            self._print_json({"command": self.command, "error": sentence, "exit_code": int(code)})
        raise typer.Exit(int(code))


@contextmanager
def _limited_threads(n_jobs):
    """Libraries that have threads of their own use no more than these."""
    if n_jobs is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    import_module("geolap.selectors")  # only libraries that are loaded can be limited
    with threadpool_limits(n_jobs):
        yield


def _say(text, title=None, style=""):
    """A line on standard error, without control characters that a file may have brought along."""
    from rich.console import Console
    from rich.text import Text

    line = Text(printable(" ".join(str(text).split())))
    if title:
        line = Text.assemble((f"{title}: ", style), line)
    Console(stderr=True, soft_wrap=True, highlight=False).print(line)


def as_options(sentence):
    """A sentence of the library with the names of parameters as they are written in a shell."""
    return _PARAMETER.sub(lambda found: " ".join(filter(None, ("--" + found[1].replace("_", "-"), found[2]))), sentence)


def printable(text):
    """Text that cannot move the cursor."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in str(text))


def _sentence(error):
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"The system refused{where}: {error.strerror.lower()}."
    text = " ".join(str(error).split())
    return text or type(error).__name__


def _plain(value):
    """Values that JSON has: NaN and infinities are null."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
