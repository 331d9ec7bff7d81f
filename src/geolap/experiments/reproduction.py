"""Run studies and write what they found: JSON, CSV, PNG and SVG files, and one page over all studies at hand."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from ..files import replaced_file, write_table, write_text
from ..validation import check_choice
from .drawings import draw, picture_names
from .figure1 import figure1
from .figure2 import figure2
from .figure3 import figure3
from .labels import run_sets
from .page import html_page, markdown_page
from .study import Study
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
}


def reproduce(what="all", *, quick=False, output=None, random_state=0) -> list[Study]:
    """Recompute figures and tables of the paper, and what goes beyond it.

    Parameters
    ----------
    what : {"figure1", "figure2", "figure3", "table1", "table2", "truth", "all"}, default "all"
    quick : bool, default False
        Fewer and smaller samples: minutes instead of an hour.
    output : path, optional
        A folder to write to: ``reproduction.md`` and ``reproduction.html``, over all studies that were ever written there,
        and ``reproduction/`` with JSON, CSV, PNG and SVG files.  By default nothing is written.
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
    folder = None if output is None else Path(output)
    if folder is not None:
        (folder / "reproduction").mkdir(parents=True, exist_ok=True)
    runs, studies = None, []
    for name in tqdm(names, desc="studies", disable=None if len(names) > 1 else True, leave=False):
        shared = {}
        if name in ("table1", "table2") and what == "all":  # two views of the same runs
            runs = runs or run_sets(quick=quick, random_state=random_state)
            shared = {"runs": runs}
        study = STUDIES[name](quick=quick, random_state=random_state, **shared)
        studies.append(study)
        if folder is not None:
            _write_study(study, folder / "reproduction")
            _write_page(folder)
    return studies


def _write_study(study, folder):
    for name, rows in study.tables.items():
        write_table(folder / f"{study.name}_{name}.csv", _columns(rows))
    for name, figure in draw(study).items():
        for ending, options in ((".png", {"dpi": 110}), (".svg", {"metadata": {"Date": None}})):
            with replaced_file(folder / f"{name}{ending}") as temporary:
                figure.savefig(temporary, **options)
    write_text(folder / f"{study.name}.json", study.to_json())  # last: what has a JSON file is complete


def _columns(rows):
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name) for row in rows], object) for name in names}


def _write_page(folder):
    stored = {name: folder / "reproduction" / f"{name}.json" for name in STUDIES}
    studies = [Study.from_json(path.read_text(encoding="utf-8")) for path in stored.values() if path.exists()]
    names = {study.name: picture_names(study.name) for study in studies}
    addresses = {name: [f"reproduction/{picture}.png" for picture in own] for name, own in names.items()}
    svgs = {
        name: [(folder / "reproduction" / f"{picture}.svg").read_text(encoding="utf-8") for picture in own]
        for name, own in names.items()
    }
    write_text(folder / "reproduction.md", markdown_page(studies, addresses))
    write_text(folder / "reproduction.html", html_page(studies, svgs))
