"""The error of a polynomial through the nodes, against the bound of the paper's equation (1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from chebact.interpolation import error_bound, polynomial
from chebact.lab.page.axes import plain_log
from chebact.lab.page.document import Key, Panel, Picture, Section
from chebact.lab.page.theme import LIGHT, as_panel, canvas
from chebact.node_positions import nodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FUNCTIONS", "bounds", "largest_error", "theory_section"]

SIZE = (258, 224)
DEGREES = range(1, 25)
POINTS = 4001
FEW = 1e4  # a range that plain numbers on the axis can cover
SMALLEST = 1e-16
BOUND_KEYS = (
    Key("dot", "learned", "largest error on [-1, 1]"),
    Key("dash", "ink", "equation (1) as printed"),
    Key("line", "other", "with the stretched nodes, times r to the power n"),
)


@dataclass(frozen=True)
class Function:
    """A function and the largest of its n-th derivative on [-1, 1], as its logarithm; None where there is none."""

    title: str
    words: str
    formula: Callable[[torch.Tensor], torch.Tensor]
    log_derivative: Callable[[int], float] | None


FUNCTIONS = (
    Function("eˣ", "the exponential function", torch.exp, lambda n: 1.0),
    Function("sin 4x", "the sine of 4x", lambda x: torch.sin(4 * x), lambda n: n * math.log(4)),
    Function(
        "1 / (1 + 25x²)",
        "Runge's function",
        lambda x: 1 / (1 + 25 * x * x),
        lambda n: math.lgamma(n + 1) + n * math.log(5),
    ),
    Function("ReLU", "ReLU", torch.relu, None),
)


def largest_error(formula: Callable[[torch.Tensor], torch.Tensor], degree: int) -> float:
    """The largest distance on [-1, 1] between a function and the polynomial through its heights at the nodes.

    >>> largest_error(torch.square, 2) < 1e-15
    True
    """
    x = torch.linspace(-1, 1, POINTS, dtype=torch.float64)
    return float((polynomial(x, formula(nodes(degree))) - formula(x)).abs().max())


def bounds(function: Function, *, stretched: bool) -> list[float]:
    """The bound for each degree."""
    assert function.log_derivative is not None
    found = []
    for degree in DEGREES:
        logarithm = function.log_derivative(degree + 1)
        unit = math.log(error_bound(degree, 1.0, stretched=stretched))
        found.append(math.exp(min(logarithm + unit, 300.0)))
    return found


def bound_panel(function: Function, name: str) -> Panel:
    """Error and bounds against the degree."""
    errors = [largest_error(function.formula, degree) for degree in DEGREES]
    with canvas(*SIZE, margins=(52, 10, 34, 26)) as axes:
        if function.log_derivative is not None:
            axes.plot(DEGREES, bounds(function, stretched=True), color=LIGHT["other"], lw=1.6)
            axes.plot(DEGREES, bounds(function, stretched=False), color=LIGHT["ink"], lw=1, ls=(0, (4, 2)))
        axes.plot(DEGREES, errors, "o", ms=4, color=LIGHT["learned"])
        axes.set_yscale("log")
        axes.set_title(function.title)
        if function.log_derivative is None:
            axes.set_title("not smooth: no bound", loc="right", fontweight="normal", color=LIGHT["muted"])
        axes.set_xlabel("degree of the polynomial")
        axes.set_xticks([1, 3, 5, 10, 15, 20, 24])
        axes.grid(axis="y")
        set_limits(axes, errors)
    alt = (
        f"Largest error of the polynomial through the nodes for {function.words}: {errors[0]:.2g} at degree 1, "
        f"{errors[2]:.2g} at degree 3, {errors[9]:.2g} at degree 10, {errors[-1]:.2g} at degree {DEGREES[-1]}"
    )
    return as_panel(axes, name, alt)


def set_limits(axes: Axes, errors: list[float]) -> None:
    """Show all errors and the part of the bounds that keeps them readable; ticks at powers of ten for wide ranges."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = max(min(errors), SMALLEST) / 4, max(errors) * 8
    if max(errors) / min(errors) < FEW:
        low, high = min(errors) / 1.5, max(errors) * (1.5 if len(axes.lines) == 1 else FEW)
    axes.set_ylim(low, high)
    if high / low < FEW:
        plain_log(axes)
    else:
        axes.yaxis.set_major_locator(LogLocator(numticks=7))
    axes.yaxis.set_minor_locator(NullLocator())


def theory_section() -> Section:
    """The picture of errors and bounds."""
    caption = (
        "The largest error on [-1, 1] of the polynomial through a function's heights at the nodes, against its degree. "
        "Equation (1) of the paper bounds it for Chebyshev's own nodes; the activations stretch them by r so that the "
        "outermost are the ends of the interval, which costs a factor of r to the power n = degree + 1 and lets the "
        "error pass the printed bound. For Runge's function the bound grows while the error falls; ReLU has no "
        "derivatives and no bound, and its error falls like 1/n."
    )
    panels = tuple(bound_panel(function, f"bound-{index}") for index, function in enumerate(FUNCTIONS))
    lead = (
        "How close a polynomial through fixed nodes can come to a function, and what the paper's equation (1) promises."
    )
    shows = (
        "A few nodes are enough for smooth functions: the error falls by a constant factor per degree. For ReLU, which "
        f"has a kink, it falls only like 1/n ({largest_error(torch.relu, 3):.2f} at degree 3). The printed bound needs "
        "the factor for the stretched nodes."
    )
    return Section("theory", "The error bound", (Picture("bound", caption, panels, BOUND_KEYS),), lead, shows=shows)
