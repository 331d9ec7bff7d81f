"""Selection: what a way to choose ε answers with, and the words for how good the answer is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Self

import numpy as np

from .choices import BY_CONSISTENCY
from .neighborhoods import Neighborhoods
from .sentences import Remark, Sentence, python_name
from .shown import Carded, Paged, Plotted

__all__ = ["JUST_BEYOND", "TURNING", "Minimum", "Selection", "Status", "Told", "UnresolvedWarning", "Verdict"]

# A distortion, over √d', from which the metrics differ too much to be called consistent.  On the manifolds of
# benchmarks/limits.py, with a hundred points or more, it is up to 0.28, on their cube of a hundred points 0.31.
_DISTORTED = 0.285
# Effective neighbors of the sparsest tenth of the points below which parts of the data have a scale of their own.
_SPARSE = 3.0
# On a grid, bandwidths below so many steps see the grid rather than what was measured.
_FINE = 1.5
# A minimum beyond the bound on locality by no more than this factor is one at the bound.
JUST_BEYOND = 1.5
# A share of negative eigenvalues from which distances are far enough from Euclidean ones to be told.
_NEGATIVE = 0.01
# Details that a record keeps: what the verdict and the reasons are told by.
_RECORDED = ("working_dim", "any_directions", "n_points", "everyone", "limits", "negative_share")


class UnresolvedWarning(UserWarning):
    """An estimator needs more than its bandwidth gives: see `Selection.verdict`."""


class Told(Enum):
    """An enumeration that prints as its sentence."""

    def __str__(self) -> str:
        return self.value


class Verdict(Told):
    """What a selected bandwidth may be used for; the value is the `Sentence` to print."""

    RESOLVED = Sentence(
        "Resolved: neighborhoods hold enough points to carry tangent planes. Good for maps, lengths, eigenvalues and labels."
    )
    NEAREST_NEIGHBORS = Sentence(
        "The scale of nearest neighbors: good for kernels and labels, but maps, lengths, dimension and eigenvalues are not "
        "resolved. For a map, use nearest neighbors ({n_neighbors=10}) and a bandwidth that varies ({local_scale=7})."
    )
    NOT_FOUND = Sentence("Not found: nothing indicates that this bandwidth suits the data.")


# The verdict where neighborhoods are large enough, but the metrics differ.
_ROUGH = Sentence(
    "Resolved: neighborhoods hold enough points to carry tangent planes. Good for maps and labels; lengths and eigenvalues "
    "are rough."
)

# The verdict where nearest neighbors are joined already.
_JOINED = Sentence(
    "The scale of nearest neighbors, which the graph uses: good for maps, clusters, kernels and labels, but lengths, "
    "dimension and eigenvalues are not resolved."
)

# The verdict on so few points that there are not the neighbors to join.
_OF_FEW = Sentence(
    "The scale of nearest neighbors: good for kernels and labels, but maps, lengths, dimension and eigenvalues are not "
    "resolved. With so few points no graph shows more."
)
_FEW_POINTS = 20

# The verdict beyond the bound on locality, where only rules that do not search within it end.
_WHOLE = Sentence(
    "Not found: at this bandwidth neighborhoods contain more than a fifth of the points, which is the scale of the whole "
    "data set. Set a smaller bandwidth, or let geometric consistency (gc) choose."
)

# What a flat curve says where all points were evaluated: there are no more to ask.
_FLAT_FOR_ALL = Sentence(
    "The curve is flat: no bandwidth is better than its neighbors by more than the noise of the points, all of which were "
    "evaluated. The data has no scale, or too few points to show it."
)


class Status(Told):
    """How the search for a bandwidth ended; the value is the `Sentence` to print."""

    INTERIOR = Sentence("A clear minimum inside the searched range.")
    SEVERAL = Sentence(
        "Several minima are nearly equally good: the choice is close, and the data may have more than one scale. Look at "
        "all of them."
    )
    LOWER_ELSEWHERE = Sentence(
        "A clear minimum, but the curve is even lower at an end of the searched range, without a minimum there. Look at "
        "the curve; a larger {max_share} extends the search."
    )
    FLAT = Sentence(
        "The curve is flat: no bandwidth is better than its neighbors by more than the noise of the evaluation points. "
        "Raise {n_sample}, or doubt that the data has a scale."
    )
    LOWER_END = Sentence(
        "The curve falls toward the lower end of the range, where most points have no neighbors: no local scale was "
        "found. Look for duplicates or quantized features."
    )
    AT_BOUND = Sentence(
        "The minimum is at the bound on locality: the curve turns just beyond it, where neighborhoods are no longer small."
    )
    UPPER_END = Sentence(
        "The curve falls toward the upper end of the range: no minimum below the bound on locality. A larger {max_share} "
        "extends the search, but what it finds is rarely local."
    )
    FALLS_APART = Sentence(
        "The graph falls apart at this bandwidth: more than a tenth of the evaluation points have no neighbor. Use a larger "
        "minimum, remove outliers, or let the bandwidth vary from place to place."
    )
    NO_LIMIT = Sentence(
        "The singular values do not turn on one side, so the range of scales has no limit there; the end of the searched "
        "range is used instead. Try another {max_dim}."
    )
    RULE = Sentence("A rule of thumb: it minimizes nothing, so there is no measure of its quality.")


# Where the search ended at a minimum.
TURNING = (Status.INTERIOR, Status.SEVERAL, Status.LOWER_ELSEWHERE, Status.AT_BOUND)


@dataclass(frozen=True)
class Minimum:
    """One minimum of the curve.

    Attributes
    ----------
    bandwidth, score : float
    depth : float
        How far the curve rises on the way to a lower minimum (or to the end of the range, if there is none).
    noise : float
        Standard error of that depth over evaluation points; 0 if unknown.
    local : bool
        Whether neighborhoods are still local there: below the bound.
    share : float or None
        Share of all points in the median effective neighborhood there, if known.
    """

    bandwidth: float
    score: float
    depth: float
    noise: float = 0.0
    local: bool = True
    share: float | None = None

    @property
    def clear(self) -> bool:
        """Deeper than twice its noise, by more than rounding: of a few points, one that decides makes them equal."""
        return self.depth > (2.0 + 1e-9) * self.noise


@dataclass(frozen=True)
class Selection(Plotted, Paged, Carded):
    """A chosen bandwidth, with reasons; prints as `explain`.

    Attributes
    ----------
    bandwidth : float
        ε̂, in the unit of the data, for exp(−d²/ε²).
    bandwidths, scores : ndarray (m,)
        The curve that was minimized, ascending in ε, including the refined minima.  For GC⁻¹ it is infinite where an
        evaluation point has no neighbors.
    minima : tuple of Minimum
        Every minimum found, ascending in ε.  One beyond the bound is usually the scale of the whole data set.
    interval : (float, float) or None
        Where ε̂ falls in 95 % of resamplings of the evaluation points; see `interval_kind`.
    status : Status
        How the search ended; prints as a sentence.
    method : str
    bound : float or None
        The largest bandwidth at which neighborhoods count as local; for a rule that does not search for it, only if its
        choice is beyond it.
    neighborhoods : Neighborhoods or None
        How many neighbors points have at ε̂, and the dimension they show.
    remarks : tuple of Remark
        What is odd about the data.
    details : dict
        Further results of the method; if known, ``n_points`` is the number of points, and ``everyone`` whether all of them
        were evaluated.
    """

    bandwidth: float
    bandwidths: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)
    minima: tuple[Minimum, ...] = field(repr=False)
    interval: tuple[float, float] | None
    status: Status = field(repr=False)
    method: str
    bound: float | None = field(default=None, repr=False)
    neighborhoods: Neighborhoods | None = field(default=None, repr=False)
    remarks: tuple[Remark, ...] = field(default=(), repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def interval_kind(self) -> str:
        """What the interval is: over resampled evaluation points, or the range of scales that a rule found."""
        return "range of scales" if "limits" in self.details else "95 % interval"

    @property
    def verdict(self) -> Verdict:
        """What the bandwidth may be used for."""
        if not self.found or self.neighborhoods is None:
            return Verdict.NOT_FOUND
        if self.status is Status.FALLS_APART or not self.neighborhoods.resolved or self._sees_the_grid:
            return Verdict.NEAREST_NEIGHBORS
        return Verdict.RESOLVED

    @property
    def found(self) -> bool:
        """Whether the search ended at a minimum where neighborhoods are local."""
        return self.status in (*TURNING, Status.FALLS_APART) and not self.beyond_bound

    @property
    def beyond_bound(self) -> bool:
        """Whether neighborhoods hold too many of the points to be local."""
        return self.bound is not None and self.bandwidth > JUST_BEYOND * self.bound

    @property
    def _sees_the_grid(self) -> bool:
        """Whether data is discrete, and neighborhoods hold little more than the next places on its grid."""
        return any(remark.step is not None and self.bandwidth < _FINE * remark.step for remark in self.remarks)

    @property
    def verdict_text(self) -> Sentence:
        """The verdict in words; it promises lengths only where metrics agree, and advises neighbors only where they help."""
        if self.beyond_bound:
            return _WHOLE
        if self.trusted and self._distortion is not None:
            return _ROUGH
        return self.nearest_text if self.verdict is Verdict.NEAREST_NEIGHBORS else self.verdict.value

    @property
    def nearest_text(self) -> Sentence:
        """What a scale of nearest neighbors means for these points."""
        if self._joins_neighbors:
            return _JOINED
        return _OF_FEW if self.few else Verdict.NEAREST_NEIGHBORS.value

    @property
    def few(self) -> bool:
        """Whether there are so few points that no other graph shows more."""
        return bool(self.details.get("n_points", np.inf) <= _FEW_POINTS) and not self._joins_neighbors

    @property
    def _joins_neighbors(self) -> bool:
        return self.neighborhoods is not None and self.neighborhoods.most is not None

    @property
    def _distortion(self) -> float | None:
        """D at ε̂, where it is so high that the metrics differ."""
        if (compared := self.details.get("working_dim")) is None:
            return None
        score = float(np.interp(np.log(self.bandwidth), np.log(self.bandwidths), self.scores))
        return score if score > _DISTORTED * compared**0.5 else None

    @property
    def status_text(self) -> Sentence:
        """The status in words; it does not advise to evaluate more points where there are none."""
        nobody_left = self.status is Status.FLAT and self.details.get("everyone", False)
        return _FLAT_FOR_ALL if nobody_left else self.status.value

    @property
    def trusted(self) -> bool:
        """Whether the verdict is "resolved"."""
        return self.verdict is Verdict.RESOLVED

    @property
    def by_consistency(self) -> bool:
        """Whether it was chosen by geometric consistency."""
        return self.method in BY_CONSISTENCY

    @property
    def even(self) -> bool:
        """Whether one bandwidth suits all of the data: it is resolved, and so it is where points are sparse."""
        return self.trusted and self.neighborhoods is not None and self.neighborhoods.uneven[0] >= _SPARSE

    @property
    def reasons(self) -> tuple[Remark, ...]:
        """What speaks for and against the bandwidth, `remarks` on the data included."""
        return (*self._about_neighbors(), *self._about_distortion(), *self._about_distances(), *self.remarks)

    def _about_neighbors(self) -> Iterator[Remark]:
        if (near := self.neighborhoods) is None:
            return
        yield Remark("neighbors", near.explain_neighbors())
        yield Remark("dimension", near.explain_dimension())
        if near.uneven[0] < _SPARSE and near.resolved:
            text = Sentence(
                "A tenth of the points have fewer than {few:.1f} effective neighbors, where the median is {median:.0f}: "
                "parts of the data are sparse or far away. {local_scale=7} gives each part its own scale.",
                few=max(near.uneven[0], 1.1),
                median=near.effective,
            )
            yield Remark("uneven", text)

    def _about_distortion(self) -> Iterator[Remark]:
        compared = self.details.get("working_dim")
        if compared is None:
            return
        near, auto = self.neighborhoods, self.details.get("any_directions", False)
        if auto and compared > 1:
            why = "as many as the neighborhoods have at this bandwidth"
        elif auto:
            why = "the most stable choice" if near is None or near.vote != 1 else "as many as the neighborhoods have"
        else:
            why = "as given"
        what = "One tangent direction was" if compared == 1 else f"{compared} tangent directions were"
        text = Sentence("{what} compared, {why}.", what=what, why=why)
        yield Remark("directions", text)
        if (score := self._distortion) is not None:
            text = Sentence(
                "On average, the metric of the Laplacian still differs from that of the data by {score:.0%}.", score=score
            )
            yield Remark("distortion", text)

    def _about_distances(self) -> Iterator[Remark]:
        share = self.details.get("negative_share", 0.0)
        if share >= _NEGATIVE:
            text = Sentence(
                "These are not distances between points: {share:.0%} of the eigenvalues of their inner products, by size, "
                "are negative. Tangent planes use only the positive part.",
                share=share,
            )
            yield Remark("distances", text)

    def explain(self, named: Callable[[str, str | None], str] = python_name) -> str:
        """The answer in words, with parameters as ``named(parameter, value or None)`` writes them."""
        lines = [f"Bandwidth {self.bandwidth:.4g} (method {self.method})", self.verdict_text.named(named)]
        if self.interval is not None:
            low, high = self.interval
            over = "" if "limits" in self.details else ", over resampled evaluation points"
            lines.append(f"{self.interval_kind.capitalize()} {low:.4g} to {high:.4g}{over}")
        lines.append(self.status_text.named(named))
        lines += [reason.text.named(named) for reason in self.reasons]
        if self.minima:
            lines.append("Minima of the curve:")
        for minimum in self.minima:
            lines.append(f"  {minimum.bandwidth:10.4g}  score {minimum.score:.3f}  {self.meaning(minimum)}")
        if self.bound is not None:
            lines.append(f"Neighborhoods are local up to bandwidth {self.bound:.4g}.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.explain()

    def as_record(self) -> dict[str, Any]:
        """The selection as plain values: numbers, words, arrays, tuples, dictionaries, lists of these, and None.

        What single points said is left out.
        """
        near = None if self.neighborhoods is None else vars(self.neighborhoods).items()
        return {
            **{name: getattr(self, name) for name in ("bandwidth", "interval", "method", "bound", "bandwidths", "scores")},
            "status": self.status.name.lower(),
            "minima": [asdict(minimum) for minimum in self.minima],
            "neighborhoods": near and {name: told for name, told in near if not isinstance(told, np.ndarray)},
            "remarks": [
                vars(remark) | {"text": {"template": remark.text.template, "values": remark.text.values}}
                for remark in self.remarks
            ],
            "details": {name: self.details[name] for name in _RECORDED if name in self.details},
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The selection that `as_record` tells of, with the same verdict and reasons.  What is None may be missing."""
        near = record.get("neighborhoods")
        return cls(
            bandwidth=record["bandwidth"],
            bandwidths=np.array(record["bandwidths"], dtype=float),
            scores=np.array(record["scores"], dtype=float),
            minima=tuple(Minimum(**told) for told in record["minima"]),
            interval=record.get("interval"),
            status=Status[record["status"].upper()],
            method=record["method"],
            bound=record.get("bound"),
            neighborhoods=None if near is None else Neighborhoods(**near),
            remarks=tuple(
                Remark(**{**told, "text": Sentence(told["text"]["template"], **told["text"]["values"])})
                for told in record["remarks"]
            ),
            details=dict(record["details"]),
        )

    def meaning(self, minimum: Minimum) -> str:
        """What one of the minima is, in words."""
        if not minimum.local:
            held = "" if minimum.share is None else f", neighborhoods hold {minimum.share:.0%} of the points"
            chosen = "selected, but " if minimum.bandwidth == self.bandwidth else ""
            return f"{chosen}beyond the bound on locality{held}: the scale of the whole data set"
        if minimum.bandwidth == self.bandwidth:
            return "selected"
        return "another scale of the data" if minimum.clear else "within noise"
