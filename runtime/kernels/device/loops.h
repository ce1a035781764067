/* SPDX-License-Identifier: Apache-2.0
 *
 * Macros that python/thalweg/kernels/loops.py inserts around the loops of a kernel's source. A loop's state is on its function's stack,
 * so that nested calls have their own, and it is destroyed however the loop ends: by its condition, break, return, goto or throw.
 */
#ifndef KERNEL_LOOPS_H
#define KERNEL_LOOPS_H
#pragma GCC system_header /* errors in macro arguments are reported at the kernel's line */

struct kernel__loop {
  long started, stalled,
      interval; /* start and stall time at the last iteration, in ticks; initiation interval, in cycles */
  unsigned unroll, iterations; /* iterations per interval; iterations so far in the current one */
  int pipeline, used;
};

#ifdef __cplusplus
extern "C" {
#endif
#define KERNEL__NO_PIPELINE (-0x7fffffffffffffffL - 1)
/* Every `interval` cycles, `unroll` iterations start. With a depth, the loop is a pipeline. */
struct kernel__loop kernel__enter(long interval, long depth, unsigned unroll);
/* True on the first call only. */
int kernel__within(struct kernel__loop* loop);
void kernel__iterate(struct kernel__loop* loop);
/* Ends the loop, after the interval of its last iteration. */
void kernel__leave(struct kernel__loop* loop);
#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
/* No time passes in constant expressions. */
struct kernel__guard : kernel__loop {
  constexpr kernel__guard(long interval, long depth, unsigned unroll) : kernel__loop{} {
    if (!__builtin_is_constant_evaluated()) static_cast<kernel__loop&>(*this) = kernel__enter(interval, depth, unroll);
  }
  constexpr ~kernel__guard() noexcept(false) { leave(); }
  kernel__guard(const kernel__guard&) = delete;
  kernel__guard& operator=(const kernel__guard&) = delete;
  constexpr bool within() { return __builtin_is_constant_evaluated() ? !used++ : kernel__within(this); }
  constexpr void iterate() {
    if (!__builtin_is_constant_evaluated()) kernel__iterate(this);
  }
  constexpr void leave() {
    if (!__builtin_is_constant_evaluated()) kernel__leave(this);
  }
};
#define KERNEL__GUARD(n, interval, depth, unroll) kernel__guard kernel__loop_##n(interval, depth, unroll)
#define KERNEL__WITHIN(n) kernel__loop_##n.within()
#define KERNEL__ITERATE(n) kernel__loop_##n.iterate()
#define KERNEL__LEAVE(n) kernel__loop_##n.leave()
#else
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#endif
#define KERNEL__GUARD(n, interval, depth, unroll) \
  struct kernel__loop __attribute__((cleanup(kernel__leave))) kernel__loop_##n = kernel__enter(interval, depth, unroll)
#define KERNEL__WITHIN(n) kernel__within(&kernel__loop_##n)
#define KERNEL__ITERATE(n) kernel__iterate(&kernel__loop_##n)
#define KERNEL__LEAVE(n) kernel__leave(&kernel__loop_##n)
#endif

#define KERNEL__LOOP(n, interval, depth, unroll) for (KERNEL__GUARD(n, interval, depth, unroll); KERNEL__WITHIN(n);)
#endif
