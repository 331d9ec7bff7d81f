"""As many directions and evaluation points as the data asks for, and a verdict on what they found."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.datasets import make_swiss_roll as swiss_roll

import geolap
from geolap import GeometricConsistency, Verdict
from geolap.data.points import Points
from geolap.datasets import load_ssl_book, make_hourglass, make_sphere, make_torus
from geolap.engines import make_engine, tiled
from geolap.engines.tiled import TiledEngine
from geolap.local_dimension import Surroundings
from geolap.local_pca import _leading_singular_values


def cube(n, d, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return np.hstack([rng.random((n, d)), np.zeros((n, 3))]) + noise * rng.standard_normal((n, d + 3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "directions"),
    [
        (lambda: make_sphere(1000, noise=0.01, dim=1, random_state=0).data, 1),
        (lambda: make_torus(1000, noise=0.01, noise_dims=5, random_state=0).data, 2),
        (lambda: make_hourglass(1000, noise=0.01, noise_dims=5, random_state=0).data, 2),
        (lambda: make_sphere(1500, noise=0.01, noise_dims=6, dim=3, random_state=0).data, 3),
        (lambda: make_sphere(500, noise=0.01, noise_dims=5, dim=3, random_state=1).data, 3),  # most points see a fourth
        (lambda: make_sphere(500, noise=0.01, noise_dims=5, dim=4, random_state=1).data, 4),
        (lambda: swiss_roll(2000, noise=0.3, random_state=0)[0], 2),
        (lambda: swiss_roll(500, random_state=0)[0], 1),  # at two, the next layer would be near
        (lambda: load_digits().data, 1),
        (lambda: np.random.default_rng(0).standard_normal((1000, 10)), 1),
    ],
)
def test_as_many_directions_are_compared_as_the_data_has(make, directions):
    selection = GeometricConsistency(random_state=0).fit(make()).selection_
    assert selection.details["working_dim"] == directions
    assert ("direction was" if directions == 1 else f"{directions} tangent directions were") in selection.explain()


@pytest.mark.slow
def test_the_directions_found_give_the_selection_of_as_many_directions():
    X = make_torus(800, random_state=0).data
    found, given = (GeometricConsistency(working_dim=d, n_sample=300, random_state=0).fit(X) for d in ("auto", 2))
    assert found.bandwidth_ == given.bandwidth_
    np.testing.assert_array_equal(found.selection_.scores, given.selection_.scores)
    assert "as given" in given.selection_.explain()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "scans"),
    [
        (lambda: make_sphere(1500, noise=0.01, noise_dims=27, random_state=0).data, [(10, 1), (100, 2)]),
        (lambda: np.random.default_rng(0).standard_normal((1500, 30)), [(10, 1), (90, 1)]),
    ],
)
def test_a_long_scan_is_done_once_in_all_directions(monkeypatch, make, scans):
    X = make()
    twice = GeometricConsistency(random_state=0).fit(X).selection_
    monkeypatch.setattr(tiled, "_MANY_NUMBERS", 0)
    found, asked = TiledEngine.local_metrics, []

    def counted(self, sample, bandwidths, *args, **kwargs):
        asked.append((len(sample), len(bandwidths), kwargs["working_dim"]))
        return found(self, sample, bandwidths, *args, **kwargs)

    monkeypatch.setattr(TiledEngine, "local_metrics", counted)
    once = GeometricConsistency(random_state=0).fit(X).selection_
    n_scanned = len(once.details["scanned"])
    assert [(points, directions) for points, bandwidths, directions in asked if bandwidths == n_scanned] == scans
    np.testing.assert_allclose(once.scores, twice.scores, rtol=1e-9)
    assert once.bandwidth == pytest.approx(twice.bandwidth, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n", [400, 800, 1500])
def test_the_choice_does_not_jump_between_two_minima(n):
    chosen = [
        GeometricConsistency(random_state=seed).fit(make_hourglass(n, 0.1, 10, random_state=seed).data).bandwidth_
        for seed in range(5)
    ]
    assert max(chosen) < 1.25 * min(chosen)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [lambda: swiss_roll(1200, noise=0.3, random_state=0)[0], lambda: load_ssl_book("usps").data[::2]]
)
def test_evaluation_points_hardly_move_the_choice(make):
    X = make()
    found = [GeometricConsistency(random_state=seed).fit(X).selection_ for seed in range(5)]
    low, high = np.quantile([s.bandwidth for s in found], [0.05, 0.95])
    assert high < 1.12 * low
    whole = GeometricConsistency(n_sample=None, random_state=0).fit(X).bandwidth_
    assert np.mean([s.interval[0] <= whole <= s.interval[1] for s in found]) >= 0.8


@pytest.mark.slow
def test_more_points_are_asked_only_where_minima_compete():
    X = make_hourglass(2000, noise=0.01, noise_dims=5, random_state=0).data
    selection = GeometricConsistency(random_state=0).fit(X).selection_
    values, sample = selection.details["per_point"], selection.details["sample"]
    asked = (~np.isnan(values)).sum(axis=0)
    assert values.shape == (len(sample), len(selection.bandwidths))
    assert len(np.unique(sample)) == len(sample) > asked.min() == 100
    near = np.abs(np.log(selection.bandwidths / selection.bandwidth)) < 0.1
    assert (asked[near] == len(sample)).all()
    full = np.flatnonzero(asked == len(sample))
    exact = geolap.distortion(X, selection.bandwidths[full], sample=sample, working_dim=2)
    np.testing.assert_allclose(selection.scores[full], exact.mean, rtol=1e-3)


@pytest.mark.slow
def test_few_points_are_all_asked():
    X = make_torus(400, random_state=0).data
    selections = [GeometricConsistency(random_state=seed).fit(X).selection_ for seed in range(2)]
    assert len(selections[0].details["sample"]) == 400
    assert selections[0].bandwidth == selections[1].bandwidth


@pytest.mark.parametrize("value", ["many", 0, 2.5])
@pytest.mark.parametrize("name", ["working_dim", "n_sample"])
def test_neither_a_number_nor_auto_is_refused(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        GeometricConsistency(**{name: value}).fit(make_sphere(100, random_state=0).data)


def test_effective_and_spanning_neighbors_are_sums_of_weights():
    X = make_sphere(300, random_state=0).data
    points = Points.of(X)
    found = Surroundings(points, np.arange(300), make_engine(points).row_sums).at(0.4)
    W = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 0.4**2)
    assert found.effective == pytest.approx(np.median(W.sum(axis=1) ** 2 / (W**2).sum(axis=1)), rel=1e-6)
    assert found.spanning == pytest.approx(np.median((W**2).sum(axis=1) ** 2 / (W**4).sum(axis=1)), rel=1e-6)
    np.fill_diagonal(W, 0.0)
    growth = np.log(W.sum(axis=1) / (W**2).sum(axis=1)) / np.log(np.sqrt(2.0))
    assert found.growth == pytest.approx(np.median(growth), rel=1e-6)
    assert found.likelihood == pytest.approx(2.0, abs=0.1)


def test_a_graph_of_few_neighbors_is_judged_by_those():
    X = make_sphere(1000, random_state=0).data
    selection = geolap.LaplacianEigenmap(n_neighbors=40, random_state=0).fit(X).selection_
    assert selection.neighborhoods.most >= 40
    assert selection.neighborhoods.effective < 80
    assert selection.verdict is Verdict.RESOLVED


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("dim", range(1, 7))
@pytest.mark.parametrize("shape", ["sphere", "cube"])
def test_the_dimension_is_right_or_not_told(shape, dim, noise):
    X = cube(1500, dim, noise) if shape == "cube" else make_sphere(1500, noise, 3, dim=dim, random_state=0).data
    estimate = geolap.intrinsic_dimension(X, random_state=0)
    assert estimate.dimension in (dim, None)
    if dim <= 3 and not (shape == "cube" and dim == 1 and noise):  # there the noise is as wide as ε̂
        assert estimate.dimension == dim


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.standard_normal((1000, 8)),
        lambda rng: rng.standard_normal((1000, 50)),
        lambda rng: rng.integers(1, 6, (1000, 10)).astype(float),
        lambda rng: rng.integers(0, 2, (1000, 64)).astype(float),
        lambda rng: load_digits().data,
    ],
)
def test_what_has_no_tangent_planes_is_not_resolved(make):
    X = make(np.random.default_rng(0))
    selection = geolap.select_bandwidth(X, random_state=0)
    assert selection.verdict is Verdict.NEAREST_NEIGHBORS
    assert not selection.trusted
    assert selection.neighborhoods.dimension is None
    assert "cannot be determined" in selection.explain()


def test_remarks_on_the_data_are_among_the_reasons():
    X = make_torus(500, random_state=0).data * [1.0, 1.0, 1000.0]
    selection = geolap.select_bandwidth(X, random_state=0)
    assert [remark.kind for remark in selection.remarks] == ["dominant"]
    assert "StandardScaler" in selection.explain()
    other = geolap.select_bandwidth(X, "knn")
    assert other.remarks == selection.remarks
    assert other.verdict is Verdict.NOT_FOUND


@pytest.mark.slow
def test_a_map_warns_once_if_its_bandwidth_does_not_resolve_the_geometry():
    X = np.random.default_rng(0).standard_normal((400, 20))
    for make, warned in (
        (lambda: geolap.LaplacianEigenmap(n_neighbors=None, random_state=0).fit(X), 1),
        (lambda: geolap.LaplacianEigenmap(random_state=0).fit(X), 0),
        (lambda: geolap.LaplacianEigenmap(n_neighbors=10, random_state=0).fit(X), 0),
        (lambda: geolap.LaplacianEigenmap(bandwidth=5.0).fit(X), 0),
        (lambda: geolap.GraphLaplacian(random_state=0).fit(X), 0),
        (lambda: geolap.LaplacianEigenmap(random_state=0).fit(make_torus(400, random_state=0).data), 0),
    ):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            make()
        assert sum(issubclass(w.category, geolap.UnresolvedWarning) for w in heard) == warned


def test_leading_singular_values_of_a_large_neighborhood_are_exact():
    Z = np.random.default_rng(0).standard_normal((450, 420)) * np.geomspace(1, 1e-3, 420)
    np.testing.assert_allclose(_leading_singular_values(Z, 12), np.linalg.svd(Z, compute_uv=False)[:12], rtol=1e-9)
    np.testing.assert_allclose(_leading_singular_values(Z.T, 12), _leading_singular_values(Z, 12), rtol=1e-9)
    same = np.eye(450, 420)  # all equal: the hardest for Lanczos
    np.testing.assert_allclose(_leading_singular_values(same, 12), 1.0, rtol=1e-9)


def test_one_scan_serves_every_number_of_directions():
    X = make_torus(600, random_state=0).data
    found = GeometricConsistency(random_state=0).fit(X).selection_
    details, scanned = found.details, found.details["scanned"][::6]
    assert details["working_dim"] == 2
    curve = geolap.distortion(X, scanned, working_dim=2, sample=details["sample"][:100])
    columns = np.searchsorted(found.bandwidths, scanned)
    np.testing.assert_allclose(details["per_point"][:100, columns].mean(axis=0), curve.mean, rtol=1e-9)


@pytest.mark.slow
def test_votes_of_many_points_see_all_neighbors():
    # Of neighborhoods of several hundred points, a sample of the columns would leave too few to tell two from three.
    X = make_hourglass(300_000, noise=0.01, noise_dims=13, random_state=0).data
    sample = np.arange(0, len(X), 7500)

    def row_sums(bandwidths, targets):
        sqdist = cdist(X[targets], X, "sqeuclidean")
        return np.stack([np.exp(-sqdist / eps**2).sum(axis=1) - 1.0 for eps in bandwidths], axis=1)

    found = Surroundings(Points.of(X), sample, row_sums).at(0.05)
    assert (found.vote, found.directions) == (2, 2)
    assert found.share > 0.8


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_a_bandwidth_that_sees_the_grid_of_discrete_data_is_not_resolved(unit):
    torus = make_torus(2000, random_state=0).data
    bits = (np.random.default_rng(0).random((500, 7)) < 0.5).astype(float)
    for X in (bits, np.round(torus)):
        found = geolap.select_bandwidth(unit * X, random_state=0)
        assert found.neighborhoods.resolved
        assert found.verdict is Verdict.NEAREST_NEIGHBORS
    assert geolap.select_bandwidth(unit * np.round(5 * torus) / 5, random_state=0).verdict is Verdict.RESOLVED
