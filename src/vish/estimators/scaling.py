"""Centre and scale of the inputs, for columns of any magnitude."""

import numpy as np


def centre_and_scale(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column; a column without spread has scale 1.

    Columns are divided by their largest absolute value first: squares of 1e-200 or 1e200
    would leave the range of float64.
    """
    largest = np.abs(X).max(axis=0).astype(np.float64)
    largest[largest == 0] = 1.0
    unit = X / largest
    centre, scale = unit.mean(axis=0), unit.std(axis=0)
    constant = scale <= 8 * np.finfo(X.dtype).eps * np.abs(centre)
    return centre * largest, np.where(constant, 1.0, scale * largest)
