"""`read_program`: walks the graph of a network, and adds the steps of each operation by the table of operations."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch import Tensor, fx, nn

from chebact.checks import check_module
from chebact.export.program import Program, Step
from chebact.export.reading.kept import read_kept
from chebact.export.reading.operations import OPERATIONS
from chebact.export.reading.simplify import simplify
from chebact.export.reading.tracing import NO_START, Trace, takes_rows, trace_network
from chebact.export.reading.values import Refusal, View, blank, move_of

__all__ = ["Reader", "read_program"]

KNOWN = (
    "linear layers, convolutions, pooling, norms in evaluation, activations, sums, factors, concatenation and reshaping"
)

WRITES = {"copy", "select_scatter", "slice_scatter", "index_put"}
"""What torch.export makes of h[:, 0] = y."""
OTHERS = "export other networks with torch.onnx.export"


def read_program(network: nn.Module, example: Tensor | None = None) -> Program:
    """The steps of a network in evaluation, on a batch of one row; the network stays as it was.

    `example` is an input with its batch axis. Without it the network has to begin with a linear layer.

    >>> [step.kind for step in read_program(nn.Sequential(nn.Linear(2, 3), nn.Tanh())).steps]
    ['linear', 'tanh']
    """
    check_module("network", network)
    trace = trace_network(network, example)
    if example is None and not takes_rows(trace):
        raise ValueError(NO_START)
    reader = Reader(trace)
    for node in trace.graph.nodes:
        reader.read(node)
    return Program(reader.sizes[0], tuple(simplify(reader.steps, reader.output())), trace.shape[1:])


class Reader:
    """The steps so far; `values` has what each node is: a view, a constant, or a list of them."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.steps = trace, list[Step]()
        self.values: dict[str, Any] = dict(trace.constants)
        layout = blank(trace.shape)
        self.values[trace.input] = View(0, layout)
        self.sizes = [layout.numel()]
        self._plain: dict[Any, int] = {}

    def read(self, node: fx.Node) -> None:
        """Add the steps of one node."""
        if node.op != "call_function":
            return
        if node.target is operator.getitem:
            self.values[node.name] = self.values[node.args[0].name][node.args[1]]  # type: ignore[union-attr, index]
            return
        try:
            self.values[node.name] = self._result(node)
        except Refusal as refusal:
            got = f"{_describe(node)}{refusal}"
            raise ValueError(f"network must be made of {KNOWN}, got {got}; {OTHERS}") from None

    def _result(self, node: fx.Node) -> Any:
        given: Any = fx.map_arg((node.args, node.kwargs), self._value)
        args, kwargs = given
        target: Any = node.target
        name = str(target)
        if name.startswith("chebact.keep_node"):
            return read_kept(self, node, self.trace.kept[int(args[1])], args[0])
        if not any(isinstance(each, View) for each in _flat((args, kwargs))):
            if torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()):
                raise Refusal(", which draws random numbers")
            return target(*args, **kwargs)  # constants alone
        if name == "aten._assert_tensor_metadata.default":
            return None  # torch checks the type before a cast
        if name not in OPERATIONS:
            raise Refusal("")
        return OPERATIONS[name](self, _bound(target, args, kwargs), node)

    def _value(self, node: fx.Node) -> Any:
        if node.name not in self.values:
            raise Refusal(" with a function as its argument")
        return self.values[node.name]

    def add(self, step: Step, shape: Any) -> View:
        """A view of the result of a new step, in that shape."""
        if not all(map(math.isfinite, step.numbers)):
            raise Refusal(" with a number that is not finite")
        self.steps.append(step)
        self.sizes.append(step.size)
        return View(len(self.steps), blank(shape))

    def vector(self, view: Any) -> int:
        """The vector that has the numbers of a view from its start to its end, in C order."""
        if not isinstance(view, View):
            raise Refusal(" of a constant")
        if view.is_plain(self.sizes[view.index]):
            return view.index
        layout = view.layout
        key = (view.index, tuple(layout.shape), layout.stride(), layout.storage_offset())
        if key not in self._plain:
            move = move_of(layout, blank(layout.shape))
            self._plain[key] = self.add(Step("copy", (view.index,), layout.numel(), moves=(move,)), layout.shape).index
        return self._plain[key]

    def output(self) -> int:
        """The vector that the network returns."""
        view = self.values[self.trace.output]
        if not isinstance(view, View):
            raise ValueError("network must depend on its input, got an output that is constant; return a result of it")
        index = self.vector(view)
        if index:
            return index
        move = move_of(view.layout, blank(view.shape))
        return self.add(Step("copy", (0,), self.sizes[0], moves=(move,)), view.shape).index


def _bound(target: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by their names, with their defaults."""
    bound = {}
    for place, argument in enumerate(target._schema.arguments):
        given = args[place] if place < len(args) else argument.default_value
        bound[argument.name] = kwargs.get(argument.name, given)
    return bound


def _flat(given: Any) -> list[Any]:
    if not isinstance(given, (tuple, list, dict)):
        return [given]
    parts = given.values() if isinstance(given, dict) else given
    return [leaf for part in parts for leaf in _flat(part)]


def _describe(node: fx.Node) -> str:
    """The operation, and the layer that it is in."""
    target: Any = node.target
    word = str(getattr(target, "_opname", target))
    word = "a write into a slice" if word in WRITES else word
    *_, (path, kind) = (node.meta.get("nn_module_stack") or {"": ("", "")}).values()
    kind = kind if isinstance(kind, str) else kind.__name__
    layer = f"{path} ({kind.rpartition('.')[2]})"
    return layer if word == "keep_node" else f"{word} of {layer}" if path else word
