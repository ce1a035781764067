// SPDX-License-Identifier: Apache-2.0
// Packets of a node, reference-counted: each is stored once for all outputs that send it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/types.hpp"
#include "mpi_fpga/packetizer.hpp"

namespace thalweg::mpi_fpga {

inline constexpr unsigned kMaxPacketFlits = 64;

using PacketId = std::uint32_t;

struct Packet {
  std::span<std::uint64_t> words;  ///< as many as the pool's longest packet has
  std::uint8_t flits = 1;
  std::uint8_t references = 0;
  Tick ready = 0;  ///< packets from the host: when the last flit is available

  /// Sets the length in flits and zeroes the contents.
  void clear(unsigned length) {
    flits = static_cast<std::uint8_t>(length);
    std::fill_n(words.begin(), length * kFlitBytes / 8, 0);
  }
  [[nodiscard]] std::byte* bytes() { return reinterpret_cast<std::byte*>(words.data()); }
};

class PacketPool {
 public:
  explicit PacketPool(unsigned max_flits = kMaxPacketFlits) : words_(max_flits * kFlitBytes / 8) {}

  /// Allocates a packet with one reference.
  [[nodiscard]] PacketId take() {
    if (free_.empty()) grow();
    const PacketId id = free_.back();
    free_.pop_back();
    (*this)[id].references = 1;
    return id;
  }
  void release(PacketId id) {
    if (--(*this)[id].references == 0) free_.push_back(id);
  }
  [[nodiscard]] Packet& operator[](PacketId id) { return blocks_[id / kBlock]->packets[id % kBlock]; }
  [[nodiscard]] const Packet& operator[](PacketId id) const { return blocks_[id / kBlock]->packets[id % kBlock]; }
  [[nodiscard]] std::size_t in_use() const { return blocks_.size() * kBlock - free_.size(); }

 private:
  static constexpr PacketId kBlock = 4;

  void grow() {
    const auto first = static_cast<PacketId>(blocks_.size()) * kBlock;
    Block& block = *blocks_.emplace_back(std::make_unique<Block>());
    block.words.resize(kBlock * words_);
    for (PacketId i = 0; i < kBlock; ++i) block.packets[i].words = std::span(block.words).subspan(i * words_, words_);
    free_.reserve(blocks_.size() * kBlock);
    for (PacketId i = kBlock; i-- > 0;) free_.push_back(first + i);
  }

  struct Block {
    std::array<Packet, kBlock> packets;
    std::vector<std::uint64_t> words;
  };

  std::size_t words_;  ///< of a packet
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<PacketId> free_;
};

}  // namespace thalweg::mpi_fpga
