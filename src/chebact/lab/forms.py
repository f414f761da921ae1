"""Values of JSON as frozen dataclasses: `read_as` builds one, or says in one sentence where a value differs.

A checksum says that a file is as it was written, not that this program wrote it. So nothing reads a record before it
is a dataclass of its experiment. The type hints of the fields are the form: bool, int (0 or more), float (finite),
str, `X | None`, `tuple[X, ...]`, `tuple[X, X]`, `Literal`, `Mapping[str, X]`, other dataclasses, and `Annotated[X,
Kind]` for what a type cannot say. A field made by `added` may be missing; names that no field has are ignored.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from chebact.lab import LabError

__all__ = ["OBJECT", "SECONDS", "TEXT", "Kind", "between", "check_kind", "one_of", "read_as"]

LONGEST = 10_000  # characters of a text
LARGEST = 1e300  # of a number: drawings and tables compute with them


@dataclass(frozen=True)
class Kind:
    """A kind of plain values: in words, and as a question."""

    words: str
    fits: Callable[[Any], bool]


NUMBER = Kind("a finite number", lambda value: type(value) in (int, float) and abs(value) < LARGEST)
COUNT = Kind("an integer from 0 to 2**53", lambda value: type(value) is int and 0 <= value <= 2**53)
TEXT = Kind("text", lambda value: type(value) is str and len(value) <= LONGEST)
SECONDS = Kind("a number of seconds, or lists of them", lambda value: is_time(value))
FLAG = Kind("true or false", lambda value: type(value) is bool)
OBJECT = Kind("an object", lambda value: type(value) is dict)
KINDS = {bool: FLAG, int: COUNT, float: NUMBER, str: TEXT, Any: Kind("a value", lambda value: True)}


def is_time(value: Any) -> bool:
    """Whether this is a number of seconds, or a list (of lists) of such."""
    if type(value) is list:
        return all(is_time(each) for each in value)
    return NUMBER.fits(value) and 0 <= value <= 1e12


def between(low: float, high: float) -> Kind:
    """Numbers from low to high."""
    return Kind(f"a number from {low:g} to {high:g}", lambda value: NUMBER.fits(value) and low <= value <= high)


def one_of(*choices: str) -> Kind:
    """One of some words."""
    return Kind(f"one of {', '.join(choices)}", lambda value: type(value) is str and value in choices)


def read_as(form: Any, value: Any, where: str) -> Any:
    """The value as that type; a LabError says where and how it differs.

    >>> read_as(tuple[float, ...], [0.5, "x"], "results.rmse")
    Traceback (most recent call last):
    chebact.lab.LabError: results.rmse[1] must be a finite number, got 'x' (str)
    """
    origin, inner = get_origin(form), get_args(form)
    if origin is Annotated:
        built = read_as(inner[0], value, where)
        for kind in form.__metadata__:
            if isinstance(kind, Kind):
                check_kind(kind, value, where)
        return built
    if origin in (Union, types.UnionType):
        return read_one_of(inner, value, where)
    if origin is Literal:
        return check_kind(one_of(*inner), value, where)
    if origin is tuple:
        return read_list(inner, value, where)
    if origin is Mapping:
        check_kind(OBJECT, value, where)
        return {name: read_as(inner[1], each, f"{where}.{name}") for name, each in value.items()}
    return read_object(form, value, where) if is_dataclass(form) else check_kind(KINDS[form], value, where)


def check_kind(kind: Kind, value: Any, where: str) -> Any:
    """The value; a LabError unless it is of that kind."""
    if not kind.fits(value):
        raise LabError(f"{where} must be {kind.words}, got {shorten(value)} ({type(value).__name__})")
    return value


def read_one_of(forms: tuple[Any, ...], value: Any, where: str) -> Any:
    """None where that is allowed; of several dataclasses, the first all of whose names are there, or the last."""
    if value is None and type(None) in forms:
        return None
    *others, last = (form for form in forms if form is not type(None))
    check = OBJECT.fits(value)
    return read_as(
        next((form for form in others if check and required_names(form) <= value.keys()), last), value, where
    )


def read_list(forms: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    """A tuple of any length, or of one entry per form."""
    count = None if forms[-1] is ... else len(forms)
    if type(value) is not list or count not in (None, len(value)):
        size = "" if count is None else f" of {count}"
        raise LabError(f"{where} must be a list{size}, got {shorten(value)} ({type(value).__name__})")
    return tuple(read_as(forms[0], each, f"{where}[{index}]") for index, each in enumerate(value))


def read_object(form: Any, value: Any, where: str) -> Any:
    """A dataclass whose fields are the names of an object."""
    check_kind(OBJECT, value, where)
    missing = required_names(form) - value.keys()
    if missing:
        raise LabError(f"{where}.{min(missing)} is missing")
    hints = type_hints(form)
    known = [field.name for field in fields(form) if field.init and field.name in value]
    return form(**{name: read_as(hints[name], value[name], f"{where}.{name}") for name in known})


@cache
def type_hints(form: Any) -> dict[str, Any]:
    return get_type_hints(form, include_extras=True)


@cache
def required_names(form: Any) -> frozenset[str]:
    """The names that an object must have."""
    return frozenset(field.name for field in fields(form) if not field.metadata.get("added"))


def shorten(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 200:  # Python itself refuses to write some of these out
        return "an integer of many digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
