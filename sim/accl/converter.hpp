// SPDX-License-Identifier: Apache-2.0
// Converts the elements of packets, word by word. C++ model of rtl/accl/tw_converter.sv.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "accl/arithmetic.hpp"
#include "common/credited_fifo.hpp"
#include "common/skid.hpp"
#include "core/types.hpp"

namespace thalweg::accl {

/// A word of a stream of the data path.
struct DataWord {
  Word<512> data{};
  bool last = false;
};

/// Conversion of elements: none; float32 to float16; float16 to float32.
enum class Conversion : std::uint8_t { none, narrow, widen };

class Converter {
 public:
  struct In {
    DataWord word;
    Conversion conversion = Conversion::none;  ///< the same for all words of a packet
    bool half = false;                         ///< with the last word to widen: its elements fill at most half of it
  };

  /// `conversions`: the conversion logic exists.
  explicit Converter(bool conversions) : built_(conversions), fifo_(kCycles + 3) {}

  /// Cycles from the word that completes a result to the result, with and without conversion.
  [[nodiscard]] static constexpr unsigned latency(bool conversions) { return conversions ? kCycles + 2 : 1; }

  [[nodiscard]] bool ready() const { return built_ ? fifo_.room() && !upper_ : skid_.ready(); }
  [[nodiscard]] bool valid() const { return built_ ? fifo_.valid() : skid_.valid(); }
  [[nodiscard]] const DataWord& front() const { return built_ ? fifo_.front() : skid_.front(); }

  /// One clock edge. in: an offered word or nullptr, taken if ready(). pop: the front word is taken.
  void step(const In* in, bool pop) {
    if (!built_) return skid_.step(in ? &in->word : nullptr, pop);
    std::optional<DataWord> made;
    if (upper_) {
      if (fifo_.room()) made = std::exchange(upper_, std::nullopt);
    } else if (in && fifo_.room()) {
      made = accept(*in);
    }
    const auto& done = delayed_.back();
    fifo_.step(made.has_value(), done ? &*done : nullptr, pop);
    std::move_backward(delayed_.begin(), delayed_.end() - 1, delayed_.end());
    delayed_.front() = made;
  }

 private:
  static constexpr unsigned kCycles = 5;  ///< pipeline depth
  using Half = std::array<std::uint16_t, 16>;

  /// Returns the output word that this word completes, if any.
  std::optional<DataWord> accept(const In& in) {
    if (in.conversion == Conversion::none) return in.word;
    if (in.conversion == Conversion::widen) {
      const auto halves = std::bit_cast<std::array<Half, 2>>(in.word.data);
      const bool more = !(in.word.last && in.half);
      if (more) upper_ = DataWord{wide(halves[1]), in.word.last};
      return DataWord{wide(halves[0]), in.word.last && !more};
    }
    Half half;
    std::ranges::transform(std::bit_cast<std::array<std::uint32_t, 16>>(in.word.data), half.begin(), narrowed);
    if (!first_ && !in.word.last) {
      first_ = half;
      return std::nullopt;
    }
    const std::array<Half, 2> both{first_.value_or(half), half};
    first_.reset();
    return DataWord{std::bit_cast<Word<512>>(both), in.word.last};
  }
  static Word<512> wide(const Half& half) {
    std::array<std::uint32_t, 16> made;
    std::ranges::transform(half, made.begin(), widened);
    return std::bit_cast<Word<512>>(made);
  }

  bool built_;
  Skid<DataWord> skid_;
  CreditedFifo<DataWord> fifo_;
  std::array<std::optional<DataWord>, kCycles> delayed_;
  std::optional<Half> first_;      ///< first of two narrowed words that are packed into one
  std::optional<DataWord> upper_;  ///< second output word of a widened word
};

}  // namespace thalweg::accl
