"""AnnData in and out, with the real scanpy on the single-cell data that comes with it."""

import anndata as ad
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import geolap

pytestmark = pytest.mark.slow
sc = pytest.importorskip("scanpy")
CELLS = sc.datasets.pbmc68k_reduced()


@pytest.fixture
def cells():
    """700 blood cells with 50 principal components and a graph of 10 neighbors, in the format of an old scanpy."""
    return CELLS.copy()


def test_selection_is_that_of_the_principal_components(cells):
    geolap.anndata.select(cells, random_state=0)
    plain = geolap.select_bandwidth(CELLS.obsm["X_pca"], random_state=0)
    record = cells.uns["geolap"]
    assert record["bandwidth"] == plain.bandwidth
    assert record["status"] == plain.status.name.lower()
    assert_array_equal(record["interval"], plain.interval)
    assert record["params"] == {"use_rep": "X_pca", "random_state": 0}
    assert geolap.anndata.selection(cells).explain() == plain.explain()


def test_everything_survives_a_file(cells, tmp_path):
    geolap.anndata.select(cells, random_state=0)
    geolap.anndata.embed(cells, "diffusion_map", key_added="walk", local_scale=7, n_components=3)
    geolap.anndata.neighbors(cells)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    read = ad.read_h5ad(tmp_path / "cells.h5ad")
    assert geolap.anndata.selection(read).explain() == geolap.anndata.selection(cells).explain()
    assert read.uns["geolap"]["params"] == {"use_rep": "X_pca", "random_state": 0}
    assert_array_equal(read.obsm["X_walk"], cells.obsm["X_walk"])
    assert_array_equal(read.uns["walk"]["map"]["eigenvalues"], cells.uns["walk"]["map"]["eigenvalues"])
    assert read.uns["neighbors"]["params"] == cells.uns["neighbors"]["params"]
    assert (read.obsp["connectivities"] != cells.obsp["connectivities"]).nnz == 0


def test_clusters_are_categories_and_survive_a_file(cells, tmp_path):
    geolap.anndata.cluster(cells, 8, n_pcs=20, key_added="parts", random_state=0)
    plain = geolap.LaplacianClustering(8, random_state=0).fit(CELLS.obsm["X_pca"][:, :20])
    assert_array_equal(cells.obs["parts"].cat.codes, plain.labels_)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    read = ad.read_h5ad(tmp_path / "cells.h5ad")
    assert_array_equal(read.obs["parts"].cat.codes, plain.labels_)
    assert read.uns["parts"]["clusters"]["status"] == "given"
    assert geolap.anndata.selection(read, "parts").bandwidth == plain.bandwidth_
    geolap.anndata.cluster(cells, neighbors_key="neighbors", random_state=0)
    assert cells.uns["geolap"]["clusters"]["n_clusters"] == cells.obs["geolap"].nunique()
    with pytest.raises(TypeError, match="LaplacianClustering takes the parameters"):
        geolap.anndata.cluster(cells, colour=3)


def test_rules_without_interval_or_minima_are_written_too(cells, tmp_path):
    geolap.anndata.select(cells, "median")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = geolap.anndata.selection(ad.read_h5ad(tmp_path / "cells.h5ad"))
    assert again.explain() == geolap.select_bandwidth(CELLS.obsm["X_pca"], "median").explain()


def test_map_is_that_of_the_estimator(cells):
    geolap.anndata.embed(cells, n_components=3, n_pcs=10, local_scale=7, random_state=0)
    plain = geolap.LaplacianEigenmap(3, local_scale=7, random_state=0).fit(CELLS.obsm["X_pca"][:, :10])
    assert_array_equal(cells.obsm["X_geolap"], plain.embedding_)
    assert_array_equal(cells.uns["geolap"]["map"]["eigenvalues"], plain.eigenvalues_)
    assert geolap.anndata.selection(cells).bandwidth == plain.bandwidth_


def test_clusters_and_selections_leave_the_record_of_a_map_in_place(cells, tmp_path):
    geolap.anndata.embed(cells, n_components=3, n_pcs=10, random_state=0)
    made = cells.uns["geolap"]["map"]
    geolap.anndata.cluster(cells, n_pcs=10, random_state=0)
    geolap.anndata.select(cells, "median", n_pcs=10, random_state=0)
    assert cells.uns["geolap"]["map"] is made
    assert cells.uns["geolap"]["clusters"]["n_clusters"] == cells.obs["geolap"].nunique()
    cells.write_h5ad(tmp_path / "cells.h5ad")
    assert geolap.anndata.selection(ad.read_h5ad(tmp_path / "cells.h5ad")).method == "median"


def test_sparse_counts_of_a_file_that_is_not_loaded(tmp_path):
    X = sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (60, 5)).astype(np.float32))
    ad.AnnData(X).write_h5ad(tmp_path / "counts.h5ad")
    counts = ad.read_h5ad(tmp_path / "counts.h5ad", backed="r")
    geolap.anndata.select(counts, random_state=0)
    assert counts.uns["geolap"]["bandwidth"] == geolap.select_bandwidth(X, random_state=0).bandwidth
    counts.file.close()


def test_a_given_bandwidth_leaves_the_selection_in_place(cells):
    geolap.anndata.select(cells, random_state=0)
    before = geolap.anndata.selection(cells).explain()
    geolap.anndata.embed(cells, bandwidth=12.0)
    assert geolap.anndata.selection(cells).explain() == before
    assert cells.uns["geolap"]["map"]["bandwidth"] == 12.0


