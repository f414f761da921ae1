"""The formula of a learned channel as text: its polynomial and its two straight lines."""

from __future__ import annotations

import torch

from chebact.basis import CHEBYSHEV_POWERS, Basis
from chebact.interpolation import values_to_coefficients

__all__ = ["formula"]


def formula(values: torch.Tensor, basis: Basis, digits: int = 6) -> str:
    """The formula of one channel, one line per piece; `values` are (degree + 1,).

    Up to degree 3 the polynomial is written in powers of x (on an interval other than [-1, 1] in powers of
    t = (x - middle) / half its length), above as a Chebyshev series.

    >>> print(formula(torch.tensor([1.0, 0.0, 1.0]), Basis(2)))
    x <= -1:      1 - 2 (x + 1)
    -1 < x < 1:   x^2
    x >= 1:       1 + 2 (x - 1)
    """
    heights = values.detach().cpu().double()
    a, b = basis.interval
    series = values_to_coefficients(heights)
    rows = [(f"{_number(a, digits)} < x < {_number(b, digits)}:", _polynomial(series, basis, digits))]
    if not basis.has_tails:
        rows[0] = ("all x:", rows[0][1])
    else:
        lines = (torch.from_numpy(basis.pieces[-4:]) @ heights).tolist()
        rows.insert(0, (f"x <= {_number(a, digits)}:", _line(lines[0], lines[1], a, digits)))
        rows.append((f"x >= {_number(b, digits)}:", _line(lines[2], lines[3], b, digits)))
    width = max(len(where) for where, _ in rows) + 3
    return "\n".join(f"{where:<{width}}{what}" for where, what in rows)


def _polynomial(series: torch.Tensor, basis: Basis, digits: int) -> str:
    a, b = basis.interval
    plain = (a, b) == (-1.0, 1.0)
    letter = "x" if plain else "t"
    if basis.degree <= 3:
        powers = CHEBYSHEV_POWERS[: len(series), : len(series)] @ series.numpy()
        text = _sum(powers.tolist(), [f"{letter}^{k}" if k > 1 else letter for k in range(4)], digits)
    else:
        text = _sum(series.tolist(), [f"T{k}({letter})" for k in range(basis.degree + 1)], digits)
    middle, half = (a + b) / 2, (b - a) / 2
    shifted = f"(x {'-' if middle >= 0 else '+'} {_number(abs(middle), digits)})" if middle else "x"
    return text if plain else f"{text}   with t = {shifted} / {_number(half, digits)}"


def _line(height: float, slope: float, end: float, digits: int) -> str:
    shift = f"(x {'-' if end >= 0 else '+'} {_number(abs(end), digits)})" if end else "x"
    return _sum([height, slope], ["", shift], digits)


def _sum(numbers: list[float], factors: list[str], digits: int) -> str:
    """Terms with their signs, without those that round to zero; the first factor is not written."""
    largest = max(abs(number) for number in numbers)
    text = ""
    for index, number in enumerate(numbers):
        if abs(number) <= largest * 10.0 ** -(digits + 2) or number == 0:
            continue
        size = _number(abs(number), digits)
        term = size if index == 0 else factors[index] if size == "1" else f"{size} {factors[index]}"
        sign = ("-" if number < 0 else "") if not text else (" - " if number < 0 else " + ")
        text += sign + term
    return text or "0"


def _number(number: float, digits: int) -> str:
    return f"{number:.{digits}g}"
