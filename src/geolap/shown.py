"""How a result is shown without knowing who shows it.

A result inherits what it can do: `Plotted`, `Carded` or `Paged`.  A display registers itself for the type of result that it
shows.  The module in which displays of a kind are found is loaded when the first result asks for one.  So displays know
results, and results know no display.
"""

from collections.abc import Callable
from functools import singledispatch
from importlib import import_module
from typing import Any

__all__ = ["Carded", "Paged", "Plotted", "cards", "pages", "plots"]


def _displays(module: str) -> Any:
    """The displays of one kind: a function of a result and options, dispatched by the type of the result."""

    @singledispatch
    def display(result: object, **options: Any) -> Any:
        import_module(module)
        found: Callable[..., Any] = display.dispatch(type(result))
        if found is display.dispatch(object):
            raise TypeError(f"A result needs a display for its type; {type(result).__name__} has none: register one.")
        return found(result, **options)

    return display


plots, cards, pages = (_displays(f"geolap.display.{name}") for name in ("plots", "notebook", "report"))


class Plotted:
    """A result that can be drawn."""

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw into the given Axes, or into those of a new figure; returns a display of `geolap.display.plots`.

        ``options`` are parameters of that display, such as ``labels`` of maps.
        """
        return plots(self, **options).plot(ax=ax)


class Carded:
    """A result that a notebook shows as a small table."""

    def _repr_html_(self) -> str:
        return cards(self)


class Paged:
    """A result that makes a page."""

    def to_html(self, *, name: str | None = None) -> str:
        """A page of HTML with charts that opens from disk; ``name`` is what to call the data."""
        return pages(self, name=name)
