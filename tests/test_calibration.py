"""Calibration: the walk's displacements by the plain formula, the factor on manifolds of known spectrum, and every graph."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

import geolap
from geolap.calibration import heat_eigenvalues
from geolap.data.points import Points
from geolap.datasets import make_flat_torus, make_hourglass, make_sphere
from geolap.experiments.surfaces import SURFACES, revolution_spectrum
from geolap.graphs import calibrate
from geolap.graphs.calibrate import calibrated
from geolap.graphs.graph import kernel_graph
from geolap.graphs.neighbors import all_pairs, nearest_pairs

SPHERE = np.repeat([2.0, 6.0], [3, 5])
TORUS = np.repeat([1.0, 2.0], [4, 4])


def errors(eigenvalues, exact):
    return float(np.sqrt(np.mean((eigenvalues / exact - 1.0) ** 2)))


def test_rates_are_the_displacements_of_the_plain_formula():
    X = make_sphere(300, random_state=0).data
    graph = calibrated(kernel_graph(all_pairs(X), 0.4, self_weights=False), Points(X))
    P = graph.transition()
    rates, powers = graph.calibration.rates, [np.eye(300)]
    for _ in rates:
        powers.append(powers[-1] @ P)
    chords = cdist(X, X, "sqeuclidean")
    rows = np.diff([(power * chords).sum(axis=1) for power in powers], axis=0) / 0.4**2  # 2/(dε²), d = 2
    assert np.abs(rows.mean(axis=1) - rates).max() < 1e-10


def test_rates_of_some_points_are_the_displacements_of_the_plain_formula():
    X = make_sphere(300, random_state=0).data
    m = np.full(300, 2.0)  # points with weights are followed one by one
    graph = calibrated(kernel_graph(all_pairs(X), 0.4, self_weights=False, multiplicity=m), Points(X).weighted(m))
    P = graph.transition()
    starts = np.random.default_rng(0).choice(300, 256, p=m / m.sum())
    rates, powers = graph.calibration.rates, [np.eye(300)]
    for _ in rates:
        powers.append(powers[-1] @ P)
    chords = cdist(X, X, "sqeuclidean")[starts]
    rows = np.diff([(power[starts] * chords).sum(axis=1) for power in powers], axis=0) / 0.4**2
    means = [rows[:, :n].mean(axis=1) for n in (64, 128, 192, 256)]  # as many batches as the error asked for
    assert min(np.abs(mean - rates).max() for mean in means) < 1e-10


def test_a_glance_shows_the_rows_of_powers_of_the_transition_matrix():
    X = make_sphere(300, random_state=0).data
    graph, starts = kernel_graph(all_pairs(X), 0.4, self_weights=False), np.arange(64)
    P = graph.transition()
    with calibrate._walk_on(graph, Points(X), None, None) as walk:
        assert walk.glances
        for rows, rtol, share in ((walk.glance(starts, 4), 1e-5, 1e-7), (walk.rows(starts, 4), 1e-11, 0.0)):
            for t, R in enumerate(rows, start=1):  # at a glance, what is less than rounding beside others is not there
                expected = np.linalg.matrix_power(P, t)[starts]
                np.testing.assert_allclose(R, expected, rtol=rtol, atol=1e-25 + share * expected.max())


def test_noise_is_measured_in_double_precision():
    X = make_sphere(500, noise=0.1, noise_dims=10, random_state=0).data
    graph, rates = kernel_graph(all_pairs(X), 0.4, self_weights=False), []
    for glances in (True, False):
        with calibrate._walk_on(graph, Points(X), None, None) as walk:
            walk.glances = glances
            rates.append(calibrate._measured(walk, np.arange(500), None, 11).rates)
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-10)


def test_logarithm_undoes_the_heat_operator_and_stays_monotone():
    exact = np.array([0.0, 1.0, 5.0])
    assert np.allclose(heat_eigenvalues((1.0 - np.exp(-0.1 * exact)) / 0.1, 0.1), exact)
    assert (np.diff(heat_eigenvalues(np.linspace(0, 30, 200), 0.1)) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(("make", "exact"), [(make_sphere, SPHERE), (make_flat_torus, TORUS)])
@pytest.mark.parametrize(("n_neighbors", "most"), [(None, 0.03), (30, 0.06), (100, 0.025)])
def test_eigenvalues_at_three_thousand_points(make, exact, n_neighbors, most):
    X = make(3000, random_state=1).data
    fit = geolap.LaplacianEigenmap(8, n_neighbors=n_neighbors, random_state=0).fit(X)
    assert errors(fit.eigenvalues_, exact) < most
    assert fit.calibration_.dimension == 2


@pytest.mark.slow
@pytest.mark.parametrize("local_scale", [None, 7])
@pytest.mark.parametrize("n_neighbors", [None, 15, 30])
def test_factor_makes_eigenvalues_right_on_every_graph(n_neighbors, local_scale):
    X = make_sphere(1000, 0.02, 5, random_state=2).data
    settings = {"n_neighbors": n_neighbors, "local_scale": local_scale, "random_state": 0}
    fit = geolap.LaplacianEigenmap(8, **settings).fit(X)
    raw = geolap.LaplacianEigenmap(8, **settings, calibrate=False, self_weights=True).fit(X)
    assert errors(fit.eigenvalues_, SPHERE) < 0.09 < errors(raw.eigenvalues_, SPHERE) + 0.03
    assert raw.calibration_ is None
    assert fit.calibration_.dimension == 2
    assert 0 < fit.calibration_.standard_error < 0.05


@pytest.mark.slow
def test_landmarks_and_precomputed_distances_are_calibrated():
    X = make_sphere(1500, random_state=3).data
    landmarks = geolap.LaplacianEigenmap(8, n_landmarks=500, random_state=0).fit(X)
    assert errors(landmarks.eigenvalues_, SPHERE) < 0.1
    some = X[:600]
    by_points = geolap.LaplacianEigenmap(8, 0.4).fit(some)
    by_distances = geolap.LaplacianEigenmap(8, 0.4, metric="precomputed").fit(cdist(some, some))
    assert by_distances.calibration_.factor == pytest.approx(by_points.calibration_.factor, rel=1e-6)
    assert np.allclose(by_distances.eigenvalues_, by_points.eigenvalues_, rtol=1e-6)


def test_sparse_distances_have_no_calibration():
    X = make_sphere(200, random_state=0).data
    distances = nearest_pairs(X, 10).sqdist.sqrt()
    fit = geolap.LaplacianEigenmap(2, 0.4, metric="precomputed").fit(distances)
    assert not fit.calibration_.told
    assert fit.calibration_.factor == 1.0


def test_matrix_and_time_step_carry_the_factor():
    X = make_sphere(500, random_state=0).data
    fitted, raw = (geolap.GraphLaplacian(0.4, calibrate=c).fit(X) for c in (True, False))
    c = fitted.calibration_.factor
    assert np.allclose(fitted.laplacian_ * c, raw.laplacian_)
    diffusion = geolap.DiffusionMap(3, 0.4).fit(X)
    assert diffusion.time_step_ == pytest.approx(c * 0.04)
    eigenmap = geolap.LaplacianEigenmap(3, 0.4).fit(X)
    assert np.allclose(-np.log(diffusion.eigenvalues_) / diffusion.time_step_, eigenmap.eigenvalues_)


@pytest.mark.slow
@pytest.mark.parametrize("n_neighbors", [None, 15])
def test_lengths_are_those_of_the_data(n_neighbors):
    sphere = make_sphere(2000, random_state=0)
    fit = geolap.GraphLaplacian(n_neighbors=n_neighbors, random_state=0).fit(sphere.data)
    metric = geolap.riemannian_metric(sphere.data, fit, intrinsic_dim=2)
    assert np.median(metric.volume) == pytest.approx(1.0, abs=0.03 if n_neighbors is None else 0.08)


def test_data_without_a_dimension_are_not_calibrated():
    X = np.random.default_rng(0).normal(size=(300, 60))
    fit = geolap.LaplacianEigenmap(2, 8.0).fit(X)
    assert not fit.calibration_.told
    assert np.isnan(fit.calibration_.standard_error)
    assert "The points do not agree on a number of directions" in fit.calibration_.explain()
    assert np.allclose(fit.eigenvalues_, geolap.LaplacianEigenmap(2, 8.0, calibrate=False).fit(X).eigenvalues_)


@pytest.mark.slow
def test_neighbors_within_the_noise_are_noticed():
    X = make_hourglass(20_000, 0.03, 10, random_state=0).data
    fit = geolap.GraphLaplacian(n_neighbors=10, random_state=0).fit(X)
    assert fit.calibration_.noisy or not fit.calibration_.told
    assert "noise" in fit.calibration_.explain() or not fit.calibration_.told


def test_a_factor_within_its_error_is_not_used():
    few = np.random.default_rng(0).standard_normal((3, 2))
    far = np.vstack([np.random.default_rng(0).standard_normal((200, 3)), np.full((1, 3), 1e6)])
    for X, params in ((few, {"bandwidth": 1.0}), (far, {"bandwidth": 1e7, "n_neighbors": 20})):
        calibration = geolap.LaplacianEigenmap(1, random_state=0, **params).fit(X).calibration_
        assert (calibration.factor, calibration.told) == (1.0, False)
        assert calibration.standard_error > 0
        assert "varies too much between points" in str(calibration.explain())


def test_a_step_across_the_data_tells_no_length():
    X = load_iris().data
    fit, raw = (geolap.LaplacianEigenmap(2, 50.0, n_neighbors=None, calibrate=c).fit(X) for c in (True, False))
    calibration = fit.calibration_
    assert (calibration.factor, calibration.step, calibration.told) == (1.0, 1.0, False)
    assert calibration.reach > 0.9
    assert "cannot tell a length" in str(calibration.explain())
    assert np.array_equal(fit.eigenvalues_, raw.eigenvalues_)
    assert geolap.LaplacianEigenmap(2, 0.5).fit(X).calibration_.reach is None


@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_factor_does_not_depend_on_the_unit(scale):
    X = make_sphere(300, random_state=0).data
    one = geolap.LaplacianEigenmap(3, 0.4).fit(X)
    other = geolap.LaplacianEigenmap(3, 0.4 * scale).fit(scale * X)
    assert other.calibration_.factor == pytest.approx(one.calibration_.factor, rel=1e-9)
    assert np.allclose(other.eigenvalues_ * scale**2, one.eigenvalues_)


@pytest.mark.parametrize("n", [3, 5, 12])
def test_few_points(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    fit = geolap.GraphLaplacian(1.0).fit(X)
    assert np.isfinite(fit.laplacian_).all()
    assert fit.calibration_.factor > 0


def test_calibrate_is_a_yes_or_no():
    with pytest.raises(ValueError, match="calibrate"):
        geolap.GraphLaplacian(1.0, calibrate="yes").fit(np.eye(4))


@pytest.mark.slow
@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: surface.name)
def test_spectra_of_surfaces_converge(surface):
    exact = surface.spectrum(5)
    assert (exact > 0).all()
    X = surface.make(1500, 0.0, 0, 0)
    fit = geolap.LaplacianEigenmap(5, n_neighbors=15, local_scale=7, random_state=0).fit(X)
    assert np.abs(fit.eigenvalues_ / exact - 1.0).mean() < 0.09


def test_spectrum_of_a_surface_of_revolution_is_that_of_the_sphere():
    found = revolution_spectrum(8, np.sin, np.ones_like, 1e-6, np.pi - 1e-6)
    np.testing.assert_allclose(found, SPHERE, rtol=1e-4)


def test_points_with_fewer_neighbors_than_directions_do_not_disturb():
    far = 3 * np.random.default_rng(0).standard_normal((10, 3))
    X = np.vstack([geolap.datasets.make_sphere(500, random_state=0).data, far])
    graph = geolap.GraphLaplacian(0.12, n_neighbors=10, local_scale=7).fit(X)
    assert 0.5 < graph.calibration_.factor < 2
