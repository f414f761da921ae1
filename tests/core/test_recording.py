"""The recorder: what it keeps is what went in, each call is as likely to be kept, and nothing else changes."""

import copy
import io
import pickle
import random
import statistics
import time

import pytest
import torch
from scipy import stats
from torch import nn

import chebact
from chebact import record_inputs, watchers
from chebact.lab.images.network import ShakeShakeResNet
from chebact.lab.images.norm_activation import norm_activation
from chebact.networks import ResidualMLP
from chebact.recording import SLOTS, InputSample


def recorded(module, *inputs, **choices):
    with record_inputs(module, **choices) as samples:
        for x in inputs:
            module(x)
    (sample,) = samples.values()
    return sample


@pytest.mark.parametrize(
    ("shape", "channel_dim", "positions"),
    [
        ((7, 3), 1, 7),
        ((500, 3), 1, None),
        ((5, 3, 4, 6), 1, 120),
        ((40, 3, 9, 9), 1, None),
        ((30, 50, 3), -1, None),
        ((3,), 1, 1),
    ],
)
def test_every_column_holds_inputs_of_its_channel(shape, channel_dim, positions):
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)
    sample = recorded(chebact.ChebyshevLagrange(3, channel_dim=channel_dim, dtype=torch.float64), x)
    channels = x.movedim(channel_dim if len(shape) > 1 else 0, -1).reshape(-1, 3)
    rows = {tuple(row) for row in channels.tolist()}
    assert all(tuple(row) in rows for row in sample.points.tolist())  # whole positions, channels in their order
    assert sample.points.shape[1] == 3
    assert len(sample.points) == (positions or 2048 // SLOTS)
    if positions is not None:  # all of them
        assert sorted(sample.points.tolist()) == sorted(channels.tolist())


@pytest.mark.parametrize("shape", [(2, 9, 3), (2, 400, 3), (2, 4, 3, 20, 20)])
def test_replicas_are_kept_apart(shape):
    x = torch.rand(shape) + torch.tensor([0.0, 10.0]).view(2, *[1] * (len(shape) - 1))
    sample = recorded(chebact.ChebyshevLagrange(3, replicas=2), x)
    assert sample.points.shape[0] == 2
    assert sample.points.shape[2] == 3
    assert sample.points[0].max() <= 1
    assert sample.points[1].min() >= 10
    assert sample.outside().tolist() == [[0.0] * 3, [1.0] * 3]


def test_the_sample_is_bounded_and_every_call_equally_likely():
    kept = []
    for seed in range(300):
        sample = InputSample(1, False, 64, seed)
        for call in range(200):
            sample.take_(torch.full((50, 1), float(call)))
        assert sample.points.numel() == 64
        kept += sample.points[:, 0].unique().tolist()
    counts = torch.histc(torch.tensor(kept), 10, 0, 200)
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


def test_the_share_outside_is_counted():
    x = torch.tensor([[-2.0, 0.0], [0.5, 0.0], [1.5, 0.0], [1.0, 3.0]])
    sample = recorded(chebact.ChebyshevLagrange(2), x)
    assert sample.outside().tolist() == [0.5, 0.25]
    assert sample.outside((-3.0, 1.2)).tolist() == [0.25, 0.25]


def test_nothing_else_changes():
    network, x = ResidualMLP(3), torch.randn(64, 3)
    before = network(x)
    state, chance = torch.get_rng_state(), random.getstate()
    with record_inputs(network) as samples:
        inside = network(x)
    assert torch.equal(before, inside)
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == chance
    assert sorted(samples) == ["blocks.0.0", "blocks.1.0", "blocks.2.0", "last_activation"]
    assert not samples["last_activation"].points.requires_grad
    with pytest.raises(RuntimeError, match="stop"), record_inputs(network):
        raise RuntimeError("stop")
    assert not any("forward" in vars(part) for part in network.modules())


def test_recording_may_be_nested_and_a_forward_of_the_users_own_comes_back():
    module = chebact.ChebyshevLagrange(1, init="identity")
    vars(module)["forward"] = own = lambda x: x + 5
    with record_inputs(module) as outer, record_inputs(module) as inner:
        assert module(torch.ones(1, 1)).item() == 6
    assert outer[""].calls == inner[""].calls == 1
    assert vars(module)["forward"] is own


def test_one_seed_gives_one_sample():
    x = torch.randn(40, 3, 8, 8)
    one, same, other = (recorded(chebact.ChebyshevLagrange(3), x, seed=seed).points for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_other_modules_can_be_named_and_in_place_ones_are_seen_before():
    network = nn.Sequential(nn.Identity(), nn.ReLU(inplace=True))
    sample = recorded(network, torch.full((4, 2), -3.0), modules=(nn.ReLU,))
    assert (sample.points == -3).all()


def test_low_precision_is_kept_and_read_as_float32():
    sample = recorded(chebact.ChebyshevLagrange(2), torch.tensor([[0.5, -0.25]], dtype=torch.bfloat16))
    assert sample.points.dtype == torch.float32
    assert sample.points.tolist() == [[0.5, -0.25]]


def test_what_cannot_be_recorded_gets_a_sentence():
    with pytest.raises(ValueError, match="a module with a learned activation"), record_inputs(nn.Linear(2, 2)):
        pass
    with pytest.raises(ValueError, match="a module with a ReLU"), record_inputs(nn.Tanh(), modules=(nn.ReLU,)):
        pass
    with pytest.raises(TypeError, match=r"got \[\] \(list\)"), record_inputs([]):
        pass
    with pytest.raises(ValueError, match="points must be at least 1"):
        recorded(chebact.ChebyshevLagrange(2), points=0)
    with pytest.raises(ValueError, match="must have inputs, got 0 calls"):
        _ = recorded(chebact.ChebyshevLagrange(2)).points


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["small", "images"])
def test_recording_costs_less_than_a_twentieth_of_a_step(kind):
    """Rounds with and without it in turn, so that both meet the same machine; the median of the ratios counts."""
    if kind == "small":
        network, x, steps = ResidualMLP(3), torch.randn(32, 3), 200
    else:
        convolutions = [nn.Conv2d(64, 64, 3, padding=1), chebact.ChebyshevLagrange(64)] * 2
        network, x, steps = nn.Sequential(nn.Conv2d(3, 64, 3), *convolutions), torch.randn(64, 3, 18, 18), 20
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-4)

    def seconds():
        start = time.process_time()
        for _ in range(steps):
            optimizer.zero_grad()
            network(x).abs().mean().backward()
            optimizer.step()
        return time.process_time() - start

    seconds()
    ratios = []
    for _ in range(9):
        plain = seconds()
        with record_inputs(network):
            ratios.append(seconds() / plain)
    assert statistics.median(ratios) < 1.05, ratios


