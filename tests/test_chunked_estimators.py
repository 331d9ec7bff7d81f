"""Maps, labels and clusters of dask arrays: landmarks carry the graph, points stay on the workers, answers are lazy."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

import geolap
from geolap.data.points import is_chunked
from geolap.datasets import make_torus

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

TORUS = make_torus(2000, noise=0.05, random_state=0).data
LABELED = np.random.default_rng(0).random(2000) < 0.04
CLASSES = np.where(LABELED, (TORUS[:, 2] > 0).astype(int), -1)
VALUES = np.where(LABELED, TORUS[:, 2], np.nan)
SETTINGS = {"n_landmarks": 300, "random_state": 0}


def chunks(X=TORUS, rows=700):
    return da.from_array(X, chunks=(rows, X.shape[1]))


def with_chunks(y):
    """The torus with these labels, in memory and in chunks."""
    return (TORUS, y), (chunks(), da.from_array(y, chunks=700))


@pytest.fixture
def here():
    """Chunks one after the other, in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.slow
def test_labels_are_those_of_numpy(here):
    gc = geolap.GeometricConsistency(2, n_sample=40, random_state=0)
    plain, found = (geolap.LaplacianClassifier(gc, **SETTINGS).fit(X, y) for X, y in with_chunks(CLASSES))
    assert set(found.graph_weights_) == {None, 10}
    np.testing.assert_array_equal(found.transduction_.compute(), plain.transduction_)
    np.testing.assert_array_equal(found.transduction_[LABELED].compute(), CLASSES[LABELED])
    assert (plain.transduction_ == (TORUS[:, 2] > 0)).mean() > 0.9
    np.testing.assert_array_equal(found.predict(chunks()).compute(), plain.predict(TORUS))
    np.testing.assert_allclose(found.predict_proba(chunks()).compute(), plain.predict_proba(TORUS), atol=1e-9)
    assert set(np.flatnonzero(LABELED)) < set(found.landmarks_)
    plain, found = (geolap.LaplacianRegressor(0.7, **SETTINGS).fit(X, y) for X, y in with_chunks(VALUES))
    np.testing.assert_allclose(found.transduction_.compute(), plain.transduction_, atol=1e-9)
    assert np.abs(plain.transduction_ - TORUS[:, 2]).mean() < 0.15


def test_of_many_labels_a_sample_is_used(here):
    y = (TORUS[:, 2] > 0).astype(int)
    with pytest.warns(UserWarning, match="2000 points are labeled: a sample of 300 labels is used; raise n_landmarks"):
        found = geolap.LaplacianClassifier(0.7, **SETTINGS).fit(chunks(), y)
    assert len(found.landmarks_) <= 600
    np.testing.assert_array_equal(found.transduction_.compute(), y)
    assert (found.predict(chunks()).compute() == y).mean() > 0.95


@pytest.mark.slow
def test_clusters_are_found_in_a_sample(here):
    X, moon = make_moons(2000, noise=0.05, random_state=0)
    gc = geolap.GeometricConsistency(2, n_sample=40, random_state=0)
    plain, found = (geolap.LaplacianClustering(None, gc, n_landmarks=400, random_state=0).fit(A) for A in (X, chunks(X)))
    assert found.n_clusters_ == 2
    assert len(found.landmarks_) == 400
    np.testing.assert_array_equal(found.labels_.compute(), plain.labels_)
    assert max(np.mean(plain.labels_ == moon), np.mean(plain.labels_ != moon)) > 0.99
    assert found.plot().embedding.shape == (400, 2)


def test_cosine_distance_of_chunks(here):
    settings = {"metric": "cosine", "n_landmarks": 100, "random_state": 0}
    plain, found = (geolap.LaplacianEigenmap(2, 0.5, **settings).fit(X) for X in (TORUS, chunks()))
    np.testing.assert_allclose(found.embedding_.compute(), plain.embedding_, atol=1e-9)
    with pytest.raises(ValueError, match="With cosine distance a row needs a direction"):
        geolap.LaplacianEigenmap(2, 0.5, **settings).fit(chunks(np.vstack([TORUS, np.zeros(3)])))


