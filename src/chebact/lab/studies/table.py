"""The studies, one row each. A study is one or two panels, a panel is an axis and the lines that are drawn over it.

A row is all that a new study needs: the commands, the table, the picture, the page and the tests find it here. Its
paragraph is a function in `paragraphs`; without one the least error of every line is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from chebact.lab.studies.spec import PUBLISHED, RECOMMENDED, Keep, Settings, StudyRequest, StudySpec

__all__ = ["STUDIES", "Axis", "Line", "Panel", "Study", "equal_parameters", "equal_steps", "specs_of_study"]

Value = float | int | str
RECIPES = {"published": (PUBLISHED, "--"), "recommended": (RECOMMENDED, "-")}  # with the dash of their lines


@dataclass(frozen=True)
class Axis:
    """What a panel varies: a label with its unit, the values, how one changes the settings, and the scale."""

    label: str
    values: tuple[Value, ...]
    change: Callable[[Settings, Any], Settings]
    scale: Literal["linear", "log", "words"] = "linear"


@dataclass(frozen=True)
class Line:
    """A line: the settings that all its points share, and its look. A `level` has one point, without the axis."""

    name: str
    title: str
    settings: Settings
    colour: str = "learned"
    dash: str = "-"
    level: bool = False


@dataclass(frozen=True)
class Panel:
    """An axis with its lines; `name` is empty where a study has one panel."""

    name: str
    title: str
    axis: Axis
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Study:
    """A row. `drawing` is the kind of picture, a name of the table in `figures`."""

    name: str
    title: str
    question: str
    panels: tuple[Panel, ...]
    keep: Keep = "errors"
    drawing: str = "lines"


def label_of(value: Value) -> str:
    """A value as it stands in the name of a record.

    >>> label_of(0.0003), label_of(20_000), label_of("none")
    ('0.0003', '20000', 'none')
    """
    return value if isinstance(value, str) else f"{value:.12g}"


def specs_of_study(study: Study, request: StudyRequest) -> Iterator[StudySpec]:
    """The specs of a study, in the order of its panels and lines."""
    asked = {"functions": tuple(dict.fromkeys(request.functions)), "seeds": request.seeds, "keep": study.keep}
    for panel in study.panels:
        for line in panel.lines:
            for value in ("",) if line.level else panel.axis.values:
                settings = line.settings if line.level else panel.axis.change(line.settings, value)
                place = {"panel": panel.name, "line": line.name, "value": label_of(value)}
                yield StudySpec(study=study.name, **place, settings=settings, **asked)  # type: ignore[arg-type]


def change_one(field: str, settings: Settings, value: Any) -> Settings:
    """The settings with one field changed."""
    return replace(settings, **{field: value})


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


DEGREES = (1, 2, 3, 4, 5, 6, 8, 10, 12)
ONLY_LEARNED = learned_lines()
EVERYONE = (*ONLY_LEARNED, *reference_lines())
LEVELS = reference_lines(level=True)
NOISES = noise_lines()


def degree_axis(*, equal: bool) -> Axis:
    """The degree, at the paper's width or at its number of parameters."""

    def change(settings: Settings, degree: int) -> Settings:
        changed = replace(settings, degree=degree)
        return equal_parameters(changed) if equal else changed

    return Axis("degree of the polynomials", DEGREES, change)


STUDIES: dict[str, Study] = {
    row.name: row
    for row in (
        Study(
            "degree",
            "The degree",
            "Which degree should the polynomials have?",
            (
                Panel("width", "equal width", degree_axis(equal=False), (*ONLY_LEARNED, *LEVELS)),
                Panel(
                    "parameters",
                    "equal parameters",
                    degree_axis(equal=True),
                    (*ONLY_LEARNED, *(replace(line, settings=equal_parameters(line.settings)) for line in LEVELS)),
                ),
            ),
        ),
        Study(
            "points",
            "The number of points",
            "How does the error fall with more data?",
            (
                Panel(
                    "",
                    "",
                    Axis("training points", (50, 100, 200, 1000, 5000, 20_000), equal_steps, "log"),
                    EVERYONE,
                ),
            ),
        ),
        Study(
            "noise",
            "The noise",
            "How does noise on the targets degrade the error?",
            (
                Panel(
                    "",
                    "",
                    Axis(
                        "deviation of the noise", (0.0, 0.01, 0.02, 0.04, 0.1, 0.2), partial(change_one, "noise"), "log"
                    ),
                    EVERYONE,
                ),
            ),
        ),
        Study(
            "size",
            "Width and depth",
            "Does a larger network help?",
            (
                Panel(
                    "width",
                    "3 blocks",
                    Axis("width", (4, 8, 16, 32, 64), partial(change_one, "width"), "log"),
                    EVERYONE,
                ),
                Panel("depth", "width 32", Axis("residual blocks", (1, 3, 6), partial(change_one, "blocks")), EVERYONE),
            ),
        ),
        Study(
            "interval",
            "The interval",
            "How far should the nodes reach?",
            (
                Panel(
                    "",
                    "",
                    Axis(
                        "half-length a of the interval [-a, a]",
                        (0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
                        partial(change_one, "interval"),
                        "log",
                    ),
                    (*ONLY_LEARNED, *LEVELS),
                ),
            ),
        ),
        Study(
            "tails",
            "The tails",
            "What do the straight tails do, in the range of the data and beyond it?",
            (
                Panel(
                    "",
                    "",
                    Axis("tails", ("extrapolate", "regression", "none"), partial(change_one, "tails"), "words"),
                    (*ONLY_LEARNED, *LEVELS),
                ),
            ),
            keep="tails",
            drawing="tails",
        ),
        Study(
            "regularisation",
            "Regularisation",
            "Which regularisation slows the degradation by noise?",
            (
                Panel(
                    "decay",
                    "weight decay",
                    Axis(
                        "weight decay of all parameters",
                        (1e-6, 1e-5, 1e-4, 3e-4, 1e-3),
                        partial(change_one, "weight_decay"),
                        "log",
                    ),
                    NOISES,
                ),
                Panel(
                    "curvature",
                    "curvature penalty",
                    Axis(
                        "weight of the curvature penalty",
                        (1e-7, 1e-6, 1e-5, 1e-4, 1e-3),
                        partial(change_one, "curvature"),
                        "log",
                    ),
                    NOISES,
                ),
            ),
        ),
        Study(
            "shapes",
            "The learned shapes",
            "Which activations do the channels end up with?",
            (Panel("", "", Axis("", (), partial(change_one, "degree")), learned_lines(level=True)),),
            keep="shapes",
            drawing="shapes",
        ),
    )
}
"""The table by name."""
