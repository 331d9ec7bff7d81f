"""Run studies and write their results: JSON, CSV, PNG and SVG files, and a page on all studies in the folder."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..files import replaced_file, write_table, write_text
from ..runtime.progress import begin, parts
from ..validation import check_choice
from .drawings import PICTURES
from .figure1 import figure1
from .figure2 import figure2
from .figure3 import figure3
from .graphs import graphs
from .labels import run_sets
from .page import pages
from .study import Study
from .study import names as names_of
from .tables import table1, table2
from .truth import truth

__all__ = ["STUDIES", "reproduce"]

STUDIES: dict[str, Callable[..., Study]] = {
    "figure1": figure1,
    "figure2": figure2,
    "figure3": figure3,
    "table1": table1,
    "table2": table2,
    "truth": truth,
    "graphs": graphs,
}


def reproduce(
    what: str = "all", *, quick: bool = False, output: str | PathLike[str] | None = None, random_state: int = 0
) -> list[Study]:
    """Recompute the figures and tables of the paper, compare rules on manifolds whose Laplacian is known, and graphs.

    Parameters
    ----------
    what : {"figure1", "figure2", "figure3", "table1", "table2", "truth", "graphs", "all"}, default "all"
    quick : bool, default False
        Fewer and smaller samples: minutes instead of an hour.
    output : path, optional
        A folder for ``reproduction.md`` and ``reproduction.html``, which cover all studies written there so far, and for
        ``reproduction/`` with JSON, CSV, PNG and SVG files.  By default nothing is written.
    random_state : int, default 0

    Returns
    -------
    list of Study

    Examples
    --------
    >>> from geolap.experiments import reproduce
    >>> study, = reproduce("figure2", quick=True)
    >>> sorted(study.tables)
    ['clmr', 'distortion', 'minima', 'singular_values', 'values']
    """
    check_choice("what", what, (*STUDIES, "all"))
    names = tuple(STUDIES) if what == "all" else (what,)
    # Tables 1 and 2 are two views of the same runs.
    shared: dict[str, dict[str, Any]] = {}
    studies = []
    with parts(len(names), "studies"):
        for name in names:
            begin(f"study {name}")
            if what == "all" and name == "table1":
                shared["table1"] = shared["table2"] = {"runs": run_sets(quick=quick, random_state=random_state)}
            study = STUDIES[name](quick=quick, random_state=random_state, **shared.get(name, {}))
            studies.append(study)
            if output is not None:
                folder = Path(output) / "reproduction"
                folder.mkdir(parents=True, exist_ok=True)
                _write_study(study, folder)
                _write_page(folder)
    return studies


def _write_study(study: Study, folder: Path) -> None:
    for name, rows in study.tables.items():
        columns = {column: np.array([row.get(column) for row in rows], object) for column in names_of(rows)}
        write_table(folder / f"{study.name}_{name}.csv", columns)
    _write_pictures(study, folder)
    write_text(folder / f"{study.name}.json", study.to_json())  # last: a study with a JSON file is complete


def _write_pictures(study: Study, folder: Path) -> None:
    for name, draw in PICTURES[study.name].items():
        figure = draw(study)
        for ending, options in ((".png", {"dpi": 110}), (".svg", {"metadata": {"Date": None}})):
            with replaced_file(folder / f"{name}{ending}") as temporary:
                figure.savefig(temporary, **options)


def _write_page(folder: Path) -> None:
    """Write the pages on all studies in the folder, next to it."""
    stored = [path for name in STUDIES if (path := folder / f"{name}.json").exists()]
    studies = [Study.from_json(path.read_text(encoding="utf-8")) for path in stored]
    for study in studies:
        if not all((folder / f"{name}.svg").exists() for name in PICTURES[study.name]):  # as in a fresh checkout
            _write_pictures(study, folder)
    pictures = {
        study.name: {name: (folder / f"{name}.svg").read_text(encoding="utf-8") for name in PICTURES[study.name]}
        for study in studies
    }
    for ending, text in zip((".md", ".html"), pages(studies, pictures), strict=True):
        write_text(folder.with_suffix(ending), text)
