"""Available memory, checked before it is used."""

from pathlib import Path

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


def require_memory(needed, what, advice):
    """Raise a MemoryError, before anything is allocated, if fewer bytes are available."""
    available = available_memory()
    if needed > available:
        raise MemoryError(f"{what} needs about {in_words(needed)} of memory; {in_words(available)} are available: {advice}.")


def in_words(n_bytes) -> str:
    """A readable size, such as 1.2 GB."""
    for unit in ("bytes", "KB", "MB", "GB", "TB"):
        if n_bytes < 1000 or unit == "TB":
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000.0
    raise AssertionError


def _free_of_machine():
    return _entry("/proc/meminfo", "MemAvailable", float("inf"))


def _free_of_group():
    """What a control group (a container, a batch system) leaves free; cached files count as free."""
    group = "/sys/fs/cgroup"
    most, used = _lines(f"{group}/memory.max"), _lines(f"{group}/memory.current")
    if not (most and used and most[0].isdigit()):
        return float("inf")
    cached = next(
        (float(line.split()[1]) for line in _lines(f"{group}/memory.stat") if line.startswith("inactive_file")), 0.0
    )
    return float(most[0]) - float(used[0]) + cached


def _entry(file, name, default):
    """An entry of one of the system's tables, converted from kilobytes to bytes."""
    return next((1024.0 * int(line.split()[1]) for line in _lines(file) if line.startswith(name)), default)


def _lines(file):
    try:
        return Path(file).read_text().splitlines()
    except OSError:
        return []
