"""`chebact kernels`: every kernel, whether it runs here and why not."""

import pytest
import torch
from support.kernel_calls import needs_cpu_kernel, python

from chebact import kernels
from chebact.basis import Basis
from chebact.kernels import selection
from chebact.lab.cli import run_command
from chebact.lab.commands.kernels import kernel_rows, trainer_row
from chebact.training import fused


def test_every_kernel_has_a_row_that_agrees_with_the_kernel():
    rows = {row.kernel: row for row in kernel_rows()}
    assert tuple(rows) == kernels.NAMES
    assert rows["reference"].runs
    assert rows["reference"].threads == torch.get_num_threads()
    assert rows["cpu"].why_not == kernels.why_not("cpu", torch.device("cpu"))
    assert all(row.runs == (row.why_not is None) for row in rows.values())


def test_fused_trainer_has_a_row_that_agrees_with_it(monkeypatch, capsys):
    monkeypatch.delenv("CHEBACT_KERNEL", raising=False)
    monkeypatch.setenv("CHEBACT_LANES", "8")
    assert trainer_row().why_not == fused.why_not_here()
    assert run_command(["kernels"]) == 0
    assert "fused trainer" in capsys.readouterr().out
    assert "8 lanes" in trainer_row().layer
    monkeypatch.setenv("CHEBACT_KERNEL", "reference")
    assert "'reference' was requested by name" in trainer_row().why_not


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_reason_of_the_gpu_kernel_is_shown_where_there_is_no_gpu(monkeypatch, capsys):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.delenv("CHEBACT_KERNEL", raising=False)
    assert run_command(["kernels"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "gpu: not available, torch finds no GPU" in shown
    assert f"the choice is {kernels.choose(torch.device('cpu'), Basis(3)).name}" in shown


def test_kernel_asked_for_is_shown(monkeypatch, capsys):
    monkeypatch.setenv("CHEBACT_KERNEL", "reference")
    assert run_command(["kernels"]) == 0
    assert "CHEBACT_KERNEL: reference" in capsys.readouterr().out


def test_unknown_name_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setenv("CHEBACT_KERNEL", "fast")
    assert run_command(["kernels"]) == 2
    error = capsys.readouterr().err
    assert "'fast'" in error
    assert len(error.splitlines()) == 1


@needs_cpu_kernel
def test_warm_compiles_what_the_next_process_then_finds_on_disk(tmp_path):
    """Not all of it: the step of a second, in place of a minute."""
    script = """
        import sys
        from chebact.kernels.cpu import Plan, compiler
        from chebact.lab.cli import run_command
        Plan.prepare = lambda plan: plan._finish
        assert run_command(["kernels", "--warm"]) == 0
        """
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "CHEBACT_KERNEL": ""}
    shown = python(script, **environment)
    assert "The CPU kernel is compiled and kept on disk" in shown
    assert "the choice is cpu" in " ".join(shown.split())
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.finish_*_single*")}
    assert len({file.name.split("-")[0] for file in kept}) == 4  # with tails and without, to degree 3 and above
    python(script, **environment)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.finish_*_single*")} == kept


def test_warm_where_nothing_can_be_compiled_is_one_sentence(capsys, monkeypatch):
    monkeypatch.delenv("CHEBACT_KERNEL", raising=False)
    monkeypatch.setattr(selection, "why_not", lambda name, device: "it is not here" if name == "cpu" else None)
    assert run_command(["kernels", "--warm"]) == 2
    assert capsys.readouterr().err.strip().endswith("the kernel 'cpu' cannot be compiled: it is not here")
