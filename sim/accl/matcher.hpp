// SPDX-License-Identifier: Apache-2.0
// The hardware's table of receive buffers, cycle by cycle: what ReceiveBuffers does, by a scan of the table for each operation. Twin of rtl/accl/tw_matcher.sv.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "accl/call.hpp"
#include "accl/receive_buffers.hpp"

namespace thalweg::accl {

struct MatcherConfig {
  unsigned buffers = 16, slots = 16, communicators = 8, ranks = 64, window = 32;
};

class Matcher {
 public:
  enum class Operation : std::uint8_t { arrive, find, take, finish, end, clear };
  enum class Verdict : std::uint8_t { kept, repeated, malformed, no_room, stray };
  /// As tw_matcher_pkg has them.
  struct Request {
    Operation operation = Operation::arrive;
    unsigned slot = 0;
    std::uint32_t communicator = 0;  ///< its id, or its index
    std::uint16_t source = 0;
    bool collective = false;
    std::uint32_t tag = 0, number = 0;
    std::uint64_t length = 0, segment = 0;
    std::uint32_t segment_length = 0;
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0;
    bool reserves = false;
  };
  struct Answer {
    Operation operation = Operation::arrive;
    Verdict verdict = Verdict::kept;
    bool claimed = false, found = false;
    std::uint64_t length = 0;
    unsigned buffer = 0;
    std::uint32_t offset = 0, bytes = 0;
  };
  struct Settings {
    unsigned last_buffer = 0;
    std::uint32_t buffer_bytes = 0, packet_bytes = 64;
    std::vector<std::optional<std::uint32_t>> communicators{};  ///< their ids
  };
  struct In {
    std::optional<Request> request;  ///< taken where ready()
    std::optional<unsigned> written, released;
  };

  explicit Matcher(const MatcherConfig& config)
      : config_(config),
        entries_(config.buffers),
        slots_(config.slots),
        ranks_(std::size_t{config.communicators} * config.ranks),
        collectives_(config.communicators),
        left_(states()) {}

  [[nodiscard]] bool ready() const { return left_ == 0; }
  /// In this cycle.
  [[nodiscard]] const std::optional<Answer>& answer() const { return answer_; }

  void step(const In& in, const Settings& settings) {
    answer_.reset();
    if (left_ == 0) {
      if (in.request) begin(*in.request);
    } else {
      const unsigned row = total() - left_ - kScan;
      if (row < config_.buffers && request_.operation < Operation::clear && request_.operation != Operation::take)
        sample(row, settings);
      if (--left_ == 0) perform(settings);
    }
    if (written_) --entries_[*written_].writes;
    if (released_) entries_[*released_].used = false;
    written_ = in.written;
    released_ = in.released;
  }

 private:
  /// Of a scan: the cycle after the request in which it looks at row 0, and those behind the last one.
  static constexpr unsigned kScan = 6, kBehind = 12, kTake = 13;

  struct Key {
    unsigned communicator = 0;
    std::uint16_t source = 0;
    bool collective = false;
    std::uint32_t tag = 0, number = 0;
    std::uint64_t length = 0;

    [[nodiscard]] bool is_channel(const Key& other) const {
      return communicator == other.communicator && source == other.source && collective == other.collective &&
             (!collective || tag == other.tag);
    }
    [[nodiscard]] bool is_message(const Key& other) const { return is_channel(other) && number == other.number; }
    [[nodiscard]] bool fits(const Key& other) const {
      return is_channel(other) && (tag == kAnyTag || other.tag == kAnyTag || tag == other.tag);
    }
  };
  struct Entry {
    bool used = false;
    Key of{};
    std::uint64_t segment = 0;
    std::uint32_t size = 0, packet_bytes = 64;
    std::vector<bool> come{};
    unsigned writes = 0;              ///< that have not ended, of whatever it has held
    bool free = false, full = false;  ///< when the scan came by

    [[nodiscard]] bool whole() const {
      const auto packets = size == 0 ? 1 : (size + packet_bytes - 1) / packet_bytes;
      return static_cast<std::size_t>(std::ranges::count(come, true)) == packets;
    }
  };
  struct Slot {
    bool claimed = false, waiting = false;
    Key of{};
    std::uint64_t segment = 0;          ///< the one that is taken next, or in part
    std::uint32_t taken = 0, size = 0;  ///< of it
  };
  /// What is counted, from `next` on.
  struct Counted {
    std::uint32_t next = 0;
    std::uint64_t come = 0, claimed = 0, done = 0;

