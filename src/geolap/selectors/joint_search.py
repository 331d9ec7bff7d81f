"""Any parameter of the graph by the criterion that chooses ε.

.. math:: (\\hat ε, \\hat θ) = \\arg\\min_{ε, θ} D(ε, θ)

The paper notes that geometric consistency is not limited to ε: anything that shapes the Laplacian shapes the metric that it
implies.  For every value of the other parameters the whole curve over ε is searched; the same evaluation points serve all,
so that differences between parameters are paired and their noise is known.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from ..data.distances import points_of
from ..data.multiplicity import standard_error
from ..data.pairs import Pairs
from ..data.points import Points
from ..graphs.scale import resolve_scale
from ..graphs.skeleton import Skeleton, skeleton_of
from ..runtime.progress import Spoken, say
from ..search import STEPS_PER_OCTAVE, Curve, refine
from ..selection import Selection, Status
from ..specification import FullSpec, GraphSpec, same_setting
from ..validation import check_bandwidths, check_n_sample, check_number, check_random_state
from . import GeometricConsistency
from .base import least_of

__all__ = ["ConsistencySearch", "Gain"]

_log = logging.getLogger(__name__)

# Values of a range that are tried at first, and how often the best is closed in further.
_FIRST_VALUES = 5
_ROUNDS = 4
# Fewest evaluation points where the selector does not say how many.
_FEWEST_SAMPLE = 200
# What of the graph counts something.
_COUNTS = ("n_neighbors", "local_scale")


@dataclass(frozen=True)
class Gain:
    """What the other parameters gain over tuning only ε.

    Attributes
    ----------
    score : float
        D at the best ε with the selector's own parameters, minus D at the optimum.
    relative : float
        The same as a share of the former.
    noise : float
        Standard error of the difference over evaluation points.
    """

    score: float
    relative: float
    noise: float

    @property
    def clear(self) -> bool:
        """Whether it is more than twice its noise."""
        return self.score > 2.0 * self.noise


@dataclass(eq=False, repr=False)
class ConsistencySearch(Spoken, BaseEstimator):
    """Choose the bandwidth and other parameters of the graph together, by geometric consistency.

    Parameters
    ----------
    parameters : dict
        What to search: parameters of the graph by name (``renormalization``, ``n_neighbors``, ``cutoff``, ``local_scale``,
        ``neighbors``, and, if the selector has a transformer as ``neighbors``, its own as ``neighbors__n_neighbors``), each
        with a list of values or a range ``(low, high)``.  A range is tried at five values, then narrowed around the best.
        ``bandwidth`` may be a list or a range as well; by default the whole range is searched.
    selector : GeometricConsistency, optional
        Sets the parameters that are not searched.
    random_state : int, RandomState or None
        Chooses the evaluation points, the same for all.
    verbose : bool or int, default False
        Write the ``logging`` records of "geolap", with the time, to standard error.

    Attributes
    ----------
    best_params_ : dict
        The optimum, with ``bandwidth`` and all other parameters of the selector that define the graph:
        ``GraphLaplacian(**search.best_params_)`` builds it.
    best_score_ : float
        D there.
    bandwidth_ : float
    selection_ : Selection
        The curve over ε at the optimum of the others.
    surface_ : list of dict
        Everything that was tried: the parameters, the best ``bandwidth`` for them, its ``score`` D and ``status``.
    gain_ : Gain
        Over tuning only ε, with the parameters of the selector.
    n_features_in_ : int

    Notes
    -----
    D only compares metrics: a parameter that D does not determine (``gain_.clear`` is False) is better left at its default.
    The work grows with the product of the numbers of values.

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_dome(400, random_state=0).data
    >>> search = geolap.ConsistencySearch({"renormalization": [0.0, 0.5, 1.0]}, random_state=0).fit(X)
    >>> sorted(search.best_params_)
    ['bandwidth', 'renormalization']
    >>> len(search.surface_)
    3
    """

    parameters: dict[str, Any]
    _: KW_ONLY
    selector: GeometricConsistency | None = None
    random_state: Any = None
    verbose: bool | int = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(self.selector, "metric", None) == "precomputed"
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Search the parameters for the points X (n_points, n_features).

        ``sample_weight`` (n_points,) is the number of points that each row represents.

        Returns
        -------
        self
        """
        selector = GeometricConsistency() if self.selector is None else self.selector
        points = points_of(X, getattr(selector, "metric", None), sample_weight=sample_weight)
        validate_data(self, X, skip_check_array=True)
        if not isinstance(selector, GeometricConsistency):
            raise TypeError(
                f"selector must be a GeometricConsistency; {selector!r} was given: pass one, or None for its defaults."
            )
        selector = clone(selector)
        ranges = _checked(self.parameters, selector)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        selector = _settled(selector.set_params(random_state=seed), points)
        trial = _Trial(points, selector, ranges.pop("bandwidth", None), seed)

        trial.explore(ranges)
        params, self.selection_ = trial.best
        self.bandwidth_ = self.selection_.bandwidth
        self.best_params_ = {"bandwidth": self.bandwidth_, **_settings(clone(selector).set_params(**params), params)}
        self.best_score_ = _score(self.selection_)
        self.surface_ = trial.surface()
        self.gain_ = trial.gain()
        return self


