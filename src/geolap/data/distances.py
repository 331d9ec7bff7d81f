"""Points that are known by their distances: a matrix of distances, any metric, sparse features.

Geometric consistency needs nothing else.  About a point x_i

.. math:: G_{jk} = \\tfrac12 (d_{ij}^2 + d_{ik}^2 - d_{jk}^2)

are the inner products of x_j − x_i and x_k − x_i, from which tangent coordinates follow (`geolap.tangent.gram_finder`).
Distances that are Euclidean, to rounding, have coordinates (`Distances.coordinates`), and these serve instead.  For others
the matrix of all inner products has negative eigenvalues; `Distances.negative_share` tells how much of it they are.

Cosine and correlation distance need none of this: rows of length one are points on a sphere, √2 times the square root of
these distances apart.

Up to 5000 points all pairs count.  Beyond, and where a sparse matrix stores some pairs only, the nearest do.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpstrf
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from ..choices import WITH_COORDINATES
from ..runtime.caching import cached_property
from ..runtime.memory import require_memory
from ..runtime.threads import in_order, one_blas_thread
from ..sentences import warn_caller
from .multiplicity import weights_at
from .pairs import ZERO, Pairs
from .points import Points, check_complete, check_shape, is_chunked, least_of_rows, on_device, spread_rows, unit_above

__all__ = [
    "Distances",
    "Metric",
    "between",
    "check_distances",
    "checked_metric",
    "given_pairs",
    "metric_params",
    "points_of",
]

Metric: TypeAlias = str | Callable[[np.ndarray, np.ndarray], float]

# Up to this many points all pairs count; beyond, each point is compared with so many nearest.
_MOST_WHOLE, _NEAREST = 5000, 100
# Metrics that are those of points on a sphere, with and without the mean of each row.
_ON_SPHERE = {"cosine": False, "correlation": True}
_EUCLIDEAN = ("euclidean", "l2")
# Distances that are computed at once by a thread, and rows from which the typical distance is known.
_HELD, _SOME_ROWS = 2**22, 200
# Inner products are those of coordinates up to this share of the largest.
_ROUNDING = 1e-12
# The square of a distance, over those of the rows' lengths, below which sparse rows count as equal: it is rounding.
_SAME = 1e-14
# A pole and the full circle, rounded up.
_ROUNDED_PLACE = 1.0 + 1e-6
# Powers of two beyond which squares may be lost.
_FAR_FROM_ONE = 300
# A distance from a point to itself, as a share of the largest, that is rounding: nearest-neighbor searches leave such.
_OWN = 1e-6
# Known distances beyond this quantile are the farthest.
_FAR = 0.8
# Points whose triangles are looked at, by which factor the inequality must be broken, and in which share of them.
_IN_TRIANGLES, _BROKEN_BY, _MANY_BROKEN = 100, 1.5, 0.02


def points_of(
    X: Any,
    metric: Metric | None = "euclidean",
    *,
    least: int = 3,
    keep_device: bool = False,
    sample_weight: Any = None,
) -> Points:
    """X checked, at ``least`` so many points under a metric; what is `Points` already stays as it is.

    ``keep_device`` leaves points on a GPU and dask arrays where they are; ``sample_weight`` (n_points,) says how many points
    each row stands for.
    """
    if sample_weight is not None:
        return points_of(X, metric, least=least, keep_device=keep_device).weighted(sample_weight)
    if isinstance(X, Points):
        return X
    metric = checked_metric(metric)
    if metric == "precomputed":
        return _under(Distances(_checked_matrix(X), metric=metric), least)
    if not sparse.issparse(X):
        points = Points.of(X, least=least, keep_device=keep_device)
        if metric == "euclidean":
            return points
        if metric in _ON_SPHERE:
            return Points.of(_on_sphere(points.given, metric), least=least, keep_device=keep_device)
        return _under(Distances(points.host, metric=metric), least)
    A = _checked_sparse(X, least)
    if metric in _ON_SPHERE:  # of which only the direction of a row counts
        exponents = np.array([_exponent(row) for row in np.split(A.data, A.indptr[1:-1])])
        A = _over_powers(A, np.repeat(exponents, np.diff(A.indptr)))
    if metric == "cosine":
        A, metric = _sparse_on_sphere(A), "euclidean"
    elif metric == "correlation":
        _check_lengths(_deviations(A), metric)
    return _under(Distances(A, metric=metric), least)


def _under(points: "Distances", least: int) -> "Distances":
    if least == 3 and points.distinct(3) < 3:
        raise ValueError(
            f"At least three distinct points are needed; the {len(points)} points given have {points.distinct(3)} at these "
            "distances: check that the distances are correct."
        )
    return points


def checked_metric(metric: Any) -> Metric:
    """A metric that scikit-learn knows, or a function."""
    if metric is None or (isinstance(metric, str) and metric in _EUCLIDEAN):
        return "euclidean"
    if callable(metric) or metric == "precomputed":
        return metric
    if not isinstance(metric, str) or not any(_knows(metric, r) for r in (2, 3)):
        raise ValueError(
            "metric must be 'euclidean', 'cosine', 'correlation', 'precomputed', another metric of "
            f"sklearn.metrics.pairwise_distances, or a function of two rows; {metric!r} was given: choose one."
        )
    return metric


@cache
def _knows(metric: str, r: int) -> bool:
    """Whether scikit-learn knows a metric of points with r features."""
    some = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])[:, :r]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pairwise_distances(some, some, metric=metric, **metric_params(some, metric))
    except Exception:  # of whatever kind: metrics come from several libraries
        return False
    return True


@dataclass(frozen=True, eq=False)
class Distances(Points):
    """Points that are known by their distances: ``given`` holds these (N, N), or features (N, r), dense or sparse."""

    metric: Metric = "precomputed"  # if distances were given; "euclidean" for sparse features

    @property
    def shape(self) -> tuple[int, int]:
        """Points, and the directions in which they may vary."""
        return len(self), len(self) - 1 if self.coordinates is None else self.coordinates.shape[1]

    @property
    def features(self) -> Any:
        """Rows from which distances to new points are computed; None if distances were given."""
        return None if self.metric == "precomputed" else self.given

    @cached_property
    def partial(self) -> bool:
        if self.metric != "precomputed" or not sparse.issparse(self.given):
            return False
        rows = np.repeat(np.arange(len(self)), np.diff(self.given.indptr))
        return int((rows != self.given.indices).sum()) < len(self) * (len(self) - 1)

    @property
    def n_known(self) -> int:
        """How many distances to others are known of every point, where only some are."""
        S: Any = self.pairs.sqdist
        return int(np.diff(S.indptr).min()) - 1

    @property
    def whole(self) -> bool:
        return not self.partial and len(self) <= _MOST_WHOLE

    @cached_property
    def params(self) -> dict[str, Any]:
        """What some metrics take from all rows."""
        return metric_params(self.given, self.metric)

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Distances (n, m) in the unit of the data; inf where they are not known."""
        if self.metric != "precomputed":
            others = self.given if columns is None else self.given[columns]
            return between(self.given[rows], others, self.metric, self.params)
        columns = np.arange(len(self)) if columns is None else columns
        if not sparse.issparse(self.given):
            return np.asarray(self.given[np.ix_(rows, columns)], dtype=float)
        if not self.partial:
            return self.given[rows][:, columns].toarray()
        S: Any = self.pairs.sqdist[rows]
        place = np.full(len(self), -1)
        place[columns] = np.arange(len(columns))
        row, column = np.repeat(np.arange(len(rows)), np.diff(S.indptr)), place[S.indices]
        D = np.full((len(rows), len(columns)), np.inf)
        inside = column >= 0
        D[row[inside], column[inside]] = np.where(S.data <= ZERO, 0.0, np.sqrt(S.data) * self.pairs.unit)[inside]
        return D

    @cached_property
    def full(self) -> np.ndarray:
        """All distances, as a symmetric matrix."""
        n = len(self)
        require_memory(3.0 * 8 * n * n, f"A matrix of distances of {n} points", "pass fewer points")
        if self.metric == "precomputed":
            D = self.given.toarray() if sparse.issparse(self.given) else np.array(self.given, dtype=float)
        elif sparse.issparse(self.given):
            D = self.block(np.arange(n))
        else:
            D = _called(self.given, None, self.metric, self.params)
        check_distances(D)
        D = 0.5 * (D + D.T)
        np.fill_diagonal(D, 0.0)
        return D

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs that count: all, the stored ones, or the nearest."""
        if self.whole:
            return Pairs((self.full / self.unit) ** 2, self.unit)
        if self.partial:
            return given_pairs(self.given)
        near, columns = self._near()
        rows = np.repeat(np.arange(len(self)), near.shape[1])
        D = sparse.csr_array((near.ravel(), (rows, columns.ravel())), shape=(len(self), len(self)))
        return given_pairs(D)

    @cached_property
    def unit(self) -> float:
        """A power of two above most distances."""
        if self.whole:
            most = self.full.max()
        elif self.partial:
            most = self.given.data.max()
        else:
            most = self._some.max()
        return unit_above(float(most) or 1.0)

    @cached_property
    def _some(self) -> np.ndarray:
        """Distances of some points from all."""
        return np.vstack([self.block(rows) for rows in self._groups(spread_rows(len(self), _SOME_ROWS))])

    def mean_distance(self) -> float:
        """Root mean square of the distances; of those that are stored, where others are not known."""
        if self.partial:
            return 2.0 * float(np.sqrt(np.mean((self.given.data / self.unit) ** 2))) * self.unit
        if self.whole:
            mean = np.average((self.full / self.unit) ** 2 @ self._shares, weights=self.multiplicity)
        else:
            mean = np.mean((self._some / self.unit) ** 2 @ self._shares)
        return float(np.sqrt(mean * self.total / (self.total - 1.0))) * self.unit

    @property
    def _shares(self) -> np.ndarray:
        """Of all points, what each row stands for."""
        return np.full(len(self), 1.0 / len(self)) if self.multiplicity is None else self.multiplicity / self.total

    def sqdist(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        if self.whole:
            S = self.pairs.sqdist
            return S[rows] if columns is None else S[np.ix_(rows, columns)]
        return (self.block(rows, columns) / self.unit) ** 2

    def nearest(
        self, n_neighbors: int, *, rows: np.ndarray | None = None, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distances (n, k) to the k nearest other points, ascending, and which these are (n, k), for all points or some."""
        if rows is None and not self.whole and not self.partial and n_neighbors <= _NEAREST:
            distances, columns = self._near(n_jobs)
            return distances[:, :n_neighbors].copy(), columns[:, :n_neighbors].copy()
        found = in_order(
            lambda some: self._nearest_of(some, n_neighbors),
            self._groups(np.arange(len(self)) if rows is None else rows),
            n_jobs=n_jobs,
            label=f"{n_neighbors} nearest neighbors",
        )
        distances, columns = zip(*found, strict=True)
        return np.vstack(distances), np.vstack(columns)

    def searched(self, n_jobs: int | None = None) -> Self:
        """Itself, once its pairs have been searched for, where they must be."""
        if not self.whole and not self.partial:
            self._near(n_jobs)
        return self

    def _near(self, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The nearest that every point is compared with where not all pairs count; searched for once."""
        known = vars(self)
        if "nearest_known" not in known:
            known["nearest_known"] = self.nearest(min(_NEAREST, len(self) - 1), rows=np.arange(len(self)), n_jobs=n_jobs)
        return known["nearest_known"]

    def _nearest_of(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        D = self.full[rows] if self.whole else self.block(rows)
        D[np.arange(len(rows)), rows] = np.inf
        near, columns = least_of_rows(D, k)
        if not np.isfinite(near).all():
            least = int(np.isfinite(D).sum(axis=1).min())
            raise ValueError(
                f"Every point needs as many stored distances as neighbors; {k} neighbors were requested, but some point "
                f"has only {least}: store more distances, or request fewer neighbors."
            )
        return near, columns

    def _groups(self, rows: np.ndarray) -> list[np.ndarray]:
        return np.array_split(rows, -(-len(rows) // max(1, min(512, _HELD // len(self)))))

    def subset(self, rows: np.ndarray) -> "Distances":
        if np.array_equal(rows, np.arange(len(self))):
            return self
        given = self.given[rows][:, rows] if self.metric == "precomputed" else self.given[rows]
        return Distances(given, weights_at(self.multiplicity, rows), metric=self.metric)

    def inner(self, i: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """G about x_i of some other points (n, m), in units of `unit`²; distances that are not known are estimated."""
        if not self.partial:
            own = np.array([i])
            return 0.5 * (self.sqdist(rows, own) + self.sqdist(own, columns) - self.sqdist(rows, columns))
        everyone, place = np.unique(np.concatenate([[i], rows, columns]), return_inverse=True)
        S = _completed(np.sqrt(self.sqdist(everyone, everyone))) ** 2
        own, rows, columns = place[0], place[1 : len(rows) + 1], place[len(rows) + 1 :]
        return 0.5 * (S[own, rows][:, None] + S[own, columns] - S[np.ix_(rows, columns)])

    def products(self) -> np.ndarray:
        """Inner products of all points about their mean, in units of `unit`²."""
        S = self.pairs.sqdist
        return 0.5 * (S.mean(axis=0) + S.mean(axis=1)[:, None] - S - S.mean())

    @cached_property
    def _scaled(self) -> tuple[np.ndarray | None, float]:
        """Coordinates, if there are any to rounding, and the share of negative eigenvalues."""
        B = self.products()
        with one_blas_thread:
            root, place, rank, _ = dpstrf(B, tol=_ROUNDING * B.diagonal().max(), lower=1)
            X = np.zeros((len(B), rank))
            X[place - 1] = np.tril(root)[:, :rank]
            X = X[(self.full == 0).argmax(axis=1)]  # what is at the same place has the same coordinates
            if np.abs(X @ X.T - B).max() <= 100.0 * _ROUNDING * B.diagonal().max():
                return X, 0.0
            values = np.linalg.eigvalsh(B)
        return None, float(-values[values < 0].sum() / np.abs(values).sum())

    @property
    def coordinates(self) -> np.ndarray | None:
        """Points at these distances, in units of `unit`; None where there are none."""
        return self._scaled[0] if self.whole else None

    @property
    def negative_share(self) -> float | None:
        """Negative eigenvalues of the matrix of all inner products, as a share of all; None where not all are known."""
        return self._scaled[1] if self.whole else None

    @cached_property
    def box(self) -> np.ndarray:
        """Coordinates in units of `unit`: the nearest there are to these distances, by classical scaling."""
        if self.coordinates is not None:
            return self.coordinates
        with one_blas_thread:
            values, vectors = np.linalg.eigh(self.products())
        return np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0.0)))[:, values > 0][:, ::-1])

    def distinct(self, enough: int) -> int:
        n = 4 * enough
        while True:
            some = np.arange(min(n, len(self)))
            apart = np.tril(self.block(some, some) == 0, -1).any(axis=1)
            found = int((~apart).sum())
            if found >= enough or n >= len(self):
                return min(found, enough)
            n *= 8

    def rank(self, enough: int) -> int:
        return min(enough, len(self) - 1 if self.coordinates is None else self.coordinates.shape[1])

    def kept(self) -> Any:
        return None if self.features is None else self.features.copy()

    @property
    def dtype(self) -> Any:
        return self.given.dtype


def _completed(D: np.ndarray) -> np.ndarray:
    """Distances (n, n) of which some are not known (inf), completed.

    The way over a third point is longer than the direct one: not at all on a curve, by 40 % or more where neighbors are in
    all directions.  By how much is seen at the most distant pairs of which both are known.  And what is not stored is
    farther than what is.
    """
    known = np.isfinite(D)
    if known.all():
        return D
    np.fill_diagonal(D, np.inf)
    over = np.full_like(D, np.inf)
    for column in D.T:
        np.minimum(over, column[:, None] + column, out=over)
    np.fill_diagonal(D, 0.0)
    both = known & np.isfinite(over) & (D > 0)
    if both.any():
        far = both & (np.quantile(D[both], _FAR) <= D)
        farthest = np.where(known, D, 0.0).max(axis=1)
        least = np.minimum(farthest[:, None], farthest)
        over = np.minimum(np.maximum(over * np.median(D[far] / over[far]), least), over)
    return np.where(known, D, over)


def between(A: Any, B: Any, metric: Metric, params: dict[str, Any]) -> np.ndarray:
    """Distances (n, m) between rows of features, which are dense or sparse."""
    if not sparse.issparse(A):
        return _called(A, B, metric, params)
    if metric in WITH_COORDINATES:
        A, B = (side.astype(float, copy=False) for side in (A, B))  # small differences come from large products
    if metric == "euclidean":
        exponent = max(_exponent(side.data) for side in (A, B))
        if abs(exponent) > _FAR_FROM_ONE:
            A, B = (_over_powers(side, exponent) for side in (A, B))
            return np.ldexp(between(A, B, metric, params), exponent)
        a, b = (_squares(side) for side in (A, B))
        products = (A @ B.T).toarray()
        sqdist = a[:, None] + b - 2.0 * products
        sqdist[sqdist <= _SAME * (a[:, None] + b)] = 0.0
        return np.sqrt(sqdist)
    if metric == "correlation":
        mean_a, mean_b = (np.asarray(side.mean(axis=1)).ravel() for side in (A, B))
        inner = (A @ B.T).toarray() - A.shape[1] * mean_a[:, None] * mean_b
        cosine = inner / (_deviations(A)[:, None] * _deviations(B))
        sqdist = 2.0 - 2.0 * cosine
        sqdist[sqdist <= _SAME] = 0.0
        return np.sqrt(sqdist)
    return _called(A, B, metric, params)


def _exponent(values: np.ndarray) -> int:
    """The power of two above all of them."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def _over_powers(A: sparse.csr_array, exponents: Any) -> sparse.csr_array:
    """Sparse rows over powers of two, which round nothing."""
    return sparse.csr_array((np.ldexp(A.data, -exponents), A.indices, A.indptr), shape=A.shape)


def _deviations(A: Any) -> np.ndarray:
    """Lengths of sparse rows about their means."""
    mean = np.asarray(A.mean(axis=1)).ravel()
    squares = _squares(A)
    rest = squares - A.shape[1] * mean**2
    return np.sqrt(np.where(rest > _SAME * squares, rest, 0.0))


def _squares(A: Any) -> np.ndarray:
    return np.asarray(A.multiply(A).sum(axis=1), dtype=float).ravel()


def _called(A: Any, B: Any, metric: Metric, params: dict[str, Any]) -> np.ndarray:
    if metric == "haversine" and A.shape[1] == 2:
        _check_radians(A)
        _check_radians(A if B is None else B)
    if isinstance(metric, str) and metric in PAIRWISE_BOOLEAN_FUNCTIONS:  # scikit-learn would warn whenever it does the same
        A, B = (None if side is None else side.astype(bool) for side in (A, B))
    try:
        D = pairwise_distances(A, B, metric=metric, **params)
    except Exception as error:
        dense = ", or pass X.toarray() if that fits in memory" if sparse.issparse(A) else ""
        raise ValueError(
            f"The metric must return a distance for any two rows; {_name(metric)} failed ({error}): check what it "
            f"expects{dense}."
        ) from error
    check_distances(D)
    return np.asarray(D, dtype=float)


def _check_radians(X: Any) -> None:
    """Refuse places on a globe that are given in degrees, or with the longitude first."""
    for column, (place, most) in enumerate((("latitude", 0.5 * np.pi), ("longitude", 2.0 * np.pi))):
        largest = np.abs(X[:, [column]]).max()
        if largest > _ROUNDED_PLACE * most:
            raise ValueError(
                "Haversine distance takes latitudes within ±π/2 and longitudes within ±2π, in radians and in this order; a "
                f"{place} of size {largest:.4g} was given: multiply degrees by π/180, as np.radians does."
            )


def _name(metric: Metric) -> str:
    return repr(metric) if isinstance(metric, str) else getattr(metric, "__name__", "the function")


def metric_params(X: Any, metric: Metric) -> dict[str, Any]:
    """What a metric takes from all rows of X: variances, the inverse of their covariance."""
    if sparse.issparse(X):
        return {}
    if metric == "seuclidean":
        return {"V": np.var(np.asarray(X, dtype=float), axis=0, ddof=1)}
    if metric == "mahalanobis":
        return {"VI": np.linalg.pinv(np.atleast_2d(np.cov(np.asarray(X, dtype=float).T)))}
    return {}


def _on_sphere(X: Any, metric: str) -> Any:
    """Rows of length one, where they are: in host memory, on a GPU, in chunks."""
    if is_chunked(X):
        dtype = np.float32 if X.dtype == np.float32 else float
        return X.map_blocks(_on_sphere, metric, dtype=dtype, meta=np.empty((0, 0), dtype))
    if not on_device(X):
        X = np.asarray(X, dtype=np.float32 if X.dtype == np.float32 else float)
        X = X / np.maximum(np.abs(X).max(axis=1, keepdims=True), np.finfo(X.dtype).tiny)  # squares must not overflow
    else:
        X = X if X.is_floating_point() else X.double()
    if _ON_SPHERE[metric]:
        X = X - X.mean(axis=1).reshape(-1, 1)
    length = ((X * X).sum(axis=1) ** 0.5).reshape(-1, 1)
    _check_lengths(np.asarray(length.cpu() if on_device(X) else length).ravel(), metric)
    return X / length


def _sparse_on_sphere(A: sparse.csr_array) -> sparse.csr_array:
    length = np.sqrt(_squares(A))
    _check_lengths(length, "cosine")
    return sparse.csr_array(sparse.diags_array(1.0 / length) @ A)


def _check_lengths(length: np.ndarray, metric: str) -> None:
    none = np.flatnonzero(~(length > 1e-12))
    if none.size:
        what = "equal entries" if _ON_SPHERE[metric] else "zeros only"
        raise ValueError(
            f"With {metric} distance a row needs a direction; row {none[0]} has {what} ({none.size} of {len(length)} do): "
            "leave out such rows, or use another metric."
        )


def _checked_sparse(X: Any, least: int) -> sparse.csr_array:
    """Sparse features as CSR, finite; nothing is copied if they are that already."""
    if X.dtype.kind not in "biuf":
        raise ValueError(f"Points must be real numbers; a sparse matrix of {X.dtype} was given: convert it.")
    A = sparse.csr_array(X)
    A = A if A.dtype.kind == "f" else A.astype(float)
    check_shape(A, least)
    if not np.isfinite(A.data).all():
        raise ValueError("Points must be finite; the sparse input contains NaN or inf: remove such rows or fill them in.")
    return A


def _checked_matrix(D: Any) -> Any:
    """A square matrix of distances, dense or sparse, that is one."""
    check_complete(D)
    D = sparse.csr_array(D) if sparse.issparse(D) else np.asarray(D)
    if D.ndim != 2 or D.dtype.kind not in "biuf":
        raise ValueError(
            f"Distances must be a square matrix of numbers; shape {D.shape} of {D.dtype} was given: pass what "
            "sklearn.metrics.pairwise_distances returns."
        )
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            f"A matrix of distances must have as many rows as columns; shape {D.shape} was given: with metric='precomputed' "
            "X holds the distances of all pairs."
        )
    if D.shape[0] < 3:
        raise ValueError(
            f"A graph needs at least three points; distances of shape {D.shape} were given, n_samples={D.shape[0]}: pass "
            "those of more points."
        )
    check_distances(D.data if sparse.issparse(D) else D)
    own, largest, of_row = D.diagonal(), D.max(), D.max(axis=1)
    if own.any() and (own >= (of_row.toarray().ravel() if sparse.issparse(D) else of_row)).all():
        raise ValueError(
            "The distance from a point to itself must be zero; the largest entries are on the diagonal, as in a similarity "
            "matrix: pass distances, for instance np.sqrt(2 - 2 * S) of similarities S up to 1."
        )
    if own.max() > _OWN * largest:
        raise ValueError(
            f"The distance from a point to itself must be zero; the diagonal contains {own.max():.4g}, first at row "
            f"{int((own > _OWN * largest).argmax())}: set it to zero if that is intended."
        )
    if sparse.issparse(D):
        return D
    if not np.allclose(D, D.T, rtol=1e-5, atol=1e-8 * largest):
        raise ValueError(
            "A full matrix of distances must be symmetric; this one is not: pass (D + D.T) / 2 if that is intended."
        )
    _check_triangles(D)
    return D


