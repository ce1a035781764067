/* SPDX-License-Identifier: Apache-2.0
 *
 * Interface between compiled kernels and their runtime, which sets a table of functions in each kernel library. Plain
 * C, for both sides.
 */
#ifndef SMI_CALLS_H
#define SMI_CALLS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { SMI__CALLS_VERSION = 4 };

/* A variable passed to a call, with the type and size from smi.h's SMI__TYPE. */
struct smi__variable {
  void* data;
  int type;
  unsigned long size;
};

struct smi__location {
  const char* file;
  unsigned line;
};

struct kernel__loop; /* loops.h */

enum smi__kind { SMI__SEND, SMI__RECEIVE, SMI__BCAST, SMI__SCATTER, SMI__GATHER, SMI__REDUCE };

struct smi__open {
  int kind, count, other_count, type, op, peer, root, port, degree;
  const int* comm;
  struct smi__location location;
};

struct smi__calls {
  void (*open)(void* channel, const struct smi__open* open);
  void (*push)(void* channel, struct smi__variable value, int flush, struct smi__location location);
  void (*pop)(void* channel, struct smi__variable value, struct smi__location location);
  void (*collective)(void* channel, enum smi__kind kind, struct smi__variable send, struct smi__variable receive,
                     struct smi__location location);
  void (*world)(int* comm);
  void (*range)(int* comm, int first, int stride, int size, struct smi__location location);
  void (*write)(void* channel, const void* value, unsigned long size, struct smi__location location);
  void (*read)(void* channel, void* value, unsigned long size, struct smi__location location);
  int (*try_write)(void* channel, const void* value, unsigned long size, struct smi__location location);
  int (*try_read)(void* channel, void* value, unsigned long size, struct smi__location location);
  /* An iteration starts; the loop ends. `from` is the return address. */
  void (*iterate)(struct kernel__loop* loop, const void* from);
  void (*leave)(struct kernel__loop* loop);
  void (*begin_pipeline)(struct kernel__loop* loop, long depth, const void* from);
  /* C library calls that end the process, and exceptions. */
  void (*exits)(int code, const void* from);
  void (*throws)(const void* thrown, const void* from);
  /* An access to a bank's memory or an invalid address, before it happens. */
  void (*memory)(unsigned long address, unsigned long bytes, int writes, const void* from);
  /* A library's smi__channels() calls it for each channel. */
  void (*channel)(void* to, void* address, unsigned long bytes, unsigned long element, long depth, const char* name);
};

/* Exports of a kernel library: */
/*   struct smi__library smi__library, and void smi__call_NAME(void** arguments) for each kernel */
struct smi__library {
  int version;
  const struct smi__calls* calls;
  unsigned long memory, memory_bytes; /* address range of all banks' memory */
};

#ifdef __cplusplus
}
#endif
#endif
