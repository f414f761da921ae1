"""Every question to torch that only its private names answer, and the one answer to: in which mode is this call?

A release of torch may change these names. `PRIVATE_NAMES` says what each is for; no other file of chebact uses any.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn
from torch._C._functorch import TransformType
from torch._functorch.pyfunctorch import retrieve_all_functorch_interpreters
from torch.autograd import forward_ad
from torch.nn.modules import module as _modules

if TYPE_CHECKING:
    from torch.optim import Optimizer  # which loads much that nobody else needs

__all__ = [
    "OWN_TYPES",
    "PRIVATE_NAMES",
    "Mode",
    "find_mode",
    "has_global_hooks",
    "has_hooks",
    "in_forward_mode",
    "is_batched",
    "is_exporting",
    "is_zero_tensor",
    "optimizer_has_hooks",
    "outside_graphs",
    "rename_parameter",
    "stored_buffer",
    "stored_parameter",
    "tensor_has_hooks",
    "transforms_active",
]

F = TypeVar("F", bound=Callable[..., Any])

OWN_TYPES = (Tensor, nn.Parameter)

PRIVATE_NAMES = {
    "torch._C._get_tracing_state": "torch.jit.trace would not see a kernel, and give its result as a constant",
    "torch._C._dispatch_tls_is_dispatch_key_included": "make_fx(pre_dispatch=True) would not see a kernel",
    "torch._C._len_torch_dispatch_stack": "every call would ask for each dispatch mode by name, which is slower",
    "torch._C._get_dispatch_mode": "make_fx and FakeTensorMode would meet a kernel that reads memory that is not there",
    "torch._C._TorchDispatchModeKey": "the names of those modes",
    "torch._C.DispatchKey": "the name of the key of make_fx(pre_dispatch=True)",
    "torch._C._are_functorch_transforms_active": "torch.func would meet the short way, which it refuses",
    "torch._C._functorch.is_legacy_batchedtensor": "gradcheck(check_batched_grad=True) would hand a kernel no memory",
    "torch._C._functorch.TransformType": "functionalize, and a forward derivative of one, would not be told apart",
    "torch._functorch.pyfunctorch.retrieve_all_functorch_interpreters": "the same: it lists the transforms under way",
    "torch.autograd.forward_ad._current_level": "forward derivatives would be zero in compiled graphs",
    "Tensor._is_zerotensor": "a zero gradient that torch does not write down would be read from address 0",
    "Module._parameters": "a learned activation would look for its parameter for 1 us longer",
    "Module._buffers": "a folded activation would look for its heights for 1 us longer",
    "Module._forward_hooks": "batch norm and activation would be fused although somebody hooked one of them",
    "Module._forward_pre_hooks": "the same",
    "Module._backward_hooks": "the same",
    "Module._backward_pre_hooks": "the same",
    "torch.nn.modules.module._global_forward_pre_hooks": "the fused trainer would pass by hooks on all modules",
    "torch.nn.modules.module._global_forward_hooks": "the same",
    "torch.nn.modules.module._global_backward_pre_hooks": "the same",
    "torch.nn.modules.module._global_backward_hooks": "the same",
    "Tensor._backward_hooks": "the fused trainer would pass by a hook on a parameter",
    "Tensor._post_accumulate_grad_hooks": "the same",
    "Optimizer._optimizer_step_pre_hooks": "the fused trainer would pass by a hook on an optimizer",
    "Optimizer._optimizer_step_post_hooks": "the same",
}

_MODES = torch._C._TorchDispatchModeKey
_PRE_DISPATCH = torch._C.DispatchKey.PreDispatch

transforms_active = torch._C._are_functorch_transforms_active
"""Whether a transform of torch.func is under way."""

is_batched = torch._C._functorch.is_legacy_batchedtensor
"""Whether a tensor is one that gradcheck's older vmap hands on, which has no memory of its own."""

_is_compiling = torch.compiler.is_compiling
is_exporting: Callable[[], bool] = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)
"""Whether torch.export calls this; torch 2.6 has one flag for that and for what Dynamo itself looks into."""

_tracing_state = torch._C._get_tracing_state
_key_included = torch._C._dispatch_tls_is_dispatch_key_included
_count_modes = torch._C._len_torch_dispatch_stack


