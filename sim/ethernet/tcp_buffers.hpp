// SPDX-License-Identifier: Apache-2.0
// Memory of an end of a TCP connection: what it was given to send, until it is acknowledged, and what has come out of order.
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

/// Packets of a stream, by the offsets of their bytes in it.
class TcpSendBuffer {
 public:
  explicit TcpSendBuffer(std::uint64_t bytes) : most_(bytes) {}

  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::uint64_t room() const { return most_ - std::min(most_, end_ - begin_); }
  [[nodiscard]] bool empty() const { return packets_.empty(); }
  [[nodiscard]] std::size_t packets() const { return packets_.size(); }
  /// A packet that is there from cycle `whole` on, or when the one before it is.
  void add(std::vector<std::byte> bytes, Tick whole) {
    if (!packets_.empty()) whole = std::max(whole, packets_.back().whole);
    const std::uint64_t size = bytes.size();
    packets_.push_back({end_, std::move(bytes), whole});
    end_ += size;
  }
  /// All bytes before an offset are acknowledged.
  void release(std::uint64_t to) {
    begin_ = std::max(begin_, to);
    while (!packets_.empty() && packets_.front().end() <= begin_) packets_.pop_front();
  }
  /// Bytes from an offset on that are there in a cycle, `most` at most.
  [[nodiscard]] std::uint64_t there(std::uint64_t from, std::uint64_t most, Tick now) const {
    std::uint64_t to = from;
    for (auto at = packet(from); at != packets_.end() && at->whole <= now && to - from < most; ++at) to = at->end();
    return std::min(to - from, most);
  }
  /// The cycle from which on the byte at an offset is there; kNever: it was not given.
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
  /// Another stream begins with the packets of which nothing has been sent: those from offset `sent` on. How many others are dropped.
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

/// Bytes that wait for others before them.
class TcpReorderBuffer {
 public:
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  void clear() { parts_.clear(); }
  /// Keeps what it does not have yet.
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
  /// Gives out the bytes that follow an offset without a gap, and drops those before it.
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
