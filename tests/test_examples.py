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


WRITES = ("plot_digits.py", "plot_displays.py", "write_report.py")


@pytest.mark.parametrize("name", WRITES)
def test_example_writes_its_file(name, monkeypatch, tmp_path):
    path = tmp_path / "result"
    monkeypatch.setattr("sys.argv", [name, f"{path}.html" if name.startswith("write") else f"{path}.png"])
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert next(tmp_path.iterdir()).stat().st_size > 10_000


def test_every_example_is_run():
    assert {path.name for path in FOLDER.glob("*.py")} == {*SAYS, *WRITES}
