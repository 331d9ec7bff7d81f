"""Data sets: manifolds with known geometry, and the benchmark sets of the paper."""

from .manifolds import (
    ManifoldSample,
    make_dome,
    make_flat_torus,
    make_hourglass,
    make_sphere,
    make_swiss_roll,
    make_torus,
)
from .ssl_book import SSLBookSet, load_ssl_book

__all__ = [
    "ManifoldSample",
    "SSLBookSet",
    "load_ssl_book",
    "make_dome",
    "make_flat_torus",
    "make_hourglass",
    "make_sphere",
    "make_swiss_roll",
    "make_torus",
]
