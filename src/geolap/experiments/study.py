"""Study: what an experiment returns.  Plain records, claims that hold or not, and remarks; stored as JSON.

Tables are lists of records, read with `where`, `column` and `distinct`; evidence is written with `spread` and `listed`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Claim", "Record", "Study", "column", "compared", "distinct", "listed", "names", "spread", "statistic", "where"]

Record = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """A statement that the numbers support or refute.

    Attributes
    ----------
    text : str
    holds : bool
    evidence : str
        The numbers it was decided on.
    """

    text: str
    holds: bool
    evidence: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", bool(self.holds))  # JSON does not know NumPy's


@dataclass(frozen=True)
class Study:
    """The result of one experiment.

    Attributes
    ----------
    name, title, about : str
        ``about`` says in a sentence or two what was done.
    tables : dict of lists of records
        Every number, as plain values.  The same on every run, except for tables called ``seconds``.
    shown : dict
        Captions of the tables shown on the page; the others only go into files and pictures.
    claims : tuple of Claim
    remarks : tuple of str
        Where and why the results differ from the published ones.
    quick : bool
        Whether it was run on fewer and smaller samples.
    """

    name: str
    title: str
    about: str
    tables: dict[str, list[Record]]
    shown: dict[str, str]
    claims: tuple[Claim, ...] = ()
    remarks: tuple[str, ...] = ()
    quick: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Study":
        content = json.loads(text)
        claims = tuple(Claim(**claim) for claim in content.pop("claims"))
        return cls(**content | {"claims": claims, "remarks": tuple(content["remarks"])})


def compared(ours: float | None, paper: float | None) -> Record:
    """Our value beside the published one, and their ratio; None where there is none."""
    return {"ours": ours, "paper": paper, "ratio": None if paper is None or ours is None else ours / paper}


def where(rows: Iterable[Record], **values: object) -> list[Record]:
    """The records that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def column(rows: Iterable[Record], name: str) -> np.ndarray:
    """One number of every record; NaN for None."""
    return np.array([row[name] for row in rows], dtype=float)


def statistic(rows: Iterable[Record], name: str, function: Callable[[np.ndarray], float] = np.mean) -> float | None:
    """A statistic, by default the mean, of the values of a column that are not None; None if all are."""
    values = [row[name] for row in rows if row[name] is not None]
    return float(function(np.array(values))) if values else None


def distinct(rows: Iterable[Record], name: str) -> list[Any]:
    """The different values of a column, in order of appearance."""
    return list(dict.fromkeys(row[name] for row in rows))


def names(rows: Sequence[Record]) -> list[str]:
    """The columns of a table; not every record has to have all of them."""
    return list(dict.fromkeys(name for row in rows for name in row))


def spread(values: ArrayLike, form: str = ".2f") -> str:
    """Least and largest value: ``0.31 to 0.52``."""
    return f"{np.min(values):{form}} to {np.max(values):{form}}"


def listed(values: Mapping[str, float], form: str = ".2f") -> str:
    """Names and values: ``digit1 0.31, usps 0.52``."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())
