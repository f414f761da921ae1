"""What a spec is: a frozen dataclass of plain values, named by a hash; all randomness of its run depends on it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import torch

from chebact.checks import MAX_DEGREE
from chebact.lab import LabError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = [
    "added",
    "as_plain",
    "canonical",
    "check_choice",
    "check_count",
    "check_noise",
    "differences",
    "key",
    "parts_of",
    "stream",
]

MOST = {"degree": MAX_DEGREE, "width": 10_000, "seeds": 10_000, "folds": 10_000, "workers": 10_000, "processes": 10_000}


def added(default: Any) -> Any:
    """The default of a field that not all records have: one that was added after the first were made, or a result
    that only some experiments give.

    In a spec at this default the field is not part of the JSON, so that the earlier records keep their keys.
    """
    return field(default=default, metadata={"added": True})


def as_plain(spec: DataclassInstance) -> dict[str, Any]:
    """The spec as JSON gives it back: a tuple is a list there, and `added` fields at their defaults are left out, also
    those of a dataclass in a field.
    """
    plain: dict[str, Any] = json.loads(canonical(without_added(spec)))
    return plain


def without_added(value: Any) -> Any:
    """A dataclass as a dict without the `added` fields that are at their defaults; other values as they are."""
    if isinstance(value, list | tuple):
        return [without_added(each) for each in value]
    if not is_dataclass(value):
        return value
    values = {each: getattr(value, each.name) for each in fields(value)}
    return {
        each.name: without_added(own)
        for each, own in values.items()
        if not (each.metadata.get("added") and own == each.default)
    }


def parts_of(spec: DataclassInstance, kind: type[DataclassInstance]) -> dict[str, Any]:
    """The fields that a spec has in common with a class that it inherits from."""
    return {each.name: getattr(spec, each.name) for each in fields(kind)}


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no blanks, no NaN.

    >>> canonical({"b": 1, "a": [0.01, None]})
    '{"a":[0.01,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def key(spec: DataclassInstance) -> str:
    """A name for a spec: the start of the SHA-256 of its canonical JSON."""
    return hashlib.sha256(canonical(as_plain(spec)).encode()).hexdigest()[:16]


def differences(there: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Where two specs differ, in words; empty when they agree.

    >>> differences({"seeds": 3, "epochs": 300}, {"seeds": 10, "epochs": 300})
    'seeds is 3 there and 10 here'
    """
    names = [name for name in sorted({*there, *asked}) if there.get(name) != asked.get(name)]
    return ", ".join(f"{name} is {there.get(name)!r} there and {asked.get(name)!r} here" for name in names)


def stream(*words: str | float) -> torch.Generator:
    """A generator that depends only on these words: the same on every machine, for every worker and in any order.

    >>> torch.equal(torch.rand(3, generator=stream("init", 7)), torch.rand(3, generator=stream("init", 7)))
    True
    """
    digest = hashlib.sha256(canonical(words).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def check_choice(what: str, value: str, choices: Mapping[str, Any] | tuple[str, ...]) -> None:
    """A LabError that lists the choices unless the value is one of them.

    >>> check_choice("model", "rely", ("relu", "tanh"))
    Traceback (most recent call last):
    chebact.lab.LabError: model must be one of relu, tanh, got 'rely' (str)
    """
    if value not in choices:
        raise LabError(f"{what} must be one of {', '.join(choices)}, got {value!r} ({type(value).__name__})")


def check_count(what: str, value: int) -> None:
    """A LabError unless the value is an integer from 1 to the limit of its kind.

    >>> check_count("degree", 20_000)
    Traceback (most recent call last):
    chebact.lab.LabError: degree must be an integer from 1 to 10000, got 20000
    """
    most = MOST.get(what, 1_000_000)
    if type(value) is not int:
        raise LabError(f"{what} must be an integer from 1 to {most}, got {value!r} ({type(value).__name__})")
    if not 1 <= value <= most:
        raise LabError(f"{what} must be an integer from 1 to {most}, got {value}")


def check_noise(value: float) -> None:
    """A LabError unless the value is finite and 0 or more."""
    if not (value >= 0 and math.isfinite(value)):
        raise LabError(f"noise must be a finite number of 0 or more, got {value}")
