"""The time of a training step of the synthetic network (batch 32), a replica: batched, alone, by the paper's algorithm.

Run it on an idle machine: python benchmarks/synthetic_step.py
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from released_algorithm import ReleasedActivation
from torch import nn

from chebact.lab.bench.timing import Timing, interleaved
from chebact.networks import ARCHITECTURES, ResidualMLP
from chebact.training import keep_freed_memory
from chebact.training.memory import frozen_garbage
from chebact.training.replicas import absolute_error, paper_sgd

REPLICAS, FEATURES, BATCH = 144, 5, 32


def stepper(network: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Callable[[], None]:
    """A function that makes one training step."""
    optimizer = paper_sgd(list(network.parameters()))

    def step() -> None:
        optimizer.zero_grad()
        prediction = network(x)
        loss = absolute_error(prediction, y) if x.ndim == 3 else (prediction - y).abs().mean()
        torch.autograd.backward(loss.sum())
        optimizer.step()

    return step


def batched(name: str) -> Callable[[], None]:
    x, y = torch.rand(REPLICAS, BATCH, FEATURES), torch.rand(REPLICAS, BATCH, 1)
    return stepper(ResidualMLP.from_table(name, FEATURES, REPLICAS), x, y)


def alone(name: str) -> Callable[[], None]:
    return stepper(ResidualMLP.from_table(name, FEATURES), torch.rand(BATCH, FEATURES), torch.rand(BATCH, 1))


def released() -> Callable[[], None]:
    """The network of CL-extrapolate, alone, with the paper's algorithm in place of chebact's activation."""
    network = ResidualMLP.from_table("relu", FEATURES)
    for parent in [*network.blocks, network]:
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.ReLU):
                setattr(parent, name, ReleasedActivation(32))
    return stepper(network, torch.rand(BATCH, FEATURES), torch.rand(BATCH, 1))


def told(name: str, timing: Timing, replicas: int = 1) -> str:
    """One line: the median and the quartiles a replica."""
    median, lower, upper = (1e6 * each / replicas for each in (timing.seconds, timing.lower, timing.upper))
    return f"  {name:18} {median:8.1f} us ({lower:.1f} to {upper:.1f}, n = {timing.rounds})"


def main() -> None:
    keep_freed_memory()
    cores = torch.get_num_threads()
    torch.set_num_threads(1)
    with frozen_garbage():
        contenders = {
            "ReLU": alone("relu"),
            "CL-extrapolate": alone("cl-extrapolate"),
            "paper's algorithm": released(),
            "batched": batched("cl-extrapolate"),
        }
        found = interleaved(contenders, budget=20)
        together = found.pop("batched")
        print("one replica alone, one thread, a step:")
        for name, timing in found.items():
            print(told(name, timing))
        print(f"  CL-extrapolate against ReLU: {found['CL-extrapolate'].over(found['ReLU']):.2f}")
        print(f"{REPLICAS} replicas in one batch, one thread, in the same turns, a step and replica:")
        print(told("CL-extrapolate", together, REPLICAS))
        faster = REPLICAS * found["paper's algorithm"].over(together)
        print(f"  against the paper's algorithm alone: {faster:.0f} times faster a core")
        for threads in dict.fromkeys((1, cores)):
            torch.set_num_threads(threads)
            print(f"{REPLICAS} replicas in one batch, {threads} threads, a step and replica:")
            for name, timing in interleaved({name: batched(name) for name in ARCHITECTURES}, budget=10).items():
                print(told(name, timing, REPLICAS))


if __name__ == "__main__":
    main()
