"""One graph specification for selectors, estimators and searches, and points that are prepared once."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer

import geolap
from geolap.data.points import Points
from geolap.datasets import make_sphere
from geolap.engines import make_engine
from geolap.runtime.threads import in_order
from geolap.selectors import METHODS
from geolap.specification import FullSpec, GraphSpec, same_setting


@pytest.fixture(scope="module")
def sphere():
    return make_sphere(300, random_state=0).data


def refitted(estimator, X):
    return estimator.fit(X).bandwidth_


def test_what_is_not_given_has_a_default_and_stays_distinguishable():
    assert GraphSpec().given() == {}
    full = GraphSpec(cutoff=3.0).filled()
    assert isinstance(full, FullSpec)
    assert (full.renormalization, full.self_weights, full.metric, full.exact, full.engine) == (
        1.0,
        True,
        "euclidean",
        False,
        "auto",
    )
    assert full.filled() is full
    assert GraphSpec(renormalization=1.0).given() == {"renormalization": 1.0}


def test_a_selector_follows_its_estimator_and_may_not_contradict_it():
    outer = GraphSpec(renormalization=0.5, n_neighbors=20, n_jobs=1).filled()
    inner = GraphSpec(exact=True, n_jobs=2).within(outer)
    assert (inner.renormalization, inner.n_neighbors, inner.exact, inner.n_jobs) == (0.5, 20, True, 2)
    with pytest.raises(ValueError, match=r"its selector was given renormalization=1.0: pass renormalization to"):
        GraphSpec(renormalization=1.0).within(outer)


def test_settings_are_compared_by_value():
    matrix = sparse.random_array((5, 5), density=0.5, rng=0, format="csr")
    scale = geolap.LocalScale(np.ones(3), 2.0)
    for value in (0.5, "regional", matrix, np.eye(3), scale, KNeighborsTransformer(n_neighbors=5)):
        assert same_setting(value, pickle.loads(pickle.dumps(value)))
    assert not same_setting(matrix, 2 * matrix)
    assert not same_setting(scale, geolap.LocalScale(np.ones(3), 1.0))
    assert not same_setting(KNeighborsTransformer(n_neighbors=5), KNeighborsTransformer(n_neighbors=6))
    assert not same_setting(None, 1.0)


@pytest.mark.parametrize("copied", [clone, lambda estimator: pickle.loads(pickle.dumps(estimator))])
def test_a_copied_estimator_refits_with_a_selector_that_agrees(copied, sphere):
    selector = geolap.GeometricConsistency(renormalization=0.5, n_sample=50, random_state=0)
    estimator = geolap.LaplacianEigenmap(bandwidth=selector, renormalization=0.5)
    assert copied(estimator).fit(sphere).bandwidth_ == estimator.fit(sphere).bandwidth_


@pytest.mark.slow
def test_an_estimator_refits_in_a_worker_process(sphere):
    estimator = geolap.GraphLaplacian(
        geolap.GeometricConsistency(renormalization=0.5, n_sample=50, random_state=0), renormalization=0.5
    )
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(refitted, estimator, sphere).result() == estimator.fit(sphere).bandwidth_


@pytest.mark.parametrize("name", METHODS)
def test_jobs_reach_every_rule(name, sphere, monkeypatch):
    seen = set()
    monkeypatch.setattr(METHODS[name], "select", lambda self, points, y=None, **_: seen.add(self.n_jobs) or 1 / 0)
    for bandwidth in (name, METHODS[name](), METHODS[name](n_jobs=1)):
        with pytest.raises(ZeroDivisionError):
            geolap.GraphLaplacian(bandwidth, n_jobs=2).fit(sphere, np.zeros(300))
    assert seen == {2, 1}  # a selector's own stays


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [None, -1, 1, 2])
def test_jobs_change_nothing(n_jobs, sphere):
    expected = geolap.select_bandwidth(sphere, random_state=0).bandwidth
    assert geolap.select_bandwidth(sphere, random_state=0, n_jobs=n_jobs).bandwidth == expected


def test_a_restricted_search_visits_all_pairs_if_it_must(sphere, monkeypatch):
    asked = []
    original = make_engine

    def spying(X, spec=None, **kwargs):
        asked.append(spec.exact)
        return original(X, spec, **kwargs)

    monkeypatch.setattr("geolap.graphs.skeleton.make_engine", spying)
    search = geolap.ConsistencySearch(
        {"bandwidth": [0.3, 0.5]}, selector=geolap.GeometricConsistency(exact=True, n_sample=20), random_state=0
    )
    search.fit(sphere)
    assert asked
    assert all(asked)


@pytest.mark.slow
def test_regional_scales_are_accepted_everywhere(sphere):
    settings = {"local_scale": "regional", "random_state": 0}
    geolap.distortion(sphere, 0.4, n_sample=20, **settings)
    selected = geolap.select_bandwidth(sphere, **settings).bandwidth
    assert geolap.GraphLaplacian(**settings).fit(sphere).bandwidth_ == pytest.approx(selected, rel=0.2)
    geolap.ConsistencySearch({"local_scale": ["regional"], "bandwidth": [0.3, 0.5]}, random_state=0).fit(sphere)
    for call in (geolap.select_bandwidth, lambda X, **p: geolap.GraphLaplacian(**p).fit(X)):
        with pytest.raises(
            ValueError, match=r"local_scale must be None, .*, 'regional' or a LocalScale; 'provincial' was given"
        ):
            call(sphere, local_scale="provincial")


@pytest.mark.parametrize("spec", [{"exact": True}, {"engine": "tiled", "renormalization": 0.0}])
def test_regional_scales_are_those_of_the_specification(sphere, spec, monkeypatch):
    """Beyond so many points sums are estimated, unless the specification says otherwise."""
    sphere, settings = sphere[:80], {"n_sample": 20, "random_state": 0}
    scale = geolap.regional_scale(sphere, random_state=0, renormalization=spec.get("renormalization", 1.0))
    expected = geolap.distortion(sphere, 0.4, local_scale=scale, **spec, **settings)
    monkeypatch.setattr("geolap.engines._MANY", 40)
    found = geolap.distortion(sphere, 0.4, local_scale="regional", **spec, **settings)
    np.testing.assert_array_equal(found.per_point, expected.per_point)
    default = geolap.regional_scale(sphere, random_state=0)
    assert not np.array_equal(default.rho, scale.rho)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, **params: geolap.GraphLaplacian(2.0, **params).fit(X),
        lambda X, **params: geolap.GraphLaplacian(2.0, n_neighbors=10, **params).fit(X),
        lambda X, **params: geolap.GeometricConsistency(n_sample=5, random_state=0, **params).fit(X),
        lambda X, **params: geolap.neighbor_scale(X, **params),
    ],
    ids=["within reach", "neighbors", "selection", "scale"],
)
def test_neighbors_by_a_metric_are_searched_for_on_as_many_threads_as_asked(fit, sphere, monkeypatch):
    asked = []
    monkeypatch.setattr("geolap.data.distances._MOST_WHOLE", 200)
    monkeypatch.setattr("geolap.data.distances.in_order", lambda *args, **how: asked.append(how) or in_order(*args, **how))
    fit(sphere, metric="manhattan", n_jobs=1)
    assert [how["n_jobs"] for how in asked] == [1]


@pytest.mark.slow
def test_the_name_of_a_selection_selects_again(sphere):
    for dual in (True, False):
        selection = geolap.GeometricConsistency(dual=dual, random_state=0).fit(sphere).selection_
        again = geolap.select_bandwidth(sphere, selection.method, random_state=0)
        assert (again.method, again.bandwidth) == (selection.method, selection.bandwidth)
    assert geolap.GraphLaplacian("gc_inverse", random_state=0).fit(sphere).selection_.method == "gc_inverse"


@pytest.mark.slow
def test_a_comparison_checks_and_prepares_its_points_once(sphere, monkeypatch):
    checked, boxed = [], []
    monkeypatch.setattr("geolap.data.points._checked_array", lambda X, least: checked.append(len(X)) or np.asarray(X))
    original = geolap.data.points.in_unit_box
    monkeypatch.setattr("geolap.data.points.in_unit_box", lambda X: boxed.append(len(X)) or original(X))
    comparison = geolap.compare_bandwidths(sphere, random_state=0)
    assert len(comparison) == 9
    assert checked == [300]
    assert boxed.count(300) == 1  # singer's pilot has fewer points


def test_a_fit_checks_and_prepares_its_points_once(sphere, monkeypatch):
    checked, boxed = [], []
    monkeypatch.setattr("geolap.data.points._checked_array", lambda X, least: checked.append(len(X)) or np.asarray(X))
    original = geolap.data.points.in_unit_box
    monkeypatch.setattr("geolap.data.points.in_unit_box", lambda X: boxed.append(len(X)) or original(X))
    geolap.LaplacianEigenmap(random_state=0, n_neighbors=20, local_scale=7).fit(sphere)
    assert (checked, boxed) == ([300], [300])


def test_wide_points_are_rotated_to_rank_without_loss():
    rng = np.random.default_rng(0)
    X = 1e3 + rng.standard_normal((40, 3)) @ rng.standard_normal((3, 500)) + 0.1 * rng.standard_normal((40, 500))
    X[7] = X[3]
    points = Points.of(X)
    assert points.box.shape == (40, 39)  # 39 distinct points
    np.testing.assert_array_equal(points.box[7], points.box[3])
    exact = np.linalg.norm(X[:, None] - X, axis=2)
    found = np.linalg.norm(points.box[:, None] - points.box, axis=2) * points.unit
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-10)
    Q = np.linalg.qr(rng.standard_normal((500, 500)))[0]
    bandwidths = np.geomspace(3.0, 60.0, 9)
    narrow = (X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2].T
    for other in (narrow[:, :39], (X - 1e3) @ Q):
        np.testing.assert_allclose(
            geolap.distortion(X, bandwidths, working_dim=2).per_point,
            geolap.distortion(other, bandwidths, working_dim=2).per_point,
            rtol=1e-8,
        )


def test_training_points_are_kept_as_a_copy(sphere):
    X = sphere.copy()
    eigenmap = geolap.LaplacianEigenmap(bandwidth=0.4).fit(X)
    expected = eigenmap.transform(sphere[:5] + 0.01)
    X -= 5.0
    np.testing.assert_array_equal(eigenmap.transform(sphere[:5] + 0.01), expected)
    assert not np.shares_memory(eigenmap._built.points, X)


def test_new_points_may_have_fewer_points_within_a_cutoff_than_neighbors(sphere):
    eigenmap = geolap.LaplacianEigenmap(bandwidth=0.3, cutoff=1.0, n_neighbors=40, disconnected="separate").fit(sphere)
    assert np.isfinite(eigenmap.transform(0.99 * sphere[:50])).all()


def test_new_points_out_of_reach_are_told(sphere):
    eigenmap = geolap.LaplacianEigenmap(bandwidth=0.3).fit(sphere)
    with pytest.warns(UserWarning, match="2 of 5 have none at bandwidth 0.3"):
        eigenmap.transform(np.vstack([sphere[:3], 4.0 * sphere[:2]]))
