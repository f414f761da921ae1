"""The synthetic tables: the published numbers and marks of the paper, the rows, and the generated documents."""

import csv
import errno
import io
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from chebact.lab import LabError
from chebact.lab.cli import run_command
from chebact.lab.page.document import Missing
from chebact.lab.page.documents import fill_blocks, update_document
from chebact.lab.page.results import Results, read_results
from chebact.lab.page.sheet import Sheet, as_csv, as_json
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, records_under, write_record
from chebact.lab.synthetic.agreement import agreement_of
from chebact.lab.synthetic.choice import choice_sheets
from chebact.lab.synthetic.commands import describe_records
from chebact.lab.synthetic.explanations import comparison_lines
from chebact.lab.synthetic.published import COLUMNS, SYNTHETIC, published_cell
from chebact.lab.synthetic.report_command import document_blocks
from chebact.lab.synthetic.rows import Row, marks, tables_of
from chebact.lab.synthetic.rows import rows_of as rows_of_typed
from chebact.lab.synthetic.section import synthetic_section
from chebact.lab.synthetic.spec import SyntheticSpec, usual_order
from chebact.lab.synthetic.tables import caption, change_sheets, comparison, markdown
from chebact.networks import ARCHITECTURES

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results" / "synthetic"
KEYS = ["model", "dataset", "noise", "recipes", "seeds", "mean", "std", "nan", "paper_mean", "paper_std", "paper_nan"]
KEYS += ["changes"]


def record(model, dataset, values, noise=0.01, recipes="released", **choices):
    choices = {"column_order": usual_order(recipes)} | choices
    spec = SyntheticSpec(model, dataset, noise, recipes=recipes, seeds=len(values), **choices)
    seeds = [{"seed": seed, "rmse": value, "nan": value is None} for seed, value in enumerate(values)]
    drawn = {"curve": {"epoch": [1], "loss": [0.5]}, "slice": [0.0, 1.0]}
    return Record("synthetic", as_plain(spec), {"seeds": seeds, **drawn}, {}, {})


def rows_of(records):
    return rows_of_typed([record.typed for record in records])


def as_published():
    """Rows whose numbers are the paper's own."""
    return [
        Row(model, dataset, noise, "released", 10, cell.mean, cell.std, cell.nan, cell.mean, cell.std, cell.nan)
        for (model, dataset, noise), cell in SYNTHETIC.items()
    ]


def test_the_published_tables_are_whole():
    assert set(SYNTHETIC) == {
        (model, dataset, noise) for model in ARCHITECTURES for dataset in COLUMNS for noise in (0.01, 0.04)
    }
    assert sum(cell.nan == 0 for cell in SYNTHETIC.values()) == 122  # of 154; the others are counts of NaN
    assert published_cell("relu", "pendulum", 0.02) is None


@pytest.mark.parametrize(
    ("noise", "column", "total"),
    [  # sums of the printed means of each column, added up by hand from the paper
        (0.01, "pendulum", 0.1518 + 0.1941 + 0.1597 + 0.0327 + 0.0348 + 0.1642 + 0.0208 + 0.0113),
        (0.01, "gravity", 0.098 + 0.187 + 0.062 + 0.075 + 0.022 + 0.048 + 0.042 + 0.022),
        (0.01, "jump", 0.17 + 0.17 + 0.12 + 0.09 + 0.11 + 0.12 + 0.08 + 0.09),
        (0.04, "arrhenius", 0.0143 + 0.0142 + 0.0139 + 0.0088 + 0.0082 + 0.0091 + 0.0119 + 0.0121 + 0.0133 + 0.0115),
        (0.04, "step", 0.052 + 0.033 + 0.035 + 0.054 + 0.099 + 0.104 + 0.070 + 0.091 + 0.024 + 0.034),
    ],
)
def test_columns_add_up(noise, column, total):
    means = [
        cell.mean
        for (_, dataset, level), cell in SYNTHETIC.items()
        if (dataset, level) == (column, noise) and cell.mean
    ]
    assert sum(means) == pytest.approx(total, abs=1e-12)


def test_the_papers_own_marks():
    """The bold cells of the paper's first table, and the red ones of a column, follow from its numbers."""
    table = tables_of(as_published())["released", 0.01]
    found = marks(table)
    best = {
        column: {model for (model, dataset), mark in found.items() if dataset == column and mark == "best"}
        for column in COLUMNS
    }
    assert (
        best["pendulum"] == best["arrhenius"] == best["sigmoid"] == best["prelu"] == {"cl-regression", "cl-extrapolate"}
    )
    assert best["gravity"] == {"pcs-cl", "cl-extrapolate"}
    assert best["jump"] == {"tanh", "cl-regression", "cl-extrapolate"}
    assert best["step"] == {"relu-2x-layers", "cl-regression", "cl-extrapolate"}
    worst = {model for (model, dataset), mark in found.items() if dataset == "pendulum" and mark == "worst"}
    assert worst == {"relu", "relu-2x-depth", "relu-2x-layers", "tanh-cl"}
    assert not {"cubic", "cl", "wcp"} & {model for model, _ in found}
    for rows in tables_of(as_published()).values():
        assert marks(rows) == marks(rows, strict=True)


