"""What is said before the work begins."""

import subprocess
import sys

import numpy as np
import pytest

import geolap
from geolap.choices import ENGINES
from geolap.data.points import Points
from geolap.datasets import make_torus
from geolap.engines.cost import map_cost, selection_cost
from geolap.runtime import memory


def test_size_and_place_decide_the_engine():
    assert geolap.forecast((1000, 3)).engine == "tiled"
    assert geolap.forecast((1_000_000, 13)).engine == "cells"
    assert geolap.forecast((1_000_000, 13), exact=True).engine == "tiled"
    assert geolap.forecast(np.zeros((40, 2)), engine="dense").engine == "dense"


def test_a_large_file_is_forecast_in_chunks_and_not_read(tmp_path, monkeypatch):
    pytest.importorskip("dask.array")

    def read(*_, **__):
        raise AssertionError("the points were read")

    monkeypatch.setattr("geolap.data.points._LARGE_FILE", 10_000)
    for reader in ("_rows_of_file", "_checked_array", "host_array"):
        monkeypatch.setattr(f"geolap.data.points.{reader}", read)
    np.lib.format.open_memmap(tmp_path / "points.npy", "w+", shape=(40_000, 3))
    X = np.load(tmp_path / "points.npy", mmap_mode="r")
    selection, mapping = geolap.forecast(X), geolap.forecast(X, "map")
    assert selection.engine == "chunked"
    assert mapping.engine == "landmarks"
    assert mapping.memory == geolap.forecast(X, "map", n_landmarks=20_000).memory
    assert geolap.forecast(X, engine="tiled").engine == "tiled"
    few, many = (map_cost("chunked", n, 100, n_landmarks=20_000) for n in (10**6, 10**7))
    assert few.memory == many.memory


def test_more_points_cost_more():
    few, many = geolap.forecast((10_000, 10)), geolap.forecast((20_000, 10))
    assert many.memory > few.memory
    assert 2 < many.seconds / few.seconds < 4.1
    near = geolap.forecast((10_000_000, 13)).seconds / geolap.forecast((1_000_000, 13)).seconds
    assert near < 12  # no worse than N log N


def test_chunks_cost_time():
    da = pytest.importorskip("dask.array")

    def seconds(n, rows, **settings):
        return geolap.forecast(da.zeros((n, 13), chunks=(rows, -1)), **settings).seconds

    assert seconds(100_000, 5000) > 1.2 * seconds(100_000, 50_000) > 1.2 * geolap.forecast((100_000, 13)).seconds
    assert seconds(100_000, 100) == seconds(100_000, 4167)  # small ones are worked on together
    assert seconds(30_000, 30_000) == seconds(30_000, 30_000, exact=True)  # all pairs, by default up to here
    assert 90 < seconds(10**7, 10**7, exact=True) / seconds(10**6, 10**6, exact=True) < 101
    assert geolap.forecast(da.zeros((100_000, 13), chunks=(5000, -1)), "map").seconds > seconds(100_000, 5000)


def test_wide_points_cost_as_much_as_their_rank_and_a_rotation():
    wide, square = geolap.forecast((2000, 20_000)).seconds, geolap.forecast((2000, 2000)).seconds
    assert square < wide < 2 * square


def test_a_given_bandwidth_costs_no_time():
    landmarks = {"task": "map", "n_landmarks": 2000}
    assert (
        geolap.forecast((10**6, 10), bandwidth=0.1, **landmarks).seconds < geolap.forecast((10**6, 10), **landmarks).seconds
    )
    X = np.random.default_rng(0).standard_normal((10_000, 3))
    by_points, by_shape = (geolap.forecast(known, bandwidth=0.1, **landmarks) for known in (X, X.shape))
    assert by_points.seconds == by_shape.seconds  # no pilot
    with pytest.raises(ValueError, match=r"A given bandwidth is not chosen; 0\.1 was given: leave it out"):
        geolap.forecast((1000, 3), bandwidth=0.1)
    with pytest.raises(ValueError, match="bandwidth must be"):
        geolap.forecast((1000, 3), "map", bandwidth=-1.0)


def test_the_forecast_is_a_sentence():
    text = str(geolap.forecast((1_000_000, 13), engine="dense"))
    assert "TB of memory, more than the" in text
    assert text.startswith("Choosing a bandwidth over all pairs, held in memory, takes about ")
    for engine in (*ENGINES, "chunked"):
        if engine != "auto":
            assert str(selection_cost(engine, 1000, 3)).startswith("Choosing a bandwidth")
    for graph in ({}, {"n_neighbors": 10}, {"n_landmarks": 100}):
        assert str(geolap.forecast((20_000, 3), "map", **graph)).startswith("A map ")


def test_too_little_memory_is_told_before_anything_is_allocated(monkeypatch):
    X = make_torus(3000, random_state=0).data
    monkeypatch.setattr(memory, "available_memory", lambda: 1e8)
    with pytest.raises(MemoryError, match=r"dense engine over 3000 points with 3 features needs about .*; 100 MB"):
        geolap.GeometricConsistency(engine="dense").fit(X)
    with pytest.raises(MemoryError, match="dask array or a memory-mapped file"):
        geolap.distortion(np.repeat(X, 100, axis=0), [0.5])


