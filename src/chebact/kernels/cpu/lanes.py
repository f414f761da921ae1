"""Several numbers at a time: a small vector type for Numba, so that loops need no luck with the auto-vectoriser.

`Lanes(dtype, width)` is an LLVM vector of `width` float32 or float64. The arithmetic below works alike on lanes and on
single numbers, so a formula is written once and serves the main loop (many at a time) and its remainder (one at a
time) with the same roundings: every result has the same bits wherever it stands in memory.

How many lanes there are is part of the type of a pointer: `pointer` gives one whose vectors have `WIDTH` lanes,
`wide_pointer` one of any width, and `load`, `fill` and `width_of` follow it.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from chebact.kernels.cpu.vector_code import call_llvm, in_every_lane

WIDTH = 8


class Lanes(types.Type):
    """The Numba type of `width` numbers (or truth values) of one type."""

    def __init__(self, dtype: Any, width: int = WIDTH) -> None:
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Lanes({dtype}, {width})")


class WidePointer(types.CPointer):
    """A pointer to numbers that are loaded `width` at a time."""

    def __init__(self, dtype: Any, width: int) -> None:
        super().__init__(dtype)
        self.width = width
        self.name = f"WidePointer({dtype}, {width})"

    @property
    def key(self) -> tuple[Any, int]:
        """What tells one such type from another; a CPointer's own knows no width."""
        return self.dtype, self.width


register_model(WidePointer)(models.PointerModel)


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """An LLVM vector, kept in registers."""

    def __init__(self, dmm: Any, fe_type: Lanes) -> None:
        bits = {types.float32: ir.FloatType(), types.float64: ir.DoubleType(), types.boolean: ir.IntType(1)}
        super().__init__(dmm, fe_type, ir.VectorType(bits[fe_type.dtype], fe_type.width))


def _truth(kind: Any) -> Any:
    return Lanes(types.boolean, kind.width) if isinstance(kind, Lanes) else types.boolean


def _vector_at(start: Any) -> Lanes:
    """The type of the vectors that a pointer of the type `start` loads."""
    return Lanes(start.dtype, getattr(start, "width", WIDTH))


def _bytes(kind: Any) -> int:
    return int((kind.dtype if isinstance(kind, Lanes) else kind).bitwidth // 8)


def _as_pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.inttoptr(args[0], context.get_data_type(signature.return_type))


@intrinsic
def pointer(typingctx: Any, address: Any, dtype: Any) -> Any:
    """The integer `address` as a pointer to `dtype`."""
    return types.CPointer(dtype.dtype)(types.int64, dtype), _as_pointer


@intrinsic(prefer_literal=True)
def wide_pointer(typingctx: Any, address: Any, dtype: Any, width: Any) -> Any:
    """The integer `address` as a pointer to `dtype`, whose vectors have `width` lanes (an integer constant)."""
    return WidePointer(dtype.dtype, width.literal_value)(types.int64, dtype, width), _as_pointer


@intrinsic
def alike(typingctx: Any, address: Any, dtype: Any, start: Any) -> Any:
    """The integer `address` as a pointer to `dtype`, whose vectors have as many lanes as those at `start`."""
    return WidePointer(dtype.dtype, _vector_at(start).width)(types.int64, dtype, start), _as_pointer


@intrinsic
def moved(typingctx: Any, start: Any, index: Any) -> Any:
    """The pointer to `start[index]`."""
    return start(start, types.int64), lambda context, builder, signature, args: builder.gep(args[0], [args[1]])


@intrinsic
def width_of(typingctx: Any, start: Any) -> Any:
    """How many lanes a vector at `start` has, a constant."""
    width = _vector_at(start).width
    return types.int64(start), lambda context, builder, signature, args: ir.Constant(ir.IntType(64), width)


@intrinsic
def load(typingctx: Any, start: Any, index: Any) -> Any:
    """A vector of numbers from `start[index]` on; no alignment is asked for."""
    kind = _vector_at(start)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(builder.gep(args[0], [args[1]]), context.get_data_type(kind).as_pointer())
        value = builder.load(place)
        value.align = _bytes(start.dtype)
        return value

    return kind(start, types.int64), codegen


@intrinsic
def store(typingctx: Any, start: Any, index: Any, value: Any) -> Any:
    """Put lanes, or one number, at `start[index]` and on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, stored = builder.gep(args[0], [args[1]]), args[2]
        if isinstance(value, Lanes):
            place = builder.bitcast(place, context.get_data_type(value).as_pointer())
        else:
            stored = context.cast(builder, stored, value, start.dtype)
        builder.store(stored, place).align = _bytes(start.dtype)
        return context.get_dummy_value()

    return types.void(start, types.int64, value), codegen


@intrinsic
def load_one(typingctx: Any, start: Any, index: Any) -> Any:
    """The number `start[index]`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.gep(args[0], [args[1]]))

    return start.dtype(start, types.int64), codegen


@intrinsic
def fill(typingctx: Any, start: Any, number: Any) -> Any:
    """One number in every lane of a vector such as `start` points to, rounded to its type."""
    kind = _vector_at(start)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return in_every_lane(builder, context.cast(builder, args[1], number, start.dtype), kind.width)

    return kind(start, number), codegen


