"""exp and tanh of vectors, to about two units in the last place."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from chebact.kernels.cpu.lanes import choose, fill, is_negative, less, magnitude
from chebact.kernels.cpu.vector_code import call_llvm, in_every_lane
from chebact.training.fused.ops.jit import jit

TERMS = {32: 8, 64: 14}  # of the series of exp(r) - 1 for |r| <= log(2) / 2
LEAST = {32: -87.0, 64: -708.0}  # below, exp is no normal number
_LOG2_HIGH = {32: 0.693359375, 64: 0.6931471803691238}  # so few digits that an integer times it is exact


@intrinsic
def _reduced(typingctx: Any, a: Any) -> Any:
    """2^k and exp(r) - 1 with a = k log(2) + r; a must be between `LEAST` and -`LEAST`."""
    bits, width = a.dtype.bitwidth, a.width
    magic, mantissa = (1.5 * 2.0**23, 23) if bits == 32 else (1.5 * 2.0**52, 52)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, integer = context.get_data_type(a.dtype), ir.VectorType(ir.IntType(bits), width)

        def constant(value: float) -> Any:
            return in_every_lane(builder, ir.Constant(number, value), width)

        shifted = call_llvm(builder, "fma", [args[0], constant(1 / math.log(2)), constant(magic)])
        k = builder.fsub(shifted, constant(magic))
        r = call_llvm(builder, "fma", [k, constant(-_LOG2_HIGH[bits]), args[0]])
        r = call_llvm(builder, "fma", [k, constant(-_low_part(bits)), r])
        series = constant(1 / math.factorial(TERMS[bits]))
        for term in range(TERMS[bits] - 1, 1, -1):
            series = call_llvm(builder, "fma", [series, r, constant(1 / math.factorial(term))])
        series = call_llvm(builder, "fma", [builder.fmul(series, r), r, r])
        one = ir.Constant(integer, [_bits_of_one(bits)] * width)
        places = ir.Constant(integer, [mantissa] * width)
        power = builder.add(builder.shl(builder.bitcast(shifted, integer), places), one)
        vector = context.get_data_type(a)
        return context.make_tuple(builder, signature.return_type, [builder.bitcast(power, vector), series])

    return types.UniTuple(a, 2)(a), codegen


def _low_part(bits: int) -> float:
    """The low part of log(2)."""
    from decimal import Decimal

    return float(Decimal("0.693147180559945309417232121458176568") - Decimal(_LOG2_HIGH[bits]))


def _bits_of_one(bits: int) -> int:
    return 127 << 23 if bits == 32 else 1023 << 52


@jit
def exponential(a, like, least):
    """exp of vectors of numbers that are not positive; those below `least` are clamped to it."""
    power, rest = _reduced(choose(less(a, fill(like, least)), fill(like, least), a))
    return power * rest + power


@jit
def hyperbolic_tangent(a, like):
    """tanh: with e = exp(-2|a|) - 1 it is -e / (2 + e) and the sign of a; NaN stays NaN."""
    double = fill(like, -2.0) * magnitude(a)
    power, rest = _reduced(choose(less(double, fill(like, -40.0)), fill(like, -40.0), double))
    one = fill(like, 1.0)
    below = power * rest + (power - one)
    result = -below / (fill(like, 2.0) + below)
    return choose(is_negative(a), -result, result)
