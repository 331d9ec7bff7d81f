"""Reports: one HTML file that tells which bandwidth to use, and why; it opens from disk and needs no network.

`write_report` looks at the points; `selection_page` makes a page from a `Selection` alone.  What a report says is decided in
`geolap.display.report.content`, the charts in `geolap.display.report.figures`, how it looks in `geolap.display.report.page`.
"""

from pathlib import Path

from ...files import write_text
from .content import content_of, content_of_selection
from .page import page_of

__all__ = ["selection_page", "write_report"]


def write_report(path, X, *, selection=None, comparison=None, labels=None, name=None, random_state=None) -> Path:
    """Write an HTML report about the points X.

    The answer in one sentence; D(ε) with minima, interval, bound and artifact, and the bandwidths of other rules on the same
    axis; the graph against ε; the map at half, once and twice ε̂; singular values and dimension; code for what comes next.
    Needs plotly (``geolap[report]``).

    Parameters
    ----------
    path : str or path
        Of the file.  It appears when it is complete, and replaces one of the same name.
    X : array-like (n_points, n_features)
    selection : Selection, optional
        By default that of `geolap.GeometricConsistency`.
    comparison : Comparison, optional
        By default six quick rules are asked, up to 20 000 points (fewer of the slower ones).
    labels : array-like (n_points,), optional
        Words or numbers that color the maps; by default the density does.
    name : str, optional
        What to call the data.
    random_state : int, RandomState or None

    Returns
    -------
    Path
        Of the file.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"A report must be a file; {str(path)!r} is a folder: add a name such as report.html.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"A report must be written to a folder that exists; {str(path.parent)!r} does not: create it, or name another."
        )
    content = content_of(X, selection=selection, comparison=comparison, labels=labels, name=name, random_state=random_state)
    write_text(path, page_of(content, version=_version()))
    return path


def selection_page(selection, *, name=None) -> str:
    """A page of HTML from a `Selection` alone: all but what needs the points, which are the other rules, maps and dimension.

    Parameters
    ----------
    selection : Selection
    name : str, optional
        What to call the data.
    """
    return page_of(content_of_selection(selection, name=name), version=_version())


def _version():
    from ... import __version__

    return __version__
