"""What is being done, told while it is done: a bar on a terminal, and records of Python's ``logging``.

There is one bar at a time. Work of several `parts` has a bar that counts them; the `steps` inside a part, which alone would
have a bar of their own, are told beside it until they are done. Steps tell how long the rest of them will take if it goes on
like that; where they differ, the longest come first, so that the estimate shrinks. The clock of a bar goes on whatever the
work does. Records go to the loggers below ``geolap``; with ``verbose`` they are on standard error as well, for that call and
this thread alone: no logger is changed.
"""

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from typing import Any

from tqdm.auto import tqdm

__all__ = ["Spoken", "aloud", "at_bandwidths", "begin", "between_bars", "parts", "say", "silently", "steps"]

# Seconds that are left, at least, where that is told.
_WORTH_TELLING = 3.0
# Seconds between two looks at the clock of a bar.
_TICK = 0.5

_bar: ContextVar["Bar | None"] = ContextVar("bar", default=None)
_aloud: ContextVar[bool] = ContextVar("aloud", default=False)
_shown: ContextVar[bool] = ContextVar("shown", default=True)


class Bar:
    """Progress of work of so many steps; told beside the bar of the work that it is a part of, if there is one."""

    def __init__(self, total: int, label: str | None, *, alike: bool, delay: float = 1.0) -> None:
        self._total, self._label, self._done, self._begun = total, label, 0, False
        self._outer, self._alike, self._start, self._delay = _bar.get(), alike, time.monotonic(), delay
        self._closed = threading.Event()
        off = None if label and self._outer is None and _shown.get() else True  # None: only on a terminal
        shown = f"{{l_bar}}{{bar}}| {'{n_fmt}' if alike else '{n:.3g}'}/{{total}} [{{elapsed}}{{postfix}}]"
        self.line = tqdm(total=total, desc=label, disable=off, delay=delay, leave=False, miniters=0, bar_format=shown)
        if not self.line.disable:
            with suppress(RuntimeError):  # without a thread the clock stands still between steps
                threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        """Show the time that has passed, until the bar is closed: that is looked at while nobody else writes."""
        while not self._closed.wait(_TICK):
            if time.monotonic() - self._start >= self._delay:
                with tqdm.get_lock():
                    self.line.last_print_t = time.time()  # what was never shown is not wiped away
                    self.line.refresh(nolock=True)

    def close(self) -> None:
        """The work is done, or given up: nothing shows it as if it went on."""
        self._closed.set()
        self.line.close()
        if self._outer is not None and self._label:
            self._outer.beside("")

    def update(self, n: int = 1) -> None:
        """So many more steps are done."""
        self._done += n
        self.line.update(n)
        left = self._left()
        self._tell(left, f" ({left})" if left else "")

    def begin(self, label: str) -> None:
        """The next part; the one before is done."""
        self._done += self._begun
        self.line.set_description(label, refresh=False)
        self.line.set_postfix_str("", refresh=False)
        self._reach(float(self._done))
        self._label, self._begun = label, True
        self.beside("")

    def _reach(self, n: float) -> None:
        """So many parts are done; those of a part make a fraction of it."""
        self.line.update(n - self.line.n)
        if self._outer is not None:
            self._outer._reach(self._outer._done + n / self._total)

    def _left(self) -> str:
        """How long the rest of like steps will take, if that is worth telling."""
        left = (time.monotonic() - self._start) * (self._total / max(self._done, 1) - 1.0)
        return f"{tqdm.format_interval(left)} left" if self._alike and left > _WORTH_TELLING else ""

    def beside(self, text: str) -> None:
        """Say at which step of a part the work is."""
        self._tell(text, f", {text}" if text else "")

    def _tell(self, alone: str, within: str) -> None:
        """What stands after the bar, or after the steps of this one where they are told beside another."""
        if self._outer is None:
            self.line.set_postfix_str(alone, refresh=False)
            self.line.update(0)
        elif self._label:
            self._outer.beside(f"{self._label} {self._done}/{self._total}{within}")


@contextmanager
def steps(total: int, label: str | None) -> Iterator[Bar]:
    """Progress of like steps, on a terminal when they take longer than a second; without a label nothing is shown."""
    bar = Bar(total, label, alike=True)
    with closing(bar):
        yield bar


@contextmanager
def parts(total: int, label: str, *, delay: float = 0.0) -> Iterator[None]:
    """Progress of work of several parts, each of which may have steps: `begin` each."""
    bar = Bar(total, label, alike=False, delay=delay)
    with _held(_bar, bar), closing(bar):
        yield


def at_bandwidths(what: str, n: int) -> str:
    """The label of work that is done at so many bandwidths."""
    return f"{what} at {n} bandwidth{'' if n == 1 else 's'}"


def begin(label: str) -> None:
    """The next of the `parts` of the work begins, if these are counted."""
    if (bar := _bar.get()) is not None:
        bar.begin(label)


def say(log: logging.Logger, text: str, *args: Any) -> None:
    """A record of the standard module, and within `aloud` a line on standard error."""
    log.info(text, *args)
    if _aloud.get():
        tqdm.write(f"{time.strftime('%H:%M:%S')} {text % args}", file=sys.stderr)


def between_bars() -> AbstractContextManager[None]:
    """Lines that are printed inside stand above the bar, if there is one."""
    return tqdm.external_write_mode(file=sys.stderr)


def aloud(verbose: Any = True) -> AbstractContextManager[None]:
    """Records are lines on standard error too, if ``verbose``."""
    return _held(_aloud, bool(verbose) or _aloud.get())


def silently(quiet: bool = True) -> AbstractContextManager[None]:
    """No bar is shown, if ``quiet``."""
    return _held(_shown, not quiet)


@contextmanager
def _held(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class Spoken:
    """Estimators whose ``fit`` is `aloud` where their parameter ``verbose`` says so."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        fit = vars(cls).get("fit")
        if fit is not None:

            @wraps(fit)
            def told(self: Any, *args: Any, **kwargs: Any) -> Any:
                with aloud(self.verbose):
                    return fit(self, *args, **kwargs)

            cls.fit = told  # type: ignore[attr-defined]
