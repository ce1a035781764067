// SPDX-License-Identifier: Apache-2.0
// A link's translation of addresses in one direction, C++ model of rtl/peach2/tw_translate.sv.
#pragma once

#include "common/skid.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

class Translate {
 public:
  explicit Translate(bool inbound) : inbound_(inbound) {}

  [[nodiscard]] bool ready() const { return out_.ready(); }
  [[nodiscard]] const HubWord* out() const { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] bool idle() const { return !out_.valid(); }

  /// One clock edge, before a window is loaded at it.
  void step(const HubWord* offered, bool taken) {
    HubWord word;
    if (offered) word = first_ ? HubWord{translated(offered->data), offered->last} : *offered;
    if (offered && ready()) first_ = offered->last;
    out_.step(offered ? &word : nullptr, taken);
  }
  void load(const Window& window) { window_ = window; }

 private:
  [[nodiscard]] Word<256> translated(const Word<256>& header) const {
    const Word<256> whole = inbound_ ? expanded(header) : header;
    if (kind(whole) != Kind::read && kind(whole) != Kind::write) return header;
    auto request = spec::PcieMemoryWrite::unpack(peach2::header(whole));
    const std::uint64_t page = request.address >> (kPageBits - 2);
    if (page < kAddresses >> kPageBits && window_.used && (page & window_.mask) == window_.lower)
      request.address = ((page & ~std::uint64_t{window_.mask}) | window_.upper) << (kPageBits - 2) |
                        request.address % (1U << (kPageBits - 2));
    const auto packed = request.pack();
    Word<256> made = whole;
    made[0] = (packed[0] & ~std::uint64_t{0xFF}) | (whole[0] & 0xFF);
    made[1] = packed[1];
    if (!inbound_ && request.address >> 30 == 0) made[0] &= ~kLong;
    return made;
  }

  bool inbound_;
  Window window_;
  bool first_ = true;
  Skid<HubWord> out_;
};

}  // namespace thalweg::peach2
