"""Surfaces whose spectrum is computed by other means: of revolution in one dimension, or as a mesh.

A function f(u) e^{imθ} on a surface of revolution with radius r(u) and speed σ(u) along its profile has −Δf = λf where

.. math:: -\\frac{d}{du}\\left(\\frac{r}{σ} \\frac{df}{du}\\right) + \\frac{m^2 σ}{r} f = λ r σ f

solved by linear finite elements for m = 0, 1, …; an open end has zero slope.  An implicit surface is meshed by marching
cubes (scikit-image), its corners are moved onto the surface, and the spectrum is that of the cotangent Laplacian
(robust-laplacian).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from ..datasets import make_hourglass, make_torus
from ..validation import check_random_state

__all__ = ["SURFACES", "Surface", "revolution_spectrum"]

# Nodes of a profile, angular numbers that are looked at, cubes along the longest side of a box.
_NODES, _MOST_M, _CUBES = 4000, 8, 120
# The double torus (x (x − 1)² (x − 2) + y²)² + z² = 0.03: half its box.
_CENTER, _HALF = (1.0, 0.0, 0.0), (1.35, 0.85, 0.25)
_THICKNESS = 0.03


@dataclass(frozen=True)
class Surface:
    """A surface with a known spectrum.

    Attributes
    ----------
    name : str
    make : callable
        (n, noise, noise_dims, random_state) → points (n, 3 + noise_dims), uniform by area
    spectrum : callable
        k → the k least positive eigenvalues of −Δ
    """

    name: str
    make: Callable[[int, float, int, int], np.ndarray]
    spectrum: Callable[[int], np.ndarray]


def revolution_spectrum(
    k: int,
    radius: Callable[[np.ndarray], np.ndarray],
    speed: Callable[[np.ndarray], np.ndarray],
    low: float,
    high: float,
    *,
    closed: bool = False,
) -> np.ndarray:
    """The k least positive eigenvalues of −Δ on a surface of revolution, of which ``closed`` joins both ends."""
    u = np.linspace(low, high, _NODES + 1)
    h, middle = u[1] - u[0], 0.5 * (u[1:] + u[:-1])
    r, sigma = radius(middle), speed(middle)
    i, j = np.arange(_NODES), np.arange(1, _NODES + 1)
    if closed:
        j = j % _NODES
    n = _NODES if closed else _NODES + 1

    def assembled(same: np.ndarray, across: np.ndarray) -> sparse.csc_array:
        rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
        return sparse.csc_array((np.concatenate([same, same, across, across]), (rows, columns)), shape=(n, n))

    mass = assembled(h / 3 * r * sigma, h / 6 * r * sigma)
    found = []
    for m in range(_MOST_M + 1):
        tension, well = r / sigma / h, m**2 * sigma / r * h
        stiffness = assembled(tension + well / 3, -tension + well / 6)
        values = np.sort(eigsh(stiffness, k + 1, mass, sigma=-0.01, v0=np.ones(n), return_eigenvectors=False))
        found += [values[1:]] if m == 0 else [values, values]
    return np.sort(np.concatenate(found))[:k]


def _double_torus(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The function whose zeros are the surface, and its gradient, at points (n, 3)."""
    x, y, z = p.T
    g = x * (x - 1) ** 2 * (x - 2) + y**2
    slope = (x - 1) ** 2 * (x - 2) + 2 * x * (x - 1) * (x - 2) + x * (x - 1) ** 2
    return g**2 + z**2 - _THICKNESS, np.column_stack([2 * g * slope, 4 * g * y, 2 * z])


def _onto_surface(p: np.ndarray) -> np.ndarray:
    for _ in range(6):
        value, gradient = _double_torus(p)
        p = p - (value / np.einsum("nd,nd->n", gradient, gradient))[:, None] * gradient
    return p


@cache
def _mesh() -> tuple[np.ndarray, np.ndarray]:
    """Corners (n, 3) and triangles (m, 3) of the double torus."""
    from skimage.measure import marching_cubes

    spacing = 2 * max(_HALF) / _CUBES
    axes = [np.arange(c - h, c + h + spacing, spacing) for c, h in zip(_CENTER, _HALF, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = _double_torus(grid.reshape(-1, 3))[0].reshape(grid.shape[:-1])
    corners, triangles, _, _ = marching_cubes(values, 0.0, spacing=(spacing,) * 3)
    return _onto_surface(corners + [axis[0] for axis in axes]), triangles


def _double_torus_spectrum(k: int) -> np.ndarray:
    import robust_laplacian

    L, M = robust_laplacian.mesh_laplacian(*_mesh())
    values = eigsh(L, k + 1, M, sigma=-1e-3, v0=np.ones(L.shape[0]), return_eigenvectors=False)
    return np.sort(values)[1:]


def _make_double_torus(n: int, noise: float, noise_dims: int, random_state: int) -> np.ndarray:
    rng = check_random_state(random_state)
    corners, triangles = _mesh()
    a, b, c = np.moveaxis(corners[triangles], 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    some = rng.choice(len(area), n, p=area / area.sum())
    u, v = rng.uniform(size=(2, n, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    clean = _onto_surface(a[some] + u * (b - a)[some] + v * (c - a)[some])
    clean = np.hstack([clean, np.zeros((n, noise_dims))])
    return clean + noise * rng.standard_normal(clean.shape)


SURFACES = (
    Surface(
        "hourglass",
        lambda *setting: make_hourglass(*setting).data,
        partial(
            revolution_spectrum,
            radius=lambda z: 0.3 + 0.7 * z**2,
            speed=lambda z: np.hypot(1.4 * z, 1.0),
            low=-1.0,
            high=1.0,
        ),
    ),
    Surface(
        "torus",
        lambda *setting: make_torus(*setting).data,
        partial(
            revolution_spectrum, radius=lambda a: 2 + np.cos(a), speed=np.ones_like, low=-np.pi, high=np.pi, closed=True
        ),
    ),
    Surface("double torus", _make_double_torus, _double_torus_spectrum),
)
