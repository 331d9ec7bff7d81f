"""The commands, each a short story: check the outputs, read the file, compute, answer."""

from enum import StrEnum
from typing import Annotated

import typer

from .options import (
    Engine,
    File,
    Graph,
    Method,
    Output,
    Reading,
    Report,
    Running,
    Selecting,
    Strict,
    command,
)
from .preparing import (
    check_labels_given,
    forecast_of,
    graph_parameters,
    prepared_outputs,
    read_points,
    selector_for,
    warn_of_pairs,
)
from .running import Exit, Run
from .showing import (
    described_data,
    described_selection,
    show_classified,
    show_comparison,
    show_demo,
    show_selection,
    show_studies,
    show_written,
)

__all__ = ["app"]

app = typer.Typer(
    help="Graph Laplacians at the scale that the geometry of the data asks for.",
    epilog="Exit codes: 0 success, 1 a fault of geolap, 2 a file or option that cannot be used, 3 not to be trusted "
    "(--strict), 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Experiment(StrEnum):
    """Figures and tables of the paper."""

    FIGURE1 = "figure1"
    FIGURE2 = "figure2"
    FIGURE3 = "figure3"
    TABLE1 = "table1"
    TABLE2 = "table2"
    TRUTH = "truth"
    ALL = "all"


class Normalization(StrEnum):
    """Which Laplacian."""

    RANDOM_WALK = "random_walk"
    SYMMETRIC = "symmetric"
    UNNORMALIZED = "unnormalized"


class Disconnected(StrEnum):
    """What to do with a graph in several components."""

    WARN = "warn"
    ERROR = "error"
    SEPARATE = "separate"


Labels = Annotated[
    str | None, typer.Option(help="A column, or array of the file, that is no feature; classes for cv.", metavar="COLUMN")
]


@app.callback()
def _geolap(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=lambda value: _version(value))
    ] = False,
):
    """Graph Laplacians at the scale that the geometry of the data asks for."""


def _version(wanted):
    if wanted:
        from .. import __version__

        typer.echo(f"geolap {__version__}")
        raise typer.Exit


@command(app)
def select(
    file: File,
    selecting: Selecting,
    reading: Reading,
    running: Running,
    labels: Labels = None,
    n_neighbors: Annotated[int | None, typer.Option(min=1, help="For the graph of nearest neighbors (gc).")] = None,
    cutoff: Annotated[float | None, typer.Option(help="For weights that are zero beyond so many ε (gc).")] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the curve: .csv, .npy, …")] = None,
    report: Report = None,
    strict: Strict = False,
):
    """Choose the kernel bandwidth ε of exp(−d²/ε²) for the points of a file."""
    run = _run("select", running)
    with run.work():
        write_report = prepared_outputs(run, file, output=output, report=report)
        table = read_points(run, file, reading, labels, classes=selecting.method is Method.CV)
        selector = selector_for(selecting, running, table.labels, n_neighbors=n_neighbors, cutoff=cutoff)
        forecast_of(run, table.points, selecting, running)
        selection = selector.fit(table.points, table.labels).selection_
        if output is not None:
            _write(output, {"bandwidth": selection.bandwidths, "score": selection.scores})
            run.wrote("curve", output)
        if write_report:
            write_report(table, running, selection=selection)
        run.answer(
            described_selection(selection),
            lambda: show_selection(table, selection),
            data=described_data(table),
            plain=repr(float(selection.bandwidth)),
            output=output,
        )
        _judge(selection, strict)


@command(app)
def compare(
    file: File,
    reading: Reading,
    running: Running,
    methods: Annotated[
        list[Method] | None, typer.Option("--method", "-m", help="Rules to run; all that can by default. May be repeated.")
    ] = None,
    labels: Labels = None,
    engine: Annotated[Engine, typer.Option(help="What sums over the points (gc).", show_default=True)] = Engine.AUTO,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the table: .csv, .tsv, .parquet, …")] = None,
    report: Report = None,
):
    """Run all rules for a bandwidth side by side."""
    run = _run("compare", running)
    with run.work():
        write_report = prepared_outputs(run, file, output=output, report=report)
        check_labels_given(methods or [], labels)
        table = read_points(run, file, reading, labels)
        warn_of_pairs(run, len(table.points), methods)
        from ..selectors.comparison import compare_bandwidths

        names = [method.value for method in methods] if methods else None
        comparison = compare_bandwidths(
            table.points,
            names,
            y=table.labels,
            random_state=running.seed,
            engine=engine.value,
            n_jobs=running.n_jobs,
        )
        rows = comparison.as_dicts()
        if output is not None:
            _write(output, {key: [row[key] for row in rows] for key in rows[0]})
            run.wrote("table", output)
        if write_report:
            write_report(table, running, comparison=comparison)
        run.answer(
            {"rows": rows, "agreement": comparison.agreement()},
            lambda: show_comparison(table, comparison),
            data=described_data(table),
            plain="\n".join(f"{row['method']}\t{row['bandwidth']!r}" for row in rows),
            output=output,
        )


