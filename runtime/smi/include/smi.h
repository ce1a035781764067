/* SPDX-License-Identifier: Apache-2.0
 *
 * SMI, the streaming message interface, for kernels in OpenCL C, C and C++ that run in simulated time. Names, argument
 * order and values follow the paper (T. De Matteis et al., SC '19) and its public reference implementation.
 *
 * Macros pass each call's source line and the type of its C variable. With SMI_EXTRACT the calls are plain functions,
 * for tools that search for them.
 */
#ifndef SMI_H
#define SMI_H

typedef enum { SMI_INT = 1, SMI_FLOAT = 2, SMI_DOUBLE = 3, SMI_CHAR = 4, SMI_SHORT = 5 } SMI_Datatype;
#if defined(__clang__) && !defined(SMI_EXTRACT)
/* Names of other implementations that this one rejects. */
#define SMI__NO_VECTOR \
  __attribute__((unavailable("SMI's datatypes are scalars here: push the elements of a vector one by one")))
#define SMI__NO_VECTORS(type) \
  type##2 SMI__NO_VECTOR, type##4 SMI__NO_VECTOR, type##8 SMI__NO_VECTOR, type##16 SMI__NO_VECTOR
enum {
  SMI__NO_VECTORS(SMI_INT),
  SMI__NO_VECTORS(SMI_FLOAT),
  SMI__NO_VECTORS(SMI_DOUBLE),
  SMI__NO_VECTORS(SMI_CHAR),
  SMI__NO_VECTORS(SMI_SHORT)
};
#undef SMI__NO_VECTORS
#undef SMI__NO_VECTOR
#ifdef __OPENCL_C_VERSION__
int get_compute_id(int dimension) __attribute__((
    unavailable("kernels are not replicated here: start one a compute unit, with its number as an argument")));
#define SMI__NO_ITEM(name)                                                                  \
  unsigned long name(unsigned dimension) __attribute__((overloadable, const,                \
                                                        unavailable("a kernel is one work " \
                                                                    "item: write the loop " \
                                                                    "over work items")))
SMI__NO_ITEM(get_global_id);
SMI__NO_ITEM(get_local_id);
SMI__NO_ITEM(get_group_id);
#undef SMI__NO_ITEM
#endif
#endif
typedef enum { SMI_ADD = 0, SMI_MAX = 1, SMI_MIN = 2 } SMI_Op;

/* Opaque state of a channel. */
#define SMI__CHANNEL(name)  \
  typedef struct name {     \
    unsigned long smi__[8]; \
  } name
SMI__CHANNEL(SMI_Channel);
SMI__CHANNEL(SMI_BChannel);
SMI__CHANNEL(SMI_RChannel);
SMI__CHANNEL(SMI_ScatterChannel);
SMI__CHANNEL(SMI_GatherChannel);
#undef SMI__CHANNEL

/* Own rank, number of ranks, and first and stride: its ranks in the cluster are first, first + stride, ... */
#ifdef __clang__
typedef int SMI_Comm __attribute__((ext_vector_type(4)));
#else
typedef int SMI_Comm __attribute__((vector_size(16)));
#endif

#ifdef __OPENCL_C_VERSION__
#define SMI__TEXT __constant const char*
#define SMI__PLACE __global void*
#else
#define SMI__TEXT const char*
#define SMI__PLACE void*
#endif

#define CLK_CHANNEL_MEM_FENCE 0x10 /* all accesses of a kernel are in program order */

/* Type that a pointer points to: SMI_Datatype, 0 if unknown, 6 for all other types. */
#ifdef __cplusplus
template <class T>
constexpr int smi__type_of() {
  return 6;
}
#define SMI__TYPE_IS(c_type, code)       \
  template <>                            \
  constexpr int smi__type_of<c_type>() { \
    return code;                         \
  }
