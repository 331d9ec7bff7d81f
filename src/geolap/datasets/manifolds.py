"""Manifolds with known geometry, sampled uniformly by volume.

Each function returns a `ManifoldSample`: the points with Gaussian noise in all ambient dimensions, ``noise_dims`` of which
contain only noise; the same points without noise; their intrinsic coordinates u; and the metric g(u) in those coordinates.
Lengths, areas and Laplacians can be checked against them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.special import gammaln

from ..validation import check_number, check_random_state

__all__ = [
    "ManifoldSample",
    "make_dome",
    "make_flat_torus",
    "make_hourglass",
    "make_sphere",
    "make_swiss_roll",
    "make_torus",
]

Seed = int | np.random.RandomState | None
# u → radius, radius', height, height'
Profile = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class ManifoldSample:
    """Points on a manifold.

    Attributes
    ----------
    data : ndarray (n, r)
        The points with noise.
    clean : ndarray (n, r)
        The same points without noise, on the manifold.
    coordinates : ndarray (n, d)
        Intrinsic coordinates u.
    metric : ndarray (n, d, d)
        g(u): the length of a small step du is sqrt(duᵀ g du).
    volume : float
        Length, area or volume of the whole manifold.
    """

    data: np.ndarray = field(repr=False)
    clean: np.ndarray = field(repr=False)
    coordinates: np.ndarray = field(repr=False)
    metric: np.ndarray = field(repr=False)
    volume: float

    @property
    def intrinsic_dim(self) -> int:
        """The dimension d of the manifold."""
        return self.coordinates.shape[1]


class _Sampler:
    """Draws points and adds noise."""

    def __init__(self, n_samples: int, noise: float, noise_dims: int, random_state: Seed) -> None:
        self.n_samples = check_number("n_samples", n_samples, Integral, low=1)
        self.noise = check_number("noise", noise, low=0)
        self.noise_dims = check_number("noise_dims", noise_dims, Integral, low=0)
        self.rng = check_random_state(random_state)

    def uniform(self, low: float, high: float) -> np.ndarray:
        return self.rng.uniform(low, high, self.n_samples)

    def observed(self, clean: np.ndarray, u: np.ndarray, volume: float, metric: np.ndarray) -> ManifoldSample:
        """Add the noise; one metric may stand for all points."""
        clean = np.hstack([clean, np.zeros((self.n_samples, self.noise_dims))])
        data = clean + self.noise * self.rng.standard_normal(clean.shape)
        metric = np.broadcast_to(metric, (self.n_samples, *metric.shape[-2:])).copy()
        return ManifoldSample(data, clean, u, metric, float(volume))

    def revolution(self, profile: Profile, low: float, high: float) -> ManifoldSample:
        """A surface of revolution, uniform by area, with coordinates (u, θ)."""
        grid = np.linspace(low, high, 16385)
        radius, radius_slope, _, height_slope = profile(grid)
        below = cumulative_trapezoid(radius * np.hypot(radius_slope, height_slope), grid, initial=0.0)
        u = np.interp(self.uniform(0.0, below[-1]), below, grid)
        theta = self.uniform(-np.pi, np.pi)
        radius, radius_slope, height, height_slope = profile(u)
        metric = np.zeros((self.n_samples, 2, 2))
        metric[:, 0, 0] = radius_slope**2 + height_slope**2
        metric[:, 1, 1] = radius**2
        clean = np.column_stack([radius * np.cos(theta), radius * np.sin(theta), height])
        return self.observed(clean, np.column_stack([u, theta]), 2.0 * np.pi * below[-1], metric)


def make_hourglass(
    n_samples: int = 1000, noise: float = 0.0, noise_dims: int = 0, random_state: Seed = None
) -> ManifoldSample:
    """The paper's hourglass: a surface of revolution of radius 0.3 + 0.7 z², z from −1 to 1, open at both ends.

    Coordinates are (z, θ).

    Examples
    --------
    >>> from geolap.datasets import make_hourglass
    >>> make_hourglass(100, noise=0.01, noise_dims=10, random_state=0).data.shape
    (100, 13)
    """
    sampler = _Sampler(n_samples, noise, noise_dims, random_state)
    return sampler.revolution(lambda z: (0.3 + 0.7 * z**2, 1.4 * z, z, np.ones_like(z)), -1.0, 1.0)


def make_dome(n_samples: int = 1000, noise: float = 0.0, noise_dims: int = 0, random_state: Seed = None) -> ManifoldSample:
    """The paper's dome: the upper half of the unit sphere, a surface with a boundary.

    Coordinates are (angle from the pole, θ).
    """
    sampler = _Sampler(n_samples, noise, noise_dims, random_state)
    return sampler.revolution(lambda a: (np.sin(a), np.cos(a), np.cos(a), -np.sin(a)), 0.0, np.pi / 2)


def make_torus(
    n_samples: int = 1000,
    noise: float = 0.0,
    noise_dims: int = 0,
    random_state: Seed = None,
    *,
    major: float = 2.0,
    minor: float = 1.0,
) -> ManifoldSample:
    """A torus: a circle of radius ``minor`` whose center moves around a circle of radius ``major``.

    Coordinates are (angle around the tube, θ).
    """
    check_number("minor", minor, low=0, open_low=True)
    check_number("major", major, low=minor, open_low=True)
    sampler = _Sampler(n_samples, noise, noise_dims, random_state)
    return sampler.revolution(
        lambda a: (major + minor * np.cos(a), -minor * np.sin(a), minor * np.sin(a), minor * np.cos(a)), -np.pi, np.pi
    )


def make_flat_torus(
    n_samples: int = 1000, noise: float = 0.0, noise_dims: int = 0, random_state: Seed = None
) -> ManifoldSample:
    """The product of two unit circles, (cos u, sin u, cos v, sin v): a torus without curvature, in four dimensions.

    Coordinates are (u, v), in which the metric is the identity.
    """
    sampler = _Sampler(n_samples, noise, noise_dims, random_state)
    angles = sampler.rng.uniform(-np.pi, np.pi, (n_samples, 2))
    clean = np.column_stack([f(angle) for angle in angles.T for f in (np.cos, np.sin)])
    return sampler.observed(clean, angles, (2.0 * np.pi) ** 2, np.eye(2))


def make_swiss_roll(
    n_samples: int = 1000, noise: float = 0.0, noise_dims: int = 0, random_state: Seed = None
) -> ManifoldSample:
    """A strip of width 21 rolled up along the spiral (t cos t, t sin t), t from 1.5π to 4.5π.

    Coordinates are (arc length along the spiral, position across), in which the metric is the identity.
    """
    sampler = _Sampler(n_samples, noise, noise_dims, random_state)
    width, low, high = 21.0, 1.5 * np.pi, 4.5 * np.pi

    def arc_length(t: np.ndarray | float) -> np.ndarray:
        return 0.5 * (t * np.sqrt(1.0 + t**2) + np.arcsinh(t))

    t = np.linspace(low, high, 4097)
    s = arc_length(t) - arc_length(low)
    along, across = sampler.uniform(0.0, s[-1]), sampler.uniform(0.0, width)
    t = np.interp(along, s, t)
    for _ in range(3):  # Newton: dt/ds = 1/sqrt(1 + t²)
        t -= (arc_length(t) - arc_length(low) - along) / np.sqrt(1.0 + t**2)
    clean = np.column_stack([t * np.cos(t), across, t * np.sin(t)])
    return sampler.observed(clean, np.column_stack([along, across]), width * s[-1], np.eye(2))


def make_sphere(
    n_samples: int = 1000, noise: float = 0.0, noise_dims: int = 0, random_state: Seed = None, *, dim: int = 2
) -> ManifoldSample:
    """The unit sphere of dimension ``dim`` in dim + 1 dimensions.

    Coordinates are hyperspherical angles: the first is the angle from the first axis, the last goes around.
    """
    sampler = _Sampler(n_samples, noise, noise_dims, random_state)
    check_number("dim", dim, Integral, low=1)
    clean = sampler.rng.standard_normal((n_samples, dim + 1))
    clean /= np.linalg.norm(clean, axis=1, keepdims=True)
    coordinates = np.empty((n_samples, dim))
    metric = np.zeros((n_samples, dim, dim))
    scale = np.ones(n_samples)
    for k in range(dim):
        rest = np.linalg.norm(clean[:, k + 1 :], axis=1) if k < dim - 1 else clean[:, dim]
        coordinates[:, k] = np.arctan2(rest, clean[:, k])
        metric[:, k, k] = scale
        scale = scale * np.sin(coordinates[:, k]) ** 2
    volume = 2.0 * np.exp(0.5 * (dim + 1) * np.log(np.pi) - gammaln(0.5 * (dim + 1)))
    return sampler.observed(clean, coordinates, volume, metric)
