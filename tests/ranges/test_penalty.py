"""The range penalty: against the definition, element by element, and every way in which a model can be called."""

import copy

import numpy
import pytest
import torch
from torch import nn
from torch.autograd import gradcheck, gradgradcheck
from torch.utils.checkpoint import checkpoint

import chebact
from chebact import ChebyshevLagrange, WeightedChebyshev

MARGIN = 0.2


def by_definition(x, interval=(-1.0, 1.0), margin=MARGIN, axis=1):
    """The penalty of one replica, in NumPy: x is moved to (row, channel)."""
    numbers = numpy.moveaxis(x.detach().double().numpy(), axis, -1)
    rows = numbers.reshape(-1, numbers.shape[-1])
    middle, half = sum(interval) / 2, (interval[1] - interval[0]) / 2
    beyond = numpy.maximum(numpy.abs((rows - middle) / half) - (1 - margin), 0)
    return (beyond**2).mean() + (beyond.max(axis=0) ** 2).mean()


def drawn(*shape, scale=1.0, seed=0, dtype=torch.float64):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def heard(activation, x, **options):
    penalty = chebact.range_penalty(activation, **{"weight": 1.0, **options})
    with penalty:
        activation(x)
    return penalty.value()


SHAPES = [((7, 4), 1), ((7, 4, 5), 1), ((7, 5, 4), -1), ((2, 4, 3, 5), 1), ((2, 3, 5, 4), 3), ((4,), 1)]


@pytest.mark.parametrize(("shape", "channel_dim"), SHAPES)
@pytest.mark.parametrize("interval", [(-1.0, 1.0), (-0.5, 3.0)])
def test_the_penalty_is_its_definition(shape, channel_dim, interval):
    activation = ChebyshevLagrange(4, channel_dim=channel_dim, interval=interval, dtype=torch.float64)
    x = drawn(*shape, scale=2.0)
    axis = 0 if len(shape) == 1 else channel_dim
    rows = x.unsqueeze(0) if len(shape) == 1 else x
    expected = by_definition(rows, interval, axis=axis + (len(shape) == 1))
    assert expected > 0.01
    assert heard(activation, x, margin=MARGIN).item() == pytest.approx(expected, rel=1e-13)
    assert heard(activation, x.requires_grad_(), margin=MARGIN).item() == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("options", [{"groups": 2}, {"groups": 1}, {"degree": 1}, {"tails": "none"}])
def test_shared_functions_and_other_tails_change_nothing(options):
    x = drawn(6, 4, 5, scale=1.5)
    activation = ChebyshevLagrange(4, channel_dim=1, dtype=torch.float64, **options)
    assert heard(activation, x).item() == pytest.approx(by_definition(x), rel=1e-13)


def test_weighted_chebyshev_polynomials_have_the_interval_of_their_series():
    x = drawn(6, 4, scale=1.5)
    assert heard(WeightedChebyshev(4, dtype=torch.float64), x).item() == pytest.approx(by_definition(x), rel=1e-13)