def test_one_lost_seed_hides_no_model_but_by_the_papers_letter():
    rows = rows_of([record("relu", "pendulum", [0.1] * 10), record("tanh", "pendulum", [0.05] * 9 + [None])])
    assert marks(rows) == {("relu", "pendulum"): "best", ("tanh", "pendulum"): "best"}
    assert marks(rows, strict=True) == {("relu", "pendulum"): "best"}


def test_the_paper_agrees_with_itself():
    agreement = agreement_of(as_published())
    assert (len(agreement.near), len(agreement.within), len(agreement.far)) == (122, 122, 0)
    assert (len(agreement.counted), len(agreement.counts_agree)) == (32, 32)
    assert (len(agreement.exploded), len(agreement.exploded_here)) == (25, 25)
    assert len([row for row in agreement.counted if row not in agreement.exploded]) == 7  # 1 to 7 of ten
    assert agreement.best == agreement.paper_best == 12


def test_rows_of_records():
    rows = rows_of(
        [
            record("relu", "step", [0.03, 0.05, None]),
            record("relu", "pendulum", [0.2, 0.1]),
            record("cubic", "jump", [None]),
        ]
    )
    assert [(row.model, row.dataset) for row in rows] == [("relu", "pendulum"), ("relu", "step"), ("cubic", "jump")]
    assert (rows[0].mean, rows[0].nan, rows[0].paper_mean) == (pytest.approx(0.15), 0, 0.1518)
    assert (rows[1].mean, rows[1].std, rows[1].nan) == (pytest.approx(0.04), pytest.approx(0.0141421, rel=1e-5), 1)
    assert (rows[2].mean, rows[2].std, rows[2].paper_mean, rows[2].paper_nan) == (None, None, None, 10)


def test_two_records_of_one_cell_are_refused():
    with pytest.raises(LabError, match=r"2 records are of one cell, relu on step at noise 0\.01.*--results"):
        rows_of([record("relu", "step", [0.03]), record("relu", "step", [0.03, 0.04])])
    assert len(rows_of([record("relu", "step", [0.03], recipes=form) for form in ("paper", "released")])) == 2


def test_the_committed_records_are_those_of_the_full_run():
    everything = list(records_under(RESULTS))
    changed = [each for each in everything if each.typed.spec.changes]
    assert len(changed) == 2 * 77 + 2 * 4 * 7 + 77 + 77  # columns, form, start, loss
    found = [each for each in everything if each.spec["recipes"] != "recommended" and not each.typed.spec.changes]
    assert len(everything) - len(changed) - len(found) == 14
    assert len(found) == 2 * 2 * 77
    assert {(each.spec["seeds"], each.spec["epochs"], len(each.results["seeds"])) for each in found} == {(10, 300, 10)}
    assert len({(row.model, row.dataset, row.noise, row.recipes) for row in rows_of(found)}) == 308


def test_json_and_csv_have_the_same_rows():
    rows = rows_of([record("cl", "pendulum", [0.1, None]), record("relu", "step", [0.03, 0.05], noise=0.02)])
    objects = json.loads(as_json([row.exported() for row in rows]))
    assert [list(each) for each in objects] == [KEYS, KEYS]
    assert objects[0]["paper_nan"] == 8
    assert objects[0]["paper_mean"] is None
    assert objects[1]["paper_nan"] is None
    lines = list(csv.DictReader(io.StringIO(as_csv([row.exported() for row in rows]))))
    assert [{name: "" if value is None else str(value) for name, value in each.items()} for each in objects] == lines


def test_markdown_shows_ours_beside_theirs():
    rows = rows_of(
        [
            record("relu", "pendulum", [0.15, 0.16]),
            record("cl", "pendulum", [None, None, 0.1]),
            record("tanh", "pendulum", [0.03, None, 0.03]),
        ]
    )
    text = markdown(rows)
    assert "| ReLU | **0.1550 ± 0.0071** (0.1518 ± 0.0297) |" in text
    assert "| CL | 2/3 NaN (8/10 NaN) |" in text
    assert "| tanh | **0.0300 ± 0.0000, 1/3 NaN** (0.0327 ± 0.0102) |" in text
    assert "2 to 3 seeds" in text


