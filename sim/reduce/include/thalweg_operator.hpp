// SPDX-License-Identifier: Apache-2.0
// Write an operator for the network's switches: C++ in the simulator, a module in hardware.
//
//   THALWEG_OPERATOR(saturating_sum, std::int16_t, 1) { return clamp(a + b); }
//
// defines the result for two elements `a` and `b` of a type, and the latency of its units in cycles. An element has 1,
// 2, 4, 8 or 16 bytes. The result must depend on the two values alone, and be the same, to the bit, in either order: an
// exchange combines on both sides. Build it in with `thalweg run --operators FILE.cpp`.
#pragma once

#include <cstddef>
#include <cstring>

extern "C" struct thalweg_operator {
  const char* name;
  std::size_t bytes;
  unsigned latency;
  void (*combine)(std::byte* accumulator, const std::byte* operand, std::size_t elements);
  const thalweg_operator* next;
};

/// Linked list of this file's operators, last one first.
extern "C" {
[[gnu::visibility("default")]] inline const thalweg_operator* thalweg_operators = nullptr;
}

template <class T, T (*Combine)(T, T)>
void thalweg_combine(std::byte* accumulator, const std::byte* operand, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i, accumulator += sizeof(T), operand += sizeof(T)) {
    T a, b;
    std::memcpy(&a, accumulator, sizeof a);
    std::memcpy(&b, operand, sizeof b);
    const T result = Combine(a, b);
    std::memcpy(accumulator, &result, sizeof result);
  }
}

#define THALWEG_OPERATOR(name, type, latency)                                                           \
  static type name(type a, type b);                                                                     \
  static const thalweg_operator name##_entry{#name, sizeof(type), latency, thalweg_combine<type, name>, \
                                             thalweg_operators};                                        \
  static const bool name##_listed = (thalweg_operators = &name##_entry) != nullptr;                     \
  static type name([[maybe_unused]] type a, [[maybe_unused]] type b)
