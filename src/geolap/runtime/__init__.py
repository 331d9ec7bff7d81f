"""What work runs on: threads, memory, progress, tasks of dask, libraries that may be missing.  Knows no mathematics."""

__all__: list[str] = []
