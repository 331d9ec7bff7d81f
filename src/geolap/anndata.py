"""Annotated data matrices (AnnData), in the habit of scanpy: results are written into the object that was given.

=============  ======================================================================================================
`select`       ``uns["geolap"]``: the bandwidth, with the reasons for it
`neighbors`    ``obsp["distances"]``, ``obsp["connectivities"]``, ``uns["neighbors"]``: a graph that scanpy's tools use
`embed`        ``obsm["X_geolap"]``: a map, with its eigenvalues in ``uns["geolap"]["map"]``
=============  ======================================================================================================

What is written is plain: numbers, words, arrays and dictionaries of them, which ``adata.write_h5ad`` can store and
`selection` reads back.  The other way, ``neighbors_key="neighbors"`` uses the graph that ``scanpy.pp.neighbors`` found.
"""

import warnings
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .engines.base import NO_NEIGHBORS
from .estimators.laplacian import GraphLaplacian
from .estimators.maps import DiffusionMap, LaplacianEigenmap
from .graphs.neighbors import nearest_neighbors
from .scale import LocalScale
from .selection import Minimum, Selection, Status
from .selectors import BandwidthSelector, select_bandwidth
from .validation import check_choice, check_number, check_points

if TYPE_CHECKING:
    from anndata import AnnData  # type: ignore[import-untyped]

__all__ = ["embed", "neighbors", "select", "selection"]

_MAPS = {"eigenmap": LaplacianEigenmap, "diffusion_map": DiffusionMap}
# scanpy takes all variables as coordinates up to this many, and principal components beyond.
_FEW_VARIABLES = 50


def select(
    adata: "AnnData",
    method: str = "gc",
    *,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    neighbors_key: str | None = None,
    key_added: str = "geolap",
    **params: Any,
) -> None:
    """Choose a bandwidth for the observations and write it, with the reasons for it, into ``adata.uns[key_added]``.

    Parameters
    ----------
    adata : AnnData
    method : str, default "gc"
        As in `geolap.select_bandwidth`.
    use_rep : str, optional
        A key of ``adata.obsm``, or "X".  By default "X_pca" if there is one, and X if it has at most 50 variables.
    n_pcs : int, optional
        Only so many of its columns, the first ones.
    neighbors_key : str, optional
        Select for the graph that ``scanpy.pp.neighbors`` wrote under this key ("neighbors" is its default) rather than for
        all pairs; with method "gc" only.
    key_added : str, default "geolap"
    **params
        Parameters of the method's class, for instance ``random_state``.

    See Also
    --------
    selection : What was written, as a `geolap.Selection` that explains and plots itself.

    Examples
    --------
    >>> import anndata, geolap
    >>> adata = anndata.AnnData(geolap.datasets.make_torus(500, random_state=0).data)
    >>> geolap.anndata.select(adata, random_state=0)
    >>> adata.uns["geolap"]["status"]
    'interior'
    """
    X, origin = _representation(adata, use_rep, n_pcs)
    given = dict(params)
    if neighbors_key is not None:
        check_choice("with neighbors_key the method", method, ("gc",))
        given["neighbors"] = _distances(adata, neighbors_key)
    found = select_bandwidth(X, method, **given)
    adata.uns[key_added] = _record(found, {**origin, "neighbors_key": neighbors_key, **params})