def test_scanpys_diffusion_map_of_our_graph_is_ours(cells):
    geolap.anndata.neighbors(cells, 30, local_scale=None, bandwidth=10.0)
    sc.tl.diffmap(cells, n_comps=6)
    assert_allclose(cells.uns["diffmap_evals"][0], 1.0, rtol=1e-6)
    plain = geolap.DiffusionMap(5, 10.0, n_neighbors=30, self_weights=False).fit(CELLS.obsm["X_pca"])
    assert_allclose(cells.uns["diffmap_evals"][1:], plain.eigenvalues_, rtol=1e-5)


def test_scanpys_clusters_and_umap_work_on_our_graph(cells):
    geolap.anndata.neighbors(cells, 30)
    sc.tl.leiden(cells, flavor="igraph", n_iterations=2, directed=False)
    assert 3 <= cells.obs["leiden"].nunique() <= 30
    sc.tl.umap(cells)
    assert np.isfinite(cells.obsm["X_umap"]).all()


def test_our_neighbors_are_scanpys(cells):
    sc.pp.neighbors(cells, n_neighbors=15, use_rep="X_pca", method="gauss")
    theirs = cells.obsp["distances"].copy()
    geolap.anndata.neighbors(cells, 14, key_added="ours")  # scanpy counts the cell itself
    ours = cells.obsp["ours_distances"]
    assert cells.uns["ours"]["params"]["n_neighbors"] == cells.uns["neighbors"]["params"]["n_neighbors"]
    assert_array_equal(ours.nonzero(), theirs.nonzero())
    assert_allclose(ours.data, theirs.data, rtol=1e-3)  # theirs are in single precision


@pytest.mark.parametrize("knn", [True, False])
def test_scanpys_graph_is_used_as_it_is(cells, knn):
    """Their matrix leaves out the cell itself, or holds everything; both are understood."""
    sc.pp.neighbors(cells, n_neighbors=15, use_rep="X_pca", method="gauss", knn=knn)
    geolap.anndata.select(cells, neighbors_key="neighbors", n_sample=100, random_state=0)
    geolap.anndata.embed(cells, neighbors_key="neighbors", key_added="map", bandwidth=10.0)
    kind = {"n_neighbors": 14 if knn else None}
    plain = geolap.LaplacianEigenmap(10, 10.0, **kind).fit(CELLS.obsm["X_pca"])
    assert_allclose(cells.uns["map"]["map"]["eigenvalues"], plain.eigenvalues_, rtol=1e-4)
    chosen = geolap.GeometricConsistency(n_sample=100, random_state=0, **kind).fit(CELLS.obsm["X_pca"]).bandwidth_
    assert_allclose(cells.uns["geolap"]["bandwidth"], chosen, rtol=1e-3)


def test_graphs_of_an_old_scanpy_are_found(cells):
    assert "distances_key" not in cells.uns["neighbors"]
    geolap.anndata.select(cells, neighbors_key="neighbors", random_state=0)
    assert cells.uns["geolap"]["params"]["neighbors_key"] == "neighbors"


def test_cells_that_are_twice_there_stay_joined():
    twice = ad.AnnData(np.repeat(CELLS.obsm["X_pca"][:200], 2, axis=0))
    sc.pp.neighbors(twice, n_neighbors=10, use_rep="X", method="gauss")
    graph = geolap.GraphLaplacian(neighbors=twice.obsp["distances"], random_state=0).fit(twice.X).graph_
    assert_allclose(graph.weights[[0, 7], [1, 6]], 1.0)


def test_cells_without_neighbors_are_told(cells):
    X = cells.obsm["X_pca"].copy()
    X[3] += 1e4
    cells.obsm["X_pca"] = X
    with pytest.warns(UserWarning, match="1 of 700 have none at bandwidth"):
        geolap.anndata.neighbors(cells, local_scale=None, bandwidth=10.0)


def test_input_is_read_only(cells):
    before = cells.obsm["X_pca"].copy()
    geolap.anndata.neighbors(cells)
    geolap.anndata.embed(cells, neighbors_key="neighbors", local_scale=7)
    assert_array_equal(cells.obsm["X_pca"], before)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda a: geolap.anndata.select(a, use_rep="X_scvi"), r"key of adata.obsm \(X_pca, X_umap\); 'X_scvi' was given"),
        (lambda a: geolap.anndata.embed(a, neighbors_key="graph"), "'graph' was given, and there is no such key"),
        (lambda a: geolap.anndata.selection(a, "mine"), r"it holds nothing: run geolap.anndata.select first"),
        (lambda a: geolap.anndata.embed(a, "umap"), "must be one of 'eigenmap', 'diffusion_map'; 'umap' was given"),
        (lambda a: geolap.anndata.select(a, "median", neighbors_key="neighbors"), "'median' was given"),
        (lambda a: geolap.anndata.select(a, n_pcs=60), "n_pcs must be a whole number of at least 1 and at most 50"),
        (lambda a: geolap.anndata.select(ad.AnnData(a.X)), r"X has 765 variables: run scanpy.pp.pca first"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(cells, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(cells)


def test_an_unknown_parameter_is_named(cells):
    with pytest.raises(TypeError, match="n_comps was given: remove it"):
        geolap.anndata.embed(cells, n_comps=3)
