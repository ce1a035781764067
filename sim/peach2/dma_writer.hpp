// SPDX-License-Identifier: Apache-2.0
// The DMA controller's write half, C++ model of rtl/peach2/tw_dma_writer.sv: receives the completions of reads and writes their data to
// the chunks' destinations, with each double word shifted to its position in the destination's lines. A read's data may come in parts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ram_fifo.hpp"
#include "common/skid.hpp"
#include "peach2/dma_reader.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

class DmaWriter {
 public:
  /// `reads`: maximum outstanding reads; `side`: channel bit of the tags; `words`: buffer for the completions of all outstanding
  /// reads.
  DmaWriter(unsigned reads, std::uint16_t own, unsigned side, unsigned words)
      : own_(own), side_(side), store_(words), entries_(reads) {}
  DmaWriter(unsigned reads, std::uint16_t own, unsigned side = 0)
      : DmaWriter(reads, own, side, kMostWords * reads + 2) {}

  [[nodiscard]] bool ready() const { return store_.ready(); }
  [[nodiscard]] const HubWord* out() const { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] const std::optional<Word<256>>& descriptor() const { return descriptor_; }
  [[nodiscard]] std::uint64_t busy() const { return busy_; }            ///< reads without all of their completions
  [[nodiscard]] bool written() const { return written_; }               ///< a chunk was written
  [[nodiscard]] bool answered() const { return answered_; }             ///< a read's last completion was taken
  [[nodiscard]] bool refused() const { return refused_; }               ///< a completion says Unsupported Request
  [[nodiscard]] bool failed() const { return failed_; }                 ///< another completion was wrong
  [[nodiscard]] bool quiet() const { return state_ == State::header; }  ///< between packets
  [[nodiscard]] bool waits() const { return !in_time_.valid(); }        ///< has no word to take
  [[nodiscard]] bool idle() const {
    return store_.empty() && !in_time_.valid() && busy_ == 0 && !fetching_ && !out_.valid() && !descriptor_ &&
           !written_ && !answered_ && !failed_;
  }

  /// One clock edge. `fetch`: a descriptor's read was issued; `chunk`: another read was; `abandon`: drops completions; `forget`: no
  /// read is outstanding, or will be answered.
  void step(const HubWord* offered, bool fetch, const Chunk* chunk, bool taken, bool abandon, bool forget) {
    const bool advance = out_.ready();
    std::optional<HubWord> goes;
    bool takes = in_time_.valid();  // default: drops
    written_ = refused_ = failed_ = false;
    descriptor_.reset();
    switch (state_) {
      case State::header:
        if (takes) look_up();
        takes = false;
        break;
      case State::check:
        takes = begin(advance, abandon, goes);
        break;
      case State::descriptor:
        if (!takes) break;
        descriptor_ = in_time_.front().data;
        state_ = in_time_.front().last ? State::header : State::drop;
        break;
      case State::prime:
        if (!takes) break;
        before_ = moved();
        --in_left_;
        state_ = State::data;
        break;
      case State::data:
        takes = line(advance, goes);
        break;
      case State::drop:
        if (takes && in_time_.front().last) state_ = State::header;
        break;
    }
    answered_ = takes && in_time_.front().last && ends_;
    if (chunk) {
      entries_[chunk->tag].chunk = *chunk;
      busy_ |= std::uint64_t{1} << chunk->tag;
    }
    fetching_ |= fetch;
    if (forget) {
      for (auto& entry : entries_) entry.left.reset();
      busy_ = 0;
      fetching_ = known_ = ends_ = false;
    }
    const bool forward = in_time_.ready();
    in_time_.step(store_.valid() ? &store_.front() : nullptr, takes);
    store_.step(offered, forward);
    out_.step(goes ? &*goes : nullptr, taken);
  }

 private:
  enum class State { header, check, descriptor, prime, data, drop };
  using Line = std::array<std::uint32_t, 8>;
  static constexpr unsigned kMostWords = 14;  ///< of a read's completions: nine lines in five parts
  static constexpr unsigned kDescriptorDwords = 8;

  /// An outstanding read.
  struct Entry {
    Chunk chunk;
    std::optional<unsigned> left{};  ///< double words that have not arrived, if others have
  };

