"""How a command runs: what goes to standard output and what beside it, and how it ends.

The result is on standard output, one JSON document with ``--json``; notes, warnings and errors are lines on standard error.
Exit codes: 0 success, 1 a fault of geolap itself, 2 a file or an option that cannot be used, 3 no clear minimum
(``--strict``), 130 interrupted.
"""

import json
import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from ..sentences import Sentence, python_name

if TYPE_CHECKING:
    from ..files import Table
    from ..selection import Selection

__all__ = ["Answer", "Exit", "Run", "on_interrupt", "printable"]

# Requests to end, by signals.
_ended: list["Exit"] = []
# Parameters whose options are called otherwise.
_OTHER_NAMES = {"random_state": "seed", "sample_weight": "weights"}


class Exit(IntEnum):
    """How a command ends."""

    SUCCESS = 0
    FAULT = 1
    BAD_INPUT = 2
    NOT_RESOLVED = 3
    INTERRUPTED = 130
    TERMINATED = 143


@dataclass(frozen=True)
class Answer:
    """What a command has found."""

    result: dict[str, Any]  # for machines
    shown: Iterable[Any]  # for people: lines, and tables of rich
    plain: str | None = None  # all that is printed if quiet
    table: "Table | None" = None  # what was read
    selection: "Selection | None" = None
    output: str | None = None  # where the result was written; nothing is added where that is standard output


@contextmanager
def on_interrupt() -> Iterator[None]:
    """Ctrl-C and requests to end are an exit code, whenever they come."""
    requests = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # not on every system
    signal.signal(signal.SIGINT, lambda *_: _asked(Exit.INTERRUPTED, KeyboardInterrupt()))
    for request in requests:
        signal.signal(request, lambda *_: _asked(Exit.TERMINATED, SystemExit(int(Exit.TERMINATED))))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # of terminals that have no Greek letters
    try:
        yield
    except KeyboardInterrupt:
        _say_interrupted()
        _leave(Exit.INTERRUPTED)
    except SystemExit as end:
        if end.code in (Exit.INTERRUPTED, Exit.TERMINATED):
            _leave(Exit(end.code))
        for request in (signal.SIGINT, *requests):  # all is done, and Python, while it ends, would die of one
            signal.signal(request, signal.SIG_IGN)
        raise


def _asked(code: Exit, error: BaseException) -> NoReturn:
    """End from within a signal.

    Libraries that are being imported make another error of this one, or none, and finalizers lose it: the list tells of it,
    and it is raised again after a second.
    """
    _ended.append(code)
    if hasattr(signal, "setitimer"):  # not on every system
        signal.signal(signal.SIGALRM, lambda *_: _asked(code, error))
        signal.setitimer(signal.ITIMER_REAL, 1.0)
    raise error


def _leave(code: Exit) -> NoReturn:
    """End at once: everything is cleaned up, and native code on other threads is not waited for."""
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(code)


