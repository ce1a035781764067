// SPDX-License-Identifier: Apache-2.0
// Checks a matcher's answers with ReceiveBuffers: the verdict on each packet, the claimant of each message, and the
// places of its segments. The two number buffers differently. A read or write during an operation may or may not affect
// its result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "accl/matcher.hpp"
#include "accl/receive_buffers.hpp"

namespace blocks {

namespace accl = thalweg::accl;
using accl::Channel, accl::Matcher, accl::ReceiveBuffers;
using thalweg::Tick, thalweg::kNever;

class MatcherOracle {
 public:
  explicit MatcherOracle(const accl::MatcherConfig& config) : config_(config) { clear_all(); }

  void accept(const Matcher::Request& request, Tick now) {
    request_ = request;
    since_ = now;
  }
  void write(unsigned buffer, Tick now) {
    Buffer& of = buffers_[buffer];
    --of.writes;
    settle(of, now);
  }
  void release(unsigned buffer, Tick now) { free(buffers_[buffer], now); }
  /// Announces news.
  void hear(Tick now) { news_ = now; }
  void check(const Matcher::Answer& answer, const Matcher::Settings& settings, Tick now) {
    using enum Matcher::Operation;
    expect(answer.operation == request_.operation, "answers another operation");
    if (request_.operation == arrive) arrived(answer, settings, now);
    if (request_.operation == find) found(answer, now);
    if (request_.operation == take) taken();
    if (request_.operation == finish) finished(now);
    if (request_.operation == end) ended(now);
    if (request_.operation == clear) clear_all();
  }

 private:
  struct Buffer {
    bool used = false;
    unsigned writes = 0;
    Channel channel{};
    std::uint32_t number = 0;
    ReceiveBuffers::Segment* segment = nullptr;  ///< that has not been taken
    Tick freed = 0;                              ///< when it could be taken again
  };
  struct Slot {
    bool claimed = false, waiting = false;
    Channel channel{};
    std::uint32_t tag = 0, number = 0;
    std::uint64_t taken = 0;
    std::optional<Tick> in_vain{};  ///< time of its last request, if something was missing
  };

  static void expect(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
  }
  void clear_all() {
    buffers_.assign(config_.buffers, {});
    slots_.assign(config_.slots, {});
    finished_.clear();
    anew_.clear();
    // More buffers than the hardware has, whose buffers become free when their data have been taken.
    all_.configure(std::vector<std::uint64_t>(4 * config_.buffers), 1 << 22);
  }
  static Channel channel_of(unsigned communicator, const Matcher::Request& of) {
    using enum accl::spec::MessageKind;
    return {communicator, of.source, of.collective ? collective : message, of.collective ? of.tag : 0};
  }
  /// The message's number in ReceiveBuffers, which remember a collective's finished messages until it ends; in the
  /// hardware, later packets count as a new message's.
  [[nodiscard]] std::uint32_t number_of(const Channel& channel, std::uint32_t number) const {
    const auto found = anew_.find({channel, number});
    return number + (found == anew_.end() ? 0 : found->second << 16);
  }
  void settle(Buffer& of, Tick now) {
    if (of.writes != 0) return;
    if (!of.used) of.freed = now;
    if (of.segment && ReceiveBuffers::whole(*of.segment)) of.segment->full = now;
  }
  void free(Buffer& of, Tick now) {
    expect(of.used, "a buffer is freed that is free");
    of.used = false;
    of.segment = nullptr;
    settle(of, now);
  }
  /// Buffers that could be taken at time `then`.
  [[nodiscard]] unsigned free_buffers(Tick then, unsigned last) const {
    return static_cast<unsigned>(
        std::count_if(buffers_.begin(), buffers_.begin() + std::min<std::ptrdiff_t>(last + 1, config_.buffers),
                      [&](const Buffer& of) { return !of.used && of.writes == 0 && of.freed <= then; }));
  }
  [[nodiscard]] bool is_wanted(const Channel& channel) const {
    return std::ranges::any_of(slots_, [&](const Slot& slot) {
      if ((!slot.claimed && !slot.waiting) || slot.channel != channel) return false;
      if (slot.claimed || request_.collective) return slot.number == request_.number;
      return slot.tag == accl::kAnyTag || request_.tag == accl::kAnyTag || slot.tag == request_.tag;
    });
  }

