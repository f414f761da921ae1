"""The studies on the page: a picture, a paragraph and tables each."""

from __future__ import annotations

from chebact.lab.page.document import Block, Commands, Finding, Fold, Missing, Section, Words
from chebact.lab.page.networks import network_picture
from chebact.lab.page.results import Results
from chebact.lab.studies.paragraphs import paragraph_of
from chebact.lab.studies.pictures import page_picture
from chebact.lab.studies.record import StudyRecord
from chebact.lab.studies.rows import Reading, readings_of
from chebact.lab.studies.sheets import sheets_of
from chebact.lab.studies.table import STUDIES

__all__ = ["INTRODUCTION", "sections"]

OVERVIEW = "studies"
INTRODUCTION = (
    "The paper's network on its seven functions, one thing changed at a time. A point is the geometric mean over the "
    "functions of the median test RMSE of ten seeds; each seed has a draw of the data of its own, none of them the "
    "published draw. A training that diverged counts as the worst of its seeds. The recommended recipe has 300 epochs "
    "here in place of 1,000, so that all lines have as many steps."
)

NETWORK = Fold(
    "The network",
    (network_picture("studies", "The network. σ is the activation; + adds a shortcut.", drawing="synthetic"),),
)


def sections(results: Results) -> list[Section]:
    """One section for every study that has records, or one that says that there are none."""
    readings = readings_of(results.typed(StudyRecord))
    if not readings:
        missing = Missing("Not run yet.", "chebact run study")
        return [Section(OVERVIEW, "Studies", (missing, NETWORK), INTRODUCTION)]
    first = Section(OVERVIEW, "Studies", overview(readings), INTRODUCTION, finding=finding_of(readings))
    return [first, *map(section_of, readings)]


def overview(readings: list[Reading]) -> tuple[Block, ...]:
    """What is missing, the network, and how to do it again."""
    there = {reading.study.name for reading in readings}
    missing = [
        Missing(f"{row.title}: not run yet.", f"chebact run study {name}")
        for name, row in STUDIES.items()
        if name not in there
    ]
    commands = Commands(("chebact run study", "chebact report studies"))
    again = Fold("How to run it again", (Words(("Finished parts are skipped.",)), commands))
    return (*missing, NETWORK, again)


def section_of(reading: Reading) -> Section:
    """The section of one study."""
    tables = Fold("The numbers", tuple(sheets_of(reading)))
    blocks = (page_picture(reading), tables)
    study = reading.study
    name, said = f"study-{study.name}", paragraph_of(reading)
    return Section(name, study.title, blocks, study.question, shows=said, under=OVERVIEW)


def finding_of(readings: list[Reading]) -> Finding:
    """How much was trained."""
    trainings = sum(row.trainings for reading in readings for row in reading.rows)
    lost = sum(row.diverged for reading in readings for row in reading.rows)
    return Finding(str(len(readings)), f"studies of one axis each, {trainings:,} trainings; {lost:,} of them diverged.")
