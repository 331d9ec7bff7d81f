"""Options of the commands.  Those that several share are fields of dataclasses, which `command` spreads into signatures.

Choices are names, checked here and plain words from there on.  Options are named as the parameters of the library.
"""

import inspect
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields, is_dataclass
from enum import Enum, StrEnum
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..choices import ENGINES, METHODS
from .running import Answer, Run

__all__ = ["FORMATS", "Graph", "Reading", "Selecting", "argument", "command", "count", "duration", "option"]

FORMATS = ("npy", "npz", "csv", "tsv", "parquet", "mat", "h5ad", "hdf5", "zarr", "xlsx")


def option(default: Any, help: str, *names: str, kind: Any = typer.Option, **settings: Any) -> Any:
    """An option of a command: a field of a dataclass, or the default of a parameter.

    One without a default has ``...``.  ``names`` are beside its own, or instead if there is a long one among them;
    ``choices`` are the words that it may be; help tells the default with ``show_default``.
    """
    return field(default=default, metadata={"help": help, "names": names, "kind": kind, "show_default": False} | settings)


argument = partial(option, ..., kind=typer.Argument)


def _number_or(*words: str) -> Callable[[str], int | str]:
    """A parser of whole numbers from 1 on, or of these words."""

    def number(text: str) -> int | str:
        if text in words:
            return text
        if not text.isdecimal() or int(text) == 0:
            known = " or ".join(words) if len(words) > 1 else f"or {words[0]}"
            raise typer.BadParameter(f"must be a whole number from 1 on, {known}; {text!r} was given: pass one of them.")
        return int(text)

    return number


def duration(text: str) -> float | str:
    """A time, or auto."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise typer.BadParameter(f"must be a number, or auto; {text!r} was given: pass one of them.") from None


# Of things, and of neighbors or edges.
count, edges = _number_or("auto"), _number_or("auto", "all")
duration.__name__ = count.__name__  # as help shows it


@dataclass(frozen=True)
class Reading:
    """What in the file the points are."""

    columns: list[str] | None = option(None, "Features to use: names, patterns (gene_*), positions (0:10).", "-c")
    drop: list[str] | None = option(None, "Features to leave out: names, patterns, positions.")
    weights: str | None = option(None, "Column with the number of points that each row represents.", metavar="COLUMN")
    index: str | None = option(None, "Column with row names; none if there is no such column.", metavar="COLUMN")
    array: str | None = option(None, "Which array of a .npz, .mat, .h5ad, .h5 or .zarr, or which sheet.", "-a")
    missing: str = option(
        "error", "Leave out rows or columns with missing values.", choices=("error", "rows", "columns"), show_default=True
    )
    standardize: bool = option(False, "Scale each feature to mean 0 and standard deviation 1.")
    metric: str = option(
        "euclidean",
        "Distance between points: euclidean, cosine, manhattan, …; precomputed if the file holds distances.",
        show_default=True,
    )
    header: bool | None = option(None, "Whether the first line names the columns.", "--header/--no-header")
    separator: str | None = option(None, "Separator of columns in text; tab for tabs.")
    decimal: str | None = option(None, "Decimal sign in text: . or ,")
    thousands: str | None = option(None, "Thousands separator in text: , or . or space or '")
    skip_rows: int = option(0, "Lines to skip above the table, in text and sheets.", min=0)
    na_values: list[str] | None = option(None, "Words or numbers for missing values, such as -999.")
    transpose: bool = option(False, "Treat columns as points.")
    format: str | None = option(None, "File format, regardless of the name.", choices=FORMATS)
    max_size: str | None = option(None, "Maximum memory for the file, such as 4GB; by default half of the free memory.")
    max_columns: int = option(100_000, "Maximum number of columns.", min=1, show_default=True)


@dataclass(frozen=True)
class Selecting:
    """How the bandwidth is chosen; all but the first and the last are parameters of selectors."""

    method: str = option("gc", "How the bandwidth is chosen.", "-m", choices=METHODS, show_default=True)
    working_dim: str | None = option(
        None, "Tangent directions compared (gc): a number, or auto (the default).", parser=count
    )
    n_sample: str | None = option(
        None, "Number of evaluation points, or auto (the default of gc: as many as needed).", parser=count
    )
    rule: str | None = option(None, "Choose the lowest minimum, or the first clear one (gc).", choices=("global", "first"))
    max_share: float | None = option(None, "Bound on locality: maximum share of the points in a neighborhood (gc).")
    drift: float | None = option(None, "Weight of the drift term, for L applied point by point; usually 1 (gc).")
    engine: str | None = option(None, "How sums over the points are computed (gc).", choices=ENGINES)
    exact: bool | None = option(None, "Visit all pairs, regardless of the number of points (gc).")
    strict: bool = option(False, "Exit with code 3 unless the verdict is resolved.")


@dataclass(frozen=True)
class Graph:
    """Which graph is built."""

    bandwidth: float | None = option(None, "Use this ε instead of choosing one.", "-b")
    n_neighbors: str | None = option(
        None, "Join each point with its k nearest neighbors: a number, auto or all.", parser=edges
    )
    n_edges: str = option(
        "auto", "Number of edges to store per point: a number, auto or all.", parser=edges, show_default=True
    )
    cutoff: float | None = option(None, "Cut off weights beyond this many ε.")
    renormalization: float | None = option(None, "λ: 1 removes the density of the points, 0 keeps it.")
    local_scale: str | None = option(None, "Local bandwidths: by the distance to the k-th neighbor, or 'regional'.")


@dataclass(frozen=True)
class Running:
    """How the command runs."""

    seed: int = option(0, "Random seed.", min=0, max=2**32 - 1, show_default=True)
    n_jobs: int | None = option(None, "Number of threads; by default all cores.")
    json: bool = option(False, "Print one JSON document on standard output.")
    verbose: bool = option(False, "Log what is being done.", "-v")
    quiet: bool = option(False, "Print only the result, without notes and warnings.", "-q")


_PANELS = {Reading: "Reading the file", Selecting: "Choosing the bandwidth", Graph: "The graph", Running: "Running"}


# What a value must be, by the kinds of errors of pydantic, with which typer checks it.
_MUST = {
    "float_parsing": "a number",
    "int_parsing": "a whole number",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
}


class _Command(TyperCommand):
    """A command that refuses values in plain words, and whose help says nothing about the type of --help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _in_plain_words(error)
            raise

    def get_help_option(self, ctx: Any) -> Any:
        found = super().get_help_option(ctx)
        if found is not None:
            found.metavar = ""
        return found


