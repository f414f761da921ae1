"""Inside torch.compile: the activation as one call in the graph, against its formula inlined and fused.

Run it on an idle machine with a C++ compiler: python benchmarks/compiled.py
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from chebact import ChebyshevLagrange
from chebact.functional import make_basis
from chebact.lab.bench.timing import interleaved

SHAPES = ((32, 32), (256, 256), (128, 64, 16, 16))


class Inlined(nn.Module):
    """The formula at degree 3 in as few plain operations as there are: the compiler fuses them with their neighbours.

    It does less than the library promises: at a node the height may be off by a rounding.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.randn(channels, 4))
        self.register_buffer("matrix", torch.from_numpy(make_basis(3).power_pieces.T).float())

    def forward(self, x: Tensor) -> Tensor:
        t = (self.values @ self.matrix).T.reshape(10, -1, *[1] * (x.ndim - 2))
        c = x.clamp(-1, 1)
        beyond = x - c
        inside = t[0] + c * (t[1] + c * (t[2] + c * t[3]))
        return inside + t[5] * beyond.clamp(max=0) + t[7] * beyond.clamp(min=0)


class Between(nn.Module):
    """An activation between two elementwise operations, so that there is something to fuse with."""

    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(x * 1.5 + 0.25) * 0.5


def training(module: nn.Module, x: Tensor, grad: Tensor) -> Callable[[], object]:
    inputs = [x, *module.parameters()]
    return lambda: torch.autograd.grad(module(x), inputs, grad)


def main() -> None:
    for shape in SHAPES:
        torch.compiler.reset()
        x, grad = torch.randn(shape, requires_grad=True), torch.randn(shape)
        called, inlined = ChebyshevLagrange(shape[1]), Inlined(shape[1])
        called.load_state_dict({"heights": inlined.values}, strict=False)
        torch.testing.assert_close(called(x), inlined(x), rtol=1e-5, atol=1e-5)
        modules: dict[str, nn.Module] = {"relu": nn.ReLU(), "one call": called, "inlined": inlined}
        for where, around in (("alone", nn.Sequential), ("between two elementwise operations", Between)):
            calls = {
                name: training(torch.compile(around(module), fullgraph=True), x, grad)
                for name, module in modules.items()
            }
            found = interleaved(calls, budget=10)
            print(f"{'x'.join(map(str, shape))}, forward and backward, compiled, {where}:")
            for name, timing in found.items():
                spread = f"{timing.lower * 1e6:.0f} to {timing.upper * 1e6:.0f}, n = {timing.rounds}"
                print(f"  {name:10} {timing.seconds * 1e6:9.0f} us ({spread}), {timing.over(found['relu']):.2f} x relu")


if __name__ == "__main__":
    main()
