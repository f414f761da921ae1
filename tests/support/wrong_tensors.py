"""Run as a program: wrong tensors by every way into the kernels. Each must end in an error, or in the right numbers.

It may die where a check is missing, so tests start it in a process of its own. It prints how many calls it made.
"""

import contextlib
import itertools
import sys

import torch
from torch import nn

from chebact import ChebyshevLagrange, kernels
from chebact.functional import chebyshev_lagrange
from chebact.lab.images.norm_activation import norm_activation

CHANNELS, DEGREE = 48, 3
ERRORS = (TypeError, ValueError, RuntimeError, NotImplementedError)
OPERATORS = torch.ops.chebact


def drawn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def shrunk(tensor, size):
    tensor.untyped_storage().resize_(size)
    return tensor


SHAPES = [
    (CHANNELS, DEGREE), (CHANNELS, DEGREE + 2), (CHANNELS, 2), (CHANNELS, 1), (CHANNELS - 1, 4), (CHANNELS + 1, 4),
    (4, CHANNELS), (CHANNELS,), (), (1, CHANNELS, 4), (2, CHANNELS, 4), (CHANNELS, 4, 1), (0, 4), (CHANNELS, 0), (1, 4),
    (1, 2), (1, 1, 4), (CHANNELS * 4,),
]  # fmt: skip


def wrong_heights():
    """Tensors that are no heights of 48 channels and degree 3, or are so in an unusual form."""
    for shape in SHAPES:
        yield f"shape {shape}", lambda shape=shape: drawn(*shape)
    right = (CHANNELS, DEGREE + 1)
    for dtype in (torch.float64, torch.bfloat16, torch.int64, torch.complex64, torch.bool, torch.float8_e4m3fn):
        yield f"{dtype}", lambda dtype=dtype: drawn(*right).to(dtype)
    yield "meta", lambda: drawn(*right).to("meta")
    yield "sparse coo", lambda: drawn(*right).to_sparse()
    yield "sparse csr", lambda: drawn(*right).to_sparse_csr()
    yield "nested", lambda: torch.nested.nested_tensor([drawn(4), drawn(3)])
    yield "storage of nothing", lambda: shrunk(drawn(*right), 0)
    yield "storage of nothing, with an offset", lambda: shrunk(drawn(CHANNELS + 5, 4)[5:], 0)
    yield "storage cut in half", lambda: shrunk(drawn(*right), CHANNELS * 8)
    yield "turned", lambda: drawn(DEGREE + 1, CHANNELS).T
    yield "with gaps", lambda: drawn(CHANNELS, 2 * DEGREE + 2)[:, ::2]
    yield "expanded", lambda: drawn(1, DEGREE + 1).expand(right)
    yield "negated", lambda: torch.complex(drawn(*right), drawn(*right, seed=1)).conj().imag
    yield "zeros not written down", lambda: torch._efficientzerotensor(right)


def wrong_inputs():
    """Tensors that are no x of 48 channels, or are so in an unusual form."""
    for shape in [(), (CHANNELS - 1,), (7, CHANNELS + 1), (CHANNELS, 7), (7, CHANNELS, 0), (0, 3), (7, 1)]:
        yield f"shape {shape}", lambda shape=shape: drawn(*shape)
    for dtype in (torch.float64, torch.float16, torch.int32, torch.complex64):
        yield f"{dtype}", lambda dtype=dtype: drawn(7, CHANNELS).to(dtype)
    yield "meta", lambda: drawn(7, CHANNELS).to("meta")
    yield "sparse", lambda: drawn(7, CHANNELS).to_sparse()
    yield "nested", lambda: torch.nested.nested_tensor([drawn(2, CHANNELS), drawn(3, CHANNELS)])
    yield "storage of nothing", lambda: shrunk(drawn(7, CHANNELS), 0)
    yield "storage of nothing, with an offset", lambda: shrunk(drawn(9, CHANNELS)[2:], 0)
    yield "storage cut in half", lambda: shrunk(drawn(7, CHANNELS), 7 * CHANNELS * 2)


def learned(lazy=False):
    return ChebyshevLagrange(None if lazy else CHANNELS, degree=DEGREE, init="gelu")


def by_assignment(heights):
    module = learned()
    module.heights = nn.Parameter(heights, requires_grad=heights.is_floating_point())
    return module


def by_data(heights):
    module = learned()
    module(drawn(7, CHANNELS))
    module.heights.data = heights
    return module


def by_state(heights, lazy=False, assign=True):
    module = learned(lazy)
    state = {**learned().state_dict(), "heights": heights}
    module.load_state_dict(state, assign=assign)
    return module


def by_swap(heights):
    module = learned()
    torch.utils.swap_tensors(module.heights, nn.Parameter(heights))
    return module


class Functional(nn.Module):
    def __init__(self, heights):
        super().__init__()
        self.inner, self.heights_given = learned(), heights

    def forward(self, x):
        return torch.func.functional_call(self.inner, {"heights": self.heights_given}, (x,))


