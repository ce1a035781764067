// SPDX-License-Identifier: Apache-2.0
// Do packets take the routing table's paths, in turns, into buffers that have room for them, out of memories with two
// readers each, and do all credits return?
#include "mpi_fpga/relay.hpp"

#include "world.hpp"

namespace thalweg::mpi_fpga::test {
namespace {

struct Relays {
  explicit Relays(FabricConfig c, unsigned lanes = 2) : config(std::move(c)), graph(config) {
    for (NodeId node = 0; node < config.nodes; ++node) at.emplace_back(config, graph, node, lanes);
  }

  PacketId packet(NodeId receiver, unsigned flits, bool announces = false, Relay::Hop buffer = {Relay::kNoLink, 0}) {
    const PacketId id = pool.take();
    pool[id].clear(flits);
    pool[id].words[0] = spec::NetworkHeader{.kind = announces ? spec::Kind::descriptor : spec::Kind::data}.pack();
    pool[id].words[1] =
        spec::RelayHeader{
            .receiver = static_cast<std::uint16_t>(receiver), .link = buffer.link, .route_class = buffer.route_class}
            .pack();
    return id;
  }
  PacketId arrive(Relay& relay, std::uint8_t link, NodeId receiver, unsigned flits, bool announces = false) {
    const PacketId id = packet(receiver, flits, announces, {link, 0});
    relay.arrive(link, id, pool[id]);
    return id;
  }
  /// In each cycle every lane sends what it can, until nothing moves. Returns the packets that leave, in order.
  std::vector<PacketId> drain(Relay& relay, unsigned lane) {
    std::vector<PacketId> left;
    for (Tick now = 0, quiet = 0; quiet < 3; ++now, ++quiet) {
      relay.settle(now);
      (void)relay.choose(now);
      if (!relay.offers(lane, now)) continue;
      left.push_back(relay.offered(lane));
      relay.sent(lane);
      quiet = 0;
    }
    return left;
  }
  /// A node to which the table routes over the link.
  NodeId behind(NodeId self, unsigned link) const {
    for (NodeId to = 0; to < config.nodes; ++to)
      if (to != self && config.routes[std::size_t{self} * config.nodes + to].port == link) return to;
    throw std::logic_error("the link is not used");
  }
  std::int64_t outstanding_flits() const {
    std::int64_t out = 0;
    for (const Relay& relay : at) out += relay.outstanding_flits();
    return out;
  }

