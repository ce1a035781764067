/* SPDX-License-Identifier: Apache-2.0
 *
 * What python/thalweg/kernels/loops.py puts around the loops of a kernel's source. A loop's state is on the stack of its function,
 * so that calls within calls have their own, and it ends however the loop is left: by its condition, break, return, goto or throw.
 */
#ifndef KERNEL_LOOPS_H
#define KERNEL_LOOPS_H
#pragma GCC system_header /* an error in what the macros get is one of the kernel's line */

struct kernel__loop {
  long begun, stalled, interval; /* of its last turn, in ticks; of cycles between turns */
  unsigned at_once, turns;       /* turns that share an interval, and those that the last one has */
  int pipeline, used;
};

#ifdef __cplusplus
extern "C" {
#endif
#define KERNEL__NO_PIPELINE (-0x7fffffffffffffffL - 1)
/* Turns begin `interval` cycles after each other, `at_once` of them together. With a depth they are a pipeline's. */
struct kernel__loop kernel__enter(long interval, long depth, unsigned at_once);
/* Once. */
int kernel__within(struct kernel__loop* loop);
void kernel__turn(struct kernel__loop* loop);
/* The last turn takes its interval, too. */
void kernel__leave(struct kernel__loop* loop);
#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
/* In constant expressions no time passes. */
struct kernel__guard : kernel__loop {
  constexpr kernel__guard(long interval, long depth, unsigned at_once) : kernel__loop{} {
    if (!__builtin_is_constant_evaluated()) static_cast<kernel__loop&>(*this) = kernel__enter(interval, depth, at_once);
  }
  constexpr ~kernel__guard() noexcept(false) { leave(); }
  kernel__guard(const kernel__guard&) = delete;
  kernel__guard& operator=(const kernel__guard&) = delete;
  constexpr bool within() { return __builtin_is_constant_evaluated() ? !used++ : kernel__within(this); }
  constexpr void turn() {
    if (!__builtin_is_constant_evaluated()) kernel__turn(this);
  }
  constexpr void leave() {
    if (!__builtin_is_constant_evaluated()) kernel__leave(this);
  }
};
#define KERNEL__GUARD(n, interval, depth, at_once) kernel__guard kernel__loop_##n(interval, depth, at_once)
#define KERNEL__WITHIN(n) kernel__loop_##n.within()
#define KERNEL__TURN(n) kernel__loop_##n.turn()
#define KERNEL__LEAVE(n) kernel__loop_##n.leave()
#else
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#endif
#define KERNEL__GUARD(n, interval, depth, at_once) \
  struct kernel__loop __attribute__((cleanup(kernel__leave))) kernel__loop_##n = kernel__enter(interval, depth, at_once)
#define KERNEL__WITHIN(n) kernel__within(&kernel__loop_##n)
#define KERNEL__TURN(n) kernel__turn(&kernel__loop_##n)
#define KERNEL__LEAVE(n) kernel__leave(&kernel__loop_##n)
#endif

#define KERNEL__LOOP(n, interval, depth, at_once) for (KERNEL__GUARD(n, interval, depth, at_once); KERNEL__WITHIN(n);)
#endif
