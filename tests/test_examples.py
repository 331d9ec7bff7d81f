"""Examples run, and say what they promise; so do the python blocks of the README and of the pages in docs/.

An example whose name does not begin with ``plot_`` needs minutes, a GPU or a cluster; a block that begins with the comment
``# Not run:`` needs what it names.  Both are compiled only.
"""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SAYS = {
    "plot_digits.py": "A clear minimum inside the searched range.",
    "plot_displays.py": "A clear minimum inside the searched range.",
    "plot_few_labels.py": "of the other 1697 digits are right",
    "plot_swiss_roll.py": "corrected by G",
    "plot_coordinates.py": "are chosen: neighbors on their map have the same values of all candidates.",
    "plot_relaxation.py": "distances between points more than 5 apart: 0.99",
    "plot_named_coordinates.py": "of 10 functions, the coordinates of data with 2 dimensions.",
    "plot_molecules.py": "R² of the torsions from the map: 0.9",
    "plot_sparse_counts.py": "of the others are right from",
    "plot_any_metric.py": "correlation of the first coordinate with the path: 0.9",
    "plot_calibration.py": "times as far as diffusion on the data, in 2 directions",
    "plot_clusters.py": "Clusters stand out",
    "plot_parts.py": "each is mapped by itself, around the largest",
    "plot_torus_metric.py": "found over exact",
    "plot_choose_parameters.py": "gain over ε alone",
    "plot_single_cells.py": "A clear minimum inside the searched range.",
}
PAGES = sorted(path.relative_to(ROOT) for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize("name", SAYS)
def test_example_runs(name, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert SAYS[name] in capsys.readouterr().out


def test_every_example_is_run_or_named_as_not_run():
    for path in EXAMPLES.glob("*.py"):
        compile(path.read_text(), path.name, "exec")
    assert {path.name for path in EXAMPLES.glob("plot_*.py")} == {*SAYS}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_code_on_a_page_runs(page, tmp_path, monkeypatch):
    """The blocks of a page, one after the other."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE):
        code = compile(block, str(page), "exec")
        if not block.startswith("# Not run:"):
            exec(code, names)
