"""What the parts of a record must be: a small language for the form of JSON values, and one sentence where one differs.

A checksum says that a file is as it was written, not that this program wrote it. So a record is held against the form
of its experiment before anything reads it. A form is a `Kind`, a list of one form (a list of any length), a dictionary
(an object that has these names at least; those that end in "?" may be missing), or `Maybe` of a form (or null).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "COUNT",
    "FLAG",
    "NUMBER",
    "SECONDS",
    "TEXT",
    "TEXTS",
    "Kind",
    "Maybe",
    "between",
    "one_of",
    "sized",
    "unlike",
]

LONGEST = 10_000  # characters of a text
LARGEST = 1e300  # of a number: drawings and tables compute with them


@dataclass(frozen=True)
class Kind:
    """A kind of plain values: in words, and as a question."""

    words: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class Maybe:
    """A form, or null."""

    form: Any


@dataclass(frozen=True)
class sized:
    """A list of so many entries of a form."""

    form: Any
    count: int


NUMBER = Kind("a finite number", lambda value: type(value) in (int, float) and abs(value) < LARGEST)
COUNT = Kind("an integer from 0 to 2**53", lambda value: type(value) is int and 0 <= value <= 2**53)
TEXT = Kind("text", lambda value: type(value) is str and len(value) <= LONGEST)
TEXTS = Kind(
    "an object of texts",
    lambda value: type(value) is dict and all(each is None or TEXT.fits(each) for each in value.values()),
)
SECONDS = Kind("a number of seconds, or lists of them", lambda value: is_time(value))
FLAG = Kind("true or false", lambda value: type(value) is bool)


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


def unlike(value: Any, form: Any, where: str) -> str | None:
    """Where and how a value differs from a form; None where it does not.

    >>> unlike({"rmse": ["x"]}, {"rmse": [NUMBER], "note?": TEXT}, "results")
    "results.rmse[0] must be a finite number, got 'x'"
    """
    if isinstance(form, Maybe):
        return None if value is None else unlike(value, form.form, where)
    if isinstance(form, Kind):
        return None if form.fits(value) else f"{where} must be {form.words}, got {shortened(value)}"
    if isinstance(form, Mapping):
        return unlike_object(value, form, where)
    count = form.count if isinstance(form, sized) else None
    inner = form.form if isinstance(form, sized) else form[0]
    if type(value) is not list or count not in (None, len(value)):
        return f"{where} must be a list{'' if count is None else f' of {count}'}, got {shortened(value)}"
    found = (unlike(each, inner, f"{where}[{place}]") for place, each in enumerate(value))
    return next((reason for reason in found if reason is not None), None)


def unlike_object(value: Any, form: Mapping[str, Any], where: str) -> str | None:
    if type(value) is not dict:
        return f"{where} must be an object, got {shortened(value)}"
    for name, inner in form.items():
        plain = name.removesuffix("?")
        if plain not in value:
            if plain == name:
                return f"{where}.{plain} is missing"
        elif (reason := unlike(value[plain], inner, f"{where}.{plain}")) is not None:
            return reason
    return None


def shortened(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 200:  # Python itself refuses to write some of these out
        return "an integer of many digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
