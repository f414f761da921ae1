"""The parameter of an activation whose number of channels is not known yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]

__all__ = ["LazyParameter"]


class LazyParameter(UninitializedTensorMixin, nn.Parameter):  # type: ignore[misc]
    """A parameter without a shape, which the first call of its module sets.

    A copy of one knows its original. If the original has been called, the copy gets its shape, and the first numbers
    that a call would have set, as soon as it is used: so an average of models can be made before the first call.
    Every other use is an error that says what to do. torch's own class for this, `UninitializedParameter`, would be
    refused by DDP with a message that does not name `materialize`.

    >>> LazyParameter()
    <LazyParameter>
    """

    cls_to_become = nn.Parameter
    start: Callable[[tuple[int, ...]], Tensor] | None
    original: Tensor | None

    def __new__(
        cls,
        requires_grad: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        start: Callable[[tuple[int, ...]], Tensor] | None = None,
        original: Tensor | None = None,
    ) -> LazyParameter:
        """`start` gives the first numbers for a shape; `original` is the parameter that this one is a copy of."""
        made: LazyParameter = super().__new__(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        made.start, made.original = start, original
        return made

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a parameter of that shape, without numbers."""
        self.original = None  # or reading the type below would ask it
        super().materialize(shape, device, dtype)
        del self.start, self.original

    def settle(self) -> bool:
        """Become a parameter as the original did, if it has; whether the shape is known now."""
        original = self.original
        if isinstance(original, LazyParameter) and not original.settle():
            return False
        if original is None:
            return False
        start, shape = self.start, tuple(original.shape)
        self.materialize(shape)
        with torch.no_grad():
            self.copy_(original if start is None else start(shape).expand(shape))
        return True

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            data = self.data
            memo[id(self)] = type(self)(self.requires_grad, data.device, data.dtype, self.start, self)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        data = self.data
        return type(self), (self.requires_grad, data.device, data.dtype)

    @property
    def shape(self) -> Any:  # type: ignore[override]
        """The shape, if the original knows it."""
        if not self.settle():
            raise ValueError(_message("its shape was asked for"))
        return super().shape  # of a parameter by now

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.requires_grad_:
            args[0].requires_grad = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
            return args[0]
        lazy = [each for each in _tensors((*args, *kwargs.values())) if isinstance(each, LazyParameter)]
        if lazy and all(each.settle() for each in lazy):
            return func(*args, **kwargs)
        try:
            return super().__torch_function__(func, types, args, kwargs)  # type: ignore[no-untyped-call]
        except ValueError as error:
            raise ValueError(_message(f"it was used in {getattr(func, '__name__', func)}")) from error


def _message(use: str) -> str:
    return (
        f"the parameter of a lazy activation must know its channels before it is used, got none, and {use}; call "
        "chebact.materialize(model, example) first"
    )


def _tensors(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _tensors(value)
        else:
            yield value
