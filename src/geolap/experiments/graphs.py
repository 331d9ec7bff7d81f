"""Which graph: all pairs, neighbors, local scales or both, for clusters, labels and maps of labeled real sets and manifolds.

ε̂ is chosen for every graph by geometric consistency, once, and serves all purposes:

- ``clusters``: normalized mutual information of `geolap.LaplacianClustering` and the classes, their number given,
- ``labels``: error of `geolap.LaplacianClassifier` with at most 60 eigenvectors, from five labels of each class,
- ``maps``: accuracy of 10 nearest neighbors on a `geolap.LaplacianEigenmap` of c − 1 coordinates (2 to 10), and its
  ``spikes``, the share of its variance in the hundredth of the points that is farthest out,
- ``trust``: trustworthiness of the map of two coordinates, by 10 neighbors, also of scikit-learn's `SpectralEmbedding`,
- ``manifolds``: R² of the true places of the points (of unrolled coordinates, for the swiss roll) on a map of five.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.cluster import SpectralClustering
from sklearn.manifold import SpectralEmbedding, trustworthiness
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import scale

from ..datasets import ManifoldSample, make_hourglass, make_sphere, make_swiss_roll, make_torus
from ..estimators.clusters import LaplacianClustering
from ..estimators.laplacian import GraphLaplacian
from ..estimators.maps import LaplacianEigenmap
from ..graphs.smooth_regression import SmoothFunctions
from ..validation import check_random_state
from .labeled_sets import PACKAGES, LabeledSet, labeled_sets
from .labels import functions_of, split_errors
from .study import Claim, Record, Study, column, listed

__all__ = ["GRAPHS", "graphs"]

_LOCAL: dict[str, Any] = {"local_scale": 7}
GRAPHS: dict[str, dict[str, Any]] = {
    "all pairs": {},
    **{f"{k} neighbors": {"n_neighbors": k} for k in (7, 10, 15, 20, 30)},
    "all pairs, local": _LOCAL,
    **{f"{k} neighbors, local": {"n_neighbors": k, **_LOCAL} for k in (10, 20)},
    "10 neighbors, local, λ = 1/2": {"n_neighbors": 10, **_LOCAL, "renormalization": 0.5},
}
# Weights 0 and 1 for the same 10 neighbors, the point itself among them, as in scikit-learn; equal weights for 20; the first
# graph where its bandwidth is resolved and the second elsewhere, or equal weights where that is about outliers.
UNWEIGHTED, EQUAL, AUTO = "10 neighbors, 0/1", "20 neighbors, equal", "auto"
_RESOLVED, _LOCAL_SCALES, _ELSE = "all pairs", "10 neighbors, local", "10 neighbors, local, λ = 1/2"
ALL = (*GRAPHS, UNWEIGHTED, EQUAL, AUTO)
SKLEARN, DEFAULT, WEIGHED, _NEAR = "SpectralClustering", "LaplacianClustering", "LaplacianClassifier", "10 neighbors"
EMBEDDING = "SpectralEmbedding"
POINTS, QUICK_POINTS, QUICK_SETS = 1000, 150, ("iris", "wine", "digits")
LABELS_PER_CLASS, SPLITS, QUICK_SPLITS = 5, 10, 2
MANIFOLDS: dict[str, Callable[..., ManifoldSample]] = {
    "sphere": make_sphere,
    "torus": make_torus,
    "swiss roll": make_swiss_roll,
    "hourglass": partial(make_hourglass, noise=0.01, noise_dims=10),
}
_MOST_COORDINATES, _OF_MANIFOLDS = 10, 5
_NEIGHBORS, _FOLDS = 10, 5
_OF_SETS = ("clusters", "labels", "maps", "spikes", "trust")
_FARTHEST = 0.01


def graphs(*, quick: bool = False, random_state: int = 0) -> Study:
    """Clusters, labels and maps on every graph, over the labeled sets that are installed.

    Tables: ``summary`` (by graph), ``clusters``, ``labels``, ``maps``, ``spikes``, ``trust`` and ``manifolds`` (by set and
    graph), ``chosen`` (bandwidths, and which graph ``auto`` begins with).
    """
    sets, missing = labeled_sets(QUICK_POINTS if quick else POINTS, random_state=random_state)
    sets = [each for each in sets if not quick or each.name in QUICK_SETS]
    tables: dict[str, list[Record]] = {name: [] for name in (*_OF_SETS, "manifolds", "chosen")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of graphs that fall apart: that is what is measured
        for each in sets:
            for name, row in _of_set(each, QUICK_SPLITS if quick else SPLITS, random_state).items():
                tables[name].append({"set": each.name, "points": len(each.data), "classes": each.n_classes, **row})
        for name, make in MANIFOLDS.items():
            sample = make(QUICK_POINTS if quick else POINTS, random_state=random_state)
            tables["manifolds"].append({"set": name, **_of_manifold(name, sample, random_state)})
    summary = [_summary(graph, tables) for graph in (*ALL, DEFAULT, SKLEARN, WEIGHED, EMBEDDING)]
    return Study(
        name="graphs",
        title="Which graph: all pairs, neighbors or local scales",
        about=(
            f"{len(sets)} labeled real sets, at most {POINTS} points of each, features standardized if their units differ, "
            f"and {len(MANIFOLDS)} manifolds. ε̂ is chosen for every graph. Clusters: normalized mutual information with the "
            f"classes, whose number is given. Labels: error in percent from {LABELS_PER_CLASS} labels of each class. Maps: "
            "accuracy of 10 nearest neighbors on an eigenmap, and the share of its variance in one point of a hundred "
            "(spikes); trustworthiness by 10 neighbors of maps of two coordinates. Manifolds: R² of the true places of the "
            f"points on the map. *{AUTO}*, as maps by default: {_RESOLVED} where one ε̂ resolves the geometry everywhere, "
            f"else {_ELSE}; or {EQUAL}, where half of the coordinates are about outliers. *{WEIGHED}*: {_RESOLVED} and "
            f"{_NEAR}, weighed by leave-one-out. *{EMBEDDING}*: scikit-learn's, over 10 neighbors."
        ),
        tables={"summary": summary, **tables},
        claims=_claims(tables, {row["graph"]: row for row in summary}),
        remarks=tuple(
            f"Sets of {package} are left out because it is not installed: `{PACKAGES[package]}`." for package in missing
        ),
        quick=quick,
        shown={
            "summary": "Means over the sets; least: least difference of clusters from SpectralClustering's",
            "clusters": "Clusters: normalized mutual information",
            "labels": "Labels: error in percent",
            "maps": "Maps: accuracy of 10 nearest neighbors in percent",
            "spikes": "Maps: share of the variance in one point of a hundred",
            "trust": "Maps of two coordinates: trustworthiness",
            "manifolds": "Manifolds: R² of the true places on the map",
        },
    )


def _built(X: np.ndarray, seed: int) -> tuple[dict[str, dict[str, Any]], str]:
    """Parameters of every graph with its bandwidth, and which of them ``auto`` begins with."""
    found, auto = {}, _ELSE
    for name, params in GRAPHS.items():
        model = GraphLaplacian(random_state=seed, calibrate=False, **params).fit(X)
        found[name] = {"bandwidth": model.bandwidth_, **params}
        if name == _RESOLVED and model.selection_ is not None and model.selection_.even:
            auto = _RESOLVED
    wide = 100 * float(pdist(X[:: max(1, len(X) // 200)]).max())
    found[UNWEIGHTED] = {"bandwidth": wide, "n_neighbors": 9, "renormalization": 0.0, "self_weights": True}
    found[EQUAL] = {"bandwidth": wide, "n_neighbors": 20, "renormalization": 0.5}
    return found, auto


def _of_set(each: LabeledSet, n_splits: int, seed: int) -> dict[str, Record]:
    """Every score on one set, by table and graph."""
    X, y, c = each.data, each.target, each.n_classes
    rng = check_random_state(seed)
    splits = np.array(
        [
            np.concatenate([rng.choice(np.flatnonzero(y == k), LABELS_PER_CLASS, replace=False) for k in range(c)])
            for _ in range(n_splits)
        ]
    )
    params, auto = _built(X, seed)
    rows: dict[str, Record] = {name: {} for name in _OF_SETS}
    functions: dict[str, SmoothFunctions] = {}
    for name, given in params.items():
        graph: dict[str, Any] = {"n_neighbors": None, "local_scale": None} | given
        graph.pop("renormalization", None)  # the clustering has its own
        rows["clusters"][name] = normalized_mutual_info_score(y, LaplacianClustering(c, **graph).fit_predict(X))
        functions[name] = functions_of(GraphLaplacian(**given, calibrate=False).fit(X).graph_, splits, 60)
        rows["labels"][name] = float(split_errors([functions[name]], y, splits, 60).mean())
    for name in ("clusters", "labels"):
        rows[name][AUTO] = rows[name][auto]
    n_coordinates = min(max(c - 1, 2), _MOST_COORDINATES)
    for name, given in (params | {AUTO: {"random_state": seed}}).items():
        Z = _map(X, given, n_coordinates)
        rows["maps"][name] = 100 * float(cross_val_score(KNeighborsClassifier(_NEIGHBORS), Z, y, cv=_FOLDS).mean())
        rows["spikes"][name] = _spikes(Z)
        two = Z[:, :2] if name != AUTO or n_coordinates == 2 else _map(X, given, 2)
        rows["trust"][name] = trustworthiness(X, two, n_neighbors=_NEIGHBORS)
    theirs = SpectralEmbedding(2, affinity="nearest_neighbors", n_neighbors=_NEIGHBORS, random_state=seed).fit_transform(X)
    rows["trust"][EMBEDDING] = trustworthiness(X, scale(theirs), n_neighbors=_NEIGHBORS)
    both = [functions[name] for name in (_RESOLVED, _NEAR)]
    rows["labels"][WEIGHED] = float(split_errors(both, y, splits, 60).mean())
    ours = LaplacianClustering(c, random_state=seed).fit_predict(X)
    theirs = SpectralClustering(c, affinity="nearest_neighbors", random_state=seed).fit_predict(X)
    for name, labels in ((DEFAULT, ours), (SKLEARN, theirs)):
        rows["clusters"][name] = normalized_mutual_info_score(y, labels)
    rows["chosen"] = {"auto": auto, **{name: given["bandwidth"] for name, given in params.items()}}
    return rows


def _of_manifold(name: str, sample: ManifoldSample, seed: int) -> Record:
    params, auto = _built(sample.data, seed)
    truth = scale(sample.coordinates if name == "swiss roll" else sample.clean)
    truth = truth[:, truth.std(axis=0) > 0.5]  # without the dimensions of noise
    row = {}
    for graph, given in (params | {AUTO: {"random_state": seed}}).items():
        Z = _map(sample.data, given, _OF_MANIFOLDS)
        row[graph] = float(cross_val_score(KNeighborsRegressor(_NEIGHBORS), Z, truth, cv=_FOLDS).mean())
    return {"chosen": auto, **row}


def _map(X: np.ndarray, given: Mapping[str, Any], n_components: int) -> np.ndarray:
    return scale(LaplacianEigenmap(n_components, **given, calibrate=False).fit_transform(X))


def _spikes(Z: np.ndarray) -> float:
    """Share of the variance in the points that are farthest out, mean over the coordinates, which have variance one."""
    farthest = np.sort(Z**2, axis=0)[-max(1, round(_FARTHEST * len(Z))) :]
    return float(farthest.sum(axis=0).mean() / len(Z))


def _summary(graph: str, tables: Mapping[str, Sequence[Record]]) -> Record:
    """Means over the sets of what was computed on a graph, and the least difference from scikit-learn's clusters."""
    record: Record = {"graph": graph}
    for name in (*_OF_SETS, "manifolds"):
        rows = tables[name]
        record[name] = float(column(rows, graph).mean()) if graph in rows[0] else None
    clusters = tables["clusters"]
    least = (column(clusters, graph) - column(clusters, SKLEARN)).min() if graph in clusters[0] else None
    return record | {"least": None if least is None else float(least)}


