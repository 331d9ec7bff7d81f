"""Results as documents for machines, and as tables for people."""

from dataclasses import asdict

from .running import as_options, printable

__all__ = [
    "described_data",
    "described_selection",
    "show_classified",
    "show_comparison",
    "show_demo",
    "show_lines",
    "show_selection",
    "show_studies",
    "show_written",
]


def described_data(table):
    """What was read, as plain values."""
    n, r = table.points.shape
    return {
        "file": table.name.strip("'"),
        "format": table.format,
        "array": table.array,
        "n_points": n,
        "n_features": r,
        "columns": table.columns,
        "notes": table.notes,
    }


def described_selection(selection):
    """A selection as plain values; None if the bandwidth was given."""
    from ..kernel import convert_bandwidth
    from ..selection import Status

    if selection is None:
        return None
    return {
        "bandwidth": selection.bandwidth,
        "interval": selection.interval,
        "method": selection.method,
        "status": selection.status.name.lower(),
        "status_text": str(selection.status),
        "trusted": selection.status is Status.INTERIOR,
        "bound": selection.bound,
        "minima": [asdict(m) | {"selected": m.bandwidth == selection.bandwidth} for m in selection.minima],
        "conversions": {
            name: convert_bandwidth(selection.bandwidth, target=name) for name in ("gamma", "sigma", "heat_time")
        },
        "curve": {"bandwidths": selection.bandwidths, "scores": selection.scores},
    }


def show_selection(table, selection):
    """The answer in words, and what it is elsewhere."""
    from ..kernel import convert_bandwidth

    gamma, sigma = (convert_bandwidth(selection.bandwidth, target=name) for name in ("gamma", "sigma"))
    show_lines(
        _headline(table),
        as_options(selection.explain()),
        f"Elsewhere: gamma = {gamma:.4g} (scikit-learn), sigma = {sigma:.4g} (exp(−d²/2σ²)).",
    )


def show_comparison(table, comparison):
    """A row for each rule."""
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in ("method", "bandwidth", "interval", "neighbors", "parts", "alone", "seconds"):
        grid.add_column(title, justify="left" if title in ("method", "interval") else "right")
    grid.add_column("status")
    for row in comparison.as_dicts():
        interval = "" if row["low"] is None else f"{row['low']:.4g} – {row['high']:.4g}"
        grid.add_row(
            row["method"],
            f"{row['bandwidth']:.4g}",
            interval,
            f"{row['effective_neighbors']:.3g}",
            str(row["components"]),
            str(row["isolated"]),
            f"{row['seconds']:.2f}",
            row["status"].replace("_", " "),
        )
    show_lines(_headline(table))
    _console().print(grid)
    agreed = comparison.agreement()
    if agreed:
        show_lines(f"{', '.join(agreed)} agree within a factor of 1.25.")


def _show_classes(table, counts):
    """How many points of each class were given and found; ``counts`` are (class, given, found)."""
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    grid.add_column("class")
    grid.add_column("given", justify="right")
    grid.add_column("found", justify="right")
    for name, given, found in counts:
        grid.add_row(printable(name), str(given), str(found))
    show_lines(_headline(table))
    _console().print(grid)


def _show_graph(table, estimator):
    if estimator.selection_ is not None:
        show_selection(table, estimator.selection_)
    else:
        show_lines(f"Bandwidth {estimator.bandwidth_:.4g}, as given.")


def show_written(table, estimator, output, what):
    _show_graph(table, estimator)
    show_lines(f"Written to {output}: {len(table.points)} points, {what}.")


def show_classified(table, classifier, counts, output):
    _show_classes(table, counts)
    show_lines(f"Bandwidth {classifier.bandwidth_:.4g}.")
    if classifier.selection_ is not None:
        show_lines(as_options(str(classifier.selection_.status)))
    if not any(found for _, _, found in counts):
        show_lines("Every point has its class already: nothing was left to classify.")
    show_lines(f"Written to {output}." if output else "The class of every point: add -o classes.csv.")


def show_demo(table, selection, output):
    show_selection(table, selection)
    data = output or "digits.csv"
    first = [] if output else [f"  geolap demo -o {data}"]
    show_lines("Next:", *first, f"  geolap compare {data} --drop digit", f"  geolap embed {data} --labels digit -o map.csv")


def show_studies(studies, output):
    """The claims of every study, and whether they hold."""
    for study in studies:
        show_lines(f"{study.title}{' (quick)' if study.quick else ''}")
        show_lines(*(f"  {'holds' if claim.holds else 'fails'}: {claim.text} ({claim.evidence})" for claim in study.claims))
        show_lines(*(f"  {remark}" for remark in study.remarks))
    show_lines(f"Written to {output}: open reproduction.html there." if output else "Tables and pictures: add -o FOLDER.")


def show_lines(*texts):
    """Plain lines."""
    for text in texts:
        print(printable(text))


def _headline(table):
    n, r = table.points.shape
    where = f", array {table.array}" if table.array else ""
    return f"{table.name.strip(chr(39))}{where}: {n} points, {r} feature{'' if r == 1 else 's'}"


def _console():
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=200)
