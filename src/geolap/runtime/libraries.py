"""Libraries that only some users need: imported where they are used, and named where they are missing."""

from importlib import import_module
from typing import Any

__all__ = ["needed"]


def needed(name: str, extra: str, whose: str) -> Any:
    """Import a module; if its package is not installed, say what needs it (``whose``) and which extra brings it."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(f"{whose} {package}, which is not installed: pip install 'geolap[{extra}]'.") from None