SMI__TYPE_IS(void, 0)
SMI__TYPE_IS(int, SMI_INT)
SMI__TYPE_IS(unsigned, SMI_INT)
SMI__TYPE_IS(float, SMI_FLOAT)
SMI__TYPE_IS(double, SMI_DOUBLE)
SMI__TYPE_IS(char, SMI_CHAR)
SMI__TYPE_IS(signed char, SMI_CHAR)
SMI__TYPE_IS(unsigned char, SMI_CHAR)
SMI__TYPE_IS(short, SMI_SHORT)
SMI__TYPE_IS(unsigned short, SMI_SHORT)
#undef SMI__TYPE_IS
template <class T>
constexpr int smi__type(const volatile T*) {
  return smi__type_of<T>();
}
template <class T>
constexpr unsigned long smi__size(const volatile T*) {
  return sizeof(T);
}
constexpr unsigned long smi__size(const volatile void*) {
  return 0;
}
#define SMI__TYPE(data) smi__type(data), smi__size(data)
#else
#define SMI__IS(data, type) __builtin_types_compatible_p(__typeof__((0, *(data))), type)
#define SMI__TYPE(data)                                                                             \
  (SMI__IS(data, int) || SMI__IS(data, unsigned int)                                   ? SMI_INT    \
   : SMI__IS(data, float)                                                              ? SMI_FLOAT  \
   : SMI__IS(data, double)                                                             ? SMI_DOUBLE \
   : SMI__IS(data, char) || SMI__IS(data, signed char) || SMI__IS(data, unsigned char) ? SMI_CHAR   \
   : SMI__IS(data, short) || SMI__IS(data, unsigned short)                             ? SMI_SHORT  \
   : SMI__IS(data, void)                                                               ? 0          \
                                                                                       : 6),                                                                      \
      sizeof(__builtin_choose_expr(SMI__IS(data, void), 0, *(data)))
#endif
#define SMI__LINE __FILE__, __LINE__

#ifdef __cplusplus
extern "C" {
#endif
SMI_Channel smi__open_send(int count, int type, int peer, int port, SMI_Comm comm, int degree, SMI__TEXT file,
                           int line);
SMI_Channel smi__open_receive(int count, int type, int peer, int port, SMI_Comm comm, int degree, SMI__TEXT file,
                              int line);
SMI_BChannel smi__open_bcast(int count, int type, int port, int root, SMI_Comm comm, int degree, SMI__TEXT file,
                             int line);
SMI_RChannel smi__open_reduce(int count, int type, int op, int port, int root, SMI_Comm comm, int degree,
                              SMI__TEXT file, int line);
SMI_ScatterChannel smi__open_scatter(int send_count, int recv_count, int type, int port, int root, SMI_Comm comm,
                                     int degree, SMI__TEXT file, int line);
SMI_GatherChannel smi__open_gather(int send_count, int recv_count, int type, int port, int root, SMI_Comm comm,
                                   int degree, SMI__TEXT file, int line);
void smi__push(SMI_Channel* chan, const void* data, int type, unsigned long size, int flush, SMI__TEXT file, int line);
void smi__pop(SMI_Channel* chan, void* data, int type, unsigned long size, SMI__TEXT file, int line);
void smi__bcast(SMI_BChannel* chan, void* data, int type, unsigned long size, SMI__TEXT file, int line);
void smi__reduce(SMI_RChannel* chan, const void* send, int send_type, unsigned long send_size, void* receive,
                 int receive_type, unsigned long receive_size, SMI__TEXT file, int line);
void smi__scatter(SMI_ScatterChannel* chan, const void* send, int send_type, unsigned long send_size, void* receive,
                  int receive_type, unsigned long receive_size, SMI__TEXT file, int line);
void smi__gather(SMI_GatherChannel* chan, const void* send, int send_type, unsigned long send_size, void* receive,
                 int receive_type, unsigned long receive_size, SMI__TEXT file, int line);
SMI_Comm smi__world(void);
SMI_Comm smi__range(SMI_Comm comm, int first, int stride, int size, SMI__TEXT file, int line);
void smi__write(SMI__PLACE channel, const void* value, unsigned long size, SMI__TEXT file, int line);
void smi__read(SMI__PLACE channel, void* value, unsigned long size, SMI__TEXT file, int line);
int smi__try_write(SMI__PLACE channel, const void* value, unsigned long size, SMI__TEXT file, int line);
int smi__try_read(SMI__PLACE channel, void* value, unsigned long size, SMI__TEXT file, int line);
#ifdef __cplusplus
}
#endif

#define SMI_COMM_WORLD smi__world()

