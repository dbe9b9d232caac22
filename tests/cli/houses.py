"""A folder with tables of every kind and models of every task, made once."""

import numpy as np
import pandas as pd
import pytest

from vish.cli import run


@pytest.fixture(scope="session")
def make_houses():
    return houses_like


def houses_like(n, seed=0):
    """A column of each kind, with gaps."""
    rng = np.random.default_rng(seed)
    towns = [f"town{i}" for i in range(30)]
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    houses = pd.DataFrame(
        {
            "id": [f"h{seed}-{i}" for i in range(n)],
            "area": rng.normal(100, 20, n).round(1),
            "garden": rng.random(n) < 0.5,
            "style": rng.choice(["old", "new", "odd"], n),
            "town": rng.choice(towns, n),
            "sold": days.strftime("%Y-%m-%d"),
            "hour": [f"{h:02d}:15" for h in rng.integers(0, 24, n)],
            "rooms": rng.integers(1, 8, n).astype(float),
            "constant": 7,
        }
    )
    town = houses["town"].str[4:].astype(int)
    houses["price"] = 2 * houses["area"] + 30 * houses["garden"] + 20 * np.sin(town)
    houses["price"] += rng.normal(0, 10, n)
    houses["dear"] = np.where(houses["price"] + rng.normal(0, 20, n) > 215, "yes", "no")
    houses["visits"] = rng.poisson(np.exp(houses["area"] / 80))
    houses["grade"] = rng.integers(0, 2, n)
    houses.loc[rng.random(n) < 0.1, "rooms"] = np.nan
    houses.loc[rng.random(n) < 0.1, "style"] = None
    return houses


INPUTS = "area,garden,style,town,rooms"


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("houses")
    houses = houses_like(300)
    houses.to_csv(folder / "train.csv", index=False)
    houses.to_parquet(folder / "train.parquet")
    houses.to_feather(folder / "train.feather")
    houses_like(60, seed=1).to_csv(folder / "more.csv", index=False)
    cheap = ["--features", INPUTS, "--degree", "2", "--rank", "none", "--quiet"]
    train = str(folder / "train.csv")
    for name, target, options in [
        ("price", "price", []),
        ("dear", "dear", ["--degree", "1"]),
        ("visits", "visits", ["--task", "count", "--degree", "1"]),
    ]:
        out = ["--out", str(folder / f"{name}.vish")]
        assert run(["fit", train, "--target", target, *cheap, *options, *out]) == 0
    return folder
