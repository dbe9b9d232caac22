"""The results file: one line of JSON for each run, only ever appended to.

A line is written at once and flushed to the disk before the next run starts. What a crash can
leave is a last line without its end: it is dropped, and its run is not counted.
"""

import json
import os
from pathlib import Path
from typing import Any

Record = dict[str, Any]
_OF_ALL = {"experiment", "data", "method", "split", "status"}
_OF_DONE = {"scores", "seconds", "peak_memory_mb", "rows", "source", "facts"}


def read(path: Path) -> tuple[list[Record], int]:
    """The whole lines, and how many bytes they take."""
    if not path.exists():
        return [], 0
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    records = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        if not line.strip():
            continue
        record = _record(line)
        if record is None:
            raise ValueError(
                f"{path}, line {number} is no result: delete the line, and its run is done again"
            )
        records.append(record)
    return records, whole


def _record(line: bytes) -> Record | None:
    """A whole record, or None."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    needed = _OF_ALL | (_OF_DONE if record.get("status") == "done" else {"error"})
    return record if needed <= record.keys() else None


class Results:
    """The file, open for one writer."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = open(path, "ab")  # noqa: SIM115 - kept open, and locked
        self._lock()
        try:
            self.records, whole = read(path)
        except ValueError:
            self._file.close()
            raise
        self._file.truncate(whole)

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # Windows: no lock
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise ValueError(
                f"{self.path} is in use by another `vish paper`: wait for it, or give another --out"
            ) from None

    def append(self, record: Record) -> None:
        line = json.dumps(record, allow_nan=True) + "\n"
        self._file.write(line.encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.records.append(record)

    def last(self, key: tuple) -> Record | None:
        """The latest record of a run."""
        return next((r for r in reversed(self.records) if key_of(r) == key), None)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def key_of(record: Record) -> tuple:
    return (record["data"], record["method"], record["split"])


def latest(records: list[Record]) -> list[Record]:
    """One record for each run, the newest, in the order of first appearance."""
    return list({key_of(record): record for record in records}.values())