def _check_triangles(D: np.ndarray) -> None:
    some = np.random.default_rng(0).choice(len(D), min(len(D), _IN_TRIANGLES), replace=False)
    S = np.asarray(D[np.ix_(some, some)], dtype=float)
    around = S[:, :, None] + S[None, :, :]  # from i over k to j
    broken = float(np.mean(S[:, None, :] > _BROKEN_BY * around))
    if broken > _MANY_BROKEN:
        raise ValueError(
            f"Distances must satisfy the triangle inequality, at least roughly; for {broken:.0%} of the triangles the path "
            "over the third point is shorter than the direct one by more than a third: pass distances instead of their "
            "squares, or check how they were computed."
        )


def given_pairs(distances: Any, n_points: int | None = None) -> Pairs:
    """Pairs from a square matrix of distances, dense or sparse, as scikit-learn writes them.

    What a sparse matrix does not store is out of reach.  A pair counts if either side stores it.
    """
    D = _checked_matrix(distances)
    if n_points not in (None, D.shape[0]):
        raise ValueError(
            f"A matrix of distances must have {n_points} rows and columns, one for each point; shape {D.shape} was given: "
            "match it to the points."
        )
    if not sparse.issparse(D):
        unit = float(D.max()) or 1.0
        sqdist = (0.5 * (D / unit + D.T / unit)) ** 2
        np.fill_diagonal(sqdist, 0.0)
        return Pairs(sqdist, unit)
    D = sparse.csr_array(D, dtype=float, copy=True)
    row = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    if D.nnz and np.all(D.data[row != D.indices] == 1.0):
        warn_caller(
            "Distances must distinguish near from far; all given distances are 1, as in a connectivity graph: use "
            "mode='distance'."
        )
    unit = float(D.data.max(initial=0.0)) or 1.0
    D.data = np.maximum((D.data / unit) ** 2, ZERO)
    return Pairs(_symmetric(D), unit)


def check_distances(values: np.ndarray) -> None:
    """Refuse distances that are missing, infinite or negative."""
    wrong = values[~(np.isfinite(values) & (values >= 0))]
    if wrong.size:
        raise ValueError(
            f"Distances must be finite and not negative; {wrong.flat[0]} was given: leave out pairs that are out of reach."
        )


def _symmetric(directed: sparse.csr_array) -> sparse.csr_array:
    """Entries that either side stores, the larger where they differ, and the diagonal."""
    zeros = sparse.diags_array(np.full(directed.shape[0], ZERO), format="csr")
    directed = sparse.csr_array(directed + zeros)  # now every row stores its diagonal
    both = sparse.csr_array(directed.maximum(directed.T.tocsr()))
    both.setdiag(ZERO)
    index = np.int32 if both.nnz < 2**31 else np.int64  # the narrower is what most solvers accept
    return sparse.csr_array((both.data, both.indices.astype(index), both.indptr.astype(index)), shape=both.shape)
