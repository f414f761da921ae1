"""The activations as modules."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from chebact.channels import find_axis
from chebact.checks import (
    TAILS,
    Interval,
    Tails,
    check_axis,
    check_count,
    check_dtype,
    check_integer,
    check_tails,
    check_tensor,
    describe,
    must_be,
)
from chebact.fixed_point import LookupTable, make_table
from chebact.formula import formula
from chebact.functional import chebyshev_basis, make_basis
from chebact.initial import DEFAULT_INIT, Init, describe_init, evaluate_init, find_function
from chebact.learned import EXTRA_STATE, FOLDED_NAME, LearnedActivation, add_once
from chebact.node_positions import nodes
from chebact.pieces import pieces_of
from chebact.symbolic import expression_of, import_sympy

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["ChebyshevLagrange", "Cubic", "PrototypeSimilarity", "WeightedChebyshev"]

_OTHER_FUNCTION = (
    "use chebact.load_state_(model, state), which takes intervals and tails from the state, also after "
    "replace_activations(..., interval='fit'); or build the model with those of the state"
)
Generators = torch.Generator | Sequence[torch.Generator] | None


class ChebyshevLagrange(LearnedActivation):
    """A polynomial per channel, defined by learned heights at fixed nodes, with straight tails outside the interval.

    Args:
        channels: size of the channel axis; None infers it from the first x.
        degree: degree of the polynomial; degree + 1 heights per channel are learned.
        tails: "extrapolate" (a line with the slope at the end), "regression" (a line with the slope of the
            `regression_nodes` nodes at that end) or "none" (the polynomial everywhere).
        init: the initial heights: a function or the name of one, evaluated at the nodes, or the heights themselves,
            (degree + 1,) for all channels or (channel, degree + 1), from the right end to the left.
        groups: 1 shares one function between all channels; g has one function for each of g groups of adjacent
            channels.
        channel_dim: the channel axis of x, with replicas of one replica's x; 1 by default. Without `channels` it is
            required for an x with three axes, since (N, C, L) and (N, L, C) cannot be distinguished.
        interval: the interval of the nodes.
        inplace: x may be overwritten if no gradient is recorded.
        replicas: a leading axis for networks trained side by side: x (replica, ...), heights (replica, channel, ...).

    Shapes: x is (N, C, *) or any shape with C at `channel_dim`; (C,); any shape with `groups=1`. The result has the
    shape of x.

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
        find_function(init)
        self.init = init if isinstance(init, str) or callable(init) else find_function(init)(torch.empty(0))
        if not isinstance(inplace, bool):
            raise TypeError(must_be("inplace", "True or False", inplace))
        self.inplace = inplace
        self._make(channels, groups, channel_dim, replicas, device, dtype, self.basis.degree)
        self.reset_parameters()

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return self.basis.degree

    @property
    def tails(self) -> Tails:
        """The kind of tails outside the interval."""
        return check_tails(self.basis.tails)

    def initial_numbers(self, shape: tuple[int, ...]) -> torch.Tensor:
        """The heights of `init`, for heights of that shape."""
        return self._heights_at_nodes(self.init, shape)

    def fit_(self, function: Init) -> ChebyshevLagrange:
        """Set the heights in place, to a function at the nodes or to given heights; returns the module.

        >>> round(ChebyshevLagrange(1, degree=20).fit_(torch.sin)(torch.tensor([[0.5]])).item(), 6)  # sin(0.5)
        0.479426
        """
        if not self.is_materialized:
            raise ValueError(must_be("channels", "known", None, "pass channels, or call the module before fit_"))
        self._set_learned(self._heights_at_nodes(function, tuple(self.heights.shape)))
        return self

    def _heights_at_nodes(self, function: Init, shape: tuple[int, ...]) -> torch.Tensor:
        positions = nodes(self.basis.degree, interval=self.basis.interval, device="cpu")
        return evaluate_init(find_function(function), positions, shape)

    def get_extra_state(self) -> torch.Tensor:
        """The rest of the state: both ends of the interval, the index of the tails, the number of regression nodes.

        A tensor, which `torch.load(weights_only=True)` and safetensors accept. Not a buffer, which DDP would broadcast,
        `.half()` would round and an average of models would change.
        """
        basis = self.basis
        numbers = (*basis.interval, TAILS.index(self.tails), basis.regression_nodes)
        return torch.tensor(numbers, dtype=torch.float64, device="cpu")

    def set_extra_state(self, state: Any) -> None:
        """Does nothing: a state of another function is an error."""

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        if f"{prefix}{self.parameter_name}" in state_dict:
            given = state_dict.get(prefix + EXTRA_STATE)
            if given is None:
                state_dict[prefix + EXTRA_STATE] = self.get_extra_state()
            if given is None and prefix + FOLDED_NAME not in state_dict:
                name = prefix.rstrip(".") or "this activation"
                assumed = f"{self.basis.interval} and {self.tails!r} are assumed"
                warnings.warn(
                    f"the state of {name} must hold interval and tails, got an older state without them; {assumed}",
                    stacklevel=2,
                )
            elif given is not None and (difference := self._compare_function(given)):
                errors = args[-1]
                add_once(errors, _OTHER_FUNCTION)
                errors.append(f"{prefix}heights must be loaded into a module of the same function, got {difference}")
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _compare_function(self, given: Any) -> str:
        """How the function of a state differs from this one; an empty string if it does not."""
        ours = self.get_extra_state()
        if not isinstance(given, torch.Tensor) or given.shape != ours.shape:
            return f"an extra state of another library: {describe(given)}"
        saved, ours = given.detach().to("cpu", torch.float64), ours.to(given.dtype).double()
        if not torch.allclose(saved[:2], ours[:2], rtol=1e-6, atol=1e-30):
            there, here = _shorten(saved[:2].tolist(), self.basis.interval)
            return f"interval {there} in the state and {here} in the module"
        if round(saved[2].item()) != ours[2].item():
            return f"tails {TAILS[round(saved[2].item()) % len(TAILS)]!r} in the state and {self.tails!r} in the module"
        if self.tails == "regression" and round(saved[3].item()) != ours[3].item():
            return f"{saved[3]:g} regression nodes in the state and {ours[3]:g} in the module"
        return ""

    def take_function_(self, state: torch.Tensor) -> None:
        """Take interval and tails from an extra state, where they differ; the heights stay."""
        if not isinstance(state, torch.Tensor) or state.shape != self.get_extra_state().shape:
            raise ValueError(must_be("state", "an extra state of ChebyshevLagrange: four numbers", state))
        if self._compare_function(state):
            left, right, tails, count = state.tolist()
            self.basis = make_basis(self.degree, TAILS[round(tails) % len(TAILS)], round(count), (left, right))

    def to_formula(self, channel: int = 0, *, replica: int = 0, digits: int = 6) -> str:
        """The formula of one channel, one line per piece.

        >>> print(ChebyshevLagrange(1, degree=2, init=torch.square).to_formula())
        x <= -1:      1 - 2 (x + 1)
        -1 < x < 1:   x^2
        x >= 1:       1 + 2 (x - 1)
        """
        heights = self._heights_of("to_formula", channel, replica)
        return formula(heights, self.basis, check_integer("digits", digits, least=1, most=17))

    def to_sympy(self, channel: int = 0, *, replica: int = 0, symbol: str = "x") -> Expr:
        """One channel as an expression of SymPy, to differentiate, integrate or print in other languages.

        >>> activation = ChebyshevLagrange(1, degree=2, tails="none", init=torch.square)
        >>> activation.to_sympy().diff("x")
        2.0*x
        """
        if not isinstance(symbol, str):
            raise TypeError(must_be("symbol", "the name of one", symbol))
        heights = self._heights_of("to_sympy", channel, replica)
        pieces = pieces_of(heights.detach().double().cpu().numpy(), self.basis)
        return expression_of(pieces, import_sympy().Symbol(symbol))

    def to_table(
        self, bits: int = 8, range: Interval = (-4.0, 4.0), channel: int = 0, *, replica: int = 0
    ) -> LookupTable:
        """One channel as 2^bits signed integers of so many bits, with the largest error over the range.

        >>> table = ChebyshevLagrange(1).to_table(bits=8, range=(-2.0, 2.0))
        >>> len(table.entries), round(table.error, 3)
        (256, 0.012)
        """
        heights = self._heights_of("to_table", channel, replica)
        return make_table(pieces_of(heights.detach().double().cpu().numpy(), self.basis), bits, range)

    def _heights_of(self, caller: str, channel: Any, replica: Any) -> torch.Tensor:
        """The heights of one channel, (degree + 1,)."""
        if not self.is_materialized:
            raise ValueError(must_be("channels", "known", None, f"pass channels, or call the module before {caller}"))
        check_integer("replica", replica, least=0, most=(self.replicas or 1) - 1)
        check_integer("channel", channel, least=0, most=(self.channels or self.heights.shape[-2]) - 1)
        return self.channel_row(channel, replica)

    def extra_repr(self) -> str:
        """The options that differ from the defaults."""
        basis, parts = self.basis, [self._size_repr(), f"tails={self.basis.tails!r}"]
        parts += [f"regression_nodes={basis.regression_nodes}"] if basis.tails == "regression" else []
        if not (isinstance(self.init, str) and self.init == DEFAULT_INIT):
            parts.append(f"init={describe_init(self.init)}")
        parts += [f"interval={basis.interval}"] if basis.interval != (-1.0, 1.0) else []
        parts += ["inplace=True"] if self.inplace else []
        return ", ".join(parts)


