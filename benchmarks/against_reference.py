"""The kernel that is chosen on this machine against the reference, at every size of `chebact bench ops`.

Run it on an idle machine: python benchmarks/against_reference.py [--case 128x64x16x16 ...]
Both take turns in one run; shown is how many times slower the reference is, forward and forward with backward, as a
ratio of medians. The reference needs degree + 1 numbers for every element: what would not fit into LIMIT is left out.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import torch

from chebact import ChebyshevLagrange, kernels
from chebact.lab.bench.ops import CASES, DEGREES, forward_call, training_call
from chebact.lab.bench.rows import parse_sizes
from chebact.lab.bench.timing import interleaved

LIMIT = 2**26  # elements times degree


def by(kernel: str, call: Callable[[], object]) -> Callable[[], object]:
    def wrapped() -> object:
        with kernels.use(kernel):
            return call()

    return wrapped


def measure(case: str, layout: str, degree: int) -> tuple[float, float]:
    """How many times slower the reference is: forward, and forward with backward."""
    shape = parse_sizes(case)
    x = torch.randn(shape)
    x = x.contiguous(memory_format=torch.channels_last) if layout == "channels_last" else x
    module, gradient = ChebyshevLagrange(shape[1], degree=degree, init="tanh"), torch.randn_like(x)
    x.requires_grad_()
    calls = {"forward": forward_call(module, x), "training": training_call(module, x, gradient)}
    found = interleaved({f"{k} {name}": by(k, call) for name, call in calls.items() for k in ("cpu", "reference")})
    forward_ratio, training_ratio = (found[f"reference {name}"].over(found[f"cpu {name}"]) for name in calls)
    return forward_ratio, training_ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="+", default=list(CASES), choices=list(CASES))
    least = float("inf")
    for case in parser.parse_args().case:
        for layout in ("nchw", "channels_last") if case.count("x") == 3 else ("nchw",):
            for degree in DEGREES:
                if math.prod(parse_sizes(case)) * degree > LIMIT:
                    continue
                ratios = measure(case, layout, degree)
                least = min(least, *ratios)
                print(f"{case:14} {layout:14} n = {degree:3}: {ratios[0]:6.1f} {ratios[1]:6.1f}", flush=True)
    print(f"the reference is slower everywhere, {least:.1f} times at least" if least > 1 else f"least {least:.2f}")


if __name__ == "__main__":
    main()
