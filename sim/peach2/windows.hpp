// SPDX-License-Identifier: Apache-2.0
// Routes pages, C++ model of rtl/peach2/tw_windows.sv: the hub's own pages to its bus, others by the first window that contains
// them.
#pragma once

#include <optional>
#include <vector>

#include "peach2/word.hpp"

namespace thalweg::peach2 {

class Windows {
 public:
  struct Found {
    bool hit = false;
    unsigned to = 0;
  };

  /// `base`: the hub's own GByte.
  Windows(unsigned windows, unsigned base) : base_(base), windows_(windows) {}

  /// Result of the lookup started two cycles earlier.
  [[nodiscard]] const std::optional<Found>& found() const { return found_; }
  [[nodiscard]] bool idle() const { return !found_ && !asked_; }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(windows_.size()); }
  /// Combinational lookup.
  [[nodiscard]] Found find(std::uint32_t page) const {
    if (page >> (kBaseShift - kPageBits) == base_) return {true, kBus};
    for (const auto& window : windows_)
      if (window.has(page)) return {true, window.to};
    return {};
  }

  /// One clock edge, before a window is loaded at it.
  void step(std::optional<std::uint32_t> page) {
    found_ = asked_;
    asked_.reset();
    if (page) asked_ = find(*page);
  }
  void load(unsigned index, const Window& window) { windows_[index] = window; }

 private:
  unsigned base_;
  std::vector<Window> windows_;
  std::optional<Found> asked_, found_;
};

}  // namespace thalweg::peach2
