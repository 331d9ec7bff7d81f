"""The smooth end of the spectrum: the smallest eigenvalues of −L and their eigenvectors.

With M = diag(ρ)^{−1} (I − A) diag(ρ)^{−1}, where A is the symmetric relative of P and ρ the local scales (1 unless they
vary), M u = μ u gives

.. math:: -L φ = λ φ, \\qquad λ = \\frac{4}{ε^2} μ, \\qquad φ = \\frac{u}{ρ \\sqrt{d'}}

Solved are the largest eigenvalues of c I − M, c = max ρ^{−2}, which is A itself for constant scales.  A graph in several
components is solved component by component: as one, it would have as many equal eigenvalues, which no iteration can tell
apart.

Small graphs are solved directly, and full ones by block Lanczos: a product with 12 vectors costs little more than twice as
much as one with one, and half of it in single precision, from which the eigenvectors are refined.  Sparse graphs of data in
few dimensions have factors with few entries, and are solved by inverse iteration if those of two small parts say so; large
ones by LOBPCG with coarse levels (`geolap.graphs.multigrid`); others by Lanczos.  Graphs of some thousand points, whose
parts are so weakly connected that no iteration converges, are solved directly as well.  BLAS works on one thread: several
wait for one another wherever the machine has other work.  Residuals are checked, and signs are fixed: the entry of largest
magnitude is positive.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError
from scipy.sparse.csgraph import breadth_first_order, connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from ..laplacian import Matrix, scaled, shifted, submatrix
from ..runtime.caching import cached_property
from ..runtime.progress import say
from ..runtime.threads import checkpoint, heard, one_blas_thread, thread_count
from ..sentences import Sentence
from ..validation import check_choice
from .graph import KernelGraph, order_of
from .lapack import largest_of_full
from .multigrid import has_multigrid, levels_by_cells, levels_by_multigrid, smallest_by_lobpcg
from .strips import Strips, strips_of

__all__ = [
    "SOLVERS",
    "Spectrum",
    "components_by",
    "graph_components",
    "largest_eigenpairs",
    "product",
    "smooth_spectrum",
    "with_signs",
]

_log = logging.getLogger(__name__)

SOLVERS = ("auto", "dense", "lanczos", "lobpcg")

# Transition probabilities below this are lost in the rounding of the others.
_NO_EDGE = 1e-14
# Up to this many points, and so many more for each wanted pair, a full matrix is diagonalized directly; a sparse one up to
# the third.
_DIRECT, _DIRECT_PER_PAIR, _DIRECT_SPARSE = 1500, 6, 300
# Residuals relative to the largest eigenvalue: what the solvers aim at, and what is accepted.
_WANTED, _ACCEPTED = 1e-9, 1e-6
# What LOBPCG aims at, what is accepted where it gets no further, and the vectors of how many points, and how many of them,
# it finds sooner than Lanczos, and how many where cells are its coarse level.
_WANTED_OF_LOBPCG, _ACCEPTED_OF_LOBPCG, _POINTS_FOR_LOBPCG, _PAIRS_FOR_LOBPCG = 1e-8, 1e-7, 50_000, 15
_PAIRS_FOR_CELLS = 10
# Entries of a vector that differ by no more than this share are as large: symmetries make such; rounding must not decide.
_AS_LARGE = 1e-6
# Columns that are renumbered at once.
_RENUMBERED = 2**22
# Vectors that Lanczos holds, at least; and restarts, the fewer where a matrix is small enough to be factorized instead.
_BASIS = 60
_RESTARTS, _FEW_RESTARTS = 3000, 30
_FACTORIZED = 10_000
# A factorization is quick if the square of its entries over the number of points, about its operations, is not above this;
# parts of a quarter of the points within these limits, and of half as many, tell.
_MOST_FILL_WORK, _PILOT = 4e9, (1000, 4000)
# Vectors of a block, at least and at most, and blocks that hold as many vectors as are wanted; blocks at most, those before
# convergence is first looked for, beyond the vectors that are wanted, and how many times as many there is room for at first.
_BLOCK, _BLOCKS_OF_WANTED = (12, 48), 8
_MOST_BLOCKS, _FIRST_LOOK, _ROOM, _MOST_AHEAD = 120, 4, 5, 4
# So many eigenpairs of a sparse matrix, or more, are found by inverse iteration in blocks of so many vectors.
_MANY_PAIRS, _BLOCK_OF_MANY = 80, 8
# What is added to the largest eigenvalue before the inverse, relative to it; more where many are wanted, so that tiny ones
# leave the others their digits.
_SHIFT, _SHIFT_OF_MANY = 1e-10, 1e-6
# What block Lanczos in single precision aims at, and corrections of it at most.
_WANTED_OF_SINGLE, _CORRECTIONS = 2e-6, 20
# The least that a residual outside of a Krylov space is divided by.
_LEAST_GAP = 0.1
# Eigenvalues that differ by less than this share, or by less than rounding, are the same.
_SAME, _ROUNDING = 1e-10, 1e-13
# A full matrix of which less than this share counts is factorized as a sparse one, without entries below the second.
_NEXT_TO_NOTHING, _LOST = 0.03, 1e-17
# Numbers that are divided by are no less.
_TINY = float(np.finfo(float).tiny)
# Rows that are looked at together in a search for components, or more where few pairs are left.
_ROWS_AT_ONCE, _PAIRS_AT_ONCE = 64, 2**13
# Parts of a full matrix that threads multiply.
_PARTS = 4
# BLAS copies a matrix that it multiplies with several vectors; up to so many take less time one by one, over tiles of so
# many entries, which stay in the cache meanwhile.
_FEW_COLUMNS, _TILE_ENTRIES = 5, 2**17
# With fewer entries, threads cost more than they save.
_ENTRIES_FOR_THREADS = 10**6

_NOT_CONVERGED = (
    "Eigenvectors must converge; {found} of {k} did for {n} points: request fewer, or use a larger bandwidth, which "
    "separates eigenvalues."
)

# Eigenvalues (k,) and their vectors (n, k).
_Eigenpairs = tuple[np.ndarray, np.ndarray]
_Product = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Spectrum:
    """Smallest eigenvalues of −L and their eigenvectors, smoothest first.

    Attributes
    ----------
    eigenvalues : ndarray (k,)
        λ ≥ 0; the first is 0.
    vectors : ndarray (N, k)
        φ, with Σ_i mass_i φ_ik² = 1 and signs fixed; the first is constant.
    mass : ndarray (N,)
        ρ² d'
    components : ndarray (N,)
        Which connected component each point belongs to, the largest being 0.
    residual : float
        Largest ‖M u − μ u‖, relative to the largest eigenvalue.
    """

    eigenvalues: np.ndarray
    vectors: np.ndarray
    mass: np.ndarray
    components: np.ndarray
    residual: float

    @property
    def n_components(self) -> int:
        return int(self.components.max()) + 1


def smooth_spectrum(
    graph: KernelGraph,
    k: int,
    *,
    markov: bool = False,
    separate: bool = False,
    components: np.ndarray | None = None,
    solver: str = "auto",
    strips: Strips | None = None,
    n_jobs: int | None = None,
) -> Spectrum:
    """The k smallest eigenpairs of −L.

    ``components`` are those of the graph, if known, ``strips`` those of a full one.  ``markov`` takes those of I − P
    instead, which differ from −L when scales vary.  ``solver`` is one of `SOLVERS`.  ``separate`` finds k of every
    component, each point having the vectors of its own component (N, k), with eigenvalues (C, k); a component of fewer
    points has zeros, and NaN as eigenvalues, for those that do not exist.
    """
    start = time.perf_counter()
    rho = np.ones(graph.n_points) if markov or graph.scale is None else graph.scale.rho
    B, top = _shifted(graph, rho, strips)
    components = graph_components(graph) if components is None else components
    mass = rho**2 * graph.renormalized_degrees
    mass = np.where(mass > 0, mass, mass.max() or 1.0)  # an isolated point represents itself
    n_components = int(components.max()) + 1
    order = np.argsort(components, kind="stable")
    parts: list[Any] = np.split(order, np.cumsum(np.bincount(components))[:-1]) if n_components > 1 else [slice(None)]
    solved = [_component(B, rows, k, mass, top, solver, graph.order, n_jobs) for rows in parts]
    residual = max(r for _, _, r in solved) / top

    if separate:
        values = np.full((n_components, k), np.nan)
        vectors = np.zeros((graph.n_points, k))
        for c, (rows, (own, u, _)) in enumerate(zip(parts, solved, strict=True)):
            values[c, : len(own)] = own
            vectors[rows, : len(own)] = u
    else:
        values, vectors = _merged(parts, solved, k, mass, top)
    mu = np.maximum(top - values, 0.0)
    vectors = vectors / np.sqrt(mass)[:, None]
    say(_log, "%d eigenvectors of %d points in %.1f s", k, graph.n_points, time.perf_counter() - start)
    return Spectrum(4.0 / graph.bandwidth**2 * mu, with_signs(vectors), mass, components, residual)


@dataclass(frozen=True)
class _Scaled:
    """diag(1/ρ) A diag(1/ρ) + diag(t) of a full graph, in which A = diag(s) W diag(s) is not formed."""

    graph: KernelGraph
    rho: np.ndarray
    t: np.ndarray
    strips: Strips | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.t), len(self.t)

    @cached_property
    def s(self) -> np.ndarray:
        return self.graph.symmetric_root / self.rho

    def part(self, rows: np.ndarray) -> "_Scaled":
        return _Scaled(self.graph.restricted(rows), self.rho[rows], self.t[rows])

    def full(self) -> np.ndarray:
        B = self.s[:, None] * self.graph.weights * self.s
        B[np.diag_indices_from(B)] += self.t
        return B

    def sparse(self) -> sparse.csr_array:
        """Without what is lost in the rounding of the largest eigenvalue."""
        B = self.full()
        B[B < _LOST] = 0.0
        return sparse.csr_array(B)

    @contextmanager
    def roughly(self, strips: Strips, n_jobs: int | None) -> Iterator["_Product"]:
        """The product with (n, k) in single precision."""
        over, t = (1.0 / self.rho)[:, None].astype(np.float32), self.t[:, None].astype(np.float32)
        with strips.product(n_jobs) as times:
            yield lambda V: over * times(over * V) + t * V


# What eigenvectors are found of.
_Symmetric = Matrix | _Scaled


def _shifted(graph: KernelGraph, rho: np.ndarray, strips: Strips | None) -> tuple[_Symmetric, float]:
    """B = c I − M and c."""
    even, top = bool(np.all(rho == 1.0)), float((rho**-2.0).max())
    shift = np.zeros(len(rho)) if even else top - rho**-2.0 * (graph.degrees > 0)
    if isinstance(graph.weights, np.ndarray):
        return _Scaled(graph, rho, shift, strips), top
    A = graph.symmetric()
    if even:
        return A, 1.0
    return shifted(scaled(A, rows=1.0 / rho, columns=1.0 / rho), shift), top


def graph_components(graph: KernelGraph) -> np.ndarray:
    """Component of each point, the largest being 0.

    An edge that neither of its ends can tell from rounding, P_ij and P_ji both below 1e-14, joins nothing.
    """
    if _on_device(graph.weights):
        labels = _labels_there(graph)
    elif sparse.issparse(graph.weights):
        labels = connected_components(_joined(graph), directed=False)[1]
    else:
        labels = _labels_of_full(graph)
    rank = np.argsort(np.argsort(-np.bincount(labels, graph.multiplicity), kind="stable"))
    return rank[labels]


def _joined(graph: KernelGraph) -> sparse.csr_array:
    """A sparse matrix with entries where edges are."""
    if _lightest(graph) > _NO_EDGE:
        return graph.weights
    joined: sparse.csr_array = graph.transition().copy()
    joined.data = joined.data > _NO_EDGE
    joined.eliminate_zeros()
    return joined


def _labels_of_full(graph: KernelGraph) -> np.ndarray:
    """Components of a full graph, without a matrix of edges: mostly some rows of W join all points."""
    W: Any = graph.weights
    v, s = graph.density, graph.density_sums
    out = np.where(v * s > 0, 1.0 / np.maximum(s, _TINY), 0.0)

    def joined(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        there = np.maximum(out[rows, None] * v[others], v[rows, None] * out[others])
        return (W[np.ix_(rows, others)] * there > _NO_EDGE).any(axis=0)

    return components_by(joined, graph.n_points)


def components_by(joined: Callable[[np.ndarray, np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """Component of each of n points, from ``joined(rows, others)``: which of the others are joined with any of the rows.

    Only points not yet reached are asked about, so that every pair is looked at no more than once and no edge is stored.
    """
    labels, left, n_components = np.full(n, -1), np.arange(n), 0
    while len(left):
        found, left = left[:1], left[1:]
        while len(found):
            labels[found] = n_components
            if not len(left):
                break
            # A few at first, far from one another: mostly they join all others.
            most = max(_ROWS_AT_ONCE, _PAIRS_AT_ONCE // len(left))
            some = slice(None, None, -(-len(found) // most))
            near = joined(found[some], left)
            found, left = np.concatenate([np.delete(found, some), left[near]]), left[~near]
        n_components += 1
    return labels


def _on_device(A: Any) -> bool:
    return not (isinstance(A, np.ndarray | _Scaled) or sparse.issparse(A))


def _labels_there(graph: KernelGraph) -> np.ndarray:
    """Components of a graph on a device, numbered."""
    from .device_spectrum import components_there

    W: Any = graph.weights
    sums = graph.density * graph.density_sums
    inverse = np.where(sums > 0, 1.0 / np.where(sums > 0, sums, 1.0), 0.0)
    labels: np.ndarray = np.unique(components_there(W, graph.density, inverse, _NO_EDGE), return_inverse=True)[1]
    return labels


def _lightest(graph: KernelGraph) -> float:
    """A bound from below on the transition probabilities along the edges of a sparse graph."""
    W: sparse.csr_array = graph.weights
    return W.data.min(where=W.data > 0, initial=1.0) * graph.density.min() / (graph.density_sums.max() or 1.0)


def _component(
    B: _Symmetric,
    rows: np.ndarray | slice,
    k: int,
    mass: np.ndarray,
    top: float,
    solver: str,
    order: np.ndarray | None,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Largest eigenpairs of one component: (values, vectors, residual).  The first, the constant, is known and kept out."""
    constant = np.sqrt(mass[rows])[:, None]
    constant = constant / np.linalg.norm(constant)
    k = min(k, len(constant))
    if k == 1:
        return np.array([top]), constant, 0.0
    if len(constant) < B.shape[0]:
        assert isinstance(rows, np.ndarray)
        B = B.part(rows) if isinstance(B, _Scaled) else submatrix(B, rows)
        order = order_of(order, rows)
    settings: dict[str, Any] = {"top": top, "solver": solver, "order": order, "n_jobs": n_jobs}
    values, vectors, residual = largest_eigenpairs(B, k - 1, without=constant, **settings)
    return np.concatenate([[top], values]), np.hstack([constant, vectors]), residual


