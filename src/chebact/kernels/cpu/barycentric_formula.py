"""The formula of the CPU kernel above degree 3, on vectors: the second barycentric form, and what goes on outside.

P(x) = sum(w_j y_j / (x - x_j)) / sum(w_j / (x - x_j)) is as accurate as its data at any degree, and the derivative is
the same formula with the slopes at the nodes in place of the heights. The sums for the parameters' gradient reuse the
quotients. The table of a channel is its pieces: degree + 1 heights, then height and slope of either line, or, without
lines, the weights of T_0 ... T_degree, whose sum the polynomial is outside the interval. Last comes the power of two
that heights and weights were divided by, so that nothing overflows on the way (`basis.steps_down`).
"""

from __future__ import annotations

from chebact.kernels.cpu.lanes import (
    WIDTH,
    anywhere,
    choose,
    differs,
    either,
    fma,
    less,
    load,
    load_one,
    magnitude,
    rolled,
    same,
    splat,
    store,
)
from chebact.kernels.cpu.tasks import jit

HEADER = 5  # constants before the nodes: the ends, what stands for a difference of zero, the largest number, and
# 1 where the value at a node is the height itself, or NaN
LINES = 4  # numbers of the two straight lines


@jit
def held(v, left, right):
    """v, held to the interval."""
    low = choose(less(right, v), right, v)
    return choose(less(low, left), left, low)


@jit
def numbers_of(terms, lined):
    """How many numbers of a channel's table are multiplied by something at an element; the power of two follows."""
    return terms + (LINES if lined else terms)


@jit
def bounded(v, most):
    """v, or `most` where it is larger."""
    return choose(less(most, v), most, v)


@jit
def with_lines(p, v, left, right, largest, lines):
    """p between the ends, the straight lines outside; a level line stays level at an infinite v."""
    on_left, on_right = v - left, v - right
    level_left, level_right = same(lines[1], left - left), same(lines[3], left - left)
    if anywhere(either(level_left, level_right)):
        on_left = choose(level_left, -bounded(-on_left, largest), on_left)
        on_right = choose(level_right, bounded(on_right, largest), on_right)
    p = choose(less(v, right), p, fma(lines[3], on_right, lines[2]))
    return choose(less(left, v), p, fma(lines[1], on_left, lines[0]))


@jit
def four_splat(t, i):
    """Four numbers from t[i] on, each in every lane."""
    return splat(load_one(t, i)), splat(load_one(t, i + 1)), splat(load_one(t, i + 2)), splat(load_one(t, i + 3))


@jit
def four_columns(t, i, step):
    """Four vectors, `step` apart."""
    return load(t, i), load(t, i + step), load(t, i + 2 * step), load(t, i + 3 * step)


@jit
def quotient(c, constants, j, terms, tiny):
    """w_j / (c - x_j), where a difference near zero counts as tiny; and whether c is the node, rounded to its type."""
    high = splat(load_one(constants, HEADER + j))
    difference = (c - high) - splat(load_one(constants, HEADER + terms + j))
    difference = choose(less(magnitude(difference), tiny), tiny, difference)
    return splat(load_one(constants, HEADER + 2 * terms + j)) / difference, same(c, high)


@jit
def compensated(total, term):
    """The sum, and what of `term` was lost in it, to be added to the next term."""
    grown = total + term
    return grown, term - (grown - total)


@jit
def is_outside(v, c, left, right, lined):
    """Whether v, which is c when held to the interval, is outside; with lines the ends are."""
    return either(differs(c, v), either(same(c, left), same(c, right))) if lined else differs(c, v)


@jit
def growth_of(v, constants, terms, one):
    """How T_0 ... T_degree grow outside the interval: by what at first, with which sign, and up to what bound."""
    middle_high, middle_low, half, most = four_splat(constants, HEADER + 3 * terms)
    t = ((v - middle_high) - middle_low) / half
    size = magnitude(t)
    size = bounded(choose(less(size, one), one, size), most)
    return size - one, choose(less(t, one - one), -one, one), most


@jit
def next_of(size, difference, rate, most):
    """|T_k+1| and its difference to the next one, by differences that keep their sign."""
    size = bounded(size + difference, most)
    return size, bounded(fma(rate + rate, size, difference), most)


@jit
def series_of(v, constants, rows, at, step, by_rows, terms, one):
    """The sum of the weights times T_0 ... T_degree at v, outside the interval."""
    rate, turn, most = growth_of(v, constants, terms, one)
    size, difference, sign, total = one, rate, one, one - one
    for k in range(terms):
        weight = splat(load_one(rows, at + k)) if by_rows else load(rows, at + k * step)
        total = fma(weight, size * sign, total)
        size, difference = next_of(size, difference, rate, most)
        sign = sign * turn
    return total


@jit
def series_sums(v, g, constants, acc, first, terms, one):
    """Add g times T_0 ... T_degree to the sums from acc[first] on."""
    rate, turn, most = growth_of(v, constants, terms, one)
    size, difference, sign = one, rate, g
    for k in range(terms):
        place = first + k * WIDTH
        store(acc, place, fma(size, sign, load(acc, place)))
        size, difference = next_of(size, difference, rate, most)
        sign = sign * turn


