"""Sentences that name parameters: the same message for Python and for the shell.

What a message says is decided where it is raised; how a parameter is written, ``n_neighbors`` or ``--n-neighbors``, where it
is read.  A `Sentence` is a string with the names of Python, and remembers what it was made from.
"""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

__all__ = ["TIME", "Documented", "Remark", "Sentence", "listed", "python_name", "refusal", "warn_caller"]

_LISTED, _LONGEST = 8, 60  # how many names a sentence lists, and how long
# What is said of a feature of few values that are years, or whose name says that it is time.
TIME = (
    "Feature {feature} takes only {values} equally spaced values and seems to be a time: unless time is a feature, use "
    "{drop|the other columns}."
)
_NAMED_AS_TIME = re.compile(r"(?<![a-z])(year|yr|date|month|day|time)s?(?![a-z])")
# Whose frames a warning does not point to: those between what warns and the line that called for it.
_BETWEEN = ("geolap", "sklearn")


class Sentence(str):
    """A message from a template.  ``{word}`` is a value given by keyword, or else the name of a parameter.

    ``{parameter=value}`` is a parameter at a value, and ``{parameter|words}`` an option of the shell, with the words for it
    where there is no such option.

    Examples
    --------
    >>> advice = Sentence("{n} points are joined: raise {n_neighbors}, or use {disconnected=separate}.", n=3)
    >>> str(advice)
    "3 points are joined: raise n_neighbors, or use disconnected='separate'."
    >>> advice.named(lambda name, value: f"--{name} {value}" if value else f"--{name}")
    '3 points are joined: raise --n_neighbors, or use --disconnected separate.'
    >>> print(Sentence("Use {standardize|a scaler}."))
    Use a scaler.
    """

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, **values: object) -> "Sentence":
        self = super().__new__(cls, template.format_map(_Words(values, python_name)))
        self.template, self.values = template, values
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        return (self.template,), self.values

    def named(self, name: Callable[[str, str | None], str]) -> str:
        """The message with parameters as ``name(parameter, value or None)`` writes them."""
        return self.template.format_map(_Words(self.values, name))


def refusal(template: str, /, **values: object) -> ValueError:
    """The error that tells a `Sentence`."""
    return ValueError(Sentence(template, **values))


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning that points to the line outside the package that called it, however deep it is raised."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def listed(names: Iterable[object]) -> str:
    """Some names, in words."""
    words = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in map(str, names)]
    more = f" and {len(words) - _LISTED} more" if len(words) > _LISTED else ""
    return ", ".join(f"'{word}'" for word in words[:_LISTED]) + more


@dataclass(frozen=True)
class Remark:
    """Something to know about a result or the data behind it.

    Attributes
    ----------
    kind : str
    text : Sentence
        What was seen and what to do about it.
    feature : int or None
        Which feature it is about, counted from 0.
    share : float or None
        Of a feature its share of the total variance; of duplicates the share of rows that repeat others.
    step : float or None
        Of discrete data, the least distance of two places.
    """

    kind: str
    text: Sentence
    feature: int | None = None
    share: float | None = None
    step: float | None = None

    def of(self, columns: Sequence[str] | None) -> "Remark":
        """The same with the name of its column, if it is about a feature and columns have names.

        What looks like classes is no label where the name says that it is time.
        """
        if self.feature is None or not columns:
            return self
        name = columns[self.feature]
        named = {**self.text.values, "feature": repr(name)}
        if self.kind == "label" and _NAMED_AS_TIME.search(name.lower()):
            return replace(self, kind="time", text=Sentence(TIME, **named))
        return replace(self, text=Sentence(self.text.template, **named))


def python_name(parameter: str, value: str | None) -> str:
    """A parameter, or a parameter and its value, as in a call."""
    return parameter if value is None else f"{parameter}={value if value.isdecimal() else repr(value)}"


class _Words(dict):
    """Values by name; any other name is a parameter."""

    def __init__(self, values: dict[str, object], name: Callable[[str, str | None], str]) -> None:
        super().__init__(values)
        self._name = name

    def __missing__(self, key: str) -> str:
        key, _, words = key.partition("|")
        parameter, _, value = key.partition("=")
        name = self._name(parameter, value or None)
        return words if words and name == python_name(parameter, value or None) else name


class Documented:
    """A class whose documentation holds parts that others have too: a line ``<name>`` stands for the text of that name."""

    _texts: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, text in cls._texts.items():
            cls.__doc__ = cls.__doc__ and cls.__doc__.replace(f"    <{name}>\n", text)