def _merged(
    parts: Sequence[np.ndarray | slice],
    solved: Sequence[tuple[np.ndarray, np.ndarray, float]],
    k: int,
    mass: np.ndarray,
    top: float,
) -> _Eigenpairs:
    """The k largest eigenpairs of all components together."""
    if len(parts) == 1:
        return solved[0][0], solved[0][1]
    n_parts = len(parts)
    vectors = np.zeros((len(mass), k))
    # The null space: the constant, then contrasts between components.
    share = np.sqrt(np.array([mass[rows].sum() for rows in parts]))
    contrasts = np.linalg.qr(np.column_stack([share / np.linalg.norm(share), np.eye(n_parts, min(k, n_parts) - 1)]))[0]
    for rows, (_, own, _), contrast in zip(parts, solved, contrasts, strict=True):
        vectors[rows, : contrasts.shape[1]] = own[:, :1] * contrast
    others = sorted(
        ((-value, c, j) for c, (own, _, _) in enumerate(solved) for j, value in enumerate(own) if j > 0),
    )[: max(k - n_parts, 0)]
    values = np.full(k, top)
    for column, (value, c, j) in enumerate(others, start=n_parts):
        values[column] = -value
        vectors[parts[c], column] = solved[c][1][:, j]
    return values, vectors


