// SPDX-License-Identifier: Apache-2.0
// Forwards whole packets from inputs to outputs, C++ model of rtl/switch/tw_stream_switch.sv.
#pragma once

#include <array>
#include <cstdint>

#include "common/arbiter.hpp"
#include "common/bits.hpp"
#include "common/skid.hpp"

namespace thalweg {

/// `T` has a member `last`: true for the last word of its packet.
template <class T, unsigned Inputs, unsigned Outputs>
class StreamSwitch {
 public:
  /// A word offered by an input in a cycle; `word` is null if it has none.
  struct Offer {
    const T* word = nullptr;
    unsigned to = 0;  ///< the packet's output; the same for all its words
  };

  /// True if the word offered by `input` in this cycle is accepted.
  [[nodiscard]] bool ready(unsigned input) const {
    for (const auto& output : outputs_)
      if (output.busy && output.from == input && output.words.ready()) return true;
    return false;
  }
  [[nodiscard]] bool valid(unsigned output) const { return outputs_[output].words.valid(); }
  [[nodiscard]] const T& front(unsigned output) const { return outputs_[output].words.front(); }
  /// True if no packet is in progress.
  [[nodiscard]] bool idle() const {
    for (const auto& output : outputs_)
      if (output.busy || output.words.valid()) return false;
    return true;
  }

  /// One clock edge. `taken`: outputs whose word is taken.
  void step(const std::array<Offer, Inputs>& offers, std::uint32_t taken) {
    std::uint32_t owned = 0;
    std::array<std::uint32_t, Outputs> asks{};
    for (const auto& output : outputs_)
      if (output.busy) owned |= 1U << output.from;
    for (unsigned i = 0; i < Inputs; ++i)
      if (offers[i].word && !(owned >> i & 1)) asks[offers[i].to] |= 1U << i;
    for (unsigned o = 0; o < Outputs; ++o) {
      Output& output = outputs_[o];
      const T* word = output.busy && output.words.ready() ? offers[output.from].word : nullptr;
      output.words.step(word, taken >> o & 1);
      if (output.busy && !(word && word->last)) continue;
      output.busy = asks[o] != 0;
      if (!output.busy) continue;
      output.from = output.turn.pick(asks[o]);
      output.turn.accept(output.from, Inputs);
    }
  }

 private:
  struct Output {
    bool busy = false;
    unsigned from = 0;
    Arbiter turn;
    Skid<T> words;
  };

  std::array<Output, Outputs> outputs_;
};

}  // namespace thalweg