def _shorten(one: Sequence[float], other: Sequence[float]) -> tuple[str, str]:
    """Two intervals with 4 significant digits, or with all if they differ only in later ones."""
    here, there = (f"({left:.4g}, {right:.4g})" for left, right in (one, other))
    return (here, there) if here != there else (str(tuple(one)), str(tuple(other)))


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

    def initial_numbers(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Zeros."""
        return torch.zeros(shape)

    def extra_repr(self) -> str:
        """The sizes."""
        return self._size_repr()


class PrototypeSimilarity(nn.Module):
    """The cosine of the angle between x and each of as many learned prototypes as x has features.

    s_c(x) = <x, w_c> / (|x| |w_c| + 1e-8) over the channel axis, so every output is in [-1, 1]. The prototypes are
    initialised uniformly on +-1 / features. x is (N, C, *) or (C,); with replicas (replica, ...), each with its own
    prototypes.

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
        self.channels = check_count("channels", channels)
        self.replicas = None if replicas is None else check_count("replicas", replicas)
        self.channel_dim = check_axis(channel_dim)
        if dtype is not None:
            check_dtype(dtype)
        leading = () if self.replicas is None else (self.replicas,)
        self.prototypes = nn.Parameter(torch.empty(*leading, self.channels, self.channels, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self, generator: Generators = None) -> None:
        """Draw the prototypes, from one generator for all replicas or one per replica."""
        bound = 1 / self.channels
        with torch.no_grad():
            if generator is None or isinstance(generator, torch.Generator):
                self.prototypes.uniform_(-bound, bound, generator=generator)
                return
            if self.replicas is None or len(generator) != self.replicas:
                raise ValueError(must_be("generator", f"one, or one per replica ({self.replicas})", generator))
            for prototypes, each in zip(self.prototypes, generator, strict=True):
                prototypes.uniform_(-bound, bound, generator=each)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The similarities, in the shape of x."""
        check_tensor("x", x)
        if x.device != self.prototypes.device:
            raise ValueError(must_be("x", f"on {self.prototypes.device} like the prototypes", x.device))
        first = self.replicas is not None
        axis = find_axis(x.dim(), self.channel_dim, first)
        if axis is None or x.shape[axis] != self.channels:
            raise ValueError(must_be("x", f"of size {self.channels} at axis {self.channel_dim}", x.shape))
        if first and x.shape[0] != self.replicas:
            raise ValueError(must_be("x", f"({self.replicas}, ...) for the replicas", x.shape))
        rows = x.movedim(axis, -1)
        flat = rows.reshape(rows.shape[0], -1, self.channels) if first and rows.dim() != 3 else rows
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
    """x^3, elementwise.

    >>> Cubic()(torch.tensor([2.0]))
    tensor([8.])
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The third power of x."""
        return x * x * x
