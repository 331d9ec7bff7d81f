"""Files of arrays: .npy and .npz, .mat, .parquet, and trees of arrays, HDF5 (.h5ad, .mat of version 7.3, .h5) and zarr.

A tree with the layout of AnnData has its features named by ``var``, its rows by ``obs``, and columns of ``obs`` as labels;
anndata reads these.  Nothing is unpickled, nothing outside the file is followed (links, external and virtual storage), and
zarr's codecs are only those that compress numbers: one of them would unpickle.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import prod
from re import findall
from typing import Any

import numpy as np

from ..runtime.libraries import needed
from ..sentences import listed
from .source import FileError, Source, named, named_alike
from .table import Frame

__all__ = ["read_hdf5", "read_mat", "read_npy", "read_npz", "read_parquet", "read_zarr"]

# Codecs of zarr, of both versions, that do nothing but compress, reorder or pack numbers.
_CODECS = {"blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian", "fixedscaleoffset", "gzip", "lz4", "lzma"}
_CODECS |= {"sharding_indexed", "shuffle", "transpose", "vlen-bytes", "vlen-utf8", "zlib", "zstd"}
# Arrays beyond this many bytes stay in their file (the library works on them in chunks).
_LARGE = 2**29


def read_npy(source: Source) -> Frame:
    """The array in a .npy file; a large one is mapped rather than read."""
    # This refuses Python objects, and a file shorter than its header states.
    values = np.lib.format.open_memmap(source.path, mode="r")
    large = values.nbytes > _LARGE
    source.check(0 if large else values.nbytes)
    return Frame(source.name, {}, _points(values if large else np.array(values), source))


def read_npz(source: Source) -> Frame:
    """One array of a .npz file, or the sparse matrix that SciPy saved in it."""
    from scipy import sparse

    source.check_archive()
    arrays: dict[str, Any] = {}
    with source.path.open("rb") as file, np.load(file, allow_pickle=False) as content:
        for name in content.files:
            with suppress(ValueError):  # Python objects, which could run code
                arrays[name] = content[name]
    if source.array is None and arrays.keys() >= {"data", "indices", "indptr", "shape", "format"}:
        arrays = {"matrix": sparse.load_npz(source.path)}
    return _frame_of(arrays, source)


def read_mat(source: Source) -> Frame:
    """One variable of a .mat file, by SciPy up to version 7; later ones are HDF5."""
    from scipy import io

    with source.path.open("rb") as file:
        if file.read(10).startswith((b"MATLAB 7.3", b"\x89HDF")):
            return read_hdf5(source)
    for _, shape, kind in io.whosmat(str(source.path), appendmat=False):
        source.check(0 if kind == "sparse" else 8 * prod(map(int, shape)))
    found = io.loadmat(str(source.path), appendmat=False, simplify_cells=True)
    return _frame_of({name: value for name, value in found.items() if hasattr(value, "shape")}, source)


def read_parquet(source: Source) -> Frame:
    """The columns of a .parquet file."""
    with needed("pyarrow.parquet", "files", "A .parquet file needs").ParquetFile(source.path) as file:
        metadata, titles = file.metadata, file.schema_arrow.names
        stored = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
        source.check(max(2 * stored, 8 * metadata.num_rows * len(titles)), len(titles))
        table = file.read()
    index = [name for name in (table.schema.pandas_metadata or {}).get("index_columns", []) if name in titles]
    columns = {title: table[title] for title in titles}  # which refuses a name that two of them have
    return Frame(source.name, columns, index=index[0] if len(index) == 1 else "")


def read_hdf5(source: Source) -> Frame:
    """A `Frame` of a file in HDF5."""
    with needed("h5py", "files", "A file in HDF5 (.h5ad, .h5, .mat of version 7.3) needs").File(source.path, "r") as file:
        nodes: dict[str, Any] = {}
        file.visititems(nodes.__setitem__)  # follows no links, and nothing twice
        return _frame_of_tree(nodes, source)


def read_zarr(source: Source) -> Frame:
    """A `Frame` of a folder of zarr, version 2 or 3."""
    root = needed("zarr", "files", "A .zarr folder needs").open(str(source.path), mode="r")
    return _frame_of_tree({"": root} if hasattr(root, "shape") else dict(root.members(max_depth=None)), source)


def _frame_of(arrays: Mapping[str, Any], source: Source, nodes: Mapping[str, Any] | None = None) -> Frame:
    """One of the arrays as points, and those that are asked for beside it; ``nodes`` is the tree that they are part of.

    Arrays have a shape and a dtype, and are read by ``[...]``, or by ``to_memory()`` if they are sparse.
    """
    chosen, notes = _chosen(arrays, source), []
    asked = [name for name in (source.labels, source.weights, source.index) if name is not None]
    beside = {alike for name in asked if (alike := named_alike(name, arrays)) is not None} - {chosen}
    for name in (chosen, *beside):
        _check_node(name, arrays if nodes is None else nodes, source)
        source.check(8 * prod(arrays[name].shape))
    values = arrays[chosen].to_memory() if hasattr(arrays[chosen], "to_memory") else arrays[chosen]
    if hasattr(values, "nnz"):
        values.check_format(full_check=True)  # indices that point elsewhere would write there
        values = values.toarray()
        notes.append("A sparse matrix was converted to dense.")
    columns = {name: np.ravel(arrays[name][...]) for name in beside}
    return Frame(source.name, columns, _points(np.asarray(values[...]), source, chosen), array=chosen or None, notes=notes)


def _chosen(arrays: Mapping[str, Any], source: Source) -> str:
    """The array asked for, or the only one with rows and columns."""
    if source.array is not None:
        return named(source.array, arrays, source.name, "array")
    shapes = {key: values.shape for key, values in arrays.items() if values.dtype.kind in "biufc"}
    tables = [key for key, shape in shapes.items() if len(shape) == 2 and min(shape) > 1] or list(arrays)
    points = tables[0] if len(tables) == 1 else named_alike("X", tables)
    if points is not None:
        return points
    found = f"it has {listed(tables)}: choose one with --array" if tables else "it has none: add the points to it"
    raise FileError(f"{source.name} must have one table of numbers, not pickled, or --array must name one; {found}.")


def _points(values: np.ndarray, source: Source, array: str = "") -> np.ndarray:
    """Real numbers of whatever kind, one point a row; an array of one dimension is one column."""
    values = values[:, None] if values.ndim == 1 else values
    if values.dtype.kind not in "biuf" or values.ndim != 2 or 0 in values.shape:
        found = f"it holds {values.dtype} of shape {values.shape}"
        advice = "save each point as a row, X.reshape(len(X), -1), and fields, or parts of complex numbers, as columns"
        name = f"'{array}' in {source.name}" if array else source.name
        raise FileError(f"{name} must be a table of real numbers, rows and columns; {found}: {advice}.")
    values = values.T if source.transpose else values
    source.check(0, values.shape[1])
    return values


def _frame_of_tree(nodes: dict[str, Any], source: Source) -> Frame:
    """A `Frame` of a tree, given everything in it by path."""
    annotated = {"obs", "var"} <= nodes.keys()
    if annotated and source.array is None:
        source = replace(source, array="obsm/X_pca" if "obsm/X_pca" in nodes else "X")  # reduced, if it is there
    sparse = [path for path, node in nodes.items() if f"{path}/indptr" in nodes and "encoding-type" in node.attrs]
    arrays = {path: node for path, node in nodes.items() if hasattr(node, "shape") and path.rpartition("/")[0] not in sparse}
    arrays |= {path: needed("anndata.io", "files", "A sparse matrix needs").sparse_dataset(nodes[path]) for path in sparse}
    if any("MATLAB_class" in node.attrs for node in nodes.values()):  # which stores columns first
        source = replace(source, transpose=not source.transpose)
    frame = _frame_of(arrays, source, nodes)
    return _annotated(frame, nodes, source) if annotated else frame


def _annotated(frame: Frame, nodes: dict[str, Any], source: Source) -> Frame:
    """With names of rows and features, and columns of ``obs`` as labels."""
    assert frame.block is not None
    for part in ("obs", "var"):
        _check_node(part, nodes, source)
    obs, var = (needed("anndata.io", "files", "A file of AnnData's needs").read_elem(nodes[part]) for part in ("obs", "var"))
    others = [path for path in nodes if path != frame.array and (path == "X" or path.rpartition("/")[0] == "obsm")]
    if others:
        frame.notes.append(f"The points are {frame.array}; there is also {listed(others)} (--array {others[0]}).")
    rows, features = (var, obs) if source.transpose else (obs, var)
    if len({*features.index}) == frame.block.shape[1] == len(features) and not str(frame.array).startswith("obsm/"):
        frame.names = list(map(str, features.index))
    frame.columns |= {str(name): column.to_numpy() for name, column in rows.items()} | {"": rows.index.to_numpy()}
    return frame


def _check_node(path: str, nodes: Mapping[str, Any], source: Source) -> None:
    """Refuse a node unless all of it is in the file, small enough, and unpacked without running anything."""
    node = nodes.get(path)
    if node is None or getattr(node, "external", None) or getattr(node, "is_virtual", False):
        found = f"'{path}' in {source.name} is stored elsewhere: copy it into the file"
        raise FileError(f"A file must contain its own data; {found}.")
    if not hasattr(node, "shape"):
        for key in node:
            _check_node(f"{path}/{key}", nodes, source)
        return
    source.check(max(8, node.dtype.itemsize) * prod(node.shape))
    if hasattr(node, "metadata"):
        described = node.metadata.to_dict()
        packing = [described.get(part) for part in ("codecs", "filters", "compressor")]
        as_text = json.dumps(packing, default=lambda codec: codec.get_config())
        unknown = {*findall(r'"(?:name|id)": "(?:numcodecs\.)?([^"]*)"', as_text)} - _CODECS
        if unknown:
            found = f"'{path}' in {source.name} uses {min(unknown)}, which may run other code"
            raise FileError(f"Zarr arrays may only use codecs that pack numbers; {found}: write it again.")
