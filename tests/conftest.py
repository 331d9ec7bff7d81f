"""Shared data: the benchmark sets are read once."""

import gc
import os
import sys
from functools import cache
from pathlib import Path

# Tests run in several processes: BLAS threads of one would wait for those of the other.  Set before NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # UMAP would set it for OpenMP, and so for torch

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_digits

from geolap.datasets import load_ssl_book

matplotlib.use("Agg")
# Modules stay, and need not be looked through again and again for what may go.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items):
    if sys.platform == "win32":
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="Windows has no such signals, pipes or file modes"))


@cache
def _real(name):
    X = load_digits().data if name == "digits" else load_ssl_book(name).data
    X.setflags(write=False)
    return X


@pytest.fixture(scope="session")
def real():
    """Points of a real data set by name, read-only."""
    return _real


@pytest.fixture(params=["dome_d1", "hourglass_d2"])
def oracle(request):
    """Points, evaluation points and the distortions that the authors' own code computes on them."""
    with np.load(Path(__file__).parent / "data" / f"{request.param}.npz") as content:
        return dict(content)
