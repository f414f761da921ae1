"""Options that the commands share: several words after one name, and whole numbers that are not rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token

__all__ = ["Several", "Whole"]

Several = Parameter(consume_multiple=True, negative=())


def whole_number(kind: Any, tokens: Sequence[Token]) -> int:
    """The number that was typed; cyclopts alone would round 1.5 to 2."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"a whole number is wanted; got {tokens[0].value!r}") from None


Whole = Annotated[int, Parameter(converter=whole_number)]
