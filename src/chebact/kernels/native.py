"""The CPU kernel: machine code that was compiled when chebact was installed, on torch's own threads.

Up to degree 5 it is bound by memory, up to 16 (float32) by products, and above by one division a node and element.
"""

from __future__ import annotations

import ctypes
import math
from functools import cached_property, lru_cache
from typing import NamedTuple

import torch

from chebact import native
from chebact.basis import Basis
from chebact.kernels.cpu import (
    NO_MEMORY,
    SERIAL_BELOW,
    _choices,
    _constants,
    _matrix,
    _padded_matrix,
    _place,
    _sums,
    cut_into_tasks,
    form_of,
)
from chebact.kernels.cpu.threads import Program
from chebact.kernels.layout import NoMemoryError, Sizes

name = "native"

FORMS = ("cubic", "short", "wide", "nodes")
MEASURE, TABLES, FORWARD, BACKWARD, FINISH = 1, 2, 4, 8, 16  # steps of a call


FIELDS = (
    "steps", "form", "is_double", "is_plain", "tails", "keeps_heights", "terms", "sums", "numbers",
    "replicas", "outer", "channels", "inner", "outer_block", "channel_block", "inner_block", "outer_blocks",
    "channel_blocks", "inner_blocks", "tasks", "parts", "counters", "x", "grad", "out", "heights", "result",
    "constants", "place", "to_table", "to_result", "table", "table_bytes", "partial", "partial_bytes",
    "scratch", "scratch_bytes",
)  # fmt: skip


class Call(ctypes.Structure):
    """What a call is told, as `native/call.hpp` describes it."""

    _fields_ = [(name, ctypes.c_int64) for name in FIELDS]


class _Entry(NamedTuple):
    address: int
    library: ctypes.CDLL


@lru_cache(maxsize=1)
def _program() -> Program:
    """The function of the library that does all steps."""
    library = native.library()
    return Program(_Entry(ctypes.cast(library.chebact_kernel, ctypes.c_void_p).value or 0, library))


def why_not(device: torch.device) -> str | None:
    """Why this kernel cannot serve tensors on `device`, or None where it can."""
    if device.type != "cpu":
        return f"it serves CPU tensors, and this one is on {device.type}"
    return native.why_not()


def evaluate(x: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor) -> None:
    """The activation of x into `out`, which may be x itself."""
    plan(basis, sizes, x.dtype).evaluate(x, values, out)


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor
) -> torch.Tensor:
    """The gradient of x into `out`, and that of the values, in one pass over x and grad."""
    return plan(basis, sizes, x.dtype).gradients(x, grad, values, out)


class _Pass:
    """The forward or the backward pass of a plan: a call with all but the addresses of tensors filled in."""

    def __init__(self, step: int, basis: Basis, sizes: Sizes, dtype: torch.dtype) -> None:
        *blocks, tasks = cut_into_tasks(sizes)
        form, terms = form_of(basis, dtype), basis.degree + 1
        tabled = basis if step == FORWARD else basis.derivative()  # whose tables are read
        plain, lined, joined, smooth = _choices(basis, dtype, form)
        if form == "cubic":
            to_table, numbers, to_result, sums = _matrix(tabled), 10, _matrix(basis), 8
        else:
            to_table, numbers = _padded_matrix(tabled, form)
            to_result = torch.from_numpy(_sums(basis, form))
            sums = len(to_result)
        keeps_heights = form == "nodes" and tabled.order == 0 and tabled.parameters == "values"
        kind = FORMS.index(form), dtype == torch.float64, plain, lined * (1 + joined + smooth), keeps_heights
        self._call = Call(MEASURE, *kind, terms, sums, numbers, *sizes, *blocks, tasks, 1)
        self._read = _constants(basis, dtype, form), _place(basis), to_table, to_result
        self._call.constants, self._call.place, self._call.to_table, self._call.to_result = (
            tensor.data_ptr() for tensor in self._read
        )
        self._program, self._step = _program(), step
        self._program.run(ctypes.addressof(self._call), 1)
        call, work = self._call, math.prod(sizes) * (basis.degree if form == "nodes" else 1)
        self._shared_bytes, self._own_bytes = call.table_bytes + call.partial_bytes, call.scratch_bytes
        self._most_threads = 1 if work < SERIAL_BELOW else tasks

    def run(
        self,
        x: torch.Tensor,
        grad: torch.Tensor | None,
        values: torch.Tensor,
        out: torch.Tensor,
        result: torch.Tensor | None,
    ) -> None:
        """Fill in the addresses, and do all steps on as many threads as pay."""
        call = Call.from_buffer_copy(self._call)
        call.x, call.heights, call.out = x.data_ptr(), values.data_ptr(), out.data_ptr()
        if grad is not None and result is not None:
            call.grad, call.result = grad.data_ptr(), result.data_ptr()
        if not (call.x and call.heights and call.out) or (grad is not None and not (call.grad and call.result)):
            raise NoMemoryError(NO_MEMORY)
        threads = 1 if self._most_threads == 1 else min(torch.get_num_threads(), self._most_threads)
        if self._shared_bytes or self._own_bytes:
            room = torch.empty(self._shared_bytes + threads * self._own_bytes, dtype=torch.uint8, device="cpu")
            call.table = room.data_ptr()
            call.partial = call.table + call.table_bytes
            call.scratch = call.partial + call.partial_bytes
        address = ctypes.addressof(call)
        if threads == 1:
            call.steps = TABLES | self._step | FINISH
            self._program.run(address, 1)
            return
        counters = (ctypes.c_int64 * (threads + 1))()
        call.counters, call.parts = ctypes.addressof(counters), threads
        for steps, workers in ((TABLES, 1), (self._step, threads), (FINISH, 1)):
            call.steps = steps
            self._program.run(address, workers)


class Plan:
    """All of a call that does not change from call to call: the cut into tasks, constants and matrices."""

    def __init__(self, basis: Basis, sizes: Sizes, dtype: torch.dtype) -> None:
        self._options = basis, sizes, dtype

    def evaluate(self, x: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> None:
        """The activation of x into `out`."""
        self._forward.run(x, None, values, out, None)

    def gradients(self, x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """The gradient of x into `out`; returns that of the values."""
        result = torch.empty_like(values)
        self._backward.run(x, grad, values, out, result)
        return result

    @cached_property
    def _forward(self) -> _Pass:
        return _Pass(FORWARD, *self._options)

    @cached_property
    def _backward(self) -> _Pass:
        return _Pass(BACKWARD, *self._options)


plan = lru_cache(maxsize=4096)(Plan)
