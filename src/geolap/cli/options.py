"""Options that several commands share, as dataclasses that `command` spreads into the signatures of commands.

Choices are names, checked here and plain words from there on.  Options are named as the parameters of the library.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from functools import partial
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand

from ..choices import ENGINES, RULES
from .running import Answer, Run, Running

__all__ = [
    "FORMATS",
    "Choice",
    "File",
    "Graph",
    "Labels",
    "Output",
    "PerPoint",
    "Plot",
    "Reading",
    "Report",
    "Selecting",
    "command",
    "count",
    "duration",
    "option",
]

FORMATS = ("npy", "npz", "csv", "tsv", "parquet", "mat", "h5ad", "hdf5", "zarr", "xlsx")


class Choice:
    """Annotates a word, or a list of words, that must be one of these names."""

    def __init__(self, names: Iterable[str]) -> None:
        self.kind = StrEnum("Choice", [(name.upper(), name) for name in names])  # type: ignore[misc]


def option(help: str, *names: str, panel: str | None = None, show_default: bool = False, **settings: Any) -> Any:
    """An option of a command; its default is told only if that says something."""
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=show_default, **settings)


File = Annotated[str, typer.Argument(help="The data: rows are points. - is standard input.", metavar="FILE")]
Labels = Annotated[
    str | None, option("A column or array of the file, not used as a feature; classes for cv.", metavar="COLUMN")
]
Output = Annotated[str, option("Where to write: .csv, .tsv, .npy, .npz, .parquet; - is standard output.", "--output", "-o")]
PerPoint = Annotated[
    str | None, option("Where to write: .csv, .tsv, .npz, .parquet; - is standard output.", "--output", "-o")
]
Plot = Annotated[str | None, option("Draw the map: .png, .pdf or .svg.", metavar="OUT.png")]
Report = Annotated[str | None, option("Write a page with curves, maps and explanations.", metavar="OUT.html")]


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
_reading = partial(option, panel="Reading the file")
_selecting = partial(option, panel="Choosing the bandwidth")
_graph = partial(option, panel="The graph")


@dataclass(frozen=True)
class Reading:
    """What in the file the points are."""

    columns: Annotated[
        list[str] | None, _reading("Features to use: names, patterns (gene_*), positions (0:10).", "--columns", "-c")
    ] = None
    drop: Annotated[list[str] | None, _reading("Features to leave out, likewise.")] = None
    weights: Annotated[
        str | None, _reading("The column that says how many points each row stands for.", metavar="COLUMN")
    ] = None
    index: Annotated[str | None, _reading("The column that names the rows; none if no column does.", metavar="COLUMN")] = (
        None
    )
    array: Annotated[
        str | None, _reading("Which array of a .npz, .mat, .h5ad, .h5 or .zarr; which sheet.", "--array", "-a")
    ] = None
    missing: Annotated[
        str,
        Choice(("error", "rows", "columns")),
        _reading("Leave out rows or columns with missing values.", show_default=True),
    ] = "error"
    standardize: Annotated[bool, _reading("Scale each feature to mean 0 and standard deviation 1.", "--standardize")] = False
    metric: Annotated[
        str,
        _reading(
            "How far points are apart: euclidean, cosine, manhattan, …; precomputed if the file holds distances.",
            show_default=True,
        ),
    ] = "euclidean"
    header: Annotated[bool | None, _reading("Whether the first line names the columns.", "--header/--no-header")] = None
    separator: Annotated[str | None, _reading("Of columns in text; tab for tabs.")] = None
    decimal: Annotated[str | None, _reading("Of numbers in text: . or ,")] = None
    thousands: Annotated[str | None, _reading("Sign between thousands in text: , or . or space or '")] = None
    skip_rows: Annotated[int, _reading("Lines above the table, in text and sheets.", min=0)] = 0
    na_values: Annotated[list[str] | None, _reading("Words or numbers that mean missing: -999.", "--na-values")] = None
    transpose: Annotated[bool, _reading("Columns are the points.", "--transpose")] = False
    format: Annotated[str | None, Choice(FORMATS), _reading("What kind of file it is, whatever its name.")] = None
    max_size: Annotated[
        str | None, _reading("Most memory that the file may take, such as 4GB; by default half of what is free.")
    ] = None
    max_columns: Annotated[int, _reading("Most columns that it may have.", min=1, show_default=True)] = 100_000


@dataclass(frozen=True)
class Selecting:
    """How the bandwidth is chosen; all but the first and the last are parameters of selectors."""

    method: Annotated[
        str, Choice(RULES), _selecting("How the bandwidth is chosen.", "--method", "-m", show_default=True)
    ] = "gc"
    working_dim: Annotated[
        str | None, _selecting("Tangent directions compared (gc): a number, or auto (the default).", parser=count)
    ] = None
    dual: Annotated[bool | None, _selecting("Compare the inverse of the metric: GC⁻¹.", " /--inverse")] = None
    n_sample: Annotated[
        str | None, _selecting("Evaluation points: a number, or auto (gc's default: as many as it takes).", parser=count)
    ] = None
    rule: Annotated[
        str | None, Choice(("global", "first")), _selecting("The lowest minimum, or the first that is clear (gc).")
    ] = None
    max_share: Annotated[float | None, _selecting("Bound on locality: share of the points in a neighborhood (gc).")] = None
    drift: Annotated[
        float | None, _selecting("Weight of one more moment, for L applied point by point; 1 is usual (gc).")
    ] = None
    engine: Annotated[str | None, Choice(ENGINES), _selecting("What sums over the points (gc).")] = None
    exact: Annotated[bool | None, _selecting("Visit all pairs, however many points there are (gc).", "--exact")] = None
    strict: Annotated[bool, _selecting("Exit with code 3 unless the verdict is resolved.", "--strict")] = False


@dataclass(frozen=True)
class Graph:
    """Which graph is built."""

    bandwidth: Annotated[float | None, _graph("ε itself, instead of choosing it.", "--bandwidth", "-b")] = None
    n_neighbors: Annotated[
        str | None, _graph("Join each point with its k nearest neighbors: a number, auto or all.", parser=edges)
    ] = None
    n_edges: Annotated[str, _graph("Edges of a point to store: a number, auto or all.", parser=edges, show_default=True)] = (
        "auto"
    )
    cutoff: Annotated[float | None, _graph("Weights are zero beyond this many ε.")] = None
    renormalization: Annotated[float | None, _graph("λ: 1 removes the density of the points, 0 leaves it.")] = None
    local_scale: Annotated[str | None, _graph("Let ε vary: with the distance to the k-th neighbor, or 'regional'.")] = None


class _Command(TyperCommand):
    """A command whose help says nothing about the type of --help."""

    def get_help_option(self, ctx: Any) -> Any:
        found = super().get_help_option(ctx)
        if found is not None:
            found.metavar = ""
        return found


def command(app: typer.Typer, **settings: Any) -> Callable[[Callable[..., Answer]], None]:
    """Register a command: a function of a `Run` and of options, which may be dataclasses of options, that answers."""

    def register(function: Callable[..., Answer]) -> None:
        _, *given = inspect.signature(function).parameters.values()
        groups: dict[str, Any] = {p.name: p.annotation for p in given if is_dataclass(p.annotation)} | {"running": Running}
        parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        for p in given:
            if p.name not in groups:
                parameters.append(_parameter(p.name, p.annotation, p.default))
            else:
                parameters += [_parameter(f.name, f.type, f.default) for f in fields(groups[p.name])]
        parameters += [_parameter(f.name, f.type, f.default) for f in fields(Running)]

        def called(context: typer.Context, **values: Any) -> None:
            values = {name: _plain(value) for name, value in values.items()}
            spread = {name: kind(**{f.name: values.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
            run = Run(function.__name__, spread.pop("running"), context.command.params)
            strict = "selecting" in spread and spread["selecting"].strict
            with run.work():
                run.tell(function(run, **values, **spread), strict=strict)

        called.__name__, called.__doc__ = function.__name__, function.__doc__
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        app.command(cls=_Command, **settings)(called)

    return register


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter as typer knows it: a choice is an enumeration there."""
    kind, *notes = get_args(annotation)
    if kind in (bool, bool | None):
        for note in notes:
            note.metavar = ""  # a flag takes no value
    choice: Any = next((note.kind for note in notes if isinstance(note, Choice)), None)
    if choice is not None:
        several = any(get_origin(arm) is list for arm in get_args(kind))
        optional = type(None) in get_args(kind)
        kind = list[choice] if several else choice
        annotation = Annotated[kind | None if optional else kind, *(note for note in notes if not isinstance(note, Choice))]
        default = choice(default) if isinstance(default, str) else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.value if isinstance(value, Enum) else value
