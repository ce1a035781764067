/* SPDX-License-Identifier: Apache-2.0
 *
 * SMI for kernels in C++20: channels whose datatype and port are known at compile time. They wrap the channels of
 * smi.h, use the same hardware, and take the same number of cycles.
 *
 *   using app = smi::ports<smi::send_channel<float, 0>, smi::receive_channel<float, 0>>;   // each port once, with one type
 *
 *   __kernel void forward(int n, SMI_Comm all) {
 *     app::receive<0> in(n, 0, all);
 *     app::send<0> out(n, 2, all);
 *     for (float value : in) out.push(2 * value);
 *   }
 */
#ifndef SMI_HPP
#define SMI_HPP

#include "smi.h"

namespace smi {

template <class T>
concept element = (smi__type_of<T>() >= SMI_INT && smi__type_of<T>() <= SMI_SHORT);

/* A source line of the program, for messages. */
struct location {
  const char* file;
  int line;
  static constexpr location here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/* A group of ranks; by default all of them. */
class communicator {
 public:
  communicator() : comm_(smi__world()) {}
  communicator(SMI_Comm comm) : comm_(comm) {}

  int rank() const { return comm_[0]; }
  int size() const { return comm_[1]; }
  /* The communicator of its ranks first, first + stride, ..., `size` in total; the caller must be a member. */
  communicator range(int first, int stride, int size, location where = location::here()) const {
    return smi__range(comm_, first, stride, size, where.file, where.line);
  }
  operator SMI_Comm() const { return comm_; }

 private:
  SMI_Comm comm_;
};

enum class kind { send, receive, broadcast, scatter, gather, reduce };

/* Common part of all channels. A channel belongs to one kernel: it can be moved, not copied. */
template <kind Kind, element T, int Port, class Opened>
class opened_channel {
  static_assert(Port >= 0 && Port < 256, "a port is a number from 0 to 255");

 public:
  using value_type = T;
  static constexpr kind of_kind = Kind;
  static constexpr int port = Port;

  opened_channel(opened_channel&&) = default;
  opened_channel& operator=(opened_channel&&) = default;
  opened_channel(const opened_channel&) = delete;
  opened_channel& operator=(const opened_channel&) = delete;

 protected:
  static constexpr int type = smi__type_of<T>();
  explicit opened_channel(const Opened& opened) : opened_(opened) {}

  Opened opened_;
};

/* Sends `count` elements to a rank. The default asynchronicity degree is the capacity of the port's buffer. */
template <element T, int Port>
class send_channel : public opened_channel<kind::send, T, Port, SMI_Channel> {
  using base = opened_channel<kind::send, T, Port, SMI_Channel>;

 public:
  send_channel(int count, int destination, const communicator& comm = {}, int degree = -1,
               location where = location::here())
      : base(smi__open_send(count, base::type, destination, Port, comm, degree, where.file, where.line)) {}

  template <class U>
  void push(const U& value, location where = location::here()) {
    push_value(value, 0, where);
  }
  /* Sends the packet at once, even if it is not full. */
  template <class U>
  void push_flush(const U& value, location where = location::here()) {
    push_value(value, 1, where);
  }
  /* Pushes one value per cycle. */
  template <class Range>
  void push_all(const Range& values, location where = location::here()) {
    for (const auto& value : values) push(value, where);
  }
  void push_all(const T* values, int count, location where = location::here()) {
    for (int i = 0; i < count; ++i) push(values[i], where);
  }

 private:
  template <class U>
  void push_value(const U& value, int flush, location where) {
    static_assert(__is_same(U, T), "the pushed value has another type than the channel");
    smi__push(&this->opened_, &value, base::type, sizeof(T), flush, where.file, where.line);
  }
};

/* Receives `count` elements from a rank, by pop(), or all remaining ones by `for (T value : channel)`. */
template <element T, int Port>
class receive_channel : public opened_channel<kind::receive, T, Port, SMI_Channel> {
  using base = opened_channel<kind::receive, T, Port, SMI_Channel>;

 public:
  receive_channel(int count, int source, const communicator& comm = {}, int degree = -1,
                  location where = location::here())
      : base(smi__open_receive(count, base::type, source, Port, comm, degree, where.file, where.line)), left_(count) {}

  T pop(location where = location::here()) {
    T value;
    smi__pop(&this->opened_, &value, base::type, sizeof(T), where.file, where.line);
    --left_;
    return value;
  }
  int left() const { return left_; }

  struct end_of_message {};
  /* Each dereference pops an element. */
  class iterator {
   public:
    iterator(receive_channel& from, location where) : from_(&from), where_(where) {}
    T operator*() const { return from_->pop(where_); }
    iterator& operator++() { return *this; }
    bool operator!=(end_of_message) const { return from_->left_ > 0; }

   private:
    receive_channel* from_;
    location where_;
  };
  iterator begin(location where = location::here()) { return {*this, where}; }
  end_of_message end() const { return {}; }

