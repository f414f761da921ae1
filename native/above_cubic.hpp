// Loops above degree 3, around a form of `polynomial.hpp`, and the tables that they read.
//
// Where rows are long, tables are made before the call; where neighbouring channels share the lanes, every task makes
// those of its channels. Tables come from a product with a matrix in one order for every channel: a library's product
// takes another order for another number of channels, and the bits of one would depend on those beside it.
#pragma once
#include "call.hpp"
#include "polynomial.hpp"

namespace chebact {

template <class T, class S>
struct Rooms {
  T *quotients;
  S *sums, *columns;
  double *made;

  Rooms(Room &room, const Call &c, int64_t channels) {
    int64_t step = padded(by_rows(c) ? 1 : channels * c.inner, WIDTH<T>);
    bool is_backward = c.steps & BACKWARD;
    quotients = room.take<T>(is_backward ? 2 * c.terms * WIDTH<T> : 0);
    sums = room.take<S>(is_backward ? c.sums * step : 0);
    columns = room.take<S>(by_rows(c) ? 0 : c.numbers * step);
    made = room.take<double>((c.terms + c.numbers) * WIDTH<T>);
  }
};

// How many numbers of a table are divided by a power of two, or could be.
INLINE int64_t bent_numbers(const Call &c) {
  if (c.form != BARYCENTRIC) return (c.terms + 1) / 2 * 2;
  return c.tails == NONE ? c.numbers - 1 : c.terms;
}

// The tables at `count` neighbouring positions, of channels from `heights` on: put(number, vector) takes them.
template <class T, class S, class Put>
INLINE void make_tables(const Call &c, const T *heights, int64_t at, int64_t count, int64_t repeat, double *room,
                        Put put) {
  constexpr int N = WIDTH<T>;
  constexpr double step = Limits<T>::step;
  typedef Lanes<double, N> W;
  const bool scaled = c.form != PAIRED;
  int64_t terms = c.terms, numbers = c.numbers - scaled, bent = bent_numbers(c), row = padded(numbers, 8);
  double most = c.form == BARYCENTRIC ? Limits<T>::largest : __builtin_inf();
  double *y = room, *made = room + terms * N;
  for (int i = 0; i < N; i++)
    for (int64_t n = 0; n < terms; n++)
      y[n * N + i] = heights[channel_of(at + smaller(i, count - 1), repeat) * terms + n];
  W size = {};
  for (int64_t first = c.keeps_heights ? terms : 0; first < numbers; first += 4) {
    W sum[4] = {};  // four at a time: an addition waits for the one before it
    int64_t some = smaller(4, numbers - first);
    for (int64_t n = 0; n < terms; n++)
      for (int i = 0; i < 4; i++) {
        double factor = c.to_table[n * row + first + (i < some ? i : 0)];
        sum[i] = fma(load<W>(y + n * N), fill<W>(factor), sum[i]);
      }
    for (int i = 0; i < some; i++) store(made + (first + i) * N, sum[i]);
  }
  if (c.keeps_heights) __builtin_memcpy(made, y, terms * sizeof(W));
  for (int64_t n = 0; n < numbers; n++) {
    W number = clamp_finite(load<W>(made + n * N), n < bent ? most : Limits<T>::largest);
    if (n < bent) size = size < magnitude(number) ? magnitude(number) : size;
    store(made + n * N, number);
  }
  W one = fill<W>(1), factor = one;
  if (scaled) {
    factor = fill<W>(SMALL_ENOUGH) < size ? fill<W>(step) : one;
    factor = fill<W>(SMALL_ENOUGH * step) < size ? fill<W>(step * step) : factor;
    put(numbers, convert<S>(factor));
  }
  for (int64_t n = 0; n < numbers; n++) {
    W number = load<W>(made + n * N);
    put(n, convert<S>(n < bent ? number / factor : number));
  }
}

// The tables of all channels, one after the other.
template <class T, class S>
void make_rows(const Call &c) {
  constexpr int N = WIDTH<T>;
  alignas(64) char own[STACK];
  Room room = own_room(c, 0, own);
  Rooms<T, S> rooms(room, c, c.channel_block);
  int64_t channels = c.replicas * c.channels;
  for (int64_t ch = 0; ch < channels; ch += N) {
    int64_t count = smaller(N, channels - ch);
    S *table = (S *)c.table + ch * c.numbers;
    make_tables<T, S>(c, (const T *)c.heights, ch, count, 1, rooms.made, [&](int64_t n, const Lanes<S, N> &number) {
      for (int64_t i = 0; i < count; i++) table[i * c.numbers + n] = number[i];
    });
  }
}

// The tables of a task's channels side by side, a row a number; how long a row is.
template <class T, class S>
int64_t make_columns(const Call &c, const Task &t, const Rooms<T, S> &rooms) {
  constexpr int N = WIDTH<T>;
  const T *heights = (const T *)c.heights + (t.replica * c.channels + t.channel) * c.terms;
  int64_t length = t.channels() * c.inner, step = padded(length, N);
  for (int64_t at = 0; at < step; at += N)
    make_tables<T, S>(c, heights, at, smaller(N, length - at), c.inner, rooms.made,
                      [&](int64_t n, const Lanes<S, N> &number) { store(rooms.columns + n * step + at, number); });
  return step;
}

// One pass over pairs of vectors of the same channels, from x, g and out on; sums are those of the backward pass.
template <class Form, bool BACK>
struct Pairs {
  typedef typename Form::T T;
  typedef typename Form::S S;
  typedef typename Form::V V;
  static constexpr int N = WIDTH<T>;

