"""Run independent pieces of work on threads, in an order that does not depend on how many there are.

NumPy releases the interpreter lock inside its loops, so threads are enough.  Three things make the results a function
of the input alone: tasks are cut without looking at the number of threads, results come back in the order of the
tasks, and each task uses one BLAS thread.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController
from tqdm.auto import tqdm

__all__ = ["available_threads", "checkpoint", "in_order"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def available_threads() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(function: Callable[[Task], Result], tasks: Iterable[Task], *, threads: int, label: str) -> Iterator[Result]:
    """Yield ``function(task)`` for every task, in order, computing ahead on ``threads`` threads.

    A progress bar appears on a terminal when the work lasts longer than a second.  An interrupt (Ctrl-C) drops all
    tasks that have not begun and ends the others at their next `checkpoint`.
    """
    tasks = list(tasks)
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    stop = threading.Event()

    def quietly(task: Task) -> Result:
        _here.stop = stop
        with np.errstate(under="ignore"):  # weights of distant points are meant to vanish
            return function(task)

    try:
        with _one_blas_thread(), tqdm(total=len(tasks), desc=label, disable=None, delay=1.0, leave=False) as bar:
            for task in tasks:
                # A short queue: results that wait for their turn take memory.
                if len(waiting) >= 4 * threads:
                    yield waiting.popleft().result()
                    bar.update()
                waiting.append(pool.submit(quietly, task))
            while waiting:
                yield waiting.popleft().result()
                bar.update()
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)


_here = threading.local()


def checkpoint():
    """End the running task if nobody waits for its result any more."""
    if _here.stop.is_set():
        raise CancelledError


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limit: Any = None


@cache
def _blas():
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def _one_blas_thread():
    """Hold BLAS at one thread while anybody is inside.

    The limit is a property of the process, so it is counted: with several callers at once the first sets it and the last
    puts back what the first found.
    """
    global _blas_users, _blas_limit
    with _blas_lock:
        if _blas_users == 0:
            _blas_limit = _blas().limit(limits=1)
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limit.restore_original_limits()
                _blas_limit = None
