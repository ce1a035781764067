// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <deque>
#include <map>

#include "bisim/bisim.hpp"
#include "blocks/clocks.hpp"
#include "blocks/peach2/packets.hpp"
#include "blocks/random_port.hpp"
#include "peach2/hub.hpp"

namespace {

using bisim::Clocks, bisim::Instant, blocks::clock, blocks::cycle;
using top::Inputs, top::Outputs, top::Parameters;
namespace peach2 = thalweg::peach2;
using peach2::Hub, peach2::HubWord, peach2::kLinks;

constexpr unsigned kNet = 0, kBus = 1;
constexpr std::uint16_t kOwn = 2;

class Twin {
 public:
  static constexpr bool kMemoryOutlivesReset = true;

  explicit Twin(const Clocks& clocks)
      : hub_({.base = blocks::kBase,
              .windows = Parameters::Windows,
              .packets = Parameters::Packets,
              .units = Parameters::Units,
              .reads = Parameters::Reads,
              .bus_reads = Parameters::BusReads,
              .ram_bits = Parameters::RamBits,
              .contexts = Parameters::Contexts,
              .sums = Parameters::Sums,
              .records = Parameters::Records,
              .latency = Parameters::Latency,
              .starts = Parameters::Starts,
              .net = clock(clocks, kNet),
              .bus = clock(clocks, kBus)},
             kOwn) {}

  void outputs(const Inputs&, const Instant&, Outputs& out) const {
    for (unsigned l = 0; l < kLinks; ++l) {
      const auto* word = hub_.out(l);
      out.net_out_valid_o.set_bit(l, word != nullptr);
      if (word) {
        out.net_out_data_o.set(word->data, l);
        out.net_out_last_o.set_bit(l, word->last);
      }
      out.net_freed_valid_o.set_bit(l, hub_.freed(l).has_value());
      if (hub_.freed(l)) out.net_freed_units_o.set(*hub_.freed(l), l);
    }
    const auto* beat = hub_.memory();
    out.bus_memory_valid_o.set(beat != nullptr);
    if (!beat) return;
    out.bus_memory_write_o.set(beat->write);
    out.bus_memory_address_o.set(beat->address % (1U << 25));
    out.bus_memory_data_o.set(beat->data);
    out.bus_memory_enable_o.set(beat->enable);
  }
  void step(const Inputs& in, const Instant& now) {
    if (now.edge(kNet)) {
      std::array<HubWord, kLinks> words;
      std::array<Hub::LinkIn, kLinks> links;
      for (unsigned l = 0; l < kLinks; ++l) {
        words[l] = {in.net_in_data_i.get(l), in.net_in_last_i.bit(l)};
        if (in.net_in_valid_i.bit(l)) links[l].word = &words[l];
        if (in.net_credit_valid_i.bit(l)) links[l].credit = static_cast<unsigned>(in.net_credit_units_i.get(l));
      }
      hub_.step_net(cycle(now, kNet), links);
    }
    if (now.edge(kBus)) {
      const auto reply = in.bus_memory_reply_data_i.get();
      hub_.step_bus(cycle(now, kBus), in.bus_memory_ready_i.get() != 0,
                    in.bus_memory_reply_valid_i.get() ? &reply : nullptr);
    }
  }

 private:
  Hub hub_;
};

/// A host that sets registers, writes into the hub and through it, and answers reads; links that deliver packets, valid
/// and invalid; memory that answers late. Lanes: each link, memory.
class Stimulus {
 public:
  static constexpr unsigned kLanes = kLinks + 1;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(900, 300, 30)),
        back_(run.pick(300, 50)),
        memory_(run.pick(1000, 500)),
        answers_(run.pick(500, 50)),
        silent_(run.pick(0, 0, 20)) {
    packets_.fill(Parameters::Packets);
    units_.fill(Parameters::Units);
  }

  void drive(const Outputs& seen, const Instant& now, const bisim::Draws& draws, Inputs& next) {
    next.net_own_i.set(kOwn);
    next.net_base_i.set(blocks::kBase);
    if (now.edge(kNet))
      for (unsigned l = 0; l < kLinks; ++l) {
        bisim::Dice dice = draws.lane(l);
        link(l, seen, dice, next);
      }
    if (!now.edge(kBus)) return;
    bisim::Dice dice = draws.lane(kLinks);
    next.bus_memory_ready_i.set(dice.chance(memory_));
    next.bus_memory_reply_valid_i.set(due_ > 0 && dice.chance(memory_));
    if (next.bus_memory_reply_valid_i.get()) --due_;
    blocks::fill(next.bus_memory_reply_data_i, dice);
    if (seen.bus_memory_valid_o.get() && !seen.bus_memory_write_o.get() && next.bus_memory_ready_i.get()) ++due_;
  }