#if defined(SMI_EXTRACT)

#define SMI__OPEN(name, result, ...)   \
  result name(int count, __VA_ARGS__); \
  result name##_ad(int count, __VA_ARGS__, int asynch_degree)
#if defined(__cplusplus)
extern "C" {
#endif
SMI__OPEN(SMI_Open_send_channel, SMI_Channel, SMI_Datatype type, int destination, int port, SMI_Comm comm);
SMI__OPEN(SMI_Open_receive_channel, SMI_Channel, SMI_Datatype type, int source, int port, SMI_Comm comm);
SMI__OPEN(SMI_Open_recv_channel, SMI_Channel, SMI_Datatype type, int source, int port, SMI_Comm comm);
SMI__OPEN(SMI_Open_bcast_channel, SMI_BChannel, SMI_Datatype type, int port, int root, SMI_Comm comm);
SMI__OPEN(SMI_Open_reduce_channel, SMI_RChannel, SMI_Datatype type, SMI_Op op, int port, int root, SMI_Comm comm);
SMI__OPEN(SMI_Open_scatter_channel, SMI_ScatterChannel, int recv_count, SMI_Datatype type, int port, int root,
          SMI_Comm comm);
SMI__OPEN(SMI_Open_gather_channel, SMI_GatherChannel, int recv_count, SMI_Datatype type, int port, int root,
          SMI_Comm comm);
#undef SMI__OPEN
void SMI_Push(SMI_Channel* chan, void* data);
void SMI_Push_flush(SMI_Channel* chan, void* data, int immediate);
void SMI_Pop(SMI_Channel* chan, void* data);
void SMI_Bcast(SMI_BChannel* chan, void* data);
void SMI_Reduce(SMI_RChannel* chan, void* data_snd, void* data_rcv);
void SMI_Scatter(SMI_ScatterChannel* chan, void* data_snd, void* data_rcv);
void SMI_Gather(SMI_GatherChannel* chan, void* send_data, void* rcv_data);
SMI_Comm SMI_Comm_range(SMI_Comm comm, int first, int stride, int size);
int SMI_Comm_size(SMI_Comm comm);
int SMI_Comm_rank(SMI_Comm comm);
#if defined(__cplusplus)
}
#endif
#else

#define SMI_Comm_rank(comm) ((comm)[0])
#define SMI_Comm_size(comm) ((comm)[1])
/* The communicator of ranks first, first + stride, ..., size in total; the caller must be a member. */
#define SMI_Comm_range(comm, first, stride, size) smi__range(comm, first, stride, size, SMI__LINE)

#define SMI_Open_send_channel_ad(count, type, destination, port, comm, asynch_degree) \
  smi__open_send(count, type, destination, port, comm, asynch_degree, SMI__LINE)
#define SMI_Open_receive_channel_ad(count, type, source, port, comm, asynch_degree) \
  smi__open_receive(count, type, source, port, comm, asynch_degree, SMI__LINE)
#define SMI_Open_bcast_channel_ad(count, type, port, root, comm, asynch_degree) \
  smi__open_bcast(count, type, port, root, comm, asynch_degree, SMI__LINE)
#define SMI_Open_reduce_channel_ad(count, type, op, port, root, comm, asynch_degree) \
  smi__open_reduce(count, type, op, port, root, comm, asynch_degree, SMI__LINE)
#define SMI_Open_scatter_channel_ad(send_count, recv_count, type, port, root, comm, asynch_degree) \
  smi__open_scatter(send_count, recv_count, type, port, root, comm, asynch_degree, SMI__LINE)
#define SMI_Open_gather_channel_ad(send_count, recv_count, type, port, root, comm, asynch_degree) \
  smi__open_gather(send_count, recv_count, type, port, root, comm, asynch_degree, SMI__LINE)

/* -1: the asynchronicity degree is the capacity of the port's buffer. */
#define SMI_Open_send_channel(count, type, destination, port, comm) \
  smi__open_send(count, type, destination, port, comm, -1, SMI__LINE)
#define SMI_Open_receive_channel(count, type, source, port, comm) \
  smi__open_receive(count, type, source, port, comm, -1, SMI__LINE)
