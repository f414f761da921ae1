"""The operations of one training step of a network, in order, and the offsets of their numbers.

Forward, every layer notes what its backward pass will be; these are emitted from the last to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from torch import nn

from chebact.activations import PrototypeSimilarity
from chebact.curvature import curvature_form
from chebact.networks.linear import ReplicaLinear
from chebact.networks.residual_mlp import ResidualMLP
from chebact.training.fused.activations import LEARNED, Activation, activation_of, activations_in
from chebact.training.fused.code import Code
from chebact.training.fused.packing import Allocator, Slot
from chebact.training.fused.readings import LossReading, Stepper
from chebact.training.task import Task

__all__ = ["Plan"]

ALL = -1  # the number of points of the batch


class Plan:
    """All operations of a step for one network, batch size, loss and optimizer."""

    def __init__(
        self,
        network: ResidualMLP,
        task: Task,
        loss: LossReading,
        stepper: Stepper,
        code: Code,
    ) -> None:
        self.code, self.batch_size, self.task = code, task.batch_size, task
        batch_size = task.batch_size
        self.operations: list[tuple[int, ...]] = []
        self.kept: list[Any] = []  # keeps alive what addresses in the operations point to
        self.slots: list[Slot] = []
        self.memory = Allocator()
        self.features, self.outputs = network.first.in_features, network.last.out_features
        self.channels = network.first.out_features
        self.width = self.pad(self.channels)
        for module in network.modules():
            self.allocate_parameters(module, last=module is network.last)
        self.parameters = self.memory.length
        self.memories = [self.memory.take(self.parameters) for _ in range(stepper.memories)]
        self.state_length = self.memory.length
        self.gradients = self.memory.take_with_gap(self.parameters)
        self.zeros = self.memory.take_with_gap(self.width)
        self.x = self.memory.take_with_gap(batch_size * self.features)
        self.y = self.memory.take_with_gap(batch_size * loss.targets(self.outputs))
        self.shares = self.memory.take_with_gap(batch_size)
        self.transposed = self.memory.take_with_gap(self.width * self.width)
        self.stream, self.branches = self.rows(), (self.rows(), self.rows())
        self.emit_network(network, loss)
        if task.curvature:
            self.emit_curvature(network, task.curvature)
        if task.clip_norm is not None:
            self.emit_clipping(stepper, task.clip_norm)
        self.emit_optimizer(stepper)

    def pad(self, count: int) -> int:
        """`count` rounded up to full vectors."""
        return -(-count // self.code.lanes) * self.code.lanes

    def rows(self) -> int:
        """Allocator for the activations of a batch."""
        return self.memory.take_with_gap(self.batch_size * self.width)

    def allocate_parameters(self, module: nn.Module, last: bool) -> None:
        """Allocate the parameters of a module: an inner weight as (inputs, outputs), the last as (outputs, inputs),
        heights as (degree + 1, channels).
        """
        if isinstance(module, ReplicaLinear):
            outputs, inputs = module.weight.shape[1:]
            shape = (outputs, self.pad(inputs)) if last else (self.pad(inputs), self.pad(outputs))
            self.allocate(module.weight, *shape, transposed=not last)
            self.allocate(module.bias, 1, self.pad(outputs), transposed=False)
        elif isinstance(module, PrototypeSimilarity):
            self.allocate(module.prototypes, self.width, self.width, transposed=True)
        elif isinstance(module, LEARNED):
            self.allocate(module.learned, module.basis.degree + 1, self.pad(module.learned.shape[1]), transposed=True)

    def allocate(self, parameter: Any, rows: int, columns: int, transposed: bool) -> None:
        """Allocate one parameter."""
        self.slots.append(Slot(parameter, self.memory.take(rows * columns), rows, columns, transposed))

    def offset_of(self, parameter: Any) -> int:
        """The offset of a parameter; that of its gradient is larger by `gradients`."""
        return next(slot.offset for slot in self.slots if slot.parameter is parameter)

    def emit(
        self, module: str, name: str, *numbers: int, choices: tuple[Any, ...] = (), maker: str = "programs"
    ) -> None:
        """One more operation."""
        function = self.code.function(module, name, *choices, maker=maker)
        self.kept.append(function)
        self.operations.append((function.address, *numbers))

    def emit_network(self, network: ResidualMLP, loss: LossReading) -> None:
        """Forward, loss and backward."""
        backward: list[Callable[[], None]] = []
        hidden = self.rows()
        self.first(network.first, hidden, backward)
        for block in network.blocks:
            hidden = self.block(block, network.shortcut == "mean", hidden, backward)
        for module in activations_in(network.last_activation):
            if type(module) is not nn.Identity:
                hidden = self.last_activation(activation_of(module, self), hidden, backward)
        self.last(network.last, hidden, loss)
        for step in reversed(backward):
            step()

    def first(self, layer: ReplicaLinear, out: int, backward: list[Callable[[], None]]) -> None:
        """The first layer, whose input needs no gradient."""
        weight, bias = self.offset_of(layer.weight), self.offset_of(layer.bias)
        self.multiply((self.x, self.features, 1), (weight, self.width, self.features), bias, out, ALL)

        def gradients() -> None:
            gradient = weight + self.gradients
            self.multiply(
                (self.x, 1, self.features), (self.stream, self.width, ALL), self.zeros, gradient, self.features
            )
            self.emit("linear", "add_rows", self.stream, self.width, bias + self.gradients)

        backward.append(gradients)

    def block(self, block: Any, mean: bool, hidden: int, backward: list[Callable[[], None]]) -> int:
        """A block: pairs of an activation and a layer, joined with its input; returns the offset of its result."""
        modules, source = list(block), hidden
        pairs = [(modules[i], modules[i + 1]) for i in range(0, len(modules), 2)]
        noted: list[Callable[[int, int], int]] = []
        for number, (module, layer) in enumerate(pairs):
            chain = []
            for part in activations_in(module):
                activation, out = activation_of(part, self), self.rows()
                activation.forward(source, out)
                chain.append((activation, source, out))
                source = out
            out, final = self.rows(), number == len(pairs) - 1
            weight, bias = self.offset_of(layer.weight), self.offset_of(layer.bias)
            other = (hidden, self.width, int(mean)) if final else (self.zeros, 0, 0)
            self.multiply((source, self.width, 1), (weight, self.width, layer.in_features), bias, out, ALL, other)
            noted.append(self.pair_backward(layer, source, chain, first=number == 0))
            source = out

        def gradients() -> None:
            if mean:
                self.emit("linear", "halve", self.stream, self.width)
            at = self.stream
            for number, step in enumerate(reversed(noted)):
                at = step(at, self.branches[number % 2])

        backward.append(gradients)
        return source

    def pair_backward(
        self, layer: ReplicaLinear, source: int, chain: list[tuple[Activation, int, int]], first: bool
    ) -> Callable[[int, int], int]:
        """What emits the backward pass of an activation and a layer: from the offsets of the gradient and of memory to
        the offset of the gradient of the input. The first pair of a block adds it to the stream.
        """
        weight, bias = self.offset_of(layer.weight), self.offset_of(layer.bias)

        def step(at: int, out: int) -> int:
            columns = self.width
            self.emit("linear", "add_rows", at, columns, bias + self.gradients)
            self.layer_backward(source, weight, at, out)
            for number, (activation, x, y) in reversed(list(enumerate(chain))):
                joins = first and number == 0
                target = (self.stream, columns, self.stream) if joins else (self.zeros, 0, out)
                activation.backward(x, y, out, *target)
            return out

        return step

    def layer_forward(self, x: int, weight: int, out: int) -> None:
        """x times a square matrix of the network's width."""
        self.multiply((x, self.width, 1), (weight, self.width, self.channels), self.zeros, out, ALL)

    def layer_backward(self, x: int, weight: int, at: int, out: int) -> None:
        """From the gradient at `at` of such a product that of the matrix, and that of x into `out`."""
        self.multiply((x, 1, self.width), (at, self.width, ALL), self.zeros, weight + self.gradients, self.channels)
        self.emit("linear", "transpose_weight", weight, self.width, self.width, self.transposed)
        self.multiply((at, self.width, 1), (self.transposed, self.width, self.channels), self.zeros, out, ALL)

    def last_activation(self, activation: Activation, hidden: int, backward: list[Callable[[], None]]) -> int:
        """An activation before the last layer; returns the offset of its result."""
        out = self.rows()
        activation.forward(hidden, out)
        backward.append(lambda: activation.backward(hidden, out, self.stream, self.zeros, 0, self.stream))
        return out

    def last(self, layer: ReplicaLinear, hidden: int, loss: LossReading) -> None:
        """The last layer, the loss, and the gradients of both."""
        weight, bias, columns, outputs = (
            self.offset_of(layer.weight),
            self.offset_of(layer.bias),
            self.width,
            self.outputs,
        )
        prediction, slope, shares = (self.memory.take_with_gap(self.batch_size * outputs) for _ in range(3))
        self.emit("linear", "multiply_last", hidden, weight, columns, outputs, bias, prediction)
        numbers = (prediction, self.y, self.shares, slope, outputs, shares)
        self.emit("loss", loss.name, *numbers, choices=loss.choices, maker=loss.maker)
        self.multiply((slope, 1, outputs), (hidden, columns, ALL), self.zeros, weight + self.gradients, outputs)
        self.emit("linear", "add_last_rows", slope, outputs, bias + self.gradients)
        self.multiply((slope, outputs, 1), (weight, columns, outputs), self.zeros, self.stream, ALL)

    def multiply(
        self,
        left: tuple[int, int, int],
        right: tuple[int, int, int],
        first: int,
        out: int,
        rows: int,
        other: tuple[int, int, int] | None = None,
    ) -> None:
        """out = first + left right + other.

        left is (offset, stride of rows, stride of columns), right (offset, stride of rows, rows), other (offset,
        stride of rows, 1 if all is halved).
        """
        plus = (self.zeros, 0, 0) if other is None else other
        numbers = (*left, *right, first, *plus, out, rows, self.width)
        self.emit("linear", "multiply", *numbers, choices=(int(self.code.tall),), maker="product_programs")

    def emit_curvature(self, network: ResidualMLP, weight: float) -> None:
        """Add the gradient of the curvature penalty to that of every learned activation's heights."""
        for module in network.modules():
            if isinstance(module, LEARNED):
                matrix = (2 * weight * curvature_form(module.basis)).astype(self.code.numbers)
                self.kept.append(matrix)
                slot = next(slot for slot in self.slots if slot.parameter is module.learned)
                numbers = (slot.offset, slot.offset + self.gradients, slot.columns, slot.rows)
                self.emit("curvature", "bend", matrix.ctypes.data, *numbers)

    def emit_clipping(self, stepper: Stepper, bound: float) -> None:
        """Bound the norm of the gradient of all parameters that the optimizer changes."""
        runs = list(stepper.runs(self.slots))
        squares, kept = self.memory.take(1), numpy.array([bound])
        self.kept.append(kept)
        for number, (start, stop, _) in enumerate(runs):
            self.emit("clipping", "add_squares", start + self.gradients, squares, stop - start, int(number == 0))
        for start, stop, _ in runs:
            self.emit("clipping", "shrink", start + self.gradients, squares, stop - start, kept.ctypes.data)

    def emit_optimizer(self, stepper: Stepper) -> None:
        """One operation for each run of parameters of one group."""
        for start, stop, group in stepper.runs(self.slots):
            memories = [start + offset for offset in (*self.memories, 0, 0)[:2]]
            self.emit("optimizer", stepper.name, start, start + self.gradients, *memories, stop - start, group)

    def records(self) -> Any:
        """The operations as the compiled loop reads them: (operation, RECORD_LENGTH)."""
        from chebact.training.fused.ops.jit import RECORD_LENGTH  # which needs Numba

        rows: Sequence[Sequence[int]] = [(*each, *[0] * (RECORD_LENGTH - len(each))) for each in self.operations]
        return numpy.array(rows, numpy.int64)
