// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/smi/operations.hpp"
#include "blocks/smi/packets.hpp"
#include "smi/node.hpp"
#include "smi/open_ports.hpp"

namespace {

using blocks::Element, blocks::EndpointKind, blocks::Open, blocks::Packet;
using thalweg::smi::Node, thalweg::smi::NodeModel;
using top::Inputs, top::Outputs, top::Parameters;

constexpr unsigned kLinks = Parameters::Links, kEndpoints = Parameters::Endpoints, kBytes = Parameters::PacketBytes;
// Ranks in a line, the hardware in the middle if there is one.
constexpr unsigned kRanks = kLinks > 1 ? 5 : 2, kRank = kLinks > 1 ? 2 : 1;
constexpr unsigned kNoPort = 0x55, kNoRank = 0x77;

/// Field `index`, of `bits` bits, of a parameter that is a number or, if wider, an array of words.
template <class Value>
constexpr unsigned field(const Value& value, unsigned index, unsigned bits) {
  const unsigned at = index * bits;
  if constexpr (requires { value[0]; })
    return static_cast<unsigned>(value[at / 64] >> (at % 64)) & ((1U << bits) - 1);
  else
    return static_cast<unsigned>(value >> at) & ((1U << bits) - 1);
}
EndpointKind kind_of(unsigned endpoint) {
  return static_cast<EndpointKind>(field(Parameters::Kinds, endpoint, 3));
}
unsigned port_of(unsigned endpoint) {
  return field(Parameters::Ports, endpoint, 8);
}

NodeModel::Config config_of(unsigned rank) {
  NodeModel::Config config{.rank = rank,
                           .links = kLinks,
                           .packet_bytes = kBytes,
                           .reads = Parameters::Reads,
                           .depth = Parameters::Depth,
                           .latency = Parameters::Latency,
                           .children = Parameters::Children,
                           .tile = Parameters::Tile,
                           .circuits = Parameters::Circuits,
                           .endpoints = {}};
  for (unsigned e = 0; e < kEndpoints; ++e)
    config.endpoints.push_back(
        {kind_of(e), port_of(e), field(Parameters::Buffers, e, 16), field(Parameters::Sizes, e, 2)});
  return config;
}

struct Twin {
  Node node{config_of(kRank)};

  void outputs(const Inputs&, Outputs& out) const {
    for (unsigned l = 0; l < kLinks; ++l) {
      const auto& [packet, packet_ready] = node.outputs().links[l];
      out.link_in_ready_o.set_bit(l, packet_ready);
      out.link_out_valid_o.set_bit(l, packet != nullptr);
      if (packet) out.link_out_data_o.set(blocks::words_of<kBytes>(*packet), l);
    }
    for (unsigned e = 0; e < kEndpoints; ++e) {
      const auto& [element, open_ready, element_ready] = node.outputs().endpoints[e];
      out.open_ready_o.set_bit(e, open_ready);
      out.element_in_ready_o.set_bit(e, element_ready);
      out.element_out_valid_o.set_bit(e, element != nullptr);
      if (!element) continue;
      out.element_out_data_o.set(element->data, e);
      out.element_out_source_o.set(element->source, e);
    }
    out.strays_o.set(node.strays());
    out.unrouted_o.set(node.unrouted());
  }
  void step(const Inputs& in) {
    NodeModel::Inputs inputs(kLinks, kEndpoints);
    std::array<Packet, kLinks> packets;
    std::array<Open, kEndpoints> opens;
    std::array<Element, kEndpoints> elements;
    for (unsigned l = 0; l < kLinks; ++l) {
      packets[l] = blocks::packet_of<kBytes>(in.link_in_data_i.get(l));
      inputs.links[l] = {in.link_in_valid_i.bit(l) ? &packets[l] : nullptr,
                         node.outputs().links[l].packet && in.link_out_ready_i.bit(l)};
    }
    for (unsigned e = 0; e < kEndpoints; ++e) {
      opens[e] = blocks::open_of(in.open_i.get(e));
      elements[e] = {in.element_in_data_i.get(e), in.element_in_flush_i.bit(e)};
      inputs.endpoints[e] = {in.open_valid_i.bit(e) ? &opens[e] : nullptr,
                             in.element_in_valid_i.bit(e) ? &elements[e] : nullptr,
                             node.outputs().endpoints[e].element && in.element_out_ready_i.bit(e)};
    }
    node.step(inputs);
    if (!in.table_valid_i.get()) return;
    const auto number = [](std::uint64_t value) { return static_cast<unsigned>(value); };
    const unsigned link = number(in.table_link_i.get()), index = number(in.table_index_i.get());
    const unsigned to = number(in.table_data_i.get());
    if (in.table_receive_i.get())
      node.load_receive(link, index, to);
    else
      node.load_send(link, index, to);
  }
};

/// The other ranks are twins, with links that delay packets. Lanes: the rank's kernels give, and take; links; the other
/// ranks.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 4;

