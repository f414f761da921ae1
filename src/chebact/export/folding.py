"""`fold_`: learned activations as constants, in the cheapest exact form for inference."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from chebact.basis import LEFT_SLOPE, RIGHT_SLOPE, Basis
from chebact.channels import find_axis
from chebact.checks import check_module
from chebact.functional import apply_basis
from chebact.kernels.reference import broadcast
from chebact.kernels.scaling import numpy_type
from chebact.learned import FOLDED_NAME, LearnedActivation, add_once
from chebact.torch_modes import MadeAgain, share_hooks, stored_buffer, stored_parameter

__all__ = ["SERIES_DEGREE", "FoldedActivation", "coefficients_of", "fold_", "has_own_forward", "position_of"]

SERIES_DEGREE = 16  # up to here a Chebyshev series in float32 is within 1e-5 of the largest height, without a division
ROUNDED_DEGREE = 12  # the same where the position in the interval is rounded: slopes at the ends grow with degree^2;
# without tails the short graph serves to degree 16 there too, within 2e-5, for converters that know + and * alone
_LEARNED_STATE = (
    "the state must be that of a folded model, got that of a model before fold_; load it before you call chebact.fold_"
)


class FoldedActivation(MadeAgain):
    """What a learned activation has become: it learns no more, and its graph is a polynomial and three clamps.

    Called, it runs the kernel that the learned one ran, without keeping anything for a derivative of the heights. In a
    graph (torch.export, ONNX, torch.jit.trace) it is Horner's rule up to degree 3 and Clenshaw's up to degree 16 (12 on
    intervals where the position of x has to be rounded), on numbers that were computed when it was folded; with
    tails="none" that is additions and products alone. Above, the graph stays that of the learned activation. In
    float32 the short graph is within 1e-5 of the largest height, tested on seven intervals (2e-5 at degrees 13 to 16
    with tails="none" where the position is rounded). Hooks come along. Shapes as there.

    >>> from chebact import ChebyshevLagrange
    >>> FoldedActivation(ChebyshevLagrange(4))
    FoldedActivation(4, degree=3, tails='extrapolate')
    """

    heights: Tensor
    numbers: Tensor

    def __init__(self, learned: LearnedActivation, name: str = "the activation") -> None:
        super().__init__()
        _check(learned, name)
        share_hooks(learned, self)
        self.basis, self.channel_dim, self.name = learned.basis, learned.channel_dim, learned.parameter_name
        self.channels, self.replicas = learned.channels, learned.replicas
        heights = learned.learned.detach()
        if learned.groups is not None and learned.groups > 1 and learned.channels is not None:
            heights = heights.repeat_interleave(learned.channels // learned.groups, dim=-2)
        self.register_buffer("heights", heights.clone().contiguous())
        self.make_again()

    def make_again(self) -> None:
        """The numbers of the heights, float64 for float64 and float32 for all else: they are not rounded or widened."""
        heights, self.is_short = self.heights, _has_short_graph(self.basis)
        self.positions = {dtype: position_of(self.basis, dtype) for dtype in (torch.float32, torch.float64)}
        kept = torch.float64 if heights.dtype == torch.float64 else torch.float32
        for name, number in zip(_names(self.basis), _numbers(self.basis, heights), strict=True):
            self.register_buffer(name, number.to(kept))

    def forward(self, x: Tensor) -> Tensor:
        """The activation of x."""
        heights, short = stored_buffer(self, "heights"), self._short if self.is_short else None
        return apply_basis(x, heights, self.basis, self.channel_dim, self.name, short=short)

    def _short(self, x: Tensor) -> Tensor:
        basis, dtype = self.basis, torch.promote_types(x.dtype, torch.float32)
        numbers, position = self._shaped(x), self.positions[dtype]
        u = position.find(x.to(dtype) if x.dtype != dtype else x)
        near = u.clamp(position.left, position.right) if basis.has_tails else u
        result = _polynomial(near, numbers, basis)
        if basis.has_tails and basis.by_powers:
            low, high = u.clamp(max=position.left), u.clamp(min=position.right)
            result = result + numbers[-2] * low + numbers[-1] * high
        elif basis.has_tails:
            beyond = u - near
            result = result + numbers[-2] * beyond.clamp(max=0.0) + numbers[-1] * beyond.clamp(min=0.0)
        return result.to(x.dtype) if x.dtype != dtype else result

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        strict, errors = args[1], args[-1]
        learned = prefix + self.name in state_dict and prefix + FOLDED_NAME not in state_dict
        if strict and self.is_short and learned:
            add_once(errors, _LEARNED_STATE)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _shaped(self, x: Tensor) -> list[Tensor]:
        """The numbers, each shaped to broadcast against x."""
        numbers: list[Tensor] = [getattr(self, name) for name in _names(self.basis)]
        replicated = self.replicas is not None
        axis = find_axis(x.dim(), self.channel_dim, replicated)
        if axis is None or (axis == x.dim() - 1 and not replicated):
            return numbers
        return [broadcast(x, number.unsqueeze(-1), axis, replicated).squeeze(-1) for number in numbers]

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.channels}, degree={self.basis.degree}, tails={self.basis.tails!r}"


def _check(learned: LearnedActivation, name: str) -> None:
    """What would not stay the same function is an error."""
    if not learned.is_materialized:
        raise ValueError(
            f"model must have been called before it is folded, got {name}, whose channels are not known; call "
            "chebact.materialize(model, example) first"
        )
    if has_own_forward(learned, LearnedActivation):
        raise ValueError(
            f"{name} must have the forward method of chebact to be folded, got that of {type(learned).__name__}; make "
            "it a module that contains a ChebyshevLagrange and calls it, and that one folds"
        )
    stored = stored_parameter(learned, learned.parameter_name) is not None
    if not stored and not parametrize.is_parametrized(learned, learned.parameter_name):
        raise ValueError(
            f"{name}.{learned.parameter_name} must be a parameter to be folded, got a tensor that a hook computes; "
            f"first call torch.nn.utils.prune.remove(activation, {learned.parameter_name!r}), or what removes that hook"
        )


def has_own_forward(part: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a module of that kind computes something else: by its class, or by itself."""
    return type(part).forward is not kind.forward or "forward" in vars(part)


