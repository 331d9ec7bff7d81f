"""Progress: one bar on a terminal, an interrupt on a line of its own, and records of logging for one fit."""

import logging
import os
import struct
import subprocess
import sys
import threading
import time
from io import StringIO

import numpy as np
import pytest

import geolap
from geolap.datasets import make_sphere
from geolap.runtime import progress
from geolap.runtime.progress import aloud, at_bandwidths, begin, between_bars, parts, say, silently, steps

X = make_sphere(60, random_state=0).data


class Terminal(StringIO):
    def isatty(self):
        return True


def test_what_is_left_shrinks_where_the_longest_steps_come_first(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    told = []
    with steps(5, None) as bar:
        for seconds in (60.0, 40.0, 20.0, 10.0, 5.0):
            now[0] += seconds
            bar._done += 1
            told.append(bar._left())
    assert told == ["04:00 left", "02:30 left", "01:20 left", "00:32 left", ""]


def test_steps_inside_a_part_are_told_beside_its_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with parts(2, "work"):
        progress._bar.get().line.mininterval = 0.0
        for part in ("one", "two"):
            begin(part)
            with steps(3, "steps") as bar, parts(1, "inner"):
                bar.update()
                begin("within")
    shown = sys.stderr.getvalue()
    assert "\n" not in shown  # no second line was opened
    for words in ("one:   0%|", "two:  50%|", "| 1/2 [", "steps 1/3]", "within 0/1]"):
        assert words in shown


def until(happens):
    """Wait, in vain after some seconds."""
    for _ in range(1000):
        if happens():
            return
        time.sleep(0.01)


def shown_until(terminal, words):
    """What is shown on a terminal while the main thread does nothing but wait for these words."""
    until(lambda: words in terminal.getvalue())
    return terminal.getvalue()


def test_the_clock_of_a_bar_goes_on_while_nothing_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "_TICK", 0.01)
    with parts(1, "work"):
        line = progress._bar.get().line
        for seconds in (60, 120):
            line.start_t -= 60.0
            assert f"[0{seconds // 60}:0" in shown_until(sys.stderr, f"0/1 [0{seconds // 60}:0")


def test_a_bar_that_only_its_clock_has_shown_is_wiped_away_and_stays_so(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "_TICK", 0.01)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), parts(1, "work", delay=0.02):  # noqa: PT012
        shown_until(sys.stderr, "0/1 [")
        raise KeyboardInterrupt
    shown = sys.stderr.getvalue()
    assert shown.endswith(" \r")
    until(lambda: threading.active_count() == before)
    assert sys.stderr.getvalue() == shown


