// SPDX-License-Identifier: Apache-2.0
// Counts events of several sources and reports them over one stream, C++ model of rtl/peach2/tw_events.sv.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/arbiter.hpp"

namespace thalweg::peach2 {

template <class Note, unsigned Sources>
class Events {
 public:
  struct Event {
    unsigned place;
    std::uint32_t count;  ///< since the last report of this source
    Note note;            ///< of the last event
  };

  [[nodiscard]] bool valid() const { return some_ != 0; }
  [[nodiscard]] Event front() const {
    const unsigned place = turn_.pick(some_);
    return {place, counts_[place], notes_[place]};
  }

  /// One clock edge. `delivered`: the event at the front is taken.
  void step(const std::array<std::optional<Note>, Sources>& happened, bool delivered) {
    if (delivered && valid()) {
      const unsigned place = turn_.pick(some_);
      counts_[place] = 0;
      turn_.accept(place, Sources);
      some_ &= ~(std::uint64_t{1} << place);
    }
    for (unsigned i = 0; i < Sources; ++i) {
      if (!happened[i]) continue;
      if (counts_[i] < 0xFFFF) ++counts_[i];
      notes_[i] = *happened[i];
      some_ |= std::uint64_t{1} << i;
    }
  }

 private:
  std::array<std::uint32_t, Sources> counts_{};
  std::array<Note, Sources> notes_{};
  std::uint64_t some_ = 0;
  Arbiter turn_;
};

}  // namespace thalweg::peach2
