"""A call of the library: the struct that it reads, filled in but for the addresses of tensors."""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import NamedTuple

import torch

from chebact import native
from chebact.basis import Basis
from chebact.kernels.cpu.forms import FORMS, constants_of, form_of, place_of, tails_of, to_result, to_table
from chebact.kernels.cpu.threads import Program
from chebact.kernels.layout import NoMemoryError, Sizes

__all__ = ["BACKWARD", "FORWARD", "SERIAL_BELOW", "Call", "Pass", "cut_into_tasks"]

TASK = 32_768  # elements a task; a constant, so that the cut does not depend on the machine
MOST_BLOCKS = 32  # of the outer axis: bounds the memory and the time of the last sum
SERIAL_BELOW = 12_000  # elements at degree 3; below, starting a team costs more than it saves
NO_MEMORY = "a tensor came that has no memory of its own"
MEASURE, TABLES, FORWARD, BACKWARD, FINISH = 1, 2, 4, 8, 16  # `Step` in native/call.hpp

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


@lru_cache(maxsize=1024)
def cut_into_tasks(sizes: Sizes) -> tuple[int, int, int, int, int, int, int]:
    """Block lengths of outer, channel and inner, how many blocks of each there are, and the number of tasks."""
    replicas, outer, channels, inner = sizes
    inner_block = inner if inner <= 2 * TASK else TASK
    channel_block = channels if channels * inner_block <= 2 * TASK else max(8, TASK // inner_block // 8 * 8)
    outer_block = max(1, TASK // (channel_block * inner_block), -(-outer // MOST_BLOCKS))
    counts = (-(-outer // outer_block), -(-channels // channel_block), -(-inner // inner_block))
    return outer_block, channel_block, inner_block, *counts, replicas * counts[0] * counts[1] * counts[2]


class Pass:
    """The forward or the backward pass of a plan: a call with all but the addresses of tensors filled in."""

    def __init__(self, step: int, basis: Basis, sizes: Sizes, dtype: torch.dtype) -> None:
        *blocks, tasks = cut_into_tasks(sizes)
        form = form_of(basis, dtype)
        constants = constants_of(basis, dtype, form)  # an interval that the type cannot hold is an error from here
        tabled = basis if step == FORWARD else basis.derivative()  # whose tables are read
        table, numbers = to_table(tabled, form)
        result, sums = to_result(basis, form)
        keeps_heights = form == "nodes" and tabled.order == 0 and tabled.parameters == "values"
        kind = FORMS.index(form), dtype == torch.float64, basis.interval == (-1.0, 1.0), tails_of(basis, dtype, form)
        counts = keeps_heights, basis.degree + 1, sums, numbers
        self._call = Call(MEASURE | step, *kind, *counts, *sizes, *blocks, tasks, 1)
        self._read = constants, place_of(basis), table, result  # which the call has addresses of
        self._call.constants, self._call.place, self._call.to_table, self._call.to_result = (
            tensor.data_ptr() for tensor in self._read
        )
        self._program, self._step = _program(), step
        native.library().chebact_kernel(ctypes.byref(self._call))
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
        for steps, workers, is_needed in (
            (TABLES, 1, call.table_bytes),
            (self._step, threads, True),
            (FINISH, 1, call.partial_bytes),
        ):
            if is_needed:
                call.steps = steps
                self._program.run(address, workers)
