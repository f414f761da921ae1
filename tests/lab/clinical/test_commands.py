"""`chebact run clinical` and `chebact report clinical` as their users meet them."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from support.clinical_tables import write_dementiabank

from chebact.lab.cli import run_command
from chebact.lab.clinical.rows import rows_of
from chebact.lab.clinical.sheets import markdown
from chebact.lab.clinical.spec import BaselineSpec, NetworkSpec
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, read_record, records_under

ROOT = Path(__file__).resolve().parents[3]
TINY = ["--models", "1-class", "tanh", "cl-extrapolate", "--baselines", "logistic", "--widths", "4"]
TINY += ["--seeds", "4", "--folds", "3", "--epochs", "2", "--workers", "1"]
KEYS = {"data", "model", "width", "seeds", "accuracy", "accuracy_std", "sensitivity", "sensitivity_std", "specificity"}
KEYS |= {"micro_f1", "macro_f1", "best_macro_f1", "p_welch", "p_paired", "lilliefors", "generated", "parameters"}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def command(capsys):
    def run(*words):
        code = run_command([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def csv_text(subjects=24, features=4, seed=0, shift=1.5):
    """A table of two recordings a subject; the first feature tells the classes apart."""
    random = np.random.default_rng(seed)
    lines = ["who,session,ill," + ",".join(f"f{i}" for i in range(features))]
    for recording in range(2 * subjects):
        ill = recording // 2 % 2
        x = random.standard_normal(features)
        x[0] += shift * ill
        lines.append(f"p{recording // 2},{recording % 2},{'yes' if ill else 'no'}," + ",".join(f"{v:.6f}" for v in x))
    return "\n".join(lines) + "\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "voices.csv"
    path.write_text(csv_text())
    return path


def own(path, *words):
    """The command on a table of one's own; of an option that comes twice the last counts."""
    columns = ["--subject", "who", "--label", "ill", "--positive", "yes", "--drop", "session"]
    given = {}
    for word in ["--data", path, *columns, *TINY, "--results", path.parent / "results", *words]:
        if str(word).startswith("--"):
            given[word] = values = []
        else:
            values.append(word)
    return ["run", "clinical", *(word for option, values in given.items() for word in (option, *values))]


def contents(folder):
    texts = {str(path.relative_to(folder)): json.loads(path.read_text()) for path in folder.rglob("*.json")}
    return {name: {part: value for part, value in parts.items() if part != "run"} for name, parts in texts.items()}


def test_a_table_of_ones_own_from_end_to_end(table, command):
    code, _, shown = command(*own(table))
    assert code == 0, shown
    assert "voices (your data): 48 recordings of 24 subjects, 4 features" in shown
    results = table.parent / "results"
    assert sorted(contents(results)) == [
        "voices/average/cl-extrapolate-4.json",
        "voices/average/tanh-4.json",
        "voices/baselines/1-class.json",
        "voices/baselines/logistic.json",
    ]
    files = {name: table.parent / f"rows.{name}" for name in ("json", "csv", "markdown")}
    code, shown, _ = command(
        "report", "clinical", "--results", results, *(w for n, p in files.items() for w in (f"--{n}", p))
    )
    assert code == 0
    assert "CL-extrapolate" in shown
    assert "Generated" not in shown
    assert "(published, DementiaBank)" not in shown  # no other systems beside one's own data
    rows = json.loads(files["json"].read_text())
    assert set(rows[0]) >= KEYS
    assert [(row["model"], row["width"]) for row in rows] == [
        ("1-class", None),
        ("tanh", 4),
        ("cl-extrapolate", 4),
        ("logistic", None),
    ]
    assert rows[0]["accuracy"] == 50
    assert rows[3]["accuracy"] > 60
    lines = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert [line["accuracy"] for line in lines] == [str(row["accuracy"]) for row in rows]
    assert files["markdown"].read_text().count("| CL-extrapolate | 4 |") == 3


