// SPDX-License-Identifier: Apache-2.0
// Receive buffers in a board's memory: each holds a segment of a message of another rank until the engine has taken it.
// Messages are matched by communicator, source and tag, independent of their order of arrival.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "accl/call.hpp"
#include "accl/pieces.hpp"
#include "core/types.hpp"
#include "thalweg_accl_spec.hpp"

namespace thalweg::accl {

/// Scope of message numbers: messages of one kind from one source; for collectives, of one collective.
struct Channel {
  std::uint32_t communicator = 0;
  std::uint16_t source = 0;
  spec::MessageKind kind = spec::MessageKind::message;
  std::uint32_t collective = 0;

  auto operator<=>(const Channel&) const = default;
};

class ReceiveBuffers {
 public:
  struct Segment {
    std::uint64_t offset = 0;  ///< in the message
    std::uint32_t length = 0;  ///< bytes
    unsigned buffer = 0;
    Tick full = kNever;  ///< first cycle in which all of it can be read
    Pieces pieces{};
  };
  struct Message {
    std::uint32_t tag = 0;
    std::uint64_t length = 0;
    bool claimed = false;
    std::uint64_t taken = 0;  ///< everything below is taken; offset of the next segment
    std::map<std::uint64_t, Segment> segments{};
  };
  /// Outcome of a packet.
  enum class Verdict : std::uint8_t { kept, repeated, malformed, no_room };

  /// Configures new, empty buffers; `bytes`: size of each.
  void configure(std::vector<std::uint64_t> addresses, std::uint32_t bytes) {
    addresses_ = std::move(addresses);
    bytes_ = bytes;
    used_.assign(addresses_.size(), false);
    channels_.clear();
    ended_.clear();
  }

  [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return addresses_.size(); }
  [[nodiscard]] std::size_t in_use() const {
    return static_cast<std::size_t>(std::count(used_.begin(), used_.end(), true));
  }
  /// Number of unclaimed messages of which a segment is here.
  [[nodiscard]] std::uint64_t unclaimed() const {
    std::uint64_t count = 0;
    for (const auto& [channel, state] : channels_)
      count += static_cast<std::uint64_t>(
          std::ranges::count_if(state.messages, [](const auto& message) { return !message.second.claimed; }));
    return count;
  }
  /// Sources and tags of these messages, for reports; `own`: a communicator to leave out of the text.
  [[nodiscard]] std::string held(std::uint32_t own) const {
    constexpr std::size_t kSources = 4, kTags = 4;
    std::size_t sources = 0;
    std::string text;
    for (const auto& [channel, state] : channels_) {
      std::set<std::uint32_t> tags;
      std::size_t count = 0;
      for (const auto& [number, message] : state.messages) {
        if (message.claimed) continue;
        ++count;
        tags.insert(message.tag);
      }
      if (count == 0 || ++sources > kSources) continue;
      text += (text.empty() ? "" : ", ") + std::to_string(count) + (count == 1 ? " message" : " messages") +
              " from rank " + std::to_string(channel.source) +
              (channel.communicator == own ? "" : " of another communicator");
      if (channel.kind == spec::MessageKind::collective) {
        text += " of a collective";
        continue;
      }
      std::size_t shown = 0;
      for (const std::uint32_t tag : tags)
        if (shown++ < kTags)
          text += (shown > 1          ? ", "
                   : tags.size() == 1 ? " with tag "
                                      : " with tags ") +
                  (tag == kAnyTag ? "any" : std::to_string(tag));
      if (shown > kTags) text += " and " + std::to_string(shown - kTags) + " others";
    }
    return sources > kSources ? text + ", and those of " + std::to_string(sources - kSources) + " others" : text;
  }
  /// Number of messages received after a missing one, which cannot be claimed before it.
  [[nodiscard]] std::uint64_t behind_missing(const Channel& channel) const {
    const auto found = channels_.find(channel);
    if (found == channels_.end()) return 0;
    const State& state = found->second;
    std::uint32_t missing = state.next;
    while (state.taken.contains(missing) || state.messages.contains(missing)) ++missing;
    return static_cast<std::uint64_t>(std::distance(state.messages.lower_bound(missing), state.messages.end()));
  }
  [[nodiscard]] std::uint64_t address(const Segment& segment) const { return addresses_[segment.buffer]; }

