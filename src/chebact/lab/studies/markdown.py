"""The studies in a document: heading, question, picture, paragraph and tables, from the records."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.studies.paragraphs import paragraph_of
from chebact.lab.studies.pictures import file_figure
from chebact.lab.studies.rows import Reading
from chebact.lab.studies.sheets import markdown_sheets

__all__ = ["document_blocks", "study_markdown"]


def document_blocks(readings: Sequence[Reading]) -> dict[str, str]:
    """The generated block of documents: all studies that have records."""
    return {"studies": "\n\n".join(map(study_markdown, readings)) + "\n"}


def study_markdown(reading: Reading) -> str:
    """One study; its pictures are in the folder `images` beside the document."""
    study = reading.study
    said = file_figure(reading)[1].replace('"', "'").replace("&", "and")
    name = f"images/study-{study.name}"
    return (
        f"### {study.title}\n{study.question}\n\n"
        f'<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="{name}-dark.svg">\n'
        f'  <img alt="{said}" src="{name}-light.svg">\n</picture>\n\n'
        f"{paragraph_of(reading)}\n\n"
        f"<details><summary>The numbers</summary>\n\n{markdown_sheets(reading)}\n\n</details>"
    )
