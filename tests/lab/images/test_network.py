"""The shake-shake network: the published parameter counts, its parts against plain torch, and where activations go."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import chebact
from chebact.lab.images.network import ShakeBlock, ShakeShakeResNet, Shortcut, shake_shake
from chebact.lab.images.norm_activation import is_fused, norm_activation

SMALL = {"widths": (4, 6, 8, 10), "blocks": 2}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def count(network):
    return sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)


@pytest.mark.parametrize(
    ("channels", "activation", "published"),
    [
        (1, "relu", 1_392_938),
        (1, "cl-extrapolate", 1_398_314),
        (3, "relu", 1_393_226),
        (3, "cl-extrapolate", 1_398_602),
    ],
)
def test_the_published_counts_to_the_digit(channels, activation, published):
    assert count(ShakeShakeResNet(channels, activation=activation)) == published


def test_what_nothing_uses_is_counted_and_can_be_left_out():
    network = ShakeShakeResNet(1)
    idle = sum(parameter.numel() for parameter in network.idle_parameters())
    assert idle == 21_952
    assert count(ShakeShakeResNet(1, idle_shortcuts=False)) == 1_392_938 - idle
    network(torch.rand(2, 1, 8, 8)).sum().backward()
    without = [parameter for parameter in network.parameters() if parameter.grad is None]
    assert {id(parameter) for parameter in without} == {id(parameter) for parameter in network.idle_parameters()}


def test_the_shortcut_is_that_of_the_released_code():
    """Average pools of one pixel, and a pad that moves the map: written as there."""
    for stride, size in ((1, 5), (2, 6), (2, 7)):
        shortcut, x = Shortcut(4, 6, stride), torch.randn(3, 4, size, size, generator=seeded())
        h = F.relu(x)
        straight = shortcut.straight(F.avg_pool2d(h, 1, stride))
        moved = shortcut.moved(F.avg_pool2d(F.pad(h, (-1, 1, -1, 1)), 1, stride))
        expected = copy.deepcopy(shortcut.norm)(torch.cat((straight, moved), 1))
        torch.testing.assert_close(shortcut(x), expected)


def test_alpha_forward_and_beta_backward_for_each_image():
    first, second = (torch.randn(5, 2, 3, 3, generator=seeded(s), requires_grad=True) for s in (1, 2))
    alpha, beta = torch.rand(2, 5, generator=seeded(3))
    mixed = shake_shake(first, second, alpha, beta)
    by_hand = torch.stack([a * x + (1 - a) * y for a, x, y in zip(alpha, first, second, strict=True)])
    torch.testing.assert_close(mixed, by_hand)
    grad = torch.randn(5, 2, 3, 3, generator=seeded(4))
    mixed.backward(grad)
    for image in range(5):
        torch.testing.assert_close(first.grad[image], beta[image] * grad[image])
        torch.testing.assert_close(second.grad[image], (1 - beta[image]) * grad[image])


def test_shaking_draws_afresh_in_training_and_not_in_evaluation():
    block = ShakeBlock(4, 4)
    block.generator = seeded(0)
    x = torch.rand(6, 4, 5, 5, generator=seeded())
    first, second = block.first(x), block.second(x)
    one, two = block.mix(first, second), block.mix(first, second)
    assert not torch.equal(one, two)
    shares = ((one - second) / (first - second)).detach()
    assert shares.std(dim=(1, 2, 3)).max() < 1e-2  # one number an image
    assert shares.mean(dim=(1, 2, 3)).std() > 0.05  # another for another image
    torch.testing.assert_close(block.eval().mix(first, second), (first + second) / 2)
    block.train()
    block.generator = seeded(0)
    assert torch.equal(block.mix(first, second), one)


@pytest.mark.parametrize(("shake", "stages"), [(True, {0, 1, 2}), (False, set()), ((2, 3), {1, 2})])
def test_which_stages_shake(shake, stages):
    network = ShakeShakeResNet(1, shake=shake, **SMALL)
    assert {index // 2 for index, block in enumerate(network.blocks) if block.shake} == stages


def test_the_last_eight_or_any_activations():
    network = ShakeShakeResNet(1, activation="cl-extrapolate", **SMALL)
    learned = [number for number in range(2, 14) if hasattr(network.activation_before(number), "heights")]
    assert learned == list(range(6, 14))
    one = ShakeShakeResNet(1, activation="tanh", where=[4], **SMALL)
    assert [n for n in range(2, 14) if isinstance(one.activation_before(n), nn.Tanh)] == [4]
    block = one.blocks[1]
    assert isinstance(block.first[0], nn.Tanh)
    assert isinstance(block.second[0], nn.Tanh)


@pytest.mark.parametrize("activation", list(chebact.ACTIVATIONS))
def test_every_activation_of_the_table_trains_a_step(activation):
    network = ShakeShakeResNet(1, activation=activation, where=range(2, 14), generator=seeded(), **SMALL)
    F.cross_entropy(network(torch.rand(4, 1, 8, 8, generator=seeded())), torch.arange(4)).backward()
    for number in (2, 13):
        for parameter in network.activation_before(number).parameters():
            assert parameter.grad is not None


def test_the_start_is_he_normal_by_fan_out_and_follows_from_the_generator():
    network = ShakeShakeResNet(3, generator=seeded(5))
    convolution = network.blocks[4].first[1]
    assert convolution.weight.std().item() == pytest.approx((2 / (9 * 128)) ** 0.5, rel=0.02)
    same, other = (ShakeShakeResNet(3, generator=seeded(s)).state_dict() for s in (5, 6))
    assert all(torch.equal(value, same[name]) for name, value in network.state_dict().items())
    assert not torch.equal(network.first.weight, other["first.weight"])


def test_sizes_and_memory_format():
    network = ShakeShakeResNet(3, activation="cl-extrapolate", shake=False, generator=seeded(), **SMALL).double()
    with torch.no_grad():
        for number in range(6, 14):
            network.activation_before(number).fit_("tanh")
    x = torch.randn(3, 3, 32, 32, generator=seeded(), dtype=torch.float64)
    last = copy.deepcopy(network).to(memory_format=torch.channels_last)
    torch.testing.assert_close(last(x.to(memory_format=torch.channels_last)), network(x))
    hidden = network.first(x)
    for block in network.blocks:
        hidden = block(hidden)
    assert hidden.shape[2:] == (8, 8)
    pooled = F.avg_pool2d(F.relu(hidden), 8).flatten(1)  # as the paper has it
    torch.testing.assert_close(network.last(pooled), network(x))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"where": [1]}, "from 2 to 13"),
        ({"where": [14]}, "got 14"),
        ({"shake": (4,)}, "stages 1, 2, 3"),
        ({"widths": (1, 2, 3)}, "four numbers"),
        ({"activation": "gone"}, "must be one of"),
    ],
)
def test_bad_choices(options, words):
    with pytest.raises(ValueError, match=words):
        ShakeShakeResNet(1, **{"activation": "cl-extrapolate", **options})


@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_norm_and_activation_in_one_step_are_those_in_two(kernel, dtype, form):
    x = (3 * torch.randn(8, 5, 4, 4, generator=seeded()) + 1).to(dtype).contiguous(memory_format=form)
    found = []
    for fused in (False, True):
        norm, activation = nn.BatchNorm2d(5), chebact.ChebyshevLagrange(5, init="tanh")
        with torch.no_grad():
            norm.weight.uniform_(0.5, 2, generator=seeded(1))
            norm.bias.uniform_(-1, 1, generator=seeded(2))
        if dtype == torch.float64:
            norm, activation = norm.double(), activation.double()
        own = x.clone(memory_format=torch.preserve_format).requires_grad_()
        assert is_fused(own, norm, activation)
        y = norm_activation(own, norm, activation) if fused else activation(norm(own))
        y.backward(torch.linspace(-1, 1, y.numel()).view(y.shape).to(dtype))
        parts = [own.grad, norm.weight.grad, norm.bias.grad, activation.heights.grad]
        found.append([y, *parts, norm.running_mean, norm.running_var, norm.num_batches_tracked])
        assert y.is_contiguous(memory_format=form)
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two)


def test_the_one_step_keeps_one_tensor_less():
    def kept(step):
        sizes = {}

        def note(tensor):
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        x = torch.randn(16, 8, 16, 16, generator=seeded(), requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            y = step(x, nn.BatchNorm2d(8), chebact.ChebyshevLagrange(8))
        return sum(sizes.values()), y

    two, _ = kept(lambda x, norm, activation: activation(norm(x)))
    one, y = kept(norm_activation)
    assert abs(two - one - y.numel() * 4) < 200  # but for a few numbers a channel


def test_gradients_of_gradients_are_those_of_the_two_steps():
    found = []
    for one_step in (False, True):
        norm, activation = nn.BatchNorm2d(3).double(), chebact.ChebyshevLagrange(3, init="tanh").double()
        x = torch.randn(4, 3, 2, 2, generator=seeded(), dtype=torch.float64, requires_grad=True)
        y = norm_activation(x, norm, activation) if one_step else activation(norm(x))
        (slope,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        parts = [x, norm.weight, norm.bias, activation.heights]
        found.append([slope, *torch.autograd.grad((slope**2).sum(), parts), norm.running_mean, norm.running_var])
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two)


def test_other_norms_and_hooks_work_in_the_network():
    network = ShakeShakeResNet(1, activation="cl-extrapolate", where=range(2, 14), **SMALL)
    seen = []
    network.activation_before(7).register_full_backward_hook(lambda *_: seen.append("backward"))
    network(torch.rand(2, 1, 8, 8)).sum().backward()
    assert seen == ["backward"]
    network.eval()
    x = torch.rand(2, 1, 8, 8)
    expected = network(x)
    torch.testing.assert_close(nn.SyncBatchNorm.convert_sync_batchnorm(network)(x), expected)


def test_the_one_step_is_not_taken_where_it_would_differ():
    x, norm, activation = torch.randn(4, 3, 2, 2), nn.BatchNorm2d(3), chebact.ChebyshevLagrange(3)
    assert is_fused(x, norm, activation)
    assert not is_fused(x, norm.eval(), activation)
    assert not is_fused(x, norm.train(), nn.ReLU())
    assert not is_fused(x[:1, :, :1, :1], norm, activation)
    assert not is_fused(x, nn.BatchNorm2d(3, affine=False), activation)
    assert not is_fused(x, nn.BatchNorm2d(3, momentum=None), activation)
    with torch.no_grad():
        assert not is_fused(x, norm, activation)
    activation.register_forward_pre_hook(lambda *_: None)
    assert not is_fused(x, norm, activation)
