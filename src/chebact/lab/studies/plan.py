"""What a study is made of: panels, each an axis with the lines that are drawn over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from chebact.lab.studies.spec import Keep, Settings, StudyRequest, StudySpec

__all__ = ["Axis", "Line", "Panel", "Study", "label_of", "specs_of_study", "vary"]

Value = float | int | str
Scale = Literal["linear", "log", "words"]


@dataclass(frozen=True)
class Axis:
    """What a panel varies: a label with its unit, the values, how one changes the settings, and the scale."""

    label: str
    values: tuple[Value, ...]
    change: Callable[[Settings, Any], Settings]
    scale: Scale = "linear"


def vary(field: str, label: str, *values: Value, scale: Scale = "linear") -> Axis:
    """An axis that changes one field of the settings."""
    return Axis(label, values, lambda settings, value: replace(settings, **{field: value}), scale)


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
    """An axis with its lines; it has a name and a title where a study has more than one panel."""

    axis: Axis
    lines: tuple[Line, ...]
    name: str = ""
    title: str = ""


@dataclass(frozen=True)
class Study:
    """A row of the table. `drawing` is the kind of picture, a name of `DRAWINGS` in `pictures`."""

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
