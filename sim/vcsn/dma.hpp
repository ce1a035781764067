// SPDX-License-Identifier: Apache-2.0
// DMA engines between a node's memory and its crossbar. A descriptor has a list of segments; the next ones wait in a queue.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/engine.hpp"
#include "common/ring.hpp"
#include "core/clock.hpp"
#include "core/require.hpp"
#include "memory/bank.hpp"
#include "memory/sparse.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

/// A board's memory: banks one behind the other.
class BoardMemory {
 public:
  BoardMemory(const std::string& name, unsigned banks, std::uint64_t bank_bytes, const BankTiming& timing)
      : bytes(name, banks * bank_bytes), bank_bytes_(bank_bytes), banks_(banks, Bank(timing)) {}

  SparseMemory bytes;

  [[nodiscard]] Bank& bank(std::uint64_t address) { return banks_[static_cast<std::size_t>(address / bank_bytes_)]; }
  /// Of an address in its bank.
  [[nodiscard]] std::uint64_t place(std::uint64_t address) const { return address % bank_bytes_; }

 private:
  std::uint64_t bank_bytes_;
  std::vector<Bank> banks_;
};

struct Segment {
  std::uint64_t address = 0, bytes = 0;
};

/// One packet of the stream: its bytes are those of the segments, in order. Each segment but the last one is whole words.
struct Transfer {
  Handle handle = 0;
  std::vector<Segment> segments;
  std::uint8_t channel = 0;

  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t all = 0;
    for (const Segment& segment : segments) all += segment.bytes;
    return all;
  }
};

/// Where in a transfer's segments an engine is.
class Walk {
 public:
  /// The bytes of the next burst, within a segment and `words` words.
  [[nodiscard]] std::uint64_t next(const Transfer& transfer, unsigned words) const {
    return std::min<std::uint64_t>(transfer.segments[segment_].bytes - done_, std::uint64_t{words} * kWord);
  }
  [[nodiscard]] std::uint64_t address(const Transfer& transfer) const {
    return transfer.segments[segment_].address + done_;
  }
  /// True: the transfer has no more.
  bool advance(const Transfer& transfer, std::uint64_t bytes) {
    done_ += bytes;
    if (done_ < transfer.segments[segment_].bytes) return false;
    done_ = 0;
    return ++segment_ == transfer.segments.size();
  }

 private:
  std::size_t segment_ = 0;
  std::uint64_t done_ = 0;
};

/// What the engines have in common, in the shell's cycles.
struct DmaTiming {
  unsigned burst = 16;    ///< words of a request to the memory
  unsigned buffer = 128;  ///< words; a power of two
  unsigned ahead = 64;    ///< cycles that the memory may be behind the writes that it was given
};

/// Words that end a packet: the handle of its transfer, the cycle in which it is complete in the memory, and the bytes that came.
struct Ended {
  Handle handle = 0;
  Tick cycle = 0;
  std::uint64_t bytes = 0;
};

[[nodiscard]] constexpr unsigned words_of(std::uint64_t bytes) {
  return static_cast<unsigned>((bytes + kWord - 1) / kWord);
}

/// From the memory to the crossbar. Bursts are requested as far ahead as the buffer has places for their words.
class ReadDma final : public Component, public Source {
 public:
  ReadDma(Domain& domain, BoardMemory& memory, const DmaTiming& timing)
      : domain_(&domain),
        id_(domain.scheduler.add(*this)),
        memory_(&memory),
        timing_(timing),
        words_(timing.buffer),
        taken_(timing.buffer) {}

  std::function<void()> changed;  ///< words are offered
  std::function<void(const Ended&)> ended;

  void submit(Transfer transfer) {
    waiting_.push_back(std::move(transfer));
    if (waiting_.size() == 1) wake(domain_->scheduler.now());
  }
  [[nodiscard]] bool empty() const { return waiting_.empty() && words_.empty(); }
  /// A restart: it forgets all transfers.
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

  bool step(Tick now) override {
    if (waiting_.empty()) return false;
    const Transfer& transfer = waiting_.front();
    const std::uint64_t bytes = walk_.next(transfer, timing_.burst);
    const unsigned words = words_of(bytes);
    const Tick room = after(taken_.of(static_cast<std::int64_t>(read_ + words) - timing_.buffer - 1));
    if (const Tick at = std::max(room, next_); at > now) {
      waits_ = room == kNever;
      if (!waits_) wake(at);
      return false;
    }
    const std::uint64_t from = walk_.address(transfer);
    const bool last = walk_.advance(transfer, bytes);
    data_.assign(std::size_t{words} * kWord, std::byte{0});
    memory_->bytes.read(from, std::span(data_).first(static_cast<std::size_t>(bytes)));
    Bank& bank = memory_->bank(from);
    for (unsigned k = 0; k < words; ++k) {
      const double moved = bank.access(now, memory_->place(from) + k * kWord, kWord, false);
      data_at_ = std::max(data_at_ + 1, bank.data(now, moved));
      Entry entry{.handle = transfer.handle,
                  .bytes = transfer.bytes(),
                  .word = {.first = begins_, .last = last && k + 1 == words, .channel = transfer.channel},
                  .at = data_at_ + 1};
      std::copy_n(data_.begin() + std::ptrdiff_t{k} * kWord, kWord, entry.word.bytes.begin());
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
    std::uint64_t bytes = 0;  ///< of the transfer
    Word word;
    Tick at = 0;  ///< is in the buffer's output
  };

  void wake(Tick cycle) { domain_->wake(id_, std::max(cycle, domain_->scheduler.next())); }

  Domain* domain_;
  ComponentId id_;
  BoardMemory* memory_;
  DmaTiming timing_;
  std::deque<Transfer> waiting_;
  Walk walk_;
  Ring<Entry> words_;
  Times taken_;
  std::uint64_t read_ = 0;  ///< words requested
  Tick next_ = 0, data_at_ = -1;
  bool begins_ = true, waits_ = false;
  std::vector<std::byte> data_;
};

/// From the crossbar to the memory. A packet ends a transfer; what of it the segments have no room for is dropped, and counted. So are words
/// without a packet's begin. A begin in a packet, which has lost its end, ends it, and the next transfer takes what follows.
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

