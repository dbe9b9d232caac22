"""What is measured, beside peers, as ratios in one run: ``python -m benchmarks``.

Each module ``bench_*.py`` has a function ``run()`` that yields rows. A row compares our
time with a peer's time for the same work on the same machine in the same run.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One comparison; times in seconds (or memory in MB), None where the peer is missing.

    A row without a peer, which only tells a time, leaves its name empty.
    Give one goal: ``times_faster`` (our time at most the peer's divided by it) or
    ``times_slower`` (our time at most the peer's multiplied by it).
    """

    what: str
    time: float
    peer: str
    peer_time: float | None
    times_faster: float | None = None
    times_slower: float | None = None
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        """How many times faster than the peer, or slower, as the goal is put."""
        if self.peer_time is None:
            return None
        faster = self.peer_time / self.time
        return 1 / faster if self.times_slower else faster

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is no goal or no peer."""
        if self.ratio is None:
            return None
        if self.times_slower:
            return self.ratio <= self.times_slower
        return self.ratio >= self.times_faster if self.times_faster else None


def best_times(*functions: Callable[[], object], repeat: int = 5) -> list[float]:
    """The best time of each function, in turns, after one run of each to warm up."""
    for function in functions:
        function()
    best = [float("inf")] * len(functions)
    for _ in range(repeat):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best
