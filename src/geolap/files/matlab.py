"""MATLAB's .mat files up to version 7; those of version 7.3 are HDF5 (`geolap.files.hierarchy`)."""

import warnings

import numpy as np

from .arrays import chosen_array, plain_block
from .source import FileError
from .table import Frame, listed

__all__ = ["read_mat"]

_NUMBERS = frozenset(
    ("double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "logical")
)


def read_mat(source, limits, *, array=None, beside=()):
    """A `Frame` of one variable of a .mat file, with another one as labels."""
    from scipy import io, sparse

    def loaded(variable):
        with source.open() as file:
            return io.loadmat(file, variable_names=[variable], mat_dtype=False)[variable]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about duplicate or unreadable variables, which are not asked for
        with source.open() as file:
            found = {variable: (shape, kind) for variable, shape, kind in io.whosmat(file)}
        shapes = {variable: shape for variable, (shape, kind) in found.items() if kind in _NUMBERS or kind == "sparse"}
        chosen = chosen_array(array, shapes, source.name, every=list(found))
        shape, kind = found[chosen]
        name = f"{listed([chosen])} in {source.name}"
        notes = []
        if kind == "sparse":
            limits.check_sparse(name, shape, "reduce it first, for instance with TruncatedSVD")
            values = loaded(chosen)
            if sparse.issparse(values):
                values.check_format(full_check=True)  # indices that point elsewhere would write there
                values = values.toarray()
            notes.append("A sparse matrix was made dense.")
        elif kind in _NUMBERS:
            limits.check_array(name, shape, 8)
            values = loaded(chosen)
        else:
            raise FileError(f"{name} must be a matrix of numbers; it is a {kind}: save the matrix on its own.")
        frame = Frame(plain_block(np.asarray(values), name), array=chosen, notes=notes)
        for other in found.keys() & {*beside} - {chosen}:
            limits.check_array(f"{listed([other])} in {source.name}", found[other][0], 8)
            words = _words(loaded(other))
            if len(words) == len(frame.block):
                frame.others[other] = words
    return frame


def _words(values):
    """A vector, a matrix of characters or a cell of strings as one entry for each point."""
    values = np.asarray(values)
    if values.dtype.kind == "O":
        return np.array([_text(cell) for cell in values.ravel()], dtype=object)
    return values.ravel()


def _text(cell):
    cell = np.asarray(cell)
    return str(cell.ravel()[0]).strip() if cell.size == 1 else ""
