"""The residual network of two branches that the paper trains on images, with shake-shake or the plain mean.

A convolution has the number that the paper gives it: 1 is the first one, block b (from 0) has 2b + 2 and 2b + 3. The
activation of a number is the one before that convolution, so with two blocks per stage 6 to 13 are the last eight.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from chebact.checks import check_count, check_integer
from chebact.lab.images.norm_activation import norm_activation
from chebact.networks.residual_mlp import draw_
from chebact.table import Factory, build_activation, paper_activation

__all__ = ["ShakeBlock", "ShakeShakeResNet", "Shortcut", "shake_shake"]

WIDTHS = (16, 32, 64, 128)


class _ShakeShake(Function):
    """alpha a + (1 - alpha) b forward, with beta in place of alpha backward."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        ctx.save_for_backward(beta)
        return torch.lerp(second, first, alpha)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (beta,) = ctx.saved_tensors
        for_first = grad * beta
        return for_first, grad - for_first, None, None


def shake_shake(first: Tensor, second: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """alpha first + (1 - alpha) second, with the gradient of beta first + (1 - beta) second.

    `first` and `second` are (image, ...), `alpha` and `beta` (image,): one number in [0, 1] per image.

    >>> a, b = torch.ones(2, 3, requires_grad=True), torch.zeros(2, 3)
    >>> mixed = shake_shake(a, b, torch.tensor([0.25, 0.5]), torch.tensor([1.0, 0.0]))
    >>> mixed[:, 0].tolist(), torch.autograd.grad(mixed.sum(), a)[0][:, 0].tolist()
    ([0.25, 0.5], [1.0, 0.0])
    """
    shape = (-1,) + (1,) * (first.ndim - 1)
    mix = (alpha.to(first.dtype).view(shape), beta.to(first.dtype).view(shape))
    mixed: Tensor = _ShakeShake.apply(first, second, *mix)  # type: ignore[no-untyped-call]
    return mixed


class Shortcut(nn.Module):
    """The shortcut of a block that changes the shape: ReLU, two 1x1 convolutions of half the width, on the strided map
    and on the map shifted by one pixel, concatenated, batch norm.

    Shapes: x (N, in_channels, H, W) -> (N, out_channels, ceil(H / stride), ceil(W / stride)).

    >>> Shortcut(4, 8, stride=2)(torch.zeros(2, 4, 6, 6)).shape
    torch.Size([2, 8, 3, 3])
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.straight = nn.Conv2d(in_channels, out_channels // 2, 1, bias=False)
        self.moved = nn.Conv2d(in_channels, out_channels - out_channels // 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """The shortcut of x."""
        step, positive = self.stride, torch.relu(x)
        straight = positive[:, :, ::step, ::step]
        moved = positive[:, :, 1::step, 1::step]
        rows, columns = (a - b for a, b in zip(straight.shape[2:], moved.shape[2:], strict=True))
        if rows or columns:  # pixels from outside are zero
            moved = nn.functional.pad(moved, (0, columns, 0, rows))
        return self.norm(torch.cat((self.straight(straight), self.moved(moved)), 1))  # type: ignore[no-any-return]


class ShakeBlock(nn.Module):
    """Two branches of [activation, conv 3x3, batch norm] twice, mixed, added to the shortcut.

    `activations` makes one for a number of channels, before the first and the second convolution of a branch. While
    training with `shake`, alpha and beta are drawn per image from `generator` (torch's default if it is None);
    otherwise both branches count one half.

    >>> block = ShakeBlock(4, 8, stride=2)
    >>> block(torch.zeros(2, 4, 6, 6)).shape
    torch.Size([2, 8, 3, 3])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        stride: int = 1,
        activations: tuple[str | Factory, str | Factory] = ("relu", "relu"),
        degree: int | None = None,
        shake: bool = True,
        idle_shortcut: bool = False,
    ) -> None:
        super().__init__()
        self.shake = shake
        self.generator: torch.Generator | None = None
        before, between = activations

        def branch() -> nn.Sequential:
            return nn.Sequential(
                build_activation(before, in_channels, degree=degree),
                nn.Conv2d(in_channels, out_channels, 3, stride, padding=1, bias=False),
                nn.BatchNorm2d(out_channels),
                build_activation(between, out_channels, degree=degree),
                nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(out_channels),
            )

        self.first, self.second = branch(), branch()
        self.changes = in_channels != out_channels or stride != 1
        has_shortcut = self.changes or idle_shortcut
        self.shortcut = Shortcut(in_channels, out_channels, stride) if has_shortcut else None

    def forward(self, x: Tensor) -> Tensor:
        """x (N, in_channels, H, W) -> (N, out_channels, ceil(H / stride), ceil(W / stride))."""
        mixed = self.mix(run_branch(self.first, x), run_branch(self.second, x))
        return mixed + (self.shortcut(x) if self.changes and self.shortcut is not None else x)

    def mix(self, first: Tensor, second: Tensor) -> Tensor:
        """The mean of the two branches, weighted at random with shake-shake."""
        if not (self.shake and self.training):
            return torch.lerp(first, second, 0.5)
        where = "cpu" if self.generator is None else self.generator.device
        draws = torch.rand(2, len(first), generator=self.generator, device=where).to(first.device)
        return shake_shake(first, second, draws[0], draws[1])


def run_branch(branch: nn.Sequential, x: Tensor) -> Tensor:
    """branch(x), with its first batch norm and second activation in one step."""
    before, first, norm, between, second, last = branch
    return last(second(norm_activation(first(before(x)), norm, between)))  # type: ignore[no-any-return]


class ShakeShakeResNet(nn.Module):
    """The paper's 14-layer network for images: a convolution, three stages of blocks of two branches, a mean, Linear.

    Args:
        in_channels: 1 for grey, 3 for colour.
        classes: the number of classes.
        activation: a name of the table of activations, as the paper has it (learned heights start at zero), or a
            factory that takes the channels.
        shake: shake-shake in all stages, in none (the plain mean of the branches), or in these stages of 1, 2, 3.
        where: the numbers of the convolutions that have `activation` before them; the others have ReLU. The last eight
            by default; 2 to 13 are all of them.
        widths: channels of the first convolution and of the three stages.
        blocks: blocks per stage.
        degree: of the learned polynomials.
        idle_shortcuts: blocks that keep the shape have a shortcut too, which nothing uses: so does the code that the
            published figures were made with, and its parameter counts. Without them there are 21,952 fewer.
        generator: of the first weights; torch's default if it is None.

    Shapes: x (N, in_channels, H, W) with H and W of 4 or more -> (N, classes).

    >>> sum(parameter.numel() for parameter in ShakeShakeResNet(1, activation="cl-extrapolate").parameters())
    1398314
    """

    def __init__(
        self,
        in_channels: int = 3,
        classes: int = 10,
        *,
        activation: str | Factory = "relu",
        shake: bool | Collection[int] = True,
        where: Collection[int] | None = None,
        widths: Sequence[int] = WIDTHS,
        blocks: int = 2,
        degree: int | None = None,
        idle_shortcuts: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        channels = [check_count("widths", width) for width in widths]
        if len(channels) != 4:
            raise ValueError(f"widths must be four numbers, of the first convolution and of three stages, got {widths}")
        sigma = paper_activation(activation) if isinstance(activation, str) else activation
        numbers, stages = numbers_of(where, check_count("blocks", blocks)), stages_of(shake)

        def block(index: int) -> ShakeBlock:
            stage, position = divmod(index, blocks)
            return ShakeBlock(
                channels[stage if position == 0 else stage + 1],
                channels[stage + 1],
                stride=2 if stage and position == 0 else 1,
                activations=tuple(sigma if 2 * index + n in numbers else "relu" for n in (2, 3)),  # type: ignore[arg-type]
                degree=degree,
                shake=stage + 1 in stages,
                idle_shortcut=idle_shortcuts,
            )

        self.first = nn.Conv2d(check_count("in_channels", in_channels), channels[0], 3, padding=1)
        self.blocks = nn.ModuleList(block(index) for index in range(3 * blocks))
        self.last = nn.Linear(channels[-1], check_count("classes", classes))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw every parameter: He normal by fan-out for the convolutions, torch's default bounds for the rest."""
        draw_(self.blocks, generator)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                deviation = math.sqrt(2 / (module.kernel_size[0] * module.kernel_size[1] * module.out_channels))
                nn.init.normal_(module.weight, 0, deviation, generator=generator)
                if module.bias is not None:
                    bound = 1 / math.sqrt(module.weight[0].numel())
                    nn.init.uniform_(module.bias, -bound, bound, generator=generator)
        bound = 1 / math.sqrt(self.last.in_features)
        nn.init.uniform_(self.last.weight, -bound, bound, generator=generator)
        nn.init.zeros_(self.last.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x (N, in_channels, H, W) -> (N, classes)."""
        hidden = self.first(x)
        for block in self.blocks:
            hidden = block(hidden)
        return self.last(torch.relu(hidden).mean((2, 3)))  # type: ignore[no-any-return]

    def activation_before(self, number: int) -> nn.Module:
        """The activation of the first branch before the convolution of that number, 2 to 13 in the paper's network.

        >>> ShakeShakeResNet(1, activation="cl-extrapolate").activation_before(6)
        ChebyshevLagrange(32, degree=3, tails='extrapolate', init='zeros')
        """
        most = 2 * len(self.blocks) + 1
        index, second = divmod(check_integer("number", number, least=2, most=most) - 2, 2)
        block = self.blocks[index]
        assert isinstance(block, ShakeBlock)
        return block.first[3 if second else 0]

    def idle_parameters(self) -> list[nn.Parameter]:
        """The parameters that nothing uses: those of the shortcuts of blocks that keep the shape."""
        idle = [block.shortcut for block in self.blocks if isinstance(block, ShakeBlock) and not block.changes]
        return [parameter for shortcut in idle if shortcut is not None for parameter in shortcut.parameters()]

    def shake_with_(self, generator: torch.Generator | None) -> None:
        """Make all blocks draw their alpha and beta from this generator."""
        for block in self.blocks:
            assert isinstance(block, ShakeBlock)
            block.generator = generator


def numbers_of(where: Collection[int] | None, blocks: int) -> frozenset[int]:
    """The convolutions that get the activation; by default the last eight, or all if there are fewer."""
    last = 6 * blocks + 1
    numbers = frozenset(range(max(2, last - 7), last + 1) if where is None else where)
    if not numbers <= frozenset(range(2, last + 1)):
        wrong = sorted(numbers - frozenset(range(2, last + 1)))
        raise ValueError(f"where must name convolutions from 2 to {last}, got {', '.join(map(str, wrong))}")
    return numbers


def stages_of(shake: bool | Collection[int]) -> frozenset[int]:
    """The stages that shake."""
    stages = frozenset(((1, 2, 3) if shake else ()) if isinstance(shake, bool) else shake)
    if not stages <= {1, 2, 3}:
        raise ValueError(f"shake must be True, False or some of the stages 1, 2, 3, got {shake}")
    return stages
