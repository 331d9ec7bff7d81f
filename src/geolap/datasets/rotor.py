"""A molecule that turns about two bonds, generated: its shapes are a torus, and its torsions are the coordinates of it.

Five atoms A–B–C–D–E are a chain with bonds of length 1 and angles of 112°.  The torsions about B–C and C–D take all values;
bonds and angles tremble a little.  Shapes are compared in the frame of the atoms B, C and D.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np

from ..validation import check_number, check_random_state
from .manifolds import Seed

__all__ = ["RotorSample", "make_rotor"]

_ANGLE = np.radians(112.0)


@dataclass(frozen=True)
class RotorSample:
    """Shapes of a molecule.

    Attributes
    ----------
    data : ndarray (n, 15)
        The positions of its atoms, in the frame of three of them.
    atoms : ndarray (n, 5, 3)
        The same.
    functions : dict of str to ndarray (n,)
        Ten quantities that chemists measure: torsions, angles and distances, by the names of their atoms.
    periods : dict of str to float
        The period of those that are angles about an axis.
    torsions : tuple of str
        The two that everything else follows from.
    """

    data: np.ndarray = field(repr=False)
    atoms: np.ndarray = field(repr=False)
    functions: Mapping[str, np.ndarray] = field(repr=False)
    periods: Mapping[str, float]
    torsions: tuple[str, str] = ("torsion ABCD", "torsion BCDE")


def make_rotor(n_samples: int = 1000, noise: float = 0.02, random_state: Seed = None) -> RotorSample:
    """Shapes of a chain of five atoms that turns about its two inner bonds.

    Parameters
    ----------
    n_samples : int, default 1000
    noise : float, default 0.02
        Standard deviation of bonds and, in radians, of angles.
    random_state : int, RandomState or None

    Returns
    -------
    RotorSample

    Examples
    --------
    >>> from geolap.datasets import make_rotor
    >>> rotor = make_rotor(100, random_state=0)
    >>> rotor.data.shape, len(rotor.functions)
    ((100, 15), 10)
    """
    n = check_number("n_samples", n_samples, Integral, low=1)
    check_number("noise", noise, low=0)
    rng = check_random_state(random_state)
    first, second = rng.uniform(-np.pi, np.pi, (2, n))
    bonds = 1.0 + noise * rng.standard_normal((4, n))
    angles = _ANGLE + noise * rng.standard_normal((3, n))
    b, c = np.zeros((n, 3)), bonds[1, :, None] * [1.0, 0.0, 0.0]
    d = c + bonds[2, :, None] * np.stack([-np.cos(angles[1]), np.sin(angles[1]), np.zeros(n)], axis=1)
    a = _placed(d, c, b, bonds[0], angles[0], first)
    e = _placed(b, c, d, bonds[3], angles[2], second)
    atoms = np.stack([a, b, c, d, e], axis=1)
    at = {name: atoms[:, k] for k, name in enumerate("ABCDE")}
    torsions = {f"torsion {word}": _torsion(*(at[name] for name in word)) for word in ("ABCD", "BCDE", "ABDE")}
    bends = {f"angle {word}": _bend(*(at[name] for name in word)) for word in ("ABC", "BCD", "CDE")}
    lengths = {f"distance {word}": np.linalg.norm(at[word[0]] - at[word[1]], axis=1) for word in ("AC", "AD", "BE", "AE")}
    return RotorSample(
        data=atoms.reshape(n, 15),
        atoms=atoms,
        functions={**bends, **lengths, **torsions},
        periods=dict.fromkeys(torsions, 2.0 * np.pi),
    )


def _placed(
    p: np.ndarray, q: np.ndarray, r: np.ndarray, bond: np.ndarray, angle: np.ndarray, torsion: np.ndarray
) -> np.ndarray:
    """The atom bound to r, at that angle to q and that torsion to p."""
    along = _unit(r - q)
    normal = _unit(np.cross(q - p, along))
    local = np.stack([-np.cos(angle), np.sin(angle) * np.cos(torsion), np.sin(angle) * np.sin(torsion)], axis=1)
    basis = np.stack([along, np.cross(normal, along), normal], axis=1)
    return r + bond[:, None] * np.einsum("nk,nka->na", local, basis)


def _torsion(p: np.ndarray, q: np.ndarray, r: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The angle about the axis q–r from p to s."""
    axis = _unit(r - q)
    left, right = np.cross(q - p, axis), np.cross(axis, s - r)
    return np.arctan2(np.einsum("na,na->n", np.cross(left, right), axis), np.einsum("na,na->n", left, right))


def _bend(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The angle at q."""
    return np.arccos(np.einsum("na,na->n", _unit(p - q), _unit(r - q)))


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=1, keepdims=True)
