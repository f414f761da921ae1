// The activation of one vector of numbers, sigma(x) = P(clamp(x)) + line beyond the ends, in its three forms: value,
// derivative, and what an element adds to the sums that the gradient of the heights is made from.
//
// Powers (to degree 3), pairs of powers in t = 2 u^2 - 1 (to degree 16 in float32), and the second barycentric form.
// A table is what a channel is evaluated from; basis.py says how it comes from the heights.
#pragma once
#include "lanes.hpp"

namespace chebact {

// What follows beyond the ends: the polynomial itself, lines apart from it (where rounding moves the ends, or for a
// derivative), lines that begin where it ends, or lines that also have its slope there.
enum Tails { NONE, APART, JOINED, SMOOTH };

template <class T>
constexpr T infinity = (T)__builtin_inf();

template <class V>
INLINE auto is_level(V slope) {
  return slope == slope - slope;  // not so for an infinite or a NaN slope
}

// Up to where a line is followed: a level one to the largest number, since 0 times infinity is NaN.
template <class V>
INLINE V reach(V slope, V largest) {
  return is_level(slope) ? largest : largest + largest;
}

// ---- Powers to degree 3

constexpr int POWERS = 10;     // numbers of a table: four powers, height and slope of either line, two inner heights
constexpr int POWER_SUMS = 8;  // four powers, and the height's and the slope's share of either line

// The constants of this form in every lane.
template <class V>
struct PowerPlace {
  V left, right, middle_high, middle_low, scale, inner[2], outer[2], largest;

  INLINE PowerPlace from(const Number<V> *k) {
    return {fill<V>(k[0]),   fill<V>(k[1]), fill<V>(k[2]), fill<V>(k[3]), fill<V>(k[4]), {fill<V>(k[5]), fill<V>(k[6])},
            {fill<V>(k[7]), fill<V>(k[8])}, fill<V>(k[9])};
  }
};

template <class V>
struct PowerTable {
  V powers[4], left_height, left_slope, right_height, right_slope, heights[2];
};

// Where c is in the power form; without lines an infinite position counts as the largest number.
template <Tails TAILS, bool PLAIN, class V>
INLINE V power_position(V c, const PowerPlace<V> &k) {
  if (!PLAIN) c = ((c - k.middle_high) - k.middle_low) * k.scale;
  return TAILS == NONE ? clamp(c, -k.largest, k.largest) : c;
}

template <class V>
INLINE V cubic(V u, const V *powers) {
  return fma(u, fma(u, fma(u, powers[3], powers[2]), powers[1]), powers[0]);
}

// sigma(v). LEVEL: a line may have no slope.
template <Tails TAILS, bool PLAIN, bool LEVEL, class V>
INLINE V power_value(V v, const PowerTable<V> &t, const PowerPlace<V> &k) {
  V p = cubic(power_position<TAILS, PLAIN>(v, k), t.powers);
  if (PLAIN && TAILS != NONE) {  // nodes and ends lie alike on either side: two comparisons serve four places
    auto left = is_negative(v);
    V far = magnitude(v), distance = far;
    p = far == k.inner[0] ? (left ? t.heights[1] : t.heights[0]) : p;
    if (LEVEL) {
      V most = left ? reach(t.left_slope, k.largest) : reach(t.right_slope, k.largest);
      distance = most < far ? most : far;
    }
    distance = distance - k.right;
    V line = fma(left ? -t.left_slope : t.right_slope, distance, left ? t.left_height : t.right_height);
    return far < k.right ? p : line;
  }
  p = v == k.inner[0] ? t.heights[0] : p;
  p = v == k.inner[1] ? t.heights[1] : p;
  if (TAILS == NONE) {
    p = v == k.outer[0] ? t.left_height : p;
    return v == k.outer[1] ? t.right_height : p;
  }
  V far = LEVEL ? clamp(v, -reach(t.left_slope, k.largest), reach(t.right_slope, k.largest)) : v;
  p = v < k.right ? p : fma(t.right_slope, far - k.right, t.right_height);
  return k.left < v ? p : fma(t.left_slope, far - k.left, t.left_height);
}

// The derivative at v; `t` is the table of the derivative.
template <Tails TAILS, class V>
INLINE V power_slope(V v, V u, const PowerTable<V> &t, const PowerPlace<V> &k) {
  V p = fma(u, fma(u, t.powers[2], t.powers[1]), t.powers[0]);
  if (TAILS == SMOOTH || TAILS == NONE) return p;
  p = v < k.right ? p : t.right_height;
  p = k.left < v ? p : t.left_height;
  return v == v ? p : v;
}

// Adds the shares of one vector to the sums.
template <Tails TAILS, class V>
INLINE void power_shares(V *sums, V v, V c, V u, V g, const PowerPlace<V> &k) {
  if (TAILS == APART) {
    auto left = k.left < v, right = v < k.right;
    V zero = {};
    V h = left ? (right ? g : zero) : zero, hu = h * u, huu = hu * u;
    sums[0] += h;
    sums[1] += hu;
    sums[2] += huu;
    sums[3] = fma(huu, u, sums[3]);
    sums[4] += left ? zero : g;
    sums[5] = fma(left ? zero : v - k.left, g, sums[5]);
    sums[6] += right ? zero : g;
    sums[7] = fma(right ? zero : v - k.right, g, sums[7]);
  } else {  // sigma(v) = P(c) + slope (v - c): no element has to be told from another
    V gu = g * u, guu = gu * u, beyond = v - c;
    sums[0] += g;
    sums[1] += gu;
    sums[2] += guu;
    sums[3] = fma(guu, u, sums[3]);
    sums[5] = fma(below_zero(beyond), g, sums[5]);
    sums[7] = fma(above_zero(beyond), g, sums[7]);
  }
}

// ---- Tables of channels, read by rows (one channel in every lane) or by columns (neighbouring ones)

constexpr int LINES = 4;  // height and slope of the left line, and of the right one

template <class T, bool BY_COLUMNS>
struct Table {
  const T *numbers;
  int64_t step;  // from one number of neighbouring channels to the next

