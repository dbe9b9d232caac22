"""Places that a command writes to, checked before the work is done."""

import os
from collections.abc import Iterable

from vish.cli.errors import BadInput


def check_output(out: str, inputs: Iterable[str]) -> None:
    """Refuse a place that cannot be written, and one that is read by the same command.

    Parameters
    ----------
    out : str
        The file to be written.
    inputs : iterable of str
        All files and folders that are read, as they were given.
    """
    folder = os.path.dirname(os.path.realpath(out))
    if os.path.isdir(out):
        raise BadInput(f"{out} is a folder: give the name of a file")
    if os.path.exists(out) and not os.path.isfile(out):
        raise BadInput(f"{out} is not a regular file: give the name of a file")
    if not os.path.isdir(folder):
        raise BadInput(f"there is no folder {folder}: create it first")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"no permission to write in {folder}: choose another place")
    if os.path.exists(out) and not os.access(out, os.W_OK):
        raise BadInput(f"no permission to replace {out}: choose another name")
    for path in inputs:
        if _same(out, path):
            raise BadInput(
                f"--out is {out}, which is also an input ({path}) and would be lost: choose "
                "another name"
            )


def check_apart(out: str, paths: Iterable[str]) -> None:
    """Refuse results in a folder whose files are the input: they would be read as such."""
    for path in paths:
        if os.path.isdir(path) and _inside(out, path):
            raise BadInput(
                f"--out is {out}, inside the folder {path}, whose files are the input: choose "
                "another folder"
            )


def _same(one: str, other: str) -> bool:
    """Whether two paths lead to one file, by links of either kind too."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it."""
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath([path, folder]) == folder