  FabricConfig config;
  Graph graph;
  PacketPool pool;
  std::vector<Relay> at;
};

TEST(Relay, FollowsTheRoutingTable) {
  Relays relays(cluster({4, 3}, 1));
  for (NodeId from = 0; from < relays.config.nodes; ++from)
    for (NodeId to = 0; to < relays.config.nodes; ++to) {
      if (from == to) continue;
      const PacketId id = relays.packet(to, 1);
      Packet& packet = relays.pool[id];
      for (NodeId node = from; node != to;) {
        const RouteEntry entry = relays.config.routes[std::size_t{node} * relays.config.nodes + to];
        Relay& relay = relays.at[node];
        const unsigned lane = relay.lane_of(entry.port);
        if (node == from)
          relay.add_own(lane, id, packet);
        else
          relay.arrive(Relay::occupied_buffer(packet).link, id, packet);
        relay.settle(0);
        ASSERT_EQ(relay.choose(0).lanes, 1u << lane);
        ASSERT_FALSE(relay.offers(lane, 0));
        ASSERT_TRUE(relay.offers(lane, 1));
        ASSERT_EQ(relay.offers_own(lane), node == from);
        relay.address(lane, packet);
        relay.sent(lane);
        const Graph::End end = relays.graph.peer(node, entry.port);
        ASSERT_EQ(spec::network_header::destination(packet.words[0]), end.node);
        ASSERT_EQ(spec::network_header::edge(packet.words[0]), end.port % 2);
        ASSERT_EQ(Relay::occupied_buffer(packet).link, end.port);
        ASSERT_EQ(Relay::occupied_buffer(packet).route_class, entry.route_class);
        node = end.node;
      }
      relays.at[to].free(Relay::occupied_buffer(packet), 1);
      ASSERT_EQ(relays.outstanding_flits(), 0);
      for (Relay& relay : relays.at) {
        relay.settle(1);
        ASSERT_EQ(relays.outstanding_flits(), 0);
      }
    }
}

TEST(Relay, SendsWhatHasRoomAndGetsItBackAQuarterAtATime) {
  FabricConfig config = cluster({4}, 1);
  config.collective.relay_flits = 16;
  Relays relays(config);
  Relay &here = relays.at[0], &there = relays.at[1];
  const Relay::Hop hop = here.first(1);
  const unsigned lane = here.lane_of(hop.link);
  std::vector<PacketId> packets;
  for (unsigned i = 0; i < 9; ++i) {
    packets.push_back(relays.packet(1, 2));
    here.add_own(lane, packets.back(), relays.pool[packets.back()]);
  }
  (void)here.choose(0);
  here.address(lane, relays.pool[packets[0]]);
  EXPECT_EQ(relays.drain(here, lane), std::vector(packets.begin(), packets.begin() + 8));
  EXPECT_EQ(here.own_packets(lane), 1u);
  EXPECT_EQ(relays.outstanding_flits(), 16);
  const Relay::Hop buffer = Relay::occupied_buffer(relays.pool[packets[0]]);
  const unsigned back = there.lane_of(buffer.link);
  there.free(buffer, 2);
  EXPECT_EQ(there.settle(0), 0u);
  there.free(buffer, 2);
  EXPECT_FALSE(there.credit_due(back)) << "it counts from the next cycle on";
  EXPECT_EQ(there.settle(1), 1u << back);
  there.free(buffer, 2);
  EXPECT_EQ(there.settle(2), 0u) << "it is due already";
  EXPECT_EQ(there.credit_destination(back), 0u);
  const spec::RelayCredit credit = there.take_credit(back);
  EXPECT_FALSE(there.credit_due(back));
  EXPECT_EQ(credit.count, 6u);
  EXPECT_TRUE(relays.drain(here, lane).empty());
  here.credit(spec::RelayCredit::unpack(credit.pack()));
  EXPECT_EQ(relays.outstanding_flits(), 10);
  EXPECT_EQ(relays.drain(here, lane), std::vector{packets[8]});
}

TEST(Relay, AnnouncementsGoFirstAndOthersBeforeTheOwnHosts) {
  Relays relays(cluster({4}, 1));
  Relay& here = relays.at[0];
  const std::uint8_t link = here.first(1).link;
  const unsigned lane = here.lane_of(link);
  const auto from = static_cast<std::uint8_t>(1 - link);
  const auto own = [&](bool announces) {
    const PacketId id = relays.packet(1, 1, announces);
    here.add_own(lane, id, relays.pool[id]);
    return id;
  };
  const PacketId own_announcement = own(true), own_data = own(false);
  const PacketId data = relays.arrive(here, from, 1, 1), announcement = relays.arrive(here, from, 1, 1, true);
  EXPECT_EQ(relays.drain(here, lane), (std::vector{announcement, own_announcement, data, own_data}));
}

TEST(Relay, QueuesTakeTurnsAndLongOnesGoFirst) {
  Relays relays(cluster({4, 3}, 1), 4);
  Relay& here = relays.at[0];
  const NodeId to = relays.behind(0, 2);
  std::vector<PacketId> from0, from1, from3;
  for (unsigned i = 0; i < 2; ++i) {
    from0.push_back(relays.arrive(here, 0, to, 1));
    from1.push_back(relays.arrive(here, 1, to, 1));
  }
  from1.push_back(relays.arrive(here, 1, to, 1));
  from3.push_back(relays.arrive(here, 3, to, 1));
  // Several queues: 0, 1, then 1 alone; one queue: after the turn of 1, that of 3.
  EXPECT_EQ(relays.drain(here, 2), (std::vector{from0[0], from1[0], from1[1], from3[0], from0[1], from1[2]}));
}

TEST(Relay, TwoReadAMemory) {
  Relays relays(cluster({4, 3}, 1), 4);
  Relay& here = relays.at[0];
  for (const unsigned link : {1u, 2u, 3u}) relays.arrive(here, 0, relays.behind(0, link), 4);
  EXPECT_EQ(here.choose(0).lanes, 0b0010u);
  EXPECT_EQ(here.choose(1).lanes, 0b0100u) << "one begins in a cycle";
  EXPECT_EQ(here.choose(2).lanes, 0u) << "two are reading";
  here.sent(1);
  EXPECT_EQ(here.choose(3).lanes, 0b1000u);
}

TEST(Relay, TheHostTakesWhatItHasRoomFor) {
  Relays relays(cluster({4, 3}, 1), 4);
  Relay& here = relays.at[0];
  const PacketId first = relays.arrive(here, 0, 0, 4), second = relays.arrive(here, 0, 0, 4);
  here.host_room(0, 3);
  EXPECT_EQ(here.choose(0).hosts, 0u);
  here.host_room(0, 8);
  EXPECT_EQ(here.choose(1).hosts, 1u);
  EXPECT_EQ(here.host_packet(0), first);
  here.host_room(0, 4);
  here.read(0, 6);
  here.settle(5);
  EXPECT_EQ(here.choose(5).hosts, 0u) << "one packet at a time";
  EXPECT_EQ(here.outstanding_flits(), 0);
  here.settle(6);
  EXPECT_EQ(here.choose(6).hosts, 1u);
  EXPECT_EQ(here.host_packet(0), second);
  EXPECT_EQ(here.outstanding_flits(), -4) << "what the first one took is free";
}

}  // namespace
}  // namespace thalweg::mpi_fpga::test