#define SMI_Open_recv_channel SMI_Open_receive_channel
#define SMI_Open_recv_channel_ad SMI_Open_receive_channel_ad
#define SMI_Open_bcast_channel(count, type, port, root, comm) \
  smi__open_bcast(count, type, port, root, comm, -1, SMI__LINE)
#define SMI_Open_reduce_channel(count, type, op, port, root, comm) \
  smi__open_reduce(count, type, op, port, root, comm, -1, SMI__LINE)
#define SMI_Open_scatter_channel(send_count, recv_count, type, port, root, comm) \
  smi__open_scatter(send_count, recv_count, type, port, root, comm, -1, SMI__LINE)
#define SMI_Open_gather_channel(send_count, recv_count, type, port, root, comm) \
  smi__open_gather(send_count, recv_count, type, port, root, comm, -1, SMI__LINE)

#define SMI_Push(chan, data) smi__push(chan, data, SMI__TYPE(data), 0, SMI__LINE)
#define SMI_Push_flush(chan, data, immediate) smi__push(chan, data, SMI__TYPE(data), immediate, SMI__LINE)
#define SMI_Pop(chan, data) smi__pop(chan, data, SMI__TYPE(data), SMI__LINE)
#define SMI_Bcast(chan, data) smi__bcast(chan, data, SMI__TYPE(data), SMI__LINE)
#define SMI_Reduce(chan, data_snd, data_rcv) \
  smi__reduce(chan, data_snd, SMI__TYPE(data_snd), data_rcv, SMI__TYPE(data_rcv), SMI__LINE)
#define SMI_Scatter(chan, data_snd, data_rcv) \
  smi__scatter(chan, data_snd, SMI__TYPE(data_snd), data_rcv, SMI__TYPE(data_rcv), SMI__LINE)
#define SMI_Gather(chan, send_data, rcv_data) \
  smi__gather(chan, send_data, SMI__TYPE(send_data), rcv_data, SMI__TYPE(rcv_data), SMI__LINE)

/* Channels between the kernels of a rank, as in Intel's OpenCL compiler. */
#if !defined(__cplusplus)
#define write_channel_intel(channel, value)                            \
  ({                                                                   \
    __typeof__((0, (channel))) smi__value = (value);                   \
    smi__write(&(channel), &smi__value, sizeof smi__value, SMI__LINE); \
  })
#define read_channel_intel(channel)                                   \
  ({                                                                  \
    __typeof__((0, (channel))) smi__value;                            \
    smi__read(&(channel), &smi__value, sizeof smi__value, SMI__LINE); \
    smi__value;                                                       \
  })
#define write_channel_nb_intel(channel, value)                             \
  ({                                                                       \
    __typeof__((0, (channel))) smi__value = (value);                       \
    smi__try_write(&(channel), &smi__value, sizeof smi__value, SMI__LINE); \
  })
#define read_channel_nb_intel(channel, valid)                                        \
  ({                                                                                 \
    __typeof__((0, (channel))) smi__value;                                           \
    *(valid) = smi__try_read(&(channel), &smi__value, sizeof smi__value, SMI__LINE); \
    smi__value;                                                                      \
  })
#else
template <class T>
void smi__write_value(T& channel, const T& value, const char* file, int line) {
  smi__write(&channel, &value, sizeof(T), file, line);
}
template <class T>
T smi__read_value(T& channel, const char* file, int line) {
  T value;
  smi__read(&channel, &value, sizeof(T), file, line);
  return value;
}
template <class T>
bool smi__try_write_value(T& channel, const T& value, const char* file, int line) {
  return smi__try_write(&channel, &value, sizeof(T), file, line);
}
template <class T>
T smi__try_read_value(T& channel, bool* valid, const char* file, int line) {
  T value{};
  *valid = smi__try_read(&channel, &value, sizeof(T), file, line);
  return value;
}
#define write_channel_intel(channel, value) smi__write_value(channel, value, SMI__LINE)
#define read_channel_intel(channel) smi__read_value(channel, SMI__LINE)
#define write_channel_nb_intel(channel, value) smi__try_write_value(channel, value, SMI__LINE)
#define read_channel_nb_intel(channel, valid) smi__try_read_value(channel, valid, SMI__LINE)
#endif

#endif

#endif