@command(app)
def embed(
    file: File,
    output: Output,
    selecting: Selecting,
    graph: Graph,
    reading: Reading,
    running: Running,
    n_components: Annotated[
        int, typer.Option("--n-components", "-d", min=1, help="Coordinates of the map.", show_default=True)
    ] = 2,
    diffusion: Annotated[bool, typer.Option("--diffusion", help="A diffusion map instead of an eigenmap.")] = False,
    diffusion_time: Annotated[float | None, typer.Option(help="Steps of diffusion; 1 by default.")] = None,
    disconnected: Annotated[
        Disconnected, typer.Option(help="If the graph falls apart: warn, refuse, or map each part.", show_default=True)
    ] = Disconnected.WARN,
    n_landmarks: Annotated[int | None, typer.Option(min=3, help="Let only so many points carry the graph.")] = None,
    labels: Annotated[
        str | None, typer.Option(help="A column that is no feature and is written beside the map.", metavar="COLUMN")
    ] = None,
    strict: Strict = False,
):
    """Map the points to a few coordinates: a Laplacian eigenmap, or a diffusion map."""
    run = _run("embed", running)
    with run.work():
        prepared_outputs(run, file, output=output)
        if diffusion_time is not None and not diffusion:
            raise ValueError("Time is a parameter of diffusion maps; --diffusion-time was given alone: add --diffusion.")
        table = read_points(run, file, reading, labels, classes=selecting.method is Method.CV)
        from ..estimators.maps import DiffusionMap, LaplacianEigenmap

        kind = DiffusionMap if diffusion else LaplacianEigenmap
        extra = {"diffusion_time": diffusion_time} if diffusion_time is not None else {}
        mapping = kind(
            n_components,
            **graph_parameters(selecting, graph, running, table.labels),
            **extra,
            disconnected=disconnected.value,
            n_landmarks=n_landmarks,
        ).fit(table.points, table.labels)
        coordinates = {f"x{k + 1}": column for k, column in enumerate(mapping.embedding_.T)}
        beside = {} if labels is None else {"label" if labels in ("row", *coordinates) else labels: table.labels}
        _write(output, {**_rows(table), **beside, **coordinates})
        result = {
            "output": output,
            "n_components": n_components,
            "eigenvalues": mapping.eigenvalues_,
            "graph_components": mapping.n_graph_components_,
            **_described_graph(mapping),
        }
        run.answer(
            result,
            lambda: show_written(table, mapping, output, f"{n_components} coordinates"),
            data=described_data(table),
            output=output,
        )
        _judge(mapping.selection_, strict)


@command(app)
def classify(
    file: File,
    labels: Annotated[
        str, typer.Option(help="The column, or array of the file, with classes; empty where unknown.", metavar="COLUMN")
    ],
    selecting: Selecting,
    graph: Graph,
    reading: Reading,
    running: Running,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Where to write: .csv, .tsv, .npz, .parquet; - is standard output.")
    ] = None,
    strict: Strict = False,
):
    """Classify all points from the labels of a few."""
    run = _run("classify", running)
    with run.work():
        prepared_outputs(run, file, output=output)
        table = read_points(run, file, reading, labels)
        import numpy as np

        from ..estimators.labels import LaplacianClassifier
        from ..validation import check_labels

        classifier = LaplacianClassifier(**graph_parameters(selecting, graph, running, table.labels)).fit(
            table.points, table.labels
        )
        found, given = classifier.transduction_, check_labels(table.labels, len(table.points))[1]
        probability = classifier.predict_proba(table.points)
        position = np.searchsorted(classifier.classes_, found)
        likely = np.where(given, 1.0, probability[np.arange(len(found)), position])
        if output is not None:
            known = np.array([value if there else None for value, there in zip(table.labels, given, strict=True)], object)
            _write(output, {**_rows(table), "given": known, "class": found, "probability": likely})
        counts = [
            (name, int((found[given] == name).sum()), int((found[~given] == name).sum())) for name in classifier.classes_
        ]
        result = {
            "output": output,
            "n_labeled": int(given.sum()),
            "n_unlabeled": int((~given).sum()),
            "n_unreached": classifier.n_unreached_,
            "classes": [{"class": name, "given": known, "found": new} for name, known, new in counts],
            **_described_graph(classifier),
        }
        if output is None:
            result |= {"predicted": found, "probability": likely}
        run.answer(
            result,
            lambda: show_classified(table, classifier, counts, output),
            data=described_data(table),
            plain=None if output is not None else "\n".join(map(str, found)),
            output=output,
        )
        _judge(classifier.selection_, strict)


