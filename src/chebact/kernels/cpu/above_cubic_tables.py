"""The table of a channel above degree 3, from its parameters: a product with a matrix, in one order for every channel.

Where rows are long, tables are made one after the other before the call. Where neighbouring channels share the lanes,
every task makes those of its channels, as many side by side as there are lanes. A library's product of matrices takes
another order for another number of channels, and the bits of one channel would depend on those beside it.
"""

from __future__ import annotations

import math

import numpy
from numba import float64

from chebact.kernels.cpu.lanes import (
    alike,
    choose,
    converted,
    fill,
    fma,
    less,
    like,
    load,
    load_one,
    magnitude,
    moved,
    store,
    width_of,
)
from chebact.kernels.cpu.tables import channel_of
from chebact.kernels.cpu.tasks import clear, jit, keep_alive


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
def put_table(out, start, row, bent, most, numbers, divided, limits):
    """Put the numbers, and the power of two that the first `bent` of them were divided by, at out[start] and on.

    Before that these stop at `most`, and the others at the largest number of the type. Where `divided` is None, there
    is no such power.
    """
    largest, small_enough, step, two_steps = limits
    size = 0.0
    for n in range(numbers):
        store(row, n, saturated(load_one(row, n), most if n < bent else largest))
        if n < bent:
            size = max(size, abs(load_one(row, n)))
    factor = 1.0
    if divided is not None and size > small_enough:
        factor = two_steps if size > small_enough * step else step
    for n in range(numbers):
        store(out, start + n, load_one(row, n) / (factor if n < bent else 1.0))
    if divided is not None:
        store(out, start + numbers, factor)


@jit
def stopped(v, most):
    """Lanes that are finite stop at `most`."""
    endless = like(v, math.inf)
    high = choose(less(most, v), choose(less(v, endless), most, v), v)
    return choose(less(high, -most), choose(less(-endless, high), -most, high), high)


@jit
def put_columns(columns, values, first, count, repeat, matrix, terms, numbers, bent, most, kept, divided, limits):
    """The tables of `count` channels side by side, a row a number, every channel `repeat` times; as `put_table` does.

    `divided`: the first `bent` numbers are divided by a power of two, which is the last row. Positions are filled up
    to whole vectors with the last channel.
    """
    largest, small_enough, one_step, two_steps = limits
    width, step, length = width_of(columns), padded(columns, count * repeat), padded(matrix, numbers)
    room = numpy.empty((terms + numbers) * width, numpy.float64)
    y = alike(room.ctypes.data, float64, columns)
    made = moved(y, terms * width)
    for at in range(0, step, width):
        for lane in range(width):
            c = first + min(channel_of(at + lane, repeat), count - 1)
            for j in range(terms):
                store(y, j * width + lane, float64(load_one(values, c * terms + j)))
        size = fill(y, 0.0)
        for n in range(numbers):
            total = load(y, min(n, terms - 1) * width)
            if not (kept and n < terms):
                total = fill(y, 0.0)
                for j in range(terms):
                    total = fma(load(y, j * width), like(total, load_one(matrix, j * length + n)), total)
            total = stopped(total, like(total, most if n < bent else largest))
            if n < bent:
                size = choose(less(size, magnitude(total)), magnitude(total), size)
            store(made, n * width, total)
        factor = fill(y, 1.0)
        if divided is not None:
            large = choose(less(like(size, small_enough * one_step), size), like(size, two_steps), like(size, one_step))
            factor = choose(less(like(size, small_enough), size), large, factor)
            store(columns, numbers * step + at, converted(columns, factor))
        for n in range(numbers):
            total = load(made, n * width)
            store(columns, n * step + at, converted(columns, total / factor if n < bent else total))
    keep_alive(room)
