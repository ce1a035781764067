// SPDX-License-Identifier: Apache-2.0
// Ports of a Verilated module as flat, typed words. The classes `Inputs` and `Outputs` that are generated from the RTL
// hold one Port per port of the module, so that a binding uses field names, never bit positions.
#pragma once

#include <verilated.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace bisim {

/// `width` bits, at most 64, from bit `lsb` on.
[[nodiscard]] inline std::uint64_t get_bits(const std::uint32_t* words, unsigned lsb, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned done = 0; done < width;) {
    const unsigned bit = (lsb + done) % 32, take = std::min(32 - bit, width - done);
    const std::uint64_t part = (words[(lsb + done) / 32] >> bit) & (~std::uint64_t{0} >> (64 - take));
    value |= part << done;
    done += take;
  }
  return value;
}

inline void put_bits(std::uint32_t* words, unsigned lsb, unsigned width, std::uint64_t value) {
  for (unsigned done = 0; done < width;) {
    const unsigned bit = (lsb + done) % 32, take = std::min(32 - bit, width - done);
    const auto mask = static_cast<std::uint32_t>(~std::uint64_t{0} >> (64 - take)) << bit;
    std::uint32_t& word = words[(lsb + done) / 32];
    word = (word & ~mask) | (static_cast<std::uint32_t>(value >> done) << bit & mask);
    done += take;
  }
}

/// A plain bit vector: a number up to 64 bits, 64-bit words (lowest first) beyond.
template <unsigned Bits>
struct Word {
  static constexpr unsigned kBits = Bits;
  using Value = std::conditional_t<Bits <= 64, std::uint64_t, std::array<std::uint64_t, (Bits + 63) / 64>>;

  [[nodiscard]] static Value get(const std::uint32_t* words, unsigned lsb) {
    if constexpr (Bits <= 64) {
      return get_bits(words, lsb, Bits);
    } else {
      Value value;
      for (unsigned i = 0; i < value.size(); ++i)
        value[i] = get_bits(words, lsb + 64 * i, std::min(64U, Bits - 64 * i));
      return value;
    }
  }

  static void put(std::uint32_t* words, unsigned lsb, const Value& value) {
    if constexpr (Bits <= 64) {
      put_bits(words, lsb, Bits, value);
    } else {
      for (unsigned i = 0; i < value.size(); ++i) put_bits(words, lsb + 64 * i, std::min(64U, Bits - 64 * i), value[i]);
    }
  }
};

/// `Elements` elements, element 0 in the lowest bits, as in a packed array [Elements-1:0].
template <class Element, unsigned Elements = 1>
struct Port {
  std::uint32_t words[(Element::kBits * Elements + 31) / 32]{};

  [[nodiscard]] auto get(unsigned element = 0) const { return Element::get(words, element * Element::kBits); }
  void set(const typename Element::Value& value, unsigned element = 0) {
    Element::put(words, element * Element::kBits, value);
  }
  [[nodiscard]] bool bit(unsigned index) const { return (words[index / 32] >> (index % 32)) & 1; }
  void set_bit(unsigned index, bool value = true) { put_bits(words, index, 1, value); }
};

/// The harness's record of a port: its offset in `Inputs` or `Outputs`, and the port that gates its lanes.
struct PortInfo {
  const char* name;
  unsigned bits;
  unsigned word;       ///< offset in 32-bit words
  int gate;            ///< index of the valid port that gates it lane by lane, -1 if every cycle counts
  unsigned lane_bits;  ///< bits of one lane
  unsigned clock;      ///< index of its clock
};

/// Sets the Verilated signal, which is 8, 16, 32 or 64 bits, or an array of words. Returns true if it changed.
template <class Signal>
bool to_signal(Signal& signal, const std::uint32_t* words) {
  if constexpr (!std::is_integral_v<Signal>) {
    if (std::memcmp(&signal[0], words, sizeof(Signal)) == 0) return false;
    std::memcpy(&signal[0], words, sizeof(Signal));
    return true;
  } else if constexpr (sizeof(Signal) == 8) {
    const Signal former = std::exchange(signal, words[0] | static_cast<std::uint64_t>(words[1]) << 32);
    return signal != former;
  } else {
    const Signal former = std::exchange(signal, static_cast<Signal>(words[0]));
    return signal != former;
  }
}

template <class Signal>
void from_signal(const Signal& signal, std::uint32_t* words) {
  if constexpr (!std::is_integral_v<Signal>) {
    std::memcpy(words, &signal[0], sizeof(Signal));
  } else {
    words[0] = static_cast<std::uint32_t>(signal);
    if constexpr (sizeof(Signal) == 8) words[1] = static_cast<std::uint32_t>(signal >> 32);
  }
}

}  // namespace bisim
