"""Counts beyond sense: every integer option of every command refuses them in one sentence, before any work starts."""

import re

import pytest

from chebact.lab.cli import app, run_command

COMMANDS = [("run", "images"), ("run", "synthetic"), ("run", "clinical"), ("reproduce",)]


def integer_options():
    """(command, option) of every option that takes integers, as the commands themselves declare them."""
    found = []
    for words in COMMANDS:
        command = app
        for word in words:
            command = command[word]
        arguments = command.assemble_argument_collection()
        found += [(words, each.name) for each in arguments if "int" in re.findall(r"\w+", str(each.hint))]
    return found


def test_there_are_options_to_try():
    assert len(integer_options()) >= 16
    assert (("run", "clinical"), "--widths") in integer_options()


@pytest.mark.parametrize("value", ["99999999999999999999", "1" + "0" * 5000, "0", "-1", "1.5", "nan"])
@pytest.mark.parametrize(("command", "option"), integer_options())
def test_a_count_out_of_range_is_one_sentence_before_work(command, option, value, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.MonkeyPatch.context() as no_work:
        no_work.setattr("chebact.lab.store.write_atomic", None)  # nothing gets as far as a record
        code = run_command([*command, option, value])
    said = capsys.readouterr()
    assert code == 2
    assert said.err.splitlines()[-1].startswith("chebact: ")
    assert "Traceback" not in said.err
    assert len(said.err) < 1000
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("case", ["99999999999x99999999999", "100000x100000", "0x3", "1e9x2", "3", ""])
def test_a_case_beyond_memory_is_one_sentence(case, capsys):
    assert run_command(["bench", "ops", "--cases", case]) == 2
    assert capsys.readouterr().err.startswith("chebact: ")


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory")]
)
def test_a_machine_without_the_memory_is_one_sentence(error, monkeypatch, capsys):
    def full(*_, **__):
        raise error

    monkeypatch.setattr("chebact.lab.play.commands.render", full)
    assert run_command(["play", "--no-open"]) == 2
    assert "does not have the memory" in capsys.readouterr().err
