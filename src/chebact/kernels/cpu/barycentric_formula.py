"""The formula of the CPU kernel above degree 3, on vectors: the second barycentric form, and what goes on outside.

P(x) = sum(w_j y_j / (x - x_j)) / sum(w_j / (x - x_j)) is as accurate as its data at any degree, and the derivative is
the same formula with the slopes at the nodes in place of the heights. The sums for the parameters' gradient reuse the
quotients. The table of a channel is its pieces: degree + 1 heights, then height and slope of either line, or, without
lines, the weights of T_0 ... T_degree, whose sum the polynomial is outside the interval. Last comes the power of two
that heights and weights were divided by, so that nothing overflows on the way (`basis.steps_down`).
"""

from __future__ import annotations

from chebact.kernels.cpu.lanes import (
    anywhere,
    choose,
    differs,
    either,
    fill,
    fma,
    less,
    load,
    load_one,
    magnitude,
    rolled,
    same,
    store,
    width_of,
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
    return terms + (terms if lined is None else LINES)


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
def number(rows, at, k, step):
    """The k-th number of a channel's table in every lane; with a `step`, of as many channels as there are lanes."""
    if step is None:
        return fill(rows, load_one(rows, at + k))
    return load(rows, at + k * step)


@jit
def constant(constants, k):
    """A constant in every lane."""
    return fill(constants, load_one(constants, k))


@jit
def quotient(c, constants, j, terms, tiny):
    """w_j / (c - x_j), where a difference near zero counts as tiny; and whether c is the node, rounded to its type."""
    high = constant(constants, HEADER + j)
    difference = (c - high) - constant(constants, HEADER + terms + j)
    difference = choose(less(magnitude(difference), tiny), tiny, difference)
    return constant(constants, HEADER + 2 * terms + j) / difference, same(c, high)


@jit
def compensated(total, term):
    """The sum, and what of `term` was lost in it, to be added to the next term."""
    grown = total + term
    return grown, term - (grown - total)


@jit
def is_outside(v, c, left, right, lined):
    """Whether v, which is c when held to the interval, is outside; with lines the ends are."""
    if lined is None:
        return differs(c, v)
    return either(differs(c, v), either(same(c, left), same(c, right)))


@jit
def growth_of(v, constants, terms, one):
    """How T_0 ... T_degree grow outside the interval: by what at first, with which sign, and up to what bound."""
    first = HEADER + 3 * terms
    middle_high, middle_low = constant(constants, first), constant(constants, first + 1)
    half, most = constant(constants, first + 2), constant(constants, first + 3)
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
def series_of(v, constants, rows, at, first, step, terms, one):
    """The sum of the weights times T_0 ... T_degree at v, outside the interval."""
    rate, turn, most = growth_of(v, constants, terms, one)
    size, difference, sign, total = one, rate, one, one - one
    for k in range(terms):
        weight = number(rows, at, first + k, step)
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
        place = first + k * width_of(acc)
        store(acc, place, fma(size, sign, load(acc, place)))
        size, difference = next_of(size, difference, rate, most)
        sign = sign * turn


@jit
def line_sums(v, g, left, right, acc, first):
    """Add the shares of either line's height and slope to the sums from acc[first] on."""
    zero, step = left - left, width_of(acc)
    on_left, on_right = less(left, v), less(v, right)
    store(acc, first, load(acc, first) + choose(on_left, zero, g))
    store(acc, first + step, fma(choose(on_left, zero, v - left), g, load(acc, first + step)))
    store(acc, first + 2 * step, load(acc, first + 2 * step) + choose(on_right, zero, g))
    store(acc, first + 3 * step, fma(choose(on_right, zero, v - right), g, load(acc, first + 3 * step)))


@jit
def beyond(p, v, c, form, rows, at, step):
    """p, times the power of two, between the ends; outside, where c is not v, the straight lines or the series."""
    constants, (left, right, tiny, largest, _), terms, lined = form
    last = numbers_of(terms, lined)
    factor = number(rows, at, last, step)
    if lined is not None:
        lines = (number(rows, at, terms, step), number(rows, at, terms + 1, step), number(rows, at, terms + 2, step),
                 number(rows, at, terms + 3, step))  # fmt: skip
        return with_lines(p * factor, v, left, right, largest, lines)
    outside = differs(c, v)
    if anywhere(outside):
        p = choose(outside, series_of(v, constants, rows, at, terms, step, terms, tiny / tiny), p)
    return p * factor


@jit
def with_node(sums, q, y):
    """The sums above and below the line with one node's share; Kahan's: a thousand terms in a row would lose digits."""
    above, more_above, below, more_below = sums
    above, more_above = compensated(above, fma(q, y, more_above))
    below, more_below = compensated(below, q + more_below)
    return above, more_above, below, more_below


@jit
def values_of(v, w, form, rows, at, step):
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
        y = number(rows, at, j, step)
        q, is_c = quotient(c, constants, j, terms, tiny)
        r, is_d = quotient(d, constants, j, terms, tiny)
        at_c, at_d = with_node(at_c, q, y), with_node(at_d, r, y)
        height_c, height_d = choose(is_c, y, height_c), choose(is_d, y, height_d)
    height_c, height_d = height_c * exact, height_d * exact
    p = choose(same(height_c, height_c), height_c, at_c[0] / at_c[2])
    s = choose(same(height_d, height_d), height_d, at_d[0] / at_d[2])
    return beyond(p, v, c, form, rows, at, step), beyond(s, w, d, form, rows, at, step)


@jit
def slopes_and_sums(v, w, g, h, form, rows, at, step, quotients, acc):
    """The derivative at v times g and at w times h, as above; the shares of v and then those of w are added to acc.

    First in acc are the heights' shares, behind them those of the lines or of the series.
    """
    constants, (left, right, tiny, _, _), terms, lined = form
    zero, one, width = tiny - tiny, tiny / tiny, width_of(acc)
    c, d = held(v, left, right), held(w, left, right)
    at_c, at_d = (zero, zero, zero, zero), (zero, zero, zero, zero)
    for j in range(terms):
        rolled()
        y = number(rows, at, j, step)
        q, _ = quotient(c, constants, j, terms, tiny)
        r, _ = quotient(d, constants, j, terms, tiny)
        at_c, at_d = with_node(at_c, q, y), with_node(at_d, r, y)
        store(quotients, 2 * j * width, q)
        store(quotients, (2 * j + 1) * width, r)
    out_c, out_d = is_outside(v, c, left, right, lined), is_outside(w, d, left, right, lined)
    share_c, share_d = choose(out_c, zero, g), choose(out_d, zero, h)
    over_c, over_d = one / at_c[2], one / at_d[2]  # the basis functions first: a small g by a large sum loses digits
    for j in range(terms):
        total = fma(load(quotients, 2 * j * width) * over_c, share_c, load(acc, j * width))
        store(acc, j * width, fma(load(quotients, (2 * j + 1) * width) * over_d, share_d, total))
    first = terms * width
    if lined is not None:
        line_sums(v, g, left, right, acc, first)
        line_sums(w, h, left, right, acc, first)
    else:
        if anywhere(out_c):
            series_sums(v, choose(out_c, g, zero), constants, acc, first, terms, one)
        if anywhere(out_d):
            series_sums(w, choose(out_d, h, zero), constants, acc, first, terms, one)
    p = beyond(at_c[0] / at_c[2], v, c, form, rows, at, step)
    return g * p, h * beyond(at_d[0] / at_d[2], w, d, form, rows, at, step)
