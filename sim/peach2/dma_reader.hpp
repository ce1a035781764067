// SPDX-License-Identifier: Apache-2.0
// The DMA controller's read half, C++ model of rtl/peach2/tw_dma_reader.sv: walks a chain of descriptors and issues their reads,
// one packet each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "peach2/word.hpp"
#include "thalweg_peach2_spec.hpp"

namespace thalweg::peach2 {

inline constexpr unsigned kTimeoutUnit = 1024;    ///< cycles of the packet clock
inline constexpr unsigned kMostTimeout = 0xFFFF;  ///< units
inline constexpr unsigned kPurgeCycles =
    64;  ///< cycles without a start after which a purge ends; until then starts are aborted

/// A read's tag, and the destination of its data, in double words.
struct Chunk {
  unsigned tag = 0;
  unsigned from = 0;  ///< of the source, within 128 bytes
  std::uint64_t to = 0;
  unsigned dwords = 0;
};

class DmaReader {
 public:
  /// `own`: requester ID; `reads`: maximum number of outstanding reads; `side`: channel bit of its tags; `descriptors`: maximum
  /// length of a chain; `unit`: of time-outs, in cycles.
  DmaReader(unsigned reads, std::uint16_t own, unsigned side = 0, unsigned descriptors = 32768,
            unsigned unit = kTimeoutUnit)
      : reads_(reads), own_(own), side_(side), descriptors_(descriptors), unit_(unit) {}

  struct In {
    std::optional<std::uint64_t> start{};  ///< address of the first descriptor
    bool out_ready = false;
    std::optional<spec::DmaDescriptor> descriptor{};
    std::uint64_t busy = 0;  ///< tags without all of their data
    bool written = false;    ///< a chunk was written
    bool answered = false;   ///< the last word of a read's last completion was taken
    bool refused = false;    ///< a completion says Unsupported Request
    bool failed = false;     ///< another error of a completion
    bool quiet = false;      ///< the writer is between packets
    bool waits = true;       ///< the writer has no word of a completion to take
    bool abort = false, purge = false;
    unsigned timeout = 0;  ///< time-out for completions, in units; 0: none
  };

  [[nodiscard]] bool ready() const { return state_ == State::idle; }  ///< ready for a start
  [[nodiscard]] bool idle() const { return state_ == State::idle && purge_ == 0 && !finished_ && !fault_ && !lost_; }
  /// The writer must drop completions.
  [[nodiscard]] bool abandon() const { return state_ == State::abandon || lost_; }
  /// No read is outstanding, or will be answered.
  [[nodiscard]] bool forget(const In& in) const { return forgets(in) || (clear(in.quiet) && asked_ == 0); }
  /// The chain has completed.
  [[nodiscard]] bool finished() const { return finished_; }
  /// Reason why a chain was aborted, and the address of the descriptor; after a time-out, that of the last read.
  struct Fault {
    ChainFault reason;
    std::uint64_t address;
  };
  [[nodiscard]] const std::optional<Fault>& fault() const { return fault_; }
  /// Reads without a completion, and the address of the last read.
  struct Unanswered {
    unsigned reads;
    std::uint64_t last;
  };
  [[nodiscard]] std::optional<Unanswered> unanswered() const {
    return asked_ > 0 && !lost_ ? std::optional(Unanswered{asked_, read_ * 4}) : std::nullopt;
  }
  /// The read offered at the output.
  [[nodiscard]] std::optional<HubWord> out() const {
    if (state_ == State::fetch) return read(next_, 8, kFetchTag);
    if (state_ == State::issue && room()) return read(from_, dwords_, tag_);
    return std::nullopt;
  }
  /// A descriptor's read was issued in the previous cycle.
  [[nodiscard]] bool fetched() const { return fetched_; }
  /// Another read issued in the previous cycle.
  [[nodiscard]] const std::optional<Chunk>& chunk() const { return chunk_; }

