"""Surfaces with known geometry, sampled uniformly by area.

Each function returns the points as observed (with Gaussian noise in all ambient dimensions, ``noise_dims`` of which hold
only noise), the same points without noise, their intrinsic coordinates u, and the metric g(u) of the surface in those
coordinates.  With these, lengths, areas and Laplacians can be checked against the truth.
"""

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
from scipy.special import gammaln
from sklearn.utils import check_random_state

from ..validation import check_number

__all__ = [
    "ManifoldSample",
    "make_dome",
    "make_flat_torus",
    "make_hourglass",
    "make_sphere",
    "make_swiss_roll",
    "make_torus",
]


@dataclass(frozen=True)
class ManifoldSample:
    """Points on a manifold.

    Attributes
    ----------
    data : ndarray (n, r)
        As observed, with noise.
    clean : ndarray (n, r)
        The same points on the manifold itself.
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


def make_hourglass(n_samples=1000, noise=0.0, noise_dims=0, random_state=None):
    """The paper's hourglass: a surface of revolution of radius 0.3 + 0.7 z², z from −1 to 1, open at both ends.

    Coordinates are (z, θ).

    Examples
    --------
    >>> from geolap.datasets import make_hourglass
    >>> make_hourglass(100, noise=0.01, noise_dims=10, random_state=0).data.shape
    (100, 13)
    """
    return _revolution(
        lambda z: (0.3 + 0.7 * z**2, 1.4 * z, z, np.ones_like(z)), -1.0, 1.0, n_samples, noise, noise_dims, random_state
    )


def make_dome(n_samples=1000, noise=0.0, noise_dims=0, random_state=None):
    """The paper's dome: the upper half of the unit sphere, a surface with a border.

    Coordinates are (angle from the pole, θ).
    """
    return _revolution(
        lambda a: (np.sin(a), np.cos(a), np.cos(a), -np.sin(a)), 0.0, np.pi / 2, n_samples, noise, noise_dims, random_state
    )


def make_torus(n_samples=1000, noise=0.0, noise_dims=0, random_state=None, *, major=2.0, minor=1.0):
    """A torus: a circle of radius ``minor`` whose center moves around a circle of radius ``major``.

    Coordinates are (angle around the tube, θ).
    """
    check_number("minor", minor, low=0, open_low=True)
    check_number("major", major, low=minor, open_low=True)
    return _revolution(
        lambda a: (major + minor * np.cos(a), -minor * np.sin(a), minor * np.sin(a), minor * np.cos(a)),
        -np.pi,
        np.pi,
        n_samples,
        noise,
        noise_dims,
        random_state,
    )


def make_flat_torus(n_samples=1000, noise=0.0, noise_dims=0, random_state=None):
    """The product of two unit circles, (cos u, sin u, cos v, sin v): a torus without curvature, in four dimensions.

    Coordinates are (u, v), in which the metric is the identity.
    """
    rng = _checked(n_samples, noise, noise_dims, random_state)
    coordinates = rng.uniform(-np.pi, np.pi, (n_samples, 2))
    clean = np.column_stack([f(angle) for angle in coordinates.T for f in (np.cos, np.sin)])
    metric = np.broadcast_to(np.eye(2), (n_samples, 2, 2)).copy()
    return _observed(clean, coordinates, metric, (2.0 * np.pi) ** 2, noise, noise_dims, rng)


def make_swiss_roll(n_samples=1000, noise=0.0, noise_dims=0, random_state=None):
    """A strip of width 21 rolled up along the spiral (t cos t, t sin t), t from 1.5π to 4.5π.

    Coordinates are (arc length along the spiral, position across), in which the metric is the identity.
    """
    rng = _checked(n_samples, noise, noise_dims, random_state)

    def arc_length(t):
        return 0.5 * (t * np.sqrt(1.0 + t**2) + np.arcsinh(t))

    t = np.linspace(1.5 * np.pi, 4.5 * np.pi, 4097)
    s = arc_length(t) - arc_length(t[0])
    coordinates = np.column_stack([rng.uniform(0.0, s[-1], n_samples), rng.uniform(0.0, 21.0, n_samples)])
    t = np.interp(coordinates[:, 0], s, t)
    for _ in range(3):  # Newton: dt/ds = 1/sqrt(1 + t²)
        t -= (arc_length(t) - arc_length(1.5 * np.pi) - coordinates[:, 0]) / np.sqrt(1.0 + t**2)
    clean = np.column_stack([t * np.cos(t), coordinates[:, 1], t * np.sin(t)])
    metric = np.broadcast_to(np.eye(2), (n_samples, 2, 2)).copy()
    return _observed(clean, coordinates, metric, 21.0 * s[-1], noise, noise_dims, rng)


def make_sphere(n_samples=1000, noise=0.0, noise_dims=0, random_state=None, *, dim=2):
    """The unit sphere of dimension ``dim`` in dim + 1 dimensions.

    Coordinates are hyperspherical angles: the first is the angle from the first axis, the last goes around.
    """
    rng = _checked(n_samples, noise, noise_dims, random_state)
    check_number("dim", dim, Integral, low=1)
    clean = rng.standard_normal((n_samples, dim + 1))
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
    return _observed(clean, coordinates, metric, volume, noise, noise_dims, rng)


def _revolution(profile, low, high, n_samples, noise, noise_dims, random_state):
    """Surface of revolution from ``profile(u) → radius, radius', height, height'``, uniform by area."""
    rng = _checked(n_samples, noise, noise_dims, random_state)
    grid = np.linspace(low, high, 16385)
    radius, radius_slope, _, height_slope = profile(grid)
    area = radius * np.hypot(radius_slope, height_slope)
    below = np.concatenate([[0.0], np.cumsum(0.5 * (area[1:] + area[:-1]) * np.diff(grid))])
    u = np.interp(rng.uniform(0.0, below[-1], n_samples), below, grid)
    theta = rng.uniform(-np.pi, np.pi, n_samples)
    radius, radius_slope, height, height_slope = profile(u)
    metric = np.zeros((n_samples, 2, 2))
    metric[:, 0, 0] = radius_slope**2 + height_slope**2
    metric[:, 1, 1] = radius**2
    clean = np.column_stack([radius * np.cos(theta), radius * np.sin(theta), height])
    return _observed(clean, np.column_stack([u, theta]), metric, 2.0 * np.pi * below[-1], noise, noise_dims, rng)


def _checked(n_samples, noise, noise_dims, random_state):
    check_number("n_samples", n_samples, Integral, low=1)
    check_number("noise", noise, low=0)
    check_number("noise_dims", noise_dims, Integral, low=0)
    return check_random_state(random_state)


def _observed(clean, coordinates, metric, volume, noise, noise_dims, rng):
    clean = np.hstack([clean, np.zeros((len(clean), noise_dims))])
    data = clean + noise * rng.standard_normal(clean.shape)
    return ManifoldSample(data, clean, coordinates, metric, float(volume))
