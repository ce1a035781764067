// SPDX-License-Identifier: Apache-2.0
// Converts packets to memory words of their elements.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "mpi_fpga/packetizer.hpp"

namespace thalweg::mpi_fpga {

/// Takes packets flit by flit and returns the memory words of each packet's elements; C++ model of
/// rtl/mpi_fpga/tw_depacketizer.sv.
class FlitDepacketizer {
 public:
  using Word = thalweg::Word<256>;
  struct Part {
    Word data{};
    unsigned bytes = 0;
    bool last = false;  ///< last word of its packet
  };

  /// True while words remain of a packet whose tail has been taken; no flit may be taken until they are out.
  [[nodiscard]] bool draining() const { return tail_; }
  /// Takes a flit. `layout` and `elements` describe its packet; they are read at the head.
  void take(const Word& flit, bool head, bool tail, const Packetizer& layout, std::uint64_t elements) {
    if (head) {
      layout_ = layout;
      elements_ = elements;
      flit_ = 0;
    }
    layout_.pieces(elements_, [&](std::size_t at, std::uint64_t, std::uint64_t n) {
      for (std::size_t byte = at; byte < at + n * layout_.element_bytes(); ++byte)
        if (byte / kFlitBytes == flit_)
          bytes_.push_back(static_cast<std::uint8_t>(flit[byte % kFlitBytes / 8] >> byte % 8 * 8));
    });
    ++flit_;
    tail_ = tail;
  }
  /// Returns a full word or, after the tail, the rest of the packet; nothing while more flits are due.
  [[nodiscard]] std::optional<Part> next() {
    if (bytes_.size() < kFlitBytes && !tail_) return std::nullopt;
    Part part{{}, static_cast<unsigned>(std::min<std::size_t>(bytes_.size(), kFlitBytes)), false};
    for (unsigned i = 0; i < part.bytes; ++i) {
      part.data[i / 8] |= std::uint64_t{bytes_.front()} << i % 8 * 8;
      bytes_.pop_front();
    }
    part.last = tail_ && bytes_.empty();
    if (part.last) tail_ = false;
    return part;
  }

 private:
  Packetizer layout_;
  std::uint64_t elements_ = 0;
  std::size_t flit_ = 0;            ///< index in its packet
  std::deque<std::uint8_t> bytes_;  ///< received and not returned yet
  bool tail_ = false;               ///< the packet's tail has been taken
};

}  // namespace thalweg::mpi_fpga
