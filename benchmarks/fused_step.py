"""The fused trainer against torch, the paper's algorithm and scikit-learn, as ratios with n and spread.

Contenders take turns in an order drawn anew for every round. Rows of one thread count processor time, which other load
on the machine disturbs less than time on the wall; rows of several threads count that on the wall, and want an idle
machine.

python benchmarks/fused_step.py [--rounds 7]
"""

from __future__ import annotations

import argparse
import os
import random
import time
import warnings
from collections.abc import Callable
from statistics import median, quantiles

import torch
from released_algorithm import ReleasedActivation
from torch import nn

from chebact.kernels.cpu.registers import native_lanes
from chebact.networks import ResidualMLP
from chebact.training import AdamW, Sgd, keep_freed_memory, squared_error, train_replicas_
from chebact.training.replicas import paper_sgd

REPLICAS, FEATURES, BATCH, STEPS = 144, 5, 32, 64
Times = dict[str, list[float]]


def times_of(
    contenders: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.process_time
) -> Times:
    """Seconds of each call, in turns; the first call of each is not counted."""
    for call in contenders.values():
        call()
    found: Times = {name: [] for name in contenders}
    order, shuffle = list(contenders), random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            start = clock()
            contenders[name]()
            found[name].append(clock() - start)
    return found


def show(title: str, times: Times, unit: float, per: dict[str, int] | None = None) -> None:
    """A line for each contender: the median, the quartiles, and how many times the first contender's median it is."""
    print(title)
    shares = {name: [each / (per or {}).get(name, 1) for each in own] for name, own in times.items()}
    first = median(next(iter(shares.values())))
    for name, own in shares.items():
        lower, middle, upper = (each * unit for each in quantiles(own, n=4))
        print(f"  {name:34} {middle:9.1f} ({lower:.1f} to {upper:.1f}, n = {len(own)})   x {median(own) / first:.2f}")


def training(
    name: str, replicas: int, trainer: str, steps: int = STEPS, lanes: int | None = None
) -> Callable[[], object]:
    """A training of so many steps of a replica; `lanes` asks for a width of the vectors."""
    x = torch.rand(BATCH * steps, FEATURES, generator=torch.Generator().manual_seed(0)) * 2 - 1
    y = torch.sin(3 * x.sum(1, keepdim=True))
    network = ResidualMLP.from_table(name, FEATURES, replicas)

    def run() -> object:
        if lanes is not None:
            os.environ["CHEBACT_LANES"] = str(lanes)
        try:
            options = {"epochs": 1, "optimizer": Sgd(lr=1e-4, momentum=0.9, weight_decay=1e-6), "trainer": trainer}
            return train_replicas_(network, x, y, order=range(replicas), **options)
        finally:
            os.environ.pop("CHEBACT_LANES", None)

    return run


def released(steps: int) -> Callable[[], object]:
    """Steps of the network alone with the paper's algorithm in place of chebact's activation."""
    network = ResidualMLP.from_table("relu", FEATURES)
    for parent in [*network.blocks, network]:
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.ReLU):
                setattr(parent, name, ReleasedActivation(32))
    optimizer = paper_sgd(list(network.parameters()), lr=1e-4)
    x, y = torch.rand(BATCH, FEATURES), torch.rand(BATCH, 1)

    def run() -> object:
        for _ in range(steps):
            optimizer.zero_grad()
            (network(x) - y).abs().mean().backward()
            optimizer.step()
        return network

    return run


def fit(replicas: int, activation: str = "cl-extrapolate") -> Callable[[], object]:
    """300 epochs on 1,000 points of 10 features, by the fused trainer."""
    x, y = table()

    def run() -> object:
        network = ResidualMLP.from_table(activation, 10, replicas)
        options = {"epochs": 300, "loss": squared_error, "optimizer": AdamW(), "trainer": "fused"}
        return train_replicas_(network, x, y, order=range(replicas), **options)

    return run


def fit_sklearn() -> object:
    """The same data, layers, batches and epochs by scikit-learn's MLPRegressor."""
    from sklearn.neural_network import MLPRegressor

    x, y = table()
    shape = {"hidden_layer_sizes": (32,) * 4, "batch_size": BATCH, "max_iter": 300, "n_iter_no_change": 300}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that 300 epochs were all
        return MLPRegressor(**shape).fit(x.numpy(), y.numpy().ravel())


def table() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(1000, 10, generator=torch.Generator().manual_seed(0)) * 2 - 1
    return x, torch.sin(x.sum(1, keepdim=True))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    keep_freed_memory()
    cores = torch.get_num_threads()
    torch.set_num_threads(1)
    print(f"{native_lanes()} lanes, {torch.backends.cpu.get_cpu_capability()}, {cores} threads")
    own = {f"fused, {name}": training(name, REPLICAS, "fused") for name in ("cl-extrapolate", "relu")}
    widths = [lanes for lanes in (8, 4) if lanes < native_lanes()]
    own |= {
        f"fused, cl-extrapolate, {n} lanes": training("cl-extrapolate", REPLICAS, "fused", STEPS, n) for n in widths
    }
    own |= {f"torch, {name}": training(name, REPLICAS, "torch") for name in ("cl-extrapolate", "relu")}
    own |= {"fused, one replica alone": training("cl-extrapolate", 1, "fused", 40 * STEPS)}
    own |= {"torch, one replica alone": training("cl-extrapolate", 1, "torch")}
    own |= {"the paper's algorithm, alone": released(8)}
    per = dict.fromkeys(own, REPLICAS * STEPS)
    per |= {
        "fused, one replica alone": 40 * STEPS,
        "torch, one replica alone": STEPS,
        "the paper's algorithm, alone": 8,
    }
    show(f"us of one core per replica and step, {REPLICAS} replicas", times_of(own, rounds), 1e6, per)
    fits = {"fused, cl-extrapolate": fit(1), "fused, relu": fit(1, "relu"), "scikit-learn": fit_sklearn}
    show("ms of one core for a fit of 1,000 x 10, 300 epochs", times_of(fits, rounds), 1e3)
    torch.set_num_threads(cores)
    ten = {f"fused, ten replicas, {cores} threads": fit(10), "scikit-learn, one model": fit_sklearn}
    show("ms on the wall for such a fit", times_of(ten, rounds, time.perf_counter), 1e3)


if __name__ == "__main__":
    main()