def drawn_like(module):
    return torch.nn.Sequential(nn.Linear(8, 4), module)


COPIES = {
    "deepcopy": copy.deepcopy,
    "copy": lambda net: nn.Sequential(net[0], copy.copy(net[1])),
    "pickle": lambda net: pickle.loads(pickle.dumps(net)),
    "AveragedModel": lambda net: torch.optim.swa_utils.AveragedModel(net).module,
    "torch.save": lambda net: saved_and_loaded(net),
}


def saved_and_loaded(net):
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("activation", [chebact.ChebyshevLagrange(4, init="gelu"), nn.PReLU(4)], ids=["own", "torch's"])
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_made_while_recording_is_an_ordinary_module(way, activation):
    net, x = drawn_like(copy.deepcopy(activation)), torch.randn(5, 8)
    plain = {name: sorted(vars(part)) for name, part in net.named_modules()}
    with record_inputs(net, modules=(type(activation),)) as inputs:
        twin = COPIES[way](net)
        expected = net(x).detach()
        assert torch.equal(twin(x), expected)
        assert inputs["1"].calls == 1  # the copy is not the model that is recorded
    assert {name: sorted(vars(part)) for name, part in twin.named_modules()} == plain
    if way == "copy":
        return  # shares the parameters
    with torch.no_grad():
        for p in net.parameters():
            p.fill_(100.0)
    assert torch.equal(twin(x), expected)
    twin(x).sum().backward()
    assert all(p.grad is not None for p in twin.parameters())
    assert all(p.grad is None for p in net.parameters())
    assert torch.equal(saved_and_loaded(twin)(x), expected)