  Form f;
  const T *x, *g;
  T *out;
  S *sums;
  T *quotients;

  INLINE Pairs from(const Call &c, typename Form::Rows table, int64_t start, S *sums, T *quotients) {
    Form f = Form::over((const T *)c.constants, c.place, c.terms, table);
    const T *g = BACK ? (const T *)c.grad + start : nullptr;
    return {f, (const T *)c.x + start, g, (T *)c.out + start, sums, quotients};
  }

  template <class Get, class Put>
  INLINE void pair(const Pairs &p, int64_t at, int64_t other, Get get, Put put) {
    V v = get(p.x + at, 0), w = get(p.x + other, 1);
    if (BACK) Form::slopes(p.f, v, w, get(p.g + at, 0), get(p.g + other, 1), p.sums, p.quotients);
    else Form::values(p.f, v, w);
    put(p.out + at, v, 0);
    put(p.out + other, w, 1);
  }

  // Whole vectors, `gap` apart.
  INLINE void whole(const Pairs &p, int64_t gap, int64_t pairs) {
    for (int64_t at = 0; at < 2 * gap * pairs; at += 2 * gap)
      pair(p, at, at + gap, [](const T *from, int) { return load<V>(from); },
           [](T *to, const V &v, int) { store(to, v); });
  }

  // `count` numbers at one place and `more` ones `gap` further on.
  INLINE void some(const Pairs &p, int64_t at, int64_t gap, int64_t count, int64_t more) {
    int64_t counts[] = {count, more};
    pair(p, at, more ? at + gap : at, [&](const T *from, int i) { return load_some<V>(from, counts[i]); },
         [&](T *to, const V &v, int i) { store_some(to, v, counts[i]); });
  }

  INLINE void row(const Pairs &p, int64_t length) {
    int64_t pairs = length / (2 * N), rest = length % (2 * N), near = smaller(rest, N);
    whole(p, N, pairs);
    if (rest) some(p, 2 * N * pairs, N, near, rest - near);
  }

