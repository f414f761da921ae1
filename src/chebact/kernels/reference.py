"""The formula in plain torch: any device, any type, exports. Every other kernel is tested against it.

Inside the interval the polynomial is evaluated from power coefficients up to degree 3 and in the second barycentric
form above; at a node the result is the learned value. Outside are the straight lines or, with tails="none", the
Chebyshev series of the polynomial, which keeps its digits and is clamped to a large finite number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from chebact.basis import Basis, Constants
from chebact.kernels.layout import Sizes, by_rows
from chebact.kernels.scaling import clamp_finite, divisor, numpy_type
from chebact.wide import matrix_on, widened

name = "reference"
Numbers = list[torch.Tensor]
RUN = 4096  # terms that torch sums on one thread


def why_not(device: torch.device) -> str | None:
    """None: the reference runs on every device."""
    return None


def plan(basis: Basis, sizes: Sizes, dtype: torch.dtype) -> None:
    """None: there is nothing to decide before a call."""


def evaluate(x: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor) -> None:
    """Write the activation of x into `out`, which may be x itself."""
    rows = by_rows(x, sizes)
    by_rows(out, sizes).copy_(plain(rows, broadcast(rows, _by_channel(values, sizes), 2, True), basis))


def gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, sizes: Sizes, out: torch.Tensor
) -> torch.Tensor:
    """Write the gradient of x into `out`; returns the gradient of the values."""
    rows, heights = by_rows(x, sizes), _by_channel(values, sizes)
    for_x, for_values = plain_gradients(rows, by_rows(grad, sizes), heights, basis, 2, True)
    by_rows(out, sizes).copy_(for_x)
    return for_values.reshape(values.shape)


def _by_channel(values: torch.Tensor, sizes: Sizes) -> torch.Tensor:
    return values.reshape(sizes.replicas, sizes.channels, values.shape[-1])


def plain(x: torch.Tensor, values: torch.Tensor, basis: Basis, *, through: bool = False) -> torch.Tensor:
    """sigma(x); the last axis of `values` holds the degree + 1 parameters, the others broadcast against x.

    With `through` autograd may differentiate the operations. Inside the interval it then sees a sum of powers or of
    T_0 ... T_degree, whose derivatives of every order are right everywhere. The value is still that of the accurate
    form, added without a derivative.
    """
    table = clamp_finite(widened(values) @ matrix_on(basis.table.T, x.device), x.dtype)
    return _by_powers(x, table, basis, through) if basis.by_powers else _by_nodes(x, values, table, basis, through)


def differentiable(x: torch.Tensor, values: torch.Tensor, basis: Basis) -> torch.Tensor:
    """`plain` for traced and exported graphs and for tensor subclasses, where torch differentiates the operations."""
    return plain(x, values, basis, through=True)


def _by_powers(x: torch.Tensor, table: torch.Tensor, basis: Basis, through: bool) -> torch.Tensor:
    k, numbers = basis.constants(numpy_type(x.dtype)), list(table.to(x.dtype).unbind(-1))
    clamped = x.clamp(k.left, k.right) if basis.has_tails else x
    inside = _horner(_position(clamped, k), numbers[:4])
    if basis.is_exact_at_nodes:
        inside = _at_nodes(inside, x, k.between, numbers[8:], through)
    if basis.has_tails:
        return _with_lines(inside, x, k, numbers[4:8])
    if basis.is_exact_at_nodes:
        inside = _at_nodes(inside, x, (k.high[-1], k.high[0]), [numbers[4], numbers[6]], through)
    return inside


def _by_nodes(x: torch.Tensor, values: torch.Tensor, table: torch.Tensor, basis: Basis, through: bool) -> torch.Tensor:
    k, terms = basis.constants(numpy_type(x.dtype)), basis.degree + 1
    bent = table[..., :terms] if basis.has_tails else table
    factor = divisor(bent, x.dtype, -1)
    numbers = list((bent / factor).to(x.dtype).unbind(-1))
    heights, factor = numbers[:terms], factor.squeeze(-1).to(x.dtype)
    near = x.clamp(k.high[-1], k.high[0])
    inside = _barycentric(near, heights, k)
    if basis.is_exact_at_nodes:
        inside = _at_nodes(inside, near if basis.has_tails else x, k.high, heights)
    inside = inside * factor
    if through:
        series = _clenshaw(widened(near), widened(values) @ matrix_on(basis.series.T, x.device), basis)
        inside = inside.detach() + (series - series.detach()).to(x.dtype)
    if basis.has_tails:
        return _with_lines(inside, x, k, list(table[..., terms:].to(x.dtype).unbind(-1)))
    growing = zip(numbers[terms:], _growing(x, k, basis.degree), strict=True)
    return torch.where(near == x, inside, sum((c * t for c, t in growing), torch.zeros_like(x)) * factor)


def broadcast(x: torch.Tensor, values: torch.Tensor, axis: int, replicated: bool) -> torch.Tensor:
    """Values (channel, degree + 1) or (replica, channel, degree + 1), reshaped to broadcast against x."""
    shape = [1] * x.dim()
    if replicated:
        shape[0] = values.shape[0]
    if values.shape[-2] != 1:
        shape[axis] = values.shape[-2]
    return values.reshape(*shape, values.shape[-1])


def plain_gradients(
    x: torch.Tensor, grad: torch.Tensor, values: torch.Tensor, basis: Basis, axis: int, replicated: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of x and of the values, without in-place operations, for x of any shape."""
    remaining = ({0} if replicated else set()) | ({axis} if values.shape[-2] != 1 else set())
    summed = [dim for dim in range(x.dim()) if dim not in remaining]
    sums = torch.stack([_summed(widened(share), summed) for share in _shares(x, grad, basis)], dim=-1)
    for_values = (sums @ matrix_on(basis.table, x.device)).reshape(values.shape).to(values.dtype)
    return grad * plain(x, broadcast(x, values, axis, replicated), basis.derivative()), for_values


