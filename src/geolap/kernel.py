"""The kernel: from distances and a bandwidth to weights.

.. math:: W_{ij}(ε) = \\exp(-‖x_i - x_j‖^2 / ε^2), \\qquad W_{ii} = 1

(equation 2 of the paper, which drops the minus sign).  With a cut-off ``c`` the weights of pairs farther apart than
``c·ε`` are zero.  This is the only file that contains the formula; everything else calls it for weights.

Two facts about the Gaussian make the fast engines fast, and both are implemented here.  ``W(ε/√2) = W(ε)²``, so one
exponential serves every bandwidth of a *ladder* ``ε, ε/√2, ε/2, …``.  And beyond `reach` a weight is lost in the rounding
of the weight 1 that a point gives itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CONVENTIONS", "LOWEST_EXPONENT", "Ladder", "convert_bandwidth", "gaussian", "ladder_weights", "ladders", "reach"]

# What other texts and programs call the bandwidth: (their value from ε, ε from their value).
CONVENTIONS = {
    "bandwidth": (lambda eps: eps, lambda v: v),  # exp(-d²/ε²), this package
    "gamma": (lambda eps: eps**-2.0, lambda v: v**-0.5),  # exp(-γ d²), scikit-learn's rbf kernel
    "sigma": (lambda eps: eps / np.sqrt(2.0), lambda v: v * np.sqrt(2.0)),  # exp(-d²/2σ²), scanpy, most texts
    "variance": (lambda eps: eps**2.0 / 2.0, lambda v: np.sqrt(2.0 * v)),  # exp(-d²/2v), datafold's ε
    "heat_time": (lambda eps: eps**2.0 / 4.0, lambda v: 2.0 * np.sqrt(v)),  # exp(-d²/4t), heat kernel; pyDiffMap's ε
    "megaman_radius": (lambda eps: 3.0 * eps, lambda v: v / 3.0),  # where megaman cuts exp(-d²/ε²) off
}

# exp(-40) = 4e-18: added to 1, a weight this small is rounded away.
_NEGLIGIBLE_EXPONENT = 40.0
# Below exp(-700) exponentials become subnormal, which is slow and useless.
LOWEST_EXPONENT = -700.0
# k squarings multiply the relative rounding error by 2^k; after 16 it is 1e-11.
_LONGEST_LADDER = 16


def convert_bandwidth(value: Any, *, source: str = "bandwidth", target: str = "bandwidth") -> float | np.ndarray:
    """Convert a bandwidth between geolap's convention and others.

    For a kernel over all pairs.  For maps and clusters of real data nearest neighbors are usually better: they are the
    default of `geolap.LaplacianClustering`, and of `geolap.LaplacianEigenmap` if one bandwidth does not suit all points.

    Parameters
    ----------
    value : float or array-like
        The bandwidth in the convention ``source``.
    source, target : {"bandwidth", "gamma", "sigma", "variance", "heat_time", "megaman_radius"}
        ``bandwidth`` is ε of exp(−d²/ε²), geolap's convention; ``gamma`` is 1/ε² (scikit-learn);
        ``sigma`` is ε/√2, for exp(−d²/2σ²), and ``variance`` its square, which is what datafold calls epsilon;
        ``heat_time`` is t = ε²/4, for exp(−d²/4t), which is what pyDiffMap calls epsilon; ``megaman_radius`` is 3ε.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> import geolap
    >>> geolap.convert_bandwidth(0.5, target="gamma")
    4.0
    >>> round(geolap.convert_bandwidth(20.0, source="gamma"), 3)
    0.224
    """
    for name in (source, target):
        if not isinstance(name, str) or name not in CONVENTIONS:
            raise ValueError(
                f"A bandwidth convention must be one of {', '.join(CONVENTIONS)}; {name!r} was given: choose the one whose "
                "formula the other program documents."
            )
    try:
        value = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"A bandwidth must be a number; {value!r} was given.") from None
    if not (np.all(np.isfinite(value)) and np.all(value > 0)):
        raise ValueError(f"A bandwidth must be positive and finite; {value} was given.")
    with np.errstate(over="ignore", under="ignore"):
        converted = CONVENTIONS[target][0](CONVENTIONS[source][1](value))
    if not (np.all(np.isfinite(converted)) and np.all(converted > 0)):
        raise ValueError(
            f"A bandwidth must stay within the range of floating-point numbers; {value} as {target} does not: "
            "rescale the data."
        )
    return float(converted) if np.ndim(converted) == 0 else converted


def gaussian(sqdist: Any, bandwidth: float, *, cutoff: float | None = None) -> Any:
    """Weights W_ij = exp(−d²/ε²) from squared distances, an array or a tensor; zero beyond ``cutoff``·ε."""
    if hasattr(sqdist, "exp_"):  # on a device
        W = (sqdist * (-1.0 / bandwidth**2)).exp_()
    else:
        W = np.asarray(np.divide(sqdist, -(bandwidth**2)))
        np.exp(W, out=W)
    if cutoff is not None:
        W *= sqdist <= (cutoff * bandwidth) ** 2
    return W


def reach(bandwidth: float) -> float:
    """Distance beyond which a weight is negligible next to the weight 1 of the point itself."""
    return np.sqrt(_NEGLIGIBLE_EXPONENT) * bandwidth


@dataclass(frozen=True)
class Ladder:
    """Bandwidths computed from one exponential: descending, each 2^(−k/2) times the first."""

    columns: tuple[int, ...]  # the position of each bandwidth in the caller's array
    bandwidths: tuple[float, ...]
    squarings: tuple[int, ...]  # how often the weights are squared to get from the previous bandwidth to this one


def ladders(bandwidths: Sequence[float] | np.ndarray, *, longest: int = _LONGEST_LADDER) -> list[Ladder]:
    """Arrange bandwidths into ladders of at most ``longest`` squarings; one that fits none is a ladder of one step.

    A grid of ratio √2 is one ladder, a grid of ratio 2^(1/4) two interleaved ones.
    """
    bandwidths = np.asarray(bandwidths, dtype=float)
    rungs = -2.0 * np.log2(bandwidths)  # squaring W moves up by exactly one rung
    found: list[list[tuple[int, int]]] = []  # per ladder: (column, rung counted from its first)
    starts: list[float] = []
    for column in np.argsort(rungs, kind="stable"):
        for ladder, start in zip(found, starts, strict=True):
            height = round(rungs[column] - start)
            on_rung = abs(bandwidths[column] * 2.0 ** (0.5 * height) / bandwidths[ladder[0][0]] - 1.0) < 1e-13
            # Beyond four squarings at once a new exponential is cheaper.
            if on_rung and height <= longest and height - ladder[-1][1] <= 4:
                ladder.append((int(column), height))
                break
        else:
            found.append([(int(column), 0)])
            starts.append(rungs[column])
    return [
        Ladder(
            columns=tuple(column for column, _ in ladder),
            bandwidths=tuple(float(bandwidths[column]) for column, _ in ladder),
            squarings=tuple(int(b - a) for a, b in zip([0, *(h for _, h in ladder)], (h for _, h in ladder), strict=False)),
        )
        for ladder in found
    ]


def ladder_weights(
    sqdist: np.ndarray, ladder: Ladder, out: np.ndarray, *, cutoff: float | None = None
) -> Iterator[tuple[int, float, np.ndarray]]:
    """Walk down a ladder: yields ``(column, bandwidth, W)``, each W from the last by squaring in place.

    ``sqdist`` may hold ``inf`` for pairs to ignore (the diagonal); their weight becomes 1e-304.  ``W`` is ``out`` itself
    (or, with a cut-off, a masked copy): use it before the next step and do not change it.
    """
    for column, eps, squarings in zip(ladder.columns, ladder.bandwidths, ladder.squarings, strict=True):
        if squarings == 0:
            np.multiply(sqdist, -1.0 / eps**2, out=out)
            np.maximum(out, LOWEST_EXPONENT, out=out)
            np.exp(out, out=out)
        for _ in range(squarings):
            np.multiply(out, out, out=out)
        yield column, eps, out if cutoff is None else out * (sqdist <= (cutoff * eps) ** 2)
