"""How large a basis, and its values, may grow on this machine."""

import os
from math import comb

# Per harmonic: its place in the recursion and a block of 16 rows of values and adjoints.
_BYTES_PER_HARMONIC = 8 * (2 * 16 + 8)


def physical_memory() -> int:
    """Bytes of memory, the lesser of the machine's and the container's."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # not a POSIX system: assume a small machine
        memory = 8 * 2**30
    try:
        with open("/sys/fs/cgroup/memory.max") as file:
            memory = min(memory, int(file.read()))
    except (OSError, ValueError):  # no container, or no limit in it
        pass
    return memory


def basis_size(dimension: int, degree: int, odd: bool = False) -> int:
    """M, the number of harmonics of d variables up to the degree, in closed form.

    As functions on the sphere they are the homogeneous polynomials of degree L and L-1; those of
    odd degree alone, L odd, the former.
    """
    d, L = dimension, degree
    return comb(d + L - 1, L) + (comb(d + L - 2, L - 1) if L and not odd else 0)


def check_basis_size(dimension: int, degree: int) -> None:
    """Refuse a basis that would not fit in memory."""
    limit = physical_memory() // _BYTES_PER_HARMONIC
    if basis_size(dimension, degree) > limit:
        fits = 0
        while basis_size(dimension, fits + 1) <= limit:
            fits += 1
        raise ValueError(
            f"{basis_size(dimension, degree):,} harmonics of degree up to {degree} in dimension "
            f"{dimension} do not fit in memory: the largest degree that fits is {fits}"
        )


def check_matrix_size(rows: int, dimension: int, degree: int, columns: int, itemsize: int) -> None:
    """Refuse a matrix of values that would not fit in memory."""
    limit = physical_memory() // itemsize
    if rows * columns > limit:
        fits = -1
        while rows * basis_size(dimension, fits + 1) <= limit:
            fits += 1
        remedy = f"the largest degree that fits is {fits}" if fits >= 0 else "take fewer rows"
        raise ValueError(
            f"the values of {columns:,} harmonics at {rows:,} points do not fit in memory: "
            f"{remedy}; or evaluate the rows in pieces"
        )
