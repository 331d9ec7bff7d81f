"""Files that are trees of arrays: HDF5 (.h5ad, .mat of version 7.3, .h5) and zarr, walked the same way.

A tree with the layout of AnnData has its features named by ``var``, its rows by ``obs``, and columns of ``obs`` as labels;
anndata reads these.  Nothing outside the file is followed (links, external and virtual storage), and zarr's codecs are only
those that compress numbers: one of them would unpickle.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from .arrays import chosen_array, frame_of_arrays
from .columns import Frame, as_word
from .source import FileError, Options, Source, listed, needed_library
from .table import named_alike

__all__ = ["read_hdf5", "read_mat", "read_zarr"]

# Codecs of zarr, of both versions, that do nothing but compress, reorder or pack numbers.
_CODECS = {"adler32", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian", "fixedscaleoffset"}
_CODECS |= {"fletcher32", "gzip", "lz4", "lzma", "packbits", "quantize", "sharding_indexed", "shuffle", "transpose"}
_CODECS |= {"vlen-bytes", "vlen-utf8", "zlib", "zstd"}
# What is read of a file of AnnData's, if it is there, rather than X.
_REDUCED = "obsm/X_pca"


def read_hdf5(source: Source, options: Options) -> Frame:
    """A `Frame` of a file in HDF5."""
    with needed_library("h5py", "A file in HDF5 (.h5ad, .h5, .mat of version 7.3)").File(source.path, "r") as file:
        nodes: dict[str, Any] = {}
        file.visititems(nodes.__setitem__)  # follows no links, and nothing twice
        return _read(nodes, source, options)


def read_mat(source: Source, options: Options) -> Frame:
    """One variable of a .mat file, by SciPy up to version 7; later ones are HDF5."""
    with source.path.open("rb") as file:
        if file.read(10).startswith((b"MATLAB 7.3", b"\x89HDF")):
            return read_hdf5(source, options)
    from scipy import io

    for variable, shape, kind in io.whosmat(str(source.path), appendmat=False):
        source.part(variable).check_array(() if kind == "sparse" else shape)
    found = io.loadmat(str(source.path), appendmat=False)
    arrays = {name: values for name, values in found.items() if not name.startswith("__")}
    for name in filter(None, (named_alike(title, arrays) for title in options.beside)):
        if arrays[name].dtype.kind == "O":  # a cell of strings
            cells = [np.ravel(cell) for cell in arrays[name].ravel()]
            arrays[name] = np.array([str(cell[0]).strip() if cell.size == 1 else "" for cell in cells], object)
    return frame_of_arrays(arrays, source, options)


def read_zarr(source: Source, options: Options) -> Frame:
    """A `Frame` of a folder of zarr, version 2 or 3."""
    root = needed_library("zarr", "A .zarr folder").open(str(source.path), mode="r")
    nodes = {"": root} if hasattr(root, "shape") else dict(root.members(max_depth=None))
    frame = _read(nodes, source, options)
    used = {frame.array or "", *options.beside, *(f"obs/{column}" for column in options.beside)}
    for path, node in nodes.items():  # zarr writes no empty chunks, and cannot tell them from lost ones
        needed = {path, path.rpartition("/")[0]} & used and hasattr(node, "shape")
        if needed and (n_absent := node.nchunks - node.nchunks_initialized):
            which = f"{n_absent} of {node.nchunks} chunks{f' of {listed([path])}' if path else ''}"
            advice = "copy it again if they should not be empty"
            frame.notes.append(f"Not in the folder, and read as {node.fill_value}: {which}; {advice}.")
    return frame


def _read(nodes: dict[str, Any], source: Source, options: Options) -> Frame:
    """A `Frame` of a tree, given everything in it by path."""
    annotated = {"obs", "var"} <= nodes.keys()
    if annotated and options.array is None:
        options = replace(options, array=_REDUCED if _REDUCED in nodes else "X")
    marks = {"encoding-type", "h5sparse_format"}  # of a sparse matrix of AnnData's, now and in old versions
    sparse = [path for path, node in nodes.items() if f"{path}/indptr" in nodes and marks & {*node.attrs}]
    arrays = {path: node for path, node in nodes.items() if hasattr(node, "shape") and path.rpartition("/")[0] not in sparse}
    for path in sparse:
        arrays[path] = needed_library("anndata.io", "A sparse matrix").sparse_dataset(nodes[path])
    chosen = chosen_array(arrays, source, options)
    needed = {chosen, *filter(None, (named_alike(title, arrays) for title in options.beside))}
    for path in needed:
        _checked(path, nodes, source)
    if "MATLAB_class" in nodes[chosen].attrs:  # MATLAB stores columns first
        arrays = {path: arrays[path][...].T for path in needed}
    if not annotated:
        return frame_of_arrays(arrays, source, replace(options, array=chosen))
    frame = frame_of_arrays(arrays, source, replace(options, array=chosen, labels=None, weights=None, index=None))
    return _annotated(frame, nodes, source, options)


def _annotated(frame: Frame, nodes: dict[str, Any], source: Source, options: Options) -> Frame:
    """With names of rows and features, and columns of ``obs`` as labels."""
    assert frame.block is not None
    read = needed_library("anndata.io", "A file of AnnData's").read_elem
    obs, var = (read(_checked(part, nodes, source)) for part in ("obs", "var"))
    if isinstance(obs, np.ndarray):  # records, in old versions
        make = needed_library("pandas", "A file of AnnData's").DataFrame.from_records
        obs, var = (make(records, index=records.dtype.names[0]) for records in (obs, var))
    if len(obs) != len(frame.block):
        raise FileError(
            f"Every row must be described in obs; {source.name} has {len(frame.block)} rows and {len(obs)} there."
        )
    frame.row_names = list(map(as_word, obs.index))
    if frame.array == _REDUCED:
        frame.notes.append(f"The points are {_REDUCED}, the principal components in it; there is also X (--array X).")
    elif frame.array == "X" or str(frame.array).startswith("layers/"):
        names = [str(as_word(gene)) for gene in var.index]
        frame.names = names if len({*names}) == frame.block.shape[1] == len(names) else None
        others = [path for path in nodes if path.startswith("obsm/") and hasattr(nodes[path], "shape")]
        if others:
            frame.notes.append(f"The points are {frame.array}; there is also {listed(others)} (--array).")
    wanted = {named_alike(title, obs) for title in options.beside}
    array = needed_library("pyarrow", "A file of AnnData's").array
    frame.columns = {column: array(obs[column], from_pandas=True) if column in wanted else None for column in obs}
    return frame


def _checked(path: str, nodes: dict[str, Any], source: Source) -> Any:
    """The node at that path, if all of it is in the file, small enough, and unpacked without running anything."""
    node = nodes.get(path)
    if node is None or getattr(node, "external", None) or getattr(node, "is_virtual", False):
        raise FileError(f"A file must hold its data itself; '{path}' in {source.name} is stored elsewhere: copy it in.")
    if not hasattr(node, "shape"):
        for key in node:
            _checked(f"{path}/{key}", nodes, source)
        return node
    source.check_array(node.shape, max(node.dtype.itemsize, 8))
    if hasattr(node, "metadata"):
        described = json.loads(json.dumps(node.metadata.to_dict(), default=lambda codec: codec.get_config()))
        unknown = sorted({*_codec_names(described)} - _CODECS)
        if unknown:
            raise FileError(f"An array of zarr must be packed by codecs that only hold numbers; {unknown[0]} may do more.")
    return node


def _codec_names(described: dict[str, Any]) -> Iterator[str]:
    """Names of all codecs of an array of zarr, also of those inside others."""
    lists = (described.get(part) or () for part in ("codecs", "index_codecs", "filters"))
    for codec in filter(None, chain(*lists, [described.get("compressor")])):
        yield str(codec.get("name", codec.get("id"))).removeprefix("numcodecs.")
        yield from _codec_names(codec.get("configuration") or {})
