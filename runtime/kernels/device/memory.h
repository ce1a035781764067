/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks a kernel library's memory accesses by the address sanitizer's instrumentation. Included once in each library, whose `uses` is
 * called before each access. Addresses below NOBODYS are never valid.
 */
#ifndef KERNEL_MEMORY_H
#define KERNEL_MEMORY_H
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
enum { LOWEST_VALID = 1 << 16 };
static inline void uses(unsigned long address, unsigned long bytes, int writes, const void* from);
#define FROM __builtin_return_address(0)
#define OF_SIZE(size)                                        \
  void __asan_load##size##_noabort(unsigned long address) {  \
    uses(address, size, 0, FROM);                            \
  }                                                          \
  void __asan_store##size##_noabort(unsigned long address) { \
    uses(address, size, 1, FROM);                            \
  }
OF_SIZE(1)
OF_SIZE(2)
OF_SIZE(4)
OF_SIZE(8)
OF_SIZE(16)
void __asan_loadN_noabort(unsigned long address, unsigned long bytes) {
  uses(address, bytes, 0, FROM);
}
void __asan_storeN_noabort(unsigned long address, unsigned long bytes) {
  uses(address, bytes, 1, FROM);
}
void __asan_handle_no_return(void) {}
/* Called by gcc around the dynamic initialization of a file's variables. */
void __asan_before_dynamic_init(const char* file) {
  (void)file;
}
void __asan_after_dynamic_init(void) {}

void* __real_memcpy(void* to, const void* from, size_t bytes);
void* __real_memmove(void* to, const void* from, size_t bytes);
void* __real_memset(void* to, int value, size_t bytes);
/* Nothing is used by 0 bytes. */
static inline void uses_all(const void* at, size_t bytes, int writes, const void* from) {
  if (bytes != 0) uses((unsigned long)at, bytes, writes, from);
}
void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  uses_all(from, bytes, 0, FROM);
  uses_all(to, bytes, 1, FROM);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  uses_all(from, bytes, 0, FROM);
  uses_all(to, bytes, 1, FROM);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, size_t bytes) {
  uses_all(to, bytes, 1, FROM);
  return __real_memset(to, value, bytes);
}
#ifdef __cplusplus
}
#endif
#endif
