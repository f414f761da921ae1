"""Processors whose products in bfloat16 kill the process: found out in a child process, and told in one sentence."""

import os
import re
import subprocess
import sys

import pytest
from support.bfloat16 import DIES, DIES_UNLIMITED, VARIABLE, posix

from chebact import bfloat16


@posix
@pytest.mark.parametrize(("program", "answer"), [("pass", "works"), (DIES_UNLIMITED, "works limited"), (DIES, "dies")])
def test_a_real_illegal_instruction_in_the_child_is_told_apart(program, answer, monkeypatch):
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    assert bfloat16.ask(program) == answer


def test_an_error_of_python_is_no_death():
    assert bfloat16.ask("raise SystemExit(1)") == "works"


@posix
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("pass", None),
        (DIES_UNLIMITED, "set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the environment.*or use float32"),
        (DIES, "kill the process on this processor: use float32"),
    ],
)
def test_the_reason_says_what_to_do(program, words, monkeypatch):
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.setattr(bfloat16, "PROGRAM", program)
    reason = bfloat16.why_not()
    assert reason is None if words is None else re.search(words, reason)


SESSION = """
import runpy, sys
sys.path.insert(0, {tests!r})
from support import bfloat16
found = bfloat16.runpy.run_path
def replaced(path):
    return {{**found(path), "PROGRAM": {program!r}}}
bfloat16.runpy.run_path = replaced
bfloat16.KNOWN = __import__("pathlib").Path({known!r})
print(bfloat16.in_words(bfloat16.prepare()))
print(__import__("os").environ.get("ONEDNN_MAX_CPU_ISA"), "torch" in sys.modules)
"""


@posix
@pytest.mark.parametrize(
    ("program", "limit", "words"),
    [("pass", "None", "work"), (DIES_UNLIMITED, "AVX512_CORE_BF16", "limited"), (DIES, "None", "left out")],
)
def test_a_session_limits_itself_before_torch_is_there_and_says_so(program, limit, words, tmp_path):
    tests = os.path.dirname(os.path.dirname(__file__))
    free = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "ONEDNN_MAX_CPU_ISA")}
    for _ in range(2):  # asked, and remembered
        code = SESSION.format(tests=tests, program=program, known=str(tmp_path / "known.json"))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=free)
        assert done.returncode == 0, done.stderr
        said, after = done.stdout.splitlines()
        assert words in said
        assert after == f"{limit} False"
    assert (tmp_path / "known.json").exists()
