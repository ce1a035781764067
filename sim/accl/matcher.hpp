// SPDX-License-Identifier: Apache-2.0
// The hardware's table of receive buffers, cycle by cycle: ReceiveBuffers, with a scan of the table or a lookup of one
// row per operation. C++ model of rtl/accl/tw_matcher.sv.
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
  /// As in tw_matcher_pkg.
  struct Request {
    Operation operation = Operation::arrive;
    unsigned slot = 0;
    std::uint32_t communicator = 0;  ///< its ID (arrive) or its index
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
    std::vector<std::optional<std::uint32_t>> communicators{};  ///< by index: their IDs
  };
  struct In {
    std::optional<Request> request;  ///< taken if ready()
    std::optional<unsigned> written, released;
  };

  explicit Matcher(const MatcherConfig& config)
      : config_(config),
        entries_(config.buffers),
        slots_(config.slots),
        lasts_(config.ranks),
        ranks_(std::size_t{config.communicators} * config.ranks),
        collectives_(config.communicators),
        left_(states()) {}

  [[nodiscard]] bool ready() const { return left_ == 0; }
  /// The answer in this cycle.
  [[nodiscard]] const std::optional<Answer>& answer() const { return answer_; }
  [[nodiscard]] bool news() const { return news_; }

  void step(const In& in, const Settings& settings) {
    answer_.reset();
    news_ = std::exchange(fills_, false);
    if (left_ == 0) {
      if (in.request) begin(*in.request);
    } else {
      ++step_;
      if (step_ == kLook) look(settings);
      const unsigned before = request_.operation == Operation::arrive ? kEarly : kScan;
      if (scans_ && step_ > before && step_ - before <= config_.buffers) sample(step_ - before - 1, settings);
      if (--left_ == 0) perform(settings);
    }
    if (written_) {
      Entry& entry = entries_[*written_];
      fills_ = --entry.writes == 0 && entry.whole();
    }
    if (released_) entries_[*released_].used = false;
    written_ = in.written;
    released_ = in.released;
  }

 private:
  /// Cycles after the request. kLook: lookup of the likely row. kEarly, kScan: before row 0, for arrive and for other
  /// operations. kContinues, kAtOnce: total of arrive and find if the likely row is right; kTake: total of take. The
  /// others: after the last row.
  static constexpr unsigned kLook = 3, kEarly = 3, kScan = 6, kContinues = 7, kAtOnce = 11, kTake = 10;
  static constexpr unsigned kArriveBehind = 9, kFindBehind = 8, kBehind = 12;

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
    unsigned writes = 0;                            ///< outstanding, including those of earlier contents
    bool ordered = false;                           ///< its packets came in order so far, and more are expected
    std::optional<unsigned> next{};                 ///< the buffer allocated to its message after this one
    bool live = false, free = false, full = false;  ///< sampled by the scan

    [[nodiscard]] bool whole() const {
      const auto packets = size == 0 ? 1 : (size + packet_bytes - 1) / packet_bytes;
      return static_cast<std::size_t>(std::ranges::count(come, true)) == packets;
    }
  };
  struct Slot {
    bool claimed = false, waiting = false;
    Key of{};
    std::uint64_t segment = 0;          ///< offset of the segment to take next, or taken in part
    std::uint32_t taken = 0, size = 0;  ///< bytes of that segment
    unsigned pick = 0;                  ///< the buffer found, or any buffer of its message
    bool partial = false;               ///< that buffer is not taken completely
  };
  /// Bitmaps of messages or collectives, by number from `next` on.
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
    if (request_.operation == Operation::take) return kTake;
    const unsigned rows = std::max(config_.buffers, config_.slots);
    if (request_.operation == Operation::arrive) return kEarly + rows + kArriveBehind;
    return kScan + rows + (request_.operation == Operation::find ? kFindBehind : kBehind);
  }
  void begin(const Request& request) {
    request_ = request;
    answers_ = true;
    step_ = 0;
    first_.reset();
    scans_ = request.operation != Operation::clear && request.operation != Operation::take;
    left_ = request.operation == Operation::clear ? states() + 1 : total();
  }
  /// Looks up the likely row; the operation ends early if it is the right one.
  void look(const Settings& settings) {
    if (request_.operation == Operation::arrive) {
      const auto key = key_of(settings);
      if (!key) return;
      const unsigned last = lasts_[key->source];
      Entry& entry = entries_[last];
      if (!entry.used || !entry.of.is_message(*key)) return;
      first_ = last;
      const auto arrived = static_cast<std::uint64_t>(std::ranges::count(entry.come, true));
      if (!is_malformed(settings) && entry.ordered && entry.of.tag == key->tag && entry.of.length == key->length &&
          entry.segment == request_.segment && entry.size == request_.segment_length &&
          request_.offset - request_.segment == arrived * settings.packet_bytes)
        finish_in(kContinues);
    } else if (request_.operation == Operation::find) {
      const Slot& slot = slots_[request_.slot];
      if (!slot.claimed) return;
      const auto likely = slot.partial ? std::optional(slot.pick) : entries_[slot.pick].next;
      if (!likely) return;
      sample(*likely, settings);
      const Entry& entry = entries_[*likely];
      if (!entry.live || !entry.of.is_message(slot.of) || entry.segment != slot.segment) return;
      finish_in(kAtOnce);
    }
  }
  void finish_in(unsigned cycles) {
    scans_ = false;
    left_ = cycles - kLook + 1;
  }
  void sample(unsigned row, const Settings& settings) {
    Entry& entry = entries_[row];
    entry.live = entry.used;
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
  /// The key of a packet; none if it is stray.
  [[nodiscard]] std::optional<Key> key_of(const Settings& settings) const {
    const Request& of = request_;
    const auto known = std::ranges::find(settings.communicators, std::optional(of.communicator));
    if (known == settings.communicators.end() || of.source >= config_.ranks) return {};
    return Key{static_cast<unsigned>(known - settings.communicators.begin()),
               of.source,
               of.collective,
               of.tag,
               of.number,
               of.length};
  }
  void arrive(const Settings& settings) {
    const Request& of = request_;
    answer_->verdict = Verdict::malformed;
    if (is_malformed(settings)) return;
    answer_->verdict = Verdict::stray;
    const auto of_known = key_of(settings);
    if (!of_known) return;
    const Key& key = *of_known;
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
      if (first_) entries_[*first_].next = static_cast<unsigned>(there - entries_.data());
      news_ = news_ || std::ranges::none_of(entries_,
                                            [&](const Entry& entry) { return entry.live && entry.of.is_message(key); });
    }
    const auto arrived = static_cast<std::size_t>(std::ranges::count(there->come, true));
    there->ordered = (arrived == 0 || there->ordered) && packet == arrived;
    there->come[packet] = true;
    there->ordered = there->ordered && !there->whole();
    lasts_[key.source] = static_cast<unsigned>(there - entries_.data());
    if (of.bytes != 0) ++there->writes;
    if (!key.collective) counted.come |= std::uint64_t{1} << (key.number - counted.next);
    answer_->verdict = Verdict::kept;
    answer_->buffer = static_cast<unsigned>(there - entries_.data());
    answer_->offset = static_cast<std::uint32_t>(of.offset - of.segment);
  }

  /// Returns the message that a slot may claim, if any.
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
      slot.partial = true;
      bool any = false;
      for (unsigned k = 0; k < config_.buffers; ++k) {
        const Entry& entry = entries_[k];
        if (!entry.live || !entry.of.is_message(slot.of) || (any && entry.segment != slot.segment)) continue;
        slot.pick = k;
        any = true;
      }
      Counted& counted = messages(slot.of);
      if (!slot.of.collective) counted.claimed |= std::uint64_t{1} << (slot.of.number - counted.next);
    }
    answer_->claimed = true;
    answer_->length = slot.of.length;
    for (unsigned k = 0; k < config_.buffers; ++k) {
      const Entry& entry = entries_[k];
      if (!entry.full || !entry.used || !entry.of.is_message(slot.of) || entry.segment != slot.segment) continue;
      slot.size = entry.size;
      slot.pick = k;
      slot.partial = true;
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
    slot.partial = false;
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
  std::vector<unsigned> lasts_;       ///< by rank: buffer of its last kept packet
  std::vector<Counted> ranks_;        ///< messages, by communicator and rank
  std::vector<Counted> collectives_;  ///< by communicator; `done`: ended collectives
  Request request_{.operation = Operation::clear};
  bool answers_ = false;           ///< false for the clear after a reset
  unsigned step_ = 0, left_;       ///< cycles since the request, and to its answer
  std::optional<unsigned> first_;  ///< arrive: buffer of the source's last kept packet, if of the same message
  bool scans_ = false;             ///< the operation scans all rows
  bool fills_ = false;             ///< a segment became full
  bool news_ = false;
  std::optional<unsigned> written_, released_;
  std::optional<Answer> answer_;
};

}  // namespace thalweg::accl
