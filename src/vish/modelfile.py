"""A fitted model in one file: plain arrays, a JSON header and a checksum over every byte.

It is a safetensors file, in which nothing can run: the length of a JSON text (8 bytes), the
text, the arrays (little-endian, without gaps). In every version of the format the text begins
``{"__metadata__":{"format":"vish","format_version":"1","sha256":"...","header":"..."``, so the
checksum is verified before anything is parsed. It is the SHA-256 of the file with 64 zeros in
its own place. The same model gives the same bytes.
"""

import errno
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from safetensors import deserialize

_VERSION = 1
_FRONT = re.compile(
    rb'.{8}\{"__metadata__":\{"format":"vish","format_version":"([1-9][0-9]{0,5})",'
    rb'"sha256":"([0-9a-f]{64})","header":"',
    re.DOTALL,
)
_FRONT_SIZE = 256  # more than the pattern can match
_TEXT_LIMIT = 2_000_000  # bytes of JSON; its objects may take thirty times as much memory
_DEPTH_LIMIT = 100  # levels of nesting, far from where the parser gives up
_DTYPES = {"BOOL": np.dtype("?")} | {
    f"{kind.upper()}{8 * size}": np.dtype(f"<{kind}{size}")
    for kind, size in [(k, s) for k in "iuf" for s in (1, 2, 4, 8) if (k, s) != ("f", 1)]
}
_DTYPE_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_AGAIN = "copy it again from its source, or save the model again"
_LONGEST = 300  # characters of another error's text


class ModelFileError(ValueError):
    """The file is not a model that this version of vish can read."""


class Header(dict[str, Any]):
    """What a model file says in JSON, and where it was read."""

    path: Any = "the model"


@contextmanager
def refusing(path: Any) -> Iterator[None]:
    """Whatever goes wrong inside is the file's fault: a `ModelFileError` that names it.

    For what is made of a file's header and arrays. A checksum tells that no byte has changed, not
    that what they say makes sense.
    """
    try:
        yield
    except ModelFileError:
        raise
    except MemoryError as error:
        raise _too_large(path) from error
    except Exception as error:
        text = str(error) if type(error) is ValueError else repr(error)
        raise ModelFileError(
            f"{path}: the file is a model file, but not one this version of vish understands "
            f"({_short(text)}); upgrade vish, or save the model again"
        ) from error


