"""How a result is shown without knowing who shows it.

A result inherits what it can do: `Plotted`, `Carded` or `Paged`.  A display registers itself for the type of result that it
shows.  The package says in which module displays of each kind are found, and that module is loaded when the first result
asks for one.  So displays know results, and results know no display.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["Carded", "Displays", "Paged", "Plotted", "cards", "pages", "plots"]

_Display = TypeVar("_Display", bound=Callable[..., Any])


class Displays:
    """The displays of one kind: a callable for each type of result, from a module that registers them when it is loaded."""

    def __init__(self) -> None:
        self._module: str | None = None
        self._of: dict[type, Callable[..., Any]] = {}

    def found_in(self, module: str) -> None:
        """Say which module registers them."""
        self._module = module

    def register(self, kind: type) -> Callable[[_Display], _Display]:
        """A decorator: what it decorates shows results of this type."""

        def registered(display: _Display) -> _Display:
            self._of[kind] = display
            return display

        return registered

    def __call__(self, result: object, **options: Any) -> Any:
        """What the display for a result of this type makes of it."""
        if self._module is not None:
            import_module(self._module)
        for kind in type(result).__mro__:
            if kind in self._of:
                return self._of[kind](result, **options)
        raise TypeError(f"A result needs a display for its type; {type(result).__name__} has none: register one.")


plots, cards, pages = Displays(), Displays(), Displays()


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
