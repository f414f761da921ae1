"""The range penalty in a replica training: both trainers agree, and it does what it is for."""

from functools import partial

import pytest
import torch

import chebact
from chebact import ChebyshevLagrange
from chebact.networks import ResidualMLP
from chebact.training import Sgd, squared_error, train_replicas_

pytestmark = pytest.mark.usefixtures("one_thread")
GENTLE = Sgd(lr=0.01, momentum=0.9)
WEIGHT = {"range_penalty": 2.0, "range_margin": 0.3}


def data(points=100):
    x = torch.rand(points, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 6 - 3
    return x, torch.sin(2 * x.sum(1, keepdim=True))


def network(replicas=2, **options):
    seeded = [torch.Generator().manual_seed(seed) for seed in range(replicas)]
    return ResidualMLP(3, replicas=replicas, generator=seeded, **{"width": 12, "blocks": 2, **options}).double()


def train(trainer, options, x=None, y=None, **training):
    net = network(**options)
    own = data() if x is None else (x, y)
    usual = {"optimizer": GENTLE, "epochs": 10, "loss": squared_error, **WEIGHT}
    train_replicas_(net, *own, order=range(net.first.replicas), trainer=trainer, **{**usual, **training})
    return net


CASES = [
    {},
    {"activation": partial(ChebyshevLagrange, degree=2, interval=(-0.5, 2.0), init="gelu")},
    {"activation": partial(ChebyshevLagrange, groups=3), "layers": 2, "shortcut": "mean"},
]


@pytest.mark.parametrize("options", CASES)
def test_both_trainers_agree(options):
    fused, plain = train("fused", options), train("torch", options)
    without = train("torch", options, range_penalty=0.0)
    for ours, theirs in zip(fused.parameters(), plain.parameters(), strict=True):
        assert (ours - theirs).abs().max() <= 1e-8 * (1 + theirs.abs().max())
    assert max((a - b).abs().max() for a, b in zip(plain.parameters(), without.parameters(), strict=True)) > 1e-2


def test_they_agree_for_ragged_replicas_and_weights():
    x, y = data()
    more = {"points": [100, 67], "weights": torch.rand(100, generator=torch.Generator().manual_seed(3)).double()}
    fused, plain = train("fused", {}, x, y, **more), train("torch", {}, x, y, **more)
    for ours, theirs in zip(fused.parameters(), plain.parameters(), strict=True):
        assert (ours - theirs).abs().max() <= 1e-8 * (1 + theirs.abs().max())


@pytest.mark.parametrize("trainer", ["fused", "torch"])
def test_the_gradient_is_that_of_the_definition(trainer):
    """One step of plain gradient descent on all points is a step along the gradient of loss and penalty."""
    x, y = data()
    net = network()
    stepped = train(trainer, {}, x, y, optimizer=Sgd(lr=0.5, momentum=0.0, nesterov=False), epochs=1, batch_size=100)
    penalty = chebact.range_penalty(net, 0.3, weight=2.0)
    with penalty:
        outputs = net(x.expand(2, *x.shape))
    ((outputs - y).square().mean(dim=(1, 2)).sum() + penalty.value()).backward()
    for before, after in zip(net.parameters(), stepped.parameters(), strict=True):
        torch.testing.assert_close((before - after) / 0.5, before.grad, rtol=1e-7, atol=1e-9)


def test_each_replica_trains_as_alone_and_ends_inside():
    together = train("fused", {"replicas": 3}, epochs=60, range_penalty=10.0, clip_norm=1.0)
    x, _ = data()
    ranges = chebact.input_ranges(together, x.expand(3, *x.shape))
    free = chebact.input_ranges(train("fused", {"replicas": 3}, epochs=60, range_penalty=0.0), x.expand(3, *x.shape))
    assert all(each.headroom > 0.0 for each in ranges.values())
    assert min(each.headroom for each in free.values()) < -0.5
    alone = train("fused", {"replicas": 1}, epochs=60, range_penalty=10.0, clip_norm=1.0)
    for ours, theirs in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.equal(ours[:1], theirs)


@pytest.mark.parametrize(
    ("options", "training", "message"),
    [
        ({}, {"range_penalty": -1.0}, "range_penalty must be zero or more"),
        ({}, {"range_margin": 1.0}, "range_margin must be at least 0 and below 1"),
        ({"activation": "relu"}, {}, "model must be a module with a learned activation"),
    ],
)
def test_wrong_arguments(options, training, message):
    with pytest.raises(ValueError, match=message):
        train(None, options, **training)
