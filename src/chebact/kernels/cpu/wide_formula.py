"""The formula of the CPU kernel between degree 4 and 16 in float32, on vectors: even and odd part by powers of t.

P = E(t) + u O(t) with t = 2 u^2 - 1, where u = ((x - a) + (x - b)) / (b - a) spans the interval from -1 to 1. The
coefficients of degree n are up to (1 + sqrt 2)^(n/2) times the heights, and so are rounding errors: some units in
float32 up to degree 5, on [-1, 1]; in float64 a small fraction of a unit of float32 up to degree 16. The sums of
g t^j and g u t^j that give the gradient of the parameters lose no more.

The table of a channel has the coefficients in pairs (`basis.paired_powers`), height and slope of either line, and
degree + 1 heights; in float32 the power of two that the coefficients were divided by comes last. Tables, running sums
and what is between are in the type that `rows` points to. A choice that is None or True (`plain`, `lined`, `joined`,
`smooth`: see `cubic.programs`; `short`: all in float32) settles a branch when the loop is compiled.
"""

from __future__ import annotations

from numba import int64

from chebact.kernels.cpu.barycentric_formula import constant, held, number, with_lines
from chebact.kernels.cpu.lanes import (
    above_zero,
    anywhere,
    below_zero,
    choose,
    converted,
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

LEFT, RIGHT, BEFORE_RIGHT, AFTER_LEFT, LARGEST, PLACES = range(6)  # the first constants
NODES = 6  # then the nodes, and then those places that tell whether there is a node anywhere
A, B, SCALE, MOST = range(4)  # constants in float64


@jit
def lines_of(k, rows, at, step, half, lined):
    """Height and slope of either line, in the type of k."""
    if lined is None:
        return None
    first = 2 * half
    return (
        converted(k, number(rows, at, first, step)),
        converted(k, number(rows, at, first + 1, step)),
        converted(k, number(rows, at, first + 2, step)),
        converted(k, number(rows, at, first + 3, step)),
    )


@jit
def place_of(more, short):
    """The float64 constants in every lane."""
    if short is not None:
        return None
    return constant(more, A), constant(more, B), constant(more, SCALE), constant(more, MOST)


@jit
def position(c, rows, place, plain, lined):
    """u at c. Without lines it stops where its powers would leave float64's range."""
    u = converted(rows, c)
    if plain is None:
        u = ((u - place[A]) + (u - place[B])) * place[SCALE]
    if lined is None:
        u = held(u, -place[MOST], place[MOST])
    return u


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
        p = choose(same(v, constant(k, NODES + j)), converted(k, number(rows, at, first + j, step)), p)
    return p


@jit
def factor_of(rows, at, step, terms, short):
    """What the coefficients were divided by."""
    return None if short is None else number(rows, at, (terms + 1) // 2 * 2 + 4 + terms, step)


@jit
def rounded(k, p, factor):
    """The sum p in the type of k."""
    return converted(k, p) if factor is None else p * factor


@jit
def wide_values(x, out, start, gap, pairs, k, more, rows, at, step, terms, short, plain, lined, joined):
    """The pieces at pairs of vectors of the same channels: the vectors are `gap` apart from `start` on."""
    left, right, largest, half = constant(k, LEFT), constant(k, RIGHT), constant(k, LARGEST), (terms + 1) // 2
    place, lines = place_of(more, short), lines_of(k, rows, at, step, half, lined)
    factor, one = factor_of(rows, at, step, terms, short), fill(rows, 1.0)
    if lined is not None:
        low, high = -reach(lines[1], largest), reach(lines[3], largest)
        level = anywhere(either(same(low, -largest), same(high, largest)))
    for i in range(start, start + 2 * gap * pairs, 2 * gap):
        rolled()
        v, w = load(x, i), load(x, i + gap)
        c, d = v, w
        if lined is not None:
            c, d = held(v, left, right), held(w, left, right)
        u, s = position(c, rows, place, plain, lined), position(d, rows, place, plain, lined)
        t, r = fma(u + u, u, -one), fma(s + s, s, -one)
        p = q = number(rows, at, 2 * half - 2, step)
        a = b = number(rows, at, 2 * half - 1, step)
        for j in range(2 * half - 4, -2, -2):
            rolled()
            even, odd = number(rows, at, j, step), number(rows, at, j + 1, step)
            p, q, a, b = fma(p, t, even), fma(q, r, even), fma(a, t, odd), fma(b, r, odd)
        near, far = rounded(k, fma(a, u, p), factor), rounded(k, fma(b, s, q), factor)
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
def reach(slope, largest):
    """Up to where a line is followed: a level one up to the largest number, since 0 times infinity is NaN."""
    return choose(same(slope, slope - slope), largest, largest + largest)


@jit
def going_on(p, beyond, lines):
    """The lines that go on from p, as far as x is beyond the end."""
    return fma(above_zero(beyond), lines[3], fma(below_zero(beyond), lines[1], p))


@jit
def wide_slopes(x, g, out, start, gap, pairs, k, more, rows, at, step, terms, acc, short, plain, lined, joined, smooth):
    """The derivative times g at pairs of vectors, as above; their shares are added to acc."""
    left, right, half, width = constant(k, LEFT), constant(k, RIGHT), (terms + 1) // 2, width_of(acc)
    beside = constant(k, BEFORE_RIGHT), constant(k, AFTER_LEFT)
    place, lines = place_of(more, short), lines_of(k, rows, at, step, half, lined)
    factor, one = factor_of(rows, at, step, terms, short), fill(rows, 1.0)
    zero, last, top = left - left, 2 * half * width, terms // 2 * 2 - 2  # a derivative has one power less
    for i in range(start, start + 2 * gap * pairs, 2 * gap):
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
        u, s = position(c, rows, place, plain, lined), position(d, rows, place, plain, lined)
        t, r = fma(u + u, u, -one), fma(s + s, s, -one)
        a, b = converted(rows, share), converted(rows, other)
        e, o = a * u, b * s
        add_share(acc, int64(0), a + b)
        add_share(acc, width, e + o)
        p = q = number(rows, at, top, step)
        y = z = number(rows, at, top + 1, step)
        for j in range(2, 2 * half, 2):
            rolled()
            a, b, e, o = a * t, b * r, e * t, o * r
            add_share(acc, j * width, a + b)
            add_share(acc, (j + 1) * width, e + o)
            if j <= top:
                even, odd = number(rows, at, top - j, step), number(rows, at, top + 1 - j, step)
                p, q, y, z = fma(p, t, even), fma(q, r, even), fma(y, t, odd), fma(z, r, odd)
        near, far = rounded(k, fma(y, u, p), factor), rounded(k, fma(z, s, q), factor)
        if smooth is None:
            near, far = on_lines(near, v, beside, lines), on_lines(far, w, beside, lines)
        store(out, i, h * near)
        store(out, i + gap, f * far)


@jit
def add_share(acc, place, share):
    """Add to the sums at acc[place]."""
    store(acc, place, load(acc, place) + converted(acc, share))


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
