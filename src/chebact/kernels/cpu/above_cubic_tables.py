"""The table of a channel above degree 3, from its parameters: a product with a matrix, in one order for every channel.

A library's product of matrices takes another order for another number of channels, and the bits of one channel would
depend on those beside it.
"""

from __future__ import annotations

import math

from numba import float64

from chebact.kernels.cpu.lanes import fill, fma, load, load_one, store, width_of
from chebact.kernels.cpu.tasks import clear, jit


@jit
def padded(start, numbers):
    """The length of a row of numbers, filled up to whole vectors such as `start` points to."""
    return (numbers + width_of(start) - 1) // width_of(start) * width_of(start)


@jit
def multiplied(row, values, first, matrix, terms, numbers, kept):
    """The numbers of one channel into `row`, float64; `matrix` has a padded row of numbers for each parameter.

    `kept`: the first numbers are the parameters themselves.
    """
    length = padded(row, numbers)
    clear(row, length, 0.0)
    for j in range(terms):
        y = fill(row, load_one(values, first + j))
        for n in range(0, length, width_of(row)):
            store(row, n, fma(y, load(matrix, j * length + n), load(row, n)))
    if kept:
        for j in range(terms):
            store(row, j, float64(load_one(values, first + j)))


@jit
def saturated(number, largest):
    """A finite number that the type can hold; an infinite one stays, since it was made from an infinite height."""
    return max(-largest, min(largest, number)) if abs(number) < math.inf else number


@jit
def put_table(out, start, row, bent, most, numbers, limits):
    """Put the numbers, and the power of two that the first `bent` of them were divided by, at out[start] and on.

    Before that these stop at `most`, and the others at the largest number of the type.
    """
    largest, small_enough, step, two_steps = limits
    size = 0.0
    for n in range(numbers):
        store(row, n, saturated(load_one(row, n), most if n < bent else largest))
        if n < bent:
            size = max(size, abs(load_one(row, n)))
    factor = 1.0
    if size > small_enough:
        factor = two_steps if size > small_enough * step else step
    for n in range(numbers):
        store(out, start + n, load_one(row, n) / (factor if n < bent else 1.0))
    store(out, start + numbers, factor)


@jit
def put_wide_table(out, start, row, powers, numbers, largest):
    """Put the numbers at out[start] and on; those after the powers are rounded to a smaller type later."""
    for n in range(numbers):
        here = load_one(row, n)
        store(out, start + n, here if n < powers else saturated(here, largest))