 private:
  static constexpr std::uint64_t kBase = std::uint64_t{blocks::kBase} << 30;  ///< of the hub's own addresses

  void link(unsigned l, const Outputs& seen, bisim::Dice& dice, Inputs& next) {
    // Packets that leave: their credits return later; reads are answered by the host.
    if (seen.net_out_valid_o.bit(l)) {
      const auto data = peach2::expanded(seen.net_out_data_o.get(l));
      if (out_first_[l]) {
        const bool read = peach2::kind(data) == peach2::Kind::read;
        const unsigned dwords = thalweg::spec::pcie_memory_write::length(peach2::header(data));
        held_[l].push_back(peach2::has_data(data) ? peach2::units(dwords) : 0);
        if (read)
          reads_.push_back({thalweg::spec::pcie_memory_write::address(peach2::header(data)) * 4, dwords,
                            thalweg::spec::pcie_memory_write::tag(peach2::header(data))});
      }
      out_first_[l] = seen.net_out_last_o.bit(l);
    }
    const bool back = held_[l].size() > (out_first_[l] ? 0 : 1) && dice.chance(back_);
    next.net_credit_valid_i.set_bit(l, back);
    if (back) {
      next.net_credit_units_i.set(held_[l].front(), l);
      held_[l].pop_front();
    }
    if (seen.net_freed_valid_o.bit(l)) {
      ++packets_[l];
      units_[l] += static_cast<unsigned>(seen.net_freed_units_o.get(l));
    }
    auto& words = words_[l];
    if (words.empty()) add(l, dice);
    const bool shows = !words.empty() && dice.chance(load_);
    next.net_in_valid_i.set_bit(l, shows);
    if (!shows) return;
    next.net_in_data_i.set(words.front().data, l);
    next.net_in_last_i.set_bit(l, words.front().last);
    words.pop_front();
  }

