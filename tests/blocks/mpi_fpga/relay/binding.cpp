// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bisim/bisim.hpp"
#include "blocks/random_port.hpp"
#include "mpi_fpga/relay.hpp"
#include "thalweg_mpi_fpga_spec.hpp"

namespace {

using thalweg::NodeId, thalweg::mpi_fpga::Packet, thalweg::mpi_fpga::PacketId, thalweg::mpi_fpga::Relay,
    thalweg::RouteEntry, thalweg::Tick;
using top::Inputs, top::Outputs, top::Parameters;
namespace spec = thalweg::mpi_fpga::spec;
namespace network_header = thalweg::mpi_fpga::spec::network_header;

constexpr unsigned kLinks = Parameters::Links, kRelayLanes = Parameters::Lanes, kClasses = Parameters::Classes,
                   kNodes = Parameters::Nodes, kFlits = Parameters::Flits, kVcs = Parameters::Vcs,
                   kRoom = (1U << Parameters::RoomBits) - 1;
using Word = thalweg::Word<256>;

[[nodiscard]] constexpr bool is_credit(const Word& head) {
  return network_header::kind(head[0]) == spec::Kind::credit;
}

/// The relay, flit by flit.
class Twin {
 public:
  Twin() : routes_(kNodes), layers_(kNodes), peers_(kLinks) { start(0); }

  void outputs(const Inputs& in, Outputs& out) const {
    for (unsigned p = 0; p < kRelayLanes; ++p) {
      const bool sends = relay_->offers(p, now_), own = sends && relay_->offers_own(p);
      out.own_grant_o.set_bit(p, own);
      out.src_valid_o.set_bit(p, sends && (!own || in.own_valid_i.bit(p)));
      if (sends) {
        const Packet& packet = pool_[relay_->offered(p)];
        std::array header{packet.words[0], packet.words[1]};
        Packet addressed;
        addressed.words = header;
        relay_->address(p, addressed);
        const unsigned flit = sent_[p];
        Word word;
        if (own)
          word = in.own_data_i.get(p);
        else
          std::copy_n(&packet.words[flit * 4], 4, word.begin());
        if (flit == 0) {
          word[0] = own ? (word[0] & ~kHead) | (addressed.words[0] & kHead) : addressed.words[0];
          word[1] = addressed.words[1];
        }
        out.src_data_o.set(word, p);
        out.src_last_o.set_bit(p, own ? in.own_last_i.bit(p) : flit + 1 == packet.flits);
        out.src_vc_o.set(
            vc_to(network_header::destination(addressed.words[0]), spec::relay_header::link(addressed.words[1])), p);
      }
      out.single_valid_o.set_bit(p, relay_->credit_due(p));
      if (relay_->credit_due(p)) {
        const spec::RelayCredit credit = relay_->next_credit(p);
        out.single_data_o.set(credit.pack(), p);
        out.single_vc_o.set(vc_to(credit.destination, credit.link), p);
      }
      const Download& download = downloads_[p];
      out.host_valid_o.set_bit(p, download.reading);
      if (download.reading) {
        const Packet& packet = pool_[download.packet];
        Word word;
        std::copy_n(&packet.words[download.flit * 4], 4, word.begin());
        out.host_data_o.set(word, p);
        out.host_last_o.set_bit(p, download.flit + 1 == packet.flits);
      }
    }
    for (unsigned l = 0; l < kLinks; ++l) {
      out.announce_valid_o.set_bit(l, announced_[l].has_value());
      if (!announced_[l]) continue;
      out.announce_context_o.set(network_header::context(*announced_[l]), l);
      out.announce_sequence_o.set(network_header::sequence(*announced_[l]), l);
      out.announce_source_o.set(spec::personal_header::source(*announced_[l]), l);
    }
  }

  void step(const Inputs& in) {
    if (in.table_valid_i.get()) {
      load(in);
      start(self_);
    }
    if (in.peer_valid_i.get()) {
      peers_[in.peer_link_i.get()] = {static_cast<NodeId>(in.peer_node_i.get()),
                                      static_cast<unsigned>(in.peer_port_i.get())};
      vcs_[in.peer_link_i.get()] = static_cast<unsigned>(in.peer_vc_i.get());
      start(static_cast<NodeId>(in.self_i.get()));
    }
    std::array<bool, kRelayLanes> sends{};
    for (unsigned p = 0; p < kRelayLanes; ++p) {
      sends[p] = relay_->offers(p, now_);
      relay_->host_room(p, static_cast<unsigned>(in.host_room_i.get(p)));
      if (in.own_valid_i.bit(p) && !given_[p]) give(p, in.own_data_i.get(p));
    }
    const Relay::Choices chosen = relay_->choose(now_);
    for (unsigned p = 0; p < kRelayLanes; ++p) {
      if (sends[p]) send(p, in);
      if (relay_->credit_due(p) && in.single_ready_i.bit(p)) relay_->take_credit(p);
      Download& download = downloads_[p];
      if (download.reading && ++download.flit == pool_[download.packet].flits) {
        download.reading = false;
        pool_.release(download.packet);
      }
      if (chosen.hosts >> p & 1) {
        download = {true, relay_->host_packet(p), 0};
        relay_->read(p, now_ + 1 + pool_[download.packet].flits);
      }
    }
    for (unsigned l = 0; l < kLinks; ++l) {
      announced_[l].reset();
      if (in.in_valid_i.bit(l)) receive(l, in.in_flit_i.get(l));
    }
    ++now_;
    relay_->settle(now_);
  }

