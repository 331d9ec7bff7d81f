"""Features: what is odd about the columns of a table, before distances are taken from it.

One look at the points as they were given, on no more rows and entries than a moment allows:

* one feature has nearly all of the variance, so its unit decides every distance;
* a column counts the rows, or holds classes, years, or dates written as numbers;
* one value, such as −999, is repeated far from all others, as codes for missing values are;
* all values lie on a coarse grid, or many rows are copies;
* the table is a matrix of distances.

Nothing is changed, and nothing is known for certain: whoever knows the data decides.
"""

import numpy as np

from ..sentences import TIME, Remark, Sentence
from .points import spread_rows

__all__ = ["feature_remarks"]

# Most rows and entries that are looked at, and fewest rows; rows in which every column is asked whether it has few values.
_ROWS, _ENTRIES, _FEWEST, _FIRST = 20_000, 4_000_000, 20, 1000
# Share of the variance from which one feature dominates, and of the rows from which copies are told.
_DOMINANT, _COPIES = 0.9, 0.05
# Most values of a column of classes, fewest rows for each of them, and which share of the other columns must have fractions.
_CLASSES, _ROWS_EACH, _FRACTIONS = 20, 10, 0.75
# Most values of each feature on a coarse grid.
_COARSE = 10
# Whole numbers are exact up to here; a standardized column is known to this share.
_EXACT, _ROUNDING = 2.0**53, 1e-9
# Codes for missing values: nines, and large numbers of common formats; in single precision, as they may have been stored.
_NINES = [10.0**k - 1.0 for k in range(1, 8)] + [99.9, 999.9, 9999.9]
_CODES = np.array([*_NINES, 1e20, 1e30, 3.4e38, np.finfo(np.float32).max, 9.969209968386869e36], np.float32)
# Least number and share of the rows that hold the code, and how far it is from the others, in ranges of these.  Nine is less
# rare: it must be held more often, and farther.
_CODED, _CODED_SHARE, _FAR = 2, 0.001, 0.5
_NINE, _NINE_CODED, _NINE_FAR = 9.0, 5, 1.0
# Years, also those of dates that are written as numbers.
_YEARS = 1900, 2100
# Most rows of a matrix that is asked whether it holds distances.
_MOST_SQUARE = 5000
# What is said about one column, by the kind of the remark.
_TEXTS = {
    "index": "Feature {feature} increases by the same amount from row to row, as row numbers do: unless it was measured, "
    "use {drop|the other columns}.",
    "label": "Feature {feature} takes only {values} equally spaced values, while most other features take more: if it holds "
    "classes, use it as {labels|y}.",
    "time": TIME,
    "date": "Feature {feature} looks like dates written as numbers, so its differences are not durations: use days since a "
    "start date instead, or {drop|the other columns}.",
    "missing_code": "Feature {feature} contains {value} {times}, far from all its other values{others}: if it is a code for "
    "missing values, use {na_values|the rows without it}.",
    "dominant": "Feature {feature} has {percent} of the variance, so it dominates the distances: if the features have "
    "different units, use {standardize|scikit-learn's StandardScaler} first.",
}


