"""How row kernels are compiled: without the interpreter lock, cached on disk if possible.

Threads are Python's own over fixed chunks of rows (`vish.sphere.threads`), never Numba's
``parallel=True``, whose layers abort after a fork and under several Python threads.
"""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any] | None = None, *, fastmath: bool = False) -> Any:
    """Compile a kernel on arrays; where no cache folder can be written, go without."""

    def decorate(python_function: Callable[..., Any]) -> Any:
        options = {"nogil": True, "fastmath": fastmath, "error_model": "numpy"}
        try:
            return numba.njit(cache=True, **options)(python_function)
        except RuntimeError:  # no writable place for the cache
            return numba.njit(**options)(python_function)

    return decorate if function is None else decorate(function)