  /// One clock edge.
  void step(const In& in) {
    const bool late = this->late(in), due = asked_ > 0, lost = lost_, forgets = this->forgets(in);
    const bool loses = late && state_ != State::idle && due;
    const std::uint64_t shown = state_ == State::fetch ? next_ : from_;
    const bool issues = state_ == State::issue && room() && in.out_ready;
    const bool goes = issues || (state_ == State::fetch && in.out_ready);
    const bool shows = state_ == State::fetch || (state_ == State::issue && room());
    const bool drained = under_way_ == 0;
    const bool clears = clear(in.quiet), free = !(in.busy >> tag_ & 1);
    const ChainFault before = broken_;
    const bool gives_up = before != ChainFault::none && (!shows || in.out_ready);
    const bool ends = state_ == State::drain && drained && before == ChainFault::none;
    const bool purging = purge_ != 0;
    under_way_ += issues;
    under_way_ -= in.written;
    asked_ = (asked_ + goes - (in.answered && asked_ != 0)) % (2 * kMostReads);
    if (goes) read_ = shown;
    waited_ = !due || goes || in.answered || !in.waits || (loses && !lost) ? 0 : waited_ + 1;
    lost_ = due && (lost || loses);
    if (forgets) {
      lost_ = false;
      asked_ = 0;
    }
    purge_ = in.purge ? kPurgeCycles : in.start ? (purging ? kPurgeCycles : 0) : purge_ - purging;
    finished_ = ends;
    fault_.reset();
    if (clears) fault_ = Fault{before, (before == ChainFault::late ? read_ : at_) * 4};
    if (state_ != State::idle && late)
      broken_ = ChainFault::late;
    else if (state_ != State::idle && !ends && before == ChainFault::none)
      broken_ = in.refused             ? ChainFault::refused
                : in.failed            ? ChainFault::failed
                : in.abort || in.purge ? ChainFault::aborted
                                       : ChainFault::none;
    const bool there = descriptor_there_;
    fetched_ = goes && !issues;
    chunk_.reset();
    switch (state_) {
      case State::idle:
        if (in.start) {
          next_ = at_ = *in.start / 32 * 8;
          count_ = 0;
          broken_ = purging          ? ChainFault::aborted
                    : lost           ? ChainFault::late
                    : *in.start % 32 ? ChainFault::malformed
                                     : ChainFault::none;
          state_ = broken_ == ChainFault::none ? State::fetch : State::abandon;
        }
        break;
      case State::fetch:
        if (in.out_ready) {
          state_ = State::await;
          at_ = next_;
          ++count_;
        }
        break;
      case State::await:
        if (there && drained) follow(before);
        break;
      case State::cut:
        dwords_ = static_cast<unsigned>(std::min<std::uint64_t>({left_, 64 - to_ % 64, 1024 - from_ % 1024}));
        state_ = State::issue;
        break;
      case State::issue:
        if (issues) {
          chunk_ = Chunk{tag_, static_cast<unsigned>(from_ % 32), to_, dwords_};
          tag_ = (tag_ + 1) % reads_;
          from_ += dwords_;
          to_ += dwords_;
          left_ -= dwords_;
          state_ = left_ > 0 ? State::cut : last_ ? State::drain : State::fetch;
        }
        break;
      case State::drain:
        if (ends) state_ = State::idle;
        break;
      case State::abandon:
        break;
    }
    if (in.descriptor) {
      descriptor_ = *in.descriptor;
      descriptor_there_ = true;
    }
    free_ = free;
    if (gives_up) state_ = State::abandon;
    if (!clears) return;
    state_ = State::idle;
    under_way_ = 0;
    descriptor_there_ = false;
    broken_ = ChainFault::none;
  }

 private:
  enum class State { idle, fetch, await, cut, issue, drain, abandon };

  [[nodiscard]] bool room() const { return free_ && under_way_ != reads_; }
  [[nodiscard]] bool late(const In& in) const { return in.timeout != 0 && waited_ / unit_ >= in.timeout; }
  /// The chain has been aborted.
  [[nodiscard]] bool clear(bool quiet) const { return state_ == State::abandon && (asked_ == 0 || lost_) && quiet; }
  [[nodiscard]] bool forgets(const In& in) const { return lost_ && (in.purge || late(in)) && !out() && !chunk_; }
  [[nodiscard]] HubWord read(std::uint64_t address, unsigned dwords, unsigned tag) const {
    thalweg::spec::PcieMemoryRead read;
    read.requester = own_;
    read.first_enable = 15;
    read.length = static_cast<std::uint16_t>(dwords);
    read.last_enable = dwords == 1 ? 0 : 15;
    read.tag = static_cast<std::uint8_t>(tag | side_);
    read.address = address % (kAddresses / 4);
    return {word(read.pack()), true};
  }
  void follow(ChainFault before) {
    const auto& d = descriptor_;
    descriptor_there_ = false;
    from_ = d.source / 4;
    to_ = d.destination / 4;
    next_ = d.next / 4;
    left_ = d.size / 4;
    last_ = d.last;
    const bool malformed = d.size == 0 || d.size % 4 || d.source % 4 || d.destination % 4 || d.source >= kAddresses ||
                           d.destination >= kAddresses || (!d.last && (d.next % 32 || d.next >= kAddresses));
    const bool too_long = count_ > descriptors_ - !d.last;
    state_ = State::cut;
    if (before != ChainFault::none || !(malformed || too_long)) return;
    state_ = State::abandon;
    broken_ = malformed ? ChainFault::malformed : ChainFault::too_long;
  }

  unsigned reads_;
  std::uint16_t own_;
  unsigned side_, descriptors_, unit_;
  State state_ = State::idle;
  std::uint64_t from_ = 0, to_ = 0, next_ = 0, left_ = 0;  ///< in double words
  bool last_ = false;
  std::uint64_t at_ = 0;                  ///< address of the current descriptor, in double words
  unsigned count_ = 0;                    ///< number of descriptors fetched
  unsigned asked_ = 0;                    ///< reads without a completion, descriptor reads included
  unsigned purge_ = 0;                    ///< remaining cycles of a purge
  std::uint64_t waited_ = 0;              ///< cycles since the last progress of outstanding reads
  std::uint64_t read_ = 0;                ///< address of the last read, in double words
  bool lost_ = false;                     ///< outstanding completions are no longer awaited
  ChainFault broken_ = ChainFault::none;  ///< reason to abort the chain
  bool finished_ = false;
  std::optional<Fault> fault_;
  unsigned dwords_ = 0, tag_ = 0, under_way_ = 0;
  bool free_ = false;  ///< the tag has no outstanding read
  bool fetched_ = false;
  spec::DmaDescriptor descriptor_;
  bool descriptor_there_ = false;
  std::optional<Chunk> chunk_;
};

}  // namespace thalweg::peach2