def test_a_bar_whose_clock_cannot_start_goes_on_without(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with parts(1, "work"):
        begin("one")
    assert "0/1 [" in sys.stderr.getvalue()


def test_the_clock_waits_while_lines_are_printed(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "_TICK", 0.001)
    with parts(1, "work"):
        shown_until(sys.stderr, "0/1 [")
        with between_bars():
            before = sys.stderr.getvalue()
            time.sleep(0.05)
            assert sys.stderr.getvalue() == before


def test_steps_that_are_done_are_told_no_longer(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with parts(1, "work"), parts(2, "inner"):
        outermost = progress._bar.get()._outer.line
        begin("one")
        with steps(2, "steps") as bar:
            bar.update(2)
            assert outermost.postfix == "one 0/2, steps 2/2"
        assert outermost.postfix == "one 0/2"


def test_the_time_left_of_steps_stands_beside_them(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    now = [0.0]
    with parts(1, "work"):
        monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
        with steps(3, "steps") as bar:
            now[0] = 10.0
            bar.update()
            assert progress._bar.get().line.postfix == "steps 1/3 (00:20 left)"


def test_one_bandwidth_is_singular():
    assert [at_bandwidths("metrics", n) for n in (1, 2)] == ["metrics at 1 bandwidth", "metrics at 2 bandwidths"]


def test_parts_of_a_part_move_its_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with parts(2, "command"):
        progress._bar.get().line.mininterval = 0.0
        begin("first")
        begin("second")
        with parts(4, "rules"):
            for rule in "abc":
                begin(rule)
    shown = sys.stderr.getvalue()
    for words in ("second:  50%|", "second:  62%|", "second:  75%|", "| 1.5/2 ["):
        assert words in shown


@pytest.mark.slow
def test_a_command_shows_its_bar_before_anything_slow_is_loaded():
    code = """
import io, sys
sys.stderr = io.StringIO()
sys.stderr.isatty = lambda: True
from geolap.cli.commands import app
from geolap.cli.running import Run
run = Run("select")
with run.work(), run.progress():
    loaded = [name for name in ("numpy", "pyarrow", "sklearn") if name in sys.modules]
print(loaded, "select:   0%" in sys.stderr.getvalue())
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[] True"


def test_bars_can_be_silenced(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with silently(), parts(1, "work"):
        begin("one")
    assert sys.stderr.getvalue() == ""


def test_nothing_is_shown_where_there_is_no_terminal(capsys):
    with parts(1, "work"):
        begin("one")
        with steps(2, "steps") as bar:
            bar.update(2)
    begin("nothing")  # outside of any work
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "estimator",
    [
        geolap.GeometricConsistency(random_state=0, verbose=True),
        geolap.LaplacianEigenmap(random_state=0, n_neighbors=None, verbose=1),
        geolap.GraphLaplacian(geolap.GeometricConsistency(random_state=0, verbose=True)),
        geolap.ConsistencySearch({"renormalization": [0.5]}, random_state=0, verbose=True),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_verbose_shows_the_records_of_one_fit_and_leaves_no_trace(estimator, capsys):
    log = logging.getLogger("geolap")
    before = log.level, [*log.handlers], log.propagate
    estimator.fit(X)
    told = capsys.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert any("distortion" in line or "gc: bandwidth" in line for line in lines)
    assert all(line[2] == line[5] == ":" for line in lines)  # the time comes first
    geolap.GeometricConsistency(random_state=0).fit(X)
    assert capsys.readouterr().err == ""
    assert (log.level, [*log.handlers], log.propagate) == before


def test_records_are_those_of_the_standard_module(caplog, capsys):
    with caplog.at_level(logging.INFO, "geolap"):
        geolap.LaplacianEigenmap(bandwidth="knn").fit(X)
    assert [record.name for record in caplog.records] == [
        "geolap.selectors.base",
        "geolap.estimators.base",
        "geolap.graphs.spectrum",
    ]
    assert capsys.readouterr().err == ""


def test_an_error_ends_what_is_said_aloud(capsys):
    with pytest.raises(ValueError, match="bandwidth"):
        geolap.GraphLaplacian(-1.0, verbose=True).fit(X)
    say(logging.getLogger("geolap"), "nobody hears it")
    with aloud():
        say(logging.getLogger("geolap"), "%d of %s", 2, "3")
    assert capsys.readouterr().err.endswith("2 of 3\n")


@pytest.mark.slow
@pytest.mark.posix
def test_a_comparison_shows_its_rule_on_a_terminal_and_an_interrupt_has_its_own_line(tmp_path):
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(4000, 30)))
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    own = {
        "start_new_session": True,
        "preexec_fn": lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        "env": {key: value for key, value in os.environ.items() if key != "TQDM_DISABLE"},
    }
    command = [sys.executable, "-m", "geolap", "compare", "x.npy", "-m", "rec", "-m", "semigroup"]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=tmp_path, **own) as process:
        os.close(slave)
        shown = b""
        while b"rule rec" not in shown or b" 50%" not in shown:
            shown += os.read(master, 4096)
        os.write(master, b"\x03")  # Ctrl-C
        while b"Interrupted." not in shown:
            shown += os.read(master, 4096)
        assert process.wait(timeout=30) == 130
    os.close(master)
    before, _, after = shown.partition(b"Interrupted.")
    assert before.endswith(b"\r\n")  # after ^C and the bar
    assert after.strip() == b""
    assert b"\x1b[A" not in shown  # one bar: the cursor never goes up
