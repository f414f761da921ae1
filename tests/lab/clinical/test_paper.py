"""The paper's table of DementiaBank: its cells, the released scores behind them, and what stands beside them."""

import re
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from scipy import stats
from statsmodels.stats.diagnostic import lilliefors as tabled_lilliefors

from chebact.lab.cli import run_command
from chebact.lab.clinical.cohorts import generated_cohort
from chebact.lab.clinical.models import network_of
from chebact.lab.clinical.paper_sheets import paper_blocks, paper_sheets
from chebact.lab.clinical.published import ACTIVATION_CELLS, COLUMNS, RIGHT, printed_cell, released_seeds
from chebact.lab.clinical.record import ClinicalRecord
from chebact.lab.clinical.rerun import clinical_commands
from chebact.lab.clinical.rows import rows_of, tables_of
from chebact.lab.clinical.run import ClinicalRequest
from chebact.lab.clinical.section import sections
from chebact.lab.page.document import Fold, Missing
from chebact.lab.page.results import Results, read_results
from chebact.lab.page.sheet import Sheet
from chebact.lab.stats import lilliefors, stars, welch

CELLS = [(*cell, metric) for cell in RIGHT for metric in COLUMNS]


@pytest.fixture(scope="module")
def committed(request):
    return tables_of(rows_of(read_results(request.config.rootpath / "results" / "clinical").typed(ClinicalRecord)))


@pytest.mark.parametrize(("model", "width", "metric"), CELLS)
def test_the_released_scores_give_the_printed_cells(model, width, metric):
    """The paper's means and deviations are those of the released scores, to the digit that it prints."""
    scores = released_seeds(model, width)[metric]
    assert len(scores) == 30
    assert f"{statistics.fmean(scores):.1f}" == f"{ACTIVATION_CELLS[model, width, metric][0]:.1f}"
    assert f"{statistics.stdev(scores):.1f}" == f"{ACTIVATION_CELLS[model, width, metric][1]:.1f}"


def test_the_released_scores_are_those_of_the_released_file():
    """First scores of linkvsrelu-visual.json, as they stand there."""
    found = {metric: scores[0] / 100 for metric, scores in released_seeds("cl-extrapolate", 32).items()}
    assert found["accuracy"] == pytest.approx(0.8525798525798526, abs=1e-15)
    assert found["sensitivity"] == pytest.approx(0.8202247191011236, abs=1e-15)
    assert found["specificity"] == pytest.approx(0.8777292576419214, abs=1e-15)
    assert found["micro_f1"] == pytest.approx(0.8295454545454546, abs=1e-15)
    assert released_seeds("tanh", 64)["micro_f1"][29] / 100 == pytest.approx(0.8258426966292135, abs=1e-15)


def test_the_printed_stars_follow_from_the_scores_but_for_one_cell():
    """By scipy's Welch test; sensitivity at width 64 has two stars in the paper."""
    for width in (32, 64):
        ours, theirs = (released_seeds(model, width) for model in ("cl-extrapolate", "tanh"))
        for metric in COLUMNS:
            truth = stats.ttest_ind(ours[metric], theirs[metric], equal_var=False).pvalue
            assert welch(ours[metric], theirs[metric]) == pytest.approx(truth)
            printed = printed_cell("cl-extrapolate", width, metric)
            if (width, metric) == (64, "sensitivity"):
                assert truth == pytest.approx(0.017, abs=5e-4)
                assert printed.endswith(" 1.3**")
            else:
                assert printed.count("*") == len(stars(truth))


def test_the_claim_of_normality_holds_of_micro_f1_only():
    """statsmodels' table of Lilliefors' distribution agrees on which p-values are above 0.10."""
    claimed = [(model, width) for model, width in RIGHT if model != "relu"]
    refused = set()
    for cell in claimed:
        for metric in COLUMNS:
            scores = released_seeds(*cell)[metric]
            p, tabled = lilliefors(scores), tabled_lilliefors(scores, pvalmethod="table")[1]
            assert p == pytest.approx(tabled, abs=0.02) or tabled > 0.2
            refused |= {(*cell, metric)} if p <= 0.10 else set()
    assert {metric for *_, metric in refused} == {"accuracy", "sensitivity", "specificity"}
    assert len(refused) == 6


