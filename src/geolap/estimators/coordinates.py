"""Which coordinates of a map, and how many: those that span the data, not harmonics of the first.

A strip that is eight times as long as it is wide has seven eigenvectors that only vary along it before the first one that
varies across.  A map of the first two is a curve.  After Chen & Meilă (2019), coordinates are independent where their
gradients are.  With H_i the dual metric of the map of all m candidates at point i,

.. math:: H_i = \\frac1k Σ_{j \\sim i} (y_j - y_i)(y_j - y_i)^T

over the k nearest neighbors in the graph, and U(i) (m, d) its d leading eigenvectors, which span the tangent plane, the rows
U_S(i) of s candidates S keep the volume √det(U_Sᵀ U_S) of it.  Chosen are those that keep most, the first always among them:

.. math:: \\max_S\\ \\mathrm{mean}_i\\, \\tfrac12 \\log\\det U_S^T U_S - \\frac{ζ}{λ_m} Σ_{k ∈ S} λ_k

Differs from Chen & Meilă in three ways.  H is taken over nearest neighbors, where the candidates do not yet bend, as they do
within the reach of ε̂.  Candidates are divided by λ_k, so that smooth ones decide what the tangent plane is.  And the lengths
‖u_k,S‖ are not divided out (``normalized=True`` does that), so that a coordinate is worth less where it turns.  λ_k is
measured as the roughness of the candidate over the graph, so that any map may be given.  Of d coordinates whose scores
hardly differ, the smoothest are taken.

How many: d coordinates may still fold the data, as the first one of a circle does.  They suffice when all other candidates
are functions of them, that is, when neighbors on the map of S have the same values of every candidate.  (Dsilva et al. 2018
ask the same of each candidate and those before it.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..data.points import real_numbers
from ..graphs.graph import KernelGraph
from ..graphs.spectrum import graph_components
from ..laplacian import Matrix, neighbors_in, rows_of
from ..local_pca import vote
from ..selection import Selection
from ..sentences import Sentence
from ..shown import Plotted
from ..validation import check_number, check_random_state

__all__ = [
    "MOST_CONTRASTS",
    "Choice",
    "CoordinateSet",
    "IndependentCoordinates",
    "independent_coordinates",
    "known_dimension",
]

# Neighbors that carry a tangent plane and predict a value, and points at which that is done, at most.
_NEIGHBORS, _EVALUATED = 10, 500
# Sets of coordinates that are all compared; where there are more, each coordinate is added to the best set before it.
_SETS, _SETS_AT_ONCE = 1000, 50
# Of so many of the best sets of one size, if their scores differ by less than this, the first that tells all candidates is
# taken.
_TRIED, _NEARLY = 5, 0.2
# Scores of d coordinates that differ by less than this are equal, and the smoothest are taken.  More than d are taken to
# unfold the data, for which harmonics of the first are too smooth.
_EQUAL = 0.1
# Directions in which the map extends by less than this share of the largest are candidates that bend.
_BENDING = 0.05
# A candidate is told if neighbors on the map miss at most this share of its variance, and so many times what neighbors in
# the graph miss, which are as near as the points allow.
_MISSING, _TIMES = 0.1, 3.0
# A candidate of which even neighbors in the graph miss more than this share is noise, or tells single points apart.
_SMOOTH = 0.25
# Coordinates that are kept to tell components apart, at most.
MOST_CONTRASTS = 5
# Where fewer points than this share agree on a dimension, this one is assumed, and so many coordinates are taken at most.
_AGREE, _ASSUMED, _MOST = 0.5, 2, 10
# Volumes below this are rounding.
_LEAST_VOLUME = 1e-12


@dataclass(frozen=True)
class CoordinateSet:
    """The best coordinates of one number.

    Attributes
    ----------
    coordinates : tuple of int
        Columns of the candidates, ascending, counted from 0.
    score : float
        The criterion; scores are comparable only for sets of the same size.
    runner_up : tuple of int
        The next best set; empty if there is none.
    lead : float
        How much lower its score is; ∞ if there is none.
    told : ndarray (m,)
        Share of the variance of each candidate explained by neighbors on the map of these coordinates; NaN for candidates
        that were left out.
    untold : tuple of int
        The candidates that are not explained well enough, the worst first.
    """

    coordinates: tuple[int, ...]
    score: float
    runner_up: tuple[int, ...]
    lead: float
    told: np.ndarray = field(repr=False)
    untold: tuple[int, ...]


@dataclass(frozen=True)
class IndependentCoordinates(Plotted):
    """Coordinates that span the data, with reasons; prints as `explain`.

    Attributes
    ----------
    chosen : ndarray of int (s,)
        Columns of the candidates, ascending, counted from 0.
    intrinsic_dim : int
        d
    roughness : ndarray (m,)
        Mean square of the difference to a neighbor in the graph, over the variance: proportional to the eigenvalue; NaN for
        candidates that were left out.
    steps : tuple of CoordinateSet
        The best set of d coordinates, and of more as long as these were not enough.
    first_told : ndarray (m,)
        Share of the variance of each candidate that the first s coordinates would explain; NaN for candidates that were left
        out.
    reasons : tuple of Sentence
        In words; coordinates are counted from 1 there.
    """

    chosen: np.ndarray
    intrinsic_dim: int
    roughness: np.ndarray = field(repr=False)
    steps: tuple[CoordinateSet, ...] = field(repr=False)
    first_told: np.ndarray = field(repr=False)
    reasons: tuple[Sentence, ...] = field(repr=False)

    def explain(self) -> str:
        """The reasons, one a line."""
        return "\n".join(self.reasons)

    def __str__(self) -> str:
        return self.explain()


def independent_coordinates(
    embedding: Any,
    graph: KernelGraph | None = None,
    *,
    intrinsic_dim: int | None = None,
    n_coordinates: int | None = None,
    penalty: float = 0.1,
    normalized: bool = False,
    random_state: Any = 0,
) -> IndependentCoordinates:
    """Choose the coordinates of a map that span the data (after Chen & Meilă 2019, arXiv:1907.01651).

    Parameters
    ----------
    embedding : array-like (n_points, m) or fitted LaplacianEigenmap or DiffusionMap
        Candidates, the smoothest first; twenty are usual.
    graph : KernelGraph, optional
        The graph over the points, ``graph_`` of an estimator; that of the fitted map by default.
    intrinsic_dim : int, optional
        d.  By default the dimension of neighborhoods at ε̂, if a fitted map was given and it can be determined; otherwise
        the points vote on the number of directions in which the map of all candidates extends; 2 if they do not agree.
    n_coordinates : int, optional
        How many to choose.  By default d, or more if needed to explain all candidates, at most 2 d + 1, or 10 if d is
        unknown.
    penalty : float, default 0.1
        ζ, what a coordinate as rough as the roughest candidate costs.
    normalized : bool, default False
        Divide out the lengths ‖u_k,S‖, as Chen & Meilă do: only angles between the gradients count then.
    random_state : int, RandomState or None, default 0
        For the choice of 500 evaluation points.

    Returns
    -------
    IndependentCoordinates

    Notes
    -----
    In a graph with several components, coordinates that only separate these are all kept, and the others are chosen for the
    largest component.

    Examples
    --------
    >>> import numpy as np
    >>> import geolap
    >>> strip = np.random.default_rng(0).uniform(size=(800, 2)) * [3.4, 1]
    >>> eigenmap = geolap.LaplacianEigenmap(n_components=15, bandwidth=0.2).fit(strip)
    >>> found = geolap.independent_coordinates(eigenmap)
    >>> found.chosen.tolist()  # the next two are harmonics of the first
    [0, 3]
    """
    Y, graph, components, told = _given(embedding, graph)
    for name, number in (("intrinsic_dim", intrinsic_dim), ("n_coordinates", n_coordinates)):
        if number is not None:
            check_number(name, number, Integral, low=1, high=Y.shape[1])
    check_number("penalty", penalty, low=0)
    choice = Choice(Y, graph, components, random_state=random_state)
    return choice.made(intrinsic_dim, told=told, n_coordinates=n_coordinates, penalty=penalty, normalized=normalized)


def known_dimension(selection: Selection | None) -> int | None:
    """The dimension of neighborhoods at the selected bandwidth, if one was selected and it can be determined."""
    return None if selection is None or selection.neighborhoods is None else selection.neighborhoods.dimension


def _given(embedding: Any, graph: Any) -> tuple[np.ndarray, KernelGraph, np.ndarray, int | None]:
    """Candidates, graph, components and the dimension that is known, of an embedding and a graph or of a fitted map."""
    if hasattr(embedding, "embedding_"):
        rows = slice(None) if embedding.landmarks_ is None else embedding.landmarks_
        Y = np.asarray(embedding.embedding_[rows], dtype=float)
        return Y, embedding.graph_, embedding.component_labels_, known_dimension(embedding.selection_)
    Y = real_numbers(embedding)
    if not isinstance(graph, KernelGraph) or Y.ndim != 2 or len(Y) != graph.n_points or not np.isfinite(Y).all():
        n = graph.n_points if isinstance(graph, KernelGraph) else "n_points"
        raise ValueError(
            f"Candidates must be a finite array ({n}, m) with the graph of the same points; shape {Y.shape} and a "
            f"{type(graph).__name__} were given: pass a fitted map, or its embedding_ and graph_."
        )
    return Y, graph, graph_components(graph), None


class Choice:
    """What does not depend on how many coordinates are chosen: candidates, neighbors and the metric of one component."""

    def __init__(
        self, Y: np.ndarray, graph: KernelGraph, components: np.ndarray, part: int = 0, *, random_state: Any = 0
    ) -> None:
        inside = np.flatnonzero(components == part)
        Y = Y - Y.mean(axis=0)
        self.m = Y.shape[1]
        constants = np.stack([np.bincount(components, weights=y) for y in Y.T], axis=1) / np.bincount(components)[:, None]
        within = np.sqrt(np.mean((Y - constants[components]) ** 2, axis=0))
        extent = np.abs(Y).max(axis=0)
        contrasts = (within <= 1e-8 * extent) & (extent > 0)
        self.contrasts = np.flatnonzero(contrasts)[:MOST_CONTRASTS]
        spread = Y[inside].std(axis=0)
        self.columns = np.flatnonzero((spread > 1e-8 * extent) & ~contrasts)
        self.values = (Y[inside] - Y[inside].mean(axis=0))[:, self.columns] / spread[self.columns]
        n = len(inside)
        self.rows = np.sort(check_random_state(random_state).permutation(n)[:_EVALUATED])
        position = np.zeros(len(Y), dtype=int)
        position[inside] = np.arange(n)
        k = max(min(_NEIGHBORS, n - 1), 1)
        self.near = position[_nearest(graph.weights, inside[self.rows], k, components)]
        self.missed = self._missing(self.values[self.near].mean(axis=1))
        smooth = self.missed <= _SMOOTH
        smooth[:1] = True
        self.columns, self.values, self.missed = self.columns[smooth], self.values[:, smooth], self.missed[smooth]
        self.n_rough = int((~smooth).sum())
        steps = self.values[self.near] - self.values[self.rows][:, None, :]
        self.H = np.swapaxes(steps, 1, 2) @ steps / k
        self.roughness = np.maximum(np.einsum("nkk->k", self.H) / len(self.rows), _LEAST_VOLUME)

    def dimension(self) -> tuple[int, float]:
        """The number of directions in which the map extends, and the share of the points that vote for it."""
        root = np.sqrt(self.roughness)
        h = np.linalg.eigvalsh(self.H / (root[:, None] * root))[:, ::-1]
        extents = np.sqrt(np.maximum(h, 0.0))
        if extents.shape[1] < 2:
            return extents.shape[1], 1.0
        extents = np.maximum(extents, _BENDING * extents[:, :1])
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = np.nan_to_num(-np.diff(np.log(extents), axis=1, append=np.log(_BENDING * extents[:, :1])))
        per_point = np.where(extents[:, 0] > 0, gaps.argmax(axis=1) + 1, 0)
        d = max(vote(per_point), 1)
        return d, float((per_point == d).mean())

    def made(
        self,
        intrinsic_dim: int | None = None,
        *,
        told: int | None = None,
        n_coordinates: int | None = None,
        penalty: float = 0.1,
        normalized: bool = False,
    ) -> IndependentCoordinates:
        """The choice; ``told`` is the dimension that is known from elsewhere, if any."""
        seen, share = self.dimension()
        m = len(self.columns)
        d = intrinsic_dim or told or (seen if share > _AGREE else _ASSUMED)
        d = max(min(d, m, self.near.shape[1]), 1)  # neighbors span no more directions than there are of them
        reasons = [_about_dimension(self.m, d, intrinsic_dim, told, share)]
        known = intrinsic_dim is not None or told is not None
        most = min(m, 2 * d + 1 if known or share > _AGREE else _MOST)
        sizes = range(d if known else 1, most + 1)  # a vote is no reason for more than it takes
        if n_coordinates is not None:
            wanted = min(max(n_coordinates - len(self.contrasts), 1), m)
            sizes = range(wanted, wanted + 1)
        steps: list[CoordinateSet] = []
        # U (n, m, d) of the candidates over their eigenvalues.
        scaled = self.H / (self.roughness[:, None] * self.roughness)
        U = np.linalg.eigh(scaled)[1][:, :, : -d - 1 : -1] if m else np.empty((0, 0, 0))
        for s in sizes if m else ():
            before = np.searchsorted(self.columns, steps[-1].coordinates).tolist() if steps else []
            steps.append(self._best(U, s, before, penalty=penalty, normalized=normalized))
            if not steps[-1].untold:
                break
        best = min(steps, key=lambda step: (len(step.untold), len(step.coordinates))) if steps else None
        chosen = np.sort([*self.contrasts, *(best.coordinates if best else ())]).astype(int)
        if self.n_rough:
            text = "{n} candidates were left out: their values differ even between neighbors in the graph."
            reasons.append(Sentence(text, n=self.n_rough))
        if len(self.contrasts):
            text = "{which} kept to separate components of the graph; the others are chosen for the largest component."
            reasons.append(Sentence(text, which=_numbered(self.contrasts)))
        reasons += _about_steps(steps, best, fixed=n_coordinates is not None)
        first = self._told(np.arange(len(best.coordinates))) if best else np.empty(0)
        untold = self._untold(first)
        if best and len(untold) and not set(self.columns[: len(best.coordinates)]) <= set(best.coordinates):
            reasons.append(_about_first(len(best.coordinates), self._named(untold), self._of_all(first)))
        return IndependentCoordinates(
            chosen=chosen,
            intrinsic_dim=d,
            roughness=self._of_all(self.roughness),
            steps=tuple(steps),
            first_told=self._of_all(first),
            reasons=tuple(reasons),
        )

    def _best(self, U: np.ndarray, s: int, before: Sequence[int], *, penalty: float, normalized: bool) -> CoordinateSet:
        """The best s coordinates: of all sets, or of those with one more than the best before."""
        m = U.shape[1]
        if comb(m - 1, s - 1) <= _SETS:
            sets = np.array([(0, *others) for others in combinations(range(1, m), s - 1)])
        else:
            grown = tuple(before) or (0,)
            while len(grown) < s - 1:
                more = _grown(grown, m)
                grown = tuple(more[self._scores(U, more, penalty, normalized).argmax()])
            sets = _grown(grown, m)
        scores = self._scores(U, sets, penalty, normalized)
        rough = self.roughness[sets].sum(axis=1)
        equal = scores >= scores.max() - (_EQUAL if s == U.shape[2] else 0.0)
        order = np.lexsort((np.where(equal, rough, -scores), ~equal))
        tried: list[tuple[int, np.ndarray]] = []
        good = [k for k in order if scores[k] >= scores.max() - _NEARLY]
        for k in good[:_TRIED]:  # one that tells all, rather than one more coordinate
            tried.append((k, self._told(sets[k])))
            if not len(self._untold(tried[-1][1])):
                break
        else:
            tried = tried[:1]
        best, told = tried[-1]
        others = [k for k in order[:2] if k != best]
        return CoordinateSet(
            coordinates=self._named(np.sort(sets[best])),
            score=float(scores[best]),
            runner_up=self._named(np.sort(sets[others[0]])) if others else (),
            lead=float(scores[best] - scores[others[0]]) if others else np.inf,
            told=self._of_all(told),
            untold=self._named(self._untold(told)),
        )

    def _scores(self, U: np.ndarray, sets: np.ndarray, penalty: float, normalized: bool) -> np.ndarray:
        pieces = np.array_split(sets, -(-len(sets) // _SETS_AT_ONCE))
        volumes = [_log_volume(U[:, some], normalized).mean(axis=0) for some in pieces]
        return np.concatenate(volumes) - penalty * (self.roughness / self.roughness.max())[sets].sum(axis=1)

    def _told(self, chosen: np.ndarray) -> np.ndarray:
        """Share of the variance of each candidate that neighbors on the map of the chosen ones tell."""
        places = self.values[:, chosen] / np.sqrt(self.roughness[chosen])
        k = self.near.shape[1]
        finder = NearestNeighbors(n_neighbors=min(k + 1, len(places))).fit(places)
        found = finder.kneighbors(places[self.rows], return_distance=False)
        own = found == self.rows[:, None]
        own[~own.any(axis=1), -1] = True  # one of many duplicates
        others = found[~own].reshape(len(found), -1)
        return 1.0 - self._missing(self.values[others].mean(axis=1))

    def _untold(self, told: np.ndarray) -> np.ndarray:
        """The candidates of which too little is told, the least told first."""
        excess = (1.0 - told) / (_MISSING + _TIMES * self.missed)
        return np.argsort(-excess, kind="stable")[: int((excess > 1.0).sum())]

    def _missing(self, predicted: np.ndarray) -> np.ndarray:
        true = self.values[self.rows]
        return np.mean((true - predicted) ** 2, axis=0) / np.maximum(true.var(axis=0), _LEAST_VOLUME)

    def _of_all(self, values: np.ndarray) -> np.ndarray:
        """Values of the candidates that were not left out, among all."""
        of_all = np.full(self.m, np.nan)
        of_all[self.columns] = values
        return of_all

    def _named(self, positions: np.ndarray) -> tuple[int, ...]:
        return tuple(self.columns[positions].tolist())


def _nearest(W: Matrix, rows: np.ndarray, k: int, components: np.ndarray) -> np.ndarray:
    """The k nearest neighbors (n, k) of some points in the graph; the point itself stands for those that it lacks."""
    near, some = np.repeat(rows[:, None], k, axis=1), rows_of(W, rows)
    for row, (own, i) in enumerate(zip(near, rows, strict=True)):
        joined, weights = neighbors_in(some, row, i)
        inside = components[joined] == components[i]
        joined, weights = joined[inside], weights[inside]
        joined = joined[np.argpartition(-weights, k)[:k]] if len(joined) > k else joined
        own[: len(joined)] = joined
    return near


def _log_volume(A: np.ndarray, normalized: bool) -> np.ndarray:
    """½ log det AᵀA (n, q) of U_S (n, q, s, d), or of AAᵀ where s < d; normalized, over the lengths of the columns."""
    if A.shape[2] < A.shape[3]:
        A = np.swapaxes(A, 2, 3)
    gram = np.swapaxes(A, 2, 3) @ A
    lengths = np.maximum(np.einsum("nqkk->nqk", gram), _LEAST_VOLUME)
    scale = np.sqrt(lengths)
    angles = np.linalg.det(gram / (scale[..., :, None] * scale[..., None, :]))
    volume = 0.5 * np.log(np.maximum(angles, _LEAST_VOLUME))
    return volume if normalized else volume + np.log(scale).sum(axis=-1)


def _grown(grown: Sequence[int], m: int) -> np.ndarray:
    return np.array([(*grown, k) for k in range(m) if k not in grown])


def _about_dimension(m: int, d: int, given: int | None, told: int | None, share: float) -> Sentence:
    if given is not None:
        why = "as given"
    elif told is not None:
        why = "from neighborhoods at the bandwidth"
    elif share > _AGREE:
        why = f"the directions in which the map of all candidates extends for {share:.0%} of the points"
    else:
        why = f"assumed, because no more than {share:.0%} of the points agree on the directions in which the map extends"
    return Sentence(
        "{m} candidate coordinates for data of {d} {dimensions}, {why}.",
        m=m,
        d=d,
        dimensions="dimension" if d == 1 else "dimensions",
        why=why,
    )


def _about_steps(steps: Sequence[CoordinateSet], best: CoordinateSet | None, *, fixed: bool) -> Iterator[Sentence]:
    if best is None:
        yield Sentence("No candidate varies within the largest component: nothing was chosen.")
        return
    for step in steps:
        if step is not best and step.untold:
            yield Sentence("{which} not enough: {untold}.", which=_numbered(step.coordinates), untold=_about_untold(step))
    which, others = _numbered(best.coordinates), [str(k + 1) for k in best.runner_up]
    if not best.untold:
        text = "{which} chosen: neighbors on {their} map have the same values of all candidates."
        yield Sentence(text, which=which, their="their" if len(best.coordinates) > 1 else "its")
    elif fixed:
        yield Sentence("{which} the best of their number, but {untold}.", which=which, untold=_about_untold(best))
    else:
        text = "{which} chosen, though {untold}: no set of up to {most} does better."
        most = max(len(step.coordinates) for step in steps)
        yield Sentence(text, which=which, untold=_about_untold(best), most=most)
    if others and best.lead > _EQUAL:
        yield Sentence(
            "They preserve {factor:.2g} times as much of the tangent planes as the next best, {others}.",
            factor=np.exp(min(best.lead, 20.0)),
            others=", ".join(others),
        )
    elif others:
        yield Sentence("The next best, {others}, would do nearly as well.", others=", ".join(others))


def _about_first(s: int, untold: tuple[int, ...], told: np.ndarray) -> Sentence:
    return Sentence("The first {s} are not enough: they explain {share}.", s=s, share=_share_of_least(untold, told))


def _about_untold(step: CoordinateSet) -> str:
    they_explain = "they explain" if len(step.coordinates) > 1 else "it explains"
    return f"{they_explain} only {_share_of_least(step.untold, step.told)}"


def _share_of_least(untold: tuple[int, ...], told: np.ndarray) -> str:
    """How much is told of the candidate of which least is, and of how many others too little."""
    least, *others = untold
    more = f", and too little of {len(others)} other{'s' * (len(others) > 1)}" if others else ""
    return f"{max(told[least], 0.0):.0%} of coordinate {least + 1}{more}"


def _numbered(columns: Sequence[int] | np.ndarray) -> str:
    """Coordinates in words, counted from 1, with the verb."""
    words = [str(k + 1) for k in columns]
    if len(words) == 1:
        return f"Coordinate {words[0]} is"
    return f"Coordinates {', '.join(words[:-1])} and {words[-1]} are"
