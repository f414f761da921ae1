"""One contract for every kernel: what each must do to count as the formula.

The GPU kernel runs on a GPU where there is one, elsewhere in Triton's interpreter, which is slow and gets fewer cases.
The interpreter is chosen by the environment before anything imports Triton.
"""

import os
import random
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy
import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

from support.truth import differentiation, end_slope_weights, exact_nodes, extended, lagrange, regression_weights

from chebact import kernels
from chebact.basis import Basis, basis_of
from chebact.checks import TAILS
from chebact.kernels import gpu
from chebact.kernels.layout import Sizes

UNITS = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}
INTERVALS = ((-1.0, 1.0), (-1.0, 1.0), (0.0, 1.0), (-3.0, 5.0), (100.0, 101.0))
FEW_UNITS = 4  # what a kernel may be off beside twice the error of plain torch, for its own order of roundings
INTERPRETED = not torch.cuda.is_available()


class Case(NamedTuple):
    sizes: Sizes
    degree: int
    tails: str
    dtype: torch.dtype
    interval: tuple[float, float] = (-1.0, 1.0)
    regression_nodes: int = 2

    @property
    def basis(self):
        return basis_of(Basis(self.degree, self.tails, self.regression_nodes, self.interval))

    def __str__(self):
        ends = "" if self.interval == (-1.0, 1.0) else f" on {self.interval[0]:g}..{self.interval[1]:g}"
        kind = str(self.dtype).removeprefix("torch.")
        return f"{'x'.join(map(str, self.sizes))} degree {self.degree} {self.tails} {kind}{ends}"


def drawn_cases():
    """Every combination of odd sizes but the largest, with the other choices drawn."""
    draw = random.Random(3)
    for sizes in product((1, 3), (1, 5, 33), (1, 3, 8, 37), (1, 3, 7, 16, 100)):
        if numpy.prod(sizes) > 60_000:
            continue  # the truth would take seconds
        degree, tails = draw.choice((1, 2, 3, 4, 7)), draw.choice(TAILS)
        count = draw.randint(2, degree + 1)
        yield Case(Sizes(*sizes), degree, tails, draw.choice(list(UNITS)), draw.choice(INTERVALS), count)


HIGH = [
    Case(Sizes(1, 5, 3, 7), 30, "extrapolate", torch.float32),
    Case(Sizes(1, 33, 37, 1), 30, "regression", torch.float64, (-3.0, 5.0), 5),
    Case(Sizes(3, 2, 2, 40), 30, "regression", torch.float32, (0.0, 1.0)),
    Case(Sizes(1, 9, 5, 1), 100, "extrapolate", torch.float32),
    Case(Sizes(1, 2, 1, 40), 100, "extrapolate", torch.float64),
    Case(Sizes(1, 5, 3, 7), 7, "none", torch.float32),
    Case(Sizes(3, 2, 2, 40), 12, "none", torch.float32, (0.0, 1.0)),
    Case(Sizes(1, 33, 5, 1), 30, "none", torch.float64, (-3.0, 5.0)),
]
CASES = [*drawn_cases(), *HIGH]


def is_quick(case):
    """Whether the interpreter is done with a case in a second or two."""
    programs = gpu._find_tiling(case.sizes, gpu.TILE, several=True).programs
    return case in HIGH or (sum(case.sizes) % 2 == 0 and programs <= 9)


def served(name, case):
    """The kernel's module and the device it runs on; skips the test, with the reason, where it cannot run."""
    device = torch.device("cuda" if name == "gpu" and not INTERPRETED else "cpu")
    reason = kernels.why_not(name, device)
    if reason is not None:
        pytest.skip(f"the kernel {name!r} cannot run here: {reason}")
    return kernels.selection.load_kernel(name), device


ALL_KERNELS = pytest.mark.parametrize("name", kernels.NAMES)
KERNELS_AND_CASES = pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for case in CASES for name in kernels.NAMES if name != "gpu" or not INTERPRETED or is_quick(case)],
    ids=str,
)


@lru_cache(maxsize=4)
def inputs(case):
    """x with places on, at and outside the ends among it, the gradient, and the values, on the CPU."""
    generator = torch.Generator().manual_seed(sum(case.sizes) + case.degree)
    a, b = case.interval
    x = (a + b) / 2 + (b - a) / 2 * 0.9 * torch.randn(case.sizes, generator=generator, dtype=torch.float64)
    x = x.to(case.dtype)
    ends = torch.tensor([a, b, 2 * a - b, 2 * b - a, a - 30 * (b - a), b + 30 * (b - a)], dtype=case.dtype)
    x.view(-1)[: len(ends)] = ends[: x.numel()]
    grad = torch.randn(case.sizes, generator=generator, dtype=case.dtype)
    values = torch.randn(*case.sizes[::2], case.degree + 1, generator=generator, dtype=case.dtype)
    return x, grad, values


