// SPDX-License-Identifier: Apache-2.0
// Output port of a PCI Express link, C++ model of rtl/peach2/tw_egress.sv: sends packets at the rate of its lanes, including protocol
// overhead, and only with credits for the largest packet.
#pragma once

#include <algorithm>
#include <optional>

#include "peach2/word.hpp"

namespace thalweg::peach2 {

class Egress {
 public:
  struct Config {
    unsigned rate = 16, scale = 1;  ///< bytes in a number of cycles
    unsigned packets = 32;          ///< the receiver's buffer in packets
    unsigned units = 256;           ///< the receiver's buffer in units of 16 bytes of data
    unsigned notice_bytes = 8;      ///< acknowledgement and credits sent for each received packet
  };
  /// Framing of a packet: start symbol and sequence number; checksum and end symbol.
  static constexpr unsigned kStartBytes = 3, kEndBytes = 5;

  explicit Egress(const Config& config) : config_(config), packets_(config.packets), units_(config.units) {}

  [[nodiscard]] bool ready() const { return free() && (!first_ || (packets_ > 0 && units_ >= units(kMaxDwords))); }
  /// The word sent in this cycle, or null.
  [[nodiscard]] const HubWord* out() const { return pending_ && free() ? &*pending_ : nullptr; }
  /// True if no word is pending and no byte is owed to the wires.
  [[nodiscard]] bool idle() const { return !pending_ && owed_ == 0; }

  /// One clock edge. `offered`: a word, or null. `notice`: a packet was received on the link. `credit`: units of a packet that has
  /// left the receiver's buffer.
  void step(const HubWord* offered, bool notice, const std::optional<unsigned>& credit) {
    const bool accept = offered && ready();
    if (free()) pending_.reset();
    if (notice) owe(config_.notice_bytes);
    if (accept) take(*offered);
    owed_ -= std::min(owed_, config_.rate);
    if (!credit) return;
    ++packets_;
    units_ += *credit;
  }

 private:
  void owe(unsigned bytes) { owed_ += config_.scale * bytes; }
  [[nodiscard]] bool free() const { return owed_ < config_.rate; }
  [[nodiscard]] static unsigned cost(const HubWord& word) {
    const unsigned dwords = spec::pcie_memory_write::length(header(word.data));
    return has_data(word.data) ? units(dwords % 128) % 32 : 0;
  }

  void take(const HubWord& word) {
    pending_ = word;
    if (first_ && kind(word.data) != Kind::completion && !(word.data[0] & kLong)) pending_->data = shortened(word.data);
    if (word.last) owe(kEndBytes);
    if (first_) {
      const bool answer = kind(word.data) == Kind::completion;
      const auto words = header(word.data);
      owe(kStartBytes + (word.data[0] & kLong ? spec::pcie_memory_write::bits : spec::pcie_completion::bits) / 8);
      --packets_;
      units_ -= cost(word);
      left_ = spec::pcie_memory_write::length(words) % 128;  // the same position in all headers
      at_ = (answer ? spec::pcie_completion::lower_address(words) / 4u : spec::pcie_memory_write::address(words)) % 8;
    } else {
      const unsigned taken = std::min(left_, 8 - at_);
      owe(4 * taken);
      left_ -= taken;
      at_ = 0;
    }
    first_ = word.last;
  }

  Config config_;
  std::optional<HubWord> pending_;
  bool first_ = true;
  unsigned packets_, units_;
  unsigned owed_ = 0;  ///< bytes not yet transmitted, times `scale`
  unsigned left_ = 0,
           at_ = 0;  ///< remaining double words of the packet; index of the next one in its line
};

}  // namespace thalweg::peach2
