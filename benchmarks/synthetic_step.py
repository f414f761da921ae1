"""The time of a training step of the synthetic network (batch 32), a replica: batched, alone, by the paper's algorithm.

Run it on an idle machine: python benchmarks/synthetic_step.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from released_algorithm import ReleasedActivation
from torch import nn

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


def median_time(step: Callable[[], None], seconds: float = 3.0) -> float:
    """The median time of a step, after a warm-up."""
    for _ in range(20):
        step()
    times, end = [], time.perf_counter() + seconds
    with frozen_garbage():
        while time.perf_counter() < end or len(times) < 20:
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


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


def main() -> None:
    keep_freed_memory()
    cores = torch.get_num_threads()
    torch.set_num_threads(1)
    single = {name: median_time(alone(name)) for name in ("relu", "cl-extrapolate")}
    theirs = median_time(released())
    print("one replica alone, one thread, a step:")
    print(f"  ReLU {single['relu'] * 1e3:.3f} ms, CL-extrapolate {single['cl-extrapolate'] * 1e3:.3f} ms", end="")
    print(f" ({single['cl-extrapolate'] / single['relu']:.2f} times), the paper's algorithm {theirs * 1e3:.3f} ms")
    for threads in dict.fromkeys((1, cores)):
        torch.set_num_threads(threads)
        print(f"{REPLICAS} replicas in one batch, {threads} threads, a step and replica:")
        for name in ARCHITECTURES:
            ours = median_time(batched(name), 2.0) / REPLICAS
            times = (
                f", {theirs / ours:.0f} times faster than the paper's algorithm alone"
                if name == "cl-extrapolate"
                else ""
            )
            print(f"  {name:15} {ours * 1e6:6.1f} us{times}")


if __name__ == "__main__":
    main()
