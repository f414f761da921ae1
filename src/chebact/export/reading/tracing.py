"""The graph of a network on one row, from torch.export: operations of ATen without writes into tensors."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn.parameter import is_lazy

from chebact.activations import Cubic
from chebact.checks import check_tensor, must_be
from chebact.export.folding import FoldedActivation, has_own_forward
from chebact.learned import LearnedActivation

__all__ = ["KEPT", "NO_START", "Trace", "takes_rows", "trace_network"]

KEPT = (LearnedActivation, FoldedActivation, Cubic)
"""Modules that stay one node of the graph."""
PASS_EXAMPLE = "pass example, an input with its batch axis"
NO_START = f"network must begin with a linear layer if there is no example, got another layer or none; {PASS_EXAMPLE}"


@dataclass(frozen=True)
class Trace:
    """A graph, the tensors of its placeholders by name, the names of its input and output, and the kept modules."""

    graph: fx.Graph
    constants: dict[str, Tensor]
    input: str
    output: str
    shape: tuple[int, ...]
    kept: list[nn.Module]


def trace_network(network: nn.Module, example: Tensor | None) -> Trace:
    """The graph of a copy of the network in evaluation; `example` is one input with its batch axis."""
    _check_parameters(network)
    _check_modules(network)
    twin = _copied(network)
    row = _guessed(twin) if example is None else _row(twin, example)
    kept: dict[str, nn.Module] = {name: part for name, part in twin.named_modules() if isinstance(part, KEPT)}
    for index, (name, part) in enumerate(kept.items()):
        _check_forward(part, name)
        vars(part)["forward"] = partial(_keep_node(), index=index)
    return _exported(twin, row, list(kept.values()))


def _check_parameters(network: nn.Module) -> None:
    for name, tensor in (*network.named_parameters(), *network.named_buffers()):
        if is_lazy(tensor):
            raise ValueError(
                "network must have been called once, got a lazy layer without weights; call it on an example"
            )
        if tensor.is_meta:
            got = f"{name} on the meta device; call network.to_empty(device='cpu') and load a state"
            raise ValueError(f"network must have numbers, got {got}")


def _check_modules(network: nn.Module) -> None:
    for name, part in network.named_modules():
        if isinstance(part, torch.jit.ScriptModule):
            got = f"TorchScript in {name or 'it'}; pass the module that it was made from"
            raise ValueError(f"network must be a module of Python, got {got}")
        if getattr(part, "replicas", None) is not None:
            raise ValueError(
                f"network must be one network, got {part.replicas} replicas in {name or 'it'}; copy one replica out"
            )


def _check_forward(part: nn.Module, name: str) -> None:
    """What computes something else would come out as its curve alone."""
    kind = next(kind for kind in KEPT if isinstance(part, kind))
    if has_own_forward(part, kind):
        raise ValueError(
            f"{name} must have the forward method of chebact to be written, got that of {type(part).__name__}; make "
            "it a module that contains an activation of chebact and calls it"
        )


def _copied(network: nn.Module) -> nn.Module:
    try:
        twin = copy.deepcopy(network)
    except Exception as error:
        raise ValueError(f"network must be one that copy.deepcopy can copy, got {_told(error)}") from error
    forward = inspect.signature(twin.forward)
    try:
        forward.bind(None)
    except TypeError:
        names = ", ".join(forward.parameters) or "none"
        raise ValueError(f"network must take one tensor, got the arguments {names}; join them to one") from None
    return (nn.Sequential(twin) if isinstance(twin, KEPT) else twin).eval()


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), '')}"


def _like(network: nn.Module, row: Tensor) -> Tensor:
    """In the type and on the device of the first weight: it tells shapes alone."""
    weight = next((each for each in network.parameters() if each.is_floating_point()), row)
    return row.detach().to(weight).clone()


def _run(network: nn.Module, row: Tensor) -> None:
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of a call are not those of the export
        network(row.clone())


def _row(network: nn.Module, example: Tensor) -> Tensor:
    check_tensor("example", example)
    if example.dim() < 2 or not example.numel():
        raise ValueError(must_be("example", "an input with its batch axis, such as (1, C, H, W)", example.shape))
    row = _like(network, example[:1])
    try:
        _run(network, row)
    except Exception as error:
        got = f"shape {tuple(example.shape)}, which raised {_told(error)}"
        raise ValueError(f"example must be an input of the network, got {got}") from error
    return row


def _guessed(network: nn.Module) -> Tensor:
    """A row for the first linear layer; the reader then checks that such a layer takes the input itself."""
    found: list[int] = [vars(part)["in_features"] for part in network.modules() if "in_features" in vars(part)]
    sizes = dict.fromkeys(found)
    errors: list[Exception] = []
    for size in sizes:
        row = _like(network, torch.zeros(1, size))
        try:
            _run(network, row)
        except Exception as error:
            errors.append(error)
        else:
            return row
    if not errors:
        raise ValueError(NO_START)
    least = f"a row of {next(iter(sizes))} numbers, those of its first linear layer"
    raise ValueError(f"network must take {least}, got {_told(errors[0])}; {PASS_EXAMPLE}")


def takes_rows(trace: Trace) -> bool:
    """Whether a linear layer takes the input itself, or all of it as one row: then its weight tells the size."""
    same = {trace.input}
    for node in trace.graph.nodes:
        source = node.args[0] if node.args else None
        if not isinstance(source, fx.Node) or source.name not in same:
            continue
        name = str(node.target)
        if name == "aten.linear.default":
            return True
        one_row = name in ("aten.view.default", "aten.reshape.default") and node.args[1][0] == 1
        if name == "aten.clone.default" or (one_row and len(node.args[1]) == 2):
            same.add(node.name)
    return False


@cache
def _keep_node() -> Callable[..., Tensor]:
    """An operation that torch.export leaves as it is."""

    @torch.library.custom_op("chebact::keep_node", mutates_args=())
    def keep_node(x: torch.Tensor, index: int) -> torch.Tensor:
        return x.clone()

    keep_node.register_fake(lambda x, index: torch.empty_like(x))
    return keep_node


def _exported(network: nn.Module, row: Tensor, kept: list[nn.Module]) -> Trace:
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # torch's, about itself
            program = torch.export.export(network, (row,), strict=False).run_decompositions({})
    except Exception as error:
        got = f"{type(network).__name__}, which raised {_told(error)}"
        raise ValueError(f"network must be one that torch.export can trace, got {got}") from error
    signature: Any = program.graph_signature
    tensors = {**program.state_dict, **program.constants}
    constants = {spec.arg.name: tensors[spec.target] for spec in signature.input_specs if spec.target is not None}
    if signature.buffers_to_mutate:
        names = ", ".join(signature.buffers_to_mutate.values())
        raise ValueError(f"network must have no state, got a call that changes {names}; remove that from forward")
    if len(signature.user_outputs) != 1 or not isinstance(signature.user_outputs[0], str):
        raise ValueError(must_be("output of network", "one tensor", signature.user_outputs, "return one"))
    (given,) = signature.user_inputs
    return Trace(program.graph, constants, given, signature.user_outputs[0], tuple(row.shape), kept)