    [[nodiscard]] bool is_old(std::uint32_t number, unsigned window) const {
      const std::uint32_t ahead = number - next;
      return ahead >> 31 != 0 || (ahead < window && (done >> ahead & 1) != 0);
    }
    void finish(std::uint32_t number, unsigned window) {
      if (number - next < window) done |= std::uint64_t{1} << (number - next);
      for (; (done & 1) != 0; ++next) {
        come >>= 1;
        claimed >>= 1;
        done >>= 1;
      }
    }
  };

  [[nodiscard]] unsigned states() const { return config_.communicators * (config_.ranks + 1); }
  [[nodiscard]] unsigned total() const {
    return request_.operation == Operation::take ? kTake : kScan + config_.buffers + config_.slots + kBehind;
  }
  void begin(const Request& request) {
    request_ = request;
    answers_ = true;
    left_ = request.operation == Operation::clear ? states() + 1 : total();
  }
  void sample(unsigned row, const Settings& settings) {
    Entry& entry = entries_[row];
    entry.free = !entry.used && entry.writes == 0 && row <= settings.last_buffer;
    entry.full = entry.used && entry.writes == 0 && entry.whole();
  }
  void perform(const Settings& settings) {
    const Operation operation = request_.operation;
    if (operation == Operation::clear) {
      const bool answers = answers_;
      *this = Matcher(config_);
      left_ = 0;
      if (answers) answer_ = Answer{.operation = operation};
      return;
    }
    answer_ = Answer{.operation = operation};
    if (operation == Operation::arrive) arrive(settings);
    if (operation == Operation::find) find();
    if (operation == Operation::take) take();
    if (operation == Operation::finish) finish();
    if (operation == Operation::end) end();
  }
  [[nodiscard]] Counted& messages(const Key& of) {
    return ranks_[std::size_t{of.communicator} * config_.ranks + of.source];
  }
  template <class Which>
  void free_all(Which&& which) {
    for (Entry& entry : entries_)
      if (entry.used && which(entry.of)) entry.used = false;
  }

  [[nodiscard]] bool is_malformed(const Settings& settings) const {
    const Request& of = request_;
    if (of.segment_length > settings.buffer_bytes || of.segment > of.offset || of.segment > of.length ||
        of.segment_length > of.length - of.segment || of.offset - of.segment > of.segment_length)
      return true;
    const auto at = static_cast<std::uint32_t>(of.offset - of.segment);
    return at % settings.packet_bytes != 0 || of.bytes != std::min(settings.packet_bytes, of.segment_length - at) ||
           (of.bytes == 0) != (of.length == 0);
  }
  void arrive(const Settings& settings) {
    const Request& of = request_;
    answer_->verdict = Verdict::malformed;
    if (is_malformed(settings)) return;
    answer_->verdict = Verdict::stray;
    const auto known = std::ranges::find(settings.communicators, std::optional(of.communicator));
    if (known == settings.communicators.end() || of.source >= config_.ranks) return;
    const Key key{static_cast<unsigned>(known - settings.communicators.begin()),
                  of.source,
                  of.collective,
                  of.tag,
                  of.number,
                  of.length};
    answer_->verdict = Verdict::repeated;
    Counted& counted = key.collective ? collectives_[key.communicator] : messages(key);
    if (counted.is_old(key.collective ? key.tag : key.number, config_.window)) return;

    const auto differs = [&](const Key& other) {
      return key.is_message(other) && (key.tag != other.tag || key.length != other.length);
    };
    answer_->verdict = Verdict::malformed;
    bool wanted = false, taken = false;
    for (const Slot& slot : slots_) {
      if (slot.claimed && differs(slot.of)) return;
      const bool claimed = slot.claimed && key.is_message(slot.of);
      wanted = wanted || claimed || (slot.waiting && (key.collective ? key.is_message(slot.of) : key.fits(slot.of)));
      taken = taken || (claimed && of.segment < slot.segment);
    }
    Entry* there = nullptr;
    Entry* unused = nullptr;
    unsigned free = 0;
    for (Entry& entry : entries_) {
      if (entry.used && differs(entry.of)) return;
      if (entry.used && key.is_message(entry.of) && entry.segment == of.segment) there = &entry;
      free += entry.free;
      if (entry.free && !unused) unused = &entry;
    }
    const auto packet = static_cast<std::size_t>((of.offset - of.segment) / settings.packet_bytes);
    answer_->verdict = Verdict::repeated;
    if (taken) return;
    if (there) {
      answer_->verdict = Verdict::malformed;
      if (there->size != of.segment_length) return;
      answer_->verdict = Verdict::repeated;
      if (there->come[packet]) return;
    } else {
      answer_->verdict = Verdict::no_room;
      if (!key.collective && key.number - counted.next >= config_.window) return;
      if (free < (of.reserves && !wanted ? 2U : 1U)) return;
      there = unused;
      const unsigned writes = there->writes;
      *there = {.used = true,
                .of = key,
                .segment = of.segment,
                .size = of.segment_length,
                .packet_bytes = settings.packet_bytes,
                .come = std::vector<bool>(settings.buffer_bytes / settings.packet_bytes + 1),
                .writes = writes};
    }
    there->come[packet] = true;
    if (of.bytes != 0) ++there->writes;
    if (!key.collective) counted.come |= std::uint64_t{1} << (key.number - counted.next);
    answer_->verdict = Verdict::kept;
    answer_->buffer = static_cast<unsigned>(there - entries_.data());
    answer_->offset = static_cast<std::uint32_t>(of.offset - of.segment);
  }

