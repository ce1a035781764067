// SPDX-License-Identifier: Apache-2.0
// Polls inputs for words to one of several outputs, C++ model of rtl/switch/tw_poller.sv.
#pragma once

#include <cstdint>
#include <vector>

#include "common/skid.hpp"
#include "core/types.hpp"

namespace thalweg {

/// Polls one input per cycle. An input whose word can be forwarded is read, up to `reads` times in a row; then, or if
/// it has no word or a blocked one, the next input is polled. An output is held after a word that is not the last of
/// its message: until the last has gone, it takes only words of the same input.
template <class T>
class Poller {
 public:
  struct Offer {
    T word{};
    unsigned to = 0;  ///< output; the same for all words of a message
    bool last = true;
  };

  Poller(unsigned inputs, unsigned outputs, unsigned reads)
      : inputs_(inputs), in_message_(inputs), output_held_(outputs), max_reads_(reads) {}

  /// True if no input has a word: without offers, an edge then changes only the polling position (skip()).
  [[nodiscard]] bool empty() const { return valid_ == 0; }
  /// The number of edges until an input with a word is polled, if none arrives or departs; requires !empty().
  [[nodiscard]] unsigned until_polled() const {
    unsigned edges = 0;
    for (unsigned input = current_; !inputs_[input].valid(); ++edges)
      input = input + 1 == inputs_.size() ? 0 : input + 1;
    return edges;
  }
  /// The polled input.
  [[nodiscard]] unsigned polled() const { return current_; }
  /// True if a word offered by `input` in this cycle is accepted.
  [[nodiscard]] bool ready(unsigned input) const { return inputs_[input].ready(); }
  /// The word of the polled input, and its output; null if it has none or its output is held by another input.
  [[nodiscard]] const Offer* front() const {
    if (!inputs_[current_].valid()) return nullptr;
    const Offer& offer = inputs_[current_].front();
    return in_message_[current_] || !output_held_[offer.to] ? &offer : nullptr;
  }

  /// One input's part of a clock edge; call it for all inputs, before turn().
  void step(unsigned input, const Offer* offer, bool forwarded) {
    forwarded = forwarded && input == current_;
    if (forwarded) {
      const Offer& sent = inputs_[input].front();
      in_message_[input] = output_held_[sent.to] = !sent.last;
    }
    const bool was_valid = inputs_[input].valid();
    inputs_[input].step(offer, forwarded);
    valid_ += inputs_[input].valid() - was_valid;
  }
  /// Ends the clock edge. `forwarded`: front() was forwarded.
  void turn(bool forwarded) {
    if (forwarded && ++read_ < max_reads_) return;
    read_ = 0;
    current_ = current_ + 1 == inputs_.size() ? 0 : current_ + 1;
  }
  /// Simulates `cycles` edges without arriving or departing words.
  void skip(Tick cycles) {
    read_ = 0;
    current_ = static_cast<unsigned>((current_ + static_cast<std::uint64_t>(cycles)) % inputs_.size());
  }

 private:
  std::vector<Skid<Offer>> inputs_;
  std::vector<char> in_message_;   ///< by input: it is within a message
  std::vector<char> output_held_;  ///< by output
  unsigned max_reads_, current_ = 0, read_ = 0;
  unsigned valid_ = 0;  ///< number of inputs with a word
};

}  // namespace thalweg
