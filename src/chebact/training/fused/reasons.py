"""The reasons why the fused trainer cannot do a training. This module does not import Numba."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from chebact import kernels
from chebact.kernels.cpu import compiler
from chebact.kernels.cpu.registers import asked_lanes
from chebact.networks.linear import ReplicaLinear
from chebact.networks.residual_mlp import ResidualMLP
from chebact.torch_modes import has_global_hooks, has_hooks, optimizer_has_hooks, tensor_has_hooks
from chebact.training.fused.activations import activations_in, why_not_activation
from chebact.training.fused.readings import read_loss, why_not_optimizer
from chebact.training.losses import cross_entropy
from chebact.training.task import Task
from chebact.watchers import watched

__all__ = ["is_slower", "why_not", "why_not_here"]

LARGE, LARGEST = 1 << 24, 1 << 27  # parameters per replica times points per batch


def why_not_here() -> str | None:
    """The reason why it cannot run on this machine or with the current settings, or None."""
    asked_lanes()  # a wrong value is an error, not a reason
    requested = kernels.requested_kernel()
    if requested is not None:
        return f"the kernel {requested!r} was requested by name, and it uses no kernel"
    if torch.is_autocast_enabled("cpu"):
        return "autocast is on, and it computes in the type of the parameters"
    return compiler.why_not()


def is_slower(task: Task) -> bool:
    """Whether torch is likely to be faster: it parallelizes one large product, or the matrices exceed the L2 cache."""
    work = sum(parameter[0].numel() for parameter in task.network.parameters()) * task.batch_size
    return work > LARGEST or (work > LARGE and len(task.order) < torch.get_num_threads())


def why_not(task: Task) -> str | None:
    """The reason why it cannot do this training, or None."""
    return next(_reasons(task), None)


def _reasons(task: Task) -> Iterator[str]:
    network, loss, optimizer = task.network, task.loss, task.optimizer
    if (here := why_not_here()) is not None:
        yield here
    if not isinstance(network, ResidualMLP) or type(network) is not ResidualMLP:
        yield f"it trains a ResidualMLP, not {type(network).__name__}"
        return
    yield from _check_layers(network)
    yield from _check_parameters(network)
    yield from _check_data(network, task)
    if read_loss(loss) is None:
        name = getattr(loss, "__name__", type(loss).__name__)
        known = "absolute_error, squared_error, huber_error, scaled_huber_error and cross_entropy"
        yield f"it supports {known}, not the loss {name}"
    if optimizer_has_hooks(optimizer):
        yield "hooks on the optimizer would not be called"
    reason = why_not_optimizer(optimizer)
    if reason is not None:
        yield reason


def _check_layers(network: ResidualMLP) -> Iterator[str]:
    if type(network.first) is not ReplicaLinear or type(network.last) is not ReplicaLinear:
        yield "the first and the last layer must be a ReplicaLinear with replicas"
        return
    width = network.first.out_features
    for module in network.modules():
        if has_hooks(module) or has_global_hooks():
            yield "hooks on modules would not be called"
        if "forward" in vars(module):
            yield f"forward of {type(module).__name__} was replaced"
        if id(module) in watched:
            yield "the inputs of an activation are recorded"
    activations: list[nn.Module] = [network.last_activation]
    layers: list[tuple[Any, int | None, int | None]] = [(network.first, None, width), (network.last, width, None)]
    for block in network.blocks:
        modules = list(block) if type(block) is nn.Sequential else []
        if not modules or len(modules) % 2:
            yield "a block must be pairs of an activation and a linear layer"
        activations += modules[::2]
        layers += [(layer, width, width) for layer in modules[1::2]]
    for layer, inputs, outputs in layers:
        if type(layer) is not ReplicaLinear or layer.replicas is None:
            yield "every linear layer must be a ReplicaLinear with replicas"
        elif inputs not in (None, layer.in_features) or outputs not in (None, layer.out_features):
            yield f"the inner layers must have the width of the network, {width}"
    parts = [part for each in activations for part in activations_in(each)]
    learned = [part for part in parts if any(True for _ in part.parameters())] + [layer for layer, _, _ in layers]
    if len({id(part) for part in learned}) < len(learned):
        yield "two layers share a parameter"
    for activation in parts:
        reason = why_not_activation(activation, width)
        if reason is not None:
            yield reason


def _check_parameters(network: ResidualMLP) -> Iterator[str]:
    parameters = list(network.parameters())
    kinds = {(parameter.dtype, parameter.device.type) for parameter in parameters}
    if kinds not in ({(torch.float32, "cpu")}, {(torch.float64, "cpu")}):
        yield "all parameters must be float32 or all float64, on the CPU"
    if any(tensor_has_hooks(parameter) for parameter in parameters):
        yield "hooks on parameters would not be called"
    if len(parameters) != sum(len(list(module.parameters(recurse=False))) for module in network.modules()):
        yield "two layers share a parameter"


def _check_data(network: ResidualMLP, task: Task) -> Iterator[str]:
    x, y, dtype = task.x, task.y, network.first.weight.dtype
    if x.dtype != dtype or x.device.type != "cpu" or x.requires_grad or y.requires_grad or y.device.type != "cpu":
        yield f"x and y must be on the CPU, without gradients, and x must be {dtype} like the parameters"
    elif x.shape[2] != network.first.in_features or x.shape[0] != network.first.replicas:
        yield "x must have the replicas and the features of the network"
    elif task.loss is cross_entropy:
        yield from _check_classes(y, task.counts(), network.last.out_features)
    elif y.dtype != dtype or y.shape[2] != network.last.out_features:
        yield f"y must be {dtype} with {network.last.out_features} columns, like the output of the network"


def _check_classes(y: Tensor, counts: list[int], classes: int) -> Iterator[str]:
    valid = torch.arange(y.shape[1]) < torch.tensor(counts)[:, None]
    if y.shape[2] != 1 or y.is_floating_point() or not ((y[..., 0] >= 0) & (y[..., 0] < classes) | ~valid).all():
        yield f"labels must be integers between 0 and {classes - 1}, in one column"
