"""What neighborhoods are like at a scale: how many neighbors they hold, and what dimension these can tell.

At the bandwidth ε a point has (Σ W)² / Σ W² effective neighbors.  Its tangent plane is spanned with squared weights
(`geolap.tangent`), by (Σ W²)² / Σ W⁴ of them, which is many fewer in many dimensions: half as many on a surface, one in
thirty in ten dimensions.  A plane of d dimensions that fewer than 1.5 d neighbors span is not resolved.

Three answers to the dimension are compared: the vote for the largest gap of the local singular values
(`geolap.local_pca`), the growth of neighborhoods with ε, and the likelihood of the distances to nearest neighbors.
`geolap.local_dimension` computes them.
"""

from dataclasses import dataclass, field

import numpy as np

from .sentences import Sentence

__all__ = ["Neighborhoods"]

# Fewer effective neighbors than this are a scale of nearest neighbors: no tangent plane is resolved.
_FEWEST_NEIGHBORS = 10.0
# A tangent plane is carried by this many times as many neighbors as it has dimensions.
_CARRIED = 1.5
# A vote beyond what growth explains by this factor counts curvature as a dimension; estimates that differ by more than the
# second disagree.
_EXPLAINED, _AGREE = 1.2, 1.3
# On a manifold alone, estimates of its dimension by distances are not above it by more than this.
_ABOVE = 0.1


@dataclass(frozen=True)
class Neighborhoods:
    """Neighborhoods of the evaluation points at one bandwidth; numbers are medians.

    Attributes
    ----------
    bandwidth : float
    effective : float
        Effective neighbors, including the point itself.
    spanning : float
        Neighbors that span the tangent plane: effective ones by squared weights.
    uneven : (float, float)
        Effective neighbors of the sparsest and the densest tenth of the points.
    growth : float
        d if the weight of the neighbors grows like ε^d between ε/√2 and ε.
    likelihood : float
        Maximum-likelihood dimension from distances to nearest neighbors, as many as a neighborhood has.
    vote : int
        The dimension most points vote for by the gaps of their singular values; 0 if there are too few neighbors for a vote.
    share : float
        Share of the points that vote for it.
    most : int or None
        Number of neighbors that each point is joined with, if not all.
    per_point : ndarray (n,)
        Each point's vote; 0 for a point without neighbors.
    singular_values : ndarray (n, q)
    """

    bandwidth: float
    effective: float
    spanning: float
    uneven: tuple[float, float]
    growth: float
    likelihood: float
    vote: int = 0
    share: float = 0.0
    most: int | None = None
    per_point: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(0, dtype=int))
    singular_values: np.ndarray = field(repr=False, default_factory=lambda: np.zeros((0, 0)))

    @property
    def resolved(self) -> bool:
        """Whether neighborhoods hold enough points to carry a tangent plane."""
        enough = _FEWEST_NEIGHBORS if self.most is None else min(_FEWEST_NEIGHBORS, self.most / 2)
        return self.effective >= enough and self.spanning >= _CARRIED * max(self.growth, self.likelihood)

    @property
    def directions(self) -> int | None:
        """Directions that stand out for most points; None where that cannot be told.

        Where more stand out than growth explains, as on curved manifolds of few points, growth tells them if the likelihood
        confirms it; unless both are above it, which is what a manifold that comes near itself does.
        """
        if not self.resolved or self._voted:
            return self._voted
        told, most = round(self.growth), max(self.growth, self.likelihood)
        return told if told == round(self.likelihood) and max(1, most - _ABOVE) <= told <= self.vote else None

    @property
    def _voted(self) -> int | None:
        """What most points vote for.  Noise adds to growth and not to directions; so these may be fewer, but not more."""
        if not self.resolved or self.share <= 0.5 or self.vote > _EXPLAINED * max(self.growth, 1.0):
            return None
        return self.vote

    @property
    def dimension(self) -> int | None:
        """The dimension, where all three estimates agree; None if it cannot be determined."""
        directions = self._voted
        if directions is None:
            return None
        agree = all(
            directions / _AGREE - 0.25 <= other <= directions * _AGREE + 0.25 for other in (self.growth, self.likelihood)
        )
        return directions if agree else None

    def explain_neighbors(self) -> Sentence:
        """How many neighbors there are, in words; a point counts among its own."""
        numbers = self._numbers()
        if numbers["effective"] == "1":
            return Sentence("A typical point has no effective neighbor except itself, so nothing spans its tangent plane.")
        span = "spans" if numbers["spanning"] == "1" else "span"
        return Sentence(
            "A typical point has {effective} effective neighbors, of which {spanning} {span} the tangent plane.",
            span=span,
            **numbers,
        )

    def explain_dimension(self) -> Sentence:
        """The dimension in words, and why."""
        if not self.resolved:
            beginning = "With so few neighbors the dimension cannot be determined: the"
        elif self.dimension is None:
            beginning = "Estimates of the dimension disagree: {share} of the points vote for {vote}, the"
        else:
            beginning = "Dimension {vote}: {share} of the points vote for it, the"
        template = beginning + " weight of the neighbors grows like ε^{growth}, and their distances suggest {likelihood}."
        return Sentence(template, **self._numbers())

    def _numbers(self) -> dict[str, object]:
        return {
            "effective": f"{self.effective:.2g}" if self.effective < 100 else f"{self.effective:.0f}",
            "spanning": f"{self.spanning:.2g}" if self.spanning < 100 else f"{self.spanning:.0f}",
            "growth": f"{self.growth:.1f}",
            "likelihood": f"{self.likelihood:.1f}",
            "vote": self.vote,
            "share": f"{self.share:.0%}",
        }
