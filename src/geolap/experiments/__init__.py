"""The paper's experiments, each a function that returns a `Study` of plain records; `reproduce` runs and writes them."""

from .figure1 import figure1
from .figure2 import figure2
from .figure3 import figure3
from .graphs import graphs
from .labels import run_sets
from .reproduction import STUDIES, reproduce
from .study import Claim, Study
from .tables import table1, table2
from .truth import truth

__all__ = [
    "STUDIES",
    "Claim",
    "Study",
    "figure1",
    "figure2",
    "figure3",
    "graphs",
    "reproduce",
    "run_sets",
    "table1",
    "table2",
    "truth",
]
