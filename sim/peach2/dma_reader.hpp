// SPDX-License-Identifier: Apache-2.0
// The DMA controller's first half, twin of rtl/peach2/tw_dma_reader.sv: walks a chain of descriptors, and reads what they say, a
// packet's worth at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "peach2/word.hpp"
#include "thalweg_peach2_spec.hpp"

namespace thalweg::peach2 {

/// Where the data of a read are to be written, in double words.
struct Chunk {
  std::uint64_t to = 0;
  unsigned dwords = 0;
  bool last = false;  ///< the chain's last one
};

class DmaReader {
 public:
  /// `own`: as the requester; `reads`: under way at once; `side`: in its tags, which channel's.
  DmaReader(unsigned reads, std::uint16_t own, unsigned side = 0) : reads_(reads), own_(own), side_(side) {}

  [[nodiscard]] bool ready() const { return state_ == State::idle; }  ///< for a start
  [[nodiscard]] bool idle() const { return state_ == State::idle || state_ == State::fault; }
  [[nodiscard]] bool fault() const { return state_ == State::fault; }
  /// The read that it shows.
  [[nodiscard]] std::optional<HubWord> out() const {
    if (state_ == State::fetch) return read(next_, 8, 0x80);
    if (state_ == State::issue && room()) return read(from_, dwords_, tag_);
    return std::nullopt;
  }
  /// What goes with the read that went in the cycle before.
  [[nodiscard]] const std::optional<Chunk>& chunk() const { return chunk_; }

  struct In {
    std::optional<std::uint64_t> start{};  ///< of the first descriptor
    bool out_ready = false;
    std::optional<spec::DmaDescriptor> descriptor{};
    bool written = false;  ///< a chunk
    bool refused = false;  ///< a read
  };
  /// One clock edge.
  void step(const In& in) {
    const bool issues = state_ == State::issue && room() && in.out_ready;
    const bool drained = under_way_ == 0;
    under_way_ += issues;
    under_way_ -= in.written;
    const bool there = descriptor_there_;
    chunk_.reset();
    switch (state_) {
      case State::idle:
        if (in.start) {
          next_ = *in.start / 4;
          state_ = *in.start % 32 ? State::fault : State::fetch;
        }
        break;
      case State::fetch:
        if (in.out_ready) state_ = State::await;
        break;
      case State::await:
        if (there && drained) follow();
        break;
      case State::cut:
        dwords_ = static_cast<unsigned>(std::min<std::uint64_t>({left_, 64 - to_ % 64, 1024 - from_ % 1024}));
        state_ = State::issue;
        break;
      case State::issue:
        if (issues) {
          chunk_ = Chunk{to_, dwords_, last_ && left_ == dwords_};
          tag_ = (tag_ + 1) % 32;
          from_ += dwords_;
          to_ += dwords_;
          left_ -= dwords_;
          state_ = left_ > 0 ? State::cut : last_ ? State::drain : State::fetch;
        }
        break;
      case State::drain:
        if (drained) state_ = State::idle;
        break;
      case State::fault:
        break;
    }
    if (in.descriptor) {
      descriptor_ = *in.descriptor;
      descriptor_there_ = true;
    }
    if (in.refused) state_ = State::fault;
  }

 private:
  enum class State { idle, fetch, await, cut, issue, drain, fault };

  [[nodiscard]] bool room() const { return under_way_ != reads_; }
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
  void follow() {
    const auto& d = descriptor_;
    descriptor_there_ = false;
    from_ = d.source / 4;
    to_ = d.destination / 4;
    next_ = d.next / 4;
    left_ = d.size / 4;
    last_ = d.last;
    const bool malformed = d.size == 0 || d.size % 4 || d.source % 4 || d.destination % 4 || d.source >= kAddresses ||
                           d.destination >= kAddresses || (!d.last && (d.next % 32 || d.next >= kAddresses));
    state_ = malformed ? State::fault : State::cut;
  }

  unsigned reads_;
  std::uint16_t own_;
  unsigned side_;
  State state_ = State::idle;
  std::uint64_t from_ = 0, to_ = 0, next_ = 0, left_ = 0;  ///< in double words
  bool last_ = false;
  unsigned dwords_ = 0, tag_ = 0, under_way_ = 0;
  spec::DmaDescriptor descriptor_;
  bool descriptor_there_ = false;
  std::optional<Chunk> chunk_;
};

}  // namespace thalweg::peach2
