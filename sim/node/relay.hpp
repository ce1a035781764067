// What a collective unit hands on from link to link for others: the packets of all-to-alls. Behind every link and route class
// there is a buffer for whole packets; they go the ways of the routing table, so that the order of buffers which proves the
// routes free of deadlock holds for these as well. What waits for a link is queued by link and class, apart from all else.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/ring.hpp"
#include "fabric/config.hpp"
#include "fabric/graph.hpp"
#include "node/packet.hpp"
#include "thalweg_spec.hpp"

namespace thalweg {

class Relay {
 public:
  /// The buffer that a packet takes at the other end of one of this node's links.
  struct Hop {
    std::uint8_t link = 0, route_class = 0;
  };
  static constexpr std::uint8_t kNoLink = 0xFF;  ///< of a relay header: the packet takes no place
  [[nodiscard]] static Hop place(const Packet& packet) {
    return {spec::relay_header::link(packet.words[1]), spec::relay_header::route_class(packet.words[1])};
  }

  /// Link i belongs to lane i modulo `lanes`.
  Relay(const FabricConfig& config, const Graph& graph, NodeId self, unsigned lanes);

  /// The next buffer of a packet that is in `route_class`, or of one of this node's own, to another node.
  [[nodiscard]] Hop next(NodeId receiver, unsigned route_class) const;
  [[nodiscard]] Hop first(NodeId receiver) const;
  /// Links to another node, at least.
  [[nodiscard]] unsigned hops(NodeId receiver) const { return graph_.distances(self_)[receiver]; }
  [[nodiscard]] unsigned lane_of(unsigned link) const { return link % lanes_; }

  // Towards a link.

  [[nodiscard]] bool room(Hop hop, const Packet& packet) const { return buffer(hop).credits >= packet.flits; }
  /// Takes a place, and addresses the packet to it.
  void address(Hop hop, Packet& packet);
  /// A packet that came over a link waits for the next one.
  void queue(Hop hop, bool announcement, PacketId packet);
  /// A hop of the lane that has an announcement, or data, waiting and room; those that have take turns.
  [[nodiscard]] std::optional<Hop> ready(unsigned lane, bool announcement, const PacketPool& pool) const;
  [[nodiscard]] bool waiting(unsigned lane) const { return queued_[lane] > 0; }
  [[nodiscard]] PacketId leave(Hop hop, bool announcement);

  // Places of this node that become free again.

  /// What a packet took of the buffer that its header named when it came. True: a credit packet is due, on the link's lane.
  bool free(Hop place, unsigned flits);
  [[nodiscard]] bool credit_due(unsigned lane) const { return !due_[lane].empty(); }
  [[nodiscard]] NodeId credit_destination(unsigned lane) const { return peer(due_[lane].front() / classes_).node; }
  /// The credit packet of the lane that is due first.
  [[nodiscard]] spec::RelayCredit take_credit(unsigned lane);
  void credit(const spec::RelayCredit& credit) {
    buffers_[credit.link * classes_ + credit.route_class].credits += credit.count;
  }

  /// Flits ahead that this node does not know to be free, less those here that it has not told of. Over all nodes it is 0
  /// when nothing is under way.
  [[nodiscard]] std::int64_t places_out() const;

 private:
  struct Buffer {
    std::uint32_t credits = 0;  ///< flits that are free at the other end
    std::uint32_t owed = 0;     ///< flits of this end's buffer that were freed, and not yet told
    bool due = false;
    std::array<Ring<PacketId>, 2> waiting;  ///< for the other end: data, and announcements, which go first
  };

  [[nodiscard]] Buffer& buffer(Hop hop) { return buffers_[hop.link * classes_ + hop.route_class]; }
  [[nodiscard]] const Buffer& buffer(Hop hop) const { return buffers_[hop.link * classes_ + hop.route_class]; }

  /// The other end of a link, and its number there.
  [[nodiscard]] Graph::End peer(unsigned link) const { return graph_.peer(self_, link); }

  const FabricConfig& config_;
  const Graph& graph_;
  NodeId self_;
  unsigned lanes_, classes_;
  std::uint32_t capacity_, batch_;        ///< flits of a buffer; freed ones that are told at once
  std::vector<Buffer> buffers_;           ///< [link][route class]
  std::vector<std::uint32_t> queued_;     ///< packets, of each lane
  std::vector<unsigned> turn_;            ///< of each lane: the buffer that is asked first
  std::vector<Ring<std::uint16_t>> due_;  ///< of each lane: buffers
};

}  // namespace thalweg
