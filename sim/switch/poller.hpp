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
      : inputs_(inputs), holds_(inputs), held_(outputs), most_(reads) {}

  /// True if a word offered by `input` in this cycle is accepted.
  [[nodiscard]] bool ready(unsigned input) const { return inputs_[input].ready(); }
  /// The word of the polled input, and its output; null if it has none or its output is held by another input.
  [[nodiscard]] const Offer* front() const {
    if (!inputs_[turn_].valid()) return nullptr;
    const Offer& offer = inputs_[turn_].front();
    return holds_[turn_] || !held_[offer.to] ? &offer : nullptr;
  }

  /// One input's part of a clock edge; call it for all inputs, before turn().
  void step(unsigned input, const Offer* offer, bool goes) {
    goes = goes && input == turn_;
    if (goes) {
      const Offer& went = inputs_[input].front();
      holds_[input] = held_[went.to] = !went.last;
    }
    inputs_[input].step(offer, goes);
  }
  /// Ends the clock edge. `goes`: front() was forwarded.
  void turn(bool goes) {
    if (goes && ++read_ < most_) return;
    read_ = 0;
    turn_ = turn_ + 1 == inputs_.size() ? 0 : turn_ + 1;
  }
  /// Simulates `cycles` edges without arriving or departing words.
  void skip(Tick cycles) {
    read_ = 0;
    turn_ = static_cast<unsigned>((turn_ + static_cast<std::uint64_t>(cycles)) % inputs_.size());
  }

 private:
  std::vector<Skid<Offer>> inputs_;
  std::vector<char> holds_;  ///< by input: it is within a message
  std::vector<char> held_;   ///< by output
  unsigned most_, turn_ = 0, read_ = 0;
};

}  // namespace thalweg