def test_agreement_names_every_exception():
    rows = rows_of(
        [
            record("relu", "pendulum", [0.3, 0.3, 0.3]),
            record("tanh", "step", [None, 0.01, 0.01]),
            record("cubic", "jump", [0.1, 0.1, 0.1]),
        ]
    )
    lines = comparison_lines(agreement_of(rows))
    assert any(
        "ReLU on Pendulum, noise 0.01: 0.3000, published 0.1518 ± 0.0297, 5.0 published standard deviations above"
        in line
        for line in lines
    )
    assert any("tanh on Step, noise 0.01: 1/3 NaN" in line for line in lines)
    assert any("Cubic on Jump, noise 0.01: 0/3 NaN, published 10/10; p = 0.0035" in line for line in lines)


def test_counts_are_compared_by_fishers_exact_test():
    """The probability of tables as extreme, from binomial coefficients."""
    (row,) = rows_of([record("cl", "pendulum", [None] * 4 + [0.1] * 6)])
    ways = [math.comb(10, ours) * math.comb(10, 12 - ours) for ours in range(2, 11)]
    extreme = [each for each in ways if each <= ways[4 - 2]]
    assert row.chance == pytest.approx(sum(extreme) / sum(ways))
    (line,) = [line for line in comparison_lines(agreement_of([row])) if "Diverged seeds" in line]
    assert (
        line
        == "- Diverged seeds: CL on Pendulum, noise 0.01: 4/10 NaN, published 8/10; p = 0.17, chance can explain it."
    )
    partly = rows_of([record("cubic", "arrhenius", [None] * 10)])
    assert "published 4/10; p = 0.011, chance does not explain it" in comparison_lines(agreement_of(partly))[-1]


def test_better_cells_agree_on_one_side_only():
    rows = rows_of([record("relu", "pendulum", [0.05] * 3), record("tanh", "pendulum", [0.03] * 3)])
    agreement = agreement_of(rows)
    assert [row.model for row in agreement.near] == ["relu", "tanh"]
    assert [row.model for row in agreement.within] == ["tanh"]


def test_what_a_choice_changes_stands_beside_the_usual_choice():
    rows = rows_of(
        [
            record("relu", "pendulum", [0.1, 0.1]),
            record("relu", "step", [0.04, 0.04]),
            record("relu", "pendulum", [0.2, 0.2], start="he-uniform"),
            record("relu", "step", [0.08, None, None], start="he-uniform"),
            record("tanh", "step", [0.08, 0.08], start="he-uniform"),
        ]
    )
    (sheet,) = change_sheets(rows).values()
    assert sheet.name == "synthetic-released-start-he-uniform-0.01"
    relu, tanh = ([(cell.text, cell.below) for cell in row] for row in sheet.rows)
    assert relu == [("ReLU", ""), ("0.2000", "0.1000"), ("2/3 NaN", "0.040"), ("2.00", "")]
    assert tanh == [("tanh", ""), ("not run", ""), ("0.080", ""), ("-", "")]
    assert "2 of 5 seeds diverged, 0 of 4 with the usual choice" in sheet.caption
    assert [row.mean for row in tables_of(rows)["released", 0.01]] == [0.1, 0.04]


def test_what_a_choice_changes_is_not_compared_with_runs_that_differ_in_more():
    short = record("relu", "step", [0.2] * 3, loss="mse", epochs=1)
    (sheet,) = change_sheets(rows_of([record("relu", "step", [0.04] * 3), short])).values()
    assert [(cell.text, cell.below) for cell in sheet.rows[0][1:]] == [("0.200", ""), ("-", "")]
    assert sheet.caption.endswith("there are no records of the same settings with the usual choice.")
    usual = record("relu", "step", [0.1] * 3, epochs=1)
    (sheet,) = change_sheets(rows_of([usual, short])).values()
    assert sheet.rows[0][1].below == "0.100"


def test_the_page_shows_other_choices_without_the_usual_one():
    section = synthetic_section(Results(Path(), [record("relu", "step", [0.2] * 3, start="he-uniform")]))
    assert [block.sentence for block in section.blocks if isinstance(block, Missing)] == ["Not run yet."]
    assert [block.name for block in section.blocks if isinstance(block, Sheet)] == [
        "synthetic-released-start-he-uniform-0.01"
    ]


def test_a_run_tells_its_choices():
    found = [record("relu", "step", [0.2]), record("relu", "step", [0.4], start="he-uniform", loss="mse")]
    assert describe_records(found) == [
        "relu, noise 0.01, released recipes: step 0.2000",
        "relu, noise 0.01, released recipes, start he-uniform, loss mse: step 0.4000",
    ]


def test_the_page_shows_the_choice_of_the_published_recipes_first():
    section = synthetic_section(read_results(RESULTS))
    (fold,) = (
        block for block in section.blocks if getattr(block, "summary", "") == "What the paper chooses its variant by"
    )
    assert [sheet.name for sheet in fold.blocks] == ["synthetic-released-choice", "synthetic-paper-choice"]


