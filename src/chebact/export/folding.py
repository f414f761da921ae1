"""`fold_`: learned activations as constants, in the cheapest exact form for inference."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from chebact.basis import Basis
from chebact.channels import find_axis
from chebact.functional import apply_basis
from chebact.kernels.reference import broadcast
from chebact.learned import LearnedActivation
from chebact.torch_modes import MadeAgain, stored_buffer

__all__ = ["SERIES_DEGREE", "FoldedActivation", "fold_"]

SERIES_DEGREE = 16  # up to here a Chebyshev series in float32 has the error of the barycentric form, and no division


class FoldedActivation(MadeAgain):
    """What a learned activation has become: it learns no more, and its graph is a polynomial and three clamps.

    Called, it runs the kernel that the learned one ran, without keeping anything for a derivative of the heights. In a
    graph (torch.export, ONNX, torch.jit.trace) it is Horner's rule up to degree 3 and Clenshaw's up to degree 16, on
    numbers that were computed when it was folded; with tails="none" that is additions and products alone. Above
    degree 16 the graph stays that of the learned activation. Shapes as there.

    >>> from chebact import ChebyshevLagrange
    >>> FoldedActivation(ChebyshevLagrange(4))
    FoldedActivation(4, degree=3, tails='extrapolate')
    """

    heights: Tensor
    numbers: Tensor

    def __init__(self, learned: LearnedActivation) -> None:
        super().__init__()
        if not learned.is_materialized:
            raise ValueError(
                "model must have been called before it is folded, got an activation whose channels are not known; call "
                "chebact.materialize(model, example) first"
            )
        self.basis, self.channel_dim, self.name = learned.basis, learned.channel_dim, learned.parameter_name
        self.channels, self.replicas = learned.channels, learned.replicas
        heights = learned.learned.detach()
        if learned.groups is not None and learned.groups > 1 and learned.channels is not None:
            heights = heights.repeat_interleave(learned.channels // learned.groups, dim=-2)
        self.register_buffer("heights", heights.clone().contiguous())
        self.make_again()

    def make_again(self) -> None:
        """The numbers of the heights, float64 for float64 and float32 for all else: they are not rounded or widened."""
        heights = self.heights
        kept = torch.float64 if heights.dtype == torch.float64 else torch.float32
        for name, number in zip(_names(self.basis), _numbers(self.basis, heights), strict=True):
            self.register_buffer(name, number.to(kept))

    def forward(self, x: Tensor) -> Tensor:
        """The activation of x."""
        heights, short = stored_buffer(self, "heights"), self._short if self.basis.degree <= SERIES_DEGREE else None
        return apply_basis(x, heights, self.basis, self.channel_dim, self.name, short=short)

    def _short(self, x: Tensor) -> Tensor:
        basis, dtype = self.basis, torch.promote_types(x.dtype, torch.float32)
        (left, right), numbers = basis.interval, self._shaped(x)
        wide = x.to(dtype) if x.dtype != dtype else x
        inside = _polynomial(wide.clamp(left, right) if basis.has_tails else wide, numbers, basis)
        if basis.has_tails:
            inside = inside + numbers[-2] * wide.clamp(max=left) + numbers[-1] * wide.clamp(min=right)
        return inside.to(x.dtype) if x.dtype != dtype else inside

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


def _names(basis: Basis) -> list[str]:
    """The buffers: coefficients from the constant up, and the slopes of both lines."""
    if basis.degree > SERIES_DEGREE:
        return []
    return [f"c{k}" for k in range(basis.degree + 1)] + (["left_slope", "right_slope"] if basis.has_tails else [])


def _numbers(basis: Basis, heights: Tensor) -> list[Tensor]:
    """The numbers of those names, float64: (row,) each, or (replica, row)."""
    if basis.degree > SERIES_DEGREE:
        return []
    rows = basis.power_pieces[: basis.degree + 1] if basis.by_powers else basis.series
    numbers = list(rows)
    if basis.has_tails:  # what a line starts with, slope times end, is taken off the constant
        left, right = basis.pieces[-3], basis.pieces[-1]
        numbers = [rows[0] - left * basis.interval[0] - right * basis.interval[1], *rows[1:], left, right]
    if heights.is_meta:
        return [heights.new_empty(heights.shape[:-1], dtype=torch.float64) for _ in numbers]
    wide = heights.double().cpu()
    return [(wide @ torch.from_numpy(row)).to(heights.device) for row in numbers]


def _polynomial(x: Tensor, numbers: list[Tensor], basis: Basis) -> Tensor:
    """Horner's rule in powers, Clenshaw's on a series; the argument is moved and scaled only where it has to be."""
    degree = basis.degree
    if basis.by_powers:
        middle, scale = basis.middle_and_scale
        u, total = _moved(x, middle, scale), numbers[degree]
        for k in range(degree - 1, -1, -1):
            total = total * u + numbers[k]
        return total
    a, b = basis.interval
    t = _moved(x, (a + b) / 2, 2 / (b - a))
    double, one, two = t * 2.0, numbers[degree], torch.zeros_like(numbers[degree])
    for k in range(degree - 1, 0, -1):
        one, two = one * double + two + numbers[k], one * -1.0
    return one * t + two + numbers[0]


def _moved(x: Tensor, middle: float, scale: float) -> Tensor:
    moved = x + (-middle) if middle else x
    return moved * scale if scale != 1.0 else moved


def fold_(model: nn.Module) -> nn.Module:
    """Turn every learned activation of a model into its `FoldedActivation`, in place; returns the model.

    The outputs stay, to the rounding of the type, for every finite x. Nothing can be learned afterwards: fold a copy
    where the training goes on. A model that is itself a learned activation is returned folded.

    >>> from chebact import ChebyshevLagrange
    >>> fold_(nn.Sequential(nn.Linear(2, 4), ChebyshevLagrange(4)))[1]
    FoldedActivation(4, degree=3, tails='extrapolate')
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if isinstance(model, LearnedActivation):
        return FoldedActivation(model).train(model.training)
    places = dict(model.named_modules(remove_duplicate=False))
    learned = {name: part for name, part in places.items() if isinstance(part, LearnedActivation)}
    if not learned:
        raise ValueError("model must have a learned activation, got none, so there is nothing to fold")
    folded = {id(part): FoldedActivation(part).train(part.training) for part in learned.values()}
    for name, part in learned.items():
        above, _, own = name.rpartition(".")
        setattr(places[above], own, folded[id(part)])
    return model