def test_a_function_without_channels_has_one_worst_element():
    x = drawn(6, 4, 2, scale=1.5)
    activation = ChebyshevLagrange(groups=1, dtype=torch.float64)
    assert heard(activation, x).item() == pytest.approx(by_definition(x.reshape(-1, 1)), rel=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_narrow_types_are_summed_in_float32(dtype):
    x = drawn(64, 4, 8, scale=1.5, dtype=dtype).requires_grad_()
    value = heard(ChebyshevLagrange(4, channel_dim=1, dtype=dtype), x)
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(by_definition(x), rel=1e-5)
    value.backward()
    assert x.grad.dtype == dtype


def test_the_layout_in_memory_changes_nothing():
    x = drawn(3, 4, 5, 6, scale=1.5)
    activation = ChebyshevLagrange(4, dtype=torch.float64)
    values = []
    for each in (x, x.to(memory_format=torch.channels_last), x.transpose(2, 3).contiguous().transpose(2, 3)):
        each = each.clone(memory_format=torch.preserve_format).requires_grad_()
        value = heard(activation, each)
        value.backward()
        values.append((value.item(), each.grad))
    assert values[0][0] == pytest.approx(by_definition(x), rel=1e-13)
    for value, gradient in values[1:]:
        assert value == pytest.approx(values[0][0], rel=1e-13)
        torch.testing.assert_close(gradient, values[0][1], rtol=1e-13, atol=0)


@pytest.mark.parametrize(
    ("shape", "channel_dim", "replicas"), [((5, 3), 1, None), ((2, 3, 4), 1, None), ((2, 5, 3), 1, 2)]
)
@pytest.mark.parametrize("interval", [(-1.0, 1.0), (-0.5, 2.0)])
def test_first_and_second_derivatives(shape, channel_dim, replicas, interval):
    activation = ChebyshevLagrange(
        3, channel_dim=channel_dim, interval=interval, replicas=replicas, dtype=torch.float64
    )
    x = drawn(*shape, scale=1.5, seed=3).requires_grad_()
    assert gradcheck(lambda x: heard(activation, x, weight=0.7), (x,))
    assert gradgradcheck(lambda x: heard(activation, x, weight=0.7), (x,))


def test_it_is_convex():
    activation = ChebyshevLagrange(3, dtype=torch.float64)
    for seed in range(20):
        a, b = drawn(5, 3, scale=2.0, seed=seed), drawn(5, 3, scale=2.0, seed=100 + seed)
        between = heard(activation, (a + b) / 2).item()
        assert between <= (heard(activation, a) + heard(activation, b)).item() / 2 + 1e-12


def test_replicas_add_up_and_do_not_mix():
    x = drawn(3, 6, 4, scale=1.5).requires_grad_()
    together = heard(ChebyshevLagrange(4, replicas=3, dtype=torch.float64), x)
    together.backward()
    total = 0.0
    for replica in range(3):
        own = x[replica].detach().clone().requires_grad_()
        value = heard(ChebyshevLagrange(4, dtype=torch.float64), own)
        value.backward()
        total += value.item()
        torch.testing.assert_close(x.grad[replica], own.grad, rtol=1e-12, atol=0)
    assert together.item() == pytest.approx(total, rel=1e-12)


def test_shares_of_rows_leave_padding_out():
    x = drawn(2, 6, 4, scale=1.5)
    padded = torch.cat([x, x[:, :1].expand(2, 3, 4)], dim=1).requires_grad_()
    activation = ChebyshevLagrange(4, replicas=2, dtype=torch.float64)
    penalty = chebact.range_penalty(activation, weight=1.0)
    shares = torch.cat([torch.full((2, 6), 1 / 6), torch.zeros(2, 3)], dim=1).double()
    with penalty:
        activation(padded)
    assert penalty.value(weights=shares).item() == pytest.approx(heard(activation, x).item(), rel=1e-6)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), ChebyshevLagrange(4), nn.Linear(4, 4), ChebyshevLagrange(4), nn.Linear(4, 1))


def test_training_with_it_brings_the_inputs_inside():
    net, x = network(), drawn(64, 3, scale=3.0, dtype=torch.float32)
    before = float(chebact.share_outside(net, x))
    penalty, optimizer = chebact.range_penalty(net), torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(200):
        with penalty:
            loss = (net(x)[:, 0] - x.sum(dim=1).sin()).square().mean()
        optimizer.zero_grad()
        (loss + penalty.value()).backward()
        optimizer.step()
    assert before > 0.2
    assert float(chebact.share_outside(net, x)) < 0.02


def test_every_call_of_a_module_counts():
    activation = ChebyshevLagrange(4, dtype=torch.float64)
    penalty = chebact.range_penalty(activation, weight=1.0)
    first, second = drawn(5, 4, scale=2.0), drawn(2, 4, scale=2.0, seed=1)
    with penalty:
        activation(first)
        inside = penalty.value().item()
        activation(second)
    assert inside == pytest.approx(by_definition(first))
    assert penalty.value().item() == pytest.approx(by_definition(first) + by_definition(second))
    assert penalty.value().item() == pytest.approx(by_definition(first) + by_definition(second))  # asked again
    with penalty:
        activation(second)
    assert penalty.value().item() == pytest.approx(by_definition(second))  # a new block starts from zero


