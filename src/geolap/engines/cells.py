"""The cells engine: for more points than can be visited in all pairs.

What is exact and what is estimated, for each bandwidth separately:

- **Rows** of the evaluation points are complete, out to 4.2 ε (weights beyond are below 2e-8), as long as an effective
  neighborhood holds up to some 4000 to 8000 points.  Beyond that, columns are a stratified sample with that many
  in a neighborhood: at such bandwidths D measures curvature, not chance.
- **Degrees** are needed only at columns that an evaluation point sees, and come from `Cells`: Gaussians in place of
  points, 32 or more in an effective neighborhood.  Some of them are compared with the degrees from sixteen times as many
  cells, and the number of cells is doubled until the error is below a quarter of D(ε): at most to one cell for each point,
  unless that would take too long.  The remaining error is reported as ``degree_error``; that of D is about a hundredth.

Where the points have structure, work and memory grow like N, because rows and cells in reach of a point do not grow.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, takewhile
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ..data.multiplicity import copies_of, counts_of, weights_at
from ..data.points import PointsLike, as_points, in_unit, root_mean_square_distance, spread_pieces, spread_rows
from ..kernel import ladders
from ..laplacian import LocalScale, density_weights
from ..metric import departure
from ..runtime.progress import at_bandwidths, steps
from ..runtime.threads import Scratch, in_order
from .base import Engine, LocalMetrics
from .gaussian_cells import (
    CHECKED,
    FEWEST_CELLS,
    FINER,
    PILOT,
    Cells,
    branches,
    degree_error,
    neighborhood_share,
    runs_of,
)
from .local import Around, metrics_around
from .moments import ENOUGH_COLUMNS, ROW_REACH, Columns, metrics_from, own_columns, row_moments

__all__ = ["CellsEngine"]

# The acceptable relative error of degrees, as a share of D; and that of row sums.
_ERROR_OF_D, _ROW_SUM_ERROR = 0.25, 0.004
# Bandwidths up to this ratio have row sums over the same cells, whose errors their difference does not see.
_NEARLY = 1.02
# Up to the first number of pairs within reach, about as many effective neighborhoods, all pairs of targets and points are
# visited; never more than the third number of all pairs.
_FEW_PAIRS, _WITHIN_REACH, _MOST_PAIRS = 2 * 10**7, 8.0, 10**10
# If the neighborhoods cover less than this share of all points, it pays to drop the points outside all of them.
_FEW_SEEN = 0.3
# Up to this dimension second moments are formed; beyond, tangent bases are found by iteration.
_FEW_DIMENSIONS = 128
# In that case, evaluation points in one group, and points whose distances are computed at a time.
_GROUP, _PIECE = 25, 2**15
# Evaluation points whose moments are held at once; moments of one bandwidth that are kept, since more directions ask for the
# same again.
_ROWS, _KEPT = 1024, 2**17
# Seconds of a degree, and of an entry of a row.
_SECONDS_OF_DEGREE, _SECONDS_OF_ENTRY = 2e-6, 5e-8
# To forecast: pieces of adjacent columns and their length, and rows.
_PIECES_TIMED, _PIECE_TIMED, _FEW_ROWS = 8, 512, (2, 18)


@dataclass(frozen=True)
class _Rows:
    """Evaluation points and the columns within reach of them, at one bandwidth.

    Attributes
    ----------
    places : ndarray (n,)
    sampled : ndarray (k,)
        Places of the columns.
    columns : Columns
    runs : list of ndarray
        Runs of columns within reach of each evaluation point.
    reach : ndarray (n,)
    thinned : float
        Points that each column represents.
    """

    places: np.ndarray
    sampled: np.ndarray
    columns: Columns
    runs: list[np.ndarray]
    reach: np.ndarray
    thinned: float


class _Degrees:
    """Degrees at one bandwidth, as far as they were asked for, and the cells that they come from."""

    def __init__(self, cells: Cells, error: float, n_points: int) -> None:
        self.error = error
        self._cells, self._degrees = cells, np.full(n_points, np.nan, dtype=np.float32)

    def at(self, places: np.ndarray, sums: Callable[[Cells, np.ndarray, float], np.ndarray], eps: float) -> np.ndarray:
        new = places[np.isnan(self._degrees[places])]
        if len(new):
            self._degrees[new] = sums(self._cells, new, eps)
        return self._degrees[places].astype(float)


class CellsEngine(Engine):
    """Complete rows of the evaluation points, degrees from cells."""

    estimates = True

    def __init__(
        self,
        X: PointsLike,
        *,
        cutoff: float | None = None,
        n_jobs: int | None = None,
        scale: LocalScale | None = None,
    ) -> None:
        points = as_points(X)
        X, self._unit = points.box, points.unit
        self._order = cKDTree(X, leafsize=8).indices
        self._X = X[self._order]
        self._place = np.empty_like(self._order)  # the position of each of the caller's points here
        self._place[self._order] = np.arange(len(X))
        self._rho = np.ones(len(X)) if scale is None else scale.rho[self._order]
        self.multiplicity = points.multiplicity
        self._m = counts_of(weights_at(points.multiplicity, self._order), len(X))
        self._scale, self._cutoff = scale, cutoff
        self._all: Columns | None = None
        self._cells = cache(lambda n_cells: Cells.of(self._X, n_cells, self._rho, self._m))
        self._known: dict[float, _Degrees] = {}
        self._kept_of: Any = None
        self._kept: dict[float, tuple[np.ndarray, float]] = {}
        self._n_jobs = n_jobs

    def mean_distance(self) -> float:
        return root_mean_square_distance(self._X, None if self.multiplicity is None else self._m) * self._unit

    def nearest(self, targets: np.ndarray) -> np.ndarray:
        def of(i: int) -> float:
            sqdist = cdist(self._X[i : i + 1], self._X, "sqeuclidean")[0]
            sqdist[sqdist == 0] = np.inf
            return np.sqrt((sqdist / (self._rho[i] * self._rho)).min())

        places = self._place[targets]
        return np.array(list(in_order(of, places, n_jobs=self._n_jobs, label="nearest neighbors"))) * self._unit

    def row_sums(self, bandwidths: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
        places = np.arange(len(self._X)) if targets is None else np.sort(self._place[targets])
        sums = np.empty((len(places), len(bandwidths)))
        epsilons, first = in_unit(bandwidths, self._unit), 0.0
        for k in np.argsort(epsilons):
            eps = epsilons[k]
            if not eps <= _NEARLY * first:  # differences are those of sums over the same cells
                first, share = eps, self._share(spread_rows(len(self._X), CHECKED), eps)
                checked = list(self._checked(places, eps, share))
                cells = next((cells for cells, error in checked if error <= _ROW_SUM_ERROR), checked[-1][0])
            sums[:, k] = self._sums(cells, places, eps) - np.minimum(self._m[places], 1.0)
        back = self._place if targets is None else np.searchsorted(places, self._place[targets])
        return np.maximum(sums, copies_of(None if self.multiplicity is None else self._m, places))[back]

    def local_metrics(
        self,
        sample: np.ndarray,
        bandwidths: np.ndarray,
        degrees: np.ndarray | None = None,
        *,
        working_dim: int,
        renormalization: float = 1.0,
    ) -> LocalMetrics:
        places, found = self._place[sample], {}
        if self._kept_of != (key := (places.tobytes(), renormalization)):
            self._kept_of, self._kept = key, {}
        with steps(len(bandwidths), at_bandwidths("metrics", len(bandwidths))) as bar:
            widths = in_unit(bandwidths, self._unit)
            for k in np.argsort([-self._seconds(places, eps) for eps in widths]):
                found[k] = self._metrics_at(places, widths[k], working_dim, renormalization)
                bar.update()
        local, errors = zip(*(found[k] for k in range(len(widths))), strict=True)
        return LocalMetrics.joined(local, axis=1, degree_error=np.array(errors))

    def _seconds(self, places: np.ndarray, eps: float) -> float:
        """About how long the metrics of one bandwidth will take, to do the longest first."""
        if eps in self._kept:
            return 0.0
        share = self._share(places, eps)
        columns = min(len(self._X), self._n_columns(share))
        seen = len(places) * columns * min(1.0, _WITHIN_REACH * share)
        return _SECONDS_OF_DEGREE * min(columns, seen) + _SECONDS_OF_ENTRY * seen

    def _share(self, places: np.ndarray, eps: float) -> float:
        """The share of all points in an effective neighborhood of the given places."""
        pilot, places = spread_rows(len(self._X), PILOT), places[spread_rows(len(places), CHECKED)]
        sqdist = cdist(self._X[places], self._X[pilot], "sqeuclidean") / (self._rho[places][:, None] * self._rho[pilot])
        return neighborhood_share(sqdist, eps, cutoff=self._cutoff)

    def pilot(self, sample: np.ndarray, bandwidth: float, D: float) -> tuple[float, float]:
        """Seconds that `local_metrics` will take at one bandwidth where D is about so large: for degrees, and for a row.

        Everything is done for some of the columns and rows.
        """
        eps, places = float(in_unit([bandwidth], self._unit)[0]), self._place[sample]
        start = time.perf_counter()
        rows, share = self._rows(places, eps)
        targets = self._targets(rows, share)
        seconds, v = 0.0, np.ones(rows.columns.size)
        pieces = [targets[piece] for piece in spread_pieces(len(targets), _PIECES_TIMED, _PIECE_TIMED)]
        some = rows.sampled[np.unique(np.concatenate(pieces))]
        for cells, error in self._checked(rows.sampled[targets], eps, share):
            begin = time.perf_counter()
            self._sums(cells, some, eps)
            once = time.perf_counter() - begin
            seconds += once * (len(targets) / len(some) - 1.0)
            if error <= _ERROR_OF_D * D:
                break
        seconds += time.perf_counter() - start
        taken = []
        for n in _FEW_ROWS:
            few = replace(rows, places=places[:n], runs=rows.runs[:n], reach=rows.reach[:n])
            begin = time.perf_counter()
            self._find(few, eps, 1, v)
            taken.append(time.perf_counter() - begin)
        return seconds + taken[0], max(taken[1] - taken[0], 0.0) / (_FEW_ROWS[1] - _FEW_ROWS[0])

    def _metrics_at(self, places: np.ndarray, eps: float, dim: int, renormalization: float) -> tuple[LocalMetrics, float]:
        """LocalMetrics of one bandwidth, and the error of the degrees."""
        if eps in self._kept:
            moments, thinned = self._kept[eps]
            return self._metrics_of(moments, places, eps, dim, thinned), self._known[eps].error
        rows, share = self._rows(places, eps)
        sampled, columns = rows.sampled, rows.columns
        targets = self._targets(rows, share)
        scale = None if self._scale is None else LocalScale(columns.rho[targets], self._scale.intrinsic_dim)
        v = np.zeros(columns.size)

        def metrics_by(known: _Degrees) -> LocalMetrics:
            degrees = known.at(sampled[targets], self._sums, eps)
            v[targets] = density_weights(degrees, renormalization=renormalization, scale=scale)
            return self._find(rows, eps, dim, v)

        if eps in self._known:
            return metrics_by(self._known[eps]), self._known[eps].error
        D = np.inf
        for cells, error in self._checked(sampled[targets], eps, share):
            if error <= _ERROR_OF_D * D:
                self._known[eps] = _Degrees(cells, error, len(self._X))
                local = metrics_by(self._known[eps])
                D = float(departure(local.H).mean())
                if error <= _ERROR_OF_D * D:
                    return local, error
        self._known[eps] = _Degrees(cells, error, len(self._X))  # the best available
        return metrics_by(self._known[eps]), error

    def _rows(self, places: np.ndarray, eps: float) -> tuple[_Rows, float]:
        """Evaluation points with the columns within their reach, and the share of all points in a neighborhood."""
        share = self._share(places, eps)
        sampled, thinned = self._sampled(share, places)
        columns = self._columns(sampled)
        reach = ROW_REACH * eps * np.sqrt(self._rho[places] * self._rho.max())
        runs = [columns.near(self._X[i], distance) for i, distance in zip(places, reach, strict=True)]
        return _Rows(places, sampled, columns, runs, reach, thinned), share

    def _targets(self, rows: _Rows, share: float) -> np.ndarray:
        """The columns whose degrees are needed."""
        targets = rows.columns.seen(rows.runs)
        return self._inside(targets, rows) if len(rows.places) * share < _FEW_SEEN else targets

    def _find(self, rows: _Rows, eps: float, dim: int, v: np.ndarray) -> LocalMetrics:
        find = self._by_moments if self._X.shape[1] <= _FEW_DIMENSIONS else self._by_iteration
        return find(rows, eps, dim, v)

    def _inside(self, targets: np.ndarray, rows: _Rows) -> np.ndarray:
        """The targets within reach of at least one evaluation point."""
        columns, seen, scratch = rows.columns, np.zeros(rows.columns.size, dtype=bool), Scratch()
        for i, some, distance in zip(rows.places, rows.runs, rows.reach, strict=True):
            index = columns.points(some)
            A = columns.differences(self._X[i], some, scratch)[:, : len(index)]
            seen[index[np.einsum("rn,rn->n", A, A) <= distance**2]] = True
        return targets[seen[targets]]

    def _sampled(self, share: float, places: np.ndarray) -> tuple[np.ndarray, float]:
        """Places of the columns, ascending, and the number of points that each represents."""
        n, n_columns = len(self._X), self._n_columns(share)
        if 2 * n_columns > n:
            return np.arange(n), 1.0
        starts = branches(n, n_columns)
        rng = np.random.default_rng([0, n_columns])
        columns = starts + rng.integers(0, np.diff(starts, append=n))
        columns[np.searchsorted(starts, places, side="right") - 1] = places
        return np.union1d(columns, places), n / n_columns

    def _n_columns(self, share: float) -> int:
        return _power_of_two((ENOUGH_COLUMNS if self._X.shape[1] <= _FEW_DIMENSIONS else ENOUGH_COLUMNS // 4) / share)

    def _columns(self, sampled: np.ndarray) -> Columns:
        """The given points as columns; the columns of all points are computed once."""
        if len(sampled) < len(self._X):
            return Columns(self._X[sampled], self._rho[sampled])
        if self._all is None:
            self._all = Columns(self._X, self._rho)
        return self._all

    def _checked(self, places: np.ndarray, eps: float, share: float) -> Iterator[tuple[Cells, float]]:
        """Finer and finer cells, each with the error of their degrees at some of the places."""
        n = len(self._X)
        first = _power_of_two(FEWEST_CELLS / share)
        if 2 * first < n and len(places) * n * min(1.0, _WITHIN_REACH * share) > _FEW_PAIRS:
            # Not evenly spread: in the order of the tree that would be the edges of cells.
            checked = np.sort(np.random.default_rng(0).choice(places, min(len(places), CHECKED), replace=False))
            truth = self._sums(self._cells(min(n, FINER * first)), checked, eps, separately=True)
            for n_cells in takewhile(lambda n_cells: 2 * n_cells < n, first * 2 ** np.arange(int(np.log2(FINER)))):
                cells = self._cells(int(n_cells))
                yield cells, degree_error(self._sums(cells, checked, eps, separately=True), truth)
            if len(places) * n > _MOST_PAIRS:
                return
        yield self._cells(n), 0.0

    def _sums(self, cells: Cells, places: np.ndarray, eps: float, separately: bool = False) -> np.ndarray:
        starts = np.arange(len(places)) if separately else runs_of(places)
        rho = self._rho[places]
        sums = cells.sums(self._X[places], eps, starts, rho=rho, cutoff=self._cutoff, n_jobs=self._n_jobs)
        return np.maximum(sums, self._m[places])  # the weight of the point itself

    def _by_moments(self, rows: _Rows, eps: float, dim: int, v: np.ndarray) -> LocalMetrics:
        places, columns = rows.places, rows.columns
        scratch = Scratch()
        v, rho = columns.padded(v, 0.0), None if self._scale is None else columns.padded(columns.rho, 1.0)
        m = None if self.multiplicity is None else columns.padded(self._m[rows.sampled], 0.0)

        def of(row: tuple[int, np.ndarray, float]) -> np.ndarray:
            i, some, far = row
            scales = None if rho is None else self._rho[i] * rho
            settings: dict[str, Any] = {"rho": scales, "multiplicity": m, "cutoff": self._cutoff, "scratch": scratch}
            return row_moments(self._X[i], columns, some, far, v, eps, **settings)

        tasks = in_order(of, zip(places, rows.runs, rows.reach, strict=True), n_jobs=self._n_jobs, label=None)
        found = []
        for some in np.split(places, range(_ROWS, len(places), _ROWS)):  # moments are larger than metrics
            moments = np.array(list(islice(tasks, len(some))))
            found.append(self._metrics_of(moments, some, eps, dim, rows.thinned))
        if len(found) == 1 and moments.size <= _KEPT:
            self._kept[eps] = moments, rows.thinned
        return LocalMetrics.joined(found, axis=0)

    def _metrics_of(self, moments: np.ndarray, places: np.ndarray, eps: float, dim: int, thinned: float) -> LocalMetrics:
        return metrics_from(moments, eps, dim, rho=self._rho[places], thinned=thinned, own=self._m[places])

    def _by_iteration(self, rows: _Rows, eps: float, dim: int, v: np.ndarray) -> LocalMetrics:
        places, sampled, columns = rows.places, rows.sampled, rows.columns
        steps, scratch = ladders(np.array([eps])), Scratch()

        def of(group: np.ndarray) -> LocalMetrics:
            origin, rho = self._X[places[group]], self._rho[places[group]]
            index = columns.points(np.unique(np.concatenate([rows.runs[k] for k in group])))
            seen, sqdist = [], []
            for some in np.split(index, range(_PIECE, len(index), _PIECE)):
                d2 = cdist(origin, self._X[sampled[some]], "sqeuclidean")
                inside = np.flatnonzero((d2 <= rows.reach[group][:, None] ** 2).any(axis=0))
                seen.append(some[inside])
                sqdist.append(d2[:, inside])
            near, d2 = np.concatenate(seen), np.concatenate(sqdist, axis=1)
            row, column = np.nonzero(d2 == 0)
            m = self._m[sampled[near]]
            density_here: np.ndarray = np.bincount(row, m[column] * v[near[column]], len(group))
            d2[row, column] = np.inf
            d2 /= rho[:, None] * columns.rho[near]
            count, own = np.bincount(row, m[column], len(group)), self._m[places[group]]
            units = own_columns(count, rows.thinned, own)
            density_here *= units / np.maximum(count, own)
            points = self._X[sampled[near]]
            around = Around(origin, points, d2, v[near, None], units, density_here[:, None], rho, m)
            return metrics_around(around, steps, dim, cutoff=self._cutoff, scratch=scratch)

        groups = np.array_split(np.argsort(places), -(-len(places) // _GROUP))
        found = LocalMetrics.joined(list(in_order(of, groups, n_jobs=self._n_jobs, label=None)), axis=0)
        found = found.at(np.argsort(np.concatenate(groups)))
        return replace(found, effective=rows.thinned * found.effective)


def _power_of_two(least: float) -> int:
    return 2 ** int(np.ceil(np.log2(least)))
