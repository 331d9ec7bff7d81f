"""Functions for AnnData, following scanpy's conventions: results are written into the given object.

=============  ======================================================================================================
`select`       ``uns["geolap"]``: the bandwidth and how it was chosen
`neighbors`    ``obsp["distances"]``, ``obsp["connectivities"]``, ``uns["neighbors"]``: a graph that scanpy's tools use
`embed`        ``obsm["X_geolap"]``: a map, with its eigenvalues in ``uns["geolap"]["map"]``
`cluster`      ``obs["geolap"]``: clusters, with their number and status in ``uns["geolap"]["clusters"]``
=============  ======================================================================================================

Only numbers, strings, arrays and dictionaries of them are written: ``adata.write_h5ad`` can store them, and `selection`
reads them back.  Conversely, ``neighbors_key="neighbors"`` uses the graph of ``scanpy.pp.neighbors``.
"""

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .choices import BY_CONSISTENCY
from .data.distances import Distances, points_of
from .engines.base import NO_NEIGHBORS
from .estimators.clusters import LaplacianClustering
from .estimators.laplacian import GraphLaplacian
from .estimators.maps import DiffusionMap, LaplacianEigenmap
from .graphs.neighbors import nearest_distances
from .selection import Selection
from .selectors import BandwidthSelector, select_bandwidth
from .sentences import warn_caller
from .specification import LocalScaleLike
from .validation import check_choice, check_number

if TYPE_CHECKING:
    from anndata import AnnData  # type: ignore[import-untyped]

__all__ = ["cluster", "embed", "neighbors", "select", "selection"]

_MAPS = {"eigenmap": LaplacianEigenmap, "diffusion_map": DiffusionMap}
# As in scanpy: up to this many variables X itself is used, beyond it principal components.
_FEW_VARIABLES = 50


def select(
    adata: "AnnData",
    method: str = "gc",
    *,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    neighbors_key: str | None = None,
    key_added: str = "geolap",
    sample_weight: Any = None,
    **params: Any,
) -> None:
    """Choose a bandwidth for the observations, and write it with its reasons into ``adata.uns[key_added]``.

    Parameters
    ----------
    adata : AnnData
    method : str, default "gc"
        As in `geolap.select_bandwidth`.
    use_rep : str, optional
        A key of ``adata.obsm``, or "X".  By default "X_pca" if present, otherwise X if it has at most 50 variables.
    n_pcs : int, optional
        Use only the first ``n_pcs`` columns.
    neighbors_key : str, optional
        Select for the graph that ``scanpy.pp.neighbors`` wrote under this key ("neighbors" is its default) instead of all
        pairs; only with method "gc" or "gc_inverse".
    key_added : str, default "geolap"
    sample_weight : str or array-like (n_obs,), optional
        Number of observations that each one represents: a column of ``adata.obs``, or numbers.
    **params
        Parameters of the method, for instance ``random_state``.

    See Also
    --------
    selection : Read it back as a `geolap.Selection`, which can explain and plot itself.

    Examples
    --------
    >>> import anndata, geolap
    >>> adata = anndata.AnnData(geolap.datasets.make_torus(500, random_state=0).data)
    >>> geolap.anndata.select(adata, random_state=0)
    >>> adata.uns["geolap"]["status"]
    'interior'
    """
    X, weights, origin = _representation(adata, use_rep, n_pcs, sample_weight)
    given = dict(params)
    if neighbors_key is not None:
        check_choice("with neighbors_key the method", method, BY_CONSISTENCY)
        given["neighbors"] = _distances(adata, neighbors_key)
    found = select_bandwidth(X, method, sample_weight=weights, **given)
    adata.uns[key_added] = _made(adata, key_added) | _record(found, {**origin, "neighbors_key": neighbors_key, **params})


def selection(adata: "AnnData", key: str = "geolap") -> Selection:
    """Read what `select` or `embed` wrote into ``adata.uns[key]`` back as a `geolap.Selection`.

    Examples
    --------
    >>> import anndata, geolap
    >>> adata = anndata.AnnData(geolap.datasets.make_torus(500, random_state=0).data)
    >>> geolap.anndata.select(adata, random_state=0)
    >>> print(geolap.anndata.selection(adata).explain())  # doctest: +ELLIPSIS
    Bandwidth 0.7... (method gc)
    ...
    """
    record = adata.uns.get(key, {})
    if "bandwidths" not in record:
        raise ValueError(
            f"adata.uns[{key!r}] must hold a selection; it holds {', '.join(record) or 'nothing'}: run "
            "geolap.anndata.select first."
        )
    return Selection.from_record(_restored(record))


