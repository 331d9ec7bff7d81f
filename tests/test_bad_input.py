"""Every refusal is a sentence: what must hold, what was given, what to do."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import geolap

GOOD = np.random.default_rng(0).standard_normal((20, 3))


def with_value(value):
    X = GOOD.copy()
    X[7, 1] = value
    return X


@pytest.mark.parametrize("call", [lambda X: geolap.distortion(X, 0.5), lambda X: geolap.select_bandwidth(X)])
@pytest.mark.parametrize(
    ("X", "error", "sentence"),
    [
        (with_value(np.nan), ValueError, r"Points must be finite; the input contains NaN, first at row 7, column 1: remove"),
        (with_value(-np.inf), ValueError, r"Points must be finite; the input contains inf, first at row 7, column 1"),
        (GOOD[:2], ValueError, r"three distinct points; points of shape \(2, 3\) were given, n_samples=2: pass more"),
        (
            np.repeat(GOOD[:2], 9, axis=0),
            ValueError,
            r"At least three distinct points are needed; the 18 points given have 2",
        ),
        (np.ones((10, 4)), ValueError, r"At least three distinct points are needed; the 10 points given have 1"),
        (np.arange(9.0), ValueError, r"2-D array .* shape \(9,\) was given: Reshape your data with X.reshape\(-1, 1\)"),
        (np.zeros((4, 2, 2)), ValueError, r"2-D array .* shape \(4, 2, 2\) was given"),
        (np.array(3.0), ValueError, r"2-D array .* shape \(\) was given"),
        (
            np.array([["a", "b"], ["c", "d"], ["e", "f"]]),
            ValueError,
            r"Points must be numbers; .* 'a'.*keep the numeric columns",
        ),
        (np.array([[1.0, "x"]] * 4, dtype=object), ValueError, r"Points must be numbers; .*could not convert string"),
        (np.full((4, 2), np.datetime64("2026-01-01")), TypeError, r"Points must be numbers; .*datetime64"),
        (GOOD + 1j, ValueError, r"Complex data not supported: .*np.hstack\(\[X.real, X.imag\]\)"),
        (sparse.csr_array(GOOD * np.inf), ValueError, r"Points must be finite; the sparse input contains NaN or inf"),
        (sparse.csr_array(GOOD + 1j), ValueError, r"Points must be real numbers; a sparse matrix of complex128 was given"),
        (np.empty((5, 0)), ValueError, r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1 is required"),
        (np.empty((0, 3)), ValueError, r"n_samples=0"),
        ([[1.0, 2.0], [3.0]], ValueError, r"table of numbers; .*: give every row the same length"),
        (np.ma.masked_array(GOOD, GOOD > 1), ValueError, r"a masked array with \d+ masked entries was given: fill them in"),
        (None, ValueError, r"2-D array .* shape \(\) was given"),
    ],
)
def test_points(call, X, error, sentence):
    with pytest.raises(error, match=sentence):
        call(X)


@pytest.mark.parametrize(
    ("bandwidths", "sentence"),
    [
        (0.0, r"bandwidths must be positive and finite; 0.0 was given"),
        ([0.5, -1.0], r"bandwidths must be positive and finite; -1.0 was given"),
        (np.nan, r"bandwidths must be positive and finite; nan was given"),
        (np.inf, r"bandwidths must be positive and finite; inf was given"),
        ([], r"bandwidths must be a number or a 1-D sequence of numbers; shape \(0,\) was given"),
        ([[1.0]], r"shape \(1, 1\) was given"),
        ("a", r"bandwidths must be numbers; 'a' was given"),
    ],
)
def test_bandwidths(bandwidths, sentence):
    with pytest.raises(ValueError, match=sentence):
        geolap.distortion(GOOD, bandwidths)


@pytest.mark.parametrize(
    "call", [lambda X, d: geolap.distortion(X, 0.5, working_dim=d), lambda X, d: geolap.select_bandwidth(X, working_dim=d)]
)
@pytest.mark.parametrize(
    ("X", "working_dim", "sentence"),
    [
        (GOOD, 4, r"working_dim must be at most the number of features; 4 was given for 3 feature\(s\): lower it"),
        (GOOD[:3], 3, r"working_dim must be less than the number of distinct points; 3 was given for 3 of them: lower it"),
        (np.repeat(GOOD[:3], 5, axis=0), 3, r"less than the number of distinct points; 3 was given for 3 of them"),
        (GOOD * [1, 0, 1], 3, r"directions in which the points vary; 3 was given for points that vary in 2: lower it"),
        (GOOD, 0, r"working_dim must be a whole number of at least 1; 0 was given"),
        (GOOD, 1.5, r"working_dim must be a whole number of at least 1; 1.5 was given"),
        (GOOD, True, r"working_dim must be a whole number"),
    ],
)
def test_working_dim(call, X, working_dim, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(X, working_dim)


@pytest.mark.parametrize(
    ("sample", "sentence"),
    [
        (0, r"sample must be a 1-D sequence of row indices; shape \(\) .* or n_sample for random points"),
        ([0, 20], r"row indices from 0 to 19; 0 to 20 were given"),
        ([-1], r"row indices from 0 to 19"),
        ([0.5], r"sample must be a 1-D sequence of row indices; shape \(1,\) and dtype float64"),
        ([], r"sample must be a 1-D sequence of row indices; shape \(0,\)"),
    ],
)
def test_sample(sample, sentence):
    with pytest.raises(ValueError, match=sentence):
        geolap.distortion(GOOD, 0.5, sample=sample)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"rule": "best"}, r"rule must be one of 'global', 'first'; 'best' was given"),
        ({"max_share": 0}, r"max_share must be a number above 0 and at most 1; 0 was given"),
        ({"max_share": 1.5}, r"max_share must be a number above 0 and at most 1; 1.5 was given"),
        ({"n_sample": 1}, r"n_sample must be a whole number of at least 2; 1 was given"),
        ({"renormalization": np.inf}, r"renormalization must be a number of at least 0 and at most 10; inf was given"),
        ({"dual": "no"}, r"dual must be one of True, False; 'no' was given"),
        ({"engine": "abacus"}, r"engine must be one of 'auto', 'dense', 'tiled', 'cells', 'device'; 'abacus' was given"),
        ({"method": "guess"}, r"method must be one of 'gc', 'rec', .*; 'guess' was given"),
    ],
)
def test_parameters(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        geolap.select_bandwidth(GOOD, **params)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"n_neighbors": "x"}, r"a whole number of at least 1, 'auto' or None; 'x' was given: choose one of them"),
        ({"local_scale": "x"}, r"None, a number of neighbors, 'regional' or a LocalScale; 'x' was given"),
    ],
)
def test_words_that_are_accepted_beside_numbers_are_named(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        geolap.LaplacianEigenmap(**params).fit(GOOD)


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.fit(GOOD),
        lambda model: model.fit_transform(GOOD),
        lambda model: make_pipeline(StandardScaler(), model).fit(GOOD),
    ],
)
def test_a_warning_points_to_the_line_that_called_the_package(call):
    with pytest.warns(geolap.UnresolvedWarning) as heard:
        call(geolap.LaplacianEigenmap(bandwidth="rec", n_neighbors=None, random_state=0))
    assert heard[0].filename == __file__


def test_a_mask_of_evaluation_points_means_its_true_rows():
    mask = np.arange(20) < 5
    np.testing.assert_array_equal(geolap.distortion(GOOD, 0.5, sample=mask).sample, np.arange(5))


def test_results_do_not_alias_what_was_passed():
    bandwidths, sample = np.array([1.0, 2.0]), np.array([1, 2])
    curve = geolap.distortion(GOOD, bandwidths, sample=sample)
    bandwidths[0], sample[0] = 99.0, 9
    assert curve.bandwidths[0] == 1.0
    assert curve.sample[0] == 1