@pytest.mark.parametrize("activation", [chebact.ChebyshevLagrange(2), nn.ReLU()], ids=["own", "torch's"])
def test_recorders_may_overlap_and_stop_in_any_order(activation):
    net, x = nn.Sequential(activation), torch.ones(3, 2)
    first, second = (record_inputs(net, modules=(type(activation),)) for _ in range(2))
    one = first.__enter__()
    net(x)
    two = second.__enter__()
    net(x)
    first.__exit__(None, None, None)
    net(x)
    second.__exit__(None, None, None)
    net(x)
    assert (one["0"].calls, two["0"].calls) == (2, 2)
    assert not watchers.watched
    assert not nn.modules.module._global_forward_pre_hooks


def test_activations_fused_with_batch_norm_are_recorded_and_change_no_bit():
    net = ShakeShakeResNet(3, 10, activation="cl-extrapolate", shake=False, widths=(4, 4, 4, 4)).train()
    x = torch.randn(4, 3, 16, 16)
    before = [p.detach().clone() for p in net.buffers()]
    plain = torch.autograd.grad(net(x).square().sum(), list(net.parameters()), allow_unused=True)
    for buffer, value in zip(net.buffers(), before, strict=True):
        buffer.copy_(value)
    with record_inputs(net) as inputs:
        recorded_gradients = torch.autograd.grad(net(x).square().sum(), list(net.parameters()), allow_unused=True)
    assert len(inputs) == 16
    assert all(sample.calls == 1 for sample in inputs.values())
    for one, other in zip(plain, recorded_gradients, strict=True):
        assert one is other is None or torch.equal(one, other)


def test_the_fused_step_records_what_batch_norm_gives():
    norm, activation = nn.BatchNorm2d(4), chebact.ChebyshevLagrange(4, init="gelu")
    x = torch.randn(3, 4, 2, 2)
    wanted = nn.functional.batch_norm(x, None, None, norm.weight, norm.bias, True, 0.1, norm.eps).detach()
    with record_inputs(activation) as inputs:
        norm_activation(x, norm, activation).sum().backward()
    rows = wanted.movedim(1, -1).reshape(-1, 4)
    assert torch.equal(inputs[""].points.sort(0).values, rows.sort(0).values)


@pytest.mark.parametrize("channel_dim", [0, 1, -1])
def test_an_input_of_one_axis_is_all_channels(channel_dim):
    sample = recorded(chebact.ChebyshevLagrange(3, channel_dim=channel_dim), torch.tensor([1.0, 2.0, 3.0]))
    assert sample.points.tolist() == [[1.0, 2.0, 3.0]]
    with_replicas = chebact.ChebyshevLagrange(3, channel_dim=channel_dim, replicas=2)
    assert recorded(with_replicas, torch.ones(2, 3)).points.shape == (2, 1, 3)


def test_every_kept_number_is_of_its_channel_and_replica_for_random_shapes():
    chance = random.Random(0)
    for seed in range(300):
        rank, replicas = chance.choice([1, 2, 2, 3, 4, 5]), chance.choice([None, None, 1, 3])
        shape = [chance.choice([chance.randint(1, 12), chance.randint(20, 40)]) for _ in range(rank)]
        axis = chance.randrange(rank)
        channel_dim = chance.choice([axis, axis - rank])
        channels = torch.arange(shape[axis]).view([-1 if at == axis else 1 for at in range(rank)]).expand(shape).float()
        x = channels if replicas is None else torch.stack([channels + 1000 * each for each in range(replicas)])
        sample = InputSample(channel_dim, replicas is not None, chance.choice([1, 5, 16, 64]), seed)
        for _ in range(chance.randint(1, 20)):
            sample.take_(x)
        wanted = torch.arange(shape[axis]).float()
        if replicas is not None:
            wanted = wanted + 1000 * torch.arange(replicas).view(-1, 1, 1)
        assert bool((sample.points == wanted).all()), (shape, channel_dim, replicas)


