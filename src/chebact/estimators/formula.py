"""A trained network in writing: a function of the table's columns, as Python that needs `math` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn

from chebact.activations import ChebyshevLagrange
from chebact.estimators.scaling import BEND, InputScaling
from chebact.interpolation import values_to_coefficients
from chebact.networks import ResidualMLP
from chebact.networks.linear import ReplicaLinear

__all__ = ["formula_of"]

HEAD = f'''from math import copysign, log1p, tanh


def bounded(z):
    """The scaled input: the identity up to {BEND:g}, a logarithm beyond."""
    return z if abs(z) <= {BEND:g} else copysign({BEND:g} + log1p(abs(z) - {BEND:g}), z)


def sigma(x, left, right, *powers):
    """A learned activation: a polynomial on [-1, 1], a line with the slope `left` or `right` outside."""
    c = min(max(x, -1.0), 1.0)
    return sum(a * c**k for k, a in enumerate(powers)) + (left if x < c else right) * (x - c)

'''


POLYNOMIAL = '''
def polynomial(x, *powers):
    """A learned activation without tails."""
    return sum(a * x**k for k, a in enumerate(powers))

'''


def formula_of(
    network: ResidualMLP,
    replica: int,
    scaling: InputScaling,
    names: Sequence[str],
    targets: Sequence[tuple[float, float]],
    digits: int,
    box: Any = None,
) -> str:
    """The function of one replica. `targets` are centre and scale of each output, folded into the last layer; a column
    outside of `box` (2, column) is moved to its border.
    """
    columns = [f"x{number}" for number in range(1, len(names) + 1)]
    lines = [f"def predict({', '.join(columns)}):", f'    """Of {", ".join(map(str, names))}."""']
    parameters = zip(columns, scaling.centre.tolist(), scaling.factor.tolist(), strict=True)
    for number, (column, centre, factor) in enumerate(parameters, 1):
        if box is not None:
            column = f"min(max({column}, {box[0][number - 1]:.{digits}g}), {box[1][number - 1]:.{digits}g})"
        lines.append(f"    z{number} = bounded(({column} - {centre:.{digits}g}) * {factor:.{digits}g})")
    inputs = [f"z{number}" for number in range(1, len(names) + 1)]
    lines += layers(network, replica, inputs, targets, digits)
    return HEAD + (POLYNOMIAL if "polynomial(" in "".join(lines) else "") + "\n" + "\n".join(lines) + "\n"


def layers(
    network: ResidualMLP, replica: int, inputs: list[str], targets: Sequence[tuple[float, float]], digits: int
) -> Iterator[str]:
    """The lines of the layers, from the scaled inputs to what is returned."""
    width = network.first.out_features
    hidden = [f"h{unit}" for unit in range(1, width + 1)]
    active = [f"a{unit}" for unit in range(1, width + 1)]
    yield from assigned(hidden, sums(network.first, replica, inputs, digits))
    for block in network.blocks:
        source = hidden
        parts = list(block.children())
        for activation, layer in zip(parts[::2], parts[1::2], strict=True):
            yield from assigned(active, activated(activation, replica, source, digits))
            source = [f"r{unit}" for unit in range(1, width + 1)]
            yield from assigned(source, sums(layer, replica, active, digits))
        yield from assigned(hidden, [f"{h} + {r}" for h, r in zip(hidden, source, strict=True)])
    yield from assigned(active, activated(network.last_activation, replica, hidden, digits))
    results = []
    for text, (centre, scale) in zip(sums(network.last, replica, active, digits), targets, strict=True):
        results.append(text if (centre, scale) == (0, 1) else f"{centre:.{digits}g} + {scale:.{digits}g} * ({text})")
    yield "    return " + (results[0] if len(results) == 1 else f"[{', '.join(results)}]")


def assigned(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    return [f"    {name} = {text}" for name, text in zip(names, texts, strict=True)]


def sums(layer: nn.Module, replica: int, inputs: Sequence[str], digits: int) -> list[str]:
    """Each row of a linear layer as a sum."""
    assert isinstance(layer, ReplicaLinear)
    weight, bias = layer.weight[replica].tolist(), layer.bias[replica].tolist()
    return [
        " ".join(
            [
                f"{b:.{digits}g}",
                *(f"{'-' if w < 0 else '+'} {abs(w):.{digits}g}*{x}" for w, x in zip(row, inputs, strict=True)),
            ]
        )
        for row, b in zip(weight, bias, strict=True)
    ]


def activated(module: nn.Module, replica: int, inputs: Sequence[str], digits: int) -> list[str]:
    """An activation of each input."""
    if isinstance(module, ChebyshevLagrange) and module.basis.interval == (-1.0, 1.0):
        heights = module.heights[replica].detach().double()
        heights = heights.repeat_interleave(len(inputs) // len(heights), dim=0)
        return [learned(module, row, x, digits) for row, x in zip(heights, inputs, strict=True)]
    if isinstance(module, nn.ReLU):
        return [f"max({x}, 0.0)" for x in inputs]
    if isinstance(module, nn.Tanh):
        return [f"tanh({x})" for x in inputs]
    raise ValueError(
        f"activation must be cl-extrapolate, cl-regression, relu or tanh for a formula, got {type(module).__name__}"
    )


def learned(module: ChebyshevLagrange, heights: torch.Tensor, x: str, digits: int) -> str:
    """One learned activation: its slopes outside, and its coefficients by power."""
    from numpy.polynomial.chebyshev import cheb2poly

    powers: Any = cheb2poly(values_to_coefficients(heights).numpy())
    if not module.basis.has_tails:
        return f"polynomial({x}, {', '.join(f'{each:.{digits}g}' for each in powers)})"
    left, right = (torch.from_numpy(module.basis.pieces[-4:]) @ heights)[[1, 3]].tolist()
    return f"sigma({x}, {', '.join(f'{each:.{digits}g}' for each in (left, right, *powers))})"
