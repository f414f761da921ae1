"""Paths that a user gives: a mistyped one makes no folder and is refused first, by every command."""

import os
import sys
from pathlib import Path

import pytest

from chebact.lab import LabError
from chebact.lab.cli import app, run_command
from chebact.lab.experiments import EXPERIMENTS
from chebact.lab.output import check_file, check_folder, make_folder, save

ROOT = Path(__file__).resolve().parents[2]
FOLDER_OF = {word: row.name for row in EXPERIMENTS.values() for word in (row.name, *row.also)}
TABLES = ["--markdown", "--text", "--csv", "--json"]
FILES = {("report", name): TABLES for name in FOLDER_OF} | {
    ("report", "images"): [*TABLES, "--curves"],
    ("reproduce",): ["--json"],
    ("bench", "degrees"): ["--json"],
    ("bench", "ops"): ["--json"],
    ("bench", "page"): [*TABLES, "--plot"],
    ("predict",): ["--output"],
    ("play",): ["--output"],
}
FOLDERS = {("run", name): ["--results"] for name in FOLDER_OF} | {
    **{("report", *rest): ["--output"] for rest in [(), ("all",), *((name,) for name in FOLDER_OF)]},
    ("report", "images"): ["--output", "--captures"],
    ("report", "arena"): ["--output", "--pictures"],
    ("report", "private"): ["--output", "--pictures"],
    ("report", "study"): ["--output", "--pictures"],
    ("report", "studies"): ["--output", "--pictures"],
    ("reproduce",): ["--results"],
    ("data", "fetch"): ["--data"],
    ("fit",): ["--output"],
}
DOCUMENTS = {("report", name): ["--update"] for name in FOLDER_OF} | {("bench", "page"): ["--update"]}
READ = {(*words, "--results") for words in FOLDERS if words[0] == "report"} | {
    ("run", "images", "--data"),
    ("run", "clinical", "--data"),
    ("run", "arena", "--data"),
    ("run", "arena", "--splits"),
    ("run", "arena", "--voices"),
    ("run", "private", "--voice"),
    ("data", "list", "--data"),
    ("fit", "DATA"),
    ("predict", "MODEL"),
    ("predict", "DATA"),
    ("play", "--model"),
    ("play", "--record"),
    ("bench", "page", "ROWS"),
}
MORE = {("data", "fetch"): ["mnist", "--from", "nowhere"], ("bench", "page"): [str(ROOT / "results/bench/ops.json")]}
MORE |= {("report", name): ["--results", str(ROOT / "results" / FOLDER_OF[name])] for name in FOLDER_OF}
MORE |= {("fit",): ["data.csv", "--target", "y"], ("predict",): ["model", "data.csv"]}
MORE |= {words: ["--results", str(ROOT / "results")] for words in [("report",), ("report", "all")]}


def pairs(table):
    return [(words, option) for words, options in table.items() for option in options]


def declared(command=app, words=()):
    """Every option of a path, of every command, as the commands themselves declare them."""
    for name in command:
        if name.startswith("-"):
            continue
        inner = command[name]
        yield from declared(inner, (*words, name))
    if words and command.default_command is not None:
        for argument in command.assemble_argument_collection():
            if "Path" in str(argument.hint):
                yield (*words, argument.name)


def test_every_option_that_takes_a_path_is_tried_or_read():
    tried = {(*words, option) for table in (FILES, FOLDERS, DOCUMENTS) for words, option in pairs(table)}
    assert set(declared()) == tried | READ


def refused(words, capsys):
    assert run_command(words) == 2
    said = capsys.readouterr()
    assert said.out == ""  # no table before the refusal
    assert said.err.startswith("chebact: cannot ")
    assert len(said.err.splitlines()) == 1
    return said.err


@pytest.mark.parametrize(("words", "option"), pairs(FILES))
def test_a_file_in_no_folder_is_refused_first_and_makes_nothing(words, option, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for wrong in ("nowhere/out.png", "nowhere/deep/out.png"):
        assert "there is no folder nowhere" in refused([*words, *MORE.get(words, []), option, wrong], capsys)
    (tmp_path / "there.png").mkdir()
    assert "it is a folder" in refused([*words, *MORE.get(words, []), option, "there.png"], capsys)
    assert [path.name for path in tmp_path.rglob("*")] == ["there.png"]


@pytest.mark.parametrize(("words", "option"), pairs(FOLDERS))
def test_a_folder_in_no_folder_is_refused_first_and_makes_nothing(words, option, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    given = MORE.get(words, [])
    assert "there is no folder nowhere" in refused([*words, *given, option, "nowhere/deep"], capsys)
    assert "there is no folder nowhere" in refused([*words, *given, option, "nowhere/deep/deeper"], capsys)
    assert "it is a file" in refused([*words, *given, option, "file"], capsys)
    refused([*words, *given, option, "file/below"], capsys)
    refused([*words, *given, option, "x" * 300], capsys)
    assert [path.name for path in tmp_path.rglob("*")] == ["file"]


@pytest.mark.parametrize(("words", "option"), pairs(DOCUMENTS))
def test_a_document_that_is_not_there_is_refused_first(words, option, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "no such file" in refused([*words, *MORE.get(words, []), option, "nowhere.md"], capsys)
    assert list(tmp_path.iterdir()) == []


def test_the_last_level_of_a_folder_is_made_and_that_of_the_usual_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_folder(Path("one"))
    make_folder(Path("results/synthetic"))
    make_folder(Path("results/synthetic"))
    assert sorted(str(path) for path in Path().rglob("*")) == ["one", "results", "results/synthetic"]
    check_folder(Path("two"), "--output")
    assert not Path("two").exists()
    with pytest.raises(LabError, match="choose another with --output"):
        make_folder(Path("three/four"), "--output")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="everybody may write everywhere")
def test_a_folder_without_the_right_to_write_is_refused(tmp_path):
    (tmp_path / "shut").mkdir(mode=0o500)
    with pytest.raises(LabError, match="Permission denied"):
        check_file(tmp_path / "shut" / "a.json")
    with pytest.raises(LabError, match="Permission denied"):
        check_folder(tmp_path / "shut" / "deeper", "--output")


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="the system has no such device")
def test_a_device_is_written_to_as_it_is():
    save(Path("/dev/null"), b"gone")
    assert not Path("/dev/null").is_file()
