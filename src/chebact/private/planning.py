"""`plan`: what a polynomial network costs under encryption, as a table, and the folded network itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

from chebact.checks import must_be
from chebact.private.agreement import Agreement
from chebact.private.arithmetic import Arithmetic, Counts, LevelArithmetic, NumpyArithmetic, Vector
from chebact.private.folding import Stage, fold_program
from chebact.private.forms import FORMS
from chebact.private.packing import power_above, steps_of
from chebact.private.parameters import Parameters, suggest_parameters
from chebact.private.reading import read_polynomial

__all__ = ["Plan", "StageCost", "evaluate_stages", "plan"]

Array = Any
HEADS = ("stage", "levels", "ct x ct", "ct x pt", "rotations")


@dataclass(frozen=True)
class StageCost:
    """What one stage takes: multiplicative levels, products of two ciphertexts, products of a ciphertext with known
    numbers, rotations.
    """

    name: str
    levels: int
    ciphertext_products: int
    plaintext_products: int
    rotations: int


@dataclass(frozen=True)
class Plan:
    """A polynomial network, folded for encryption: `stages` in order, for `inputs` features.

    The costs are those of the packing of `chebact.private`: `rows_per_ciphertext` rows are evaluated at once, at the
    cost of one. Levels are counted from the input, one per linear layer and those of each activation.
    """

    inputs: int
    stages: tuple[Stage, ...]

    @property
    def outputs(self) -> int:
        """The numbers that come out per row."""
        return len(self.stages[-1].bias)

    @cached_property
    def width(self) -> int:
        """The numbers that each row takes in a ciphertext: a power of two."""
        return power_above(max(self.inputs, *(len(stage.bias) for stage in self.stages)))

    @cached_property
    def costs(self) -> tuple[StageCost, ...]:
        """One per stage."""
        return tuple(_costs(self))

    @property
    def levels(self) -> int:
        """The multiplicative depth."""
        return sum(cost.levels for cost in self.costs)

    @property
    def ciphertext_products(self) -> int:
        """The products of two ciphertexts."""
        return sum(cost.ciphertext_products for cost in self.costs)

    @property
    def plaintext_products(self) -> int:
        """The products of a ciphertext with known numbers."""
        return sum(cost.plaintext_products for cost in self.costs)

    @property
    def rotations(self) -> int:
        """The rotations of a ciphertext."""
        return sum(cost.rotations for cost in self.costs)

    @cached_property
    def parameters(self) -> Parameters:
        """The ring and the moduli that are suggested."""
        return suggest_parameters(self.levels, self.width)

    @property
    def rows_per_ciphertext(self) -> int:
        """The rows that one ciphertext holds."""
        return self.parameters.slots // self.width

    @property
    def agreement(self) -> Agreement:
        """What a client has to know: sizes and parameters."""
        return Agreement(self.inputs, self.outputs, self.width, tuple(self.steps), self.parameters)

    @cached_property
    def steps(self) -> list[int]:
        """The moves, in channels, for which the server needs a rotation key."""
        return steps_of([each for stage in self.stages for each in stage.weights.values()], self.width)

    def evaluate(self, x: Array) -> Array:
        """The outputs (row, output) for x (row, input), in float64, in the order of the encrypted evaluation."""
        rows = numpy.asarray(x, dtype=numpy.float64)
        if rows.ndim != 2 or rows.shape[1] != self.inputs:
            raise ValueError(must_be("x", f"(row, {self.inputs})", rows.shape))
        return evaluate_stages(self.stages, NumpyArithmetic(), rows)[-1]

    def __str__(self) -> str:
        rows = [(cost.name, cost.levels, *_products(cost)) for cost in self.costs]
        total = ("total", self.levels, self.ciphertext_products, self.plaintext_products, self.rotations)
        cells = [[str(each) for each in row] for row in (HEADS, *rows, total)]
        sizes = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [_line(row, sizes) for row in cells]
        chosen = self.parameters
        bits = "+".join(map(str, chosen.modulus_bits))
        lines += [
            f"ring {chosen.ring}, moduli {bits} = {sum(chosen.modulus_bits)} bits (128-bit security), scale "
            f"2^{chosen.scale_bits}",
            f"{self.rows_per_ciphertext} rows of up to {self.width} numbers per ciphertext, {len(self.steps)} rotation "
            "keys",
        ]
        return "\n".join(lines)


def plan(model: Any) -> Plan:
    """Fold a polynomial network for encryption and count what it costs; print the result for a table.

    Adjacent linear layers are merged. An activation of degree 2 becomes a square, (x + s)^2, and one of degree 3
    u (u^2 + q), with their scales and constants moved into the next linear layer: one level and two. Other degrees,
    and cubics whose leading coefficient is near zero, are sums of powers in ceil(log2(degree + 1)) levels. The model
    is made of linear layers, sums, factors and activations with `tails="none"`; others are refused by name.

    >>> import torch
    >>> from chebact import ChebyshevLagrange
    >>> activation = ChebyshevLagrange(32, degree=2, tails="none", init="gelu")
    >>> print(plan(torch.nn.Sequential(torch.nn.Linear(30, 32), activation, torch.nn.Linear(32, 2))))
    stage                levels  ct x ct  ct x pt  rotations
    1: 30 -> 32, square       2        1       32         10
    2: 32 -> 2                1        0        2          5
    total                     3        1       34         15
    ring 8192, moduli 49+39+39+39+49 = 215 bits (128-bit security), scale 2^39
    128 rows of up to 32 numbers per ciphertext, 5 rotation keys
    """
    program = read_polynomial(model)
    return Plan(program.inputs, fold_program(program))


def evaluate_stages(
    stages: Sequence[Stage], arithmetic: Arithmetic, x: Vector, notice: Any = lambda vector: None
) -> list[Vector]:
    """All vectors of a plan in order, the outputs last; `notice` is called with z of every stage."""
    vectors = [x]
    for stage in stages:
        u = arithmetic.linear([(vectors[k], each) for k, each in stage.weights.items()], stage.bias)
        z = FORMS[stage.form](arithmetic, u, stage.numbers)
        vectors += [u, z]
        notice(z)
    return vectors


def _costs(plan: Plan) -> list[StageCost]:
    arithmetic, found = LevelArithmetic(plan.width), list[StageCost]()
    before = [(Counts(), 0)]

    def notice(level: int) -> None:
        counts, (last, above) = Counts(*arithmetic.counts.numbers), before[-1]
        stage = plan.stages[len(found)]
        columns = max(each.shape[1] for each in stage.weights.values())
        form = {"none": "", "tree": f", degree {stage.degree} by a tree"}.get(stage.form, f", {stage.form}")
        name = f"{len(found) + 1}: {columns} -> {len(stage.bias)}{form}"
        found.append(StageCost(name, level - above, *(counts - last).numbers))
        before.append((counts, level))

    evaluate_stages(plan.stages, arithmetic, 0, notice)
    return found


def _products(cost: StageCost) -> tuple[int, int, int]:
    return cost.ciphertext_products, cost.plaintext_products, cost.rotations


def _line(row: Sequence[str], sizes: Sequence[int]) -> str:
    _, *others = (f"{each:>{size}}" for each, size in zip(row, sizes, strict=True))
    return "  ".join([row[0].ljust(sizes[0]), *others])
