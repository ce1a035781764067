/* SPDX-License-Identifier: Apache-2.0
 *
 * What python/thalweg/systems/smi/loops.py puts around the loops of a kernel's source. A loop's state is on the stack of its function,
 * so that calls within calls have their own, and it ends however the loop is left: by its condition, break, return, goto or throw.
 */
#ifndef SMI_LOOPS_H
#define SMI_LOOPS_H
#pragma GCC system_header /* an error in what the macros get is one of the kernel's line */

struct smi__loop {
  long begun, stalled, interval; /* of its last turn, in ticks; of cycles between turns */
  unsigned at_once, turns;       /* turns that share an interval, and those that the last one has */
  int pipeline, used;
};

#ifdef __cplusplus
extern "C" {
#endif
#define SMI__NO_PIPELINE (-0x7fffffffffffffffL - 1)
/* Turns begin `interval` cycles after each other, `at_once` of them together. With a depth they are a pipeline's. */
struct smi__loop smi__enter(long interval, long depth, unsigned at_once);
/* Once. */
int smi__within(struct smi__loop* loop);
void smi__turn(struct smi__loop* loop);
/* The last turn takes its interval, too. */
void smi__leave(struct smi__loop* loop);
void smi__channel(void* to, void* place, unsigned long bytes, unsigned long element, long depth,
#ifdef __OPENCL_C_VERSION__
                  __constant
#endif
                  const char* name);
#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
/* In constant expressions no time passes. */
struct smi__guard : smi__loop {
  constexpr smi__guard(long interval, long depth, unsigned at_once) : smi__loop{} {
    if (!__builtin_is_constant_evaluated()) static_cast<smi__loop&>(*this) = smi__enter(interval, depth, at_once);
  }
  constexpr ~smi__guard() noexcept(false) { leave(); }
  smi__guard(const smi__guard&) = delete;
  smi__guard& operator=(const smi__guard&) = delete;
  constexpr bool within() { return __builtin_is_constant_evaluated() ? !used++ : smi__within(this); }
  constexpr void turn() {
    if (!__builtin_is_constant_evaluated()) smi__turn(this);
  }
  constexpr void leave() {
    if (!__builtin_is_constant_evaluated()) smi__leave(this);
  }
};
#define SMI__GUARD(n, interval, depth, at_once) smi__guard smi__loop_##n(interval, depth, at_once)
#define SMI__WITHIN(n) smi__loop_##n.within()
#define SMI__TURN(n) smi__loop_##n.turn()
#define SMI__LEAVE(n) smi__loop_##n.leave()
#else
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#endif
#define SMI__GUARD(n, interval, depth, at_once) \
  struct smi__loop __attribute__((cleanup(smi__leave))) smi__loop_##n = smi__enter(interval, depth, at_once)
#define SMI__WITHIN(n) smi__within(&smi__loop_##n)
#define SMI__TURN(n) smi__turn(&smi__loop_##n)
#define SMI__LEAVE(n) smi__leave(&smi__loop_##n)
#endif

#define SMI__LOOP(n, interval, depth, at_once) for (SMI__GUARD(n, interval, depth, at_once); SMI__WITHIN(n);)
#endif