  void add(unsigned l, bisim::Dice& dice) {
    if (packets_[l] == 0 || units_[l] < 16) return;
    if (l == peach2::kNorth && !reads_.empty() && dice.chance(silent_)) reads_.pop_front();  // it is never answered
    std::vector<HubWord> made;
    if (l == peach2::kNorth && !reads_.empty() && dice.chance(answers_)) {
      made = answer(dice);
    } else if (l == peach2::kNorth && set_ < Parameters::Windows) {
      made = window(set_++, dice);
    } else if (!dice.chance(500)) {
      return;
    } else if (l == peach2::kNorth && dice.chance(300)) {
      made = registers(dice);
    } else if (dice.chance(500)) {
      made = own(l, dice);
    } else {
      made = blocks::packet(dice, 1000);
      if (made.size() > 10) return;  // longer than its credits can represent
      const std::uint64_t address = thalweg::spec::pcie_memory_write::address(peach2::header(made[0].data)) * 4;
      if (l == peach2::kNorth && address >> 12 == (kBase + peach2::kRegistersAt) >> 12)
        return;  // registers have legal values
    }
    const auto header = peach2::header(made[0].data);
    --packets_[l];
    if (peach2::has_data(made[0].data))
      units_[l] -= peach2::units(thalweg::spec::pcie_memory_write::length(header) % 128) % 32;
    if (peach2::kind(made[0].data) != peach2::Kind::completion && address_of(made[0]) >> 32 == 0 && dice.chance(900))
      made[0].data = peach2::shortened(made[0].data);
    words_[l].insert(words_[l].end(), made.begin(), made.end());
  }
  static std::uint64_t address_of(const HubWord& request) {
    return thalweg::spec::pcie_memory_write::address(peach2::header(request.data)) * 4;
  }
  std::vector<HubWord> answer(bisim::Dice& dice) {
    auto& read = reads_[dice.below(static_cast<unsigned>(reads_.size()))];
    const unsigned dwords = blocks::part(read.address, read.left, dice);
    auto words = blocks::completion(read.address, dwords, kOwn, read.tag, dice, read.left - dwords);
    if (read.tag & peach2::kFetchTag) {
      peach2::spec::DmaDescriptor descriptor;
      descriptor.source = some(dice) & ~std::uint64_t{3};
      descriptor.destination = some(dice) & ~std::uint64_t{3};
      descriptor.next = some(dice) & ~std::uint64_t{31};
      descriptor.size = 4 * (1 + dice.below(300));
      descriptor.last = dice.chance(500);
      words[1].data = descriptor.pack();
    }
    read.address += 4 * dwords;
    read.left -= dwords;
    if (read.left == 0) {
      std::swap(read, reads_.front());
      reads_.pop_front();
    }
    return words;
  }
  /// An address of the hub's own, mostly, or of the host's.
  static std::uint64_t some(bisim::Dice& dice) {
    if (dice.chance(400)) return (std::uint64_t{1} << 30) + dice.below(1 << 16);
    const std::uint64_t at[] = {0, peach2::kCalculatorAt, peach2::kRamAt, peach2::kRegistersAt};
    return kBase + at[dice.below(4)] + (dice.below(16) << 26 & 0xFFFFFFF) % peach2::kCalculatorBytes / 4 +
           dice.below(1 << 13);
  }
  std::vector<HubWord> window(unsigned index, bisim::Dice& dice) {
    peach2::Window window = blocks::window(dice);
    if (index == 0) window = {true, peach2::kNorth, 0x7FFFFFF, 1 << 18, (1 << 18) + 64};
    return registered(index, window.lower | std::uint64_t{window.upper} << 32,
                      window.mask | std::uint64_t{window.to} << 32 | std::uint64_t{window.used} << 40, dice);
  }
  std::vector<HubWord> registers(bisim::Dice& dice) {
    switch (dice.below(silent_ > 0 ? 6 : 5)) {
      case 0:
        return registered(peach2::kStartRegister, some(dice) & ~std::uint64_t{31}, 0, dice);
      case 1: {
        const auto pair = pairs_[dice.below(static_cast<unsigned>(pairs_.size()))];
        return registered(peach2::kContextRegisters + dice.below(Parameters::Contexts),
                          (1 + dice.below(30)) | static_cast<std::uint64_t>(pair.op) << 32 |
                              static_cast<std::uint64_t>(pair.type) << 40 | std::uint64_t{dice.below(2)} << 48 |
                              std::uint64_t{dice.below(2)} << 56,
                          (some(dice) & ~std::uint64_t{31}) | std::uint64_t{dice.below(2)} << 63, dice);
      }
      case 2:
        return registered(peach2::kAbortRegister, dice.bits() & (dice.chance(300) ? 0x303 : 0x3), 0, dice);
      case 4: {  // mostly of pages that windows have
        const std::uint64_t mask = dice.chance(500) ? 0x7FFFFFF : 0x7FFFFFF & ~0xFFFFull;
        return registered(peach2::kTranslationRegisters + dice.below(2 * kLinks),
                          (blocks::page(dice) & mask) | (blocks::page(dice) & mask) << 32,
                          mask | std::uint64_t{dice.chance(300)} << 40, dice);
      }
      case 5:
        return registered(peach2::kTimeoutRegister, dice.below(3), 0, dice);
      default: {
        static constexpr unsigned kFirst[] = {128, 144, 160};
        return {blocks::read(kBase + peach2::kRegistersAt + 16 * (kFirst[dice.below(3)] + dice.below(5)), 4, 7,
                             dice.below(256))};
      }
    }
  }
  static std::vector<HubWord> registered(unsigned index, std::uint64_t lower, std::uint64_t upper, bisim::Dice& dice) {
    const std::uint64_t address = kBase + peach2::kRegistersAt + 16ul * index;
    auto words = blocks::write(address, 4, dice);
    const unsigned half = address / 16 % 2 ? 2 : 0;
    words[1].data[half] = lower;
    words[1].data[half + 1] = upper;
    return words;
  }
  std::vector<HubWord> own(unsigned l, bisim::Dice& dice) {
    std::uint64_t address = some(dice) & ~std::uint64_t{3};
    const unsigned dwords = dice.chance(300) ? 64 : 1 + dice.below(64);
    address = std::min(address, (address | 4095) + 1 - 4 * dwords) & ~std::uint64_t{3};
    if (address % peach2::kHubBytes >= peach2::kRegistersAt && address >= kBase) address -= peach2::kRegistersAt;
    if (l == peach2::kNorth && dice.chance(300)) return {blocks::read(address, dwords, 7, dice.below(256))};
    return blocks::write(address, dwords, dice);
  }

  struct Pair {
    thalweg::spec::Operator op;
    thalweg::spec::Datatype type;
  };
  std::vector<Pair> pairs_ = {{thalweg::spec::Operator::sum, thalweg::spec::Datatype::float32}};
  unsigned load_, back_, memory_, answers_, silent_;
  unsigned set_ = 0, due_ = 0;
  std::array<unsigned, kLinks> packets_, units_;
  std::array<bool, kLinks> out_first_{true, true, true, true};
  std::array<std::deque<unsigned>, kLinks> held_;
  std::array<std::deque<HubWord>, kLinks> words_;
  struct Read {
    std::uint64_t address = 0;
    unsigned left = 0, tag = 0;
  };
  std::deque<Read> reads_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
