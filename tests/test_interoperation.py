"""Data frames in and out, and graphs for networkx and scipy."""

import sys

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import geolap

X = geolap.datasets.make_torus(300, random_state=0).data
FRAME = pd.DataFrame(X, columns=["x", "y", "z"], index=[f"point {i}" for i in range(300)])
LABELS = pd.Series(np.where(X[:, 0] > 0, "right", "left"), index=FRAME.index).mask(np.arange(300) >= 50)


def test_a_map_of_a_pandas_frame_keeps_its_index():
    eigenmap = geolap.LaplacianEigenmap(2, 0.8).set_output(transform="pandas")
    found = eigenmap.fit_transform(FRAME)
    assert_array_equal(found.index, FRAME.index)
    assert_array_equal(eigenmap.transform(FRAME[5:9]).index, FRAME.index[5:9])
    assert list(found.columns) == ["laplacianeigenmap0", "laplacianeigenmap1"]


@pytest.mark.parametrize("missing", [FRAME.astype("Float64"), pl.DataFrame(FRAME)], ids=["pandas", "polars"])
def test_a_missing_value_is_named_by_its_place(missing):
    missing = missing.clone() if isinstance(missing, pl.DataFrame) else missing.copy()
    if isinstance(missing, pl.DataFrame):
        missing[3, "y"] = None
    else:
        missing.iloc[3, 1] = pd.NA
    with pytest.raises(ValueError, match="contains NaN, first at row 3, column 1"):
        geolap.select_bandwidth(missing, "median")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["1.5", None, "north"] * 100),
        pd.Series(["1.5", None, "north"] * 100, dtype="string"),
        pd.Series(["1.5", None, "north"] * 100, dtype="category"),
        pl.Series(["1.5", None, "north"] * 100),
    ],
    ids=["objects", "strings", "categories", "polars"],
)
def test_a_column_of_words_is_named(column):
    frame = pl.DataFrame(X, ["x", "y", "z"]) if isinstance(column, pl.Series) else pd.DataFrame(X, columns=["x", "y", "z"])
    frame = frame.with_columns(place=column) if isinstance(column, pl.Series) else frame.assign(place=column)
    with pytest.raises(ValueError, match=r"Points must be numbers; .* \(column 'place' holds 'north'\): keep the numeric"):
        geolap.select_bandwidth(frame, "median")


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS.astype("category"), LABELS.astype("string"), pl.Series([*LABELS[:50], *250 * [None]])],
    ids=["pandas", "categories", "strings", "polars"],
)
def test_missing_labels_are_unlabeled_points(labels):
    points = pl.DataFrame(X) if isinstance(labels, pl.Series) else FRAME
    model = geolap.LaplacianClassifier(0.8).fit(points, labels)
    assert list(model.classes_) == ["left", "right"]
    assert (model.transduction_ == np.where(X[:, 0] > 0, "right", "left")).mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("values", [pd.Series(X[:, 0]).mask(np.arange(300) >= 50), pl.Series([*X[:50, 0], *250 * [None]])])
def test_missing_values_are_found(values):
    model = geolap.LaplacianRegressor(0.8).fit(X, values)
    assert np.corrcoef(model.transduction_, X[:, 0])[0, 1] > 0.95


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_comparison_is_a_table(frame):
    table = frame(geolap.compare_bandwidths(FRAME, ["median", "knn"]).as_dicts())
    assert list(table["method"]) == ["median", "knn"]


@pytest.mark.parametrize("parameters", [{}, {"n_neighbors": 10}, {"cutoff": 3.0, "self_weights": False}])
def test_networkx_and_scipy_have_the_same_weights(parameters):
    graph = geolap.GraphLaplacian(0.8, **parameters).fit(X).graph_
    weights = graph.weights if isinstance(graph.weights, np.ndarray) else graph.weights.toarray()
    exported = graph.to_networkx()
    assert_array_equal(graph.to_scipy().toarray(), weights)
    assert_array_equal(nx.to_numpy_array(exported, nodelist=range(300)), weights)
    assert exported.graph["bandwidth"] == 0.8


def test_an_exported_matrix_is_the_users_own():
    graph = geolap.GraphLaplacian(0.8, n_neighbors=10).fit(X).graph_
    before = graph.weights.sum()
    graph.to_scipy().data[:] = 0.0
    assert graph.weights.sum() == before


@pytest.mark.slow
def test_components_agree_with_networkx():
    two = np.vstack([X, X + 100.0])
    eigenmap = geolap.LaplacianEigenmap(2, 0.8, n_neighbors=10, disconnected="separate").fit(two)
    parts = list(nx.connected_components(eigenmap.graph_.to_networkx()))
    assert len(parts) == eigenmap.n_graph_components_ == 2


def test_nodes_can_have_names_and_light_edges_be_left_out():
    graph = geolap.GraphLaplacian(0.8, self_weights=True).fit(FRAME).graph_
    exported = graph.to_networkx(FRAME.index, least_weight=0.5)
    assert list(exported) == list(FRAME.index)
    assert min(weight for *_, weight in exported.edges(data="weight")) >= 0.5
    assert_allclose(exported["point 0"]["point 0"]["weight"], 1.0)


@pytest.mark.parametrize("names", [["a"] * 300, range(299)])
def test_names_must_be_different_ones(names):
    with pytest.raises(ValueError, match="names must be 300 distinct names"):
        geolap.GraphLaplacian(0.8).fit(X).graph_.to_networkx(names)


def test_missing_networkx_is_named_with_its_extra(monkeypatch):
    graph = geolap.GraphLaplacian(0.8).fit(X).graph_
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"networkx, which is not installed: pip install 'geolap\[networkx\]'"):
        graph.to_networkx()