def selection(adata: "AnnData", key: str = "geolap") -> Selection:
    """What `select` or `embed` wrote into ``adata.uns[key]``, as a `geolap.Selection`.

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
    minima = zip(*(record["minima"][field.name].tolist() for field in fields(Minimum)), strict=True)
    interval = record.get("interval")
    return Selection(
        bandwidth=float(record["bandwidth"]),
        bandwidths=np.array(record["bandwidths"]),
        scores=np.array(record["scores"]),
        minima=tuple(
            Minimum(eps, score, depth, noise, local, None if np.isnan(share) else share)
            for eps, score, depth, noise, local, share in minima
        ),
        interval=None if interval is None else (float(interval[0]), float(interval[1])),
        status=Status[str(record["status"]).upper()],
        method=str(record["method"]),
        bound=float(record["bound"]) if "bound" in record else None,
    )


def neighbors(
    adata: "AnnData",
    n_neighbors: int = 15,
    *,
    bandwidth: float | str | BandwidthSelector = "gc",
    local_scale: int | str | LocalScale | None = 7,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    key_added: str | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> None:
    """Join every observation with its nearest ones, at the bandwidth that this graph asks for.

    Writes what ``scanpy.pp.neighbors`` writes, so that ``sc.tl.umap``, ``sc.tl.leiden``, ``sc.tl.diffmap`` and the others
    work on it.  Weights are exp(−d²/(ε² ρ_i ρ_j)), without those that a point gives itself.

    Parameters
    ----------
    adata : AnnData
    n_neighbors : int, default 15
        Other observations; scanpy counts the observation itself too.
    bandwidth : float, str or selector, default "gc"
        ε, the name of a method of `geolap.select_bandwidth`, or a selector.
    local_scale : int, "regional", LocalScale or None, default 7
        ρ, as in `geolap.GraphLaplacian`: by default the relative distance to the seventh neighbor, as cells are dense here
        and rare there; None for the same bandwidth everywhere.
    use_rep, n_pcs : optional
        As in `select`.
    key_added : str, optional
        By default "neighbors", "distances" and "connectivities", as in scanpy; otherwise ``uns[key_added]``,
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
    X, origin = _representation(adata, use_rep, n_pcs)
    near, columns = nearest_neighbors(X, n_neighbors)
    ends = np.arange(0, columns.size + 1, n_neighbors)
    distances = sparse.csr_matrix((near.ravel(), columns.ravel(), ends), shape=(adata.n_obs, adata.n_obs))
    distances.sort_indices()
    graph = {"local_scale": local_scale, "random_state": random_state}
    model = GraphLaplacian(bandwidth, neighbors=distances, self_weights=False, **graph).fit(X)
    isolated = int((model.degrees_ <= NO_NEIGHBORS).sum())
    if isolated:
        warnings.warn(
            f"Every observation should have neighbors that weigh something; {isolated} of {adata.n_obs} have none at "
            f"bandwidth {model.bandwidth_:.4g}: remove these outliers, or let local_scale vary.",
            stacklevel=2,
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
    n_components: int = 10,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    neighbors_key: str | None = None,
    key_added: str = "geolap",
    **params: Any,
) -> None:
    """Map the observations, and write the coordinates into ``adata.obsm["X_" + key_added]``.

    Eigenvalues and parameters go into ``adata.uns[key_added]["map"]``.  The bandwidth is selected for the graph of the map,
    and written as `select` writes it, unless a number is given.

    Parameters
    ----------
    adata : AnnData
    method : {"eigenmap", "diffusion_map"}, default "eigenmap"
        `geolap.LaplacianEigenmap` or `geolap.DiffusionMap`.  Unlike scanpy's X_diffmap, the constant first coordinate is
        left out.
    n_components : int, default 10
    use_rep, n_pcs, key_added : optional
        As in `select`.
    neighbors_key : str, optional
        Map over the graph that ``scanpy.pp.neighbors`` wrote under this key ("neighbors" is its default) rather than over
        all pairs.
    **params
        Parameters of the map's class, for instance ``bandwidth`` and ``random_state``.

    Examples
    --------
    >>> import anndata, geolap
    >>> adata = anndata.AnnData(geolap.datasets.make_torus(500, random_state=0).data)
    >>> geolap.anndata.embed(adata, n_components=2, random_state=0)
    >>> adata.obsm["X_geolap"].shape
    (500, 2)
    """
    check_choice("method", method, tuple(_MAPS))
    X, origin = _representation(adata, use_rep, n_pcs)
    given = dict(params)
    if neighbors_key is not None:
        given["neighbors"] = _distances(adata, neighbors_key)
    known = _MAPS[method]().get_params()
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise TypeError(
            f"Method {method!r} takes the parameters {', '.join(known)}; {', '.join(unknown)} was given: leave it out."
        )
    model = _MAPS[method](n_components, **given).fit(X)
    told = {**origin, "neighbors_key": neighbors_key, "n_components": n_components, **params}
    record = dict(adata.uns.get(key_added, {})) if model.selection_ is None else _record(model.selection_, told)
    record["map"] = {
        "method": method,
        "bandwidth": model.bandwidth_,
        "eigenvalues": model.eigenvalues_,
        "graph_components": model.n_graph_components_,
        "params": _plain(told),
    }
    adata.obsm[f"X_{key_added}"], adata.uns[key_added] = model.embedding_, record


def _representation(adata: "AnnData", use_rep: str | None, n_pcs: int | None) -> tuple[np.ndarray, dict[str, Any]]:
    """The points, and where they were found."""
    if use_rep is None:
        if "X_pca" in adata.obsm:
            use_rep = "X_pca"
        elif adata.n_vars <= _FEW_VARIABLES:
            use_rep = "X"
        else:
            raise ValueError(
                "Points should be few numbers for each observation; use_rep was not given, there is no "
                f"adata.obsm['X_pca'], and X has {adata.n_vars} variables: run scanpy.pp.pca first, or pass use_rep='X' "
                "if you mean it."
            )
    if use_rep != "X" and use_rep not in adata.obsm:
        raise ValueError(
            f"use_rep must be 'X' or a key of adata.obsm ({', '.join(adata.obsm) or 'empty'}); {use_rep!r} was given: "
            "choose one of them, or compute it first."
        )
    points = check_points(adata.X if use_rep == "X" else adata.obsm[use_rep])
    if n_pcs is not None:
        points = points[:, : check_number("n_pcs", n_pcs, Integral, low=1, high=points.shape[1])]
    return points, {"use_rep": use_rep, "n_pcs": n_pcs}


def _distances(adata: "AnnData", neighbors_key: str) -> sparse.csr_matrix:
    """The distances that scanpy found; files of its older versions do not say where they are."""
    key = adata.uns.get(neighbors_key, {}).get("distances_key", "distances")
    if neighbors_key not in adata.uns or key not in adata.obsp:
        raise ValueError(
            f"neighbors_key must name a graph in adata.uns with its distances in adata.obsp; {neighbors_key!r} was given, "
            f"and there is no {'such key' if neighbors_key not in adata.uns else f'adata.obsp[{key!r}]'}: run "
            "scanpy.pp.neighbors first."
        )
    return adata.obsp[key]


def _record(found: Selection, params: Mapping[str, Any]) -> dict[str, Any]:
    """A `Selection` and what it was made with, as h5ad files can store it: what is None stays out, or is NaN."""
    kinds = {field.name: bool if field.type is bool else float for field in fields(Minimum)}
    record = {
        "bandwidth": found.bandwidth,
        "method": found.method,
        "status": found.status.name.lower(),
        "bandwidths": found.bandwidths,
        "scores": found.scores,
        "minima": {name: np.array([getattr(m, name) for m in found.minima], kind) for name, kind in kinds.items()},
        "params": _plain(params),
        "interval": None if found.interval is None else np.array(found.interval),
        "bound": found.bound,
    }
    return {name: value for name, value in record.items() if value is not None}


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as numbers and words, without those that are None."""
    return {
        name: value if isinstance(value, bool | int | float | str | np.generic) else repr(value)
        for name, value in params.items()
        if value is not None
    }
