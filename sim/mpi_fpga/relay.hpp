// SPDX-License-Identifier: Apache-2.0
// The relay of a collective unit: forwards packets of all-to-alls between links. Each link has a memory of whole packets, with a
// buffer per route class. Packets follow the routing table, so the order of buffers that proves the routes free of deadlock holds
// for them as well. If several links lead to a neighbour, the routers use only one of them, and they count as one (thalweg.proof).
// Packets are queued by input link and next buffer, announcements separately from data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/arbiter.hpp"
#include "common/ring.hpp"
#include "mpi_fpga/config.hpp"
#include "mpi_fpga/packet.hpp"
#include "network/graph.hpp"
#include "thalweg_mpi_fpga_spec.hpp"

namespace thalweg::mpi_fpga {

class Relay {
 public:
  /// The buffer that a packet takes at the other end of one of this node's links.
  struct Hop {
    std::uint8_t link = 0, route_class = 0;
  };
  static constexpr std::uint8_t kNoLink = 0xFF;  ///< of a relay header: the packet takes no place
  static constexpr unsigned kReaders = 2;        ///< packets that are read from a memory at a time: it has two copies
  [[nodiscard]] static Hop place(const Packet& packet) {
    return {spec::relay_header::link(packet.words[1]), spec::relay_header::route_class(packet.words[1])};
  }
  [[nodiscard]] static bool announces(const Packet& packet) {
    return spec::network_header::kind(packet.words[0]) == spec::Kind::descriptor;
  }

  struct Sizes {
    unsigned classes, lanes;
    std::uint32_t flits;  ///< of a buffer
  };
  /// `ways`: to each node, by the links over which packets for neighbours go; `layers`: the classes in which packets to them start,
  /// none if all is 0, which are read as long as the relay lives. `peers`: the other ends of its links. Link i belongs to lane i
  /// modulo `lanes`.
  Relay(const Sizes& sizes, NodeId self, std::vector<RouteEntry> ways, std::span<const std::uint8_t> layers,
        std::vector<Graph::End> peers);
  Relay(const FabricConfig& config, const Graph& graph, NodeId self, unsigned lanes);

  /// The routing table's entries for a node's own packets, of parallel links that one over which routers send.
  [[nodiscard]] static std::vector<RouteEntry> ways_of(const FabricConfig& config, const Graph& graph, NodeId self);

  /// The next buffer of a packet that is in `route_class`, or of one of this node's own, to another node.
  [[nodiscard]] Hop next(NodeId receiver, unsigned route_class) const;
  [[nodiscard]] Hop first(NodeId receiver) const;
  [[nodiscard]] std::span<const RouteEntry> ways() const { return ways_; }
  [[nodiscard]] std::span<const std::uint8_t> layers() const { return layers_; }
  [[nodiscard]] std::span<const Graph::End> peers() const { return peers_; }
  [[nodiscard]] unsigned lane_of(unsigned link) const { return link % lanes(); }

  // What comes in a cycle; it counts from the next one on.

  /// A packet that came over a link, for another node or data for the own host.
  void arrive(unsigned link, PacketId id, const Packet& packet);
  void credit(const spec::RelayCredit& credit);
  /// What a packet took of the buffer that its header names is free.
  void free(Hop place, unsigned flits);

  // What the own host gives and takes; before the choices of a cycle it counts in it.

  /// A packet for another node.
  void give(unsigned lane, PacketId id, const Packet& packet);
  [[nodiscard]] std::size_t given(unsigned lane) const { return lanes_[lane].own.size(); }
  /// The first of those that wait.
  [[nodiscard]] std::optional<PacketId> front(unsigned lane) const {
    const Ring<Waiting>& own = lanes_[lane].own;
    return own.empty() ? std::nullopt : std::optional(own.front().id);
  }
  /// The host has room for so many flits that come over the links of a lane.
  void host_room(unsigned lane, unsigned flits);

  struct Choices {
    std::uint32_t lanes = 0;  ///< that have a packet to send, from the next cycle on
    std::uint32_t hosts = 0;  ///< that begin to read a packet for the host in the next cycle
  };
  /// The choices of a cycle, before what else happens in it. A lane without a packet asks for one that has room where it goes:
  /// announcements first, and what others have sent before what the own host has, since a place here is waited for. The queues
  /// of a kind take turns, those that hold several packets before the others. For each lane the host asks as well, for data that
  /// came over the lane's links, one packet at a time. A memory that fewer than `kReaders` read serves one of those that ask it,
  /// in turn; the others ask again.
  [[nodiscard]] Choices choose(Tick now);
  /// What the cycle before left, ahead of the choices: packets that the host has read, and flits that became free. Returns the
  /// lanes, as bits, that have a credit to send now and had not.
  std::uint32_t settle(Tick now);
  /// There may be choices in the next cycle that there were not in this one.
  [[nodiscard]] bool stirred() const { return stirred_; }

  // What a lane sends.

