"""Every number of the search, with its reason.

What each brings is measured by ``python -m benchmarks search``, which leaves it out or changes it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchPolicy:
    """How a search spends its time. Numbers without a unit are counts."""

    # ---- where the map is learned
    low_features: int = 300  # a basis this small costs milliseconds a step: maps are learned on it
    harmonics_per_row: float = 2.0  # of that basis, at most: with more, few rows are all signal
    early_rows: int = 4096  # rows that tell one start from another
    most_directions: int = 20  # rows of a linear map that starts from the diagonal, whole
    ranks: tuple[int, ...] = (1, 4, 8)  # of other linear maps: fewer rows buy a higher degree
    principal_directions: tuple[int, ...] = (8, 16)  # of maps with one number to learn
    rows_per_number: float = 4.0  # of data, for every number of a map: below, it is hopeless
    rows_per_input: int = 30  # with fewer, one factor for all inputs may be better than one each

    # ---- rows that are held out
    finalists: int = 3  # kinds of map that are taken to their best degree
    held_share: float = 0.25  # of the rows, in each fold
    held_rows: int = 600  # tell two maps apart: folds are added until so many were held out
    most_lost: float = 10.0  # of log density, that one row may count for in a choice
    most_squares: float = 1.05  # times the least squared error, that a choice may have
    least_rows: int = 4  # with fewer, none are held out
    rows_at_risk: int = 30  # for every number of a map: with fewer, rows held out end its stages

    # ---- noise, as rows held out call for
    most_noise: float = 1e6  # times what was learned: few rows may be all signal
    noise_spread: float = 0.3  # of a Cauchy prior on the log of that factor: few rows say little

    # ---- the degree
    top_degree: int = 40
    least_gain: float = 0.002  # of log density per row, for a degree that costs more

    # ---- how long a stage may take
    early: float = 1e-4  # relative change of the density that ends an early stage
    tight: float = 1e-6  # ... that ends the last
    start_iterations: int = 25  # of each start
    early_iterations: int = 60
    least_iterations: int = 6  # of the last stage, whatever they cost
    matters: float = 0.01  # of log density per row, still gained when a stage was cut: a warning
    work: float = 8e9  # of the last stage: iterations times their cost, about a second in all
