"""The forms of torch's layers. A new layer is a new row of `LAYERS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from chebact.networks.linear import ReplicaLinear
from chebact.ranges.bounds.form import ZERO, Form, Linear, Symbols, apply_linear, from_interval, refuse

__all__ = ["LAYERS"]

Map = Callable[[Tensor], Tensor]
Rule = Callable[[Any, Form, Symbols], Form]


def _wide(tensor: Tensor | None, like: tuple[int, ...] = ()) -> Tensor:
    """A parameter in float64 on the CPU; zeros if there is none."""
    return torch.zeros(like, dtype=torch.float64) if tensor is None else tensor.detach().double().cpu()


def _linear(layer: Any, form: Form, symbols: Symbols) -> Form:
    weight, bias = _wide(layer.weight), _wide(layer.bias)
    size, bias = weight.abs(), bias if weight.dim() == 2 else bias.unsqueeze(1)
    return apply_linear(form, Linear(lambda t: t @ weight.mT, lambda t: t @ size.mT, bias, layer.in_features), symbols)


CONVOLUTIONS: dict[Any, Any] = {
    nn.Conv1d: functional.conv1d,
    nn.Conv2d: functional.conv2d,
    nn.Conv3d: functional.conv3d,
}


def _convolution(layer: Any, form: Form, symbols: Symbols) -> Form:
    if layer.padding_mode != "zeros":
        raise refuse(f"a convolution with padding_mode={layer.padding_mode!r}")
    convolve, weight = CONVOLUTIONS[type(layer)], _wide(layer.weight)
    options = {name: getattr(layer, name) for name in ("stride", "padding", "dilation", "groups")}
    bias = _wide(layer.bias, (layer.out_channels,)).reshape(-1, *[1] * (weight.dim() - 2))

    def with_weight(weight: Tensor) -> Map:
        return _batched(lambda t: convolve(t, weight, **options))

    maps = with_weight(weight), with_weight(weight.abs())
    return apply_linear(form, Linear(*maps, constant=bias, terms=weight[0].numel()), symbols)


def _batched(function: Map) -> Map:
    """The function for batches of any size, also of none, which torch's layers do not all accept."""
    return lambda t: function(t) if t.shape[0] else function(t.new_zeros(1, *t.shape[1:]))[:0]


def _batch_norm(layer: Any, form: Form, symbols: Symbols) -> Form:
    if layer.running_mean is None:
        raise refuse("a batch norm without running statistics")
    shape = (-1, *[1] * (form.low.dim() - 2))
    factor = _wide(layer.weight) if layer.affine else torch.ones_like(_wide(layer.running_mean))
    factor = factor / (_wide(layer.running_var) + layer.eps).sqrt()
    shift = _wide(layer.bias) if layer.affine else torch.zeros_like(factor)
    size = (shift.abs() + (factor * _wide(layer.running_mean)).abs()).reshape(shape)
    shift = (shift - factor * _wide(layer.running_mean)).reshape(shape)
    factor = factor.reshape(shape)
    linear = Linear(lambda t: t * factor, lambda t: t * factor.abs(), shift, 8)
    result = apply_linear(form, linear, symbols)
    more = 64 * symbols.unit * size  # the model subtracts the mean first: its rounding is relative to both parts
    return replace(result, low=result.low - more, high=result.high + more, error=result.error + more)


def _pooling(layer: Any, form: Form, symbols: Symbols) -> Form:
    """Average pooling: a linear map with positive weights; what it sums is never more than one image."""
    pool = _batched(layer)
    return apply_linear(form, Linear(pool, pool, ZERO, terms=form.low[0, 0].numel()), symbols)


def _max_pooling(layer: Any, form: Form, symbols: Symbols) -> Form:
    """The larger of several values is within the larger of their bounds; nothing is said of slopes."""
    if layer.return_indices:
        raise refuse("a max pooling with return_indices=True")
    return from_interval(layer(form.low), layer(form.high), None, None, symbols)


def _flatten(layer: Any, form: Form, symbols: Symbols) -> Form:
    if layer.start_dim % form.low.dim() <= symbols.axis:
        raise refuse("a flatten that includes the batch axis")
    return form.map(layer)


def _nothing(layer: Any, form: Form, symbols: Symbols) -> Form:
    return form


LAYERS: dict[Any, Rule] = {
    nn.Linear: _linear,
    ReplicaLinear: _linear,
    nn.BatchNorm1d: _batch_norm,
    nn.BatchNorm2d: _batch_norm,
    nn.BatchNorm3d: _batch_norm,
    nn.Flatten: _flatten,
    nn.AvgPool1d: _pooling,
    nn.AvgPool2d: _pooling,
    nn.AdaptiveAvgPool1d: _pooling,
    nn.AdaptiveAvgPool2d: _pooling,
    nn.MaxPool1d: _max_pooling,
    nn.MaxPool2d: _max_pooling,
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    **dict.fromkeys((nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout), _nothing),
}
"""The rule of each class of layers, in evaluation mode."""
