"""How many threads BLAS may use: the same for a piece of work, whatever runs beside it.

BLAS has one limit for the whole process, and the bits of a product depend on it. So work with
small matrices (one thread: two that wait for each other cost more) and work with large ones (as
many as the process has) do not run at the same time; work of one kind does. The limit is set by
the first that enters and given back by the last that leaves.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

_LARGE_MATRIX = 1000  # rows, from which several BLAS threads pay

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@lru_cache(maxsize=1)
def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  (it brings a library of its own)

    return [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]


def _set_threads(counts: list[int]) -> None:
    """Newer versions of threadpoolctl give a library to the first thread that sets its limit.

    The last that leaves the gate is seldom the first that entered, so it is taken from that.
    """
    for library, count in zip(_libraries(), counts, strict=True):
        free = getattr(library, "clear_controlling_thread", lambda force: None)
        free(force=True)
        library.set_num_threads(count)
        free(force=True)


class _Gate:
    """Lets in any number of threads of one kind at a time."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._inside, self._large = 0, False
        self._before: list[int] | None = None

    def enter(self, large: bool) -> None:
        with self._free:
            while self._inside and self._large != large:
                self._free.wait()
            if not self._inside:
                self._before, self._large = None, large
                if not large:
                    self._before = [library.get_num_threads() for library in _libraries()]
                    _set_threads([1] * len(self._before))
            self._inside += 1

    def leave(self) -> None:
        with self._free:
            self._inside -= 1
            if not self._inside:
                self._give_back()
                self._free.notify_all()

    def after_fork(self) -> None:
        """Nobody is inside a new process: its threads are gone."""
        self._free, self._inside = threading.Condition(), 0
        self._give_back()

    def _give_back(self) -> None:
        if self._before is not None:
            _set_threads(self._before)
        self._before = None


_gate, _mine = _Gate(), threading.local()


def _after_fork() -> None:
    _mine.large = None
    _gate.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def blas_threads_for(matrix_rows: int) -> Iterator[None]:
    """One BLAS thread while matrices are small, and as many as there are for large ones.

    For the thread that controls the work, not for those of `map_in_order`. Within work of one
    kind a thread may turn to the other kind, and back.
    """
    large, outer = matrix_rows >= _LARGE_MATRIX, getattr(_mine, "large", None)
    if large == outer:
        yield
        return
    try:
        _turn_to(large)
        yield
    finally:
        _turn_to(outer)


def _turn_to(large: bool | None) -> None:
    """Leave the kind that this thread is in, and enter another, or (None) none."""
    if getattr(_mine, "large", None) is not None:
        _mine.large = None
        _gate.leave()
    if large is not None:
        _gate.enter(large)  # Ctrl-C may end the wait for it: then the thread is outside
        _mine.large = large


def undisturbed(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A function that runs with one BLAS thread unless it asks for more, and leaves no trace."""

    @wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with blas_threads_for(0):
            return function(*args, **kwargs)

    return run
