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

/// `Entry` describes a packet to an output; the packet itself is stored once. A queue has room for a number of flits,
/// in packets of any length.
template <class Entry>
class Fork {
 public:
  Fork() = default;
  Fork(unsigned outputs, unsigned flits) : queues_(outputs, Queue{.entries = {}, .room = flits}) {}

  /// True if every one of `outputs` (bits) has room for an entry of `flits` flits.
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

/// The same flit by flit; packets arrive after their room was reserved; C++ model of rtl/reduce/tw_fork.sv.
template <class Word>
class FlitFork {
 public:
  /// The word that arrives in a cycle, for the outputs of its packet.
  struct Arrival {
    Word word;
    bool last = false;
    bool held = false;  ///< its packet is not read before the last word has arrived
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
  /// The output's next word; null: none. `arrival`: null, or this cycle's arrival.
  [[nodiscard]] const Word* word(unsigned output, const Arrival* arrival) const {
    if (fork_.empty(output)) return nullptr;
    const Packet& packet = *fork_.front(output);
    const std::size_t at = read_[output];
    if (packet.held) return nullptr;
    if (at < packet.words.size()) return &packet.words[at];
    const bool arrives = arrival && !arrival->held && fork_.front(output) == reserved_.front();
    return arrives && at == packet.words.size() ? &arrival->word : nullptr;
  }
  /// True if that word is the last of its packet.
  [[nodiscard]] bool last(unsigned output) const { return read_[output] + 1 == fork_.front(output)->length; }

  /// One clock edge. `ready`: outputs that take their word, if any; `again`: after the last word, the output reads the
  /// packet again.
  void step(const Arrival* arrival, std::uint32_t ready, std::uint32_t again, const Taking& taking) {
    std::uint32_t pops = 0;
    for (unsigned o = 0; o < read_.size(); ++o) pops |= static_cast<std::uint32_t>(word(o, arrival) != nullptr) << o;
    pops &= ready;
    if (arrival) {
      Packet& packet = *reserved_.front();
      packet.words.push_back(arrival->word);
      packet.held = arrival->held && !arrival->last;
      if (arrival->last) reserved_.pop_front();
    }
    for (unsigned o = 0; o < read_.size(); ++o) {
      if (!(pops >> o & 1) || ++read_[o] < fork_.front(o)->length) continue;
      read_[o] = 0;
      if (!(again >> o & 1)) fork_.pop(o, fork_.front(o)->length);
    }
    if (!taking.outputs) return;
    reserved_.push_back(std::make_shared<Packet>(Packet{{}, taking.words}));
    for (unsigned o = 0; o < read_.size(); ++o)
      if (taking.outputs >> o & 1) fork_.push(o, reserved_.back(), taking.words);
  }

 private:
  struct Packet {
    std::vector<Word> words;  ///< words received
    unsigned length;
    bool held = false;
  };

  Fork<std::shared_ptr<Packet>> fork_;
  unsigned words_;
  std::vector<std::size_t> read_;                 ///< per output: words read of the packet at the head
  std::deque<std::shared_ptr<Packet>> reserved_;  ///< packets with reserved room, in order
};

}  // namespace thalweg
