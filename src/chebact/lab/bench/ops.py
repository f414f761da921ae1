"""One activation against another: forward, forward and backward, and the bytes kept between the two."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from chebact import kernels
from chebact.activations import ChebyshevLagrange
from chebact.checks import Tails
from chebact.lab.bench.rows import Row, parse_sizes
from chebact.lab.bench.timing import Timing, interleaved, kept_bytes

CASES = ("32x32", "256x256", "128x32x16x16", "128x64x16x16", "128x64x32x32")
DEGREES = (3, 5, 10, 30, 100)
PAPER_LIMIT = 2**22  # elements: above, the paper's algorithm requires more memory than a small machine has


@dataclass(frozen=True)
class Contender:
    """An activation by name; `build` makes it for a number of channels. `degree` is None if it has none."""

    name: str
    degree: int | None
    build: Callable[[int], nn.Module]
    only_below: int | None = None


def contenders(extra: list[Contender] | None = None) -> list[Contender]:
    """The activations that are compared, relu first."""
    rows = [
        Contender("relu", None, lambda channels: nn.ReLU()),
        Contender("prelu", None, lambda channels: nn.PReLU(channels)),
        Contender("gelu", None, lambda channels: nn.GELU()),
        Contender("silu", None, lambda channels: nn.SiLU()),
        Contender("tanh", None, lambda channels: nn.Tanh()),
    ]
    rows += [Contender("cl-extrapolate", degree, lagrange(degree, "extrapolate")) for degree in DEGREES]
    rows.append(Contender("cl-regression", 3, lagrange(3, "regression")))
    paper = paper_modules()
    if paper is not None:
        rows.append(Contender("paper-algorithm", 3, paper.ReleasedActivation, only_below=PAPER_LIMIT))
    return rows + (extra or [])


def measure(
    cases: tuple[str, ...] = CASES,
    rows: list[Contender] | None = None,
    *,
    budget: float = 4.0,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Row]:
    """The rows of every case and layout, after the kernels were compared with the reference there."""
    for case in cases:
        shape = parse_sizes(case)
        for layout in ("nchw", "channels_last") if len(shape) == 4 else ("nchw",):
            tell(f"{case} {layout}")
            x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
            if layout == "channels_last":
                x = x.contiguous(memory_format=torch.channels_last)
            check_against_reference(x)
            yield from _measure_case(case, layout, x, rows or contenders(), budget)


def check_against_reference(x: torch.Tensor) -> None:
    """Raise RuntimeError if a kernel and the reference differ on this tensor: a wrong result is not timed."""
    part = x[: max(1, 100_000 // max(1, x[0].numel()))]
    for degree in DEGREES:
        module = lagrange(degree, "extrapolate")(x.shape[1])
        found = _outcome(module, part)
        with kernels.use("reference"):
            expected = _outcome(module, part)
        for what, a, b in zip(("forward", "gradient of x", "gradient of the values"), found, expected, strict=True):
            if not torch.allclose(a, b, rtol=2e-3, atol=1e-4 * float(b.abs().max())):
                raise RuntimeError(
                    f"the {what} at degree {degree}, shape {tuple(part.shape)} is wrong; nothing was timed"
                )


def _measure_case(case: str, layout: str, x: torch.Tensor, rows: list[Contender], budget: float) -> Iterator[Row]:
    used = [row for row in rows if row.only_below is None or x.numel() < row.only_below]
    quick = [row for row in used if row.degree in (None, 3) and row.only_below is None]
    yield from measure_group(case, layout, x, quick, budget)
    slow = [row for row in used if row not in quick]
    if slow:  # interleaved with relu again, but not with the quick ones, which would get few rounds
        yield from list(measure_group(case, layout, x, [used[0], *slow], budget))[1:]


def measure_group(case: str, layout: str, x: torch.Tensor, used: list[Contender], budget: float) -> Iterator[Row]:
    """The rows of contenders that are timed interleaved; the others are compared with the first."""
    modules = [row.build(x.shape[1]) for row in used]
    leaf = x.clone().requires_grad_()
    grad = torch.randn_like(x)
    keys = [str(index) for index in range(len(used))]
    forward = interleaved({k: forward_call(m, x) for k, m in zip(keys, modules, strict=True)}, budget=budget)
    training = interleaved(
        {k: training_call(m, leaf, grad) for k, m in zip(keys, modules, strict=True)}, budget=2 * budget
    )
    for key, row, module in zip(keys, used, modules, strict=True):
        kept = kept_bytes(lambda module=module: module(leaf))  # type: ignore[misc]
        forward_ratio, forward_spread = _ratio(forward[key], forward["0"])
        training_ratio, training_spread = _ratio(training[key], training["0"])
        forward_us, training_us = (round(each[key].seconds * 1e6, 2) for each in (forward, training))
        costs = (forward_ratio, training_ratio, kept, forward_us, training_us, forward_spread, training_spread)
        yield Row(case, layout, row.name, row.degree, *costs, training[key].rounds)


def _ratio(timing: Timing, relu: Timing) -> tuple[float, tuple[float, float]]:
    """A time as a multiple of ReLU's, and its quartiles."""
    spread = (round(timing.lower / relu.seconds, 3), round(timing.upper / relu.seconds, 3))
    return round(timing.over(relu), 3), spread


def forward_call(module: nn.Module, x: torch.Tensor) -> Callable[[], object]:
    """A function that evaluates a module, with nothing recorded."""

    def call() -> object:
        with torch.no_grad():
            return module(x)

    return call


def training_call(module: nn.Module, leaf: torch.Tensor, grad: torch.Tensor) -> Callable[[], object]:
    """A function that evaluates a module and takes its gradients of x and of its parameters."""
    inputs = [leaf, *module.parameters()]

    def call() -> object:
        return torch.autograd.grad(module(leaf), inputs, grad)

    return call


def _outcome(module: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    leaf = x.clone().requires_grad_()
    out = module(leaf)
    return out.detach(), *torch.autograd.grad(out.square().sum(), [leaf, *module.parameters()])


def lagrange(degree: int, tails: Tails) -> Callable[[int], nn.Module]:
    """What builds the activation of that degree for a number of channels, with heights drawn from a seed."""

    def build(channels: int) -> nn.Module:
        module = ChebyshevLagrange(channels, degree=degree, tails=tails)
        with torch.no_grad():
            module.learned.copy_(torch.randn(module.learned.shape, generator=torch.Generator().manual_seed(1)))
        return module

    return build


def paper_modules() -> Any:
    """The paper's algorithms as written, from `benchmarks/` of the source tree; None if there is no source tree."""
    path = Path(__file__).parents[4] / "benchmarks" / "released_algorithm.py"
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("released_algorithm", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
