// What a call of the kernel is told, field by field as in `Call` of kernels/cpu/call.py (a test compares both), and how
// its work is cut into tasks.
//
// A tensor is seen as (replica, outer, channel, inner). The cut depends on the sizes alone, threads draw tickets until
// no task is left, and every task keeps sums of its own: so the bits are the same for any number of threads.
#pragma once
#include "lanes.hpp"

namespace chebact {

#define CALL_FIELDS(FIELD)                                                                              \
  FIELD(int64_t, steps)            /* those of `Step` to do, added up */                                \
  FIELD(int64_t, form)             /* a `FormCode`*/                                                    \
  FIELD(int64_t, is_double)                                                                             \
  FIELD(int64_t, is_plain)         /* the interval is [-1, 1] */                                        \
  FIELD(int64_t, tails)            /* a `Tails` */                                                      \
  FIELD(int64_t, keeps_heights)    /* the first numbers of a table are the heights themselves */        \
  FIELD(int64_t, terms)            /* degree + 1 */                                                     \
  FIELD(int64_t, sums)             /* sums of a channel */                                              \
  FIELD(int64_t, numbers)          /* numbers of a channel's table */                                   \
  FIELD(int64_t, replicas)                                                                              \
  FIELD(int64_t, outer)                                                                                 \
  FIELD(int64_t, channels)                                                                              \
  FIELD(int64_t, inner)                                                                                 \
  FIELD(int64_t, outer_block)      /* sizes of a task */                                                \
  FIELD(int64_t, channel_block)                                                                         \
  FIELD(int64_t, inner_block)                                                                           \
  FIELD(int64_t, outer_blocks)     /* how many of them there are */                                     \
  FIELD(int64_t, channel_blocks)                                                                        \
  FIELD(int64_t, inner_blocks)                                                                          \
  FIELD(int64_t, tasks)                                                                                 \
  FIELD(int64_t, parts)            /* of the tasks: everyone begins with a part of its own */           \
  FIELD(int64_t *, counters)       /* zeros: of the workers, and of each part; null for one thread */   \
  FIELD(const void *, x)                                                                                \
  FIELD(const void *, grad)                                                                             \
  FIELD(void *, out)                                                                                    \
  FIELD(const void *, heights)                                                                          \
  FIELD(void *, result)            /* the gradient of the heights */                                    \
  FIELD(const void *, constants)   /* in the type of x */                                               \
  FIELD(const double *, place)     /* of the interval, in float64 */                                    \
  FIELD(const double *, to_table)  /* a padded row for each height: its part of the numbers */          \
  FIELD(const double *, to_result) /* from sums to the gradient of the heights */                       \
  FIELD(void *, table)             /* of all channels, where rows are long; filled by a step */         \
  FIELD(int64_t, table_bytes)      /* found by `MEASURE` of a pass, and so the next two */              \
  FIELD(double *, partial)         /* sums of every task */                                             \
  FIELD(int64_t, partial_bytes)                                                                         \
  FIELD(char *, scratch)                                                                                \
  FIELD(int64_t, scratch_bytes)    /* for each thread */

struct Call {
#define DECLARE(TYPE, NAME) TYPE NAME;
  CALL_FIELDS(DECLARE)
#undef DECLARE
};

enum FormCode { POWERS_TO_CUBE, PAIRED_SHORT, PAIRED, BARYCENTRIC };  // see `form_of` in kernels/cpu
enum Step { MEASURE = 1, TABLES = 2, FORWARD = 4, BACKWARD = 8, FINISH = 16 };

constexpr int64_t LONG_ROW = 16;  // from here on a channel's row fills the lanes; below, neighbouring channels share them
constexpr int64_t NEAR = 256;     // elements of the few rows that are worked on side by side
constexpr int64_t RUN = 100;      // terms that a lane adds up before the sum goes on in float64
constexpr int64_t STACK = 32768;  // bytes of scratch that a thread has of its own

INLINE bool by_rows(const Call &c) { return c.inner >= LONG_ROW; }

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }
INLINE int64_t padded(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

// The channel of a position, where every channel has `repeat` of them; a division takes as long as ten products.
INLINE int64_t channel_of(int64_t position, int64_t repeat) { return repeat == 1 ? position : position / repeat; }

// Rows of the outer axis that are worked on side by side.
INLINE int64_t near_rows(int64_t length) { return larger(4, NEAR / length); }

// Memory of the caller, handed out piece by piece.
struct Room {
  uintptr_t at;  // an address; or 0, to measure how much is taken

  template <class T>
  T *take(int64_t count) {
    uintptr_t start = at;
    at += padded(count * (int64_t)sizeof(T), 64);
    return (T *)start;
  }
};

INLINE Room own_room(const Call &c, int64_t worker, char *stack) {
  return {(uintptr_t)(c.scratch_bytes ? c.scratch + worker * c.scratch_bytes : stack)};
}

struct Task {
  int64_t replica, outer, outer_end, channel, channel_end, inner, inner_end;
  int64_t sums;  // of its first channel among those of all tasks, counted in channels

  int64_t channels() const { return channel_end - channel; }
  int64_t start(const Call &c, int64_t o, int64_t ch) const {  // where a row of x begins
    return ((replica * c.outer + o) * c.channels + ch) * c.inner;
  }
};

INLINE Task task_at(const Call &c, int64_t index) {
  int64_t i = index % c.inner_blocks, rest = index / c.inner_blocks;
  int64_t ch = rest % c.channel_blocks;
  rest /= c.channel_blocks;
  int64_t o = rest % c.outer_blocks, r = rest / c.outer_blocks;
  Task t = {r, o * c.outer_block, 0, ch * c.channel_block, 0, i * c.inner_block, 0, 0};
  t.outer_end = smaller(t.outer + c.outer_block, c.outer);
  t.channel_end = smaller(t.channel + c.channel_block, c.channels);
  t.inner_end = smaller(t.inner + c.inner_block, c.inner);
  t.sums = ((r * c.outer_blocks + o) * c.inner_blocks + i) * c.channels + t.channel;
  return t;
}

INLINE int64_t draw(int64_t *counter) { return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

// Does this thread's share of the tasks: at first those of a part that is the same in every call, whose memory is still
// in its cache, then it helps the others.
template <class Work>
INLINE void for_tasks(const Call &c, Work work) {
  alignas(64) char own[STACK];
  if (!c.counters) {
    Room room = own_room(c, 0, own);
    for (int64_t index = 0; index < c.tasks; index++) work(task_at(c, index), room);
    return;
  }
  int64_t worker = draw(c.counters);
  Room room = own_room(c, worker % c.parts, own);
  for (int64_t turn = 0; turn < c.parts; turn++) {
    int64_t part = (worker + turn) % c.parts, first = part * c.tasks / c.parts, last = (part + 1) * c.tasks / c.parts;
    for (int64_t index; (index = first + draw(c.counters + part + 1)) < last;) work(task_at(c, index), room);
  }
}

}  // namespace chebact
