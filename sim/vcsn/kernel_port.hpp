// SPDX-License-Identifier: Apache-2.0
// A stream of user logic at a node's crossbar, in each direction: words that the logic sends wait until the crossbar
// accepts them, and words for it wait in a FIFO.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "vcsn/dma.hpp"
#include "vcsn/word.hpp"

namespace thalweg::vcsn {

/// Words received by user logic.
struct Taken {
  std::vector<std::byte> bytes;
  bool ends = false;  ///< the last word ends a packet
  std::uint8_t channel = 0;
};

/// Operations of each direction are executed in order, one word per cycle.
class KernelPort final : public Source, public Sink {
 public:
  explicit KernelPort(Domain& domain) : domain_(&domain), left_(kDepth) {}

  std::function<void()> offered;                       ///< words are offered to the crossbar
  std::function<void()> freed;                         ///< words can be accepted
  std::function<void(Tick, const Word&)> offers_word;  ///< called for each word to send, with its earliest cycle
  std::function<void(Tick)> gave;                      ///< called when the oldest of these is taken
  std::function<void(Tick, const Word&)> took;
  std::function<void(const Ended&)> ended;
  std::function<void(Handle, Taken)> taken;  ///< called with the words of a completed `receive`

  /// Sends words; the first is offered in the next cycle. Completes when the last one is taken; `ends`: it ends a
  /// packet.
  void send(Handle handle, std::span<const std::byte> data, bool ends, std::uint8_t channel) {
    for (std::size_t at = 0; at < data.size(); at += kWord) {
      const std::size_t bytes = std::min<std::size_t>(kWord, data.size() - at);
      const bool last = at + bytes == data.size();
      Entry entry{.word = {.first = begins_, .last = last && ends, .channel = channel},
                  .at = offer_ = std::max(offer_ + 1, domain_->next()),
                  .handle = handle,
                  .bytes = last ? data.size() : 0};
      std::memcpy(entry.word.bytes.data(), data.data() + at, bytes);
      begins_ = entry.word.last;
      if (offers_word) offers_word(entry.at, entry.word);
      out_.push_back(entry);
    }
    offered();
  }
  /// Completes when `words` words (at least one) have been received, or a packet's end.
  void receive(Handle handle, std::uint64_t words) {
    receives_.push_back({handle, words, {}});
    from_ = domain_->next();
    move();
    freed();
  }
  /// Restarts: forgets all operations. Returns the number of dropped words.
  std::uint64_t reset() {
    std::uint64_t dropped = out_.size() + in_.size();
    for (const Receive& each : receives_) dropped += each.taken.bytes.size() / kWord;
    out_.clear();
    in_.clear();
    receives_.clear();
    left_ = Times(kDepth);
    put_ = 0;
    offer_ = from_ = 0;
    last_ = -1;
    begins_ = true;
    return dropped;
  }
  /// True if a receive waits for words; receiving() is the first one's handle.
  [[nodiscard]] bool receives() const { return !receives_.empty(); }
  [[nodiscard]] Handle receiving() const { return receives_.front().handle; }
  [[nodiscard]] bool sends() const { return !out_.empty(); }

  [[nodiscard]] Tick offers() const override { return out_.empty() ? kNever : out_.front().at; }
  [[nodiscard]] const Word& front() const override { return out_.front().word; }
  void take(Tick cycle) override {
    const Entry first = out_.front();
    out_.pop_front();
    offer_ = std::max(offer_, cycle);
    if (gave) gave(cycle);
    if (first.bytes > 0) ended({first.handle, cycle + 1, first.bytes});
  }

  [[nodiscard]] Tick accepts() const override { return after(left_.of(static_cast<std::int64_t>(put_) - kDepth)); }
  void put(Tick cycle, const Word& word) override {
    ++put_;
    if (took) took(cycle, word);
    in_.push_back({cycle, word});
    move();
  }

 private:
  static constexpr unsigned kDepth = 128;  ///< words, as in the DMA engines' buffers

  struct Entry {
    Word word;
    Tick at = 0;
    Handle handle = 0;
    std::uint64_t bytes = 0;  ///< of the operation; set in its last word
  };
  struct Receive {
    Handle handle = 0;
    std::uint64_t words = 0;
    Taken taken;
  };

  void move() {
    while (!in_.empty() && !receives_.empty()) {
      auto& [handle, words, got] = receives_.front();
      const auto& [cycle, word] = in_.front();
      last_ = std::max({cycle + 1, last_ + 1, from_});
      left_.add(last_);
      got.bytes.insert(got.bytes.end(), word.bytes.begin(), word.bytes.end());
      got.ends = word.last;
      got.channel = word.channel;
      in_.pop_front();
      if (--words > 0 && !got.ends) continue;
      const Ended done{handle, std::max(last_ + 1, domain_->next()), got.bytes.size()};
      taken(handle, std::move(got));
      receives_.pop_front();
      ended(done);
    }
  }

  Domain* domain_;
  std::deque<Entry> out_;
  std::deque<std::pair<Tick, Word>> in_;
  std::deque<Receive> receives_;
  Times left_;
  std::uint64_t put_ = 0;
  Tick offer_ = 0, last_ = -1, from_ = 0;
  bool begins_ = true;
};

}  // namespace thalweg::vcsn
