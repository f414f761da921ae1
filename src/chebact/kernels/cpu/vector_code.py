"""Pieces of LLVM code for numbers and vectors of them, from which intrinsics are made."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils


def in_every_lane(builder: Any, number: Any, width: int) -> Any:
    """An LLVM number as a vector of `width` times the same."""
    vector = ir.VectorType(number.type, width)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def call_llvm(builder: Any, name: str, args: Any) -> Any:
    """One of LLVM's own functions of numbers of one type, or of vectors of them."""
    kind = args[0].type
    number = kind.element if isinstance(kind, ir.VectorType) else kind
    suffix = (f".v{kind.count}" if number is not kind else ".") + ("f32" if number == ir.FloatType() else "f64")
    function_type = ir.FunctionType(kind, [kind] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}{suffix}"), args)
