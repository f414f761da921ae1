"""A linear layer that may carry a leading replica axis: one weight matrix per replica, all multiplied in one call."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["Generators", "ReplicaLinear"]

Generators = torch.Generator | Sequence[torch.Generator] | None


class ReplicaLinear(nn.Module):
    """`torch.nn.Linear`, and with `replicas=R` R of them side by side.

    Without replicas: x (..., in_features) -> (..., out_features), weight (out_features, in_features), bias
    (out_features,). With replicas: x (R, batch, in_features) -> (R, batch, out_features), weight (R, out_features,
    in_features), bias (R, out_features).

    The start is torch.nn.Linear's own: weight and bias uniform on +-1/sqrt(fan_in), each replica from its own
    generator. `used_features` gives a replica fewer columns than the widest: its bound is that of the columns it uses
    and the weights of the others are zero, where they stay as long as those columns of x are zero.

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
        self.used_features = checked_use(used_features, in_features, replicas)
        leading = () if replicas is None else (replicas,)
        self.weight = nn.Parameter(torch.empty(*leading, out_features, in_features, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(*leading, out_features, device=device, dtype=dtype))
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: Generators = None) -> None:
        """Draw weight and bias again; with replicas, `generator` is a list with one generator per replica."""
        if self.replicas is None:
            if not isinstance(generator, torch.Generator | None):
                raise TypeError("a layer without replicas wants one generator; got several")
            draw_like_torch_(self.weight, self.bias, self.in_features, generator)
            return
        own = generators_of(generator, self.replicas)
        use = self.used_features or [self.in_features] * self.replicas
        for replica, (columns, each) in enumerate(zip(use, own, strict=True)):
            draw_like_torch_(self.weight[replica], self.bias[replica], columns, each)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply and add the bias, each replica its own."""
        if self.replicas is None:
            return nn.functional.linear(x, self.weight, self.bias)
        if x.ndim != 3 or x.shape[0] != self.replicas or x.shape[2] != self.in_features:
            wanted = f"(replicas={self.replicas}, batch, {self.in_features})"
            raise ValueError(f"x must have the shape {wanted}; got {tuple(x.shape)}")
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight.mT)

    def extra_repr(self) -> str:
        """The sizes, for printing."""
        return f"{self.in_features}, {self.out_features}, replicas={self.replicas}"


def checked_use(used: Sequence[int] | None, in_features: int, replicas: int | None) -> list[int] | None:
    if used is None:
        return None
    if replicas is None or len(used) != replicas:
        raise ValueError(f"used_features wants one count a replica ({replicas}); got {len(used)}")
    if not all(1 <= count <= in_features for count in used):
        raise ValueError(f"used_features must lie in 1...{in_features}; got {list(used)}")
    return list(used)


def generators_of(generator: Generators, replicas: int) -> Sequence[torch.Generator | None]:
    """One generator a replica; None stands for torch's global one."""
    if generator is None:
        return [None] * replicas
    if isinstance(generator, torch.Generator) or len(generator) != replicas:
        count = 1 if isinstance(generator, torch.Generator) else len(generator)
        raise ValueError(f"generator must be a list with one generator per replica ({replicas}); got {count}")
    return generator


def draw_like_torch_(weight: Tensor, bias: Tensor, columns: int, generator: torch.Generator | None) -> None:
    """Fill weight (out, in) and bias (out,) in the order and with the bounds of torch.nn.Linear of `columns` inputs."""
    drawn = torch.empty(weight.shape[0], columns, device=weight.device, dtype=weight.dtype)
    nn.init.kaiming_uniform_(drawn, a=math.sqrt(5), generator=generator)
    weight.zero_()
    weight[:, :columns] = drawn
    nn.init.uniform_(bias, -1 / math.sqrt(columns), 1 / math.sqrt(columns), generator=generator)