  /// The message that a slot may claim.
  [[nodiscard]] std::optional<Key> claim(const Key& wanted) {
    std::optional<Key> best;
    if (wanted.collective) {
      for (const Slot& slot : slots_)
        if (slot.claimed && slot.of.is_message(wanted)) return best;
      for (const Entry& entry : entries_)
        if (entry.used && entry.of.is_message(wanted)) best = entry.of;
      return best;
    }
    const Counted& counted = messages(wanted);
    for (const Entry& entry : entries_) {
      if (!entry.used || !entry.of.fits(wanted)) continue;
      const std::uint32_t ahead = entry.of.number - counted.next;
      const std::uint64_t up_to = (std::uint64_t{2} << ahead) - 1;
      if ((counted.come & up_to) == up_to && (counted.claimed >> ahead & 1) == 0 &&
          (!best || ahead < best->number - counted.next))
        best = entry.of;
    }
    return best;
  }
  void find() {
    Slot& slot = slots_[request_.slot];
    if (!slot.claimed) {
      slot = {.waiting = true,
              .of = {request_.communicator, request_.source, request_.collective, request_.tag, request_.number, 0}};
      const auto found = claim(slot.of);
      if (!found) return;
      slot = {.claimed = true, .of = *found};
      Counted& counted = messages(slot.of);
      if (!slot.of.collective) counted.claimed |= std::uint64_t{1} << (slot.of.number - counted.next);
    }
    answer_->claimed = true;
    answer_->length = slot.of.length;
    for (unsigned k = 0; k < config_.buffers; ++k) {
      const Entry& entry = entries_[k];
      if (!entry.full || !entry.used || !entry.of.is_message(slot.of) || entry.segment != slot.segment) continue;
      slot.size = entry.size;
      answer_->found = true;
      answer_->buffer = k;
      answer_->offset = slot.taken;
      answer_->bytes = entry.size - slot.taken;
    }
  }
  void take() {
    Slot& slot = slots_[request_.slot];
    slot.taken += request_.bytes;
    if (slot.taken != slot.size) return;
    slot.segment += slot.taken;
    slot.taken = 0;
  }
  void finish() {
    Slot& slot = slots_[request_.slot];
    if (slot.claimed) {
      free_all([&](const Key& of) { return of.is_message(slot.of); });
      if (!slot.of.collective) messages(slot.of).finish(slot.of.number, config_.window);
    }
    slot = {};
  }
  void end() {
    free_all([&](const Key& of) {
      return of.communicator == request_.communicator && of.collective && of.tag == request_.tag;
    });
    collectives_[request_.communicator].finish(request_.tag, config_.window);
  }

  MatcherConfig config_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  std::vector<Counted> ranks_;        ///< messages, by communicator and rank
  std::vector<Counted> collectives_;  ///< by communicator; `done`: that have ended
  Request request_{.operation = Operation::clear};
  bool answers_ = false;  ///< not after a reset
  unsigned left_;         ///< cycles of the operation
  std::optional<unsigned> written_, released_;
  std::optional<Answer> answer_;
};

}  // namespace thalweg::accl
