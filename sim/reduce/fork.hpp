// SPDX-License-Identifier: Apache-2.0
// Copies a packet to several outputs, which read it independently from queues.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "common/ring.hpp"

namespace thalweg {

/// `Entry` is what an output has to know of a packet; the packet itself is stored once. A queue has room for so many flits, of
/// packets of any length.
template <class Entry>
class Fork {
 public:
  Fork() = default;
  Fork(unsigned outputs, unsigned flits) : queues_(outputs, Queue{.entries = {}, .room = flits}) {}

  /// Every one of the outputs, given as bits, can take an entry for so many flits.
  [[nodiscard]] bool room(std::uint32_t outputs, unsigned flits) const {
    for (; outputs; outputs &= outputs - 1)
      if (queues_[static_cast<std::size_t>(std::countr_zero(outputs))].room < flits) return false;
    return true;
  }
  [[nodiscard]] bool empty(unsigned output) const { return queues_[output].entries.empty(); }
  [[nodiscard]] Entry& front(unsigned output) { return queues_[output].entries.front(); }
  [[nodiscard]] const Entry& front(unsigned output) const { return queues_[output].entries.front(); }
  void push(unsigned output, const Entry& entry, unsigned flits) {
    queues_[output].entries.push_growing(entry);
    queues_[output].room -= flits;
  }
  void pop(unsigned output, unsigned flits) {
    queues_[output].entries.pop();
    queues_[output].room += flits;
  }

 private:
  struct Queue {
    Ring<Entry> entries;
    unsigned room = 0;
  };

  std::vector<Queue> queues_;
};

/// The same flit by flit, packets coming after their room was taken; C++ model of rtl/reduce/tw_fork.sv.
template <class Word>
class FlitFork {
 public:
  /// What comes in a cycle, for the outputs that the packet is for.
  struct Coming {
    Word word;
    bool last = false;
    bool held = false;  ///< nothing of its packet is read before the last one has come
  };
  struct Taking {
    std::uint32_t outputs = 0;
    unsigned words = 0;
  };

  FlitFork(unsigned outputs, unsigned words) : fork_(outputs, words), words_(words), read_(outputs) {}

  [[nodiscard]] unsigned room(unsigned output) const {
    unsigned room = words_;
    while (!fork_.room(1u << output, room)) --room;
    return room;
  }
  /// The output's next word; null: there is none. `coming`: null, or what comes in this cycle.
  [[nodiscard]] const Word* word(unsigned output, const Coming* coming) const {
    if (fork_.empty(output)) return nullptr;
    const Packet& packet = *fork_.front(output);
    const std::size_t at = read_[output];
    if (packet.held) return nullptr;
    if (at < packet.words.size()) return &packet.words[at];
    const bool comes = coming && !coming->held && fork_.front(output) == coming_.front();
    return comes && at == packet.words.size() ? &coming->word : nullptr;
  }
  /// That word is the last of its packet.
  [[nodiscard]] bool last(unsigned output) const { return read_[output] + 1 == fork_.front(output)->length; }

  /// A clock edge. `ready`: outputs that take their word, if there is one; `again`: with the last one, their packet comes again.
  void step(const Coming* coming, std::uint32_t ready, std::uint32_t again, const Taking& taking) {
    std::uint32_t pops = 0;
    for (unsigned o = 0; o < read_.size(); ++o) pops |= static_cast<std::uint32_t>(word(o, coming) != nullptr) << o;
    pops &= ready;
    if (coming) {
      Packet& packet = *coming_.front();
      packet.words.push_back(coming->word);
      packet.held = coming->held && !coming->last;
      if (coming->last) coming_.pop_front();
    }
    for (unsigned o = 0; o < read_.size(); ++o) {
      if (!(pops >> o & 1) || ++read_[o] < fork_.front(o)->length) continue;
      read_[o] = 0;
      if (!(again >> o & 1)) fork_.pop(o, fork_.front(o)->length);
    }
    if (!taking.outputs) return;
    coming_.push_back(std::make_shared<Packet>(Packet{{}, taking.words}));
    for (unsigned o = 0; o < read_.size(); ++o)
      if (taking.outputs >> o & 1) fork_.push(o, coming_.back(), taking.words);
  }

 private:
  struct Packet {
    std::vector<Word> words;  ///< that have come
    unsigned length;
    bool held = false;
  };

  Fork<std::shared_ptr<Packet>> fork_;
  unsigned words_;
  std::vector<std::size_t> read_;               ///< words of each output's packet in front
  std::deque<std::shared_ptr<Packet>> coming_;  ///< those for which room was taken
};

}  // namespace thalweg
