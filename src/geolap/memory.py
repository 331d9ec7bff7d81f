"""Available memory, checked before it is used."""

from pathlib import Path

from .sentences import Sentence

try:
    import resource
except ImportError:  # not on every system
    resource = None  # type: ignore[assignment]

__all__ = ["available_memory", "in_words", "require_memory"]


def available_memory() -> float:
    """Bytes that this process may still use: the smallest limit of machine, control group and process."""
    limits = [_free_of_machine(), _free_of_group()]
    for limit, used in (("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")) if resource else ():
        soft, _ = resource.getrlimit(getattr(resource, limit))
        if soft != resource.RLIM_INFINITY:
            limits.append(soft - _entry("/proc/self/status", used, 0.0))
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
    return _entry("/proc/meminfo", "MemAvailable", float("inf"))


def _free_of_group() -> float:
    """What a control group (a container, a batch system) leaves free; cached files count as free."""
    group = "/sys/fs/cgroup"
    most, used = _lines(f"{group}/memory.max"), _lines(f"{group}/memory.current")
    if not (most and used and most[0].isdigit()):
        return float("inf")
    cached = next(
        (float(line.split()[1]) for line in _lines(f"{group}/memory.stat") if line.startswith("inactive_file")), 0.0
    )
    return float(most[0]) - float(used[0]) + cached


def _entry(file: str, name: str, default: float) -> float:
    """An entry of one of the system's tables, converted from kilobytes to bytes."""
    return next((1024.0 * int(line.split()[1]) for line in _lines(file) if line.startswith(name)), default)


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text().splitlines()
    except OSError:
        return []
