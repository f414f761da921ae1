"""Tables of a user in the arena: a CSV file, one with fixed splits, a folder of UCI splits, and what is refused."""

import numpy
import pytest

from chebact.lab import LabError
from chebact.lab.arena.own import read_own
from chebact.lab.arena.spec import OwnData
from chebact.lab.cli import run_command
from chebact.lab.store import read_record

X = numpy.random.default_rng(0).uniform(-1, 1, (40, 2))
Y = 3 * X[:, 0] - X[:, 1]


@pytest.fixture
def table(tmp_path):
    lines = ["a,b,y,kind", *(f"{a},{b},{y},{'red' if a > 0 else 'blue'}" for (a, b), y in zip(X, Y, strict=True))]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(lines))
    return path


def write_splits(folder, count=2):
    folder.mkdir(exist_ok=True)
    (folder / "n_splits.txt").write_text(f"{count}\n")
    for number in range(count):
        test = numpy.arange(number, 40, 4)
        train = numpy.setdiff1d(numpy.arange(40), test)
        for part, rows in (("train", train), ("test", test)):
            numpy.savetxt(folder / f"index_{part}_{number}.txt", rows)  # as 1.000000000000000000e+00
    return folder


@pytest.fixture
def folder(tmp_path):
    path = write_splits(tmp_path / "yacht")
    numpy.savetxt(path / "data.txt", numpy.column_stack([X, Y]))
    numpy.savetxt(path / "index_features.txt", [0, 1])
    numpy.savetxt(path / "index_target.txt", [2])
    return path


def run(tmp_path, *words):
    results = tmp_path / "results"
    return run_command(
        ["run", "arena", *map(str, words), "--models", "linear", "--results", str(results), "--workers", "1"]
    )


def test_a_csv_file_is_entered_and_a_second_run_has_nothing_to_do(table, tmp_path, capsys):
    assert run(tmp_path, "--data", table, "--target", "y") == 0
    record = read_record(tmp_path / "results" / "mine" / "linear.json").typed
    assert (record.results.task, record.results.rows, record.results.columns) == ("regression", 40, 4)
    assert len(record.results.splits) == 3
    assert max(split.score for split in record.results.splits) < 0.01  # the target is a sum of columns
    before = (tmp_path / "results" / "mine" / "linear.json").read_bytes()
    assert run(tmp_path, "--data", table, "--target", "y") == 0
    assert (tmp_path / "results" / "mine" / "linear.json").read_bytes() == before


def test_a_changed_file_is_another_spec(table, tmp_path, capsys):
    assert run(tmp_path, "--data", table, "--target", "y") == 0
    table.write_text(table.read_text().replace("red", "green"))
    assert run(tmp_path, "--data", table, "--target", "y") == 0  # other names of the values, the same numbers
    table.write_text(table.read_text() + "\n0.1,0.2,0.3,green")
    assert run(tmp_path, "--data", table, "--target", "y") == 2
    assert "is of another spec (digest" in capsys.readouterr().err


def test_texts_as_target_are_classes(table, tmp_path):
    assert run(tmp_path, "--data", table, "--target", "kind", "--drop", "y") == 0
    record = read_record(tmp_path / "results" / "mine" / "linear.json").typed
    assert record.results.task == "classification"
    assert record.results.splits[0].log_loss is not None


def test_a_file_with_fixed_splits(table, tmp_path):
    own = read_own(OwnData(data=table, target="y", splits=write_splits(tmp_path / "splits")))
    assert [test.tolist() for _, test in own.table.splits] == [list(range(0, 40, 4)), list(range(1, 40, 4))]
    assert run(tmp_path, "--data", table, "--target", "y", "--splits", tmp_path / "splits") == 0
    assert read_record(tmp_path / "results" / "mine" / "linear.json").spec["splits"] == 2


def test_a_folder_in_the_layout_of_the_uci_splits(folder, tmp_path):
    own = read_own(OwnData(data=folder))
    numpy.testing.assert_array_equal(own.table.x, X)
    numpy.testing.assert_array_equal(own.table.y, Y)
    assert run(tmp_path, "--data", folder) == 0
    record = read_record(tmp_path / "results" / "yacht" / "linear.json").typed
    assert len(record.results.splits) == 2
    assert record.results.splits[0].score < 0.01


