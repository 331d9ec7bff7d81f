"""Some eigenvectors of a full matrix by LAPACK's dsyevr, without the interpreter's lock.

`scipy.linalg.eigh` calls the same routine and holds the lock for as long as it takes, half a minute for 200 eigenvectors of
5000 points: meanwhile no interrupt would be heard, and no other thread would go on.
"""

from ctypes import CFUNCTYPE, byref, c_char, c_char_p, c_double, c_int, c_void_p, py_object, pythonapi
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cython_lapack

__all__ = ["largest_of_full"]


@cache
def _dsyevr() -> Any:
    capsule = cython_lapack.__pyx_capi__["dsyevr"]
    name, pointer = pythonapi.PyCapsule_GetName, pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = c_char_p, [py_object]
    pointer.restype, pointer.argtypes = c_void_p, [py_object, c_char_p]
    return CFUNCTYPE(None, *[c_void_p] * 21)(pointer(capsule, name(capsule)))


def largest_of_full(M: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, ascending, and eigenvectors (n, k) of a symmetric matrix."""
    n = len(M)
    A = np.array(M, dtype=np.float64, order="F")
    values, vectors, support = np.empty(n), np.empty((n, k), order="F"), np.empty(2 * n, dtype=np.intc)
    info, found = c_int(), c_int()
    letters = [byref(c_char(letter)) for letter in (b"V", b"I", b"L")]
    order, nothing, first = byref(c_int(n)), byref(c_double(0.0)), byref(c_int(n - k + 1))

    def call(work: np.ndarray, n_work: int, whole: np.ndarray, n_whole: int) -> None:
        _dsyevr()(
            *letters,
            *(order, A.ctypes.data, order, nothing, nothing, first, order, nothing),
            *(byref(found), values.ctypes.data, vectors.ctypes.data, order, support.ctypes.data),
            *(work.ctypes.data, byref(c_int(n_work)), whole.ctypes.data, byref(c_int(n_whole)), byref(info)),
        )

    work, whole = np.empty(1), np.empty(1, dtype=np.intc)
    call(work, -1, whole, -1)  # how much room it needs
    work, whole = np.empty(int(work[0])), np.empty(int(whole[0]), dtype=np.intc)
    call(work, len(work), whole, len(whole))
    if info.value or found.value < k:
        raise LinAlgError(f"dsyevr ended with {info.value} and {found.value} of {k} eigenvectors.")
    return values[:k], vectors
