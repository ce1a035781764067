// SPDX-License-Identifier: Apache-2.0
// Compares the matcher with its twin in every cycle, and its answers with ReceiveBuffers.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "accl/matcher.hpp"
#include "bisim/bisim.hpp"
#include "blocks/accl/matcher/oracle.hpp"

namespace {

using thalweg::accl::kAnyTag, thalweg::accl::Matcher;
using top::Inputs, top::Outputs, top::Parameters;
using Operation = Matcher::Operation;
using Verdict = Matcher::Verdict;

constexpr thalweg::accl::MatcherConfig kConfig{.buffers = Parameters::Buffers,
                                               .slots = Parameters::Slots,
                                               .communicators = Parameters::Communicators,
                                               .ranks = Parameters::Ranks,
                                               .window = Parameters::Window};

Matcher::Request request_of(const Inputs& in) {
  const auto data = in.request_data_i.get();
  return {.operation = static_cast<Operation>(data.operation),
          .slot = static_cast<unsigned>(data.slot),
          .communicator = static_cast<std::uint32_t>(data.communicator),
          .source = static_cast<std::uint16_t>(data.source),
          .collective = data.collective != 0,
          .tag = static_cast<std::uint32_t>(data.tag),
          .number = static_cast<std::uint32_t>(data.number),
          .length = data.length,
          .segment = data.segment,
          .segment_length = static_cast<std::uint32_t>(data.segment_length),
          .offset = data.offset,
          .bytes = static_cast<std::uint32_t>(data.bytes),
          .reserves = data.reserves != 0};
}

struct Twin {
  Matcher matcher{kConfig};
  blocks::MatcherOracle oracle{kConfig};
  thalweg::Tick now = 0;

