"""Results of dask's tasks, wherever they run; a cluster that does not last until they are done is a sentence."""

import warnings
from concurrent.futures import CancelledError
from typing import Any

__all__ = ["computed"]


def computed(*tasks: Any) -> tuple[Any, ...]:
    """The results of delayed tasks, or of dask arrays, by the current scheduler."""
    import dask

    try:
        with warnings.catch_warnings():  # what all tasks share, such as cells that stand for the points, is meant to travel
            warnings.filterwarnings("ignore", message="Sending large graph")
            return dask.compute(*tasks)
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:100].rstrip(".: ")
        if type(error).__name__ == "KilledWorker":
            raise RuntimeError(
                f"A chunk must fit into the memory of a worker; workers with one were lost ({said}): use smaller chunks, "
                "X.rechunk({0: 'auto'}), or larger workers."
            ) from error
        if isinstance(error, CancelledError) or type(error).__module__.startswith("distributed"):
            raise RuntimeError(
                f"A cluster must stay alive until the work is done; this one was restarted or lost ({said}): reconnect to "
                "it, and repeat the call."
            ) from error
        raise
