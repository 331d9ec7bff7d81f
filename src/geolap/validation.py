"""What the public functions accept, and the sentences they answer with otherwise.

Every sentence has three parts: what must hold, what was given, what to do.
"""

import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state as random_state_of

from .data.points import Points, host_array, is_masked
from .sentences import refusal, warn_caller

__all__ = [
    "check_bandwidths",
    "check_choice",
    "check_classes",
    "check_labels",
    "check_n_sample",
    "check_number",
    "check_random_state",
    "check_sample",
    "check_values",
    "check_working_dim",
    "is_missing",
]


def check_working_dim(working_dim: Any, points: Points) -> int:
    """The working dimension d', at most the number of features and less than the number of distinct points."""
    check_number("working_dim", working_dim, Integral, low=1)
    distinct, rank = points.distinct(working_dim + 1), points.rank(working_dim)
    for holds, must, found in (
        (working_dim <= points.shape[1], "at most the number of features", f"{points.shape[1]} feature(s)"),
        (working_dim < distinct, "less than the number of distinct points", f"{distinct} of them"),
        (
            working_dim <= rank,
            "at most the number of directions in which the points vary",
            f"points that vary in {rank}",
        ),
    ):
        if not holds:
            raise refusal(
                "{working_dim} must be {must}; {given} was given for {found}: lower it (1 is the most stable choice).",
                must=must,
                given=working_dim,
                found=found,
            )
    return int(working_dim)


def check_bandwidths(bandwidths: Any) -> np.ndarray:
    """Bandwidths as a 1-D float array of positive finite numbers."""
    try:
        given = np.atleast_1d(np.array(host_array(bandwidths), dtype=float))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"bandwidths must be numbers; {bandwidths!r} was given ({error}): pass lengths.") from None
    if given.ndim != 1 or given.size == 0:
        raise ValueError(
            f"bandwidths must be a number or a 1-D sequence of numbers; shape {given.shape} was given: pass for instance "
            "high * 2.0 ** (-np.arange(20) / 4)."
        )
    wrong = given[~(np.isfinite(given) & (given > 0))]
    if wrong.size:
        raise ValueError(
            f"bandwidths must be positive and finite; {wrong[0]} was given: a bandwidth is a length in the unit of the data."
        )
    return given


def check_number(
    name: str,
    value: Any,
    kind: Any = Real,
    *,
    low: float,
    high: float = np.inf,
    open_low: bool = False,
    also: Sequence[str | None] = (),
) -> Any:
    """A number of the given kind in the given range, or what else is accepted; ``name`` is a parameter's, or a few words."""
    if isinstance(value, str | None) and value in also:
        return value
    good = isinstance(value, kind) and not isinstance(value, bool) and low <= value <= min(high, sys.float_info.max)
    if not good or (open_low and value == low):
        noun = "a whole number" if kind is Integral else "a number"
        words = f", {'or ' * (len(also) == 1)}{' or '.join(map(repr, also))}" if also else ""
        limits = f"{'above' if open_low else 'of at least'} {low}" + (f" and at most {high}" if np.isfinite(high) else "")
        raise refusal(
            _subject(name) + " must be {noun} {limits}{words}; {value!r} was given: {advice}.",
            noun=noun,
            limits=limits,
            words=words,
            advice="choose one of them" if also else "choose one in that range",
            value=value,
        )
    return value


def check_random_state(random_state: Any) -> np.random.RandomState:
    """The generator that a seed, a generator or None means."""
    try:
        return random_state_of(random_state)
    except (TypeError, ValueError):
        raise refusal(
            "{random_state} must be None, a whole number from 0 to 4294967295 or a RandomState; {value!r} was given: "
            "choose one.",
            value=random_state,
        ) from None


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """One of a few words."""
    if value not in choices:
        words = ", ".join(repr(choice) for choice in choices)
        raise refusal(_subject(name) + " must be one of {words}; {value!r} was given: choose one.", words=words, value=value)
    return value


def _subject(name: str) -> str:
    return f"{{{name}}}" if name.isidentifier() else name


