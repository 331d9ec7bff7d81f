"""Health and dimension at many bandwidths agree with those at one."""

import numpy as np
import pytest

import geolap
from geolap.data.points import Points
from geolap.datasets import make_sphere
from geolap.graphs.health import components_within

SCALES = np.geomspace(0.01, 1.0, 12)


@pytest.fixture(scope="module")
def points():
    X = make_sphere(300, random_state=0).data
    return np.vstack([X, X[:3], [[5.0, 5.0, 5.0]]])  # duplicates, and an outlier


def test_components_at_all_bandwidths_are_those_at_each(points):
    curve = geolap.health_curve(points, SCALES, n_sample=None)
    for eps, components, largest, isolated in zip(
        SCALES, curve.components, curve.largest_component, curve.isolated, strict=True
    ):
        sizes = np.bincount(components_within(Points(points), 3.0 * eps / Points(points).unit))
        assert components == len(sizes)
        assert largest == sizes.max()
        assert np.isclose(isolated * len(points), (sizes == 1).sum())


def test_neighbors_at_all_bandwidths_are_those_at_each(points):
    curve = geolap.health_curve(points, SCALES, n_sample=None)
    one = geolap.graph_health(points, SCALES[7], n_sample=None)
    np.testing.assert_allclose(curve.effective_neighbors[7], one.effective_neighbors)


def test_many_points_are_counted_over_a_sample(monkeypatch, points):
    monkeypatch.setattr("geolap.graphs.health._MOST_POINTS_LINKED", 100)
    curve = geolap.health_curve(points, SCALES, n_sample=None)
    assert curve.components is None
    np.testing.assert_allclose(curve.isolated[-1], 1 / len(points))


def test_the_dimension_at_all_bandwidths_is_that_at_each(points):
    curve = geolap.dimension_curve(points, SCALES, n_sample=None)
    one = geolap.intrinsic_dimension(points, SCALES[9], n_sample=None).neighborhoods
    assert curve.votes[9] == one.vote
    assert np.isclose(curve.shares[9], one.share)
    np.testing.assert_allclose(curve.singular_values[9], one.singular_values[:, :4].mean(axis=0), atol=1e-12)
