"""Trains the replicas of a network with the compiled operations, a portion of the steps at a time.

A portion takes a fraction of a second; interrupts are handled between portions. Threads are started once per portion,
and each processes one replica after another.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor

from chebact.kernels.cpu.registers import has_many_registers, native_lanes
from chebact.kernels.cpu.threads import Program, available_threads
from chebact.networks.residual_mlp import ResidualMLP
from chebact.training.fused.code import Code
from chebact.training.fused.future import Future
from chebact.training.fused.packing import pack, unpack_, zeros
from chebact.training.fused.plan import Plan
from chebact.training.fused.readings import Stepper, read_loss
from chebact.training.task import Task

__all__ = ["Trainer"]

PORTION = 0.25  # seconds
FIRST_PORTION = 1e8  # parameters times points: about ten milliseconds on one thread, to measure a step
MOST_ORDER = 1 << 22  # indices of the order of the data that are drawn ahead


class Trainer:
    """The memory and the compiled code of one training that `why_not` accepts."""

    def __init__(self, task: Task) -> None:
        network, loss, counts = task.network, read_loss(task.loss), task.counts()
        assert isinstance(network, ResidualMLP)
        assert loss is not None
        self.task, self.counts, replicas, dtype = task, counts, len(counts), task.x.dtype
        code = Code(dtype == torch.float64, native_lanes() * 4 // dtype.itemsize, has_many_registers())
        stepper = Stepper(task.optimizer)
        self.plan = Plan(network, task, loss, stepper, code)
        self.program = Program(code.function("driver", "train"))
        self.state = pack(self.plan.slots, self.plan.state_length)
        self.steps = -(-max(counts) // task.batch_size)
        self.future = Future(task.order, counts, self.steps, stepper, task.scheduler, task.by_step)
        self.threads = min(available_threads(), replicas)
        self.arenas = zeros((self.threads, self.plan.memory.length), self.state.dtype)
        self.records, self.points = self.plan.records(), numpy.array(counts)
        self.steps_made = zeros((replicas,), numpy.int64)
        self.sums = zeros((task.epochs, replicas), numpy.float64)
        self.losses = numpy.full((task.epochs, replicas), numpy.nan, self.state.dtype)
        self.x, self.y = (make_contiguous(each.numpy(), self.state.dtype) for each in (task.x, task.y))
        self.weights, self.divisor = numpy.zeros((1, 0)), self.points.astype(numpy.float64)
        if task.weights is not None:
            self.weights = make_contiguous(task.weights.numpy(), self.state.dtype)
            self.divisor = sum_weights(task.weights.numpy(), counts)

    def run(self, on_epoch: Callable[[int, Tensor], None] | None) -> Tensor:
        """Train in place; returns the mean losses (epoch, replica), NaN after all replicas have diverged.

        The network gets the current parameters even if the training is interrupted.
        """
        try:
            self.run_portions(on_epoch)
        finally:
            unpack_(self.plan.slots, self.state)
        return torch.from_numpy(self.losses)

    def run_portions(self, on_epoch: Callable[[int, Tensor], None] | None) -> None:
        """Run all portions. With `on_epoch` a portion ends with its epoch, and the network has its parameters then."""
        work = self.plan.parameters * self.task.batch_size * len(self.counts)
        at, portion, last = 0, max(1, int(FIRST_PORTION / work)), self.steps * self.task.epochs
        while at < last:
            stop = min(at + portion, last)
            if on_epoch is not None:
                stop = min(stop, (at // self.steps + 1) * self.steps)
            start = time.perf_counter()
            threads = 1 if at == 0 else self.threads  # on a busy machine several threads wait for the slowest
            self.call(at, stop, threads)
            seconds = max(time.perf_counter() - start, 1e-6) / (self.threads if threads == 1 else 1)
            portion = self.limit_steps(max(1, int((stop - at) * PORTION / seconds)))
            for epoch in range(at // self.steps, stop // self.steps):
                if not self.finish_epoch(epoch, on_epoch):
                    return
            at = stop

    def limit_steps(self, steps: int) -> int:
        """Limit the steps so that the orders of their epochs fit into memory."""
        epochs = max(1, MOST_ORDER // (len(self.counts) * max(self.counts)))
        return min(steps, epochs * self.steps)

    def finish_epoch(self, epoch: int, on_epoch: Callable[[int, Tensor], None] | None) -> bool:
        """Store the losses of an epoch; returns whether any replica is still finite."""
        self.losses[epoch] = self.sums[epoch] / self.divisor
        if on_epoch is not None:
            unpack_(self.plan.slots, self.state)
            on_epoch(epoch, torch.from_numpy(self.losses)[epoch])
        return bool(numpy.isfinite(self.losses[epoch]).any())

    def call(self, start: int, stop: int, threads: int) -> None:
        """Run the steps from `start` up to `stop`, counted over all epochs."""
        first, last = start // self.steps, (stop - 1) // self.steps + 1
        orders, rates = self.future.draw(first, last)
        own = rates.reshape(-1, rates.shape[2])[start - first * self.steps : stop - first * self.steps]
        orders, own = numpy.ascontiguousarray(orders), numpy.ascontiguousarray(own)  # they are read by address
        block = self.block(start, stop, first, orders, own)
        self.program.run_on_python_threads(block.buffer_info()[0], threads)

    def block(self, start: int, stop: int, first_epoch: int, orders: Any, rates: Any) -> array[int]:
        """The integers of a call, followed by the counters and the context of every worker."""
        from chebact.training.fused.ops import driver as d
        from chebact.training.fused.ops.jit import CONTEXT_LENGTH

        block = array("q", [0]) * (d.LENGTH + 2 + self.threads * CONTEXT_LENGTH)
        plan, (x, y, weights) = self.plan, (self.x, self.y, self.weights)
        numbers = {
            d.COUNTERS: block.buffer_info()[0] + 8 * d.LENGTH, d.REPLICAS: len(self.counts),
            d.FIRST_STEP: start, d.LAST_STEP: stop, d.STEPS_PER_EPOCH: self.steps, d.FIRST_EPOCH: first_epoch,
            d.BATCH: self.task.batch_size, d.POINTS: self.points.ctypes.data,
            d.ORDER: orders.ctypes.data, d.ORDER_ROW: orders.shape[2],
            d.X: x.ctypes.data, d.X_REPLICA: stride(x), d.FEATURES: plan.features, d.X_PLACE: plan.x,
            d.Y: y.ctypes.data, d.Y_REPLICA: stride(y), d.TARGETS: y.shape[-1], d.Y_PLACE: plan.y,
            d.WEIGHTS: weights.ctypes.data if weights.size else 0, d.WEIGHTS_REPLICA: stride(weights),
            d.SHARES_PLACE: plan.shares,
            d.STATE: self.state.ctypes.data, d.STATE_LENGTH: plan.state_length,
            d.ARENAS: self.arenas.ctypes.data, d.ARENA_LENGTH: plan.memory.length,
            d.OPERATIONS: self.records.ctypes.data, d.OPERATION_COUNT: len(self.records),
            d.ALL_RATES: rates.ctypes.data, d.RATES_ROW: rates.shape[1],
            d.LOSSES: self.sums.ctypes.data, d.STEPS_MADE: self.steps_made.ctypes.data,
        }  # fmt: skip
        for index, number in numbers.items():
            block[index] = number
        return block


def make_contiguous(data: Any, dtype: Any) -> Any:
    """The numbers in that type, contiguous; (1, ...) if all replicas share them."""
    shared = data.strides[0] == 0
    return numpy.ascontiguousarray(data[:1] if shared else data, dtype)


def stride(data: Any) -> int:
    """The distance between the numbers of two replicas: 0 if they are shared."""
    return 0 if len(data) < 2 else int(data[0].size)


def sum_weights(weights: Any, points: Sequence[int]) -> Any:
    """The sum of the weights of the points of each replica: (replica,)."""
    return numpy.array([own[:count].sum(dtype=numpy.float64) for own, count in zip(weights, points, strict=True)])
