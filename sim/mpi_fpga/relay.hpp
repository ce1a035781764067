// SPDX-License-Identifier: Apache-2.0
// The relay of a collective unit: forwards packets of all-to-alls between links. Each link has a memory of whole
// packets, with one buffer per route class. Packets follow the routing table, so the buffer order that proves the
// routes deadlock-free holds for them too. Of several links to a neighbour, the routers use only one, and they count as
// one (thalweg.proof). Packets are queued by input link and next buffer, announcements separately from data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/arbiter.hpp"
#include "common/growing.hpp"
#include "common/ring.hpp"
#include "mpi_fpga/config.hpp"
#include "mpi_fpga/packet.hpp"
#include "network/graph.hpp"
#include "switch/route.hpp"
#include "thalweg_mpi_fpga_spec.hpp"

namespace thalweg::mpi_fpga {

class Relay {
 public:
  /// Buffer that a packet occupies at the far end of one of this node's links.
  struct Hop {
    std::uint8_t link = 0, route_class = 0;
  };
  static constexpr std::uint8_t kNoLink = 0xFF;  ///< in a relay header: the packet occupies no buffer
  static constexpr unsigned kReaders = 2;        ///< concurrent readers of a memory: it has two copies
  [[nodiscard]] static Hop occupied_buffer(const Packet& packet) {
    return {spec::relay_header::link(packet.words[1]), spec::relay_header::route_class(packet.words[1])};
  }
  [[nodiscard]] static bool announces(const Packet& packet) {
    return spec::network_header::kind(packet.words[0]) == spec::Kind::descriptor;
  }

  struct Sizes {
    unsigned classes, lanes;
    std::uint32_t flits;  ///< of one buffer
  };
  /// `routes`: to each node; `direct`: for each link, the one used for packets to the node at its far end. `layers`:
  /// initial route classes of packets to each node, empty if all are 0; must outlive the relay. `peers`: far ends of
  /// the links. Link i belongs to lane i modulo `lanes`.
  Relay(const Sizes& sizes, NodeId self, RouteRow routes, std::vector<std::uint8_t> direct,
        std::span<const std::uint8_t> layers, std::vector<Graph::End> peers);
  Relay(const FabricConfig& config, const Graph& graph, NodeId self, unsigned lanes);

  /// Routes for a node's own packets; among parallel links, the one that the routers use.
  [[nodiscard]] static std::vector<RouteEntry> routes_of(const FabricConfig& config, const Graph& graph, NodeId self);

  /// Next buffer of a packet in `route_class`, or of one of this node's own (`first`), to another node.
  [[nodiscard]] Hop next(NodeId receiver, unsigned route_class) const;
  [[nodiscard]] Hop first(NodeId receiver) const;
  [[nodiscard]] std::span<const std::uint8_t> layers() const { return layers_; }
  [[nodiscard]] std::span<const Graph::End> peers() const { return peers_; }
  [[nodiscard]] unsigned lane_of(unsigned link) const { return link % lanes(); }

  // Inputs of a cycle; they take effect in the next.

  /// A packet received over a link, for another node, or data for the local host.
  void arrive(unsigned link, PacketId id, const Packet& packet);
  void credit(const spec::RelayCredit& credit);
  /// Frees a packet's flits in the buffer named by its header.
  void free(Hop buffer, unsigned flits);

  // Inputs from the local host; they take effect in the same cycle if given before `choose`.

  /// A packet from the host for another node.
  void add_own(unsigned lane, PacketId id, const Packet& packet);
  [[nodiscard]] std::size_t own_packets(unsigned lane) const { return lanes_[lane].own.size(); }
  /// The first waiting packet.
  [[nodiscard]] std::optional<PacketId> front(unsigned lane) const {
    const Ring<Waiting>& own = lanes_[lane].own;
    return own.empty() ? std::nullopt : std::optional(own.front().id);
  }
  /// Room at the host, in flits, for packets that arrive over the links of a lane.
  void host_room(unsigned lane, unsigned flits);

  struct Choices {
    std::uint32_t lanes = 0;  ///< lanes with a packet to send from the next cycle
    std::uint32_t hosts = 0;  ///< lanes that start to read a packet for the host in the next cycle
  };
  /// Selections of a cycle; call it before the cycle's other inputs. An idle lane requests a packet with room in its
  /// next buffer: announcements first, and forwarded packets before the host's own, since other nodes wait for the
  /// buffers that they occupy. Queues of a kind are served round-robin, those with several packets first. For each lane
  /// the host also requests data that came over the lane's links, one packet at a time. A memory with fewer than
  /// `kReaders` readers grants one request, round-robin; the others are repeated.
  [[nodiscard]] Choices choose(Tick now);
  /// Completes the previous cycle; call it before `choose`: packets that the host has read, and flits that became free.
  /// Returns the lanes, as bits, whose buffers newly have a credit to send.
  std::uint32_t settle(Tick now);
  /// True if the next cycle may have new selections.
  [[nodiscard]] bool changed() const { return changed_; }
  /// True if `settle` or `choose` has something to do.
  [[nodiscard]] bool due(Tick now) const { return changed_ || read_end_ <= now; }

  // Output of a lane.

