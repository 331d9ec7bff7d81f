"""Selectors by name on the same points, with a seed and a clock."""

import time
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..selection import Selection
from ..selectors import BandwidthSelector

__all__ = ["PAPER", "selected", "timed"]

# As the paper has it: 200 evaluation points, whatever they decide.
PAPER: dict[str, Any] = {"n_sample": 200}

Given = ParamSpec("Given")
Result = TypeVar("Result")


def timed(function: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> tuple[Result, float]:
    """What a call returns, and its seconds."""
    start = time.perf_counter()
    result = function(*args, **kwargs)
    return result, time.perf_counter() - start


def selected(
    X: np.ndarray, selectors: Mapping[str, BandwidthSelector], seed: int
) -> tuple[dict[str, Selection], dict[str, float]]:
    """The selection of every selector, and the seconds that it took."""
    selections, seconds = {}, {}
    for name, selector in selectors.items():
        if "random_state" in selector.get_params():
            selector.set_params(random_state=seed)
        fitted, seconds[name] = timed(selector.fit, X)
        selections[name] = fitted.selection_
    return selections, seconds