  [[nodiscard]] bool offers(unsigned lane, Tick now) const { return lanes_[lane].busy && lanes_[lane].at <= now; }
  [[nodiscard]] PacketId offered(unsigned lane) const { return lanes_[lane].packet.id; }
  [[nodiscard]] bool offers_own(unsigned lane) const { return !lanes_[lane].link; }
  /// Writes the headers of the packet that the lane sends: for its next node, and the place that it takes there.
  void address(unsigned lane, Packet& packet) const;
  /// Its last flit leaves in this cycle.
  void sent(unsigned lane);

  [[nodiscard]] bool credit_due(unsigned lane) const { return lanes_[lane].due > 0; }
  [[nodiscard]] NodeId credit_destination(unsigned lane) const { return next_credit(lane).destination; }
  /// The lane's next credit packet; its buffers take turns.
  [[nodiscard]] spec::RelayCredit next_credit(unsigned lane) const;
  spec::RelayCredit take_credit(unsigned lane);

  // What the host reads for a lane.

  [[nodiscard]] PacketId host_packet(unsigned lane) const { return hosts_[lane].packet.id; }
  /// It has read its packet: from `at` on the memory is free.
  void read(unsigned lane, Tick at) { hosts_[lane].at = at; }

  /// Flits ahead that this node does not know to be free, less those here that it has not told of. Over all nodes it is 0
  /// when nothing is under way.
  [[nodiscard]] std::int64_t places_out() const;

 private:
  struct Waiting {
    PacketId id = 0;
    Hop place, hop;  ///< what it takes here, and at the next node
    std::uint8_t flits = 0;
    bool announces = false;
  };
  struct Buffer {
    std::uint32_t credits = 0;  ///< flits that are free at the other end
    std::uint32_t owed = 0;     ///< flits of this end's buffer that were freed, and not yet told
  };
  using Queues = std::vector<Ring<Waiting>>;
  /// What came over a link.
  struct Memory {
    unsigned readers = 0;
    Arbiter turn;            ///< of those that ask for it: the lanes, then the host
    Queues announced, data;  ///< [next buffer]
    Ring<Waiting> host;
  };
  /// A packet on its way out.
  struct Reading {
    bool busy = false;
    Waiting packet;
    std::optional<unsigned> link = std::nullopt;  ///< whose memory holds it; none: it is the own host's
    Tick at = 0;                                  ///< lane: when its first flit is there; host: when it has been read
  };
  struct Lane : Reading {
    Ring<Waiting> own;
    unsigned announced = 0, data = 0;  ///< packets in the memories
    unsigned turn = 0;                 ///< the queue that is next: link * the lane's buffers + buffer
    unsigned due = 0;                  ///< credits
    unsigned credit_turn = 0;          ///< the lane's buffer that is next
  };
  struct Host : Reading {
    unsigned data = 0;  ///< packets in the memories
    unsigned room = 0;  ///< flits
    Arbiter turn;       ///< of the lane's links
  };
  /// What a lane asks for.
  struct Wish {
    Ring<Waiting>* queue = nullptr;
    std::optional<unsigned> link = std::nullopt;  ///< none: it is the own host's
    unsigned turn = 0;
  };

  [[nodiscard]] unsigned lanes() const { return static_cast<unsigned>(lanes_.size()); }
  [[nodiscard]] unsigned links() const { return static_cast<unsigned>(memories_.size()); }
  [[nodiscard]] unsigned links_of(unsigned lane) const { return (links() + lanes() - 1 - lane) / lanes(); }
  [[nodiscard]] unsigned index(Hop hop) const { return hop.link * classes_ + hop.route_class; }
  /// Number i of a lane's buffers, those of its first link before those of the others.
  [[nodiscard]] unsigned buffer_of(unsigned lane, unsigned i) const {
    return (lane + i / classes_ * lanes()) * classes_ + i % classes_;
  }
  [[nodiscard]] unsigned buffers_of(unsigned lane) const { return links_of(lane) * classes_; }
  [[nodiscard]] bool readable(const Memory& memory) const { return memory.readers < kReaders; }
  [[nodiscard]] bool room(const Waiting& packet) const { return buffers_[index(packet.hop)].credits >= packet.flits; }

  [[nodiscard]] Wish wish(unsigned lane);
  [[nodiscard]] Wish queued(unsigned lane, Queues Memory::* kind);
  [[nodiscard]] std::optional<unsigned> wish_of_host(unsigned lane) const;
  void begin(unsigned lane, const Wish& wish, Tick now);
  void begin_host(unsigned link);
  [[nodiscard]] unsigned due_place(unsigned lane) const;

  NodeId self_;
  std::vector<RouteEntry> ways_;
  std::span<const std::uint8_t> layers_;
  std::vector<Graph::End> peers_;
  unsigned classes_;
  std::uint32_t capacity_, batch_;  ///< flits of a buffer; freed ones that are told at once
  std::vector<Buffer> buffers_;     ///< [link][route class]
  std::vector<Memory> memories_;    ///< [link]
  std::vector<Lane> lanes_;
  std::vector<Host> hosts_;                           ///< [lane]
  std::vector<std::pair<unsigned, unsigned>> freed_;  ///< in this cycle: buffer, flits
  std::vector<Wish> wishes_;                          ///< [lane]
  std::vector<std::uint64_t> asking_;                 ///< [link]: lanes, and the host
  bool stirred_ = false;
};

}  // namespace thalweg::mpi_fpga