def test_he_uniform_weights_stand_beside_the_usual_start(table, command):
    seeds = ("--seeds", "5")
    assert command(*own(table, *seeds))[0] == 0
    assert command(*own(table, *seeds, "--start", "he-uniform"))[0] == 0
    found = contents(table.parent / "results")
    changed, usual = (found[f"voices/{folder}/tanh-4.json"] for folder in ("average-start-he-uniform", "average"))
    assert changed["spec"] == usual["spec"] | {"start": "he-uniform"}
    assert [seed["loss"] for seed in changed["results"]["seeds"]] != [
        seed["loss"] for seed in usual["results"]["seeds"]
    ]
    code, shown, _ = command("report", "clinical", "--results", table.parent / "results", "--text", table.parent / "t")
    assert code == 0
    assert shown.count("He uniform weights") == 1  # the caption of a table of their own
    assert "What He's uniform start" in shown
    code, _, said = command(*own(table, "--start", "normal"))
    assert code == 2
    assert "he-uniform" in said


def test_the_rows_are_what_scipy_makes_of_the_records(table, command):
    command(*own(table))
    records = {record.spec["model"]: record for record in records_under(table.parent / "results")}
    accuracy = {
        model: [100 * sum(f[0] + f[2] for f in seed["folds"]) / 48 for seed in record.results["seeds"]]
        for model, record in records.items()
    }
    row = next(row for row in rows_of(each.typed for each in records.values()) if row.model == "cl-extrapolate")
    ours, tanh = np.array(accuracy["cl-extrapolate"]), np.array(accuracy["tanh"])
    assert row.accuracy == pytest.approx(ours.mean())
    assert row.accuracy_std == pytest.approx(ours.std(ddof=1))
    assert row.p_welch == pytest.approx(stats.ttest_ind(ours, tanh, equal_var=False).pvalue)
    assert row.p_paired == pytest.approx(stats.ttest_rel(ours, tanh).pvalue)
    assert (row.against, row.against_width) == ("tanh", 4)


def test_it_goes_on_where_it_was_stopped_and_workers_change_nothing(table, command):
    command(*own(table))
    results = table.parent / "results"
    before = contents(results)
    kept, lost = results / "voices/average/tanh-4.json", results / "voices/average/cl-extrapolate-4.json"
    lost.unlink()
    stamp = kept.stat().st_mtime_ns
    code, _, shown = command(*own(table))
    assert code == 0
    assert "cl-extrapolate, width 4" in shown
    assert "tanh, width 4" not in shown
    assert kept.stat().st_mtime_ns == stamp
    assert contents(results) == before
    two = table.parent / "two"
    command(*own(table, "--results", two, "--workers", "2"))
    assert contents(two) == before


def test_changed_data_or_settings_are_refused(table, command):
    command(*own(table))
    before = contents(table.parent / "results")
    code, _, said = command(*own(table, "--seeds", "5"))
    assert code == 2
    assert "seeds is 4 there and 5 here" in said
    table.write_text(csv_text(seed=1))
    code, _, said = command(*own(table))
    assert code == 2
    assert "digest is" in said
    assert contents(table.parent / "results") == before


def test_features_chosen_on_a_second_table_and_in_the_folds(table, command):
    second = table.parent / "second.csv"
    second.write_text(csv_text(seed=7, shift=3).replace("session", "visit"))
    quick = ["--trees", "20", "--rounds", "20", "--models", "tanh", "--baselines", "none"]
    code, _, shown = command(*own(table, "--select", second, *quick))
    assert code == 0, shown
    results = table.parent / "results" / "voices"
    assert "f0" in read_record(results / "choice" / "cohort.json").results["features"]
    spec = read_record(results / "average" / "tanh-4.json").spec
    assert spec["choice"] == "boruta on second"
    assert spec["features"] < 4
    code, _, shown = command(
        *own(table, "--select", "folds", *quick, "--results", table.parent / "folds", "--seeds", "2")
    )
    assert code == 0, shown
    chosen = [read_record(table.parent / "folds/voices/choice" / f"seed-0{seed}.json") for seed in range(2)]
    assert all(0 in fold["columns"] for record in chosen for fold in record.results["folds"])
    assert "in folds" in read_record(table.parent / "folds/voices/average/tanh-4.json").spec["choice"]


