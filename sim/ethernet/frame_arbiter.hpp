// SPDX-License-Identifier: Apache-2.0
// Merges several streams of frames into one. C++ model of rtl/ethernet/tw_frame_arbiter.sv.
#pragma once

#include <cstdint>
#include <vector>

#include "common/arbiter.hpp"
#include "common/skid.hpp"
#include "ethernet/word.hpp"

namespace thalweg::ethernet {

/// Round-robin per frame. With a frame's last word, the grant moves to the next input with a valid word; if there is
/// none, to the first input that has one later.
class FrameArbiter {
 public:
  explicit FrameArbiter(unsigned inputs) : inputs_(inputs) {}

  [[nodiscard]] bool ready(unsigned input) const { return input == owner_ && output_.ready(); }
  [[nodiscard]] bool valid() const { return output_.valid(); }
  [[nodiscard]] const Word& front() const { return output_.front(); }

  /// One clock edge. words: the valid word of each input, or nullptr; pop: the MAC's ready.
  void step(const std::vector<const Word*>& words, bool pop) {
    const Word* word = words[owner_];
    const bool moves = word && output_.ready();
    std::uint64_t others = 0;
    for (unsigned i = 0; i < inputs_; ++i)
      if (i != owner_ && words[i]) others |= std::uint64_t{1} << i;
    const bool passes = moves ? word->last : !inside_ && !word;
    if (moves) inside_ = !word->last;
    output_.step(word, pop);
    if (!passes || others == 0) return;
    owner_ = turns_.pick(others);
    turns_.accept(owner_, inputs_);
  }

 private:
  unsigned inputs_, owner_ = 0;
  bool inside_ = false;
  Arbiter turns_;
  Skid<Word> output_;
};

}  // namespace thalweg::ethernet