def check_sample(sample: Any, n_points: int) -> np.ndarray:
    """Indices of the evaluation points that were given, by numbers or by a mask."""
    try:
        indices = np.array(host_array(sample))
    except ValueError as error:
        raise ValueError(f"sample must hold row indices; {error}: pass a flat sequence of integers.") from None
    if indices.dtype.kind == "b" and indices.shape == (n_points,):
        indices = np.flatnonzero(indices)
    if indices.ndim != 1 or indices.size == 0 or indices.dtype.kind not in "iu":
        raise refusal(
            "sample must be a 1-D sequence of row indices; shape {shape} and dtype {dtype} were given: pass integers, "
            "or {n_sample} for random points.",
            shape=indices.shape,
            dtype=indices.dtype,
        )
    if indices.min() < 0 or indices.max() >= n_points:
        raise ValueError(
            f"sample must contain row indices from 0 to {n_points - 1}; {indices.min()} to {indices.max()} were given: "
            "leave out the others."
        )
    return indices


def check_n_sample(n_sample: Any, n_points: int, random_state: Any, *, least: int = 2) -> np.ndarray:
    """Indices of ``n_sample`` random points, ascending, or of all of them for None."""
    if n_sample is None:
        return np.arange(n_points)
    check_number("n_sample", n_sample, Integral, low=least)
    if n_sample >= n_points:
        return np.arange(n_points)
    return np.sort(check_random_state(random_state).choice(n_points, int(n_sample), replace=False))


def check_labels(y: Any, n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) as given, and which of them are known: −1, None, NaN and, among words, "-1" and empty ones are not."""
    y = _column(y, n_points)
    if y.dtype.kind == "f":
        known = ~np.isnan(y) & (y != -1)
        if not np.all(y[known] == np.floor(y[known])):
            raise ValueError(
                "Unknown label type: labels must be classes, such as 0, 1, 2 or words; numbers with fractions were given: "
                "use LaplacianRegressor for numbers."
            )
        if np.isinf(y[known]).any():
            raise ValueError("Labels must be finite; the input y contains infinity: give such points a class, or -1.")
        return y, known
    if y.dtype.kind in "mM":
        raise ValueError(
            "Labels must be classes, such as 0, 1, 2 or words; times were given: bin them, or convert them to words."
        )
    if y.dtype.kind in "OUS":
        return y, np.array([not _is_unlabeled(label) for label in y.tolist()])
    return y, y != -1 if y.dtype.kind != "u" else np.ones(n_points, dtype=bool)


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, or pandas' NA or NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _is_unlabeled(label: Any) -> bool:
    """Whether it is missing, −1 as a number or a word, or the empty word."""
    return is_missing(label) or label in (-1, "-1", b"-1", "", b"")


def check_classes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different classes among labels, ascending, and which of them each label is."""
    try:
        names, index = np.unique(labels, return_inverse=True)
    except TypeError:
        raise ValueError("Labels must be all words or all numbers; both were given: convert them with str(label).") from None
    return names, index


def check_values(y: Any, n_points: int) -> np.ndarray:
    """Numbers (n,) as floats, NaN where unknown, at least two of them known."""
    y = _column(y, n_points)
    try:
        y = y.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Values must be numbers, NaN where unknown; {error}: use LaplacianClassifier for classes."
        ) from None
    if np.isinf(y).any():
        raise ValueError("Values must be finite; the input y contains infinity: pass NaN where the value is unknown.")
    if (~np.isnan(y)).sum() < 2:
        raise ValueError(
            f"At least two values must be known; {(~np.isnan(y)).sum()} of {n_points} are, the others are NaN: add known "
            "values."
        )
    return y


def _column(y: Any, n_points: int) -> np.ndarray:
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None: give the labeled points their labels, and "
            "the others -1 (classes) or NaN (numbers)."
        )
    if is_masked(y):
        raise ValueError("y must be complete; a masked array was given: fill it with -1 (classes) or NaN (numbers).")
    y = host_array(y)
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must hold classes or real numbers; pass y.real if that is meant.")
    if y.ndim == 2 and y.shape[1] == 1:
        warn_caller(
            "A column-vector y was passed when a 1d array was expected: y must have shape (n_points,); pass y.ravel().",
            DataConversionWarning,
        )
        y = y.ravel()
    if y.ndim != 1:
        advice = "pass y.ravel()" if y.size == n_points else "fit one column at a time, such as y[:, 0]"
        raise ValueError(f"y must have one dimension, one entry for each point; shape {y.shape} was given: {advice}.")
    if len(y) != n_points:
        raise ValueError(f"y must have one entry for each of the {n_points} points; {len(y)} were given: match them.")
    return y
