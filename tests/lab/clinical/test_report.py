"""`chebact report clinical`: which rows stand in one table, what they are tested against, and what is written where."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from chebact.lab import LabError
from chebact.lab.cli import run_command
from chebact.lab.clinical.classification import METRICS, Metric, pool_folds
from chebact.lab.clinical.rows import is_dementiabank, tables_of
from chebact.lab.clinical.rows import rows_of as rows_of_typed
from chebact.lab.clinical.section import sections
from chebact.lab.clinical.sheets import arrows, caption, document_blocks, sheets_of
from chebact.lab.clinical.spec import BaselineSpec, NetworkSpec
from chebact.lab.page.document import pictures_in
from chebact.lab.page.documents import update_document
from chebact.lab.page.results import Results, read_results
from chebact.lab.page.sheet import Sheet
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, write_record

NETWORKS = {"shortcut": "average", "epochs": 300}


def record(model, width=None, seed=0, **changes):
    """A record whose counts are drawn: 40 recordings of two folds, six seeds."""
    random = np.random.default_rng(seed)
    spec = {"data": "voices", "digest": "d1", "generated": False, "labels": "true", "recordings": 40, "subjects": 20}
    spec |= {"positive": 20, "features": 2, "choice": "all", "seeds": 6, "folds": 2, "model": model}
    spec |= {} if width is None else {**NETWORKS, "width": width}
    spec |= changes
    kind = BaselineSpec if width is None else NetworkSpec
    spec = as_plain(kind(**spec))
    right = random.integers(4, 10, (spec["seeds"], spec["folds"], 2))
    seeds = [
        {"seed": s, "folds": [[int(p), int(10 - n), int(n), int(10 - p)] for p, n in own]}
        for s, own in enumerate(right)
    ]
    return Record("clinical", spec, {"parameters": None if width is None else 9, "seeds": seeds}, {}, {"seconds": 1})


def rows_of(records, *against):
    return rows_of_typed([each.typed for each in records], *against)


def stored(folder, *records):
    for place, each in enumerate(records):
        write_record(folder / each.spec["data"] / str(place) / "record.json", each)
    return folder


@pytest.fixture
def command(capsys):
    def run(*words):
        code = run_command(["report", "clinical", *(str(word) for word in words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.mark.parametrize("against", ["svm", "1-class"])
def test_networks_are_tested_against_models_without_a_width(against):
    found = [record("relu", 32), record("relu", 64, 1), record("svm", seed=2), record("1-class", seed=3)]
    rows = {(row.model, row.width): row for row in rows_of(found, against)}
    other = rows[against, None]
    assert other.p_welch is None
    for width in (32, 64):
        row = rows["relu", width]
        truth = stats.ttest_ind(row.by_seed["accuracy"], other.by_seed["accuracy"], equal_var=False)
        assert row.p_welch == pytest.approx(truth.pvalue)
        assert row.p_paired == pytest.approx(stats.ttest_rel(row.by_seed["accuracy"], other.by_seed["accuracy"]).pvalue)
        assert (row.against, row.against_width) == (against, None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"digest": "d2"}, "table d2"),
        ({"choice": "boruta on others"}, "(boruta on others)"),
        ({"seeds": 5}, "5 seeds"),
        ({"folds": 5}, "5 folds"),
        ({"epochs": 7}, "epochs: 7"),
    ],
)
def test_what_is_not_of_one_kind_does_not_stand_in_one_table(changes, said):
    one, two = record("tanh", 32), record("relu", 32, 1, **changes)
    rows = rows_of([one, two, record("svm")])
    first, second = tables_of(rows)
    assert {row.model for row in first + second} == {"tanh", "relu", "svm"}
    (own,) = [table for table in (first, second) if any(row.model == "relu" for row in table)]
    assert said in caption(own)
    assert said not in caption(second if own is first else first)
    assert ("svm" in [row.model for row in own]) == ("epochs" in changes)
    assert not any(row.against for row in own)
    text = document_blocks([first, second])["clinical-voices"]
    assert text.count("**Data: voices") == 2


def test_models_without_a_width_are_tested_within_their_table():
    found = [record("tanh", 32), record("tanh", 64, 1), record("tanh", 64, 2, shortcut="add"), record("svm", seed=3)]
    average, added = tables_of(rows_of(found))
    for table, width in ((average, 32), (added, 64)):
        svm = next(row for row in table if row.model == "svm")
        tanh = next(row for row in table if (row.model, row.width) == ("tanh", width))
        truth = stats.ttest_ind(svm.by_seed["accuracy"], tanh.by_seed["accuracy"], equal_var=False).pvalue
        assert svm.p_welch == pytest.approx(truth)
        assert (svm.against_shortcut, svm.against_width) == (tanh.shortcut, width)
        assert f"(models without a width: than tanh, width {width})" in sheets_of(table)[0].caption
    assert average[-1].p_welch != added[-1].p_welch


def test_tables_without_the_reference_have_no_tests(tmp_path, command):
    stored(tmp_path / "r", record("relu", 32))
    code, shown, said = command("--results", tmp_path / "r", "--json", tmp_path / "rows.json")
    assert code == 0, said
    assert "ReLU" in shown
    assert "by Welch's" not in shown
    assert "p-values (Lilliefors" not in shown
    assert json.loads((tmp_path / "rows.json").read_text())[0]["p_welch"] is None
    code, _, said = command("--results", tmp_path / "r", "--against", "tanh")
    assert code == 2
    assert "--against must be one of relu, got 'tanh'" in said


def test_brackets_in_names_are_printed_as_they_are(tmp_path, command):
    stored(tmp_path / "r", record("tanh", 32, choice="boruta on fp [/s] [red] :smile:"))
    code, shown, _ = command("--results", tmp_path / "r", "--markdown", tmp_path / "t.md")
    assert code == 0
    assert "(boruta on fp [/s] [red] :smile:)" in shown


def test_documents_keep_the_blocks_of_data_that_are_not_asked_for(tmp_path, command):
    both = ("parkinson-replicated", "parkinson-multiple")
    folder = stored(tmp_path / "r", *(record("tanh", 32, data=name) for name in both))
    page = tmp_path / "page.md"
    page.write_text(
        "".join(f"<!-- begin: clinical-{n} -->\nold\n<!-- end: clinical-{n} -->\n" for n in (*both, "generated"))
    )
    assert command("--results", folder, "--datasets", both[1], "--update", page)[0] == 0
    first, second, third = re.findall(r"begin: \S+ -->\n(.*?)<!-- end", page.read_text(), re.DOTALL)
    assert (first, third) == ("old\n", "Not run yet.\n")
    assert "| tanh | 32 |" in second


def test_a_folder_with_other_experiments_and_data_called_bench(tmp_path, command):
    folder = stored(tmp_path / "r", record("tanh", 32, data="bench"), record("tanh", 32, seed=1))
    write_record(folder / "synthetic" / "a.json", Record("trial", {"dataset": "step"}, {"seeds": []}, {}, {}))
    (folder / "bench" / "ops.machine.json").write_text("{}")
    assert {each.spec.get("data") for each in read_results(folder).records} == {"bench", "voices", None}
    code, shown, said = command("--results", folder, "--datasets", "bench", "--csv", tmp_path / "rows.csv")
    assert code == 0, said
    assert "Data: bench" in shown
    assert "voices" not in shown


def test_rows_are_not_written_among_the_records(tmp_path, command):
    folder = stored(tmp_path / "r", record("tanh", 32))
    code, _, said = command("--results", folder, "--json", folder / "voices" / ".." / "rows.json")
    assert code == 2
    assert "write it elsewhere" in said
    assert not (folder / "rows.json").exists()
    assert command("--results", folder, "--csv", folder / "rows.csv")[0] == 0
    assert command("--results", folder, "--json", tmp_path / "rows.json")[0] == 0


def test_the_papers_figures_stand_beside_the_papers_data_alone():
    paper = {"data": "dementiabank", "recordings": 407, "positive": 178, "features": 66}
    spec = record("tanh", 32, **paper).typed.spec
    assert is_dementiabank(spec)
    assert is_dementiabank(replace(spec, features=60, choice="boruta on fp-34-am"))
    other = ({"recordings": 400}, {"positive": 229}, {"features": 65}, {"labels": "shuffled"}, {"data": "voices"})
    for change in (*other, {"choice": "boruta in folds, 150 trees, 100 rounds"}):
        (row,) = rows_of([record("tanh", 32, **{**paper, **change})])
        assert not is_dementiabank(row.spec)
        assert row.paper_accuracy is None


def test_features_chosen_in_the_folds_leave_no_number_of_parameters():
    (row,) = rows_of([record("tanh", 32, choice="boruta in folds, 150 trees, 100 rounds")])
    assert row.parameters is None


def test_a_document_that_is_no_text(tmp_path):
    page = tmp_path / "page.md"
    page.write_bytes(b"\xff\xfe<!-- begin: a -->")
    with pytest.raises(LabError, match=r"page\.md: it is not text in UTF-8"):
        update_document(page, {"a": "new"})


def test_committed_records_are_one_table_per_start(tmp_path, request):
    folder = request.config.rootpath / "results" / "clinical" / "generated"
    shutil.copytree(folder, tmp_path / "generated")
    tables = tables_of(rows_of(read_results(tmp_path).records_of("clinical")))
    for table, start in zip(tables, ("released", "he-uniform"), strict=True):
        assert {row.start for row in table} == {start, None}
        assert [row.model for row in table].count("tanh") == 2
        assert all(row.against == "tanh" for row in table if row.model != "tanh")
        assert ("He uniform weights" in caption(table)) == (start == "he-uniform")
    assert document_blocks(tables).keys() == {"clinical-generated", "clinical-generated-he-uniform"}


def test_scores_on_dementiabank_are_coloured_beside_the_published_ones():
    spec = {"data": "dementiabank", "recordings": 407, "positive": 178, "features": 66, "folds": 10}
    (page,) = sections(Results(Path("results"), [record("tanh", 32, **spec), record("1-class", seed=1, **spec)]))
    table = next(block for block in page.blocks if isinstance(block, Sheet))
    assert table.toned
    majority, tanh = table.rows
    (row,) = (row for row in rows_of([record("tanh", 32, **spec)]))
    away = (row.accuracy - 82.7) / 1.2
    assert (tanh[3].below, tanh[3].away) == ("82.7 ± 1.2", f"{away:+.1f}".replace("-", "−"))
    assert tanh[3].tone == "far"  # the drawn counts are worse by many deviations
    assert (majority[3].below, majority[3].tone) == ("56.3 ± 0.0", "")  # a deviation of zero measures nothing
    (others,) = sections(Results(Path("results"), [record("tanh", 32)]))
    assert not any(block.toned for block in others.blocks if isinstance(block, Sheet))


def test_scores_of_other_settings_than_the_papers_are_not_coloured():
    spec = {"data": "dementiabank", "recordings": 407, "positive": 178, "features": 66, "folds": 10, "epochs": 7}
    sheet = sheets_of(rows_of([record("tanh", 32, **spec)]))[0]
    assert not sheet.toned
    assert "(not comparable, epochs: 7 instead of 300)" in sheet.caption
    assert {cell.tone for cell in sheet.rows[0]} == {""}


def scored(model, width, right, seeds=6):
    """A record of two folds of 20 whose accuracy is right/20 in every seed but for one recording."""
    made = record(model, width, seeds=seeds)
    half = right // 2
    folds = [[[half + (s % 2), 10 - half, half, 10 - half - (s % 2)]] * 2 for s in range(seeds)]
    results = {**made.results, "seeds": [{"seed": s, "folds": own} for s, own in enumerate(folds)]}
    return Record("clinical", made.spec, results, {}, {"seconds": 1})


@pytest.mark.parametrize(("seeds", "better", "worse"), [(6, " ↑↑", " ↓↓"), (4, "", "")])
def test_arrows_point_to_the_better_side_and_need_five_seeds(seeds, better, worse):
    """Welch's t test of scipy says how sure, the sign of the difference which way."""
    found = [scored("tanh", 32, 14, seeds), scored("cl-extrapolate", 32, 18, seeds), scored("relu", 32, 8, seeds)]
    rows = {row.model: row for row in rows_of(found)}
    ours, tanh = rows["cl-extrapolate"].by_seed["accuracy"], rows["tanh"].by_seed["accuracy"]
    assert stats.ttest_ind(ours, tanh, equal_var=False).pvalue < 0.001
    assert arrows(rows["cl-extrapolate"], "accuracy") == better
    assert arrows(rows["relu"], "accuracy") == worse
    assert arrows(rows["tanh"], "accuracy") == ""


