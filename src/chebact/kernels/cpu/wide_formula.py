"""The formula of the CPU kernel between degree 4 and 16 in float32: powers of u, in float64, on vectors.

u = ((x - a) + (x - b)) / (b - a) is where x stands in an interval that reaches from -1 to 1. The power coefficients of
degree n are up to (1 + sqrt 2)^n times the heights, and so are the rounding errors of Horner's rule: at degree 16 that
is 1.3e6 units of float64, a fraction of one of float32. The power sums of g that give the gradient of the parameters
lose no more, and float64 sums need no shorter runs.

The table of a channel (float64) has an even number of power coefficients, height and slope of either line, and degree + 1
heights. A choice that is None or True (`plain`, `lined`, `joined`, `smooth`: see `cubic.programs`) settles a branch
when the loop is compiled.
"""

from __future__ import annotations

from numba import int64

from chebact.kernels.cpu.barycentric_formula import constant, held, number, with_lines
from chebact.kernels.cpu.lanes import (
    above_zero,
    anywhere,
    below_zero,
    choose,
    either,
    fma,
    less,
    load,
    load_one,
    magnitude,
    narrowed,
    rolled,
    same,
    store,
    widened,
    width_of,
)
from chebact.kernels.cpu.tasks import jit

LEFT, RIGHT, BEFORE_RIGHT, AFTER_LEFT, LARGEST, PLACES = range(6)  # the first constants
NODES = 6  # then the nodes, and then those places that tell whether there is a node anywhere
A, B, SCALE, MOST = range(4)  # constants in float64


@jit
def lines_of(k, rows, at, step, half, lined):
    """Height and slope of either line, in the type of k."""
    if lined is None:
        return None
    zero, first = load_one(k, 0), 2 * half
    return (
        narrowed(number(rows, at, first, step), zero),
        narrowed(number(rows, at, first + 1, step), zero),
        narrowed(number(rows, at, first + 2, step), zero),
        narrowed(number(rows, at, first + 3, step), zero),
    )


@jit
def position(c, place, plain, lined):
    """u at c, float64. Without lines it stops where its powers would leave float64's range."""
    u = widened(c)
    if plain is None:
        u = ((u - place[A]) + (u - place[B])) * place[SCALE]
    if lined is None:
        u = held(u, -place[MOST], place[MOST])
    return u


@jit
def place_of(wide):
    """The float64 constants in every lane."""
    return constant(wide, A), constant(wide, B), constant(wide, SCALE), constant(wide, MOST)


@jit
def any_node(v, w, k, terms, plain):
    """Whether v or w is a node anywhere, rounded to its type; on [-1, 1] magnitudes are compared."""
    if plain is not None:
        v, w = magnitude(v), magnitude(w)
    first = constant(k, NODES + terms)
    found = either(same(v, first), same(w, first))
    for j in range(NODES + terms + 1, NODES + terms + int(load_one(k, PLACES))):
        rolled()
        node = constant(k, j)
        found = either(found, either(same(v, node), same(w, node)))
    return anywhere(found)


@jit
def with_heights(p, v, k, rows, at, step, terms):
    """p, or the height where v is a node."""
    first = (terms + 1) // 2 * 2 + 4
    for j in range(terms):
        height = narrowed(number(rows, at, first + j, step), load_one(k, 0))
        p = choose(same(v, constant(k, NODES + j)), height, p)
    return p


@jit
def reach(slope, largest):
    """Up to where a line is followed: a level one up to the largest number, since 0 times infinity is NaN."""
    return choose(same(slope, slope - slope), largest, largest + largest)


@jit
def wide_values(x, out, i, gap, pairs, k, wide, rows, at, step, terms, plain, lined, joined):
    """The pieces at pairs of vectors of the same channels: the vectors are `gap` apart from i on.

    Even and odd powers are added up apart: no sum waits for another.
    """
    left, right, largest, half = constant(k, LEFT), constant(k, RIGHT), constant(k, LARGEST), (terms + 1) // 2
    place, lines = place_of(wide), lines_of(k, rows, at, step, half, lined)
    if lined is not None:
        low, high = -reach(lines[1], largest), reach(lines[3], largest)
        level = anywhere(either(same(low, -largest), same(high, largest)))
    for i in range(i, i + 2 * gap * pairs, 2 * gap):
        rolled()
        v, w = load(x, i), load(x, i + gap)
        c, d = v, w
        if lined is not None:
            c, d = held(v, left, right), held(w, left, right)
        u, s = position(c, place, plain, lined), position(d, place, plain, lined)
        uu, ss = u * u, s * s
        p = q = number(rows, at, 2 * half - 2, step)
        a = b = number(rows, at, 2 * half - 1, step)
        for j in range(2 * half - 4, -2, -2):
            rolled()
            even, odd = number(rows, at, j, step), number(rows, at, j + 1, step)
            p, q, a, b = fma(p, uu, even), fma(q, ss, even), fma(a, uu, odd), fma(b, ss, odd)
        near, far = narrowed(fma(a, u, p), load_one(k, 0)), narrowed(fma(b, s, q), load_one(k, 0))
        if lined is not None and joined is not None:
            if level:
                v, w = held(v, low, high), held(w, low, high)
            near, far = going_on(near, v - c, lines), going_on(far, w - d, lines)
        if any_node(v, w, k, terms, plain):
            near = with_heights(near, v, k, rows, at, step, terms)
            far = with_heights(far, w, k, rows, at, step, terms)
        if lined is not None and joined is None:
            near = with_lines(near, v, left, right, largest, lines)
            far = with_lines(far, w, left, right, largest, lines)
        store(out, i, near)
        store(out, i + gap, far)


