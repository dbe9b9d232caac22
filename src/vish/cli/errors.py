"""Bad input: one line that says what is wrong and what to do."""

from typing import Any


class BadInput(Exception):
    """What the user gave cannot be used; the command ends with exit code 2."""


def one_line(error: Any) -> str:
    """The text of an error on one line, at most a few hundred characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 400 else text[:397] + "..."
