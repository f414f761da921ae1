"""The fused CPU kernel: Numba loops over explicit vectors, on torch's own threads.

Compiled for a type when first used and kept on disk. Up to degree 5 it is bound by memory, up to 16 (float32) by
products, and above by one division a node and element.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy
import torch

from chebact.basis import TAIL_ROWS, Basis
from chebact.kernels.cpu import call_block as b
from chebact.kernels.cpu.compiler import program
from chebact.kernels.cpu.threads import Program
from chebact.kernels.layout import NoMemoryError, Sizes

name = "cpu"

TASK = 32_768  # elements a task; a constant, so that the cut does not depend on the machine
MOST_BLOCKS = 32  # of the outer axis: bounds the memory and the time of the last sum
NO_MEMORY = "a tensor came that has no memory of its own"
WIDE_DEGREE = 16  # up to here powers in float64 are as good as exact in float32
SHORT_DEGREE = 5  # up to here powers in float32 are good to a few units
LONG_ROW = 16  # `tasks.LONG_ROW`, which is not imported before it is needed
SERIAL_BELOW = 12_000  # elements at degree 3; below, starting a team costs more than it saves


def why_not(device: torch.device) -> str | None:
    """Why this kernel cannot serve tensors on `device`, or None where it can."""
    if device.type != "cpu":
        return f"it serves CPU tensors, and this one is on {device.type}"
    return _why_not_compiled()


@lru_cache(maxsize=1)
def _why_not_compiled() -> str | None:
    try:
        import numba
    except Exception as error:  # a broken install raises anything
        return f"Numba cannot be imported ({type(error).__name__}: {error})"
    if numba.config.DISABLE_JIT:
        return "Numba does not compile, since NUMBA_DISABLE_JIT is set"
    return None


def evaluate(x: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor) -> None:
    """The activation of x into `out`, which may be x itself."""
    plan(basis, sizes, x.dtype).evaluate(x, values, out)


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor
) -> torch.Tensor:
    """The gradient of x into `out`, and that of the values, in one pass over x and grad."""
    return plan(basis, sizes, x.dtype).gradients(x, grad, values, out)


def warm(bases: Iterable[Basis], dtypes: Iterable[torch.dtype]) -> None:
    """Compile, or read from disk, the machine code that serves these bases in these types."""
    for basis, dtype in product(bases, dtypes):
        plan(basis, Sizes(1, 1, 1, 1), dtype).prepare()


class Plan:
    """All of a call that does not change from call to call: the cut into tasks, constants and machine code."""

    def __init__(self, basis: Basis, sizes: Sizes, dtype: torch.dtype) -> None:
        blocks = cut_into_tasks(sizes)
        self._basis, self._by_powers, self._tasks = basis, basis.by_powers, blocks[-1]
        self._form = form_of(basis, dtype)
        work = sizes[0] * sizes[1] * sizes[2] * sizes[3] * (1 if self._form != "nodes" else basis.degree)
        self._serial = work < SERIAL_BELOW or self._tasks == 1
        self._rows, self._by_columns = sizes[0] * sizes[2], sizes[3] < LONG_ROW
        self._matrix = _matrix(basis) if self._by_powers else torch.from_numpy(_sums(basis, self._form))
        sums = 8 if self._by_powers else len(self._matrix)
        alone = basis.by_powers and blocks[3] * blocks[5] == 1  # then a task writes the result itself
        self._partial_length = 0 if alone else sizes[0] * blocks[3] * blocks[5] * sizes[2] * sums
        self._slope_matrix = _matrix(basis.derivative()) if basis.by_powers else _place(basis)
        self._constants = _constants(basis, dtype, self._form)
        self._kind = (self._form, dtype == torch.float64, *_choices(basis, dtype, self._form))
        self._blank = array("q", [0]) * b.LENGTH
        self._blank[b.TASKS : b.INNER_BLOCKS + 1] = array("q", (self._tasks, *sizes, *blocks[:6]))
        self._blank[b.MATRIX], self._blank[b.CONSTANTS] = self._matrix.data_ptr(), self._constants.data_ptr()
        self._blank[b.DEGREE], self._blank[b.SUMS] = basis.degree, sums
        self._blank[b.SLOPES] = self._slope_matrix.data_ptr()

    def evaluate(self, x: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> None:
        """The activation of x into `out`."""
        block, threads = self._block()
        table = values if self._by_powers else self._table(values, self._basis, block)
        block[b.X], block[b.OUT], block[b.TABLE] = x.data_ptr(), out.data_ptr(), table.data_ptr()
        if not (block[b.X] and block[b.OUT] and block[b.TABLE]):
            raise NoMemoryError(NO_MEMORY)
        self._forward.run(block.buffer_info()[0], threads)

    def gradients(self, x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """The gradient of x into `out`; returns that of the values."""
        result = torch.empty_like(values)
        block, threads = self._block()
        table = values if self._by_powers else self._table(values, self._basis.derivative(), block)
        block[b.X], block[b.GRAD], block[b.OUT] = x.data_ptr(), grad.data_ptr(), out.data_ptr()
        block[b.TABLE], block[b.RESULT] = table.data_ptr(), result.data_ptr()
        if not (block[b.X] and block[b.GRAD] and block[b.OUT] and block[b.TABLE] and block[b.RESULT]):
            raise NoMemoryError(NO_MEMORY)
        address, _ = block.buffer_info()
        if not self._partial_length:
            self._backward.run(address, threads)
            return result
        partial = torch.empty(self._partial_length, dtype=torch.float64, device="cpu")
        block[b.PARTIAL] = partial.data_ptr()
        self._backward.run(address, threads)
        self._finish.run(address, 1)
        return result

    def prepare(self) -> None:
        """Have the machine code ready for both passes, whatever the sizes: compile it, or read it from disk."""
        _ = self._forward, self._backward, self._finish
        if not self._by_powers:
            _ = self._tables

    def _table(self, values: torch.Tensor, basis: Basis, block: array[int]) -> torch.Tensor:
        """The table of every channel, (replica, channel, number), or the values, where tasks make tables themselves."""
        matrix, numbers = _padded_matrix(basis, self._form)
        block[b.VALUES], block[b.TABLE_MATRIX], block[b.NUMBERS] = values.data_ptr(), matrix.data_ptr(), numbers
        block[b.KEPT] = self._form == "nodes" and basis.order == 0 and basis.parameters == "values"
        if not block[b.VALUES]:
            raise NoMemoryError(NO_MEMORY)
        if self._by_columns:
            return values
        kind = torch.float64 if self._form == "wide" else values.dtype
        table = torch.empty(self._rows * numbers, dtype=kind, device="cpu")
        block[b.TABLE] = table.data_ptr()
        self._tables.run(block.buffer_info()[0], 1)
        return table

    def _block(self) -> tuple[array[int], int]:
        """A block of integers for one call, its counters behind it; and the threads that pay."""
        threads = 1 if self._serial else min(torch.get_num_threads(), self._tasks)
        block = self._blank + array("q", [0]) * (threads + 1)
        block[b.COUNTERS], block[b.PARTS] = block.buffer_info()[0] + b.LENGTH * block.itemsize, threads
        return block, threads

    @cached_property
    def _tables(self) -> Program:
        return program("tables", *self._kind)

    @cached_property
    def _forward(self) -> Program:
        return program("forward", *self._kind)

    @cached_property
    def _backward(self) -> Program:
        return program("backward", *self._kind)

    @cached_property
    def _finish(self) -> Program:
        return program("finish", *self._kind)


plan = lru_cache(maxsize=4096)(Plan)


@lru_cache(maxsize=1024)
def cut_into_tasks(sizes: Sizes) -> tuple[int, int, int, int, int, int, int]:
    """Block lengths of outer, channel and inner, how many blocks of each there are, and the number of tasks."""
    replicas, outer, channels, inner = sizes
    inner_block = inner if inner <= 2 * TASK else TASK
    channel_block = channels if channels * inner_block <= 2 * TASK else max(8, TASK // inner_block // 8 * 8)
    outer_block = max(1, TASK // (channel_block * inner_block), -(-outer // MOST_BLOCKS))
    counts = (-(-outer // outer_block), -(-channels // channel_block), -(-inner // inner_block))
    return outer_block, channel_block, inner_block, *counts, replicas * counts[0] * counts[1] * counts[2]


def form_of(basis: Basis, dtype: torch.dtype) -> str:
    """How a polynomial is evaluated: see cubic.py, wide_formula.py and barycentric_formula.py."""
    if basis.by_powers:
        return "cubic"
    if basis.degree > WIDE_DEGREE or dtype != torch.float32:
        return "nodes"
    is_short = basis.degree <= SHORT_DEGREE and basis.interval == (-1.0, 1.0)
    return "short" if is_short and basis.has_tails and basis.order == 0 else "wide"


def _choices(basis: Basis, dtype: torch.dtype, form: str) -> tuple[bool, bool, bool, bool]:
    """What a form can leave out: see `cubic.programs`."""
    row, kind = TAIL_ROWS[basis.tails], _numpy_type(dtype)
    if form == "nodes":
        return False, basis.has_tails, False, False
    exact = basis.ends_are_exact(kind) if form == "cubic" else all(float(kind(end)) == end for end in basis.interval)
    joined = not basis.has_tails or (row.joined and basis.order == 0 and exact)
    return basis.interval == (-1.0, 1.0), basis.has_tails, joined, joined and row.smooth


@lru_cache(maxsize=256)
def _matrix(basis: Basis) -> torch.Tensor:
    """The power form's matrix transposed, a row of 16 numbers a parameter."""
    rows = numpy.zeros((basis.degree + 1, 16))
    rows[:, :10] = basis.power_pieces.T
    if basis.degree == 2:
        rows[:, 9] = rows[:, 8]  # the one node between the ends, 0, has two signs
    return torch.from_numpy(rows)


