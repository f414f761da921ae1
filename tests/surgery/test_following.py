"""The channel axis is that of the layer, wherever its output was moved, whatever other axes are as long."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import chebact
from chebact.surgery.axes import Twins


class Net(nn.Module):
    """Layers by name, and a forward that is given as a function of the network and x."""

    def __init__(self, forward, **layers):
        super().__init__()
        self.layers, self.how = nn.ModuleDict(layers), forward

    def forward(self, x):
        return self.how(self.layers, x)


def image_first(act):
    return lambda net, x: net["norm"](act(net, net["conv"](x).permute(0, 2, 3, 1)))


def by_module(net, x):
    return net["act"](x)


MOVED = {
    "an earlier layer has as many channels as there are steps": (
        Net(
            lambda net, x: net["norm"](F.relu(net["conv"](net["stem"](x)).transpose(1, 2))),
            stem=nn.Conv1d(8, 64, 1),
            conv=nn.Conv1d(64, 32, 3, padding=1),
            norm=nn.LayerNorm(32),
        ),
        (2, 8, 64),
        (32, -1),
    ),
    "as many channels as steps, a module": (
        Net(
            lambda net, x: net["norm"](net["act"](net["conv"](x).transpose(1, 2))),
            conv=nn.Conv1d(4, 16, 1),
            act=nn.ReLU(),
            norm=nn.LayerNorm(16),
        ),
        (2, 4, 16),
        (16, -1),
    ),
    "as many channels as rows and columns": (
        Net(image_first(by_module), conv=nn.Conv2d(3, 16, 1), act=nn.GELU(), norm=nn.LayerNorm(16)),
        (2, 3, 16, 16),
        (16, -1),
    ),
    "channels last where the convention says second": (
        Net(image_first(by_module), conv=nn.Conv2d(3, 16, 1), act=nn.GELU(), norm=nn.LayerNorm(16)),
        (2, 3, 10, 12),
        (16, -1),
    ),
    "as many channels as tokens, before a convolution": (
        Net(
            lambda net, x: net["conv"](net["act"](net["line"](x).mT)),
            line=nn.Linear(5, 12),
            act=nn.ReLU(),
            conv=nn.Conv1d(12, 3, 1),
        ),
        (2, 12, 5),
        (12, 1),
    ),
    "twice turned around a norm": (
        Net(
            lambda net, x: net["out"](net["act"](net["norm"](net["line"](x).transpose(1, 2)).transpose(1, 2))),
            line=nn.Linear(8, 12),
            norm=nn.BatchNorm1d(12),
            act=nn.ReLU(),
            out=nn.Linear(12, 2),
        ),
        (2, 12, 8),
        (12, -1),
    ),
    "frames that were joined with the batch": (
        Net(
            lambda net, x: net["act"](net["conv"](x.flatten(0, 1)).unflatten(0, (2, 4))),
            conv=nn.Conv2d(3, 5, 1),
            act=nn.ReLU(),
        ),
        (2, 4, 3, 6, 6),
        (5, 2),
    ),
    "one half of a split, after a sum": (
        Net(
            lambda net, x: F.gelu(net["line"](x).chunk(2, -1)[0].transpose(1, 2) + 1),
            line=nn.Linear(3, 12),
        ),
        (2, 6, 3),
        (6, 1),
    ),
    "a stack, joined with another and flattened": (
        Net(
            lambda net, x: F.relu(torch.stack([net["conv"](x), net["conv"](x)], 1).flatten(0, 1)[:, 1:]),
            conv=nn.Conv2d(3, 6, 1),
        ),
        (2, 3, 5, 5),
        (5, 1),
    ),
    "rows summed by an adjacency": (
        Net(lambda net, x: F.elu(x @ net["line"](x)), line=nn.Linear(8, 8)),
        (8, 8),
        (8, 1),
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_the_axis_is_that_of_the_layer_wherever_its_output_was_moved(name):
    model, shape, wanted = MOVED[name]
    (row,) = chebact.replace_activations(model, torch.randn(shape)).report.replaced
    assert (row.channels, row.channel_dim) == wanted


PRODUCTS = {
    "attention": lambda net, x: F.relu(net["q"](x) @ net["k"](x).transpose(1, 2)),
    "einsum": lambda net, x: F.relu(torch.einsum("nqd,nkd->nqk", net["q"](x), net["k"](x))),
    "pairs": lambda net, x: F.leaky_relu(net["one"](x) + net["other"](x).transpose(1, 2)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_of_two_layers_has_no_channels_unless_the_user_names_them(name):
    lines = {"q": nn.Linear(10, 10), "k": nn.Linear(10, 10), "one": nn.Linear(10, 1), "other": nn.Linear(10, 1)}
    model, x = Net(PRODUCTS[name], **lines), torch.randn(2, 10, 10)
    with pytest.raises(ValueError, match=r"no layer.* tells .*pass channel_dim"):
        chebact.replace_activations(model, x)
    (row,) = chebact.replace_activations(model, x, channel_dim=-1).report.replaced
    assert (row.channels, row.channel_dim, row.evidence) == (10, -1, "channel_dim")


MOVES = {
    "permute": (lambda x: x.permute(0, 2, 3, 1), 3),
    "reshape of the rest": (lambda x: x.reshape(2, 6, 20), 1),
    "reshape of the batch": (lambda x: x.reshape(1, 2, 6, 4, 5), 2),
    "joined with the batch": (lambda x: x.reshape(12, 4, 5), None),
    "split": (lambda x: x.unflatten(1, (2, 3)), None),
    "chosen by a tensor": (lambda x: x[:, torch.tensor([1, 0, 2])], 1),
    "index": (lambda x: x[:, :, None, 1:3], 1),
    "squeeze": (lambda x: x[:, :, :1].squeeze(), 1),
    "mean of the rest": (lambda x: x.mean((2, 3), keepdim=True), 1),
    "pool": (lambda x: F.max_pool2d(x, 2), 1),
    "joined": (lambda x: torch.cat([x, x], 1), 1),
    "stack": (lambda x: torch.stack([x, x], 0), 2),
    "stack behind": (lambda x: torch.stack([x, x], -1), 1),
    "stack of as many as channels": (lambda x: torch.stack([x[:, :, 0, 0]] * 6, 1), 2),
    "einsum": (lambda x: torch.einsum("nchw->nhwc", x), 3),
    "turned by 90 degrees": (lambda x: torch.rot90(x, 1, (1, 2)), 2),
    "windows": (lambda x: x.unfold(2, 2, 1), 1),
    "adjoint": (lambda x: x[:, :, 0].adjoint(), 2),
    "written into another": (lambda x: torch.zeros(2, 4, 5, 6).copy_(x.permute(0, 2, 3, 1)), 3),
    "assigned to a part": (lambda x: assigned(torch.zeros(2, 8, 4, 5), x), 1),
    "flipped and rolled": (lambda x: x.flip(1).roll(1, 1), 1),
    "weights from the right": (lambda x: x.permute(0, 2, 3, 1) @ WEIGHTS, 3),
    "weights from the left": (lambda x: LEFT @ x.flatten(2), 1),
    "other weights": (lambda x: x.permute(0, 2, 3, 1) @ torch.ones(6, 9), None),
    "mixed": (lambda x: x.flatten(2) @ x.flatten(2).mT, None),
    "normalised": (lambda x: F.layer_norm(x.permute(0, 2, 3, 1), (6,), nn.Parameter(torch.ones(6))), 3),
    "normalised by hand": (lambda x: x / x.norm(dim=1, keepdim=True) * nn.Parameter(torch.ones(6)).view(1, 6, 1, 1), 1),
    "dropped": (lambda x: F.dropout(x, 0.5, training=True).permute(0, 3, 2, 1), 3),
    "values of attention": (lambda x: F.scaled_dot_product_attention(*(x.flatten(2).mT for _ in range(3))), 2),
}
WEIGHTS, LEFT = nn.Parameter(torch.ones(6, 9)), nn.Parameter(torch.ones(9, 6))


def assigned(whole, part):
    whole[:, 1:7] = part
    return whole


class Watch(torch.overrides.TorchFunctionMode):
    def __init__(self, twins):
        super().__init__()
        self.twins = twins

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.twins.call(func, args, kwargs or {})


def test_a_batch_of_one_that_is_joined_with_the_channels_is_not_taken_for_them():
    net = Net(lambda net, x: F.relu(net["conv"](x).reshape(-1, 1, 8, 8)), conv=nn.Conv2d(3, 8, 1))
    with pytest.raises(ValueError, match="must have an activation that can be replaced") as error:
        chebact.replace_activations(net, torch.randn(1, 3, 8, 8))
    assert "pass channel_dim" in str(error.value)


def test_folded_windows_have_the_channels_of_the_next_layer():
    model = nn.Sequential(nn.Conv1d(4, 32, 1), nn.Fold((32, 32), 2, stride=2), nn.ReLU(), nn.Conv2d(8, 6, 1))
    (row,) = chebact.replace_activations(model, torch.randn(2, 4, 256)).report.replaced
    assert (row.channels, row.channel_dim) == (8, 1)


class Mapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(8, 2)

    def forward(self, x):
        return torch.vmap(self.line)(x)


class Ragged(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.act, self.out = nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)

    def forward(self, x):
        y = self.line(x)
        rows = torch.nested.as_nested_tensor([y[0, :3], y[1]]) * 2
        return self.out(self.act(torch.nested.to_padded_tensor(rows, 0.0)))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage:UserWarning")
def test_layers_inside_of_transforms_and_ragged_tensors_are_no_obstacle():
    mapped = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), Mapped())
    (row,) = chebact.replace_activations(mapped, torch.randn(5, 4)).report.replaced
    assert (row.name, row.channels) == ("1", 8)
    (row,) = chebact.replace_activations(Ragged(), torch.randn(2, 5, 4)).report.replaced
    assert (row.name, row.channels, row.channel_dim) == ("act", 8, -1)


@pytest.mark.parametrize("name", MOVES)
def test_wherever_the_numbers_of_a_layer_go_the_axis_is_known_or_nothing_is(name):
    move, axis = MOVES[name]
    x, twins = torch.randn(2, 6, 4, 5), Twins()
    twins.start(x, 1, "Conv2d")
    state = torch.get_rng_state()
    with Watch(twins), torch.no_grad():
        y = move(x)
    torch.set_rng_state(state)
    with torch.no_grad():
        assert torch.equal(y, move(x))  # of which the run itself knows nothing
    found = twins.find(y)
    got = found.channel_dim % y.dim() if isinstance(found, tuple) else None
    assert got == axis


def test_heads_of_attention_have_a_curve_each():
    def split(net, x):
        return F.relu(net["conv"](x).reshape(2, 4, 8, 25).transpose(2, 3))

    (row,) = chebact.replace_activations(Net(split, conv=nn.Conv2d(3, 32, 1)), torch.randn(2, 3, 5, 5)).report.replaced
    assert (row.channels, row.channel_dim, row.evidence) == (4, 1, "heads after Conv2d")


def cube(net, x):
    return F.relu(net["line"](x).permute(0, 2, 1))


ALIKE = {
    "moved": (cube, 1),
    "moved to the first axis": (lambda net, x: F.relu(net["line"](x).permute(2, 0, 1)), None),
    "turned": (lambda net, x: F.relu(torch.rot90(net["line"](x), 1, (1, 2))), 1),
}


@pytest.mark.parametrize("name", ALIKE)
def test_where_all_axes_are_of_one_length_the_axis_is_followed_or_asked_for(name):
    how, axis = ALIKE[name]
    model, x = Net(how, line=nn.Linear(6, 6)), torch.randn(6, 6, 6)
    if axis is None:
        with pytest.raises(ValueError, match="pass channel_dim"):
            chebact.replace_activations(model, x)
        axis = 0
        (row,) = chebact.replace_activations(model, x, channel_dim=0).report.replaced
    else:
        (row,) = chebact.replace_activations(model, x).report.replaced
    assert (row.channels, row.channel_dim) == (6, axis)
