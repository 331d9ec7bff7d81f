"""Chaos on a cluster: workers that are slow or out of memory, chunks with NaN, the scheduler restarted or lost.

The answer is right, or a sentence.  `tests/test_chunked.py` kills a worker.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest

import geolap
from geolap.datasets import make_torus

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.posix]

BANDWIDTHS = [0.4, 0.8]
TORUS = make_torus(600, noise=0.05, random_state=0).data


def answer(X):
    return geolap.distortion(X, BANDWIDTHS, n_sample=50, random_state=0).mean


@pytest.fixture(scope="module")
def expected():
    return answer(TORUS)


@pytest.fixture
def small_cluster():
    """One that lives in this process, and may be lost."""
    settings = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        yield cluster


def chunked(happens=None, where=200):
    """The torus in chunks; what happens when the one that holds that row is read."""

    def read(chunk, block_info=None):
        (first, last), _ = block_info[0]["array-location"]
        return happens(chunk) if happens is not None and first <= where < last else chunk

    return da.from_array(TORUS, chunks=(150, 3)).map_blocks(read, dtype=float, meta=np.empty((0, 0)))


def meanwhile(act, wait):
    """Act on a thread, once there is something to disturb."""

    def run():
        while not wait():
            time.sleep(0.005)
        act()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_slow_workers_and_chunks_change_nothing(cluster, expected):
    def slow(chunk):
        time.sleep(0.02)
        return chunk

    np.testing.assert_allclose(answer(chunked(slow)), expected, rtol=1e-8)


def test_a_chunk_with_nan_is_named(cluster):
    with pytest.raises(ValueError, match="Points must be finite; rows 150 to 299 contain NaN or inf"):
        answer(chunked(lambda chunk: np.where(np.arange(len(chunk))[:, None] == 7, np.nan, chunk)))


def test_a_chunk_that_no_worker_can_hold_is_a_sentence(cluster, expected):
    def out_of_memory(chunk):
        os.kill(os.getpid(), signal.SIGKILL)  # as the system does

    allowed = cluster.run_on_scheduler(lambda dask_scheduler: dask_scheduler.allowed_failures)
    cluster.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    try:
        with pytest.raises(RuntimeError, match=r"A chunk must fit into the memory of a worker; .*: use smaller chunks"):
            answer(chunked(out_of_memory))
    finally:
        cluster.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", allowed))
    cluster.wait_for_workers(2)
    np.testing.assert_allclose(answer(chunked()), expected, rtol=1e-8)


def test_a_restarted_cluster_is_a_sentence_or_changes_nothing(cluster, expected):
    def slow(chunk):
        time.sleep(0.1)
        return chunk

    def busy():
        return cluster.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    thread = meanwhile(cluster.restart, busy)
    try:
        np.testing.assert_allclose(answer(chunked(slow)), expected, rtol=1e-8)
    except RuntimeError as error:
        assert "A cluster must last until the work is done" in str(error)  # noqa: PT017
    thread.join()
    np.testing.assert_allclose(answer(chunked()), expected, rtol=1e-8)


@pytest.mark.filterwarnings("ignore")  # of the cluster, about its end
def test_a_lost_scheduler_is_a_sentence(small_cluster, tmp_path):
    def slow(chunk, begun=tmp_path / "begun"):
        begun.touch()
        time.sleep(0.5)
        return chunk

    thread = meanwhile(small_cluster.close, (tmp_path / "begun").exists)
    with pytest.raises(RuntimeError, match="A cluster must last until the work is done"):
        answer(chunked(slow))
    thread.join()
