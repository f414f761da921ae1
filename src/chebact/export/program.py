"""A small network as a list of steps on vectors, for those who write it down elsewhere: as a formula, as C."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import fx, nn
from torch.nn.parameter import is_lazy

from chebact.activations import Cubic
from chebact.basis import Basis
from chebact.export.folding import FoldedActivation
from chebact.learned import LearnedActivation
from chebact.networks.linear import ReplicaLinear

__all__ = ["Curve", "Program", "Step", "read_program"]

NAMES: dict[Any, str] = {nn.ReLU: "relu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid", Cubic: "cubic"}
LINEAR = (nn.Linear.forward, ReplicaLinear.forward)
NOTHING = (nn.Identity, nn.Dropout, nn.Flatten)
NO_START = "network must begin with a linear layer, got another one or none; put nn.Linear at the start"
FUNCTIONS: dict[Any, str] = {
    torch.relu: "relu",
    nn.functional.relu: "relu",
    torch.tanh: "tanh",
    torch.sigmoid: "sigmoid",
}


@dataclass(frozen=True)
class Curve:
    """A learned activation: heights or weights (channel, degree + 1), float64, and the basis that they belong to."""

    heights: Any
    basis: Basis


@dataclass(frozen=True)
class Step:
    """One vector from others: `kind` is linear, curve, add, scale, or the name of a function of each element."""

    kind: str
    inputs: tuple[int, ...]
    size: int
    weight: Any = None
    bias: Any = None
    curve: Curve | None = None
    factor: float = 1.0


@dataclass(frozen=True)
class Program:
    """Steps in order; vector 0 is the input, vector k + 1 the result of step k, the last one the output."""

    inputs: int
    steps: tuple[Step, ...]


def read_program(network: nn.Module) -> Program:
    """The steps of a network of linear layers, activations, sums of vectors and factors, in evaluation.

    >>> [step.kind for step in read_program(nn.Sequential(nn.Linear(2, 3), nn.Tanh())).steps]
    ['linear', 'tanh']
    """
    if not isinstance(network, nn.Module):
        raise TypeError(f"network must be a torch.nn.Module, got {type(network).__name__}")
    reader = _Reader(network)
    return Program(reader.sizes[0], tuple(reader.steps))


class _Tracer(fx.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        known = (LearnedActivation, FoldedActivation, Cubic, *NOTHING)
        return hasattr(m, "in_features") or isinstance(m, known) or super().is_leaf_module(m, module_qualified_name)


class _Reader:
    """Walks the graph of a network; `where` says which vector each node is."""

    def __init__(self, network: nn.Module) -> None:
        self.network, self.steps, self.sizes = network, list[Step](), [0]
        self.where: dict[fx.Node, int] = {}
        try:
            graph = _Tracer().trace(network if not _is_layer(network) else nn.Sequential(network))
        except Exception as error:
            raise ValueError(
                f"network must be one that torch.fx can trace, got {type(network).__name__}, which raised "
                f"{type(error).__name__}: {error}"
            ) from error
        for node in graph.nodes:
            self._read(node)

    def _read(self, node: fx.Node) -> None:
        sources = [self.where[each] for each in node.all_input_nodes if each in self.where]
        if node.op == "placeholder":
            if self.where:
                raise ValueError(
                    f"network must take one vector, got a second argument, {node.target}; join them to one"
                )
            self.where[node] = 0
        elif node.op == "call_module":
            network = self.network if not _is_layer(self.network) else nn.Sequential(self.network)
            self._layer(node, network.get_submodule(str(node.target)), sources)
        elif node.op == "output" and not self.steps:
            raise ValueError(NO_START)
        elif node.op == "output":
            if len(sources) != 1 or sources[0] != len(self.steps):
                raise ValueError("network must return the last vector that it computes, got another output")
        else:
            self._function(node, sources)

    def _add(self, node: fx.Node, step: Step) -> None:
        if not step.size:
            raise ValueError(NO_START)
        self.steps.append(step)
        self.sizes.append(step.size)
        self.where[node] = len(self.steps)

    def _layer(self, node: fx.Node, layer: Any, sources: list[int]) -> None:
        size = self.sizes[sources[0]]
        self._check_not_read_again(node, getattr(layer, "inplace", False) is True)
        if isinstance(layer, NOTHING):
            self.where[node] = sources[0]
        elif type(layer) in NAMES:
            self._add(node, Step(NAMES[type(layer)], (sources[0],), size))
        elif isinstance(layer, (LearnedActivation, FoldedActivation)):
            _check_size(node, layer.channels or size, size or layer.channels or 0)
            self._add(node, Step("curve", (sources[0],), size, curve=_curve(layer, size)))
        elif type(layer).forward in LINEAR and getattr(layer, "replicas", None) is None:
            weight, bias = _array(layer.weight), _array(layer.bias) if layer.bias is not None else None
            if not size and len(self.sizes) == 1:
                size = self.sizes[0] = weight.shape[1]
            _check_size(node, weight.shape[1], size)
            self._add(node, Step("linear", (sources[0],), weight.shape[0], weight, bias))
        else:
            raise ValueError(_refused(f"{node.target} ({type(layer).__name__})"))

    def _function(self, node: fx.Node, sources: list[int]) -> None:
        numbers = [each for each in node.args[1:] if isinstance(each, (int, float)) and each]
        if node.target is operator.mul and isinstance(node.args[0], (int, float)):
            numbers = [node.args[0]]
        both = [self.where[each] for each in node.args if isinstance(each, fx.Node) and each in self.where]
        writes = node.target is operator.iadd or node.kwargs.get("inplace", False) or True in node.args[1:]
        self._check_not_read_again(node, bool(writes))
        name = FUNCTIONS.get(node.target) or (node.target if node.target in ("relu", "tanh", "sigmoid") else None)
        if node.target in (operator.add, operator.iadd, torch.add) and len(both) == 2 and not node.kwargs:
            _check_size(node, self.sizes[both[0]], self.sizes[both[1]])
            self._add(node, Step("add", tuple(both), self.sizes[both[0]]))
        elif node.target in (operator.mul, operator.truediv) and len(sources) == 1 and len(numbers) == 1:
            factor = float(numbers[0]) if node.target is operator.mul else 1 / float(numbers[0])
            self._add(node, Step("scale", (sources[0],), self.sizes[sources[0]], factor=factor))
        elif name and len(sources) == 1:
            self._add(node, Step(str(name), (sources[0],), self.sizes[sources[0]]))
        else:
            raise ValueError(_refused(str(getattr(node.target, "__name__", node.target))))

    def _check_not_read_again(self, node: fx.Node, writes: bool) -> None:
        """What writes into its input changes what others read; here every vector is written once."""
        source = node.args[0] if node.args else None
        if writes and isinstance(source, fx.Node) and any(user is not node for user in source.users):
            raise ValueError(_refused(f"{node.name}, which writes into a vector that is read elsewhere"))


def _check_size(node: fx.Node, expected: int, size: int) -> None:
    if expected != size:
        raise ValueError(f"network must have layers that fit, got {size} numbers for the {expected} of {node.name}")


def _is_layer(network: nn.Module) -> bool:
    return _Tracer().is_leaf_module(network, "")


def _refused(what: str) -> str:
    return (
        "network must be made of linear layers, learned activations, ReLU, tanh, sigmoid, sums and factors, got "
        f"{what}; export other networks with torch.onnx.export"
    )


def _curve(layer: Any, size: int) -> Curve:
    if isinstance(layer, LearnedActivation):
        layer = FoldedActivation(layer)
    if layer.replicas is not None:
        raise ValueError(_refused(f"an activation of {layer.replicas} replicas"))
    heights = _array(layer.heights)
    return Curve(numpy.broadcast_to(heights, (size, heights.shape[1])) if len(heights) == 1 else heights, layer.basis)


def _array(tensor: torch.Tensor) -> Any:
    if is_lazy(tensor):
        raise ValueError("network must have been called once, got a lazy layer without weights; call it on an example")
    if not bool(tensor.isfinite().all()):
        raise ValueError("network must have finite weights and heights, got inf or nan; train it again")
    return tensor.detach().double().cpu().numpy()
