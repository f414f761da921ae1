"""A linear layer with an optional leading replica axis: one weight matrix per replica, multiplied in one call."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from chebact.checks import must_be

__all__ = ["Generators", "ReplicaLinear"]

Generators = torch.Generator | Sequence[torch.Generator] | None


class ReplicaLinear(nn.Module):
    """`torch.nn.Linear`, and with `replicas=R` R of them side by side.

    Without replicas: x (..., in_features) -> (..., out_features), weight (out_features, in_features), bias
    (out_features,). With replicas: x (R, batch, in_features) -> (R, batch, out_features), weight (R, out_features,
    in_features), bias (R, out_features).

    Weight and bias are initialised like torch.nn.Linear, uniform on +-1/sqrt(fan_in), each replica from its own
    generator. `used_features` sets the number of columns that each replica uses: its bound follows from these, and the
    weights of the other columns are zero and stay zero while those columns of x are zero.

    >>> generators = [torch.Generator().manual_seed(seed) for seed in range(7)]
    >>> ReplicaLinear(3, 32, replicas=7, generator=generators)(torch.zeros(7, 10, 3)).shape
    torch.Size([7, 10, 32])
    """

    weight: Tensor
    bias: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        replicas: int | None = None,
        used_features: Sequence[int] | None = None,
        generator: Generators = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features, self.replicas = in_features, out_features, replicas
        self.used_features = check_used_features(used_features, in_features, replicas)
        leading = () if replicas is None else (replicas,)
        self.weight = nn.Parameter(torch.empty(*leading, out_features, in_features, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(*leading, out_features, device=device, dtype=dtype))
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: Generators = None) -> None:
        """Draw weight and bias again; with replicas, `generator` is a list with one generator per replica."""
        if self.replicas is None:
            if not isinstance(generator, torch.Generator | None):
                raise TypeError(must_be("generator", "one torch.Generator for a layer without replicas", generator))
            draw_like_torch_(self.weight, self.bias, self.in_features, generator)
            return
        generators = expand_generators(generator, self.replicas)
        used = self.used_features or [self.in_features] * self.replicas
        for replica, (columns, each) in enumerate(zip(used, generators, strict=True)):
            draw_like_torch_(self.weight[replica], self.bias[replica], columns, each)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply by the weight and add the bias, per replica."""
        if self.replicas is None:
            return nn.functional.linear(x, self.weight, self.bias)
        if x.ndim != 3 or x.shape[0] != self.replicas or x.shape[2] != self.in_features:
            raise ValueError(must_be("x", f"(replicas={self.replicas}, batch, {self.in_features})", x.shape))
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight.mT)

    def extra_repr(self) -> str:
        """The sizes, for printing."""
        return f"{self.in_features}, {self.out_features}, replicas={self.replicas}"


def check_used_features(used: Sequence[int] | None, in_features: int, replicas: int | None) -> list[int] | None:
    if used is None:
        return None
    if replicas is None or len(used) != replicas:
        raise ValueError(must_be("used_features", f"one count per replica ({replicas})", used))
    if not all(1 <= count <= in_features for count in used):
        raise ValueError(must_be("used_features", f"counts between 1 and {in_features}", used))
    return list(used)


def expand_generators(generator: Generators, replicas: int) -> Sequence[torch.Generator | None]:
    """One generator per replica; None is torch's global generator."""
    if generator is None:
        return [None] * replicas
    if isinstance(generator, torch.Generator) or len(generator) != replicas:
        count = "one torch.Generator" if isinstance(generator, torch.Generator) else f"a list of {len(generator)}"
        raise ValueError(f"generator must be a list with one generator per replica ({replicas}), got {count}")
    return generator


def draw_like_torch_(weight: Tensor, bias: Tensor, columns: int, generator: torch.Generator | None) -> None:
    """Fill weight (out, in) and bias (out,) in the order and with the bounds of torch.nn.Linear of `columns` inputs."""
    drawn = torch.empty(weight.shape[0], columns, device=weight.device, dtype=weight.dtype)
    nn.init.kaiming_uniform_(drawn, a=math.sqrt(5), generator=generator)
    weight.zero_()
    weight[:, :columns] = drawn
    nn.init.uniform_(bias, -1 / math.sqrt(columns), 1 / math.sqrt(columns), generator=generator)
