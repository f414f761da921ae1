"""Channels that the first call tells: copies, averages, checkpoints and DDP, before that call and after it."""

import copy
import importlib.util
import io
from functools import partial

import pytest
import torch
from support.library_models import FOUR
from support.other_models import drawn, import_or_skip
from support.two_processes import NAMES, average_gradients
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


def trained(model, optimizer):
    model(X).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.parametrize("kind", ["equal weights", "exponential", "by hand"])
def test_an_average_made_before_the_first_call_is_that_of_a_model_of_known_width(kind):
    """The average is never called itself: its heights come from the model that it was copied from."""
    results = []
    for known in (False, True):
        torch.manual_seed(0)
        model = build(partial(ChebyshevLagrange, init="gelu"))
        if known:
            chebact.materialize(model, X)
        decay = get_ema_multi_avg_fn(0.9) if kind == "exponential" else None
        average = copy.deepcopy(model) if kind == "by hand" else AveragedModel(model, multi_avg_fn=decay)
        for p in average.parameters():
            p.requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            trained(model, optimizer)
            if kind == "by hand":
                for ours, theirs in zip(average.parameters(), model.parameters(), strict=True):
                    ours.data.lerp_(theirs.data, 0.1)
            else:
                average.update_parameters(model)
        results.append(average)
    for ours, wanted in zip(*(average.parameters() for average in results), strict=True):
        torch.testing.assert_close(ours, wanted, rtol=0, atol=0)
    torch.testing.assert_close(results[0](X), results[1](X))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["ModelEmaV2", "ModelEmaV3"])
def test_averages_of_timm_may_be_made_before_the_first_call(name):
    import_or_skip("timm")
    from timm import utils

    results = []
    for known in (False, True):
        torch.manual_seed(0)
        model = build(ChebyshevLagrange)
        if known:
            chebact.materialize(model, X)
        average = getattr(utils, name)(model, decay=0.9)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            trained(model, optimizer)
            average.update(model)
        results.append(average.module.state_dict())
    torch.testing.assert_close(*results, rtol=1e-6, atol=1e-7)


def test_copies_of_one_lazy_activation_learn_their_own_width_each():
    first = ChebyshevLagrange()
    model = nn.Sequential(nn.Linear(4, 6), first, nn.Linear(6, 2), copy.deepcopy(first))
    assert model(X).shape == (3, 2)
    assert [model[1].channels, model[3].channels] == [6, 2]


@pytest.mark.parametrize("use", [lambda p: p.numel(), lambda p: p + 1, lambda p: p.shape, lambda p: torch.cat([p])])
def test_a_parameter_without_a_width_says_what_to_do(use):
    with pytest.raises(
        ValueError, match=r"must know its channels before it is used.*chebact.materialize\(model, example"
    ):
        use(ChebyshevLagrange().heights)


def check_average(found, count):
    assert len(found) == count
    for got, single in found.values():
        for ours, one, two in zip(got, *single, strict=True):
            torch.testing.assert_close(ours, (one + two) / 2, rtol=1e-4, atol=1e-6)
            assert (one - two).abs().max() > 1e-6


LIBRARIES = ("timm", "transformers")


@pytest.fixture(scope="module")
def averaged(tmp_path_factory):
    """What two processes found, started once: the message about a lazy model, and the gradients of all models."""
    others = list(FOUR) if all(map(importlib.util.find_spec, LIBRARIES)) else []
    return average_gradients(["lazy", *NAMES, *others], tmp_path_factory.mktemp("processes"))


@pytest.mark.fork
def test_two_processes_average_the_gradients_of_lazy_and_of_operated_models(averaged):
    assert "chebact.materialize(model, example) first" in averaged["message"]
    check_average({name: averaged[name] for name in ("lazy", *NAMES)}, 4)


@pytest.mark.fork
@pytest.mark.filterwarnings("ignore")  # of those libraries about their own parts
def test_two_processes_average_the_gradients_of_operated_models_of_other_libraries(averaged):
    for library in LIBRARIES:
        import_or_skip(library)
    check_average({name: averaged[name] for name in FOUR}, 4)
