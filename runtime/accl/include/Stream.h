// SPDX-License-Identifier: Apache-2.0
// Streams of kernels with hlslib's interface, in simulated time: each end moves at most a word per cycle.
#pragma once
#pragma GCC system_header

#include "thalweg_hls.hpp"

namespace hlslib {

enum class Storage { Unspecified, BRAM, LUTRAM, SRL };

template <class T, unsigned Depth = 0, Storage storage = Storage::Unspecified>
class Stream;

template <class T>
class Stream<T, 0, Storage::Unspecified> : public thalweg_hls::Stream<T> {
  using Base = thalweg_hls::Stream<T>;

 public:
  explicit Stream(const char* name = "") : Base(name, 2) {}
  Stream(const char* name, std::size_t depth) : Base(name, depth) {}
  explicit Stream(std::size_t depth) : Base("", depth) {}
  explicit Stream(thalweg_hls::Attached to) : Base(to) {}

  T Pop(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) { return Base::pop(file, line); }
  T read(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) { return Base::pop(file, line); }
  void read(T& to, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    to = Base::pop(file, line);
  }
  T ReadBlocking(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return Base::pop(file, line);
  }
  void Push(const T& value, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    Base::push(value, file, line);
  }
  void write(const T& value, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    Base::push(value, file, line);
  }
  void WriteBlocking(const T& value, const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    Base::push(value, file, line);
  }
  bool ReadNonBlocking(T& to) { return Base::try_pop(to); }
  bool WriteNonBlocking(const T& value) { return Base::try_push(value); }
  bool read_nb(T& to) { return Base::try_pop(to); }
  bool write_nb(const T& value) { return Base::try_push(value); }
  bool IsEmpty() const { return Base::is_empty(); }
  bool IsFull() const { return Base::is_full(); }
  bool empty() const { return Base::is_empty(); }
  bool full() const { return Base::is_full(); }
  std::size_t Size() const { return Base::words(); }
};

/// A stream with a depth.
template <class T, unsigned Depth, Storage storage>
class Stream : public Stream<T, 0, Storage::Unspecified> {
  using Base = Stream<T, 0, Storage::Unspecified>;

 public:
  explicit Stream(const char* name = "") : Base(name, Depth > 0 ? Depth : 2) {}
  explicit Stream(thalweg_hls::Attached to) : Base(to) {}
};

}  // namespace hlslib
