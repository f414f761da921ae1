"""Read pickled arrays of numbers, and nothing else: CIFAR-10's Python form is a pickle, and a pickle is a program.

The program may call a few names; what they stand for here are the small classes below, which hold a type, a shape
and bytes until all is checked. Any other name is refused before it is looked up, so nothing is imported, nothing runs.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import re
from typing import Any

import numpy

from chebact.lab.images.files import DataError

__all__ = ["read_arrays"]

STEPS = 1_000_000  # a file of CIFAR-10 takes some 50,000
PUTS = ("PUT", "BINPUT", "LONG_BINPUT")
TYPE = re.compile(r"[<>|=]?([uif][1248]|b1)")


class _Type:
    """Stands for numpy.dtype: a code such as u1, and a byte order that comes later."""

    def __init__(self, code: Any, *_: Any) -> None:
        text = code.decode("latin1") if isinstance(code, bytes) else code
        if not isinstance(text, str) or not TYPE.fullmatch(text):
            raise pickle.UnpicklingError(f"an array of the type {text!r}")
        self.code = text.lstrip("<>|=")
        self.dtype = numpy.dtype(text)

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        order = order.decode("latin1") if isinstance(order, bytes) else order
        if order not in ("<", ">", "|", "=") or any(part is not None for part in state[2:5]):
            raise pickle.UnpicklingError("an array of a compound type")
        self.dtype = numpy.dtype(f"{order}{self.code}")


class _Array:
    """Stands for an array: its state brings shape, type, order and bytes."""

    array: numpy.ndarray | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, content = state
        content = content.encode("latin1") if isinstance(content, str) else content
        if not isinstance(kind, _Type) or not isinstance(content, bytes | bytearray):
            raise pickle.UnpicklingError("an array without plain numbers")
        numbers = numpy.frombuffer(content, kind.dtype)
        self.array = numbers.reshape(tuple(int(size) for size in shape), order="F" if fortran else "C")


class _Kind:
    """Stands for the class numpy.ndarray, which is named but never called."""


def _begun(*_: Any) -> _Array:
    return _Array()


def _as_bytes(text: Any, encoding: Any = "latin1") -> bytes:
    """Stands for codecs.encode, by which newer Pythons write bytes into old pickles."""
    if not isinstance(text, str) or encoding != "latin1":
        raise pickle.UnpicklingError("text in another encoding")
    return text.encode("latin1")


NAMES: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Type,
    ("numpy", "ndarray"): _Kind,
    ("_codecs", "encode"): _as_bytes,
    **{
        (f"numpy.{core}.multiarray", "_reconstruct"): _begun  # the name under which NumPy 1 and NumPy 2 write it
        for core in ("core", "_core")
    },
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in NAMES:
            raise pickle.UnpicklingError(f"{module}.{name}, which is no array")
        return NAMES[module, name]


def check_steps(content: bytes) -> None:
    """Look at the steps of a pickle before any is done: few enough, and no place in its memory far beyond them, for
    the unpickler would make room for all the places before it.
    """
    for count, (step, number, _) in enumerate(pickletools.genops(content)):
        if count > STEPS or (step.name in PUTS and isinstance(number, int) and number > STEPS):
            raise pickle.UnpicklingError("more steps than a pickle of arrays takes")


def read_arrays(content: bytes) -> dict[str, Any]:
    """The dictionary in a pickle, its values arrays, numbers, texts and lists of them; anything else is a DataError.

    >>> import pickle
    >>> read_arrays(pickle.dumps({b"data": numpy.arange(3), b"labels": [1, 2]}, protocol=2))
    {'data': array([0, 1, 2]), 'labels': [1, 2]}
    """
    try:
        check_steps(content)
        found = _Reader(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a broken pickle raises anything
        reason = f"holds or begins {' '.join(str(error).split())}" if str(error) else "is broken"
        raise DataError(f"a pickle of arrays is wanted, but this one {reason}") from error
    if not isinstance(found, dict):
        raise DataError(f"a pickled dictionary is wanted, got a {type(found).__name__}")
    text = {key.decode("latin1") if isinstance(key, bytes) else str(key): value for key, value in found.items()}
    return {key: value.array if isinstance(value, _Array) else value for key, value in text.items()}
