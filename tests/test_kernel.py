import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geolap import convert_bandwidth
from geolap.kernel import CONVENTIONS, gaussian, ladder_weights, ladders


def test_weight_at_distance_one_bandwidth_is_one_over_e():
    assert gaussian(np.array(4.0), 2.0) == pytest.approx(np.exp(-1.0))


def test_cutoff_keeps_the_border_and_drops_what_is_beyond():
    np.testing.assert_array_equal(gaussian(np.array([9.0, 9.1]), 1.0, cutoff=3.0) > 0, [True, False])


@pytest.mark.parametrize(
    ("convention", "kernel"),
    [
        ("gamma", lambda d, v: np.exp(-v * d**2)),
        ("sigma", lambda d, v: np.exp(-(d**2) / (2 * v**2))),
        ("heat_time", lambda d, v: np.exp(-(d**2) / (4 * v))),
        ("bandwidth", lambda d, v: np.exp(-(d**2) / v**2)),
    ],
)
def test_conventions_describe_the_same_kernel(convention, kernel):
    d = np.linspace(0, 3, 7)
    np.testing.assert_allclose(kernel(d, convert_bandwidth(0.7, target=convention)), gaussian(d**2, 0.7))


@given(st.sampled_from(sorted(CONVENTIONS)), st.floats(1e-6, 1e6))
def test_conversions_invert_each_other(convention, value):
    there = convert_bandwidth(value, target=convention)
    assert convert_bandwidth(there, source=convention) == pytest.approx(value, rel=1e-12)


def test_scikit_learn_agrees_on_gamma():
    from sklearn.metrics.pairwise import rbf_kernel

    X = np.random.default_rng(0).standard_normal((5, 3))
    sqdist = ((X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(rbf_kernel(X, gamma=convert_bandwidth(1.3, target="gamma")), gaussian(sqdist, 1.3))


@given(st.lists(st.floats(0.05, 20.0), min_size=1, max_size=12), st.integers(0, 30))
def test_ladders_give_the_weights_of_every_bandwidth_once(others, n_grid):
    bandwidths = np.concatenate([others, 3.0 * 2.0 ** (-np.arange(n_grid) / 4)])
    sqdist = np.linspace(0.0, 9.0, 5)[None]
    found = np.full((len(bandwidths), 5), np.nan)
    for ladder in ladders(bandwidths):
        for column, eps, W in ladder_weights(sqdist, ladder, np.empty_like(sqdist)):
            assert eps == bandwidths[column]
            assert np.isnan(found[column]).all()
            found[column] = W
    expected = gaussian(sqdist, bandwidths[:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-300)


def test_a_grid_of_ratio_fourth_root_of_two_needs_two_exponentials():
    assert len(ladders(7.3 * 2.0 ** (-np.arange(20) / 4))) == 2


@pytest.mark.parametrize(("value", "source"), [(-1.0, "gamma"), (0.0, "bandwidth"), (np.nan, "sigma")])
def test_conversion_refuses_what_is_no_bandwidth(value, source):
    with pytest.raises(ValueError, match="positive and finite"):
        convert_bandwidth(value, source=source)


def test_conversion_names_the_conventions_it_knows():
    with pytest.raises(
        ValueError, match="one of bandwidth, gamma, sigma, variance, heat_time, megaman_radius; 'beta' was given"
    ):
        convert_bandwidth(1.0, target="beta")