 private:
  struct Download {
    bool reading = false;
    PacketId packet = 0;
    unsigned flit = 0;
  };
  static constexpr std::uint64_t kHead = (std::uint64_t{1} << 48) - 1;

  void start(NodeId self) {
    self_ = self;
    relay_.emplace(Relay::Sizes{kClasses, kRelayLanes, kFlits}, self, routes_, std::vector<std::uint8_t>(), layers_,
                   peers_);
  }
  void load(const Inputs& in) {
    const top::route_entry_t entry = in.table_entry_i.get();
    routes_[in.table_index_i.get()] = {
        .port = static_cast<std::uint8_t>(entry.port),
        .route_class = entry.keep_class ? thalweg::kKeepClass : static_cast<std::uint8_t>(entry.route_class)};
    layers_[in.table_index_i.get()] = static_cast<std::uint8_t>(in.table_layer_i.get());
  }
  [[nodiscard]] unsigned vc_to(NodeId node, unsigned port) const {
    for (unsigned l = 0; l < kLinks; ++l)
      if (peers_[l].node == node && peers_[l].port == port) return vcs_[l];
    throw std::logic_error("no such link");
  }
  void give(unsigned lane, const Word& head) {
    const PacketId id = pool_.take();
    Packet& packet = pool_[id];
    packet.clear(1U << network_header::size(head[0]));
    std::ranges::copy(head, packet.words.begin());
    relay_->add_own(lane, id, packet);
    given_[lane] = true;
  }
  void send(unsigned lane, const Inputs& in) {
    const bool own = relay_->offers_own(lane);
    if (!in.src_ready_i.bit(lane) || (own && !in.own_valid_i.bit(lane))) return;
    const PacketId id = relay_->offered(lane);
    if (++sent_[lane] < pool_[id].flits) return;
    sent_[lane] = 0;
    if (own) given_[lane] = false;
    relay_->sent(lane);
    pool_.release(id);
  }
  void receive(unsigned link, const top::flit_t& flit) {
    const Word& data = flit.data;
    if (flit.head && is_credit(data)) return relay_->credit(spec::RelayCredit::unpack(data));
    Coming& coming = coming_[link][flit.vc];
    if (flit.head) coming = {pool_.take(), 0};
    Packet& packet = pool_[coming.packet];
    std::ranges::copy(data, &packet.words[coming.flits++ * 4]);
    if (!flit.tail) return;
    packet.flits = static_cast<std::uint8_t>(coming.flits);
    if (spec::relay_header::receiver(packet.words[1]) == self_ && Relay::announces(packet)) {
      announced_[link] = packet.words[0];
      relay_->free(Relay::occupied_buffer(packet), 1);
      pool_.release(coming.packet);
    } else {
      relay_->arrive(link, coming.packet, packet);
    }
  }

  struct Coming {
    PacketId packet = 0;
    unsigned flits = 0;
  };

  NodeId self_ = 0;
  Tick now_ = 0;
  std::vector<RouteEntry> routes_;
  std::vector<std::uint8_t> layers_;
  std::vector<thalweg::Graph::End> peers_;
  std::array<unsigned, kLinks> vcs_{};
  mutable thalweg::mpi_fpga::PacketPool pool_;
  std::optional<Relay> relay_;
  std::array<bool, kRelayLanes> given_{};
  std::array<unsigned, kRelayLanes> sent_{};  ///< flits of the packet
  std::array<Download, kRelayLanes> downloads_;
  std::array<std::array<Coming, kVcs>, kLinks> coming_;
  std::array<std::optional<std::uint64_t>, kLinks> announced_;
};

/// Loads tables; then plays the other ends of the links, the own host, and the receivers of packets, all of which
/// respect their credits. Lanes: the tables; for each link its arrivals; for each lane the own host's packets, the
/// receivers of packets and credits, and the host.
class Stimulus {
 public:
  static constexpr unsigned kLanes = 1 + kLinks + 3 * kRelayLanes;

