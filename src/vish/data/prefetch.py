"""Reading ahead: the next items are made while the current one is used."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_AHEAD = 4


def read_ahead(items: Iterable[Item], ahead: int = _AHEAD) -> Iterator[Item]:
    """The same items, made by a thread of their own, at most `ahead` in advance.

    An error in making them is raised here; leaving early stops the thread.
    """
    waiting: queue.Queue = queue.Queue(maxsize=ahead)
    stopped = threading.Event()

    def put(entry: tuple[str, object]) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(entry, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def read() -> None:
        try:
            for item in items:
                if not put(("item", item)):
                    return
            put(("end", None))
        except BaseException as error:
            put(("error", error))

    thread = threading.Thread(target=read, daemon=True, name="vish-read-ahead")
    thread.start()
    try:
        while True:
            kind, value = waiting.get()
            if kind == "item":
                yield value
            elif kind == "error":
                raise value
            else:
                return
    finally:
        stopped.set()
        thread.join(timeout=10)
