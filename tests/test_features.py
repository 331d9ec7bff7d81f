"""What is odd about the columns of a table."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn import datasets as sets
from sklearn.preprocessing import StandardScaler

from geolap import datasets
from geolap.data.features import feature_remarks
from geolap.sentences import Remark


def kinds(X):
    return [(remark.kind, remark.feature) for remark in feature_remarks(X)]


def normal(n=400, r=4):
    return np.random.default_rng(0).normal(size=(n, r))


def in_shell(remark):
    return remark.text.named(lambda name, value: f"--{name}" if value is None else f"--{name} {value}")


MANIFOLDS = {name: getattr(datasets, name) for name in datasets.__all__ if name.startswith("make_")}


@pytest.mark.parametrize("name", MANIFOLDS)
def test_nothing_is_odd_about_a_manifold(name):
    assert kinds(MANIFOLDS[name](1000, random_state=0).data) == []


@pytest.mark.parametrize("name", ["digits", "iris", "diabetes", "breast_cancer", "linnerud"])
def test_nothing_is_odd_about_common_tables(name):
    assert kinds(getattr(sets, f"load_{name}")().data) == []


def test_nothing_is_odd_about_diabetes_before_scikit_learn_scales_it():
    assert kinds(sets.load_diabetes(scaled=False).data) == []


def test_proline_dominates_wine():
    wine = sets.load_wine()
    (remark,) = feature_remarks(wine.data)
    variances = wine.data.var(axis=0)
    assert (remark.kind, wine.feature_names[remark.feature]) == ("dominant", "proline")
    assert remark.share == pytest.approx(variances.max() / variances.sum())
    said = "Feature 12 has 99.8 % of the variance, so it dominates the distances: if the features have different units, use"
    assert remark.text == f"{said} scikit-learn's StandardScaler first."
    assert in_shell(remark) == f"{said} --standardize first."
    assert kinds(StandardScaler().fit_transform(wine.data)) == []


@pytest.mark.parametrize(("factor", "found"), [(9.1, [("dominant", 1)]), (8.9, [])])
def test_a_feature_dominates_from_nine_tenths_of_the_variance(factor, found):
    X = StandardScaler().fit_transform(normal(r=2))
    assert kinds(X * [1.0, np.sqrt(factor)]) == found


@pytest.mark.parametrize("unit", [1e-320, 1e-300, 1.0, 1e300])
def test_shares_do_not_depend_on_the_unit(unit):
    X = np.clip(normal(), -4, 4) * [1.0, 100.0, 1.0, 1.0]
    (remark,) = feature_remarks(X * unit)
    assert remark.share == pytest.approx(feature_remarks(X)[0].share, rel=1e-3)
    assert remark.share > 0.99


def test_an_offset_is_no_variance():
    assert kinds(normal() + np.array([1e9, 0.0, 0.0, 0.0])) == []
    assert kinds(np.column_stack([np.full(400, 1e300), normal() * 1e-300])) == []


def test_a_feature_that_varies_alone_does_not_dominate():
    assert kinds(np.column_stack([normal(r=1), np.ones(400)])) == []
    assert kinds(normal(r=1)) == []


@pytest.mark.parametrize("n", [400, 30_001])
@pytest.mark.parametrize("step", [1, -1, 7])
def test_a_column_that_counts_rows_is_told_once(n, step):
    X = np.column_stack([normal(n, 3), 5 + step * np.arange(n)])
    (remark,) = feature_remarks(X)
    assert (remark.kind, remark.feature) == ("index", 3)
    assert remark.share > 0.99
    said = "Feature 3 increases by the same amount from row to row, as row numbers do: unless it was measured, use"
    assert remark.text == f"{said} the other columns."
    assert in_shell(remark) == f"{said} --drop."


def test_a_row_number_needs_constant_steps_and_something_it_numbers():
    n = 400
    once_off = np.arange(n)
    once_off[200:] += 1
    scale = normal() * 1000
    assert kinds(np.column_stack([scale, once_off])) == []
    assert kinds(np.column_stack([scale, np.random.default_rng(0).permutation(n)])) == []
    assert kinds(np.column_stack([scale, np.arange(n) / 10 + 0.05])) == []
    assert kinds(np.arange(2.0 * n).reshape(n, 2)) == []


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_classes_left_among_the_features_are_told(name):
    X, y = getattr(sets, f"load_{name}")(return_X_y=True)
    found = [remark for remark in feature_remarks(np.column_stack([X, y])) if remark.kind == "label"]
    assert [remark.feature for remark in found] == [X.shape[1]]
    said = "equally spaced values, while most other features take more: if it holds classes, use it as"
    assert found[0].text == f"Feature {X.shape[1]} takes only {len(np.unique(y))} {said} y."
    assert in_shell(found[0]).endswith(f"{said} --labels.")


@pytest.mark.parametrize(
    ("first", "name", "kind"),
    [
        (2001, None, "time"),
        (2001, "wave", "time"),
        (1, "year", "time"),
        (1, "Survey_Year", "time"),
        (1, "yearling", "label"),
        (1, "kind", "label"),
        (1, None, "label"),
    ],
)
def test_a_time_is_no_label(first, name, kind):
    table = np.column_stack([normal(), first + np.arange(400) % 8])
    (remark,) = (each.of(name and [*"abcd", name]) for each in feature_remarks(table) if each.feature == 4)
    assert remark.kind == kind
    assert ("if it holds classes" in remark.text) == (kind == "label")
    assert in_shell(remark).endswith("unless time is a feature, use --drop." if kind == "time" else "use it as --labels.")


@pytest.mark.parametrize("ddof", [0, 1])
def test_standardizing_hides_neither_row_numbers_nor_classes(ddof):
    X, y = sets.load_iris(return_X_y=True)
    table = np.column_stack([X, np.arange(150) + 1000, y])
    table = (table - table.mean(axis=0)) / table.std(axis=0, ddof=ddof)
    assert [remark for remark in kinds(table) if remark[0] in ("index", "label")] == [("index", 4), ("label", 5)]


def test_a_matrix_of_distances_is_told():
    X = normal()
    D = np.linalg.norm(X[:, None] - X, axis=2)
    assert kinds(D) == [("distances", None)]
    assert kinds(X.T @ X) == kinds(np.triu(D)) == []
    remark = feature_remarks(D)[0]
    assert str(remark.text).endswith("set metric='precomputed'.")
    assert in_shell(remark).endswith("set --metric precomputed.")


def test_labels_of_two_classes_may_be_plus_and_minus_one():
    assert kinds(np.column_stack([normal(), np.sign(normal(r=1))])) == [("label", 4)]


def test_whole_numbers_alone_are_no_labels():
    rng = np.random.default_rng(0)
    scale = normal() * 10
    digits = sets.load_digits()
    assert kinds(np.column_stack([digits.data, digits.target])) == []
    assert kinds(rng.poisson(3.0, (400, 6))) == []  # counts
    assert kinds(np.column_stack([scale, rng.integers(0, 2, (400, 3))])) == []  # codes
    assert kinds(np.column_stack([scale, rng.integers(0, 40, 400)])) == []
    assert kinds(np.column_stack([scale, rng.integers(0, 5, 400) * 10])) == []
    assert kinds(np.column_stack([scale[:40], rng.integers(0, 5, 40)])) == []  # too few rows for five classes


@pytest.mark.parametrize("unit", [1, 0.25, 255, 1e-200, 1e200])
def test_answers_on_a_scale_of_five_are_discrete(unit):
    answers = np.random.default_rng(0).integers(1, 6, (1000, 8)) * unit
    (remark,) = feature_remarks(answers)
    assert remark == Remark("discrete", remark.text, step=remark.step)
    assert remark.step == pytest.approx(unit)
    assert remark.text == in_shell(remark)
    assert (
        f"more than 5 values, so distances take at most {1 + 8 * 16} values, none between 0 and {unit:.3g}: " in remark.text
    )


def test_the_number_of_distances_is_an_upper_bound():
    answers = np.random.default_rng(0).integers(0, 4, (1000, 3))
    squares = ((answers[:, None] - answers) ** 2).sum(axis=2)
    (remark,) = [remark for remark in feature_remarks(answers) if remark.kind == "discrete"]
    assert remark.text.values["distances"] == 28
    assert len(np.unique(squares)) <= 28


def test_fine_values_and_many_features_are_not_discrete():
    rng = np.random.default_rng(0)
    assert kinds(rng.integers(0, 17, (2000, 8))) == []
    assert kinds(rng.integers(0, 2, (300, 500))) == []  # up to 500 distances for 300 points
    assert kinds(np.column_stack([rng.integers(0, 5, (1000, 8)), 20 * normal(1000, 8)])) == []
    assert kinds(StandardScaler().fit_transform(rng.integers(0, 5, (1000, 8)))) == []  # no common step


def test_copies_are_told_from_one_in_twenty():
    X = normal(100)
    X[:5] = X[50]
    assert kinds(X) == []
    X[5] = X[50]
    (remark,) = feature_remarks(X)
    assert (remark.kind, remark.feature, remark.share) == ("duplicates", None, pytest.approx(0.06))
    assert remark.text == "6 % of the points are copies of others: remove the copies, unless they were measured separately."
    signed = np.vstack([np.zeros((7, 4)), -np.zeros((7, 4)), normal(186)])
    assert [remark.share for remark in feature_remarks(signed)] == [pytest.approx(13 / 200)]


def heights(code, times=34):
    X = np.column_stack([170.0 + 10.0 * normal(500, 1), 70.0 + 10.0 * normal(500, 2)[:, 1:]])
    X[3 : 3 + times, 0] = code
    return X


@pytest.mark.parametrize("code", [-999, 999, -99, 9999, -9999, -99.9, 999.9, -9, -9999999, 1e20, -1e30, 3.4e38])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_code_for_missing_values_is_told_once(code, kind):
    found = [remark for remark in feature_remarks(heights(code).astype(kind)) if remark.kind != "duplicates"]
    assert [(remark.kind, remark.feature) for remark in found] == [("missing_code", 0)]


def test_the_code_is_named_with_what_to_do_about_it():
    X = heights(-999)
    (remark,) = feature_remarks(X)
    said = "Feature 0 contains -999 34 times, far from all its other values: if it is a code for missing values, use"
    assert remark.text == f"{said} the rows without it."
    assert in_shell(remark) == f"{said} --na_values."
    X[100:140, 1] = -99.9
    (remark,) = feature_remarks(X)
    assert "Feature 1 contains -99.9 40 times, far from all its other values (1 other feature too): if" in remark.text
    many = normal(40_000)
    many[::100, 3] = -9999
    assert "times in 20000 rows, far" in feature_remarks(many)[0].text


@pytest.mark.parametrize("code", [-9, 9])
def test_nine_is_a_code_among_answers_from_one_to_five(code):
    answers = np.random.default_rng(0).integers(1, 6, (1000, 8)).astype(float)
    answers[::50, 2] = code
    assert ("missing_code", 2) in kinds(answers)


@pytest.mark.parametrize(
    "X",
    [
        heights(-999, times=1),
        heights(-998),
        heights(240),
        np.clip(np.rint(60 + 25 * normal(2000)), 0, 99),  # ages
        np.where(normal(2000) > 0, 255, np.abs(np.rint(100 * normal(2000)) % 250)),  # overexposed images
        np.where(normal(2000) > 2.5, 99, normal(2000) > 2),  # counts that are nearly always 0
        np.random.default_rng(0).poisson(1.0, (5000, 30)),
        np.random.default_rng(0).geometric(0.4, (400, 30)),
    ],
    ids=["once", "998", "240", "ages", "images", "rare", "poisson", "geometric"],
)
def test_ordinary_values_are_no_codes_for_missing_ones(X):
    assert "missing_code" not in [kind for kind, _ in kinds(X)]


def test_dates_written_as_numbers_are_told():
    days = np.datetime64("2019-11-20") + np.random.default_rng(0).integers(0, 400, 400)
    dates = np.array([int(str(day).replace("-", "")) for day in days])
    X = np.column_stack([normal(), dates])
    (remark,) = feature_remarks(X)
    assert (remark.kind, remark.feature) == ("date", 4)
    said = "Feature 4 looks like dates written as numbers, so its differences are not durations: use days since a start date"
    assert remark.text == f"{said} instead, or the other columns."
    assert in_shell(remark) == f"{said} instead, or --drop."


@pytest.mark.parametrize("odd", [20190229, 20191301, 20190431, 20190100, 18991231, 21000101, 2019, 20190101.5])
def test_one_number_that_is_no_day_makes_no_dates(odd):
    X = np.column_stack([1e7 * normal(), np.resize([20190101, 20200229, 20211231], 400)])
    assert ("date", 4) in kinds(X)
    X[7, 4] = odd
    assert ("date", 4) not in kinds(X)
    X[:, 4] = 20200101
    assert ("date", 4) not in kinds(X)


def test_few_points_say_nothing():
    assert kinds(normal(19) * [1.0, 1000.0, 1.0, 1.0]) == []


def test_many_rows_are_not_all_read():
    class Counted(np.ndarray):
        read = 0

        def __getitem__(self, key):
            Counted.read += np.size(key)
            return np.asarray(self)[key]

    feature_remarks(normal(30_000).view(Counted))
    assert Counted.read == 20_000


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.float16, np.float32])
def test_any_kind_of_number_will_do(kind):
    feature_remarks((np.abs(normal()) * 50).astype(kind))


@settings(max_examples=150, deadline=None)
@given(
    X=arrays(
        float,
        array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=30).map(lambda shape: (shape[0] + 10, shape[1])),
        elements=st.floats() | st.sampled_from([0.0, 1.0, -1.0, 2.0**53, 1e300, -1e300, 1.7e308, 5e-324]),
    ),
    counts=st.booleans(),
)
def test_odd_numbers_are_neither_errors_nor_warnings(X, counts):
    if counts:
        X[:, 0] = np.arange(len(X))
    before = X.copy()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for remark in feature_remarks(X):
            assert remark.text
            assert remark.share is None or 0 <= remark.share <= 1
            assert (remark.feature is None) == (remark.kind in ("discrete", "distances", "duplicates"))
    np.testing.assert_array_equal(X, before)
