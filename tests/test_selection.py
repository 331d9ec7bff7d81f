"""What a selection says about itself, as fields and in words."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import geolap
from geolap import Minimum, Selection, Status

SELECTION = Selection(
    bandwidth=1.0,
    bandwidths=np.array([0.5, 1.0, 2.0, 4.0]),
    scores=np.array([1.0, 0.2, 0.9, 0.1]),
    minima=(
        Minimum(0.6, 0.9, depth=0.01, noise=0.1),
        Minimum(1.0, 0.2, depth=0.7, noise=0.1),
        Minimum(1.5, 0.3, depth=0.5, noise=0.1),
        Minimum(4.0, 0.1, depth=0.8, local=False, share=0.5),
    ),
    interval=(0.9, 1.1),
    status=Status.LOWER_ELSEWHERE,
    method="gc",
    bound=2.0,
)


def test_advice_is_rendered_with_the_names_of_whoever_reads_it():
    assert "a larger max_share looks further" in SELECTION.explain()
    assert "a larger --max-share looks further" in SELECTION.explain(lambda name, _: "--" + name.replace("_", "-"))
    assert str(SELECTION) == SELECTION.explain()


def test_every_minimum_has_a_meaning():
    meanings = [SELECTION.meaning(minimum) for minimum in SELECTION.minima]
    assert meanings[:3] == ["within noise", "selected", "another scale of the data"]
    assert meanings[3].startswith("beyond the bound on locality, neighborhoods hold 50% of the points")


@pytest.mark.parametrize("status", list(Status))
def test_only_a_clear_minimum_is_trusted(status):
    selection = replace(SELECTION, status=status)
    assert selection.trusted == (status is Status.INTERIOR)
    assert pickle.loads(pickle.dumps(selection)).status is status


def test_a_range_of_scales_is_not_called_an_interval():
    X = geolap.datasets.make_torus(300, random_state=0).data
    selection = geolap.select_bandwidth(X, "clmr", random_state=0)
    assert "Range of scales" in selection.explain()
    assert "95 %" not in selection.explain()
    assert "95 % interval 0.9 to 1.1" in SELECTION.explain()
