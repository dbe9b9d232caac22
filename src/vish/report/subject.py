"""What a report is about."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vish.data.columns import Column
from vish.data.survey import Survey
from vish.data.table import Table


@dataclass(frozen=True, eq=False)
class Subject:
    """What is reported on.

    Parameters
    ----------
    estimator : fitted VISHRegressor or VISHClassifier
    table : Table
    target, task : str
    columns : dict of str to Column
        A sample of rows with a target: the columns of the table.
    y : array of shape (n,)
        Their targets.
    survey : Survey
        Of all rows: counts and ranges.
    header : dict
        Of the model file.
    model, data, command : str
        Names of the files, and the command that makes this report again.
    """

    estimator: Any
    table: Table
    target: str
    task: str
    columns: dict[str, Column]
    y: np.ndarray
    survey: Survey
    header: dict[str, Any]
    model: str
    data: str
    command: str
