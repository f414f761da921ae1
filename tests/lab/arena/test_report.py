"""What is shown of the arena: sheets, files, pictures, the page, and the documents of this project."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from chebact.lab.arena.entrants import ENTRANTS
from chebact.lab.arena.fields import small_field
from chebact.lab.arena.ranks import standing_of
from chebact.lab.arena.record import ArenaRecord
from chebact.lab.arena.rows import Row, rows_of
from chebact.lab.arena.section import sections
from chebact.lab.arena.sheets import core_sheet, cost_sheet, duel_sheet, rank_sheet, score_sheet
from chebact.lab.arena.spec import CORE
from chebact.lab.cli import run_command
from chebact.lab.page.document import Missing, pictures_in
from chebact.lab.page.results import Results, read_results

ROOT = Path(__file__).resolve().parents[3]
MODELS = ("cl", "cl-single", "gaussian-process", "mlp")


def row(data, model, *scores, **more):
    given = {"task": "regression", "family": data.partition("-")[0], "rows": 1000, "columns": 3, **more}
    return Row(data, model, scores=scores, seconds=2.0, predict_seconds=0.01, total_seconds=30.0, **given)


ROWS = [
    row("friedman1", "cl", 0.1, 0.2),
    row("friedman1", "mlp", 0.3, 0.5, parameters=100),
    row("diabetes", "cl", 0.8, 0.8),
    row("diabetes", "mlp", 0.7, 0.7, parameters=200),
    row("wine", "cl", 0.02, 0.04, task="classification"),
    row("wine", "mlp", math.inf, 0.02, task="classification"),
]


def texts(sheet):
    return [[cell.text for cell in line] for line in sheet.rows]


def test_scores_have_their_deviation_and_the_best_is_marked():
    sheet = score_sheet(ROWS, "regression")
    assert texts(sheet) == [["friedman1", "1000 × 3", "0.1500", "0.4000"], ["diabetes", "1000 × 3", "0.8000", "0.7000"]]
    assert [cell.mark for cell in sheet.rows[0][2:]] == ["best", ""]
    assert [cell.mark for cell in sheet.rows[1][2:]] == ["", "best"]
    assert sheet.rows[0][2].below == "± 0.0707"
    (classes,) = score_sheet(ROWS, "classification").rows
    assert [cell.text for cell in classes[2:]] == ["97.0", "NaN"]
    assert classes[3].tip == "1 of 2 fits failed"


def test_a_duel_shows_losses_as_plainly_as_wins():
    (line,) = texts(duel_sheet(ROWS, "cl"))
    assert line[:6] == ["MLP", "2", "0", "1", "2.67", "3"]  # 0.4 / 0.15, between 0.7 / 0.8 and a failure
    worse = duel_sheet([*ROWS[2:4], row("jump-1", "cl", 0.2), row("jump-1", "mlp", 0.1)], "cl")
    assert worse.rows[0][3].mark == "worst"


def test_ranks_costs_and_core():
    assert texts(rank_sheet(ROWS, "regression")) == [["chebact", "1.50", "no"], ["MLP", "1.50", "no"]]
    costs = texts(cost_sheet(ROWS))
    assert costs[1] == ["MLP", "2.00", "10.0", "150", "3", "6", "1", "1.5"]
    heads = [head.text for head in core_sheet(ROWS).heads]
    assert heads == ["model", *(name for name in CORE if name in ("friedman1", "diabetes", "wine"))]


def test_the_page_on_tables_shows_a_part():
    rows = [
        row(data, model, 0.1) for data in ("feynman-a-0.01", "feynman-a-0.1", "step-0.01", "wine") for model in MODELS
    ]
    assert {(each.data, each.model) for each in small_field(rows)} == {
        (data, model) for data in ("feynman-a-0.01", "wine") for model in ("cl", "gaussian-process", "mlp")
    }


def test_the_page_says_what_is_missing(tmp_path):
    (empty,) = sections(Results(tmp_path, []))
    assert [block.sentence for block in empty.blocks if isinstance(block, Missing)] == ["Not run yet."]
    found = read_results(ROOT / "results" / "arena")
    fewer = replace(
        found, records=[record for record in found.records if record.spec["model"] in ("boosting", "forest")]
    )
    (section,) = sections(fewer)
    (missing,) = [block.sentence for block in section.blocks if isinstance(block, Missing)]
    assert "Without a record: chebact;" in missing
    assert len(next(pictures_in(section.blocks)).panels) == 2  # ranks of all and of the core; no ratios without ours


@pytest.fixture(scope="module")
def committed():
    return rows_of(read_results(ROOT / "results" / "arena").typed(ArenaRecord))


def test_the_command_writes_tables_files_and_pictures(tmp_path, capsys):
    words = [
        "--json",
        str(tmp_path / "rows.json"),
        "--markdown",
        str(tmp_path / "a.md"),
        "--pictures",
        str(tmp_path / "p"),
    ]
    before = len(list((ROOT / "results" / "arena").rglob("*.json")))
    assert run_command(["report", "arena", "--results", str(ROOT / "results" / "arena"), *words]) == 0
    said = capsys.readouterr().out
    assert "Mean ranks on all sets of regression" in said
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert len(rows) >= before
    names = {f"{name}-{scheme}.svg" for name in ("arena", "coverage") for scheme in ("light", "dark")}
    assert {path.name for path in (tmp_path / "p").iterdir()} == names
    assert (tmp_path / "p" / "arena-light.svg").read_bytes() != (tmp_path / "p" / "arena-dark.svg").read_bytes()


def test_every_model_of_the_wide_field_that_ran_is_ranked_or_named(committed):
    standing = standing_of([row for row in committed if row.task == "regression" and not ENTRANTS[row.model].core])
    wide = {row.model for row in committed if not ENTRANTS[row.model].core}
    assert set(standing.ranks) | set(standing.unranked) == wide