  explicit Stimulus(bisim::Dice run)
      : load_(run.pick(900, 200, 1000)),
        pause_(run.pick(0, 300)),
        own_(run.pick(700, 0, 100)),
        stall_(run.pick(0, 300, 900)),
        returns_(run.pick(300, 20)),
        slow_host_(run.pick(0, 500, 900)),
        announcements_(run.pick(200, 0, 900)),
        to_host_(run.pick(250, 0, 900)),
        longest_(run.pick(8, 1, 3)),
        self_(run.below(kNodes)),
        turn_(run.below(kLinks)) {
    for (auto& link : links_) link.room.fill(kFlits);
  }

  void drive(const Outputs& seen, const bisim::Draws& draws, Inputs& next) {
    next.self_i.set(self_);
    bisim::Dice tables = draws.lane(0);
    for (unsigned p = 0; p < kRelayLanes; ++p) next.host_room_i.set(kRoom - hosts_[p], p);
    if (loaded_ < kLinks + kNodes) return load(next, tables);
    for (unsigned l = 0; l < kLinks; ++l) {
      bisim::Dice dice = draws.lane(1 + l);
      come(next, l, dice);
    }
    for (unsigned p = 0; p < kRelayLanes; ++p) {
      bisim::Dice own = draws.lane(1 + kLinks + 3 * p), taker = draws.lane(2 + kLinks + 3 * p),
                  host = draws.lane(3 + kLinks + 3 * p);
      const bool ready = !taker.chance(stall_), single_ready = !taker.chance(stall_);
      next.src_ready_i.set_bit(p, ready);
      next.single_ready_i.set_bit(p, single_ready);
      const bool own_turn = seen.own_grant_o.bit(p);
      give(next, p, own, own_turn && ready);
      if (ready && !own_turn && seen.src_valid_o.bit(p)) {
        const Word word = seen.src_data_o.get(p);
        if (heads_[p])
          take(spec::relay_header::link(word[1]) & 7, spec::relay_header::route_class(word[1]),
               1U << network_header::size(word[0]));
        heads_[p] = seen.src_last_o.bit(p);
      }
      if (single_ready && seen.single_valid_o.bit(p)) {
        const auto credit = spec::RelayCredit::unpack(seen.single_data_o.get(p));
        links_[credit.link & 7].room[credit.route_class] += credit.count;
      }
      if (hosts_[p] > 0 && !host.chance(slow_host_)) --hosts_[p];
      hosts_[p] += seen.host_valid_o.bit(p);
    }
  }

 private:
  struct Coming {
    unsigned left = 0, at = 0;
    Word head{};
  };
  struct Link {
    std::array<unsigned, kClasses> room{};  ///< of the buffers here
    std::array<unsigned, kClasses> held{};  ///< flits that the other end holds
    std::array<Coming, kVcs> coming{};
  };
  struct Own {
    bool there = false, offered = false;
    unsigned left = 0, at = 0, size = 0;
    Word word{};
  };

  void load(Inputs& next, bisim::Dice& dice) {
    if (loaded_ < kLinks) {
      next.peer_valid_i.set(1);
      next.peer_link_i.set(loaded_);
      next.peer_node_i.set(dice.below(1U << 16));
      next.peer_port_i.set(loaded_ + 8 * dice.below(32));
      next.peer_vc_i.set(dice.below(kVcs));
    } else {
      const unsigned node = loaded_ - kLinks;
      RouteEntry& entry = routes_[node];
      layers_[node] = static_cast<std::uint8_t>(dice.below(kClasses));
      entry.port = static_cast<std::uint8_t>(dice.below(kLinks));
      entry.route_class = dice.chance(300) ? thalweg::kKeepClass : static_cast<std::uint8_t>(dice.below(kClasses));
      const bool keeps = entry.route_class == thalweg::kKeepClass;
      next.table_valid_i.set(1);
      next.table_index_i.set(node);
      next.table_entry_i.set(
          {.keep_class = keeps, .route_class = keeps ? 0U : entry.route_class, .last_link = false, .port = entry.port});
      next.table_layer_i.set(layers_[node]);
    }
    ++loaded_;
  }

  void take(unsigned link, unsigned route_class, unsigned flits) { links_[link].held[route_class] += flits; }

  /// The head of a packet, of a length for which there is room.
  [[nodiscard]] Word head(bisim::Dice& dice, unsigned room, unsigned receiver, unsigned link, unsigned route_class) {
    Word word;
    for (auto& part : word) part = std::uint64_t{dice.bits()} << 32 | dice.bits();
    const bool announces = dice.chance(announcements_);
    unsigned size = announces ? 0 : dice.below(std::min(longest_, 7U));
    while (1U << size > room || 1U << size > kFlits / 2) --size;
    word[0] = spec::PersonalHeader{.destination = static_cast<std::uint16_t>(dice.below(1U << 16)),
                                   .context = static_cast<std::uint8_t>(dice.below(32)),
                                   .size = static_cast<std::uint8_t>(size),
                                   .sequence = static_cast<std::uint8_t>(dice.below(4)),
                                   .kind = announces ? spec::Kind::descriptor : spec::Kind::data,
                                   .edge = static_cast<std::uint8_t>(dice.below(32)),
                                   .last = dice.below(2) != 0,
                                   .source = static_cast<std::uint16_t>(dice.below(1U << 16))}
                  .pack();
    word[1] = spec::RelayHeader{.receiver = static_cast<std::uint16_t>(receiver),
                                .link = static_cast<std::uint8_t>(link),
                                .route_class = static_cast<std::uint8_t>(route_class)}
                  .pack();
    return word;
  }