  explicit Stimulus(bisim::Dice run)
      : gives_(run.pick(1000, 900, 200)),
        takes_(run.pick(1000, 900, 200)),
        sends_(run.pick(1000, 900, 200)),
        others_(run.pick(1000, 900, 300)),
        latency_(run.pick(1, 20, 60)),
        longest_(run.pick(60, 8, 200)),
        credits_(run.pick(500, 0, 1000)) {
    ends_.fill(true);
    for (unsigned r = 0; r < kRanks; ++r) {
      nodes_[r] = std::make_unique<Node>(config_of(r));
      inputs_.emplace_back(kLinks, kEndpoints);
      for (unsigned d = 0; d < kRanks; ++d) links_to_[r][d] = any_link(r, d, run);
      for (unsigned e = 0; e < kEndpoints; ++e) at_[r][e].dice = bisim::Dice(run.bits() + 1, false);
    }
    for (unsigned r = 0; r < kRanks; ++r) make_tables(r);
    // Sources and destinations, by push and pop of a port.
    for (unsigned e = 0; e < kEndpoints; ++e) {
      common_[e].dice = bisim::Dice(run.bits() + 1, false);
      if (kind_of(e) != EndpointKind::push) continue;
      std::array<unsigned, kRanks> to;
      std::iota(to.begin(), to.end(), 0);
      for (unsigned r = kRanks; r > 1; --r) std::swap(to[r - 1], to[run.below(r)]);
      for (unsigned r = 0; r < kRanks; ++r) {
        const std::uint64_t seed = run.bits() + 1;
        at_[r][e].peer = to[r];
        at_[r][e].dice = bisim::Dice(seed, false);
        for (unsigned o = 0; o < kEndpoints; ++o) {
          if (kind_of(o) != EndpointKind::pop || port_of(o) != port_of(e)) continue;
          at_[to[r]][o].peer = r;
          at_[to[r]][o].dice = bisim::Dice(seed, false);
        }
      }
    }
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    bisim::Dice giving = draws.lane(0), taking = draws.lane(1), links = draws.lane(2), others = draws.lane(3);
    next.rank_i.set(kRank);
    if (entry_ < entries_.size()) {
      const Entry& entry = entries_[entry_++];
      next.table_valid_i.set(true);
      next.table_receive_i.set(entry.receive);
      next.table_link_i.set(entry.link);
      next.table_index_i.set(entry.index);
      next.table_data_i.set(entry.to);
      return;
    }
    for (unsigned r = 0; r < kRanks; ++r) {
      if (r == kRank)
        own(seen, giving, taking, links, next);
      else
        other(r, others);
    }
    ++now_;
  }

 private:
  struct Entry {
    bool receive;
    unsigned link, index, to;
  };
  /// A kernel at an endpoint.
  struct At {
    bool has = false, open = false, shows_open = false, shows = false;
    Open operation;
    std::uint64_t given = 0, got = 0;
    Element element;
    unsigned peer = 0;  ///< of a push or a pop
    bisim::Dice dice{0, false};
    std::size_t next = 0;  ///< collective
  };
  struct Common {
    std::deque<Open> operations;
    bisim::Dice dice{0, false};
  };
  struct Sent {
    std::uint64_t due;
    Packet packet;
  };

  // --- tables

  static unsigned any_link(unsigned from, unsigned to, bisim::Dice& dice) {
    return kLinks == 1 ? 0 : 2 * dice.below(kLinks / 2) + (to < from ? 1 : 0);
  }
  /// The rank at the other end of a rank's link.
  static unsigned neighbour(unsigned rank, unsigned link) {
    return kLinks == 1 ? 1 - rank : link % 2 == 0 ? rank + 1 : rank - 1;
  }
  static unsigned other_end(unsigned link) { return kLinks == 1 ? 0 : link ^ 1; }
  static unsigned among_others(unsigned link, unsigned of) { return of < link ? of : of - 1; }