  std::function<void()> changed;  ///< it takes words
  std::function<void(const Ended&)> ended;

  void submit(Transfer transfer) {
    waiting_.push_back({std::move(transfer), domain_->scheduler.now()});
    if (!bursts_.empty()) wake(std::max(next_, bursts_.front().cycle + 1));
    changed();
  }
  /// A restart: it forgets all transfers; how many words that have not been written.
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
    next_ = complete_ = 0;
    full_ = open_ = false;
    return dropped;
  }
  /// Words that came beyond the segments.
  [[nodiscard]] std::uint64_t overrun() const { return overrun_; }
  /// Words of packets that have lost their begin, and packets that have lost their end.
  [[nodiscard]] std::uint64_t headless() const { return headless_; }
  [[nodiscard]] std::uint64_t broken() const { return broken_; }

  [[nodiscard]] Tick accepts() const override {
    if (ends_ >= waiting_.size()) return kNever;
    const Tick room = after(left_.of(static_cast<std::int64_t>(put_) - timing_.buffer));
    return room == kNever ? kNever : std::max(room, waiting_[ends_].from);
  }
  void put(Tick cycle, const Word& word) override {
    if (word.first && open_) {
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
    if (++gathered_ == timing_.burst || word.last) burst(cycle, word.last);
  }

  bool step(Tick now) override {
    if (bursts_.empty() || waiting_.empty() || now < next_) return false;
    const Burst burst = bursts_.front();
    bursts_.pop();
    const Transfer& transfer = waiting_.front().transfer;
    data_.clear();
    for (unsigned k = 0; k < burst.words; ++k) {
      const Word& word = words_.front();
      data_.insert(data_.end(), word.bytes.begin(), word.bytes.end());
      words_.pop();
      left_.add(now + k);
    }
    double moved = 0;
    for (std::span<const std::byte> left = data_; !left.empty();) {
      if (full_) {
        overrun_ += left.size() / kWord;
        break;
      }
      const std::uint64_t to = walk_.address(transfer);
      const std::uint64_t bytes = std::min<std::uint64_t>(walk_.next(transfer, burst.words), left.size());
      const std::uint64_t whole = std::uint64_t{words_of(bytes)} * kWord;
      moved = std::max(moved, memory_->bank(to).access(now, memory_->place(to), whole, true));
      memory_->bytes.write(to, left.first(static_cast<std::size_t>(bytes)));
      written_ += bytes;
      full_ = walk_.advance(transfer, bytes);
      left = left.subspan(std::size_t{words_of(bytes)} * kWord);
    }
    complete_ = std::max(complete_, static_cast<Tick>(std::ceil(moved)));
    next_ = std::max(now + burst.words, static_cast<Tick>(moved) - timing_.ahead);
    if (burst.ends) {
      const Ended done{transfer.handle, std::max(complete_, now) + 1, written_};
      --ends_;
      waiting_.pop_front();
      walk_ = {};
      full_ = false;
      written_ = 0;
      ended(done);
    }
    if (!bursts_.empty()) wake(std::max(next_, bursts_.front().cycle + 1));
    changed();
    return false;
  }

 private:
  struct Burst {
    Tick cycle = 0;  ///< of its last word
    unsigned words = 0;
    bool ends = false;  ///< a packet
  };
  struct Waiting {
    Transfer transfer;
    Tick from = 0;
  };

  /// What is gathered is a burst; the last of its words, or what ends it, came in this cycle.
  void burst(Tick cycle, bool ends) {
    bursts_.push_growing({cycle, gathered_, ends});
    ends_ += ends;
    gathered_ = 0;
    if (bursts_.size() == 1) wake(std::max(next_, cycle + 1));
  }
  void wake(Tick cycle) { domain_->wake(id_, std::max(cycle, domain_->scheduler.next())); }

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
  unsigned gathered_ = 0;  ///< words of the burst that is not whole
  std::size_t ends_ = 0;   ///< of packets that have come whole
  Tick next_ = 0, complete_ = 0;
  bool full_ = false;  ///< the segments have no more room
  bool open_ = false;  ///< a packet has begun and not ended
  std::vector<std::byte> data_;
};

}  // namespace thalweg::vcsn
