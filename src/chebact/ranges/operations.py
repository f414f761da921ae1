"""Whether a model is made of additions and products alone, by the operations of one run."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from chebact.learned import LearnedActivation
from chebact.recording import run_once
from chebact.torch_modes import OperationWatcher

__all__ = ["find_foreign_operations"]

POLYNOMIAL = frozenset(
    (
        "_adaptive_avg_pool2d",
        "_adaptive_avg_pool3d",
        "_batch_norm_no_update",
        "_convolution",
        "_native_batch_norm_legit_no_training",
        "adaptive_avg_pool1d",
        "add",
        "addbmm",
        "addcmul",
        "addmm",
        "addmv",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "baddbmm",
        "bmm",
        "convolution",
        "cumsum",
        "dot",
        "lerp",
        "linear",
        "matmul",
        "mean",
        "mkldnn_convolution",
        "mkldnn_linear",
        "mm",
        "mul",
        "mv",
        "neg",
        "rsub",
        "square",
        "sub",
        "sum",
        "_reshape_alias",
        "_to_copy",
        "_unsafe_view",
        "alias",
        "as_strided",
        "cat",
        "chunk",
        "clone",
        "constant_pad_nd",
        "contiguous",
        "copy",
        "copy_",
        "detach",
        "diagonal",
        "expand",
        "flatten",
        "flip",
        "gather",
        "index",
        "index_select",
        "lift_fresh",
        "movedim",
        "narrow",
        "permute",
        "pixel_shuffle",
        "pixel_unshuffle",
        "repeat",
        "reshape",
        "roll",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "stack",
        "t",
        "to",
        "transpose",
        "unbind",
        "unfold",
        "unsqueeze",
        "view",
        "view_as",
        "arange",
        "empty",
        "eye",
        "full",
        "full_like",
        "new_ones",
        "new_zeros",
        "ones",
        "ones_like",
        "scalar_tensor",
        "zeros",
        "zeros_like",
    )
)
"""Operations that add, multiply, move or make constants, by their names in torch."""
BY_NUMBER = frozenset(("div", "pow"))  # polynomial if the second argument is a number, for pow a natural one
BATCH_NORMS = frozenset(("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm"))
TRAINING = 5  # the argument of a batch norm that is False if it uses its running statistics


class _Watcher:
    """Notes every operation outside learned activations that is not polynomial, with the module that called it."""

    def __init__(self, model: nn.Module) -> None:
        self.names = {id(part): name for name, part in model.named_modules()}
        self.constants = {id(each) for each in (*model.parameters(), *model.buffers())}
        self.stack: list[nn.Module] = []
        self.found: dict[tuple[str, str], None] = {}

    def hear(self, name: str, args: Any, options: Any) -> None:
        """Note an operation with these arguments, if it is not polynomial."""
        known = name.removesuffix("_") if name not in POLYNOMIAL else name
        learned = any(isinstance(part, LearnedActivation) for part in self.stack)
        rounds = options.get("rounding_mode") is not None or (known == "_to_copy" and _is_integer(options.get("dtype")))
        if not learned and (rounds or not self.is_polynomial(known, args)):
            place = self.stack[-1] if self.stack else None
            module = "" if place is None else f"{self.names[id(place)] or 'the model'} ({type(place).__name__})"
            self.found.setdefault((module, name))

    def is_polynomial(self, name: str, args: Any) -> bool:
        """Whether an operation with these arguments is a polynomial of them."""
        if name in BATCH_NORMS:
            return not args[TRAINING]
        if name not in BY_NUMBER:
            return name in POLYNOMIAL
        base, second = args[0], args[1] if len(args) > 1 else None
        if name == "div":
            return isinstance(second, int | float) or id(second) in self.constants
        return isinstance(base, Tensor) and isinstance(second, int | float) and second >= 0 and second == int(second)

    def enter(self, module: nn.Module, args: Any) -> None:
        self.stack.append(module)

    def leave(self, module: nn.Module, args: Any, output: Any) -> None:
        self.stack.pop()


def _is_integer(dtype: Any) -> bool:
    return isinstance(dtype, torch.dtype) and not (dtype.is_floating_point or dtype.is_complex)


def find_foreign_operations(model: nn.Module, example: Any) -> list[str]:
    """What one run of the model does that is not an addition or a product: "PLACE: OPERATION", in order.

    Learned activations count as polynomial. The example is an input, a tuple of inputs or a dict of them by name.

    >>> find_foreign_operations(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), torch.zeros(1, 2))
    ['1 (ReLU): relu']
    """
    watcher = _Watcher(model)
    with ExitStack() as stack:
        for part in model.modules():
            stack.callback(part.register_forward_pre_hook(watcher.enter, prepend=True).remove)
            stack.callback(part.register_forward_hook(watcher.leave).remove)
        stack.enter_context(torch.no_grad())
        stack.enter_context(OperationWatcher(watcher.hear))
        run_once(model, example)
    return [f"{module}: {operation}" if module else operation for module, operation in watcher.found]
