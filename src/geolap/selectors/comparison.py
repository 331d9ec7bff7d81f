"""Every rule side by side on the same data."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ..data.distances import Metric, points_of
from ..graphs.health import GraphHealth, graph_health
from ..runtime.progress import begin, parts
from ..selection import Selection
from ..shown import Carded, Plotted
from ..validation import check_random_state
from . import METHODS, selector_named
from .base import with_its_own

__all__ = ["ALIKE", "COLUMNS", "Comparison", "ComparisonRow", "compare_bandwidths"]

COLUMNS = ("method", "bandwidth", "interval", "neighbors", "components", "isolated", "seconds", "status")
# Bandwidths that differ by no more than this factor are alike.
ALIKE = 1.25


@dataclass(frozen=True)
class ComparisonRow:
    """One rule's answer, the graph it leads to, and what it took."""

    selection: Selection
    health: GraphHealth
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """The row as plain values, for a table."""
        low, high = self.selection.interval or (None, None)
        return {
            "method": self.selection.method,
            "bandwidth": self.selection.bandwidth,
            "low": low,
            "high": high,
            "effective_neighbors": self.health.effective_neighbors[2],
            "components": self.health.components,
            "isolated": self.health.isolated,
            "seconds": self.seconds,
            "status": self.selection.status.name.lower(),
        }


@dataclass(frozen=True)
class Comparison(Plotted, Carded):
    """What the rules say; prints as a table, iterates over its rows."""

    rows: tuple[ComparisonRow, ...]

    def __iter__(self) -> Iterator[ComparisonRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Rows as plain values: ``pandas.DataFrame(comparison.as_dicts())``."""
        return [row.as_dict() for row in self.rows]

    def words(self) -> list[tuple[str, ...]]:
        """The rows as people read them, in the order of `COLUMNS`."""
        return [
            (
                row.selection.method,
                f"{row.selection.bandwidth:.4g}",
                "{:.4g} – {:.4g}".format(*row.selection.interval) if row.selection.interval else "",
                f"{row.health.effective_neighbors[2]:.3g}",
                str(row.health.components),
                str(row.health.isolated),
                f"{row.seconds:.2f}",
                row.selection.status.name.lower().replace("_", " "),
            )
            for row in self.rows
        ]

    def conclusion(self) -> str:
        """Which rules agree, in a sentence."""
        agreed = self.agreement()
        return f"{', '.join(agreed)} agree within a factor of {ALIKE}." if agreed else "No two rules agree."

    def __str__(self) -> str:
        cells = [COLUMNS, *self.words()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, "<><>>>><", widths, strict=True)).rstrip()
            for row in cells
        ]
        return "\n".join([*lines, self.conclusion()])

    def agreement(self) -> tuple[str, ...]:
        """The most methods whose bandwidths lie within a factor of 1.25 of each other, smallest bandwidth first."""
        ordered = sorted((row.selection.bandwidth, row.selection.method) for row in self.rows)
        groups = [[name for eps, name in ordered if low <= eps <= ALIKE * low] for low, _ in ordered]
        best = max(groups, key=len, default=[])
        return tuple(best) if len(best) > 1 else ()


def compare_bandwidths(
    X: Any,
    methods: Sequence[str] | None = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: str = "auto",
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
) -> Comparison:
    """Run several rules on the same data.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    methods : sequence of str, optional
        Names of methods of `select_bandwidth`; by default all that need no labels, and also those that do if y is given.
    y : array-like (n_points,), optional
        Labels, −1 for unlabeled points.
    sample_weight : array-like (n_points,), optional
        Number of points that each row represents; methods that do not support it are then left out by default.
    random_state : int, RandomState or None
    engine : str, default "auto"
        For methods that have one, `GeometricConsistency`.
    metric : str or callable, default "euclidean"
        As for `geolap.distortion`.
    n_jobs : int, optional

    Returns
    -------
    Comparison
        Method, bandwidth, interval where there is one, median effective neighbors, components and isolated points of the
        graph cut at 3ε, seconds.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(300, random_state=0).data
    >>> comparison = geolap.compare_bandwidths(X, ["gc", "median"], random_state=0)
    >>> [row["method"] for row in comparison.as_dicts()]
    ['gc', 'median']
    """
    points = points_of(X, metric, sample_weight=sample_weight)
    if methods is None:
        methods = [
            name
            for name, rule in METHODS.items()
            if (y is not None or not rule.needs_labels)
            and (points.whole or not rule.needs_all_pairs)
            and (points.multiplicity is None or rule.takes_weights)
        ]
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise TypeError(f"methods must be a list of names, such as ['gc', 'knn']; {methods!r} was given.")
    selectors = [selector_named(name, what="a method") for name in methods]
    # A number goes to every rule as it is, so that each answers what it would answer alone.
    seed = random_state if isinstance(random_state, Integral) else check_random_state(random_state).randint(2**31)
    rows = []
    with parts(len(selectors), "rules"):
        for name, selector in zip(methods, selectors, strict=True):
            begin(f"rule {name}")
            selection, seconds = with_its_own(selector, random_state=seed, engine=engine, n_jobs=n_jobs).timed(points, y)
            health = graph_health(points, selection.bandwidth, random_state=seed, n_jobs=n_jobs)
            rows.append(ComparisonRow(selection, health, seconds))
    return Comparison(tuple(rows))
