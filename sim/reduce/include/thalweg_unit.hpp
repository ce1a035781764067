// SPDX-License-Identifier: Apache-2.0
// Write a unit between a host and its switch, for packets that the host sends (before) or receives (after): C++ in the
// simulator, a module in hardware.
//
//   THALWEG_BEFORE(fixed_sum, double, 6) { return encoded(x); }     operands of reductions by fixed_sum
//   THALWEG_AFTER(fixed_sum, double, 6) { return decoded(x); }      their results
//   THALWEG_BEFORE(broadcast, std::uint64_t, 2) { return x ^ key; }
//
// defines the result for each element `x` of a type, and its latency in cycles, at one flit per cycle. A unit belongs
// to an operator (thalweg_operator.hpp) of the same element size, or to a collective that moves data: broadcast,
// gather, scatter or allgather, whose blocks are treated as elements of 1, 2, 4 or 8 bytes; a remainder at a block's
// end passes unchanged. The result must depend on the element alone. Build it in with `thalweg run --operators
// FILE.cpp`.
#pragma once

#include <cstddef>
#include <cstring>

extern "C" struct thalweg_unit {
  const char* owner;
  bool after;
  std::size_t bytes;
  unsigned latency;
  void (*map)(std::byte* data, std::size_t elements);
  const thalweg_unit* next;
};

/// Linked list of this library's units, last one first.
extern "C" {
[[gnu::visibility("default")]] inline const thalweg_unit* thalweg_units = nullptr;
}

template <class T, T (*Map)(T)>
void thalweg_map(std::byte* data, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i, data += sizeof(T)) {
    T x;
    std::memcpy(&x, data, sizeof x);
    const T result = Map(x);
    std::memcpy(data, &result, sizeof result);
  }
}

#define THALWEG_UNIT_(owner, place, is_after, type, latency)                                          \
  static type owner##_##place(type x);                                                                \
  static const thalweg_unit owner##_##place##_entry{                                                  \
      #owner, is_after, sizeof(type), latency, thalweg_map<type, owner##_##place>, thalweg_units};    \
  static const bool owner##_##place##_listed = (thalweg_units = &owner##_##place##_entry) != nullptr; \
  static type owner##_##place([[maybe_unused]] type x)

#define THALWEG_BEFORE(owner, type, latency) THALWEG_UNIT_(owner, before, false, type, latency)
#define THALWEG_AFTER(owner, type, latency) THALWEG_UNIT_(owner, after, true, type, latency)
