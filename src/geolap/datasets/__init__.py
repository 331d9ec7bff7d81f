"""Data sets: manifolds with known geometry, a molecule, and the benchmark sets of the paper."""

from .manifolds import (
    ManifoldSample,
    make_dome,
    make_flat_torus,
    make_hourglass,
    make_sphere,
    make_swiss_roll,
    make_torus,
)
from .rotor import RotorSample, make_rotor
from .ssl_book import SSLBookSet, load_ssl_book

__all__ = [
    "ManifoldSample",
    "RotorSample",
    "SSLBookSet",
    "load_ssl_book",
    "make_dome",
    "make_flat_torus",
    "make_hourglass",
    "make_rotor",
    "make_sphere",
    "make_swiss_roll",
    "make_torus",
]