  void look_up() {
    const unsigned tag = spec::pcie_completion::tag(header(in_time_.front().data)), number = tag % kMostReads;
    fetched_ = (tag & kFetchTag) != 0;
    known_ = (tag & kSideTag) == side_ && (fetched_ ? fetching_ && number == 0 : (busy_ >> number & 1) != 0);
    entry_ = entries_[known_ && !fetched_ ? number : 0];
    state_ = State::check;
  }
  bool begin(bool advance, bool abandon, std::optional<HubWord>& goes) {
    const auto& [front, last] = in_time_.front();
    const auto completion = thalweg::spec::PcieCompletion::unpack(header(front));
    const Chunk& chunk = entry_.chunk;
    const unsigned left = entry_.left.value_or(chunk.dwords), arrived = chunk.dwords - left,
                   most = fetched_ ? kDescriptorDwords : left, dwords = completion.length;
    const bool succeeds = kind(front) == Kind::completion && has_data(front) && completion.status == kSuccessful;
    const bool last_part = !succeeds || completion.byte_count == 4 * dwords;
    const bool right = known_ && succeeds && !completion.poisoned && completion.byte_count == 4 * most &&
                       dwords <= most && dwords != 0 &&
                       (fetched_ ? last_part : completion.lower_address == (chunk.from + arrived) % 32 * 4);
    const std::uint64_t to = chunk.to + arrived;
    ends_ = known_ && last_part;
    if (right && !abandon && !fetched_) {
      thalweg::spec::PcieMemoryWrite write;
      write.requester = own_;
      write.length = static_cast<std::uint16_t>(dwords);
      write.first_enable = 15;
      write.last_enable = dwords == 1 ? 0 : 15;
      write.address = to;
      goes = HubWord{word(write.pack()), false};
      if (!advance) return false;
    }
    refused_ = known_ && kind(front) == Kind::completion && completion.status == kUnsupportedRequest && !abandon;
    failed_ = !right && !abandon;
    before_ = {};
    if (known_ && fetched_) {
      fetching_ = !last_part;
    } else if (known_) {
      auto& entry = entries_[chunk.tag];
      entry.left = left - dwords;
      if (last_part) {
        entry.left.reset();
        busy_ &= ~(std::uint64_t{1} << chunk.tag);
      }
    }
    if (!right || abandon) {
      state_ = last ? State::header : State::drop;
    } else if (fetched_) {
      state_ = State::descriptor;
    } else {
      const unsigned first = completion.lower_address / 4 % 8, at = static_cast<unsigned>(to % 8);
      turn_ = (at - first) % 8;
      in_left_ = lines(first, dwords);
      out_left_ = lines(at, dwords);
      ends_chunk_ = last_part;
      state_ = first > at ? State::prime : State::data;
    }
    return true;
  }
  bool line(bool advance, std::optional<HubWord>& goes) {
    const bool needs = in_left_ > 0;
    if (needs && !in_time_.valid()) return false;
    const Line now = needs ? moved() : Line{};
    HubWord out{{}, out_left_ == 1};
    for (unsigned i = 0; i < 8; ++i) out.data[i / 2] |= std::uint64_t{i < turn_ ? before_[i] : now[i]} << i % 2 * 32;
    goes = out;
    if (!advance) return false;
    if (needs) {
      before_ = now;
      --in_left_;
    }
    if (--out_left_ == 0) {
      written_ = ends_chunk_;
      state_ = State::header;
    }
    return needs;
  }
  /// The line at the front, rotated to the destination's alignment.
  [[nodiscard]] Line moved() const {
    Line line;
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned at = (i - turn_) % 8;
      line[i] = static_cast<std::uint32_t>(in_time_.front().data[at / 2] >> at % 2 * 32);
    }
    return line;
  }

  std::uint16_t own_;
  unsigned side_;
  RamFifo<HubWord> store_;
  Skid<HubWord> in_time_;
  std::vector<Entry> entries_;
  std::uint64_t busy_ = 0;
  bool fetching_ = false;
  Skid<HubWord> out_;
  State state_ = State::header;
  // The completion at the head.
  Entry entry_{};
  bool fetched_ = false, known_ = false;
  bool ends_ = false;        ///< it is the last one of its read
  bool ends_chunk_ = false;  ///< the chunk is written with it
  unsigned turn_ = 0;        ///< double words by which lines are shifted up
  unsigned in_left_ = 0, out_left_ = 0;
  Line before_{};
  std::optional<Word<256>> descriptor_;
  bool written_ = false, answered_ = false, refused_ = false, failed_ = false;
};

}  // namespace thalweg::peach2
