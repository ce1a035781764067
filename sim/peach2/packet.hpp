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

/// Appends a header and its data in lines; size and address are multiples of 4.
inline void add_packet(std::deque<HubWord>& words, const std::array<std::uint64_t, 2>& header, std::uint64_t address,
                       std::span<const std::byte> data) {
  words.push_back({word(header), data.empty()});
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
  add_packet(words, write.pack(), address, data);
}
inline void add_read(std::deque<HubWord>& words, std::uint64_t address, unsigned dwords, std::uint16_t requester) {
  spec::PcieMemoryRead read;
  read.requester = requester;
  read.length = static_cast<std::uint16_t>(dwords);
  read.first_enable = 15;
  read.last_enable = dwords == 1 ? 0 : 15;
  read.address = address / 4;
  add_packet(words, read.pack(), address, {});
}
/// Appends the single completion of a read; `found`: memory exists at its address.
inline void add_completion(std::deque<HubWord>& words, const spec::PcieMemoryRead& read,
                           std::span<const std::byte> data, bool found) {
  constexpr std::uint8_t kUnsupported = 1;
  spec::PcieCompletion completion;
  completion.status = found ? 0 : kUnsupported;
  completion.length = read.length;
  completion.byte_count = static_cast<std::uint16_t>(data.size());
  completion.requester = read.requester;
  completion.tag = read.tag;
  completion.lower_address = static_cast<std::uint8_t>(read.address * 4 % 128);
  add_packet(words, completion.pack(), read.address * 4, data);
}

}  // namespace thalweg::peach2
