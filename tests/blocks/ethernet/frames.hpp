// SPDX-License-Identifier: Apache-2.0
// Frames of a hostile network: datagrams, ARP requests and echo requests of all sizes, any part of which may be wrong,
// and others. Their bytes are written here, not by the model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bisim/dice.hpp"
#include "blocks/ethernet/ends.hpp"
#include "ethernet/frame.hpp"

namespace blocks {

class RandomFrames {
 public:
  using Bytes = std::vector<std::byte>;

  /// `most`: maximum bytes of a frame.
  RandomFrames(bisim::Dice& run, unsigned most)
      : most_(most),
        wrong_(run.pick(0, 20, 200)),
        short_(run.pick(500, 0, 950)),
        requests_(run.pick(100, 0, 500, 1000)),
        bursts_(run.pick(0, 500)) {}

  [[nodiscard]] Bytes make(bisim::Dice& dice) {
    if (frame_.empty() || !dice.chance(bursts_)) what_ = dice.chance(requests_) ? 1 + dice.below(2) : 0;
    const auto wrong = [&] { return dice.chance(wrong_); };
    frame_.clear();
    put(0, kOwn.address, 6);
    put(6, 0x02'0000'0000'00 | dice.below(1 << 24), 6);
    if (what_ == 1)
      arp(dice);
    else
      ip(dice);
    for (unsigned changes = wrong() ? 1 + dice.below(3) : 0; changes-- > 0;)
      frame_[dice.below(std::min<unsigned>(50, size()))] ^= static_cast<std::byte>(1U << dice.below(8));
    if (wrong()) {  // of a VLAN
      const std::byte tag[]{std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{7}};
      frame_.insert(frame_.begin() + 12, std::begin(tag), std::end(tag));
    }
    if (wrong()) frame_.resize(std::max(14U, dice.below(size() + 1)));
    if (wrong()) frame_.resize(14 + dice.below(51));  // ends within the first word
    const unsigned more = wrong() ? dice.below(150) : 0;
    while (size() < 60 && !wrong()) frame_.push_back(dice.chance(900) ? std::byte{0} : std::byte{0xAA});
    for (unsigned k = 0; k < more; ++k) frame_.push_back(static_cast<std::byte>(dice.below(256)));
    frame_.resize(std::min(size(), most_));
    return frame_;
  }

 private:
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(frame_.size()); }
  void put(std::size_t at, std::uint64_t value, unsigned bytes) {
    frame_.resize(std::max(frame_.size(), at + bytes));
    for (unsigned k = bytes; k-- > 0; value >>= 8) frame_[at + k] = static_cast<std::byte>(value & 0xFF);
  }
  [[nodiscard]] std::uint16_t sum(std::size_t from, std::size_t to) const {
    std::uint32_t sum = 0;
    for (std::size_t k = from; k < to; ++k) sum += std::to_integer<std::uint32_t>(frame_[k]) << (k - from) % 2 * 8;
    while (sum > 0xFFFF) sum = (sum >> 16) + (sum & 0xFFFF);
    return static_cast<std::uint16_t>((sum & 0xFF) << 8 | sum >> 8);  // the bytes in network order
  }

  void arp(bisim::Dice& dice) {
    if (dice.chance(700)) put(0, 0xFFFF'FFFF'FFFF, 6);
    put(12, 0x0806, 2);
    put(14, 0x0001'0800'0604, 6);
    put(20, dice.chance(wrong_) ? 2 : 1, 2);
    put(22, dice.bits(), 6);
    put(28, dice.bits(), 4);
    put(32, dice.bits(), 6);
    put(38, dice.chance(wrong_) ? dice.bits() : kOwn.ip, 4);
  }
  void ip(bisim::Dice& dice) {
    const bool echo = what_ == 2;
    const unsigned most = most_ - 42;
    const unsigned bytes = dice.below(std::min(most, dice.chance(short_) ? 150U : most) + 1);
    const auto wrong = [&] { return dice.chance(wrong_); };
    // Wrong lengths, by a little or a lot.
    const auto length = [&](unsigned right) {
      if (!wrong()) return right;
      return dice.chance(500) ? right + dice.below(40) - 20 : static_cast<unsigned>(dice.below(1 << 16));
    };
    const unsigned total = length(28 + bytes);
    put(12, wrong() ? 0x86DD : 0x0800, 2);
    put(14, wrong() ? 0x46 : 0x45, 1);
    put(15, dice.chance(100) ? dice.below(256) : 0, 1);
    put(16, total, 2);
    put(18, dice.below(1 << 16), 2);
    put(20, wrong() ? dice.pick(1U << dice.below(16), dice.below(1 << 16)) : dice.pick(0x4000, 0), 2);
    put(22, dice.pick(64, 1, 255), 1);
    put(23, wrong() ? dice.pick(6, 1, 17) : echo ? 1 : 17, 1);
    put(24, 0, 2);
    put(26, dice.bits(), 4);
    put(30, wrong() ? dice.bits() : kOwn.ip, 4);
    put(24, static_cast<std::uint16_t>(~sum(14, 34)), 2);
    put(34, dice.bits(), 2);
    put(36, wrong() ? dice.bits() : kOwn.port, 2);
    put(38, length(total - 20), 2);
    put(40, dice.bits(), 2);
    for (unsigned k = 0; k < bytes; ++k) frame_.push_back(static_cast<std::byte>(dice.below(256)));
    if (!echo) return;
    put(34, wrong() ? dice.bits() : 0x0800, 2);
    put(36, 0, 2);
    if (dice.chance(50)) std::fill(frame_.begin() + 38, frame_.end(), std::byte{0});
    // It covers the bytes up to the given length, and is wrong if that exceeds the frame.
    const auto end = std::clamp<std::size_t>(14 + total, 42, frame_.size());
    put(36, static_cast<std::uint16_t>(~sum(34, end) ^ unsigned{wrong()} << dice.below(16)), 2);
  }

  unsigned most_, wrong_, short_, requests_, bursts_;
  unsigned what_ = 0;
  Bytes frame_;
};

}  // namespace blocks