def neighbors(
    adata: "AnnData",
    n_neighbors: int = 15,
    *,
    bandwidth: float | str | BandwidthSelector = "gc",
    local_scale: LocalScaleLike = 7,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    key_added: str | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> None:
    """Join every observation with its k nearest neighbors, at the bandwidth selected for this graph.

    Writes the same entries as ``scanpy.pp.neighbors``, so ``sc.tl.umap``, ``sc.tl.leiden``, ``sc.tl.diffmap`` and others
    work on them.  Weights are exp(−d²/(ε² ρ_i ρ_j)), without self-weights.

    Parameters
    ----------
    adata : AnnData
    n_neighbors : int, default 15
        k, not counting the observation itself, unlike scanpy.
    bandwidth : float, str or selector, default "gc"
        ε, the name of a method of `geolap.select_bandwidth`, or a selector.
    local_scale : int, "regional", LocalScale or None, default 7
        ρ, as in `geolap.GraphLaplacian`.  By default the relative distance to the seventh neighbor, because the density of
        cells varies; None for the same bandwidth everywhere.
    use_rep, n_pcs : optional
        As in `select`.
    key_added : str, optional
        As in scanpy: by default "neighbors", "distances" and "connectivities", otherwise ``uns[key_added]``,
        ``obsp[key_added + "_distances"]`` and ``obsp[key_added + "_connectivities"]``.
    random_state : int, RandomState or None, default 0

    Examples
    --------
    >>> import anndata, geolap
    >>> adata = anndata.AnnData(geolap.datasets.make_torus(500, random_state=0).data)
    >>> geolap.anndata.neighbors(adata)
    >>> adata.obsp["distances"].nnz
    7500
    """
    X, _, origin = _representation(adata, use_rep, n_pcs)
    distances = sparse.csr_matrix(nearest_distances(points_of(X), n_neighbors))
    distances.sort_indices()
    graph: dict[str, Any] = {"local_scale": local_scale, "random_state": random_state}
    model = GraphLaplacian(bandwidth, neighbors=distances, calibrate=False, **graph).fit(X)
    isolated = int((model.degrees_ <= NO_NEIGHBORS).sum())
    if isolated:
        warn_caller(
            f"Every observation should have neighbors of nonzero weight; {isolated} of {adata.n_obs} have none at "
            f"bandwidth {model.bandwidth_:.4g}: remove these outliers, or set local_scale."
        )
    prefix = "" if key_added is None else f"{key_added}_"
    adata.obsp[f"{prefix}distances"] = distances
    adata.obsp[f"{prefix}connectivities"] = sparse.csr_matrix(model.graph_.weights)
    params = {"method": "geolap", "n_neighbors": n_neighbors + 1, "metric": "euclidean", "bandwidth": model.bandwidth_}
    record: dict[str, Any] = {
        "distances_key": f"{prefix}distances",
        "connectivities_key": f"{prefix}connectivities",
        "params": params | _plain({**origin, **graph}),
    }
    if model.selection_ is not None:
        record["geolap"] = _record(model.selection_, {**origin, **graph, "n_neighbors": n_neighbors})
    adata.uns[key_added or "neighbors"] = record


def embed(
    adata: "AnnData",
    method: str = "eigenmap",
    *,
    n_components: int | str = 10,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    neighbors_key: str | None = None,
    key_added: str = "geolap",
    sample_weight: Any = None,
    **params: Any,
) -> None:
    """Embed the observations, and write the coordinates into ``adata.obsm["X_" + key_added]``.

    Eigenvalues and parameters go into ``adata.uns[key_added]["map"]``.  Unless a bandwidth is given, it is selected for the
    graph of the map and written as `select` writes it.

    Parameters
    ----------
    adata : AnnData
    method : {"eigenmap", "diffusion_map"}, default "eigenmap"
        `geolap.LaplacianEigenmap` or `geolap.DiffusionMap`.  Unlike scanpy's X_diffmap, they leave out the constant
        first coordinate.
    n_components : int or "auto", default 10
    use_rep, n_pcs, key_added : optional
        As in `select`.
    neighbors_key : str, optional
        Map over the graph that ``scanpy.pp.neighbors`` wrote under this key ("neighbors" is its default) instead of all
        pairs.
    sample_weight : str or array-like (n_obs,), optional
        As in `select`.
    **params
        Parameters of the class, for instance ``bandwidth`` and ``random_state``.

    Examples
    --------
    >>> import anndata, geolap
    >>> adata = anndata.AnnData(geolap.datasets.make_torus(500, random_state=0).data)
    >>> geolap.anndata.embed(adata, n_components=2, random_state=0)
    >>> adata.obsm["X_geolap"].shape
    (500, 2)
    """
    check_choice("method", method, tuple(_MAPS))
    points = _representation(adata, use_rep, n_pcs, sample_weight)
    own = {"n_components": n_components}
    model, record, told = _fitted(_MAPS[method], adata, points, neighbors_key, own, params, key=key_added)
    record["map"] = {
        "method": method,
        "bandwidth": model.bandwidth_,
        "eigenvalues": model.eigenvalues_,
        "coordinates": model.coordinates_,
        "graph_components": model.n_graph_components_,
        "params": told,
    }
    adata.obsm[f"X_{key_added}"], adata.uns[key_added] = model.embedding_, record


def cluster(
    adata: "AnnData",
    n_clusters: int | None = None,
    *,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    neighbors_key: str | None = None,
    key_added: str = "geolap",
    sample_weight: Any = None,
    **params: Any,
) -> None:
    """Divide the observations into clusters, and write them into ``adata.obs[key_added]`` as categories.

    Their number, how it was found, eigenvalues and parameters go into ``adata.uns[key_added]["clusters"]``.  Unless a
    bandwidth is given, it is selected for the graph and written as `select` writes it.

    Parameters
    ----------
    adata : AnnData
    n_clusters : int, optional
        By default as many as stand out, see `geolap.LaplacianClustering`.
    use_rep, n_pcs, key_added : optional
        As in `select`.
    neighbors_key : str, optional
        Use the graph that ``scanpy.pp.neighbors`` wrote under this key ("neighbors" is its default) instead of 10 nearest
        neighbors.
    sample_weight : str or array-like (n_obs,), optional
        As in `select`.
    **params
        Parameters of `geolap.LaplacianClustering`, for instance ``min_share`` and ``random_state``.

    Examples
    --------
    >>> import anndata, geolap
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> adata = anndata.AnnData(X)
    >>> geolap.anndata.cluster(adata, random_state=0)
    >>> adata.obs["geolap"].cat.categories.tolist()
    ['0', '1', '2']
    >>> adata.uns["geolap"]["clusters"]["status"]
    'stand_out'
    """
    import pandas as pd  # type: ignore[import-untyped]

    points = _representation(adata, use_rep, n_pcs, sample_weight)
    own = {"n_clusters": n_clusters}
    model, record, told = _fitted(LaplacianClustering, adata, points, neighbors_key, own, params, key=key_added)
    record["clusters"] = {
        "n_clusters": model.n_clusters_,
        "status": model.status_.name.lower(),
        "outliers": model.n_outliers_,
        "bandwidth": model.bandwidth_,
        "eigenvalues": model.eigenvalues_,
        "params": told,
    }
    categories = [str(k) for k in range(model.n_clusters_)]
    adata.obs[key_added] = pd.Categorical.from_codes(model.labels_, categories)
    adata.uns[key_added] = record


def _weights(adata: "AnnData", sample_weight: Any) -> Any:
    """Weights of the observations, from ``adata.obs`` if its column is named."""
    if not isinstance(sample_weight, str):
        return sample_weight
    if sample_weight not in adata.obs:
        raise ValueError(
            f"sample_weight must be numbers or a column of adata.obs ({', '.join(adata.obs) or 'empty'}); "
            f"{sample_weight!r} was given: name one of them."
        )
    return adata.obs[sample_weight].to_numpy()


def _fitted(
    kind: Any,
    adata: "AnnData",
    points: tuple[Any, Any, dict[str, Any]],
    neighbors_key: str | None,
    own: dict[str, Any],
    params: dict[str, Any],
    *,
    key: str,
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """An estimator on a graph of the observations, the record to add its results to, and its parameters to be written.

    The record is that of its selection, or the one that is there where none was made.
    """
    known = kind().get_params()
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise TypeError(
            f"{kind.__name__} takes the parameters {', '.join(known)}; {', '.join(unknown)} was given: remove it."
        )
    X, weights, origin = points
    joined = {} if neighbors_key is None else {"neighbors": _distances(adata, neighbors_key)}
    model = kind(**own, **(params | joined)).fit(X, sample_weight=weights)
    told = {**origin, "neighbors_key": neighbors_key, **own, **params}
    if model.selection_ is None:
        return model, dict(adata.uns.get(key, {})), _plain(told)
    return model, _made(adata, key) | _record(model.selection_, told), _plain(told)


def _made(adata: "AnnData", key: str) -> dict[str, Any]:
    """What is recorded of a map and of clusters, which stay when a bandwidth is selected again."""
    return {name: record for name, record in adata.uns.get(key, {}).items() if name in ("map", "clusters")}


def _representation(
    adata: "AnnData", use_rep: str | None, n_pcs: int | None, sample_weight: Any = None
) -> tuple[Any, Any, dict[str, Any]]:
    """The points, their weights, and the parameters that say where both are from."""
    if use_rep is None:
        if "X_pca" in adata.obsm:
            use_rep = "X_pca"
        elif adata.n_vars <= _FEW_VARIABLES:
            use_rep = "X"
        else:
            raise ValueError(
                "Observations need a representation of few dimensions; use_rep was not given, there is no "
                f"adata.obsm['X_pca'], and X has {adata.n_vars} variables: run scanpy.pp.pca first, or pass use_rep='X' "
                "to use all of them."
            )
    if use_rep != "X" and use_rep not in adata.obsm:
        raise ValueError(
            f"use_rep must be 'X' or a key of adata.obsm ({', '.join(adata.obsm) or 'empty'}); {use_rep!r} was given: "
            "choose one of these, or compute it first."
        )
    X = adata.X if use_rep == "X" else adata.obsm[use_rep]
    known = points_of(X.to_memory() if hasattr(X, "to_memory") else X)  # a sparse matrix of a file that is not loaded
    points = known.given if isinstance(known, Distances) else known.host  # sparse counts stay sparse
    if n_pcs is not None:
        points = points[:, : check_number("n_pcs", n_pcs, Integral, low=1, high=points.shape[1])]
    named = isinstance(sample_weight, str) or sample_weight is None
    origin = {"use_rep": use_rep, "n_pcs": n_pcs, "sample_weight": sample_weight if named else "given"}
    return points, _weights(adata, sample_weight), origin


def _distances(adata: "AnnData", neighbors_key: str) -> sparse.csr_matrix:
    """The distances of scanpy's graph; older versions of scanpy do not store their key."""
    key = adata.uns.get(neighbors_key, {}).get("distances_key", "distances")
    if neighbors_key not in adata.uns or key not in adata.obsp:
        raise ValueError(
            f"neighbors_key must name a graph in adata.uns with its distances in adata.obsp; {neighbors_key!r} was given, "
            f"and there is no {'such key' if neighbors_key not in adata.uns else f'adata.obsp[{key!r}]'}: run "
            "scanpy.pp.neighbors first."
        )
    return adata.obsp[key]


def _record(found: Selection, params: Mapping[str, Any]) -> dict[str, Any]:
    """A `Selection` and its parameters in a form that h5ad files can store."""
    return {**_stored(found.as_record()), "params": _plain(params)}


def _stored(value: Any) -> Any:
    """Plain values without None, which is NaN among numbers; lists are dictionaries by number."""
    if isinstance(value, list):
        value = {str(k): entry for k, entry in enumerate(value)}
    if isinstance(value, dict):
        return {name: _stored(entry) for name, entry in value.items() if entry is not None}
    return np.array(value, dtype=float) if isinstance(value, tuple) else value


def _restored(value: Any) -> Any:
    """The plain values that `_stored` has made storable; what was None is missing, or None among numbers."""
    if isinstance(value, Mapping):
        known = {name: _restored(entry) for name, entry in value.items()}
        return [known[name] for name in sorted(known, key=int)] if known and all(map(str.isdecimal, known)) else known
    if isinstance(value, np.ndarray):
        return tuple(None if number != number else number for number in value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as numbers and strings, without those that are None."""
    return {
        name: value if isinstance(value, bool | int | float | str | np.generic) else repr(value)
        for name, value in params.items()
        if value is not None
    }