def largest_eigenpairs(
    B: _Symmetric,
    k: int,
    *,
    without: np.ndarray | None = None,
    top: float = 1.0,
    solver: str = "auto",
    order: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """The k largest eigenvalues of a symmetric matrix, descending, their vectors (n, k), and the largest residual.

    ``without`` (n, 1) is an eigenvector that is known already; it is pushed below all others, which are at least −``top``.
    LOBPCG needs it, with ``top`` for its eigenvalue; where it does not converge, Lanczos takes over.  ``order`` is that of
    the graph.  A matrix too small to iterate on is always solved directly.
    """
    check_choice("eigen_solver", solver, SOLVERS)
    n = B.shape[0]
    known = np.zeros((n, 1)) if without is None else without
    push = 3.0 * top
    full = isinstance(B, np.ndarray | _Scaled) or (_on_device(B) and not B.is_sparse)
    small = n <= (_DIRECT + _DIRECT_PER_PAIR * k if full else _DIRECT_SPARSE) or 3 * k >= n
    found = None
    if not isinstance(B, np.ndarray | _Scaled) and _on_device(B):
        found = None if small or solver in ("dense", "lobpcg") else _lanczos_there(B, k, known, push, top)
        B = B.host() if found is None else B
    is_sparse = sparse.issparse(B)
    with one_blas_thread, product(B, n_jobs) as times:
        if found is None and (small or solver == "dense"):
            found = _full(_in_full(B), k, known, push)
        elif found is None and without is not None and _by_lobpcg(is_sparse, n, k, solver, order is not None):
            found = _lobpcg(B, k, known, top, n_jobs, order)
        elif found is None and is_sparse and solver == "auto" and _few_fill_ins(B, top):
            found = _factorized(B, k, known, top)
        if found is None and is_sparse:
            found = _lanczos(lambda v: times(v) - push * known[:, 0] * (known[:, 0] @ v), n, k)
            found = _factorized(B, k, known, top) if found is None else found
        elif found is None:
            found = _of_full(B, times, k, known, top, solver, n_jobs)
            found = _full(_in_full(B), k, known, push) if found is None else found
        values, vectors = found
        down = np.argsort(-values)
        values, vectors = values[down], _fixed_basis(top - values[down], vectors[:, down], _ROUNDING * top)
        residual = float(np.linalg.norm(times(vectors) - vectors * values, axis=0).max())
    if not residual <= _ACCEPTED * top:
        raise RuntimeError(
            f"Eigenvectors must satisfy their equation to {_ACCEPTED:g}; the {k} found for {n} points leave a residual of "
            f"{residual:.1e}: request fewer, or use a larger bandwidth, which separates eigenvalues."
        )
    return values, vectors, residual


def _of_full(
    B: np.ndarray | _Scaled, times: _Product, k: int, known: np.ndarray, top: float, solver: str, n_jobs: int | None
) -> _Eigenpairs | None:
    """Largest eigenpairs of a full matrix; None if they do not converge.

    Most of the way in single precision, over strips: products take a fraction of the time.  Where next to nothing is in
    these, as along a curve, eigenvalues are too close for iteration, and a sparse matrix is factorized.
    """
    n = B.shape[0]
    if isinstance(B, _Scaled):
        strips = B.strips or strips_of(B.graph, n_jobs=n_jobs)
        if solver == "auto" and strips.share < _NEXT_TO_NOTHING and _few_fill_ins(A := B.sparse(), top):
            return _factorized(A, k, known, top)
        with B.roughly(strips, n_jobs) as roughly:
            space = _block_lanczos(roughly, n, k, known, top, wanted=_WANTED_OF_SINGLE, dtype=np.float32)
        found = None if space is None else _refined(times, space, k, known, top, B.t)
        if found is not None:
            return found
    space = _block_lanczos(times, n, k, known, top)
    return None if space is None else space.largest(k)


def _in_full(B: _Symmetric) -> np.ndarray:
    return B.full() if isinstance(B, _Scaled) else B if isinstance(B, np.ndarray) else B.toarray()


def _by_lobpcg(is_sparse: bool, n: int, k: int, solver: str, by_cells: bool) -> bool:
    if solver == "auto":
        few = k <= _PAIRS_FOR_CELLS if by_cells else k <= _PAIRS_FOR_LOBPCG and has_multigrid()
        return is_sparse and n > _POINTS_FOR_LOBPCG and few
    if solver == "lobpcg" and not is_sparse:
        raise ValueError(
            Sentence("eigen_solver='lobpcg' needs a sparse graph; this one is full: set {n_neighbors}, or use 'lanczos'.")
        )
    if solver == "lobpcg" and not by_cells and not has_multigrid():
        raise ImportError("LOBPCG needs pyamg, which is not installed: pip install 'geolap[scale]'.")
    return solver == "lobpcg"


def _lobpcg(
    B: sparse.csr_array, k: int, known: np.ndarray, top: float, n_jobs: int | None, order: np.ndarray | None
) -> _Eigenpairs | None:
    """Largest eigenpairs of B as the smallest of L = ``top`` I − B; None if they do not converge."""
    by_cells = order is not None
    if order is None:
        order = reverse_cuthill_mckee(B, symmetric_mode=True)
    B = _reordered(B, order)  # neighbors in memory: products are some four times as fast
    with product(B, n_jobs) as times:

        def times_laplacian(V: np.ndarray) -> np.ndarray:
            return top * V - times(V)

        known = known[order]
        if by_cells:
            levels = levels_by_cells(B, top, known)
        else:
            levels = levels_by_multigrid(top * sparse.eye_array(len(order), format="csr") - B, known, times_laplacian)
        tol, accepted = _WANTED_OF_LOBPCG * top, _ACCEPTED_OF_LOBPCG * top
        found = smallest_by_lobpcg(levels, k, product=times_laplacian, known=known, tol=tol, accepted=accepted)
    if found is None:
        return None
    vectors = np.empty_like(found[1])
    vectors[order] = found[1]
    return top - found[0], vectors


def _reordered(B: sparse.csr_array, order: np.ndarray) -> sparse.csr_array:
    """B with rows and columns in that order; columns of a row are not sorted, which would take a third copy."""
    rank = np.empty(len(order), dtype=B.indices.dtype)
    rank[order] = np.arange(len(order), dtype=rank.dtype)
    R = B[order]
    for k in range(0, R.nnz, _RENUMBERED):
        R.indices[k : k + _RENUMBERED] = rank[R.indices[k : k + _RENUMBERED]]
    return sparse.csr_array((R.data.astype(float, copy=False), R.indices, R.indptr), shape=B.shape)


@contextmanager
def product(B: _Symmetric, n_jobs: int | None) -> Iterator[_Product]:
    """A function V → B V that works on as many threads.

    Rows of a sparse matrix are summed one by one, and a full one has as many parts: the number of threads changes nothing.
    """
    threads = thread_count(n_jobs)
    if _on_device(B):
        yield lambda V: B @ V
        return
    if not isinstance(B, np.ndarray | _Scaled):
        many = threads > 1 and B.nnz >= _ENTRIES_FOR_THREADS
        ends = np.searchsorted(B.indptr, np.linspace(0, B.nnz, threads + 1)) if many else np.array([0, B.shape[0]])
        rows: list[Any] = [
            sparse.csr_array(
                (B.data[B.indptr[a] : B.indptr[b]], B.indices[B.indptr[a] : B.indptr[b]], B.indptr[a : b + 1] - B.indptr[a]),
                shape=(b - a, B.shape[1]),
            )
            for a, b in pairwise(ends)
        ]
        with ThreadPoolExecutor(threads) as pool:
            yield lambda V: np.concatenate(list(pool.map(lambda part: part @ V, rows))) if len(rows) > 1 else rows[0] @ V
        return
    full, s, t = (B.graph.weights, B.s, B.t) if isinstance(B, _Scaled) else (B, 1.0, 0.0)
    W = np.asarray(full, dtype=float)
    n, height = len(W), max(_TILE_ENTRIES // max(len(W), 1), 1)
    parts = [slice(a, b) for a, b in pairwise(np.linspace(0, n, _PARTS + 1, dtype=int))]
    with ThreadPoolExecutor(threads) as pool:

        def times(V: np.ndarray) -> np.ndarray:
            U = np.ascontiguousarray(s * V.T)
            result = np.empty_like(U)

            def of(part: slice) -> None:
                if len(U) > _FEW_COLUMNS:
                    result[:, part] = (W[part] @ U.T).T
                    return
                for start in range(part.start, part.stop, height):
                    tile = slice(start, min(start + height, part.stop))
                    for u, out in zip(U, result, strict=True):
                        np.dot(W[tile], u, out=out[tile])

            for _ in pool.map(of, parts):
                pass
            return (s * result + t * V.T).T

        yield times


def _full(B: np.ndarray, k: int, known: np.ndarray, push: float) -> _Eigenpairs:
    """Largest eigenpairs of a full matrix.

    LAPACK's search for some of the eigenvectors goes wrong on matrices whose entries span hundreds of orders of magnitude,
    as those of a graph that nearly falls apart; then all are found, by another method.
    """
    M = B - push * known * known.T
    with suppress(LinAlgError):
        values, vectors = heard(largest_of_full, M, k)
        if np.abs(M @ vectors - vectors * values).max(initial=0.0) <= _WANTED * push:
            return values, vectors
    values, vectors = heard(np.linalg.eigh, M)
    return values[-k:], vectors[:, -k:]


def _lanczos(product: _Product, n: int, k: int) -> _Eigenpairs | None:
    """Largest eigenpairs; None if they do not converge soon and there is another way."""
    operator = LinearOperator((n, n), matvec=lambda v: product(v.ravel()), dtype=float)
    basis = max(2 * k + 1, _BASIS)
    restarts, widenings = (_FEW_RESTARTS, (1,)) if n <= _FACTORIZED else (_RESTARTS, (1, 3))
    for widening in widenings:
        try:
            return eigsh(operator, k, which="LA", v0=_start(n), ncv=min(n, widening * basis), tol=_WANTED, maxiter=restarts)
        except ArpackNoConvergence as error:
            found = len(error.eigenvalues)
    if n <= _FACTORIZED:
        return None
    raise RuntimeError(_NOT_CONVERGED.format(found=found, k=k, n=n))


def _lanczos_there(B: Any, k: int, known: np.ndarray, push: float, top: float) -> _Eigenpairs | None:
    """Largest eigenpairs of a matrix on a device; None as for `_lanczos`."""
    from .device_spectrum import largest_there

    n = B.shape[0]
    restarts = _FEW_RESTARTS if n <= _FACTORIZED else _RESTARTS
    found = largest_there(B, k, known=known, push=push, tol=_WANTED * top, restarts=restarts)
    if found is None and n > _FACTORIZED:
        raise RuntimeError(_NOT_CONVERGED.format(found="not all", k=k, n=n))
    return found


@dataclass(frozen=True)
class _Krylov:
    """A basis (n, m) of a Krylov space, eigenvalues (m,) of the matrix in it, ascending, and their vectors (m, m)."""

    basis: np.ndarray
    values: np.ndarray
    U: np.ndarray

    def largest(self, k: int) -> _Eigenpairs:
        return self.values[-k:], self.basis @ self.U[:, -k:].astype(self.basis.dtype)


def _block_lanczos(
    product: _Product,
    n: int,
    k: int,
    known: np.ndarray,
    top: float,
    *,
    block_size: int | None = None,
    wanted: float = _WANTED,
    relative: bool = False,
    dtype: Any = float,
) -> _Krylov | None:
    """A space with the largest eigenpairs of a matrix whose product with many vectors costs little more than with one.

    Block Lanczos from random vectors, with full reorthogonalization; None if it does not converge.  Residuals are compared
    with ``top``, or with the eigenvalue of each (``relative``).
    """
    b = block_size or int(np.clip(k // _BLOCKS_OF_WANTED, *_BLOCK))
    most = min(n - 1, _MOST_BLOCKS * b + 4 * k)
    size, look = 0, _FIRST_LOOK + 2 * k // b
    room = min(most, _ROOM * (look + 1) * b)
    basis, T = np.empty((n, room), dtype, order="F"), np.zeros((room, room))
    last, known = (0, 0.0), known.astype(dtype)
    block = np.random.default_rng(0).standard_normal((n, b)).astype(dtype)
    block = np.linalg.qr(block - known * (known.T @ block))[0]
    while size + b <= most:
        if size + b > len(T):  # new memory takes time, and most of it is rarely needed
            room = min(most, 2 * len(T)) - len(T)
            basis, T = np.asfortranarray(np.pad(basis, ((0, 0), (0, room)))), np.pad(T, (0, room))
        basis[:, size : size + b] = block
        size += b
        block = product(block)
        for _ in range(2):
            along = basis[:, :size].T @ block
            block -= basis[:, :size] @ along
            block -= known * (known.T @ block)
            T[:size, size - b : size] += along
        block, below = np.linalg.qr(block)
        if np.abs(below.diagonal()).min() < np.sqrt(np.finfo(dtype).eps) * top:  # the space is exhausted: this is rounding
            block -= basis[:, :size] @ (basis[:, :size].T @ block)
            block = np.linalg.qr(block - known * (known.T @ block))[0]
        if size >= look * b or size + b > most:
            values, U = np.linalg.eigh(T[:size, :size], UPLO="U")
            residuals = np.linalg.norm(below @ U[-b:, -k:], axis=0) / (np.maximum(values[-k:], _TINY) if relative else top)
            digits = -np.log10(max(residuals.max(), 1e-300))
            if digits >= -np.log10(wanted):
                return _Krylov(basis[:, :size], values, U)
            # Digits grow in proportion to steps, or faster.
            rate = (digits - last[1]) / (size // b - last[0])
            ahead = (-np.log10(wanted) - digits) / rate if rate > 0 else np.inf
            if 2 * size > most and ahead > most // b:
                return None
            last, look = (size // b, digits), look + int(np.clip(0.5 * ahead, 1, max(_FIRST_LOOK, look // _MOST_AHEAD)))
    return None


def _refined(
    product: _Product, space: _Krylov, k: int, known: np.ndarray, top: float, diagonal: np.ndarray
) -> _Eigenpairs | None:
    """Eigenpairs in double precision from a space in single precision; None where it does not tell them.

    Davidson's method: with a residual r, the error of a vector is (θ − B)⁻¹ r: in the space from its other eigenvectors, and
    outside, where B is hardly more than its ``diagonal`` t, r/(θ − t).  Eigenvectors are sought among all corrections.
    """
    V, others, U = space.basis, space.values[:-k], space.U[:, :-k]
    new = space.largest(k)[1].astype(float)
    Q = there = np.empty((len(new), 0))
    for _ in range(_CORRECTIONS):
        for _ in range(2):
            new = np.linalg.qr(new - known * (known.T @ new) - Q @ (Q.T @ new))[0]
        Q, there = np.hstack([Q, new]), np.hstack([there, product(new)])
        values, rotation = np.linalg.eigh(Q.T @ there)
        values, rotation = values[-k:], rotation[:, -k:]
        vectors = Q @ rotation
        R = there @ rotation - vectors * values
        residuals = np.linalg.norm(R, axis=0)
        if residuals.max() <= _WANTED * top:
            return values, vectors
        left = residuals > 0.1 * _WANTED * top
        R, theta = (R[:, left] / residuals[left]).astype(V.dtype), values[left]
        inside = V.T @ R
        step = (U @ ((U.T @ inside) / (theta - others[:, None]))).astype(V.dtype)
        new = V @ step + (R - V @ inside) / np.maximum(theta - diagonal[:, None], _LEAST_GAP * top)
    return None


def _few_fill_ins(B: sparse.csr_array, top: float) -> bool:
    """Whether a factorization of B is quick, to judge by those of two parts of it."""
    n = B.shape[0]
    near = breadth_first_order(B, 0, directed=False, return_predecessors=False)
    size = min(n, int(np.clip(n // 4, *_PILOT)))
    whole, half = (heard(_fill_in, B[some][:, some], 2.0 * top) for some in (near[:size], near[: size // 2]))
    fill = whole * (n / size) ** np.log2(whole / half)
    return bool(fill**2 / n <= _MOST_FILL_WORK)


def _fill_in(B: sparse.csr_array, top: float) -> int:
    entries: int = _factors(B, top).L.nnz
    return entries


def _factors(B: sparse.csr_array, top: float) -> Any:
    """Factors of ``top`` I − B, in an order that keeps them sparse.

    SciPy frees them only on the thread that they were made on, and says nothing elsewhere: they never leave it.
    """
    A = sparse.csc_array(top * sparse.eye_array(B.shape[0]) - B)
    return splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


def _factorized(B: sparse.csr_array, k: int, known: np.ndarray, top: float) -> _Eigenpairs:
    """Largest eigenpairs of a sparse matrix by inverse iteration: near ``top`` they are close, their inverses far apart."""
    return heard(_by_inverse, B, k, known, top)


def _by_inverse(B: sparse.csr_array, k: int, known: np.ndarray, top: float) -> _Eigenpairs:
    n = B.shape[0]
    many = k >= _MANY_PAIRS
    shift = (_SHIFT_OF_MANY if many else _SHIFT) * top
    solve = _factors(B, top + shift).solve

    def solved(v: np.ndarray) -> np.ndarray:
        checkpoint()
        v = solve(v - np.multiply.outer(known[:, 0], known[:, 0] @ v))
        return v - np.multiply.outer(known[:, 0], known[:, 0] @ v)

    def largest(k: int, tol: float) -> _Eigenpairs:
        return eigsh(LinearOperator((n, n), matvec=solved, dtype=float), k, which="LA", v0=_start(n), tol=tol)

    space = None
    if many:  # triangular systems with eight right-hand sides take three times as long as with one
        first = float(largest(1, 0.1)[0][0])
        space = _block_lanczos(solved, n, k, known, first, block_size=_BLOCK_OF_MANY, relative=True)
    inverse, vectors = largest(k, _WANTED) if space is None else space.largest(k)
    return top + shift - 1.0 / inverse, vectors


def _start(n: int) -> np.ndarray:
    """The same every time."""
    return np.random.default_rng(0).standard_normal(n)


def _fixed_basis(mu: np.ndarray, vectors: np.ndarray, rounding: float) -> np.ndarray:
    """Vectors whose eigenvalues are the same but for rounding, in a basis that depends on their span alone.

    Solvers return any basis of such a space, another one for another number of threads.
    """
    groups = np.split(np.arange(len(mu)), np.flatnonzero(np.diff(mu) > _SAME * mu[1:] + rounding) + 1)
    vectors = vectors.copy()
    for group in groups:
        if len(group) > 1:
            V = vectors[:, group]
            G = np.random.default_rng(0).standard_normal(V.shape)
            vectors[:, group] = np.linalg.qr(V @ (V.T @ G))[0]
    return vectors


def with_signs(vectors: np.ndarray) -> np.ndarray:
    """Signs such that the entry of largest magnitude is positive, the first of those that are as large but for rounding."""
    sizes = np.abs(vectors)
    first = np.argmax(sizes >= (1.0 - _AS_LARGE) * sizes.max(axis=0), axis=0)
    largest = vectors[first, np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
