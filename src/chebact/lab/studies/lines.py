"""The lines that several studies share: learned shapes, ReLU and tanh, by both recipes; and how axes change them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chebact.lab.studies.plan import Axis, Line
from chebact.lab.studies.spec import PUBLISHED, RECOMMENDED, Settings

__all__ = [
    "degree_axis",
    "equal_parameters",
    "equal_steps",
    "learned_lines",
    "noise_lines",
    "reference_lines",
]

RECIPES = {"published": (PUBLISHED, "--"), "recommended": (RECOMMENDED, "-")}  # with the dash of their lines


def equal_parameters(settings: Settings) -> Settings:
    """The settings with the width at which the network has about as many parameters as the paper's.

    >>> [equal_parameters(replace(PUBLISHED, degree=degree)).width for degree in (1, 3, 12)]
    [33, 32, 27]
    """
    target = PUBLISHED.parameters()
    return min(
        (replace(settings, width=width) for width in range(8, 65)), key=lambda each: abs(each.parameters() - target)
    )


def equal_steps(settings: Settings, points: int) -> Settings:
    """The settings with another number of points and about as many steps.

    >>> equal_steps(PUBLISHED, 50).epochs, equal_steps(PUBLISHED, 20_000).epochs
    (4800, 15)
    """
    changed = replace(settings, points=points, epochs=1)
    return replace(changed, epochs=max(1, round(settings.steps / changed.steps)))


def fixed(activation: Any, settings: Settings) -> Settings:
    """The same training with an activation that learns nothing."""
    usual = Settings()
    return replace(
        settings, activation=activation, degree=usual.degree, init=usual.init, heights_decay=None, curvature=0.0
    )


def learned_lines(*, level: bool = False) -> tuple[Line, ...]:
    """CL-extrapolate by both recipes."""
    return tuple(
        Line(f"cl-{recipe}", f"CL-extrapolate, {recipe} recipe", settings, "learned", dash, level)
        for recipe, (settings, dash) in RECIPES.items()
    )


def reference_lines(*, level: bool = False) -> tuple[Line, ...]:
    """ReLU and tanh by both recipes."""
    looks = {"relu": ("ReLU", "other"), "tanh": ("tanh", "fifth")}
    return tuple(
        Line(f"{name}-{recipe}", f"{title}, {recipe} recipe", fixed(name, settings), colour, dash, level)
        for name, (title, colour) in looks.items()
        for recipe, (settings, dash) in RECIPES.items()
    )


def noise_lines() -> tuple[Line, ...]:
    """A line for each level of noise by both recipes."""
    looks = {0.01: "learned", 0.04: "second", 0.1: "third"}
    return tuple(
        Line(f"{name}-{noise:g}", f"noise {noise:g}, {name} recipe", replace(settings, noise=noise), colour, dash)
        for noise, colour in looks.items()
        for name, (settings, dash) in RECIPES.items()
    )


def degree_axis(*, equal: bool) -> Axis:
    """The degree, at the paper's width or at its number of parameters."""

    def change(settings: Settings, degree: int) -> Settings:
        changed = replace(settings, degree=degree)
        return equal_parameters(changed) if equal else changed

    return Axis("degree of the polynomials", tuple(range(1, 13)), change)
