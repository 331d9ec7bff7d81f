"""Which coordinates, and how many: manifolds whose coordinates are known, and inputs that have none."""

import json
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

import geolap
from geolap import DiffusionMap, LaplacianEigenmap
from geolap.datasets import make_flat_torus, make_sphere, make_swiss_roll, make_torus
from geolap.display.plots import CoordinatesDisplay
from geolap.estimators import coordinates
from geolap.graphs.entropy import _entropy, spectral_entropy
from geolap.graphs.spectrum import smooth_spectrum


def strip(n=1000, length=8.0, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, 2)) * [length, 1.0]


def cylinder(n=1000, height=4.0, seed=0):
    angle, z = np.random.default_rng(seed).uniform(size=(2, n)) * [[2 * np.pi], [height]]
    return np.column_stack([np.cos(angle), np.sin(angle), z])


def circle(n=300, seed=0):
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def least_told(eigenmap, truths):
    """The least R² of the true coordinates, by neighbors on the map."""
    places = eigenmap.embedding_ / np.sqrt(eigenmap.eigenvalues_)
    found = cross_val_predict(KNeighborsRegressor(8), places, truths, cv=10)
    return 1.0 - (np.mean((found - truths) ** 2, axis=0) / truths.var(axis=0)).max()


def angles(u):
    return np.column_stack([np.cos(u), np.sin(u)])


