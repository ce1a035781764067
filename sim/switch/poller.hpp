// SPDX-License-Identifier: Apache-2.0
// Polls inputs for words to one of several outputs, C++ model of rtl/switch/tw_poller.sv.
#pragma once

#include <cstdint>
#include <vector>

#include "common/skid.hpp"
#include "core/types.hpp"

namespace thalweg {

/// Looks at an input a cycle. One whose word can go on is read, up to `reads` times on end; then, or where it has none, or one that
/// can't, the next one has its turn. An output whose word was not the last of its message is held: until that one has gone, it takes words
/// of the same input alone.
template <class T>
class Poller {
 public:
  struct Offer {
    T word{};
    unsigned to = 0;  ///< of a message's words always the same
    bool last = true;
  };

  Poller(unsigned inputs, unsigned outputs, unsigned reads)
      : inputs_(inputs), holds_(inputs), held_(outputs), most_(reads) {}

  /// Does it take a word that an input shows in this cycle?
  [[nodiscard]] bool ready(unsigned input) const { return inputs_[input].ready(); }
  /// The word whose turn it is, and its output; or null, where it has none, or its output is held by another input.
  [[nodiscard]] const Offer* front() const {
    if (!inputs_[turn_].valid()) return nullptr;
    const Offer& offer = inputs_[turn_].front();
    return holds_[turn_] || !held_[offer.to] ? &offer : nullptr;
  }

  /// One clock edge, of all inputs: an input's part. Before turn().
  void step(unsigned input, const Offer* offer, bool goes) {
    goes = goes && input == turn_;
    if (goes) {
      const Offer& went = inputs_[input].front();
      holds_[input] = held_[went.to] = !went.last;
    }
    inputs_[input].step(offer, goes);
  }
  /// `goes`: the word at the front did.
  void turn(bool goes) {
    if (goes && ++read_ < most_) return;
    read_ = 0;
    turn_ = turn_ + 1 == inputs_.size() ? 0 : turn_ + 1;
  }
  /// So many edges in which nothing goes and nothing comes.
  void skip(Tick cycles) {
    read_ = 0;
    turn_ = static_cast<unsigned>((turn_ + static_cast<std::uint64_t>(cycles)) % inputs_.size());
  }

 private:
  std::vector<Skid<Offer>> inputs_;
  std::vector<char> holds_;  ///< by input: its message has begun
  std::vector<char> held_;   ///< by output
  unsigned most_, turn_ = 0, read_ = 0;
};

}  // namespace thalweg
