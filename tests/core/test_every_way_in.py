"""Tensors that do not fit, by every way into the kernels: nothing but errors, and never a read beyond memory."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from chebact import ChebyshevLagrange, WeightedChebyshev
from chebact.functional import chebyshev_lagrange

PROGRAM = Path(__file__).resolve().parents[1] / "support" / "wrong_tensors.py"


def test_wrong_tensors_by_every_way_in_end_in_errors_or_in_the_reference_s_numbers():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert int(done.stdout.split()[0]) > 1000


@pytest.mark.parametrize("kind", [ChebyshevLagrange, WeightedChebyshev])
@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_loading_heights_of_another_degree_is_refused(kind, lazy, degree):
    saved = kind(4, degree=degree).state_dict()
    module = kind(None if lazy else 4, degree=3)
    with pytest.raises(RuntimeError, match=module.parameter_name):
        module.load_state_dict(saved, assign=True)
    assert module(torch.zeros(2, 4)).shape == (2, 4)


@pytest.mark.parametrize(
    ("choices", "shape"), [({"groups": 2}, (3, 4)), ({"replicas": 2}, (3, 5, 4)), ({}, (2, 3, 4)), ({}, (4,))]
)
def test_lazy_modules_refuse_states_of_another_form(choices, shape):
    module = ChebyshevLagrange(**choices)
    with pytest.raises(RuntimeError, match="heights must have shape"):
        module.load_state_dict({**module.state_dict(), "heights": torch.zeros(shape)}, assign=True)


def test_the_sentence_says_what_the_width_must_be_and_what_to_do():
    module = ChebyshevLagrange(4, degree=3)
    module.heights = nn.Parameter(torch.zeros(4, 2))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"heights must have 4 .* degree 3, got 2 .*degree=1"):
            module(torch.zeros(3, 4))
    with pytest.raises(ValueError, match="got 2"):
        torch.func.functional_call(module, {"heights": torch.zeros(4, 2)}, (torch.zeros(3, 4),))


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (lambda: torch.eye(4).to_sparse(), "dense tensor"),
        (lambda: torch.eye(4).to_sparse_csr(), "dense tensor"),
        (lambda: torch.nested.nested_tensor([torch.zeros(2, 4), torch.zeros(3, 4)]), "nested"),
        (lambda: torch.masked.masked_tensor(torch.eye(4), torch.eye(4) > 0), "MaskedTensor"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_sparse_nested_and_masked_tensors_get_one_sentence(tensor, words):
    with pytest.raises(TypeError, match=words):
        chebyshev_lagrange(tensor(), torch.zeros(4, 4))
    with pytest.raises(TypeError, match=words):
        chebyshev_lagrange(torch.zeros(4, 4), tensor())


def test_no_channels_are_empty_or_a_sentence_not_a_division_by_zero():
    assert chebyshev_lagrange(torch.zeros(5, 0), torch.zeros(0, 4)).shape == (5, 0)
    with pytest.raises(ValueError, match="must have 0 channels"):
        chebyshev_lagrange(torch.zeros(5, 3), torch.zeros(0, 4))
    for module in (ChebyshevLagrange(), ChebyshevLagrange(4), ChebyshevLagrange(4, groups=2)):
        with pytest.raises(ValueError, match="channels"):
            module(torch.zeros(5, 0))
    assert ChebyshevLagrange(groups=1)(torch.zeros(5, 0)).shape == (5, 0)
    assert ChebyshevLagrange(4)(torch.zeros(0, 4)).shape == (0, 4)


def test_a_plan_made_for_other_shapes_between_forward_and_backward_is_not_used():
    module, x = ChebyshevLagrange(4, init="gelu"), torch.randn(5, 4)
    module(x).sum().backward()
    y = module(x)
    module.heights.data = torch.zeros(4, 2)
    with pytest.raises((RuntimeError, ValueError)):
        y.sum().backward()