@pytest.fixture(scope="module")
def long_map():
    return LaplacianEigenmap(n_components=20, bandwidth=0.2).fit(strip(seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_strip_is_spanned_by_one_coordinate_along_and_one_across(seed):
    X = strip(1500, seed=seed)
    eigenmap = LaplacianEigenmap("auto", bandwidth=0.2).fit(X)
    assert eigenmap.coordinates_[0] == 0
    assert 6 <= eigenmap.coordinates_[1] <= 11  # the ones between are harmonics of the first
    assert len(eigenmap.coordinates_) == 2
    assert least_told(eigenmap, X) > 0.9
    first = LaplacianEigenmap(2, bandwidth=0.2).fit(X)
    assert least_told(first, X) < 0.1


def test_a_swiss_roll_is_spanned_by_two_coordinates():
    roll = make_swiss_roll(1500, random_state=0)
    eigenmap = LaplacianEigenmap("auto", bandwidth=2.2).fit(roll.data)
    assert len(eigenmap.coordinates_) == 2
    assert least_told(eigenmap, roll.coordinates) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("make", "least", "most"), [(make_torus, 3, 4), (make_flat_torus, 4, 4)], ids=["in space", "flat"])
def test_a_torus_takes_enough_coordinates_not_to_fold(make, least, most):
    torus = make(1000, random_state=0)
    eigenmap = LaplacianEigenmap("auto", bandwidth=0.6).fit(torus.data)
    assert eigenmap.independence_.intrinsic_dim == 2
    assert least <= len(eigenmap.coordinates_) <= most
    assert least_told(eigenmap, np.hstack([angles(u) for u in torus.coordinates.T])) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("height", [2.0, 4.0, 12.0])
def test_a_cylinder_takes_three(height):
    X = cylinder(height=height)
    eigenmap = LaplacianEigenmap("auto", bandwidth=0.4).fit(X)
    assert 3 <= len(eigenmap.coordinates_) <= 4
    assert least_told(eigenmap, X) > 0.93


def test_a_circle_takes_two_coordinates_a_line_one_and_a_sphere_three():
    line = np.random.default_rng(0).uniform(0, 5, 300)
    curve = np.column_stack([np.cos(line), np.sin(line), line])
    sphere = make_sphere(800, random_state=0).data
    for X, bandwidth, s, d in ((circle(600), 0.3, 2, 1), (curve, 0.3, 1, 1), (sphere, 0.4, 3, 2)):
        found = LaplacianEigenmap("auto", bandwidth=bandwidth).fit(X).independence_
        assert_array_equal(found.chosen, np.arange(s))
        assert found.intrinsic_dim == d


@pytest.mark.slow
def test_the_default_bandwidth_serves_too():
    torus = make_torus(1500, random_state=1)
    eigenmap = LaplacianEigenmap("auto", random_state=0).fit(torus.data)
    assert "from neighborhoods at the bandwidth" in eigenmap.independence_.explain()
    assert least_told(eigenmap, np.hstack([angles(u) for u in torus.coordinates.T])) > 0.95
    X = strip(1500, seed=1)
    assert least_told(LaplacianEigenmap("auto", random_state=0).fit(X), X) > 0.9


@pytest.mark.slow
def test_more_candidates_are_computed_where_the_first_vary_in_too_few_directions(monkeypatch):
    monkeypatch.setattr(geolap.estimators.maps, "_CANDIDATES", (4, 12))
    X = strip(1000, 5.3)
    eigenmap = LaplacianEigenmap("auto", random_state=0).fit(X)
    assert "12 candidate coordinates for data of 2 dimensions" in str(eigenmap.independence_)
    assert least_told(eigenmap, X) > 0.85


def test_the_choice_does_not_depend_on_units_signs_or_sizes(long_map):
    found = geolap.independent_coordinates(long_map)
    scaled = LaplacianEigenmap("auto", bandwidth=200.0).fit(1000.0 * strip(seed=1))
    assert_array_equal(scaled.coordinates_, found.chosen)
    candidates = long_map.embedding_ * np.random.default_rng(0).uniform(-3, 3, 20) + 5.0
    assert_array_equal(geolap.independent_coordinates(candidates, long_map.graph_).chosen, found.chosen)


def test_the_first_ones_are_told_and_the_one_across_is_not(long_map):
    found = geolap.independent_coordinates(long_map)
    alone, step = found.steps
    assert alone.coordinates == (0,)
    assert step.told.min() > 0.85
    assert found.first_told[:6].min() > 0.95
    assert found.first_told[found.chosen[1]] < 0.2
    assert step.untold == ()
    assert len(alone.untold) >= 9
    assert np.diff(found.roughness[:7]).min() > 0
    assert f"Coordinates 1 and {found.chosen[1] + 1} are chosen" in str(found)
    assert "The first 2 are not enough" in str(found)


def test_a_fold_is_the_reason_for_more():
    found = LaplacianEigenmap("auto", bandwidth=0.3).fit(circle()).independence_
    assert [step.coordinates for step in found.steps] == [(0,), (0, 1)]
    assert found.steps[0].untold[0] in range(20)
    assert "Coordinate 1 is not enough: it explains only" in str(found)


def test_numbers_that_are_given_are_kept(long_map):
    found = geolap.independent_coordinates(long_map, intrinsic_dim=2, n_coordinates=4)
    assert len(found.chosen) == 4
    assert found.chosen[0] == 0
    assert "2 dimensions, as given" in str(found)
    assert len(geolap.independent_coordinates(long_map, n_coordinates=1).chosen) == 1


def test_one_by_one_finds_what_all_sets_do(long_map, monkeypatch):
    exact = geolap.independent_coordinates(long_map)
    monkeypatch.setattr(coordinates, "_SETS", 1)
    assert_array_equal(geolap.independent_coordinates(long_map).chosen, exact.chosen)


def test_the_score_of_chen_and_meila_is_that_of_angles(long_map):
    found = geolap.independent_coordinates(long_map, intrinsic_dim=2, n_coordinates=2, normalized=True, penalty=0.0)
    (step,) = found.steps
    assert -0.5 < step.score <= 0.0
    A = np.random.default_rng(0).standard_normal((5, 3, 4, 2))
    gram = np.swapaxes(A, 2, 3) @ A
    volume = 0.5 * np.log(np.linalg.det(gram))
    assert_allclose(coordinates._log_volume(A, normalized=False), volume)
    lengths = 0.5 * np.log((A**2).sum(axis=2)).sum(axis=-1)
    assert_allclose(coordinates._log_volume(A, normalized=True), volume - lengths)


@pytest.mark.slow
def test_coordinates_that_were_chosen_extend_to_new_points():
    X = strip()
    for model in (LaplacianEigenmap("auto", bandwidth=0.2), DiffusionMap("auto", bandwidth=0.2, diffusion_time="auto")):
        model.fit(X)
        s = len(model.coordinates_)
        assert model.embedding_.shape == (1000, s)
        assert model.eigenvalues_.shape == (s,)
        assert len(model.get_feature_names_out()) == s
        assert_array_equal(model.transform(X[:20]), model.embedding_[:20])
        assert_allclose(model.transform(X[:20] + 1e-6), model.embedding_[:20], atol=0.02 * np.ptp(model.embedding_))
        everything = type(model)(20, bandwidth=0.2).fit(X)
        assert_allclose(model.eigenvalues_, everything.eigenvalues_[model.coordinates_], rtol=1e-6)


def test_a_number_of_coordinates_takes_the_first(long_map):
    assert_array_equal(long_map.coordinates_, np.arange(20))
    assert long_map.independence_ is None


def test_landmarks_and_nearest_neighbors_have_coordinates_too():
    X = strip()
    for parameters in ({"n_landmarks": 500, "bandwidth": 0.25}, {"n_neighbors": 15, "bandwidth": 0.2}):
        eigenmap = LaplacianEigenmap("auto", **parameters).fit(X)
        assert least_told(eigenmap, X) > 0.8
        assert_array_equal(eigenmap.coordinates_, eigenmap.independence_.chosen)


def test_components_are_told_apart_and_the_largest_is_spanned():
    X = np.vstack([strip(800, 4.0), circle(200) + 100.0])
    with pytest.warns(UserWarning, match=r"has 2 components .* the first coordinate only separates them"):
        eigenmap = LaplacianEigenmap("auto", bandwidth=0.3, disconnected="whole").fit(X)
    assert_array_equal(eigenmap.coordinates_[:2], [0, 1])
    assert "Coordinate 1 is kept to separate components of the graph" in str(eigenmap.independence_)
    assert len(np.unique(eigenmap.embedding_[:800, 0].round(9))) == 1
    assert np.ptp(eigenmap.embedding_[800:, 1:]) == 0
    with pytest.raises(ValueError, match="should be connected"):
        LaplacianEigenmap("auto", bandwidth=0.3, disconnected="error").fit(X)


def test_each_component_on_its_own_has_its_own_coordinates():
    X = np.vstack([strip(800, 4.0, seed=3), circle(200) + 100.0, [[-50.0, 0.0]]])
    eigenmap = DiffusionMap("auto", bandwidth=0.3, disconnected="separate").fit(X)
    assert eigenmap.coordinates_.shape == (3, 2)
    assert eigenmap.coordinates_[0, 1] >= 3
    assert_array_equal(eigenmap.coordinates_[1:], [[0, 1], [0, 1]])
    assert eigenmap.embedding_.shape == (1001, 2)
    assert_allclose(eigenmap.transform(X[790:810]), eigenmap.embedding_[790:810])


def test_too_many_components_are_refused():
    X = 100.0 * np.arange(300.0)[:, None] * [1.0, 0.0]
    with pytest.raises(ValueError, match=r"at most 200 components; this one has 300: use a larger"):
        LaplacianEigenmap("auto", bandwidth=0.1, disconnected="whole").fit(X)
    with pytest.warns(UserWarning, match="has 300 components"):
        assert np.isfinite(LaplacianEigenmap("auto", bandwidth=0.1).fit(X).embedding_).all()


@pytest.mark.filterwarnings("ignore:The graph should be connected")
@pytest.mark.parametrize("n", [3, 4, 5, 10, 22])
def test_few_points_have_coordinates(n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    for bandwidth in (0.3, 1.0, 10.0):
        model = DiffusionMap("auto", bandwidth=bandwidth, diffusion_time="auto").fit(X)
        assert 1 <= model.embedding_.shape[1] < n
        assert np.isfinite(model.embedding_).all()
        assert model.diffusion_time_ >= 1


def test_duplicates_do_no_harm():
    X = np.repeat(circle(60), 15, axis=0)
    found = LaplacianEigenmap("auto", bandwidth=0.5).fit(X).independence_
    assert_array_equal(found.chosen[:1], [0])
    assert np.isfinite([step.score for step in found.steps]).all()


def test_noise_is_left_out():
    X = np.random.default_rng(0).standard_normal((200, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = LaplacianEigenmap("auto", bandwidth=3.0).fit(X).independence_
    assert "were left out: their values differ even between neighbors in the graph" in str(found)
    assert np.isnan(found.roughness).any()


def test_what_cannot_be_chosen_from_is_told_in_a_sentence(long_map):
    with pytest.raises(ValueError, match=r"Candidates must be a finite array \(1000, m\) .* pass a fitted map"):
        geolap.independent_coordinates(np.ones((5, 3)), long_map.graph_)
    with pytest.raises(ValueError, match=r"a NoneType were given: pass a fitted map"):
        geolap.independent_coordinates(np.ones((5, 3)))
    with pytest.raises(ValueError, match=r"intrinsic_dim must be a whole number of at least 1 and at most 2; 3 was given"):
        geolap.independent_coordinates(long_map.embedding_[:, :2], long_map.graph_, intrinsic_dim=3)
    with pytest.raises(ValueError, match=r"n_components must be a whole number"):
        LaplacianEigenmap("all").fit(strip(50))
    with pytest.raises(ValueError, match=r"diffusion_time must be a number"):
        DiffusionMap(diffusion_time="long").fit(strip(50))


def test_the_reasons_are_drawn(long_map):
    X = circle()
    eigenmap = LaplacianEigenmap("auto", bandwidth=0.3).fit(X)
    ax = eigenmap.independence_.plot().ax_
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["1: not enough", "1, 2: chosen"]
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    labels = [text.get_text() for text in geolap.independent_coordinates(long_map).plot().ax_.get_legend().get_texts()]
    assert "the first 2" in labels
    assert CoordinatesDisplay.from_estimator(eigenmap).figure_
    with pytest.raises(ValueError, match="fit it with n_components='auto'"):
        CoordinatesDisplay.from_estimator(long_map)
    plt.close("all")


@pytest.mark.parametrize("n_neighbors", [None, 10])
def test_the_entropy_is_that_of_the_full_spectrum(n_neighbors):
    X = make_sphere(400, random_state=0).data
    graph = geolap.GraphLaplacian(0.4, n_neighbors=n_neighbors).fit(X).graph_
    found = spectral_entropy(graph, smooth_spectrum(graph, 4, markov=True))
    A = graph.symmetric()
    values = np.abs(np.linalg.eigvalsh(A if n_neighbors is None else A.toarray()))
    exact = _entropy(values, np.ones(400), found.times)
    assert_allclose(found.entropy, exact, atol=0.15)
    assert np.diff(found.entropy).max() < 0
    assert found.times[0] < found.knee < found.times[-1]


def test_two_equal_eigenvalues_have_the_entropy_of_a_coin():
    assert_allclose(_entropy(np.array([0.5, 0.5, 0.0]), np.ones(3), np.array([1, 7])), np.log(2.0))


def test_the_automatic_time_is_a_number_of_steps():
    X = strip(500, 3.0)
    automatic = DiffusionMap(3, bandwidth=0.3, diffusion_time="auto").fit(X)
    assert automatic.diffusion_time_.is_integer()
    assert automatic.diffusion_time_ > 1
    given = DiffusionMap(3, bandwidth=0.3, diffusion_time=automatic.diffusion_time_).fit(X)
    assert_allclose(automatic.embedding_, given.embedding_)
    scaled = DiffusionMap(3, bandwidth=300.0, diffusion_time="auto").fit(1000.0 * X)
    assert scaled.diffusion_time_ == automatic.diffusion_time_


def test_the_shell_chooses_coordinates_and_time(tmp_path):
    from typer.testing import CliRunner

    from geolap.cli.commands import app

    np.save(tmp_path / "x.npy", strip(500, 4.0))
    options = ["-d", "auto", "--diffusion", "--diffusion-time", "auto", "-b", "0.25", "--json"]
    answer = CliRunner().invoke(app, ["embed", str(tmp_path / "x.npy"), "-o", str(tmp_path / "m.npy"), *options])
    assert answer.exit_code == 0
    result = json.loads(answer.stdout)["result"]
    assert result["n_components"] == len(result["coordinates"]) == np.load(tmp_path / "m.npy").shape[1]
    assert result["coordinates"][0] == 1
    assert result["diffusion_time"] > 1
    assert "are chosen" in " ".join(result["reasons_for_coordinates"])
    wrong = CliRunner().invoke(app, ["embed", str(tmp_path / "x.npy"), "-o", "-", "-d", "many"])
    assert wrong.exit_code == 2
