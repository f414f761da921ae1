"""Constant tables of a C file; equal ones are one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy

from chebact.export.program import Window

__all__ = ["Tables"]

SMALLER = "pass real='double', or scale the weights"


class Tables:
    """The tables so far, as text; `real` is the type of their numbers, and `wide` writes numbers of type double.

    >>> tables = Tables("float")
    >>> tables.add("bias", [0.5, 1]), tables.add("bias", [0.5, 1.0]), tables.number(2)
    ('bias0', 'bias0', '2.0f')
    """

    def __init__(self, real: str) -> None:
        self.real, self.wide = real, self if real == "double" else Tables("double")
        self.suffix, self.digits = ("f", 9) if real == "float" else ("", 17)
        self.kind = numpy.float32 if real == "float" else numpy.float64
        self.most = float(numpy.finfo(self.kind).max)
        self.texts: list[str] = []
        self._names: dict[str, str] = {}

    def number(self, given: Any) -> str:
        """A number that C reads as the one that was given, to the digits of the type."""
        if not abs(given) <= self.most:
            raise ValueError(f"network must have numbers that fit in {self.kind.__name__}, got {given:g}; {SMALLER}")
        text = f"{self.kind(given):.{self.digits}g}"
        return (text if any(mark in text for mark in ".en") else f"{text}.0") + self.suffix

    def add(self, word: str, numbers: Iterable[Any] | None) -> str:
        """The name of a table with these numbers; 0, a null pointer, for none."""
        if numbers is None:
            return "0"
        texts = [self.number(each) for each in numbers]
        lines = [", ".join(texts[start : start + 6]) for start in range(0, len(texts), 6)]
        return self._named(word, "static const real", f"[{len(texts)}]", "{\n    " + ",\n    ".join(lines) + "\n}")

    def window(self, window: Window) -> str:
        """The address of a window."""
        numbers = [*window[:7], *(each for pair in window[7:] for each in pair)]
        return "&" + self._named("window", "static const window", "", "{" + ", ".join(map(str, numbers)) + "}")

    def _named(self, word: str, kind: str, length: str, text: str) -> str:
        key = f"{kind}{text}"
        if key not in self._names:
            self._names[key] = f"{word}{len(self._names)}"
            self.texts.append(f"\n{kind} {self._names[key]}{length} = {text};\n")
        return self._names[key]
