"""The comparison on tables: its data, a run of it, and what is shown."""

import math

import numpy
import pytest

from chebact.estimators import CLRegressor
from chebact.lab.cli import run_command
from chebact.lab.store import read_record
from chebact.lab.tables import run
from chebact.lab.tables.data import DATASETS
from chebact.lab.tables.formulas import FORMULAS
from chebact.lab.tables.models import MODELS
from chebact.lab.tables.rows import Row
from chebact.lab.tables.sheets import TITLES, counts, score_sheet, standing_sheet
from chebact.lab.tables.spec import SECONDS, TableRequest

SMALL = {"epochs": 10, "n_replicas": 2, "width": 8, "blocks": 1}


def test_there_are_twenty_formulas_and_their_values_are_those_computed_by_hand():
    assert len(FORMULAS) == 20
    hand = {
        "I.6.20": ((1, 2), math.exp(-1 / 8) / (2 * math.sqrt(2 * math.pi))),
        "I.8.14": ((1, 4, 1, 5), 5.0),
        "I.10.7": ((2, 3, 5), 2.5),
        "I.16.6": ((1, 1, 1), 1.0),
        "I.18.4": ((1, 3, 4, 8), 7.0),
        "I.27.6": ((2, 4, 2), 1.0),
        "I.44.4": ((2, 3, 1, 1, math.e), 6.0),
        "III.17.37": ((3, 2, math.pi), -3.0),
    }
    for name, (x, value) in hand.items():
        assert FORMULAS[name].values(numpy.array([x], float))[0] == pytest.approx(value), name


@pytest.mark.parametrize("name", [name for name, row in DATASETS.items() if row.generated])
def test_generated_data_are_finite_and_the_same_every_time(name):
    x, y = DATASETS[name].make()
    assert x.shape[0] == 1000
    assert numpy.isfinite(x).all()
    assert numpy.isfinite(y).all()
    assert (DATASETS[name].make()[1] == y).all()


def test_the_tables_of_models_name_the_same_ones():
    assert list(MODELS) == list(SECONDS) == list(TITLES)
    assert all((row.regressor or row.classifier) is not None for row in MODELS.values())


def test_a_model_without_a_classifier_and_a_table_too_large_are_left_out():
    specs = run.specs_of(
        TableRequest(datasets=("digits", "wine"), models=("kernel-ridge", "gaussian-process", "linear"))
    )
    assert {(spec.data, spec.model) for spec in specs} == {
        ("digits", "linear"), ("wine", "linear"), ("wine", "gaussian-process"),
    }  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "tables"
    with pytest.MonkeyPatch.context() as patch:
        ours = MODELS["cl"].__class__(
            "cl", "chebact", lambda columns, seed: CLRegressor(**SMALL, random_state=seed), None
        )
        patch.setitem(run.MODELS, "cl", ours)
        words = ["--datasets", "diabetes", "wine", "--models", "cl", "linear", "--folds", "2", "--workers", "1"]
        assert run_command(["run", "tables", *words, "--results", str(folder)]) == 0
    return folder


def test_a_run_writes_a_record_per_model_and_table(results):
    found = {str(path.relative_to(results)) for path in results.rglob("*.json")}
    assert found == {"diabetes/cl.json", "diabetes/linear.json", "wine/linear.json"}
    folds = read_record(results / "diabetes" / "cl.json").results["seeds"][1]["folds"]
    assert len(folds) == 2
    assert len(folds[0]["coverage"]) == 6
    assert "log_loss" in read_record(results / "wine" / "linear.json").results["seeds"][0]["folds"][0]


def test_the_report_shows_the_records_fills_documents_and_draws(results, tmp_path, capsys):
    document = tmp_path / "page.md"
    document.write_text("<!-- begin: tables-regression -->\n<!-- end: tables-regression -->\n")
    words = ["--results", str(results), "--update", str(document), "--pictures", str(tmp_path / "pictures")]
    assert run_command(["report", "tables", *words]) == 0
    assert "| diabetes | 442 × 10 |" in document.read_text()
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == [
        "coverage-dark.svg",
        "coverage-light.svg",
    ]
    assert "chebact against each model" in capsys.readouterr().out


def row(data, model, score, seconds=1.0):
    return Row(data, model, "regression", 1000, 3, 10, score, 0.0, seconds, None, ())


def test_the_best_is_marked_and_who_is_ahead_is_counted():
    rows = [
        row("feynman-a", "cl", 0.1),
        row("feynman-a", "mlp", 0.2),
        row("diabetes", "cl", 0.8),
        row("diabetes", "mlp", 0.7),
    ]
    (first, second) = score_sheet(rows, "regression").rows
    assert [cell.mark for cell in first[2:]] == ["best", ""]
    assert [cell.mark for cell in second[2:]] == ["", "best"]
    assert counts(rows, "mlp") == (1, 2)
    standing = standing_sheet(rows).rows[1]
    assert [cell.text for cell in standing] == ["MLP", "1 of 1", "0 of 1", "2.00", "1.00"]
