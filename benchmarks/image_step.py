"""A training step of the paper's image network (CIFAR-10, batch 128): CL-extrapolate against ReLU, time and memory.

Run it on an idle machine: python benchmarks/image_step.py [--batch 128] [--rounds 15] [--json FILE]

Times: both networks live in one process and their steps are taken in turn, so that whatever else the machine does
meets both alike; medians, quartiles and n are shown, and the ratio is the median of the ratios of neighbours.
Memory: each network has a process of its own, whose peak resident memory during a step, less what was resident before
the network was made, is read from the system (Linux); beside it the bytes that autograd keeps from forward to backward.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

import chebact
from chebact.lab.images.network import ShakeShakeResNet
from chebact.training import keep_freed_memory

ACTIVATIONS = ("relu", "cl-extrapolate")
FORMS = {"NCHW": torch.contiguous_format, "channels_last": torch.channels_last}


def stepper(activation: str, form: str, batch: int) -> Callable[[], None]:
    """A function that makes one training step as `chebact run images --datasets cifar10` does."""
    generator = torch.Generator().manual_seed(0)
    network = ShakeShakeResNet(3, activation=activation, generator=generator).to(memory_format=FORMS[form])
    x = torch.rand(batch, 3, 32, 32, generator=generator).to(memory_format=FORMS[form])
    labels = torch.randint(10, (batch,), generator=generator)
    optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)

    def step() -> None:
        optimizer.zero_grad()
        torch.autograd.backward(cross_entropy(network(x), labels))
        optimizer.step()

    return step


def times(form: str, batch: int, rounds: int) -> dict[str, list[float]]:
    """The seconds of each step, the activations in turn, after two steps to warm up."""
    steps = {name: stepper(name, form, batch) for name in ACTIVATIONS}
    found: dict[str, list[float]] = {name: [] for name in ACTIVATIONS}
    for turn in range(rounds + 2):
        for name in ACTIVATIONS if turn % 2 else reversed(ACTIVATIONS):
            start = time.perf_counter()
            steps[name]()
            if turn >= 2:
                found[name].append(time.perf_counter() - start)
    return found


def memory_of(activation: str, form: str, batch: int) -> dict[str, float]:
    """Peak memory of a step in this process and bytes kept for backward, in MiB."""
    small = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), chebact.ChebyshevLagrange(8))
    torch.autograd.backward(small(torch.rand(2, 3, 8, 8)).sum())  # loads the libraries and the kernel, for both alike
    before = status("VmRSS")
    step = stepper(activation, form, batch)
    step()  # leaves momentum in place, as in every later step
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    step()
    peak = status("VmHWM") - before
    kept: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        step()
    return {"peak": peak, "kept": sum(kept.values()) / 2**20}


def status(entry: str) -> float:
    """A figure of /proc/self/status in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(entry)).split()[1]) / 1024


def in_own_process(activation: str, form: str, batch: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--memory-of", activation, form, "--batch", str(batch)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def show(form: str, batch: int, rounds: int, seconds: dict[str, list[float]] | None) -> dict[str, object]:
    row: dict[str, object] = {"layout": form, "batch": batch, "threads": torch.get_num_threads()}
    if seconds is not None:
        ratios = [b / a for a, b in zip(*(seconds[name] for name in ACTIVATIONS), strict=True)]
        for name in (*ACTIVATIONS, "ratio"):
            low, middle, high = statistics.quantiles(ratios if name == "ratio" else seconds[name], n=4)
            unit = "" if name == "ratio" else " s"
            print(
                f"{form:14} {name:15} {middle:.3f}{unit} (quartiles {low:.3f} to {high:.3f}, n = {rounds})", flush=True
            )
            row[name] = {"median": middle, "quartiles": [low, high], "n": rounds}
    memory = {name: in_own_process(name, form, batch) for name in ACTIVATIONS}
    for what in ("peak", "kept"):
        relu, learned = (memory[name][what] for name in ACTIVATIONS)
        print(
            f"{form:14} memory {what:8} ReLU {relu:.0f} MiB, CL {learned:.0f} MiB, ratio {learned / relu:.3f}",
            flush=True,
        )
        row[f"memory {what}"] = {"relu": relu, "cl-extrapolate": learned, "ratio": learned / relu}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--layouts", nargs="+", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--no-times", action="store_true", help="measure memory alone")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    keep_freed_memory()
    if asked.memory_of:
        print(json.dumps(memory_of(*asked.memory_of, asked.batch)))
        return
    rows = [
        show(form, asked.batch, asked.rounds, None if asked.no_times else times(form, asked.batch, asked.rounds))
        for form in asked.layouts
    ]
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
