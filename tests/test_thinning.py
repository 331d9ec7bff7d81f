"""Thinned graphs: a random share of the pairs within reach, weighted up, in place of all of them."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

import geolap
from geolap.data.points import Points
from geolap.datasets import make_hourglass, make_sphere, make_torus
from geolap.estimators.base import graph_in_words
from geolap.graphs import build, drawing, thinning
from geolap.graphs.spectrum import smooth_spectrum


@pytest.fixture(scope="module")
def hourglass():
    return make_hourglass(4000, noise=0.01, random_state=0).data


@pytest.fixture(scope="module")
def small():
    return make_hourglass(900, noise=0.01, random_state=0).data


def _graph(X, **params):
    return geolap.GraphLaplacian(**{"bandwidth": 0.3, "random_state": 0, "calibrate": False} | params).fit(X)


def _mean_weights(X, n_draws, **params):
    return sum(_graph(X, random_state=seed, **params).graph_.weights.toarray() for seed in range(n_draws)) / n_draws


def _assert_unbiased(X, n_draws, rel, **params):
    """Weights that chance decides average to those of all pairs, as closely as chance allows."""
    full = np.asarray(_graph(X, n_edges="all").graph_.weights)
    mean = _mean_weights(X, n_draws, **params)
    assert mean.sum() == pytest.approx(full.sum(), rel=rel)
    energy = np.arange(len(X)) % 7  # any function
    energy = (energy[:, None] - energy) ** 2
    assert (mean * energy).sum() == pytest.approx((full * energy).sum(), rel=rel)
    some = full.sum(axis=1)
    np.testing.assert_allclose(mean.sum(axis=1), some, atol=0.5 * some.mean())


@pytest.mark.slow
@pytest.mark.parametrize("look_at_all", [0.0, 0.999])
def test_weights_are_right_in_the_mean(small, monkeypatch, look_at_all):
    monkeypatch.setattr(drawing, "_LOOK_AT_ALL", look_at_all)  # all tiles looked at in full, or all drawn from
    monkeypatch.setattr(drawing, "_SIDE", 200)
    _assert_unbiased(small, 20, 0.01, n_edges=20)


@pytest.mark.slow
def test_weights_are_right_in_the_mean_where_nearest_neighbors_are_searched_for(small, monkeypatch):
    monkeypatch.setattr(drawing, "_MOST_DRAWN", 30_000)
    monkeypatch.setattr(drawing, "_SIDE", 200)
    _assert_unbiased(small, 20, 0.03, n_edges=20)
    model = _graph(small, n_edges=20)
    nearest = geolap.GraphLaplacian(0.3, n_neighbors=5).fit(small).graph_.weights
    np.testing.assert_allclose(model.graph_.weights.multiply(nearest > 0).toarray(), nearest.toarray(), rtol=1e-6)


def test_pairs_that_carry_the_weight_are_kept_as_they_are():
    X = np.random.default_rng(0).normal(size=(500, 30))  # a few neighbors have all the weight
    full, thin = (_graph(X, bandwidth=2.0, n_edges=n).graph_.to_scipy().toarray() for n in ("all", 40))
    np.fill_diagonal(full, 0.0)
    strong = full > 0.3 * full.sum(axis=1, keepdims=True)
    assert strong.sum() > 50
    np.testing.assert_allclose(thin[strong], full[strong], rtol=1e-6)


@pytest.mark.slow
def test_the_choice_depends_on_the_seed_and_on_nothing_else(hourglass):
    one, same, other = (
        _graph(hourglass, n_edges=30, random_state=seed, n_jobs=n_jobs).graph_.weights
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    )
    assert (one != same).nnz == 0
    assert (one != other).nnz > 0
    assert (one != one.T).nnz == 0
    assert sparse.issparse(one)


@pytest.mark.slow
def test_eigenvalues_are_those_of_all_pairs_to_the_error_that_is_told(hourglass):
    full = smooth_spectrum(_graph(hourglass, bandwidth=0.239, n_edges="all").graph_, 6).eigenvalues[1:]
    for n_edges in (30, 100):
        model = _graph(hourglass, bandwidth=0.239, n_edges=n_edges)
        shift = smooth_spectrum(model.graph_, 6).eigenvalues[1:] / full - 1.0
        assert model.n_edges_ == pytest.approx(n_edges, rel=0.05)
        assert model.thinning_error_ == pytest.approx(1.15 / n_edges, rel=0.15)
        assert abs(shift.mean()) < 1.3 * model.thinning_error_
        assert np.abs(shift).max() < 2.0 * model.thinning_error_
        assert model.n_edges_ == model.graph_.weights.nnz / 4000 - 1


@pytest.mark.slow
def test_as_many_edges_as_the_error_asks_for(hourglass, monkeypatch):
    assert _graph(hourglass, bandwidth=0.239).thinning_error_ is None  # all pairs fit
    monkeypatch.setattr(build, "MOST_POINTS_OF_FULL", 1000)
    monkeypatch.setattr(build, "MOST_ENTRIES", 10**6)
    model = _graph(hourglass, bandwidth=0.239)
    assert model.thinning_error_ < 0.021
    assert model.n_edges_ == pytest.approx(60, rel=0.05)
    assert model.n_neighbors_ is None
    assert model.cutoff_ == 3.0
    assert model.dropped_weight_ < 0.001
    monkeypatch.setattr(thinning, "_ERROR", 0.012)
    model = _graph(hourglass, bandwidth=0.239)
    assert model.thinning_error_ == pytest.approx(0.012, rel=0.1)
    assert 80 < model.n_edges_ < 110
    monkeypatch.setattr(build, "MOST_ENTRIES", 4000 * 20)
    with pytest.warns(UserWarning, match=r"with at most 19 edges per point they may be off by 6%: set n_land"):
        _graph(hourglass, bandwidth=0.239)
    monkeypatch.setattr(build, "MOST_ENTRIES", 4000 * 40)
    assert _graph(hourglass, bandwidth=0.239).n_edges_ == pytest.approx(39, rel=0.05)


def test_only_by_default_are_graphs_thinned_before_they_are_too_large(small, monkeypatch):
    monkeypatch.setattr(build, "MOST_POINTS_OF_FULL", 100)
    monkeypatch.setattr(build, "UNTHINNED_ENTRIES", 10**5)
    assert _graph(small, bandwidth=0.5).n_edges_ is not None
    assert _graph(small, bandwidth=0.5, n_edges="all").n_edges_ is None
    weighted = geolap.GraphLaplacian(0.5, random_state=0).fit(small, sample_weight=np.full(len(small), 2.0))
    assert weighted.n_edges_ is None


@pytest.mark.slow
def test_the_bandwidth_is_that_of_all_pairs(small, monkeypatch):
    expected = geolap.GeometricConsistency(random_state=0).fit(small).bandwidth_
    monkeypatch.setattr(build, "MOST_ENTRIES", 10**5)
    monkeypatch.setattr(build, "MOST_POINTS_OF_FULL", 100)
    model = geolap.LaplacianEigenmap(random_state=0).fit(small)
    assert model.bandwidth_ == expected
    assert model.n_edges_ > 50


def test_few_points_and_many_edges_are_not_thinned(small):
    model = _graph(small, n_edges=2000)
    assert (model.n_edges_, model.thinning_error_) == (None, None)
    assert isinstance(model.graph_.weights, np.ndarray)


def test_a_number_of_edges_means_a_graph_of_all_pairs():
    X = make_torus(60, random_state=0).data
    assert geolap.LaplacianEigenmap(random_state=0).fit(X).n_neighbors_ == 10  # by default
    eigenmap = geolap.LaplacianEigenmap(n_edges=30, random_state=0).fit(X)
    assert eigenmap.n_neighbors_ is None
    assert eigenmap.n_edges_ == pytest.approx(30, rel=0.2)
    words = f"The graph joins a share of all pairs, {eigenmap.n_edges_:.0f} edges per point, and is connected."
    assert graph_in_words(eigenmap) == words
    y = np.where(np.arange(60) < 20, (X[:, 0] > 0).astype(int), -1)
    assert geolap.LaplacianClassifier(n_edges=30, random_state=0).fit(X, y).n_neighbors_ is None


@pytest.mark.slow
def test_far_clusters_stay_joined(monkeypatch):
    # All pairs join them by a few weak ones, which one draw alone misses.
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(700, 2)), rng.normal(size=(700, 2)) + np.array([12.0, 0.0])])
    full, thin = (_graph(X, bandwidth=2.0, n_edges=n).graph_ for n in ("all", 20))
    expected, found = smooth_spectrum(full, 2), smooth_spectrum(thin, 2)
    assert (expected.n_components, found.n_components) == (1, 1)
    assert found.eigenvalues[1] == pytest.approx(expected.eigenvalues[1], rel=0.5)
    assert (thin.weights != thin.weights.T).nnz == 0
    monkeypatch.setattr(drawing, "AGAIN", 1e-9)
    assert smooth_spectrum(_graph(X, bandwidth=2.0, n_edges=20).graph_, 2).n_components == 2


def test_components_that_are_apart_stay_apart():
    X = np.vstack([make_sphere(1000, random_state=0).data, make_sphere(1000, random_state=1).data + 1000.0])
    assert smooth_spectrum(_graph(X, n_edges=30).graph_, 3).n_components == 2


@pytest.mark.slow
def test_local_scales_are_kept(hourglass):
    scale = geolap.neighbor_scale(hourglass, 20, intrinsic_dim=2)
    full, thin = (_graph(hourglass, bandwidth=0.2, local_scale=scale, n_edges=n).graph_ for n in ("all", 100))
    np.testing.assert_array_equal(thin.bandwidths, full.bandwidths)
    expected, found = (smooth_spectrum(graph, 6).eigenvalues[1:] for graph in (full, thin))
    np.testing.assert_allclose(found, expected, rtol=0.03)


@pytest.mark.slow
def test_without_renormalization_the_error_is_told_too(hourglass):
    params = {"bandwidth": 0.239, "renormalization": 0.0}
    full = smooth_spectrum(_graph(hourglass, n_edges="all", **params).graph_, 6).eigenvalues[1:]
    model = _graph(hourglass, n_edges=40, **params)
    shift = smooth_spectrum(model.graph_, 6).eigenvalues[1:] / full - 1.0
    assert 0.5 < -shift.mean() / model.thinning_error_ < 1.5


@pytest.mark.slow
def test_maps_labels_landmarks_and_new_points(hourglass):
    X = hourglass[::2]
    full, thin = (geolap.LaplacianEigenmap(3, 0.239, n_edges=n, random_state=0).fit(X) for n in ("all", 100))
    np.testing.assert_allclose(thin.eigenvalues_, full.eigenvalues_, rtol=0.03)
    assert np.corrcoef(thin.embedding_[:, 0], full.embedding_[:, 0])[0, 1] ** 2 > 0.999
    new = make_hourglass(200, noise=0.01, random_state=1).data
    assert np.corrcoef(thin.transform(new)[:, 0], full.transform(new)[:, 0])[0, 1] ** 2 > 0.999
    y = np.where(np.arange(2000) < 60, (X[:, 2] > 0).astype(int), -1)
    classifier = geolap.LaplacianClassifier(0.239, n_edges=60, random_state=0).fit(X, y)
    assert np.mean(classifier.transduction_ == (X[:, 2] > 0)) > 0.95
    landmarks = geolap.LaplacianEigenmap(2, 0.239, n_edges=60, n_landmarks=1000, random_state=0).fit(X)
    assert landmarks.n_edges_ == pytest.approx(60, rel=0.1)
    np.testing.assert_allclose(landmarks.eigenvalues_, full.eigenvalues_[:2], rtol=0.08)


def test_single_precision_and_duplicates(small):
    X = np.repeat(small[:300], 3, axis=0).astype(np.float32)
    model = _graph(X, n_edges=20, self_weights=True)
    assert model.graph_.weights.dtype == np.float32
    assert np.isfinite(model.graph_.weights.data).all()
    assert model.graph_.weights.diagonal().min() == 1.0


def test_bad_numbers_of_edges_are_refused(small):
    for value in (0, 1.5, "some"):
        with pytest.raises(ValueError, match="n_edges must be"):
            _graph(small, n_edges=value)
    for params in ({"n_neighbors": 5}, {"neighbors": np.eye(900)}, {"metric": "precomputed"}):
        with pytest.raises(
            ValueError,
            match=r"Thinning applies to graphs of all pairs within reach; n_edges = 20 was given .*: leave out one",
        ):
            _graph(cdist(small, small) if "metric" in params else small, n_edges=20, **params)


def test_drawing_with_a_probability():
    rng = np.random.default_rng(0)
    for p in (0.001, 0.03, 0.5):
        drawn = [drawing._drawn(2000, p, rng) for _ in range(300)]
        assert all((np.diff(some) > 0).all() and (some < 2000).all() for some in drawn)
        assert np.mean([len(some) for some in drawn]) == pytest.approx(2000 * p, rel=0.15)
    chances = rng.random(500)
    counts = np.zeros(500)
    for _ in range(2000):
        counts[drawing._systematic(chances, rng)] += 1
    np.testing.assert_allclose(counts / 2000, chances, atol=0.06)
    np.testing.assert_array_equal(drawing._systematic(np.ones(50), rng), np.arange(50))


def test_points_are_left_as_they_were(small):
    before, points = small.copy(), Points(small)
    _graph(points.given, n_edges=20)
    np.testing.assert_array_equal(small, before)