def run(name, case):
    """The value, the gradient of x and that of the values by one kernel; whatever it does not write stays NaN."""
    module, device = served(name, case)
    given = [tensor.to(device) for tensor in inputs(case)]
    x, grad, values = (tensor.clone() for tensor in given)
    value, for_x = torch.full_like(x, torch.nan), torch.full_like(x, torch.nan)
    module.evaluate(x, values, case.basis, case.sizes, value)
    for_values = module.gradients(x, grad, values, case.basis, case.sizes, for_x)
    assert all(torch.equal(now, before) for now, before in zip((x, grad, values), given, strict=True))
    assert for_values.shape == values.shape
    return [tensor.cpu() for tensor in (value, for_x, for_values)]


@lru_cache(maxsize=4)
def truth(case):
    """The three results in extended precision by the paper's formulas, each with the size its error is held to."""
    x, grad, values = (tensor.numpy().astype(numpy.longdouble) for tensor in inputs(case))
    phi, slopes = functions(x, case)
    heights, largest = values[:, None, :, None, :], abs(values).max(-1)[:, None, :, None]
    shares = shares_of(case)
    return (
        ((heights * phi).sum(-1), largest * abs(phi).sum(-1)),
        (grad * (heights * slopes).sum(-1), abs(grad) * largest * abs(slopes).sum(-1)),
        (shares.sum((1, 3)), abs(shares).sum((1, 3)).max(-1, keepdims=True)),
    )


@lru_cache(maxsize=4)
def shares_of(case):
    """What every element adds to the gradient of the values: (..., degree + 1)."""
    x, grad, _ = (tensor.numpy().astype(numpy.longdouble) for tensor in inputs(case))
    return grad[..., None] * functions(x, case)[0]


def functions(x, case):
    """The functions that the values are weights of, and their derivatives, at every x: two of (..., degree + 1)."""
    nodes = extended(exact_nodes(case.degree, case.interval))
    inside = lagrange(x, nodes)
    slopes = inside @ differentiation(nodes)
    if case.tails == "none":
        return inside, slopes
    for end, is_outside in ((0, x >= nodes[0]), (-1, x <= nodes[-1])):
        if case.tails == "extrapolate":
            slope = extended(end_slope_weights(case.degree, end, case.interval))
        else:
            slope = extended(regression_weights(case.degree, case.regression_nodes, end, case.interval))
        line = numpy.eye(case.degree + 1)[end] + slope * (x - nodes[end])[..., None]
        inside = numpy.where(is_outside[..., None], line, inside)
        slopes = numpy.where(is_outside[..., None], slope, slopes)
    return inside, slopes


def errors(results, case):
    """The largest error of each result, in units of its type times that size; NaN counts as endless."""
    return [largest_error(got, want, size, case) for got, (want, size) in zip(results, truth(case), strict=True)]


@lru_cache(maxsize=4)
def errors_of_plain_torch(case):
    """Those of the reference, which adds up in float64; for sums, at least those of torch's own in the same type."""
    value, for_x, for_values = errors(run("reference", case), case)
    sums = torch.from_numpy(shares_of(case).astype(numpy.float64)).to(case.dtype).sum((1, 3))
    return value, for_x, max(for_values, largest_error(sums, *truth(case)[2], case))


def largest_error(got, want, size, case):
    error = abs(got.numpy().astype(numpy.longdouble) - want) / (UNITS[case.dtype] * size + numpy.finfo(float).tiny)
    return float(numpy.where(numpy.isnan(error), numpy.inf, error).max())


@KERNELS_AND_CASES
def test_error_is_at_most_twice_that_of_plain_torch_and_every_element_is_written(name, case):
    if case.dtype == torch.float64 and numpy.finfo(numpy.longdouble).nmant < 63:
        pytest.skip("this machine's long double is no wider than float64, so there is no truth to compare with")
    for what, here, plain in zip(
        ("value", "gradient of x", "gradient of the values"),
        errors(run(name, case), case),
        errors_of_plain_torch(case),
        strict=True,
    ):
        assert here <= 2 * plain + FEW_UNITS, f"{what}: {here:.2f} units, plain torch {plain:.2f}"


SAME_BITS = [
    Case(Sizes(2, 33, 37, 1), 3, "extrapolate", torch.float32),
    Case(Sizes(1, 5, 8, 16), 3, "none", torch.float32),
    Case(Sizes(1, 33, 3, 7), 6, "regression", torch.float32),
    Case(Sizes(1, 5, 3, 40), 6, "none", torch.float32),
]


