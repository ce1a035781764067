// SPDX-License-Identifier: Apache-2.0
// A DMA engine from a node's crossbar to its memory. C++ model of rtl/vcsn/tw_write_dma.sv.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/ring.hpp"
#include "core/clock.hpp"
#include "vcsn/dma.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

/// Writes words in bursts that end with a segment. The end of a packet ends a transfer; segments not started are
/// skipped, one per cycle. Words beyond the segments, and words without a packet's start, are dropped and counted. A
/// start within a packet means that its end was lost: it ends the packet, and the next transfer takes the words that
/// follow.
class WriteDma final : public Component, public Sink {
 public:
  WriteDma(Domain& domain, BoardMemory& memory, const DmaTiming& timing)
      : domain_(&domain),
        id_(domain.scheduler.add(*this)),
        memory_(&memory),
        timing_(timing),
        words_(timing.buffer),
        bursts_(timing.buffer),
        left_(timing.buffer) {}

  std::function<void()> changed;  ///< words can be accepted
  /// Called at the start of a burst: cycle, address, bytes, first cycle in which the memory accepts the next burst, and
  /// cycle in which this one is in memory.
  std::function<void(Tick, std::uint64_t, std::span<const std::byte>, Tick, Tick)> wrote;
  std::function<void(const Ended&)> ended;

  void submit(Transfer transfer) {
    waiting_.push_back({std::move(transfer), domain_->next()});
    if (!bursts_.empty()) wake(std::max(next_, bursts_.front().cycle + 1));
    changed();
  }
  /// Restarts: forgets all transfers. Returns the number of unwritten words.
  std::uint64_t reset() {
    const std::uint64_t dropped = words_.size();
    waiting_.clear();
    walk_ = {};
    words_ = Ring<Word>(timing_.buffer);
    bursts_ = Ring<Burst>(timing_.buffer);
    left_ = Times(timing_.buffer);
    put_ = written_ = 0;
    gathered_ = 0;
    ends_ = 0;
    next_ = complete_ = from_ = 0;
    full_ = open_ = false;
    return dropped;
  }
  /// Number of words beyond the segments.
  [[nodiscard]] std::uint64_t overrun() const { return overrun_; }
  /// Number of words of packets whose start was lost; broken() is the number of packets whose end was lost.
  [[nodiscard]] std::uint64_t headless() const { return headless_; }
  [[nodiscard]] std::uint64_t broken() const { return broken_; }

  [[nodiscard]] Tick accepts() const override {
    if (ends_ >= waiting_.size()) return kNever;
    const Tick room = after(left_.of(static_cast<std::int64_t>(put_) - timing_.buffer));
    return room == kNever ? kNever : std::max({room, waiting_[ends_].from, from_});
  }
  void put(Tick cycle, const Word& word) override {
    const bool breaks = word.first && open_;
    if (breaks) {
      ++broken_;
      burst(cycle, true);
    }
    if (!word.first && !open_) {
      ++headless_;
      return;
    }
    open_ = !word.last;
    words_.push(word);
    ++put_;
    if (++gathered_ < timing_.burst && !word.last) return;
    burst(cycle + breaks, word.last);
    if (breaks) from_ = cycle + 2;  // the second burst of a cycle comes in the next one
  }

  /// The write that starts in this cycle; 0 words: only a packet's end. `address`: none if the words are beyond the
  /// segments.
  struct Piece {
    std::optional<std::uint64_t> address;
    unsigned words = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::optional<Piece> next(Tick now) const {
    if (bursts_.empty() || waiting_.empty() || now < std::max(next_, bursts_.front().cycle + 1)) return std::nullopt;
    const unsigned words = bursts_.front().words;
    if (full_) return Piece{std::nullopt, words, 0};
    const Transfer& transfer = waiting_.front().transfer;
    const auto bytes = std::min<std::uint64_t>(walk_.next(transfer, words), std::uint64_t{words} * kWord);
    return Piece{words == 0 ? std::nullopt : std::optional(walk_.address(transfer)), words_of(bytes), bytes};
  }

  bool step(Tick now) override {
    const auto piece = next(now);
    if (!piece) return false;
    const Transfer& transfer = waiting_.front().transfer;
    const std::size_t unbegun = full_ ? 0 : transfer.segments.size() - 1 - walk_.segment();
    data_.clear();
    for (unsigned k = 0; k < piece->words; ++k) {
      const Word& word = words_.front();
      data_.insert(data_.end(), word.bytes.begin(), word.bytes.end());
      words_.pop();
      left_.add(now + k);
    }
    next_ = now + std::max(2u, piece->words);
    if (piece->address) {
      const std::uint64_t to = *piece->address;
      const double moved = memory_->bank(to).access(now, memory_->place(to), data_.size(), true);
      memory_->bytes.write(to, std::span(data_).first(static_cast<std::size_t>(piece->bytes)));
      written_ += piece->bytes;
      full_ = walk_.advance(transfer, piece->bytes);
      complete_ = std::max(complete_ + 1, static_cast<Tick>(std::ceil(moved)));
      const Tick accepts = static_cast<Tick>(moved) - timing_.ahead;
      next_ = std::max(next_, accepts);
      if (wrote) wrote(now, to, std::span(data_).first(static_cast<std::size_t>(piece->bytes)), accepts, complete_);
    } else {
      overrun_ += piece->words;
    }
    Burst& burst = bursts_.front();
    burst.words -= piece->words;
    if (burst.words == 0) {
      if (burst.ends) {
        next_ = std::max(next_, now + 2 + static_cast<Tick>(unbegun));
        ended_ = std::max({complete_, now + 1, ended_}) + 1;
        const Ended done{transfer.handle, ended_, written_};
        --ends_;
        waiting_.pop_front();
        walk_ = {};
        full_ = false;
        written_ = 0;
        ended(done);
      }
      bursts_.pop();
    }
    if (!bursts_.empty()) wake(std::max(next_, bursts_.front().cycle + 1));
    changed();
    return false;
  }

 private:
  struct Burst {
    Tick cycle = 0;  ///< of its last word
    unsigned words = 0;
    bool ends = false;  ///< it ends a packet
  };
  struct Waiting {
    Transfer transfer;
    Tick from = 0;
  };

  /// Forms a burst of the gathered words; the last word, or what ends it, arrived in this cycle.
  void burst(Tick cycle, bool ends) {
    bursts_.push_growing({cycle, gathered_, ends});
    ends_ += ends;
    gathered_ = 0;
    if (bursts_.size() == 1) wake(std::max(next_, cycle + 1));
  }
  void wake(Tick cycle) { domain_->wake(id_, std::max(cycle, domain_->next())); }

  Domain* domain_;
  ComponentId id_;
  BoardMemory* memory_;
  DmaTiming timing_;
  std::deque<Waiting> waiting_;
  Walk walk_;
  Ring<Word> words_;
  Ring<Burst> bursts_;
  Times left_;
  std::uint64_t put_ = 0, written_ = 0, overrun_ = 0, headless_ = 0, broken_ = 0;
  unsigned gathered_ = 0;  ///< words of the incomplete burst
  std::size_t ends_ = 0;   ///< number of packets whose end has arrived
  Tick next_ = 0, complete_ = 0, ended_ = 0, from_ = 0;
  bool full_ = false;  ///< the segments are full
  bool open_ = false;  ///< a packet has started and not ended
  std::vector<std::byte> data_;
};

}  // namespace thalweg::vcsn
