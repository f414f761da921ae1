"""Models as others write them: functions in forward, one module for several calls, checkpointing, odd arguments."""

import importlib
import sys
from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from support.without_torchvision import has_torchvision, torchvision_names


class ResidualBlock(nn.Module):
    def __init__(self, before, after, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential()
        if before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.dropout(out, 0.3, training=self.training)
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResidualNet(nn.Module):
    """A residual network with F.relu."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.layer1, self.layer2 = ResidualBlock(8, 8), ResidualBlock(8, 16, 2)
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = self.layer2(self.layer1(torch.relu(self.bn(self.conv(x)))))
        return self.fc(F.avg_pool2d(x, x.shape[-1]).flatten(1))


class Bottleneck(nn.Module):
    """One module of ReLU, in place, for three calls of two widths."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 16, 1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x, scale=None):
        out = self.conv3(self.relu(self.conv2(self.relu(self.conv1(x)))))
        if scale is not None:
            out = out * scale
        return self.relu(out + x)


class UNet(nn.Module):
    """Down and up again, each stage under torch's checkpoint."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU())
        self.middle = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.SiLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.last = nn.Conv2d(16, 3, 1)

    def forward(self, x):
        skip = checkpoint(self.down, x, use_reentrant=False)
        inner = checkpoint(self.middle, skip, use_reentrant=False)
        return self.last(torch.cat([F.silu(self.up(inner)), skip], dim=1))


class InPlace(nn.Module):
    """Functions that write into their input, whose results are not read."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        x = self.first(x)
        F.relu_(x)
        y = self.second(x)
        y.relu_()
        return F.leaky_relu(x + y, 0.2)


class Listed(nn.Module):
    """Activations in a list and in a dict of modules, one of them called twice, and one called by a parent's parent."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
        self.acts = nn.ModuleList(nn.GELU() for _ in range(2))
        self.named = nn.ModuleDict({"last": nn.GELU()})
        self.inner = nn.Sequential(nn.Linear(6, 6), nn.GELU())

    def forward(self, x):
        for layer, act in zip(self.layers, self.acts, strict=False):
            x = act(layer(x))
        x = self.inner[1](self.inner[0](x))
        return self.named["last"](self.layers[2](self.acts[1](x)))


class Choosing(nn.Module):
    """A graph cannot hold this: the way depends on the numbers."""

    def __init__(self):
        super().__init__()
        self.linear, self.act = nn.Linear(4, 4), nn.ReLU()

    def forward(self, x):
        y = self.act(self.linear(x))
        return F.relu(y - 1) if y.sum() > 0 else y


def drawn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def filled(module):
    """The module with drawn numbers in its parameters."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(drawn(*parameter.shape, seed=1))
    return module


def encoder(activation="relu"):
    layer = nn.TransformerEncoderLayer(16, 2, 24, activation=activation, batch_first=True)
    return nn.TransformerEncoder(layer, 2)


def shared_module():
    act = nn.GELU()
    return nn.Sequential(nn.Linear(6, 8), act, nn.Dropout(0.1), nn.Linear(8, 4), act)


MODELS = {
    "residual net": (ResidualNet, (drawn(2, 3, 8, 8),), 5),
    "bottleneck": (Bottleneck, (drawn(2, 16, 6, 6),), 3),
    "U-Net with checkpointing": (UNet, (drawn(2, 3, 8, 8),), 3),
    "lists of modules": (Listed, (drawn(5, 6),), 5),
    "in place": (InPlace, (drawn(5, 6),), 3),
    "transformer, ReLU by function": (encoder, (drawn(2, 7, 16),), 2),
    "transformer, GELU by module": (lambda: encoder(nn.GELU()), (drawn(2, 7, 16),), 2),
    "one module at two places": (shared_module, (drawn(5, 6),), 2),
}
"""What makes each, its inputs, and how many activations it has."""


def import_or_skip(name):
    """Another library, or a skip that says why it is missing.

    timm requires torchvision. Where that does not import, a stand-in has the names that timm reads meanwhile.
    """
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    stand_in = not has_torchvision() and name == "timm" and name not in sys.modules
    try:
        with torchvision_names() if stand_in else nullcontext():
            return importlib.import_module(name)
    except Exception as error:
        pytest.skip(f"{name} does not import here: {type(error).__name__}: {error}")
