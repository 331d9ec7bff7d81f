"""Odd input ends in a sentence or in the right answer: parameters of the wrong kind, extreme scales, equal eigenvalues."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import geolap
from geolap.datasets import make_sphere

SPHERE = make_sphere(200, random_state=0).data
HUGE = 10**400


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: geolap.GraphLaplacian(n_neighbors="x").fit(SPHERE),
            "n_neighbors must be a whole number .*; 'x' was given",
        ),
        (lambda: geolap.GraphLaplacian(cutoff=HUGE).fit(SPHERE), "cutoff must be a number above 0; 1000"),
        (lambda: geolap.GeometricConsistency(n_sample=HUGE).fit(SPHERE), "n_sample must be a whole number of at least 2"),
        (lambda: geolap.GraphLaplacian(HUGE).fit(SPHERE), "bandwidths must be numbers; 1000"),
        (lambda: geolap.neighbor_scale(SPHERE, 2.5), "n_neighbors must be a whole number of at least 1; 2.5 was given"),
        (lambda: geolap.select_bandwidth(SPHERE, "cv", y=np.array(["a", 1] * 100, object)), "all words or all numbers"),
        (lambda: geolap.SingerRate(pilot=0.1).fit(SPHERE), "pilot must be a selector, .*; 0.1 was given"),
        (lambda: geolap.compare_bandwidths(SPHERE, 5), "methods must be a list of names, .*; 5 was given"),
        (lambda: geolap.compare_bandwidths(SPHERE, "gc"), "methods must be a list of names, .*; 'gc' was given"),
        (lambda: geolap.forecast(np.zeros(3)), r"the pair \(n_points, n_features\); shape \(3,\) was given"),
        (lambda: geolap.forecast([1, 2, 3]), r"the pair \(n_points, n_features\); shape \(3,\) was given"),
        (lambda: geolap.convert_bandwidth("x"), "A bandwidth must be a number; 'x' was given"),
    ],
)
def test_parameters_of_the_wrong_kind_are_named(call, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()


def test_a_forecast_takes_points_as_lists():
    assert geolap.forecast([[1.0, 2.0, 3.0]] * 4).engine == geolap.forecast((4, 3)).engine


def test_a_column_of_times_is_no_number():
    frame = pd.DataFrame({"a": SPHERE[:, 0], "when": pd.date_range("2020", periods=200)})
    with pytest.raises(TypeError, match="column 'when' holds times"):
        geolap.select_bandwidth(frame)


def test_landmarks_at_one_place_are_refused():
    X = np.vstack([np.zeros((28, 2)), [[1.0, 0.0], [0.0, 1.0]]])
    with pytest.raises(ValueError, match="At least three landmarks must be at distinct positions; the 5 drawn have"):
        geolap.LaplacianEigenmap(n_landmarks=5, bandwidth=1.0, random_state=0).fit(X)


@pytest.mark.slow
def test_half_precision_tensors_are_points():
    torch = pytest.importorskip("torch")
    expected = geolap.select_bandwidth(torch.tensor(SPHERE).bfloat16().float(), random_state=0).bandwidth
    assert geolap.select_bandwidth(torch.tensor(SPHERE).bfloat16(), random_state=0).bandwidth == pytest.approx(expected)


@pytest.mark.parametrize("scale", [1e-100, 1e80])
def test_the_metric_of_tiny_and_huge_maps_is_finite(scale):
    L = geolap.GraphLaplacian(0.4).fit(SPHERE).laplacian_
    plain, scaled = (geolap.riemannian_metric(c * SPHERE, L, intrinsic_dim=2) for c in (1.0, scale))
    np.testing.assert_allclose(scaled.volume * scale**2, plain.volume, rtol=1e-6)
    with pytest.raises(ValueError, match="rescale the map"):
        geolap.riemannian_metric(1e160 * SPHERE, L)


@pytest.mark.slow
@pytest.mark.parametrize("value", [1e20, 3e38])
def test_a_sentinel_does_not_widen_the_search(value):
    X = SPHERE.copy()
    X[7] = value
    plain, found = (geolap.select_bandwidth(points, random_state=0) for points in (SPHERE, X))
    assert len(found.bandwidths) < 2 * len(plain.bandwidths)
    assert found.bandwidth == pytest.approx(plain.bandwidth, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_two_densities_have_one_verdict_whatever_the_seed(seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([0.05 * rng.standard_normal((300, 2)), rng.standard_normal((300, 2)) + np.array([4.0, 0.0])])
    assert geolap.select_bandwidth(X, random_state=0).verdict is geolap.Verdict.NEAREST_NEIGHBORS


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e80, 1e150])
def test_reconstruction_answers_the_same_at_any_scale(scale):
    plain, scaled = (geolap.select_bandwidth(c * SPHERE, "rec") for c in (1.0, scale))
    assert scaled.status is plain.status
    assert scaled.bandwidth == pytest.approx(scale * plain.bandwidth, rel=1e-9)


@pytest.mark.slow
def test_equal_eigenvalues_have_the_same_vectors_for_any_number_of_threads():
    angle = 2 * np.pi * np.arange(600) / 600
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    maps = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            maps.append(geolap.LaplacianEigenmap(bandwidth=0.1).fit_transform(ring))
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-9 * np.abs(maps[0]).max())


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("ending", [".mtx", ".npz", ".csv"])
def test_a_file_that_cannot_be_written_whole_leaves_the_old_one(ending, tmp_path):
    import resource

    np.save(tmp_path / "points.npy", SPHERE)
    output = tmp_path / f"out{ending}"
    output.write_text("as it was")
    command = "embed" if ending == ".csv" else "laplacian"
    process = subprocess.run(
        [sys.executable, "-m", "geolap", command, tmp_path / "points.npy", "-b", "0.5", "-o", output],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
        capture_output=True,
        text=True,
    )
    assert process.returncode == 2
    assert "must be written completely" in process.stderr
    assert output.read_text() == "as it was"
    assert {path.name for path in tmp_path.iterdir()} == {"points.npy", output.name}


@pytest.mark.slow
@pytest.mark.posix
def test_a_full_standard_output_is_a_sentence(tmp_path):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    np.save(tmp_path / "points.npy", SPHERE)
    for options in ([], ["--json"]):
        with full.open("w") as out:
            command = [sys.executable, "-m", "geolap", "select", tmp_path / "points.npy", *options]
            process = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True)
        assert process.returncode == 2
        assert process.stderr.strip() == "Error: The system refused: no space left on device."
