"""The clinical experiment on the page."""

from __future__ import annotations

from chebact.lab.report.parts import Missing, Section
from chebact.lab.report.results import Results

__all__ = ["clinical_section"]


def clinical_section(results: Results) -> Section:
    """What the clinical records show."""
    return Section("clinical", "Voice recordings", (Missing("Not run yet.", "chebact run clinical"),))