  [[nodiscard]] static Word body(bisim::Dice& dice) {
    Word word;
    for (auto& part : word) part = std::uint64_t{dice.bits()} << 32 | dice.bits();
    return word;
  }

  void come(Inputs& next, unsigned l, bisim::Dice& dice) {
    Link& link = links_[l];
    const unsigned route_class = dice.below(kClasses), returned = (l + turn_) % kLinks;
    auto& held = links_[returned].held[route_class];
    if (held > 0 && dice.chance(returns_)) {
      const unsigned count = 1 + dice.below(held);
      held -= count;
      return flit(next, l,
                  spec::RelayCredit{.destination = static_cast<std::uint16_t>(self_),
                                    .edge = static_cast<std::uint8_t>(l % kRelayLanes),
                                    .last = true,
                                    .count = count,
                                    .link = static_cast<std::uint8_t>(returned),
                                    .route_class = static_cast<std::uint8_t>(route_class)}
                      .pack(),
                  dice.below(kVcs), true, true);
    }
    const unsigned vc = dice.below(kVcs);
    Coming& coming = link.coming[vc];
    if (coming.left == 0) {
      if (link.room[route_class] == 0 || !dice.chance(load_)) return;
      const unsigned receiver = dice.chance(to_host_) ? self_ : dice.below(kNodes);
      coming.head = head(dice, link.room[route_class], receiver, l, route_class);
      coming.left = 1U << network_header::size(coming.head[0]);
      coming.at = 0;
      link.room[route_class] -= coming.left;
    } else if (dice.chance(pause_)) {
      return;
    }
    const bool first = coming.at++ == 0;
    --coming.left;
    flit(next, l, first ? coming.head : body(dice), vc, first, coming.left == 0);
  }

  static void flit(Inputs& next, unsigned link, const Word& data, unsigned vc, bool first, bool last) {
    next.in_valid_i.set_bit(link);
    next.in_flit_i.set({.data = data, .vc = vc, .head = first, .tail = last}, link);
  }

  void give(Inputs& next, unsigned p, bisim::Dice& dice, bool passes) {
    Own& own = owns_[p];
    if (!own.there && dice.chance(own_)) {
      const unsigned receiver = dice.below(kNodes);
      if (receiver != self_ && routes_[receiver].port % kRelayLanes == p) {
        own = {.there = true, .word = head(dice, kFlits, receiver, Relay::kNoLink, 0)};
        own.size = network_header::size(own.word[0]);
        own.left = 1U << own.size;
        const RouteEntry entry = routes_[receiver];
        own_places_[p] = {entry.port, entry.route_class == thalweg::kKeepClass ? layers_[receiver] : entry.route_class};
      }
    }
    if (own.there && !own.offered && !dice.chance(pause_)) {
      own.offered = true;
      if (own.at > 0) own.word = body(dice);
    }
    next.own_valid_i.set_bit(p, own.offered);
    next.own_data_i.set(own.word, p);
    next.own_last_i.set_bit(p, own.left == 1);
    if (!own.offered || !passes) return;
    own.offered = false;
    if (own.at++ == 0) take(own_places_[p].link, own_places_[p].route_class, 1U << own.size);
    if (--own.left == 0) own.there = false;
  }

  unsigned load_, pause_, own_, stall_, returns_, slow_host_, announcements_, to_host_, longest_, self_;
  unsigned turn_;  ///< offset from a link to the link over which its credits arrive
  unsigned loaded_ = 0;
  std::array<Link, kLinks> links_;
  std::array<RouteEntry, kNodes> routes_{};
  std::array<std::uint8_t, kNodes> layers_{};
  std::array<Own, kRelayLanes> owns_;
  std::array<Relay::Hop, kRelayLanes> own_places_{};
  std::array<bool, kRelayLanes> heads_ = [] {
    std::array<bool, kRelayLanes> all;
    all.fill(true);
    return all;
  }();
  std::array<unsigned, kRelayLanes> hosts_{};  ///< flits in the host's queue
};

}  // namespace

int main(int argc, char** argv) {
  return bisim::main<Twin, Stimulus>(argc, argv);
}
