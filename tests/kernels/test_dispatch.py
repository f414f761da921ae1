"""Which kernel runs: by name or raising its reason, by itself and never failing; in threads."""

import logging
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import pytest
import torch
from support.kernel_calls import CPU, needs_cpu_kernel, python, tensors

from chebact import kernels
from chebact.basis import Basis
from chebact.functional import chebyshev_lagrange
from chebact.kernels import reference


@pytest.mark.parametrize("name", kernels.NAMES)
@pytest.mark.parametrize("how", ["use", "CHEBACT_KERNEL"])
def test_kernel_asked_for_by_name_runs_or_raises_its_reason(name, how, monkeypatch):
    ran = []
    module = kernels.selection.load_kernel(name)
    evaluate = module.evaluate
    monkeypatch.setattr(module, "evaluate", lambda *given: (ran.append(name), evaluate(*given)))
    reason = kernels.why_not(name, CPU)
    x, values = tensors(5, 4)
    monkeypatch.delenv("CHEBACT_KERNEL", raising=False)
    if how == "CHEBACT_KERNEL":
        monkeypatch.setenv("CHEBACT_KERNEL", name)
    with kernels.use(name if how == "use" else kernels.requested_kernel()):
        if reason is None:
            chebyshev_lagrange(x, values)
            assert ran == [name]
        else:
            with pytest.raises(kernels.KernelUnavailableError) as caught:
                chebyshev_lagrange(x, values)
            assert reason in str(caught.value)
            assert name in str(caught.value)


def test_context_comes_before_the_environment_and_ends_with_its_block(monkeypatch):
    monkeypatch.setenv("CHEBACT_KERNEL", "cpu")
    assert kernels.requested_kernel() == "cpu"
    with kernels.use("reference"):
        assert kernels.requested_kernel() == "reference"
        with kernels.use("gpu"):
            assert kernels.requested_kernel() == "gpu"
        assert kernels.requested_kernel() == "reference"
    assert kernels.requested_kernel() == "cpu"


def test_context_ends_after_an_error(left_alone):
    with pytest.raises(ZeroDivisionError), kernels.use("reference"):
        raise ZeroDivisionError
    assert kernels.requested_kernel() is None


def test_unknown_name_is_a_value_error_that_names_the_known(monkeypatch):
    with pytest.raises(ValueError, match=r"cpu, gpu, reference.*'fast'"), kernels.use("fast"):
        pass
    monkeypatch.setenv("CHEBACT_KERNEL", "fast")
    with pytest.raises(ValueError, match=r"CHEBACT_KERNEL.*'fast'"):
        chebyshev_lagrange(*tensors(5, 4))


def test_empty_environment_variable_leaves_the_choice_alone(monkeypatch):
    monkeypatch.setenv("CHEBACT_KERNEL", "")
    assert kernels.requested_kernel() is None


def test_automatic_choice_is_the_first_that_can_run(left_alone):
    can = [name for name in kernels.NAMES if kernels.why_not(name, CPU) is None]
    assert kernels.choose(CPU, Basis(3)).name == can[0]
    assert kernels.choose(CPU, Basis(7, "none")).name == can[0]
    assert can[-1] == "reference"


@needs_cpu_kernel
def test_automatic_choice_on_the_cpu_is_the_cpu_kernel_even_where_triton_interprets(left_alone, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert kernels.choose(CPU, Basis(3)).name == "cpu"


def test_reason_not_to_run_is_a_sentence_about_what_came():
    assert "cuda" in kernels.why_not("cpu", torch.device("cuda"))
    assert "mps" in kernels.why_not("gpu", torch.device("mps"))


def test_gpu_kernel_refuses_cpu_tensors_unless_triton_interprets(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    reason = kernels.why_not("gpu", CPU)
    assert "on cpu" in reason
    assert "TRITON_INTERPRET=1" in reason


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_gpu_kernel_says_that_the_interpreter_was_asked_for_too_late():
    script = """
        import os, torch, triton
        os.environ["TRITON_INTERPRET"] = "1"
        from chebact import kernels
        from chebact.basis import Basis
        print(kernels.why_not("gpu", torch.device("cpu")))
    """
    assert "after Triton was imported" in python(script, TRITON_INTERPRET="0")


def test_import_loads_neither_numba_nor_triton():
    script = "import sys, chebact, chebact.kernels.gpu; print([m for m in ('numba', 'triton') if m in sys.modules])"
    assert python(script).strip() == "[]"


@needs_cpu_kernel
@pytest.mark.parametrize("step", ["evaluate", "gradients"])
def test_failing_kernel_gives_way_to_the_reference_and_says_so_once(step, left_alone, monkeypatch, caplog):
    def fail(*given):
        raise RuntimeError("no machine code today")

    x, values = tensors(6, 4)
    values.requires_grad_()
    with kernels.use("reference"):
        want = chebyshev_lagrange(x, values)
        (want_grad,) = torch.autograd.grad(want.sum(), values)
    monkeypatch.setattr(kernels.selection.load_kernel("cpu"), step, fail)
    with caplog.at_level(logging.DEBUG, logger="chebact"):
        for _ in range(3):
            out = chebyshev_lagrange(x, values)
            (grad,) = torch.autograd.grad(out.sum(), values)
    torch.testing.assert_close(out, want)
    torch.testing.assert_close(grad, want_grad)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "'cpu'" in record.message
    assert "no machine code today" in record.message
    assert "reference" in record.message


@needs_cpu_kernel
def test_failing_kernel_asked_for_by_name_raises(monkeypatch):
    def fail(*given):
        raise RuntimeError("no machine code today")

    monkeypatch.setattr(kernels.selection.load_kernel("cpu"), "evaluate", fail)
    with kernels.use("cpu"), pytest.raises(RuntimeError, match="no machine code today"):
        chebyshev_lagrange(*tensors(6, 4))


def test_error_of_the_reference_itself_is_not_hidden(left_alone, monkeypatch):
    def fail(*given):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(reference, "evaluate", fail)
    with kernels.use("reference"), pytest.raises(RuntimeError, match="out of memory"):
        chebyshev_lagrange(*tensors(6, 4))


@needs_cpu_kernel
@pytest.mark.parametrize(("shape", "degree"), [((9, 16), 3), ((400, 16, 20), 3), ((60, 16, 20), 9)])
def test_eight_python_threads_may_call_at_once(shape, degree):
    x, values = tensors(*shape, degree=degree)

    def step(_):
        weights = values.clone().requires_grad_()
        with kernels.use("cpu"):  # a context of this thread alone
            out = chebyshev_lagrange(x, weights)
            (grad,) = torch.autograd.grad(out, weights, x)
        return out.detach(), grad

    out, grad = step(0)
    with ThreadPoolExecutor(8) as pool:
        for other_out, other_grad in pool.map(step, range(8 * 50)):
            assert torch.equal(out, other_out)
            assert torch.equal(grad, other_grad)


def test_name_asked_for_in_one_thread_is_not_asked_for_in_another(left_alone):
    with kernels.use("reference"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(kernels.requested_kernel).result() is None


@needs_cpu_kernel
def test_threads_follow_torch_and_small_tensors_stay_on_one(monkeypatch):
    from chebact.kernels.cpu.threads import Program

    seen, run = [], Program.run
    monkeypatch.setattr(Program, "run", lambda self, block, threads: (seen.append(threads), run(self, block, threads)))
    large, small, before = tensors(4, 64, 4096), tensors(32, 32), torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            with kernels.use("cpu"):
                chebyshev_lagrange(*large)
                chebyshev_lagrange(*small)
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 1, 2, 1, 3, 1]
