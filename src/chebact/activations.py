"""The activations as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter, is_lazy

from chebact.basis import Basis
from chebact.checks import Interval, axis_of, count_of, float_tensor, float_type, whole_number
from chebact.formula import formula
from chebact.functional import apply_basis, chebyshev_basis, check_tensors, make_basis
from chebact.initial import Function, heights_of, shape_named
from chebact.nodes import nodes

Generators = torch.Generator | Sequence[torch.Generator] | None


class _LearnedShape(nn.Module):
    """A parameter of degree + 1 numbers a channel (or a group), perhaps of a width that the first call tells."""

    values: nn.Parameter
    basis: Basis

    def _make(
        self, channels: Any, groups: Any, channel_dim: Any, replicas: Any, device: Any, dtype: Any, degree: int
    ) -> None:
        self.channels = None if channels is None else count_of("channels", channels)
        self.groups = None if groups is None else count_of("groups", groups)
        self.replicas = None if replicas is None else count_of("replicas", replicas)
        self.channel_dim = axis_of(channel_dim)
        if dtype is not None:
            float_type(dtype)
        rows = self._rows()
        if rows is None:
            lazy: Any = UninitializedParameter
            self.values = lazy(device=device, dtype=dtype)
        else:
            self.values = nn.Parameter(torch.empty(self._shape(rows, degree), device=device, dtype=dtype))

    def _rows(self) -> int | None:
        """How many rows the values have, or None while the channels are not known."""
        if self.groups == 1:
            return 1
        if self.channels is None:
            return None
        if self.groups is not None and self.channels % self.groups:
            raise ValueError(
                f"groups must divide channels, but groups = {self.groups}, channels = {self.channels} came"
            )
        return self.groups or self.channels

    def _shape(self, rows: int, degree: int) -> tuple[int, ...]:
        return (rows, degree + 1) if self.replicas is None else (self.replicas, rows, degree + 1)

    def _learn_channels(self, x: torch.Tensor) -> None:
        """Take the number of channels from the first x."""
        float_tensor("x", x)
        rank = x.dim() - (self.replicas is not None)
        axis = -1 if rank == 1 else self.channel_dim + (self.replicas is not None and self.channel_dim >= 0)
        if rank < 1 or not -x.dim() <= axis < x.dim():
            raise ValueError(
                f"the first x tells the number of channels, at channel_dim {self.channel_dim}, "
                f"but x of shape {tuple(x.shape)} has no such axis; give channels or groups=1"
            )
        if x.shape[axis] == 0:
            raise ValueError(f"the first x tells the number of channels, but x of shape {tuple(x.shape)} has none")
        self.channels = x.shape[axis]
        try:
            rows = self._rows()
        except ValueError:
            self.channels = None
            raise
        assert rows is not None
        if is_lazy(self.values):  # else a state dict brought the values of each group, and only the width was missing
            self._materialize(self._shape(rows, self.basis.degree), x)

    def _materialize(self, shape: tuple[int, ...], like: torch.Tensor | None = None) -> None:
        assert isinstance(self.values, UninitializedParameter)
        self.values.materialize(shape, device=None if like is None else like.device)
        self.reset_parameters()

    def _full_values(self, x: torch.Tensor) -> torch.Tensor:
        """The values a channel, for x."""
        values = self._parameters.get("values")  # the attribute would be looked for at length
        if values is not None and self.groups is None and self.channels is not None and self.channels > 1:
            return values
        if self.channels is None and self.groups != 1:
            self._learn_channels(x)
        values = self.values
        check_tensors(x, values, "values")
        if values.shape[-2] == 1:
            self._check_channels(x)
        if self.groups is None or self.groups == 1 or self.channels is None:
            return values
        return values.repeat_interleave(self.channels // self.groups, dim=-2)

    def _check_channels(self, x: torch.Tensor) -> None:
        """One row of values fits any x; a module that was told its width takes no other."""
        rank = x.dim() - (self.replicas is not None)
        axis = -1 if rank == 1 else self.channel_dim + (self.replicas is not None and self.channel_dim >= 0)
        if self.channels is not None and rank > 0 and -x.dim() <= axis < x.dim() and x.shape[axis] != self.channels:
            raise ValueError(
                f"this activation has channels = {self.channels}, but x of shape {tuple(x.shape)} has {x.shape[axis]}"
            )

    def reset_parameters(self) -> None:
        """Set the values to where they start."""
        raise NotImplementedError

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        if is_lazy(self.values):  # a tensor of no rows: unlike a lazy parameter, torch.load(weights_only=True) reads it
            destination[prefix + "values"] = torch.empty(0, self.basis.degree + 1)
        else:
            super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        given = state_dict.get(prefix + "values")
        if given is not None and is_lazy(self.values) and (is_lazy(given) or given.numel() == 0):
            return
        if given is not None and is_lazy(self.values) and self._fits(given):
            self.channels = self.channels or (given.shape[-2] if self.groups is None else None)
            self._materialize(tuple(given.shape))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _fits(self, given: torch.Tensor) -> bool:
        """Whether `given` could be values of this module, once its channels are known."""
        rank = 2 if self.replicas is None else 3
        return given.dim() == rank and given.shape[-1] == self.basis.degree + 1

    def _size_repr(self) -> str:
        parts = [str(self.channels) if self.channels is not None else "channels=None"]
        parts += [f"groups={self.groups}"] if self.groups is not None else []
        parts += [f"degree={self.basis.degree}"]
        parts += [f"channel_dim={self.channel_dim}"] if self.channel_dim != 1 else []
        parts += [f"replicas={self.replicas}"] if self.replicas is not None else []
        return ", ".join(parts)


class ChebyshevLagrange(_LearnedShape):
    """A polynomial a channel, learned by its heights at fixed nodes, with straight tails outside the interval.

    Args:
        channels: size of the channel axis; None takes it from the first x.
        degree: of the polynomial; degree + 1 values a channel are learned.
        tails: "extrapolate" (the end's slope goes on), "regression" (the slope of the `regression_nodes` nodes at that
            end) or "none" (the polynomial itself goes on).
        init: "zeros", the name of a function or a function: the values are its heights at the nodes.
        groups: 1 shares one shape between all channels, g has one shape for each of g groups of neighbouring channels.
        channel_dim: the channel axis of x (of one replica's x where there are replicas).
        interval: where the nodes stand.
        inplace: x may be overwritten when no derivative is recorded.
        replicas: a leading axis for networks trained side by side: x (replica, ...), values (replica, channel, ...).

    Shapes: x is (N, C, *) or any shape with C at `channel_dim`; (C,); any shape with `groups=1`. The result is as x.

    >>> activation = ChebyshevLagrange(2, init="relu")
    >>> activation(torch.tensor([[-3.0, 3.0]])).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        channels: int | None = None,
        *,
        degree: int = 3,
        tails: str = "extrapolate",
        regression_nodes: int = 2,
        init: str | Function = "zeros",
        groups: int | None = None,
        channel_dim: int = 1,
        interval: Interval = (-1.0, 1.0),
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        replicas: int | None = None,
    ) -> None:
        super().__init__()
        self.basis = make_basis(degree, tails, regression_nodes, interval)
        self.init = init
        shape_named(init)
        if not isinstance(inplace, bool):
            raise TypeError(f"inplace must be True or False, but {type(inplace).__name__} {inplace!r} came")
        self.inplace = inplace
        self._make(channels, groups, channel_dim, replicas, device, dtype, self.basis.degree)
        self.reset_parameters()

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return self.basis.degree

    @property
    def tails(self) -> str:
        """What goes on outside the interval."""
        return self.basis.tails

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The activation of x, in its shape, type and memory format."""
        return apply_basis(x, self._full_values(x), self.basis, self.channel_dim, "values", inplace=self.inplace)

    def reset_parameters(self) -> None:
        """Set the values to `init` again."""
        if not is_lazy(self.values):
            self.fit_(shape_named(self.init))

    def fit_(self, function: str | Function) -> ChebyshevLagrange:
        """Set the values to the heights of a function at the nodes, in place; returns the module.

        >>> round(ChebyshevLagrange(1, degree=20).fit_(torch.sin)(torch.tensor([[0.5]])).item(), 6)  # sin(0.5)
        0.479426
        """
        if is_lazy(self.values):
            raise ValueError(
                "fit_ needs the number of channels, which the first call tells; give channels or call first"
            )
        places = nodes(self.basis.degree, interval=self.basis.interval, device="cpu")
        heights = heights_of(shape_named(function), places, tuple(self.values.shape))
        with torch.no_grad():
            self.values.copy_(heights.expand(self.values.shape))
        return self

    def to_formula(self, channel: int = 0, *, replica: int = 0, digits: int = 6) -> str:
        """The pieces of one channel in writing, a line each.

        >>> print(ChebyshevLagrange(1, degree=2, init=torch.square).to_formula())
        x <= -1:      1 - 2 (x + 1)
        -1 < x < 1:   x^2
        x >= 1:       1 + 2 (x - 1)
        """
        if is_lazy(self.values):
            raise ValueError("to_formula needs the number of channels, which the first call tells")
        rows = (
            self.values
            if self.replicas is None
            else self.values[whole_number("replica", replica, least=0, most=self.replicas - 1)]
        )
        count = self.channels if self.channels is not None else rows.shape[0]
        index = whole_number("channel", channel, least=0, most=count - 1)
        return formula(
            rows[index * rows.shape[0] // count], self.basis, whole_number("digits", digits, least=1, most=17)
        )

    def extra_repr(self) -> str:
        """The choices that differ from the defaults."""
        basis, parts = self.basis, [self._size_repr(), f"tails={self.basis.tails!r}"]
        parts += [f"regression_nodes={basis.regression_nodes}"] if basis.tails == "regression" else []
        if self.init != "zeros":
            parts.append(
                f"init={self.init!r}"
                if isinstance(self.init, str)
                else f"init={getattr(self.init, '__name__', 'function')}"
            )
        parts += [f"interval={basis.interval}"] if basis.interval != (-1.0, 1.0) else []
        parts += ["inplace=True"] if self.inplace else []
        return ", ".join(parts)


class WeightedChebyshev(_LearnedShape):
    """sum_k w_k T_k(x) a channel, with learned weights that start at zero and no squashing: (N, C, *) as it came.

    >>> WeightedChebyshev(3)(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        channels: int | None = None,
        *,
        degree: int = 3,
        groups: int | None = None,
        channel_dim: int = 1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        replicas: int | None = None,
    ) -> None:
        super().__init__()
        self.basis = chebyshev_basis(degree)
        self._make(channels, groups, channel_dim, replicas, device, dtype, self.basis.degree)
        self.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The weighted sum at x, in its shape, type and memory format."""
        return apply_basis(x, self._full_values(x), self.basis, self.channel_dim, "weights")

    def reset_parameters(self) -> None:
        """Set the weights to zero."""
        if not is_lazy(self.values):
            nn.init.zeros_(self.values)

    def extra_repr(self) -> str:
        """The sizes."""
        return self._size_repr()


class PrototypeSimilarity(nn.Module):
    """The cosine of the angle between x and each of as many learned prototypes as x has features.

    s_c(x) = <x, w_c> / (|x| |w_c| + 1e-8) over the channel axis, so every output lies in [-1, 1]; the prototypes start
    uniform on +-1 / features. x is (N, C, *) or (C,); with replicas (replica, ...), each with prototypes of its own.

    >>> PrototypeSimilarity(4)(torch.ones(2, 4)).abs().max() <= 1
    tensor(True)
    """

    def __init__(
        self,
        channels: int,
        *,
        channel_dim: int = 1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        replicas: int | None = None,
    ) -> None:
        super().__init__()
        self.channels = count_of("channels", channels)
        self.replicas = None if replicas is None else count_of("replicas", replicas)
        self.channel_dim = axis_of(channel_dim)
        if dtype is not None:
            float_type(dtype)
        leading = () if self.replicas is None else (self.replicas,)
        self.prototypes = nn.Parameter(torch.empty(*leading, self.channels, self.channels, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self, generator: Generators = None) -> None:
        """Draw the prototypes; one generator for all replicas, or one for each."""
        bound = 1 / self.channels
        with torch.no_grad():
            if generator is None or isinstance(generator, torch.Generator):
                self.prototypes.uniform_(-bound, bound, generator=generator)
                return
            if self.replicas is None or len(generator) != self.replicas:
                raise ValueError(
                    f"generator must be one, or one for each of {self.replicas} replicas, not {len(generator)}"
                )
            for prototypes, own in zip(self.prototypes, generator, strict=True):
                prototypes.uniform_(-bound, bound, generator=own)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The similarities, in the shape of x."""
        float_tensor("x", x)
        if x.device != self.prototypes.device:
            raise ValueError(f"x must be on {self.prototypes.device} like the prototypes, but it is on {x.device}")
        first = self.replicas is not None
        rank = x.dim() - first
        axis = -1 if rank == 1 else self.channel_dim + (first and self.channel_dim >= 0)
        if rank < 1 or not -x.dim() <= axis < x.dim() or x.shape[axis] != self.channels:
            raise ValueError(
                f"x must have {self.channels} features at axis {self.channel_dim}, but shape {tuple(x.shape)} came"
            )
        if first and x.shape[0] != self.replicas:
            raise ValueError(f"x must begin with {self.replicas} replicas, but shape {tuple(x.shape)} came")
        rows = x.movedim(axis, -1)
        flat = (
            rows.flatten(1, -2)
            if first and rows.dim() > 3
            else rows.unsqueeze(1)
            if first and rows.dim() == 2
            else rows
        )
        products = flat @ self.prototypes.mT
        lengths = flat.norm(dim=-1, keepdim=True) * self.prototypes.norm(dim=-1).unsqueeze(-2 if first else 0)
        similarities: torch.Tensor = products / (lengths + 1e-8)
        return similarities.reshape(rows.shape).movedim(-1, axis)

    def extra_repr(self) -> str:
        """The sizes."""
        parts = [str(self.channels)]
        parts += [f"channel_dim={self.channel_dim}"] if self.channel_dim != 1 else []
        parts += [f"replicas={self.replicas}"] if self.replicas is not None else []
        return ", ".join(parts)


class Cubic(nn.Module):
    """x^3, element by element.

    >>> Cubic()(torch.tensor([2.0]))
    tensor([8.])
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The third power of x."""
        return x * x * x
