// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/slots.hpp"
#include "thalweg_mpi_fpga_spec.hpp"
#include "thalweg_spec.hpp"

namespace {

using thalweg::mpi_fpga::ReadPorts, thalweg::mpi_fpga::Slots, thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace spec = thalweg::mpi_fpga::spec;
namespace network_header = spec::network_header;
using Data = decltype(top::flit_t::data);

constexpr unsigned kLinks = Parameters::Links, kPorts = Parameters::Ports, kRows = Parameters::Rows,
                   kEdges = Parameters::Edges, kVcs = Parameters::Vcs, kSlotFlits = Parameters::SlotFlits;

using Banks = std::array<std::vector<unsigned>, kLinks>;

/// The edges of a set, by the bank that holds them.
template <class LinkOf>
Banks by_bank(std::uint64_t edges, LinkOf&& link_of) {
  Banks banks;
  for (unsigned k = 0; k < kEdges; ++k)
    if (edges >> k & 1) banks[link_of(k)].push_back(k);
  return banks;
}

/// The simulator's slots hold packets; here these arrive and are read flit by flit.
class Twin {
 public:
  void outputs(const Inputs& in, Outputs& out) const {
    const bool ready = now_ >= kRows;
    const auto row = static_cast<std::uint32_t>(in.row_i.get()),
               load_row = static_cast<std::uint32_t>(in.load_row_i.get());
    out.status_valid_o.set(ready);
    out.load_settled_o.set(ready && slots_.settled(load_row));

    bool free = true;
    unsigned pace = 1;
    for (unsigned link = 0; const auto& edges : banks(row, in.from_i.get())) {
      const auto packets = static_cast<unsigned>(edges.size());
      if (packets) free &= slots_.bank(link).choose(packets, now_) != 0;
      pace = std::max(pace, (packets + 1) / 2);
      ++link;
    }
    out.status_free_o.set(free);
    out.status_pace_o.set(pace);
    for (unsigned k = 0; k < kEdges; ++k) {
      out.status_there_o.set_bit(k, there(row, k));
      out.status_credits_o.set(slots_.credits(row, k), k);
    }

    for (unsigned p = 0; p < kPorts; ++p) {
      out.credit_valid_o.set_bit(p, slots_.tells(p, now_));
      if (!slots_.tells(p, now_)) continue;
      const Slots::Due due = slots_.next_due(p);
      out.credit_row_o.set(due.row, p);
      out.credit_edge_o.set(due.edge, p);
      out.credit_count_o.set(due.flits, p);
    }

    for (unsigned p = 0; p < 2 * kLinks; ++p) {
      const auto read = reading_[p].find(now_);
      out.read_valid_o.set_bit(p, read != reading_[p].end());
      if (read == reading_[p].end()) continue;
      out.read_data_o.set(read->second.data, p);
      out.read_unit_o.set(read->second.unit, p);
      out.read_operand_o.set(read->second.operand, p);
      out.read_head_o.set_bit(p, read->second.head);
      out.read_tail_o.set_bit(p, read->second.tail);
    }

    out.head_valid_o.set(head_.has_value());
    if (head_) out.head_packet_o.set(*head_);

    out.early_valid_o.set(0);
    out.late_valid_o.set(0);
    out.arrives_empty_o.set(0);
    const std::vector<thalweg::mpi_fpga::SlotArrival> arrivals = arriving(in);
    for (const auto& arrival : arrivals)
      if (!arrival.credits && slots_.packets(arrival.row, arrival.edge).empty())
        out.arrives_empty_o.set_bit(arrival.link);
    thalweg::mpi_fpga::SlotWaits waits = slots_.waits();
    waits.wake(arrivals, [&](unsigned link, std::uint32_t process) {
      out.early_valid_o.set_bit(link);
      out.early_process_o.set(process, link);
    });
    if (!in.wait_valid_i.get()) return;
    const auto edge = static_cast<unsigned>(in.wait_edge_i.get());
    waits.await(row, edge, in.wait_credits_i.get(), 0);
    waits.wake(arrivals, [&](unsigned link, std::uint32_t) { out.late_valid_o.set_bit(link); });
  }

