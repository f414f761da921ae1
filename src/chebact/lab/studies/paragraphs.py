"""What each study says, in one paragraph with the numbers of its records."""

from __future__ import annotations

from collections.abc import Callable

from chebact.lab.studies.figures import describe_lines
from chebact.lab.studies.rows import Reading

__all__ = ["PARAGRAPHS", "paragraph_of"]

PARAGRAPHS: dict[str, Callable[[Reading], str]] = {}
"""The paragraphs by the name of the study."""


def paragraph_of(reading: Reading) -> str:
    """The paragraph of a study; where it has none, or points are missing, the least error of every line."""
    own = PARAGRAPHS.get(reading.study.name)
    if own is not None and reading.is_complete:
        return own(reading)
    there, asked = len(reading.records), len(reading.places)
    note = "" if reading.is_complete else f" {asked - there} of {asked} points are missing."
    return ". ".join(describe_lines(reading, panel) for panel in reading.study.panels) + f".{note}"
