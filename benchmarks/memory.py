"""Memory of this process, in megabytes, as Linux tells it.

Not `ru_maxrss`: a child inherits that of its parent, which may be large.
"""

from pathlib import Path


def _megabytes(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def resident() -> float:
    """What is held now."""
    return _megabytes("VmRSS")


def peak() -> float:
    """The most that was ever held."""
    return _megabytes("VmHWM")