def _summed(share: torch.Tensor, dims: list[int]) -> torch.Tensor:
    """The sum over `dims` in a fixed order; the order of torch's sum to one number depends on the number of threads."""
    if not dims:
        return share
    if math.prod(share.shape[dim] for dim in dims) == share.numel() > RUN:
        shape = [1 if dim in dims else size for dim, size in enumerate(share.shape)]
        share = share.flatten()
        while share.numel() > RUN:
            full = share.numel() // RUN * RUN
            share = torch.cat([share[:full].view(-1, RUN).sum(1), share[full:].sum().view(1)])
        share = share.sum().view(shape)
    return share.sum(dim=dims)


def _shares(x: torch.Tensor, grad: torch.Tensor, basis: Basis) -> Iterator[torch.Tensor]:
    """grad times the factor of each row of the table of the basis, at x."""
    k = basis.constants(numpy_type(x.dtype))
    zero = torch.zeros_like(x)
    if basis.by_powers:
        between = ~((x <= k.left) | (x >= k.right))  # NaN counts as inside, so it is in the result
        share = torch.where(between, grad, zero)
        position = _position(x.clamp(k.left, k.right) if basis.has_tails else x, k)
        for _ in range(4):
            yield share
            share = share * position
        yield from _line_shares(x, grad, k) if basis.has_tails else [zero] * 4
        yield from (zero, zero)  # the values at the nodes only correct rounding
        return
    left, right = k.high[-1], k.high[0]
    near = x.clamp(left, right)
    quotients = [_quotient(near, j, k) for j in range(basis.degree + 1)]
    between = ~((x <= left) | (x >= right)) if basis.has_tails else near == x
    total = torch.stack(quotients).sum(0)
    yield from (torch.where(between, quotient / total * grad, zero) for quotient in quotients)
    if basis.has_tails:
        yield from _line_shares(x, grad, k)
    else:
        yield from (torch.where(between, zero, t * grad) for t in _growing(x, k, basis.degree))


