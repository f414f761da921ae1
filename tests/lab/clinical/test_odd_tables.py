"""`chebact run clinical` on tables and folders that are not as one would wish."""

import json
from dataclasses import replace

import numpy as np
import pytest

from chebact.lab.cli import run_command
from chebact.lab.clinical.boruta import BorutaChoice
from chebact.lab.store import read_record, write_record

QUICK = ["--seeds", "2", "--folds", "3", "--epochs", "1", "--widths", "4", "--workers", "1"]
QUICK += ["--trees", "10", "--rounds", "8", "--models", "tanh", "--baselines", "none"]


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def run(tmp_path, capsys):
    def command(path, *words, results=tmp_path / "results"):
        columns = ["--data", path, "--subject", "who", "--label", "ill", "--positive", "yes", "--results", results]
        quick = [w for option in zip(QUICK[::2], QUICK[1::2], strict=True) if option[0] not in words for w in option]
        code = run_command([str(w) for w in ("run", "clinical", *columns, *quick, *words)])
        return code, " ".join(capsys.readouterr().err.split())

    return command


@pytest.fixture
def table(tmp_path):
    def write(name="voices.csv", seed=0, few=False, ill=lambda subject: subject % 2, **extra):
        """24 subjects with two recordings each; `extra` columns are functions of the recordings' numbers."""
        random, numbers = np.random.default_rng(seed), np.arange(48)
        y = np.array([ill(subject) for subject in numbers // 2])
        x = {f"f{i}": random.integers(0, 5, 48) + y if few else random.standard_normal(48) + 2 * y for i in range(2)}
        x |= {column: make(numbers) for column, make in extra.items()}
        lines = [",".join(["who", "ill", *x])]
        lines += [
            ",".join([f"s{n // 2}", "yes" if y[n] else "no", *(str(values[n]) for values in x.values())])
            for n in numbers
        ]
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def test_names_with_brackets_are_printed_as_they_are(run, table):
    path = table(**{"rate [/s]": lambda n: np.where(n == 3, "", "1"), "[red]": lambda n: np.where(n == 3, "", "2")})
    code, said = run(path)
    assert code == 0, said
    assert "left out: 2 columns with missing values: 'rate [/s]', '[red]'" in said


def test_the_number_of_the_row_is_not_learned_from(run, table, tmp_path):
    code, said = run(table(**{"": lambda n: n}))
    assert code == 0, said
    assert "2 features; left out: 1 column without a name: number 5" in said
    assert read_record(tmp_path / "results/voices/average/tanh-4.json").spec["features"] == 2


def test_a_column_that_cannot_be_scaled_is_named_before_anything_runs(run, table, tmp_path):
    for column in (lambda n: np.where(n == 0, 1.0, 1e-200 * n), lambda n: np.where(n == 0, 1e30, 1e-30 * n)):
        code, said = run(table(loud=column))
        assert code == 2
        assert "the column 'loud' has numbers of very different sizes" in said
        assert "--drop" in said
        assert not (tmp_path / "results").exists()


def test_one_subject_of_a_class_is_said_to_be_too_few(run, table):
    code, said = run(table(ill=lambda subject: subject == 0))
    assert code == 2
    assert "there is one subject of the other" in said
    code, said = run(table(ill=lambda subject: subject < 2), "--two-labels", "keep", "--seeds", "40")
    assert code == 2
    assert "2 subjects of the other in 3 folds, choose more --folds" in said


def test_a_folder_that_cannot_be_written_is_found_out_first(run, table, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for work in ("network_results", "choose_in_folds"):  # nothing gets that far
        monkeypatch.setattr(f"chebact.lab.clinical.run.{work}", None)
    for words in ((), ("--select", "folds")):
        code, said = run(table(), *words, results=tmp_path / "file")
        assert code == 2
        assert f"cannot write into {tmp_path / 'file'}" in said


def test_features_of_few_values_may_coincide_in_two_cohorts(run, table):
    own, other = table(few=True), table("others.csv", seed=1, few=True)
    code, said = run(own, "--select", other)
    assert code == 0, said
    assert "note: voices: " in said
    assert "rows of numbers in common, as features of few values give by chance" in said
    code, said = run(own, "--select", own)
    assert code == 2
    assert "of their recordings in common" in said


def test_what_boruta_did_not_confirm_is_said_and_kept(run, table, tmp_path, monkeypatch):
    own, other, seen = table(), table("others.csv", seed=1), tmp_path / "results/voices/choice/cohort.json"
    code, said = run(own, "--select", other)
    assert code == 0, said
    assert read_record(seen).results["how"] == "confirmed"
    assert "confirmed" not in said
    undecided = BorutaChoice((1,), "tentative")
    monkeypatch.setattr("chebact.lab.clinical.fold_inputs.boruta_choice", lambda *_, **__: undecided)
    code, said = run(own, "--select", other, results=tmp_path / "again")
    assert code == 0, said
    assert "chosen on others: 1 features (tentative: none is confirmed)" in said
    assert read_record(tmp_path / "again/voices/choice/cohort.json").results == {"features": ["f1"], "how": "tentative"}
    code, said = run(own, "--select", "folds", results=tmp_path / "folds")
    assert "chosen on voices: [1, 1, 1] features in the folds (none confirmed in 3 of them)" in said


def test_choices_without_a_word_on_how_are_still_used(run, table, tmp_path):
    """As records of the first version have it."""
    own, other, path = table(), table("others.csv", seed=1), tmp_path / "results/voices/choice/cohort.json"
    run(own, "--select", other, "--models", "relu")
    found = read_record(path)
    path.unlink()
    write_record(path, replace(found, results={"features": ["f1"]}))
    before = path.read_bytes()
    code, said = run(own, "--select", other)
    assert code == 0, said
    assert path.read_bytes() == before
    assert read_record(tmp_path / "results/voices/average/tanh-4.json").spec["features"] == 1


def test_boruta_needs_two_rounds(run, table):
    code, said = run(table(), "--select", "folds", "--rounds", "1")
    assert code == 2
    assert "--rounds must be 2 or more, which Boruta needs, got 1" in said


def test_networks_of_many_sizes_have_no_number_of_parameters(run, table, tmp_path):
    code, said = run(table(), "--select", "folds")
    assert code == 0, said
    assert json.loads((tmp_path / "results/voices/average/tanh-4.json").read_text())["results"]["parameters"] is None
    code, said = run(table(), results=tmp_path / "all")
    assert read_record(tmp_path / "all/voices/average/tanh-4.json").results["parameters"] == 102


def test_options_about_a_table_want_one(capsys):
    assert run_command(["run", "clinical", "--two-labels", "keep"]) == 2
    assert "--two-labels is about a table of your own" in capsys.readouterr().err


@pytest.mark.parametrize(("mark", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_table_with_other_marks_than_commas_gets_the_hint_that_helps(run, table, mark, name):
    path = table()
    path.write_text(path.read_text().replace(",", mark).replace(".", ","))  # as spreadsheets write it in much of Europe
    code, said = run(path)
    assert code == 2
    assert f"must have commas between its columns, got {name} in its header; save it as CSV with commas" in said
