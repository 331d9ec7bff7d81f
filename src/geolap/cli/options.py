"""Options that several commands share, as dataclasses that `command` spreads into their signatures."""

import inspect
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

__all__ = ["Engine", "File", "Graph", "Method", "Output", "Reading", "Report", "Running", "Selecting", "Strict", "command"]


class Method(StrEnum):
    """Ways to choose a bandwidth."""

    GC = "gc"
    REC = "rec"
    CV = "cv"
    BGH = "bgh"
    SEMIGROUP = "semigroup"
    CLMR = "clmr"
    LCMC = "lcmc"
    SINGER = "singer"
    MEDIAN = "median"
    KNN = "knn"


class Engine(StrEnum):
    """Where sums over all points run."""

    AUTO = "auto"
    TILED = "tiled"
    DENSE = "dense"
    DEVICE = "device"
    CELLS = "cells"


class Format(StrEnum):
    """Kinds of files."""

    NPY = "npy"
    NPZ = "npz"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    MAT = "mat"
    H5AD = "h5ad"
    HDF5 = "hdf5"
    ZARR = "zarr"


class Missing(StrEnum):
    """What to do with missing values."""

    ERROR = "error"
    ROWS = "rows"
    COLUMNS = "columns"


class Rule(StrEnum):
    """Which minimum to take."""

    GLOBAL = "global"
    FIRST = "first"


def _option(help, *names, panel=None, **settings):
    return typer.Option(
        *names, help=help, rich_help_panel=panel, show_default=settings.pop("show_default", False), **settings
    )


File = Annotated[str, typer.Argument(help="The data: rows are points. - is standard input.", metavar="FILE")]
Report = Annotated[str | None, _option("Write a page with curves, maps and explanations.", metavar="OUT.html")]
Strict = Annotated[bool, _option("Exit with code 3 unless the status is a clear minimum.", "--strict")]
Output = Annotated[str, _option("Where to write: .csv, .tsv, .npy, .npz, .parquet; - is standard output.", "--output", "-o")]

_READING = "Reading the file"


@dataclass(frozen=True)
class Reading:
    """What in the file the points are."""

    columns: Annotated[
        list[str] | None,
        _option("Features to use: names, patterns (gene_*), positions (0:10).", "--columns", "-c", panel=_READING),
    ] = None
    drop: Annotated[list[str] | None, _option("Features to leave out, likewise.", "--drop", panel=_READING)] = None
    index: Annotated[
        str | None, _option("The column that names the rows; none if no column does.", panel=_READING, metavar="COLUMN")
    ] = None
    array: Annotated[
        str | None, _option("Which array of a .npz, .mat, .h5ad, .h5 or .zarr.", "--array", "-a", panel=_READING)
    ] = None
    missing: Annotated[
        Missing, _option("Leave out rows or columns with missing values.", panel=_READING, show_default=True)
    ] = Missing.ERROR
    header: Annotated[
        bool | None, _option("Whether the first line names the columns.", "--header/--no-header", panel=_READING)
    ] = None
    separator: Annotated[str | None, _option("Of columns in text; tab for tabs.", panel=_READING)] = None
    decimal: Annotated[str | None, _option("Of numbers in text: . or ,", panel=_READING)] = None
    format: Annotated[Format | None, _option("What kind of file it is, whatever its name.", panel=_READING)] = None
    max_size: Annotated[
        str | None,
        _option("Most memory that the file may take, such as 4GB; by default half of what is free.", panel=_READING),
    ] = None
    max_columns: Annotated[int, _option("Most columns that it may have.", min=1, panel=_READING, show_default=True)] = (
        100_000
    )


_RUNNING = "Running"


@dataclass(frozen=True)
class Running:
    """How the command runs."""

    seed: Annotated[int, _option("Of random choices.", min=0, max=2**32 - 1, panel=_RUNNING, show_default=True)] = 0
    n_jobs: Annotated[int | None, _option("By default every core.", min=1, panel=_RUNNING)] = None
    json: Annotated[bool, _option("One JSON document on standard output.", "--json", panel=_RUNNING)] = False
    quiet: Annotated[bool, _option("The bare result, without notes and warnings.", "--quiet", "-q", panel=_RUNNING)] = False


_SELECTING = "Choosing the bandwidth"


@dataclass(frozen=True)
class Selecting:
    """How the bandwidth is chosen."""

    method: Annotated[
        Method, _option("How the bandwidth is chosen.", "--method", "-m", panel=_SELECTING, show_default=True)
    ] = Method.GC
    working_dim: Annotated[
        int | None, _option("Tangent directions compared (gc); 1 by default.", min=1, panel=_SELECTING)
    ] = None
    inverse: Annotated[bool, _option("Compare the inverse of the metric: GC⁻¹.", "--inverse", panel=_SELECTING)] = False
    n_sample: Annotated[int | None, _option("Evaluation points; 200 by default (gc).", min=1, panel=_SELECTING)] = None
    rule: Annotated[Rule | None, _option("The lowest minimum, or the first that is clear (gc).", panel=_SELECTING)] = None
    max_share: Annotated[
        float | None, _option("Bound on locality: share of the points in a neighborhood (gc).", panel=_SELECTING)
    ] = None
    drift: Annotated[
        float | None, _option("Weight of one more moment, for L applied point by point; 1 is usual (gc).", panel=_SELECTING)
    ] = None
    engine: Annotated[Engine | None, _option("What sums over the points (gc).", panel=_SELECTING)] = None
    exact: Annotated[bool, _option("Visit all pairs, however many points there are (gc).", "--exact", panel=_SELECTING)] = (
        False
    )


_GRAPH = "The graph"


@dataclass(frozen=True)
class Graph:
    """Which graph is built."""

    bandwidth: Annotated[float | None, _option("ε itself, instead of choosing it.", "--bandwidth", "-b", panel=_GRAPH)] = (
        None
    )
    n_neighbors: Annotated[int | None, _option("Join each point with its nearest so many.", min=1, panel=_GRAPH)] = None
    cutoff: Annotated[float | None, _option("Weights beyond so many ε are zero.", panel=_GRAPH)] = None
    renormalization: Annotated[
        float, _option("λ: 1 removes the density of the points, 0 leaves it.", panel=_GRAPH, show_default=True)
    ] = 1.0
    local_scale: Annotated[str | None, _option("Let ε vary: by the so many-th neighbor, or 'regional'.", panel=_GRAPH)] = (
        None
    )


def command(app, **settings):
    """Register a command whose parameters may be dataclasses of options."""

    def register(function):
        given = inspect.signature(function).parameters
        shared: dict[str, Any] = {name: p.annotation for name, p in given.items() if is_dataclass(p.annotation)}
        parameters = []
        for name, parameter in given.items():
            if name in shared:
                parameters += [
                    inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
                    for f in fields(shared[name])
                ]
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        def called(**values):
            groups = {name: kind(**{f.name: values.pop(f.name) for f in fields(kind)}) for name, kind in shared.items()}
            return function(**values, **groups)

        called.__name__, called.__doc__ = function.__name__, function.__doc__
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return app.command(**settings)(called)

    return register