class Run:
    """One run of a command, whose ``options``, click's parameters, tell how its parameters are written."""

    def __init__(
        self,
        command: str,
        options: Iterable[Any] = (),
        *,
        seed: int = 0,
        n_jobs: int | None = None,
        json: bool = False,
        verbose: bool = False,
        quiet: bool = False,
    ) -> None:
        self.command, self.seed, self.n_jobs, self.as_json = command, seed, n_jobs, json
        self.verbose, self.quiet = verbose, quiet
        self.warnings: list[str] = []
        self.columns: tuple[str, ...] | None = None  # of the table that is read
        self._start = time.perf_counter()
        written = {option.name: [*option.opts, *option.secondary_opts] for option in options}
        self._options = {name: way for name, ways in written.items() for way in reversed(ways) if way.startswith("--")}

    def named(self, parameter: str, value: str | None = None) -> str:
        """A parameter, or a parameter at a value, as it is written in the shell; as in Python where it is no option."""
        option = self._options.get(_OTHER_NAMES.get(parameter, parameter))
        if option is None:
            return python_name(parameter, value)
        return option if value in (None, "True") else f"{option} {value}"

    @contextmanager
    def work(self) -> Iterator[None]:
        """Whatever goes wrong inside becomes a sentence and an exit code."""
        try:
            from ..runtime.progress import aloud, silently

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = self._warn
                with _limited_threads(self.n_jobs), aloud(self.verbose), silently(self.quiet or self.as_json):
                    yield
            sys.stdout.flush()
        except typer.Exit:
            raise
        except BrokenPipeError:  # the reader has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(int(Exit.SUCCESS)) from None
        except KeyboardInterrupt:
            self._fail("Interrupted.", Exit.INTERRUPTED)
        except Exception as error:
            if Exit.INTERRUPTED in _ended:
                self._fail("Interrupted.", Exit.INTERRUPTED)
            if _ended:
                raise SystemExit(int(_ended[0])) from None
            if os.environ.get("GEOLAP_TRACEBACK"):
                raise
            text = self._text(error)
            if isinstance(error, ValueError | ImportError | MemoryError | OSError):  # the library's are sentences
                self._fail(text, Exit.BAD_INPUT)
            self._fail(
                f"geolap failed unexpectedly ({type(error).__name__}: {text}): please report it, with what "
                "GEOLAP_TRACEBACK=1 shows.",
                Exit.FAULT,
            )

    def progress(self) -> AbstractContextManager[None]:
        """A bar on a terminal, before anything slow is loaded: reading, computing, writing a report."""
        from ..runtime.progress import parts

        return parts(3, self.command)

    def begin(self, label: str) -> None:
        """The next of these parts begins."""
        from ..runtime.progress import begin

        begin(label)

    def note(self, text: str) -> None:
        """Something to know that is no result."""
        if not self.quiet:
            _say(text, "Note", "dim")

    def tell(self, answer: Answer, *, strict: bool = False) -> None:
        """Print the result: a document for machines, ``plain`` alone if quiet, or what is shown to people."""
        if answer.output != "-":
            if self.as_json:
                data = None if answer.table is None else _described(answer.table)
                seconds = round(time.perf_counter() - self._start, 3)
                self._print_json(data=data, result=answer.result, warnings=self.warnings, seconds=seconds)
            elif not self.quiet:
                self._show(answer)
            elif answer.plain is not None:
                print(answer.plain)
        if strict and answer.selection is not None and not answer.selection.trusted:
            raise typer.Exit(int(Exit.NOT_RESOLVED))

    def _show(self, answer: Answer) -> None:
        from rich.console import Console

        if answer.table is not None:
            (n, r), array = answer.table.points.shape, answer.table.array
            where = f", array {array}" if array else ""
            print(printable(f"{_file_name(answer.table)}{where}: {n} points, {r} feature{'' if r == 1 else 's'}"))
        for part in answer.shown:
            if isinstance(part, str):
                print(printable(part))
            else:
                width = None if sys.stdout.isatty() else 200
                Console(highlight=False, markup=False, width=width).print(part)

    def _print_json(self, **document: Any) -> None:
        from .. import __version__

        document = {"geolap": __version__, "command": self.command, **document}
        print(json.dumps(_plain(document), allow_nan=False, indent=2))

    def _text(self, error: Exception | Warning) -> str:
        """What an error or a warning says, with parameters as they are written in the shell."""
        if isinstance(error, OSError) and error.strerror:
            where = f" ({error.filename})" if error.filename else ""
            return f"The system refused{where}: {error.strerror.lower()}."
        message = error.args[0] if error.args and isinstance(error.args[0], Sentence) else str(error)
        text = message.named(self.named) if isinstance(message, Sentence) else message
        return " ".join(text.split()) or type(error).__name__

    def _warn(self, message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        text = self._text(message)
        if text not in self.warnings:
            self.warnings.append(text)
            if not self.quiet:
                _say(text, "Warning", "yellow")

    def _fail(self, sentence: str, code: Exit) -> NoReturn:
        if code is Exit.INTERRUPTED:
            _say_interrupted()
        else:
            _say(sentence, "Error", "bold red")
        if self.as_json:
            with suppress(OSError):  # standard output may be what failed
                self._print_json(error=sentence, exit_code=int(code))
                sys.stdout.flush()
        raise typer.Exit(int(code))


def _limited_threads(n_jobs: int | None) -> Any:
    """Libraries that have threads of their own use no more than these."""
    if n_jobs is None:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    from ..runtime.threads import thread_count

    import_module("geolap.selectors")  # only libraries that are loaded can be limited
    return threadpool_limits(thread_count(n_jobs))


def _say_interrupted() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)  # the terminal has written ^C, or a bar of progress
    _say("Interrupted.")


def _say(text: str, title: str | None = None, style: str = "") -> None:
    """A line on standard error, without control characters that a file may have brought along."""
    from rich.console import Console
    from rich.text import Text

    from ..runtime.progress import between_bars

    line = Text(printable(" ".join(str(text).split())))
    if title:
        line = Text.assemble((f"{title}: ", style), line)
    with between_bars():
        Console(stderr=True, soft_wrap=True, highlight=False).print(line)


def printable(text: str) -> str:
    """Text that cannot move the cursor."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in text)


def _file_name(table: "Table") -> str:
    return table.name.strip("'")


def _described(table: "Table") -> dict[str, Any]:
    """What was read, as plain values."""
    n, r = table.points.shape
    kept = {name: getattr(table, name) for name in ("format", "array", "columns", "notes")}
    return {"file": _file_name(table), "n_points": n, "n_features": r, **kept}


def _plain(value: Any) -> Any:
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
