// Several numbers at a time: clang's vector extensions, and the few operations that they do not spell.
//
// Lanes<T, N> is a vector of N numbers, N = 1 included, so a formula is written once and has the same roundings in a
// loop and in what is left over at its end. A vector has 64 bytes on every processor, whose compiler cuts it into
// registers: so no bit depends on the level that was chosen.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define ROLLED _Pragma("clang loop unroll(disable)")  // more sums in use than registers cost more than unrolling saves

namespace chebact {

template <class T, int N>
struct Vector {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N>
using Lanes = typename Vector<T, N>::type;
template <class T>
constexpr int WIDTH = 64 / sizeof(T);

template <class V>
using Number = __remove_cvref(decltype(V()[0]));
template <class V>
using Mask = decltype(V() < V());
template <class V>
constexpr int width = sizeof(V) / sizeof(Number<V>);

template <class V>
INLINE V load(const Number<V> *at) {
  V v;
  __builtin_memcpy(&v, at, sizeof v);
  return v;
}

template <class V>
INLINE void store(Number<V> *at, V v) {
  __builtin_memcpy(at, &v, sizeof v);
}

// The first `count` lanes from memory, the others zero.
template <class V>
INLINE V load_some(const Number<V> *at, int64_t count) {
  V v = {};
  for (int64_t n = 0; n < count; n++) v[n] = at[n];
  return v;
}

template <class V>
INLINE void store_some(Number<V> *at, V v, int64_t count) {
  for (int64_t n = 0; n < count; n++) at[n] = v[n];
}

template <class V>
INLINE V fill(Number<V> x) {
  return x - V{};  // not x + V{}, which loses the sign of -0
}

#if defined(__FMA__) || defined(__aarch64__)
template <class V>
INLINE V fma(V a, V b, V c) {
  return __builtin_elementwise_fma(a, b, c);
}
#else  // the C library computes it: slow, and the same bits
template <class V>
__attribute__((noinline)) void fma_each(V &a, const V &b, const V &c) {
  for (int n = 0; n < width<V>; n++)
    a[n] = sizeof(a[0]) == 4 ? __builtin_fmaf(a[n], b[n], c[n]) : __builtin_fma(a[n], b[n], c[n]);
}

template <class V>
INLINE V fma(V a, V b, V c) {
  fma_each(a, b, c);
  return a;
}
#endif

template <class V>
INLINE V magnitude(V a) {
  return __builtin_elementwise_abs(a);
}

template <class T, class V>
INLINE Lanes<T, width<V>> convert(V v) {
  return __builtin_convertvector(v, Lanes<T, width<V>>);
}

// a where its sign bit is set, else 0; and where it is not. As integers: that needs no unit that products wait for.
template <class V>
INLINE V below_zero(V a) {
  return (V)__builtin_elementwise_min((Mask<V>)a, Mask<V>{});
}

template <class V>
INLINE V above_zero(V a) {
  return (V)__builtin_elementwise_max((Mask<V>)a, Mask<V>{});
}

template <class V>
INLINE Mask<V> is_negative(V a) {
  return (Mask<V>)a < Mask<V>{};
}

template <class M>
INLINE bool anywhere(M mask) {
  return __builtin_reduce_or(mask) != 0;
}

// v between low and high; NaN stays.
template <class V>
INLINE V clamp(V v, V low, V high) {
  V below = high < v ? high : v;
  return below < low ? low : below;
}

// The sum over the lanes: halves are added until one number is left.
template <class V>
INLINE double add_halves(V v) {
  double sum[width<V>];
  for (int n = 0; n < width<V>; n++) sum[n] = v[n];
  for (int half = width<V> / 2; half; half /= 2)
    for (int n = 0; n < half; n++) sum[n] += sum[n + half];
  return sum[0];
}

// The largest finite number, and by what large tables are divided (see `steps_down` in basis.py).
template <class T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr double largest = __FLT_MAX__, step = 0x1p54;
};
template <>
struct Limits<double> {
  static constexpr double largest = __DBL_MAX__, step = 0x1p502;
};
constexpr double SMALL_ENOUGH = 0x1p20;

// Finite lanes stop at `most`; infinite ones stay, since they were made from infinite heights.
template <class V>
INLINE V clamp_finite(V v, double most) {
  V bound = fill<V>(most);
  V clamped = clamp(v, -bound, bound);
  return magnitude(v) < fill<V>(__builtin_inf()) ? clamped : v;
}

}  // namespace chebact
