"""Channels that the first call tells: copies, averages, checkpoints and DDP, before that call and after it."""

import copy
import io
from functools import partial

import pytest
import torch
from support.other_models import drawn
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import chebact
from chebact import ChebyshevLagrange

FACTORIES = {"class": ChebyshevLagrange, "partial": partial(ChebyshevLagrange, init="relu", degree=5)}
X = drawn(3, 4)


def build(act_layer):
    """As model builders do: the activation is made without a width, and with torch's own argument."""
    return nn.Sequential(nn.Linear(4, 6), act_layer(inplace=True), nn.Linear(6, 2), act_layer())


@pytest.mark.parametrize("called", [False, True], ids=["before the first call", "after it"])
@pytest.mark.parametrize("name", FACTORIES)
def test_a_deep_copy_and_a_checkpoint_compute_the_same(name, called):
    model = build(FACTORIES[name])
    if called:
        model(X)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    loaded = build(FACTORIES[name])
    loaded.load_state_dict(torch.load(io.BytesIO(buffer.getvalue()), weights_only=True))
    for other in (copy.deepcopy(model), loaded):
        torch.testing.assert_close(other(X), model(X))
        assert other[1].channels == 6


@pytest.mark.parametrize("name", FACTORIES)
def test_a_checkpoint_of_a_called_model_goes_into_one_that_was_not_and_back(name):
    model = build(FACTORIES[name])
    model(X)
    with torch.no_grad():
        model[1].heights.add_(0.5)
    fresh = build(FACTORIES[name])
    fresh.load_state_dict(model.state_dict())
    torch.testing.assert_close(fresh(X), model(X))
    called = build(FACTORIES[name])
    called(X)
    called.load_state_dict(model.state_dict())
    torch.testing.assert_close(called(X), model(X))


def test_an_average_of_weights_is_made_after_materialize_and_follows_the_heights():
    model = chebact.materialize(build(ChebyshevLagrange), X)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    start = model[1].heights.detach().clone()
    average.update_parameters(model)
    with torch.no_grad():
        model[1].heights.add_(1.0)
    average.update_parameters(model)
    torch.testing.assert_close(average.module[1].heights, start + 0.1)


def test_an_average_made_before_the_first_call_starts_with_it():
    model = build(ChebyshevLagrange)
    average = AveragedModel(model)
    model(X)
    average(X)
    average.update_parameters(model)
    torch.testing.assert_close(average.module[1].heights, model[1].heights)


def test_ddp_refuses_lazy_channels_and_takes_them_after_materialize(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        model = build(ChebyshevLagrange)
        with pytest.raises(RuntimeError, match="uninitialized parameters"):
            nn.parallel.DistributedDataParallel(model)
        parallel = nn.parallel.DistributedDataParallel(chebact.materialize(model, X))
        parallel(X).sum().backward()
        copied = copy.deepcopy(parallel.module)
    finally:
        torch.distributed.destroy_process_group()
    assert model[1].heights.grad.abs().sum() > 0
    torch.testing.assert_close(copied(X), model(X))
