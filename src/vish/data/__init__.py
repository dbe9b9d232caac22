"""Row sources beyond memory: files, streams, frames and clusters.

Each function returns a source for `fit_source` of an estimator. Heavy packages load when their
source is made.
"""

from vish.data.streams import batches

__all__ = ["batches", "dask", "frame", "parquet"]


def parquet(path, target, features=None, weight=None):
    """Rows of Parquet files; see `vish.data.files.parquet`."""
    from vish.data.files import parquet as implementation

    return implementation(path, target, features, weight)


def frame(table, target, features=None, weight=None):
    """Rows of a pandas, Polars or Arrow table; see `vish.data.frames.frame`."""
    from vish.data.frames import frame as implementation

    return implementation(table, target, features, weight)


def dask(collection, target, features=None, weight=None, client=None):
    """Rows of a Dask collection; see `vish.data.cluster.dask`."""
    from vish.data.cluster import dask as implementation

    return implementation(collection, target, features, weight, client)