@jit
def going_on(p, beyond, lines):
    """The lines that go on from p, as far as x is beyond the end."""
    return fma(above_zero(beyond), lines[3], fma(below_zero(beyond), lines[1], p))


@jit
def wide_slopes(x, g, out, i, gap, pairs, k, wide, rows, at, step, terms, acc, plain, lined, joined, smooth):
    """The derivative times g at pairs of vectors, as above; their shares are added to acc."""
    left, right, half, width = constant(k, LEFT), constant(k, RIGHT), (terms + 1) // 2, width_of(acc)
    beside = constant(k, BEFORE_RIGHT), constant(k, AFTER_LEFT)
    place, lines = place_of(wide), lines_of(k, rows, at, step, half, lined)
    zero, last = left - left, 2 * half * width
    for i in range(i, i + 2 * gap * pairs, 2 * gap):
        rolled()
        v, w, h, f = load(x, i), load(x, i + gap), load(g, i), load(g, i + gap)
        c, d = v, w
        if lined is not None:
            c, d = held(v, left, right), held(w, left, right)
        share, other = h, f
        if joined is None:
            share = choose(less(left, v), choose(less(v, right), h, zero), zero)
            other = choose(less(left, w), choose(less(w, right), f, zero), zero)
            line_sums(v, h, left, right, acc, last)
            line_sums(w, f, left, right, acc, last)
        elif lined is not None:
            slope_sums(v - c, w - d, h, f, acc, last)
        u, s = position(c, place, plain, lined), position(d, place, plain, lined)
        uu, ss = u * u, s * s
        a, b = widened(share), widened(other)
        e, o = a * u, b * s
        add_share(acc, int64(0), a + b)
        add_share(acc, width, e + o)
        p = q = number(rows, at, 2 * half - 2, step)
        y = z = number(rows, at, 2 * half - 1, step)
        for j in range(2, 2 * half, 2):
            rolled()
            a, b, e, o = a * uu, b * ss, e * uu, o * ss
            add_share(acc, j * width, a + b)
            add_share(acc, (j + 1) * width, e + o)
            even, odd = number(rows, at, 2 * half - 2 - j, step), number(rows, at, 2 * half - 1 - j, step)
            p, q, y, z = fma(p, uu, even), fma(q, ss, even), fma(y, uu, odd), fma(z, ss, odd)
        near, far = narrowed(fma(y, u, p), load_one(k, 0)), narrowed(fma(z, s, q), load_one(k, 0))
        if smooth is None:
            near, far = on_lines(near, v, beside, lines), on_lines(far, w, beside, lines)
        store(out, i, h * near)
        store(out, i + gap, f * far)


@jit
def add_share(acc, place, share):
    """Add to the sums at acc[place]."""
    store(acc, place, load(acc, place) + widened(share))


@jit
def line_sums(v, g, left, right, acc, first):
    """Add the shares of either line's height and slope to the sums from acc[first] on."""
    zero, step = left - left, width_of(acc)
    on_left, on_right = less(left, v), less(v, right)
    add_share(acc, first, choose(on_left, zero, g))
    add_share(acc, first + step, choose(on_left, zero, v - left) * g)
    add_share(acc, first + 2 * step, choose(on_right, zero, g))
    add_share(acc, first + 3 * step, choose(on_right, zero, v - right) * g)


@jit
def slope_sums(beyond, other, g, h, acc, first):
    """Add the shares of either line's slope, where the lines go on from the polynomial."""
    add_share(acc, first + width_of(acc), fma(below_zero(beyond), g, below_zero(other) * h))
    add_share(acc, first + 3 * width_of(acc), fma(above_zero(beyond), g, above_zero(other) * h))


@jit
def on_lines(p, v, beside, lines):
    """The derivative p between the ends, that of the lines from the ends on; NaN stays."""
    return choose(less(v, beside[1]), lines[0], choose(less(beside[0], v), lines[2], p))
