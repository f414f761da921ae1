"""Extremes of the inputs of activations, against NumPy on inputs that were kept."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import chebact
from chebact import ChebyshevLagrange
from chebact.networks import ResidualMLP


def convolutional():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(2, 5, 3), nn.BatchNorm2d(5), ChebyshevLagrange(5), nn.Dropout(0.5), nn.Flatten(), nn.Linear(80, 3)
    )


def test_they_are_exact_over_every_element_and_batch():
    model, x = convolutional(), torch.randn(30, 2, 6, 6, generator=torch.Generator().manual_seed(0))
    model.train()
    state = {name: value.clone() for name, value in model.state_dict().items() if value is not None}
    ranges = chebact.input_ranges(model, x)
    model.eval()
    inputs = model[:2](x).double()
    assert torch.equal(ranges["2"].low, inputs.amin(dim=(0, 2, 3)))
    assert torch.equal(ranges["2"].high, inputs.amax(dim=(0, 2, 3)))
    assert torch.equal(ranges["2"].used, inputs.abs().amax(dim=(0, 2, 3)))
    assert ranges["2"].headroom == 1 - inputs.abs().max().item()
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


def loaders(x):
    return [
        x,
        (x,),
        {"input": x},
        [x[:10], x[10:]],
        (part for part in x.split(7)),
        DataLoader(TensorDataset(x), batch_size=7),
    ]


@pytest.mark.parametrize("kind", range(6))
def test_every_form_of_data(kind):
    model, x = convolutional(), torch.randn(30, 2, 6, 6, generator=torch.Generator().manual_seed(0))
    data = loaders(x)[kind]
    torch.testing.assert_close(chebact.input_ranges(model, data)["2"].low, chebact.input_ranges(model, x)["2"].low)


def test_labels_in_a_batch_are_asked_for():
    model, x = nn.Sequential(nn.Linear(2, 3), ChebyshevLagrange(3)), torch.randn(9, 2)
    loader = DataLoader(TensorDataset(x, torch.zeros(9)), batch_size=4)
    with pytest.raises(ValueError, match="inputs must be the number of leading entries"):
        chebact.input_ranges(model, loader)
    found = chebact.input_ranges(model, loader, inputs=1)
    torch.testing.assert_close(found["1"].high, model[0](x).amax(dim=0).double())


def test_replicas_and_the_interval():
    network = ResidualMLP(
        3,
        replicas=2,
        width=4,
        blocks=1,
        activation=lambda c, replicas: ChebyshevLagrange(c, replicas=replicas, interval=(0.0, 4.0)),
    )
    x = torch.randn(2, 11, 3)
    ranges = chebact.input_ranges(network, x)
    inputs = network.first(x).double()
    assert ranges["blocks.0.0"].low.shape == (2, 4)
    torch.testing.assert_close(ranges["blocks.0.0"].low, inputs.amin(dim=1))
    torch.testing.assert_close(ranges["blocks.0.0"].used, ((inputs - 2) / 2).abs().amax(dim=1))
    beyond = set(ranges["blocks.0.0"].channels_beyond(0.5))
    assert beyond == {tuple(each) for each in ((inputs - 2) / 2).abs().amax(dim=1).gt(0.5).nonzero().tolist()}


def test_a_function_without_channels_is_one_channel():
    model = ChebyshevLagrange(groups=1)
    ranges = chebact.input_ranges(model, [torch.tensor([[0.0, 2.0]]), torch.tensor([[-3.0, 1.0, 0.0]])])
    assert (ranges[""].low.tolist(), ranges[""].high.tolist()) == ([-3.0], [2.0])
    assert str(ranges).splitlines()[1].startswith("(model)")


def test_what_was_not_reached_is_named_and_nan_is_outside():
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = ChebyshevLagrange(2), ChebyshevLagrange(2)

        def forward(self, x):
            return self.used(x)

    ranges = chebact.input_ranges(Half(), torch.tensor([[0.0, float("nan")]]))
    assert (list(ranges), ranges.unreached, len(ranges)) == (["used"], ("idle",), 1)
    assert ranges["used"].channels_beyond(0.0) == [(1,)]
    assert "not reached: idle" in str(ranges)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([], ValueError, "data must be one batch or more"),
        (3, TypeError, "data must be a tensor, a tuple of inputs"),
        (torch.zeros(2, 2).numpy(), TypeError, r"pass torch\.as_tensor"),
        (["x"], TypeError, "a batch of data must be a tensor"),
        (torch.zeros(0, 2), ValueError, "data must be an input that reaches a learned activation"),
    ],
)
def test_wrong_data(data, error, message):
    with pytest.raises(error, match=message):
        chebact.input_ranges(nn.Sequential(nn.Linear(2, 2), ChebyshevLagrange(2)), data)