  void step(const Inputs& in) {
    head_ = head(static_cast<std::uint32_t>(in.head_row_i.get()), static_cast<unsigned>(in.head_edge_i.get()));
    for (unsigned p = 0; p < kPorts; ++p)
      if (slots_.tells(p, now_) && in.credit_ready_i.bit(p)) slots_.reported(p);
    slots_.begin();
    for (thalweg::mpi_fpga::SlotArrival arrival : arriving(in)) {
      if (!arrival.credits) arrival.value = keep_packet(in, arrival.link);
      slots_.arrive(arrival);
    }
    slots_.wake([](unsigned, std::uint32_t) {});
    if (in.wait_valid_i.get())
      slots_.await(static_cast<std::uint32_t>(in.row_i.get()), static_cast<unsigned>(in.wait_edge_i.get()),
                   in.wait_credits_i.get(), static_cast<std::uint32_t>(in.wait_process_i.get()));
    if (in.step_valid_i.get()) take(in);
    slots_.wake([](unsigned, std::uint32_t) {});
    slots_.keep(now_, [&](std::uint32_t packet) { return static_cast<unsigned>(packets_.at(packet).words.size()); });
    for (unsigned link = 0; link < kLinks; ++link)
      if (in.in_valid_i.bit(link)) write(link, in.in_flit_i.get(link));
    if (in.load_valid_i.get())
      slots_.load(static_cast<std::uint32_t>(in.load_row_i.get()), static_cast<unsigned>(in.load_edge_i.get()),
                  static_cast<unsigned>(in.load_link_i.get()));
    for (auto& reads : reading_) reads.erase(now_);
    ++now_;
  }

 private:
  struct Incoming {
    std::uint64_t head = 0;
    std::vector<Data> words;
  };
  struct Packet {
    unsigned link;
    std::vector<Data> words;
  };
  struct Read {
    Data data;
    unsigned unit, operand;
    bool head, tail;
  };

  [[nodiscard]] Banks banks(std::uint32_t row, std::uint64_t edges) const {
    return by_bank(edges, [&](unsigned k) { return slots_.link(row, k); });
  }

  /// A packet that arrived over another link than the edge's becomes visible when that link is loaded; until then the
  /// simulator does not ask for it.
  [[nodiscard]] bool there(std::uint32_t row, unsigned edge) const {
    const auto& packets = slots_.packets(row, edge);
    return !packets.empty() && packets_.at(packets.front()).link == slots_.link(row, edge);
  }

  [[nodiscard]] std::optional<top::head_t> head(std::uint32_t row, unsigned edge) const {
    if (!there(row, edge)) return std::nullopt;
    const Data& first = packets_.at(slots_.packets(row, edge).front()).words.front();
    top::head_t head{};
    head.kind = static_cast<unsigned>(network_header::kind(first[0]));
    head.sequence_ = network_header::sequence(first[0]);
    head.collective = static_cast<unsigned>(network_header::collective(first[0]));
    head.algorithm = static_cast<unsigned>(network_header::algorithm(first[0]));
    head.operation = static_cast<unsigned>(network_header::operation(first[0]));
    head.type_ = static_cast<unsigned>(spec::descriptor::type(first));
    head.root = spec::descriptor::root(first);
    return head;
  }

  /// The arrivals of a cycle; packets have no number yet.
  [[nodiscard]] std::vector<thalweg::mpi_fpga::SlotArrival> arriving(const Inputs& in) const {
    std::vector<thalweg::mpi_fpga::SlotArrival> arrivals;
    for (unsigned link = 0; link < kLinks; ++link) {
      if (!in.in_valid_i.bit(link)) continue;
      const top::flit_t flit = in.in_flit_i.get(link);
      const std::uint64_t head = flit.head ? flit.data[0] : incoming_[link][flit.vc].head;
      const bool credits = network_header::kind(head) == spec::Kind::credit;
      if (network_header::collective(head) == spec::Collective::alltoall || (credits ? !flit.head : !flit.tail))
        continue;
      arrivals.push_back({static_cast<std::uint8_t>(link), network_header::edge(head), credits,
                          network_header::context(head), credits ? spec::credit::count(flit.data) : std::uint32_t{0}});
    }
    return arrivals;
  }

