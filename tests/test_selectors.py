"""Every rule to choose ε: the formula done directly on small data, equivariance, contract."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.utils.estimator_checks import parametrize_with_checks

import geolap
from geolap import Status, UnresolvedWarning, Verdict, select_bandwidth
from geolap.data.points import Points
from geolap.datasets import make_dome, make_hourglass, make_sphere, make_swiss_roll, make_torus
from geolap.engines import make_engine
from geolap.selectors import METHODS, kernel_sum, resolve_bandwidth
from geolap.selectors.reconstruction import reconstruction_errors
from geolap.selectors.semigroup import semigroup_errors
from geolap.specification import GraphSpec

OTHERS = [name for name in METHODS if name != "gc"]
UNSUPERVISED = [name for name, selector in METHODS.items() if not selector.needs_labels]


def seeded(name):
    selector = METHODS[name](n_repeats=1, n_evaluations=3) if name == "cv" else METHODS[name]()
    return selector.set_params(random_state=0) if "random_state" in selector.get_params() else selector


# Reasons, not excuses.
NO_ZERO = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weight of zero is refused: such points are left out"
    for kind in ("dense", "sparse")
}
NO_WEIGHTS = NO_ZERO | {
    "check_sample_weights_list": "neighbors are counted one by one, and weights are refused",
    "check_sample_weights_not_overwritten": "neighbors are counted one by one, and weights are refused",
}


@pytest.mark.slow
@parametrize_with_checks(
    [seeded(name) for name in OTHERS], expected_failed_checks=lambda s: NO_ZERO if s.takes_weights else NO_WEIGHTS
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNSUPERVISED)
@pytest.mark.parametrize("factor", [1e-4, 37.0])
def test_bandwidth_scales_with_the_data(name, factor):
    X = make_hourglass(300, noise=0.02, noise_dims=2, random_state=1).data
    one, other = (seeded(name).fit(points).bandwidth_ for points in (X, factor * X))
    assert other == pytest.approx(factor * one, rel=1e-4)


def test_a_random_state_is_accepted_by_every_rule():
    X = make_sphere(60, random_state=0).data
    seeds = [select_bandwidth(X, "bgh", random_state=seed).bandwidth for seed in (None, 0, 1)]
    assert len(set(seeds)) == 1  # it has no use for one
    with pytest.raises(ValueError, match=r"random_state must be None, a whole number .*; 'x' was given"):
        select_bandwidth(X, "bgh", random_state="x")


@pytest.mark.parametrize("name", ["semigroup", "median"])
def test_a_bandwidth_of_the_whole_data_set_is_not_trusted(name):
    """The bound on locality is that of gc, whatever rule chose."""
    X = make_dome(150, random_state=0).data
    found, gc = seeded(name).fit(X).selection_, seeded("gc").fit(X).selection_
    assert found.bandwidth > 1.5 * gc.bound
    assert found.bound == pytest.approx(gc.bound, rel=0.03)
    assert found.verdict is Verdict.NOT_FOUND
    assert not any(minimum.local for minimum in found.minima if minimum.bandwidth > gc.bound)
    with pytest.warns(UnresolvedWarning, match="whole data set") if name == "semigroup" else nullcontext():
        geolap.LaplacianEigenmap(bandwidth=name, n_neighbors=None, random_state=0).fit(X)


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_same_seed_same_answer_and_inputs_stay(name):
    X = make_sphere(200, random_state=1).data
    before = X.copy()
    one, other = (seeded(name).fit(X).selection_ for _ in range(2))
    assert one.bandwidth == other.bandwidth
    assert one.method == name
    assert one.bandwidths.shape == one.scores.shape
    assert (np.diff(one.bandwidths) > 0).all()
    assert one.explain()
    one.plot()
    np.testing.assert_array_equal(X, before)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "expected"), [("digit1", 0.65), ("usps", 1.7), ("bci", 3.25)])
def test_rec_agrees_with_the_paper(real, name, expected):
    # The paper: 0.64, 1.68, 3.31.
    assert select_bandwidth(real(name), "rec", random_state=0).bandwidth == pytest.approx(expected, rel=0.05)


def test_rec_is_the_error_of_the_weighted_mean():
    X = np.random.default_rng(0).standard_normal((40, 3))
    W = np.exp(-cdist(X, X, "sqeuclidean") / 0.8**2)
    np.fill_diagonal(W, 0.0)
    expected = ((X - W @ X / W.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    points = Points(X)
    found = reconstruction_errors(points, np.arange(40), np.array([0.8 / points.unit]))[:, 0]
    np.testing.assert_allclose(found * points.unit**2, expected)


def test_rec_compares_with_the_nearest_neighbor_at_tiny_bandwidths():
    X = np.random.default_rng(0).standard_normal((30, 2))
    nearest = np.sort(cdist(X, X), axis=1)[:, 1]
    points = Points(X)
    found = reconstruction_errors(points, np.arange(30), np.array([1e-6]))[:, 0]
    np.testing.assert_allclose(found * points.unit**2, nearest**2)


@pytest.mark.slow
def test_bgh_is_where_the_kernel_sum_grows_fastest():
    X = make_torus(300, random_state=0).data
    sqdist = cdist(X, X, "sqeuclidean")
    selection = select_bandwidth(X, "bgh")

    def slope(eps):
        W = np.exp(-sqdist / eps**2)
        return (W * 2 * sqdist / eps**2).sum() / W.sum()

    for eps, score in zip(selection.bandwidths[::5], selection.scores[::5], strict=True):
        assert -score == pytest.approx(slope(eps), rel=1e-4, abs=1e-6)
    fine = np.geomspace(selection.bandwidths[0], selection.bandwidths[-1], 2000)
    assert selection.bandwidth == pytest.approx(fine[np.argmax([slope(e) for e in fine])], rel=0.01)
    assert selection.details["intrinsic_dim"] == pytest.approx(slope(selection.bandwidth), rel=1e-4)


def test_bgh_sees_the_dimension_of_a_plane():
    X = np.random.default_rng(0).uniform(0, 1, (1500, 2))
    assert select_bandwidth(X, "bgh").details["intrinsic_dim"] == pytest.approx(2.0, abs=0.25)


def test_semigroup_error_is_the_distance_between_two_steps_and_one():
    X = np.random.default_rng(0).standard_normal((60, 2))
    eps = 0.7

    def transition(e):
        W = np.exp(-cdist(X, X, "sqeuclidean") / e**2)
        W1 = W / np.outer(W.sum(axis=1), W.sum(axis=1))
        return W1 / W1.sum(axis=1, keepdims=True)

    expected = np.abs(transition(eps) @ transition(eps) - transition(np.sqrt(2) * eps)).sum(axis=1)
    degrees = 1 + make_engine(X).row_sums(np.array([eps, np.sqrt(2) * eps]))
    points = Points(X)
    found = semigroup_errors(points, np.arange(60), np.array([eps / points.unit]), degrees)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_median_is_the_median_over_pairs():
    X = np.random.default_rng(0).standard_normal((101, 3))
    selection = select_bandwidth(X, "median", n_sample=None)
    assert selection.bandwidth == pytest.approx(np.median(pdist(X)))
    assert selection.status is Status.RULE


@pytest.mark.parametrize("average", ["mean", "median"])
def test_knn_is_the_average_distance_to_the_kth_neighbor(average):
    X = np.random.default_rng(0).standard_normal((80, 3))
    expected = getattr(np, average)(np.sort(cdist(X, X), axis=1)[:, 7])
    assert select_bandwidth(X, "knn", n_neighbors=7, average=average).bandwidth == pytest.approx(expected)


def test_the_nearest_of_many_features_are_at_their_distances():
    X = np.random.default_rng(0).standard_normal((300, 20))
    X = np.vstack([X, X + 1e-9])
    assert select_bandwidth(X, "knn", n_neighbors=1).bandwidth == pytest.approx(1e-9 * np.sqrt(20), rel=1e-5)
    X[300:] = X[:300]
    with pytest.raises(ValueError, match="distance to neighbor 1 must be positive"):
        select_bandwidth(X, "knn", n_neighbors=1)


def test_duplicates_that_leave_no_distance_are_named():
    X = np.repeat(np.random.default_rng(0).standard_normal((3, 2)), 50, axis=0)
    with pytest.raises(ValueError, match=r"distance to neighbor 10 must be positive .*: remove duplicate points"):
        select_bandwidth(X, "knn")
    with pytest.raises(ValueError, match=r"the 37 nearest of every point are at the same position: remove duplicate points"):
        select_bandwidth(X, "lcmc")
    X[:140] = X[0]
    X[-1], X[-2] = [9.0, 9.0], [8.0, 7.0]
    with pytest.raises(ValueError, match=r"median distance must be positive .*: remove duplicate points"):
        select_bandwidth(X, "median")


def test_singer_extrapolates_the_pilot_by_his_rate():
    X = make_sphere(2000, random_state=0).data
    selection = select_bandwidth(X, "singer", intrinsic_dim=2, n_sample=250, random_state=0)
    pilot = selection.details["pilot"]
    assert selection.bandwidth == pytest.approx(pilot.bandwidth * (2000 / 250) ** (-1 / 8))
    # ε² = C N^(−1/(3 + d/2)) holds with the same C at both sizes.
    assert selection.bandwidth**2 * 2000 ** (1 / 4) == pytest.approx(pilot.bandwidth**2 * 250 ** (1 / 4))
    assert select_bandwidth(X, "singer", random_state=0).details["intrinsic_dim"] == 2


@pytest.mark.parametrize("pilot", [geolap.GeometricConsistency(), geolap.NeighborDistance()])
def test_the_pilot_of_singer_is_any_selector(pilot):
    X = make_sphere(400, random_state=0).data
    selection = select_bandwidth(X, "singer", intrinsic_dim=2, pilot=pilot, random_state=0)
    assert selection.details["pilot"].method == ("gc" if isinstance(pilot, geolap.GeometricConsistency) else "knn")


def test_parameters_a_method_does_not_have_are_named():
    with pytest.raises(
        TypeError, match="Method 'bgh' takes the parameters engine, metric, n_jobs, verbose; working_dim was given: leave"
    ):
        select_bandwidth(np.eye(4), "bgh", working_dim=2)


def test_a_bandwidth_may_be_a_number_a_name_or_a_selector():
    X = make_sphere(150, random_state=0).data
    assert resolve_bandwidth(Points.of(X), 0.3) == (0.3, None)
    by_name = resolve_bandwidth(Points.of(X), "median", random_state=0)
    assert by_name[0] == by_name[1].bandwidth == select_bandwidth(X, "median").bandwidth
    assert resolve_bandwidth(Points.of(X), geolap.NeighborDistance(5))[1].method == "knn"
    with pytest.raises(TypeError, match=r"bandwidth must be a number, one of gc, .* or a selector; None was given"):
        resolve_bandwidth(Points.of(X), None)
    with pytest.raises(ValueError, match="bandwidth must be one of 'gc'"):
        resolve_bandwidth(Points.of(X), "best")


# The paper claims that at ε̂ the largest gap of the local singular values is that of the true dimension.
@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize(
    ("make", "dim"),
    [(make_sphere, 2), (make_torus, 2), (make_swiss_roll, 2)],
)
def test_dimension_at_the_selected_bandwidth(make, dim, noise):
    X = make(2000, noise=noise, noise_dims=3, random_state=0).data
    estimate = geolap.intrinsic_dimension(X, random_state=0)
    near = estimate.neighborhoods
    assert estimate.dimension == near.vote == dim
    assert near.share > 0.4
    assert geolap.dimension_range(X, dim, [near.bandwidth], random_state=0)[1].all()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_no_scale_shows_the_dimension_of_a_sparse_five_sphere(noise):
    # Six directions stand out from the noise at every scale: neighborhoods of 2000 points are too wide to be flat.  The
    # claim of the paper is about data for which a scale exists.
    X = make_sphere(2000, noise=noise, noise_dims=14, dim=5, random_state=0).data
    assert not geolap.dimension_range(X, 5, random_state=0, n_sample=100)[1].any()
    assert geolap.intrinsic_dimension(X, random_state=0, n_sample=100).dimension is None


def test_dimension_of_a_line_and_its_votes():
    X = np.outer(np.linspace(0, 1, 200), [1.0, 2.0, 3.0])
    estimate = geolap.intrinsic_dimension(X, 0.1)
    near = estimate.neighborhoods
    assert near.vote == 1
    assert str(estimate).startswith("At bandwidth 0.1: A typical point has ")
    assert "Dimension 1: 100% of the points vote for it" in str(estimate)
    assert estimate.dimension == 1
    assert near.share == 1.0
    assert estimate.selection is None
    assert near.per_point.shape == (200,)
    np.testing.assert_allclose(near.singular_values[:, 1:], 0.0, atol=1e-8)


def test_singular_values_are_those_of_the_weighted_matrix():
    from geolap.local_pca import local_singular_values

    X = np.random.default_rng(0).standard_normal((50, 4))
    w = np.exp(-((X - X[3]) ** 2).sum(axis=1) / 1.5**2)
    p = w / w.sum()
    expected = np.linalg.svd(p[:, None] * (X - p @ X), compute_uv=False)
    np.testing.assert_allclose(local_singular_values(Points.of(X), [3], [1.5], 4)[0, 0], expected, rtol=1e-6)


def test_the_range_where_the_dimension_is_seen_has_two_ends():
    X = make_sphere(1500, noise=0.02, noise_dims=5, random_state=0).data
    bandwidths, sees = geolap.dimension_range(X, 2, random_state=0)
    assert sees.any()
    assert not sees[0]
    assert bandwidths[sees].min() > 0.02


def two_moons(n=120, labeled=10):
    from sklearn.datasets import make_moons

    X, target = make_moons(n, noise=0.05, random_state=0)
    y = np.full(n, -1)
    for c in (0, 1):
        y[np.flatnonzero(target == c)[:labeled]] = c
    return X, y, target


@pytest.mark.slow
def test_cv_finds_a_bandwidth_that_classifies_and_scales():
    X, y, target = two_moons()
    selection = select_bandwidth(X, "cv", y=y, random_state=0, n_evaluations=30)
    assert selection.scores.min() <= 0.1
    scaled = select_bandwidth(10 * X, "cv", y=y, random_state=0, n_evaluations=30)
    assert scaled.bandwidth == pytest.approx(10 * selection.bandwidth, rel=1e-6)
    found = geolap.LaplacianClassifier(selection.bandwidth).fit(X, y).transduction_
    assert np.mean(found != target) < 0.1


@pytest.mark.slow
def test_ranges_do_not_depend_on_the_order_of_the_points():
    # Sorted by class: the first thousand points are ten times denser than the others.
    rng = np.random.default_rng(0)
    X = np.vstack([0.1 * rng.standard_normal((1000, 2)), 5 + rng.standard_normal((1500, 2))])
    shuffled = X[rng.permutation(len(X))]
    one, other = (select_bandwidth(points, "bgh") for points in (X, shuffled))
    assert one.bandwidths[0] == pytest.approx(other.bandwidths[0], rel=0.3)
    assert one.bandwidth == pytest.approx(other.bandwidth, rel=0.02)


def test_cv_error_is_that_of_the_folds():
    X, y, _ = two_moons()
    from geolap.graphs.neighbors import all_pairs
    from geolap.graphs.smooth_regression import predicted_classes
    from geolap.selectors.cross_validation import label_folds

    selector = geolap.CrossValidation(n_repeats=1, n_evaluations=3, random_state=0)
    selection = selector.fit(X, y).selection_
    known = np.flatnonzero(y >= 0)
    random_state = np.random.RandomState(0)
    random_state.permutation(np.flatnonzero(y < 0))
    wrong = []
    for inside, outside in label_folds(y[known], 2, 1, random_state.randint(2**31)):
        (predicted,) = predicted_classes(all_pairs(X), selection.bandwidths[1], [known[inside]], [y[known[inside]]])
        wrong.append(np.mean(predicted[known[outside]] != y[known[outside]]))
    assert selection.scores[1] == pytest.approx(np.mean(wrong))


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, r"requires y to be passed, but the target y is None: give a class"),
        (
            np.full(20, -1),
            r"at least two classes with two labeled points each; found none \(-1 is unlabeled\): label more points",
        ),
        (np.r_[np.zeros(5), -np.ones(15)].astype(int), r"at least two classes .*; found 0: 5 "),
        (np.zeros(7), r"y must have one entry for each of the 20 points; 7 were given"),
    ],
)
def test_cv_names_what_is_wrong_with_the_labels(y, sentence):
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(ValueError, match=sentence):
        select_bandwidth(X, "cv", y=y)


def test_clmr_range_lies_between_noise_and_curvature():
    X = make_sphere(1000, noise=0.02, noise_dims=5, random_state=0).data
    selection = select_bandwidth(X, "clmr", random_state=0)
    low, high = selection.interval
    assert selection.bandwidth == pytest.approx((low + high) / 2)
    assert selection.details["intrinsic_dim"] in (2, 3)  # at its upper end the range sees the sphere bend
    assert selection.details["singular_values"].shape == (len(selection.bandwidths), 6)


def test_clmr_turning_points_of_curves_made_by_hand():
    from geolap.selectors.multiscale_svd import turning_points

    assert turning_points(np.array([0, 1, 3, 2, 1, 1.0]), np.array([1, 2, 5, 4, 3, 3.5])) == (2, 4)
    assert turning_points(np.array([0, 1, 3, 2, 1, 1.0]), np.array([1, 2, 3, 4, 5, 6.0])) == (2, None)
    assert turning_points(np.array([0, 1, 2, 3, 4, 5.0]), np.array([5, 4, 3, 2, 1, 0.5]))[0] is None
    X = np.random.default_rng(0).standard_normal((200, 2))
    selection = select_bandwidth(X, "clmr", random_state=0)
    assert (selection.status is Status.NO_LIMIT) == (None in selection.details["limits"])


def test_lcmc_is_the_agreement_beyond_chance():
    X = make_swiss_roll(400, random_state=0).data
    selector = geolap.LocalContinuity(random_state=0)
    selection = selector.fit(X).selection_
    k = selection.details["n_neighbors"]
    assert 3 <= k < 40
    assert -selection.scores.min() > 0.3
    # Two neighborhoods that agree fully score 1 − k'/(N − 1).
    from sklearn.neighbors import NearestNeighbors

    line = np.linspace(0, 1, 60)[:, None] ** 1.1
    neighbors = NearestNeighbors(n_neighbors=5).fit(line).kneighbors(return_distance=False)
    assert geolap.LocalContinuity(n_components=1)._score(neighbors[:, :4], neighbors) < -0.6


@pytest.mark.slow
def test_comparison_has_a_row_for_every_rule():
    X, y, _ = two_moons()
    comparison = geolap.compare_bandwidths(X, random_state=0)
    assert [row.selection.method for row in comparison] == UNSUPERVISED
    assert len(str(comparison).splitlines()) - len(UNSUPERVISED) in (1, 2)
    assert set(comparison.as_dicts()[0]) >= {"method", "bandwidth", "low", "high", "components", "isolated", "seconds"}
    assert len(comparison.plot().ax_.lines) == 2 * len(comparison)
    with_labels = geolap.compare_bandwidths(X, ["gc", "cv"], y=y, random_state=0)
    assert [row.selection.method for row in with_labels] == ["gc", "cv"]
    with pytest.raises(ValueError, match="a method must be one of 'gc'"):
        geolap.compare_bandwidths(X, ["gc", "magic"])


def test_comparison_says_which_rules_agree():
    from dataclasses import replace

    from geolap.selectors.comparison import Comparison

    X = make_sphere(150, random_state=0).data
    row = geolap.compare_bandwidths(X, ["median"], random_state=0).rows[0]

    def at(name, bandwidth):
        return replace(row, selection=replace(row.selection, method=name, bandwidth=bandwidth))

    comparison = Comparison((at("a", 1.0), at("b", 5.0), at("c", 1.2), at("d", 0.5)))
    assert comparison.agreement() == ("a", "c")
    assert str(comparison).endswith("a, c agree within a factor of 1.25.")
    assert Comparison((at("a", 1.0), at("b", 5.0))).agreement() == ()


def test_health_of_two_clusters_a_loner_and_a_duplicate():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(0, 1, (50, 2)), rng.uniform(0, 1, (30, 2)) + 100, [[500.0, 0.0]]])
    X[1] = X[0]
    health = geolap.graph_health(X, 0.5)
    assert (health.components, health.largest_component, health.isolated, health.duplicates) == (3, 50, 1, 1)
    sqdist = cdist(X, X, "sqeuclidean")
    assert health.nonzeros == (sqdist <= 1.5**2).sum()
    W = np.exp(-sqdist / 0.25)
    np.testing.assert_allclose(
        health.effective_neighbors, np.quantile(W.sum(axis=1) ** 2 / (W**2).sum(axis=1), [0, 0.25, 0.5, 0.75, 1]), rtol=1e-9
    )
    assert health.bytes == health.nonzeros * 12 + 82 * 4
    assert "3 components, the largest with 50; 1 isolated, 1 duplicates" in str(health)


def test_components_agree_with_scipy():
    from scipy.sparse.csgraph import connected_components

    from geolap.graphs.health import components_within

    X = np.random.default_rng(3).uniform(0, 1, (400, 2))
    for radius in (0.01, 0.04, 0.06, 0.2):
        count, labels = connected_components(cdist(X, X) <= radius)
        points = Points(X)
        found = components_within(points, radius / points.unit)
        assert found.max() + 1 == count
        assert len({(a, b) for a, b in zip(labels, found, strict=True)}) == count


def test_a_comparison_says_what_each_rule_says_alone():
    X = make_sphere(300, random_state=0).data
    rows = geolap.compare_bandwidths(X, ["gc", "rec"], random_state=3)
    assert [row.selection.bandwidth for row in rows] == [
        select_bandwidth(X, method, random_state=3).bandwidth for method in ("gc", "rec")
    ]


@pytest.mark.slow
def test_slopes_of_estimated_sums_are_those_of_exact_ones():
    """Beyond 30 000 points kernel sums are estimated, and `bgh` differentiates them."""
    X = make_sphere(35_000, random_state=0).data
    bandwidths, steps = np.array([0.04, 0.1, 0.2, 0.35, 0.5, 0.84]), np.exp([-kernel_sum._STEP, kernel_sum._STEP])
    rows = np.random.default_rng(0).choice(len(X), 500, replace=False)  # of which exact sums are quick, and like all
    slopes = []
    for exact, some in ((False, None), (True, rows)):
        sums = 1.0 + make_engine(X, GraphSpec(exact=exact)).row_sums(np.outer(steps, bandwidths).ravel(), some)
        slopes.append(np.diff(np.log(sums.sum(axis=0)).reshape(2, -1), axis=0)[0] / (2.0 * kernel_sum._STEP))
    np.testing.assert_allclose(slopes[0], slopes[1], atol=0.03)


@pytest.mark.slow
def test_the_median_of_many_points_is_that_of_the_sphere():
    points = Points(make_sphere(35_000, random_state=0).data)
    assert geolap.MedianDistance(random_state=0).rule_alone(points).bandwidth == pytest.approx(np.sqrt(2.0), rel=2e-3)
