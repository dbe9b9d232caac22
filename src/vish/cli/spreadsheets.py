"""Text in CSV files that a spreadsheet would run as a formula.

A cell that begins with ``=``, ``+``, ``-`` or ``@`` (or white space before it) is a formula to
spreadsheet programs, quoted or not. An apostrophe before it makes it text; numbers stay.
"""

import re
from typing import Any

_FORMULA = r"^[\t\r\n ]*[=+\-@]"
_NUMBER = r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?%?$"


def as_text(cell: str) -> str:
    """The cell, with an apostrophe before it if it would run."""
    runs = re.match(_FORMULA, cell) and not re.match(_NUMBER, cell)
    return "'" + cell if runs else cell


def unformulated(column: Any) -> Any:
    """An Arrow column, its text cells as by `as_text`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    runs = pc.and_not(
        pc.match_substring_regex(column, _FORMULA), pc.match_substring_regex(column, _NUMBER)
    )
    text = [pa.scalar(part, kind) for part in ("'", "")]
    return pc.if_else(runs, pc.binary_join_element_wise(text[0], column, text[1]), column)