REFUSED = [
    ({"target": "price"}, r"has no column 'price': its columns are a, b, y, kind"),
    ({"target": "kind", "task": "regression"}, r"column 'kind' must be a number for regression, got"),
    ({}, r"--target must name the column of .*mine.csv to learn, got none"),
    ({"target": "y", "drop": ("size",)}, r"has no column 'size'"),
    ({"target": "y", "drop": ("y",)}, r"--drop must leave the target in, got 'y'"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_a_file_that_does_not_fit_is_refused(options, message, table):
    with pytest.raises(LabError, match=message):
        read_own(OwnData(data=table, **options))


SPOILED = [
    ("index_test_1.txt", "1.5", r"index_test_1.txt must have each row as an integer from 0 to 39, got 1.5"),
    ("index_test_1.txt", "40", r"must have each row as an integer from 0 to 39, got 40"),
    ("index_test_1.txt", "1 1", r"index_test_1.txt must have each row once, got 1 more than once"),
    ("index_test_1.txt", "2", r"index_test_1.txt must have no row of the training, got 2"),
    ("index_test_1.txt", None, r"cannot read .*index_test_1.txt: No such file"),
    ("index_target.txt", "0 2", r"index_target.txt must name one column, got 2"),
    ("index_target.txt", "7", r"must have each column as an integer from 0 to 2, got 7"),
    ("index_features.txt", "0 2", r"index_features.txt must not have the column of the target, got 2"),
    ("index_train_1.txt", "2 3", r"the target in split 1 must have 10 rows or more to learn from, got 2"),
    ("data.txt", "1 2 3\n" * 40, r"the target must have two values or more, got 3.0 in all rows"),
    ("data.txt", "1 2 4\n" + "1 2 3\n" * 39, r"the target in split 0 must have two values or more, got 3.0"),
    ("n_splits.txt", "0", r"n_splits.txt must be 1 or more, got 0"),
    ("n_splits.txt", "2 2", r"n_splits.txt must be one number, got 2"),
    ("data.txt", "1 2 3\n4 x 6", r"data.txt, line 2 must be finite numbers, got 'x'"),
    ("data.txt", "1 2 3\n4 5", r"data.txt, line 2 must have 3 numbers as line 1, got 2"),
    ("data.txt", "", r"data.txt must have a line of numbers or more, got none"),
]


@pytest.mark.parametrize(("name", "text", "message"), SPOILED)
def test_a_folder_with_a_bad_file_is_refused(name, text, message, folder):
    (folder / name).unlink() if text is None else (folder / name).write_text(text)
    with pytest.raises(LabError, match=message):
        read_own(OwnData(data=folder))


def test_a_constant_target_of_a_file_is_refused(table):
    table.write_text("a,y\n" + "".join(f"{row},1.0\n" for row in range(20)))
    with pytest.raises(LabError, match=r"the target must have two values or more, got .* in all rows; name another"):
        read_own(OwnData(data=table, target="y"))


def test_options_that_go_with_no_data_or_not_with_a_folder_are_refused(folder, tmp_path, capsys):
    assert run(tmp_path, "--target", "y") == 2
    assert "--target is about a table of your own; name it with --data" in capsys.readouterr().err
    assert run(tmp_path, "--data", folder, "--target", "y") == 2
    assert "is a folder with its own index files: leave out --target" in capsys.readouterr().err
    assert run(tmp_path, "--data", folder, "--datasets", "wine") == 2
    assert "give one of them" in capsys.readouterr().err
    folder.rename(tmp_path / "wine")
    assert run(tmp_path, "--data", tmp_path / "wine") == 2
    assert "none of the arena's own sets, got 'wine': rename it" in capsys.readouterr().err
    assert run(tmp_path, "--data", tmp_path / "nothing.csv", "--target", "y") == 2
    assert "cannot read" in capsys.readouterr().err