def _has_short_graph(basis: Basis) -> bool:
    """Whether the graph is short: see `SERIES_DEGREE` and `ROUNDED_DEGREE`."""
    (a, b), (fraction, _) = basis.interval, math.frexp(basis.interval[1] - basis.interval[0])
    middle = (a + b) / 2
    near = middle == 0.0 or (a * b > 0 and max(abs(a), abs(b)) <= 2 * min(abs(a), abs(b)))  # then x - middle is exact
    exact = fraction == 0.5 and near and float(numpy.float32(middle)) == middle
    return basis.degree <= (SERIES_DEGREE if exact or not basis.has_tails else ROUNDED_DEGREE)


def _names(basis: Basis) -> list[str]:
    """The buffers: coefficients from the constant up, and the slopes of both lines."""
    if not _has_short_graph(basis):
        return []
    return [f"c{k}" for k in range(basis.degree + 1)] + (["left_slope", "right_slope"] if basis.has_tails else [])


def _numbers(basis: Basis, heights: Tensor) -> list[Tensor]:
    """The numbers of those names, float64: (row,) each, or (replica, row); slopes are per unit of the position."""
    if not _has_short_graph(basis):
        return []
    rows = coefficients_of(basis)
    if basis.has_tails:
        position = position_of(basis, torch.float64)
        left, right = (basis.pieces[row] / position.scale for row in (LEFT_SLOPE, RIGHT_SLOPE))
        if basis.by_powers:  # what a line starts with, slope times end, is taken off the constant: small up to degree 3
            rows[0] = rows[0] - left * position.left - right * position.right
        rows += [left, right]
    if heights.is_meta:
        return [heights.new_empty(heights.shape[:-1], dtype=torch.float64) for _ in rows]
    wide = heights.double().cpu()
    return [(wide @ torch.from_numpy(row)).to(heights.device) for row in rows]


