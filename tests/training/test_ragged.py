"""Replicas with different numbers of points, together and each alone in a plain loop of torch."""

from functools import partial

import pytest
import torch
from torch import nn

from chebact.networks import ResidualMLP
from chebact.training import cross_entropy, train_replicas_
from chebact.training.replicas import paper_sgd

POINTS = (70, 64, 65, 33, 96, 5)  # of batches of 32: 3, 2, 3, 2, 3 and 1, the last of 6, 32, 1, 1, 32 and 5
BATCH, EPOCHS, FEATURES = 32, 6, 7
SGD = partial(paper_sgd, lr=0.05, momentum=0.9, weight_decay=1e-3)


pytestmark = pytest.mark.usefixtures("one_thread")


def seeded(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def network(name, **options):
    return ResidualMLP(FEATURES, 2, activation=name, width=8, blocks=2, layers=2, shortcut="mean", **options).double()


def data():
    (generator,) = seeded(0)
    x = torch.randn(len(POINTS), max(POINTS), FEATURES, generator=generator, dtype=torch.float64)
    y = (x[..., :1] * x[..., 1:2] > 0).long()
    for replica, count in enumerate(POINTS):
        x[replica, count:], y[replica, count:] = torch.nan, 99  # must never be looked at
    return x, y


def alone(name, x, y, seed, optimizer=SGD):
    """One network, one data set, in a plain loop; the network and the mean loss of each epoch."""
    one, (order,) = network(name, generator=seeded(seed)[0]), seeded(seed + 100)
    stepper = optimizer(list(one.parameters()))
    schedule, losses = torch.optim.lr_scheduler.CosineAnnealingLR(stepper, EPOCHS), []
    for _ in range(EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(x), generator=order).split(BATCH):
            stepper.zero_grad()
            loss = nn.functional.cross_entropy(one(x[batch]), y[batch, 0])
            loss.backward()
            stepper.step()
            total += loss.item() * len(batch)
        schedule.step()
        losses.append(total / len(x))
    return one, torch.tensor(losses, dtype=torch.float64)


@pytest.mark.parametrize("name", ["relu", "tanh", "cl-extrapolate", "pcs-cl", "cl-regression"])
def test_together_is_alone(name):
    x, y = data()
    seeds = range(len(POINTS))
    together = network(name, replicas=len(POINTS), generator=seeded(*seeds))
    order = seeded(*(seed + 100 for seed in seeds))
    settings = {"epochs": EPOCHS, "batch_size": BATCH, "loss": cross_entropy, "optimizer": SGD}
    run = train_replicas_(together, x, y, order=order, points=POINTS, **settings)
    assert not run.failed.any()
    for replica, count in enumerate(POINTS):
        one, losses = alone(name, x[replica, :count], y[replica, :count], replica)
        torch.testing.assert_close(run.losses[:, replica], losses, rtol=0, atol=1e-8)
        for own, theirs in zip(one.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(theirs[replica], own, rtol=0, atol=1e-8)


def test_a_loss_a_point_is_the_mean_loss_without_points_too():
    x, y = torch.randn(40, FEATURES, dtype=torch.float64), torch.randint(2, (40, 1))
    results = []
    for loss in (cross_entropy, lambda p, t: cross_entropy(p, t).mean(dim=1)):
        pair = network("tanh", replicas=2, generator=seeded(1, 2))
        train_replicas_(pair, x, y, order=seeded(3, 4), epochs=3, loss=loss)
        results.append(torch.cat([parameter.flatten() for parameter in pair.parameters()]))
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=1e-12)


def test_an_optimizer_that_counts_steps_is_refused_only_where_a_replica_would_rest():
    x, y = data()
    adam = {"epochs": 2, "loss": cross_entropy, "optimizer": torch.optim.Adam, "trainer": "torch"}
    pair = network("tanh", replicas=2, generator=seeded(1, 2))
    with pytest.raises(ValueError, match=r"optimizer must keep 'step' per replica.*got Adam; use SGD.*batch_size"):
        train_replicas_(pair, x[:2], y[:2], order=seeded(3, 4), points=POINTS[:2], **adam)
    pair = network("tanh", replicas=2, generator=seeded(1, 2))
    run = train_replicas_(pair, x[[0, 2]], y[[0, 2]], order=seeded(3, 4), points=[70, 65], **adam)
    assert run.losses.isfinite().all()


def test_a_replica_that_turns_nan_takes_only_itself_along():
    x, y = data()
    x[1, 3] = torch.inf
    both = [network("relu", replicas=len(POINTS), generator=seeded(*range(6))) for _ in range(2)]
    settings = {"points": POINTS, "epochs": 2, "loss": cross_entropy}
    sick = train_replicas_(both[0], x, y, order=seeded(*range(6)), **settings)
    clean = train_replicas_(both[1], *data(), order=seeded(*range(6)), **settings)
    assert sick.failed.tolist() == [False, True, False, False, False, False]
    healthy = [0, 2, 3, 4, 5]
    assert torch.equal(sick.losses[:, healthy], clean.losses[:, healthy])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"points": [5]}, ("points", "2 numbers, one per replica", "[5]")),
        ({"points": [5, 0]}, ("between 1 and 96", "[5, 0]")),
        ({"points": [5, 97]}, ("between 1 and 96", "[5, 97]")),
        ({"points": [5, 6], "loss": lambda p, t: (p - t).abs().mean(dim=(1, 2))}, ("one number per point", "(2,)")),
    ],
)
def test_bad_input_is_named(options, words):
    x, y = data()
    pair = network("relu", replicas=2)
    with pytest.raises(ValueError) as caught:
        train_replicas_(pair, x[:2], y[:2], order=seeded(0, 1), epochs=1, **{"loss": cross_entropy, **options})
    assert all(word in str(caught.value) for word in words), str(caught.value)
