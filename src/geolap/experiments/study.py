"""Study: what an experiment answers with.  Plain records, claims that hold or not, and remarks; stored as JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Claim", "Study", "compared"]

Record = dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """A statement that the numbers support or not.

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

    def __post_init__(self):
        object.__setattr__(self, "holds", bool(self.holds))  # not NumPy's, which JSON does not know


@dataclass(frozen=True)
class Study:
    """The result of one experiment.

    Attributes
    ----------
    name, title, about : str
        ``about`` says in a sentence or two what was done.
    tables : dict of lists of records
        Every number, as plain values.  The same on every run, but for tables called ``seconds``.
    shown : dict
        Captions of the tables to print on the page; the others are for files and pictures.
    claims : tuple of Claim
    remarks : tuple of str
        Where the results differ from the published ones, and why.
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
    def from_json(cls, text) -> "Study":
        content = json.loads(text)
        claims = tuple(Claim(**claim) for claim in content.pop("claims"))
        return cls(**content | {"claims": claims, "remarks": tuple(content["remarks"])})


def compared(ours, paper) -> Record:
    """Our value beside the published one, and their ratio; None where nothing was published."""
    return {"ours": ours, "paper": paper, "ratio": None if paper is None or ours is None else ours / paper}
