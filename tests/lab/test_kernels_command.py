"""`chebact kernels`: every kernel, whether it runs here and why not."""

import pytest
import torch

from chebact import kernels, native
from chebact.basis import Basis
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
    assert rows["cpu"].why_not is not None or native.level() in rows["cpu"].layer


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