  INLINE void columns(const Pairs &p, int64_t rows, int64_t gap, int64_t count) {
    int64_t pairs = count == N ? rows / 2 : 0;
    whole(p, gap, pairs);
    for (int64_t o = 2 * pairs; o < rows; o += 2) some(p, o * gap, gap, count, o + 1 < rows ? count : 0);
  }
};

template <class S>
INLINE void clear(S *numbers, int64_t count) {
  __builtin_memset(numbers, 0, count * sizeof(S));
}

template <class Form>
void forward_rows(const Call &c) {
  typedef typename Form::S S;
  for_tasks(c, [&](const Task &t, Room) {
    for (int64_t o = t.outer; o < t.outer_end; o++)
      for (int64_t ch = t.channel; ch < t.channel_end; ch++) {
        const S *table = (const S *)c.table + (t.replica * c.channels + ch) * c.numbers;
        typedef Pairs<Form, false> Strip;
        Strip::row(Strip::from(c, {table, 0}, t.start(c, o, ch) + t.inner, nullptr, nullptr), t.inner_end - t.inner);
      }
  });
}

template <class Form>
void backward_rows(const Call &c) {
  typedef typename Form::S S;
  typedef Pairs<Form, true> Strip;
  constexpr int N = Strip::N;
  const int64_t run = c.form == PAIRED ? INT64_MAX / 4 : RUN * N;
  for_tasks(c, [&](const Task &t, Room room) {
    Rooms<typename Form::T, S> rooms(room, c, t.channels());
    double *totals = c.partial + t.sums * c.sums;
    clear(totals, t.channels() * c.sums);
    clear(rooms.sums, c.sums * N);
    for (int64_t ch = t.channel; ch < t.channel_end; ch++, totals += c.sums) {
      const S *table = (const S *)c.table + (t.replica * c.channels + ch) * c.numbers;
      int64_t summed = 0;
      for (int64_t o = t.outer; o < t.outer_end; o++)
        for (int64_t begin = t.inner; begin < t.inner_end; begin += run) {
          int64_t count = smaller(run, t.inner_end - begin);
          Strip::row(Strip::from(c, {table, 0}, t.start(c, o, ch) + begin, rooms.sums, rooms.quotients), count);
          summed += count;
          if (summed + c.inner > run || o == t.outer_end - 1) {
            summed = 0;
            for (int64_t n = 0; n < c.sums; n++)
              totals[n] += add_halves(convert<double>(load<Lanes<S, N>>(rooms.sums + n * N)));
            clear(rooms.sums, c.sums * N);
          }
        }
    }
  });
}

template <class Form, bool BACK>
void do_columns(const Call &c) {
  typedef typename Form::S S;
  typedef Pairs<Form, BACK> Strip;
  constexpr int N = Strip::N;
  for_tasks(c, [&](const Task &t, Room room) {
    Rooms<typename Form::T, S> rooms(room, c, t.channels());
    double *totals = BACK ? c.partial + t.sums * c.sums : nullptr;
    int64_t step = make_columns(c, t, rooms), length = t.channels() * c.inner, summed = 0;
    int64_t near = c.form == BARYCENTRIC ? RUN : smaller(RUN, near_rows(length));
    if (BACK) clear(totals, t.channels() * c.sums), clear(rooms.sums, c.sums * step);
    for (int64_t begin = t.outer; begin < t.outer_end; begin += near) {
      int64_t rows = smaller(near, t.outer_end - begin);
      for (int64_t at = 0; at < length; at += N) {
        int64_t start = t.start(c, begin, t.channel) + at;
        auto strip = Strip::from(c, {rooms.columns + at, step}, start, rooms.sums + at * c.sums, rooms.quotients);
        Strip::columns(strip, rows, c.channels * c.inner, smaller(N, length - at));
      }
      summed += rows;
      if (BACK && ((c.form != PAIRED && summed + near > RUN) || begin + near >= t.outer_end)) {
        summed = 0;
        for (int64_t at = 0; at < length; at++) {
          const S *sums = rooms.sums + at / N * N * c.sums + at % N;
          for (int64_t n = 0; n < c.sums; n++) totals[channel_of(at, c.inner) * c.sums + n] += (double)sums[n * N];
        }
        clear(rooms.sums, c.sums * step);
      }
    }
  });
}

}  // namespace chebact
