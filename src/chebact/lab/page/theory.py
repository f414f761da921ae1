"""Interpolation at the nodes against the paper's equation (1)."""

from __future__ import annotations

from chebact.lab.page.document import Picture, Section
from chebact.lab.page.theory_figures import BOUND_KEYS, FUNCTIONS, bound_panel

__all__ = ["theory_section"]


def theory_section() -> Section:
    """The picture of errors and bounds."""
    caption = (
        "The largest error on [-1, 1] of the polynomial through a function's heights at the nodes, against its "
        "degree. Equation (1) "
        "of the paper bounds it for Chebyshev's own nodes; the activations stretch them by r so that the outermost "
        "are the ends of "
        "the interval, which costs a factor of r to the power n = degree + 1 and lets the error pass the printed "
        "bound. For Runge's "
        "function the bound grows while the error falls; ReLU has no derivatives and no bound, and its error falls "
        "like 1/n."
    )
    panels = tuple(bound_panel(function, f"bound-{index}") for index, function in enumerate(FUNCTIONS))
    lead = (
        "How close a polynomial through fixed nodes can come to a function, and what the paper's equation (1) promises."
    )
    return Section("theory", "The error bound", (Picture("bound", caption, panels, BOUND_KEYS),), lead)