  template <class V>
  INLINE V get(const Table &t, int64_t n) {
    if constexpr (BY_COLUMNS) return load<V>(t.numbers + n * t.step);
    return fill<V>(t.numbers[n]);
  }
};

// p between the ends, straight lines outside; a level line stays level at an infinite v.
template <class V>
INLINE V with_lines(V p, V v, V left, V right, V largest, const V *lines) {
  V on_left = v - left, on_right = v - right;
  auto level_left = is_level(lines[1]), level_right = is_level(lines[3]);
  if (anywhere(level_left | level_right)) {
    on_left = level_left ? -(largest < -on_left ? largest : -on_left) : on_left;
    on_right = level_right ? (largest < on_right ? largest : on_right) : on_right;
  }
  p = v < right ? p : fma(lines[3], on_right, lines[2]);
  return left < v ? p : fma(lines[1], on_left, lines[0]);
}

template <class V, class T>
INLINE V constant(const T *k, int64_t n) {
  return fill<V>(k[n]);
}

template <class S, class V>
INLINE void add_share(S *sum, V share) {
  typedef Lanes<S, width<V>> Sum;
  store(sum, load<Sum>(sum) + convert<S>(share));
}

// ---- Pairs of powers: P = E(t) + u O(t) with t = 2 u^2 - 1, where u spans the interval from -1 to 1
//
// Coefficients grow like (1 + sqrt 2)^(degree / 2), and rounding errors do: harmless in float32 up to degree 5 on
// [-1, 1], in float64 up to 16. S is the type of tables and sums. In float32 the power of two that the coefficients
// were divided by comes last in a table.

template <class Input, class Inside, Tails TAILS, bool PLAIN, bool BY_COLUMNS>
struct Paired {
  typedef Input T;
  typedef Inside S;
  static constexpr int N = WIDTH<T>;
  static constexpr bool SCALED = sizeof(S) == sizeof(T);
  typedef Lanes<T, N> V;
  typedef Lanes<S, N> W;
  typedef Table<S, BY_COLUMNS> Rows;

  const T *k;  // the ends, their neighbours inside, the largest number, how many places tell nodes, nodes, places
  const double *place;
  int64_t terms;
  Rows rows;
  V left, right, largest, lines[LINES];
  W factor;

  INLINE Paired over(const T *k, const double *place, int64_t terms, Rows rows) {
    Paired f = {k, place, terms, rows, constant<V>(k, 0), constant<V>(k, 1), constant<V>(k, 4), {}, {}};
    int64_t first = (terms + 1) / 2 * 2;
    if (TAILS != NONE)
      for (int n = 0; n < LINES; n++) f.lines[n] = convert<T>(Rows::template get<W>(rows, first + n));
    if (SCALED) f.factor = Rows::template get<W>(rows, first + LINES + terms);
    return f;
  }

  // u at c; without lines it stops where its powers would leave the range of float64.
  INLINE W position(const Paired &f, V c) {
    W u = convert<S>(c);
    if (!PLAIN) u = ((u - constant<W>(f.place, 0)) + (u - constant<W>(f.place, 1))) * constant<W>(f.place, 2);
    if (TAILS == NONE) u = clamp(u, -constant<W>(f.place, 3), constant<W>(f.place, 3));
    return u;
  }