@jit
def line_sums(v, g, left, right, acc, first):
    """Add the shares of either line's height and slope to the sums from acc[first] on."""
    zero = left - left
    on_left, on_right = less(left, v), less(v, right)
    store(acc, first, load(acc, first) + choose(on_left, zero, g))
    store(acc, first + WIDTH, fma(choose(on_left, zero, v - left), g, load(acc, first + WIDTH)))
    store(acc, first + 2 * WIDTH, load(acc, first + 2 * WIDTH) + choose(on_right, zero, g))
    store(acc, first + 3 * WIDTH, fma(choose(on_right, zero, v - right), g, load(acc, first + 3 * WIDTH)))


@jit
def beyond(p, v, c, form, rows, at, step, by_rows):
    """p, times the power of two, between the ends; outside, where c is not v, the straight lines or the series."""
    constants, (left, right, tiny, largest, _), terms, lined = form
    last = numbers_of(terms, lined)
    factor = splat(load_one(rows, at + last)) if by_rows else load(rows, at + last * step)
    at = at + terms if by_rows else at + terms * step
    if lined:
        lines = four_splat(rows, at) if by_rows else four_columns(rows, at, step)
        return with_lines(p * factor, v, left, right, largest, lines)
    outside = differs(c, v)
    if anywhere(outside):
        p = choose(outside, series_of(v, constants, rows, at, step, by_rows, terms, tiny / tiny), p)
    return p * factor


@jit
def with_node(sums, q, y):
    """The sums above and below the line with one node's share; Kahan's: a thousand terms in a row would lose digits."""
    above, more_above, below, more_below = sums
    above, more_above = compensated(above, fma(q, y, more_above))
    below, more_below = compensated(below, q + more_below)
    return above, more_above, below, more_below


@jit
def values_of(v, w, form, rows, at, step, by_rows):
    """The pieces at v and at w, of the same channels.

    Each addition waits for the one before it. Two sums side by side wait for each other no longer than for themselves.
    """
    constants, (left, right, tiny, _, exact), terms, _ = form
    c, d = held(v, left, right), held(w, left, right)
    zero = tiny - tiny
    at_c, at_d = (zero, zero, zero, zero), (zero, zero, zero, zero)
    height_c, height_d = zero / zero, zero / zero  # NaN: no node yet
    for j in range(terms):
        rolled()
        y = splat(load_one(rows, at + j)) if by_rows else load(rows, at + j * step)
        q, is_c = quotient(c, constants, j, terms, tiny)
        r, is_d = quotient(d, constants, j, terms, tiny)
        at_c, at_d = with_node(at_c, q, y), with_node(at_d, r, y)
        height_c, height_d = choose(is_c, y, height_c), choose(is_d, y, height_d)
    height_c, height_d = height_c * exact, height_d * exact
    p = choose(same(height_c, height_c), height_c, at_c[0] / at_c[2])
    s = choose(same(height_d, height_d), height_d, at_d[0] / at_d[2])
    return beyond(p, v, c, form, rows, at, step, by_rows), beyond(s, w, d, form, rows, at, step, by_rows)


@jit
def slopes_and_sums(v, w, g, h, form, rows, at, step, by_rows, quotients, acc):
    """The derivative at v times g and at w times h, as above; the shares of v and then those of w are added to acc.

    First in acc are the heights' shares, behind them those of the lines or of the series.
    """
    constants, (left, right, tiny, _, _), terms, lined = form
    zero = tiny - tiny
    one = tiny / tiny
    c, d = held(v, left, right), held(w, left, right)
    at_c, at_d = (zero, zero, zero, zero), (zero, zero, zero, zero)
    for j in range(terms):
        rolled()
        y = splat(load_one(rows, at + j)) if by_rows else load(rows, at + j * step)
        q, _ = quotient(c, constants, j, terms, tiny)
        r, _ = quotient(d, constants, j, terms, tiny)
        at_c, at_d = with_node(at_c, q, y), with_node(at_d, r, y)
        store(quotients, 2 * j * WIDTH, q)
        store(quotients, (2 * j + 1) * WIDTH, r)
    out_c, out_d = is_outside(v, c, left, right, lined), is_outside(w, d, left, right, lined)
    share_c, share_d = choose(out_c, zero, g), choose(out_d, zero, h)
    over_c, over_d = one / at_c[2], one / at_d[2]  # the basis functions first: a small g by a large sum loses digits
    for j in range(terms):
        total = fma(load(quotients, 2 * j * WIDTH) * over_c, share_c, load(acc, j * WIDTH))
        store(acc, j * WIDTH, fma(load(quotients, (2 * j + 1) * WIDTH) * over_d, share_d, total))
    first = terms * WIDTH
    if lined:
        line_sums(v, g, left, right, acc, first)
        line_sums(w, h, left, right, acc, first)
    else:
        if anywhere(out_c):
            series_sums(v, choose(out_c, g, zero), constants, acc, first, terms, one)
        if anywhere(out_d):
            series_sums(w, choose(out_d, h, zero), constants, acc, first, terms, one)
    p = beyond(at_c[0] / at_c[2], v, c, form, rows, at, step, by_rows)
    return g * p, h * beyond(at_d[0] / at_d[2], w, d, form, rows, at, step, by_rows)