 private:
  int left_;
};

/* Broadcasts `count` elements of the root to all ranks. */
template <element T, int Port>
class broadcast_channel : public opened_channel<kind::broadcast, T, Port, SMI_BChannel> {
  using base = opened_channel<kind::broadcast, T, Port, SMI_BChannel>;

 public:
  broadcast_channel(int count, int root, const communicator& comm = {}, int degree = -1,
                    location where = location::here())
      : base(smi__open_bcast(count, base::type, Port, root, comm, degree, where.file, where.line)) {}

  /* Returns the root's value. */
  T share(T value = {}, location where = location::here()) {
    smi__bcast(&this->opened_, &value, base::type, sizeof(T), where.file, where.line);
    return value;
  }
};

/* Reduces `count` elements of each rank to the root. */
template <element T, int Port, SMI_Op Op>
class reduce_channel : public opened_channel<kind::reduce, T, Port, SMI_RChannel> {
  using base = opened_channel<kind::reduce, T, Port, SMI_RChannel>;

 public:
  reduce_channel(int count, int root, const communicator& comm = {}, int degree = -1, location where = location::here())
      : base(smi__open_reduce(count, base::type, Op, Port, root, comm, degree, where.file, where.line)) {}

  /* Returns the combined value at the root. */
  T combine(const T& value, location where = location::here()) {
    T all{};
    smi__reduce(&this->opened_, &value, base::type, sizeof(T), &all, base::type, sizeof(T), where.file, where.line);
    return all;
  }
};

/* Scatters `count` elements to each rank, which the root passes in rank order. */
template <element T, int Port>
class scatter_channel : public opened_channel<kind::scatter, T, Port, SMI_ScatterChannel> {
  using base = opened_channel<kind::scatter, T, Port, SMI_ScatterChannel>;

 public:
  scatter_channel(int count, int root, const communicator& comm = {}, int degree = -1,
                  location where = location::here())
      : base(smi__open_scatter(count, count, base::type, Port, root, comm, degree, where.file, where.line)) {}

  /* The root passes a value for each element of all ranks. All ranks, including the root, receive their own part. */
  T part(const T& value = {}, location where = location::here()) {
    T own{};
    smi__scatter(&this->opened_, &value, base::type, sizeof(T), &own, base::type, sizeof(T), where.file, where.line);
    return own;
  }
};

/* Gathers `count` elements of each rank, which the root receives in rank order. */
template <element T, int Port>
class gather_channel : public opened_channel<kind::gather, T, Port, SMI_GatherChannel> {
  using base = opened_channel<kind::gather, T, Port, SMI_GatherChannel>;

 public:
  gather_channel(int count, int root, const communicator& comm = {}, int degree = -1, location where = location::here())
      : base(smi__open_gather(count, count, base::type, Port, root, comm, degree, where.file, where.line)) {}

  /* Each call at the root returns one element; its own values are used in its turn. */
  T collect(const T& value = {}, location where = location::here()) {
    T all{};
    smi__gather(&this->opened_, &value, base::type, sizeof(T), &all, base::type, sizeof(T), where.file, where.line);
    return all;
  }
};

/* Finds the channel of a kind and port. */
template <kind Kind, int Port, class... Channels>
struct find {
  static_assert(Port < 0, "the program has no such port");
};
template <kind Kind, int Port, class First, class... Others>
struct find<Kind, Port, First, Others...> : find<Kind, Port, Others...> {};
template <kind Kind, int Port, class First, class... Others>
  requires(First::of_kind == Kind && First::port == Port)
struct find<Kind, Port, First, Others...> {
  using type = First;
};

/* True if a program may have both: a port is used once, or for both sending and receiving elements of one type. */
template <class A, class B>
constexpr bool agree =
    A::port != B::port || (A::of_kind != B::of_kind && A::of_kind <= kind::receive && B::of_kind <= kind::receive &&
                           __is_same(typename A::value_type, typename B::value_type));

/* All channels of a program; send<3>, reduce<4>, ... are the channels by port. */
template <class... Channels>
struct ports {
  template <class A>
  static constexpr int clashes = (0 + ... + !agree<A, Channels>);
  static_assert((0 + ... + clashes<Channels>) == sizeof...(Channels),  // each one clashes with itself only
                "a port is used twice, or with two types");

  template <int Port>
  using send = typename find<kind::send, Port, Channels...>::type;
  template <int Port>
  using receive = typename find<kind::receive, Port, Channels...>::type;
  template <int Port>
  using broadcast = typename find<kind::broadcast, Port, Channels...>::type;
  template <int Port>
  using scatter = typename find<kind::scatter, Port, Channels...>::type;
  template <int Port>
  using gather = typename find<kind::gather, Port, Channels...>::type;
  template <int Port>
  using reduce = typename find<kind::reduce, Port, Channels...>::type;
};

}  // namespace smi

#endif
