// The activation kernel: one function of one struct. It neither allocates nor raises, and needs no C++ runtime.
#include "above_cubic.hpp"
#include "powers.hpp"

namespace chebact {

template <auto VALUE>
struct Constant {
  static constexpr auto value = VALUE;
};

template <bool FIRST, class A, class B>
struct Either {
  typedef A type;
};
template <class A, class B>
struct Either<false, A, B> {
  typedef B type;
};

// Calls `work` with what is known when it runs as constants.
template <class Work>
INLINE void with_flag(bool flag, Work work) {
  if (flag) work(Constant<true>());
  else work(Constant<false>());
}

template <class Work>
INLINE void with_tails(int64_t tails, Work work) {
  if (tails == NONE) work(Constant<NONE>());
  else if (tails == APART) work(Constant<APART>());
  else if (tails == JOINED) work(Constant<JOINED>());
  else work(Constant<SMOOTH>());
}

// From the sums of all tasks, block after block, to the gradient of the heights, unless tasks have written it.
template <class T>
void finish(const Call &c) {
  typedef Lanes<double, 8> W;
  int64_t blocks = c.outer_blocks * c.inner_blocks;
  if (c.form == POWERS_TO_CUBE && blocks == 1) return;
  int64_t count = c.channels * c.sums, row = padded(c.terms, 8);
  for (int64_t r = 0; r < c.replicas; r++) {
    double *sums = c.partial + r * blocks * count;
    for (int64_t b = 1; b < blocks; b++)
      for (int64_t n = 0; n < count; n++) sums[n] += sums[b * count + n];
    for (int64_t ch = 0; ch < c.channels; ch++, sums += c.sums) {
      T *result = (T *)c.result + (r * c.channels + ch) * c.terms;
      if (c.form == POWERS_TO_CUBE) {
        to_heights(result, sums, c.to_result, c.terms);
        continue;
      }
      for (int64_t first = 0; first < c.terms; first += 8) {
        W share = {};
        for (int64_t n = 0; n < c.sums; n++)
          share = fma(fill<W>(sums[n]), load<W>(c.to_result + n * row + first), share);
        store_some(result + first, convert<T>(share), smaller(8, c.terms - first));
      }
    }
  }
}

template <class T>
bool writes_at_once(const Call &c) {
  return c.form == POWERS_TO_CUBE && c.outer_blocks * c.inner_blocks == 1 && c.inner == 1 && c.outer <= RUN &&
         c.channels % WIDTH<T> == 0 && (c.channel_blocks == 1 || c.channel_block % WIDTH<T> == 0);
}

// How much memory a pass needs.
template <class T, class S>
void measure(Call &c) {
  Room room = {0};
  if (c.form == POWERS_TO_CUBE) PowerRoom<T>(room, c, by_rows(c) ? c.channel_block : 0);
  else Rooms<T, S>(room, c, c.channel_block);
  c.scratch_bytes = room.at <= STACK ? 0 : room.at;
  int64_t rows = c.replicas * c.channels;
  if (by_rows(c) && c.form != POWERS_TO_CUBE) c.table_bytes = padded(rows * c.numbers * (int64_t)sizeof(S), 64);
  if (c.steps & BACKWARD && !writes_at_once<T>(c))
    c.partial_bytes = padded(rows * c.outer_blocks * c.inner_blocks * c.sums * (int64_t)sizeof(double), 64);
}

template <class T>
void do_powers(const Call &c) {
  with_flag(c.is_plain, [&](auto plain) {
    if (c.steps & FORWARD)  // knows no difference between lines that are joined and others
      with_flag(c.tails == NONE, [&](auto none) { power_forward<T, none.value ? NONE : APART, plain.value>(c); });
    if (c.steps & BACKWARD) with_tails(c.tails, [&](auto tails) { power_backward<T, tails.value, plain.value>(c); });
  });
}

template <template <bool> class Form>
void do_form(const Call &c) {
  if (c.steps & FORWARD) by_rows(c) ? forward_rows<Form<false>>(c) : do_columns<Form<true>, false>(c);
  if (c.steps & BACKWARD) by_rows(c) ? backward_rows<Form<false>>(c) : do_columns<Form<true>, true>(c);
}

template <class T, class S, class Work>
void do_steps(Call &c, Work work) {
  if (c.steps & MEASURE) return measure<T, S>(c);
  if (c.steps & TABLES && c.table_bytes) make_rows<T, S>(c);
  if (c.steps & (FORWARD | BACKWARD)) work();
  if (c.steps & FINISH && c.partial_bytes) finish<T>(c);
}

template <Tails TAILS, bool PLAIN>
struct Wide {
  template <bool BY_COLUMNS>
  using Form = Paired<float, double, TAILS, PLAIN, BY_COLUMNS>;
};
template <Tails TAILS>
struct Short {
  template <bool BY_COLUMNS>
  using Form = Paired<float, float, TAILS, true, BY_COLUMNS>;
};
template <class T, bool LINED>
struct Nodes {
  template <bool BY_COLUMNS>
  using Form = Barycentric<T, LINED, BY_COLUMNS>;
};

void do_call(Call &c) {
  if (c.form == PAIRED)
    return do_steps<float, double>(c, [&] {
      with_tails(c.tails, [&](auto tails) {
        with_flag(c.is_plain, [&](auto plain) { do_form<Wide<tails.value, plain.value>::template Form>(c); });
      });
    });
  if (c.form == PAIRED_SHORT)  // on [-1, 1] with lines that are joined
    return do_steps<float, float>(c, [&] {
      with_flag(c.tails == SMOOTH,
                [&](auto smooth) { do_form<Short<smooth.value ? SMOOTH : JOINED>::template Form>(c); });
    });
  with_flag(c.is_double, [&](auto is_double) {
    typedef typename Either<is_double.value, double, float>::type T;
    do_steps<T, T>(c, [&] {
      if (c.form == POWERS_TO_CUBE) do_powers<T>(c);
      else with_flag(c.tails != NONE, [&](auto lined) { do_form<Nodes<T, lined.value>::template Form>(c); });
    });
  });
}

}  // namespace chebact

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void chebact_kernel(chebact::Call *call) { chebact::do_call(*call); }

// Names and offsets of the fields of a call, ended by its size without a name.
struct Field {
  const char *name;
  int64_t offset;
};
#define DESCRIBE(TYPE, NAME) {#NAME, offsetof(chebact::Call, NAME)},
EXPORTED const Field chebact_kernel_fields[] = {CALL_FIELDS(DESCRIBE){nullptr, sizeof(chebact::Call)}};
