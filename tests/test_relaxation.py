"""Relaxed maps have the lengths of the data."""

import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning

import geolap
from geolap.estimators import relaxation
from geolap.estimators.frames import local_frames


@pytest.fixture(scope="module")
def roll():
    return geolap.datasets.make_swiss_roll(1500, random_state=0)


@pytest.fixture(scope="module")
def rolled(roll):
    return geolap.LaplacianEigenmap(10, bandwidth=1.1, n_neighbors=10).fit(roll.data)


@pytest.fixture(scope="module")
def dome():
    return geolap.datasets.make_dome(1000, random_state=0)


@pytest.fixture(scope="module")
def dome_graph(dome):
    return geolap.GraphLaplacian(0.3).fit(dome.data)


def far_apart(u, Y):
    """Distances on the map over those of the sheet, for pairs that are not near one another."""
    i, j = np.random.default_rng(0).integers(0, len(u), (2, 5000))
    true, found = (np.linalg.norm(a[i] - a[j], axis=1) for a in (u, Y))
    return found[true > 5] / true[true > 5]


def great_circles(x, Y):
    """Lengths on the map over those on the sphere, of great circles between points, by a smooth fit of the map."""
    powers = [(a, b, c) for a in range(7) for b in range(7 - a) for c in range(min(2, 7 - a - b))]
    features = lambda at: np.stack([at[..., 0] ** a * at[..., 1] ** b * at[..., 2] ** c for a, b, c in powers], axis=-1)
    fit = np.linalg.lstsq(features(x), Y, rcond=None)[0]
    a, b = x[np.random.default_rng(0).integers(0, len(x), (2, 300))]
    angle = np.arccos(np.clip((a * b).sum(axis=1), -1, 1))
    a, b, angle = a[angle > 0.3], b[angle > 0.3], angle[angle > 0.3, None]
    along = np.stack([np.sin((1 - t) * angle) * a + np.sin(t * angle) * b for t in np.linspace(0, 1, 40)], axis=1)
    along /= np.sin(angle)[:, None]
    return np.linalg.norm(np.diff(features(along) @ fit, axis=1), axis=2).sum(axis=1) / angle[:, 0]


@pytest.mark.slow
def test_swiss_roll_becomes_a_flat_sheet_in_two_coordinates(roll, rolled):
    relaxed = geolap.relax(rolled, n_components=2)
    assert relaxed.embedding.shape == (1500, 2)
    ratios = far_apart(roll.coordinates, relaxed.embedding)
    assert np.abs(ratios - 1).max() < 0.03
    assert procrustes(roll.coordinates, relaxed.embedding)[2] < 1e-4
    assert relaxed.converged
    assert relaxed.error < 0.005
    assert relaxed.error_before > 0.3
    assert "off by 0.2%" in str(relaxed)
    assert (np.diff(relaxed.losses) < 0).all()


@pytest.mark.slow
def test_hemisphere_keeps_its_lengths_in_three_coordinates(dome, dome_graph):
    start = geolap.LaplacianEigenmap(3, bandwidth=0.3).fit_transform(dome.data)
    relaxed = geolap.relax(start, dome_graph, intrinsic_dim=2)
    ratios = great_circles(dome.data, relaxed.embedding)
    assert np.quantile(np.abs(ratios - 1), 0.95) < 0.03
    assert abs(np.median(ratios) - 1) < 0.01
    before = great_circles(dome.data, start)
    assert np.abs(before / np.median(before) - 1).mean() > 0.08


@pytest.mark.slow
def test_noise_off_the_manifold_does_not_lengthen_the_map():
    roll = geolap.datasets.make_swiss_roll(1500, noise=0.1, noise_dims=3, random_state=0)
    eigenmap = geolap.LaplacianEigenmap(8, n_neighbors=10, bandwidth=1.2).fit(roll.data)
    ratios = far_apart(roll.coordinates, geolap.relax(eigenmap, n_components=2).embedding)
    assert abs(np.median(ratios) - 1) < 0.02
    assert np.abs(ratios - 1).mean() < 0.03


def test_an_isometry_stays_where_it_is():
    X = np.random.default_rng(0).uniform(size=(300, 2))
    graph = geolap.GraphLaplacian(0.15).fit(X)
    relaxed = geolap.relax(X, graph)
    assert relaxed.error < 1e-6
    np.testing.assert_allclose(pdist(relaxed.embedding), pdist(X), atol=1e-6)


def test_parts_of_the_graph_keep_their_places():
    X = np.random.default_rng(0).uniform(size=(200, 2)) + np.repeat([[0, 0], [50, 0]], 100, axis=0)
    graph = geolap.GraphLaplacian(0.3, cutoff=3).fit(X)
    Y = geolap.relax(X, graph).embedding
    assert Y[100:, 0].min() > Y[:100, 0].max()


def test_steps_are_as_long_as_geodesics(dome, dome_graph):
    frames = local_frames(dome.data, dome_graph.graph_.weights, np.arange(200), 2, n_neighbors=30)
    a, b = dome.data[frames.start], dome.data[frames.end]
    ratio = frames.unit * np.linalg.norm(frames.steps, axis=1) / np.arccos(np.clip((a * b).sum(axis=1), -1, 1))
    assert abs(ratio.mean() - 1) < 0.002


@pytest.mark.slow
@pytest.mark.parametrize("where", ["by NumPy", "as on a GPU"])
def test_tensors_are_relaxed_as_arrays_are(dome, where, monkeypatch):
    torch = pytest.importorskip("torch")
    if where == "as on a GPU":
        monkeypatch.setattr(relaxation, "is_on_gpu", lambda Y: isinstance(Y, torch.Tensor))
    X = dome.data[:200]
    graph = geolap.GraphLaplacian(0.5).fit(X)
    start = torch.as_tensor(X * [1.0, 1.3, 0.8], dtype=torch.float32)
    found, again = geolap.relax(start, graph, intrinsic_dim=2), geolap.relax(start.numpy(), graph, intrinsic_dim=2)
    assert isinstance(found.embedding, torch.Tensor)
    assert found.embedding.dtype == start.dtype
    assert found.losses[-1] == pytest.approx(again.losses[-1], rel=0.02)


def test_what_cannot_be_relaxed_is_a_sentence(roll, rolled):
    with pytest.raises(ValueError, match="pass a fitted map, or a fitted estimator with the array"):
        geolap.relax(roll.data)
    with pytest.raises(ValueError, match="a finite array of 1500 rows"):
        geolap.relax(roll.data[:10], rolled)
    with pytest.raises(ValueError, match="coordinate 2 is constant"):
        geolap.relax(roll.data * [1, 0, 1], rolled, intrinsic_dim=2)
    with pytest.raises(ValueError, match="intrinsic_dim"):
        geolap.relax(rolled, n_components=2, intrinsic_dim=3)
    with pytest.raises(ValueError, match="Relaxation needs all points"):
        geolap.relax(geolap.LaplacianEigenmap(2, 3.0, n_landmarks=300).fit(roll.data))
    with pytest.warns(ConvergenceWarning, match="after 1 iterations"):
        assert "still falls" in str(geolap.relax(rolled, max_iter=1, intrinsic_dim=2))


@pytest.mark.slow
def test_lengths_before_and_after_are_drawn(rolled):
    import matplotlib.pyplot as plt

    ax = geolap.relax(rolled.embedding_[:, [0, 4]], rolled).plot().ax_
    assert "relaxed: off by" in ax.get_legend().get_texts()[1].get_text()
    plt.close("all")
