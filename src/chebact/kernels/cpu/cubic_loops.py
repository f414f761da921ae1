"""The loops of the power form: along one channel's row, or over rows of neighbouring channels."""

from __future__ import annotations

from chebact.kernels.cpu.cubic_formula import add, inside, is_level, position, slope, value
from chebact.kernels.cpu.lanes import anywhere, either, fill, load, load_one, moved, rolled, store, width_of
from chebact.kernels.cpu.tables import (
    TABLE_LENGTH,
    add_eight,
    add_lanes,
    add_numbers,
    keep_sums,
    keep_ten,
    kept_sums,
    kept_ten,
    lanes_to_parameters,
    spread,
    ten_lanes,
    ten_of,
)  # fmt: skip
from chebact.kernels.cpu.tasks import NEAR, RUN, jit

SUMS = 8  # four power sums, and the height's and the slope's share of either line


@jit
def constants(k):
    """The ends, the place of the interval, the nodes between its ends and at them, and the largest number."""
    ends = (load_one(k, 0), load_one(k, 1))
    place = (load_one(k, 2), load_one(k, 3), load_one(k, 4))
    return ends, place, (load_one(k, 5), load_one(k, 6), load_one(k, 7), load_one(k, 8)), load_one(k, 9)


@jit
def spread_constants(x, ends, place, between):
    """The constants in every lane of vectors such as x points to."""
    return (
        (fill(x, ends[0]), fill(x, ends[1])),
        (fill(x, place[0]), fill(x, place[1]), fill(x, place[2])),
        (fill(x, between[0]), fill(x, between[1]), fill(x, between[2]), fill(x, between[3])),
    )


@jit
def forward_row(x, out, start, stop, tables, own, k, plain, tailed):
    """One channel's row from start to stop; its table is at tables[own]."""
    ends, place, between, most = constants(k)
    lane_ends, lane_place, lane_between = spread_constants(x, ends, place, between)
    lane_most = fill(x, most)
    table = ten_of(tables, own)
    t = spread(x, table)
    whole = start + (stop - start) // width_of(x) * width_of(x)
    if is_level(table[5]) or is_level(table[7]):
        for i in range(start, whole, width_of(x)):
            rolled()
            v = load(x, i)
            store(out, i, value(v, t, lane_between, lane_ends, lane_place, plain, tailed, lane_most, True))
    else:
        for i in range(start, whole, width_of(x)):
            rolled()
            v = load(x, i)
            store(out, i, value(v, t, lane_between, lane_ends, lane_place, plain, tailed, lane_most, None))
    for i in range(whole, stop):
        v = load_one(x, i)
        store(out, i, value(v, table, between, ends, place, plain, tailed, most, True))