  void outputs(const Inputs&, Outputs& out) const {
    out = {};
    out.request_ready_o.set(matcher.ready());
    out.answer_valid_o.set(matcher.answer().has_value());
    out.news_o.set(matcher.news());
    if (!matcher.answer()) return;
    const Matcher::Answer& answer = *matcher.answer();
    out.answer_data_o.set({.operation = static_cast<std::uint64_t>(answer.operation),
                           .verdict = static_cast<std::uint64_t>(answer.verdict),
                           .claimed = answer.claimed,
                           .found = answer.found,
                           .length = answer.length,
                           .buffer = answer.buffer,
                           .offset = answer.offset,
                           .bytes = answer.bytes});
  }
  void step(const Inputs& in) {
    Matcher::Settings settings{.last_buffer = static_cast<unsigned>(in.settings_i.get().last_buffer),
                               .buffer_bytes = static_cast<std::uint32_t>(in.settings_i.get().buffer_words) * 64,
                               .packet_bytes = static_cast<std::uint32_t>(in.settings_i.get().packet_words) * 64};
    for (unsigned i = 0; i < Parameters::Communicators; ++i)
      settings.communicators.push_back(
          in.communicator_valid_i.bit(i)
              ? std::optional<std::uint32_t>(static_cast<std::uint32_t>(in.communicator_id_i.get(i)))
              : std::nullopt);
    if (matcher.news()) oracle.hear(now);
    if (matcher.answer()) oracle.check(*matcher.answer(), settings, now);
    Matcher::In next;
    if (in.request_valid_i.get()) next.request = request_of(in);
    if (next.request && matcher.ready()) oracle.accept(*next.request, now);
    if (in.written_valid_i.get()) {
      next.written = static_cast<unsigned>(in.written_buffer_i.get());
      oracle.write(*next.written, now);
    }
    if (in.release_valid_i.get()) {
      next.released = static_cast<unsigned>(in.release_buffer_i.get());
      oracle.release(*next.released, now);
    }
    matcher.step(next, settings);
    ++now;
  }
};

/// Senders whose packets arrive reordered, repeated or altered, and slots that take their messages or give up. Lanes:
/// requests, writes, reads.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 3;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(1000, 300)),
        arrivals_(run.pick(500, 700, 300)),
        reorder_(run.pick(1, 4, 16)),
        repeat_(run.pick(0, 50, 300)),
        damage_(run.pick(0, 30, 200)),
        give_up_(run.pick(10, 100, 1)),
        ends_(run.pick(30, 5)),
        collectives_(run.pick(400, 0, 1000)),
        writes_load_(run.pick(1000, 100, 10, 3)),
        reads_load_(run.pick(1000, 300, 20)),
        ranks_(std::min<unsigned>(Parameters::Ranks, run.pick(1, 2, 64))),
        communicators_(std::min<unsigned>(Parameters::Communicators, run.pick(1, 2, 16))),
        last_buffer_(run.chance(500) ? Parameters::Buffers - 1 : run.below(Parameters::Buffers)),
        packet_words_(run.pick(1, 2, 7, 255)),
        packets_(1 + run.below(std::min<unsigned>(Parameters::MostPackets, run.pick(2, 5, 256)))),
        reserves_(run.chance(500)),
        valid_(1 | run.bits()) {
    if (packet_words_ == 255 && Parameters::MostPackets > 4) packets_ = 5;  // bytes need more than 16 bits
    const bool exact = run.chance(500);
    buffer_words_ = packets_ * packet_words_ - (exact ? 0 : run.below(packet_words_));
    for (unsigned i = 0; i < Parameters::Communicators; ++i)
      ids_[i] = static_cast<std::uint32_t>(valid_ >> 32) ^ 1U << 2 * i;
    clear();
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice requests = draws.lane(0), writes = draws.lane(1), reads = draws.lane(2);
    next.settings_i.set({.last_buffer = last_buffer_, .buffer_words = buffer_words_, .packet_words = packet_words_});
    for (unsigned i = 0; i < Parameters::Communicators; ++i) {
      next.communicator_valid_i.set_bit(i, valid_ >> i & 1);
      next.communicator_id_i.set(ids_[i], i);
    }
    if (seen.answer_valid_o.get()) heed(seen.answer_data_o.get(), requests);
    if (!writes_.empty() && !clears() && writes.chance(writes_load_)) {
      next.written_valid_i.set(true);
      next.written_buffer_i.set(pull(writes_, writes.below(static_cast<unsigned>(writes_.size()))));
    }
    if (!reads_.empty() && !clears() && reads.chance(reads_load_)) {
      const auto [buffer, slot] = pull(reads_, reads.below(static_cast<unsigned>(reads_.size())));
      --slots_[slot].reads;
      next.release_valid_i.set(true);
      next.release_buffer_i.set(buffer);
    }
    if (!waits_ && !offers_ && requests.chance(load_)) offers_ = choose(requests);
    if (!offers_) return;
    next.request_valid_i.set(true);
    next.request_data_i.set({.operation = static_cast<std::uint64_t>(request_.operation),
                             .slot = request_.slot,
                             .communicator = request_.communicator,
                             .source = request_.source,
                             .collective = request_.collective,
                             .tag = request_.tag,
                             .number = request_.number,
                             .length = request_.length,
                             .segment = request_.segment,
                             .segment_length = request_.segment_length,
                             .offset = request_.offset,
                             .bytes = request_.bytes,
                             .reserves = request_.reserves});
    if (!seen.request_ready_o.get()) return;
    waits_ = true;
    offers_ = false;
  }

 private:
  struct Slot {
    bool asks = false, claimed = false;
    Matcher::Request ask{};
    bool found = false, over = false;  ///< something was found; everything has been taken
    unsigned buffer = 0, left = 0, reads = 0;
    std::uint64_t length = 0, taken = 0;
  };
  struct Collectives {
    std::uint32_t below = 0;
    std::vector<std::uint32_t> later{};
  };

  template <class T>
  static T pull(std::vector<T>& from, unsigned at) {
    const T value = from[at];
    from.erase(from.begin() + at);
    return value;
  }
  [[nodiscard]] bool clears() const { return (waits_ || offers_) && request_.operation == Operation::clear; }
  void clear() {
    pool_.clear();
    slots_.assign(Parameters::Slots, {});
    sent_.clear();
    asked_.clear();
    ended_.assign(Parameters::Communicators, {});
    stuck_ = 0;
  }

