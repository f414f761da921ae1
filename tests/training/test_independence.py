"""What couples replicas, or is no set of replicas, is refused before a training; seeds are taken as they are."""

from functools import partial

import numpy
import pytest
import torch
from torch import nn

from chebact.networks import ResidualMLP
from chebact.training.replicas import predict_replicas, train_replicas_

X = torch.linspace(-1, 1, 20).unsqueeze(1)


class Flat(nn.Module):
    """A network whose parameters have two axes, as Muon asks for: (replica, numbers)."""

    def __init__(self, replicas=3):
        super().__init__()
        self.slope = nn.Parameter(torch.linspace(0.5, 1.5, 4 * replicas).view(replicas, 4))

    def forward(self, x):
        return x * self.slope.mean(1).view(-1, 1, 1)


def clipped(parameters):
    optimizer = torch.optim.SGD(parameters, lr=0.1)

    def clip(*_):
        nn.utils.clip_grad_norm_(parameters, 1.0)

    optimizer.register_step_pre_hook(clip)
    return optimizer


COUPLED = {
    "Adafactor": partial(torch.optim.Adafactor, lr=0.1),
    "Muon": lambda parameters: torch.optim.Muon(parameters, lr=0.1),
    "LBFGS": partial(torch.optim.LBFGS, lr=0.1),
    "clipping": clipped,
}
APART = [getattr(torch.optim, name) for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam")]


@pytest.mark.parametrize("name", COUPLED)
def test_optimizers_that_couple_replicas_are_refused_and_the_network_is_left_alone(name):
    if name == "Muon" and not hasattr(torch.optim, "Muon"):
        pytest.skip("torch.optim.Muon is newer than torch 2.8")
    network = Flat()
    before = network.slope.detach().clone()
    with pytest.raises(ValueError, match="optimizer must"):
        train_replicas_(network, X, X, order=range(3), epochs=1, optimizer=COUPLED[name])
    assert torch.equal(network.slope, before)
    assert network.slope.grad is None


@pytest.mark.parametrize("kind", APART)
def test_elementwise_optimizers_train_each_replica_as_if_alone(kind):
    optimizer = partial(kind, lr=0.05)
    together = Flat()
    alone = Flat(1)
    alone.slope.data.copy_(together.slope.data[1:2])
    train_replicas_(together, X, X.abs(), order=[4, 5, 6], epochs=3, optimizer=optimizer)
    train_replicas_(alone, X, X.abs(), order=[5], epochs=3, optimizer=optimizer)
    torch.testing.assert_close(together.slope[1:2], alone.slope, rtol=1e-6, atol=1e-7)


def test_seeds_are_generators_of_those_seeds():
    runs = []
    for order in ([0, 1], range(2), [torch.Generator().manual_seed(0), 1], numpy.arange(2)):
        network = ResidualMLP.from_table(
            "tanh", 1, replicas=2, generator=[torch.Generator().manual_seed(seed) for seed in (7, 8)]
        )
        runs.append(train_replicas_(network, X, X.abs(), order=order, epochs=2).losses)
    assert all(torch.equal(run, runs[0]) for run in runs)


@pytest.mark.parametrize("network", [nn.Linear(1, 1), ResidualMLP.from_table("relu", 1), ResidualMLP(1, replicas=3)])
def test_a_network_without_the_replica_axis_is_refused(network):
    with pytest.raises(ValueError, match="network must have a leading replica axis of 4"):
        train_replicas_(network, X, X, order=range(4), epochs=1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"x": X.numpy()}, TypeError, "x must be a tensor, got .* \\(ndarray\\); pass torch.as_tensor"),
        ({"y": X.tolist()}, TypeError, "y must be a tensor, got .* \\(list\\)"),
        ({"order": 4}, TypeError, "order must be one seed or torch.Generator per replica"),
        ({"order": [0.5, 1]}, TypeError, "order"),
        ({"order": []}, ValueError, "order must be one seed"),
        ({"x": torch.zeros(20, 3)}, ValueError, r"x must be \(replicas=2, batch, 1\)"),
        ({"network": 3}, TypeError, "network must be a torch.nn.Module"),
    ],
)
def test_wrong_arguments_get_a_sentence(options, error, words):
    arguments = {"network": ResidualMLP(1, replicas=2), "x": X, "y": X, "order": range(2), "epochs": 1, **options}
    with pytest.raises(error, match=words):
        train_replicas_(**arguments)


def test_predictions_of_an_array_get_a_sentence():
    with pytest.raises(TypeError, match="x must be a tensor"):
        predict_replicas(ResidualMLP(1, replicas=2), X.numpy(), 2)
