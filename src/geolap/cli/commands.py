"""The commands, each a short story: check the outputs, read the file, compute, answer."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

import typer

from ..choices import ENGINES, METHODS, RULES
from . import preparing as prepare
from .options import Graph, Reading, Selecting, argument, command, count, duration, option
from .running import Answer, Run
from .showing import (
    described_graph,
    described_selection,
    grid,
    shown_graph,
    shown_graphs,
    shown_remarks,
    shown_selection,
    shown_studies,
)

__all__ = ["app"]

app = typer.Typer(
    help="Graph Laplacians at the scale set by the geometry of the data.",
    epilog="Exit codes: 0 success, 1 an internal error in geolap, 2 an invalid file or option, 3 no clear minimum "
    "(--strict), 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMPONENTS = (
    "Components and isolated points are those of the graph cut off at 3ε, where weights are 1e-4; commands that build a "
    "graph report their own."
)
_READ_DIGITS = "from sklearn.datasets import load_digits\n\nX = load_digits().data"
_METHODS = "Methods: " + ", ".join(f"{name} ({rule.words})" for name, rule in RULES.items()) + "."
_STUDIES = ("figure1", "figure2", "figure3", "table1", "table2", "truth", "graphs", "all")

# What several commands have.
_FILE = argument("The data: rows are points. - is standard input.", metavar="FILE")
_LABELS = option(None, "A column or array of the file, not used as a feature; classes for cv.", metavar="COLUMN")
_BESIDE = "A column that is not used as a feature and is written beside "
_PER_POINT = option(None, "Where to write: .csv, .tsv, .npz, .parquet; - is standard output.", "-o")
_PLOT = option(None, "Draw the map to a file: .png, .pdf or .svg.", metavar="OUT.png")
_REPORT = option(None, "Write an HTML page with curves, maps and explanations.", metavar="OUT.html")


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"geolap {__version__}")
        raise typer.Exit


@app.callback()
def _geolap(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)] = False,
) -> None:
    """Graph Laplacians at the scale set by the geometry of the data."""


@command(app, epilog=_METHODS)
def select(
    run: Run,
    selecting: Selecting,
    reading: Reading,
    file: str = _FILE,
    labels: str | None = _LABELS,
    n_neighbors: int | None = option(None, "Use the k-nearest-neighbor graph (gc).", min=1),
    cutoff: float | None = option(None, "Cut off weights beyond this many ε (gc)."),
    local_scale: str | None = option(None, "Local bandwidths: by the distance to the k-th neighbor, or 'regional' (gc)."),
    output: str | None = option(None, "Write the curve to .csv, .npy, ….", "-o"),
    report: str | None = _REPORT,
) -> Answer:
    """Choose the kernel bandwidth ε of exp(−d²/ε²) for the points of a file."""
    table = prepare.read_points(run, file, reading, labels, selecting, table=output, page=report)
    graph = {"n_neighbors": n_neighbors, "cutoff": cutoff, "local_scale": prepare.local_scale_of(local_scale)}
    selector = prepare.selector_for(run, selecting, table.labels, reading.metric, **graph)
    if n_neighbors is cutoff is local_scale is None:
        prepare.tell_cost(run, table.points, selecting, reading.metric)
    selection = selector.fit(table.points, table.labels, table.weights).selection_
    prepare.write_columns(run, output, {"bandwidth": selection.bandwidths, "score": selection.scores}, "curve")
    known = selection if n_neighbors is local_scale is None else None
    prepare.write_page(run, report, table, reading, selection=known)
    return _selected(run, table, selection, output, varies=local_scale is not None)


@command(app, epilog=_METHODS)
def compare(
    run: Run,
    reading: Reading,
    file: str = _FILE,
    methods: list[str] | None = option(
        None, "Rules to run; by default all that apply. May be repeated.", "--method", "-m", choices=METHODS
    ),
    labels: str | None = _LABELS,
    engine: str = option("auto", "How sums over the points are computed (gc).", choices=ENGINES, show_default=True),
    output: str | None = option(None, "Write the table to .csv, .tsv, .parquet, ….", "-o"),
    report: str | None = _REPORT,
) -> Answer:
    """Run all rules for a bandwidth side by side."""
    prepare.check_labels_given(methods or (), labels)
    table = prepare.read_points(run, file, reading, labels, table=output, page=report)
    prepare.tell_cost_of_rules(run, table.points, methods, engine, reading.metric)
    from ..selectors.comparison import COLUMNS, compare_bandwidths

    given: dict[str, Any] = {"y": table.labels, "sample_weight": table.weights, "metric": reading.metric}
    given |= {"engine": engine, "random_state": run.seed, "n_jobs": run.n_jobs}
    comparison = compare_bandwidths(table.points, methods or None, **given)
    rows = comparison.as_dicts()
    prepare.write_columns(run, output, {key: [row[key] for row in rows] for key in rows[0]}, "table")
    prepare.write_page(run, report, table, reading, comparison=comparison)
    return Answer(
        {"rows": rows, "agreement": comparison.agreement()},
        [grid(COLUMNS, comparison.words(), words=("method", "interval", "status")), comparison.conclusion(), _COMPONENTS],
        plain="\n".join(f"{row['method']}\t{row['bandwidth']!r}" for row in rows),
        table=table,
        output=output,
    )


@command(app, epilog=_METHODS)
def embed(
    run: Run,
    selecting: Selecting,
    graph: Graph,
    reading: Reading,
    file: str = _FILE,
    output: str = option(..., "Where to write: .csv, .tsv, .npy, .npz, .parquet; - is standard output.", "-o"),
    n_components: str = option("2", "Number of coordinates, or auto; 2 by default.", "-d", parser=count),
    diffusion: bool = option(False, "Compute a diffusion map instead of an eigenmap."),
    diffusion_time: str | None = option(None, "Number of diffusion steps, or auto; 1 by default.", parser=duration),
    disconnected: str = option(
        "arrange",
        "If the graph is disconnected: arrange maps of its components, map it as a whole, map each component in the same "
        "place, or raise an error.",
        choices=("arrange", "whole", "separate", "error"),
        show_default=True,
    ),
    n_landmarks: int | None = option(None, "Number of landmarks to build the graph on; all points by default.", min=3),
    labels: str | None = option(None, f"{_BESIDE}the map.", metavar="COLUMN"),
    plot: str | None = _PLOT,
    report: str | None = _REPORT,
) -> Answer:
    """Map the points to a few coordinates: a Laplacian eigenmap, or a diffusion map."""
    if diffusion_time is not None and not diffusion:
        raise ValueError(
            "Time is a parameter of diffusion maps; --diffusion-time was given without --diffusion: add --diffusion."
        )
    if plot is not None and n_components == 1:
        raise ValueError("A map is drawn in two coordinates; --plot was given with --n-components 1: leave out one of them.")
    table = prepare.read_points(run, file, reading, labels, selecting, table=output, picture=plot, page=report)
    from ..data.points import host_array
    from ..estimators.maps import DiffusionMap, LaplacianEigenmap

    own: dict[str, Any] = {"n_components": n_components, "disconnected": disconnected, "n_landmarks": n_landmarks}
    if diffusion_time is not None:
        own["diffusion_time"] = diffusion_time
    kind = DiffusionMap if diffusion else LaplacianEigenmap
    if graph.cutoff is graph.local_scale is None and (graph.bandwidth is None or n_landmarks):  # others no forecast knows
        k = graph.n_neighbors if isinstance(graph.n_neighbors, int) else None
        known: dict[str, Any] = {"bandwidth": graph.bandwidth, "n_neighbors": k, "n_landmarks": n_landmarks}
        prepare.tell_cost(run, table.points, selecting, reading.metric, "map", **known)
    mapping = prepare.fitted(run, kind, table, selecting, graph, reading, **own)
    coordinates = {f"x{k + 1}": column for k, column in enumerate(host_array(mapping.embedding_).T)}
    prepare.write_columns(run, output, {**_beside(table, labels, coordinates), **coordinates})
    prepare.draw_map(run, plot, mapping, labels=table.labels)
    prepare.write_page(run, report, table, reading, mapping)
    chosen: tuple[str, ...] = () if mapping.independence_ is None else mapping.independence_.reasons
    result = {
        "n_components": len(coordinates),
        "coordinates": mapping.coordinates_ + 1,
        "reasons_for_coordinates": list(chosen),
        "diffusion_time": getattr(mapping, "diffusion_time_", None),
        "eigenvalues": mapping.eigenvalues_,
    }
    what = f"{len(coordinates)} coordinates" if len(coordinates) > 1 else "1 coordinate"
    if diffusion_time == "auto":
        chosen = (*chosen, f"Diffusion time {mapping.diffusion_time_:g}, the knee of the entropy of the spectrum.")
    return _written(run, table, mapping, output, result, what, *chosen)


@command(app, epilog=_METHODS)
def cluster(
    run: Run,
    selecting: Selecting,
    graph: Graph,
    reading: Reading,
    file: str = _FILE,
    n_clusters: int | None = option(None, "Number of clusters; by default as many as stand out.", "-k", min=1),
    min_share: float = option(
        0.1, "Minimum size of a cluster, as a share of points per cluster.", min=0, max=1, show_default=True
    ),
    max_clusters: int = option(15, "Maximum number of clusters to try without --n-clusters.", min=2, show_default=True),
    labels: str | None = option(None, f"{_BESIDE}the clusters.", metavar="COLUMN"),
    output: str | None = _PER_POINT,
    plot: str | None = _PLOT,
    report: str | None = _REPORT,
) -> Answer:
    """Divide the points into clusters, and say how many there are."""
    table = prepare.read_points(run, file, reading, labels, selecting, table=output, picture=plot, page=report)
    import numpy as np

    from ..data.points import host_array
    from ..estimators.base import graph_in_words
    from ..estimators.clusters import LaplacianClustering

    own = {"n_clusters": n_clusters, "min_share": min_share, "max_clusters": max_clusters}
    clustering = prepare.fitted(run, LaplacianClustering, table, selecting, graph, reading, **own)
    found = host_array(clustering.labels_)
    prepare.write_columns(run, output, {**_beside(table, labels, ["cluster"]), "cluster": found})
    prepare.draw_map(run, plot, clustering)
    prepare.write_page(run, report, replace(table, labels=found), reading, clustering, clustering=clustering)
    sizes = np.bincount(found).tolist()
    status = clustering.status_.value.named(run.named)
    result = {
        "n_clusters": clustering.n_clusters_,
        "status": clustering.status_.name.lower(),
        "status_text": status,
        "sizes": sizes,
        "n_outliers": clustering.n_outliers_,
        "strengths": [{"n_clusters": k, "strength": s} for k, s in clustering.strengths_.items()],
        "eigenvalues": clustering.eigenvalues_,
    }
    shown = [grid(("cluster", "points"), enumerate(sizes), words=("cluster",)), status]
    if clustering.n_outliers_:
        shown.append(f"Outliers that joined the clusters of their neighbors: {clustering.n_outliers_}.")
    hint = "The cluster of every point: add -o clusters.csv."
    shown += [f"Bandwidth {clustering.bandwidth_:.4g}.", graph_in_words(clustering)]
    return _of_every_point(run, table, clustering, output, result, {"labels": found}, shown, hint)


@command(app, epilog=_METHODS)
def classify(
    run: Run,
    selecting: Selecting,
    graph: Graph,
    reading: Reading,
    file: str = _FILE,
    labels: str = option(..., "The column, or array of the file, with classes; empty if unknown.", metavar="COLUMN"),
    output: str | None = _PER_POINT,
    report: str | None = _REPORT,
) -> Answer:
    """Classify all points from the labels of a few."""
    table = prepare.read_points(run, file, reading, labels, table=output, page=report)
    import numpy as np

    from ..estimators.labels import LaplacianClassifier
    from ..validation import check_labels

    classifier = prepare.fitted(run, LaplacianClassifier, table, selecting, graph, reading)
    found, given = classifier.transduction_, check_labels(table.labels, len(table.points))[1]
    probability = classifier.predict_proba(table.points)
    likely = np.where(given, 1.0, probability[np.arange(len(found)), np.searchsorted(classifier.classes_, found)])
    known = np.array(table.labels, object)
    known[~given] = None
    prepare.write_columns(run, output, {**_beside(table), "given": known, "class": found, "probability": likely})
    prepare.write_page(run, report, replace(table, labels=found), reading, classifier)
    counts = [(name, int((found[given] == name).sum()), int((found[~given] == name).sum())) for name in classifier.classes_]
    result = {
        "n_labeled": int(given.sum()),
        "n_unlabeled": int((~given).sum()),
        "n_unreached": classifier.n_unreached_,
        "classes": [dict(zip(("class", "given", "found"), row, strict=True)) for row in counts],
    }
    result["graphs"] = [
        {"bandwidth": one.bandwidth_, "n_neighbors": one.n_neighbors_, "weight": weight}
        for one, weight in classifier._each_graph()
    ]
    shown = [grid(("class", "given", "found"), counts, words=("class",)), *shown_graphs(run, classifier)]
    if given.all():
        shown.append("Every point already has a class: there is nothing to classify.")
    columns, hint = {"transduction": found, "probability": likely}, "The class of every point: add -o classes.csv."
    return _of_every_point(run, table, classifier, output, result, columns, shown, hint)


@command(app, epilog=_METHODS)
def laplacian(
    run: Run,
    selecting: Selecting,
    graph: Graph,
    reading: Reading,
    file: str = _FILE,
    output: str = option(..., "Where to write: .npz (scipy.sparse.load_npz), .npy (dense), .mtx (text).", "-o"),
    labels: str | None = _LABELS,
    normalization: str = option(
        "random_walk", "Which Laplacian.", choices=("random_walk", "symmetric", "unnormalized"), show_default=True
    ),
    report: str | None = _REPORT,
) -> Answer:
    """Write the graph Laplacian, which tends to the Laplace–Beltrami operator."""
    table = prepare.read_points(run, file, reading, labels, selecting, matrix=output, page=report)
    from ..estimators.laplacian import GraphLaplacian
    from ..files import write_matrix

    estimator = prepare.fitted(run, GraphLaplacian, table, selecting, graph, reading, normalization=normalization)
    L = estimator.laplacian_
    write_matrix(output, L, bandwidth=estimator.bandwidth_, degrees=estimator.degrees_)
    prepare.write_page(run, report, table, reading, estimator)
    nonzeros = int(L.nnz if hasattr(L, "nnz") else L.size)
    return _written(run, table, estimator, output, {"shape": L.shape, "nonzeros": nonzeros}, f"{nonzeros} entries")


@command(app)
def reproduce(
    run: Run,
    what: str = argument("Which figure or table of the paper.", choices=_STUDIES),
    quick: bool = option(False, "Fewer and smaller samples: three minutes in total instead of an hour."),
    output: str | None = option(None, "Output folder.", "-o"),
) -> Answer:
    """Compute figures and tables of the paper anew."""
    if run.n_jobs is not None:
        raise ValueError("Studies use all cores; --n-jobs was given: leave it out, or use taskset.")
    from dataclasses import asdict

    from ..experiments import reproduce as reproduced

    studies = reproduced(what, quick=quick, output=output, random_state=run.seed)
    return Answer({"output": output, "studies": list(map(asdict, studies))}, shown_studies(studies, output))


@command(app, like="select")
def demo(
    run: Run,
    output: str | None = option(None, "Also write the data to .csv, to try other commands.", "-o"),
    report: str | None = _REPORT,
) -> Answer:
    """Choose a bandwidth for scikit-learn's handwritten digits."""
    prepare.check_outputs(run, None, table=output, page=report)
    from sklearn.datasets import load_digits

    from ..files import Table
    from ..selectors import GeometricConsistency

    digits = load_digits()
    names = tuple(digits.feature_names)
    table = Table(digits.data, names, None, digits.target, (), "'digits'", "scikit-learn", code=_READ_DIGITS)
    selection = GeometricConsistency(random_state=run.seed, n_jobs=run.n_jobs).fit(table.points).selection_
    prepare.write_columns(run, output, {**dict(zip(names, digits.data.T, strict=True)), "digit": digits.target}, "data")
    prepare.write_page(run, report, table, selection=selection)
    data = output or "digits.csv"
    lines = [f"geolap compare {data} --drop digit", f"geolap embed {data} --labels digit -o map.csv"]
    if output is None:
        lines.insert(0, f"geolap demo -o {data}")
    return _selected(run, table, selection, output, "Next:", *(f"  {line}" for line in lines))


