"""The formulas of docs/conversions.md, against the libraries themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF
from sklearn.manifold import SpectralEmbedding
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KernelDensity
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from geolap import GraphLaplacian, convert_bandwidth
from geolap.datasets import make_torus

X = make_torus(60, random_state=0).data
EPS = 0.9
W = GraphLaplacian(EPS, self_weights=True).fit(X).graph_.weights


def as_(convention):
    return convert_bandwidth(EPS, target=convention)


def test_gamma_of_scikit_learn():
    assert_allclose(rbf_kernel(X, gamma=as_("gamma")), W)
    assert_allclose(SpectralEmbedding(affinity="rbf", gamma=as_("gamma")).fit(X).affinity_matrix_, W)


@pytest.mark.parametrize("model", [LabelSpreading, LabelPropagation])
def test_gamma_of_label_spreading(model):
    assert convert_bandwidth(model().gamma, source="gamma") == pytest.approx(0.2236, rel=1e-3)
    assert_allclose(model(gamma=as_("gamma"))._get_kernel(X), W)


def test_length_scale_of_gaussian_processes():
    assert_allclose(RBF(as_("sigma"))(X), W)


def test_bandwidth_of_kernel_densities():
    log_density = [KernelDensity(bandwidth=as_("sigma")).fit(X[[j]]).score_samples(X) for j in range(3)]
    relative = np.exp(np.array(log_density) - np.array(log_density)[[0, 1, 2], [0, 1, 2], None])
    assert_allclose(relative, W[:3])


def test_epsilon_of_pydiffmap():
    kernel = pytest.importorskip("pydiffmap.kernel")
    assert_allclose(kernel.Kernel(epsilon=as_("heat_time"), k=len(X)).fit(X).compute().toarray(), W)


@pytest.mark.slow
@pytest.mark.parametrize("knn", [True, False])
def test_gauss_kernel_of_scanpy(knn):
    sc, anndata = pytest.importorskip("scanpy"), pytest.importorskip("anndata")
    k = 10
    adata = anndata.AnnData(X)
    sc.pp.neighbors(adata, n_neighbors=k, use_rep="X", method="gauss", knn=knn)
    d2 = cdist(X, X, "sqeuclidean")
    others = np.sort(d2, axis=1)[:, 1:k]
    variance = np.median(others, axis=1) if knn else others[:, -1] / 4
    total = variance[:, None] + variance
    expected = np.sqrt(2 * np.sqrt(np.outer(variance, variance)) / total) * np.exp(-d2 / total)
    found = adata.obsp["connectivities"]
    found = found.toarray() if knn else found
    joined = (found > 0) & ~np.eye(len(X), dtype=bool)
    assert joined.sum() >= len(X) * (k - 1)
    assert_allclose(found[joined], expected[joined], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")
def test_weights_of_umap_are_no_gaussian():
    """exp(−(d − ρ_i)/σ_i), 1 for the nearest neighbor, and the sum of a row is log₂ k whatever the data."""
    fuzzy_simplicial_set = pytest.importorskip("umap.umap_").fuzzy_simplicial_set
    k = 10
    order = np.argsort(cdist(X, X), axis=1)[:, :k]
    distances = np.take_along_axis(cdist(X, X), order, axis=1)
    directed, sigmas, rhos = fuzzy_simplicial_set(
        X,
        k,
        None,
        None,
        knn_indices=order,
        knn_dists=distances.astype(np.float32),
        set_op_mix_ratio=1.0,
        apply_set_operations=False,
    )
    expected = np.exp(-np.maximum(distances - rhos[:, None], 0.0) / sigmas[:, None])[:, 1:]
    assert_allclose(np.take_along_axis(directed.toarray(), order, axis=1)[:, 1:], expected, rtol=1e-4)
    assert_allclose(rhos, distances[:, 1], rtol=1e-6)
    assert_allclose(expected.sum(axis=1), np.log2(k), rtol=1e-3)
