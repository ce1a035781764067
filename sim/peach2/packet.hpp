// SPDX-License-Identifier: Apache-2.0
// PCI Express packets as words of a hub, for components at its links: builds headers, and converts data from and to bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>

#include "peach2/word.hpp"

namespace thalweg::peach2 {

/// Calls visit(line, offset in the line, offset in the data, bytes) for each line that `bytes` bytes from `address` on touch.
template <class Visit>
void each_line(std::uint64_t address, std::size_t bytes, Visit&& visit) {
  for (std::size_t done = 0, line = 0; done < bytes; ++line) {
    const std::size_t at = (address + done) % kLineBytes, count = std::min(kLineBytes - at, bytes - done);
    visit(line, at, done, count);
    done += count;
  }
}

/// Appends a header and its data in lines, for an Egress; size and address are multiples of 4. A request to an address below 4 GByte is
/// marked: its header goes out with three double words.
inline void add_packet(std::deque<HubWord>& words, const Word<256>& header, std::uint64_t address,
                       std::span<const std::byte> data) {
  Word<256> first = header;
  if (kind(header) != Kind::completion && address >> 32 == 0) first[0] &= ~kLong;
  words.push_back({first, data.empty()});
  each_line(address, data.size(), [&](std::size_t, std::size_t at, std::size_t from, std::size_t count) {
    HubWord line{{}, from + count == data.size()};
    std::memcpy(reinterpret_cast<std::byte*>(line.data.data()) + at, data.data() + from, count);
    words.push_back(line);
  });
}
inline void add_write(std::deque<HubWord>& words, std::uint64_t address, std::span<const std::byte> data) {
  spec::PcieMemoryWrite write;
  write.length = static_cast<std::uint16_t>(data.size() / 4);
  write.first_enable = 15;
  write.last_enable = data.size() == 4 ? 0 : 15;
  write.address = address / 4;
  add_packet(words, word(write.pack()), address, data);
}
inline void add_read(std::deque<HubWord>& words, std::uint64_t address, unsigned dwords, std::uint16_t requester) {
  spec::PcieMemoryRead read;
  read.requester = requester;
  read.length = static_cast<std::uint16_t>(dwords);
  read.first_enable = 15;
  read.last_enable = dwords == 1 ? 0 : 15;
  read.address = address / 4;
  add_packet(words, word(read.pack()), address, {});
}

}  // namespace thalweg::peach2