  INLINE V rounded(const Paired &f, W p) { return convert<T>(SCALED ? p * f.factor : p); }

  INLINE bool any_node(const Paired &f, V v, V w) {
    if (PLAIN) v = magnitude(v), w = magnitude(w);
    const T *places = f.k + 6 + f.terms;
    auto found = (v == constant<V>(places, 0)) | (w == constant<V>(places, 0));
    ROLLED for (int64_t n = 1; n < (int64_t)f.k[5]; n++)
        found |= (v == constant<V>(places, n)) | (w == constant<V>(places, n));
    return anywhere(found);
  }

  INLINE V with_heights(const Paired &f, V p, V v) {
    int64_t first = (f.terms + 1) / 2 * 2 + LINES;
    for (int64_t n = 0; n < f.terms; n++)
      p = v == constant<V>(f.k, 6 + n) ? convert<T>(Rows::template get<W>(f.rows, first + n)) : p;
    return p;
  }

  INLINE V going_on(const Paired &f, V p, V beyond) {
    return fma(above_zero(beyond), f.lines[3], fma(below_zero(beyond), f.lines[1], p));
  }

  // sigma at two vectors of the same channels: side by side, their sums wait no longer for each other than for themselves.
  INLINE void values(const Paired &f, V &v, V &w) {
    V c = v, d = w;
    if (TAILS != NONE) c = clamp(v, f.left, f.right), d = clamp(w, f.left, f.right);
    W u = position(f, c), s = position(f, d), one = fill<W>(1);
    W t = fma(u + u, u, -one), r = fma(s + s, s, -one);
    int64_t top = (f.terms + 1) / 2 * 2 - 2;
    W p = Rows::template get<W>(f.rows, top), q = p, a = Rows::template get<W>(f.rows, top + 1), b = a;
    ROLLED for (int64_t n = top - 2; n >= 0; n -= 2) {
      W even = Rows::template get<W>(f.rows, n), odd = Rows::template get<W>(f.rows, n + 1);
      p = fma(p, t, even), q = fma(q, r, even), a = fma(a, t, odd), b = fma(b, r, odd);
    }
    V near = rounded(f, fma(a, u, p)), far = rounded(f, fma(b, s, q));
    if (TAILS == JOINED || TAILS == SMOOTH) {
      V low = -reach(f.lines[1], f.largest), high = reach(f.lines[3], f.largest);
      if (anywhere((low == -f.largest) | (high == f.largest))) v = clamp(v, low, high), w = clamp(w, low, high);
      near = going_on(f, near, v - c), far = going_on(f, far, w - d);
    }
    if (any_node(f, v, w)) near = with_heights(f, near, v), far = with_heights(f, far, w);
    if (TAILS == APART) {
      near = with_lines(near, v, f.left, f.right, f.largest, f.lines);
      far = with_lines(far, w, f.left, f.right, f.largest, f.lines);
    }
    v = near, w = far;
  }

  INLINE V on_lines(const Paired &f, V p, V v) {
    V before_right = constant<V>(f.k, 2), after_left = constant<V>(f.k, 3);
    return v < after_left ? f.lines[0] : (before_right < v ? f.lines[2] : p);
  }

  INLINE void apart_shares(const Paired &f, S *sums, V v, V g) {
    V zero = {};
    auto on_left = f.left < v, on_right = v < f.right;
    add_share(sums, on_left ? zero : g);
    add_share(sums + N, (on_left ? zero : v - f.left) * g);
    add_share(sums + 2 * N, on_right ? zero : g);
    add_share(sums + 3 * N, (on_right ? zero : v - f.right) * g);
  }

