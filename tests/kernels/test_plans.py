"""The second call of a kind goes a short way to the CPU kernel, and must still see all that the first was asked."""

import logging
import os

import pytest
import torch
from support.kernel_calls import needs_cpu_kernel, python, tensors

from chebact import kernels
from chebact.basis import Basis, basis_of
from chebact.functional import chebyshev_lagrange
from chebact.kernels import cpu

BASIS = basis_of(Basis(3))
pytestmark = [needs_cpu_kernel, pytest.mark.usefixtures("left_alone")]


@pytest.fixture
def served(monkeypatch):
    """The names of the kernels that served, in their order."""
    names = []
    plan, reference = cpu.Plan.evaluate, kernels.reference.evaluate
    monkeypatch.setattr(cpu.Plan, "evaluate", lambda *given: (names.append("cpu"), plan(*given))[1])
    monkeypatch.setattr(kernels.reference, "evaluate", lambda *given: (names.append("reference"), reference(*given))[1])
    return names


def evaluate(x, values):
    kept = kernels.find_plan(x, values, BASIS, 1)
    return kernels.evaluate(x, values, BASIS, 1, False, plan=kept and kept.plan)


def test_kernel_asked_for_after_the_first_call_is_the_one_that_runs(served, monkeypatch):
    x, values = tensors(5, 4)
    evaluate(x, values)
    with kernels.use("reference"):
        evaluate(x, values)
    monkeypatch.setenv("CHEBACT_KERNEL", "reference")
    evaluate(x, values)
    os.environ.pop("CHEBACT_KERNEL")
    evaluate(x, values)
    assert served == ["cpu", "reference", "reference", "cpu"]


def test_tensors_of_another_kind_do_not_go_the_way_of_the_first():
    x, values = tensors(6, 6)
    evaluate(x, values)
    with kernels.use("reference"):
        others = [(x.t(), values), (x, values.flip(1)), (x, values.double()), (x.double(), values), (x[::2], values)]
        wanted = [evaluate(*pair) for pair in others]
    for pair, there in zip(others, wanted, strict=True):
        for _ in range(2):
            here = evaluate(*pair)
            assert here.dtype == there.dtype
            torch.testing.assert_close(here, there)


@pytest.mark.parametrize("channel_dim", [1, 0, -1, -2])
@pytest.mark.parametrize("replicas", [(), (3,)])
def test_second_call_is_short_from_whichever_end_the_axes_are_counted(channel_dim, replicas, monkeypatch):
    x, values = (
        torch.linspace(-2, 2, 36).repeat(*replicas, 1).view(*replicas, 6, 6),
        torch.eye(6).repeat(*replicas, 1, 1),
    )
    wanted = chebyshev_lagrange(x, values, channel_dim=channel_dim)
    monkeypatch.setattr(kernels, "_evaluate", None)
    torch.testing.assert_close(chebyshev_lagrange(x, values, channel_dim=channel_dim), wanted, rtol=0, atol=0)


@pytest.mark.parametrize("replicas", [(), (4,)])
def test_axis_that_is_not_there_is_refused_after_calls_with_those_that_are(replicas):
    x, values = torch.ones(*replicas, 4, 4), torch.ones(*replicas, 4, 4)
    for channel_dim in (0, 1):
        chebyshev_lagrange(x, values, channel_dim=channel_dim)
    for channel_dim in (2, -3, -4):
        with pytest.raises(ValueError, match="channel_dim"):
            chebyshev_lagrange(x, values, channel_dim=channel_dim)


def test_memory_that_holds_the_negative_is_read_as_what_it_means():
    x, values = tensors(5, 4)
    evaluate(x, values)
    turned = torch.complex(torch.zeros(5, 4), x).conj().imag  # -x, without a copy; its strides are not those of x
    negative = torch._neg_view(x)
    for each in (turned, negative):
        torch.testing.assert_close(evaluate(each, values), evaluate(-x, values))
    torch.testing.assert_close(evaluate(x, torch._neg_view(values)), -evaluate(x, values))


def test_gradient_in_another_order_of_axes_is_read_as_it_lies():
    x, values = tensors(6, 6)
    grad = torch.randn(6, 6, generator=torch.Generator().manual_seed(2))
    wanted = kernels.gradients(x, grad, values, BASIS, 1, False)
    evaluate(x, values)
    for each in (grad, grad.t().contiguous().t(), torch._neg_view(-grad), grad.double()):
        for here, there in zip(kernels.gradients(x, each, values, BASIS, 1, False), wanted, strict=True):
            torch.testing.assert_close(here, there)


def test_failure_on_the_short_way_falls_back_and_is_said_once(caplog, monkeypatch):
    x, values = tensors(5, 4)
    before = evaluate(x, values)

    def fail(*_):
        raise RuntimeError("the code is gone")

    monkeypatch.setattr(cpu.Plan, "evaluate", fail)
    with caplog.at_level(logging.WARNING, "chebact"):
        for _ in range(3):
            torch.testing.assert_close(evaluate(x, values), before)
    assert [record.getMessage() for record in caplog.records] == [
        "the kernel 'cpu' failed (RuntimeError: the code is gone); the reference runs instead"
    ]


@pytest.mark.fork
def test_forked_child_does_not_go_the_way_of_its_parent():
    said = python("""
        import os, torch
        from chebact.functional import chebyshev_lagrange
        x, values = torch.randn(200, 300), torch.randn(300, 4)
        wanted = chebyshev_lagrange(x, values)
        child = os.fork()
        if child == 0:
            same = chebyshev_lagrange(x, values).numpy().tobytes() == wanted.numpy().tobytes()
            os._exit(0 if same else 3)  # torch's own comparison would wait for threads that are not there
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert said.split() == ["0"]


def test_plans_that_are_kept_do_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(kernels.fast_path, "MAX_PLANS", 8)
    for rows in range(1, 30):
        evaluate(*tensors(rows, 4))
        assert len(kernels.fast_path._plans) <= 8


def test_derivative_recorded_under_one_kernel_is_taken_by_it_though_a_plan_is_kept(served):
    x, values = tensors(5, 4)
    x.requires_grad_()
    chebyshev_lagrange(x, values).sum().backward()
    served.clear()
    with kernels.use("reference"):
        y = chebyshev_lagrange(x, values)
    (for_x,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert served == ["reference"]
    torch.testing.assert_close(for_x, x.grad)
