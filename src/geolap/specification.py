"""The graph specification: one value that says which graph is meant.

Selectors, `geolap.distortion`, estimators, health, forecasts, the joint search and the command line all make one from their
parameters, and from there it travels whole.  None means "not given": a selector that says nothing about the graph follows
the estimator that uses it, and what was not given at all has the default of `FullSpec`.
"""

from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from .choices import ENGINES
from .data.distances import Metric, checked_metric
from .laplacian import LocalScale
from .runtime.threads import thread_count
from .sentences import refusal
from .validation import check_choice, check_number

__all__ = ["EXECUTION", "FullSpec", "GraphSpec", "LocalScaleLike", "same_setting"]

LocalScaleLike = int | Literal["regional"] | LocalScale | None

# How sums are done, not which graph they are over: a selector may differ from its estimator in these.
EXECUTION = ("exact", "engine", "n_jobs")


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphSpec:
    """Which graph: parameters as estimators and `geolap.GeometricConsistency` have them, None for what was not given."""

    renormalization: float | None = None
    self_weights: bool | None = None
    cutoff: float | None = None
    n_neighbors: int | None = None
    neighbors: Any = None
    n_edges: int | str | None = None
    local_scale: LocalScaleLike = None
    metric: Metric | None = None
    exact: bool | None = None
    engine: str | None = None
    n_jobs: int | None = None

    @classmethod
    def of(cls, source: Any) -> Self:
        """What the parameters of an estimator or a selector say about the graph."""
        return cls(**{f.name: getattr(source, f.name, None) for f in fields(cls)})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The parameters that say which graph, without those of its execution."""
        return tuple(f.name for f in fields(cls) if f.name not in EXECUTION)

    def given(self) -> dict[str, Any]:
        """What was given, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}

    def within(self, outer: "FullSpec") -> "FullSpec":
        """This one of a selector, and what it does not say from that of the estimator that uses it.

        Raises
        ------
        ValueError
            If the two mean different graphs.
        """
        own = self.given()
        for name, value in own.items():
            if name not in EXECUTION and not same_setting(value, getattr(outer, name)):
                raise ValueError(
                    "The bandwidth is selected for the graph that the estimator builds; its selector was given "
                    f"{name}={value!r}: pass {name} to the estimator instead."
                )
        return replace(outer, **own)

    def filled(self) -> "FullSpec":
        """Checked, with the defaults for what was not given."""
        return self if isinstance(self, FullSpec) else FullSpec(**self.given())


@dataclass(frozen=True, kw_only=True, eq=False)
class FullSpec(GraphSpec):
    """A specification without gaps, checked."""

    renormalization: float = 1.0
    self_weights: bool = True
    n_edges: int | str = "auto"
    metric: Metric = "euclidean"
    exact: bool = False
    engine: str = "auto"

    def __post_init__(self) -> None:
        check_number("renormalization", self.renormalization, low=0, high=10)
        check_choice("self_weights", self.self_weights, (True, False))
        checked_metric(self.metric)
        check_choice("exact", self.exact, (True, False))
        check_choice("engine", self.engine, ENGINES)
        if self.cutoff is not None:
            check_number("cutoff", self.cutoff, low=0, open_low=True)
        check_number("n_neighbors", self.n_neighbors, Integral, low=1, also=(None,))
        if isinstance(self.n_edges, str):
            check_choice("n_edges", self.n_edges, ("auto", "all"))
        else:
            check_number("n_edges", self.n_edges, Integral, low=1)
            if self.n_neighbors is not None or self.neighbors is not None or self.metric == "precomputed":
                raise refusal(
                    "Thinning applies to graphs of all pairs within reach; {n_edges} = {n} was given with {n_neighbors}, "
                    "neighbors or metric='precomputed', which define the pairs: leave out one of them.",
                    n=self.n_edges,
                )
        thread_count(self.n_jobs)
        if self.exact and self.engine == "cells":
            raise ValueError("exact=True needs an engine that visits all pairs; 'cells' does not: use engine='auto'.")
        if self.n_neighbors is not None and self.neighbors is not None:
            raise refusal(
                "The pairs of the graph come either from {n_neighbors} or from neighbors; both {n_neighbors} = {k} and "
                "neighbors were given: leave out one of them.",
                k=self.n_neighbors,
            )


def same_setting(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are the same: numbers by value, matrices and scales by their content."""
    if one is other:
        return True
    if type(one) is not type(other) and not (np.isscalar(one) and np.isscalar(other)):
        return False
    if sparse.issparse(one):
        return one.shape == other.shape and (one != other).nnz == 0
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, LocalScale):
        return one.intrinsic_dim == other.intrinsic_dim and np.array_equal(one.rho, other.rho)
    if hasattr(one, "get_params"):
        a, b = one.get_params(), other.get_params()
        return a.keys() == b.keys() and all(same_setting(a[name], b[name]) for name in a)
    return bool(one == other)
