/* SPDX-License-Identifier: Apache-2.0
 *
 * Between compiled kernels and the runtime that they run in: the runtime puts a table of functions into each library of kernels.
 * Plain C, for both sides.
 */
#ifndef SMI_CALLS_H
#define SMI_CALLS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { SMI__CALLS_VERSION = 4 };

/* Of a variable that a call gets: what smi.h's SMI__TYPE says of it. */
struct smi__variable {
  void* data;
  int type;
  unsigned long size;
};

struct smi__place {
  const char* file;
  unsigned line;
};

struct kernel__loop; /* loops.h */

enum smi__kind { SMI__SEND, SMI__RECEIVE, SMI__BCAST, SMI__SCATTER, SMI__GATHER, SMI__REDUCE };

struct smi__open {
  int kind, count, other_count, type, op, peer, root, port, degree;
  const int* comm;
  struct smi__place place;
};

struct smi__calls {
  void (*open)(void* channel, const struct smi__open* open);
  void (*push)(void* channel, struct smi__variable value, int flush, struct smi__place place);
  void (*pop)(void* channel, struct smi__variable value, struct smi__place place);
  void (*collective)(void* channel, enum smi__kind kind, struct smi__variable send, struct smi__variable receive,
                     struct smi__place place);
  void (*world)(int* comm);
  void (*range)(int* comm, int first, int stride, int size, struct smi__place place);
  void (*write)(void* channel, const void* value, unsigned long size, struct smi__place place);
  void (*read)(void* channel, void* value, unsigned long size, struct smi__place place);
  int (*try_write)(void* channel, const void* value, unsigned long size, struct smi__place place);
  int (*try_read)(void* channel, void* value, unsigned long size, struct smi__place place);
  /* A turn of a loop begins, in the code before `from`; the loop is left. */
  void (*turn)(struct kernel__loop* loop, const void* from);
  void (*leave)(struct kernel__loop* loop);
  void (*begin_pipeline)(struct kernel__loop* loop, long depth, const void* from);
  /* Calls of the C library by the code before `from`: that ends the process, and what is thrown. */
  void (*exits)(int code, const void* from);
  void (*throws)(const void* thrown, const void* from);
  /* Memory of a bank, or none at all, is about to be read or written, by the code before `from`. */
  void (*memory)(unsigned long address, unsigned long bytes, int writes, const void* from);
  /* Called by a library that is asked for its channels. */
  void (*channel)(void* to, void* place, unsigned long bytes, unsigned long element, long depth, const char* name);
};

/* What a library of kernels exports: */
/*   struct smi__library smi__library, and of each kernel void smi__call_NAME(void** arguments) */
struct smi__library {
  int version;
  const struct smi__calls* calls;
  unsigned long memory, memory_bytes; /* the addresses that all banks' memory lies in */
};

#ifdef __cplusplus
}
#endif
#endif