@ALL_KERNELS
@pytest.mark.parametrize("case", SAME_BITS, ids=str)
def test_same_bits_from_run_to_run(name, case):
    first = run(name, case)
    assert all(torch.equal(a, b) for a, b in zip(first, run(name, case), strict=True))


LARGE = [
    Case(Sizes(1, 64, 48, 100), 3, "extrapolate", torch.float32),
    Case(Sizes(1, 9001, 37, 1), 3, "regression", torch.float32),
    Case(Sizes(3, 1000, 8, 5), 2, "none", torch.float64),
    Case(Sizes(1, 1, 1, 400_000), 3, "extrapolate", torch.float32),
    Case(Sizes(1, 9001, 37, 1), 6, "extrapolate", torch.float32),
    Case(Sizes(1, 3, 5, 20_000), 6, "extrapolate", torch.float32),
    Case(Sizes(1, 9001, 7, 3), 5, "none", torch.float32),
]


@pytest.mark.parametrize("case", LARGE, ids=str)
def test_same_bits_on_the_cpu_for_any_number_of_threads(case):
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(run("cpu", case))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_threads_of_other_libraries_do_not_change_the_gradient_of_the_values():
    """NumPy's own product of matrices would: the cut among its threads is that of the sum."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    case = Case(Sizes(1, 3, 257, 1), 100, "extrapolate", torch.float64)
    results = []
    for threads in (1, 2, 4):
        with threadpoolctl.threadpool_limits(threads):
            results.append(run("cpu", case)[2])
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_sum_to_a_single_row_by_the_reference_has_the_same_bits_for_any_number_of_threads():
    case = Case(Sizes(1, 1, 1, 300_007), 5, "none", torch.float64)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 3, 4):
            torch.set_num_threads(threads)
            results.append(run("reference", case)[2])
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("case", LARGE, ids=str)
def test_every_task_of_a_large_tensor_is_done_right(case):
    units = 64 * UNITS[case.dtype]  # of the largest: tasks that are left out or done twice are off by far more
    for here, plain in zip(run("cpu", case), run("reference", case), strict=True):
        torch.testing.assert_close(here, plain, rtol=0, atol=units * plain.abs().max().item())


@ALL_KERNELS
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7, 30])
@pytest.mark.parametrize("dtype", UNITS, ids=str)
def test_value_at_a_node_is_the_height_itself(name, degree, dtype):
    if name == "gpu" and INTERPRETED and degree == 30 and dtype == torch.float64:
        pytest.skip("the interpreter takes long, and float32 tells the same")
    case = Case(Sizes(1, degree + 1, 2, 1), degree, "extrapolate", dtype)
    module, device = served(name, case)
    places = torch.tensor([float(node) for node in exact_nodes(degree)], dtype=torch.float64).to(dtype)
    x = places[:, None].expand(-1, 2).contiguous()
    values = torch.randn(2, degree + 1, generator=torch.Generator().manual_seed(degree)).to(dtype)
    out = torch.full_like(x, torch.nan).to(device)
    module.evaluate(x.to(device), values.to(device), case.basis, case.sizes, out)
    assert torch.equal(out.cpu(), values.T)


@ALL_KERNELS
@pytest.mark.parametrize("degree", [3, 4])
@pytest.mark.parametrize("dtype", UNITS, ids=str)
def test_no_finite_x_gives_nan(name, degree, dtype):
    info = torch.finfo(dtype)
    small = [0.0, info.smallest_normal / 64, info.smallest_normal, 3e-38, 1e-30]
    x = torch.tensor([s * v for v in (*small, 1 - info.eps, 1 + info.eps, 1e30) for s in (1, -1)], dtype=dtype)
    case = Case(Sizes(1, 1, 1, len(x)), degree, "extrapolate", dtype)
    module, device = served(name, case)
    values, value, for_x = torch.ones(1, degree + 1, dtype=dtype), torch.empty_like(x), torch.empty_like(x)
    x, values, value, for_x = (tensor.to(device) for tensor in (x, values, value, for_x))
    module.evaluate(x, values, case.basis, case.sizes, value)
    for_values = module.gradients(x, torch.ones_like(x), values, case.basis, case.sizes, for_x)
    assert all(tensor.isfinite().all() for tensor in (value, for_x, for_values))
    assert torch.allclose(value[x.abs() < 1], torch.ones((), dtype=dtype, device=device))


@ALL_KERNELS
@pytest.mark.parametrize("degree", [3, 6])
def test_gradients_of_any_size_keep_their_digits(name, degree):
    """Also at the node in the middle, where zeros that other layers made come together."""
    case = Case(Sizes(1, 16, 3, 1), degree, "extrapolate", torch.float32)
    module, device = served(name, case)
    x, grad, values = (tensor.to(device) for tensor in inputs(case))
    x = torch.where(torch.arange(16, device=device)[:, None, None] < 4, 0.0, x)
    results = []
    for factor in (1.0, 2.0**-60):
        for_x = torch.empty_like(x)
        for_values = module.gradients(x, grad * factor, values, case.basis, case.sizes, for_x)
        results.append((for_x / factor, for_values / factor))
    for here, there in zip(*results, strict=True):
        torch.testing.assert_close(here, there, rtol=1e-6, atol=1e-25)


@ALL_KERNELS
@pytest.mark.parametrize("inner", [1, 100])
@pytest.mark.parametrize("degree", [3, 4])
def test_many_equal_gradients_are_summed_as_well_as_torch_sums_them(name, inner, degree):
    """Equal terms are the worst for a sum: every rounding goes the same way."""
    count = 5_000 if name == "gpu" and INTERPRETED else 400_000
    case = Case(Sizes(1, count // inner, 1 if inner > 1 else 2, inner), degree, "extrapolate", torch.float32)
    module, device = served(name, case)
    x = torch.full(case.sizes, 0.7, device=device)
    values = torch.ones(case.sizes.channels, degree + 1, device=device)
    got = module.gradients(x, torch.ones_like(x), values, case.basis, case.sizes, torch.empty_like(x)).cpu().double()
    phi, _ = functions(x[0, 0, 0, :1].cpu().numpy().astype(numpy.longdouble), case)
    want = torch.from_numpy((phi[0] * count).astype(float))
    units = ((got - want).abs().max() / want.abs().max() / UNITS[torch.float32]).item()
    plain = abs(torch.full((count,), 0.7).sum().item() / (count * torch.tensor(0.7).item()) - 1) / UNITS[torch.float32]
    assert units <= 2 * plain + 32, f"{units:.0f} units, torch's own sum {plain:.0f}"


@ALL_KERNELS
@pytest.mark.parametrize("degree", [3, 5])
def test_result_may_be_written_over_x(name, degree):
    case = Case(Sizes(1, 5, 3, 7), degree, "extrapolate", torch.float32)
    module, device = served(name, case)
    x, _, values = (tensor.to(device) for tensor in inputs(case))
    x = x.clone()
    module.evaluate(x, values, case.basis, case.sizes, x)
    assert torch.equal(x.cpu(), run(name, case)[0])


@ALL_KERNELS
@pytest.mark.parametrize("shape", [(0, 3), (2, 3, 0), (3, 0, 4)], ids=str)
def test_empty_tensors_come_back_empty_with_zero_gradients(name, shape):
    replicated = shape[0] == 3
    basis = basis_of(Basis(3))
    _, device = served(name, Case(Sizes(1, 1, 3, 1), 3, "extrapolate", torch.float32))
    x = torch.empty(shape, device=device)
    values = torch.ones(*((3, 4, 4) if replicated else (3, 4)), device=device)
    axis = 2 if replicated else 1
    with kernels.use(name):
        assert kernels.evaluate(x, values, basis, axis, replicated).shape == shape
        for_x, for_values = kernels.gradients(x, x, values, basis, axis, replicated)
    assert for_x.shape == shape
    assert torch.equal(for_values, torch.zeros_like(values))


@ALL_KERNELS
@pytest.mark.parametrize("rows", ["a channel", "shared"])
@pytest.mark.parametrize("replicated", [False, True], ids=["one", "replicas"])
@pytest.mark.parametrize("memory", ["contiguous", "channels last", "gaps"])
def test_values_of_every_kind_serve_tensors_in_any_memory_format(name, rows, replicated, memory):
    basis, generator = basis_of(Basis(3)), torch.Generator().manual_seed(5)
    _, device = served(name, Case(Sizes(1, 1, 3, 1), 3, "extrapolate", torch.float32))
    x = torch.randn(2, 5, 3, 4, 8, generator=generator)
    if memory == "gaps":
        x = x[..., ::2]
    elif memory == "channels last":
        x = x.movedim(2, -1).contiguous().movedim(-1, 2)
    x, axis = (x, 2) if replicated else (x[0], 1)
    values = torch.randn(2, 3 if rows == "a channel" else 1, 4, generator=generator)
    values = values if replicated else values[0]
    x, values = x.to(device), values.to(device)
    results = []
    for each in (name, "reference"):
        with kernels.use(each):
            value = kernels.evaluate(x, values, basis, axis, replicated)
            results.append((value, *kernels.gradients(x, value.cos(), values, basis, axis, replicated)))
    for here, plain in zip(*results, strict=True):
        assert here.stride() == plain.stride()
        torch.testing.assert_close(here, plain, rtol=1e-5, atol=1e-5)