@intrinsic
def like(typingctx: Any, vector: Any, number: Any) -> Any:
    """One number in every lane of such a vector, rounded to its type."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return in_every_lane(builder, context.cast(builder, args[1], number, vector.dtype), vector.width)

    return vector(vector, number), codegen


@intrinsic
def lanes_of(typingctx: Any, vector: Any) -> Any:
    """How many lanes a vector has, a constant."""
    return types.int64(vector), lambda context, builder, signature, args: ir.Constant(ir.IntType(64), vector.width)


@intrinsic
def widened(typingctx: Any, vector: Any) -> Any:
    """The lanes in float64."""
    kind = Lanes(types.float64, vector.width)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return args[0] if vector == kind else builder.fpext(args[0], context.get_data_type(kind))

    return kind(vector), codegen


@intrinsic
def lane(typingctx: Any, vector: Any, index: Any) -> Any:
    """The number in one lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], args[1])

    return vector.dtype(vector, types.int64), codegen


def _llvm_function(name: str) -> Any:
    """Code that calls one of LLVM's own functions of numbers of one type."""
    return lambda context, builder, signature, args: call_llvm(builder, name, args)


@intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """`a * b + c` with one rounding."""
    return a(a, a, a), _llvm_function("fma")


@intrinsic
def less(typingctx: Any, a: Any, b: Any) -> Any:
    """`a < b`; false where either is NaN."""
    return _truth(a)(a, a), lambda context, builder, signature, args: builder.fcmp_ordered("<", *args)


@intrinsic
def same(typingctx: Any, a: Any, b: Any) -> Any:
    """`a == b`; false where either is NaN."""
    return _truth(a)(a, a), lambda context, builder, signature, args: builder.fcmp_ordered("==", *args)


@intrinsic
def differs(typingctx: Any, a: Any, b: Any) -> Any:
    """`a != b`; true where either is NaN."""
    return _truth(a)(a, a), lambda context, builder, signature, args: builder.fcmp_unordered("!=", *args)


@intrinsic
def choose(typingctx: Any, truth: Any, a: Any, b: Any) -> Any:
    """`a` where `truth`, else `b`."""
    return a(truth, a, a), lambda context, builder, signature, args: builder.select(*args)


@intrinsic
def anywhere(typingctx: Any, truth: Any) -> Any:
    """Whether a truth value holds in any lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = ir.IntType(truth.width)
        return builder.icmp_unsigned("!=", builder.bitcast(args[0], bits), ir.Constant(bits, 0))

    return types.boolean(truth), codegen


@intrinsic
def either(typingctx: Any, a: Any, b: Any) -> Any:
    """True where either truth value is."""
    return a(a, a), lambda context, builder, signature, args: builder.or_(*args)


def _as_integers(builder: Any, value: Any, kind: Any) -> tuple[Any, Any]:
    """The bits of lanes or of one number as integers, and the type of these integers."""
    integer: Any = ir.IntType(8 * _bytes(kind))
    if isinstance(kind, Lanes):
        integer = ir.VectorType(integer, kind.width)
    return builder.bitcast(value, integer), integer


@intrinsic
def is_negative(typingctx: Any, a: Any) -> Any:
    """Whether the sign bit is set, also that of -0 and of a NaN."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits, integer = _as_integers(builder, args[0], a)
        return builder.icmp_signed("<", bits, ir.Constant(integer, None))

    return _truth(a)(a), codegen


@intrinsic
def below_zero(typingctx: Any, a: Any) -> Any:
    """`a` where its sign bit is set, else 0."""
    return a(a), _sided("<")


@intrinsic
def above_zero(typingctx: Any, a: Any) -> Any:
    """`a` where its sign bit is not set, else 0."""
    return a(a), _sided(">")


def _sided(side: str) -> Any:
    """The smaller or larger of the bits and 0, as integers: it needs no unit that products wait for."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits, integer = _as_integers(builder, args[0], signature.args[0])
        zero = ir.Constant(integer, None)
        kept = builder.select(builder.icmp_signed(side, bits, zero), bits, zero)
        return builder.bitcast(kept, context.get_data_type(signature.return_type))

    return codegen


@intrinsic
def magnitude(typingctx: Any, a: Any) -> Any:
    """`a` without its sign."""
    return a(a), _llvm_function("fabs")


@intrinsic
def square_root(typingctx: Any, a: Any) -> Any:
    """The square root, correctly rounded."""
    return a(a), _llvm_function("sqrt")


@intrinsic
def total(typingctx: Any, vector: Any) -> Any:
    """The sum over the lanes: halves are added until one number is left."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (left,), width = args, vector.width
        while width > 1:
            width //= 2
            half = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(width)))
            other = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(width, 2 * width)))
            left = builder.fadd(builder.shuffle_vector(left, left, half), builder.shuffle_vector(left, left, other))
        return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))

    return vector.dtype(vector), codegen


@intrinsic
def next_ticket(typingctx: Any, counter: Any) -> Any:
    """The integer at the address `counter`, which is one more afterwards; safe between threads."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", place, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(types.int64), codegen


def _define_operator(python_operator: Any, instruction: str) -> None:
    @intrinsic
    def on_lanes(typingctx: Any, a: Any, b: Any) -> Any:
        return a(a, a), lambda context, builder, signature, args: getattr(builder, instruction)(*args)

    @overload(python_operator)
    def of_lanes(a, b):  # type: ignore[no-untyped-def]  # Numba compares this signature with the lambda's
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return lambda a, b: on_lanes(a, b)
        return None


@intrinsic
def _negative_lanes(typingctx: Any, a: Any) -> Any:
    return a(a), lambda context, builder, signature, args: builder.fneg(args[0])


@overload(operator.neg)
def _negative(a):  # type: ignore[no-untyped-def]
    if isinstance(a, Lanes):
        return lambda a: _negative_lanes(a)
    return None


for _operator, _instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    _define_operator(getattr(operator, _operator), _instruction)
