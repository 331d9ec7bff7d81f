"""A full graph in single precision: strips of A = diag(d')^{−1/2} W' diag(d')^{−1/2} without the columns that vanish there.

A strip is a few rows.  With points in the order of a k-d tree these stand together, and columns beyond the reach of the
kernel hold less than single precision would notice.  What is left takes a fraction of the memory of W, and of the time of a
product with a few vectors.  P is diag(1/√d') A diag(√d').
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..runtime.threads import Scratch, in_order, thread_count
from .graph import KernelGraph

__all__ = ["Strips", "strips_of"]

# Rows of a strip.
_ROWS = 256
# Less than rounding beside the largest eigenvalue, 1; and numbers near the end of the range, which are slow.
_NEGLIGIBLE, _LEAST = 1e-9, 1e-30


@dataclass(frozen=True)
class Strips:
    """A matrix (n, n) in strips: which rows (m,), which columns (k,), and their entries (m, k)."""

    strips: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    @property
    def share(self) -> float:
        """The share of all entries that are not negligible."""
        n = sum(len(rows) for rows, _, _ in self.strips)
        return float(sum(np.count_nonzero(entries > _NEGLIGIBLE) for _, _, entries in self.strips)) / n**2

    @contextmanager
    def product(self, n_jobs: int | None) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
        """A function V → A V of (n, b) in single precision that works on as many threads; their number changes nothing."""
        with ThreadPoolExecutor(thread_count(n_jobs)) as pool:

            def times(V: np.ndarray) -> np.ndarray:
                V = np.ascontiguousarray(V, dtype=np.float32)
                result = np.empty_like(V)

                def of(strip: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
                    rows, columns, entries = strip
                    result[rows] = entries @ V[columns]

                for _ in pool.map(of, self.strips):
                    pass
                return result

            yield times


def strips_of(graph: KernelGraph, *, n_jobs: int | None = None) -> Strips:
    """Those of a full graph, in its order, or else that of its rows."""
    W, s, n = np.asarray(graph.weights), graph.symmetric_root, graph.n_points
    order = np.arange(n) if graph.order is None else graph.order
    scratch = Scratch()

    def of(start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = order[start : start + _ROWS]
        strip = W.take(rows, axis=0, mode="clip", out=scratch.array("strip", (len(rows), n), W.dtype))
        strip *= s
        strip *= s[rows, None]
        columns = np.flatnonzero(strip.max(axis=0) > _NEGLIGIBLE)
        kept = strip.take(columns, axis=1, mode="clip", out=scratch.array("kept", (len(rows), len(columns)), W.dtype))
        kept *= kept > _LEAST
        return rows, columns, kept.astype(np.float32)

    return Strips(list(in_order(of, range(0, n, _ROWS), n_jobs=n_jobs)))