def _settings(selector: GeometricConsistency, searched: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the graph that were searched, or that are given."""
    spec = GraphSpec.of(selector)
    told = [name for name in GraphSpec.names() if name in searched or name in spec.given()]
    return {name: getattr(spec, name) for name in told}


def _settled(selector: GeometricConsistency, points: Points) -> GeometricConsistency:
    """The selector with as many directions and evaluation points as its own graph asks for, the same for all graphs."""
    if "auto" in (selector.working_dim, selector.n_sample):
        details = selector.select(points).details
        selector.set_params(working_dim=details["working_dim"])
        if selector.n_sample == "auto":
            selector.set_params(n_sample=max(_FEWEST_SAMPLE, len(details["sample"])))
    return selector


class _Trial:
    """Tries parameters on the same points and evaluation points, and remembers what came of them."""

    def __init__(self, points: Points, selector: GeometricConsistency, bandwidths: Any, seed: int) -> None:
        self.points, self.selector, self.bandwidths, self.seed = points, selector, bandwidths, seed
        self.tried: list[tuple[dict, Selection]] = []
        self._known: dict[int, Pairs | None] = {}

    @property
    def best(self) -> tuple[dict, Selection]:
        return min(self.tried, key=lambda trial: _score(trial[1]))

    def __call__(self, params: dict[str, Any]) -> None:
        if not any(_same(params, known) for known, _ in self.tried):
            self.tried.append((params, self._selection(params)))
            say(_log, "%s: least distortion %.4g", params, _score(self.tried[-1][1]))

    def explore(self, ranges: dict[str, Any]) -> None:
        """Try all first values together, then go on around the best, one parameter after the other."""
        for values in product(*(_first_values(name, spec) for name, spec in ranges.items())):
            self(dict(zip(ranges, values, strict=True)))
        for _ in range(_ROUNDS):
            for name, spec in ranges.items():
                if isinstance(spec, tuple):
                    for value in _around(self, name):
                        self({**self.best[0], name: value})

    def surface(self) -> list[dict[str, Any]]:
        """What was tried, and what came of it."""
        return [
            {**params, "bandwidth": s.bandwidth, "score": _score(s), "status": s.status.name.lower()}
            for params, s in self.tried
        ]

    def gain(self) -> Gain:
        """How much less the distortion of the best is than that of the selector's own parameters."""
        own = {name: self.selector.get_params()[name] for name in self.tried[0][0]}
        baseline = next((s for params, s in self.tried if _same(params, own)), None) or self._selection(own)
        difference, weights = _values(baseline) - _values(self.best[1]), baseline.details["weights"]
        gain = float(np.average(difference, weights=weights))
        return Gain(gain, gain / _score(baseline), standard_error(difference, weights))

    def _selection(self, params: dict[str, Any]) -> Selection:
        selector = clone(self.selector).set_params(**params)
        skeleton = self._skeleton(GraphSpec.of(selector).filled())
        if self.bandwidths is None:
            return selector.select(self.points, skeleton=skeleton)
        return _restricted(selector, self.points, skeleton, self.bandwidths)

    def _skeleton(self, spec: FullSpec) -> Skeleton:
        """The skeleton of a specification; the pairs of k nearest neighbors are found once."""
        if spec.n_neighbors is None:
            return skeleton_of(self.points, spec, random_state=self.seed)
        if spec.n_neighbors not in self._known:
            self._known[spec.n_neighbors] = skeleton_of(self.points, replace(spec, local_scale=None)).pairs
        scale = resolve_scale(self.points, spec, random_state=self.seed)
        return Skeleton(spec, self._known[spec.n_neighbors], scale)


def _restricted(
    selector: GeometricConsistency, points: Points, skeleton: Skeleton, bandwidths: np.ndarray | tuple[float, float]
) -> Selection:
    """The best of some bandwidths, or within a range of them."""
    sample = check_n_sample(selector.n_sample, len(points), selector.random_state)
    problem = selector.problem(points, skeleton, sample)
    ranged = isinstance(bandwidths, tuple)
    grid = np.unique(bandwidths)
    if ranged:
        low, high = bandwidths
        grid = np.geomspace(low, high, max(5, 1 + int(np.ceil(STEPS_PER_OCTAVE * np.log2(high / low)))))
    curve = Curve(grid, problem.curve(grid).per_point, problem.weights)
    if ranged:
        curve = refine(curve, lambda eps: problem.curve(eps).per_point)
    details = {
        "sample": sample,
        "n_points": points.total,
        "everyone": len(sample) == len(points),
        "per_point": curve.values,
        "weights": curve.weights,
    }
    found = least_of(curve, "gc" if selector.dual else "gc_inverse", rule=selector.rule, details=details)
    if ranged:
        return found
    best = float(curve.bandwidths[curve.mean.argmin()])
    return replace(found, bandwidth=best, status=found.status if len(grid) > 2 else Status.FLAT)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two sets of parameters are the same."""
    return all(same_setting(one[name], other[name]) for name in one)


def _values(selection: Selection) -> np.ndarray:
    """‖H_i − I‖ of the evaluation points at the chosen bandwidth."""
    at = int(np.argmin(np.abs(np.log(selection.bandwidths / selection.bandwidth))))
    return selection.details["per_point"][:, at]


def _score(selection: Selection) -> float:
    return float(np.average(_values(selection), weights=selection.details["weights"]))


def _checked(parameters: Any, selector: GeometricConsistency) -> dict[str, Any]:
    """Parameters as lists of values, or as ranges (low, high)."""
    if not isinstance(parameters, dict) or not parameters:
        raise ValueError(
            f"parameters must be a dict from names to values or ranges; {parameters!r} was given: pass for instance "
            "{'renormalization': (0, 1.5)}."
        )
    has = selector.get_params()
    known = ["bandwidth", *(n for n in GraphSpec.names() if n in has), *(n for n in has if n.startswith("neighbors__"))]
    specs: dict[str, Any] = {}
    for name, spec in parameters.items():
        if name not in known:
            raise ValueError(f"A parameter must affect the graph ({', '.join(known)}); {name!r} was given: leave it out.")
        if isinstance(spec, tuple):
            if (
                len(spec) != 2
                or not all(isinstance(v, Real) and np.isfinite(float(v)) for v in spec)
                or not spec[0] < spec[1]
            ):
                raise ValueError(
                    f"A range must be (low, high) with low < high; {name}={spec!r} was given: pass two numbers."
                )
            specs[name] = tuple(check_bandwidths(spec)) if name == "bandwidth" else spec
        elif isinstance(spec, Sequence | np.ndarray) and not isinstance(spec, str) and len(spec):
            specs[name] = check_bandwidths(spec) if name == "bandwidth" else list(spec)
        else:
            raise ValueError(
                f"A parameter needs a list of values or a range (low, high); {name}={spec!r} was given: pass [{spec!r}] to "
                "keep it fixed."
            )
    return specs


def _first_values(name: str, spec: Any) -> list[Any]:
    if not isinstance(spec, tuple):
        return spec
    if name.split("__")[-1] in _COUNTS:
        low, high = (check_number(name, end, Integral, low=1) for end in spec)
        return sorted({round(v) for v in np.geomspace(low, high, _FIRST_VALUES)})
    return [float(v) for v in np.linspace(spec[0], spec[1], _FIRST_VALUES)]


def _around(trial: _Trial, name: str) -> Iterator[float]:
    """The middles between the best value of a parameter and its neighbors among those tried with the best of the others."""
    best, _ = trial.best
    values = sorted({p[name] for p, _ in trial.tried if _same({n: v for n, v in best.items() if n != name}, p)})
    at = values.index(best[name])
    for other in values[max(at - 1, 0) : at] + values[at + 1 : at + 2]:
        if name.split("__")[-1] in _COUNTS:
            middle = round(np.sqrt(best[name] * other))
            if middle not in values:
                yield middle
        else:
            yield 0.5 * (best[name] + other)