def test_a_column_is_one_row_of_the_metrics(monkeypatch):
    """A new metric appears in the rows, the table and the figures without another line."""
    metric = Metric("Errors, %", lambda seed: 1 - pool_folds(seed).accuracy, ("scores",))
    monkeypatch.setitem(METRICS, "errors", metric)
    (row,) = rows_of([record("tanh", 32)])
    assert row.values["errors"] == pytest.approx(100 - row.accuracy)
    sheet = sheets_of([row])[0]
    assert sheet.heads[-1].text == "Errors, %"
    assert sheet.rows[0][-1].number == row.values["errors"]
    (section,) = sections(Results(Path("results"), [record("tanh", 32)]))
    assert any("Errors, % in percent" in panel.alt for p in pictures_in(section.blocks) for panel in p.panels)


def test_roc_auc_is_shown_where_it_was_recorded_and_not_invented_elsewhere():
    old, new = record("tanh", 32), record("relu", 32, 1)
    for place, seed in enumerate(new.results["seeds"]):
        seed["roc_auc"] = [0.8, 0.9 + place / 100]
    sheet = sheets_of(rows_of([old]))[0]
    assert "ROC AUC" not in [head.text for head in sheet.heads]
    assert "ROC AUC (the mean of the folds') is not recorded" in sheet.notes[0]
    rows = rows_of([old, new])
    assert [row.values["roc_auc"] for row in rows if row.model == "relu"] == [pytest.approx(100 * (1.7 + 0.025) / 2)]
    sheet = sheets_of(rows)[0]
    assert sheet.heads[-1].text == "ROC AUC"
    shown = {line[0].text: line[-1].text for line in sheet.rows}
    assert shown["tanh"] == "not recorded"
    assert shown["ReLU"].startswith("86.2 ±")
