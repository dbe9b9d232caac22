"""Centre and scale of columns of any magnitude."""

import numpy as np

_LARGEST_SPREAD = 1e152  # its square, a variance, is still finite


def centre_and_scale(
    X: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column, and which columns vary.

    A column without spread has scale 1. Columns are divided by their largest absolute value
    first: squares of 1e-200 or 1e200 would leave the range of float64.
    """
    largest = np.abs(X).max(axis=0).astype(np.float64)
    largest[largest == 0] = 1.0
    unit = X / largest
    centre = np.average(unit, axis=0, weights=weights)
    spread = np.sqrt(np.average((unit - centre) ** 2, axis=0, weights=weights))
    varies = spread > 8 * np.finfo(X.dtype).eps * np.abs(centre)
    return centre * largest, np.where(varies, spread * largest, 1.0), varies


def check_spread_of_target(scale: np.ndarray) -> None:
    """Refuse targets whose variance cannot be written down."""
    if scale.max(initial=0.0) > _LARGEST_SPREAD:
        raise ValueError(
            f"the target spreads by {scale.max():.1e}: its variance is beyond the range of "
            "floating-point numbers; divide it by a constant"
        )