  template <class Data>
  void heed(const Data& answer, bisim::Dice& dice) {
    waits_ = false;
    Slot& slot = slots_[request_.slot % Parameters::Slots];
    const auto buffer = static_cast<unsigned>(answer.buffer);
    switch (request_.operation) {
      case Operation::arrive:
        if (static_cast<Verdict>(answer.verdict) == Verdict::kept) {
          stuck_ = 0;
          if (request_.bytes != 0) writes_.push_back(buffer);
        } else if (static_cast<Verdict>(answer.verdict) == Verdict::no_room && !damaged_) {
          ++stuck_;
          if (!again_) pool_.push_back(request_);
        }
        break;
      case Operation::find:
        slot.claimed = answer.claimed;
        slot.length = answer.length;
        slot.found = answer.found;
        slot.buffer = buffer;
        slot.left = static_cast<unsigned>(answer.bytes);
        break;
      case Operation::take:
        slot.left -= request_.bytes;
        slot.taken += request_.bytes;
        slot.found = slot.left != 0 && dice.chance(500);
        slot.over = slot.taken == slot.length;
        if (slot.left == 0 && slot.length != 0) {
          ++slot.reads;
          reads_.emplace_back(slot.buffer, request_.slot);
        }
        break;
      case Operation::finish:
        slot = {};
        break;
      case Operation::end:
        break;
      case Operation::clear:
        clear();
    }
  }

  bool choose(bisim::Dice& dice) {
    request_ = {};
    if (stuck_ > 60 || dice.chance(1)) {
      if (!writes_.empty() || !reads_.empty()) return false;
      request_.operation = Operation::clear;
      return true;
    }
    if (dice.chance(ends_)) return choose_end(dice);
    if (!dice.chance(arrivals_)) return choose_of_slot(dice);
    while (pool_.size() < reorder_) make(dice);
    again_ = dice.chance(repeat_);
    damaged_ = dice.chance(damage_);
    const unsigned at = dice.below(std::min<unsigned>(reorder_, static_cast<unsigned>(pool_.size())));
    request_ = again_ || damaged_ ? pool_[at] : pull(pool_, at);
    if (damaged_) damage(dice);
    return true;
  }
  bool choose_end(bisim::Dice& dice) {
    const unsigned communicator = dice.below(communicators_);
    const std::uint32_t collective = draw_collective(communicator, dice);
    Collectives& of = ended_[communicator];
    if (std::ranges::find(of.later, collective) != of.later.end()) return false;
    for (const Slot& slot : slots_)
      if (slot.asks && slot.ask.collective && slot.ask.communicator == communicator && slot.ask.tag == collective)
        return false;
    request_.operation = Operation::end;
    request_.communicator = communicator;
    request_.tag = collective;
    of.later.push_back(collective);
    for (auto at = of.later.begin(); (at = std::ranges::find(of.later, of.below)) != of.later.end(); ++of.below)
      of.later.erase(at);
    return true;
  }
  bool choose_of_slot(bisim::Dice& dice) {
    const unsigned number = dice.below(Parameters::Slots);
    Slot& slot = slots_[number];
    if (!slot.asks) ask(slot, dice);
    request_ = slot.ask;
    request_.slot = number;
    if (slot.reads == 0 && (slot.over || dice.chance(give_up_))) {
      request_.operation = Operation::finish;
    } else if (slot.found) {
      request_.operation = Operation::take;
      request_.bytes = dice.chance(400) ? slot.left : 1 + dice.below(slot.left);
      if (slot.left == 0) request_.bytes = 0;
    } else {
      request_.operation = Operation::find;
    }
    return !slot.over || slot.reads == 0;
  }
  void ask(Slot& slot, bisim::Dice& dice) {
    slot.asks = true;
    Matcher::Request& ask = slot.ask;
    ask.communicator = dice.below(communicators_);
    ask.source = static_cast<std::uint16_t>(dice.below(ranks_));
    ask.collective = dice.chance(collectives_);
    ask.tag = tag(dice);
    if (!ask.collective) return;
    ask.tag = draw_collective(ask.communicator, dice);
    std::uint32_t& asked = asked_[{ask.communicator, ask.tag, ask.source}];
    ask.number = dice.chance(900) ? asked++ : asked - (asked != 0);
  }
  static std::uint32_t tag(bisim::Dice& dice) { return dice.pick(5, 5 ^ 1 << 17, kAnyTag); }
  /// A collective that has not ended, or has ended out of order.
  std::uint32_t draw_collective(unsigned communicator, bisim::Dice& dice) const {
    return ended_[communicator].below + dice.below(std::min<unsigned>(3, Parameters::Window));
  }