@jit
def forward_columns(
    x, out, start, step, rows, length, repeat, parameters, tables, matrix, terms, kept, k, plain, tailed, zero
):
    """Neighbouring channels side by side, as many rows at a time as stay in the nearest cache."""
    ends, place, between, most = constants(k)
    lane_ends, lane_place, lane_between = spread_constants(x, ends, place, between)
    lane_most = fill(x, most)
    whole = length // width_of(x) * width_of(x)
    near, room = max(4, NEAR // length), moved(kept, length * 10)
    for at in range(0, whole, width_of(x)):
        keep_ten(kept, at * 10, ten_lanes(room, parameters, at, repeat, matrix, terms, zero))
    for begin in range(0, rows, near):
        for at in range(0, whole, width_of(x)):
            t, stop = kept_ten(kept, at * 10), min(begin + near, rows)
            if anywhere(either(is_level(t[5]), is_level(t[7]))):
                for row in range(begin, stop):
                    i = start + row * step + at
                    rolled()
                    v = load(x, i)
                    store(out, i, value(v, t, lane_between, lane_ends, lane_place, plain, tailed, lane_most, True))
            else:
                for row in range(begin, stop):
                    i = start + row * step + at
                    rolled()
                    v = load(x, i)
                    store(out, i, value(v, t, lane_between, lane_ends, lane_place, plain, tailed, lane_most, None))
    for at in range(whole, length):
        s = ten_of(tables, at // repeat * TABLE_LENGTH)
        for row in range(rows):
            i = start + row * step + at
            w = load_one(x, i)
            store(out, i, value(w, s, between, ends, place, plain, tailed, most, True))


@jit
def backward_row(x, g, out, start, stop, tables, own, acc, at, k, plain, tailed, joined, smooth, zero):
    """One channel's row from start to stop; its table is at tables[own], its sums are vectors kept at acc[at]."""
    ends, place, _, most = constants(k)
    lane_ends, lane_place, _ = spread_constants(x, ends, place, (zero, zero, zero, zero))
    lane_most = fill(x, most)
    table = ten_of(tables, own)
    d = spread(x, table)
    none = fill(x, zero)
    a = kept_sums(acc, at, none, joined)
    whole = start + (stop - start) // width_of(x) * width_of(x)
    for i in range(start, whole, width_of(x)):
        rolled()
        v, h = load(x, i), load(g, i)
        c = inside(v, lane_ends)
        u = position(c, lane_place, plain, tailed, lane_most)
        store(out, i, h * slope(v, u, d, lane_ends, smooth))
        a = add(a, v, c, u, h, none, lane_ends, joined)
    keep_sums(acc, at, a, joined)
    if whole < stop:
        b = (zero, zero, zero, zero, zero, zero, zero, zero)
        for i in range(whole, stop):
            w, f = load_one(x, i), load_one(g, i)
            e = inside(w, ends)
            s = position(e, place, plain, tailed, most)
            store(out, i, f * slope(w, s, table, ends, smooth))
            b = add(b, w, e, s, f, zero, ends, joined)
        add_eight(acc, at, width_of(x), b)


@jit
def backward_columns(
    x, g, out, start, step, rows, length, repeat, parameters, tables, slopes, matrix, terms, sums, result, kept,
    acc, k, plain, tailed, joined, smooth, zero,
):  # fmt: skip
    """Eight neighbouring positions at a time; a `result` takes the gradients at once, else `sums` grow."""
    ends, place, _, most = constants(k)
    lane_ends, lane_place, _ = spread_constants(x, ends, place, (zero, zero, zero, zero))
    lane_most = fill(x, most)
    none = fill(x, zero)
    nothing = (none, none, none, none, none, none, none, none)
    whole = length // width_of(x) * width_of(x)
    near, room = min(RUN, max(4, NEAR // length)), moved(acc, length * SUMS)
    for at in range(0, whole, width_of(x)):
        keep_ten(kept, at * 10, ten_lanes(room, parameters, at, repeat, slopes, terms, zero))
        keep_sums(acc, at * SUMS, nothing, joined)
    summed = 0
    for begin in range(0, rows, near):
        stop = min(begin + near, rows)
        for at in range(0, whole, width_of(x)):
            d, a = kept_ten(kept, at * 10), kept_sums(acc, at * SUMS, none, joined)
            for row in range(begin, stop):
                i = start + row * step + at
                rolled()
                v, h = load(x, i), load(g, i)
                c = inside(v, lane_ends)
                u = position(c, lane_place, plain, tailed, lane_most)
                store(out, i, h * slope(v, u, d, lane_ends, smooth))
                a = add(a, v, c, u, h, none, lane_ends, joined)
            keep_sums(acc, at * SUMS, a, joined)
        summed += stop - begin
        if sums.size and (summed + near > RUN or stop == rows):
            for at in range(0, whole, width_of(x)):
                add_lanes(sums, at, repeat, kept_sums(acc, at * SUMS, none, joined))
                keep_sums(acc, at * SUMS, nothing, joined)
            summed = 0
    if not sums.size:
        for at in range(0, whole, width_of(x)):
            lanes_to_parameters(result, kept_sums(acc, at * SUMS, none, joined), matrix, at, terms)
    for at in range(whole, length):
        s = ten_of(tables, at // repeat * TABLE_LENGTH)
        for begin in range(0, rows, RUN):
            b = (zero, zero, zero, zero, zero, zero, zero, zero)
            for row in range(begin, min(begin + RUN, rows)):
                i = start + row * step + at
                w, f = load_one(x, i), load_one(g, i)
                e = inside(w, ends)
                n = position(e, place, plain, tailed, most)
                store(out, i, f * slope(w, n, s, ends, smooth))
                b = add(b, w, e, n, f, zero, ends, joined)
            add_numbers(sums, at // repeat, b)