def test_all_of_a_few_points_are_landmarks(here):
    X = TORUS[:800]
    plain, found = (geolap.LaplacianEigenmap(3, 0.9).fit(A) for A in (X, chunks(X)))
    np.testing.assert_array_equal(found.landmarks_, np.arange(800))
    np.testing.assert_allclose(found.embedding_.compute(), plain.embedding_, atol=1e-9)
    lazy = plain.transform(chunks(X))
    assert is_chunked(lazy)
    np.testing.assert_allclose(lazy.compute(), plain.embedding_, atol=1e-9)


def test_points_stay_on_the_workers_and_are_read_a_few_times(here, monkeypatch):
    monkeypatch.setattr("geolap.graphs.build._DRAWN", 400)
    monkeypatch.setattr("geolap.graphs.build._DRAWN_FOR_EACH", 2)
    largest, reads, compute = [], [], dask.compute

    def computed(*tasks):
        found = compute(*tasks)
        largest.extend(np.size(array) for result in found for array in (result if isinstance(result, tuple) else [result]))
        return found

    def read(chunk, block_info=None):
        reads.append(block_info[0]["chunk-location"][0])
        return chunk

    monkeypatch.setattr(dask, "compute", computed)
    X = chunks().map_blocks(read, dtype=float, meta=np.empty((0, 0)))
    model = geolap.LaplacianEigenmap(2, 0.7, **(SETTINGS | {"n_landmarks": 200})).fit(X)
    assert max(largest) <= 3 * 400  # the sample from which landmarks are drawn
    assert np.bincount(reads)[1:].tolist() == [4] * 2  # a first look, the sample, the landmarks, and the degrees
    reads.clear()
    found = model.embedding_.compute()
    assert sorted(reads) == list(range(3))
    np.testing.assert_allclose(found[model.landmarks_], model._coordinates, atol=1e-9)
    assert sum("LaplacianEigenmap" in str(key) for key in dict(model.embedding_.__dask_graph__())) == 1  # it travels once


def test_faults_are_sentences(here):
    wrong = np.where(np.arange(2000)[:, None] == 800, np.nan, TORUS)
    model = geolap.LaplacianEigenmap(2, 0.7, **SETTINGS)
    with pytest.raises(ValueError, match="must be finite; rows 700 to 1399 contain NaN or inf"):
        model.fit(chunks(wrong))
    model.fit(chunks())
    with pytest.raises(ValueError, match="must be finite; rows 700 to 1399 contain NaN or inf"):
        model.transform(chunks(wrong)).compute()
    with pytest.raises(ValueError, match="must be finite; rows 0 to 699 contain NaN or inf"):
        geolap.LaplacianClustering(2, 0.7).fit(chunks(np.where(np.arange(2000)[:, None] % 3, TORUS, np.inf)))
    with pytest.raises(ValueError, match="X has 2 features"):
        model.transform(chunks()[:, :2])
    for settings in ({"n_neighbors": 9}, {"local_scale": 7}, {"metric": "manhattan"}, {"bandwidth": "median"}):
        given = next(iter(settings))
        with pytest.raises(ValueError, match=f"A dask array or a large file is not loaded: .* {given} was given"):
            geolap.LaplacianEigenmap(**settings).fit(chunks())
    with pytest.raises(ValueError, match="sample_weight was given"):
        geolap.LaplacianClassifier(0.7).fit(chunks(), CLASSES, np.ones(2000))
    with pytest.raises(ValueError, match="Landmarks are points with features"):
        geolap.LaplacianClustering(metric="precomputed").fit(chunks())


def test_numbers_may_be_objects(here):
    model, objects = geolap.LaplacianEigenmap(2, 0.7, **SETTINGS), TORUS.astype(object)
    expected = model.fit(chunks()).embedding_.compute()
    np.testing.assert_array_equal(model.transform(chunks(objects)).compute(), expected)
    np.testing.assert_array_equal(model.fit(chunks(objects)).embedding_.compute(), expected)
    objects[800, 1] = "word"
    with pytest.raises(ValueError, match=r"Points must be numbers; .*'word'"):
        model.fit(chunks(objects))


