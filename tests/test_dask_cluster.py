"""A real dask cluster: its answers, and chaos.

Workers are killed, slow or out of memory, chunks hold NaN, the scheduler is restarted or lost: the answer is right, or a
sentence.  All tests share one cluster.
"""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import geolap
from geolap.data.points import is_chunked
from geolap.datasets import make_torus

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

BANDWIDTHS = [0.4, 0.8]
TORUS = make_torus(600, noise=0.05, random_state=0).data
LANDMARKS = {"n_landmarks": 300, "random_state": 0}


def answer(X):
    return geolap.distortion(X, BANDWIDTHS, n_sample=50, random_state=0).mean


@pytest.fixture(scope="module")
def expected():
    return answer(TORUS)


@pytest.fixture(scope="module")
def cluster():
    """The client of a cluster of two processes."""
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


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


def slow(chunk):
    time.sleep(0.1)
    return chunk


def busy(cluster):
    return cluster.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


@contextmanager
def meanwhile(act, wait):
    """Act on a thread, once there is something to disturb, or in the end."""
    over = threading.Event()

    def run():
        while not (wait() or over.is_set()):
            time.sleep(0.005)
        act()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("dim", [1, 2])
def test_a_selection_is_that_of_numpy(cluster, dim):
    gc = geolap.GeometricConsistency(working_dim=dim, n_sample=100, random_state=0)
    here, there = (gc.fit(X).selection_ for X in (TORUS, chunked()))
    assert there.bandwidth == pytest.approx(here.bandwidth, rel=1e-8)
    np.testing.assert_allclose(there.scores, here.scores, rtol=1e-8)
    assert there.status is here.status


@pytest.mark.parametrize("kind", [geolap.LaplacianEigenmap, geolap.DiffusionMap])
def test_a_map_is_that_of_numpy(cluster, kind):
    gc = geolap.GeometricConsistency(2, n_sample=40, random_state=0)
    plain, found = (kind(3, gc, **LANDMARKS).fit(X) for X in (TORUS, chunked()))
    assert is_chunked(found.embedding_)
    assert found.embedding_.chunks == ((150,) * 4, (3,))
    np.testing.assert_array_equal(found.landmarks_, plain.landmarks_)
    np.testing.assert_allclose(found.eigenvalues_, plain.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(found.embedding_.compute(), plain.embedding_, atol=1e-9)
    some = da.from_array(TORUS[:50], chunks=(20, 3))
    np.testing.assert_allclose(found.transform(some).compute(), plain.transform(TORUS[:50]), atol=1e-9)


def test_slow_workers_and_chunks_change_nothing(cluster, expected):
    np.testing.assert_allclose(answer(chunked(slow)), expected, rtol=1e-8)


def with_a_death(cluster, step):
    """What a step returns that loses a worker."""
    pid = min(cluster.run(os.getpid).values())
    with meanwhile(lambda: os.kill(pid, signal.SIGKILL), lambda: busy(cluster)):
        found = step()
    cluster.wait_for_workers(2, timeout=60)
    assert pid not in cluster.run(os.getpid).values()
    return found


@pytest.mark.posix
def test_a_killed_worker_changes_nothing(cluster, expected):
    X, model = chunked(slow), geolap.LaplacianEigenmap(3, 0.7, **LANDMARKS)
    coordinates = model.fit(X).embedding_.compute()
    np.testing.assert_allclose(with_a_death(cluster, lambda: answer(X)), expected, rtol=1e-8)
    lazy = with_a_death(cluster, lambda: model.fit(X).embedding_)
    np.testing.assert_array_equal(with_a_death(cluster, lazy.compute), coordinates)


@pytest.mark.posix
@pytest.mark.parametrize(
    ("model", "found"),
    [
        (geolap.LaplacianClassifier(0.7, **LANDMARKS), "transduction_"),
        (geolap.LaplacianClustering(2, **LANDMARKS), "labels_"),
    ],
    ids=["classes", "clusters"],
)
def test_a_killed_worker_changes_no_label(cluster, model, found):
    X, y = chunked(slow), np.where(np.arange(len(TORUS)) % 20 == 0, TORUS[:, 0] > 0, -1)
    labels = getattr(model.fit(X, y), found).compute()
    lazy = with_a_death(cluster, lambda: getattr(model.fit(X, y), found))
    np.testing.assert_array_equal(with_a_death(cluster, lazy.compute), labels)


def test_a_chunk_with_nan_is_named(cluster):
    with pytest.raises(ValueError, match="Points must be finite; rows 150 to 299 contain NaN or inf"):
        answer(chunked(lambda chunk: np.where(np.arange(len(chunk))[:, None] == 7, np.nan, chunk)))


@pytest.mark.posix
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
    cluster.wait_for_workers(2, timeout=60)
    np.testing.assert_allclose(answer(chunked()), expected, rtol=1e-8)


@pytest.mark.posix
def test_a_restarted_cluster_is_a_sentence_or_changes_nothing(cluster, expected):
    with meanwhile(lambda: cluster.restart(wait_for_workers=False), lambda: busy(cluster)):
        try:
            np.testing.assert_allclose(answer(chunked(slow)), expected, rtol=1e-8)
        except RuntimeError as error:
            assert "A cluster must stay alive until the work is done" in str(error)  # noqa: PT017
    cluster.cluster.scale(2)  # the cluster may have closed a nanny while its worker restarted
    cluster.wait_for_workers(1, timeout=60)
    np.testing.assert_allclose(answer(chunked()), expected, rtol=1e-8)


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore")  # of the cluster, about its end
def test_a_lost_scheduler_is_a_sentence(small_cluster, tmp_path):
    def slow(chunk, begun=tmp_path / "begun"):
        begun.touch()
        time.sleep(0.5)
        return chunk

    lost = pytest.raises(RuntimeError, match="A cluster must stay alive until the work is done")
    with meanwhile(small_cluster.close, (tmp_path / "begun").exists), lost:
        answer(chunked(slow))
