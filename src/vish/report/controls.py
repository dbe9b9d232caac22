"""Columns of the raw table as controls of the page: sliders, choices, and how they are encoded."""

from typing import Any

import numpy as np

from vish.data.columns import Column
from vish.data.encodings import DAY
from vish.data.table import Table
from vish.report.packing import packed

_STEPS = 1000  # of a slider


def controls(table: Table, columns: dict[str, Column]) -> list[dict[str, Any]]:
    """One for each column in use, with the range and the middle of the rows given."""
    recipe = table.to_recipe()
    raw = table.raw(columns)
    return [
        _control(encoding, kept, raw[encoding["name"]])
        for encoding, kept in zip(recipe["encodings"], recipe["kept"], strict=True)
    ]


def _control(encoding: dict[str, Any], kept: list[int], raw: np.ndarray) -> dict[str, Any]:
    control = {"name": encoding["name"], "kind": encoding["kind"], "kept": kept}
    if encoding["kind"] == "category":
        return control | _category(encoding, kept, raw)
    present = raw[np.isfinite(raw)]
    if not len(present):
        present = np.array([encoding["fill"]])
    # The rarest values would leave most of a slider empty of rows.
    low, middle, high = np.quantile(present, [0.005, 0.5, 0.995], method="nearest").tolist()
    if low == high:
        low, high = float(present.min()), float(present.max())
    whole = bool((present == np.round(present)).all())
    control |= {
        "fill": encoding["fill"],
        "indicator": encoding["indicator"],
        "seen": [_finite(encoding["low"]), _finite(encoding["high"])],
        "low": low,
        "high": high if high > low else low + 1.0,
        "start": middle,
    }
    if encoding["kind"] == "date":
        unit = DAY if bool((present % DAY == 0).all()) else 60.0
        return control | {"step": unit, "cycles": _cycles(encoding)}
    if encoding["kind"] == "time":
        return control | {"step": 60.0, "period": encoding["period"]}
    step = 1.0 if whole else _round_step((control["high"] - control["low"]) / _STEPS)
    ends = np.floor(control["low"] / step) * step, np.ceil(control["high"] / step) * step
    low, high, start = (float(f"{v:.12g}") for v in (*ends, np.round(middle / step) * step))
    range_ = {"low": low, "high": high, "start": start, "step": step}
    return control | range_ | {"period": encoding["period"]}


def _category(encoding: dict[str, Any], kept: list[int], raw: np.ndarray) -> dict[str, Any]:
    levels, rows = encoding["levels"], np.array(encoding["rows"])[:, kept]
    counts = np.bincount(raw[raw < len(levels)].astype(int), minlength=len(levels))
    return {
        "levels": levels,
        "width": len(kept),
        "rows": packed(rows),
        "start": int(counts.argmax()),
    }


def _cycles(encoding: dict[str, Any]) -> list[dict[str, Any]]:
    from vish.data.encodings import from_dict

    periods = from_dict(encoding)._cycles.values()  # type: ignore[attr-defined]
    return [{"period": p, "whole_days": p == 7 * DAY} for p in periods]


def _round_step(step: float) -> float:
    """The power of ten below, or twice or five times it."""
    power = 10.0 ** np.floor(np.log10(step)) if step > 0 else 1.0
    factor = max(f for f in (1, 2, 5) if f * power <= step * (1 + 1e-9))
    return float(f"{factor * power:.3g}")


def _finite(value: float) -> float | None:
    return value if abs(value) < 1e300 else None


def somewhere(table: Table, found: list[dict[str, Any]], n: int) -> np.ndarray:
    """Inputs for random positions of all controls, as far as the sliders go.  -> [n, D]"""
    rng = np.random.default_rng(0)
    raw = {
        control["name"]: rng.integers(0, len(control["levels"]), n).astype(float)
        if "levels" in control
        else rng.uniform(control["low"], control["high"], n)
        for control in found
    }
    return table.encode(raw).inputs
