"""The examples run, and say what they promise."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
SAYS = {
    "digits.py": "A clear minimum inside the searched range.",
    "few_labels.py": "of the other 1697 digits are right",
    "swiss_roll_metric.py": "corrected by G",
    "choose_parameters.py": "gain over ε alone",
}


@pytest.mark.parametrize("name", SAYS)
def test_example_runs(name, capsys):
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert SAYS[name] in capsys.readouterr().out


def test_every_example_is_run_or_draws():
    assert {path.name for path in FOLDER.glob("*.py")} == {*SAYS, "plot_digits.py"}
