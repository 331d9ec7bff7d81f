"""Labels of a few points spread to all: the closed form, the benchmark, new points, bad labels."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.semi_supervised import LabelSpreading

import geolap
from geolap.datasets import load_ssl_book, make_sphere
from geolap.estimators import labels
from geolap.graphs.extension import extend
from geolap.graphs.smooth_regression import SIZES, signs_of, smooth_fit, smooth_functions, weights_of_graphs

# At most so many per cent wrong on the unlabeled points, mean of the 12 splits of 100 labels.
MOST_WRONG = {"digit1": 2.5, "g241c": 15.0, "g241d": 11.0, "usps": 6.0, "bci": 47.0, "coil": 13.5}


def two_spheres(n=200):
    X = np.vstack([make_sphere(n, random_state=0).data, make_sphere(n, random_state=1).data + np.array([2.5, 0, 0])])
    truth = np.repeat([0, 1], n)
    y = np.full(2 * n, -1)
    known = np.r_[0:10, n : n + 10]
    y[known] = truth[known]
    return X, y, truth


@pytest.mark.parametrize("classes", [True, False])
def test_left_out_predictions_are_those_of_fits_without_the_label(classes):
    rng = np.random.default_rng(0)
    Phi, eigenvalues = rng.standard_normal((50, 8)), np.linspace(0, 1, 8)
    labeled = rng.choice(50, 20, replace=False)
    target = np.where(rng.standard_normal((20, 3)) > 0, 1.0, -1.0)
    setting = {"classes": classes, "sizes": (6,), "powers": (2.0,), "penalties": (0.3,)}
    fit = smooth_fit(Phi, eigenvalues, labeled, target, **setting)
    for k in range(20):
        others = np.delete(np.arange(20), k)
        without = smooth_fit(Phi, eigenvalues, labeled[others], target[others], **setting)
        np.testing.assert_allclose(fit.left_out[k], without.scores[labeled[k]], rtol=1e-8)


def test_scores_minimize_the_penalized_squares():
    rng = np.random.default_rng(0)
    Phi, eigenvalues = rng.standard_normal((40, 5)), np.array([0.1, 0.2, 0.5, 1.0, 1.5])
    Phi /= np.sqrt((Phi**2).mean(axis=0))
    labeled, target = np.arange(12), rng.standard_normal((12, 1))
    m, mu = 2.0, 0.7
    fit = smooth_fit(Phi, eigenvalues, labeled, target, classes=False, sizes=(5,), powers=(m,), penalties=(mu,))
    A = Phi[labeled]
    a = np.linalg.solve(A.T @ A + mu * np.diag(eigenvalues**m), A.T @ target)
    np.testing.assert_allclose(fit.scores, Phi @ a, rtol=1e-9)
    assert (fit.size, fit.power, fit.penalty) == (5, m, mu)


@pytest.mark.parametrize(("name", "dual"), [("gc", True), ("gc_inverse", False)])
def test_a_name_of_geometric_consistency_means_its_selector(name, dual):
    X, y, _ = two_spheres(60)
    named, made = (
        geolap.LaplacianClassifier(rule, random_state=0).fit(X, y)
        for rule in (name, geolap.GeometricConsistency(dual=dual, random_state=0))
    )
    assert list(named.graph_weights_) == list(made.graph_weights_)
    assert len(named.graph_weights_) == 2
    np.testing.assert_array_equal(named.predict_proba(X), made.predict_proba(X))


def test_new_points_that_are_far_away_are_told_once_however_many_graphs_count():
    X, y, _ = two_spheres(60)
    classifier = geolap.LaplacianClassifier(random_state=0).fit(X, y)
    assert len(classifier.graph_weights_) == 2
    with pytest.warns(UserWarning, match="within reach; 2 of 3 have none") as heard:
        classifier.predict(np.vstack([X[:1], X[:2] + 1000.0]))
    assert len(heard) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", MOST_WRONG)
def test_errors_on_the_real_benchmark(name, monkeypatch):
    data, built, graphs_of = load_ssl_book(name), [], geolap.LaplacianClassifier._graphs

    def noted(*given):
        built.extend(graphs_of(*given))
        return built

    monkeypatch.setattr(geolap.LaplacianClassifier, "_graphs", noted)
    known = [np.where(np.isin(np.arange(len(data.target)), rows), data.target, -1) for rows in data.splits]
    whole = geolap.LaplacianClassifier(random_state=0).fit(data.data, known[0])
    # The classifier on every split, from one eigenproblem for each graph.
    some = np.unique(np.concatenate(data.splits))
    functions = [smooth_functions(each.kernel, some, max(SIZES)) for each in built]
    wrong, theirs = [], []
    for split, (rows, y) in enumerate(zip(data.splits, known, strict=True)):
        unlabeled = y < 0
        fits = [each.fit(rows, signs_of(y[rows], data.target.max() + 1), classes=True) for each in functions]
        weights = weights_of_graphs(fits, len(rows), classes=True)
        ours = sum(weight * fit.scores for weight, fit in zip(weights, fits, strict=True)).argmax(axis=1)
        if split == 0:
            assert np.mean(whole.transduction_[unlabeled] == ours[unlabeled]) > 0.999  # one settles for its own components
        wrong.append(np.mean(ours[unlabeled] != data.target[unlabeled]))
        with np.errstate(invalid="ignore"):
            spread = LabelSpreading().fit(data.data, y)
        theirs.append(np.mean(spread.transduction_[unlabeled] != data.target[unlabeled]))
    assert 100 * np.mean(wrong) <= MOST_WRONG[name]
    assert np.mean(wrong) < np.mean(theirs)


def test_labeled_points_keep_their_labels_and_others_are_found():
    X, y, truth = two_spheres()
    model = geolap.LaplacianClassifier(random_state=0).fit(X, y)
    assert (model.transduction_ == truth).mean() > 0.97
    np.testing.assert_array_equal(model.transduction_[y >= 0], truth[y >= 0])
    new = np.vstack([make_sphere(50, random_state=2).data, make_sphere(50, random_state=3).data + np.array([2.5, 0, 0])])
    assert (model.predict(new) == np.repeat([0, 1], 50)).mean() > 0.97
    P = model.predict_proba(new)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(new))


@pytest.mark.slow
def test_probabilities_mean_what_they_say():
    X, truth = load_digits(return_X_y=True)
    y = truth.copy()
    y[np.random.default_rng(0).permutation(len(y))[150:]] = -1
    model = geolap.LaplacianClassifier(random_state=0).fit(X, y)
    unlabeled = y < 0
    P = model.predict_proba(X)[unlabeled]
    right = P.argmax(axis=1) == truth[unlabeled]
    assert right.mean() > 0.93
    assert P.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.06)
    unsure = P.max(axis=1) < 0.8
    assert right[unsure].mean() < right[~unsure].mean() - 0.2


def test_missing_labels_of_tables_are_unlabeled():
    X, y, _ = two_spheres(60)
    reference = geolap.LaplacianClassifier(0.7).fit(X, y).transduction_
    for dtype in ("string", "Int64", "category", object):
        words = pd.Series(["ab"[k] if k >= 0 else None for k in y])
        given = words.map({"a": 0, "b": 1}).astype("Int64") if dtype == "Int64" else words.astype(dtype)
        found = geolap.LaplacianClassifier(0.7).fit(X, given).transduction_
        np.testing.assert_array_equal(found == found[reference == 1][0], reference == 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [str, object, float, np.int8])
def test_labels_may_be_words_or_numbers(kind):
    X, y, _ = two_spheres(60)
    reference = geolap.LaplacianClassifier(0.7).fit(X, y).transduction_
    if kind in (str, object):
        words = np.array(["cat", "dog"])[reference]
        given = np.array(["cat", "dog", "-1"] if kind is str else ["cat", "dog", None], dtype=kind)[y]
        np.testing.assert_array_equal(geolap.LaplacianClassifier(0.7).fit(X, given).transduction_, words)
    else:
        given = y.astype(kind)
        if kind is float:
            given[given == -1] = np.nan
        np.testing.assert_array_equal(geolap.LaplacianClassifier(0.7).fit(X, given).transduction_, reference)


def test_given_parameters_are_used():
    X, y, _ = two_spheres(60)
    model = geolap.LaplacianClassifier(0.7, n_eigenvectors=7, power=3.0, penalty=0.1).fit(X, y)
    assert (model.n_eigenvectors_, model.power_, model.penalty_) == (7, 3.0, 0.1)


def test_components_without_labels_are_reported():
    X, y, _ = two_spheres(60)
    X = np.vstack([X, [[500.0, 0, 0], [500.1, 0, 0], [900.0, 0, 0]]])
    y = np.r_[y, [-1, -1, -1]]
    with pytest.warns(UserWarning, match=r"3 of 123 points are in components without one \(the graph has 3\)"):
        model = geolap.LaplacianClassifier(0.7).fit(X, y)
    assert model.n_unreached_ == 3
    P, nearest = model.predict_proba(X), X[:-3, 0].argmax()
    np.testing.assert_allclose(P[-3:], P[[nearest] * 3])
    assert (model.transduction_[-3:] == model.transduction_[nearest]).all()


def test_small_parts_without_labels_have_the_class_of_those_nearest():
    rng = np.random.default_rng(0)
    places = ((0.0, 0.0), 0.05, 500), ((5.0, 0.0), 1.0, 250), ((0.0, 4.0), 0.3, 30)
    X = np.vstack([rng.normal(center, spread, (n, 2)) for center, spread, n in places])
    truth, y = np.repeat([0, 1, 2], [500, 250, 30]), np.full(780, -1)
    y[[0, 1, 2, 3, 500, 501, 502, 750]] = truth[[0, 1, 2, 3, 500, 501, 502, 750]]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = geolap.LaplacianClassifier(random_state=0).fit(X, y)
    assert len(told) <= 1
    assert (model.transduction_ == truth).mean() > 0.995


def test_a_graph_in_many_pieces_is_classified_piece_by_piece():
    rng = np.random.default_rng(0)
    X = np.vstack([100.0 * k + rng.standard_normal((10, 2)) for k in range(30)])
    truth = np.repeat(np.arange(30) % 3, 10)
    y = np.full(300, -1)
    y[::10] = truth[::10]
    model = geolap.LaplacianClassifier(3.0).fit(X, y)
    assert model.n_graph_components_ == 30
    np.testing.assert_array_equal(model.transduction_, truth)


@pytest.mark.slow
def test_sparse_kernels_classify_like_the_dense_one():
    X, y, _ = two_spheres(400)
    dense = geolap.LaplacianClassifier(0.35).fit(X, y).transduction_
    for params in ({"cutoff": 4.0}, {"n_neighbors": 40}, {"n_neighbors": 40, "local_scale": 10}):
        other = geolap.LaplacianClassifier(0.35, **params).fit(X, y)
        assert (other.transduction_ == dense).mean() > 0.98


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, r"requires y to be passed, but the target y is None"),
        (np.full(120, -1), r"at least two classes; all are unlabeled \(-1 means unlabeled\): label some points of each"),
        (
            np.zeros(120, dtype=int),
            r"at least two classes; all labeled ones are of class 0 .*: label points of other classes",
        ),
        (np.zeros(7), r"y must have one entry for each of the 120 points; 7 were given: match them"),
        (np.linspace(0, 1, 120), r"Unknown label type: .*numbers with fractions were given: use LaplacianRegressor"),
        (
            np.where(np.arange(120) < 60, -1, 1),
            r"all labeled ones are of class 1 \(-1 means unlabeled\): label points of other",
        ),
        (np.array([1, "two"] * 60, dtype=object), r"Labels must be all words or all numbers; both were given"),
        (np.ma.masked_equal(np.arange(120) % 3, 0), r"y must be complete; a masked array was given: fill it with -1"),
        (np.zeros((120, 2)), r"one entry for each point; shape \(120, 2\) was given: fit one column at a time"),
        (np.zeros((1, 120)), r"one entry for each point; shape \(1, 120\) was given: pass y.ravel\(\)"),
    ],
)
def test_bad_labels_are_answered_in_words(y, sentence):
    X, _, _ = two_spheres(60)
    with pytest.raises(ValueError, match=sentence):
        geolap.LaplacianClassifier(0.7).fit(X, y)


def test_many_classes_of_one_label_each_are_doubted():
    X, _, _ = two_spheres(60)
    single = np.where(np.arange(120) < 21, np.arange(120), -1)
    with pytest.warns(UserWarning, match="Each of the 21 classes has only one labeled point: check that y contains classes"):
        geolap.LaplacianClassifier(0.7).fit(X, single)
    for few in (np.where(single == 20, -1, single), np.where(single == 20, 0, single)):  # warnings are errors
        geolap.LaplacianClassifier(0.7).fit(X, few)


@pytest.mark.slow
def test_regressor_finds_smooth_functions():
    X = make_sphere(1000, random_state=0).data
    truth = X[:, 2] ** 2 + X[:, 0]
    y = np.where(np.arange(1000) < 80, truth, np.nan)
    model = geolap.LaplacianRegressor(random_state=0).fit(X, y)
    assert np.abs(model.transduction_ - truth)[80:].mean() < 0.05 * np.ptp(truth)
    new = make_sphere(100, random_state=1).data
    assert np.abs(model.predict(new) - new[:, 2] ** 2 - new[:, 0]).mean() < 0.06 * np.ptp(truth)
    shifted = geolap.LaplacianRegressor(model.bandwidth_).fit(X, 1e3 + 10 * y)
    np.testing.assert_allclose(shifted.transduction_, 1e3 + 10 * model.transduction_, rtol=1e-6)
    for size in (1e-200, 1e200):
        scaled = geolap.LaplacianRegressor(model.bandwidth_).fit(X, size * y)
        np.testing.assert_allclose(scaled.transduction_, size * model.transduction_, rtol=1e-6)
    constant = geolap.LaplacianRegressor(model.bandwidth_).fit(X, np.full(1000, 7.0))
    np.testing.assert_allclose(constant.transduction_, 7.0)
    with pytest.raises(ValueError, match=r"Numbers have no classes, .*bandwidth='cv' was given"):
        geolap.LaplacianRegressor("cv").fit(X, y)


@pytest.mark.filterwarnings("ignore:Every component of the graph:UserWarning", "ignore:New points should have:UserWarning")
@pytest.mark.parametrize("params", [{}, {"n_neighbors": None}, {"n_neighbors": 10}], ids=str)
def test_numbers_stay_within_the_range_of_the_known_ones(params):
    rng = np.random.default_rng(3)
    X = rng.standard_t(2, size=(400, 4))  # outliers that no label is near
    known, y = rng.permutation(400)[:40], np.full(400, np.nan)
    y[known] = np.tanh(X[known, 0])
    model = geolap.LaplacianRegressor(random_state=0, **params).fit(X, y)
    for found in (model.transduction_, model.predict(2.0 * X)):
        assert found.min() >= y[known].min() - 1e-12
        assert found.max() <= y[known].max() + 1e-12


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.full(120, np.nan), r"At least two values must be known; 0 of 120 are"),
        (np.array(["high"] * 120), r"Values must be numbers, NaN where unknown; .*: use LaplacianClassifier for classes"),
        (np.r_[np.inf, np.zeros(119)], r"Values must be finite; the input y contains infinity"),
    ],
)
def test_bad_values_are_answered_in_words(y, sentence):
    X, _, _ = two_spheres(60)
    with pytest.raises(ValueError, match=sentence):
        geolap.LaplacianRegressor(0.7).fit(X, y)


# Which graph


def test_graphs_are_weighed_by_leave_one_out():
    X = np.random.default_rng(0).standard_normal((300, 5))
    y = np.where(np.arange(300) < 60, (X[:, 0] > 0).astype(int), -1)
    known, index = np.arange(60), (X[:60, 0] > 0).astype(int)
    model = geolap.LaplacianClassifier(random_state=0).fit(X, y)
    alone = {k: geolap.LaplacianClassifier(n_neighbors=k, random_state=0).fit(X, y) for k in (None, 10)}
    assert set(model.graph_weights_) <= {None, 10}
    assert sum(model.graph_weights_.values()) == pytest.approx(1.0, abs=1e-5)
    mistakes = {
        k: smooth_functions(each.graph_, known, 200).fit(known, signs_of(index, 2), classes=True).losses
        for k, each in alone.items()
    }
    evidence = {k: np.exp(-losses).sum() for k, losses in mistakes.items()}
    for k, weight in model.graph_weights_.items():
        assert weight == pytest.approx(evidence[k] / sum(evidence.values()), rel=1e-6)
    new = X[60:80] + 0.01
    parts = {k: each._scores_at(new) for k, each in alone.items()}
    np.testing.assert_allclose(model._scores_at(new), sum(w * parts[k] for k, w in model.graph_weights_.items()), rtol=1e-6)


@pytest.mark.slow
def test_samples_carry_the_graphs_of_many_points(monkeypatch):
    X, y, _ = two_spheres(300)
    known = np.flatnonzero(y >= 0)
    whole = geolap.LaplacianClassifier(random_state=0).fit(X, y)
    for most in ((200, 400), (200, 600)):
        monkeypatch.setattr(labels, "_POINTS_OF_WEIGHED", most)
        model = geolap.LaplacianClassifier(random_state=0, n_jobs=1).fit(X, y)
        carried = {each.built.n_neighbors: each for each in model._fits}
        scores = 0.0
        for k, n_points in zip((None, 10), most, strict=True):
            built, fit = carried[k].built, carried[k].fit
            rows = np.arange(600) if built.landmarks is None else built.landmarks
            assert (built.landmarks is None) == (n_points == 600)
            assert n_points <= len(rows) <= n_points + len(known)
            assert np.isin(known, rows).all()
            alone = geolap.GraphLaplacian(n_neighbors=k, bandwidth=built.kernel.bandwidth, calibrate=False).fit(X[rows])
            np.testing.assert_allclose(built.kernel.degrees, alone.graph_.degrees)
            means = extend(alone._built, X, fit.scores).means
            means[rows] = fit.scores
            scores = scores + carried[k].weight * means
        found = scores.argmax(axis=1)
        found[known] = y[known]
        np.testing.assert_array_equal(model.transduction_, found)
        unlabeled = y < 0
        np.testing.assert_array_equal(model.predict(X[unlabeled]), model.transduction_[unlabeled])
        assert (model.transduction_ == whole.transduction_).mean() > 0.97
        again = geolap.LaplacianClassifier(random_state=0, n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    values = np.where(np.isin(np.arange(600), known), X[:, 2], np.nan)
    regressor = geolap.LaplacianRegressor(random_state=0).fit(X, values)
    np.testing.assert_allclose(regressor.predict(X), regressor.transduction_)


@pytest.mark.parametrize(
    "given", [{"bandwidth": 1.0}, {"n_neighbors": None}, {"local_scale": 7}, {"cutoff": 5.0}, {"n_neighbors": 8}]
)
def test_a_graph_that_is_asked_for_is_the_only_one(given):
    X = np.random.default_rng(0).standard_normal((100, 3))
    y = np.where(np.arange(100) < 30, X[:, 0], np.nan)
    model = geolap.LaplacianRegressor(**given, random_state=0).fit(X, y)
    assert list(model.graph_weights_) == [given.get("n_neighbors")]
    assert np.isfinite(model.predict(X + 0.01)).all()