class Position(NamedTuple):
    """Where x is in the interval: u = ((x - high) - low) scale, with the ends at `left` and `right`, of about -1 and 1.

    The middle has two parts, so that an interval far from 0 keeps its digits. `scale` is a power of two for powers.
    """

    high: float
    low: float
    scale: float
    left: float
    right: float
    bound: float | None

    def find(self, x: Tensor) -> Tensor:
        """The position of x, in as few operations as these numbers need."""
        for part in (self.high, self.low):
            x = x + (-part) if part else x
        x = x * self.scale if self.scale != 1.0 else x
        return x if self.bound is None else x.clamp(-self.bound, self.bound)


def position_of(basis: Basis, dtype: torch.dtype) -> Position:
    """The position for tensors of that type; rounded to infinity a flat line would give NaN, so that has a bound."""
    (a, b), kind = basis.interval, numpy_type(dtype)
    if basis.by_powers:
        centre, scale = basis.middle_and_scale
        middle, ends = Fraction(centre), ((a - centre) * scale, (b - centre) * scale)
    else:
        middle, scale, ends = (Fraction(a) + Fraction(b)) / 2, 2 / (b - a), (-1.0, 1.0)
    with numpy.errstate(over="ignore"):
        high = float(kind(float(middle)))
    low = float(kind(float(middle - Fraction(high)))) if math.isfinite(high) else 0.0
    bound = float(numpy.finfo(kind).max) if scale > 1.0 and basis.has_tails else None
    return Position(high, low, scale, *ends, bound)


def coefficients_of(basis: Basis) -> list[Any]:
    """The rows that map heights to coefficients in that position: of its powers from the constant up, or of T_k."""
    return list(basis.power_pieces[: basis.degree + 1] if basis.by_powers else basis.series)


def _polynomial(u: Tensor, numbers: list[Tensor], basis: Basis) -> Tensor:
    """Horner's rule in powers, Clenshaw's on a series."""
    degree = basis.degree
    if basis.by_powers:
        total = numbers[degree]
        for k in range(degree - 1, -1, -1):
            total = total * u + numbers[k]
        return total
    double, one, two = u * 2.0, numbers[degree], torch.zeros_like(numbers[degree])
    for k in range(degree - 1, 0, -1):
        one, two = one * double + two + numbers[k], one * -1.0
    return one * u + two + numbers[0]


def fold_(model: nn.Module) -> nn.Module:
    """Turn every learned activation of a model into its `FoldedActivation`, in place; returns the model.

    The outputs stay, to the rounding of the type, for every finite x. Nothing can be learned afterwards: fold a copy
    where the training goes on. A model that is itself a learned activation is returned folded. Hooks are kept; an
    activation with a forward method of its own is an error, and then nothing is changed.

    >>> from chebact import ChebyshevLagrange
    >>> fold_(nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4)))[1]
    FoldedActivation(4, degree=3, tails='extrapolate')
    """
    check_module("model", model)
    if isinstance(model, LearnedActivation):
        return FoldedActivation(model).train(model.training)
    places = dict(model.named_modules(remove_duplicate=False))
    learned = {name: part for name, part in places.items() if isinstance(part, LearnedActivation)}
    if not learned:
        raise ValueError("model must have a learned activation, got none, so there is nothing to fold")
    folded = {id(part): FoldedActivation(part, name).train(part.training) for name, part in learned.items()}
    for name, part in learned.items():
        above, _, own = name.rpartition(".")
        setattr(places[above], own, folded[id(part)])
    return model
