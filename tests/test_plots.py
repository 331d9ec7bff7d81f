import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse

import geolap
from geolap.datasets import make_sphere, make_swiss_roll
from geolap.display.circles import indicatrices
from geolap.display.plots import (
    ComparisonDisplay,
    DistortionDisplay,
    HealthDisplay,
    MetricDisplay,
    SelectionDisplay,
    SingularValuesDisplay,
)


@pytest.fixture(scope="module")
def points():
    return make_swiss_roll(300, random_state=0).data


@pytest.fixture(scope="module")
def selector(points):
    return geolap.GeometricConsistency(working_dim=2, random_state=0).fit(points)


@pytest.fixture(scope="module")
def eigenmap(points, selector):
    return geolap.LaplacianEigenmap(bandwidth=selector.bandwidth_).fit(points)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def all_displays(points, selector, eigenmap, ax=None):
    return [
        SelectionDisplay.from_estimator(selector, ax=ax),
        ComparisonDisplay.from_points(points, ["gc", "median"], random_state=0, ax=ax),
        HealthDisplay.from_estimator(selector, points, random_state=0, ax=ax),
        SingularValuesDisplay.from_estimator(selector, points, scales=(0.5, 3.0), random_state=0, ax=ax),
        DistortionDisplay.from_selection(selector.selection_, eigenmap.embedding_, ax=ax),
        MetricDisplay.from_estimator(eigenmap, ax=ax),
    ]


@pytest.mark.slow
def test_every_display_labels_its_axes_and_keeps_them(points, selector, eigenmap):
    for display in all_displays(points, selector, eigenmap):
        assert display.ax_.get_xlabel()
        assert display.ax_.get_ylabel()
        assert display.figure_ is display.ax_.figure
        display.figure_.canvas.draw()


@pytest.mark.slow
def test_every_display_draws_into_the_given_axes(points, selector, eigenmap):
    _, ax = plt.subplots()
    for display in all_displays(points, selector, eigenmap, ax):
        assert display.ax_ is ax


def test_bandwidths_have_a_log_axis_and_a_unit(selector):
    ax = selector.selection_.plot().ax_
    assert ax.get_xscale() == "log"
    assert "unit of the data" in ax.get_xlabel()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(f"{selector.bandwidth_:.3g}" in label for label in labels)


def test_singular_values_tell_the_dimension_at_the_bandwidth():
    X = make_sphere(500, random_state=0).data
    curve = geolap.dimension_curve(X, np.geomspace(0.1, 1.0, 10), random_state=0)
    ax = SingularValuesDisplay(curve, 0.4).plot().ax_
    assert any("dimension 2" in text.get_text() for text in ax.get_legend().get_texts())


def test_graph_and_dimension_are_those_of_the_metric_that_was_fitted():
    X = make_sphere(100, random_state=0).data
    D = np.linalg.norm(X[:, None] - X, axis=2)
    by_points = geolap.GeometricConsistency(random_state=0).fit(X)
    by_distances = geolap.GeometricConsistency(metric="precomputed", random_state=0).fit(D)
    searched = geolap.ConsistencySearch({"n_neighbors": [10]}, selector=geolap.GeometricConsistency(metric="precomputed"))
    for fitted in (by_distances, searched.set_params(random_state=0).fit(D)):
        fitted.selection_ = by_points.selection_  # the same bandwidths
        ours, theirs = (HealthDisplay.from_estimator(*of, random_state=0).curve for of in ((fitted, D), (by_points, X)))
        np.testing.assert_allclose(ours.effective_neighbors, theirs.effective_neighbors)
        ours, theirs = (
            SingularValuesDisplay.from_estimator(*of, random_state=0).curve for of in ((fitted, D), (by_points, X))
        )
        np.testing.assert_allclose(ours.singular_values[:, :3], theirs.singular_values[:, :3], atol=1e-9)