def _selected(run: Run, table: Any, selection: Any, output: str | None, *more: str, varies: bool = False) -> Answer:
    """The answer of a command that chooses a bandwidth."""
    shown = [*shown_selection(run, selection, varies=varies), *more]
    result = described_selection(run, selection, varies=varies) or {}
    return Answer(result, shown, repr(float(selection.bandwidth)), table, selection, output)


def _written(run: Run, table: Any, estimator: Any, output: str, result: dict[str, Any], what: str, *more: str) -> Answer:
    """The answer of a command that builds on a graph and writes what it built."""
    shown = shown_graph(run, estimator, *more, f"Written to {output}: {len(table.points)} points, {what}.")
    result = {"output": output, **result, **described_graph(run, estimator)}
    return Answer(result, shown, table=table, selection=estimator.selection_, output=output)


def _of_every_point(
    run: Run, table: Any, estimator: Any, output: str | None, result: dict, found: dict, shown: list[Any], hint: str
) -> Answer:
    """The answer of a command that ``found`` something for every point, of which the first is what was asked for."""
    result = {"output": output, **result, **described_graph(run, estimator), **({} if output else found)}
    shown += [*shown_remarks(run, estimator), f"Written to {output}." if output else hint]
    plain = None if output else "\n".join(map(str, next(iter(found.values()))))
    return Answer(result, shown, plain, table, estimator.selection_, output)


def _beside(table: Any, labels: str | None = None, taken: Iterable[str] = ()) -> dict[str, Any]:
    """Columns to write beside those that are taken: names of the rows, and the labels if there is a column of them."""
    import numpy as np

    names = {} if table.row_names is None else {"row": np.array(table.row_names, dtype=object)}
    return names if labels is None else {**names, "label" if labels in ("row", *taken) else labels: table.labels}
