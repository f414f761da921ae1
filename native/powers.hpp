// Loops of the power form, degree 3 and below: bound by memory and not by arithmetic.
//
// Long rows hold one channel's table in every lane. Where neighbouring channels share the lanes, their tables and sums
// stay in registers over the rows of a task. The matrices have rows of 16 numbers, one for each height.
#pragma once
#include "call.hpp"
#include "polynomial.hpp"

namespace chebact {

constexpr int64_t ROW = 16;

template <class T>
struct PowerRoom {
  T *tables, *sums;
  double *totals;

  PowerRoom(Room &room, const Call &c, int64_t channels) {
    int64_t summed = c.steps & BACKWARD ? channels * POWER_SUMS * WIDTH<T> : 0;
    tables = room.take<T>(channels * ROW);
    sums = room.take<T>(summed);
    totals = room.take<double>(summed);
  }
};

// The tables of some channels, a row of 16 numbers each.
template <class T>
void power_tables(T *tables, const T *heights, const double *matrix, int64_t count, int64_t terms) {
  typedef Lanes<double, ROW> W;
  for (int64_t ch = 0; ch < count; ch++) {
    W sum = {};
    for (int64_t n = 0; n < terms; n++)
      sum = fma(fill<W>(heights[ch * terms + n]), load<W>(matrix + n * ROW), sum);
    store(tables + ch * ROW, convert<T>(clamp_finite(sum, Limits<T>::largest)));
  }
}

template <class V>
INLINE PowerTable<V> spread(const Number<V> *table) {
  V n[POWERS];
  for (int i = 0; i < POWERS; i++) n[i] = fill<V>(table[i]);
  return {{n[0], n[1], n[2], n[3]}, n[4], n[5], n[6], n[7], {n[8], n[9]}};
}

template <int... I>
struct Indices {};
template <class, int... I>
using AsIndices = Indices<I...>;

// Every STEP-th number of `all`, from J on.
template <int STEP, int J, class W, int... I>
INLINE auto every(W all, Indices<I...>) {
  return __builtin_shufflevector(all, all, (J + I * STEP)...);
}

constexpr int beside(int terms) { return terms == 3 ? 4 : terms; }  // a vector has a power of two of numbers

// The tables of the channels whose heights lie one after the other, `beside(TERMS)` of each.
template <class V, int TERMS>
INLINE void table_columns(const Number<V> *heights, const double *matrix, V *numbers) {
  typedef Number<V> T;
  typedef Lanes<double, width<V>> W;
  constexpr int STEP = beside(TERMS);
  auto all = load<Lanes<T, STEP * width<V>>>(heights);
  constexpr __make_integer_seq<AsIndices, int, width<V>> lanes = {};
  W y[4] = {convert<double>(every<STEP, 0>(all, lanes)), convert<double>(every<STEP, 1>(all, lanes))};
  if constexpr (TERMS > 2) y[2] = convert<double>(every<STEP, 2>(all, lanes));
  if constexpr (TERMS > 3) y[3] = convert<double>(every<STEP, 3>(all, lanes));
  for (int i = 0; i < POWERS; i++) {
    W sum = y[0] * fill<W>(matrix[i]);
    if (width<V> < WIDTH<T>) sum = sum + W{};  // as in `power_tables`: no -0
    for (int n = 1; n < TERMS; n++) sum = fma(y[n], fill<W>(matrix[n * ROW + i]), sum);
    numbers[i] = convert<T>(clamp_finite(sum, Limits<T>::largest));
  }
}

// The tables of the channels of neighbouring positions from `at` on.
template <class V>
PowerTable<V> gather(const Number<V> *heights, int64_t at, int64_t repeat, const double *matrix, int64_t terms) {
  Number<V> own[4 * width<V>];
  const Number<V> *from = heights + at * terms;
  int64_t step = beside(terms);
  if (repeat > 1 || step > terms) {
    for (int64_t i = 0; i < width<V>; i++)
      for (int64_t n = 0; n < terms; n++) own[i * step + n] = heights[channel_of(at + i, repeat) * terms + n];
    from = own;
  }
  V n[POWERS];
  if (terms == 2) table_columns<V, 2>(from, matrix, n);
  else if (terms == 3) table_columns<V, 3>(from, matrix, n);
  else table_columns<V, 4>(from, matrix, n);
  return {{n[0], n[1], n[2], n[3]}, n[4], n[5], n[6], n[7], {n[8], n[9]}};
}

template <class V>
INLINE bool any_level(const PowerTable<V> &t) {
  return anywhere(is_level(t.left_slope) | is_level(t.right_slope));
}

template <Tails TAILS, bool PLAIN, bool LEVEL, class V>
INLINE void power_values(const Number<V> *x, Number<V> *out, int64_t count, int64_t gap, const PowerTable<V> &t,
                         const PowerPlace<V> &k) {
  ROLLED for (int64_t i = 0; i < count; i++)
      store(out + i * gap, power_value<TAILS, PLAIN, LEVEL>(load<V>(x + i * gap), t, k));
}

template <class T, Tails TAILS, bool PLAIN>
void power_forward_row(const T *x, T *out, int64_t length, const T *table, const T *constants) {
  typedef Lanes<T, WIDTH<T>> V;
  typedef Lanes<T, 1> One;
  PowerTable<V> t = spread<V>(table);
  PowerPlace<V> k = PowerPlace<V>::from(constants);
  int64_t count = length / WIDTH<T>, whole = count * WIDTH<T>;
  if (any_level(t)) power_values<TAILS, PLAIN, true>(x, out, count, WIDTH<T>, t, k);
  else power_values<TAILS, PLAIN, false>(x, out, count, WIDTH<T>, t, k);
  PowerTable<One> s = spread<One>(table);
  power_values<TAILS, PLAIN, true>(x + whole, out + whole, length - whole, 1, s, PowerPlace<One>::from(constants));
}

constexpr int STRIP = 8;       // vectors of neighbouring channels whose tables are kept
constexpr int64_t SHORT = 4;  // rows of them that are read before the next: nearly in the order of memory

// Positions from `at` to `length`, N at a time, then half as many.
template <class T, int N, Tails TAILS, bool PLAIN>
INLINE void power_forward_columns(const Call &c, const T *x, T *out, const T *heights, int64_t rows, int64_t at,
                                  int64_t length) {
  typedef Lanes<T, N> V;
  PowerPlace<V> k = PowerPlace<V>::from((const T *)c.constants);
  int64_t gap = c.channels * c.inner;
  while (at + N <= length) {
    PowerTable<V> kept[STRIP];
    int64_t vectors = smaller(STRIP, (length - at) / N);
    bool level = N < WIDTH<T>;
    for (int64_t i = 0; i < vectors; i++) {
      kept[i] = gather<V>(heights, at + i * N, c.inner, c.to_table, c.terms);
      level = level || any_level(kept[i]);
    }
    for (int64_t begin = 0; begin < rows; begin += SHORT)
      for (int64_t i = 0; i < vectors; i++) {
        int64_t start = begin * gap + at + i * N, count = smaller(SHORT, rows - begin);
        if (level) power_values<TAILS, PLAIN, true>(x + start, out + start, count, gap, kept[i], k);
        else power_values<TAILS, PLAIN, false>(x + start, out + start, count, gap, kept[i], k);
      }
    at += vectors * N;
  }
  if constexpr (N > 1) power_forward_columns<T, N / 2, TAILS, PLAIN>(c, x, out, heights, rows, at, length);
}

template <class T, Tails TAILS, bool PLAIN>
void power_forward(const Call &c) {
  const T *x = (const T *)c.x;
  T *out = (T *)c.out;
  for_tasks(c, [&](const Task &t, Room room) {
    const T *heights = (const T *)c.heights + (t.replica * c.channels + t.channel) * c.terms;
    if (!by_rows(c)) {
      int64_t start = t.start(c, t.outer, t.channel);
      power_forward_columns<T, WIDTH<T>, TAILS, PLAIN>(c, x + start, out + start, heights, t.outer_end - t.outer, 0,
                                                       t.channels() * c.inner);
      return;
    }
    PowerRoom<T> own(room, c, t.channels());
    power_tables(own.tables, heights, c.to_table, t.channels(), c.terms);
    for (int64_t o = t.outer; o < t.outer_end; o++)
      for (int64_t ch = t.channel; ch < t.channel_end; ch++) {
        int64_t start = t.start(c, o, ch) + t.inner;
        power_forward_row<T, TAILS, PLAIN>(x + start, out + start, t.inner_end - t.inner,
                                           own.tables + (ch - t.channel) * ROW, (const T *)c.constants);
      }
  });
}

template <Tails TAILS, bool PLAIN, class V>
INLINE void power_slopes(const Number<V> *x, const Number<V> *g, Number<V> *out, int64_t count, int64_t gap,
                         const PowerTable<V> &t, const PowerPlace<V> &k, V *sums) {
  ROLLED for (int64_t i = 0; i < count; i++) {
    V v = load<V>(x + i * gap), h = load<V>(g + i * gap), c = clamp(v, k.left, k.right);
    V u = power_position<TAILS, PLAIN>(c, k);
    store(out + i * gap, h * power_slope<TAILS>(v, u, t, k));
    power_shares<TAILS>(sums, v, c, u, h, k);
  }
}

template <class T, Tails TAILS, bool PLAIN>
void power_backward_row(const T *x, const T *g, T *out, int64_t length, const T *table, const T *constants, T *kept) {
  typedef Lanes<T, WIDTH<T>> V;
  typedef Lanes<T, 1> One;
  V sums[POWER_SUMS];
  for (int n = 0; n < POWER_SUMS; n++) sums[n] = load<V>(kept + n * WIDTH<T>);
  int64_t count = length / WIDTH<T>, whole = count * WIDTH<T>;
  power_slopes<TAILS, PLAIN>(x, g, out, count, WIDTH<T>, spread<V>(table), PowerPlace<V>::from(constants), sums);
  One rest[POWER_SUMS] = {};
  power_slopes<TAILS, PLAIN>(x + whole, g + whole, out + whole, length - whole, 1, spread<One>(table),
                             PowerPlace<One>::from(constants), rest);
  for (int n = 0; n < POWER_SUMS; n++) {
    if (whole < length) sums[n][0] += rest[n][0];
    store(kept + n * WIDTH<T>, sums[n]);
  }
}

// The gradient of one channel's heights from its eight sums.
template <class T>
void to_heights(T *result, const double *sums, const double *matrix, int64_t terms) {
  for (int64_t n = 0; n < terms; n++) {
    double sum = 0;
    for (int i = 0; i < POWER_SUMS; i++) sum += sums[i] * matrix[n * ROW + i];
    result[n] = (T)sum;
  }
}

// The same for the channels of one vector each.
template <class V>
INLINE void lanes_to_heights(Number<V> *result, const V *sums, const double *matrix, int64_t terms) {
  typedef Lanes<double, width<V>> W;
  for (int64_t n = 0; n < terms; n++) {
    W sum = convert<double>(sums[0]) * fill<W>(matrix[n * ROW]);
    for (int i = 1; i < POWER_SUMS; i++) sum = fma(convert<double>(sums[i]), fill<W>(matrix[n * ROW + i]), sum);
    for (int i = 0; i < width<V>; i++) result[i * terms + n] = (Number<V>)sum[i];
  }
}

// One result at the end, with no sums in memory: few rows, and every channel in a lane of its own.
template <class T>
INLINE bool at_once(const Call &c, const Task &t) {
  bool alone = c.outer_blocks * c.inner_blocks == 1;
  return alone && c.inner == 1 && t.channels() % WIDTH<T> == 0 && t.outer_end - t.outer <= RUN;
}

// As in `power_forward_columns`; the sums of N positions go on in float64 after `run` rows.
template <class T, int N, Tails TAILS, bool PLAIN>
INLINE void power_backward_columns(const Call &c, const Task &t, int64_t at, double *sums) {
  typedef Lanes<T, N> V;
  PowerPlace<V> k = PowerPlace<V>::from((const T *)c.constants);
  int64_t first = t.replica * c.channels + t.channel, length = t.channels() * c.inner, gap = c.channels * c.inner;
  int64_t rows = t.outer_end - t.outer, near = smaller(RUN, near_rows(length));
  int64_t run = !sums ? rows : N < WIDTH<T> ? RUN : RUN / near * near;
  auto column = [&](int64_t at, int64_t begin, int64_t end) {
    PowerTable<V> table = gather<V>((const T *)c.heights + first * c.terms, at, c.inner, c.to_table, c.terms);
    for (; begin < end; begin += run) {
      int64_t start = t.start(c, t.outer + begin, t.channel) + at;
      V own[POWER_SUMS] = {};
      power_slopes<TAILS, PLAIN>((const T *)c.x + start, (const T *)c.grad + start, (T *)c.out + start,
                                 smaller(run, end - begin), gap, table, k, own);
      if (!sums) lanes_to_heights((T *)c.result + (first + at) * c.terms, own, c.to_result, c.terms);
      else
        for (int i = 0; i < N; i++)
          for (int n = 0; n < POWER_SUMS; n++) sums[channel_of(at + i, c.inner) * POWER_SUMS + n] += (double)own[n][i];
    }
  };
  int64_t whole = at + (length - at) / N * N;
  if (c.inner == 1 || N < WIDTH<T>)
    for (; at < whole; at += N) column(at, 0, rows);
  else  // the order of the sums: all positions of a channel, then the next rows
    for (int64_t begin = 0; begin < rows; begin += run)
      for (int64_t i = at; i < whole; i += N) column(i, begin, smaller(begin + run, rows));
  if constexpr (N > 1) {
    if (c.inner > 1 && rows > RUN) power_backward_columns<T, 1, TAILS, PLAIN>(c, t, whole, sums);
    else power_backward_columns<T, N / 2, TAILS, PLAIN>(c, t, whole, sums);
  }
}

template <class T, Tails TAILS, bool PLAIN>
void power_backward_rows(const Call &c, const Task &t, Room room, double *sums) {
  typedef Lanes<T, WIDTH<T>> V;
  typedef Lanes<double, WIDTH<T>> W;
  int64_t count = t.channels(), vectors = count * POWER_SUMS, step = RUN * WIDTH<T>, summed = 0;
  PowerRoom<T> own(room, c, count);
  power_tables(own.tables, (const T *)c.heights + (t.replica * c.channels + t.channel) * c.terms, c.to_table, count,
               c.terms);
  __builtin_memset(own.sums, 0, vectors * sizeof(V));
  __builtin_memset(own.totals, 0, vectors * sizeof(W));
  auto widen = [&] {
    for (int64_t n = 0; n < vectors * WIDTH<T>; n += WIDTH<T>) {
      store(own.totals + n, load<W>(own.totals + n) + convert<double>(load<V>(own.sums + n)));
      store(own.sums + n, V{});
    }
    summed = 0;
  };
  for (int64_t o = t.outer; o < t.outer_end; o++)
    for (int64_t begin = t.inner; begin < t.inner_end; begin += step) {
      int64_t length = smaller(step, t.inner_end - begin);
      for (int64_t ch = 0; ch < count; ch++) {
        int64_t at = t.start(c, o, t.channel + ch) + begin;
        power_backward_row<T, TAILS, PLAIN>((const T *)c.x + at, (const T *)c.grad + at, (T *)c.out + at, length,
                                            own.tables + ch * ROW, (const T *)c.constants,
                                            own.sums + ch * POWER_SUMS * WIDTH<T>);
      }
      summed += length;
      if (summed >= step) widen();
    }
  widen();
  for (int64_t n = 0; n < vectors; n++) {
    sums[n] = 0;
    for (int i = 0; i < WIDTH<T>; i++) sums[n] += own.totals[n * WIDTH<T> + i];
  }
}

template <class T, Tails TAILS, bool PLAIN>
void power_backward(const Call &c) {
  for_tasks(c, [&](const Task &t, Room room) {
    int64_t count = t.channels();
    double *sums = at_once<T>(c, t) ? nullptr : c.partial + t.sums * POWER_SUMS;
    if (sums) __builtin_memset(sums, 0, count * POWER_SUMS * sizeof(double));
    if (by_rows(c)) power_backward_rows<T, TAILS, PLAIN>(c, t, room, sums);
    else power_backward_columns<T, WIDTH<T>, TAILS, PLAIN>(c, t, 0, sums);
    if (sums && c.outer_blocks * c.inner_blocks == 1)
      for (int64_t ch = 0; ch < count; ch++)
        to_heights((T *)c.result + (t.replica * c.channels + t.channel + ch) * c.terms, sums + ch * POWER_SUMS,
                   c.to_result, c.terms);
  });
}

}  // namespace chebact