def test_the_published_table_stands_beside_ours(committed):
    sheet = paper_sheets(committed)["clinical-published"]
    texts = [cell.text for row in sheet.rows for cell in row[2:6]]
    cells = [(model, width, metric) for model, width, metric in ACTIVATION_CELLS]
    assert texts == [printed_cell(*cell) for cell in cells]
    assert len(texts) == 32
    assert sheet.caption.startswith("Published: the paper's table of DementiaBank as printed")
    assert "Trained here: the columns on the right" in sheet.caption
    rows = {(row.data, row.model, row.width): row for table in committed for row in table if row.start != "he-uniform"}
    sets = [head.text.replace(" ", "-") for head in sheet.heads[6:]]
    assert set(sets) == {data for data, *_ in rows}
    for line, (model, width) in zip(sheet.rows, dict.fromkeys(cell[:2] for cell in cells), strict=True):
        for data, cell in zip(sets, line[6:], strict=True):
            assert cell.number == rows[data, model, None if model == "1-class" else width].accuracy


def test_the_published_table_needs_no_records():
    (section,) = sections(Results(Path("results"), []))
    assert any(isinstance(block, Missing) and "DementiaBank" in block.sentence for block in section.blocks)
    sheet = next(block for block in section.blocks if isinstance(block, Sheet))
    assert [head.text for head in sheet.heads] == [
        "model",
        "width",
        "Accuracy",
        "Sensitivity",
        "Specificity",
        "Micro-F1",
    ]
    assert sheet.rows[3][2].text == "84.7 ± 0.8***"
    assert "Trained here" not in sheet.caption
    assert "of the cells from here" not in paper_sheets([])["clinical-normality"].caption
    (fold,) = (block for block in section.blocks if isinstance(block, Fold) and "normal" in block.summary)
    assert [row[0].text for row in fold.blocks[0].rows] == ["DementiaBank (published)"] * 4


def test_the_command_shows_the_published_table(request, tmp_path, capsys):
    folder, document = request.config.rootpath / "results" / "clinical", tmp_path / "page.md"
    names = ("published", "normality", "start")
    document.write_text("".join(f"<!-- begin: clinical-{n} -->\nold\n<!-- end: clinical-{n} -->\n" for n in names))
    assert run_command(["report", "clinical", "--results", str(folder), "--update", str(document)]) == 0
    assert "0.8***" in capsys.readouterr().out
    text = document.read_text()
    assert "\nold\n" not in text
    assert r"| CL-extrapolate | 64 | 84.6 ± 0.9\*\*\* | 80.7 ± 1.3\*\* |" in text
    names = ("published", "generated")
    document.write_text("".join(f"<!-- begin: clinical-{n} -->\nold\n<!-- end: clinical-{n} -->\n" for n in names))
    words = ["report", "clinical", "--results", str(folder), "--datasets", "generated", "--update", str(document)]
    assert run_command(words) == 0
    assert document.read_text().count("\nold\n") == 1  # the published table is beside all sets or none


def test_the_page_concludes_with_both_starts(request):
    (section,) = sections(read_results(request.config.rootpath / "results" / "clinical"))
    usual, _, he = section.shows.partition("With He uniform weights: ")
    assert "better (+3.4 points) on generated" in usual
    assert he.startswith("worse (−4.1 points) on generated; worse (−2.3 points) on parkinson-replicated. ")
    words = section.finding.sentence
    assert words.count("generated") == 1


