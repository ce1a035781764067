// SPDX-License-Identifier: Apache-2.0
// Converts packets to bus beats and back, C++ model of rtl/peach2/tw_bus_bridge.sv: writes and reads become beats of 16 bytes, and read
// data become completions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/fifo.hpp"
#include "common/skid.hpp"
#include "peach2/word.hpp"

namespace thalweg::peach2 {

/// Data of a beat read from the bus; failed: nothing is at its address.
struct BusReply {
  Word<128> data{};
  bool failed = false;
};

/// A transfer of one cycle on the bus.
struct BusBeat {
  bool write = false;
  std::uint64_t address = 0;  ///< in beats
  Word<128> data{};
  std::uint32_t enable = 0;  ///< byte enables
};

class BusBridge {
 public:
  static constexpr unsigned kMostBeats = 17;  ///< maximum beats of a packet

  /// `reads`: maximum number of outstanding reads.
  BusBridge(unsigned reads, std::uint16_t own)
      : reads_(reads), own_(own), plans_(reads), replies_(std::size_t{reads} * kMostBeats) {}

  [[nodiscard]] bool ready() const { return first_ ? !packet_ : packet_ && write_ && line_free(); }
  [[nodiscard]] const HubWord* out() const { return out_.valid() ? &out_.front() : nullptr; }
  [[nodiscard]] const BusBeat* beat() const { return beat_out_.valid() ? &beat_out_.front() : nullptr; }
  [[nodiscard]] bool idle() const {
    return !packet_ && beats_ == 0 && !beat_out_.valid() && under_way_ == 0 && !out_.valid();
  }

  /// One clock edge.
  void step(const HubWord* offered, bool taken, bool beat_taken, const BusReply* reply) {
    const bool accept = offered && ready(), loads = accept && !first_;
    const std::optional<BusBeat> beat = next_beat();
    const bool write_goes = beats_ != 0 && beat_out_.ready(), read_goes = beats_ == 0 && beat && beat_out_.ready();
    const bool begins = read_goes && !begun_;
    beat_out_.step(beat ? &*beat : nullptr, beat_taken);
    const auto starting = read_;
    const bool done = complete(begins ? &starting : nullptr, taken, reply);
    under_way_ += begins;
    under_way_ -= done;
    if (read_goes) {
      const unsigned dwords = std::min(left_, 4 - static_cast<unsigned>(at_ % 4));
      if (dwords == left_) packet_ = false;
      advance(dwords);
    }
    if (loads) {
      load(*offered);
    } else if (write_goes) {
      beats_ = beats_ == 3 ? 2 : 0;
    }
    if (accept && first_) begin(*offered);
    if (accept) first_ = offered->last;
  }

 private:
  using Read = thalweg::spec::PcieMemoryRead;

  [[nodiscard]] bool line_free() const { return beats_ == 0 || (beat_out_.ready() && beats_ != 3); }
  [[nodiscard]] std::optional<BusBeat> next_beat() const {
    if (beats_ != 0) {
      const bool upper = beats_ == 2;
      return BusBeat{true,
                     line_at_ * 2 + upper,
                     {line_[upper ? 2 : 0], line_[upper ? 3 : 1]},
                     upper ? enable_ >> 16 : enable_ & 0xFFFF};
    }
    if (packet_ && !write_ && (begun_ || under_way_ != reads_)) return BusBeat{.address = at_ / 4};
    return std::nullopt;
  }
  void advance(unsigned dwords) {
    at_ = (at_ + dwords) % (kAddresses / 4);
    left_ -= dwords;
    begun_ = true;
  }
  void begin(const HubWord& word) {
    const auto request = thalweg::spec::PcieMemoryWrite::unpack(header(word.data));
    const Kind of = kind(word.data);
    write_ = of == Kind::write;
    begun_ = false;
    at_ = request.address % (kAddresses / 4);
    left_ = request.length % 128;
    first_enable_ = request.first_enable;
    last_enable_ = request.last_enable;
    read_ = thalweg::spec::PcieMemoryRead::unpack(header(word.data));
    packet_ = !word.last || of == Kind::read;
  }
  void load(const HubWord& word) {
    const unsigned first = at_ % 8, taken = std::min(left_, 8 - first);
    line_ = word.data;
    line_at_ = at_ / 8;
    enable_ = 0;
    for (unsigned i = first; i < first + taken; ++i) {
      const bool last = left_ == taken && i + 1 == first + taken;
      enable_ |= (!begun_ && i == first ? first_enable_ : last ? last_enable_ : 15u) << 4 * i;
    }
    beats_ = (enable_ >> 16 ? 2u : 0u) | (enable_ & 0xFFFF ? 1u : 0u);
    advance(taken);
    if (word.last) packet_ = false;
  }

  /// Sends completions; true if the last word of one enters the output register.
  bool complete(const Read* begun, bool taken, const BusReply* reply) {
    std::optional<HubWord> goes;
    const bool advance = out_.ready();
    bool takes = false, done = false;
    if (plans_.valid() && replies_.valid()) {
      const Read& plan = plans_.front();
      if (!headed_) {
        goes = replies_.front().failed ? HubWord{unsupported(plan.pack(), own_), true}
                                       : HubWord{completion(plan, own_), false};
        if (advance) {
          headed_ = true;
          to_come_ = static_cast<unsigned>(plan.address % 4 + plan.length + 3) / 4;
          half_ = plan.address / 4 % 2;
          lower_ = {};
        }
      } else {
        const auto& [beat, failed] = replies_.front();
        const bool last = to_come_ == 1, emits = !failed && (half_ || last);
        if (emits)
          goes = HubWord{half_ ? Word<256>{lower_[0], lower_[1], beat[0], beat[1]} : Word<256>{beat[0], beat[1]}, last};
        takes = !emits || advance;
        if (takes) {
          lower_ = beat;
          half_ = !half_;
          --to_come_;
          done = last;
          if (last) headed_ = false;
        }
      }
    }
    plans_.step(begun, done);
    replies_.step(reply, takes);
    out_.step(goes ? &*goes : nullptr, taken);
    return done;
  }

  unsigned reads_;
  std::uint16_t own_;
  // The current packet and its line.
  bool first_ = true, packet_ = false, write_ = false, begun_ = false;
  std::uint64_t at_ = 0;  ///< in double words
  unsigned left_ = 0;
  unsigned first_enable_ = 0, last_enable_ = 0;
  Read read_{};
  unsigned beats_ = 0;  ///< pending beats of the line; bit 0: the lower one
  Word<256> line_{};
  std::uint32_t enable_ = 0;
  std::uint64_t line_at_ = 0;
  Skid<BusBeat> beat_out_;
  unsigned under_way_ = 0;  ///< outstanding reads
  // Completions.
  Fifo<Read> plans_;
  Fifo<BusReply> replies_;
  Skid<HubWord> out_;
  bool headed_ = false, half_ = false;
  unsigned to_come_ = 0;
  Word<128> lower_{};
};

}  // namespace thalweg::peach2
