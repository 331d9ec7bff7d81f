"""Available memory, checked before it is used."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..sentences import Sentence

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

__all__ = ["available_memory", "in_words", "require_memory"]


def available_memory() -> float:
    """Bytes that this process may still use: the smallest limit of machine, control groups and process."""
    limits = [_free_of_machine(), *_free_of_groups()]
    for limit, used in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")):
        soft = resource.getrlimit(getattr(resource, limit))[0] if hasattr(resource, limit) else None
        if soft is not None and soft != resource.RLIM_INFINITY:
            limits.append(soft - (_entry("/proc/self/status", used) or _psutil().Process().memory_info().vms))
    return max(0.0, min(limits))


def require_memory(needed: float, what: str, advice: str) -> None:
    """Raise a MemoryError, before anything is allocated, if fewer bytes are available.

    ``advice`` is a template of `geolap.sentences.Sentence`.
    """
    available = available_memory()
    if needed > available:
        raise MemoryError(
            Sentence(
                "{what} needs about {needed} of memory; {available} are available: " + advice + ".",
                what=what,
                needed=in_words(needed),
                available=in_words(available),
            )
        )


def in_words(n_bytes: float) -> str:
    """A readable size, such as 1.2 GB."""
    for unit in ("bytes", "KB", "MB", "GB", "TB"):
        if n_bytes < 1000 or unit == "TB":
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000.0
    raise AssertionError


def _free_of_machine() -> float:
    return _entry("/proc/meminfo", "MemAvailable") or float(_psutil().virtual_memory().available)


def _psutil() -> Any:
    """The library that knows where there is no /proc; not needed, and not installed, on Linux."""
    import psutil

    return psutil


def _free_of_groups() -> Iterator[float]:
    """What control groups (a container, a batch system), each inside the next, leave free; cached files count as free.

    A line of the system's list is ``number:controllers:path``; version 2 has one tree and names no controllers.
    """
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names = Path("/sys/fs/cgroup"), ("memory.max", "memory.current", "inactive_file")
        elif controllers == "memory":
            root, names = (
                Path("/sys/fs/cgroup/memory"),
                (
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                    "total_inactive_file",
                ),
            )
        else:
            continue
        group = root / path.strip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):  # a container sees its own group as the root
                yield _free_of_group(folder, *names)


def _free_of_group(folder: Path, limit: str, usage: str, cached: str) -> float:
    most, used = _lines(folder / limit), _lines(folder / usage)
    if not (most and used and most[0].isdigit()):
        return float("inf")
    files = (float(line.split()[1]) for line in _lines(folder / "memory.stat") if line.startswith(cached))
    return float(most[0]) - float(used[0]) + next(files, 0.0)


def _entry(file: str, name: str) -> float | None:
    """An entry of one of the system's tables, converted from kilobytes to bytes; None where there is no such table."""
    return next((1024.0 * int(line.split()[1]) for line in _lines(file) if line.startswith(name)), None)


def _lines(file: str | Path) -> list[str]:
    try:
        return Path(file).read_text().splitlines()
    except OSError:
        return []