def test_masked_chunks_are_refused(here):
    masked = da.ma.masked_greater(chunks(), 1.0)
    model = geolap.LaplacianEigenmap(2, 0.7, **SETTINGS).fit(TORUS)
    for call in (model.transform, model.fit, geolap.LaplacianClustering(2, 0.7).fit):
        with pytest.raises(ValueError, match="Points must be complete; a masked array was given"):
            call(masked)
    with pytest.raises(ValueError, match="y must be complete; a masked array was given"):
        geolap.LaplacianClassifier(0.7).fit(chunks(), da.ma.masked_equal(da.from_array(CLASSES, chunks=700), 1))


def test_a_data_frame_of_dask_is_not_loaded(here):
    dataframe = pytest.importorskip("dask.dataframe")
    X = dataframe.from_pandas(pd.DataFrame(TORUS, columns=["a", "b", "c"]), npartitions=3)
    model = geolap.LaplacianEigenmap(2, 0.7, **SETTINGS).fit(X.to_dask_array(lengths=True))
    assert is_chunked(model.embedding_)
    for call in (model.fit, model.transform, geolap.MedianDistance().fit, geolap.forecast):
        with pytest.raises(TypeError, match=r"a dask DataFrame was given: pass X.to_dask_array\(lengths=True\)"):
            call(X)


def test_a_laplacian_of_all_points_is_not_built_from_chunks(here):
    for params in ({}, {"n_neighbors": 5}):
        with pytest.raises(ValueError, match=r"which must be in memory; a dask array was given: pass X.compute\(\)"):
            geolap.GraphLaplacian(0.7, **params).fit(chunks())


def test_a_large_file_is_mapped_in_chunks(here, tmp_path, monkeypatch):
    monkeypatch.setattr("geolap.data.points._LARGE_FILE", 10_000)
    monkeypatch.setattr("geolap.data.points._CHUNK", 20_000)
    np.save(tmp_path / "points.npy", TORUS)
    points = np.load(tmp_path / "points.npy", mmap_mode="r")
    found = geolap.LaplacianEigenmap(2, 0.7, **SETTINGS).fit(points)
    assert found.embedding_.numblocks == (3, 1)
    plain = geolap.LaplacianEigenmap(2, 0.7, **SETTINGS).fit(TORUS)
    np.testing.assert_allclose(found.embedding_.compute(), plain.embedding_, atol=1e-9)
    assert is_chunked(found.transform(points))


def test_what_was_fitted_on_a_large_file_can_be_pickled(here, tmp_path, monkeypatch):
    monkeypatch.setattr("geolap.data.points._LARGE_FILE", 10_000)
    monkeypatch.setattr("geolap.data.points._CHUNK", 20_000)
    for order in ("C", "F"):
        np.save(tmp_path / "points.npy", np.asarray(TORUS, order=order))
        model = geolap.LaplacianEigenmap(2, 0.7, **SETTINGS).fit(np.load(tmp_path / "points.npy", mmap_mode="r"))
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.embedding_.compute(), model.embedding_.compute())


def test_the_shell_maps_a_large_file(here, tmp_path, monkeypatch):
    typer = pytest.importorskip("typer.testing")
    from geolap.cli.commands import app

    monkeypatch.setattr("geolap.data.points._LARGE_FILE", 10_000)
    monkeypatch.setattr("geolap.files.arrays._LARGE", 10_000)
    np.save(tmp_path / "points.npy", TORUS)
    settings = ["--bandwidth", "0.7", "--n-landmarks", "300", "--seed", "0"]
    done = typer.CliRunner().invoke(app, ["embed", str(tmp_path / "points.npy"), "-o", str(tmp_path / "map.npy"), *settings])
    assert done.exit_code == 0, done.output
    plain = geolap.LaplacianEigenmap(2, 0.7, **SETTINGS).fit(TORUS)
    np.testing.assert_allclose(np.load(tmp_path / "map.npy"), plain.embedding_, atol=1e-9)
