"""Long work: order, interruption, progress."""

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

import geolap
from geolap.data.distances import points_of
from geolap.estimators.riemannian import dual_metric_of_map
from geolap.graphs.entropy import spectral_entropy
from geolap.graphs.spectrum import smooth_spectrum
from geolap.runtime import threads
from geolap.runtime.threads import beside, checkpoint, in_order, one_blas_thread


def test_results_come_in_the_order_of_the_tasks():
    def slow_first(k):
        time.sleep(0.02 if k % 3 == 0 else 0.0)
        return k

    assert list(in_order(slow_first, range(40), n_jobs=4, label="")) == list(range(40))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_work_beside_other_work_has_a_thread_if_there_are_several(n_jobs):
    with beside(lambda k: (k, threading.get_ident()), 5, n_jobs=n_jobs) as result:
        assert result()[0] == 5
        assert (result()[1] == threading.get_ident()) == (n_jobs == 1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_beside_other_work_is_that_of_its_result(n_jobs):
    with beside(lambda: 1 / 0, n_jobs=n_jobs) as result, pytest.raises(ZeroDivisionError):
        result()


def test_work_beside_other_work_ends_with_it():
    begun, ended = threading.Event(), threading.Event()

    def endless():
        begun.set()
        try:
            while True:
                checkpoint()
        finally:
            ended.set()

    with beside(endless, n_jobs=2):
        begun.wait()
    assert ended.wait(10)


def test_an_error_in_a_task_reaches_the_caller():
    def fails(k):
        checkpoint()
        raise RuntimeError(f"task {k}")

    with pytest.raises(RuntimeError, match="task 0"):
        list(in_order(fails, range(5), n_jobs=2, label=""))


def test_an_interrupt_drops_tasks_that_have_not_begun_and_ends_the_others_at_a_checkpoint():
    begun, dropped = [], []
    under_way, interrupted, left = threading.Barrier(3), threading.Event(), threading.Semaphore(0)

    def task(k):
        begun.append(k)
        if k > 0:
            under_way.wait()
            interrupted.wait()
            try:
                checkpoint()
            except CancelledError:
                dropped.append(k)
            left.release()

    results = in_order(task, range(1000), n_jobs=2, label="")
    next(results)
    under_way.wait()
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt)
    interrupted.set()
    assert left.acquire(timeout=60)
    assert left.acquire(timeout=60)
    assert sorted(dropped) == [1, 2]
    assert sorted(begun) == [0, 1, 2]


LONG_WORK = """
import numpy as np, geolap
X = np.random.default_rng(0).standard_normal((60000, 40))
print("started", flush=True)
geolap.select_bandwidth(X)
"""


@pytest.mark.slow
@pytest.mark.posix
def test_ctrl_c_stops_the_work():
    work = f"{LONG_WORK}print('finished')"
    process = subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    time.sleep(1.0)  # into the work
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert stdout == ""
    assert process.returncode == -signal.SIGINT
    assert stderr.rstrip().endswith("KeyboardInterrupt")
    assert "it/s" not in stderr  # no progress bar without a terminal


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "label"), [("exact=True", b"degrees at"), ("exact=False", b"metrics at")])
def test_long_work_shows_its_progress_on_a_terminal(settings, label):
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
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


def blas_threads():
    """How many threads the BLAS libraries have that were there when they were first looked for."""
    return {library["num_threads"] for library in threads._blas().info()}


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_blas_has_one_thread_even_where_somebody_holds_a_limit_of_more(limit):
    with threadpool_limits(limit, user_api="blas"):
        before = blas_threads()
        with one_blas_thread:
            within = [blas_threads()]
            other = threading.Thread(target=lambda: within.append(blas_threads()))
            other.start()
            other.join()
        assert blas_threads() == before
    assert within in ([{1}, {1}], [set(), set()])  # none is seen where BLAS is Accelerate


class Counted(np.ndarray):
    """A matrix whose products tell how many threads BLAS has."""

    def __matmul__(self, other):
        self.seen.append(blas_threads())
        return np.asarray(self) @ other


def test_matrices_of_all_points_are_worked_on_with_one_blas_thread(monkeypatch):
    X, seen = geolap.datasets.make_sphere(60, random_state=0).data, []
    L = np.asarray(geolap.GraphLaplacian(0.5).fit(X).graph_.laplacian()).view(Counted)
    L.seen, eigh = seen, np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda *args: seen.append(blas_threads()) or eigh(*args))
    with threadpool_limits(2, user_api="blas"):
        dual_metric_of_map(X[:, :2], L)
        assert points_of(X, "manhattan").box.shape[0] == 60
        graph = geolap.GraphLaplacian(0.5, calibrate=False).fit(X).graph_
        spectrum = smooth_spectrum(graph, 4, markov=True)
        seen_before = len(seen)
        spectral_entropy(graph, spectrum)
    assert len(seen) > seen_before >= 3
    assert all(found in ({1}, set()) for found in seen)


def in_fork(work):
    """The exit status of a forked process that does the work, or what ended it after ten seconds."""
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # about threads in a process that forks
def test_a_fork_while_another_thread_works_is_not_stuck():
    inside, leave = threading.Event(), threading.Event()

    def work():
        with one_blas_thread, tqdm.get_lock():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    status = in_fork(lambda: list(in_order(abs, [1], label="")))
    leave.set()
    thread.join()
    assert status == 0


FORKS = """
import os, signal, threading, warnings
import numpy as np, geolap
warnings.simplefilter("ignore")
X = np.random.default_rng(0).standard_normal((300, 300))
points = X[:, :3]
fit = lambda: geolap.GeometricConsistency(n_sample=50, n_jobs=2, random_state=0).fit(points)
fit()  # a fork in the middle of an import is Python's own affair
threading.Thread(target=lambda: [fit() for _ in iter(int, 1)], daemon=True).start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        X @ X
        fit()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.posix
def test_fits_after_a_fork_wait_for_no_thread_of_the_parent_that_fits():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", FORKS], check=True, env=environment, timeout=120)


GROWS = """
import numpy as np
import geolap

def held():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSize")))

X = np.random.default_rng(0).standard_normal((800, 3))
for k in range(25):
    geolap.LaplacianEigenmap(2, 0.5, n_neighbors=30).fit(X)
    if k == 4:
        before = held()
print((held() - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
def test_repeated_fits_hold_no_more_memory():
    """Factors of sparse matrices are freed only on the thread that made them."""
    grown = subprocess.run([sys.executable, "-c", GROWS], capture_output=True, text=True, check=True, timeout=120).stdout
    assert float(grown) < 150  # MB; a thread's own arena is 64