@command(app)
def laplacian(
    file: File,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write: .npz (scipy.sparse.load_npz), .npy in full, .mtx as text.")
    ],
    selecting: Selecting,
    graph: Graph,
    reading: Reading,
    running: Running,
    labels: Labels = None,
    normalization: Annotated[
        Normalization, typer.Option(help="Which Laplacian.", show_default=True)
    ] = Normalization.RANDOM_WALK,
    strict: Strict = False,
):
    """Write the graph Laplacian, which tends to the Laplace–Beltrami operator."""
    run = _run("laplacian", running)
    with run.work():
        prepared_outputs(run, file, matrix=output)
        table = read_points(run, file, reading, labels, classes=selecting.method is Method.CV)
        from ..estimators.laplacian import GraphLaplacian
        from ..files import write_matrix

        estimator = GraphLaplacian(
            **graph_parameters(selecting, graph, running, table.labels), normalization=normalization.value
        ).fit(table.points, table.labels)
        L = estimator.laplacian_
        write_matrix(output, L, bandwidth=estimator.bandwidth_, degrees=estimator.degrees_)
        nonzeros = int(L.nnz if hasattr(L, "nnz") else L.size)
        run.answer(
            {"output": output, "shape": L.shape, "nonzeros": nonzeros, **_described_graph(estimator)},
            lambda: show_written(table, estimator, output, f"{nonzeros} entries"),
            data=described_data(table),
        )
        _judge(estimator.selection_, strict)


@command(app)
def reproduce(
    what: Annotated[Experiment, typer.Argument(help="Which figure or table of the paper.")],
    running: Running,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and smaller samples: three minutes for all, not an hour.")
    ] = False,
    output: Annotated[str | None, typer.Option("--output", "-o", help="The folder to write to.")] = None,
):
    """Compute figures and tables of the paper anew."""
    run = _run("reproduce", running)
    with run.work():
        if running.n_jobs is not None:
            raise ValueError("Studies use every core of the process; --n-jobs was given: leave it out, or use taskset.")
        from dataclasses import asdict

        from ..experiments import reproduce as reproduced

        studies = reproduced(what.value, quick=quick, output=output, random_state=running.seed)
        run.answer({"output": output, "studies": list(map(asdict, studies))}, lambda: show_studies(studies, output))


@command(app)
def demo(
    running: Running,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write the data as well: .csv, to try other commands on.")
    ] = None,
    report: Report = None,
):
    """Choose a bandwidth for scikit-learn's handwritten digits."""
    run = _run("demo", running)
    with run.work():
        write_report = prepared_outputs(run, None, output=output, report=report)
        from sklearn.datasets import load_digits

        from ..files import Table
        from ..selectors import GeometricConsistency

        digits = load_digits()
        names = tuple(digits.feature_names)
        table = Table(digits.data, names, None, digits.target, (), "'digits'", "scikit-learn")
        selection = GeometricConsistency(random_state=running.seed, n_jobs=running.n_jobs).fit(table.points).selection_
        if output is not None:
            _write(output, {**dict(zip(names, digits.data.T, strict=True)), "digit": digits.target})
            run.wrote("data", output)
        if write_report:
            write_report(table, running, selection=selection)
        run.answer(
            described_selection(selection),
            lambda: show_demo(table, selection, output),
            data=described_data(table),
            plain=repr(float(selection.bandwidth)),
            output=output,
        )


def _run(name, running):
    return Run(name, as_json=running.json, quiet=running.quiet, n_jobs=running.n_jobs)


def _write(output, columns):
    import numpy as np

    from ..files import write_table

    write_table(output, {name: np.asarray(column) for name, column in columns.items()})


def _rows(table):
    """Names of the rows as a column, if they have any."""
    import numpy as np

    return {} if table.row_names is None else {"row": np.array(table.row_names, dtype=object)}


def _described_graph(estimator):
    return {
        "bandwidth": estimator.bandwidth_,
        "n_neighbors": estimator.n_neighbors_,
        "cutoff": estimator.cutoff_,
        "dropped_weight": estimator.dropped_weight_,
        "selection": described_selection(estimator.selection_),
    }


def _judge(selection, strict):
    from ..selection import Status

    if strict and selection is not None and selection.status is not Status.INTERIOR:
        raise typer.Exit(int(Exit.NOT_TRUSTED))
