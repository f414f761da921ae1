"""The paper's algorithm, as the benchmarks write it out, and the library: two ways to the same numbers."""

import pytest
import torch
from support.benchmarks import load_benchmark

from chebact import ChebyshevLagrange


@pytest.fixture(scope="module")
def released():
    return load_benchmark("released_algorithm")


@pytest.mark.parametrize("tails", ["none", "regression", "extrapolate"])
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_both_ways_agree(released, degree, tails):
    generator = torch.Generator().manual_seed(degree)
    torch.set_default_dtype(torch.float64)
    try:
        theirs = released.ReleasedActivation(7, degree, tails)
    finally:
        torch.set_default_dtype(torch.float32)
    ours = ChebyshevLagrange(7, degree=degree, tails=tails, dtype=torch.float64)
    with torch.no_grad():
        theirs.heights.copy_(torch.randn(7, degree + 1, generator=generator))
        ours.heights.copy_(theirs.heights)
    x = torch.randn(40, 7, 3, generator=generator, dtype=torch.float64).requires_grad_()
    weights = torch.randn(40, 7, 3, generator=generator, dtype=torch.float64)
    results = {name: module(x) for name, module in (("theirs", theirs), ("ours", ours))}
    torch.testing.assert_close(results["theirs"], results["ours"], atol=1e-12, rtol=1e-12)
    for wanted in (x, None):
        leaves = [(x if wanted is not None else module.heights) for module in (theirs, ours)]
        pairs = zip(results.values(), leaves, strict=True)
        first, second = (torch.autograd.grad((y * weights).sum(), leaf, retain_graph=True)[0] for y, leaf in pairs)
        torch.testing.assert_close(first, second, atol=1e-10, rtol=1e-10)
