r"""What is left of the statistics when rows are taken away.

The sums of real rows make a positive semi-definite matrix

.. math:: \begin{pmatrix} G & b \\ b^\top & \sum \omega y^2 \end{pmatrix},

so a remainder that is not one has lost rows it never had. (Rows that were never seen can leave a
matrix that is: what the sums allow cannot be told from what was seen.) The sums of the remainder
keep the rounding of the totals: where those were far larger, few digits are left.
"""

import warnings

import numpy as np
from scipy.linalg import eigvalsh

from vish.inference.statistics import NormalEquations, Statistics

_ROUNDING = 1e-9  # of the totals
_NEGATIVE = 1e-10  # of the trace: an eigenvalue that rounding may leave
_DIGITS_LOST = 1e-10  # relative rounding of the sums, from which it can be seen in predictions


def remainder(total: Statistics, rows: Statistics) -> Statistics:
    """total - rows, refused where that shows that the rows were not in the total."""
    rest = total - rows
    rounding = _ROUNDING * total.weight
    if (
        rest.n_rows < 0
        or rest.weight < -rounding
        or np.any(rest.squares < -_ROUNDING * total.squares)
        or (rest.n_rows == 0 and rest.weight > rounding)
    ):
        raise ValueError(_refusal(total, rows, "which is less than that"))
    if rest.weight <= rounding:
        return Statistics.zero(total.geometry)
    before, after = total.normal_equations, rest.normal_equations
    if _least_eigenvalue(before, after) < -_NEGATIVE:
        raise ValueError(_refusal(total, rows, "and not these: no rows have the sums left over"))
    _tell_of_rounding(before, after)
    return rest


def check_sums(statistics: Statistics) -> None:
    """Refuse sums that no rows have."""
    equations = statistics.normal_equations
    if _least_eigenvalue(equations, equations) < -_NEGATIVE:
        raise ValueError("the sums are not those of any rows")


def _refusal(total: Statistics, rows: Statistics, why: str) -> str:
    return (
        f"cannot forget {rows.n_rows:,} rows (weight {rows.weight:g}): the model has seen "
        f"{total.n_rows:,} (weight {total.weight:g}), {why}; give rows that were fitted, with the "
        "same weights"
    )


def _least_eigenvalue(before: NormalEquations, after: NormalEquations) -> float:
    """Of the matrix above, for the worst target, as a share of the trace before.

    Target and harmonics are brought to one scale by the totals.
    """
    least, trace = 0.0, np.trace(before.gram)
    if not trace > 0:  # no row
        return -1.0 if trace < 0 or after.gram.any() or after.cross.any() else 0.0
    for t, squares in enumerate(before.squares):
        scale = np.sqrt(trace / squares) if squares > 0 else 0.0
        b = scale * after.cross[:, t : t + 1]
        corner = [[scale**2 * after.squares[t]]]
        matrix = np.block([[after.gram, b], [b.T, np.array(corner)]])
        least = min(least, eigvalsh(matrix, subset_by_index=[0, 0])[0] / (2 * trace))
    return float(least)


def _tell_of_rounding(before: NormalEquations, after: NormalEquations) -> None:
    eps = np.finfo(float).eps
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.append(before.squares / after.squares, before.radii / after.radii)
    lost = eps * np.max(np.nan_to_num(np.abs(ratios), nan=1.0))
    if lost > _DIGITS_LOST:
        warnings.warn(
            f"the rows that were forgotten were so far from the others that about "
            f"{max(0.0, -np.log10(lost)):.0f} digits are left in the sums of the rest, and "
            "predictions have changed: fit the rest again",
            UserWarning,
            stacklevel=4,
        )