  /// A packet whose last flit arrives in this cycle.
  std::uint32_t keep_packet(const Inputs& in, unsigned link) {
    const top::flit_t flit = in.in_flit_i.get(link);
    auto& words = (packets_[++last_packet_] = {link, {}}).words;
    if (!flit.head) words = std::move(incoming_[link][flit.vc].words);
    words.push_back(flit.data);
    return last_packet_;
  }

  void write(unsigned link, const top::flit_t& flit) {
    Incoming& incoming = incoming_[link][flit.vc];
    if (flit.head) {
      incoming.head = flit.data[0];
      incoming.words.clear();
    }
    incoming.words.push_back(flit.data);
  }

  void take(const Inputs& in) {
    const auto row = static_cast<std::uint32_t>(in.row_i.get());
    const unsigned flits = 1U << in.step_size_i.get();
    const auto pace = static_cast<unsigned>(in.step_pace_i.get());
    for (unsigned link = 0; const auto& edges : banks(row, in.from_i.get())) {
      ReadPorts& bank = slots_.bank(link);
      const unsigned ports = edges.empty() ? 0 : bank.choose(static_cast<unsigned>(edges.size()), now_);
      bank.take(ports, now_ + Tick{pace} * flits);
      for (unsigned i = 0; i < edges.size(); ++i) {
        const std::uint32_t packet = slots_.packets(row, edges[i]).front();
        const auto& words = packets_.at(packet).words;
        const unsigned port = 2 * link + (edges.size() == 1 ? ports >> 1 : i % 2);
        for (unsigned f = 0; f < flits; ++f)
          reading_[port][now_ + 1 + i / 2 + Tick{f} * pace] = {words.at(f), static_cast<unsigned>(in.step_unit_i.get()),
                                                               static_cast<unsigned>(in.step_operand_i.get(edges[i])),
                                                               f == 0, f + 1 == flits};
        packets_.erase(packet);
      }
      ++link;
    }
    if (const Tick held = Tick{pace - 1} * flits; held > 1 && in.from_i.get())
      slots_.hold(static_cast<unsigned>(in.step_unit_i.get()), row, static_cast<std::uint32_t>(in.from_i.get()),
                  now_ + held);
    for (unsigned k = 0; k < kEdges; ++k) {
      if (in.from_i.bit(k)) slots_.take(row, k, flits, in.step_final_i.get(), pace, now_);
      if (in.step_to_i.bit(k)) slots_.use_credits(row, k, flits);
    }
  }