  void arrived(const Matcher::Answer& answer, const Matcher::Settings& settings, Tick now) {
    using Verdict = Matcher::Verdict;
    accl::spec::AcclPacket packet{.tag = request_.tag,
                                  .number = request_.number,
                                  .length = request_.length,
                                  .offset = request_.offset,
                                  .segment = request_.segment,
                                  .segment_length = request_.segment_length};
    ReceiveBuffers::Segment* segment = nullptr;
    const auto same = [&](Verdict expected) {
      expect(answer.verdict == expected, "the verdict is " + std::to_string(static_cast<int>(answer.verdict)) +
                                             " instead of " + std::to_string(static_cast<int>(expected)));
    };
    ReceiveBuffers other;
    other.configure({0}, settings.buffer_bytes);
    const bool malformed = other.place({}, packet, request_.bytes, segment) == ReceiveBuffers::Verdict::malformed;
    const std::uint64_t at = request_.offset - request_.segment;
    if (malformed || at % settings.packet_bytes != 0 ||
        request_.bytes != std::min<std::uint64_t>(settings.packet_bytes, request_.segment_length - at))
      return same(Verdict::malformed);
    const auto known = std::ranges::find(settings.communicators, std::optional(request_.communicator));
    if (known == settings.communicators.end() || request_.source >= config_.ranks) return same(Verdict::stray);

    const auto communicator = static_cast<unsigned>(known - settings.communicators.begin());
    const Channel channel = channel_of(communicator, request_);
    packet.number = number_of(channel, request_.number);
    switch (all_.place(channel, packet, request_.bytes, segment, all_.size() + 1)) {
      case ReceiveBuffers::Verdict::malformed:
        return same(Verdict::malformed);
      case ReceiveBuffers::Verdict::repeated:
        return same(Verdict::repeated);
      case ReceiveBuffers::Verdict::kept:
        same(Verdict::kept);
        break;
      case ReceiveBuffers::Verdict::no_room: {
        const auto next = finished_[{communicator, request_.source}].first;
        const std::uint32_t ahead = request_.number - next;
        if (!request_.collective && ahead >= config_.window)
          return same(ahead >> 31 != 0 ? Verdict::repeated : Verdict::no_room);  // as numbers wrap
        const unsigned needed = request_.reserves && !is_wanted(channel) ? 2 : 1;
        if (free_buffers(since_, settings.last_buffer) >= needed) same(Verdict::kept);
        if (free_buffers(now, settings.last_buffer) < needed) same(Verdict::no_room);
        if (answer.verdict == Verdict::no_room) return;
        same(Verdict::kept);
        expect(all_.place(channel, packet, request_.bytes, segment) == ReceiveBuffers::Verdict::kept,
               "no room background");
        expect(answer.buffer < config_.buffers && answer.buffer <= settings.last_buffer, "there is no such buffer");
        Buffer& to = buffers_[answer.buffer];
        expect(!to.used && to.writes == 0, "the buffer is not free");
        to = {.used = true, .channel = channel, .number = request_.number, .segment = segment};
      }
    }
    Buffer& to = buffers_.at(answer.buffer);
    expect(to.segment == segment, "the packet is of another buffer's segment");
    expect(answer.offset == at, "the packet is elsewhere in its buffer");
    to.writes += request_.bytes != 0;
    settle(to, now);
  }
  void found(const Matcher::Answer& answer, Tick now) {
    Slot& slot = slots_[request_.slot];
    if (slot.in_vain && (answer.found || answer.claimed != slot.claimed))
      expect(news_ && *news_ >= *slot.in_vain, "something is found of which there were no news");
    find(slot, answer, now);
    slot.in_vain = answer.found ? std::nullopt : std::optional(since_);
  }
  void find(Slot& slot, const Matcher::Answer& answer, Tick now) {
    if (!slot.claimed) {
      slot = {.waiting = true,
              .channel = channel_of(request_.communicator, request_),
              .tag = request_.tag,
              .number = request_.number};
      slot.claimed = claim(slot);
    }
    expect(answer.claimed == slot.claimed, slot.claimed ? "nothing is claimed" : "something is claimed");
    if (!slot.claimed) return expect(!answer.found, "something is found, and not claimed");
    const auto& message = message_of(slot);
    expect(answer.length == message.length, "another message is claimed");
    const auto* segment = ReceiveBuffers::next(message);
    if (!answer.found) return expect(!segment || segment->full > since_, "a segment is not found");
    expect(segment && segment->full <= now, "a segment is found that is not full");
    expect(buffers_.at(answer.buffer).segment == segment, "another segment is found");
    expect(answer.offset == slot.taken - segment->offset, "it is found at another offset");
    expect(answer.bytes == segment->offset + segment->length - slot.taken, "not as much is found");
  }
  [[nodiscard]] ReceiveBuffers::Message& message_of(const Slot& slot) {
    return all_.message(slot.channel, number_of(slot.channel, slot.number));
  }
  bool claim(Slot& slot) {
    if (slot.channel.kind == accl::spec::MessageKind::message) {
      const auto number = all_.claim(slot.channel, slot.tag);
      slot.number = number.value_or(0);
      return number.has_value();
    }
    try {
      return !std::exchange(message_of(slot).claimed, true);
    } catch (const std::out_of_range&) {
      return false;
    }
  }
  void taken() {
    Slot& slot = slots_[request_.slot];
    const auto* segment = ReceiveBuffers::next(message_of(slot));
    slot.taken += request_.bytes;
    if (request_.bytes == 0) return;  // a message without data, whose buffer becomes free when the move ends
    if (slot.taken != segment->offset + segment->length) return;
    for (Buffer& of : buffers_)
      if (of.segment == segment) of.segment = nullptr;
    all_.release(slot.channel, number_of(slot.channel, slot.number));
  }
  void finished(Tick now) {
    Slot& slot = slots_[request_.slot];
    if (slot.claimed) {
      for (Buffer& of : buffers_)
        if (of.used && of.channel == slot.channel && of.number == slot.number) free(of, now);
      all_.finish(slot.channel, number_of(slot.channel, slot.number));
      auto& [next, later] = finished_[{slot.channel.communicator, slot.channel.source}];
      if (slot.channel.kind == accl::spec::MessageKind::message)
        later.insert(slot.number);
      else
        ++anew_[{slot.channel, slot.number}];
      while (later.erase(next)) ++next;
    }
    slot = {};
    news_ = now;  // of the mover
  }
  void ended(Tick now) {
    for (Buffer& of : buffers_)
      if (of.used && of.channel.kind == accl::spec::MessageKind::collective &&
          of.channel.communicator == request_.communicator && of.channel.collective == request_.tag)
        free(of, now);
    all_.end(request_.communicator, request_.tag);
  }

  accl::MatcherConfig config_;
  ReceiveBuffers all_;
  std::vector<Buffer> buffers_;
  std::vector<Slot> slots_;
  /// Finished messages by communicator and rank: all below a number, and others.
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::pair<std::uint32_t, std::set<std::uint32_t>>> finished_;
  std::map<std::pair<Channel, std::uint32_t>, std::uint32_t>
      anew_;  ///< number of times that a collective's message has been finished
  Matcher::Request request_;
  Tick since_ = 0;  ///< when the request was accepted
  std::optional<Tick> news_{};
};

}  // namespace blocks