  /// Makes the packets of a message.
  void make(bisim::Dice& dice) {
    const unsigned communicator = dice.below(communicators_);
    Matcher::Request packet{.communicator = ids_[communicator],
                            .source = static_cast<std::uint16_t>(dice.below(ranks_)),
                            .collective = dice.chance(collectives_),
                            .tag = tag(dice),
                            .reserves = reserves_};
    if (packet.collective) packet.tag = draw_collective(communicator, dice);
    packet.number = sent_[{communicator, packet.collective, packet.collective ? packet.tag : 0, packet.source}]++;
    const std::uint32_t packet_bytes = packet_words_ * 64, buffer = buffer_words_ * 64;
    const std::uint32_t most = dice.chance(500) ? buffer : 1 + dice.below(buffer);
    packet.length = dice.chance(150) ? 0 : 1 + dice.below(dice.chance(500) ? most : 3 * most);
    for (std::uint64_t segment = 0; segment == 0 || segment < packet.length; segment += most) {
      packet.segment = segment;
      packet.segment_length = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, packet.length - segment));
      for (std::uint32_t at = 0; at == 0 || at < packet.segment_length; at += packet_bytes) {
        packet.offset = segment + at;
        packet.bytes = std::min(packet_bytes, packet.segment_length - at);
        pool_.push_back(packet);
      }
    }
  }
  void damage(bisim::Dice& dice) {
    const std::uint64_t bit = std::uint64_t{1} << dice.below(64);
    switch (dice.below(12)) {
      case 0:
        request_.offset ^= bit;
        break;
      case 1:
        request_.segment ^= bit;
        break;
      case 2:
        request_.length ^= bit;
        break;
      case 3:
        request_.segment_length ^= static_cast<std::uint32_t>(bit >> dice.below(2) * 32);
        break;
      case 4:
        request_.bytes = (request_.bytes ^ static_cast<std::uint32_t>(bit)) & 0xFFFF;
        break;
      case 5:
        request_.communicator ^= static_cast<std::uint32_t>(bit >> dice.below(2) * 32);
        break;
      case 6:
        request_.source ^= static_cast<std::uint16_t>(1 << dice.below(16));
        break;
      case 7:
        if (!request_.collective) request_.tag ^= static_cast<std::uint32_t>(bit);
        break;
      case 8:
        request_.number += dice.below(2 * kConfig.window) - kConfig.window / 2;
        break;
      case 9:  // both of them far away
        request_.segment += bit;
        request_.offset += bit;
        request_.length += bit;
        break;
      case 10:  // the next segment of a larger message
        request_.offset += request_.segment_length;
        request_.segment += request_.segment_length;
        request_.length += request_.segment_length;
        break;
      default:
        request_.offset = request_.segment + request_.segment_length;
        request_.bytes = 0;
    }
  }

  unsigned load_, arrivals_, reorder_, repeat_, damage_, give_up_, ends_, collectives_, writes_load_, reads_load_;
  unsigned ranks_, communicators_, last_buffer_, packet_words_, packets_, buffer_words_;
  bool reserves_;
  std::uint64_t valid_;
  std::array<std::uint32_t, Parameters::Communicators> ids_{};

  std::vector<Matcher::Request> pool_;                ///< packets in flight
  std::vector<unsigned> writes_;                      ///< buffers of packets that are being written
  std::vector<std::pair<unsigned, unsigned>> reads_;  ///< buffers that are being read, and their readers
  std::vector<Slot> slots_;
  std::map<std::tuple<unsigned, bool, std::uint32_t, std::uint16_t>, std::uint32_t> sent_;
  std::map<std::tuple<unsigned, std::uint32_t, std::uint16_t>, std::uint32_t> asked_;
  std::vector<Collectives> ended_;
  unsigned stuck_ = 0;  ///< consecutive packets without room

  Matcher::Request request_;
  bool offers_ = false, waits_ = false, again_ = false, damaged_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
