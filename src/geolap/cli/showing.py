"""Results as values for machines, and as lines and tables for people."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .running import Run, printable

if TYPE_CHECKING:
    from ..experiments import Study
    from ..selection import Selection

__all__ = [
    "described_graph",
    "described_selection",
    "grid",
    "shown_graph",
    "shown_graphs",
    "shown_remarks",
    "shown_selection",
    "shown_studies",
]

# What is told about a graph.
_GRAPH = ("bandwidth", "n_neighbors", "cutoff", "dropped_weight", "n_edges", "thinning_error")


def described_selection(run: Run, selection: "Selection | None", *, varies: bool = False) -> dict[str, Any] | None:
    """A selection as plain values; None if the bandwidth was given.  One that ``varies`` has no conversions."""
    if selection is None:
        return None
    from ..kernel import convert_bandwidth

    conventions = ("gamma", "sigma", "heat_time")
    conversions = {name: convert_bandwidth(selection.bandwidth, target=name) for name in conventions}
    selection = _about_columns(run, selection)
    record, near = selection.as_record(), selection.neighborhoods
    if near is not None:
        record["neighborhoods"] |= {"dimension": near.dimension, "resolved": near.resolved}
    return {
        **{name: record[name] for name in ("bandwidth", "interval", "method", "status")},
        "status_text": selection.status_text.named(run.named),
        "verdict": selection.verdict.name.lower(),
        "verdict_text": selection.verdict_text.named(run.named),
        "trusted": selection.trusted,
        "reasons": [{"kind": reason.kind, "text": reason.text.named(run.named)} for reason in selection.reasons],
        **{name: record[name] for name in ("neighborhoods", "bound")},
        "working_dim": selection.details.get("working_dim"),
        "minima": [told | {"selected": told["bandwidth"] == selection.bandwidth} for told in record["minima"]],
        "conversions": None if varies else conversions,
        "curve": {name: record[name] for name in ("bandwidths", "scores")},
    }


def described_graph(run: Run, estimator: Any) -> dict[str, Any]:
    """The graph of an estimator as plain values."""
    from ..graphs.spectrum import graph_components

    kept = {name: getattr(estimator, f"{name}_") for name in _GRAPH}
    kept["n_graph_components"] = int(graph_components(estimator.graph_).max()) + 1
    varies = estimator.graph_.scale is not None
    return kept | {"selection": described_selection(run, estimator.selection_, varies=varies)}


def shown_selection(run: Run, selection: "Selection", *, varies: bool = False) -> list[str]:
    """The answer in words, and what it is elsewhere, unless it ``varies`` from place to place."""
    from ..kernel import convert_bandwidth

    answer = _about_columns(run, selection).explain(run.named)
    if varies:
        return [answer, "The bandwidth varies around this value: no single gamma or sigma is equivalent."]
    gamma, sigma = (convert_bandwidth(selection.bandwidth, target=name) for name in ("gamma", "sigma"))
    elsewhere = f"Equivalent: gamma = {gamma:.4g} (scikit-learn), sigma = {sigma:.4g} (exp(−d²/2σ²))."
    return [answer, elsewhere]


def _about_columns(run: Run, selection: "Selection") -> "Selection":
    """The selection with remarks on features by the names of their columns."""
    return replace(selection, remarks=tuple(remark.of(run.columns) for remark in selection.remarks))


def shown_remarks(run: Run, estimator: Any) -> list[str]:
    """What is odd about the data, where a bandwidth was chosen for it."""
    selection = estimator.selection_
    return [] if selection is None else [r.text.named(run.named) for r in _about_columns(run, selection).remarks]


def shown_graph(run: Run, estimator: Any, *more: str) -> list[str]:
    """How the bandwidth of an estimator was chosen, what its graph is like, and what else is to be said."""
    from ..estimators.base import graph_in_words

    if estimator.selection_ is None:
        chosen = [f"Bandwidth {estimator.bandwidth_:.4g}, as given."]
    else:
        chosen = shown_selection(run, estimator.selection_, varies=estimator.graph_.scale is not None)
    return [*chosen, graph_in_words(estimator), *more]


def shown_graphs(run: Run, estimator: Any) -> list[str]:
    """Every graph of an estimator that weighs some: its bandwidth, how that was chosen, and how much the graph counts."""
    from ..estimators.base import graph_in_words

    lines = []
    for one, weight in estimator._each_graph():
        counts = f" Its weight is {weight:.0%}." if weight < 1.0 else ""
        lines.append(
            f"Bandwidth {one.bandwidth_:.4g}{'' if one.selection_ else ', as given'}. {graph_in_words(one)}{counts}"
        )
        if one.selection_ is not None:
            lines += [text.named(run.named) for text in (one.selection_.verdict_text, one.selection_.status_text)]
    return lines


def shown_studies(studies: "Iterable[Study]", output: str | None) -> Iterable[str]:
    """The claims of every study, and whether they hold."""
    for study in studies:
        yield f"{study.title}{' (quick)' if study.quick else ''}"
        for claim in study.claims:
            yield f"  {'holds' if claim.holds else 'fails'}: {claim.text} ({claim.evidence})"
        yield from (f"  {remark}" for remark in study.remarks)
    yield f"Written to {output}: open reproduction.html there." if output else "Tables and pictures: add -o FOLDER."


def grid(columns: Sequence[str], rows: Iterable[Sequence[Any]], words: Sequence[str] = ()) -> Any:
    """A table for people; columns of words are set to the left."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in columns:
        table.add_column(title, justify="left" if title in words else "right")
    for row in rows:
        table.add_row(*(printable(str(cell)) for cell in row))
    return table
