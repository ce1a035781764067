// SPDX-License-Identifier: Apache-2.0
// Part of each library of HLS kernels: forwards loops and the compiler's hooks of memory accesses to the runtime.
#include "loops.h"
#include "memory.h"
#include "thalweg_hls.hpp"

hls__library_type hls__library = {HLS__CALLS_VERSION, nullptr, {0, 0}, {0, 0}};

namespace {
const hls__calls& calls() {
  return *hls__library.calls;
}
}  // namespace

extern "C" {

kernel__loop kernel__enter(long interval, long depth, unsigned unroll) {
  kernel__loop loop{};
  loop.started = -1;
  loop.interval = interval;
  loop.unroll = unroll;
  if (depth != KERNEL__NO_PIPELINE) calls().begin_pipeline(&loop, depth, __builtin_return_address(0));
  return loop;
}
int kernel__within(kernel__loop* loop) {
  return !loop->used++;
}
void kernel__iterate(kernel__loop* loop) {
  calls().iterate(loop, __builtin_return_address(0));
}
void kernel__leave(kernel__loop* loop) {
  calls().leave(loop);
}

static inline void uses(unsigned long address, unsigned long bytes, int writes, const void* from) {
  const auto inside = [address](int k) { return address - hls__library.memory[k] < hls__library.memory_bytes[k]; };
  if (inside(0) || inside(1) || address < LOWEST_VALID) calls().memory(address, bytes, writes, from);
}

#define EXITS(name)                                   \
  void __wrap_##name(int code) {                      \
    calls().exits(code, __builtin_return_address(0)); \
  }
EXITS(exit)
EXITS(_exit)
EXITS(_Exit)
EXITS(quick_exit)
void __wrap_abort() {
  calls().exits(HLS__ABORTS, __builtin_return_address(0));
}

[[noreturn]] void __real___cxa_throw(void* thrown, void* type, void (*destroy)(void*));
[[noreturn]] void __wrap___cxa_throw(void* thrown, void* type, void (*destroy)(void*)) {
  calls().throws(thrown, __builtin_return_address(0));
  __real___cxa_throw(thrown, type, destroy);
}
}
