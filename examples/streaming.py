"""Rows arrive in pieces, are forgotten after a while, and models of two places are merged."""

from collections import deque
from time import perf_counter

import numpy as np

import vish
from vish import VISHRegressor

rng = np.random.default_rng(0)


def day(number: int) -> tuple[np.ndarray, np.ndarray]:
    """A thousand rows of a world that changes slowly."""
    X = rng.uniform(-2, 2, (1000, 4))
    level = 0.05 * number
    return X, level + np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=1000)


# Scaling, relevances, kernel and noise from the first days; then they stay.
first = [day(number) for number in range(3)]
model = VISHRegressor(degree=4, rank=None)
model.fit(*(np.concatenate(part) for part in zip(*first, strict=True)))
model.set_params(optimize=False)

window = deque(first)
start = perf_counter()
for number in range(3, 24):
    X, y = day(number)
    surprise = -model.log_density(X, y).mean()  # before it is learned
    model.partial_fit(X, y)
    window.append((X, y))
    model.forget(*window.popleft())  # the last three days only
    if number % 5 == 3:
        print(f"day {number}: {model.n_rows_seen_:,} rows, surprise {surprise:.3f}")
print(f"{(perf_counter() - start) / 21 * 1000:.0f} ms a day")

# The window is what a model of its rows alone would be.
alone = model.empty_like()
for piece in window:
    alone.partial_fit(*piece)
print(f"largest difference {np.abs(alone.predict(X) - model.predict(X)).max():.1e}")

# Another place, the same geometry: its rows stay there, its sums come here.
elsewhere = model.empty_like()
elsewhere.save("empty.vish")
there = vish.load("empty.vish").partial_fit(*day(23))
both = model.merge(there)
print(f"merged: {both.n_rows_seen_:,} rows")
