"""All uses of private names of torch, and the autograd mode of a call.

A release of torch may change these names. `PRIVATE_NAMES` lists what breaks without each; no other file uses any.
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
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from torch.optim import Optimizer  # a slow import that is not needed otherwise

__all__ = [
    "OWN_TYPES",
    "PRIVATE_NAMES",
    "MadeAgain",
    "Mode",
    "OperationWatcher",
    "find_mode",
    "has_forward_hooks",
    "has_global_hooks",
    "has_hooks",
    "in_backward",
    "in_forward_mode",
    "is_batched",
    "is_compiled",
    "is_exporting",
    "is_zero_tensor",
    "optimizer_has_hooks",
    "outside_graphs",
    "share_hooks",
    "stored_buffer",
    "stored_parameter",
    "tensor_has_hooks",
    "transforms_active",
    "without_functions",
]

F = TypeVar("F", bound=Callable[..., Any])

OWN_TYPES = (Tensor, nn.Parameter)

PRIVATE_NAMES = {
    "torch._C._get_tracing_state": "torch.jit.trace would record the result of a kernel as a constant",
    "torch._C._dispatch_tls_is_dispatch_key_included": "make_fx(pre_dispatch=True) would not record a kernel",
    "torch._C._len_torch_dispatch_stack": "every call would check each dispatch mode by name, which is slower",
    "torch._C._get_dispatch_mode": "in make_fx and FakeTensorMode a kernel would read memory that does not exist",
    "torch._C._TorchDispatchModeKey": "the names of these modes",
    "torch._C.DispatchKey": "the name of the key of make_fx(pre_dispatch=True)",
    "torch._C._are_functorch_transforms_active": "torch.func would meet the fast path, which it rejects",
    "torch._C._functorch.is_legacy_batchedtensor": "batched gradcheck would pass a kernel no memory",
    "torch._C._functorch.TransformType": "functionalize and nested forward derivatives would not be detected",
    "torch._functorch.pyfunctorch.retrieve_all_functorch_interpreters": "the same: it lists the active transforms",
    "torch._C.DisableTorchFunction": "surgery would watch what it computes itself beside the run of a model",
    "torch._C._current_graph_task_id": "what a checkpoint computes again would be counted twice",
    "Module._compiled_call_impl": "a penalty on inputs would not see that a model is compiled, and count nothing",
    "torch.utils._python_dispatch.TorchDispatchMode": "operations that are not polynomial would not be found",
    "torch.autograd.forward_ad._current_level": "forward derivatives would be zero in compiled graphs",
    "Tensor._is_zerotensor": "a lazy zero gradient would be read from address 0",
    "Module._parameters": "reading the parameter of a learned activation would take 1 us longer",
    "Module._buffers": "reading the heights of a folded activation would take 1 us longer",
    "Module._apply": "after fold_ and .double() an export would have the numbers of float32",
    "Module._forward_hooks": "batch norm and activation would be fused although one of them has a hook",
    "Module._forward_pre_hooks": "the same",
    "Module._backward_hooks": "the same",
    "Module._backward_pre_hooks": "the same",
    "Module._forward_hooks_with_kwargs": "fold_ would lose or change the hooks of an activation",
    "Module._forward_hooks_always_called": "the same",
    "Module._forward_pre_hooks_with_kwargs": "the same",
    "Module._is_full_backward_hook": "the same",
    "torch.nn.modules.module._global_forward_pre_hooks": "the fused trainer would ignore global module hooks",
    "torch.nn.modules.module._global_forward_hooks": "the same",
    "torch.nn.modules.module._global_backward_pre_hooks": "the same",
    "torch.nn.modules.module._global_backward_hooks": "the same",
    "Tensor._backward_hooks": "the fused trainer would ignore a hook on a parameter",
    "Tensor._post_accumulate_grad_hooks": "the same",
    "Optimizer._optimizer_step_pre_hooks": "the fused trainer would ignore a hook on an optimizer",
    "Optimizer._optimizer_step_post_hooks": "the same",
}

_MODES = torch._C._TorchDispatchModeKey
_PRE_DISPATCH = torch._C.DispatchKey.PreDispatch

without_functions = torch._C.DisableTorchFunction
"""A block in which modes of functions see none."""

transforms_active = torch._C._are_functorch_transforms_active
"""Whether a transform of torch.func is active."""

is_batched = torch._C._functorch.is_legacy_batchedtensor
"""Whether a tensor is a batched tensor of the older vmap of gradcheck, which has no memory."""

_is_compiling = torch.compiler.is_compiling
is_exporting: Callable[[], bool] = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)
"""Whether torch.export is tracing; torch 2.6 has one flag for torch.export and Dynamo."""

_tracing_state = torch._C._get_tracing_state
_key_included = torch._C._dispatch_tls_is_dispatch_key_included
_count_modes = torch._C._len_torch_dispatch_stack


class Mode(Enum):
    """The mode of a call, which decides how it is computed."""

    PLAIN = "the kernel, without autograd"
    RECORDED = "an autograd.Function on the fast path"
    TRANSFORMED = "an autograd.Function that torch.func supports"
    FORMULA = "plain torch operations, for tracing and for tensor subclasses"
    GRAPH = "a call in a graph of torch.compile or torch.export"


_PLAIN, _RECORDED, _TRANSFORMED, _FORMULA, _GRAPH = Mode


def find_mode(x: Any, heights: Any) -> Mode:
    """The mode of a call with these tensors."""
    if _is_compiling():
        return _GRAPH
    if type(x) not in OWN_TYPES or type(heights) not in OWN_TYPES:
        return _FORMULA
    if _tracing_state() is not None or _key_included(_PRE_DISPATCH) or (_count_modes() > 0 and _has_tracing_mode()):
        return _FORMULA  # torch.jit.trace and make_fx cannot record a kernel
    if transforms_active() or forward_ad._current_level >= 0 or is_batched(x) or is_batched(heights):
        return _FORMULA if _beyond_functions() else _TRANSFORMED
    if torch.is_grad_enabled() and (x.requires_grad or heights.requires_grad):
        return _RECORDED
    return _PLAIN


def in_forward_mode() -> bool:
    """Whether forward mode is active (`torch.func.jvp`, `torch.autograd.forward_ad`)."""
    return forward_ad._current_level >= 0


def in_backward() -> bool:
    """Whether this thread is inside a backward pass, where a checkpoint computes its part again."""
    return torch._C._current_graph_task_id() != -1


def is_compiled(module: nn.Module) -> bool:
    """Whether a module is the result of torch.compile, or was compiled in place by `module.compile()`."""
    return type(module).__name__ == "OptimizedModule" or module._compiled_call_impl is not None


class OperationWatcher(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Inside its block `hear` is called with the name and all arguments of every operation of torch."""

    def __init__(self, hear: Callable[[str, Any, Any], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.hear = hear

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.hear(str(func.name()).partition("::")[2].partition(".")[0], args, kwargs or {})
        return func(*args, **(kwargs or {}))


def _has_tracing_mode() -> bool:
    """Whether make_fx, FakeTensorMode or functionalization is active."""
    return any(torch._C._get_dispatch_mode(mode) is not None for mode in (_MODES.PROXY, _MODES.FAKE, _MODES.FUNCTIONAL))


def _beyond_functions() -> bool:
    """Whether torch.func uses what an autograd.Function does not support.

    These are `functionalize`, which it rejects, and nested forward derivatives, where it returns zeros.
    """
    active = [level.key() for level in retrieve_all_functorch_interpreters()]
    return TransformType.Functionalize in active or active.count(TransformType.Jvp) > 1


def outside_graphs(reason: str) -> Callable[[F], F]:
    """A decorator: torch.compile calls the function without tracing it. torch 2.6 has no argument `reason`."""
    disable: Callable[..., Callable[[F], F]] = torch.compiler.disable
    return disable(reason=reason) if "reason" in inspect.signature(disable).parameters else disable()


def is_zero_tensor(tensor: Tensor) -> bool:
    """Whether a tensor is a lazy zero tensor, which has no memory."""
    return tensor._is_zerotensor()


def stored_parameter(module: nn.Module, name: str) -> nn.Parameter | None:
    """A parameter by its name, or None if it is parametrized or missing; attribute access takes 1 us longer."""
    return module._parameters.get(name)


def stored_buffer(module: nn.Module, name: str) -> Tensor:
    """A buffer by its name, without the detour of the attribute."""
    buffer = module._buffers[name]
    assert buffer is not None
    return buffer


class MadeAgain(nn.Module):
    """A module with buffers that are computed from its others, and computed again when those get another type."""

    def make_again(self) -> None:
        """Compute the buffers."""
        raise NotImplementedError

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """What torch calls for `.double()`, `.half()` and `.to()`."""
        before = [buffer.dtype for buffer in self.buffers()]
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if [buffer.dtype for buffer in self.buffers()] != before:
            self.make_again()
        return self


def has_hooks(module: nn.Module) -> bool:
    """Whether the module has hooks."""
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def has_forward_hooks(module: nn.Module) -> bool:
    """Whether the module has hooks that may change its input or output."""
    return bool(module._forward_hooks or module._forward_pre_hooks)


def share_hooks(source: nn.Module, target: nn.Module) -> None:
    """Give `target` the hooks of `source`; both have the same tables, so the handles of the hooks still remove them."""
    target._forward_hooks, target._forward_pre_hooks = source._forward_hooks, source._forward_pre_hooks
    target._backward_hooks, target._backward_pre_hooks = source._backward_hooks, source._backward_pre_hooks
    target._forward_hooks_with_kwargs = source._forward_hooks_with_kwargs
    target._forward_hooks_always_called = source._forward_hooks_always_called
    target._forward_pre_hooks_with_kwargs = source._forward_pre_hooks_with_kwargs
    target._is_full_backward_hook = source._is_full_backward_hook


def has_global_hooks() -> bool:
    """Whether there are hooks for all modules."""
    return bool(
        _modules._global_forward_pre_hooks
        or _modules._global_forward_hooks
        or _modules._global_backward_pre_hooks
        or _modules._global_backward_hooks
    )


def tensor_has_hooks(tensor: Tensor) -> bool:
    """Whether the tensor has gradient hooks."""
    return bool(tensor._backward_hooks or tensor._post_accumulate_grad_hooks)


def optimizer_has_hooks(optimizer: Optimizer) -> bool:
    """Whether the optimizer has step hooks."""
    return bool(optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks)
