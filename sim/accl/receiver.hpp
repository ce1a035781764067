// SPDX-License-Identifier: Apache-2.0
// Receives packets of other boards: parts of messages go to receive buffers, to offered buffers, or to a kernel's
// stream. A packet without a receive buffer waits and blocks those behind it. Without a reliable transport, packets
// that exceed the FIFO are dropped and counted; packets of connections wait in their windows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "accl/config.hpp"
#include "accl/data_path.hpp"
#include "accl/kernel_streams.hpp"
#include "accl/memory.hpp"
#include "accl/packet.hpp"
#include "accl/receive_buffers.hpp"
#include "accl/rendezvous.hpp"
#include "cluster/engine.hpp"
#include "core/clock.hpp"
#include "ethernet/frame.hpp"
#include "ethernet/udp.hpp"

namespace thalweg::accl {

class Receiver {
 public:
  Receiver(const NodeConfig& config, Memory& device, Memory& host, std::vector<KernelPacket>& output,
           KernelStreams& kernels, Waker waker)
      : config_(config),
        memories_{&device, &host},
        writes_{MemoryPort(config.memory_bytes_per_cycle, config.memory_latency),
                MemoryPort(config.host_bytes_per_cycle, config.host_latency)},
        output_(output),
        kernels_(kernels),
        waker_(waker) {}

  ReceiveBuffers buffers;
  std::map<std::uint32_t, OfferedPlace> places;  ///< buffers offered by this board, by number
  Offers offers;                                 ///< made by other boards
  /// Called when the engine has taken the next packet of a connection in this cycle.
  std::function<void(unsigned connection, Tick now)> taken;
  /// Returns whether a call waits for this packet of a message. With connections, the last free receive buffer is
  /// reserved for such packets, so that unwanted packets never block wanted ones.
  std::function<bool(const Channel& channel, const spec::AcclPacket& packet)> wanted;

  /// A datagram, with the cycles in which its first word and its end are available. It is processed at its end, when
  /// its checksum is known.
  void push(const ethernet::FrameRef& frame, Tick first, Tick end) {
    incoming_.push_back({frame, first, end});
    waker_.wake(end);
  }
  /// The next in-order packet of a connection.
  void push(unsigned connection, const ethernet::FrameRef& frame, Tick first, Tick end) {
    if (connection >= connections_.size()) connections_.resize(connection + 1);
    connections_[connection].push_back({frame, first, end, true});
    waker_.wake(end);
  }
  /// Processes the packets that are available.
  void step(Tick now) {
    for (unsigned k = 0; k < connections_.size(); ++k) {
      auto& packets = connections_[k];
      for (; !packets.empty() && packets.front().end <= now && place(packets.front(), now); packets.pop_front())
        taken(k, now);
    }
    while (!waiting_.empty() && place(waiting_.front(), now)) {
      waiting_bytes_ -= waiting_.front().frame->size();
      waiting_.pop_front();
    }
    for (; !incoming_.empty() && incoming_.front().end <= now; incoming_.pop_front()) {
      const Incoming& packet = incoming_.front();
      if (waiting_.empty() && place(packet, now)) continue;
      if (waiting_bytes_ + packet.frame->size() > config_.fifo_bytes) {
        ++no_room_;
        continue;
      }
      waiting_bytes_ += packet.frame->size();
      waiting_.push_back(packet);
    }
  }
  /// Forgets all messages and offered buffers. An engine with receive buffers drops arrivals until it is configured
  /// again, as they belong to forgotten messages. An engine that was not configured yet keeps packets of boards that
  /// were configured earlier.
  void reset(Tick now) {
    drops_ = drops_ || buffers.size() > 0;
    buffers.configure({}, 0);
    places.clear();
    offers = {};
    puts_.clear();
    puts_from_.clear();
    waker_.wake(now + 1);
  }
  /// Number of waiting packets of a connection.
  [[nodiscard]] std::size_t held_back(unsigned connection) const {
    return connection < connections_.size() ? connections_[connection].size() : 0;
  }
  /// Call when a receive buffer is free, or another call waits.
  void freed(Tick now) {
    if (!waiting_.empty() || std::ranges::any_of(connections_, [](const auto& packets) { return !packets.empty(); }))
      waker_.wake(now + 1);
  }
  /// Explains whether unclaimed messages may block others, and which; empty if not. With connections, one receive
  /// buffer is reserved for packets that a call waits for. `own`: the asking call's communicator.
  [[nodiscard]] std::string full(std::uint32_t own) const {
    const bool holds_back = std::ranges::any_of(connections_, [](const auto& packets) { return !packets.empty(); });
    const std::size_t kept = holds_back ? 1 : 0;
    if (buffers.size() == 0 || buffers.in_use() + kept < buffers.size()) return "";
    const bool all = buffers.in_use() == buffers.size();
    std::string text = (all ? "all " : std::to_string(buffers.in_use()) + " of ") + std::to_string(buffers.size()) +
                       " receive buffers hold messages that no call has received";
    if (!all) text += ", and the last one is reserved for messages that a call waits for";
    if (no_room_ > 0) text += ", packets dropped for lack of one: " + std::to_string(no_room_);
    if (const auto held = buffers.held(own); !held.empty()) text += ": " + held;
    return text;
  }
  void lost(NodeId node, std::vector<Lost>& all) const {
    for (const auto& [what, count] : {std::pair{"packets without a receive buffer", no_room_},
                                      {"packets received again", repeated_},
                                      {"packets after a missing one", behind_},
                                      {"messages to kernels with a missing part", missing()},
                                      {"messages that no call has received", buffers.unclaimed()},
                                      {"packets without an ACCL header", malformed_},
                                      {"packets to a buffer that was not offered", unasked_},
                                      {"packets received while the engine was reset", reset_}})
      if (count > 0) all.push_back({node, what, count});
  }

