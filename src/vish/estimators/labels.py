"""Labels of classes, and their weights, checked at the door."""

import numbers
from typing import Any

import numpy as np


def check_labels(y: Any) -> None:
    """Refuse labels that cannot be put in order: gaps, or text beside numbers."""
    if isinstance(y, np.ndarray | list | tuple) or hasattr(y, "__array__"):
        labels = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    else:
        return
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return
    kinds: dict[str, int] = {}
    for row, label in enumerate(labels):
        gap = label is None or type(label).__name__ in ("NAType", "NaTType")
        if gap or (isinstance(label, numbers.Real) and label != label):
            raise ValueError(
                f"y[{row}] is {label!r}, no class (NaN or missing): leave out rows without a label"
            )
        kinds.setdefault("numbers" if isinstance(label, numbers.Real) else "text", row)
    if len(kinds) > 1:
        a, b = kinds["numbers"], kinds["text"]
        raise ValueError(
            f"y holds labels of different kinds, such as {labels[a]!r} (row {a}) and "
            f"{labels[b]!r} (row {b}): make all of them numbers, or all text"
        )


def weights_of_classes(given: Any, classes: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """The weight of each class that `class_weight` asks for.  -> [n_classes]"""
    if given is None:
        return None
    if isinstance(given, str) and given == "balanced":
        present = counts > 0
        balanced = counts.sum() / (present.sum() * np.maximum(counts, 1))
        return np.where(present, balanced, 0.0)
    if not isinstance(given, dict):
        raise ValueError(f'class_weight is {given!r}: give a dict, "balanced" or None')
    for label, weight in given.items():
        number = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
        if not number or not 0 <= weight < np.inf:
            raise ValueError(
                f"class_weight of {label!r} is {weight!r}: give a finite number of at least 0"
            )
    labels = classes.tolist()
    if given and not any(label in labels for label in given):
        raise ValueError(
            f"class_weight names {list(given)[:5]}, but the classes are {labels[:5]}: give the "
            "labels as they are in y"
        )
    return np.array([float(given.get(label, 1.0)) for label in labels])
