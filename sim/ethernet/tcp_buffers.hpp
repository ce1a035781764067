// SPDX-License-Identifier: Apache-2.0
// Buffers of an end of a TCP connection: data to send, until acknowledged, and data received out of order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace thalweg::ethernet {

/// Packets of a stream, addressed by the stream offsets of their bytes.
class TcpSendBuffer {
 public:
  explicit TcpSendBuffer(std::uint64_t bytes) : most_(bytes) {}

  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::uint64_t room() const { return most_ - std::min(most_, end_ - begin_); }
  [[nodiscard]] bool empty() const { return packets_.empty(); }
  [[nodiscard]] std::size_t packets() const { return packets_.size(); }
  /// Adds a packet that is available from cycle `whole` on, but not before the previous packet.
  void add(std::vector<std::byte> bytes, Tick whole) {
    if (!packets_.empty()) whole = std::max(whole, packets_.back().whole);
    const std::uint64_t size = bytes.size();
    packets_.push_back({end_, std::move(bytes), whole});
    end_ += size;
  }
  /// All bytes before offset `to` are acknowledged.
  void release(std::uint64_t to) {
    begin_ = std::max(begin_, to);
    while (!packets_.empty() && packets_.front().end() <= begin_) packets_.pop_front();
  }
  /// Number of bytes from an offset on that are available in a cycle, at most `most`.
  [[nodiscard]] std::uint64_t there(std::uint64_t from, std::uint64_t most, Tick now) const {
    std::uint64_t to = from;
    for (auto at = packet(from); at != packets_.end() && at->whole <= now && to - from < most; ++at) to = at->end();
    return std::min(to - from, most);
  }
  /// The cycle from which on the byte at an offset is available; kNever: not added yet.
  [[nodiscard]] Tick there_at(std::uint64_t from) const {
    const auto at = packet(from);
    return at == packets_.end() ? kNever : at->whole;
  }
  void copy(std::uint64_t from, std::span<std::byte> to) const {
    for (auto at = packet(from); !to.empty(); ++at) {
      const auto part = std::span(at->bytes).subspan(from - at->begin);
      const auto count = std::min(part.size(), to.size());
      std::copy_n(part.begin(), count, to.begin());
      to = to.subspan(count);
      from += count;
    }
  }
  /// Starts another stream with the packets that are completely unsent: those from offset `sent` on. Returns the number
  /// of dropped packets.
  std::uint64_t restart(std::uint64_t sent) {
    std::uint64_t dropped = 0;
    for (; !packets_.empty() && packets_.front().begin < sent; packets_.pop_front()) ++dropped;
    begin_ = end_ = 0;
    for (Packet& packet : packets_) {
      packet.begin = end_;
      end_ = packet.end();
    }
    return dropped;
  }

 private:
  struct Packet {
    std::uint64_t begin;
    std::vector<std::byte> bytes;
    Tick whole;

    [[nodiscard]] std::uint64_t end() const { return begin + bytes.size(); }
  };

  [[nodiscard]] std::deque<Packet>::const_iterator packet(std::uint64_t offset) const {
    return std::ranges::upper_bound(packets_, offset, {}, &Packet::end);
  }

  std::uint64_t most_, begin_ = 0, end_ = 0;
  std::deque<Packet> packets_;
};

/// Bytes received out of order, which wait for earlier bytes.
class TcpReorderBuffer {
 public:
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  void clear() { parts_.clear(); }
  /// Adds data, except bytes already held.
  void add(std::uint64_t from, std::span<const std::byte> data) {
    auto next = parts_.upper_bound(from);
    if (next != parts_.begin()) skip(from, data, end(*std::prev(next)));
    while (!data.empty()) {
      const std::uint64_t stop = next == parts_.end() ? from + data.size() : std::min(from + data.size(), next->first);
      if (stop > from) {
        const auto part = data.first(stop - from);
        parts_.emplace_hint(next, from, std::vector<std::byte>(part.begin(), part.end()));
      }
      if (next == parts_.end()) return;
      skip(from, data, end(*next++));
    }
  }
  /// Passes the bytes that follow an offset without a gap to `out`, and drops those before it.
  void take(std::uint64_t from, const std::function<void(std::span<const std::byte>)>& out) {
    while (!parts_.empty() && parts_.begin()->first <= from) {
      const auto& part = *parts_.begin();
      if (end(part) > from) {
        out(std::span(part.second).subspan(from - part.first));
        from = end(part);
      }
      parts_.erase(parts_.begin());
    }
  }

 private:
  using Part = std::pair<const std::uint64_t, std::vector<std::byte>>;
  static std::uint64_t end(const Part& part) { return part.first + part.second.size(); }
  static void skip(std::uint64_t& from, std::span<const std::byte>& data, std::uint64_t to) {
    if (to <= from) return;
    const auto count = std::min<std::uint64_t>(to - from, data.size());
    data = data.subspan(count);
    from += count;
  }

  std::map<std::uint64_t, std::vector<std::byte>> parts_;
};

}  // namespace thalweg::ethernet