def test_features_are_not_chosen_on_what_is_tested_later(table, command):
    copy = table.parent / "copy.csv"
    copy.write_text(
        "\n".join([csv_text().splitlines()[0], *csv_text(seed=9).splitlines()[1:], csv_text().splitlines()[7]])
    )
    for second, count in ((table, 48), (copy, 1)):
        code, _, said = command(*own(table, "--select", second))
        assert code == 2
        assert f"have {count} of their recordings in common" in said
        assert "--select folds" in said


def test_the_default_is_generated_and_says_so(tmp_path, command):
    code, _, shown = command("run", "clinical", *TINY, "--trees", "5", "--rounds", "8", "--results", tmp_path)
    assert code == 0, shown
    assert "generated data, nobody was recorded" in shown
    record = read_record(tmp_path / "generated/average/tanh-4.json")
    assert record.spec["generated"] is True
    assert (record.spec["recordings"], record.spec["positive"]) == (407, 178)
    assert record.spec["choice"] == "boruta on generated-choice"
    code, shown, _ = command("report", "clinical", "--results", tmp_path, "--json", tmp_path / "rows")
    assert shown.startswith("Generated data (nobody was recorded)")
    assert "not to be compared" in " ".join(shown.split())
    assert all(row["generated"] for row in json.loads((tmp_path / "rows").read_text()))


def test_shuffled_labels_have_a_folder_of_their_own(table, command):
    code, _, _ = command(*own(table, "--labels", "shuffled", "--models", "tanh", "--baselines", "none"))
    assert code == 0
    assert [*contents(table.parent / "results")] == ["voices-shuffled/average/tanh-4.json"]


def test_the_dementiabank_preset_stands_beside_the_published_figures(tmp_path, command):
    settings = ["--models", "tanh", "--widths", "32", "64", "--seeds", "2", "--folds", "3", "--epochs", "1"]
    words = [
        "--data",
        write_dementiabank(tmp_path / "db-34-am.csv"),
        "--preset",
        "dementiabank",
        *settings,
        "--baselines",
        "svm",
    ]
    code, _, shown = command("run", "clinical", *words, "--workers", "1", "--results", tmp_path / "r")
    assert code == 0, shown
    assert "407 recordings of 407 subjects, 66 features; left out: 8 recordings of other diagnoses" in " ".join(
        shown.split()
    )
    code, shown, _ = command("report", "clinical", "--results", tmp_path / "r", "--json", tmp_path / "rows.json")
    assert "(82.7 ± 1.2)" in shown
    assert "SVM (published, DementiaBank)" in shown
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["paper_accuracy"] for row in rows] == [82.7, 83.1, None]
    assert [row["parameters"] for row in rows] == [6434, 21058, None]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--models", "relu6"], ["relu6", "cl-extrapolate"]),
        (["--baselines", "xgboost"], ["xgboost", "logistic"]),
        (["--folds", "25"], ["folds must be from 2 to 24", "got 25"]),
        (["--folds", "1"], ["folds must be from 2 to 24", "got 1"]),
        (["--seeds", "0"], ["seeds", "0"]),
        (["--widths", "0"], ["width", "0"]),
        (["--epochs", "-1"], ["epochs", "-1"]),
        (["--shortcut", "mean"], ["mean", "average"]),
        (["--subject", "id"], ["'id'", "'who'"]),
        (["--positive", "ill"], ["beside 'ill'", "'no', 'yes'"]),
        (["--preset", "alzheimer"], ["alzheimer", "dementiabank"]),
        (["--features", "nothing.txt"], ["nothing.txt", "all"]),
        (["--select", "nothing.csv"], ["nothing.csv", "No such file"]),
        (["--name", "a/b"], ["'a/b'", "--name"]),
        (["--name", "generated"], ["'generated'"]),
        (["--name", "a" * 101], ["100 at most"]),
        (["--models", "none", "--baselines", "none"], ["nothing is asked for"]),
        (["--labels", "mixed"], ["mixed", "shuffled"]),
    ],
)
def test_bad_arguments_get_one_sentence(table, command, words, parts):
    code, _, said = command(*own(table, *words))
    assert code == 2
    last = said.strip().splitlines()[-1]
    assert last.startswith("chebact: ")
    assert all(part in last for part in parts), last
    assert not contents(table.parent / "results") if (table.parent / "results").exists() else True