  // The derivative times g at v and times h at w, and their shares of the sums.
  INLINE void slopes(const Paired &f, V &v, V &w, V g, V h, S *sums, T *) {
    V c = v, d = w, share = g, other = h, zero = {};
    if (TAILS != NONE) c = clamp(v, f.left, f.right), d = clamp(w, f.left, f.right);
    int64_t count = (f.terms + 1) / 2 * 2, top = f.terms / 2 * 2 - 2;  // a derivative has one power less
    S *last = sums + count * N;
    if (TAILS == APART) {
      share = f.left < v ? (v < f.right ? g : zero) : zero;
      other = f.left < w ? (w < f.right ? h : zero) : zero;
      apart_shares(f, last, v, g);
      apart_shares(f, last, w, h);
    } else if (TAILS != NONE) {
      V near = v - c, far = w - d;
      add_share(last + N, fma(below_zero(near), g, below_zero(far) * h));
      add_share(last + 3 * N, fma(above_zero(near), g, above_zero(far) * h));
    }
    W u = position(f, c), s = position(f, d), one = fill<W>(1);
    W t = fma(u + u, u, -one), r = fma(s + s, s, -one);
    W a = convert<S>(share), b = convert<S>(other), e = a * u, o = b * s;
    add_share(sums, a + b);
    add_share(sums + N, e + o);
    W p = Rows::template get<W>(f.rows, top), q = p, y = Rows::template get<W>(f.rows, top + 1), z = y;
    ROLLED for (int64_t n = 2; n < count; n += 2) {
      a = a * t, b = b * r, e = e * t, o = o * r;
      add_share(sums + n * N, a + b);
      add_share(sums + (n + 1) * N, e + o);
      if (n <= top) {
        W even = Rows::template get<W>(f.rows, top - n), odd = Rows::template get<W>(f.rows, top + 1 - n);
        p = fma(p, t, even), q = fma(q, r, even), y = fma(y, t, odd), z = fma(z, r, odd);
      }
    }
    V near = rounded(f, fma(y, u, p)), far = rounded(f, fma(z, s, q));
    if (TAILS == APART || TAILS == JOINED) near = on_lines(f, near, v), far = on_lines(f, far, w);
    v = g * near, w = h * far;
  }
};

// ---- The second barycentric form, P(x) = sum(w_j y_j / (x - x_j)) / sum(w_j / (x - x_j)): as accurate as its data at
// any degree; the derivative is the same formula with slopes in place of heights. Without lines the weights of
// T_0 ... T_degree follow the heights: their sum is the polynomial outside. The power of two that heights and weights
// were divided by comes last in a table (`steps_down` in basis.py).

template <class V>
struct Kahan {
  V sum, lost;
};

// Adds a term; a thousand in a row would lose digits.
template <class V>
INLINE void add(Kahan<V> &to, V term) {
  V grown = to.sum + term;
  to.lost = term - (grown - to.sum);
  to.sum = grown;
}

template <class Input, bool LINED, bool BY_COLUMNS>
struct Barycentric {
  typedef Input T;
  typedef Input S;
  static constexpr int N = WIDTH<T>;
  typedef Lanes<T, N> V;
  typedef Table<T, BY_COLUMNS> Rows;

  const T *k;  // the ends, tiny, largest, exact; nodes, their low parts, weights; and what `Growth` reads
  int64_t terms;
  Rows rows;
  V left, right, tiny, largest, exact;

  INLINE Barycentric over(const T *k, const double *, int64_t terms, Rows rows) {
    return {k, terms, rows, constant<V>(k, 0), constant<V>(k, 1), constant<V>(k, 2), constant<V>(k, 3),
            constant<V>(k, 4)};
  }

  INLINE V quotient(const Barycentric &f, V c, int64_t n) {
    const T *high = f.k + 5, *low = high + f.terms, *weights = low + f.terms;
    V difference = (c - constant<V>(high, n)) - constant<V>(low, n);
    difference = magnitude(difference) < f.tiny ? f.tiny : difference;
    return constant<V>(weights, n) / difference;
  }

  // |T_0| ... |T_degree| outside the interval, by differences that keep their sign, up to a bound; and their signs.
  struct Growth {
    V size, difference, rate, turn, most;
  };

  INLINE Growth growth(const Barycentric &f, V v) {
    const T *more = f.k + 5 + 3 * f.terms;
    V most = constant<V>(more, 3), one = fill<V>(1);
    V t = ((v - constant<V>(more, 0)) - constant<V>(more, 1)) / constant<V>(more, 2), size = magnitude(t);
    size = size < one ? one : size;
    size = most < size ? most : size;
    return {one, size - one, size - one, t < V{} ? -one : one, most};
  }

  INLINE void grow(Growth &g) {
    V size = g.size + g.difference;
    g.size = g.most < size ? g.most : size;
    V difference = fma(g.rate + g.rate, g.size, g.difference);
    g.difference = g.most < difference ? g.most : difference;
  }

  INLINE V series(const Barycentric &f, V v) {
    Growth g = growth(f, v);
    V sign = fill<V>(1), sum = {};
    for (int64_t n = 0; n < f.terms; n++) {
      sum = fma(Rows::template get<V>(f.rows, f.terms + n), g.size * sign, sum);
      grow(g);
      sign = sign * g.turn;
    }
    return sum;
  }

