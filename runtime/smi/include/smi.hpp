/* SPDX-License-Identifier: Apache-2.0
 *
 * SMI for kernels in C++20: channels that know their datatype and port when they are compiled. They are those of smi.h, use the same hardware, and take
 * the same cycles.
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

/* A line of the program, for reports. */
struct place {
  const char* file;
  int line;
  static constexpr place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

/* Ranks that belong together; all of them, where nothing else is said. */
class communicator {
 public:
  communicator() : of_(smi__world()) {}
  communicator(SMI_Comm comm) : of_(comm) {}

  int rank() const { return of_[0]; }
  int size() const { return of_[1]; }
  /* Of it the ranks first, first + stride, ..., `size` of them; the caller has to be one. */
  communicator range(int first, int stride, int size, place at = place::here()) const {
    return smi__range(of_, first, stride, size, at.file, at.line);
  }
  operator SMI_Comm() const { return of_; }

 private:
  SMI_Comm of_;
};

enum class kind { send, receive, broadcast, scatter, gather, reduce };

/* What channels have in common. A channel is its kernel's own: it can be moved, not copied. */
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

/* `count` elements to a rank. Without a degree of asynchronicity it is what the port's buffer holds. */
template <element T, int Port>
class send_channel : public opened_channel<kind::send, T, Port, SMI_Channel> {
  using base = opened_channel<kind::send, T, Port, SMI_Channel>;

 public:
  send_channel(int count, int destination, const communicator& comm = {}, int degree = -1, place at = place::here())
      : base(smi__open_send(count, base::type, destination, Port, comm, degree, at.file, at.line)) {}

  template <class U>
  void push(const U& value, place at = place::here()) {
    give(value, 0, at);
  }
  /* Its packet leaves at once. */
  template <class U>
  void push_flush(const U& value, place at = place::here()) {
    give(value, 1, at);
  }
  /* One after the other, a cycle each. */
  template <class Range>
  void push_all(const Range& values, place at = place::here()) {
    for (const auto& value : values) push(value, at);
  }
  void push_all(const T* values, int count, place at = place::here()) {
    for (int i = 0; i < count; ++i) push(values[i], at);
  }

 private:
  template <class U>
  void give(const U& value, int flush, place at) {
    static_assert(__is_same(U, T), "what is pushed is of another type than the channel");
    smi__push(&this->opened_, &value, base::type, sizeof(T), flush, at.file, at.line);
  }
};

/* `count` elements from a rank: popped, or all that are left, `for (T value : channel)`. */
template <element T, int Port>
class receive_channel : public opened_channel<kind::receive, T, Port, SMI_Channel> {
  using base = opened_channel<kind::receive, T, Port, SMI_Channel>;

 public:
  receive_channel(int count, int source, const communicator& comm = {}, int degree = -1, place at = place::here())
      : base(smi__open_receive(count, base::type, source, Port, comm, degree, at.file, at.line)), left_(count) {}

  T pop(place at = place::here()) {
    T value;
    smi__pop(&this->opened_, &value, base::type, sizeof(T), at.file, at.line);
    --left_;
    return value;
  }
  int left() const { return left_; }

  struct end_of_message {};
  /* Each look at an element takes it. */
  class iterator {
   public:
    iterator(receive_channel& from, place at) : from_(&from), at_(at) {}
    T operator*() const { return from_->pop(at_); }
    iterator& operator++() { return *this; }
    bool operator!=(end_of_message) const { return from_->left_ > 0; }

   private:
    receive_channel* from_;
    place at_;
  };
  iterator begin(place at = place::here()) { return {*this, at}; }
  end_of_message end() const { return {}; }

 private:
  int left_;
};

/* `count` elements of the root's, to all ranks. */
template <element T, int Port>
class broadcast_channel : public opened_channel<kind::broadcast, T, Port, SMI_BChannel> {
  using base = opened_channel<kind::broadcast, T, Port, SMI_BChannel>;

 public:
  broadcast_channel(int count, int root, const communicator& comm = {}, int degree = -1, place at = place::here())
      : base(smi__open_bcast(count, base::type, Port, root, comm, degree, at.file, at.line)) {}

  /* The root's value. */
  T share(T value = {}, place at = place::here()) {
    smi__bcast(&this->opened_, &value, base::type, sizeof(T), at.file, at.line);
    return value;
  }
};

/* `count` elements of each rank, combined for the root. */
template <element T, int Port, SMI_Op Op>
class reduce_channel : public opened_channel<kind::reduce, T, Port, SMI_RChannel> {
  using base = opened_channel<kind::reduce, T, Port, SMI_RChannel>;

 public:
  reduce_channel(int count, int root, const communicator& comm = {}, int degree = -1, place at = place::here())
      : base(smi__open_reduce(count, base::type, Op, Port, root, comm, degree, at.file, at.line)) {}

  /* At the root what comes of all ranks' values. */
  T combine(const T& value, place at = place::here()) {
    T all{};
    smi__reduce(&this->opened_, &value, base::type, sizeof(T), &all, base::type, sizeof(T), at.file, at.line);
    return all;
  }
};

/* `count` elements for each rank, which the root gives in the order of the ranks. */
template <element T, int Port>
class scatter_channel : public opened_channel<kind::scatter, T, Port, SMI_ScatterChannel> {
  using base = opened_channel<kind::scatter, T, Port, SMI_ScatterChannel>;

 public:
  scatter_channel(int count, int root, const communicator& comm = {}, int degree = -1, place at = place::here())
      : base(smi__open_scatter(count, count, base::type, Port, root, comm, degree, at.file, at.line)) {}

  /* The root gives a value for each element of all ranks; it gets those of its own, as the others do. */
  T part(const T& value = {}, place at = place::here()) {
    T own{};
    smi__scatter(&this->opened_, &value, base::type, sizeof(T), &own, base::type, sizeof(T), at.file, at.line);
    return own;
  }
};

/* `count` elements of each rank, which the root gets in the order of the ranks. */
template <element T, int Port>
class gather_channel : public opened_channel<kind::gather, T, Port, SMI_GatherChannel> {
  using base = opened_channel<kind::gather, T, Port, SMI_GatherChannel>;

 public:
  gather_channel(int count, int root, const communicator& comm = {}, int degree = -1, place at = place::here())
      : base(smi__open_gather(count, count, base::type, Port, root, comm, degree, at.file, at.line)) {}

  /* The root gets an element of all ranks at each call; its own count where it is its turn. */
  T collect(const T& value = {}, place at = place::here()) {
    T all{};
    smi__gather(&this->opened_, &value, base::type, sizeof(T), &all, base::type, sizeof(T), at.file, at.line);
    return all;
  }
};

/* The one of some channels that has a kind and a port. */
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

/* Can both be a program's? A port is used once, or to send and to receive elements of one type. */
template <class A, class B>
constexpr bool agree =
    A::port != B::port || (A::of_kind != B::of_kind && A::of_kind <= kind::receive && B::of_kind <= kind::receive &&
                           __is_same(typename A::value_type, typename B::value_type));

/* All channels of a program; send<3>, reduce<4>, ... are those of its ports. */
template <class... Channels>
struct ports {
  template <class A>
  static constexpr int clashes = (0 + ... + !agree<A, Channels>);
  static_assert((0 + ... + clashes<Channels>) == sizeof...(Channels),  // each with itself
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
