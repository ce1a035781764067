/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of each kernel library: forwards the functions of smi.h and the compiler's hooks of memory accesses to the
 * runtime.
 */
#define _GNU_SOURCE
#include <string.h>

#include "calls.h"
#include "channels.h"
#include "loops.h"
#include "memory.h"
#include "smi.h"

struct smi__library smi__library = {SMI__CALLS_VERSION, 0, 0, 0};

#define CALLS smi__library.calls
#define LOCATION ((struct smi__location){file, (unsigned)line})

#define OPEN(channel, ...)                                                                           \
  do {                                                                                               \
    channel opened;                                                                                  \
    const struct smi__open open = {__VA_ARGS__,         .count = count,   .type = type,              \
                                   .port = port,        .degree = degree, .comm = (const int*)&comm, \
                                   .location = LOCATION};                                            \
    CALLS->open(&opened, &open);                                                                     \
    return opened;                                                                                   \
  } while (0)

SMI_Channel smi__open_send(int count, int type, int peer, int port, SMI_Comm comm, int degree, const char* file,
                           int line) {
  OPEN(SMI_Channel, .kind = SMI__SEND, .peer = peer);
}
SMI_Channel smi__open_receive(int count, int type, int peer, int port, SMI_Comm comm, int degree, const char* file,
                              int line) {
  OPEN(SMI_Channel, .kind = SMI__RECEIVE, .peer = peer);
}
SMI_BChannel smi__open_bcast(int count, int type, int port, int root, SMI_Comm comm, int degree, const char* file,
                             int line) {
  OPEN(SMI_BChannel, .kind = SMI__BCAST, .root = root);
}
SMI_RChannel smi__open_reduce(int count, int type, int op, int port, int root, SMI_Comm comm, int degree,
                              const char* file, int line) {
  OPEN(SMI_RChannel, .kind = SMI__REDUCE, .op = op, .root = root);
}
SMI_ScatterChannel smi__open_scatter(int count, int recv_count, int type, int port, int root, SMI_Comm comm, int degree,
                                     const char* file, int line) {
  OPEN(SMI_ScatterChannel, .kind = SMI__SCATTER, .other_count = recv_count, .root = root);
}
SMI_GatherChannel smi__open_gather(int count, int recv_count, int type, int port, int root, SMI_Comm comm, int degree,
                                   const char* file, int line) {
  OPEN(SMI_GatherChannel, .kind = SMI__GATHER, .other_count = recv_count, .root = root);
}

#define SEND ((struct smi__variable){(void*)send, send_type, send_size})
#define RECEIVE ((struct smi__variable){receive, receive_type, receive_size})

void smi__push(SMI_Channel* chan, const void* data, int type, unsigned long size, int flush, const char* file,
               int line) {
  CALLS->push(chan, (struct smi__variable){(void*)data, type, size}, flush, LOCATION);
}
void smi__pop(SMI_Channel* chan, void* data, int type, unsigned long size, const char* file, int line) {
  CALLS->pop(chan, (struct smi__variable){data, type, size}, LOCATION);
}
void smi__bcast(SMI_BChannel* chan, void* data, int type, unsigned long size, const char* file, int line) {
  const struct smi__variable both = {data, type, size};
  CALLS->collective(chan, SMI__BCAST, both, both, LOCATION);
}
void smi__reduce(SMI_RChannel* chan, const void* send, int send_type, unsigned long send_size, void* receive,
                 int receive_type, unsigned long receive_size, const char* file, int line) {
  CALLS->collective(chan, SMI__REDUCE, SEND, RECEIVE, LOCATION);
}
void smi__scatter(SMI_ScatterChannel* chan, const void* send, int send_type, unsigned long send_size, void* receive,
                  int receive_type, unsigned long receive_size, const char* file, int line) {
  CALLS->collective(chan, SMI__SCATTER, SEND, RECEIVE, LOCATION);
}
void smi__gather(SMI_GatherChannel* chan, const void* send, int send_type, unsigned long send_size, void* receive,
                 int receive_type, unsigned long receive_size, const char* file, int line) {
  CALLS->collective(chan, SMI__GATHER, SEND, RECEIVE, LOCATION);
}

SMI_Comm smi__world(void) {
  SMI_Comm comm;
  CALLS->world((int*)&comm);
  return comm;
}
SMI_Comm smi__range(SMI_Comm comm, int first, int stride, int size, const char* file, int line) {
  CALLS->range((int*)&comm, first, stride, size, LOCATION);
  return comm;
}

void smi__write(void* channel, const void* value, unsigned long size, const char* file, int line) {
  CALLS->write(channel, value, size, LOCATION);
}
void smi__read(void* channel, void* value, unsigned long size, const char* file, int line) {
  CALLS->read(channel, value, size, LOCATION);
}
int smi__try_write(void* channel, const void* value, unsigned long size, const char* file, int line) {
  return CALLS->try_write(channel, value, size, LOCATION);
}
int smi__try_read(void* channel, void* value, unsigned long size, const char* file, int line) {
  return CALLS->try_read(channel, value, size, LOCATION);
}

/* Loops, as loops.h declares them. */
struct kernel__loop kernel__enter(long interval, long depth, unsigned unroll) {
  struct kernel__loop loop = {.started = -1, .interval = interval, .unroll = unroll};
  if (depth != KERNEL__NO_PIPELINE) CALLS->begin_pipeline(&loop, depth, __builtin_return_address(0));
  return loop;
}
int kernel__within(struct kernel__loop* loop) {
  return !loop->used++;
}
void kernel__iterate(struct kernel__loop* loop) {
  CALLS->iterate(loop, __builtin_return_address(0));
}
void kernel__leave(struct kernel__loop* loop) {
  CALLS->leave(loop);
}
void smi__channel(void* to, void* address, unsigned long bytes, unsigned long element, long depth, const char* name) {
  CALLS->channel(to, address, bytes, element, depth, name);
}

static inline void uses(unsigned long address, unsigned long bytes, int writes, const void* from) {
  if (address - smi__library.memory < smi__library.memory_bytes || address < LOWEST_VALID)
    CALLS->memory(address, bytes, writes, from);
}

/* Functions that would end the run's process silently. */
#define EXITS(name)              \
  void __wrap_##name(int code) { \
    CALLS->exits(code, FROM);    \
  }
EXITS(exit)
EXITS(_exit)
EXITS(_Exit)
EXITS(quick_exit)

/* Present in C++ kernels only. */
__attribute__((weak, noreturn)) void __real___cxa_throw(void* thrown, void* type, void (*destroy)(void*));
__attribute__((noreturn)) void __wrap___cxa_throw(void* thrown, void* type, void (*destroy)(void*)) {
  CALLS->throws(thrown, FROM);
  __real___cxa_throw(thrown, type, destroy);
}
