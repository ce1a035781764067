// SPDX-License-Identifier: Apache-2.0
// Output port of a PCI Express link, C++ model of rtl/peach2/tw_egress.sv: sends packets at the rate of its lanes, including protocol
// overhead, and only if the other end has credit for the largest packet.
#pragma once

#include <algorithm>
#include <optional>

#include "peach2/word.hpp"

namespace thalweg::peach2 {

class Egress {
 public:
  struct Config {
    unsigned rate = 16;         ///< bytes a cycle
    unsigned packets = 32;      ///< that the other end keeps
    unsigned units = 256;       ///< of 16 bytes of data
    unsigned notice_bytes = 8;  ///< for a packet that came in: its acknowledgement, and credits
  };
  /// Beside a header and data: a packet's start and number, its check sum and end.
  static constexpr unsigned kStartBytes = 3, kEndBytes = 5;

  explicit Egress(const Config& config) : config_(config), packets_(config.packets), units_(config.units) {}

  [[nodiscard]] bool ready() const { return free() && (!first_ || (packets_ > 0 && units_ >= units(kMaxDwords))); }
  /// The word that goes out in this cycle, or null.
  [[nodiscard]] const HubWord* out() const { return pending_ && free() ? &*pending_ : nullptr; }
  /// Nothing is under way, and nothing owed.
  [[nodiscard]] bool idle() const { return !pending_ && owed_ == 0; }

  /// One clock edge. `offered`: a word, or null. `notice`: a packet came in by the link. `credit`: the units of one that has left
  /// the other end.
  void step(const HubWord* offered, bool notice, const std::optional<unsigned>& credit) {
    const bool accept = offered && ready();
    if (free()) pending_.reset();
    if (notice) owed_ += config_.notice_bytes;
    if (accept) take(*offered);
    owed_ -= std::min(owed_, config_.rate);
    if (!credit) return;
    ++packets_;
    units_ += *credit;
  }

 private:
  [[nodiscard]] bool free() const { return owed_ < config_.rate; }
  [[nodiscard]] static unsigned cost(const HubWord& word) {
    const unsigned dwords = spec::pcie_memory_write::length(header(word.data));
    return kind(word.data) == Kind::read ? 0 : units(dwords % 128) % 32;
  }

  void take(const HubWord& word) {
    pending_ = word;
    if (word.last) owed_ += kEndBytes;
    if (first_) {
      const bool answer = kind(word.data) == Kind::completion;
      const auto words = header(word.data);
      owed_ += kStartBytes + (answer ? spec::pcie_completion::bits : spec::pcie_memory_write::bits) / 8;
      --packets_;
      units_ -= cost(word);
      left_ = spec::pcie_memory_write::length(words) % 128;  // at the same place in all headers
      at_ = (answer ? spec::pcie_completion::lower_address(words) / 4u : spec::pcie_memory_write::address(words)) % 8;
    } else {
      const unsigned taken = std::min(left_, 8 - at_);
      owed_ += 4 * taken;
      left_ -= taken;
      at_ = 0;
    }
    first_ = word.last;
  }

  Config config_;
  std::optional<HubWord> pending_;
  bool first_ = true;
  unsigned packets_, units_;
  unsigned owed_ = 0;  ///< bytes that are not yet on the wires
  unsigned left_ = 0,
           at_ = 0;  ///< double words of the packet that have not come; the place of the next one in its line
};

}  // namespace thalweg::peach2
