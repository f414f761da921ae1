"""Options that the commands share: several words after one name, and integers that are not rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token

__all__ = ["Several", "Whole"]

Several = Parameter(consume_multiple=True, negative=())


def whole_number(kind: Any, tokens: Sequence[Token]) -> int:
    """The number that was typed; cyclopts alone would round 1.5 to 2."""
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        shown = repr(word if len(word) <= 40 else f"{word[:37]}...")
        raise ValueError(f"it must be an integer, got {shown}") from None


Whole = Annotated[int, Parameter(converter=whole_number)]
