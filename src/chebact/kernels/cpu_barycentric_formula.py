"""The formula of the CPU kernel above degree 3, on vectors: the second barycentric form, and what goes on outside.

P(x) = sum(w_j y_j / (x - x_j)) / sum(w_j / (x - x_j)) is as accurate as its data at any degree, and the derivative is
the same formula with the slopes at the nodes in place of the heights. The sums for the parameters' gradient reuse the
quotients. The table of a channel is its pieces: degree + 1 heights, then height and slope of either line, or, without
lines, the weights of T_0 ... T_degree, whose sum the polynomial is outside the interval.
"""

from __future__ import annotations

from chebact.kernels.cpu_code import jit
from chebact.kernels.lanes import (
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
    same,
    splat,
    store,
)

HEADER = 3  # the constants begin with left end, right end and the number that stands for a difference of zero


@jit
def held(v, left, right):
    """v, held to the interval."""
    low = choose(less(right, v), right, v)
    return choose(less(low, left), left, low)


@jit
def with_lines(p, v, left, right, lines):
    """p between the ends, the straight lines outside."""
    p = choose(less(v, right), p, fma(lines[3], v - right, lines[2]))
    return choose(less(left, v), p, fma(lines[1], v - left, lines[0]))


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
    zero = tiny - tiny
    size = choose(less(difference, zero), zero - difference, difference)
    difference = choose(less(size, tiny), tiny, difference)
    return splat(load_one(constants, HEADER + 2 * terms + j)) / difference, same(c, high)


@jit
def compensated(total, term):
    """The sum, and what of `term` was lost in it, to be taken from the next term."""
    grown = total + term
    return grown, (grown - total) - term


@jit
def bounded(v, most):
    """v, or `most` where it is larger."""
    return choose(less(most, v), most, v)


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
    """p between the ends; outside, where c is not v, the straight lines or the series."""
    constants, (left, right, tiny), terms, lined = form
    at = at + terms if by_rows else at + terms * step
    if lined:
        return with_lines(p, v, left, right, four_splat(rows, at) if by_rows else four_columns(rows, at, step))
    outside = differs(c, v)
    if anywhere(outside):
        p = choose(outside, series_of(v, constants, rows, at, step, by_rows, terms, tiny / tiny), p)
    return p


@jit
def value_of(v, form, rows, at, step, by_rows):
    """The pieces at v. Kahan's sums: a thousand terms in a row would lose digits."""
    constants, (left, right, tiny), terms, _ = form
    c = held(v, left, right)
    zero = tiny - tiny
    above, below, hit = zero, zero, zero
    found = less(tiny, tiny)
    lost_above, lost_below = zero, zero
    for j in range(terms):
        y = splat(load_one(rows, at + j)) if by_rows else load(rows, at + j * step)
        q, here = quotient(c, constants, j, terms, tiny)
        above, lost_above = compensated(above, fma(q, y, zero - lost_above))
        below, lost_below = compensated(below, q - lost_below)
        hit = choose(here, y, hit)
        found = either(found, here)
    return beyond(choose(found, hit, above / below), v, c, form, rows, at, step, by_rows)


@jit
def slope_and_sums(v, g, form, slope_rows, at, step, by_rows, quotients, acc):
    """The derivative at v times g; the quotients' share is added to acc, that of lines or series behind it."""
    constants, (left, right, tiny), terms, lined = form
    zero = tiny - tiny
    c = held(v, left, right)
    above, below = zero, zero
    lost_above, lost_below = zero, zero
    for j in range(terms):
        d = splat(load_one(slope_rows, at + j)) if by_rows else load(slope_rows, at + j * step)
        q, _ = quotient(c, constants, j, terms, tiny)
        above, lost_above = compensated(above, fma(q, d, zero - lost_above))
        below, lost_below = compensated(below, q - lost_below)
        store(quotients, j * WIDTH, q)
    outside = either(differs(c, v), either(same(c, left), same(c, right))) if lined else differs(c, v)
    share = choose(outside, zero, g)
    inverse = (tiny / tiny) / below  # the basis functions first: a small g over a large sum would lose its digits
    for j in range(terms):
        store(acc, j * WIDTH, fma(load(quotients, j * WIDTH) * inverse, share, load(acc, j * WIDTH)))
    if lined:
        line_sums(v, g, left, right, acc, terms * WIDTH)
    elif anywhere(outside):
        series_sums(v, choose(outside, g, zero), constants, acc, terms * WIDTH, terms, tiny / tiny)
    return g * beyond(above / below, v, c, form, slope_rows, at, step, by_rows)
