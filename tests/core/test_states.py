"""States, starts and lazy widths of the modules: what a state holds, and what is refused or asked for."""

import math

import numpy
import pytest
import torch
from torch import nn

from chebact import ChebyshevLagrange, WeightedChebyshev


def filled(module):
    with torch.no_grad():
        for index, p in enumerate(module.parameters()):
            p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(index)))
    return module


def saved(**choices):
    return filled(ChebyshevLagrange(4, **choices)).state_dict()


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"interval": (-3.0, 3.0)}, {}, r"interval \(-3, 3\) in the state and \(-1.0, 1.0\) in the module"),
        ({}, {"interval": (-1.0, 1.5)}, "interval"),
        ({"tails": "none"}, {}, "tails 'none' in the state and 'extrapolate' in the module"),
        ({"tails": "regression"}, {"tails": "regression", "regression_nodes": 3}, "regression nodes"),
    ],
)
def test_a_state_of_another_function_is_refused(before, after, words, lazy):
    module = ChebyshevLagrange(None if lazy else 4, **after)
    with pytest.raises(RuntimeError, match=words):
        module.load_state_dict(saved(**before))


@pytest.mark.parametrize(
    "change", [lambda t: t, lambda t: t.half(), lambda t: t.bfloat16(), lambda t: (t + t * 1.0) / 2]
)
def test_a_state_of_the_same_function_loads_in_other_types_and_averaged(change):
    choices = {"interval": (-0.1, 2.7), "tails": "regression", "regression_nodes": 3}
    state = {name: change(tensor) for name, tensor in saved(**choices).items()}
    ChebyshevLagrange(4, **choices).load_state_dict(state)


def test_an_older_state_without_interval_and_tails_loads_with_a_warning():
    state = {"heights": saved()["heights"]}
    module = ChebyshevLagrange(4)
    with pytest.warns(UserWarning, match=r"must hold interval and tails.*\(-1.0, 1.0\) and 'extrapolate'"):
        assert module.load_state_dict(state, strict=True) == ([], [])
    assert torch.equal(module.heights, state["heights"])


def test_the_state_is_tensors_alone_and_no_buffer():
    module = ChebyshevLagrange(4)
    assert all(type(value) in (torch.Tensor, nn.Parameter) for value in module.state_dict().values())
    assert not list(module.buffers())
    with torch.device("meta"):
        assert module.state_dict()["_extra_state"].device.type == "cpu"


@pytest.mark.parametrize("kind", [list, torch.tensor, numpy.array, tuple])
def test_heights_may_be_given_as_numbers(kind):
    rows = [1.0, 0.5, -0.25, 2.0]
    module = ChebyshevLagrange(3, init=kind(rows))
    assert module.heights.tolist() == [rows] * 3
    assert "init=[1.0, 0.5, -0.25, 2.0]" in repr(module)
    each = [rows, [0.0] * 4, rows[::-1]]
    module = ChebyshevLagrange(3, init=kind(each), dtype=torch.float64)
    assert module.heights.tolist() == each
    module.fit_("gelu").reset_parameters()
    assert module.heights.tolist() == each
    assert ChebyshevLagrange(6, groups=3, replicas=2, init=kind(each)).heights.tolist() == [each] * 2
    assert ChebyshevLagrange(1).fit_(kind(rows)).heights.tolist() == [rows]


def test_heights_in_a_list_are_taken_to_the_last_bit():
    """Python's own floats are the truth; 0.1 is none that float32 holds."""
    heights = [0.1, -0.3, 1 / 3, 2.0]
    assert ChebyshevLagrange(1, init=heights, dtype=torch.float64).heights.tolist() == [heights]
    assert ChebyshevLagrange(1, init=[heights], dtype=torch.float64).heights.tolist() == [heights]


def test_heights_given_are_copied():
    rows = torch.zeros(4)
    module = ChebyshevLagrange(3, init=rows)
    rows.fill_(5.0)
    module.reset_parameters()
    assert not bool(module.heights.any())


@pytest.mark.parametrize("bad", [[1.0, 2.0], [[1.0] * 4] * 2, [["a"]], [], [math.nan] * 4, 3.0, None])
def test_heights_that_do_not_fit_get_a_sentence(bad):
    with pytest.raises((TypeError, ValueError), match="init must"):
        ChebyshevLagrange(3, init=bad)


@pytest.mark.parametrize("kind", [ChebyshevLagrange, WeightedChebyshev])
def test_a_lazy_module_asks_which_of_three_axes_holds_the_channels(kind):
    tokens = torch.zeros(2, 5, 8)
    for module, x in ((kind(), tokens), (kind(groups=4), tokens), (kind(replicas=2), torch.zeros(2, 3, 5, 8))):
        with pytest.raises(ValueError, match=r"channel_dim must be set.*channel_dim=-1.*groups=1"):
            module(x)
        assert not module.is_materialized
    assert kind(channel_dim=1)(tokens).shape == tokens.shape
    given = kind(channel_dim=-1)
    given(tokens)
    assert given.learned.shape == (8, 4)
    assert kind(groups=1)(tokens).shape == tokens.shape
    for shape, channels in (((2, 8), 8), ((2, 8, 5, 5), 8), ((2, 8, 3, 5, 5), 8), ((8,), 8)):
        module = kind()
        module(torch.zeros(shape))
        assert module.channels == channels


def test_the_shape_error_names_the_axis_that_was_meant():
    with pytest.raises(ValueError, match=r"axis 2 has 8: did you mean channel_dim=-1\?"):
        ChebyshevLagrange(8)(torch.zeros(4, 10, 8))
    with pytest.raises(ValueError, match=r"axis 1 has 8: did you mean channel_dim=0\?"):
        ChebyshevLagrange(8, replicas=3)(torch.zeros(3, 8, 5))
    with pytest.raises(ValueError, match=r"got 5 in shape \(4, 5\)$"):
        ChebyshevLagrange(8)(torch.zeros(4, 5))
