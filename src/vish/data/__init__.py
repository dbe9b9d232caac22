"""Row sources beyond memory: files, streams, frames and clusters; and predictions to files.

A source goes to `fit_source` of an estimator. Its rows are cut into fixed chunks by their
number alone, so the sums over them have the same bits for arrays, memory maps, frames, batches
and Parquet files, whatever the sizes of batches, row groups and files. Dask cuts within its
partitions: the same bits where every partition but the last has a multiple of 65,536 rows, and
the same to 1e-12 otherwise. Names load when first used, and heavy packages with them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vish.data.cluster import dask
    from vish.data.files import parquet
    from vish.data.frames import frame
    from vish.data.predictions import predict_to_parquet
    from vish.data.streams import arrays, batches
    from vish.data.table import Table

_HOMES = {
    "Table": "table",
    "arrays": "streams",
    "batches": "streams",
    "dask": "cluster",
    "frame": "frames",
    "parquet": "files",
    "predict_to_parquet": "predictions",
}

__all__ = ["Table", "arrays", "batches", "dask", "frame", "parquet", "predict_to_parquet"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vish.data' has no attribute {name!r}")
    value = getattr(import_module(f"vish.data.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
