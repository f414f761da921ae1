"""The fused trainer says why it cannot, and then torch trains; asked for by name it raises that."""

from functools import partial

import pytest
import torch
from torch import nn

from chebact import ChebyshevLagrange, kernels
from chebact.networks import ResidualMLP
from chebact.recording import record_inputs
from chebact.training import Sgd, TrainerUnavailableError, cross_entropy, train_replicas_
from chebact.training.fused import run as fused_run

pytestmark = pytest.mark.usefixtures("one_thread")


def network(**options):
    return ResidualMLP(3, replicas=2, width=8, blocks=1, **options)


def data():
    x = torch.rand(40, 3, generator=torch.Generator().manual_seed(0))
    return x, x.sum(1, keepdim=True)


def train(made, trainer=None, x=None, y=None, **options):
    given = data()
    x, y = given[0] if x is None else x, given[1] if y is None else y
    return train_replicas_(made, x, y, order=range(2), epochs=1, trainer=trainer, **options)


class Another(ResidualMLP):
    pass


def hooked():
    made = network()
    made.first.register_forward_hook(lambda *_: None)
    return made


def with_hook_on_a_parameter():
    made = network()
    made.first.weight.register_hook(lambda grad: 2 * grad)
    return made


def with_high_degree():
    made = network()
    made.last_activation = ChebyshevLagrange(8, degree=11, replicas=2)
    return made


def with_own_forward():
    made = network()
    made.last.forward = made.last.forward
    return made


def with_shared_layer():
    made = network(layers=2)
    made.blocks[0][3] = made.blocks[0][1]
    return made


def mean_of_cubes(prediction, target):
    return (prediction - target).abs().pow(3).mean(dim=(1, 2))


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (lambda: Another(3, replicas=2), {}, "not Another"),
        (lambda: network(activation=lambda channels, **_: nn.GELU()), {}, "not GELU"),
        (with_high_degree, {}, "up to degree 10.*degree 11"),
        (hooked, {}, "hooks on modules"),
        (with_hook_on_a_parameter, {}, "hooks on parameters"),
        (with_own_forward, {}, "forward of ReplicaLinear was replaced"),
        (with_shared_layer, {}, "two layers share a parameter"),
        (network, {"loss": mean_of_cubes}, "not the loss mean_of_cubes"),
        (network, {"optimizer": torch.optim.RMSprop}, "not RMSprop"),
        (network, {"optimizer": partial(torch.optim.Adam, amsgrad=True)}, "amsgrad=True"),
        (network, {"optimizer": partial(torch.optim.SGD, momentum=0.9, dampening=0.1)}, "dampening=0.1"),
        (network, {"y": torch.rand(40, 1, dtype=torch.float64)}, "y must be torch.float32"),
    ],
)
def test_reason_is_raised_by_name_and_torch_trains_otherwise(make, options, words):
    with pytest.raises(TrainerUnavailableError, match=words):
        train(make(), "fused", **options)
    assert train(make(), **options).trainer == "torch"


def test_class_that_torch_ignores_is_left_to_torch():
    labels = torch.zeros(40, 1, dtype=torch.long)
    labels[3] = -100  # torch's mark for a point that does not count
    assert train(network(outputs=2), y=labels, loss=cross_entropy).trainer == "torch"
    assert train(network(outputs=2), y=labels.clamp(min=0), loss=cross_entropy).trainer == "fused"


def test_kernel_asked_for_by_name_is_used(monkeypatch):
    with kernels.use("reference"):
        assert train(network()).trainer == "torch"
    monkeypatch.setenv("CHEBACT_KERNEL", "reference")
    with pytest.raises(TrainerUnavailableError, match="'reference' was requested by name"):
        train(network(), "fused")


def test_recorded_inputs_are_recorded():
    made = network()
    with record_inputs(made) as inputs:
        assert train(made).trainer == "torch"
    assert all(sample.calls for sample in inputs.values())


def test_hooks_on_all_modules_and_on_the_optimizer_are_called():
    made, calls = network(), []
    handle = nn.modules.module.register_module_forward_hook(lambda *_: calls.append(1))
    try:
        assert train(made).trainer == "torch"
    finally:
        handle.remove()
    assert calls

    def with_hook(parameters):
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        optimizer.register_step_post_hook(lambda *_: None)
        return optimizer

    assert train(network(), optimizer=with_hook).trainer == "torch"


def test_where_it_fails_torch_trains_and_a_warning_says_so(monkeypatch, caplog):
    def broken(task):
        raise OSError("no compiler today")

    monkeypatch.setattr(fused_run, "Trainer", broken)
    assert train(network()).trainer == "torch"
    assert "OSError: no compiler today" in caplog.text
    with pytest.raises(OSError, match="no compiler today"):
        train(network(), "fused")


def test_large_matrices_are_left_to_torch_unless_it_is_asked_for():
    made = ResidualMLP(3, replicas=1, width=2048, blocks=1)
    x, y = torch.rand(32, 3), torch.rand(32, 1)
    settings = {"order": [0], "epochs": 1, "optimizer": Sgd(lr=1e-6)}
    assert train_replicas_(made, x, y, **settings).trainer == "torch"
    assert train_replicas_(made, x, y, trainer="fused", **settings).trainer == "fused"


@pytest.mark.parametrize(
    ("options", "words"),
    [({"trainer": "fast"}, "trainer must be.*'fast'"), ({"schedule_by": "day"}, "schedule_by must be.*'day'")],
)
def test_bad_choice_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        train(network(), **options)


def test_bad_width_is_named(monkeypatch):
    monkeypatch.setenv("CHEBACT_LANES", "5")
    with pytest.raises(ValueError, match="CHEBACT_LANES must be one of 4, 8, 16, got '5'"):
        train(network())
