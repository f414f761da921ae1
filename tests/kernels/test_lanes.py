"""The CPU kernel at every width of vectors, each in a Python of its own, against the reference in float64."""

from functools import lru_cache

import pytest
from support.kernel_calls import needs_cpu_kernel, python

SCRIPT = """
    import itertools, sys
    import torch
    from chebact.basis import Basis, basis_of
    from chebact.kernels import cpu, reference
    from chebact.kernels.layout import Sizes

    def run(module, case, degree, dtype):
        draw = torch.Generator().manual_seed(degree)
        x, grad = (torch.randn(case, generator=draw, dtype=torch.float64).float().to(dtype) for _ in range(2))
        values = torch.randn(case.replicas, case.channels, degree + 1, generator=draw, dtype=torch.float32).to(dtype)
        basis, out, for_x = basis_of(Basis(degree)), torch.full_like(x, torch.nan), torch.full_like(x, torch.nan)
        module.evaluate(x, values, basis, case, out)
        return out, for_x, module.gradients(x, grad, values, basis, case, for_x)

    for sizes, degree in itertools.product(((2, 7, 21, 1), (1, 3, 5, 71), (1, 40, 3, 5), (1, 4, 16, 1)), (3, 9)):
        results = run(cpu, Sizes(*sizes), degree, torch.float32)
        again = run(cpu, Sizes(*sizes), degree, torch.float32)
        assert all(torch.equal(here, there) for here, there in zip(results, again))
        for here, there in zip(results, run(reference, Sizes(*sizes), degree, torch.float64)):
            error = (here - there).abs().max() / there.abs().max()
            assert error <= 16 * 2.0**-24, (sizes, degree, error.item() * 2**24)
        print([tensor.flatten().double().sum().item().hex() for tensor in results[:2]])
    """


@lru_cache(maxsize=1)
def unchanged():
    """What the script prints at the width that this machine has of its own."""
    return python(SCRIPT, timeout=600)


@needs_cpu_kernel
@pytest.mark.parametrize(
    "environment",
    [
        {"CHEBACT_LANES": "4"},
        pytest.param({"CHEBACT_LANES": "8"}, marks=pytest.mark.slow),  # between the other two
        {"CHEBACT_LANES": "16"},
        pytest.param({"NUMBA_CPU_NAME": "generic", "ATEN_CPU_CAPABILITY": "default"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_every_width_agrees_with_the_reference_and_elements_have_the_same_bits(environment):
    """The sums alone depend on the width: lanes are added up apart."""
    assert python(SCRIPT, timeout=600, **environment) == unchanged()