  void make_tables(unsigned rank) {
    for (unsigned l = 0; l < kLinks; ++l) {
      for (unsigned d = 0; d < kRanks; ++d) {
        const unsigned by = links_to_[rank][d];
        load(rank, {false, l, d, d == rank ? 1 : by == l ? 0 : 2 + among_others(l, by)});
      }
      for (const unsigned control : {0U, 1U}) load(rank, {true, l, kNoPort * 2 + control, 0});
      load(rank, {false, l, kNoRank, 0xFF});
      for (unsigned e = 0; e < kEndpoints; ++e) {
        const unsigned at = e % kLinks, k = e / kLinks;
        for (const unsigned control : {0U, 1U}) {
          if (kind_of(e) == (control ? EndpointKind::pop : EndpointKind::push)) continue;
          const unsigned to = at == l ? kLinks + 2 * k + control : 1 + among_others(l, at);
          load(rank, {true, l, port_of(e) * 2 + control, to});
        }
      }
    }
  }
  void load(unsigned rank, const Entry& entry) {
    if (rank == kRank)
      entries_.push_back(entry);
    else if (entry.receive)
      nodes_[rank]->load_receive(entry.link, entry.index, entry.to);
    else
      nodes_[rank]->load_send(entry.link, entry.index, entry.to);
  }

  // --- kernels

  Open message(At& at) {
    bisim::Dice& dice = at.dice;
    Open open;
    open.count = dice.chance(50) ? 0 : 1 + dice.below(longest_);
    open.window = dice.chance(credits_) ? 1 + dice.below(6) : 0;
    open.peer = at.peer;
    return open;
  }
  const Open& operation(unsigned e, std::size_t index) {
    auto& operations = common_[e].operations;
    while (operations.size() <= index)
      operations.push_back(blocks::collective(
          kind_of(e), {.packet_bytes = kBytes, .children = Parameters::Children, .tile = Parameters::Tile}, kRanks,
          kRank, longest_, common_[e].dice));
    return operations[index];
  }
  Open next_of(unsigned r, unsigned e) {
    At& at = at_[r][e];
    const EndpointKind kind = kind_of(e);
    if (kind == EndpointKind::push || kind == EndpointKind::pop) {
      Open open = message(at);
      open.size = field(Parameters::Sizes, e, 2);
      const unsigned most = thalweg::smi::max_elements(kBytes, open.size);
      open.per_packet = most - at.next++ % most;
      if (Parameters::Circuits && open.window == 0 && at.next % 3 > 0)
        open.packets = blocks::circuit_packets<kBytes>(open);
      return open;
    }
    while (blocks::own_of(operation(e, at.next), r) < 0) ++at.next;
    Open open = operation(e, at.next++);
    open.own = static_cast<unsigned>(blocks::own_of(open, r));
    return open;
  }
  void act(unsigned r, unsigned e, bisim::Dice& dice, unsigned often) {
    At& at = at_[r][e];
    if (!at.has) at.operation = next_of(r, e), at.has = true;
    if (at.shows_open || at.shows || !dice.chance(often)) return;
    if (!at.open) {
      at.shows_open = true;
    } else if (at.given < blocks::gives(kind_of(e), at.operation)) {
      at.shows = true;
      at.element = blocks::element(dice);
      at.element.flush = dice.chance(50);
    }
  }
  void acted(unsigned r, unsigned e, bool opened, bool gave, bool got) {
    At& at = at_[r][e];
    if (opened) at.open = true, at.shows_open = false;
    if (gave) at.shows = false;
    at.given += gave;
    at.got += got;
    const std::uint64_t gets = blocks::gets(kind_of(e), at.operation);
    if (!at.open || at.given < blocks::gives(kind_of(e), at.operation) || at.got < gets) return;
    at.got -= gets;  // a pop's kernel may have received some elements of the next message
    at.given = 0;
    at.open = at.has = false;
  }

  // --- links

  std::deque<Sent>& to(unsigned rank, unsigned link) { return links_[rank * kLinks + link]; }
  [[nodiscard]] static bool there(unsigned rank, unsigned link) { return neighbour(rank, link) < kRanks; }
  void send(unsigned rank, unsigned link, const Packet& packet) {
    const unsigned there = neighbour(rank, link), end = other_end(link);
    to(there, end).push_back({now_ + latency_, packet});
    auto& circuit = circuits_[there * kLinks + end];
    const auto offer = circuit.offer(packet, 0);
    circuit.step(offer);
    ends_[there * kLinks + end] = offer.last;
  }
  [[nodiscard]] bool room(unsigned rank, unsigned link) {
    return there(rank, link) && to(neighbour(rank, link), other_end(link)).size() < latency_ + 2;
  }
  const Packet* arrived(unsigned rank, unsigned link) {
    const auto& packets = to(rank, link);
    return !packets.empty() && packets.front().due <= now_ ? &packets.front().packet : nullptr;
  }

  // --- ranks