def test_normality_is_that_of_each_seeds_score(committed):
    sheet = paper_sheets(committed)["clinical-normality"]
    row = next(row for table in committed for row in table if (row.data, row.model) == ("generated", "tanh"))
    line = next(line for line in sheet.rows if (line[0].text, line[1].text) == ("generated", "tanh"))
    truth = tabled_lilliefors(row.by_seed["micro_f1"], pvalmethod="table")[1]
    assert line[6].number == pytest.approx(truth, abs=0.02) or truth > 0.2
    shown = [cell for line in sheet.rows for cell in line[3:]]
    assert all(cell.text.startswith("no, ") == (cell.number <= 0.10) for cell in shown)
    counts = re.findall(r"in (\d+) of (\d+)", sheet.caption)
    assert [int(count) for count in counts[0]] == [10, 16]
    assert int(counts[1][0]) == sum(cell.number > 0.10 for cell in shown) - 10


@pytest.fixture(scope="module")
def table():
    whole = generated_cohort()
    return whole.with_features([name for name in whole.features if name.startswith("signal")])


def specs_of(table, **changes):
    asked = ClinicalRequest(table, models=("tanh", "cl-extrapolate"), baselines=(), widths=(32,), **changes)
    return asked.specs(table, "all")


def test_he_uniform_weights_lie_within_the_textbook_bound(table):
    """sqrt(6 / fan-in), from the same draws as torch's own 1 / sqrt(fan-in); biases stay."""
    for spec in specs_of(table, start="he-uniform"):
        draw = {"replicas": 3, "generator": [torch.Generator().manual_seed(seed) for seed in range(3)]}
        again = {**draw, "generator": [torch.Generator().manual_seed(seed) for seed in range(3)]}
        he, usual = network_of(spec, 66, **draw), network_of(replace(spec, start="released"), 66, **again)
        assert 0.97 * (6 / 66) ** 0.5 < float(he.first.weight.detach().abs().max()) <= (6 / 66) ** 0.5 * (1 + 1e-6)
        names = {name for name, _ in he.named_parameters() if name.endswith("weight")}
        assert len(names) == 6
        for name, own in usual.named_parameters():
            torch.testing.assert_close(dict(he.named_parameters())[name], own * (6**0.5 if name in names else 1))


def test_the_start_is_part_of_spec_path_and_command(table, tmp_path):
    (spec, *_), (usual, *_) = specs_of(table, start="he-uniform"), specs_of(table)
    assert spec.path(tmp_path).parts[-2:] == ("average-start-he-uniform", usual.path(tmp_path).name)
    (command,) = clinical_commands([spec])
    assert "--start he-uniform" in command
    assert "--start" not in clinical_commands([usual])[0]


def test_what_the_start_changes_is_paired_by_seed(committed):
    """Against scipy's paired test; models are tested against tanh of the same start."""
    sheet = paper_sheets(committed)["clinical-start"]
    rows = {(row.data, row.model, row.width, row.start): row for table in committed for row in table if row.width}
    changed = [row for (*_, start), row in rows.items() if start == "he-uniform"]
    assert len(sheet.rows) == len(changed) > 0
    titles = {"ReLU": "relu", "tanh": "tanh", "CL-extrapolate": "cl-extrapolate"}
    for line in sheet.rows:
        cell = (line[0].text, titles[line[1].text], int(line[2].number))
        he, usual = (rows[(*cell, start)] for start in ("he-uniform", "released"))
        truth = stats.ttest_rel(he.by_seed["accuracy"], usual.by_seed["accuracy"]).pvalue
        assert line[5].number == pytest.approx(truth)
        assert line[4].text.startswith(f"{statistics.fmean(he.by_seed['accuracy']):.1f} ±")
        assert line[6].below.startswith(f"{statistics.fmean(usual.by_seed['micro_f1']):.1f} ±")
        assert line[4].below.startswith(f"{statistics.fmean(usual.by_seed['accuracy']):.1f} ±")
        if he.model != "tanh":
            tanh = rows[he.data, "tanh", he.width, "he-uniform"]
            assert line[7].number == pytest.approx(he.accuracy - tanh.accuracy)
            above = usual.accuracy - rows[he.data, "tanh", he.width, "released"].accuracy
            assert line[7].below.startswith(f"{above:+.1f}".replace("-", "−"))
    assert "clinical-start" not in paper_blocks([t for t in committed if not any(r.start == "he-uniform" for r in t)])
