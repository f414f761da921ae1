"""Kernels in forked children, on other threads, on odd tensors: they compute, and do not hang."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from support.kernel_calls import CPU, needs_cpu_kernel, python, tensors

from chebact import kernels
from chebact.functional import chebyshev_lagrange
from chebact.kernels import reference

FORK = """
    import os, signal, sys, time, torch
    from pathlib import Path
    from chebact.functional import chebyshev_lagrange

    def work():
        row = values.clone().requires_grad_()
        out = chebyshev_lagrange(x, row)
        return b"".join(t.numpy().tobytes() for t in (out.detach(), torch.autograd.grad(out, row, x)[0]))

    torch.set_num_threads(2)
    x, values = torch.randn(128, 64, 32), torch.randn(64, int(os.environ["DEGREE"]) + 1)
    torch.randn(4_000_000).exp().sum()  # so that torch's own threads are there, which a child does not inherit
    if os.environ["WHEN"] == "before":
        work()
    child, place = os.fork(), Path(os.environ["PLACE"])
    if not child:
        place.write_bytes(work())
        os._exit(0)
    for _ in range(600):
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            sys.exit(place.read_bytes() != work())
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    sys.exit("the child hangs")
"""


@needs_cpu_kernel
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("degree", [3, 6])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.fork
def test_forked_child_computes_whether_the_kernel_ran_before_the_fork_or_not(when, degree, tmp_path):
    python(FORK, CHEBACT_KERNEL="cpu", WHEN=when, DEGREE=str(degree), PLACE=str(tmp_path / "result"))


FORK_WITH_COPIES = """
    import os, signal, sys, time, torch
    from chebact.functional import chebyshev_lagrange

    torch.set_num_threads(2)
    x, values, slow = torch.randn(128, 64, 32), torch.randn(64, 4), torch.randn(64, 6)
    gaps, half, ones = torch.randn(128, 64, 64)[..., ::2], x.bfloat16(), torch.ones(())
    torch.randn(4_000_000).exp().sum()  # so that torch's own threads are there, which a child does not inherit
    child = os.fork()
    if not child:
        chebyshev_lagrange(gaps, values)
        chebyshev_lagrange(half, values)
        row = slow.requires_grad_()
        out = chebyshev_lagrange(x, row, tails="none")
        torch.autograd.grad(out, row, ones.expand_as(out))
        os._exit(0 if torch.get_num_threads() == 2 else 1)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            sys.exit(status)
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    sys.exit("the child hangs")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.fork
def test_forked_child_does_not_wait_where_tensors_are_copied_or_the_reference_serves():
    """Copies and the reference are torch's own operations, which wait for threads that a child does not have."""
    python(FORK_WITH_COPIES)


def test_backward_pass_on_another_thread_is_served_by_the_kernel_of_the_forward_pass(monkeypatch):
    """As torch differentiates GPU tensors on threads of its own."""
    monkeypatch.delenv("CHEBACT_KERNEL", raising=False)
    served, plain = [], reference.gradients
    monkeypatch.setattr(
        reference, "gradients", lambda *given: (served.append(kernels.requested_kernel()), plain(*given))[1]
    )
    x, values = tensors(6, 4)
    with kernels.use("reference"):
        out = chebyshev_lagrange(x.requires_grad_(), values.requires_grad_())
    with ThreadPoolExecutor(1) as pool:
        (slope,) = pool.submit(torch.autograd.grad, out.sum(), values, create_graph=True).result()
        pool.submit(torch.autograd.grad, slope.square().sum(), x).result()
    assert served == ["reference"] * 2, "the first derivative and the second"
    assert kernels.requested_kernel() is None


@needs_cpu_kernel
def test_python_threads_do_the_work_where_there_is_no_openmp(monkeypatch):
    from chebact.kernels.cpu import threads as team

    class Pool(ThreadPoolExecutor):
        started = 0

        def submit(self, *given):
            Pool.started += 1
            if Pool.started == 3:
                raise RuntimeError("can't start new thread")
            return super().submit(*given)

    x, values = tensors(40, 64, 100)
    before = torch.get_num_threads()
    with kernels.use("cpu"), Pool(2) as pool:
        want = chebyshev_lagrange(x, values)
        monkeypatch.setattr(team, "_openmp_team", lambda: None)
        monkeypatch.setattr(team, "_python_threads", lambda: pool)
        try:
            torch.set_num_threads(3)
            for _ in range(2):  # the second time one of two threads is not to be had
                assert torch.equal(chebyshev_lagrange(x, values), want)
        finally:
            torch.set_num_threads(before)
    assert Pool.started == 3


@needs_cpu_kernel
def test_memory_is_not_given_back_while_python_threads_work_on_it(monkeypatch):
    from chebact.kernels.cpu import threads as team

    finished = []

    def call(block):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.2)
        finished.append(block)

    program = team.Program.__new__(team.Program)
    program._call = call
    monkeypatch.setattr(team, "_openmp_team", lambda: None)
    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(team, "_python_threads", lambda: pool)
        with pytest.raises(KeyboardInterrupt):
            program.run(7, 3)
        assert finished == [7, 7]


def test_numba_told_not_to_compile_is_a_reason(monkeypatch):
    numba = pytest.importorskip("numba", reason="Numba is not installed")
    from chebact.kernels.cpu import compiler

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert "NUMBA_DISABLE_JIT" in compiler.why_not.__wrapped__()


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_lazy_minus_sign_is_not_overlooked(name):
    """The imaginary part of a conjugate shares the memory of the original, with a mark that says minus."""
    if kernels.why_not(name, CPU) is not None:
        pytest.skip("this kernel cannot run here")
    x, values = tensors(5, 3)
    grad = x.flip(0)
    minus = torch._neg_view
    with kernels.use(name):
        one = torch.tensor([[0.3 - 0.7j]]).conj().imag
        assert torch.equal(chebyshev_lagrange(one, values[:1]), chebyshev_lagrange(torch.tensor([[0.7]]), values[:1]))
        assert torch.equal(chebyshev_lagrange(minus(x), minus(values)), chebyshev_lagrange(-x, -values))
        out = chebyshev_lagrange(x, values.requires_grad_())
        (lazy,) = torch.autograd.grad(out, values, minus(grad), retain_graph=True)
        assert torch.equal(lazy, torch.autograd.grad(out, values, -grad)[0])