def test_a_thread_that_cannot_be_started_is_short_of_memory(monkeypatch):
    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", start)
    with pytest.raises(MemoryError, match="needs threads and memory for them; the system refused one more: free memory"):
        geolap.LaplacianEigenmap().fit(make_torus(600, random_state=0).data)


def test_limits_of_the_process_count():
    resource = pytest.importorskip("resource")
    code = (
        "import resource; from geolap.runtime.memory import available_memory as a; before = a();"
        "resource.setrlimit(resource.RLIMIT_DATA, (2**31, 2**31)); print(a() < 2**31 and a() <= before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
    assert memory.available_memory() > 0
    assert resource.getrlimit(resource.RLIMIT_DATA)


def test_sizes_in_words():
    assert memory.in_words(950) == "950 bytes"
    assert memory.in_words(4.8e13) == "48 TB"
    assert memory.in_words(1.2e9) == "1.2 GB"


def test_maps_are_forecast_and_graphs_that_do_not_fit_are_refused(monkeypatch):
    near = geolap.forecast((1_000_000, 13), "map", n_neighbors=50)
    landmarks = geolap.forecast((1_000_000, 13), "map", n_landmarks=20_000)
    assert 2e9 < near.memory < 12e9
    thinned = geolap.forecast((1_000_000, 13), "map")
    assert 2e9 < thinned.memory < 8e9
    assert thinned.seconds > geolap.forecast((1_000_000, 13)).seconds
    assert geolap.forecast((10_000, 3), "map").memory < thinned.memory
    assert landmarks.memory < near.memory
    assert geolap.forecast((1_000_000, 13), "map", n_neighbors=200).memory > 2 * near.memory
    with pytest.raises(ValueError, match="task"):
        geolap.forecast((1000, 3), "maps")
    X = make_torus(6000, random_state=0).data
    monkeypatch.setattr(memory, "available_memory", lambda: 1.6e8)
    with pytest.raises(MemoryError, match="joins 6000 points with their 500 nearest neighbors needs about"):
        geolap.LaplacianEigenmap(2, 0.3, n_neighbors=500).fit(X)
    with pytest.raises(MemoryError, match="set n_edges or n_landmarks"):
        geolap.LaplacianEigenmap(2, 0.3).fit(X)


def machine(files):
    """What `geolap.runtime.memory` reads of a system that has these files and no others."""
    return lambda file: files.get(str(file), "").splitlines()


MEMINFO = {"/proc/meminfo": "MemTotal: 64000000 kB\nMemAvailable: 32000000 kB"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 32_000_000 * 1024),
        (  # version 2: the outer group has less left than the inner one
            {
                "/proc/self/cgroup": "0::/slurm/job_7",
                "/sys/fs/cgroup/slurm/job_7/memory.max": "max",
                "/sys/fs/cgroup/slurm/memory.max": "4000000000",
                "/sys/fs/cgroup/slurm/memory.current": "3000000000",
                "/sys/fs/cgroup/slurm/memory.stat": "anon 5\ninactive_file 500000000",
            },
            1_500_000_000,
        ),
        (  # version 1
            {
                "/proc/self/cgroup": "9:cpu,cpuacct:/\n4:memory:/docker/abc",
                "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "2000000000",
                "/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": "1200000000",
            },
            800_000_000,
        ),
        (  # a container that sees its own group as the root
            {
                "/proc/self/cgroup": "0::/",
                "/sys/fs/cgroup/memory.max": "1000",
                "/sys/fs/cgroup/memory.current": "400",
            },
            600,
        ),
    ],
)
def test_the_tightest_control_group_counts(monkeypatch, files, expected):
    monkeypatch.setattr(memory, "_lines", machine(MEMINFO | files))
    assert memory.available_memory() == expected


def test_memory_is_known_without_proc_and_without_limits_of_processes(monkeypatch):
    psutil = pytest.importorskip("psutil")
    monkeypatch.setattr(memory, "_lines", machine({}))
    assert 0 < memory.available_memory() < psutil.virtual_memory().total

    class Resource:  # of a system without limits on address space
        RLIMIT_DATA, RLIM_INFINITY = 2, -1
        getrlimit = staticmethod(lambda limit: (10**9 + psutil.Process().memory_info().vms, -1))

    for module in (None, Resource):
        monkeypatch.setattr(memory, "resource", module)
        assert 0 < memory.available_memory() < psutil.virtual_memory().total
    assert memory.available_memory() < 1.1e9


def test_the_median_distance_holds_few_distances_at_a_time(monkeypatch):
    import tracemalloc

    monkeypatch.setattr("geolap.selectors.distances._HELD", 2**18)
    X = np.random.default_rng(0).standard_normal((20_000, 2))
    tracemalloc.start()
    bandwidth = geolap.MedianDistance(n_sample=100, random_state=0).rule_alone(Points(X)).bandwidth
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bandwidth == pytest.approx(2 * np.sqrt(np.log(2)), rel=0.1)  # of two normal points in the plane
    assert peak < 8e6  # all distances alone take 16 MB


def test_all_pairs_for_the_median_are_refused_where_they_do_not_fit(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"median of 9e\+06 distances needs about 180 MB .*: set n_sample"):
        geolap.MedianDistance(n_sample=None).rule_alone(Points(make_torus(3000, random_state=0).data))
