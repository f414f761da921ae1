"""The activations as functions: checks, then autograd, then the kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import torch
from torch import fx, nn
from torch.overrides import handle_torch_function

from chebact.autograd import evaluate, record
from chebact.basis import Basis, basis_of
from chebact.channels import describe_axes, find_axis
from chebact.checks import (
    FLOATS,
    Interval,
    Tails,
    check_axis,
    check_degree,
    check_interval,
    check_regression_nodes,
    check_tails,
    check_tensor,
    describe,
    must_be,
)
from chebact.compiled import in_plain_torch
from chebact.kernels import evaluate as run_kernel
from chebact.kernels.fast_path import find_plan
from chebact.torch_modes import OWN_TYPES, Mode, find_mode, in_forward_mode, is_exporting, transforms_active
from chebact.watchers import notify, watched

__all__ = ["chebyshev_lagrange", "weighted_chebyshev"]

_REAL = frozenset(FLOATS)
_PLAIN, _RECORDED, _TRANSFORMED, _FORMULA, _GRAPH = Mode


def chebyshev_lagrange(
    x: torch.Tensor,
    heights: torch.Tensor,
    *,
    tails: Tails = "extrapolate",
    regression_nodes: int = 2,
    channel_dim: int = 1,
    interval: Interval = (-1.0, 1.0),
) -> torch.Tensor:
    """The learned polynomial per channel, with straight tails outside the interval.

    x has any shape with a channel axis at `channel_dim`; an x with one axis is (channel,). `heights` are the values at
    the nodes, from the right end to the left: (channel, degree + 1), or (1, degree + 1) for one function shared by all
    elements. With replicas x is (replica, ...) and heights are (replica, channel, degree + 1); then `channel_dim`
    counts the axes of one replica. The result has the shape, type and memory format of x.

    >>> x = torch.tensor([[-2.0, 0.5], [0.0, 3.0]])
    >>> heights = torch.tensor([[1.0, -1.0], [1.0, 0.0]])  # degree 1: the line x, and the line (x + 1) / 2
    >>> chebyshev_lagrange(x, heights)
    tensor([[-2.0000,  0.7500],
            [ 0.0000,  2.0000]])
    """
    if isinstance(x, fx.Proxy):  # one call in the graph of torch.fx.symbolic_trace
        options = {"tails": tails, "regression_nodes": regression_nodes, "channel_dim": channel_dim}
        return handle_torch_function(chebyshev_lagrange, (x,), x, heights, interval=interval, **options)
    check_tensors(x, heights, "heights")
    if torch.compiler.is_compiling():  # in a graph under construction the interval may have no value yet
        axis = channel_axis(x, heights, channel_dim, "heights")
        count = check_regression_nodes(regression_nodes, heights.shape[-1] - 1) if tails == "regression" else 2
        return _in_graph(x, heights, check_tails(tails), count, interval, axis)
    basis = make_basis(heights.shape[-1] - 1, tails, regression_nodes, interval)
    return apply_basis(x, heights, basis, channel_dim, "heights")


def weighted_chebyshev(x: torch.Tensor, weights: torch.Tensor, *, channel_dim: int = 1) -> torch.Tensor:
    """sum_k w_k T_k(x) per channel, for any real x; `weights` are (channel, degree + 1), shapes as above.

    >>> weighted_chebyshev(torch.tensor([[2.0]]), torch.tensor([[0.0, 0.0, 1.0]]))  # T_2(2)
    tensor([[7.]])
    """
    if isinstance(x, fx.Proxy):
        return handle_torch_function(weighted_chebyshev, (x,), x, weights, channel_dim=channel_dim)
    check_tensors(x, weights, "weights")  # before the degree is read from their shape
    return apply_basis(x, weights, chebyshev_basis(weights.shape[-1] - 1), channel_dim, "weights")


def make_basis(
    degree: Any, tails: Any = "extrapolate", regression_nodes: Any = 2, interval: Any = (-1.0, 1.0)
) -> Basis:
    """The basis of a Chebyshev-Lagrange activation, checked and cached."""
    if torch.compiler.is_compiling():  # torch.compile ignores lru_cache and warns
        return _checked_basis(degree, tails, regression_nodes, interval)
    try:
        return _shared_basis(degree, tails, regression_nodes, interval)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
    return _checked_basis(degree, tails, regression_nodes, interval)


def chebyshev_basis(degree: Any) -> Basis:
    """The checked basis T_0 ... T_degree."""
    basis = Basis(check_degree(degree), "none", parameters="coefficients")
    return basis if torch.compiler.is_compiling() else basis_of(basis)


def _checked_basis(degree: Any, tails: Any, regression_nodes: Any, interval: Any) -> Basis:
    degree, tails, interval = check_degree(degree), check_tails(tails), check_interval(interval)
    count = check_regression_nodes(regression_nodes, degree) if tails == "regression" else 2
    return Basis(degree, tails, count, interval)


@lru_cache(maxsize=512, typed=True)
def _shared_basis(degree: Any, tails: Any, regression_nodes: Any, interval: Any) -> Basis:
    return basis_of(_checked_basis(degree, tails, regression_nodes, interval))


def apply_basis(
    x: torch.Tensor,
    heights: torch.Tensor,
    basis: Basis,
    channel_dim: int,
    name: Literal["heights", "weights"],
    *,
    inplace: bool = False,
    owner: nn.Module | None = None,
    short: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> torch.Tensor:
    """sum_j heights_j phi_j(x), after all checks; `channel_dim` counts the axes of one replica.

    `owner` is the calling module, for watchers of its inputs; `short` is the same function in fewer operations, for
    graphs that leave torch.
    """
    mode = find_mode(x, heights)
    cached = None
    if (mode is _RECORDED or mode is _PLAIN) and type(channel_dim) is int:
        replicated = heights.dim() == 3
        axis = find_axis(x.dim(), channel_dim, replicated)
        if axis is not None:
            cached = find_plan(x, heights, basis, axis)
    if cached is None:  # otherwise an earlier call has passed the checks
        axis = check_call(x, heights, basis, channel_dim, name)
        replicated = heights.dim() == 3
    assert axis is not None
    if short is not None and (mode is _FORMULA or (mode is _GRAPH and is_exporting())):
        return short(x)
    if mode is _GRAPH:
        kind = basis.tails if basis.parameters == "values" else "chebyshev"
        return _in_graph(x, heights, kind, basis.regression_nodes, basis.interval, axis)
    plan = None if cached is None else cached.plan
    if watched and owner is not None and not transforms_active():
        recorded = (heights, basis, axis, replicated, plan) if mode is _RECORDED else None
        if (result := notify(owner, x, recorded)) is not None:
            return result
    if mode is _RECORDED:
        return record(x, heights, basis, axis, replicated, plan)  # type: ignore[no-any-return]
    if mode is _PLAIN:
        return run_kernel(x, heights, basis, axis, replicated, inplace=inplace, plan=plan)
    if mode is _TRANSFORMED:
        return evaluate(x, heights, basis, axis, replicated)
    return in_plain_torch(x, heights, basis, axis, replicated)


def _in_graph(
    x: torch.Tensor, heights: torch.Tensor, kind: str, nodes: int, interval: Interval, axis: int
) -> torch.Tensor:
    """One call in the graph of torch.compile."""
    from chebact.graph_calls import call_in_graph  # imports the compiler, which is already loaded here

    left, right = interval
    subclass = type(x) not in OWN_TYPES or type(heights) not in OWN_TYPES
    by_formula = subclass or in_forward_mode()  # torch treats the forward derivative of an operator as zero
    replicated = heights.dim() == 3
    result: torch.Tensor = call_in_graph(x, heights, kind, nodes, left, right, axis, replicated, by_formula)
    return result


def check_call(x: Any, heights: Any, basis: Basis, channel_dim: Any, name: str) -> int:
    """Check all arguments; returns the channel axis, counted over all axes of x."""
    check_tensors(x, heights, name)
    if heights.shape[-1] != basis.degree + 1:
        raise ValueError(
            f"{name} must have {basis.degree + 1} numbers per channel for degree {basis.degree}, "
            f"got {heights.shape[-1]} in shape {tuple(heights.shape)}; build the activation with "
            f"degree={heights.shape[-1] - 1}, or pass {name} of degree {basis.degree}"
        )
    return channel_axis(x, heights, channel_dim, name)


def check_tensors(x: Any, heights: Any, name: str) -> None:
    """Both must be dense floating-point tensors on one device, and `heights` must have two or three axes."""
    if (
        type(x) in OWN_TYPES
        and type(heights) in OWN_TYPES
        and x.dtype in _REAL
        and heights.dtype in _REAL
        and x.device == heights.device
        and x.layout == heights.layout == torch.strided
        and not x.is_nested
        and not heights.is_nested
        and heights.dim() in (2, 3)
        and heights.shape[-1] > 1
    ):
        return
    for label, tensor in (("x", x), (name, heights)):
        check_tensor(label, tensor)
    if x.device != heights.device:
        raise ValueError(
            f"x and {name} must be on one device, got x on {x.device} and {name} on {heights.device}; move one of them "
            "with .to(device)"
        )
    if heights.dim() not in (2, 3) or heights.shape[-1] < 2:
        shapes = "(channel, degree + 1) or (replica, channel, degree + 1) with a degree of at least 1"
        raise ValueError(must_be(name, shapes, heights.shape))


def channel_axis(x: torch.Tensor, heights: torch.Tensor, channel_dim: Any, name: str) -> int:
    """The channel axis, counted over all axes of x; ValueError if x and heights do not fit."""
    check_axis(channel_dim)
    replicated, rows, shape = heights.dim() == 3, heights.shape[-2], tuple(x.shape)
    if replicated and (not shape or shape[0] != heights.shape[0]):
        raise ValueError(
            must_be("x", f"({heights.shape[0]}, ...) for the {heights.shape[0]} replicas of {name}", x.shape)
        )
    axis = find_axis(len(shape), channel_dim, replicated)
    if rows == 1:
        return int(replicated) if axis is None else axis
    if axis is None:
        raise ValueError(
            f"channel_dim must be one of the {len(shape) - replicated} axes"
            f"{' after the replica axis' if replicated else ''} of x of shape {shape}, got {describe(channel_dim)}"
        )
    if shape[axis] != rows:
        raise ValueError(
            f"x must have {rows} channels at axis {axis}, because {name} have shape {tuple(heights.shape)}, "
            f"got {shape[axis]} in shape {shape}{describe_axes(shape, rows, replicated)}"
        )
    return axis
