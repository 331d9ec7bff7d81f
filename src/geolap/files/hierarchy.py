"""Files that are trees of arrays: HDF5 (.h5ad, .mat of version 7.3, .h5) and zarr.

Both are walked the same way.  A tree with the layout of AnnData has its features named by ``var``, its rows by ``obs``, and
columns of ``obs`` as labels.  Nothing outside the file is followed (external links, external and virtual storage), and
zarr's codecs are only those that compress numbers: one of them would unpickle.
"""

from itertools import islice
from pathlib import PurePosixPath

import numpy as np

from .arrays import chosen_array, plain_block
from .source import FileError, needed_library
from .table import Frame, listed

__all__ = ["is_mat73", "read_hdf5", "read_zarr"]

# Codecs of zarr, of both versions, that do nothing but compress, reorder or pack numbers.
_CODECS = frozenset(
    {
        *("adler32", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian", "fixedscaleoffset"),
        *("fletcher32", "gzip", "lz4", "lzma", "packbits", "quantize", "sharding_indexed", "shuffle", "transpose"),
        *("vlen-bytes", "vlen-utf8", "zlib", "zstd"),
    }
)
# Arrays that are listed, and folders that are looked into, when a tree holds many.
_MOST_LISTED = 1000


def read_hdf5(source, limits, *, array=None, beside=()):
    """A `Frame` of a file in HDF5."""
    h5py = needed_library("h5py", "A file in HDF5 (.h5ad, .h5, .mat of version 7.3)")
    with h5py.File(source.place(), "r") as file:
        return _read(_HDF5(file, h5py), source, limits, array, beside)


def read_zarr(source, limits, *, array=None, beside=()):
    """A `Frame` of a folder of zarr, version 2 or 3."""
    zarr = needed_library("zarr", "A .zarr folder")
    if source.path is None or not source.path.is_dir():
        raise FileError(f"{source.name} must be a folder to be read as zarr; it is a file: unpack it.")
    return _read(_Zarr(zarr.open(str(source.path), mode="r"), zarr), source, limits, array, beside)


def is_mat73(head):
    """Whether a .mat file is one of version 7.3, which is HDF5 behind a header of MATLAB's."""
    return head.startswith((b"MATLAB 7.3", b"\x89HDF"))


class _HDF5:
    """What is asked of a tree of HDF5.  Only what is in the file is looked at: a soft link may lead out of it, too."""

    def __init__(self, file, h5py):
        self._file, self._h5py = file, h5py
        # MATLAB stores columns first.
        self.transposed = any("MATLAB_class" in node.attrs for _, node in islice(self.children(file), _MOST_LISTED))

    def get(self, path, of=None):
        """The node at that path, or None; nothing outside the file."""
        node = self._file if of is None else of
        for part in PurePosixPath(path).parts:
            if part == "/":
                continue
            if not isinstance(node, self._h5py.Group) or part not in node:
                return None
            if not isinstance(node.get(part, getlink=True), self._h5py.HardLink):
                raise FileError(f"A file must hold its data itself; '{path}' is a link: copy what it points to in.")
            node = node[part]
        return node

    def is_array(self, node):
        return isinstance(node, self._h5py.Dataset)

    def is_group(self, node):
        return isinstance(node, self._h5py.Group)

    def check(self, node):
        if node.external or node.is_virtual:
            raise FileError("A file must hold its data itself; an array of it is stored in another file: copy it in.")

    def children(self, node):
        for key in node:
            if isinstance(node.get(key, getlink=True), self._h5py.HardLink):
                yield key, node[key]

    def root(self):
        return self._file


class _Zarr:
    """What is asked of a tree of zarr."""

    transposed = False

    def __init__(self, node, zarr):
        self._node, self._zarr = node, zarr

    def get(self, path, of=None):
        node = self._node if of is None else of
        if self.is_array(node) or ".." in PurePosixPath(path).parts:
            return None
        return node.get(path.strip("/"))

    def is_array(self, node):
        return isinstance(node, self._zarr.Array)

    def is_group(self, node):
        return isinstance(node, self._zarr.Group)

    def check(self, node):
        unknown = sorted(set(_codec_names(node.metadata.to_dict())) - _CODECS)
        if unknown:
            raise FileError(
                f"An array of zarr must be packed by codecs that only hold numbers; '{node.path}' names "
                f"'{', '.join(unknown)}', which is never run: write it with another one."
            )

    def children(self, node):
        yield from node.members()

    def root(self):
        return self._node


def _codec_names(metadata):
    """Names of all codecs of an array, also of those inside others."""
    for entry in [*(metadata.get("codecs") or ()), *(metadata.get("filters") or ()), metadata.get("compressor")]:
        if isinstance(entry, dict):
            yield str(entry.get("name", entry.get("id"))).removeprefix("numcodecs.")
            inner = entry.get("configuration") or {}
            yield from _codec_names({"codecs": [*inner.get("codecs", ()), *inner.get("index_codecs", ())]})
        elif entry is not None:
            config = entry.get_config() if hasattr(entry, "get_config") else entry.to_dict()
            yield from _codec_names({"codecs": [config]})


def _read(tree, source, limits, array, beside):
    root = tree.root()
    if tree.is_array(root):
        if array is not None:
            raise FileError(
                f"{source.name} must hold the array asked for; it is a single array without a name: leave out --array."
            )
        return Frame(plain_block(_values(tree, root, source.name, limits), source.name))
    annotated = tree.get("obs") is not None and tree.get("var") is not None
    if array is None and annotated:
        if tree.get("X") is None:
            held = [f"{folder}/{key}" for folder in ("obsm", "layers") for key, _ in _members(tree, folder)]
            instead = f"choose one of {listed(held)} with --array" if held else "write the points as X"
            raise FileError(f"{source.name} must hold points; it has no X: {instead}.")
        chosen = "X"
    else:
        shapes = dict(_shapes(tree))
        every = list(shapes) if array is None or tree.get(array) is None else [array]
        chosen = chosen_array(array, shapes, source.name, every=every)
    node, name = tree.get(chosen), f"{listed([chosen])} in {source.name}"
    notes = []
    if tree.is_group(node):
        block = _sparse_block(tree, node, name, limits)
        notes.append("A sparse matrix was made dense.")
    else:
        block = plain_block(_values(tree, node, name, limits), name)
    if tree.transposed:
        block = block.T
    frame = Frame(block, array=chosen, notes=notes)
    if annotated:
        frame = _annotated(tree, frame, chosen, beside, source, limits)
    else:
        for other in {*beside} - {chosen}:
            if tree.is_array(tree.get(other)):
                values = _values(tree, tree.get(other), source.name, limits).ravel()
                if len(values) == len(block):
                    frame.others[other] = values
    return frame


def _annotated(tree, frame, chosen, beside, source, limits):
    """Names of rows and features, and a column of ``obs`` as labels."""
    n, r = frame.block.shape
    obs, var = tree.get("obs"), tree.get("var")
    frame.row_names = _index_of(tree, obs, n, source.name, limits)
    if chosen == "X" or chosen.startswith("layers/"):
        names = _index_of(tree, var, r, source.name, limits)
        frame.names = None if names is None or len(set(names)) < r else [str(name) for name in names]
        others = [f"obsm/{key}" for key, _ in _members(tree, "obsm")]
        if others:
            frame.notes.append(f"The points are {chosen}; there is also {listed(others)} (--array).")
    columns = [key for key, _ in tree.children(obs)] if tree.is_group(obs) else list(obs.dtype.names or ())
    frame.others = {column: None for column in columns if not column.startswith("_")}
    for column in frame.others.keys() & {*beside}:
        values = _column_of(tree, obs, column, source.name, limits)
        if values is None or len(values) != n:
            raise FileError(
                f"A column must have an entry for each point; '{column}' in {source.name} has not: choose another."
            )
        frame.others[column] = values
    return frame


def _members(tree, folder):
    node = tree.get(folder)
    return list(tree.children(node)) if node is not None and tree.is_group(node) else []


def _index_of(tree, table, n, name, limits):
    """Names of the rows of ``obs`` or ``var``, if they are there."""
    if tree.is_array(table):
        key = (table.dtype.names or ("",))[0]
    else:
        key = table.attrs.get("_index", "_index")
        key = key.decode() if isinstance(key, bytes) else str(key)
    values = _column_of(tree, table, key, name, limits)
    return None if values is None or len(values) != n else [str(value) for value in values]


def _column_of(tree, table, key, name, limits):
    """A column of ``obs`` or ``var``: plain, categorical, or nullable."""
    if tree.is_array(table):  # the layout of old versions: one array of records
        return _decoded(_values(tree, table, name, limits)[key]) if key in (table.dtype.names or ()) else None
    node = tree.get(key, table)
    if node is None:
        return None
    if tree.is_array(node):
        return _decoded(_values(tree, node, name, limits))
    parts = {part: tree.get(part, node) for part in ("codes", "categories", "values", "mask")}
    arrays = {part: _values(tree, n, name, limits) for part, n in parts.items() if tree.is_array(n)}
    if {"codes", "categories"} <= arrays.keys():
        categories, codes = _decoded(arrays["categories"]), arrays["codes"]
        if codes.dtype.kind not in "iu" or (codes.size and codes.max() >= len(categories)):
            raise FileError(
                f"A categorical column must point to its categories; '{key}' in {name} does not: write it again."
            )
        return np.array([None if code < 0 else categories[code] for code in codes.tolist()], dtype=object)
    if {"values", "mask"} <= arrays.keys() and arrays["values"].shape == arrays["mask"].shape:
        values = _decoded(arrays["values"]).astype(object)
        values[arrays["mask"].astype(bool)] = None
        return values
    return None


def _decoded(values):
    """Strings rather than bytes."""
    if values.dtype.kind not in "OS":
        return values
    return np.array([v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values.tolist()], dtype=object)


def _values(tree, node, name, limits):
    tree.check(node)
    limits.check_array(name, node.shape, max(node.dtype.itemsize, 1) if node.dtype.kind != "O" else 64)
    return np.asarray(node[...] if node.shape != () else node[()])


def _sparse_block(tree, node, name, limits):
    """A sparse matrix, if it is one and small."""
    from scipy import sparse

    kind = node.attrs.get("encoding-type", node.attrs.get("h5sparse_format", ""))
    kind = (kind.decode() if isinstance(kind, bytes) else str(kind)).removesuffix("_matrix")
    parts = {part: tree.get(part, node) for part in ("data", "indices", "indptr")}
    shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape"))
    if kind not in ("csr", "csc") or shape is None or not all(map(tree.is_array, parts.values())):
        keys = listed(key for key, _ in tree.children(node))
        raise FileError(
            f"{name} must be an array of numbers; it is a folder ({keys or 'empty'}): choose an array inside it."
        )
    shape = tuple(int(n) for n in shape)
    if len(shape) != 2 or min(shape) < 1:
        raise FileError(f"{name} must hold rows and columns; its shape is {shape}: check how it was written.")
    limits.check_sparse(name, shape, "reduce it first, and choose for instance --array obsm/X_pca")
    arrays = [_values(tree, parts[part], name, limits) for part in ("data", "indices", "indptr")]
    matrix = (sparse.csr_array if kind == "csr" else sparse.csc_array)(tuple(arrays), shape=shape)
    matrix.check_format(full_check=True)
    return plain_block(matrix.toarray(), name)


def _shapes(tree):
    """Arrays of numbers by path, in the first so many folders: a folder may hold itself."""
    waiting, visited, found = [("", tree.root())], 0, 0
    while waiting and visited < _MOST_LISTED and found < _MOST_LISTED:
        path, node = waiting.pop()
        visited += 1
        for key, child in tree.children(node):
            below = f"{path}/{key}" if path else key
            if tree.is_array(child):
                if child.dtype.kind in "biuf":
                    found += 1
                    yield below, tuple(child.shape)
            elif tree.is_group(child) and not key.startswith("#"):
                waiting.append((below, child))
