"""The documents of this project: their tables of the arena are those of the committed records."""

import re
from pathlib import Path

import pytest

from chebact.lab.arena.record import ArenaRecord
from chebact.lab.arena.rows import rows_of
from chebact.lab.arena.sheets import blocks
from chebact.lab.page.documents import fill_blocks
from chebact.lab.page.results import read_results

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def committed():
    return rows_of(read_results(ROOT / "results" / "arena").typed(ArenaRecord))


@pytest.mark.parametrize("name", ["arena.md", "my-table.md"])
def test_the_tables_of_the_documents_are_those_of_the_records(name, committed):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    found = blocks(committed)
    marked = set(re.findall(r"<!-- begin: (\S+) -->", text))
    assert marked
    assert marked <= set(found)
    assert fill_blocks(text, found) == text
