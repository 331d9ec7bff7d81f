"""What counts as a failure, written down once."""

import enum
import math
import traceback
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

import geolap

HOME = str(Path(geolap.__file__).parent)


class Failure(enum.Enum):
    """What must not happen, whatever is passed in."""

    NO_SENTENCE = "an exception without a clear message from geolap"
    NOT_FINITE = "undocumented NaN or inf in an answer"
    CHANGED_INPUT = "an input that is modified, or shares memory with an answer"
    FOREIGN_WARNING = "a warning from NumPy or another library"
    TOO_MUCH_MEMORY = "more memory than the forecast"
    HANG = "no answer within a minute, or no stop within a second of an interrupt"
    CRASH = "an interpreter that crashes or hangs"
    LEFTOVER = "a file that is left behind, or replaced by part of another"
    UNSTABLE = "an answer that depends on threads, the order of rows, the scale or the unit"


class FoundError(Exception):
    """A failure, and what was seen of it."""

    def __init__(self, failure: Failure, seen: str) -> None:
        super().__init__(failure, seen)
        self.failure, self.seen = failure, seen


# Attributes that are NaN where something cannot be told, or infinite, as their documentation says.
MAY_BE_NAN = {"calibration_", "eigenvalues_", "error", "roughness", "told", "first_told"}
MAY_BE_INFINITE = {"lead", "per_point", "mean", "scores", "details"}


def is_sentence(error: BaseException) -> bool:
    """Whether an exception was raised by geolap (or by scikit-learn's checks of estimators) to be read by its caller."""
    text = str(error.args[0]) if error.args else ""
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    return (
        last.startswith(HOME)
        and isinstance(error, TypeError | ValueError | MemoryError | ImportError | RuntimeError)
        and (text.rstrip().endswith((".", "?", "!", ")")))
    )


def check_error(error: BaseException) -> None:
    """Raise what is no sentence."""
    if isinstance(error, TimeoutError):
        raise FoundError(Failure.HANG, "no answer within a minute") from error
    if not is_sentence(error):
        where = traceback.extract_tb(error.__traceback__)[-1]
        seen = f"{type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name}:{where.lineno})"
        raise FoundError(Failure.NO_SENTENCE, seen) from error


def check_warnings(caught: list[warnings.WarningMessage]) -> bool:
    """Whether geolap warned; a warning of anybody else is a failure."""
    for warning in caught:
        if not issubclass(warning.category, UserWarning) or not str(warning.message).rstrip().endswith((".", ")")):
            raise FoundError(Failure.FOREIGN_WARNING, f"{warning.category.__name__}: {str(warning.message)[:200]}")
    return bool(caught)


def arrays_of(answer: object, name: str = "answer", depth: int = 0):
    """Numbers of an answer, as (name, array); fitted attributes and fields of results."""
    if isinstance(answer, np.ndarray):
        if answer.dtype.kind in "fiub":
            yield name, answer
    elif sparse.issparse(answer):
        yield name, answer.data
    elif isinstance(answer, float | np.floating):
        yield name, np.asarray(answer)
    elif isinstance(answer, dict | list | tuple) and depth < 3:
        for part in answer.values() if isinstance(answer, dict) else answer:
            yield from arrays_of(part, name, depth + 1)
    elif type(answer).__module__.startswith("geolap") and not isinstance(answer, enum.Enum) and depth < 3:
        fitted = hasattr(answer, "get_params")
        for key, value in getattr(answer, "__dict__", {}).items():
            if not key.startswith("_") and (key.endswith("_") or not fitted):
                yield from arrays_of(value, key, depth + 1)


def check_finite(answer: object) -> None:
    for name, values in arrays_of(answer):
        if values.dtype.kind == "f" and name not in MAY_BE_NAN:
            wrong = values[np.isnan(values) if name in MAY_BE_INFINITE else ~np.isfinite(values)]
            if wrong.size:
                raise FoundError(Failure.NOT_FINITE, f"{name} holds {wrong.flat[0]}")


def check_unshared(answer: object, given: object) -> None:
    if isinstance(given, np.ndarray):
        for name, values in arrays_of(answer):
            if np.may_share_memory(values, given):
                raise FoundError(Failure.CHANGED_INPUT, f"{name} shares memory with the input")


def same(one: float, other: float, tolerance: float) -> bool:
    return math.isclose(one, other, rel_tol=tolerance)
