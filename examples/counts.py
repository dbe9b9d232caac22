"""Counts with exposure: claims of drivers who were insured for different times.

The target is the rate, the sample weight the exposure: the likelihood is that of the counts.
"""

import numpy as np

from vish import VISHRegressor
from vish.likelihoods import Poisson

rng = np.random.default_rng(0)
n = 6000
age, power = rng.uniform(18, 80, n), rng.uniform(40, 200, n)
years = rng.uniform(0.2, 1.0, n)  # insured
true_rate = np.exp(-1 + 0.05 * (power - 100) / 10 + 1.2 * np.exp(-(age - 18) / 10))
claims = rng.poisson(true_rate * years)

X = np.column_stack([age, power])
train, test = slice(0, 4500), slice(4500, n)
model = VISHRegressor(degree=5, rank=None, likelihood=Poisson())
model.fit(X[train], claims[train] / years[train], sample_weight=years[train])

rate = model.predict(X[test])  # claims a year
print(f"expected {rate @ years[test]:.0f} claims in the test rows, {claims[test].sum()} came")
print(f"the constant rate of the training rows: {claims[train].sum() / years[train].sum():.3f}")
print(f"correlation of predicted and true rates {np.corrcoef(rate, true_rate[test])[0, 1]:.2f}")

# The latent function is the logarithm of the rate.
drivers = np.array([[19.0, 150.0], [45.0, 150.0]])
log_rate, std = model.predict_latent(drivers, return_std=True)
for driver, centre, spread in zip(drivers, log_rate, std, strict=True):
    low, high = np.exp([centre - 1.96 * spread, centre + 1.96 * spread])
    print(f"age {driver[0]:.0f}, power {driver[1]:.0f}: {low:.2f} to {high:.2f} claims a year")