def test_the_choice_of_the_variant_is_that_of_the_papers_text():
    """PCS-CL is lowest on 2 of 7 functions at noise 0.04; CL-regression degrades with noise; Cubic explodes on most."""
    (sheet,) = choice_sheets(as_published()).values()
    cells = {row[0].text: [(cell.text, cell.below) for cell in row[1:]] for row in sheet.rows}
    assert all(ours == paper for row in cells.values() for ours, paper in row)
    assert cells["PCS-CL"][1][0] == "2"
    assert [ours for ours, _ in cells["CL-regression"][2:4]] == ["6", "3"]
    assert [ours for ours, _ in cells["CL-extrapolate"][2:4]] == ["7", "5"]
    assert [ours for ours, _ in cells["Cubic"][4:]] == ["6", "6"]
    assert "released recipes" in sheet.caption
    assert choice_sheets(as_published()[:-1]) == {}


@pytest.mark.parametrize(
    ("values", "settings", "said"),
    [
        ([0.3] * 10, {"epochs": 10}, "epochs: 10 instead of 300"),
        ([0.3] * 2, {}, "seeds: 2 instead of 10"),
        ([0.3] * 10, {"learning_rate": 0.1}, "learning rate: 0.1 instead of 0.01"),
    ],
)
def test_a_run_with_other_settings_than_the_papers_is_not_judged(values, settings, said):
    made = record("relu", "pendulum", values)
    made = replace(made, spec={**made.spec, **settings})
    rows = rows_of([made])
    assert comparison(rows[0]) == ("", "")
    assert said in caption(rows)
    lines = comparison_lines(agreement_of(rows))
    assert lines == [f"- Not compared with the paper: 1 cells, run with other settings ({said})."]
    assert not any(word in "".join(lines) for word in ("agree", "above", "Exception"))
    assert set(rows[0].exported()) == set(KEYS)


def full_disk(_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_documents_are_filled_between_their_markers(tmp_path, monkeypatch):
    path = tmp_path / "doc.md"
    path.write_text(
        "before\n<!-- begin: a -->\nold\n<!-- end: a -->\n<!-- begin: b -->\nkept\n<!-- end: b -->\nafter\n"
    )
    update_document(path, {"a": "new\nlines\n"})
    update_document(path, {"a": "new\nlines\n"})
    assert path.read_text() == (
        "before\n<!-- begin: a -->\nnew\nlines\n<!-- end: a -->\n<!-- begin: b -->\nkept\n<!-- end: b -->\nafter\n"
    )
    with pytest.raises(LabError, match="no block"):
        update_document(path, {"c": ""})
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(LabError, match=r"cannot update .*No space left"):
            update_document(path, {"a": "lost"})
    assert path.read_bytes() == before
    with pytest.raises(LabError, match="cannot update"):
        update_document(tmp_path / "none.md", {"a": ""})


def test_the_command_writes_every_form(tmp_path, capsys):
    results = tmp_path / "results"
    write_record(results / "one.json", record("cl-extrapolate", "gravity", [0.02, 0.03]))
    document = tmp_path / "doc.md"
    document.write_text("<!-- begin: synthetic-released-0.01 -->\n<!-- end: synthetic-released-0.01 -->\n")
    files = {name: tmp_path / f"table.{name}" for name in ("markdown", "csv", "json")}
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    assert run_command(["report", "synthetic", "--results", str(results), *words, "--update", str(document)]) == 0
    assert "0.025 ± 0.007" in capsys.readouterr().out
    assert json.loads(files["json"].read_text())[0]["paper_std"] == 0.002
    assert files["csv"].read_text().startswith(",".join(KEYS))
    assert "CL-extrapolate" in files["markdown"].read_text()
    assert "CL-extrapolate" in document.read_text()


@pytest.mark.parametrize("arguments", [["--recipe", "paper"], ["--noise", "0.04"], ["--results", "nowhere"]])
def test_nothing_to_report_gets_one_sentence(arguments, tmp_path, capsys):
    write_record(tmp_path / "one.json", record("relu", "step", [0.02]))
    words = arguments if "--results" in arguments else [*arguments, "--results", str(tmp_path)]
    assert run_command(["report", "synthetic", *words]) == 2
    assert re.fullmatch(r"chebact: .*\n", capsys.readouterr().err)


def test_the_document_is_what_the_records_give():
    text = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    sections = document_blocks(rows_of(records_under(RESULTS)))
    blocks = set(re.findall(r"<!-- begin: (synthetic-\S+) -->", text))
    assert blocks
    assert blocks <= set(sections)  # a block without records would be left as it is
    assert fill_blocks(text, sections) == text
