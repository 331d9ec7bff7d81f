"""Attributes that are computed once, when first asked for."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 (named as the one it replaces)
        """`functools.cached_property` without its lock, as from Python 3.12 on: before, all instances share one, fits on two
        threads wait for each other, and a process forked from one of them waits forever."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function, self._name = function, function.__name__
            self.__doc__ = function.__doc__

        def __get__(self, instance: Any, owner: type) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._function(instance)
            return value