def feature_remarks(X: np.ndarray) -> tuple[Remark, ...]:
    """What is odd about the points X (n_points, n_features), as they were given; most often nothing.

    Examples
    --------
    >>> mm_and_km = np.column_stack([1000.0 * np.sin(np.arange(100)), np.cos(np.arange(100))])
    >>> [(remark.kind, remark.feature) for remark in feature_remarks(mm_and_km)]
    [('dominant', 0)]
    """
    n, r = X.shape
    if n < _FEWEST or r == 0:
        return ()
    rows = spread_rows(n, min(_ROWS, max(5 * _FEWEST, _ENTRIES // r)))
    with np.errstate(all="ignore"):
        some = np.asarray(X[rows], dtype=np.float64) + 0.0  # there is no −0
        if not np.isfinite(some).all():
            return ()
        columns = _Columns(some, rows)
        counts = columns.that_count_rows()
        label = columns.label()
        remarks = [columns.remark("index", feature) for feature in counts]
        remarks += [] if label is None else [columns.about_label(label)]
        remarks += [columns.remark("date", feature) for feature in columns.dates() if feature not in (*counts, label)]
        codes = columns.missing_codes()
        remarks += [_missing_code(columns, codes, n)] if codes else []
        told = {*(remark.feature for remark in remarks), *(feature for feature, *_ in codes)}
        remarks += _dominant(columns, told) + _discrete(columns, n) + _duplicates(some) + _distances(X)
    return tuple(remarks)


class _Columns:
    """Some rows of the points, and what is known of each column."""

    def __init__(self, some: np.ndarray, rows: np.ndarray) -> None:
        self.some, self.rows = some, rows
        low, high = some.min(axis=0), some.max(axis=0)
        self.low, self.high, self.varies = low, high, low < high
        self.whole = (np.maximum(-low, high) <= _EXACT) & (np.rint(some) == some).all(axis=0)
        self.shares = _shares(some)
        n, spread = len(some), some.std(axis=0)  # by n or n − 1
        self.standard = (np.abs(some.mean(axis=0)) < _ROUNDING) & (spread > 1.0 - 1.0 / n) & (spread < 1.0 + _ROUNDING)
        first = np.sort(some[spread_rows(len(some), _FIRST)], axis=0)
        self.few = (np.diff(first, axis=0) > 0).sum(axis=0) < _CLASSES

    @property
    def _whole_steps(self) -> np.ndarray:
        step = (self.some[1] - self.some[0]) / (self.rows[1] - self.rows[0])
        return self.whole & (np.rint(step) == step)

    def values(self, feature: int) -> np.ndarray:
        """The different values of a column, ascending."""
        return np.unique(self.some[:, feature])

    def that_count_rows(self) -> list[int]:
        """Columns of whole numbers, or standardized, at equal steps; none if all are so, as then they are the data."""
        some, rows = self.some, self.rows
        expected = some[0] + (some[-1] - some[0]) * ((rows - rows[0]) / (rows[-1] - rows[0]))[:, None]
        even = (np.abs(some - expected) <= _ROUNDING * np.abs(some).max(axis=0)).all(axis=0)
        counts = [int(j) for j in np.flatnonzero(self.varies & even & (self._whole_steps | self.standard))]
        return counts if len(counts) < self.varies.sum() else []

    def label(self) -> int | None:
        """The one column of a few consecutive whole numbers, or of two, among columns with fractions; or standardized."""
        possible = np.flatnonzero(self.varies & self.few & (self.whole | self.standard))
        others = self.varies.sum() - 1
        if len(possible) != 1 or others < 1:
            return None
        plain = ~self.whole if self.whole[possible[0]] else ~self.few
        if (self.varies & plain).sum() < _FRACTIONS * others:
            return None
        values = self.values(possible[0])
        if self.whole[possible[0]]:
            close = values[-1] - values[0] == len(values) - 1 or (len(values) == 2 and values[-1] - values[0] == 2)
        else:
            close = np.ptp(np.diff(values)) < _ROUNDING
        return int(possible[0]) if close and len(values) <= min(_CLASSES, len(self.some) / _ROWS_EACH) else None

    def about_label(self, feature: int) -> Remark:
        """What is said of a column that may hold classes, or years."""
        first, last = _YEARS
        years = self.whole[feature] and first <= self.low[feature] and self.high[feature] <= last
        return self.remark("time" if years else "label", feature, values=len(self.values(feature)))

    def remark(self, kind: str, feature: int, **values: object) -> Remark:
        """A remark on one column."""
        return Remark(kind, Sentence(_TEXTS[kind], feature=feature, **values), feature, float(self.shares[feature]))

    def dates(self) -> list[int]:
        """Columns of whole numbers that are all days of the calendar, as 20200131 is."""
        first, last = (10_000 * year for year in _YEARS)
        possible = np.flatnonzero(self.varies & self.whole & (self.low > first) & (self.high < last))
        return [int(j) for j in possible if _are_days(self.some[:, j].astype(int))]

    def missing_codes(self) -> list[tuple[int, float, int]]:
        """Columns with a code for missing values, which it is, and how many rows have it."""
        found = []
        for ends in (self.low, self.high):
            possible = self.varies & np.isin(np.abs(ends).astype(np.float32), _CODES)
            for j in np.flatnonzero(possible).tolist():
                code, there = float(ends[j]), self.some[:, j] == ends[j]
                least = max(_NINE_CODED if abs(code) == _NINE else _CODED, _CODED_SHARE * len(there))
                if there.sum() >= least and _stands_apart(code, self.some[~there, j]):
                    found.append((j, code, int(there.sum())))
        return sorted(found)


def _are_days(numbers: np.ndarray) -> bool:
    """Whether all are days of the calendar, written yyyymmdd."""
    months, days = numbers // 100 % 100, numbers % 100
    if not ((months >= 1) & (months <= 12) & (days >= 1)).all():
        return False
    begin = (numbers // 10_000 * 12 + months - 1 - 1970 * 12).astype("M8[M]")
    return bool((days <= ((begin + 1).astype("M8[D]") - begin.astype("M8[D]")).astype(int)).all())


def _stands_apart(code: float, others: np.ndarray) -> bool:
    """Whether a value is as far from all others as codes are, and not the tail of a column that hardly varies."""
    gap, spread = np.abs(others - code).min(), np.ptp(others)
    lower, upper = np.quantile(others, [0.25, 0.75])
    of_other_sign = others.min() >= 0 > code or others.max() <= 0 < code
    far = gap >= _NINE_FAR * spread if abs(code) == _NINE else gap > _FAR * spread
    return bool(far and (lower < upper or of_other_sign))


def _shares(some: np.ndarray) -> np.ndarray:
    """Each column's share of the total variance, for any magnitude of the data."""
    halves = 0.5 * some
    halves -= 0.5 * some[len(some) // 2]  # half the differences never overflow
    largest = np.abs(halves).max()
    if largest == 0:
        return np.zeros(some.shape[1])
    halves /= largest
    variances = halves.var(axis=0)
    return variances / variances.sum()


def _missing_code(columns: _Columns, codes: list[tuple[int, float, int]], n_points: int) -> Remark:
    """One remark, on the feature with the most: such codes are often in many columns."""
    feature, value, times = max(codes, key=lambda each: each[2])
    short = f"{value:g}" if float(f"{value:g}") == value else repr(value)
    more = len({each[0] for each in codes}) - 1
    others = f" ({more} other feature{'s' if more > 1 else ''} too)" if more else ""
    held = f"{times} times" if len(columns.some) == n_points else f"{times} times in {len(columns.some)} rows"
    return columns.remark("missing_code", feature, value=short, times=held, others=others)


def _dominant(columns: _Columns, told: set[int | None]) -> list[Remark]:
    """The feature with nearly all of the variance, unless something else is wrong with it."""
    feature = int(np.argmax(columns.shares))
    share = float(columns.shares[feature])
    if columns.varies.sum() < 2 or share <= _DOMINANT or feature in told:
        return []
    return [columns.remark("dominant", feature, percent=_percent(share))]


def _discrete(columns: _Columns, n_points: int) -> list[Remark]:
    """Whether all values lie on a grid so coarse that a point has fewer distances than there are points.

    On a grid of step g, where column j spans k_j steps, squared distances are g² times whole numbers up to Σ k_j².
    """
    features = np.flatnonzero(columns.varies).tolist()
    if not features or not columns.few[features].all():
        return []
    values = [columns.values(feature) for feature in features]
    most = max(map(len, values))
    if most > _COARSE:
        return []
    step = min(float(np.diff(v).min()) for v in values)
    places = [(v - v[0]) / step for v in values]
    distances = 1.0 + float(sum(np.rint(p[-1]) ** 2 for p in places))
    on_grid = all(np.allclose(p, np.rint(p), rtol=0, atol=1e-6) for p in places)
    if not (on_grid and distances < n_points):  # also where the steps overflow
        return []
    text = Sentence(
        "No feature takes more than {values} values, so distances take at most {distances} values, none between 0 and "
        "{step:.3g}: treat the bandwidth with caution, or add features with finer values.",
        values=most,
        distances=int(distances),
        step=step,
    )
    return [Remark("discrete", text, step=step)]


def _distances(X: np.ndarray) -> list[Remark]:
    """Whether a square matrix is one of distances: symmetric, positive, with a diagonal of zeros."""
    n, r = X.shape
    if n != r or n > _MOST_SQUARE or np.diagonal(X).any() or X.min() < 0 or not X.any() or not np.array_equal(X, X.T):
        return []
    text = Sentence(
        "The matrix is symmetric, with zeros on its diagonal, and was read as features: if it contains distances, set "
        "{metric=precomputed}."
    )
    return [Remark("distances", text)]


def _duplicates(some: np.ndarray) -> list[Remark]:
    share = (len(some) - len({row.tobytes() for row in some})) / len(some)
    if share <= _COPIES:
        return []
    text = Sentence(
        "{percent} of the points are copies of others: remove the copies, unless they were measured separately.",
        percent=_percent(share),
    )
    return [Remark("duplicates", text, share=share)]


def _percent(share: float) -> str:
    """A share below one, rounded without becoming one."""
    return f"{min(100.0 * share, 99.9):.3g} %"
