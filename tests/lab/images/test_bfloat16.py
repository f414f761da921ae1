"""`run images --precision bfloat16` on processors whose products in bfloat16 kill the process."""

import pytest
from support.bfloat16 import DIES, DIES_UNLIMITED, posix

from chebact import bfloat16
from chebact.lab.cli import run_command

WORDS = ["run", "images", "--precision", "bfloat16", "--subset", "64", "--epochs", "1", "--seeds", "1"]


@posix
@pytest.mark.parametrize(
    ("program", "advice"),
    [
        (DIES_UNLIMITED, "set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the environment"),
        (DIES, "use float32 with --precision"),
    ],
)
def test_the_command_says_what_to_do_before_it_trains(program, advice, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.setattr(bfloat16, "PROGRAM", program)
    assert run_command([*WORDS, "--results", str(tmp_path / "images")]) == 2
    (sentence,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("chebact: ")]
    assert advice in sentence
    assert list(tmp_path.rglob("*.*")) == []


def test_float32_asks_nobody(monkeypatch, tmp_path):
    monkeypatch.setattr(bfloat16, "ask", None)
    words = [word if word != "bfloat16" else "float32" for word in WORDS]
    assert run_command([*words, "--models", "relu", "--results", str(tmp_path)]) == 0
