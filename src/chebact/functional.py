"""The activations as functions: checks, then the derivative-proof core, then whichever kernel serves the tensor."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import torch
from torch._C._functorch import TransformType
from torch._functorch.pyfunctorch import retrieve_all_functorch_interpreters
from torch.autograd import forward_ad

from chebact import compiled
from chebact.autograd import OWN_TYPES, evaluate, is_batched, record
from chebact.basis import Basis, basis_of
from chebact.checks import Interval, degree_of, float_tensor, interval_of, regression_nodes_of, tails_of
from chebact.kernels import evaluate as run_kernel
from chebact.kernels import plan_for
from chebact.kernels.reference import broadcast, differentiable

_REAL = frozenset((torch.float64, torch.float32, torch.bfloat16, torch.float16))
_MODES = torch._C._TorchDispatchModeKey
_PRE_DISPATCH = torch._C.DispatchKey.PreDispatch


def chebyshev_lagrange(
    x: torch.Tensor,
    values: torch.Tensor,
    *,
    tails: str = "extrapolate",
    regression_nodes: int = 2,
    channel_dim: int = 1,
    interval: Interval = (-1.0, 1.0),
) -> torch.Tensor:
    """The learned polynomial a channel, with straight tails outside the interval.

    x is of any shape with a channel axis at `channel_dim` (an x of one axis is all channels). `values` are the heights
    at the nodes, from the right end to the left: (channel, degree + 1), or (1, degree + 1) for one shape that all
    elements share. With a replica axis on both, x is (replica, ...) and values (replica, channel, degree + 1); then
    `channel_dim` counts the axes of one replica. The result has the shape, type and memory format of x.

    >>> x = torch.tensor([[-2.0, 0.5], [0.0, 3.0]])
    >>> heights = torch.tensor([[1.0, -1.0], [1.0, 0.0]])  # degree 1: the line x, and the line (x + 1) / 2
    >>> chebyshev_lagrange(x, heights)
    tensor([[-2.0000,  0.7500],
            [ 0.0000,  2.0000]])
    """
    check_tensors(x, values, "values")
    if torch.compiler.is_compiling() and not torch.compiler.is_exporting() and forward_ad._current_level < 0:
        # in a graph under construction the interval may have no value yet
        axis = channel_axis(x, values, channel_dim, values.dim() == 3, "values")
        count = regression_nodes_of(regression_nodes, values.shape[-1] - 1) if tails == "regression" else 2
        return _in_graph(x, values, tails_of(tails), count, interval, axis)
    basis = make_basis(values.shape[-1] - 1, tails, regression_nodes, interval)
    return apply_basis(x, values, basis, channel_dim, "values")


def weighted_chebyshev(x: torch.Tensor, weights: torch.Tensor, *, channel_dim: int = 1) -> torch.Tensor:
    """sum_k w_k T_k(x) a channel, for any real x; `weights` are (channel, degree + 1), shapes as above.

    >>> weighted_chebyshev(torch.tensor([[2.0]]), torch.tensor([[0.0, 0.0, 1.0]]))  # T_2(2)
    tensor([[7.]])
    """
    check_tensors(x, weights, "weights")  # the degree is read off their shape
    return apply_basis(x, weights, chebyshev_basis(weights.shape[-1] - 1), channel_dim, "weights")


def make_basis(
    degree: Any, tails: Any = "extrapolate", regression_nodes: Any = 2, interval: Any = (-1.0, 1.0)
) -> Basis:
    """The checked and shared basis of a Chebyshev-Lagrange activation."""
    if torch.compiler.is_compiling():  # torch.compile looks through a cache, with a warning
        return _checked_basis(degree, tails, regression_nodes, interval)
    try:
        return _shared_basis(degree, tails, regression_nodes, interval)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
    return _checked_basis(degree, tails, regression_nodes, interval)


def chebyshev_basis(degree: Any) -> Basis:
    """The checked basis T_0 ... T_degree."""
    basis = Basis(degree_of(degree), "none", parameters="coefficients")
    return basis if torch.compiler.is_compiling() else basis_of(basis)


def _checked_basis(degree: Any, tails: Any, regression_nodes: Any, interval: Any) -> Basis:
    degree, tails, interval = degree_of(degree), tails_of(tails), interval_of(interval)
    count = regression_nodes_of(regression_nodes, degree) if tails == "regression" else 2
    return Basis(degree, tails, count, interval)


@lru_cache(maxsize=512, typed=True)
def _shared_basis(degree: Any, tails: Any, regression_nodes: Any, interval: Any) -> Basis:
    return basis_of(_checked_basis(degree, tails, regression_nodes, interval))


def apply_basis(
    x: torch.Tensor,
    values: torch.Tensor,
    basis: Basis,
    channel_dim: int,
    name: Literal["values", "weights"],
    *,
    inplace: bool = False,
) -> torch.Tensor:
    """sum_j values_j phi_j(x), after all checks; `channel_dim` counts the axes of one replica."""
    if torch.compiler.is_compiling():
        return _while_compiling(x, values, basis, channel_dim, name)
    # torch.jit.trace and make_fx write down what is called, and a kernel writes to memory behind their backs
    traced = (
        torch._C._get_tracing_state() is not None
        or torch._C._dispatch_tls_is_dispatch_key_included(_PRE_DISPATCH)
        or (torch._C._len_torch_dispatch_stack() > 0 and _has_tracing_mode())
    )
    own = type(x) in OWN_TYPES and type(values) in OWN_TYPES
    transformed = torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
    transformed = transformed or (own and (is_batched(x) or is_batched(values)))
    recorded = own and torch.is_grad_enabled() and (x.requires_grad or values.requires_grad)
    if own and not traced and not transformed and type(channel_dim) is int:
        replicated = values.dim() == 3
        axis = channel_dim + (x.dim() if channel_dim < 0 else replicated)
        plan = plan_for(x, values, basis, axis)
        if plan is not None:  # then an earlier call has passed the checks
            if recorded:
                return record(x, values, basis, axis, replicated, plan)  # type: ignore[no-any-return]
            return run_kernel(x, values, basis, axis, replicated, inplace=inplace, plan=plan)
    check_tensors(x, values, name)
    replicated = values.dim() == 3
    axis = channel_axis(x, values, channel_dim, replicated, name)
    if traced or not own or (transformed and _beyond_functions()):
        return _in_plain_torch(x, values, basis, axis, replicated)
    if transformed or recorded:
        return evaluate(x, values, basis, axis, replicated)
    return run_kernel(x, values, basis, axis, replicated, inplace=inplace)


def _while_compiling(x: torch.Tensor, values: torch.Tensor, basis: Basis, channel_dim: int, name: str) -> torch.Tensor:
    """For the graph that torch.compile or torch.export writes down."""
    check_tensors(x, values, name)
    replicated = values.dim() == 3
    axis = channel_axis(x, values, channel_dim, replicated, name)
    if torch.compiler.is_exporting() or type(x) not in OWN_TYPES or forward_ad._current_level >= 0:
        # a registered operator has no forward derivative, and torch takes it for zero
        return _in_plain_torch(x, values, basis, axis, replicated)
    kind = basis.tails if basis.parameters == "values" else "chebyshev"
    return _in_graph(x, values, kind, basis.regression_nodes, basis.interval, axis)


def _in_graph(
    x: torch.Tensor, values: torch.Tensor, kind: str, nodes: int, interval: Interval, axis: int
) -> torch.Tensor:
    """One call in the graph of torch.compile."""
    left, right = interval
    result: torch.Tensor = compiled.evaluate(x, values, kind, nodes, left, right, axis, values.dim() == 3)
    return result


def _has_tracing_mode() -> bool:
    """Whether make_fx writes down what is called, or tensors are made that have no memory."""
    return any(torch._C._get_dispatch_mode(mode) is not None for mode in (_MODES.PROXY, _MODES.FAKE, _MODES.FUNCTIONAL))


def _beyond_functions() -> bool:
    """Whether torch.func does what torch's own Function does not serve.

    That is `functionalize`, which it refuses, and a forward derivative of a forward derivative, where it gives zeros.
    """
    under_way = [level.key() for level in retrieve_all_functorch_interpreters()]
    return TransformType.Functionalize in under_way or under_way.count(TransformType.Jvp) > 1


def check_tensors(x: Any, values: Any, name: str) -> None:
    """Both are real floating-point tensors on one device, and `values` have two or three axes."""
    if (
        type(x) in OWN_TYPES
        and type(values) in OWN_TYPES
        and x.dtype in _REAL
        and values.dtype in _REAL
        and x.device == values.device
        and x.layout == torch.strided
        and values.dim() in (2, 3)
        and values.shape[-1] > 1
    ):
        return
    for label, tensor in (("x", x), (name, values)):
        float_tensor(label, tensor)
    if x.device != values.device:
        raise ValueError(f"x and {name} must be on one device, but x is on {x.device} and {name} on {values.device}")
    if values.dim() not in (2, 3) or values.shape[-1] < 2:
        raise ValueError(
            f"{name} must be (channel, degree + 1) or (replica, channel, degree + 1), "
            f"but shape {tuple(values.shape)} came"
        )


def channel_axis(x: torch.Tensor, values: torch.Tensor, channel_dim: Any, replicated: bool, name: str) -> int:
    """Where the channels of x are, counted over all its axes; ValueError where x and values do not fit."""
    if type(channel_dim) is not int:
        raise TypeError(f"channel_dim must be a whole number, but {type(channel_dim).__name__} {channel_dim!r} came")
    first = 1 if replicated else 0
    if replicated and (x.dim() == 0 or x.shape[0] != values.shape[0]):
        raise ValueError(
            f"{name} hold {values.shape[0]} replicas, so x must begin with an axis of that length, "
            f"but x of shape {tuple(x.shape)} came"
        )
    rank, rows = x.dim() - first, values.shape[-2]
    if rows == 1 and rank == 0:
        return first
    axis = 0 if rank == 1 and channel_dim in (-1, 0, 1) else channel_dim
    if not -rank <= axis < rank:
        if rows == 1:
            return first
        raise ValueError(
            f"channel_dim must name one of the {rank} axes{' after the replica axis' if replicated else ''} "
            f"of x of shape {tuple(x.shape)}, but {channel_dim} came"
        )
    axis = first + axis % rank
    if rows != 1 and x.shape[axis] != rows:
        raise ValueError(
            f"{name} of shape {tuple(values.shape)} are for {rows} channels, "
            f"but x of shape {tuple(x.shape)} has {x.shape[axis]} at axis {axis}"
        )
    return axis


def _in_plain_torch(x: torch.Tensor, values: torch.Tensor, basis: Basis, axis: int, replicated: bool) -> torch.Tensor:
    """The formula in operations that torch.export, ONNX and tensor subclasses understand."""
    dtype = torch.promote_types(torch.promote_types(x.dtype, values.dtype), torch.float32)
    return differentiable(x.to(dtype), broadcast(x, values.to(dtype), axis, replicated), basis).to(x.dtype)
