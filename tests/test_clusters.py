"""Clusters: known ones, one piece, outliers, new points, every kind of graph, bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits, load_iris, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.neighbors import KNeighborsTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import geolap
from geolap import ClusterStatus, GeometricConsistency, LaplacianClustering
from geolap.datasets import make_sphere, make_swiss_roll

CENTERS = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])


def three_blobs(n=300, seed=0):
    y = np.arange(n) % 3
    return CENTERS[y] + np.random.default_rng(seed).standard_normal((n, 2)), y


@pytest.mark.slow
@parametrize_with_checks(
    [LaplacianClustering(k, GeometricConsistency(n_sample=10, random_state=0), random_state=0) for k in (None, 2)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": "a weight of zero is refused" for kind in ("dense", "sparse")
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("data", "truth"),
    [
        three_blobs(),
        make_moons(300, noise=0.06, random_state=0),
        make_circles(300, noise=0.04, factor=0.5, random_state=0),
    ],
    ids=["blobs", "moons", "circles"],
)
def test_separated_clusters_stand_out_and_are_found(data, truth):
    model = LaplacianClustering(random_state=0).fit(data)
    assert model.status_ is ClusterStatus.STAND_OUT
    assert model.n_clusters_ == truth.max() + 1
    assert adjusted_rand_score(truth, model.labels_) > 0.98
    assert model.strengths_[model.n_clusters_] > 3
    again = LaplacianClustering(model.n_clusters_, random_state=0).fit(data)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.status_ is ClusterStatus.GIVEN


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        make_sphere(400, random_state=0).data,
        make_swiss_roll(600, random_state=0).data,
        np.random.default_rng(0).random((400, 2)),
        np.random.default_rng(0).standard_normal((400, 10)),
    ],
    ids=["sphere", "swiss roll", "square", "normal"],
)
def test_one_piece_is_one_cluster(data):
    model = LaplacianClustering(random_state=0).fit(data)
    assert (model.n_clusters_, model.status_) == (1, ClusterStatus.ONE_PIECE)
    assert not model.labels_.any()
    assert not model.predict(data[:5] + 1e-3).any()


@pytest.mark.parametrize("n_clusters", [None, 3])
def test_outliers_join_the_cluster_of_their_neighbors(n_clusters):
    X, y = three_blobs()
    far = np.array([[40.0, 0.0], [40.1, 0.0], [0.0, 40.0], [-30.0, -30.0]])
    model = LaplacianClustering(n_clusters, random_state=0).fit(np.vstack([X, far]))
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_[:300]) > 0.98
    assert model.n_outliers_ >= 2  # a lone one already belongs to its neighbors
    near = cdist(far, CENTERS).argmin(axis=1)
    expected = [np.bincount(model.labels_[:300][y == k]).argmax() for k in near]
    np.testing.assert_array_equal(model.labels_[300:], expected)


def test_duplicates_are_no_clusters():
    X, y = three_blobs()
    X, y = np.vstack([X, np.repeat(X[:4], 30, axis=0)]), np.concatenate([y, np.repeat(y[:4], 30)])
    model = LaplacianClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("n_clusters", [None, 3])
@pytest.mark.parametrize("copies", [4, 11])  # fewer and more than neighbors
def test_copies_do_not_fill_the_neighbors(copies, n_clusters):
    X, y = three_blobs()
    X, y = np.repeat(X[:99], copies, axis=0), np.repeat(y[:99], copies)
    model = LaplacianClustering(n_clusters, random_state=0).fit(X)
    assert (model.n_clusters_, model.n_outliers_) == (3, 0)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_array_equal(model.landmarks_, np.arange(0, len(X), copies))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_answers_on_a_scale_of_five():
    y = np.repeat([0, 1], 300)
    answers = np.where(y == 0, 2, 4)[:, None] + 0.7 * np.random.default_rng(0).standard_normal((600, 3))
    model = LaplacianClustering(random_state=0).fit(np.clip(np.round(answers), 1, 5))
    assert model.status_ == ClusterStatus.STAND_OUT
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_a_small_part_far_away_is_the_first_of_two_clusters():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((500, 3)), 20.0 + rng.standard_normal((20, 3))])
    one = LaplacianClustering(random_state=0).fit(X)
    assert (one.n_clusters_, one.n_outliers_) == (1, 20)
    two = LaplacianClustering(2, random_state=0).fit(X)
    np.testing.assert_array_equal(two.labels_, np.repeat([0, 1], [500, 20]))
    assert two.n_outliers_ == 0


def test_small_parts_far_away_are_a_cluster_if_they_would_be_one_together():
    rng = np.random.default_rng(0)
    far = [place + 0.3 * rng.standard_normal((n, 2)) for place, n in (((20.0, 0.0), 40), ((20.0, 5.0), 25))]
    X = np.vstack([rng.standard_normal((1200, 2)), *far])
    found = LaplacianClustering(2, random_state=0).fit(X)
    np.testing.assert_array_equal(found.labels_, np.repeat([0, 1], [1200, 65]))
    assert found.n_outliers_ >= 25


@pytest.mark.parametrize("seed", range(3))
def test_a_small_part_of_fewer_clusters_stays_in_one_piece(seed):
    rng = np.random.default_rng(seed)
    places = ((0.0, 0.0), 0.05, 500), ((5.0, 0.0), 1.0, 250), ((0.0, 4.0), 0.3, 20)
    X = np.vstack([rng.normal(center, spread, (n, 2)) for center, spread, n in places])
    assert len({*LaplacianClustering(2, random_state=0).fit_predict(X)[-20:]}) == 1


def test_outliers_are_clusters_if_that_is_asked_for():
    X, _ = three_blobs()
    far = np.array([[40.0, 0.0], [40.1, 0.0], [40.0, 0.1]])
    model = LaplacianClustering(4, min_share=0.0, n_neighbors=2, local_scale=None, bandwidth=1.0).fit(np.vstack([X, far]))
    assert model.n_clusters_ == 4
    assert len({*model.labels_[300:]}) == 1


@pytest.mark.slow
def test_more_parts_than_are_looked_for_are_not_called_one_piece():
    centers = 100.0 * np.arange(8)[:, None]
    X = np.vstack([center + np.random.default_rng(0).random((30, 2)) for center in centers])
    found = LaplacianClustering(max_clusters=5, random_state=0).fit(X)
    assert (found.n_clusters_, found.status_) == (5, ClusterStatus.MORE)
    assert LaplacianClustering(random_state=0).fit(X).n_clusters_ == 8


@pytest.mark.slow
def test_labels_are_numbered_by_size_and_the_same_every_time():
    X, _ = three_blobs()
    X = np.vstack([X, X[::3] + 0.01])
    one, other = (LaplacianClustering(random_state=0).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert (np.diff(np.bincount(one.labels_)) <= 0).all()


def test_new_points_belong_to_the_cluster_around_them():
    X, _ = three_blobs()
    model = LaplacianClustering(random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    new, truth = three_blobs(seed=1)
    assert adjusted_rand_score(truth, model.predict(new)) > 0.98


@pytest.mark.parametrize(
    "params",
    [
        {"n_neighbors": None, "local_scale": None},
        {"neighbors": KNeighborsTransformer(mode="distance", n_neighbors=12)},
        {"local_scale": "regional"},
        {"cutoff": 3.0},
        {"renormalization": 1.0},
    ],
    ids=lambda params: next(iter(params)),
)
def test_other_graphs_find_the_same_clusters(params):
    X, y = three_blobs()
    model = LaplacianClustering(3, random_state=0, **params).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert adjusted_rand_score(y, model.predict(X)) > 0.95


def test_distances_suffice():
    X, y = three_blobs()
    model = LaplacianClustering(3, bandwidth=1.0, metric="precomputed").fit(cdist(X, X))
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(cdist(X[:7], X)), model.labels_[:7])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")  # of scikit-learn's
@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_real_clusters_are_found_as_well_as_by_scikit_learn(load):
    X, y = load(return_X_y=True)
    k = y.max() + 1
    theirs = SpectralClustering(k, affinity="nearest_neighbors", random_state=0).fit_predict(X)
    ours = LaplacianClustering(k, random_state=0).fit_predict(X)
    assert normalized_mutual_info_score(y, ours) > normalized_mutual_info_score(y, theirs) - 0.02


def uneven():
    """Four clusters of very different size and spread."""
    rng, places = np.random.default_rng(5), (((0, 0), 0.1, 100), ((2, 0), 0.6, 500), ((0, 6), 2.0, 250), ((-3, -1), 0.3, 60))
    return np.vstack([rng.normal(center, spread, (n, 2)) for center, spread, n in places])


@pytest.mark.parametrize("n_clusters", [None, 3])
def test_strengths_are_those_of_the_labels(n_clusters):
    model = LaplacianClustering(n_clusters, random_state=0).fit(uneven())
    assert (model.n_clusters_, model.n_outliers_) == (3, 0)
    graph = model.graph_
    member, mass = np.eye(3)[model.labels_], graph.renormalized_degrees
    leaving = 1.0 - (mass @ (member * (graph.transition() @ member))) / (mass @ member)
    strength = model.eigenvalues_[3] / leaving.max()
    assert strength > 3
    if n_clusters is None:
        assert model.status_ is ClusterStatus.STAND_OUT
        np.testing.assert_allclose(model.strengths_[3], strength, rtol=1e-9)


@pytest.mark.parametrize("unit", [3.7, 1e-3])
def test_clusters_of_bits_depend_neither_on_the_unit_nor_on_the_order_of_rows(unit):
    X = np.random.default_rng(0).integers(0, 2, (200, 7)).astype(float)
    order = np.random.default_rng(1).permutation(len(X))
    one, other = (LaplacianClustering(random_state=0).fit(A) for A in (X, unit * X[order]))
    assert one.status_ is other.status_
    assert list(one.strengths_) == list(other.strengths_)
    np.testing.assert_allclose(list(other.strengths_.values()), list(one.strengths_.values()), rtol=1e-9)
    assert adjusted_rand_score(one.labels_[order], other.labels_) == 1.0


def test_few_points_have_fewer_neighbors():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    model = LaplacianClustering(2, bandwidth=0.5, local_scale=None).fit(X)
    assert adjusted_rand_score([0, 0, 0, 1, 1, 1], model.labels_) == 1.0


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"n_clusters": 2.5}, "n_clusters must be"),
        (
            {"n_clusters": 1000},
            "n_clusters must be at most the number of distinct points; 1000 was given for 300: lower it",
        ),
        ({"max_clusters": 1}, "max_clusters must be"),
        ({"min_share": -0.1}, "min_share must be"),
        ({"min_share": 1.5}, "min_share must be"),
    ],
)
def test_bad_parameters_are_told_in_a_sentence(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        LaplacianClustering(**params).fit(three_blobs()[0])


def test_every_status_is_a_sentence():
    for status in ClusterStatus:
        assert str(status).endswith(".")
    assert geolap.ClusterStatus is ClusterStatus


@pytest.mark.parametrize(("n", "dim", "status"), [(20, 2, "PERHAPS"), (100, 2, "STAND_OUT"), (100, 1, "PERHAPS")])
def test_gaps_among_few_points_or_on_a_line_may_be_chance(n, dim, status):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(n // 2, dim)), rng.normal(size=(n // 2, dim)) + 20.0])
    model = geolap.LaplacianClustering(random_state=0).fit(X)
    assert model.n_clusters_ >= 2
    assert model.status_ is ClusterStatus[status]


@pytest.mark.parametrize("params", [{}, {"metric": "cityblock"}], ids=str)
def test_copies_in_sparse_tables_and_under_any_metric_are_one_point(params):
    X = np.round(load_iris().data)  # 150 flowers at 30 places
    sparsely = sparse.csr_matrix(X)
    found = geolap.LaplacianClustering(3, random_state=0, **params).fit(sparsely if not params else X)
    assert len(found.graph_.degrees) == len(np.unique(X, axis=0))
    if not params:
        dense = geolap.LaplacianClustering(3, random_state=0).fit(X)
        np.testing.assert_array_equal(found.labels_, dense.labels_)
        maps = [geolap.LaplacianEigenmap(2, random_state=0).fit(table) for table in (X, sparsely)]
        assert maps[0].n_neighbors_ == maps[1].n_neighbors_


@pytest.mark.parametrize("jitter", [1e-6, 1e-3, 0.05])
@pytest.mark.parametrize("n_clusters", [3, None])
def test_replicates_are_one_point_each(jitter, n_clusters):
    rng = np.random.default_rng(0)
    bases = rng.normal(size=(90, 5)) + np.repeat([[0], [6], [12]], 30, axis=0)
    X = np.repeat(bases, 12, axis=0) + rng.normal(0, jitter, (1080, 5))
    model = geolap.LaplacianClustering(n_clusters, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_.reshape(90, 12).T, np.tile(model.labels_[::12], (12, 1)))
    assert adjusted_rand_score(np.repeat([0, 1, 2], 360), model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X + 1e-9), model.labels_)
    order = rng.permutation(1080)
    again = geolap.LaplacianClustering(n_clusters, random_state=0).fit(X[order])
    np.testing.assert_array_equal(again.labels_, model.labels_[order])


@pytest.mark.parametrize(("n_groups", "n_clusters"), [(2, 1), (3, 2), (9, 3)])
def test_few_groups_are_no_replicates(n_groups, n_clusters):
    X = np.repeat(20.0 * np.arange(n_groups)[:, None], 12, axis=0) + np.random.default_rng(0).normal(size=(12 * n_groups, 2))
    model = geolap.LaplacianClustering(n_clusters, random_state=0).fit(X)
    assert len(model.graph_.degrees) == len(X)
    assert model.n_clusters_ == n_clusters
