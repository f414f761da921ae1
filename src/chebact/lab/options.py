"""Options of the command line: help texts, integers that are not rounded, and the options that make a record again.

A spec's fields are the options of its command. The annotation of a field holds the help text of the option, and
its default is stated there only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from cyclopts import Parameter, Token

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = [
    "AllRecords",
    "Flat",
    "Integer",
    "Records",
    "Several",
    "about",
    "as_default",
    "as_typed",
    "in_options",
    "options",
]

ARGUMENTS = {  # what lower layers call an argument, in backticks, and the option that it is; most share the name
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("results", "workers", "dask", "folds", "rounds", "features", "select", "drop", "positive", "negative"),
            "two_labels",
            *("init", "precision"),
        )
    },
    "folder": "--data",
    "source": "--from",
}

Several = Parameter(consume_multiple=True, negative=())
Flat = Parameter(name="*")  # the fields of a dataclass are options of the command itself


def read_integer(kind: Any, tokens: Sequence[Token]) -> int:
    """The number that was typed; cyclopts itself would round 1.5 to 2."""
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        shown = repr(word if len(word) <= 40 else f"{word[:37]}...")
        raise ValueError(f"it must be an integer, got {shown}") from None


Integer = Annotated[int, Parameter(converter=read_integer)]


def about(sentence: str, name: str | None = None) -> Parameter:
    """The help text of an option; `name` where it is not that of the field."""
    return Parameter(help=sentence, name=name)


Records = Annotated[Path, about("Folder of the records.")]
AllRecords = Annotated[Path, about("Folder of the records of all experiments.")]


def as_typed(value: Any) -> str:
    """A value as one types it after an option.

    >>> as_typed((0.01, 0.04)), as_typed(True)
    ('0.01 0.04', 'on')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return " ".join(map(as_typed, value))
    return str(value)


def as_default(value: Any) -> str | None:
    """A default as the help shows it; None for no value and for a flag that is not set."""
    return None if value is None or value is False or value == () else as_typed(value)


def options(plain: Mapping[str, Any], usual: DataclassInstance, shown: type[DataclassInstance]) -> list[str]:
    """The options by which a record's spec differs from the `usual` one, among the fields of the class `shown`."""
    hints = get_type_hints(shown, include_extras=True)
    words = []
    for field in fields(shown):
        value, default = plain.get(field.name), getattr(usual, field.name)
        default = list(default) if isinstance(default, tuple) else default
        if field.name not in plain or value == default:
            continue
        name = option_name(field.name, hints[field.name])
        if isinstance(value, bool):
            words.append(name if value else f"--no-{name[2:]}")
        else:
            words.append(f"{name} {as_typed(value)}")
    return words


def option_name(field: str, hint: Any) -> str:
    """The option of a field: the name in its annotation, or that of the field."""
    names = [
        name for each in getattr(hint, "__metadata__", ()) if isinstance(each, Parameter) for name in each.name or ()
    ]
    return names[0] if names else f"--{field.replace('_', '-')}"


def in_options(sentence: str) -> str:
    """A sentence about arguments as one about options.

    >>> in_options("choose another folder with `results`")
    'choose another folder with --results'
    """
    return re.sub(r"`(\w+)`", lambda found: ARGUMENTS.get(found[1], found[0]), sentence)
