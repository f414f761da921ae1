"""Weights of points: whole weights are repeated points, a weight of zero is a point that is not there."""

import pytest
import torch

from chebact.networks import ResidualMLP
from chebact.training import Sgd, cross_entropy, huber_error, scaled_huber_error, squared_error, train_replicas_
from chebact.training.replicas import absolute_error

pytestmark = pytest.mark.usefixtures("one_thread")

TRAINERS = pytest.mark.parametrize("trainer", ["torch", "fused"])


def network(outputs=1):
    generators = [torch.Generator().manual_seed(seed) for seed in range(2)]
    return ResidualMLP(3, outputs, replicas=2, width=8, blocks=1, generator=generators).double()


def data(points=20):
    x = torch.rand(points, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return x, torch.sin(5 * x.sum(1, keepdim=True))


def trained(x, y, trainer, outputs=1, **options):
    """All points in one batch, so that their order counts for nothing but rounding."""
    made = network(outputs)
    settings = {"epochs": 30, "batch_size": 1000, "optimizer": Sgd(lr=0.05, momentum=0.9), **options}
    run = train_replicas_(made, x, y, order=range(2), trainer=trainer, **settings)
    return torch.cat([*(p.detach().flatten() for p in made.parameters()), run.losses.flatten()])


@TRAINERS
@pytest.mark.parametrize("loss", [absolute_error, squared_error, huber_error, scaled_huber_error, cross_entropy])
def test_whole_weights_are_repeated_points(trainer, loss):
    x, y = data()
    outputs = 1
    if loss is cross_entropy:
        y, outputs = (y > 0).long(), 2
    weights = torch.arange(20) % 4
    repeated = x.repeat_interleave(weights, 0), y.repeat_interleave(weights, 0)
    found = trained(x, y, trainer, outputs, loss=loss, weights=weights)
    expected = trained(*repeated, trainer, outputs, loss=loss)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(trained(x, y, trainer, outputs, loss=loss, weights=7 * weights), found)


@TRAINERS
def test_each_replica_may_have_its_own_weights_and_points(trainer):
    x, y = data()
    weights = torch.stack([torch.arange(20) % 3, torch.arange(20) % 2])
    both = trained(x, y, trainer, weights=weights, points=[15, 20])
    for replica, count in enumerate([15, 20]):
        cut = weights[replica].clone()
        cut[count:] = 0
        alone = trained(x, y, trainer, weights=cut)
        same = slice(replica, None, 2)
        torch.testing.assert_close(both[-60:][same], alone[-60:][same], rtol=0, atol=1e-10)


@TRAINERS
def test_losses_are_means_with_the_weights(trainer):
    x, y = data()
    weights = torch.rand(20, generator=torch.Generator().manual_seed(1))
    run = train_replicas_(
        network(), x, y, order=range(2), epochs=1, batch_size=7, optimizer=Sgd(lr=0.0), weights=weights, trainer=trainer
    )
    distance = (network()(x.expand(2, 20, 3)) - y).abs()[..., 0].detach()
    torch.testing.assert_close(run.losses[0], (distance * weights).sum(1) / weights.sum())


@TRAINERS
def test_a_batch_whose_points_all_weigh_nothing_moves_nothing(trainer):
    x, y = data(4)
    before = torch.cat([p.detach().flatten() for p in network().parameters()])
    weights = torch.tensor([0.0, 0.0, 0.0, 1.0])
    made = network()
    options = {"epochs": 1, "batch_size": 1, "optimizer": Sgd(lr=0.05), "weights": weights, "trainer": trainer}
    run = train_replicas_(made, x, y, order=range(2), **options)
    one = network()
    train_replicas_(one, x[3:], y[3:], order=range(2), epochs=1, batch_size=1, optimizer=Sgd(lr=0.05), trainer=trainer)
    assert run.losses.isfinite().all()
    after = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (made, one)]
    torch.testing.assert_close(after[0], after[1], rtol=0, atol=1e-12)
    assert not torch.equal(after[0], before)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (torch.ones(19), r"\(points=20,\).*\(19,\)"),
        (torch.ones(3, 20), r"replica=2.*\(3, 20\)"),
        (-torch.ones(20), "not negative"),
        (torch.full((20,), torch.nan), "finite"),
        (torch.zeros(20), "not all zero"),
    ],
)
def test_bad_weights_are_named(weights, words):
    with pytest.raises(ValueError, match=words):
        trained(*data(), None, weights=weights)
