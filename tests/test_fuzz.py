"""A little of the hunt (`make fuzz` does more of it), and every failure that it found."""

import json
from pathlib import Path

import numpy as np
import pytest

import geolap
from fuzz import calls, faults, files
from fuzz.__main__ import merged
from fuzz.failures import FoundError

CORPUS = (Path(__file__).parent / "fuzz" / "corpus.jsonl").read_text().splitlines()
# Alarms and full disks are those of POSIX.
pytestmark = pytest.mark.posix


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return files.whole_files(tmp_path_factory.mktemp("whole"))


def test_every_public_name_is_called_or_is_an_answer():
    assert {*calls.CALLS, *calls.ANSWERS} == {*geolap.__all__}
    assert not {*calls.CALLS} & {*calls.ANSWERS}


@pytest.mark.parametrize("line", [pytest.param(c, marks=[pytest.mark.slow] if "torch" in c else []) for c in CORPUS])
def test_what_was_mended_stays_mended(line, whole, tmp_path):
    case = json.loads(line)
    if "torch" in line:
        pytest.importorskip("torch")
    if "file" in case:
        files.check_file(case, whole, tmp_path)
    else:
        assert calls.failure_of(case) is None


@pytest.mark.slow
def test_some_calls():
    rng = np.random.default_rng(2026)
    for _ in range(60):
        case = calls.random_case(rng)
        found = calls.failure_of(case)
        assert found is None, json.dumps(case)


@pytest.mark.slow
def test_some_damaged_files(whole, tmp_path):
    rng = np.random.default_rng(2026)
    in_place = {name: content for name, content in whole.items() if not name.endswith((".mat", ".h5"))}
    for _ in range(60):
        files.check_file(files.random_damage(rng, in_place), whole, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # about threads in a process that forks
def test_some_faults(tmp_path):
    rng = np.random.default_rng(2026)
    for _ in range(10):
        faults.check_write(rng, tmp_path)
        faults.check_task(rng)


@pytest.mark.slow
def test_some_interrupts():
    rng = np.random.default_rng(2026)
    with faults.Interrupted() as work:
        for name in ("neighbors", "classifier", "knn"):
            work.check(rng, 10.0, name)  # fails where it hangs; other tests run beside it: `make fuzz` asks for one second


def test_failures_are_seen_and_made_smaller(monkeypatch):
    def wrong(X, **parameters):
        np.asarray(X)[0] = 1.0  # an input that is changed

    monkeypatch.setattr(geolap, "graph_health", wrong)
    monkeypatch.setattr(calls, "parameters_of", lambda name: ["bandwidth", "cutoff"])
    monkeypatch.setattr(calls, "required", lambda name, parameter: parameter == "bandwidth")
    data = {"shape": "ring", "kind": "fortran", "n": 30, "r": 3, "seed": 4}
    case = {"call": "graph_health", "data": data, "parameters": {"bandwidth": 0.5, "cutoff": 2.0}}
    least = calls.shrunk(case)
    assert least["parameters"] == {"bandwidth": 0.5}
    assert least["data"] == {"shape": "normal", "kind": "float64", "n": 3, "r": 1, "seed": 0}
    assert "not what they were" in calls.failure_of(least).seen


def test_a_crash_is_seen(monkeypatch):
    monkeypatch.setattr(faults, "CHILD", "import os; os.abort()")
    with faults.Interrupted() as work, pytest.raises(FoundError, match="exit code -6"):
        work.check(np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["SIGINT", "SIGHUP", "SIGTERM"])
def test_a_command_that_is_asked_to_end_leaves_nothing(sign, tmp_path, monkeypatch):
    import signal

    which = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP].index(getattr(signal, sign))

    class Chosen:
        def integers(self, n):
            return which if n == 3 else 0

        def exponential(self, mean):
            return mean / 2

    assert faults.check_command(Chosen(), tmp_path) < 10.0
    assert {path.name for path in tmp_path.iterdir()} == {"x.npy"}


def test_the_table_keeps_parts_that_were_not_done_again(tmp_path):
    old = {"calls": "| calls | 5 | 1 | 0 |", "files": "| files | 7 | 0 | 0 |"}
    (tmp_path / "hunt.md").write_text(merged(old, tmp_path / "none"))
    table = merged({"calls": "| calls, all well | 9 | 0 | 3 |"}, tmp_path / "hunt.md")
    assert table.splitlines()[2:] == ["| calls, all well | 9 | 0 | 3 |", "| files | 7 | 0 | 0 |"]
