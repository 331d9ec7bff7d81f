"""Run independent tasks on threads, with results that do not depend on the number of threads.

NumPy releases the interpreter lock inside its loops, so threads are enough.  Three things make the results a function
of the input alone: the division into tasks ignores the number of threads, results come back in the order of the tasks,
and each task uses one BLAS thread.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from numpy.typing import DTypeLike
from threadpoolctl import ThreadpoolController
from tqdm.auto import tqdm

from ..sentences import refusal
from .progress import steps

__all__ = ["Scratch", "beside", "checkpoint", "heard", "in_order", "one_blas_thread", "thread_count"]

# More threads than any machine has cores: somebody meant something else.
_MOST_JOBS = 10**6
Task = TypeVar("Task")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``: every core that the process may use for None and −1, all but one for −2, and so on.

    Unlike processes, threads share the points and cost nothing to start, so None means all of them.
    """
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and 0 < abs(n_jobs) <= _MOST_JOBS):
        raise refusal(
            "{n_jobs} must be a whole number of at least 1; {value!r} was given: choose one, or -1 for every core.",
            value=n_jobs,
        )
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    return max(1, cpu_count() + 1 + (-1 if n_jobs is None else n_jobs))


def in_order(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, n_jobs: int | None = None, label: str | None = None
) -> Iterator[Result]:
    """Yield ``function(task)`` for every task, in order, computing ahead on `thread_count` of ``n_jobs`` threads.

    With a label, a progress bar appears on a terminal when the work takes longer than a second.  An interrupt (Ctrl-C) drops
    all tasks that have not started and ends the others at their next `checkpoint`.
    """
    tasks = list(tasks)
    threads = thread_count(n_jobs)
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    stop = threading.Event()

    def quietly(task: Task) -> Result:
        _here.stop = stop
        with np.errstate(under="ignore"):  # weights of distant points are meant to vanish
            return function(task)

    try:
        with one_blas_thread, steps(len(tasks), label) as bar:
            for task in tasks:
                # A short queue, because waiting results take memory.
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


def heard(function: Callable[..., Result], *args: Any) -> Result:
    """``function(*args)`` of native code that takes long, on a thread of its own: meanwhile an interrupt is heard here.

    After one, the function ends at its next `checkpoint`.
    """
    with beside(function, *args, n_jobs=2) as result:
        return result()


@contextmanager
def beside(function: Callable[..., Result], *args: Any, n_jobs: int | None = None) -> Iterator[Callable[[], Result]]:
    """``function(*args)`` on a thread of its own while other work goes on; the result is that of the call that is yielded.

    Each fills the cores where the other keeps only one of them at work.  With one thread it waits for that call instead.
    """
    if thread_count(n_jobs) == 1:
        yield lambda: function(*args)
        return
    pool, stop = ThreadPoolExecutor(1), threading.Event()
    try:
        yield pool.submit(copy_context().run, _until, stop, function, *args).result
    finally:
        stop.set()
        pool.shutdown(wait=False)


class Scratch(threading.local):
    """Memory that each thread reuses: new memory costs page faults, which stop all threads."""

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> np.ndarray:
        """An uninitialized array; earlier contents under that name are lost."""
        size = int(np.prod(shape))
        if name not in self.__dict__ or self.__dict__[name].size < size or self.__dict__[name].dtype != dtype:
            self.__dict__[name] = np.empty(size, dtype)
        return self.__dict__[name][:size].reshape(shape)


_here = threading.local()


def _until(stop: threading.Event, function: Callable[..., Result], *args: Any) -> Result:
    """``function(*args)``, whose checkpoints end it when that is set."""
    _here.stop = stop
    return function(*args)


def checkpoint() -> None:
    """End the running task if its result is no longer needed."""
    if _here.stop.is_set():
        raise CancelledError


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def _overruled() -> Iterator[None]:
    """One BLAS thread where a limit that somebody else holds keeps more of them, and later as many as that limit says.

    While a thread holds a limit, OpenBLAS's own function is not called by the public one for any other thread.
    """
    more = [(library, library.num_threads) for library in _blas().lib_controllers if (library.num_threads or 1) > 1]
    for library, _ in more:
        getattr(library, "_real_set_num_threads", library.set_num_threads)(1)
    try:
        yield
    finally:
        for library, n_threads in more:
            getattr(library, "_real_set_num_threads", library.set_num_threads)(n_threads)


class _OneBlasThread:
    """Holds BLAS at one thread while any user is inside.

    The limit belongs to the process, so users are counted: the first sets it, the last restores the previous one.
    A separate thread does both, because the library lets only the thread that set the limit restore it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._leave = threading.Event()
        self._keeper = threading.Thread()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                held = threading.Event()
                self._leave = threading.Event()
                self._keeper = threading.Thread(target=self._keep, args=(held, self._leave), daemon=True)
                self._keeper.start()
                held.wait()
            self._users += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._leave.set()
                self._keeper.join()

    @staticmethod
    def _keep(held: threading.Event, leave: threading.Event) -> None:
        try:
            with _blas().limit(limits=1), _overruled():
                held.set()
                leave.wait()
        finally:
            held.set()  # better without the limit than waiting forever

    def steady(self) -> None:
        """Nobody enters or leaves until `moving`, or until `renewed` in a forked process."""
        self._lock.acquire()

    def moving(self) -> None:
        self._lock.release()

    def renewed(self) -> bool:
        """In a forked process, whether somebody was inside: nobody is here to leave, BLAS stays at one thread."""
        self._lock, self._users = threading.Lock(), min(self._users, 1)
        return self._users > 0


one_blas_thread = _OneBlasThread()


def _before_fork() -> None:
    _here.alone = threading.active_count() == 1
    one_blas_thread.steady()


def _in_fork() -> None:
    """Locks that other threads of the parent held would never open here: ours are new, and OpenBLAS takes its own only for
    several threads and to change their number."""
    tqdm.set_lock(threading.RLock())
    if not one_blas_thread.renewed() and not _here.alone:
        _blas().limit(limits=1)


if hasattr(os, "register_at_fork"):  # not on every system
    os.register_at_fork(before=_before_fork, after_in_parent=one_blas_thread.moving, after_in_child=_in_fork)
