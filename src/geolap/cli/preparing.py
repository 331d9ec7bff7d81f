"""Before and after the work: points from a file, selectors from options, outputs into files."""

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..choices import BY_CONSISTENCY, RULES, VARIANTS, WITH_COORDINATES
from .options import Graph, Reading, Selecting
from .running import Run

if TYPE_CHECKING:
    import numpy as np

    from ..files import Table

__all__ = [
    "check_labels_given",
    "check_outputs",
    "draw_map",
    "fitted",
    "local_scale_of",
    "read_points",
    "selector_for",
    "tell_cost",
    "tell_cost_of_rules",
    "write_columns",
    "write_page",
]

# Points, and seconds by the shape of fewer, from which a forecast is told before the work.
_MANY, _LONG = 20_000, 5.0
_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
_THOUSANDS = {"space": " "}
# Points at whose Euclidean distances a metric is.
_ON_SPHERE = {
    "cosine": "X = normalize(X)",
    "correlation": "X = normalize(X - X.mean(axis=1, keepdims=True))",
}
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def check_outputs(run: Run, file: str | None, **outputs: str | None) -> None:
    """Refuse outputs that could not be written; their keywords are their kinds: table, matrix, page."""
    from ..files import check_output

    if outputs.get("table") == "-" and run.as_json:
        raise ValueError("Standard output has room for only one result; --json and -o - were given: leave out one of them.")
    for kind, output in outputs.items():
        check_output(output, kind=kind, inputs=() if file in (None, "-") else (file,))


def write_columns(run: Run, output: str | None, columns: dict[str, Any], what: str | None = None) -> None:
    """Write a table, if that was asked for, and say where ``what`` is."""
    if output is None:
        return
    import numpy as np

    from ..files import write_table
    from ..runtime.progress import between_bars

    with between_bars() if output == "-" else nullcontext():
        write_table(output, {name: np.asarray(column) for name, column in columns.items()})
    if what is not None and output != "-":
        run.note(f"The {what} is in {output}.")


def write_page(
    run: Run, output: str | None, table: "Table", reading: Reading | None = None, estimator: Any = None, **results: Any
) -> None:
    """Write a report on the points, if that was asked for, about the bandwidth of an estimator if it is for all pairs."""
    if output is None:
        return
    if estimator is not None and estimator.n_neighbors_ is None and estimator.graph_.scale is None:
        results["selection"] = estimator.selection_
    from ..data.distances import points_of
    from ..display.report import write_report

    run.begin("writing the report")
    name, points = table.name.strip("'"), table.points
    if reading is not None:
        points = points_of(points, reading.metric).host
    told: dict[str, Any] = {"labels": table.labels, "name": name, "reading": table.code, "features": table.columns}
    write_report(output, points, **told, random_state=run.seed, **results)
    run.note(f"The report is in {output}.")


def _check_report(reading: Reading) -> None:
    """A report looks at the points as they are."""
    if reading.weights is not None:
        raise ValueError("Reports do not support weighted points; --weights was given with --report: leave out one of them.")
    from ..data.distances import checked_metric

    if checked_metric(reading.metric) not in WITH_COORDINATES:
        raise ValueError(
            f"A report shows points with coordinates; --metric {reading.metric} was given with --report: leave out one of "
            "them."
        )


def draw_map(run: Run, output: str | None, result: Any, **options: Any) -> None:
    """Draw a fitted estimator, if that was asked for."""
    if output is None:
        return
    from matplotlib.figure import Figure

    from ..files import replaced_file

    figure = Figure(layout="constrained")
    result.plot(ax=figure.add_subplot(), **options)
    with replaced_file(output) as path:
        figure.savefig(path, dpi=150)
    run.note(f"The map is drawn in {output}.")