  INLINE void series_shares(const Barycentric &f, V v, V share, T *sums) {
    Growth g = growth(f, v);
    for (int64_t n = 0; n < f.terms; n++) {
      store(sums + n * N, fma(g.size, share, load<V>(sums + n * N)));
      grow(g);
      share = share * g.turn;
    }
  }

  INLINE void line_shares(const Barycentric &f, V v, V g, T *sums) {
    V zero = {};
    auto on_left = f.left < v, on_right = v < f.right;
    store(sums, load<V>(sums) + (on_left ? zero : g));
    store(sums + N, fma(on_left ? zero : v - f.left, g, load<V>(sums + N)));
    store(sums + 2 * N, load<V>(sums + 2 * N) + (on_right ? zero : g));
    store(sums + 3 * N, fma(on_right ? zero : v - f.right, g, load<V>(sums + 3 * N)));
  }

  INLINE auto is_outside(const Barycentric &f, V v, V c) {
    auto outside = c != v;
    return LINED ? outside | (c == f.left) | (c == f.right) : outside;
  }

  // p between the ends; outside the straight lines, or the series.
  INLINE V beyond(const Barycentric &f, V p, V v, V c) {
    V factor = Rows::template get<V>(f.rows, f.terms + (LINED ? LINES : f.terms));
    if (LINED) {
      V lines[LINES];
      for (int n = 0; n < LINES; n++) lines[n] = Rows::template get<V>(f.rows, f.terms + n);
      return with_lines(p * factor, v, f.left, f.right, f.largest, lines);
    }
    auto outside = c != v;
    if (anywhere(outside)) p = outside ? series(f, v) : p;
    return p * factor;
  }

  // As in `Paired`: two vectors of the same channels side by side.
  INLINE void values(const Barycentric &f, V &v, V &w) {
    V c = clamp(v, f.left, f.right), d = clamp(w, f.left, f.right), none = fill<V>(__builtin_nan("")), at_c = none,
      at_d = none;
    Kahan<V> above[2] = {}, below[2] = {};
    ROLLED for (int64_t n = 0; n < f.terms; n++) {
      V y = Rows::template get<V>(f.rows, n), q = quotient(f, c, n), r = quotient(f, d, n);
      add(above[0], fma(q, y, above[0].lost)), add(below[0], q + below[0].lost);
      add(above[1], fma(r, y, above[1].lost)), add(below[1], r + below[1].lost);
      V node = constant<V>(f.k + 5, n);
      at_c = c == node ? y : at_c, at_d = d == node ? y : at_d;
    }
    at_c = at_c * f.exact, at_d = at_d * f.exact;
    V p = at_c == at_c ? at_c : above[0].sum / below[0].sum, s = at_d == at_d ? at_d : above[1].sum / below[1].sum;
    v = beyond(f, p, v, c), w = beyond(f, s, w, d);
  }

  INLINE void slopes(const Barycentric &f, V &v, V &w, V g, V h, T *sums, T *quotients) {
    V c = clamp(v, f.left, f.right), d = clamp(w, f.left, f.right), zero = {}, one = fill<V>(1);
    Kahan<V> above[2] = {}, below[2] = {};
    ROLLED for (int64_t n = 0; n < f.terms; n++) {
      V y = Rows::template get<V>(f.rows, n), q = quotient(f, c, n), r = quotient(f, d, n);
      add(above[0], fma(q, y, above[0].lost)), add(below[0], q + below[0].lost);
      add(above[1], fma(r, y, above[1].lost)), add(below[1], r + below[1].lost);
      store(quotients + 2 * n * N, q);
      store(quotients + (2 * n + 1) * N, r);
    }
    auto out_c = is_outside(f, v, c), out_d = is_outside(f, w, d);
    V share = out_c ? zero : g, other = out_d ? zero : h;
    V over_c = one / below[0].sum, over_d = one / below[1].sum;  // basis functions first: a small g would lose digits
    for (int64_t n = 0; n < f.terms; n++) {
      V sum = fma(load<V>(quotients + 2 * n * N) * over_c, share, load<V>(sums + n * N));
      store(sums + n * N, fma(load<V>(quotients + (2 * n + 1) * N) * over_d, other, sum));
    }
    T *last = sums + f.terms * N;
    if (LINED) {
      line_shares(f, v, g, last);
      line_shares(f, w, h, last);
    } else {
      if (anywhere(out_c)) series_shares(f, v, out_c ? g : zero, last);
      if (anywhere(out_d)) series_shares(f, w, out_d ? h : zero, last);
    }
    V p = beyond(f, above[0].sum / below[0].sum, v, c), s = beyond(f, above[1].sum / below[1].sum, w, d);
    v = g * p, w = h * s;
  }
};

}  // namespace chebact