 private:
  struct Incoming {
    ethernet::FrameRef frame;
    Tick first, end;
    bool keeps_order = false;  ///< it may wait, as it is of a connection
  };

  /// Returns false if the packet must wait for a receive buffer.
  bool place(const Incoming& incoming, Tick now) {
    drops_ = drops_ && buffers.size() == 0;
    if (drops_) {
      ++reset_;
      return true;
    }
    const auto payload = ethernet::udp_of(*incoming.frame)->payload;
    const auto found = packet_of(payload);
    if (!found || found->kind >= spec::MessageKind::acknowledgement || (found->session != 0 && !incoming.keeps_order)) {
      ++malformed_;
      return true;
    }
    const spec::AcclPacket& packet = *found;
    const auto data = payload.subspan(kPacketHeader);
    switch (packet.kind) {
      case spec::MessageKind::stream:
        to_kernel(packet, data, incoming, now);
        return true;
      case spec::MessageKind::offer:
        offers.add(channel_of(packet, packet.stream == 1), {packet.tag, packet.number, packet.length});
        waker_.wake(now + 1);
        return true;
      case spec::MessageKind::write:
        to_place(packet, data, incoming, now);
        return true;
      case spec::MessageKind::greeting:
        return true;
      default:
        return to_buffer(packet, data, incoming, now);
    }
  }
  static Channel channel_of(const spec::AcclPacket& packet, bool collective) {
    return {packet.communicator, packet.source, collective ? spec::MessageKind::collective : spec::MessageKind::message,
            collective ? packet.tag : 0};
  }
  bool to_buffer(const spec::AcclPacket& packet, std::span<const std::byte> data, const Incoming& incoming, Tick now) {
    if (buffers.size() == 0) return false;  // the engine is not configured yet
    ReceiveBuffers::Segment* segment = nullptr;
    const Channel channel = channel_of(packet, packet.kind == spec::MessageKind::collective);
    const bool any = !incoming.keeps_order || wanted(channel, packet);
    switch (buffers.place(channel, packet, static_cast<std::uint32_t>(data.size()), segment, any ? 1 : 2)) {
      case ReceiveBuffers::Verdict::no_room:
        return false;
      case ReceiveBuffers::Verdict::repeated:
        ++repeated_;
        return true;
      case ReceiveBuffers::Verdict::malformed:
        ++malformed_;
        return true;
      case ReceiveBuffers::Verdict::kept:
        break;
    }
    const Tick seen = write(false, buffers.address(*segment) + packet.offset - packet.segment, data, incoming);
    if (ReceiveBuffers::whole(*segment)) {
      segment->full = std::max(seen, now + 1);
      waker_.wake(segment->full);
    }
    return true;
  }
  void to_place(const spec::AcclPacket& packet, std::span<const std::byte> data, const Incoming& incoming, Tick now) {
    const auto found = places.find(packet.number);
    if (found == places.end() || found->second.from.communicator != packet.communicator ||
        found->second.from.source != packet.source || packet.offset > found->second.length ||
        data.size() > found->second.length - packet.offset) {
      ++unasked_;
      return;
    }
    OfferedPlace& to = found->second;
    if (!to.pieces.add(packet.offset, packet.offset + data.size())) {
      ++repeated_;
      return;
    }
    const Tick seen = write(to.host, to.address + packet.offset, data, incoming);
    if (to.pieces.are(0, to.length)) {
      to.full = std::max(seen, now + 1);
      waker_.wake(to.full);
    }
  }
  /// Returns the first cycle in which the data can be read.
  Tick write(bool host, std::uint64_t address, std::span<const std::byte> data, const Incoming& incoming) {
    memories_[host]->write(address, data);
    MemoryPort& port = writes_[host];
    const double last = port.take(static_cast<double>(incoming.first), static_cast<double>(incoming.end), data.size());
    return DataPath::cycle(last + port.latency());
  }
  void to_kernel(const spec::AcclPacket& packet, std::span<const std::byte> data, const Incoming& incoming, Tick now) {
    Puts& from = puts_from_[{packet.communicator, packet.source}];
    from.seen = std::max(from.seen, std::uint64_t{packet.number} + 1);
    if (packet.number < from.next || from.taken.contains(packet.number)) {
      ++repeated_;
      return;
    }
    const std::tuple key{packet.communicator, packet.source, packet.number};
    Put& put = puts_[key];
    if (packet.offset != put.size) {
      ++(packet.offset < put.size ? repeated_ : behind_);
    } else {
      put.size += data.size();
      if (kernels_.has(packet.stream))
        kernels_.deliver(packet.stream, data, static_cast<double>(now), static_cast<double>(now),
                         put.size >= packet.length);
      else
        put.data.insert(put.data.end(), data.begin(), data.end());
    }
    const bool is_whole = put.size >= packet.length && packet.length > 0;
    if (is_whole && !kernels_.has(packet.stream)) {
      put.data.resize((put.data.size() + kWord - 1) / kWord * kWord);
      output_.push_back({packet.stream, std::move(put.data), incoming.end});
    }
    if (is_whole || put.size == 0) puts_.erase(key);
    if (!is_whole) return;
    from.taken.insert(packet.number);
    while (from.taken.erase(static_cast<std::uint32_t>(from.next))) ++from.next;
  }