def read_points(
    run: Run, file: str, reading: Reading, labels: str | None, selecting: Selecting | None = None, **outputs: str | None
) -> "Table":
    """The points of a file, with notes about it on standard error, after a look at the outputs (see `check_outputs`).

    ``labels`` are classes, unless ``selecting`` makes no use of them.
    """
    check_outputs(run, file, **outputs)
    if outputs.get("page") is not None:
        _check_report(reading)
    run.begin("reading standard input" if file == "-" else f"reading {Path(file).name}")
    from ..data.distances import checked_metric
    from ..files import read_table
    from ..sentences import refusal

    given = vars(reading) | _signs(reading)
    given["na_values"] = [word.strip() for item in reading.na_values or () for word in item.split(",")]
    standardize, most = given.pop("standardize"), _bytes(given.pop("max_size"))
    if checked_metric(given.pop("metric")) == "precomputed" and standardize:
        raise refusal(
            "Distances have no features to scale; {standardize} was given with --metric precomputed: leave out one."
        )
    classes = selecting is None or selecting.method == "cv"
    table = read_table(file, labels=labels, classes=classes, max_bytes=most, **given)
    run.columns = table.columns
    for text in table.notes:  # before anything else may be wrong
        run.note(text)
    if standardize:
        table, notes = _standardized(table)
        for text in notes:
            run.note(text)
    run.begin(run.command)
    return replace(table, code=_code(file, reading, labels))


def _code(file: str, reading: Reading, labels: str | None) -> str | None:
    """Python that makes the points that a report is about; None for standard input."""
    if file == "-":
        return None
    given = {name: value for name, value in vars(reading).items() if value != getattr(Reading(), name)}
    given |= _signs(reading)
    scaled, metric, _ = given.pop("standardize", False), given.pop("metric", None), given.pop("max_size", None)
    given |= {} if labels is None else {"labels": labels, "classes": False}
    options = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    imports, lines = ["from geolap.files import read_table"], [f"X = read_table({file!r}{options}).points"]
    if scaled:
        imports.append("from sklearn.preprocessing import StandardScaler")
        lines.append("X = StandardScaler().fit_transform(X)")
    if metric in _ON_SPHERE:
        imports.append("from sklearn.preprocessing import normalize")
        lines.append(_ON_SPHERE[metric])
    return "\n".join([*imports, "", *lines])


def selector_for(run: Run, selecting: Selecting, labels: Any, metric: str, **graph: Any) -> Any:
    """The selector that the options describe; an option that its method does not have is a mistake."""
    from ..selectors import METHODS

    check_labels_given([selecting.method], labels)
    name, own = VARIANTS.get(selecting.method, (selecting.method, {}))
    kind = METHODS[name]
    has = kind().get_params()
    options = {name: value for name, value in vars(selecting).items() if name not in ("method", "strict")} | graph
    given = {name: value for name, value in options.items() if value is not None and (name, value) != ("engine", "auto")}
    foreign = [run.named(name) for name in given if name not in has]
    if foreign:
        known = [run.named(name) for name in options if name in has]
        held = f"the options {', '.join(known)}" if known else "none of these options"
        raise ValueError(f"Method {selecting.method} has {held}; {', '.join(foreign)} was given: leave it out.")
    common: dict[str, Any] = {"random_state": run.seed, "n_jobs": run.n_jobs, "metric": metric}
    return kind(**own, **given, **{name: value for name, value in common.items() if name in has})


def check_labels_given(methods: Collection[str], labels: Any) -> None:
    """A method that chooses by labels must have some."""
    from ..selectors import METHODS

    for method in methods:
        if method in METHODS and METHODS[method].needs_labels and labels is None:
            raise ValueError(f"Method {method} needs labels; none were given: name their column with --labels.")


def fitted(run: Run, kind: Any, table: "Table", selecting: Selecting, graph: Graph, reading: Reading, **own: Any) -> Any:
    """An estimator on a graph: of the parameters those that were given, its own defaults stand for the others."""
    given = {name: value for name, value in vars(graph).items() if value is not None} | own
    given |= {"random_state": run.seed, "n_jobs": run.n_jobs, "metric": reading.metric}
    if given.get("n_neighbors") == "all":
        given["n_neighbors"] = None
    if graph.local_scale is not None:
        given["local_scale"] = local_scale_of(graph.local_scale)
    if graph.bandwidth is None:
        given["bandwidth"] = selector_for(run, selecting, table.labels, reading.metric)
    elif selecting != Selecting(strict=selecting.strict):
        raise ValueError(
            "A bandwidth is either given or chosen; --bandwidth was given with options for choosing one: leave out one."
        )
    return kind(**given).fit(table.points, table.labels, table.weights)


def local_scale_of(text: str | None) -> int | str | None:
    """How the bandwidth varies, from the text of an option."""
    if text is None or text == "regional":
        return text
    if not text.isdecimal():
        raise ValueError(f"--local-scale must be a number of neighbors or 'regional'; '{text}' was given: choose one.")
    return int(text)


