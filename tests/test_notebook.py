"""What results show in a notebook: well-formed HTML without scripts, everything escaped."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import geolap
from geolap.datasets import make_sphere


@pytest.fixture(scope="module")
def points():
    return make_sphere(200, random_state=0).data


@pytest.fixture(scope="module")
def selection(points):
    return geolap.select_bandwidth(points, random_state=0)


def parsed(result):
    return ElementTree.fromstring(result._repr_html_())


def words(tree):
    return " ".join(tree.itertext())


def test_a_selection_shows_its_bandwidth_curve_and_status(selection):
    tree = parsed(selection)
    assert f"Bandwidth {selection.bandwidth:.4g}" in words(tree)
    assert str(selection.status) in words(tree)
    assert str(selection.status) in str(selection)
    assert len(tree.find(".//polyline").get("points").split()) == len(selection.bandwidths)


def test_a_comparison_shows_every_rule(points):
    comparison = geolap.compare_bandwidths(points, ["gc", "median", "knn"], random_state=0)
    assert len(parsed(comparison).findall(".//tbody/tr")) == 3


def test_health_and_dimension_show_their_numbers(points):
    assert "components" in words(parsed(geolap.graph_health(points, 0.3)))
    estimate = geolap.intrinsic_dimension(points, 0.5, random_state=0)
    assert f"Dimension {estimate.dimension} at bandwidth 0.5" in words(parsed(estimate))


def test_names_are_escaped(selection):
    hostile = replace(selection, method="<script>alert(1)</script>")
    assert "<script>" not in hostile._repr_html_()
    assert "<script>alert(1)</script>" in words(parsed(hostile))


def test_infinite_scores_are_left_out_of_the_curve(selection):
    scores = selection.scores.copy()
    scores[:3] = np.inf
    points = parsed(replace(selection, scores=scores)).find(".//polyline").get("points")
    assert len(points.split()) == len(scores) - 3
    assert "inf" not in points
    assert "nan" not in points


def test_every_rule_can_be_shown(points):
    for method in ("rec", "bgh", "clmr", "median", "knn", "semigroup"):
        assert parsed(geolap.select_bandwidth(points, method)) is not None