  /// Arrivals on a link for an unknown port, or for a rank without a route: a packet, or a circuit.
  void lose(unsigned link, bisim::Dice& dice) {
    const bool here = dice.chance(500);
    auto packet = blocks::random_packet<kBytes>(dice);
    packet.set_header(0, here ? kRank : kNoRank, kNoPort, static_cast<blocks::Operation>(dice.below(7)),
                      dice.below(32));
    const unsigned follow = Parameters::Circuits && dice.chance(300) ? 1 + dice.below(3) : 0;
    if (follow) packet.set_circuit(0, packet.destination(), kNoPort, follow, 1);
    to(kRank, link).push_back({now_, packet});
    for (unsigned i = 0; i < follow; ++i) to(kRank, link).push_back({now_, blocks::random_packet<kBytes>(dice)});
  }
  void own(const Outputs& seen, bisim::Dice& giving, bisim::Dice& taking, bisim::Dice& links, Inputs& next) {
    for (unsigned l = 0; l < kLinks; ++l) {
      if (there(kRank, l) && links.chance(3) && to(kRank, l).size() < latency_ && ends_[kRank * kLinks + l]) {
        lose(l, links);
      }
      if (const Packet* packet = arrived(kRank, l)) {
        next.link_in_valid_i.set_bit(l);
        next.link_in_data_i.set(blocks::words_of<kBytes>(*packet), l);
        if (seen.link_in_ready_o.bit(l)) to(kRank, l).pop_front();
      }
      if (!room(kRank, l) || !links.chance(sends_)) continue;
      next.link_out_ready_i.set_bit(l);
      if (seen.link_out_valid_o.bit(l)) send(kRank, l, blocks::packet_of<kBytes>(seen.link_out_data_o.get(l)));
    }
    for (unsigned e = 0; e < kEndpoints; ++e) {
      act(kRank, e, giving, gives_);
      const At& at = at_[kRank][e];
      const bool takes = taking.chance(takes_);
      next.open_valid_i.set_bit(e, at.shows_open);
      next.open_i.set(blocks::open_port(at.operation), e);
      next.element_in_valid_i.set_bit(e, at.shows);
      next.element_in_data_i.set(at.element.data, e);
      next.element_in_flush_i.set_bit(e, at.element.flush);
      next.element_out_ready_i.set_bit(e, takes);
      acted(kRank, e, at.shows_open && seen.open_ready_o.bit(e), at.shows && seen.element_in_ready_o.bit(e),
            takes && seen.element_out_valid_o.bit(e));
    }
  }
  void other(unsigned r, bisim::Dice& dice) {
    Node& node = *nodes_[r];
    auto& in = inputs_[r];
    std::array<Packet, kLinks> packets;
    for (unsigned l = 0; l < kLinks; ++l) {
      in.links[l] = {};
      if (!there(r, l)) continue;
      if (const Packet* packet = arrived(r, l)) {
        packets[l] = *packet;
        in.links[l].packet = &packets[l];
        if (node.outputs().links[l].packet_ready) to(r, l).pop_front();
      }
      const Packet* packet = node.outputs().links[l].packet;
      if (!packet || !room(r, l) || !dice.chance(others_)) continue;
      send(r, l, *packet);
      in.links[l].taken = true;
    }
    std::array<At, kEndpoints> before;
    for (unsigned e = 0; e < kEndpoints; ++e) {
      act(r, e, dice, others_);
      const At& at = before[e] = at_[r][e];
      const auto& [element, open_ready, element_ready] = node.outputs().endpoints[e];
      in.endpoints[e] = {at.shows_open ? &before[e].operation : nullptr, at.shows ? &before[e].element : nullptr,
                         element && dice.chance(others_)};
      acted(r, e, at.shows_open && open_ready, at.shows && element_ready, in.endpoints[e].taken);
    }
    node.step(in);
  }

  unsigned gives_, takes_, sends_, others_, latency_, longest_, credits_;
  std::vector<Entry> entries_;
  std::size_t entry_ = 0;
  std::array<std::unique_ptr<Node>, kRanks> nodes_;
  std::vector<NodeModel::Inputs> inputs_;
  std::array<std::array<unsigned, kRanks>, kRanks> links_to_{};
  std::array<std::array<At, kEndpoints>, kRanks> at_;
  std::array<Common, kEndpoints> common_;
  std::array<std::deque<Sent>, std::size_t{kRanks} * kLinks> links_;
  std::array<thalweg::smi::Circuit, std::size_t{kRanks} * kLinks> circuits_;
  std::array<bool, std::size_t{kRanks} * kLinks> ends_;  ///< the link's latest packet was the last one of its message
  std::uint64_t now_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
