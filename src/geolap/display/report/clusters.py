"""Clusters of the points, as `geolap.LaplacianClustering` finds them by default, and what they are drawn on."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from ...data.points import Points
from ...estimators.base import NEIGHBORS, graph_in_words
from ...estimators.clusters import LaplacianClustering
from ..coloring import Coloring, label_coloring
from .maps import DRAWN, Maps, MapView, panel

__all__ = ["Clusters", "clusters_of"]


@dataclass(frozen=True)
class Clusters:
    """Clusters of the points, and how they were found.

    Attributes
    ----------
    found : LaplacianClustering
    graph : str
        The one that they were found on, in words.
    view : MapView
        What they are drawn on: the map at ε̂, or principal components.
    coloring : Coloring
    on_the_map : bool
        Whether it is the map at ε̂.
    """

    found: LaplacianClustering
    graph: str
    view: MapView = field(repr=False)
    coloring: Coloring = field(repr=False)
    on_the_map: bool


def clusters_of(points: Points, maps: Maps, seed: int, found: LaplacianClustering | None = None) -> Clusters:
    """What was found, or is by default, on the map at ε̂ or, where that has parts, on principal axes."""
    n = len(points)
    n_neighbors = None
    if found is None:
        known: dict[str, Any] = {}
        if maps.neighbors is not None:
            known, n_neighbors = {**maps.neighbors, "bandwidth": maps.bandwidth}, NEIGHBORS
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = LaplacianClustering(random_state=seed, **known).fit(points)
    view = maps.chosen
    on_the_map = view is not None and view.components == 1
    if view is None or not on_the_map:
        rows = np.sort(np.random.default_rng(seed).permutation(n)[:DRAWN])
        axes = min(2, points.shape[1])
        places = np.zeros((n, 2))
        places[:, :axes] = PCA(axes, svd_solver="full").fit_transform(points.host)
        center, sides = panel(places[rows])
        view = MapView(1.0, found.bandwidth_, rows, places[rows], center, sides)
    return Clusters(
        found=found,
        graph=graph_in_words(found, n_neighbors),
        view=replace(view, ellipses=view.ellipses[:0], clipped=view.clipped[:0]),
        coloring=replace(label_coloring(found.labels_, n), title="cluster"),
        on_the_map=on_the_map,
    )
