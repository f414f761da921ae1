"""Time of a model whose activations were replaced against the same model edited by hand: python benchmarks/replaced.py

Both have the same curves, so all that can differ is how they are called. Rounds alternate; the number is the median of
the ratios of neighbours, with the quartiles. `--compiled` measures both under torch.compile too.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

import chebact


class Given(nn.Module):
    """Functions in forward, one of them in a loop over layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """A small network."""
        x = functional.relu(self.first(x))
        for layer in self.layers:
            x = x + torch.relu(layer(x))
        return x.relu()


class Edited(Given):
    """The same, edited by hand."""

    def __init__(self, width: int, build: Callable[[int], nn.Module]) -> None:
        super().__init__(width)
        self.relu, self.last = build(width), build(width)
        self.acts = nn.ModuleList(build(width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """Modules in place of functions."""
        x = self.relu(self.first(x))
        for layer, act in zip(self.layers, self.acts, strict=True):
            x = x + act(layer(x))
        result: Tensor = self.last(x)
        return result


def build(width: int) -> nn.Module:
    """The activation of both."""
    return chebact.ChebyshevLagrange(width, init="relu")


def step(model: nn.Module, x: Tensor) -> float:
    """The time of a forward and a backward pass."""
    start = time.perf_counter()
    model(x).square().mean().backward()
    return time.perf_counter() - start


def compare(pair: tuple[nn.Module, nn.Module], x: Tensor, rounds: int) -> str:
    """The ratios of neighbouring rounds."""
    for model in pair * 5:
        step(model, x)
    ratios = []
    for k in range(rounds):
        ours, theirs = (step(model, x) for model in (pair if k % 2 else pair[::-1]))
        ratios.append(ours / theirs if k % 2 else theirs / ours)
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| rows x width | eager |" + (" compiled |" if options.compiled else ""))
    for rows, width in ((16, 16), (64, 128), (1024, 256)):
        x, edited = torch.randn(rows, width), Edited(width, build)
        replaced = chebact.replace_activations(Given(width), x, with_=build).model
        replaced.load_state_dict(edited.state_dict(), strict=False)
        cells = [compare((replaced, edited), x, options.rounds)]
        if options.compiled:
            fast = torch.compile(replaced, fullgraph=True), torch.compile(edited, fullgraph=True)
            cells.append(compare((fast[0], fast[1]), x, options.rounds))
        print(f"| {rows} x {width} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