def _in_plain_words(error: typer.BadParameter) -> str:
    """What the error says, without the words of the library that found it."""
    kinds: list[Any] = getattr(error.__cause__, "errors", list)()
    must = _MUST.get(kinds[0]["type"]) if kinds else None
    if must is None:
        return error.message.removeprefix("Value error, ")
    return f"must be {must.format(**kinds[0].get('ctx', {}))}; {kinds[0]['input']!r} was given: choose another value."


def command(app: typer.Typer, *, like: str | None = None, **settings: Any) -> Callable[[Callable[..., Answer]], None]:
    """Register a command: a function of a `Run` and of options, which may be dataclasses of options, that answers.

    Advice names its own options, or those of the command that it is ``like``.
    """

    def register(function: Callable[..., Answer]) -> None:
        _, *given = inspect.signature(function).parameters.values()
        groups: dict[str, Any] = {p.name: p.annotation for p in given if is_dataclass(p.annotation)} | {"running": Running}
        parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        parameters += [_parameter(p.name, p.annotation, p.default) for p in given if p.name not in groups]
        parameters += [_parameter(f.name, f.type, f, _PANELS[kind]) for kind in groups.values() for f in fields(kind)]

        def called(context: typer.Context, **values: Any) -> None:
            values = {name: _plain(value) for name, value in values.items()}
            spread = {name: kind(**{f.name: values.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
            named = context.command if like is None else context.parent.command.commands[like]  # type: ignore[union-attr]
            run = Run(function.__name__, named.params, **vars(spread.pop("running")))
            strict = "selecting" in spread and spread["selecting"].strict
            with run.work():
                with run.progress():
                    answer = function(run, **values, **spread)
                run.tell(answer, strict=strict)

        called.__name__, called.__doc__ = function.__name__, function.__doc__
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        app.command(cls=_Command, **settings)(called)

    return register


def _parameter(name: str, kind: Any, given: Field, panel: str | None = None) -> inspect.Parameter:
    """A parameter as typer knows it: a choice is an enumeration there, and a flag has no value."""
    settings, default = dict(given.metadata), inspect.Parameter.empty if given.default is ... else given.default
    made, names, choices = settings.pop("kind"), settings.pop("names"), settings.pop("choices", None)
    if made is typer.Option and "--" not in "".join(names):
        names = f"--{name.replace('_', '-')}", *names
    if kind in (bool, bool | None):
        settings["metavar"] = ""
    if choices:
        words: Any = StrEnum("Choice", [(word.upper(), word) for word in choices])  # type: ignore[misc]
        kind = {str: words, str | None: words | None, list[str] | None: list[words] | None}[kind]
        default = words(default) if isinstance(default, str) else default
    annotation = Annotated[kind, made(*names, rich_help_panel=panel, **settings)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.value if isinstance(value, Enum) else value