  Tick now_ = 0;
  std::optional<top::head_t> head_;  ///< that is shown
  Slots slots_{kLinks, kPorts, Parameters::Units, kSlotFlits, Parameters::Batch};
  std::array<std::array<Incoming, kVcs>, kLinks> incoming_;
  std::unordered_map<std::uint32_t, Packet> packets_;  ///< in slots
  std::uint32_t last_packet_ = 0;
  std::array<std::map<Tick, Read>, 2 * kLinks> reading_;  ///< of each port, by the cycle in which it is shown
};

/// Loads all rows, then plays neighbours that respect their credits, and processes that take available packets: packets
/// of all channels, interleaved with credits (some over another link than the edge's: a former neighbour's) and with
/// packets that are not for slots; steps at any pace; waiting processes; edges that move to another link when nothing
/// of theirs is in flight, some of whose packets arrive before the load. Lanes: loads, steps, waits, the ports, heads,
/// and each link.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 5 + kLinks;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(900, 300, 1000)),
        steps_(run.pick(900, 200, 1000)),
        slow_(run.pick(0, 100)),
        stall_(run.pick(0, 500, 950)),
        longest_(run.pick(kLongest, 0)),
        final_(run.pick(100, 0, 500)),
        waits_(run.pick(300, 20)),
        moves_(run.pick(20, 0, 300)),
        rows_(run.pick(1, std::min(kRows, 3U), kRows)) {}

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    ++now_;
    bisim::Dice loads = draws.lane(0), steps = draws.lane(1), waits = draws.lane(2), ports = draws.lane(3),
                heads = draws.lane(4);
    next.row_i.set(steps.below(kRows));
    next.from_i.set(steps.bits() & steps.bits());
    next.head_row_i.set(heads.below(heads.chance(500) ? rows_ : kRows));
    next.head_edge_i.set(heads.below(kEdges));
    next.load_row_i.set(loads.below(kRows));
    next.load_edge_i.set(loads.below(kEdges));
    next.load_link_i.set(loads.below(kLinks));
    if (!seen.status_valid_o.get()) return;
    if (loaded_ < kRows * kEdges) {
      allot(places_[loaded_], loads.below(kLinks));
      offer(next, loaded_++);
      return;
    }
    for (unsigned p = 0; p < kPorts; ++p) next.credit_ready_i.set_bit(p, !ports.chance(stall_));
    for (unsigned link = 0; link < kLinks; ++link) {
      bisim::Dice dice = draws.lane(5 + link);
      if (dice.chance(load_)) send(next, link, dice);
    }
    if (steps.chance(steps_)) step(next, steps);
    if (!next.step_valid_i.get() && waits.chance(waits_)) wait(next, waits);
    if (loads.chance(moves_)) move(next, loads);
    tell(next, seen);
    for (const auto& [place, credits, value] : arrivals_) {
      place->waiting[credits] = false;
      if (credits) {
        place->credits += value;
      } else {
        place->packets.push_back(value);
        place->sending = false;
      }
    }
    if (begins_) begins_->waiting[next.wait_credits_i.get()] = true;
    arrivals_.clear();
    begins_ = nullptr;
  }

 private:
  static constexpr unsigned kLongest =
      std::min(6U, static_cast<unsigned>(std::bit_width(kSlotFlits)) - 1);  ///< log2 of flits
  static constexpr unsigned kPerBank = Parameters::BankFlits / kSlotFlits;

  struct SlotAddress {
    unsigned link = 0, slot = 0;
    bool loaded = true;
    unsigned room = kSlotFlits;     ///< as its sender knows it
    unsigned credits = kSlotFlits;  ///< of the slot at the other end
    unsigned out = 0;               ///< flits there, which may be freed
    bool sending = false;
    std::array<bool, 2> waiting{};  ///< processes waiting for a packet, for credits
    Tick read = 0;                  ///< when all packets have been read
    std::deque<unsigned> packets;   ///< their sizes
  };
  struct Sender {
    SlotAddress* place = nullptr;  ///< none: not for a slot
    unsigned size = 0, left = 0;
  };
  struct Arrival {
    SlotAddress* place;
    bool credits;
    unsigned value;
  };
  struct Return {
    Tick at;
    SlotAddress* place;
    unsigned flits;
  };

  [[nodiscard]] SlotAddress& place(unsigned row, unsigned edge) { return places_[row * kEdges + edge]; }
  [[nodiscard]] SlotAddress& any(bisim::Dice& dice) { return place(dice.below(rows_), dice.below(kEdges)); }

  /// Assigns a free slot, in the first bank from `link` on that has one.
  bool allot(SlotAddress& place, unsigned link) {
    for (unsigned i = 0; i < kLinks * kPerBank; ++i) {
      const unsigned bank = (link + i / kPerBank) % kLinks;
      bool& used = used_[bank][(place.slot + 1 + i) % kPerBank];
      if (used) continue;
      used = true;
      place.link = bank;
      place.slot = (place.slot + 1 + i) % kPerBank;
      return true;
    }
    return false;
  }

  void offer(Inputs& next, unsigned index) {
    next.load_valid_i.set(1);
    next.load_row_i.set(index / kEdges);
    next.load_edge_i.set(index % kEdges);
    next.load_link_i.set(places_[index].link);
    next.load_base_i.set(places_[index].slot * kSlotFlits + (Parameters::BankFlits - kPerBank * kSlotFlits));
  }

  /// Assigns another link to an edge with nothing in flight: either with any slot in its bank, and packets follow the
  /// load; or with the same slot, and packets may precede it.
  void move(Inputs& next, bisim::Dice& dice) {
    const unsigned index = dice.below(kRows * kEdges);
    SlotAddress& place = places_[index];
    const SlotAddress before = place;
    if (!place.loaded) {
      place.loaded = true;
      return offer(next, index);
    }
    if (!place.packets.empty() || place.sending || place.room < kSlotFlits || place.read >= now_) return;
    const unsigned link = dice.below(kLinks);
    if (dice.chance(500)) {
      if (used_[link][place.slot]) return;
      place.link = link;
      used_[link][place.slot] = true;
      place.loaded = false;
    } else {
      if (!allot(place, link)) return;
      offer(next, index);
    }
    used_[before.link][before.slot] = false;
  }

  void send(Inputs& next, unsigned link, bisim::Dice& dice) {
    const unsigned vc = dice.below(kVcs);
    Sender& sender = senders_[link][vc];
    top::flit_t flit{};
    for (auto& word : flit.data) word = std::uint64_t{dice.bits()} << 32 ^ dice.bits();
    flit.vc = vc;
    if (sender.left == 0) {
      if (!begin(sender, link, dice, flit)) return;
      flit.head = true;
    }
    flit.tail = --sender.left == 0;
    if (flit.tail && sender.place) arrivals_.push_back({sender.place, false, sender.size});
    next.in_valid_i.set_bit(link);
    next.in_flit_i.set(flit, link);
  }

  /// A credit packet, a packet that is not for a slot, or one for a slot with room.
  bool begin(Sender& sender, unsigned link, bisim::Dice& dice, top::flit_t& flit) {
    auto collective = static_cast<spec::Collective>(dice.below(16));
    const unsigned what = dice.below(8);
    SlotAddress& place = any(dice);
    const auto index = static_cast<unsigned>(&place - places_.data());
    sender = {};
    auto kind = dice.chance(500) ? spec::Kind::data : spec::Kind::descriptor;
    if (what == 0) {
      collective = spec::Collective::alltoall;
      if (dice.chance(300)) kind = spec::Kind::credit;
      sender.left = kind == spec::Kind::credit ? 1 : 1 + dice.below(4);
    } else if (collective == spec::Collective::alltoall) {
      return false;
    } else if (what < 3) {
      if (place.out == 0 || (place.link != link && dice.chance(900))) return false;
      kind = spec::Kind::credit;
      const unsigned count = 1 + dice.below(place.out);
      place.out -= count;
      arrivals_.push_back({&place, true, count});
      flit.data[1] = flit.data[1] >> 16 << 16 | count;
      sender.left = 1;
    } else {
      sender.size = dice.below(longest_ + 1);
      if (place.link != link || place.sending || place.room < 1U << sender.size) return false;
      place.room -= 1U << sender.size;
      place.sending = true;
      sender.place = &place;
      sender.left = 1U << sender.size;
    }
    const auto header = spec::NetworkHeader{.context = static_cast<std::uint8_t>(index / kEdges),
                                            .operation = static_cast<spec::Operator>(dice.below(16)),
                                            .algorithm = static_cast<spec::Algorithm>(dice.below(8)),
                                            .size = static_cast<std::uint8_t>(sender.size),
                                            .collective = collective,
                                            .sequence = static_cast<std::uint8_t>(dice.below(4)),
                                            .kind = kind}
                            .pack();
    flit.data[0] = network_header::with_edge(header, static_cast<std::uint8_t>(index % kEdges)) | dice.bits() % 65536;
    return true;
  }

  void step(Inputs& next, bisim::Dice& dice) {
    const unsigned row = dice.below(rows_), first = dice.below(kEdges), unit = dice.below(Parameters::Units);
    if (units_[unit] > now_) return;
    next.row_i.set(row);
    const auto& waiting = place(row, first).packets;
    const bool takes = !waiting.empty() && place(row, first).loaded;
    const unsigned size = takes ? waiting.front() : dice.below(longest_ + 1), flits = 1U << size;
    if (!takes && dice.chance(800)) return;
    std::uint64_t from = 0, to = 0;
    for (unsigned k = 0; k < kEdges; ++k) {
      const SlotAddress& edge = place(row, k);
      if (takes && edge.loaded && !edge.packets.empty() && edge.packets.front() == size &&
          (k == first || dice.chance(700)))
        from |= std::uint64_t{1} << k;
      if (edge.credits >= flits && dice.chance(400)) to |= std::uint64_t{1} << k;
    }
    unsigned pace = 1;
    const auto banks = by_bank(from, [&](unsigned k) { return place(row, k).link; });
    for (unsigned link = 0; link < kLinks; ++link) {
      const auto packets = static_cast<unsigned>(banks[link].size());
      if (packets > 0 && banks_[link].choose(packets, now_) == 0)
        for (const unsigned k : banks[link]) from &= ~(std::uint64_t{1} << k);
      else
        pace = std::max(pace, (packets + 1) / 2);
    }
    if (dice.chance(slow_)) pace += dice.below(16 - pace);
    next.from_i.set(from);
    next.step_valid_i.set(1);
    next.step_to_i.set(to);
    next.step_size_i.set(size);
    next.step_final_i.set(dice.chance(final_));
    next.step_pace_i.set(pace);
    next.step_unit_i.set(unit);
    for (unsigned k = 0; k < kEdges; ++k) next.step_operand_i.set(dice.below(kEdges + 1), k);

    const Tick until = now_ + Tick{pace} * flits;
    units_[unit] = until;
    for (unsigned link = 0; link < kLinks; ++link)
      if (!banks[link].empty() && from >> banks[link][0] & 1)
        banks_[link].take(banks_[link].choose(static_cast<unsigned>(banks[link].size()), now_), until);
    for (unsigned k = 0; k < kEdges; ++k) {
      SlotAddress& edge = place(row, k);
      if (from >> k & 1) {
        edge.packets.pop_front();
        edge.read = std::max(edge.read, until);
      }
      if (to >> k & 1) {
        edge.credits -= flits;
        edge.out += flits;
      }
    }
  }

  void wait(Inputs& next, bisim::Dice& dice) {
    const unsigned row = dice.below(rows_), edge = dice.below(kEdges);
    const bool credits = dice.chance(500);
    SlotAddress& at = place(row, edge);
    if (at.waiting[credits]) return;
    next.row_i.set(row);
    next.wait_valid_i.set(1);
    next.wait_edge_i.set(edge);
    next.wait_credits_i.set(credits);
    next.wait_process_i.set(dice.bits() & ((1U << Parameters::ProcessBits) - 1));
    for (const Arrival& arrival : arrivals_)
      if (arrival.place == &at && arrival.credits == credits) return;
    begins_ = &at;
  }

  /// Credits that leave, and those that reach their sender.
  void tell(const Inputs& next, const Outputs& seen) {
    std::erase_if(returning_, [&](const Return& back) {
      if (back.at <= now_) back.place->room += back.flits;
      return back.at <= now_;
    });
    for (unsigned p = 0; p < kPorts; ++p) {
      if (!seen.credit_valid_o.bit(p) || !next.credit_ready_i.bit(p)) continue;
      SlotAddress& from =
          place(static_cast<unsigned>(seen.credit_row_o.get(p)), static_cast<unsigned>(seen.credit_edge_o.get(p)));
      returning_.push_back({now_ + 1, &from, static_cast<unsigned>(seen.credit_count_o.get(p))});
    }
  }

  unsigned load_, steps_, slow_, stall_, longest_, final_, waits_, moves_, rows_;
  Tick now_ = 0;
  unsigned loaded_ = 0;
  std::array<SlotAddress, kRows * kEdges> places_;
  std::array<std::array<bool, kPerBank>, kLinks> used_{};
  std::array<std::array<Sender, kVcs>, kLinks> senders_;
  std::array<ReadPorts, kLinks> banks_;
  std::array<Tick, Parameters::Units> units_{};  ///< when each has read
  std::vector<Arrival> arrivals_;                ///< of this cycle
  SlotAddress* begins_ = nullptr;                ///< where a process begins to wait in this cycle
  std::vector<Return> returning_;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
