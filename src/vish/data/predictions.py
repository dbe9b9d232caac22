"""Predictions of any number of rows, streamed to a Parquet file."""

import errno
import os
import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from vish.data.files import BATCH_ROWS, ParquetSource
from vish.data.prefetch import read_ahead

_GROUP_ROWS = 2 * BATCH_ROWS  # rows in a row group of the result


def predict_to_parquet(estimator, source, out, keep=(), compression="snappy") -> int:
    """Predict rows and write the predictions to a Parquet file, in constant memory.

    The file appears under its name when it is complete: a failure leaves nothing behind, and a
    file that was there before as it was.

    Parameters
    ----------
    estimator : VISHRegressor or VISHClassifier
        Fitted.
    source : str, path, list of them, or a row source
        Parquet files as for `parquet`, of which the columns named as in the fit are read; or a
        source of `vish.data`, whose target does not matter.
    out : str or path
        The file to write.
    keep : list of str, optional
        Columns of the files to be copied beside the predictions, such as a key.
    compression : str, default="snappy"
        Of Parquet.

    Returns
    -------
    int
        The number of rows.

    Notes
    -----
    Columns of the result are, after those kept, ``mean`` and ``std`` for a regressor (with
    several targets ``mean_0``, ``std_0``, ...), of a new observation; and ``class`` and a
    ``probability_...`` of each class for a classifier.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from vish import VISHRegressor, data
    >>> hour = np.linspace(0, 24, 500)
    >>> table = pa.table({"day": np.arange(500) % 7, "hour": hour, "load": np.sin(hour / 4)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(table, f"{folder}/rows.parquet")
    ...     source = data.parquet(f"{folder}/rows.parquet", "load", features=["hour"])
    ...     model = VISHRegressor(degree=6).fit_source(source)
    ...     out = f"{folder}/predictions.parquet"
    ...     n = data.predict_to_parquet(model, f"{folder}/rows.parquet", out, keep=["day"])
    ...     pq.read_table(out).column_names
    ['day', 'mean', 'std']
    """
    import pyarrow.parquet as pq

    from vish.inference.progress import progress

    keep = [keep] if isinstance(keep, str) else list(keep)
    total, batches = _open(estimator, source, keep)
    target = os.path.realpath(out)
    if os.path.exists(target) and not os.path.isfile(target):
        raise ValueError(f"{out} is a directory or device: give the name of a file")
    temporary = os.path.join(os.path.dirname(target), f".vish-{secrets.token_hex(8)}.tmp")
    rows, writer = 0, None
    try:
        with progress(estimator.verbose) as shown, shown.rows("predicting", total) as done:
            for table in _row_groups(estimator, batches, done):
                with _writing(out):
                    if writer is None:
                        writer = pq.ParquetWriter(temporary, table.schema, compression=compression)
                    writer.write_table(table, row_group_size=_GROUP_ROWS)
                rows += table.num_rows
        if writer is None:
            raise ValueError("no rows to predict: give at least one")
        with _writing(out):
            writer.close()
            _to_disk(temporary)
            os.replace(temporary, target)
    finally:
        if writer is not None:
            with suppress(Exception):
                writer.close()
        with suppress(OSError):  # nothing to remove after the file got its name
            os.unlink(temporary)
    return rows


def _open(estimator, source, keep) -> tuple[int | None, Iterator[tuple[np.ndarray, Any]]]:
    """How many rows there are, and batches of (inputs, columns to keep)."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if hasattr(source, "chunks"):
        if keep:
            raise ValueError("keep needs Parquet files: give their path in place of a source")
        return source.n_rows, ((chunk.X, None) for chunk in source.chunks())
    names = getattr(estimator, "feature_names_in_", None)
    features = None if names is None else [str(name) for name in names]
    files = ParquetSource(source, [], features, kept=keep)
    if files.n_inputs != estimator.n_features_in_:
        raise ValueError(
            f"{source}: {files.n_inputs} columns besides those kept, but the model has "
            f"{estimator.n_features_in_} inputs without names; fit it from named columns"
        )
    return files.n_rows, read_ahead(
        (files.arrays(batch, group, offset)[0], batch.select(keep))
        for batch, group, offset in files.record_batches()
    )


def _row_groups(estimator, batches, done) -> Iterator[Any]:
    """Tables of the result, each of at most `_GROUP_ROWS` rows."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = 0
    for X, kept in batches:
        columns = {} if kept is None else dict(zip(kept.schema.names, kept.columns, strict=True))
        predicted = _predict(estimator, np.asarray(X))
        clash = sorted(set(columns) & set(predicted))
        if clash:
            raise ValueError(f"keep has {clash[0]!r}, a name of the predictions: rename it")
        table = pa.table(columns | predicted)
        if rows + table.num_rows > _GROUP_ROWS and waiting:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
        waiting.append(table)
        rows += table.num_rows
        done(table.num_rows)
    if waiting:
        yield pa.concat_tables(waiting)


def _predict(estimator, X: np.ndarray) -> dict[str, np.ndarray]:
    with warnings.catch_warnings():  # the columns were chosen by name already
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if hasattr(estimator, "predict_proba"):
            p = estimator.predict_proba(X)
            columns = {"class": estimator.classes_[np.argmax(p, axis=1)]}
            return columns | {
                f"probability_{name}": p[:, k] for k, name in enumerate(estimator.classes_)
            }
        mean, std = estimator.predict(X, return_std=True)
    if mean.ndim == 1:
        return {"mean": mean, "std": std}
    columns = {}
    for t in range(mean.shape[1]):
        columns |= {f"mean_{t}": mean[:, t], f"std_{t}": std[:, t]}
    return columns


@contextmanager
def _writing(out) -> Iterator[None]:
    """Any failure to write as an error that says what to do."""
    try:
        yield
    except OSError as error:  # pyarrow's among them
        code = error.errno or errno.EIO
        reason = error.strerror or str(error).splitlines()[0]
        raise OSError(
            code,
            f"the predictions were not written to {out} ({reason}): check that the folder exists, "
            "that you may write there and that the disk is not full; a file that was there before "
            "is unchanged",
        ) from error


def _to_disk(path: str) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
