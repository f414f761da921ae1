"""Which axis holds the channels of what a layer takes and gives: 1 after a convolution, -1 after a linear layer."""

from __future__ import annotations

from typing import NamedTuple

from torch import nn

__all__ = ["CONVOLUTIONS", "PASSING", "Layout", "consumed_by", "produced_by"]


class Layout(NamedTuple):
    """So many channels at that axis, and what says so."""

    channels: int
    channel_dim: int
    evidence: str


CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
NORMS = (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm),
    *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
)
PASSING = (
    *(nn.Identity, nn.Upsample, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d),
    *(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
)
"""Layers that leave the channels as they are."""


def produced_by(layer: nn.Module) -> Layout | None:
    """The channels of what a layer gives, where its own numbers tell; None where they do not.

    >>> produced_by(nn.Conv2d(3, 16, 3)), produced_by(nn.ReLU())
    (Layout(channels=16, channel_dim=1, evidence='Conv2d'), None)
    """
    if isinstance(layer, nn.Sequential):
        for part in reversed(layer):
            found = produced_by(part)
            if found is not None or not isinstance(part, PASSING):
                return found
        return None
    return _layout(layer, "out")


def consumed_by(layer: nn.Module) -> Layout | None:
    """The channels of what a layer takes.

    >>> consumed_by(nn.Linear(8, 32))
    Layout(channels=8, channel_dim=-1, evidence='Linear')
    """
    if isinstance(layer, nn.Sequential):
        return next((consumed_by(part) for part in layer if not isinstance(part, PASSING)), None)
    return _layout(layer, "in")


def _layout(layer: nn.Module, side: str) -> Layout | None:
    name = type(layer).__name__
    if isinstance(layer, nn.Linear):
        return Layout(getattr(layer, f"{side}_features"), -1, name)
    if isinstance(layer, CONVOLUTIONS):
        return Layout(getattr(layer, f"{side}_channels"), 1, name)
    if isinstance(layer, NORMS):
        return Layout(layer.num_features, 1, name)
    if isinstance(layer, nn.GroupNorm):
        return Layout(layer.num_channels, 1, name)
    if isinstance(layer, nn.RNNBase) and side == "out":
        return Layout((layer.proj_size or layer.hidden_size) * (1 + layer.bidirectional), -1, name)
    if isinstance(layer, nn.MultiheadAttention) and side == "out":
        return Layout(layer.embed_dim, -1, name)
    if isinstance(layer, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
        return Layout(layer.linear2.out_features, -1, name)
    if type(layer) is nn.LayerNorm and len(layer.normalized_shape) == 1:  # subclasses normalise other axes
        return Layout(layer.normalized_shape[0], -1, name)
    if isinstance(layer, nn.Embedding) and side == "out":
        return Layout(layer.embedding_dim, -1, name)
    return None