def tell_cost(
    run: Run,
    points: "np.ndarray",
    selecting: Selecting,
    metric: str,
    task: str = "selection",
    *,
    of: str = "",
    **graph: Any,
) -> None:
    """Before long work, how long it will be: the choice of a bandwidth over all pairs, or a map on a graph.

    ``of``: which part of the work that is, if not all.
    """
    if run.quiet or selecting.method not in BY_CONSISTENCY or metric not in WITH_COORDINATES:
        return
    from ..forecasting import forecast

    given: dict[str, Any] = {"exact": bool(selecting.exact), "engine": selecting.engine or "auto", "n_jobs": run.n_jobs}
    if len(points) >= _MANY or forecast(points.shape, task, **given, **graph).seconds >= _LONG:
        run.note(f"{of}{forecast(points, task, **given, **graph)}.")


def tell_cost_of_rules(run: Run, points: "np.ndarray", methods: Collection[str] | None, engine: str, metric: str) -> None:
    """Before a long comparison, how long those of its rules take of which that is known, and which others take long."""
    for method in BY_CONSISTENCY:
        if method in (methods or RULES):
            tell_cost(run, points, Selecting(method=method, engine=engine), metric, of=f"The rule {method} alone: ")
    slow = [method for method, rule in RULES.items() if rule.all_pairs and method in (methods or RULES)]
    if len(points) >= _MANY and slow:
        are, advice = "is" if len(slow) == 1 else "are", "" if methods else ": choose rules with -m"
        run.note(f"{', '.join(slow)} {are} slow for {len(points)} points, and without a forecast{advice}.")


def _standardized(table: "Table") -> tuple["Table", list[str]]:
    """The table with each feature at mean 0 and standard deviation 1, one that does not vary at 0; and notes about that."""
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    from ..data.points import Points
    from ..runtime.memory import require_memory
    from ..sentences import listed

    given = Points.of(table.points).given  # what is wrong with points is said of those in the file
    require_memory(24.0 * given.size, "Standardizing", "leave out {standardize}, and write a standardized file elsewhere")
    X = np.array(given, dtype=float)
    largest = np.maximum(-X.min(axis=0), X.max(axis=0))
    np.ldexp(X, -np.frexp(largest)[1], out=X)  # powers of two round nothing, and then squares do not overflow
    X = StandardScaler(copy=False).fit_transform(X, sample_weight=table.weights)
    constant = np.flatnonzero(np.average(X**2, axis=0, weights=table.weights) < 0.25)
    X[:, constant] = 0.0  # but for rounding they are
    notes = ["Every feature was scaled to mean 0 and standard deviation 1; bandwidths are in this unit."]
    if len(constant):
        names = constant if table.columns is None else [table.columns[feature] for feature in constant]
        notes.append(f"{'Features' if len(constant) > 1 else 'Feature'} without variance, now 0: {listed(names)}.")
    return replace(table, points=X, notes=(*table.notes, *notes)), notes


def _signs(reading: Reading) -> dict[str, str | None]:
    """The signs that divide text, by name, from words for those that are hard to type."""
    separator = _SEPARATORS.get(reading.separator or "", reading.separator)
    thousands = _THOUSANDS.get(reading.thousands or "", reading.thousands)
    if separator is not None and (len(separator) != 1 or separator in '"\n\r.0123456789'):
        raise ValueError(f"--separator must be one character, or tab; {separator!r} was given: choose one.")
    if reading.decimal not in (None, ".", ","):
        raise ValueError(f"--decimal must be . or ,; {reading.decimal!r} was given: choose one.")
    if thousands not in (None, ",", ".", " ", "'"):
        raise ValueError(f"--thousands must be , or . or ' or space; {thousands!r} was given: choose one.")
    return {"separator": separator, "decimal": reading.decimal, "thousands": thousands}


def _bytes(text: str | None) -> float | None:
    """A size such as 4GB in bytes."""
    if text is None:
        return None
    size = text.strip().lower().removesuffix("b")
    number = size.rstrip("kmgt ")
    try:
        return float(number) * _UNITS[size[len(number) :].strip()]
    except (ValueError, KeyError):
        raise ValueError(f"--max-size must be a size such as 500MB or 4GB; {text!r} was given: use this format.") from None
