// SPDX-License-Identifier: Apache-2.0
// A DMA engine from a node's memory to its crossbar. C++ model of rtl/vcsn/tw_read_dma.sv.
#pragma once

#include <algorithm>
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

/// Bursts are requested as far ahead as the buffer has free slots for their words.
class ReadDma final : public Component, public Source {
 public:
  ReadDma(Domain& domain, BoardMemory& memory, const DmaTiming& timing)
      : domain_(&domain),
        id_(domain.scheduler.add(*this)),
        memory_(&memory),
        timing_(timing),
        words_(timing.buffer),
        taken_(timing.buffer) {}

  std::function<void()> changed;                                ///< words are offered
  std::function<void(Tick, std::uint64_t, unsigned)> requests;  ///< called for a memory request: cycle, address, words
  std::function<void(Tick, const Word&)> answered;              ///< called for each word of data: its cycle in the
                                                                ///< engine
  std::function<void(const Ended&)> ended;

  void submit(Transfer transfer) {
    waiting_.push_back(std::move(transfer));
    if (waiting_.size() == 1) wake(domain_->next());
  }
  [[nodiscard]] bool empty() const { return waiting_.empty() && words_.empty(); }
  /// Restarts: forgets all transfers.
  void reset() {
    waiting_.clear();
    walk_ = {};
    words_ = Ring<Entry>(timing_.buffer);
    taken_ = Times(timing_.buffer);
    read_ = 0;
    next_ = 0;
    data_at_ = -1;
    begins_ = true;
    waits_ = false;
  }

  /// Address and number of words requested in this cycle; 0 words: no request.
  [[nodiscard]] std::pair<std::uint64_t, unsigned> request(Tick now) const {
    if (waiting_.empty()) return {0, 0};
    const unsigned words = next_words();
    if (std::max(room(words), next_) > now) return {0, 0};
    return {walk_.address(waiting_.front()), words};
  }

  bool step(Tick now) override {
    if (waiting_.empty()) return false;
    const Transfer& transfer = waiting_.front();
    const unsigned words = next_words();
    if (const Tick free = room(words), at = std::max(free, next_); at > now) {
      waits_ = free == kNever;
      if (!waits_) wake(at);
      return false;
    }
    const std::uint64_t bytes = walk_.next(transfer, timing_.burst);
    const std::uint64_t from = walk_.address(transfer);
    const bool last = walk_.advance(transfer, bytes);
    data_.assign(std::size_t{words} * kWord, std::byte{0});
    memory_->bytes.read(from, std::span(data_).first(static_cast<std::size_t>(bytes)));
    Bank& bank = memory_->bank(from);
    if (requests) requests(now, from, words);
    for (unsigned k = 0; k < words; ++k) {
      const double moved = bank.access(now, memory_->place(from) + k * kWord, kWord, false);
      data_at_ = std::max(data_at_ + 1, bank.data(now, moved));
      Entry entry{.handle = transfer.handle,
                  .bytes = transfer.bytes(),
                  .word = {.first = begins_, .last = last && k + 1 == words, .channel = transfer.channel},
                  .at = data_at_ + 1};
      std::copy_n(data_.begin() + std::ptrdiff_t{k} * kWord, kWord, entry.word.bytes.begin());
      if (answered) answered(data_at_, entry.word);
      words_.push(entry);
      begins_ = entry.word.last;
    }
    read_ += words;
    next_ = now + words;
    if (last) {
      walk_ = {};
      waiting_.pop_front();
    }
    if (!waiting_.empty()) wake(next_);
    changed();
    return false;
  }

  [[nodiscard]] Tick offers() const override { return words_.empty() ? kNever : words_.front().at; }
  [[nodiscard]] const Word& front() const override { return words_.front().word; }
  void take(Tick cycle) override {
    const Entry& first = words_.front();
    if (first.word.last) ended({first.handle, cycle + 1, first.bytes});
    words_.pop();
    taken_.add(cycle);
    if (waits_) {
      waits_ = false;
      wake(std::max(next_, cycle + 1));
    }
  }

 private:
  struct Entry {
    Handle handle = 0;
    std::uint64_t bytes = 0;  ///< total of the transfer
    Word word;
    Tick at = 0;  ///< first cycle at the buffer's output
  };

  [[nodiscard]] unsigned next_words() const { return words_of(walk_.next(waiting_.front(), timing_.burst)); }
  /// First cycle in which the buffer has free slots for `words` words.
  [[nodiscard]] Tick room(unsigned words) const {
    return after(taken_.of(static_cast<std::int64_t>(read_ + words) - timing_.buffer - 1));
  }
  void wake(Tick cycle) { domain_->wake(id_, std::max(cycle, domain_->next())); }

  Domain* domain_;
  ComponentId id_;
  BoardMemory* memory_;
  DmaTiming timing_;
  std::deque<Transfer> waiting_;
  Walk walk_;
  Ring<Entry> words_;
  Times taken_;
  std::uint64_t read_ = 0;  ///< number of words requested
  Tick next_ = 0, data_at_ = -1;
  bool begins_ = true, waits_ = false;
  std::vector<std::byte> data_;
};

}  // namespace thalweg::vcsn