def test_circles_have_the_radius_that_was_asked_for(points, selector, eigenmap):
    metric = geolap.riemannian_metric(eigenmap.embedding_, eigenmap.graph_.laplacian())
    assert "radius 0.5 " in MetricDisplay(metric, radius=0.5).plot().ax_.get_title()


def test_an_isometry_shows_circles_as_circles():
    places = np.random.default_rng(0).uniform(size=(200, 2))
    outlines, radius = indicatrices(places, np.tile(np.eye(2), (200, 1, 1)), radius=0.1)
    centers = outlines[:, :-1].mean(axis=1)
    np.testing.assert_allclose(np.linalg.norm(outlines - centers[:, None], axis=2), radius)


def test_the_distortions_drawn_average_to_the_criterion(selector, eigenmap):
    display = DistortionDisplay.from_selection(selector.selection_, eigenmap.embedding_)
    selection = selector.selection_
    assert np.isclose(display.distortion.mean(), selection.scores[selection.bandwidths == selection.bandwidth][0])


def test_distortions_are_drawn_after_a_search_over_bandwidths_too(points, eigenmap):
    search = geolap.ConsistencySearch({"bandwidth": [2.0, 3.0]}, random_state=0).fit(points)
    display = DistortionDisplay.from_selection(search.selection_, eigenmap.embedding_)
    assert len(display.rows) == len(display.distortion)
    assert np.isclose(display.distortion.mean(), search.best_score_)


def test_what_cannot_be_drawn_is_told_in_a_sentence(points, eigenmap):
    with pytest.raises(ValueError, match=r"must be fitted and have chosen .* LaplacianEigenmap has no selection_: fit it"):
        SelectionDisplay.from_estimator(eigenmap)
    with pytest.raises(ValueError, match=r"the selection was made by 'median': use method 'gc'"):
        DistortionDisplay.from_selection(geolap.select_bandwidth(points, "median"), eigenmap.embedding_)
    with pytest.raises(ValueError, match=r"at least two coordinates; shape \(300, 1\) was given"):
        DistortionDisplay(eigenmap.embedding_[:, :1], np.ones(300)).plot()


def test_missing_matplotlib_is_named_with_its_extra(selector, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"Plots need matplotlib, which is not installed: pip install 'geolap\[plot\]'"):
        selector.selection_.plot()


def test_results_plot_themselves_in_one_call(points):
    eigenmap = geolap.LaplacianEigenmap(2, 3.0).fit(points)
    kinds = np.array(["a", "b", None] * 100, dtype=object)
    legend = eigenmap.plot(labels=kinds).ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "no label"]
    scale = eigenmap.plot(labels=np.linspace(0, 1, 300)).figure_
    assert len(scale.axes) == 2
    clustering = geolap.LaplacianClustering(9, bandwidth=1.0).fit(points)
    assert len(clustering.plot().ax_.get_legend().get_texts()) == 9
    assert geolap.MedianDistance().fit(points).plot().ax_.get_xlabel().startswith("bandwidth")
    assert geolap.riemannian_metric(eigenmap.embedding_, eigenmap).plot().ax_.get_title().startswith("circles")
    assert geolap.health_curve(points, [2.0, 3.0]).plot().ax_
    assert geolap.dimension_curve(points, [2.0, 3.0]).plot().ax_


@pytest.mark.parametrize("n_features", [2, 3])
def test_clusters_that_fall_apart_are_drawn_on_principal_components(n_features):
    X = np.random.default_rng(0).standard_normal((60, n_features)) + np.repeat([[0.0], [50.0]], 30, axis=0)
    drawn = []
    for features in (X, sparse.csr_array(X)):
        ax = geolap.LaplacianClustering(2, bandwidth=1.0, random_state=0).fit(features).plot().ax_
        assert ax.get_xlabel() == "principal component 1"
        drawn.append(np.concatenate([points.get_offsets() for points in ax.collections]))
    np.testing.assert_allclose(np.abs(drawn[1]), np.abs(drawn[0]), atol=1e-9)