def test_copies_and_nested_blocks_are_independent():
    net, x = network(), drawn(5, 3, dtype=torch.float32, scale=3.0)
    outer = chebact.range_penalty(net, weight=1.0)
    with outer, chebact.range_penalty(net, margin=0.5, weight=1.0) as inner, outer:
        net(x)
        twin = copy.deepcopy(net)
        twin(x)
    assert 0 < outer.value() < inner.value()
    assert outer.value().item() == pytest.approx(heard(twin, x).item())
    with outer:
        twin(x)
    with pytest.raises(RuntimeError, match="heard a call of the model, got none; run the model itself"):
        outer.value()
    pair = copy.deepcopy((net, outer))
    with pair[1]:
        pair[0](x)
    assert pair[1].value().item() == pytest.approx(heard(net, x).item())


@pytest.mark.parametrize("inside", [False, True])
def test_a_checkpoint_is_counted_once(inside):
    net, x = network(), drawn(8, 3, dtype=torch.float32, scale=3.0)
    gradients = []
    for through in (lambda part, x: part(x), lambda part, x: checkpoint(part, x, use_reentrant=False)):
        net.zero_grad()
        penalty = chebact.range_penalty(net)
        with penalty:
            loss = net[3:](through(net[:3], x)).sum()
            if inside:
                (loss + penalty.value()).backward()
        if not inside:
            (loss + penalty.value()).backward()
        gradients.append([parameter.grad.clone() for parameter in net.parameters()] + [penalty.value().detach()])
    torch.testing.assert_close(gradients[1], gradients[0])


def test_a_reentrant_checkpoint_is_refused():
    net, x = network(), drawn(8, 3, dtype=torch.float32).requires_grad_()
    penalty = chebact.range_penalty(net)
    with penalty:
        net[3:](checkpoint(net[:3], x, use_reentrant=True)).sum()
    with pytest.raises(RuntimeError, match="use_reentrant=False"):
        penalty.value()


def test_without_gradients_it_is_a_number():
    net, x = network(), drawn(8, 3, dtype=torch.float32, scale=3.0)
    with torch.no_grad():
        value = heard(net, x)
    assert not value.requires_grad
    assert value.item() == pytest.approx(heard(net, x).item())


def test_what_cannot_be_heard_is_an_error_and_never_nothing():
    net, x = network(), torch.zeros(2, 3)
    penalty = chebact.range_penalty(net)
    with penalty:
        torch.func.vmap(net)(x)
    with pytest.raises(RuntimeError, match=r"transform of torch\.func"):
        penalty.value()
    with penalty:
        net[:2](x)
    with pytest.raises(RuntimeError, match="got no call of 3; "):
        penalty.value()
    partly = chebact.range_penalty(net, allow_unreached=True)
    with partly:
        net[:2](x)
    assert partly.value() >= 0
    for compiled in (torch.compile(net, backend="eager"), nn.Sequential(torch.compile(net, backend="eager"))):
        with pytest.raises(RuntimeError, match="eager mode, got a compiled one"), chebact.range_penalty(compiled):
            pass
    with penalty:
        torch.compile(net, backend="eager")(x)
    with pytest.raises(RuntimeError, match="got none"):
        penalty.value()


def test_an_input_that_is_written_over_is_refused():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.activation = nn.Linear(3, 3), ChebyshevLagrange(3)

        def forward(self, x):
            hidden = self.linear(x)
            result = self.activation(hidden)
            hidden += 1.0
            return result

    net = Net()
    penalty = chebact.range_penalty(net)
    with penalty:
        net(torch.zeros(2, 3))
    with pytest.raises(RuntimeError, match="changed in place"):
        penalty.value()


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (nn.ReLU(), {}, ValueError, "model must be a module with a learned activation"),
        (3, {}, TypeError, "model must be a torch.nn.Module"),
        (ChebyshevLagrange(2), {"margin": 1.0}, ValueError, "margin must be at least 0 and below 1, got 1.0"),
        (ChebyshevLagrange(2), {"margin": "0.2"}, TypeError, "margin must be a number"),
        (ChebyshevLagrange(2), {"weight": -1.0}, ValueError, "weight must be zero or more"),
        (ChebyshevLagrange(2), {"allow_unreached": 1}, TypeError, "allow_unreached must be True or False"),
    ],
)
def test_wrong_arguments(model, options, error, message):
    with pytest.raises(error, match=message):
        chebact.range_penalty(model, **options)
