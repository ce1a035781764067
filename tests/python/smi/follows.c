/* SPDX-License-Identifier: Apache-2.0
 *
 * Four kernels, each of which executes a list of steps given as an argument: any program of SMI, without compiling it. A
 * kernel writes the elements that it receives to `out`, as doubles, in order.
 */
enum { OPEN, PUSH, POP, FORWARD, EXCHANGE, COLLECTIVE, WRITE, READ, PAUSE };
enum { SEND, RECEIVE, BROADCAST, SCATTER, GATHER, REDUCE };

struct step {
  int what, slot, other, count, from; /* slots of channels; number of elements, and index of the first one */
  int kind, type, op, peer, port, degree;
  int first, stride, size; /* the communicator; a size of 0: all ranks */
  int seed, flush;
};
struct steps {
  int number;
  struct step of[47];
};
union channel {
  SMI_Channel point;
  SMI_BChannel broadcast;
  SMI_ScatterChannel scatter;
  SMI_GatherChannel gather;
  SMI_RChannel reduce;
  unsigned long words[8];
};
struct opened {
  union channel channel;
  int kind, type, own, root, count;
};
union value {
  int of_int;
  float of_float;
  double of_double;
  signed char of_char;
  short of_short;
};

channel int pipes[4] __attribute__((depth(4)));

static unsigned mixed(unsigned seed, unsigned i) {
  unsigned h = seed ^ (i * 0x9E3779B1u);
  h = (h ^ (h >> 15)) * 0x85EBCA77u;
  return h ^ (h >> 13);
}
/* Elements of a reduction are small, so that sums are exact in any order and equal in all types. */
static union value element(const struct opened* of, unsigned seed, unsigned i) {
  union value value;
  const unsigned h = mixed(seed, i);
  const int small = (int)(h % 31) - 15, whole = of->kind == REDUCE ? small : (int)h;
  switch (of->type) {
    case SMI_INT:
      value.of_int = whole;
      break;
    case SMI_FLOAT:
      value.of_float = (float)(of->kind == REDUCE ? small : (int)h >> 8);
      break;
    case SMI_DOUBLE:
      value.of_double = whole;
      break;
    case SMI_CHAR:
      value.of_char = (signed char)whole;
      break;
    default:
      value.of_short = (short)whole;
  }
  return value;
}
static double number(int type, union value value) {
  switch (type) {
    case SMI_INT:
      return value.of_int;
    case SMI_FLOAT:
      return value.of_float;
    case SMI_DOUBLE:
      return value.of_double;
    case SMI_CHAR:
      return value.of_char;
    default:
      return value.of_short;
  }
}

static void open(struct opened* to, const struct step* step) {
  const SMI_Comm all = SMI_COMM_WORLD;
  const SMI_Comm comm = step->size ? SMI_Comm_range(all, step->first, step->stride, step->size) : all;
  const int count = step->count, type = step->type, peer = step->peer, port = step->port, degree = step->degree;
  to->kind = step->kind, to->type = type, to->own = SMI_Comm_rank(comm), to->root = peer, to->count = count;
  switch (step->kind) {
    case SEND:
      to->channel.point = degree < 0 ? SMI_Open_send_channel(count, type, peer, port, comm)
                                     : SMI_Open_send_channel_ad(count, type, peer, port, comm, degree);
      break;
    case RECEIVE:
      to->channel.point = degree < 0 ? SMI_Open_receive_channel(count, type, peer, port, comm)
                                     : SMI_Open_receive_channel_ad(count, type, peer, port, comm, degree);
      break;
    case BROADCAST:
      to->channel.broadcast = SMI_Open_bcast_channel_ad(count, type, port, peer, comm, degree);
      break;
    case SCATTER:
      to->channel.scatter = SMI_Open_scatter_channel_ad(count, count, type, port, peer, comm, degree);
      break;
    case GATHER:
      to->channel.gather = SMI_Open_gather_channel_ad(count, count, type, port, peer, comm, degree);
      break;
    default:
      to->channel.reduce = SMI_Open_reduce_channel_ad(count, type, step->op, port, peer, comm, degree);
  }
}

/* In scatter and gather the root calls for each rank's part; an element is indexed within its own part. Returns true
 * if it received an element. */
static int collective(struct opened* of, unsigned seed, int i, union value* got) {
  const int root = of->own == of->root, part = i / of->count, own = part == of->own;
  union value given;
  switch (of->kind) {
    case BROADCAST:
      if (root) *got = element(of, seed, i);
      SMI_Bcast(&of->channel.broadcast, (void*)got);
      return !root;
    case SCATTER:
      given = element(of, seed, i);
      SMI_Scatter(&of->channel.scatter, (void*)&given, (void*)got);
      return !root || own;
    case GATHER:
      given = element(of, seed, root ? i - part * of->count : i);
      SMI_Gather(&of->channel.gather, (void*)&given, (void*)got);
      return root;
    default:
      given = element(of, seed, i);
      SMI_Reduce(&of->channel.reduce, (void*)&given, (void*)got);
      return root;
  }
}

static void follow(const struct steps* steps, __global double* out) {
  struct opened slots[48];
  union value value;
#pragma unroll
  for (int s = 0; s < steps->number; ++s) {
    const struct step* step = &steps->of[s];
    struct opened *one = &slots[step->slot], *two = &slots[step->other];
    const int end = step->from + step->count;
    switch (step->what) {
      case OPEN:
        open(one, step);
        break;
      case PUSH:
        for (int i = step->from; i < end; ++i) {
          value = element(one, step->seed, i);
          SMI_Push_flush(&one->channel.point, (void*)&value, step->flush);
        }
        break;
      case POP:
        for (int i = step->from; i < end; ++i) {
          SMI_Pop(&one->channel.point, (void*)&value);
          *out++ = number(one->type, value);
        }
        break;
      case FORWARD:
        for (int i = step->from; i < end; ++i) {
          SMI_Pop(&one->channel.point, (void*)&value);
          *out++ = number(one->type, value);
          SMI_Push(&two->channel.point, (void*)&value);
        }
        break;
      case EXCHANGE:
        for (int i = step->from; i < end; ++i) {
          value = element(one, step->seed, i);
          SMI_Push_flush(&one->channel.point, (void*)&value, 1);
          SMI_Pop(&two->channel.point, (void*)&value);
          *out++ = number(two->type, value);
        }
        break;
      case COLLECTIVE:
        for (int i = step->from; i < end; ++i)
          if (collective(one, step->seed, i, &value)) *out++ = number(one->type, value);
        break;
      case WRITE:
        for (int i = step->from; i < end; ++i) write_channel_intel(pipes[step->slot], (int)mixed(step->seed, i));
        break;
      case READ:
        for (int i = step->from; i < end; ++i) *out++ = read_channel_intel(pipes[step->slot]);
        break;
      default:
        for (int i = 0; i < step->count; ++i) __asm__ volatile("");
    }
  }
}

__kernel void kernel_0(const struct steps steps, __global double* out) {
  follow(&steps, out);
}
__kernel void kernel_1(const struct steps steps, __global double* out) {
  follow(&steps, out);
}
__kernel void kernel_2(const struct steps steps, __global double* out) {
  follow(&steps, out);
}
__kernel void kernel_3(const struct steps steps, __global double* out) {
  follow(&steps, out);
}
