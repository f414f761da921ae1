"""`chebact fit` and `chebact predict`: from a file to predictions, and errors that name line and column."""

import csv
import json

import numpy
import pytest

from chebact.estimators import CLClassifier, CLRegressor
from chebact.lab.cli import run_command
from chebact.lab.columns.reading import numbers_in, read_sheet
from chebact.lab.fit import commands

SMALL = {"epochs": 20, "n_replicas": 2, "width": 8, "blocks": 1, "random_state": 0}
X = numpy.random.default_rng(0).uniform(-1, 1, (60, 2))


@pytest.fixture(autouse=True)
def small_models(monkeypatch):
    kinds = {"regression": CLRegressor, "classification": CLClassifier}
    monkeypatch.setattr(commands, "make_estimator", lambda task, seed: kinds[task](**SMALL))


def write(path, head, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return str(path)


@pytest.fixture
def table(tmp_path):
    colours = numpy.where(X[:, 0] > 0, "red", "blue")
    rows = [(*x, colour, 100 * x[0] + 3) for x, colour in zip(X, colours, strict=True)]
    return write(tmp_path / "data.csv", ["size", "age", "colour", "price"], rows)


def test_a_regression_is_saved_and_predicts_with_deviations(table, tmp_path, capsys):
    assert run_command(["fit", table, "--target", "price", "--folds", "0", "--output", str(tmp_path / "model")]) == 0
    said = capsys.readouterr().err
    assert "60 rows, 3 inputs (4 columns after texts became 0 and 1); regression of 'price'" in " ".join(said.split())
    assert json.loads((tmp_path / "model" / "table.json").read_text())["inputs"]["colour"] == ["blue", "red"]
    assert (tmp_path / "model" / "activations.svg").read_text().startswith("<?xml")
    assert run_command(["predict", str(tmp_path / "model"), table]) == 0
    head, *rows = csv.reader(capsys.readouterr().out.splitlines())
    assert head == ["price", "std"]
    truth = 100 * X[:, 0] + 3
    assert numpy.corrcoef(truth, [float(row[0]) for row in rows])[0, 1] > 0.8
    assert all(float(row[1]) > 0 for row in rows)


def test_a_classification_predicts_texts_with_probabilities(table, tmp_path, capsys):
    words = ["--target", "colour", "--folds", "0", "--drop", "price", "--output", str(tmp_path / "model")]
    assert run_command(["fit", table, *words]) == 0
    assert run_command(["predict", str(tmp_path / "model"), table, "--output", str(tmp_path / "out.csv")]) == 0
    head, *rows = csv.reader((tmp_path / "out.csv").read_text().splitlines())
    assert head == ["colour", "p(blue)", "p(red)"]
    assert numpy.mean([row[0] == ("red" if x > 0 else "blue") for row, x in zip(rows, X[:, 0], strict=True)]) > 0.8


def test_the_score_stands_beside_a_linear_model_and_boosting(table, tmp_path, capsys, monkeypatch):
    from chebact.lab.fit import scores

    monkeypatch.setattr(scores, "make_estimator", commands.make_estimator)
    words = ["--target", "price", "--folds", "2", "--output", str(tmp_path / "model")]
    assert run_command(["fit", table, *words]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines if "over 2 folds" in line] == [
        "chebact",
        "ridge",
        "gradient boosting",
    ]


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (("", "1", "red", "1"), "line 4, column 'size' must have a value, got ''"),
        (("1", "NA", "red", "1"), "line 4, column 'age' must have a value, got 'NA'"),
        (("1", "old", "red", "1"), "line 4, column 'age' must be a number as the others are, got 'old'"),
        (("1", "inf", "red", "1"), "line 4, column 'age' must be a number as the others are, got 'inf'"),
        (("1", "1", "red"), "line 4 must have 4 cells as the first line has, got 3"),
    ],
)
def test_a_wrong_cell_is_named_by_line_and_column(cell, sentence, tmp_path, capsys):
    rows = [("1", "2", "red", "3")] * 2 + [cell] + [("1", "2", "blue", "3")] * 9
    path = write(tmp_path / "data.csv", ["size", "age", "colour", "price"], rows)
    assert run_command(["fit", path, "--target", "price", "--output", str(tmp_path / "model")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_columns_that_cannot_be_used_are_named(table, tmp_path, capsys):
    assert run_command(["fit", table, "--target", "prize"]) == 2
    assert "has no column 'prize': its columns are size, age, colour, price" in capsys.readouterr().err
    path = write(tmp_path / "names.csv", ["name", "price"], [(f"n{i}", i) for i in range(40)])
    assert run_command(["fit", path, "--target", "price"]) == 2
    assert "leave it out with --drop name" in capsys.readouterr().err
    path = write(tmp_path / "one.csv", ["size", "kind"], [(i, "a") for i in range(40)])
    assert run_command(["fit", path, "--target", "kind", "--folds", "0", "--output", str(tmp_path / "m")]) == 2
    assert "cannot be learned: CLClassifier needs samples of at least 2 classes" in capsys.readouterr().err


def test_a_value_that_the_fit_has_not_met_and_a_missing_model_are_refused(table, tmp_path, capsys):
    run_command(["fit", table, "--target", "price", "--folds", "0", "--output", str(tmp_path / "model")])
    capsys.readouterr()
    path = write(tmp_path / "new.csv", ["size", "age", "colour"], [("1", "2", "green")])
    assert run_command(["predict", str(tmp_path / "model"), path]) == 2
    assert "line 2, column 'colour' must be one of blue, red, got 'green'" in capsys.readouterr().err
    assert run_command(["predict", str(tmp_path / "none"), path]) == 2
    assert "`chebact fit` writes one" in capsys.readouterr().err
    (tmp_path / "model" / "model.npz").write_bytes(b"\x80\x04N.")
    assert run_command(["predict", str(tmp_path / "model"), path]) == 2
    assert "does not hold a model that chebact wrote" in capsys.readouterr().err


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_commas_semicolons_and_tabs_divide_cells(sign, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes("\ufeff".encode() + f"a{sign}b\r\n1{sign}2\r\n\r\n3{sign}x\r\n".encode())
    sheet = read_sheet(path)
    assert sheet.columns == {"a": ["1", "3"], "b": ["2", "x"]}
    assert numbers_in(sheet, "a") == [1.0, 3.0]
    assert sheet.lines == [2, 4]
