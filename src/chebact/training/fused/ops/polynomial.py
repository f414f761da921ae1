"""A polynomial and its derivative from coefficients in registers, and the sums that give the coefficients' gradient.

Up to degree 3 the coefficients are those of powers of u (Horner's rule), above those of Chebyshev polynomials
(Clenshaw's rule, and their recurrence), on the interval that u spans from -1 to 1.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from chebact.basis import POWER_DEGREE
from chebact.kernels.cpu.lanes import Lanes
from chebact.kernels.cpu.vector_code import call_llvm, in_every_lane


@intrinsic(prefer_literal=True)
def load_each(typingctx: Any, start: Any, index: Any, step: Any, count: Any) -> Any:
    """`count` (a constant) vectors at start[index], start[index + step] and so on, as a tuple."""
    kind, number = Lanes(start.dtype, start.width), count.literal_value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector, result = context.get_data_type(kind), []
        for k in range(number):
            at = builder.add(args[1], builder.mul(args[2], ir.Constant(ir.IntType(64), k)))
            one = builder.load(builder.bitcast(builder.gep(args[0], [at]), vector.as_pointer()))
            one.align = start.dtype.bitwidth // 8
            result.append(one)
        return context.make_tuple(builder, signature.return_type, result)

    return types.UniTuple(kind, number)(start, types.int64, types.int64, count), codegen


@intrinsic
def store_each(typingctx: Any, start: Any, index: Any, step: Any, vectors: Any) -> Any:
    """Store the vectors of a tuple at start[index], start[index + step] and so on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        for k, one in enumerate(cgutils.unpack_tuple(builder, args[3])):
            at = builder.gep(args[0], [builder.add(args[1], builder.mul(args[2], ir.Constant(ir.IntType(64), k)))])
            builder.store(one, builder.bitcast(at, one.type.as_pointer())).align = start.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(start, types.int64, types.int64, vectors), codegen


@intrinsic(prefer_literal=True)
def no_sums(typingctx: Any, start: Any, count: Any) -> Any:
    """`count` (a constant) vectors of zeros such as `start` points to, as a tuple."""
    kind, number = Lanes(start.dtype, start.width), count.literal_value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(context.get_data_type(kind), [0.0] * kind.width)
        return context.make_tuple(builder, signature.return_type, [zero] * number)

    return types.UniTuple(kind, number)(start, count), codegen


@intrinsic
def value_at(typingctx: Any, u: Any, coefficients: Any) -> Any:
    """The polynomial of these coefficients (a tuple of vectors) at u."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        c = cgutils.unpack_tuple(builder, args[1])
        return (_horner if len(c) <= POWER_DEGREE + 1 else _clenshaw)(builder, args[0], c)

    return u(u, coefficients), codegen


def _horner(builder: Any, u: Any, c: list[Any]) -> Any:
    result = c[-1]
    for coefficient in reversed(c[:-1]):
        result = call_llvm(builder, "fma", [result, u, coefficient])
    return result


def _clenshaw(builder: Any, u: Any, c: list[Any]) -> Any:
    twice = builder.fadd(u, u)
    last, before = c[-1], None
    for coefficient in reversed(c[1:-1]):
        rest = coefficient if before is None else builder.fsub(coefficient, before)
        last, before = call_llvm(builder, "fma", [twice, last, rest]), last
    rest = c[0] if before is None else builder.fsub(c[0], before)
    return call_llvm(builder, "fma", [u, last, rest])


@intrinsic
def slope_and_sums(typingctx: Any, u: Any, g: Any, slopes: Any, sums: Any) -> Any:
    """The polynomial of the coefficients `slopes` at u, and the sums with g times each basis function at u added."""
    kind = types.Tuple((u, sums))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        d, running = cgutils.unpack_tuple(builder, args[2]), cgutils.unpack_tuple(builder, args[3])
        functions = _functions(builder, args[0], len(running))
        slope, added = d[0], [builder.fadd(running[0], args[1])]
        for k in range(1, len(running)):
            added.append(call_llvm(builder, "fma", [args[1], functions[k], running[k]]))
            if k < len(d):
                slope = call_llvm(builder, "fma", [d[k], functions[k], slope])
        return context.make_tuple(builder, kind, [slope, context.make_tuple(builder, sums, added)])

    return kind(u, g, slopes, sums), codegen


def _functions(builder: Any, u: Any, count: int) -> list[Any]:
    """1, u, and powers or Chebyshev polynomials of u."""
    result = [in_every_lane(builder, ir.Constant(u.type.element, 1.0), u.type.count), u]
    twice = builder.fadd(u, u)
    while len(result) < count:
        if count > POWER_DEGREE + 1:
            result.append(call_llvm(builder, "fma", [twice, result[-1], builder.fneg(result[-2])]))
        else:
            result.append(builder.fmul(result[-1], u))
    return result