def _claims(tables: Mapping[str, Sequence[Record]], by_graph: Mapping[str, Record]) -> tuple[Claim, ...]:
    ours, theirs = (column(tables["clusters"], name) for name in (DEFAULT, SKLEARN))
    gains = {row["set"]: gain for row, gain in zip(tables["clusters"], ours - theirs, strict=True)}
    worst = min(gains, key=gains.__getitem__)

    def means(name: str, *those: str) -> dict[str, float]:
        return {graph: by_graph[graph][name] for graph in those}

    pairs, local, default = _RESOLVED, _LOCAL_SCALES, _ELSE
    maps, spikes = (means(name, pairs, local, default, EQUAL, AUTO) for name in ("maps", "spikes"))
    trust = means("trust", pairs, local, default, EQUAL, AUTO, EMBEDDING)
    clusters, labels, manifolds = (means(name, *ALL) for name in ("clusters", "labels", "manifolds"))
    best, weighed = min(labels, key=labels.__getitem__), by_graph[WEIGHED]["labels"]
    return (
        Claim(
            "LaplacianClustering finds classes better than SpectralClustering over its neighbors, by 0.01 in the mean",
            ours.mean() - theirs.mean() >= 0.01,
            f"{ours.mean():.3f} and {theirs.mean():.3f}; better on {int((ours > theirs).sum())} of {len(ours)} sets",
        ),
        Claim(
            "and on no set worse by more than 0.05", min(gains.values()) >= -0.05, f"worst on {worst}, {gains[worst]:+.3f}"
        ),
        Claim(
            f"{default} cluster better than {pairs}",
            clusters[default] > clusters[pairs],
            listed({graph: clusters[graph] for graph in (pairs, "all pairs, local", "10 neighbors", local, default)}, ".3f"),
        ),
        Claim(
            f"maps of {AUTO} of two coordinates are as faithful as those of scikit-learn's {EMBEDDING}",
            trust[AUTO] >= trust[EMBEDDING],
            listed(trust, ".3f"),
        ),
        Claim(f"maps of {AUTO} have fewer spikes than those of {pairs}", spikes[AUTO] < spikes[pairs], listed(spikes)),
        Claim("and tell classes as well, to a point in a hundred", maps[AUTO] > maps[pairs] - 1.0, listed(maps, ".1f")),
        Claim(
            f"on manifolds {AUTO} takes {pairs}, within 0.02 of the best",
            manifolds[AUTO] >= max(manifolds.values()) - 0.02,
            listed({graph: manifolds[graph] for graph in (pairs, "30 neighbors", local, AUTO)}, ".3f"),
        ),
        Claim(
            f"{pairs} and {_NEAR}, weighed, classify as well as the better of them",
            weighed <= min(labels[pairs], labels[_NEAR]) + 0.2,
            f"error in percent {weighed:.1f}; {listed({graph: labels[graph] for graph in (pairs, _NEAR, local)}, '.1f')}; "
            f"least with {best}, {labels[best]:.1f}",
        ),
        Claim(
            "with local scales, λ = 1/2 makes better maps and labels than λ = 1",
            maps[default] > maps[local] and labels[default] < labels[local],
            f"accuracy {maps[default]:.1f} and {maps[local]:.1f} %, error {labels[default]:.1f} and {labels[local]:.1f} %",
        ),
    )
