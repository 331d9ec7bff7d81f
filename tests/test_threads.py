"""Long work: order, interruption, progress."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from geolap.threads import checkpoint, in_order


def test_results_come_in_the_order_of_the_tasks():
    def slow_first(k):
        time.sleep(0.02 if k % 3 == 0 else 0.0)
        return k

    assert list(in_order(slow_first, range(40), n_jobs=4, label="")) == list(range(40))


def test_an_error_in_a_task_reaches_the_caller():
    def fails(k):
        checkpoint()
        raise RuntimeError(f"task {k}")

    with pytest.raises(RuntimeError, match="task 0"):
        list(in_order(fails, range(5), n_jobs=2, label=""))


LONG_WORK = """
import numpy as np, geolap
X = np.random.default_rng(0).standard_normal((60000, 40))
print("started", flush=True)
geolap.select_bandwidth(X)
"""


def test_ctrl_c_stops_at_once():
    process = subprocess.Popen([sys.executable, "-c", LONG_WORK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    time.sleep(3.0)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    stderr = process.communicate(timeout=30)[1]
    assert time.monotonic() - start < 3.0
    assert process.returncode == -signal.SIGINT
    assert stderr.rstrip().endswith("KeyboardInterrupt")
    assert "it/s" not in stderr  # no progress bar without a terminal


@pytest.mark.parametrize(("settings", "label"), [("exact=True", b"degrees at"), ("exact=False", b"metrics at")])
def test_long_work_shows_its_progress_on_a_terminal(settings, label):
    code = LONG_WORK.replace("select_bandwidth(X)", f"GeometricConsistency({settings}).fit(X)")
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))  # a terminal of 30 lines, 100 columns
    with subprocess.Popen([sys.executable, "-c", code], stdout=slave, stderr=slave) as process:
        os.close(slave)
        shown = b""
        while label not in shown:
            shown += os.read(master, 4096)  # fails when the work ends without having shown anything
        process.kill()
    os.close(master)
