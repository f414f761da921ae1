"""What the library is told of a basis: the form that a polynomial is evaluated in, its matrices and its constants."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy
import torch

from chebact.basis import TAIL_ROWS, Basis
from chebact.kernels.scaling import numpy_type

__all__ = ["FORMS", "constants_of", "form_of", "place_of", "tails_of", "to_result", "to_table"]

WIDE_DEGREE = 16  # up to here powers in float64 are as good as exact in float32
SHORT_DEGREE = 5  # up to here powers in float32 are good to a few units
FORMS = ("cubic", "short", "wide", "nodes")  # in the order of `FormCode` in native/call.hpp
POWER_SUMS, POWER_NUMBERS = 8, 10  # of the power form


def form_of(basis: Basis, dtype: torch.dtype) -> str:
    """How a polynomial is evaluated: see native/polynomial.hpp."""
    if basis.by_powers:
        return "cubic"
    if basis.degree > WIDE_DEGREE or dtype != torch.float32:
        return "nodes"
    is_short = basis.degree <= SHORT_DEGREE and basis.interval == (-1.0, 1.0)
    return "short" if is_short and basis.has_tails and basis.order == 0 else "wide"


def tails_of(basis: Basis, dtype: torch.dtype, form: str) -> int:
    """What follows beyond the ends, as `Tails` in native/polynomial.hpp counts it."""
    row, kind = TAIL_ROWS[basis.tails], numpy_type(dtype)
    if not basis.has_tails:
        return 0
    exact = basis.ends_are_exact(kind) if form == "cubic" else all(float(kind(end)) == end for end in basis.interval)
    is_joined = form != "nodes" and row.joined and basis.order == 0 and exact
    return 1 + is_joined + (is_joined and row.smooth)


@lru_cache(maxsize=256)
def to_table(basis: Basis, form: str) -> tuple[torch.Tensor, int]:
    """The matrix from parameters to the table of a channel, transposed and padded; and how many numbers a table has.

    In float32 and in the barycentric form the power of two that all are divided by comes last in a table.
    """
    if form == "cubic":
        return _power_matrix(basis), POWER_NUMBERS
    matrix = basis.table
    if form != "nodes":
        lines = basis.pieces[basis.degree + 1 :] if basis.has_tails else numpy.zeros((4, basis.degree + 1))
        matrix = numpy.vstack([basis.paired_powers, lines, basis.pieces[: basis.degree + 1]])
    return _padded(matrix.T), len(matrix) + (form != "wide")


@lru_cache(maxsize=256)
def to_result(basis: Basis, form: str) -> tuple[torch.Tensor, int]:
    """The matrix from the sums of a channel to the gradient of its parameters, padded; and how many sums there are."""
    if form == "cubic":
        return _power_matrix(basis), POWER_SUMS
    matrix = basis.table
    if form != "nodes":
        matrix = numpy.vstack([basis.paired_powers, basis.pieces[basis.degree + 1 :]])
    return _padded(matrix), len(matrix)


@lru_cache(maxsize=256)
def _power_matrix(basis: Basis) -> torch.Tensor:
    """The power form's matrix transposed, a row of 16 numbers a parameter."""
    rows = numpy.zeros((basis.degree + 1, 16))
    rows[:, :POWER_NUMBERS] = basis.power_pieces.T
    if basis.degree == 2:
        rows[:, 9] = rows[:, 8]  # the one node between the ends, 0, has two signs
    return torch.from_numpy(rows)


def _padded(matrix: Any) -> torch.Tensor:
    """The matrix with its rows filled up to a multiple of eight numbers."""
    rows = numpy.pad(matrix, ((0, 0), (0, -matrix.shape[1] % 8)))
    return torch.from_numpy(numpy.ascontiguousarray(rows))


@lru_cache(maxsize=256)
def constants_of(basis: Basis, dtype: torch.dtype, form: str) -> torch.Tensor:
    """The constants that a form reads, in the type of x."""
    kind = numpy_type(dtype)
    if form in ("cubic", "nodes"):
        return torch.from_numpy(numpy.array(basis.fused_constants(kind), kind))
    k, degree = basis.constants(kind), basis.degree
    places = k.high[: degree // 2 + 1] if basis.interval == (-1.0, 1.0) else k.high
    places = places if basis.is_exact_at_nodes else (math.nan,)
    beside = (numpy.nextafter(kind(k.right), -kind(math.inf)), numpy.nextafter(kind(k.left), kind(math.inf)))
    numbers = (k.left, k.right, *beside, k.largest, len(places), *k.high, *places)
    return torch.from_numpy(numpy.array(numbers, kind))


def place_of(basis: Basis) -> torch.Tensor:
    """The ends, the factor that brings them to -1 and 1, and where powers without lines stop; float64."""
    a, c = basis.interval
    return torch.tensor([a, c, 1 / (c - a), 10.0 ** (240 / basis.degree)], dtype=torch.float64, device="cpu")
