"""The image experiments on the page."""

from __future__ import annotations

from chebact.lab.report.parts import Missing, Section
from chebact.lab.report.results import Results

__all__ = ["images_section"]


def images_section(results: Results) -> Section:
    """What the image records show."""
    return Section("images", "Images", (Missing("Not run yet.", "chebact run images"),))