def _line_shares(x: torch.Tensor, grad: torch.Tensor, k: Constants) -> Iterator[torch.Tensor]:
    zero = torch.zeros_like(x)
    for outside, end in ((x <= k.left, k.left), (x >= k.right, k.right)):
        yield torch.where(outside, grad, zero)
        yield torch.where(outside, (x - end) * grad, zero)


def _with_lines(inside: torch.Tensor, x: torch.Tensor, k: Constants, lines: Numbers) -> torch.Tensor:
    result = torch.where(x >= k.right, _line(x, k.right, lines[2:], k), inside)
    return torch.where(x <= k.left, _line(x, k.left, lines[:2], k), result)


def _line(x: torch.Tensor, end: float, line: Numbers, k: Constants) -> torch.Tensor:
    """The line from `end`; with slope zero it is constant even at an infinite x, where 0 * inf would be NaN."""
    height, slope = line
    return slope * (torch.where(slope == 0, x.clamp(-k.largest, k.largest), x) - end) + height


def _clenshaw(x: torch.Tensor, weights: torch.Tensor, basis: Basis) -> torch.Tensor:
    """The sum of the weights times T_0 ... T_degree inside the interval, in the type of x."""
    k = basis.constants(numpy_type(x.dtype))
    t = ((x - k.middle_high) - k.middle_low) / k.half
    one, two = torch.zeros_like(t), torch.zeros_like(t)
    for weight in reversed(weights.unbind(-1)[1:]):
        one, two = 2 * t * one - two + weight, one
    return t * one - two + weights[..., 0]


def _horner(u: torch.Tensor, powers: Numbers) -> torch.Tensor:
    return ((powers[3] * u + powers[2]) * u + powers[1]) * u + powers[0]


def _position(x: torch.Tensor, k: Constants) -> torch.Tensor:
    """u of the power form; an infinite x is clamped to the largest finite number."""
    if k.middle_high == 0.0 and k.middle_low == 0.0 and k.scale == 1.0:
        return x.clamp(-k.largest, k.largest)
    return (((x - k.middle_high) - k.middle_low) * k.scale).clamp(-k.largest, k.largest)


def _barycentric(x: torch.Tensor, heights: Numbers, k: Constants) -> torch.Tensor:
    above, below = _sums(x, heights, k, 0, len(heights))
    return above / below


def _sums(x: torch.Tensor, heights: Numbers, k: Constants, start: int, stop: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Numerator and denominator over the nodes from `start` to `stop`, summed pairwise to keep digits."""
    if stop - start == 1:
        quotient = _quotient(x, start, k)
        return quotient * heights[start], quotient
    middle = (start + stop) // 2
    left, right = _sums(x, heights, k, start, middle), _sums(x, heights, k, middle, stop)
    return left[0] + right[0], left[1] + right[1]


def _quotient(x: torch.Tensor, j: int, k: Constants) -> torch.Tensor:
    difference = (x - k.high[j]) - k.low[j]
    return k.weights[j] / torch.where(difference.abs() < k.tiny, k.tiny, difference)


def _at_nodes(
    value: torch.Tensor, x: torch.Tensor, positions: tuple[float, ...], heights: Numbers, through: bool = False
) -> torch.Tensor:
    for position, height in zip(positions, heights, strict=True):
        if math.isnan(position):
            continue
        if through:
            value = value + torch.where(x == position, height - value, torch.zeros_like(value)).detach()
        else:
            value = torch.where(x == position, height, value)
    return value


def _growing(x: torch.Tensor, k: Constants, degree: int) -> Iterator[torch.Tensor]:
    """T_0 ... T_degree outside the interval, from differences of one sign, and clamped."""
    t = ((x - k.middle_high) - k.middle_low) / k.half
    size, sign = t.abs().clamp(1.0, k.most), torch.where(t < 0, -1.0, 1.0).to(x.dtype)
    value, step = torch.ones_like(x), size - 1
    signs = torch.ones_like(x)
    for _ in range(degree + 1):
        yield value * signs
        value = (value + step).clamp(max=k.most)
        step = (step + 2 * (size - 1) * value).clamp(max=k.most)
        signs = signs * sign