@pytest.mark.filterwarnings("ignore:Using `torch.compile:UserWarning")
def test_compiled_models_run_while_recording_and_are_not_seen():
    torch.compiler.reset()
    for net, kinds in (
        (drawn_like(chebact.ChebyshevLagrange(4, init="gelu")), ()),
        (drawn_like(nn.ReLU()), (nn.ReLU,)),
    ):
        fast, x = torch.compile(net, backend="eager", fullgraph=True), torch.randn(3, 8)
        with record_inputs(net, modules=kinds) as inputs:
            torch.testing.assert_close(fast(x), net(x))
        assert inputs["1"].calls == 1


def test_materialize_runs_the_model_once_and_changes_nothing_else():
    model = nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), chebact.ChebyshevLagrange(init="gelu"), nn.Dropout(), nn.LazyConv2d(2, 1)
    )
    model[1].eval()
    state, before = torch.get_rng_state(), {name: value.clone() for name, value in model[1].state_dict().items()}
    assert chebact.materialize(model, torch.randn(2, 3, 8, 8)) is model
    assert model[2].heights.shape == (6, 4)
    assert [part.training for part in model] == [True, False, True, True, True]
    assert all(torch.equal(value, before[name]) for name, value in model[1].state_dict().items())
    assert not any(p.grad_fn for p in model.parameters())
    assert state is not None
    averaged = torch.optim.swa_utils.AveragedModel(model)
    averaged.update_parameters(model)
    with pytest.raises(ValueError, match=r"example must be an input that reaches every lazy module \(1\.heights\)"):
        chebact.materialize(Unused(), torch.zeros(2, 4))
    with pytest.raises(TypeError, match="model must be"):
        chebact.materialize(3, torch.zeros(2, 4))
    plain = nn.Linear(4, 4)
    assert chebact.materialize(plain, torch.zeros(2, 4)) is plain


@pytest.mark.parametrize(
    ("example", "shown"),
    [
        (torch.zeros(2, 3), r"a tensor of shape \(2, 3\)"),
        ((torch.zeros(2, 4), torch.zeros(2, 4)), r"tuple with tensors of shape \(2, 4\), \(2, 4\)"),
        ({"x": torch.zeros(2, 4)}, r"dict with tensors of shape \(2, 4\)"),
        ([torch.zeros(2, 4)], "a list of 1; pass a tuple if these are the inputs"),
        (None, r"None \(NoneType\)"),
    ],
)
def test_a_wrong_example_is_shown_with_what_the_model_raised(example, shown):
    lazy = nn.Sequential(nn.Linear(4, 4), chebact.ChebyshevLagrange())
    known = nn.Sequential(nn.Linear(4, 4), chebact.ChebyshevLagrange(4))
    what = "must be an input of the model, a tuple of its inputs or a dict of them by name, got"
    with pytest.raises(ValueError, match=rf"^example {what} {shown}, on which the model raised \w+: "):
        chebact.materialize(lazy, example)
    with pytest.raises(ValueError, match=rf"^data {what} {shown}, on which the model raised \w+: "):
        chebact.share_outside(known, example)
    assert not lazy[1].is_materialized


class Unused(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(4, 4), chebact.ChebyshevLagrange())

    def forward(self, x):
        return self[0](x)


def test_the_share_outside_is_counted_over_all_activations_and_each():
    model = nn.Sequential(
        chebact.ChebyshevLagrange(2, init="identity"),
        chebact.ChebyshevLagrange(2, init="identity", interval=(-4.0, 4.0)),
    ).train()
    x = torch.tensor([[0.0, 2.0], [5.0, 2.0], [0.0, 0.0], [0.0, -2.0]])
    share = chebact.share_outside(model, x)
    assert share.by_activation == {"0": 0.5, "1": 0.125}
    assert float(share) == share.total == pytest.approx(0.3125)
    assert model.training
    with pytest.raises(ValueError, match="a module with a learned activation"):
        chebact.share_outside(nn.Linear(2, 2), x)
