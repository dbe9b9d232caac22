"""Classes, checked at the door: their labels, weights and likelihood."""

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from vish.inference.classes import Classes
from vish.inference.passes import total
from vish.inference.sources import RowSource
from vish.likelihoods import Bernoulli, Softmax


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


def classes_of_source(
    source: RowSource, class_weight: Any, progress: Callable[[int], None]
) -> tuple[np.ndarray, np.ndarray | None]:
    """The classes of a source, by reading its target, and the weights asked for."""
    found = total(source, Classes.of_chunk, 1, progress)
    if found is None:
        raise ValueError("the source has no rows: give at least two, of different classes")
    labels = sorted(found.counts)
    counts, classes = np.array([found.counts[label] for label in labels]), np.array(labels)
    if classes.dtype == float and (classes == np.rint(classes)).all():
        classes = classes.astype(int)  # sources give numbers as floats
    if len(classes) < 2:
        raise ValueError(
            f"the target holds one class only, {classes[0]!r}: a classifier needs at least two"
        )
    weights = weights_of_classes(class_weight, classes, counts)
    if weights is not None and (weights > 0).sum() < 2:
        raise ValueError("class_weight leaves less than two classes: a classifier needs two")
    return classes, weights


def likelihood_of_classes(given: Any, n_classes: int) -> Bernoulli | Softmax:
    """The likelihood as given, if it is one of so many classes, or the usual one."""
    if given is None:
        return Bernoulli() if n_classes == 2 else Softmax(n_classes)
    two = isinstance(given, Bernoulli) and n_classes == 2
    several = isinstance(given, Softmax) and given.n_classes == n_classes
    if not (two or several):
        raise ValueError(
            f"likelihood is {given!r}, but y holds {n_classes} classes: give "
            f"Bernoulli() for two classes or Softmax({n_classes})"
        )
    return given
