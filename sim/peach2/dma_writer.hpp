// SPDX-License-Identifier: Apache-2.0
// The DMA controller's write half, C++ model of rtl/peach2/tw_dma_writer.sv: receives the completions of reads and writes their data to
// the chunks' destinations, with each double word shifted to its position in the destination's lines.
#pragma once

#include <cstdint>
#include <optional>

#include "common/fifo.hpp"
#include "common/ram_fifo.hpp"
#include "common/skid.hpp"
#include "peach2/dma_reader.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

class DmaWriter {
 public:
  /// `words`: buffer for the completions of all outstanding reads; `chunks`: maximum outstanding reads; `side`: channel bit of the tags.
  DmaWriter(unsigned words, unsigned chunks, std::uint16_t own, unsigned side = 0)
      : own_(own), side_(side), size_(chunks), store_(words), chunks_(chunks) {}

  [[nodiscard]] bool ready() const { return store_.ready(); }
  [[nodiscard]] const HubWord* out() const { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] const std::optional<Word<256>>& descriptor() const { return descriptor_; }
  [[nodiscard]] bool written() const { return written_; }               ///< a chunk was written
  [[nodiscard]] bool answered() const { return answered_; }             ///< the last word of a completion was taken
  [[nodiscard]] bool failed() const { return failed_; }                 ///< a completion was wrong
  [[nodiscard]] bool quiet() const { return state_ == State::header; }  ///< between packets
  [[nodiscard]] bool waits() const { return !in_time_.valid(); }        ///< has no word to take
  [[nodiscard]] bool idle() const {
    return store_.empty() && !in_time_.valid() && !chunks_.valid() && !out_.valid() && !descriptor_ && !written_ &&
           !answered_ && !failed_;
  }

  /// One clock edge. `abandon`: drops completions; `clear`: discards the chunks and restarts the tags.
  void step(const HubWord* offered, const Chunk* chunk, bool taken, bool abandon, bool clear) {
    const bool advance = out_.ready();
    std::optional<HubWord> goes;
    bool takes = in_time_.valid();  // default: drops
    written_ = failed_ = false;
    descriptor_.reset();
    switch (state_) {
      case State::header:
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
    answered_ = takes && in_time_.front().last;
    chunks_.step(chunk, written_);
    if (clear) {
      chunks_ = Fifo<Chunk>(size_);
      expected_ = 0;
    }
    const bool forward = in_time_.ready();
    in_time_.step(store_.valid() ? &store_.front() : nullptr, takes);
    store_.step(offered, forward);
    out_.step(goes ? &*goes : nullptr, taken);
  }

 private:
  enum class State { header, descriptor, prime, data, drop };
  using Line = std::array<std::uint32_t, 8>;

  bool begin(bool advance, bool abandon, std::optional<HubWord>& goes) {
    if (!in_time_.valid()) return false;
    const auto& front = in_time_.front().data;
    const auto completion = thalweg::spec::PcieCompletion::unpack(header(front));
    const bool fetched = completion.tag & 0x80;
    const bool known =
        chunks_.valid() && completion.tag == (expected_ | side_) && completion.length == chunks_.front().dwords;
    const bool right = kind(front) == Kind::completion && completion.status == 0 && (fetched || known);
    failed_ = !right && !abandon;
    if (!right || abandon) {
      state_ = in_time_.front().last ? State::header : State::drop;
      return true;
    }
    before_ = {};
    if (fetched) {
      state_ = State::descriptor;
      return true;
    }
    const Chunk& chunk = chunks_.front();
    thalweg::spec::PcieMemoryWrite write;
    write.requester = own_;
    write.length = static_cast<std::uint16_t>(chunk.dwords);
    write.first_enable = 15;
    write.last_enable = chunk.dwords == 1 ? 0 : 15;
    write.address = chunk.to;
    goes = HubWord{word(write.pack()), false};
    if (!advance) return false;
    const unsigned from = completion.lower_address / 4 % 8, to = static_cast<unsigned>(chunk.to % 8);
    expected_ = (expected_ + 1) % 32;
    turn_ = (to - from) % 8;
    in_left_ = lines(from, chunk.dwords);
    out_left_ = lines(to, chunk.dwords);
    state_ = from > to ? State::prime : State::data;
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
      written_ = true;
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
  unsigned side_, size_;
  RamFifo<HubWord> store_;
  Skid<HubWord> in_time_;
  Fifo<Chunk> chunks_;
  Skid<HubWord> out_;
  State state_ = State::header;
  unsigned expected_ = 0;  ///< next tag
  unsigned turn_ = 0;      ///< double words by which lines are shifted up
  unsigned in_left_ = 0, out_left_ = 0;
  Line before_{};
  std::optional<Word<256>> descriptor_;
  bool written_ = false, answered_ = false, failed_ = false;
};

}  // namespace thalweg::peach2