def write_model(
    path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write a model, or leave what was at `path` as it was.

    Parameters
    ----------
    path : str or path-like
        A file that exists is replaced in one step, once the new one is complete on the disk.
    header : dict
        Of None, bool, int, finite float, str, and lists and string-keyed dicts of these.
    arrays : dict of str to ndarray
        Boolean, integer or floating-point; NaN and infinities are allowed.

    Raises
    ------
    ValueError
        The header or an array is of a kind that cannot be stored, or `path` is no file.
    OSError
        The file could not be written; nothing is left of the attempt.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/model.vish", {"degree": 3}, {"mean": np.array([0.5, 2.0])})
    ...     read_model(f"{folder}/model.vish")
    ({'degree': 3}, {'mean': array([0.5, 2. ])})
    """
    target = os.path.realpath(path)  # a link stays a link
    if os.path.exists(target) and not os.path.isfile(target):
        raise ModelFileError(f"{path} is a directory or device: give the name of a file")
    parts = _encode(header, arrays)
    # Not `tempfile`, whose files only their owner can read, also after they are renamed.
    temporary = os.path.join(os.path.dirname(target), f".vish-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise OSError(
            error.errno or errno.EIO,
            f"the model was not saved to {path} ({error.strerror or error}): check that the "
            f"folder exists, that you may write there and that {sum(map(len, parts)):,} bytes "
            "are free; a file that was there before is unchanged",
        ) from error
    finally:
        with suppress(OSError):  # there is nothing to remove after a successful replace
            os.unlink(temporary)


def read_model(path: str | os.PathLike[str]) -> tuple[Header, dict[str, np.ndarray]]:
    """Read what `write_model` wrote; any other file is refused.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    header : Header
        A dict that remembers its path.
    arrays : dict of str to ndarray
        Writable and independent of each other; both dicts are in the order of their keys.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ModelFileError
        It is not a model file, or incomplete, changed, or of a newer version.
    """
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        problem = f"there is no model file {path}: check the name and the folder"
        raise FileNotFoundError(errno.ENOENT, problem) from None
    if not regular:  # opening a pipe would wait for ever
        raise ModelFileError(f"{path} is a directory or device: give the name of a model file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(_FRONT_SIZE)
        front = _FRONT.match(start)
        if front is None:
            problem = f"not a vish model, or only the start of one ({size:,} bytes)"
            problem = problem if size else "empty"
            raise ModelFileError(f"{path} is {problem}: give a file that vish saved")
        text_end = 8 + int.from_bytes(start[:8], "little")
        if text_end > size:
            raise ModelFileError(f"{path} is incomplete or its first bytes changed: {_AGAIN}")
        file.seek(0)
        try:
            data = file.read(size)
        except MemoryError as error:
            raise _too_large(path) from error
    if _digest([data[: front.start(2)], b"0" * 64, memoryview(data)[front.end(2) :]]) != front[2]:
        # Where the last array ends is unverified here, and only words the refusal.
        text = data[max(text_end - _TEXT_LIMIT, 0) : text_end]
        ends = re.findall(rb'"data_offsets":\[\d+,(\d{1,19})\]', text)
        whole = text_end + max(map(int, ends), default=0)
        problem = "changed since it was written: its checksum does not match"
        if len(data) < whole:
            problem = f"incomplete: it has {len(data):,} of {whole:,} bytes"
        raise ModelFileError(f"{path} is {problem}; {_AGAIN}")
    if int(front[1]) > _VERSION:
        problem = f"its format is {int(front[1])}, this version reads {_VERSION}"
        raise ModelFileError(f"{path} was written by a newer version: upgrade vish ({problem})")
    try:
        header, arrays = _decode(data, text_end)
    except MemoryError as error:
        raise _too_large(path) from error
    except Exception as error:  # of the parsers, among it RecursionError
        problem = f"{path} was not written by vish ({_short(repr(error))})"
        raise ModelFileError(f"{problem}: {_AGAIN}") from error
    header.path = path
    return header, arrays


def _too_large(path: Any) -> ModelFileError:
    return ModelFileError(f"{path} holds a model that does not fit in memory: use a larger machine")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _digest(parts: Iterable[Any]) -> bytes:
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    return checksum.hexdigest().encode()


def _encode(header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> list[Any]:
    """The file as a list of buffers; an array is copied only if it is not contiguous."""
    if not isinstance(header, dict):
        raise ValueError(f"the header is a {type(header).__name__}: give a dict")
    _check_plain(header, "header", 0)
    plain = [(name, _little_endian(name, array)) for name, array in arrays.items()]
    plain.sort(key=lambda item: (-item[1].itemsize, item[0]))  # every array is then aligned
    canonical = json.dumps(header, sort_keys=True, separators=(",", ":"))
    metadata = {"format": "vish", "format_version": str(_VERSION), "sha256": "0" * 64}
    text: dict[str, Any] = {"__metadata__": metadata | {"header": canonical}}
    ends = np.cumsum([0, *(array.nbytes for _, array in plain)]).tolist()
    for (name, array), *offsets in zip(plain, ends[:-1], ends[1:], strict=True):
        dtype = _DTYPE_NAMES[array.dtype]
        text[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": offsets}
    encoded = json.dumps(text, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    if len(encoded) > _TEXT_LIMIT:
        raise ValueError(
            f"header and array names take {len(encoded):,} bytes of at most {_TEXT_LIMIT:,}: "
            "keep long lists in arrays"
        )
    encoded = len(encoded).to_bytes(8, "little") + encoded
    buffers = [array.reshape(-1).view(np.uint8).data for _, array in plain]
    digest = _digest([encoded, *buffers])
    return [encoded.replace(b"0" * 64, digest, 1), *buffers]  # the first: names come later


def _decode(data: bytes, text_end: int) -> tuple[Header, dict[str, np.ndarray]]:
    """Header and arrays of a file whose checksum is right."""
    if text_end > 8 + _TEXT_LIMIT:
        raise ValueError(f"{text_end - 8:,} bytes of JSON")
    header = json.loads(json.loads(data[8:text_end])["__metadata__"]["header"])
    if not isinstance(header, dict):
        raise ValueError("the header is no dict")
    _check_plain(header, "header", 0)  # Python's parser takes NaN, 1e999 and any nesting
    arrays = {}
    for name, stored in sorted(deserialize(data), key=lambda item: item[0]):
        dtype = _DTYPES[stored["dtype"]]
        array = np.ndarray(stored["shape"], dtype, stored["data"])  # `data` is its own bytearray
        arrays[name] = array.astype(dtype.newbyteorder("="), copy=False)
    return Header(header), arrays


def _check_plain(value: Any, where: str, depth: int) -> None:
    """Refuse what JSON would not give back as it was."""
    if depth > _DEPTH_LIMIT:
        raise ValueError(f"the header is nested deeper than {_DEPTH_LIMIT} levels: flatten it")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"{where} has the key {key!r}: make it a string")
            _check_plain(item, f"{where}[{key!r}]", depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_plain(item, f"{where}[{index}]", depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} is {value}: JSON has no such number, keep it in an array")
    elif not isinstance(value, str | int | float | None):
        kind = type(value).__name__
        raise ValueError(f"{where} is a {kind}: give None, bool, int, float, str, list or dict")


def _little_endian(name: str, array: np.ndarray) -> np.ndarray:
    """The array, contiguous and little-endian, if the format can store it."""
    if not isinstance(name, str) or name == "__metadata__" or re.search("[\ud800-\udfff]", name):
        raise ValueError(f"an array cannot be called {name!r}: choose another name")
    if not isinstance(array, np.ndarray | np.generic) or isinstance(array, np.ma.MaskedArray):
        raise ValueError(f"array {name!r} is a {type(array).__name__}: give a plain ndarray")
    dtype = array.dtype.newbyteorder("<")
    if dtype not in _DTYPE_NAMES:
        raise ValueError(
            f"array {name!r} is of dtype {array.dtype}: convert it to bool, int8 to int64, "
            "uint8 to uint64, float16, float32 or float64"
        )
    return np.asarray(array, dtype=dtype, order="C")
