"""Regression on a table, with bands that say how far to trust it.

Scores beside a baseline, coverage of the bands on rows that were held out, and a picture.
"""

import matplotlib

matplotlib.use("Agg")  # pictures to files; leave this out to see them in a window

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from vish import VISHRegressor, metrics, plots

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

model = VISHRegressor(max_features=300).fit(X_train, y_train)
mean, std = model.predict(X_test, return_std=True)

baseline = LinearRegression().fit(X_train, y_train).predict(X_test)
print(f"root mean squared error {np.sqrt(np.mean((y_test - mean) ** 2)):.1f}", end=", ")
print(f"of linear regression {np.sqrt(np.mean((y_test - baseline) ** 2)):.1f}")
for level in (0.5, 0.8, 0.95):
    covered = metrics.coverage(y_test, mean, std, level=level)
    print(f"the {level:.0%} band holds {covered:.0%} of {len(y_test)} rows not seen")

lower, upper = model.predict_quantiles(X_test[:3], [0.05, 0.95]).T
for i in range(3):
    band = f"between {lower[i]:.0f} and {upper[i]:.0f}"
    print(f"patient {X_test.index[i]}: {band}, was {y_test.iloc[i]:.0f}")

plots.EffectDisplay.from_estimator(model, X_train, feature="bmi").figure_.savefig("effect.png")
plots.CoverageDisplay.from_estimator(model, X_test, y_test).figure_.savefig("coverage.png")
model.save("diabetes.vish")