def test_a_bad_cell_is_named_by_row_and_column(table, command):
    lines = table.read_text().splitlines()
    lines[4] = lines[4].replace(lines[4].split(",")[5], "loud")
    table.write_text("\n".join(lines))
    code, _, said = command(*own(table))
    assert code == 2
    assert "row 5, column 'f2': the cell must be a finite number, got 'loud'" in said
    code, _, said = command("run", "clinical", "--data", table)
    assert "--subject, --label, --positive" in said
    code, _, said = command("run", "clinical", "--subject", "who")
    assert "--data" in said


def test_report_errors(tmp_path, table, command):
    assert "run an experiment first" in command("report", "clinical", "--results", tmp_path / "none")[2]
    (tmp_path / "empty").mkdir()
    assert "no clinical records" in command("report", "clinical", "--results", tmp_path / "empty")[2]
    command(*own(table, "--models", "tanh", "--baselines", "none"))
    code, _, said = command("report", "clinical", "--results", tmp_path / "results", "--against", "relu")
    assert code == 2
    assert "'relu'" in said
    assert "tanh" in said


def test_documents_are_filled_and_say_what_has_not_been_run(tmp_path, table, command):
    command(*own(table, "--models", "tanh", "--baselines", "none", "--name", "parkinson-multiple"))
    page = tmp_path / "page.md"
    names = ("clinical-generated", "clinical-parkinson-multiple")
    page.write_text("".join(f"<!-- begin: {name} -->\nold\n<!-- end: {name} -->\n" for name in names))
    assert command("report", "clinical", "--results", tmp_path / "results", "--update", page)[0] == 0
    first, second = re.findall(r"-->\n(.*?)<!-- end", page.read_text(), re.DOTALL)
    assert first == "Not run yet.\n"
    assert "| tanh | 4 |" in second


def record(model, folds, width=32, data="generated"):
    spec = {"data": data, "generated": data == "generated", "labels": "true", "recordings": 8, "subjects": 4}
    spec |= {
        "features": 2,
        "choice": "all",
        "model": model,
        "seeds": len(folds),
        "folds": 2,
        "digest": "d",
        "positive": 4,
    }
    spec |= {} if width is None else {"width": width, "shortcut": "average", "epochs": 1}
    seeds = [{"seed": seed, "folds": own} for seed, own in enumerate(folds)]
    kind = BaselineSpec if width is None else NetworkSpec
    return Record("clinical", as_plain(kind(**spec)), {"parameters": 9, "seeds": seeds}, {}, {}).typed


def test_seeds_that_turned_nan_are_counted_not_averaged():
    good = [[1, 1, 2, 0], [2, 0, 1, 1]]
    rows = rows_of([record("cubic", [good, [None, good[1]]]), record("tanh", [good, good])])
    cubic = next(row for row in rows if row.model == "cubic")
    assert (cubic.nan, cubic.accuracy) == (1, 75)
    assert "1/2 NaN" in markdown(rows)


def test_the_best_seed_and_its_spread():
    seeds = [[[2, 0, 2, 0], [1, 1, 1, 1]], [[1, 1, 1, 1], [1, 1, 1, 1]]]
    (row,) = rows_of([record("tanh", seeds)])
    assert row.best_macro_f1 == pytest.approx(75)
    assert row.best_macro_f1_std == pytest.approx(np.std([100, 50], ddof=1))


def test_the_committed_documents_have_the_blocks():
    text = (ROOT / "docs" / "clinical.md").read_text()
    for name in ("generated", "parkinson-replicated", "parkinson-multiple"):
        assert f"<!-- begin: clinical-{name} -->" in text