  /// Messages to kernels from one rank.
  struct Puts {
    std::uint64_t next = 0;         ///< all lower ones have arrived
    std::set<std::uint32_t> taken;  ///< arrived ones at or above `next`
    std::uint64_t seen = 0;         ///< 1 + the highest number seen
  };
  [[nodiscard]] std::uint64_t missing() const {
    std::uint64_t count = 0;
    for (const auto& [from, puts] : puts_from_) count += puts.seen - puts.next - puts.taken.size();
    return count;
  }

  const NodeConfig& config_;
  std::array<Memory*, 2> memories_;
  std::array<MemoryPort, 2> writes_;
  std::vector<KernelPacket>& output_;
  KernelStreams& kernels_;
  Waker waker_;
  std::deque<Incoming> incoming_, waiting_;
  std::vector<std::deque<Incoming>> connections_;
  std::uint64_t waiting_bytes_ = 0;
  /// A partly received message for a kernel.
  struct Put {
    std::uint64_t size = 0;
    std::vector<std::byte> data{};  ///< kept if no kernel reads the stream
  };
  std::map<std::tuple<std::uint32_t, std::uint16_t, std::uint32_t>, Put> puts_;
  std::map<std::pair<std::uint32_t, std::uint16_t>, Puts> puts_from_;  ///< by communicator and source
  std::uint64_t no_room_ = 0, repeated_ = 0, behind_ = 0, malformed_ = 0, unasked_ = 0, reset_ = 0;
  bool drops_ = false;  ///< drops arrivals, as the engine was reset
};

}  // namespace thalweg::accl