def _sums(basis: Basis, form: str) -> Any:
    """The matrix above degree 3 from parameters to what running sums belong to; rows are filled up to eight numbers."""
    matrix = basis.table
    if form != "nodes":
        matrix = numpy.vstack([basis.paired_powers, basis.pieces[basis.degree + 1 :]])
    return numpy.pad(matrix, ((0, 0), (0, -(basis.degree + 1) % 8)))


def _numbers(basis: Basis, form: str) -> Any:
    """The matrix above degree 3 from parameters to the table of a channel."""
    if form == "nodes":
        return basis.table
    lines = basis.pieces[basis.degree + 1 :] if basis.has_tails else numpy.zeros((4, basis.degree + 1))
    return numpy.vstack([basis.paired_powers, lines, basis.pieces[: basis.degree + 1]])


@lru_cache(maxsize=256)
def _constants(basis: Basis, dtype: torch.dtype, form: str) -> torch.Tensor:
    kind = _numpy_type(dtype)
    if form in ("cubic", "nodes"):
        return torch.from_numpy(numpy.array(basis.fused_constants(kind), kind))
    k, degree = basis.constants(kind), basis.degree
    places = k.high[: degree // 2 + 1] if basis.interval == (-1.0, 1.0) else k.high
    places = places if basis.is_exact_at_nodes else (math.nan,)
    beside = (numpy.nextafter(kind(k.right), -kind(math.inf)), numpy.nextafter(kind(k.left), kind(math.inf)))
    numbers = (k.left, k.right, *beside, k.largest, len(places), *k.high, *places)
    return torch.from_numpy(numpy.array(numbers, kind))


def _place(basis: Basis) -> torch.Tensor:
    """The ends, the factor that brings them to -1 and 1, and where powers without lines stop; float64."""
    a, c = basis.interval
    return torch.tensor([a, c, 1 / (c - a), 10.0 ** (240 / basis.degree)], dtype=torch.float64, device="cpu")


@lru_cache(maxsize=256)
def _padded_matrix(basis: Basis, form: str) -> tuple[torch.Tensor, int]:
    """The matrix from parameters to the table above degree 3, transposed; its rows are filled up to whole vectors.

    And how many numbers a table has: in the barycentric form the power of two that all are divided by comes last.
    """
    matrix = _numbers(basis, form)
    numbers, terms = matrix.shape
    rows = numpy.zeros((terms, -(-numbers // 8) * 8))
    rows[:, :numbers] = matrix.T
    return torch.from_numpy(rows), numbers + (form != "wide")


def _numpy_type(dtype: torch.dtype) -> type:
    return numpy.float64 if dtype == torch.float64 else numpy.float32