class Fused(nn.Module):
    def __init__(self, heights):
        super().__init__()
        self.norm, self.activation = nn.BatchNorm2d(CHANNELS), by_assignment(heights)

    def forward(self, x):
        images = x.unsqueeze(-1).unsqueeze(-1).expand(*x.shape, 2, 2)
        return norm_activation(images, self.norm, self.activation)


WAYS = {
    "assignment": by_assignment,
    "data": by_data,
    "load, assign": by_state,
    "load, copy": lambda heights: by_state(heights, assign=False),
    "lazy load, assign": lambda heights: by_state(heights, lazy=True),
    "lazy load, copy": lambda heights: by_state(heights, lazy=True, assign=False),
    "swap_tensors": by_swap,
    "functional_call": Functional,
    "fused with batch norm": Fused,
    "function": lambda heights: lambda x: chebyshev_lagrange(x, heights),
    "operator": lambda heights: lambda x: OPERATORS.evaluate(x, heights, "extrapolate", 2, -1.0, 1.0, 1, False),
}


def is_right(y, x, heights):
    """Whether y is what the reference gives for copies in ordinary memory."""
    with kernels.use("reference"), torch.no_grad():
        wanted = chebyshev_lagrange(x.detach().clone(), heights.detach().clone().contiguous())
    return torch.allclose(y.detach(), wanted, rtol=1e-2, atol=1e-2)


def attempt(module, x, heights, fused):
    """Call three times, and backward; what was wrong in words, or None."""
    for _ in range(3):
        with contextlib.suppress(*ERRORS):
            y = module(x)
            if not y.is_meta and y.layout is torch.strided and not (fused or is_right(y, x, heights)):
                return "wrong numbers"
            if y.requires_grad:
                y.square().sum().backward()
    return None


def wrong_operators():
    """The registered operators called by hand with arguments that do not fit together."""
    x, grad, heights = drawn(7, CHANNELS), drawn(7, CHANNELS), drawn(CHANNELS, 4)
    axes, kinds = (-3, -1, 0, 1, 2, 99), ("extrapolate", "regression", "none", "chebyshev", "nothing")
    for kind, nodes, axis, replicated in itertools.product(kinds, (-1, 2, 99), axes, (False, True)):
        choices = (kind, nodes, -1.0, 1.0, axis, replicated)
        yield lambda c=choices: OPERATORS.evaluate(x, heights, *c)
        yield lambda c=choices: OPERATORS.gradients(x, grad, heights, *c)
    for shape in [(), (7,), (3, CHANNELS), (14, CHANNELS), (7, CHANNELS, 1), (7, CHANNELS + 1)]:
        for other in (drawn(*shape), drawn(40, CHANNELS)[: shape[0] if shape else 1], drawn(*shape).double()):
            yield lambda g=other: OPERATORS.gradients(x, g, heights, "extrapolate", 2, -1.0, 1.0, 1, False)
            yield lambda g=other: kernels.gradients(x, g, heights, learned().basis, 1, False)
            yield lambda g=other: kernels.evaluate(g, heights, learned().basis, 1, False)
    for cut in (0, 8):
        yield lambda c=cut: kernels.gradients(x, shrunk(drawn(7, CHANNELS), c), heights, learned().basis, 1, False)


def main():
    torch.manual_seed(0)
    count, problems = 0, []
    canaries = [torch.zeros(CHANNELS, 2) for _ in range(64)]
    for (what, make), (way, build) in itertools.product(list(wrong_heights()), WAYS.items()):
        if "storage" in what and "copy" in way:  # torch's own copy reads the memory that is not there, and dies
            continue
        count += 1
        with contextlib.suppress(*ERRORS):
            heights = make()
            problem = attempt(build(heights), drawn(7, CHANNELS, seed=count), heights, "fused" in way)
            problems += [f"heights: {what} by {way}: {problem}"] if problem else []
    for (what, make), needs in itertools.product(list(wrong_inputs()), (False, True)):
        count += 1
        with contextlib.suppress(*ERRORS):
            x, module = make(), learned()
            module(drawn(7, CHANNELS))
            x = x.requires_grad_() if needs else x
            problem = attempt(module, x, module.heights, False)
            problems += [f"x: {what}: {problem}"] if problem else []
    for call in wrong_operators():
        for _ in range(2):
            count += 1
            with contextlib.suppress(*ERRORS):
                call()
    for flag in ("set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion"):
        getattr(torch.__future__, flag)(True)
        for convert in (lambda m: m.to("meta"), lambda m: m.double(), lambda m: m.to(torch.complex64)):
            count += 1
            module = learned()
            module(drawn(7, CHANNELS))
            with contextlib.suppress(*ERRORS):
                convert(module)
                problem = attempt(module, drawn(7, CHANNELS), module.heights, False)
                problems += [f"{flag}: {problem}"] if problem else []
        getattr(torch.__future__, flag)(False)
    if any(bool(canary.any()) for canary in canaries):
        problems.append("memory of others was written to")
    print("\n".join(problems))
    print(f"{count} calls, {len(problems)} problems")
    return len(problems)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
