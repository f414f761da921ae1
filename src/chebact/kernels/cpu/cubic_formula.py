"""The power form up to degree 3, alike for eight numbers at a time and for one.

A choice that is None or True (`plain`, `tailed`, `joined`, `smooth`: see `cubic.programs`; `level`: a line may have no
slope) settles a branch when the loop is compiled. The first two vector units of a processor do every product,
comparison and choice, so that their number, and not that of sums or of bit operations, is what a formula costs.
"""

from __future__ import annotations

from chebact.kernels.cpu.lanes import above_zero, below_zero, choose, fma, is_negative, less, magnitude, same
from chebact.kernels.cpu.tasks import jit


@jit
def inside(v, ends):
    """v, held to the interval."""
    low = choose(less(ends[1], v), ends[1], v)
    return choose(less(low, ends[0]), ends[0], low)


@jit
def position(c, place, plain, tailed, largest):
    """Where c is in the power form; without tails an infinite position counts as the largest number."""
    if plain is None:
        c = ((c - place[0]) - place[1]) * place[2]
    if tailed is None:
        return inside(c, (-largest, largest))
    return c


@jit
def value(v, t, nodes, ends, place, plain, tailed, largest, level):
    """The pieces at v. What the polynomial overflows to beyond the ends is not chosen."""
    if plain is None or tailed is None:
        return general_value(v, position(v, place, plain, tailed, largest), t, nodes, ends, tailed, largest, level)
    return mirrored_value(v, t, nodes, ends, largest, level)


@jit
def is_level(slope):
    """Whether a line has no slope: at an infinite v zero times infinity would be NaN."""
    return same(slope, slope - slope)


@jit
def reach(slope, largest):
    """Up to where a line is followed: a level one up to the largest number."""
    return choose(is_level(slope), largest, largest + largest)


@jit
def general_value(v, u, t, nodes, ends, tailed, largest, level):
    """The pieces at v; u is its position in the power form. Without tails the end nodes are nodes like the others."""
    p = fma(u, fma(u, fma(u, t[3], t[2]), t[1]), t[0])
    p = choose(same(v, nodes[0]), t[8], p)
    p = choose(same(v, nodes[1]), t[9], p)
    if tailed is None:
        p = choose(same(v, nodes[2]), t[4], p)
        return choose(same(v, nodes[3]), t[6], p)
    far = v
    if level is not None:
        far = inside(v, (-reach(t[5], largest), reach(t[7], largest)))
    p = choose(less(v, ends[1]), p, fma(t[7], far - ends[1], t[6]))
    return choose(less(ends[0], v), p, fma(t[5], far - ends[0], t[4]))


@jit
def mirrored_value(v, t, nodes, ends, largest, level):
    """The pieces at v on [-1, 1], where nodes and ends lie alike on either side: two comparisons serve four places."""
    p = fma(v, fma(v, fma(v, t[3], t[2]), t[1]), t[0])
    left, far = is_negative(v), magnitude(v)
    p = choose(same(far, nodes[0]), choose(left, t[9], t[8]), p)
    distance = far - ends[1]
    if level is not None:
        most = choose(left, reach(t[5], largest), reach(t[7], largest))
        distance = choose(less(most, far), most, far) - ends[1]
    line = fma(choose(left, -t[5], t[7]), distance, choose(left, t[4], t[6]))
    return choose(less(far, ends[1]), p, line)


@jit
def slope(v, u, d, ends, smooth):
    """The derivative at v: three power coefficients, and where it is not continuous a constant on either side."""
    p = fma(u, fma(u, d[2], d[1]), d[0])
    if smooth is None:
        p = choose(less(v, ends[1]), p, d[6])
        p = choose(less(ends[0], v), p, d[4])
        return choose(same(v, v), p, v)
    return p


@jit
def add(a, v, c, u, g, zero, ends, joined):
    """The sums with one more share, by the shorter way where the lines are joined to the polynomial."""
    if joined is None:
        return add_sums(a, v, u, g, zero, ends)
    return add_joined_sums(a, v, c, u, g)


@jit
def add_joined_sums(a, v, c, u, g):
    """The sums a with the share of one element (or of one vector) added, where the lines go on from the polynomial.

    Then sigma(v) = P(c) + slope (v - c) with c = v held to the interval: no element has to be told from another.
    """
    gu = g * u
    guu = gu * u
    beyond = v - c
    return (
        a[0] + g,
        a[1] + gu,
        a[2] + guu,
        fma(guu, u, a[3]),
        a[4],
        fma(below_zero(beyond), g, a[5]),
        a[6],
        fma(above_zero(beyond), g, a[7]),
    )


@jit
def add_sums(a, v, u, g, zero, ends):
    """The sums a with the share of one element (or of one vector) added, where the lines have heights of their own."""
    left, right = less(ends[0], v), less(v, ends[1])
    h = choose(left, choose(right, g, zero), zero)
    hu = h * u
    huu = hu * u
    return (
        a[0] + h,
        a[1] + hu,
        a[2] + huu,
        fma(huu, u, a[3]),
        a[4] + choose(left, zero, g),
        fma(choose(left, zero, v - ends[0]), g, a[5]),
        a[6] + choose(right, zero, g),
        fma(choose(right, zero, v - ends[1]), g, a[7]),
    )