  /// Finds the segment of a packet, or allocates a buffer if at least `free` are free. If the packet is kept, `segment`
  /// is set, and the payload belongs at the segment's address.
  Verdict place(const Channel& channel, const spec::AcclPacket& packet, std::uint32_t payload, Segment*& segment,
                std::size_t free = 1) {
    if (packet.segment_length > bytes_ || packet.segment > packet.offset || packet.length < packet.segment ||
        packet.segment_length > packet.length - packet.segment ||
        packet.offset - packet.segment > packet.segment_length ||
        payload > packet.segment_length - (packet.offset - packet.segment) || (payload == 0) != (packet.length == 0))
      return Verdict::malformed;
    if (is_ended(channel)) return Verdict::repeated;
    State& state = channels_[channel];
    if (packet.number < state.next || state.taken.contains(packet.number)) return Verdict::repeated;
    const auto found = state.messages.find(packet.number);
    if (found != state.messages.end()) {
      if (found->second.tag != packet.tag || found->second.length != packet.length) return Verdict::malformed;
      if (packet.segment < found->second.taken) return Verdict::repeated;
      if (const auto there = found->second.segments.find(packet.segment); there != found->second.segments.end()) {
        segment = &there->second;
        if (segment->length != packet.segment_length) return Verdict::malformed;
        return segment->pieces.add(packet.offset, packet.offset + payload) ? Verdict::kept : Verdict::repeated;
      }
    }
    if (size() - in_use() < free) return Verdict::no_room;
    const auto unused = std::find(used_.begin(), used_.end(), false);
    *unused = true;
    Message& message = state.messages[packet.number];
    message.tag = packet.tag;
    message.length = packet.length;
    segment = &message.segments[packet.segment];
    *segment = {packet.segment, packet.segment_length, static_cast<unsigned>(unused - used_.begin())};
    segment->pieces.add(packet.offset, packet.offset + payload);
    return Verdict::kept;
  }
  /// True if the segment is complete.
  [[nodiscard]] static bool whole(const Segment& segment) {
    return segment.pieces.are(segment.offset, segment.offset + segment.length);
  }

  /// Claims the first unclaimed message with this tag, if all earlier messages have arrived. Returns its number.
  [[nodiscard]] std::optional<std::uint32_t> claim(const Channel& channel, std::uint32_t tag) {
    State& state = channels_[channel];
    for (std::uint32_t number = state.next;; ++number) {
      if (state.taken.contains(number)) continue;
      const auto found = state.messages.find(number);
      if (found == state.messages.end()) return std::nullopt;
      Message& message = found->second;
      if (message.claimed || (tag != kAnyTag && message.tag != kAnyTag && message.tag != tag)) continue;
      message.claimed = true;
      return number;
    }
  }
  /// A claimed message.
  [[nodiscard]] Message& message(const Channel& channel, std::uint32_t number) {
    return channels_.at(channel).messages.at(number);
  }
  /// The segment of a message to be taken next; null if none of it has arrived.
  [[nodiscard]] static const Segment* next(const Message& message) {
    const auto found = message.segments.find(message.taken);
    return found == message.segments.end() ? nullptr : &found->second;
  }
  /// Frees the buffer of the segment that the engine has just taken.
  void release(const Channel& channel, std::uint32_t number) {
    Message& message = this->message(channel, number);
    const auto found = message.segments.find(message.taken);
    used_[found->second.buffer] = false;
    message.taken += found->second.length;
    message.segments.erase(found);
  }
  /// Ends a message; its remaining segments are discarded.
  void finish(const Channel& channel, std::uint32_t number) {
    State& state = channels_.at(channel);
    for (const auto& [at, segment] : state.messages.at(number).segments) used_[segment.buffer] = false;
    state.messages.erase(number);
    state.taken.insert(number);
    while (state.taken.erase(state.next)) ++state.next;
  }
  /// Ends a collective: its later arrivals count as repeated.
  void end(std::uint32_t communicator, std::uint32_t collective) {
    for (auto it = channels_.begin(); it != channels_.end();) {
      const Channel& channel = it->first;
      if (channel.communicator != communicator || channel.kind != spec::MessageKind::collective ||
          channel.collective != collective) {
        ++it;
        continue;
      }
      for (const auto& [number, message] : it->second.messages)
        for (const auto& [at, segment] : message.segments) used_[segment.buffer] = false;
      it = channels_.erase(it);
    }
    Ended& ended = ended_[communicator];
    ended.later.insert(collective);
    while (ended.later.erase(ended.below)) ++ended.below;
  }

 private:
  struct State {
    std::uint32_t next = 0;         ///< all lower messages have been taken
    std::set<std::uint32_t> taken;  ///< taken messages at or above `next`
    std::map<std::uint32_t, Message> messages;
  };
  struct Ended {
    std::uint32_t below = 0;
    std::set<std::uint32_t> later;
  };

  [[nodiscard]] bool is_ended(const Channel& channel) const {
    if (channel.kind != spec::MessageKind::collective) return false;
    const auto found = ended_.find(channel.communicator);
    return found != ended_.end() &&
           (channel.collective < found->second.below || found->second.later.contains(channel.collective));
  }
  std::vector<std::uint64_t> addresses_;
  std::uint32_t bytes_ = 0;
  std::vector<bool> used_;
  std::map<Channel, State> channels_;
  std::map<std::uint32_t, Ended> ended_;  ///< by communicator
};

}  // namespace thalweg::accl