class Mode(Enum):
    """In which of torch's modes a call is, and so how it is served."""

    PLAIN = "the kernel itself, no derivative is recorded"
    RECORDED = "an autograd.Function by its short way"
    TRANSFORMED = "an autograd.Function that torch.func understands"
    FORMULA = "operations of torch: somebody writes them down, or the tensors are of another class"
    GRAPH = "torch.compile or torch.export is writing a graph"


_PLAIN, _RECORDED, _TRANSFORMED, _FORMULA, _GRAPH = Mode


def find_mode(x: Any, heights: Any) -> Mode:
    """The mode of a call with these tensors."""
    if _is_compiling():
        return _GRAPH
    if type(x) not in OWN_TYPES or type(heights) not in OWN_TYPES:
        return _FORMULA
    if _tracing_state() is not None or _key_included(_PRE_DISPATCH) or (_count_modes() > 0 and _has_tracing_mode()):
        return _FORMULA  # torch.jit.trace and make_fx would not see a kernel, which writes to memory behind their backs
    if transforms_active() or forward_ad._current_level >= 0 or is_batched(x) or is_batched(heights):
        return _FORMULA if _beyond_functions() else _TRANSFORMED
    if torch.is_grad_enabled() and (x.requires_grad or heights.requires_grad):
        return _RECORDED
    return _PLAIN


def in_forward_mode() -> bool:
    """Whether forward derivatives are taken here (`torch.func.jvp`, `torch.autograd.forward_ad`)."""
    return forward_ad._current_level >= 0


def _has_tracing_mode() -> bool:
    """Whether make_fx writes down what is called, or tensors are made that have no memory."""
    return any(torch._C._get_dispatch_mode(mode) is not None for mode in (_MODES.PROXY, _MODES.FAKE, _MODES.FUNCTIONAL))


def _beyond_functions() -> bool:
    """Whether torch.func does what torch's own Function does not serve.

    That is `functionalize`, which it refuses, and a forward derivative of a forward derivative, where it gives zeros.
    """
    under_way = [level.key() for level in retrieve_all_functorch_interpreters()]
    return TransformType.Functionalize in under_way or under_way.count(TransformType.Jvp) > 1


def outside_graphs(reason: str) -> Callable[[F], F]:
    """A decorator: torch.compile calls the function and does not look into it. torch 2.6 takes no reason to show."""
    disable: Callable[..., Callable[[F], F]] = torch.compiler.disable
    return disable(reason=reason) if "reason" in inspect.signature(disable).parameters else disable()


def is_zero_tensor(tensor: Tensor) -> bool:
    """Whether a tensor is torch's short form of zeros, which has no memory."""
    return tensor._is_zerotensor()


def stored_parameter(module: nn.Module, name: str) -> nn.Parameter | None:
    """A parameter by its name, or None where the module computes it or has none; the attribute takes 1 us longer."""
    return module._parameters.get(name)


def stored_buffer(module: nn.Module, name: str) -> Tensor:
    """A buffer by its name, without the detour of the attribute."""
    buffer = module._buffers[name]
    assert buffer is not None
    return buffer


def rename_parameter(module: nn.Module, old: str, new: str) -> None:
    """Give a parameter another name, where there is one of that name."""
    if old in module._parameters:
        module.register_parameter(new, module._parameters.pop(old))


def has_hooks(module: nn.Module) -> bool:
    """Whether somebody wants to be called when this module is."""
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def has_global_hooks() -> bool:
    """Whether somebody wants to be called when any module is."""
    return bool(
        _modules._global_forward_pre_hooks
        or _modules._global_forward_hooks
        or _modules._global_backward_pre_hooks
        or _modules._global_backward_hooks
    )


def tensor_has_hooks(tensor: Tensor) -> bool:
    """Whether somebody wants to be called when a gradient reaches this tensor."""
    return bool(tensor._backward_hooks or tensor._post_accumulate_grad_hooks)


def optimizer_has_hooks(optimizer: Optimizer) -> bool:
    """Whether somebody wants to be called when this optimizer steps."""
    return bool(optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks)
