"""The activations as modules."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from chebact.channels import find_axis
from chebact.checks import TAILS, Interval, Tails, axis_of, count_of, float_tensor, float_type, tails_of, whole_number
from chebact.fixed_point import LookupTable, make_table
from chebact.formula import formula
from chebact.functional import chebyshev_basis, make_basis
from chebact.initial import DEFAULT_INIT, Init, describe_init, heights_of, shape_named
from chebact.learned import EXTRA_STATE, OLD_NAME, LearnedActivation
from chebact.node_positions import nodes
from chebact.pieces import pieces_of
from chebact.symbolic import expression_of, import_sympy

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["ChebyshevLagrange", "Cubic", "PrototypeSimilarity", "WeightedChebyshev"]

Generators = torch.Generator | Sequence[torch.Generator] | None


class ChebyshevLagrange(LearnedActivation):
    """A polynomial per channel, learned by its heights at fixed nodes, with straight tails outside the interval.

    Args:
        channels: size of the channel axis; None infers it from the first x.
        degree: of the polynomial; degree + 1 heights per channel are learned.
        tails: "extrapolate" (a line with the slope at the end), "regression" (a line with the slope of the
            `regression_nodes` nodes at that end) or "none" (the polynomial everywhere).
        init: the name of a function or a function, whose heights at the nodes they start at; or the heights themselves,
            (degree + 1,) for all channels or (channel, degree + 1), from the right end to the left.
        groups: 1 shares one shape between all channels, g has one shape for each of g groups of neighbouring channels.
        channel_dim: the channel axis of x (of one replica's x where there are replicas); 1 by default. Without
            `channels`, an x of three axes asks for it: (N, C, L) and (N, L, C) look alike.
        interval: where the nodes stand.
        inplace: x may be overwritten when no derivative is recorded.
        replicas: a leading axis for networks trained side by side: x (replica, ...), heights (replica, channel, ...).

    Shapes: x is (N, C, *) or any shape with C at `channel_dim`; (C,); any shape with `groups=1`. The result is as x.

    >>> activation = ChebyshevLagrange(2, init="relu")
    >>> activation(torch.tensor([[-3.0, 3.0]])).shape
    torch.Size([1, 2])
    """

    parameter_name = "heights"
    heights: nn.Parameter

    def __init__(
        self,
        channels: int | None = None,
        *,
        degree: int = 3,
        tails: Tails = "extrapolate",
        regression_nodes: int = 2,
        init: Init = DEFAULT_INIT,
        groups: int | None = None,
        channel_dim: int | None = None,
        interval: Interval = (-1.0, 1.0),
        inplace: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        replicas: int | None = None,
    ) -> None:
        super().__init__()
        self.basis = make_basis(degree, tails, regression_nodes, interval)
        shape_named(init)
        self.init = init if isinstance(init, str) or callable(init) else shape_named(init)(torch.empty(0))
        if not isinstance(inplace, bool):
            raise TypeError(f"inplace must be True or False, got {inplace!r} ({type(inplace).__name__})")
        self.inplace = inplace
        self._make(channels, groups, channel_dim, replicas, device, dtype, self.basis.degree)
        self.reset_parameters()

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return self.basis.degree

    @property
    def tails(self) -> Tails:
        """The kind of curve outside the interval."""
        return tails_of(self.basis.tails)

    def reset_parameters(self) -> None:
        """Set the heights to `init` again."""
        if self.is_materialized:
            self.fit_(shape_named(self.init))

    def fit_(self, function: Init) -> ChebyshevLagrange:
        """Set the heights to those of a function at the nodes, or to these, in place; returns the module.

        >>> round(ChebyshevLagrange(1, degree=20).fit_(torch.sin)(torch.tensor([[0.5]])).item(), 6)  # sin(0.5)
        0.479426
        """
        if not self.is_materialized:
            raise ValueError(
                "fit_ needs the number of channels, which the first call tells; give channels or call first"
            )
        places = nodes(self.basis.degree, interval=self.basis.interval, device="cpu")
        heights = heights_of(shape_named(function), places, tuple(self.heights.shape))
        self._set_learned(heights)
        return self

    def get_extra_state(self) -> torch.Tensor:
        """What a state holds beside the heights: both ends of the interval, the tails by number, the regression nodes.

        A tensor, so that `torch.load(weights_only=True)` and safetensors take it; no buffer, which DDP would send
        around, `.half()` would round and an average of models would blur.
        """
        basis = self.basis
        numbers = (*basis.interval, TAILS.index(self.tails), basis.regression_nodes)
        return torch.tensor(numbers, dtype=torch.float64, device="cpu")

    def set_extra_state(self, state: Any) -> None:
        """Nothing is set: a state of another function is refused."""

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        if f"{prefix}{self.parameter_name}" in state_dict or prefix + OLD_NAME in state_dict:
            given = state_dict.get(prefix + EXTRA_STATE)
            if given is None:
                state_dict[prefix + EXTRA_STATE] = self.get_extra_state()
                warnings.warn(
                    f"the state of {prefix.rstrip('.') or 'this activation'} does not hold its interval and tails, as "
                    f"states of older versions do not; {self.basis.interval} and {self.tails!r} are assumed",
                    stacklevel=2,
                )
            elif difference := self._compare_function(given):
                errors = args[-1]
                errors.append(f"{prefix}heights must be loaded into a module of the same function, got {difference}")
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _compare_function(self, given: Any) -> str:
        """What differs in the function that a state was saved from, or an empty text."""
        own = self.get_extra_state()
        if not isinstance(given, torch.Tensor) or given.shape != own.shape:
            return f"an extra state that is not chebact's: {type(given).__name__}"
        saved, own = given.detach().to("cpu", torch.float64), own.to(given.dtype).double()
        if not torch.allclose(saved[:2], own[:2], rtol=1e-6, atol=1e-30):
            return f"interval ({saved[0]:g}, {saved[1]:g}) in the state and {self.basis.interval} in the module"
        if round(saved[2].item()) != own[2].item():
            return f"tails {TAILS[round(saved[2].item()) % len(TAILS)]!r} in the state and {self.tails!r} in the module"
        if self.tails == "regression" and round(saved[3].item()) != own[3].item():
            return f"{saved[3]:g} regression nodes in the state and {own[3]:g} in the module"
        return ""

    def to_formula(self, channel: int = 0, *, replica: int = 0, digits: int = 6) -> str:
        """The pieces of one channel in writing, a line each.

        >>> print(ChebyshevLagrange(1, degree=2, init=torch.square).to_formula())
        x <= -1:      1 - 2 (x + 1)
        -1 < x < 1:   x^2
        x >= 1:       1 + 2 (x - 1)
        """
        heights = self._heights_of("to_formula", channel, replica)
        return formula(heights, self.basis, whole_number("digits", digits, least=1, most=17))

    def to_sympy(self, channel: int = 0, *, replica: int = 0, symbol: str = "x") -> Expr:
        """One channel as an expression of SymPy, to differentiate, integrate or print in other languages.

        >>> activation = ChebyshevLagrange(1, degree=2, tails="none", init=torch.square)
        >>> activation.to_sympy().diff("x")
        2.0*x
        """
        heights = self._heights_of("to_sympy", channel, replica)
        pieces = pieces_of(heights.detach().double().cpu().numpy(), self.basis)
        return expression_of(pieces, import_sympy().Symbol(symbol))

    def to_table(
        self, bits: int = 8, range: Interval = (-4.0, 4.0), channel: int = 0, *, replica: int = 0
    ) -> LookupTable:
        """One channel as 2^bits signed integers of so many bits, with the largest error over the range.

        >>> table = ChebyshevLagrange(1).to_table(bits=8, range=(-2.0, 2.0))
        >>> len(table.entries), table.error < 0.01
        (256, True)
        """
        heights = self._heights_of("to_table", channel, replica)
        return make_table(pieces_of(heights.detach().double().cpu().numpy(), self.basis), bits, range)

    def _heights_of(self, asker: str, channel: Any, replica: Any) -> torch.Tensor:
        """The heights of one channel, (degree + 1,)."""
        if not self.is_materialized:
            raise ValueError(f"{asker} needs the number of channels, which the first call tells")
        rows: torch.Tensor = self.heights
        if self.replicas is not None:
            rows = rows[whole_number("replica", replica, least=0, most=self.replicas - 1)]
        count = self.channels if self.channels is not None else rows.shape[0]
        index = whole_number("channel", channel, least=0, most=count - 1)
        return rows[index * rows.shape[0] // count]

    def extra_repr(self) -> str:
        """The choices that differ from the defaults."""
        basis, parts = self.basis, [self._size_repr(), f"tails={self.basis.tails!r}"]
        parts += [f"regression_nodes={basis.regression_nodes}"] if basis.tails == "regression" else []
        if not (isinstance(self.init, str) and self.init == DEFAULT_INIT):
            parts.append(f"init={describe_init(self.init)}")
        parts += [f"interval={basis.interval}"] if basis.interval != (-1.0, 1.0) else []
        parts += ["inplace=True"] if self.inplace else []
        return ", ".join(parts)


class WeightedChebyshev(LearnedActivation):
    """sum_k w_k T_k(x) per channel, with learned weights that start at zero and no squashing: (N, C, *) -> (N, C, *).

    >>> WeightedChebyshev(3)(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    parameter_name = "weights"
    weights: nn.Parameter

    def __init__(
        self,
        channels: int | None = None,
        *,
        degree: int = 3,
        groups: int | None = None,
        channel_dim: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        replicas: int | None = None,
    ) -> None:
        super().__init__()
        self.basis = chebyshev_basis(degree)
        self._make(channels, groups, channel_dim, replicas, device, dtype, self.basis.degree)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weights to zero."""
        if self.is_materialized:
            self._set_learned(torch.zeros(()))

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
        axis = find_axis(x.dim(), self.channel_dim, first)
        if axis is None or x.shape[axis] != self.channels:
            raise ValueError(
                f"x must have {self.channels} features at axis {self.channel_dim}, got shape {tuple(x.shape)}"
            )
        if first and x.shape[0] != self.replicas:
            raise ValueError(f"x must begin with {self.replicas} replicas, got shape {tuple(x.shape)}")
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
