// SPDX-License-Identifier: Apache-2.0
// Streams of HLS kernels with the vendor's interface, in simulated time: each end moves at most a word per cycle.
#pragma once
#pragma GCC system_header

#include "thalweg_hls.hpp"

namespace hls {

template <class T, int Depth = 0>
class stream;

template <class T>
class stream<T, 0> : public thalweg_hls::Stream<T> {
  using Base = thalweg_hls::Stream<T>;

 public:
  using value_type = T;

  explicit stream(const char* name = "") : Base(name, 2) {}
  explicit stream(const std::string& name) : Base(name.c_str(), 2) {}
  explicit stream(thalweg_hls::Attached to) : Base(to) {}

  T read(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) { return Base::pop(file, line); }
  void read(T& to, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    to = Base::pop(file, line);
  }
  void write(const T& value, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    Base::push(value, file, line);
  }
  void operator>>(T& to) { read(to); }
  void operator<<(const T& value) { write(value); }
  bool read_nb(T& to) { return Base::try_pop(to); }
  bool write_nb(const T& value) { return Base::try_push(value); }
  bool empty() const { return Base::is_empty(); }
  bool full() const { return Base::is_full(); }
  std::size_t size() const { return Base::words(); }

 protected:
  stream(const char* name, int depth) : Base(name, static_cast<unsigned long>(depth)) {}
};

/// A stream with a depth.
template <class T, int Depth>
class stream : public stream<T, 0> {
 public:
  explicit stream(const char* name = "") : stream<T, 0>(name, Depth) {}
  explicit stream(const std::string& name) : stream(name.c_str()) {}
  explicit stream(thalweg_hls::Attached to) : stream<T, 0>(to) {}
};

}  // namespace hls