  [[nodiscard]] bool offers(unsigned lane, Tick now) const { return lanes_[lane].busy && lanes_[lane].at <= now; }
  [[nodiscard]] PacketId offered(unsigned lane) const { return lanes_[lane].packet.id; }
  [[nodiscard]] bool offers_own(unsigned lane) const { return !lanes_[lane].link; }
  /// Writes the headers of the lane's packet: its next node and the buffer that it occupies there.
  void address(unsigned lane, Packet& packet) const;
  /// The packet's last flit leaves in this cycle.
  void sent(unsigned lane);

  [[nodiscard]] bool credit_due(unsigned lane) const { return lanes_[lane].due > 0; }
  [[nodiscard]] NodeId credit_destination(unsigned lane) const { return next_credit(lane).destination; }
  /// The lane's next credit packet, round-robin over its buffers.
  [[nodiscard]] spec::RelayCredit next_credit(unsigned lane) const;
  spec::RelayCredit take_credit(unsigned lane);

  // Packets that the host reads for a lane.

  [[nodiscard]] PacketId host_packet(unsigned lane) const { return hosts_[lane].packet.id; }
  /// The host's read ends: the memory is free from `at`.
  void read(unsigned lane, Tick at) {
    hosts_[lane].at = at;
    read_end_ = std::min(read_end_, at);
  }

  /// Occupied flits at the far ends, as this node knows, less freed flits here that it has not returned as credits. The
  /// sum over all nodes is 0 if nothing is in flight.
  [[nodiscard]] std::int64_t outstanding_flits() const;

 private:
  struct Waiting {
    PacketId id = 0;
    Hop occupied_buffer, hop;  ///< its buffer here, and at the next node
    std::uint8_t flits = 0;
    bool announces = false;
  };
  struct Buffer {
    std::uint32_t credits = 0;     ///< free flits at the far end
    std::uint32_t unreturned = 0;  ///< freed flits of the buffer here, not yet returned as credits
  };
  using Queues = Growing<Ring<Waiting>>;
  /// Packets received over a link.
  struct Memory {
    unsigned readers = 0;
    Arbiter arbiter;         ///< over its requesters: the lanes, then the host
    Queues announced, data;  ///< [next buffer]
    Ring<Waiting> host;
  };
  /// A packet being read.
  struct Reading {
    bool busy = false;
    Waiting packet;
    std::optional<unsigned> link = std::nullopt;  ///< link whose memory holds it; none: from the host
    Tick at = 0;  ///< lane: when its first flit is available; host: when it has been read
  };
  struct Lane : Reading {
    Ring<Waiting> own;
    unsigned announced = 0, data = 0;  ///< packets in the memories, by kind
    unsigned next_queue = 0;           ///< next queue: link * the lane's buffers + buffer
    unsigned due = 0;                  ///< buffers with a credit to send
    unsigned next_credit_buffer = 0;   ///< next of the lane's buffers
  };
  struct Host : Reading {
    unsigned data = 0;  ///< packets in the memories
    unsigned room = 0;  ///< room in flits
    Arbiter arbiter;    ///< over the lane's links
  };
  /// Request of a lane.
  struct Request {
    Ring<Waiting>* queue = nullptr;
    std::optional<unsigned> link = std::nullopt;  ///< none: from the host
    unsigned next_queue = 0;
  };

  [[nodiscard]] unsigned lanes() const { return static_cast<unsigned>(lanes_.size()); }
  [[nodiscard]] unsigned links() const { return static_cast<unsigned>(memories_.size()); }
  [[nodiscard]] unsigned links_of(unsigned lane) const { return (links() + lanes() - 1 - lane) / lanes(); }
  [[nodiscard]] unsigned index(Hop hop) const { return hop.link * classes_ + hop.route_class; }
  /// Index of a lane's i-th buffer, those of its first link first.
  [[nodiscard]] unsigned buffer_of(unsigned lane, unsigned i) const {
    return (lane + i / classes_ * lanes()) * classes_ + i % classes_;
  }
  [[nodiscard]] unsigned buffers_of(unsigned lane) const { return links_of(lane) * classes_; }
  [[nodiscard]] bool readable(const Memory& memory) const { return memory.readers < kReaders; }
  [[nodiscard]] bool room(const Waiting& packet) const { return buffers_[index(packet.hop)].credits >= packet.flits; }

  [[nodiscard]] Request request(unsigned lane);
  [[nodiscard]] Request queued(unsigned lane, Queues Memory::* kind);
  [[nodiscard]] std::optional<unsigned> host_request(unsigned lane) const;
  void begin(unsigned lane, const Request& request, Tick now);
  void begin_host(unsigned link);
  [[nodiscard]] unsigned due_buffer(unsigned lane) const;

  NodeId self_;
  RouteRow routes_;
  std::vector<std::uint8_t> direct_;
  std::span<const std::uint8_t> layers_;
  std::vector<Graph::End> peers_;
  unsigned classes_;
  std::uint32_t capacity_, batch_;  ///< flits of a buffer; freed flits that make a credit due
  std::vector<Buffer> buffers_;     ///< [link][route class]
  std::vector<Memory> memories_;    ///< [link]
  std::vector<Lane> lanes_;
  std::vector<Host> hosts_;                           ///< [lane]
  std::vector<std::pair<unsigned, unsigned>> freed_;  ///< freed in this cycle: buffer, flits
  std::vector<Request> requests_;                     ///< [lane]
  std::vector<std::uint64_t> requesters_;             ///< [link]: requests of the lanes and the host, as bits
  Tick read_end_ = kNever;                            ///< when the next packet has been read by a host
  bool changed_ = false;
};

}  // namespace thalweg::mpi_fpga
