"""Reports: one HTML file that tells which bandwidth to use, and why; it opens from disk and needs no network.

`write_report` looks at the points; `selection_page` makes a page from a `Selection` alone.  What a report says is decided in
`content` (with `maps`, `coloring` and `advice`), the charts in `figures`, how it looks in `page`.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ... import __version__, shown
from ...estimators.clusters import LaplacianClustering
from ...files import write_text
from ...selection import Selection
from ...selectors.comparison import Comparison
from .content import content_of, content_of_selection
from .page import page_of

__all__ = ["selection_page", "write_report"]


def write_report(
    path: str | os.PathLike[str],
    X: ArrayLike,
    *,
    selection: Selection | None = None,
    comparison: Comparison | None = None,
    clustering: LaplacianClustering | None = None,
    labels: ArrayLike | None = None,
    name: str | None = None,
    reading: str | None = None,
    features: Sequence[str] | None = None,
    random_state: Any = None,
) -> Path:
    """Write an HTML report on the points X.

    The answer in one sentence; D(ε) with minima, interval, bound and artifact, and the bandwidths of other rules on the same
    axis; the graph against ε; the map of the default graph at half, once and twice its ε̂, beside that of the paper's graph;
    clusters; the coordinates that span the data; singular values and dimension; code for what comes next.  Needs plotly
    (``geolap[report]``).

    Parameters
    ----------
    path : str or path
        The file.  It appears when it is complete, and replaces an existing file.
    X : array-like (n_points, n_features)
    selection : Selection, optional
        By default that of `geolap.GeometricConsistency`.
    comparison : Comparison, optional
        By default six quick rules are run, up to 20 000 points (fewer for the slower ones).
    clustering : LaplacianClustering, optional
        Fitted to X; by default one with default parameters, up to 20 000 points.
    labels : array-like (n_points,), optional
        Words or numbers that color the maps, with up to 20 classes in their own colors; by default the density.
    name : str, optional
        Name of the data.
    reading : str, optional
        Code that reads X, shown for copying.
    features : sequence of str, optional
        Names of the columns; by default those of X.
    random_state : int, RandomState or None

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"A report must be a file; {str(path)!r} is a folder: add a name such as report.html.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"A report must be written to a folder that exists; {str(path.parent)!r} does not: create it, or name another."
        )
    given: dict[str, Any] = {"selection": selection, "comparison": comparison, "clustering": clustering, "labels": labels}
    content = content_of(X, **given, name=name, reading=reading, features=features, random_state=random_state)
    write_text(path, page_of(content, version=__version__))
    return path


@shown.pages.register(Selection)
def selection_page(selection: Selection, *, name: str | None = None) -> str:
    """A page of HTML from only a `Selection`: everything except the other rules, maps and dimension, which need the points.

    Parameters
    ----------
    selection : Selection
    name : str, optional
        Name of the data.
    """
    return page_of(content_of_selection(selection, name=name), version=__version__)
