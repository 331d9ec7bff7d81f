"""Selectors by name on the same points, with a seed and a clock."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.points import Points
from ..selection import Selection
from ..selectors import BandwidthSelector
from ..selectors.base import with_its_own

__all__ = ["PAPER", "selected"]

# As the paper has it: 200 evaluation points, whatever they decide.
PAPER: dict[str, Any] = {"n_sample": 200}


def selected(
    X: np.ndarray, selectors: Mapping[str, BandwidthSelector], seed: int
) -> tuple[dict[str, Selection], dict[str, float]]:
    """The selection of every selector, and the seconds that it took."""
    selections, seconds = {}, {}
    for name, selector in selectors.items():
        selections[name], seconds[name] = with_its_own(selector, random_state=seed).timed(Points.of(X))
    return selections, seconds
