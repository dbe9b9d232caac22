r"""A table like that of 2008, of any length: for timing at the paper's size.

The marginals of the inputs are those of domestic flights: months and days as in a calendar,
ages of planes from a gamma distribution, distances log-normal, air time a little over the time
at cruising speed, departures with a morning and an evening peak, arrivals after them. The delay
is a known function of the inputs plus noise with heavy tails,

.. math:: y = f(x) + 12\, \sinh(1.05\, z + 0.6) , \qquad z \sim N(0, 1),

right-skewed with a mean of 7 and a spread of 34 minutes, much as in 2008; the inputs explain 18 %
of its variance. Rows are made in blocks, each from its own seed, so that the first n rows are
the same whatever the total.
"""

from pathlib import Path

import numpy as np

from vish.paper.airline import INPUTS, PAPER_ROWS, TARGET

_BLOCK = 500_000
_DAYS = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])  # 2008 was a leap year


def flights(n: int = PAPER_ROWS, seed: int = 2008) -> tuple[np.ndarray, np.ndarray]:
    """Inputs [n, 8] and delays [n], in minutes."""
    X, y = np.empty((n, len(INPUTS))), np.empty(n)
    for block, start in enumerate(range(0, n, _BLOCK)):
        inputs, delay = _block(np.random.default_rng([seed, block]))
        stop = min(start + _BLOCK, n)
        X[start:stop], y[start:stop] = inputs[: stop - start], delay[: stop - start]
    return X, y


def expected_delay(X: np.ndarray) -> np.ndarray:
    """The known function: without noise, in minutes."""
    month, day, weekday, age, air_time, distance, _, departure = X.T
    hour = departure / 60
    season = 6 * np.cos(2 * np.pi * (month - 7) / 12) + 5 * np.cos(4 * np.pi * (month - 6.5) / 12)
    build_up = 26 / (1 + np.exp(-(hour - 15) / 2.5))  # delays grow over the day
    week = 3.5 * np.cos(2 * np.pi * (weekday - 4.5) / 7)
    slow = 0.8 * (air_time - 18 - distance / 7.6)  # headwind and holding
    holidays = 12 * np.exp(-((month - 12) ** 2) - ((day - 22) / 4) ** 2)
    return season + build_up * (1 + season / 16) + week + slow + 0.05 * age + holidays - 4


def write(path: Path, n: int = PAPER_ROWS, seed: int = 2008) -> Path:
    """The table as a Parquet file, as `airline.read` reads it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = flights(n, seed)
    columns = {name: X[:, i].astype(np.float32) for i, name in enumerate(INPUTS)}
    half = path.with_suffix(".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns | {TARGET: y.astype(np.float32)}), half)
    half.replace(path)
    return path


def _block(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    day_of_year = rng.integers(0, _DAYS.sum(), _BLOCK)
    ends = np.cumsum(_DAYS)
    month = np.searchsorted(ends, day_of_year, side="right")
    day = day_of_year - (ends[month] - _DAYS[month]) + 1
    weekday = (day_of_year + 1) % 7 + 1  # 1 January 2008 was a Tuesday
    age = np.floor(np.minimum(rng.gamma(2.2, 5.0, _BLOCK), 52))
    distance = np.clip(np.round(np.exp(rng.normal(6.42, 0.68, _BLOCK))), 31, 4962)
    air_time = np.round(18 + distance / 7.6 + rng.gamma(4.0, 4.0, _BLOCK) - 16)
    air_time = np.maximum(air_time, 10)
    evening = rng.random(_BLOCK) < 0.55
    departure = np.where(evening, rng.normal(1010, 170, _BLOCK), rng.normal(530, 130, _BLOCK))
    departure = np.clip(np.round(departure), 1, 1440)
    arrival = (departure + air_time + rng.gamma(6.0, 4.0, _BLOCK) + rng.integers(-2, 3, _BLOCK) * 60
               * (distance > 800))  # fmt: skip
    arrival = np.floor(arrival % 1440) + 1
    X = np.column_stack(
        [month + 1, day, weekday, age, air_time, distance, arrival, departure]
    ).astype(float)
    noise = 12 * np.sinh(1.05 * rng.standard_normal(_BLOCK) + 0.6)
    noise -= 12 * np.exp(1.05**2 / 2) * np.sinh(0.6)  # of mean 0
    return X, np.round(expected_delay(X) + noise)
