"""From options to what the library takes: outputs that can be written, points, selectors, parameters of graphs."""

from .options import Engine, Method, Selecting

__all__ = [
    "check_labels_given",
    "forecast_of",
    "graph_parameters",
    "prepared_outputs",
    "read_points",
    "selector_for",
    "warn_of_pairs",
]

# Points from which a forecast is told before the work.
_MANY = 20_000
# Rules whose time grows with the square of the number of points.
_ALL_PAIRS = (Method.BGH, Method.SEMIGROUP)
# Parameters of a selector that are options, besides those of its graph.
_OPTIONS = ("working_dim", "dual", "n_sample", "rule", "max_share", "drift", "engine", "exact")


def prepared_outputs(run, file, *, output=None, matrix=None, report=None):
    """Refuse outputs that could not be written; the function that will write the report, if one is wanted."""
    from ..files import check_output, replaced_file

    if output == "-" and run.as_json:
        raise ValueError("Standard output has room for one result; --json and -o - were given: leave out one of them.")

    inputs = () if file in (None, "-") else (file,)
    check_output(output, inputs=inputs)
    check_output(matrix, kind="matrix", inputs=inputs)
    check_output(report, kind="page", inputs=inputs)
    if report is None:
        return None
    from ..display.report import write_report

    def write(table, running, **results):
        with replaced_file(report) as path:
            write_report(
                path, table.points, labels=table.labels, name=table.name.strip("'"), random_state=running.seed, **results
            )
        run.wrote("report", report)

    return write


def read_points(run, file, reading, labels, *, classes=True):
    """The points of a file, with notes about it on standard error."""
    from ..files import read_table

    table = read_table(
        file,
        format=None if reading.format is None else reading.format.value,
        array=reading.array,
        columns=reading.columns,
        drop=reading.drop,
        labels=labels,
        index=reading.index,
        header=reading.header,
        separator=_separator(reading.separator),
        decimal=_decimal(reading.decimal),
        missing=reading.missing.value,
        classes=classes,
        max_bytes=_bytes(reading.max_size),
        max_columns=reading.max_columns,
    )
    run.notes(table.notes)
    return table


def selector_for(selecting, running, labels, **graph):
    """The selector that the options describe; an option that its method does not have is a mistake."""
    from ..selectors import METHODS

    check_labels_given([selecting.method], labels)
    kind = METHODS[selecting.method.value]
    has = kind().get_params()
    given = {
        "working_dim": selecting.working_dim,
        "dual": False if selecting.inverse else None,
        "n_sample": selecting.n_sample,
        "rule": None if selecting.rule is None else selecting.rule.value,
        "max_share": selecting.max_share,
        "drift": selecting.drift,
        "engine": None if selecting.engine in (None, Engine.AUTO) else selecting.engine.value,
        "exact": selecting.exact or None,
        **graph,
    }
    given = {name: value for name, value in given.items() if value is not None}
    foreign = [_option_name(name) for name in given if name not in has]
    if foreign:
        own = [_option_name(name) for name in (*_OPTIONS, *graph) if name in has]
        held = f"the options {', '.join(own)}" if own else "none of these options"
        raise ValueError(f"Method {selecting.method.value} has {held}; {', '.join(foreign)} was given: leave it out.")
    common = {"random_state": running.seed, "n_jobs": running.n_jobs}
    return kind(**given, **{name: value for name, value in common.items() if name in has})


def check_labels_given(methods, labels):
    """A method that chooses by labels must have some."""
    from ..selectors import METHODS

    for method in methods:
        if METHODS[method.value].needs_labels and labels is None:
            raise ValueError(f"Method {method.value} chooses by labels; none were given: name their column, --labels.")


def _option_name(parameter):
    return "--inverse" if parameter == "dual" else f"--{parameter.replace('_', '-')}"


def graph_parameters(selecting, graph, running, labels):
    """Parameters of an estimator on a graph."""
    scale = graph.local_scale
    if scale is not None and scale != "regional":
        if not scale.isdecimal():
            raise ValueError(f"--local-scale must be a number of neighbors or 'regional'; '{scale}' was given: choose one.")
        scale = int(scale)
    bandwidth = graph.bandwidth
    if bandwidth is None:
        bandwidth = selector_for(selecting, running, labels)
    elif selecting != Selecting():
        raise ValueError(
            "Either a bandwidth is given or it is chosen; --bandwidth came with options of choosing: leave out one."
        )
    return {
        "bandwidth": bandwidth,
        "n_neighbors": graph.n_neighbors,
        "cutoff": graph.cutoff,
        "renormalization": graph.renormalization,
        "local_scale": scale,
        "random_state": running.seed,
        "n_jobs": running.n_jobs,
    }


def forecast_of(run, points, selecting, running):
    """Before long work, how long it will be."""
    if len(points) < _MANY or run.quiet or selecting.method is not Method.GC:
        return
    from ..graphs.forecast import forecast

    engine = "auto" if selecting.engine is None else selecting.engine.value
    run.note(f"{forecast(points, exact=selecting.exact, engine=engine, threads=running.threads)}.")


def warn_of_pairs(run, n_points, methods):
    """Before long work, which rules make it long."""
    long = [method.value for method in methods or Method if method in _ALL_PAIRS]
    if n_points >= _MANY and long:
        run.note(
            f"All pairs of {n_points} points are visited by {', '.join(long)}, which takes long: -m names rules to run."
        )


def _separator(text):
    names = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    text = names.get(text, text)
    if text is not None and (len(text) != 1 or text in '"\n\r.0123456789'):
        raise ValueError(f"--separator must be one character, or tab; {text!r} was given: choose one.")
    return text


def _decimal(text):
    if text not in (None, ".", ","):
        raise ValueError(f"--decimal must be . or ,; {text!r} was given: choose one.")
    return text


def _bytes(text):
    """A size such as 4GB in bytes."""
    if text is None:
        return None
    units = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
    number = text.strip().lower().rstrip("bkmgt ")
    unit = text.strip().lower()[len(number) :].strip()
    unit = unit if unit in ("", "b") or unit.endswith("b") else f"{unit}b"
    try:
        return float(number) * units[unit]
    except (ValueError, KeyError):
        raise ValueError(f"--max-size must be a size such as 500MB or 4GB; {text!r} was given: write it so.") from None
